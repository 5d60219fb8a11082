/* The public functions as the table that host->api() hands out. */
#ifndef WICK_CORE_API_H
#define WICK_CORE_API_H

#include <stdint.h>

/* The wick_api of wick/sdk/api.h, NULL for a version that this host does not have. Static; thread-safe. */
const void *host_api(uint32_t version);

#endif
