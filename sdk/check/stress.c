/* Mode stress: several threads, many streams, failures on order, many lives. */
#include <pthread.h>
#include <string.h>
#include <wick/autograd.h>
#include <wick/stream.h>

#include "runner.h"

#define THREADS 2
#define ROWS 24
#define ELEMENTS ((size_t)ROWS * ROWS)

/* ---- one piece of work: the sum of -(a b + a), and the gradient of a ---- */
static wick_tensor *call1(wick_context *c, wick_runtime *runtime, const char *name, wick_tensor *a, wick_tensor *b) {
    wick_value args[] = {wick_value_tensor(a), wick_value_tensor(b)}, ret;
    const wick_op *op = wick_op_find(runtime, name);
    return wick_call(c, op, args, b ? 2 : 1, &ret, 1) ? ret.as.tensor : NULL;
}

static wick_tensor *matrix(wick_context *c, wick_device device, uint64_t seed) {
    float data[ELEMENTS];
    const wick_dim sizes[] = {ROWS, ROWS};
    for (size_t i = 0; i < ELEMENTS; ++i) data[i] = (float)((int)(check_random(&seed) >> 40) % 17 - 8) / 8;
    return wick_tensor_from_host(c, data, WICK_F32, 2, sizes, device);
}

/* Sum of the values and of the gradient: small fractions of powers of two, so that no order of adding changes them. */
static double work(wick_context *c, wick_runtime *runtime, wick_device device, uint64_t seed) {
    wick_scope scope = wick_scope_open(c);
    wick_set_default_device(c, device);
    wick_tensor *a = matrix(c, device, seed), *b = matrix(c, device, seed + 1), *grad = NULL;
    if (a) wick_set_requires_grad(c, a, true);
    wick_tensor *y = call1(c, runtime, "mm", a, b);
    y = call1(c, runtime, "add.Tensor", y, a);
    y = call1(c, runtime, "sum", call1(c, runtime, "neg", y, NULL), NULL);
    double value = 0;
    if (!wick_failed(c) && wick_grad(c, &y, (wick_tensor *[]){NULL}, 1, &a, 1, 0, &grad)) {
        value = wick_item(c, y);
        value += wick_item(c, call1(c, runtime, "sum", grad, NULL));
    }
    wick_scope_close(c, scope);
    return value;
}

/* ---- two threads, a context each ---- */
typedef struct worker {
    runner *r;
    pthread_t thread;
    uint64_t seed;
    int rounds, wrong;
    char text[300];
} worker;

static void *worker_main(void *user) {
    worker *w = user;
    wick_context *c = NULL;
    double first = 0;
    wick_status *status = wick_context_create(w->r->runtime, &c);
    for (int i = 0; i < w->rounds && !status; ++i) {
        double value = work(c, w->r->runtime, w->r->device, w->seed);
        status = wick_status_take(c);
        if (i == 0) first = value;
        w->wrong += value != first;
    }
    check_status_text(status, w->text, sizeof w->text);
    wick_status_free(status);
    wick_context_destroy(c);
    return NULL;
}

static void check_threads(runner *r) {
    worker workers[THREADS];
    int started = 0, rounds = r->options->flags & CHECK_QUICK ? 20 : 300;
    wick_context *c = r->c;
    double host = work(c, r->runtime, r->host, 5), device = work(c, r->runtime, r->device, 5);
    if (!check_context(r, "threads", "alone")) return;
    check_that(r, host == device, "threads", "alone", "got %.9g, wanted the host's %.9g", device, host);
    for (; started < THREADS; ++started) {
        workers[started] = (worker){.r = r, .seed = 5 + 100 * (uint64_t)started, .rounds = rounds};
        if (pthread_create(&workers[started].thread, NULL, worker_main, &workers[started])) break;
    }
    for (int i = 0; i < started; ++i) pthread_join(workers[i].thread, NULL);
    check_that(r, started == THREADS, "threads", "", "no second thread");
    for (int i = 0; i < started; ++i)
        check_that(r, !workers[i].text[0] && !workers[i].wrong, "threads", i ? "second" : "first",
                   "%s%d of %d rounds gave another result", workers[i].text, workers[i].wrong, rounds);
}

/* ---- many streams of one context ---- */
#define STREAMS 16

static wick_status *work_on_streams(runner *r, wick_stream **streams, int rounds, double want, int *wrong) {
    for (int i = 0; i < rounds; ++i) {
        wick_set_stream(r->c, r->device, streams[i % STREAMS]);
        double value = work(r->c, r->runtime, r->device, 5);
        *wrong += value != want;
        wick_status *status = wick_status_take(r->c);
        if (status) return status;
    }
    return NULL;
}

static void check_many_streams(runner *r) {
    wick_stream *streams[STREAMS] = {NULL};
    int wrong = 0, rounds = r->options->flags & CHECK_QUICK ? STREAMS : 20 * STREAMS;
    if (!plugin_interface(r, "stream", NULL)) {
        check_note(r, "many streams", "", "none: the device is synchronous");
        return;
    }
    wick_status *status = NULL;
    double want = work(r->c, r->runtime, r->host, 5);
    for (int i = 0; i < STREAMS && !status; ++i) status = wick_stream_create(r->runtime, r->device, 0, &streams[i]);
    if (!status) status = work_on_streams(r, streams, rounds, want, &wrong);
    wick_set_stream(r->c, r->device, NULL);
    if (check_status(r, status, "many streams", ""))
        check_that(r, !wrong, "many streams", "results", "%d of %d are wrong", wrong, rounds);
    for (int i = 0; i < STREAMS; ++i) wick_stream_release(streams[i]);
}

/* ---- several devices of the plugin: each works, and what one computes is copied to the next without waiting ---- */
static double travel(wick_context *c, wick_runtime *runtime, wick_device here, wick_device there, uint64_t seed) {
    wick_scope scope = wick_scope_open(c);
    wick_tensor *a = matrix(c, here, seed), *away = matrix(c, there, seed + 1), *back = matrix(c, here, seed + 2);
    wick_tensor *product = call1(c, runtime, "mm", a, a);
    call1(c, runtime, "copy_", away, product);
    call1(c, runtime, "copy_", back, call1(c, runtime, "add.Tensor", away, away));
    double value = wick_item(c, call1(c, runtime, "sum", call1(c, runtime, "mm", back, a), NULL));
    wick_scope_close(c, scope);
    return value;
}

static void check_devices(runner *r) {
    const int rounds = r->options->flags & CHECK_QUICK ? 5 : 50;
    if (r->device_count < 2) {
        check_note(r, "several devices", "", "not tried: there is one device");
        return;
    }
    for (int32_t k = 1; k < r->device_count && k < 4; ++k) {
        const wick_device there = {.type = r->device.type, .index = k};
        int wrong = work(r->c, r->runtime, there, 5) != work(r->c, r->runtime, r->host, 5);
        for (int i = 0; i < rounds; ++i) {
            const uint64_t seed = 11 * (uint64_t)(i + 1);
            const double want = travel(r->c, r->runtime, r->host, r->host, seed);
            wrong += travel(r->c, r->runtime, r->device, there, seed) != want;
            wrong += travel(r->c, r->runtime, there, r->device, seed) != want;
        }
        if (check_context(r, "several devices", ""))
            check_that(r, !wrong, "several devices", "", "device %d: %d of %d results are wrong", (int)k, wrong,
                       2 * rounds + 1);
    }
}

/* ---- failures on order, by keys that a plugin may have ---- */
static const struct injection {
    const char *key;
    int value;
    wick_code code; /* that it should come with; OK: any error */
    bool recovers;  /* the next call works again */
} injections[] = {
    {"fail_allocation", 3, WICK_OUT_OF_MEMORY, true},
    {"fail_launch", 5, WICK_OK, true},
    {"lose_device", 20, WICK_OK, false},
};

/* Tensors of growing size, all alive, so that no cache serves them. */
static wick_status *use_device(runner *r, int steps) {
    char data[4096] = {0};
    wick_scope scope = wick_scope_open(r->c);
    for (int i = 0; i < steps && !wick_failed(r->c); ++i) {
        const wick_dim size = 4096 / 4;
        const wick_dim sizes[] = {1 + i, 700};
        wick_tensor *t = wick_tensor_from_host(r->c, data, WICK_F32, 1, &size, r->device);
        t = call1(r->c, r->runtime, "add.Tensor", t, t);
        wick_tensor_from_host(r->c, NULL, WICK_F32, 2, sizes, r->device);
        wick_fail(r->c, wick_synchronize(r->runtime, r->device));
        if (t && !wick_failed(r->c)) wick_fail(r->c, wick_tensor_to_host(r->c, t, data, sizeof data));
    }
    wick_scope_close(r->c, scope);
    return wick_status_take(r->c);
}

static void judge_injection(runner *r, const struct injection *j) {
    char text[512];
    wick_status *status = use_device(r, 60);
    wick_code code = wick_status_code(status);
    check_that(r, code && (!j->code || code == j->code), j->key, "error", "got %s: %s; wanted %s", wick_code_text(code),
               check_status_text(status, text, sizeof text), j->code ? wick_code_text(j->code) : "an error");
    wick_status_free(status);
    status = use_device(r, 1);
    check_that(r, j->recovers ? !status : status != NULL, j->key, "afterwards", "the next call %s: %s",
               status ? "failed" : "worked", check_status_text(status, text, sizeof text));
    wick_status_free(status);
    int64_t alive = wick_runtime_live_objects(r->runtime);
    check_that(r, alive == 0, j->key, "leaks", "%lld objects are alive", (long long)alive);
}

static void check_injection(runner *r, const struct injection *j) {
    runner own = *r;
    char extra[64], text[1024];
    own.runtime = NULL, own.c = NULL;
    snprintf(extra, sizeof extra, "%s = %d\n", j->key, j->value);
    wick_status *status = plugin_open_with(&own, extra);
    check_status_text(status, text, sizeof text);
    if (!status)
        judge_injection(&own, j);
    else if (strstr(text, "unknown key"))
        check_note(r, j->key, "", "not tried: the plugin has no such key");
    else
        check_fail(r, j->key, "", "%s", text);
    wick_status_free(status);
    plugin_close(&own);
}

static void check_injections(runner *r) {
    for (size_t i = 0; i < sizeof injections / sizeof injections[0]; ++i) check_injection(r, &injections[i]);
}

/* ---- many lives in one process ---- */
#define GROWTH_LIMIT ((uint64_t)16 << 20)

static bool one_life(runner *r, double want) {
    char text[600];
    runner own = *r;
    own.runtime = NULL, own.c = NULL;
    wick_status *status = plugin_open_with(&own, "");
    double value = status ? 0 : work(own.c, own.runtime, own.device, 5);
    if (!status) status = wick_status_take(own.c);
    int64_t alive = own.runtime ? wick_runtime_live_objects(own.runtime) : 0;
    bool ok = !status && value == want && alive == 0;
    if (!ok)
        check_fail(r, "lives", "", "%s got %.9g, wanted %.9g; %lld objects alive",
                   check_status_text(status, text, sizeof text), value, want, (long long)alive);
    wick_status_free(status);
    plugin_close(&own);
    return ok;
}

static void check_lives(runner *r) {
    int lives = r->options->flags & CHECK_QUICK ? 20 : 200;
    double want = work(r->c, r->runtime, r->host, 5);
    uint64_t before = 0;
    if (!check_context(r, "lives", "host")) return;
    for (int i = 0; i < lives; ++i) {
        if (!one_life(r, want)) return;
        if (i == lives / 10) before = check_resident_bytes(); /* what is kept for ever is there by now */
    }
    uint64_t after = check_resident_bytes(), growth = after > before ? after - before : 0;
    bool bounded = growth < GROWTH_LIMIT || WICK_SANITIZER; /* a sanitizer keeps what was freed */
    check_that(r, bounded, "lives", "growth", "%llu KiB in %d lives", (unsigned long long)growth / 1024, lives);
    check_note(r, "lives", "", "%d lives, %llu KiB more resident memory", lives, (unsigned long long)growth / 1024);
}

/* ---- the mode ---- */
/* A device with a few operators need not do the work; whatever else goes wrong is told. */
static bool can_work(runner *r) {
    work(r->c, r->runtime, r->device, 5);
    wick_status *status = wick_status_take(r->c);
    if (wick_status_code(status) == WICK_UNSUPPORTED) {
        check_note(r, "work", "", "threads, streams and lives are not tried: %s", wick_status_message(status));
        wick_status_free(status);
        return false;
    }
    return check_status(r, status, "work", "");
}

static const struct {
    const char *item;
    void (*run)(runner *r);
    bool works; /* needs mm, add, neg and sum */
} steps[] = {{"injected failures", check_injections, false},
             {"threads", check_threads, true},
             {"many streams", check_many_streams, true},
             {"several devices", check_devices, true},
             {"lives", check_lives, true}};

void mode_stress(runner *r) {
    if (!plugin_open(r)) return;
    bool works = can_work(r);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; ++i)
        if ((works || !steps[i].works) && check_begin(r, steps[i].item)) steps[i].run(r);
    plugin_close(r);
}
