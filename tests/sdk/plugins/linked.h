/* What the plugin "linked" publishes and test_link calls: feature "test.linked" 1. */
#ifndef WICK_TESTS_SDK_LINKED_H
#define WICK_TESTS_SDK_LINKED_H

#include <wick/context.h>

typedef struct linked_table {
    /* Each gives NULL if wick did what it should. The context has an open scope. */
    wick_status *(*scopes)(wick_context *c);
    wick_status *(*gradients)(wick_context *c);
    wick_status *(*errors)(wick_context *c);
    wick_status *(*operators)(wick_context *c);
    wick_status *(*everything_else)(wick_context *c);
} linked_table;

#endif
