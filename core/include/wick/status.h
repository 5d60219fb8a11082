/* wick/status.h: the error object that crosses every boundary.
 *
 * A function that can fail returns `wick_status *`: NULL is success, anything else is an owned error that the
 * caller frees, returns, or latches into a context. An error carries a code (what the caller should do next), a
 * one-line message (what, got, wanted), the place that made it, and optionally the error that caused it.
 *
 * Making an error never fails: when memory is exhausted a shared static OUT_OF_MEMORY status is returned, which
 * every function here accepts. All functions are thread-safe on distinct objects; a status is used by one thread
 * at a time. */
#ifndef WICK_STATUS_H
#define WICK_STATUS_H

#include <wick/base.h>

/* X(name, value, text, what the caller should do) */
#define WICK_CODES(X)                                                                                  \
    X(OK, 0, "ok", "go on")                                                                            \
    X(INVALID_ARGUMENT, 1, "invalid argument", "mend the call: a value, shape or dtype is wrong")      \
    X(OUT_OF_RANGE, 2, "out of range", "mend the index")                                               \
    X(NOT_FOUND, 3, "not found", "name something that exists")                                         \
    X(UNSUPPORTED, 4, "unsupported", "use another backend, dtype or operator")                         \
    X(FAILED_PRECONDITION, 5, "failed precondition", "bring the object into the required state first") \
    X(OUT_OF_MEMORY, 6, "out of memory", "free memory and retry")                                      \
    X(IO, 7, "input/output error", "look at the file system and retry")                                \
    X(DATA_LOSS, 8, "corrupt data", "the file or message is damaged: get another copy")                \
    X(UNAVAILABLE, 9, "unavailable", "no such device or driver on this machine")                       \
    X(DEVICE_ERROR, 10, "device error", "the device failed; its work is lost")                         \
    X(CANCELLED, 11, "cancelled", "the user asked to stop")                                            \
    X(INTERNAL, 12, "internal error", "report a bug")

typedef enum wick_code {
#define WICK_CODE_ENUM(name, value, text, advice) WICK_##name = value,
    WICK_CODES(WICK_CODE_ENUM)
#undef WICK_CODE_ENUM
} wick_code;

typedef struct wick_status wick_status;

WICK_BEGIN_DECLS

/* Makes an error. `file` must be a string literal; the message is formatted and copied. Never NULL. */
WICK_API wick_status *wick_status_make(wick_code code, const char *file, int line, const char *format, ...)
    WICK_PRINTF(4, 5);

/* The usual way to make an error, with the place that made it. */
#define WICK_ERROR(code, ...) wick_status_make((code), __FILE__, __LINE__, __VA_ARGS__)

/* Wraps `cause` (owned, may be NULL) under a new error that has the same code and the given message. */
WICK_API wick_status *wick_status_wrap(wick_status *cause, const char *file, int line, const char *format, ...)
    WICK_PRINTF(4, 5);

/* Frees the status and its causes. NULL is allowed. */
WICK_API void wick_status_free(wick_status *status);

/* Accessors lend strings that live as long as the status. NULL reads as OK with an empty message. */
WICK_API wick_code wick_status_code(const wick_status *status);
WICK_API const char *wick_status_message(const wick_status *status);
WICK_API const char *wick_status_origin(const wick_status *status); /* "file.c:123" */
WICK_API const wick_status *wick_status_cause(const wick_status *status);

/* Text of a code: "invalid argument"; and what the caller should do about it. Static strings. */
WICK_API const char *wick_code_text(wick_code code);
WICK_API const char *wick_code_advice(wick_code code);

WICK_END_DECLS

/* Returns a failed status to the caller; for functions that own nothing yet. */
#define WICK_TRY(expression)                                    \
    do {                                                        \
        wick_status *wick_try_ = (expression);                  \
        if (WICK_UNLIKELY(wick_try_ != NULL)) return wick_try_; \
    } while (0)

#endif
