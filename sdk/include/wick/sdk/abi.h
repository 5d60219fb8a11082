/* wick/sdk/abi.h: versions, sizes, the descriptor and the one exported symbol of a plugin. Pure C17; also C++.
 *
 * Every table of the ABI starts with its size in bytes, grows only at its end and has no padding, so that its size
 * tells which fields are there: a reader takes a field beyond the writer's size as absent and uses its documented
 * default (WICK_HAS). docs/plugin-abi.md has the rules, tests/abi/ what keeps them. */
#ifndef WICK_SDK_ABI_H
#define WICK_SDK_ABI_H

#include <wick/status.h>

#define WICK_ABI_MAJOR 0
#define WICK_ABI_MINOR 2
#define WICK_PLUGIN_MAGIC 0x6b636977u /* "wick" */

/* True if the table at `p` is long enough to have `field` and the field is set. */
#define WICK_HAS(p, type, field) ((p)->struct_size >= offsetof(type, field) + sizeof((p)->field) && (p)->field)

typedef struct wick_host wick_host;
typedef struct wick_registrar wick_registrar; /* one plugin's registrations; lives until its destroy() returned */
typedef struct wick_config wick_config;       /* the plugin's INI section */

/* What the host tells the query. */
typedef struct wick_host_info {
    uint32_t struct_size;
    uint16_t abi_major;
    uint16_t abi_minor;     /* newest the host speaks */
    uint16_t abi_minor_min; /* oldest the host accepts */
    uint16_t sanitizer;     /* WICK_SANITIZER of the host */
    uint32_t reserved;
} wick_host_info;

/* What the query answers: a constant of the plugin. */
typedef struct wick_plugin_desc {
    uint32_t struct_size;
    uint32_t magic; /* WICK_PLUGIN_MAGIC */
    uint16_t abi_major;
    uint16_t abi_minor;          /* that the plugin was built for */
    uint16_t host_abi_minor_min; /* oldest host it works with */
    uint16_t sanitizer;          /* WICK_SANITIZER of the plugin: one process has one */
    const char *name;            /* "cpu". Required. */
    const char *version;         /* its own. Optional: "". */
    const char *build;           /* compiler, flags: free text. Optional: "". */
    /* Makes one instance for one INI section, registers what it offers through the host table and opens vendor
     * runtimes. A failure leaves no trace; UNAVAILABLE means that all fits but there is no device or driver here.
     * Called by the loading thread with no lock held. Required. */
    wick_status *(*create)(const wick_host *host, wick_registrar *registrar, const wick_config *config,
                           void **out_instance);
    /* Called once, after the last object of the instance died, in reverse order of loading. Cannot fail. Optional. */
    void (*destroy)(void *instance);
} wick_plugin_desc;

/* Pure: no allocation, no driver, no lock; any number of times, from any thread. Returns the constant descriptor, or
 * NULL with *out_refusal = a static one-line reason. */
typedef const wick_plugin_desc *(*wick_plugin_query_fn)(const wick_host_info *host, const char **out_refusal);

/* Defines the one exported symbol and does the version handshake. Built with WICK_PLUGIN_STATIC the symbol gets the
 * plugin's name as suffix, for wick_plugin_register_static(). */
#ifdef WICK_PLUGIN_STATIC
#define WICK_PLUGIN_SYMBOL(ident) wick_plugin_query_##ident
#else
#define WICK_PLUGIN_SYMBOL(ident) wick_plugin_query
#endif
#ifdef __cplusplus
#define WICK_PLUGIN_LINKAGE extern "C"
#else
#define WICK_PLUGIN_LINKAGE
#endif
#define WICK_PLUGIN(ident, descriptor)                                                                          \
    WICK_PLUGIN_LINKAGE WICK_API const wick_plugin_desc *WICK_PLUGIN_SYMBOL(ident)(const wick_host_info *host,  \
                                                                                   const char **out_refusal);   \
    WICK_PLUGIN_LINKAGE WICK_API const wick_plugin_desc *WICK_PLUGIN_SYMBOL(ident)(const wick_host_info *host,  \
                                                                                   const char **out_refusal) {  \
        if (host->abi_major != (descriptor)->abi_major || host->abi_minor < (descriptor)->host_abi_minor_min) { \
            *out_refusal = "the host's ABI is older than this plugin accepts";                                  \
            return NULL;                                                                                        \
        }                                                                                                       \
        return (descriptor);                                                                                    \
    }

/* The fields of a descriptor that every plugin fills alike, for designated initializers. */
#define WICK_PLUGIN_DESC_BASE                                                                         \
    .struct_size = sizeof(wick_plugin_desc), .magic = WICK_PLUGIN_MAGIC, .abi_major = WICK_ABI_MAJOR, \
    .abi_minor = WICK_ABI_MINOR, .host_abi_minor_min = WICK_ABI_MINOR, .sanitizer = WICK_SANITIZER

/* 0 none, 1 address, 2 thread. */
#if defined(__SANITIZE_ADDRESS__)
#define WICK_SANITIZER 1
#elif defined(__SANITIZE_THREAD__)
#define WICK_SANITIZER 2
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WICK_SANITIZER 1
#elif __has_feature(thread_sanitizer)
#define WICK_SANITIZER 2
#endif
#endif
#ifndef WICK_SANITIZER
#define WICK_SANITIZER 0
#endif

#endif
