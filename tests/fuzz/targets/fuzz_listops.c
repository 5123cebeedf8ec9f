/* SPDX-License-Identifier: MIT */
/* ListOps .tsv files, asked for digits and for parity: labels are classes, and a set that is written is read back as
 * it was. A failure is one line that names the file. */
#include "fuzz.h"
#include "task/task_class.h"

#include "task/listops/listops.h"

#include <stdlib.h>
#include <string.h>

static locus_status load(lab_dataset *set, const char *path, lab_asked asked, locus_error *error) {
    const lab_task *task = lab_task_find("listops");
    lab_task_options options = lab_task_default(task);
    options.path = path;
    LAB_EXPRESSIONS(&options)->asked = asked;
    const lab_draw draw = {.task = task, .options = &options};
    *set = (lab_dataset){0};
    return lab_listops_load(set, &draw, error);
}

static void check_again(const lab_dataset *set, lab_asked asked) {
    char *text = NULL;
    size_t bytes = 0;
    lab_dataset back;
    locus_error error = {0};
    FILE *stream = open_memstream(&text, &bytes);
    FUZZ_REQUIRE(stream != NULL && lab_listops_write(stream, set, &error) == LOCUS_OK && fclose(stream) == 0);
    const char *path = fuzz_file("again.tsv", (const uint8_t *)text, bytes);
    FUZZ_REQUIRE_SAYING(load(&back, path, asked, &error) == LOCUS_OK, error.message);
    FUZZ_REQUIRE(back.samples == set->samples);
    const size_t tokens = set->input_offsets[set->samples] * sizeof *set->input;
    FUZZ_REQUIRE(memcmp(back.input_offsets, set->input_offsets, (set->samples + 1) * sizeof *set->input_offsets) == 0);
    FUZZ_REQUIRE(memcmp(back.labels, set->labels, set->samples * sizeof *set->labels) == 0);
    FUZZ_REQUIRE(memcmp(back.input, set->input, tokens) == 0);
    FUZZ_REQUIRE(memcmp(back.input_tree.parents, set->input_tree.parents, tokens) == 0);
    FUZZ_REQUIRE(memcmp(back.input_tree.branches, set->input_tree.branches, tokens) == 0);
    lab_dataset_destroy(&back);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *path = fuzz_file("input.tsv", data, size);
    for (int asked = LAB_ASKED_DIGIT; asked <= LAB_ASKED_PARITY; asked++) {
        lab_dataset set;
        locus_error error = {0};
        const locus_status status = load(&set, path, (lab_asked)asked, &error);
        if (status == LOCUS_OK) {
            for (size_t s = 0; s < set.samples; s++)
                FUZZ_REQUIRE(set.labels[s] >= 0 && set.labels[s] < (asked == LAB_ASKED_DIGIT ? 10 : 2));
            check_again(&set, (lab_asked)asked);
        } else {
            FUZZ_REQUIRE_SAYING(status == LOCUS_ERROR_IO && strstr(error.message, "input.tsv") != NULL, error.message);
            fuzz_check_failure(status, &error);
        }
        lab_dataset_destroy(&set);
    }
    return 0;
}
