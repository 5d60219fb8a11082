/* Orders that depend on a seed alone. */
#ifndef WICK_NN_DATA_SHUFFLE_H
#define WICK_NN_DATA_SHUFFLE_H

#include <stdint.h>

/* 0 to n - 1 in an order decided by the seed and the round (an epoch). */
void shuffled(int64_t *order, int64_t n, uint64_t seed, uint64_t round);

#endif
