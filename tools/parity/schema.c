/* Reads what is needed of a schema string: types, names and defaults of its arguments. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parity.h"

/* Length of the argument that starts at `s`: up to a comma or the closing parenthesis outside brackets. */
static size_t argument_length(const char *s) {
    int depth = 0;
    size_t n = 0;
    for (; s[n]; ++n) {
        if (s[n] == '(' || s[n] == '[') ++depth;
        if (depth == 0 && (s[n] == ',' || s[n] == ')')) break;
        if (s[n] == ')' || s[n] == ']') --depth;
    }
    return n;
}

static void copy_text(char *out, size_t room, const char *s, size_t length) {
    snprintf(out, room, "%.*s", (int)length, s);
}

/* Splits "Tensor(a!) self", "int[1]? dim=None" into type, name and default. */
static void argument_split(const char *s, size_t length, schema_arg *out) {
    size_t type = 0, i = 0;
    for (int depth = 0; i < length && (s[i] != ' ' || depth); ++i) {
        if (s[i] == '(') ++depth;
        if (!depth && type + 1 < sizeof out->type) out->type[type++] = s[i];
        if (s[i] == ')') --depth;
    }
    out->type[type] = 0;
    while (i < length && s[i] == ' ') ++i;
    const char *equals = memchr(s + i, '=', length - i);
    size_t name = equals ? (size_t)(equals - s) - i : length - i;
    copy_text(out->name, sizeof out->name, s + i, name);
    copy_text(out->preset, sizeof out->preset, equals ? equals + 1 : "",
              equals ? (size_t)(s + length - equals) - 1 : 0);
}

int schema_arguments(const char *schema, schema_arg args[PARITY_MAX_ARGS]) {
    const char *s = strchr(schema, '(');
    int count = 0;
    bool kwarg_only = false;
    if (!s) return 0;
    for (++s; *s && *s != ')';) {
        size_t length = argument_length(s);
        if (length == 1 && *s == '*') {
            kwarg_only = true;
        } else {
            if (count == PARITY_MAX_ARGS) return -1;
            argument_split(s, length, &args[count]);
            args[count++].kwarg_only = kwarg_only;
        }
        s += length;
        while (*s == ',' || *s == ' ') ++s;
    }
    return count;
}

/* ---- defaults ---- */
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
