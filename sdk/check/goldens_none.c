/* Without a JSON reader there are no recorded results to be read. */
#include "runner.h"

void mode_goldens(runner *r, bool grad) {
    if (r->options->goldens)
        check_fail(r, "recorded results", "", "this program was built without jansson: %s cannot be read",
                   r->options->goldens);
}
