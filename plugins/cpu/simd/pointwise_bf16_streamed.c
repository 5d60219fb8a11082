/* The elementwise loops on bf16 that store past the caches without a buffer (pointwise_f32_streamed.c). */
#define PW_STREAMED 1
#define PW_TABLE CPU_NAME(pw_loops_bf16_streamed)
#define LISTED_add ~,
#define LISTED_sub ~,
#define LISTED_mul ~,
#include "pointwise_bf16.inc"
