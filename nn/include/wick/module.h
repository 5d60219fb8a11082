/* wick/module.h: modules: named parameters, buffers and children, and a forward function.
 *
 * A module is reference-counted; its children and tensors are references of its own. Creating functions give the
 * caller one reference (NULL: the context failed); wick_module_add and containers take over the reference to a child,
 * so `wick_nn_sequential(c, (wick_module *[]){wick_nn_linear(c, 4, 8, NULL), wick_nn_relu(c)}, 2)` needs no names.
 *
 * retain and release are thread-safe. Everything else is used by one thread at a time, but threads with contexts of
 * their own may run wick_module_call of one module at once in eval mode. Failures latch in the context. */
#ifndef WICK_MODULE_H
#define WICK_MODULE_H

#include <wick/autograd.h>
#include <wick/state.h>

typedef struct wick_module wick_module;

typedef struct wick_module_class {
    uint32_t struct_size;
    const char *name; /* "Linear" */
    /* Computes the result (scope-owned) from n inputs, which are not NULL. Runs in a scope of its own. Required. */
    wick_tensor *(*forward)(wick_module *self, wick_context *c, wick_tensor *const *inputs, int n);
    /* Frees what the payload points to. Optional. */
    void (*destroy)(wick_module *self);
    /* Writes the arguments as PyTorch prints them: "in_features=4, out_features=8". Optional. */
    void (*extra)(const wick_module *self, char *buffer, size_t bytes);
} wick_module_class;

/* A parameter or buffer as the walk sees it. */
typedef struct wick_module_entry {
    uint32_t struct_size;
    const char *name;    /* "layers.0.weight", lent for the call */
    wick_tensor *tensor; /* lent, never NULL */
    bool buffer;
    bool persistent; /* part of the state_dict */
} wick_module_entry;
/* Returning false ends the walk. */
typedef bool (*wick_module_visit)(void *user, const wick_module_entry *entry);

enum wick_load_flag {
    WICK_LOAD_PARTIAL = 1 /* names that are missing or unexpected are reported instead of an error */
};

WICK_BEGIN_DECLS
/* ---- making module types ---- */
/* A module in training mode with `payload_bytes` of zeroed memory. `cls` must stay valid (a constant). */
WICK_API wick_module *wick_module_create(wick_context *c, const wick_module_class *cls, size_t payload_bytes);
WICK_API void *wick_module_payload(const wick_module *m);
/* Adds a parameter that requires grad (retained; NULL: a parameter that this module does without). Parameters and
 * buffers count from 0 in the order in which they are added. A failure leaves `m` as it was. */
WICK_API bool wick_module_add_parameter(wick_context *c, wick_module *m, const char *name, wick_tensor *tensor);
WICK_API bool wick_module_add_buffer(wick_context *c, wick_module *m, const char *name, wick_tensor *tensor,
                                     bool persistent);
/* The tensor at a position, lent; NULL if the module does without it. */
WICK_API wick_tensor *wick_module_tensor(const wick_module *m, int index);
/* Takes over the reference to `child`, on failure too. */
WICK_API bool wick_module_add(wick_context *c, wick_module *m, const char *name, wick_module *child);

/* ---- life and structure ---- */
WICK_API wick_module *wick_module_retain(wick_module *m);
/* NULL is allowed. */
WICK_API void wick_module_release(wick_module *m);
WICK_API const char *wick_module_name(const wick_module *m); /* of the class */
WICK_API int wick_module_child_count(const wick_module *m);
/* Lent; NULL past the end. */
WICK_API wick_module *wick_module_child(const wick_module *m, int index);
WICK_API const char *wick_module_child_name(const wick_module *m, int index);
/* A tensor by its dotted name, lent; NULL if there is none. */
WICK_API wick_tensor *wick_module_find(const wick_module *m, const char *name);
/* Every tensor of the tree, a module's own before its children's. False if `visit` ended the walk. */
WICK_API bool wick_module_walk(const wick_module *m, wick_module_visit visit, void *user);
/* Stores up to `capacity` parameters, each once; returns how many there are. */
WICK_API size_t wick_module_parameters(const wick_module *m, wick_tensor **out, size_t capacity);
/* Elements of all parameters, each counted once. */
WICK_API int64_t wick_module_parameter_elements(const wick_module *m);
/* The tree as PyTorch prints it; the caller frees it with free(). */
WICK_API WICK_MUST_USE wick_status *wick_module_to_string(const wick_module *m, char **out);

/* ---- use ---- */
/* Runs the module; the result belongs to the innermost scope. */
WICK_API wick_tensor *wick_module_call(wick_context *c, wick_module *m, wick_tensor *const *inputs, int n);
WICK_API wick_tensor *wick_module_forward(wick_context *c, wick_module *m, wick_tensor *x);
/* Training or evaluation mode of the whole tree. */
WICK_API void wick_module_train(wick_module *m, bool training);
WICK_API bool wick_module_is_training(const wick_module *m);
/* Drops the gradients of all parameters. */
WICK_API bool wick_module_zero_grad(wick_context *c, wick_module *m);
WICK_API bool wick_module_requires_grad(wick_context *c, wick_module *m, bool requires_grad);
/* Moves all tensors to a device (type NONE: stay) and all floating ones to a dtype (NONE: stay). Tensors that change are
 * replaced: make optimizers afterwards. */
WICK_API bool wick_module_to(wick_context *c, wick_module *m, wick_device device, wick_dtype dtype);

/* ---- state_dict ---- */
/* Adds every parameter and persistent buffer under `prefix`. */
WICK_API bool wick_module_state(wick_context *c, const wick_module *m, const char *prefix, wick_state *state);
/* Copies the tensors of the file that begin with `prefix`. All names are checked before the first tensor changes.
 * `report` may be NULL; the caller frees it. */
WICK_API bool wick_module_load_state(wick_context *c, wick_module *m, wick_safetensors *file, const char *prefix,
                                     unsigned flags, wick_load_report *report);
/* The same with a file of its own. */
WICK_API WICK_MUST_USE wick_status *wick_module_save(wick_context *c, const wick_module *m, const char *path);
WICK_API bool wick_module_load(wick_context *c, wick_module *m, const char *path, unsigned flags,
                               wick_load_report *report);
WICK_END_DECLS

#endif
