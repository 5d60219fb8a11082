/* Memory of one case. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "parity.h"

struct arena_block {
    arena_block *next;
    max_align_t data[];
};

void *arena_alloc(arena *a, size_t bytes) {
    arena_block *block = calloc(1, sizeof(arena_block) + bytes);
    if (!block) {
        fprintf(stderr, "wick-parity: out of memory\n");
        exit(2);
    }
    block->next = a->blocks;
    a->blocks = block;
    return block->data;
}

char *arena_format(arena *a, const char *format, ...) {
    va_list list;
    va_start(list, format);
    int length = vsnprintf(NULL, 0, format, list);
    va_end(list);
    char *text = arena_alloc(a, (size_t)length + 1);
    va_start(list, format);
    vsnprintf(text, (size_t)length + 1, format, list);
    va_end(list);
    return text;
}

void arena_free(arena *a) {
    while (a->blocks) {
        arena_block *next = a->blocks->next;
        free(a->blocks);
        a->blocks = next;
    }
}
