/* Named numbers: the options of optimizers and schedules. */
#ifndef WICK_NN_OPTIM_OPTIONS_H
#define WICK_NN_OPTIM_OPTIONS_H

#include "nn.h"

#include <wick/optim.h>

#define OPTIONS_LIMIT 12

/* The position of `name`, -1 if there is none. */
int option_index(const wick_option *options, size_t count, const char *name);
/* Overwrites `values` by what is given; `known` has `count` options. Latches the first unknown name of `owner`. */
bool options_apply(wick_context *c, const char *owner, const wick_option *known, size_t count, const wick_option *given,
                   size_t given_count, double *values);
/* Every value must have been given. */
bool options_complete(wick_context *c, const char *owner, const wick_option *known, size_t count, const double *values);

#endif
