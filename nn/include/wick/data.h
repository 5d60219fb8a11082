/* wick/data.h: data sets of samples, and loaders that make batches of them.
 *
 * A data set gives features as F32 and a target: a class (I64) or values (F32). Data sets are reference-counted and
 * immutable: any thread may fetch. A loader is used by one thread at a time; its worker threads prepare batches in plain
 * memory ahead of it. What it delivers depends on the data, the options, the epoch and the position alone, never on the
 * number of workers. Functions without a context return a status. */
#ifndef WICK_DATA_H
#define WICK_DATA_H

#include <wick/io.h>

#define WICK_SAMPLE_DIMS 8

typedef struct wick_dataset wick_dataset;
typedef struct wick_loader wick_loader;

typedef struct wick_dataset_info {
    uint32_t struct_size;
    int32_t ndim; /* of one sample's features */
    int64_t count;
    wick_dim sizes[WICK_SAMPLE_DIMS];
    wick_dtype target_dtype; /* I64: a class; F32: values; NONE: there are no targets */
    int64_t target_elements; /* of one sample */
    int64_t classes;         /* 0 if targets are values or there are none */
} wick_dataset_info;
#define WICK_DATASET_INFO_INIT \
    { sizeof(wick_dataset_info), 0, 0, {0}, WICK_DTYPE_NONE, 0, 0 }

/* A source of samples of one's own. */
typedef struct wick_dataset_class {
    uint32_t struct_size;
    /* Writes features and targets of n samples, one after the other. Called from any thread, several at once. */
    wick_status *(*fetch)(void *user, const int64_t *indices, int64_t n, float *features, void *targets);
    void (*destroy)(void *user); /* optional */
} wick_dataset_class;

/* How arrays become features: (value * scale - mean) / std. */
typedef struct wick_dataset_options {
    uint32_t struct_size;
    int32_t ndim; /* sizes of a sample; 0: as the array says */
    wick_dim sizes[WICK_SAMPLE_DIMS];
    double scale, mean, std;
    int64_t classes;        /* 0: one more than the largest target */
    bool values_as_targets; /* targets are values, not classes */
} wick_dataset_options;
#define WICK_DATASET_OPTIONS_INIT \
    { sizeof(wick_dataset_options), 0, {0}, 1, 0, 1, 0, false }

typedef struct wick_loader_options {
    uint32_t struct_size;
    bool shuffle;   /* a new order each epoch */
    bool drop_last; /* leave out a last batch that is not full */
    int64_t batch_size;
    int32_t workers;  /* threads that prepare batches; 0: the caller does */
    int32_t prefetch; /* batches prepared ahead by all workers together; 0: two for each */
    uint64_t seed;
} wick_loader_options;
#define WICK_LOADER_OPTIONS_INIT \
    { sizeof(wick_loader_options), false, false, 1, 0, 0, 0 }

typedef struct wick_batch {
    uint32_t struct_size;
    wick_tensor *features; /* [count, sizes...], on the context's default device, scope-owned */
    wick_tensor *targets;  /* [count] classes, [count, elements] values, or NULL */
    int64_t count;
    int64_t index; /* of the batch in its epoch */
} wick_batch;

WICK_BEGIN_DECLS
/* ---- data sets ---- */
/* `user` is the data set's from here on, on failure too. */
WICK_API WICK_MUST_USE wick_status *wick_dataset_create(const wick_dataset_class *cls, void *user,
                                                        const wick_dataset_info *info, wick_dataset **out);
/* Takes over both arrays (`targets` may be empty), on failure too. The first dimension counts samples. `source` names
 * them in messages. */
WICK_API WICK_MUST_USE wick_status *wick_dataset_from_arrays(wick_array *features, wick_array *targets,
                                                             const wick_dataset_options *options, const char *source,
                                                             wick_dataset **out);
/* Samples `indices` of another data set, which is retained. */
WICK_API WICK_MUST_USE wick_status *wick_dataset_subset(wick_dataset *dataset, const int64_t *indices, int64_t count,
                                                        wick_dataset **out);
/* Two parts in an order that `seed` decides: a share (0 to 1) of the samples, and the rest. */
WICK_API WICK_MUST_USE wick_status *wick_dataset_split(wick_dataset *dataset, double share, uint64_t seed,
                                                       wick_dataset **out_first, wick_dataset **out_second);
WICK_API wick_dataset *wick_dataset_retain(wick_dataset *dataset);
/* NULL is allowed. */
WICK_API void wick_dataset_release(wick_dataset *dataset);
WICK_API wick_dataset_info wick_dataset_describe(const wick_dataset *dataset);
/* Elements of one sample's features. */
WICK_API int64_t wick_dataset_elements(const wick_dataset *dataset);
/* `features` has room for n * elements, `targets` (NULL if there are none) for n * target_elements. */
WICK_API WICK_MUST_USE wick_status *wick_dataset_fetch(const wick_dataset *dataset, const int64_t *indices, int64_t n,
                                                       float *features, void *targets);

/* ---- loaders ---- */
/* Retains the data set and starts the workers. The caller frees the loader. */
WICK_API WICK_MUST_USE wick_status *wick_loader_create(wick_dataset *dataset, const wick_loader_options *options,
                                                       wick_loader **out);
/* Stops the workers. NULL is allowed. */
WICK_API void wick_loader_free(wick_loader *loader);
WICK_API int64_t wick_loader_batches(const wick_loader *loader); /* of an epoch */
/* Goes to a batch of an epoch: 0 to begin it, another to resume it. */
WICK_API void wick_loader_begin(wick_loader *loader, int64_t epoch, int64_t batch);
/* The next batch; false at the end of the epoch or on failure (latched). */
WICK_API bool wick_loader_next(wick_context *c, wick_loader *loader, wick_batch *out);
WICK_API int64_t wick_loader_position(const wick_loader *loader); /* of the next batch */
WICK_END_DECLS

#endif
