/* Modules: life, structure, forward. */
#include "module.h"

/* ---- life ---- */
wick_module *wick_module_create(wick_context *c, const wick_module_class *cls, size_t payload_bytes) {
    if (wick_failed(c)) return NULL;
    wick_module *m = calloc(1, sizeof *m + payload_bytes);
    if (!m) return FAIL(c, OUT_OF_MEMORY, "no memory for a %s", cls->name), NULL;
    m->cls = cls;
    m->training = true;
    atomic_init(&m->references, 1);
    return m;
}

wick_module *wick_module_retain(wick_module *m) {
    if (m) atomic_fetch_add_explicit(&m->references, 1, memory_order_relaxed);
    return m;
}

void wick_module_release(wick_module *m) {
    if (!m || atomic_fetch_sub_explicit(&m->references, 1, memory_order_acq_rel) != 1) return;
    if (m->cls->destroy) m->cls->destroy(m);
    for (size_t i = 0; i < m->slot_count; ++i) {
        free(m->slots[i].name);
        wick_release(m->slots[i].tensor);
    }
    for (size_t i = 0; i < m->child_count; ++i) {
        free(m->children[i].name);
        wick_module_release(m->children[i].module);
    }
    free(m->slots);
    free(m->children);
    free(m);
}

/* ---- structure ---- */
static bool name_taken(const wick_module *m, const char *name) {
    for (size_t i = 0; i < m->slot_count; ++i)
        if (!strcmp(m->slots[i].name, name)) return true;
    for (size_t i = 0; i < m->child_count; ++i)
        if (!strcmp(m->children[i].name, name)) return true;
    return false;
}

static char *new_name(wick_context *c, const wick_module *m, const char *name) {
    if (!*name || strchr(name, '.'))
        return FAIL(c, INVALID_ARGUMENT, "%s: the name '%s' is empty or has a dot", m->cls->name, name), NULL;
    if (name_taken(m, name)) return FAIL(c, INVALID_ARGUMENT, "%s: the name '%s' is taken", m->cls->name, name), NULL;
    char *copy = strdup(name);
    if (!copy) FAIL(c, OUT_OF_MEMORY, "%s: no memory for '%s'", m->cls->name, name);
    return copy;
}

static bool add_slot(wick_context *c, wick_module *m, module_slot slot) {
    if (wick_failed(c)) return false;
    slot.name = new_name(c, m, slot.name);
    if (!slot.name) return false;
    if (!grow((void **)&m->slots, &m->slot_capacity, m->slot_count, sizeof *m->slots)) {
        free(slot.name);
        return !FAIL(c, OUT_OF_MEMORY, "%s: no memory for a tensor", m->cls->name);
    }
    wick_retain(slot.tensor);
    m->slots[m->slot_count++] = slot;
    return true;
}

bool wick_module_add_parameter(wick_context *c, wick_module *m, const char *name, wick_tensor *tensor) {
    if (wick_failed(c) || (tensor && !wick_set_requires_grad(c, tensor, true))) return false;
    return add_slot(c, m, (module_slot){(char *)name, tensor, false, true});
}

bool wick_module_add_buffer(wick_context *c, wick_module *m, const char *name, wick_tensor *tensor, bool persistent) {
    return add_slot(c, m, (module_slot){(char *)name, tensor, true, persistent});
}

wick_tensor *wick_module_tensor(const wick_module *m, int index) { return m->slots[index].tensor; }

bool wick_module_add(wick_context *c, wick_module *m, const char *name, wick_module *child) {
    char *copy = NULL;
    bool ok = !wick_failed(c);
    if (ok && !child) ok = !FAIL(c, INVALID_ARGUMENT, "%s: child '%s' is NULL", m->cls->name, name);
    if (ok) ok = (copy = new_name(c, m, name)) != NULL;
    if (ok && !grow((void **)&m->children, &m->child_capacity, m->child_count, sizeof *m->children))
        ok = !FAIL(c, OUT_OF_MEMORY, "%s: no memory for a child", m->cls->name);
    if (ok)
        m->children[m->child_count++] = (module_child){copy, child};
    else
        free(copy), wick_module_release(child);
    return ok;
}

void *wick_module_payload(const wick_module *m) { return (void *)m->payload; }
const char *wick_module_name(const wick_module *m) { return m->cls->name; }
int wick_module_child_count(const wick_module *m) { return (int)m->child_count; }
wick_module *wick_module_child(const wick_module *m, int index) {
    return index >= 0 && (size_t)index < m->child_count ? m->children[index].module : NULL;
}
const char *wick_module_child_name(const wick_module *m, int index) {
    return index >= 0 && (size_t)index < m->child_count ? m->children[index].name : NULL;
}

/* ---- use ---- */
wick_tensor *wick_module_call(wick_context *c, wick_module *m, wick_tensor *const *inputs, int n) {
    if (wick_failed(c)) return NULL;
    for (int i = 0; i < n; ++i)
        if (!inputs[i]) return FAIL(c, INVALID_ARGUMENT, "%s: input %d is NULL", m->cls->name, i), NULL;
    wick_scope scope = wick_scope_open(c);
    return wick_scope_return(c, scope, m->cls->forward(m, c, inputs, n));
}

wick_tensor *wick_module_forward(wick_context *c, wick_module *m, wick_tensor *x) {
    return wick_module_call(c, m, &x, 1);
}

void wick_module_train(wick_module *m, bool training) {
    m->training = training;
    for (size_t i = 0; i < m->child_count; ++i) wick_module_train(m->children[i].module, training);
}

bool wick_module_is_training(const wick_module *m) { return m->training; }

/* ---- every tensor of the tree, in place ---- */
typedef bool (*slot_visit)(wick_context *c, module_slot *slot, const void *user);

static bool visit_slots(wick_context *c, wick_module *m, slot_visit visit, const void *user) {
    for (size_t i = 0; i < m->slot_count; ++i)
        if (m->slots[i].tensor && !visit(c, &m->slots[i], user)) return false;
    for (size_t i = 0; i < m->child_count; ++i)
        if (!visit_slots(c, m->children[i].module, visit, user)) return false;
    return true;
}

static bool clear_grad(wick_context *c, module_slot *slot, const void *user) {
    return slot->buffer || wick_set_grad(c, slot->tensor, NULL);
}
bool wick_module_zero_grad(wick_context *c, wick_module *m) { return visit_slots(c, m, clear_grad, NULL); }

static bool set_requires(wick_context *c, module_slot *slot, const void *user) {
    return slot->buffer || wick_set_requires_grad(c, slot->tensor, *(const bool *)user);
}
bool wick_module_requires_grad(wick_context *c, wick_module *m, bool requires_grad) {
    return visit_slots(c, m, set_requires, &requires_grad);
}

typedef struct destination {
    wick_device device;
    wick_dtype dtype;
} destination;

static bool move_slot(wick_context *c, module_slot *slot, const void *user) {
    const destination *to = user;
    wick_tensor *t = slot->tensor;
    wick_to_options o = WICK_TO_OPTIONS_INIT;
    o.device = to->device.type ? to->device : t->device;
    o.dtype = to->dtype && wick_dtype_is_floating(wick_tensor_dtype(t)) ? to->dtype : wick_tensor_dtype(t);
    if (wick_device_equal(o.device, t->device) && o.dtype == wick_tensor_dtype(t)) return true;
    wick_scope scope = wick_scope_open(c);
    wick_tensor *moved = wick_to(c, wick_detach(c, t), &o);
    if (moved && wick_requires_grad(t)) moved = wick_set_requires_grad(c, moved, true);
    if (moved) {
        slot->tensor = wick_retain(moved);
        wick_release(t);
    }
    wick_scope_close(c, scope);
    return moved != NULL;
}
bool wick_module_to(wick_context *c, wick_module *m, wick_device device, wick_dtype dtype) {
    const destination to = {device, dtype};
    return visit_slots(c, m, move_slot, &to);
}
