/* Operators of integers: what comes out as integers must be what the same numbers give as F64. A rule that computes
 * fractions has to refuse integers, or what it cuts depends on the device. Runs the recipes of `wick check`. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <calls.h>
#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Those that PyTorch computes for integers, too. */
static const char *const cut_anyway[] = {
    "fill.Scalar",       /* stores a number that has a fraction */
    "full_like",         /* the same */
    "threshold",         /* the same */
    "pow_.Tensor",       /* a negative power of an integer is cut */
    "mse_loss_backward", /* a mean's share is cut */
    "random_",           /* draws in the range of the dtype */
};

typedef struct fixture {
    check_report report;
    check_options options;
    runner r;
    catalog c;
} fixture;

static int open_runner(void **state) {
    fixture *f = calloc(1, sizeof *f);
    f->options.plugin = WICK_BUILD_DIR "/lib/wick/cpu.so";
    f->r = (runner){.options = &f->options, .report = &f->report, .channel = -1, .mode = CHECK_OPS};
    *state = f;
    if (!plugin_open(&f->r) || !catalog_make(&f->r, &f->c)) return -1;
    wick_no_grad(f->r.c);
    return 0;
}

static int close_runner(void **state) {
    fixture *f = *state;
    catalog_free(&f->c);
    plugin_close(&f->r);
    free(f->report.version), free(f->report.device), free(f->report.hardware);
    free(f);
    return 0;
}

/* ---- the same numbers as F64 ---- */
static wick_tensor *as_f64(runner *r, wick_tensor *t) {
    const wick_value args[] = {wick_value_tensor(t), wick_value_dtype(WICK_F64)};
    wick_value ret;
    bool ok = wick_call(r->c, wick_op_find(r->runtime, "_to_copy"), args, COUNT(args), &ret, 1);
    return ok ? ret.as.tensor : NULL;
}

static wick_tensor *widened(runner *r, wick_tensor *t) { return t && t->dtype == WICK_I32 ? as_f64(r, t) : t; }

static void widen_arguments(runner *r, arguments *a) {
    for (int i = 0; i < a->count; ++i) {
        wick_value *v = &a->values[i];
        if (v->tag == WICK_TAG_TENSOR) *v = wick_value_tensor(widened(r, v->as.tensor));
        for (uint32_t k = 0; v->tag == WICK_TAG_TENSOR_LIST && k < v->count; ++k)
            ((wick_tensor **)(uintptr_t)v->as.tensors)[k] = widened(r, v->as.tensors[k]);
    }
}

/* ---- one call ---- */
/* Position of an argument that chooses a formula: what a loss does to its terms, a bag to its rows. -1: none. */
static int choice_of(const subject *s) {
    for (int i = 0; i < s->info.nargs; ++i)
        if (strcmp(s->args[i].name, "reduction") == 0 || strcmp(s->args[i].name, "mode") == 0) return i;
    return -1;
}

/* `choice` < 0: as the recipe has it. */
static bool call(runner *r, const subject *s, const recipe *recipe, int choice, bool wide, call_result *out) {
    const op_case k = {WICK_I32, SHAPE_BASE, LAYOUT_ROWS, false};
    if (!arguments_make(r, s, s->info.nargs, recipe, &k, r->host, &out->arguments)) return false;
    const int at = choice_of(s);
    if (choice >= 0 && at >= 0 && out->arguments.values[at].tag == WICK_TAG_I64)
        out->arguments.values[at].as.i = choice;
    if (wide) widen_arguments(r, &out->arguments);
    return !wick_failed(r->c) && call_run(r, s, r->host, out);
}

/* False: there are integers where F64 has others. */
static bool agrees(runner *r, const wick_value *whole, const wick_value *wide) {
    if (whole->tag != WICK_TAG_TENSOR || wide->tag != WICK_TAG_TENSOR) return true;
    wick_tensor *x = whole->as.tensor, *y = wide->as.tensor;
    if (!x || !y || wick_dtype_is_differentiable(wick_tensor_dtype(x)) || wick_tensor_dtype(y) != WICK_F64) return true;
    char text[256];
    return tensor_compare(r, y, as_f64(r, x), (tolerance){1e-12, 1e-12}, text, sizeof text);
}

static bool is_cut_anyway(const char *name) {
    for (size_t i = 0; i < COUNT(cut_anyway); ++i)
        if (strcmp(name, cut_anyway[i]) == 0) return true;
    return false;
}

/* Returns 1 if the operator took the integers. */
static int check_choice(runner *r, const subject *s, const recipe *recipe, int choice) {
    call_result whole = {0}, wide = {0};
    wick_scope scope = wick_scope_open(r->c);
    bool takes = call(r, s, recipe, choice, false, &whole);
    bool same = true;
    if (takes && call(r, s, recipe, choice, true, &wide))
        for (int i = 0; i < s->info.nrets; ++i) same = same && agrees(r, &whole.rets[i], &wide.rets[i]);
    wick_status_free(wick_status_take(r->c));
    call_free(&whole), call_free(&wide);
    wick_scope_close(r->c, scope);
    const bool listed = is_cut_anyway(s->info.name);
    if (!same && !listed) fail_msg("%s cuts fractions of integers, choice %d", s->info.name, choice);
    if (same && listed && choice < 0) fail_msg("%s cuts nothing: take it from the list", s->info.name);
    return takes;
}

static void test_no_operator_cuts_fractions(void **state) {
    fixture *f = *state;
    int taken = 0;
    for (size_t i = 0; i < f->c.family_count; ++i) {
        const subject *s = f->c.families[i].functional;
        recipe recipe;
        for (int k = 0; recipe_at(s->info.name, k, &recipe); ++k)
            for (int choice = -1; choice < (choice_of(s) < 0 ? 0 : 3); ++choice)
                if (recipe_has_tensors(s, &recipe) && !(recipe.flags & RECIPE_SHAPE))
                    taken += check_choice(&f->r, s, &recipe, choice);
    }
    assert_true(taken > 400);
}

/* ---- refusals: the operators for which PyTorch has floating numbers only ---- */
static void test_integers_are_refused(void **state) {
    static const char *const names[] = {
        "logaddexp",
        "logaddexp2",
        "sigmoid_backward",
        "tanh_backward",
        "logit_backward",
        "hardtanh_backward",
        "affine_grid_generator",
        "affine_grid_generator_backward",
        "huber_loss",
        "huber_loss_backward",
        "smooth_l1_loss",
        "smooth_l1_loss_backward",
        "soft_margin_loss",
        "soft_margin_loss_backward",
        "binary_cross_entropy",
        "binary_cross_entropy_backward",
        "multi_margin_loss",
        "multi_margin_loss_backward",
        "multilabel_margin_loss",
        "multilabel_margin_loss_forward",
        "multilabel_margin_loss_backward",
        "avg_pool1d",
        "avg_pool2d",
        "avg_pool2d_backward",
        "avg_pool3d",
        "avg_pool3d_backward",
        "embedding_bag",
        "_embedding_bag_dense_backward",
        "_embedding_bag_per_sample_weights_backward",
        "scaled_dot_product_attention",
        "_weight_norm_interface_backward",
    };
    fixture *f = *state;
    runner *r = &f->r;
    size_t seen = 0;
    for (size_t i = 0; i < f->c.family_count; ++i) {
        const subject *s = f->c.families[i].functional;
        recipe recipe;
        for (size_t k = 0; k < COUNT(names); ++k) {
            if (strcmp(names[k], s->info.name) != 0 || !recipe_at(s->info.name, 0, &recipe)) continue;
            call_result whole = {0}, wide = {0};
            wick_scope scope = wick_scope_open(r->c);
            if (call(r, s, &recipe, -1, false, &whole)) fail_msg("%s takes integers", names[k]);
            wick_status *status = wick_status_take(r->c);
            if (wick_status_code(status) != WICK_UNSUPPORTED || !strstr(wick_status_message(status), "i32"))
                fail_msg("%s refuses with: %s", names[k], wick_status_message(status));
            wick_status_free(status);
            if (!call(r, s, &recipe, -1, true, &wide)) fail_msg("%s does not take f64", names[k]);
            call_free(&whole), call_free(&wide);
            wick_scope_close(r->c, scope);
            ++seen;
        }
    }
    assert_int_equal(seen, COUNT(names));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_no_operator_cuts_fractions, open_runner, close_runner),
        cmocka_unit_test_setup_teardown(test_integers_are_refused, open_runner, close_runner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
