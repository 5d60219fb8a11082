/* Padding, offsets, and the loop over images, groups and blocks of pixels. */
#include "conv.h"

#include <string.h>

#define SLICE_BYTES ((size_t)16 << 20)

conv_frame conv_frame_of_input(const conv_shape *s) {
    conv_frame f;
    for (int d = 0; d < 3; ++d) {
        f.size[d] = s->space.in[d], f.low[d] = s->space.padding[d];
        f.padded[d] = s->space.in[d] + 2 * s->space.padding[d];
    }
    return f;
}

bool conv_frame_is_plain(const conv_frame *f) {
    for (int d = 0; d < 3; ++d)
        if (f->low[d] != 0 || f->padded[d] != f->size[d]) return false;
    return true;
}

typedef struct pad_job {
    const conv_frame *frame;
    size_t bytes;
    const char *in;
    char *out;
    int64_t begin[3], end[3]; /* of the image: what lies inside the padded one */
} pad_job;

/* Rows of images and the gaps between them are often so short that a call would take longer than the work. */
enum { SHORT_GAP = 16, SHORT_ROW = 128 };

static inline void clear_gap(char *at, size_t bytes) {
    if (bytes > SHORT_GAP)
        memset(at, 0, bytes);
    else
        for (size_t i = 0; i < bytes; i += 4) memset(at + i, 0, 4);
}

static inline void copy_row(char *to, const char *from, size_t bytes) {
    if (bytes < 16 || bytes > SHORT_ROW) {
        memcpy(to, from, bytes);
        return;
    }
    for (size_t i = 0; i + 16 <= bytes; i += 16) memcpy(to + i, from + i, 16);
    if (bytes % 16) memcpy(to + bytes - 16, from + bytes - 16, 16);
}

typedef struct row_steps {
    size_t run, in, out; /* bytes: of what is copied of a row, from one row to the next */
} row_steps;

/* n > 0 rows and the gaps between them; returns the end of the last row. */
static inline __attribute__((always_inline)) char *copy_rows(char *to, const char *from, int64_t n, row_steps step,
                                                             const size_t run) {
    copy_row(to, from, run);
    for (int64_t j = 1; j < n; ++j) {
        from += step.in;
        clear_gap(to + run, step.out - run);
        to += step.out;
        copy_row(to, from, run);
    }
    return to + run;
}

/* Writes every byte of `out` once, in order. */
static void pad_plane(const pad_job *job, const char *in, char *out) {
    const conv_frame *f = job->frame;
    const row_steps step = {(size_t)(job->end[2] - job->begin[2]) * job->bytes, (size_t)f->size[2] * job->bytes,
                            (size_t)f->padded[2] * job->bytes};
    const int64_t rows = job->end[1] - job->begin[1];
    char *written = out, *end = out + (size_t)conv_volume(f->padded) * job->bytes;
    for (int64_t i = job->begin[0]; i < job->end[0] && rows > 0 && step.run > 0; ++i) {
        const int64_t from = (i * f->size[1] + job->begin[1]) * f->size[2] + job->begin[2];
        const int64_t to =
            ((i + f->low[0]) * f->padded[1] + job->begin[1] + f->low[1]) * f->padded[2] + job->begin[2] + f->low[2];
        const char *first = in + (size_t)from * job->bytes;
        char *at = out + (size_t)to * job->bytes;
        clear_gap(written, (size_t)(at - written));
        if (step.run == 32)
            written = copy_rows(at, first, rows, step, 32);
        else if (step.run == 64)
            written = copy_rows(at, first, rows, step, 64);
        else
            written = copy_rows(at, first, rows, step, step.run);
    }
    clear_gap(written, (size_t)(end - written));
}

static void pad_planes(void *user, int64_t begin, int64_t end, int worker) {
    const pad_job *job = user;
    const size_t in_plane = (size_t)conv_volume(job->frame->size) * job->bytes,
                 out_plane = (size_t)conv_volume(job->frame->padded) * job->bytes;
    for (int64_t p = begin; p < end; ++p)
        pad_plane(job, job->in + (size_t)p * in_plane, job->out + (size_t)p * out_plane);
}

void conv_pad(cpu_instance *cpu, const conv_frame *frame, size_t bytes, int64_t planes, const void *in, void *out) {
    pad_job job = {.frame = frame, .bytes = bytes, .in = in, .out = out};
    for (int d = 0; d < 3; ++d) {
        const int64_t room = frame->padded[d] - frame->low[d];
        job.begin[d] = frame->low[d] < 0 ? -frame->low[d] : 0;
        job.end[d] = frame->size[d] < room ? frame->size[d] : room;
        if (job.end[d] < job.begin[d]) job.end[d] = job.begin[d];
    }
    cpu_parallel_for(cpu, planes, 1 + CPU_GRAIN / (conv_volume(frame->padded) + 1), pad_planes, &job);
}

int64_t conv_slice(const conv_frame *frame, int64_t batch, int64_t channels, size_t bytes) {
    const size_t image = (size_t)(conv_volume(frame->padded) * channels) * bytes;
    const int64_t fit = (int64_t)(SLICE_BYTES / (image + 1)) + 1;
    return fit < batch ? fit : batch;
}

void conv_offsets(const conv_frame *frame, const int64_t *extent, const int64_t *step, int64_t *offsets) {
    for (int64_t i = 0; i < extent[0]; ++i)
        for (int64_t j = 0; j < extent[1]; ++j)
            for (int64_t k = 0; k < extent[2]; ++k)
                *offsets++ = (i * step[0] * frame->padded[1] + j * step[1]) * frame->padded[2] + k * step[2];
}

/* Moves a block of finished pixels, channel by channel, to where they belong. */
static void scatter_block(const conv_product *job, const char *block, char *out, int64_t m0, int64_t m) {
    const cpu_product *p = &job->product;
    for (int64_t j = 0; j < p->n; ++j) {
        const char *from = block + (size_t)(j * CONV_BLOCK) * job->bytes;
        char *to = out + (size_t)(j * p->c_col) * job->bytes;
        if (job->bytes == 4)
            for (int64_t i = 0; i < m; ++i) memcpy(to + 4 * job->scatter[m0 + i], from + 4 * i, 4);
        else
            for (int64_t i = 0; i < m; ++i) memcpy(to + 8 * job->scatter[m0 + i], from + 8 * i, 8);
    }
}

/* With fewer output channels than this a register tile of whole vectors of them is mostly idle. */
#define THIN_COLUMNS 3

static bool is_thin(const conv_product *job) {
    return job->product.n < THIN_COLUMNS && job->row_length >= job->type->vector / 2 && job->type->run_thin;
}

static void run_block(const conv_product *job, cpu_product *p, char *out, int64_t m0, int worker) {
    const int64_t m1 = m0 + CONV_BLOCK < p->m ? m0 + CONV_BLOCK : p->m;
    if (!job->scatter) {
        p->c = out;
        if (is_thin(job))
            job->type->run_thin(p, m0, m1, job->row_length);
        else
            job->type->run(p, m0, m1, 0, p->n);
        return;
    }
    char *block = job->block + (size_t)(worker * CONV_BLOCK * p->n) * job->bytes;
    cpu_product part = *p;
    part.rows += m0, part.m = m1 - m0, part.c = block, part.c_row = 1, part.c_col = CONV_BLOCK;
    job->type->run(&part, 0, part.m, 0, part.n);
    scatter_block(job, block, out, m0, m1 - m0);
}

static void run_tasks(void *user, int64_t begin, int64_t end, int worker) {
    const conv_product *job = user;
    for (int64_t t = begin; t < end; ++t) {
        const int64_t block = t % job->blocks, group = t / job->blocks % job->groups,
                      image = t / job->blocks / job->groups;
        cpu_product p = job->product;
        p.a = job->source + (size_t)(image * job->source_image + group * job->source_group) * job->bytes;
        p.b = job->weights + (size_t)(group * job->weights_group) * job->bytes;
        p.s = job->bias ? job->bias + (size_t)(group * job->bias_group) * job->bytes : NULL;
        run_block(job, &p, job->out + (size_t)(image * job->out_image + group * job->out_group) * job->bytes,
                  block * CONV_BLOCK, worker);
    }
}

void conv_run(conv_product *job) {
    const cpu_product *p = &job->product;
    job->blocks = (p->m + CONV_BLOCK - 1) / CONV_BLOCK;
    const double block_work = (double)(p->m < CONV_BLOCK ? p->m : CONV_BLOCK) * (double)p->n * (double)(p->k + 1);
    cpu_parallel_for(job->cpu, job->images * job->groups * job->blocks, 1 + (int64_t)(3e5 / block_work), run_tasks,
                     job);
}
