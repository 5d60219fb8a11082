/* wick/sdk/api.h: the public functions of wick as one table, so that a plugin can call them without linking anything.
 *
 * host->api(WICK_API_VERSION) gives the table; wick/sdk/link.h turns it into functions of the usual names. Both derive
 * from the list below, to which new functions are appended: a function beyond a table's struct_size is one that the host
 * does not have. tests/check_api.sh holds the list against the headers. Operators are not in it: they are called by
 * name (wick/sdk/ops.h). */
#ifndef WICK_SDK_API_H
#define WICK_SDK_API_H

#include <wick/autograd.h>
#include <wick/call.h>
#include <wick/config.h>
#include <wick/file.h>
#include <wick/graph.h>
#include <wick/safetensors.h>
#include <wick/stream.h>

#define WICK_API_VERSION 1u

/* F(result, name, (parameters), (arguments)); V(name, ...) returns nothing; M(result, name, (parameters)) is variadic. */
#define WICK_API_FUNCTIONS(F, V, M)                                                                                    \
    M(wick_status *, wick_status_make, (wick_code code, const char *file, int line, const char *format, ...))          \
    M(wick_status *, wick_status_wrap, (wick_status * cause, const char *file, int line, const char *format, ...))     \
    V(wick_status_free, (wick_status * status), (status))                                                              \
    F(wick_code, wick_status_code, (const wick_status *status), (status))                                              \
    F(const char *, wick_status_message, (const wick_status *status), (status))                                        \
    F(const char *, wick_status_origin, (const wick_status *status), (status))                                         \
    F(const wick_status *, wick_status_cause, (const wick_status *status), (status))                                   \
    F(const char *, wick_code_text, (wick_code code), (code))                                                          \
    F(const char *, wick_code_advice, (wick_code code), (code))                                                        \
    F(const wick_dtype_info *, wick_dtype_describe, (wick_dtype dtype), (dtype))                                       \
    F(const char *, wick_dtype_name, (wick_dtype dtype), (dtype))                                                      \
    F(wick_dtype, wick_dtype_parse, (const char *name), (name))                                                        \
    F(wick_dtype, wick_dtype_promote, (wick_dtype a, wick_dtype b), (a, b))                                            \
    F(bool, wick_dtype_can_cast, (wick_dtype from, wick_dtype to), (from, to))                                         \
    F(wick_tensor *, wick_retain, (wick_tensor * tensor), (tensor))                                                    \
    V(wick_release, (wick_tensor * tensor), (tensor))                                                                  \
    F(bool, wick_is_contiguous_as, (const wick_tensor *tensor, wick_memory_format format), (tensor, format))           \
    F(bool, wick_shares_storage, (const wick_tensor *a, const wick_tensor *b), (a, b))                                 \
    F(uint64_t, wick_version, (const wick_tensor *tensor), (tensor))                                                   \
    F(wick_status *, wick_runtime_create, (const wick_runtime_options *options, wick_runtime **out), (options, out))   \
    F(wick_runtime *, wick_runtime_retain, (wick_runtime * runtime), (runtime))                                        \
    V(wick_runtime_release, (wick_runtime * runtime), (runtime))                                                       \
    F(const wick_backend_info *, wick_runtime_backend, (wick_runtime * runtime, int index), (runtime, index))          \
    F(wick_status *, wick_runtime_device, (wick_runtime * runtime, const char *name, wick_device *out),                \
      (runtime, name, out))                                                                                            \
    F(char *, wick_device_format, (wick_runtime * runtime, wick_device device, char *buffer, size_t bytes),            \
      (runtime, device, buffer, bytes))                                                                                \
    F(wick_status *, wick_device_query, (wick_runtime * runtime, wick_device device, wick_device_info * out),          \
      (runtime, device, out))                                                                                          \
    F(const void *, wick_backend_interface,                                                                            \
      (wick_runtime * runtime, int device_type, const char *name, uint32_t version, void **out_instance),              \
      (runtime, device_type, name, version, out_instance))                                                             \
    F(const void *, wick_feature, (wick_runtime * runtime, const char *name, uint32_t version, void **out_instance),   \
      (runtime, name, version, out_instance))                                                                          \
    F(wick_device, wick_runtime_host, (wick_runtime * runtime), (runtime))                                             \
    F(int64_t, wick_runtime_live_objects, (wick_runtime * runtime), (runtime))                                         \
    V(wick_memory_stats,                                                                                               \
      (wick_runtime * runtime, wick_device device, uint64_t * used, uint64_t * peak, uint64_t * cached),               \
      (runtime, device, used, peak, cached))                                                                           \
    V(wick_memory_reset_peak, (wick_runtime * runtime, wick_device device), (runtime, device))                         \
    V(wick_memory_trim, (wick_runtime * runtime, wick_device device), (runtime, device))                               \
    F(wick_status *, wick_context_create, (wick_runtime * runtime, wick_context * *out), (runtime, out))               \
    F(wick_status *, wick_context_create_child, (wick_context * parent, wick_context * *out), (parent, out))           \
    V(wick_context_join, (wick_context * parent, wick_context * child), (parent, child))                               \
    V(wick_context_destroy, (wick_context * context), (context))                                                       \
    F(wick_runtime *, wick_context_runtime, (wick_context * context), (context))                                       \
    F(wick_scope, wick_scope_open, (wick_context * c), (c))                                                            \
    V(wick_scope_close, (wick_context * c, wick_scope scope), (c, scope))                                              \
    F(wick_tensor *, wick_scope_return, (wick_context * c, wick_scope scope, wick_tensor * t), (c, scope, t))          \
    F(wick_tensor *, wick_scope_adopt, (wick_context * c, wick_tensor * t), (c, t))                                    \
    V(wick_drop, (wick_context * c, wick_tensor * t), (c, t))                                                          \
    F(wick_tensor *, wick_keep, (wick_context * c, wick_tensor * t), (c, t))                                           \
    F(bool, wick_failed, (const wick_context *c), (c))                                                                 \
    F(const wick_status *, wick_context_status, (const wick_context *c), (c))                                          \
    F(wick_status *, wick_status_take, (wick_context * c), (c))                                                        \
    F(bool, wick_fail, (wick_context * c, wick_status * status), (c, status))                                          \
    F(wick_modes, wick_modes_get, (const wick_context *c), (c))                                                        \
    V(wick_modes_set, (wick_context * c, wick_modes modes), (c, modes))                                                \
    F(wick_modes, wick_set_grad_enabled, (wick_context * c, bool enabled), (c, enabled))                               \
    F(wick_modes, wick_no_grad, (wick_context * c), (c))                                                               \
    F(wick_modes, wick_inference_mode, (wick_context * c), (c))                                                        \
    F(wick_modes, wick_set_anomaly, (wick_context * c, bool enabled), (c, enabled))                                    \
    F(bool, wick_is_grad_enabled, (const wick_context *c), (c))                                                        \
    V(wick_set_default_device, (wick_context * c, wick_device device), (c, device))                                    \
    F(wick_device, wick_default_device, (const wick_context *c), (c))                                                  \
    V(wick_set_default_dtype, (wick_context * c, wick_dtype dtype), (c, dtype))                                        \
    F(wick_dtype, wick_default_dtype, (const wick_context *c), (c))                                                    \
    V(wick_manual_seed, (wick_context * c, uint64_t seed), (c, seed))                                                  \
    V(wick_rng_get, (const wick_context *c, uint64_t *seed, uint64_t *offset), (c, seed, offset))                      \
    V(wick_rng_set, (wick_context * c, uint64_t seed, uint64_t offset), (c, seed, offset))                             \
    F(wick_tensor *, wick_tensor_from_host,                                                                            \
      (wick_context * c, const void *data, wick_dtype dtype, int ndim, const wick_dim *sizes, wick_device device),     \
      (c, data, dtype, ndim, sizes, device))                                                                           \
    F(wick_tensor *, wick_tensor_wrap,                                                                                 \
      (wick_context * c, void *data, uint64_t bytes, wick_dtype dtype, int ndim, const wick_dim *sizes,                \
       const wick_dim *strides, void (*deleter)(void *user), void *user),                                              \
      (c, data, bytes, dtype, ndim, sizes, strides, deleter, user))                                                    \
    F(wick_status *, wick_tensor_to_host, (wick_context * c, wick_tensor * t, void *buffer, size_t bytes),             \
      (c, t, buffer, bytes))                                                                                           \
    F(double, wick_item, (wick_context * c, wick_tensor * t), (c, t))                                                  \
    F(int64_t, wick_item_int, (wick_context * c, wick_tensor * t), (c, t))                                             \
    F(wick_status *, wick_tensor_to_string, (wick_context * c, wick_tensor * t, char **out), (c, t, out))              \
    F(const wick_op *, wick_op_find, (wick_runtime * runtime, const char *name), (runtime, name))                      \
    F(const wick_op *, wick_op_at, (wick_runtime * runtime, int index), (runtime, index))                              \
    V(wick_op_describe, (const wick_op *op, wick_op_info *out), (op, out))                                             \
    F(bool, wick_op_has_kernel, (wick_runtime * runtime, const wick_op *op, int device_type),                          \
      (runtime, op, device_type))                                                                                      \
    F(uint64_t, wick_op_fallbacks, (wick_runtime * runtime, const wick_op *op, int device_type),                       \
      (runtime, op, device_type))                                                                                      \
    F(bool, wick_call,                                                                                                 \
      (wick_context * c, const wick_op *op, const wick_value *args, int nargs, wick_value *rets, int nrets),           \
      (c, op, args, nargs, rets, nrets))                                                                               \
    F(int, wick_op_argument, (const wick_op *op, const char *name), (op, name))                                        \
    F(bool, wick_interposer_push, (wick_context * c, wick_interposer_rank rank, wick_interposer_fn fn, void *user),    \
      (c, rank, fn, user))                                                                                             \
    V(wick_interposer_pop, (wick_context * c, wick_interposer_rank rank), (c, rank))                                   \
    F(bool, wick_redispatch,                                                                                           \
      (wick_context * c, const wick_op *op, const wick_value *args, int nargs, wick_value *rets, int nrets),           \
      (c, op, args, nargs, rets, nrets))                                                                               \
    F(bool, wick_requires_grad, (const wick_tensor *t), (t))                                                           \
    F(wick_tensor *, wick_set_requires_grad, (wick_context * c, wick_tensor * t, bool requires_grad),                  \
      (c, t, requires_grad))                                                                                           \
    F(bool, wick_is_leaf, (const wick_tensor *t), (t))                                                                 \
    F(wick_tensor *, wick_grad_of, (const wick_tensor *t), (t))                                                        \
    F(bool, wick_set_grad, (wick_context * c, wick_tensor * t, wick_tensor * grad), (c, t, grad))                      \
    F(bool, wick_retain_grad, (wick_context * c, wick_tensor * t), (c, t))                                             \
    F(wick_node *, wick_grad_fn, (const wick_tensor *t), (t))                                                          \
    F(bool, wick_grad_is_partial, (const wick_tensor *t), (t))                                                         \
    F(bool, wick_backward_many,                                                                                        \
      (wick_context * c, wick_tensor *const *roots, wick_tensor *const *grads, int nroots, unsigned flags),            \
      (c, roots, grads, nroots, flags))                                                                                \
    F(bool, wick_backward, (wick_context * c, wick_tensor * root), (c, root))                                          \
    F(bool, wick_grad,                                                                                                 \
      (wick_context * c, wick_tensor *const *outputs, wick_tensor *const *grad_outputs, int noutputs,                  \
       wick_tensor *const *inputs, int ninputs, unsigned flags, wick_tensor **out),                                    \
      (c, outputs, grad_outputs, noutputs, inputs, ninputs, flags, out))                                               \
    F(int64_t, wick_register_hook, (wick_context * c, wick_tensor * t, wick_tensor_hook hook, void *user),             \
      (c, t, hook, user))                                                                                              \
    F(int64_t, wick_register_accumulate_hook,                                                                          \
      (wick_context * c, wick_tensor * t, wick_accumulate_hook hook, void *user), (c, t, hook, user))                  \
    F(int64_t, wick_node_register_prehook, (wick_context * c, wick_node * node, wick_node_hook hook, void *user),      \
      (c, node, hook, user))                                                                                           \
    F(int64_t, wick_node_register_hook, (wick_context * c, wick_node * node, wick_node_hook hook, void *user),         \
      (c, node, hook, user))                                                                                           \
    F(bool, wick_remove_hook, (wick_tensor * t, int64_t id), (t, id))                                                  \
    F(bool, wick_node_remove_hook, (wick_node * node, int64_t id), (node, id))                                         \
    F(bool, wick_queue_callback, (wick_context * c, void (*fn)(void *user, wick_context *c), void *user),              \
      (c, fn, user))                                                                                                   \
    F(bool, wick_saved_hooks_push, (wick_context * c, const wick_saved_hooks *hooks), (c, hooks))                      \
    V(wick_saved_hooks_pop, (wick_context * c), (c))                                                                   \
    F(const char *, wick_node_name, (const wick_node *node), (node))                                                   \
    F(uint64_t, wick_node_sequence, (const wick_node *node), (node))                                                   \
    F(int, wick_node_inputs, (const wick_node *node), (node))                                                          \
    F(wick_node *, wick_node_next, (const wick_node *node, int i, int *out_output_nr), (node, i, out_output_nr))       \
    F(wick_status *, wick_graph_to_string, (wick_context * c, const wick_tensor *t, char **out), (c, t, out))          \
    F(bool, wick_function_apply,                                                                                       \
      (wick_context * c, const wick_function *fn, void *user, wick_tensor *const *inputs, int ninputs,                 \
       wick_tensor **outputs, int noutputs),                                                                           \
      (c, fn, user, inputs, ninputs, outputs, noutputs))                                                               \
    F(void *, wick_function_user, (wick_function_call * call), (call))                                                 \
    F(bool, wick_function_save, (wick_function_call * call, wick_tensor *const *tensors, int n), (call, tensors, n))   \
    F(wick_tensor *, wick_function_saved, (wick_function_call * call, wick_context * c, int i), (call, c, i))          \
    V(wick_function_mark_dirty, (wick_function_call * call, wick_tensor * t), (call, t))                               \
    V(wick_function_mark_non_differentiable, (wick_function_call * call, wick_tensor * t), (call, t))                  \
    V(wick_function_set_materialize_grads, (wick_function_call * call, bool on), (call, on))                           \
    F(bool, wick_function_needs_input_grad, (wick_function_call * call, int i), (call, i))                             \
    F(wick_status *, wick_gradcheck,                                                                                   \
      (wick_context * c, wick_check_fn fn, void *user, wick_tensor *const *inputs, int n, int noutputs, double eps,    \
       double rtol, double atol),                                                                                      \
      (c, fn, user, inputs, n, noutputs, eps, rtol, atol))                                                             \
    F(wick_status *, wick_gradgradcheck,                                                                               \
      (wick_context * c, wick_check_fn fn, void *user, wick_tensor *const *inputs, int n, int noutputs, double eps,    \
       double rtol, double atol),                                                                                      \
      (c, fn, user, inputs, n, noutputs, eps, rtol, atol))                                                             \
    F(wick_status *, wick_stream_create,                                                                               \
      (wick_runtime * runtime, wick_device device, int priority, wick_stream **out), (runtime, device, priority, out)) \
    F(wick_stream *, wick_stream_retain, (wick_stream * stream), (stream))                                             \
    V(wick_stream_release, (wick_stream * stream), (stream))                                                           \
    F(wick_device, wick_stream_device, (const wick_stream *stream), (stream))                                          \
    F(wick_status *, wick_stream_synchronize, (wick_stream * stream), (stream))                                        \
    F(wick_status *, wick_stream_query, (wick_stream * stream, bool *out_idle), (stream, out_idle))                    \
    F(wick_stream *, wick_current_stream, (const wick_context *c, wick_device device), (c, device))                    \
    F(bool, wick_set_stream, (wick_context * c, wick_device device, wick_stream * stream), (c, device, stream))        \
    F(wick_status *, wick_synchronize, (wick_runtime * runtime, wick_device device), (runtime, device))                \
    F(wick_status *, wick_event_create,                                                                                \
      (wick_runtime * runtime, wick_device device, unsigned options, wick_event **out),                                \
      (runtime, device, options, out))                                                                                 \
    F(wick_event *, wick_event_retain, (wick_event * event), (event))                                                  \
    V(wick_event_release, (wick_event * event), (event))                                                               \
    F(wick_status *, wick_event_record, (wick_event * event, wick_stream * stream), (event, stream))                   \
    F(wick_status *, wick_stream_wait, (wick_stream * stream, wick_event * event), (stream, event))                    \
    F(wick_status *, wick_event_synchronize, (wick_event * event), (event))                                            \
    F(wick_status *, wick_event_query, (wick_event * event, bool *out_done), (event, out_done))                        \
    F(wick_status *, wick_event_elapsed, (wick_event * start, wick_event * end, double *out_milliseconds),             \
      (start, end, out_milliseconds))                                                                                  \
    F(bool, wick_record_stream, (wick_context * c, wick_tensor * t, wick_stream * stream), (c, t, stream))             \
    F(wick_tensor *, wick_tensor_new_pinned,                                                                           \
      (wick_context * c, wick_dtype dtype, int ndim, const wick_dim *sizes, wick_device device),                       \
      (c, dtype, ndim, sizes, device))                                                                                 \
    F(bool, wick_is_pinned, (const wick_tensor *t), (t))                                                               \
    F(wick_status *, wick_config_load, (const char *path, const wick_allocator *allocator, wick_config_file **out),    \
      (path, allocator, out))                                                                                          \
    F(wick_status *, wick_config_parse,                                                                                \
      (const char *text, size_t bytes, const char *name, const wick_allocator *allocator, wick_config_file **out),     \
      (text, bytes, name, allocator, out))                                                                             \
    F(wick_status *, wick_config_find, (const char *path, char *buffer, size_t bytes), (path, buffer, bytes))          \
    V(wick_config_free, (wick_config_file * config), (config))                                                         \
    F(const char *, wick_config_name, (const wick_config_file *config), (config))                                      \
    F(wick_status *, wick_config_check,                                                                                \
      (const wick_config_file *config, const wick_config_schema *schemas, size_t schema_count, unsigned flags),        \
      (config, schemas, schema_count, flags))                                                                          \
    F(wick_status *, wick_config_set,                                                                                  \
      (wick_config_file * config, const char *assignment, const wick_config_schema *schemas, size_t schema_count),     \
      (config, assignment, schemas, schema_count))                                                                     \
    F(wick_status *, wick_config_resolve_paths,                                                                        \
      (wick_config_file * config, const wick_config_schema *schemas, size_t schema_count),                             \
      (config, schemas, schema_count))                                                                                 \
    M(wick_status *, wick_config_error,                                                                                \
      (const wick_config_file *config, const char *section, const char *key, const char *format, ...))                 \
    F(const char *, wick_config_string,                                                                                \
      (const wick_config_file *config, const char *section, const char *key, const char *fallback),                    \
      (config, section, key, fallback))                                                                                \
    F(wick_status *, wick_config_int,                                                                                  \
      (const wick_config_file *config, const char *section, const char *key, int64_t fallback, int64_t *out),          \
      (config, section, key, fallback, out))                                                                           \
    F(wick_status *, wick_config_int_range,                                                                            \
      (const wick_config_file *config, const char *section, const char *key, int64_t fallback, int64_t low,            \
       int64_t high, int64_t *out),                                                                                    \
      (config, section, key, fallback, low, high, out))                                                                \
    F(wick_status *, wick_config_double,                                                                               \
      (const wick_config_file *config, const char *section, const char *key, double fallback, double *out),            \
      (config, section, key, fallback, out))                                                                           \
    F(wick_status *, wick_config_bool,                                                                                 \
      (const wick_config_file *config, const char *section, const char *key, bool fallback, bool *out),                \
      (config, section, key, fallback, out))                                                                           \
    F(wick_status *, wick_config_path,                                                                                 \
      (const wick_config_file *config, const char *section, const char *key, const char *fallback, char *buffer,       \
       size_t bytes),                                                                                                  \
      (config, section, key, fallback, buffer, bytes))                                                                 \
    F(wick_status *, wick_config_int_list,                                                                             \
      (const wick_config_file *config, const char *section, const char *key, int64_t *out, size_t capacity,            \
       size_t *out_count),                                                                                             \
      (config, section, key, out, capacity, out_count))                                                                \
    F(const char *, wick_config_section_at, (const wick_config_file *config, size_t index), (config, index))           \
    F(const char *, wick_config_key_at, (const wick_config_file *config, const char *section, size_t index),           \
      (config, section, index))                                                                                        \
    F(bool, wick_config_has_section, (const wick_config_file *config, const char *section), (config, section))         \
    F(size_t, wick_config_format, (const wick_config_file *config, char *buffer, size_t bytes),                        \
      (config, buffer, bytes))                                                                                         \
    F(wick_status *, wick_runtime_load, (wick_runtime * runtime, const wick_config_file *config), (runtime, config))   \
    F(wick_status *, wick_runtime_load_default, (wick_runtime * runtime, const char *ini_path), (runtime, ini_path))   \
    F(wick_status *, wick_plugin_register_static,                                                                      \
      (wick_runtime * runtime, const char *name,                                                                       \
       const struct wick_plugin_desc *(*query)(const struct wick_host_info *host, const char **out_refusal),           \
       const wick_config_file *config),                                                                                \
      (runtime, name, query, config))                                                                                  \
    F(wick_config_schema, wick_runtime_config_schema, (void), ())                                                      \
    F(wick_status *, wick_atomic_file_create, (const char *path, wick_atomic_file **out), (path, out))                 \
    F(wick_status *, wick_atomic_file_write, (wick_atomic_file * file, const void *data, size_t bytes),                \
      (file, data, bytes))                                                                                             \
    F(wick_status *, wick_atomic_file_commit, (wick_atomic_file * file), (file))                                       \
    V(wick_atomic_file_discard, (wick_atomic_file * file), (file))                                                     \
    F(wick_status *, wick_file_replace, (const char *path, const void *data, size_t bytes), (path, data, bytes))       \
    F(wick_status *, wick_safetensors_open, (wick_runtime * runtime, const char *path, wick_safetensors **out),        \
      (runtime, path, out))                                                                                            \
    F(wick_status *, wick_safetensors_parse,                                                                           \
      (wick_runtime * runtime, const void *data, size_t bytes, const char *source, wick_safetensors **out),            \
      (runtime, data, bytes, source, out))                                                                             \
    V(wick_safetensors_close, (wick_safetensors * file), (file))                                                       \
    F(size_t, wick_safetensors_count, (const wick_safetensors *file), (file))                                          \
    F(const wick_safetensors_info *, wick_safetensors_at, (const wick_safetensors *file, size_t index), (file, index)) \
    F(const wick_safetensors_info *, wick_safetensors_find, (const wick_safetensors *file, const char *name),          \
      (file, name))                                                                                                    \
    F(const void *, wick_safetensors_data, (const wick_safetensors *file, const wick_safetensors_info *info),          \
      (file, info))                                                                                                    \
    F(wick_tensor *, wick_safetensors_tensor, (wick_context * c, wick_safetensors * file, const char *name),           \
      (c, file, name))                                                                                                 \
    F(bool, wick_safetensors_metadata_at, (const wick_safetensors *file, size_t index, wick_safetensors_pair *out),    \
      (file, index, out))                                                                                              \
    F(const char *, wick_safetensors_metadata, (const wick_safetensors *file, const char *key), (file, key))           \
    F(wick_status *, wick_safetensors_save,                                                                            \
      (wick_context * c, const char *path, const char *const *names, wick_tensor *const *tensors, size_t count,        \
       const wick_safetensors_pair *metadata, size_t metadata_count),                                                  \
      (c, path, names, tensors, count, metadata, metadata_count))                                                      \
    F(wick_dtype, wick_runtime_dtype, (wick_runtime * runtime, const char *name), (runtime, name))                     \
    F(const char *, wick_runtime_dtype_name, (wick_runtime * runtime, wick_dtype dtype), (runtime, dtype))             \
    F(uint32_t, wick_runtime_layout, (wick_runtime * runtime, const char *name), (runtime, name))                      \
    F(wick_status *, wick_step_graph_create,                                                                           \
      (wick_runtime * runtime, wick_device device, int warmup, wick_step_graph **out), (runtime, device, warmup, out)) \
    F(bool, wick_device_graphs, (wick_runtime * runtime, wick_device device), (runtime, device))                       \
    V(wick_step_graph_destroy, (wick_step_graph * graph), (graph))                                                     \
    F(bool, wick_step_begin, (wick_context * c, wick_step_graph * graph), (c, graph))                                  \
    F(bool, wick_step_end, (wick_context * c), (c))                                                                    \
    V(wick_step_graph_describe, (const wick_step_graph *graph, wick_step_graph_info *out), (graph, out))

typedef struct wick_api {
    uint32_t struct_size;
    uint32_t version; /* WICK_API_VERSION */
#define WICK_API_FIELD_(result, name, parameters, arguments) result(*name) parameters;
#define WICK_API_FIELD_VOID_(name, parameters, arguments) void(*name) parameters;
#define WICK_API_FIELD_VARIADIC_(result, name, parameters) result(*name) parameters;
    WICK_API_FUNCTIONS(WICK_API_FIELD_, WICK_API_FIELD_VOID_, WICK_API_FIELD_VARIADIC_)
#undef WICK_API_FIELD_
#undef WICK_API_FIELD_VOID_
#undef WICK_API_FIELD_VARIADIC_
} wick_api;

#endif
