/* Calls in text, "conv2d(16, kernel=3, padding=1)", against a list of arguments,
 * "out_channels, kernel:size, stride:size=1, bias:bool=yes": NAME[:TYPE][=DEFAULT], type int if none is given.
 * Types: int, real, bool (yes or no), size (4, or 4x6: height x width). */
#ifndef WICK_NN_LAYERS_SPEC_H
#define WICK_NN_LAYERS_SPEC_H

#include "nn.h"

#define SPEC_ARGUMENTS 10

typedef struct spec_value {
    int64_t i[2]; /* of an int: [0]; of a size: height, width */
    double real;
    bool flag;
} spec_value;

/* The call's name, "conv2d", into `name`; false if the text is no call. */
bool spec_name(const char *text, char *name, size_t bytes);
/* Fills values[] in the order of `arguments`. The error names the argument, what was got and what is wanted. */
wick_status *spec_parse(const char *text, const char *arguments, spec_value values[SPEC_ARGUMENTS]);

#endif
