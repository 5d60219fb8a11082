/* What a case comes to. */
#include "parity.h"

void report_verdict(const parity_case *k, verdict v, const char *where, const char *expected, const char *got) {
    k->p->sink(k, v, where, expected, got);
}

/* "message [origin]: cause: ..." in the arena. */
static const char *status_text(const parity_case *k, const wick_status *status) {
    const char *text = arena_format(k->arena, "%s: %s [%s]", wick_code_text(wick_status_code(status)),
                                    wick_status_message(status), wick_status_origin(status));
    for (const wick_status *cause = wick_status_cause(status); cause; cause = wick_status_cause(cause))
        text = arena_format(k->arena, "%s: %s", text, wick_status_message(cause));
    return text;
}

void report_error(const parity_case *k, const char *got) {
    wick_status *status = wick_status_take(k->p->c);
    bool unsupported = wick_status_code(status) == WICK_UNSUPPORTED;
    if (status) got = status_text(k, status);
    wick_status_free(status);
    report_verdict(k, unsupported ? UNSUPPORTED : FAILED, "", "a result", got);
}

void report_unsupported(parity_case *k) {
    const parity_options *o = &k->p->options;
    k->stage = STAGE_FORWARD;
    report_verdict(k, UNSUPPORTED, "", "", "");
    k->stage = STAGE_GRAD;
    if (o->grad && json_object_get(k->json, "grads")) report_verdict(k, UNSUPPORTED, "", "", "");
    k->stage = STAGE_GRAD2;
    if (o->grad2 && json_object_get(k->json, "grads2")) report_verdict(k, UNSUPPORTED, "", "", "");
}
