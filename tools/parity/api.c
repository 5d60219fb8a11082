/* From the name of a PyTorch function and recorded arguments to the operator that takes them. */
#include <string.h>

#include "parity.h"

/* ---- does an overload take the recorded arguments, and with how much conversion? ---- */
static int find_argument(const schema_arg *schema, int nargs, const char *name) {
    for (int i = 0; i < nargs; ++i)
        if (strcmp(schema[i].name, name) == 0) return i;
    return -1;
}

static bool positional_fit(const schema_arg *schema, int nargs, json_t *args, int *cost) {
    size_t i;
    json_t *item;
    json_array_foreach(args, i, item) if ((int)i >= nargs || schema[i].kwarg_only ||
                                          !value_fits(item, schema[i].type, cost)) return false;
    return true;
}

static bool named_fit(const schema_arg *schema, int nargs, json_t *kwargs, bool given[], int *cost) {
    const char *name;
    json_t *item;
    json_object_foreach(kwargs, name, item) {
        int i = find_argument(schema, nargs, name);
        if (i < 0 || given[i] || !value_fits(item, schema[i].type, cost)) return false;
        given[i] = true;
    }
    return true;
}

static bool overload_fits(const parity_case *k, const wick_op_info *info, int *cost) {
    schema_arg schema[PARITY_MAX_ARGS];
    bool given[PARITY_MAX_ARGS] = {false};
    json_t *args = json_object_get(k->json, "args");
    int nargs = schema_arguments(info->schema, schema);
    *cost = 0;
    if (nargs != info->nargs || nargs < 0 || !positional_fit(schema, nargs, args, cost)) return false;
    for (size_t i = 0; i < json_array_size(args); ++i) given[i] = true;
    if (!named_fit(schema, nargs, json_object_get(k->json, "kwargs"), given, cost)) return false;
    for (int i = 0; i < nargs; ++i)
        if (!given[i] && !schema[i].preset[0]) return false;
    return true;
}

const wick_op *api_operator(const parity_case *k) {
    const char *name = rewrite_call(k, operator_name(k));
    const wick_op *best = NULL, *op;
    int best_cost = 0, cost;
    size_t length = strlen(name);
    for (int i = 0; (op = wick_op_at(k->p->runtime, i)) != NULL; ++i) {
        wick_op_info info = {.struct_size = sizeof info};
        wick_op_describe(op, &info);
        if (strncmp(info.name, name, length) != 0 || (info.name[length] && info.name[length] != '.')) continue;
        if (!overload_fits(k, &info, &cost) || (best && cost >= best_cost)) continue;
        best = op, best_cost = cost;
    }
    return best;
}
