/* wick/model.h: models written in an INI file, layer after layer:
 *
 *     [model]
 *     input = 1x8x8                ; shape of one sample
 *     layer1 = conv2d(16, kernel=3, padding=1)
 *     layer2 = relu
 *     layer3 = flatten
 *     layer4 = linear(10)
 *
 * Layers run in the order of their numbers; each is made for what the one before gives, which a run with one sample of
 * zeros finds out. The result is a Sequential with the children "0", "1", ... The layers: wick_layer_describe().
 *
 * With `plugin = NAME` and no layers the model is the one that plugin NAME has published (wick/sdk/model.h); its own keys
 * stand in the section, too. */
#ifndef WICK_MODEL_H
#define WICK_MODEL_H

#include <wick/config.h>
#include <wick/layers.h>

#define WICK_MODEL_DIMS 8

WICK_BEGIN_DECLS
/* The model of section [model] for samples of a shape; out_* (may be NULL) is what it gives for one sample. The caller
 * has one reference; NULL: the context failed, and the message names the line and the shapes. */
WICK_API wick_module *wick_model_from_config(wick_context *c, const wick_config_file *config, int ndim,
                                             const wick_dim *sizes, int *out_ndim, wick_dim out_sizes[WICK_MODEL_DIMS]);
/* Reads a shape, "1x8x8", from a key; *out_ndim is 0 if there is none. */
WICK_API WICK_MUST_USE wick_status *wick_config_shape(const wick_config_file *config, const char *section,
                                                      const char *key, int *out_ndim,
                                                      wick_dim out_sizes[WICK_MODEL_DIMS]);
WICK_END_DECLS

#endif
