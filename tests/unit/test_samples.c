/* SPDX-License-Identifier: MIT */
/* What stands between samples and people: lines of samples that are wrong, told whole; prompts and where they end; how
 * many tokens an answer may get, and how fast they came; the best of a picture's classes. */
#include "samples/answering.h"
#include "samples/expression_lines.h"
#include "samples/picture_classes.h"
#include "samples/sample_lines.h"
#include "task/problem.h"
#include "task/task_class.h"
#include "task/text_task.h"
#include "train/configuration/budgets.h"
#include "train/configuration/config.h"
#include "unit/scratch_folder.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const char *put(const char *name, const char *text) {
    scratch_write(name, text, strlen(text));
    return scratch_path(name);
}

/* ---- lines ---- */

#define TREE "\"input\": [1, 2], \"input_paths\": [\"0\", \"1\"], \"target\": [1], \"target_paths\": [\"0\"]"

static void lines_that_are_no_samples(void **state) {
    (void)state;
    static const struct {
        const char *text, *says; /* behind the file's name */
    } cases[] = {
        {"", ": there is no sample in it"},
        {" \n\t\r\n", ": there is no sample in it"},
        {"\n[1]\n", ", line 2: this is no JSON object"},
        {"{\"input\": [1], \"target\": [1]}{\"input\": [1], \"target\": [1]}\n",
         ", line 1: something stands behind the JSON object"},
        {"{\"input\": [1], \"target\": [1]} rubbish\n", ", line 1: something stands behind the JSON object"},
        {"{\"input\": 3, \"target\": [1]}\n", ", line 1: \"input\" needs an array of token ids"},
        {"{\"input\": [1]}\n", ", line 1: \"target\" needs an array of token ids"},
        {"{\"input\": [1], \"target\": [1.5]}\n", ", line 1: \"target\" needs whole numbers from 0"},
        {"{\"input\": [\"1\"], \"target\": [1]}\n", ", line 1: \"input\" needs whole numbers from 0"},
        {"{\"input\": [1000000001], \"target\": [1]}\n", ", line 1: \"input\" needs whole numbers from 0"},
        {"{\"input\": [1], \"target\": [1]}\n{" TREE "}\n",
         ", line 2: \"input_paths\" is there, unlike the lines before: a file holds words or trees"},
        {"{" TREE "}\n{\"input\": [1], \"target\": [1]}\n",
         ", line 2: \"input_paths\" is missing, unlike the lines before: a file holds words or trees"},
        {"{\"input\": [1], \"input_paths\": [\"0\"], \"target\": [1]}\n",
         ", line 1: input and target must both have paths, or none"},
        {"{\"input\": [1, 2], \"input_paths\": [\"0\"], \"target\": [1], \"target_paths\": [\"0\"]}\n",
         ", line 1: \"input_paths\": one path (a string) for each token, of one token at least"},
        {"{\"input\": [1], \"input_paths\": [\"0\", \"1\"], \"target\": [1], \"target_paths\": [\"0\"]}\n",
         ", line 1: \"input_paths\": one path (a string) for each token, of one token at least"},
        {"{\"input\": [], \"input_paths\": [], \"target\": [1], \"target_paths\": [\"0\"]}\n",
         ", line 1: \"input_paths\": one path (a string) for each token, of one token at least"},
        {"{\"input\": [1], \"input_paths\": [\"0\"], \"target\": [1, 2], \"target_paths\": [\"0\", \"2\"]}\n",
         ", line 1: \"target_paths\": token 1: its parent and the children before it must stand before 2"},
        {"{\"task\": \"copy\", \"input\": [1], \"target\": [1]}\n", ", line 1: \"task\" is none of characters"},
        {"{\"task\": 1, \"input\": [1], \"target\": [1]}\n", ", line 1: \"task\" is none of characters"},
        {"{\"task\": \"addition\", \"input\": [1], \"target\": [1]}\n{\"input\": [1], \"target\": [1]}\n",
         ", line 2: \"task\" is missing, unlike the lines before: a file is of one task"},
        {"{\"input\": [1], \"target\": [1]}\n{\"task\": \"addition\", \"input\": [1], \"target\": [1]}\n",
         ", line 2: \"task\" is addition, unlike the lines before: a file is of one task"},
        {"{\"task\": \"addition\", \"input\": [20], \"target\": [1]}\n",
         ", line 1: token 20: addition has characters 0 to 19"},
        {"{\"task\": \"addition\", \"input\": [19], \"target\": [4, 21]}\n",
         ", line 1: token 21: addition has characters 0 to 19"},
        {"{\"task\": \"addition\", " TREE "}\n", ", line 1: problems of addition have no paths"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        lab_dataset set, empty = {0};
        const lab_task *task;
        locus_error error = {0};
        char says[1400];
        const char *path = put("bad.jsonl", cases[i].text);
        assert_int_equal(lab_samples_read(&set, &task, path, &error), LOCUS_ERROR_IO);
        snprintf(says, sizeof says, "%.250s%s", path, cases[i].says);
        assert_string_equal(error.message, says);
        assert_memory_equal(&set, &empty, sizeof set);
    }
    lab_dataset set;
    const lab_task *task;
    locus_error error = {0};
    assert_int_equal(lab_samples_read(&set, &task,
                                      put("good.jsonl", "\n{\"task\": \"addition\", \"input\": [19], "
                                                        "\"target\": []}\n\n{\"task\": \"addition\", "
                                                        "\"input\": [], \"target\": [0, 1]}"),
                                      &error),
                     LOCUS_OK);
    assert_ptr_equal(task, lab_task_find("addition"));
    assert_true(set.samples == 2 && set.input_offsets[1] == 1 && set.input_offsets[2] == 1 && set.input[0] == 19);
    assert_true(set.target_offsets[1] == 0 && set.target_offsets[2] == 2 && set.target[1] == 1);
    lab_dataset_destroy(&set);
    scratch_write("zero.jsonl", "{}\0{}", 5);
    char says[1400];
    snprintf(says, sizeof says, "%s: this is no text (it holds a zero byte)", scratch_path("zero.jsonl"));
    assert_int_equal(lab_samples_read(&set, &task, scratch_path("zero.jsonl"), &error), LOCUS_ERROR_IO);
    assert_string_equal(error.message, says);
}

static void lines_that_are_no_expressions(void **state) {
    (void)state;
#define LINE(target, text, input) "{\"target\": " target ", \"input_text\": \"" text "\", \"input\": " input "}\n"
    static const struct {
        const char *text, *says;
        size_t samples;
    } cases[] = {
        {LINE("4", "4", "[0, 5]"), NULL, 1},
        {"\n \t" LINE("9", "[MAX 2 9 ]", "[0, 12, 3, 10, 15]") "\r\n" LINE("0", "0", "[0, 1]"), NULL, 2},
        {"\n", ": there is no expression in it", 0},
        {"5\n", ", line 1: this is no JSON object", 0},
        {"\n" LINE("10", "4", "[0, 5]"), ", line 2: \"target\" is no class from 0 to 9", 0},
        {LINE("-1", "4", "[0, 5]"), ", line 1: \"target\" is no class from 0 to 9", 0},
        {LINE("4.5", "4", "[0, 5]"), ", line 1: \"target\" is no class from 0 to 9", 0},
        {"{\"target\": 4}\n", ", line 1: \"input_text\" is missing: the expression as text", 0},
        {LINE("4", "4", "[0]"), ", line 1: \"input\" is not the tokens of \"input_text\"", 0},
        {LINE("4", "4", "[0, 5, 6]"), ", line 1: \"input\" is not the tokens of \"input_text\"", 0},
        {LINE("4", "4", "[0, \"5\"]"), ", line 1: \"input\" is not the tokens of \"input_text\"", 0},
        {LINE("4", "4", "[\"0\", 5]"), ", line 1: \"input\" is not the tokens of \"input_text\"", 0},
        {LINE("4", "4", "[]"), ", line 1: \"input\" is not the tokens of \"input_text\"", 0},
        {LINE("4", "4", "[1, 5]"), ", line 1: \"input\" is not the tokens of \"input_text\"", 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        lab_dataset set = {0};
        locus_error error = {0};
        char says[1400];
        const char *path = put("lines.jsonl", cases[i].text);
        const locus_status status = lab_expressions_read(&set, lab_task_find("listops"), path, LAB_ASKED_DIGIT, &error);
        snprintf(says, sizeof says, "%.250s%s", path, cases[i].says != NULL ? cases[i].says : "");
        assert_string_equal(error.message, cases[i].says != NULL ? says : "");
        assert_int_equal(status, cases[i].says != NULL ? LOCUS_ERROR_IO : LOCUS_OK);
        if (status == LOCUS_OK)
            assert_int_equal(set.samples, cases[i].samples);
        lab_dataset_destroy(&set);
    }
    assert_true(lab_expressions_are_in("x.tsv"));
    assert_false(lab_expressions_are_in(scratch_path("missing.jsonl")));
    assert_true(lab_expressions_are_in(put("one.jsonl", LINE("4", "4", "[0, 5]"))));
    assert_false(lab_expressions_are_in(put("one.jsonl", "{\"target\": [4]}\n" LINE("4", "4", "[0, 5]"))));
}

/* ---- prompts ---- */

static lab_writing writing_of(const char *task) {
    lab_writing writing = {.task = lab_task_find(task), .options = lab_task_default(lab_task_find(task))};
    if (writing.task->characters == NULL) {
        writing.vocabulary = 256;
        assert_int_equal(lab_tokenizer_open_bytes(&writing.tokenizer, NULL), LOCUS_OK);
    }
    return writing;
}

static void prompts_are_lines(void **state) {
    (void)state;
    static const struct {
        const char *task, *text;
        size_t count;
        const char *says;
    } cases[] = {
        {"text", "a\n b \r\nc", 3, NULL},
        {"text", "a\r\r\n", 1, NULL},
        {"addition", "?d=1+1; \n1\n", 2, NULL},
        {"text", "", 0, "'%s' is empty; it holds prompts, one to a line"},
        {"text", "a\n\nb", 0, "'%s', line 2 is empty: a decoder needs a prompt to begin with"},
        {"text", "a\n\r\n", 0, "'%s', line 2 is empty: a decoder needs a prompt to begin with"},
        {"text", "a\nb\xff\n", 0, "'%s', line 2: byte 2 (0xFF) is no UTF-8"},
        {"addition", "1\n1b\n", 0,
         "'%s', line 2: 'b', character 2 of the text: addition knows only \" #+0123456789;=?aden\""},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        lab_writing writing = writing_of(cases[i].task);
        lab_prompts prompts = {.count = 0};
        locus_error error = {0};
        char says[1400] = "";
        const char *path = put("prompts", cases[i].text);
        const locus_status status = lab_prompts_lines(&prompts, &writing, path, &error);
        if (cases[i].says != NULL)
            snprintf(says, sizeof says, "'%s%s", path, strchr(cases[i].says + 1, '\''));
        assert_string_equal(error.message, says);
        assert_int_equal(status, cases[i].says != NULL ? LOCUS_ERROR_IO : LOCUS_OK);
        if (cases[i].says == NULL)
            assert_int_equal(prompts.count, cases[i].count);
        if (i == 0) {
            assert_string_equal(prompts.texts[1], " b ");
            assert_true(prompts.offsets[2] == 4 && prompts.offsets[3] == 5 && prompts.tokens[4] == 'c');
        }
        if (i == 1)
            assert_string_equal(prompts.texts[0], "a\r");
        lab_prompts_free(&prompts);
        lab_writing_close(&writing);
    }
    scratch_write("prompts", "a\0b\n", 4);
    lab_writing writing = writing_of("text");
    lab_prompts prompts = {.count = 0};
    locus_error error = {0};
    char says[1400];
    assert_int_equal(lab_prompts_lines(&prompts, &writing, scratch_path("prompts"), &error), LOCUS_ERROR_IO);
    snprintf(says, sizeof says, "'%s', line 1: byte 2 is zero, which no text has", scratch_path("prompts"));
    assert_string_equal(error.message, says);
    lab_prompts_free(&prompts);
    assert_int_equal(lab_prompts_typed(&prompts, &writing, "", &error), LOCUS_ERROR_IO);
    assert_string_equal(error.message, "--prompt: the text has no tokens; a decoder needs one to begin with");
    lab_prompts_free(&prompts);
    lab_writing_close(&writing);
}

/* ---- answers ---- */

static lab_train_config decoder(const char *task, const char *encoding) {
    lab_train_config config;
    assert_int_equal(lab_train_config_budget(&config, lab_task_find(task), "smoke", LAB_SETUP_PAPER, NULL), LOCUS_OK);
    config.encoding = config.model.encoding = encoding;
    config.model.dim = config.model.feed_forward = 16;
    config.model.heads = 2;
    config.model.decoder_layers = 1;
    if (config.task->characters == NULL)
        LAB_TEXT(&config.data)->symbols = 256;
    lab_config_fill(&config);
    return config;
}

/* Of the first prompt the limit; what is refused says so in `says`. */
static void expect_limit(const char *task, const char *encoding, size_t sequence, const char *prompt, size_t most,
                         size_t limit, const char *says) {
    lab_train_config config = decoder(task, encoding);
    if (config.task->characters != NULL)
        LAB_PROBLEMS(&config.data)->sequence = sequence;
    else
        LAB_TEXT(&config.data)->sequence = sequence;
    lab_answering answering = {.config = &config, .writing = writing_of(task), .most = most};
    locus_error error = {0};
    answering.writing.vocabulary = config.model.vocabulary;
    assert_int_equal(lab_model_create(&answering.model, &config.model, 1, NULL), LOCUS_OK);
    const locus_status status = prompt != NULL
                                    ? lab_prompts_typed(&answering.prompts, &answering.writing, prompt, &error)
                                    : lab_prompts_draw(&answering.prompts, &config, 3, &error);
    assert_int_equal(status, LOCUS_OK);
    assert_int_equal(lab_answering_begin(&answering, &error), says != NULL ? LOCUS_ERROR_IO : LOCUS_OK);
    if (says != NULL && strncmp(error.message, says, strlen(says)) != 0)
        fail_msg("'%s' does not begin with '%s'", error.message, says);
    const size_t *offsets = answering.prompts.drawn.target_offsets;
    for (size_t p = 0; p < answering.prompts.count; p++)
        assert_int_equal(answering.limits[p], prompt != NULL ? limit : offsets[p + 1] - offsets[p] + 8);
    assert_int_equal(answering.end, config.task->solved ? 1 : -1); /* the second character is '#' */
    lab_answering_free(&answering);
    lab_model_destroy(&answering.model);
}

static void answers_have_limits(void **state) {
    (void)state;
    expect_limit("addition", "rope", 30, "?d=1+1; ", 0, 22, NULL);
    expect_limit("addition", "rope", 9, "?d=1+1; ", 0, 1, NULL);
    expect_limit("addition", "rope", 8, "?d=1+1; ", 0, 1, NULL);
    expect_limit("addition", "rope", 4, "?d=1+1; ", 0, 1, NULL);
    expect_limit("addition", "rope", 30, "?d=1+1; ", 5, 5, NULL);
    expect_limit("addition", "rope", 30, NULL, 0, 0, NULL);
    expect_limit("substring-search", "rope", 30, "abc", 0, 27, NULL);
    expect_limit("text", "rope", 24, "abc", 0, 256, NULL); /* no table ends */
    expect_limit("text", "learned(size=24)", 24, "abc", 0, 21, NULL);
    expect_limit("text", "learned(size=258)", 24, "abc", 0, 256, NULL);
    expect_limit("text", "learned(size=257)", 24, "abc", 0, 21, NULL);
    expect_limit("text", "learned(size=24)", 300, "abc", 0, 256, "the prompt has 3 tokens and 256 may follow: ");
    expect_limit("text", "learned(size=24)", 24, "abc", 22, 22, NULL);
    expect_limit("text", "learned(size=24)", 24, "abc", 23, 23, "the prompt has 3 tokens and 23 may follow: ");
    expect_limit("text", "learned(size=2)", 24, "abc", 1, 1, "the prompt's 3 tokens are too many: ");
}

/* Tokens behind the first of each prompt, by the time from the first token of all to the last. */
static void answers_have_a_rate(void **state) {
    (void)state;
    lab_answer answers[] = {{.tokens = 90, .first = 1, .last = 99},
                            {.tokens = 5, .first = 11, .last = 13},
                            {.tokens = 0},
                            {.tokens = 3, .first = 12, .last = 15}};
    lab_answering of = {.answers = answers, .begin = 1, .count = 3, .started = 10, .ended = 20};
    assert_float_equal(lab_answering_rate(&of), 6.0 / 4, 1e-12);
    answers[1].tokens = answers[3].tokens = 1;
    assert_float_equal(lab_answering_rate(&of), 0, 0);
    answers[3] = (lab_answer){.tokens = 3, .first = 11, .last = 11};
    answers[1] = answers[2];
    assert_float_equal(lab_answering_rate(&of), 0, 0);
    size_t offsets[] = {0, 2, 5};
    int32_t target[] = {1, 2, 3, 4, 5}, wrong[] = {3, 4, 6};
    of.prompts.drawn = (lab_dataset){.samples = 2, .target_offsets = offsets, .target = target};
    answers[1] = (lab_answer){.tokens = 3, .ids = target + 2};
    assert_true(lab_answer_right(&of, 1));
    answers[1].tokens = 2;
    assert_false(lab_answer_right(&of, 1));
    answers[1] = (lab_answer){.tokens = 3, .ids = wrong};
    assert_false(lab_answer_right(&of, 1));
}

/* ---- pictures ---- */

static void the_best_classes(void **state) {
    (void)state;
    float probabilities[] = {9, 9, 9, 9, 9, 9, 9, 0.1f, 0.3f, 0.05f, 0.3f, 0.05f, 0.2f, 0};
    size_t best[LAB_PICTURE_SHOWN];
    static const size_t wanted[] = {1, 3, 5, 0, 2, 4, 6};
    const lab_picture_classes seven = {.count = 2, .classes = 7, .probabilities = probabilities};
    const size_t count = lab_picture_best(&seven, 1, best);
    assert_int_equal(count, LAB_PICTURE_SHOWN < 7 ? LAB_PICTURE_SHOWN : 7);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(best[i], wanted[i]);
    const lab_picture_classes two = {.count = 1, .classes = 2, .probabilities = probabilities + 7};
    assert_int_equal(lab_picture_best(&two, 0, best), 2);
    assert_true(best[0] == 1 && best[1] == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_that_are_no_samples), cmocka_unit_test(lines_that_are_no_expressions),
        cmocka_unit_test(prompts_are_lines),         cmocka_unit_test(answers_have_limits),
        cmocka_unit_test(answers_have_a_rate),       cmocka_unit_test(the_best_classes),
    };
    return cmocka_run_group_tests(tests, scratch_create, scratch_remove);
}
