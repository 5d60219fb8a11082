/* Windows that slide over the last two dimensions. Everything is row-major: A is [planes, height, width]. */
typedef struct {
    long planes, height, width;           /* of the image */
    long rows, columns;                   /* windows */
    long kernel_h, kernel_w, stride_h, stride_w, padding_h, padding_w, dilation_h, dilation_w;
} window;

#if EXPRESSION == 0
/* O [planes * kernel, windows] = the pixels of A under each position of the kernel, 0 outside. */
__kernel void im2col(const window w, OUT(O, out), IN(A, in)) {
    const long i = (long)get_global_id(0), windows = w.rows * w.columns, area = w.kernel_h * w.kernel_w;
    if (i >= w.planes * area * windows) return;
    const long at = i % windows, k = i / windows % area, plane = i / windows / area;
    const long y = at / w.columns * w.stride_h - w.padding_h + k / w.kernel_w * w.dilation_h;
    const long x = at % w.columns * w.stride_w - w.padding_w + k % w.kernel_w * w.dilation_w;
    const bool inside = y >= 0 && y < w.height && x >= 0 && x < w.width;
    STORE_O(out, base_O + i, inside ? LOAD_A(in, base_A + (plane * w.height + y) * w.width + x) : (T)0);
}

/* The other way round: every pixel of O is the sum of what im2col would have copied from it to A. */
__kernel void col2im(const window w, OUT(O, out), IN(A, in)) {
    const long i = (long)get_global_id(0);
    T sum = 0;
    if (i >= w.planes * w.height * w.width) return;
    const long x = i % w.width, y = i / w.width % w.height, plane = i / w.width / w.height;
    for (long ky = 0; ky < w.kernel_h; ++ky)
        for (long kx = 0; kx < w.kernel_w; ++kx) {
            const long top = y + w.padding_h - ky * w.dilation_h, left = x + w.padding_w - kx * w.dilation_w;
            const long row = top / w.stride_h, column = left / w.stride_w;
            if (top < 0 || left < 0 || top % w.stride_h || left % w.stride_w) continue;
            if (row >= w.rows || column >= w.columns) continue;
            const long k = (plane * w.kernel_h + ky) * w.kernel_w + kx;
            sum += LOAD_A(in, base_A + (k * w.rows + row) * w.columns + column);
        }
    STORE_O(out, base_O + i, sum);
}
#else
/* The largest pixel of each window to O and its position in the plane to B; NaN is larger than everything. */
__kernel void max_pool(const window w, OUT(O, out), IN(A, in), OUT(B, positions)) {
    const long i = (long)get_global_id(0);
    long best = -1;
    T most = 0;
    if (i >= w.planes * w.rows * w.columns) return;
    const long column = i % w.columns, row = i / w.columns % w.rows, plane = i / w.columns / w.rows;
    for (long ky = 0; ky < w.kernel_h; ++ky)
        for (long kx = 0; kx < w.kernel_w; ++kx) {
            const long y = row * w.stride_h - w.padding_h + ky * w.dilation_h;
            const long x = column * w.stride_w - w.padding_w + kx * w.dilation_w;
            if (y < 0 || y >= w.height || x < 0 || x >= w.width) continue;
            const T value = LOAD_A(in, base_A + (plane * w.height + y) * w.width + x);
            if (best < 0 || value > most || value != value) most = value, best = y * w.width + x;
        }
    STORE_O(out, base_O + i, best < 0 ? T_LOWEST : most);
    STORE_B(positions, base_B + i, best);
}

/* True if window (row, column) covers the position in the plane. */
bool covers(const window *w, long row, long column, long position) {
    const long top = position / w->width - row * w->stride_h + w->padding_h;
    const long left = position % w->width - column * w->stride_w + w->padding_w;
    return top >= 0 && left >= 0 && top % w->dilation_h == 0 && left % w->dilation_w == 0 &&
           top / w->dilation_h < w->kernel_h && left / w->dilation_w < w->kernel_w;
}

/* astray[plane] = 1 if a position of the plane lies outside its window. */
__kernel void max_pool_astray(const window w, IN(B, positions), __global int *astray, const long base_astray) {
    const long i = (long)get_global_id(0), windows = w.rows * w.columns;
    if (i >= w.planes * windows) return;
    if (!covers(&w, i % windows / w.columns, i % w.columns, (long)RAW_B(positions, base_B + i)))
        astray[base_astray + i / windows] = 1;
}

/* O[pixel] = the sum of A over the windows whose position B is the pixel: those that cover it, or in a plane with
 * positions astray all. */
__kernel void max_pool_backward(const window w, OUT(O, out), IN(A, in), IN(B, positions), __global const int *astray,
                                const long base_astray) {
    const long i = (long)get_global_id(0);
    T sum = 0;
    if (i >= w.planes * w.height * w.width) return;
    const long x = i % w.width, y = i / w.width % w.height, plane = i / w.width / w.height;
    const long first = plane * w.rows * w.columns, pixel = y * w.width + x;
    if (astray[base_astray + plane]) {
        for (long at = first; at < first + w.rows * w.columns; ++at)
            if (RAW_B(positions, base_B + at) == pixel) sum += LOAD_A(in, base_A + at);
        STORE_O(out, base_O + i, sum);
        return;
    }
    for (long ky = 0; ky < w.kernel_h; ++ky)
        for (long kx = 0; kx < w.kernel_w; ++kx) {
            const long top = y + w.padding_h - ky * w.dilation_h, left = x + w.padding_w - kx * w.dilation_w;
            const long row = top / w.stride_h, column = left / w.stride_w;
            if (top < 0 || left < 0 || top % w.stride_h || left % w.stride_w) continue;
            if (row >= w.rows || column >= w.columns) continue;
            const long at = first + row * w.columns + column;
            if (RAW_B(positions, base_B + at) == pixel) sum += LOAD_A(in, base_A + at);
        }
    STORE_O(out, base_O + i, sum);
}
#endif
