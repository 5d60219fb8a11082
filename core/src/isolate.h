/* Trying a plugin in a child process, so that a crash there is a refusal here. */
#ifndef WICK_ISOLATE_H
#define WICK_ISOLATE_H

#include <wick/config.h>

#include "text.h"

#define ISOLATE_TIMEOUT_MS 20000
#define ISOLATE_ANSWER_FD 3 /* where the child writes its answer */

/* Runs `wick-probe CONFIG-NAME PLUGIN-NAME PLUGIN-PATH` with the configuration's text as its standard input. Success if
 * the child lived to give an answer, whatever it was: loading the plugin here then gives the same one. Otherwise
 * FAILED_PRECONDITION: the signal that ended it, or the time that it was given. */
wick_status *isolate_probe(const wick_config_file *config, const wick_allocator *memory, const char *name,
                           const char *path);

#endif
