/* Operator schemas: ATen's text form, parsed, formatted, and the in-place and out forms derived from a functional one.
 *
 *     name[.overload](Type name[=default], ..., *, Type name, ...) -> Type | (Type [name], ...) | ()
 *
 * A type is a base name, an alias annotation for tensors, and suffixes: Tensor(a!), Tensor?[], int[2]?, Scalar?.
 * The parser is one pass without recursion; the first mistake is reported with the schema and its column. */
#include "op.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MAX_LIST 16 /* longest list that a default may have */

/* ---- small closed sets ---- */
typedef struct type_name {
    const char *name;
    uint8_t type;
    uint8_t symbolic;
} type_name;

static const type_name type_names[] = {
    {"Tensor", TYPE_TENSOR, 0},       {"Scalar", TYPE_SCALAR, 0}, {"int", TYPE_INT, 0},
    {"SymInt", TYPE_INT, 1},          {"float", TYPE_FLOAT, 0},   {"bool", TYPE_BOOL, 0},
    {"SymBool", TYPE_BOOL, 1},        {"str", TYPE_STRING, 0},    {"ScalarType", TYPE_DTYPE, 0},
    {"Layout", TYPE_LAYOUT, 0},       {"Device", TYPE_DEVICE, 0}, {"MemoryFormat", TYPE_MEMORY_FORMAT, 0},
    {"Generator", TYPE_GENERATOR, 0},
};

/* A word that stands for a number, and the number PyTorch prints in its place (-1: it prints the word). */
typedef struct word {
    uint8_t type;
    const char *name;
    int16_t printed;
    int16_t value;
} word;

static const word words[] = {
    {TYPE_INT, "Mean", -1, 1},
    {TYPE_INT, "Sum", -1, 2},
    {TYPE_DTYPE, "byte", 0, WICK_U8},
    {TYPE_DTYPE, "int", 3, WICK_I32},
    {TYPE_DTYPE, "long", 4, WICK_I64},
    {TYPE_DTYPE, "half", 5, WICK_F16},
    {TYPE_DTYPE, "float", 6, WICK_F32},
    {TYPE_DTYPE, "double", 7, WICK_F64},
    {TYPE_DTYPE, "bool", 11, WICK_BOOL},
    {TYPE_MEMORY_FORMAT, "contiguous_format", 0, WICK_CONTIGUOUS_FORMAT},
    {TYPE_MEMORY_FORMAT, "preserve_format", 1, WICK_PRESERVE_FORMAT},
    {TYPE_MEMORY_FORMAT, "channels_last", 2, WICK_CHANNELS_LAST},
    {TYPE_LAYOUT, "strided", 0, WICK_STRIDED},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- memory of defaults ---- */
static size_t payload_bytes(const wick_value *v) {
    static const uint8_t item_bytes[] = {
        [WICK_TAG_I64_LIST] = 8, [WICK_TAG_F64_LIST] = 8, [WICK_TAG_BOOL_LIST] = 1, [WICK_TAG_STRING] = 1};
    const size_t item = v->tag < COUNT(item_bytes) ? item_bytes[v->tag] : 0;
    return item * ((size_t)v->count + 1); /* never 0 for a list; room for a string's NUL */
}

/* Replaces the borrowed payload of a list or string by an owned copy. On failure the value becomes None. */
static bool own_payload(const wick_allocator *allocator, wick_value *v) {
    const size_t bytes = payload_bytes(v);
    if (!bytes) return true;
    char *copy = allocator->allocate(allocator->user, bytes);
    if (!copy) {
        *v = wick_value_none();
        return false;
    }
    const size_t used = bytes - bytes / ((size_t)v->count + 1);
    memset(copy + used, 0, bytes - used);
    if (used) memcpy(copy, v->as.pointer, used);
    v->as.pointer = copy;
    return true;
}

void op_schema_deinitialize(const wick_allocator *allocator, op_schema *schema) {
    for (int i = 0; i < schema->nargs; ++i) {
        op_arg *arg = &schema->args[i];
        if (arg->has_default && payload_bytes(&arg->dflt)) allocator->free(allocator->user, arg->dflt.as.pointer);
    }
    memset(schema, 0, sizeof *schema);
}

/* ---- the parser: every function returns false once `error` is set ---- */
typedef struct parser {
    const char *text;
    const char *at;
    const wick_allocator *allocator;
    wick_status *error;
} parser;

static bool WICK_PRINTF(2, 3) fail(parser *p, const char *format, ...) {
    char message[160];
    va_list list;
    va_start(list, format);
    vsnprintf(message, sizeof message, format, list);
    va_end(list);
    if (!p->error)
        p->error = WICK_ERROR(WICK_INVALID_ARGUMENT, "schema \"%.400s\", column %d: %s", p->text,
                              (int)(p->at - p->text) + 1, message);
    return false;
}

static bool fail_memory(parser *p) {
    p->error = WICK_ERROR(WICK_OUT_OF_MEMORY, "no memory for the defaults of schema \"%.400s\"", p->text);
    return false;
}

static bool accept(parser *p, const char *token) {
    const size_t n = strlen(token);
    while (*p->at == ' ') ++p->at;
    if (strncmp(p->at, token, n) != 0) return false;
    p->at += n;
    return true;
}

static bool expect(parser *p, const char *token) { return accept(p, token) || fail(p, "expected '%s'", token); }

static bool is_digit(char ch) { return ch >= '0' && ch <= '9'; }
static bool is_letter(char ch) { return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || ch == '_'; }

static bool parse_identifier(parser *p, char *out, size_t bytes, const char *what) {
    size_t n = 0;
    accept(p, "");
    if (!is_letter(*p->at)) return fail(p, "expected %s", what);
    while (is_letter(p->at[n]) || is_digit(p->at[n])) ++n;
    if (n >= bytes) return fail(p, "%s is longer than %zu characters", what, bytes - 1);
    memcpy(out, p->at, n);
    out[n] = '\0';
    p->at += n;
    return true;
}

/* ---- numbers: exact for the short decimals of schemas, and free of the locale ---- */
typedef struct decimal {
    uint64_t digits;
    int exponent; /* of ten */
    bool negative;
    bool is_float;
} decimal;

static bool parse_digits(parser *p, decimal *d, int step) {
    if (!is_digit(*p->at)) return step != 0 || fail(p, "expected a number");
    for (; is_digit(*p->at); ++p->at, d->exponent += step) {
        if (d->digits > (UINT64_MAX - 9) / 10) return fail(p, "number has too many digits");
        d->digits = d->digits * 10 + (uint64_t)(*p->at - '0');
    }
    return true;
}

static bool parse_exponent(parser *p, decimal *d) {
    const bool negative = *p->at == '-';
    decimal e = {0};
    if (*p->at == '-' || *p->at == '+') ++p->at;
    if (!parse_digits(p, &e, 0)) return false;
    if (e.digits > 300) return fail(p, "exponent is out of range");
    d->exponent += negative ? -(int)e.digits : (int)e.digits;
    return true;
}

static bool parse_decimal(parser *p, decimal *d) {
    memset(d, 0, sizeof *d);
    d->negative = accept(p, "-");
    if (!parse_digits(p, d, 0)) return false;
    if (*p->at == '.') {
        ++p->at;
        d->is_float = true;
        if (!parse_digits(p, d, -1)) return false;
    }
    if (*p->at == 'e' || *p->at == 'E') {
        ++p->at;
        d->is_float = true;
        return parse_exponent(p, d);
    }
    return true;
}

static double decimal_value(const decimal *d) {
    long double scale = 1;
    for (int i = d->exponent < 0 ? -d->exponent : d->exponent; i > 0; --i) scale *= 10;
    const long double digits = (long double)d->digits;
    const double value = (double)(d->exponent < 0 ? digits / scale : digits * scale);
    return d->negative ? -value : value;
}

static bool parse_number(parser *p, uint8_t type, wick_value *out) {
    decimal d;
    if (!parse_decimal(p, &d)) return false;
    if (type == TYPE_FLOAT || (type == TYPE_SCALAR && d.is_float)) {
        *out = wick_value_float(decimal_value(&d));
        return true;
    }
    if (d.is_float) return fail(p, "expected an integer");
    if (d.digits > INT64_MAX) return fail(p, "integer is out of range");
    *out = wick_value_int(d.negative ? -(int64_t)d.digits : (int64_t)d.digits);
    return true;
}

/* ---- defaults ---- */
static wick_value tagged_word(uint8_t type, int64_t value) {
    static const uint8_t tags[] = {[TYPE_INT] = WICK_TAG_I64,
                                   [TYPE_DTYPE] = WICK_TAG_DTYPE,
                                   [TYPE_LAYOUT] = WICK_TAG_LAYOUT,
                                   [TYPE_MEMORY_FORMAT] = WICK_TAG_MEMORY_FORMAT};
    return wick_value_tagged(value, (wick_tag)tags[type]);
}

/* Mean, long, contiguous_format; or the number that PyTorch prints for the last two. */
static bool parse_word(parser *p, uint8_t type, wick_value *out) {
    char name[32] = "";
    decimal d = {0};
    accept(p, "");
    const bool number = is_digit(*p->at);
    if (!(number ? parse_decimal(p, &d) : parse_identifier(p, name, sizeof name, "a default"))) return false;
    for (size_t i = 0; i < COUNT(words); ++i) {
        const word *w = &words[i];
        if (w->type != type) continue;
        if (number ? d.digits != (uint64_t)w->printed || d.is_float : strcmp(w->name, name) != 0) continue;
        *out = tagged_word(type, w->value);
        return true;
    }
    return fail(p, "unknown default");
}

static bool parse_bool(parser *p, wick_value *out) {
    const bool yes = accept(p, "True");
    if (!yes && !accept(p, "False")) return fail(p, "expected True or False");
    *out = wick_value_bool(yes);
    return true;
}

static bool parse_string(parser *p, wick_value *out) {
    accept(p, "");
    const char quote = *p->at;
    if (quote != '"' && quote != '\'') return fail(p, "expected a string");
    const char *end = strchr(p->at + 1, quote);
    if (!end) return fail(p, "string has no end");
    *out = wick_value_string(p->at + 1, (size_t)(end - p->at - 1));
    p->at = end + 1;
    return true;
}

static bool parse_item(parser *p, uint8_t type, wick_value *out) {
    accept(p, "");
    switch (type) {
    case TYPE_BOOL: return parse_bool(p, out);
    case TYPE_STRING: return parse_string(p, out);
    case TYPE_FLOAT: return parse_number(p, type, out);
    case TYPE_INT: return is_letter(*p->at) ? parse_word(p, type, out) : parse_number(p, type, out);
    case TYPE_SCALAR: return is_letter(*p->at) ? parse_bool(p, out) : parse_number(p, type, out);
    case TYPE_DTYPE:
    case TYPE_LAYOUT:
    case TYPE_MEMORY_FORMAT: return parse_word(p, type, out);
    default: return fail(p, "this type has no default but None");
    }
}

typedef union list_items {
    int64_t ints[MAX_LIST];
    double floats[MAX_LIST];
    uint8_t bools[MAX_LIST];
} list_items;

static bool parse_list_item(parser *p, uint8_t type, list_items *items, uint32_t i) {
    wick_value v;
    if (i == MAX_LIST) return fail(p, "default list is longer than %d", MAX_LIST);
    if (!parse_item(p, type, &v)) return false;
    if (type == TYPE_INT) items->ints[i] = v.as.i;
    if (type == TYPE_FLOAT) items->floats[i] = v.as.f;
    if (type == TYPE_BOOL) items->bools[i] = (uint8_t)v.as.i;
    return true;
}

/* `[a, b]`, or one item that stands for all n of a T[n]. */
static bool parse_list(parser *p, const op_arg *arg, wick_value *out) {
    static const uint8_t tags[] = {
        [TYPE_INT] = WICK_TAG_I64_LIST, [TYPE_FLOAT] = WICK_TAG_F64_LIST, [TYPE_BOOL] = WICK_TAG_BOOL_LIST};
    list_items items;
    const uint32_t tag = arg->type < COUNT(tags) ? tags[arg->type] : 0;
    if (!tag) return fail(p, "a list of this type has no default");
    *out = wick_value_none();
    if (!accept(p, "[")) {
        if (!arg->list_size) return fail(p, "expected '['");
        if (!parse_list_item(p, arg->type, &items, out->count++)) return false;
    } else if (!accept(p, "]")) {
        do {
            if (!parse_list_item(p, arg->type, &items, out->count++)) return false;
        } while (accept(p, ","));
        if (!expect(p, "]")) return false;
    }
    out->tag = tag;
    out->as.pointer = &items;
    return own_payload(p->allocator, out) || fail_memory(p);
}

static bool parse_default(parser *p, op_arg *arg) {
    wick_value value = wick_value_none();
    if (accept(p, "None")) {
        if (!arg->optional) return fail(p, "'%s' is not optional: None is no default", arg->name);
    } else if (arg->list) {
        if (!parse_list(p, arg, &value)) return false;
    } else if (!parse_item(p, arg->type, &value)) {
        return false;
    } else if (!own_payload(p->allocator, &value)) {
        return fail_memory(p);
    }
    arg->dflt = value;
    arg->has_default = 1;
    return true;
}

/* ---- types and arguments ---- */
/* (a), (a!), (a -> *) */
static bool parse_alias(parser *p, op_arg *arg) {
    if (*p->at != '(') return true;
    ++p->at;
    if (arg->type != TYPE_TENSOR) return fail(p, "only tensors alias");
    if (*p->at < 'a' || *p->at > 'z') return fail(p, "expected an alias letter");
    arg->alias = (uint8_t)*p->at++;
    if (*p->at == '!') arg->mutated = 1, ++p->at;
    if (accept(p, "->")) {
        if (!expect(p, "*")) return false;
        arg->wildcard = 1;
    }
    return expect(p, ")");
}

static bool parse_list_suffix(parser *p, op_arg *arg) {
    decimal size = {0};
    if (arg->list) return fail(p, "lists of lists do not exist");
    arg->list = 1;
    arg->list_optional_items = arg->optional;
    arg->optional = 0;
    if (is_digit(*p->at) && !parse_decimal(p, &size)) return false;
    if (size.is_float || size.digits > WICK_MAX_DIMS) return fail(p, "bad list size");
    arg->list_size = (int32_t)size.digits;
    return expect(p, "]");
}

static bool parse_type(parser *p, op_arg *arg) {
    char name[32];
    const type_name *found = NULL;
    if (!parse_identifier(p, name, sizeof name, "a type")) return false;
    for (size_t i = 0; i < COUNT(type_names); ++i)
        if (strcmp(type_names[i].name, name) == 0) found = &type_names[i];
    if (!found) return fail(p, "unknown type '%s'", name);
    arg->type = found->type;
    arg->symbolic = found->symbolic;
    if (!parse_alias(p, arg)) return false;
    for (;; ++p->at) {
        if (*p->at == '?') {
            if (arg->optional) return fail(p, "doubly optional");
            arg->optional = 1;
        } else if (*p->at == '[') {
            ++p->at;
            if (!parse_list_suffix(p, arg)) return false;
            --p->at;
        } else {
            return true;
        }
    }
}

static bool parse_argument(parser *p, op_schema *schema, bool kwarg_only) {
    if (schema->nargs == OP_MAX_ARGS) return fail(p, "more than %d arguments", OP_MAX_ARGS);
    op_arg *arg = &schema->args[schema->nargs];
    if (!parse_type(p, arg) || !parse_identifier(p, arg->name, sizeof arg->name, "an argument name")) return false;
    for (int i = 0; i < schema->nargs; ++i)
        if (strcmp(schema->args[i].name, arg->name) == 0) return fail(p, "two arguments named '%s'", arg->name);
    arg->kwarg_only = kwarg_only;
    ++schema->nargs; /* from here on the schema owns the default */
    if (accept(p, "=") && !parse_default(p, arg)) return false;
    const bool gap = arg > schema->args && arg[-1].has_default && !arg->has_default;
    return !gap || kwarg_only || fail(p, "'%s' follows a default but has none", arg->name);
}

static bool parse_arguments(parser *p, op_schema *schema) {
    bool kwarg_only = false;
    if (!expect(p, "(")) return false;
    if (accept(p, ")")) return true;
    do {
        if (accept(p, "*")) {
            if (kwarg_only) return fail(p, "a second '*'");
            kwarg_only = true;
        } else if (!parse_argument(p, schema, kwarg_only)) {
            return false;
        }
    } while (accept(p, ","));
    return expect(p, ")");
}

static bool parse_return(parser *p, op_schema *schema) {
    if (schema->nrets == OP_MAX_RETS) return fail(p, "more than %d returns", OP_MAX_RETS);
    op_arg *ret = &schema->rets[schema->nrets++];
    if (!parse_type(p, ret)) return false;
    accept(p, "");
    return !is_letter(*p->at) || parse_identifier(p, ret->name, sizeof ret->name, "a return name");
}

static bool parse_returns(parser *p, op_schema *schema) {
    if (!expect(p, "->")) return false;
    if (!accept(p, "(")) return parse_return(p, schema);
    if (accept(p, ")")) return true;
    do {
        if (!parse_return(p, schema)) return false;
    } while (accept(p, ","));
    return expect(p, ")");
}

/* "add", or of a plugin's own namespace "mylib::swish". */
static bool parse_name(parser *p, op_schema *schema) {
    char *name = schema->name;
    if (!parse_identifier(p, name, sizeof schema->name, "an operator name")) return false;
    if (strncmp(p->at, "::", 2) != 0) return true;
    const size_t used = strlen(name) + 2;
    if (used >= sizeof schema->name) return fail(p, "the operator's name is too long");
    memcpy(name + used - 2, "::", 3);
    p->at += 2;
    return parse_identifier(p, name + used, sizeof schema->name - used, "an operator name");
}

static bool parse_schema(parser *p, op_schema *schema) {
    accept(p, "aten::");
    if (!parse_name(p, schema)) return false;
    if (*p->at == '.') {
        ++p->at;
        if (!parse_identifier(p, schema->overload, sizeof schema->overload, "an overload name")) return false;
    }
    if (!parse_arguments(p, schema) || !parse_returns(p, schema)) return false;
    accept(p, "");
    if (*p->at) return fail(p, "text after the end");
    schema->ret_list = schema->nrets == 1 && schema->rets[0].list;
    return true;
}

wick_status *op_schema_parse(const wick_allocator *allocator, const char *text, op_schema *out) {
    parser p = {text, text, allocator, NULL};
    memset(out, 0, sizeof *out);
    if (!parse_schema(&p, out)) op_schema_deinitialize(allocator, out);
    return p.error;
}

/* ---- formatting ---- */
typedef struct writer {
    char *at;
    size_t left; /* with the NUL */
} writer;

static void WICK_PRINTF(2, 3) put(writer *w, const char *format, ...) {
    va_list list;
    if (!w->left) return;
    va_start(list, format);
    const int n = vsnprintf(w->at, w->left, format, list);
    va_end(list);
    const size_t step = n < 0 ? 0 : (size_t)n < w->left ? (size_t)n : w->left - 1;
    w->at += step;
    w->left -= step;
}

/* The shortest digits that give the number back; whole numbers as "2.". */
static void put_float(writer *w, double value) {
    char text[40];
    if (value > -1e15 && value < 1e15 && value == (double)(int64_t)value) {
        put(w, "%lld.", (long long)value);
        return;
    }
    for (int precision = 1; precision <= 17; ++precision) {
        snprintf(text, sizeof text, "%.*g", precision, value);
        char *comma = strchr(text, ',');
        if (comma) *comma = '.'; /* whatever the locale says */
        parser p = {text, text, NULL, NULL};
        decimal d;
        const bool same = parse_decimal(&p, &d) && decimal_value(&d) == value;
        wick_status_free(p.error);
        if (same) break;
    }
    put(w, "%s", text);
}

static void put_word(writer *w, uint8_t type, int64_t value) {
    for (size_t i = 0; i < COUNT(words); ++i)
        if (words[i].type == type && words[i].value == value) {
            put(w, "%s", words[i].name);
            return;
        }
}

static void put_list(writer *w, const op_arg *arg) {
    const wick_value *v = &arg->dflt;
    const bool bare = arg->list_size && v->count == 1;
    put(w, "%s", bare ? "" : "[");
    for (uint32_t i = 0; i < v->count; ++i) {
        put(w, "%s", i ? ", " : "");
        if (v->tag == WICK_TAG_I64_LIST) put(w, "%lld", (long long)v->as.ints[i]);
        if (v->tag == WICK_TAG_F64_LIST) put_float(w, v->as.floats[i]);
        if (v->tag == WICK_TAG_BOOL_LIST) put(w, "%s", v->as.bools[i] ? "True" : "False");
    }
    put(w, "%s", bare ? "" : "]");
}

static void put_default(writer *w, const op_arg *arg) {
    const wick_value *v = &arg->dflt;
    put(w, "=");
    switch (v->tag) {
    case WICK_TAG_NONE: put(w, "None"); break;
    case WICK_TAG_BOOL: put(w, "%s", v->as.i ? "True" : "False"); break;
    case WICK_TAG_I64: put(w, "%lld", (long long)v->as.i); break;
    case WICK_TAG_F64: put_float(w, v->as.f); break;
    case WICK_TAG_STRING: put(w, "\"%s\"", v->as.string); break;
    case WICK_TAG_DTYPE:
    case WICK_TAG_LAYOUT:
    case WICK_TAG_MEMORY_FORMAT: put_word(w, arg->type, v->as.i); break;
    default: put_list(w, arg); break;
    }
}

static void put_type(writer *w, const op_arg *arg) {
    for (size_t i = 0; i < COUNT(type_names); ++i)
        if (type_names[i].type == arg->type && type_names[i].symbolic == arg->symbolic)
            put(w, "%s", type_names[i].name);
    if (arg->alias) put(w, "(%c%s%s)", arg->alias, arg->mutated ? "!" : "", arg->wildcard ? " -> *" : "");
    if (arg->list_optional_items) put(w, "?");
    if (arg->list && arg->list_size) put(w, "[%d]", arg->list_size);
    if (arg->list && !arg->list_size) put(w, "[]");
    if (arg->optional) put(w, "?");
}

static void put_arguments(writer *w, const op_schema *schema) {
    bool kwarg_only = false;
    for (int i = 0; i < schema->nargs; ++i) {
        const op_arg *arg = &schema->args[i];
        put(w, "%s%s", i ? ", " : "", arg->kwarg_only && !kwarg_only ? "*, " : "");
        kwarg_only = arg->kwarg_only;
        put_type(w, arg);
        put(w, " %s", arg->name);
        if (arg->has_default) put_default(w, arg);
    }
}

static void put_returns(writer *w, const op_schema *schema) {
    const bool bare = schema->nrets == 1 && !schema->rets[0].name[0];
    put(w, "%s", bare ? "" : "(");
    for (int i = 0; i < schema->nrets; ++i) {
        put(w, "%s", i ? ", " : "");
        put_type(w, &schema->rets[i]);
        if (schema->rets[i].name[0]) put(w, " %s", schema->rets[i].name);
    }
    put(w, "%s", bare ? "" : ")");
}

void op_schema_format(const op_schema *schema, char *buffer, size_t bytes) {
    writer w = {buffer, bytes};
    put(&w, "%s%s%s(", schema->name, schema->overload[0] ? "." : "", schema->overload);
    put_arguments(&w, schema);
    put(&w, ") -> ");
    put_returns(&w, schema);
}

/* ---- derived variants ---- */
/* A variant whose overload PyTorch names by no rule. */
typedef struct variant_name {
    const char *name;
    const char *overload;
    const char *derived;
} variant_name;

static const variant_name inplace_names[] = {
    {"pow", "Tensor_Tensor", "Tensor"},
    {"pow", "Tensor_Scalar", "Scalar"},
    {"float_power", "Tensor_Tensor", "Tensor"},
    {"float_power", "Tensor_Scalar", "Scalar"},
    {"floor_divide", "", "Tensor"},
    {"ldexp", "Tensor", ""},
    {"transpose", "int", ""},
};

static const variant_name out_names[] = {
    {"add", "Tensor", "out"},
    {"sub", "Tensor", "out"},
    {"mul", "Tensor", "out"},
    {"div", "Tensor", "out"},
    {"div", "Tensor_mode", "out_mode"},
    {"true_divide", "Tensor", "out"},
    {"subtract", "Tensor", "out"},
    {"multiply", "Tensor", "out"},
    {"divide", "Tensor", "out"},
    {"max", "other", "out"},
    {"min", "other", "out"},
    {"copysign", "Tensor", "out"},
    {"xlogy", "Tensor", "OutTensor"},
    {"ldexp", "Tensor", "out"},
    {"xlogy", "Scalar_Other", "OutScalar_Other"},
    {"xlogy", "Scalar_Self", "OutScalar_Self"},
    {"log_sigmoid_forward", "", "output"},
    {"sum", "dim_IntList", "IntList_out"},
    {"prod", "dim_int", "int_out"},
    {"mean", "dim", "out"},
    {"mean", "", "dtype_out"},
    {"max", "dim", "dim_max"},
    {"min", "dim", "dim_min"},
    {"max", "", "unary_out"},
    {"min", "", "unary_out"},
    {"any", "", "all_out"},
    {"any", "dim", "out"},
    {"all", "", "all_out"},
    {"all", "dim", "out"},
    {"var", "dim", "out"},
    {"std", "dim", "out"},
    {"norm", "ScalarOpt_dim", "out"},
    {"norm", "ScalarOpt_dim_dtype", "dtype_out"},
    {"frobenius_norm", "dim", "out"},
    {"sort", "stable", "values_stable"},
    {"topk", "", "values"},
    {"kthvalue", "", "values"},
    {"mode", "", "values"},
    {"median", "dim", "dim_values"},
    {"nanmedian", "dim", "dim_values"},
    {"sort", "", "values"},
    {"fractional_max_pool2d", "", "output"},
    {"fractional_max_pool3d", "", "output"},
    {"nll_loss_forward", "", "output"},
    {"nll_loss2d_forward", "", "output"},
    {"multilabel_margin_loss_forward", "", "output"},
    {"huber_loss_backward", "", "out"},
};

static bool ends_with(const char *text, const char *end) {
    const size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

static const char *find_variant(const variant_name *names, size_t n, const op_schema *s) {
    for (size_t i = 0; i < n; ++i)
        if (strcmp(s->name, names[i].name) == 0 && strcmp(s->overload, names[i].overload) == 0) return names[i].derived;
    return NULL;
}

static void inplace_overload(op_schema *s) {
    const char *derived = find_variant(inplace_names, COUNT(inplace_names), s);
    if (derived) snprintf(s->overload, sizeof s->overload, "%s", derived);
}

/* "out" for the overload without a name (grad_input for backward operators), else "<overload>_out". */
static bool out_overload(op_schema *s) {
    char text[sizeof s->overload + 16];
    const char *derived = find_variant(out_names, COUNT(out_names), s);
    const char *plain = ends_with(s->name, "_backward") ? "grad_input" : "out";
    if (derived)
        snprintf(text, sizeof text, "%s", derived);
    else
        snprintf(text, sizeof text, "%s%s", s->overload, s->overload[0] ? "_out" : plain);
    if (strlen(text) >= sizeof s->overload) return false;
    memcpy(s->overload, text, strlen(text) + 1);
    return true;
}

static wick_status *derive_error(const op_schema *schema, const char *why) {
    return WICK_ERROR(WICK_INVALID_ARGUMENT, "%s%s%s %s", schema->name, schema->overload[0] ? "." : "",
                      schema->overload, why);
}

static wick_status *derive_inplace(op_schema *s) {
    const size_t n = strlen(s->name);
    op_arg *self = &s->args[0], *ret = &s->rets[0];
    if (n + 1 >= sizeof s->name) return derive_error(s, "has too long a name for an in-place form");
    if (!s->nargs || self->type != TYPE_TENSOR || self->list || (self->alias && self->alias != ret->alias))
        return derive_error(s, "has no in-place form: its first argument is not a plain tensor");
    if (s->nrets != 1 || ret->type != TYPE_TENSOR || ret->list)
        return derive_error(s, "has no in-place form: it does not return one tensor");
    inplace_overload(s);
    memcpy(s->name + n, "_", 2);
    self->alias = ret->alias = 'a';
    self->mutated = ret->mutated = 1;
    return NULL;
}

static uint8_t next_alias(const op_schema *s) {
    uint8_t letter = 'a';
    for (int i = 0; i < s->nargs; ++i)
        if (s->args[i].alias >= letter) letter = (uint8_t)(s->args[i].alias + 1);
    return letter;
}

static wick_status *derive_out(op_schema *s) {
    if (!s->nrets || s->nargs + s->nrets > OP_MAX_ARGS) return derive_error(s, "has no room for an out form");
    if (!out_overload(s)) return derive_error(s, "has too long an overload for an out form");
    for (int i = 0; i < s->nrets; ++i) {
        op_arg *ret = &s->rets[i], *arg = &s->args[s->nargs];
        if (ret->type != TYPE_TENSOR || ret->list || ret->alias)
            return derive_error(s, "has no out form: it does not return new tensors");
        ret->alias = next_alias(s);
        ret->mutated = 1;
        *arg = *ret;
        arg->kwarg_only = 1;
        if (s->nrets == 1)
            snprintf(arg->name, sizeof arg->name, "out");
        else
            snprintf(arg->name, sizeof arg->name, "out%d", i);
        ++s->nargs;
    }
    return NULL;
}

wick_status *op_schema_derive(const wick_allocator *allocator, const op_schema *functional, op_variant variant,
                              op_schema *out) {
    bool copied = true;
    *out = *functional;
    for (int i = 0; i < out->nargs; ++i)
        if (out->args[i].has_default) copied = own_payload(allocator, &out->args[i].dflt) && copied;
    wick_status *status = copied ? NULL : WICK_ERROR(WICK_OUT_OF_MEMORY, "no memory for a schema");
    if (!status && variant == VARIANT_INPLACE) status = derive_inplace(out);
    if (!status && variant == VARIANT_OUT) status = derive_out(out);
    if (status) op_schema_deinitialize(allocator, out);
    return status;
}
