/* Operator schemas: every recorded PyTorch schema and every row of the table, derived variants, refused mistakes, and
 * every allocation that may fail. */
#include "op.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TEXT_BYTES 2048

/* An allocator that counts and fails on request. */
typedef struct counting {
    int live;
    int until_failure; /* -1: never */
} counting;

static void *counting_allocate(void *user, size_t bytes) {
    counting *c = user;
    if (c->until_failure == 0) return NULL;
    if (c->until_failure > 0) --c->until_failure;
    ++c->live;
    return malloc(bytes);
}

static void *counting_reallocate(void *user, void *pointer, size_t bytes) { return realloc(pointer, bytes); }

static void counting_free(void *user, void *pointer) {
    counting *c = user;
    c->live -= pointer != NULL;
    free(pointer);
}

static counting memory = {0, -1};
static const wick_allocator allocator = {counting_allocate, counting_reallocate, counting_free, &memory};

static void parse(const char *text, op_schema *out) {
    wick_status *status = op_schema_parse(&allocator, text, out);
    if (status) fail_msg("%s", wick_status_message(status));
}

static void assert_refused(const char *text, const char *part) {
    op_schema s;
    wick_status *status = op_schema_parse(&allocator, text, &s);
    if (!status) fail_msg("accepted: %s", text);
    assert_int_equal(wick_status_code(status), WICK_INVALID_ARGUMENT);
    if (!strstr(wick_status_message(status), part)) fail_msg("%s: no \"%s\"", wick_status_message(status), part);
    wick_status_free(status);
    assert_int_equal(memory.live, 0);
}

/* Parses, formats, and expects `want`. */
static void assert_formats(const char *text, const char *want) {
    op_schema s;
    char got[TEXT_BYTES];
    parse(text, &s);
    op_schema_format(&s, got, sizeof got);
    assert_string_equal(got, want);
    op_schema_deinitialize(&allocator, &s);
    assert_int_equal(memory.live, 0);
}

/* ---- recorded schemas ---- */
static void replace(char *text, const char *from, const char *to) {
    char *at = strstr(text, from);
    if (!at) return;
    memmove(at + strlen(to), at + strlen(from), strlen(at + strlen(from)) + 1);
    memcpy(at, to, strlen(to));
}

/* The "schema" string of a line of index.jsonl, unescaped, without "aten::"; false if there is none. */
static bool read_schema(const char *line, char out[TEXT_BYTES]) {
    const char *at = strstr(line, "\"schema\":");
    size_t n = 0;
    if (!at || !(at = strstr(at, "aten::"))) return false;
    for (at += strlen("aten::"); *at && *at != '"' && n + 1 < TEXT_BYTES; ++at) {
        if (*at == '\\') ++at;
        out[n++] = *at;
    }
    out[n] = '\0';
    return *at == '"';
}

static void recorded_schemas_round_trip(void **state) {
    char line[4096], schema[TEXT_BYTES];
    int count = 0;
    FILE *file = fopen(WICK_SOURCE_DIR "/tests/goldens/index.jsonl", "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        assert_true(read_schema(line, schema));
        /* the two spellings that differ by intent: shortest digits, and a dtype's name for its number */
        char want[TEXT_BYTES];
        memcpy(want, schema, sizeof want);
        replace(want, "1.0000000000000001e-05", "1e-05");
        replace(want, "ScalarType? dtype=4", "ScalarType? dtype=long");
        assert_formats(schema, want);
        ++count;
    }
    fclose(file);
    assert_true(count >= 468);
}

/* ---- the table ---- */
#undef OP
#define OP(schema_, kind_, ...) schema_,
static const char *const row_schemas[] = {
#include "../../core/ops/table.inc"
};

static void rows_round_trip(void **state) {
    for (size_t i = 0; i < sizeof row_schemas / sizeof row_schemas[0]; ++i) {
        op_schema s, again;
        char text[TEXT_BYTES], text_again[TEXT_BYTES];
        parse(row_schemas[i], &s);
        op_schema_format(&s, text, sizeof text);
        parse(text, &again);
        op_schema_format(&again, text_again, sizeof text_again);
        assert_string_equal(text, text_again);
        op_schema_deinitialize(&allocator, &s);
        op_schema_deinitialize(&allocator, &again);
    }
    assert_int_equal(memory.live, 0);
}

/* ---- details ---- */
static void reads_types_and_defaults(void **state) {
    op_schema s;
    parse("f.o(Tensor(a!) x, Tensor?[] ys, int[2] n=1, int[2] m=[], *, float[]? f=None, float e=1e-05, Scalar v=-1, "
          "Scalar w=2., str s='no,ne', int reduction=Mean, ScalarType? t=long, bool[3] b=[True, False, True], "
          "MemoryFormat mf=contiguous_format, SymInt k) -> (Tensor(a!) values, Tensor)",
          &s);
    assert_string_equal(s.name, "f");
    assert_string_equal(s.overload, "o");
    assert_int_equal(s.nargs, 14);
    assert_int_equal(s.nrets, 2);
    assert_true(s.args[0].alias == 'a' && s.args[0].mutated && !s.args[0].has_default);
    assert_true(s.args[1].list && s.args[1].list_optional_items && !s.args[1].optional);
    assert_true(s.args[2].list_size == 2 && s.args[2].dflt.count == 1 && s.args[2].dflt.as.ints[0] == 1);
    assert_true(s.args[3].dflt.tag == WICK_TAG_I64_LIST && s.args[3].dflt.count == 0 && s.args[3].dflt.as.ints);
    assert_true(s.args[4].optional && s.args[4].kwarg_only && !s.args[3].kwarg_only);
    assert_int_equal(s.args[4].dflt.tag, WICK_TAG_NONE);
    assert_true(s.args[5].dflt.as.f == 1e-05);
    assert_true(s.args[6].dflt.tag == WICK_TAG_I64 && s.args[6].dflt.as.i == -1);
    assert_true(s.args[7].dflt.tag == WICK_TAG_F64 && s.args[7].dflt.as.f == 2.0);
    assert_string_equal(s.args[8].dflt.as.string, "no,ne");
    assert_int_equal(s.args[9].dflt.as.i, 1);
    assert_int_equal(s.args[10].dflt.as.i, WICK_I64);
    assert_true(s.args[11].dflt.count == 3 && s.args[11].dflt.as.bools[2] == 1 && s.args[11].dflt.as.bools[1] == 0);
    assert_int_equal(s.args[12].dflt.tag, WICK_TAG_MEMORY_FORMAT);
    assert_true(s.args[13].symbolic && !s.args[13].has_default);
    assert_string_equal(s.rets[0].name, "values");
    op_schema_deinitialize(&allocator, &s);
    assert_int_equal(memory.live, 0);
}

static void reads_returns(void **state) {
    assert_formats("f(Tensor(a -> *) self) -> Tensor(a)[]", "f(Tensor(a -> *) self) -> Tensor(a)[]");
    assert_formats("aten::f() -> ()", "f() -> ()");
    assert_formats("f(int[]? n=None)->(Tensor a,Tensor b)", "f(int[]? n=None) -> (Tensor a, Tensor b)");
    assert_formats("f(float x=1.0000000000000001e-05, float y=2) -> bool", "f(float x=1e-05, float y=2.) -> bool");
}

static void cuts_long_text(void **state) {
    op_schema s;
    char small[8];
    parse("add.Tensor(Tensor self) -> Tensor", &s);
    op_schema_format(&s, small, sizeof small);
    assert_string_equal(small, "add.Ten");
    op_schema_deinitialize(&allocator, &s);
}

static void refuses_mistakes(void **state) {
    assert_refused("", "column 1: expected an operator name");
    assert_refused("f", "column 2: expected '('");
    assert_refused("f(Tensor self) -> ", "expected a type");
    assert_refused("f(Tensor self)", "expected '->'");
    assert_refused("f(Tensr self) -> Tensor", "column 8: unknown type 'Tensr'");
    assert_refused("f(Tensor) -> Tensor", "expected an argument name");
    assert_refused("f(Tensor self, Tensor self) -> Tensor", "two arguments named 'self'");
    assert_refused("f(Tensor self) -> Tensor garbage!", "text after the end");
    assert_refused("f(int x=None) -> Tensor", "not optional");
    assert_refused("f(int x=1.5) -> Tensor", "expected an integer");
    assert_refused("f(int x=99999999999999999999) -> Tensor", "too many digits");
    assert_refused("f(int x=9999999999999999999) -> Tensor", "out of range");
    assert_refused("f(float x=1e999) -> Tensor", "exponent");
    assert_refused("f(int x=Maen) -> Tensor", "unknown default");
    assert_refused("f(bool x=1) -> Tensor", "expected True or False");
    assert_refused("f(str s='open) -> Tensor", "string has no end");
    assert_refused("f(int[] x=1) -> Tensor", "expected '['");
    assert_refused("f(int[2] x=[1, 2) -> Tensor", "expected ']'");
    assert_refused("f(int[2] x=[1,2], int y) -> Tensor", "'y' follows a default");
    assert_refused("f(int[999] x) -> Tensor", "bad list size");
    assert_refused("f(int[][] x) -> Tensor", "lists of lists");
    assert_refused("f(int?? x) -> Tensor", "doubly optional");
    assert_refused("f(int(a) x) -> Tensor", "only tensors alias");
    assert_refused("f(Tensor(A) x) -> Tensor", "alias letter");
    assert_refused("f(*, *, Tensor x) -> Tensor", "second '*'");
    assert_refused("f(Tensor x=1) -> Tensor", "no default but None");
    assert_refused("f(str[] x=[]) -> Tensor", "no default");
    assert_refused("f(Tensor a_name_of_more_than_thirty_one_characters) -> Tensor", "longer than 31");
}

/* n arguments (or returns) of a type. */
static void repeated(char out[TEXT_BYTES], const char *open, int n, const char *item, const char *close) {
    size_t at = (size_t)snprintf(out, TEXT_BYTES, "%s", open);
    for (int i = 0; i < n; ++i) at += (size_t)snprintf(out + at, TEXT_BYTES - at, "%s%s%d", i ? ", " : "", item, i);
    snprintf(out + at, TEXT_BYTES - at, "%s", close);
}

static void refuses_too_many(void **state) {
    char text[TEXT_BYTES];
    repeated(text, "f(", OP_MAX_ARGS, "Tensor x", ") -> Tensor");
    assert_formats(text, text);
    repeated(text, "f(", OP_MAX_ARGS + 1, "Tensor x", ") -> Tensor");
    assert_refused(text, "more than 24 arguments");
    repeated(text, "f() -> (", OP_MAX_RETS + 1, "Tensor x", ")");
    assert_refused(text, "more than 8 returns");
    repeated(text, "f(int[] x=[", 17, "", "]) -> Tensor");
    assert_refused(text, "longer than 16");
}

/* ---- variants ---- */
static void assert_derives(const char *functional, op_variant variant, const char *want) {
    op_schema s, derived;
    char got[TEXT_BYTES];
    parse(functional, &s);
    wick_status *status = op_schema_derive(&allocator, &s, variant, &derived);
    op_schema_deinitialize(&allocator, &s);
    if (!want) {
        assert_int_equal(wick_status_code(status), WICK_INVALID_ARGUMENT);
        wick_status_free(status);
    } else {
        assert_null(status);
        op_schema_format(&derived, got, sizeof got);
        assert_string_equal(got, want);
        op_schema_deinitialize(&allocator, &derived);
    }
    assert_int_equal(memory.live, 0);
}

static void derives_variants(void **state) {
    const char *add = "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor";
    assert_derives(add, VARIANT_FUNCTIONAL, add);
    assert_derives(add, VARIANT_INPLACE, "add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)");
    assert_derives(add, VARIANT_OUT,
                   "add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)");
    assert_derives("abs(Tensor self) -> Tensor", VARIANT_OUT, "abs.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)");
    assert_derives("eq.Scalar(Tensor self, Scalar other) -> Tensor", VARIANT_OUT,
                   "eq.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)");
    assert_derives("pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor", VARIANT_INPLACE,
                   "pow_.Scalar(Tensor(a!) self, Scalar exponent) -> Tensor(a!)");
    assert_derives("cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)", VARIANT_OUT,
                   "cummax.out(Tensor self, int dim, *, Tensor(a!) out0, Tensor(b!) out1) -> "
                   "(Tensor(a!) values, Tensor(b!) indices)");
    assert_derives("f(Tensor self, int[2] n=1, str s=\"x\") -> Tensor", VARIANT_INPLACE,
                   "f_(Tensor(a!) self, int[2] n=1, str s=\"x\") -> Tensor(a!)");
}

static void refuses_variants(void **state) {
    assert_derives("f(Scalar self, Tensor x) -> Tensor", VARIANT_INPLACE, NULL);
    assert_derives("f(Tensor self) -> (Tensor, Tensor)", VARIANT_INPLACE, NULL);
    assert_derives("f() -> Tensor", VARIANT_INPLACE, NULL);
    assert_derives("f(Tensor(a) self) -> Tensor(a)", VARIANT_OUT, NULL);
    assert_derives("f(Tensor self) -> Tensor[]", VARIANT_OUT, NULL);
    assert_derives("f(Tensor self) -> bool", VARIANT_OUT, NULL);
    assert_derives("f(Tensor self) -> ()", VARIANT_OUT, NULL);
}

static void survives_exhaustion(void **state) {
    const char *text = "f(Tensor self, int[2] n=1, float[] w=[1., 2.], str s=\"x\", bool[2] b=[True, False]) -> Tensor";
    int failures = 0;
    for (int n = 0;; ++n) {
        op_schema s, derived;
        memory.until_failure = n;
        wick_status *status = op_schema_parse(&allocator, text, &s);
        if (!status) {
            status = op_schema_derive(&allocator, &s, VARIANT_INPLACE, &derived);
            op_schema_deinitialize(&allocator, &s);
            if (!status) op_schema_deinitialize(&allocator, &derived);
        }
        memory.until_failure = -1;
        assert_int_equal(memory.live, 0);
        if (!status) break;
        assert_int_equal(wick_status_code(status), WICK_OUT_OF_MEMORY);
        wick_status_free(status);
        ++failures;
    }
    assert_int_equal(failures, 8); /* four defaults, parsed and copied */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_schemas_round_trip),
        cmocka_unit_test(rows_round_trip),
        cmocka_unit_test(reads_types_and_defaults),
        cmocka_unit_test(reads_returns),
        cmocka_unit_test(cuts_long_text),
        cmocka_unit_test(refuses_mistakes),
        cmocka_unit_test(refuses_too_many),
        cmocka_unit_test(derives_variants),
        cmocka_unit_test(refuses_variants),
        cmocka_unit_test(survives_exhaustion),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
