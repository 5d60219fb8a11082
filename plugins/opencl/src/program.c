#include "program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ocl_program {
    ocl_program *next; /* of the bucket */
    ocl_variant variant;
    cl_program program;
    char *failure;                      /* why there is no program, for ever; host memory */
    cl_kernel kernels[OCL_MAX_KERNELS]; /* made when first wanted */
};

/* ---- building ---- */
/* The compiler's words, in host memory, cut to what a message holds; NULL if there is no memory. */
static char *build_log(const ocl *self, cl_program program, cl_int code) {
    enum { BYTES = 1024 };
    size_t bytes = 0;
    cl_device_id device = self->devices[0].id;
    char *log = self->host->allocate(self->registrar, BYTES), *whole = NULL;
    if (!log) return NULL;
    snprintf(log, BYTES, "clBuildProgram gave %d", (int)code);
    if (!self->api.clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, NULL, &bytes) && bytes > 0)
        whole = self->host->allocate(self->registrar, bytes + 1);
    if (whole && !self->api.clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, bytes, whole, NULL))
        whole[bytes] = 0, snprintf(log, BYTES, "clBuildProgram gave %d: %s", (int)code, whole);
    if (whole) self->host->free(self->registrar, whole);
    for (char *c = log; *c; ++c)
        if (*c == '\n') *c = ' ';
    return log;
}

/* The texts of a program, in their order; returns how many. */
enum { MAX_STRINGS = 6 + OCL_MAX_SOURCES };
typedef struct source {
    ocl_text definitions, access, members;
    const char *strings[MAX_STRINGS];
} source;

static wick_status *write_source(source *s, const ocl *self, const ocl_variant *v, cl_uint *out_count) {
    const ocl_recipe *r = v->recipe;
    cl_uint n = 0;
    ocl_define(&s->definitions, self, v);
    if (v->general) ocl_define_access(&s->access, self);
    if (r->group) ocl_define_members(&s->members, self, v);
    if (s->definitions.full || s->access.full || s->members.full)
        return WICK_HOST_ERROR(self->host, WICK_INTERNAL, "the definitions of a program do not fit");
    s->strings[n++] = s->definitions.bytes, s->strings[n++] = ocl_source_types, s->strings[n++] = s->access.bytes;
    s->strings[n++] = ocl_source_view;
    if (r->math)
        s->strings[n++] = wick_dtype_is_floating((wick_dtype)v->compute) ? ocl_source_math_real : ocl_source_math_int;
    for (int i = 0; i < OCL_MAX_SOURCES && r->sources[i]; ++i) s->strings[n++] = r->sources[i];
    s->strings[n++] = s->members.bytes;
    *out_count = n;
    return NULL;
}

/* Gives the program, or what the compiler has against it. */
static wick_status *compile(ocl *self, source *s, cl_uint count, ocl_program *out) {
    char options[sizeof self->options + 64];
    cl_int code;
    cl_program program = self->api.clCreateProgramWithSource(self->context, count, s->strings, NULL, &code);
    if (code) return ocl_error(self, code, "clCreateProgramWithSource");
    snprintf(options, sizeof options, "-cl-std=CL1.2 -w %s%s", self->fp64 ? "" : "-cl-single-precision-constant ",
             self->options);
    code = self->api.clBuildProgram(program, 0, NULL, options, NULL, NULL);
    if (!code) return out->program = program, NULL;
    out->failure = build_log(self, program, code);
    self->api.clReleaseProgram(program);
    return out->failure ? NULL : ocl_error(self, code, "clBuildProgram");
}

static wick_status *build(ocl *self, ocl_program *out) {
    cl_uint count = 0;
    source *s = self->host->allocate(self->registrar, sizeof *s);
    if (!s) return WICK_HOST_ERROR(self->host, WICK_OUT_OF_MEMORY, "opencl: no memory for the text of a program");
    memset(s, 0, sizeof *s);
    wick_status *status = write_source(s, self, &out->variant, &count);
    if (!status) status = compile(self, s, count, out);
    self->host->free(self->registrar, s);
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
    _Static_assert(sizeof(ocl_variant) == sizeof(void *) + 16, "a variant has no padding");
    ocl_program **bucket = &self->programs[bucket_of(v)];
    for (ocl_program *p = *bucket; p; p = p->next)
        if (!memcmp(&p->variant, v, sizeof *v)) return *out = p, NULL;
    ocl_program *p = self->host->allocate(self->registrar, sizeof *p);
    if (!p) return WICK_HOST_ERROR(self->host, WICK_OUT_OF_MEMORY, "opencl: no memory for a program");
    memset(p, 0, sizeof *p);
    p->variant = *v;
    wick_status *status = build(self, p);
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
    if (p->failure)
        return WICK_HOST_ERROR(self->host, WICK_UNSUPPORTED, "opencl: a program for %s does not build: %s",
                               ocl_dtype_name((wick_dtype)v->compute), p->failure);
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
    if (p->program) self->api.clReleaseProgram(p->program);
    if (p->failure) self->host->free(self->registrar, p->failure);
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

wick_status *ocl_check_dtypes(const wick_kernel_call *call, const ocl_variant *exact) {
    for (int k = 0; k < OCL_OPERANDS; ++k) WICK_TRY(check_dtype(call, exact, (wick_dtype)exact->dtypes[k]));
    return NULL;
}

wick_status *ocl_begin_variant(ocl_launch *launch, const wick_kernel_call *call, const ocl_variant *variant,
                               int kernel) {
    ocl *self = ocl_of(call);
    WICK_TRY(ocl_ready(self));
    *launch = (ocl_launch){.self = self, .call = call, .general = variant->general};
    pthread_mutex_lock(&self->lock);
    wick_status *status = find_kernel(self, variant, kernel, &launch->kernel);
    if (status) pthread_mutex_unlock(&self->lock);
    return status;
}

wick_status *ocl_begin(ocl_launch *launch, const wick_kernel_call *call, const ocl_variant *exact, int kernel,
                       int64_t elements) {
    ocl_variant v = *exact;
    WICK_TRY(ocl_check_dtypes(call, exact));
    if (!ocl_is_general(ocl_of(call), exact, elements)) return ocl_begin_variant(launch, call, exact, kernel);
    v.general = 1, v.compute = (uint8_t)ocl_class_of((wick_dtype)exact->compute);
    for (int k = 0; k < OCL_OPERANDS; ++k) v.dtypes[k] = exact->dtypes[k] ? v.compute : WICK_DTYPE_NONE;
    return ocl_begin_variant(launch, call, &v, kernel);
}

void ocl_arg(ocl_launch *launch, const void *value, size_t bytes) {
    cl_int code = launch->self->api.clSetKernelArg(launch->kernel, launch->count++, bytes, value);
    if (!launch->error) launch->error = code;
}

void ocl_arg_long(ocl_launch *launch, int64_t value) { ocl_arg(launch, &(cl_long){value}, sizeof(cl_long)); }

void ocl_arg_int(ocl_launch *launch, int32_t value) { ocl_arg(launch, &(cl_int){value}, sizeof(cl_int)); }

void ocl_arg_array(ocl_launch *launch, const wick_tensor *tensor) {
    const wick_memory *memory = &tensor->storage->memory;
    size_t bytes = wick_dtype_bytes(wick_tensor_dtype(tensor));
    cl_mem handle = memory->handle;
    ocl_arg(launch, &handle, sizeof handle);
    ocl_arg_long(launch, (int64_t)(memory->offset_bytes / bytes) + tensor->offset);
}

void ocl_arg_tensor(ocl_launch *launch, const wick_tensor *tensor) {
    ocl_arg_array(launch, tensor);
    if (launch->general) ocl_arg_int(launch, tensor->dtype);
}

void ocl_arg_fault(ocl_launch *launch) {
    ocl_arg(launch, &launch->self->devices[launch->call->device.index].fault, sizeof(cl_mem));
}

wick_status *ocl_end(ocl_launch *launch, int dimensions, const size_t *groups, const size_t *local) {
    ocl *self = launch->self;
    size_t global[3];
    ocl_line *line = ocl_line_of(self, launch->call->device.index, launch->call->stream);
    for (int d = 0; d < dimensions; ++d) global[d] = groups[d] * local[d];
    cl_int code = launch->error;
    if (!code)
        code = self->api.clEnqueueNDRangeKernel(line->queue, launch->kernel, (cl_uint)dimensions, NULL, global, local,
                                                0, NULL, NULL);
    ++line->submitted;
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
