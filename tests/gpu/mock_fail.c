/* Failures on demand: MOCK_HIP_FAIL, mock_hip_fail(). */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mock_hip.h"

#define CALLS 96
#define ORDERS 16

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static struct {
    char name[48];
    long count;
} calls[CALLS];

/* From the order on, call number `at` of `name` fails with `code`. */
static struct {
    char name[48];
    long at;
    int code;
} orders[ORDERS];
static int order_count;

static long *counter(const char *name) {
    int i = 0;
    while (i < CALLS - 1 && calls[i].name[0] && strcmp(calls[i].name, name) != 0) ++i;
    snprintf(calls[i].name, sizeof calls[i].name, "%s", name);
    return &calls[i].count;
}

/* "hipMalloc:3,hipModuleLaunchKernel:1:719"; the lock is held. */
static void read_orders(const char *text) {
    order_count = 0;
    while (text && *text && order_count < ORDERS) {
        int used = 0;
        orders[order_count].code = MOCK_OUT_OF_MEMORY;
        if (sscanf(text, "%47[^:,]:%ld%n", orders[order_count].name, &orders[order_count].at, &used) != 2) return;
        text += used;
        if (*text == ':') orders[order_count].code = (int)strtol(text + 1, (char **)&text, 10);
        orders[order_count].at += *counter(orders[order_count].name);
        ++order_count;
        text += *text == ',';
    }
}

static void read_environment(void) {
    pthread_mutex_lock(&lock);
    read_orders(getenv("MOCK_HIP_FAIL"));
    pthread_mutex_unlock(&lock);
}

int mock_enter(const char *call) {
    int code = 0;
    pthread_once(&once, read_environment);
    pthread_mutex_lock(&lock);
    long number = ++*counter(call);
    for (int i = 0; i < order_count; ++i)
        if (orders[i].at == number && strcmp(orders[i].name, call) == 0) code = orders[i].code;
    pthread_mutex_unlock(&lock);
    return code;
}

/* For tests: new orders, counted from now on; "" or NULL: none. */
MOCK_API void mock_hip_fail(const char *text) {
    pthread_once(&once, read_environment);
    pthread_mutex_lock(&lock);
    read_orders(text);
    pthread_mutex_unlock(&lock);
}

/* For tests: how often a function was called. */
MOCK_API long mock_hip_calls(const char *call) {
    pthread_mutex_lock(&lock);
    long count = *counter(call);
    pthread_mutex_unlock(&lock);
    return count;
}
