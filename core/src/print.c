/* The text of a tensor, as PyTorch's repr has it: precision 4, three items at either edge beyond 1000 elements, lines
 * of 80 columns. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "copy.h"
#include "element.h"
#include "text.h"

#define THRESHOLD 1000
#define EDGE 3
#define LINE_COLUMNS 80
#define ITEM_BYTES 512 /* "%.4f" of the largest double takes 315 */

/* ---- the elements that are shown, on the host ---- */
typedef struct shown {
    wick_dtype dtype;
    int ndim;
    bool summarized;
    wick_dim sizes[WICK_MAX_DIMS]; /* the tensor's */
    wick_dim kept[WICK_MAX_DIMS];  /* elements of each dimension in `data` */
    int64_t numel;                 /* in `data` */
    char *data;                    /* row-major; owned */
} shown;

static bool is_cut(const shown *s, int dim) { return s->summarized && s->sizes[dim] > 2 * EDGE; }

/* One corner block after the other, from the whole to the compact tensor. */
static wick_status *copy_edges(context_impl *c, wick_tensor dst, wick_tensor src, const shown *s, int dim) {
    wick_dim dst_sizes[WICK_MAX_DIMS], src_sizes[WICK_MAX_DIMS];
    while (dim < s->ndim && !is_cut(s, dim)) dim++;
    if (dim == s->ndim) return tensor_copy_data(c, &dst, &src, false);
    memcpy(dst_sizes, dst.sizes, sizeof *dst_sizes * (size_t)s->ndim);
    memcpy(src_sizes, src.sizes, sizeof *src_sizes * (size_t)s->ndim);
    dst_sizes[dim] = src_sizes[dim] = EDGE;
    dst.numel = dst.numel / dst.sizes[dim] * EDGE;
    src.numel = src.numel / src.sizes[dim] * EDGE;
    dst.sizes = dst_sizes;
    src.sizes = src_sizes;
    dst.flags &= (uint16_t)~WICK_TENSOR_CONTIGUOUS;
    src.flags &= (uint16_t)~WICK_TENSOR_CONTIGUOUS;
    WICK_TRY(copy_edges(c, dst, src, s, dim + 1));
    dst.offset += EDGE * dst.strides[dim];
    src.offset += (s->sizes[dim] - EDGE) * src.strides[dim];
    return copy_edges(c, dst, src, s, dim + 1);
}

static wick_status *read_summary(context_impl *c, const wick_tensor *t, shown *s) {
    wick_tensor *compact;
    WICK_TRY(tensor_new(c, s->dtype, s->ndim, s->kept, NULL, t->device, &compact));
    wick_status *status = copy_edges(c, *compact, *t, s, 0);
    if (!status) status = tensor_read(c, compact, s->data);
    tensor_release(impl(compact), c);
    return status;
}

/* On failure nothing is owned. */
static wick_status *shown_read(context_impl *c, const wick_tensor *t, shown *s) {
    *s = (shown){.dtype = (wick_dtype)t->dtype, .ndim = t->ndim, .summarized = t->numel > THRESHOLD, .numel = 1};
    memcpy(s->sizes, t->sizes, sizeof *t->sizes * t->ndim);
    for (int i = 0; i < s->ndim; ++i) {
        s->kept[i] = is_cut(s, i) ? 2 * EDGE : s->sizes[i];
        s->numel *= s->kept[i];
    }
    s->data = malloc((size_t)s->numel * wick_dtype_bytes(s->dtype));
    if (!s->data) return WICK_ERROR(WICK_OUT_OF_MEMORY, "cannot allocate %lld elements to print", (long long)s->numel);
    wick_status *status = s->summarized ? read_summary(c, t, s) : tensor_read(c, t, s->data);
    if (status) free(s->data);
    return status;
}

/* ---- how numbers look: one format for all of a tensor ---- */
typedef enum style { STYLE_PLAIN, STYLE_WHOLE, STYLE_FIXED, STYLE_SCIENTIFIC } style;

typedef struct formatter {
    style style;
    int width;
} formatter;

static const char *const style_formats[] = {
    [STYLE_WHOLE] = "%.0f", [STYLE_FIXED] = "%.4f", [STYLE_SCIENTIFIC] = "%.4e"};

static int format_double(style st, double x, char *out) {
    if (isnan(x)) return snprintf(out, ITEM_BYTES, "nan");
    int n = snprintf(out, ITEM_BYTES, style_formats[st], x);
    if (st == STYLE_WHOLE && !isinf(x)) n += snprintf(out + n, (size_t)(ITEM_BYTES - n), ".");
    return n;
}

static int format_value(const formatter *f, wick_dtype dtype, const wick_value *v, char *out) {
    if (v->tag == WICK_TAG_BOOL) return snprintf(out, ITEM_BYTES, v->as.i ? "True" : "False");
    if (v->tag == WICK_TAG_F64) return format_double(f->style, v->as.f, out);
    if (dtype == WICK_U64) return snprintf(out, ITEM_BYTES, "%llu", (unsigned long long)v->as.i);
    return snprintf(out, ITEM_BYTES, "%lld", (long long)v->as.i);
}

/* Part 0 or 1 of a complex element, the element itself of another dtype. */
static wick_value shown_value(const shown *s, int64_t i, int part) {
    double parts[2];
    wick_value v = element_value(s->dtype, s->data + (size_t)i * wick_dtype_bytes(s->dtype), parts);
    return v.tag == WICK_TAG_C128 ? wick_value_float(parts[part]) : v;
}

static bool counts(double x) { return isfinite(x) && x != 0; }

static style choose_style(const shown *s, int part, bool *any) {
    double low = INFINITY, high = 0;
    bool whole = true;
    for (int64_t i = 0; i < s->numel; ++i) {
        double x = shown_value(s, i, part).as.f;
        if (!counts(x)) continue;
        low = fmin(low, fabs(x));
        high = fmax(high, fabs(x));
        whole &= x == ceil(x);
    }
    *any = high > 0;
    if (*any && (high / low > 1000.0 || high > 1.0e8 || (!whole && low < 1.0e-4))) return STYLE_SCIENTIFIC;
    return whole ? STYLE_WHOLE : STYLE_FIXED;
}

static formatter formatter_of(const shown *s, int part) {
    formatter f = {STYLE_PLAIN, 1};
    char item[ITEM_BYTES];
    bool floating = s->dtype >= WICK_F16, any = true;
    if (floating) f.style = choose_style(s, part, &any);
    for (int64_t i = 0; any && i < s->numel; ++i) {
        wick_value v = shown_value(s, i, part);
        if (floating && !counts(v.as.f)) continue;
        int n = format_value(&f, s->dtype, &v, item);
        if (n > f.width) f.width = n;
    }
    return f;
}

/* ---- layout ---- */
typedef struct printer {
    text *out;
    const shown *s;
    formatter real, imaginary; /* the latter of complex tensors only */
    bool complex;
    int64_t next; /* element in s->data */
} printer;

static void print_padded(text *out, const formatter *f, wick_dtype dtype, wick_value v) {
    char item[ITEM_BYTES];
    int n = format_value(f, dtype, &v, item);
    text_print(out, "%*s", f->width > n ? f->width : n, item);
}

static void print_element(printer *p) {
    char item[ITEM_BYTES];
    print_padded(p->out, &p->real, p->s->dtype, shown_value(p->s, p->next, 0));
    if (p->complex) {
        wick_value v = shown_value(p->s, p->next, 1);
        format_value(&p->imaginary, p->s->dtype, &v, item);
        text_print(p->out, "%s%sj", item[0] == '-' ? "" : "+", item);
    }
    p->next++;
}

static void break_line(text *out, int lines, int indent) {
    text_append(out, ",", 1);
    while (lines-- > 0) text_append(out, "\n", 1);
    text_print(out, "%*s", indent, "");
}

static void print_vector(printer *p, int dim, int indent) {
    int width = p->real.width + 2 + (p->complex ? p->imaginary.width + 1 : 0);
    int per_line = (LINE_COLUMNS - indent) / width > 1 ? (LINE_COLUMNS - indent) / width : 1;
    bool cut = is_cut(p->s, dim);
    wick_dim n = p->s->kept[dim] + cut;
    text_append(p->out, "[", 1);
    for (wick_dim i = 0; i < n; ++i) {
        if (i && i % per_line == 0)
            break_line(p->out, 1, indent + 1);
        else if (i)
            text_append(p->out, ", ", 2);
        if (cut && i == EDGE)
            text_append(p->out, " ...", 4);
        else
            print_element(p);
    }
    text_append(p->out, "]", 1);
}

static void print_nested(printer *p, int dim, int indent) {
    int below = p->s->ndim - dim;
    if (below == 0) return print_element(p);
    if (below == 1) return print_vector(p, dim, indent);
    text_append(p->out, "[", 1);
    for (wick_dim i = 0; i < p->s->kept[dim]; ++i) {
        for (int cut = is_cut(p->s, dim) && i == EDGE; cut >= 0; --cut) {
            if (i) break_line(p->out, below - 1, indent + 1);
            if (cut) text_append(p->out, "...", 3);
        }
        print_nested(p, dim + 1, indent + 1);
    }
    text_append(p->out, "]", 1);
}

static void print_elements(text *out, const shown *s, int indent) {
    printer p = {.out = out, .s = s, .complex = wick_dtype_is_complex(s->dtype)};
    p.real = formatter_of(s, 0);
    if (p.complex) p.imaginary = formatter_of(s, 1);
    print_nested(&p, 0, indent);
}

/* ---- what stands behind the elements ---- */
typedef struct suffixes {
    text *out;
    int indent, column;
} suffixes;

static void add_suffix(suffixes *x, const char *suffix) {
    int n = (int)strlen(suffix);
    if (x->column + n + 2 > LINE_COLUMNS) {
        text_print(x->out, ",\n%*s%s", x->indent, "", suffix);
        x->column = x->indent + n;
    } else {
        text_print(x->out, ", %s", suffix);
        x->column += n + 2;
    }
}

static void add_size(suffixes *x, const wick_tensor *t) {
    char sizes[SIZES_TEXT], suffix[SIZES_TEXT + 16];
    format_sizes(t->ndim, t->sizes, sizes, sizeof sizes);
    sizes[strlen(sizes) - 1] = '\0';
    snprintf(suffix, sizeof suffix, "size=(%s%s)", sizes + 1, t->ndim == 1 ? "," : "");
    add_suffix(x, suffix);
}

static void add_dtype(suffixes *x, const wick_tensor *t) {
    char suffix[64];
    snprintf(suffix, sizeof suffix, "dtype=%s", wick_dtype_describe((wick_dtype)t->dtype)->torch_name);
    add_suffix(x, suffix);
}

static void add_device(suffixes *x, const context_impl *c, const wick_tensor *t) {
    char name[64], suffix[80];
    if (t->device.type == c->rt->host_type) return;
    snprintf(suffix, sizeof suffix, "device='%s'", wick_device_format(c->rt, t->device, name, sizeof name));
    add_suffix(x, suffix);
}

static void add_history(suffixes *x, const wick_tensor *t) {
    char suffix[128];
    wick_node *fn = wick_grad_fn(t);
    if (fn) snprintf(suffix, sizeof suffix, "grad_fn=<%s>", wick_node_name(fn));
    if (fn)
        add_suffix(x, suffix);
    else if (wick_requires_grad(t))
        add_suffix(x, "requires_grad=True");
}

static bool dtype_goes_without_saying(const context_impl *c, wick_dtype d, bool shown) {
    wick_dtype complex = c->dtype == WICK_F64 ? WICK_C128 : WICK_C64;
    return d == c->dtype || (shown && (d == complex || d == WICK_I64 || d == WICK_BOOL));
}

static wick_status *print_tensor(context_impl *c, const wick_tensor *t, text *out) {
    bool meta = t->device.type == WICK_DEVICE_TYPE_META, has_elements = t->numel && !meta;
    shown s;
    if (t->flags & WICK_TENSOR_PARAMETER) text_print(out, "Parameter containing:\n");
    const size_t start = out->length;
    const int indent = 7;
    text_print(out, "tensor(");
    if (has_elements) {
        WICK_TRY(shown_read(c, t, &s));
        print_elements(out, &s, indent);
        free(s.data);
    } else {
        text_print(out, meta ? "..." : "[]");
    }
    const char *line = strrchr(text_get(out) + start, '\n');
    size_t before = line ? (size_t)(line - text_get(out)) : start - 1; /* PyTorch counts from one before the line */
    suffixes x = {out, indent, (int)(out->length - before) + 1};
    add_device(&x, c, t);
    if (meta || (!has_elements && t->ndim != 1)) add_size(&x, t);
    if (!dtype_goes_without_saying(c, (wick_dtype)t->dtype, has_elements)) add_dtype(&x, t);
    add_history(&x, t);
    text_append(out, ")", 1);
    return NULL;
}

wick_status *wick_tensor_to_string(wick_context *c, wick_tensor *t, char **out) {
    text string = {.memory = allocator_default()};
    if (!t) return WICK_ERROR(WICK_INVALID_ARGUMENT, "wick_tensor_to_string: the tensor is NULL");
    wick_status *s = print_tensor(ctx(c), t, &string);
    if (!s && string.failed) s = WICK_ERROR(WICK_OUT_OF_MEMORY, "cannot allocate the text of a tensor");
    if (s)
        text_free(&string);
    else
        *out = string.bytes;
    return s;
}
