/* Results: kept in the report, or written to the parent as lines of fields separated by tabs. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runner.h"

#define DETAIL_BYTES 1024

static const char *const mode_names[] = {
#define MODE_NAME(NAME, name, text) name,
    CHECK_MODES(MODE_NAME)
#undef MODE_NAME
};
static const char *const how_names[] = {"kernel", "decomposition", "core", "fallback", "unsupported", "excluded"};
static const char *const verdict_names[] = {"pass", "FAIL", "expected", "note"};

const char *check_mode_name(check_mode mode) { return mode_names[mode]; }
const char *check_how_name(check_how how) { return how_names[how]; }
const char *check_verdict_name(check_verdict verdict) { return verdict_names[verdict]; }

/* ---- lines from a child to its parent ---- */
/* Tabs and line ends would end a field. */
static void clean(char *text) {
    for (; *text; ++text)
        if ((unsigned char)*text < ' ') *text = ' ';
}

/* One write: lines of several threads do not mix, and a crash cuts none. */
static void send_line(const runner *r, const char *format, ...) WICK_PRINTF(2, 3);
static void send_line(const runner *r, const char *format, ...) {
    char line[2 * DETAIL_BYTES];
    va_list list;
    va_start(list, format);
    int length = vsnprintf(line, sizeof line - 1, format, list);
    va_end(list);
    if (length < 0) return;
    if ((size_t)length > sizeof line - 2) length = (int)sizeof line - 2;
    line[length++] = '\n';
    for (int done = 0; done < length;) {
        ssize_t n = write(r->channel, line + done, (size_t)(length - done));
        if (n <= 0) _exit(3); /* the parent is gone */
        done += (int)n;
    }
}

/* ---- the report ---- */
static void *grown(void *items, size_t count, size_t *room, size_t bytes) {
    if (count < *room) return items;
    *room = *room ? 2 * *room : 64;
    items = realloc(items, *room * bytes);
    if (!items) abort(); /* a few megabytes of results: nothing can be reported any more */
    return items;
}

static void keep_result(check_report *report, const check_result *result) {
    report->results = grown(report->results, report->result_count, &report->result_room, sizeof *result);
    report->results[report->result_count++] = *result;
    ++report->counts[result->mode][result->verdict];
}

/* Passes are counted, not listed, where there are thousands. */
static bool is_listed(check_mode mode, check_verdict verdict) {
    return verdict != CHECK_PASS || (mode != CHECK_OPS && mode != CHECK_GRAD);
}

static check_verdict judge(runner *r, check_verdict verdict, const char *item, const char *label, const char **reason) {
    known_line *known = known_failure(&r->known, item, label);
    if (!known) return verdict;
    if (verdict == CHECK_PASS) ++known->passes;
    if (verdict != CHECK_FAIL) return verdict;
    ++known->hits;
    *reason = known->reason;
    return CHECK_EXPECTED;
}

void record_result(runner *r, check_verdict verdict, const char *item, const char *label, const char *detail) {
    const char *reason = NULL;
    char text[2 * DETAIL_BYTES];
    verdict = judge(r, verdict, item, label, &reason);
    if (!is_listed(r->mode, verdict)) {
        ++r->report->counts[r->mode][verdict];
        return;
    }
    snprintf(text, sizeof text, "%s%s%s%s", detail, reason ? " (" : "", reason ? reason : "", reason ? ")" : "");
    keep_result(r->report, &(check_result){r->mode, verdict, strdup(item), strdup(label), strdup(text)});
}

static void tell(runner *r, check_verdict verdict, const char *item, const char *label, const char *format,
                 va_list list) {
    char detail[DETAIL_BYTES];
    vsnprintf(detail, sizeof detail, format, list);
    clean(detail);
    if (r->channel < 0)
        record_result(r, verdict, item, label, detail);
    else
        send_line(r, "R\t%d\t%s\t%s\t%s", verdict, item, label, detail);
}

static void tell_plain(runner *r, check_verdict verdict, const char *item, const char *label, const char *format, ...)
    WICK_PRINTF(5, 6);
static void tell_plain(runner *r, check_verdict verdict, const char *item, const char *label, const char *format, ...) {
    va_list list;
    va_start(list, format);
    tell(r, verdict, item, label, format, list);
    va_end(list);
}

bool check_begin(runner *r, const char *item) {
    if (r->begun++ < r->resume_at) return false;
    if (r->channel >= 0) send_line(r, "B\t%s", item);
    return true;
}

void check_case(runner *r, const char *label) {
    if (r->channel >= 0) send_line(r, "C\t%s", label);
}

void check_pass(runner *r, const char *item, const char *label) { tell_plain(r, CHECK_PASS, item, label, "%s", ""); }

void check_fail(runner *r, const char *item, const char *label, const char *format, ...) {
    va_list list;
    va_start(list, format);
    tell(r, CHECK_FAIL, item, label, format, list);
    va_end(list);
}

void check_note(runner *r, const char *item, const char *label, const char *format, ...) {
    va_list list;
    va_start(list, format);
    tell(r, CHECK_NOTE, item, label, format, list);
    va_end(list);
}

bool check_that(runner *r, bool ok, const char *item, const char *label, const char *format, ...) {
    va_list list;
    va_start(list, format);
    if (ok)
        check_pass(r, item, label);
    else
        tell(r, CHECK_FAIL, item, label, format, list);
    va_end(list);
    return ok;
}

const char *check_status_text(const wick_status *status, char *buffer, size_t bytes) {
    size_t used = 0;
    buffer[0] = '\0';
    for (const wick_status *s = status; s && used + 1 < bytes; s = wick_status_cause(s)) {
        int n = snprintf(buffer + used, bytes - used, "%s%s", s == status ? "" : ": ", wick_status_message(s));
        used += n > 0 ? (size_t)n : 0;
    }
    return buffer;
}

bool check_status(runner *r, wick_status *status, const char *item, const char *label) {
    char text[DETAIL_BYTES];
    if (!status) return check_pass(r, item, label), true;
    check_fail(r, item, label, "%s: %s", wick_code_text(wick_status_code(status)),
               check_status_text(status, text, sizeof text));
    wick_status_free(status);
    return false;
}

bool check_context(runner *r, const char *item, const char *label) {
    return check_status(r, wick_status_take(r->c), item, label);
}

/* ---- operators and the device ---- */
static void keep_operator(check_report *report, const check_operator *op) {
    report->operators = grown(report->operators, report->operator_count, &report->operator_room, sizeof *op);
    check_operator *kept = &report->operators[report->operator_count++];
    *kept = *op;
    kept->name = strdup(op->name);
}

void check_operator_done(runner *r, const check_operator *op) {
    if (r->channel < 0)
        keep_operator(r->report, op);
    else
        send_line(r, "O\t%d\t%s\t%u\t%u\t%u\t%u\t%u\t%u", op->how, op->name, op->passed, op->failed, op->unsupported,
                  op->dtypes_passed, op->dtypes_failed, op->dtypes_host);
}

static void replace(char **text, const char *with) {
    free(*text);
    *text = strdup(with);
}

static void keep_device(check_report *report, const char *version, const char *device, const char *hardware) {
    replace(&report->version, version);
    replace(&report->device, device);
    replace(&report->hardware, hardware);
}

void check_device(runner *r, const char *version, const char *device, const char *hardware) {
    if (r->channel < 0)
        keep_device(r->report, version, device, hardware);
    else
        send_line(r, "D\t%s\t%s\t%s", version, device, hardware);
}

/* ---- reading them back ---- */
#define FIELDS 9

/* The last field keeps what tabs it has. */
static int split(char *line, char *fields[FIELDS]) {
    int n = 0;
    fields[n++] = line;
    for (char *tab; n < FIELDS && (tab = strchr(fields[n - 1], '\t')) != NULL; ++n) {
        *tab = '\0';
        fields[n] = tab + 1;
    }
    return n;
}

static bool read_operator(runner *r, char *const *f) {
    check_operator op = {.mode = r->mode, .how = (check_how)atoi(f[1]), .name = f[2]};
    uint32_t *const numbers[] = {&op.passed,        &op.failed,        &op.unsupported,
                                 &op.dtypes_passed, &op.dtypes_failed, &op.dtypes_host};
    for (int i = 0; i < 6; ++i) *numbers[i] = (uint32_t)strtoul(f[3 + i], NULL, 10);
    if ((unsigned)op.how >= CHECK_HOW_COUNT) return false;
    keep_operator(r->report, &op);
    return true;
}

bool record_line(runner *r, char *line) {
    char *f[FIELDS];
    int n = split(line, f);
    if (f[0][0] == 'R' && n == 5 && (unsigned)atoi(f[1]) < CHECK_VERDICT_COUNT)
        return record_result(r, (check_verdict)atoi(f[1]), f[2], f[3], f[4]), true;
    if (f[0][0] == 'D' && n == 4) return keep_device(r->report, f[1], f[2], f[3]), true;
    return f[0][0] == 'O' && n == 9 && read_operator(r, f);
}

/* ---- small things ---- */
uint64_t check_random(uint64_t *state) {
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

double check_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

uint64_t check_resident_bytes(void) {
    unsigned long long total, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file) return 0;
    if (fscanf(file, "%llu %llu", &total, &resident) != 2) resident = 0;
    fclose(file);
    return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}
