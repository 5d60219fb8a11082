/* wick/sdk/model.h: models from plugins. A plugin publishes a table of functions under WICK_MODEL_FEATURE("NAME"), version
 * WICK_MODEL_VERSION, and an INI with
 *
 *     [plugin.NAME]
 *     [model]
 *     plugin = NAME
 *     input = 1x28x28
 *     KEY = VALUE            ; what the model's table of keys lists
 *
 * trains it: `wick train` makes a module of it whose parameters and buffers have the model's names in checkpoints.
 *
 * The caller's module owns the tensors and may replace them (another device or dtype), so a model keeps none: it says
 * how to make each, and forward is given the current ones. Everything runs on one thread at a time, but forward may run
 * on several threads at once in evaluation. Functions that fail latch the error in the context and return false or NULL. */
#ifndef WICK_SDK_MODEL_H
#define WICK_SDK_MODEL_H

#include <wick/config.h>
#include <wick/context.h>

#define WICK_MODEL_FEATURE(name) "wick.model." name
#define WICK_MODEL_VERSION 1u

/* What a model is made for. Lent for the call. */
typedef struct wick_model_request {
    uint32_t struct_size;
    int32_t ndim;
    const wick_dim *sizes;          /* of one sample: inputs have one more dimension in front */
    const wick_config_file *config; /* its keys are in section [model] */
} wick_model_request;

enum wick_model_tensor_flag {
    WICK_MODEL_BUFFER = 1,    /* moves and is saved with the model, but is not trained */
    WICK_MODEL_TRANSIENT = 2, /* a buffer that checkpoints leave out */
    WICK_MODEL_ABSENT = 4     /* this model does without it: tensor is NULL, and forward gets NULL */
};

typedef struct wick_model_tensor {
    uint32_t struct_size;
    uint32_t flags;      /* wick_model_tensor_flag */
    const char *name;    /* "fc1.weight": PyTorch's names, unique. Lent by the model. */
    wick_tensor *tensor; /* new, with its first values, owned by the innermost scope */
} wick_model_tensor;

/* Slots are required unless a comment says otherwise. `instance` is what the table was published with. */
typedef struct wick_model_interface {
    uint32_t struct_size;
    uint32_t flags;   /* 0 */
    const char *name; /* as the model is printed: "Mlp" */
    /* Keys of [model] that it reads, beside input and plugin; others are refused. Optional. */
    const wick_config_key *keys;
    uint64_t key_count;
    /* Makes a model: what its keys and shapes say, no tensors. */
    bool (*create)(void *instance, wick_context *c, const wick_model_request *request, void **out_model);
    /* Describes and makes tensor `index` on the context's default device; the order is forward's. Sets out->name to NULL
     * past the end. Called once for each. */
    bool (*tensor)(void *instance, void *model, wick_context *c, uint64_t index, wick_model_tensor *out);
    /* The result (scope-owned) for a batch `x`, in operators that autograd records. */
    wick_tensor *(*forward)(void *instance, void *model, wick_context *c, wick_tensor *const *tensors, wick_tensor *x,
                            bool training);
    void (*destroy)(void *instance, void *model); /* cannot fail */
} wick_model_interface;

#endif
