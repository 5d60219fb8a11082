/* One recorded call of an operator: build the arguments, call, compare outputs, first and second-order gradients. */
#include <stdlib.h>
#include <string.h>

#include "parity.h"

/* What one call works with; all memory is the case's. */
typedef struct call_state {
    parity_case *k;
    const wick_op *op;
    wick_op_info info;
    schema_arg schema[PARITY_MAX_ARGS];
    wick_value args[PARITY_MAX_ARGS];
    wick_value rets[PARITY_MAX_ARGS];
    wick_value outs[PARITY_MAX_OUTS]; /* with returned lists flattened */
    int nouts;
} call_state;

/* Gradients by their recorded paths. */
typedef struct gradients {
    int count;
    const char *paths[PARITY_MAX_OUTS];
    json_t *recorded[PARITY_MAX_OUTS];
    wick_tensor *inputs[PARITY_MAX_OUTS];
    wick_tensor *grads[PARITY_MAX_OUTS]; /* NULL: undefined */
} gradients;

/* What goes backward: tensors and the gradients that come in. */
typedef struct seeds {
    int count;
    wick_tensor *outputs[PARITY_MAX_OUTS];
    wick_tensor *grads[PARITY_MAX_OUTS];
} seeds;

/* ---- arguments ---- */
/* The recorded value of argument `i`: by position, by name, or the schema's default. A new reference or NULL. */
static json_t *recorded_argument(const call_state *s, int i) {
    json_t *args = json_object_get(s->k->json, "args");
    if ((size_t)i < json_array_size(args)) return json_incref(json_array_get(args, (size_t)i));
    json_t *named = json_object_get(json_object_get(s->k->json, "kwargs"), s->schema[i].name);
    return named ? json_incref(named) : schema_default(&s->schema[i]);
}

static bool build_argument(call_state *s, int i) {
    const char *why = "an argument is missing";
    json_t *json = recorded_argument(s, i);
    bool ok = json && value_build(s->k, json, s->schema[i].type, &s->args[i], &why);
    json_decref(json);
    if (!ok) report_error(s->k, arena_format(s->k->arena, "argument %s: %s", s->schema[i].name, why));
    return ok;
}

/* False: reported. */
static bool build_arguments(call_state *s) {
    for (int i = 0; i < s->info.nargs; ++i)
        if (!build_argument(s, i)) return false;
    return true;
}

/* ---- the call ---- */
static void flatten_outputs(call_state *s) {
    s->nouts = 0;
    for (int i = 0; i < s->info.nrets; ++i) {
        const wick_value *v = &s->rets[i];
        bool list = v->tag == WICK_TAG_TENSOR_LIST;
        for (uint32_t n = 0; n < (list ? v->count : 1) && s->nouts < PARITY_MAX_OUTS; ++n)
            s->outs[s->nouts++] = list ? wick_value_tensor(v->as.tensors[n]) : *v;
    }
}

/* An interposer below autograd that fails one call. */
typedef struct injection {
    int countdown;
} injection;

static bool fail_in_turn(void *user, wick_context *c, const wick_op *op, const wick_value *args, int nargs,
                         wick_value *rets, int nrets) {
    injection *i = user;
    if (--i->countdown > 0 || i->countdown < 0) return wick_redispatch(c, op, args, nargs, rets, nrets);
    wick_fail(c, WICK_ERROR(WICK_DEVICE_ERROR, "injected"));
    return false;
}

#define INJECTIONS 60

/* The call with its n-th operator failing. True: the failure was reached, and its error came out. */
static bool inject(call_state *s, int n) {
    wick_context *c = s->k->p->c;
    injection i = {n};
    wick_scope scope = wick_scope_open(c);
    wick_interposer_push(c, WICK_INTERPOSE_KERNEL, fail_in_turn, &i);
    wick_call(c, s->op, s->args, s->info.nargs, s->rets, s->info.nrets);
    wick_interposer_pop(c, WICK_INTERPOSE_KERNEL);
    wick_status *status = wick_status_take(c);
    bool reached = i.countdown <= 0;
    if (reached && !strstr(wick_status_message(status), "injected"))
        report_verdict(s->k, FAILED, "inject", "the injected error", wick_status_message(status));
    wick_status_free(status);
    wick_scope_close(c, scope);
    return reached;
}

/* Not of calls that write to their arguments: they would be changed half-way. */
static void inject_all(call_state *s) {
    if (strchr(s->info.schema, '!')) return;
    int n = 1;
    while (n <= INJECTIONS && inject(s, n)) ++n;
}

/* False: reported. */
static bool call(call_state *s) {
    if (s->k->p->options.inject) inject_all(s);
    if (!wick_call(s->k->p->c, s->op, s->args, s->info.nargs, s->rets, s->info.nrets)) {
        report_error(s->k, "a failure without an error");
        return false;
    }
    flatten_outputs(s);
    return true;
}

/* ---- outputs ---- */
static void count_differs(const call_state *s, size_t want) {
    arena *a = s->k->arena;
    report_verdict(s->k, FAILED, "outputs", arena_format(a, "%zu", want), arena_format(a, "%d", s->nouts));
}

/* Operators whose second output says where the first was found. Among equal elements any place is right. */
static const struct {
    const char *name;
    int dim, keepdim; /* arguments; -1: the dimension is always kept */
} places[] = {{"topk", 2, -1}, {"kthvalue", 2, 3}, {"median.dim", 1, 2}, {"nanmedian.dim", 1, 2}, {"mode", 1, 2}};

static wick_tensor *call_one(const call_state *s, const char *name, const wick_value *args, int n) {
    wick_value ret;
    return wick_call(s->k->p->c, wick_op_find(s->k->p->runtime, name), args, n, &ret, 1) ? ret.as.tensor : NULL;
}

/* True if the elements at the places that output 1 names are the recorded output 0. */
static bool place_is_right(const call_state *s, json_t *recorded_values) {
    const char *expected, *got;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; ++i) {
        if (strcmp(places[i].name, s->info.name) != 0 || s->args[0].as.tensor->ndim == 0) continue;
        wick_value dim = s->args[places[i].dim];
        bool kept = places[i].keepdim < 0 || s->args[places[i].keepdim].as.i;
        wick_tensor *index = s->outs[1].as.tensor;
        if (!kept) index = call_one(s, "unsqueeze", (wick_value[]){wick_value_tensor(index), dim}, 2);
        wick_tensor *found = call_one(s, "gather", (wick_value[]){s->args[0], dim, wick_value_tensor(index)}, 3);
        if (!kept) found = call_one(s, "squeeze.dim", (wick_value[]){wick_value_tensor(found), dim}, 2);
        return found && compare_tensor(s->k, recorded_values, found, &expected, &got);
    }
    return false;
}

/* False: reported. */
static bool compare_outputs(const call_state *s) {
    json_t *outs = json_object_get(s->k->json, "outs"), *item;
    size_t i, n = json_array_size(outs);
    const char *expected, *got;
    if (s->nouts == 0 && n == 1 && json_is_null(json_array_get(outs, 0))) return true; /* returns nothing */
    if ((size_t)s->nouts != n) return count_differs(s, n), false;
    json_array_foreach(outs, i, item) {
        if (compare_value(s->k, item, &s->outs[i], &expected, &got)) continue;
        if (i == 1 && place_is_right(s, json_array_get(outs, 0))) continue;
        report_verdict(s->k, FAILED, arena_format(s->k->arena, "output %zu", i), expected, got);
        return false;
    }
    return true;
}

static bool returns_argument(const call_state *s) {
    if (!json_is_true(json_object_get(s->k->json, "inplace"))) return true;
    if (s->nouts && s->outs[0].as.tensor == s->args[0].as.tensor) return true;
    report_verdict(s->k, FAILED, "return", "argument 0 itself", "another tensor");
    return false;
}

static void run_forward(call_state *s) {
    s->k->stage = STAGE_FORWARD;
    wick_modes before = wick_no_grad(s->k->p->c);
    if (build_arguments(s) && call(s) && returns_argument(s) && compare_outputs(s))
        report_verdict(s->k, PASSED, "", "", "");
    wick_modes_set(s->k->p->c, before);
}

/* ---- gradients ---- */
/* "a0", "a1.2" (third tensor of a list), "k.name": the argument, NULL if the path leads nowhere. */
static wick_tensor *tensor_at(const call_state *s, const char *path) {
    long index = -1;
    char *rest = NULL;
    if (path[0] == 'a') index = strtol(path + 1, &rest, 10);
    for (int i = 0; path[0] == 'k' && i < s->info.nargs; ++i)
        if (strcmp(s->schema[i].name, path + 2) == 0) index = i;
    if (index < 0 || index >= s->info.nargs) return NULL;
    const wick_value *v = &s->args[index];
    if (v->tag == WICK_TAG_TENSOR) return v->as.tensor;
    long item = rest && *rest == '.' ? strtol(rest + 1, NULL, 10) : -1;
    return v->tag == WICK_TAG_TENSOR_LIST && item >= 0 && item < (long)v->count ? v->as.tensors[item] : NULL;
}

/* Collects the inputs that a recorded map of gradients names. False: reported. */
static bool gradients_collect(const call_state *s, const char *field, gradients *g) {
    const char *path;
    json_t *recorded;
    g->count = 0;
    json_object_foreach(json_object_get(s->k->json, field), path, recorded) {
        wick_tensor *input = tensor_at(s, path);
        if (!input || g->count == PARITY_MAX_OUTS) {
            report_error(s->k, arena_format(s->k->arena, "the record's gradient path %s leads nowhere", path));
            return false;
        }
        g->paths[g->count] = path, g->recorded[g->count] = recorded, g->inputs[g->count++] = input;
    }
    return true;
}

/* Adds a pair to what goes backward; a tensor without gradient contributes nothing. False: reported. */
static bool seeds_add(const call_state *s, seeds *e, wick_tensor *output, json_t *recorded) {
    const char *why = "";
    if (!output || !wick_requires_grad(output) || e->count == PARITY_MAX_OUTS) return true;
    wick_tensor *grad = value_tensor(s->k, recorded, &why);
    if (!grad) return report_error(s->k, why), false;
    e->outputs[e->count] = output, e->grads[e->count++] = grad;
    return true;
}

/* Runs backward into g->grads. Without anything to start from all are undefined. False: reported. */
static bool gradients_compute(const call_state *s, const seeds *e, gradients *g, unsigned flags) {
    memset(g->grads, 0, sizeof g->grads);
    if (!e->count ||
        wick_grad(s->k->p->c, e->outputs, e->grads, e->count, g->inputs, g->count, flags | WICK_ALLOW_UNUSED, g->grads))
        return true;
    report_error(s->k, "a failed backward without an error");
    return false;
}

/* False: reported. */
static bool gradients_compare(const call_state *s, const gradients *g) {
    const char *expected, *got;
    for (int i = 0; i < g->count; ++i)
        if (!compare_gradient(s->k, g->recorded[i], g->grads[i], &expected, &got)) {
            report_verdict(s->k, FAILED, g->paths[i], expected, got);
            return false;
        }
    report_verdict(s->k, PASSED, "", "", "");
    return true;
}

static bool requires_grad(const call_state *s, const gradients *g) {
    for (int i = 0; i < g->count; ++i)
        if (!wick_set_requires_grad(s->k->p->c, g->inputs[i], true)) {
            report_error(s->k, "requires_grad refused without an error");
            return false;
        }
    return true;
}

/* A leaf that records cannot be changed in place: PyTorch recorded the gradient through a copy of it. False: reported. */
static bool copy_mutated(call_state *s) {
    size_t length = strcspn(s->info.name, ".");
    const wick_op *clone = wick_op_find(s->k->p->runtime, "clone");
    wick_value copy;
    if (s->info.name[length - 1] != '_') return true;
    if (!clone || !wick_call(s->k->p->c, clone, s->args, 1, &copy, 1)) {
        report_error(s->k, "argument 0 cannot be cloned");
        return false;
    }
    s->args[0] = copy;
    return true;
}

/* Forward with recording, then the recorded cotangents backward. False: reported. */
static bool first_order(call_state *s, gradients *g, unsigned flags) {
    seeds *e = arena_alloc(s->k->arena, sizeof *e);
    const char *index;
    json_t *recorded;
    if (!build_arguments(s) || !gradients_collect(s, "grads", g) || !requires_grad(s, g)) return false;
    if (!copy_mutated(s) || !call(s)) return false;
    json_object_foreach(json_object_get(s->k->json, "cotangents"), index, recorded) {
        long i = strtol(index, NULL, 10);
        if (i >= s->nouts || s->outs[i].tag != WICK_TAG_TENSOR) return count_differs(s, (size_t)i + 1), false;
        if (!seeds_add(s, e, s->outs[i].as.tensor, recorded)) return false;
    }
    return gradients_compute(s, e, g, flags);
}

static wick_tensor *gradient_of(const gradients *g, const char *path) {
    for (int i = 0; i < g->count; ++i)
        if (strcmp(g->paths[i], path) == 0) return g->grads[i];
    return NULL;
}

/* Gradients of sum(grads[p] * vectors2[p]). */
static void second_order(call_state *s, const gradients *first) {
    gradients *g = arena_alloc(s->k->arena, sizeof *g);
    seeds *e = arena_alloc(s->k->arena, sizeof *e);
    const char *path;
    json_t *recorded;
    json_object_foreach(json_object_get(s->k->json, "vectors2"), path,
                        recorded) if (!seeds_add(s, e, gradient_of(first, path), recorded)) return;
    if (gradients_collect(s, "grads2", g) && gradients_compute(s, e, g, 0)) gradients_compare(s, g);
}

static void run_gradients(call_state *s) {
    const parity_options *o = &s->k->p->options;
    bool second = o->grad2 && json_object_get(s->k->json, "grads2");
    gradients *g = arena_alloc(s->k->arena, sizeof *g);
    s->k->stage = STAGE_GRAD;
    if (!s->info.differentiable) {
        report_verdict(s->k, UNSUPPORTED, "", "", "");
        s->k->stage = STAGE_GRAD2;
        if (second) report_verdict(s->k, UNSUPPORTED, "", "", "");
        return;
    }
    if (o->grad && first_order(s, g, 0)) gradients_compare(s, g);
    s->k->stage = STAGE_GRAD2;
    if (second && first_order(s, g, WICK_CREATE_GRAPH)) second_order(s, g);
}

void run_case(parity_case *k, const wick_op *op) {
    const parity_options *o = &k->p->options;
    bool graded = (o->grad || o->grad2) && json_object_get(k->json, "grads");
    call_state *s = arena_alloc(k->arena, sizeof *s);
    s->k = k, s->op = op;
    s->info.struct_size = sizeof s->info;
    wick_op_describe(op, &s->info);
    if (schema_arguments(s->info.schema, s->schema) != s->info.nargs || s->info.nrets > PARITY_MAX_ARGS) {
        report_error(k, arena_format(k->arena, "cannot read the schema %s", s->info.schema));
        return;
    }
    run_forward(s);
    if (graded) run_gradients(s);
}
