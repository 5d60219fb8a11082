/* Random numbers. */
#include "kernels.h"

#include <string.h>
#include <wick/sdk/random.h>

enum { UNIFORM, BERNOULLI, NORMAL, EXPONENTIAL, INTEGER, KINDS };
#define RECIPE(kind) \
    { .sources = {ocl_source_random}, .kernels = {"draw"}, .expression = #kind, .kinds = "TT" }
static const ocl_recipe recipes[KINDS] = {RECIPE(UNIFORM), RECIPE(BERNOULLI), RECIPE(NORMAL), RECIPE(EXPONENTIAL),
                                          RECIPE(INTEGER)};

typedef struct drawing {
    int kind;
    double p, q;
    cl_uint mask; /* of the words' bits */
    int64_t first;
    uint64_t range;             /* 0: 2^64 */
    const wick_tensor *chances; /* of Bernoulli trials; NULL: p */
} drawing;

/* double on devices that have it, else float: `real` of the kernel. */
static void arg_real(ocl_launch *launch, double value) {
    if (launch->self->fp64)
        ocl_arg(launch, &value, sizeof value);
    else
        ocl_arg(launch, &(float){(float)value}, sizeof(float));
}

static wick_status *draw(const wick_kernel_call *call, const drawing *d) {
    const wick_tensor *out = wick_out_tensor(call, 0), *tensors[] = {out, d->chances};
    ocl_variant v = {.recipe = &recipes[d->kind], .compute = out->dtype, .dtypes = {out->dtype}};
    ocl_view view;
    ocl_launch launch;
    if (d->chances) v.dtypes[1] = d->chances->dtype;
    if (!ocl_view_of(&view, out, -1, tensors, d->chances ? 2 : 1)) return ocl_view_error(call);
    v.wide = ocl_view_is_wide(&view);
    /* chances are read as T, which must hold them */
    bool holds = !d->chances || ocl_class_of(wick_tensor_dtype(d->chances)) == ocl_class_of(wick_tensor_dtype(out));
    WICK_TRY(ocl_begin(&launch, call, &v, 0, holds ? out->numel : INT64_MAX));
    ocl_arg(&launch, &view, sizeof view), ocl_arg_tensor(&launch, out);
    if (d->chances) ocl_arg_tensor(&launch, d->chances);
    ocl_arg(&launch, &call->philox->seed, sizeof(cl_ulong)), ocl_arg(&launch, &call->philox->offset, sizeof(cl_ulong));
    arg_real(&launch, d->p), arg_real(&launch, d->q);
    ocl_arg(&launch, &d->mask, sizeof d->mask);
    ocl_arg_long(&launch, d->first), ocl_arg(&launch, &d->range, sizeof(cl_ulong)), ocl_arg_fault(&launch);
    return ocl_end_items(&launch, (view.numel + 3) / 4);
}

static wick_status *draw_real(const wick_kernel_call *call, int kind, wick_random_distribution distribution) {
    const bool uniform = distribution == WICK_RANDOM_UNIFORM;
    double p[2];
    WICK_TRY(wick_random_parameters(call, distribution, p));
    const uint32_t mask = uniform ? wick_random_mask(wick_tensor_dtype(wick_out_tensor(call, 0))) : UINT32_MAX;
    return draw(call, &(drawing){.kind = kind, .p = p[0], .q = p[1], .mask = mask});
}
wick_status *ocl_uniform(const wick_kernel_call *call) { return draw_real(call, UNIFORM, WICK_RANDOM_UNIFORM); }
wick_status *ocl_normal(const wick_kernel_call *call) { return draw_real(call, NORMAL, WICK_RANDOM_NORMAL); }
wick_status *ocl_exponential(const wick_kernel_call *call) {
    return draw_real(call, EXPONENTIAL, WICK_RANDOM_EXPONENTIAL);
}
wick_status *ocl_bernoulli(const wick_kernel_call *call) { return draw_real(call, BERNOULLI, WICK_RANDOM_BERNOULLI); }

wick_status *ocl_bernoulli_tensor(const wick_kernel_call *call) {
    drawing d = {.kind = BERNOULLI, .mask = 0xffffffff, .chances = wick_arg_tensor(call, 1)};
    if (!d.chances) d.chances = wick_arg_tensor(call, 0);
    return draw(call, &d);
}

/* ---- integers ---- */
static wick_status *draw_integers(const wick_kernel_call *call, wick_random_range r) {
    return draw(call, &(drawing){.kind = INTEGER, .mask = UINT32_MAX, .first = (int64_t)r.first, .range = r.range});
}
wick_status *ocl_random_to(const wick_kernel_call *call) {
    wick_random_range r;
    WICK_TRY(wick_random_to(call, &r));
    return draw_integers(call, r);
}
wick_status *ocl_random_from(const wick_kernel_call *call) {
    wick_random_range r;
    WICK_TRY(wick_random_from(call, &r));
    return draw_integers(call, r);
}
