/* Recorded values as boxed arguments, converted as the operator's schema says. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parity.h"

/* ---- types ---- */
static bool type_is(const char *type, const char *base) { return strncmp(type, base, strlen(base)) == 0; }
static bool type_is_list(const char *type) { return strchr(type, '[') != NULL; }
static bool type_is_optional(const char *type) { return type[strlen(type) - 1] == '?'; }
static bool type_is_int(const char *type) { return type_is(type, "int") || type_is(type, "SymInt"); }

/* A recorded value is an object with one of these keys, which says its kind. */
static const char *const kinds[] = {"t", "l", "i", "f", "b", "s", "c", "dtype", "layout", "memory_format", "device"};

static const char *value_kind(json_t *json) {
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; ++i)
        if (json_object_get(json, kinds[i])) return kinds[i];
    return "";
}

/* X(kind, type of the schema, cost): which kind may stand where. Lists and None are apart. */
static const struct {
    const char *kind, *type;
    int cost;
} fits[] = {
    {"t", "Tensor", 0},      {"i", "int", 0},         {"i", "SymInt", 0},
    {"i", "Scalar", 1},      {"i", "float", 2},       {"i", "Tensor", 4},
    {"f", "Scalar", 0},      {"f", "float", 0},       {"f", "Tensor", 4},
    {"b", "bool", 0},        {"b", "Scalar", 2},      {"b", "int", 3},
    {"b", "Tensor", 5},      {"c", "Scalar", 0},      {"c", "Tensor", 4},
    {"s", "str", 0},         {"s", "Device", 1},      {"dtype", "ScalarType", 0},
    {"layout", "Layout", 0}, {"device", "Device", 0}, {"memory_format", "MemoryFormat", 0},
};

static bool scalar_fits(const char *kind, const char *type, int *cost) {
    for (size_t i = 0; i < sizeof fits / sizeof fits[0]; ++i)
        if (strcmp(fits[i].kind, kind) == 0 && type_is(type, fits[i].type)) {
            *cost += fits[i].cost;
            return true;
        }
    return false;
}

bool value_fits(json_t *json, const char *type, int *cost) {
    if (json_is_null(json)) return type_is_optional(type);
    const char *kind = value_kind(json);
    /* a single number where the schema says int[2] */
    if (strcmp(kind, "l") != 0) {
        if (type_is_list(type) && !isdigit((unsigned char)strchr(type, '[')[1])) return false;
        *cost += type_is_list(type);
        return scalar_fits(kind, type, cost) && !(type_is_list(type) && strcmp(kind, "t") == 0);
    }
    if (!type_is_list(type)) return false;
    size_t i;
    json_t *item;
    json_array_foreach(json_object_get(json, "l"), i, item) {
        bool none_allowed = strstr(type, "?[") != NULL && json_is_null(item);
        if (!none_allowed && !scalar_fits(value_kind(item), type, cost)) return false;
    }
    return true;
}

/* ---- scalars ---- */
/* Non-finite numbers are recorded as strings. */
static double number(json_t *json) {
    return json_is_string(json) ? strtod(json_string_value(json), NULL) : json_number_value(json);
}

static wick_value scalar_value(const parity_case *k, json_t *json, const char *type) {
    json_t *i = json_object_get(json, "i"), *f = json_object_get(json, "f"), *b = json_object_get(json, "b");
    if (i && type_is(type, "float")) return wick_value_float((double)json_integer_value(i));
    if (i)
        return type_is(type, "bool") ? wick_value_bool(json_integer_value(i)) : wick_value_int(json_integer_value(i));
    if (f) return wick_value_float(number(f));
    if (b) return type_is_int(type) ? wick_value_int(json_is_true(b)) : wick_value_bool(json_is_true(b));
    json_t *c = json_object_get(json, "c");
    double *parts = arena_alloc(k->arena, 2 * sizeof *parts);
    for (size_t n = 0; n < 2; ++n) parts[n] = number(json_array_get(c, n));
    return wick_value_complex(parts);
}

static const char *word_of(json_t *json) {
    const char *text = json_string_value(json);
    return strncmp(text, "torch.", 6) == 0 ? text + 6 : text;
}

static bool word_value(const parity_case *k, json_t *json, const char *kind, const char *type, wick_value *out) {
    static const char *const formats[] = {"contiguous_format", "preserve_format", "channels_last", "channels_last_3d"};
    const char *word = word_of(json_object_get(json, kind));
    if (strcmp(kind, "dtype") == 0) {
        *out = wick_value_dtype(wick_dtype_parse(word));
        return out->tag != WICK_TAG_NONE;
    }
    if (strcmp(kind, "layout") == 0) {
        *out = wick_value_tagged(WICK_STRIDED, WICK_TAG_LAYOUT);
        return strcmp(word, "strided") == 0;
    }
    if (strcmp(kind, "memory_format") == 0) {
        for (int i = 0; i < 4; ++i)
            if (strcmp(word, formats[i]) == 0) return *out = wick_value_memory_format((wick_memory_format)i), true;
        return false;
    }
    /* recorded on a CPU: here it is the device under test */
    *out = type_is(type, "Device") ? wick_value_device(k->p->device)
                                   : wick_value_string(arena_format(k->arena, "%s", word), strlen(word));
    return true;
}

/* ---- lists ---- */
static bool tensor_list(const parity_case *k, json_t *list, wick_value *out, const char **why) {
    size_t n = json_array_size(list), i;
    wick_tensor **tensors = arena_alloc(k->arena, (n + 1) * sizeof *tensors);
    json_t *item;
    json_array_foreach(list, i, item) {
        if (json_is_null(item)) continue;
        tensors[i] = value_tensor(k, item, why);
        if (!tensors[i]) return false;
    }
    *out = wick_value_tensors(tensors, n);
    return true;
}

static bool number_list(const parity_case *k, json_t *list, const char *type, wick_value *out) {
    size_t n = json_array_size(list), i;
    wick_value *items = arena_alloc(k->arena, (n + 1) * sizeof *items);
    int64_t *ints = arena_alloc(k->arena, (n + 1) * sizeof *ints);
    double *floats = arena_alloc(k->arena, (n + 1) * sizeof *floats);
    uint8_t *bools = arena_alloc(k->arena, n + 1);
    json_t *item;
    json_array_foreach(list, i, item) {
        if (!strchr("ifbc", value_kind(item)[0])) return false;
        items[i] = scalar_value(k, item, type);
        ints[i] = wick_value_as_int(&items[i]);
        floats[i] = wick_value_as_double(&items[i]);
        bools[i] = ints[i] != 0;
    }
    *out = type_is_int(type)        ? wick_value_ints(ints, n)
           : type_is(type, "float") ? wick_value_floats(floats, n)
           : type_is(type, "bool")
               ? wick_value_bools(bools, n)
               : (wick_value){.as.values = items, .tag = WICK_TAG_SCALAR_LIST, .count = (uint32_t)n};
    return true;
}

/* A number where the schema says int[2] stands for two of them. */
static bool repeated(const parity_case *k, json_t *json, const char *type, wick_value *out) {
    json_t *list = json_array();
    long count = strtol(strchr(type, '[') + 1, NULL, 10);
    for (long i = 0; i < (count > 0 ? count : 1); ++i) json_array_append(list, json);
    bool ok = number_list(k, list, type, out);
    json_decref(list);
    return ok;
}

bool value_build(const parity_case *k, json_t *json, const char *type, wick_value *out, const char **why) {
    *out = wick_value_none();
    if (json_is_null(json)) return true;
    const char *kind = value_kind(json);
    bool ok;
    if (strcmp(kind, "t") == 0) {
        wick_tensor *t = value_tensor(k, json, why);
        *out = wick_value_tensor(t);
        return t != NULL;
    }
    if (strcmp(kind, "l") == 0 && type_is(type, "Tensor")) return tensor_list(k, json_object_get(json, kind), out, why);
    if (strcmp(kind, "l") == 0)
        ok = number_list(k, json_object_get(json, kind), type, out);
    else if (strlen(kind) == 1 && strchr("ifbc", kind[0]))
        ok = type_is_list(type) ? repeated(k, json, type, out) : (*out = scalar_value(k, json, type), true);
    else
        ok = *kind && word_value(k, json, kind, type, out);
    if (!ok) *why = arena_format(k->arena, "the record has a %s where the schema says %s", *kind ? kind : "?", type);
    return ok;
}

/* ---- tensors ---- */
wick_tensor *value_tensor(const parity_case *k, json_t *json, const char **why) {
    host_array a;
    if (!host_array_read(k, json, &a, why)) return NULL;
    if (!a.strided) return wick_tensor_from_host(k->p->c, a.data, a.dtype, a.ndim, a.sizes, k->p->device);
    if (!k->p->as_strided) {
        *why = "a strided input needs the operator as_strided";
        return NULL;
    }
    wick_tensor *storage = wick_tensor_from_host(k->p->c, a.data, a.dtype, 1, &a.stored, k->p->device);
    wick_value args[] = {wick_value_tensor(storage), wick_value_ints(a.sizes, (size_t)a.ndim),
                         wick_value_ints(a.strides, (size_t)a.ndim)};
    wick_value view;
    return wick_call(k->p->c, k->p->as_strided, args, 3, &view, 1) ? view.as.tensor : NULL;
}
