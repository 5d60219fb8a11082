/* Loads backends: search, elf, isolate, dlopen, query, create, probe, ready; each step gives one line on failure. */
#ifndef WICK_LOADER_H
#define WICK_LOADER_H

#include <wick/config.h>
#include <wick/sdk/plugin.h>

#include "registrar.h"

#define LOADER_SECTION_PREFIX "plugin."

/* The types and choices of all plugin.* sections. */
wick_status *loader_check(const wick_config_file *file);
/* Tries one backend and records what became of it. Success unless it is required and not ready, or memory is
 * exhausted; `named`: the file asks for it by name, so that it is required unless the file says otherwise. */
wick_status *loader_load(wick_runtime *runtime, const wick_config_file *file, const char *name, bool named);
wick_status *loader_load_static(wick_runtime *runtime, const wick_config_file *file, const char *name,
                                wick_plugin_query_fn query);

#endif
