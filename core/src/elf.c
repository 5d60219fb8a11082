#include "elf_image.h"

#include <ctype.h>
#include <elf.h>
#include <endian.h>
#include <stdio.h>
#include <string.h>

/* More is refused: no plugin is near it, and loops stay short. */
#define SYMBOL_LIMIT (1u << 22)
#define DYNAMIC_LIMIT 4096

#define DAMAGED(...) WICK_ERROR(WICK_DATA_LOSS, __VA_ARGS__)

/* ---- machines ---- */
static const struct machine {
    uint16_t id;
    const char *name;
} machines[] = {{EM_X86_64, "x86-64"}, {EM_AARCH64, "aarch64"},    {EM_386, "x86"},
                {EM_ARM, "arm"},       {EM_RISCV, "riscv"},        {EM_PPC64, "ppc64"},
                {EM_S390, "s390"},     {EM_MIPS, "mips"},          {EM_SPARCV9, "sparc"},
                {EM_IA_64, "ia64"},    {EM_LOONGARCH, "loongarch"}};

#if defined(__x86_64__)
#define HOST_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define HOST_MACHINE EM_AARCH64
#elif defined(__riscv)
#define HOST_MACHINE EM_RISCV
#elif defined(__powerpc64__)
#define HOST_MACHINE EM_PPC64
#elif defined(__s390x__)
#define HOST_MACHINE EM_S390
#elif defined(__loongarch__)
#define HOST_MACHINE EM_LOONGARCH
#else
#error "name this machine in elf.c"
#endif

#define HOST_DATA (__BYTE_ORDER == __LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB)

static const char *machine_name(uint16_t id, char buffer[24]) {
    for (size_t i = 0; i < sizeof machines / sizeof machines[0]; ++i) {
        if (machines[i].id == id) return machines[i].name;
    }
    snprintf(buffer, 24, "number %u", id);
    return buffer;
}

/* ---- bounded access ---- */
static bool inside(const elf_image *image, uint64_t offset, uint64_t bytes) {
    return offset <= image->size && bytes <= image->size - offset;
}

/* Copies out, so that nothing depends on alignment. */
static bool fetch(const elf_image *image, uint64_t offset, void *out, size_t bytes) {
    if (!inside(image, offset, bytes)) return false;
    memcpy(out, image->bytes + offset, bytes);
    return true;
}

/* Item `index` of a table of `count` items, all of which are inside. */
static void fetch_item(const elf_image *image, uint64_t table, uint64_t index, void *out, size_t bytes) {
    memcpy(out, image->bytes + table + index * bytes, bytes);
}

/* The file offset of a loaded address, if `bytes` from there are in one segment and in the file. */
static bool offset_of(const elf_image *image, uint64_t address, uint64_t bytes, uint64_t *out) {
    for (uint64_t i = 0; i < image->header_count; ++i) {
        Elf64_Phdr header;
        fetch_item(image, image->headers, i, &header, sizeof header);
        if (header.p_type != PT_LOAD || address < header.p_vaddr) continue;
        uint64_t within = address - header.p_vaddr;
        if (within > header.p_filesz || bytes > header.p_filesz - within) continue;
        if (header.p_offset > image->size || within > image->size - header.p_offset) continue;
        *out = header.p_offset + within;
        return inside(image, *out, bytes);
    }
    return false;
}

/* ---- headers ---- */
static wick_status *not_elf(const uint8_t *bytes, size_t size) {
    char start[5 * 8 + 1] = "";
    size_t length = 0;
    for (size_t i = 0; i < size && i < 8; ++i) {
        bool plain = isprint(bytes[i]) && bytes[i] != '"';
        length += (size_t)snprintf(start + length, sizeof start - length, plain ? "%c" : "\\x%02x", bytes[i]);
    }
    return size ? DAMAGED("not an ELF file (starts with \"%s\")", start) : DAMAGED("not an ELF file (it is empty)");
}

static wick_status *check_identity(const uint8_t *bytes, size_t size) {
    if (size < SELFMAG || memcmp(bytes, ELFMAG, SELFMAG) != 0) return not_elf(bytes, size);
    if (size < EI_NIDENT) return DAMAGED("ELF header is cut: got %zu bytes, wanted %zu", size, sizeof(Elf64_Ehdr));
    if (bytes[EI_CLASS] != ELFCLASS64) {
        return WICK_ERROR(WICK_UNSUPPORTED, "ELF %s, wanted 64-bit",
                          bytes[EI_CLASS] == ELFCLASS32 ? "32-bit" : "of unknown class");
    }
    if (bytes[EI_DATA] != HOST_DATA) {
        return WICK_ERROR(WICK_UNSUPPORTED, "ELF %s, this host is %s",
                          bytes[EI_DATA] == ELFDATA2LSB ? "little-endian" : "big-endian",
                          HOST_DATA == ELFDATA2LSB ? "little-endian" : "big-endian");
    }
    if (size < sizeof(Elf64_Ehdr)) {
        return DAMAGED("ELF header is cut: got %zu bytes, wanted %zu", size, sizeof(Elf64_Ehdr));
    }
    return NULL;
}

static wick_status *check_header(elf_image *image, const Elf64_Ehdr *header) {
    char got[24], host[24];
    if (header->e_machine != HOST_MACHINE) {
        return WICK_ERROR(WICK_UNSUPPORTED, "machine %s, this host is %s", machine_name(header->e_machine, got),
                          machine_name(HOST_MACHINE, host));
    }
    if (header->e_type != ET_DYN) {
        return WICK_ERROR(WICK_UNSUPPORTED, "ELF type %u, wanted a shared object (%d)", header->e_type, ET_DYN);
    }
    if (header->e_phentsize != sizeof(Elf64_Phdr)) {
        return DAMAGED("program headers of %u bytes, wanted %zu", header->e_phentsize, sizeof(Elf64_Phdr));
    }
    image->headers = header->e_phoff;
    image->header_count = header->e_phnum;
    if (!inside(image, image->headers, image->header_count * sizeof(Elf64_Phdr))) {
        return DAMAGED("program headers lie outside the file of %llu bytes", (unsigned long long)image->size);
    }
    return NULL;
}

static wick_status *check_segments(elf_image *image) {
    bool found = false;
    for (uint64_t i = 0; i < image->header_count; ++i) {
        Elf64_Phdr header;
        fetch_item(image, image->headers, i, &header, sizeof header);
        if (header.p_type != PT_LOAD && header.p_type != PT_DYNAMIC) continue;
        if (!inside(image, header.p_offset, header.p_filesz)) {
            return DAMAGED("segment %llu lies outside the file of %llu bytes: it is cut", (unsigned long long)i,
                           (unsigned long long)image->size);
        }
        if (header.p_type != PT_DYNAMIC) continue;
        image->dynamic = header.p_offset;
        image->dynamic_count = header.p_filesz / sizeof(Elf64_Dyn);
        found = true;
    }
    if (image->dynamic_count > DYNAMIC_LIMIT) return DAMAGED("dynamic section is too long");
    return found ? NULL : DAMAGED("no dynamic section");
}

/* ---- dynamic section ---- */
/* The value of the index-th entry with that tag, before the terminating one. */
static bool dynamic_value(const elf_image *image, int64_t tag, uint64_t index, uint64_t *out) {
    for (uint64_t i = 0; i < image->dynamic_count; ++i) {
        Elf64_Dyn entry;
        fetch_item(image, image->dynamic, i, &entry, sizeof entry);
        if (entry.d_tag == DT_NULL) return false;
        if (entry.d_tag != tag || index--) continue;
        *out = entry.d_un.d_val;
        return true;
    }
    return false;
}

static wick_status *find_strings(elf_image *image) {
    uint64_t address, bytes;
    if (!dynamic_value(image, DT_STRTAB, 0, &address) || !dynamic_value(image, DT_STRSZ, 0, &bytes)) {
        return DAMAGED("no dynamic string table");
    }
    if (!bytes || !offset_of(image, address, bytes, &image->strings) || image->bytes[image->strings + bytes - 1]) {
        return DAMAGED("dynamic string table lies outside the file or has no end");
    }
    image->strings_bytes = bytes;
    return NULL;
}

/* The old hash table says how many symbols there are. */
static bool count_by_hash(const elf_image *image, uint64_t address, uint64_t *out) {
    uint64_t offset;
    uint32_t head[2]; /* buckets, chains */
    if (!offset_of(image, address, sizeof head, &offset) || !fetch(image, offset, head, sizeof head)) return false;
    *out = head[1];
    return true;
}

/* In the GNU hash table the last chain of the highest bucket ends at the last symbol. */
static bool count_by_gnu_hash(const elf_image *image, uint64_t address, uint64_t *out) {
    uint64_t offset, table, last = 0;
    uint32_t head[4]; /* buckets, first hashed symbol, words of the filter, shift */
    if (!offset_of(image, address, sizeof head, &offset) || !fetch(image, offset, head, sizeof head)) return false;
    uint64_t buckets = offset + sizeof head + (uint64_t)head[2] * 8, chains = buckets + (uint64_t)head[0] * 4;
    if (!inside(image, buckets, (uint64_t)head[0] * 4)) return false;
    for (uint64_t i = 0; i < head[0]; ++i) {
        uint32_t symbol;
        fetch_item(image, buckets, i, &symbol, sizeof symbol);
        if (symbol > last) last = symbol;
    }
    *out = head[1];
    if (!last) return true; /* no symbol is hashed */
    if (last < head[1]) return false;
    for (uint32_t hash = 0; !(hash & 1); ++last) {
        table = chains + (last - head[1]) * 4;
        if (last >= SYMBOL_LIMIT || !fetch(image, table, &hash, sizeof hash)) return false;
    }
    *out = last;
    return true;
}

static wick_status *find_symbols(elf_image *image) {
    uint64_t address, hash, entry_bytes = sizeof(Elf64_Sym);
    if (!dynamic_value(image, DT_SYMTAB, 0, &address)) return DAMAGED("no dynamic symbol table");
    dynamic_value(image, DT_SYMENT, 0, &entry_bytes);
    bool counted = dynamic_value(image, DT_GNU_HASH, 0, &hash) ? count_by_gnu_hash(image, hash, &image->symbol_count)
                   : dynamic_value(image, DT_HASH, 0, &hash)   ? count_by_hash(image, hash, &image->symbol_count)
                                                               : false;
    if (!counted) return DAMAGED("no symbol hash table, or a damaged one");
    if (entry_bytes != sizeof(Elf64_Sym) || image->symbol_count > SYMBOL_LIMIT ||
        !offset_of(image, address, image->symbol_count * sizeof(Elf64_Sym), &image->symbols)) {
        return DAMAGED("dynamic symbol table lies outside the file");
    }
    return NULL;
}

wick_status *elf_open(const void *bytes, size_t size, elf_image *out) {
    elf_image image = {.bytes = bytes, .size = size};
    Elf64_Ehdr header;
    WICK_TRY(check_identity(bytes, size));
    memcpy(&header, bytes, sizeof header);
    WICK_TRY(check_header(&image, &header));
    WICK_TRY(check_segments(&image));
    WICK_TRY(find_strings(&image));
    WICK_TRY(find_symbols(&image));
    *out = image;
    return NULL;
}

/* ---- contents ---- */
/* The string table ends in NUL, so a name that starts inside ends inside. */
static wick_status *string_at(const elf_image *image, uint64_t offset, const char **out) {
    if (offset >= image->strings_bytes) return DAMAGED("a name lies outside the dynamic string table");
    *out = (const char *)image->bytes + image->strings + offset;
    return NULL;
}

wick_status *elf_symbol_at(const elf_image *image, uint64_t index, elf_symbol *out) {
    if (index >= image->symbol_count) return DAMAGED("symbol %llu does not exist", (unsigned long long)index);
    Elf64_Sym symbol;
    fetch_item(image, image->symbols, index, &symbol, sizeof symbol);
    WICK_TRY(string_at(image, symbol.st_name, &out->name));
    int visibility = ELF64_ST_VISIBILITY(symbol.st_other);
    out->defined = symbol.st_shndx != SHN_UNDEF;
    out->exported = out->defined && ELF64_ST_BIND(symbol.st_info) != STB_LOCAL &&
                    (visibility == STV_DEFAULT || visibility == STV_PROTECTED);
    return NULL;
}

wick_status *elf_needed_at(const elf_image *image, uint64_t index, const char **out) {
    uint64_t offset;
    *out = NULL;
    return dynamic_value(image, DT_NEEDED, index, &offset) ? string_at(image, offset, out) : NULL;
}

wick_status *elf_soname(const elf_image *image, const char **out) {
    uint64_t offset;
    *out = NULL;
    return dynamic_value(image, DT_SONAME, 0, &offset) ? string_at(image, offset, out) : NULL;
}

/* ---- rules ---- */
#define LISTED_EXPORTS 4

/* Names that linkers, start-up code and instrumentation export by themselves. */
static bool is_toolchain(const char *name) {
    static const char *const names[] = {"_init", "_fini", "_edata", "_end"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
        if (strcmp(name, names[i]) == 0) return true;
    }
    return strncmp(name, "__", 2) == 0;
}

/* What the symbol table holds, in one pass. */
typedef struct symbol_survey {
    bool entry;
    uint64_t extra;   /* exports besides the entry */
    char extras[256]; /* the first of them */
    const char *forbidden;
    int sanitizer;
} symbol_survey;

static const struct sanitizer {
    const char *symbol, *name;
} sanitizers[] = {{"", "no sanitizer"}, {"__asan_init", "AddressSanitizer"}, {"__tsan_init", "ThreadSanitizer"}};

static void note_export(symbol_survey *survey, const char *name) {
    size_t length = strlen(survey->extras), room = sizeof survey->extras - length;
    if (survey->extra++ < LISTED_EXPORTS) {
        snprintf(survey->extras + length, room, "%s%.50s", length ? ", " : "", name);
    }
}

static void note_symbol(symbol_survey *survey, const elf_symbol *symbol, const elf_rules *rules) {
    if (symbol->exported && strcmp(symbol->name, rules->entry) == 0)
        survey->entry = true;
    else if (symbol->exported && !is_toolchain(symbol->name))
        note_export(survey, symbol->name);
    if (symbol->defined) return;
    if (strncmp(symbol->name, rules->forbidden, strlen(rules->forbidden)) == 0) survey->forbidden = symbol->name;
    for (int i = 1; i < (int)(sizeof sanitizers / sizeof sanitizers[0]); ++i) {
        if (strcmp(symbol->name, sanitizers[i].symbol) == 0) survey->sanitizer = i;
    }
}

wick_status *elf_check(const elf_image *image, const elf_rules *rules) {
    symbol_survey survey = {0};
    for (uint64_t i = 1; i < image->symbol_count; ++i) {
        elf_symbol symbol = {.name = ""};
        WICK_TRY(elf_symbol_at(image, i, &symbol));
        note_symbol(&survey, &symbol, rules);
    }
    if (!survey.entry) return WICK_ERROR(WICK_FAILED_PRECONDITION, "does not export %s", rules->entry);
    if (survey.extra) {
        return WICK_ERROR(WICK_FAILED_PRECONDITION, "exports %llu symbol%s besides %s: %s%s",
                          (unsigned long long)survey.extra, survey.extra == 1 ? "" : "s", rules->entry, survey.extras,
                          survey.extra > LISTED_EXPORTS ? ", ..." : "");
    }
    if (survey.forbidden) {
        return WICK_ERROR(WICK_FAILED_PRECONDITION, "has undefined symbol %.100s: plugins link nothing of wick",
                          survey.forbidden);
    }
    if (survey.sanitizer != rules->sanitizer && survey.sanitizer) {
        return WICK_ERROR(WICK_FAILED_PRECONDITION, "built with %s, this host with %s",
                          sanitizers[survey.sanitizer].name, sanitizers[rules->sanitizer].name);
    }
    return NULL;
}
