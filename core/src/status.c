#include <wick/status.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct wick_status {
    wick_code code;
    int line;
    const char *file;
    wick_status *cause;
    char *message; /* follows the struct */
    char origin[64];
};

/* What an exhausted heap yields: shared, never freed. */
static wick_status exhausted = {WICK_OUT_OF_MEMORY, 0, "", NULL, (char *)"out of host memory", ""};

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static wick_status *make(wick_code code, wick_status *cause, const char *file, int line, const char *format,
                         va_list args) {
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    wick_status *s = length < 0 ? NULL : malloc(sizeof *s + (size_t)length + 1);
    if (s) {
        *s = (wick_status){code, line, file, cause, (char *)(s + 1), ""};
        vsnprintf(s->message, (size_t)length + 1, format, again);
        snprintf(s->origin, sizeof s->origin, "%s:%d", base_name(file), line);
    } else {
        wick_status_free(cause);
        s = &exhausted;
    }
    va_end(again);
    return s;
}

wick_status *wick_status_make(wick_code code, const char *file, int line, const char *format, ...) {
    va_list args;
    va_start(args, format);
    wick_status *s = make(code, NULL, file, line, format, args);
    va_end(args);
    return s;
}

wick_status *wick_status_wrap(wick_status *cause, const char *file, int line, const char *format, ...) {
    va_list args;
    va_start(args, format);
    wick_status *s = make(wick_status_code(cause), cause, file, line, format, args);
    va_end(args);
    return s;
}

void wick_status_free(wick_status *status) {
    while (status && status != &exhausted) {
        wick_status *cause = status->cause;
        free(status);
        status = cause;
    }
}

wick_code wick_status_code(const wick_status *status) { return status ? status->code : WICK_OK; }
const char *wick_status_message(const wick_status *status) { return status ? status->message : ""; }
const char *wick_status_origin(const wick_status *status) { return status ? status->origin : ""; }
const wick_status *wick_status_cause(const wick_status *status) { return status ? status->cause : NULL; }

const char *wick_code_text(wick_code code) {
    switch (code) {
#define TEXT(name, value, text, advice) \
    case WICK_##name: return text;
        WICK_CODES(TEXT)
#undef TEXT
    }
    return "unknown code";
}

const char *wick_code_advice(wick_code code) {
    switch (code) {
#define ADVICE(name, value, text, advice) \
    case WICK_##name: return advice;
        WICK_CODES(ADVICE)
#undef ADVICE
    }
    return "";
}
