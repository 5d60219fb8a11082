/* wick/sdk/random.h: the random numbers that every device gives alike: Philox4x32-10. Header-only, pure; also C++.
 *
 * Element i of a tensor, in row-major order, takes word i % 4 of the block at counter philox->offset + i / 4. A second
 * stream of blocks at the same counters gives the low bits of doubles. Of a word, f32 uses 24 bits. */
#ifndef WICK_SDK_RANDOM_H
#define WICK_SDK_RANDOM_H

#include <wick/sdk/kernel.h>

/* The block of four words at `counter` of stream 0 or 1. */
static inline void wick_philox_block(uint64_t seed, uint64_t counter, uint32_t stream, uint32_t out[4]) {
    uint32_t x0 = (uint32_t)counter, x1 = (uint32_t)(counter >> 32), x2 = stream, x3 = 0;
    uint32_t key0 = (uint32_t)seed, key1 = (uint32_t)(seed >> 32);
    for (int round = 0; round < 10; ++round) {
        const uint64_t a = (uint64_t)0xD2511F53u * x0, b = (uint64_t)0xCD9E8D57u * x2;
        x0 = (uint32_t)(b >> 32) ^ x1 ^ key0, x1 = (uint32_t)b;
        x2 = (uint32_t)(a >> 32) ^ x3 ^ key1, x3 = (uint32_t)a;
        key0 += 0x9E3779B9u, key1 += 0xBB67AE85u;
    }
    out[0] = x0, out[1] = x1, out[2] = x2, out[3] = x3;
}

/* The word of element `i`. */
static inline uint32_t wick_random_bits(const wick_philox *philox, uint64_t i, uint32_t stream) {
    uint32_t block[4];
    wick_philox_block(philox->seed, philox->offset + i / 4, stream, block);
    return block[i % 4];
}

/* Uniform in [0, 1): what an f32 (and every narrower dtype) of element `i` is made of. */
static inline double wick_random_f32(const wick_philox *philox, uint64_t i) {
    return (double)(wick_random_bits(philox, i, 0) >> 8) * 0x1p-24;
}
/* Uniform in [0, 1) with 53 bits, for f64. */
static inline double wick_random_f64(const wick_philox *philox, uint64_t i) {
    const uint64_t high = wick_random_bits(philox, i, 0), low = wick_random_bits(philox, i, 1);
    return (double)(high << 21 | low >> 11) * 0x1p-53;
}

#endif
