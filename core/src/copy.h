/* Elements to and from host buffers, row-major. Both wait for the device. */
#ifndef WICK_CORE_COPY_H
#define WICK_CORE_COPY_H

#include "dispatch.h"

/* `t` is row-major; `buffer` holds numel elements of its dtype. */
wick_status *tensor_write(context_impl *c, wick_tensor *t, const void *buffer);
/* Any strides and lazy signs. */
wick_status *tensor_read(context_impl *c, const wick_tensor *t, void *buffer);
/* The one element of `t` as a Scalar; a complex one lives as long as the innermost scope. False: the context failed. */
bool tensor_scalar(context_impl *c, const wick_tensor *t, wick_value *out);

#endif
