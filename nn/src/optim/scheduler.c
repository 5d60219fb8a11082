/* Learning-rate schedules: a row each, in closed form. Formulas: torch.optim.lr_scheduler. */
#include "options.h"

#include <math.h>

#define PI 3.14159265358979323846

typedef struct schedule_row {
    const char *name;
    size_t option_count;
    wick_option options[OPTIONS_LIMIT];
    double (*rate)(double base, double step, const double *v);
    void (*extra)(wick_optimizer *o, int group, double step, const double *v); /* more than the rate; may be NULL */
} schedule_row;

struct wick_scheduler {
    const schedule_row *row;
    wick_optimizer *optimizer;
    double values[OPTIONS_LIMIT];
    double *base; /* the rate of each group at the beginning */
    int groups;
    int64_t step;
};

/* ---- formulas ---- */
enum { WARMUP, WARMUP_FACTOR, OWN };
#define WARMUP_OPTIONS \
    {"warmup", 0}, { "warmup_factor", 1.0 / 3 }

static double constant_rate(double base, double step, const double *v) {
    return step < v[OWN + 1] ? base * v[OWN] : base;
}

static double linear_rate(double base, double step, const double *v) {
    double done = fmin(step / v[OWN + 2], 1);
    return base * (v[OWN] + (v[OWN + 1] - v[OWN]) * done);
}

static double step_rate(double base, double step, const double *v) {
    return base * pow(v[OWN + 1], floor(step / v[OWN]));
}

static double exponential_rate(double base, double step, const double *v) { return base * pow(v[OWN], step); }

static double polynomial_rate(double base, double step, const double *v) {
    return base * pow(1 - fmin(step / v[OWN], 1), v[OWN + 1]);
}

static double cosine_rate(double base, double step, const double *v) {
    return v[OWN + 1] + (base - v[OWN + 1]) * (1 + cos(PI * step / v[OWN])) / 2;
}

enum { CYCLE_MAX_LR = OWN, CYCLE_STEPS, CYCLE_RISE, CYCLE_DIV, CYCLE_FINAL_DIV, CYCLE_MOMENTUM, CYCLE_LOW, CYCLE_HIGH };

static double cosine_between(double from, double to, double share) {
    return to + (from - to) / 2 * (cos(PI * share) + 1);
}

/* From `low` up to `high` and down to `last`. */
static double one_cycle(double low, double high, double last, double step, const double *v) {
    double top = v[CYCLE_RISE] * v[CYCLE_STEPS] - 1, end = v[CYCLE_STEPS] - 1;
    if (step <= top) return cosine_between(low, high, top > 0 ? step / top : 1);
    return cosine_between(high, last, fmin((step - top) / (end - top), 1));
}

static double one_cycle_rate(double base, double step, const double *v) {
    double low = v[CYCLE_MAX_LR] / v[CYCLE_DIV];
    return one_cycle(low, v[CYCLE_MAX_LR], low / v[CYCLE_FINAL_DIV], step, v);
}

static void one_cycle_momentum(wick_optimizer *o, int group, double step, const double *v) {
    double momentum = one_cycle(v[CYCLE_HIGH], v[CYCLE_LOW], v[CYCLE_HIGH], step, v);
    if (v[CYCLE_MOMENTUM] != 0 && !wick_optimizer_set(o, group, "momentum", momentum))
        wick_optimizer_set(o, group, "beta1", momentum);
}

static const schedule_row rows[] = {
    {"constant", 4, {WARMUP_OPTIONS, {"factor", 1.0 / 3}, {"total_iters", 5}}, constant_rate, NULL},
    {"linear",
     5,
     {WARMUP_OPTIONS, {"start_factor", 1.0 / 3}, {"end_factor", 1}, {"total_iters", 5}},
     linear_rate,
     NULL},
    {"step", 4, {WARMUP_OPTIONS, {"step_size", NAN}, {"gamma", 0.1}}, step_rate, NULL},
    {"exponential", 3, {WARMUP_OPTIONS, {"gamma", NAN}}, exponential_rate, NULL},
    {"polynomial", 4, {WARMUP_OPTIONS, {"total_iters", 5}, {"power", 1}}, polynomial_rate, NULL},
    {"cosine", 4, {WARMUP_OPTIONS, {"t_max", NAN}, {"eta_min", 0}}, cosine_rate, NULL},
    {"one_cycle",
     10,
     {WARMUP_OPTIONS,
      {"max_lr", NAN},
      {"total_steps", NAN},
      {"pct_start", 0.3},
      {"div_factor", 25},
      {"final_div_factor", 1e4},
      {"cycle_momentum", 1},
      {"base_momentum", 0.85},
      {"max_momentum", 0.95}},
     one_cycle_rate,
     one_cycle_momentum},
};

bool wick_scheduler_describe(size_t index, wick_option_list *out) {
    if (index >= COUNT(rows)) return false;
    *out = (wick_option_list){sizeof *out, rows[index].name, rows[index].option_count, rows[index].options};
    return true;
}

/* ---- life ---- */
static const schedule_row *find_row(wick_context *c, const char *name) {
    text t = {0};
    for (size_t i = 0; i < COUNT(rows); ++i)
        if (!strcmp(rows[i].name, name)) return &rows[i];
    for (size_t i = 0; i < COUNT(rows); ++i) text_add(&t, i ? ", %s" : "%s", rows[i].name);
    FAIL(c, NOT_FOUND, "no schedule is called '%s'; there are: %s", name,
         t.failed ? "(no memory to list them)" : t.data);
    free(t.data);
    return NULL;
}

/* Lengths are divided by. */
static bool check_lengths(wick_context *c, const wick_scheduler *s) {
    static const char *const lengths[] = {"total_iters", "step_size", "t_max", "total_steps"};
    for (size_t i = 0; i < COUNT(lengths); ++i) {
        int k = option_index(s->row->options, s->row->option_count, lengths[i]);
        if (k >= 0 && !(s->values[k] > 0))
            return !FAIL(c, INVALID_ARGUMENT, "%s: %s is %g, wanted more than 0", s->row->name, lengths[i],
                         s->values[k]);
    }
    return true;
}

static bool prepare(wick_context *c, wick_scheduler *s, const wick_option *options, size_t n) {
    const schedule_row *row = s->row;
    for (size_t i = 0; i < row->option_count; ++i) s->values[i] = row->options[i].value;
    if (!options_apply(c, row->name, row->options, row->option_count, options, n, s->values) ||
        !options_complete(c, row->name, row->options, row->option_count, s->values) || !check_lengths(c, s))
        return false;
    s->groups = wick_optimizer_groups(s->optimizer);
    s->base = calloc((size_t)s->groups + 1, sizeof *s->base);
    if (!s->base) return !FAIL(c, OUT_OF_MEMORY, "no memory for a schedule");
    for (int g = 0; g < s->groups; ++g) wick_optimizer_get(s->optimizer, g, "lr", &s->base[g]);
    return true;
}

wick_scheduler *wick_scheduler_create(wick_context *c, const char *name, wick_optimizer *o, const wick_option *options,
                                      size_t option_count) {
    const schedule_row *row = wick_failed(c) ? NULL : find_row(c, name);
    if (!row) return NULL;
    wick_scheduler *s = calloc(1, sizeof *s);
    if (!s) return FAIL(c, OUT_OF_MEMORY, "no memory for a schedule"), NULL;
    s->row = row, s->optimizer = o;
    if (prepare(c, s, options, option_count)) return wick_scheduler_seek(s, 0), s;
    wick_scheduler_free(s);
    return NULL;
}

void wick_scheduler_free(wick_scheduler *s) {
    if (!s) return;
    free(s->base);
    free(s);
}

/* ---- steps ---- */
static double rate_at(const wick_scheduler *s, double base, double step) {
    const double *v = s->values;
    if (step >= v[WARMUP]) return s->row->rate(base, step - v[WARMUP], v);
    return s->row->rate(base, 0, v) * (v[WARMUP_FACTOR] + (1 - v[WARMUP_FACTOR]) * step / v[WARMUP]);
}

void wick_scheduler_seek(wick_scheduler *s, int64_t step) {
    s->step = step;
    for (int g = 0; g < s->groups; ++g) {
        wick_optimizer_set(s->optimizer, g, "lr", rate_at(s, s->base[g], (double)step));
        if (s->row->extra) s->row->extra(s->optimizer, g, fmax((double)step - s->values[WARMUP], 0), s->values);
    }
}

void wick_scheduler_step(wick_scheduler *s) { wick_scheduler_seek(s, s->step + 1); }
int64_t wick_scheduler_position(const wick_scheduler *s) { return s->step; }
