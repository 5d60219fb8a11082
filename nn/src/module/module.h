/* The module itself, for the files of this folder. */
#ifndef WICK_NN_MODULE_MODULE_H
#define WICK_NN_MODULE_MODULE_H

#include "nn.h"

#include <stdatomic.h>
#include <wick/module.h>

typedef struct module_slot {
    char *name;
    wick_tensor *tensor; /* NULL: done without */
    bool buffer, persistent;
} module_slot;

typedef struct module_child {
    char *name;
    wick_module *module;
} module_child;

struct wick_module {
    const wick_module_class *cls;
    atomic_int references;
    bool training;
    module_slot *slots;
    size_t slot_count, slot_capacity;
    module_child *children;
    size_t child_count, child_capacity;
    _Alignas(max_align_t) unsigned char payload[];
};

#endif
