/* Random numbers. */
#include "kernels.h"

#include <string.h>

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

static wick_status *domain_error(const wick_kernel_call *call, const char *wanted, double p, double q) {
    return WICK_HOST_ERROR(call->host, WICK_INVALID_ARGUMENT, "%s expects %s, got %g, %g",
                           call->host->op_name(call->op), wanted, p, q);
}

static drawing real_drawing(const wick_kernel_call *call, int kind, int parameters) {
    drawing d = {.kind = kind, .mask = 0xffffffff, .p = wick_value_as_double(&call->values[1])};
    if (parameters > 1) d.q = wick_value_as_double(&call->values[2]);
    return d;
}

/* Of a reduced dtype no more bits are used than it holds: rounding must not reach the open end. */
wick_status *ocl_uniform(const wick_kernel_call *call) {
    drawing d = real_drawing(call, UNIFORM, 2);
    wick_dtype dtype = wick_tensor_dtype(wick_out_tensor(call, 0));
    if (!(d.p <= d.q)) return domain_error(call, "from <= to", d.p, d.q);
    if (dtype == WICK_F16) d.mask = 0xffe00000;
    if (dtype == WICK_BF16) d.mask = 0xff000000;
    return draw(call, &d);
}

wick_status *ocl_normal(const wick_kernel_call *call) {
    drawing d = real_drawing(call, NORMAL, 2);
    return d.q >= 0 ? draw(call, &d) : domain_error(call, "std >= 0", d.p, d.q);
}

wick_status *ocl_exponential(const wick_kernel_call *call) {
    drawing d = real_drawing(call, EXPONENTIAL, 1);
    return d.p > 0 ? draw(call, &d) : domain_error(call, "lambda > 0", d.p, 0);
}

wick_status *ocl_bernoulli(const wick_kernel_call *call) {
    drawing d = real_drawing(call, BERNOULLI, 1);
    return d.p >= 0 && d.p <= 1 ? draw(call, &d) : domain_error(call, "0 <= p <= 1", d.p, 0);
}

wick_status *ocl_bernoulli_tensor(const wick_kernel_call *call) {
    drawing d = {.kind = BERNOULLI, .mask = 0xffffffff, .chances = wick_arg_tensor(call, 1)};
    if (!d.chances) d.chances = wick_arg_tensor(call, 0);
    return draw(call, &d);
}

/* ---- integers ---- */
static wick_status *draw_integers(const wick_kernel_call *call, int64_t from, bool bounded, int64_t to) {
    drawing d = {.kind = INTEGER, .mask = 0xffffffff, .first = from};
    if (bounded && from >= to) return domain_error(call, "from < to", (double)from, (double)to);
    d.range = bounded ? (uint64_t)to - (uint64_t)from : 0;
    return draw(call, &d);
}

wick_status *ocl_random_to(const wick_kernel_call *call) {
    return draw_integers(call, 0, true, wick_value_as_int(&call->values[1]));
}

wick_status *ocl_random_from(const wick_kernel_call *call) {
    const wick_value *to = &call->values[2];
    if (wick_value_is_none(to))
        return WICK_HOST_ERROR(call->host, WICK_UNSUPPORTED, "%s: opencl wants an upper bound, got None",
                               call->host->op_name(call->op));
    return draw_integers(call, wick_value_as_int(&call->values[1]), true, wick_value_as_int(to));
}
