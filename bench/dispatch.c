/* What an operator costs beside its arithmetic. Everything here works on four floats or none.
 *
 * The empty operator is relu_ of a tensor without elements: a call through argument scan, keys, shape rule and kernel
 * that returns its argument. All other figures include opening and closing a scope and allocating the result. */
#include <stdio.h>
#include <string.h>
#include <wick/autograd.h>
#include <wick/ops.h>

#include "bench.h"

#define CHAIN 40

typedef struct operands {
    wick_context *c;
    wick_tensor *empty; /* no elements */
    wick_tensor *a, *b; /* four floats */
    wick_tensor *leaf;  /* four floats that require a gradient */
} operands;

static void run_empty(void *user, int64_t n) {
    const operands *o = user;
    for (int64_t i = 0; i < n; ++i) wick_relu_(o->c, o->empty);
}

/* n times: a scope around one expression. */
#define RUN(name, expression)                         \
    static void run_##name(void *user, int64_t n) {   \
        const operands *o = user;                     \
        for (int64_t i = 0; i < n; ++i) {             \
            wick_scope scope = wick_scope_open(o->c); \
            expression;                               \
            wick_scope_close(o->c, scope);            \
        }                                             \
    }

RUN(add, wick_add(o->c, o->a, o->b, NULL))
RUN(add_grad, wick_add(o->c, o->leaf, o->b, NULL))
RUN(mul_scalar, wick_mul_scalar(o->c, o->a, wick_value_float(2)))
RUN(view, wick_view(o->c, o->a, ((const int64_t[]){2, 2}), 2))
RUN(composite, wick_positive(o->c, o->a))

/* y = y * a, y = y + b and so on, then backward from a given gradient of y. */
static void chain(const operands *o) {
    wick_tensor *y = o->leaf;
    for (int k = 0; k < CHAIN; ++k) y = k & 1 ? wick_add(o->c, y, o->b, NULL) : wick_mul(o->c, y, o->a);
    wick_backward_many(o->c, &y, &o->a, 1, 0);
    wick_set_grad(o->c, o->leaf, NULL);
}
RUN(chain, chain(o))

static const struct {
    const char *name, *work;
    bench_run run;
    double budget_ns; /* NaN: none */
} figures[] = {
    {"empty operator", "empty", run_empty, 25},
    {"composite that returns its argument", "composite", run_composite, NAN},
    {"add of 4 floats", "add", run_add, 70},
    {"add of 4 floats, recording gradients", "add_grad", run_add_grad, 130},
    {"4 floats * 2", "mul_scalar", run_mul_scalar, NAN},
    {"view of 4 floats", "view", run_view, NAN},
    {"40 operators forward and backward", "chain", run_chain, 6000},
};

static void measure(operands *o, size_t k) {
    bench_process *torch = bench_torch();
    bench_entry race[] = {
        {.who = "wick", .run = figures[k].run, .user = o},
        {.who = "calibration loop", .run = bench_calibration_loop},
        {.who = bench_process_name(torch), .process = torch, .work = figures[k].work, .threads = 1},
    };
    bench_race(race, 3);
    bench_alive(o->c);
    bench_add(figures[k].name, race[0].ns, "ns", race[2].who, race[2].ns);
    if (!isnan(figures[k].budget_ns)) bench_add(figures[k].name, race[0].ns, "ns", "budget", figures[k].budget_ns);
    bench_add(figures[k].name, race[0].ns / race[1].ns, "calibration loops", "", NAN);
}

int main(int argc, char **argv) {
    bench_begin("dispatch", argc, argv);
    bench_wick wick = bench_wick_open(1);
    operands o = {.c = wick.c};
    o.empty = bench_tensor(wick.c, WICK_F32, 1, (const wick_dim[]){0});
    o.a = bench_tensor(wick.c, WICK_F32, 1, (const wick_dim[]){4});
    o.b = bench_tensor(wick.c, WICK_F32, 1, (const wick_dim[]){4});
    o.leaf = wick_set_requires_grad(wick.c, bench_tensor(wick.c, WICK_F32, 1, (const wick_dim[]){4}), true);
    for (size_t k = 0; k < sizeof figures / sizeof figures[0]; ++k)
        if (bench_wanted(figures[k].name)) measure(&o, k);
    bench_wick_close(&wick);
    return bench_end();
}
