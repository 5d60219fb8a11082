/* The gradient side of tensors, as applications see it. */
#include "node.h"

bool wick_requires_grad(const wick_tensor *t) {
    const tensor_impl *i = impl(t);
    if (i->requires_grad || i->grad_fn) return true;
    return i->base && (i->base->requires_grad || i->base->grad_fn) && wick_version(t) != i->attr_version;
}

bool wick_is_leaf(const wick_tensor *t) { return !wick_requires_grad(t) || impl(t)->requires_grad; }

wick_tensor *wick_set_requires_grad(wick_context *pub, wick_tensor *t, bool on) {
    context_impl *c = ctx(pub);
    if (c->error) return NULL;
    if (!t) {
        FAIL(c, INVALID_ARGUMENT, "wick_set_requires_grad: the tensor is NULL");
        return NULL;
    }
    if (on && !wick_dtype_is_differentiable((wick_dtype)t->dtype)) {
        FAIL(c, INVALID_ARGUMENT, "only Tensors of floating point and complex dtype can require gradients, got %s",
             wick_dtype_name((wick_dtype)t->dtype));
        return NULL;
    }
    if (tensor_grad_fn(c, impl(t))) {
        if (on) return t;
        FAIL(c, FAILED_PRECONDITION,
             "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a "
             "subgraph that doesn't require differentiation use wick_detach.");
        return NULL;
    }
    if (on && t->flags & WICK_TENSOR_INFERENCE && !c->modes.inference) {
        FAIL(c, FAILED_PRECONDITION,
             "setting requires_grad=True on inference tensor outside inference mode is not allowed");
        return NULL;
    }
    impl(t)->requires_grad = on;
    if (on)
        t->keys |= WICK_KEY(AUTOGRAD);
    else if (!impl(t)->base)
        t->keys &= ~WICK_KEY(AUTOGRAD);
    return t;
}

wick_tensor *wick_grad_of(const wick_tensor *t) { return extra_of(impl(t)) ? extra_of(impl(t))->grad : NULL; }
bool wick_grad_is_partial(const wick_tensor *t) { return extra_of(impl(t)) && extra_of(impl(t))->partial; }
wick_node *wick_grad_fn(const wick_tensor *t) { return impl(t)->grad_fn; }

static bool check_grad(context_impl *c, const wick_tensor *t, const wick_tensor *grad) {
    char a[SIZES_TEXT], b[SIZES_TEXT];
    if (grad->ndim == t->ndim && !memcmp(grad->sizes, t->sizes, sizeof *t->sizes * t->ndim) &&
        grad->dtype == t->dtype && wick_device_equal(grad->device, t->device))
        return true;
    return !FAIL(c, INVALID_ARGUMENT, "assigned grad has data of a different type or size: %s %s, wanted %s %s",
                 wick_dtype_name((wick_dtype)grad->dtype), format_sizes(grad->ndim, grad->sizes, a, sizeof a),
                 wick_dtype_name((wick_dtype)t->dtype), format_sizes(t->ndim, t->sizes, b, sizeof b));
}

bool wick_set_grad(wick_context *pub, wick_tensor *t, wick_tensor *grad) {
    context_impl *c = ctx(pub);
    if (grad && !check_grad(c, t, grad)) return false;
    if (!grad && !extra_of(impl(t))) return true;
    autograd_extra *x = autograd_extra_of(impl(t));
    if (!x) return !FAIL(c, OUT_OF_MEMORY, "cannot set a gradient");
    wick_tensor *old = x->grad;
    x->grad = wick_retain(grad);
    x->partial = false;
    if (old) tensor_release(impl(old), c);
    return true;
}
