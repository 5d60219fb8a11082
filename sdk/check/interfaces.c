/* The tables that a device offers: their sizes and required slots, as wick/sdk/interface.h says. */
#include <stdalign.h>
#include <stddef.h>
#include <string.h>

#include "runner.h"

enum need {
    REQUIRED,
    OPTIONAL,
    COPIES, /* required unless memory is addressable */
    PAIRED  /* this one and the next: both or neither */
};

typedef struct slot {
    const char *name;
    size_t offset;
    enum need need;
} slot;

typedef struct interface_row {
    const char *name;
    size_t bytes;
    const slot *slots;
    size_t slot_count;
} interface_row;

#define SLOT(type, field, need_) \
    { #field, offsetof(wick_##type##_interface, field), need_ }
#define INTERFACE(type) \
    { #type, sizeof(wick_##type##_interface), type##_slots, sizeof type##_slots / sizeof(slot) }

static const slot memory_slots[] = {
    SLOT(memory, allocate, REQUIRED),      SLOT(memory, free, REQUIRED),        SLOT(memory, copy_from_host, COPIES),
    SLOT(memory, copy_to_host, COPIES),    SLOT(memory, copy, COPIES),          SLOT(memory, copy_peer, OPTIONAL),
    SLOT(memory, allocate_pinned, PAIRED), SLOT(memory, free_pinned, OPTIONAL),
};
static const slot stream_slots[] = {
    SLOT(stream, create, REQUIRED),
    SLOT(stream, destroy, REQUIRED),
    SLOT(stream, synchronize, REQUIRED),
    SLOT(stream, query, REQUIRED),
};
static const slot event_slots[] = {
    SLOT(event, create, REQUIRED),  SLOT(event, destroy, REQUIRED),     SLOT(event, record, REQUIRED),
    SLOT(event, wait, REQUIRED),    SLOT(event, synchronize, REQUIRED), SLOT(event, query, REQUIRED),
    SLOT(event, elapsed, OPTIONAL),
};
static const slot generator_slots[] = {SLOT(generator, write_state, REQUIRED)};
static const slot autocast_slots[] = {SLOT(autocast, rows, REQUIRED)};
static const slot profiler_slots[] = {SLOT(profiler, start, REQUIRED), SLOT(profiler, stop, REQUIRED)};
static const slot graph_slots[] = {
    SLOT(graph, capture_begin, REQUIRED),
    SLOT(graph, capture_end, REQUIRED),
    SLOT(graph, launch, REQUIRED),
    SLOT(graph, destroy, REQUIRED),
};
static const slot ipc_slots[] = {
    SLOT(ipc, export_memory, REQUIRED), SLOT(ipc, open_memory, REQUIRED), SLOT(ipc, close_memory, REQUIRED),
    SLOT(ipc, export_event, PAIRED),    SLOT(ipc, open_event, OPTIONAL),
};
static const slot collectives_slots[] = {
    SLOT(collectives, create_id, REQUIRED),      SLOT(collectives, create, REQUIRED),
    SLOT(collectives, destroy, REQUIRED),        SLOT(collectives, all_reduce, REQUIRED),
    SLOT(collectives, broadcast, REQUIRED),      SLOT(collectives, all_gather, REQUIRED),
    SLOT(collectives, reduce_scatter, REQUIRED), SLOT(collectives, send, REQUIRED),
    SLOT(collectives, receive, REQUIRED),        SLOT(collectives, group_begin, PAIRED),
    SLOT(collectives, group_end, OPTIONAL),
};
static const slot serialization_slots[] = {SLOT(serialization, save, REQUIRED), SLOT(serialization, restore, REQUIRED)};
static const slot threads_slots[] = {SLOT(threads, count, REQUIRED), SLOT(threads, parallel_for, REQUIRED)};

static const interface_row interfaces[] = {
    INTERFACE(memory),      INTERFACE(stream),        INTERFACE(event),   INTERFACE(generator),
    INTERFACE(autocast),    INTERFACE(profiler),      INTERFACE(graph),   INTERFACE(ipc),
    INTERFACE(collectives), INTERFACE(serialization), INTERFACE(threads),
};

static bool is_set(const void *table, size_t offset) {
    void *value;
    memcpy(&value, (const char *)table + offset, sizeof value);
    return value != NULL;
}

static bool is_wanted(const interface_row *row, const slot *s, const void *table) {
    uint32_t flags;
    memcpy(&flags, (const char *)table + sizeof(uint32_t), sizeof flags);
    if (s->need == COPIES) return !(flags & WICK_MEMORY_ADDRESSABLE);
    if (s->need == PAIRED) return is_set(table, s[1].offset);
    return s->need == REQUIRED && strcmp(row->name, "autocast") != 0; /* an empty policy has no rows */
}

static void check_slots(runner *r, const interface_row *row, const char *item, const void *table) {
    int missing = 0;
    for (size_t i = 0; i < row->slot_count; ++i) {
        const slot *s = &row->slots[i];
        bool set = is_set(table, s->offset);
        bool alone = s->need == PAIRED && set && !is_set(table, s[1].offset);
        if ((set || !is_wanted(row, s, table)) && !alone) continue;
        ++missing;
        check_fail(r, item, alone ? s[1].name : s->name, "%s",
                   alone || s->need == PAIRED ? "one of a pair is set, wanted both or neither"
                                              : "a required slot is not set");
    }
    if (!missing) check_pass(r, item, "slots");
}

/* Its size first: it says which fields are there. */
static void check_table(runner *r, const interface_row *row, const char *item, const void *table) {
    uint32_t bytes;
    if (!check_that(r, (uintptr_t)table % alignof(max_align_t) % alignof(void *) == 0, item, "alignment",
                    "the table's address %p is not aligned", table))
        return;
    memcpy(&bytes, table, sizeof bytes);
    if (check_that(r, bytes >= row->bytes, item, "size", "got %u bytes, wanted %zu", bytes, row->bytes))
        check_slots(r, row, item, table);
    check_that(r, plugin_interface(r, row->name, NULL) == table, item, "constant",
               "asked twice it gave two tables, wanted one that stays");
    check_that(r, !wick_backend_interface(r->runtime, r->device.type, row->name, 999, NULL), item, "version",
               "it answered to version 999, which does not exist: wanted NULL");
}

void check_interfaces(runner *r) {
    char item[64], have[256] = "";
    for (size_t i = 0; i < sizeof interfaces / sizeof interfaces[0]; ++i) {
        const interface_row *row = &interfaces[i];
        const void *table = plugin_interface(r, row->name, NULL);
        if (!table) continue;
        snprintf(item, sizeof item, "interface %s", row->name);
        snprintf(have + strlen(have), sizeof have - strlen(have), "%s%s", have[0] ? ", " : "", row->name);
        check_table(r, row, item, table);
    }
    check_note(r, "interfaces", "", "%s", have);
    check_that(r, !plugin_interface(r, "no such interface", NULL), "interfaces", "unknown name",
               "an unknown name was answered with a table, wanted NULL");
    check_that(r, !plugin_interface(r, "event", NULL) || plugin_interface(r, "stream", NULL), "interfaces",
               "event without stream", "events mark points of streams: wanted the interface stream, too");
}
