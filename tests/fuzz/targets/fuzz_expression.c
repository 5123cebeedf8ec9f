/* SPDX-License-Identifier: MIT */
/* ListOps expressions as text: a failure points into the text; what is taken has a sound structure, a digit as its
 * value, and comes back from its own text. */
#include "fuzz.h"

#include "task/listops/listops.h"

#include <stdlib.h>
#include <string.h>

static void check_again(const lab_listops_reader *from) {
    lab_listops_reader back = {0};
    char *text = lab_listops_string(from->count, from->tokens, from->parents, from->branches);
    FUZZ_REQUIRE(text != NULL);
    FUZZ_REQUIRE_SAYING(lab_listops_read(&back, text, NULL) == LOCUS_OK, text);
    FUZZ_REQUIRE_SAYING(back.count == from->count && back.found.value == from->found.value, text);
    FUZZ_REQUIRE_SAYING(memcmp(back.tokens, from->tokens, from->count * sizeof *from->tokens) == 0, text);
    FUZZ_REQUIRE_SAYING(memcmp(back.parents, from->parents, from->count * sizeof *from->tokens) == 0, text);
    FUZZ_REQUIRE_SAYING(memcmp(back.branches, from->branches, from->count * sizeof *from->tokens) == 0, text);
    FUZZ_REQUIRE_SAYING(from->found.value >= 0 && from->found.value <= 9, text);
    for (size_t t = 1; t < from->count; t++) {
        FUZZ_REQUIRE_SAYING(from->parents[t] >= 0 && (size_t)from->parents[t] < t, text);
        FUZZ_REQUIRE_SAYING(from->branches[t] >= 0 && (size_t)from->branches[t] <= from->found.arguments, text);
    }
    lab_listops_reader_destroy(&back);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = fuzz_text(data, size);
    lab_listops_reader reader = {0};
    locus_error error = {0};
    const locus_status status = lab_listops_read(&reader, text, &error);
    if (status == LOCUS_OK) {
        check_again(&reader);
    } else {
        FUZZ_REQUIRE_SAYING(status == LOCUS_ERROR_SPEC, error.message);
        fuzz_check_failure_in(status, &error, strlen(text));
    }
    lab_listops_reader_destroy(&reader);
    free(text);
    return 0;
}
