/* Numbers for tensors: exact in every dtype, the same on every device. */
#ifndef WICK_CHECK_NUMBERS_H
#define WICK_CHECK_NUMBERS_H

#include <wick/dtype.h>

typedef struct number_kind {
    char domain;   /* of a recipe: 'f' any, p u h z g k t s b d; i and j are integers from 0 to limit - 1 */
    int64_t limit; /* of i, j and d */
    bool smooth;   /* odd multiples of 1/32, other ones for every operand */
    int operand;   /* which tensor of the call it is */
    int64_t last;  /* size of the last dimension, for d */
    uint64_t seed;
} number_kind;

/* Fills `count` elements; distinct ones as long as the domain has that many. */
void numbers_fill(char *data, wick_dtype dtype, int64_t count, const number_kind *kind);

#endif
