/* Loads backends: search, elf, isolate, dlopen, query, create, probe, ready; each step gives one line on failure. */
#ifndef WICK_LOADER_H
#define WICK_LOADER_H

#include <wick/config.h>
#include <wick/sdk/plugin.h>

#include "text.h"

/* A plugin's section, as it sees it. What it asks for is remembered, so that mistyped keys can be told. */
struct wick_config {
    const wick_config_file *file;
    const char *section;
    text *asked; /* keys, a line each */
};

#define REGISTERED_KEYS 8
typedef struct registered_key {
    int rank;
    wick_key_handler_fn handler;
    void *instance;
} registered_key;

/* What create() registers, published only if all of it succeeds. Lives until the plugin's destroy() has returned. */
struct wick_registrar {
    wick_runtime *runtime;
    wick_allocator memory;
    bool open; /* create() is running */
    const wick_backend *backend;
    void *instance;
    registered_key keys[REGISTERED_KEYS];
    int key_count;
};

/* The loader's part of the host table. */
void host_log(wick_registrar *registrar, wick_log_level level, const char *message);
void *host_allocate(wick_registrar *registrar, size_t bytes);
void host_free(wick_registrar *registrar, void *pointer);
const char *host_config_string(const wick_config *config, const char *key, const char *fallback);
wick_status *host_config_int(const wick_config *config, const char *key, int64_t fallback, int64_t *out);
wick_status *host_register_backend(wick_registrar *registrar, const wick_backend *backend, void *instance);
wick_status *host_register_key(wick_registrar *registrar, int rank, wick_key_handler_fn handler, void *instance);

#define LOADER_SECTION_PREFIX "plugin."

/* The types and choices of all plugin.* sections. */
wick_status *loader_check(const wick_config_file *file);
/* Tries one backend and records what became of it. Success unless it is required and not ready, or memory is
 * exhausted; `named`: the file asks for it by name, so that it is required unless the file says otherwise. */
wick_status *loader_load(wick_runtime *runtime, const wick_config_file *file, const char *name, bool named);
wick_status *loader_load_static(wick_runtime *runtime, const wick_config_file *file, const char *name,
                                wick_plugin_query_fn query);

#endif
