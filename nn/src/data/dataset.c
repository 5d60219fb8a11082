/* Data sets: sources, arrays, parts. */
#include "nn.h"
#include "shuffle.h"

#include <math.h>
#include <stdatomic.h>
#include <wick/data.h>

struct wick_dataset {
    atomic_int references;
    const wick_dataset_class *cls;
    void *user;
    wick_dataset_info info;
};

/* NULL: no memory; `user` is still the caller's then. */
static wick_dataset *make(const wick_dataset_class *cls, void *user, const wick_dataset_info *info) {
    wick_dataset *d = calloc(1, sizeof *d);
    if (!d) return NULL;
    atomic_init(&d->references, 1);
    d->cls = cls, d->user = user, d->info = *info;
    return d;
}

static wick_status *no_memory(void) { return WICK_ERROR(WICK_OUT_OF_MEMORY, "no memory for a data set"); }

wick_status *wick_dataset_create(const wick_dataset_class *cls, void *user, const wick_dataset_info *info,
                                 wick_dataset **out) {
    wick_dataset *d = make(cls, user, info);
    if (!d && cls->destroy) cls->destroy(user);
    if (!d) return no_memory();
    *out = d;
    return NULL;
}

wick_dataset *wick_dataset_retain(wick_dataset *d) {
    if (d) atomic_fetch_add_explicit(&d->references, 1, memory_order_relaxed);
    return d;
}

void wick_dataset_release(wick_dataset *d) {
    if (!d || atomic_fetch_sub_explicit(&d->references, 1, memory_order_acq_rel) != 1) return;
    if (d->cls->destroy) d->cls->destroy(d->user);
    free(d);
}

wick_dataset_info wick_dataset_describe(const wick_dataset *d) { return d->info; }
int64_t wick_dataset_elements(const wick_dataset *d) { return wick_dim_product(d->info.sizes, d->info.ndim); }

wick_status *wick_dataset_fetch(const wick_dataset *d, const int64_t *indices, int64_t n, float *features,
                                void *targets) {
    return d->cls->fetch(d->user, indices, n, features, targets);
}

/* ---- arrays ---- */
typedef struct arrays {
    wick_array features, targets;
    int64_t elements, target_elements;
    double factor, shift; /* value * factor + shift */
    bool classes;
} arrays;

static void arrays_destroy(void *user) {
    arrays *a = user;
    wick_array_free(&a->features);
    wick_array_free(&a->targets);
    free(a);
}

/* X(dtype, C type): what arrays may hold. */
#define ELEMENTS(X)  \
    X(BOOL, uint8_t) \
    X(U8, uint8_t)   \
    X(I8, int8_t)    \
    X(I16, int16_t)  \
    X(I32, int32_t)  \
    X(I64, int64_t)  \
    X(U16, uint16_t) \
    X(U32, uint32_t) \
    X(U64, uint64_t) \
    X(F32, float)    \
    X(F64, double)

static double element_at(const wick_array *a, int64_t i) {
    switch (a->dtype) {
#define CASE(D, T) \
    case WICK_##D: return (double)((const T *)a->data)[i];
        ELEMENTS(CASE)
#undef CASE
    default: return NAN;
    }
}

static bool readable(wick_dtype dtype) {
    switch (dtype) {
#define CASE(D, T) case WICK_##D:
        ELEMENTS(CASE)
#undef CASE
        return true;
    default: return false;
    }
}

static void convert(const wick_array *a, int64_t from, int64_t n, float *out, double factor, double shift) {
    const float f = (float)factor, s = (float)shift;
    switch (a->dtype) {
#define CASE(D, T)                                                                              \
    case WICK_##D:                                                                              \
        for (int64_t i = 0; i < n; ++i) out[i] = (float)((const T *)a->data)[from + i] * f + s; \
        break;
        ELEMENTS(CASE)
#undef CASE
    default: break;
    }
}

static wick_status *arrays_fetch(void *user, const int64_t *indices, int64_t n, float *features, void *targets) {
    const arrays *a = user;
    for (int64_t i = 0; i < n; ++i) {
        convert(&a->features, indices[i] * a->elements, a->elements, features + i * a->elements, a->factor, a->shift);
        if (!targets) continue;
        if (a->classes)
            ((int64_t *)targets)[i] = (int64_t)element_at(&a->targets, indices[i]);
        else
            convert(&a->targets, indices[i] * a->target_elements, a->target_elements,
                    (float *)targets + i * a->target_elements, 1, 0);
    }
    return NULL;
}

static const wick_dataset_class arrays_class = {sizeof arrays_class, arrays_fetch, arrays_destroy};

static wick_status *choose_shape(const wick_array *x, const wick_dataset_options *o, const char *source,
                                 wick_dataset_info *info) {
    char got[SHAPE_TEXT], wanted[SHAPE_TEXT];
    if (x->ndim < 1 || !readable(x->dtype) || x->ndim - 1 > WICK_SAMPLE_DIMS)
        return WICK_ERROR(WICK_DATA_LOSS, "%s: got an array of %s with %d dimensions, wanted numbers with 1 to %d",
                          source, wick_dtype_name(x->dtype), x->ndim, WICK_SAMPLE_DIMS + 1);
    info->count = x->sizes[0];
    info->ndim = o->ndim ? o->ndim : x->ndim - 1;
    memcpy(info->sizes, o->ndim ? o->sizes : x->sizes + 1, sizeof *info->sizes * (size_t)info->ndim);
    if (wick_dim_product(info->sizes, info->ndim) == wick_dim_product(x->sizes + 1, x->ndim - 1)) return NULL;
    return WICK_ERROR(WICK_INVALID_ARGUMENT, "%s: got samples of shape %s, wanted %s", source,
                      shape_text(x->ndim - 1, x->sizes + 1, got), shape_text(info->ndim, info->sizes, wanted));
}

static wick_status *check_classes(const wick_array *y, const wick_dataset_options *o, const char *source,
                                  wick_dataset_info *info) {
    int64_t highest = -1;
    if (info->target_elements != 1)
        return WICK_ERROR(WICK_DATA_LOSS, "%s: got %lld targets a sample, wanted one class", source,
                          (long long)info->target_elements);
    for (int64_t i = 0; i < info->count; ++i) {
        double value = element_at(y, i);
        if (!(value >= 0 && value < 1e9) || value != floor(value) || (o->classes && value >= (double)o->classes))
            return WICK_ERROR(WICK_DATA_LOSS, "%s: sample %lld has class %g, wanted a whole number from 0%s", source,
                              (long long)i, value, o->classes ? " below `classes`" : "");
        if ((int64_t)value > highest) highest = (int64_t)value;
    }
    info->classes = o->classes ? o->classes : highest + 1;
    return NULL;
}

static wick_status *choose_targets(const wick_array *y, const wick_dataset_options *o, const char *source,
                                   wick_dataset_info *info) {
    if (!y->data) return NULL;
    if (y->ndim < 1 || !readable(y->dtype) || y->sizes[0] != info->count)
        return WICK_ERROR(WICK_DATA_LOSS, "%s: got %lld targets of %s, wanted %lld numbers", source,
                          (long long)(y->ndim ? y->sizes[0] : 1), wick_dtype_name(y->dtype), (long long)info->count);
    info->target_elements = wick_dim_product(y->sizes + 1, y->ndim - 1);
    info->target_dtype = o->values_as_targets ? WICK_F32 : WICK_I64;
    return o->values_as_targets ? NULL : check_classes(y, o, source, info);
}

static wick_status *describe(const wick_array *features, const wick_array *targets, const wick_dataset_options *o,
                             const char *source, wick_dataset_info *info) {
    if (!(o->std != 0)) return WICK_ERROR(WICK_INVALID_ARGUMENT, "%s: std is 0, wanted another number", source);
    WICK_TRY(choose_shape(features, o, source, info));
    return choose_targets(targets, o, source, info);
}

static wick_status *from_arrays(wick_array *features, wick_array *targets, const wick_dataset_options *o,
                                const char *source, wick_dataset **out) {
    wick_dataset_info info = WICK_DATASET_INFO_INIT;
    WICK_TRY(describe(features, targets, o, source, &info));
    arrays *a = calloc(1, sizeof *a);
    if (!a) return no_memory();
    *a = (arrays){.features = *features,
                  .targets = *targets,
                  .elements = wick_dim_product(info.sizes, info.ndim),
                  .target_elements = info.target_elements,
                  .factor = o->scale / o->std,
                  .shift = -o->mean / o->std,
                  .classes = info.target_dtype == WICK_I64};
    wick_dataset *d = make(&arrays_class, a, &info);
    if (!d) return free(a), no_memory();
    *out = d;
    *features = *targets = (wick_array)WICK_ARRAY_INIT;
    return NULL;
}

wick_status *wick_dataset_from_arrays(wick_array *features, wick_array *targets, const wick_dataset_options *options,
                                      const char *source, wick_dataset **out) {
    static const wick_dataset_options defaults = WICK_DATASET_OPTIONS_INIT;
    wick_array none = WICK_ARRAY_INIT;
    wick_array *y = targets ? targets : &none;
    wick_status *status = from_arrays(features, y, options ? options : &defaults, source, out);
    wick_array_free(features);
    wick_array_free(y);
    return status;
}

/* ---- parts ---- */
typedef struct part {
    wick_dataset *whole;
    int64_t indices[];
} part;

#define PART_BLOCK 256

static wick_status *part_fetch(void *user, const int64_t *indices, int64_t n, float *features, void *targets) {
    const part *p = user;
    const wick_dataset_info *info = &p->whole->info;
    int64_t elements = wick_dataset_elements(p->whole), block[PART_BLOCK];
    size_t target_bytes = (size_t)info->target_elements * wick_dtype_bytes(info->target_dtype);
    for (int64_t at = 0; at < n; at += PART_BLOCK) {
        int64_t count = n - at < PART_BLOCK ? n - at : PART_BLOCK;
        for (int64_t i = 0; i < count; ++i) block[i] = p->indices[indices[at + i]];
        WICK_TRY(wick_dataset_fetch(p->whole, block, count, features + at * elements,
                                    targets ? (char *)targets + (size_t)at * target_bytes : NULL));
    }
    return NULL;
}

static void part_destroy(void *user) {
    part *p = user;
    wick_dataset_release(p->whole);
    free(p);
}

static const wick_dataset_class part_class = {sizeof part_class, part_fetch, part_destroy};

wick_status *wick_dataset_subset(wick_dataset *d, const int64_t *indices, int64_t count, wick_dataset **out) {
    for (int64_t i = 0; i < count; ++i)
        if (indices[i] < 0 || indices[i] >= d->info.count)
            return WICK_ERROR(WICK_OUT_OF_RANGE, "sample %lld of a data set of %lld", (long long)indices[i],
                              (long long)d->info.count);
    part *p = malloc(sizeof *p + (size_t)count * sizeof *indices);
    if (!p) return no_memory();
    p->whole = wick_dataset_retain(d);
    if (count) memcpy(p->indices, indices, (size_t)count * sizeof *indices);
    wick_dataset_info info = d->info;
    info.count = count;
    wick_dataset *made = make(&part_class, p, &info);
    if (!made) return part_destroy(p), no_memory();
    *out = made;
    return NULL;
}

wick_status *wick_dataset_split(wick_dataset *d, double share, uint64_t seed, wick_dataset **out_first,
                                wick_dataset **out_second) {
    int64_t count = d->info.count, first = (int64_t)llround(share * (double)count);
    if (!(share >= 0 && share <= 1)) return WICK_ERROR(WICK_INVALID_ARGUMENT, "a share of %g, wanted 0 to 1", share);
    int64_t *order = malloc((size_t)(count ? count : 1) * sizeof *order);
    if (!order) return WICK_ERROR(WICK_OUT_OF_MEMORY, "no memory for an order of %lld samples", (long long)count);
    shuffled(order, count, seed, 0);
    wick_dataset *a = NULL;
    wick_status *status = wick_dataset_subset(d, order, first, &a);
    if (!status) status = wick_dataset_subset(d, order + first, count - first, out_second);
    free(order);
    if (status)
        wick_dataset_release(a);
    else
        *out_first = a;
    return status;
}
