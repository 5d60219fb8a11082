/* The elementwise loops on bf16. */
#define PW_TABLE CPU_NAME(pw_loops_bf16)
#define LISTED_add ~,
#define LISTED_sub ~,
#define LISTED_mul ~,
#define LISTED_div ~,
#define LISTED_relu ~,
#include "pointwise_bf16.inc"
