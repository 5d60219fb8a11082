/* A schema's default as a recorded value. */
#include <stdlib.h>
#include <string.h>

#include "parity.h"

static json_t *list_default(const char *text) {
    json_t *list = json_array();
    for (char *end; *text && *text != ']'; text = end) {
        text += strspn(text, "[, ");
        long v = strtol(text, &end, 10);
        if (end == text) break;
        json_array_append_new(list, json_pack("{s:I}", "i", (json_int_t)v));
    }
    return json_pack("{s:o}", "l", list);
}

static json_t *number_default(const char *text) {
    char *end;
    long i = strtol(text, &end, 10);
    if (end != text && !*end) return json_pack("{s:I}", "i", (json_int_t)i);
    double f = strtod(text, &end);
    return end != text && !*end ? json_pack("{s:f}", "f", f) : NULL;
}

/* Schemas write a default dtype by ATen's name or number. */
static const char *scalar_type(const char *text) {
    return strcmp(text, "long") == 0 || strcmp(text, "4") == 0 ? "int64" : text;
}

json_t *schema_default(const schema_arg *arg) {
    const char *text = arg->preset;
    size_t length = strlen(text);
    if (!length) return NULL;
    if (strcmp(text, "None") == 0) return json_null();
    if (strcmp(text, "True") == 0 || strcmp(text, "False") == 0) return json_pack("{s:b}", "b", *text == 'T');
    if (*text == '[') return list_default(text);
    if (*text == '"' || *text == '\'') return json_pack("{s:s%}", "s", text + 1, length - 2);
    if (strcmp(text, "Mean") == 0) return json_pack("{s:i}", "i", 1); /* at::Reduction */
    if (strncmp(arg->type, "MemoryFormat", 12) == 0) return json_pack("{s:s}", "memory_format", text);
    if (strncmp(arg->type, "ScalarType", 10) == 0) return json_pack("{s:s}", "dtype", scalar_type(text));
    return number_default(text);
}
