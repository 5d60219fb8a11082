#include "nn.h"

#include <stdarg.h>

char *shape_text(int ndim, const wick_dim *sizes, char buffer[SHAPE_TEXT]) {
    size_t used = (size_t)snprintf(buffer, SHAPE_TEXT, "[");
    for (int i = 0; i < ndim && used < SHAPE_TEXT; ++i)
        used += (size_t)snprintf(buffer + used, SHAPE_TEXT - used, i ? ", %lld" : "%lld", (long long)sizes[i]);
    if (used < SHAPE_TEXT) snprintf(buffer + used, SHAPE_TEXT - used, "]");
    return buffer;
}

bool grow(void **items, size_t *capacity, size_t count, size_t item_bytes) {
    if (count < *capacity) return true;
    size_t wanted = *capacity ? *capacity * 2 : 8;
    void *grown = realloc(*items, wanted * item_bytes);
    if (!grown) return false;
    *items = grown;
    *capacity = wanted;
    return true;
}

static bool text_room(text *t, size_t bytes) {
    size_t wanted = t->bytes + bytes + 1;
    if (t->failed || wanted <= t->capacity) return !t->failed;
    wanted = wanted > t->capacity * 2 ? wanted : t->capacity * 2;
    char *grown = realloc(t->data, wanted);
    if (!grown) return t->failed = true, false;
    t->data = grown;
    t->capacity = wanted;
    return true;
}

void text_add_bytes(text *t, const char *data, size_t bytes) {
    if (!text_room(t, bytes)) return;
    if (bytes) memcpy(t->data + t->bytes, data, bytes);
    t->data[t->bytes += bytes] = 0;
}

void text_add(text *t, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int bytes = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (bytes < 0 || !text_room(t, (size_t)bytes)) return;
    va_start(args, format);
    vsnprintf(t->data + t->bytes, (size_t)bytes + 1, format, args);
    va_end(args);
    t->bytes += (size_t)bytes;
}
