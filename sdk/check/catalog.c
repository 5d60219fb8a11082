#include <stdlib.h>
#include <string.h>

#include "calls.h"

static size_t base_length(const char *name) { return strcspn(name, "."); }

static bool same_arguments(const subject *a, const subject *b, int n) {
    for (int i = 0; i < n; ++i)
        if (strcmp(a->args[i].name, b->args[i].name) != 0 || strcmp(a->args[i].type, b->args[i].type) != 0)
            return false;
    return true;
}

/* x_.over of x.over */
static bool is_inplace(const subject *v, const subject *f) {
    size_t n = base_length(f->info.name);
    return v->info.nargs == f->info.nargs && strncmp(v->info.name, f->info.name, n) == 0 && v->info.name[n] == '_' &&
           strcmp(v->info.name + n + 1, f->info.name + n) == 0 && same_arguments(v, f, f->info.nargs);
}

/* The arguments of the functional form, then its results. */
static bool is_out(const subject *v, const subject *f) {
    size_t n = base_length(f->info.name);
    if (v->info.nargs <= f->info.nargs || base_length(v->info.name) != n) return false;
    if (strncmp(v->info.name, f->info.name, n) != 0 || !same_arguments(v, f, f->info.nargs)) return false;
    for (int i = f->info.nargs; i < v->info.nargs; ++i)
        if (strncmp(v->args[i].name, "out", 3) != 0) return false;
    return v->info.nargs - f->info.nargs == f->info.nrets;
}

static bool read_subject(const wick_op *op, subject *out) {
    out->op = op;
    out->info.struct_size = sizeof out->info;
    wick_op_describe(op, &out->info);
    return schema_arguments(out->info.schema, out->args) == out->info.nargs && out->info.nrets <= CALL_RETS;
}

static size_t read_subjects(runner *r, subject *subjects) {
    size_t n = 0;
    const wick_op *op;
    for (int i = 0; (op = wick_op_at(r->runtime, i)) != NULL; ++i)
        if (read_subject(op, &subjects[n])) ++n;
    return n;
}

/* Operators are few enough to look at all pairs. */
static bool is_form_of_another(const catalog *c, const subject *v) {
    const char *name = v->info.name;
    bool may_be_inplace = name[base_length(name) - 1] == '_';
    bool may_be_out = v->info.nargs && strncmp(v->args[v->info.nargs - 1].name, "out", 3) == 0;
    for (size_t i = 0; i < c->subject_count && (may_be_inplace || may_be_out); ++i)
        if (&c->subjects[i] != v && (is_inplace(v, &c->subjects[i]) || is_out(v, &c->subjects[i]))) return true;
    return false;
}

static void add_family(catalog *c, const subject *functional) {
    family *f = &c->families[c->family_count++];
    *f = (family){functional, NULL, NULL};
    for (size_t i = 0; i < c->subject_count; ++i) {
        const subject *v = &c->subjects[i];
        if (v == functional) continue;
        if (!f->inplace && is_inplace(v, functional)) f->inplace = v;
        if (!f->out && is_out(v, functional)) f->out = v;
    }
}

bool catalog_make(runner *r, catalog *out) {
    size_t n = 0;
    while (wick_op_at(r->runtime, (int)n)) ++n;
    *out = (catalog){calloc(n + 1, sizeof *out->subjects), 0, calloc(n + 1, sizeof *out->families), 0};
    if (!out->subjects || !out->families) {
        check_fail(r, "operators", "", "out of memory");
        catalog_free(out);
        return false;
    }
    out->subject_count = read_subjects(r, out->subjects);
    for (size_t i = 0; i < out->subject_count; ++i)
        if (!is_form_of_another(out, &out->subjects[i])) add_family(out, &out->subjects[i]);
    return true;
}

void catalog_free(catalog *c) {
    free(c->subjects);
    free(c->families);
    *c = (catalog){0};
}

/* By name, so that it does not matter which other operators there are. */
static bool in_part(const check_options *o, const char *name) {
    uint32_t sum = 0;
    while (*name) sum = sum * 31 + (unsigned char)*name++;
    return !o->parts || sum % (uint32_t)o->parts == (uint32_t)o->part - 1;
}

bool family_is_selected(const runner *r, const family *f) {
    const char *only = r->options->only;
    if (!only) return in_part(r->options, f->functional->info.name);
    return strcmp(only, f->functional->info.name) == 0 || (f->inplace && strcmp(only, f->inplace->info.name) == 0) ||
           (f->out && strcmp(only, f->out->info.name) == 0);
}
