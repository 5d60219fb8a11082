/* A place where a fiber stopped, and the switch from one to another. On x86-64 it is a few instructions; elsewhere, and
 * where the address sanitizer wants to know, ucontext. */
#ifndef WICK_GPU_CONTEXT_H
#define WICK_GPU_CONTEXT_H

#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
#define GPU_OWN_SWITCH 1
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#undef GPU_OWN_SWITCH
#endif
#endif

#ifdef GPU_OWN_SWITCH
struct gpu_context {
    void *stack_pointer;
};

/* Callee-saved registers go to the stack that is left. */
extern "C" void gpu_context_swap(void **from, void *to);
__asm__(".text\n"
        ".hidden gpu_context_swap\n"
        ".globl gpu_context_swap\n"
        ".type gpu_context_swap, @function\n"
        "gpu_context_swap:\n"
        "    pushq %rbp; pushq %rbx; pushq %r12; pushq %r13; pushq %r14; pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15; popq %r14; popq %r13; popq %r12; popq %rbx; popq %rbp\n"
        "    ret\n"
        ".size gpu_context_swap, . - gpu_context_swap\n");

static inline void gpu_context_switch(gpu_context *from, gpu_context *to) {
    gpu_context_swap(&from->stack_pointer, to->stack_pointer);
}

/* `to` begins in `entry`, which never returns, on a stack of its own. */
static inline void gpu_context_make(gpu_context *to, char *stack, size_t bytes, void (*entry)()) {
    void **top = reinterpret_cast<void **>((reinterpret_cast<uintptr_t>(stack) + bytes) & ~uintptr_t(15));
    *--top = nullptr; /* where `entry` would return to */
    *--top = reinterpret_cast<void *>(entry);
    for (int i = 0; i < 6; ++i) *--top = nullptr;
    to->stack_pointer = top;
}
#else
#include <ucontext.h>

struct gpu_context {
    ucontext_t context;
};

static inline void gpu_context_switch(gpu_context *from, gpu_context *to) { swapcontext(&from->context, &to->context); }

static inline void gpu_context_make(gpu_context *to, char *stack, size_t bytes, void (*entry)()) {
    getcontext(&to->context);
    to->context.uc_stack.ss_sp = stack;
    to->context.uc_stack.ss_size = bytes;
    to->context.uc_link = nullptr;
    makecontext(&to->context, entry, 0);
}
#endif

#endif
