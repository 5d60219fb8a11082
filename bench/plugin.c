/* What it costs that a kernel is somebody else's: the same calls with the CPU plugin's kernels and with those of
 * third_party.c, a plugin of its own. */
#include <stdio.h>
#include <string.h>
#include <wick/config.h>
#include <wick/ops.h>

#include "bench.h"

typedef struct side {
    wick_context *c;
    wick_tensor *empty, *a, *b; /* no elements; four floats */
} side;

static void run_relu(void *user, int64_t n) {
    const side *s = user;
    for (int64_t i = 0; i < n; ++i) wick_relu_(s->c, s->empty);
}

static void run_mul(void *user, int64_t n) {
    const side *s = user;
    for (int64_t i = 0; i < n; ++i) {
        wick_scope scope = wick_scope_open(s->c);
        wick_mul(s->c, s->a, s->b);
        wick_scope_close(s->c, scope);
    }
}

static void load_third_party(wick_runtime *runtime) {
    static const char ini[] = "[plugin.third_party]\npath = " BENCH_THIRD_PARTY "\n";
    wick_config_file *config = NULL;
    bench_check(wick_config_parse(ini, strlen(ini), "bench", NULL, &config));
    bench_check(wick_runtime_load(runtime, config));
    wick_config_free(config);
}

static side side_of(const bench_wick *wick) {
    side s = {.c = wick->c};
    s.empty = bench_tensor(wick->c, WICK_F32, 1, (const wick_dim[]){0});
    s.a = bench_tensor(wick->c, WICK_F32, 1, (const wick_dim[]){4});
    s.b = bench_tensor(wick->c, WICK_F32, 1, (const wick_dim[]){4});
    return s;
}

static void measure(const char *figure, bench_run run, side *ours, side *theirs) {
    bench_entry race[] = {{.who = "third party", .run = run, .user = theirs},
                          {.who = "CPU plugin", .run = run, .user = ours}};
    bench_race(race, 2);
    bench_alive(ours->c);
    bench_alive(theirs->c);
    bench_add(figure, race[0].ns, "ns", race[1].who, race[1].ns);
}

int main(int argc, char **argv) {
    bench_begin("plugin", argc, argv);
    bench_wick first = bench_wick_open(1), second = bench_wick_open(1);
    load_third_party(second.runtime);
    side ours = side_of(&first), theirs = side_of(&second);
    measure("third-party kernel, empty tensor", run_relu, &ours, &theirs);
    measure("third-party kernel, 4 floats", run_mul, &ours, &theirs);
    bench_wick_close(&first);
    bench_wick_close(&second);
    return bench_end();
}
