/* Random numbers and what drops elements at random. */
#include <math.h>

#include "geometry.h"
#include "rows.h"
#include "shorthand.h"

static wick_tensor *self_of(const wick_value *args) { return args[0].as.tensor; }

/* ---- shape rules ---- */
static wick_status *want_floating(const wick_tensor *t, const char *name) {
    if (wick_dtype_is_floating((wick_dtype)t->dtype)) return NULL;
    return WICK_ERROR(WICK_UNSUPPORTED, "\"%s\" is not implemented for dtype %s", name,
                      wick_dtype_name((wick_dtype)t->dtype));
}

wick_status *infer_random(op_infer *ix) {
    meta_like(&ix->outs[0], self_of(ix->args));
    return NULL;
}

wick_status *infer_uniform(op_infer *ix) {
    double from = ix->args[1].as.f, to = ix->args[2].as.f;
    WICK_TRY(want_floating(self_of(ix->args), "uniform_"));
    if (!(from <= to))
        return WICK_ERROR(WICK_INVALID_ARGUMENT,
                          "uniform_ expects to return a [from, to) range, but found from=%g > to=%g", from, to);
    return infer_random(ix);
}

wick_status *infer_normal(op_infer *ix) {
    WICK_TRY(want_floating(self_of(ix->args), "normal_"));
    if (!(ix->args[2].as.f >= 0))
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "normal expects std >= 0.0, but found std %g", ix->args[2].as.f);
    return infer_random(ix);
}

static wick_status *want_positive(op_infer *ix, const char *name, const char *what, double x) {
    if (x > 0) return infer_random(ix);
    return WICK_ERROR(WICK_INVALID_ARGUMENT, "%s expects %s > 0.0, but found %s=%g", name, what, what, x);
}
wick_status *infer_exponential(op_infer *ix) {
    WICK_TRY(want_floating(self_of(ix->args), "exponential_"));
    if (ix->args[1].as.f == 0) return infer_random(ix);
    return want_positive(ix, "exponential_", "lambda", ix->args[1].as.f);
}
wick_status *infer_log_normal(op_infer *ix) {
    WICK_TRY(want_floating(self_of(ix->args), "log_normal_"));
    return want_positive(ix, "log_normal_", "std", ix->args[2].as.f);
}
wick_status *infer_cauchy(op_infer *ix) {
    WICK_TRY(want_floating(self_of(ix->args), "cauchy_"));
    return want_positive(ix, "cauchy_", "sigma", ix->args[2].as.f);
}

wick_status *infer_geometric(op_infer *ix) {
    double p = ix->args[1].as.f;
    if (p > 0 && p < 1) return infer_random(ix);
    return WICK_ERROR(WICK_INVALID_ARGUMENT, "geometric_ expects p to be in (0, 1), but got p=%g", p);
}

static wick_status *check_probability(const char *name, double p) {
    if (p >= 0 && p <= 1) return NULL;
    return WICK_ERROR(WICK_INVALID_ARGUMENT, "%s expects p to be in [0, 1], but got p=%g", name, p);
}
wick_status *infer_bernoulli_float(op_infer *ix) {
    WICK_TRY(check_probability("bernoulli_", ix->args[1].as.f));
    return infer_random(ix);
}

wick_status *infer_bernoulli(op_infer *ix) {
    WICK_TRY(want_floating(self_of(ix->args), "bernoulli"));
    return infer_random(ix);
}

wick_status *infer_random_from(op_infer *ix) {
    if (ix->args[2].tag != WICK_TAG_NONE && ix->args[1].as.i >= ix->args[2].as.i)
        return WICK_ERROR(WICK_INVALID_ARGUMENT,
                          "random_ expects 'from' to be less than 'to', but got from=%lld >= to=%lld",
                          (long long)ix->args[1].as.i, (long long)ix->args[2].as.i);
    return infer_random(ix);
}
wick_status *infer_random_to(op_infer *ix) {
    if (ix->args[1].as.i <= 0)
        return WICK_ERROR(WICK_INVALID_ARGUMENT,
                          "random_ expects 'from' to be less than 'to', but got from=0 >= to=%lld",
                          (long long)ix->args[1].as.i);
    return infer_random(ix);
}

wick_status *infer_poisson(op_infer *ix) {
    WICK_TRY(want_floating(self_of(ix->args), "poisson"));
    return infer_random(ix);
}

wick_status *infer_randperm(op_infer *ix) {
    wick_dim n = ix->args[0].as.i;
    wick_dtype dtype = ix->args[1].tag == WICK_TAG_DTYPE ? (wick_dtype)ix->args[1].as.i : WICK_I64;
    if (n < 0) return WICK_ERROR(WICK_INVALID_ARGUMENT, "n must be non-negative, got%lld", (long long)n);
    meta_set(&ix->outs[0], dtype, 1, &n);
    return NULL;
}

/* ---- factories ---- */
/* dtype, layout, device and pin_memory from `at` on. */
static wick_tensor *fresh(wick_context *c, const wick_value *sizes, const wick_value *at) {
    wick_empty_options o = WICK_EMPTY_OPTIONS_INIT;
    if (at[0].tag == WICK_TAG_DTYPE) o.dtype = (wick_dtype)at[0].as.i;
    if (at[2].tag == WICK_TAG_DEVICE) o.device = at[2].as.device;
    return wick_empty(c, LIST(*sizes), &o);
}

/* And memory_format. */
static wick_tensor *fresh_like(wick_context *c, wick_tensor *t, const wick_value *at) {
    wick_empty_like_options o = WICK_EMPTY_LIKE_OPTIONS_INIT;
    if (at[0].tag == WICK_TAG_DTYPE) o.dtype = (wick_dtype)at[0].as.i;
    if (at[2].tag == WICK_TAG_DEVICE) o.device = at[2].as.device;
    if (at[4].tag == WICK_TAG_MEMORY_FORMAT) o.memory_format = (int)at[4].as.i;
    return wick_empty_like(c, t, &o);
}

/* A complex normal has real and imaginary parts of half the variance. */
static wick_tensor *filled_normal(wick_context *c, wick_tensor *t, double mean, double std) {
    wick_normal__options o = WICK_NORMAL__OPTIONS_INIT;
    o.mean = mean, o.std = std;
    if (!t || !wick_dtype_is_complex((wick_dtype)t->dtype)) return wick_normal_(c, t, &o);
    o.std = std / sqrt(2);
    wick_normal_(c, wick_view_as_real(c, t), &o);
    return t;
}
static wick_tensor *filled_uniform(wick_context *c, wick_tensor *t) {
    if (!t || !wick_dtype_is_complex((wick_dtype)t->dtype)) return wick_uniform_(c, t, NULL);
    wick_uniform_(c, wick_view_as_real(c, t), NULL);
    return t;
}
static wick_tensor *filled_integers(wick_context *c, wick_tensor *t, int64_t low, int64_t high) {
    return wick_random_from_(c, t, low, &high);
}

void compose_rand(wick_context *c, const wick_value *args, wick_value *rets) {
    give(rets, filled_uniform(c, fresh(c, &args[0], args + 1)));
}
void compose_randn(wick_context *c, const wick_value *args, wick_value *rets) {
    give(rets, filled_normal(c, fresh(c, &args[0], args + 1), 0, 1));
}
void compose_rand_like(wick_context *c, const wick_value *args, wick_value *rets) {
    give(rets, filled_uniform(c, fresh_like(c, self_of(args), args + 1)));
}
void compose_randn_like(wick_context *c, const wick_value *args, wick_value *rets) {
    give(rets, filled_normal(c, fresh_like(c, self_of(args), args + 1), 0, 1));
}
void compose_randint(wick_context *c, const wick_value *args, wick_value *rets) {
    give(rets, filled_integers(c, fresh(c, &args[1], args + 2), 0, args[0].as.i));
}
void compose_randint_low(wick_context *c, const wick_value *args, wick_value *rets) {
    give(rets, filled_integers(c, fresh(c, &args[2], args + 3), args[0].as.i, args[1].as.i));
}
void compose_randint_like(wick_context *c, const wick_value *args, wick_value *rets) {
    give(rets, filled_integers(c, fresh_like(c, self_of(args), args + 2), 0, args[1].as.i));
}
void compose_randint_like_low(wick_context *c, const wick_value *args, wick_value *rets) {
    give(rets, filled_integers(c, fresh_like(c, self_of(args), args + 3), args[1].as.i, args[2].as.i));
}

/* Where random keys lie in order: for devices without a kernel of their own. */
void compose_randperm(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_empty_options o = WICK_EMPTY_OPTIONS_INIT;
    o.dtype = WICK_F64;
    if (args[3].tag == WICK_TAG_DEVICE) o.device = args[3].as.device;
    wick_tensor *keys = wick_uniform_(c, wick_empty(c, &args[0].as.i, 1, &o), NULL);
    wick_dtype dtype = args[1].tag == WICK_TAG_DTYPE ? (wick_dtype)args[1].as.i : WICK_I64;
    give(rets, cast(c, wick_argsort_stable(c, keys, true, NULL), dtype));
}

void compose_normal_float_float(wick_context *c, const wick_value *args, wick_value *rets) {
    give(rets, filled_normal(c, fresh(c, &args[2], args + 4), args[0].as.f, args[1].as.f));
}

/* ---- by parameters that are tensors ---- */
static wick_tensor *standard_normal_like(wick_context *c, wick_tensor *a, wick_tensor *b) {
    wick_dim sizes[WICK_MAX_DIMS];
    int ndim = 0;
    if (wick_fail(c, infer_broadcast(&ndim, sizes, a->ndim, a->sizes)) ||
        (b && wick_fail(c, infer_broadcast(&ndim, sizes, b->ndim, b->sizes))))
        return NULL;
    return filled_normal(c, wick_new_empty(c, a, sizes, (size_t)ndim, NULL), 0, 1);
}

void compose_normal_tensor_float(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *noise = standard_normal_like(c, self_of(args), NULL);
    give(rets, wick_add(c, wick_mul_scalar(c, noise, args[1]), self_of(args), NULL));
}
void compose_normal_float_tensor(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *noise = standard_normal_like(c, args[1].as.tensor, NULL);
    give(rets, wick_add_scalar(c, wick_mul(c, noise, args[1].as.tensor), args[0], NULL));
}
void compose_normal_tensor_tensor(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *noise = standard_normal_like(c, self_of(args), args[1].as.tensor);
    give(rets, wick_add(c, wick_mul(c, noise, args[1].as.tensor), self_of(args), NULL));
}

static wick_tensor *filled_bernoulli(wick_context *c, wick_tensor *t, double p) {
    wick_bernoulli__options o = WICK_BERNOULLI__OPTIONS_INIT;
    o.p = p;
    return wick_bernoulli_(c, t, &o);
}

void compose_bernoulli_p(wick_context *c, const wick_value *args, wick_value *rets) {
    give(rets, filled_bernoulli(c, wick_empty_like(c, self_of(args), NULL), args[1].as.f));
}

/* Without replacement: the highest of weights over exponential noise. With: where uniform numbers fall in the
 * cumulative distribution. */
void compose_multinomial(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *p = self_of(args), *indices = NULL;
    int64_t samples = args[1].as.i;
    if (p->ndim < 1 || p->ndim > 2) FAIL(ctx(c), INVALID_ARGUMENT, "prob_dist must be 1 or 2 dim");
    if (samples <= 0) FAIL(ctx(c), INVALID_ARGUMENT, "cannot sample n_sample <= 0 samples");
    if (wick_failed(c) || wick_fail(c, want_floating(p, "multinomial"))) return;
    if (!args[2].as.i && samples > p->sizes[p->ndim - 1]) {
        FAIL(ctx(c), INVALID_ARGUMENT, "cannot sample n_sample > prob_dist.size(-1) samples without replacement");
        return;
    }
    if (!args[2].as.i) {
        wick_tensor *noise = wick_exponential_(c, wick_empty_like(c, p, NULL), NULL);
        wick_topk(c, wick_div(c, p, noise), samples, NULL, &indices);
        return give(rets, indices);
    }
    wick_searchsorted_options right = WICK_SEARCHSORTED_OPTIONS_INIT;
    right.right = true;
    wick_dim sizes[2] = {p->ndim == 2 ? p->sizes[0] : samples, samples};
    wick_tensor *cumulative = wick_cumsum(c, wick_div(c, p, sum_dims(c, p, (int64_t[]){-1}, 1, true)), -1, NULL);
    wick_tensor *u = wick_uniform_(c, wick_new_empty(c, p, sizes, p->ndim, NULL), NULL);
    wick_clamp_options last = WICK_CLAMP_OPTIONS_INIT;
    last.max = NUMBER(p->sizes[p->ndim - 1] - 1); /* rounding may leave the sum below 1 */
    give(rets, wick_clamp(c, wick_searchsorted(c, cumulative, u, &right), &last));
}

/* ---- dropout ---- */
static bool trains(const wick_value *train) { return train->tag == WICK_TAG_NONE || train->as.i; }

wick_status *infer_native_dropout(op_infer *ix) {
    WICK_TRY(check_probability("dropout", ix->args[1].as.f));
    WICK_TRY(want_floating(self_of(ix->args), "native_dropout"));
    meta_like(&ix->outs[0], self_of(ix->args));
    meta_like(&ix->outs[1], self_of(ix->args));
    ix->outs[1].dtype = WICK_BOOL;
    return NULL;
}

void compose_native_dropout(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *t = self_of(args);
    wick_empty_like_options o = WICK_EMPTY_LIKE_OPTIONS_INIT;
    double keep = trains(&args[2]) ? 1 - args[1].as.f : 1;
    o.dtype = WICK_BOOL;
    wick_tensor *mask = filled_bernoulli(c, wick_empty_like(c, t, &o), keep);
    rets[0] = wick_value_tensor(wick_mul_scalar(c, wick_mul(c, t, mask), REAL(keep > 0 ? 1 / keep : 0)));
    rets[1] = wick_value_tensor(mask);
}

void compose_native_dropout_backward(wick_context *c, const wick_value *args, wick_value *rets) {
    give(rets, wick_mul_scalar(c, wick_mul(c, self_of(args), args[1].as.tensor), args[2]));
}

/* False if the input goes through unchanged, or on a failure. */
static bool drops(wick_context *c, const wick_value *args, wick_value *rets) {
    double p = args[1].as.f;
    if (!(p >= 0 && p <= 1))
        return !FAIL(ctx(c), INVALID_ARGUMENT, "dropout probability has to be between 0 and 1, but got %g", p);
    if (p > 0 && args[2].as.i && self_of(args)->numel) return true;
    give(rets, self_of(args));
    return false;
}

static wick_tensor *all_dropped(wick_context *c, wick_tensor *t) { return wick_mul(c, t, wick_zeros_like(c, t, NULL)); }

void compose_dropout(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *t = self_of(args);
    bool train = true;
    if (!drops(c, args, rets)) return;
    give(rets, args[1].as.f == 1 ? all_dropped(c, t) : wick_native_dropout(c, t, args[1].as.f, &train, NULL));
}

/* One number for each channel of each sample. */
static wick_tensor *channel_noise(wick_context *c, wick_tensor *t) {
    wick_dim sizes[WICK_MAX_DIMS];
    if (t->ndim < 2) {
        FAIL(ctx(c), INVALID_ARGUMENT, "Feature dropout requires at least 2 dimensions in the input");
        return NULL;
    }
    for (int i = 0; i < t->ndim; ++i) sizes[i] = i < 2 ? t->sizes[i] : 1;
    return wick_new_empty(c, t, sizes, t->ndim, NULL);
}

void compose_feature_dropout(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *t = self_of(args);
    double keep = 1 - args[1].as.f;
    if (!drops(c, args, rets)) return;
    if (keep == 0) return give(rets, all_dropped(c, t));
    wick_tensor *noise = filled_bernoulli(c, channel_noise(c, t), keep);
    give(rets, wick_mul(c, t, wick_div_scalar(c, noise, REAL(keep))));
}

/* Dropped elements become -alpha' of SELU; then mean and variance are restored. */
static void drop_alpha(wick_context *c, const wick_value *args, wick_value *rets, bool channels) {
    const double alpha = 1.7580993408473766, p = args[1].as.f;
    wick_tensor *t = self_of(args);
    if (!drops(c, args, rets)) return;
    if (p == 1) return give(rets, all_dropped(c, t));
    const double a = 1 / sqrt((alpha * alpha * p + 1) * (1 - p));
    wick_tensor *noise = filled_bernoulli(c, channels ? channel_noise(c, t) : wick_empty_like(c, t, NULL), 1 - p);
    wick_tensor *shift = wick_mul_scalar(c, wick_sub_scalar(c, noise, NUMBER(1), NULL), REAL(alpha * a));
    shift = wick_add_scalar(c, shift, REAL(alpha * a * p), NULL);
    give(rets, wick_add(c, wick_mul(c, t, wick_mul_scalar(c, noise, REAL(a))), shift, NULL));
}
void compose_alpha_dropout(wick_context *c, const wick_value *args, wick_value *rets) {
    drop_alpha(c, args, rets, false);
}
void compose_feature_alpha_dropout(wick_context *c, const wick_value *args, wick_value *rets) {
    drop_alpha(c, args, rets, true);
}

/* ---- rrelu: (self, noise, lower, upper, training, generator); noise is written ---- */
static wick_tensor *mean_leak(wick_context *c, wick_tensor *t, const wick_value *lower, const wick_value *upper) {
    wick_leaky_relu_options o = WICK_LEAKY_RELU_OPTIONS_INIT;
    o.negative_slope = REAL((wick_value_as_double(lower) + wick_value_as_double(upper)) / 2);
    return wick_leaky_relu(c, t, &o);
}

void compose_rrelu_with_noise(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *t = self_of(args), *noise = args[1].as.tensor;
    if (!args[4].as.i) return give(rets, mean_leak(c, t, &args[2], &args[3]));
    wick_uniform__options o = WICK_UNIFORM__OPTIONS_INIT;
    o.from = wick_value_as_double(&args[2]), o.to = wick_value_as_double(&args[3]);
    wick_tensor *slopes = wick_uniform_(c, wick_empty_like(c, t, NULL), &o);
    slopes = wick_masked_fill(c, slopes, wick_gt_scalar(c, wick_detach(c, t), NUMBER(0)), NUMBER(1));
    wick_copy_(c, noise, slopes, NULL);
    give(rets, wick_mul(c, t, slopes));
}

void compose_rrelu(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *t = self_of(args);
    if (!args[3].as.i) return give(rets, mean_leak(c, t, &args[1], &args[2]));
    wick_rrelu_with_noise_options o = WICK_RRELU_WITH_NOISE_OPTIONS_INIT;
    o.lower = args[1], o.upper = args[2], o.training = true;
    give(rets, wick_rrelu_with_noise(c, t, wick_empty_like(c, wick_detach(c, t), NULL), &o));
}

/* (grad_output, self, noise, lower, upper, training, self_is_result) */
void compose_rrelu_with_noise_backward(wick_context *c, const wick_value *args, wick_value *rets) {
    double lower = wick_value_as_double(&args[3]), upper = wick_value_as_double(&args[4]);
    if (args[5].as.i && upper - lower > 1e-6) return give(rets, wick_mul(c, self_of(args), args[2].as.tensor));
    give(rets, wick_leaky_relu_backward(c, self_of(args), args[1].as.tensor, REAL((lower + upper) / 2), args[6].as.i));
}
