/* The functions of linked_work.c. */
#ifndef WICK_TESTS_SDK_LINKED_WORK_H
#define WICK_TESTS_SDK_LINKED_WORK_H

#include <wick/context.h>

__attribute__((visibility("hidden"))) wick_status *linked_scopes(wick_context *c);
__attribute__((visibility("hidden"))) wick_status *linked_gradients(wick_context *c);
__attribute__((visibility("hidden"))) wick_status *linked_errors(wick_context *c);
__attribute__((visibility("hidden"))) wick_status *linked_operators(wick_context *c);
__attribute__((visibility("hidden"))) wick_status *linked_everything_else(wick_context *c);

#endif
