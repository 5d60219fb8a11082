/* wick/state.h: named tensors on their way to and from a file: what modules, optimizers and trainers save.
 *
 * A state is a list of (name, tensor) and (key, text) pairs. Names of a module's tensors are PyTorch's ("conv1.weight"),
 * so that published weights load unchanged. Saving replaces a file as a whole or not at all (wick/safetensors.h).
 * Objects here are used by one thread at a time. Functions that take a context latch their first failure in it. */
#ifndef WICK_STATE_H
#define WICK_STATE_H

#include <wick/safetensors.h>

typedef struct wick_state wick_state;

/* Names that did not match, from a load. Lists and strings are the report's. */
typedef struct wick_load_report {
    size_t missing_count, unexpected_count;
    char **missing;    /* wanted, but not in the file */
    char **unexpected; /* in the file under the prefix, but not wanted */
} wick_load_report;
#define WICK_LOAD_REPORT_INIT \
    { 0, 0, NULL, NULL }

WICK_BEGIN_DECLS
/* An empty state; the caller frees it. */
WICK_API WICK_MUST_USE wick_status *wick_state_create(wick_state **out);
/* NULL is allowed. */
WICK_API void wick_state_free(wick_state *state);
/* Adds `prefix` + `name` (copied) and retains the tensor. */
WICK_API bool wick_state_add(wick_context *c, wick_state *state, const char *prefix, const char *name,
                             wick_tensor *tensor);
/* Adds a 0-dim F64 host tensor. */
WICK_API bool wick_state_add_number(wick_context *c, wick_state *state, const char *prefix, const char *name,
                                    double value);
/* Adds a text, which goes to the file's metadata. */
WICK_API bool wick_state_add_text(wick_context *c, wick_state *state, const char *key, const char *text);
WICK_API size_t wick_state_count(const wick_state *state);
/* Lent; NULL past the end. */
WICK_API const char *wick_state_name(const wick_state *state, size_t index);
WICK_API wick_tensor *wick_state_tensor(const wick_state *state, size_t index);
/* Works on a failed context. */
WICK_API WICK_MUST_USE wick_status *wick_state_save(wick_context *c, const wick_state *state, const char *path);

/* Copies the file's tensor `prefix` + `name` into `target`, across devices and dtypes. Its shape must be the target's:
 * the error names the key, the shape in the file and the shape wanted. NOT_FOUND if the file has none. */
WICK_API bool wick_state_read(wick_context *c, wick_safetensors *file, const char *prefix, const char *name,
                              wick_tensor *target);
/* Reads what wick_state_add_number wrote. */
WICK_API bool wick_state_read_number(wick_context *c, wick_safetensors *file, const char *prefix, const char *name,
                                     double *out);
/* Frees the lists. */
WICK_API void wick_load_report_free(wick_load_report *report);
WICK_END_DECLS

#endif
