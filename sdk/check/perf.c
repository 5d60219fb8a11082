/* Mode perf: figures, never a failure. The least time of several batches counts. */
#include <stdlib.h>
#include <wick/stream.h>

#include "raw.h"

#define COPY_BYTES ((uint64_t)32 << 20)
#define BATCHES 5

static wick_tensor *random_matrix(runner *r, wick_dim rows, wick_dim columns) {
    size_t count = (size_t)(rows * columns);
    float *data = malloc(count * sizeof *data);
    const wick_dim sizes[] = {rows, columns};
    uint64_t state = 3;
    if (!data) return NULL;
    for (size_t i = 0; i < count; ++i) data[i] = (float)(check_random(&state) >> 40) / (float)(1 << 24) - 0.5f;
    wick_tensor *t = wick_tensor_from_host(r->c, data, WICK_F32, 2, sizes, r->device);
    free(data);
    return t;
}

/* Seconds of one call, with the waiting for a batch of them; negative if the device cannot. */
static double time_call(runner *r, const char *name, wick_tensor *a, wick_tensor *b, int calls) {
    wick_value args[] = {wick_value_tensor(a), wick_value_tensor(b)}, ret;
    const wick_op *op = wick_op_find(r->runtime, name);
    double best = -1;
    for (int batch = 0; batch < BATCHES && !wick_failed(r->c); ++batch) {
        wick_scope scope = wick_scope_open(r->c);
        double start = check_seconds();
        for (int i = 0; i < calls; ++i) {
            if (!wick_call(r->c, op, args, 2, &ret, 1)) break;
            wick_drop(r->c, ret.as.tensor);
        }
        wick_fail(r->c, wick_synchronize(r->runtime, r->device));
        double seconds = (check_seconds() - start) / calls;
        if (best < 0 || seconds < best) best = seconds;
        wick_scope_close(r->c, scope);
    }
    wick_status *status = wick_status_take(r->c);
    if (status) best = -1;
    wick_status_free(status);
    return best;
}

static void measure_launch(runner *r) {
    wick_tensor *a = random_matrix(r, 2, 2);
    double seconds = a ? time_call(r, "add.Tensor", a, a, r->options->flags & CHECK_QUICK ? 200 : 5000) : -1;
    if (seconds < 0)
        check_note(r, "launch", "", "not measured: add.Tensor fails");
    else
        check_note(r, "launch", "add of 4 floats", "%.0f ns a call", 1e9 * seconds);
}

static void measure_products(runner *r) {
    static const wick_dim sizes[] = {64, 256, 1024};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0] - (r->options->flags & CHECK_QUICK ? 1 : 0); ++i) {
        double n = (double)sizes[i];
        char label[32];
        wick_tensor *a = random_matrix(r, sizes[i], sizes[i]);
        double seconds = a ? time_call(r, "mm", a, a, sizes[i] > 256 ? 2 : 20) : -1;
        snprintf(label, sizeof label, "mm %.0f f32", n);
        if (seconds < 0)
            check_note(r, "product", label, "not measured: mm fails");
        else
            check_note(r, "product", label, "%.2f GFLOP/s", 2e-9 * n * n * n / seconds);
    }
}

/* ---- copies ---- */
typedef wick_status *(*copy_fn)(const raw *x, const wick_memory m[2], void *host);

static wick_status *to_device(const raw *x, const wick_memory m[2], void *host) {
    return raw_upload(x, 0, NULL, &m[0], 0, host, COPY_BYTES, 0);
}
static wick_status *to_host(const raw *x, const wick_memory m[2], void *host) {
    return raw_download(x, 0, NULL, &m[0], 0, host, COPY_BYTES, 0);
}
static wick_status *on_device(const raw *x, const wick_memory m[2], void *host) {
    return raw_copy(x, 0, NULL, &m[1], 0, &m[0], 0, COPY_BYTES);
}

static void measure_copy(raw *x, const char *label, copy_fn copy, const wick_memory m[2], void *host) {
    double best = 0;
    wick_status *status = NULL;
    for (int batch = 0; batch < BATCHES && !status; ++batch) {
        double start = check_seconds();
        status = copy(x, m, host);
        if (!status) status = raw_wait(x, 0, NULL);
        double seconds = check_seconds() - start;
        if (!best || seconds < best) best = seconds;
    }
    if (status)
        check_note(x->r, "copy", label, "not measured: %s", wick_status_message(status));
    else
        check_note(x->r, "copy", label, "%.2f GB/s", 1e-9 * (double)COPY_BYTES / best);
    wick_status_free(status);
}

static void measure_copies(runner *r) {
    raw x;
    wick_memory m[2] = {{0}};
    void *host = calloc(1, COPY_BYTES);
    if (raw_open(r, &x) && host) {
        wick_status *status = x.m->allocate(x.instance, 0, COPY_BYTES, &m[0]);
        if (!status) status = x.m->allocate(x.instance, 0, COPY_BYTES, &m[1]);
        if (!status) {
            measure_copy(&x, "host to device", to_device, m, host);
            measure_copy(&x, "device to host", to_host, m, host);
            measure_copy(&x, "on the device", on_device, m, host);
        }
        wick_status_free(status);
        for (int i = 0; i < 2; ++i)
            if (m[i].bytes) x.m->free(x.instance, 0, &m[i]);
    }
    free(host);
}

static const struct {
    const char *item;
    void (*run)(runner *r);
} steps[] = {{"launch", measure_launch}, {"copy", measure_copies}, {"product", measure_products}};

void mode_perf(runner *r) {
    if (!plugin_open(r)) return;
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; ++i) {
        if (!check_begin(r, steps[i].item)) continue;
        wick_scope scope = wick_scope_open(r->c);
        steps[i].run(r);
        wick_scope_close(r->c, scope);
        wick_status_free(wick_status_take(r->c));
    }
    plugin_close(r);
}
