/* What `wick new` writes: the files of sdk/template, compiled in. */
#ifndef WICK_CLI_TEMPLATES_H
#define WICK_CLI_TEMPLATES_H

#include <stddef.h>

typedef struct template_file {
    const char *kind; /* "device" */
    const char *path; /* below the project's folder; "plugin" in it stands for the project's name */
    const char *text; /* @NAME@ in it stands for the project's name */
} template_file;

extern const template_file template_files[];
extern const size_t template_file_count;

#endif
