/* A configuration: sections, values, and what is known about them. Reading the text is config_read.c's. */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "config_file.h"

/* ---- storage ---- */
bool config_name_valid(const char *name, size_t length, bool section) {
    for (size_t i = 0; i < length; ++i) {
        unsigned char c = (unsigned char)name[i];
        bool alphanumeric = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
        if (!alphanumeric && c != '_' && c != '-' && !(section && c == '.')) return false;
    }
    return length > 0 && length < CONFIG_NAME_BYTES;
}

const char *config_control_byte(const char *text, size_t length) {
    for (size_t i = 0; i < length; ++i) {
        if ((unsigned char)text[i] < ' ' && text[i] != '\t') return text + i;
    }
    return NULL;
}

config_section *config_find_section(const wick_config_file *config, const char *name) {
    for (size_t i = 0; i < config->count; ++i) {
        if (strcmp(config->sections[i].name, name) == 0) return &config->sections[i];
    }
    return NULL;
}

config_entry *config_find_entry(const config_section *section, const char *key) {
    for (size_t i = 0; section && i < section->count; ++i) {
        if (strcmp(section->entries[i].key, key) == 0) return &section->entries[i];
    }
    return NULL;
}

config_section *config_add_section(wick_config_file *config, const char *name, int line) {
    void *sections = config->sections;
    bool room = allocator_grow(&config->memory, &sections, &config->capacity, config->count, sizeof *config->sections);
    config->sections = sections;
    char *copy = room ? allocator_copy(&config->memory, name, strlen(name)) : NULL;
    if (!copy) return NULL;
    config_section *section = &config->sections[config->count++];
    *section = (config_section){.name = copy, .line = line};
    return section;
}

config_entry *config_add_entry(wick_config_file *config, config_section *section, const char *key, const char *value,
                               size_t value_bytes, int line) {
    void *entries = section->entries;
    bool room = allocator_grow(&config->memory, &entries, &section->capacity, section->count, sizeof *section->entries);
    section->entries = entries;
    if (!room) return NULL;
    config_entry entry = {allocator_copy(&config->memory, key, strlen(key)),
                          allocator_copy(&config->memory, value, value_bytes), line};
    if (!entry.key || !entry.value) {
        allocator_free(&config->memory, entry.key);
        allocator_free(&config->memory, entry.value);
        return NULL;
    }
    section->entries[section->count] = entry;
    return &section->entries[section->count++];
}

static void free_section(const wick_allocator *memory, config_section *section) {
    for (size_t i = 0; i < section->count; ++i) {
        allocator_free(memory, section->entries[i].key);
        allocator_free(memory, section->entries[i].value);
    }
    allocator_free(memory, section->entries);
    allocator_free(memory, section->name);
}

void wick_config_free(wick_config_file *config) {
    if (!config) return;
    wick_allocator memory = config->memory;
    for (size_t i = 0; i < config->count; ++i) free_section(&memory, &config->sections[i]);
    allocator_free(&memory, config->sections);
    allocator_free(&memory, config->name);
    allocator_free(&memory, config);
}

const char *wick_config_name(const wick_config_file *config) { return config->name; }

static config_entry *find(const wick_config_file *config, const char *section, const char *key) {
    return config_find_entry(config_find_section(config, section), key);
}

/* ---- messages ---- */
#define PLACE_BYTES (PATH_MAX + 32)

/* Where a value comes from: "run.ini:12" or "--set". */
static const char *place_of(const wick_config_file *config, int line, char buffer[PLACE_BYTES]) {
    if (line) snprintf(buffer, PLACE_BYTES, "%s:%d", config->name, line);
    return line ? buffer : "--set";
}

wick_status *wick_config_error(const wick_config_file *config, const char *section, const char *key, const char *format,
                               ...) {
    const config_section *s = config_find_section(config, section);
    const config_entry *entry = config_find_entry(s, key);
    char place[PLACE_BYTES], message[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    const char *where = entry || s ? place_of(config, entry ? entry->line : s->line, place) : config->name;
    return WICK_ERROR(WICK_INVALID_ARGUMENT, "%s: [%s] %s: %s", where, section, key, message);
}

static const char *wanted_text(wick_config_type type) {
    static const char *const wanted[] = {
#define WANTED(name, text) text,
        WICK_CONFIG_TYPES(WANTED)
#undef WANTED
    };
    return wanted[type];
}

static wick_status *wrong_type(const wick_config_file *config, const char *section, const config_entry *entry,
                               wick_config_type type, const char *choices) {
    return wick_config_error(config, section, entry->key, "got \"%.80s\", wanted %s%s%s", entry->value,
                             wanted_text(type), choices ? " " : "", choices ? choices : "");
}

/* ---- values from text ---- */
/* Reads one integer and moves *at behind it. */
static bool read_integer(const char **at, int64_t *out) {
    char *end;
    errno = 0;
    long long value = strtoll(*at, &end, 10);
    bool fine = end != *at && errno == 0 && !isspace((unsigned char)**at);
    *at = end;
    *out = value;
    return fine;
}

static bool parse_int(const char *text, int64_t *out) { return read_integer(&text, out) && !*text; }

static bool parse_double(const char *text, double *out) {
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!c_locale) return false;
    char *end;
    *out = strtod_l(text, &end, c_locale);
    freelocale(c_locale);
    return end != text && !*end && !isspace((unsigned char)*text) && isfinite(*out);
}

static bool parse_bool(const char *text, bool *out) {
    static const char *const words[] = {"no", "yes", "false", "true", "off", "on", "0", "1"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; ++i) {
        if (strcmp(text, words[i]) == 0) {
            *out = i % 2;
            return true;
        }
    }
    return false;
}

/* *count counts what does not fit, too. */
static bool parse_int_list(const char *text, int64_t *out, size_t capacity, size_t *count) {
    *count = 0;
    const char *at = text + strspn(text, " \t\n");
    while (*at) {
        int64_t value;
        if (!read_integer(&at, &value)) return false;
        if (*count < capacity) out[*count] = value;
        ++*count;
        size_t blanks = strspn(at, " \t\n");
        bool comma = at[blanks] == ',';
        if (!blanks && !comma && *at) return false;
        at += blanks + comma;
        at += strspn(at, " \t\n");
        if (comma && !*at) return false;
    }
    return *count > 0;
}

static bool is_choice(const char *text, const char *choices) {
    size_t length = strlen(text);
    for (const char *at = choices; at; at = strchr(at, '|'), at = at ? at + 1 : NULL) {
        if (strncmp(at, text, length) == 0 && (at[length] == '|' || !at[length])) return length > 0;
    }
    return false;
}

static bool value_fits(const char *value, wick_config_type type, const char *choices) {
    int64_t integer;
    double number;
    bool flag;
    size_t count;
    switch (type) {
    case WICK_CONFIG_STRING: return true;
    case WICK_CONFIG_INT: return parse_int(value, &integer);
    case WICK_CONFIG_DOUBLE: return parse_double(value, &number);
    case WICK_CONFIG_BOOL: return parse_bool(value, &flag);
    case WICK_CONFIG_PATH: return value[0] && !strchr(value, '\n');
    case WICK_CONFIG_INT_LIST: return parse_int_list(value, NULL, 0, &count);
    case WICK_CONFIG_CHOICE: return is_choice(value, choices);
    }
    return false;
}

/* ---- getters ---- */
const char *wick_config_string(const wick_config_file *config, const char *section, const char *key,
                               const char *fallback) {
    const config_entry *entry = find(config, section, key);
    return entry ? entry->value : fallback;
}

wick_status *wick_config_int(const wick_config_file *config, const char *section, const char *key, int64_t fallback,
                             int64_t *out) {
    return wick_config_int_range(config, section, key, fallback, INT64_MIN, INT64_MAX, out);
}

wick_status *wick_config_int_range(const wick_config_file *config, const char *section, const char *key,
                                   int64_t fallback, int64_t low, int64_t high, int64_t *out) {
    const config_entry *entry = find(config, section, key);
    int64_t value = fallback;
    if (entry && !parse_int(entry->value, &value)) return wrong_type(config, section, entry, WICK_CONFIG_INT, NULL);
    if (entry && (value < low || value > high)) {
        return wick_config_error(config, section, key, "got %lld, wanted %lld to %lld", (long long)value,
                                 (long long)low, (long long)high);
    }
    *out = value;
    return NULL;
}

wick_status *wick_config_double(const wick_config_file *config, const char *section, const char *key, double fallback,
                                double *out) {
    const config_entry *entry = find(config, section, key);
    double value = fallback;
    if (entry && !parse_double(entry->value, &value)) {
        return wrong_type(config, section, entry, WICK_CONFIG_DOUBLE, NULL);
    }
    *out = value;
    return NULL;
}

wick_status *wick_config_bool(const wick_config_file *config, const char *section, const char *key, bool fallback,
                              bool *out) {
    const config_entry *entry = find(config, section, key);
    bool value = fallback;
    if (entry && !parse_bool(entry->value, &value)) return wrong_type(config, section, entry, WICK_CONFIG_BOOL, NULL);
    *out = value;
    return NULL;
}

/* Writes folder + path if it fits. */
static bool join_path(const char *folder, size_t folder_bytes, const char *path, char *buffer, size_t bytes) {
    int length = snprintf(buffer, bytes, "%.*s%s", (int)folder_bytes, folder, path);
    return length >= 0 && (size_t)length < bytes;
}

wick_status *wick_config_path(const wick_config_file *config, const char *section, const char *key,
                              const char *fallback, char *buffer, size_t bytes) {
    const config_entry *entry = find(config, section, key);
    const char *path = entry ? entry->value : fallback ? fallback : "";
    if (entry && !value_fits(path, WICK_CONFIG_PATH, NULL)) {
        return wrong_type(config, section, entry, WICK_CONFIG_PATH, NULL);
    }
    const char *slash = strrchr(config->name, '/');
    bool relative_to_file = entry && entry->line && path[0] != '/' && slash;
    size_t folder_bytes = relative_to_file ? (size_t)(slash - config->name) + 1 : 0;
    if (join_path(config->name, folder_bytes, path, buffer, bytes)) return NULL;
    return wick_config_error(config, section, key, "got a path of %zu bytes, wanted less than %zu",
                             folder_bytes + strlen(path), bytes);
}

wick_status *wick_config_int_list(const wick_config_file *config, const char *section, const char *key, int64_t *out,
                                  size_t capacity, size_t *out_count) {
    const config_entry *entry = find(config, section, key);
    size_t count = 0;
    if (entry && !parse_int_list(entry->value, out, capacity, &count)) {
        return wrong_type(config, section, entry, WICK_CONFIG_INT_LIST, NULL);
    }
    if (count > capacity) {
        return wick_config_error(config, section, key, "got %zu integers, wanted at most %zu", count, capacity);
    }
    *out_count = count;
    return NULL;
}

/* ---- the whole file ---- */
const char *wick_config_section_at(const wick_config_file *config, size_t index) {
    return index < config->count ? config->sections[index].name : NULL;
}

const char *wick_config_key_at(const wick_config_file *config, const char *section, size_t index) {
    const config_section *s = config_find_section(config, section);
    return s && index < s->count ? s->entries[index].key : NULL;
}

bool wick_config_has_section(const wick_config_file *config, const char *section) {
    return config_find_section(config, section) != NULL;
}

/* A buffer that counts on when it is full. */
typedef struct sink {
    char *buffer;
    size_t bytes, length;
} sink;

static void put(sink *s, const char *text, size_t length) {
    size_t room = s->length < s->bytes ? s->bytes - s->length : 0;
    if (room) memcpy(s->buffer + s->length, text, length < room ? length : room);
    s->length += length;
}

static void put_string(sink *s, const char *text) { put(s, text, strlen(text)); }

/* Lines below the first are indented. A value that starts with `;` must not follow a blank. */
static void put_value(sink *s, const char *value) {
    put_string(s, value[0] == '\0' || value[0] == ';' ? " =" : " = ");
    for (const char *newline; (newline = strchr(value, '\n')) != NULL; value = newline + 1) {
        put(s, value, (size_t)(newline - value));
        put_string(s, "\n    ");
    }
    put_string(s, value);
    put_string(s, "\n");
}

size_t wick_config_format(const wick_config_file *config, char *buffer, size_t bytes) {
    sink s = {buffer, bytes, 0};
    for (size_t i = 0; i < config->count; ++i) {
        const config_section *section = &config->sections[i];
        put_string(&s, i ? "\n[" : "[");
        put_string(&s, section->name);
        put_string(&s, "]\n");
        for (size_t j = 0; j < section->count; ++j) {
            put_string(&s, section->entries[j].key);
            put_value(&s, section->entries[j].value);
        }
    }
    buffer[s.length < bytes ? s.length : bytes - 1] = '\0';
    return s.length;
}

/* ---- checks ---- */
typedef struct schema_set {
    const wick_config_schema *schemas;
    size_t count;
} schema_set;

/* Walks all rows of all tables: `for (row_cursor c = {0}; (row = next_row(set, &c));)`. */
typedef struct row_cursor {
    size_t table, row;
} row_cursor;

static const wick_config_key *next_row(schema_set set, row_cursor *c) {
    while (c->table < set.count && c->row >= set.schemas[c->table].count) {
        c->table++;
        c->row = 0;
    }
    return c->table < set.count ? &set.schemas[c->table].keys[c->row++] : NULL;
}

static bool section_matches(const char *pattern, const char *section) {
    size_t length = strlen(pattern);
    if (!length || pattern[length - 1] != '*') return strcmp(pattern, section) == 0;
    return strncmp(pattern, section, length - 1) == 0 && section[length - 1];
}

static bool section_known(schema_set set, const char *section) {
    const wick_config_key *row;
    for (row_cursor c = {0}; (row = next_row(set, &c));) {
        if (section_matches(row->section, section)) return true;
    }
    return false;
}

/* The row of a key; a row for any key only if no other speaks of it. */
static const wick_config_key *find_row(schema_set set, const char *section, const char *key) {
    const wick_config_key *row, *any = NULL;
    for (row_cursor c = {0}; (row = next_row(set, &c));) {
        if (!section_matches(row->section, section)) continue;
        if (strcmp(row->key, key) == 0) return row;
        if (strcmp(row->key, "*") == 0) any = row;
    }
    return any;
}

static wick_status *unknown_section(const wick_config_file *config, schema_set set, const char *section, int line) {
    char place[PLACE_BYTES];
    nearest near = {.wanted = section};
    const wick_config_key *row;
    for (row_cursor c = {0}; (row = next_row(set, &c));) nearest_offer(&near, row->section);
    const char *best = nearest_get(&near);
    return WICK_ERROR(WICK_INVALID_ARGUMENT, "%s: got unknown section [%s]%s%s%s", place_of(config, line, place),
                      section, best ? ", nearest known is [" : "", best ? best : "", best ? "]" : "");
}

static wick_status *unknown_key(const wick_config_file *config, schema_set set, const char *section, const char *key,
                                int line) {
    char place[PLACE_BYTES];
    nearest near = {.wanted = key};
    const wick_config_key *row;
    for (row_cursor c = {0}; (row = next_row(set, &c));) {
        if (section_matches(row->section, section)) nearest_offer(&near, row->key);
    }
    const char *best = nearest_get(&near);
    return WICK_ERROR(WICK_INVALID_ARGUMENT, "%s: [%s]: got unknown key \"%s\"%s%s%s", place_of(config, line, place),
                      section, key, best ? ", nearest known is \"" : "", best ? best : "", best ? "\"" : "");
}

static wick_status *check_section(const wick_config_file *config, schema_set set, const config_section *section) {
    for (size_t i = 0; i < section->count; ++i) {
        const config_entry *entry = &section->entries[i];
        const wick_config_key *row = find_row(set, section->name, entry->key);
        if (!row) return unknown_key(config, set, section->name, entry->key, entry->line);
        if (!value_fits(entry->value, row->type, row->choices)) {
            return wrong_type(config, section->name, entry, row->type, row->choices);
        }
    }
    return NULL;
}

wick_status *wick_config_check(const wick_config_file *config, const wick_config_schema *schemas, size_t schema_count,
                               unsigned flags) {
    schema_set set = {schemas, schema_count};
    for (size_t i = 0; i < config->count; ++i) {
        const config_section *section = &config->sections[i];
        if (section_known(set, section->name))
            WICK_TRY(check_section(config, set, section));
        else if (!(flags & WICK_CONFIG_ALLOW_SECTIONS)) {
            return unknown_section(config, set, section->name, section->line);
        }
    }
    return NULL;
}

/* ---- changes ---- */
/* Splits "section.key=value" into buffers; *value points behind the '='. */
/* The one section that has such a key; NULL if there is none, or several. */
static const char *section_of_key(schema_set set, const char *key, size_t length) {
    const wick_config_key *row;
    const char *found = NULL;
    for (row_cursor c = {0}; (row = next_row(set, &c));) {
        if (strlen(row->key) != length || strncmp(row->key, key, length) != 0) continue;
        if (strchr(row->section, '*') || (found && strcmp(found, row->section) != 0)) return NULL;
        found = row->section;
    }
    return found;
}

static wick_status *split_assignment(schema_set set, const char *text, char section[CONFIG_NAME_BYTES],
                                     char key[CONFIG_NAME_BYTES], const char **value) {
    const char *equals = strchr(text, '=');
    const char *only = equals ? section_of_key(set, text, (size_t)(equals - text)) : NULL;
    if (only) {
        snprintf(section, CONFIG_NAME_BYTES, "%s", only);
        snprintf(key, CONFIG_NAME_BYTES, "%.*s", (int)(equals - text), text);
        *value = equals + 1 + strspn(equals + 1, " \t");
        return NULL;
    }
    const char *dot = equals ? memrchr(text, '.', (size_t)(equals - text)) : NULL;
    if (!dot || !config_name_valid(text, (size_t)(dot - text), true) ||
        !config_name_valid(dot + 1, (size_t)(equals - dot - 1), false)) {
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "--set: got \"%.80s\", wanted section.key=value", text);
    }
    snprintf(section, CONFIG_NAME_BYTES, "%.*s", (int)(dot - text), text);
    snprintf(key, CONFIG_NAME_BYTES, "%.*s", (int)(equals - dot - 1), dot + 1);
    *value = equals + 1 + strspn(equals + 1, " \t");
    return NULL;
}

/* Values that a file could not hold. */
static wick_status *check_override(const char *assignment, const char *value, size_t length) {
    bool comment = strstr(value, " ;") || strstr(value, "\t;");
    if (!comment && !config_control_byte(value, length)) return NULL;
    return WICK_ERROR(WICK_INVALID_ARGUMENT, "--set: got \"%.80s\", wanted a value without %s", assignment,
                      comment ? "a blank before ';'" : "control bytes");
}

static wick_status *check_known(const wick_config_file *config, schema_set set, const char *section, const char *key,
                                const char *value) {
    if (!set.count) return NULL;
    if (!section_known(set, section)) return unknown_section(config, set, section, 0);
    const wick_config_key *row = find_row(set, section, key);
    if (!row) return unknown_key(config, set, section, key, 0);
    if (value_fits(value, row->type, row->choices)) return NULL;
    return WICK_ERROR(WICK_INVALID_ARGUMENT, "--set: [%s] %s: got \"%.80s\", wanted %s%s%s", section, key, value,
                      wanted_text(row->type), row->choices ? " " : "", row->choices ? row->choices : "");
}

/* Gives the entry a new value (owned) that comes from `line`. */
static void replace_value(wick_config_file *config, config_entry *entry, char *value, int line) {
    allocator_free(&config->memory, entry->value);
    entry->value = value;
    entry->line = line;
}

static wick_status *store(wick_config_file *config, const char *section_name, const char *key, const char *value,
                          size_t length) {
    config_section *section = config_find_section(config, section_name);
    config_entry *entry = config_find_entry(section, key);
    bool stored = false;
    if (entry) {
        char *copy = allocator_copy(&config->memory, value, length);
        if (copy) replace_value(config, entry, copy, 0);
        stored = copy != NULL;
    } else {
        if (!section) section = config_add_section(config, section_name, 0);
        stored = section && config_add_entry(config, section, key, value, length, 0);
    }
    return stored ? NULL : WICK_ERROR(WICK_OUT_OF_MEMORY, "--set: out of memory");
}

wick_status *wick_config_set(wick_config_file *config, const char *assignment, const wick_config_schema *schemas,
                             size_t schema_count) {
    char section[CONFIG_NAME_BYTES], key[CONFIG_NAME_BYTES];
    const char *begin = "";
    WICK_TRY(split_assignment((schema_set){schemas, schema_count}, assignment, section, key, &begin));
    size_t length = strlen(begin);
    while (length && (begin[length - 1] == ' ' || begin[length - 1] == '\t')) --length;
    char *value = allocator_copy(&config->memory, begin, length);
    if (!value) return WICK_ERROR(WICK_OUT_OF_MEMORY, "--set: out of memory");
    wick_status *status = check_override(assignment, value, length);
    if (!status) status = check_known(config, (schema_set){schemas, schema_count}, section, key, value);
    if (!status) status = store(config, section, key, value, length);
    allocator_free(&config->memory, value);
    return status;
}

static wick_status *resolve_path(wick_config_file *config, const char *section, config_entry *entry) {
    char path[PATH_MAX] = "", folder[PATH_MAX] = "", absolute[PATH_MAX];
    WICK_TRY(wick_config_path(config, section, entry->key, NULL, path, sizeof path));
    if (path[0] != '/') {
        if (!getcwd(folder, sizeof folder - 1)) return WICK_ERROR(WICK_IO, "current folder: %s", strerror(errno));
        strcat(folder, "/");
    }
    if (!join_path(folder, strlen(folder), path, absolute, sizeof absolute)) {
        return wick_config_error(config, section, entry->key, "got a path that is too long, wanted less than %d bytes",
                                 PATH_MAX);
    }
    char *copy = allocator_copy(&config->memory, absolute, strlen(absolute));
    if (!copy) return WICK_ERROR(WICK_OUT_OF_MEMORY, "%s: out of memory", config->name);
    replace_value(config, entry, copy, entry->line);
    return NULL;
}

wick_status *wick_config_resolve_paths(wick_config_file *config, const wick_config_schema *schemas,
                                       size_t schema_count) {
    schema_set set = {schemas, schema_count};
    for (size_t i = 0; i < config->count; ++i) {
        config_section *section = &config->sections[i];
        for (size_t j = 0; j < section->count; ++j) {
            const wick_config_key *row = find_row(set, section->name, section->entries[j].key);
            if (row && row->type == WICK_CONFIG_PATH) {
                WICK_TRY(resolve_path(config, section->name, &section->entries[j]));
            }
        }
    }
    return NULL;
}

/* ---- the default file ---- */
static bool exists(const char *path) { return path[0] && access(path, F_OK) == 0; }

wick_status *wick_config_find(const char *path, char *buffer, size_t bytes) {
    char user[PATH_MAX] = "";
    const char *named = path ? path : secure_getenv("WICK_CONFIG");
    const char *home = secure_getenv("HOME"), *xdg = secure_getenv("XDG_CONFIG_HOME");
    bool fits = true;
    if (xdg && xdg[0] == '/')
        fits = join_path(xdg, strlen(xdg), "/wick/wick.ini", user, sizeof user);
    else if (home)
        fits = join_path(home, strlen(home), "/.config/wick/wick.ini", user, sizeof user);
    const char *const places[] = {"./wick.ini", fits ? user : "", "/etc/wick/wick.ini"};
    const char *found = named && named[0] ? named : "";
    for (size_t i = 0; !found[0] && i < sizeof places / sizeof places[0]; ++i) {
        if (exists(places[i])) found = places[i];
    }
    if (join_path("", 0, found, buffer, bytes)) return NULL;
    return WICK_ERROR(WICK_OUT_OF_RANGE, "%.80s...: got a path of %zu bytes, wanted less than %zu", found,
                      strlen(found), bytes);
}
