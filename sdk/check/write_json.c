/* The report as JSON. */
#include <wick/dtype.h>

#include "check.h"

/* Control characters were cleaned away when the text was taken in; bytes above 127 pass as UTF-8. */
static void string(const char *s, FILE *to) {
    fputc('"', to);
    for (; *s; ++s) {
        if ((unsigned char)*s < ' ') {
            fprintf(to, "\\u%04x", (unsigned char)*s);
            continue;
        }
        if (*s == '"' || *s == '\\') fputc('\\', to);
        fputc(*s, to);
    }
    fputc('"', to);
}

static void field(const char *name, const char *value, const char *after, FILE *to) {
    fprintf(to, "\"%s\": ", name);
    string(value, to);
    fputs(after, to);
}

static void dtypes(const char *name, uint32_t bits, FILE *to) {
    bool first = true;
    fprintf(to, ", \"%s\": [", name);
    for (int d = 1; d < WICK_DTYPE_COUNT; ++d) {
        if (!(bits & WICK_DTYPE_BIT((unsigned)d))) continue;
        fprintf(to, "%s\"%s\"", first ? "" : ", ", wick_dtype_name((wick_dtype)d));
        first = false;
    }
    fputc(']', to);
}

static void write_result(const check_result *r, FILE *to) {
    fputs("{", to);
    field("mode", check_mode_name(r->mode), ", ", to);
    field("verdict", check_verdict_name(r->verdict), ", ", to);
    field("item", r->item, ", ", to);
    field("case", r->label, ", ", to);
    field("detail", r->detail, "}", to);
}

static void write_operator(const check_operator *op, FILE *to) {
    fputs("{", to);
    field("mode", check_mode_name(op->mode), ", ", to);
    field("name", op->name, ", ", to);
    field("how", check_how_name(op->how), "", to);
    fprintf(to, ", \"passed\": %u, \"failed\": %u, \"unsupported\": %u", op->passed, op->failed, op->unsupported);
    dtypes("dtypes_passed", op->dtypes_passed, to);
    dtypes("dtypes_failed", op->dtypes_failed, to);
    dtypes("dtypes_host", op->dtypes_host, to);
    fputs("}", to);
}

static void write_counts(const check_report *r, FILE *to) {
    bool first = true;
    fputs("\"counts\": {", to);
    for (int m = 0; m < CHECK_MODE_COUNT; ++m) {
        if (!(r->modes & 1u << m)) continue;
        fprintf(to, "%s\"%s\": {", first ? "" : ", ", check_mode_name((check_mode)m));
        for (int v = 0; v < CHECK_VERDICT_COUNT; ++v)
            fprintf(to, "%s\"%s\": %llu", v ? ", " : "", check_verdict_name((check_verdict)v),
                    (unsigned long long)r->counts[m][v]);
        fputs("}", to);
        first = false;
    }
    fputs("},\n", to);
}

void check_write_json(const check_report *r, FILE *to) {
    fputs("{", to);
    field("plugin", r->plugin, ",\n", to);
    field("device", r->device, ",\n", to);
    field("version", r->version, ",\n", to);
    field("hardware", r->hardware, ",\n", to);
    fprintf(to, "\"failures\": %llu,\n", (unsigned long long)check_failures(r));
    write_counts(r, to);
    fputs("\"results\": [", to);
    for (size_t i = 0; i < r->result_count; ++i) {
        fputs(i ? ",\n" : "\n", to);
        write_result(&r->results[i], to);
    }
    fputs("],\n\"operators\": [", to);
    for (size_t i = 0; i < r->operator_count; ++i) {
        fputs(i ? ",\n" : "\n", to);
        write_operator(&r->operators[i], to);
    }
    fputs("]}\n", to);
}
