/* Memory of the mock runtime: blocks that it knows, so that foreign addresses and overruns are refused. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "mock_hip.h"

typedef struct block {
    char *address;
    size_t bytes;
    int device;
    bool pinned;
    struct block *next;
} block;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static block *blocks;

static size_t limit(void) {
    const char *text = getenv("MOCK_HIP_MEMORY");
    return text ? strtoull(text, NULL, 10) : (size_t)4 << 30;
}

static size_t used(int device) {
    size_t total = 0;
    for (const block *b = blocks; b; b = b->next)
        if (!b->pinned && b->device == device) total += b->bytes;
    return total;
}

/* Fresh memory holds no zeros: what reads it unwritten is to be seen. */
void *mock_allocate(int device, size_t bytes, bool pinned) {
    block *b = malloc(sizeof *b);
    pthread_mutex_lock(&lock);
    bool fits = pinned || bytes <= limit() - used(device);
    char *address = b && fits ? aligned_alloc(256, (bytes + 255) / 256 * 256) : NULL;
    if (address) {
        memset(address, 0xff, bytes);
        *b = (block){address, bytes, device, pinned, blocks};
        blocks = b;
    }
    pthread_mutex_unlock(&lock);
    if (!address) free(b);
    return address;
}

bool mock_release(void *address, bool pinned) {
    pthread_mutex_lock(&lock);
    block **at = &blocks;
    while (*at && ((*at)->address != address || (*at)->pinned != pinned)) at = &(*at)->next;
    block *b = *at;
    if (b) *at = b->next;
    pthread_mutex_unlock(&lock);
    if (!b) return false;
    free(b->address);
    free(b);
    return true;
}

bool mock_holds(const void *address, size_t bytes, bool pinned) {
    const char *begin = address;
    bool found = false;
    pthread_mutex_lock(&lock);
    for (const block *b = blocks; b && !found; b = b->next)
        found = b->pinned == pinned && begin >= b->address && begin + bytes <= b->address + b->bytes;
    pthread_mutex_unlock(&lock);
    return found;
}

void mock_memory_info(int device, size_t *out_free, size_t *out_total) {
    pthread_mutex_lock(&lock);
    *out_total = limit();
    *out_free = *out_total - used(device);
    pthread_mutex_unlock(&lock);
}
