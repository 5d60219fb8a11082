/* What wick-parity runs above operators: functions, modules, optimizers, schedules. */
#ifndef WICK_PARITY_ABOVE_H
#define WICK_PARITY_ABOVE_H

#include <wick/optim.h>

#include "parity.h"

/* ---- options.c: recorded options of optimizers and schedules ---- */
#define PARITY_MAX_OPTIONS 16
/* Converts what the case records under "options". False if `known` lacks one of them, or it is not a number. */
bool options_read(const parity_case *k, const wick_option_list *known, wick_option out[PARITY_MAX_OPTIONS],
                  size_t *count);

/* ---- one case of what lies above operators ---- */
void run_module(parity_case *k);
void run_optimizer(parity_case *k);
void run_scheduler(parity_case *k);

/* ---- sections: each runs its recordings; false: a file is missing or broken, which was printed ---- */
bool section_api(parity *p);
bool section_modules(parity *p);
bool section_optimizers(parity *p);
bool section_schedulers(parity *p);

#endif
