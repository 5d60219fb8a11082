#include "text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory ---- */
static void *heap_allocate(void *user, size_t bytes) { return malloc(bytes); }
static void *heap_reallocate(void *user, void *pointer, size_t bytes) { return realloc(pointer, bytes); }
static void heap_free(void *user, void *pointer) { free(pointer); }

const wick_allocator *allocator_default(void) {
    static const wick_allocator heap = {heap_allocate, heap_reallocate, heap_free, NULL};
    return &heap;
}

void allocator_free(const wick_allocator *memory, void *pointer) {
    if (pointer) memory->free(memory->user, pointer);
}

char *allocator_copy(const wick_allocator *memory, const char *bytes, size_t length) {
    char *copy = length < SIZE_MAX ? memory->allocate(memory->user, length + 1) : NULL;
    if (!copy) return NULL;
    if (length) memcpy(copy, bytes, length);
    copy[length] = '\0';
    return copy;
}

bool allocator_grow(const wick_allocator *memory, void **items, size_t *capacity, size_t count, size_t item_bytes) {
    if (count < *capacity) return true;
    size_t wanted = *capacity ? *capacity * 2 : 8;
    if (count >= wanted || wanted > SIZE_MAX / 2 / item_bytes) return false;
    void *grown = *items ? memory->reallocate(memory->user, *items, wanted * item_bytes)
                         : memory->allocate(memory->user, wanted * item_bytes);
    if (!grown) return false;
    *items = grown;
    *capacity = wanted;
    return true;
}

/* ---- text ---- */
static bool reserve(text *t, size_t more) {
    if (t->failed || more >= SIZE_MAX / 4 - t->length) return !(t->failed = true);
    size_t wanted = t->length + more + 1;
    if (wanted <= t->capacity) return true;
    wanted = wanted < 64 ? 64 : wanted * 2;
    char *grown = t->bytes ? t->memory->reallocate(t->memory->user, t->bytes, wanted)
                           : t->memory->allocate(t->memory->user, wanted);
    if (!grown) return !(t->failed = true);
    t->bytes = grown;
    t->capacity = wanted;
    return true;
}

void text_append(text *t, const char *bytes, size_t length) {
    if (!reserve(t, length)) return;
    if (length) memcpy(t->bytes + t->length, bytes, length);
    t->length += length;
    t->bytes[t->length] = '\0';
}

void text_print(text *t, const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    if (length >= 0 && reserve(t, (size_t)length)) {
        vsnprintf(t->bytes + t->length, (size_t)length + 1, format, again);
        t->length += (size_t)length;
    }
    va_end(again);
    va_end(args);
}

void text_free(text *t) {
    allocator_free(t->memory, t->bytes);
    t->bytes = NULL;
    t->length = t->capacity = 0;
}

/* ---- nearest name ---- */
#define NAME_LIMIT 64

static size_t min3(size_t a, size_t b, size_t c) {
    size_t ab = a < b ? a : b;
    return ab < c ? ab : c;
}

/* Insertions, deletions and replacements that turn `a` into `b`; SIZE_MAX for names that are too long to compare. */
static size_t edit_distance(const char *a, const char *b) {
    size_t row[NAME_LIMIT + 1];
    size_t m = strlen(a), n = strlen(b);
    if (m > NAME_LIMIT || n > NAME_LIMIT) return SIZE_MAX;
    for (size_t j = 0; j <= n; ++j) row[j] = j;
    for (size_t i = 1; i <= m; ++i) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; ++j) {
            size_t above = row[j];
            row[j] = min3(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
            diagonal = above;
        }
    }
    return row[n];
}

void nearest_offer(nearest *n, const char *known) {
    size_t distance = edit_distance(n->wanted, known);
    if (n->best && distance >= n->distance) return;
    n->best = known;
    n->distance = distance;
}

const char *nearest_get(const nearest *n) {
    if (!n->best) return NULL;
    size_t a = strlen(n->wanted), b = strlen(n->best);
    return n->distance < (a > b ? a : b) ? n->best : NULL;
}
