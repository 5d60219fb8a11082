#include "program.h"
#include "dtype.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ocl_program {
    ocl_program *next; /* of the bucket */
    ocl_variant variant;
    cl_program program;
    cl_kernel kernels[OCL_MAX_KERNELS]; /* made when first wanted */
};

/* ---- the definitions before the templates ---- */
typedef struct text {
    char bytes[6144];
    size_t used;
    bool full;
} text;

static void WICK_PRINTF(2, 3) add(text *t, const char *format, ...) {
    va_list list;
    va_start(list, format);
    int n = vsnprintf(t->bytes + t->used, sizeof t->bytes - t->used, format, list);
    va_end(list);
    if (n < 0 || (size_t)n >= sizeof t->bytes - t->used)
        t->full = true;
    else
        t->used += (size_t)n;
}

static char letter_of(int operand) { return "OABCD"[operand]; }

/* How a pointwise kernel takes and reads input `k`. */
static void define_parameter(text *t, const ocl_variant *v, int k) {
    char letter = letter_of(k);
    if (v->dtypes[k] == WICK_DTYPE_NONE)
        add(t, "#define %c_PARAM\n#define %c_AT(i) 0\n", letter, letter);
    else if (v->numbers >> k & 1)
        add(t, "#define %c_PARAM , T number_%c\n#define %c_AT(i) number_%c\n", letter, letter, letter, letter);
    else
        add(t,
            "#define %c_PARAM , __global const %c_TYPE *data_%c, long base_%c\n#define %c_AT(i) RAW_%c(data_%c, "
            "base_%c + (i))\n",
            letter, letter, letter, letter, letter, letter, letter, letter);
}

static void define_operand(text *t, const ocl_variant *v, int k) {
    char letter = letter_of(k);
    if (v->dtypes[k] == WICK_DTYPE_NONE) return;
    const ocl_dtype *d = &ocl_dtypes[v->dtypes[k]];
    add(t, "#define %c_TYPE %s\n", letter, d->storage);
    add(t, "#define RAW_%c(p, i) %s\n#define LOAD_%c(p, i) ((T)RAW_%c(p, i))\n", letter, d->load, letter, letter);
    add(t, "#define STORE_%c(p, i, v) %s\n", letter, d->store);
}

/* An operand of another type is rounded to the compute dtype, as if it had been converted first. */
static const char *cast_of(const ocl_variant *v, int k) {
    if (v->dtypes[k] == v->compute && !(v->numbers >> k & 1)) return "((T)(x))";
    return v->compute == WICK_F16    ? "round_f16((T)(x))"
           : v->compute == WICK_BF16 ? "load_bf16(store_bf16(x))"
                                     : "((T)(x))";
}

static void define_pointwise(text *t, const ocl_variant *v) {
    const ocl_recipe *r = v->recipe;
    for (int k = 1; k < 4; ++k) {
        define_parameter(t, v, k);
        bool is_bool = k < (int)strlen(r->kinds) && r->kinds[k] == 'B';
        add(t, "#define %c_KIND(x) %s\n#define %c_KIND_TYPE %s\n", letter_of(k), is_bool ? "((x) != 0)" : cast_of(v, k),
            letter_of(k), is_bool ? "int" : "T");
    }
    add(t, "#define OPERANDS %d\n#define S_PARAMS", (int)strlen(r->kinds));
    for (int s = 0; s < r->scalars; ++s) add(t, " , T s%d", s);
    add(t, "\n");
}

static void define_all(text *t, const ocl *self, const ocl_variant *v) {
    const ocl_recipe *r = v->recipe;
    if (self->fp64) add(t, "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n#define HAVE_FP64 1\n");
    add(t, "#define INDEX %s\n#define RUN %d\n", v->wide ? "long" : "int", self->run);
    if (v->compute) {
        add(t, "#define T %s\n#define T8 %s8\n#define T_IS_REAL %d\n", ocl_dtypes[v->compute].compute,
            ocl_dtypes[v->compute].compute, wick_dtype_is_floating((wick_dtype)v->compute));
        add(t, "#define T_IS_F64 %d\n#define T_LOWEST %s\n#define T_HIGHEST %s\n", v->compute == WICK_F64,
            ocl_dtypes[v->compute].lowest, ocl_dtypes[v->compute].highest);
        add(t, "#define T_BITS %d\n", 8 * (int)wick_dtype_bytes((wick_dtype)v->compute));
    }
    for (int k = 0; k < OCL_OPERANDS; ++k) define_operand(t, v, k);
    if (r->kinds) define_pointwise(t, v);
    if (r->expression) add(t, "#define EXPRESSION %s\n", r->expression);
}

/* ---- building ---- */
/* The compiler's words, cut to what a message holds. */
static wick_status *build_error(const ocl *self, cl_program program, cl_int code) {
    char log[1024] = "";
    size_t bytes = 0;
    cl_device_id device = self->devices[0].id;
    char *whole = NULL;
    if (!self->api.clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, NULL, &bytes) && bytes > 0)
        whole = self->host->allocate(self->registrar, bytes + 1);
    if (whole && !self->api.clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, bytes, whole, NULL))
        whole[bytes] = 0, snprintf(log, sizeof log, "%s", whole);
    if (whole) self->host->free(self->registrar, whole);
    for (char *c = log; *c; ++c)
        if (*c == '\n') *c = ' ';
    return WICK_HOST_ERROR(self->host, WICK_DEVICE_ERROR, "clBuildProgram (%d): %s", (int)code, log);
}

static wick_status *build(ocl *self, const ocl_variant *v, cl_program *out) {
    const ocl_recipe *r = v->recipe;
    const char *strings[4 + OCL_MAX_SOURCES], *last;
    char options[sizeof self->options + 64];
    text t = {.used = 0};
    cl_uint n = 0;
    cl_int code;
    define_all(&t, self, v);
    if (t.full) return WICK_HOST_ERROR(self->host, WICK_INTERNAL, "the definitions of a program do not fit");
    strings[n++] = t.bytes, strings[n++] = ocl_source_types, strings[n++] = ocl_source_view;
    if (r->math)
        strings[n++] = wick_dtype_is_floating((wick_dtype)v->compute) ? ocl_source_math_real : ocl_source_math_int;
    for (int i = 0; i < OCL_MAX_SOURCES && (last = r->sources[i]); ++i) strings[n++] = last;
    cl_program program = self->api.clCreateProgramWithSource(self->context, n, strings, NULL, &code);
    if (code) return ocl_error(self, code, "clCreateProgramWithSource");
    snprintf(options, sizeof options, "-cl-std=CL1.2 -w %s%s", self->fp64 ? "" : "-cl-single-precision-constant ",
             self->options);
    code = self->api.clBuildProgram(program, 0, NULL, options, NULL, NULL);
    if (!code) return *out = program, NULL;
    wick_status *status = build_error(self, program, code);
    self->api.clReleaseProgram(program);
    return status;
}

/* ---- the cache ---- */
static uint32_t bucket_of(const ocl_variant *v) {
    uint32_t h = 2166136261u;
    const uint8_t *p = (const uint8_t *)v;
    for (size_t i = 0; i < sizeof *v; ++i) h = (h ^ p[i]) * 16777619u;
    return h % OCL_BUCKETS;
}

/* Under the lock. */
static wick_status *find_program(ocl *self, const ocl_variant *v, ocl_program **out) {
    _Static_assert(sizeof(ocl_variant) == sizeof(void *) + OCL_OPERANDS + 3, "a variant has no padding");
    ocl_program **bucket = &self->programs[bucket_of(v)];
    for (ocl_program *p = *bucket; p; p = p->next)
        if (!memcmp(&p->variant, v, sizeof *v)) return *out = p, NULL;
    ocl_program *p = self->host->allocate(self->registrar, sizeof *p);
    if (!p) return WICK_HOST_ERROR(self->host, WICK_OUT_OF_MEMORY, "opencl: no memory for a program");
    memset(p, 0, sizeof *p);
    p->variant = *v;
    wick_status *status = build(self, v, &p->program);
    if (status) {
        self->host->free(self->registrar, p);
        return status;
    }
    p->next = *bucket, *bucket = p, *out = p;
    return NULL;
}

/* Under the lock. */
static wick_status *find_kernel(ocl *self, const ocl_variant *v, int which, cl_kernel *out) {
    ocl_program *p = NULL;
    cl_int code = 0;
    WICK_TRY(find_program(self, v, &p));
    if (!p->kernels[which]) p->kernels[which] = self->api.clCreateKernel(p->program, v->recipe->kernels[which], &code);
    if (code) {
        p->kernels[which] = NULL;
        return ocl_error(self, code, v->recipe->kernels[which]);
    }
    *out = p->kernels[which];
    return NULL;
}

static void program_release(ocl *self, ocl_program *p) {
    for (int k = 0; k < OCL_MAX_KERNELS; ++k)
        if (p->kernels[k]) self->api.clReleaseKernel(p->kernels[k]);
    self->api.clReleaseProgram(p->program);
    self->host->free(self->registrar, p);
}

void ocl_programs_release(ocl *self) {
    for (int b = 0; b < OCL_BUCKETS; ++b)
        for (ocl_program *p = self->programs[b], *next; p; p = next) next = p->next, program_release(self, p);
    memset(self->programs, 0, sizeof self->programs);
}

/* ---- launching ---- */
static wick_status *check_dtype(const wick_kernel_call *call, const ocl_variant *v, wick_dtype dtype) {
    if (dtype == WICK_DTYPE_NONE) return NULL;
    if (ocl_dtype_known(ocl_of(call), dtype) && (v->recipe->complex || !wick_dtype_is_complex(dtype))) return NULL;
    return WICK_HOST_ERROR(call->host, WICK_UNSUPPORTED, "%s: opencl has no kernel for %s",
                           call->host->op_name(call->op), ocl_dtype_name(dtype));
}

wick_status *ocl_begin(ocl_launch *launch, const wick_kernel_call *call, const ocl_variant *variant, int kernel) {
    ocl *self = ocl_of(call);
    for (int k = 0; k < OCL_OPERANDS; ++k) WICK_TRY(check_dtype(call, variant, (wick_dtype)variant->dtypes[k]));
    WICK_TRY(ocl_ready(self));
    *launch = (ocl_launch){.self = self, .call = call};
    pthread_mutex_lock(&self->lock);
    wick_status *status = find_kernel(self, variant, kernel, &launch->kernel);
    if (status) pthread_mutex_unlock(&self->lock);
    return status;
}

void ocl_arg(ocl_launch *launch, const void *value, size_t bytes) {
    cl_int code = launch->self->api.clSetKernelArg(launch->kernel, launch->count++, bytes, value);
    if (!launch->error) launch->error = code;
}

void ocl_arg_long(ocl_launch *launch, int64_t value) { ocl_arg(launch, &(cl_long){value}, sizeof(cl_long)); }

void ocl_arg_int(ocl_launch *launch, int32_t value) { ocl_arg(launch, &(cl_int){value}, sizeof(cl_int)); }

void ocl_arg_tensor(ocl_launch *launch, const wick_tensor *tensor) {
    const wick_memory *memory = &tensor->storage->memory;
    size_t bytes = wick_dtype_bytes(wick_tensor_dtype(tensor));
    cl_mem handle = memory->handle;
    ocl_arg(launch, &handle, sizeof handle);
    ocl_arg_long(launch, (int64_t)(memory->offset_bytes / bytes) + tensor->offset);
}

void ocl_arg_fault(ocl_launch *launch) {
    ocl_arg(launch, &launch->self->devices[launch->call->device.index].fault, sizeof(cl_mem));
}

wick_status *ocl_end(ocl_launch *launch, int dimensions, const size_t *groups, const size_t *local) {
    ocl *self = launch->self;
    size_t global[3];
    cl_command_queue queue = ocl_queue(self, launch->call->device.index, launch->call->stream);
    for (int d = 0; d < dimensions; ++d) global[d] = groups[d] * local[d];
    cl_int code = launch->error;
    if (!code)
        code = self->api.clEnqueueNDRangeKernel(queue, launch->kernel, (cl_uint)dimensions, NULL, global, local, 0,
                                                NULL, NULL);
    pthread_mutex_unlock(&self->lock);
    return code ? ocl_error(self, code, launch->error ? "clSetKernelArg" : "clEnqueueNDRangeKernel") : NULL;
}

wick_status *ocl_end_items(ocl_launch *launch, int64_t n) {
    if (n == 0) {
        pthread_mutex_unlock(&launch->self->lock);
        return NULL;
    }
    size_t local = OCL_GROUP, groups = ((size_t)n + local - 1) / local;
    return ocl_end(launch, 1, &groups, &local);
}
