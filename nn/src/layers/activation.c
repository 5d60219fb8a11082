/* Activations: one class each, one payload for all. */
#include "layer.h"

#define ACTIVATION_ARGUMENTS 2

typedef struct activation {
    const struct activation_row *row;
    double arguments[ACTIVATION_ARGUMENTS];
} activation;

typedef wick_tensor *(*activate_fn)(wick_context *c, wick_tensor *x, const double *a);

typedef struct activation_row {
    const char *name;
    wick_module_class cls;
    activate_fn run;
    const char *arguments[ACTIVATION_ARGUMENTS];
    double defaults[ACTIVATION_ARGUMENTS];
} activation_row;

/* ---- what each computes ---- */
#define PLAIN(name) \
    static wick_tensor *run_##name(wick_context *c, wick_tensor *x, const double *a) { return wick_##name(c, x); }
PLAIN(relu)
PLAIN(relu6)
PLAIN(silu)
PLAIN(mish)
PLAIN(tanh)
PLAIN(sigmoid)
PLAIN(selu)
PLAIN(hardswish)
PLAIN(hardsigmoid)

static wick_tensor *run_gelu(wick_context *c, wick_tensor *x, const double *a) { return wick_gelu(c, x, NULL); }
static wick_tensor *run_leaky_relu(wick_context *c, wick_tensor *x, const double *a) {
    wick_leaky_relu_options o = WICK_LEAKY_RELU_OPTIONS_INIT;
    o.negative_slope = wick_value_float(a[0]);
    return wick_leaky_relu(c, x, &o);
}
static wick_tensor *run_elu(wick_context *c, wick_tensor *x, const double *a) {
    wick_elu_options o = WICK_ELU_OPTIONS_INIT;
    o.alpha = wick_value_float(a[0]);
    return wick_elu(c, x, &o);
}
static wick_tensor *run_softplus(wick_context *c, wick_tensor *x, const double *a) {
    wick_softplus_options o = WICK_SOFTPLUS_OPTIONS_INIT;
    o.beta = wick_value_float(a[0]), o.threshold = wick_value_float(a[1]);
    return wick_softplus(c, x, &o);
}
static wick_tensor *run_softmax(wick_context *c, wick_tensor *x, const double *a) {
    return wick_softmax(c, x, (int64_t)a[0], NULL);
}
static wick_tensor *run_log_softmax(wick_context *c, wick_tensor *x, const double *a) {
    return wick_log_softmax(c, x, (int64_t)a[0], NULL);
}

/* ---- the class ---- */
static wick_tensor *activation_forward(wick_module *m, wick_context *c, wick_tensor *const *inputs, int n) {
    const activation *p = PAYLOAD(activation, m);
    return p->row->run(c, inputs[0], p->arguments);
}

static void activation_extra(const wick_module *m, char *buffer, size_t bytes) {
    const activation *p = PAYLOAD(activation, m);
    size_t used = 0;
    for (int i = 0; i < ACTIVATION_ARGUMENTS && *p->row->arguments[i] && used < bytes; ++i)
        used += (size_t)snprintf(buffer + used, bytes - used, "%s%s=%g", i ? ", " : "", p->row->arguments[i],
                                 p->arguments[i]);
}

#define ROW(name, class_name, a, da, b, db)                                               \
    {#name,                                                                               \
     {sizeof(wick_module_class), class_name, activation_forward, NULL, activation_extra}, \
     run_##name,                                                                          \
     {a, b},                                                                              \
     {da, db}},
static const activation_row activation_rows[] = {WICK_NN_ACTIVATIONS(ROW)};

static wick_module *create(wick_context *c, const activation_row *row, double first, double second) {
    wick_module *m = wick_module_create(c, &row->cls, sizeof(activation));
    if (m) *PAYLOAD(activation, m) = (activation){row, {first, second}};
    return m;
}

wick_module *wick_nn_activation(wick_context *c, const char *name, double first, double second) {
    for (size_t i = 0; i < COUNT(activation_rows); ++i)
        if (!strcmp(activation_rows[i].name, name)) return create(c, &activation_rows[i], first, second);
    return FAIL(c, NOT_FOUND, "no activation is called '%s'", name), NULL;
}

#define DEFINE(name, cls, a, da, b, db) \
    wick_module *wick_nn_##name(wick_context *c) { return wick_nn_activation(c, #name, da, db); }
WICK_NN_ACTIVATIONS(DEFINE)
