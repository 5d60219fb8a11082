/* Linear and Embedding. */
#include "layer.h"

#include <math.h>

/* ---- Linear ---- */
static wick_tensor *linear_forward(wick_module *m, wick_context *c, wick_tensor *const *inputs, int n) {
    return wick_linear(c, inputs[0], wick_module_tensor(m, 0), wick_module_tensor(m, 1));
}

static void linear_extra(const wick_module *m, char *buffer, size_t bytes) {
    const wick_tensor *w = wick_module_tensor(m, 0);
    snprintf(buffer, bytes, "in_features=%lld, out_features=%lld, bias=%s", (long long)w->sizes[1],
             (long long)w->sizes[0], wick_module_tensor(m, 1) ? "True" : "False");
}

static const wick_module_class linear_class = {sizeof linear_class, "Linear", linear_forward, NULL, linear_extra};

wick_module *wick_nn_linear(wick_context *c, int64_t in_features, int64_t out_features,
                            const wick_nn_linear_options *options) {
    OPTIONS(wick_nn_linear_options, WICK_NN_LINEAR_OPTIONS_INIT);
    const wick_dim sizes[] = {out_features, in_features};
    if (!layer_check(c, "Linear", "a number of features", sizes, 2, 0)) return NULL;
    const layer_init init = {INIT_UNIFORM, in_features ? 1 / sqrt((double)in_features) : 0}; /* kaiming, a = sqrt 5 */
    wick_module *m = wick_module_create(c, &linear_class, 0);
    layer_parameter(c, m, "weight", 2, sizes, init);
    if (options->bias)
        layer_parameter(c, m, "bias", 1, sizes, init);
    else
        layer_without(c, m, "bias");
    return layer_finish(c, m);
}

/* ---- Embedding ---- */
static wick_tensor *embedding_forward(wick_module *m, wick_context *c, wick_tensor *const *inputs, int n) {
    wick_embedding_options o = WICK_EMBEDDING_OPTIONS_INIT;
    o.padding_idx = *PAYLOAD(int64_t, m);
    return wick_embedding(c, wick_module_tensor(m, 0), inputs[0], &o);
}

static void embedding_extra(const wick_module *m, char *buffer, size_t bytes) {
    const wick_tensor *w = wick_module_tensor(m, 0);
    int64_t padding = *PAYLOAD(int64_t, m);
    int used = snprintf(buffer, bytes, "%lld, %lld", (long long)w->sizes[0], (long long)w->sizes[1]);
    if (padding >= 0) snprintf(buffer + used, bytes - (size_t)used, ", padding_idx=%lld", (long long)padding);
}

static const wick_module_class embedding_class = {sizeof embedding_class, "Embedding", embedding_forward, NULL,
                                                  embedding_extra};

wick_module *wick_nn_embedding(wick_context *c, int64_t count, int64_t dim, const wick_nn_embedding_options *options) {
    OPTIONS(wick_nn_embedding_options, WICK_NN_EMBEDDING_OPTIONS_INIT);
    const wick_dim sizes[] = {count, dim};
    const int64_t padding = options->padding_idx;
    if (!layer_check(c, "Embedding", "a size", sizes, 2, 1)) return NULL;
    if (padding >= count)
        return FAIL(c, INVALID_ARGUMENT, "Embedding: padding_idx is %lld, wanted less than %lld", (long long)padding,
                    (long long)count),
               NULL;
    wick_module *m = wick_module_create(c, &embedding_class, sizeof(int64_t));
    if (!layer_parameter(c, m, "weight", 2, sizes, (layer_init){INIT_NORMAL, 1})) return layer_finish(c, m);
    *PAYLOAD(int64_t, m) = padding < 0 ? -1 : padding;
    if (padding >= 0) {
        wick_modes modes = wick_no_grad(c);
        wick_scope scope = wick_scope_open(c);
        wick_zero_(c, wick_select(c, wick_module_tensor(m, 0), 0, padding));
        wick_scope_close(c, scope);
        wick_modes_set(c, modes);
    }
    return layer_finish(c, m);
}
