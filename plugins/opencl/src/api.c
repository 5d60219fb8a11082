#include "api.h"

#include <dlfcn.h>
#include <string.h>

static const char *const symbol_names[] = {
#define OCL_SYMBOL_NAME(name) #name,
    OCL_SYMBOLS(OCL_SYMBOL_NAME)
#undef OCL_SYMBOL_NAME
};

wick_status *ocl_api_open(ocl_api *api, const wick_host *host, const char *path) {
    enum { COUNT = sizeof symbol_names / sizeof symbol_names[0] };
    _Static_assert(sizeof(ocl_api) == (COUNT + 1) * sizeof(void *), "the table holds function pointers only");
    /* It stays in the process: the library keeps its list of platforms, and they their threads, until the end. */
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE), *functions[COUNT];
    if (!library) return WICK_HOST_ERROR(host, WICK_UNAVAILABLE, "no OpenCL library: %s", dlerror());
    for (int i = 0; i < COUNT; ++i) {
        functions[i] = dlsym(library, symbol_names[i]);
        if (functions[i]) continue;
        dlclose(library);
        return WICK_HOST_ERROR(host, WICK_UNAVAILABLE, "%s has no %s: OpenCL 1.2 is needed", path, symbol_names[i]);
    }
    memcpy((char *)api + sizeof library, functions, sizeof functions);
    api->library = library;
    return NULL;
}

void ocl_api_close(ocl_api *api) {
    if (api->library) dlclose(api->library);
    api->library = NULL;
}
