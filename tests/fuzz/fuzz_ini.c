/* INI text: whatever is accepted must come back unchanged from its own written form. */
#include <stdlib.h>
#include <string.h>
#include <wick/config.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static char *write_back(const wick_config_file *config) {
    char one;
    size_t length = wick_config_format(config, &one, 1);
    char *text = malloc(length + 1);
    if (text) wick_config_format(config, text, length + 1);
    return text;
}

static void read_values(const wick_config_file *config) {
    const char *section, *key;
    int64_t integers[4], integer;
    double number;
    bool flag;
    size_t count;
    char path[64];
    for (size_t i = 0; (section = wick_config_section_at(config, i)) != NULL; ++i) {
        for (size_t j = 0; j < 16 && (key = wick_config_key_at(config, section, j)) != NULL; ++j) {
            wick_status_free(wick_config_int(config, section, key, 0, &integer));
            wick_status_free(wick_config_double(config, section, key, 0, &number));
            wick_status_free(wick_config_bool(config, section, key, false, &flag));
            wick_status_free(wick_config_int_list(config, section, key, integers, 4, &count));
            wick_status_free(wick_config_path(config, section, key, NULL, path, sizeof path));
        }
    }
}

/* The text of `config` reads as a configuration with the same text. */
static void check_round_trip(const wick_config_file *config) {
    char *text = write_back(config);
    wick_config_file *again = NULL;
    if (!text) return;
    wick_status *status = wick_config_parse(text, strlen(text), "again.ini", NULL, &again);
    if (!status) {
        char *second = write_back(again);
        if (second && strcmp(text, second) != 0) abort();
        free(second);
    } else if (wick_status_code(status) != WICK_OUT_OF_MEMORY && wick_status_code(status) != WICK_OUT_OF_RANGE) {
        abort();
    }
    wick_status_free(status);
    wick_config_free(again);
    free(text);
}

static void override(wick_config_file *config, const uint8_t *data, size_t bytes) {
    static const wick_config_key keys[] = {{"a", "b", WICK_CONFIG_INT, NULL, ""},
                                           {"plugin.*", "c", WICK_CONFIG_CHOICE, "x|yy", ""}};
    const wick_config_schema schema = {keys, 2};
    char *assignment = malloc(bytes + 1);
    if (!assignment) return;
    memcpy(assignment, data, bytes);
    assignment[bytes] = '\0';
    wick_status_free(wick_config_set(config, assignment, NULL, 0));
    wick_status_free(wick_config_set(config, assignment, &schema, 1));
    wick_status_free(wick_config_check(config, &schema, 1, 0));
    free(assignment);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    wick_config_file *config = NULL;
    wick_status *status = wick_config_parse((const char *)data, bytes, "fuzz.ini", NULL, &config);
    if (status)
        wick_status_free(status);
    else {
        read_values(config);
        check_round_trip(config);
        override(config, data, bytes < 200 ? bytes : 200);
        check_round_trip(config);
    }
    wick_config_free(config);
    return 0;
}
