/* Calls of operators on two devices, and the comparison of what comes back. */
#ifndef WICK_CHECK_CALLS_H
#define WICK_CHECK_CALLS_H

#include <elements.h>

#include "arguments.h"

#define CALL_RETS 8

/* ---- catalog.c: operators with their in-place and out forms ---- */
typedef struct family {
    const subject *functional; /* or the only form there is */
    const subject *inplace;    /* NULL if there is none */
    const subject *out;
} family;

typedef struct catalog {
    subject *subjects;
    size_t subject_count;
    family *families;
    size_t family_count;
} catalog;

/* False: out of memory, which was told. */
bool catalog_make(runner *r, catalog *out);
void catalog_free(catalog *c);
/* True if the command line asks for it. */
bool family_is_selected(const runner *r, const family *f);

/* ---- calls.c ---- */
typedef struct call_result {
    arguments arguments;
    wick_value rets[CALL_RETS];
    bool ok;
} call_result;

/* Calls the subject on a device with arguments of the case. `outs_like`: what the functional form returned, whose
 * shapes the out arguments get; NULL for the other forms. The error stays in the context. To be freed in any case. */
bool call_make(runner *r, const subject *s, const recipe *recipe, const op_case *k, wick_device device,
               const call_result *outs_like, call_result *out);
/* The same with arguments that are there. */
bool call_run(runner *r, const subject *s, wick_device device, call_result *out);
void call_free(call_result *c);
/* "f32 transposed in-place #2" */
void case_label(const op_case *k, const char *form, int recipe_index, char *buffer, size_t bytes);

/* True if the results and the changed arguments are near enough; else `text` says where not. */
bool call_compare(runner *r, const subject *s, const recipe *recipe, const op_case *k, const call_result *want,
                  const call_result *got, char *text, size_t bytes);
/* One tensor; NULL equals NULL. If a result cannot be read, the error is in the context. */
bool tensor_compare(runner *r, wick_tensor *want, wick_tensor *got, tolerance t, char *text, size_t bytes);
tolerance case_tolerance_of(const recipe *recipe, const op_case *k, wick_dtype dtype);

#endif
