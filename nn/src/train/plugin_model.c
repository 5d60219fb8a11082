/* Models from plugins (wick/sdk/model.h) as modules. */
#include "plugin_model.h"

#include "module/module.h"

#include <wick/sdk/model.h>

#define SECTION "model"
#define NAME_LIMIT 256

/* Where tensor i of the model is: a plugin's names have dots, modules have children. */
typedef struct place {
    const wick_module *module;
    int index;
} place;

typedef struct plugin_model {
    const wick_model_interface *table;
    void *instance, *model;
    place *places;
    size_t count, capacity;
} plugin_model;

static plugin_model *payload(const wick_module *m) { return wick_module_payload(m); }

/* ---- the module ---- */
static wick_tensor *forward(wick_module *m, wick_context *c, wick_tensor *const *inputs, int n) {
    const plugin_model *p = payload(m);
    wick_tensor **tensors = calloc(p->count + 1, sizeof *tensors);
    if (!tensors) return FAIL(c, OUT_OF_MEMORY, "%s: no memory for the list of tensors", p->table->name), NULL;
    for (size_t i = 0; i < p->count; ++i) tensors[i] = wick_module_tensor(p->places[i].module, p->places[i].index);
    wick_tensor *y = p->table->forward(p->instance, p->model, c, tensors, inputs[0], wick_module_is_training(m));
    free(tensors);
    if (!y && !wick_failed(c))
        FAIL(c, INTERNAL, "model plugin %s: forward gave neither a result nor an error", p->table->name);
    return y;
}

static void destroy(wick_module *m) {
    plugin_model *p = payload(m);
    if (p->model) p->table->destroy(p->instance, p->model);
    free(p->places);
}

static void extra(const wick_module *m, char *buffer, size_t bytes) {
    snprintf(buffer, bytes, "%s", payload(m)->table ? payload(m)->table->name : "");
}

static const wick_module_class model_class = {sizeof model_class, "PluginModel", forward, destroy, extra};

static wick_tensor *no_forward(wick_module *m, wick_context *c, wick_tensor *const *inputs, int n) {
    return FAIL(c, UNSUPPORTED, "a part of a plugin's model cannot be called"), NULL;
}

static const wick_module_class part_class = {sizeof part_class, "Part", no_forward, NULL, NULL};

/* ---- its tensors ---- */
static wick_module *find_child(const wick_module *m, const char *name) {
    for (size_t i = 0; i < m->child_count; ++i)
        if (!strcmp(m->children[i].name, name)) return m->children[i].module;
    return NULL;
}

/* The module that "a.b.weight" is in, made if it is not there; *out_last is "weight". */
static wick_module *find_part(wick_context *c, wick_module *m, char *name, char **out_last) {
    char *dot;
    while (m && (dot = strchr(name, '.')) != NULL) {
        *dot = '\0';
        wick_module *child = find_child(m, name);
        if (!child && (child = wick_module_create(c, &part_class, 0)) != NULL && !wick_module_add(c, m, name, child))
            child = NULL;
        m = child, name = dot + 1;
    }
    *out_last = name;
    return m;
}

static bool add_tensor(wick_context *c, wick_module *m, const wick_model_tensor *t) {
    plugin_model *p = payload(m);
    char name[NAME_LIMIT], *last;
    if (strlen(t->name) >= sizeof name)
        return !FAIL(c, OUT_OF_RANGE, "model plugin %s: the name of a tensor has more than %d bytes", p->table->name,
                     NAME_LIMIT - 1);
    if (!t->tensor != ((t->flags & WICK_MODEL_ABSENT) != 0))
        return !FAIL(c, INTERNAL, "model plugin %s: tensor '%s' is NULL without being absent, or the reverse",
                     p->table->name, t->name);
    strcpy(name, t->name);
    wick_module *part = find_part(c, m, name, &last);
    if (!part) return false;
    if (!grow((void **)&p->places, &p->capacity, p->count, sizeof *p->places))
        return !FAIL(c, OUT_OF_MEMORY, "model plugin %s: no memory for a tensor", p->table->name);
    p->places[p->count++] = (place){part, (int)part->slot_count};
    if (t->flags & WICK_MODEL_BUFFER)
        return wick_module_add_buffer(c, part, last, t->tensor, !(t->flags & WICK_MODEL_TRANSIENT));
    return wick_module_add_parameter(c, part, last, t->tensor);
}

/* True if there are more. */
static bool next_tensor(wick_context *c, wick_module *m) {
    const plugin_model *p = payload(m);
    wick_model_tensor t = {.struct_size = sizeof t};
    wick_scope scope = wick_scope_open(c);
    bool ok = p->table->tensor(p->instance, p->model, c, p->count, &t);
    if (!ok && !wick_failed(c))
        FAIL(c, INTERNAL, "model plugin %s: tensor %zu gave neither a result nor an error", p->table->name, p->count);
    ok = ok && t.name && add_tensor(c, m, &t);
    wick_scope_close(c, scope);
    return ok;
}

/* Names the line of the INI. */
static void blame(wick_context *c, const wick_config_file *config, const plugin_model *p) {
    wick_status *cause = wick_status_take(c);
    wick_fail(c, wick_config_error(config, SECTION, "plugin", "tensor %zu of the model %s: %s", p->count,
                                   p->table->name, wick_status_message(cause)));
    wick_status_free(cause);
}

/* ---- finding and checking the plugin ---- */
static bool known_key(const wick_model_interface *table, const char *key) {
    if (!strcmp(key, "input") || !strcmp(key, "plugin")) return true;
    for (uint64_t i = 0; i < table->key_count; ++i)
        if (!strcmp(table->keys[i].key, key)) return true;
    return false;
}

static wick_status *check_keys(const wick_config_file *config, const wick_model_interface *table) {
    const char *key;
    for (size_t i = 0; (key = wick_config_key_at(config, SECTION, i)) != NULL; ++i)
        if (!known_key(table, key))
            return wick_config_error(config, SECTION, key, "the model %s has no such key", table->name);
    return NULL;
}

static wick_status *find_table(wick_runtime *runtime, const wick_config_file *config, const char *plugin,
                               plugin_model *out) {
    char feature[NAME_LIMIT];
    snprintf(feature, sizeof feature, WICK_MODEL_FEATURE("%s"), plugin);
    out->table = wick_feature(runtime, feature, WICK_MODEL_VERSION, &out->instance);
    if (!out->table)
        return wick_config_error(config, SECTION, "plugin",
                                 "no plugin has published the model '%s'; is [plugin.%s] there and ready?", plugin,
                                 plugin);
    const wick_model_interface *t = out->table;
    if (t->struct_size < sizeof *t || !t->name || !t->create || !t->tensor || !t->forward || !t->destroy)
        return wick_config_error(config, SECTION, "plugin", "the table of model '%s' is not complete", plugin);
    return check_keys(config, t);
}

wick_module *plugin_model_create(wick_context *c, const wick_config_file *config, int ndim, const wick_dim *sizes) {
    const char *plugin = wick_config_string(config, SECTION, "plugin", "");
    const wick_model_request request = {sizeof request, ndim, sizes, config};
    plugin_model found = {NULL};
    if (wick_failed(c) || wick_fail(c, find_table(wick_context_runtime(c), config, plugin, &found))) return NULL;
    wick_module *m = wick_module_create(c, &model_class, sizeof found);
    if (!m) return NULL;
    *payload(m) = found;
    if (!found.table->create(found.instance, c, &request, &payload(m)->model) && !wick_failed(c))
        FAIL(c, INTERNAL, "model plugin %s: create gave neither a model nor an error", plugin);
    const bool created = !wick_failed(c);
    while (!wick_failed(c) && next_tensor(c, m)) continue;
    if (!wick_failed(c)) return m;
    if (created) blame(c, config, payload(m));
    wick_module_release(m);
    return NULL;
}
