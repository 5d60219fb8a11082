/* Optimizers: groups, state, and one row per algorithm. */
#include "options.h"

#include <wick/autograd.h>
#include <wick/ops.h>

#define SLOTS 4 /* state tensors of a parameter */

typedef struct parameter {
    wick_tensor *tensor;
    wick_tensor *state[SLOTS]; /* NULL until the first step */
} parameter;

typedef struct group {
    double values[OPTIONS_LIMIT];
    parameter *params;
    size_t count;
    wick_tensor *steps; /* [count]: what the step counts are views of; NULL until the first step */
    /* what a step hands to the operator: tensors, gradients and state of the parameters that take part */
    wick_tensor **lists[2 + SLOTS];
} group;

/* The parameters of one operator call. */
typedef struct batch {
    group *g;
    size_t count;
    bool first; /* their state is new */
} batch;

typedef struct optimizer_row {
    const char *name;
    size_t option_count;
    wick_option options[OPTIONS_LIMIT];
    const char *slots[SLOTS]; /* names of the state */
    bool (*uses_slot)(const group *g, int slot);
    bool (*update)(wick_context *c, const batch *b);
    bool separate_first; /* parameters on their first step need a call of their own */
} optimizer_row;

struct wick_optimizer {
    const optimizer_row *row;
    group *groups;
    size_t group_count, group_capacity;
};

#define LIST(b, k) (b)->g->lists[k], (b)->count

/* ---- SGD ---- */
enum { SGD_LR, SGD_MOMENTUM, SGD_DAMPENING, SGD_DECAY, SGD_NESTEROV, SGD_MAXIMIZE };

static bool sgd_uses(const group *g, int slot) { return slot == 0 && g->values[SGD_MOMENTUM] != 0; }

static bool sgd_update(wick_context *c, const batch *b) {
    const double *v = b->g->values;
    size_t buffers = v[SGD_MOMENTUM] != 0 ? b->count : 0;
    wick__fused_sgd_(c, LIST(b, 0), LIST(b, 1), b->g->lists[2], buffers, v[SGD_DECAY], v[SGD_MOMENTUM], v[SGD_LR],
                     v[SGD_DAMPENING], v[SGD_NESTEROV] != 0, v[SGD_MAXIMIZE] != 0, b->first, NULL, NULL);
    return !wick_failed(c);
}

/* ---- Adam and AdamW ---- */
enum { ADAM_LR, ADAM_BETA1, ADAM_BETA2, ADAM_EPS, ADAM_DECAY, ADAM_AMSGRAD, ADAM_MAXIMIZE };
enum { STEP, EXP_AVG, EXP_AVG_SQ, MAX_EXP_AVG_SQ };

static bool adam_uses(const group *g, int slot) { return slot != MAX_EXP_AVG_SQ || g->values[ADAM_AMSGRAD] != 0; }

/* All at once if all take part. */
static bool count_steps(wick_context *c, const batch *b) {
    const group *g = b->g;
    wick_tensor *const *steps = g->lists[2 + STEP];
    bool whole = b->count == g->count;
    for (size_t i = 0; whole && i < b->count; ++i) whole = wick_device_equal(steps[i]->device, g->steps->device);
    if (whole) return wick_add_scalar_(c, g->steps, wick_value_int(1), NULL) != NULL;
    for (size_t i = 0; i < b->count; ++i)
        if (!wick_add_scalar_(c, steps[i], wick_value_int(1), NULL)) return false;
    return true;
}

#define ADAM_UPDATE(name)                                                                                             \
    static bool name##_update(wick_context *c, const batch *b) {                                                      \
        const double *v = b->g->values;                                                                               \
        bool amsgrad = v[ADAM_AMSGRAD] != 0;                                                                          \
        if (!count_steps(c, b)) return false;                                                                         \
        wick__fused_##name##_(c, LIST(b, 0), LIST(b, 1), LIST(b, 2 + EXP_AVG), LIST(b, 2 + EXP_AVG_SQ),               \
                              b->g->lists[2 + MAX_EXP_AVG_SQ], amsgrad ? b->count : 0, LIST(b, 2 + STEP), v[ADAM_LR], \
                              v[ADAM_BETA1], v[ADAM_BETA2], v[ADAM_DECAY], v[ADAM_EPS], amsgrad,                      \
                              v[ADAM_MAXIMIZE] != 0, NULL, NULL);                                                     \
        return !wick_failed(c);                                                                                       \
    }
ADAM_UPDATE(adam)
ADAM_UPDATE(adamw)

#define ADAM_OPTIONS(decay)                                                                                       \
    7, {                                                                                                          \
        {"lr", 1e-3}, {"beta1", 0.9}, {"beta2", 0.999}, {"eps", 1e-8}, {"weight_decay", decay}, {"amsgrad", 0}, { \
            "maximize", 0                                                                                         \
        }                                                                                                         \
    }
static const optimizer_row rows[] = {
    {"sgd",
     6,
     {{"lr", 1e-3}, {"momentum", 0}, {"dampening", 0}, {"weight_decay", 0}, {"nesterov", 0}, {"maximize", 0}},
     {"momentum_buffer"},
     sgd_uses,
     sgd_update,
     true},
    {"adam", ADAM_OPTIONS(0), {"step", "exp_avg", "exp_avg_sq", "max_exp_avg_sq"}, adam_uses, adam_update, false},
    {"adamw", ADAM_OPTIONS(1e-2), {"step", "exp_avg", "exp_avg_sq", "max_exp_avg_sq"}, adam_uses, adamw_update, false},
};

bool wick_optimizer_describe(size_t index, wick_option_list *out) {
    if (index >= COUNT(rows)) return false;
    *out = (wick_option_list){sizeof *out, rows[index].name, rows[index].option_count, rows[index].options};
    return true;
}

/* ---- life ---- */
static void group_free(group *g) {
    for (size_t i = 0; g->params && i < g->count; ++i) {
        wick_release(g->params[i].tensor);
        for (int k = 0; k < SLOTS; ++k) wick_release(g->params[i].state[k]);
    }
    wick_release(g->steps);
    free(g->params);
    free(g->lists[0]);
}

void wick_optimizer_free(wick_optimizer *o) {
    if (!o) return;
    for (size_t i = 0; i < o->group_count; ++i) group_free(&o->groups[i]);
    free(o->groups);
    free(o);
}

static bool has_parameter(const wick_optimizer *o, const wick_tensor *t) {
    for (size_t g = 0; g < o->group_count; ++g)
        for (size_t i = 0; i < o->groups[g].count; ++i)
            if (o->groups[g].params[i].tensor == t) return true;
    return false;
}

static bool check_parameters(wick_context *c, const wick_optimizer *o, wick_tensor *const *params, size_t n) {
    for (size_t i = 0; i < n; ++i) {
        if (!params[i]) return !FAIL(c, INVALID_ARGUMENT, "%s: parameter %zu is NULL", o->row->name, i);
        if (!wick_is_leaf(params[i]))
            return !FAIL(c, INVALID_ARGUMENT, "%s: can't optimize a non-leaf tensor (parameter %zu)", o->row->name, i);
        if (has_parameter(o, params[i]))
            return !FAIL(c, INVALID_ARGUMENT, "%s: parameter %zu is in another group already", o->row->name, i);
    }
    return true;
}

static bool fill_group(wick_context *c, wick_optimizer *o, group *g, wick_tensor *const *params, size_t n) {
    size_t room = n ? n : 1;
    g->params = calloc(room, sizeof *g->params);
    g->lists[0] = calloc(room * COUNT(g->lists), sizeof *g->lists[0]);
    if (!g->params || !g->lists[0] ||
        !grow((void **)&o->groups, &o->group_capacity, o->group_count, sizeof *o->groups)) {
        group_free(g);
        return !FAIL(c, OUT_OF_MEMORY, "%s: no memory for a group of parameters", o->row->name);
    }
    for (size_t k = 1; k < COUNT(g->lists); ++k) g->lists[k] = g->lists[0] + k * room;
    for (size_t i = 0; i < n; ++i) g->params[i].tensor = wick_retain(params[i]);
    g->count = n;
    o->groups[o->group_count++] = *g;
    return true;
}

bool wick_optimizer_add_group(wick_context *c, wick_optimizer *o, wick_tensor *const *params, size_t n,
                              const wick_option *options, size_t option_count) {
    const optimizer_row *row = o->row;
    group g = {.count = 0};
    if (wick_failed(c) || !check_parameters(c, o, params, n)) return false;
    for (size_t i = 0; i < row->option_count; ++i)
        g.values[i] = o->group_count ? o->groups[0].values[i] : row->options[i].value;
    return options_apply(c, row->name, row->options, row->option_count, options, option_count, g.values) &&
           fill_group(c, o, &g, params, n);
}

static const optimizer_row *find_row(wick_context *c, const char *name) {
    for (size_t i = 0; i < COUNT(rows); ++i)
        if (!strcmp(rows[i].name, name)) return &rows[i];
    return FAIL(c, NOT_FOUND, "no optimizer is called '%s'; there are: sgd, adam, adamw", name), NULL;
}

wick_optimizer *wick_optimizer_create(wick_context *c, const char *name, wick_tensor *const *params, size_t n,
                                      const wick_option *options, size_t option_count) {
    const optimizer_row *row = wick_failed(c) ? NULL : find_row(c, name);
    if (!row) return NULL;
    wick_optimizer *o = calloc(1, sizeof *o);
    if (!o) return FAIL(c, OUT_OF_MEMORY, "no memory for an optimizer"), NULL;
    o->row = row;
    if (wick_optimizer_add_group(c, o, params, n, options, option_count)) return o;
    wick_optimizer_free(o);
    return NULL;
}

wick_optimizer *wick_sgd_create(wick_context *c, wick_tensor *const *params, size_t n,
                                const wick_sgd_options *options) {
    static const wick_sgd_options defaults = WICK_SGD_OPTIONS_INIT;
    const wick_sgd_options *o = options ? options : &defaults;
    const wick_option list[] = {{"lr", o->lr},
                                {"momentum", o->momentum},
                                {"dampening", o->dampening},
                                {"weight_decay", o->weight_decay},
                                {"nesterov", o->nesterov},
                                {"maximize", o->maximize}};
    return wick_optimizer_create(c, "sgd", params, n, list, COUNT(list));
}

static wick_optimizer *adam_create(wick_context *c, const char *name, wick_tensor *const *params, size_t n,
                                   const wick_adam_options *o) {
    const wick_option list[] = {{"lr", o->lr},
                                {"beta1", o->beta1},
                                {"beta2", o->beta2},
                                {"eps", o->eps},
                                {"weight_decay", o->weight_decay},
                                {"amsgrad", o->amsgrad},
                                {"maximize", o->maximize}};
    return wick_optimizer_create(c, name, params, n, list, COUNT(list));
}

wick_optimizer *wick_adam_create(wick_context *c, wick_tensor *const *params, size_t n,
                                 const wick_adam_options *options) {
    static const wick_adam_options defaults = WICK_ADAM_OPTIONS_INIT;
    return adam_create(c, "adam", params, n, options ? options : &defaults);
}

wick_optimizer *wick_adamw_create(wick_context *c, wick_tensor *const *params, size_t n,
                                  const wick_adam_options *options) {
    static const wick_adam_options defaults = WICK_ADAMW_OPTIONS_INIT;
    return adam_create(c, "adamw", params, n, options ? options : &defaults);
}

/* ---- options ---- */
int wick_optimizer_groups(const wick_optimizer *o) { return (int)o->group_count; }

static double *option_at(const wick_optimizer *o, int g, const char *name) {
    int k = option_index(o->row->options, o->row->option_count, name);
    return k < 0 || g < 0 || (size_t)g >= o->group_count ? NULL : &o->groups[g].values[k];
}
bool wick_optimizer_get(const wick_optimizer *o, int g, const char *option, double *out) {
    const double *value = option_at(o, g, option);
    if (value) *out = *value;
    return value != NULL;
}
bool wick_optimizer_set(wick_optimizer *o, int g, const char *option, double value) {
    double *place = option_at(o, g, option);
    if (place) *place = value;
    return place != NULL;
}

/* ---- steps ---- */
static wick_tensor *new_zeros(wick_context *c, wick_device device, int ndim, const wick_dim *sizes) {
    wick_zeros_options o = WICK_ZEROS_OPTIONS_INIT;
    o.dtype = WICK_F32, o.device = device;
    return wick_zeros(c, sizes, ndim, &o);
}

/* The step count of parameter p: a view of the group's, if it is on their device. */
static wick_tensor *make_step(wick_context *c, group *g, const parameter *p) {
    const wick_dim count = (wick_dim)g->count;
    const wick_device device = p->tensor->device;
    if (!g->steps && !(g->steps = wick_keep(c, new_zeros(c, device, 1, &count)))) return NULL;
    if (!wick_device_equal(g->steps->device, device)) return new_zeros(c, device, 0, NULL);
    return wick_select(c, g->steps, 0, p - g->params);
}

static bool make_slot(wick_context *c, const optimizer_row *row, group *g, parameter *p, int k) {
    wick_scope scope = wick_scope_open(c);
    bool is_step = !strcmp(row->slots[k], "step");
    p->state[k] = wick_keep(c, is_step ? make_step(c, g, p) : wick_zeros_like(c, p->tensor, NULL));
    wick_scope_close(c, scope);
    return p->state[k] != NULL;
}

static bool make_state(wick_context *c, const optimizer_row *row, group *g, parameter *p) {
    for (int k = 0; k < SLOTS && row->slots[k]; ++k)
        if (!p->state[k] && row->uses_slot(g, k) && !make_slot(c, row, g, p, k)) return false;
    return true;
}

static bool has_state(const parameter *p) {
    for (int k = 0; k < SLOTS; ++k)
        if (p->state[k]) return true;
    return false;
}

static bool check_gradients(wick_context *c, const wick_optimizer *o) {
    for (size_t g = 0; g < o->group_count; ++g)
        for (size_t i = 0; i < o->groups[g].count; ++i)
            if (wick_grad_is_partial(o->groups[g].params[i].tensor))
                return !FAIL(
                    c, FAILED_PRECONDITION,
                    "%s: a failed backward left the gradient of parameter %zu half-way: clear the gradients first",
                    o->row->name, i);
    return true;
}

static bool add_to_batch(wick_context *c, const optimizer_row *row, batch *b, parameter *p) {
    group *g = b->g;
    if (!make_state(c, row, g, p)) return false;
    g->lists[0][b->count] = p->tensor;
    g->lists[1][b->count] = wick_grad_of(p->tensor);
    for (int k = 0; k < SLOTS; ++k) g->lists[2 + k][b->count] = p->state[k];
    b->count++;
    return true;
}

/* The parameters on their first step, or the others, or all. */
static bool step_batch(wick_context *c, const optimizer_row *row, group *g, bool first) {
    batch b = {g, 0, first};
    for (size_t i = 0; i < g->count; ++i) {
        parameter *p = &g->params[i];
        if (!wick_grad_of(p->tensor) || (row->separate_first && has_state(p) == first)) continue;
        if (!add_to_batch(c, row, &b, p)) return false;
    }
    return !b.count || row->update(c, &b);
}

bool wick_optimizer_step(wick_context *c, wick_optimizer *o) {
    if (wick_failed(c) || !check_gradients(c, o)) return false;
    wick_modes modes = wick_no_grad(c);
    wick_scope scope = wick_scope_open(c);
    bool ok = true;
    for (size_t g = 0; g < o->group_count && ok; ++g) {
        ok = step_batch(c, o->row, &o->groups[g], false);
        if (ok && o->row->separate_first) ok = step_batch(c, o->row, &o->groups[g], true);
    }
    wick_scope_close(c, scope);
    wick_modes_set(c, modes);
    return ok;
}

bool wick_optimizer_zero_grad(wick_context *c, wick_optimizer *o) {
    for (size_t g = 0; g < o->group_count; ++g)
        for (size_t i = 0; i < o->groups[g].count; ++i)
            if (!wick_set_grad(c, o->groups[g].params[i].tensor, NULL)) return false;
    return true;
}

/* ---- state_dict ---- */
typedef bool (*entry_visit)(void *user, const optimizer_row *row, group *g, parameter *p, int slot, double *value,
                            const char *name);

/* Every state tensor (slot >= 0) and every option (slot -1) with its name. */
static bool visit_entries(const wick_optimizer *o, entry_visit visit, void *user) {
    char name[96];
    size_t index = 0;
    for (size_t g = 0; g < o->group_count; ++g) {
        for (size_t i = 0; i < o->groups[g].count; ++i, ++index)
            for (int k = 0; k < SLOTS && o->row->slots[k]; ++k) {
                snprintf(name, sizeof name, "state.%zu.%s", index, o->row->slots[k]);
                if (!visit(user, o->row, &o->groups[g], &o->groups[g].params[i], k, NULL, name)) return false;
            }
        for (size_t k = 0; k < o->row->option_count; ++k) {
            snprintf(name, sizeof name, "param_groups.%zu.%s", g, o->row->options[k].name);
            if (!visit(user, o->row, &o->groups[g], NULL, -1, &o->groups[g].values[k], name)) return false;
        }
    }
    return true;
}

typedef struct transfer {
    wick_context *c;
    const char *prefix;
    wick_state *state;
    wick_safetensors *file;
} transfer;

static bool save_entry(void *user, const optimizer_row *row, group *g, parameter *p, int slot, double *value,
                       const char *name) {
    const transfer *x = user;
    if (slot < 0) return wick_state_add_number(x->c, x->state, x->prefix, name, *value);
    return !p->state[slot] || wick_state_add(x->c, x->state, x->prefix, name, p->state[slot]);
}

bool wick_optimizer_state(wick_context *c, const wick_optimizer *o, const char *prefix, wick_state *state) {
    transfer x = {c, prefix, state, NULL};
    return !wick_failed(c) && visit_entries(o, save_entry, &x);
}

static bool load_entry(void *user, const optimizer_row *row, group *g, parameter *p, int slot, double *value,
                       const char *name) {
    const transfer *x = user;
    char full[256];
    if (slot < 0) return wick_state_read_number(x->c, x->file, x->prefix, name, value);
    snprintf(full, sizeof full, "%s%s", x->prefix, name);
    if (!wick_safetensors_find(x->file, full)) return true; /* its first step is still to come */
    if (!p->state[slot] && !make_slot(x->c, row, g, p, slot)) return false;
    return wick_state_read(x->c, x->file, x->prefix, name, p->state[slot]);
}

bool wick_optimizer_load_state(wick_context *c, wick_optimizer *o, wick_safetensors *file, const char *prefix) {
    transfer x = {c, prefix, NULL, file};
    return !wick_failed(c) && visit_entries(o, load_entry, &x);
}
