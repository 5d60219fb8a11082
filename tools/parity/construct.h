/* From a recorded class and its constructor's arguments to wick's module or loss. */
#ifndef WICK_PARITY_CONSTRUCT_H
#define WICK_PARITY_CONSTRUCT_H

#include <wick/loss.h>
#include <wick/module.h>

#include "parity.h"

/* One of the two; neither if making it failed. */
typedef struct constructed {
    wick_module *module;
    wick_loss *loss;
} constructed;

/* False: wick has no such class, or not with these arguments. Otherwise makes it; the context tells a failure. */
bool construct(const parity_case *k, constructed *out);
void constructed_free(constructed *made);

#endif
