/* The reader that sees a plugin before dlopen does. It is private to libwick, so it is compiled in. */
#include "../../core/src/elf.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static wick_status *read_names(const elf_image *image) {
    const char *name = "";
    for (uint64_t i = 0; name && i < 64; ++i) WICK_TRY(elf_needed_at(image, i, &name));
    return elf_soname(image, &name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    static const elf_rules rules = {"wick_plugin_query", "wick_", 0};
    elf_image image;
    wick_status *status = elf_open(data, bytes, &image);
    if (!status) {
        wick_status_free(read_names(&image));
        status = elf_check(&image, &rules);
    }
    wick_status_free(status);
    return 0;
}
