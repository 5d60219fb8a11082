/* The INI of a training run: known keys, and reading groups of them. */
#ifndef WICK_NN_TRAIN_KEYS_H
#define WICK_NN_TRAIN_KEYS_H

#include "nn.h"

#include <wick/model.h>
#include <wick/optim.h>
#include <wick/trainer.h>

#define PATH_BYTES 4096

/* The options of a list that the section gives; room for all of the list's. */
wick_status *keys_options(const wick_config_file *config, const char *section, const wick_option_list *list,
                          wick_option *out, size_t *out_count);
/* Keys of the section that are options of another `type` only. `extra` (NULL-terminated) are fine. */
wick_status *keys_only(const wick_config_file *config, const char *section, const wick_option_list *list,
                       const char *const *extra);

#endif
