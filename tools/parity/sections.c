/* The sections above operators: which cases there are and how each runs. */
#include "above.h"

static void run_function(parity_case *k) {
    const wick_op *op = api_operator(k);
    if (op)
        run_case(k, op);
    else
        report_unsupported(k);
}

bool section_api(parity *p) { return each_indexed(p, "api_index.jsonl", "api", "api", run_function); }

/* ---- what lies above operators ---- */
bool section_modules(parity *p) { return each_case(p, "modules", "module", true, run_module); }
bool section_optimizers(parity *p) { return each_case(p, "optimizers", "optimizer", true, run_optimizer); }
bool section_schedulers(parity *p) { return each_case(p, "schedulers", "scheduler", false, run_scheduler); }
