/* SPDX-License-Identifier: MIT */
/* Prompts, one to a line of a file, for a decoder of bytes and for one of problems. What is taken is the lines of the
 * file, whose tokens give the text back; a failure is one line on standard error. */
#include "fuzz.h"

#include "command.h"
#include "generate_prompts.h"

#include <stdlib.h>
#include <string.h>

/* The prompts are the file's lines, in their order. */
static void check_lines(const cli_prompts *prompts, const char *text) {
    for (size_t p = 0; p < prompts->count; p++) {
        const size_t whole = strcspn(text, "\n"), length = whole - (whole > 0 && text[whole - 1] == '\r');
        FUZZ_REQUIRE(strlen(prompts->texts[p]) == length && memcmp(prompts->texts[p], text, length) == 0);
        text += whole + (text[whole] == '\n');
    }
    FUZZ_REQUIRE(*text == '\0');
}

static void check_tokens(const cli_prompts *prompts, const cli_writing *writing) {
    for (size_t p = 0; p < prompts->count; p++) {
        const size_t first = prompts->offsets[p], count = prompts->offsets[p + 1] - first;
        cli_writer writer = cli_writer_begin(writing, NULL, 0);
        char text[CLI_PIECE];
        const char *wanted = prompts->texts[p];
        FUZZ_REQUIRE(count > 0);
        for (size_t t = 0; t < count; t++) {
            const size_t came = cli_writer_add(&writer, prompts->tokens[first + t], text);
            FUZZ_REQUIRE(strncmp(wanted, text, came) == 0);
            wanted += came;
        }
        FUZZ_REQUIRE(cli_writer_end(&writer, text) == 0 && *wanted == '\0');
    }
}

static void check(const cli_writing *writing, const char *path, const char *text) {
    char *words[] = {(char *)(uintptr_t) "--prompts", (char *)(uintptr_t)path, (char *)(uintptr_t) "run"};
    cli_arguments arguments;
    cli_prompts prompts;
    FUZZ_REQUIRE(cli_arguments_parse(&arguments, &cli_command_generate, 3, words) == 0);
    fuzz_messages_begin();
    const int status = cli_prompts_read(&prompts, &arguments, writing);
    const char *messages = fuzz_messages_end();
    if (status == 0) {
        FUZZ_REQUIRE_SAYING(messages[0] == '\0', messages);
        check_lines(&prompts, text);
        check_tokens(&prompts, writing);
    } else {
        FUZZ_REQUIRE_SAYING(status == 1, messages);
        fuzz_check_messages(messages);
    }
    cli_prompts_free(&prompts);
    cli_arguments_free(&arguments);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    cli_writing bytes = {.task = lab_task_find("text"), .vocabulary = 256},
                problems = {.task = lab_task_find("addition")};
    const char *path = fuzz_file("input.txt", data, size);
    char *text = fuzz_text(data, size);
    FUZZ_REQUIRE(lab_tokenizer_open_bytes(&bytes.tokenizer, NULL) == LOCUS_OK);
    problems.options = lab_task_default(problems.task);
    check(&bytes, path, text);
    check(&problems, path, text);
    cli_writing_close(&bytes);
    free(text);
    return 0;
}
