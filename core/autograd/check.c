/* gradcheck and gradgradcheck: analytical against central differences, one input element at a time. */
#include <math.h>
#include <stdio.h>

#include <wick/ops.h>

#include "node.h"

typedef struct check {
    context_impl *c;
    wick_check_fn fn;
    void *user;
    wick_tensor *const *inputs;
    int n, outputs;
    double eps, rtol, atol;
} check;

#define CHECK_MAX 32

static bool call(const check *k, wick_tensor *const *inputs, wick_tensor **outputs) {
    for (int i = 0; i < k->outputs; ++i) outputs[i] = NULL;
    bool ok = k->fn(k->user, PUB(k->c), inputs, k->n, outputs, k->outputs) && !k->c->error;
    for (int i = 0; ok && i < k->outputs; ++i)
        if (!outputs[i]) ok = !FAIL(k->c, INVALID_ARGUMENT, "gradcheck: output %d is NULL", i);
    return ok;
}

static bool floating(const wick_tensor *t) { return wick_dtype_is_differentiable(wick_tensor_dtype(t)); }

/* sum_i <output_i, weight_i>, in double. Complex outputs count as pairs of reals. */
static double weighted_sum(const check *k, wick_tensor *const *outputs, wick_tensor *const *weights) {
    wick_context *c = PUB(k->c);
    double total = 0;
    for (int i = 0; i < k->outputs; ++i) {
        if (!weights[i]) continue;
        wick_tensor *product = wick_mul(c, outputs[i], wick_conj(c, weights[i]));
        if (product && wick_dtype_is_complex(wick_tensor_dtype(product))) product = wick_real(c, product);
        total += wick_item(c, wick_sum(c, product, NULL));
    }
    return total;
}

/* The value with one real component of one input element moved by `delta`. */
static double moved(const check *k, int input, int64_t element, int part, double delta, wick_tensor *const *weights) {
    wick_context *c = PUB(k->c);
    wick_tensor *inputs[CHECK_MAX], *outputs[CHECK_MAX];
    wick_scope scope = wick_scope_open(c);
    memcpy(inputs, k->inputs, sizeof *inputs * (size_t)k->n);
    wick_tensor *flat = wick_clone(c, wick_reshape(c, wick_detach(c, k->inputs[input]), (int64_t[]){-1}, 1), NULL);
    wick_tensor *cell = flat ? wick_select(c, flat, 0, element) : NULL;
    const double parts[2] = {part ? 0 : delta, part ? delta : 0};
    if (cell && wick_dtype_is_complex(wick_tensor_dtype(cell)))
        wick_add_scalar_(c, cell, wick_value_complex(parts), NULL);
    else if (cell)
        wick_add_scalar_(c, cell, wick_value_float(delta), NULL);
    inputs[input] = wick_reshape(c, flat, k->inputs[input]->sizes, k->inputs[input]->ndim);
    double value = !k->c->error && call(k, inputs, outputs) ? weighted_sum(k, outputs, weights) : NAN;
    wick_scope_close(c, scope);
    return value;
}

static double component(wick_context *c, wick_tensor *flat, int64_t element, int part) {
    wick_tensor *cell = wick_select(c, flat, 0, element);
    if (cell && wick_dtype_is_complex(wick_tensor_dtype(cell))) cell = part ? wick_imag(c, cell) : wick_real(c, cell);
    return wick_item(c, cell);
}

static bool compare_element(const check *k, int input, int64_t element, int part, wick_tensor *flat_grad,
                            wick_tensor *const *weights) {
    wick_context *c = PUB(k->c);
    wick_scope scope = wick_scope_open(c);
    wick_modes modes = wick_no_grad(c);
    double up = moved(k, input, element, part, k->eps, weights),
           down = moved(k, input, element, part, -k->eps, weights);
    double numerical = (up - down) / (2 * k->eps), analytical = component(c, flat_grad, element, part);
    wick_modes_set(c, modes);
    wick_scope_close(c, scope);
    if (k->c->error) return false;
    if (fabs(numerical - analytical) <= k->atol + k->rtol * fabs(numerical)) return true;
    return !FAIL(k->c, FAILED_PRECONDITION,
                 "gradcheck: Jacobian mismatch for input %d at element %lld%s: numerical %.10g, analytical %.10g",
                 input, (long long)element, part ? " (imaginary part)" : "", numerical, analytical);
}

/* Random cotangents make one scalar of all outputs; the seed is the context's. */
static bool make_weights(const check *k, wick_tensor *const *outputs, wick_tensor **weights) {
    wick_context *c = PUB(k->c);
    for (int i = 0; i < k->outputs; ++i) {
        weights[i] = NULL;
        if (!wick_requires_grad(outputs[i])) continue;
        weights[i] = wick_detach(c, wick_randn_like(c, wick_detach(c, outputs[i]), NULL));
        if (!weights[i]) return false;
    }
    return true;
}

static bool compare_inputs(const check *k, wick_tensor *const *outputs, wick_tensor *const *weights) {
    wick_context *c = PUB(k->c);
    wick_tensor *roots[CHECK_MAX], *cotangents[CHECK_MAX], *wanted[CHECK_MAX], *grads[CHECK_MAX];
    int position[CHECK_MAX], nroots = 0, nwanted = 0;
    for (int i = 0; i < k->outputs; ++i)
        if (weights[i]) roots[nroots] = outputs[i], cotangents[nroots++] = weights[i];
    for (int i = 0; i < k->n; ++i)
        if (k->inputs[i] && wick_requires_grad(k->inputs[i])) position[nwanted] = i, wanted[nwanted++] = k->inputs[i];
    if (!nroots || !nwanted)
        return !FAIL(k->c, INVALID_ARGUMENT, "gradcheck: no input requires grad, or no output depends on one");
    if (!wick_grad(c, roots, cotangents, nroots, wanted, nwanted, WICK_ALLOW_UNUSED | WICK_RETAIN_GRAPH, grads))
        return false;
    for (int i = 0; i < nwanted; ++i) {
        wick_tensor *grad = grads[i] ? grads[i] : wick_zeros_like(c, wanted[i], NULL);
        wick_tensor *flat = wick_reshape(c, grad, (int64_t[]){-1}, 1);
        int parts = wick_dtype_is_complex(wick_tensor_dtype(wanted[i])) ? 2 : 1;
        for (int64_t e = 0; flat && e < wanted[i]->numel; ++e)
            for (int part = 0; part < parts; ++part)
                if (!compare_element(k, position[i], e, part, flat, weights)) return false;
    }
    return !k->c->error;
}

static wick_status *run_check(const check *k) {
    wick_context *c = PUB(k->c);
    wick_tensor *outputs[CHECK_MAX], *weights[CHECK_MAX];
    if (k->c->error) return WICK_ERROR(WICK_FAILED_PRECONDITION, "gradcheck: the context has failed before");
    if (k->n > CHECK_MAX || k->outputs > CHECK_MAX)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "gradcheck: at most %d inputs and outputs", CHECK_MAX);
    for (int i = 0; i < k->n; ++i)
        if (k->inputs[i] && wick_requires_grad(k->inputs[i]) && k->inputs[i]->dtype != WICK_F64 &&
            k->inputs[i]->dtype != WICK_C128)
            return WICK_ERROR(WICK_INVALID_ARGUMENT,
                              "gradcheck: input %d is %s, wanted f64 or c128: differences need the precision", i,
                              wick_dtype_name(wick_tensor_dtype(k->inputs[i])));
    wick_scope scope = wick_scope_open(c);
    if (call(k, k->inputs, outputs) && make_weights(k, outputs, weights)) compare_inputs(k, outputs, weights);
    wick_scope_close(c, scope);
    return wick_status_take(c);
}

wick_status *wick_gradcheck(wick_context *c, wick_check_fn fn, void *user, wick_tensor *const *inputs, int n,
                            int noutputs, double eps, double rtol, double atol) {
    check k = {ctx(c), fn, user, inputs, n, noutputs, eps, rtol, atol};
    return run_check(&k);
}

/* ---- second order: gradcheck of the function (inputs, cotangents) -> gradients ---- */
typedef struct second {
    const check *first;
    int cotangents;
} second;

static bool gradients(void *user, wick_context *c, wick_tensor *const *inputs, int n, wick_tensor **outputs, int m) {
    const second *s = user;
    const check *k = s->first;
    wick_tensor *values[CHECK_MAX], *roots[CHECK_MAX], *wanted[CHECK_MAX];
    int nroots = 0, nwanted = 0;
    wick_modes modes = wick_set_grad_enabled(c, true);
    wick_tensor *own[CHECK_MAX];
    for (int i = 0; i < k->n; ++i) {
        own[i] = inputs[i];
        if (!inputs[i] || !wick_requires_grad(k->inputs[i])) continue;
        if (!wick_requires_grad(inputs[i])) own[i] = wick_set_requires_grad(c, wick_detach(c, inputs[i]), true);
        wanted[nwanted++] = own[i];
    }
    bool ok = call(k, own, values);
    for (int i = 0; ok && i < k->outputs; ++i)
        if (wick_requires_grad(values[i])) roots[nroots++] = values[i];
    ok = ok &&
         wick_grad(c, roots, inputs + k->n, nroots, wanted, nwanted, WICK_ALLOW_UNUSED | WICK_CREATE_GRAPH, outputs);
    for (int i = 0; ok && i < nwanted; ++i)
        if (!outputs[i]) outputs[i] = wick_zeros_like(c, wanted[i], NULL);
    wick_modes_set(c, modes);
    return ok;
}

wick_status *wick_gradgradcheck(wick_context *pub, wick_check_fn fn, void *user, wick_tensor *const *inputs, int n,
                                int noutputs, double eps, double rtol, double atol) {
    context_impl *c = ctx(pub);
    check first = {c, fn, user, inputs, n, noutputs, eps, rtol, atol};
    wick_tensor *outputs[CHECK_MAX], *all[2 * CHECK_MAX];
    if (c->error) return WICK_ERROR(WICK_FAILED_PRECONDITION, "gradgradcheck: the context has failed before");
    if (n + noutputs > CHECK_MAX)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "gradgradcheck: at most %d inputs and outputs", CHECK_MAX);
    wick_scope scope = wick_scope_open(pub);
    second s = {&first, 0};
    int wanted = 0;
    memcpy(all, inputs, sizeof *all * (size_t)n);
    for (int i = 0; i < n; ++i) wanted += inputs[i] && wick_requires_grad(inputs[i]);
    bool ok = call(&first, inputs, outputs);
    for (int i = 0; ok && i < noutputs; ++i) {
        if (!floating(outputs[i]) || !wick_requires_grad(outputs[i])) continue;
        wick_tensor *w = wick_randn_like(pub, wick_detach(pub, outputs[i]), NULL);
        ok = w && (all[n + s.cotangents++] = wick_set_requires_grad(pub, w, true)) != NULL;
    }
    wick_status *status = wick_status_take(pub);
    if (!status && ok) status = wick_gradcheck(pub, gradients, &s, all, n + s.cotangents, wanted, eps, rtol, atol);
    wick_scope_close(pub, scope);
    return status;
}
