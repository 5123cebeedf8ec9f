/* SPDX-License-Identifier: MIT */
/* Every allocation on the way from files of one's own to sets fails once, one after another: pairs, labelled
 * sequences and pictures are looked at, drawn, kept and read by what was kept; each failure is told as MEMORY, and
 * nothing leaks (address sanitizer). So do those of answers to prompts. */
#include "io/json.h"
#include "samples/answering.h"
#include "samples/expression_lines.h"
#include "samples/portrait.h"
#include "samples/prompts.h"
#include "samples/sample_lines.h"
#include "task/images/own_pictures.h"
#include "task/images/picture_options.h"
#include "task/images/picture_pixels.h"
#include "task/own/labelled.h"
#include "task/own/pairs.h"
#include "task/problem.h"
#include "task/task_class.h"
#include "task/text_task.h"
#include "train/configuration/budgets.h"
#include "train/configuration/config.h"

#include <fcntl.h>
#include <locus/parallel.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "failing_allocator.h"

static char folder[64], file[96], pictures[96];

static void put(const char *path, const char *text, size_t bytes) {
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    assert_int_equal(fwrite(text, 1, bytes, out), bytes);
    assert_int_equal(fclose(out), 0);
}

/* ---- what is done ---- */

static void assert_named(const lab_dataset *set) {
    for (size_t i = 0; i < set->name_count; i++)
        assert_non_null(set->names[i]);
}

static locus_status draw(const char *task, const lab_task_options *options, locus_error *error) {
    const lab_draw wanted = {lab_task_find(task), options, LAB_SET_TEST, 0, 0};
    lab_dataset set;
    const locus_status status = lab_dataset_generate(&set, &wanted, error);
    if (status == LOCUS_OK) {
        assert_named(&set);
        lab_dataset_destroy(&set);
    }
    return status;
}

static locus_status pairs_way(locus_error *error) {
    const lab_task_options options = {.path = file, .dev = file, .test = file}, kept = {.test = file, .kept = folder};
    lab_pair_facts facts;
    locus_status status = lab_pairs_look(&options, 0, &facts, error);
    if (status == LOCUS_OK)
        status = draw("pairs", &options, error);
    if (status == LOCUS_OK)
        status = lab_pairs_keep(&options, 0, folder, error);
    return status == LOCUS_OK ? draw("pairs", &kept, error) : status;
}

static locus_status labels_way(locus_error *error) {
    const lab_task_options options = {.path = file, .dev = file, .test = file}, kept = {.test = file, .kept = folder};
    lab_class_facts facts;
    locus_status status = lab_labelled_look(&options, 0, &facts, error);
    if (status == LOCUS_OK) {
        assert_true(facts.classes.count == 2 && facts.digest != 0 && facts.longest == 2);
        lab_class_facts_free(&facts);
        status = draw("classify", &options, error);
    }
    if (status == LOCUS_OK)
        status = lab_labelled_keep(&options, 0, folder, error);
    return status == LOCUS_OK ? draw("classify", &kept, error) : status;
}

static locus_status pictures_way(locus_error *error) {
    const lab_picture_options own = {.side = 5};
    lab_task_options options = lab_task_with(lab_task_find("images"), &own), kept = options;
    options.path = kept.test = pictures;
    kept.kept = folder;
    lab_class_facts facts;
    lab_picture_pixels_forget();
    locus_status status = lab_pictures_look(&options, 0, &facts, error);
    if (status == LOCUS_OK) {
        assert_true(facts.classes.count == 2 && facts.digest != 0);
        assert_int_equal(facts.samples[0] + facts.samples[1] + facts.samples[2], 4);
        lab_class_facts_free(&facts);
        status = draw("images", &options, error);
    }
    if (status == LOCUS_OK)
        status = lab_pictures_keep(&options, 0, folder, error);
    return status == LOCUS_OK ? draw("images", &kept, error) : status;
}

/* Where there is one file, it is parted. */
static locus_status parted_way(locus_error *error) {
    const lab_task_options options = {.path = file};
    lab_class_facts facts;
    locus_status status = lab_labelled_look(&options, 0, &facts, error);
    if (status == LOCUS_OK) {
        lab_class_facts_free(&facts);
        status = draw("classify", &options, error);
    }
    return status == LOCUS_OK ? draw("pairs", &options, error) : status;
}

/* What is typed is read by what is kept. */
static locus_status typed_pair_way(locus_error *error) {
    const lab_task_options kept = {.kept = folder};
    lab_dataset set;
    const locus_status status = lab_pairs_typed(&set, &kept, "0 2", error);
    if (status != LOCUS_OK)
        return status;
    /* What comes back is whole: with a 0 ids move by one. */
    assert_true(set.samples == 1 && set.input != NULL && set.input_offsets != NULL && set.names != NULL);
    assert_true(set.input_offsets[1] == 2 && set.input[0] == 1 && set.input[1] == 3);
    assert_named(&set);
    lab_dataset_destroy(&set);
    return LOCUS_OK;
}

static locus_status typed_sample_way(locus_error *error) {
    const lab_task_options kept = {.kept = folder};
    const lab_task *task = lab_task_find("classify");
    const int32_t tokens[] = {0, 2};
    lab_token_name names[2];
    lab_dataset set = {0};
    locus_status status = lab_labelled_sample(&set, task, &kept, "0 2", error);
    lab_dataset_destroy(&set);
    return status == LOCUS_OK ? lab_labelled_names(names, task, &kept, tokens, 2, error) : status;
}

static char saved[2][4096]; /* files that were written where nothing failed */

/* A file that is said to be written is whole. */
static void expect_saved(const char *path, char *wanted) {
    char text[sizeof saved[0]] = "";
    const int from = open(path, O_RDONLY);
    assert_true(from >= 0 && read(from, text, sizeof text - 1) > 0);
    close(from);
    if (wanted[0] == '\0')
        strcpy(wanted, text);
    assert_string_equal(text, wanted);
}

/* Samples as lines, read, written and read again. */
static locus_status lines_way(locus_error *error) {
    const lab_task *task = NULL;
    lab_dataset set;
    char again[128];
    snprintf(again, sizeof again, "%s/again.jsonl", folder);
    locus_status status = lab_samples_read(&set, &task, file, error);
    if (status != LOCUS_OK)
        return status;
    status = lab_samples_save(&set, lab_task_find("copy"), again, error);
    lab_dataset_destroy(&set);
    if (status == LOCUS_OK)
        expect_saved(again, saved[0]);
    if (status == LOCUS_OK && (status = lab_samples_read(&set, &task, again, error)) == LOCUS_OK)
        lab_dataset_destroy(&set);
    unlink(again);
    return status;
}

static locus_status prompts_way(locus_error *error) {
    lab_writing writing = {.task = lab_task_find("text"), .vocabulary = 256};
    lab_prompts prompts = {.count = 0};
    locus_status status = lab_tokenizer_open_bytes(&writing.tokenizer, error);
    if (status == LOCUS_OK)
        status = lab_prompts_lines(&prompts, &writing, file, error);
    lab_prompts_free(&prompts);
    lab_writing_close(&writing);
    return status;
}

static lab_train_config answering_config;
static lab_model *answering_model;
static char answered[2048]; /* what is answered where nothing fails */

/* Prompts that are gone on with: of a text one that is typed, of problems two that are drawn. An answer is whole. */
static locus_status answers_way(locus_error *error) {
    const lab_train_config *of = &answering_config;
    const bool drawn = of->task->characters != NULL;
    char answers[sizeof answered] = "";
    size_t used = 0;
    lab_answering j = {
        .model = answering_model,
        .config = of,
        .writing = {.task = of->task, .options = of->data, .vocabulary = of->model.vocabulary, .tokenizer = NULL}};
    locus_status status = drawn ? LOCUS_OK : lab_tokenizer_open_bytes(&j.writing.tokenizer, error);
    if (status == LOCUS_OK)
        status = drawn ? lab_prompts_draw(&j.prompts, of, 2, error)
                       : lab_prompts_typed(&j.prompts, &j.writing, "abc", error);
    if (status == LOCUS_OK)
        status = lab_answering_begin(&j, error);
    assert_true(status != LOCUS_OK ||
                atomic_load(&allocations_left) >= 0); /* no length is good that was not asked for */
    if (status == LOCUS_OK)
        status = lab_answering_next(&j, error);
    for (size_t p = 0; status == LOCUS_OK && p < j.prompts.count; p++) {
        used += (size_t)snprintf(answers + used, sizeof answers - used, "'%s' %zu:", j.prompts.texts[p],
                                 j.answers[p].tokens);
        for (size_t i = 0; i < j.answers[p].tokens; i++)
            used += (size_t)snprintf(answers + used, sizeof answers - used, " %d", (int)j.answers[p].ids[i]);
        for (size_t i = 0; i < j.answers[p].used; i++)
            used +=
                (size_t)snprintf(answers + used, sizeof answers - used, ".%02x", (unsigned char)j.answers[p].text[i]);
    }
    if (answered[0] == '\0')
        strcpy(answered, answers);
    if (status == LOCUS_OK)
        assert_string_equal(answers, answered);
    lab_answering_free(&j);
    return status;
}

static locus_status expressions_way(locus_error *error) {
    const lab_task *task = lab_task_find("listops");
    lab_dataset set = {0};
    locus_status status = lab_expressions_read(&set, task, file, LAB_ASKED_DIGIT, error);
    for (size_t form = 0; form < 2 && status == LOCUS_OK; form++) {
        char again[128];
        snprintf(again, sizeof again, "%s/again%s", folder, form == 0 ? ".jsonl" : ".tsv");
        status = lab_samples_save(&set, task, again, error);
        if (status == LOCUS_OK)
            expect_saved(again, saved[form]);
        unlink(again);
    }
    lab_dataset_destroy(&set);
    return status;
}

static locus_status portrait_way(locus_error *error) {
    const lab_task *task = lab_task_find("listops");
    const lab_task_options options = lab_task_default(task);
    const lab_portrait_request request = {
        .name = "listops", .draw = {task, &options, LAB_SET_TEST, 0, 0}, .file = file, .shown = 3};
    const size_t losses = lab_json_losses();
    lab_portrait portrait = {.json = cJSON_CreateObject()};
    locus_status status = lab_shown_open(&portrait.shown, error);
    if (status == LOCUS_OK) {
        status = lab_portray_expressions(&portrait, &request, error);
        if (status == LOCUS_OK)
            status = lab_shown_end(&portrait.shown, error);
        assert_true(status != LOCUS_OK || strstr(portrait.shown.text, "target 9") != NULL);
        lab_shown_free(&portrait.shown);
    }
    cJSON_Delete(portrait.json);
    if (status == LOCUS_OK && lab_json_losses() != losses) {
        strcpy(error->message, "the JSON");
        status = LOCUS_ERROR_MEMORY;
    }
    return status;
}

/* ---- one failure after another ---- */

static void every_failure(locus_status (*way)(locus_error *error)) {
    enum { MOST = 20000 };
    long told = 0, point = 0;
    locus_error none = {0};
    memset(saved, 0, sizeof saved);
    if (way(&none) != LOCUS_OK)
        fail_msg("%s", none.message);
    for (bool failed = true; failed && point < MOST; ++point) {
        locus_error error = {0};
        allocator_arm(point);
        const locus_status status = way(&error);
        failed = allocator_disarm();
        if (status != LOCUS_OK && (status != LOCUS_ERROR_MEMORY || error.message[0] == '\0'))
            fail_msg("allocation %ld: status %d, \"%s\"", point, (int)status, error.message);
        told += status == LOCUS_ERROR_MEMORY;
    }
    assert_true(point < MOST && told > point / 2);
}

static void test_pairs(void **state) {
    (void)state;
    static const char words[] = "{\"input_text\": \"a b\", \"target_text\": \"b a\"}\n";
    static const char trees[] = "{\"input\": [0, 2], \"input_paths\": [\"0\", \"1\"], \"target\": [2, 1, 1], "
                                "\"target_paths\": [\"0\", \"1\", \"2\"]}\n";
    put(file, words, sizeof words - 1);
    every_failure(pairs_way);
    put(file, trees, sizeof trees - 1);
    every_failure(pairs_way);
}

static void test_labels(void **state) {
    (void)state;
    static const char lines[] = "{\"input_text\": \"a b\", \"label\": \"x\"}\n{\"input_text\": \"b\", \"label\": 2}\n";
    put(file, lines, sizeof lines - 1);
    every_failure(labels_way);
}

static void test_parted(void **state) {
    (void)state;
    char lines[1024] = "";
    for (int i = 0; i < 12; i++)
        snprintf(lines + strlen(lines), sizeof lines - strlen(lines),
                 "{\"input_text\": \"a b\", \"target_text\": \"b\", \"label\": %d}\n", i % 2);
    put(file, lines, strlen(lines));
    every_failure(parted_way);
}

static void test_typed(void **state) {
    (void)state;
    static const char lines[] = "{\"input\": [0, 2], \"target\": [1], \"label\": 1}\n"
                                "{\"input\": [0], \"target\": [1], \"label\": 2}\n";
    const lab_task_options options = {.path = file, .dev = file, .test = file};
    put(file, lines, sizeof lines - 1);
    assert_int_equal(lab_pairs_keep(&options, 0, folder, NULL), LOCUS_OK);
    every_failure(typed_pair_way);
    assert_int_equal(lab_labelled_keep(&options, 0, folder, NULL), LOCUS_OK);
    every_failure(typed_sample_way);
}

static void test_lines(void **state) {
    (void)state;
    static const char trees[] = "{\"input\": [3, 2], \"input_paths\": [\"0\", \"1\"], \"target\": [2, 1, 1], "
                                "\"target_paths\": [\"0\", \"1\", \"2\"]}\n";
    static const char sums[] = "{\"input\": [0, 12, 3, 10, 15], \"target\": 9, \"input_text\": \"[MAX 2 9 ]\"}\n";
    put(file, trees, sizeof trees - 1);
    every_failure(lines_way);
    put(file, sums, sizeof sums - 1);
    every_failure(expressions_way);
    every_failure(portrait_way);
    every_failure(prompts_way);
}

static void test_pictures(void **state) {
    (void)state;
    every_failure(pictures_way);
    lab_picture_pixels_forget();
}

static void test_answers(void **state) {
    (void)state;
    static const char *const tasks[] = {"text", "addition"};
    for (size_t i = 0; i < 2; i++) {
        lab_train_config *config = &answering_config;
        assert_int_equal(lab_train_config_budget(config, lab_task_find(tasks[i]), "smoke", LAB_SETUP_PAPER, NULL),
                         LOCUS_OK);
        config->encoding = config->model.encoding =
            i == 0 ? "learned(size=24)" : "rope"; /* ends before a text's page does */
        config->model.dim = config->model.feed_forward = 16;
        config->model.heads = 2;
        config->model.decoder_layers = 1;
        if (i == 0)
            *LAB_TEXT(&config->data) = (lab_text_options){.symbols = 256, .sequence = 8};
        else
            LAB_PROBLEMS(&config->data)->digits = 1;
        lab_config_fill(config);
        assert_int_equal(lab_model_create(&answering_model, &config->model, 1, NULL), LOCUS_OK);
        answered[0] = '\0';
        locus_error error;
        if (answers_way(&error) != LOCUS_OK)
            fail_msg("%s", error.message);
        every_failure(answers_way);
        lab_model_destroy(&answering_model);
    }
}

/* ---- files ---- */

static const char *const classes[] = {"a", "b"};

static const char *class_path(size_t class, const char *end) {
    static char path[160];
    snprintf(path, sizeof path, "%s/%s%s", pictures, classes[class], end);
    return path;
}

/* One thread: which allocation fails must not depend on how they run. */
static int open_files(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/locus_own_XXXXXX");
    if (mkdtemp(folder) == NULL || locus_threads_set(1) != LOCUS_OK)
        return -1;
    snprintf(file, sizeof file, "%s/own.jsonl", folder);
    snprintf(pictures, sizeof pictures, "%s/pictures", folder);
    mkdir(pictures, 0700);
    for (size_t c = 0; c < 2; c++) {
        mkdir(class_path(c, ""), 0700);
        put(class_path(c, "/1.pgm"), "P5 1 1 255\n1", 12);
        put(class_path(c, "/2.pgm"), "P5 1 1 255\n2", 12);
    }
    return 0;
}

static int left; /* not 0: a file that no test knows; cmocka counts no tear-down that fails */

static int close_files(void **state) {
    (void)state;
    for (size_t c = 0; c < 2; c++) {
        unlink(class_path(c, "/1.pgm"));
        unlink(class_path(c, "/2.pgm"));
        rmdir(class_path(c, ""));
    }
    rmdir(pictures);
    unlink(file);
    char path[128];
    snprintf(path, sizeof path, "%s/vocabulary.json", folder);
    unlink(path);
    left = rmdir(folder);
    return left;
}

int main(void) {
    allocator_texts = true;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pairs),  cmocka_unit_test(test_labels),
                                       cmocka_unit_test(test_parted), cmocka_unit_test(test_typed),
                                       cmocka_unit_test(test_lines),  cmocka_unit_test(test_pictures),
                                       cmocka_unit_test(test_answers)};
    const int wrong = cmocka_run_group_tests(tests, open_files, close_files);
    return wrong != 0 ? wrong : left;
}
