/* The parts of the mock HIP runtime (mock_hip.c): a runtime made of host memory, threads as streams and emulated kernels, so
 * that plugin hip runs unchanged on any machine. Codes and semantics are those of the HIP Runtime API reference. */
#ifndef WICK_TESTS_MOCK_HIP_H
#define WICK_TESTS_MOCK_HIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../plugins/gpu/emulate/launch.h"

#define MOCK_API __attribute__((visibility("default")))

enum mock_result {
    MOCK_SUCCESS = 0,
    MOCK_INVALID_VALUE = 1,
    MOCK_OUT_OF_MEMORY = 2,
    MOCK_INVALID_CONFIGURATION = 9,
    MOCK_NO_DEVICE = 100,
    MOCK_INVALID_DEVICE = 101,
    MOCK_INVALID_IMAGE = 200,
    MOCK_INVALID_HANDLE = 400,
    MOCK_NOT_FOUND = 500,
    MOCK_NOT_READY = 600,
    MOCK_LAUNCH_FAILURE = 719,
    MOCK_CAPTURE_UNSUPPORTED = 900,
    MOCK_CAPTURE_UNMATCHED = 903,
    MOCK_CAPTURE_ISOLATION = 905
};

/* ---- mock_fail.c: calls are counted and fail on demand ---- */
/* The code with which this call is to fail, or 0. */
int mock_enter(const char *call);
#define MOCK_ENTER(call)                \
    do {                                \
        int forced_ = mock_enter(call); \
        if (forced_) return forced_;    \
    } while (0)

/* ---- mock_memory.c ---- */
void *mock_allocate(int device, size_t bytes, bool pinned); /* NULL: none left */
bool mock_release(void *address, bool pinned);
/* Is all of [address, address + bytes) in one living block of device (or pinned) memory? */
bool mock_holds(const void *address, size_t bytes, bool pinned);
void mock_memory_info(int device, size_t *out_free, size_t *out_total);

/* ---- mock_stream.c ---- */
typedef struct mock_stream mock_stream;
typedef struct mock_event mock_event;
typedef struct mock_task mock_task;
typedef struct mock_graph mock_graph;

enum mock_kind { MOCK_COPY, MOCK_SET, MOCK_LAUNCH, MOCK_MARK, MOCK_WAIT, MOCK_REPLAY };

struct mock_task {
    enum mock_kind kind;
    void *to;
    const void *from;
    size_t bytes;
    unsigned char value;
    const gpu_emulated_kernel *kernel;
    int (*launch)(const gpu_emulated_kernel *kernel, const unsigned grid[3], const unsigned block[3], size_t shared,
                  const void *args);
    unsigned grid[3], block[3], shared;
    void *payload; /* the task's own: arguments, or staged bytes */
    struct mock_mark *mark;
    mock_graph *graph;
    mock_task *next;
};

/* Puts a copy of the task on the stream, or into the graph that it captures; takes task->payload in any case. */
int mock_put(mock_stream *stream, const mock_task *task);
int mock_stream_wait_idle(mock_stream *stream);
int mock_wait_device(int device); /* all streams; -1: of all devices */
bool mock_is_capturing(const mock_stream *stream);
/* Does the calling thread capture in a mode that forbids calls that might wait? */
bool mock_thread_captures(void);
int mock_current_device(void);

#endif
