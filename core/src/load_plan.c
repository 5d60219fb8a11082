/* Which backends to load: what a configuration names, in which order. How one is loaded is loader.c's. */
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "config_file.h"
#include "loader.h"
#include "runtime.h"
#include "search.h"

typedef struct planned {
    char name[CONFIG_NAME_BYTES];
    bool named; /* by the file, not only found by `auto` */
} planned;

typedef struct plan {
    const wick_allocator *memory;
    planned *items;
    size_t count, capacity;
} plan;

static planned *plan_find(const plan *p, const char *name) {
    for (size_t i = 0; i < p->count; ++i) {
        if (strcmp(p->items[i].name, name) == 0) return &p->items[i];
    }
    return NULL;
}

/* Appends a valid name unless it is there. */
static wick_status *plan_add(plan *p, const char *name, bool named) {
    planned *earlier = plan_find(p, name);
    if (earlier) {
        earlier->named |= named;
        return NULL;
    }
    void *items = p->items;
    bool room = allocator_grow(p->memory, &items, &p->capacity, p->count, sizeof *p->items);
    p->items = items;
    if (!room) return WICK_ERROR(WICK_OUT_OF_MEMORY, "out of memory");
    planned *item = &p->items[p->count++];
    snprintf(item->name, sizeof item->name, "%s", name);
    item->named = named;
    return NULL;
}

/* Names separated by commas or blanks. */
static wick_status *plan_list(plan *p, const wick_config_file *file, const char *list) {
    static const char separators[] = ", \t\n";
    for (const char *at = list + strspn(list, separators); *at; at += strspn(at, separators)) {
        size_t length = strcspn(at, separators);
        char name[CONFIG_NAME_BYTES];
        if (!config_name_valid(at, length, false)) {
            return wick_config_error(file, "runtime", "plugins", "got \"%.*s\", wanted names of plugins, or auto",
                                     (int)(length < 40 ? length : 40), at);
        }
        memcpy(name, at, length);
        name[length] = '\0';
        WICK_TRY(plan_add(p, name, true));
        at += length;
    }
    return NULL;
}

/* Every [plugin.NAME] in file order. */
static wick_status *plan_sections(plan *p, const wick_config_file *file) {
    const size_t prefix = strlen(LOADER_SECTION_PREFIX);
    const char *section;
    for (size_t i = 0; (section = wick_config_section_at(file, i)) != NULL; ++i) {
        if (strncmp(section, LOADER_SECTION_PREFIX, prefix) != 0) continue;
        if (!config_name_valid(section + prefix, strlen(section + prefix), false)) {
            return WICK_ERROR(WICK_INVALID_ARGUMENT, "%s: [%s]: got \"%s\", wanted a plugin's name without '.'",
                              wick_config_name(file), section, section + prefix);
        }
        WICK_TRY(plan_add(p, section + prefix, true));
    }
    return NULL;
}

static wick_status *plan_installed(plan *p, text *folders) {
    text names = {.memory = p->memory};
    wick_status *status = search_installed(&names, folders);
    char *at = names.bytes;
    for (char *end; !status && at && (end = strchr(at, '\n')) != NULL; at = end + 1) {
        *end = '\0';
        if (config_name_valid(at, (size_t)(end - at), false)) status = plan_add(p, at, false);
    }
    text_free(&names);
    return status;
}

/* `folders`: where `auto` looked. */
static wick_status *plan_make(plan *p, const wick_config_file *file, text *folders) {
    const char *plugins = wick_config_string(file, "runtime", "plugins", NULL);
    if (!plugins) return plan_sections(p, file);
    if (strcmp(plugins, "auto") != 0) return plan_list(p, file, plugins);
    WICK_TRY(plan_installed(p, folders));
    return plan_sections(p, file);
}

/* Drops what the file disables. */
static wick_status *plan_filter(plan *p, const wick_config_file *file) {
    size_t kept = 0;
    for (size_t i = 0; i < p->count; ++i) {
        char section[CONFIG_NAME_BYTES + sizeof LOADER_SECTION_PREFIX];
        bool enabled;
        snprintf(section, sizeof section, LOADER_SECTION_PREFIX "%s", p->items[i].name);
        WICK_TRY(wick_config_bool(file, section, "enabled", true, &enabled));
        if (enabled) p->items[kept++] = p->items[i];
    }
    p->count = kept;
    return NULL;
}

static wick_status *nothing_planned(const wick_config_file *file, const text *folders) {
    if (folders->length) {
        return WICK_ERROR(WICK_FAILED_PRECONDITION, "%s: no backend: plugins = auto found none in %s",
                          wick_config_name(file), text_get(folders));
    }
    return WICK_ERROR(WICK_FAILED_PRECONDITION, "no backend: %s names none; add [plugin.NAME] or plugins = auto",
                      wick_config_name(file));
}

/* A runtime without any backend is of no use to anybody. */
static wick_status *check_any_ready(wick_runtime *runtime, const wick_config_file *file) {
    text reasons = {.memory = runtime_allocator(runtime)};
    const wick_backend_info *info;
    bool ready = false;
    for (int i = 0; (info = wick_runtime_backend(runtime, i)) != NULL; ++i) {
        ready |= info->state == WICK_BACKEND_READY;
        text_print(&reasons, "%s%s: %s: %s", i ? "; " : "", info->name, info->stage, info->reason);
    }
    wick_status *status = ready ? NULL
                                : WICK_ERROR(WICK_FAILED_PRECONDITION, "%s: no backend is ready: %s",
                                             wick_config_name(file), text_get(&reasons));
    text_free(&reasons);
    return status;
}

/* Tries all, so that all are reported; the first error counts. */
static wick_status *plan_run(const plan *p, wick_runtime *runtime, const wick_config_file *file) {
    wick_status *first = NULL;
    for (size_t i = 0; i < p->count; ++i) {
        wick_status *status = loader_load(runtime, file, p->items[i].name, p->items[i].named);
        if (first)
            wick_status_free(status);
        else
            first = status;
    }
    return first ? first : check_any_ready(runtime, file);
}

/* `[runtime] device = NAME`: if no plugin so far has such a device, the plugin of that name is tried. */
static wick_status *load_device(wick_runtime *runtime, const wick_config_file *file) {
    const char *device = wick_config_string(file, "runtime", "device", "");
    size_t length = strcspn(device, ":");
    char name[CONFIG_NAME_BYTES];
    wick_device known;
    if (!config_name_valid(device, length, false)) return NULL;
    snprintf(name, sizeof name, "%.*s", (int)length, device);
    wick_status *status = wick_runtime_device(runtime, name, &known);
    if (!status) return NULL;
    wick_status_free(status);
    return loader_load(runtime, file, name, false);
}

wick_status *wick_runtime_load(wick_runtime *runtime, const wick_config_file *config) {
    WICK_TRY(loader_check(config));
    const wick_allocator *memory = runtime_allocator(runtime);
    plan p = {.memory = memory};
    text folders = {.memory = memory};
    wick_status *status = plan_make(&p, config, &folders);
    if (!status) status = plan_filter(&p, config);
    if (!status) status = p.count ? plan_run(&p, runtime, config) : nothing_planned(config, &folders);
    if (!status) status = load_device(runtime, config);
    allocator_free(memory, p.items);
    text_free(&folders);
    return status;
}

/* Without an INI: what is installed. */
static wick_status *load_installed(wick_runtime *runtime) {
    static const char text[] = "[runtime]\nplugins = auto\n";
    static const char name[] = "no INI file ($WICK_CONFIG, ./wick.ini, ~/.config/wick/wick.ini, /etc/wick/wick.ini)";
    wick_config_file *config = NULL;
    WICK_TRY(wick_config_parse(text, sizeof text - 1, name, runtime_allocator(runtime), &config));
    wick_status *status = wick_runtime_load(runtime, config);
    wick_config_free(config);
    return status;
}

wick_status *wick_runtime_load_default(wick_runtime *runtime, const char *ini_path) {
    char path[PATH_MAX];
    wick_config_file *config = NULL;
    WICK_TRY(wick_config_find(ini_path, path, sizeof path));
    if (!path[0]) return load_installed(runtime);
    WICK_TRY(wick_config_load(path, runtime_allocator(runtime), &config));
    wick_status *status = wick_runtime_load(runtime, config);
    wick_config_free(config);
    return status;
}

wick_status *wick_plugin_register_static(wick_runtime *runtime, const char *name, wick_plugin_query_fn query,
                                         const wick_config_file *config) {
    if (!query || !config_name_valid(name, strlen(name), false)) {
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "static plugin: got \"%.60s\" %s, wanted a name and a query function",
                          name, query ? "with a query function" : "without a query function");
    }
    wick_config_file *empty = NULL;
    if (!config) WICK_TRY(wick_config_parse("", 0, "(no INI file)", runtime_allocator(runtime), &empty));
    wick_status *status = config ? loader_check(config) : NULL;
    if (!status) status = loader_load_static(runtime, config ? config : empty, name, query);
    wick_config_free(empty);
    return status;
}
