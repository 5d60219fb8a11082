/* INI files: what is read, what is refused and with which words, overrides, schemas, writing back. */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <wick/config.h>

static wick_status *parse_bytes(const char *text, size_t bytes, wick_config_file **out) {
    return wick_config_parse(text, bytes, "dir/run.ini", NULL, out);
}

static wick_config_file *parse(const char *text) {
    wick_config_file *config = NULL;
    wick_status *status = parse_bytes(text, strlen(text), &config);
    if (status) fail_msg("%s", wick_status_message(status));
    return config;
}

static void assert_has(const char *text, const char *part) {
    if (!strstr(text, part)) fail_msg("got \"%s\", wanted it to contain \"%s\"", text, part);
}

static void assert_error(wick_status *status, const char *message) {
    assert_non_null(status);
    assert_has(wick_status_message(status), message);
    wick_status_free(status);
}

static void assert_value(const wick_config_file *config, const char *section, const char *key, const char *value) {
    const char *got = wick_config_string(config, section, key, NULL);
    assert_non_null(got);
    assert_string_equal(got, value);
}

/* ---- reading ---- */
static void test_syntax(void **state) {
    wick_config_file *config = parse("\xEF\xBB\xBF; comment\n# comment\n[ a ]\r\n"
                                     "one = 1\r\ntwo: 2 ; comment\nthree=;not a comment\n"
                                     "empty =\nhash = a # b\nequals = a=b:c\n"
                                     "[plugin.x] ; comment\n  indented = yes\n\n  again = no\nmore = a\n"
                                     "    b ; comment\n\n  ; comment\n\tc\nquoted = \" x \"\n[last]");
    assert_value(config, "a", "one", "1");
    assert_value(config, "a", "two", "2");
    assert_value(config, "a", "three", ";not a comment");
    assert_value(config, "a", "empty", "");
    assert_value(config, "a", "hash", "a # b");
    assert_value(config, "a", "equals", "a=b:c");
    assert_value(config, "plugin.x", "indented", "yes");
    assert_value(config, "plugin.x", "again", "no");
    assert_value(config, "plugin.x", "more", "a\nb\nc");
    assert_value(config, "plugin.x", "quoted", "\" x \"");
    assert_string_equal(wick_config_section_at(config, 2), "last");
    assert_null(wick_config_section_at(config, 3));
    assert_string_equal(wick_config_key_at(config, "plugin.x", 1), "again");
    assert_null(wick_config_key_at(config, "last", 0));
    assert_true(wick_config_has_section(config, "last"));
    assert_null(wick_config_string(config, "a", "absent", NULL));
    wick_config_free(config);
}

/* Values of every length around inih's line buffer, with blanks, semicolons and hashes wherever it may be cut. */
static void test_long_values(void **state) {
    static const char pattern[] = "a b#;c   d=[e]: ";
    for (size_t length = 1; length < 1300; length += length < 450 ? 1 : 37) {
        char value[1400], text[1500];
        for (size_t i = 0; i < length; ++i) value[i] = pattern[(i + length) % (sizeof pattern - 1)];
        value[0] = 'x', value[length - 1] = 'y', value[length] = '\0';
        snprintf(text, sizeof text, "[s]\nfirst = 1\nkey = %s\nlast = 2\n", value);
        wick_config_file *config = parse(text);
        assert_value(config, "s", "key", value);
        assert_value(config, "s", "last", "2");
        wick_config_free(config);
    }
}

static void test_megabyte_value(void **state) {
    size_t length = (1u << 20) - 64;
    char *text = malloc(length + 64);
    assert_non_null(text);
    size_t prefix = (size_t)sprintf(text, "[s]\nkey = ");
    memset(text + prefix, 'v', length);
    wick_config_file *config = NULL;
    assert_null(parse_bytes(text, prefix + length, &config));
    assert_int_equal(strlen(wick_config_string(config, "s", "key", "")), length);
    wick_config_free(config);
    free(text);
}

static void test_refusals(void **state) {
    static const struct {
        const char *text;
        size_t bytes; /* 0: all of it */
        const char *message;
    } cases[] = {
        {"key = 1\n", 0, "dir/run.ini:1: key: got a key outside any section, wanted [section] above it"},
        {"[a]\nx = 1\n[b]\nx = 1\n\nx = 2\n", 0, "dir/run.ini:6: [b] x: got it again, wanted it once: it is in line 4"},
        {"[a]\n[b]\n[a]\n", 0, "dir/run.ini:3: [a]: got it again, wanted it once: it is in line 1"},
        {"[a\nx = 1\n", 0, "dir/run.ini:1: section header: got \"[a\", wanted ']'"},
        {"[a] x = 1\n", 0, "dir/run.ini:1: section header: got \"x = 1\" behind ']', wanted nothing"},
        {"[]\n", 0, "dir/run.ini:1: section name: got \"\", wanted 1 to 49 letters"},
        {"[a b]\n", 0, "dir/run.ini:1: section name: got \"a b\""},
        {"[a]\nword\n", 0, "dir/run.ini:2: got \"word\", wanted key = value"},
        {"[a]\n= 1\n", 0, "dir/run.ini:2: key name: got \"\""},
        {"[a]\na.b = 1\n", 0, "dir/run.ini:2: key name: got \"a.b\""},
        {"[a]\n  word\n", 0, "dir/run.ini:2: got \"word\", wanted key = value"},
        {"[a]\na2345678901234567890123456789012345678901234567890 = 1\n", 0, "wanted 1 to 49 letters"},
        {"[a]\nx = 1\0y\n", 12, "dir/run.ini:2: got control byte 0x00, wanted text"},
        {"[a]\nx = \x01y\n", 0, "dir/run.ini:2: got control byte 0x01, wanted text"},
        {"[a]\nx = 1\ry\n", 0, "dir/run.ini:2: got control byte 0x0d, wanted text"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        wick_config_file *config = NULL;
        size_t bytes = cases[i].bytes ? cases[i].bytes : strlen(cases[i].text);
        wick_status *status = parse_bytes(cases[i].text, bytes, &config);
        assert_int_equal(wick_status_code(status), WICK_DATA_LOSS);
        assert_error(status, cases[i].message);
        assert_null(config);
    }
}

static void test_files(void **state) {
    wick_config_file *config = NULL;
    assert_error(wick_config_load("/nonexistent/a.ini", NULL, &config),
                 "/nonexistent/a.ini: cannot open: No such file");
    assert_error(wick_config_load("/", NULL, &config), "/: cannot read: Is a directory");
    assert_error(wick_config_load("/dev/zero", NULL, &config), "wanted at most 1048576");
    assert_null(wick_config_load(WICK_SOURCE_DIR "/examples/digits.ini", NULL, &config));
    assert_string_equal(wick_config_name(config), WICK_SOURCE_DIR "/examples/digits.ini");
    assert_value(config, "data", "shape", "1x8x8");
    wick_config_free(config);
}

/* ---- values ---- */
static void test_numbers(void **state) {
    static const char text[] = "[v]\nint = -42\nbig = 9223372036854775807\nover = 9223372036854775808\n"
                               "float = 1.5e-3\ninfinite = inf\ntext = 3x\nhex = 0x10\nempty =\nyes = on\nno = 0\n"
                               "list = 1, 2 3,4\n   5\nbadlist = 1,,2\ntail = 1,\n";
    wick_config_file *config = parse(text);
    int64_t i, list[5];
    double d;
    bool b;
    size_t count;
    assert_null(wick_config_int(config, "v", "int", 7, &i));
    assert_int_equal(i, -42);
    assert_null(wick_config_int(config, "v", "absent", 7, &i));
    assert_int_equal(i, 7);
    assert_null(wick_config_int(config, "v", "big", 0, &i));
    assert_true(i == INT64_MAX);
    assert_error(wick_config_int(config, "v", "over", 0, &i),
                 "dir/run.ini:4: [v] over: got \"9223372036854775808\", wanted an integer");
    assert_error(wick_config_int(config, "v", "text", 0, &i), "got \"3x\", wanted an integer");
    assert_error(wick_config_int(config, "v", "hex", 0, &i), "wanted an integer");
    assert_error(wick_config_int(config, "v", "empty", 0, &i), "got \"\", wanted an integer");
    assert_error(wick_config_int_range(config, "v", "int", 0, 1, 8, &i), "[v] int: got -42, wanted 1 to 8");
    assert_null(wick_config_double(config, "v", "float", 0, &d));
    assert_true(d == 1.5e-3);
    assert_error(wick_config_double(config, "v", "infinite", 0, &d), "got \"inf\", wanted a number");
    assert_null(wick_config_bool(config, "v", "yes", false, &b));
    assert_true(b);
    assert_null(wick_config_bool(config, "v", "no", true, &b));
    assert_false(b);
    assert_error(wick_config_bool(config, "v", "text", true, &b), "got \"3x\", wanted yes or no");
    assert_null(wick_config_int_list(config, "v", "list", list, 5, &count));
    assert_int_equal(count, 5);
    for (int k = 0; k < 5; ++k) assert_int_equal(list[k], k + 1);
    assert_error(wick_config_int_list(config, "v", "list", list, 4, &count), "got 5 integers, wanted at most 4");
    assert_error(wick_config_int_list(config, "v", "badlist", list, 5, &count), "wanted integers");
    assert_error(wick_config_int_list(config, "v", "tail", list, 5, &count), "wanted integers");
    assert_null(wick_config_int_list(config, "v", "absent", list, 5, &count));
    assert_int_equal(count, 0);
    wick_config_free(config);
}

static void test_paths(void **state) {
    wick_config_file *config = parse("[p]\nrelative = data/x.csv\nabsolute = /y\nempty =\n");
    char path[32], small[8], cwd[4000], all[9000], wanted[9000];
    assert_null(wick_config_path(config, "p", "relative", NULL, path, sizeof path));
    assert_string_equal(path, "dir/data/x.csv");
    assert_null(wick_config_path(config, "p", "absolute", NULL, path, sizeof path));
    assert_string_equal(path, "/y");
    assert_null(wick_config_path(config, "p", "absent", "runs", path, sizeof path));
    assert_string_equal(path, "runs");
    assert_error(wick_config_path(config, "p", "empty", NULL, path, sizeof path), "got \"\", wanted a path");
    assert_error(wick_config_path(config, "p", "relative", NULL, small, sizeof small), "path of 14 bytes");
    assert_null(wick_config_set(config, "p.empty=here", NULL, 0));
    assert_null(wick_config_path(config, "p", "empty", NULL, path, sizeof path));
    assert_string_equal(path, "here");
    static const wick_config_key keys[] = {{"p", "*", WICK_CONFIG_PATH, NULL, ""}};
    const wick_config_schema schema = {keys, 1};
    assert_null(wick_config_resolve_paths(config, &schema, 1));
    assert_non_null(getcwd(cwd, sizeof cwd));
    snprintf(wanted, sizeof wanted, "[p]\nrelative = %s/dir/data/x.csv\nabsolute = /y\nempty = %s/here\n", cwd, cwd);
    wick_config_format(config, all, sizeof all);
    assert_string_equal(all, wanted);
    wick_config_free(config);
}

/* ---- schemas and overrides ---- */
static const wick_config_key train_keys[] = {
    {"train", "epochs", WICK_CONFIG_INT, NULL, "how often"},
    {"train", "lr", WICK_CONFIG_DOUBLE, NULL, "learning rate"},
    {"train", "mode", WICK_CONFIG_CHOICE, "fast|exact", "how"},
    {"model", "*", WICK_CONFIG_STRING, NULL, "layers"},
};
static const wick_config_key plugin_keys[] = {
    {"plugin.*", "threads", WICK_CONFIG_INT, NULL, ""},
    {"train", "resume", WICK_CONFIG_BOOL, NULL, ""},
};
static const wick_config_schema schemas[] = {{train_keys, 4}, {NULL, 0}, {plugin_keys, 2}};

static void test_schema(void **state) {
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"[train]\nepochs = 3\nlr = 1e-3\nresume = yes\nmode = exact\n[model]\nany = x\n[plugin.a]\nthreads = 2\n",
         NULL},
        {"[train]\nepcohs = 3\n", "dir/run.ini:2: [train]: got unknown key \"epcohs\", nearest known is \"epochs\""},
        {"[plugin.a]\nthread = 3\n",
         "dir/run.ini:2: [plugin.a]: got unknown key \"thread\", nearest known is \"threads\""},
        {"[trian]\n", "dir/run.ini:1: got unknown section [trian], nearest known is [train]"},
        {"[train]\nepochs = many\n", "dir/run.ini:2: [train] epochs: got \"many\", wanted an integer"},
        {"[train]\n\nmode = fas\n", "dir/run.ini:3: [train] mode: got \"fas\", wanted one of fast|exact"},
        {"[train]\nlr = 1,5\n", "[train] lr: got \"1,5\", wanted a number"},
        {"[plugin.]\nthreads = 1\n", "unknown section [plugin.], nearest known is [plugin.*]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        wick_config_file *config = parse(cases[i].text);
        wick_status *status = wick_config_check(config, schemas, 3, 0);
        if (cases[i].message)
            assert_error(status, cases[i].message);
        else
            assert_null(status);
        wick_config_free(config);
    }
}

static void test_foreign_sections(void **state) {
    wick_config_file *config = parse("[other]\nx = 1\n[train]\nepochs = 1\n");
    assert_null(wick_config_check(config, schemas, 3, WICK_CONFIG_ALLOW_SECTIONS));
    wick_config_free(config);
}

static void test_overrides(void **state) {
    wick_config_file *config = parse("[train]\nepochs = 3\n");
    assert_null(wick_config_set(config, "train.epochs= 5 ", schemas, 3));
    assert_null(wick_config_set(config, "plugin.a.threads=2", schemas, 3));
    assert_value(config, "train", "epochs", "5");
    assert_value(config, "plugin.a", "threads", "2");
    assert_error(wick_config_set(config, "train.epoch=5", schemas, 3),
                 "--set: [train]: got unknown key \"epoch\", nearest known is \"epochs\"");
    assert_error(wick_config_set(config, "tarin.epochs=5", schemas, 3),
                 "unknown section [tarin], nearest known is [train]");
    assert_error(wick_config_set(config, "train.epochs=five", schemas, 3),
                 "--set: [train] epochs: got \"five\", wanted an integer");
    assert_null(wick_config_set(config, "epochs= 6", schemas, 3)); /* one section alone has such a key */
    assert_string_equal(wick_config_string(config, "train", "epochs", ""), "6");
    assert_null(wick_config_set(config, "train.epochs=5", schemas, 3));
    assert_error(wick_config_set(config, "epochs=5", NULL, 0), "got \"epochs=5\", wanted section.key=value");
    assert_error(wick_config_set(config, "train.epochs", schemas, 3), "wanted section.key=value");
    assert_error(wick_config_set(config, "model.a=x ;y", schemas, 3), "wanted a value without a blank before ';'");
    assert_error(wick_config_set(config, "model.a=x\ny", schemas, 3), "wanted a value without control bytes");
    assert_value(config, "train", "epochs", "5");
    assert_null(wick_config_set(config, "train.epochs=x", NULL, 0));
    assert_error(wick_config_check(config, schemas, 3, 0), "--set: [train] epochs: got \"x\", wanted an integer");
    wick_config_free(config);
}

/* ---- writing ---- */
static void test_round_trip(void **state) {
    static const char wanted[] = "[a]\nx = 1\nempty =\ncolon =;c\nlines = one\n    two is more\n    three\n\n[b]\n\n"
                                 "[plugin.c]\ny = z\n";
    wick_config_file *config = parse("[a]\nx=1\nempty=\ncolon=;c\nlines : one\n \ttwo is more\n three ; comment\n"
                                     "[b]\n[plugin.c]\ny=z");
    char buffer[512], small[10];
    assert_int_equal(wick_config_format(config, buffer, sizeof buffer), sizeof wanted - 1);
    assert_string_equal(buffer, wanted);
    assert_int_equal(wick_config_format(config, small, sizeof small), sizeof wanted - 1);
    assert_int_equal(strlen(small), sizeof small - 1);
    wick_config_file *again = parse(buffer);
    wick_config_format(again, buffer, sizeof buffer);
    assert_string_equal(buffer, wanted);
    wick_config_free(again);
    wick_config_free(config);
}

/* ---- which file ---- */
static void test_find(void **state) {
    char path[4096], before[4096], folder[] = "/tmp/wick-config-XXXXXX", wanted[4096];
    assert_non_null(getcwd(before, sizeof before));
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    setenv("XDG_CONFIG_HOME", folder, 1);
    unsetenv("WICK_CONFIG");
    assert_null(wick_config_find("x.ini", path, sizeof path));
    assert_string_equal(path, "x.ini");
    assert_error(wick_config_find("long.ini", path, 4), "wanted less than 4");
    assert_int_equal(mkdir("wick", 0700), 0);
    fclose(fopen("wick/wick.ini", "w"));
    assert_null(wick_config_find(NULL, path, sizeof path));
    snprintf(wanted, sizeof wanted, "%s/wick/wick.ini", folder);
    assert_string_equal(path, wanted);
    fclose(fopen("wick.ini", "w"));
    assert_null(wick_config_find(NULL, path, sizeof path));
    assert_string_equal(path, "./wick.ini");
    setenv("WICK_CONFIG", "/named.ini", 1);
    assert_null(wick_config_find(NULL, path, sizeof path));
    assert_string_equal(path, "/named.ini");
    unsetenv("WICK_CONFIG");
    remove("wick.ini");
    remove("wick/wick.ini");
    remove("wick");
    assert_int_equal(chdir(before), 0);
    remove(folder);
}

/* ---- exhausted memory ---- */
typedef struct budget {
    int64_t left, live;
} budget;

static void *budget_allocate(void *user, size_t bytes) {
    budget *b = user;
    if (b->left <= 0) return NULL;
    b->left--, b->live++;
    return malloc(bytes);
}
static void *budget_reallocate(void *user, void *pointer, size_t bytes) {
    budget *b = user;
    if (b->left <= 0) return NULL;
    b->left--;
    return realloc(pointer, bytes);
}
static void budget_free(void *user, void *pointer) {
    ((budget *)user)->live--;
    free(pointer);
}

static void test_out_of_memory(void **state) {
    wick_status *status = NULL;
    int n = 0;
    do {
        wick_status_free(status);
        budget b = {n++, 0};
        const wick_allocator memory = {budget_allocate, budget_reallocate, budget_free, &b};
        wick_config_file *config = NULL;
        status = wick_config_load(WICK_SOURCE_DIR "/examples/digits.ini", &memory, &config);
        if (!status) status = wick_config_set(config, "train.epochs=5", NULL, 0);
        if (!status) status = wick_config_set(config, "new.key=5", NULL, 0);
        if (status) assert_int_equal(wick_status_code(status), WICK_OUT_OF_MEMORY);
        wick_config_free(config);
        assert_int_equal(b.live, 0);
    } while (status);
    assert_true(n > 50);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_syntax),
        cmocka_unit_test(test_long_values),
        cmocka_unit_test(test_megabyte_value),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_schema),
        cmocka_unit_test(test_foreign_sections),
        cmocka_unit_test(test_overrides),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
