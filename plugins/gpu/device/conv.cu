/* What turns convolutions into matrix products: columns of patches, images from columns, and sums. */
#include "args_conv.h"
#include "gpu.h"

#define THREADS 256

#define FOR_ELEMENTS(a, i) for (uint64_t i = (uint64_t)gpu_thread(); i < (a).n; i += (uint64_t)gpu_threads())

GPU_FN uint32_t take_dim(uint32_t *i, const gpu_divider &size) {
    const uint32_t rest = divide(*i, size), own = *i - rest * size.divisor;
    *i = rest;
    return own;
}
GPU_FN int64_t product(const gpu_divider (&sizes)[3]) {
    return (int64_t)sizes[0].divisor * sizes[1].divisor * sizes[2].divisor;
}

/* columns[c][tap][image][o] = image[image][c][o * stride - padding + tap * dilation], 0 outside. */
template <class U> GPU_FN void conv_columns(const gpu_conv_args &a) {
    FOR_ELEMENTS(a, i) {
        uint32_t rest = (uint32_t)i;
        int at[3];
        bool inside = true;
        GPU_UNROLL
        for (int d = 2; d >= 0; --d) at[d] = (int)take_dim(&rest, a.out[d]) * a.stride[d] - a.padding[d];
        const uint32_t image = take_dim(&rest, a.images);
        GPU_UNROLL
        for (int d = 2; d >= 0; --d) {
            at[d] += (int)take_dim(&rest, a.kernel[d]) * a.dilation[d];
            inside = inside && at[d] >= 0 && at[d] < (int)a.in[d].divisor;
        }
        const int64_t place = (((int64_t)rest * a.in[0].divisor + at[0]) * a.in[1].divisor + at[1]) * a.in[2].divisor;
        U v = 0;
        if (inside) v = static_cast<const U *>(a.from)[image * a.image_step + place + at[2]];
        static_cast<U *>(a.to)[i] = v;
    }
}
GPU_KERNEL(conv_columns_2, THREADS, gpu_conv_args) { conv_columns<uint16_t>(a); }
GPU_KERNEL(conv_columns_4, THREADS, gpu_conv_args) { conv_columns<uint32_t>(a); }
GPU_KERNEL(conv_columns_8, THREADS, gpu_conv_args) { conv_columns<uint64_t>(a); }

/* to[map][image][o] = maps[image][map][o] */
template <class U> GPU_FN void conv_maps(const gpu_conv_args &a) {
    const int64_t outputs = product(a.out);
    FOR_ELEMENTS(a, i) {
        uint32_t rest = (uint32_t)(i / (uint64_t)outputs);
        const int64_t o = (int64_t)i - rest * outputs;
        const uint32_t image = take_dim(&rest, a.images);
        static_cast<U *>(a.to)[i] = static_cast<const U *>(a.from)[image * a.image_step + rest * outputs + o];
    }
}
GPU_KERNEL(conv_maps_2, THREADS, gpu_conv_args) { conv_maps<uint16_t>(a); }
GPU_KERNEL(conv_maps_4, THREADS, gpu_conv_args) { conv_maps<uint32_t>(a); }
GPU_KERNEL(conv_maps_8, THREADS, gpu_conv_args) { conv_maps<uint64_t>(a); }

/* to[image][i] = from[image][i] as float, `channels` of them an image */
GPU_KERNEL(conv_widen, THREADS, gpu_conv_args) {
    FOR_ELEMENTS(a, i) {
        uint32_t image = (uint32_t)i;
        const int64_t at = take_dim(&image, a.channels) + image * a.image_step;
        static_cast<float *>(a.to)[i] =
            load_any<float>(static_cast<const char *>(a.from) + at * a.from_bytes, a.from_dtype);
    }
}

/* The output that tap k of dimension d sees pixel `at` from; -1: none. */
GPU_FN int output_of(const gpu_conv_args &a, int d, int at, int k) {
    const int reach = at + a.padding[d] - k * a.dilation[d];
    if (reach < 0) return -1;
    const int o = reach / a.stride[d];
    return o * a.stride[d] == reach && o < (int)a.out[d].divisor ? o : -1;
}

/* Every pixel gathers what its taps hold. */
template <class C> GPU_FN C pixel_sum(const gpu_conv_args &a, uint32_t image, uint32_t channel, const int (&at)[3]) {
    const int64_t outputs = product(a.out), taps = product(a.kernel);
    C sum = 0;
    for (int k0 = 0; k0 < (int)a.kernel[0].divisor; ++k0) {
        const int o0 = output_of(a, 0, at[0], k0);
        for (int k1 = 0; o0 >= 0 && k1 < (int)a.kernel[1].divisor; ++k1) {
            const int o1 = output_of(a, 1, at[1], k1);
            for (int k2 = 0; o1 >= 0 && k2 < (int)a.kernel[2].divisor; ++k2) {
                const int o2 = output_of(a, 2, at[2], k2);
                if (o2 < 0) continue;
                const int64_t tap = ((int64_t)k0 * a.kernel[1].divisor + k1) * a.kernel[2].divisor + k2;
                const int64_t o = ((int64_t)o0 * a.out[1].divisor + o1) * a.out[2].divisor + o2;
                const int64_t place = ((channel * taps + tap) * a.images.divisor + image) * outputs + o;
                sum += load_any<C>(static_cast<const char *>(a.from) + place * a.from_bytes, a.from_dtype);
            }
        }
    }
    return sum;
}

template <class C> GPU_FN void conv_image(const gpu_conv_args &a) {
    FOR_ELEMENTS(a, i) {
        uint32_t rest = (uint32_t)i;
        int at[3];
        GPU_UNROLL
        for (int d = 2; d >= 0; --d) at[d] = (int)take_dim(&rest, a.in[d]);
        const uint32_t channel = take_dim(&rest, a.channels);
        const int64_t place =
            (((int64_t)channel * a.in[0].divisor + at[0]) * a.in[1].divisor + at[1]) * a.in[2].divisor;
        C sum = pixel_sum<C>(a, rest, channel, at);
        if (a.bias) sum += load_any<C>(static_cast<const char *>(a.bias) + (int64_t)channel * a.bytes, a.dtype);
        store_any(static_cast<char *>(a.to) + (rest * a.image_step + place + at[2]) * a.bytes, a.dtype, sum);
    }
}
GPU_KERNEL(conv_image_f32, THREADS, gpu_conv_args) { conv_image<float>(a); }
GPU_KERNEL(conv_image_f64, THREADS, gpu_conv_args) { conv_image<double>(a); }

/* to[image][channel][i] += bias[channel], in[2] elements a channel */
template <class C> GPU_FN void conv_bias(const gpu_conv_args &a) {
    FOR_ELEMENTS(a, i) {
        uint32_t channel = (uint32_t)i;
        take_dim(&channel, a.in[2]);
        channel = take_dim(&channel, a.channels);
        char *to = static_cast<char *>(a.to) + i * (uint64_t)a.bytes;
        const char *bias = static_cast<const char *>(a.bias) + (int64_t)channel * a.bytes;
        store_any(to, a.dtype, load_any<C>(to, a.dtype) + load_any<C>(bias, a.dtype));
    }
}
GPU_KERNEL(conv_bias_f32, THREADS, gpu_conv_args) { conv_bias<float>(a); }
GPU_KERNEL(conv_bias_f64, THREADS, gpu_conv_args) { conv_bias<double>(a); }

/* A block sums a split of the images of a channel. */
template <class C> GPU_FN void conv_channels(const gpu_conv_sum_args &a) {
    __shared__ C shared[THREADS / 32];
    const int64_t channel = blockIdx.x / a.splits, split = blockIdx.x % a.splits, count = a.images * a.pixels;
    C sum = 0;
    for (int64_t i = split * THREADS + threadIdx.x; i < count; i += (int64_t)a.splits * THREADS) {
        const int64_t image = i / a.pixels, pixel = i - image * a.pixels;
        const int64_t place = (image * a.channels + channel) * a.pixels + pixel;
        sum += load_any<C>(static_cast<const char *>(a.from) + place * a.bytes, a.dtype);
    }
    sum = block_reduce(sum, op_sum(), C(0), shared);
    if (!threadIdx.x) static_cast<C *>(a.to)[split * a.channels + channel] = sum;
}
GPU_KERNEL(conv_channels_f32, THREADS, gpu_conv_sum_args) { conv_channels<float>(a); }
GPU_KERNEL(conv_channels_f64, THREADS, gpu_conv_sum_args) { conv_channels<double>(a); }

/* to[i] = the sum of from[split][i] */
template <class C> GPU_FN void conv_parts(const gpu_conv_sum_args &a) {
    FOR_ELEMENTS(a, i) {
        C sum = 0;
        for (uint32_t s = 0; s < a.splits; ++s) sum += static_cast<const C *>(a.from)[(uint64_t)s * a.n + i];
        store_any(static_cast<char *>(a.to) + i * (uint64_t)a.bytes, a.dtype, sum);
    }
}
GPU_KERNEL(conv_parts_f32, THREADS, gpu_conv_sum_args) { conv_parts<float>(a); }
GPU_KERNEL(conv_parts_f64, THREADS, gpu_conv_sum_args) { conv_parts<double>(a); }
