/* Initial values, and making parameters. Formulas: torch.nn.init. */
#include "layer.h"

#include <math.h>

int64_t wick_init_fan_in(const wick_tensor *weight) {
    return weight->ndim > 1 ? wick_dim_product(weight->sizes + 1, weight->ndim - 1) : 1;
}

static bool done(wick_context *c, wick_modes modes, const wick_tensor *result) {
    wick_modes_set(c, modes);
    return result != NULL;
}

bool wick_init_uniform(wick_context *c, wick_tensor *t, double bound) {
    wick_uniform__options o = WICK_UNIFORM__OPTIONS_INIT;
    o.from = -bound, o.to = bound;
    wick_modes modes = wick_no_grad(c);
    return done(c, modes, wick_uniform_(c, t, &o));
}

bool wick_init_kaiming_uniform(wick_context *c, wick_tensor *weight, double a) {
    double gain = sqrt(2 / (1 + a * a)), fan = (double)wick_init_fan_in(weight);
    return wick_init_uniform(c, weight, fan > 0 ? gain * sqrt(3 / fan) : 0);
}

bool wick_init_normal(wick_context *c, wick_tensor *t, double mean, double std) {
    wick_normal__options o = WICK_NORMAL__OPTIONS_INIT;
    o.mean = mean, o.std = std;
    wick_modes modes = wick_no_grad(c);
    return done(c, modes, wick_normal_(c, t, &o));
}

bool wick_init_constant(wick_context *c, wick_tensor *t, double value) {
    wick_modes modes = wick_no_grad(c);
    return done(c, modes, wick_fill_(c, t, wick_value_float(value)));
}

/* ---- parameters ---- */
static bool fill(wick_context *c, wick_tensor *t, layer_init init) {
    switch (init.kind) {
    case INIT_UNIFORM: return wick_init_uniform(c, t, init.value);
    case INIT_NORMAL: return wick_init_normal(c, t, 0, init.value);
    default: return wick_init_constant(c, t, init.value);
    }
}

bool layer_parameter(wick_context *c, wick_module *m, const char *name, int ndim, const wick_dim *sizes,
                     layer_init init) {
    if (wick_failed(c)) return false;
    wick_scope scope = wick_scope_open(c);
    wick_tensor *t = wick_empty(c, sizes, (size_t)ndim, NULL);
    bool ok = t && fill(c, t, init) && wick_module_add_parameter(c, m, name, t);
    wick_scope_close(c, scope);
    return ok;
}

bool layer_without(wick_context *c, wick_module *m, const char *name) {
    return wick_module_add_parameter(c, m, name, NULL);
}

wick_module *layer_finish(wick_context *c, wick_module *m) {
    if (!wick_failed(c)) return m;
    wick_module_release(m);
    return NULL;
}

bool layer_check(wick_context *c, const char *layer, const char *what, const int64_t *values, int n, int64_t low) {
    for (int i = 0; i < n; ++i)
        if (values[i] < low)
            return !FAIL(c, INVALID_ARGUMENT, "%s: %s is %lld, wanted at least %lld", layer, what, (long long)values[i],
                         (long long)low);
    return true;
}
