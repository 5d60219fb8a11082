/* Loss functions: a row each. */
#include "nn.h"

#include <wick/loss.h>

struct wick_loss {
    wick_loss_kind kind;
    wick_loss_options o;
};

typedef wick_tensor *(*compute_fn)(wick_context *c, const wick_loss_options *o, wick_tensor *x, wick_tensor *y);

static wick_tensor *compute_cross_entropy(wick_context *c, const wick_loss_options *o, wick_tensor *x, wick_tensor *y) {
    const wick_cross_entropy_loss_options k = {sizeof k, o->reduction, o->ignore_index, o->label_smoothing};
    return wick_cross_entropy_loss(c, x, y, o->weight, &k);
}
static wick_tensor *compute_nll(wick_context *c, const wick_loss_options *o, wick_tensor *x, wick_tensor *y) {
    const wick_nll_loss_nd_options k = {sizeof k, o->reduction, o->ignore_index};
    return wick_nll_loss_nd(c, x, y, o->weight, &k);
}
static wick_tensor *compute_mse(wick_context *c, const wick_loss_options *o, wick_tensor *x, wick_tensor *y) {
    return wick_mse_loss(c, x, y, &(wick_mse_loss_options){sizeof(wick_mse_loss_options), o->reduction});
}
static wick_tensor *compute_l1(wick_context *c, const wick_loss_options *o, wick_tensor *x, wick_tensor *y) {
    return wick_l1_loss(c, x, y, &(wick_l1_loss_options){sizeof(wick_l1_loss_options), o->reduction});
}
static wick_tensor *compute_smooth_l1(wick_context *c, const wick_loss_options *o, wick_tensor *x, wick_tensor *y) {
    const wick_smooth_l1_loss_options k = {sizeof k, o->reduction, o->beta};
    return wick_smooth_l1_loss(c, x, y, &k);
}
static wick_tensor *compute_huber(wick_context *c, const wick_loss_options *o, wick_tensor *x, wick_tensor *y) {
    const wick_huber_loss_options k = {sizeof k, o->reduction, o->delta};
    return wick_huber_loss(c, x, y, &k);
}
static wick_tensor *compute_bce_with_logits(wick_context *c, const wick_loss_options *o, wick_tensor *x,
                                            wick_tensor *y) {
    const wick_binary_cross_entropy_with_logits_options k = {sizeof k, o->reduction};
    return wick_binary_cross_entropy_with_logits(c, x, y, o->weight, o->pos_weight, &k);
}

static const struct {
    const char *name;
    bool classes;
    compute_fn compute;
} rows[] = {
#define ROW(name, cls, classes, doc) {#name, classes, compute_##name},
    WICK_LOSSES(ROW)
#undef ROW
};

wick_loss *wick_loss_create(wick_context *c, wick_loss_kind kind, const wick_loss_options *options) {
    static const wick_loss_options defaults = WICK_LOSS_OPTIONS_INIT;
    if (wick_failed(c)) return NULL;
    wick_loss *loss = calloc(1, sizeof *loss);
    if (!loss) return FAIL(c, OUT_OF_MEMORY, "no memory for a loss"), NULL;
    *loss = (wick_loss){kind, options ? *options : defaults};
    wick_retain(loss->o.weight);
    wick_retain(loss->o.pos_weight);
    return loss;
}

void wick_loss_free(wick_loss *loss) {
    if (!loss) return;
    wick_release(loss->o.weight);
    wick_release(loss->o.pos_weight);
    free(loss);
}

wick_tensor *wick_loss_compute(wick_context *c, const wick_loss *loss, wick_tensor *input, wick_tensor *target) {
    if (wick_failed(c)) return NULL;
    wick_scope scope = wick_scope_open(c);
    return wick_scope_return(c, scope, rows[loss->kind].compute(c, &loss->o, input, target));
}

wick_loss_kind wick_loss_kind_of(const wick_loss *loss) { return loss->kind; }
bool wick_loss_has_classes(wick_loss_kind kind) { return rows[kind].classes; }
const char *wick_loss_name(wick_loss_kind kind) { return rows[kind].name; }

wick_status *wick_loss_find(const char *name, wick_loss_kind *out) {
    for (size_t i = 0; i < COUNT(rows); ++i)
        if (!strcmp(rows[i].name, name)) return *out = (wick_loss_kind)i, NULL;
#define NAME(name, cls, classes, doc) " " #name
    return WICK_ERROR(WICK_NOT_FOUND, "no loss is called '%s'; there are:%s", name, WICK_LOSSES(NAME));
#undef NAME
}
