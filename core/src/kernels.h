/* A device type's kernels: which row of a plugin serves which operator, and how its schema fits the host's. */
#ifndef WICK_CORE_KERNELS_H
#define WICK_CORE_KERNELS_H

#include "dispatch.h"
#include "text.h"

/* How a kernel that was built for another version of a schema is called: arguments are matched by name. */
typedef struct kernel_adapter {
    struct kernel_adapter *next; /* in the device type's list, which owns it */
    op_schema schema;            /* the kernel's; owns its defaults */
    int8_t from[OP_MAX_ARGS];    /* kernel argument i is the host's from[i]; -1: its own default */
    uint32_t at_default;         /* bit i: host argument i is unknown to the kernel and must equal its default */
} kernel_adapter;

/* Makes the table of a new device type. Rows that do not fit are told in `notes`, a line each. */
wick_status *kernels_create(wick_runtime *rt, device_type *type, const op_index *ops, const wick_kernel_row *rows,
                            uint64_t count, text *notes);
/* A copy of table `from` (NULL: empty) with more kernels, to be published by kernels_replace. */
wick_status *kernels_extend(wick_runtime *rt, device_type *type, const kernel_table *from, const op_index *ops,
                            const wick_kernel_row *rows, uint64_t count, void *instance, text *notes,
                            kernel_table **out);
void kernels_replace(device_type *type, kernel_table *table);
void kernel_table_free(wick_runtime *rt, kernel_table *table);
void kernels_destroy(wick_runtime *rt, device_type *type);

/* Runs the kernel now. */
wick_status *slot_launch(context_impl *c, const kernel_slot *slot, const wick_kernel_call *call);

/* True if the kernel takes these arguments of the host's schema. */
bool kernel_adapter_takes(const kernel_adapter *a, const op_entry *op, const wick_value *args, int *out_argument);
/* values: the host's arguments and outputs; writes the kernel's. Returns the kernel's count of arguments. */
int kernel_adapter_map(const kernel_adapter *a, const wick_value *values, int nargs, int nouts, wick_value *out);

#endif
