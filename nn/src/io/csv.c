/* CSV of numbers. The file is copied once; fields are unquoted and terminated in the copy, row by row. */
#include "bytes.h"

#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct number_list {
    double *items;
    size_t count, capacity;
} number_list;

typedef struct csv_parser {
    const char *source;
    const wick_csv_options *options;
    char *text, *at, *end; /* *end is a NUL */
    locale_t c_locale;
    char separator;
    size_t line, next_line; /* of the row at hand, of what follows */
    char **fields;          /* of the row at hand; they point into the text */
    size_t field_count, field_capacity;
    size_t columns; /* of every row; 0 before the first */
    size_t label;   /* its column; `columns` if there is none */
    size_t rows;
    number_list values, labels;
    wick_csv *csv;
} csv_parser;

static wick_status *no_memory(const csv_parser *p) {
    return WICK_ERROR(WICK_OUT_OF_MEMORY, "%s: no memory for its fields", p->source);
}

/* ---- fields ---- */
static bool is_line_end(char c) { return c == '\n' || c == '\r' || c == '\0'; }

/* Unquotes the field at p->at, which begins with a quote, in place. */
static wick_status *read_quoted(csv_parser *p, char **out) {
    char *from = p->at + 1, *to = p->at;
    *out = to;
    for (;; ++from) {
        if (*from == '\0')
            return WICK_ERROR(WICK_DATA_LOSS, "%s:%zu: %s", p->source, p->line,
                              from < p->end ? "a zero byte: this is no text" : "a quote is not closed");
        p->next_line += *from == '\n';
        if (*from == '"' && *++from != '"') break;
        *to++ = *from;
    }
    if (*from != p->separator && !is_line_end(*from))
        return WICK_ERROR(WICK_DATA_LOSS, "%s:%zu: column %zu goes on behind its closing quote", p->source, p->line,
                          p->field_count + 1);
    p->at = from;
    *to = '\0'; /* not behind `from`: the quotes left room */
    return NULL;
}

static void read_plain(csv_parser *p, char **out) {
    *out = p->at;
    while (*p->at != p->separator && !is_line_end(*p->at)) ++p->at;
}

static wick_status *push_field(csv_parser *p, char *field) {
    if (p->field_count == p->field_capacity) {
        size_t wanted = p->field_capacity ? p->field_capacity * 2 : 64;
        char **grown = realloc(p->fields, wanted * sizeof *grown);
        if (!grown) return no_memory(p);
        p->fields = grown;
        p->field_capacity = wanted;
    }
    p->fields[p->field_count++] = field;
    return NULL;
}

/* Ends the field at p->at and steps over what ended it; *out_more tells whether the row goes on. */
static wick_status *end_field(csv_parser *p, bool *out_more) {
    char ended_by = *p->at;
    *out_more = ended_by == p->separator && ended_by;
    if (ended_by == '\0' && p->at < p->end)
        return WICK_ERROR(WICK_DATA_LOSS, "%s:%zu: a zero byte: this is no text", p->source, p->line);
    *p->at = '\0';
    p->at += p->at < p->end;
    if (ended_by == '\r' && *p->at == '\n') ++p->at;
    p->next_line += ended_by == '\n' || ended_by == '\r';
    return NULL;
}

/* With the separator space, runs are one, and those at the ends of a line nothing. */
static void skip_spaces(csv_parser *p) {
    while (p->separator == ' ' && *p->at == ' ') ++p->at;
}

/* Splits the next line that is not empty; no fields at the end of the text. */
static wick_status *read_row(csv_parser *p) {
    p->field_count = 0;
    while (p->at < p->end && (*p->at == '\n' || *p->at == '\r')) p->next_line += *p->at++ == '\n';
    p->line = p->next_line;
    for (bool more = p->at < p->end; more;) {
        char *field = NULL;
        skip_spaces(p);
        if (p->separator == ' ' && p->field_count && is_line_end(*p->at)) return end_field(p, &more);
        if (*p->at == '"')
            WICK_TRY(read_quoted(p, &field));
        else
            read_plain(p, &field);
        WICK_TRY(push_field(p, field));
        WICK_TRY(end_field(p, &more));
    }
    return NULL;
}

/* ---- numbers ---- */
/* Decimal numbers of few digits, exactly: mantissa and power of ten are exact doubles, so one division rounds once.
 * False if the field is anything else. */
static bool parse_short(const char *s, double *out) {
    static const double powers[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    bool negative = *s == '-', point = false;
    int digits = 0, fraction = 0;
    int64_t mantissa = 0;
    for (s += negative; *s; ++s) {
        if (*s == '.' && !point) {
            point = true;
            continue;
        }
        if (*s < '0' || *s > '9' || ++digits > 15) return false;
        mantissa = mantissa * 10 + (*s - '0');
        fraction += point;
    }
    double value = (double)mantissa / powers[fraction];
    *out = negative ? -value : value;
    return digits > 0;
}

/* Any decimal number, "inf" or "nan", spaces around it allowed. False if it is none or does not fit. */
static bool parse_number(const csv_parser *p, const char *s, double *out) {
    if (parse_short(s, out)) return true;
    char *end = NULL;
    errno = 0;
    *out = strtod_l(s, &end, p->c_locale);
    bool overflow = errno == ERANGE && isinf(*out);
    if (end == s || overflow || strpbrk(s, "xX(")) return false;
    while (*end == ' ' || *end == '\t') ++end;
    return *end == '\0';
}

static wick_status *push_number(const csv_parser *p, number_list *list, double number) {
    if (list->count == list->capacity) {
        size_t wanted = list->capacity ? list->capacity * 2 : 256;
        double *grown = realloc(list->items, wanted * sizeof *grown);
        if (!grown) return no_memory(p);
        list->items = grown;
        list->capacity = wanted;
    }
    list->items[list->count++] = number;
    return NULL;
}

static wick_status *take_numbers(csv_parser *p) {
    if (p->field_count != p->columns)
        return WICK_ERROR(WICK_DATA_LOSS, "%s:%zu: got %zu fields, want %zu as in the first row", p->source, p->line,
                          p->field_count, p->columns);
    for (size_t i = 0; i < p->columns; ++i) {
        double number = 0;
        if (!parse_number(p, p->fields[i], &number))
            return WICK_ERROR(WICK_DATA_LOSS, "%s:%zu: column %zu: got '%.32s', want a number", p->source, p->line,
                              i + 1, p->fields[i]);
        WICK_TRY(push_number(p, i == p->label ? &p->labels : &p->values, number));
    }
    ++p->rows;
    return NULL;
}

/* ---- the first row ---- */
/* The first of the usual separators that the first row has outside of quotes. */
static char detect_separator(const csv_parser *p) {
    static const char usual[] = "\t;, ";
    bool quoted = false, seen[sizeof usual] = {false};
    for (const char *s = p->at; s < p->end && (quoted || !is_line_end(*s)); ++s) {
        const char *found = *s ? strchr(usual, *s) : NULL;
        quoted ^= *s == '"';
        if (found && !quoted) seen[found - usual] = true;
    }
    for (size_t i = 0; usual[i]; ++i)
        if (seen[i]) return usual[i];
    return ',';
}

static bool is_header(const csv_parser *p) {
    double number = 0;
    if (p->options->header) return p->options->header == WICK_CSV_HEADER_YES;
    for (size_t i = 0; i < p->field_count; ++i)
        if (!parse_number(p, p->fields[i], &number)) return true;
    return false;
}

static wick_status *find_label(csv_parser *p, bool header) {
    const wick_csv_options *o = p->options;
    p->label = p->columns;
    if (o->label_name) {
        for (size_t i = p->columns; header && i-- > 0;)
            if (strcmp(p->fields[i], o->label_name) == 0) p->label = i;
        if (p->label < p->columns) return NULL;
        return WICK_ERROR(WICK_NOT_FOUND, "%s: no label column '%s': %s", p->source, o->label_name,
                          header ? "the header has no such name" : "the file has no header");
    }
    if (o->label_column == WICK_CSV_NO_LABEL) return NULL;
    int64_t column = o->label_column < 0 ? o->label_column + (int64_t)p->columns : o->label_column;
    if (column < 0 || column >= (int64_t)p->columns)
        return WICK_ERROR(WICK_OUT_OF_RANGE, "%s: label column %" PRId32 ", but there are %zu columns", p->source,
                          o->label_column, p->columns);
    p->label = (size_t)column;
    return NULL;
}

static wick_status *keep_names(csv_parser *p) {
    wick_csv *csv = p->csv;
    csv->names = calloc(p->columns, sizeof *csv->names);
    if (!csv->names) return no_memory(p);
    for (size_t i = 0; i < p->columns; ++i) {
        if (i == p->label) continue;
        csv->names[csv->name_count] = strdup(p->fields[i]);
        if (!csv->names[csv->name_count++]) return no_memory(p);
    }
    return NULL;
}

static wick_status *take_first_row(csv_parser *p) {
    static const char bom[] = "\xef\xbb\xbf";
    if (p->end - p->at >= 3 && memcmp(p->at, bom, 3) == 0) p->at += 3;
    while (p->at < p->end && (*p->at == '\n' || *p->at == '\r')) p->next_line += *p->at++ == '\n';
    p->separator = p->options->separator ? p->options->separator : detect_separator(p);
    WICK_TRY(read_row(p));
    if (p->field_count == 0) return WICK_ERROR(WICK_DATA_LOSS, "%s: no row of numbers: the file is empty", p->source);
    p->columns = p->field_count;
    bool header = is_header(p);
    WICK_TRY(find_label(p, header));
    return header ? keep_names(p) : take_numbers(p);
}

/* ---- the whole ---- */
static wick_status *make_array(const csv_parser *p, const number_list *list, int ndim, size_t columns,
                               wick_array *out) {
    wick_dim sizes[] = {(wick_dim)p->rows, (wick_dim)columns};
    WICK_TRY(wick_array_create(WICK_F64, ndim, sizes, p->source, out));
    if (list->count) memcpy(out->data, list->items, list->count * sizeof *list->items);
    return NULL;
}

static wick_status *parse_text(csv_parser *p) {
    WICK_TRY(take_first_row(p));
    for (;;) {
        WICK_TRY(read_row(p));
        if (p->field_count == 0) break;
        WICK_TRY(take_numbers(p));
    }
    if (p->rows == 0) return WICK_ERROR(WICK_DATA_LOSS, "%s: a header, but no row of numbers", p->source);
    bool labelled = p->label < p->columns;
    WICK_TRY(make_array(p, &p->values, 2, p->columns - labelled, &p->csv->values));
    return labelled ? make_array(p, &p->labels, 1, 0, &p->csv->labels) : NULL;
}

static wick_status *check_options(const wick_csv_options *o, const char *source) {
    bool bad_separator = o->separator && strchr("\r\n\"", o->separator);
    if (o->struct_size == sizeof *o && o->header <= WICK_CSV_HEADER_YES && !bad_separator) return NULL;
    return WICK_ERROR(WICK_INVALID_ARGUMENT, "%s: bad wick_csv_options; begin with WICK_CSV_OPTIONS_INIT", source);
}

static wick_status *parse_prepared(csv_parser *p, const void *data, size_t bytes) {
    p->c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    p->text = bytes < SIZE_MAX ? malloc(bytes + 1) : NULL;
    if (!p->c_locale || !p->text) return no_memory(p);
    if (bytes) memcpy(p->text, data, bytes);
    p->text[bytes] = '\0';
    p->at = p->text;
    p->end = p->text + bytes;
    return parse_text(p);
}

wick_status *wick_csv_parse(const void *data, size_t bytes, const char *source, const wick_csv_options *options,
                            wick_csv *out) {
    static const wick_csv_options defaults = WICK_CSV_OPTIONS_INIT;
    wick_csv csv = WICK_CSV_INIT;
    csv_parser p = {.source = source, .options = options ? options : &defaults, .next_line = 1, .csv = &csv};
    WICK_TRY(check_options(p.options, source));
    wick_status *status = parse_prepared(&p, data, bytes);
    if (p.c_locale) freelocale(p.c_locale);
    free(p.text);
    free(p.fields);
    free(p.values.items);
    free(p.labels.items);
    if (status)
        wick_csv_free(&csv);
    else
        *out = csv;
    return status;
}

wick_status *wick_csv_read(const char *path, const wick_csv_options *options, wick_csv *out) {
    void *data = NULL;
    size_t bytes = 0;
    WICK_TRY(wick_bytes_read(path, options ? options->max_bytes : 0, &data, &bytes));
    wick_status *status = wick_csv_parse(data, bytes, path, options, out);
    free(data);
    return status;
}

void wick_csv_free(wick_csv *csv) {
    for (size_t i = 0; i < csv->name_count; ++i) free(csv->names[i]);
    free(csv->names);
    wick_array_free(&csv->values);
    wick_array_free(&csv->labels);
    *csv = (wick_csv)WICK_CSV_INIT;
}
