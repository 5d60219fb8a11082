/* The inside of a wick_config_file, shared by its reader (config_read.c) and its accessors (config.c). */
#ifndef WICK_CONFIG_FILE_H
#define WICK_CONFIG_FILE_H

#include <string.h>
#include <wick/config.h>

#include "text.h"

#define CONFIG_NAME_BYTES 50 /* of section and key names, with the NUL: inih's own limit */
#define CONFIG_FILE_BYTES (1u << 20)
#define CONFIG_SECTIONS 1024
#define CONFIG_KEYS 1024 /* in a section */

typedef struct config_entry {
    char *key;
    char *value;
    int line; /* 0: set by wick_config_set() */
} config_entry;

typedef struct config_section {
    char *name;
    config_entry *entries;
    size_t count, capacity;
    int line;
} config_section;

struct wick_config_file {
    wick_allocator memory;
    char *name;
    config_section *sections;
    size_t count, capacity;
};

/* Letters, digits, '_', '-' (and '.' for sections); 1 to 49 of them. */
bool config_name_valid(const char *name, size_t length, bool section);
/* The first control byte other than a tab; NULL if there is none. */
const char *config_control_byte(const char *text, size_t length);
config_section *config_find_section(const wick_config_file *config, const char *name);
config_entry *config_find_entry(const config_section *section, const char *key);
/* Append; NULL when memory is exhausted. Earlier pointers to sections and entries end. */
config_section *config_add_section(wick_config_file *config, const char *name, int line);
config_entry *config_add_entry(wick_config_file *config, config_section *section, const char *key, const char *value,
                               size_t value_bytes, int line);

#endif
