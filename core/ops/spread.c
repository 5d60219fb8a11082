/* Variance, standard deviation, covariance. */
#include "boxed.h"
#include "dims.h"
#include "geometry.h"
#include "rows.h"

static wick_status *infer_moment(op_infer *ix, int outputs) {
    const wick_tensor *t = arg_tensor(ix->args, 0);
    uint64_t mask;
    if (!wick_dtype_is_differentiable((wick_dtype)t->dtype))
        return WICK_ERROR(WICK_UNSUPPORTED, "std and var only support floating point and complex dtypes");
    WICK_TRY(dims_mask(&ix->args[1], t->ndim, true, &mask));
    for (int i = 0; i < outputs; ++i) {
        op_meta *m = &ix->outs[i];
        m->ndim = dims_reduce(t, mask, ix->args[3].as.i, m->sizes);
        m->dtype = i == 0 ? dtype_to_real((wick_dtype)t->dtype) : (wick_dtype)t->dtype;
    }
    return NULL;
}
wick_status *infer_var(op_infer *ix) { return infer_moment(ix, 1); }
wick_status *infer_var_mean(op_infer *ix) { return infer_moment(ix, 2); }

/* ---- decompositions: (self, dim, correction, keepdim) ---- */
typedef struct moments {
    wick_tensor *var, *mean; /* mean: with its dimensions kept */
} moments;

static moments variance(wick_context *c, const wick_value *args) {
    moments r = {NULL, NULL};
    wick_tensor *x = widen(c, T(0));
    uint64_t mask;
    if (wick_fail(c, dims_mask(&args[1], T(0)->ndim, true, &mask))) return r;
    double n = (double)dims_count(T(0)->ndim, T(0)->sizes, mask), free = n - (args[2].tag ? F(2) : 1);
    r.mean = CALL(c, mean_dim, V(x), args[1], BOOLEAN(true), NONE);
    wick_tensor *off = wick_sub(c, x, r.mean, NULL), *square;
    if (off && wick_dtype_is_complex((wick_dtype)off->dtype)) off = wick_abs(c, off);
    square = wick_mul(c, off, off);
    r.var = wick_div_scalar(c, CALL(c, sum_dim, V(square), args[1], args[3], NONE), REAL(free > 0 ? free : 0));
    return r;
}

static void give_moments(wick_context *c, const wick_value *args, wick_value *rets, bool root, bool with_mean) {
    wick_dtype dtype = (wick_dtype)T(0)->dtype;
    moments m = variance(c, args);
    rets[0] = V(cast(c, root ? wick_sqrt(c, m.var) : m.var, dtype_to_real(dtype)));
    if (with_mean && m.var) rets[1] = V(cast(c, wick_reshape(c, m.mean, SIZES(m.var)), dtype));
}

void compose_var(wick_context *c, const wick_value *args, wick_value *rets) {
    give_moments(c, args, rets, false, false);
}
void compose_std(wick_context *c, const wick_value *args, wick_value *rets) {
    give_moments(c, args, rets, true, false);
}
void compose_var_mean(wick_context *c, const wick_value *args, wick_value *rets) {
    give_moments(c, args, rets, false, true);
}
void compose_std_mean(wick_context *c, const wick_value *args, wick_value *rets) {
    give_moments(c, args, rets, true, true);
}

/* (self, unbiased) and (self, dim, unbiased, keepdim) */
#define UNBIASED(i) wick_value_int(I(i) != 0)
#define SPREAD(name)                                                                 \
    DECOMPOSE(name##_all, CALL(c, name, args[0], NONE, UNBIASED(1), BOOLEAN(false))) \
    DECOMPOSE(name##_dim, CALL(c, name, args[0], args[1], UNBIASED(2), args[3]))
#define SPREAD_MEAN(name)                                                                  \
    void compose_##name##_all(wick_context *c, const wick_value *args, wick_value *rets) { \
        CALL_MANY(c, name, rets, 2, args[0], NONE, UNBIASED(1), BOOLEAN(false));           \
    }                                                                                      \
    void compose_##name##_dim(wick_context *c, const wick_value *args, wick_value *rets) { \
        CALL_MANY(c, name, rets, 2, args[0], args[1], UNBIASED(2), args[3]);               \
    }
SPREAD(var)
SPREAD(std)
SPREAD_MEAN(var_mean)
SPREAD_MEAN(std_mean)

/* ---- covariance: rows are variables, columns observations ---- */
static bool check_weights(wick_context *c, const wick_tensor *w, const char *name, bool integral,
                          wick_dim observations) {
    if (!w) return true;
    const char *wanted = integral ? "integral" : "floating point";
    if (w->ndim > 1) return !FAIL(ctx(c), INVALID_ARGUMENT, "cov(): expected %s to have one or fewer dimensions", name);
    if (wick_dtype_is_floating((wick_dtype)w->dtype) == integral)
        return !FAIL(ctx(c), INVALID_ARGUMENT, "cov(): expected %s to have %s dtype but got %s", name, wanted,
                     wick_dtype_name((wick_dtype)w->dtype));
    if (w->numel != observations)
        return !FAIL(ctx(c), INVALID_ARGUMENT, "cov(): expected %s to have the same numel as there are observations",
                     name);
    return true;
}

/* w_sum - correction, or with reliability weights w_sum - correction sum(w a) / w_sum; not below 0 */
static wick_tensor *cov_divisor(wick_context *c, wick_tensor *w, wick_tensor *w_sum, wick_tensor *reliability,
                                int64_t correction) {
    wick_tensor *lost;
    if (!reliability || !correction) {
        lost = wick_sub_scalar(c, w_sum, NUMBER(correction), NULL);
    } else {
        wick_tensor *doubled = wick_sum(c, wick_mul(c, w, reliability), NULL);
        lost = wick_sub(c, w_sum, wick_div(c, wick_mul_scalar(c, doubled, NUMBER(correction)), w_sum), NULL);
    }
    wick_clamp_options o = WICK_CLAMP_OPTIONS_INIT;
    o.min = NUMBER(0);
    return wick_clamp(c, lost, &o);
}

/* (self, correction, fweights, aweights) */
void compose_cov(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *f = T(2), *a = T(3);
    if (T(0)->ndim > 2 || T(0)->dtype == WICK_BOOL) {
        FAIL(ctx(c), INVALID_ARGUMENT,
             "cov(): expected input to have two or fewer dimensions and a dtype other than bool");
        return;
    }
    wick_tensor *x = T(0)->ndim < 2 ? wick_reshape(c, T(0), (int64_t[]){1, -1}, 2) : T(0);
    if (!x || !check_weights(c, f, "fweights", true, x->sizes[1]) ||
        !check_weights(c, a, "aweights", false, x->sizes[1]))
        return;
    wick_tensor *w = f && a ? wick_mul(c, f, a) : f ? f : a;
    wick_tensor *weighted = w ? wick_mul(c, x, w) : x, *w_sum = w ? wick_sum(c, w, NULL) : NULL;
    wick_tensor *total = sum_dims(c, weighted, (int64_t[]){1}, 1, true);
    wick_tensor *mean = w ? wick_div(c, total, w_sum) : wick_div_scalar(c, total, NUMBER(x->sizes[1]));
    wick_tensor *off = wick_sub(c, x, mean, NULL), *other = w ? wick_mul(c, off, w) : off;
    wick_tensor *products = wick_matmul(c, off, wick_conj(c, wick_t(c, cast_like(c, other, off))));
    wick_dim count = x->sizes[1] - I(1);
    wick_tensor *cov = w ? wick_div(c, products, cov_divisor(c, w, w_sum, a, I(1)))
                         : wick_div_scalar(c, products, NUMBER(count > 0 ? count : 0));
    give(rets, wick_squeeze(c, cov));
}

void compose_corrcoef(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *cov = CALL(c, cov, args[0], NUMBER(1), NONE, NONE);
    if (!cov) return;
    if (cov->ndim == 0) {
        give(rets, wick_div(c, cov, cov));
        return;
    }
    bool is_complex = wick_dtype_is_complex((wick_dtype)cov->dtype);
    wick_tensor *d = diagonal_of(c, cov, 0, 0, 1);
    wick_tensor *deviation = wick_sqrt(c, is_complex ? wick_real(c, d) : d);
    wick_tensor *r = wick_div(c, wick_div(c, cov, wick_unsqueeze(c, deviation, 1)), wick_unsqueeze(c, deviation, 0));
    wick_clamp_options o = WICK_CLAMP_OPTIONS_INIT;
    o.min = NUMBER(-1), o.max = NUMBER(1);
    if (is_complex) r = wick_complex(c, wick_clamp(c, wick_real(c, r), &o), wick_clamp(c, wick_imag(c, r), &o));
    give(rets, is_complex ? r : wick_clamp(c, r, &o));
}
