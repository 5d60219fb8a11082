/* Reading recordings: an index, files of cases, and the cases of operators. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parity.h"

static bool selected(const parity *p, const char *name) {
    return !p->options.only || strcmp(p->options.only, name) == 0;
}

static void print_status(const char *path, wick_status *status) {
    fprintf(stderr, "wick-parity: %s: %s\n", path, wick_status_message(status));
    wick_status_free(status);
}

/* Calls `fn` for every line of a file of JSON objects. False: printed. */
static bool each_line(const char *path, bool (*fn)(void *user, json_t *line), void *user) {
    char *line = NULL;
    size_t room = 0;
    bool ok = true;
    FILE *file = fopen(path, "r");
    if (!file) return perror(path), false;
    for (int number = 1; ok && getline(&line, &room, file) > 0; ++number) {
        json_error_t error;
        json_t *json = json_loads(line, 0, &error);
        if (!json) fprintf(stderr, "wick-parity: %s:%d: %s\n", path, number, error.text);
        ok = json && fn(user, json);
        json_decref(json);
    }
    free(line);
    fclose(file);
    return ok;
}

/* ---- cases ---- */
typedef struct case_loop {
    parity *p;
    const char *name_field; /* of a case */
    wick_safetensors *tensors;
    case_fn run;
    int number;
} case_loop;

static bool run_line(void *user, json_t *json) {
    case_loop *loop = user;
    arena memory = {0};
    const char *id = json_string_value(json_object_get(json, "id"));
    const char *name = json_string_value(json_object_get(json, loop->name_field));
    parity_case k = {.p = loop->p, .arena = &memory, .json = json, .tensors = loop->tensors};
    k.name = name ? name : "?";
    k.id = id ? id : arena_format(&memory, "line%d", loop->number);
    ++loop->number;
    if (selected(loop->p, k.name)) {
        wick_scope scope = wick_scope_open(loop->p->c);
        loop->run(&k);
        wick_scope_close(loop->p->c, scope);
        wick_status_free(wick_status_take(loop->p->c));
    }
    arena_free(&memory);
    return true;
}

bool each_case(parity *p, const char *stem, const char *name_field, bool has_tensors, case_fn run) {
    arena memory = {0};
    case_loop loop = {.p = p, .name_field = name_field, .run = run};
    const char *path = arena_format(&memory, "%s/%s.safetensors", p->options.folder, stem);
    wick_status *status = has_tensors ? wick_safetensors_open(p->runtime, path, &loop.tensors) : NULL;
    if (status)
        print_status(path, status);
    else
        path = arena_format(&memory, "%s/%s.jsonl", p->options.folder, stem);
    bool ok = !status && each_line(path, run_line, &loop);
    wick_safetensors_close(loop.tensors);
    arena_free(&memory);
    return ok;
}

/* ---- operators and functions: an index, and two files for each name ---- */
typedef struct index_loop {
    parity *p;
    const char *folder; /* and field of the index: "ops" has "op" */
    const char *field;
    case_fn run;
} index_loop;

static bool run_index_line(void *user, json_t *json) {
    const index_loop *loop = user;
    const char *name = json_string_value(json_object_get(json, loop->field));
    if (!name || !selected(loop->p, name)) return true;
    char stem[256];
    snprintf(stem, sizeof stem, "%s/%s", loop->folder, name);
    return each_case(loop->p, stem, loop->field, true, loop->run);
}

bool each_indexed(parity *p, const char *index, const char *folder, const char *field, case_fn run) {
    index_loop loop = {p, folder, field, run};
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", p->options.folder, index);
    return each_line(path, run_index_line, &loop);
}

static void run_op(parity_case *k) {
    const wick_op *op = wick_op_find(k->p->runtime, k->name);
    if (op)
        run_case(k, op);
    else
        report_unsupported(k);
}

bool section_ops(parity *p) { return each_indexed(p, "index.jsonl", "ops", "op", run_op); }
