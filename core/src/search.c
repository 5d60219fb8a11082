#include "search.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- folders ---- */
/* The folder of libwick itself (or of the program that it is linked into), links resolved; false if unknown. */
static bool library_folder(char out[PATH_MAX]) {
    static const char anchor; /* any address of this file */
    Dl_info info;
    char path[PATH_MAX];
    if (!dladdr(&anchor, &info) || !info.dli_fname) return false;
    /* A program is known by argv[0], which proves nothing. */
    if (!realpath(info.dli_fname[0] == '/' ? info.dli_fname : "/proc/self/exe", path)) return false;
    char *slash = strrchr(path, '/');
    if (!slash || slash == path) return false;
    *slash = '\0';
    memcpy(out, path, (size_t)(slash - path) + 1);
    return true;
}

/* Places relative to libwick, then what the build was configured for. */
static const char *const install_folders[] = {
    "wick",
    "../lib/wick",
#ifdef WICK_PLUGIN_DIR
    WICK_PLUGIN_DIR,
#endif
};
static const char *const probe_files[] = {
    "wick/wick-probe",
    "../bin/wick-probe",
    "../libexec/wick/wick-probe",
#ifdef WICK_LIBEXEC_DIR
    WICK_LIBEXEC_DIR "/wick-probe",
#endif
};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* `place` as an absolute path; false if it does not fit or libwick's folder is unknown. */
static bool install_place(const char *place, char out[PATH_MAX]) {
    char folder[PATH_MAX];
    if (place[0] == '/') return snprintf(out, PATH_MAX, "%s", place) < PATH_MAX;
    return library_folder(folder) && snprintf(out, PATH_MAX, "%s/%s", folder, place) < PATH_MAX;
}

/* The folders in order: those of $WICK_PLUGIN_PATH, then the install folders. */
typedef struct folder_cursor {
    const char *environment; /* what is left of it; may be NULL */
    size_t install;
} folder_cursor;

static bool next_environment(folder_cursor *c, char out[PATH_MAX]) {
    while (c->environment && *c->environment) {
        size_t length = strcspn(c->environment, ":");
        int bytes = snprintf(out, PATH_MAX, "%.*s", (int)(length < PATH_MAX ? length : PATH_MAX), c->environment);
        c->environment += length + (c->environment[length] == ':');
        if (bytes > 0 && bytes < PATH_MAX) return true;
    }
    return false;
}

static bool next_folder(folder_cursor *c, char out[PATH_MAX]) {
    if (next_environment(c, out)) return true;
    while (c->install < COUNT(install_folders)) {
        if (install_place(install_folders[c->install++], out)) return true;
    }
    return false;
}

/* ---- plugins ---- */
/* True if there is something at `path`; *out is then its absolute path. */
static bool try_path(const char *path, text *tried, char out[PATH_MAX]) {
    if (realpath(path, out)) return true;
    text_print(tried, "%s%s: %s", tried->length ? "\n" : "", path, strerror(errno));
    return false;
}

static wick_status *not_found(const char *what, const text *tried) {
    if (tried->failed) return WICK_ERROR(WICK_OUT_OF_MEMORY, "out of memory");
    return WICK_ERROR(WICK_NOT_FOUND, "%s was not found", what);
}

static bool search_folders(const char *name, text *tried, char out[PATH_MAX]) {
    char folder[PATH_MAX], path[PATH_MAX];
    folder_cursor cursor = {secure_getenv("WICK_PLUGIN_PATH"), 0};
    while (next_folder(&cursor, folder)) {
        if (folder[0] != '/') {
            text_print(tried, "%s%s: passed over, not an absolute folder", tried->length ? "\n" : "", folder);
        } else if (snprintf(path, sizeof path, "%s/%s.so", folder, name) < (int)sizeof path &&
                   try_path(path, tried, out)) {
            return true;
        }
    }
    return false;
}

wick_status *search_plugin(const char *path, const char *name, text *tried, char out[PATH_MAX]) {
    char file[NAME_MAX + 1];
    if (path[0]) return try_path(path, tried, out) ? NULL : not_found(path, tried);
    if (search_folders(name, tried, out)) return NULL;
    snprintf(file, sizeof file, "%s.so", name);
    return not_found(file, tried);
}

/* ---- what is installed ---- */
#define INSTALLED_LIMIT 1024

typedef char installed_name[64];

typedef struct installed_list {
    const wick_allocator *memory;
    installed_name *names;
    size_t count, capacity;
} installed_list;

static bool add_installed(installed_list *list, const char *file) {
    size_t length = strlen(file);
    if (length < 4 || strcmp(file + length - 3, ".so") != 0 || length - 3 >= sizeof(installed_name)) return true;
    if (list->count >= INSTALLED_LIMIT) return true;
    void *names = list->names;
    bool room = allocator_grow(list->memory, &names, &list->capacity, list->count, sizeof(installed_name));
    list->names = names;
    if (!room) return false;
    memcpy(list->names[list->count], file, length - 3);
    list->names[list->count++][length - 3] = '\0';
    return true;
}

static int compare_names(const void *a, const void *b) { return strcmp(a, b); }

static bool list_folder(DIR *folder, installed_list *list) {
    bool fine = true;
    for (struct dirent *entry; fine && (entry = readdir(folder)) != NULL;) {
        if (entry->d_name[0] != '.') fine = add_installed(list, entry->d_name);
    }
    if (list->count) qsort(list->names, list->count, sizeof(installed_name), compare_names);
    return fine;
}

static DIR *open_installed(text *folders) {
    char path[PATH_MAX];
    DIR *folder = NULL;
    for (size_t i = 0; !folder && i < COUNT(install_folders); ++i) {
        if (!install_place(install_folders[i], path)) continue;
        text_print(folders, "%s%s", folders->length ? ", " : "", path);
        folder = opendir(path);
    }
    return folder;
}

wick_status *search_installed(text *names, text *folders) {
    installed_list list = {.memory = names->memory};
    DIR *folder = open_installed(folders);
    bool fine = !folder || list_folder(folder, &list);
    for (size_t i = 0; i < list.count; ++i) text_print(names, "%s\n", list.names[i]);
    allocator_free(list.memory, list.names);
    if (folder) closedir(folder);
    if (fine && !names->failed && !folders->failed) return NULL;
    return WICK_ERROR(WICK_OUT_OF_MEMORY, "out of memory");
}

wick_status *search_probe(text *tried, char out[PATH_MAX]) {
    const char *named = secure_getenv("WICK_PROBE");
    char path[PATH_MAX];
    if (named && named[0] == '/') return try_path(named, tried, out) ? NULL : not_found(named, tried);
    for (size_t i = 0; i < COUNT(probe_files); ++i) {
        if (install_place(probe_files[i], path) && try_path(path, tried, out)) return NULL;
    }
    return not_found("wick-probe", tried);
}
