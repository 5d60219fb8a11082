#include "options.h"

#include <math.h>

int option_index(const wick_option *options, size_t count, const char *name) {
    for (size_t i = 0; i < count; ++i)
        if (!strcmp(options[i].name, name)) return (int)i;
    return -1;
}

static bool unknown(wick_context *c, const char *owner, const wick_option *known, size_t count, const char *name) {
    text t = {0};
    for (size_t i = 0; i < count; ++i) text_add(&t, i ? ", %s" : "%s", known[i].name);
    FAIL(c, INVALID_ARGUMENT, "%s has no option '%s'; it has: %s", owner, name,
         t.failed ? "(no memory to list them)"
         : t.data ? t.data
                  : "none");
    free(t.data);
    return false;
}

bool options_apply(wick_context *c, const char *owner, const wick_option *known, size_t count, const wick_option *given,
                   size_t given_count, double *values) {
    for (size_t i = 0; i < given_count; ++i) {
        int k = option_index(known, count, given[i].name);
        if (k < 0) return unknown(c, owner, known, count, given[i].name);
        if (!isfinite(given[i].value))
            return !FAIL(c, INVALID_ARGUMENT, "%s: %s is %g, wanted a finite number", owner, known[k].name,
                         given[i].value);
        values[k] = given[i].value;
    }
    return true;
}

bool options_complete(wick_context *c, const char *owner, const wick_option *known, size_t count,
                      const double *values) {
    for (size_t i = 0; i < count; ++i)
        if (isnan(values[i])) return !FAIL(c, INVALID_ARGUMENT, "%s: %s is missing", owner, known[i].name);
    return true;
}
