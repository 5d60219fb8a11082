/* Layers without parameters: dropout, shape, containers. */
#include "layer.h"

/* ---- Dropout ---- */
static wick_tensor *dropout_forward(wick_module *m, wick_context *c, wick_tensor *const *inputs, int n) {
    return wick_dropout(c, inputs[0], *PAYLOAD(double, m), wick_module_is_training(m));
}
static void dropout_extra(const wick_module *m, char *buffer, size_t bytes) {
    snprintf(buffer, bytes, "p=%g", *PAYLOAD(double, m));
}
static const wick_module_class dropout_class = {sizeof dropout_class, "Dropout", dropout_forward, NULL, dropout_extra};

wick_module *wick_nn_dropout(wick_context *c, double p) {
    if (!(p >= 0 && p <= 1)) return FAIL(c, INVALID_ARGUMENT, "Dropout: p is %g, wanted 0 to 1", p), NULL;
    wick_module *m = wick_module_create(c, &dropout_class, sizeof p);
    if (m) *PAYLOAD(double, m) = p;
    return m;
}

/* ---- Flatten ---- */
typedef struct flatten {
    int64_t start, end;
} flatten;

static wick_tensor *flatten_forward(wick_module *m, wick_context *c, wick_tensor *const *inputs, int n) {
    const flatten *p = PAYLOAD(flatten, m);
    const wick_flatten_options o = {sizeof o, p->start, p->end};
    return wick_flatten(c, inputs[0], &o);
}
static void flatten_extra(const wick_module *m, char *buffer, size_t bytes) {
    const flatten *p = PAYLOAD(flatten, m);
    snprintf(buffer, bytes, "start_dim=%lld, end_dim=%lld", (long long)p->start, (long long)p->end);
}
static const wick_module_class flatten_class = {sizeof flatten_class, "Flatten", flatten_forward, NULL, flatten_extra};

wick_module *wick_nn_flatten(wick_context *c, int64_t start_dim, int64_t end_dim) {
    wick_module *m = wick_module_create(c, &flatten_class, sizeof(flatten));
    if (m) *PAYLOAD(flatten, m) = (flatten){start_dim, end_dim};
    return m;
}

/* ---- Identity ---- */
static wick_tensor *identity_forward(wick_module *m, wick_context *c, wick_tensor *const *inputs, int n) {
    return inputs[0];
}
static const wick_module_class identity_class = {sizeof identity_class, "Identity", identity_forward, NULL, NULL};

wick_module *wick_nn_identity(wick_context *c) { return wick_module_create(c, &identity_class, 0); }

/* ---- Sequential ---- */
static wick_tensor *sequential_forward(wick_module *m, wick_context *c, wick_tensor *const *inputs, int n) {
    wick_tensor *x = inputs[0];
    for (int i = 0; i < wick_module_child_count(m) && x; ++i) {
        wick_tensor *y = wick_module_forward(c, wick_module_child(m, i), x);
        if (i && y != x) wick_drop(c, x); /* graph and views hold what they need */
        x = y;
    }
    return x;
}
static const wick_module_class sequential_class = {sizeof sequential_class, "Sequential", sequential_forward, NULL,
                                                   NULL};

wick_module *wick_nn_sequential(wick_context *c, wick_module *const *children, int n) {
    char name[16];
    wick_module *m = wick_module_create(c, &sequential_class, 0);
    for (int i = 0; i < n; ++i) {
        snprintf(name, sizeof name, "%d", i);
        if (m)
            wick_module_add(c, m, name, children[i]);
        else
            wick_module_release(children[i]);
    }
    return layer_finish(c, m);
}
