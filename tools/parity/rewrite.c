/* Recorded calls of PyTorch functions whose arguments are not those of an operator, rewritten as such a call.
 *
 * What a function computes from its arguments before it calls an operator is not repeated here: only order, names,
 * lists and constants. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parity.h"

#define TO_DTYPE(name) "to", NULL, "{\"dtype\": {\"dtype\": \"" name "\"}}"
#define NORM(flag)                                                                                                    \
    "{\"weight\": null, \"bias\": null, \"running_mean\": null, \"running_var\": null, \"" flag "\": {\"b\": true}, " \
    "\"momentum\": {\"f\": 0.1}, \"eps\": {\"f\": 1e-5}, \"cudnn_enabled\": {\"b\": false}}"

/* A function and its variants ("polygamma.polygamma_n_1"). */
static const struct rule {
    const char *function;
    const char *op; /* NULL: the function's name */
    const char
        *order;       /* recorded positions in the operator's order; * is a list of all from there on; NULL: the same */
    const char *more; /* arguments that are added if they are not given; NULL: none */
} rules[] = {
    {"where", NULL, "102", NULL},
    {"polygamma", NULL, "10", NULL},
    {"special.polygamma", "polygamma", "10", NULL},
    {"einsum", NULL, "10", NULL},
    {"block_diag", NULL, "*", NULL},
    {"cartesian_prod", NULL, "*", NULL},
    {"broadcast_tensors", NULL, "*", NULL},
    {"meshgrid.variadic_tensors", NULL, "*", NULL},
    {"sum_to_size", NULL, "0*", NULL},
    {"__radd__", "add", NULL, NULL},
    {"__rsub__", "rsub", NULL, NULL},
    {"__rmul__", "mul", NULL, NULL},
    {"__rdiv__", "div", "10", NULL},
    {"__rmod__", "remainder", "10", NULL},
    {"__rpow__", "pow", "10", NULL},
    {"__rmatmul__", "matmul", "10", NULL},
    {"__rand__", "bitwise_and", NULL, NULL},
    {"__ror__", "bitwise_or", NULL, NULL},
    {"__rxor__", "bitwise_xor", NULL, NULL},
    {"T", "numpy_T", NULL, NULL},
    {"H", "matrix_H", NULL, NULL},
    {"trapz", "trapezoid", NULL, NULL},
    {"half", TO_DTYPE("float16")},
    {"bfloat16", TO_DTYPE("bfloat16")},
    {"float", TO_DTYPE("float32")},
    {"double", TO_DTYPE("float64")},
    {"cfloat", TO_DTYPE("complex64")},
    {"cdouble", TO_DTYPE("complex128")},
    {"bool", TO_DTYPE("bool")},
    {"byte", TO_DTYPE("uint8")},
    {"char", TO_DTYPE("int8")},
    {"short", TO_DTYPE("int16")},
    {"int", TO_DTYPE("int32")},
    {"long", TO_DTYPE("int64")},
    {"nn.functional.batch_norm", NULL, "03412", NORM("training")},
    {"nn.functional.instance_norm", NULL, NULL, NORM("use_input_stats")},
    {"nn.functional.cross_entropy", "cross_entropy_loss", NULL, NULL},
    {"nn.functional.nll_loss", "nll_loss_nd", NULL, NULL},
    {"nn.functional.logsigmoid", "log_sigmoid", NULL, NULL},
    {"nn.functional.unfold", "im2col", NULL, NULL},
    {"nn.functional.poisson_nll_loss", NULL, NULL, "{\"eps\": {\"f\": 1e-8}}"},
    /* refers to storage in front of the view, which is not recorded: no operator */
    {"as_strided.partial_views", "", NULL, NULL},
};

/* True for the function itself and its variants, "NAME.VARIANT". */
static bool is_function(const char *recorded, const char *function) {
    size_t length = strlen(function);
    return strncmp(recorded, function, length) == 0 && (!recorded[length] || recorded[length] == '.');
}

/* ---- order ---- */
/* A lone list where the operator takes a list already. */
static bool is_listed(json_t *args, size_t star) {
    return json_array_size(args) == star + 1 && json_object_get(json_array_get(args, star), "l");
}

static json_t *rest_as_list(json_t *args, size_t from) {
    json_t *list = json_array();
    for (size_t i = from; i < json_array_size(args); ++i) json_array_append(list, json_array_get(args, i));
    return json_pack("{s:o}", "l", list);
}

static json_t *reordered(json_t *args, const char *order) {
    json_t *out = json_array();
    size_t places = strlen(order);
    for (size_t i = 0; i < places; ++i)
        if (order[i] == '*')
            json_array_append_new(out, rest_as_list(args, i));
        else
            json_array_append(out, json_array_get(args, (size_t)(order[i] - '0')));
    for (size_t i = places; !strchr(order, '*') && i < json_array_size(args); ++i)
        json_array_append(out, json_array_get(args, i));
    return out;
}

/* Where "a2" or "a1.0" went. */
static const char *moved(const parity_case *k, const char *path, const char *order) {
    char *rest;
    if (path[0] != 'a') return path;
    long from = strtol(path + 1, &rest, 10);
    const char *star = strchr(order, '*'), *at = from < 10 ? strchr(order, (int)('0' + from)) : NULL;
    if (at) return arena_format(k->arena, "a%d%s", (int)(at - order), rest);
    return star ? arena_format(k->arena, "a%d.%ld", (int)(star - order), from - (star - order)) : path;
}

static void move_paths(const parity_case *k, const char *field, const char *order) {
    json_t *paths = json_object_get(k->json, field), *out = json_object(), *value;
    const char *path;
    json_object_foreach(paths, path, value) json_object_set(out, moved(k, path, order), value);
    if (paths) json_object_set(k->json, field, out);
    json_decref(out);
}

static void reorder(const parity_case *k, const char *order) {
    json_t *args = json_object_get(k->json, "args");
    const char *star = strchr(order, '*');
    if (star && is_listed(args, (size_t)(star - order))) return;
    json_object_set_new(k->json, "args", reordered(args, order));
    move_paths(k, "grads", order);
    move_paths(k, "grads2", order);
    move_paths(k, "vectors2", order);
}

/* ---- constants ---- */
static void add_missing(json_t *kwargs, const char *more, const char *order) {
    json_t *values = json_loads(more, 0, NULL), *value;
    const char *name;
    bool positional = order != NULL; /* the tensors of a norm are given by position */
    json_object_foreach(values, name, value) {
        bool given = json_object_get(kwargs, name) || (positional && json_is_null(value));
        if (!given) json_object_set(kwargs, name, value);
    }
    json_decref(values);
}

/* Words that are numbers in operators. */
static const struct {
    const char *name; /* of the argument; NULL: any, by position */
    const char *word;
    int value;
} words[] = {
    {"reduction", "none", 0},
    {"reduction", "mean", 1},
    {"reduction", "sum", 2},
    {NULL, "use_mm_for_euclid_dist_if_necessary", 0},
    {NULL, "use_mm_for_euclid_dist", 1},
    {NULL, "donot_use_mm_for_euclid_dist", 2},
};

/* Changes a value to a number if it is a word of the table. */
static void number_word(json_t *value, const char *name) {
    const char *word = json_string_value(json_object_get(value, "s"));
    for (size_t i = 0; word && i < sizeof words / sizeof words[0]; ++i) {
        if (strcmp(words[i].name ? words[i].name : "", name) != 0 || strcmp(words[i].word, word) != 0) continue;
        json_object_set_new(value, "i", json_integer(words[i].value));
        json_object_del(value, "s");
        return;
    }
}

static void number_words(json_t *args, json_t *kwargs) {
    size_t i;
    const char *name;
    json_t *value;
    json_array_foreach(args, i, value) number_word(value, "");
    json_object_foreach(kwargs, name, value) number_word(value, name);
}

/* Takes a flag that operators do not have: another operator does what it asks for. */
static bool take_flag(json_t *kwargs, const char *name) {
    bool on = json_is_true(json_object_get(json_object_get(kwargs, name), "b"));
    json_object_del(kwargs, name);
    return on;
}

/* ---- interpolation: an operator for each mode and count of dimensions ---- */
static const struct {
    const char *function, *mode, *op;
    int align; /* corners: -1 has none, else where the call does not say */
} interpolations[] = {
    {"nn.functional.interpolate", "nearest", "upsample_nearest", -1},
    {"nn.functional.interpolate", "nearest-exact", "_upsample_nearest_exact", -1},
    {"nn.functional.interpolate", "linear", "upsample_linear", 0},
    {"nn.functional.interpolate", "bilinear", "upsample_bilinear", 0},
    {"nn.functional.interpolate", "bicubic", "upsample_bicubic", 0},
    {"nn.functional.interpolate", "trilinear", "upsample_trilinear", 0},
    {"nn.functional.upsample_nearest", "", "upsample_nearest", -1},
    {"nn.functional.upsample_bilinear", "", "upsample_bilinear", 1},
};

/* The argument at a position or by name, as a list of `dims` values, or null. A new reference. */
static json_t *take_list(json_t *args, json_t *kwargs, size_t position, const char *name, int dims) {
    json_t *value = json_array_get(args, position), *list;
    if (!value) value = json_object_get(kwargs, name);
    if (!value || json_is_null(value)) return json_null();
    if (json_object_get(value, "l")) return json_incref(value);
    list = json_array();
    for (int i = 0; i < dims; ++i) json_array_append(list, value);
    return json_pack("{s:o}", "l", list);
}

static void set_interpolation(const parity_case *k, int align, int dims) {
    json_t *args = json_object_get(k->json, "args"), *kwargs = json_object_get(k->json, "kwargs"), *now = json_array();
    json_t *corners = json_object_get(json_object_get(kwargs, "align_corners"), "b");
    json_array_append(now, json_array_get(args, 0));
    json_array_append_new(now, take_list(args, kwargs, 1, "size", dims));
    if (align >= 0) json_array_append_new(now, json_pack("{s:b}", "b", corners ? json_is_true(corners) : align));
    json_array_append_new(now, take_list(args, kwargs, 2, "scale_factor", dims));
    json_object_set_new(k->json, "args", now);
    for (const char *const *name = (const char *const[]){"size", "scale_factor", "mode", "align_corners", NULL}; *name;
         ++name)
        json_object_del(kwargs, *name);
}

static const char *rewrite_interpolation(const parity_case *k) {
    json_t *kwargs = json_object_get(k->json, "kwargs");
    const char *mode = json_string_value(json_object_get(json_object_get(kwargs, "mode"), "s"));
    json_t *input = json_array_get(json_object_get(k->json, "args"), 0);
    int dims = (int)json_array_size(json_object_get(input, "shape")) - 2;
    for (size_t i = 0; i < sizeof interpolations / sizeof interpolations[0]; ++i) {
        if (!is_function(k->name, interpolations[i].function) || strcmp(mode ? mode : "", interpolations[i].mode) != 0)
            continue;
        set_interpolation(k, interpolations[i].align, dims);
        return arena_format(k->arena, "%s%dd", interpolations[i].op, dims);
    }
    return NULL;
}

/* ---- functions that return what flags ask for: the operator returns all of it ---- */
static const struct {
    const char *function;
    int position;         /* of the first flag, if it is not given by name */
    const char *flags[2]; /* each for the next output behind the first */
} optional_outputs[] = {
    {"unique_consecutive", -1, {"return_inverse", "return_counts"}},
    {"nn.functional.adaptive_max_pool1d", 2, {"return_indices", NULL}},
    {"nn.functional.adaptive_max_pool2d", 2, {"return_indices", NULL}},
    {"nn.functional.adaptive_max_pool3d", 2, {"return_indices", NULL}},
};

/* Reads a flag; a positional one goes away, as the operator has none. */
static bool read_flag(json_t *args, json_t *kwargs, int position, const char *name) {
    bool positional = position >= 0 && (size_t)position < json_array_size(args);
    json_t *flag = positional ? json_array_get(args, (size_t)position) : json_object_get(kwargs, name);
    bool on = json_is_true(json_object_get(flag, "b"));
    if (positional) json_array_remove(args, (size_t)position);
    return on;
}

/* Marks the outputs that were not asked for, and so not recorded. */
static void mark_unasked(const parity_case *k) {
    json_t *args = json_object_get(k->json, "args"), *kwargs = json_object_get(k->json, "kwargs");
    json_t *outs = json_object_get(k->json, "outs");
    for (size_t i = 0; i < sizeof optional_outputs / sizeof optional_outputs[0]; ++i) {
        if (!is_function(k->name, optional_outputs[i].function)) continue;
        for (size_t f = 0; f < 2 && optional_outputs[i].flags[f]; ++f)
            if (!read_flag(args, kwargs, optional_outputs[i].position, optional_outputs[i].flags[f]))
                json_array_insert_new(outs, f + 1, json_pack("{s:b}", "unasked", 1));
    }
}

/* ---- sizes that stand for the input's ---- */
/* None in the size of an adaptive pool: the input's. */
static void fill_sizes(const parity_case *k) {
    json_t *args = json_object_get(k->json, "args"), *size;
    json_t *shape = json_object_get(json_array_get(args, 0), "shape");
    json_t *sizes = json_object_get(json_array_get(args, 1), "l");
    size_t i, n = json_array_size(sizes), ndim = json_array_size(shape);
    if (strncmp(k->name, "nn.functional.adaptive_", 23) != 0 || n > ndim) return;
    json_array_foreach(sizes, i, size) if (json_is_null(size))
        json_array_set_new(sizes, i, json_pack("{s:O}", "i", json_array_get(shape, ndim - n + i)));
}

/* A negative padding index counts from the last row; in the operator it is none. */
static void count_padding(const parity_case *k) {
    json_t *shape = json_object_get(json_array_get(json_object_get(k->json, "args"), 0), "shape");
    json_t *padding = json_object_get(json_object_get(json_object_get(k->json, "kwargs"), "padding_idx"), "i");
    json_int_t index = json_integer_value(padding);
    if (is_function(k->name, "nn.functional.embedding") && index < 0)
        json_integer_set(padding, index + json_integer_value(json_array_get(shape, 0)));
}

/* ---- a call ---- */
static const char *apply(const parity_case *k, const struct rule *r) {
    if (r->order) reorder(k, r->order);
    if (r->more) add_missing(json_object_get(k->json, "kwargs"), r->more, r->order);
    return r->op;
}

const char *rewrite_call(const parity_case *k, const char *op) {
    json_t *kwargs = json_object_get(k->json, "kwargs");
    const char *name = rewrite_interpolation(k);
    if (json_number_value(json_object_get(json_object_get(kwargs, "dropout_p"), "f")) > 0) return ""; /* random */
    mark_unasked(k);
    fill_sizes(k);
    count_padding(k);
    for (size_t i = 0; i < sizeof rules / sizeof rules[0] && !name; ++i)
        if (is_function(k->name, rules[i].function)) name = apply(k, &rules[i]);
    if (!name) name = op;
    number_words(json_object_get(k->json, "args"), kwargs);
    if (take_flag(kwargs, "requires_grad")) return "";
    if (take_flag(kwargs, "as_tuple")) return arena_format(k->arena, "%s_numpy", name);
    return take_flag(kwargs, "return_indices") ? arena_format(k->arena, "%s_with_indices", name) : name;
}
