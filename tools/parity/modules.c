/* One recorded module or loss: construct it, load its state_dict, compare outputs, buffers and gradients. */
#include <stdio.h>
#include <string.h>

#include <wick/module.h>

#include "construct.h"

/* A case while it runs; the module is released at its end. */
typedef struct module_run {
    parity_case *k;
    constructed made;
    wick_tensor *inputs[PARITY_MAX_ARGS];
    int ninputs;
    wick_tensor *output;
} module_run;

/* ---- inputs ---- */
/* The recorded inputs, in order: a list, or one by the name "input". NULL: a form that wick's modules do not take. */
static json_t *recorded_inputs(const parity_case *k) {
    json_t *list = json_object_get(k->json, "inputs"), *named = json_object_get(k->json, "input_kwargs"), *item;
    size_t i, n = json_array_size(list);
    if (json_object_size(named) == 1 && n == 0 && json_object_get(named, "input"))
        return json_pack("[O]", json_object_get(named, "input"));
    if (json_object_size(named) || n == 0 || n > PARITY_MAX_ARGS) return NULL;
    json_array_foreach(list, i, item) if (!json_object_get(item, "t")) return NULL;
    return json_incref(list);
}

/* False: reported. */
static bool build_inputs(module_run *r, json_t *inputs, bool recording) {
    size_t i;
    json_t *item;
    const char *why = "an input is broken";
    r->ninputs = 0;
    json_array_foreach(inputs, i, item) {
        wick_tensor *t = value_tensor(r->k, item, &why);
        bool wants = recording && json_is_true(json_object_get(item, "requires_grad"));
        if (!t || (wants && !wick_set_requires_grad(r->k->p->c, t, true))) return report_error(r->k, why), false;
        r->inputs[r->ninputs++] = t;
    }
    return true;
}

/* ---- the call ---- */
static bool load_state(const module_run *r) {
    wick_module *m = r->made.module;
    if (!m) return true;
    wick_module_train(m, json_is_true(json_object_get(r->k->json, "training")));
    return wick_module_load_state(r->k->p->c, m, r->k->tensors, arena_format(r->k->arena, "%s.state.", r->k->id), 0,
                                  NULL);
}

static wick_tensor *call(const module_run *r) {
    if (!r->made.loss) return wick_module_call(r->k->p->c, r->made.module, r->inputs, r->ninputs);
    return wick_loss_compute(r->k->p->c, r->made.loss, r->inputs[0], r->inputs[1]);
}

/* Loads the state and computes the output. False: reported. */
static bool forward(module_run *r, json_t *inputs, bool recording) {
    if (!build_inputs(r, inputs, recording)) return false;
    if (load_state(r)) r->output = call(r);
    if (!r->output) report_error(r->k, "a failure without an error");
    return r->output != NULL;
}

/* ---- outputs and buffers ---- */
static json_t *recorded_output(const module_run *r) { return json_array_get(json_object_get(r->k->json, "outs"), 0); }

/* The walk over a module's tensors: each is what was recorded after the call or, where nothing was, before it. */
typedef struct tensor_check {
    const parity_case *k;
    const char *where, *expected, *got;
} tensor_check;

static bool check_tensor(void *user, const wick_module_entry *entry) {
    tensor_check *check = user;
    const parity_case *k = check->k;
    const char *key = arena_format(k->arena, "%s.after.%s", k->id, entry->name);
    if (!wick_safetensors_find(k->tensors, key)) key = arena_format(k->arena, "%s.state.%s", k->id, entry->name);
    json_t *recorded = json_string(key);
    check->where = arena_format(k->arena, "%s after the call", entry->name);
    bool ok = compare_tensor(k, recorded, entry->tensor, &check->expected, &check->got);
    json_decref(recorded);
    return ok;
}

static void judge_forward(const module_run *r) {
    tensor_check check = {r->k, "output", NULL, NULL};
    bool ok = compare_tensor(r->k, recorded_output(r), r->output, &check.expected, &check.got) &&
              (!r->made.module || wick_module_walk(r->made.module, check_tensor, &check));
    report_verdict(r->k, ok ? PASSED : FAILED, ok ? "" : check.where, ok ? "" : check.expected, ok ? "" : check.got);
}

/* ---- gradients ---- */
/* "param.weight", "in0": the tensor, NULL if the path leads nowhere. */
static wick_tensor *tensor_at(const module_run *r, const char *path) {
    int index;
    if (strncmp(path, "param.", 6) == 0) return r->made.module ? wick_module_find(r->made.module, path + 6) : NULL;
    return sscanf(path, "in%d", &index) == 1 && index >= 0 && index < r->ninputs ? r->inputs[index] : NULL;
}

/* The gradient of one tensor. False: reported. */
static bool judge_gradient(const module_run *r, wick_tensor *cotangent, const char *path, json_t *recorded) {
    const char *expected, *got;
    wick_tensor *input = tensor_at(r, path), *grad = NULL;
    if (!input || (wick_requires_grad(r->output) && !wick_grad(r->k->p->c, &r->output, &cotangent, 1, &input, 1,
                                                               WICK_RETAIN_GRAPH | WICK_ALLOW_UNUSED, &grad))) {
        report_error(r->k, arena_format(r->k->arena, "no gradient of %s", path));
        return false;
    }
    if (compare_gradient(r->k, recorded, grad, &expected, &got)) return true;
    report_verdict(r->k, FAILED, path, expected, got);
    return false;
}

static void judge_gradients(const module_run *r) {
    const char *path, *why = "the cotangent is missing";
    json_t *recorded;
    wick_tensor *cotangent = value_tensor(r->k, json_object_get(recorded_output(r), "cot"), &why);
    if (!cotangent) {
        report_error(r->k, why);
        return;
    }
    json_object_foreach(json_object_get(r->k->json, "grads"), path,
                        recorded) if (!judge_gradient(r, cotangent, path, recorded)) return;
    report_verdict(r->k, PASSED, "", "", "");
}

/* ---- a case ---- */
static void run_stage(module_run *r, json_t *inputs, stage at) {
    bool recording = at == STAGE_GRAD;
    wick_modes before = wick_set_grad_enabled(r->k->p->c, recording);
    r->k->stage = at;
    r->output = NULL;
    if (forward(r, inputs, recording)) recording ? judge_gradients(r) : judge_forward(r);
    wick_modes_set(r->k->p->c, before);
}

void run_module(parity_case *k) {
    module_run r = {.k = k};
    json_t *inputs = recorded_inputs(k);
    bool one_output = json_array_size(json_object_get(k->json, "outs")) == 1;
    if (!inputs || !one_output || !construct(k, &r.made) || (r.made.loss && json_array_size(inputs) != 2)) {
        report_unsupported(k);
    } else if (!r.made.module && !r.made.loss) {
        report_error(k, "a failure without an error");
    } else {
        run_stage(&r, inputs, STAGE_FORWARD);
        if (k->p->options.grad && json_object_size(json_object_get(k->json, "grads")))
            run_stage(&r, inputs, STAGE_GRAD);
    }
    json_decref(inputs);
    constructed_free(&r.made);
}
