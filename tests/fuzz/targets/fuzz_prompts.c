/* SPDX-License-Identifier: MIT */
/* Prompts, one to a line of a file, for a decoder of bytes and for one of problems. What is taken is the lines of the
 * file, whose tokens give the text back; a failure says what is wrong. */
#include "fuzz.h"
#include "samples/prompts.h"
#include "task/task_class.h"

#include <stdlib.h>
#include <string.h>

/* The prompts are the file's lines, in their order. */
static void check_lines(const lab_prompts *prompts, const char *text) {
    for (size_t p = 0; p < prompts->count; p++) {
        const size_t whole = strcspn(text, "\n"), length = whole - (whole > 0 && text[whole - 1] == '\r');
        FUZZ_REQUIRE(strlen(prompts->texts[p]) == length && memcmp(prompts->texts[p], text, length) == 0);
        text += whole + (text[whole] == '\n');
    }
    FUZZ_REQUIRE(*text == '\0');
}

static void check_tokens(const lab_prompts *prompts, const lab_writing *writing) {
    for (size_t p = 0; p < prompts->count; p++) {
        const size_t first = prompts->offsets[p], count = prompts->offsets[p + 1] - first;
        lab_writer writer = lab_writer_begin(writing, NULL, 0);
        char text[LAB_PIECE];
        const char *wanted = prompts->texts[p];
        FUZZ_REQUIRE(count > 0);
        for (size_t t = 0; t < count; t++) {
            const size_t came = lab_writer_add(&writer, prompts->tokens[first + t], text);
            FUZZ_REQUIRE(strncmp(wanted, text, came) == 0);
            wanted += came;
        }
        FUZZ_REQUIRE(lab_writer_end(&writer, text) == 0 && *wanted == '\0');
    }
}

static void check(const lab_writing *writing, const char *path, const char *text) {
    lab_prompts prompts = {.count = 0};
    locus_error error = {.status = LOCUS_OK};
    const locus_status status = lab_prompts_lines(&prompts, writing, path, &error);
    if (status == LOCUS_OK) {
        check_lines(&prompts, text);
        check_tokens(&prompts, writing);
    } else {
        FUZZ_REQUIRE_SAYING(error.status == status && error.message[0] != '\0', error.message);
    }
    lab_prompts_free(&prompts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    lab_writing bytes = {.task = lab_task_find("text"), .vocabulary = 256},
                problems = {.task = lab_task_find("addition")};
    const char *path = fuzz_file("input.txt", data, size);
    char *text = fuzz_text(data, size);
    FUZZ_REQUIRE(lab_tokenizer_open_bytes(&bytes.tokenizer, NULL) == LOCUS_OK);
    problems.options = lab_task_default(problems.task);
    check(&bytes, path, text);
    check(&problems, path, text);
    lab_writing_close(&bytes);
    free(text);
    return 0;
}
