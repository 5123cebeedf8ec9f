/* SPDX-License-Identifier: MIT */
/* Samples as JSON lines: words, trees, problems. What is read and written again is read as the same set; a failure says
 * what is wrong. `data inspect` of the same file ends with its status and no more than one line. */
#include "fuzz.h"
#include "samples/sample_lines.h"

#include "command.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_TOKENS = 200 };

static bool read_set(lab_dataset *set, const lab_task **task, const char *path) {
    locus_error error = {.status = LOCUS_OK};
    const locus_status status = lab_samples_read(set, task, path, &error);
    FUZZ_REQUIRE(status == LOCUS_OK || (error.status == status && error.message[0] != '\0'));
    return status == LOCUS_OK;
}

static void check_side(const lab_dataset *a, const lab_dataset *b, const size_t *a_offsets, const size_t *b_offsets,
                       const int32_t *const arrays[6]) {
    const size_t bytes = a_offsets[a->samples] * sizeof(int32_t);
    FUZZ_REQUIRE(memcmp(a_offsets, b_offsets, (a->samples + 1) * sizeof *a_offsets) == 0);
    for (size_t i = 0; i < 6 && bytes > 0; i += 2) {
        FUZZ_REQUIRE((arrays[i] == NULL) == (arrays[i + 1] == NULL));
        FUZZ_REQUIRE(arrays[i] == NULL || memcmp(arrays[i], arrays[i + 1], bytes) == 0);
    }
    (void)b;
}

static void check_again(const lab_dataset *set, const lab_task *task) {
    const char *path = fuzz_path("again.jsonl");
    lab_dataset back;
    const lab_task *named = NULL;
    FUZZ_REQUIRE(lab_samples_save(set, task != NULL ? task : lab_task_find("copy"), path, NULL) == LOCUS_OK);
    FUZZ_REQUIRE(read_set(&back, &named, path));
    FUZZ_REQUIRE(named == task && back.samples == set->samples);
    const int32_t *const inputs[] = {set->input,
                                     back.input,
                                     set->input_tree.parents,
                                     back.input_tree.parents,
                                     set->input_tree.branches,
                                     back.input_tree.branches};
    const int32_t *const targets[] = {set->target,
                                      back.target,
                                      set->target_tree.parents,
                                      back.target_tree.parents,
                                      set->target_tree.branches,
                                      back.target_tree.branches};
    check_side(set, &back, set->input_offsets, back.input_offsets, inputs);
    check_side(set, &back, set->target_offsets, back.target_offsets, targets);
    lab_dataset_destroy(&back);
    unlink(path);
}

/* Standard output goes nowhere. */
static void inspect(char *path) {
    static FILE *nowhere;
    cli_arguments arguments;
    char *words[] = {path};
    FILE *usual = stdout;
    if (nowhere == NULL)
        nowhere = fopen("/dev/null", "w");
    FUZZ_REQUIRE(nowhere != NULL && cli_arguments_parse(&arguments, &cli_command_data_inspect, 1, words) == 0);
    fuzz_messages_begin();
    stdout = nowhere;
    const int status = cli_command_data_inspect.run(&arguments);
    stdout = usual;
    const char *messages = fuzz_messages_end();
    FUZZ_REQUIRE_SAYING(status >= 0 && status <= 2, messages);
    if (status != 0)
        fuzz_check_messages(messages);
    cli_arguments_free(&arguments);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *path = fuzz_file("input.jsonl", data, size);
    lab_dataset set;
    const lab_task *task = NULL;
    if (read_set(&set, &task, path)) {
        if (set.input_offsets[set.samples] <= MOST_TOKENS && set.target_offsets[set.samples] <= MOST_TOKENS)
            check_again(&set, task);
        lab_dataset_destroy(&set);
    }
    inspect((char *)(uintptr_t)path);
    return 0;
}
