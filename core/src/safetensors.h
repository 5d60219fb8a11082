/* What the reader of safetensors files knows; the parser fills it, the public functions look it up. */
#ifndef WICK_SAFETENSORS_INTERNAL_H
#define WICK_SAFETENSORS_INTERNAL_H

#include <stdatomic.h>
#include <wick/safetensors.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "safetensors data is little-endian and is used in place");

#define SAFETENSORS_METADATA "__metadata__"
#define SAFETENSORS_PREFIX_BYTES 8 /* the header's length */

struct wick_safetensors {
    _Atomic int32_t references; /* the caller's and one per tensor on the mapping */
    wick_runtime *runtime;      /* may be NULL */
    const wick_allocator *memory;
    char *source;
    void *map; /* NULL: the data is lent */
    size_t map_bytes;
    const unsigned char *data; /* behind the header */
    uint64_t data_bytes;
    char *header;                   /* a copy with all strings decoded in place: names and metadata point here */
    wick_safetensors_info *tensors; /* by name */
    size_t count, capacity;
    wick_dim *sizes; /* of all tensors, in file order */
    size_t sizes_count, sizes_capacity;
    wick_safetensors_pair *metadata; /* by key */
    size_t metadata_count, metadata_capacity;
};

/* Checks `header` (file->header, of that many bytes) against file->data_bytes and fills tensors, sizes and metadata.
 * What was allocated before a failure is left in `file`. */
wick_status *safetensors_parse_header(wick_safetensors *file, size_t bytes);

/* The alignment that a kernel may expect of an element. */
size_t safetensors_alignment(wick_dtype dtype);

#endif
