/* Strings and arrays over a wick_allocator, and the nearest known name for messages. */
#ifndef WICK_TEXT_H
#define WICK_TEXT_H

#include <wick/runtime.h>

/* A string that grows. The first failed allocation latches `failed`; what follows is dropped. */
typedef struct text {
    const wick_allocator *memory;
    char *bytes; /* NUL-terminated; NULL while empty */
    size_t length, capacity;
    bool failed;
} text;

void text_append(text *t, const char *bytes, size_t length);
void text_print(text *t, const char *format, ...) WICK_PRINTF(2, 3);
static inline const char *text_get(const text *t) { return t->bytes ? t->bytes : ""; }
static inline void text_clear(text *t) {
    t->length = 0;
    if (t->bytes) t->bytes[0] = '\0';
}
void text_free(text *t);

/* malloc, realloc and free. */
const wick_allocator *allocator_default(void);
void allocator_free(const wick_allocator *memory, void *pointer); /* NULL is allowed */
/* A copy with a NUL behind it; NULL when memory is exhausted. */
char *allocator_copy(const wick_allocator *memory, const char *bytes, size_t length);
/* Makes room for index `count`; false when memory is exhausted, and then nothing changes. */
bool allocator_grow(const wick_allocator *memory, void **items, size_t *capacity, size_t count, size_t item_bytes);

/* Offer every known name, then ask for the one that `wanted` may have been meant to be. */
typedef struct nearest {
    const char *wanted;
    const char *best;
    size_t distance;
} nearest;

void nearest_offer(nearest *n, const char *known);
/* NULL if there is none that has anything in common. */
const char *nearest_get(const nearest *n);

#endif
