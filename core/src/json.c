/* The bounded JSON reader. Grammar: RFC 8259. */
#include "json.h"

#include <string.h>

static wick_status *unexpected(const json_reader *r, const char *want) {
    if (r->at >= r->bytes) return WICK_ERROR(WICK_DATA_LOSS, "%s: header ends where %s is wanted", r->source, want);
    unsigned char got = (unsigned char)r->text[r->at];
    if (got > 0x20 && got < 0x7f)
        return WICK_ERROR(WICK_DATA_LOSS, "%s: header byte %zu: got '%c', want %s", r->source, r->at, got, want);
    return WICK_ERROR(WICK_DATA_LOSS, "%s: header byte %zu: got byte 0x%02x, want %s", r->source, r->at, got, want);
}

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/* The next byte that is no white space; 0 at the end. */
static char peek(json_reader *r) {
    while (r->at < r->bytes && is_space(r->text[r->at])) ++r->at;
    return r->at < r->bytes ? r->text[r->at] : 0;
}

static bool take(json_reader *r, char c) {
    bool found = peek(r) == c;
    r->at += found;
    return found;
}

wick_status *json_open(json_reader *r, char bracket) {
    if (!take(r, bracket)) return unexpected(r, bracket == '{' ? "an object" : "an array");
    r->first = true;
    return NULL;
}

/* Reads the comma before a further member, or the end of the container. */
static wick_status *next(json_reader *r, char bracket, bool *out_more) {
    bool first = r->first;
    r->first = false;
    *out_more = !take(r, bracket);
    if (!*out_more || first || take(r, ',')) return NULL;
    return unexpected(r, bracket == '}' ? "',' or '}'" : "',' or ']'");
}

wick_status *json_element(json_reader *r, bool *out_more) { return next(r, ']', out_more); }

wick_status *json_member(json_reader *r, const char **out_key) {
    bool more = false;
    *out_key = NULL;
    WICK_TRY(next(r, '}', &more));
    if (!more) return NULL;
    const char *key = NULL;
    WICK_TRY(json_string(r, &key));
    if (!take(r, ':')) return unexpected(r, "':'");
    *out_key = key;
    return NULL;
}

/* Bytes of the well-formed UTF-8 sequence at `text`, 0 if there is none (RFC 3629: shortest form, no surrogates). */
static size_t utf8_sequence(const unsigned char *text, size_t bytes) {
    static const struct {
        unsigned char low, high, second_low, second_high, length;
    } forms[] = {
        {0x00, 0x7f, 0, 0, 1},       {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
        {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
        {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
    };
    size_t f = 0;
    while (f < sizeof forms / sizeof *forms && (text[0] < forms[f].low || text[0] > forms[f].high)) ++f;
    if (f == sizeof forms / sizeof *forms || forms[f].length > bytes) return 0;
    if (forms[f].length > 1 && (text[1] < forms[f].second_low || text[1] > forms[f].second_high)) return 0;
    for (size_t i = 2; i < forms[f].length; ++i)
        if ((text[i] & 0xc0) != 0x80) return 0;
    return forms[f].length;
}

bool utf8_valid(const char *text, size_t bytes) {
    for (size_t i = 0; i < bytes;) {
        size_t n = utf8_sequence((const unsigned char *)text + i, bytes - i);
        if (n == 0) return false;
        i += n;
    }
    return true;
}

static size_t utf8_encode(uint32_t code, char *out) {
    size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = n - 1; i > 0; --i, code >>= 6) out[i] = (char)(0x80 | (code & 0x3f));
    out[0] = (char)(lead[n] | code);
    return n;
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The four digits behind "\u". */
static bool hex4(json_reader *r, uint32_t *out) {
    if (r->bytes - r->at < 4) return false;
    *out = 0;
    for (int i = 0; i < 4; ++i) {
        int digit = hex_digit(r->text[r->at + (size_t)i]);
        if (digit < 0) return false;
        *out = *out << 4 | (uint32_t)digit;
    }
    r->at += 4;
    return true;
}

/* A code point, given as one escape or as a surrogate pair; r->at is behind the first "\u". */
static bool unicode_escape(json_reader *r, uint32_t *out) {
    uint32_t low = 0;
    if (!hex4(r, out) || *out == 0) return false;
    if (*out < 0xd800 || *out > 0xdfff) return true;
    if (*out > 0xdbff || r->bytes - r->at < 2 || r->text[r->at] != '\\' || r->text[r->at + 1] != 'u') return false;
    r->at += 2;
    if (!hex4(r, &low) || low < 0xdc00 || low > 0xdfff) return false;
    *out = 0x10000 + ((*out - 0xd800) << 10) + (low - 0xdc00);
    return true;
}

/* Decodes the escape at r->at to `out` and returns its bytes, 0 if it is malformed. Never longer than the escape. */
static size_t escape(json_reader *r, char *out) {
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    if (r->bytes - r->at < 2) return 0;
    char name = r->text[r->at + 1];
    const char *found = name ? strchr(names, name) : NULL;
    if (found) {
        r->at += 2;
        *out = values[found - names];
        return 1;
    }
    uint32_t code = 0;
    r->at += 2;
    return name == 'u' && unicode_escape(r, &code) ? utf8_encode(code, out) : 0;
}

/* Moves the character at r->at to `out`; returns its bytes, 0 if it is malformed. */
static size_t character(json_reader *r, char *out) {
    unsigned char c = (unsigned char)r->text[r->at];
    if (c == '\\') return escape(r, out);
    if (c < 0x20) return 0;
    size_t n = utf8_sequence((const unsigned char *)r->text + r->at, r->bytes - r->at);
    memmove(out, r->text + r->at, n);
    r->at += n;
    return n;
}

wick_status *json_string(json_reader *r, const char **out) {
    if (!take(r, '"')) return unexpected(r, "a string");
    char *to = r->text + r->at - 1; /* decoding over the opening quote leaves room for the NUL */
    *out = to;
    while (r->at < r->bytes && r->text[r->at] != '"') {
        size_t start = r->at, n = character(r, to);
        if (n == 0)
            return WICK_ERROR(WICK_DATA_LOSS, "%s: header byte %zu: malformed character in a string", r->source, start);
        to += n;
    }
    if (r->at >= r->bytes) return unexpected(r, "the end of a string");
    ++r->at;
    *to = 0;
    return NULL;
}

wick_status *json_integer(json_reader *r, int64_t *out) {
    static const char want[] = "a non-negative integer below 2^63";
    int64_t value = 0;
    char c = peek(r);
    size_t start = r->at;
    if (c < '0' || c > '9') return unexpected(r, want);
    for (; r->at < r->bytes && r->text[r->at] >= '0' && r->text[r->at] <= '9'; ++r->at)
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, r->text[r->at] - '0', &value))
            return unexpected(r, want);
    bool leading_zero = c == '0' && r->at > start + 1;
    bool goes_on = r->at < r->bytes && strchr(".eE", r->text[r->at]) && r->text[r->at];
    if (leading_zero || goes_on) return unexpected(r, want);
    *out = value;
    return NULL;
}

wick_status *json_finish(json_reader *r) {
    peek(r);
    return r->at == r->bytes ? NULL : unexpected(r, "the end");
}
