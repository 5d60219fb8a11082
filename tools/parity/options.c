/* Recorded options of optimizers and schedules as wick's: numbers by name. */
#include <string.h>
#include <strings.h>

#include "above.h"

/* PyTorch's pairs, and the options that take their place. */
static const struct { const char *name, *parts[2]; } pairs[] = {{"betas", {"beta1", "beta2"}}};

/* The list's own spelling of an option; NULL if it has none of that name. */
static const char *known_name(const wick_option_list *known, const char *name) {
    for (size_t i = 0; i < known->count; ++i)
        if (strcasecmp(known->options[i].name, name) == 0) return known->options[i].name;
    return NULL;
}

static bool add_number(const wick_option_list *known, const char *name, json_t *json, wick_option *out, size_t *count) {
    name = known_name(known, name);
    if (!name || *count == PARITY_MAX_OPTIONS || !(json_is_number(json) || json_is_boolean(json))) return false;
    out[(*count)++] = (wick_option){name, json_is_boolean(json) ? json_is_true(json) : json_number_value(json)};
    return true;
}

static bool add_pair(const wick_option_list *known, const char *name, json_t *json, wick_option *out, size_t *count) {
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; ++i)
        if (strcmp(pairs[i].name, name) == 0)
            return json_array_size(json) == 2 &&
                   add_number(known, pairs[i].parts[0], json_array_get(json, 0), out, count) &&
                   add_number(known, pairs[i].parts[1], json_array_get(json, 1), out, count);
    return false;
}

bool options_read(const parity_case *k, const wick_option_list *known, wick_option out[PARITY_MAX_OPTIONS],
                  size_t *count) {
    const char *name;
    json_t *json;
    *count = 0;
    json_object_foreach(json_object_get(k->json, "options"), name, json) {
        bool ok =
            json_is_array(json) ? add_pair(known, name, json, out, count) : add_number(known, name, json, out, count);
        if (!ok) return false;
    }
    return true;
}
