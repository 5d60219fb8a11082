/* The report as one HTML file that needs no network. */
#include <wick/dtype.h>

#include "check.h"

static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>wick check</title>\n<style>\n"
    "body{font:14px/1.4 system-ui,sans-serif;margin:2em auto;max-width:78em;padding:0 1em}\n"
    "table{border-collapse:collapse;margin:1em 0}td,th{border:1px solid #bbb;padding:2px 8px;text-align:left}\n"
    "th{background:#eee}.FAIL{background:#fbd0d0}.expected{background:#fdeec0}.note{color:#555}\n"
    ".kernel,.y{background:#cdeccd}.decomposition,.core{background:#e3f1e3}.fallback{background:#fdeec0}\n"
    ".unsupported,.n{background:#f3d9d9}.excluded{color:#888}td.d{text-align:center;padding:2px 5px}\n</style>\n";

static void text(const char *s, FILE *to) {
    for (; *s; ++s) {
        if (*s == '<')
            fputs("&lt;", to);
        else if (*s == '&')
            fputs("&amp;", to);
        else if (*s == '"')
            fputs("&quot;", to);
        else
            fputc(*s, to);
    }
}

static void cell(const char *s, FILE *to) {
    fputs("<td>", to);
    text(s, to);
}

static void write_counts(const check_report *r, FILE *to) {
    fputs("<h2>Modes</h2><table><tr><th>mode<th>what it looks at", to);
    for (int v = 0; v < CHECK_VERDICT_COUNT; ++v) fprintf(to, "<th>%s", check_verdict_name((check_verdict)v));
    static const char *const what[] = {
#define MODE_TEXT(NAME, name, text) text,
        CHECK_MODES(MODE_TEXT)
#undef MODE_TEXT
    };
    for (int m = 0; m < CHECK_MODE_COUNT; ++m) {
        if (!(r->modes & 1u << m)) continue;
        fprintf(to, "\n<tr class=\"%s\"><td>%s<td>%s", r->counts[m][CHECK_FAIL] ? "FAIL" : "",
                check_mode_name((check_mode)m), what[m]);
        for (int v = 0; v < CHECK_VERDICT_COUNT; ++v) fprintf(to, "<td>%llu", (unsigned long long)r->counts[m][v]);
    }
    fputs("</table>\n", to);
}

static void write_results(const check_report *r, FILE *to) {
    fputs("<h2>Results</h2><table><tr><th>verdict<th>mode<th>item<th>case<th>detail", to);
    for (size_t i = 0; i < r->result_count; ++i) {
        const check_result *result = &r->results[i];
        const char *verdict = check_verdict_name(result->verdict);
        fprintf(to, "\n<tr class=\"%s\"><td>%s<td>%s", verdict, verdict, check_mode_name(result->mode));
        cell(result->item, to);
        cell(result->label, to);
        cell(result->detail, to);
    }
    fputs("</table>\n", to);
}

/* Dtypes that some operator has. */
static uint32_t used_dtypes(const check_report *r) {
    uint32_t bits = 0;
    for (size_t i = 0; i < r->operator_count; ++i) bits |= r->operators[i].dtypes_host;
    return bits;
}

static void write_dtype_cell(const check_operator *op, uint32_t bit, FILE *to) {
    if (op->dtypes_failed & bit)
        fputs("<td class=\"d FAIL\">!", to);
    else if (op->dtypes_passed & bit)
        fputs("<td class=\"d y\">+", to);
    else
        fputs(op->dtypes_host & bit ? "<td class=\"d n\">-" : "<td>", to);
}

static void write_operators(const check_report *r, check_mode mode, const char *title, FILE *to) {
    uint32_t bits = used_dtypes(r);
    if (!(r->modes & 1u << mode)) return;
    fprintf(to, "<h2>%s</h2><p>+ as the host, - not here but on the host, ! differs</p>\n", title);
    fputs("<table><tr><th>operator<th>how<th>passed<th>failed<th>unsupported", to);
    for (int d = 1; d < WICK_DTYPE_COUNT; ++d)
        if (bits & WICK_DTYPE_BIT((unsigned)d)) fprintf(to, "<th>%s", wick_dtype_name((wick_dtype)d));
    for (size_t i = 0; i < r->operator_count; ++i) {
        const check_operator *op = &r->operators[i];
        if (op->mode != mode) continue;
        const char *how = check_how_name(op->how);
        fputs("\n<tr>", to);
        cell(op->name, to);
        fprintf(to, "<td class=\"%s\">%s<td>%u<td>%u<td>%u", how, how, op->passed, op->failed, op->unsupported);
        for (int d = 1; d < WICK_DTYPE_COUNT; ++d)
            if (bits & WICK_DTYPE_BIT((unsigned)d)) write_dtype_cell(op, WICK_DTYPE_BIT((unsigned)d), to);
    }
    fputs("</table>\n", to);
}

void check_write_html(const check_report *r, FILE *to) {
    fputs(head, to);
    fputs("<h1>", to);
    text(r->plugin, to);
    fprintf(to, "</h1>\n<p>%llu failures. Device ", (unsigned long long)check_failures(r));
    text(r->device[0] ? r->device : "none", to);
    fputs(", version ", to);
    text(r->version, to);
    fputs(", ", to);
    text(r->hardware, to);
    fputs("</p>\n", to);
    write_counts(r, to);
    write_results(r, to);
    write_operators(r, CHECK_OPS, "Operators", to);
    write_operators(r, CHECK_GRAD, "Gradients", to);
    fputs("</html>\n", to);
}
