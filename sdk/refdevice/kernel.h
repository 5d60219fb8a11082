/* What kernels share: operands as workers see them, and the way from a call to a task.
 *
 * * A kernel has two halves. The first runs on the host's thread: it reads the call, whose tensors are gone when it
 * returns, and notes geometry, numbers and addresses in a task. The second runs on the stream's worker and does the
 * work. */
#ifndef REFDEVICE_KERNEL_H
#define REFDEVICE_KERNEL_H

#include "element.h"
#include "refdevice.h"

#include <wick/sdk/iter.h>

extern const wick_kernel_row ref_kernels[];
extern const uint64_t ref_kernel_count;

static inline ref_instance *ref_of(const wick_kernel_call *call) { return call->instance; }
static inline ref_device *ref_device_of(const wick_kernel_call *call) {
    return &ref_of(call)->devices[call->device.index];
}
/* Where a worker finds element 0. */
static inline char *ref_data(const wick_kernel_call *call, const wick_tensor *t) {
    return ref_address(ref_device_of(call), &t->storage->memory,
                       (uint64_t)t->offset * wick_dtype_bytes(wick_tensor_dtype(t)));
}
/* True if the tensor is a number of the host's: read it now. */
static inline bool ref_is_host_number(const wick_kernel_call *call, const wick_tensor *t) {
    return t->device.type != call->device.type;
}

/* ---- from a call to a task ---- */
/* A task for the call with a zeroed payload. Counts as a launch and may fail by fail_launch. */
wick_status *ref_launch_begin(const wick_kernel_call *call, ref_run_fn run, size_t payload_bytes, ref_task **out_task,
                              void **out_payload);
/* Puts it on the call's stream, or takes it back if `status` is an error. Returns `status`, or what went wrong. */
wick_status *ref_launch_end(const wick_kernel_call *call, ref_task *task, wick_status *status);

/* An error of a running kernel. */
#define REF_TASK_ERROR(device, ...) REF_ERROR((device)->self, WICK_DEVICE_ERROR, __VA_ARGS__)

/* Iterates over `operands`, outputs first, broadcast to `shape`, at their addresses on the device. */
wick_status *ref_iter(const wick_kernel_call *call, const wick_tensor *shape, const wick_tensor *const *operands, int n,
                      unsigned flags, wick_iter *out);
/* The scalar as a number of the class. */
ref_number ref_scalar(ref_class c, const wick_value *v);

/* A tensor of other sizes and strides over the same elements; lent arrays. */
typedef struct ref_view {
    wick_tensor tensor;
    wick_dim sizes[WICK_MAX_DIMS], strides[WICK_MAX_DIMS];
} ref_view;
void ref_view_of(ref_view *view, const wick_tensor *t);

/* ---- the kernels, in files of their own ---- */
typedef struct ref_pointwise ref_pointwise; /* kernels_pointwise.c */
#define REF_POINTWISE(X) \
    X(neg)               \
    X(exp)               \
    X(log)               \
    X(sqrt)              \
    X(reciprocal)        \
    X(sin)               \
    X(cos)               \
    X(tanh)              \
    X(erf)               \
    X(floor)             \
    X(logical_not)       \
    X(conj_physical)     \
    X(add)               \
    X(mul)               \
    X(div)               \
    X(pow)               \
    X(atan2)             \
    X(maximum)           \
    X(minimum)           \
    X(eq)                \
    X(lt)                \
    X(le)                \
    X(bitwise_and)       \
    X(where)
#define REF_DECLARE(name) extern const ref_pointwise ref_##name;
REF_POINTWISE(REF_DECLARE)
wick_status *ref_run_pointwise(const wick_kernel_call *call);

wick_status *ref_copy(const wick_kernel_call *call); /* kernels_fill.c */
wick_status *ref_fill(const wick_kernel_call *call);
wick_status *ref_arange(const wick_kernel_call *call);
wick_status *ref_uniform(const wick_kernel_call *call);
wick_status *ref_sum(const wick_kernel_call *call); /* kernels_reduce.c */
wick_status *ref_amax(const wick_kernel_call *call);
wick_status *ref_argmax(const wick_kernel_call *call); /* kernels_along.c */
wick_status *ref_cumsum(const wick_kernel_call *call);
wick_status *ref_sort(const wick_kernel_call *call);
wick_status *ref_gather(const wick_kernel_call *call); /* kernels_index.c */
wick_status *ref_scatter(const wick_kernel_call *call);
wick_status *ref_scatter_add(const wick_kernel_call *call);
wick_status *ref_nonzero(const wick_kernel_call *call);
wick_status *ref_bmm(const wick_kernel_call *call);    /* kernels_bmm.c */
wick_status *ref_im2col(const wick_kernel_call *call); /* kernels_patch.c */
wick_status *ref_col2im(const wick_kernel_call *call);

#endif
