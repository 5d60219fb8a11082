/* The table of public functions behind wick/sdk/api.h. */
#include "api.h"

#include <wick/sdk/api.h>

#define ENTRY(result, name, ...) .name = name,
#define ENTRY_VOID(name, ...) .name = name,
static const wick_api table = {
    .struct_size = sizeof table, .version = WICK_API_VERSION, WICK_API_FUNCTIONS(ENTRY, ENTRY_VOID, ENTRY)};

const void *host_api(uint32_t version) { return version == WICK_API_VERSION ? &table : NULL; }
