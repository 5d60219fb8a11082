/* Negative log likelihood. Nothing here can stop the caller: a target that is out of range makes the loss NaN and has no
 * gradient. */
#include "args_loss.h"
#include "rows.h"

#define THREADS 512

template <class C>
struct loss_sums {
    C loss, weight;
};
struct add_losses {
    template <class C>
    GPU_MEMBER loss_sums<C> operator()(const loss_sums<C> &a, const loss_sums<C> &b) const {
        return loss_sums<C>{a.loss + b.loss, a.weight + b.weight};
    }
};

enum target_kind { TARGET_IGNORED, TARGET_BAD, TARGET_GOOD };
/* Target i, its weight, and the element of the log-probabilities that it names. */
template <class C>
GPU_FN target_kind target_at(const gpu_nll_args &a, int64_t i, C *weight, int64_t *element) {
    const int64_t t = load_at<int64_t>(a.target, a.target_dtype, i), sample = i / a.pixels;
    if (t == a.ignore) return TARGET_IGNORED;
    if (t < 0 || t >= a.classes) return TARGET_BAD;
    *weight = a.weight ? load_at<C>(a.weight, a.weight_dtype, t) : C(1);
    *element = (sample * a.classes + t) * a.pixels + i - sample * a.pixels;
    return TARGET_GOOD;
}

template <class C>
GPU_FN void store_loss(const gpu_nll_args &a, const loss_sums<C> &s) {
    if (a.reduction != GPU_LOSS_NONE)
        store_at(a.loss, a.loss_dtype, 0, a.reduction == GPU_LOSS_MEAN ? s.loss / s.weight : s.loss);
    if (a.total) store_at(a.total, a.total_dtype, 0, a.no_total ? C(0) : s.weight);
}

template <class C>
GPU_FN void nll_forward(const gpu_nll_args &a) {
    __shared__ loss_sums<C> shared[TEAM_WAVES];
    loss_sums<C> s = {0, 0};
    for (int64_t i = gpu_thread(); i < a.targets; i += gpu_threads()) {
        C weight = 0, loss = 0;
        int64_t element = 0;
        target_kind kind = target_at(a, i, &weight, &element);
        if (kind == TARGET_GOOD && weight != 0) loss = -weight * load_at<C>(a.x, a.dtype, element);
        if (kind == TARGET_BAD) loss = lowest<C>() - lowest<C>();
        if (a.reduction == GPU_LOSS_NONE) store_at(a.loss, a.loss_dtype, i, loss);
        s.loss += loss, s.weight += weight;
    }
    s = team_join(s, (int)blockDim.x, add_losses(), shared);
    if (threadIdx.x) return;
    if (a.partial)
        static_cast<loss_sums<C> *>(a.partial)[blockIdx.x] = s;
    else
        store_loss(a, s);
}

/* One block; `targets` counts the sums of blocks. */
template <class C>
GPU_FN void nll_finish(const gpu_nll_args &a) {
    __shared__ loss_sums<C> shared[TEAM_WAVES];
    loss_sums<C> s = {0, 0};
    for (int64_t i = threadIdx.x; i < a.targets; i += blockDim.x)
        s = add_losses()(s, static_cast<const loss_sums<C> *>(a.partial)[i]);
    s = team_join(s, (int)blockDim.x, add_losses(), shared);
    if (!threadIdx.x) store_loss(a, s);
}

template <class C>
GPU_FN void nll_backward(const gpu_nll_args &a) {
    C scale = 1;
    if (a.reduction != GPU_LOSS_NONE) scale = load_at<C>(a.grad_loss, a.loss_dtype, 0);
    if (a.reduction == GPU_LOSS_MEAN) scale /= load_at<C>(a.total_in, a.total_dtype, 0);
    for (int64_t i = gpu_thread(); i < a.targets; i += gpu_threads()) {
        C weight, g = scale;
        int64_t element;
        if (target_at(a, i, &weight, &element) != TARGET_GOOD) continue;
        if (a.reduction == GPU_LOSS_NONE) g = load_at<C>(a.grad_loss, a.loss_dtype, i);
        if (weight != 0) store_at(a.grad, a.dtype, element, -weight * g);
    }
}

#define NLL(name, C)                                                              \
    GPU_KERNEL(nll_forward_##name, THREADS, gpu_nll_args) { nll_forward<C>(a); }  \
    GPU_KERNEL(nll_finish_##name, THREADS, gpu_nll_args) { nll_finish<C>(a); }    \
    GPU_KERNEL(nll_backward_##name, THREADS, gpu_nll_args) { nll_backward<C>(a); }
NLL(f32, float)
NLL(f64, double)
