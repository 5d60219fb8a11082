/* Mode grad: gradients on the device against the host's, and against differences in f64. */
#include <string.h>
#include <wick/autograd.h>

#include "calls.h"
#include "numbers.h"

#define INPUTS 16
#define OUTPUTS 16
#define DIFFERENCES_LIMIT 100 /* elements of all inputs: each costs two calls */

typedef struct grad_run {
    runner *r;
    const family *family;
    const recipe *recipe;
    op_case k;
    check_operator *record;
} grad_run;

typedef struct leaves {
    wick_tensor *inputs[INPUTS];
    int count;
    int64_t elements;
} leaves;

/* ---- what has a gradient ---- */
static bool add_leaf(runner *r, wick_tensor **slot, wick_dtype dtype, leaves *out) {
    if (!*slot || wick_tensor_dtype(*slot) != dtype || out->count == INPUTS) return true;
    if (!wick_set_requires_grad(r->c, *slot, true)) return false;
    out->inputs[out->count++] = *slot;
    out->elements += wick_numel(*slot);
    return true;
}

static bool is_statistic(const char *name) { return strncmp(name, "running_", 8) == 0; }

static bool collect_leaves(const grad_run *g, call_result *call, leaves *out) {
    const subject *s = g->family->functional;
    out->count = 0, out->elements = 0;
    for (int i = 0; i < s->info.nargs; ++i) {
        wick_value *v = &call->arguments.values[i];
        if (is_statistic(s->args[i].name)) continue;
        if (v->tag == WICK_TAG_TENSOR && !add_leaf(g->r, &v->as.tensor, g->k.dtype, out)) return false;
        for (uint32_t n = 0; v->tag == WICK_TAG_TENSOR_LIST && n < v->count; ++n) {
            wick_tensor *t = v->as.tensors[n];
            if (!add_leaf(g->r, &t, g->k.dtype, out)) return false;
        }
    }
    return true;
}

/* ---- outputs ---- */
static int flatten(const subject *s, const wick_value *rets, wick_tensor *out[OUTPUTS]) {
    int n = 0;
    for (int i = 0; i < s->info.nrets; ++i) {
        bool list = rets[i].tag == WICK_TAG_TENSOR_LIST;
        for (uint32_t m = 0; m < (list ? rets[i].count : 1) && n < OUTPUTS; ++m) {
            wick_tensor *t = list ? rets[i].as.tensors[m] : rets[i].tag == WICK_TAG_TENSOR ? rets[i].as.tensor : NULL;
            if (t) out[n++] = t;
        }
    }
    return n;
}

static wick_tensor *cotangent(runner *r, const wick_tensor *like, wick_device device, int number) {
    char data[16 * 4096];
    wick_dtype dtype = wick_tensor_dtype(like);
    const number_kind kind = {.domain = 'f', .smooth = true, .operand = number, .seed = 99};
    if ((size_t)wick_numel(like) * wick_dtype_bytes(dtype) > sizeof data) return NULL;
    numbers_fill(data, dtype, wick_numel(like), &kind);
    return wick_tensor_from_host(r->c, data, dtype, like->ndim, like->sizes, device);
}

/* ---- one gradient ---- */
/* Calls and goes backward; grads[i] belongs to leaf i, NULL if undefined. False: the context failed, or nothing has a
 * gradient. */
static bool gradients(const grad_run *g, wick_device device, leaves *in, wick_tensor **grads, call_result *call) {
    const subject *s = g->family->functional;
    wick_tensor *outs[OUTPUTS], *roots[OUTPUTS], *cotangents[OUTPUTS];
    int n = 0;
    if (!arguments_make(g->r, s, s->info.nargs, g->recipe, &g->k, device, &call->arguments)) return false;
    if (!collect_leaves(g, call, in) || !in->count || !call_run(g->r, s, device, call)) return false;
    int count = flatten(s, call->rets, outs);
    for (int i = 0; i < count; ++i) {
        if (!wick_requires_grad(outs[i])) continue;
        cotangents[n] = cotangent(g->r, outs[i], device, i);
        if (!cotangents[n]) return false;
        roots[n++] = outs[i];
    }
    return n && wick_grad(g->r->c, roots, cotangents, n, in->inputs, in->count, WICK_ALLOW_UNUSED, grads);
}

static void failed(const grad_run *g, const char *label, const char *text) {
    ++g->record->failed;
    g->record->dtypes_failed |= WICK_DTYPE_BIT(g->k.dtype);
    check_fail(g->r, g->record->name, label, "%s", text);
}

static void passed(const grad_run *g, const char *label) {
    ++g->record->passed;
    g->record->dtypes_passed |= WICK_DTYPE_BIT(g->k.dtype);
    check_pass(g->r, g->record->name, label);
}

/* Tells an error of the device; UNSUPPORTED counts, but is none. */
static void judge_status(const grad_run *g, wick_status *status, const char *label) {
    char text[700];
    if (wick_status_code(status) == WICK_UNSUPPORTED)
        ++g->record->unsupported;
    else
        failed(g, label, status ? check_status_text(status, text, sizeof text) : "no gradient, wanted the host's");
    wick_status_free(status);
}

static void compare_with_host(const grad_run *g, wick_tensor *const *want, const leaves *in, const char *label) {
    leaves device_in;
    wick_tensor *got[INPUTS];
    call_result call = {0};
    char text[512], whole[600];
    if (!gradients(g, g->r->device, &device_in, got, &call)) {
        judge_status(g, wick_status_take(g->r->c), label);
        call_free(&call);
        return;
    }
    bool same = device_in.count == in->count;
    tolerance t = case_tolerance_of(g->recipe, &g->k, g->k.dtype);
    t.rtol *= 4, t.atol *= 4;
    for (int i = 0; i < in->count && same; ++i) {
        text[0] = '\0';
        same = tensor_compare(g->r, want[i], got[i], t, text, sizeof text);
        snprintf(whole, sizeof whole, "gradient of tensor %d: %s", i, text);
    }
    if (same)
        passed(g, label);
    else if (wick_failed(g->r->c))
        judge_status(g, wick_status_take(g->r->c), label);
    else
        failed(g, label, whole);
    call_free(&call);
}

/* Returns false if the host has no gradient here. */
static bool against_host(const grad_run *g, int index) {
    char label[96];
    leaves in;
    wick_tensor *want[INPUTS];
    call_result call = {0};
    wick_scope scope = wick_scope_open(g->r->c);
    case_label(&g->k, "gradient", index, label, sizeof label);
    check_case(g->r, label);
    bool ok = gradients(g, g->r->host, &in, want, &call);
    wick_status_free(wick_status_take(g->r->c));
    if (ok) {
        g->record->dtypes_host |= WICK_DTYPE_BIT(g->k.dtype);
        compare_with_host(g, want, &in, label);
    }
    call_free(&call);
    wick_scope_close(g->r->c, scope);
    wick_status_free(wick_status_take(g->r->c));
    return ok;
}

/* ---- against differences ---- */
typedef struct difference_call {
    const grad_run *g;
    const call_result *call; /* arguments, of which the leaves are replaced */
    const leaves *in;
} difference_call;

static wick_tensor *replaced(const difference_call *d, wick_tensor *t, wick_tensor *const *inputs) {
    for (int i = 0; i < d->in->count; ++i)
        if (d->in->inputs[i] == t) return inputs[i];
    return t;
}

static bool differences_fn(void *user, wick_context *c, wick_tensor *const *inputs, int n, wick_tensor **outputs,
                           int m) {
    const difference_call *d = user;
    const subject *s = d->g->family->functional;
    wick_value args[SCHEMA_MAX_ARGS], rets[CALL_RETS];
    wick_tensor *lists[4][16], *outs[OUTPUTS];
    int used = 0;
    for (int i = 0; i < s->info.nargs; ++i) {
        args[i] = d->call->arguments.values[i];
        if (args[i].tag == WICK_TAG_TENSOR) args[i] = wick_value_tensor(replaced(d, args[i].as.tensor, inputs));
        if (args[i].tag != WICK_TAG_TENSOR_LIST || used == 4 || args[i].count > 16) continue;
        for (uint32_t k = 0; k < args[i].count; ++k) lists[used][k] = replaced(d, args[i].as.tensors[k], inputs);
        args[i].as.tensors = lists[used++];
    }
    wick_manual_seed(c, 7);
    if (!wick_call(c, s->op, args, s->info.nargs, rets, s->info.nrets) || flatten(s, rets, outs) != m) return false;
    memcpy(outputs, outs, sizeof *outs * (size_t)m);
    return true;
}

static void against_differences(const grad_run *g, int index) {
    char label[96];
    leaves in;
    const subject *s = g->family->functional;
    wick_tensor *outs[OUTPUTS];
    call_result call = {0};
    wick_scope scope = wick_scope_open(g->r->c);
    case_label(&g->k, "differences", index, label, sizeof label);
    check_case(g->r, label);
    difference_call d = {g, &call, &in};
    bool ok = arguments_make(g->r, s, s->info.nargs, g->recipe, &g->k, g->r->device, &call.arguments) &&
              collect_leaves(g, &call, &in) && in.count && in.elements <= DIFFERENCES_LIMIT &&
              call_run(g->r, s, g->r->device, &call);
    if (ok) {
        int m = flatten(s, call.rets, outs);
        wick_status *status = wick_gradcheck(g->r->c, differences_fn, &d, in.inputs, in.count, m, 1e-6, 1e-3, 1e-4);
        if (status)
            judge_status(g, status, label);
        else
            passed(g, label);
    }
    call_free(&call);
    wick_scope_close(g->r->c, scope);
    wick_status_free(wick_status_take(g->r->c));
}

/* ---- the cases of an operator ---- */
static void run_dtype(grad_run *g, int index, wick_dtype dtype) {
    static const op_case layouts[] = {{WICK_DTYPE_NONE, SHAPE_BASE, LAYOUT_ROWS, true},
                                      {WICK_DTYPE_NONE, SHAPE_BASE, LAYOUT_COLUMNS, true}};
    uint32_t before = g->record->failed + g->record->unsupported;
    unsigned flags = g->recipe->flags;
    g->k = layouts[0], g->k.dtype = dtype;
    if (!against_host(g, index) || g->record->failed + g->record->unsupported != before) return;
    if (dtype == WICK_F64 && !(flags & RECIPE_OTHER)) against_differences(g, index);
    g->k = layouts[1], g->k.dtype = dtype;
    if (!(flags & RECIPE_ROWS)) against_host(g, index);
}

static bool is_pure(const family *f) {
    for (int i = 0; i < f->functional->info.nargs; ++i)
        if (f->functional->args[i].mutated && !is_statistic(f->functional->args[i].name)) return false;
    return f->functional->info.differentiable;
}

static void run_operator(runner *r, const family *f) {
    static const wick_dtype dtypes[] = {WICK_F32, WICK_F64};
    check_operator record = {.mode = CHECK_GRAD, .name = (char *)f->functional->info.name};
    recipe recipe;
    grad_run g = {r, f, &recipe, {WICK_DTYPE_NONE, SHAPE_BASE, LAYOUT_ROWS, true}, &record};
    for (int i = 0; recipe_at(record.name, i, &recipe); ++i)
        for (size_t d = 0; d < 2; ++d)
            if (!known_exclusion(&r->known, record.name, wick_dtype_name(dtypes[d]))) run_dtype(&g, i, dtypes[d]);
    if (!record.dtypes_host) return;
    record.how = record.passed + record.failed ? CHECK_DECOMPOSITION : CHECK_UNSUPPORTED;
    if (wick_op_has_kernel(r->runtime, f->functional->op, r->device.type)) record.how = CHECK_KERNEL;
    check_operator_done(r, &record);
}

void mode_grad(runner *r) {
    catalog c;
    if (!plugin_open(r)) return;
    if (catalog_make(r, &c)) {
        for (size_t i = 0; i < c.family_count; ++i)
            if (is_pure(&c.families[i]) && family_is_selected(r, &c.families[i]) &&
                check_begin(r, c.families[i].functional->info.name))
                run_operator(r, &c.families[i]);
        catalog_free(&c);
        mode_goldens(r, true);
        int64_t alive = wick_runtime_live_objects(r->runtime);
        check_that(r, alive == 0, "operators", "leaks", "%lld objects are alive after all gradients", (long long)alive);
    }
    plugin_close(r);
}
