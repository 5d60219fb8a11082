/* Recorded PyTorch results through wick's boxed call: what wick-parity and the conformance runner share.
 *
 * One thread, one context. A case's memory comes from an arena that dies with the case; its tensors from a scope. */
#ifndef WICK_PARITY_H
#define WICK_PARITY_H

#include <jansson.h>

#include <wick/autograd.h>
#include <wick/call.h>
#include <wick/context.h>
#include <wick/safetensors.h>

#include "elements.h"
#include "schema.h"

#define PARITY_MAX_ARGS SCHEMA_MAX_ARGS
#define PARITY_MAX_OUTS 512

/* ---- arena: memory of one case; out of memory ends the program ---- */
typedef struct arena_block arena_block;
typedef struct arena {
    arena_block *blocks;
} arena;

void *arena_alloc(arena *a, size_t bytes);
char *arena_format(arena *a, const char *format, ...) WICK_PRINTF(2, 3);
void arena_free(arena *a);

/* ---- the run ---- */
typedef enum section {
    SECTION_OPS,
    SECTION_API,
    SECTION_MODULES,
    SECTION_OPTIMIZERS,
    SECTION_SCHEDULERS,
    SECTION_COUNT
} section;
/* A case is judged once a stage. */
typedef enum stage { STAGE_FORWARD, STAGE_GRAD, STAGE_GRAD2, STAGE_COUNT } stage;
typedef enum verdict { PASSED, FAILED, UNSUPPORTED, VERDICT_COUNT } verdict;

typedef struct parity_options {
    const char *folder;
    const char *device;
    const char *only;   /* one operator, function, class, ... */
    const char *config; /* INI that loads the backends; NULL: cpu and the device's plugin */
    const char *json;   /* report to write */
    const char *known;  /* list of failures that are explained */
    bool sections[SECTION_COUNT];
    bool grad, grad2;
    bool inject;   /* before each call, repeat it with the n-th operator inside failing, n = 1, 2, ... */
    long at_least; /* passes below this are a failure */
} parity_options;

typedef struct parity_case parity_case;
/* Takes verdicts; `where` is the part that differs ("output 0"), "" for all of it. */
typedef void (*parity_sink)(const parity_case *k, verdict v, const char *where, const char *expected, const char *got);

typedef struct parity {
    parity_options options;
    parity_sink sink;
    void *user; /* the sink's */
    wick_runtime *runtime;
    wick_context *c;
    wick_device device;
    const wick_op *as_strided; /* NULL if unknown */
    json_t *known;             /* "name case stage" -> reason */
    json_t *names;             /* name -> [passed, failed, unsupported] */
    json_t *failures;          /* list of {name, case, stage, expected, got, known} */
    long counts[STAGE_COUNT][VERDICT_COUNT];
    long explained; /* failures that are in `known` */
    long stale;     /* passes that are in `known` */
} parity;

/* A recorded case and what belongs to it while it runs. */
struct parity_case {
    parity *p;
    arena *arena;
    const char *name; /* operator or function */
    const char *id;
    stage stage;
    json_t *json;
    wick_safetensors *tensors;
};

/* ---- report.c, of wick-parity ---- */
bool report_begin(parity *p);
/* The sink of wick-parity: counts, and prints failures. */
void report_count(const parity_case *k, verdict v, const char *where, const char *expected, const char *got);
/* Prints the totals and writes the JSON file. Returns the exit code. */
int report_end(parity *p);

/* ---- verdict.c ---- */
/* Gives the sink a verdict on the case's current stage. `where` is the part that differs ("output 0"), "" for all of it. */
void report_verdict(const parity_case *k, verdict v, const char *where, const char *expected, const char *got);
/* Takes the context's error and reports it, UNSUPPORTED or FAILED by its code; without one FAILED with `got`. */
void report_error(const parity_case *k, const char *got);
/* Counts every stage of the case that was asked for as UNSUPPORTED. */
void report_unsupported(parity_case *k);

/* ---- defaults.c ---- */
/* The default as a recorded value; a new reference, NULL if there is none. */
json_t *schema_default(const schema_arg *arg);

/* ---- values.c: recorded values as arguments ---- */
/* True if a recorded value can stand where the schema says `type`; *cost grows with each conversion. */
bool value_fits(json_t *json, const char *type, int *cost);
/* Converts a recorded value for an argument of `type`. False: the context failed or *why says what does not fit. */
bool value_build(const parity_case *k, json_t *json, const char *type, wick_value *out, const char **why);
/* A recorded tensor on the target device. NULL: the context failed or the record is broken (*why). */
wick_tensor *value_tensor(const parity_case *k, json_t *json, const char **why);

/* ---- compare.c ---- */
/* True if equal within the tolerance of the recorded dtype. Otherwise *expected and *got tell the first difference. */
bool compare_tensor(const parity_case *k, json_t *recorded, wick_tensor *t, const char **expected, const char **got);
bool compare_value(const parity_case *k, json_t *recorded, const wick_value *v, const char **expected,
                   const char **got);
/* A gradient; NULL means zeros. */
bool compare_gradient(const parity_case *k, json_t *recorded, wick_tensor *t, const char **expected, const char **got);
/* A recorded number of double precision, within rounding. */
bool compare_double(const parity_case *k, json_t *recorded, double have, const char **expected, const char **got);
/* A recorded array: an object, or the key alone if dtype and shape are the file's. */
typedef struct host_array {
    wick_dtype dtype;
    int ndim;
    int64_t sizes[WICK_MAX_DIMS];
    int64_t strides[WICK_MAX_DIMS]; /* as recorded, in elements */
    bool strided;
    int64_t stored;   /* elements in `data` */
    const char *data; /* stored elements: the array if not strided, else its storage */
} host_array;
bool host_array_read(const parity_case *k, json_t *recorded, host_array *out, const char **why);

/* ---- run.c: one case of an operator ---- */
/* Calls `op` as the case says and compares outputs and, if asked for, gradients. */
void run_case(parity_case *k, const wick_op *op);

/* ---- rewrite.c ---- */
/* Changes the case of a function to a call of an operator, where the two differ. Returns the operator's name without
 * overload, `op` if it stays; it is the arena's or a constant. */
const char *rewrite_call(const parity_case *k, const char *op);

/* ---- recordings.c ---- */
typedef void (*case_fn)(parity_case *k);
/* Runs FOLDER/STEM.jsonl with the tensors of FOLDER/STEM.safetensors, if it has any; a case's name is in `name_field`.
 * False: a file is missing or broken, which was printed. */
bool each_case(parity *p, const char *stem, const char *name_field, bool has_tensors, case_fn run);
/* Runs the cases of every name of an index: FOLDER/NAME.jsonl, and the field that holds the name. */
bool each_indexed(parity *p, const char *index, const char *folder, const char *field, case_fn run);
bool section_ops(parity *p);
/* The case's name as an operator's without overload: "add.Tensor" is "add", "linalg.norm.VARIANT" "linalg_norm". */
const char *operator_name(const parity_case *k);
/* Operator of the call that `k` records by PyTorch's function name, which is rewritten for it; NULL if there is none
 * that takes its arguments. */
const wick_op *api_operator(const parity_case *k);

#endif
