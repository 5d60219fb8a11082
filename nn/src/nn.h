/* What every file of libwick-nn shares. */
#ifndef WICK_NN_NN_H
#define WICK_NN_NN_H

#include <wick/ops.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
/* Latches an error and is true. */
#define FAIL(c, code, ...) wick_fail((c), WICK_ERROR(WICK_##code, __VA_ARGS__))

#define SHAPE_TEXT 256
/* "[64, 10]", cut at SHAPE_TEXT. Returns `buffer`. */
char *shape_text(int ndim, const wick_dim *sizes, char buffer[SHAPE_TEXT]);

/* Makes room for one more item of `item_bytes`. */
bool grow(void **items, size_t *capacity, size_t count, size_t item_bytes);

/* Text that grows; `failed` once memory ran out, which is reported at the end. */
typedef struct text {
    char *data; /* NULL or NUL-terminated */
    size_t bytes, capacity;
    bool failed;
} text;
void text_add(text *t, const char *format, ...) WICK_PRINTF(2, 3);
void text_add_bytes(text *t, const char *data, size_t bytes);

#endif
