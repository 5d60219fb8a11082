/* Pooling and columns of patches. Every thread makes one element of the result; backwards look for the windows that saw
 * an element, so that sums have one order and there are no atomics. */
#include "args_pool.h"
#include "gpu.h"

#define THREADS 256

GPU_FN int at_most(int a, int b) { return a < b ? a : b; }
GPU_FN int up(int a, int b) { return (a + b - 1) / b; } /* a >= 0 */

/* ---- windows ---- */
struct window {
    int begin, end, length; /* length: with its share of the padding */
};
GPU_FN window window_of(const gpu_pool_args &a, int d, int o) {
    const int in = (int)a.in[d].divisor, out = (int)a.out[d].divisor;
    if (a.adaptive) {
        const int begin = (int)((int64_t)o * in / out), end = (int)(((int64_t)(o + 1) * in + out - 1) / out);
        return window{begin, end, end - begin};
    }
    int begin = o * a.stride[d] - a.padding[d];
    const int end = at_most(begin + (a.kernel[d] - 1) * a.dilation[d] + 1, in);
    const int length = at_most(begin + a.kernel[d], in + a.padding[d]) - begin;
    if (begin < 0) begin += up(-begin, a.dilation[d]) * a.dilation[d];
    return window{begin, end, length};
}

/* The windows [begin, end) that may see input i. */
GPU_FN window seers_of(const gpu_pool_args &a, int d, int i) {
    const int in = (int)a.in[d].divisor, out = (int)a.out[d].divisor;
    if (a.adaptive) return window{(int)((int64_t)i * out / in), (int)(((int64_t)(i + 1) * out + in - 1) / in), 0};
    const int reach = i + a.padding[d], first = reach - a.dilation[d] * (a.kernel[d] - 1);
    return window{first <= 0 ? 0 : up(first, a.stride[d]), at_most(reach / a.stride[d] + 1, out), 0};
}

struct place {
    int64_t plane;
    int at[3];
};
GPU_FN place place_of(uint32_t i, const gpu_divider (&sizes)[3]) {
    place p;
    for (int d = 2; d >= 0; --d) {
        const uint32_t rest = divide(i, sizes[d]);
        p.at[d] = (int)(i - rest * sizes[d].divisor);
        i = rest;
    }
    p.plane = i;
    return p;
}
GPU_FN int64_t plane_size(const gpu_divider (&sizes)[3]) {
    return (int64_t)sizes[0].divisor * sizes[1].divisor * sizes[2].divisor;
}

/* `i`: an element of y, until there are no more. */
#define FOR_ELEMENTS(a, i) for (uint64_t i = (uint64_t)gpu_thread(); i < (a).n; i += (uint64_t)gpu_threads())

/* ---- maxima: the first one wins, and a NaN over everything before it ---- */
GPU_FN void set_lowest(float *x) { *x = bits_to_float(0xff800000u); }
GPU_FN void set_lowest(double *x) { *x = (double)bits_to_float(0xff800000u); }
GPU_FN void set_lowest(int64_t *x) { *x = INT64_MIN; }

template <class C> GPU_FN void max_pool(const gpu_pool_args &a) {
    const int height = (int)a.in[1].divisor, width = (int)a.in[2].divisor;
    FOR_ELEMENTS(a, i) {
        const place o = place_of((uint32_t)i, a.out);
        const window w0 = window_of(a, 0, o.at[0]), w1 = window_of(a, 1, o.at[1]), w2 = window_of(a, 2, o.at[2]);
        const char *x = static_cast<const char *>(a.x) + o.plane * plane_size(a.in) * a.bytes;
        int64_t best_at = ((int64_t)w0.begin * height + w1.begin) * width + w2.begin;
        C best;
        set_lowest(&best);
        for (int p = w0.begin; p < w0.end; p += a.dilation[0])
            for (int q = w1.begin; q < w1.end; q += a.dilation[1])
                for (int r = w2.begin; r < w2.end; r += a.dilation[2]) {
                    const int64_t at = ((int64_t)p * height + q) * width + r;
                    const C v = load_any<C>(x + at * a.bytes, a.dtype);
                    if (v > best || v != v) best = v, best_at = at;
                }
        store_any(static_cast<char *>(a.y) + i * (uint64_t)a.bytes, a.dtype, best);
        a.places[i] = best_at;
    }
}

/* f(o): every output, by its place in the plane, whose window may see input `p`. */
template <class F> GPU_FN void visit_seers(const gpu_pool_args &a, const place &p, F &f) {
    const window w0 = seers_of(a, 0, p.at[0]), w1 = seers_of(a, 1, p.at[1]), w2 = seers_of(a, 2, p.at[2]);
    for (int i = w0.begin; i < w0.end; ++i)
        for (int j = w1.begin; j < w1.end; ++j)
            for (int k = w2.begin; k < w2.end; ++k) f(i, j, k);
}

/* Gradients of the outputs of one plane. */
template <class C> struct plane_gradient {
    const gpu_pool_args &a;
    int64_t first;
    place own;
    C sum;
    GPU_MEMBER int64_t index(int i, int j, int k) const {
        return first + ((int64_t)i * a.out[1].divisor + j) * a.out[2].divisor + k;
    }
    GPU_MEMBER C at(int64_t o) const { return load_any<C>(static_cast<const char *>(a.x) + o * a.bytes, a.dtype); }
};

template <class C> struct max_gradient : plane_gradient<C> {
    int64_t own_at;
    GPU_MEMBER max_gradient(const gpu_pool_args &a, int64_t first, const place &own)
        : plane_gradient<C>{a, first, own, C(0)},
          own_at(((int64_t)own.at[0] * a.in[1].divisor + own.at[1]) * a.in[2].divisor + own.at[2]) {}
    GPU_MEMBER void operator()(int i, int j, int k) {
        const int64_t o = this->index(i, j, k);
        if (this->a.places[o] == own_at) this->sum += this->at(o);
    }
};

GPU_FN int64_t divisor_of(const gpu_pool_args &a, const window &x, const window &y, const window &z) {
    if (a.divisor) return a.divisor;
    if (a.include_padding) return (int64_t)x.length * y.length * z.length;
    return (int64_t)(x.end - x.begin) * (y.end - y.begin) * (z.end - z.begin);
}
GPU_FN bool is_empty(const window &x, const window &y, const window &z) {
    return x.begin >= x.end || y.begin >= y.end || z.begin >= z.end;
}

template <class C> struct avg_gradient : plane_gradient<C> {
    GPU_MEMBER avg_gradient(const gpu_pool_args &a, int64_t first, const place &own)
        : plane_gradient<C>{a, first, own, C(0)} {}
    GPU_MEMBER bool sees(const window &w, int d) const { return w.begin <= this->own.at[d] && this->own.at[d] < w.end; }
    GPU_MEMBER void operator()(int i, int j, int k) {
        const gpu_pool_args &a = this->a;
        const window x = window_of(a, 0, i), y = window_of(a, 1, j), z = window_of(a, 2, k);
        if (!sees(x, 0) || !sees(y, 1) || !sees(z, 2)) return;
        this->sum += this->at(this->index(i, j, k)) / (C)divisor_of(a, x, y, z);
    }
};

template <class C, class G> GPU_FN void pool_backward(const gpu_pool_args &a) {
    FOR_ELEMENTS(a, i) {
        const place p = place_of((uint32_t)i, a.in);
        G gradient(a, p.plane * plane_size(a.out), p);
        visit_seers(a, p, gradient);
        store_any(static_cast<char *>(a.y) + i * (uint64_t)a.bytes, a.dtype, gradient.sum);
    }
}

/* ---- averages ---- */
template <class C> GPU_FN void avg_pool(const gpu_pool_args &a) {
    const int height = (int)a.in[1].divisor, width = (int)a.in[2].divisor;
    FOR_ELEMENTS(a, i) {
        const place o = place_of((uint32_t)i, a.out);
        const window w0 = window_of(a, 0, o.at[0]), w1 = window_of(a, 1, o.at[1]), w2 = window_of(a, 2, o.at[2]);
        const char *x = static_cast<const char *>(a.x) + o.plane * plane_size(a.in) * a.bytes;
        C sum = 0;
        for (int p = w0.begin; p < w0.end; ++p)
            for (int q = w1.begin; q < w1.end; ++q)
                for (int r = w2.begin; r < w2.end; ++r)
                    sum += load_any<C>(x + (((int64_t)p * height + q) * width + r) * a.bytes, a.dtype);
        if (!is_empty(w0, w1, w2)) sum /= (C)divisor_of(a, w0, w1, w2);
        store_any(static_cast<char *>(a.y) + i * (uint64_t)a.bytes, a.dtype, sum);
    }
}

#define POOL(name, C)                                                       \
    GPU_KERNEL(max_pool_##name, THREADS, gpu_pool_args) { max_pool<C>(a); } \
    GPU_KERNEL(avg_pool_##name, THREADS, gpu_pool_args) { avg_pool<C>(a); } \
    GPU_KERNEL(avg_pool_backward_##name, THREADS, gpu_pool_args) { pool_backward<C, avg_gradient<C>>(a); }
POOL(f32, float)
POOL(f64, double)
POOL(i64, int64_t)
GPU_KERNEL(max_pool_backward_f32, THREADS, gpu_pool_args) { pool_backward<float, max_gradient<float>>(a); }
GPU_KERNEL(max_pool_backward_f64, THREADS, gpu_pool_args) { pool_backward<double, max_gradient<double>>(a); }

/* ---- columns ---- */
GPU_FN uint32_t take_dim(uint32_t *i, const gpu_divider &size) {
    const uint32_t rest = divide(*i, size), own = *i - rest * size.divisor;
    *i = rest;
    return own;
}

struct alignas(16) column16 {
    uint64_t low, high;
};

template <class U> GPU_FN void im2col(const gpu_columns_args &a) {
    const int height = (int)a.in[0].divisor, width = (int)a.in[1].divisor;
    FOR_ELEMENTS(a, i) {
        uint32_t rest = (uint32_t)i;
        const int ox = (int)take_dim(&rest, a.out[1]), oy = (int)take_dim(&rest, a.out[0]);
        const int kx = (int)take_dim(&rest, a.kernel[1]), ky = (int)take_dim(&rest, a.kernel[0]);
        const int y = oy * a.stride[0] - a.padding[0] + ky * a.dilation[0];
        const int x = ox * a.stride[1] - a.padding[1] + kx * a.dilation[1];
        U v;
        memset(&v, 0, sizeof v);
        if (y >= 0 && y < height && x >= 0 && x < width)
            v = static_cast<const U *>(a.from)[((int64_t)rest * height + y) * width + x];
        static_cast<U *>(a.to)[i] = v;
    }
}
GPU_KERNEL(im2col_1, THREADS, gpu_columns_args) { im2col<uint8_t>(a); }
GPU_KERNEL(im2col_2, THREADS, gpu_columns_args) { im2col<uint16_t>(a); }
GPU_KERNEL(im2col_4, THREADS, gpu_columns_args) { im2col<uint32_t>(a); }
GPU_KERNEL(im2col_8, THREADS, gpu_columns_args) { im2col<uint64_t>(a); }
GPU_KERNEL(im2col_16, THREADS, gpu_columns_args) { im2col<column16>(a); }

/* The output that tap k of dimension d sees pixel `at` from; -1: none. */
GPU_FN int output_of(const gpu_columns_args &a, int d, int at, int k) {
    const int reach = at + a.padding[d] - k * a.dilation[d];
    if (reach < 0 || reach % a.stride[d]) return -1;
    const int o = reach / a.stride[d];
    return o < (int)a.out[d].divisor ? o : -1;
}

template <class C> GPU_FN void col2im(const gpu_columns_args &a) {
    const int64_t outputs = (int64_t)a.out[0].divisor * a.out[1].divisor;
    const int rows = (int)a.kernel[0].divisor, columns = (int)a.kernel[1].divisor;
    FOR_ELEMENTS(a, i) {
        uint32_t rest = (uint32_t)i;
        const int x = (int)take_dim(&rest, a.in[1]), y = (int)take_dim(&rest, a.in[0]);
        C sum = 0;
        for (int ky = 0; ky < rows; ++ky) {
            const int oy = output_of(a, 0, y, ky);
            for (int kx = 0; oy >= 0 && kx < columns; ++kx) {
                const int ox = output_of(a, 1, x, kx);
                if (ox < 0) continue;
                const int64_t at =
                    (((int64_t)rest * rows + ky) * columns + kx) * outputs + (int64_t)oy * a.out[1].divisor + ox;
                sum += load_any<C>(static_cast<const char *>(a.from) + at * a.bytes, a.dtype);
            }
        }
        store_any(static_cast<char *>(a.to) + i * (uint64_t)a.bytes, a.dtype, sum);
    }
}
GPU_KERNEL(col2im_f32, THREADS, gpu_columns_args) { col2im<float>(a); }
GPU_KERNEL(col2im_f64, THREADS, gpu_columns_args) { col2im<double>(a); }
GPU_KERNEL(col2im_i64, THREADS, gpu_columns_args) { col2im<int64_t>(a); }
