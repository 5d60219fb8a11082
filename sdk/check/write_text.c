/* The report as text, and the coverage table as Markdown. */
#include <string.h>
#include <wick/dtype.h>

#include "check.h"

#define COUNTED(report, m) ((report)->modes & 1u << (m))

static void write_counts(const check_report *r, FILE *to) {
    fprintf(to, "\n%-8s %8s %8s %8s %8s\n", "mode", "pass", "FAIL", "expected", "note");
    for (int m = 0; m < CHECK_MODE_COUNT; ++m) {
        if (!COUNTED(r, m)) continue;
        fprintf(to, "%-8s", check_mode_name((check_mode)m));
        for (int v = 0; v < CHECK_VERDICT_COUNT; ++v) fprintf(to, " %8llu", (unsigned long long)r->counts[m][v]);
        fprintf(to, "\n");
    }
}

static void write_hows(const check_report *r, FILE *to) {
    uint32_t counts[CHECK_HOW_COUNT] = {0};
    if (!COUNTED(r, CHECK_OPS)) return;
    for (size_t i = 0; i < r->operator_count; ++i)
        if (r->operators[i].mode == CHECK_OPS) ++counts[r->operators[i].how];
    fprintf(to, "\noperators:");
    for (int h = 0; h < CHECK_HOW_COUNT; ++h)
        if (counts[h]) fprintf(to, " %u %s", counts[h], check_how_name((check_how)h));
    fprintf(to, "\n");
}

void check_write_text(const check_report *r, FILE *to) {
    fprintf(to, "%s", r->plugin);
    if (r->device[0]) fprintf(to, ": device %s, version %s, %s", r->device, r->version, r->hardware);
    fprintf(to, "\n\n");
    for (size_t i = 0; i < r->result_count; ++i) {
        const check_result *result = &r->results[i];
        if (result->verdict == CHECK_PASS) continue;
        fprintf(to, "%-8s %-6s %s%s%s%s%s%s\n", check_verdict_name(result->verdict), check_mode_name(result->mode),
                result->item, result->label[0] ? " [" : "", result->label, result->label[0] ? "]" : "",
                result->detail[0] ? ": " : "", result->detail);
    }
    write_counts(r, to);
    write_hows(r, to);
    fprintf(to, "\n%llu failures\n", (unsigned long long)check_failures(r));
}

/* ---- Markdown ---- */
static void write_dtypes(uint32_t bits, FILE *to) {
    bool first = true;
    for (int d = 1; d < WICK_DTYPE_COUNT; ++d) {
        if (!(bits & WICK_DTYPE_BIT((unsigned)d))) continue;
        fprintf(to, "%s%s", first ? "" : " ", wick_dtype_name((wick_dtype)d));
        first = false;
    }
}

static const check_operator *gradient_of(const check_report *r, const char *name) {
    for (size_t i = 0; i < r->operator_count; ++i)
        if (r->operators[i].mode == CHECK_GRAD && strcmp(r->operators[i].name, name) == 0) return &r->operators[i];
    return NULL;
}

static void write_row(const check_report *r, const check_operator *op, FILE *to) {
    const check_operator *grad = gradient_of(r, op->name);
    fprintf(to, "| `%s` | %s | ", op->name, check_how_name(op->how));
    write_dtypes(op->dtypes_passed, to);
    fprintf(to, " | ");
    write_dtypes(op->dtypes_host & ~op->dtypes_passed, to);
    fprintf(to, " | %s | %u | %u |\n",
            !grad          ? ""
            : grad->failed ? "differs"
            : grad->passed ? "yes"
                           : "unsupported",
            op->passed, op->failed);
}

void check_write_coverage(const check_report *r, FILE *to) {
    const char *slash = strrchr(r->plugin, '/');
    fprintf(to, "# Operators on %s\n", r->device[0] ? r->device : slash ? slash + 1 : r->plugin);
    fprintf(to,
            "Written by `wick check --coverage`. *kernel*: the device's own; *decomposition*: made of other operators; "
            "*core*: a view,\nfactory or copy; *fallback*: on the host in its place; *unsupported*: an error.\n\n");
    fprintf(to, "| operator | how | dtypes | not here, but on the host | gradient | cases | failures |\n"
                "|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < r->operator_count; ++i)
        if (r->operators[i].mode == CHECK_OPS) write_row(r, &r->operators[i], to);
}
