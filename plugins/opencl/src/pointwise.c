#include "pointwise.h"

#include <string.h>
#include <wick/sdk/element.h>
#include <wick/sdk/iter.h>

/* ---- the table ---- */
#define RECIPE(out, kinds_, nscalars_, text)                                                                           \
    {                                                                                                                  \
        .sources = {ocl_source_pointwise}, .kernels = {"linear", "strided"}, .expression = text, .kinds = #out kinds_, \
        .scalars = nscalars_, .math = true                                                                             \
    }
#define MAP1(id, schema_, n, classes_, out, in1, ...) {RECIPE(out, #in1, n, #__VA_ARGS__), schema_, #classes_, 1},
#define MAP2(id, schema_, n, classes_, out, in1, in2, ...) \
    {RECIPE(out, #in1 #in2, n, #__VA_ARGS__), schema_, #classes_, 2},
#define MAP3(id, schema_, n, classes_, out, in1, in2, in3, ...) \
    {RECIPE(out, #in1 #in2 #in3, n, #__VA_ARGS__), schema_, #classes_, 3},
#define PART1(id, n, classes_, out, in1, ...) MAP1(id, NULL, n, classes_, out, in1, __VA_ARGS__)
#define PART2(id, n, classes_, out, in1, in2, ...) MAP2(id, NULL, n, classes_, out, in1, in2, __VA_ARGS__)
#define PART3(id, n, classes_, out, in1, in2, in3, ...) MAP3(id, NULL, n, classes_, out, in1, in2, in3, __VA_ARGS__)
/* Without the functions, which some types lack. */
#define PLAIN(kinds_, nscalars_, text)                                                                            \
    {                                                                                                             \
        .sources = {ocl_source_pointwise}, .kernels = {"linear", "strided"}, .expression = text, .kinds = kinds_, \
        .scalars = nscalars_, .complex = true                                                                     \
    }
const ocl_expression ocl_expressions[] = {
#include <wick/sdk/pointwise.inc>
    {PLAIN("TT", 0, "a"), NULL, "RIBC", 1},
    {PLAIN("T", 1, "s0"), NULL, "RIB", 0},
};
const int ocl_expression_count = sizeof ocl_expressions / sizeof ocl_expressions[0];

/* Positions in the table. */
#define MAP1(id, ...) AT_##id,
#define MAP2(id, ...) AT_##id,
#define MAP3(id, ...) AT_##id,
#define PART1(id, ...) AT_##id,
#define PART2(id, ...) AT_##id,
#define PART3(id, ...) AT_##id,
enum {
#include <wick/sdk/pointwise.inc>
    AT_identity,
    AT_number
};

static const ocl_recipe group_recipe = {
    .sources = {ocl_source_general},
    .kernels = {"k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7", "k8", "k9", "k10", "k11", "k12", "k13", "k14", "k15"},
    .math = true,
    .group = true};

/* ---- which expressions OpenCL can compute ---- */
static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; }

/* True if every function m_NAME of the expression is defined by the text of a math_*.cl. */
static bool functions_known(const char *expression, const char *math) {
    for (const char *at = strstr(expression, "m_"); at; at = strstr(at + 1, "m_")) {
        char define[64] = "#define ";
        size_t n = strlen(define);
        if (at > expression && is_letter(at[-1])) continue;
        for (const char *c = at; is_letter(*c) && n + 2 < sizeof define; ++c) define[n++] = *c;
        define[n++] = '(', define[n] = 0;
        if (!strstr(math, define)) return false;
    }
    return true;
}

uint32_t ocl_expression_dtypes(const ocl *self, const ocl_expression *e) {
    uint32_t bits = 0;
    if (strpbrk(e->recipe.kinds, "CN")) return 0;
    if (strchr(e->classes, 'R') && functions_known(e->recipe.expression, ocl_source_math_real)) bits |= OCL_FLOATS;
    if (functions_known(e->recipe.expression, ocl_source_math_int)) {
        if (strchr(e->classes, 'I')) bits |= OCL_INTEGERS;
        if (strchr(e->classes, 'B')) bits |= WICK_DTYPE_BIT(WICK_BOOL);
    }
    return bits & ocl_dtypes_all(self);
}

bool ocl_expression_has_class(const ocl *self, const ocl_expression *e, wick_dtype class_dtype) {
    uint32_t bits = ocl_expression_dtypes(self, e);
    for (int d = 1; d < WICK_DTYPE_COUNT; ++d)
        if (bits >> d & 1 && ocl_class_of((wick_dtype)d) == class_dtype) return true;
    return false;
}

/* ---- numbers that live on the host ---- */
static bool is_number(const wick_kernel_call *call, const wick_tensor *t) {
    return !wick_device_equal(t->device, call->device) && t->numel == 1 && wick_data(t);
}

/* The value of a 0-dim tensor of the host. */
static wick_value number_of(const wick_tensor *t) {
    wick_dtype dtype = wick_tensor_dtype(t);
    if (wick_dtype_is_floating(dtype) || wick_dtype_is_complex(dtype))
        return wick_value_float(wick_load_f64(dtype, wick_data(t)));
    return wick_value_int(wick_load_i64(dtype, wick_data(t)));
}

/* ---- running ---- */
typedef struct job {
    const wick_kernel_call *call;
    const ocl_expression *e;
    const wick_tensor *const *operands; /* output first */
    const wick_value *scalars;
    ocl_variant variant;
    wick_dtype compute;
    int64_t bases[4]; /* added to the operands' first elements, for slices of tensors of many dimensions */
} job;

static void arg_operand(const job *j, ocl_launch *launch, int k) {
    if (j->variant.numbers >> k & 1) {
        wick_value value = number_of(j->operands[k]);
        ocl_arg_number(launch, j->compute, &value);
        return;
    }
    wick_tensor t = *j->operands[k];
    t.offset += j->bases[k];
    ocl_arg_tensor(launch, &t);
}

/* Array, base and dtype; of an input the number too, which counts if the dtype is 0. */
static void arg_general(const job *j, ocl_launch *launch, int k) {
    wick_value value = wick_value_int(0);
    bool number = j->variant.numbers >> k & 1;
    wick_tensor t = *j->operands[number ? 0 : k];
    if (number) t.dtype = WICK_U8, value = number_of(j->operands[k]);
    t.offset += number ? 0 : j->bases[k];
    ocl_arg_array(launch, &t), ocl_arg_int(launch, number ? WICK_DTYPE_NONE : t.dtype);
    if (k > 0) ocl_arg_number(launch, j->compute, &value);
}

static wick_status *launch_general(const job *j, const ocl_view *view) {
    enum { SCALARS = 4 };
    const wick_value zero = wick_value_int(0);
    int at = (int)(j->e - ocl_expressions);
    ocl_variant v = {.recipe = &group_recipe, .compute = (uint8_t)ocl_class_of(j->compute), .general = 1};
    ocl_launch launch;
    v.dtypes[0] = v.compute, v.numbers = (uint8_t)(at / OCL_MAX_KERNELS);
    WICK_TRY(ocl_check_dtypes(j->call, &j->variant));
    WICK_TRY(ocl_begin_variant(&launch, j->call, &v, at % OCL_MAX_KERNELS));
    ocl_arg(&launch, view, sizeof *view), ocl_arg_int(&launch, j->compute);
    for (int k = 0; k <= j->e->inputs; ++k) arg_general(j, &launch, k);
    for (int s = 0; s < SCALARS; ++s)
        ocl_arg_number(&launch, j->compute, s < j->e->recipe.scalars ? &j->scalars[s] : &zero);
    return ocl_end_items(&launch, view->numel);
}

/* Of those in the table: groups have no others. */
static bool is_general(const job *j, int64_t elements) {
    bool listed = j->e >= ocl_expressions && j->e < ocl_expressions + ocl_expression_count;
    return listed && ocl_is_general(ocl_of(j->call), &j->variant, elements);
}

static wick_status *launch_view(job *j, const ocl_view *view, bool linear) {
    ocl_launch launch;
    j->variant.wide = ocl_view_is_wide(view);
    if (is_general(j, view->numel)) return launch_general(j, view);
    WICK_TRY(ocl_check_dtypes(j->call, &j->variant));
    WICK_TRY(ocl_begin_variant(&launch, j->call, &j->variant, linear ? 0 : 1));
    if (linear)
        ocl_arg_long(&launch, view->numel);
    else
        ocl_arg(&launch, view, sizeof *view);
    for (int k = 0; k <= j->e->inputs; ++k) arg_operand(j, &launch, k);
    for (int s = 0; s < j->e->recipe.scalars; ++s) ocl_arg_number(&launch, j->compute, &j->scalars[s]);
    int64_t each = linear ? 1 : ocl_of(j->call)->run;
    return ocl_end_items(&launch, (view->numel + each - 1) / each);
}

/* The innermost `ndim` dimensions of the iterator, with element strides. */
static void view_of_iter(ocl_view *view, const wick_iter *it, int ndim, const int *operand_of) {
    ocl_view_clear(view);
    view->ndim = ndim;
    for (int d = 0; d < ndim; ++d) {
        view->sizes[d] = it->sizes[d], view->numel *= it->sizes[d];
        for (int k = 0; k < it->noperands; ++k)
            view->strides[operand_of[k]][d] = it->strides[k][d] / it->element_bytes[k];
    }
}

/* One launch for every position in the dimensions that a view cannot hold. */
static wick_status *launch_iter(job *j, const wick_iter *it, const int *operand_of) {
    ocl_view view;
    bool linear = it->ndim == 1;
    int64_t slices = 1;
    int inner = it->ndim < OCL_DIMS ? it->ndim : OCL_DIMS;
    for (int k = 0; k < it->noperands; ++k) linear = linear && wick_iter_is_linear(it, k);
    for (int d = inner; d < it->ndim; ++d) slices *= it->sizes[d];
    view_of_iter(&view, it, inner, operand_of);
    for (int64_t s = 0; s < slices; ++s) {
        wick_cursor c = wick_cursor_at(it, s * view.numel);
        for (int k = 0; k < it->noperands; ++k) j->bases[operand_of[k]] = c.offset[k] / it->element_bytes[k];
        WICK_TRY(launch_view(j, &view, linear));
    }
    return NULL;
}

wick_status *ocl_pointwise_run(const wick_kernel_call *call, const ocl_expression *e, wick_dtype compute,
                               const wick_tensor *const *operands, const wick_value *scalars) {
    job j = {.call = call, .e = e, .operands = operands, .scalars = scalars, .compute = compute};
    const wick_tensor *arrays[4];
    int operand_of[4], n = 0;
    wick_iter it;
    j.variant.recipe = &e->recipe, j.variant.compute = (uint8_t)compute;
    for (int k = 0; k <= e->inputs; ++k) {
        j.variant.dtypes[k] = operands[k]->dtype;
        if (k > 0 && is_number(call, operands[k]))
            j.variant.numbers |= (uint8_t)(1 << k);
        else
            operand_of[n] = k, arrays[n++] = operands[k];
    }
    if (operands[0]->numel == 0) return NULL;
    if (!wick_iter_init(&it, operands[0], arrays, n, 0))
        return WICK_HOST_ERROR(call->host, WICK_INVALID_ARGUMENT, "%s: the operands do not broadcast to the output",
                               call->host->op_name(call->op));
    return launch_iter(&j, &it, operand_of);
}

/* The compute dtype of a call; the output's if the shape rule chose none. */
static wick_dtype compute_of(const wick_kernel_call *call) {
    return call->compute_dtype ? (wick_dtype)call->compute_dtype : wick_tensor_dtype(wick_out_tensor(call, 0));
}

/* Output and the first `inputs` arguments, then the scalars from argument `inputs` on. */
static wick_status *run(const wick_kernel_call *call, const ocl_expression *e) {
    const wick_tensor *operands[4] = {wick_out_tensor(call, 0)};
    for (int k = 0; k < e->inputs; ++k) operands[k + 1] = wick_arg_tensor(call, k);
    return ocl_pointwise_run(call, e, compute_of(call), operands, call->values + e->inputs);
}

wick_status *ocl_pointwise(const wick_kernel_call *call) { return run(call, call->data); }

/* ---- kernels that choose an expression ---- */
static const ocl_expression real_part = {PLAIN("TT", 0, "a.x"), NULL, "C", 1};
static const ocl_expression as_c64 = {PLAIN("TT", 0, "(float2)((float)a, 0)"), NULL, "RIB", 1};
static const ocl_expression as_c128 = {PLAIN("TT", 0, "(double2)((double)a, 0)"), NULL, "RIB", 1};
static const ocl_expression conjugate = {PLAIN("TT", 0, "(T)(a.x, -a.y)"), NULL, "C", 1};

/* The dtype that stands for elements of so many bytes that are moved as they are. */
static wick_dtype opaque(wick_dtype dtype) {
    static const wick_dtype by_bytes[] = {
        [1] = WICK_U8, [2] = WICK_U16, [4] = WICK_U32, [8] = WICK_U64, [16] = WICK_C128};
    return by_bytes[wick_dtype_bytes(dtype)];
}

/* The expression that converts between two dtypes; storing does the rest. */
static const ocl_expression *conversion(wick_dtype to, wick_dtype from) {
    if (wick_dtype_is_complex(to) == wick_dtype_is_complex(from)) return &ocl_expressions[AT_identity];
    return wick_dtype_is_complex(from) ? &real_part : to == WICK_C64 ? &as_c64 : &as_c128;
}

wick_status *ocl_convert(const wick_kernel_call *call, const wick_tensor *to, const wick_tensor *from) {
    wick_tensor out = *to, in = *from;
    if (out.dtype == in.dtype) out.dtype = in.dtype = (uint8_t)opaque(wick_tensor_dtype(from));
    const ocl_expression *e = conversion(wick_tensor_dtype(&out), wick_tensor_dtype(&in));
    return ocl_pointwise_run(call, e, wick_tensor_dtype(&in), (const wick_tensor *[]){&out, &in}, NULL);
}

/* (self, src, non_blocking) */
wick_status *ocl_copy(const wick_kernel_call *call) {
    return ocl_convert(call, wick_out_tensor(call, 0), wick_arg_tensor(call, 1));
}

/* (self, value) */
wick_status *ocl_fill(const wick_kernel_call *call) {
    const wick_tensor *out = wick_out_tensor(call, 0);
    return ocl_pointwise_run(call, &ocl_expressions[AT_number], wick_tensor_dtype(out), &out, &call->values[1]);
}

/* (self, other, *, str? rounding_mode) */
wick_status *ocl_div_mode(const wick_kernel_call *call) {
    const wick_value *mode = &call->values[2];
    const char *name = mode->tag == WICK_TAG_STRING ? mode->as.string : NULL;
    if (!name) return run(call, &ocl_expressions[AT_div]);
    return run(call, &ocl_expressions[!strcmp(name, "floor") ? AT_div_floor : AT_div_trunc]);
}

wick_status *ocl_fmod(const wick_kernel_call *call) { return run(call, &ocl_expressions[AT_fmod]); }
wick_status *ocl_remainder(const wick_kernel_call *call) { return run(call, &ocl_expressions[AT_remainder]); }
wick_status *ocl_pow_scalar(const wick_kernel_call *call) {
    double exponent = wick_value_as_double(&call->values[1]);
    return run(call, &ocl_expressions[exponent == 2 ? AT_square : AT_power]);
}

wick_status *ocl_conjugate(const wick_kernel_call *call) {
    bool complex = wick_dtype_is_complex(wick_tensor_dtype(wick_arg_tensor(call, 0)));
    return run(call, complex ? &conjugate : &ocl_expressions[AT_identity]);
}

wick_status *ocl_bitwise_not(const wick_kernel_call *call) {
    bool truth = wick_out_tensor(call, 0)->dtype == WICK_BOOL;
    return run(call, &ocl_expressions[truth ? AT_logical_not : AT_bitwise_not]);
}
