/* SPDX-License-Identifier: MIT */
/* Every allocation on the way from a text to tokens and back fails once, one after another: each failure is told as
 * MEMORY, nothing leaks (address sanitizer), and nothing is left in the folder that was to be made. */
#include "io/file.h"
#include "io/text_stream.h"
#include "task/task_class.h"
#include "task/text_task.h"
#include "text/sentencepiece.h"
#include "text/text_folder.h"
#include "text/token_file.h"
#include "text/wordpiece.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "failing_allocator.h"
#include "unit/scratch_folder.h"

static const char text[] = "the house by the water\nthe walker walks\tby the  house\n\xE2\x98\x83 \xE2\x96\x81\n"
                           "a mountain by the house\nthe end of the water\nthe walker by the end\n";

static locus_status tokens_way(locus_error *error) {
    const int32_t tokens[] = {1, 2, 3, 4, 5, 6};
    const lab_token_file_content content = {300, 6, tokens, 9};
    static const char *const sets[] = {"train", "dev", "test"};
    lab_task_options options = lab_task_with(lab_task_find("text"), &(lab_text_options){.sequence = 4});
    lab_dataset set;
    locus_status status = LOCUS_OK;
    for (size_t s = 0; status == LOCUS_OK && s < 3; s++) {
        char *path = lab_token_file_path(scratch_path(""), sets[s]);
        status = path != NULL ? lab_token_file_write(path, &content, error) : LOCUS_ERROR_MEMORY;
        free(path);
    }
    if (status == LOCUS_OK)
        status = lab_text_describe(scratch_path(""), &options, error);
    if (status != LOCUS_OK)
        return status;
    const lab_draw draw = {lab_task_find("text"), &options, LAB_SET_DEV, 0, 0};
    status = lab_dataset_sequences(&set, &draw, error);
    if (status == LOCUS_OK)
        lab_dataset_destroy(&set);
    return status;
}

static locus_status use(lab_tokenizer *tokenizer, const char *folder, locus_error *error) {
    int32_t *tokens = NULL;
    size_t count = 0;
    char room[256];
    lab_detokenizer detokenizer = {.tokenizer = tokenizer};
    locus_status status = lab_tokenizer_encode(tokenizer, text, sizeof text - 1, &tokens, &count, error);
    for (size_t i = 0; status == LOCUS_OK && i < count; i++)
        (void)lab_detokenizer_add(&detokenizer, tokens[i], room, sizeof room);
    free(tokens);
    return status == LOCUS_OK ? lab_tokenizer_copy(tokenizer, folder, error) : status;
}

static locus_status folder_way(const char *from, locus_error *error) {
    lab_tokenizer *tokenizer = NULL;
    locus_status status = lab_tokenizer_open_folder(&tokenizer, scratch_path(from), error);
    if (status == LOCUS_OK)
        status = use(tokenizer, scratch_path("copy"), error);
    else
        assert_null(tokenizer);
    lab_tokenizer_close(&tokenizer);
    return status;
}

static locus_status bytes_way(locus_error *error) {
    return folder_way("copy", error);
}

static locus_status words_way(locus_error *error) {
    const locus_status status = folder_way("words", error);
    if (status == LOCUS_OK)
        unlink(scratch_path("copy/vocab.txt")), unlink(scratch_path("copy/tokenizer_config.json"));
    return status;
}

static locus_status frame_way(locus_error *error) {
    lab_wordpiece *words;
    int32_t *tokens = NULL;
    size_t count;
    locus_status status = lab_wordpiece_open(&words, scratch_path("words/vocab.txt"), true, error);
    if (status == LOCUS_OK)
        status = lab_wordpiece_frame(words, text, sizeof text - 1, 9, &tokens, &count, error);
    free(tokens);
    lab_wordpiece_close(&words);
    return status;
}

static locus_status pieces_way(locus_error *error) {
    const locus_status status = folder_way("pieces", error);
    if (status == LOCUS_OK)
        unlink(scratch_path("copy/tokenizer.model"));
    return status;
}

static locus_status make_way(size_t vocabulary, locus_error *error) {
    char path[1024];
    lab_text_facts facts;
    snprintf(path, sizeof path, "%s", scratch_path("text"));
    const lab_text_source source = {.texts = {path, path, path}, .vocabulary = vocabulary};
    const locus_status status = lab_text_make(scratch_path("made"), &source, NULL, &facts, error);
    if (status != LOCUS_OK) {
        assert_int_equal(access(scratch_path("made"), F_OK), -1);
        return status;
    }
    unlink(scratch_path("made/train.tokens")), unlink(scratch_path("made/dev.tokens"));
    unlink(scratch_path("made/test.tokens")), unlink(scratch_path("made/tokenizer.model"));
    assert_int_equal(rmdir(scratch_path("made")), 0); /* nothing else is in it */
    return LOCUS_OK;
}

static locus_status make_bytes_way(locus_error *error) {
    return make_way(0, error);
}

static locus_status make_pieces_way(locus_error *error) {
    return make_way(300, error);
}

/* A text is whole, or said to be lost: nothing is left out. */
static locus_status stream_way(locus_error *error) {
    char *gathered;
    size_t bytes, at = 0;
    FILE *stream = lab_text_stream(&gathered, &bytes);
    for (int i = 0; stream != NULL && i < 20000; i++)
        fprintf(stream, "%d,", i);
    if (!lab_text_close(stream, &gathered)) {
        assert_null(gathered);
        return lab_fail_memory(error, "a text");
    }
    assert_int_equal(strlen(gathered), bytes);
    for (int i = 0; i < 20000; i++) {
        char number[8];
        const int length = snprintf(number, sizeof number, "%d,", i);
        assert_memory_equal(gathered + at, number, (size_t)length);
        at += (size_t)length;
    }
    assert_int_equal(at, bytes);
    free(gathered);
    return LOCUS_OK;
}

static void check(locus_status (*way)(locus_error *error), long most) {
    for (long fail = 0; fail < most; fail++) {
        locus_error error = {0};
        allocator_arm(fail);
        const locus_status status = way(&error);
        const bool failed = allocator_disarm();
        if (status == LOCUS_OK) {
            assert_true(fail > 1 && !failed); /* something was there to fail, and nothing went on without its memory */
            return;
        }
        if (status != LOCUS_ERROR_MEMORY)
            fail_msg("allocation %ld: %d, %s", fail, (int)status, error.message);
    }
    fail_msg("no end after %ld allocations", most);
}

static void streams_fail(void **state) {
    char *empty;
    size_t bytes;
    (void)state;
    assert_true(lab_text_close(lab_text_stream(&empty, &bytes), &empty));
    assert_string_equal(empty, "");
    assert_int_equal(bytes, 0);
    free(empty);
    check(stream_way, 40);
}

static void tokens_fail(void **state) {
    (void)state;
    check(tokens_way, 200);
}

static void tokenizers_fail(void **state) {
    (void)state;
    check(bytes_way, 100);
    check(words_way, 300);
    check(frame_way, 300);
    check(make_bytes_way, 300);
}

static void pieces_fail(void **state) {
    locus_error error;
    lab_text_facts facts;
    (void)state;
    const char *path = scratch_path("text");
    const lab_text_source source = {.texts = {path, path, path}, .vocabulary = 300};
    const locus_status status = lab_text_make(scratch_path("pieces"), &source, NULL, &facts, &error);
    if (status == LOCUS_ERROR_UNSUPPORTED)
        skip(); /* no SentencePiece here */
    assert_int_equal(status, LOCUS_OK);
    check(pieces_way, 300);
    check(make_pieces_way, 300);
}

static int set_up(void **state) {
    static const char entries[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\nthe\nhouse\nwa\n##ter\n##lk\n##er\n##s\nby\n";
    if (scratch_create(state) != 0)
        return -1;
    scratch_write("text", text, sizeof text - 1);
    if (lab_directory_create(scratch_path("copy"), NULL) != LOCUS_OK ||
        lab_directory_create(scratch_path("words"), NULL) != LOCUS_OK)
        return -1;
    scratch_write("words/vocab.txt", entries, sizeof entries - 1);
    scratch_write("words/tokenizer_config.json", "{\"do_lower_case\": false}", 24);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(tokens_fail), cmocka_unit_test(tokenizers_fail),
                                       cmocka_unit_test(pieces_fail), cmocka_unit_test(streams_fail)};
    return cmocka_run_group_tests(tests, set_up, scratch_remove);
}
