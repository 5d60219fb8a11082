/* The gradient of sum(x * x). Build: cc hello.c $(pkg-config --cflags --libs wick) */
#include <stdio.h>
#include <stdlib.h>
#include <wick/autograd.h>
#include <wick/config.h>
#include <wick/ops.h>

static void print_gradient(wick_context *c) {
    const float values[] = {1, 2, 3};
    char *text = NULL;
    wick_scope scope = wick_scope_open(c); /* owns every tensor below */
    wick_tensor *x = wick_tensor_from_host(c, values, WICK_F32, 1, (wick_dim[]){3}, wick_default_device(c));
    wick_set_requires_grad(c, x, true);
    wick_backward(c, wick_sum(c, wick_mul(c, x, x), NULL));
    if (!wick_failed(c) && !wick_fail(c, wick_tensor_to_string(c, wick_grad_of(x), &text))) puts(text);
    free(text);
    wick_scope_close(c, scope);
}

int main(void) {
    wick_runtime *runtime = NULL;
    wick_context *c = NULL;
    wick_status *status = wick_runtime_create(NULL, &runtime);
    if (!status) status = wick_runtime_load_default(runtime, NULL); /* what wick.ini names, else all there is */
    if (!status) status = wick_context_create(runtime, &c);
    if (!status) print_gradient(c);
    if (!status) status = wick_status_take(c); /* the first thing that went wrong, if any */
    if (status) fprintf(stderr, "hello: %s\n", wick_status_message(status));
    int code = status ? 1 : 0;
    wick_status_free(status);
    wick_context_destroy(c);
    wick_runtime_release(runtime);
    return code;
}
