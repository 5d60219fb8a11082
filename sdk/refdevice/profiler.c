/* The profiler: workers note what they ran, stop() hands it out in order of time. */
#include "refdevice.h"

#include <stdlib.h>
#include <string.h>

struct ref_profile {
    pthread_mutex_t lock; /* of what follows */
    bool running, incomplete;
    wick_activity *activities;
    size_t count, capacity;
};

wick_status *ref_profile_open(ref_instance *self) {
    self->profile = ref_allocate(self, sizeof *self->profile);
    if (!self->profile) return REF_ERROR(self, WICK_OUT_OF_MEMORY, "%s: no host memory", self->device_name);
    memset(self->profile, 0, sizeof *self->profile);
    pthread_mutex_init(&self->profile->lock, NULL);
    return NULL;
}

void ref_profile_close(ref_instance *self) {
    if (!self->profile) return;
    ref_free(self, self->profile->activities);
    pthread_mutex_destroy(&self->profile->lock);
    ref_free(self, self->profile);
}

/* The profile is locked. */
static bool grow(const ref_instance *self, struct ref_profile *p) {
    size_t capacity = p->capacity ? 2 * p->capacity : 256;
    wick_activity *grown = ref_allocate(self, capacity * sizeof *grown);
    if (!grown) return false;
    if (p->count) memcpy(grown, p->activities, p->count * sizeof *grown);
    ref_free(self, p->activities);
    p->activities = grown, p->capacity = capacity;
    return true;
}

void ref_profile_add(ref_stream *stream, const ref_task *task, uint64_t start_ns, uint64_t end_ns) {
    const ref_device *device = ref_stream_device(stream);
    struct ref_profile *p = device->self->profile;
    if (!task->category) return;
    pthread_mutex_lock(&p->lock);
    if (p->running && (p->count < p->capacity || grow(device->self, p)))
        p->activities[p->count++] = (wick_activity){.struct_size = sizeof(wick_activity),
                                                    .index = device->index,
                                                    .name = task->name,
                                                    .category = task->category,
                                                    .stream = stream,
                                                    .start_ns = start_ns,
                                                    .end_ns = end_ns,
                                                    .bytes = task->bytes};
    else
        p->incomplete |= p->running;
    pthread_mutex_unlock(&p->lock);
}

static wick_status *start(void *instance) {
    ref_instance *self = instance;
    struct ref_profile *p = self->profile;
    for (int i = 0; i < self->device_count; ++i) ref_device_drain(&self->devices[i]);
    pthread_mutex_lock(&p->lock);
    bool running = p->running;
    p->running = true;
    pthread_mutex_unlock(&p->lock);
    if (running) return REF_ERROR(self, WICK_FAILED_PRECONDITION, "%s: the profiler runs already", self->device_name);
    return NULL;
}

static int by_start(const void *a, const void *b) {
    uint64_t x = ((const wick_activity *)a)->start_ns, y = ((const wick_activity *)b)->start_ns;
    return (x > y) - (x < y);
}

static wick_status *stop(void *instance, wick_activity_fn sink, void *user) {
    ref_instance *self = instance;
    struct ref_profile *p = self->profile;
    for (int i = 0; i < self->device_count; ++i) ref_device_drain(&self->devices[i]);
    pthread_mutex_lock(&p->lock);
    struct ref_profile taken = *p;
    p->running = p->incomplete = false;
    p->activities = NULL, p->count = p->capacity = 0;
    pthread_mutex_unlock(&p->lock);
    if (taken.count) qsort(taken.activities, taken.count, sizeof *taken.activities, by_start);
    for (size_t i = 0; i < taken.count; ++i) sink(user, &taken.activities[i]);
    ref_free(self, taken.activities);
    if (!taken.running)
        return REF_ERROR(self, WICK_FAILED_PRECONDITION, "%s: the profiler does not run", self->device_name);
    if (!taken.incomplete) return NULL;
    return REF_ERROR(self, WICK_OUT_OF_MEMORY, "%s: no host memory for all activities: some are missing",
                     self->device_name);
}

const wick_profiler_interface ref_profiler_interface = {
    .struct_size = sizeof ref_profiler_interface,
    .start = start,
    .stop = stop,
};
