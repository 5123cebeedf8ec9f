/* SPDX-License-Identifier: MIT */
/* Whole reports of a planted store against expected ones: the summary as JSON and the tables of the terminal, computed
 * from the same runs by tools/golden_report.py with NumPy and SciPy, the page, and charts that stand alone. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "planted_store.h"
#include "unit/scratch_folder.h"

#include "io/file.h"
#include "page/report.h"
#include "page/run_figure.h"
#include "report/tables/summary.h"
#include "store_argument.h"
#include "train/store/store_sql.h"

#include <cjson/cJSON.h>
#include <openssl/evp.h>

#define OK(call) \
    do { \
        locus_error failed = {0}; \
        if ((call) != LOCUS_OK) { \
            fail_msg("%s: %s", #call, failed.message); \
        } \
    } while (0)

static lab_store *store;

static int create(void **state) {
    if (scratch_create(state) != 0)
        return -1;
    planted_store_open(&store, scratch_path("locus.db"));
    return 0;
}

static int drop(void **state) {
    lab_store_close(&store);
    return scratch_remove(state);
}

static void expect_json(lab_store *from, const lab_summary_filter *filter, const char *expected) {
    lab_summary summary;
    OK(lab_summary_create(&summary, from, filter, &failed));
    cJSON *made = lab_summary_json(&summary);
    assert_non_null(made);
    planted_json_is(made, expected);
    cJSON_Delete(made);
    lab_summary_free(&summary);
}

static void summary_as_json(void **state) {
    (void)state;
    expect_json(store, &(lab_summary_filter){0}, "report_summary.json");
}

static void expect_tables(lab_store *from, const lab_summary_filter *filter, const char *expected) {
    lab_summary summary;
    char *text = NULL;
    size_t bytes;
    OK(lab_summary_create(&summary, from, filter, &failed));
    const int file = open(scratch_path("tables"), O_RDWR | O_CREAT | O_TRUNC, 0600), saved = dup(STDOUT_FILENO);
    assert_true(fflush(stdout) == 0 && file >= 0 && saved >= 0 && dup2(file, STDOUT_FILENO) == STDOUT_FILENO);
    assert_int_equal(cli_summary_print(&summary, NULL), 0);
    assert_true(fflush(stdout) == 0 && dup2(saved, STDOUT_FILENO) == STDOUT_FILENO);
    assert_true(close(file) == 0 && close(saved) == 0);
    OK(lab_file_read(scratch_path("tables"), &text, &bytes, &failed));
    planted_text_is(text, expected);
    free(text);
    lab_summary_free(&summary);
}

static void tables(void **state) {
    (void)state;
    expect_tables(store, &(lab_summary_filter){0}, "report_tables.txt");
}

/* Replaces what stands between two texts, the first time, by dots. */
static void mask(char *page, const char *from, const char *to) {
    char *begin = strstr(page, from), *end = begin != NULL ? strstr(begin + strlen(from), to) : NULL;
    assert_non_null(end);
    begin += strlen(from);
    memmove(begin + 1, end, strlen(end) + 1);
    *begin = '.';
}

/* What a browser may take is what stands behind `tag`: its SHA-256 in base64. */
static void assert_source(const char *page, const char *policy, const char *tag) {
    unsigned char digest[32], wanted[64];
    unsigned size = 0;
    const char *source = strstr(page, tag), *said = strstr(page, policy);
    const char *end = source != NULL ? strstr(source, "</") : NULL;
    assert_true(end != NULL && said != NULL && said < source);
    source += strlen(tag);
    assert_int_equal(EVP_Digest(source, (size_t)(end - source), digest, &size, EVP_sha256(), NULL), 1);
    assert_int_equal(EVP_EncodeBlock(wanted, digest, 32), 44);
    said += strlen(policy);
    assert_memory_equal(said, "sha256-", 7);
    assert_memory_equal(said + 7, wanted, 44);
    assert_int_equal(said[51], '\'');
}

/* Style and script are none of its numbers; version and date are not always the same. */
static void expect_page(lab_store *from, const lab_summary_filter *filter, const char *expected) {
    const lab_report_options options = {.command = "locus report --store 'a & b'", .filter = *filter};
    char *text = NULL;
    size_t bytes;
    OK(lab_report_write(from, &options, scratch_path("page.html"), &failed));
    OK(lab_file_read(scratch_path("page.html"), &text, &bytes, &failed));
    for (size_t i = 0; i < 2; i++)
        assert_source(text, i == 0 ? "script-src '" : "style-src '", i == 0 ? "<script>" : "<style>");
    mask(text, "script-src ", "\">");
    mask(text, "<style>", "</style>");
    mask(text, "<script>", "</script>");
    mask(text, "<p>By locus ", ", with");
    planted_text_is(text, expected);
    free(text);
}

static void page(void **state) {
    (void)state;
    expect_page(store, &(lab_summary_filter){0}, "report_page.txt");
}

/* Adds a picture of these runs to `to`, without the style that all have. */
static void add_sheet(FILE *to, lab_store *from, const int64_t *runs, size_t count, lab_run_figure figure) {
    char *text = NULL;
    size_t bytes;
    OK(lab_run_figure_write(from, runs, count, figure, scratch_path("sheet.svg"), &failed));
    OK(lab_file_read(scratch_path("sheet.svg"), &text, &bytes, &failed));
    assert_null(strstr(text, "var("));
    mask(text, "<style>", "</style>");
    fputs(text, to);
    free(text);
}

/* Runs that stopped, failed or only began, some of them all that a row has; without times, memory, curves or scores; of
 * one epoch. */
static void odd_runs(void **state) {
    static const char changes[] =
        "UPDATE run SET state = 2 WHERE id IN (1, 5, 9, 15, 18, 20, 24, 28, 33);"
        "UPDATE run SET state = 3, message = 'the loss is not finite' WHERE id IN (6, 16, 31, 35);"
        "UPDATE run SET state = 0, steps_done = 7 WHERE id IN (2, 19, 36);"
        "DELETE FROM final WHERE run IN (SELECT id FROM run WHERE state <> 1);"
        "DELETE FROM final WHERE run IN (8, 26, 37) AND name <> 'loss';"
        "UPDATE run SET config = replace(config, '\"epochs\":', '\"epochs\":1,\"was\":') WHERE task = 'cifar10';"
        "UPDATE run SET wall_seconds = 0, tokens_per_second = 0 WHERE id IN (3, 14, 23, 29);"
        "UPDATE run SET peak_bytes = 0, parameters = 0 WHERE id IN (4, 17, 25, 30);"
        "DELETE FROM evaluation WHERE run IN (7, 10, 21, 27, 34)";
    static const int64_t chosen[] = {36, 35, 34, 33, 37, 1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 14,
                                     15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};
    const lab_summary_filter filter = {.runs = chosen, .run_count = sizeof chosen / sizeof *chosen};
    lab_store *odd = NULL;
    (void)state;
    planted_store_open(&odd, scratch_path("odd.db"));
    OK(lab_store_execute(odd, changes, &failed));
    expect_json(odd, &filter, "report_odd_summary.json");
    expect_tables(odd, &filter, "report_odd_tables.txt");
    expect_page(odd, &filter, "report_odd_page.txt");
    char *text = NULL;
    size_t bytes;
    FILE *stream = open_memstream(&text, &bytes);
    assert_non_null(stream);
    for (lab_run_figure figure = LAB_FIGURE_CURVES; figure <= LAB_FIGURE_COSTS; figure++)
        add_sheet(stream, odd, chosen + 5, 18, figure); /* of words and trees */
    assert_int_equal(fclose(stream), 0);
    planted_text_is(text, "report_odd_sheets.txt");
    free(text);
    lab_store_close(&odd);
}

/* One run alone is no plural. */
static void page_of_one(void **state) {
    (void)state;
    const int64_t third = 3;
    const lab_report_options options = {.filter = {.runs = &third, .run_count = 1}, .title = "<one>"};
    char *text = NULL;
    size_t bytes;
    OK(lab_report_write(store, &options, scratch_path("one.html"), &failed));
    OK(lab_file_read(scratch_path("one.html"), &text, &bytes, &failed));
    assert_non_null(strstr(text, "<h1>&lt;one&gt;</h1>\n<p class=\"lede\">Transformers trained"));
    assert_non_null(strstr(text, "only: relative(window=16). Budget smoke; 1 run, 1 finished.</p>\n</header>"));
    assert_non_null(strstr(text, "The 1 run of this section"));
    assert_non_null(strstr(text, "<dt>Seeds</dt><dd>0</dd>"));
    assert_null(strstr(text, "Two encodings count as separated"));
    free(text);
}

/* Of a text at other contexts both scores that are drawn are told, each once. */
static void contexts_as_json(void **state) {
    (void)state;
    lab_store *other = NULL;
    lab_summary summary;
    lab_run *runs;
    size_t count;
    OK(lab_store_runs(store, NULL, &runs, &count, &failed));
    OK(lab_store_open(&other, ":memory:", &failed));
    lab_run run = runs[43];
    assert_string_equal(run.task, "text");
    OK(lab_store_run_insert(other, &run, &failed));
    OK(lab_store_final_set(other, run.id, "test:64", "accuracy", 0.25, &failed));
    OK(lab_store_final_set(other, run.id, "test:64", "perplexity", 9.5, &failed));
    OK(lab_summary_create(&summary, other, &(lab_summary_filter){0}, &failed));
    cJSON *made = lab_summary_json(&summary);
    const cJSON *row = cJSON_GetObjectItem(cJSON_GetObjectItem(made, "sections")->child, "rows")->child;
    char *lengths = cJSON_PrintUnformatted(cJSON_GetObjectItem(row, "lengths"));
    assert_string_equal(
        lengths, "[{\"length\":64,\"accuracy\":{\"mean\":0.25,\"deviation\":0,\"seeds\":1,\"half_width_95\":null},"
                 "\"greedy_exact\":null,"
                 "\"perplexity\":{\"mean\":9.5,\"deviation\":0,\"seeds\":1,\"half_width_95\":null}}]");
    cJSON_free(lengths);
    cJSON_Delete(made);
    lab_summary_free(&summary);
    lab_store_close(&other);
    lab_runs_free(runs, count);
}

/* ---- sections of one name ---- */

static void add_configured(lab_store *to, const lab_run *like, const char *name, const char *config) {
    lab_run run = *like;
    run.name = (char *)(uintptr_t)name;
    run.config = (char *)(uintptr_t)config;
    OK(lab_store_run_insert(to, &run, &failed));
    OK(lab_store_final_set(to, run.id, "test", "accuracy", 0.5, &failed));
}

static void expect_once(const char *page, const char *words) {
    const char *at = strstr(page, words);
    if (at == NULL || strstr(at + 1, words) != NULL)
        fail_msg("the page has '%s' %s", words, at == NULL ? "nowhere" : "more than once");
}

/* What differs is said of each: by the option's name, a number, a word, or that it is as it always was; once for what
 * follows from another option, and nothing of seeds. */
static void sections_are_told_apart(void **state) {
    (void)state;
    static const char first[] = "rate 0.0003, layers 2, attention dropout 0.2, norm by default",
                      second[] = "rate 0.001, layers 3, attention dropout 0.3, norm after";
    lab_store *other = NULL;
    lab_summary summary;
    lab_run *runs;
    size_t count, bytes;
    char *page = NULL, text[400];
    OK(lab_store_runs(store, NULL, &runs, &count, &failed));
    OK(lab_store_open(&other, ":memory:", &failed));
    add_configured(
        other, &runs[1], "a",
        "{\"rate_peak\":0.0003,\"encoder_layers\":2,\"decoder_layers\":2,\"dropout\":0.1,\"attention_dropout\":0.2,"
        "\"length_mean\":20,\"length_deviation\":2,\"seed\":\"0\",\"test_lengths\":[5]}");
    add_configured(
        other, &runs[1], "b",
        "{\"rate_peak\":0.001,\"encoder_layers\":3,\"decoder_layers\":3,\"dropout\":0.1,\"attention_dropout\":0.3,"
        "\"length_mean\":20,\"length_deviation\":2,\"norm\":\"after\",\"seed\":\"1\"}");
    add_configured(other, &runs[13], "c", "{\"rate_peak\":0.5}"); /* of another task */
    OK(lab_summary_create(&summary, other, &(lab_summary_filter){0}, &failed));
    assert_int_equal(summary.section_count, 3);
    assert_string_equal(summary.sections[0].apart, first);
    assert_string_equal(summary.sections[1].apart, second);
    assert_string_equal(summary.sections[2].apart, "");
    cJSON *made = lab_summary_json(&summary);
    const cJSON *sections = cJSON_GetObjectItem(made, "sections");
    for (int i = 0; i < 3; i++) {
        const cJSON *differs = cJSON_GetObjectItem(cJSON_GetArrayItem(sections, i), "differs_in");
        assert_true(i < 2 ? strcmp(differs->valuestring, i == 0 ? first : second) == 0 : differs == NULL);
    }
    cJSON_Delete(made);
    lab_summary_free(&summary);
    OK(lab_report_write(other, &(lab_report_options){.command = "locus report"}, scratch_path("apart.html"), &failed));
    OK(lab_file_read(scratch_path("apart.html"), &page, &bytes, &failed));
    snprintf(text, sizeof text, "<a href=\"#section1\">copy · %s · smoke · scaled</a>", first);
    expect_once(page, text);
    snprintf(text, sizeof text, "<a href=\"#section2\">copy · %s · smoke · scaled</a>", second);
    expect_once(page, text);
    expect_once(page, "<a href=\"#section3\">tree-copy");
    free(page);
    lab_store_close(&other);
    lab_runs_free(runs, count);
}

/* ---- charts that stand alone ---- */

/* A run whose encoding has a name of so many characters, of two bytes each. */
static int64_t add_long(lab_store *to, const lab_run *like, size_t characters, double accuracy) {
    char encoding[400] = "", started[40], ended[40];
    lab_run run = *like;
    snprintf(started, sizeof started, "2024-05-02T%02zu:%02zu:00Z", characters / 60, characters % 60);
    snprintf(ended, sizeof ended, "2024-05-02T%02zu:%02zu:30Z", characters / 60, characters % 60);
    run.started = started; /* one after the other */
    run.ended = ended;
    for (size_t i = 0; i < characters; i++)
        strcat(encoding, "é");
    run.name = run.encoding = encoding;
    OK(lab_store_run_insert(to, &run, &failed));
    OK(lab_store_final_set(to, run.id, "test", "accuracy", accuracy, &failed));
    OK(lab_store_final_set(to, run.id, "test:9", "accuracy", accuracy / 2, &failed));
    OK(lab_store_measured(to, run.id, 100, &(lab_measured){"dev.accuracy", accuracy}, 1, &failed));
    return run.id;
}

static void refuses_sheet(const int64_t *runs, size_t count, lab_run_figure figure, const char *message) {
    locus_error error = {0};
    assert_int_equal(lab_run_figure_write(store, runs, count, figure, scratch_path("no.svg"), &error),
                     LOCUS_ERROR_ARGUMENT);
    assert_string_equal(error.message, message);
    assert_int_not_equal(access(scratch_path("no.svg"), F_OK), 0);
}

/* Words, trees and images; names that are as long as fits, and longer. */
static void sheets(void **state) {
    (void)state;
    static const int64_t all[] = {2, 6, 10, 4, 8, 14, 15, 18, 24, 27, 55}, beside[] = {44, 45}, failed_one = 55,
                         bare = 12;
    lab_store *other = NULL;
    lab_run *runs;
    size_t count, bytes;
    char *text = NULL;
    FILE *stream = open_memstream(&text, &bytes);
    assert_non_null(stream);
    for (lab_run_figure figure = LAB_FIGURE_CURVES; figure <= LAB_FIGURE_COSTS; figure++)
        add_sheet(stream, store, all, sizeof all / sizeof *all, figure);
    OK(lab_store_runs(store, NULL, &runs, &count, &failed));
    OK(lab_store_open(&other, ":memory:", &failed));
    const int64_t two[] = {add_long(other, &runs[1], 56, 0.5), add_long(other, &runs[1], 46, 0.75)};
    add_sheet(stream, other, two, 2, LAB_FIGURE_LENGTHS);
    add_sheet(stream, other, two, 2, LAB_FIGURE_COSTS);
    const int64_t longer[] = {two[0], add_long(other, &runs[1], 57, 0.25), add_long(other, &runs[1], 124, 0.5),
                              add_long(other, &runs[1], 125, 0.125)};
    add_sheet(stream, other, longer, 4, LAB_FIGURE_CURVES);
    lab_store_close(&other);
    lab_runs_free(runs, count);
    assert_int_equal(fclose(stream), 0);
    planted_text_is(text, "report_sheets.txt");
    free(text);
    refuses_sheet(
        beside, 2, LAB_FIGURE_COSTS,
        "'text-7-43-s0' ran while 'text-7-44-s0' did, on one machine or two of a kind: what they cost may not be "
        "comparable and is not drawn; train one after the other");
    refuses_sheet(&failed_one, 1, LAB_FIGURE_CURVES, "none of these runs is finished: there is nothing to draw");
    refuses_sheet(&bare, 1, LAB_FIGURE_LENGTHS,
                  "these runs have no scores of other sizes: 'locus eval RUN --lengths L,L,…' (of trees --depths, of "
                  "images --sides) makes "
                  "them");
}

/* Of more sizes than there is room for the smallest are shown, which a terminal and a page say. */
static void sizes_beyond_the_most(void **state) {
    (void)state;
    for (size_t more = 0; more < 2; more++) {
        static const char words[] = "Of the sizes tested the smallest 16 are shown.";
        lab_store *other = NULL;
        lab_summary summary;
        lab_shown shown;
        lab_run *runs;
        size_t count, bytes;
        char *page = NULL;
        OK(lab_store_runs(store, NULL, &runs, &count, &failed));
        OK(lab_store_open(&other, ":memory:", &failed));
        add_configured(other, &runs[1], "a", "{\"length_mean\":20,\"length_deviation\":2}");
        for (size_t size = 1; size <= LAB_SUMMARY_MAX_LENGTHS + more; size++) {
            char set[32];
            snprintf(set, sizeof set, "test:%zu", 40 - size);
            OK(lab_store_final_set(other, 1, set, "accuracy", 0.5, &failed));
        }
        OK(lab_summary_create(&summary, other, &(lab_summary_filter){0}, &failed));
        assert_int_equal(summary.section_count, 1);
        assert_int_equal(summary.sections[0].length_count, LAB_SUMMARY_MAX_LENGTHS);
        assert_int_equal(summary.sections[0].lengths[0], 40 - LAB_SUMMARY_MAX_LENGTHS - more);
        OK(lab_summary_show(&shown, &summary, &failed));
        OK(lab_shown_end(&shown, &failed));
        assert_int_equal(strstr(shown.text, words) != NULL, more == 1);
        lab_shown_free(&shown);
        lab_summary_free(&summary);
        OK(lab_report_write(other, &(lab_report_options){.command = "locus report"}, scratch_path("sizes.html"),
                            &failed));
        OK(lab_file_read(scratch_path("sizes.html"), &page, &bytes, &failed));
        assert_int_equal(strstr(page, words) != NULL, more == 1);
        free(page);
        lab_store_close(&other);
        lab_runs_free(runs, count);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_beyond_the_most),
        cmocka_unit_test(summary_as_json),
        cmocka_unit_test(tables),
        cmocka_unit_test(page),
        cmocka_unit_test(odd_runs),
        cmocka_unit_test(page_of_one),
        cmocka_unit_test(sheets),
        cmocka_unit_test(contexts_as_json),
        cmocka_unit_test(sections_are_told_apart),
    };
    return cmocka_run_group_tests(tests, create, drop);
}
