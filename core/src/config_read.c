/* Reading INI text. inih splits lines into names and values, but it cuts lines at 200 bytes, drops empty sections and
 * lets NUL bytes and repeated keys pass. So its line reader is ours: it checks each physical line, knows which section
 * and key are open, and hands values over in pieces that fit, as continuation lines. Each piece is wrapped in FENCE
 * bytes, which keep inih from trimming or reading anything into it. */
#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "config_file.h"

#define FENCE '\x01' /* cannot be in the text: control bytes are refused */

typedef struct reader {
    wick_config_file *config;
    const char *at, *end; /* what is left of the text */
    int line;
    wick_status *error;
    config_section *section; /* NULL before the first */
    /* the value that is being read */
    char key[CONFIG_NAME_BYTES]; /* "" if none */
    int key_line;
    text value;
    const char *piece, *piece_end; /* what is left of the physical line */
    bool first_piece;              /* nothing of the key was handed over yet */
    bool pending;                  /* there is a piece, maybe an empty one */
} reader;

/* Both latch the error and are true. */
#define READ_ERROR(r, ...) ((r)->error = read_error((r), WICK_DATA_LOSS, __VA_ARGS__))
#define NO_MEMORY(r) ((r)->error = read_error((r), WICK_OUT_OF_MEMORY, "out of memory"))

static wick_status *read_error(reader *r, wick_code code, const char *format, ...) WICK_PRINTF(3, 4);
static wick_status *read_error(reader *r, wick_code code, const char *format, ...) {
    char message[512];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return WICK_ERROR(code, "%s:%d: %s", r->config->name, r->line, message);
}

/* ---- lines ---- */
typedef struct span {
    const char *begin, *end;
} span;

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

static span trim(span s) {
    while (s.begin < s.end && is_blank(*s.begin)) ++s.begin;
    while (s.begin < s.end && is_blank(s.end[-1])) --s.end;
    return s;
}

/* How much of it a message shows. */
static int shown(span s) { return s.end - s.begin < 40 ? (int)(s.end - s.begin) : 40; }

/* Up to a comment: `;` behind a blank. */
static span without_comment(span s) {
    for (const char *c = s.begin; c < s.end; ++c) {
        if (*c == ';' && c > s.begin && is_blank(c[-1])) {
            s.end = c;
            break;
        }
    }
    return trim(s);
}

static const char *find_separator(span s) {
    const char *c = s.begin;
    while (c < s.end && *c != '=' && *c != ':') ++c;
    return c;
}

/* True if an indented line starts anew instead of going on with the value above. */
static bool reads_as_key(span s) {
    const char *separator = find_separator(s);
    span name = trim((span){s.begin, separator});
    return separator < s.end && *separator == '=' &&
           config_name_valid(name.begin, (size_t)(name.end - name.begin), false);
}

/* The next physical line without its end; false at the end of the text or after an error. */
static bool next_line(reader *r, span *out) {
    if (r->at >= r->end) return false;
    const char *newline = memchr(r->at, '\n', (size_t)(r->end - r->at));
    *out = (span){r->at, newline ? newline : r->end};
    r->at = newline ? newline + 1 : r->end;
    r->line++;
    if (out->end > out->begin && out->end[-1] == '\r') --out->end;
    const char *control = config_control_byte(out->begin, (size_t)(out->end - out->begin));
    if (control) READ_ERROR(r, "got control byte 0x%02x, wanted text", (unsigned char)*control);
    return !control;
}

/* ---- sections and keys ---- */
/* The open key is complete: files it. */
static bool finish_key(reader *r) {
    if (!r->key[0]) return true;
    if (r->value.failed ||
        !config_add_entry(r->config, r->section, r->key, text_get(&r->value), r->value.length, r->key_line)) {
        return !NO_MEMORY(r);
    }
    r->key[0] = '\0';
    text_clear(&r->value);
    return true;
}

static bool copy_name(reader *r, span s, bool section, char name[CONFIG_NAME_BYTES]) {
    size_t length = (size_t)(s.end - s.begin);
    if (!config_name_valid(s.begin, length, section)) {
        return !READ_ERROR(r, "%s name: got \"%.*s\", wanted 1 to %d letters, digits, '_'%s",
                           section ? "section" : "key", shown(s), s.begin, CONFIG_NAME_BYTES - 1,
                           section ? ", '-', '.'" : ", '-'");
    }
    memcpy(name, s.begin, length);
    name[length] = '\0';
    return true;
}

static bool begin_section(reader *r, span s) {
    char name[CONFIG_NAME_BYTES];
    const char *close = memchr(s.begin, ']', (size_t)(s.end - s.begin));
    if (!close) return !READ_ERROR(r, "section header: got \"%.*s\", wanted ']'", shown(s), s.begin);
    span rest = trim((span){close + 1, s.end});
    if (rest.begin < rest.end) {
        return !READ_ERROR(r, "section header: got \"%.*s\" behind ']', wanted nothing", shown(rest), rest.begin);
    }
    if (!copy_name(r, trim((span){s.begin + 1, close}), true, name)) return false;
    const config_section *earlier = config_find_section(r->config, name);
    if (earlier) return !READ_ERROR(r, "[%s]: got it again, wanted it once: it is in line %d", name, earlier->line);
    if (r->config->count >= CONFIG_SECTIONS) {
        return !READ_ERROR(r, "got more sections, wanted at most %d", CONFIG_SECTIONS);
    }
    r->section = config_add_section(r->config, name, r->line);
    return r->section || !NO_MEMORY(r);
}

static bool begin_key(reader *r, span s) {
    const char *separator = find_separator(s);
    if (separator == s.end) return !READ_ERROR(r, "got \"%.*s\", wanted key = value", shown(s), s.begin);
    if (!copy_name(r, trim((span){s.begin, separator}), false, r->key)) return false;
    const char *key = r->key;
    if (!r->section) return !READ_ERROR(r, "%s: got a key outside any section, wanted [section] above it", key);
    const config_entry *earlier = config_find_entry(r->section, key);
    if (earlier) {
        return !READ_ERROR(r, "[%s] %s: got it again, wanted it once: it is in line %d", r->section->name, key,
                           earlier->line);
    }
    if (r->section->count >= CONFIG_KEYS) {
        return !READ_ERROR(r, "[%s]: got more keys, wanted at most %d", r->section->name, CONFIG_KEYS);
    }
    span value = trim((span){separator + 1, s.end});
    r->piece = value.begin, r->piece_end = value.end;
    r->first_piece = true;
    r->key_line = r->line;
    return true;
}

static void continue_value(reader *r, span s) {
    text_append(&r->value, "\n", 1);
    r->piece = s.begin, r->piece_end = s.end;
}

/* Takes in one physical line that is neither empty nor a comment; false on an error. */
static bool take_line(reader *r, span line) {
    bool indented = is_blank(*line.begin);
    span s = without_comment(trim(line));
    if (indented && r->key[0] && *s.begin != '[' && !reads_as_key(s)) {
        continue_value(r, s);
        return r->pending = true;
    }
    if (!finish_key(r)) return false;
    if (*s.begin == '[') return begin_section(r, s);
    return r->pending = begin_key(r, s);
}

/* ---- what inih sees ---- */
/* Writes the next piece of the open value as a line of its own. */
static void write_piece(reader *r, char *buffer, size_t bytes) {
    int prefix = snprintf(buffer, bytes, "%s%c", r->first_piece ? r->key : "\t", r->first_piece ? '=' : FENCE);
    size_t at = (size_t)prefix;
    if (r->first_piece) buffer[at++] = FENCE;
    size_t room = bytes - at - 2, left = (size_t)(r->piece_end - r->piece), n = left < room ? left : room;
    memcpy(buffer + at, r->piece, n);
    buffer[at + n] = FENCE;
    buffer[at + n + 1] = '\0';
    r->piece += n;
    r->first_piece = false;
    r->pending = r->piece < r->piece_end;
}

static bool next_value(reader *r) {
    span line;
    while (!r->error && !r->pending && next_line(r, &line)) {
        span s = trim(line);
        if (s.begin < s.end && *s.begin != ';' && *s.begin != '#') take_line(r, line);
    }
    return !r->error && r->pending;
}

/* fgets() for inih. Sections are ours, so it sees none. */
static char *read_line(char *buffer, int bytes, void *stream) {
    reader *r = stream;
    if (bytes < 2 * CONFIG_NAME_BYTES) {
        READ_ERROR(r, "inih's lines have %d bytes, wanted %d or more", bytes, 2 * CONFIG_NAME_BYTES);
        return NULL;
    }
    if (!next_value(r)) return NULL;
    write_piece(r, buffer, (size_t)bytes);
    return buffer;
}

static int take_value(void *user, const char *section, const char *name, const char *value) {
    reader *r = user;
    size_t length = strlen(value);
    if (strcmp(name, r->key) != 0 || length < 2 || value[0] != FENCE || value[length - 1] != FENCE) return 0;
    text_append(&r->value, value + 1, length - 2);
    return !r->value.failed;
}

static wick_status *read_all(reader *r) {
    int line = ini_parse_stream(read_line, r, take_value, r);
    if (!r->error && !r->value.failed && line) READ_ERROR(r, "inih did not understand a value (%d)", line);
    if (!r->error) finish_key(r);
    text_free(&r->value);
    return r->error;
}

/* ---- entry points ---- */
static wick_config_file *create(const char *name, const wick_allocator *allocator) {
    const wick_allocator *memory = allocator ? allocator : allocator_default();
    wick_config_file *config = memory->allocate(memory->user, sizeof *config);
    if (!config) return NULL;
    *config = (wick_config_file){.memory = *memory, .name = allocator_copy(memory, name, strlen(name))};
    if (config->name) return config;
    allocator_free(memory, config);
    return NULL;
}

wick_status *wick_config_parse(const char *text, size_t bytes, const char *name, const wick_allocator *allocator,
                               wick_config_file **out) {
    if (bytes > CONFIG_FILE_BYTES) {
        return WICK_ERROR(WICK_OUT_OF_RANGE, "%s: got %zu bytes, wanted at most %u", name, bytes, CONFIG_FILE_BYTES);
    }
    wick_config_file *config = create(name, allocator);
    if (!config) return WICK_ERROR(WICK_OUT_OF_MEMORY, "%s: out of memory", name);
    reader r = {.config = config, .at = text, .end = text + bytes, .value = {.memory = &config->memory}};
    if (bytes >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) r.at += 3;
    wick_status *status = read_all(&r);
    if (status) {
        wick_config_free(config);
        return status;
    }
    *out = config;
    return NULL;
}

/* All of the file, or of its first bytes past the limit, which wick_config_parse() then refuses. */
static wick_status *read_file(int fd, const char *path, text *out) {
    char chunk[4096];
    ssize_t n = 1;
    while (n > 0 && out->length <= CONFIG_FILE_BYTES) {
        n = read(fd, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR)
            n = 1;
        else if (n < 0)
            return WICK_ERROR(WICK_IO, "%s: cannot read: %s", path, strerror(errno));
        else
            text_append(out, chunk, (size_t)n);
        if (out->failed) return WICK_ERROR(WICK_OUT_OF_MEMORY, "%s: out of memory", path);
    }
    return NULL;
}

wick_status *wick_config_load(const char *path, const wick_allocator *allocator, wick_config_file **out) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return WICK_ERROR(WICK_IO, "%s: cannot open: %s", path, strerror(errno));
    text content = {.memory = allocator ? allocator : allocator_default()};
    wick_status *status = read_file(fd, path, &content);
    if (!status) status = wick_config_parse(text_get(&content), content.length, path, allocator, out);
    text_free(&content);
    close(fd);
    return status;
}
