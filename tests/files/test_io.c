/* Data formats above the core: gzip, .npy, .npz, IDX, CSV. */
#include "files_test.h"

#include <locale.h>
#include <math.h>
#include <wick/io.h>
#include <zip.h>
#include <zlib.h>

/* ---- gzip ---- */
static void write_gzip(const char *path, const void *data, size_t bytes) {
    gzFile file = gzopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(gzwrite(file, data, (unsigned)bytes), bytes);
    assert_int_equal(gzclose(file), Z_OK);
}

static void reads_plain_and_compressed_files(void **state) {
    size_t bytes = 0, big = 300000;
    void *data = NULL;
    char *text = calloc(1, big);
    text[big - 1] = 'x';
    write_bytes(scratch_path("plain"), text, big);
    write_gzip(scratch_path("gz"), text, big);
    for (int compressed = 0; compressed < 2; ++compressed) {
        const char *path = scratch_path(compressed ? "gz" : "plain");
        expect_ok(wick_bytes_read(path, 0, &data, &bytes));
        assert_int_equal(bytes, big);
        assert_memory_equal(data, text, big);
        free(data);
        expect_ok(wick_bytes_read(path, big, &data, &bytes));
        free(data);
        expect_error(wick_bytes_read(path, big - 1, &data, &bytes), WICK_UNSUPPORTED, "the limit of 299999 bytes");
    }
    free(text);
    write_bytes(scratch_path("empty"), "", 0);
    expect_ok(wick_bytes_read(scratch_path("empty"), 0, &data, &bytes));
    assert_int_equal(bytes, 0);
    free(data);
}

static void refuses_damaged_gzip(void **state) {
    size_t bytes = 0;
    void *data = NULL;
    write_gzip(scratch_path("gz"), "hello, hello, hello", 19);
    char *file = read_bytes(scratch_path("gz"), &bytes);
    write_bytes(scratch_path("cut"), file, bytes - 6);
    file[bytes - 6] ^= 1; /* in the checksum */
    write_bytes(scratch_path("bad"), file, bytes);
    free(file);
    expect_error(wick_bytes_read(scratch_path("cut"), 0, &data, &bytes), WICK_DATA_LOSS, "cut: ");
    expect_error(wick_bytes_read(scratch_path("bad"), 0, &data, &bytes), WICK_DATA_LOSS, "damaged gzip data");
    expect_error(wick_bytes_read(scratch_path("none"), 0, &data, &bytes), WICK_NOT_FOUND, "none: cannot open");
    expect_error(wick_bytes_read(scratch_folder, 0, &data, &bytes), WICK_IO, "Is a directory");
}

/* ---- .npy ---- */
/* Version 1.0 with that dictionary and data. */
static wick_status *parse_npy(const char *dictionary, const void *data, size_t data_bytes, wick_array *out) {
    size_t length = strlen(dictionary), bytes = 10 + length + data_bytes;
    unsigned char *file = malloc(bytes);
    memcpy(file, "\x93NUMPY\x01\x00", 8);
    file[8] = (unsigned char)length;
    file[9] = (unsigned char)(length >> 8);
    memcpy(file + 10, dictionary, length);
    if (data_bytes) memcpy(file + 10 + length, data, data_bytes);
    wick_status *status = wick_npy_parse(file, bytes, "x.npy", out);
    free(file);
    return status;
}

#define NPY(descr, fortran, shape) "{'descr': '" descr "', 'fortran_order': " fortran ", 'shape': " shape ", }\n"

static void npy_undoes_byte_and_fortran_order(void **state) {
    static const unsigned char big[] = {0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6};
    static const int16_t row_major[] = {1, 2, 3, 4, 5, 6}, column_major[] = {1, 3, 5, 2, 4, 6};
    static const unsigned char complex_big[] = {0x3f, 0x80, 0, 0, 0x40, 0, 0, 0};
    wick_array a = WICK_ARRAY_INIT;
    expect_ok(parse_npy(NPY(">i2", "False", "(2, 3)"), big, sizeof big, &a));
    assert_int_equal(a.dtype, WICK_I16);
    assert_int_equal(a.ndim, 2);
    assert_int_equal(a.sizes[1], 3);
    assert_memory_equal(a.data, row_major, sizeof row_major);
    wick_array_free(&a);
    expect_ok(parse_npy(NPY(">i2", "True", "(2, 3)"), big, sizeof big, &a));
    assert_memory_equal(a.data, column_major, sizeof column_major);
    wick_array_free(&a);
    expect_ok(parse_npy(NPY(">c8", "False", "()"), complex_big, sizeof complex_big, &a));
    assert_true(((float *)a.data)[0] == 1 && ((float *)a.data)[1] == 2);
    wick_array_free(&a);
    expect_ok(parse_npy("{\"shape\":(0L,3),\"descr\":\"|u1\",'fortran_order':True}", NULL, 0, &a));
    assert_int_equal(a.bytes, 0);
    assert_int_equal(a.sizes[1], 3);
    wick_array_free(&a);
}

static void npy_refuses_malformed_files(void **state) {
    static const struct {
        const char *dictionary;
        wick_code code;
        const char *message;
    } cases[] = {
        {NPY("<f4", "False", "(3,)"), WICK_DATA_LOSS, "truncated: 8 bytes of data, its header wants 12"},
        {NPY("<f4", "False", "(1,)"), WICK_DATA_LOSS, "oversized: 8 bytes of data, its header wants 4"},
        {NPY("<f4", "False", "(4611686018427387904, 4611686018427387904)"), WICK_DATA_LOSS, "overflows"},
        {NPY("<f4", "False", "(9223372036854775808,)"), WICK_DATA_LOSS, "want a size below 2^63"},
        {NPY("<f4", "False", "(-2,)"), WICK_DATA_LOSS, "got '-2,), }', want a size"},
        {NPY("<f4", "False", "(2.0,)"), WICK_DATA_LOSS, "want ',' or ')'"},
        {NPY("<f4", "False", "(2)"), WICK_DATA_LOSS, "want a tuple"},
        {NPY("<f4", "False", "2"), WICK_DATA_LOSS, "want a tuple"},
        {NPY("<f4", "Maybe", "(2,)"), WICK_DATA_LOSS, "want True or False"},
        {NPY("<U2", "False", "(2,)"), WICK_UNSUPPORTED, "elements of type '<U2'"},
        {NPY("|O", "False", "(2,)"), WICK_UNSUPPORTED, "elements of type '|O'"},
        {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}", WICK_DATA_LOSS, "want a string"},
        {"{'descr': '<f4', 'fortran_order': False}", WICK_DATA_LOSS, "lacks one of"},
        {"{'descr': '<f4', 'descr': '<f4'}", WICK_DATA_LOSS, "two fields 'descr'"},
        {"{'other': 1}", WICK_DATA_LOSS, "the unknown field 'other'"},
        {"{'descr': '<f4' 'fortran_order': False}", WICK_DATA_LOSS, "want ',' or '}'"},
        {"{'descr': '<f4", WICK_DATA_LOSS, "want a known string"},
        {"{} x", WICK_DATA_LOSS, "want nothing behind"},
        {"", WICK_DATA_LOSS, "want '{'"},
    };
    wick_array a = WICK_ARRAY_INIT;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i)
        expect_error(parse_npy(cases[i].dictionary, "\0\0\0\0\0\0\0", 8, &a), cases[i].code, cases[i].message);
    expect_error(parse_npy(NPY("|b1", "False", "(2,)"), "\1\2", 2, &a), WICK_DATA_LOSS, "element 1 is 2");
    expect_error(wick_npy_parse("\x93NUMPX\1\0\0\0", 10, "x", &a), WICK_DATA_LOSS, "x: not an .npy file");
    expect_error(wick_npy_parse("\x93NUMPY\4\0\0\0\0\0", 12, "x", &a), WICK_UNSUPPORTED, "version 4.0");
    expect_error(wick_npy_parse("\x93NUMPY\1\0\1\0", 10, "x", &a), WICK_DATA_LOSS, "truncated");
    expect_error(wick_npy_parse("\x93NUMPY\2\0\0\0\0", 11, "x", &a), WICK_DATA_LOSS, "truncated");
    expect_error(wick_npy_parse("\x93NUMPY\2\0\0\0\0\1", 12, "x", &a), WICK_DATA_LOSS, "truncated");
    assert_null(a.data);
}

static wick_array counting(wick_dtype dtype, int ndim, const wick_dim *sizes) {
    wick_array a = WICK_ARRAY_INIT;
    expect_ok(wick_array_create(dtype, ndim, sizes, "test", &a));
    for (size_t i = 0; i < a.bytes; ++i) ((unsigned char *)a.data)[i] = dtype == WICK_BOOL ? i % 2 : (unsigned char)i;
    return a;
}

static void assert_same(const wick_array *a, const wick_array *b) {
    assert_int_equal(a->dtype, b->dtype);
    assert_int_equal(a->ndim, b->ndim);
    assert_memory_equal(a->sizes, b->sizes, sizeof a->sizes);
    assert_int_equal(a->bytes, b->bytes);
    if (a->bytes) assert_memory_equal(a->data, b->data, a->bytes);
}

static void npy_round_trips_every_dtype(void **state) {
    const wick_dim shapes[][3] = {{2, 3, 4}, {0, 5, 1}};
    for (int d = 1; d <= WICK_C128; ++d)
        for (int ndim = 0; ndim <= 3; ++ndim)
            for (int s = 0; s < 2; ++s) {
                if (d == WICK_BF16) continue;
                wick_array a = counting((wick_dtype)d, ndim, shapes[s]), b = WICK_ARRAY_INIT;
                expect_ok(wick_npy_write(scratch_path("a.npy"), &a));
                expect_ok(wick_npy_read(scratch_path("a.npy"), 0, &b));
                assert_same(&a, &b);
                wick_array_free(&a);
                wick_array_free(&b);
            }
    wick_array a = counting(WICK_BF16, 0, NULL);
    expect_error(wick_npy_write(scratch_path("b.npy"), &a), WICK_UNSUPPORTED, "no type for bf16");
    wick_array_free(&a);
}

/* Byte for byte what numpy.save writes. */
static void npy_writes_as_numpy_does(void **state) {
    static const char header[] = "\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }";
    const wick_dim sizes[] = {3};
    size_t bytes = 0;
    wick_array a = counting(WICK_F32, 1, sizes);
    expect_ok(wick_npy_write(scratch_path("a.npy"), &a));
    char *file = read_bytes(scratch_path("a.npy"), &bytes);
    assert_int_equal(bytes, 128 + 12);
    assert_memory_equal(file, header, sizeof header - 1);
    assert_int_equal(file[127], '\n');
    free(file);
    wick_array_free(&a);
}

/* ---- .npz ---- */
static void npz_round_trips(void **state) {
    const wick_dim sizes[] = {2, 3};
    const char *names[] = {"x", "layer/w\xc3\xa9"};
    wick_array arrays[] = {counting(WICK_F64, 2, sizes), counting(WICK_I32, 0, NULL)};
    wick_npz npz = WICK_NPZ_INIT;
    expect_ok(wick_npz_write(scratch_path("a.npz"), names, arrays, 2));
    expect_ok(wick_npz_read(scratch_path("a.npz"), 0, &npz));
    assert_int_equal(npz.count, 2);
    assert_string_equal(npz.names[1], names[1]);
    assert_same(wick_npz_find(&npz, "x"), &arrays[0]);
    assert_same(wick_npz_find(&npz, names[1]), &arrays[1]);
    assert_null(wick_npz_find(&npz, "x.npy"));
    wick_npz_free(&npz);
    const char *same[] = {"a", "a"};
    expect_error(wick_npz_write(scratch_path("b.npz"), same, arrays, 2), WICK_INVALID_ARGUMENT, "two entries 'a.npy'");
    expect_error(wick_npz_write(scratch_path("b.npz"), same, arrays, 0), WICK_INVALID_ARGUMENT, "at least one");
    expect_error(wick_npz_read(scratch_path("b.npz"), 0, &npz), WICK_NOT_FOUND, "b.npz: cannot open");
    expect_error(wick_npz_read(scratch_path("a.npz"), 300, &npz), WICK_UNSUPPORTED, "limit");
    for (int i = 0; i < 2; ++i) wick_array_free(&arrays[i]);
}

static void npz_reads_compressed_entries_and_refuses_damage(void **state) {
    const wick_dim sizes[] = {500};
    wick_array a = counting(WICK_U8, 1, sizes);
    wick_npz npz = WICK_NPZ_INIT;
    size_t bytes = 0;
    expect_ok(wick_npy_write(scratch_path("a.npy"), &a));
    zip_t *zip = zip_open(scratch_path("c.npz"), ZIP_CREATE | ZIP_TRUNCATE, NULL);
    assert_non_null(zip);
    zip_file_add(zip, "readme.txt", zip_source_buffer(zip, "text", 4, 0), 0);
    zip_file_add(zip, "a.npy", zip_source_file(zip, scratch_path("a.npy"), 0, -1), 0);
    zip_set_file_compression(zip, 1, ZIP_CM_DEFLATE, 9);
    assert_int_equal(zip_close(zip), 0);
    expect_ok(wick_npz_read(scratch_path("c.npz"), 0, &npz));
    assert_int_equal(npz.count, 1);
    assert_same(&npz.arrays[0], &a);
    wick_npz_free(&npz);
    wick_array_free(&a);
    char *file = read_bytes(scratch_path("c.npz"), &bytes);
    write_bytes(scratch_path("cut.npz"), file, bytes / 2);
    expect_error(wick_npz_read(scratch_path("cut.npz"), 0, &npz), WICK_DATA_LOSS, "cut.npz: ");
    file[150] ^= 0x55; /* in the compressed data */
    write_bytes(scratch_path("bad.npz"), file, bytes);
    expect_error(wick_npz_read(scratch_path("bad.npz"), 0, &npz), WICK_DATA_LOSS, "damaged entry 'a.npy'");
    free(file);
}

/* ---- IDX ---- */
static void idx_reads_and_refuses(void **state) {
    static const unsigned char images[] = {0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 6, 7};
    static const unsigned char numbers[] = {0, 0, 0xb, 1, 0, 0, 0, 2, 0x01, 0x02, 0xff, 0xff};
    static const unsigned char lying[] = {0,   0,   0xe, 4,   255, 255, 255, 255, 255, 255,
                                          255, 255, 255, 255, 255, 255, 255, 255, 255, 255};
    wick_array a = WICK_ARRAY_INIT;
    expect_ok(wick_idx_parse(images, sizeof images - 1, "x", &a));
    assert_int_equal(a.dtype, WICK_U8);
    assert_int_equal(a.sizes[0] * 10 + a.sizes[1], 23);
    assert_memory_equal(a.data, images + 12, 6);
    wick_array_free(&a);
    expect_ok(wick_idx_parse(numbers, sizeof numbers, "x", &a));
    assert_int_equal(((int16_t *)a.data)[0], 0x102);
    assert_int_equal(((int16_t *)a.data)[1], -1);
    wick_array_free(&a);
    write_gzip(scratch_path("i.gz"), images, sizeof images - 1);
    expect_ok(wick_idx_read(scratch_path("i.gz"), 0, &a));
    wick_array_free(&a);
    expect_error(wick_idx_parse(images, sizeof images, "x", &a), WICK_DATA_LOSS,
                 "oversized: 7 bytes of data, its header wants 6");
    for (size_t cut = 0; cut < sizeof images - 1; ++cut)
        expect_error(wick_idx_parse(images, cut, "x", &a), WICK_DATA_LOSS,
                     cut < 4    ? "not an IDX file"
                     : cut < 12 ? "IDX header of 12 bytes"
                                : "truncated");
    expect_error(wick_idx_parse(lying, sizeof lying, "x", &a), WICK_DATA_LOSS, "overflows");
    expect_error(wick_idx_parse("\0\0\x07\1", 4, "x", &a), WICK_DATA_LOSS, "not an IDX file");
    expect_error(wick_idx_parse("\0\0\x08\xff", 4, "x", &a), WICK_UNSUPPORTED, "255 dimensions");
}

/* ---- CSV ---- */
static wick_status *parse_csv(const char *text, const wick_csv_options *options, wick_csv *out) {
    return wick_csv_parse(text, strlen(text), "x.csv", options, out);
}

static void assert_values(const wick_csv *csv, size_t rows, size_t columns, const double *values) {
    assert_int_equal(csv->values.dtype, WICK_F64);
    assert_int_equal(csv->values.sizes[0], rows);
    assert_int_equal(csv->values.sizes[1], columns);
    assert_memory_equal(csv->values.data, values, rows * columns * sizeof *values);
}

static void csv_reads_usual_dialects(void **state) {
    static const char *const texts[] = {
        "1,2.5\n-3,4e2\n",
        "1,2.5\r\n-3,4e2",
        "1;2.5\n\n-3;4e2\n\n",
        "1\t2.5\n-3\t4e2\n",
        "  1   2.5 \n-3 4e2\n",
        "\"1\",2.5\n-3,\"4e2\"\n",
        "\xef\xbb\xbf"
        "1,2.5\n-3,+4.0E+2\n",
        "1, 2.5\n-3 ,4e2\n",
        "a,b\n1,2.5\n-3,4e2\n",
        "\"a,\"\"x\"\"\n\",b\n1,2.5\n-3,4e2",
    };
    static const double values[] = {1, 2.5, -3, 400};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
        wick_csv csv = WICK_CSV_INIT;
        expect_ok(parse_csv(texts[i], NULL, &csv));
        assert_values(&csv, 2, 2, values);
        assert_int_equal(csv.name_count, i < 8 ? 0 : 2);
        if (i == 9) assert_string_equal(csv.names[0], "a,\"x\"\n");
        wick_csv_free(&csv);
    }
}

static void csv_selects_labels(void **state) {
    static const double rest[] = {1, 3, 4, 6}, labels[] = {2, 5};
    wick_csv_options by_index = WICK_CSV_OPTIONS_INIT, from_end = WICK_CSV_OPTIONS_INIT,
                     by_name = WICK_CSV_OPTIONS_INIT;
    by_index.label_column = 1;
    from_end.label_column = -2;
    by_name.label_name = "y";
    const wick_csv_options *all[] = {&by_index, &from_end, &by_name};
    wick_csv csv = WICK_CSV_INIT;
    for (int i = 0; i < 3; ++i) {
        expect_ok(parse_csv("a,y,b\n1,2,3\n4,5,6\n", all[i], &csv));
        assert_values(&csv, 2, 2, rest);
        assert_int_equal(csv.labels.ndim, 1);
        assert_memory_equal(csv.labels.data, labels, sizeof labels);
        assert_string_equal(csv.names[1], "b");
        wick_csv_free(&csv);
    }
    by_index.label_column = 3;
    by_name.label_name = "z";
    expect_error(parse_csv("1,2,3\n", &by_index, &csv), WICK_OUT_OF_RANGE, "label column 3, but there are 3 columns");
    expect_error(parse_csv("a,y\n1,2\n", &by_name, &csv), WICK_NOT_FOUND, "no label column 'z'");
    expect_error(parse_csv("1,2\n", &by_name, &csv), WICK_NOT_FOUND, "the file has no header");
}

static void csv_refuses_malformed_text(void **state) {
    static const char *const cases[][2] = {
        {"1,2\n3\n", "x.csv:2: got 1 fields, want 2"},
        {"1,2\n\n\n3,4,5\n", "x.csv:4: got 3 fields, want 2"},
        {"a,b\n1,x2\n", "x.csv:2: column 2: got 'x2', want a number"},
        {"1,2\n3,\n", "x.csv:2: column 2: got '', want a number"},
        {"1,2\n0x10,3\n", "got '0x10'"},
        {"1,2\n1e999,3\n", "got '1e999'"},
        {"1,2\n1 2,3\n", "got '1 2'"},
        {"1,2\n--1,3\n", "got '--1'"},
        {"\"a\nb\",c\n1,2\n3\n", "x.csv:4: got 1 fields"},
        {"1,\"2\n3", "x.csv:1: a quote is not closed"},
        {"1,\"2\"x\n", "x.csv:1: column 2 goes on behind its closing quote"},
        {"", "the file is empty"},
        {"\n\r\n", "the file is empty"},
        {"a,b\n", "a header, but no row"},
    };
    wick_csv csv = WICK_CSV_INIT;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i)
        expect_error(parse_csv(cases[i][0], NULL, &csv), WICK_DATA_LOSS, cases[i][1]);
    expect_error(wick_csv_parse("1,2\n1,\0002\n", 9, "x", NULL, &csv), WICK_DATA_LOSS, "x:2: a zero byte");
    expect_error(wick_csv_parse("1,2\n\"1\0\",2\n", 11, "x", NULL, &csv), WICK_DATA_LOSS, "x:2: a zero byte");
    wick_csv_options bad = WICK_CSV_OPTIONS_INIT;
    bad.separator = '"';
    expect_error(parse_csv("1\n", &bad, &csv), WICK_INVALID_ARGUMENT, "bad wick_csv_options");
}

/* Each number is the double that strtod gives, in a locale with a decimal comma too. */
static void csv_parses_numbers_exactly(void **state) {
    static const char *const numbers[] = {"0.1",
                                          "123456.789012345",
                                          "999999999999999",
                                          "0.000000000000001",
                                          "-0",
                                          ".5",
                                          "5.",
                                          "1e22",
                                          "1.7976931348623157e308",
                                          "4.9e-324",
                                          "12345678901234567890",
                                          "0.30000000000000004",
                                          "9007199254740993",
                                          "3.141592653589793238"};
    const char *locale = setlocale(LC_ALL, "de_DE.UTF-8");
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i) {
        wick_csv csv = WICK_CSV_INIT;
        expect_ok(parse_csv(numbers[i], NULL, &csv));
        setlocale(LC_ALL, "C");
        double want = strtod(numbers[i], NULL);
        assert_memory_equal(csv.values.data, &want, sizeof want);
        if (locale) setlocale(LC_ALL, "de_DE.UTF-8");
        wick_csv_free(&csv);
    }
    setlocale(LC_ALL, "C");
    wick_csv csv = WICK_CSV_INIT;
    expect_ok(parse_csv("nan;-inf;NaN;Infinity", NULL, &csv));
    assert_true(isnan(((double *)csv.values.data)[0]));
    assert_true(((double *)csv.values.data)[1] == -INFINITY);
    wick_csv_free(&csv);
}

static void csv_reads_the_digits(void **state) {
    wick_csv_options options = WICK_CSV_OPTIONS_INIT;
    options.label_column = -1;
    wick_csv csv = WICK_CSV_INIT;
    expect_ok(wick_csv_read(WICK_SOURCE_DIR "/examples/data/digits.csv.gz", &options, &csv));
    assert_int_equal(csv.values.sizes[0], 1797);
    assert_int_equal(csv.values.sizes[1], 64);
    for (int64_t i = 0; i < csv.labels.sizes[0]; ++i)
        assert_true(((double *)csv.labels.data)[i] >= 0 && ((double *)csv.labels.data)[i] <= 9);
    wick_csv_free(&csv);
}

/* ---- arrays and tensors ---- */
static void arrays_become_tensors(void **state) {
    fixture f = fixture_open();
    const wick_dim sizes[] = {2, 3}, empty[] = {0, 3};
    wick_array a = counting(WICK_F32, 2, sizes), b = WICK_ARRAY_INIT, none = counting(WICK_F32, 2, empty);
    void *data = a.data;
    wick_tensor *t = wick_array_to_tensor(f.c, &a);
    assert_non_null(t);
    assert_ptr_equal(wick_data(t), data);
    assert_null(a.data);
    expect_ok(wick_array_from_tensor(f.c, t, &b));
    assert_memory_equal(b.data, data, b.bytes);
    wick_array_free(&b);
    t = wick_array_to_tensor(f.c, &none);
    assert_non_null(t);
    assert_int_equal(wick_numel(t), 0);
    assert_null(none.data);
    fixture_close(&f);
    const wick_dim huge[] = {INT64_MAX, 2}, negative[] = {-1};
    expect_error(wick_array_create(WICK_F32, 2, huge, "x", &b), WICK_INVALID_ARGUMENT, "too large");
    expect_error(wick_array_create(WICK_F32, 1, negative, "x", &b), WICK_INVALID_ARGUMENT, "size -1");
    expect_error(wick_array_create(WICK_DTYPE_NONE, 0, NULL, "x", &b), WICK_INVALID_ARGUMENT, "dtype invalid");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_plain_and_compressed_files),
        cmocka_unit_test(refuses_damaged_gzip),
        cmocka_unit_test(npy_undoes_byte_and_fortran_order),
        cmocka_unit_test(npy_refuses_malformed_files),
        cmocka_unit_test(npy_round_trips_every_dtype),
        cmocka_unit_test(npy_writes_as_numpy_does),
        cmocka_unit_test(npz_round_trips),
        cmocka_unit_test(npz_reads_compressed_entries_and_refuses_damage),
        cmocka_unit_test(idx_reads_and_refuses),
        cmocka_unit_test(csv_reads_usual_dialects),
        cmocka_unit_test(csv_selects_labels),
        cmocka_unit_test(csv_refuses_malformed_text),
        cmocka_unit_test(csv_parses_numbers_exactly),
        cmocka_unit_test(csv_reads_the_digits),
        cmocka_unit_test(arrays_become_tensors),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
