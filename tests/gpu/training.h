/* A small training, to be repeated with batches of other sizes: linear, relu, dropout, linear; cross entropy; AdamW. */
#ifndef WICK_TESTS_GPU_TRAINING_H
#define WICK_TESTS_GPU_TRAINING_H

#include <wick/autograd.h>
#include <wick/call.h>
#include <wick/graph.h>
#include <wick/layers.h>
#include <wick/loss.h>
#include <wick/ops.h>
#include <wick/optim.h>

#define TRAINING_ROWS 32 /* at most */
#define TRAINING_COLUMNS 12
#define TRAINING_CLASSES 5
#define TRAINING_PARAMETERS 4

typedef struct training {
    wick_context *c;
    wick_device device;
    wick_module *model;
    wick_optimizer *optimizer;
    wick_loss *loss;
    wick_tensor *features, *targets; /* on the device, where a graph finds its input */
    wick_tensor *total;              /* of the losses, F64 */
} training;

static inline void training_close(training *t) {
    wick_optimizer_free(t->optimizer);
    wick_module_release(t->model);
    wick_loss_free(t->loss);
    wick_release(t->features);
    wick_release(t->targets);
    wick_release(t->total);
    *t = (training){.c = NULL};
}

static inline bool training_make(training *t) {
    wick_context *c = t->c;
    const wick_dim rows[] = {TRAINING_ROWS, TRAINING_COLUMNS};
    wick_empty_options classes = WICK_EMPTY_OPTIONS_INIT;
    wick_zeros_options number = WICK_ZEROS_OPTIONS_INIT;
    wick_tensor *parameters[TRAINING_PARAMETERS];
    classes.dtype = WICK_I64, number.dtype = WICK_F64;
    t->model =
        wick_nn_sequential(c,
                           (wick_module *[]){wick_nn_linear(c, TRAINING_COLUMNS, 32, NULL), wick_nn_relu(c),
                                             wick_nn_dropout(c, 0.25), wick_nn_linear(c, 32, TRAINING_CLASSES, NULL)},
                           4);
    if (!t->model) return false;
    t->loss = wick_loss_create(c, WICK_LOSS_cross_entropy, NULL);
    t->features = wick_keep(c, wick_empty(c, rows, 2, NULL));
    t->targets = wick_keep(c, wick_empty(c, rows, 1, &classes));
    t->total = wick_keep(c, wick_zeros(c, NULL, 0, &number));
    wick_module_parameters(t->model, parameters, TRAINING_PARAMETERS);
    t->optimizer = wick_adamw_create(c, parameters, TRAINING_PARAMETERS, NULL);
    return !wick_failed(c);
}

/* False: the context failed, and there is nothing to close. */
static inline bool training_open(training *t, wick_context *c, wick_device device) {
    *t = (training){.c = c, .device = device};
    wick_device before = wick_default_device(c);
    wick_scope scope = wick_scope_open(c);
    wick_set_default_device(c, device);
    wick_manual_seed(c, 7);
    bool ok = training_make(t);
    wick_set_default_device(c, before);
    wick_scope_close(c, scope);
    if (!ok) training_close(t);
    return ok;
}

/* Samples that come from the host, always the same for a number. */
static inline bool training_fill(training *t, int number, wick_dim rows) {
    float features[TRAINING_ROWS * TRAINING_COLUMNS];
    int64_t targets[TRAINING_ROWS];
    const wick_dim sizes[] = {rows, TRAINING_COLUMNS};
    wick_device host = wick_runtime_host(wick_context_runtime(t->c));
    unsigned state = (unsigned)number;
    for (wick_dim i = 0; i < rows * TRAINING_COLUMNS; ++i) {
        state = state * 1103515245u + 12345u;
        features[i] = (float)(state >> 16 & 0xff) / 128 - 1;
    }
    for (wick_dim i = 0; i < rows; ++i) targets[i] = (int64_t)(features[i * TRAINING_COLUMNS] > 0) + (i & 3);
    wick_tensor *x = wick_tensor_from_host(t->c, features, WICK_F32, 2, sizes, host);
    wick_tensor *y = wick_tensor_from_host(t->c, targets, WICK_I64, 1, sizes, host);
    return wick_copy_(t->c, wick_narrow(t->c, t->features, 0, 0, rows), x, NULL) &&
           wick_copy_(t->c, wick_narrow(t->c, t->targets, 0, 0, rows), y, NULL);
}

static inline bool training_learn(training *t, wick_dim rows) {
    wick_context *c = t->c;
    if (!wick_optimizer_zero_grad(c, t->optimizer)) return false;
    wick_tensor *y = wick_module_forward(c, t->model, wick_narrow(c, t->features, 0, 0, rows));
    wick_tensor *loss = wick_loss_compute(c, t->loss, y, wick_narrow(c, t->targets, 0, 0, rows));
    if (!loss || !wick_backward(c, loss) || !wick_optimizer_step(c, t->optimizer)) return false;
    wick_modes modes = wick_no_grad(c);
    bool ok = wick_add_(c, t->total, loss, NULL) && wick_optimizer_zero_grad(c, t->optimizer);
    wick_modes_set(c, modes);
    return ok;
}

/* Step `number` with so many samples; as one of the graph's if there is one. */
static inline bool training_step(training *t, wick_step_graph *graph, int number, wick_dim rows) {
    wick_context *c = t->c;
    wick_scope scope = wick_scope_open(c);
    bool ok = training_fill(t, number, rows) && (!graph || wick_step_begin(c, graph));
    if (ok) {
        wick_scope inner = wick_scope_open(c);
        ok = training_learn(t, rows);
        wick_scope_close(c, inner);
        if (graph) ok = wick_step_end(c) && ok;
    }
    wick_scope_close(c, scope);
    return ok;
}

#endif
