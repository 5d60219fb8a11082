/* Stores past the caches. A result that is larger than the last cache will be read from memory whatever happens, and an
 * ordinary store would read each of its lines first. The loops write short stretches to the first-level cache as ever, and
 * cpu_stream moves them on. */
#ifndef WICK_CPU_STREAM_H
#define WICK_CPU_STREAM_H

#include <cpu.h>
#include <prefetch.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define CPU_STREAM_LINE 64

/* Is it worth while for a result of so many bytes? On AMD's processors one thread that computes much for each element (not
 * `light`) is better off with stores that wait in the caches while it computes. */
static inline bool cpu_streams(const cpu_instance *cpu, int64_t bytes, bool light) {
    return bytes >= cpu->stream_bytes && (light || cpu_thread_count(cpu) > 1 || !cpu_is_amd());
}

/* In which order a loop walks: a stretch of each of some pages in turn, until they are done, asking for the next ones. Intel's
 * processors read faster from several pages at a time; in AMD's the hardware reads ahead along one. Elements. */
typedef struct cpu_stream_order {
    int64_t pages, page, stretch, ahead;
} cpu_stream_order;

#define STREAM_STRETCH 256 /* the longest stretch; with more AMD's hardware stops reading ahead */

static inline cpu_stream_order cpu_stream_order_of(int64_t element_bytes) {
    const int64_t page = 4096 / element_bytes;
    if (cpu_is_amd()) return (cpu_stream_order){1, page, STREAM_STRETCH < page ? STREAM_STRETCH : page, 0};
    return (cpu_stream_order){4, page, 128, 4 * page};
}

/* One line of memory, which `to` begins. */
static inline void cpu_stream_line(void *to, const void *from) {
#if defined(CPU_ISA_avx512)
    _mm512_stream_si512(to, _mm512_loadu_si512(from));
#elif defined(__x86_64__)
    for (int i = 0; i < CPU_STREAM_LINE; i += 16)
        _mm_stream_si128((__m128i *)((char *)to + i), _mm_loadu_si128((const __m128i *)((const char *)from + i)));
#else
    memcpy(to, from, CPU_STREAM_LINE);
#endif
}

/* Bytes from `to` on to where a line begins. */
static inline int64_t cpu_stream_head(const void *to) { return -(intptr_t)to & (CPU_STREAM_LINE - 1); }

/* Copies `bytes` to where lines of memory begin or not; a line that is not whole goes through the caches. */
static inline void cpu_stream(char *to, const char *from, size_t bytes) {
#if defined(__x86_64__)
    const size_t head = (size_t)cpu_stream_head(to);
    if (bytes >= head + CPU_STREAM_LINE) {
        memcpy(to, from, head);
        to += head, from += head, bytes -= head;
        for (; bytes >= CPU_STREAM_LINE; to += CPU_STREAM_LINE, from += CPU_STREAM_LINE, bytes -= CPU_STREAM_LINE)
            cpu_stream_line(to, from);
    }
#endif
    memcpy(to, from, bytes);
}

/* Before other threads may read what was streamed. */
static inline void cpu_stream_end(void) {
#if defined(__x86_64__)
    _mm_sfence();
#endif
}

#endif
