/* The CPU's memory interface: aligned blocks, huge pages for the big ones. */
#ifndef WICK_CPU_MEMORY_H
#define WICK_CPU_MEMORY_H

#include "cpu.h"

extern const wick_memory_interface cpu_memory;

#endif
