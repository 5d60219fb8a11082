#include "kernel.h"

wick_status *ref_launch_begin(const wick_kernel_call *call, ref_run_fn run, size_t payload_bytes, ref_task **out_task,
                              void **out_payload) {
    ref_instance *self = ref_of(call);
    const char *name = self->host->op_name(call->op);
    WICK_TRY(ref_check_alive(ref_device_of(call)));
    if (self->fail_launch && atomic_fetch_add(&self->launches, 1) + 1 == self->fail_launch)
        return REF_ERROR(self, WICK_DEVICE_ERROR, "%s:%d: the launch of %s fails by fail_launch", self->device_name,
                         call->device.index, name);
    *out_task = ref_task_new(self, name, "kernel", run, payload_bytes);
    if (!*out_task)
        return REF_ERROR(self, WICK_OUT_OF_MEMORY, "%s:%d: no host memory to launch %s", self->device_name,
                         call->device.index, name);
    *out_payload = memset(ref_task_payload(*out_task), 0, payload_bytes);
    return NULL;
}

wick_status *ref_launch_end(const wick_kernel_call *call, ref_task *task, wick_status *status) {
    ref_stream *stream;
    if (!status) status = ref_stream_of(ref_device_of(call), call->stream, &stream);
    if (!status) return ref_submit(stream, task);
    ref_task_delete(ref_of(call), task);
    return status;
}

wick_status *ref_iter(const wick_kernel_call *call, const wick_tensor *shape, const wick_tensor *const *operands, int n,
                      unsigned flags, wick_iter *out) {
    const ref_instance *self = ref_of(call);
    if (!wick_iter_init(out, shape, operands, n, flags))
        return REF_ERROR(self, WICK_INVALID_ARGUMENT, "%s: operands do not broadcast, or have too many elements",
                         self->host->op_name(call->op));
    for (int k = 0; k < n; ++k)
        if (!ref_is_host_number(call, operands[k])) out->data[k] = ref_data(call, operands[k]);
    return NULL;
}

ref_number ref_scalar(ref_class c, const wick_value *v) {
    ref_number number = {0};
    switch (c) {
    case REF_REAL: number.REAL = wick_value_as_double(v); break;
    case REF_INT: number.INT = wick_value_as_int(v); break;
    case REF_UINT: number.UINT = (uint64_t)wick_value_as_int(v); break;
    default:
        number.COMPLEX = v->tag == WICK_TAG_C128 ? CMPLX(v->as.c[0], v->as.c[1]) : CMPLX(wick_value_as_double(v), 0);
    }
    return number;
}

void ref_view_of(ref_view *view, const wick_tensor *t) {
    view->tensor = *t;
    for (int d = 0; d < t->ndim; ++d) view->sizes[d] = t->sizes[d], view->strides[d] = t->strides[d];
    view->tensor.sizes = view->sizes;
    view->tensor.strides = view->strides;
}
