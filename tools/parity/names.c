/* From the name of a PyTorch function to an operator's. */
#include <string.h>

#include "parity.h"

/* Prefixes of function names, and what takes their place in an operator's name. */
static const struct {
    const char *prefix, *with;
} prefixes[] = {{"nn.functional.", ""},
                {"linalg.", "linalg_"},
                {"fft.", "fft_"},
                {"special.", "special_"},
                {"torch.ops.aten.", ""}};

const char *operator_name(const parity_case *k) {
    const char *rest = k->name, *with = "";
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; ++i) {
        size_t length = strlen(prefixes[i].prefix);
        if (strncmp(k->name, prefixes[i].prefix, length) == 0) rest = k->name + length, with = prefixes[i].with;
    }
    return arena_format(k->arena, "%s%.*s", with, (int)strcspn(rest, "."), rest);
}
