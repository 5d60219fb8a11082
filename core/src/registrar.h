/* What a plugin's create() registers, and its publication: all of it or nothing. */
#ifndef WICK_CORE_REGISTRAR_H
#define WICK_CORE_REGISTRAR_H

#include <wick/config.h>
#include <wick/sdk/plugin.h>

#include "text.h"

/* A plugin's section, as it sees it. What it asks for is remembered, so that mistyped keys can be told. */
struct wick_config {
    const wick_config_file *file;
    const char *section;
    text *asked; /* keys, a line each */
};

#define REGISTRATIONS 16 /* calls of each registering function in one create() */

typedef struct registered_key {
    int rank;
    wick_key_handler_fn handler;
    void *instance;
} registered_key;

/* Rows of one call: of kernels for `device`, or of operators. */
typedef struct registered_rows {
    char device[32];
    const void *rows;
    uint64_t count;
    void *instance;
} registered_rows;

/* A table under a name and version; a dtype or a layout under its name. */
typedef struct registered_name registered_name;
struct registered_name {
    registered_name *next; /* in the runtime's list, once published */
    char name[64];
    uint32_t kind;  /* name_kind */
    uint32_t value; /* version, dtype or layout */
    const void *table;
    void *instance;
};

enum name_kind { NAME_FEATURE, NAME_DTYPE, NAME_LAYOUT };

/* Lives until the plugin's destroy() has returned. */
struct wick_registrar {
    wick_runtime *runtime;
    wick_allocator memory;
    bool open;   /* create() is running */
    bool graphs; /* the INI wants steps as graphs */
    const wick_backend *backend;
    void *instance;
    char device_name[32]; /* the backend's, which a failed create() has taken back; "" without one */
    registered_key keys[REGISTRATIONS];
    registered_rows kernels[REGISTRATIONS], operators[REGISTRATIONS];
    registered_name names[REGISTRATIONS];
    int key_count, kernels_count, operators_count, name_count;
    struct registered_op *operator_rows; /* published; owned */
};

/* True if create() has registered something. */
bool registrar_filled(const wick_registrar *r);
/* Publishes; `notes` are told what was left out, a line each. A failure leaves nothing behind. */
wick_status *registrar_publish(wick_registrar *r, const char *name, int fallback, text *notes, int *out_device_type,
                               int32_t *out_device_count);
/* After destroy(), when the runtime ends or create() failed. */
void registrar_end(wick_registrar *r);

/* Their part of the host table. */
wick_status *host_register_backend(wick_registrar *r, const wick_backend *backend, void *instance);
wick_status *host_register_operators(wick_registrar *r, const wick_operator_row *rows, uint64_t count, void *instance);
wick_status *host_register_kernels(wick_registrar *r, const char *device_name, const wick_kernel_row *rows,
                                   uint64_t count, void *instance);
wick_status *host_register_key(wick_registrar *r, int rank, wick_key_handler_fn handler, void *instance);
wick_status *host_register_dtype(wick_registrar *r, const wick_dtype_row *row, wick_dtype *out);
wick_status *host_register_layout(wick_registrar *r, const char *name, uint32_t *out_layout);
wick_status *host_publish(wick_registrar *r, const char *name, uint32_t version, const void *table, void *instance);
const void *host_find(wick_registrar *r, const char *name, uint32_t version, void **out_instance);
void host_log(wick_registrar *r, wick_log_level level, const char *message);
void *host_allocate(wick_registrar *r, size_t bytes);
void host_free(wick_registrar *r, void *pointer);
const char *host_config_string(const wick_config *config, const char *key, const char *fallback);
wick_status *host_config_int(const wick_config *config, const char *key, int64_t fallback, int64_t *out);
wick_status *host_config_bool(const wick_config *config, const char *key, bool fallback, bool *out);
wick_status *host_config_double(const wick_config *config, const char *key, double fallback, double *out);
wick_status *host_config_path(const wick_config *config, const char *key, const char *fallback, char *buffer,
                              size_t bytes);

#endif
