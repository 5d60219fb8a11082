/* One backward pass. */
#ifndef WICK_AUTOGRAD_ENGINE_H
#define WICK_AUTOGRAD_ENGINE_H

#include "node.h"

/* What wick_grad wants: which nodes lead to its inputs, and where the gradients go (targets.c). */
typedef struct engine_targets engine_targets;

/* Should gradients be handed to this node? */
bool engine_visits(const engine_targets *targets, const wick_node *node);
/* Must the node itself run, or does it only end the way? */
bool engine_runs(const engine_targets *targets, const wick_node *node);
void engine_capture(const engine_targets *targets, const wick_node *node, wick_tensor *const *grads);

bool engine_run(context_impl *c, wick_tensor *const *roots, wick_tensor *const *grads, int n, unsigned flags,
                const engine_targets *targets);
void engine_task_free(wick_runtime *rt, engine_task *task);

#endif
