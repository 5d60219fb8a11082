/* wick/safetensors.h: the native checkpoint format, https://github.com/huggingface/safetensors.
 *
 * Reading maps the file and makes tensors on it without copying. Nothing in a file is believed before it was checked:
 * header and counts are capped, all arithmetic is checked, and tensors must cover the data exactly, as the reference
 * implementation demands, without overlap, hole or remainder. Names occur once. Fields that the format does not know
 * are refused. Malformed files give DATA_LOSS and a message that names file, tensor, what was got and what is wanted.
 *
 * The header is copied before it is checked. Tensor data is not: the mapping is private (writing to a tensor never
 * changes the file), but a file that another process overwrites in place may show its new bytes in tensors, and one
 * that is cut short makes reading them raise SIGBUS. Replace checkpoints by a rename, as wick_safetensors_save does.
 *
 * An open file is immutable and may be shared by threads. */
#ifndef WICK_SAFETENSORS_H
#define WICK_SAFETENSORS_H

#include <wick/context.h>

#define WICK_SAFETENSORS_MAX_HEADER_BYTES 100000000
#define WICK_SAFETENSORS_MAX_TENSORS 1048576

typedef struct wick_safetensors wick_safetensors;

/* A read-only, size-prefixed view of one tensor in a file; it and all it points to are lent by the file. */
typedef struct wick_safetensors_info {
    uint32_t struct_size;
    wick_dtype dtype;
    int32_t ndim;
    uint32_t reserved;
    uint64_t offset_bytes; /* from the first byte behind the header */
    uint64_t bytes;
    const char *name; /* UTF-8, any characters but U+0000 */
    const wick_dim *sizes;
} wick_safetensors_info;

typedef struct wick_safetensors_pair {
    const char *key;
    const char *value;
} wick_safetensors_pair;

WICK_BEGIN_DECLS
/* Opens and checks a file. The caller closes it; the runtime stays alive until then. */
WICK_API WICK_MUST_USE wick_status *wick_safetensors_open(wick_runtime *runtime, const char *path,
                                                          wick_safetensors **out);
/* The same for bytes in memory, which the caller keeps until the close. `source` names them in messages. Tensors made
 * from it are copies. Without a runtime (NULL) malloc serves. */
WICK_API WICK_MUST_USE wick_status *wick_safetensors_parse(wick_runtime *runtime, const void *data, size_t bytes,
                                                           const char *source, wick_safetensors **out);
/* Tensors made from the file stay valid. NULL is allowed. */
WICK_API void wick_safetensors_close(wick_safetensors *file);

WICK_API size_t wick_safetensors_count(const wick_safetensors *file);
/* Tensors in the byte order of their names; NULL past the end. */
WICK_API const wick_safetensors_info *wick_safetensors_at(const wick_safetensors *file, size_t index);
/* NULL if there is no tensor of that name. */
WICK_API const wick_safetensors_info *wick_safetensors_find(const wick_safetensors *file, const char *name);
/* First byte of the tensor's data, row-major, little-endian, of any alignment. Lent. */
WICK_API const void *wick_safetensors_data(const wick_safetensors *file, const wick_safetensors_info *info);

/* A host tensor on the mapped data, owned by the innermost scope. It is a copy if the file misaligns it or lies in
 * memory. Bytes other than 0 and 1 in a BOOL tensor are an error. */
WICK_API wick_tensor *wick_safetensors_tensor(wick_context *c, wick_safetensors *file, const char *name);

/* The string map `__metadata__`, in the byte order of its keys. Returns false past the end. */
WICK_API bool wick_safetensors_metadata_at(const wick_safetensors *file, size_t index, wick_safetensors_pair *out);
/* NULL if there is no such key. */
WICK_API const char *wick_safetensors_metadata(const wick_safetensors *file, const char *key);

/* Writes tensors of any device, layout in memory and dtype, row-major, and replaces `path` as a whole or not at all
 * (wick/file.h). Tensors that share memory are written each in full. Works on a failed context. */
WICK_API WICK_MUST_USE wick_status *wick_safetensors_save(wick_context *c, const char *path, const char *const *names,
                                                          wick_tensor *const *tensors, size_t count,
                                                          const wick_safetensors_pair *metadata, size_t metadata_count);
WICK_END_DECLS

#endif
