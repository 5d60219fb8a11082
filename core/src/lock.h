/* A lock for sections of a few instructions, but for rare ones: one atomic exchange to take it, a store to give it back.
 * Whoever finds it taken spins, and soon leaves the processor to others, as the holder may have lost its own. */
#ifndef WICK_CORE_LOCK_H
#define WICK_CORE_LOCK_H

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

#define LOCK_SPINS 100

typedef struct short_lock {
    atomic_bool taken;
} short_lock;

static inline void lock_wait(const short_lock *lock) {
    for (int spins = 0; atomic_load_explicit(&lock->taken, memory_order_relaxed); ++spins)
        if (spins > LOCK_SPINS) sched_yield();
}

static inline void lock_take(short_lock *lock) {
    while (atomic_exchange_explicit(&lock->taken, true, memory_order_acquire)) lock_wait(lock);
}

static inline void lock_give(short_lock *lock) { atomic_store_explicit(&lock->taken, false, memory_order_release); }

#endif
