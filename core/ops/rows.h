/* The table of rows and every rule that a row may name: one header a family. */
#ifndef WICK_OPS_ROWS_H
#define WICK_OPS_ROWS_H

#include "../src/dispatch.h"

/* Declarations of rules, by what they are. */
#define INFER(name) wick_status *name(op_infer *ix);
#define COMPOSE(name) void name(wick_context *c, const wick_value *args, wick_value *rets);
#define VIEW(name) wick_status *name(const wick_value *args, op_view_geometry *g);
#define GRADIENT(name) void name(backward_call *b);

#include "factory.h"
#include "indexing.h"
#include "matmul.h"
#include "nn.h"
#include "optim.h"
#include "pointwise.h"
#include "random.h"
#include "reduction.h"
#include "view.h"

extern const op_row op_rows[];
extern const int op_row_count;

#endif
