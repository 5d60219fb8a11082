/* Recorded steps of an optimizer on a small problem: mean((A w - Y)^2) + 0.1 sum(sin(w)). */
#include <string.h>
#include <strings.h>

#include <wick/ops.h>

#include "above.h"

#define LOSS "mean((A@w-Y)^2)+0.1*sum(sin(w))"

typedef struct problem {
    parity_case *k;
    wick_tensor *a, *y, *w;
    wick_optimizer *optimizer;
} problem;

/* PyTorch's class names are wick's names but for the case. */
static bool find_optimizer(const char *cls, wick_option_list *out) {
    for (size_t i = 0; wick_optimizer_describe(i, out); ++i)
        if (strcasecmp(out->name, cls) == 0) return true;
    return false;
}

static wick_tensor *tensor(parity_case *k, const char *name) {
    const char *why;
    json_t *key = json_string(arena_format(k->arena, "%s.%s", k->id, name));
    wick_tensor *t = value_tensor(k, key, &why);
    json_decref(key);
    return t;
}

static wick_tensor *loss_of(wick_context *c, const problem *p) {
    wick_tensor *square = wick_mse_loss(c, wick_matmul(c, p->a, p->w), p->y, NULL);
    wick_tensor *waves = wick_sum(c, wick_sin(c, p->w), NULL);
    return wick_add(c, square, waves, &(wick_add_options){sizeof(wick_add_options), wick_value_float(0.1)});
}

/* One step; compares the loss before it and the parameter after it. False: reported. */
static bool step(problem *p, size_t number, json_t *recorded_loss) {
    parity_case *k = p->k;
    wick_context *c = k->p->c;
    const char *expected, *got, *where = arena_format(k->arena, "step %zu", number);
    wick_optimizer_zero_grad(c, p->optimizer);
    wick_tensor *loss = loss_of(c, p);
    double value = loss ? wick_item(c, loss) : 0;
    if (!loss || !wick_backward(c, loss) || !wick_optimizer_step(c, p->optimizer)) {
        report_error(k, "a failure without an error");
        return false;
    }
    json_t *key = json_string(arena_format(k->arena, "%s.w%zu", k->id, number + 1));
    bool ok = compare_double(k, recorded_loss, value, &expected, &got) && compare_tensor(k, key, p->w, &expected, &got);
    json_decref(key);
    if (!ok) report_verdict(k, FAILED, where, expected, got);
    return ok;
}

static void run_steps(problem *p) {
    size_t number;
    json_t *loss;
    json_array_foreach(json_object_get(p->k->json, "losses"), number, loss) {
        wick_scope scope = wick_scope_open(p->k->p->c);
        bool ok = step(p, number, loss);
        wick_scope_close(p->k->p->c, scope);
        if (!ok) return;
    }
    report_verdict(p->k, PASSED, "", "", "");
}

void run_optimizer(parity_case *k) {
    wick_option_list known = {.struct_size = sizeof known};
    wick_option options[PARITY_MAX_OPTIONS];
    size_t count;
    const char *loss = json_string_value(json_object_get(k->json, "loss_is"));
    if (!loss || strcmp(loss, LOSS) != 0 || !find_optimizer(k->name, &known) ||
        !options_read(k, &known, options, &count)) {
        report_unsupported(k);
        return;
    }
    problem p = {k, tensor(k, "A"), tensor(k, "Y"), tensor(k, "w0"), NULL};
    if (p.a && p.y && p.w && wick_set_requires_grad(k->p->c, p.w, true))
        p.optimizer = wick_optimizer_create(k->p->c, known.name, &p.w, 1, options, count);
    if (p.optimizer)
        run_steps(&p);
    else
        report_error(k, "the recorded problem is missing or broken");
    wick_optimizer_free(p.optimizer);
}
