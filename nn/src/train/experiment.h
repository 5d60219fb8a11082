/* The experiment, for the files of this folder. */
#ifndef WICK_NN_TRAIN_EXPERIMENT_H
#define WICK_NN_TRAIN_EXPERIMENT_H

#include "keys.h"

struct wick_experiment {
    wick_context *c;
    const wick_config_file *config;
    uint64_t seed;
    wick_dataset *train, *test;
    wick_module *module;
    wick_loss *loss;
    wick_loss_kind loss_kind;
    bool class_targets;
    int ndim; /* of a sample; 0: not known yet */
    wick_dim sizes[WICK_MODEL_DIMS];
};

#endif
