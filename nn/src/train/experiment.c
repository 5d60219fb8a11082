/* Experiments: what an INI describes. */
#include "experiment.h"

#include <errno.h>
#include <unistd.h>

#define LABELS_LIMIT 4096

/* ---- files ---- */
typedef struct reading {
    const wick_experiment *e;
    const char *path, *labels;
    bool with_labels;
    wick_array features, targets;
} reading;

static void csv_label(const wick_config_file *config, wick_csv_options *o) {
    const char *label = wick_config_string(config, "data", "label", "last");
    char *end;
    long column = strtol(label, &end, 10);
    if (!strcmp(label, "last"))
        o->label_column = -1;
    else if (!strcmp(label, "first"))
        o->label_column = 0;
    else if (*label && !*end && column > INT32_MIN && column <= INT32_MAX)
        o->label_column = (int32_t)column;
    else
        o->label_name = label;
}

static wick_status *read_csv(reading *r) {
    wick_csv_options o = WICK_CSV_OPTIONS_INIT;
    wick_csv csv = WICK_CSV_INIT;
    if (r->with_labels) csv_label(r->e->config, &o);
    WICK_TRY(wick_csv_read(r->path, &o, &csv));
    r->features = csv.values, r->targets = csv.labels;
    csv.values = csv.labels = (wick_array)WICK_ARRAY_INIT;
    wick_csv_free(&csv);
    int64_t elements = wick_dim_product(r->e->sizes, r->e->ndim);
    if (r->with_labels || !r->e->ndim || r->features.sizes[1] != elements + 1) return NULL;
    wick_array_free(&r->features); /* one column too many: the label's */
    r->with_labels = true;
    wick_status *status = read_csv(r);
    wick_array_free(&r->targets);
    return status;
}

static wick_status *read_pair(reading *r, wick_status *(*read)(const char *path, uint64_t max_bytes, wick_array *out)) {
    if (r->with_labels && !r->labels)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "%s: [data] names no file with its labels",
                          wick_config_name(r->e->config));
    WICK_TRY(read(r->path, 0, &r->features));
    wick_status *status = r->with_labels ? read(r->labels, 0, &r->targets) : NULL;
    if (status) wick_array_free(&r->features);
    return status;
}
static wick_status *read_idx(reading *r) { return read_pair(r, wick_idx_read); }
static wick_status *read_npy(reading *r) { return read_pair(r, wick_npy_read); }

static const struct {
    const char *name;
    wick_status *(*read)(reading *r);
} formats[] = {{"csv", read_csv}, {"idx", read_idx}, {"npy", read_npy}};

static wick_status *read_file(reading *r) {
    const char *format = wick_config_string(r->e->config, "data", "format", "csv");
    for (size_t i = 0; i < COUNT(formats); ++i)
        if (!strcmp(formats[i].name, format)) return formats[i].read(r);
    return wick_config_error(r->e->config, "data", "format", "got \"%s\", wanted csv, idx or npy", format);
}

static wick_status *dataset_options(const wick_experiment *e, wick_dataset_options *o) {
    const wick_config_file *config = e->config;
    *o = (wick_dataset_options)WICK_DATASET_OPTIONS_INIT;
    o->ndim = e->ndim;
    memcpy(o->sizes, e->sizes, sizeof *e->sizes * (size_t)e->ndim);
    o->values_as_targets = !e->class_targets;
    WICK_TRY(wick_config_double(config, "data", "scale", 1, &o->scale));
    WICK_TRY(wick_config_double(config, "data", "mean", 0, &o->mean));
    WICK_TRY(wick_config_double(config, "data", "std", 1, &o->std));
    return wick_config_int_range(config, "data", "classes", 0, 1, INT32_MAX, &o->classes);
}

wick_status *wick_experiment_read(const wick_experiment *e, const char *path, const char *labels, bool with_labels,
                                  wick_dataset **out) {
    reading r = {e, path, labels, with_labels, WICK_ARRAY_INIT, WICK_ARRAY_INIT};
    wick_dataset_options o;
    WICK_TRY(dataset_options(e, &o));
    WICK_TRY(read_file(&r));
    return wick_dataset_from_arrays(&r.features, &r.targets, &o, path, out);
}

/* ---- data ---- */
/* The files of MNIST by their keys: what a folder in [data] path holds, plain or with .gz behind. */
static const struct {
    const char *key, *file;
} folder_files[] = {{"train", "train-images-idx3-ubyte"},
                    {"train_labels", "train-labels-idx1-ubyte"},
                    {"test", "t10k-images-idx3-ubyte"},
                    {"test_labels", "t10k-labels-idx1-ubyte"}};

static const char *folder_file(const char *key) {
    size_t i = 0;
    while (strcmp(folder_files[i].key, key) != 0) ++i;
    return folder_files[i].file;
}

/* The file of a key: named by it, or in the folder; "" if neither. */
static wick_status *find_file(const wick_experiment *e, const char *key, char path[PATH_BYTES]) {
    char folder[PATH_BYTES];
    WICK_TRY(wick_config_path(e->config, "data", key, NULL, path, PATH_BYTES));
    if (*path) return NULL;
    WICK_TRY(wick_config_path(e->config, "data", "path", NULL, folder, sizeof folder));
    if (!*folder) return NULL;
    static const char *const endings[] = {".gz", ""};
    for (size_t i = 0; i < COUNT(endings); ++i) {
        if (snprintf(path, PATH_BYTES, "%s/%s%s", folder, folder_file(key), endings[i]) >= PATH_BYTES)
            return WICK_ERROR(WICK_OUT_OF_RANGE, "%s: the path is too long", folder);
        if (access(path, R_OK) == 0) return NULL;
    }
    return WICK_ERROR(WICK_NOT_FOUND, "%s: cannot open it, nor %s.gz: %s; [data] path names their folder", path,
                      folder_file(key), strerror(errno));
}

static wick_status *read_part(wick_experiment *e, const char *key, const char *labels_key, wick_dataset **out) {
    char path[PATH_BYTES], labels[PATH_BYTES];
    WICK_TRY(find_file(e, key, path));
    WICK_TRY(find_file(e, labels_key, labels));
    if (!*path)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "%s: [data] %s is missing, wanted a file", wick_config_name(e->config),
                          key);
    return wick_experiment_read(e, path, *labels ? labels : NULL, true, out);
}

static wick_status *split_data(wick_experiment *e) {
    double share;
    wick_dataset *whole = e->train, *first = NULL;
    WICK_TRY(wick_config_double(e->config, "data", "split", 0.8, &share));
    if (!(share > 0 && share <= 1))
        return wick_config_error(e->config, "data", "split", "got %g, wanted more than 0 and at most 1", share);
    WICK_TRY(wick_dataset_split(whole, share, e->seed, &first, &e->test));
    e->train = first;
    wick_dataset_release(whole);
    return NULL;
}

/* A folder has one, but files that are named are all there is. */
static bool has_test_file(const wick_config_file *config) {
    return wick_config_string(config, "data", "test", NULL) ||
           (wick_config_string(config, "data", "path", NULL) && !wick_config_string(config, "data", "train", NULL));
}

static wick_status *read_data(wick_experiment *e) {
    WICK_TRY(read_part(e, "train", "train_labels", &e->train));
    if (has_test_file(e->config))
        WICK_TRY(read_part(e, "test", "test_labels", &e->test));
    else
        WICK_TRY(split_data(e));
    if (wick_dataset_describe(e->test).count == 0) wick_dataset_release(e->test), e->test = NULL;
    const wick_dataset_info info = wick_dataset_describe(e->train);
    if (!info.count)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "%s: [data] leaves no sample to train with",
                          wick_config_name(e->config));
    e->ndim = info.ndim;
    memcpy(e->sizes, info.sizes, sizeof *e->sizes * (size_t)e->ndim);
    return NULL;
}

/* ---- runtime, loss, model ---- */
static wick_status *choose_runtime(wick_experiment *e) {
    const char *name = wick_config_string(e->config, "runtime", "device", NULL);
    wick_runtime *runtime = wick_context_runtime(e->c);
    wick_device device = wick_runtime_host(runtime);
    int64_t seed;
    if (name) WICK_TRY(wick_runtime_device(runtime, name, &device));
    WICK_TRY(wick_config_int_range(e->config, "runtime", "seed", 0, 0, INT64_MAX, &seed));
    wick_set_default_device(e->c, device);
    wick_manual_seed(e->c, (uint64_t)seed);
    e->seed = (uint64_t)seed;
    return NULL;
}

static wick_status *class_weights(wick_experiment *e, wick_loss_options *o) {
    const char *p = wick_config_string(e->config, "loss", "weight", NULL);
    float weights[LABELS_LIMIT];
    wick_dim n = 0;
    for (char *end; p && *p; p = end + strspn(end, ", \t\n")) {
        weights[n++] = strtof(p, &end);
        if (end == p || n == LABELS_LIMIT)
            return wick_config_error(e->config, "loss", "weight", "got \"%s\", wanted numbers, one for each class", p);
    }
    if (!n) return NULL;
    wick_device device = wick_default_device(e->c);
    o->weight = wick_tensor_from_host(e->c, weights, WICK_F32, 1, &n, device);
    return wick_status_take(e->c);
}

static wick_status *make_loss(wick_experiment *e) {
    wick_loss_options o = WICK_LOSS_OPTIONS_INIT;
    WICK_TRY(wick_config_double(e->config, "loss", "label_smoothing", 0, &o.label_smoothing));
    WICK_TRY(wick_config_double(e->config, "loss", "beta", 1, &o.beta));
    WICK_TRY(wick_config_double(e->config, "loss", "delta", 1, &o.delta));
    wick_scope scope = wick_scope_open(e->c);
    wick_status *status = class_weights(e, &o);
    if (!status) {
        e->loss = wick_loss_create(e->c, e->loss_kind, &o);
        status = wick_status_take(e->c);
    }
    wick_scope_close(e->c, scope);
    return status;
}

static wick_status *choose_loss(wick_experiment *e) {
    const char *name = wick_config_string(e->config, "loss", "type", "cross_entropy");
    wick_status *status = wick_loss_find(name, &e->loss_kind);
    if (status) {
        wick_status *located = wick_config_error(e->config, "loss", "type", "%s", wick_status_message(status));
        wick_status_free(status);
        return located;
    }
    e->class_targets = wick_loss_has_classes(e->loss_kind);
    const char *targets = wick_config_string(e->config, "data", "targets", e->class_targets ? "classes" : "values");
    if (!strcmp(targets, "classes") == e->class_targets) return NULL;
    return wick_config_error(e->config, "data", "targets", "got \"%s\", but the loss %s wants %s", targets, name,
                             e->class_targets ? "classes" : "values");
}

/* [model] input, else [data] shape; both may be there if they hold as many elements. */
static wick_status *choose_shape(wick_experiment *e) {
    int ndim;
    wick_dim sizes[WICK_MODEL_DIMS];
    WICK_TRY(wick_config_shape(e->config, "model", "input", &e->ndim, e->sizes));
    WICK_TRY(wick_config_shape(e->config, "data", "shape", &ndim, sizes));
    if (ndim && e->ndim && wick_dim_product(sizes, ndim) != wick_dim_product(e->sizes, e->ndim))
        return wick_config_error(e->config, "model", "input", "does not hold as many elements as [data] shape");
    if (e->ndim) return NULL;
    e->ndim = ndim;
    memcpy(e->sizes, sizes, sizeof *sizes * (size_t)ndim);
    return NULL;
}

static wick_status *check_outputs(const wick_experiment *e, int ndim, const wick_dim *sizes) {
    char got[SHAPE_TEXT];
    if (!e->train) return NULL;
    const wick_dataset_info info = wick_dataset_describe(e->train);
    int64_t wanted = e->class_targets ? info.classes : info.target_elements;
    bool fits = ndim == 1 && (e->class_targets ? sizes[0] >= wanted : sizes[0] == wanted);
    if (fits) return NULL;
    return WICK_ERROR(WICK_INVALID_ARGUMENT, "%s: [model] gives shape %s for a sample, wanted [%lld]: the data has %s",
                      wick_config_name(e->config), shape_text(ndim, sizes, got), (long long)wanted,
                      e->class_targets ? "that many classes" : "that many values a sample");
}

static wick_status *make_model(wick_experiment *e) {
    int ndim = 0;
    wick_dim sizes[WICK_MODEL_DIMS];
    if (!e->ndim)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "%s: [model] input is missing, wanted a shape such as 1x28x28",
                          wick_config_name(e->config));
    e->module = wick_model_from_config(e->c, e->config, e->ndim, e->sizes, &ndim, sizes);
    WICK_TRY(wick_status_take(e->c));
    return check_outputs(e, ndim, sizes);
}

static wick_status *initialize(wick_experiment *e, unsigned flags) {
    WICK_TRY(choose_runtime(e));
    WICK_TRY(choose_loss(e));
    WICK_TRY(choose_shape(e));
    if (!(flags & WICK_EXPERIMENT_NO_DATA)) WICK_TRY(read_data(e));
    WICK_TRY(make_model(e));
    return make_loss(e);
}

wick_status *wick_experiment_create(wick_context *c, const wick_config_file *config, unsigned flags,
                                    wick_experiment **out) {
    wick_experiment *e = calloc(1, sizeof *e);
    if (!e) return WICK_ERROR(WICK_OUT_OF_MEMORY, "no memory for an experiment");
    e->c = c, e->config = config;
    wick_status *status = initialize(e, flags);
    if (status)
        wick_experiment_free(e);
    else
        *out = e;
    return status;
}

void wick_experiment_free(wick_experiment *e) {
    if (!e) return;
    wick_dataset_release(e->train);
    wick_dataset_release(e->test);
    wick_module_release(e->module);
    wick_loss_free(e->loss);
    free(e);
}

wick_dataset *wick_experiment_train_set(const wick_experiment *e) { return e->train; }
wick_dataset *wick_experiment_test_set(const wick_experiment *e) { return e->test; }
wick_module *wick_experiment_module(const wick_experiment *e) { return e->module; }
const wick_loss *wick_experiment_loss(const wick_experiment *e) { return e->loss; }
