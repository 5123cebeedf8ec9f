/* SPDX-License-Identifier: MIT */
/* What a store says of a step: a value is found as it is read, or the text is refused by both; what was read is written
 * so that the same comes back, and is written then as it was. */
#include "fuzz.h"

#include "train/store/evaluation_text.h"

#include <stdlib.h>
#include <string.h>

static void check_value(const char *text, const cJSON *member) {
    double found = -1;
    FUZZ_REQUIRE_SAYING(lab_evaluation_find(text, member->string, &found) == SQLITE_ROW, text);
    const double read = lab_evaluation_value(member);
    FUZZ_REQUIRE_SAYING(memcmp(&found, &read, sizeof read) == 0 || (found != found && read != read), text);
}

/* The values of a tree, written; cJSON_free(). */
static char *write_tree(const cJSON *tree) {
    lab_measured values[LAB_MOST_MEASURED];
    size_t count = 0;
    for (const cJSON *member = tree->child; member != NULL; member = member->next)
        values[count++] = (lab_measured){member->string, lab_evaluation_value(member)};
    char *text = lab_evaluation_write(values, count);
    FUZZ_REQUIRE(text != NULL);
    return text;
}

static void check_again(const cJSON *tree) {
    cJSON *back;
    char *text = write_tree(tree);
    FUZZ_REQUIRE_SAYING(lab_evaluation_read(text, &back) == SQLITE_OK, text);
    FUZZ_REQUIRE_SAYING(cJSON_GetArraySize(back) == cJSON_GetArraySize(tree), text);
    for (const cJSON *member = tree->child; member != NULL; member = member->next)
        check_value(text, member);
    char *again = write_tree(back);
    FUZZ_REQUIRE_SAYING(strcmp(text, again) == 0, text);
    cJSON_free(again);
    cJSON_free(text);
    cJSON_Delete(back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    cJSON *tree;
    double ignored;
    char *text = fuzz_text(data, size);
    const int code = lab_evaluation_read(text, &tree), other = lab_evaluation_find(text, "none of them", &ignored);
    if (code == SQLITE_OK) {
        for (const cJSON *member = tree->child; member != NULL; member = member->next)
            check_value(text, member);
        FUZZ_REQUIRE_SAYING(other == SQLITE_DONE || cJSON_GetObjectItemCaseSensitive(tree, "none of them") != NULL,
                            text);
        check_again(tree);
        cJSON_Delete(tree);
    } else {
        FUZZ_REQUIRE_SAYING(code == SQLITE_CORRUPT && other == SQLITE_CORRUPT, text);
    }
    free(text);
    return 0;
}
