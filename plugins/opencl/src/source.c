/* The texts that are written for a variant: definitions before the templates, the kernels of a group behind them. */
#include "dtype.h"
#include "pointwise.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void WICK_PRINTF(2, 3) add(ocl_text *t, const char *format, ...) {
    va_list list;
    va_start(list, format);
    int n = vsnprintf(t->bytes + t->used, sizeof t->bytes - t->used, format, list);
    va_end(list);
    if (n < 0 || (size_t)n >= sizeof t->bytes - t->used)
        t->full = true;
    else
        t->used += (size_t)n;
}

static char letter_of(int operand) { return "OABCD"[operand]; }

/* How a pointwise kernel takes and reads input `k`. */
static void define_parameter(ocl_text *t, const ocl_variant *v, int k) {
    char letter = letter_of(k);
    if (v->dtypes[k] == WICK_DTYPE_NONE)
        add(t, "#define %c_PARAM\n#define %c_AT(i) 0\n", letter, letter);
    else if (v->numbers >> k & 1)
        add(t, "#define %c_PARAM , T number_%c\n#define %c_AT(i) number_%c\n", letter, letter, letter, letter);
    else
        add(t, "#define %c_PARAM , IN(%c, data_%c)\n#define %c_AT(i) RAW_%c(data_%c, base_%c + (i))\n", letter, letter,
            letter, letter, letter, letter, letter);
}

/* In a general variant an operand is read and written through the functions of ocl_define_access. */
static void define_general_operand(ocl_text *t, const ocl_variant *v, int k) {
    char letter = letter_of(k);
    bool place = v->recipe->places && strchr(v->recipe->places, letter);
    const char *name = place ? "place" : "value", *type = place ? "long" : "T";
    add(t, "#define %c_TYPE void\n", letter);
    add(t, "#define RAW_%c(p, i) load_%s(p, i, dtype_%c)\n#define LOAD_%c(p, i) ((T)RAW_%c(p, i))\n", letter, name,
        letter, letter, letter);
    add(t, "#define STORE_%c(p, i, v) store_%s(p, i, (%s)(v), dtype_%c)\n", letter, name, type, letter);
}

static void define_operand(ocl_text *t, const ocl_variant *v, int k) {
    char letter = letter_of(k);
    if (v->dtypes[k] == WICK_DTYPE_NONE) return;
    if (v->general) {
        define_general_operand(t, v, k);
        return;
    }
    const ocl_dtype *d = &ocl_dtypes[v->dtypes[k]];
    add(t, "#define %c_TYPE %s\n", letter, d->storage);
    add(t, "#define RAW_%c(p, i) %s\n#define LOAD_%c(p, i) ((T)RAW_%c(p, i))\n", letter, d->load, letter, letter);
    add(t, "#define STORE_%c(p, i, v) %s\n", letter, d->store);
}

/* The bits of an element matter to shifts only; in a general variant they depend on the parameter `compute`. */
static void define_compute(ocl_text *t, const ocl_variant *v) {
    const ocl_dtype *d = &ocl_dtypes[v->compute];
    add(t, "#define T %s\n#define T8 %s8\n#define T_IS_REAL %d\n", d->compute, d->compute,
        wick_dtype_is_floating((wick_dtype)v->compute));
    add(t, "#define T_IS_F64 %d\n#define T_LOWEST %s\n#define T_HIGHEST %s\n", v->compute == WICK_F64, d->lowest,
        d->highest);
    if (v->general)
        add(t, "#define T_BITS (8 * dtype_bytes(compute))\n");
    else
        add(t, "#define T_BITS %d\n", 8 * (int)wick_dtype_bytes((wick_dtype)v->compute));
}

/* An operand of another type is rounded to the compute dtype, as if it had been converted first. */
static const char *cast_of(const ocl_variant *v, int k) {
    if (v->dtypes[k] == v->compute && !(v->numbers >> k & 1)) return "((T)(x))";
    switch (v->compute) {
    case WICK_F16: return "round_f16((T)(x))";
    case WICK_BF16: return "load_bf16(store_bf16(x))";
    case WICK_BOOL: return "((T)((x) != 0))";
    case WICK_U8: return "((T)(uchar)(long)(x))";
    case WICK_I8: return "((T)(char)(long)(x))";
    case WICK_I16: return "((T)(short)(long)(x))";
    case WICK_U16: return "((T)(ushort)(long)(x))";
    default: return "((T)(x))";
    }
}

static void define_pointwise(ocl_text *t, const ocl_variant *v) {
    const ocl_recipe *r = v->recipe;
    for (int k = 1; k < 4; ++k) {
        define_parameter(t, v, k);
        bool is_bool = k < (int)strlen(r->kinds) && r->kinds[k] == 'B';
        add(t, "#define %c_KIND(x) %s\n#define %c_KIND_TYPE %s\n", letter_of(k), is_bool ? "((x) != 0)" : cast_of(v, k),
            letter_of(k), is_bool ? "int" : "T");
    }
    add(t, "#define OPERANDS %d\n#define S_PARAMS", (int)strlen(r->kinds));
    for (int s = 0; s < r->scalars; ++s) add(t, " , T s%d", s);
    add(t, "\n");
}

/* The dtypes that kernels/general.cl rounds to. */
static const struct {
    const char *name;
    wick_dtype dtype;
} rounding[] = {{"BOOL", WICK_BOOL}, {"U8", WICK_U8},   {"I8", WICK_I8},   {"I16", WICK_I16},  {"U16", WICK_U16},
                {"I32", WICK_I32},   {"U32", WICK_U32}, {"F16", WICK_F16}, {"BF16", WICK_BF16}};

void ocl_define(ocl_text *t, const ocl *self, const ocl_variant *v) {
    const ocl_recipe *r = v->recipe;
    if (self->fp64) add(t, "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n#define HAVE_FP64 1\n");
    add(t, "#define INDEX %s\n#define RUN %d\n", v->wide ? "long" : "int", self->run);
    add(t, "#define IN(X, p) __global const X##_TYPE *p, const long base_##X%s\n",
        v->general ? ", const int dtype_##X" : "");
    add(t, "#define OUT(X, p) __global X##_TYPE *p, const long base_##X%s\n",
        v->general ? ", const int dtype_##X" : "");
    for (size_t i = 0; i < sizeof rounding / sizeof rounding[0]; ++i)
        add(t, "#define DTYPE_%s %d\n", rounding[i].name, rounding[i].dtype);
    if (v->compute) define_compute(t, v);
    for (int k = 0; k < OCL_OPERANDS; ++k) define_operand(t, v, k);
    if (r->kinds) define_pointwise(t, v);
    if (r->expression) add(t, "#define EXPRESSION %s\n", r->expression);
}

/* ---- dtypes at run time ---- */
static bool is_place(wick_dtype dtype) { return wick_dtype_is_integral(dtype); }

/* One function over the dtypes that are known, or those that can be indices. */
static void define_switch(ocl_text *t, const ocl *self, const char *head, bool places, const char *row) {
    add(t, "%s {\n    switch (dtype) {\n", head);
    for (int d = 1; d < WICK_DTYPE_COUNT; ++d) {
        wick_dtype dtype = (wick_dtype)d;
        if (!ocl_dtype_known(self, dtype) || wick_dtype_is_complex(dtype) || (places && !is_place(dtype))) continue;
        add(t, "    case %d: ", d);
        for (const char *c = row; *c; ++c) {
            if (*c == '#')
                add(t, "%d", d);
            else if (*c == '@')
                add(t, "%s", ocl_dtypes[d].storage);
            else
                add(t, "%c", *c);
        }
        add(t, "\n");
    }
    add(t, "    }\n");
}

void ocl_define_access(ocl_text *t, const ocl *self) {
    static const char load[] = "return (V)LOAD_#((__global const @ *)p, i);";
    static const char store[] = "STORE_#((__global @ *)p, i, v); break;";
    for (int d = 1; d < WICK_DTYPE_COUNT; ++d)
        if (ocl_dtype_known(self, (wick_dtype)d))
            add(t, "#define LOAD_%d(p, i) %s\n#define STORE_%d(p, i, v) %s\n", d, ocl_dtypes[d].load, d,
                ocl_dtypes[d].store);
    define_switch(t, self, "int dtype_bytes(int dtype)", false, "return sizeof(@);");
    add(t, "    return 0;\n}\n#define V T\n");
    define_switch(t, self, "T load_value(__global const void *p, long i, int dtype)", false, load);
    add(t, "    return 0;\n}\n#undef V\n#define V long\n");
    define_switch(t, self, "long load_place(__global const void *p, long i, int dtype)", true, load);
    add(t, "    return 0;\n}\n");
    define_switch(t, self, "void store_value(__global void *p, long i, T v, int dtype)", false, store);
    add(t, "}\n");
    define_switch(t, self, "void store_place(__global void *p, long i, long v, int dtype)", true, store);
    add(t, "}\n");
}

/* ---- groups ---- */
void ocl_define_members(ocl_text *t, const ocl *self, const ocl_variant *v) {
    for (int k = 0; k < OCL_MAX_KERNELS; ++k) {
        int at = v->numbers * OCL_MAX_KERNELS + k;
        if (at >= ocl_expression_count) return;
        const ocl_expression *e = &ocl_expressions[at];
        if (!ocl_expression_has_class(self, e, (wick_dtype)v->compute)) continue;
        add(t, "MEMBER%d(%s", e->inputs, v->recipe->kernels[k]);
        for (int i = 1; i <= e->inputs; ++i) add(t, ", %c", e->recipe.kinds[i]);
        add(t, ", (%s))\n", e->recipe.expression);
    }
}
