/* Models from an INI. */
#include "plugin_model.h"

#include <wick/model.h>

#define SECTION "model"
#define LAYERS_LIMIT 4096

/* ---- shapes in text ---- */
static bool read_shape(const char *p, int *ndim, wick_dim *sizes) {
    *ndim = 0;
    while (true) {
        char *end;
        long long size = strtoll(p, &end, 10);
        if (end == p || *p < '0' || *p > '9' || size < 1 || size > INT64_C(1) << 40 || *ndim == WICK_MODEL_DIMS)
            return false;
        sizes[(*ndim)++] = size;
        if (*end != 'x') return !*end;
        p = end + 1;
    }
}

wick_status *wick_config_shape(const wick_config_file *config, const char *section, const char *key, int *out_ndim,
                               wick_dim out_sizes[WICK_MODEL_DIMS]) {
    const char *value = wick_config_string(config, section, key, NULL);
    *out_ndim = 0;
    if (!value || read_shape(value, out_ndim, out_sizes)) return NULL;
    *out_ndim = 0;
    return wick_config_error(config, section, key, "got \"%s\", wanted a shape such as 784 or 1x28x28", value);
}

/* ---- layers in order ---- */
typedef struct numbered {
    long number;
    const char *key;
} numbered;

static int compare_numbers(const void *a, const void *b) {
    long x = ((const numbered *)a)->number, y = ((const numbered *)b)->number;
    return (x > y) - (x < y);
}

/* "layer12" -> 12; 0 for another key. */
static long layer_number(const char *key) {
    char *end;
    if (strncmp(key, "layer", 5) != 0 || key[5] < '1' || key[5] > '9') return 0;
    long number = strtol(key + 5, &end, 10);
    return *end || number > LAYERS_LIMIT ? 0 : number;
}

static wick_status *list_layers(const wick_config_file *config, numbered **out, int *out_count) {
    size_t capacity = 0, n = 0;
    numbered *layers = NULL;
    wick_status *status = NULL;
    const char *key;
    for (size_t i = 0; !status && (key = wick_config_key_at(config, SECTION, i)) != NULL; ++i) {
        long number = layer_number(key);
        if (!strcmp(key, "input")) continue;
        if (!number)
            status = wick_config_error(config, SECTION, key, "unknown key, wanted input, layer1, layer2, ...");
        else if (!grow((void **)&layers, &capacity, n, sizeof *layers))
            status = WICK_ERROR(WICK_OUT_OF_MEMORY, "no memory for the list of layers");
        else
            layers[n++] = (numbered){number, key};
    }
    if (status) return free(layers), status;
    if (!layers)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "%s: [model] has no layers, wanted layer1, layer2, ...",
                          wick_config_name(config));
    qsort(layers, n, sizeof *layers, compare_numbers);
    *out = layers, *out_count = (int)n;
    return NULL;
}

/* ---- what a layer gives ---- */
typedef struct shape {
    int ndim;
    wick_dim sizes[WICK_MODEL_DIMS];
} shape;

static bool keep_shape(wick_context *c, const wick_tensor *y, shape *s) {
    char got[SHAPE_TEXT];
    if (!y) return false;
    if (y->ndim < 1 || y->ndim > WICK_MODEL_DIMS + 1 || y->sizes[0] != 1)
        return !FAIL(c, INVALID_ARGUMENT, "a batch of 1 gives shape %s, wanted 1 as its first size",
                     shape_text(y->ndim, y->sizes, got));
    s->ndim = y->ndim - 1;
    memcpy(s->sizes, y->sizes + 1, sizeof *y->sizes * (size_t)s->ndim);
    return true;
}

/* Runs the layer with one sample of zeros. */
static bool try_layer(wick_context *c, wick_module *layer, shape *s) {
    wick_dim sizes[WICK_MODEL_DIMS + 1] = {1};
    memcpy(sizes + 1, s->sizes, sizeof *sizes * (size_t)s->ndim);
    wick_modes modes = wick_no_grad(c);
    wick_scope scope = wick_scope_open(c);
    wick_module_train(layer, false);
    wick_tensor *x = wick_zeros(c, sizes, (size_t)s->ndim + 1, NULL);
    bool ok = x && keep_shape(c, wick_module_forward(c, layer, x), s);
    wick_module_train(layer, true);
    wick_scope_close(c, scope);
    wick_modes_set(c, modes);
    return ok;
}

/* Names the line. */
static void blame(wick_context *c, const wick_config_file *config, const char *key, const shape *s) {
    char got[SHAPE_TEXT];
    wick_status *cause = wick_status_take(c);
    wick_fail(c, wick_config_error(config, SECTION, key, "for samples of shape %s: %s",
                                   shape_text(s->ndim, s->sizes, got), wick_status_message(cause)));
    wick_status_free(cause);
}

static wick_module *make_layer(wick_context *c, const wick_config_file *config, const char *key, shape *s) {
    const shape before = *s;
    wick_module *layer = wick_layer_parse(c, wick_config_string(config, SECTION, key, ""), s->ndim, s->sizes);
    if (layer && try_layer(c, layer, s)) return layer;
    wick_module_release(layer);
    blame(c, config, key, &before);
    return NULL;
}

static wick_module *layers_in_order(wick_context *c, const wick_config_file *config, shape *s) {
    numbered *layers = NULL;
    int n = 0;
    char name[16];
    if (wick_failed(c) || wick_fail(c, list_layers(config, &layers, &n))) return NULL;
    wick_module *m = wick_nn_sequential(c, NULL, 0);
    for (int i = 0; i < n && m && !wick_failed(c); ++i) {
        wick_module *layer = make_layer(c, config, layers[i].key, s);
        snprintf(name, sizeof name, "%d", i);
        if (layer) wick_module_add(c, m, name, layer);
    }
    free(layers);
    return m;
}

/* [model] plugin = NAME */
static wick_module *from_plugin(wick_context *c, const wick_config_file *config, shape *s) {
    const shape before = *s;
    wick_module *m = plugin_model_create(c, config, s->ndim, s->sizes);
    if (m && !try_layer(c, m, s)) blame(c, config, "plugin", &before);
    return m;
}

wick_module *wick_model_from_config(wick_context *c, const wick_config_file *config, int ndim, const wick_dim *sizes,
                                    int *out_ndim, wick_dim out_sizes[WICK_MODEL_DIMS]) {
    shape s = {.ndim = ndim};
    memcpy(s.sizes, sizes, sizeof *sizes * (size_t)ndim);
    const bool plugin = wick_config_string(config, SECTION, "plugin", NULL) != NULL;
    wick_module *m = plugin ? from_plugin(c, config, &s) : layers_in_order(c, config, &s);
    if (wick_failed(c)) return wick_module_release(m), NULL;
    if (out_ndim) *out_ndim = s.ndim;
    if (out_sizes) memcpy(out_sizes, s.sizes, sizeof *s.sizes * (size_t)s.ndim);
    return m;
}
