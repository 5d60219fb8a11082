/* What a shared object shows to the dynamic linker, read from its section headers. Every offset is checked: the file is
 * anybody's. */
#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner.h"

#define ENTRY "wick_plugin_query"

typedef struct image {
    const unsigned char *bytes;
    uint64_t size;
    Elf64_Ehdr header;
} image;

static bool fetch(const image *m, uint64_t offset, void *out, uint64_t bytes) {
    if (offset > m->size || bytes > m->size - offset) return false;
    memcpy(out, m->bytes + offset, bytes);
    return true;
}

static bool section_at(const image *m, uint64_t i, Elf64_Shdr *out) {
    return i < m->header.e_shnum && fetch(m, m->header.e_shoff + i * sizeof *out, out, sizeof *out);
}

static bool section_find(const image *m, uint32_t type, Elf64_Shdr *out) {
    for (uint64_t i = 0; section_at(m, i, out); ++i)
        if (out->sh_type == type) return true;
    return false;
}

/* The text at an offset of a string section; NULL if it is not inside. */
static const char *text_at(const image *m, const Elf64_Shdr *strings, uint64_t offset) {
    if (offset >= strings->sh_size || strings->sh_offset > m->size || strings->sh_size > m->size - strings->sh_offset)
        return NULL;
    const char *s = (const char *)m->bytes + strings->sh_offset + offset;
    return memchr(s, '\0', strings->sh_size - offset) ? s : NULL;
}

static void list(char *names, size_t bytes, const char *name) {
    size_t used = strlen(names);
    snprintf(names + used, bytes - used, "%s%s", used ? " " : "", name);
}

static void count_symbol(const Elf64_Sym *symbol, const char *name, elf_facts *out) {
    unsigned char bind = ELF64_ST_BIND(symbol->st_info), visibility = ELF64_ST_VISIBILITY(symbol->st_other);
    bool outside = bind != STB_LOCAL && visibility != STV_HIDDEN && visibility != STV_INTERNAL;
    if (symbol->st_shndx == SHN_UNDEF) {
        if (strncmp(name, "wick_", 5) != 0) return;
        ++out->undefined_wick;
        list(out->undefined_names, sizeof out->undefined_names, name);
    } else if (strncmp(name, "__odr_asan", 10) == 0) {
        return; /* the sanitizer's own */
    } else if (outside && ELF64_ST_TYPE(symbol->st_info) != STT_SECTION) {
        ++out->exports;
        out->entries += strncmp(name, ENTRY, strlen(ENTRY)) == 0;
        list(out->export_names, sizeof out->export_names, name);
    }
}

static bool read_symbols(const image *m, elf_facts *out) {
    Elf64_Shdr table, strings;
    if (!section_find(m, SHT_DYNSYM, &table) || !section_at(m, table.sh_link, &strings)) return false;
    for (uint64_t i = 1; i < table.sh_size / sizeof(Elf64_Sym); ++i) {
        Elf64_Sym symbol;
        if (!fetch(m, table.sh_offset + i * sizeof symbol, &symbol, sizeof symbol)) return false;
        const char *name = text_at(m, &strings, symbol.st_name);
        if (!name) return false;
        if (*name) count_symbol(&symbol, name, out);
    }
    return true;
}

static bool read_needed(const image *m, elf_facts *out) {
    Elf64_Shdr table, strings;
    if (!section_find(m, SHT_DYNAMIC, &table) || !section_at(m, table.sh_link, &strings)) return false;
    for (uint64_t i = 0; i < table.sh_size / sizeof(Elf64_Dyn); ++i) {
        Elf64_Dyn entry;
        if (!fetch(m, table.sh_offset + i * sizeof entry, &entry, sizeof entry)) return false;
        if (entry.d_tag == DT_NULL) break;
        if (entry.d_tag != DT_NEEDED) continue;
        const char *name = text_at(m, &strings, entry.d_un.d_val);
        if (!name) return false;
        ++out->needed;
        list(out->needed_names, sizeof out->needed_names, name);
    }
    return true;
}

static void read_image(image *m, elf_facts *out) {
    const char *problem = NULL;
    if (!fetch(m, 0, &m->header, sizeof m->header) || memcmp(m->header.e_ident, ELFMAG, SELFMAG) != 0)
        problem = "not an ELF file";
    else if (m->header.e_ident[EI_CLASS] != ELFCLASS64 || m->header.e_shentsize != sizeof(Elf64_Shdr))
        problem = "not a 64-bit ELF file with section headers";
    else if (out->shared_object = m->header.e_type == ET_DYN, !read_symbols(m, out) || !read_needed(m, out))
        problem = "its tables lie outside the file: it is cut or damaged";
    if (problem) snprintf(out->problem, sizeof out->problem, "%s", problem);
}

void elf_read(const char *path, elf_facts *out) {
    struct stat info;
    image m = {0};
    memset(out, 0, sizeof *out);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &info) || !S_ISREG(info.st_mode) || info.st_size == 0) {
        snprintf(out->problem, sizeof out->problem, "%s", fd < 0 ? "cannot be opened" : "not a file with contents");
    } else {
        void *mapped = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (mapped == MAP_FAILED) {
            snprintf(out->problem, sizeof out->problem, "cannot be mapped");
        } else {
            m.bytes = mapped, m.size = (uint64_t)info.st_size;
            read_image(&m, out);
            munmap(mapped, m.size);
        }
    }
    if (fd >= 0) close(fd);
}
