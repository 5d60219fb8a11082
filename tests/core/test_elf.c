/* The ELF reader on a real plugin, and on the same bytes cut and damaged. */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <wick/sdk/plugin.h>

/* Private to libwick, so it is compiled in. */
#include "../../core/src/elf.c"

#define PLUGINS WICK_BUILD_DIR "/tests/plugins"

static const elf_rules rules = {"wick_plugin_query", "wick_", WICK_SANITIZER};

typedef struct file_bytes {
    uint8_t *bytes;
    size_t size;
} file_bytes;

static file_bytes read_plugin(const char *name) {
    char path[4096];
    snprintf(path, sizeof path, PLUGINS "/%s.so", name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    file_bytes f = {.size = (size_t)ftell(file)};
    rewind(file);
    f.bytes = malloc(f.size);
    assert_non_null(f.bytes);
    assert_int_equal(fread(f.bytes, 1, f.size, file), f.size);
    fclose(file);
    return f;
}

static void assert_error(wick_status *status, wick_code code, const char *message) {
    assert_non_null(status);
    if (!strstr(wick_status_message(status), message)) {
        fail_msg("got \"%s\", wanted \"%s\"", wick_status_message(status), message);
    }
    assert_int_equal(wick_status_code(status), code);
    wick_status_free(status);
}

/* Reads everything there is; an error is as good as a success. */
static void read_all(const uint8_t *bytes, size_t size) {
    elf_image image;
    const char *name;
    wick_status *status = elf_open(bytes, size, &image);
    if (!status) {
        for (uint64_t i = 0; !status && (status = elf_needed_at(&image, i, &name)) == NULL && name; ++i) {}
        wick_status_free(status);
        status = elf_soname(&image, &name);
        wick_status_free(status);
        status = elf_check(&image, &rules);
    }
    wick_status_free(status);
}

static void test_plugin(void **state) {
    file_bytes f = read_plugin("good");
    elf_image image;
    elf_symbol symbol;
    const char *name;
    bool libc = false, entry = false;
    assert_null(elf_open(f.bytes, f.size, &image));
    assert_null(elf_check(&image, &rules));
    for (uint64_t i = 0; elf_needed_at(&image, i, &name) == NULL && name; ++i) libc |= strncmp(name, "libc.", 5) == 0;
    for (uint64_t i = 0; i < image.symbol_count; ++i) {
        assert_null(elf_symbol_at(&image, i, &symbol));
        entry |= symbol.exported && strcmp(symbol.name, "wick_plugin_query") == 0;
    }
    assert_true(libc);
    assert_true(entry);
    assert_error(elf_symbol_at(&image, image.symbol_count, &symbol), WICK_DATA_LOSS, "does not exist");
    free(f.bytes);
}

static void test_soname(void **state) {
    file_bytes f = read_plugin("elsewhere/libfixture_missing");
    elf_image image;
    const char *name;
    assert_null(elf_open(f.bytes, f.size, &image));
    assert_null(elf_soname(&image, &name));
    assert_string_equal(name, "libfixture_missing.so");
    assert_error(elf_check(&image, &rules), WICK_FAILED_PRECONDITION, "does not export wick_plugin_query");
    free(f.bytes);
}

static void test_identity(void **state) {
    static const struct {
        size_t offset;
        uint8_t byte;
        wick_code code;
        const char *message;
    } cases[] = {
        {0, 'M', WICK_DATA_LOSS, "not an ELF file (starts with \"MELF"},
        {EI_CLASS, ELFCLASS32, WICK_UNSUPPORTED, "ELF 32-bit, wanted 64-bit"},
        {EI_CLASS, 9, WICK_UNSUPPORTED, "ELF of unknown class, wanted 64-bit"},
        {EI_DATA, ELFDATA2MSB, WICK_UNSUPPORTED, "ELF big-endian, this host is little-endian"},
        {offsetof(Elf64_Ehdr, e_type), ET_REL, WICK_UNSUPPORTED, "ELF type 1, wanted a shared object (3)"},
        {offsetof(Elf64_Ehdr, e_machine), EM_S390, WICK_UNSUPPORTED, "machine s390, this host is "},
        {offsetof(Elf64_Ehdr, e_machine), 0xfe, WICK_UNSUPPORTED, "machine number 254, this host is "},
        {offsetof(Elf64_Ehdr, e_phentsize), 1, WICK_DATA_LOSS, "program headers of 1 bytes, wanted 56"},
        {offsetof(Elf64_Ehdr, e_phoff) + 7, 0xff, WICK_DATA_LOSS, "program headers lie outside"},
        {offsetof(Elf64_Ehdr, e_phnum) + 1, 0xff, WICK_DATA_LOSS, "program headers lie outside"},
        {offsetof(Elf64_Ehdr, e_phnum), 0, WICK_DATA_LOSS, "no dynamic section"},
    };
    file_bytes f = read_plugin("good");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        elf_image image;
        uint8_t before = f.bytes[cases[i].offset];
        f.bytes[cases[i].offset] = cases[i].byte;
        assert_error(elf_open(f.bytes, f.size, &image), cases[i].code, cases[i].message);
        f.bytes[cases[i].offset] = before;
    }
    free(f.bytes);
}

/* Each length in a block of its own, so that reading past the end is seen by the sanitizers. */
static void test_every_length(void **state) {
    file_bytes f = read_plugin("good");
    for (size_t size = 0; size < f.size; size += size < 1024 ? 1 : 97) {
        uint8_t *cut = malloc(size ? size : 1);
        assert_non_null(cut);
        memcpy(cut, f.bytes, size);
        read_all(cut, size);
        free(cut);
    }
    free(f.bytes);
}

static void test_damage(void **state) {
    static const uint8_t bytes[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
    file_bytes f = read_plugin("good");
    for (size_t i = 0; i < f.size && i < 6000; ++i) {
        uint8_t before = f.bytes[i];
        for (size_t k = 0; k < sizeof bytes; ++k) {
            f.bytes[i] = bytes[k];
            read_all(f.bytes, f.size);
        }
        f.bytes[i] = before;
    }
    free(f.bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plugin),       cmocka_unit_test(test_soname), cmocka_unit_test(test_identity),
        cmocka_unit_test(test_every_length), cmocka_unit_test(test_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
