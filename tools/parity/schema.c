/* Reads what is needed of a schema string: types, names and defaults of its arguments. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schema.h"

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
    out->mutated = false;
    for (int depth = 0; i < length && (s[i] != ' ' || depth); ++i) {
        if (s[i] == '(') ++depth;
        if (s[i] == '!') out->mutated = true;
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

int schema_arguments(const char *schema, schema_arg args[SCHEMA_MAX_ARGS]) {
    const char *s = strchr(schema, '(');
    int count = 0;
    bool kwarg_only = false;
    if (!s) return 0;
    for (++s; *s && *s != ')';) {
        size_t length = argument_length(s);
        if (length == 1 && *s == '*') {
            kwarg_only = true;
        } else {
            if (count == SCHEMA_MAX_ARGS) return -1;
            argument_split(s, length, &args[count]);
            args[count++].kwarg_only = kwarg_only;
        }
        s += length;
        while (*s == ',' || *s == ' ') ++s;
    }
    return count;
}
