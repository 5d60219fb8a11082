/* wick/graph.h: a repeated step of work as one launch.
 *
 * Between wick_step_begin and wick_step_end a program runs the same operators every time: a training step. After a few
 * ordinary runs one is captured by the device (interface "graph"); from then on the program still runs, checks
 * that each operator is what it was (operator, shapes, addresses, numbers), but launches nothing until the end, where the
 * captured graph runs in one launch. What differs from the capture (a shape, a value read by the host, an operator that
 * cannot be captured) ends the replay: what had been held back is launched one by one, the rest of the step runs as
 * usual, and the reason is counted. So results never depend on whether a step was replayed.
 *
 * Memory that the step allocates comes from a pool of the graph's own, so that addresses repeat. What should live
 * beyond the step (parameters, optimizer state, a running loss) is best made before the first step and written in place;
 * drop gradients and results before wick_step_end. A graph serves one context at a time. */
#ifndef WICK_GRAPH_H
#define WICK_GRAPH_H

#include <wick/context.h>

typedef struct wick_step_graph wick_step_graph;

typedef struct wick_step_graph_info {
    uint32_t struct_size;
    uint32_t launches;  /* operators of the captured step */
    uint64_t steps;     /* begun */
    uint64_t replays;   /* of these, run as a graph */
    uint64_t captures;  /* graphs made */
    uint64_t fallbacks; /* replays and captures that were given up half-way */
    char reason[256];   /* of the newest fallback; "" if there was none */
} wick_step_graph_info;

WICK_BEGIN_DECLS
/* `warmup`: ordinary steps before the first capture, at least 1. UNSUPPORTED if the device cannot capture. The caller
 * destroys it after the last step, with no step open. */
WICK_API WICK_MUST_USE wick_status *wick_step_graph_create(wick_runtime *runtime, wick_device device, int warmup,
                                                           wick_step_graph **out);
/* True if the INI section of the device's plugin says `graphs = auto`. */
WICK_API bool wick_device_graphs(wick_runtime *runtime, wick_device device);
/* Waits for the device. NULL is allowed. */
WICK_API void wick_step_graph_destroy(wick_step_graph *graph);
/* Steps do not nest. False: the context failed. */
WICK_API bool wick_step_begin(wick_context *c, wick_step_graph *graph);
/* Also after a failure within the step. */
WICK_API bool wick_step_end(wick_context *c);
WICK_API void wick_step_graph_describe(const wick_step_graph *graph, wick_step_graph_info *out);
WICK_END_DECLS

#endif
