/* wick/sdk/link.h: the functions of <wick/...> inside a plugin, which links nothing of wick.
 *
 * Every file of the plugin that calls them includes this header, before any other of wick, and create() begins with
 *
 *     WICK_TRY(wick_sdk_attach(host));
 *
 * From then on what <wick/ops.h>, <wick/context.h>, <wick/autograd.h>, ... declare can be called by its usual name: this
 * header includes them all and defines each function as static, a call through the host's table (wick/sdk/api.h), or for
 * operators a call by name. What a file does not use leaves nothing in it; one hidden pointer is shared by the files.
 *
 * A function that the host does not have makes wick_sdk_attach fail, unless the plugin defines WICK_SDK_API_BYTES: how
 * much of struct wick_api it needs. Messages given to wick_status_make, wick_status_wrap and wick_config_error are cut at
 * 4095 bytes. Thread-safe. */
#ifndef WICK_SDK_LINK_H
#define WICK_SDK_LINK_H

#ifdef WICK_STATUS_H
#error "include <wick/sdk/link.h> before every other header of wick"
#endif

#include <stdarg.h>
#include <stdio.h>
#include <wick/base.h>

/* What is declared here belongs to the file that includes this. */
#undef WICK_API
#define WICK_API static inline
#if defined(__GNUC__)
#define WICK_SDK_SHARED_ __attribute__((weak, visibility("hidden")))
#else
#error "wick/sdk/link.h needs weak symbols: gcc or clang"
#endif

#include <wick/sdk/api.h>
#include <wick/sdk/host.h>

#ifndef WICK_SDK_API_BYTES
#define WICK_SDK_API_BYTES sizeof(wick_api)
#endif

WICK_BEGIN_DECLS
/* One for all files of the plugin. */
WICK_SDK_SHARED_ const wick_api *wick_sdk_table;

/* Makes the functions callable. UNSUPPORTED if the host is older than the headers that the plugin was built with.
 * Attaching again is allowed: all hosts of a process hand out one table. */
WICK_API wick_status *wick_sdk_attach(const wick_host *host) {
    const wick_api *table = NULL;
    if (WICK_HAS(host, wick_host, api)) table = (const wick_api *)host->api(WICK_API_VERSION);
    if (!table)
        return WICK_HOST_ERROR(host, WICK_UNSUPPORTED, "the host has no function table of version %u",
                               WICK_API_VERSION);
    if (table->struct_size < WICK_SDK_API_BYTES)
        return WICK_HOST_ERROR(host, WICK_UNSUPPORTED, "the host's function table has %u bytes, the plugin needs %zu",
                               (unsigned)table->struct_size, (size_t)WICK_SDK_API_BYTES);
    __atomic_store_n(&wick_sdk_table, table, __ATOMIC_RELAXED);
    return NULL;
}
#define WICK_SDK_TABLE_ (__atomic_load_n(&wick_sdk_table, __ATOMIC_RELAXED))

/* ---- functions of the table ---- */
#define WICK_SDK_THUNK_(result, name, parameters, arguments) \
    result name parameters { return WICK_SDK_TABLE_->name arguments; }
#define WICK_SDK_THUNK_VOID_(name, parameters, arguments) \
    void name parameters { WICK_SDK_TABLE_->name arguments; }
#define WICK_SDK_NO_THUNK_(result, name, parameters)
WICK_API_FUNCTIONS(WICK_SDK_THUNK_, WICK_SDK_THUNK_VOID_, WICK_SDK_NO_THUNK_)
#undef WICK_SDK_THUNK_
#undef WICK_SDK_THUNK_VOID_
#undef WICK_SDK_NO_THUNK_

/* ---- those with arguments like printf's ---- */
#define WICK_SDK_MESSAGE_BYTES 4096
#define WICK_SDK_FORMAT_(message, format)                      \
    do {                                                       \
        va_list arguments;                                     \
        va_start(arguments, format);                           \
        vsnprintf(message, sizeof message, format, arguments); \
        va_end(arguments);                                     \
    } while (0)

wick_status *wick_status_make(wick_code code, const char *file, int line, const char *format, ...) {
    char message[WICK_SDK_MESSAGE_BYTES];
    WICK_SDK_FORMAT_(message, format);
    return WICK_SDK_TABLE_->wick_status_make(code, file, line, "%s", message);
}

wick_status *wick_status_wrap(wick_status *cause, const char *file, int line, const char *format, ...) {
    char message[WICK_SDK_MESSAGE_BYTES];
    WICK_SDK_FORMAT_(message, format);
    return WICK_SDK_TABLE_->wick_status_wrap(cause, file, line, "%s", message);
}

wick_status *wick_config_error(const wick_config_file *config, const char *section, const char *key, const char *format,
                               ...) {
    char message[WICK_SDK_MESSAGE_BYTES];
    WICK_SDK_FORMAT_(message, format);
    return WICK_SDK_TABLE_->wick_config_error(config, section, key, "%s", message);
}
WICK_END_DECLS

/* ---- operators ---- */
#define WICK_SDK_DEFINE_OPERATORS
#include <wick/sdk/ops.h>
#undef WICK_SDK_DEFINE_OPERATORS

#undef WICK_API
#define WICK_API __attribute__((visibility("default")))

#endif
