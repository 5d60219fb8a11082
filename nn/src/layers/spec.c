/* Reading calls in text. */
#include "spec.h"

#include <ctype.h>
#include <math.h>

#define NAME_BYTES 32

typedef struct argument {
    char name[NAME_BYTES], type[8], dflt[16];
    bool given;
} argument;

static const char *skip_blanks(const char *p) {
    while (isspace((unsigned char)*p)) ++p;
    return p;
}

/* Copies [begin, end) without blanks at its ends. */
static bool copy_trimmed(const char *begin, const char *end, char *out, size_t bytes) {
    begin = skip_blanks(begin);
    while (end > begin && isspace((unsigned char)end[-1])) --end;
    if (begin > end || (size_t)(end - begin) >= bytes) return false;
    memcpy(out, begin, (size_t)(end - begin));
    out[end - begin] = 0;
    return true;
}

/* ---- the list of arguments ---- */
static int read_arguments(const char *p, argument *out) {
    int n = 0;
    for (p = skip_blanks(p); *p; p = skip_blanks(p + (*p == ','))) {
        argument *a = &out[n++];
        const char *end = p + strcspn(p, ","), *colon = memchr(p, ':', (size_t)(end - p));
        const char *equals = memchr(p, '=', (size_t)(end - p));
        const char *name_end = colon ? colon : equals ? equals : end;
        *a = (argument){.type = "int"};
        copy_trimmed(p, name_end, a->name, sizeof a->name);
        if (colon) copy_trimmed(colon + 1, equals ? equals : end, a->type, sizeof a->type);
        if (equals) copy_trimmed(equals + 1, end, a->dflt, sizeof a->dflt);
        p = end;
    }
    return n;
}

/* ---- values ---- */
static bool read_int(const char *text, int64_t *out, const char **end) {
    char *stop;
    if (!isdigit((unsigned char)*text) && *text != '-') return false;
    *out = strtoll(text, &stop, 10);
    *end = stop;
    return stop != text && llabs(*out) < INT64_C(1) << 40;
}

static bool read_size(const char *text, spec_value *out, const char **end) {
    if (!read_int(text, &out->i[0], end)) return false;
    out->i[1] = out->i[0];
    return **end != 'x' || read_int(*end + 1, &out->i[1], end);
}

static bool read_bool(const char *text, bool *out) {
    static const char *const words[] = {"no", "yes", "false", "true", "off", "on", "0", "1"};
    for (size_t i = 0; i < COUNT(words); ++i)
        if (!strcmp(text, words[i])) return *out = i & 1, true;
    return false;
}

/* Numbers have a point in any locale: digits only, so that strtod is not needed. */
static bool read_real(const char *text, double *out, const char **end) {
    double sign = *text == '-' ? -1 : 1, value = 0, scale = 1;
    int64_t exponent = 0;
    const char *p = text + (*text == '-');
    if (!isdigit((unsigned char)*p) && *p != '.') return false;
    for (; isdigit((unsigned char)*p); ++p) value = value * 10 + (*p - '0');
    if (*p == '.')
        for (++p; isdigit((unsigned char)*p); ++p) value = value * 10 + (*p - '0'), scale *= 10;
    *end = p;
    if ((*p == 'e' || *p == 'E') && !read_int(p + 1, &exponent, end)) return false;
    *out = sign * value / scale * pow(10, (double)exponent);
    return isfinite(*out);
}

static wick_status *read_value(const argument *a, const char *text, spec_value *out) {
    static const struct {
        const char *type, *wanted;
    } types[] = {
        {"int", "an integer"}, {"size", "a size such as 3 or 3x5"}, {"real", "a number"}, {"bool", "yes or no"}};
    const char *end = "";
    size_t t = 0;
    while (strcmp(types[t].type, a->type) != 0) ++t;
    bool ok = t == 0   ? read_int(text, &out->i[0], &end)
              : t == 1 ? read_size(text, out, &end)
              : t == 2 ? read_real(text, &out->real, &end)
                       : read_bool(text, &out->flag);
    if (ok && !*end) return NULL;
    return WICK_ERROR(WICK_INVALID_ARGUMENT, "%s is '%s', wanted %s", a->name, text, types[t].wanted);
}

/* ---- the call ---- */
bool spec_name(const char *text, char *name, size_t bytes) {
    text = skip_blanks(text);
    size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    const char *rest = skip_blanks(text + n);
    if (!n || n >= bytes || (*rest && *rest != '(')) return false;
    memcpy(name, text, n);
    name[n] = 0;
    return true;
}

static wick_status *find_argument(argument *arguments, int n, const char *name, const char *list, int *out) {
    for (int i = 0; i < n; ++i)
        if (!strcmp(arguments[i].name, name)) return *out = i, NULL;
    return WICK_ERROR(WICK_INVALID_ARGUMENT, "unknown argument '%s', wanted: %s", name, *list ? list : "none");
}

static wick_status *read_item(const char *begin, const char *end, argument *arguments, int n, int *position,
                              const char *list, spec_value *values) {
    char name[NAME_BYTES], value[64];
    const char *equals = memchr(begin, '=', (size_t)(end - begin));
    int i = *position;
    if (!copy_trimmed(equals ? equals + 1 : begin, end, value, sizeof value) ||
        (equals && !copy_trimmed(begin, equals, name, sizeof name)))
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "'%.*s' is too long", (int)(end - begin), begin);
    if (equals) {
        WICK_TRY(find_argument(arguments, n, name, list, &i));
        *position = n; /* no positional ones behind it */
    } else if (i >= n) {
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "no place for '%s', wanted: %s", value, *list ? list : "no arguments");
    } else {
        *position = i + 1;
    }
    if (arguments[i].given) return WICK_ERROR(WICK_INVALID_ARGUMENT, "%s is given twice", arguments[i].name);
    arguments[i].given = true;
    return read_value(&arguments[i], value, &values[i]);
}

static wick_status *read_items(const char *text, argument *arguments, int n, const char *list, spec_value *values) {
    const char *p = strchr(text, '('), *close = strrchr(text, ')');
    int position = 0;
    if (!p) return NULL;
    if (!close || *skip_blanks(close + 1))
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "'%s' does not end with its parenthesis", text);
    p = skip_blanks(p + 1);
    while (p < close) {
        const char *end = memchr(p, ',', (size_t)(close - p));
        WICK_TRY(read_item(p, end ? end : close, arguments, n, &position, list, values));
        p = end ? end + 1 : close;
    }
    return NULL;
}

wick_status *spec_parse(const char *text, const char *list, spec_value values[SPEC_ARGUMENTS]) {
    argument arguments[SPEC_ARGUMENTS] = {{.given = false}};
    int n = read_arguments(list, arguments);
    memset(values, 0, sizeof *values * SPEC_ARGUMENTS);
    WICK_TRY(read_items(text, arguments, n, list, values));
    for (int i = 0; i < n; ++i) {
        if (arguments[i].given) continue;
        if (!*arguments[i].dflt)
            return WICK_ERROR(WICK_INVALID_ARGUMENT, "%s is missing, wanted: %s", arguments[i].name, list);
        WICK_TRY(read_value(&arguments[i], arguments[i].dflt, &values[i]));
    }
    return NULL;
}
