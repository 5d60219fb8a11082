/* Loads tiny.so, whose path is the argument, and works on its device. */
#include <stdio.h>
#include <stdlib.h>
#include <wick/config.h>
#include <wick/ops.h>

static wick_status *load(wick_runtime *runtime, const char *path) {
    char ini[4096];
    wick_config_file *config = NULL;
    int bytes = snprintf(ini, sizeof ini, "[plugin.cpu]\n[plugin.tiny]\npath = %s\nfallback = cpu\n", path);
    if (bytes >= (int)sizeof ini) return WICK_ERROR(WICK_OUT_OF_RANGE, "the path is too long");
    WICK_TRY(wick_config_parse(ini, (size_t)bytes, "use_tiny.ini", NULL, &config));
    wick_status *status = wick_runtime_load(runtime, config);
    wick_config_free(config);
    return status;
}

/* neg is tiny's own, mul runs on the host in its place. */
static wick_status *run(wick_runtime *runtime, wick_context *c) {
    const float values[] = {1, 2, 3};
    wick_device tiny;
    char *text = NULL;
    WICK_TRY(wick_runtime_device(runtime, "tiny", &tiny));
    wick_scope scope = wick_scope_open(c);
    wick_tensor *x = wick_tensor_from_host(c, values, WICK_F32, 1, (wick_dim[]){3}, tiny);
    wick_tensor *y = wick_neg(c, wick_mul(c, x, x));
    if (!wick_failed(c) && !wick_fail(c, wick_tensor_to_string(c, y, &text))) puts(text);
    free(text);
    wick_scope_close(c, scope);
    return wick_status_take(c);
}

int main(int argc, char **argv) {
    wick_runtime *runtime = NULL;
    wick_context *c = NULL;
    if (argc != 2) return fprintf(stderr, "usage: use_tiny PATH-OF-tiny.so\n"), 2;
    wick_status *status = wick_runtime_create(NULL, &runtime);
    if (!status) status = load(runtime, argv[1]);
    if (!status) status = wick_context_create(runtime, &c);
    if (!status) status = run(runtime, c);
    if (status) fprintf(stderr, "use_tiny: %s\n", wick_status_message(status));
    int code = status ? 1 : 0;
    wick_status_free(status);
    wick_context_destroy(c);
    wick_runtime_release(runtime);
    return code;
}
