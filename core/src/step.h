/* Step graphs inside the core (wick/graph.h): what dispatch and copies ask while a step is open. */
#ifndef WICK_CORE_STEP_H
#define WICK_CORE_STEP_H

#include <wick/graph.h>

#include "kernels.h"

/* Runs, captures or holds back one launch on the step's device. */
wick_status *step_launch(context_impl *c, const kernel_slot *slot, const wick_kernel_call *call);
/* What the host is about to do cannot be part of a graph: from here on the step runs as usual. */
wick_status *step_break(context_impl *c, wick_device device, const char *reason);
/* Where the step's tensors on `device` come from; NULL: as usual. */
memory_cache *step_memory(const context_impl *c, wick_device device);

/* No raw memory is allocated while a graph is captured or replayed. */
wick_status *step_reserve(context_impl *c, uint64_t bytes);

#endif
