/* SPDX-License-Identifier: MIT */
/* Groups: a failure points into the text; the canonical text of what is taken parses to an equal group. */
#include "fuzz.h"

#include <locus/group.h>
#include <stdlib.h>
#include <string.h>

static void check_coordinates(const locus_group *group, const locus_group *again) {
    const size_t count = locus_group_coordinates(group);
    FUZZ_REQUIRE(count > 0 && count == locus_group_coordinates(again));
    for (size_t i = 0; i < count && i < 64; i++) {
        const locus_coordinate a = locus_group_coordinate(group, i), b = locus_group_coordinate(again, i);
        FUZZ_REQUIRE(a.kind == b.kind && a.size == b.size && a.factor == b.factor);
        FUZZ_REQUIRE(a.kind >= LOCUS_COORDINATE_AXIS && a.kind <= LOCUS_COORDINATE_TREE);
        FUZZ_REQUIRE(a.kind == LOCUS_COORDINATE_AXIS ? a.size == 0 : a.size > 0);
    }
}

static void check_again(const locus_group *group) {
    const size_t size = locus_group_text(group, NULL, 0) + 1;
    char *canonical = malloc(size), *back = malloc(size);
    locus_group *again = NULL;
    locus_error error = {0};
    FUZZ_REQUIRE(canonical != NULL && back != NULL);
    FUZZ_REQUIRE(locus_group_text(group, canonical, size) + 1 == size);
    fuzz_check_line(canonical);
    FUZZ_REQUIRE_SAYING(locus_group_parse(canonical, &again, &error) == LOCUS_OK, canonical);
    FUZZ_REQUIRE_SAYING(locus_group_text(again, back, size) + 1 == size, canonical);
    FUZZ_REQUIRE_SAYING(strcmp(canonical, back) == 0, canonical);
    FUZZ_REQUIRE(locus_group_equal(group, again));
    check_coordinates(group, again);
    locus_group_destroy(&again);
    free(canonical);
    free(back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = fuzz_text(data, size);
    locus_group *group = NULL;
    locus_error error = {0};
    const locus_status status = locus_group_parse(text, &group, &error);
    if (status == LOCUS_OK) {
        check_again(group);
    } else {
        FUZZ_REQUIRE(group == NULL);
        FUZZ_REQUIRE(status == LOCUS_ERROR_SPEC || status == LOCUS_ERROR_UNSUPPORTED);
        fuzz_check_failure_in(status, &error, strlen(text));
    }
    locus_group_destroy(&group);
    free(text);
    return 0;
}
