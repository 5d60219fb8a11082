/* opgen OUTDIR: writes what derives from the operator table (core/ops/table.inc):
 *     OUTDIR/include/wick/ops.h  typed functions and their option structs, a schema as the doc line of each
 *     OUTDIR/ops_typed.c         their bodies
 *     OUTDIR/include/wick/sdk/ops.h      bodies for plugins: calls by name through the host's table
 *     OUTDIR/include/wick/sdk/schemas.h  the schema text of each row, for kernels
 *     OUTDIR/op_ids.h            an id per row and variant, in the order of the runtime's table
 * A host program: it links core/src/schema.c and status.c, and reads no file.
 *
 * A function is wick_<name>[_<overload>], in-place with a trailing _, out with _out. Arguments without a default are
 * positional, so are the optional tensors before the first default; everything else is in the options. */
#include "op.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <wick/call.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define NAME_BYTES 96
#define LINE_COLUMNS 120

/* ---- the table: of each row only the schema and the text of its fields ---- */
typedef struct row {
    const char *schema;
    const char *fields; /* ".flags = POINTWISE | OUT" */
} row;

#define FIELDS_TEXT(...) #__VA_ARGS__
#undef OP
#define OP(schema_, kind_, ...) {schema_, FIELDS_TEXT(__VA_ARGS__)},
static const row rows[] = {
#include "table.inc"
};

typedef struct function {
    op_schema schema;
    op_variant variant;
    char name[NAME_BYTES];    /* "add_scalar_", after wick_ */
    char options[NAME_BYTES]; /* "add_scalar": of wick_add_scalar_options; "" if it has none */
} function;

typedef struct function_list {
    function *items;
    size_t count;
} function_list;

static void die(const char *format, ...) {
    va_list list;
    va_start(list, format);
    fputs("opgen: ", stderr);
    vfprintf(stderr, format, list);
    fputc('\n', stderr);
    va_end(list);
    exit(1);
}

static void check(wick_status *status) {
    if (status) die("%s", wick_status_message(status));
}

static void *host_allocate(void *user, size_t bytes) { return malloc(bytes); }
static void *host_reallocate(void *user, void *pointer, size_t bytes) { return realloc(pointer, bytes); }
static void host_free(void *user, void *pointer) { free(pointer); }
static const wick_allocator host_allocator = {host_allocate, host_reallocate, host_free, NULL};

/* True if the row's flags contain the word. */
static bool has_flag(const row *r, const char *word) {
    const size_t n = strlen(word);
    const char *at = strstr(r->fields, ".flags");
    while (at && (at = strstr(at, word)) != NULL) {
        const bool starts = !isalnum((unsigned char)at[-1]) && at[-1] != '_';
        const bool ends = !isalnum((unsigned char)at[n]) && at[n] != '_';
        if (starts && ends) return true;
        at += n;
    }
    return false;
}

/* ---- names ---- */
typedef struct overload_name {
    const char *name; /* NULL: of any operator */
    const char *overload;
    const char *suffix;
} overload_name;

/* The first match decides; without one the overload's name in lower case is the suffix. */
static const overload_name overload_names[] = {
    {"pow", "Scalar", "scalar_base"},
    {"float_power", "Scalar", "scalar_base"},
    {"where", "", "nonzero"},
    {"where", "ScalarSelf", "scalar_self"},
    {"where", "ScalarOther", "scalar_other"},
    {"fill", "Scalar", ""},
    {"fill", "Tensor", "tensor"},
    {"masked_fill", "Scalar", ""},
    {"masked_fill", "Tensor", "tensor"},
    {"index_fill", "int_Scalar", ""},
    {"index_fill", "int_Tensor", "tensor"},
    {"scatter", "reduce", "src_reduce"},
    {"var", "", "unbiased"},
    {"var_mean", "", "unbiased"},
    {"std", "", "unbiased"},
    {"std_mean", "", "unbiased"},
    {"norm", "Scalar", ""},
    {"norm", "ScalarOpt_dim", "dim"},
    {"norm", "ScalarOpt_dim_dtype", "dim_dtype"},
    {"frobenius_norm", "dim", ""},
    {"remainder", "Scalar_Tensor", "scalar_self"},
    {"linspace", "Tensor_Tensor", "tensor_tensor"},
    {"linspace", "Tensor_Scalar", "tensor_scalar"},
    {"logspace", "Tensor_Tensor", "tensor_tensor"},
    {"logspace", "Tensor_Scalar", "tensor_scalar"},
    {"repeat_interleave", "Tensor", "counts"},
    {"randint_like", "low_dtype", "low"},
    {"to", "dtype_layout", ""},
    {"item", "", "value"}, /* wick_item is the context's */
    {"ctc_loss", "IntList", "lengths"},
    {"normal", "float_float", "size"},
    {"bernoulli_", "float", ""},
    {NULL, "", ""},
    {NULL, "Tensor", ""},
    {NULL, "self", ""},
    {NULL, "int", ""},
    {NULL, "default", ""},
    {NULL, "using_ints", ""},
    {NULL, "Tensor_Tensor", ""},
    {NULL, "memory_format", ""},
    {NULL, "correction", ""},
    {NULL, "input", ""},
    {NULL, "indexing", ""},
    {NULL, "two", ""},
    {NULL, "src", ""},
    {NULL, "intlist", ""},
    {NULL, "self_Tensor", ""},
    {NULL, "self_int", "int"},
    {NULL, "dim_IntList", "dim"},
    {NULL, "dim_int", "dim"},
    {NULL, "start_step", "range"},
    {NULL, "Tensor_Scalar", "scalar"},
    {NULL, "Tensor_mode", "mode"},
    {NULL, "source_Tensor", ""},
    {NULL, "Scalar_Self", "scalar_self"},
    {NULL, "Scalar_Other", "scalar"},
};

static void change_case(char out[NAME_BYTES], const char *text, int (*change)(int)) {
    size_t i = 0;
    for (; text[i] && i + 1 < NAME_BYTES; ++i) out[i] = (char)change((unsigned char)text[i]);
    out[i] = '\0';
}

static const overload_name *find_overload(const op_schema *s) {
    for (size_t i = 0; i < COUNT(overload_names); ++i) {
        const overload_name *o = &overload_names[i];
        if ((!o->name || strcmp(o->name, s->name) == 0) && strcmp(o->overload, s->overload) == 0) return o;
    }
    return NULL;
}

static const function *find_function(const function_list *list, const char *name) {
    for (size_t i = 0; i < list->count; ++i)
        if (strcmp(list->items[i].name, name) == 0) return &list->items[i];
    return NULL;
}

/* "add" + "scalar" -> "add_scalar"; the mark of an operator that is in-place itself stays last: "normal_". */
static void join_name(char *out, const char *name, const char *suffix) {
    const size_t n = strlen(name);
    const bool mutates = n && name[n - 1] == '_';
    snprintf(out, NAME_BYTES, "%.*s%s%s%s", (int)(mutates ? n - 1 : n), name, suffix[0] ? "_" : "", suffix,
             mutates ? "_" : "");
}

/* A row whose short name is taken keeps its overload. */
static void name_row(const function_list *list, function *f) {
    char full[NAME_BYTES];
    const overload_name *o = find_overload(&f->schema);
    change_case(full, f->schema.overload, tolower);
    join_name(f->name, f->schema.name, o ? o->suffix : full);
    if (find_function(list, f->name)) join_name(f->name, f->schema.name, full);
}

static void name_variant(function *f, const char *functional) {
    snprintf(f->name, sizeof f->name, "%.80s%s", functional, f->variant == VARIANT_INPLACE ? "_" : "_out");
}

/* ---- arguments ---- */
static bool is_hidden(const op_arg *a) {
    if (a->type == TYPE_GENERATOR) return true;
    return a->optional && (a->type == TYPE_LAYOUT || strcmp(a->name, "pin_memory") == 0);
}

/* Which arguments of the schema go into the options. */
static uint32_t option_mask(const op_schema *s) {
    uint32_t mask = 0;
    for (int i = 0; i < s->nargs; ++i) {
        const op_arg *a = &s->args[i];
        const bool leading_tensor = a->type == TYPE_TENSOR && a->optional && !mask;
        if (a->has_default && !is_hidden(a) && !leading_tensor) mask |= 1u << i;
    }
    return mask;
}

/* How an argument of a type travels: in C, as an optional, as a list; and how a value is made of it. */
typedef struct c_type {
    const char *plain, *optional, *list;
    const char *make, *make_optional, *make_list;
} c_type;

static const c_type c_types[] = {
    [TYPE_TENSOR] = {"wick_tensor *", "wick_tensor *", "wick_tensor *const *", "wick_value_tensor", "wick_value_tensor",
                     "wick_value_tensors"},
    [TYPE_SCALAR] = {"wick_value ", "wick_value ", NULL, "", "", NULL},
    [TYPE_INT] = {"int64_t ", "const int64_t *", "const int64_t *", "wick_value_int", "wick_int_or_none_",
                  "wick_value_ints"},
    [TYPE_FLOAT] = {"double ", "const double *", "const double *", "wick_value_float", "wick_float_or_none_",
                    "wick_value_floats"},
    [TYPE_BOOL] = {"bool ", "const bool *", "const uint8_t *", "wick_value_bool", "wick_bool_or_none_",
                   "wick_value_bools"},
    [TYPE_STRING] = {"const char *", "const char *", NULL, "wick_string_or_none_", "wick_string_or_none_", NULL},
    [TYPE_DTYPE] = {"wick_dtype ", "wick_dtype ", NULL, "wick_value_dtype", "wick_value_dtype", NULL},
    [TYPE_LAYOUT] = {NULL, NULL, NULL, NULL, NULL, NULL}, /* only as a hidden argument */
    [TYPE_DEVICE] = {"wick_device ", "wick_device ", NULL, "wick_value_device", "wick_value_device", NULL},
    [TYPE_MEMORY_FORMAT] = {"int ", "int ", NULL, "wick_format_or_none_", "wick_format_or_none_", NULL},
    [TYPE_GENERATOR] = {NULL, NULL, NULL, NULL, NULL, NULL},
};

static const char *c_declarator(const op_arg *a) {
    const c_type *t = &c_types[a->type];
    const char *text = a->list ? t->list : a->optional ? t->optional : t->plain;
    if (!text) die("no C type for argument '%s'", a->name);
    return text;
}

/* ---- one line of parameters, broken at the column limit ---- */
typedef struct line {
    FILE *file;
    int column, indent;
} line;

static void put_piece(line *l, bool first, const char *format, ...) {
    char text[256];
    va_list list;
    va_start(list, format);
    const int n = vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (first) {
        l->column += fprintf(l->file, "%s", text);
    } else if (l->column + n + 4 > LINE_COLUMNS) {
        fprintf(l->file, ",\n%*s%s", l->indent, "", text);
        l->column = l->indent + n;
    } else {
        l->column += fprintf(l->file, ", %s", text);
    }
}

static void put_parameter(line *l, const op_arg *a) {
    put_piece(l, false, "%s%s", c_declarator(a), a->name);
    if (a->list) put_piece(l, false, "size_t %s_count", a->name);
}

/* ---- signatures ---- */
static bool returns_tensor(const op_schema *s) { return s->nrets && s->rets[0].type == TYPE_TENSOR && !s->ret_list; }

static const char *return_type(const op_schema *s) {
    if (s->ret_list) return "size_t ";
    return returns_tensor(s) ? "wick_tensor *" : "bool ";
}

static void output_name(const op_schema *s, int i, char *out, size_t bytes) {
    if (s->rets[i].name[0])
        snprintf(out, bytes, "out_%s", s->rets[i].name);
    else
        snprintf(out, bytes, "out_ret%d", i);
}

static void put_outputs(line *l, const function *f) {
    const op_schema *s = &f->schema;
    if (s->ret_list)
        put_piece(l, false, "wick_tensor *const **out");
    else if (s->nrets && !returns_tensor(s))
        put_piece(l, false, "%s*out", c_types[s->rets[0].type].plain);
    else if (f->variant != VARIANT_OUT)
        for (int i = 1; i < s->nrets; ++i) {
            char name[48];
            output_name(s, i, name, sizeof name);
            put_piece(l, false, "wick_tensor **%s", name);
        }
}

static void put_signature(FILE *file, const function *f, const char *prefix, const char *end) {
    line l = {file, 0, 0};
    const uint32_t options = option_mask(&f->schema);
    l.column = l.indent = fprintf(file, "%s%swick_%s(", prefix, return_type(&f->schema), f->name);
    put_piece(&l, true, "wick_context *c");
    for (int i = 0; i < f->schema.nargs; ++i)
        if (!(options >> i & 1) && !is_hidden(&f->schema.args[i])) put_parameter(&l, &f->schema.args[i]);
    if (options) put_piece(&l, false, "const wick_%s_options *options", f->options);
    put_outputs(&l, f);
    fprintf(file, ")%s", end);
}

/* ---- ops.h ---- */
static void put_schema_text(FILE *file, const op_schema *s) {
    char text[2048];
    op_schema_format(s, text, sizeof text);
    fprintf(file, "/* %s */\n", text);
}

/* Lists and Scalars are left unset: the body knows the schema's default. */
static void put_init(FILE *file, const op_arg *a) {
    const wick_value *v = &a->dflt;
    if (a->list)
        fputs(", NULL, 0", file);
    else if (a->type == TYPE_SCALAR)
        fputs(", WICK_UNSET", file);
    else if (a->type == TYPE_DEVICE)
        fputs(", {0, 0}", file);
    else if (a->type == TYPE_DTYPE)
        fprintf(file, ", (wick_dtype)%d", (int)v->as.i);
    else if (a->type == TYPE_MEMORY_FORMAT)
        fprintf(file, ", %d", v->tag == WICK_TAG_NONE ? -1 : (int)v->as.i);
    else if (v->tag == WICK_TAG_NONE)
        fputs(", NULL", file);
    else if (v->tag == WICK_TAG_STRING)
        fprintf(file, ", \"%s\"", v->as.string);
    else if (v->tag == WICK_TAG_F64)
        fprintf(file, ", %.17g", v->as.f);
    else if (v->tag == WICK_TAG_BOOL)
        fputs(v->as.i ? ", true" : ", false", file);
    else
        fprintf(file, ", %lld", (long long)v->as.i);
}

static void put_options(FILE *file, const function *f) {
    char upper[NAME_BYTES];
    const uint32_t mask = option_mask(&f->schema);
    change_case(upper, f->options, toupper);
    fprintf(file, "typedef struct wick_%s_options {\n    uint32_t struct_size;\n", f->options);
    for (int i = 0; i < f->schema.nargs; ++i) {
        const op_arg *a = &f->schema.args[i];
        if (!(mask >> i & 1)) continue;
        fprintf(file, "    %s%s;\n", c_declarator(a), a->name);
        if (a->list) fprintf(file, "    size_t %s_count;\n", a->name);
    }
    fprintf(file, "} wick_%s_options;\n", f->options);
    fprintf(file, "#define WICK_%s_OPTIONS_INIT {sizeof(wick_%s_options)", upper, f->options);
    for (int i = 0; i < f->schema.nargs; ++i)
        if (mask >> i & 1) put_init(file, &f->schema.args[i]);
    fputs("}\n", file);
}

static void write_header(FILE *file, const function_list *list) {
    fputs(
        "/* wick/ops.h: every operator as a typed function. Generated from core/ops by tools/opgen.c.\n"
        " *\n"
        " * The comment of a function is ATen's schema. A returned tensor belongs to the innermost scope; NULL means that\n"
        " * the context failed. In-place functions (a trailing _) and out functions return the tensor they wrote and\n"
        " * register nothing. Further results go to out_x, which may be NULL. An array of tensors lives as long as the\n"
        " * scope and its length is returned.\n"
        " *\n"
        " * NULL in an optional argument (Tensor?, int?, int[]?, str?) is None; dtype and device NONE are None, and so is\n"
        " * memory_format -1. `options` may be NULL for all defaults; start one from its _INIT macro. In it a NULL list or\n"
        " * an unset Scalar stands for the schema's default. Arguments are borrowed for the call. */\n"
        "#ifndef WICK_OPS_H\n#define WICK_OPS_H\n\n#include <wick/context.h>\n\n"
        "#define WICK_UNSET {{NULL}, 0, 0} /* initializer of a wick_value */\n\n"
        "WICK_BEGIN_DECLS\n",
        file);
    for (size_t i = 0; i < list->count; ++i) {
        const function *f = &list->items[i];
        if (f->variant == VARIANT_FUNCTIONAL) fputc('\n', file);
        put_schema_text(file, &f->schema);
        if (f->variant == VARIANT_FUNCTIONAL && f->options[0]) put_options(file, f);
        put_signature(file, f, "WICK_API ", ";\n");
    }
    fputs("\nWICK_END_DECLS\n\n#endif\n", file);
}

/* ---- ops_typed.c ---- */
static const char typed_prologue[] = "/* Bodies of wick/ops.h. Generated from core/ops by tools/opgen.c. */\n"
                                     "#include <wick/ops.h>\n\n"
                                     "#include \"dispatch.h\"\n"
                                     "#include \"op_ids.h\"\n\n"
                                     "#include <string.h>\n\n";

/* What the bodies share, in wick and in plugins; C and C++. */
static const char body_helpers[] =
    "static inline wick_value wick_int_or_none_(const int64_t *x) {\n"
    "    return x ? wick_value_int(*x) : wick_value_none();\n"
    "}\n"
    "static inline wick_value wick_float_or_none_(const double *x) {\n"
    "    return x ? wick_value_float(*x) : wick_value_none();\n"
    "}\n"
    "static inline wick_value wick_bool_or_none_(const bool *x) { return x ? wick_value_bool(*x) : wick_value_none(); }\n"
    "static inline wick_value wick_string_or_none_(const char *x) { return wick_value_string(x, x ? strlen(x) : 0); }\n"
    "static inline wick_value wick_scalar_or_(wick_value x, wick_value y) { return x.tag ? x : y; }\n"
    "static inline wick_value wick_format_or_none_(int x) {\n"
    "    return x < 0 ? wick_value_none() : wick_value_memory_format((wick_memory_format)x);\n"
    "}\n\n"
    "static inline wick_tensor *wick_returned_(bool ok, const wick_value *v) {\n"
    "    return ok && v->tag == WICK_TAG_TENSOR ? v->as.tensor : NULL;\n"
    "}\n\n"
    "/* The options to use: those given, the defaults for NULL; options of a smaller size than this version's are merged\n"
    " * over the defaults. A failed check latches, and the call that follows does nothing. */\n"
    "static const void *wick_options_merge_(wick_context *c, const void *given, const void *defaults, void *storage) {\n"
    "    uint32_t size, bytes;\n"
    "    if (!given) return defaults;\n"
    "    memcpy(&size, given, sizeof size);\n"
    "    memcpy(&bytes, defaults, sizeof bytes);\n"
    "    if (size >= bytes) return given;\n"
    "    if (size < sizeof size) {\n"
    "        wick_fail(c, WICK_ERROR(WICK_INVALID_ARGUMENT, \"options without a struct_size: start from _INIT\"));\n"
    "        return defaults;\n"
    "    }\n"
    "    memcpy(storage, defaults, bytes);\n"
    "    return memcpy(storage, given, size);\n"
    "}\n";

static void put_default_list(FILE *file, const op_arg *a) {
    static const char *const item_types[] = {[TYPE_INT] = "int64_t", [TYPE_FLOAT] = "double", [TYPE_BOOL] = "uint8_t"};
    const wick_value *v = &a->dflt;
    fprintf(file, "    static const %s %s_default[] = {", item_types[a->type], a->name);
    for (uint32_t i = 0; i < v->count; ++i) {
        fputs(i ? ", " : "", file);
        if (a->type == TYPE_INT) fprintf(file, "%lld", (long long)v->as.ints[i]);
        if (a->type == TYPE_FLOAT) fprintf(file, "%.17g", v->as.floats[i]);
        if (a->type == TYPE_BOOL) fprintf(file, "%d", v->as.bools[i]);
    }
    fputs(v->count ? "};\n" : "0};\n", file);
}

static bool is_default_list(const op_arg *a) { return a->list && a->has_default && a->dflt.tag != WICK_TAG_NONE; }

static void put_scalar_default(FILE *file, const op_arg *a, const char *access) {
    const wick_value *v = &a->dflt;
    if (v->tag == WICK_TAG_F64) fprintf(file, "wick_scalar_or_(%s, wick_value_float(%.17g))", access, v->as.f);
    if (v->tag == WICK_TAG_I64) fprintf(file, "wick_scalar_or_(%s, wick_value_int(%lld))", access, (long long)v->as.i);
    if (v->tag == WICK_TAG_BOOL) fprintf(file, "wick_scalar_or_(%s, wick_value_bool(%d))", access, (int)v->as.i);
    if (v->tag == WICK_TAG_NONE) fputs(access, file);
}

/* The expression that makes the argument's slot. */
static void put_slot(FILE *file, const op_arg *a, bool option) {
    char x[64];
    const c_type *t = &c_types[a->type];
    snprintf(x, sizeof x, "%s%s", option ? "o->" : "", a->name);
    if (is_hidden(a)) {
        fputs("wick_value_none()", file);
    } else if (a->list) {
        if (option && is_default_list(a))
            fprintf(file, "%s ? %s(%s, %s_count) : %s(%s_default, %u)", x, t->make_list, x, x, t->make_list, a->name,
                    a->dflt.count);
        else if (a->optional)
            fprintf(file, "%s ? %s(%s, %s_count) : wick_value_none()", x, t->make_list, x, x);
        else
            fprintf(file, "%s(%s, %s_count)", t->make_list, x, x);
    } else if (a->type == TYPE_SCALAR) {
        if (option)
            put_scalar_default(file, a, x);
        else
            fputs(x, file);
    } else {
        fprintf(file, "%s(%s)", a->optional ? t->make_optional : t->make, x);
    }
}

static void put_read_options(FILE *file, const function *f, uint32_t mask) {
    char upper[NAME_BYTES];
    change_case(upper, f->options, toupper);
    for (int i = 0; i < f->schema.nargs; ++i)
        if ((mask >> i & 1) && is_default_list(&f->schema.args[i])) put_default_list(file, &f->schema.args[i]);
    fprintf(file,
            "    static const wick_%s_options defaults = WICK_%s_OPTIONS_INIT;\n"
            "    wick_%s_options storage;\n"
            "    const wick_%s_options *o =\n"
            "        (const wick_%s_options *)wick_options_merge_(c, options, &defaults, &storage);\n",
            f->options, upper, f->options, f->options, f->options);
}

static void put_arguments(FILE *file, const function *f, uint32_t mask) {
    fputs("    const wick_value args[] = {\n", file);
    for (int i = 0; i < f->schema.nargs; ++i) {
        fputs("        ", file);
        put_slot(file, &f->schema.args[i], mask >> i & 1);
        fputs(",\n", file);
    }
    fputs("    };\n", file);
}

static void put_tensor_returns(FILE *file, const function *f) {
    char name[48];
    for (int i = 1; i < f->schema.nrets; ++i) {
        output_name(&f->schema, i, name, sizeof name);
        fprintf(file, "    if (%s) *%s = wick_returned_(ok, &rets[%d]);\n", name, name, i);
    }
    fputs("    return wick_returned_(ok, &rets[0]);\n", file);
}

/* Values that are no tensors: read from the slot by the C type. */
static void put_value_return(FILE *file, const op_schema *s) {
    static const char *const reads[] = {[TYPE_SCALAR] = "rets[0]",
                                        [TYPE_INT] = "rets[0].as.i",
                                        [TYPE_FLOAT] = "rets[0].as.f",
                                        [TYPE_BOOL] = "rets[0].as.i != 0"};
    const char *read = s->rets[0].type < COUNT(reads) ? reads[s->rets[0].type] : NULL;
    if (!read) die("%s: no C type for its return", s->name);
    fprintf(file, "    if (ok) *out = %s;\n    return ok;\n", read);
}

/* Where a body calls: inside wick by the operator's id, in a plugin by its name and the hash of it. */
typedef enum body_place { IN_WICK, IN_PLUGIN } body_place;

static void full_name(char out[NAME_BYTES], const op_schema *s) {
    snprintf(out, NAME_BYTES, "%.46s%s%.46s", s->name, s->overload[0] ? "." : "", s->overload);
}

/* `c, OP_ID_add` or `c, "add.Tensor", 0x1234u`. */
static void put_target(FILE *file, const function *f, body_place place) {
    char name[NAME_BYTES];
    full_name(name, &f->schema);
    if (place == IN_WICK)
        fprintf(file, "c, OP_ID_%s", f->name);
    else
        fprintf(file, "c, \"%s\", 0x%08xu", name, wick_name_hash(name));
}

static void put_call(FILE *file, const function *f, body_place place) {
    const op_schema *s = &f->schema;
    if (returns_tensor(s) && s->nrets == 1) {
        fputs(place == IN_WICK ? "    return op_call1(" : "    return wick_sdk_invoke1_(", file);
        put_target(file, f, place);
        fprintf(file, ", args, %d);\n", s->nargs);
        return;
    }
    fprintf(file, "    wick_value rets[%d];\n", s->nrets ? s->nrets : 1);
    fputs(place == IN_WICK ? "    const bool ok = op_calln(" : "    const bool ok = c->host->invoke(", file);
    put_target(file, f, place);
    fprintf(file, ", args, %d, rets, %d);\n", s->nargs, s->nrets);
    if (f->variant == VARIANT_OUT)
        fputs("    return ok ? out0 : NULL;\n", file);
    else if (s->ret_list)
        fputs("    *out = ok ? rets[0].as.tensors : NULL;\n    return ok ? rets[0].count : 0;\n", file);
    else if (!s->nrets)
        fputs("    return ok;\n", file);
    else if (returns_tensor(s))
        put_tensor_returns(file, f);
    else
        put_value_return(file, s);
}

#define FEW_TENSORS 4

/* Calls with nothing but tensors share their bodies: half of all, and a third of the code otherwise. */
static bool takes_few_tensors(const function *f) {
    const op_schema *s = &f->schema;
    if (!returns_tensor(s) || s->nrets != 1 || !s->nargs || s->nargs > FEW_TENSORS || option_mask(s)) return false;
    for (int i = 0; i < s->nargs; ++i)
        if (s->args[i].type != TYPE_TENSOR || s->args[i].list) return false;
    return true;
}

static void put_few_tensors(FILE *file, const function *f) {
    fputs("    return of_tensors(c", file);
    for (int i = 0; i < FEW_TENSORS; ++i) fprintf(file, ", %s", i < f->schema.nargs ? f->schema.args[i].name : "NULL");
    fprintf(file, ", OP_ID_%s << 4 | %d);\n", f->name, f->schema.nargs);
}

static void put_bodies(FILE *file, const function_list *list, body_place place) {
    for (size_t i = 0; i < list->count; ++i) {
        const function *f = &list->items[i];
        const uint32_t mask = option_mask(&f->schema);
        fputc('\n', file);
        put_signature(file, f, "", " {\n");
        if (place == IN_WICK && takes_few_tensors(f)) {
            put_few_tensors(file, f);
        } else {
            if (mask) put_read_options(file, f, mask);
            put_arguments(file, f, mask);
            put_call(file, f, place);
        }
        fputs("}\n", file);
    }
}

static const char few_tensors_helper[] =
    "\n/* `call`: operator << 4 | count of tensors. */\n"
    "static __attribute__((noinline)) wick_tensor *of_tensors(wick_context *c, wick_tensor *t0, wick_tensor *t1,\n"
    "                                                         wick_tensor *t2, wick_tensor *t3, uint32_t call) {\n"
    "    const wick_value args[] = {wick_value_tensor(t0), wick_value_tensor(t1), wick_value_tensor(t2),\n"
    "                               wick_value_tensor(t3)};\n"
    "    return op_call1(c, (int)(call >> 4), args, (int)(call & 15));\n"
    "}\n";

static void write_bodies(FILE *file, const function_list *list) {
    fputs(typed_prologue, file);
    fputs(body_helpers, file);
    fputs(few_tensors_helper, file);
    put_bodies(file, list, IN_WICK);
}

/* ---- wick/sdk/ops.h ---- */
static void write_sdk_bodies(FILE *file, const function_list *list) {
    fputs(
        "/* wick/sdk/ops.h: operators inside a plugin: what wick/ops.h declares, for those who include <wick/sdk/...>\n"
        " * only. wick/sdk/link.h has it define the functions, too: each calls host->invoke of its context. Generated from\n"
        " * core/ops by tools/opgen.c. */\n"
        "#ifndef WICK_SDK_OPS_H\n#define WICK_SDK_OPS_H\n\n#include <wick/ops.h>\n\n"
        "#ifdef WICK_SDK_DEFINE_OPERATORS\n#include <string.h>\n#include <wick/sdk/host.h>\n\n"
        "WICK_BEGIN_DECLS\n",
        file);
    fputs(body_helpers, file);
    fputs("\nstatic inline wick_tensor *wick_sdk_invoke1_(wick_context *c, const char *name, uint32_t hash,\n"
          "                                             const wick_value *args, int nargs) {\n"
          "    wick_value ret;\n"
          "    return wick_returned_(c->host->invoke(c, name, hash, args, nargs, &ret, 1), &ret);\n"
          "}\n",
          file);
    put_bodies(file, list, IN_PLUGIN);
    fputs("\nWICK_END_DECLS\n#endif /* WICK_SDK_DEFINE_OPERATORS */\n\n#endif\n", file);
}

/* ---- wick/sdk/schemas.h ---- */
static void put_string(FILE *file, const char *text) {
    fputc('"', file);
    for (; *text; ++text) fprintf(file, *text == '"' ? "\\%c" : "%c", *text);
    fputc('"', file);
}

static void write_schemas(FILE *file, const function_list *list) {
    fputs(
        "/* wick/sdk/schemas.h: the schema of every operator of this version as text, for the rows of kernels: a kernel\n"
        " * that names the full schema keeps its meaning when a later version adds arguments. Generated from core/ops by\n"
        " * tools/opgen.c. */\n"
        "#ifndef WICK_SDK_SCHEMAS_H\n#define WICK_SDK_SCHEMAS_H\n\n#include <wick/sdk/kernel.h>\n\n",
        file);
    for (size_t i = 0; i < list->count; ++i) {
        char text[2048];
        const op_schema *s = &list->items[i].schema;
        if (list->items[i].variant != VARIANT_FUNCTIONAL) continue;
        op_schema_format(s, text, sizeof text);
        fprintf(file, "#define WICK_SCHEMA_%s%s%s \\\n    ", s->name, s->overload[0] ? "_" : "", s->overload);
        put_string(file, text);
        fputc('\n', file);
    }
    fputs("\n#endif\n", file);
}

/* ---- op_ids.h ---- */
static void write_ids(FILE *file, const function_list *list) {
    fputs(
        "/* Ids of operators: a row's functional form, then its in-place and out forms. Generated by tools/opgen.c. */\n"
        "#ifndef WICK_OP_IDS_H\n#define WICK_OP_IDS_H\n\ntypedef enum op_id {\n",
        file);
    for (size_t i = 0; i < list->count; ++i) fprintf(file, "    OP_ID_%s,\n", list->items[i].name);
    fputs("    OP_ID_COUNT\n} op_id;\n\n#endif\n", file);
}

/* ---- putting it together ---- */
static void add_function(function_list *list, const function *f) {
    const function *twin = find_function(list, f->name);
    if (twin)
        die("%s.%s and %s.%s are both wick_%s", f->schema.name, f->schema.overload, twin->schema.name,
            twin->schema.overload, f->name);
    list->items[list->count++] = *f;
}

static void add_variant(function_list *list, const function *functional, op_variant variant) {
    function f = *functional;
    f.variant = variant;
    check(op_schema_derive(&host_allocator, &functional->schema, variant, &f.schema));
    name_variant(&f, functional->name);
    add_function(list, &f);
}

static void add_row(function_list *list, const row *r) {
    function f = {.variant = VARIANT_FUNCTIONAL};
    check(op_schema_parse(&host_allocator, r->schema, &f.schema));
    name_row(list, &f);
    if (option_mask(&f.schema)) memcpy(f.options, f.name, sizeof f.options);
    add_function(list, &f);
    if (has_flag(r, "INPLACE")) add_variant(list, &f, VARIANT_INPLACE);
    if (has_flag(r, "OUT")) add_variant(list, &f, VARIANT_OUT);
}

static void write_file(const char *directory, const char *name, void (*writer)(FILE *, const function_list *),
                       const function_list *list) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "w");
    if (!file) die("cannot write %s", path);
    writer(file, list);
    const bool failed = ferror(file) != 0;
    if (fclose(file) || failed) die("cannot write %s", path);
}

static void make_directory(const char *directory, const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    mkdir(path, 0777); /* fails if it exists; a real failure shows when the file is opened */
}

int main(int argc, char **argv) {
    if (argc != 2) die("usage: opgen OUTDIR");
    function_list list = {calloc(3 * COUNT(rows), sizeof(function)), 0};
    if (!list.items) die("out of memory");
    for (size_t i = 0; i < COUNT(rows); ++i) add_row(&list, &rows[i]);
    make_directory(argv[1], "");
    make_directory(argv[1], "include");
    make_directory(argv[1], "include/wick");
    make_directory(argv[1], "include/wick/sdk");
    write_file(argv[1], "include/wick/ops.h", write_header, &list);
    write_file(argv[1], "ops_typed.c", write_bodies, &list);
    write_file(argv[1], "op_ids.h", write_ids, &list);
    write_file(argv[1], "include/wick/sdk/ops.h", write_sdk_bodies, &list);
    write_file(argv[1], "include/wick/sdk/schemas.h", write_schemas, &list);
    for (size_t i = 0; i < list.count; ++i) op_schema_deinitialize(&host_allocator, &list.items[i].schema);
    free(list.items);
    return 0;
}
