/* SPDX-License-Identifier: MIT */
/* Summaries and the page, from a store that is filled by hand: statistics against numbers worked out on paper,
 * sections that are never mixed, unfinished runs that are named and not scored, a page that is well formed, whole,
 * and self-contained. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "io/file.h"
#include "page/report.h"
#include "report/tables/summary.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

static char folder[] = "/tmp/locus-test-report-XXXXXX";
static char store_path[64], page_path[64];

#define OK(call) \
    do { \
        locus_error failed = {0}; \
        if ((call) != LOCUS_OK) \
            fail_msg("%s: %s", #call, failed.message); \
    } while (0)

typedef struct made_run {
    const char *task, *encoding, *budget;
    uint64_t seed;
    lab_run_state state;
    double accuracy;
    int dim;
} made_run;

static void insert(lab_store *store, const made_run *made) {
    char name[160], config[400];
    snprintf(name, sizeof name, "%s-%s-%s-%d-s%d", made->task, made->encoding, made->budget, made->dim,
             (int)made->seed);
    snprintf(
        config, sizeof config,
        "{\"seed\":\"%d\",\"encoding\":\"%s\",\"length_mean\":16,\"length_deviation\":1.6,\"symbols\":20,\"dim\":%d}",
        (int)made->seed, made->encoding, made->dim);
    lab_run run = {.name = name,
                   .task = (char *)(uintptr_t)made->task,
                   .encoding = (char *)(uintptr_t)made->encoding,
                   .setup = "paper",
                   .embedding_init = "scaled",
                   .budget = (char *)(uintptr_t)made->budget,
                   .config = config,
                   .command = "locus compare --encodings 'rope,<none>'",
                   .version = "0.1.0",
                   .machine = "a machine, 2 threads",
                   .message = made->state == LAB_RUN_FAILED ? "the loss was not finite & <nan>" : "",
                   .seed = made->seed,
                   .state = made->state,
                   .steps_total = 100,
                   .steps_done = made->state == LAB_RUN_DONE ? 100 : 40,
                   .tokens_seen = 1000,
                   .wall_seconds = 10,
                   .tokens_per_second = 1000,
                   .peak_bytes = 1 << 26,
                   .parameters = 12345,
                   .started = "2024-01-01T00:00:00Z",
                   .ended = "2024-01-01T00:00:10Z"};
    OK(lab_store_run_insert(store, &run, &failed));
    for (uint64_t step = 10; step <= run.steps_done; step += 10) {
        double share = (double)step / 100;
        OK(lab_store_measured(store, run.id, step, &(lab_measured){"train.loss", 3 * exp(-4 * share * made->accuracy)},
                              1, &failed));
        OK(lab_store_measured(store, run.id, step, &(lab_measured){"dev.accuracy", made->accuracy * share}, 1,
                              &failed));
    }
    if (made->state == LAB_RUN_DONE) {
        OK(lab_store_final_set(store, run.id, "test", "accuracy", made->accuracy, &failed));
        OK(lab_store_final_set(store, run.id, "test", "exact", made->accuracy / 2, &failed));
        OK(lab_store_final_set(store, run.id, "test:32", "accuracy", made->accuracy / 4, &failed));
        OK(lab_store_final_set(store, run.id, "test:8", "accuracy", made->accuracy, &failed));
    }
}

static const made_run made[] = {
    {"copy", "rope", "smoke", 0, LAB_RUN_DONE, 0.90, 64},      {"copy", "rope", "smoke", 1, LAB_RUN_DONE, 0.92, 64},
    {"copy", "rope", "smoke", 2, LAB_RUN_DONE, 0.94, 64},      {"copy", "none", "smoke", 0, LAB_RUN_DONE, 0.20, 64},
    {"copy", "none", "smoke", 1, LAB_RUN_DONE, 0.21, 64},      {"copy", "none", "smoke", 2, LAB_RUN_FAILED, 0, 64},
    {"copy", "sinusoidal", "smoke", 0, LAB_RUN_DONE, 1.0, 64}, {"reverse", "rope", "smoke", 0, LAB_RUN_DONE, 0.5, 64},
    {"copy", "rope", "custom", 0, LAB_RUN_DONE, 0.3, 64},      {"copy", "rope", "custom", 1, LAB_RUN_DONE, 0.4, 128},
    {"repeat", "rope", "smoke", 0, LAB_RUN_STOPPED, 0.5, 64},
};

static int make_store(void **state) {
    (void)state;
    lab_store *store = NULL;
    if (!mkdtemp(folder))
        return -1;
    snprintf(store_path, sizeof store_path, "%s/locus.db", folder);
    snprintf(page_path, sizeof page_path, "%s/page.html", folder);
    OK(lab_store_open(&store, store_path, &failed));
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        insert(store, &made[i]);
    lab_store_close(&store);
    return 0;
}

static int left; /* not 0: a file that no test knows; cmocka counts no tear-down that fails */

static int drop_store(void **state) {
    static const char *const names[] = {"", "-wal", "-shm"};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        char path[96];
        snprintf(path, sizeof path, "%s%s", store_path, names[i]);
        unlink(path);
    }
    unlink(page_path);
    left = rmdir(folder);
    return left;
}

static lab_summary summarise(const lab_summary_filter *filter) {
    lab_store *store = NULL;
    lab_summary summary;
    OK(lab_store_open(&store, store_path, &failed));
    OK(lab_summary_create(&summary, store, filter, &failed));
    lab_store_close(&store);
    return summary;
}

/* 2, 4, 9: mean 5, s² = (9 + 1 + 16)/2 = 13; t(2) = 4.3027. */
static void statistics(void **state) {
    (void)state;
    const double values[] = {2, 4, 9};
    lab_statistic s = lab_statistic_of(values, 3);
    assert_int_equal(s.count, 3);
    assert_true(fabs(s.mean - 5) < 1e-12);
    assert_true(fabs(s.deviation - sqrt(13)) < 1e-12);
    assert_true(fabs(s.half_width - 4.3027 * sqrt(13.0 / 3)) < 1e-3);
    assert_true(isinf(lab_statistic_of(values, 1).half_width));
    assert_int_equal(lab_statistic_of(values, 0).count, 0);
}

static const lab_summary_section *find(const lab_summary *summary, const char *task, const char *budget) {
    for (size_t i = 0; i < summary->section_count; i++)
        if (!strcmp(summary->sections[i].task, task) && !strcmp(summary->sections[i].budget, budget))
            return &summary->sections[i];
    return NULL;
}

static void sections_are_never_mixed(void **state) {
    (void)state;
    const lab_summary_filter all = {0};
    lab_summary summary = summarise(&all);
    assert_int_equal(summary.run_count, sizeof made / sizeof *made);
    /* copy smoke, reverse smoke, copy custom twice (two models), repeat smoke. */
    assert_int_equal(summary.section_count, 5);
    const lab_summary_section *copy = find(&summary, "copy", "smoke");
    assert_non_null(copy);
    assert_int_equal(copy->row_count, 3);
    assert_int_equal(copy->length_count, 2);
    assert_int_equal(copy->lengths[0], 8);
    assert_int_equal(copy->lengths[1], 32);
    const lab_summary_row *rope = &copy->rows[0], *none = &copy->rows[1];
    assert_true(fabs(lab_summary_score(copy, rope)->mean - 0.92) < 1e-12);
    assert_true(fabs(lab_summary_score(copy, rope)->deviation - 0.02) < 1e-12);
    assert_true(fabs(rope->at_length[1].mean - 0.23) < 1e-12);
    assert_int_equal(none->run_count, 3);
    assert_int_equal(none->done, 2);
    assert_int_equal(lab_summary_score(copy, none)->count, 2);
    assert_int_equal(rope->steps_to_99.count, 0);
    assert_int_equal(copy->rows[2].steps_to_99.count, 1);
    assert_true(copy->rows[2].steps_to_99.mean == 100);
    assert_true(rope->published[LAB_SPAN_FULL] != NULL &&
                fabs(rope->published[LAB_SPAN_FULL]->accuracy - 0.9999) < 1e-12);
    assert_null(none->published[LAB_SPAN_FULL]);
    for (size_t i = 0; i < summary.section_count; i++) {
        for (size_t j = 0; j < summary.sections[i].row_count; j++) {
            const lab_summary_row *row = &summary.sections[i].rows[j];
            for (size_t k = 0; k < row->run_count; k++) {
                assert_string_equal(row->runs[k]->task, summary.sections[i].task);
                assert_string_equal(row->runs[k]->budget, summary.sections[i].budget);
                assert_string_equal(row->runs[k]->encoding, row->encoding);
            }
        }
    }
    lab_summary_free(&summary);
}

static void filters(void **state) {
    (void)state;
    const int64_t ids[] = {4, 1, 99};
    const lab_summary_filter copy = {.task = "copy", .budget = "smoke"}, two = {.runs = ids, .run_count = 3};
    const lab_summary_filter nothing = {.task = "nowhere"};
    lab_summary summary = summarise(&copy);
    assert_int_equal(summary.run_count, 7);
    lab_summary_free(&summary);
    summary = summarise(&two);
    assert_int_equal(summary.run_count, 2);
    assert_int_equal(summary.runs[0].id, 4); /* in the order of the filter, and so are the rows */
    assert_int_equal(summary.runs[1].id, 1);
    assert_string_equal(summary.sections[0].rows[0].encoding, "none");
    assert_string_equal(summary.sections[0].rows[1].encoding, "rope");
    lab_summary_free(&summary);
    summary = summarise(&nothing);
    assert_int_equal(summary.section_count, 0);
    lab_summary_free(&summary);
}

static void json_has_the_numbers(void **state) {
    (void)state;
    const lab_summary_filter filter = {.task = "copy", .budget = "smoke"};
    lab_summary summary = summarise(&filter);
    cJSON *root = lab_summary_json(&summary);
    const cJSON *section = cJSON_GetArrayItem(cJSON_GetObjectItem(root, "sections"), 0);
    const cJSON *rows = cJSON_GetObjectItem(section, "rows"), *rope = cJSON_GetArrayItem(rows, 0);
    const cJSON *accuracy = cJSON_GetObjectItem(rope, "accuracy");
    assert_int_equal(cJSON_GetArraySize(rows), 3);
    assert_true(fabs(cJSON_GetObjectItem(accuracy, "mean")->valuedouble - 0.92) < 1e-12);
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(rope, "greedy_exact")));
    /* rope ± 0.0497 and none ± 0.0635 are far apart; sinusoidal has one seed and is separated from nothing. */
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(section, "not_separated")), 2);
    assert_null(cJSON_GetObjectItem(section, "precision"));
    cJSON_Delete(root);
    /* Of the scales those that the configuration names. */
    lab_summary_section scaled = summary.sections[0];
    scaled.config = "{\"position_scale\":\"shared\",\"logit_scale\":\"none\",\"precision\":\"bf16\"}";
    root = lab_summary_json(&(lab_summary){.sections = &scaled, .section_count = 1});
    section = cJSON_GetArrayItem(cJSON_GetObjectItem(root, "sections"), 0);
    static const char *const scales[][2] = {
        {"position_scale", "shared"}, {"logit_scale", "none"}, {"precision", "bf16"}};
    for (size_t i = 0; i < 3; i++) {
        const char *value = cJSON_GetStringValue(cJSON_GetObjectItem(section, scales[i][0]));
        assert_true(value != NULL && strcmp(value, scales[i][1]) == 0);
    }
    cJSON_Delete(root);
    lab_summary_free(&summary);
}

/* ---- the page ---- */

/* Tags must close in the order in which they were opened; what stands in a script or a style is no tag. */
static void check_nesting(const char *html) {
    static const char *const void_tags[] = {"meta", "link", "path", "rect", "!doctype"};
    char stack[64][24];
    size_t depth = 0;
    for (const char *at = strchr(html, '<'); at; at = strchr(at + 1, '<')) {
        const char *end = strchr(at, '>');
        bool closing = at[1] == '/';
        char name[24];
        assert_non_null(end);
        snprintf(name, sizeof name, "%.*s", (int)strcspn(at + 1 + closing, " \t\n>/"), at + 1 + closing);
        bool is_void = end[-1] == '/';
        for (size_t i = 0; i < sizeof void_tags / sizeof *void_tags; i++)
            is_void = is_void || !strcmp(name, void_tags[i]);
        if (is_void && !closing)
            continue;
        if (closing) {
            if (depth == 0 || strcmp(stack[depth - 1], name) != 0)
                fail_msg("</%s> closes <%s>", name, depth ? stack[depth - 1] : "nothing");
            depth--;
        } else {
            assert_true(depth < 64);
            memcpy(stack[depth++], name, sizeof name);
            if (!strcmp(name, "script") || !strcmp(name, "style"))
                at = strstr(end, !strcmp(name, "script") ? "</script>" : "</style>") - 1;
        }
    }
    assert_int_equal(depth, 0);
}

static void page_is_whole(void **state) {
    (void)state;
    lab_store *store = NULL;
    const lab_report_options options = {.command = "locus report --title 'a<b'", .folder = folder};
    char *html = NULL;
    size_t bytes = 0;
    OK(lab_store_open(&store, store_path, &failed));
    OK(lab_report_write(store, &options, page_path, &failed));
    lab_store_close(&store);
    OK(lab_file_read(page_path, &html, &bytes, &failed));
    check_nesting(html);
    /* Self-contained: nothing is fetched, and one script runs. */
    static const char *const outside[] = {"src=", "https://", "@import", "url(", " style=", " onclick="};
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++)
        assert_null(strstr(html, outside[i]));
    static const char *const inside[] = {"92.00 <small>±2.00",
                                         "The other one of 3 pairs is separated.",
                                         "--title 'a&lt;b'",
                                         "a machine, 2 threads",
                                         "<svg",
                                         "prefers-color-scheme: dark",
                                         "the loss was not finite &amp; &lt;nan&gt;",
                                         "failed at step 40 of 100",
                                         "stopped at step 40 of 100",
                                         "budget paper",
                                         "words of length N(16, 1.6) over 20 symbols",
                                         "length 32",
                                         "var(--c3)",
                                         "<td data-value=\"10\">10.0 s",
                                         "default-src 'none'"};
    for (size_t i = 0; i < sizeof inside / sizeof *inside; i++)
        if (!strstr(html, inside[i]))
            fail_msg("the page lacks '%s'", inside[i]);
    assert_null(strstr(html, "rgb("));
    assert_null(strstr(html, "nan<"));
    free(html);
    unlink(page_path);
}

/* A store of its own: 300 seeds of one encoding, and 70 encodings of another task. */
static void open_many(lab_store **store, char *path, size_t size) {
    snprintf(path, size, "%s/many.db", folder);
    OK(lab_store_open(store, path, &failed));
    OK(lab_store_begin(*store, &failed));
    for (uint64_t seed = 0; seed < 300; seed++) {
        const made_run one = {"copy", "rope", "smoke", seed, LAB_RUN_DONE, seed < 150 ? 0.25 : 0.75, 64};
        insert(*store, &one);
    }
    for (int i = 0; i < 70; i++) {
        char spec[32];
        snprintf(spec, sizeof spec, "rope(base=%d)", 100 + i);
        const made_run one = {"reverse", spec, "smoke", 0, LAB_RUN_DONE, 0.5, 64};
        insert(*store, &one);
    }
    OK(lab_store_commit(*store, &failed));
}

static void drop_many(lab_store *store, const char *path) {
    static const char *const ends[] = {"", "-wal", "-shm"};
    lab_store_close(&store);
    for (size_t i = 0; i < 3; i++) {
        char name[96];
        snprintf(name, sizeof name, "%s%s", path, ends[i]);
        unlink(name);
    }
}

/* One encoding alone has numbers at a length, and more lengths than there is room for. */
static void a_length_of_one_encoding_tells_nothing(void **state) {
    (void)state;
    const lab_report_options options = {.command = "locus report", .folder = folder};
    const made_run both[] = {{"copy", "rope", "smoke", 0, LAB_RUN_DONE, 0.9, 64},
                             {"copy", "none", "smoke", 0, LAB_RUN_DONE, 0.2, 64}};
    char path[64], *html = NULL;
    size_t bytes = 0;
    lab_store *store = NULL;
    lab_summary summary;
    snprintf(path, sizeof path, "%s/many.db", folder);
    OK(lab_store_open(&store, path, &failed));
    for (size_t i = 0; i < 2; i++)
        insert(store, &both[i]);
    for (int length = 100; length <= 250; length += 10) { /* the store has them in the order of texts */
        char set[32];
        snprintf(set, sizeof set, "test:%d", length);
        OK(lab_store_final_set(store, 1, set, "accuracy", 0.5, &failed));
    }
    OK(lab_store_final_set(store, 1, "test:64", "accuracy", 0.5, &failed));
    OK(lab_summary_create(&summary, store, &(lab_summary_filter){.task = "copy"}, &failed));
    const lab_summary_section *section = &summary.sections[0];
    assert_int_equal(section->length_count, LAB_SUMMARY_MAX_LENGTHS);
    assert_true(section->more_lengths);
    static const size_t smallest[] = {8, 32, 64, 100, 110, 120, 130, 140, 150, 160, 170, 180, 190, 200, 210, 220};
    assert_memory_equal(section->lengths, smallest, sizeof smallest);
    lab_summary_free(&summary);
    OK(lab_report_write(store, &options, page_path, &failed));
    OK(lab_file_read(page_path, &html, &bytes, &failed));
    assert_non_null(strstr(html, "Test accuracy at the trained length"));
    assert_null(strstr(html, "At mean length 64, no two"));
    assert_non_null(strstr(html, "Of the sizes tested the smallest 16 are shown."));
    free(html);
    unlink(page_path);
    drop_many(store, path);
}

static void every_seed_counts(void **state) {
    (void)state;
    char path[64];
    lab_store *store = NULL;
    lab_summary summary;
    const lab_summary_filter filter = {.task = "copy"};
    open_many(&store, path, sizeof path);
    OK(lab_summary_create(&summary, store, &filter, &failed));
    assert_int_equal(summary.section_count, 1);
    const lab_summary_section *section = &summary.sections[0];
    const lab_summary_row *row = &section->rows[0];
    const lab_statistic *const all[] = {lab_summary_named(section, row, "accuracy"),
                                        lab_summary_named(section, row, "exact"), &row->tokens_per_second,
                                        &row->at_length[0]};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        assert_int_equal(all[i]->count, 300);
    assert_true(fabs(all[0]->mean - 0.5) < 1e-12);
    assert_true(fabs(all[0]->deviation - 0.25 * sqrt(300.0 / 299)) < 1e-12);
    lab_summary_free(&summary);
    drop_many(store, path);
}

static void what_is_not_drawn_is_said(void **state) {
    (void)state;
    static const char said[] = "Drawn are the first 64 of 70 encodings; the tables have all.";
    char path[64], *html = NULL;
    size_t bytes = 0, times = 0;
    lab_store *store = NULL;
    const lab_report_options options = {.filter = {.task = "reverse"}, .folder = folder};
    open_many(&store, path, sizeof path);
    OK(lab_report_write(store, &options, page_path, &failed));
    drop_many(store, path);
    OK(lab_file_read(page_path, &html, &bytes, &failed));
    for (const char *at = html; (at = strstr(at, said)) != NULL; at++)
        times++;
    assert_int_equal(times, 2); /* accuracy against length, learning curves */
    assert_non_null(strstr(html, "rope(base=169)"));
    assert_non_null(
        strstr(html, "rope(base=114), rope(base=115) and 54 more. Budget smoke; 70 runs")); /* 16 are named */
    free(html);
    unlink(page_path);
}

/* The first encoding that something is published of names the source, wherever it stands. */
static void sources_of_later_rows_are_named(void **state) {
    (void)state;
    const int64_t none_then_rope[] = {4, 1};
    const lab_report_options options = {.filter = {.runs = none_then_rope, .run_count = 2}, .folder = folder};
    lab_store *store = NULL;
    char *html = NULL;
    size_t bytes = 0;
    OK(lab_store_open(&store, store_path, &failed));
    OK(lab_report_write(store, &options, page_path, &failed));
    lab_store_close(&store);
    OK(lab_file_read(page_path, &html, &bytes, &failed));
    const char *source = strstr(html, " Published: accuracy of ");
    assert_non_null(source);
    assert_null(strstr(source + 1, " Published: accuracy of "));
    assert_non_null(strstr(source, ", trained at budget <i>paper</i>; not comparable with this budget."));
    free(html);
    unlink(page_path);
}

/* Below a column's head stands what the run says: twelve classes, in digits; of epochs that it does not tell "%". */
static void units_say_what_is_known(void **state) {
    (void)state;
    static const made_run own[] = {{"listops", "none", "smoke", 0, LAB_RUN_DONE, 0.5, 64},
                                   {"cifar10", "none", "smoke", 0, LAB_RUN_DONE, 0.5, 64}};
    char path[64], *html = NULL;
    size_t bytes = 0;
    lab_store *store = NULL;
    const lab_report_options options = {.folder = folder};
    snprintf(path, sizeof path, "%s/own.db", folder);
    OK(lab_store_open(&store, path, &failed));
    for (size_t i = 0; i < 2; i++)
        insert(store, &own[i]);
    OK(lab_store_final_set(store, 1, "test", "chance", 1.0 / 12, &failed));
    OK(lab_store_final_set(store, 2, "test", "accuracy_half", 0.25, &failed));
    OK(lab_report_write(store, &options, page_path, &failed));
    drop_many(store, path);
    OK(lab_file_read(page_path, &html, &bytes, &failed));
    assert_non_null(strstr(html, "<th scope=\"col\">accuracy<small>of 12 classes, %</small></th>"));
    assert_non_null(strstr(html, "<th scope=\"col\">best up to half<small>%</small></th>"
                                 "<th scope=\"col\">best of all<small>%</small></th>"));
    free(html);
    unlink(page_path);
}

static void failures_leave_nothing(void **state) {
    (void)state;
    lab_store *store = NULL;
    locus_error error = {0};
    const lab_report_options nothing = {.filter = {.task = "nowhere"}}, all = {0};
    OK(lab_store_open(&store, store_path, &failed));
    assert_int_equal(lab_report_write(store, &nothing, page_path, &error), LOCUS_ERROR_ARGUMENT);
    assert_int_not_equal(access(page_path, F_OK), 0);
    assert_int_equal(lab_report_write(store, &all, "/nonexistent-folder/page.html", &error), LOCUS_ERROR_IO);
    lab_store_close(&store);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statistics),
        cmocka_unit_test(sections_are_never_mixed),
        cmocka_unit_test(filters),
        cmocka_unit_test(json_has_the_numbers),
        cmocka_unit_test(page_is_whole),
        cmocka_unit_test(failures_leave_nothing),
        cmocka_unit_test(every_seed_counts),
        cmocka_unit_test(a_length_of_one_encoding_tells_nothing),
        cmocka_unit_test(what_is_not_drawn_is_said),
        cmocka_unit_test(sources_of_later_rows_are_named),
        cmocka_unit_test(units_say_what_is_known),
    };
    const int wrong = cmocka_run_group_tests(tests, make_store, drop_store);
    return wrong != 0 ? wrong : left;
}
