/* Any bytes as CSV, read with several options: what is accepted is a full matrix. */
#include <stdlib.h>
#include <wick/io.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void parse(const uint8_t *data, size_t bytes, char separator, int32_t label) {
    wick_csv_options options = WICK_CSV_OPTIONS_INIT;
    wick_csv csv = WICK_CSV_INIT;
    options.separator = separator;
    options.label_column = label;
    wick_status *status = wick_csv_parse(data, bytes, "fuzz", &options, &csv);
    if (!status) {
        double *values = csv.values.data, sum = 0;
        int64_t count = wick_dim_product(csv.values.sizes, csv.values.ndim);
        for (int64_t i = 0; i < count; ++i) sum += values[i];
        if ((size_t)count * sizeof sum != csv.values.bytes) abort();
        if (csv.names && csv.name_count != (size_t)csv.values.sizes[1]) abort();
        if (csv.labels.ndim && csv.labels.sizes[0] != csv.values.sizes[0]) abort();
    }
    wick_status_free(status);
    wick_csv_free(&csv);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    parse(data, bytes, 0, WICK_CSV_NO_LABEL);
    parse(data, bytes, 0, -1);
    parse(data, bytes, ' ', 0);
    return 0;
}
