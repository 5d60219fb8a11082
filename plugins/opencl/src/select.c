/* Sorting, and the positions of what is not zero. */
#include "kernels.h"

enum { MAX_CHUNKS = 1024, MIN_STRETCH = 64 };

static const ocl_recipe sort_recipe = {
    .sources = {ocl_source_select}, .kernels = {"sort"}, .expression = "0", .places = "B"};
static const ocl_recipe nonzero_recipe = {
    .sources = {ocl_source_select}, .kernels = {"count_nonzero", "write_nonzero"}, .expression = "1", .places = "O"};

/* ---- sort ---- */
/* (self, stable, dim, descending) -> (values, positions) */
wick_status *ocl_sort(const wick_kernel_call *call) {
    const wick_tensor *in = wick_arg_tensor(call, 0), *values = wick_out_tensor(call, 0),
                      *at = wick_out_tensor(call, 1);
    ocl_variant v = {.recipe = &sort_recipe, .compute = in->dtype, .dtypes = {values->dtype, in->dtype, at->dtype}};
    int dim = wick_dim_of(&call->values[2], in->ndim);
    cl_long strides[4] = {0, 0, 0, 0}, count = in->ndim ? in->sizes[dim] : 1;
    ocl_view lines;
    ocl_launch launch;
    if (in->numel == 0) return NULL;
    if (in->ndim) strides[0] = in->strides[dim], strides[1] = values->strides[dim], strides[2] = at->strides[dim];
    if (!ocl_view_of(&lines, in, dim, (const wick_tensor *[]){in, values, at}, 3)) return ocl_view_error(call);
    v.wide = ocl_view_is_wide(&lines);
    WICK_TRY(ocl_begin(&launch, call, &v, 0, in->numel));
    ocl_arg(&launch, &lines, sizeof lines), ocl_arg_long(&launch, count), ocl_arg(&launch, strides, sizeof strides);
    ocl_arg_tensor(&launch, values), ocl_arg_tensor(&launch, in), ocl_arg_tensor(&launch, at);
    ocl_arg_int(&launch, call->values[3].as.i != 0);
    return ocl_end_items(&launch, lines.numel * count);
}

/* ---- nonzero ---- */
/* `shape` of kernels/select.cl. */
typedef struct shape {
    cl_long ndim;
    cl_long sizes[OCL_DIMS];
} shape;

typedef struct search {
    const wick_tensor *in;
    ocl_variant variant;
    ocl_view view;
    int64_t stretch, chunks;
    wick_memory counts; /* scratch on the device: a cl_long a chunk */
} search;

static wick_status *begin(const search *s, const wick_kernel_call *call, ocl_launch *launch, int kernel) {
    cl_mem handle = s->counts.handle;
    WICK_TRY(ocl_begin(launch, call, &s->variant, kernel, s->in->numel));
    ocl_arg(launch, &s->view, sizeof s->view), ocl_arg_long(launch, s->stretch), ocl_arg_tensor(launch, s->in);
    ocl_arg(launch, &handle, sizeof handle);
    ocl_arg_long(launch, (int64_t)(s->counts.offset_bytes / sizeof(cl_long)));
    return NULL;
}

/* Counts in chunks, then turns the counts into the first row of each chunk; *out_total: all of them. */
static wick_status *count(const search *s, const wick_kernel_call *call, int64_t *out_total) {
    void *stream = call->stream;
    cl_long counts[MAX_CHUNKS];
    size_t bytes = (size_t)s->chunks * sizeof counts[0];
    ocl_launch launch;
    WICK_TRY(begin(s, call, &launch, 0));
    WICK_TRY(ocl_end_items(&launch, s->chunks));
    WICK_TRY(ocl_memory.copy_to_host(call->instance, call->device.index, stream, &s->counts, 0, counts, bytes, 0));
    *out_total = 0;
    for (int64_t i = 0; i < s->chunks; ++i) {
        cl_long n = counts[i];
        counts[i] = *out_total, *out_total += n;
    }
    return ocl_memory.copy_from_host(call->instance, call->device.index, stream, &s->counts, 0, counts, bytes, 0);
}

static wick_status *write_rows(const search *s, const wick_kernel_call *call) {
    const wick_tensor *out = wick_out_tensor(call, 0);
    shape dims = {.ndim = s->in->ndim};
    ocl_launch launch;
    for (int d = 0; d < s->in->ndim; ++d) dims.sizes[d] = s->in->sizes[s->in->ndim - 1 - d];
    if (out->numel == 0) return NULL;
    WICK_TRY(begin(s, call, &launch, 1));
    ocl_arg_tensor(&launch, out), ocl_arg(&launch, &dims, sizeof dims);
    return ocl_end_items(&launch, s->chunks);
}

/* (self) -> [n, ndim]: waits for the device, since the shape depends on the values. */
wick_status *ocl_nonzero(const wick_kernel_call *call) {
    search s = {.in = wick_arg_tensor(call, 0), .variant = {.recipe = &nonzero_recipe}};
    int64_t numel = s.in->numel, total = 0;
    s.variant.dtypes[0] = WICK_I64, s.variant.dtypes[1] = s.variant.compute = s.in->dtype;
    if (s.in->ndim > OCL_DIMS || !ocl_view_of(&s.view, s.in, -1, &s.in, 1)) return ocl_view_error(call);
    s.variant.wide = ocl_view_is_wide(&s.view);
    if (numel > 0) {
        s.stretch = numel / MAX_CHUNKS + 1 > MIN_STRETCH ? numel / MAX_CHUNKS + 1 : MIN_STRETCH;
        s.chunks = (numel + s.stretch - 1) / s.stretch;
        WICK_TRY(call->host->device_workspace(call, (uint64_t)s.chunks * sizeof(cl_long), &s.counts));
        WICK_TRY(count(&s, call, &total));
    }
    WICK_TRY(call->host->resize_output(call, 0, 2, (const wick_dim[]){total, s.in->ndim}));
    return numel > 0 ? write_rows(&s, call) : NULL;
}
