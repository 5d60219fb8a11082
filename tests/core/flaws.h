/* Plugins with a flaw each and what becomes of them. docs/plugin-abi.md shows this table; test_loader.c holds the two
 * together and tries each; those that take long belong to test_lifecycle_slow.c. */
#ifndef WICK_TESTS_FLAWS_H
#define WICK_TESTS_FLAWS_H

#include <wick/runtime.h>
#include <wick/sdk/abi.h>

typedef struct flaw {
    const char *what, *file; /* in tests/plugins of the build folder */
    wick_backend_state state;
    const char *stage, *reason; /* `reason`: a part of it */
    const char *keys;           /* of the plugin's section */
    bool slow;
} flaw;

#define ISOLATED "isolate = yes"
/* The sanitizers catch the signal and exit. */
#define SEGFAULTED \
    (WICK_SANITIZER ? "the isolated process ended without an answer" : "the isolated process died of SIGSEGV")

static const flaw flaws[] = {
    /* the file */
    {"no such file", "absent.so", WICK_BACKEND_ABSENT, "search", "/absent.so was not found", ""},
    {"a folder", "elsewhere", WICK_BACKEND_FOUND, "elf", "is a folder, wanted a file", ""},
    {"another kind of file", "text.so", WICK_BACKEND_FOUND, "elf", "not an ELF file (starts with \"#!/bin/s\")", ""},
    {"an empty file", "empty.so", WICK_BACKEND_FOUND, "elf", "not an ELF file (it is empty)", ""},
    {"a file that was cut", "cut.so", WICK_BACKEND_FOUND, "elf", "lies outside the file of 4096 bytes: it is cut", ""},
    {"entry missing", "no_entry.so", WICK_BACKEND_FOUND, "elf", "does not export wick_plugin_query", ""},
    {"extra exports", "extra_exports.so", WICK_BACKEND_FOUND, "elf",
     "exports 2 symbols besides wick_plugin_query: extra_", ""},
    {"undefined symbol of wick", "undefined_wick.so", WICK_BACKEND_FOUND, "elf",
     "has undefined symbol wick_release: plugins link nothing of wick", ""},
    {"needed library missing", "needs_missing.so", WICK_BACKEND_FOUND, "dlopen",
     "needs libfixture_missing.so, which was not found", ""},
    /* isolated */
    {"isolated: a constructor aborts", "aborts.so", WICK_BACKEND_REFUSED, "isolate",
     "the isolated process died of SIGABRT", ISOLATED},
    {"isolated: a constructor segfaults", "segfaults.so", WICK_BACKEND_REFUSED, "isolate", SEGFAULTED, ISOLATED},
    {"isolated: a constructor exits", "exits.so", WICK_BACKEND_REFUSED, "isolate",
     "the isolated process ended without an answer, exit code 0", ISOLATED},
    {"isolated: a constructor loops", "loops.so", WICK_BACKEND_REFUSED, "isolate",
     "the isolated process was not done in 20 s", ISOLATED, true},
    {"isolated: create aborts", "good.so", WICK_BACKEND_REFUSED, "isolate", "the isolated process died of SIGABRT",
     ISOLATED "\nabort = now"},
    /* the query */
    {"query refuses", "refusing.so", WICK_BACKEND_REFUSED, "query", "the plugin refused: not on a Tuesday", ""},
    {"wrong magic", "wrong_magic.so", WICK_BACKEND_REFUSED, "query",
     "descriptor: got magic 0x12345678, wanted 0x6b636977", ""},
    {"descriptor of size 0", "zero_size.so", WICK_BACKEND_REFUSED, "query", "descriptor: got 0 bytes, wanted 56", ""},
    {"descriptor truncated", "truncated.so", WICK_BACKEND_REFUSED, "query", "descriptor: got 40 bytes, wanted 56", ""},
    {"older minor", "older_minor.so", WICK_BACKEND_REFUSED, "query", "ABI: got 0.1, wanted 0.2", ""},
    {"newer minor", "newer_minor.so", WICK_BACKEND_REFUSED, "query", "ABI: got 0.3, wanted 0.2", ""},
    {"newer major", "newer_major.so", WICK_BACKEND_REFUSED, "query", "ABI: got 1.2, wanted 0.2", ""},
    {"a newer host wanted", "newer_host_wanted.so", WICK_BACKEND_REFUSED, "query",
     "ABI: the plugin wants a host of 0.3 or newer, this one is 0.2", ""},
    {"another sanitizer", "wrong_sanitizer.so", WICK_BACKEND_REFUSED, "query", "sanitizer: got ", ""},
    {"null slot: create", "no_create.so", WICK_BACKEND_REFUSED, "query", "descriptor: required slot create is not set",
     ""},
    {"null slot: name", "no_name.so", WICK_BACKEND_REFUSED, "query", "descriptor: required slot name is not set", ""},
    /* create */
    {"create fails", "good.so", WICK_BACKEND_REFUSED, "create", "the driver is asleep", "fail = the driver is asleep"},
    {"a key with a bad value", "good.so", WICK_BACKEND_REFUSED, "create",
     "test.ini:4: [plugin.x] devices: got \"two\", wanted an integer", "devices = two"},
    {"an unknown key", "good.so", WICK_BACKEND_REFUSED, "create",
     "test.ini:4: [plugin.x] devcies: got unknown key, nearest known is devices", "devcies = 2"},
    {"nothing registered", "registers_nothing.so", WICK_BACKEND_REFUSED, "create", "create registered nothing", ""},
    {"backend truncated", "backend_truncated.so", WICK_BACKEND_REFUSED, "create",
     "wick_backend: got 16 bytes, wanted 64", ""},
    {"null slot of the backend", "backend_no_slot.so", WICK_BACKEND_REFUSED, "create",
     "wick_backend: required slot device_query is not set", ""},
    {"kernels counted, not given", "backend_null_kernels.so", WICK_BACKEND_REFUSED, "create",
     "wick_backend: required slot kernels is not set", ""},
    {"bad device name", "backend_bad_name.so", WICK_BACKEND_REFUSED, "create",
     "wick_backend: device_name is \"a-b\", wanted 1 to 31 letters, digits and _", ""},
    {"two backends", "backend_twice.so", WICK_BACKEND_REFUSED, "create", "register_backend: called twice, wanted once",
     ""},
    /* probe */
    {"no device", "good.so", WICK_BACKEND_NO_DEVICE, "probe", "no device", "devices = 0"},
    {"no memory interface", "no_memory.so", WICK_BACKEND_REFUSED, "probe",
     "interface \"memory\" 1: got none, wanted one", ""},
    {"memory interface truncated", "memory_truncated.so", WICK_BACKEND_REFUSED, "probe",
     "interface \"memory\" 1: got 24 bytes, wanted 56", ""},
    {"null slot of an interface", "memory_no_slot.so", WICK_BACKEND_REFUSED, "probe",
     "interface \"memory\" 1: required slot free is not set", ""},
    {"bad alignment", "memory_alignment.so", WICK_BACKEND_REFUSED, "probe",
     "interface \"memory\" 1: alignment_bytes is 24, wanted a power of two >= 16", ""},
    {"not addressable, no copies", "memory_no_copies.so", WICK_BACKEND_REFUSED, "probe",
     "interface \"memory\" 1: required slot copy_from_host is not set", ""},
    {"one of two pinned slots", "memory_half_pinned.so", WICK_BACKEND_REFUSED, "probe",
     "interface \"memory\" 1: required slot free_pinned is not set", ""},
    {"null slot of an optional interface", "stream_no_slot.so", WICK_BACKEND_REFUSED, "probe",
     "interface \"stream\" 1: required slot query is not set", ""},
    {"streams without synchronize", "stream_no_synchronize.so", WICK_BACKEND_REFUSED, "probe",
     "wick_backend: interface \"stream\" 1 requires slot synchronize", ""},
    {"kernel row truncated", "kernel_truncated.so", WICK_BACKEND_REFUSED, "probe",
     "kernel row add.Tensor: its size is less than this ABI's", ""},
    {"kernel row without a function", "kernel_null.so", WICK_BACKEND_REFUSED, "probe",
     "kernel row add.Tensor: it has no function", ""},
};

#endif
