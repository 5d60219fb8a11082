/* Order-preserving integer keys, so that sorting and searching know one type only. */
#ifndef WICK_CPU_SELECT_KEY_H
#define WICK_CPU_SELECT_KEY_H

#include "index.h"

/* Keys compare as the values do: 0 and -0 have one key, NaN is the greatest. */
#define CPU_KEY_NAN UINT64_MAX
static inline bool cpu_key_is_nan(uint64_t key, wick_dtype dtype) {
    return key == CPU_KEY_NAN && wick_dtype_is_floating(dtype);
}
/* Keys of the elements in row-major order, in the workspace. UNSUPPORTED for complex dtypes. */
wick_status *cpu_keys_of(const wick_kernel_call *k, const cpu_view *view, uint64_t **out);

/* A stable radix sort that carries positions along. The four arrays are the caller's; the result ends up in keys and
 * order, the others are scratch. */
typedef struct cpu_key_sorter {
    uint64_t *keys, *spare_keys;
    int64_t *order, *spare_order;
} cpu_key_sorter;
wick_status *cpu_key_sorter_init(const wick_kernel_call *k, int64_t n, cpu_key_sorter *out);
void cpu_key_sort(cpu_key_sorter *sorter, int64_t n);

#endif
