/* What the tests of file formats share: statuses, scratch files, a context on the host backend. */
#ifndef FILES_TEST_H
#define FILES_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wick/config.h>
#include <wick/context.h>

static inline void expect_ok(wick_status *status) {
    if (status) fail_msg("%s [%s]", wick_status_message(status), wick_status_origin(status));
}

/* Fails unless `status` has the code and its message holds `text`; frees it. */
static inline void expect_error(wick_status *status, wick_code code, const char *text) {
    if (!status) fail_msg("no error; want '%s'", text);
    if (!strstr(wick_status_message(status), text)) fail_msg("got '%s', want '%s'", wick_status_message(status), text);
    if (wick_status_code(status) != code)
        fail_msg("'%s': got %s, want %s", text, wick_code_text(wick_status_code(status)), wick_code_text(code));
    wick_status_free(status);
}

/* ---- a scratch folder per program ---- */
static char scratch_folder[64];

static inline int scratch_setup(void **state) {
    strcpy(scratch_folder, "/tmp/wick-test-XXXXXX");
    return mkdtemp(scratch_folder) ? 0 : -1;
}

static inline const char *scratch_path(const char *name) {
    static char paths[4][512];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", scratch_folder, name);
    return path;
}

/* Number of files; removes them if asked to. */
static inline int scratch_files(bool clear) {
    int count = 0;
    DIR *folder = opendir(scratch_folder);
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
        if (clear) unlink(scratch_path(entry->d_name));
        ++count;
    }
    closedir(folder);
    return count;
}

static inline int scratch_teardown(void **state) {
    scratch_files(true);
    return rmdir(scratch_folder);
}

static inline void write_bytes(const char *path, const void *data, size_t bytes) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

/* The contents, to be freed, with a NUL behind them. */
static inline char *read_bytes(const char *path, size_t *out_bytes) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char *data = calloc(1, 1 << 20);
    assert_non_null(data);
    *out_bytes = fread(data, 1, (1 << 20) - 1, file);
    fclose(file);
    return data;
}

/* ---- a context ---- */
typedef struct fixture {
    wick_runtime *rt;
    wick_context *c;
    wick_scope scope;
} fixture;

static inline fixture fixture_open(void) {
    static const char ini[] = "[plugin.cpu]\n";
    fixture f = {0};
    wick_config_file *config = NULL;
    expect_ok(wick_runtime_create(NULL, &f.rt));
    expect_ok(wick_config_parse(ini, sizeof ini - 1, "test.ini", NULL, &config));
    expect_ok(wick_runtime_load(f.rt, config));
    wick_config_free(config);
    expect_ok(wick_context_create(f.rt, &f.c));
    f.scope = wick_scope_open(f.c);
    return f;
}

/* Everything must be gone with the scope. */
static inline void fixture_close(fixture *f) {
    expect_ok(wick_status_take(f->c));
    wick_scope_close(f->c, f->scope);
    wick_context_destroy(f->c);
    assert_int_equal(wick_runtime_live_objects(f->rt), 0);
    wick_runtime_release(f->rt);
}

#endif
