/* What the files of the conformance runner share. */
#ifndef WICK_CHECK_RUNNER_H
#define WICK_CHECK_RUNNER_H

#include <wick/call.h>
#include <wick/config.h>
#include <wick/sdk/interface.h>

#include "check.h"

/* ---- known.c: what is known about a plugin ---- */
typedef struct known_line {
    bool exclude; /* else expect-fail */
    char op[96];
    char subject[48]; /* words in the names of cases, the whole case of an expected failure; "" for all */
    char reason[256];
    uint32_t hits;   /* failures that it explains */
    uint32_t passes; /* cases that it names and that passed */
} known_line;

typedef struct known_list {
    known_line *lines;
    size_t count;
} known_list;

/* Lines `exclude OP [WORDS] : REASON` and `expect-fail OP [CASE] : REASON`; # starts a comment. */
wick_status *known_read(const char *path, known_list *out);
void known_free(known_list *known);
/* The exclusion that holds for a case of the operator (NULL: for the whole operator): "f32" or "empty", say. NULL if
 * there is none. */
const known_line *known_exclusion(const known_list *known, const char *op, const char *label);
/* The expected failure that names the operator or this case of it; NULL if none. */
known_line *known_failure(const known_list *known, const char *op, const char *label);

/* ---- a run ---- */
typedef struct runner {
    const check_options *options;
    known_list known;
    check_report *report;
    check_mode mode;
    int channel;        /* where a child writes its results; -1: into the report */
    uint32_t begun;     /* items begun in this mode */
    uint32_t resume_at; /* items before it were done by a child that ended */
    /* the plugin, while it is loaded */
    wick_runtime *runtime;
    wick_context *c;
    wick_device device, host;
    int32_t device_count;
} runner;

/* ---- record.c: results ---- */
/* Announces what is looked at next: it is named if the plugin ends the process. False: it is to be passed over. */
bool check_begin(runner *r, const char *item);
/* Names the case of the item, for the same purpose. */
void check_case(runner *r, const char *label);
void check_pass(runner *r, const char *item, const char *label);
void check_fail(runner *r, const char *item, const char *label, const char *format, ...) WICK_PRINTF(4, 5);
void check_note(runner *r, const char *item, const char *label, const char *format, ...) WICK_PRINTF(4, 5);
/* Pass if `ok`, else the failure that the text describes. Returns ok. */
bool check_that(runner *r, bool ok, const char *item, const char *label, const char *format, ...) WICK_PRINTF(5, 6);
/* Pass if there is no error, else its text; frees it. Returns true if there was none. */
bool check_status(runner *r, wick_status *status, const char *item, const char *label);
/* Like check_status, for what the context has latched. */
bool check_context(runner *r, const char *item, const char *label);
void check_operator_done(runner *r, const check_operator *op);
void check_device(runner *r, const char *version, const char *device, const char *hardware);
/* The status and its causes in one line, cut at `bytes`. */
const char *check_status_text(const wick_status *status, char *buffer, size_t bytes);
/* Takes over one line that a child wrote. False: it is malformed. */
bool record_line(runner *r, char *line);
void record_result(runner *r, check_verdict verdict, const char *item, const char *label, const char *detail);

/* ---- plugin.c: loading it ---- */
/* Loads the plugin as [plugin.NAME] beside what computes the right results, and makes a context. False: told. */
bool plugin_open(runner *r);
/* The same with more lines in its section, and without telling: the caller judges. To be closed in any case. */
wick_status *plugin_open_with(runner *r, const char *extra);
void plugin_close(runner *r);
/* The INI text that loads the plugin with `extra` lines, under `name`. Cut at `bytes`. */
void plugin_ini(const runner *r, const char *name, const char *extra, char *buffer, size_t bytes);
/* A runtime with nothing but the plugin. *out is set even if the plugin did not load. */
wick_status *plugin_load(const runner *r, const char *extra, wick_runtime **out);
/* Name of the INI section: the file's name without folder and ending. */
void plugin_name(const runner *r, char *buffer, size_t bytes);
/* A raw interface of the device under test, NULL if it has none. */
const void *plugin_interface(const runner *r, const char *name, void **out_instance);

/* ---- the modes ---- */
void mode_load(runner *r);
void mode_memory(runner *r);
void mode_ops(runner *r);
void mode_grad(runner *r);
void mode_stress(runner *r);
void mode_perf(runner *r);
/* goldens.c: recorded results, with gradients or without. */
void mode_goldens(runner *r, bool grad);

/* ---- elf_symbols.c: what a shared object shows ---- */
typedef struct elf_facts {
    bool shared_object;
    char problem[160]; /* why it cannot be read; "" if it can */
    int exports;       /* defined and visible */
    char export_names[512];
    int undefined_wick;
    char undefined_names[512];
    int needed;
    char needed_names[512];
    int entries; /* wick_plugin_query or wick_plugin_query_NAME */
} elf_facts;
void elf_read(const char *path, elf_facts *out);

/* ---- interfaces.c: tables and their required slots ---- */
void check_interfaces(runner *r);

/* ---- small things ---- */
uint64_t check_random(uint64_t *state); /* splitmix64 */
double check_seconds(void);             /* monotonic */
uint64_t check_resident_bytes(void);    /* of this process; 0 if unknown */

#endif
