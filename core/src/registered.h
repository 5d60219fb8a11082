/* Operators of plugins (wick/sdk/operator.h) as rows of the operator table. */
#ifndef WICK_CORE_REGISTERED_H
#define WICK_CORE_REGISTERED_H

#include <wick/sdk/operator.h>

#include "dispatch.h"

typedef struct registered_op {
    op_row row; /* what dispatch sees */
    const wick_operator_row *plugin;
    void *instance;
} registered_op;

/* Checks the row and fills `out`, which stays where it is. */
wick_status *registered_op_init(registered_op *out, const wick_operator_row *row, void *instance);

#endif
