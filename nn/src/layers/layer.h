/* What layers share: making their parameters, and running a module class with a typed payload. */
#ifndef WICK_NN_LAYERS_LAYER_H
#define WICK_NN_LAYERS_LAYER_H

#include "nn.h"

#include <wick/layers.h>

/* The payload of module m as a T. */
#define PAYLOAD(T, m) ((T *)wick_module_payload(m))
#define OPTIONS(T, INIT)            \
    const T default_options = INIT; \
    if (!options) options = &default_options

/* An initializer: fills a fresh parameter. */
typedef struct layer_init {
    enum { INIT_UNIFORM, INIT_CONSTANT, INIT_NORMAL } kind;
    double value; /* bound, constant, or standard deviation */
} layer_init;

/* Makes and adds a parameter. */
bool layer_parameter(wick_context *c, wick_module *m, const char *name, int ndim, const wick_dim *sizes,
                     layer_init init);
/* Adds nothing in that position. */
bool layer_without(wick_context *c, wick_module *m, const char *name);
/* The module if the context is healthy, else NULL and the reference is dropped. */
wick_module *layer_finish(wick_context *c, wick_module *m);
/* Every value must be at least `low`. */
bool layer_check(wick_context *c, const char *layer, const char *what, const int64_t *values, int n, int64_t low);

#endif
