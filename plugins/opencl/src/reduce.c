#include "kernels.h"

#include <string.h>

const ocl_fold ocl_folds[] = {OCL_SUM, OCL_PRODUCT, OCL_MAXIMUM, OCL_MINIMUM, OCL_ANY, OCL_ALL};

#define RECIPE(kind) \
    { .sources = {ocl_source_reduce}, .kernels = {"lines", "fold"}, .expression = #kind }
static const ocl_recipe fold_recipes[OCL_FOLDS] = {RECIPE(SUM),     RECIPE(PRODUCT), RECIPE(MAXIMUM),
                                                   RECIPE(MINIMUM), RECIPE(ANY),     RECIPE(ALL)};
#define INDEX_RECIPE(kind) \
    { .sources = {ocl_source_reduce}, .kernels = {"index_lines", "index_fold"}, .expression = #kind, .places = "O" }
static const ocl_recipe index_recipes[OCL_FOLDS] = {
    [OCL_MAXIMUM] = INDEX_RECIPE(MAXIMUM), [OCL_MINIMUM] = INDEX_RECIPE(MINIMUM)};

/* ---- shapes ---- */
typedef struct shape {
    ocl_view kept, over;
} shape;

/* The outputs have the input's dimensions (keepdim) or only those that stay. */
static bool make_shape(shape *s, uint64_t reduced, const wick_tensor *in, const wick_tensor *const *outs, int nouts) {
    ocl_view_clear(&s->kept), ocl_view_clear(&s->over);
    int from = outs[0]->ndim - 1;
    bool keepdim = outs[0]->ndim == in->ndim;
    for (int d = in->ndim - 1; d >= 0; --d) {
        int64_t strides[3] = {0, in->strides[d], 0};
        if (reduced >> d & 1) {
            if (!ocl_view_push(&s->over, in->sizes[d], &in->strides[d], 1)) return false;
            from -= keepdim;
            continue;
        }
        strides[0] = outs[0]->strides[from];
        if (nouts > 1) strides[2] = outs[1]->strides[from];
        --from;
        if (!ocl_view_push(&s->kept, in->sizes[d], strides, 3)) return false;
    }
    return true;
}

/* An item for each result, unless there are few results of many elements. */
static wick_status *end(ocl_launch *launch, const shape *s, bool lines) {
    if (lines) return ocl_end_items(launch, s->kept.numel);
    size_t groups = (size_t)s->kept.numel, local = OCL_GROUP;
    return ocl_end(launch, 1, &groups, &local);
}

static bool by_lines(const shape *s) {
    return s->over.numel <= 32 || s->kept.numel == 0 || (s->kept.numel >= 1024 && s->over.numel <= 1024);
}

/* ---- values ---- */
static wick_status *reduce(const wick_kernel_call *call, const wick_value *dims) {
    ocl_fold kind = *(const ocl_fold *)call->data;
    const wick_tensor *in = wick_arg_tensor(call, 0), *out = wick_out_tensor(call, 0);
    ocl_variant v = {.recipe = &fold_recipes[kind], .dtypes = {out->dtype, in->dtype}};
    shape s;
    ocl_launch launch;
    v.compute = kind <= OCL_PRODUCT ? out->dtype : in->dtype;
    if (!make_shape(&s, wick_reduced_dims(dims, in->ndim), in, &out, 1)) return ocl_view_error(call);
    v.wide = ocl_view_is_wide(&s.kept) || ocl_view_is_wide(&s.over);
    bool lines = by_lines(&s);
    WICK_TRY(ocl_begin(&launch, call, &v, lines ? 0 : 1, in->numel));
    ocl_arg(&launch, &s.kept, sizeof s.kept), ocl_arg(&launch, &s.over, sizeof s.over);
    ocl_arg_tensor(&launch, out), ocl_arg_tensor(&launch, in);
    return end(&launch, &s, lines);
}

wick_status *ocl_reduce(const wick_kernel_call *call) { return reduce(call, &call->values[1]); }

wick_status *ocl_reduce_all(const wick_kernel_call *call) {
    wick_value all = wick_value_none();
    return reduce(call, &all);
}

/* ---- positions ---- */
static wick_status *index_reduce(const wick_kernel_call *call, ocl_fold kind, const wick_tensor *positions,
                                 const wick_tensor *values) {
    const wick_tensor *in = wick_arg_tensor(call, 0), *outs[] = {positions, values ? values : positions};
    ocl_variant v = {.recipe = &index_recipes[kind], .compute = in->dtype};
    shape s;
    ocl_launch launch;
    v.dtypes[0] = positions->dtype, v.dtypes[1] = in->dtype, v.dtypes[2] = outs[1]->dtype;
    if (!make_shape(&s, wick_reduced_dims(&call->values[1], in->ndim), in, outs, 2)) return ocl_view_error(call);
    v.wide = ocl_view_is_wide(&s.kept) || ocl_view_is_wide(&s.over);
    bool lines = by_lines(&s);
    WICK_TRY(ocl_begin(&launch, call, &v, lines ? 0 : 1, in->numel));
    ocl_arg(&launch, &s.kept, sizeof s.kept), ocl_arg(&launch, &s.over, sizeof s.over);
    ocl_arg_tensor(&launch, positions), ocl_arg_tensor(&launch, in), ocl_arg_tensor(&launch, outs[1]);
    ocl_arg_int(&launch, values != NULL);
    return end(&launch, &s, lines);
}

wick_status *ocl_arg_reduce(const wick_kernel_call *call) {
    return index_reduce(call, *(const ocl_fold *)call->data, wick_out_tensor(call, 0), NULL);
}

wick_status *ocl_index_reduce(const wick_kernel_call *call) {
    return index_reduce(call, *(const ocl_fold *)call->data, wick_out_tensor(call, 1), wick_out_tensor(call, 0));
}
