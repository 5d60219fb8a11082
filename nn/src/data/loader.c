/* Loaders: a ring of batches that workers fill ahead of the reader. */
#include "nn.h"
#include "shuffle.h"

#include <pthread.h>
#include <signal.h>
#include <wick/data.h>

/* One batch in plain memory. */
typedef struct prepared {
    float *features;
    void *targets;
    int64_t count;
    wick_status *status;
    bool ready;
} prepared;

struct wick_loader {
    wick_dataset *dataset;
    wick_dataset_info info;
    wick_loader_options o;
    int64_t *order;
    int64_t batches;
    /* the rest is guarded by the lock; workers read order without it while they are busy */
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    int64_t next, claimed; /* batches: the reader's, and the first that no worker took */
    int busy;
    bool stop;
    prepared *ring;
    int32_t ring_size;
    pthread_t *threads;
    int32_t thread_count;
};

/* ---- one batch ---- */
static void drop(prepared *p) {
    free(p->features);
    free(p->targets);
    wick_status_free(p->status);
    *p = (prepared){0};
}

static prepared prepare(const wick_loader *l, int64_t batch) {
    int64_t first = batch * l->o.batch_size, left = l->info.count - first;
    prepared p = {.count = left < l->o.batch_size ? left : l->o.batch_size, .ready = true};
    size_t bytes = (size_t)(p.count * wick_dataset_elements(l->dataset)) * sizeof(float);
    size_t target_bytes = (size_t)(p.count * l->info.target_elements) * wick_dtype_bytes(l->info.target_dtype);
    p.features = malloc(bytes ? bytes : 1);
    if (l->info.target_dtype) p.targets = malloc(target_bytes ? target_bytes : 1);
    if (!p.features || (l->info.target_dtype && !p.targets))
        p.status = WICK_ERROR(WICK_OUT_OF_MEMORY, "no memory for a batch of %lld samples", (long long)p.count);
    else
        p.status = wick_dataset_fetch(l->dataset, l->order + first, p.count, p.features, p.targets);
    return p;
}

/* ---- workers ---- */
static bool work_left(const wick_loader *l) { return l->claimed < l->batches && l->claimed < l->next + l->ring_size; }

static void *worker(void *user) {
    wick_loader *l = user;
    pthread_mutex_lock(&l->lock);
    while (true) {
        while (!l->stop && !work_left(l)) pthread_cond_wait(&l->work, &l->lock);
        if (l->stop) break;
        int64_t batch = l->claimed++;
        l->busy++;
        pthread_mutex_unlock(&l->lock);
        prepared p = prepare(l, batch);
        pthread_mutex_lock(&l->lock);
        l->ring[batch % l->ring_size] = p;
        l->busy--;
        pthread_cond_broadcast(&l->done);
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

/* Signals are the program's business: workers block all of them. */
static wick_status *start_workers(wick_loader *l) {
    sigset_t all, before;
    int error = 0;
    if (!l->o.workers) return NULL;
    l->ring_size = l->o.prefetch > 0 ? l->o.prefetch : 2 * l->o.workers;
    l->ring = calloc((size_t)l->ring_size, sizeof *l->ring);
    l->threads = calloc((size_t)l->o.workers, sizeof *l->threads);
    if (!l->ring || !l->threads) return WICK_ERROR(WICK_OUT_OF_MEMORY, "no memory for a loader");
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (l->thread_count < l->o.workers && !error) {
        error = pthread_create(&l->threads[l->thread_count], NULL, worker, l);
        if (!error) l->thread_count++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!error) return NULL;
    return WICK_ERROR(WICK_UNAVAILABLE, "cannot start worker %d of a loader: %s", l->thread_count, strerror(error));
}

/* ---- life ---- */
static wick_status *initialize(wick_loader *l) {
    int64_t count = l->info.count;
    l->order = malloc((size_t)(count ? count : 1) * sizeof *l->order);
    if (!l->order) return WICK_ERROR(WICK_OUT_OF_MEMORY, "no memory for an order of %lld samples", (long long)count);
    for (int64_t i = 0; i < count; ++i) l->order[i] = i;
    int64_t full = count / l->o.batch_size;
    l->next = l->claimed = l->batches = full + (!l->o.drop_last && count % l->o.batch_size != 0);
    return start_workers(l);
}

wick_status *wick_loader_create(wick_dataset *dataset, const wick_loader_options *options, wick_loader **out) {
    static const wick_loader_options defaults = WICK_LOADER_OPTIONS_INIT;
    const wick_loader_options *o = options ? options : &defaults;
    if (o->batch_size < 1 || o->workers < 0 || o->workers > 1024 || o->prefetch < 0)
        return WICK_ERROR(
            WICK_INVALID_ARGUMENT,
            "loader: got batch_size %lld, workers %d, prefetch %d; wanted at least 1, 0 to 1024, at least 0",
            (long long)o->batch_size, o->workers, o->prefetch);
    wick_loader *l = calloc(1, sizeof *l);
    if (!l) return WICK_ERROR(WICK_OUT_OF_MEMORY, "no memory for a loader");
    l->dataset = wick_dataset_retain(dataset);
    l->info = wick_dataset_describe(dataset);
    l->o = *o;
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->work, NULL);
    pthread_cond_init(&l->done, NULL);
    wick_status *status = initialize(l);
    if (status)
        wick_loader_free(l);
    else
        *out = l;
    return status;
}

void wick_loader_free(wick_loader *l) {
    if (!l) return;
    pthread_mutex_lock(&l->lock);
    l->stop = true;
    pthread_cond_broadcast(&l->work);
    pthread_mutex_unlock(&l->lock);
    for (int32_t i = 0; i < l->thread_count; ++i) pthread_join(l->threads[i], NULL);
    for (int32_t i = 0; l->ring && i < l->ring_size; ++i) drop(&l->ring[i]);
    pthread_cond_destroy(&l->done);
    pthread_cond_destroy(&l->work);
    pthread_mutex_destroy(&l->lock);
    wick_dataset_release(l->dataset);
    free(l->ring);
    free(l->threads);
    free(l->order);
    free(l);
}

/* ---- reading ---- */
int64_t wick_loader_batches(const wick_loader *l) { return l->batches; }
int64_t wick_loader_position(const wick_loader *l) { return l->next; }

void wick_loader_begin(wick_loader *l, int64_t epoch, int64_t batch) {
    pthread_mutex_lock(&l->lock);
    l->claimed = l->batches; /* nothing to take while the order changes */
    while (l->busy) pthread_cond_wait(&l->done, &l->lock);
    for (int32_t i = 0; i < l->ring_size; ++i) drop(&l->ring[i]);
    if (l->o.shuffle) shuffled(l->order, l->info.count, l->o.seed, (uint64_t)epoch);
    l->next = l->claimed = batch < 0 ? 0 : batch < l->batches ? batch : l->batches;
    pthread_cond_broadcast(&l->work);
    pthread_mutex_unlock(&l->lock);
}

static prepared take(wick_loader *l) {
    if (!l->thread_count) return prepare(l, l->next++);
    pthread_mutex_lock(&l->lock);
    prepared *slot = &l->ring[l->next % l->ring_size];
    while (!slot->ready) pthread_cond_wait(&l->done, &l->lock);
    prepared p = *slot;
    *slot = (prepared){0};
    l->next++;
    pthread_cond_signal(&l->work);
    pthread_mutex_unlock(&l->lock);
    return p;
}

/* A tensor on the context's device that takes the memory over. */
static wick_tensor *deliver(wick_context *c, void **data, wick_dtype dtype, int ndim, const wick_dim *sizes) {
    int64_t bytes = wick_dim_product(sizes, ndim) * (int64_t)wick_dtype_bytes(dtype);
    wick_device device = wick_default_device(c);
    wick_tensor *t = wick_tensor_wrap(c, *data, (uint64_t)bytes, dtype, ndim, sizes, NULL, free, *data);
    if (!t) return NULL;
    *data = NULL;
    if (!device.type || wick_device_equal(device, t->device)) return t;
    wick_to_options o = WICK_TO_OPTIONS_INIT;
    o.device = device;
    return wick_to(c, t, &o);
}

static bool deliver_batch(wick_context *c, const wick_loader *l, prepared *p, wick_batch *out) {
    wick_dim sizes[1 + WICK_SAMPLE_DIMS] = {p->count};
    memcpy(sizes + 1, l->info.sizes, sizeof *sizes * (size_t)l->info.ndim);
    out->features = deliver(c, (void **)&p->features, WICK_F32, 1 + l->info.ndim, sizes);
    out->targets = NULL;
    if (!p->targets || !out->features) return out->features != NULL;
    const wick_dim target_sizes[] = {p->count, l->info.target_elements};
    out->targets =
        deliver(c, &p->targets, l->info.target_dtype, l->info.target_dtype == WICK_I64 ? 1 : 2, target_sizes);
    return out->targets != NULL;
}

bool wick_loader_next(wick_context *c, wick_loader *l, wick_batch *out) {
    if (wick_failed(c) || l->next >= l->batches) return false;
    out->index = l->next;
    prepared p = take(l);
    out->count = p.count;
    bool ok = !wick_fail(c, p.status);
    p.status = NULL;
    ok = ok && deliver_batch(c, l, &p, out);
    drop(&p);
    return ok;
}
