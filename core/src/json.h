/* A bounded pull reader of JSON: objects, arrays, strings and non-negative integers, which is all that the header of
 * a safetensors file holds. It never allocates and never recurses: strings are decoded in place, and the caller asks
 * for what must come next, so that nesting is what the caller asks for and no deeper.
 *
 *     json_open(r, '{'); while (json_member(r, &key) succeeds and key) { read the value } */
#ifndef WICK_JSON_H
#define WICK_JSON_H

#include <wick/status.h>

typedef struct json_reader {
    const char *source; /* named in messages */
    char *text;         /* writable: strings are decoded where they stand and stay valid as long as the text */
    size_t bytes;
    size_t at;
    bool first; /* no member of the open container was read yet */
} json_reader;

/* Expects '{' or '['. */
wick_status *json_open(json_reader *r, char bracket);
/* The next key of the open object, with the colon behind it; NULL at the end, which is read too. */
wick_status *json_member(json_reader *r, const char **out_key);
/* True if the open array has another element; its end is read. */
wick_status *json_element(json_reader *r, bool *out_more);
/* A string as valid UTF-8 without NUL inside, NUL-terminated. */
wick_status *json_string(json_reader *r, const char **out);
/* An integer from 0 to 2^63 - 1, without sign, fraction and exponent. */
wick_status *json_integer(json_reader *r, int64_t *out);
/* Expects that only white space is left. */
wick_status *json_finish(json_reader *r);

/* True if `text` is well-formed UTF-8. */
bool utf8_valid(const char *text, size_t bytes);

#endif
