/* The native checkpoint format: what is refused, what is read, what is written, what a failed save leaves behind. */
#include "files_test.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <wick/file.h>
#include <wick/safetensors.h>

/* A file of that header and `data_bytes` bytes 0, 1, 2, ...; freed by the caller. */
static unsigned char *compose(const char *header, size_t data_bytes, size_t *out_bytes) {
    uint64_t length = strlen(header);
    unsigned char *file = malloc(8 + length + data_bytes);
    assert_non_null(file);
    memcpy(file, &length, 8);
    memcpy(file + 8, header, length);
    for (size_t i = 0; i < data_bytes; ++i) file[8 + length + i] = (unsigned char)i;
    *out_bytes = 8 + length + data_bytes;
    return file;
}

/* Opens a header in memory; the bytes live until the next call. */
static wick_status *open_header(const char *header, size_t data_bytes, wick_safetensors **out) {
    static unsigned char *bytes;
    size_t size = 0;
    free(bytes);
    bytes = compose(header, data_bytes, &size);
    wick_status *status = wick_safetensors_parse(NULL, bytes, size, "x.safetensors", out);
    if (status) free(bytes), bytes = NULL;
    return status;
}

#define T(name, dtype, shape, offsets) \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}"

static void refuses_malformed_headers(void **state) {
    static const struct {
        const char *header;
        size_t data_bytes;
        wick_code code;
        const char *message;
    } cases[] = {
        {"", 0, WICK_DATA_LOSS, "header ends where an object is wanted"},
        {"[]", 0, WICK_DATA_LOSS, "byte 0: got '[', want an object"},
        {"{} x", 0, WICK_DATA_LOSS, "want the end"},
        {"{", 0, WICK_DATA_LOSS, "want"},
        {"{\"a\"}", 0, WICK_DATA_LOSS, "want ':'"},
        {"{" T("a", "U8", "[0]", "[0,0]") ",}", 0, WICK_DATA_LOSS, "want a string"},
        {"{" T("a", "U8", "[0]", "[0,0]") " " T("b", "U8", "[0]", "[0,0]") "}", 0, WICK_DATA_LOSS, "want ',' or '}'"},
        {"{\"a\":1}", 0, WICK_DATA_LOSS, "want an object"},
        {"{\"a\":[[[[[[[[", 0, WICK_DATA_LOSS, "want an object"},
        {"{" T("a", "F33", "[1]", "[0,4]") "}", 4, WICK_UNSUPPORTED, "tensor 'a' has the unknown dtype 'F33'"},
        {"{" T("a", "f32", "[1]", "[0,4]") "}", 4, WICK_UNSUPPORTED, "unknown dtype"},
        {"{" T("a", "U8", "[-1]", "[0,1]") "}", 1, WICK_DATA_LOSS, "got '-', want a non-negative integer"},
        {"{" T("a", "U8", "[1.0]", "[0,1]") "}", 1, WICK_DATA_LOSS, "got '.', want a non-negative integer"},
        {"{" T("a", "U8", "[1e0]", "[0,1]") "}", 1, WICK_DATA_LOSS, "got 'e', want a non-negative integer"},
        {"{" T("a", "U8", "[01]", "[0,1]") "}", 1, WICK_DATA_LOSS, "want a non-negative integer"},
        {"{" T("a", "U8", "[\"1\"]", "[0,1]") "}", 1, WICK_DATA_LOSS, "want a non-negative integer"},
        {"{" T("a", "U8", "[[[1]]]", "[0,1]") "}", 1, WICK_DATA_LOSS, "got '[', want a non-negative integer"},
        {"{" T("a", "U8", "[9223372036854775808]", "[0,1]") "}", 1, WICK_DATA_LOSS, "integer below 2^63"},
        {"{" T("a", "F64", "[4611686018427387904,8]", "[0,0]") "}", 0, WICK_DATA_LOSS, "product overflows"},
        {"{" T("a", "F64", "[2305843009213693952]", "[0,0]") "}", 0, WICK_DATA_LOSS, "product overflows"},
        {"{" T("a", "U8", "[0,4611686018427387904,8]", "[0,0]") "}", 0, WICK_DATA_LOSS, "product overflows"},
        {"{" T("a", "U8", "[1]", "[0]") "}", 1, WICK_DATA_LOSS, "tensor 'a' needs 2 data_offsets"},
        {"{" T("a", "U8", "[1]", "[0,1,2]") "}", 1, WICK_DATA_LOSS, "tensor 'a' needs 2 data_offsets"},
        {"{" T("a", "U8", "[1]", "[1,0]") "}", 1, WICK_DATA_LOSS, "[1, 0], which do not lie in the 1 bytes of data"},
        {"{" T("a", "U8", "[2]", "[0,2]") "}", 1, WICK_DATA_LOSS, "[0, 2], which do not lie in the 1 bytes of data"},
        {"{" T("a", "F32", "[2]", "[0,4]") "}", 4, WICK_DATA_LOSS, "4 bytes by its data_offsets, but 8 by its shape"},
        {"{" T("a", "U8", "[4]", "[0,4]") "," T("b", "U8", "[4]", "[2,6]") "}", 6, WICK_DATA_LOSS,
         "tensor 'b' overlaps 'a'"},
        {"{" T("a", "U8", "[4]", "[0,4]") "," T("b", "U8", "[4]", "[0,4]") "}", 4, WICK_DATA_LOSS, "overlaps"},
        {"{" T("a", "U8", "[2]", "[0,2]") "," T("b", "U8", "[2]", "[4,6]") "}", 6, WICK_DATA_LOSS,
         "tensor 'b' begins at byte 4, behind a hole that begins at 2"},
        {"{" T("a", "U8", "[2]", "[1,3]") "}", 3, WICK_DATA_LOSS, "behind a hole that begins at 0"},
        {"{" T("a", "U8", "[2]", "[0,2]") "}", 3, WICK_DATA_LOSS, "the tensors end at byte 2 of 3 bytes of data"},
        {"{}", 1, WICK_DATA_LOSS, "the tensors end at byte 0 of 1 bytes of data"},
        {"{" T("a", "U8", "[1]", "[0,1]") "," T("a", "U8", "[1]", "[1,2]") "}", 2, WICK_DATA_LOSS, "two tensors 'a'"},
        {"{" T("a", "U8", "[1]", "[0,1]") "," T("\\u0061", "U8", "[1]", "[1,2]") "}", 2, WICK_DATA_LOSS,
         "two tensors 'a'"},
        {"{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\"}}", 0, WICK_DATA_LOSS, "tensor 'a' has two fields 'dtype'"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[0]}}", 0, WICK_DATA_LOSS, "tensor 'a' lacks 'data_offsets'"},
        {"{\"a\":{\"strides\":[1]}}", 0, WICK_DATA_LOSS, "unknown field 'strides'"},
        {"{\"a\\u0000b\":{}}", 0, WICK_DATA_LOSS, "malformed character"},
        {"{\"\xff\":{}}", 0, WICK_DATA_LOSS, "malformed character"},
        {"{\"\xc0\x80\":{}}", 0, WICK_DATA_LOSS, "malformed character"},
        {"{\"\xed\xa0\x80\":{}}", 0, WICK_DATA_LOSS, "malformed character"},
        {"{\"\\ud800\":{}}", 0, WICK_DATA_LOSS, "malformed character"},
        {"{\"\\x\":{}}", 0, WICK_DATA_LOSS, "malformed character"},
        {"{\"a\n\":{}}", 0, WICK_DATA_LOSS, "malformed character"},
        {"{\"a", 0, WICK_DATA_LOSS, "the end of a string"},
        {"{\"__metadata__\":{\"a\":1}}", 0, WICK_DATA_LOSS, "want a string"},
        {"{\"__metadata__\":{\"a\":\"1\",\"a\":\"2\"}}", 0, WICK_DATA_LOSS, "two metadata keys 'a'"},
        {"{\"__metadata__\":{},\"__metadata__\":{}}", 0, WICK_DATA_LOSS, "two fields '__metadata__'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        wick_safetensors *file = NULL;
        expect_error(open_header(cases[i].header, cases[i].data_bytes, &file), cases[i].code, cases[i].message);
        assert_null(file);
    }
}

static void limits_rank(void **state) {
    char header[512] = "{\"a\":{\"dtype\":\"U8\",\"data_offsets\":[0,1],\"shape\":[1", *end = header + strlen(header);
    wick_safetensors *file = NULL;
    for (int i = 1; i < WICK_MAX_DIMS; ++i) end += sprintf(end, ",1");
    strcpy(end, "]}}");
    expect_ok(open_header(header, 1, &file));
    assert_int_equal(wick_safetensors_at(file, 0)->ndim, WICK_MAX_DIMS);
    wick_safetensors_close(file);
    strcpy(end, ",1]}}");
    expect_error(open_header(header, 1, &file), WICK_UNSUPPORTED, "more than 64 dimensions");
}

static void refuses_lying_lengths(void **state) {
    static const unsigned char huge[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, '{', '}'};
    static const unsigned char over_cap[] = {1, 0xe1, 0xf5, 5, 0, 0, 0, 0, '{', '}'};
    static const unsigned char truncated[] = {3, 0, 0, 0, 0, 0, 0, 0, '{', '}'};
    wick_safetensors *file = NULL;
    expect_error(wick_safetensors_parse(NULL, "", 0, "x", &file), WICK_DATA_LOSS, "too few");
    expect_error(wick_safetensors_parse(NULL, huge, 7, "x", &file), WICK_DATA_LOSS, "7 bytes are too few");
    expect_error(wick_safetensors_parse(NULL, huge, sizeof huge, "x", &file), WICK_DATA_LOSS, "18446744073709551615");
    expect_error(wick_safetensors_parse(NULL, over_cap, sizeof over_cap, "x", &file), WICK_DATA_LOSS,
                 "header of 100000001 bytes, at most 100000000 are allowed");
    expect_error(wick_safetensors_parse(NULL, truncated, sizeof truncated, "x", &file), WICK_DATA_LOSS,
                 "x: truncated: header of 3 bytes in a file of 10");
}

/* Every file cut short anywhere is refused. */
static void refuses_truncation(void **state) {
    size_t bytes = 0;
    unsigned char *data = compose("{" T("a", "F32", "[2]", "[0,8]") "}  ", 8, &bytes);
    for (size_t cut = 0; cut < bytes; ++cut) {
        wick_safetensors *file = NULL;
        unsigned char *exact = malloc(cut + 1); /* so that a sanitizer sees a read behind the end */
        memcpy(exact, data, cut);
        expect_error(wick_safetensors_parse(NULL, exact, cut, "x", &file), WICK_DATA_LOSS, "x: ");
        free(exact);
    }
    free(data);
}

static void reads_names_and_metadata(void **state) {
    wick_safetensors *file = NULL;
    wick_safetensors_pair pair;
    expect_ok(open_header(" { \"__metadata__\" : { \"k\\n\" : \"\\u00e9\\ud83d\\ude00\\\"\\\\\\/\" , \"a\":\"\"} ,\n"
                          " " T("z", "U8", "[ 2 , 1 ]", "[0 , 2]") "," T("b.0", "F64", "[0,3]", "[2,2]") "," T(
                              "", "BF16", "[]", "[2,4]") "}   ",
                          4, &file));
    assert_int_equal(wick_safetensors_count(file), 3);
    assert_string_equal(wick_safetensors_at(file, 0)->name, "");
    assert_string_equal(wick_safetensors_at(file, 2)->name, "z");
    assert_null(wick_safetensors_at(file, 3));
    assert_null(wick_safetensors_find(file, "b"));
    const wick_safetensors_info *b = wick_safetensors_find(file, "b.0"), *z = wick_safetensors_find(file, "z");
    assert_int_equal(b->dtype, WICK_F64);
    assert_int_equal(b->ndim, 2);
    assert_int_equal(b->sizes[1], 3);
    assert_int_equal(b->bytes, 0);
    assert_int_equal(((const unsigned char *)wick_safetensors_data(file, z))[1], 1);
    assert_string_equal(wick_safetensors_metadata(file, "k\n"), "\xc3\xa9\xf0\x9f\x98\x80\"\\/");
    assert_null(wick_safetensors_metadata(file, "none"));
    assert_true(wick_safetensors_metadata_at(file, 0, &pair));
    assert_string_equal(pair.key, "a");
    assert_false(wick_safetensors_metadata_at(file, 2, &pair));
    wick_safetensors_close(file);
    wick_safetensors_close(NULL);
}

/* ---- files ---- */
static void names_what_is_wrong_with_a_path(void **state) {
    wick_runtime *rt = NULL;
    wick_safetensors *file = NULL;
    expect_ok(wick_runtime_create(NULL, &rt));
    expect_error(wick_safetensors_open(rt, scratch_path("none"), &file), WICK_NOT_FOUND,
                 "none: cannot open: No such file");
    expect_error(wick_safetensors_open(rt, scratch_folder, &file), WICK_INVALID_ARGUMENT, "not a regular file");
    write_bytes(scratch_path("empty"), "", 0);
    expect_error(wick_safetensors_open(rt, scratch_path("empty"), &file), WICK_DATA_LOSS, "a file of 0 bytes");
    wick_runtime_release(rt);
}

/* ---- exhausted memory ---- */
typedef struct failing_heap {
    int64_t left; /* allocations until one fails; negative: none does */
    int64_t live;
} failing_heap;

static bool heap_fails(failing_heap *heap) { return heap->left >= 0 && heap->left-- == 0; }

static void *heap_allocate(void *user, size_t bytes) {
    failing_heap *heap = user;
    void *p = heap_fails(heap) ? NULL : malloc(bytes);
    heap->live += p != NULL;
    return p;
}

static void *heap_reallocate(void *user, void *pointer, size_t bytes) {
    return heap_fails(user) ? NULL : realloc(pointer, bytes);
}

static void heap_free(void *user, void *pointer) {
    failing_heap *heap = user;
    heap->live -= pointer != NULL;
    free(pointer);
}

static void survives_exhausted_memory(void **state) {
    failing_heap heap = {-1, 0};
    const wick_allocator allocator = {heap_allocate, heap_reallocate, heap_free, &heap};
    wick_runtime_options options = WICK_RUNTIME_OPTIONS_INIT;
    options.allocator = &allocator;
    wick_runtime *rt = NULL;
    expect_ok(wick_runtime_create(&options, &rt));
    size_t bytes = 0;
    unsigned char *data =
        compose("{\"__metadata__\":{\"k\":\"v\"}," T("a", "U8", "[1,1,1,1,1,1,1,1,1]", "[0,1]") "}", 1, &bytes);
    int64_t before = heap.live;
    wick_safetensors *file = NULL;
    for (int64_t n = 0; !file; ++n) {
        heap.left = n;
        wick_status *status = wick_safetensors_parse(rt, data, bytes, "x", &file);
        heap.left = -1;
        if (!status) continue;
        expect_error(status, WICK_OUT_OF_MEMORY, "x: no memory");
        assert_int_equal(heap.live, before);
        assert_true(n < 100);
    }
    wick_safetensors_close(file);
    assert_int_equal(heap.live, before);
    free(data);
    wick_runtime_release(rt);
    assert_int_equal(heap.live, 0);
}

static wick_tensor *f32(wick_context *c, int ndim, const wick_dim *sizes) {
    static const float values[] = {0, 1, 2, 3, 4, 5};
    wick_runtime *rt = wick_context_runtime(c);
    return wick_tensor_from_host(c, values, WICK_F32, ndim, sizes, wick_runtime_host(rt));
}

/* The same bytes that the reference implementation writes. */
static void writes_as_the_reference_does(void **state) {
    fixture f = fixture_open();
    static const uint8_t bytes[] = {7, 8, 9};
    const wick_dim three[] = {3}, matrix[] = {2, 3};
    wick_device host = wick_runtime_host(f.rt);
    wick_tensor *tensors[] = {wick_tensor_from_host(f.c, bytes, WICK_U8, 1, three, host), f32(f.c, 2, matrix),
                              f32(f.c, 0, NULL)};
    const char *names[] = {"a", "w\n", "b"};
    const wick_safetensors_pair metadata[] = {{"format", "pt"}};
    size_t size = 0;
    expect_ok(wick_safetensors_save(f.c, scratch_path("m"), names, tensors, 3, metadata, 1));
    char *file = read_bytes(scratch_path("m"), &size);
    static const char header[] = "{\"__metadata__\":{\"format\":\"pt\"},"
                                 "\"b\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]},"
                                 "\"w\\n\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[4,28]},"
                                 "\"a\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[28,31]}}";
    assert_memory_equal(file + 8, header, sizeof header - 1);
    assert_int_equal((unsigned char)file[0] % 8, 0);
    assert_memory_equal(file + size - 3, bytes, 3);
    free(file);
    fixture_close(&f);
}

static void round_trips_every_dtype(void **state) {
    fixture f = fixture_open();
    wick_tensor *tensors[WICK_DTYPE_COUNT];
    const char *names[WICK_DTYPE_COUNT];
    const wick_dim sizes[] = {2, 1, 3};
    unsigned char values[96];
    size_t n = 0;
    for (size_t i = 0; i < sizeof values; ++i) values[i] = i % 5 % 2;
    for (int d = 1; d < WICK_DTYPE_COUNT; ++d, ++n) {
        names[n] = wick_dtype_name((wick_dtype)d);
        tensors[n] = wick_tensor_from_host(f.c, values, (wick_dtype)d, 3, sizes, wick_runtime_host(f.rt));
    }
    expect_ok(wick_safetensors_save(f.c, scratch_path("m"), names, tensors, n, NULL, 0));
    wick_safetensors *file = NULL;
    expect_ok(wick_safetensors_open(f.rt, scratch_path("m"), &file));
    assert_int_equal(wick_safetensors_count(file), n);
    for (size_t i = 0; i < n; ++i) {
        wick_tensor *t = wick_safetensors_tensor(f.c, file, names[i]);
        assert_non_null(t);
        assert_int_equal(t->dtype, tensors[i]->dtype);
        assert_int_equal(wick_size(t, -1), 3);
        assert_memory_equal(wick_data(t), values, 6 * wick_dtype_bytes(wick_tensor_dtype(t)));
        assert_ptr_equal(wick_data(t), wick_safetensors_data(file, wick_safetensors_find(file, names[i])));
    }
    wick_safetensors_close(file); /* tensors keep the mapping */
    fixture_close(&f);
}

static void writing_to_a_tensor_leaves_the_file(void **state) {
    fixture f = fixture_open();
    const wick_dim sizes[] = {6};
    const char *names[] = {"a"};
    wick_tensor *a = f32(f.c, 1, sizes);
    for (int round = 0; round < 2; ++round) {
        wick_safetensors *file = NULL;
        if (round == 0) expect_ok(wick_safetensors_save(f.c, scratch_path("m"), names, &a, 1, NULL, 0));
        expect_ok(wick_safetensors_open(f.rt, scratch_path("m"), &file));
        wick_tensor *t = wick_safetensors_tensor(f.c, file, "a");
        assert_non_null(t);
        assert_true(((float *)wick_data(t))[1] == 1);
        ((float *)wick_data(t))[1] = 100;
        wick_safetensors_close(file);
    }
    fixture_close(&f);
}

static void writes_strided_tensors_row_major(void **state) {
    fixture f = fixture_open();
    static float values[] = {0, 1, 2, 3, 4, 5};
    static const float transposed[] = {0, 3, 1, 4, 2, 5};
    const wick_dim sizes[] = {3, 2}, strides[] = {1, 3};
    const char *names[] = {"a"};
    wick_tensor *t = wick_tensor_wrap(f.c, values, sizeof values, WICK_F32, 2, sizes, strides, NULL, NULL);
    assert_non_null(t);
    expect_ok(wick_safetensors_save(f.c, scratch_path("m"), names, &t, 1, NULL, 0));
    wick_safetensors *file = NULL;
    expect_ok(wick_safetensors_open(f.rt, scratch_path("m"), &file));
    assert_memory_equal(wick_safetensors_data(file, wick_safetensors_at(file, 0)), transposed, sizeof transposed);
    wick_safetensors_close(file);
    fixture_close(&f);
}

/* Misaligned data, and data in memory, become copies. */
static void copies_what_it_cannot_wrap(void **state) {
    fixture f = fixture_open();
    size_t bytes = 0;
    unsigned char *data = compose("{" T("u", "U8", "[1]", "[0,1]") "," T("f", "I32", "[1]", "[1,5]") "}", 5, &bytes);
    write_bytes(scratch_path("m"), data, bytes);
    for (int from_memory = 0; from_memory < 2; ++from_memory) {
        wick_safetensors *file = NULL;
        if (from_memory)
            expect_ok(wick_safetensors_parse(f.rt, data, bytes, "memory", &file));
        else
            expect_ok(wick_safetensors_open(f.rt, scratch_path("m"), &file));
        wick_tensor *t = wick_safetensors_tensor(f.c, file, "f");
        assert_non_null(t);
        assert_int_equal(*(int32_t *)wick_data(t), 0x04030201);
        assert_ptr_not_equal(wick_data(t), wick_safetensors_data(file, wick_safetensors_find(file, "f")));
        wick_safetensors_close(file);
    }
    free(data);
    fixture_close(&f);
}

static void fails_on_unknown_names_and_bad_bools(void **state) {
    fixture f = fixture_open();
    size_t bytes = 0;
    unsigned char *data = compose("{" T("flags", "BOOL", "[3]", "[0,3]") "}", 3, &bytes);
    wick_safetensors *file = NULL;
    expect_ok(wick_safetensors_parse(f.rt, data, bytes, "x", &file));
    assert_null(wick_safetensors_tensor(f.c, file, "none"));
    expect_error(wick_status_take(f.c), WICK_NOT_FOUND, "x: no tensor 'none'");
    assert_null(wick_safetensors_tensor(f.c, file, "flags"));
    expect_error(wick_status_take(f.c), WICK_DATA_LOSS, "tensor 'flags' holds 2 at element 2, a BOOL is 0 or 1");
    wick_safetensors_close(file);
    free(data);
    fixture_close(&f);
}

/* ---- saving atomically ---- */
static void refuses_to_save_nonsense(void **state) {
    fixture f = fixture_open();
    const wick_dim sizes[] = {6};
    wick_tensor *t = f32(f.c, 1, sizes), *twice[] = {t, t}, *missing[] = {NULL};
    const char *same[] = {"a", "a"}, *reserved[] = {"__metadata__"}, *invalid[] = {"\xff"}, *null[] = {NULL};
    const wick_safetensors_pair pairs[] = {{"k", "1"}, {"k", "2"}};
    const char *path = scratch_path("m");
    scratch_files(true);
    expect_error(wick_safetensors_save(f.c, path, same, twice, 2, NULL, 0), WICK_INVALID_ARGUMENT, "two tensors 'a'");
    expect_error(wick_safetensors_save(f.c, path, reserved, &t, 1, NULL, 0), WICK_INVALID_ARGUMENT, "'__metadata__'");
    expect_error(wick_safetensors_save(f.c, path, invalid, &t, 1, NULL, 0), WICK_INVALID_ARGUMENT, "not valid UTF-8");
    expect_error(wick_safetensors_save(f.c, path, null, &t, 1, NULL, 0), WICK_INVALID_ARGUMENT, "name is NULL");
    expect_error(wick_safetensors_save(f.c, path, same, missing, 1, NULL, 0), WICK_INVALID_ARGUMENT, "'a' is NULL");
    expect_error(wick_safetensors_save(f.c, path, same, &t, 1, pairs, 2), WICK_INVALID_ARGUMENT,
                 "two metadata keys 'k'");
    expect_error(wick_safetensors_save(f.c, scratch_path("no/m"), same, &t, 1, NULL, 0), WICK_IO, "No such file");
    assert_int_equal(scratch_files(false), 0);
    fixture_close(&f);
}

/* The disk is full after 4 KiB: the old file stays, and nothing else. */
static void a_failed_save_keeps_the_old_file(void **state) {
    fixture f = fixture_open();
    const wick_dim sizes[] = {4096};
    const char *names[] = {"a"};
    struct rlimit old, small;
    wick_tensor *t = wick_tensor_from_host(f.c, NULL, WICK_F32, 1, sizes, wick_runtime_host(f.rt));
    assert_non_null(t);
    scratch_files(true);
    write_bytes(scratch_path("m"), "old", 3);
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &old);
    small = old, small.rlim_cur = 4096;
    setrlimit(RLIMIT_FSIZE, &small);
    wick_status *status = wick_safetensors_save(f.c, scratch_path("m"), names, &t, 1, NULL, 0);
    setrlimit(RLIMIT_FSIZE, &old);
    expect_error(status, WICK_IO, "m: cannot write: File too large");
    size_t bytes = 0;
    char *data = read_bytes(scratch_path("m"), &bytes);
    assert_string_equal(data, "old");
    assert_int_equal(scratch_files(false), 1);
    free(data);
    fixture_close(&f);
}

static void saves_on_a_failed_context(void **state) {
    fixture f = fixture_open();
    const wick_dim sizes[] = {6};
    const char *names[] = {"a"};
    wick_tensor *t = f32(f.c, 1, sizes);
    wick_fail(f.c, WICK_ERROR(WICK_CANCELLED, "stop"));
    expect_ok(wick_safetensors_save(f.c, scratch_path("m"), names, &t, 1, NULL, 0));
    expect_error(wick_status_take(f.c), WICK_CANCELLED, "stop");
    fixture_close(&f);
}

static void replaces_files_as_a_whole(void **state) {
    struct stat info;
    size_t bytes = 0;
    scratch_files(true);
    expect_ok(wick_file_replace(scratch_path("m"), "first", 5));
    assert_int_equal(chmod(scratch_path("m"), 0640), 0);
    assert_int_equal(symlink("m", scratch_path("link")), 0);
    expect_ok(wick_file_replace(scratch_path("link"), "second", 6));
    assert_int_equal(lstat(scratch_path("link"), &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_int_equal(stat(scratch_path("m"), &info), 0);
    assert_int_equal(info.st_mode & 07777, 0640);
    char *data = read_bytes(scratch_path("m"), &bytes);
    assert_string_equal(data, "second");
    free(data);
    wick_atomic_file *file = NULL;
    expect_ok(wick_atomic_file_create(scratch_path("m"), &file));
    expect_ok(wick_atomic_file_write(file, "third", 5));
    assert_int_equal(scratch_files(false), 3);
    wick_atomic_file_discard(file);
    assert_int_equal(scratch_files(false), 2);
    expect_error(wick_file_replace("/dev/null", "x", 1), WICK_INVALID_ARGUMENT, "not a regular file");
    expect_error(wick_file_replace("", "x", 1), WICK_INVALID_ARGUMENT, "no file name");
}

/* ---- the recorded results ---- */
static int open_recordings(wick_runtime *rt, const char *folder) {
    int count = 0;
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir)) != NULL;) {
        char path[1024];
        wick_safetensors *file = NULL;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (entry->d_type == DT_DIR && entry->d_name[0] != '.') count += open_recordings(rt, path);
        if (!strstr(entry->d_name, ".safetensors")) continue;
        expect_ok(wick_safetensors_open(rt, path, &file));
        wick_safetensors_close(file);
        ++count;
    }
    if (dir) closedir(dir);
    return count;
}

static void reads_all_recordings(void **state) {
    wick_runtime *rt = NULL;
    expect_ok(wick_runtime_create(NULL, &rt));
    assert_true(open_recordings(rt, WICK_SOURCE_DIR "/tests/goldens") > 0);
    if (getenv("WICK_GOLDENS")) assert_true(open_recordings(rt, getenv("WICK_GOLDENS")) > 0);
    wick_runtime_release(rt);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_malformed_headers),
        cmocka_unit_test(limits_rank),
        cmocka_unit_test(refuses_lying_lengths),
        cmocka_unit_test(refuses_truncation),
        cmocka_unit_test(reads_names_and_metadata),
        cmocka_unit_test(names_what_is_wrong_with_a_path),
        cmocka_unit_test(replaces_files_as_a_whole),
        cmocka_unit_test(reads_all_recordings),
        cmocka_unit_test(survives_exhausted_memory),
        cmocka_unit_test(writes_as_the_reference_does),
        cmocka_unit_test(round_trips_every_dtype),
        cmocka_unit_test(writing_to_a_tensor_leaves_the_file),
        cmocka_unit_test(writes_strided_tensors_row_major),
        cmocka_unit_test(copies_what_it_cannot_wrap),
        cmocka_unit_test(fails_on_unknown_names_and_bad_bools),
        cmocka_unit_test(refuses_to_save_nonsense),
        cmocka_unit_test(a_failed_save_keeps_the_old_file),
        cmocka_unit_test(saves_on_a_failed_context),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
