/* The figures as a table and as JSON. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"

typedef struct row {
    char name[80], peer[48];
    const char *unit;
    double value, peer_value, ratio;
} row;

static struct {
    row *rows;
    size_t count, capacity;
} report;

/* Units of which less is better; of all others more is. */
static const char *const costs[] = {"ns", "us", "ms", "MiB", "calibration loops"};

static bool is_cost(const char *unit) {
    for (size_t i = 0; i < sizeof costs / sizeof costs[0]; ++i)
        if (!strcmp(unit, costs[i])) return true;
    return false;
}

void bench_add(const char *name, double value, const char *unit, const char *peer, double peer_value) {
    if (report.count == report.capacity) {
        report.capacity = report.capacity * 2 + 16;
        report.rows = realloc(report.rows, report.capacity * sizeof *report.rows);
        if (!report.rows) bench_die("out of memory");
    }
    row *r = &report.rows[report.count++];
    *r = (row){.unit = unit, .value = value, .peer_value = peer_value};
    snprintf(r->name, sizeof r->name, "%s", name);
    snprintf(r->peer, sizeof r->peer, "%s", isnan(peer_value) ? "none" : peer);
    r->ratio = is_cost(unit) ? peer_value / value : value / peer_value;
}

/* Three digits that matter. */
static const char *number(double value, char buffer[32]) {
    if (isnan(value)) return "-";
    int decimals = fabs(value) >= 99.95 ? 0 : fabs(value) >= 9.995 ? 1 : 2;
    snprintf(buffer, 32, "%.*f", decimals, value);
    return buffer;
}

void bench_report_print(void) {
    char value[32], peer[32], ratio[32];
    if (!report.count) return;
    printf("%-52s %10s %-18s %-22s %10s %7s\n", "figure", "wick", "unit", "peer", "its value", "ratio");
    for (const row *r = report.rows; r < report.rows + report.count; ++r)
        printf("%-52s %10s %-18s %-22s %10s %7s\n", r->name, number(r->value, value), r->unit, r->peer,
               number(r->peer_value, peer), number(r->ratio, ratio));
}

static void write_number(FILE *f, const char *key, double value) {
    if (isfinite(value))
        fprintf(f, ", \"%s\": %.6g", key, value);
    else
        fprintf(f, ", \"%s\": null", key);
}

bool bench_report_write(const char *path) {
    FILE *f = fopen(path, "w");
    if (!f) return false;
    fputs("[", f);
    for (size_t i = 0; i < report.count; ++i) {
        const row *r = &report.rows[i];
        fprintf(f, "%s\n  {\"name\": \"%s\"", i ? "," : "", r->name);
        write_number(f, "value", r->value);
        fprintf(f, ", \"unit\": \"%s\", \"peer\": \"%s\"", r->unit, r->peer);
        write_number(f, "peer_value", r->peer_value);
        write_number(f, "ratio", r->ratio);
        fputs("}", f);
    }
    fputs("\n]\n", f);
    return fclose(f) == 0;
}
