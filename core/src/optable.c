/* Builds the operator table from the rows: schemas parsed once, in-place and out variants derived. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "../ops/rows.h"
#include "dispatch.h"

#define SCHEMA_TEXT 1024

typedef struct builder {
    wick_runtime *rt;
    op_table *table;
    size_t arena_used, arena_capacity;
} builder;

static int variants_of(const op_row *row) { return 1 + !!(row->flags & INPLACE) + !!(row->flags & OUT); }

static void classify_args(op_entry *e) {
    e->device_arg = e->mutated_arg = -1;
    for (int i = 0; i < e->nargs; ++i) {
        const op_arg *a = &e->args[i];
        if (a->type == TYPE_DEVICE) e->device_arg = (int8_t)i;
        if (a->mutated) {
            if (e->mutated_arg < 0) e->mutated_arg = (int8_t)i;
            e->mutated_args |= 1u << i;
        }
        if (a->type != TYPE_TENSOR) continue;
        if (a->list) {
            e->list_args[e->list_arg_count++] = (uint8_t)i;
        } else {
            e->tensor_args[e->tensor_arg_count++] = (uint8_t)i;
            if (!a->optional) e->required_tensors |= 1u << i;
        }
    }
}

/* For which dtypes tensors that are alike give a result like them, or its twin of bools. */
static uint32_t dense_dtypes(const op_row *row, op_variant variant) {
    uint32_t mask = 0;
    if (variant == VARIANT_INPLACE && row->flags & BOOL_RESULT) return 0;
    for (int d = WICK_DTYPE_NONE + 1; d < WICK_DTYPE_COUNT; ++d) {
        bool plain = wick_dtype_is_floating((wick_dtype)d)
                         ? !row->infer || row->flags & FLOAT_FAST
                         : !row->infer && !(row->flags & (PROMOTE_FLOAT | REAL_RESULT));
        if (plain) mask |= WICK_DTYPE_BIT(d);
    }
    return mask;
}

/* What the hot paths ask about a call, answered once. */
static void classify_call(op_entry *e) {
    const op_row *row = e->def;
    bool leading = row->flags & POINTWISE && !(row->flags & MUTATES) && row->kind != WICK_OP_IMPLICIT &&
                   e->variant != VARIANT_OUT && e->nrets == 1 && !e->list_arg_count;
    for (int k = 0; k < e->tensor_arg_count; ++k) leading &= e->tensor_args[k] == k && (e->required_tensors >> k & 1);
    e->dense_args = leading ? e->tensor_arg_count : 0;
    e->dense_dtypes = dense_dtypes(row, (op_variant)e->variant);
    e->plain_args = e->required_tensors == (UINT32_C(1) << e->nargs) - 1;
    for (int k = 0; k < e->tensor_arg_count; ++k) e->edges[e->tensor_args[k]] = (uint8_t)k;
}

static int find_arg(const op_entry *e, const char *name, size_t length) {
    for (int i = 0; i < e->nargs; ++i)
        if (strlen(e->args[i].name) == length && !memcmp(e->args[i].name, name, length)) return i;
    return -1;
}

/* One token of .saves: "self", "self:other", "result", "result1". */
static bool parse_save(op_entry *e, const char *token, size_t length) {
    const char *colon = memchr(token, ':', length);
    size_t name_length = colon ? (size_t)(colon - token) : length;
    op_save *save = &e->saves[e->save_count];
    save->only_if = -1;
    if (e->save_count >= OP_MAX_SAVES) return false;
    if (colon) {
        int needs = find_arg(e, colon + 1, length - name_length - 1);
        if (needs < 0) return false;
        save->only_if = (int8_t)needs;
    }
    if (name_length >= 6 && !memcmp(token, "result", 6) && (name_length == 6 || isdigit((unsigned char)token[6]))) {
        save->result = 1;
        save->index = name_length > 6 ? (uint8_t)(token[6] - '0') : 0;
        if (save->index >= e->nrets) return false;
    } else {
        int index = find_arg(e, token, name_length);
        if (index < 0 || e->args[index].type != TYPE_TENSOR) return false;
        save->index = (uint8_t)index;
        save->list = e->args[index].list;
    }
    e->save_lists |= save->list;
    e->save_results |= save->result;
    e->save_count++;
    return true;
}

static wick_status *parse_saves(op_entry *e) {
    const char *p = e->def->saves;
    while (p && *p) {
        size_t length = strcspn(p, " ");
        if (length && !parse_save(e, p, length))
            return WICK_ERROR(WICK_INTERNAL, "row %s: cannot read \"%.*s\" in its saves", e->name, (int)length, p);
        p += length + (p[length] == ' ');
    }
    return NULL;
}

/* "native_layer_norm" -> "NativeLayerNormBackward0", as PyTorch names nodes. */
static void name_backward(op_entry *e, const char *name) {
    size_t n = 0;
    bool upper = true;
    for (const char *p = name; *p && n + 12 < sizeof e->backward_name; ++p) {
        if (*p == '_') {
            upper = true;
            continue;
        }
        e->backward_name[n++] = upper ? (char)toupper((unsigned char)*p) : *p;
        upper = false;
    }
    snprintf(e->backward_name + n, sizeof e->backward_name - n, "Backward0");
}

static op_arg *arena_copy(builder *b, const op_arg *args, int n) {
    op_arg *copy = b->table->arena + b->arena_used;
    if (b->arena_used + (size_t)n > b->arena_capacity) return NULL;
    memcpy(copy, args, sizeof *args * (size_t)n);
    b->arena_used += (size_t)n;
    return copy;
}

static wick_status *add_entry(builder *b, const op_schema *schema, const op_row *row, int row_index,
                              op_variant variant) {
    op_entry *e = &b->table->entries[b->table->count];
    e->def = row;
    e->id = (int16_t)b->table->count++;
    e->row = (int16_t)row_index;
    e->variant = (uint8_t)variant;
    e->nargs = (uint8_t)schema->nargs;
    e->nrets = (uint8_t)schema->nrets;
    e->ret_list = schema->ret_list;
    e->args = arena_copy(b, schema->args, schema->nargs);
    if (e->args) e->rets = arena_copy(b, schema->rets, schema->nrets);
    if (!e->rets) return WICK_ERROR(WICK_INTERNAL, "operator arena is too small at %s", row->schema);
    snprintf(e->name, sizeof e->name, schema->overload[0] ? "%s.%s" : "%s", schema->name, schema->overload);
    char text[SCHEMA_TEXT];
    op_schema_format(schema, text, sizeof text);
    e->schema = variant == VARIANT_FUNCTIONAL ? row->schema : rt_strdup(b->rt, text);
    classify_args(e);
    classify_call(e);
    name_backward(e, schema->name);
    wick_status *s = e->schema ? parse_saves(e) : WICK_ERROR(WICK_OUT_OF_MEMORY, "cannot allocate the operator table");
    if (s) e->rets = NULL; /* the caller ends the schema */
    return s;
}

static wick_status *add_row(builder *b, int index) {
    static const struct {
        op_variant variant;
        uint32_t flag;
    } derived[] = {{VARIANT_INPLACE, INPLACE}, {VARIANT_OUT, OUT}};
    const op_row *row = &op_rows[index];
    op_schema base, variant;
    WICK_TRY(op_schema_parse(&b->rt->allocator, row->schema, &base));
    int first = b->table->count, base_nargs = base.nargs;
    wick_status *s = add_entry(b, &base, row, index, VARIANT_FUNCTIONAL); /* the entry takes over base's defaults */
    if (s) op_schema_deinitialize(&b->rt->allocator, &base);
    for (int i = 0; !s && i < ARRAY_COUNT(derived); ++i) {
        if (!(row->flags & derived[i].flag)) continue;
        s = op_schema_derive(&b->rt->allocator, &base, derived[i].variant, &variant);
        if (s) break;
        s = add_entry(b, &variant, row, index, derived[i].variant);
        if (s) op_schema_deinitialize(&b->rt->allocator, &variant);
    }
    for (int i = first; i < b->table->count; ++i) {
        b->table->entries[i].base_nargs = (uint8_t)base_nargs;
        b->table->entries[i].functional_id = (int16_t)first;
    }
    return s;
}

static int compare_names(const void *a, const void *b) {
    return strcmp((*(const op_entry *const *)a)->name, (*(const op_entry *const *)b)->name);
}

static wick_status *sort_names(builder *b) {
    op_table *t = b->table;
    t->by_name = rt_alloc(b->rt, sizeof *t->by_name * (size_t)t->count);
    if (!t->by_name) return WICK_ERROR(WICK_OUT_OF_MEMORY, "cannot allocate the operator table");
    for (int i = 0; i < t->count; ++i) t->by_name[i] = &t->entries[i];
    qsort(t->by_name, (size_t)t->count, sizeof *t->by_name, compare_names);
    for (int i = 1; i < t->count; ++i)
        if (!strcmp(t->by_name[i - 1]->name, t->by_name[i]->name))
            return WICK_ERROR(WICK_INTERNAL, "operator %s has two rows", t->by_name[i]->name);
    return NULL;
}

wick_status *op_table_create(wick_runtime *rt, const op_table **out) {
    int entries = 0;
    for (int i = 0; i < op_row_count; ++i) entries += variants_of(&op_rows[i]);
    op_table *t = rt_calloc(rt, sizeof *t);
    if (!t) return WICK_ERROR(WICK_OUT_OF_MEMORY, "cannot allocate the operator table");
    *out = t;
    builder b = {rt, t, 0, (size_t)entries * 10};
    t->rows = op_row_count;
    t->entries = rt_calloc(rt, sizeof *t->entries * (size_t)entries);
    t->arena = rt_calloc(rt, sizeof *t->arena * b.arena_capacity);
    if (!t->entries || !t->arena) return WICK_ERROR(WICK_OUT_OF_MEMORY, "cannot allocate the operator table");
    for (int i = 0; i < op_row_count; ++i) WICK_TRY(add_row(&b, i));
    return sort_names(&b);
}

/* Each entry took over its schema's defaults. */
static void entry_destroy(wick_runtime *rt, const op_entry *e) {
    op_schema schema = {.nargs = e->nargs};
    memcpy(schema.args, e->args, sizeof *e->args * e->nargs);
    op_schema_deinitialize(&rt->allocator, &schema);
}

void op_table_destroy(wick_runtime *rt, const op_table *table) {
    op_table *t = (op_table *)table;
    for (int i = 0; t->entries && i < t->count; ++i) {
        const op_entry *e = &t->entries[i];
        if (e->rets) entry_destroy(rt, e);
        if (e->variant != VARIANT_FUNCTIONAL) rt_free(rt, (void *)e->schema);
    }
    rt_free(rt, t->entries);
    rt_free(rt, t->arena);
    rt_free(rt, (void *)t->by_name);
    rt_free(rt, t);
}

const op_entry *op_table_find(const op_table *table, const char *name) {
    if (!strncmp(name, "aten::", 6)) name += 6;
    size_t length = strcspn(name, "(");
    int low = 0, high = table->count - 1;
    while (low <= high) {
        int mid = (low + high) / 2;
        const char *candidate = table->by_name[mid]->name;
        int order = strncmp(name, candidate, length);
        if (!order) order = candidate[length] ? -1 : 0;
        if (!order) return table->by_name[mid];
        if (order < 0)
            high = mid - 1;
        else
            low = mid + 1;
    }
    return NULL;
}

int op_table_rows(const op_table *table) { return table->rows; }
const char *op_full_name(const wick_op *op) { return op->name; }

/* ---- public inspection ---- */
const wick_op *wick_op_find(wick_runtime *rt, const char *name) { return op_table_find(rt->ops, name); }

const wick_op *wick_op_at(wick_runtime *rt, int index) {
    return index >= 0 && index < rt->ops->count ? rt->ops->by_name[index] : NULL;
}

void wick_op_describe(const wick_op *op, wick_op_info *out) {
    bool composite = op_is_transparent(op->def) && !(op->def->flags & NOT_DIFFERENTIABLE);
    *out = (wick_op_info){sizeof *out, op->def->flags, op->def->kind, op->name,
                          op->schema,  op->nargs,      op->nrets,     op->def->grad || composite};
}

int wick_op_argument(const wick_op *op, const char *name) { return find_arg(op, name, strlen(name)); }

bool wick_op_has_kernel(wick_runtime *rt, const wick_op *op, int device_type_id) {
    device_type *type = rt_device(rt, device_type_id);
    return type && type->kernels[op->row].fn;
}

uint64_t wick_op_fallbacks(wick_runtime *rt, const wick_op *op, int device_type_id) {
    device_type *type = rt_device(rt, device_type_id);
    return type ? atomic_load(&type->fallbacks[op->row]) : 0;
}
