/* Steps of optimizers over many parameters at once. Step counts, the scale of the gradients and the flag that skips a step
 * are read when the kernel runs, so that a captured graph goes on counting. */
#include "args_optim.h"
#include "rows.h"

#define THREADS 256

GPU_FN double number_at(const void *p, int wide, double none) {
    return !p ? none : wide ? *static_cast<const double *>(p) : (double)*static_cast<const float *>(p);
}

GPU_FN int item_of(const gpu_optim_args &a, uint32_t block) {
    int low = 0, high = a.count - 1;
    while (low < high) {
        const int middle = (low + high + 1) / 2;
        if (a.begins[middle] <= block)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

template <int N> struct together {
    enum { n = N };
};

/* f(together<N>(), i) for the block's chunk: N elements from i on, four where the arrays allow it. */
template <class S, class F> GPU_FN void walk_chunk(const gpu_optim_item &item, uint32_t chunk, F f) {
    const uint64_t addresses =
        (uint64_t)item.param | (uint64_t)item.grad | (uint64_t)item.first | (uint64_t)item.second | (uint64_t)item.most;
    const int64_t begin = (int64_t)chunk * GPU_OPTIM_CHUNK;
    const int64_t end = item.n - begin < GPU_OPTIM_CHUNK ? item.n : begin + GPU_OPTIM_CHUNK;
    const int64_t whole = addresses % (4 * sizeof(S)) ? begin : begin + (end - begin) / 4 * 4;
    for (int64_t i = begin + threadIdx.x * 4; i < whole; i += blockDim.x * 4) f(together<4>(), i);
    for (int64_t i = whole + threadIdx.x; i < end; i += blockDim.x) f(together<1>(), i);
}

/* The gradient without its scale, which is taken from memory too. */
template <int N, class S, class C>
GPU_FN void read_gradient(const gpu_optim_item &item, int64_t i, C scale, C (&g)[N]) {
    read_elements(static_cast<const S *>(item.grad) + i, g);
    if (scale == 1) return;
    GPU_UNROLL
    for (int j = 0; j < N; ++j) g[j] /= scale;
    write_elements(static_cast<S *>(item.grad) + i, g);
}

/* ---- Adam ---- */
template <class C> struct adam_factors { C keep, decay, rest1, beta2, rest2, step_size, root, eps, sign, scale; };
template <class C> GPU_FN adam_factors<C> adam_factors_of(const gpu_optim_args &a, double step) {
    adam_factors<C> f;
    f.keep = (C)(1 - a.lr * a.decay), f.decay = (C)a.decay;
    f.rest1 = (C)(1 - a.beta1), f.beta2 = (C)a.beta2, f.rest2 = (C)(1 - a.beta2);
    f.step_size = (C)(a.lr / (1 - pow(a.beta1, step))), f.root = (C)(1 / sqrt(1 - pow(a.beta2, step)));
    f.eps = (C)a.eps, f.sign = a.maximize ? C(-1) : C(1);
    f.scale = (C)number_at(a.grad_scale, a.scale_wide, 1);
    return f;
}

template <class S, int N, class C>
GPU_FN void adam_at(const gpu_optim_args &a, const gpu_optim_item &item, const adam_factors<C> &f, int64_t i) {
    C p[N], g[N], m[N], v[N], most[N];
    read_gradient<N, S>(item, i, f.scale, g);
    read_elements(static_cast<const S *>(item.param) + i, p);
    read_elements(static_cast<const S *>(item.first) + i, m);
    read_elements(static_cast<const S *>(item.second) + i, v);
    if (a.amsgrad) read_elements(static_cast<const S *>(item.most) + i, most);
    GPU_UNROLL
    for (int j = 0; j < N; ++j) {
        C grad = g[j] * f.sign;
        if (a.decoupled)
            p[j] *= f.keep;
        else
            grad += f.decay * p[j];
        m[j] += f.rest1 * (grad - m[j]);
        v[j] = v[j] * f.beta2 + f.rest2 * grad * grad;
        if (!a.amsgrad || !(most[j] > v[j])) most[j] = v[j];
        p[j] -= f.step_size * m[j] / (real_sqrt(most[j]) * f.root + f.eps);
    }
    write_elements(static_cast<S *>(item.param) + i, p);
    write_elements(static_cast<S *>(item.first) + i, m);
    write_elements(static_cast<S *>(item.second) + i, v);
    if (a.amsgrad) write_elements(static_cast<S *>(item.most) + i, most);
}

template <class S, class C> struct adam_walk {
    const gpu_optim_args &a;
    const gpu_optim_item &item;
    const adam_factors<C> &f;
    template <class W> GPU_MEMBER void operator()(W, int64_t i) const { adam_at<S, W::n>(a, item, f, i); }
};

template <class S> GPU_FN void adam(const gpu_optim_args &a) {
    typedef typename compute<S>::type C;
    __shared__ adam_factors<C> f;
    if (number_at(a.found_inf, a.found_wide, 0) == 1) return;
    const int k = item_of(a, blockIdx.x);
    if (!threadIdx.x) f = adam_factors_of<C>(a, *a.items[k].step);
    __syncthreads();
    const adam_factors<C> own = f;
    walk_chunk<S>(a.items[k], blockIdx.x - a.begins[k], adam_walk<S, C>{a, a.items[k], own});
}
GPU_KERNEL(adam_f32, THREADS, gpu_optim_args) { adam<float>(a); }
GPU_KERNEL(adam_f64, THREADS, gpu_optim_args) { adam<double>(a); }
GPU_KERNEL(adam_f16, THREADS, gpu_optim_args) { adam<f16>(a); }
GPU_KERNEL(adam_bf16, THREADS, gpu_optim_args) { adam<bf16>(a); }

/* ---- SGD ---- */
template <class C> struct sgd_factors { C decay, lr, momentum, old, fresh, sign, scale; };
template <class C> GPU_FN sgd_factors<C> sgd_factors_of(const gpu_optim_args &a) {
    sgd_factors<C> f;
    f.decay = (C)a.decay, f.lr = (C)a.lr, f.momentum = (C)a.momentum;
    f.old = a.is_first ? C(0) : (C)a.momentum, f.fresh = a.is_first ? C(1) : (C)(1 - a.dampening);
    f.sign = a.maximize ? C(-1) : C(1), f.scale = (C)number_at(a.grad_scale, a.scale_wide, 1);
    return f;
}

template <class S, int N, class C>
GPU_FN void sgd_at(const gpu_optim_args &a, const gpu_optim_item &item, const sgd_factors<C> &f, int64_t i) {
    C p[N], g[N], b[N];
    read_gradient<N, S>(item, i, f.scale, g);
    read_elements(static_cast<const S *>(item.param) + i, p);
    GPU_UNROLL
    for (int j = 0; j < N; ++j) g[j] = g[j] * f.sign + f.decay * p[j], b[j] = 0;
    if (item.first) {
        if (!a.is_first) read_elements(static_cast<const S *>(item.first) + i, b); /* it may hold anything before */
        GPU_UNROLL
        for (int j = 0; j < N; ++j) {
            b[j] = f.old * b[j] + f.fresh * g[j];
            g[j] = a.nesterov ? g[j] + f.momentum * b[j] : b[j];
        }
        write_elements(static_cast<S *>(item.first) + i, b);
    }
    GPU_UNROLL
    for (int j = 0; j < N; ++j) p[j] -= f.lr * g[j];
    write_elements(static_cast<S *>(item.param) + i, p);
}

template <class S, class C> struct sgd_walk {
    const gpu_optim_args &a;
    const gpu_optim_item &item;
    const sgd_factors<C> &f;
    template <class W> GPU_MEMBER void operator()(W, int64_t i) const { sgd_at<S, W::n>(a, item, f, i); }
};

template <class S> GPU_FN void sgd(const gpu_optim_args &a) {
    typedef typename compute<S>::type C;
    if (number_at(a.found_inf, a.found_wide, 0) == 1) return;
    const int k = item_of(a, blockIdx.x);
    const sgd_factors<C> f = sgd_factors_of<C>(a);
    walk_chunk<S>(a.items[k], blockIdx.x - a.begins[k], sgd_walk<S, C>{a, a.items[k], f});
}
GPU_KERNEL(sgd_f32, THREADS, gpu_optim_args) { sgd<float>(a); }
GPU_KERNEL(sgd_f64, THREADS, gpu_optim_args) { sgd<double>(a); }
GPU_KERNEL(sgd_f16, THREADS, gpu_optim_args) { sgd<f16>(a); }
GPU_KERNEL(sgd_bf16, THREADS, gpu_optim_args) { sgd<bf16>(a); }
