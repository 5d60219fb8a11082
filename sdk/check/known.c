/* The known file: permanent exclusions and expected failures, each with its reason. */
#include <stdlib.h>
#include <string.h>

#include "runner.h"

/* Cuts blanks off both ends. */
static char *trim(char *s) {
    s += strspn(s, " \t\r\n");
    size_t n = strlen(s);
    while (n && strchr(" \t\r\n", s[n - 1])) s[--n] = '\0';
    return s;
}

/* `s` is a line without comment. What stands between operator and colon names cases by words of theirs. */
static bool parse(char *s, known_line *out) {
    char kind[16];
    int used = 0;
    char *colon = strstr(s, " : ");
    memset(out, 0, sizeof *out);
    if (!colon) return false;
    *colon = '\0';
    if (sscanf(s, "%15s %95s %n", kind, out->op, &used) < 2) return false;
    out->exclude = strcmp(kind, "exclude") == 0;
    if (!out->exclude && strcmp(kind, "expect-fail") != 0) return false;
    if (used) snprintf(out->subject, sizeof out->subject, "%.47s", trim(s + used));
    snprintf(out->reason, sizeof out->reason, "%.255s", trim(colon + 3));
    return out->reason[0] != '\0';
}

static wick_status *add(known_list *known, const known_line *line) {
    known_line *lines = realloc(known->lines, (known->count + 1) * sizeof *lines);
    if (!lines) return WICK_ERROR(WICK_OUT_OF_MEMORY, "out of memory");
    known->lines = lines;
    lines[known->count++] = *line;
    return NULL;
}

wick_status *known_read(const char *path, known_list *out) {
    char text[1024];
    wick_status *status = NULL;
    FILE *file = fopen(path, "r");
    *out = (known_list){0};
    if (!file) return WICK_ERROR(WICK_IO, "%s: cannot open", path);
    for (int number = 1; !status && fgets(text, sizeof text, file); ++number) {
        known_line line;
        char *s = trim(text);
        if (!*s || *s == '#') continue;
        status = parse(s, &line) ? add(out, &line)
                                 : WICK_ERROR(WICK_INVALID_ARGUMENT,
                                              "%s:%d: wanted `exclude OP [WORDS OF CASES] : REASON` or "
                                              "`expect-fail OP [CASE] : REASON`",
                                              path, number);
    }
    fclose(file);
    if (status) known_free(out);
    return status;
}

void known_free(known_list *known) {
    free(known->lines);
    *known = (known_list){0};
}

/* True if `words` stand in `text`, whole. */
static bool has_words(const char *text, const char *words) {
    size_t n = strlen(words);
    for (const char *s = text; (s = strstr(s, words)) != NULL; ++s)
        if ((s == text || s[-1] == ' ') && (s[n] == '\0' || s[n] == ' ')) return true;
    return false;
}

const known_line *known_exclusion(const known_list *known, const char *op, const char *label) {
    for (size_t i = 0; i < known->count; ++i) {
        const known_line *l = &known->lines[i];
        if (!l->exclude || strcmp(l->op, op) != 0) continue;
        if (!l->subject[0] || (label && has_words(label, l->subject))) return l;
    }
    return NULL;
}

known_line *known_failure(const known_list *known, const char *op, const char *label) {
    for (size_t i = 0; i < known->count; ++i) {
        known_line *l = &known->lines[i];
        if (l->exclude || strcmp(l->op, op) != 0) continue;
        if (!l->subject[0] || strcmp(l->subject, label) == 0) return l;
    }
    return NULL;
}
