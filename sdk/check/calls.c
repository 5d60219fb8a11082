#include "calls.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- calling ---- */
/* Uninitialized tensors of the shapes that the functional form returned. */
static bool make_outs(runner *r, const subject *s, wick_device device, const call_result *like, call_result *out) {
    for (int i = 0; out->arguments.count < s->info.nargs; ++i) {
        const wick_value *v = &like->rets[i];
        if (v->tag != WICK_TAG_TENSOR) return out->arguments.problem = "a result is no tensor", false;
        const wick_tensor *t = v->as.tensor;
        wick_tensor *made = wick_tensor_from_host(r->c, NULL, wick_tensor_dtype(t), t->ndim, t->sizes, device);
        if (!made) return false;
        out->arguments.values[out->arguments.count++] = wick_value_tensor(made);
    }
    return true;
}

bool call_run(runner *r, const subject *s, wick_device device, call_result *out) {
    wick_set_default_device(r->c, device);
    wick_manual_seed(r->c, 7);
    out->ok = wick_call(r->c, s->op, out->arguments.values, s->info.nargs, out->rets, s->info.nrets);
    return out->ok;
}

bool call_make(runner *r, const subject *s, const recipe *recipe, const op_case *k, wick_device device,
               const call_result *outs_like, call_result *out) {
    int outs = outs_like ? s->info.nrets : 0;
    out->ok = false;
    memset(out->rets, 0, sizeof out->rets);
    if (!arguments_make(r, s, s->info.nargs - outs, recipe, k, device, &out->arguments)) return false;
    return (!outs || make_outs(r, s, device, outs_like, out)) && call_run(r, s, device, out);
}

void call_free(call_result *c) { arguments_free(&c->arguments); }

void case_label(const op_case *k, const char *form, int recipe_index, char *buffer, size_t bytes) {
    static const char *const shapes[] = {
#define SHAPE_NAME(NAME, name) name,
        CASE_SHAPES(SHAPE_NAME)
#undef SHAPE_NAME
    };
    static const char *const layouts[] = {
#define LAYOUT_NAME(NAME, name) name,
        CASE_LAYOUTS(LAYOUT_NAME)
#undef LAYOUT_NAME
    };
    const char *parts[] = {shapes[k->shape], layouts[k->layout], form};
    int used = snprintf(buffer, bytes, "%s", wick_dtype_name(k->dtype));
    for (size_t i = 0; i < 3 && used > 0 && (size_t)used < bytes; ++i)
        if (parts[i][0]) used += snprintf(buffer + used, bytes - (size_t)used, " %s", parts[i]);
    if (recipe_index && used > 0 && (size_t)used < bytes)
        snprintf(buffer + used, bytes - (size_t)used, " #%d", recipe_index + 1);
}

/* ---- comparing ---- */
tolerance case_tolerance_of(const recipe *recipe, const op_case *k, wick_dtype dtype) {
    double limit;
    switch (dtype) {
    case WICK_F16: limit = 2e-3; break;
    case WICK_BF16: limit = 1.6e-2; break;
    case WICK_F32:
    case WICK_C64: limit = 1e-5; break;
    case WICK_F64:
    case WICK_C128: limit = 1e-9; break;
    default: return (tolerance){0, 0};
    }
    if (recipe->flags & RECIPE_LOOSE) limit *= 10;
    if (k->shape == SHAPE_LARGE) limit *= 4;
    return (tolerance){limit, limit};
}

static void shape_text(const wick_tensor *t, char *buffer, size_t bytes) {
    int used = snprintf(buffer, bytes, "%s [", wick_dtype_name(wick_tensor_dtype(t)));
    for (int d = 0; d < t->ndim && used > 0 && (size_t)used < bytes; ++d)
        used += snprintf(buffer + used, bytes - (size_t)used, "%s%lld", d ? ", " : "", (long long)t->sizes[d]);
    if (used > 0 && (size_t)used < bytes) snprintf(buffer + used, bytes - (size_t)used, "]");
}

static bool same_shape(const wick_tensor *want, const wick_tensor *got, char *text, size_t bytes) {
    bool same = want->dtype == got->dtype && want->ndim == got->ndim;
    for (int d = 0; same && d < want->ndim; ++d) same = want->sizes[d] == got->sizes[d];
    if (same) return true;
    char a[128], b[128];
    shape_text(want, a, sizeof a);
    shape_text(got, b, sizeof b);
    snprintf(text, bytes, "got %s, wanted %s", b, a);
    return false;
}

/* Errors grow with the numbers that were added up: the largest result stands for them. */
static tolerance scaled(tolerance t, const char *want, wick_dtype dtype, int64_t count) {
    double largest = 1, v[2];
    if (t.atol == 0) return t;
    for (int64_t i = 0; i < count; ++i) {
        element_read(want, dtype, i, v);
        double size = fabs(v[0]) + fabs(v[1]);
        if (isfinite(size) && size > largest) largest = size;
    }
    t.atol *= largest;
    return t;
}

static bool same_elements(const char *want, const char *got, wick_dtype dtype, int64_t count, tolerance t, char *text,
                          size_t bytes) {
    int64_t wrong = 0;
    size_t size = wick_dtype_bytes(dtype);
    double e[2], g[2];
    if (memcmp(want, got, (size_t)count * size) == 0) return true;
    t = scaled(t, want, dtype, count);
    for (int64_t i = 0; i < count; ++i) {
        if (memcmp(want + (size_t)i * size, got + (size_t)i * size, size) == 0) continue;
        element_read(want, dtype, i, e);
        element_read(got, dtype, i, g);
        if (t.rtol > 0 && element_close(e, g, t)) continue;
        if (wrong++) continue;
        snprintf(text, bytes, "element %lld is %.9g%+.9gj, wanted %.9g%+.9gj", (long long)i, g[0], g[1], e[0], e[1]);
    }
    if (!wrong) return true;
    size_t used = strlen(text);
    snprintf(text + used, bytes - used, "; %lld of %lld %s differ", (long long)wrong, (long long)count,
             wick_dtype_name(dtype));
    return false;
}

/* An error stays in the context: the caller judges it. */
static bool fetch(runner *r, wick_tensor *t, char *data, size_t bytes) {
    return !wick_fail(r->c, wick_tensor_to_host(r->c, t, data, bytes));
}

bool tensor_compare(runner *r, wick_tensor *want, wick_tensor *got, tolerance t, char *text, size_t bytes) {
    if (!want || !got) {
        snprintf(text, bytes, "got %s, wanted %s", got ? "a tensor" : "none", want ? "a tensor" : "none");
        return want == got;
    }
    if (!same_shape(want, got, text, bytes)) return false;
    size_t size = (size_t)wick_numel(want) * wick_dtype_bytes(wick_tensor_dtype(want));
    char *a = malloc(size + 1), *b = malloc(size + 1);
    snprintf(text, bytes, "out of memory");
    bool ok = a && b && fetch(r, want, a, size) && fetch(r, got, b, size) &&
              same_elements(a, b, wick_tensor_dtype(want), wick_numel(want), t, text, bytes);
    free(a);
    free(b);
    return ok;
}

/* ---- whole results ---- */
typedef struct comparison {
    runner *r;
    const recipe *recipe;
    const op_case *k;
    char *text;
    size_t bytes;
} comparison;

/* Among equal elements any place is right, and integers are few. */
static bool is_place(const comparison *c, const wick_tensor *t, int index) {
    bool ties = c->recipe->flags & RECIPE_DISTINCT && !wick_dtype_is_floating(c->k->dtype);
    return ties && wick_tensor_dtype(t) == WICK_I64 && (index > 0 || c->k->dtype != WICK_I64);
}

static bool compare_one(const comparison *c, wick_tensor *want, wick_tensor *got, int index) {
    if (!want || !got) return tensor_compare(c->r, want, got, (tolerance){0, 0}, c->text, c->bytes);
    if (c->recipe->flags & RECIPE_SHAPE || is_place(c, want, index)) return same_shape(want, got, c->text, c->bytes);
    tolerance t = case_tolerance_of(c->recipe, c->k, wick_tensor_dtype(want));
    /* a wider result of a narrow computation is as exact as that */
    tolerance narrow = case_tolerance_of(c->recipe, c->k, c->k->dtype);
    if (t.rtol > 0 && narrow.rtol > t.rtol) t = narrow;
    return tensor_compare(c->r, want, got, t, c->text, c->bytes);
}

static wick_tensor *tensor_of(const wick_value *v) { return v->tag == WICK_TAG_TENSOR ? v->as.tensor : NULL; }

static bool compare_lists(const comparison *c, const wick_value *want, const wick_value *got) {
    snprintf(c->text, c->bytes, "got %u tensors, wanted %u", got->count, want->count);
    if (want->count != got->count) return false;
    for (uint32_t i = 0; i < want->count; ++i)
        if (!compare_one(c, want->as.tensors[i], got->as.tensors[i], 0)) return false;
    return true;
}

static bool compare_values(const comparison *c, const wick_value *want, const wick_value *got, int index) {
    snprintf(c->text, c->bytes, "got a value of kind %u, wanted %u", got->tag, want->tag);
    if (want->tag != got->tag) return false;
    if (want->tag == WICK_TAG_TENSOR_LIST) return compare_lists(c, want, got);
    if (want->tag == WICK_TAG_TENSOR) return compare_one(c, tensor_of(want), tensor_of(got), index);
    if (want->tag == WICK_TAG_NONE) return true;
    double a = wick_value_as_double(want), b = wick_value_as_double(got);
    snprintf(c->text, c->bytes, "got %.9g, wanted %.9g", b, a);
    return number_close(a, b, case_tolerance_of(c->recipe, c->k, c->k->dtype));
}

bool call_compare(runner *r, const subject *s, const recipe *recipe, const op_case *k, const call_result *want,
                  const call_result *got, char *text, size_t bytes) {
    comparison c = {r, recipe, k, text, bytes};
    for (int i = 0; i < s->info.nrets; ++i)
        if (!compare_values(&c, &want->rets[i], &got->rets[i], i)) return false;
    for (int i = 0; i < s->info.nargs; ++i)
        if (s->args[i].mutated && !compare_values(&c, &want->arguments.values[i], &got->arguments.values[i], i))
            return false;
    return true;
}
