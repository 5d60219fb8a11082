/* Opens the vendors' libraries. One that is absent leaves the own kernels and a note. */
#include "library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static void note(gpu_instance *gpu, const char *key, const char *reason) {
    size_t used = strlen(gpu->library_notes), room = sizeof gpu->library_notes - used;
    if (snprintf(gpu->library_notes + used, room, "%sno %s: %.60s", used ? "; " : "", key, reason) < 0) return;
}

/* The libraries stay mapped, like the driver. */
bool gpu_library_open(gpu_instance *gpu, const wick_config *config, const gpu_library *library, void *out_functions) {
    const char *wanted = gpu->host->config_string(config, library->key, NULL);
    void *file = NULL;
    if (wanted && !strcmp(wanted, "no")) {
        note(gpu, library->key, "by the configuration");
        return false;
    }
    for (int i = 0; !file && library->files[i]; ++i) {
        file = dlopen(wanted ? wanted : library->files[i], RTLD_NOW | RTLD_LOCAL);
        if (wanted) break;
    }
    if (!file) {
        note(gpu, library->key, dlerror());
        return false;
    }
    for (size_t i = 0; i < library->count; ++i) {
        void *symbol = dlsym(file, library->symbols[i]);
        memcpy((char *)out_functions + i * sizeof symbol, &symbol, sizeof symbol);
        if (symbol) continue;
        char missing[64];
        snprintf(missing, sizeof missing, "it has no %s", library->symbols[i]);
        note(gpu, library->key, missing);
        return false;
    }
    return true;
}
