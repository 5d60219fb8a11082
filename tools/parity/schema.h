/* What is needed of a schema string: types, names and defaults of its arguments. */
#ifndef WICK_PARITY_SCHEMA_H
#define WICK_PARITY_SCHEMA_H

#include <stdbool.h>

#define SCHEMA_MAX_ARGS 24

/* One argument: "SymInt[2]", "output_size". */
typedef struct schema_arg {
    char type[24]; /* without alias marks */
    char name[40];
    char preset[40]; /* the default's text, "" if there is none */
    bool kwarg_only;
    bool mutated; /* Tensor(a!) */
} schema_arg;
/* Returns the number of arguments, -1 if there are too many. */
int schema_arguments(const char *schema, schema_arg args[SCHEMA_MAX_ARGS]);

#endif
