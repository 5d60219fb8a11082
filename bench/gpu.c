/* The GPU beside PyTorch: launches, graphs of launches, bandwidth of memory-bound operators, matrix products.
 * The device is that of --device NAME (cuda). Bandwidths count the fewest bytes that the operator must move and are
 * also given as a part of what a device-to-device copy moves in the same run. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <wick/autograd.h>
#include <wick/config.h>
#include <wick/graph.h>
#include <wick/ops.h>
#include <wick/stream.h>

#include "bench.h"

#define CHAIN 40
#define DEVICE "cuda"

static wick_runtime *runtime;
static wick_context *c;
static wick_device gpu;

static void wait(void) { bench_check(wick_synchronize(runtime, gpu)); }

static wick_tensor *uniform(wick_dtype dtype, int ndim, const wick_dim *sizes) {
    wick_rand_options o = WICK_RAND_OPTIONS_INIT;
    o.device = gpu, o.dtype = WICK_F32;
    wick_scope scope = wick_scope_open(c);
    wick_tensor *t = wick_sub_scalar(c, wick_rand(c, sizes, (size_t)ndim, &o), wick_value_float(0.5), NULL);
    return wick_scope_return(c, scope, wick_to_dtype(c, t, dtype, NULL));
}
#define SIZES(...) \
    sizeof((const wick_dim[]){__VA_ARGS__}) / sizeof(wick_dim), (const wick_dim[]) { __VA_ARGS__ }

/* ---- a bare launch: an empty kernel through the driver ---- */
typedef struct bare {
    int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,
                  void **);
    int (*synchronize)(void *);
    void *function, *stream;
} bare;

static const char empty_ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry nothing() { ret; }\n";

/* After the plugin has made the context current on this thread. */
static bool bare_open(bare *b) {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW), *module = NULL;
    if (!driver) return false;
    int (*load)(void **, const void *), (*find)(void **, void *, const char *), (*make)(void **, unsigned);
    *(void **)&load = dlsym(driver, "cuModuleLoadData");
    *(void **)&find = dlsym(driver, "cuModuleGetFunction");
    *(void **)&make = dlsym(driver, "cuStreamCreate");
    *(void **)&b->launch = dlsym(driver, "cuLaunchKernel");
    *(void **)&b->synchronize = dlsym(driver, "cuStreamSynchronize");
    return !load(&module, empty_ptx) && !find(&b->function, module, "nothing") && !make(&b->stream, 1);
}

static void run_bare(void *user, int64_t n) {
    const bare *b = user;
    for (int64_t i = 0; i < n; ++i) b->launch(b->function, 1, 1, 1, 32, 1, 1, 0, b->stream, NULL, NULL);
    b->synchronize(b->stream);
}

/* ---- launches ---- */
typedef struct small {
    wick_tensor *a, *b, *leaf; /* four floats */
    wick_step_graph *graph;
} small;

static void run_relu(void *user, int64_t n) {
    const small *s = user;
    for (int64_t i = 0; i < n; ++i) wick_relu_(c, s->a);
    wait();
}

static void chain(const small *s) {
    wick_scope scope = wick_scope_open(c);
    wick_tensor *y = s->leaf;
    for (int k = 0; k < CHAIN; ++k) y = k & 1 ? wick_add(c, y, s->b, NULL) : wick_mul(c, y, s->a);
    wick_backward_many(c, &y, &s->a, 1, 0);
    wick_set_grad(c, s->leaf, NULL);
    wick_scope_close(c, scope);
}

static void run_chain(void *user, int64_t n) {
    for (int64_t i = 0; i < n; ++i) chain(user);
    wait();
}

static void run_chain_graph(void *user, int64_t n) {
    const small *s = user;
    for (int64_t i = 0; i < n; ++i) {
        wick_step_begin(c, s->graph);
        chain(s);
        wick_step_end(c);
    }
    wait();
}

/* ---- an MLP's training step ---- */
typedef struct mlp {
    wick_tensor *x, *target, *weights[3], *biases[3];
    wick_tensor *parameters[6], *averages[6], *squares[6], *steps[6];
    wick_step_graph *graph;
} mlp;

static wick_tensor *leaf_of(wick_tensor *t) { return wick_set_requires_grad(c, t, true); }

static void mlp_make(mlp *m) {
    static const wick_dim widths[] = {64, 128, 64, 10};
    m->x = uniform(WICK_F32, SIZES(64, 64));
    int64_t classes[64];
    for (int i = 0; i < 64; ++i) classes[i] = i % 10;
    m->target = wick_tensor_from_host(c, classes, WICK_I64, SIZES(64), gpu);
    for (int i = 0; i < 3; ++i) {
        m->weights[i] = m->parameters[2 * i] = leaf_of(uniform(WICK_F32, SIZES(widths[i + 1], widths[i])));
        m->biases[i] = m->parameters[2 * i + 1] = leaf_of(uniform(WICK_F32, SIZES(widths[i + 1])));
    }
    wick_modes modes = wick_no_grad(c);
    for (int i = 0; i < 6; ++i) {
        m->averages[i] = wick_zeros_like(c, m->parameters[i], NULL);
        m->squares[i] = wick_zeros_like(c, m->parameters[i], NULL);
        wick_zeros_options o = WICK_ZEROS_OPTIONS_INIT;
        o.device = gpu, o.dtype = WICK_F32;
        m->steps[i] = wick_zeros(c, NULL, 0, &o);
    }
    wick_modes_set(c, modes);
}

static void mlp_step(mlp *m) {
    wick_scope scope = wick_scope_open(c);
    wick_tensor *y = m->x, *grads[6];
    for (int i = 0; i < 3; ++i) {
        y = wick_linear(c, y, m->weights[i], m->biases[i]);
        if (i < 2) y = wick_relu(c, y);
    }
    wick_backward(c, wick_cross_entropy_loss(c, y, m->target, NULL, NULL));
    wick_modes modes = wick_no_grad(c);
    for (int i = 0; i < 6; ++i) {
        grads[i] = wick_grad_of(m->parameters[i]);
        wick_add_scalar_(c, m->steps[i], wick_value_int(1), NULL);
    }
    wick__fused_adam_(c, m->parameters, 6, grads, 6, m->averages, 6, m->squares, 6, NULL, 0, m->steps, 6, 1e-3, 0.9,
                      0.999, 0, 1e-8, false, false, NULL, NULL);
    wick_modes_set(c, modes);
    for (int i = 0; i < 6; ++i) wick_set_grad(c, m->parameters[i], NULL);
    wick_scope_close(c, scope);
}

static void run_mlp(void *user, int64_t n) {
    for (int64_t i = 0; i < n; ++i) mlp_step(user);
    wait();
}

static void run_mlp_graph(void *user, int64_t n) {
    mlp *m = user;
    for (int64_t i = 0; i < n; ++i) {
        wick_step_begin(c, m->graph);
        mlp_step(m);
        wick_step_end(c);
    }
    wait();
}

/* ---- memory-bound operators and products ---- */
typedef struct large {
    wick_tensor *a, *b, *weight, *bias, *out, *target;
    wick_dim columns;
} large;

#define RUN(name, expression)                       \
    static void run_##name(void *user, int64_t n) { \
        const large *l = user;                      \
        for (int64_t i = 0; i < n; ++i) {           \
            wick_scope scope = wick_scope_open(c);  \
            expression;                             \
            wick_scope_close(c, scope);             \
        }                                           \
        wait();                                     \
    }

static void sum_over(const large *l, int64_t dim) {
    wick_sum_dim_options o = WICK_SUM_DIM_OPTIONS_INIT;
    wick_sum_dim(c, l->a, &dim, 1, &o);
}

static void cross_entropy(const large *l) {
    wick_backward(c, wick_cross_entropy_loss(c, l->a, l->target, NULL, NULL));
    wick_set_grad(c, l->a, NULL);
}

RUN(copy, wick_copy_(c, l->out, l->a, NULL))
RUN(add, wick_add(c, l->a, l->b, NULL))
RUN(gelu, wick_gelu(c, l->a, NULL))
RUN(sum, wick_sum(c, l->a, NULL))
RUN(sum_dim0, sum_over(l, 0))
RUN(sum_dim1, sum_over(l, 1))
RUN(softmax, wick_softmax(c, l->a, -1, NULL))
RUN(layer_norm, wick_layer_norm(c, l->a, (const int64_t[]){l->columns}, 1, l->weight, l->bias, NULL))
RUN(transpose, wick_clone(c, wick_transpose(c, l->a, 0, 1), &(wick_clone_options){sizeof(wick_clone_options), 0}))
RUN(mm, wick_mm(c, l->a, l->b))
RUN(cross_entropy, cross_entropy(l))

static double copy_gbs; /* of this run */

static double race(const char *figure, bench_run run, void *user, const char *work) {
    bench_process *torch = bench_torch();
    bench_entry entries[] = {{.who = "wick", .run = run, .user = user},
                             {.who = bench_process_name(torch), .process = torch, .work = work, .threads = 1}};
    run(user, 2);
    bench_race(entries, work ? 2 : 1);
    bench_alive(c);
    bench_add(figure, entries[0].ns / 1e3, "us", entries[1].who, work ? entries[1].ns / 1e3 : NAN);
    return entries[0].ns;
}

static const struct bound {
    const char *name, *work;
    bench_run run;
    wick_dtype dtype;
    wick_dim rows, columns;
    double passes; /* over the elements: reads and writes */
} bounds[] = {
    {"copy f32 8192x8192", "cuda copy f32 8192 8192", run_copy, WICK_F32, 8192, 8192, 2},
    {"add f32 8192x8192", "cuda add f32 8192 8192", run_add, WICK_F32, 8192, 8192, 3},
    {"add bf16 8192x8192", "cuda add bf16 8192 8192", run_add, WICK_BF16, 8192, 8192, 3},
    {"gelu f32 8192x8192", "cuda gelu f32 8192 8192", run_gelu, WICK_F32, 8192, 8192, 2},
    {"sum f32 8192x8192", "cuda sum f32 8192 8192", run_sum, WICK_F32, 8192, 8192, 1},
    {"sum over dim 0 f32 8192x8192", "cuda sum_dim0 f32 8192 8192", run_sum_dim0, WICK_F32, 8192, 8192, 1},
    {"sum over dim 1 f32 8192x8192", "cuda sum_dim1 f32 8192 8192", run_sum_dim1, WICK_F32, 8192, 8192, 1},
    {"softmax bf16 8192x8192", "cuda softmax bf16 8192 8192", run_softmax, WICK_BF16, 8192, 8192, 2},
    {"layer norm bf16 8192x8192", "cuda layer_norm bf16 8192 8192", run_layer_norm, WICK_BF16, 8192, 8192, 2},
    {"transpose f32 8192x8192", "cuda transpose f32 8192 8192", run_transpose, WICK_F32, 8192, 8192, 2},
};

static void measure_bound(const struct bound *b) {
    wick_scope scope = wick_scope_open(c);
    large l = {.columns = b->columns};
    l.a = uniform(b->dtype, SIZES(b->rows, b->columns));
    l.b = uniform(b->dtype, SIZES(b->rows, b->columns));
    l.out = wick_empty_like(c, l.a, NULL);
    l.weight = uniform(b->dtype, SIZES(b->columns));
    l.bias = uniform(b->dtype, SIZES(b->columns));
    double ns = race(b->name, b->run, &l, b->work);
    double bytes = b->passes * (double)b->rows * (double)b->columns * (double)wick_dtype_bytes(b->dtype);
    if (b->run == run_copy) copy_gbs = bytes / ns;
    bench_add(b->name, bytes / ns, "GB/s", "copy", copy_gbs);
    wick_scope_close(c, scope);
}

static const struct product {
    const char *name, *work;
    wick_dtype dtype;
    wick_dim n;
} products[] = {
    {"mm f32 4096", "cuda mm f32 4096 4096", WICK_F32, 4096},
    {"mm bf16 8192", "cuda mm bf16 8192 8192", WICK_BF16, 8192},
};

static void measure_product(const struct product *p) {
    wick_scope scope = wick_scope_open(c);
    large l = {.a = uniform(p->dtype, SIZES(p->n, p->n)), .b = uniform(p->dtype, SIZES(p->n, p->n))};
    double n = (double)p->n, ns = race(p->name, run_mm, &l, p->work);
    bench_add(p->name, 2 * n * n * n / ns / 1e3, "TFLOP/s", "", NAN);
    wick_scope_close(c, scope);
}

static void measure_cross_entropy(void) {
    wick_scope scope = wick_scope_open(c);
    large l = {.a = leaf_of(uniform(WICK_F32, SIZES(8192, 50304)))};
    wick_zeros_options o = WICK_ZEROS_OPTIONS_INIT;
    o.device = gpu, o.dtype = WICK_I64;
    const int64_t rows = 8192;
    l.target = wick_zeros(c, &rows, 1, &o);
    race("cross-entropy f32 8192x50304, both ways", run_cross_entropy, &l, "cuda cross_entropy f32 8192 50304");
    wick_scope_close(c, scope);
}

static void report_graph(const char *figure, const wick_step_graph *graph) {
    wick_step_graph_info info = {.struct_size = sizeof info};
    wick_step_graph_describe(graph, &info);
    printf("%s: %llu of %llu replayed, %u launches%s%s\n", figure, (unsigned long long)info.replays,
           (unsigned long long)info.steps, info.launches, *info.reason ? ", given up: " : "", info.reason);
}

static void measure_launches(void) {
    wick_scope scope = wick_scope_open(c);
    small s = {.a = uniform(WICK_F32, SIZES(4)), .b = uniform(WICK_F32, SIZES(4))};
    s.leaf = leaf_of(uniform(WICK_F32, SIZES(4)));
    bare b;
    double bare_ns = NAN;
    wick_relu_(c, s.a);
    wait();
    if (bare_open(&b)) bare_ns = race("bare launch", run_bare, &b, NULL);
    double ns = race("operator (relu_ of 4 floats)", run_relu, &s, "cuda relu_ f32 1 4");
    bench_add("operator beyond a bare launch", (ns - bare_ns) / 1e3, "us", "budget", 0.5);
    race("40 operators forward and backward", run_chain, &s, "cuda chain f32 1 4");
    bench_check(wick_step_graph_create(runtime, gpu, 2, &s.graph));
    race("40 operators forward and backward, graph", run_chain_graph, &s, "cuda chain f32 1 4");
    report_graph("40 operators", s.graph);
    wick_step_graph_destroy(s.graph);
    wick_scope_close(c, scope);
}

static void measure_mlp(void) {
    wick_scope scope = wick_scope_open(c);
    mlp m = {NULL};
    mlp_make(&m);
    race("MLP step 64x64-128-64-10, Adam", run_mlp, &m, "cuda mlp f32 64 64");
    bench_check(wick_step_graph_create(runtime, gpu, 2, &m.graph));
    race("MLP step 64x64-128-64-10, Adam, graph", run_mlp_graph, &m, "cuda mlp f32 64 64");
    report_graph("MLP step", m.graph);
    wick_step_graph_destroy(m.graph);
    wick_scope_close(c, scope);
}

static void open_gpu(void) {
    static const char ini[] = "[plugin.cpu]\n[plugin." DEVICE "]\n";
    wick_config_file *config = NULL;
    bench_check(wick_config_parse(ini, sizeof ini - 1, "bench.ini", NULL, &config));
    bench_check(wick_runtime_create(NULL, &runtime));
    bench_check(wick_runtime_load(runtime, config));
    wick_config_free(config);
    bench_check(wick_context_create(runtime, &c));
    bench_check(wick_runtime_device(runtime, DEVICE, &gpu));
    wick_scope_open(c);
}

int main(int argc, char **argv) {
    bench_begin("gpu", argc, argv);
    bench_batches(5e6); /* PyTorch's, too: torch_peer.py */
    open_gpu();
    if (bench_wanted("launches")) measure_launches();
    if (bench_wanted("mlp")) measure_mlp();
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; ++i)
        if (bench_wanted(bounds[i].name)) measure_bound(&bounds[i]);
    for (size_t i = 0; i < sizeof products / sizeof products[0]; ++i)
        if (bench_wanted(products[i].name)) measure_product(&products[i]);
    if (bench_wanted("cross-entropy")) measure_cross_entropy();
    wick_context_destroy(c);
    wick_runtime_release(runtime);
    return bench_end();
}
