#include <wick/dtype.h>

#include <string.h>

static const wick_dtype_info infos[WICK_DTYPE_COUNT] = {
#define INFO(NAME, value, name, torch_name, bytes, st_name, category) \
    [value] = {sizeof(wick_dtype_info), 8 * (bytes), WICK_##category, name, torch_name, st_name},
    WICK_DTYPES(INFO)
#undef INFO
};

#define CHECK(NAME, value, name, torch_name, bytes, st_name, category) \
    _Static_assert(value < WICK_DTYPE_COUNT && value < 32, "dtype bits fit in 32");
WICK_DTYPES(CHECK)
#undef CHECK

const wick_dtype_info *wick_dtype_describe(wick_dtype dtype) {
    return dtype > WICK_DTYPE_NONE && dtype < WICK_DTYPE_COUNT ? &infos[dtype] : NULL;
}

const char *wick_dtype_name(wick_dtype dtype) {
    const wick_dtype_info *info = wick_dtype_describe(dtype);
    return info ? info->name : wick_dtype_bytes(dtype) ? "registered" : "invalid";
}

wick_dtype wick_dtype_parse(const char *name) {
    static const struct {
        const char *name;
        wick_dtype dtype;
    } aliases[] = {
        {"float", WICK_F32}, {"double", WICK_F64}, {"half", WICK_F16}, {"long", WICK_I64}, {"int", WICK_I32}};
    if (!name) return WICK_DTYPE_NONE;
    for (int d = 1; d < WICK_DTYPE_COUNT; ++d) {
        const wick_dtype_info *i = &infos[d];
        if (!strcmp(name, i->name) || !strcmp(name, i->torch_name) || !strcmp(name, i->safetensors_name) ||
            !strcmp(name, i->torch_name + strlen("torch.")))
            return (wick_dtype)d;
    }
    for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; ++i)
        if (!strcmp(name, aliases[i].name)) return aliases[i].dtype;
    return WICK_DTYPE_NONE;
}

static bool is_f8(wick_dtype d) { return d == WICK_F8E4M3FN || d == WICK_F8E5M2; }
static bool is_wide_unsigned(wick_dtype d) { return d == WICK_U16 || d == WICK_U32 || d == WICK_U64; }

/* Signed integers are ordered by width; u8 with a signed one needs at least 16 bits. Wider unsigned ones promote only
 * with themselves, bool and u8, as in PyTorch. */
static wick_dtype promote_integral(wick_dtype a, wick_dtype b) {
    if (is_wide_unsigned(a) || is_wide_unsigned(b)) {
        wick_dtype wide = is_wide_unsigned(a) ? a : b, other = wide == a ? b : a;
        return other == WICK_U8 ? wide : is_wide_unsigned(other) ? (a > b ? a : b) : WICK_DTYPE_NONE;
    }
    if (a == WICK_U8 || b == WICK_U8) {
        wick_dtype other = a == WICK_U8 ? b : a;
        return other == WICK_U8 ? WICK_U8 : other == WICK_I8 ? WICK_I16 : other;
    }
    return a > b ? a : b;
}

static wick_dtype promote_floating(wick_dtype a, wick_dtype b) {
    if (is_f8(a) || is_f8(b)) return WICK_DTYPE_NONE;
    if (a != b && a <= WICK_BF16 && b <= WICK_BF16) return WICK_F32; /* f16 with bf16 */
    return a > b ? a : b;
}

wick_dtype wick_dtype_promote(wick_dtype a, wick_dtype b) {
    const wick_dtype_info *ia = wick_dtype_describe(a), *ib = wick_dtype_describe(b);
    if (a == b && wick_dtype_bytes(a)) return a;
    if (!ia || !ib) return WICK_DTYPE_NONE;
    if (a == b) return a;
    if (ia->category > ib->category) return wick_dtype_promote(b, a);
    switch (ib->category) {
    case WICK_COMPLEX: return a == WICK_F64 || a == WICK_C128 || b == WICK_C128 ? WICK_C128 : b;
    case WICK_FLOATING: return ia->category == WICK_FLOATING ? promote_floating(a, b) : b;
    case WICK_INTEGRAL: return ia->category == WICK_INTEGRAL ? promote_integral(a, b) : b;
    default: return b;
    }
}

/* A category may be stored only into itself or a higher one; bool takes only bool. */
bool wick_dtype_can_cast(wick_dtype from, wick_dtype to) {
    const wick_dtype_info *f = wick_dtype_describe(from), *t = wick_dtype_describe(to);
    return f && t ? f->category <= t->category : from == to && wick_dtype_bytes(from);
}
