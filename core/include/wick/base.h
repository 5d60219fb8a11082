/* wick/base.h: export macro, version, compiler attributes. No dependencies. */
#ifndef WICK_BASE_H
#define WICK_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WICK_VERSION_MAJOR 0
#define WICK_VERSION_MINOR 1
#define WICK_VERSION_PATCH 0
#define WICK_VERSION_STRING "0.1.0"

#ifdef __cplusplus
#define WICK_BEGIN_DECLS extern "C" {
#define WICK_END_DECLS }
#else
#define WICK_BEGIN_DECLS
#define WICK_END_DECLS
#endif

#if defined(__GNUC__)
#define WICK_API __attribute__((visibility("default")))
#define WICK_MUST_USE __attribute__((warn_unused_result))
#define WICK_PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))
#define WICK_LIKELY(x) __builtin_expect(!!(x), 1)
#define WICK_UNLIKELY(x) __builtin_expect(!!(x), 0)
#else
#define WICK_API
#define WICK_MUST_USE
#define WICK_PRINTF(fmt, first)
#define WICK_LIKELY(x) (x)
#define WICK_UNLIKELY(x) (x)
#endif

#endif
