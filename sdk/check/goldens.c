/* Results that were recorded from PyTorch (tests/goldens), with the device under test as argument. */
#include <string.h>

#include <parity.h>

#include "runner.h"

typedef struct golden_run {
    runner *r;
    char name[128]; /* operator whose cases run */
    bool wanted;    /* it was begun, not passed over */
    uint32_t unsupported, passed;
} golden_run;

static void take_verdict(const parity_case *k, verdict v, const char *where, const char *expected, const char *got) {
    static const char *const stages[STAGE_COUNT] = {"recorded", "recorded gradient", "recorded second gradient"};
    golden_run *g = k->p->user;
    char label[128];
    snprintf(label, sizeof label, "%s %.63s", stages[k->stage], k->id);
    if (g->r->mode == CHECK_GRAD && k->stage == STAGE_FORWARD) return; /* mode ops has judged it */
    if (v == PASSED) {
        ++g->passed;
        check_pass(g->r, k->name, label);
    } else if (v == UNSUPPORTED) {
        ++g->unsupported;
    } else {
        check_fail(g->r, k->name, label, "%s%s%sgot %s, wanted %s", where, *where ? ": " : "", "", got, expected);
    }
}

/* One begin an operator: its name is told if the process dies. */
static bool begin_operator(golden_run *g, const char *name) {
    if (strcmp(g->name, name) == 0) return g->wanted;
    snprintf(g->name, sizeof g->name, "%.127s", name);
    g->wanted = check_begin(g->r, name) && !known_exclusion(&g->r->known, name, NULL);
    return g->wanted;
}

static void run_recorded(parity_case *k) {
    const wick_op *op = wick_op_find(k->p->runtime, k->name);
    golden_run *g = k->p->user;
    if (!begin_operator(g, k->name)) return;
    check_case(g->r, k->id);
    if (op)
        run_case(k, op);
    else
        ++g->unsupported;
}

void mode_goldens(runner *r, bool grad) {
    golden_run g = {.r = r};
    if (!r->options->goldens) return;
    parity p = {.sink = take_verdict, .user = &g, .runtime = r->runtime, .c = r->c, .device = r->device};
    p.options.folder = r->options->goldens;
    p.options.only = r->options->only;
    p.options.grad = grad;
    p.as_strided = wick_op_find(r->runtime, "as_strided");
    wick_set_default_device(r->c, r->device);
    bool read = each_indexed(&p, "index.jsonl", "ops", "op", run_recorded);
    check_that(r, read, "recorded results", "", "%s cannot be read", r->options->goldens);
    check_note(r, "recorded results", "", "%u passed, %u not supported", g.passed, g.unsupported);
}
