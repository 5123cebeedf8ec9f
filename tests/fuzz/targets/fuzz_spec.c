/* SPDX-License-Identifier: MIT */
/* Specs of encodings: a failure points into the text; the canonical text of what is taken parses to the same text, and
 * to an encoding with the same sites, laws and group. */
#include "fuzz.h"

#include <locus/encoding.h>
#include <stdlib.h>
#include <string.h>

static void check_again(const locus_encoding *encoding) {
    const size_t size = locus_encoding_text(encoding, NULL, 0) + 1;
    char *canonical = malloc(size), *back = malloc(size);
    locus_encoding *again = NULL;
    locus_error error = {0};
    FUZZ_REQUIRE(canonical != NULL && back != NULL);
    FUZZ_REQUIRE(locus_encoding_text(encoding, canonical, size) + 1 == size);
    fuzz_check_line(canonical);
    FUZZ_REQUIRE_SAYING(locus_encoding_parse(canonical, &again, &error) == LOCUS_OK, canonical);
    FUZZ_REQUIRE_SAYING(locus_encoding_text(again, back, size) + 1 == size, canonical);
    FUZZ_REQUIRE_SAYING(strcmp(canonical, back) == 0, canonical);
    FUZZ_REQUIRE_SAYING(locus_encoding_sites(encoding) == locus_encoding_sites(again), canonical);
    FUZZ_REQUIRE_SAYING(locus_encoding_laws(encoding) == locus_encoding_laws(again), canonical);
    const locus_group *group = locus_encoding_group(encoding), *group_again = locus_encoding_group(again);
    FUZZ_REQUIRE_SAYING((group == NULL) == (group_again == NULL), canonical);
    FUZZ_REQUIRE_SAYING(group == NULL || locus_group_equal(group, group_again), canonical);
    locus_encoding_destroy(&again);
    free(canonical);
    free(back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = fuzz_text(data, size);
    locus_encoding *encoding = NULL;
    locus_error error = {0};
    const locus_status status = locus_encoding_parse(text, &encoding, &error);
    if (status == LOCUS_OK) {
        check_again(encoding);
    } else {
        FUZZ_REQUIRE(encoding == NULL);
        FUZZ_REQUIRE(status == LOCUS_ERROR_SPEC || status == LOCUS_ERROR_UNSUPPORTED);
        fuzz_check_failure_in(status, &error, strlen(text));
    }
    locus_encoding_destroy(&encoding);
    free(text);
    return 0;
}
