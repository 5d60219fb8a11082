/* wick/optim.h: optimizers and learning-rate schedules, with the values of torch.optim.
 *
 * Formulas: https://pytorch.org/docs/stable/optim.html. An optimizer holds references to its parameters and its state;
 * the caller frees it. One step is one operator call for all parameters of a group. Objects are used by one thread at a
 * time. Failures latch in the context. */
#ifndef WICK_OPTIM_H
#define WICK_OPTIM_H

#include <wick/state.h>

typedef struct wick_optimizer wick_optimizer;
typedef struct wick_scheduler wick_scheduler;

/* An option by name; flags are 0 or 1. */
typedef struct wick_option {
    const char *name;
    double value;
} wick_option;

/* What there is to know about an optimizer or a schedule. */
typedef struct wick_option_list {
    uint32_t struct_size;
    const char *name; /* "adamw" */
    size_t count;
    const wick_option *options; /* names and defaults; a NaN must be given */
} wick_option_list;

typedef struct wick_sgd_options {
    uint32_t struct_size;
    bool nesterov, maximize;
    double lr, momentum, dampening, weight_decay;
} wick_sgd_options;
#define WICK_SGD_OPTIONS_INIT \
    { sizeof(wick_sgd_options), false, false, 1e-3, 0, 0, 0 }

typedef struct wick_adam_options {
    uint32_t struct_size;
    bool amsgrad, maximize;
    double lr, beta1, beta2, eps, weight_decay;
} wick_adam_options;
#define WICK_ADAM_OPTIONS_INIT \
    { sizeof(wick_adam_options), false, false, 1e-3, 0.9, 0.999, 1e-8, 0 }
#define WICK_ADAMW_OPTIONS_INIT \
    { sizeof(wick_adam_options), false, false, 1e-3, 0.9, 0.999, 1e-8, 1e-2 }

WICK_BEGIN_DECLS
/* ---- optimizers ---- */
/* By name, with the defaults for what is not given; group 0 holds the parameters (retained). NULL: the context failed. */
WICK_API wick_optimizer *wick_optimizer_create(wick_context *c, const char *name, wick_tensor *const *params, size_t n,
                                               const wick_option *options, size_t option_count);
/* `options` may be NULL. */
WICK_API wick_optimizer *wick_sgd_create(wick_context *c, wick_tensor *const *params, size_t n,
                                         const wick_sgd_options *options);
WICK_API wick_optimizer *wick_adam_create(wick_context *c, wick_tensor *const *params, size_t n,
                                          const wick_adam_options *options);
WICK_API wick_optimizer *wick_adamw_create(wick_context *c, wick_tensor *const *params, size_t n,
                                           const wick_adam_options *options);
/* NULL is allowed. */
WICK_API void wick_optimizer_free(wick_optimizer *o);
/* Options that are not given are those of group 0. */
WICK_API bool wick_optimizer_add_group(wick_context *c, wick_optimizer *o, wick_tensor *const *params, size_t n,
                                       const wick_option *options, size_t option_count);
/* The known optimizers; false past the end. */
WICK_API bool wick_optimizer_describe(size_t index, wick_option_list *out);
WICK_API int wick_optimizer_groups(const wick_optimizer *o);
/* One option of a group. False if there is no such group or option. */
WICK_API bool wick_optimizer_get(const wick_optimizer *o, int group, const char *option, double *out);
WICK_API bool wick_optimizer_set(wick_optimizer *o, int group, const char *option, double value);
/* Updates every parameter that has a gradient. FAILED_PRECONDITION, and nothing changes, if a gradient is what a failed
 * backward left half-way. */
WICK_API bool wick_optimizer_step(wick_context *c, wick_optimizer *o);
/* Drops the gradients. */
WICK_API bool wick_optimizer_zero_grad(wick_context *c, wick_optimizer *o);
/* state_dict: "state.0.exp_avg", "param_groups.0.lr", ... under `prefix`. */
WICK_API bool wick_optimizer_state(wick_context *c, const wick_optimizer *o, const char *prefix, wick_state *state);
WICK_API bool wick_optimizer_load_state(wick_context *c, wick_optimizer *o, wick_safetensors *file, const char *prefix);

/* ---- schedules: they set the learning rate (one_cycle the momentum too) of every group ---- */
/* By name. Sets the values of step 0 at once. The optimizer is borrowed and must outlive the schedule. `warmup` is an
 * option of every schedule: over so many steps the learning rate rises in a straight line from `warmup_factor` of it to
 * all of it, and the schedule begins behind. */
WICK_API wick_scheduler *wick_scheduler_create(wick_context *c, const char *name, wick_optimizer *o,
                                               const wick_option *options, size_t option_count);
/* NULL is allowed. */
WICK_API void wick_scheduler_free(wick_scheduler *s);
WICK_API bool wick_scheduler_describe(size_t index, wick_option_list *out);
/* Goes on to the next step, or to any. */
WICK_API void wick_scheduler_step(wick_scheduler *s);
WICK_API void wick_scheduler_seek(wick_scheduler *s, int64_t step);
WICK_API int64_t wick_scheduler_position(const wick_scheduler *s);
WICK_END_DECLS

#endif
