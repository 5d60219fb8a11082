/* The driver that runs a fold over any shape.
 *
 * Two walks: rows (the reduced elements of one result lie together) and columns (neighbouring results lie together:
 * whole rows are folded into a block of accumulators). Leaves of bounded length enter a cascade, so that rounding
 * errors grow with the logarithm of the length. */
#include "reduction.h"

#include <string.h>

enum {
    COLUMN_BYTES = 4096,  /* accumulators of one block of columns */
    BUFFER_BYTES = 16384, /* converted elements */
    LEAF_ROWS = 128,      /* additions in a row before the sum enters the cascade */
    LEAF_ELEMENTS = 4096, /* elements that need no more, as they are folded in lanes */
    LANES = 32,
    CASCADE_LEVELS = 28,    /* 2^28 leaves */
    NARROW_BYTES = 512,     /* rows narrower than this are folded several at once */
    SPLIT_ELEMENTS = 65536, /* elements of one piece of a split reduction */
    SPLIT_UNITS = 64,
    ROWS = 32 /* results of one task of a row walk */
};

/* ---- cascade: a binary counter of partial results ---- */
typedef struct cascade {
    const fold_kernel *fold;
    int64_t width;
    size_t bytes; /* of one level */
    char *levels;
    uint32_t count;
} cascade;

/* Moves `acc` into the cascade and leaves identities. */
static void cascade_push(cascade *c, char *acc) {
    char *level = c->levels;
    for (uint32_t bits = c->count; bits & 1; bits >>= 1, level += c->bytes) c->fold->fold(acc, level, 1, 0, c->width);
    memcpy(level, acc, c->bytes);
    c->fold->fill(acc, c->width);
    ++c->count;
}

static void cascade_finish(cascade *c, char *acc) {
    char *level = c->levels;
    for (uint32_t bits = c->count; bits; bits >>= 1, level += c->bytes)
        if (bits & 1) c->fold->fold(acc, level, 1, 0, c->width);
}

/* ---- row walk ---- */
/* Folds n elements, at most LEAF_ELEMENTS. */
static void fold_elements(const reduction *r, const char *x, int64_t stride, int64_t n, char *acc) {
    _Alignas(64) char buffer[BUFFER_BYTES];
    int64_t room = BUFFER_BYTES / r->acc_size;
    for (int64_t i = 0; i < n; i += room) {
        int64_t m = reduce_min(room, n - i);
        r->load(buffer, x + i * stride * r->in_size, stride, m);
        if (r->map) r->map(buffer, m, r->map_param);
        r->fold->reduce(acc, buffer, m);
    }
}

static void fold_long_row(const reduction *r, const char *in, int64_t begin, int64_t end, char *acc) {
    const reduce_shape *s = &r->shape;
    const reduce_dim *inner = &s->reduced[s->nreduced - 1];
    bool direct = r->direct && inner->in == 1;
    char levels[CASCADE_LEVELS * sizeof(acc_c128)];
    cascade c = {r->fold, 1, r->acc_size, levels, 0};
    for (int64_t i = begin, leaf = 0, n; i < end; i += n) {
        int64_t outer = s->nreduced > 1 ? i / inner->size : 0, at = i - outer * inner->size;
        n = reduce_min(reduce_min(inner->size - at, end - i), LEAF_ELEMENTS);
        const char *x = in + (reduce_at(s->reduced, s->nreduced - 1, outer, NULL) + at * inner->in) * r->in_size;
        if (leaf > LEAF_ROWS) cascade_push(&c, acc), leaf = 0;
        if (direct)
            r->fold->reduce(acc, x, n);
        else
            fold_elements(r, x, inner->in, n, acc);
        leaf += n < 2 * LANES ? n : n / LANES;
    }
    cascade_finish(&c, acc);
}

/* Elements [begin, end) of each of `width` results. */
static void fold_result_rows(const reduction *r, const char *in, int64_t begin, int64_t end, int64_t width, char *acc) {
    const reduce_shape *s = &r->shape;
    int64_t n = end - begin, stride = s->nreduced ? s->reduced[0].in : 1, step = s->column.in * r->in_size;
    bool one_leaf = s->nreduced <= 1 && n <= LEAF_ELEMENTS;
    for (int64_t j = 0; j < width; ++j, in += step, acc += r->acc_size) {
        if (!one_leaf)
            fold_long_row(r, in, begin, end, acc);
        else if (r->direct && stride == 1)
            r->fold->reduce(acc, in + begin * r->in_size, n);
        else
            fold_elements(r, in + begin * stride * r->in_size, stride, n, acc);
    }
}

/* ---- column walk ---- */
/* Folds `rows` rows of `width` elements into acc. */
static void fold_block(const reduction *r, const char *x, int64_t rows, int64_t row_stride, int64_t width, char *acc) {
    _Alignas(64) char buffer[BUFFER_BYTES];
    int64_t room = BUFFER_BYTES / (width * r->acc_size), col_stride = r->shape.column.in;
    for (int64_t i = 0; i < rows; i += room) {
        int64_t m = reduce_min(room, rows - i);
        for (int64_t k = 0; k < m; ++k)
            r->load(buffer + k * width * r->acc_size, x + (i + k) * row_stride * r->in_size, col_stride, width);
        if (r->map) r->map(buffer, m * width, r->map_param);
        r->fold->fold(acc, buffer, m, width, width);
    }
}

static void fold_rows(const reduction *r, const char *x, int64_t rows, int64_t row_stride, int64_t width, char *acc) {
    if (r->direct && r->shape.column.in == 1)
        r->fold->fold(acc, x, rows, row_stride, width);
    else
        fold_block(r, x, rows, row_stride, width, acc);
}

/* How many narrow dense rows are folded at once; the accumulator holds that many. */
static int64_t rows_at_once(const reduction *r, int64_t width, int64_t rows) {
    const reduce_shape *s = &r->shape;
    const reduce_dim *inner = &s->reduced[s->nreduced - 1];
    if (s->column.in != 1 || width != s->column.size || inner->in != width) return 1;
    return reduce_max(1, reduce_min(NARROW_BYTES / (width * r->acc_size), rows / 4));
}

static void fold_columns(const reduction *r, const char *in, int64_t begin, int64_t end, int64_t width, char *acc) {
    const reduce_shape *s = &r->shape;
    const reduce_dim *inner = &s->reduced[s->nreduced - 1];
    int64_t group = rows_at_once(r, width, reduce_min(inner->size, end - begin));
    _Alignas(64) char levels[CASCADE_LEVELS * COLUMN_BYTES];
    cascade c = {r->fold, group * width, (size_t)(group * width) * r->acc_size, levels, 0};
    if (group > 1) r->fold->fill(acc + width * r->acc_size, (group - 1) * width);
    for (int64_t i = begin, leaf = 0, n; i < end; i += n) {
        int64_t outer = s->nreduced > 1 ? i / inner->size : 0, at = i - outer * inner->size;
        n = reduce_min(reduce_min(inner->size - at, end - i), LEAF_ROWS * group);
        const char *x = in + (reduce_at(s->reduced, s->nreduced - 1, outer, NULL) + at * inner->in) * r->in_size;
        if (leaf + n > LEAF_ROWS * group) cascade_push(&c, acc), leaf = 0;
        int64_t whole = n / group * group;
        fold_rows(r, x, n / group, inner->in * group, width * group, acc);
        if (n > whole) fold_rows(r, x + whole * inner->in * r->in_size, n - whole, inner->in, width, acc);
        leaf += n;
    }
    cascade_finish(&c, acc);
    if (group > 1) r->fold->fold(acc, acc + width * r->acc_size, group - 1, width, width);
}

/* ---- driver: tasks (a result, or a block of columns) times pieces of the reduced range ---- */
typedef struct reduce_plan {
    const reduction *r;
    int64_t pieces;
    char *partials; /* a slot of slot_bytes for every task and piece, if pieces > 1 */
    int64_t slot_bytes;
} reduce_plan;

static void emit(const reduction *r, int64_t task, char *acc) {
    int64_t out[2], width;
    reduce_task(&r->shape, task, out, &width);
    if (r->finish) r->finish(acc, width, r->finish_param);
    r->store(r->out + out[0] * r->out_size, r->shape.column.out[0], acc, width);
}

static void run_units(void *user, int64_t begin, int64_t end, int worker) {
    const reduce_plan *p = user;
    const reduction *r = p->r;
    _Alignas(64) char acc[COLUMN_BYTES];
    for (int64_t unit = begin; unit < end; ++unit) {
        int64_t task = unit / p->pieces, piece = unit - task * p->pieces, n = r->shape.reduced_count, out[2], width;
        int64_t from = n * piece / p->pieces, to = n * (piece + 1) / p->pieces;
        const char *in = r->in + reduce_task(&r->shape, task, out, &width) * r->in_size;
        r->fold->fill(acc, width);
        if (r->shape.columns)
            fold_columns(r, in, from, to, width, acc);
        else
            fold_result_rows(r, in, from, to, width, acc);
        if (p->pieces == 1)
            emit(r, task, acc);
        else
            memcpy(p->partials + unit * p->slot_bytes, acc, (size_t)width * r->acc_size);
    }
}

static void join_pieces(const reduce_plan *p) {
    const reduction *r = p->r;
    for (int64_t task = 0; task < r->shape.tasks; ++task) {
        int64_t out[2], width;
        char *acc = p->partials + task * p->pieces * p->slot_bytes;
        reduce_task(&r->shape, task, out, &width);
        for (int64_t piece = 1; piece < p->pieces; ++piece)
            r->fold->fold(acc, acc + piece * p->slot_bytes, 1, 0, width);
        emit(r, task, acc);
    }
}

wick_status *reduce_run(const wick_kernel_call *call, reduction *r) {
    reduce_shape *s = &r->shape;
    if (s->kept_count == 0) return NULL;
    reduce_split(s, COLUMN_BYTES / r->acc_size, ROWS);
    reduce_plan p = {.r = r, .pieces = 1};
    int64_t elements = s->kept_count * s->reduced_count;
    if (s->tasks < SPLIT_UNITS / 2 && elements >= 2 * SPLIT_ELEMENTS) {
        p.pieces = reduce_min(SPLIT_UNITS / s->tasks, reduce_min(elements / SPLIT_ELEMENTS, s->reduced_count));
        p.slot_bytes = s->block * r->acc_size;
        p.partials = call->host->workspace(call, (size_t)(s->tasks * p.pieces * p.slot_bytes));
        if (!p.partials) return WICK_HOST_ERROR(call->host, WICK_OUT_OF_MEMORY, "no memory for partial results");
    }
    int64_t units = s->tasks * p.pieces;
    cpu_parallel_for(cpu_of(call), units, reduce_max(1, CPU_GRAIN * units / reduce_max(elements, 1)), run_units, &p);
    if (p.pieces > 1) join_pieces(&p);
    return NULL;
}
