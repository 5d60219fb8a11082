/* Names through the tree: walks, printing, state_dict. */
#include "module.h"

#define NAME_BYTES 1024

/* ---- walks ---- */
typedef struct walk {
    wick_module_visit visit;
    void *user;
    char name[NAME_BYTES];
} walk;

/* Names longer than the buffer are cut. */
static size_t append_name(char *buffer, size_t used, const char *name, const char *end) {
    int n = snprintf(buffer + used, NAME_BYTES - used, "%s%s", name, end);
    return used + (size_t)n < NAME_BYTES ? used + (size_t)n : NAME_BYTES - 1;
}

static bool walk_module(walk *w, const wick_module *m, size_t used) {
    for (size_t i = 0; i < m->slot_count; ++i) {
        const module_slot *slot = &m->slots[i];
        if (!slot->tensor) continue;
        append_name(w->name, used, slot->name, "");
        const wick_module_entry entry = {sizeof entry, w->name, slot->tensor, slot->buffer, slot->persistent};
        if (!w->visit(w->user, &entry)) return false;
    }
    for (size_t i = 0; i < m->child_count; ++i)
        if (!walk_module(w, m->children[i].module, append_name(w->name, used, m->children[i].name, "."))) return false;
    return true;
}

bool wick_module_walk(const wick_module *m, wick_module_visit visit, void *user) {
    walk w = {.visit = visit, .user = user};
    return walk_module(&w, m, 0);
}

typedef struct search {
    const char *name;
    wick_tensor *found;
} search;

static bool find_visit(void *user, const wick_module_entry *entry) {
    search *s = user;
    if (!strcmp(entry->name, s->name)) s->found = entry->tensor;
    return !s->found;
}

wick_tensor *wick_module_find(const wick_module *m, const char *name) {
    search s = {name, NULL};
    wick_module_walk(m, find_visit, &s);
    return s.found;
}

typedef struct collection {
    const wick_module *root;
    wick_tensor **out;
    size_t capacity, count;
    int64_t elements;
    const char *until; /* the name of the entry that asks whether it came before */
    const wick_tensor *tensor;
} collection;

/* Ends the walk at the first parameter that is `tensor`: the entry itself, unless it came before. */
static bool first_visit(void *user, const wick_module_entry *entry) {
    collection *k = user;
    if (entry->buffer || entry->tensor != k->tensor) return true;
    k->until = strcmp(entry->name, k->until) ? NULL : k->until;
    return false;
}

static bool collect_visit(void *user, const wick_module_entry *entry) {
    collection *k = user;
    if (entry->buffer) return true;
    collection first = {.until = entry->name, .tensor = entry->tensor};
    wick_module_walk(k->root, first_visit, &first);
    if (!first.until) return true;
    if (k->count < k->capacity) k->out[k->count] = entry->tensor;
    k->count++;
    k->elements += entry->tensor->numel;
    return true;
}

size_t wick_module_parameters(const wick_module *m, wick_tensor **out, size_t capacity) {
    collection k = {.root = m, .out = out, .capacity = capacity};
    wick_module_walk(m, collect_visit, &k);
    return k.count;
}

int64_t wick_module_parameter_elements(const wick_module *m) {
    collection k = {.root = m};
    wick_module_walk(m, collect_visit, &k);
    return k.elements;
}

/* ---- printing ---- */
static void print_module(text *t, const wick_module *m, int depth) {
    char extra[512] = "";
    if (m->cls->extra) m->cls->extra(m, extra, sizeof extra);
    text_add(t, "%s(%s", m->cls->name, extra);
    for (size_t i = 0; i < m->child_count; ++i) {
        text_add(t, "\n%*s(%s): ", 2 * depth + 2, "", m->children[i].name);
        print_module(t, m->children[i].module, depth + 1);
    }
    if (m->child_count) text_add(t, "\n%*s", 2 * depth, "");
    text_add(t, ")");
}

wick_status *wick_module_to_string(const wick_module *m, char **out) {
    text t = {0};
    print_module(&t, m, 0);
    *out = t.data;
    if (!t.failed) return NULL;
    free(t.data);
    return WICK_ERROR(WICK_OUT_OF_MEMORY, "no memory to print a %s", m->cls->name);
}

/* ---- saving ---- */
typedef struct saving {
    wick_context *c;
    wick_state *state;
    const char *prefix;
} saving;

static bool save_visit(void *user, const wick_module_entry *entry) {
    saving *s = user;
    return !entry->persistent || wick_state_add(s->c, s->state, s->prefix, entry->name, entry->tensor);
}

bool wick_module_state(wick_context *c, const wick_module *m, const char *prefix, wick_state *state) {
    saving s = {c, state, prefix};
    return !wick_failed(c) && wick_module_walk(m, save_visit, &s);
}

wick_status *wick_module_save(wick_context *c, const wick_module *m, const char *path) {
    wick_state *state = NULL;
    WICK_TRY(wick_state_create(&state));
    wick_status *status = NULL;
    if (!wick_module_state(c, m, "", state)) status = wick_status_take(c);
    if (!status) status = wick_state_save(c, state, path);
    wick_state_free(state);
    return status;
}

/* ---- loading: first the names, then the tensors ---- */
typedef struct loading {
    wick_context *c;
    const wick_module *m;
    wick_safetensors *file;
    const char *prefix;
    wick_load_report *report;
} loading;

static bool report_name(wick_context *c, char ***names, size_t *count, const char *name) {
    char **grown = realloc(*names, (*count + 1) * sizeof **names);
    if (grown) *names = grown;
    if (!grown || !(grown[*count] = strdup(name))) return !FAIL(c, OUT_OF_MEMORY, "no memory for a load report");
    ++*count;
    return true;
}

static const wick_safetensors_info *find_in_file(const loading *l, const char *name) {
    char full[NAME_BYTES];
    append_name(full, 0, l->prefix, name);
    return wick_safetensors_find(l->file, full);
}

static bool check_visit(void *user, const wick_module_entry *entry) {
    const loading *l = user;
    char got[SHAPE_TEXT], wanted[SHAPE_TEXT];
    if (!entry->persistent) return true;
    const wick_safetensors_info *info = find_in_file(l, entry->name);
    const wick_tensor *t = entry->tensor;
    if (!info) return report_name(l->c, &l->report->missing, &l->report->missing_count, entry->name);
    if (info->ndim == t->ndim && !memcmp(info->sizes, t->sizes, sizeof *t->sizes * t->ndim)) return true;
    return !FAIL(l->c, INVALID_ARGUMENT, "%s: got shape %s, wanted %s", info->name,
                 shape_text(info->ndim, info->sizes, got), shape_text(t->ndim, t->sizes, wanted));
}

static bool is_persistent_name(const wick_module *m, const char *name);

static bool check_unexpected(const loading *l) {
    size_t length = strlen(l->prefix);
    const wick_safetensors_info *info;
    for (size_t i = 0; (info = wick_safetensors_at(l->file, i)) != NULL; ++i) {
        if (strncmp(info->name, l->prefix, length) != 0 || is_persistent_name(l->m, info->name + length)) continue;
        if (!report_name(l->c, &l->report->unexpected, &l->report->unexpected_count, info->name + length)) return false;
    }
    return true;
}

static bool persistent_visit(void *user, const wick_module_entry *entry) {
    search *s = user;
    if (entry->persistent && !strcmp(entry->name, s->name)) s->found = entry->tensor;
    return !s->found;
}
static bool is_persistent_name(const wick_module *m, const char *name) {
    search s = {name, NULL};
    return !wick_module_walk(m, persistent_visit, &s);
}

static bool copy_visit(void *user, const wick_module_entry *entry) {
    const loading *l = user;
    if (!entry->persistent || !find_in_file(l, entry->name)) return true;
    return wick_state_read(l->c, l->file, l->prefix, entry->name, entry->tensor);
}

static void add_names(text *t, const char *what, char **names, size_t n) {
    for (size_t i = 0; i < n; ++i) text_add(t, "%s%s", i ? ", " : what, names[i]);
}

static bool refuse(wick_context *c, const wick_load_report *r) {
    text t = {0};
    if (!r->missing_count && !r->unexpected_count) return false;
    add_names(&t, "missing: ", r->missing, r->missing_count);
    add_names(&t, r->missing_count ? "; unexpected: " : "unexpected: ", r->unexpected, r->unexpected_count);
    FAIL(c, INVALID_ARGUMENT, "the file does not fit the module: %s",
         t.failed ? "no memory to list the names" : t.data);
    free(t.data);
    return true;
}

bool wick_module_load_state(wick_context *c, wick_module *m, wick_safetensors *file, const char *prefix, unsigned flags,
                            wick_load_report *report) {
    wick_load_report own = WICK_LOAD_REPORT_INIT;
    loading l = {c, m, file, prefix, &own};
    bool ok = !wick_failed(c) && wick_module_walk(m, check_visit, &l) && check_unexpected(&l) &&
              ((flags & WICK_LOAD_PARTIAL) || !refuse(c, &own)) && wick_module_walk(m, copy_visit, &l);
    if (report)
        *report = own;
    else
        wick_load_report_free(&own);
    return ok;
}

bool wick_module_load(wick_context *c, wick_module *m, const char *path, unsigned flags, wick_load_report *report) {
    wick_safetensors *file = NULL;
    if (wick_failed(c) || wick_fail(c, wick_safetensors_open(wick_context_runtime(c), path, &file))) return false;
    bool ok = wick_module_load_state(c, m, file, "", flags, report);
    wick_safetensors_close(file);
    return ok;
}
