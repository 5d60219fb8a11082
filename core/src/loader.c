#include "loader.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config_file.h"
#include "elf_image.h"
#include "isolate.h"
#include "runtime.h"
#include "search.h"

#define ENTRY "wick_plugin_query"
#define SECTION_PREFIX LOADER_SECTION_PREFIX
/* Within a 0.x major every minor is an ABI of its own. */
#define ABI_MINOR_MIN (WICK_ABI_MAJOR == 0 ? WICK_ABI_MINOR : 0)

/* In the order of fallback_policy. */
#define POLICIES "error|warn|cpu"

#define PLUGIN_KEYS                                                                                                \
    {SECTION_PREFIX "*", "path", WICK_CONFIG_PATH, NULL, "the shared object; missing: NAME.so where plugins are"}, \
        {SECTION_PREFIX "*", "enabled", WICK_CONFIG_BOOL, NULL, "no: pass it over"},                               \
        {SECTION_PREFIX "*", "required", WICK_CONFIG_BOOL, NULL, "not ready is an error"},                         \
        {SECTION_PREFIX "*", "fallback", WICK_CONFIG_CHOICE, POLICIES, "an operator without a kernel"},            \
        {SECTION_PREFIX "*", "graphs", WICK_CONFIG_CHOICE, "off|auto", "training steps as one launch"},            \
        {SECTION_PREFIX "*", "isolate", WICK_CONFIG_BOOL, NULL, "try it in a child process first"}, {              \
        SECTION_PREFIX "*", "*", WICK_CONFIG_STRING, NULL, "the plugin's own"                                      \
    }

static const wick_config_key plugin_keys[] = {PLUGIN_KEYS};
static const wick_config_key all_keys[] = {{"runtime", "plugins", WICK_CONFIG_STRING, NULL,
                                            "plugins to load, in order, or auto; missing: every [plugin.NAME]"},
                                           PLUGIN_KEYS};

wick_config_schema wick_runtime_config_schema(void) {
    return (wick_config_schema){all_keys, (size_t)ARRAY_COUNT(all_keys)};
}

/* ---- one attempt ---- */
/* A created plugin: what must live until its destroy(). */
typedef struct plugin {
    wick_allocator memory;
    void (*destroy)(void *instance);
    void *instance;
    wick_registrar registrar;
} plugin;

typedef struct attempt {
    wick_runtime *runtime;
    const wick_allocator *memory;
    const wick_config_file *file;
    const char *name;
    char section[CONFIG_NAME_BYTES + sizeof SECTION_PREFIX];
    char path[PATH_MAX]; /* "" until found */
    text tried;
    text asked;
    text notes;
    elf_image elf; /* lent by `mapped`; only in step_elf and step_dlopen */
    const void *mapped;
    size_t mapped_bytes;
    wick_plugin_query_fn query;
    const wick_plugin_desc *desc;
    plugin *plugin;
    int device_type;
    int32_t device_count;
} attempt;

static wick_status *step_search(attempt *a) {
    char path[PATH_MAX];
    WICK_TRY(wick_config_path(a->file, a->section, "path", NULL, path, sizeof path));
    return search_plugin(path, a->name, &a->tried, a->path);
}

static wick_status *map_file(attempt *a) {
    int fd = open(a->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return WICK_ERROR(WICK_IO, "cannot open: %s", strerror(errno));
    struct stat info;
    wick_status *status = NULL;
    if (fstat(fd, &info))
        status = WICK_ERROR(WICK_IO, "fstat: %s", strerror(errno));
    else if (!S_ISREG(info.st_mode)) {
        status = WICK_ERROR(WICK_FAILED_PRECONDITION, "%s, wanted a file",
                            S_ISDIR(info.st_mode) ? "is a folder" : "is not a regular file");
    } else if (info.st_size > 0) {
        void *mapped = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (mapped == MAP_FAILED)
            status = WICK_ERROR(WICK_IO, "mmap: %s", strerror(errno));
        else
            a->mapped = mapped, a->mapped_bytes = (size_t)info.st_size;
    }
    close(fd);
    return status;
}

static wick_status *step_elf(attempt *a) {
    static const elf_rules rules = {ENTRY, "wick_", WICK_SANITIZER};
    WICK_TRY(map_file(a));
    WICK_TRY(elf_open(a->mapped, a->mapped_bytes, &a->elf));
    return elf_check(&a->elf, &rules);
}

static wick_status *step_isolate(attempt *a) {
    bool isolate;
    WICK_TRY(wick_config_bool(a->file, a->section, "isolate", false, &isolate));
    return isolate ? isolate_probe(a->file, a->memory, a->name, a->path) : NULL;
}

/* The needed library that the dynamic linker's text complains about; NULL if none. */
static const char *missing_library(const attempt *a, const char *complaint) {
    const char *name;
    for (uint64_t i = 0; !elf_needed_at(&a->elf, i, &name) && name; ++i) {
        size_t length = strlen(name);
        if (strncmp(complaint, name, length) == 0 && complaint[length] == ':') return name;
    }
    return NULL;
}

static wick_status *dlopen_error(const attempt *a) {
    const char *complaint = dlerror();
    if (!complaint) complaint = "unknown error of the dynamic linker";
    const char *library = missing_library(a, complaint);
    if (library) return WICK_ERROR(WICK_NOT_FOUND, "needs %s, which was not found (%s)", library, complaint);
    size_t length = strlen(a->path);
    if (strncmp(complaint, a->path, length) == 0 && complaint[length] == ':') complaint += length + 1;
    return WICK_ERROR(WICK_FAILED_PRECONDITION, "%s", complaint + strspn(complaint, " "));
}

/* Nothing is ever unmapped: threads, exit handlers and vendor runtimes may still point into it. */
static wick_status *step_dlopen(attempt *a) {
    void *handle = dlopen(a->path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) return dlopen_error(a);
    void *entry = dlsym(handle, ENTRY);
    if (!entry) return WICK_ERROR(WICK_FAILED_PRECONDITION, "does not export %s", ENTRY);
    memcpy(&a->query, &entry, sizeof entry);
    return NULL;
}

static wick_status *check_versions(const wick_plugin_desc *d) {
    if (d->abi_major != WICK_ABI_MAJOR || d->abi_minor < ABI_MINOR_MIN ||
        (WICK_ABI_MAJOR == 0 && d->abi_minor != WICK_ABI_MINOR)) {
        return WICK_ERROR(WICK_UNSUPPORTED, "ABI: got %u.%u, wanted %d.%d", d->abi_major, d->abi_minor, WICK_ABI_MAJOR,
                          WICK_ABI_MINOR);
    }
    if (d->host_abi_minor_min > WICK_ABI_MINOR) {
        return WICK_ERROR(WICK_UNSUPPORTED, "ABI: the plugin wants a host of %u.%u or newer, this one is %d.%d",
                          d->abi_major, d->host_abi_minor_min, WICK_ABI_MAJOR, WICK_ABI_MINOR);
    }
    if (d->sanitizer != WICK_SANITIZER) {
        static const char *const names[] = {"none", "address", "thread"};
        return WICK_ERROR(WICK_UNSUPPORTED, "sanitizer: got %s, wanted %s",
                          d->sanitizer < ARRAY_COUNT(names) ? names[d->sanitizer] : "unknown", names[WICK_SANITIZER]);
    }
    return NULL;
}

/* The descriptor's size comes first and its magic next: neither may be believed before the other was seen. */
static wick_status *check_descriptor(const wick_plugin_desc *d) {
    if (d->magic != WICK_PLUGIN_MAGIC) {
        return WICK_ERROR(WICK_FAILED_PRECONDITION, "descriptor: got magic 0x%08x, wanted 0x%08x", d->magic,
                          WICK_PLUGIN_MAGIC);
    }
    if (d->struct_size < offsetof(wick_plugin_desc, name)) {
        return WICK_ERROR(WICK_FAILED_PRECONDITION, "descriptor: got %u bytes, wanted %zu", d->struct_size, sizeof *d);
    }
    WICK_TRY(check_versions(d));
    if (d->struct_size < offsetof(wick_plugin_desc, create) + sizeof d->create) {
        return WICK_ERROR(WICK_FAILED_PRECONDITION, "descriptor: got %u bytes, wanted %zu", d->struct_size, sizeof *d);
    }
    if (!d->create || !d->name) {
        return WICK_ERROR(WICK_FAILED_PRECONDITION, "descriptor: required slot %s is not set",
                          d->create ? "name" : "create");
    }
    return NULL;
}

static wick_status *step_query(attempt *a) {
    const wick_host_info info = {sizeof info, WICK_ABI_MAJOR, WICK_ABI_MINOR, ABI_MINOR_MIN, WICK_SANITIZER};
    const char *refusal = NULL;
    const wick_plugin_desc *desc = a->query(&info, &refusal);
    if (!desc) return WICK_ERROR(WICK_UNSUPPORTED, "the plugin refused: %s", refusal ? refusal : "it gave no reason");
    WICK_TRY(check_descriptor(desc));
    a->desc = desc;
    return NULL;
}

static bool is_asked(const attempt *a, const char *key) {
    size_t length = strlen(key);
    for (const char *at = text_get(&a->asked); *at; at = strchr(at, '\n') + 1) {
        if (strncmp(at, key, length) == 0 && at[length] == '\n') return true;
    }
    return false;
}

static bool is_loader_key(const char *key) {
    for (int i = 0; i < ARRAY_COUNT(plugin_keys); ++i) {
        if (strcmp(plugin_keys[i].key, key) == 0) return true;
    }
    return false;
}

static wick_status *unknown_plugin_key(attempt *a, const char *key) {
    nearest near = {.wanted = key};
    for (int i = 0; i < ARRAY_COUNT(plugin_keys); ++i) nearest_offer(&near, plugin_keys[i].key);
    char *at = a->asked.bytes;
    for (char *end; at && (end = strchr(at, '\n')) != NULL; at = end + 1) {
        *end = '\0';
        nearest_offer(&near, at);
    }
    const char *best = nearest_get(&near);
    return wick_config_error(a->file, a->section, key, "got unknown key%s%s", best ? ", nearest known is " : "",
                             best ? best : "");
}

/* A plugin asks for all of its keys while it is created; what it did not ask for, it does not know. */
static wick_status *check_own_keys(attempt *a) {
    if (a->asked.failed) return WICK_ERROR(WICK_OUT_OF_MEMORY, "out of memory");
    const char *key;
    for (size_t i = 0; (key = wick_config_key_at(a->file, a->section, i)) != NULL; ++i) {
        if (!is_loader_key(key) && !is_asked(a, key)) return unknown_plugin_key(a, key);
    }
    return NULL;
}

/* Also called at shutdown, as the runtime's last word to the plugin. */
static void end_plugin(void *user) {
    plugin *p = user;
    wick_allocator memory = p->memory;
    if (p->destroy) p->destroy(p->instance);
    registrar_end(&p->registrar);
    allocator_free(&memory, p);
}

static wick_status *step_create(attempt *a) {
    plugin *p = a->memory->allocate(a->memory->user, sizeof *p);
    if (!p) return WICK_ERROR(WICK_OUT_OF_MEMORY, "out of memory");
    *p = (plugin){.memory = *a->memory, .registrar = {.runtime = a->runtime, .memory = *a->memory, .open = true}};
    a->plugin = p;
    wick_config config = {a->file, a->section, &a->asked};
    WICK_TRY(a->desc->create(runtime_host_table(), &p->registrar, &config, &p->instance));
    p->registrar.open = false;
    if (WICK_HAS(a->desc, wick_plugin_desc, destroy)) p->destroy = a->desc->destroy;
    WICK_TRY(check_own_keys(a));
    return registrar_filled(&p->registrar) ? NULL : WICK_ERROR(WICK_FAILED_PRECONDITION, "create registered nothing");
}

/* `word` is one of POLICIES: the schema was checked. */
static int policy_of(const char *word) {
    const char *found = strstr(POLICIES, word);
    int policy = FALLBACK_ERROR;
    for (const char *c = POLICIES; c < found; ++c) policy += *c == '|';
    return policy;
}

static wick_status *step_probe(attempt *a) {
    int policy = policy_of(wick_config_string(a->file, a->section, "fallback", "error"));
    a->plugin->registrar.graphs = !strcmp(wick_config_string(a->file, a->section, "graphs", "off"), "auto");
    return registrar_publish(&a->plugin->registrar, a->name, policy, &a->notes, &a->device_type, &a->device_count);
}

static const struct step {
    const char *stage;
    wick_status *(*run)(attempt *a);
    wick_backend_state failed;  /* what the backend is if this fails ... */
    wick_backend_state no_luck; /* ... with UNAVAILABLE */
} steps[] = {
    {"search", step_search, WICK_BACKEND_ABSENT, WICK_BACKEND_ABSENT},
    {"elf", step_elf, WICK_BACKEND_FOUND, WICK_BACKEND_FOUND},
    {"isolate", step_isolate, WICK_BACKEND_REFUSED, WICK_BACKEND_REFUSED},
    {"dlopen", step_dlopen, WICK_BACKEND_FOUND, WICK_BACKEND_FOUND},
    {"query", step_query, WICK_BACKEND_REFUSED, WICK_BACKEND_REFUSED},
    {"create", step_create, WICK_BACKEND_REFUSED, WICK_BACKEND_NO_DEVICE},
    {"probe", step_probe, WICK_BACKEND_REFUSED, WICK_BACKEND_NO_DEVICE},
};
#define STEP_QUERY 4 /* where a static plugin starts */

/* ---- the outcome ---- */
/* The status and its causes in one line. */
static void print_reason(text *out, const wick_status *status) {
    size_t start = out->length;
    for (const wick_status *s = status; s; s = wick_status_cause(s)) {
        text_print(out, "%s%s", s == status ? "" : ": ", wick_status_message(s));
    }
    for (size_t i = start; i < out->length; ++i) {
        if ((unsigned char)out->bytes[i] < ' ') out->bytes[i] = ' ';
    }
}

static void record(attempt *a, wick_backend_state state, const char *stage, const wick_status *status) {
    text reason = {.memory = a->memory};
    print_reason(&reason, status);
    if (status && a->path[0])
        text_print(&a->tried, "%s%s: %s", a->tried.length ? "\n" : "", a->path, text_get(&reason));
    const wick_backend_info info = {
        .struct_size = sizeof info,
        .state = state,
        .name = a->name,
        .device = a->plugin ? a->plugin->registrar.device_name : "",
        .path = a->path,
        .version = a->desc && a->desc->version ? a->desc->version : "",
        .stage = stage,
        .reason = reason.failed ? "out of memory" : text_get(&reason),
        .tried = text_get(&a->tried),
        .notes = text_get(&a->notes),
        .device_type = state == WICK_BACKEND_READY ? a->device_type : 0,
        .device_count = state == WICK_BACKEND_READY ? a->device_count : 0,
    };
    runtime_record_backend(a->runtime, &info);
    text_free(&reason);
}

static void end_attempt(attempt *a) {
    if (a->mapped) munmap((void *)a->mapped, a->mapped_bytes);
    text_free(&a->tried);
    text_free(&a->asked);
    text_free(&a->notes);
}

/* Runs the steps from `first`, records the outcome and leaves nothing behind on failure. */
static wick_status *run_attempt(attempt *a, int first) {
    wick_status *status = NULL;
    int i = first;
    while (i < ARRAY_COUNT(steps) && (status = steps[i].run(a)) == NULL) ++i;
    if (!status) {
        record(a, WICK_BACKEND_READY, "ready", NULL);
        runtime_on_shutdown(a->runtime, end_plugin, a->plugin);
    } else {
        bool no_luck = wick_status_code(status) == WICK_UNAVAILABLE;
        record(a, no_luck ? steps[i].no_luck : steps[i].failed, steps[i].stage, status);
        if (a->plugin) end_plugin(a->plugin);
        status = wick_status_wrap(status, __FILE__, __LINE__, SECTION_PREFIX "%s: %s%s%s", a->name, steps[i].stage,
                                  a->path[0] ? ": " : "", a->path);
    }
    end_attempt(a);
    return status;
}

static void begin_attempt(attempt *a, wick_runtime *runtime, const wick_config_file *file, const char *name) {
    const wick_allocator *memory = runtime_allocator(runtime);
    *a = (attempt){.runtime = runtime, .memory = memory, .file = file, .name = name};
    a->tried.memory = a->asked.memory = a->notes.memory = memory;
    snprintf(a->section, sizeof a->section, SECTION_PREFIX "%s", name);
}

static bool is_ready(wick_runtime *runtime, const char *name) {
    const wick_backend_info *info;
    for (int i = 0; (info = wick_runtime_backend(runtime, i)) != NULL; ++i) {
        if (info->state == WICK_BACKEND_READY && strcmp(info->name, name) == 0) return true;
    }
    return false;
}

wick_status *loader_load(wick_runtime *runtime, const wick_config_file *file, const char *name, bool named) {
    attempt a;
    bool required;
    if (is_ready(runtime, name)) return NULL;
    begin_attempt(&a, runtime, file, name);
    WICK_TRY(wick_config_bool(file, a.section, "required", named, &required));
    wick_status *status = run_attempt(&a, 0);
    if (!status || required || wick_status_code(status) == WICK_OUT_OF_MEMORY) return status;
    wick_status_free(status);
    return NULL;
}

wick_status *loader_load_static(wick_runtime *runtime, const wick_config_file *file, const char *name,
                                wick_plugin_query_fn query) {
    attempt a;
    if (is_ready(runtime, name)) return WICK_ERROR(WICK_FAILED_PRECONDITION, "backend %s is loaded already", name);
    begin_attempt(&a, runtime, file, name);
    snprintf(a.path, sizeof a.path, "(static)");
    a.query = query;
    return run_attempt(&a, STEP_QUERY);
}

wick_status *loader_check(const wick_config_file *file) {
    const wick_config_schema schema = {plugin_keys, (size_t)ARRAY_COUNT(plugin_keys)};
    return wick_config_check(file, &schema, 1, WICK_CONFIG_ALLOW_SECTIONS);
}
