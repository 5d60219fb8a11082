/* Loading the plugin under test, alone or beside what computes the right results. */
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "runner.h"

#define INI_BYTES 16384

void plugin_name(const runner *r, char *buffer, size_t bytes) {
    const char *slash = strrchr(r->options->plugin, '/'), *file = slash ? slash + 1 : r->options->plugin;
    size_t n = strcspn(file, "."), limit = bytes - 1 < 40 ? bytes - 1 : 40;
    if (n > limit) n = limit;
    memcpy(buffer, file, n);
    buffer[n] = '\0';
    for (size_t i = 0; i < n; ++i)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-", buffer[i])) buffer[i] = '_';
    if (!n) snprintf(buffer, bytes, "plugin");
}

static void append(char *buffer, size_t bytes, const char *format, ...) WICK_PRINTF(3, 4);
static void append(char *buffer, size_t bytes, const char *format, ...) {
    size_t used = strlen(buffer);
    va_list list;
    va_start(list, format);
    vsnprintf(buffer + used, bytes - used, format, list);
    va_end(list);
}

/* True if lines of an INI set the key: keys are unique. */
static bool sets_key(const char *lines, const char *key, size_t length) {
    for (const char *s = lines; s && *s; s = strchr(s, '\n'), s += s != NULL)
        if (strncmp(s, key, length) == 0 && s[length] == ' ') return true;
    return false;
}

void plugin_ini(const runner *r, const char *name, const char *extra, char *buffer, size_t bytes) {
    char path[PATH_MAX];
    if (!realpath(r->options->plugin, path)) snprintf(path, sizeof path, "%s", r->options->plugin);
    append(buffer, bytes, "[plugin.%s]\npath = %s\nrequired = yes\n%s", name, path, extra);
    for (size_t i = 0; i < r->options->set_count; ++i) {
        const char *set = r->options->sets[i], *equals = strchr(set, '=');
        if (equals && !sets_key(extra, set, (size_t)(equals - set)))
            append(buffer, bytes, "%.*s = %s\n", (int)(equals - set), set, equals + 1);
    }
}

static wick_status *load_text(wick_runtime *runtime, const char *text) {
    wick_config_file *config = NULL;
    WICK_TRY(wick_config_parse(text, strlen(text), "wick check", NULL, &config));
    wick_status *status = wick_runtime_load(runtime, config);
    wick_config_free(config);
    return status;
}

wick_status *plugin_load(const runner *r, const char *extra, wick_runtime **out) {
    char text[INI_BYTES] = "", name[64];
    *out = NULL;
    plugin_name(r, name, sizeof name);
    plugin_ini(r, name, extra, text, sizeof text);
    WICK_TRY(wick_runtime_create(NULL, out));
    return load_text(*out, text);
}

/* ---- for the modes that compute ---- */
static const wick_backend_info *info_of(const runner *r, const char *name) {
    const wick_backend_info *info;
    for (int i = 0; (info = wick_runtime_backend(r->runtime, i)) != NULL; ++i)
        if (strcmp(info->name, name) == 0) return info;
    return NULL;
}

static void tell_device(runner *r, const wick_backend_info *info) {
    wick_device_info device = {.struct_size = sizeof device};
    wick_status *status = wick_device_query(r->runtime, r->device, &device);
    check_device(r, info->version, info->device, status ? "" : device.name);
    wick_status_free(status);
}

static bool find_devices(runner *r, const char *name) {
    const wick_backend_info *info = info_of(r, name);
    if (!info || info->state != WICK_BACKEND_READY) {
        check_fail(r, "open", "", "%s: %s", info ? info->stage : "search",
                   info ? info->reason : "the plugin is absent");
        return false;
    }
    if (info->device_type == WICK_DEVICE_TYPE_NONE) {
        check_device(r, info->version, "", "");
        check_note(r, "open", "", "the plugin registers no device: there is nothing to run here");
        return false;
    }
    r->device = (wick_device){(int16_t)info->device_type, 0};
    r->device_count = info->device_count;
    r->host = wick_runtime_host(r->runtime);
    tell_device(r, info);
    if (r->host.type) return true;
    check_fail(r, "open", "", "no plugin with the host role is loaded: there is nothing to compare with");
    return false;
}

static wick_status *open_runtime(runner *r, const char *name, const char *extra) {
    char text[INI_BYTES] = "";
    const char *against = r->options->against ? r->options->against : "cpu";
    if (strcmp(against, name) != 0) append(text, sizeof text, "[plugin.%s]\nrequired = yes\n", against);
    plugin_ini(r, name, extra, text, sizeof text);
    WICK_TRY(wick_runtime_create(NULL, &r->runtime));
    WICK_TRY(load_text(r->runtime, text));
    return wick_context_create(r->runtime, &r->c);
}

wick_status *plugin_open_with(runner *r, const char *extra) {
    char name[64];
    const wick_backend_info *info;
    plugin_name(r, name, sizeof name);
    WICK_TRY(open_runtime(r, name, extra));
    info = info_of(r, name);
    if (!info || info->device_type == WICK_DEVICE_TYPE_NONE)
        return WICK_ERROR(WICK_UNAVAILABLE, "the plugin registers no device");
    r->device = (wick_device){(int16_t)info->device_type, 0};
    return NULL;
}

bool plugin_open(runner *r) {
    char name[64], text[1024];
    plugin_name(r, name, sizeof name);
    wick_status *status = open_runtime(r, name, "");
    bool ok = !status;
    if (status) check_fail(r, "open", "", "%s", check_status_text(status, text, sizeof text));
    wick_status_free(status);
    if (ok && find_devices(r, name)) return true;
    plugin_close(r);
    return false;
}

void plugin_close(runner *r) {
    wick_context_destroy(r->c);
    if (r->runtime) wick_runtime_release(r->runtime);
    r->runtime = NULL, r->c = NULL;
}

const void *plugin_interface(const runner *r, const char *name, void **out_instance) {
    return wick_backend_interface(r->runtime, r->device.type, name, 1, out_instance);
}
