/* One training step - zero_grad, forward, loss, backward, optimizer - of two small networks on batches of 64. */
#include <stdio.h>
#include <wick/layers.h>
#include <wick/loss.h>
#include <wick/ops.h>
#include <wick/optim.h>

#include "bench.h"

enum { BATCH = 64, CLASSES = 10, PARAMETERS = 32 };

typedef struct trainer {
    wick_context *c;
    wick_module *model;
    wick_loss *loss;
    wick_optimizer *optimizer;
    wick_tensor *x, *target;
} trainer;

static void run_steps(void *user, int64_t n) {
    trainer *t = user;
    for (int64_t i = 0; i < n; ++i) {
        wick_scope scope = wick_scope_open(t->c);
        wick_optimizer_zero_grad(t->c, t->optimizer);
        wick_tensor *y = wick_module_forward(t->c, t->model, t->x);
        wick_backward(t->c, wick_loss_compute(t->c, t->loss, y, t->target));
        wick_optimizer_step(t->c, t->optimizer);
        wick_scope_close(t->c, scope);
    }
}

/* ---- the models; torch_peer.py has the same ---- */
static wick_module *digits_cnn(wick_context *c) {
    wick_nn_conv_options same = WICK_NN_CONV_OPTIONS_INIT;
    same.padding[0] = same.padding[1] = 1;
    wick_module *layers[] = {
        wick_nn_conv2d(c, 1, 16, 3, 3, &same),  wick_nn_batch_norm2d(c, 16, NULL), wick_nn_relu(c),
        wick_nn_conv2d(c, 16, 32, 3, 3, &same), wick_nn_batch_norm2d(c, 32, NULL), wick_nn_relu(c),
        wick_nn_max_pool2d(c, 2, 2, NULL),      wick_nn_flatten(c, 1, -1),         wick_nn_dropout(c, 0.25),
        wick_nn_linear(c, 512, CLASSES, NULL),
    };
    return wick_nn_sequential(c, layers, sizeof layers / sizeof layers[0]);
}

static wick_module *mlp(wick_context *c) {
    wick_module *layers[] = {
        wick_nn_linear(c, 64, 128, NULL),     wick_nn_relu(c), wick_nn_linear(c, 128, 64, NULL), wick_nn_relu(c),
        wick_nn_linear(c, 64, CLASSES, NULL),
    };
    return wick_nn_sequential(c, layers, sizeof layers / sizeof layers[0]);
}

static const struct {
    const char *name, *key;
    wick_module *(*make)(wick_context *c);
    const char *optimizer;
    int ndim;
    wick_dim shape[4];
    double speedup; /* over PyTorch that it shall have */
} models[] = {
    {"digits CNN, AdamW", "digits_cnn", digits_cnn, "adamw", 4, {BATCH, 1, 8, 8}, 2},
    {"MLP 64-128-64-10, Adam", "mlp", mlp, "adam", 2, {BATCH, 64}, 8},
};

static trainer trainer_make(wick_context *c, size_t k) {
    trainer t = {.c = c, .model = models[k].make(c)};
    wick_tensor *parameters[PARAMETERS];
    int64_t classes[BATCH];
    bench_alive(c);
    size_t count = wick_module_parameters(t.model, parameters, PARAMETERS);
    t.loss = wick_loss_create(c, WICK_LOSS_cross_entropy, NULL);
    t.optimizer = wick_optimizer_create(c, models[k].optimizer, parameters, count, NULL, 0);
    for (int i = 0; i < BATCH; ++i) classes[i] = i % CLASSES;
    t.x = bench_tensor(c, WICK_F32, models[k].ndim, models[k].shape);
    t.target = wick_tensor_from_host(c, classes, WICK_I64, 1, (const wick_dim[]){BATCH}, t.x->device);
    bench_alive(c);
    return t;
}

static void trainer_free(trainer *t) {
    wick_optimizer_free(t->optimizer);
    wick_loss_free(t->loss);
    wick_module_release(t->model);
}

static void measure(bench_wick *wick, size_t k, int threads) {
    char name[80], work[2][64];
    bench_process *torch = bench_torch();
    snprintf(name, sizeof name, "%s, %d thread%s", models[k].name, threads, threads > 1 ? "s" : "");
    snprintf(work[0], sizeof work[0], "train %s default", models[k].key);
    snprintf(work[1], sizeof work[1], "train %s fused", models[k].key);
    if (!bench_wanted(name)) return;
    trainer t = trainer_make(wick->c, k);
    bench_entry race[] = {
        {.run = run_steps, .user = &t},
        {.process = torch, .work = work[0], .threads = threads},
        {.process = torch, .work = work[1], .threads = threads},
    };
    bench_race(race, 3);
    bench_alive(wick->c);
    char fused[64];
    snprintf(fused, sizeof fused, "%s, fused", bench_process_name(torch));
    bench_add(name, race[0].ns / 1e3, "us", bench_process_name(torch), race[1].ns / 1e3);
    bench_add(name, race[0].ns / 1e3, "us", fused, race[2].ns / 1e3);
    if (torch) bench_add(name, race[1].ns / race[0].ns, "times PyTorch", "budget", models[k].speedup);
    trainer_free(&t);
}

int main(int argc, char **argv) {
    bench_begin("train", argc, argv);
    for (int threads = 1; threads <= 2; ++threads) {
        bench_wick wick = bench_wick_open(threads);
        for (size_t k = 0; k < sizeof models / sizeof models[0]; ++k) measure(&wick, k, threads);
        bench_wick_close(&wick);
    }
    return bench_end();
}
