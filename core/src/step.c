#include "step.h"

#include <stdarg.h>
#include <stdio.h>

#include "dispatch.h"
#include "memory.h"

#define ATTEMPTS 3 /* captures in a row that may be given up before the graph is */
#define ARENA_CHUNK (64 << 10)

typedef enum step_mode { STEP_PLAIN, STEP_CAPTURE, STEP_REPLAY } step_mode;

/* Copies of calls; they are dropped together. */
typedef struct arena_chunk {
    struct arena_chunk *next;
    size_t used, size;
    _Alignas(16) char bytes[];
} arena_chunk;

/* A launch of the capture: everything that its kernel may look at, copied. One of the same hash is the same launch, but for
 * where its random numbers begin. */
typedef struct recorded {
    uint64_t hash;
    const op_entry *op;
    const kernel_slot *slot;
    wick_kernel_call call;
    wick_philox philox; /* of the newest step */
} recorded;

struct wick_step_graph {
    wick_runtime *rt;
    wick_device device;
    const device_type *type;
    const wick_graph_interface *graphs;
    const wick_generator_interface *generator; /* NULL: random numbers are not captured */
    wick_memory random;                        /* {seed, offset} at the beginning of the step */
    uint64_t random_start;
    bool draws; /* the capture has random launches */
    memory_cache *memory;
    int warmup, failed_in_a_row;
    step_mode mode; /* of the open step */
    wick_stream *stream;
    void *executable; /* NULL: not captured yet */
    recorded *launches;
    size_t count, capacity; /* of the capture */
    size_t held_count;      /* launches that the replay holds back */
    arena_chunk *arena;
    wick_step_graph_info info;
};

/* ---- life ---- */
wick_status *wick_step_graph_create(wick_runtime *rt, wick_device device, int warmup, wick_step_graph **out) {
    const device_type *type = rt_device(rt, device.type);
    char name[64];
    if (!type || device.index < 0 || device.index >= type->count)
        return WICK_ERROR(WICK_NOT_FOUND, "wick_step_graph_create: no device %s",
                          wick_device_format(rt, device, name, sizeof name));
    const wick_graph_interface *graphs = type->backend->get_interface(type->instance, "graph", 1);
    if (!graphs || !type->streams)
        return WICK_ERROR(WICK_UNSUPPORTED, "wick_step_graph_create: device %s has no interface \"%s\" 1", type->name,
                          graphs ? "stream" : "graph");
    wick_step_graph *g = rt_calloc(rt, sizeof *g);
    if (!g) return WICK_ERROR(WICK_OUT_OF_MEMORY, "cannot allocate a step graph");
    *g = (wick_step_graph){.rt = rt, .device = device, .type = type, .graphs = graphs};
    g->generator = type->backend->get_interface(type->instance, "generator", 1);
    g->warmup = warmup < 1 ? 1 : warmup;
    g->info.struct_size = sizeof g->info;
    g->memory = memory_cache_create(rt, type, device.index);
    wick_status *s = g->memory ? NULL : WICK_ERROR(WICK_OUT_OF_MEMORY, "cannot allocate a step graph");
    if (!s && g->generator) s = memory_allocate(g->memory, NULL, 2 * sizeof(uint64_t), &g->random);
    if (s) {
        memory_cache_destroy(g->memory);
        rt_free(rt, g);
        return s;
    }
    wick_runtime_retain(rt);
    *out = g;
    return NULL;
}

static void arena_free(wick_step_graph *g) {
    for (arena_chunk *next; g->arena; g->arena = next) {
        next = g->arena->next;
        rt_free(g->rt, g->arena);
    }
}

bool wick_device_graphs(wick_runtime *rt, wick_device device) {
    const device_type *type = rt_device(rt, device.type);
    return type && type->graphs;
}

static void drop_capture(wick_step_graph *g) {
    if (g->executable) {
        wick_status_free(stream_wait_host(g->type, g->device.index, g->stream)); /* the next wait tells of it again */
        g->graphs->destroy(g->type->instance, g->device.index, g->executable);
    }
    g->executable = NULL;
    g->count = 0;
    arena_free(g);
}

/* Tensors of the pool may outlive the graph: the cache goes to the device type, which ends it. */
void wick_step_graph_destroy(wick_step_graph *g) {
    if (!g) return;
    wick_runtime *rt = g->rt;
    wick_status_free(wick_synchronize(rt, g->device));
    drop_capture(g);
    if (g->random.handle) memory_free(g->memory, NULL, NULL, &g->random);
    rt_free(rt, g->launches);
    memory_trim(g->memory);
    runtime_keep_cache(rt, g->device.type, g->memory);
    rt_free(rt, g);
    runtime_drop(rt);
}

void wick_step_graph_describe(const wick_step_graph *g, wick_step_graph_info *out) {
    uint32_t bytes = out->struct_size < sizeof *out ? out->struct_size : (uint32_t)sizeof *out;
    memcpy(out, &g->info, bytes);
    out->struct_size = bytes;
}

memory_cache *step_memory(const context_impl *c, wick_device device) {
    return c->step && wick_device_equal(c->step->device, device) ? c->step->memory : NULL;
}

wick_status *step_reserve(context_impl *c, uint64_t bytes) {
    wick_step_graph *g = c->step;
    if (g->mode == STEP_PLAIN || memory_has(g->memory, g->stream, bytes)) return NULL;
    return step_break(c, g->device, "memory has to be allocated");
}

/* ---- what a launch is ---- */
static uint64_t mix(uint64_t hash, uint64_t x) {
    hash ^= x + UINT64_C(0x9e3779b97f4a7c15) + (hash << 6) + (hash >> 2);
    return hash * UINT64_C(0xff51afd7ed558ccd);
}

static uint64_t mix_bytes(uint64_t hash, const void *data, size_t bytes) {
    const char *p = data;
    for (uint64_t word; bytes; p += sizeof word) {
        size_t n = bytes < sizeof word ? bytes : sizeof word;
        word = 0;
        memcpy(&word, p, n);
        hash = mix(hash, word);
        bytes -= n;
    }
    return hash;
}

/* A number of the host's is its value; a tensor of the device its place and shape. */
static uint64_t mix_tensor(uint64_t hash, const wick_tensor *t, wick_device device) {
    if (!t) return mix(hash, 0);
    hash = mix(hash, (uint64_t)t->dtype << 32 | (uint64_t)t->ndim << 16 | t->flags);
    if (!wick_device_equal(t->device, device) && wick_data(t))
        return mix_bytes(hash, wick_data(t), (size_t)t->numel * wick_dtype_bytes((wick_dtype)t->dtype));
    hash = mix(hash, (uint64_t)(uintptr_t)t->storage->memory.handle + t->storage->memory.offset_bytes);
    hash = mix(hash, (uint64_t)t->offset);
    hash = mix_bytes(hash, t->sizes, sizeof *t->sizes * t->ndim);
    return mix_bytes(hash, t->strides, sizeof *t->strides * t->ndim);
}

/* Bytes behind a list or string slot. */
static size_t payload_bytes(const wick_value *v) {
    switch (v->tag) {
    case WICK_TAG_C128: return 2 * sizeof(double);
    case WICK_TAG_BOOL_LIST: return v->count;
    case WICK_TAG_I64_LIST: return sizeof(int64_t) * (size_t)v->count;
    case WICK_TAG_F64_LIST: return sizeof(double) * (size_t)v->count;
    case WICK_TAG_STRING: return (size_t)v->count + 1;
    case WICK_TAG_SCALAR_LIST: return sizeof(wick_value) * (size_t)v->count;
    default: return 0;
    }
}

static uint64_t mix_value(uint64_t hash, const wick_value *v, wick_device device) {
    hash = mix(hash, (uint64_t)v->tag << 32 | v->count);
    if (v->tag == WICK_TAG_TENSOR) return mix_tensor(hash, v->as.tensor, device);
    if (v->tag == WICK_TAG_TENSOR_LIST) {
        for (uint32_t i = 0; i < v->count; ++i) hash = mix_tensor(hash, v->as.tensors[i], device);
        return hash;
    }
    size_t bytes = payload_bytes(v);
    if (bytes) return mix_bytes(hash, v->as.pointer, bytes);
    return v->tag == WICK_TAG_NONE ? hash : mix(hash, (uint64_t)v->as.i);
}

static uint64_t hash_call(const wick_kernel_call *call) {
    uint64_t hash = mix((uint64_t)(uintptr_t)call->op, (uint64_t)call->flags << 32 | call->compute_dtype);
    for (int i = 0; i < call->nargs + call->nouts; ++i) hash = mix_value(hash, &call->values[i], call->device);
    return mix(hash, (uint64_t)(uintptr_t)call->stream);
}

/* ---- a launch, copied ---- */
static void *arena_take(wick_step_graph *g, size_t bytes) {
    bytes = (bytes + 15) & ~(size_t)15;
    if (!g->arena || g->arena->size - g->arena->used < bytes) {
        size_t size = bytes > ARENA_CHUNK ? bytes : ARENA_CHUNK;
        arena_chunk *chunk = rt_alloc(g->rt, sizeof *chunk + size);
        if (!chunk) return NULL;
        *chunk = (arena_chunk){g->arena, 0, size};
        g->arena = chunk;
    }
    void *p = g->arena->bytes + g->arena->used;
    g->arena->used += bytes;
    return p;
}

static void *arena_copy(wick_step_graph *g, const void *data, size_t bytes) {
    void *copy = arena_take(g, bytes ? bytes : 1);
    return copy ? memcpy(copy, data, bytes) : NULL;
}

/* The tensor's prefix with its storage's, and the bytes of a number of the host's. */
static wick_tensor *copy_tensor(wick_step_graph *g, const wick_tensor *t) {
    wick_tensor *copy = arena_copy(g, t, sizeof *t);
    wick_storage *storage = copy ? arena_copy(g, t->storage, sizeof *t->storage) : NULL;
    wick_dim *dims = storage ? arena_take(g, 2 * sizeof *dims * ((size_t)t->ndim + 1)) : NULL;
    if (!dims) return NULL;
    memcpy(dims, t->sizes, sizeof *dims * t->ndim);
    memcpy(dims + t->ndim, t->strides, sizeof *dims * t->ndim);
    copy->sizes = dims;
    copy->strides = dims + t->ndim;
    copy->storage = storage;
    if (wick_device_equal(t->device, g->device) || !wick_data(t)) return copy;
    void *number = arena_copy(g, wick_data(t), (size_t)t->numel * wick_dtype_bytes((wick_dtype)t->dtype));
    storage->memory.data = storage->memory.handle = number;
    copy->offset = 0;
    return number ? copy : NULL;
}

static bool copy_value(wick_step_graph *g, const wick_value *from, wick_value *to) {
    *to = *from;
    if (from->tag == WICK_TAG_TENSOR) return (to->as.tensor = copy_tensor(g, from->as.tensor)) != NULL;
    if (from->tag == WICK_TAG_TENSOR_LIST) {
        wick_tensor **list = arena_take(g, sizeof *list * ((size_t)from->count + 1));
        for (uint32_t i = 0; list && i < from->count; ++i)
            if ((list[i] = from->as.tensors[i]) && !(list[i] = copy_tensor(g, list[i]))) return false;
        to->as.tensors = list;
        return list != NULL;
    }
    size_t bytes = payload_bytes(from);
    return !bytes || (to->as.pointer = arena_copy(g, from->as.pointer, bytes)) != NULL;
}

static bool record(wick_step_graph *g, const kernel_slot *slot, const wick_kernel_call *call) {
    int n = call->nargs + call->nouts;
    if (!rt_grow(g->rt, (void **)&g->launches, &g->capacity, g->count, sizeof *g->launches)) return false;
    wick_value *values = arena_take(g, sizeof *values * (size_t)n);
    for (int i = 0; values && i < n; ++i)
        if (!copy_value(g, &call->values[i], &values[i])) return false;
    if (!values) return false;
    recorded *r = &g->launches[g->count++];
    *r = (recorded){hash_call(call), call->op, slot, *call, *call->philox};
    r->call.values = values;
    return true;
}

static wick_status *release_held(context_impl *c, wick_step_graph *g) {
    for (size_t i = 0; i < g->held_count; ++i) {
        recorded *r = &g->launches[i];
        r->call.philox = &r->philox;
        r->call.context = PUB(c);
        WICK_TRY(slot_launch(c, r->slot, &r->call));
    }
    return NULL;
}

/* ---- leaving the graph ---- */
static void WICK_PRINTF(2, 3) count_fallback(wick_step_graph *g, const char *format, ...) {
    va_list list;
    va_start(list, format);
    vsnprintf(g->info.reason, sizeof g->info.reason, format, list);
    va_end(list);
    g->info.fallbacks++;
    g->failed_in_a_row++;
    drop_capture(g);
}

/* What was captured so far has not run yet. */
static wick_status *run_partial_capture(wick_step_graph *g) {
    void *instance = g->type->instance, *graph = NULL;
    WICK_TRY(g->graphs->capture_end(instance, g->device.index, stream_handle(g->stream), &graph));
    wick_status *s = g->graphs->launch(instance, g->device.index, graph, stream_handle(g->stream));
    if (!s) s = stream_wait_host(g->type, g->device.index, g->stream);
    g->graphs->destroy(instance, g->device.index, graph);
    return s;
}

static wick_status *leave(context_impl *c, wick_step_graph *g) {
    step_mode mode = g->mode;
    g->mode = STEP_PLAIN;
    return mode == STEP_CAPTURE ? run_partial_capture(g) : mode == STEP_REPLAY ? release_held(c, g) : NULL;
}

wick_status *step_break(context_impl *c, wick_device device, const char *reason) {
    wick_step_graph *g = c->step;
    if (!g || g->mode == STEP_PLAIN || !wick_device_equal(device, g->device)) return NULL;
    size_t n = g->mode == STEP_CAPTURE ? g->count : g->held_count;
    const char *last = n ? g->launches[n - 1].op->name : "none";
    wick_status *s = leave(c, g);
    count_fallback(g, "%s, after launch %zu (%s)", reason, n, last);
    return s;
}

/* ---- launches ---- */
/* A random kernel counts from the beginning of the step, which each run of the graph finds in device memory. */
static wick_status *capture_kernel(wick_step_graph *g, context_impl *c, const kernel_slot *slot,
                                   const wick_kernel_call *call) {
    const op_entry *op = call->op;
    if (!(op->def->flags & RANDOM)) return slot_launch(c, slot, call);
    const wick_philox relative = {call->philox->seed, call->philox->offset - g->random_start};
    wick_kernel_call captured = *call;
    captured.philox = &relative;
    captured.random_state = &g->random;
    g->draws = true;
    return slot_launch(c, slot, &captured);
}

static bool can_capture(const wick_step_graph *g, const kernel_slot *slot, const op_entry *op) {
    if (!(slot->flags & WICK_KERNEL_CAPTURE_SAFE)) return false;
    return !(op->def->flags & RANDOM) || (g->random.handle && slot->flags & WICK_KERNEL_RANDOM_STATE);
}

static wick_status *capture_launch(context_impl *c, wick_step_graph *g, const kernel_slot *slot,
                                   const wick_kernel_call *call) {
    const op_entry *op = call->op;
    bool safe = can_capture(g, slot, op);
    if (!safe || !record(g, slot, call)) {
        wick_status *s = leave(c, g);
        count_fallback(g, safe ? "%s: out of memory" : "%s cannot be captured", op->name);
        return s ? s : slot_launch(c, slot, call);
    }
    return capture_kernel(g, c, slot, call);
}

static wick_status *replay_launch(context_impl *c, wick_step_graph *g, const kernel_slot *slot,
                                  const wick_kernel_call *call) {
    recorded *r = g->held_count < g->count ? &g->launches[g->held_count] : NULL;
    if (WICK_LIKELY(r && r->hash == hash_call(call))) {
        r->philox = *call->philox;
        g->held_count++;
        return NULL;
    }
    const op_entry *op = call->op, *was = r ? r->op : NULL;
    wick_status *s = leave(c, g);
    count_fallback(g, "launch %zu: got %s, captured was %s%s", g->held_count, op->name, was ? was->name : "the end",
                   was == op ? " with other shapes, numbers or memory" : "");
    return s ? s : slot_launch(c, slot, call);
}

wick_status *step_launch(context_impl *c, const kernel_slot *slot, const wick_kernel_call *call) {
    wick_step_graph *g = c->step;
    switch (wick_device_equal(call->device, g->device) ? g->mode : STEP_PLAIN) {
    case STEP_CAPTURE: return capture_launch(c, g, slot, call);
    case STEP_REPLAY: return replay_launch(c, g, slot, call);
    default: return slot_launch(c, slot, call);
    }
}

/* ---- a step ---- */
/* Ahead of a capture, which may draw, and of a run of one that does. */
static wick_status *write_random_state(context_impl *c, wick_step_graph *g) {
    if (!g->generator || (g->executable && !g->draws)) return NULL;
    g->random_start = c->philox.offset;
    return g->generator->write_state(g->type->instance, g->device.index, stream_handle(g->stream), &g->random, 0,
                                     &c->philox);
}

static wick_status *begin_capture(wick_step_graph *g) {
    g->count = 0;
    g->draws = false;
    WICK_TRY(g->graphs->capture_begin(g->type->instance, g->device.index, stream_handle(g->stream)));
    g->mode = STEP_CAPTURE;
    return NULL;
}

/* Blocks in order of address, so that a step takes the same ones as the step before. */
bool wick_step_begin(wick_context *pub, wick_step_graph *g) {
    context_impl *c = ctx(pub);
    if (c->error) return false;
    if (c->step) return !FAIL(c, FAILED_PRECONDITION, "wick_step_begin: a step is open already");
    memory_sort(g->memory);
    g->held_count = 0;
    g->stream = context_stream(c, g->device);
    g->mode = STEP_PLAIN;
    c->step = g;
    bool ready = g->info.steps++ >= (uint64_t)g->warmup && g->failed_in_a_row < ATTEMPTS;
    if (!ready && !g->executable) return true;
    wick_status *s = write_random_state(c, g);
    if (!s && g->executable)
        g->mode = STEP_REPLAY;
    else if (!s)
        s = begin_capture(g);
    if (s) c->step = NULL;
    return !fail(c, s);
}

static wick_status *end_capture(wick_step_graph *g) {
    void *instance = g->type->instance, *stream = stream_handle(g->stream);
    WICK_TRY(g->graphs->capture_end(instance, g->device.index, stream, &g->executable));
    g->info.captures++;
    g->info.launches = (uint32_t)g->count;
    return g->graphs->launch(instance, g->device.index, g->executable, stream);
}

static wick_status *end_replay(context_impl *c, wick_step_graph *g) {
    if (g->held_count < g->count) {
        g->mode = STEP_REPLAY;
        return step_break(c, g->device, "the step ended early");
    }
    g->info.replays++;
    g->failed_in_a_row = 0;
    return g->graphs->launch(g->type->instance, g->device.index, g->executable, stream_handle(g->stream));
}

bool wick_step_end(wick_context *pub) {
    context_impl *c = ctx(pub);
    wick_step_graph *g = c->step;
    if (!g) return !FAIL(c, FAILED_PRECONDITION, "wick_step_end: no step is open");
    step_mode mode = g->mode;
    g->mode = STEP_PLAIN;
    c->step = NULL;
    wick_status *s = NULL;
    if (c->error && mode != STEP_PLAIN) {
        g->mode = mode;
        c->step = g;
        s = step_break(c, g->device, "the step failed");
        c->step = NULL;
    } else if (mode == STEP_CAPTURE) {
        s = end_capture(g);
    } else if (mode == STEP_REPLAY) {
        c->step = g;
        s = end_replay(c, g);
        c->step = NULL;
    }
    return !fail(c, s) && !c->error;
}
