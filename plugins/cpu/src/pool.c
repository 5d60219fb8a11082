/* Workers wait at a gate: a 64-bit word of generation, an open bit and the count of workers inside. A worker enters an
 * open gate by adding one; the caller closes the gate when no chunk is left and waits until the count is zero. So a
 * worker that wakes too late simply finds the gate shut, and the caller never waits for a sleeper. */
#include "pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#define GATE_OPEN (UINT64_C(1) << 31)
#define GATE_COUNT (GATE_OPEN - 1)
#define GATE_GENERATION(gate) ((gate) >> 32)
#define SPINS 2000          /* before a worker sleeps: some tens of microseconds */
#define CHUNKS_PER_THREAD 4 /* so that a thread that was held up does not hold up the job */

struct cpu_pool {
    _Alignas(64) _Atomic uint64_t gate;
    _Alignas(64) _Atomic int64_t next; /* first index nobody took */
    _Alignas(64) atomic_flag busy;
    cpu_range_fn fn;
    void *user;
    int64_t n, chunk;
    atomic_int worker_ids; /* of the running job */
    atomic_int caller_cpu; /* that it was started on */
    atomic_int sleepers;
    atomic_bool stop;
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    pid_t owner;
    int threads, started;
    pthread_t *handles;
};

static inline void cpu_relax(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void run_chunks(cpu_pool *pool, int worker) {
    for (;;) {
        int64_t begin = atomic_fetch_add_explicit(&pool->next, pool->chunk, memory_order_relaxed);
        if (begin >= pool->n) return;
        int64_t end = pool->n - begin > pool->chunk ? begin + pool->chunk : pool->n;
        pool->fn(pool->user, begin, end, worker);
    }
}

/* True if the gate shows an open job other than `seen`, or the pool stops. */
static bool has_news(cpu_pool *pool, uint64_t seen) {
    uint64_t gate = atomic_load(&pool->gate);
    return ((gate & GATE_OPEN) && GATE_GENERATION(gate) != seen) || atomic_load(&pool->stop);
}

static void wait_for_news(cpu_pool *pool, uint64_t seen) {
    for (int i = 0; i < SPINS; ++i) {
        if (has_news(pool, seen)) return;
        cpu_relax();
    }
    pthread_mutex_lock(&pool->mutex);
    atomic_fetch_add(&pool->sleepers, 1);
    while (!has_news(pool, seen)) pthread_cond_wait(&pool->wake, &pool->mutex);
    atomic_fetch_sub(&pool->sleepers, 1);
    pthread_mutex_unlock(&pool->mutex);
}

/* While another program spins on the other processors, the kernel may wake a worker on the caller's, where it only runs
 * when the caller is preempted, and may leave both there for long. So a worker that finds itself there goes elsewhere,
 * where it is allowed to, and unless there are more threads than processors. */
static void leave_caller(const cpu_pool *pool) {
    const int cpu = sched_getcpu();
    cpu_set_t allowed, others;
    if (cpu < 0 || cpu != atomic_load_explicit(&pool->caller_cpu, memory_order_relaxed)) return;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) < pool->threads) return;
    others = allowed;
    CPU_CLR(cpu, &others);
    if (sched_setaffinity(0, sizeof others, &others) == 0) sched_setaffinity(0, sizeof allowed, &allowed);
}

static void *worker_main(void *user) {
    cpu_pool *pool = user;
    uint64_t seen = 0;
    while (!atomic_load(&pool->stop)) {
        wait_for_news(pool, seen);
        leave_caller(pool);
        uint64_t gate = atomic_load(&pool->gate);
        if (!(gate & GATE_OPEN) || GATE_GENERATION(gate) == seen) continue;
        if (!atomic_compare_exchange_strong(&pool->gate, &gate, gate + 1)) continue;
        seen = GATE_GENERATION(gate);
        run_chunks(pool, atomic_fetch_add_explicit(&pool->worker_ids, 1, memory_order_relaxed));
        atomic_fetch_sub(&pool->gate, 1);
    }
    return NULL;
}

static void open_gate(cpu_pool *pool) {
    atomic_store_explicit(&pool->caller_cpu, sched_getcpu(), memory_order_relaxed);
    uint64_t generation = GATE_GENERATION(atomic_load_explicit(&pool->gate, memory_order_relaxed)) + 1;
    atomic_store(&pool->gate, (generation << 32) | GATE_OPEN);
    if (atomic_load(&pool->sleepers) == 0) return;
    pthread_mutex_lock(&pool->mutex);
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->mutex);
}

static void close_gate(cpu_pool *pool) {
    atomic_fetch_and(&pool->gate, ~GATE_OPEN);
    for (int i = 0; atomic_load(&pool->gate) & GATE_COUNT; ++i) {
        if (i < SPINS)
            cpu_relax();
        else
            sched_yield();
    }
}

static int64_t divide_up(int64_t a, int64_t b) { return a / b + (a % b != 0); }

/* At least a grain (but the last), no more than CHUNKS_PER_THREAD for each thread, and the same number for each. */
static int64_t chunk_of(const cpu_pool *pool, int64_t n, int64_t grain) {
    const int64_t grains = n / (grain < 1 ? 1 : grain), most = (int64_t)pool->threads * CHUNKS_PER_THREAD;
    if (grains < 2) return grain;
    if (grains <= pool->threads) return divide_up(n, grains);
    return divide_up(n, grains < most ? grains / pool->threads * pool->threads : most);
}

void cpu_parallel_for(cpu_instance *cpu, int64_t n, int64_t grain, cpu_range_fn fn, void *user) {
    cpu_pool *pool = cpu->pool;
    if (n <= 0) return;
    if (n <= grain || pool->threads == 1 || atomic_flag_test_and_set(&pool->busy)) {
        fn(user, 0, n, 0);
        return;
    }
    pool->fn = fn, pool->user = user, pool->n = n, pool->chunk = chunk_of(pool, n, grain);
    atomic_store_explicit(&pool->next, 0, memory_order_relaxed);
    atomic_store_explicit(&pool->worker_ids, 1, memory_order_relaxed);
    open_gate(pool);
    run_chunks(pool, 0);
    close_gate(pool);
    atomic_flag_clear(&pool->busy);
}

int cpu_thread_count(const cpu_instance *cpu) { return cpu->pool->threads; }

int cpu_online_count(void) {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (int)online : 1;
}

static bool start_workers(cpu_pool *pool) {
    for (; pool->started < pool->threads - 1; ++pool->started)
        if (pthread_create(&pool->handles[pool->started], NULL, worker_main, pool) != 0) return false;
    return true;
}

wick_status *cpu_pool_create(const wick_host *host, int threads, cpu_pool **out) {
    cpu_pool *pool = aligned_alloc(_Alignof(cpu_pool), sizeof *pool);
    pthread_t *handles = calloc((size_t)threads, sizeof *handles);
    if (!pool || !handles) {
        free(pool);
        free(handles);
        return WICK_HOST_ERROR(host, WICK_OUT_OF_MEMORY, "no memory for a pool of %d threads", threads);
    }
    *pool = (cpu_pool){.threads = threads, .handles = handles, .owner = getpid(), .busy = ATOMIC_FLAG_INIT};
    atomic_store(&pool->caller_cpu, -1);
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->wake, NULL);
    if (!start_workers(pool)) {
        int started = pool->started;
        cpu_pool_destroy(pool);
        return WICK_HOST_ERROR(host, WICK_OUT_OF_MEMORY, "could start only %d of %d threads", started + 1, threads);
    }
    *out = pool;
    return NULL;
}

void cpu_pool_destroy(cpu_pool *pool) {
    if (!pool) return;
    if (pool->owner == getpid()) {
        atomic_store(&pool->stop, true);
        pthread_mutex_lock(&pool->mutex);
        pthread_cond_broadcast(&pool->wake);
        pthread_mutex_unlock(&pool->mutex);
        for (int i = 0; i < pool->started; ++i) pthread_join(pool->handles[i], NULL);
        pthread_cond_destroy(&pool->wake);
        pthread_mutex_destroy(&pool->mutex);
    }
    free(pool->handles);
    free(pool);
}
