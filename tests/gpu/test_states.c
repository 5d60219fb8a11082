/* Machines that lack something: which state plugins hip and cuda are then in, and what reason they give. */
#include "../sdk/sdk_test.h"

#include <dlfcn.h>

#include <wick/stream.h>

#define LIBRARY(name) WICK_BUILD_DIR "/tests/lib" name ".so"
#define PLUGIN(name) WICK_BUILD_DIR "/lib/wick/" name ".so"

/* ---- the machine ---- */
/* Libraries of which a name begins so are not found. */
static const char *const hidden[] = {"libamdhip64", "libcuda.", "libcublasLt", "libcudnn"};

/* In the place of the loader's own, for plugins too. */
__attribute__((visibility("default"))) void *dlopen(const char *file, int flags) {
    void *(*next)(const char *, int);
    char name[128];
    *(void **)&next = dlsym(RTLD_NEXT, "dlopen");
    for (size_t i = 0; file && i < COUNT(hidden); ++i)
        if (strncmp(file, hidden[i], strlen(hidden[i])) == 0) {
            snprintf(name, sizeof name, "missing/%.100s", file);
            file = name;
        }
    return next(file, flags);
}

static void fail_in(const char *library, const char *orders) {
    void *mock = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!mock) fail_msg("%s", dlerror());
    void (*order)(const char *);
    *(void **)&order = dlsym(mock, "mock_hip_fail");
    assert_non_null(order);
    order(orders);
    dlclose(mock);
}

/* ---- a runtime with the plugin ---- */
static fixture F;

/* "path" in [plugin.NAME], and more lines. */
static const wick_backend_info *open_plugin(const char *name, const char *lines) {
    char ini[2048];
    snprintf(ini, sizeof ini, "[plugin.cpu]\npath = " PLUGIN("cpu") "\n[plugin.%s]\npath = " PLUGIN("%s") "\n%s", name,
             name, lines);
    open_fixture(&F, ini);
    for (int i = 0;; ++i) {
        const wick_backend_info *info = wick_runtime_backend(F.runtime, i);
        assert_non_null(info);
        if (strcmp(info->name, name) == 0) return info;
    }
}

/* The whole reason, or its beginning if it ends with "..". */
static bool is_reason(const char *got, const char *wanted) {
    size_t n = strlen(wanted);
    bool open = n > 2 && strcmp(wanted + n - 2, "..") == 0;
    return open ? strncmp(got, wanted, n - 2) == 0 : strcmp(got, wanted) == 0;
}

static void assert_state(const char *name, const char *lines, wick_backend_state state, const char *reason) {
    char optional[1024];
    snprintf(optional, sizeof optional, "%srequired = no\n", lines);
    const wick_backend_info *info = open_plugin(name, optional);
    if (info->state != state || !is_reason(info->reason, reason))
        fail_msg("%s: wanted state %d with '%s', got %d: %s", name, state, reason, info->state, info->reason);
    assert_int_equal(info->device_count, state == WICK_BACKEND_READY);
    close_fixture(&F);
}

#define CUDA "cublaslt = no\ncudnn = no\n"

typedef struct state_case {
    const char *plugin, *lines;
    wick_backend_state state;
    const char *reason;
} state_case;

static void assert_states(const state_case *cases, size_t count) {
    for (size_t i = 0; i < count; ++i) assert_state(cases[i].plugin, cases[i].lines, cases[i].state, cases[i].reason);
}

/* ---- no driver, another driver ---- */
#define NOT_FOUND(file) file ": cannot open shared object file: No such file or directory"

static void test_no_driver(void **state) {
    static const state_case cases[] = {
        {"hip", "", WICK_BACKEND_NO_DEVICE,
         "no hip driver: " NOT_FOUND("missing/libamdhip64.so") "; " NOT_FOUND("missing/libamdhip64.so.7") "; " NOT_FOUND(
             "missing/libamdhip64.so.6") "; " NOT_FOUND("missing/libamdhip64.so.5")},
        {"hip", "driver = /nowhere/libamdhip64.so\n", WICK_BACKEND_NO_DEVICE,
         "no hip driver: " NOT_FOUND("/nowhere/libamdhip64.so")},
        {"cuda", "", WICK_BACKEND_NO_DEVICE,
         "no cuda driver: " NOT_FOUND("missing/libcuda.so.1") "; " NOT_FOUND("missing/libcuda.so")},
        {"cuda", "driver = /nowhere/libcuda.so.1\n", WICK_BACKEND_NO_DEVICE,
         "no cuda driver: " NOT_FOUND("/nowhere/libcuda.so.1")},
    };
    assert_states(cases, COUNT(cases));
}

/* A plugin that the INI does not excuse is an error, with the reason. */
static void test_a_required_plugin(void **state) {
    wick_config_file *config = NULL;
    wick_runtime *runtime;
    static const char ini[] = "[plugin.cpu]\npath = " PLUGIN("cpu") "\n[plugin.cuda]\npath = " PLUGIN("cuda") "\n";
    expect_ok(wick_runtime_create(NULL, &runtime));
    expect_ok(wick_config_parse(ini, strlen(ini), "test.ini", NULL, &config));
    wick_status *status = wick_runtime_load(runtime, config);
    assert_non_null(status);
    const wick_status *cause = wick_status_cause(status);
    assert_string_equal(wick_status_message(status), "plugin.cuda: create: " PLUGIN("cuda"));
    assert_true(cause && is_reason(wick_status_message(cause), "no cuda driver: missing/libcuda.so.1: cannot open.."));
    wick_status_free(status);
    wick_config_free(config);
    wick_runtime_release(runtime);
}

static void test_drivers_that_lack_a_function(void **state) {
    static const state_case cases[] = {
        {"hip", "driver = " PLUGIN("cpu") "\n", WICK_BACKEND_NO_DEVICE, "the hip driver has no hipInit: it is too old"},
        {"hip", "driver = " LIBRARY("mock_hip_old") "\n", WICK_BACKEND_NO_DEVICE,
         "the hip driver has no hipStreamBeginCapture: it is too old"},
        {"cuda", "driver = " PLUGIN("cpu") "\n", WICK_BACKEND_NO_DEVICE,
         "the cuda driver has no cuInit: it is too old"},
        {"cuda", "driver = " LIBRARY("mock_cuda_old") "\n", WICK_BACKEND_NO_DEVICE,
         "the cuda driver has no cuStreamBeginCapture_v2: it is too old"},
    };
    assert_states(cases, COUNT(cases));
}

/* ---- a driver without a device, or with one that does not start ---- */
static void test_no_device(void **state) {
    static const state_case cases[] = {
        {"hip", "driver = " LIBRARY("mock_hip") "\n", WICK_BACKEND_NO_DEVICE, "no hip device: hipErrorNoDevice"},
        {"cuda", "driver = " LIBRARY("mock_cuda") "\n", WICK_BACKEND_NO_DEVICE, "no cuda device: CUDA_ERROR_NO_DEVICE"},
    };
    setenv("MOCK_HIP_DEVICES", "0", 1);
    assert_states(cases, COUNT(cases));
    unsetenv("MOCK_HIP_DEVICES");
}

static void test_bad_keys(void **state) {
    static const struct {
        const char *line, *reason;
    } cases[] = {
        {"devices = 0\n", "devices = 0: wanted 1 to 16"},
        {"devices = 17\n", "devices = 17: wanted 1 to 16"},
        {"small_products = -1\n", "small_products = -1: wanted 0 or more"},
        {"small_products = few\n", "test.ini:8: [plugin.cuda] small_products: got \"few\", wanted an integer"}};
    char lines[512];
    for (size_t i = 0; i < COUNT(cases); ++i) {
        snprintf(lines, sizeof lines, CUDA "driver = " LIBRARY("mock_cuda") "\n%s", cases[i].line);
        assert_state("cuda", lines, WICK_BACKEND_REFUSED, cases[i].reason);
    }
}

/* Whatever keeps a device from starting. */
static void test_failures_while_opening(void **state) {
    static const struct {
        const char *order, *hip, *cuda;
    } cases[] = {
        {"hipInit:1:100", "no hip device: hipErrorNoDevice", "no cuda device: CUDA_ERROR_NO_DEVICE"},
        {"hipGetDeviceCount:1:999", "no hip device: hipErrorUnknown", "no cuda device: CUDA_ERROR_UNKNOWN"},
        {"hipModuleLoadData:1:200", "no kernels for mock 0 (9.0): hipErrorInvalidImage (200)..",
         "no kernels for mock 0 (9.0): CUDA_ERROR_INVALID_IMAGE (200).."},
        {"hipModuleLoadData:1:2", "hip: loading the kernels: hipErrorOutOfMemory (2)",
         "cuda: loading the kernels: CUDA_ERROR_OUT_OF_MEMORY (2)"},
        {"hipStreamCreateWithPriority:1:400", "hip: making a stream: hipErrorInvalidHandle (400)",
         "cuda: making a stream: CUDA_ERROR_INVALID_HANDLE (400)"},
        {"hipDeviceGet:1:101", "hip: finding a device: hipErrorInvalidDevice (101)",
         "cuda: finding a device: CUDA_ERROR_INVALID_DEVICE (101)"},
        {"cuCtxGetCurrent:1:201,hipSetDevice:1:101", "hip: using the device: hipErrorInvalidDevice (101)",
         "cuda: using the device: CUDA_ERROR_INVALID_DEVICE (101)"},
    };
    for (size_t i = 0; i < COUNT(cases); ++i) {
        fail_in(LIBRARY("mock_hip"), cases[i].order);
        assert_state("hip", "driver = " LIBRARY("mock_hip") "\n", WICK_BACKEND_NO_DEVICE, cases[i].hip);
        fail_in(LIBRARY("mock_cuda"), cases[i].order);
        assert_state("cuda", CUDA "driver = " LIBRARY("mock_cuda") "\n", WICK_BACKEND_NO_DEVICE, cases[i].cuda);
    }
    fail_in(LIBRARY("mock_cuda"), "cuDevicePrimaryCtxRetain:1:2");
    assert_state("cuda", CUDA "driver = " LIBRARY("mock_cuda") "\n", WICK_BACKEND_NO_DEVICE,
                 "cuda: opening the device: CUDA_ERROR_OUT_OF_MEMORY (2)");
    assert_state("hip", "driver = " LIBRARY("mock_hip") "\n", WICK_BACKEND_READY, "");
    assert_state("cuda", CUDA "driver = " LIBRARY("mock_cuda") "\n", WICK_BACKEND_READY, "");
}

/* ---- a driver, but no libraries: a note, and the own kernels ---- */
static void assert_features(const char *lines, const char *note) {
    wick_device_info info = {sizeof info};
    wick_device device;
    char all[1024];
    snprintf(all, sizeof all, "driver = " LIBRARY("mock_cuda") "\n%s", lines);
    assert_string_equal(open_plugin("cuda", all)->reason, "");
    expect_ok(wick_runtime_device(F.runtime, "cuda", &device));
    expect_ok(wick_device_query(F.runtime, device, &info));
    if (!strstr(info.features, note)) fail_msg("wanted '%s' in '%s'", note, info.features);
    const wick_dim sizes[2] = {2, 2};
    const float numbers[4] = {1, 2, 3, 4};
    float product[4];
    wick_tensor *x = wick_tensor_from_host(F.c, numbers, WICK_F32, 2, sizes, device);
    expect_ok(wick_tensor_to_host(F.c, wick_mm(F.c, x, x), product, sizeof product));
    assert_true(product[0] == 7 && product[1] == 10 && product[2] == 15 && product[3] == 22);
    const wick_dim image[4] = {1, 1, 2, 2};
    wick_tensor *y = wick_reshape(F.c, x, image, 4);
    float convolved;
    expect_ok(wick_tensor_to_host(F.c, wick_conv2d(F.c, y, y, NULL, NULL), &convolved, sizeof convolved));
    assert_true(convolved == 30);
    close_fixture(&F);
}

static void test_no_libraries(void **state) {
    assert_features("", "; no cublaslt: missing/libcublasLt.so: cannot open shared object file");
    assert_features("", "; no cudnn: missing/libcudnn.so: cannot open shared object file");
    assert_features("cublaslt = /nowhere/b.so\ncudnn = no\n", "; no cublaslt: /nowhere/b.so: cannot open shared");
    assert_features("cublaslt = no\ncudnn = no\n", "; no cublaslt: by the configuration; no cudnn: by the");
    assert_features("cublaslt = " LIBRARY("mock_hip") "\ncudnn = " LIBRARY("mock_hip") "\n",
                    "; no cublaslt: it has no cublasLtCreate; no cudnn: it has no cudnn");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_driver),
        cmocka_unit_test(test_a_required_plugin),
        cmocka_unit_test(test_drivers_that_lack_a_function),
        cmocka_unit_test(test_no_device),
        cmocka_unit_test(test_bad_keys),
        cmocka_unit_test(test_failures_while_opening),
        cmocka_unit_test(test_no_libraries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
