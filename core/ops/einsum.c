/* einsum: operands are aligned to one order of labels, then contracted from left to right through bmm. */
#include <ctype.h>

#include "boxed.h"
#include "dims.h"
#include "rows.h"

enum { LETTERS = 52, ELLIPSIS = LETTERS, MAX_OPERANDS = 64 };

typedef struct term {
    uint8_t labels[WICK_MAX_DIMS]; /* a letter's number, or ELLIPSIS for the place of "..." */
    int count;
    bool ellipsis;
} term;

typedef struct equation {
    wick_context *c;
    term inputs[MAX_OPERANDS], output;
    int operands, ellipsis_dims; /* ellipsis_dims: the most that "..." stands for */
    int uses[LETTERS];           /* in the inputs */
    int axis[LETTERS];           /* of a letter in the common order; -1: none */
    int axes, kept;              /* axes 0..kept - 1 are the output's, in its order */
    int ellipsis_axis;           /* first of ellipsis_dims axes */
} equation;

static int label_of(char ch) { return ch >= 'A' && ch <= 'Z' ? ch - 'A' : ch - 'a' + 26; }

/* ---- reading ---- */
static bool read_term(equation *e, const char **p, const char *end, term *t, const char *what, int number) {
    t->count = 0;
    t->ellipsis = false;
    for (; *p < end && **p != ',' && **p != '-'; ++*p) {
        char ch = **p;
        if (ch == ' ') continue;
        if (ch == '.') {
            if (t->ellipsis || end - *p < 3 || (*p)[1] != '.' || (*p)[2] != '.')
                return !FAIL(ctx(e->c), INVALID_ARGUMENT,
                             "einsum(): found '.' for %s %d that is not part of any ellipsis, or a second ellipsis",
                             what, number);
            t->ellipsis = true;
            *p += 2;
        } else if (!isalpha((unsigned char)ch)) {
            return !FAIL(ctx(e->c), INVALID_ARGUMENT,
                         "einsum(): invalid subscript given at index %d in the equation string, subscripts must be in "
                         "[a-zA-Z]",
                         number);
        }
        if (t->count == WICK_MAX_DIMS)
            return !FAIL(ctx(e->c), INVALID_ARGUMENT, "einsum(): %s %d has too many subscripts", what, number);
        t->labels[t->count++] = (uint8_t)(ch == '.' ? ELLIPSIS : label_of(ch));
    }
    return true;
}

static bool read_inputs(equation *e, const char **p, const char *end) {
    for (int i = 0;; ++i) {
        if (i == e->operands)
            return !FAIL(ctx(e->c), INVALID_ARGUMENT,
                         "einsum(): fewer operands were provided than specified in the equation");
        if (!read_term(e, p, end, &e->inputs[i], "operand", i)) return false;
        if (*p < end && **p == ',') {
            ++*p;
            continue;
        }
        if (i + 1 < e->operands)
            return !FAIL(ctx(e->c), INVALID_ARGUMENT,
                         "einsum(): more operands were provided than specified in the equation");
        return true;
    }
}

static bool count_labels(equation *e, wick_tensor *const *operands) {
    for (int i = 0; i < e->operands; ++i) {
        const term *t = &e->inputs[i];
        int covered = operands[i]->ndim - (t->count - t->ellipsis);
        if (covered < 0 || (covered > 0 && !t->ellipsis))
            return !FAIL(ctx(e->c), INVALID_ARGUMENT,
                         "einsum(): the number of subscripts in the equation (%d) %s the number of dimensions (%d) for "
                         "operand %d%s",
                         t->count - t->ellipsis, covered < 0 ? "is more than" : "does not match", operands[i]->ndim, i,
                         covered > 0 ? " and no ellipsis was given" : "");
        if (t->ellipsis && covered > e->ellipsis_dims) e->ellipsis_dims = covered;
        for (int k = 0; k < t->count; ++k)
            if (t->labels[k] != ELLIPSIS) e->uses[t->labels[k]]++;
    }
    return true;
}

/* Without "->": the ellipsis, then the letters that occur once, in alphabetic order. */
static void imply_output(equation *e) {
    e->output.count = 0;
    e->output.labels[e->output.count++] = ELLIPSIS;
    for (int l = 0; l < LETTERS; ++l)
        if (e->uses[l] == 1) e->output.labels[e->output.count++] = (uint8_t)l;
    e->output.ellipsis = true;
}

static bool read_output(equation *e, const char *p, const char *end) {
    bool seen[LETTERS] = {false};
    if (p == end) {
        imply_output(e);
        return true;
    }
    if (end - p < 2 || p[1] != '>')
        return !FAIL(ctx(e->c), INVALID_ARGUMENT, "einsum(): found '-' that is not part of an arrow");
    p += 2;
    if (!read_term(e, &p, end, &e->output, "the output", 0)) return false;
    if (p != end) return !FAIL(ctx(e->c), INVALID_ARGUMENT, "einsum(): invalid output \"%s\"", p);
    for (int k = 0; k < e->output.count; ++k) {
        int l = e->output.labels[k];
        if (l == ELLIPSIS) continue;
        if (!e->uses[l] || seen[l])
            return !FAIL(ctx(e->c), INVALID_ARGUMENT, "einsum(): output subscript %c %s",
                         l < 26 ? 'A' + l : 'a' + l - 26,
                         seen[l] ? "appears more than once in the output"
                                 : "does not appear in the equation for any input operand");
        seen[l] = true;
    }
    return true;
}

/* The common order: the output's axes, then the ellipsis if the output has none, then the summed letters. */
static void order_axes(equation *e) {
    e->axes = 0;
    e->ellipsis_axis = -1;
    for (int l = 0; l < LETTERS; ++l) e->axis[l] = -1;
    for (int k = 0; k < e->output.count; ++k) {
        int l = e->output.labels[k];
        if (l == ELLIPSIS)
            e->ellipsis_axis = e->axes, e->axes += e->ellipsis_dims;
        else
            e->axis[l] = e->axes++;
    }
    e->kept = e->axes;
    if (e->ellipsis_axis < 0) e->ellipsis_axis = e->axes, e->axes += e->ellipsis_dims;
    for (int l = 0; l < LETTERS; ++l)
        if (e->uses[l] && e->axis[l] < 0) e->axis[l] = e->axes++;
}

/* ---- aligning ---- */
/* The operand with one dimension for every axis; absent ones have size 1. Repeated letters take the diagonal. */
static wick_tensor *align(const equation *e, int operand, wick_tensor *t) {
    int64_t place[WICK_MAX_DIMS], order[WICK_MAX_DIMS]; /* place[axis]: the dimension that holds it, -1 none */
    const term *in = &e->inputs[operand];
    int covered = t->ndim - (in->count - in->ellipsis), dim = 0;
    for (int a = 0; a < e->axes; ++a) place[a] = -1;
    for (int k = 0; k < in->count && t; ++k) {
        int l = in->labels[k];
        if (l == ELLIPSIS) {
            for (int j = 0; j < covered; ++j) place[e->ellipsis_axis + e->ellipsis_dims - covered + j] = dim++;
        } else if (place[e->axis[l]] < 0) {
            place[e->axis[l]] = dim++;
        } else {
            int64_t first = place[e->axis[l]];
            if (t->sizes[first] != t->sizes[dim]) {
                FAIL(ctx(e->c), INVALID_ARGUMENT,
                     "einsum(): subscript %c is repeated for operand %d but the sizes don't match, %lld != %lld",
                     l < 26 ? 'A' + l : 'a' + l - 26, operand, (long long)t->sizes[dim], (long long)t->sizes[first]);
                return NULL;
            }
            t = wick_movedim_int(e->c, diagonal_of(e->c, t, 0, first, dim), -1, first);
        }
    }
    for (int a = 0; a < e->axes && t; ++a)
        if (place[a] < 0) place[a] = dim++, t = wick_unsqueeze(e->c, t, -1);
    for (int a = 0; a < e->axes; ++a) order[a] = place[a];
    return wick_permute(e->c, t, order, (size_t)e->axes);
}

static bool check_sizes(const equation *e, wick_tensor *const *operands) {
    for (int a = 0; a < e->axes; ++a) {
        wick_dim size = 1;
        for (int i = 0; i < e->operands; ++i) {
            wick_dim own = operands[i]->sizes[a];
            if (own != 1 && size != 1 && own != size)
                return !FAIL(
                    ctx(e->c), INVALID_ARGUMENT,
                    "einsum(): operands do not broadcast with remapped shapes: axis %d has sizes %lld and %lld", a,
                    (long long)size, (long long)own);
            if (own != 1) size = own;
        }
    }
    return true;
}

/* ---- contracting ---- */
static wick_tensor *sum_axes(wick_context *c, wick_tensor *t, uint64_t mask) {
    int64_t dims[WICK_MAX_DIMS];
    int n = dims_list(mask, t->ndim, dims);
    return n ? CALL(c, sum_dim, V(t), INTS(dims, n), BOOLEAN(true), DTYPE((wick_dtype)t->dtype)) : t;
}

typedef struct axis_group {
    int64_t list[WICK_MAX_DIMS];
    int count;
    wick_dim size;
} axis_group;
static void push(axis_group *g, int axis, wick_dim size) {
    g->list[g->count++] = axis;
    g->size = wick_dim_mul(g->size, size);
}

static wick_tensor *grouped(wick_context *c, wick_tensor *t, const axis_group *a, const axis_group *b,
                            const axis_group *d, const axis_group *rest, const wick_dim sizes[3]) {
    const axis_group *groups[] = {a, b, d, rest};
    int64_t order[WICK_MAX_DIMS];
    int n = 0;
    for (int g = 0; g < 4; ++g)
        for (int k = 0; k < groups[g]->count; ++k) order[n++] = groups[g]->list[k];
    return wick_reshape(c, wick_permute(c, t, order, (size_t)n), sizes, 3);
}

/* Sum over the axes of `mask` of x y: axes of both are a batch or contracted, axes of one are rows or columns. */
static wick_tensor *contract(wick_context *c, wick_tensor *x, wick_tensor *y, uint64_t mask) {
    axis_group batch = {.size = 1}, rows = {.size = 1}, columns = {.size = 1}, inner = {.size = 1};
    wick_dim sizes[WICK_MAX_DIMS];
    int64_t back[WICK_MAX_DIMS];
    for (int a = 0; x && y && a < x->ndim; ++a) { /* what only one has is summed at once */
        if (!(mask >> a & 1)) continue;
        if (x->sizes[a] != 1 && y->sizes[a] == 1)
            x = sum_axes(c, x, 1ull << a);
        else if (y->sizes[a] != 1 && x->sizes[a] == 1)
            y = sum_axes(c, y, 1ull << a);
    }
    if (!x || !y) return NULL;
    for (int a = 0; a < x->ndim; ++a) {
        bool in_x = x->sizes[a] != 1, in_y = y->sizes[a] != 1;
        if (in_x && in_y)
            push(mask >> a & 1 ? &inner : &batch, a, x->sizes[a]);
        else
            push(in_y ? &columns : &rows, a, in_y ? y->sizes[a] : x->sizes[a]);
    }
    wick_tensor *left = grouped(c, x, &batch, &rows, &inner, &columns, (wick_dim[]){batch.size, rows.size, inner.size});
    wick_tensor *right =
        grouped(c, y, &batch, &inner, &columns, &rows, (wick_dim[]){batch.size, inner.size, columns.size});
    wick_tensor *product = wick_bmm(c, left, right);
    const axis_group *groups[] = {&batch, &rows, &columns, &inner};
    int n = 0;
    for (int g = 0; g < 4; ++g)
        for (int k = 0; k < groups[g]->count; ++k, ++n) {
            int64_t a = groups[g]->list[k];
            sizes[n] = g == 3 ? 1 : g == 2 ? y->sizes[a] : x->sizes[a];
            back[a] = n;
        }
    return wick_permute(c, wick_reshape(c, product, sizes, (size_t)n), back, (size_t)n);
}

static wick_tensor *evaluate(equation *e, wick_tensor *const *operands) {
    wick_tensor *aligned[MAX_OPERANDS], *out;
    uint64_t summed = MAX_MASK(e->axes) & ~MAX_MASK(e->kept);
    for (int i = 0; i < e->operands; ++i)
        if (!(aligned[i] = align(e, i, operands[i]))) return NULL;
    if (!check_sizes(e, aligned)) return NULL;
    out = aligned[0];
    if (e->operands == 1) out = sum_axes(e->c, out, summed);
    for (int i = 1; i < e->operands && out; ++i) {
        uint64_t last = summed; /* axes that no later operand has are done with */
        for (int k = i + 1; k < e->operands; ++k)
            for (int a = 0; a < e->axes; ++a)
                if (aligned[k]->sizes[a] != 1) last &= ~(1ull << a);
        out = contract(e->c, out, aligned[i], last);
    }
    return out ? wick_reshape(e->c, out, out->sizes, (size_t)e->kept) : NULL;
}

/* (equation, tensors, path): the path only matters for speed. */
void compose_einsum(wick_context *c, const wick_value *args, wick_value *rets) {
    const char *p = args[0].as.string, *end = p + strlen(p);
    wick_tensor *const *operands = args[1].as.tensors;
    if (!args[1].count || args[1].count > MAX_OPERANDS) {
        FAIL(ctx(c), INVALID_ARGUMENT, "einsum(): must provide at least one operand and at most %d", MAX_OPERANDS);
        return;
    }
    equation *e = rt_calloc(ctx(c)->rt, sizeof *e);
    if (!e) {
        FAIL(ctx(c), OUT_OF_MEMORY, "einsum(): cannot allocate the equation");
        return;
    }
    e->c = c;
    e->operands = (int)args[1].count;
    bool ok = read_inputs(e, &p, end) && count_labels(e, operands) && read_output(e, p, end);
    if (ok) order_axes(e);
    if (ok && e->axes > WICK_MAX_DIMS)
        ok = !FAIL(ctx(c), INVALID_ARGUMENT, "einsum(): %d subscripts are too many", e->axes);
    if (ok) give(rets, evaluate(e, operands));
    rt_free(ctx(c)->rt, e);
}
