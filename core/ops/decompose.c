#include "decompose.h"

#include "rows.h"

bool wants_fractions(wick_context *c, const wick_tensor *t, const char *op) {
    if (wick_dtype_is_differentiable((wick_dtype)t->dtype)) return true;
    return !FAIL(ctx(c), UNSUPPORTED, "%s is not implemented for dtype %s", op, wick_dtype_name((wick_dtype)t->dtype));
}

static wick_dtype wide_dtype(wick_dtype d) { return wick_dtype_is_floating(d) && d != WICK_F64 ? WICK_F32 : d; }

/* A number is to count as a tensor of its dtype from here on: functions of it alone would be of the default dtype. */
static wick_tensor *unwrapped(wick_context *c, wick_tensor *t) {
    return t->flags & WICK_TENSOR_WRAPPED_NUMBER ? wick_clone(c, t, NULL) : t;
}

bool elementwise_begin(wick_context *c, int op_id, const wick_value *args, elementwise *e) {
    const op_entry *op = &ctx(c)->rt->ops->entries[op_id];
    op_infer ix = {.c = c, .op = op, .args = args, .cast_args = UINT32_MAX};
    wick_status *s = (op->def->infer ? op->def->infer : infer_pointwise)(&ix);
    if (fail(ctx(c), s)) return false;
    *e = (elementwise){.wide = wide_dtype(ix.compute), .result = ix.outs[0].dtype};
    for (int k = 0; k < op->tensor_arg_count && k < ARRAY_COUNT(e->in); ++k) {
        int i = op->tensor_args[k];
        wick_tensor *t = i < op->base_nargs ? arg_tensor(args, i) : NULL;
        /* Numbers are rounded to the compute dtype first, as they are for a kernel. */
        e->in[k] = t && ix.cast_args >> i & 1 ? cast(c, cast(c, unwrapped(c, t), ix.compute), e->wide) : t;
    }
    return !wick_failed(c);
}

wick_tensor *elementwise_end(wick_context *c, const elementwise *e, wick_tensor *value) {
    value = cast(c, value, e->result);
    for (int k = 0; k < ARRAY_COUNT(e->in); ++k)
        if (value && value == e->in[k]) return wick_clone(c, value, NULL);
    return value;
}

/* The nearest integer below a / b in double precision: right up to 2^53. */
static wick_tensor *quotient_step(wick_context *c, wick_tensor *a, wick_tensor *b) {
    return cast(c, wick_floor(c, DIV(cast(c, a, WICK_F64), cast(c, b, WICK_F64))), WICK_I64);
}

/* What the first step leaves over is small enough for the second to be exact. */
wick_tensor *integer_quotient(wick_context *c, wick_tensor *a, wick_tensor *b, bool floored) {
    a = cast(c, a, WICK_I64), b = cast(c, b, WICK_I64);
    wick_tensor *q = quotient_step(c, a, b);
    q = ADD(q, quotient_step(c, SUB(a, MUL(q, b)), b));
    if (floored) return q;
    wick_tensor *rest = wick_ne(c, MUL(q, b), a);
    wick_tensor *negative = wick_ne(c, LTN(a, NUMBER(0)), LTN(b, NUMBER(0)));
    return ADD(q, cast(c, AND(rest, negative), WICK_I64));
}

wick_tensor *multiply_axis(wick_context *c, wick_tensor *t, int dim, wick_tensor *matrix) {
    if (!t || !matrix) return NULL;
    int64_t last = t->ndim - 1, at = dim;
    wick_tensor *moved = wick_movedim(c, t, &at, 1, &last, 1);
    wick_tensor *product = wick_matmul(c, moved, wick_t(c, matrix));
    return wick_movedim(c, product, &last, 1, &at, 1);
}
