/* Where plugins and the probe program are looked for. Never in the current folder: relative folders are passed over. */
#ifndef WICK_SEARCH_H
#define WICK_SEARCH_H

#include <limits.h>

#include "text.h"

/* Finds the file of plugin `name`: at `path` if that is not "", else NAME.so in $WICK_PLUGIN_PATH and the install
 * folders, the first that exists. *out is absolute. Every path that was looked at is added to `tried`, a line each,
 * with what was wrong. NOT_FOUND. */
wick_status *search_plugin(const char *path, const char *name, text *tried, char out[PATH_MAX]);
/* The names (without ".so") of the shared objects in the first install folder that exists, sorted, a line each in
 * `names`; none if there is no such folder. `folders` lists the folders looked at, separated by ", ". */
wick_status *search_installed(text *names, text *folders);
/* The program that tries plugins in a process of its own: $WICK_PROBE, else wick-probe beside the library. NOT_FOUND. */
wick_status *search_probe(text *tried, char out[PATH_MAX]);

#endif
