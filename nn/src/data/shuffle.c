#include "shuffle.h"

/* SplitMix64, http://prng.di.unimi.it/splitmix64.c */
static uint64_t next_bits(uint64_t *state) {
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

void shuffled(int64_t *order, int64_t n, uint64_t seed, uint64_t round) {
    uint64_t state = seed, mixed;
    mixed = next_bits(&state) + round;
    state = next_bits(&mixed);
    for (int64_t i = 0; i < n; ++i) order[i] = i;
    for (int64_t i = n - 1; i > 0; --i) {
        int64_t k = (int64_t)(next_bits(&state) % (uint64_t)(i + 1)), kept = order[i];
        order[i] = order[k];
        order[k] = kept;
    }
}
