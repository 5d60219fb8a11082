/* Negative log likelihood, of log-probabilities or of scores (cross entropy). Nothing here can stop the caller: a target
 * that is out of range makes the loss NaN and has no gradient. */
#include "args_loss.h"
#include "exp_sum.h"

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

/* What target i adds, of -log(probability), which is asked for where it counts. */
template <class C, class F>
GPU_FN void add_target(const gpu_nll_args &a, int64_t i, loss_sums<C> &sums, F minus_log) {
    C weight = 0, loss = 0;
    int64_t element = 0;
    const target_kind kind = target_at(a, i, &weight, &element);
    if (kind == TARGET_GOOD && weight != 0) loss = weight * minus_log(element);
    if (kind == TARGET_BAD) loss = lowest<C>() - lowest<C>();
    if (a.reduction == GPU_LOSS_NONE) store_at(a.loss, a.loss_dtype, i, loss);
    sums.loss += loss, sums.weight += weight;
}

/* The block's sums: all there is, or a part for nll_finish. */
template <class C>
GPU_FN void store_sums(const gpu_nll_args &a, loss_sums<C> s) {
    __shared__ loss_sums<C> shared[TEAM_WAVES];
    s = team_join(s, (int)blockDim.x, add_losses(), shared);
    if (threadIdx.x) return;
    if (a.partial)
        static_cast<loss_sums<C> *>(a.partial)[blockIdx.x] = s;
    else
        store_loss(a, s);
}

template <class C>
GPU_FN void nll_forward(const gpu_nll_args &a) {
    loss_sums<C> s = {0, 0};
    for (int64_t i = gpu_thread(); i < a.targets; i += gpu_threads())
        add_target(a, i, s, [&](int64_t element) { return -load_at<C>(a.x, a.dtype, element); });
    store_sums(a, s);
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

/* The gradient of every target's loss, unless there is one by target. */
template <class C>
GPU_FN C shared_gradient(const gpu_nll_args &a) {
    C g = 1;
    if (a.reduction != GPU_LOSS_NONE) g = load_at<C>(a.grad_loss, a.loss_dtype, 0);
    if (a.reduction == GPU_LOSS_MEAN) g /= load_at<C>(a.total_in, a.total_dtype, 0);
    return g;
}

/* The gradient of -log(probability) of target i, and the element that it names; 0: none. */
template <class C>
GPU_FN C target_gradient(const gpu_nll_args &a, int64_t i, C shared, int64_t *element) {
    C weight;
    if (target_at(a, i, &weight, element) != TARGET_GOOD || weight == 0) return 0;
    return weight * (a.reduction == GPU_LOSS_NONE ? load_at<C>(a.grad_loss, a.loss_dtype, i) : shared);
}

template <class C>
GPU_FN void nll_backward(const gpu_nll_args &a) {
    const C shared = shared_gradient<C>(a);
    for (int64_t i = gpu_thread(); i < a.targets; i += gpu_threads()) {
        int64_t element;
        const C g = target_gradient(a, i, shared, &element);
        if (g != 0) store_at(a.grad, a.dtype, element, -g);
    }
}

/* ---- cross entropy: rows of scores, read once each way ---- */
template <class S>
GPU_FN void cross_entropy(const gpu_nll_args &a) {
    typedef typename compute<S>::type C;
    __shared__ exp_sum<C> shared[TEAM_WAVES];
    const int team = a.team, lane = (int)threadIdx.x % team, teams = (int)blockDim.x / team;
    loss_sums<C> sums = {0, 0};
    for (int64_t first = (int64_t)blockIdx.x * teams; first < a.targets; first += (int64_t)gridDim.x * teams) {
        const int64_t row = first + (int)threadIdx.x / team, n = row < a.targets ? a.classes : 0;
        const S *x = static_cast<const S *>(a.x) + row * a.classes;
        const S *const rows[1] = {x};
        exp_sum<C> s = {lowest<C>(), 0};
        row_walk<C, true>(rows, n, row_head<S>(n, x, x, x), lane, team, [&](auto &v, int64_t) { add_exps(s, v[0]); });
        s = team_join(s, team, join_exp_sums(), shared);
        if (lane || row >= a.targets) continue;
        const C log_sum = real_log(s.sum);
        store_at(a.normalizer, a.normalizer_dtype, row, s.top);
        store_at(a.normalizer, a.normalizer_dtype, a.targets + row, log_sum);
        add_target(a, row, sums, [&](int64_t element) {
            return (s.top - load_as<C>(static_cast<const S *>(a.x)[element])) + log_sum;
        });
    }
    store_sums(a, sums);
}

template <class S>
GPU_FN void cross_entropy_backward(const gpu_nll_args &a) {
    typedef typename compute<S>::type C;
    const int team = a.team, lane = (int)threadIdx.x % team, teams = (int)blockDim.x / team;
    const C shared = shared_gradient<C>(a);
    for (int64_t row = (int64_t)blockIdx.x * teams + (int)threadIdx.x / team; row < a.targets;
         row += (int64_t)gridDim.x * teams) {
        const S *x = static_cast<const S *>(a.x) + row * a.classes;
        S *out = static_cast<S *>(a.grad) + row * a.classes;
        const S *const rows[1] = {x};
        int64_t element = -1;
        const C g = target_gradient(a, row, shared, &element);
        const C top = load_at<C>(a.normalizer, a.normalizer_dtype, row);
        const C log_sum = load_at<C>(a.normalizer, a.normalizer_dtype, a.targets + row);
        element -= row * a.classes;
        row_walk<C, true>(rows, a.classes, row_head<S>(a.classes, x, out, out), lane, team, [&](auto &v, int64_t i) {
            GPU_UNROLL
            for (int j = 0; j < ROW_WIDTH(v); ++j) {
                const C p = exp_for<S>::of((v[0][j] - top) - log_sum);
                v[0][j] = g == 0 ? C(0) : (i + j == element ? p - 1 : p) * g;
            }
            write_elements_once(out + i, v[0]);
        });
    }
}

#define NLL(name, C)                                                              \
    GPU_KERNEL(nll_forward_##name, THREADS, gpu_nll_args) { nll_forward<C>(a); }  \
    GPU_KERNEL(nll_finish_##name, THREADS, gpu_nll_args) { nll_finish<C>(a); }    \
    GPU_KERNEL(nll_backward_##name, THREADS, gpu_nll_args) { nll_backward<C>(a); }
NLL(f32, float)
NLL(f64, double)
#define CROSS_ENTROPY(name, S)                                                           \
    GPU_KERNEL(cross_entropy_##name, THREADS, gpu_nll_args) { cross_entropy<S>(a); }     \
    GPU_KERNEL(cross_entropy_backward_##name, THREADS, gpu_nll_args) { cross_entropy_backward<S>(a); }
CROSS_ENTROPY(f32, float)
CROSS_ENTROPY(f16, f16)
CROSS_ENTROPY(bf16, bf16)
CROSS_ENTROPY(f64, double)
