#include "keys.h"

static const wick_config_key train_keys[] = {
    {"runtime", "device", WICK_CONFIG_STRING, NULL, "device to work on, \"cpu\" or \"NAME:1\"; default: the host's"},
    {"runtime", "seed", WICK_CONFIG_INT, NULL, "of all random numbers and of the split; default 0"},

    {"data", "format", WICK_CONFIG_CHOICE, "csv|idx|npy", "of the files; default csv"},
    {"data", "path", WICK_CONFIG_PATH, NULL, "idx: folder with the four files of MNIST, plain or gzip"},
    {"data", "train", WICK_CONFIG_PATH, NULL, "samples, if there is no such folder"},
    {"data", "train_labels", WICK_CONFIG_PATH, NULL, "their classes or values: idx, npy"},
    {"data", "test", WICK_CONFIG_PATH, NULL, "samples to validate with; default: the rest of `split`"},
    {"data", "test_labels", WICK_CONFIG_PATH, NULL, "their classes or values: idx, npy"},
    {"data", "label", WICK_CONFIG_STRING, NULL,
     "csv: target column: last, first, a number from 0 or a name; default last"},
    {"data", "targets", WICK_CONFIG_CHOICE, "classes|values", "what targets are; default: as the loss wants"},
    {"data", "classes", WICK_CONFIG_INT, NULL, "number of classes; default: one more than the largest"},
    {"data", "shape", WICK_CONFIG_STRING, NULL, "of a sample, 1x28x28; default: as the file says"},
    {"data", "scale", WICK_CONFIG_DOUBLE, NULL, "features become (value * scale - mean) / std; default 1"},
    {"data", "mean", WICK_CONFIG_DOUBLE, NULL, "default 0"},
    {"data", "std", WICK_CONFIG_DOUBLE, NULL, "default 1"},
    {"data", "split", WICK_CONFIG_DOUBLE, NULL, "share to train with if there is no `test`; default 0.8"},
    {"data", "workers", WICK_CONFIG_INT, NULL, "threads that prepare batches; default 1"},

    {"model", "plugin", WICK_CONFIG_STRING, NULL, "take the model that this plugin publishes, instead of layers"},
    {"model", "*", WICK_CONFIG_STRING, NULL, "input = SHAPE and layer1, layer2, ... = LAYER"},

    {"loss", "type", WICK_CONFIG_STRING, NULL, "default cross_entropy"},
    {"loss", "label_smoothing", WICK_CONFIG_DOUBLE, NULL, "cross_entropy; default 0"},
    {"loss", "beta", WICK_CONFIG_DOUBLE, NULL, "smooth_l1; default 1"},
    {"loss", "delta", WICK_CONFIG_DOUBLE, NULL, "huber; default 1"},
    {"loss", "weight", WICK_CONFIG_STRING, NULL, "cross_entropy, nll: a number for each class"},

    {"optimizer", "type", WICK_CONFIG_STRING, NULL, "sgd, adam or adamw; default adamw"},
    {"optimizer", "lr", WICK_CONFIG_DOUBLE, NULL, "learning rate; default 0.001"},
    {"optimizer", "weight_decay", WICK_CONFIG_DOUBLE, NULL, "default 0; adamw 0.01"},
    {"optimizer", "maximize", WICK_CONFIG_BOOL, NULL, "default no"},
    {"optimizer", "momentum", WICK_CONFIG_DOUBLE, NULL, "sgd; default 0"},
    {"optimizer", "dampening", WICK_CONFIG_DOUBLE, NULL, "sgd; default 0"},
    {"optimizer", "nesterov", WICK_CONFIG_BOOL, NULL, "sgd; default no"},
    {"optimizer", "beta1", WICK_CONFIG_DOUBLE, NULL, "adam, adamw; default 0.9"},
    {"optimizer", "beta2", WICK_CONFIG_DOUBLE, NULL, "adam, adamw; default 0.999"},
    {"optimizer", "eps", WICK_CONFIG_DOUBLE, NULL, "adam, adamw; default 1e-8"},
    {"optimizer", "amsgrad", WICK_CONFIG_BOOL, NULL, "adam, adamw; default no"},

    {"scheduler", "type", WICK_CONFIG_STRING, NULL,
     "constant, linear, step, exponential, polynomial, cosine, one_cycle"},
    {"scheduler", "unit", WICK_CONFIG_CHOICE, "batch|epoch", "what a step is; default batch for one_cycle, else epoch"},
    {"scheduler", "warmup", WICK_CONFIG_DOUBLE, NULL, "steps of linear warm-up before; default 0"},
    {"scheduler", "warmup_factor", WICK_CONFIG_DOUBLE, NULL, "share of the rate to begin with; default 1/3"},
    {"scheduler", "factor", WICK_CONFIG_DOUBLE, NULL, "constant; default 1/3"},
    {"scheduler", "total_iters", WICK_CONFIG_DOUBLE, NULL, "constant, linear, polynomial; default 5"},
    {"scheduler", "start_factor", WICK_CONFIG_DOUBLE, NULL, "linear; default 1/3"},
    {"scheduler", "end_factor", WICK_CONFIG_DOUBLE, NULL, "linear; default 1"},
    {"scheduler", "step_size", WICK_CONFIG_DOUBLE, NULL, "step"},
    {"scheduler", "gamma", WICK_CONFIG_DOUBLE, NULL, "step (default 0.1), exponential"},
    {"scheduler", "power", WICK_CONFIG_DOUBLE, NULL, "polynomial; default 1"},
    {"scheduler", "t_max", WICK_CONFIG_DOUBLE, NULL, "cosine; default: the whole training"},
    {"scheduler", "eta_min", WICK_CONFIG_DOUBLE, NULL, "cosine; default 0"},
    {"scheduler", "max_lr", WICK_CONFIG_DOUBLE, NULL, "one_cycle; default: the optimizer's rate"},
    {"scheduler", "total_steps", WICK_CONFIG_DOUBLE, NULL, "one_cycle; default: the whole training"},
    {"scheduler", "pct_start", WICK_CONFIG_DOUBLE, NULL, "one_cycle; default 0.3"},
    {"scheduler", "div_factor", WICK_CONFIG_DOUBLE, NULL, "one_cycle; default 25"},
    {"scheduler", "final_div_factor", WICK_CONFIG_DOUBLE, NULL, "one_cycle; default 10000"},
    {"scheduler", "cycle_momentum", WICK_CONFIG_BOOL, NULL, "one_cycle; default yes"},
    {"scheduler", "base_momentum", WICK_CONFIG_DOUBLE, NULL, "one_cycle; default 0.85"},
    {"scheduler", "max_momentum", WICK_CONFIG_DOUBLE, NULL, "one_cycle; default 0.95"},

    {"train", "epochs", WICK_CONFIG_INT, NULL, "default 10"},
    {"train", "batch_size", WICK_CONFIG_INT, NULL, "default 64"},
    {"train", "eval_batch_size", WICK_CONFIG_INT, NULL, "default 256"},
    {"train", "drop_last", WICK_CONFIG_BOOL, NULL, "leave out a last batch that is not full; default no"},
    {"train", "save", WICK_CONFIG_CHOICE, "best|last", "which epoch model.safetensors holds; default best"},
    {"train", "log_steps", WICK_CONFIG_INT, NULL,
     "every so many steps their mean loss goes to steps.csv, for which the device is waited for; default 0: never"},
    {"train", "out", WICK_CONFIG_PATH, NULL, "run folder; default runs/NAME beside the INI"},
};

wick_config_schema wick_train_config_schema(void) { return (wick_config_schema){train_keys, COUNT(train_keys)}; }

static bool is_flag(const char *section, const char *key) {
    for (size_t i = 0; i < COUNT(train_keys); ++i)
        if (!strcmp(train_keys[i].section, section) && !strcmp(train_keys[i].key, key))
            return train_keys[i].type == WICK_CONFIG_BOOL;
    return false;
}

wick_status *keys_options(const wick_config_file *config, const char *section, const wick_option_list *list,
                          wick_option *out, size_t *out_count) {
    size_t n = 0;
    for (size_t i = 0; i < list->count; ++i) {
        const char *name = list->options[i].name;
        bool flag = false;
        if (!wick_config_string(config, section, name, NULL)) continue;
        out[n].name = name;
        if (is_flag(section, name)) {
            WICK_TRY(wick_config_bool(config, section, name, false, &flag));
            out[n].value = flag;
        } else {
            WICK_TRY(wick_config_double(config, section, name, 0, &out[n].value));
        }
        n++;
    }
    *out_count = n;
    return NULL;
}

static bool is_option(const wick_option_list *list, const char *key) {
    for (size_t i = 0; i < list->count; ++i)
        if (!strcmp(list->options[i].name, key)) return true;
    return false;
}

wick_status *keys_only(const wick_config_file *config, const char *section, const wick_option_list *list,
                       const char *const *extra) {
    const char *key;
    for (size_t i = 0; (key = wick_config_key_at(config, section, i)) != NULL; ++i) {
        bool known = is_option(list, key);
        for (const char *const *e = extra; *e && !known; ++e) known = !strcmp(*e, key);
        if (!known) return wick_config_error(config, section, key, "type %s has no such option", list->name);
    }
    return NULL;
}
