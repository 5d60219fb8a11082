/* Memory at the peak of a deep network: 50 times linear and ReLU, a forward pass without gradients and a training step;
 * and a loop of a million operators, which must not grow. */
#include <stdio.h>
#include <string.h>
#include <wick/autograd.h>
#include <wick/ops.h>

#include "bench.h"

enum { LAYERS = 50, WIDTH = 512, BATCH = 2048 };
#define MIB (1024.0 * 1024.0)

typedef struct model {
    wick_tensor *weight[LAYERS], *bias[LAYERS];
    int layers, width;
} model;

static void model_make(wick_context *c, int layers, int width, bool training, model *out) {
    out->layers = layers;
    out->width = width;
    for (int i = 0; i < layers; ++i) {
        out->weight[i] = bench_tensor(c, WICK_F32, 2, (const wick_dim[]){width, width});
        out->bias[i] = bench_tensor(c, WICK_F32, 1, (const wick_dim[]){width});
        wick_set_requires_grad(c, out->weight[i], training);
        wick_set_requires_grad(c, out->bias[i], training);
    }
}

/* Drops what the next layer no longer needs, as a module's forward does. */
static wick_tensor *forward(wick_context *c, const model *m, wick_tensor *x) {
    wick_scope scope = wick_scope_open(c);
    for (int i = 0; i < m->layers; ++i) {
        wick_tensor *y = wick_linear(c, x, m->weight[i], m->bias[i]);
        wick_tensor *z = wick_relu(c, y);
        wick_drop(c, y);
        if (i > 0) wick_drop(c, x);
        x = z;
    }
    return wick_scope_return(c, scope, x);
}

/* p -= rate * gradient */
static void descend(wick_context *c, wick_tensor *p) {
    wick_sub_options rate = WICK_SUB_OPTIONS_INIT;
    rate.alpha = wick_value_float(1e-3);
    wick_sub_(c, p, wick_grad_of(p), &rate);
}

static void step(wick_context *c, const model *m, wick_tensor *x, bool training) {
    wick_scope scope = wick_scope_open(c);
    wick_modes modes = wick_set_grad_enabled(c, training);
    wick_tensor *y = forward(c, m, x);
    if (training) wick_backward(c, wick_sum(c, y, NULL));
    wick_no_grad(c);
    for (int i = 0; training && i < m->layers; ++i) descend(c, m->weight[i]), descend(c, m->bias[i]);
    wick_modes_set(c, modes);
    wick_scope_close(c, scope);
}

/* Peak in bytes, model and input included, what libraries set up at their first use not. */
static double peak(bool training) {
    bench_wick wick = bench_wick_open(1);
    model small, deep;
    model_make(wick.c, 1, 64, training, &small);
    step(wick.c, &small, bench_tensor(wick.c, WICK_F32, 2, (const wick_dim[]){64, 64}), training);
    double before = bench_self_memory("VmRSS");
    wick_scope scope = wick_scope_open(wick.c);
    model_make(wick.c, LAYERS, WIDTH, training, &deep);
    wick_tensor *x = bench_tensor(wick.c, WICK_F32, 2, (const wick_dim[]){BATCH, WIDTH});
    wick_memory_trim(wick.runtime, wick_runtime_host(wick.runtime));
    bench_self_memory_reset_peak();
    step(wick.c, &deep, x, training);
    double bytes = bench_self_memory("VmHWM") - before;
    wick_scope_close(wick.c, scope);
    bench_wick_close(&wick);
    return bytes;
}

/* Growth in bytes over a million operators after the first thousand. */
static double growth(void) {
    bench_wick wick = bench_wick_open(1);
    wick_tensor *a = bench_tensor(wick.c, WICK_F32, 1, (const wick_dim[]){4});
    double before = 0;
    wick_set_requires_grad(wick.c, a, true);
    for (int i = 0; i < 1001000; ++i) {
        if (i == 1000) before = bench_self_memory("VmRSS");
        wick_scope scope = wick_scope_open(wick.c);
        wick_mul(wick.c, a, a);
        wick_scope_close(wick.c, scope);
    }
    double bytes = bench_self_memory("VmRSS") - before;
    bench_wick_close(&wick);
    return bytes;
}

static double answer(const char *question) {
    if (!strcmp(question, "memory loop")) return growth();
    return peak(!strcmp(question, "memory train"));
}

/* The least of a few fresh processes. */
static double ask_fresh(const char *question) {
    double best = NAN;
    for (int i = 0; i < 3; ++i) {
        bench_process *child = bench_process_self("memory", NULL);
        best = fmin(best, bench_process_ask(child, "%s", question));
        bench_process_stop(child);
    }
    return best;
}

int main(int argc, char **argv) {
    bench_begin("memory", argc, argv);
    if (bench_child()) return bench_serve("wick", answer);
    bench_process *torch = bench_torch();
    const char *name = bench_process_name(torch);
    bench_add("50 layers forward, no gradients", ask_fresh("memory forward") / MIB, "MiB", name,
              bench_process_ask(torch, "memory forward") / MIB);
    bench_add("50 layers, training step", ask_fresh("memory train") / MIB, "MiB", name,
              bench_process_ask(torch, "memory train") / MIB);
    bench_add("growth over 1,000,000 operators", ask_fresh("memory loop") / MIB, "MiB", "", NAN);
    return bench_end();
}
