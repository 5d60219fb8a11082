#include "interfaces.h"

#include <string.h>

#define SLOTS 12

typedef struct slot {
    const char *name;
    size_t offset;
} slot;

/* Slots that must be set, and the bytes up to the end of the last of them. */
typedef struct rule {
    const char *name;
    size_t bytes;
    slot slots[SLOTS];
} rule;

#define SLOT(type, field) \
    { #field, offsetof(type, field) }
#define END(type, field) (offsetof(type, field) + sizeof(((type *)0)->field))

#define MEMORY wick_memory_interface
#define STREAM wick_stream_interface
#define EVENT wick_event_interface
#define GENERATOR wick_generator_interface
#define AUTOCAST wick_autocast_interface
#define PROFILER wick_profiler_interface
#define GRAPH wick_graph_interface
#define IPC wick_ipc_interface
#define COLLECTIVES wick_collectives_interface
#define SERIALIZATION wick_serialization_interface
#define THREADS wick_threads_interface

static const rule rules[] = {
    {"memory", END(MEMORY, copy), {SLOT(MEMORY, allocate), SLOT(MEMORY, free)}},
    {"stream",
     END(STREAM, query),
     {SLOT(STREAM, create), SLOT(STREAM, destroy), SLOT(STREAM, synchronize), SLOT(STREAM, query)}},
    {"event",
     END(EVENT, query),
     {SLOT(EVENT, create), SLOT(EVENT, destroy), SLOT(EVENT, record), SLOT(EVENT, wait), SLOT(EVENT, synchronize),
      SLOT(EVENT, query)}},
    {"generator", END(GENERATOR, write_state), {SLOT(GENERATOR, write_state)}},
    {"autocast", END(AUTOCAST, rows), {{NULL, 0}}},
    {"profiler", END(PROFILER, stop), {SLOT(PROFILER, start), SLOT(PROFILER, stop)}},
    {"graph",
     END(GRAPH, destroy),
     {SLOT(GRAPH, capture_begin), SLOT(GRAPH, capture_end), SLOT(GRAPH, launch), SLOT(GRAPH, destroy)}},
    {"ipc", END(IPC, close_memory), {SLOT(IPC, export_memory), SLOT(IPC, open_memory), SLOT(IPC, close_memory)}},
    {"collectives",
     END(COLLECTIVES, receive),
     {SLOT(COLLECTIVES, create_id), SLOT(COLLECTIVES, create), SLOT(COLLECTIVES, destroy),
      SLOT(COLLECTIVES, all_reduce), SLOT(COLLECTIVES, broadcast), SLOT(COLLECTIVES, all_gather),
      SLOT(COLLECTIVES, reduce_scatter), SLOT(COLLECTIVES, send), SLOT(COLLECTIVES, receive)}},
    {"serialization", END(SERIALIZATION, restore), {SLOT(SERIALIZATION, save), SLOT(SERIALIZATION, restore)}},
    {"threads", END(THREADS, parallel_for), {SLOT(THREADS, count), SLOT(THREADS, parallel_for)}},
};

static const void *slot_at(const void *table, size_t offset) {
    const void *value;
    memcpy(&value, (const char *)table + offset, sizeof value);
    return value;
}

static wick_status *not_set(const rule *r, const char *slot_name) {
    return WICK_ERROR(WICK_FAILED_PRECONDITION, "interface \"%s\" 1: required slot %s is not set", r->name, slot_name);
}

static wick_status *check_table(const rule *r, const void *table) {
    uint32_t bytes;
    memcpy(&bytes, table, sizeof bytes);
    if (bytes < r->bytes)
        return WICK_ERROR(WICK_FAILED_PRECONDITION, "interface \"%s\" 1: got %u bytes, wanted %zu", r->name, bytes,
                          r->bytes);
    for (int i = 0; i < SLOTS && r->slots[i].name; ++i)
        if (!slot_at(table, r->slots[i].offset)) return not_set(r, r->slots[i].name);
    return NULL;
}

/* What is required under a condition. */
static wick_status *check_memory(const wick_memory_interface *m) {
    static const slot copies[] = {SLOT(MEMORY, copy_from_host), SLOT(MEMORY, copy_to_host), SLOT(MEMORY, copy)};
    for (size_t i = 0; !(m->flags & WICK_MEMORY_ADDRESSABLE) && i < sizeof copies / sizeof copies[0]; ++i)
        if (!slot_at(m, copies[i].offset)) return not_set(&rules[0], copies[i].name);
    if (m->alignment_bytes < 16 || m->alignment_bytes & (m->alignment_bytes - 1))
        return WICK_ERROR(WICK_FAILED_PRECONDITION,
                          "interface \"memory\" 1: alignment_bytes is %u, wanted a power of two >= 16",
                          m->alignment_bytes);
    bool pinned = WICK_HAS(m, MEMORY, allocate_pinned), unpinned = WICK_HAS(m, MEMORY, free_pinned);
    return pinned == unpinned ? NULL : not_set(&rules[0], pinned ? "free_pinned" : "allocate_pinned");
}

wick_status *interfaces_check(const wick_backend *backend, void *instance) {
    const void *memory = backend->get_interface(instance, "memory", 1);
    if (!memory) return WICK_ERROR(WICK_FAILED_PRECONDITION, "interface \"memory\" 1: got none, wanted one");
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; ++i) {
        const void *table = backend->get_interface(instance, rules[i].name, 1);
        if (table) WICK_TRY(check_table(&rules[i], table));
    }
    if (backend->get_interface(instance, "stream", 1) && !WICK_HAS(backend, wick_backend, synchronize))
        return WICK_ERROR(WICK_FAILED_PRECONDITION, "wick_backend: interface \"stream\" 1 requires slot synchronize");
    return check_memory(memory);
}
