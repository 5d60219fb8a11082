#include "arguments.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "numbers.h"

/* ---- the table ---- */
static const struct recipe_row {
    const char *op, *text;
} rows[] = {
#define R(op, text) {op, text},
#include "recipes.inc"
#undef R
};

static bool names(const struct recipe_row *row, const char *op) {
    size_t n = strcspn(row->op, "!?~=^+%");
    return strncmp(row->op, op, n) == 0 && op[n] == '\0';
}

static unsigned flags_of(const char *op) {
    return (strchr(op, '!') ? RECIPE_DISTINCT : 0u) | (strchr(op, '?') ? RECIPE_SHAPE : 0u) |
           (strchr(op, '~') ? RECIPE_LOOSE : 0u) | (strchr(op, '=') ? RECIPE_ROWS : 0u) |
           (strchr(op, '^') ? RECIPE_OTHER : 0u) | (strchr(op, '+') ? RECIPE_FULL : 0u) |
           (strchr(op, '%') ? RECIPE_FLOATING : 0u);
}

bool recipe_at(const char *op, int index, recipe *out) {
    int seen = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        if (!names(&rows[i], op) || seen++ != index) continue;
        *out = (recipe){rows[i].text, flags_of(rows[i].op)};
        return true;
    }
    *out = (recipe){"", 0};
    return seen == 0 && index == 0;
}

/* ---- what a schema's type alone says ---- */
static const struct {
    const char *type, *name; /* name NULL: any */
    const char *token;
} presets[] = {
    {"Tensor[", NULL, "{x[3,5];x[3,5]}"},
    {"Tensor", NULL, "x"},
    {"Scalar", "alpha", "2"},
    {"Scalar", NULL, "1.5"},
    {"int[", "dim", "(-1)"},
    {"int", "dim", "-1"},
    {"int", "reduction", "1"},
    {"int", NULL, "1"},
    {"bool", NULL, "false"},
    {"float", NULL, "0.5"},
    {"ScalarType", NULL, "@f32"},
    {"MemoryFormat", NULL, "#0"},
};

/* Defaults as schemas write them. */
static const struct {
    const char *text, *token;
} words[] = {{"None", "none"}, {"True", "true"}, {"False", "false"},         {"Mean", "1"},
             {"[]", "()"},     {"long", "@i64"}, {"contiguous_format", "#0"}};

static const char *default_token(const schema_arg *arg) {
    for (size_t i = 0; i < sizeof words / sizeof words[0]; ++i)
        if (strcmp(arg->preset, words[i].text) == 0) return words[i].token;
    if (arg->preset[0]) return arg->preset;
    if (arg->type[strlen(arg->type) - 1] == '?') return "none";
    for (size_t i = 0; i < sizeof presets / sizeof presets[0]; ++i)
        if (strncmp(arg->type, presets[i].type, strlen(presets[i].type)) == 0 &&
            (!presets[i].name || strcmp(presets[i].name, arg->name) == 0))
            return presets[i].token;
    return "none";
}

/* ---- tokens of a recipe ---- */
/* Length of the token at `s`: up to a blank outside brackets and quotes. */
static size_t token_length(const char *s) {
    int depth = 0;
    size_t n = 0;
    for (; s[n] && (s[n] != ' ' || depth); ++n) {
        if (strchr("([{", s[n])) ++depth;
        if (strchr(")]}", s[n])) --depth;
    }
    return n;
}

/* The token for argument `index`, copied; the default's if the recipe does not speak of it. */
static void token_for(const recipe *recipe, const schema_arg *arg, int index, char *out, size_t bytes) {
    int position = 0;
    size_t name = strlen(arg->name), n;
    for (const char *s = recipe->text; *s; s += n + (s[n] == ' '), ++position) {
        n = token_length(s);
        bool named = islower((unsigned char)*s) && memchr(s, '=', n) != NULL;
        const char *value = named ? (const char *)memchr(s, '=', n) + 1 : s;
        if (named ? strncmp(s, arg->name, name) != 0 || s[name] != '=' : position != index) continue;
        snprintf(out, bytes, "%.*s", (int)(n - (size_t)(value - s)), value);
        return;
    }
    snprintf(out, bytes, "%s", default_token(arg));
}

static bool any_argument(const subject *s, const recipe *recipe, bool (*is)(const char *token)) {
    char token[512];
    for (int i = 0; i < s->info.nargs; ++i) {
        token_for(recipe, &s->args[i], i, token, sizeof token);
        if (strncmp(s->args[i].type, "Tensor", 6) == 0 && is(token)) return true;
    }
    return false;
}

static bool is_operand(const char *token) { return token[0] == 'x' && !strchr(token, '['); }
static bool is_tensor(const char *token) { return token[0] == 'x' || token[0] == '{'; }

bool recipe_is_elementwise(const subject *s, const recipe *recipe) { return any_argument(s, recipe, is_operand); }
bool recipe_has_tensors(const subject *s, const recipe *recipe) { return any_argument(s, recipe, is_tensor); }

/* ---- building ---- */
typedef struct builder {
    runner *r;
    const op_case *k;
    wick_device device;
    arguments *out;
    uint64_t seed;
    wick_dim leading; /* first size of the first tensor of a fixed shape: what EMPTY empties */
} builder;

static void *room(builder *b, size_t bytes) {
    void *p = b->out->memory_count < ARGUMENTS_ROOM ? calloc(1, bytes ? bytes : 1) : NULL;
    if (p)
        b->out->memory[b->out->memory_count++] = p;
    else
        b->out->problem = "out of memory";
    return p;
}

/* ---- tensors ---- */
typedef struct tensor_plan {
    number_kind kind;
    wick_dtype dtype;
    int ndim;
    wick_dim sizes[WICK_MAX_DIMS];
    bool fixed; /* the recipe says the shape */
} tensor_plan;

static void set_shape(tensor_plan *p, int ndim, wick_dim a, wick_dim b) {
    p->ndim = ndim;
    p->sizes[0] = ndim == 2 ? a : b, p->sizes[1] = b;
}

/* The shape of elementwise operand number `operand`. */
static void free_shape(tensor_plan *p, case_shape shape, int operand) {
    switch (shape) {
    case SHAPE_BASE: set_shape(p, 2, 3, 5); break;
    case SHAPE_BROADCAST:
        if (operand % 3 == 1)
            set_shape(p, 1, 0, 5);
        else
            set_shape(p, 2, 3, operand % 3 ? 1 : 5);
        break;
    case SHAPE_EMPTY: set_shape(p, 2, 0, 5); break;
    case SHAPE_SCALAR: p->ndim = 0; break;
    default: set_shape(p, 2, 67, 129); break;
    }
}

static bool read_shape(const char *s, tensor_plan *p) {
    char *end;
    for (++s; *s && *s != ']'; s = end + (*end == ',')) {
        if (p->ndim == WICK_MAX_DIMS) return false;
        p->sizes[p->ndim++] = strtol(s, &end, 10);
        if (end == s) return false;
    }
    return *s == ']';
}

/* x, xp[2,3], xi5[4] */
static bool read_plan(builder *b, const char *token, tensor_plan *p) {
    const char *s = token + 1;
    *p = (tensor_plan){.dtype = b->k->dtype};
    p->kind = (number_kind){.domain = 'f', .smooth = b->k->smooth, .operand = b->out->tensors};
    p->kind.seed = b->seed * 1000003 + (uint64_t)b->out->tensors * 7919 + b->k->shape;
    if (islower((unsigned char)*s)) p->kind.domain = *s++;
    char *end;
    p->kind.limit = strtol(s, &end, 10);
    if (strchr("id", p->kind.domain)) p->dtype = WICK_I64;
    if (p->kind.domain == 'j') p->dtype = WICK_I32;
    if (p->kind.domain == 'b') p->dtype = WICK_BOOL;
    p->fixed = *end == '[';
    if (p->fixed && !read_shape(end, p)) return false;
    if (p->fixed && p->ndim && !b->leading) b->leading = p->sizes[0];
    if (p->fixed && b->k->shape == SHAPE_EMPTY && p->ndim && p->sizes[0] == b->leading) p->sizes[0] = 0;
    if (!p->fixed) free_shape(p, b->k->shape, b->out->operands++);
    p->kind.last = p->ndim ? p->sizes[p->ndim - 1] : 1;
    ++b->out->tensors;
    return true;
}

/* How tensor number `i` of a call lies: not all alike. */
static case_layout layout_of(const op_case *k, const tensor_plan *p, int i) {
    if (k->layout == LAYOUT_COLUMNS) return p->ndim < 2 ? LAYOUT_GAPS : i % 2 ? LAYOUT_ROWS : LAYOUT_COLUMNS;
    if (k->layout == LAYOUT_EXPANDED && (i || p->fixed || p->ndim < 2)) return LAYOUT_ROWS;
    return p->ndim ? k->layout : LAYOUT_ROWS;
}

/* Strides, and how many elements lie under the view; element 0 is at `*offset`. */
static int64_t strides_of(const tensor_plan *p, case_layout layout, wick_dim *strides, int64_t *offset) {
    int64_t step = layout == LAYOUT_GAPS ? 2 : 1, count = step;
    for (int n = 0; n < p->ndim; ++n) {
        int d = layout == LAYOUT_COLUMNS ? n : p->ndim - 1 - n;
        strides[d] = count;
        count *= p->sizes[d];
    }
    if (layout == LAYOUT_EXPANDED) count = strides[0], strides[0] = 0;
    *offset = layout == LAYOUT_GAPS;
    return count + *offset;
}

/* Puts row-major elements where the strides say. */
static void scatter(const tensor_plan *p, const wick_dim *strides, int64_t offset, const char *from, char *to,
                    int64_t count) {
    size_t bytes = wick_dtype_bytes(p->dtype);
    int64_t index[WICK_MAX_DIMS] = {0};
    for (int64_t i = 0; i < count; ++i) {
        int64_t at = offset;
        for (int d = 0; d < p->ndim; ++d) at += index[d] * strides[d];
        memcpy(to + (size_t)at * bytes, from + (size_t)i * bytes, bytes);
        for (int d = p->ndim - 1; d >= 0 && ++index[d] == p->sizes[d]; --d) index[d] = 0;
    }
}

static wick_tensor *view_of(builder *b, wick_tensor *storage, const tensor_plan *p, const wick_dim *strides,
                            int64_t offset) {
    const wick_op *op = wick_op_find(b->r->runtime, "as_strided");
    wick_value args[] = {wick_value_tensor(storage), wick_value_ints(p->sizes, (size_t)p->ndim),
                         wick_value_ints(strides, (size_t)p->ndim), wick_value_int(offset)};
    wick_value ret;
    return wick_call(b->r->c, op, args, 4, &ret, 1) ? ret.as.tensor : NULL;
}

/* Expanded tensors repeat their first row: the row-major elements must, too. */
static void repeat_first(const tensor_plan *p, char *data, int64_t count) {
    size_t row = (size_t)(p->sizes[0] ? count / p->sizes[0] : 0) * wick_dtype_bytes(p->dtype);
    for (wick_dim i = 1; i < p->sizes[0]; ++i) memcpy(data + (size_t)i * row, data, row);
}

static wick_tensor *make_tensor(builder *b, const char *token) {
    tensor_plan p;
    wick_dim strides[WICK_MAX_DIMS];
    int number = b->out->tensors;
    int64_t count = 1, offset = 0;
    if (!read_plan(b, token, &p)) return b->out->problem = "a tensor of the recipe cannot be read", NULL;
    for (int d = 0; d < p.ndim; ++d) count *= p.sizes[d];
    size_t bytes = wick_dtype_bytes(p.dtype);
    char *data = room(b, (size_t)count * bytes);
    if (!data) return NULL;
    numbers_fill(data, p.dtype, count, &p.kind);
    bool expanded = b->k->layout == LAYOUT_EXPANDED && layout_of(b->k, &p, number) == LAYOUT_EXPANDED;
    if (expanded) repeat_first(&p, data, count);
    case_layout layout = layout_of(b->k, &p, number);
    if (layout == LAYOUT_ROWS) return wick_tensor_from_host(b->r->c, data, p.dtype, p.ndim, p.sizes, b->device);
    wick_dim stored = strides_of(&p, layout, strides, &offset);
    char *spread = room(b, (size_t)stored * bytes);
    if (!spread) return NULL;
    if (count) scatter(&p, strides, offset, data, spread, count);
    wick_tensor *storage = wick_tensor_from_host(b->r->c, spread, p.dtype, 1, &stored, b->device);
    return storage ? view_of(b, storage, &p, strides, offset) : NULL;
}

static bool tensor_value(builder *b, const char *token, wick_value *out) {
    *out = wick_value_tensor(make_tensor(b, token));
    return out->tag == WICK_TAG_TENSOR;
}

static bool tensor_list(builder *b, const char *token, wick_value *out) {
    wick_tensor **list = room(b, 16 * sizeof *list);
    size_t n = 0;
    if (!list) return false;
    for (const char *s = token + 1; *s && *s != '}' && n < 16; ++n) {
        char item[64];
        size_t length = strcspn(s, ";}");
        snprintf(item, sizeof item, "%.*s", (int)length, s);
        if (strcmp(item, "none") != 0 && !(list[n] = make_tensor(b, item))) return false;
        s += length + (s[length] == ';');
    }
    *out = wick_value_tensors(list, n);
    return true;
}

/* ---- numbers and words ---- */
static bool type_is(const char *type, const char *base) { return strncmp(type, base, strlen(base)) == 0; }

static bool number_value(const char *token, const char *type, wick_value *out) {
    char *end;
    double f = strtod(token, &end);
    bool whole = !strpbrk(token, ".einf");
    if (end == token || *end) return false;
    if (type_is(type, "float") || (type_is(type, "Scalar") && !whole))
        *out = wick_value_float(f);
    else
        *out = type_is(type, "bool") ? wick_value_bool(f != 0) : wick_value_int((int64_t)f);
    return true;
}

#define LIST_ROOM 16

/* (1,2), [0,1], (true,false), or one number that stands for all. */
static bool number_list(builder *b, const char *token, const char *type, wick_value *out) {
    int64_t *ints = room(b, LIST_ROOM * sizeof *ints);
    double *floats = room(b, LIST_ROOM * sizeof *floats);
    uint8_t *bools = room(b, LIST_ROOM);
    size_t n = 0;
    if (!ints || !floats || !bools) return false;
    long repeat = strtol(strchr(type, '[') + 1, NULL, 10);
    for (const char *s = token + strspn(token, "(["); *s && !strchr(")]", *s) && n < LIST_ROOM; ++n) {
        char item[32];
        size_t length = strcspn(s, ",)]");
        snprintf(item, sizeof item, "%.*s", (int)length, s);
        bools[n] = strcmp(item, "true") == 0;
        floats[n] = bools[n] ? 1 : strtod(item, NULL);
        ints[n] = (int64_t)floats[n];
        s += length + (s[length] == ',');
    }
    for (; n == 1 && !strchr("([", *token) && repeat > 1 && repeat < LIST_ROOM; --repeat)
        ints[repeat - 1] = ints[0], floats[repeat - 1] = floats[0];
    if (!strchr("([", *token) && strtol(strchr(type, '[') + 1, NULL, 10) > 1)
        n = (size_t)strtol(strchr(type, '[') + 1, NULL, 10);
    *out = type_is(type, "float")  ? wick_value_floats(floats, n)
           : type_is(type, "bool") ? wick_value_bools(bools, n)
                                   : wick_value_ints(ints, n);
    return true;
}

static bool word_value(builder *b, const char *token, wick_value *out) {
    size_t n = strlen(token);
    if (strcmp(token, "none") == 0) return *out = wick_value_none(), true;
    if (strcmp(token, "true") == 0 || strcmp(token, "false") == 0) return *out = wick_value_bool(*token == 't'), true;
    if (strcmp(token, "device") == 0) return *out = wick_value_device(b->device), true;
    if (*token == '#') return *out = wick_value_memory_format((wick_memory_format)atoi(token + 1)), true;
    if (*token == '@') {
        wick_dtype dtype = strcmp(token, "@same") == 0 ? b->k->dtype : wick_dtype_parse(token + 1);
        return *out = wick_value_dtype(dtype), dtype != WICK_DTYPE_NONE;
    }
    if (n < 2 || !strchr("'\"", *token)) return false;
    char *text = room(b, n);
    if (!text) return false;
    memcpy(text, token + 1, n - 2);
    *out = wick_value_string(text, n - 2);
    return true;
}

static bool build_value(builder *b, const char *token, const char *type, wick_value *out) {
    if (*token == 'x') return tensor_value(b, token, out);
    if (*token == '{') return tensor_list(b, token, out);
    if (word_value(b, token, out)) return true;
    if (strchr(type, '[')) return number_list(b, token, type, out);
    return number_value(token, type_is(type, "SymInt") ? "int" : type, out);
}

bool arguments_make(runner *r, const subject *s, int count, const recipe *recipe, const op_case *k, wick_device device,
                    arguments *out) {
    builder b = {r, k, device, out, 1, 0};
    char token[512];
    memset(out, 0, sizeof *out);
    for (const char *c = recipe->text; *c; ++c) b.seed = b.seed * 31 + (unsigned char)*c;
    for (; out->count < count; ++out->count) {
        const schema_arg *arg = &s->args[out->count];
        token_for(recipe, arg, out->count, token, sizeof token);
        if (build_value(&b, token, arg->type, &out->values[out->count])) continue;
        if (!out->problem && !wick_failed(r->c)) out->problem = "an argument of the recipe cannot be made";
        return false;
    }
    return true;
}

void arguments_free(arguments *a) {
    for (int i = 0; i < a->memory_count; ++i) free(a->memory[i]);
    a->memory_count = 0;
}
