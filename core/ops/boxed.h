/* Operators called with complete boxed arguments: what decompositions and gradient rules that pass their own arguments
 * on need. The same entry as the typed functions'. */
#ifndef WICK_OPS_BOXED_H
#define WICK_OPS_BOXED_H

#include "op_ids.h"
#include "shorthand.h"

#define VALUES(...) \
    (const wick_value[]){__VA_ARGS__}, (int)(sizeof((const wick_value[]){__VA_ARGS__}) / sizeof(wick_value))
/* CALL(c, mul, V(a), V(b)): arguments in schema order, none left out. */
#define CALL(c, op, ...) op_call1((c), OP_ID_##op, VALUES(__VA_ARGS__))
/* CALL_MANY(c, op, rets, nrets, ...): an operator with several returns; false: the context failed. */
#define CALL_MANY(c, op, rets, nrets, ...) op_calln((c), OP_ID_##op, VALUES(__VA_ARGS__), (rets), (nrets))

#define V(t) wick_value_tensor(t)
#define NONE wick_value_none()
#define BOOLEAN(x) wick_value_bool(x)
#define INTS(list, n) wick_value_ints((list), (size_t)(n))
#define DTYPE(d) wick_value_dtype(d)

/* The arguments of a decomposition. */
#define T(i) arg_tensor(args, (i))
#define I(n) (args[n].as.i)
#define F(i) wick_value_as_double(&args[i])
#define DECOMPOSE(name, expression) \
    void compose_##name(wick_context *c, const wick_value *args, wick_value *rets) { give(rets, (expression)); }

/* A dtype argument; WICK_DTYPE_NONE if it is None. */
static inline wick_dtype dtype_or_none(const wick_value *v) {
    return v->tag == WICK_TAG_DTYPE ? (wick_dtype)v->as.i : WICK_DTYPE_NONE;
}
/* F16 and BF16 compute in F32. */
static inline wick_dtype compute_dtype(wick_dtype d) { return d == WICK_F16 || d == WICK_BF16 ? WICK_F32 : d; }
static inline wick_tensor *widen(wick_context *c, wick_tensor *t) {
    return t ? cast(c, t, compute_dtype((wick_dtype)t->dtype)) : NULL;
}

#endif
