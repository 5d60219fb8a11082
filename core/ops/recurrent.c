/* Recurrent networks: cells, and layers of them run over a sequence. */
#include "boxed.h"
#include "rows.h"

typedef struct cell_weights {
    wick_tensor *ih, *hh, *bias_ih, *bias_hh;
    wick_tensor *projection; /* LSTM only; NULL: none */
} cell_weights;

typedef struct cell_state {
    wick_tensor *h, *cell; /* cell: LSTM only */
} cell_state;

/* One step. `in` is the input's share of the gates: input times ih plus bias. */
typedef void (*cell_fn)(wick_context *c, wick_tensor *in, const cell_weights *w, cell_state *s);

static wick_tensor *add(wick_context *c, wick_tensor *a, wick_tensor *b) { return wick_add(c, a, b, NULL); }
static wick_tensor *sub(wick_context *c, wick_tensor *a, wick_tensor *b) { return wick_sub(c, a, b, NULL); }

/* The gates lie one after another in the last dimension. */
static bool gates_of(wick_context *c, wick_tensor *t, int n, wick_tensor *const **out) {
    wick_chunk_options o = WICK_CHUNK_OPTIONS_INIT;
    o.dim = -1;
    size_t count = wick_chunk(c, t, n, &o, out);
    if (wick_failed(c)) return false;
    return count == (size_t)n ||
           !FAIL(ctx(c), INVALID_ARGUMENT, "recurrent cell: weights must hold %d gates, got %zu", n, count);
}

static void lstm_step(wick_context *c, wick_tensor *in, const cell_weights *w, cell_state *s) {
    wick_tensor *const *gate;
    if (!gates_of(c, add(c, in, wick_linear(c, s->h, w->hh, w->bias_hh)), 4, &gate)) return;
    wick_tensor *input = wick_sigmoid(c, gate[0]), *forget = wick_sigmoid(c, gate[1]),
                *output = wick_sigmoid(c, gate[3]);
    s->cell = add(c, wick_mul(c, forget, s->cell), wick_mul(c, input, wick_tanh(c, gate[2])));
    s->h = wick_mul(c, output, wick_tanh(c, s->cell));
    if (w->projection) s->h = wick_linear(c, s->h, w->projection, NULL);
}

static void gru_step(wick_context *c, wick_tensor *in, const cell_weights *w, cell_state *s) {
    wick_tensor *const *from_in, *const *from_h;
    if (!gates_of(c, in, 3, &from_in) || !gates_of(c, wick_linear(c, s->h, w->hh, w->bias_hh), 3, &from_h)) return;
    wick_tensor *reset = wick_sigmoid(c, add(c, from_in[0], from_h[0])),
                *update = wick_sigmoid(c, add(c, from_in[1], from_h[1]));
    wick_tensor *fresh = wick_tanh(c, add(c, from_in[2], wick_mul(c, reset, from_h[2])));
    s->h = add(c, wick_mul(c, sub(c, s->h, fresh), update), fresh);
}

static void tanh_step(wick_context *c, wick_tensor *in, const cell_weights *w, cell_state *s) {
    s->h = wick_tanh(c, add(c, in, wick_linear(c, s->h, w->hh, w->bias_hh)));
}
static void relu_step(wick_context *c, wick_tensor *in, const cell_weights *w, cell_state *s) {
    s->h = wick_relu(c, add(c, in, wick_linear(c, s->h, w->hh, w->bias_hh)));
}

/* ---- single cells: (input, hx, w_ih, w_hh, b_ih, b_hh) ---- */
static cell_state run_cell(wick_context *c, const wick_value *args, cell_fn step, cell_state s) {
    cell_weights w = {T(2), T(3), T(4), T(5), NULL};
    step(c, wick_linear(c, T(0), w.ih, w.bias_ih), &w, &s);
    return s;
}
static void plain_cell(wick_context *c, const wick_value *args, wick_value *rets, cell_fn step) {
    give(rets, run_cell(c, args, step, (cell_state){T(1), NULL}).h);
}
void compose_gru_cell(wick_context *c, const wick_value *args, wick_value *rets) {
    plain_cell(c, args, rets, gru_step);
}
void compose_rnn_tanh_cell(wick_context *c, const wick_value *args, wick_value *rets) {
    plain_cell(c, args, rets, tanh_step);
}
void compose_rnn_relu_cell(wick_context *c, const wick_value *args, wick_value *rets) {
    plain_cell(c, args, rets, relu_step);
}
void compose_lstm_cell(wick_context *c, const wick_value *args, wick_value *rets) {
    if (args[1].count != 2) {
        FAIL(ctx(c), INVALID_ARGUMENT, "lstm_cell expects two hidden states");
        return;
    }
    cell_state s = run_cell(c, args, lstm_step, (cell_state){args[1].as.tensors[0], args[1].as.tensors[1]});
    rets[0] = V(s.h), rets[1] = V(s.cell);
}

/* ---- layers: (input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first) ---- */
typedef struct network {
    wick_context *c;
    cell_fn step;
    wick_tensor *const *params;
    int per_cell; /* parameters of a layer's direction */
    int layers, directions;
    bool biases, projected;
    double dropout;                        /* 0 unless training */
    wick_tensor *const *h0, *const *cell0; /* by layer * directions + direction */
    wick_tensor **h, **cell;               /* what each ends with */
} network;

static cell_weights weights_of(const network *n, int at) {
    wick_tensor *const *p = n->params + at * n->per_cell;
    cell_weights w = {p[0], p[1], NULL, NULL, NULL};
    if (n->biases) w.bias_ih = p[2], w.bias_hh = p[3];
    if (n->projected) w.projection = p[n->per_cell - 1];
    return w;
}

/* One direction of one layer over x [T, N, F]. */
static wick_tensor *run_direction(const network *n, wick_tensor *x, int at, bool reversed) {
    wick_context *c = n->c;
    cell_weights w = weights_of(n, at);
    cell_state s = {n->h0[at], n->cell0 ? n->cell0[at] : NULL};
    wick_tensor *const *in;
    size_t steps = unbind_of(c, wick_linear(c, x, w.ih, w.bias_ih), 0, &in);
    wick_tensor **out = wick_failed(c) ? NULL : scope_array(ctx(c), steps + 1);
    for (size_t i = 0; out && i < steps && !wick_failed(c); ++i) {
        size_t t = reversed ? steps - 1 - i : i;
        n->step(c, in[t], &w, &s);
        out[t] = s.h;
    }
    n->h[at] = s.h;
    if (n->cell) n->cell[at] = s.cell;
    return out && !wick_failed(c) ? stack_of(c, out, steps, 0) : NULL;
}

static wick_tensor *run_layers(const network *n, wick_tensor *x) {
    for (int layer = 0; layer < n->layers && x; ++layer) {
        wick_tensor *both[2] = {NULL, NULL};
        for (int d = 0; d < n->directions; ++d) both[d] = run_direction(n, x, layer * n->directions + d, d == 1);
        x = n->directions == 2 ? cat_of(n->c, both, 2, -1) : both[0];
        if (n->dropout > 0 && layer + 1 < n->layers) x = wick_dropout(n->c, x, n->dropout, true);
    }
    return x;
}

static bool prepare(network *n, wick_context *c, const wick_value *args, cell_fn step, wick_tensor *h,
                    wick_tensor *cell) {
    n->c = c;
    n->step = step;
    n->params = args[2].as.tensors;
    n->biases = I(3), n->layers = (int)I(4), n->dropout = I(6) ? F(5) : 0, n->directions = I(7) ? 2 : 1;
    int cells = n->layers * n->directions;
    if (T(0)->ndim != 3)
        return !FAIL(ctx(c), INVALID_ARGUMENT, "a recurrent layer needs an input of 3 dimensions, got %d", T(0)->ndim);
    if (n->layers < 1 || h->ndim != 3 || h->sizes[0] != cells || (cell && (cell->ndim != 3 || cell->sizes[0] != cells)))
        return !FAIL(ctx(c), INVALID_ARGUMENT, "Expected hidden states of 3 dimensions with %d in the first", cells);
    n->projected = cell && cell->sizes[2] != h->sizes[2];
    n->per_cell = 2 + (n->biases ? 2 : 0) + n->projected;
    if ((int)args[2].count != cells * n->per_cell)
        return !FAIL(ctx(c), INVALID_ARGUMENT, "Expected %d parameters, got %u", cells * n->per_cell, args[2].count);
    n->cell0 = NULL, n->cell = NULL;
    unbind_of(c, h, 0, &n->h0);
    n->h = scope_array(ctx(c), (size_t)cells);
    if (cell) {
        unbind_of(c, cell, 0, &n->cell0);
        n->cell = scope_array(ctx(c), (size_t)cells);
    }
    return n->h && (!cell || n->cell) && !wick_failed(c);
}

static void run_network(wick_context *c, const wick_value *args, wick_value *rets, cell_fn step, wick_tensor *h,
                        wick_tensor *cell) {
    network n;
    if (!prepare(&n, c, args, step, h, cell)) return;
    size_t cells = (size_t)(n.layers * n.directions);
    wick_tensor *x = I(8) ? wick_transpose(c, T(0), 0, 1) : T(0), *out = run_layers(&n, x);
    if (wick_failed(c)) return;
    rets[0] = V(I(8) ? wick_transpose(c, out, 0, 1) : out);
    rets[1] = V(stack_of(c, n.h, cells, 0));
    if (cell) rets[2] = V(stack_of(c, n.cell, cells, 0));
}

void compose_lstm(wick_context *c, const wick_value *args, wick_value *rets) {
    if (args[1].count == 2)
        run_network(c, args, rets, lstm_step, args[1].as.tensors[0], args[1].as.tensors[1]);
    else
        FAIL(ctx(c), INVALID_ARGUMENT, "lstm expects two hidden states");
}
void compose_gru(wick_context *c, const wick_value *args, wick_value *rets) {
    run_network(c, args, rets, gru_step, T(1), NULL);
}
void compose_rnn_tanh(wick_context *c, const wick_value *args, wick_value *rets) {
    run_network(c, args, rets, tanh_step, T(1), NULL);
}
void compose_rnn_relu(wick_context *c, const wick_value *args, wick_value *rets) {
    run_network(c, args, rets, relu_step, T(1), NULL);
}
