/* Mode load: the file, what it exports, how it answers, and that it can come and go. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "runner.h"

#define NO_SUCH_KEY "wick_check_no_such_key"

/* ---- the file ---- */
static void check_file(runner *r) {
    elf_facts f;
    const char *item = "file";
    elf_read(r->options->plugin, &f);
    if (!check_that(r, !f.problem[0], item, "ELF", "%s", f.problem)) return;
    check_that(r, f.shared_object, item, "kind", "it is no shared object");
    check_that(r, f.entries == 1 && f.exports == 1, item, "exports", "got %d: %s; wanted one symbol, wick_plugin_query",
               f.exports, f.export_names);
    check_that(r, f.undefined_wick == 0, item, "imports",
               "%d undefined wick symbols: %s; a plugin links nothing of wick", f.undefined_wick, f.undefined_names);
    check_note(r, item, "needs", "%s", f.needed ? f.needed_names : "no library");
}

/* ---- the descriptor ---- */
static wick_plugin_query_fn query_of(const runner *r, void **handle) {
    wick_plugin_query_fn query = NULL;
    *handle = dlopen(r->options->plugin, RTLD_NOW | RTLD_LOCAL);
    void *entry = *handle ? dlsym(*handle, "wick_plugin_query") : NULL;
    if (entry) memcpy(&query, &entry, sizeof query);
    return query;
}

/* Hosts of other versions get a reasoned refusal or the one descriptor there is, from which they see for themselves. */
static void check_hosts(runner *r, wick_plugin_query_fn query, const wick_plugin_desc *only) {
    const struct {
        const char *label;
        uint16_t major, minor;
    } hosts[] = {{"older host", WICK_ABI_MAJOR, WICK_ABI_MINOR - 1},
                 {"newer host", WICK_ABI_MAJOR, WICK_ABI_MINOR + 1},
                 {"host of another major", WICK_ABI_MAJOR + 1, 0}};
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; ++i) {
        const wick_host_info info = {sizeof info, hosts[i].major, hosts[i].minor, hosts[i].minor, WICK_SANITIZER, 0};
        const char *refusal = NULL;
        const wick_plugin_desc *desc = query(&info, &refusal);
        bool reasoned = refusal && refusal[0] && !strchr(refusal, '\n');
        check_that(r, desc ? desc == only : reasoned, "query", hosts[i].label,
                   desc ? "it answered with another descriptor, wanted the same one"
                        : "it refused without a reason of one line");
    }
}

static void check_fields(runner *r, const wick_plugin_desc *d) {
    check_that(r, d->struct_size >= sizeof *d, "query", "size", "got %u bytes, wanted %zu", d->struct_size, sizeof *d);
    check_that(r, d->name && d->name[0] && !strpbrk(d->name, " \t\n/"), "query", "name", "got \"%s\", wanted a word",
               d->name ? d->name : "");
    check_that(r, WICK_HAS(d, wick_plugin_desc, destroy), "query", "destroy",
               "there is no destroy: what create made is never freed");
    check_note(r, "query", "version", "\"%s\", built by: %s", d->version ? d->version : "", d->build ? d->build : "");
}

/* After the loader accepted it: nothing can crash here that did not crash in the isolated process. */
static void check_query(runner *r) {
    void *handle;
    const wick_host_info info = {sizeof info, WICK_ABI_MAJOR, WICK_ABI_MINOR, WICK_ABI_MINOR, WICK_SANITIZER, 0};
    const char *refusal = NULL;
    wick_plugin_query_fn query = query_of(r, &handle);
    if (!check_that(r, query != NULL, "query", "entry", "%s", handle ? "there is no wick_plugin_query" : dlerror()))
        return;
    const wick_plugin_desc *desc = query(&info, &refusal);
    if (!check_that(r, desc != NULL, "query", "this host", "it refused: %s", refusal ? refusal : "without a reason"))
        return;
    check_that(r, query(&info, &refusal) == desc, "query", "pure", "asked twice it gave two descriptors, wanted one");
    check_fields(r, desc);
    check_hosts(r, query, desc);
}

/* ---- states ---- */
/* True if the plugin is ready. */
static bool check_isolated(runner *r) {
    wick_runtime *runtime;
    wick_status *status = plugin_load(r, "isolate = yes\n", &runtime);
    const wick_backend_info *info = runtime ? wick_runtime_backend(runtime, 0) : NULL;
    bool ready = info && info->state == WICK_BACKEND_READY;
    if (ready)
        check_pass(r, "state", "");
    else if (info && info->state == WICK_BACKEND_NO_DEVICE)
        check_note(r, "state", "", "no device here: %s", info->reason);
    else
        check_fail(r, "state", info ? info->stage : "", "%s",
                   info     ? info->reason
                   : status ? wick_status_message(status)
                            : "the plugin is absent");
    wick_status_free(status);
    if (runtime) wick_runtime_release(runtime);
    return ready;
}

static void check_unknown_key(runner *r) {
    wick_runtime *runtime;
    char text[1024];
    wick_status *status = plugin_load(r, NO_SUCH_KEY " = 1\n", &runtime);
    check_status_text(status, text, sizeof text);
    check_that(r, status && strstr(text, NO_SUCH_KEY), "create", "unknown key",
               "the key " NO_SUCH_KEY " was %s%s, wanted a refusal that names it",
               status ? "refused with: " : "accepted", text);
    wick_status_free(status);
    if (runtime) wick_runtime_release(runtime);
}

/* Two sections on one file; they need two device names. */
static void check_twice(runner *r) {
    char text[16384] = "", reason[1024];
    wick_runtime *runtime = NULL;
    wick_config_file *config = NULL;
    plugin_ini(r, "wick_check_a", "device = wick_check_a\n", text, sizeof text);
    plugin_ini(r, "wick_check_b", "device = wick_check_b\n", text + strlen(text), sizeof text - strlen(text));
    wick_status *status = wick_config_parse(text, strlen(text), "wick check", NULL, &config);
    if (!status) status = wick_runtime_create(NULL, &runtime);
    if (!status) status = wick_runtime_load(runtime, config);
    check_status_text(status, reason, sizeof reason);
    if (strstr(reason, "unknown key"))
        check_note(r, "create", "two instances", "not tried: the plugin has no key `device` to name the second one");
    else
        check_that(r, !status, "create", "two instances", "%s", reason);
    wick_status_free(status);
    wick_config_free(config);
    if (runtime) wick_runtime_release(runtime);
}

static void check_cycles(runner *r) {
    int cycles = r->options->flags & CHECK_QUICK ? 3 : 20;
    for (int i = 0; i < cycles; ++i) {
        wick_runtime *runtime;
        char reason[1024];
        wick_status *status = plugin_load(r, "", &runtime);
        int64_t alive = runtime ? wick_runtime_live_objects(runtime) : 0;
        check_status_text(status, reason, sizeof reason);
        bool failed = status != NULL;
        wick_status_free(status);
        if (runtime) wick_runtime_release(runtime);
        if (!failed && !alive) continue;
        check_fail(r, "reload", "", "load %d of %d: %s, %lld objects alive", i + 1, cycles, reason, (long long)alive);
        return;
    }
    check_pass(r, "reload", "");
}

static void check_tables(runner *r) {
    if (!plugin_open(r)) return;
    check_interfaces(r);
    plugin_close(r);
}

static const struct {
    const char *item;
    void (*run)(runner *r);
} steps[] = {{"query", check_query},
             {"create with an unknown key", check_unknown_key},
             {"create twice", check_twice},
             {"load and shut down", check_cycles},
             {"interfaces", check_tables}};

void mode_load(runner *r) {
    if (check_begin(r, "file")) check_file(r);
    bool ready = !check_begin(r, "state") || check_isolated(r);
    for (size_t i = 0; ready && i < sizeof steps / sizeof steps[0]; ++i)
        if (check_begin(r, steps[i].item)) steps[i].run(r);
}
