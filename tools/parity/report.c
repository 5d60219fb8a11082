/* Counting and telling. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parity.h"

static const char *const stage_names[STAGE_COUNT] = {"forward", "grad", "grad2"};
static const char *const verdict_names[VERDICT_COUNT] = {"passed", "failed", "unsupported"};

/* ---- failures that are explained: lines "NAME CASE STAGE REASON", comments from # ---- */
static bool known_line(json_t *known, char *line) {
    char name[128], id[64], stage[16];
    int used = 0;
    line[strcspn(line, "\r\n")] = 0;
    if (!*line || *line == '#') return true;
    if (sscanf(line, "%127s %63s %15s %n", name, id, stage, &used) != 3 || !line[used]) return false;
    char key[256];
    snprintf(key, sizeof key, "%s %s %s", name, id, stage);
    return json_object_set_new(known, key, json_string(line + used)) == 0;
}

static bool known_read(parity *p, const char *path) {
    char line[1024];
    FILE *file = fopen(path, "r");
    bool ok = file != NULL;
    while (ok && fgets(line, sizeof line, file)) ok = known_line(p->known, line);
    if (file) fclose(file);
    if (!ok) fprintf(stderr, "wick-parity: %s: cannot be read, or a line is not NAME CASE STAGE REASON\n", path);
    return ok;
}

bool report_begin(parity *p) {
    p->known = json_object();
    p->names = json_object();
    p->failures = json_array();
    return p->known && p->names && p->failures && (!p->options.known || known_read(p, p->options.known));
}

static bool is_known(const parity_case *k) {
    const char *key = arena_format(k->arena, "%s %s %s", k->name, k->id, stage_names[k->stage]);
    return json_object_get(k->p->known, key) != NULL;
}

/* ---- verdicts ---- */
static void count_name(parity *p, const char *name, verdict v) {
    json_t *counts = json_object_get(p->names, name);
    if (!counts) {
        counts = json_pack("[i,i,i]", 0, 0, 0);
        json_object_set_new(p->names, name, counts);
    }
    json_t *count = json_array_get(counts, v);
    json_integer_set(count, json_integer_value(count) + 1);
}

static void tell_failure(const parity_case *k, const char *where, const char *expected, const char *got) {
    bool known = is_known(k);
    k->p->explained += known;
    printf("%s %s %s %s%s%s: expected %s, got %s\n", known ? "known" : "FAIL", k->name, k->id, stage_names[k->stage],
           *where ? " " : "", where, expected, got);
    json_array_append_new(k->p->failures, json_pack("{s:s,s:s,s:s,s:s,s:s,s:s,s:b}", "name", k->name, "case", k->id,
                                                    "stage", stage_names[k->stage], "where", where, "expected",
                                                    expected, "got", got, "known", known));
}

void report_count(const parity_case *k, verdict v, const char *where, const char *expected, const char *got) {
    ++k->p->counts[k->stage][v];
    count_name(k->p, k->name, v);
    if (v == FAILED) tell_failure(k, where, expected, got);
    if (v != PASSED || !is_known(k)) return;
    ++k->p->stale;
    printf("STALE %s %s %s is listed as failing, but passes\n", k->name, k->id, stage_names[k->stage]);
}

/* ---- the end ---- */
static long total(const parity *p, verdict v) {
    long n = 0;
    for (int s = 0; s < STAGE_COUNT; ++s) n += p->counts[s][v];
    return n;
}

static bool write_json(const parity *p) {
    if (!p->options.json) return true;
    json_t *root = json_object();
    for (int v = 0; v < VERDICT_COUNT; ++v) json_object_set_new(root, verdict_names[v], json_integer(total(p, v)));
    json_object_set(root, "names", p->names);
    json_object_set(root, "failures", p->failures);
    bool ok = json_dump_file(root, p->options.json, JSON_INDENT(1)) == 0;
    if (!ok) fprintf(stderr, "wick-parity: cannot write %s\n", p->options.json);
    json_decref(root);
    return ok;
}

static void print_stages(const parity *p) {
    for (int s = 0; s < STAGE_COUNT; ++s) {
        const long *n = p->counts[s];
        if (n[PASSED] + n[FAILED] + n[UNSUPPORTED])
            printf("%s: %ld passed, %ld failed, %ld unsupported\n", stage_names[s], n[PASSED], n[FAILED],
                   n[UNSUPPORTED]);
    }
}

int report_end(parity *p) {
    bool written = write_json(p);
    long passed = total(p, PASSED), failed = total(p, FAILED);
    int64_t leaked = wick_runtime_live_objects(p->runtime);
    if (leaked) printf("FAIL %lld objects are still alive after the run\n", (long long)leaked);
    if (passed < p->options.at_least) printf("FAIL fewer than %ld passed\n", p->options.at_least);
    print_stages(p);
    printf("%ld passed, %ld failed, %ld unsupported\n", passed, failed, total(p, UNSUPPORTED));
    bool clean = failed == p->explained && !p->stale && !leaked && passed >= p->options.at_least;
    json_decref(p->known), json_decref(p->names), json_decref(p->failures);
    return !written ? 2 : clean ? 0 : 1;
}
