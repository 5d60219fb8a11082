/* Mode ops: every operator on the device against the host, forward. */
#include <string.h>

#include "calls.h"

static const wick_dtype all_dtypes[] = {WICK_F32, WICK_I64, WICK_BOOL, WICK_F64, WICK_F16, WICK_BF16,
                                        WICK_I32, WICK_I16, WICK_I8,   WICK_U8,  WICK_C64, WICK_C128};
#define QUICK_DTYPES 3
#define LARGE_DTYPES (WICK_DTYPE_BIT(WICK_F32) | WICK_DTYPE_BIT(WICK_F64) | WICK_DTYPE_BIT(WICK_I64))

/* Shapes and layouts of the functional form; the first is what decides whether a case applies at all. */
static const struct {
    case_shape shape;
    case_layout layout;
    bool elementwise; /* only where operands change their shape */
    bool quick;
} shapes[] = {
    {SHAPE_BASE, LAYOUT_ROWS, false, true},     {SHAPE_BASE, LAYOUT_COLUMNS, false, true},
    {SHAPE_BASE, LAYOUT_GAPS, false, false},    {SHAPE_BASE, LAYOUT_EXPANDED, true, false},
    {SHAPE_BROADCAST, LAYOUT_ROWS, true, true}, {SHAPE_EMPTY, LAYOUT_ROWS, false, true},
    {SHAPE_SCALAR, LAYOUT_ROWS, true, true},    {SHAPE_LARGE, LAYOUT_ROWS, true, false},
};

typedef struct op_run {
    runner *r;
    const family *family;
    check_operator record;
    uint32_t applied;  /* cases that the host runs */
    char refusal[256]; /* of the host, the first; for an operator without any case */
} op_run;

/* ---- one case ---- */
/* False: the host does not run it, so that there is nothing to compare. */
static bool host_result(op_run *o, const subject *s, const recipe *recipe, const op_case *k, const call_result *like,
                        call_result *out) {
    op_case rows = *k;
    if (k->layout != LAYOUT_EXPANDED) rows.layout = LAYOUT_ROWS;
    if (call_make(o->r, s, recipe, &rows, o->r->host, like, out)) return true;
    wick_status *status = wick_status_take(o->r->c);
    if (!o->refusal[0])
        snprintf(o->refusal, sizeof o->refusal, "%.255s",
                 out->arguments.problem ? out->arguments.problem
                 : status               ? wick_status_message(status)
                                        : "");
    wick_status_free(status);
    return false;
}

/* A layout that no device can take (a view of gaps, say) fails on the host, too. */
static bool host_fails_too(op_run *o, const subject *s, const recipe *recipe, const op_case *k,
                           const call_result *like) {
    call_result again = {0};
    bool ok = call_make(o->r, s, recipe, k, o->r->host, like, &again);
    wick_status_free(wick_status_take(o->r->c));
    call_free(&again);
    return !ok;
}

static void case_failed(op_run *o, const op_case *k, const char *label, const char *text) {
    ++o->record.failed;
    o->record.dtypes_failed |= WICK_DTYPE_BIT(k->dtype);
    check_fail(o->r, o->record.name, label, "%s", text);
}

static void case_passed(op_run *o, const op_case *k, const char *label) {
    ++o->record.passed;
    o->record.dtypes_passed |= WICK_DTYPE_BIT(k->dtype);
    check_pass(o->r, o->record.name, label);
}

/* The device gave an error. */
static void judge_error(op_run *o, const subject *s, const recipe *recipe, const op_case *k, const call_result *like,
                        const call_result *got, const char *label) {
    char text[768], reason[700];
    wick_status *status = wick_status_take(o->r->c);
    snprintf(text, sizeof text, "%s",
             got->arguments.problem ? got->arguments.problem : check_status_text(status, reason, sizeof reason));
    if (wick_status_code(status) == WICK_UNSUPPORTED)
        ++o->record.unsupported;
    else if (k->layout == LAYOUT_ROWS || !host_fails_too(o, s, recipe, k, like))
        case_failed(o, k, label, text);
    wick_status_free(status);
}

static void judge(op_run *o, const subject *s, const recipe *recipe, const op_case *k, const call_result *like,
                  const call_result *want, const char *label) {
    char text[512] = "";
    call_result got = {0};
    if (!call_make(o->r, s, recipe, k, o->r->device, like, &got))
        judge_error(o, s, recipe, k, like, &got, label);
    else if (call_compare(o->r, s, recipe, k, want, &got, text, sizeof text))
        case_passed(o, k, label);
    else if (wick_failed(o->r->c))
        judge_error(o, s, recipe, k, like, &got, label);
    else
        case_failed(o, k, label, text);
    wick_status_free(wick_status_take(o->r->c));
    call_free(&got);
}

/* Returns false if the host refuses. `form`: "", "in-place" or "out". */
static bool run_case(op_run *o, const subject *s, const recipe *recipe, int index, const op_case *k, const char *form) {
    char label[96];
    call_result want = {0}, like = {0};
    bool out = strcmp(form, "out") == 0;
    case_label(k, form, index, label, sizeof label);
    if (known_exclusion(&o->r->known, o->record.name, label)) return true;
    check_case(o->r, label);
    wick_scope scope = wick_scope_open(o->r->c);
    bool applies = !out || host_result(o, o->family->functional, recipe, k, NULL, &like);
    applies = applies && host_result(o, s, recipe, k, out ? &like : NULL, &want);
    if (applies) {
        ++o->applied;
        o->record.dtypes_host |= WICK_DTYPE_BIT(k->dtype);
        judge(o, s, recipe, k, out ? &like : NULL, &want, label);
    }
    call_free(&want);
    call_free(&like);
    wick_scope_close(o->r->c, scope);
    wick_status_free(wick_status_take(o->r->c));
    return applies;
}

/* ---- the cases of an operator ---- */
static bool shape_applies(const runner *r, size_t i, const recipe *recipe, bool elementwise, wick_dtype dtype) {
    bool quick = r->options->flags & CHECK_QUICK;
    if (recipe->flags & RECIPE_FULL && shapes[i].shape == SHAPE_EMPTY) return false;
    if (recipe->flags & RECIPE_ROWS && shapes[i].layout != LAYOUT_ROWS) return false;
    if ((shapes[i].elementwise && !elementwise) || (quick && !shapes[i].quick)) return false;
    if (shapes[i].shape != SHAPE_LARGE) return true;
    return !(recipe->flags & RECIPE_DISTINCT) && LARGE_DTYPES & WICK_DTYPE_BIT(dtype);
}

static void run_forms(op_run *o, const recipe *recipe, int index, wick_dtype dtype) {
    const family *f = o->family;
    int last = recipe->flags & RECIPE_ROWS ? LAYOUT_ROWS : LAYOUT_COLUMNS;
    for (int layout = LAYOUT_ROWS; layout <= last; ++layout) {
        const op_case k = {dtype, SHAPE_BASE, (case_layout)layout, false};
        if (f->inplace) run_case(o, f->inplace, recipe, index, &k, "in-place");
        if (f->out) run_case(o, f->out, recipe, index, &k, "out");
    }
}

static void run_dtype(op_run *o, const recipe *recipe, int index, wick_dtype dtype) {
    bool elementwise = recipe_is_elementwise(o->family->functional, recipe);
    const check_operator *record = &o->record;
    uint32_t unsupported = record->unsupported;
    size_t count = recipe_has_tensors(o->family->functional, recipe) ? sizeof shapes / sizeof shapes[0] : 1;
    for (size_t i = 0; i < count; ++i) {
        const op_case k = {dtype, shapes[i].shape, shapes[i].layout, false};
        if (!shape_applies(o->r, i, recipe, elementwise, dtype)) continue;
        bool applies = run_case(o, o->family->functional, recipe, index, &k, "");
        if (i == 0 && (!applies || record->unsupported > unsupported)) return; /* nothing of this dtype */
    }
    run_forms(o, recipe, index, dtype);
}

static bool dtype_applies(const recipe *recipe, wick_dtype dtype) {
    return !(recipe->flags & RECIPE_FLOATING) || wick_dtype_is_floating(dtype);
}

static void run_recipes(op_run *o) {
    recipe recipe;
    const char *name = o->record.name;
    size_t dtypes = o->r->options->flags & CHECK_QUICK ? QUICK_DTYPES : sizeof all_dtypes / sizeof all_dtypes[0];
    for (int i = 0; recipe_at(name, i, &recipe); ++i)
        for (size_t d = 0; d < dtypes; ++d)
            if (dtype_applies(&recipe, all_dtypes[d]) &&
                !known_exclusion(&o->r->known, name, wick_dtype_name(all_dtypes[d])))
                run_dtype(o, &recipe, i, all_dtypes[d]);
}

/* ---- what the device does with it ---- */
static uint64_t count_fallbacks(const runner *r, const catalog *c) {
    uint64_t n = 0;
    for (size_t i = 0; i < c->subject_count; ++i) n += wick_op_fallbacks(r->runtime, c->subjects[i].op, r->device.type);
    return n;
}

static check_how how_of(const op_run *o, bool fell_back) {
    const subject *s = o->family->functional;
    if (o->record.passed + o->record.failed == 0 && o->record.unsupported) return CHECK_UNSUPPORTED;
    if (wick_op_has_kernel(o->r->runtime, s->op, o->r->device.type)) return CHECK_KERNEL;
    if (fell_back) return CHECK_FALLBACK;
    return s->info.kind == WICK_OP_VIEW || s->info.kind == WICK_OP_CORE ? CHECK_CORE : CHECK_DECOMPOSITION;
}

static void run_operator(runner *r, const catalog *c, const family *f) {
    op_run o = {r, f, {.mode = CHECK_OPS, .name = (char *)f->functional->info.name}, 0, ""};
    uint64_t fallbacks = count_fallbacks(r, c);
    const char *name = o.record.name;
    if (known_exclusion(&r->known, name, NULL)) {
        o.record.how = CHECK_EXCLUDED;
    } else {
        run_recipes(&o);
        o.record.how = how_of(&o, count_fallbacks(r, c) != fallbacks);
        if (!o.applied) check_note(r, name, "", "no case: the host refuses: %s", o.refusal);
        if (o.record.how == CHECK_UNSUPPORTED && wick_op_has_kernel(r->runtime, f->functional->op, r->device.type))
            check_fail(r, name, "", "it has a kernel that takes none of %u cases", o.record.unsupported);
    }
    check_operator_done(r, &o.record);
}

static void run_operators(runner *r, const catalog *c) {
    size_t selected = 0;
    for (size_t i = 0; i < c->family_count; ++i) {
        if (!family_is_selected(r, &c->families[i])) continue;
        ++selected;
        if (check_begin(r, c->families[i].functional->info.name)) run_operator(r, c, &c->families[i]);
    }
    if (!selected && r->options->only) check_fail(r, "operators", "", "there is no operator '%s'", r->options->only);
}

void mode_ops(runner *r) {
    catalog c;
    if (!plugin_open(r)) return;
    if (catalog_make(r, &c)) {
        wick_modes before = wick_no_grad(r->c);
        run_operators(r, &c);
        wick_modes_set(r->c, before);
        catalog_free(&c);
        mode_goldens(r, false);
        int64_t alive = wick_runtime_live_objects(r->runtime);
        check_that(r, alive == 0, "operators", "leaks", "%lld objects are alive after all operators", (long long)alive);
    }
    plugin_close(r);
}
