/* wick/config.h: INI files, and loading the backends that they name.
 *
 * Format: `[section]`, `key = value` (or `key: value`), comments from `;` or `#` at the start of a line and from a `;`
 * after a blank. An indented line goes on with the value above it (joined by a newline) unless it reads `name =` or
 * `[name]`. Names are made of letters, digits, `_` and `-`, those of sections also of `.`; they have at most 49 bytes.
 * Values may be of any length, files at most 1 MiB. Sections and keys are unique, keys outside sections are errors.
 *
 * A wick_config_file is thread-compatible: any number of readers, or one writer. Every error is one line:
 * `FILE:LINE: what: got X, wanted Y`; the place of an overridden value is `--set`. */
#ifndef WICK_CONFIG_H
#define WICK_CONFIG_H

#include <wick/runtime.h>

typedef struct wick_config_file wick_config_file;
struct wick_plugin_desc; /* wick/sdk/plugin.h */
struct wick_host_info;

/* X(name, what is wanted) */
#define WICK_CONFIG_TYPES(X)                               \
    X(STRING, "text")                                      \
    X(INT, "an integer")                                   \
    X(DOUBLE, "a number")                                  \
    X(BOOL, "yes or no")                                   \
    X(PATH, "a path")                                      \
    X(INT_LIST, "integers, separated by commas or blanks") \
    X(CHOICE, "one of")

typedef enum wick_config_type {
#define WICK_CONFIG_TYPE_ENUM(name, wanted) WICK_CONFIG_##name,
    WICK_CONFIG_TYPES(WICK_CONFIG_TYPE_ENUM)
#undef WICK_CONFIG_TYPE_ENUM
} wick_config_type;

/* One known key. Several rows, of several tables, may speak of one section. */
typedef struct wick_config_key {
    const char *section; /* "train", or "plugin.*" for every section that starts with "plugin." */
    const char *key;     /* "*": any key */
    wick_config_type type;
    const char *choices; /* of CHOICE: "error|warn|cpu" */
    const char *doc;     /* one line */
} wick_config_key;

typedef struct wick_config_schema {
    const wick_config_key *keys;
    size_t count;
} wick_config_schema;

enum wick_config_check_flag {
    WICK_CONFIG_ALLOW_SECTIONS = 1 /* sections that no row speaks of are somebody else's: pass them over */
};

WICK_BEGIN_DECLS
/* ---- reading ---- */
/* Reads a file, or `bytes` of memory whose messages and relative paths go by `name`. `allocator` (NULL: malloc) is
 * copied and must work until the file is freed. The caller frees *out. IO, DATA_LOSS (not an INI), OUT_OF_MEMORY. */
WICK_API WICK_MUST_USE wick_status *wick_config_load(const char *path, const wick_allocator *allocator,
                                                     wick_config_file **out);
WICK_API WICK_MUST_USE wick_status *wick_config_parse(const char *text, size_t bytes, const char *name,
                                                      const wick_allocator *allocator, wick_config_file **out);
/* The INI that a program should use: `path` if not NULL, else $WICK_CONFIG, else the first that exists of ./wick.ini,
 * $XDG_CONFIG_HOME/wick/wick.ini (~/.config/wick/wick.ini) and /etc/wick/wick.ini. Copies the path to `buffer`, ""
 * if there is none. OUT_OF_RANGE if it does not fit. */
WICK_API WICK_MUST_USE wick_status *wick_config_find(const char *path, char *buffer, size_t bytes);
/* NULL is allowed. */
WICK_API void wick_config_free(wick_config_file *config);
/* The path or name it was read from. */
WICK_API const char *wick_config_name(const wick_config_file *config);

/* ---- checking and changing ---- */
/* Every section and key must be known and every value of its type; an unknown name comes with the nearest known. */
WICK_API WICK_MUST_USE wick_status *wick_config_check(const wick_config_file *config, const wick_config_schema *schemas,
                                                      size_t schema_count, unsigned flags);
/* Applies "section.key=value"; the key begins behind the last dot. "key=value" will do if only one section of the schemas
 * has such a key. Checked against the schemas (none: anything goes).
 * A relative path given here is relative to the current folder, not to the file's. */
WICK_API WICK_MUST_USE wick_status *wick_config_set(wick_config_file *config, const char *assignment,
                                                    const wick_config_schema *schemas, size_t schema_count);
/* Replaces every value that the schemas call a PATH by its absolute path, so that the text can be kept elsewhere. */
WICK_API WICK_MUST_USE wick_status *wick_config_resolve_paths(wick_config_file *config,
                                                              const wick_config_schema *schemas, size_t schema_count);
/* An INVALID_ARGUMENT about one value: "FILE:LINE: [section] key: " and the message. */
WICK_API WICK_MUST_USE wick_status *wick_config_error(const wick_config_file *config, const char *section,
                                                      const char *key, const char *format, ...) WICK_PRINTF(4, 5);

/* ---- values: a missing key gives the fallback, a malformed value INVALID_ARGUMENT ---- */
/* Lent until the value changes. */
WICK_API const char *wick_config_string(const wick_config_file *config, const char *section, const char *key,
                                        const char *fallback);
WICK_API WICK_MUST_USE wick_status *wick_config_int(const wick_config_file *config, const char *section,
                                                    const char *key, int64_t fallback, int64_t *out);
/* low <= value <= high; the fallback is not checked. */
WICK_API WICK_MUST_USE wick_status *wick_config_int_range(const wick_config_file *config, const char *section,
                                                          const char *key, int64_t fallback, int64_t low, int64_t high,
                                                          int64_t *out);
/* Finite. The decimal point is a point in every locale. */
WICK_API WICK_MUST_USE wick_status *wick_config_double(const wick_config_file *config, const char *section,
                                                       const char *key, double fallback, double *out);
/* yes, true, on, 1; no, false, off, 0. */
WICK_API WICK_MUST_USE wick_status *wick_config_bool(const wick_config_file *config, const char *section,
                                                     const char *key, bool fallback, bool *out);
/* The path, taken relative to the file's folder; the fallback (NULL: "") is copied as it is. */
WICK_API WICK_MUST_USE wick_status *wick_config_path(const wick_config_file *config, const char *section,
                                                     const char *key, const char *fallback, char *buffer, size_t bytes);
/* Up to `capacity` integers; *out_count is 0 if the key is missing. */
WICK_API WICK_MUST_USE wick_status *wick_config_int_list(const wick_config_file *config, const char *section,
                                                         const char *key, int64_t *out, size_t capacity,
                                                         size_t *out_count);

/* ---- the whole file ---- */
/* Names in file order, lent; NULL past the end. */
WICK_API const char *wick_config_section_at(const wick_config_file *config, size_t index);
WICK_API const char *wick_config_key_at(const wick_config_file *config, const char *section, size_t index);
WICK_API bool wick_config_has_section(const wick_config_file *config, const char *section);
/* Writes the INI as it now stands, cut at `bytes` and NUL-terminated (bytes > 0). Returns its full length. */
WICK_API size_t wick_config_format(const wick_config_file *config, char *buffer, size_t bytes);

/* ---- backends ---- */
/* Loads the backends that the file names:
 *
 *     [runtime]
 *     plugins = cpu, NAME  ; load these, in this order; `auto`: every *.so of the install folder, in name order;
 *                          ; missing: every [plugin.NAME] of the file
 *     [plugin.NAME]
 *     path = my.so         ; the file; missing: NAME.so in $WICK_PLUGIN_PATH (absolute folders, separated by colons),
 *                          ; then in the install folder; never the current one
 *     enabled = yes        ; no: pass it over
 *     required = yes       ; not ready is an error; default: yes if the file names the plugin, no if only `auto` does
 *     fallback = error     ; an operator without a kernel: error, warn (run on the host, say so), cpu (just run)
 *     graphs = off         ; auto: training steps are captured and run as one launch (wick/graph.h)
 *     isolate = no         ; yes: try it in a child process first, so that a crash is a refusal
 *     KEY = VALUE          ; the plugin's own; a key that the plugin does not ask for is an error
 *
 * What became of each is in wick_runtime_backend(). All are tried, then the first required one that is not ready is
 * the error. FAILED_PRECONDITION if the file names none. A backend that is ready already is passed over. Calls on one
 * runtime must not overlap. */
WICK_API WICK_MUST_USE wick_status *wick_runtime_load(wick_runtime *runtime, const wick_config_file *config);
/* Finds the INI as wick_config_find() does and loads it. No INI anywhere means `plugins = auto`, of which at least
 * one must be ready. */
WICK_API WICK_MUST_USE wick_status *wick_runtime_load_default(wick_runtime *runtime, const char *ini_path);
/* Loads a plugin that is linked into the program; `query` is its wick_plugin_query_NAME. Its keys come from section
 * [plugin.NAME] of `config` (NULL: none). A later wick_runtime_load() passes it over. */
WICK_API WICK_MUST_USE wick_status *wick_plugin_register_static(
    wick_runtime *runtime, const char *name,
    const struct wick_plugin_desc *(*query)(const struct wick_host_info *host, const char **out_refusal),
    const wick_config_file *config);
/* The keys above, to be joined with the caller's own in wick_config_check(). */
WICK_API wick_config_schema wick_runtime_config_schema(void);
WICK_END_DECLS

#endif
