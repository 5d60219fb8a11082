#include "kernels.h"

#include <stdio.h>

/* ---- schemas that differ ---- */
static int find_name(const op_arg *args, int n, const char *name) {
    for (int i = 0; i < n; ++i)
        if (!strcmp(args[i].name, name)) return i;
    return -1;
}

static bool same_type(const op_arg *a, const op_arg *b) {
    return a->type == b->type && a->list == b->list && a->optional == b->optional && a->mutated == b->mutated;
}

/* The reason why the kernel's schema cannot serve the host's, or NULL. */
static const char *misfit(kernel_adapter *a, const op_entry *op, char *buffer, size_t bytes) {
    const op_schema *k = &a->schema;
    for (int i = 0; i < k->nargs; ++i) {
        int host = find_name(op->args, op->base_nargs, k->args[i].name);
        a->from[i] = (int8_t)host;
        const char *what = host >= 0 ? "has another type" : "has no default and the host does not know it";
        if (host >= 0 ? same_type(&k->args[i], &op->args[host]) : k->args[i].has_default) continue;
        snprintf(buffer, bytes, "argument %s %s", k->args[i].name, what);
        return buffer;
    }
    for (int i = 0; i < op->base_nargs; ++i) {
        if (find_name(k->args, k->nargs, op->args[i].name) >= 0) continue;
        snprintf(buffer, bytes, "it lacks argument %s, which has no default", op->args[i].name);
        if (!op->args[i].has_default) return buffer;
        a->at_default |= UINT32_C(1) << i;
    }
    if (k->nrets == op->nrets) return NULL;
    snprintf(buffer, bytes, "it returns %d values, the host's schema %d", k->nrets, op->nrets);
    return buffer;
}

static bool is_identity(const kernel_adapter *a, const op_entry *op) {
    bool same = a->schema.nargs == op->base_nargs && !a->at_default;
    for (int i = 0; same && i < op->base_nargs; ++i) same = a->from[i] == i;
    return same;
}

static void adapter_free(wick_runtime *rt, kernel_adapter *a) {
    op_schema_deinitialize(&rt->allocator, &a->schema);
    rt_free(rt, a);
}

/* *out stays NULL if the two schemas take the same arguments. *reason: why the row is refused. */
static wick_status *adapt(wick_runtime *rt, device_type *type, const char *schema, const op_entry *op, text *reason,
                          const kernel_adapter **out) {
    char buffer[128];
    if (!strchr(schema, '(')) return NULL;
    const char *plain = strncmp(schema, "aten::", 6) ? schema : schema + 6;
    if (!strcmp(plain, op->schema)) return NULL;
    kernel_adapter *a = rt_calloc(rt, sizeof *a);
    if (!a) return WICK_ERROR(WICK_OUT_OF_MEMORY, "cannot allocate kernel %s", schema);
    wick_status *s = op_schema_parse(&rt->allocator, schema, &a->schema);
    if (wick_status_code(s) == WICK_OUT_OF_MEMORY) {
        rt_free(rt, a);
        return s;
    }
    const char *why = s ? wick_status_message(s) : misfit(a, op, buffer, sizeof buffer);
    if (why) text_print(reason, "%s", why);
    bool keep = !why && !is_identity(a, op);
    if (keep) {
        a->next = type->adapters;
        type->adapters = a;
        *out = a;
    } else if (s) {
        rt_free(rt, a);
    } else {
        adapter_free(rt, a);
    }
    wick_status_free(s);
    return NULL;
}

/* ---- calls ---- */
static bool is_default(const wick_value *v, const wick_value *dflt) {
    if (v->tag != dflt->tag)
        return v->tag <= WICK_TAG_F64 && dflt->tag >= WICK_TAG_BOOL && v->tag >= WICK_TAG_BOOL &&
               dflt->tag <= WICK_TAG_F64 && wick_value_as_double(v) == wick_value_as_double(dflt);
    switch (v->tag) {
    case WICK_TAG_NONE: return true;
    case WICK_TAG_F64: return v->as.f == dflt->as.f;
    case WICK_TAG_I64_LIST: return v->count == dflt->count && !memcmp(v->as.ints, dflt->as.ints, 8 * (size_t)v->count);
    case WICK_TAG_F64_LIST:
        return v->count == dflt->count && !memcmp(v->as.floats, dflt->as.floats, 8 * (size_t)v->count);
    case WICK_TAG_BOOL_LIST: return v->count == dflt->count && !memcmp(v->as.bools, dflt->as.bools, v->count);
    case WICK_TAG_STRING: return v->count == dflt->count && !memcmp(v->as.string, dflt->as.string, v->count);
    default: return v->as.i == dflt->as.i;
    }
}

bool kernel_adapter_takes(const kernel_adapter *a, const op_entry *op, const wick_value *args, int *out_argument) {
    for (uint32_t rest = a->at_default; rest; rest &= rest - 1) {
        int i = __builtin_ctz(rest);
        if (is_default(&args[i], &op->args[i].dflt)) continue;
        if (out_argument) *out_argument = i;
        return false;
    }
    return true;
}

int kernel_adapter_map(const kernel_adapter *a, const wick_value *values, int nargs, int nouts, wick_value *out) {
    int n = a->schema.nargs;
    for (int i = 0; i < n; ++i) out[i] = a->from[i] >= 0 ? values[a->from[i]] : a->schema.args[i].dflt;
    for (int i = 0; i < nouts; ++i) out[n + i] = values[nargs + i];
    return n;
}

/* ---- tables ---- */
static kernel_table *table_new(wick_runtime *rt, const kernel_table *from) {
    size_t bytes = sizeof(kernel_slot) * (size_t)op_table_rows();
    kernel_table *t = rt_calloc(rt, sizeof *t + bytes);
    if (t && from) memcpy(t->slots, from->slots, bytes);
    return t;
}

void kernel_table_free(wick_runtime *rt, kernel_table *table) { rt_free(rt, table); }

static wick_status *add_row(wick_runtime *rt, device_type *type, kernel_table *table, const op_index *ops,
                            const wick_kernel_row *row, void *instance, text *notes) {
    if (!row->schema || !row->fn || row->struct_size < sizeof *row)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "backend %s: kernel row %s: %s", type->name,
                          row->schema ? row->schema : "(without a schema)",
                          row->fn ? "its size is less than this ABI's" : "it has no function");
    const op_entry *op = op_index_find(ops, row->schema);
    const kernel_adapter *adapter = NULL;
    text reason = {.memory = &rt->allocator};
    if (!op) text_print(&reason, "unknown operator");
    wick_status *s = op ? adapt(rt, type, row->schema, op, &reason, &adapter) : NULL;
    if (!s && !reason.length && op->variant != VARIANT_FUNCTIONAL)
        text_print(&reason, "a kernel serves %s, from which this one is derived", op->functional->name);
    if (!s && reason.length)
        text_print(notes, "%skernel %.*s refused: %s", notes->length ? "\n" : "", (int)strcspn(row->schema, "("),
                   row->schema, text_get(&reason));
    if (!s && !reason.length)
        table->slots[op->row] = (kernel_slot){
            row->fn,    row->data,   instance,
            row->flags, row->dtypes, adapter ? 0 : (row->dtypes ? row->dtypes : UINT32_MAX) & op->dense_dtypes,
            adapter};
    text_free(&reason);
    return s;
}

wick_status *kernels_extend(wick_runtime *rt, device_type *type, const kernel_table *from, const op_index *ops,
                            const wick_kernel_row *rows, uint64_t count, void *instance, text *notes,
                            kernel_table **out) {
    kernel_table *table = table_new(rt, from);
    wick_status *s =
        table ? NULL : WICK_ERROR(WICK_OUT_OF_MEMORY, "cannot allocate the kernels of device %s", type->name);
    for (uint64_t i = 0; !s && i < count; ++i) s = add_row(rt, type, table, ops, &rows[i], instance, notes);
    if (s)
        kernel_table_free(rt, table);
    else
        *out = table;
    return s;
}

/* Calls that run now may still read the old one. */
void kernels_replace(device_type *type, kernel_table *table) {
    table->older = type->kernels;
    atomic_store_explicit(&type->kernels, table, memory_order_release);
}

wick_status *kernels_create(wick_runtime *rt, device_type *type, const op_index *ops, const wick_kernel_row *rows,
                            uint64_t count, text *notes) {
    kernel_table *table = NULL;
    WICK_TRY(kernels_extend(rt, type, NULL, ops, rows, count, type->instance, notes, &table));
    kernels_replace(type, table);
    return NULL;
}

void kernels_destroy(wick_runtime *rt, device_type *type) {
    for (kernel_table *t = type->kernels, *older; t; t = older) {
        older = t->older;
        kernel_table_free(rt, t);
    }
    for (kernel_adapter *a = type->adapters, *next; a; a = next) {
        next = a->next;
        adapter_free(rt, a);
    }
}
