/* Geometry and launches of reductions. */
#include "reduce.h"

#include <wick/sdk/shape.h>

#define THREADS 256
#define COLUMN_THREADS 256
#define MOST_PIECES 1024
#define MOST_COLUMN_PIECES 256

/* ---- geometry ---- */
/* Innermost first, with strides in bytes. */
static bool take_dims(gpu_dims *to, const wick_reduce_dim *dims, int n, int64_t count, const int64_t *bytes) {
    if (n > GPU_DIMS || (n > 1 && count > INT32_MAX)) return false;
    memset(to, 0, sizeof *to);
    to->ndim = n ? n : 1;
    to->sizes[0] = gpu_divider_of(1);
    for (int i = 0; i < n; ++i) {
        const wick_reduce_dim *d = &dims[n - 1 - i];
        to->sizes[i] = n == 1 ? gpu_divider_of(1) : gpu_divider_of((uint32_t)(d->size ? d->size : 1));
        to->in[i] = d->in * bytes[0];
        to->out[0][i] = d->out[0] * bytes[1], to->out[1][i] = d->out[1] * bytes[2];
    }
    return true;
}

static void set_operands(gpu_reduce_args *a, const wick_tensor *in, const wick_tensor *out0, const wick_tensor *out1) {
    a->in = gpu_data(in), a->in_dtype = in->dtype;
    a->out[0] = gpu_data(out0), a->out_dtypes[0] = out0->dtype;
    a->out[1] = out1 ? gpu_data(out1) : NULL, a->out_dtypes[1] = out1 ? out1->dtype : 0;
}

wick_status *gpu_reduce_shape(const wick_kernel_call *call, gpu_reduction *r, const wick_tensor *in, uint64_t mask,
                              const wick_tensor *out0, const wick_tensor *out1, bool in_order) {
    const int64_t bytes[] = {(int64_t)wick_dtype_bytes((wick_dtype)in->dtype),
                             (int64_t)wick_dtype_bytes((wick_dtype)out0->dtype),
                             out1 ? (int64_t)wick_dtype_bytes((wick_dtype)out1->dtype) : 0};
    const wick_reduce_kind kind = in_order ? WICK_REDUCE_IN_ORDER : WICK_REDUCE_ANY_ORDER;
    wick_reduce_dim kept[WICK_MAX_DIMS], reduced[WICK_MAX_DIMS];
    int64_t counts[2];
    const int n[2] = {wick_reduce_dims(in, mask, out0, out1, WICK_REDUCE_KEPT, kept, &counts[0]),
                      wick_reduce_dims(in, mask, out0, out1, kind, reduced, &counts[1])};
    gpu_reduce_args *a = &r->args;
    set_operands(a, in, out0, out1);
    if (counts[0] > INT32_MAX || !take_dims(&a->kept_dims, kept, n[0], counts[0], bytes) ||
        !take_dims(&a->reduced_dims, reduced, n[1], counts[1], bytes))
        return WICK_HOST_ERROR(call->host, WICK_UNSUPPORTED,
                               "%s: %lld results of %lld elements each in %d and %d dimensions are too many for device "
                               "%s: wanted below 2^31 and up to %d",
                               call->host->op_name(call->op), (long long)counts[0], (long long)counts[1], n[0], n[1],
                               gpu_of(call)->device_name, GPU_DIMS);
    a->kept = (uint32_t)counts[0], r->kept_count = counts[0];
    a->reduced = a->count = counts[1];
    a->kept_out[0] = a->kept_dims.out[0][0], a->kept_out[1] = a->kept_dims.out[1][0];
    r->columns = n[0] && n[1] && wick_stride_distance(kept[n[0] - 1].in) < wick_stride_distance(reduced[n[1] - 1].in);
    return NULL;
}

/* ---- accesses of several elements ---- */
static bool multiples(const gpu_dims *d, int first, int64_t bytes) {
    for (int i = first; i < d->ndim; ++i)
        if (d->in[i] % bytes) return false;
    return true;
}

/* Turns the innermost dimension of `walked` into one of accesses. One-dimensional rows may leave a tail. */
static void pack_accesses(gpu_reduction *r) {
    gpu_reduce_args *a = &r->args;
    gpu_dims *walked = r->columns ? &a->kept_dims : &a->reduced_dims;
    const int64_t access = r->kernels->access, bytes = 16 / access;
    const int64_t size = walked->ndim > 1 ? walked->sizes[0].divisor : r->columns ? a->kept : a->reduced;
    const bool tail = !r->columns && walked->ndim == 1;
    bool fits = access > 1 && walked->in[0] == bytes && size >= access && (tail || size % access == 0);
    fits = fits && ((uintptr_t)a->in | (uintptr_t)a->second) % 16 == 0 && multiples(walked, 1, 16);
    fits = fits && (r->columns ? multiples(&a->reduced_dims, 0, 16) : a->kept == 1 || multiples(&a->kept_dims, 0, 16));
    a->packed = fits;
    a->tail = 0;
    if (!fits) return;
    if (walked->ndim > 1) walked->sizes[0] = gpu_divider_of((uint32_t)(size / access));
    walked->in[0] = 16;
    if (r->columns) {
        walked->out[0][0] *= access, walked->out[1][0] *= access;
    } else {
        a->tail = tail ? size % access : 0;
        a->reduced /= access;
    }
}

/* ---- launches ---- */
static int32_t power_of_two_from(int64_t n, int32_t most) {
    int32_t p = 1;
    while (p < n && p < most) p *= 2;
    return p;
}

/* About `pieces` equal ones. */
static void set_pieces(gpu_reduce_args *a, int64_t pieces, int64_t most) {
    if (pieces > most) pieces = most;
    if (pieces < 1) pieces = 1;
    a->piece = (a->reduced + pieces - 1) / pieces;
    if (a->piece < 1) a->piece = 1;
    pieces = (a->reduced + a->piece - 1) / a->piece;
    a->pieces = pieces < 1 ? 1 : (uint32_t)pieces;
}

/* Threads of a block. */
static unsigned plan_rows(gpu_reduce_args *a, int64_t blocks) {
    const bool few = a->kept < blocks && a->reduced > 128;
    if (a->reduced <= 512 && !few) {
        a->team = power_of_two_from((a->reduced + 1) / 2, 32);
        set_pieces(a, 1, 1);
        return THREADS;
    }
    a->team = a->reduced >= 1024 ? THREADS : THREADS / 2;
    set_pieces(a, a->kept < blocks ? (blocks + a->kept - 1) / a->kept : 1,
               a->reduced / ((int64_t)a->team * 8) < MOST_PIECES ? a->reduced / ((int64_t)a->team * 8) : MOST_PIECES);
    return (unsigned)a->team;
}

static void plan_columns(gpu_reduce_args *a, int64_t accesses, int64_t blocks) {
    a->width = power_of_two_from(accesses, 32);
    const int64_t across = (accesses + a->width - 1) / a->width, rows = COLUMN_THREADS / a->width;
    const int64_t most = a->reduced / (rows * 8);
    set_pieces(a, blocks / across, most < MOST_COLUMN_PIECES ? most : MOST_COLUMN_PIECES);
}

static wick_status *join_pieces(const wick_kernel_call *call, const gpu_reduction *r, const gpu_dims *kept) {
    gpu_reduce_args a = r->args;
    a.kept_dims = *kept;
    a.partial_steps[0] = r->columns ? 1 : a.pieces;
    a.partial_steps[1] = r->columns ? a.kept : 1;
    a.team = a.pieces > 128 && a.kept < 4096 ? THREADS : power_of_two_from(a.pieces / 4, 32);
    unsigned blocks = gpu_blocks(gpu_device_of(call), (int64_t)a.kept * a.team, THREADS, 1, 32);
    return gpu_launch(call, r->kernels->finish, blocks, THREADS, 0, &a);
}

wick_status *gpu_reduce_run(const wick_kernel_call *call, gpu_reduction *r) {
    gpu_reduce_args *a = &r->args;
    const gpu_device *d = gpu_device_of(call);
    const gpu_dims kept = a->kept_dims;
    const int64_t most = (int64_t)d->multiprocessors * 8;
    if (!a->kept) return NULL;
    pack_accesses(r);
    const int64_t accesses = r->columns && a->packed ? a->kept / r->kernels->access : a->kept;
    unsigned threads = COLUMN_THREADS, blocks;
    if (r->columns)
        plan_columns(a, accesses, most);
    else
        threads = plan_rows(a, most);
    a->partial = NULL;
    if (a->pieces > 1) WICK_TRY(gpu_scratch(call, (int64_t)a->kept * a->pieces * r->kernels->acc_bytes, &a->partial));
    if (r->columns)
        blocks = (unsigned)((accesses + a->width - 1) / a->width * a->pieces);
    else
        blocks = gpu_blocks(d, (int64_t)a->kept * a->pieces * a->team, threads, 1, 64);
    WICK_TRY(gpu_launch(call, r->columns ? r->kernels->columns : r->kernels->rows, blocks, threads, 0, a));
    return a->partial ? join_pieces(call, r, &kept) : NULL;
}
