/* Models from plugins. */
#ifndef WICK_NN_TRAIN_PLUGIN_MODEL_H
#define WICK_NN_TRAIN_PLUGIN_MODEL_H

#include "nn.h"

#include <wick/config.h>
#include <wick/module.h>

/* The model that [model] plugin names, for samples of a shape: one reference for the caller. NULL: the context failed. */
wick_module *plugin_model_create(wick_context *c, const wick_config_file *config, int ndim, const wick_dim *sizes);

#endif
