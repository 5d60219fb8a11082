/* What is a table or nearly so: random state in device memory, precisions of autocast. */
#include "refdevice.h"

#include <string.h>

typedef struct state_write {
    wick_philox philox;
    char *to;
} state_write;

static wick_status *run_write(ref_device *device, const void *payload) {
    const state_write *w = payload;
    memcpy(w->to, &w->philox, sizeof w->philox);
    return NULL;
}

static wick_status *write_state(void *instance, int32_t index, void *handle, const wick_memory *state,
                                uint64_t offset_bytes, const wick_philox *philox) {
    ref_instance *self = instance;
    ref_device *device = &self->devices[index];
    ref_stream *stream;
    WICK_TRY(ref_stream_of(device, handle, &stream));
    ref_task *task = ref_task_new(self, "generator state", "copy", run_write, sizeof(state_write));
    if (!task) return REF_ERROR(self, WICK_OUT_OF_MEMORY, "%s: no host memory for a task", self->device_name);
    *(state_write *)ref_task_payload(task) = (state_write){*philox, ref_address(device, state, offset_bytes)};
    task->bytes = sizeof *philox;
    return ref_submit(stream, task);
}

const wick_generator_interface ref_generator_interface = {
    .struct_size = sizeof ref_generator_interface,
    .write_state = write_state,
};

/* Nothing is faster here in a lower precision; the core's own list of operators is as good as any. */
const wick_autocast_interface ref_autocast_interface = {
    .struct_size = sizeof ref_autocast_interface,
    .dtypes = WICK_DTYPE_BIT(WICK_BF16) | WICK_DTYPE_BIT(WICK_F16),
    .default_dtype = WICK_BF16,
};
