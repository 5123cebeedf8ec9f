/* SPDX-License-Identifier: MIT */
/* Layer patterns: a failure points into the text; the canonical text of what is taken parses to the same text, and
 * every layer gets the same encoding from both. */
#include "fuzz.h"

#include <locus/pattern.h>
#include <stdlib.h>
#include <string.h>

enum { LAYERS = 20 };

static char *encoding_text(const locus_encoding *encoding) {
    const size_t size = locus_encoding_text(encoding, NULL, 0) + 1;
    char *text = malloc(size);
    FUZZ_REQUIRE(text != NULL && encoding != NULL);
    (void)locus_encoding_text(encoding, text, size);
    return text;
}

static void check_layers(const locus_pattern *pattern, const locus_pattern *again) {
    FUZZ_REQUIRE(locus_pattern_size(pattern) == locus_pattern_size(again));
    FUZZ_REQUIRE(locus_pattern_encoding(pattern, locus_pattern_size(pattern)) == NULL);
    for (size_t layer = 0; layer < LAYERS; layer++)
        FUZZ_REQUIRE(locus_pattern_layer(pattern, layer) == locus_pattern_layer(again, layer));
    for (size_t i = 0; i < locus_pattern_size(pattern); i++) {
        char *one = encoding_text(locus_pattern_encoding(pattern, i));
        char *other = encoding_text(locus_pattern_encoding(again, i));
        FUZZ_REQUIRE_SAYING(strcmp(one, other) == 0, one);
        free(one);
        free(other);
    }
}

static void check_again(const locus_pattern *pattern) {
    const size_t size = locus_pattern_text(pattern, NULL, 0) + 1;
    char *canonical = malloc(size), *back = malloc(size);
    locus_pattern *again = NULL;
    locus_error error = {0};
    FUZZ_REQUIRE(canonical != NULL && back != NULL);
    FUZZ_REQUIRE(locus_pattern_text(pattern, canonical, size) + 1 == size);
    fuzz_check_line(canonical);
    FUZZ_REQUIRE_SAYING(locus_pattern_parse(canonical, &again, &error) == LOCUS_OK, canonical);
    FUZZ_REQUIRE_SAYING(locus_pattern_text(again, back, size) + 1 == size, canonical);
    FUZZ_REQUIRE_SAYING(strcmp(canonical, back) == 0, canonical);
    check_layers(pattern, again);
    locus_pattern_destroy(&again);
    free(canonical);
    free(back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = fuzz_text(data, size);
    locus_pattern *pattern = NULL;
    locus_error error = {0};
    const locus_status status = locus_pattern_parse(text, &pattern, &error);
    if (status == LOCUS_OK) {
        check_again(pattern);
    } else {
        FUZZ_REQUIRE(pattern == NULL);
        FUZZ_REQUIRE(status == LOCUS_ERROR_SPEC || status == LOCUS_ERROR_UNSUPPORTED);
        fuzz_check_failure_in(status, &error, strlen(text));
    }
    locus_pattern_destroy(&pattern);
    free(text);
    return 0;
}
