/* The thread pool behind cpu_parallel_for (cpu.h). One job runs at a time; whoever finds the pool busy works alone. */
#ifndef WICK_CPU_POOL_H
#define WICK_CPU_POOL_H

#include "cpu.h"

/* Starts `threads` - 1 workers; the caller of a job is the last one. Fails with OUT_OF_MEMORY or INTERNAL. */
wick_status *cpu_pool_create(const wick_host *host, int threads, cpu_pool **out);
/* Joins the workers. No job may be running. NULL is allowed. In a forked child there is nothing to join. */
void cpu_pool_destroy(cpu_pool *pool);
/* CPUs that this process may run on. */
int cpu_online_count(void);

#endif
