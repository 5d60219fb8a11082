/* What each interface of a backend must hold (wick/sdk/interface.h). */
#ifndef WICK_CORE_INTERFACES_H
#define WICK_CORE_INTERFACES_H

#include <wick/sdk/interface.h>

/* Every interface that the backend offers has its required slots; "memory" is there. One line on failure. */
wick_status *interfaces_check(const wick_backend *backend, void *instance);

#endif
