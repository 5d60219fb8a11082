/* Lists of named tensors and texts, and reading one tensor back. */
#include "nn.h"

#include <wick/state.h>

struct wick_state {
    char **names;
    wick_tensor **tensors;
    size_t count, name_capacity, tensor_capacity;
    wick_safetensors_pair *texts;
    size_t text_count, text_capacity;
};

wick_status *wick_state_create(wick_state **out) {
    wick_state *state = calloc(1, sizeof *state);
    if (!state) return WICK_ERROR(WICK_OUT_OF_MEMORY, "no memory for a state");
    *out = state;
    return NULL;
}

void wick_state_free(wick_state *state) {
    if (!state) return;
    for (size_t i = 0; i < state->count; ++i) {
        free(state->names[i]);
        wick_release(state->tensors[i]);
    }
    for (size_t i = 0; i < state->text_count; ++i) {
        free((char *)state->texts[i].key);
        free((char *)state->texts[i].value);
    }
    free(state->names);
    free(state->tensors);
    free(state->texts);
    free(state);
}

static char *joined(const char *prefix, const char *name) {
    size_t bytes = strlen(prefix) + strlen(name) + 1;
    char *full = malloc(bytes);
    if (full) snprintf(full, bytes, "%s%s", prefix, name);
    return full;
}

bool wick_state_add(wick_context *c, wick_state *state, const char *prefix, const char *name, wick_tensor *tensor) {
    if (wick_failed(c)) return false;
    char *full = joined(prefix, name);
    if (!full || !grow((void **)&state->names, &state->name_capacity, state->count, sizeof *state->names) ||
        !grow((void **)&state->tensors, &state->tensor_capacity, state->count, sizeof *state->tensors)) {
        free(full);
        return !FAIL(c, OUT_OF_MEMORY, "%s%s: no memory for a state", prefix, name);
    }
    state->names[state->count] = full;
    state->tensors[state->count++] = wick_retain(tensor);
    return true;
}

bool wick_state_add_number(wick_context *c, wick_state *state, const char *prefix, const char *name, double value) {
    wick_scope scope = wick_scope_open(c);
    wick_tensor *t = wick_tensor_from_host(c, &value, WICK_F64, 0, NULL, wick_runtime_host(wick_context_runtime(c)));
    bool ok = t && wick_state_add(c, state, prefix, name, t);
    wick_scope_close(c, scope);
    return ok;
}

bool wick_state_add_text(wick_context *c, wick_state *state, const char *key, const char *value) {
    if (wick_failed(c)) return false;
    wick_safetensors_pair pair = {strdup(key), strdup(value)};
    if (!pair.key || !pair.value ||
        !grow((void **)&state->texts, &state->text_capacity, state->text_count, sizeof *state->texts)) {
        free((char *)pair.key);
        free((char *)pair.value);
        return !FAIL(c, OUT_OF_MEMORY, "%s: no memory for a state", key);
    }
    state->texts[state->text_count++] = pair;
    return true;
}

size_t wick_state_count(const wick_state *state) { return state->count; }
const char *wick_state_name(const wick_state *state, size_t index) {
    return index < state->count ? state->names[index] : NULL;
}
wick_tensor *wick_state_tensor(const wick_state *state, size_t index) {
    return index < state->count ? state->tensors[index] : NULL;
}

wick_status *wick_state_save(wick_context *c, const wick_state *state, const char *path) {
    return wick_safetensors_save(c, path, (const char *const *)state->names, state->tensors, state->count, state->texts,
                                 state->text_count);
}

/* ---- reading ---- */
static bool check_shape(wick_context *c, const wick_safetensors_info *info, const wick_tensor *target) {
    char got[SHAPE_TEXT], wanted[SHAPE_TEXT];
    if (info->ndim == target->ndim && !memcmp(info->sizes, target->sizes, sizeof *info->sizes * target->ndim))
        return true;
    return !FAIL(c, INVALID_ARGUMENT, "%s: got shape %s, wanted %s", info->name,
                 shape_text(info->ndim, info->sizes, got), shape_text(target->ndim, target->sizes, wanted));
}

static bool copy_in(wick_context *c, wick_safetensors *file, const char *full, wick_tensor *target) {
    const wick_safetensors_info *info = wick_safetensors_find(file, full);
    if (!info) return !FAIL(c, NOT_FOUND, "%s: no such tensor in the file", full);
    if (!check_shape(c, info, target)) return false;
    wick_modes modes = wick_no_grad(c);
    wick_scope scope = wick_scope_open(c);
    bool ok = wick_copy_(c, target, wick_safetensors_tensor(c, file, full), NULL) != NULL;
    wick_scope_close(c, scope);
    wick_modes_set(c, modes);
    return ok;
}

bool wick_state_read(wick_context *c, wick_safetensors *file, const char *prefix, const char *name,
                     wick_tensor *target) {
    if (wick_failed(c)) return false;
    char *full = joined(prefix, name);
    if (!full) return !FAIL(c, OUT_OF_MEMORY, "%s%s: no memory for its name", prefix, name);
    bool ok = copy_in(c, file, full, target);
    free(full);
    return ok;
}

bool wick_state_read_number(wick_context *c, wick_safetensors *file, const char *prefix, const char *name,
                            double *out) {
    wick_scope scope = wick_scope_open(c);
    wick_tensor *t = wick_tensor_from_host(c, NULL, WICK_F64, 0, NULL, wick_runtime_host(wick_context_runtime(c)));
    bool ok = t && wick_state_read(c, file, prefix, name, t);
    if (ok) *out = wick_item(c, t);
    wick_scope_close(c, scope);
    return ok && !wick_failed(c);
}

static void free_names(char **names, size_t n) {
    for (size_t i = 0; i < n; ++i) free(names[i]);
    free(names);
}

void wick_load_report_free(wick_load_report *report) {
    free_names(report->missing, report->missing_count);
    free_names(report->unexpected, report->unexpected_count);
    *report = (wick_load_report)WICK_LOAD_REPORT_INIT;
}
