/* wick info */
#include "cli.h"

static const char *state_name(wick_backend_state state) {
    static const char *const names[] = {"absent", "found", "refused", "no device", "ready"};
    return (unsigned)state < sizeof names / sizeof names[0] ? names[state] : "unknown";
}

static void print_device(wick_runtime *runtime, wick_device device) {
    wick_device_info info = {.struct_size = sizeof info};
    char name[64];
    wick_status *status = wick_device_query(runtime, device, &info);
    wick_device_format(runtime, device, name, sizeof name);
    if (status) {
        printf("  device %s: %s\n", name, wick_status_message(status));
        wick_status_free(status);
        return;
    }
    printf("  device %s: %s, %.1f GiB of memory, %.1f GiB free\n", name, info.name,
           (double)info.memory_bytes / (1 << 30), (double)info.memory_free_bytes / (1 << 30));
    if (*info.hardware_id) printf("    id %s\n", info.hardware_id);
    if (*info.features) printf("    features %s\n", info.features);
}

static void print_lines(const char *text) {
    while (*text) {
        size_t n = strcspn(text, "\n");
        printf("  tried %.*s\n", (int)n, text);
        text += n + (text[n] == '\n');
    }
}

static void print_backend(wick_runtime *runtime, const wick_backend_info *b, bool why) {
    printf("%s: %s", b->name, state_name(b->state));
    if (*b->version) printf(", version %s", b->version);
    printf("\n  path %s\n", *b->path ? b->path : "(none)");
    if (*b->reason) printf("  reason (at %s) %s\n", b->stage, b->reason);
    if (why) print_lines(b->tried);
    if (b->state != WICK_BACKEND_READY) return;
    for (int32_t i = 0; i < b->device_count; ++i)
        print_device(runtime, (wick_device){(int16_t)b->device_type, (int16_t)i});
}

int run_info(int argc, char **argv) {
    options o;
    char ini[PATH_BYTES] = "";
    wick_runtime *runtime = NULL;
    const wick_backend_info *backend;
    if (!parse_options("info", argc, argv, "wc", &o)) return EXIT_USAGE;
    if (argc > optind) return usage_error("info", "unknown argument '%s'", argv[optind]);
    wick_status *status = wick_config_find(o.config, ini, sizeof ini);
    if (!status) status = make_runtime(&runtime);
    if (!status) status = wick_runtime_load_default(runtime, *ini ? ini : NULL);
    printf("wick %s\nINI %s\n", WICK_VERSION_STRING,
           *ini ? ini : "(none: every plugin of the install folder is tried)");
    for (int i = 0; runtime && (backend = wick_runtime_backend(runtime, i)) != NULL; ++i)
        print_backend(runtime, backend, o.why);
    int code = report(status, EXIT_FAILED);
    if (runtime) wick_runtime_release(runtime);
    return code;
}
