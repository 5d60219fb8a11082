/* A bounded reader of ELF64 shared objects, run on a plugin before dlopen sees it. It looks at what the dynamic linker
 * looks at (program headers and the dynamic section), checks every offset against the bytes it was given, allocates
 * nothing and never writes. The bytes are lent and must outlive the image and every name taken from it. */
#ifndef WICK_ELF_IMAGE_H
#define WICK_ELF_IMAGE_H

#include <wick/status.h>

typedef struct elf_image {
    const uint8_t *bytes;
    uint64_t size;
    uint64_t headers, header_count;  /* program headers: offset, count */
    uint64_t dynamic, dynamic_count; /* dynamic section */
    uint64_t strings, strings_bytes; /* dynamic string table, ends in NUL */
    uint64_t symbols, symbol_count;  /* dynamic symbol table */
} elf_image;

typedef struct elf_symbol {
    const char *name; /* "" if it has none */
    bool defined;
    bool exported; /* defined, and others may bind to it */
} elf_symbol;

/* What a host expects of a plugin. */
typedef struct elf_rules {
    const char *entry;     /* the one symbol it exports */
    const char *forbidden; /* prefix of symbols that it may not import: "wick_" */
    int sanitizer;         /* WICK_SANITIZER of the host */
} elf_rules;

/* Checks the headers and finds the tables. DATA_LOSS: not a (whole) ELF file; UNSUPPORTED: of another kind. Messages
 * do not name the file. */
wick_status *elf_open(const void *bytes, size_t size, elf_image *out);
/* Symbol 0 to symbol_count - 1. DATA_LOSS if its entry or name lies outside. */
wick_status *elf_symbol_at(const elf_image *image, uint64_t index, elf_symbol *out);
/* The index-th library that it needs, NULL past the last; *out is lent. */
wick_status *elf_needed_at(const elf_image *image, uint64_t index, const char **out);
/* NULL if it has none. */
wick_status *elf_soname(const elf_image *image, const char **out);
/* FAILED_PRECONDITION naming the first rule that the image breaks. */
wick_status *elf_check(const elf_image *image, const elf_rules *rules);

#endif
