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
    op_block *block;
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

static op_arg *arena_copy(op_block *b, const op_arg *args, int n) {
    op_arg *copy = b->arena + b->arena_used;
    if (b->arena_used + (size_t)n > b->arena_capacity) return NULL;
    memcpy(copy, args, sizeof *args * (size_t)n);
    b->arena_used += (size_t)n;
    return copy;
}

static wick_status *add_entry(builder *b, const op_schema *schema, const op_row *row, int row_index,
                              op_variant variant) {
    op_entry *e = &b->block->entries[b->block->count];
    e->def = row;
    e->id = (int16_t)(b->block == &b->table->blocks ? b->block->count : -1);
    b->block->count++;
    e->row = (int16_t)row_index;
    e->variant = (uint8_t)variant;
    e->nargs = (uint8_t)schema->nargs;
    e->nrets = (uint8_t)schema->nrets;
    e->ret_list = schema->ret_list;
    e->args = arena_copy(b->block, schema->args, schema->nargs);
    if (e->args) e->rets = arena_copy(b->block, schema->rets, schema->nrets);
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

static wick_status *add_row(builder *b, const op_row *row, int index) {
    static const struct {
        op_variant variant;
        uint32_t flag;
    } derived[] = {{VARIANT_INPLACE, INPLACE}, {VARIANT_OUT, OUT}};
    op_schema base, variant;
    WICK_TRY(op_schema_parse(&b->rt->allocator, row->schema, &base));
    int first = b->block->count, base_nargs = base.nargs;
    wick_status *s = add_entry(b, &base, row, index, VARIANT_FUNCTIONAL); /* the entry takes over base's defaults */
    if (s) op_schema_deinitialize(&b->rt->allocator, &base);
    for (int i = 0; !s && i < ARRAY_COUNT(derived); ++i) {
        if (!(row->flags & derived[i].flag)) continue;
        s = op_schema_derive(&b->rt->allocator, &base, derived[i].variant, &variant);
        if (s) break;
        s = add_entry(b, &variant, row, index, derived[i].variant);
        if (s) op_schema_deinitialize(&b->rt->allocator, &variant);
    }
    for (int i = first; i < b->block->count; ++i) {
        b->block->entries[i].base_nargs = (uint8_t)base_nargs;
        b->block->entries[i].functional = &b->block->entries[first];
    }
    return s;
}

/* ---- names ---- */
static int compare_names(const void *a, const void *b) {
    return strcmp((*(const op_entry *const *)a)->name, (*(const op_entry *const *)b)->name);
}

static void index_put(op_index *index, const op_entry *e) {
    uint32_t i = wick_name_hash(e->name) & index->mask;
    while (index->hashed[i]) i = (i + 1) & index->mask;
    index->hashed[i] = e;
}

static op_index *index_new(wick_runtime *rt, int count, const op_index *older) {
    uint32_t slots = 64;
    while (slots < 2 * (uint32_t)count) slots *= 2;
    op_index *index = rt_calloc(rt, sizeof *index + sizeof *index->by_name * ((size_t)count + slots));
    if (!index) return NULL;
    index->older = older;
    index->mask = slots - 1;
    index->by_name = (const op_entry **)(index + 1);
    index->hashed = index->by_name + count;
    return index;
}

/* The operators of `older` (NULL: none) and of the block. */
static wick_status *make_index(wick_runtime *rt, const op_index *older, const op_block *block, const op_index **out) {
    int before = older ? older->count : 0;
    op_index *index = index_new(rt, before + block->count, older);
    if (!index) return WICK_ERROR(WICK_OUT_OF_MEMORY, "cannot allocate the operator table");
    for (int i = 0; i < before; ++i) index->by_name[index->count++] = older->by_name[i];
    for (int i = 0; i < block->count; ++i) index->by_name[index->count++] = &block->entries[i];
    qsort(index->by_name, (size_t)index->count, sizeof *index->by_name, compare_names);
    for (int i = 0; i < index->count; ++i) {
        index_put(index, index->by_name[i]);
        if (!i || strcmp(index->by_name[i - 1]->name, index->by_name[i]->name)) continue;
        wick_status *s =
            WICK_ERROR(WICK_FAILED_PRECONDITION, "operator %s is registered already", index->by_name[i]->name);
        rt_free(rt, index);
        return s;
    }
    *out = index;
    return NULL;
}

/* ---- rows that are another row under a second name ---- */
static const op_entry *form_of(const op_block *block, const op_entry *functional, uint8_t variant) {
    for (const op_entry *e = functional; e < block->entries + block->count && e->functional == functional; ++e)
        if (e->variant == variant) return e;
    return NULL;
}

static wick_status *link_names(const op_index *index, const op_block *block) {
    for (int i = 0; i < block->count; ++i) {
        op_entry *e = &block->entries[i];
        if (!e->def->same_as) continue;
        const op_entry *other = op_index_find(index, e->def->same_as);
        e->same_as = other ? form_of(block, other, e->variant) : NULL;
        if (!e->same_as || e->same_as->nargs != e->nargs)
            return WICK_ERROR(WICK_INTERNAL, "row %s: %s has no such form", e->name, e->def->same_as);
    }
    return NULL;
}

/* ---- blocks ---- */
/* Each entry took over its schema's defaults. */
static void entry_destroy(wick_runtime *rt, const op_entry *e) {
    op_schema schema = {.nargs = e->nargs};
    memcpy(schema.args, e->args, sizeof *e->args * e->nargs);
    op_schema_deinitialize(&rt->allocator, &schema);
}

static void block_end(wick_runtime *rt, op_block *block) {
    for (int i = 0; block->entries && i < block->count; ++i) {
        const op_entry *e = &block->entries[i];
        if (e->rets) entry_destroy(rt, e);
        if (e->variant != VARIANT_FUNCTIONAL) rt_free(rt, (void *)e->schema);
    }
    rt_free(rt, block->entries);
    rt_free(rt, block->arena);
}

/* `arena`: arguments and returns of all entries, at most. */
static wick_status *block_fill(builder *b, const op_row *const *rows, int count, int first_row, size_t arena) {
    int entries = 0;
    for (int i = 0; i < count; ++i) entries += variants_of(rows[i]);
    b->block->arena_capacity = (size_t)entries * arena;
    b->block->entries = rt_calloc(b->rt, sizeof *b->block->entries * (size_t)entries);
    b->block->arena = rt_calloc(b->rt, sizeof *b->block->arena * b->block->arena_capacity);
    if (!b->block->entries || !b->block->arena)
        return WICK_ERROR(WICK_OUT_OF_MEMORY, "cannot allocate the operator table");
    for (int i = 0; i < count; ++i) WICK_TRY(add_row(b, rows[i], first_row + i));
    return NULL;
}

wick_status *op_table_create(wick_runtime *rt, op_table **out) {
    op_table *t = rt_calloc(rt, sizeof *t);
    const op_row **rows = rt_alloc(rt, sizeof *rows * (size_t)op_row_count);
    const op_index *index = NULL;
    *out = t;
    wick_status *s = t && rows ? NULL : WICK_ERROR(WICK_OUT_OF_MEMORY, "cannot allocate the operator table");
    for (int i = 0; !s && i < op_row_count; ++i) rows[i] = &op_rows[i];
    if (!s) s = block_fill(&(builder){rt, t, &t->blocks}, rows, op_row_count, 0, 10);
    if (!s) s = make_index(rt, NULL, &t->blocks, &index);
    if (!s) s = link_names(index, &t->blocks);
    rt_free(rt, rows);
    if (s) return s;
    t->entries = t->blocks.entries;
    t->rows = op_row_count;
    atomic_store_explicit(&t->index, index, memory_order_release);
    return NULL;
}

wick_status *op_table_extend(wick_runtime *rt, op_table *t, const op_row *const *rows, int count,
                             const op_index **out) {
    if (t->rows + count > op_row_count + OP_REGISTERED_ROWS)
        return WICK_ERROR(WICK_OUT_OF_RANGE, "more than %d operators of plugins", OP_REGISTERED_ROWS);
    op_block *block = rt_calloc(rt, sizeof *block);
    if (!block) return WICK_ERROR(WICK_OUT_OF_MEMORY, "cannot allocate the operator table");
    wick_status *s = block_fill(&(builder){rt, t, block}, rows, count, t->rows, OP_MAX_ARGS + OP_MAX_RETS);
    if (!s) s = make_index(rt, atomic_load(&t->index), block, out);
    if (s) {
        block_end(rt, block);
        rt_free(rt, block);
        return s;
    }
    t->rows += count;
    block->next = t->blocks.next;
    t->blocks.next = block;
    return NULL;
}

void op_table_publish(op_table *t, const op_index *index) {
    atomic_store_explicit(&t->index, index, memory_order_release);
}

void op_table_discard(wick_runtime *rt, op_table *t, const op_index *index) {
    op_block *block = t->blocks.next;
    int rows = 0;
    for (int i = 0; i < block->count; ++i) rows += block->entries[i].variant == VARIANT_FUNCTIONAL;
    t->rows -= rows;
    t->blocks.next = block->next;
    block_end(rt, block);
    rt_free(rt, block);
    rt_free(rt, (void *)index);
}

void op_table_destroy(wick_runtime *rt, op_table *t) {
    for (const op_index *i = atomic_load(&t->index), *older; i; i = older) {
        older = i->older;
        rt_free(rt, (void *)i);
    }
    for (op_block *b = t->blocks.next, *next; b; b = next) {
        next = b->next;
        block_end(rt, b);
        rt_free(rt, b);
    }
    block_end(rt, &t->blocks);
    rt_free(rt, t);
}

static bool is_named(const op_entry *e, const char *name, size_t length) {
    return !strncmp(e->name, name, length) && !e->name[length];
}

static const op_entry *find_hashed(const op_index *index, const char *name, size_t length, uint32_t hash) {
    for (uint32_t i = hash & index->mask; index->hashed[i]; i = (i + 1) & index->mask)
        if (is_named(index->hashed[i], name, length)) return index->hashed[i];
    return NULL;
}

const op_entry *op_table_find_hashed(const op_table *t, const char *name, uint32_t hash) {
    return find_hashed(op_table_index(t), name, strlen(name), hash);
}

const op_entry *op_index_find(const op_index *index, const char *name) {
    if (!strncmp(name, "aten::", 6)) name += 6;
    size_t length = strcspn(name, "(");
    return find_hashed(index, name, length, wick_name_hash_n(name, length));
}

const op_entry *op_table_find(const op_table *t, const char *name) { return op_index_find(op_table_index(t), name); }

int op_table_rows(void) { return op_row_count + OP_REGISTERED_ROWS; }
const char *op_full_name(const wick_op *op) { return op->name; }

/* ---- public inspection ---- */
const wick_op *wick_op_find(wick_runtime *rt, const char *name) { return op_table_find(rt->ops, name); }

const wick_op *wick_op_at(wick_runtime *rt, int index) {
    const op_index *all = op_table_index(rt->ops);
    return index >= 0 && index < all->count ? all->by_name[index] : NULL;
}

void wick_op_describe(const wick_op *op, wick_op_info *out) {
    bool composite = op_is_transparent(op->def) && !(op->def->flags & NOT_DIFFERENTIABLE);
    const wick_op_info info = {.struct_size = out->struct_size < sizeof info ? out->struct_size : sizeof info,
                               .flags = op->def->flags,
                               .kind = op->def->kind,
                               .differentiable = op->def->grad || composite,
                               .name = op->name,
                               .schema = op->schema,
                               .nargs = op->nargs,
                               .nrets = op->nrets};
    memcpy(out, &info, info.struct_size);
}

int wick_op_argument(const wick_op *op, const char *name) { return find_arg(op, name, strlen(name)); }

bool wick_op_has_kernel(wick_runtime *rt, const wick_op *op, int device_type_id) {
    device_type *type = rt_device(rt, device_type_id);
    return type && device_kernel(type, op->row)->fn;
}

uint64_t wick_op_fallbacks(wick_runtime *rt, const wick_op *op, int device_type_id) {
    device_type *type = rt_device(rt, device_type_id);
    return type ? atomic_load(&type->fallbacks[op->row]) : 0;
}
