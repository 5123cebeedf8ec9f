/* SPDX-License-Identifier: MIT */
/* Labelled sequences of one's own: the input as the file of all three sets, as JSON lines and as .tsv, cut in each way.
 * What is taken has tokens below its vocabulary behind the start token, labels below its classes, and a name for every
 * token; it is the same by the vocabulary that is kept. A failure is one line. */
#include "fuzz.h"

#include "task/own/labelled.h"
#include "task/task_class.h"

#include <stdlib.h>
#include <string.h>

static locus_status draw(lab_dataset *set, const lab_task_options *options, locus_error *error) {
    const lab_draw wanted = {lab_task_find("classify"), options, LAB_SET_TEST, 0, 0};
    return lab_dataset_generate(set, &wanted, error);
}

static void check_set(const lab_dataset *set, const lab_class_facts *facts) {
    for (size_t s = 0; s < set->samples; s++) {
        const size_t start = set->input_offsets[s], end = set->input_offsets[s + 1], length = end - start - 1;
        FUZZ_REQUIRE(set->labels[s] >= 0 && (size_t)set->labels[s] < facts->classes.count);
        FUZZ_REQUIRE(end > start && set->input[start] == 0);
        FUZZ_REQUIRE(length >= facts->shortest && length <= facts->longest);
        for (size_t i = start + 1; i < end; i++)
            FUZZ_REQUIRE(set->input[i] > 0 && (size_t)set->input[i] < facts->vocabulary);
    }
}

static void check_facts(const lab_dataset *set, const lab_class_facts *facts) {
    size_t of_class = 0;
    for (size_t c = 0; c < facts->classes.count; c++)
        of_class += facts->of_class[LAB_SET_TEST][c];
    FUZZ_REQUIRE(of_class == set->samples && facts->samples[LAB_SET_TEST] == set->samples);
    FUZZ_REQUIRE(facts->classes.count >= 2 && facts->shared[LAB_SET_DEV] == set->samples); /* all sets are the same */
}

/* What one may write on a command line: the tokens' names between blanks are a sample, or are refused in one line. */
static void check_typed(const lab_dataset *set, const lab_task_options *alone) {
    const size_t count = set->input_offsets[1];
    lab_token_name *names = calloc(count, sizeof *names);
    char *text = calloc(count + 1, sizeof names->text + 1);
    const lab_task *task = lab_task_find("classify");
    locus_error error = {0};
    FUZZ_REQUIRE(names != NULL && text != NULL);
    FUZZ_REQUIRE_SAYING(lab_labelled_names(names, task, alone, set->input, count, &error) == LOCUS_OK, error.message);
    for (size_t i = 1, at = 0; i < count; i++)
        at += (size_t)sprintf(text + at, "%s ", names[i].text);
    lab_dataset typed = {0};
    const locus_status status = lab_labelled_sample(&typed, task, alone, text, &error);
    if (status == LOCUS_OK)
        FUZZ_REQUIRE(typed.samples == 1 && typed.input_offsets[1] > 1 && typed.input[0] == 0);
    else
        fuzz_check_failure(status, &error);
    lab_dataset_destroy(&typed);
    free(names);
    free(text);
}

static void check_kept(const lab_dataset *set, const lab_task_options *options) {
    static char folder[512];
    lab_dataset back;
    locus_error error = {0};
    if (folder[0] == '\0')
        snprintf(folder, sizeof folder, "%s", fuzz_path("."));
    lab_task_options alone = {.test = options->test, .kept = folder};
    LAB_LABELLED(&alone)->tokens = LAB_LABELLED(options)->tokens;
    FUZZ_REQUIRE_SAYING(lab_labelled_keep(options, 0, folder, &error) == LOCUS_OK, error.message);
    FUZZ_REQUIRE_SAYING(draw(&back, &alone, &error) == LOCUS_OK, error.message);
    const size_t tokens = set->input_offsets[set->samples];
    FUZZ_REQUIRE(back.samples == set->samples && back.input_offsets[back.samples] == tokens);
    FUZZ_REQUIRE(memcmp(back.input, set->input, tokens * sizeof *set->input) == 0);
    FUZZ_REQUIRE(memcmp(back.labels, set->labels, set->samples * sizeof *set->labels) == 0);
    check_typed(set, &alone);
    lab_dataset_destroy(&back);
}

static void check_file(const char *path, lab_token_kind kind) {
    lab_task_options options = {.path = path, .dev = path, .test = path};
    LAB_LABELLED(&options)->tokens = kind;
    lab_dataset set;
    lab_class_facts facts;
    locus_error error = {0};
    const locus_status status = draw(&set, &options, &error);
    if (status != LOCUS_OK) {
        FUZZ_REQUIRE_SAYING(status == LOCUS_ERROR_IO, error.message);
        fuzz_check_failure(status, &error);
        return;
    }
    FUZZ_REQUIRE_SAYING(lab_labelled_look(&options, 0, &facts, &error) == LOCUS_OK, error.message);
    check_facts(&set, &facts);
    check_set(&set, &facts);
    check_kept(&set, &options);
    lab_class_facts_free(&facts);
    lab_dataset_destroy(&set);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static char lines[512], table[512];
    snprintf(lines, sizeof lines, "%s", fuzz_file("input.jsonl", data, size));
    snprintf(table, sizeof table, "%s", fuzz_file("input.tsv", data, size));
    for (int kind = LAB_TOKENS_WORDS; kind <= LAB_TOKENS_BYTES; kind++) {
        check_file(lines, (lab_token_kind)kind);
        check_file(table, (lab_token_kind)kind);
    }
    return 0;
}
