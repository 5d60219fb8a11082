/* The elementwise engine. Loops (pointwise_CLASS.c, made from <wick/sdk/pointwise.inc>) work on packed arrays of their
 * compute class; the engine (pointwise.c) brings any dtypes, strides and broadcasts there, a block at a time. */
#ifndef WICK_CPU_POINTWISE_H
#define WICK_CPU_POINTWISE_H

#include "convert.h"

#include <wick/sdk/iter.h>
#include <wick/sdk/pointwise.h>

/* out and in[] are packed arrays of n elements; out may be one of the inputs. */
typedef void (*pw_loop)(void *out, const void *const *in, int64_t n, const wick_pointwise_scalar *scalars);

/* By class and expression; NULL where the expression has no meaning. */
extern const pw_loop *const CPU_NAME(pw_loops)[CPU_CLASS_COUNT];

#endif
