/* SPDX-License-Identifier: MIT */
/* Reports on trees and images, from a store that is filled by hand: orders are never mixed, bins are sorted and
 * weighted by their samples, an image's best epochs come from the finals or the curve, what is missing leaves a
 * dash, and the angles of a checkpoint are drawn for every branch. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "io/file.h"
#include "page/chart_sheet.h"
#include "page/page.h"
#include "page/report.h"
#include "report/tables/summary.h"
#include "train/checkpoint.h"
#include "train/configuration/config.h"
#include "train/train.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/locus-test-report-trees-XXXXXX";
static char store_path[64], page_path[64], run_folder[160], best_path[200];

#define OK(call) \
    do { \
        locus_error failed = {0}; \
        if ((call) != LOCUS_OK) \
            fail_msg("%s: %s", #call, failed.message); \
    } while (0)

typedef struct made_run {
    const char *task, *encoding, *order; /* order NULL: breadth, which configurations do not write */
    uint64_t seed;
    lab_run_state state;
    double accuracy;
} made_run;

static const char tree_algebraic[] = "algebraic(group=tree:2, decay=0.98)";
static const char grid_algebraic[] = "algebraic(group=grid:2, decay=0.98)";

static const made_run made[] = {
    {"tree-copy", "sinusoidal", NULL, 0, LAB_RUN_DONE, 0.25},
    {"tree-copy", "sinusoidal", NULL, 1, LAB_RUN_DONE, 0.27},
    {"tree-copy", tree_algebraic, NULL, 0, LAB_RUN_DONE, 0.98},
    {"tree-copy", tree_algebraic, NULL, 1, LAB_RUN_DONE, 0.96},
    {"tree-copy", tree_algebraic, "depth", 0, LAB_RUN_DONE, 0.90},
    {"tree-copy", "rope", "depth", 0, LAB_RUN_DONE, 0.70},
    {"tree-copy", "shiv-quirk", "depth", 0, LAB_RUN_STARTED, 0.50},
    {"cifar10", "sinusoidal", NULL, 0, LAB_RUN_DONE, 0.60},
    {"cifar10", grid_algebraic, NULL, 0, LAB_RUN_DONE, 0.80},
    {"cifar10", "none", NULL, 0, LAB_RUN_STOPPED, 0.40},
};

static void write_config(const made_run *run, char *text, size_t size) {
    if (strcmp(run->task, "cifar10") == 0) {
        snprintf(
            text, size,
            "{\"seed\":\"%d\",\"encoding\":\"%s\",\"train_samples\":50000,\"test_samples\":10000,\"batch\":128,"
            "\"steps\":0,\"epochs\":6,\"dim\":256,\"heads\":4,\"classes\":10,\"architecture\":\"image-classifier\"}",
            (int)run->seed, run->encoding);
    } else {
        snprintf(
            text, size,
            "{\"seed\":\"%d\",\"encoding\":\"%s\",\"depth_mean\":5,\"depth_deviation\":1,\"symbols\":20,\"arity\":2,"
            "\"dim\":64%s%s%s}",
            (int)run->seed, run->encoding, run->order ? ",\"order\":\"" : "", run->order ? run->order : "",
            run->order ? "\"" : "");
    }
}

static void put_final(lab_store *store, int64_t run, const char *set, const char *name, double value) {
    OK(lab_store_final_set(store, run, set, name, value, &failed));
}

/* Bins out of order; seed 1 has three times as many trees of depth 5, and none of depth 7. */
static void insert_tree_scores(lab_store *store, int64_t run, const made_run *from) {
    const double a = from->accuracy;
    put_final(store, run, "test", "accuracy", a);
    put_final(store, run, "test", "exact", a / 2);
    put_final(store, run, "test", "greedy_exact", a / 4);
    put_final(store, run, "nodes:17-32", "accuracy", a - 0.05);
    put_final(store, run, "nodes:17-32", "samples", 40);
    put_final(store, run, "nodes:5-8", "accuracy", a);
    put_final(store, run, "nodes:1", "accuracy", 1.0);
    put_final(store, run, "nodes:1", "samples", 1);
    put_final(store, run, "nodes:65-", "accuracy", (double)NAN); /* scored, but not a number */
    put_final(store, run, "depth:10", "accuracy", a - 0.1);
    put_final(store, run, "depth:5", "accuracy", a);
    put_final(store, run, "depth:5", "exact", a / 2);
    put_final(store, run, "depth:5", "greedy_exact", a / 4);
    put_final(store, run, "depth:5", "samples", from->seed == 0 ? 100 : 300);
    if (from->seed == 0) {
        put_final(store, run, "depth:7", "accuracy", a / 2);
        put_final(store, run, "depth:7", "samples", 11);
    } else {
        put_final(store, run, "depth:7", "accuracy", 0);
        put_final(store, run, "depth:7", "samples", 0);
    }
}

/* Six epochs of 391 steps: up, a peak in epoch 2 that epoch 3 does not reach, or in epoch 3 itself, with which the
 * first half ends; the best in epoch 5. */
static void insert_epochs(lab_store *store, int64_t run, double accuracy) {
    const bool at_half = accuracy == 0.80;
    const double shape[] = {0.4, at_half ? 0.7 : 0.8, at_half ? 0.8 : 0.7, 0.9, 1.0, 0.95};
    for (uint64_t epoch = 1; epoch <= 6; epoch++) {
        OK(lab_store_measured(store, run, 391 * epoch, &(lab_measured){"train.loss", 2.3 / (double)epoch}, 1, &failed));
        OK(lab_store_measured(store, run, 391 * epoch, &(lab_measured){"dev.accuracy", accuracy * shape[epoch - 1]}, 1,
                              &failed));
    }
}

static void insert(lab_store *store, const made_run *from, size_t number, int64_t day) {
    char name[160], config[500], started[32], ended[32];
    const bool images = strcmp(from->task, "cifar10") == 0;
    snprintf(name, sizeof name, "%s-%d-%s-s%d", from->task, (int)number, from->order ? from->order : "breadth",
             (int)from->seed);
    snprintf(started, sizeof started, "2024-01-%02dT00:00:00Z", (int)day);
    snprintf(ended, sizeof ended, "2024-01-%02dT00:10:00Z", (int)day);
    write_config(from, config, sizeof config);
    lab_run run = {.name = name,
                   .task = (char *)(uintptr_t)from->task,
                   .encoding = (char *)(uintptr_t)from->encoding,
                   .setup = "paper",
                   .embedding_init = "scaled",
                   .budget = "quick",
                   .config = config,
                   .command = "locus reproduce table2",
                   .version = "0.1.0",
                   .machine = "a machine, 2 threads",
                   .message = "",
                   .seed = from->seed,
                   .state = from->state,
                   .steps_total = images ? 2346 : 100,
                   .steps_done = images ? 2346 : 100,
                   .wall_seconds = 600,
                   .tokens_per_second = 1000,
                   .peak_bytes = 3 << 26,
                   .parameters = 12345,
                   .started = started,
                   .ended = ended};
    OK(lab_store_run_insert(store, &run, &failed));
    if (images) {
        insert_epochs(store, run.id, from->accuracy);
    } else {
        OK(lab_store_measured(store, run.id, 50, &(lab_measured){"train.loss", 2}, 1, &failed));
        OK(lab_store_measured(store, run.id, 50, &(lab_measured){"dev.accuracy", from->accuracy / 2}, 1, &failed));
        OK(lab_store_measured(store, run.id, 100, &(lab_measured){"dev.accuracy", from->accuracy}, 1, &failed));
        if (from->state == LAB_RUN_DONE)
            insert_tree_scores(store, run.id, from);
    }
}

/* A run with a model that can be loaded: angles are drawn from its best checkpoint. */
static void insert_trained(lab_store *store) {
    static char name[] = "tree-reorder-trained", task[] = "tree-reorder";
    lab_train_config config;
    lab_model *model = NULL;
    OK(lab_train_config_budget(&config, lab_task_find(task), "smoke", LAB_SETUP_PAPER, &failed));
    config.model.dim = 32;
    config.model.heads = 2;
    config.model.feed_forward = 32;
    config.encoding = config.model.encoding = tree_algebraic;
    lab_config_fill(&config);
    OK(lab_model_create(&model, &config.model, 0, &failed));
    lab_training_state state = {.step = 1, .best_step = 1};
    const lab_checkpoint checkpoint = {.model = model, .state = &state, .best = lab_model_values(model)};
    snprintf(run_folder, sizeof run_folder, "%s/%s", folder, name);
    snprintf(best_path, sizeof best_path, "%s/best.safetensors", run_folder);
    assert_int_equal(mkdir(run_folder, 0700), 0);
    OK(lab_best_write(&checkpoint, &config, best_path, &failed));
    char *json = lab_config_json(&config);
    lab_run run = {.name = name,
                   .task = task,
                   .encoding = (char *)(uintptr_t)tree_algebraic,
                   .setup = "paper",
                   .embedding_init = "scaled",
                   .budget = "smoke",
                   .config = json,
                   .command = "",
                   .version = "0.1.0",
                   .machine = "another machine",
                   .message = "",
                   .state = LAB_RUN_DONE,
                   .steps_total = 1,
                   .steps_done = 1,
                   .started = "2024-01-01T00:00:00Z",
                   .ended = "2024-01-31T00:00:00Z"};
    OK(lab_store_run_insert(store, &run, &failed));
    put_final(store, run.id, "test", "accuracy", 0.5);
    cJSON_free(json);
    lab_model_destroy(&model);
}

static int make_store(void **state) {
    (void)state;
    lab_store *store = NULL;
    if (!mkdtemp(folder))
        return -1;
    snprintf(store_path, sizeof store_path, "%s/locus.db", folder);
    snprintf(page_path, sizeof page_path, "%s/page.html", folder);
    OK(lab_store_open(&store, store_path, &failed));
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        const bool together = i >= 8; /* the last images ran at the same time */
        insert(store, &made[i], i, together ? 9 : (int64_t)i + 1);
    }
    insert_trained(store);
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
    unlink(best_path);
    rmdir(run_folder);
    left = rmdir(folder);
    return left;
}

static lab_summary summarise(void) {
    const lab_summary_filter all = {0};
    lab_store *store = NULL;
    lab_summary summary;
    OK(lab_store_open(&store, store_path, &failed));
    OK(lab_summary_create(&summary, store, &all, &failed));
    lab_store_close(&store);
    return summary;
}

static const lab_summary_section *find(const lab_summary *summary, const char *title) {
    for (size_t i = 0; i < summary->section_count; i++)
        if (!strcmp(summary->sections[i].title, title))
            return &summary->sections[i];
    fail_msg("no section '%s'", title);
    return NULL;
}

static void near(double value, double expected) {
    assert_true(fabs(value - expected) < 1e-12);
}

static void orders_never_mix(void **state) {
    (void)state;
    lab_summary summary = summarise();
    assert_int_equal(summary.section_count, 4);
    const lab_summary_section *breadth = find(&summary, "tree-copy, breadth first");
    const lab_summary_section *depth = find(&summary, "tree-copy, depth first");
    assert_int_equal(breadth->row_count, 2);
    assert_int_equal(depth->row_count, 3);
    assert_int_equal(breadth->order, LAB_ORDER_BREADTH);
    assert_int_equal(depth->order, LAB_ORDER_DEPTH);
    assert_string_equal(depth->data, "binary trees of depth N(5, 1), 20 symbols");
    assert_string_equal(find(&summary, "cifar10")->data, "CIFAR-10, 50,000 training images");
    /* The same encoding looks the same, whatever stands beside it, and published numbers follow the order. */
    const lab_summary_row *here = &breadth->rows[1], *there = &depth->rows[0];
    assert_string_equal(here->encoding, tree_algebraic);
    assert_string_equal(there->encoding, tree_algebraic);
    assert_true(here->published[LAB_SPAN_FULL] != NULL && there->published[LAB_SPAN_FULL] != NULL);
    assert_int_equal(here->colour, there->colour);
    assert_int_equal(here->mark, there->mark);
    for (size_t s = 0; s < summary.section_count; s++) {
        for (size_t i = 0; i < summary.sections[s].row_count; i++)
            for (size_t j = 0; j < i; j++)
                assert_int_not_equal(summary.sections[s].rows[i].mark, summary.sections[s].rows[j].mark);
    }
    near(here->published[LAB_SPAN_FULL]->accuracy, 0.9906);
    near(there->published[LAB_SPAN_FULL]->accuracy, 0.9970);
    near(here->scores[0].mean, 0.97);
    near(there->scores[0].mean, 0.90);
    assert_int_equal(depth->rows[2].done, 0);
    lab_summary_free(&summary);
}

static void bins_are_sorted_and_weighted(void **state) {
    (void)state;
    lab_summary summary = summarise();
    const lab_summary_section *section = find(&summary, "tree-copy, breadth first");
    static const size_t depths[] = {5, 7, 10};
    static const size_t nodes[][2] = {{1, 1}, {5, 8}, {17, 32}, {65, SIZE_MAX}};
    assert_int_equal(section->depths.count, 3);
    assert_int_equal(section->nodes.count, 4);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(section->depths.bins[i].low, depths[i]);
        assert_int_equal(section->depths.bins[i].high, depths[i]);
    }
    for (size_t i = 0; i < 4; i++)
        assert_true(section->nodes.bins[i].low == nodes[i][0] && section->nodes.bins[i].high == nodes[i][1]);
    assert_int_equal(section->depths.bins[0].samples, 300);
    assert_int_equal(section->nodes.bins[2].samples, 40);
    const lab_summary_row *row = &section->rows[0];
    const lab_statistic *five = &row->at_depth[0].scores[0], *seven = &row->at_depth[1].scores[0];
    assert_int_equal(five->count, 2);
    near(five->mean, (100 * 0.25 + 300 * 0.27) / 400);
    assert_int_equal(seven->count, 1); /* seed 1 has no such tree */
    near(seven->mean, 0.125);
    near(row->at_depth[2].scores[0].mean, 0.16); /* no samples are given: seeds weigh the same */
    near(row->at_depth[2].scores[0].deviation, 0.02 / sqrt(2));
    assert_int_equal(row->at_nodes[3].scores[0].count, 0); /* not a number */
    lab_summary_free(&summary);
}

static void best_epochs(void **state) {
    (void)state;
    lab_summary summary = summarise();
    const lab_summary_section *section = find(&summary, "cifar10");
    assert_int_equal(section->epoch_steps, 391);
    near(section->epochs, 6);
    const lab_summary_row *row = &section->rows[0];
    near(lab_summary_named(section, row, "accuracy_half")->mean, 0.8 * 0.6);
    near(lab_summary_named(section, row, "accuracy")->mean, 0.6);
    near(lab_summary_named(section, row, "accuracy_last")->mean, 0.95 * 0.6);
    assert_true(row->published[LAB_SPAN_HALF] != NULL && row->published[LAB_SPAN_FULL] != NULL);
    near(row->published[LAB_SPAN_HALF]->accuracy, 0.9157);
    near(row->published[LAB_SPAN_FULL]->accuracy, 0.9279);
    assert_int_equal(lab_summary_score(section, &section->rows[2])->count, 0); /* stopped */
    assert_true(lab_summary_shared_machine(&summary, section));
    assert_false(lab_summary_shared_machine(&summary, find(&summary, "tree-copy, breadth first")));
    lab_summary_free(&summary);
}

static const cJSON *section_of(const cJSON *root, const char *task, const char *order) {
    const cJSON *section;
    cJSON_ArrayForEach(section, cJSON_GetObjectItem(root, "sections")) {
        const cJSON *own = cJSON_GetObjectItem(section, "order");
        if (!strcmp(cJSON_GetObjectItem(section, "task")->valuestring, task) &&
            (!order || !strcmp(own->valuestring, order)))
            return section;
    }
    fail_msg("no section %s", task);
    return NULL;
}

static void json_has_bins_and_epochs(void **state) {
    (void)state;
    lab_summary summary = summarise();
    cJSON *root = lab_summary_json(&summary);
    const cJSON *tree = cJSON_GetArrayItem(cJSON_GetObjectItem(section_of(root, "tree-copy", "breadth"), "rows"), 0);
    const cJSON *image = cJSON_GetArrayItem(cJSON_GetObjectItem(section_of(root, "cifar10", NULL), "rows"), 1);
    const cJSON *depths = cJSON_GetObjectItem(tree, "depths"), *nodes = cJSON_GetObjectItem(tree, "nodes");
    assert_int_equal(cJSON_GetArraySize(depths), 3);
    const cJSON *five = cJSON_GetArrayItem(depths, 0), *open = cJSON_GetArrayItem(nodes, 3);
    near(cJSON_GetObjectItem(five, "samples")->valuedouble, 300);
    near(cJSON_GetObjectItem(cJSON_GetObjectItem(five, "greedy_exact"), "mean")->valuedouble, 0.265 / 4);
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(open, "high")));
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(open, "accuracy")));
    near(cJSON_GetObjectItem(cJSON_GetObjectItem(image, "accuracy_half"), "mean")->valuedouble, 0.64);
    near(cJSON_GetObjectItem(cJSON_GetObjectItem(image, "accuracy_last"), "mean")->valuedouble, 0.76);
    near(cJSON_GetObjectItem(cJSON_GetObjectItem(image, "accuracy"), "mean")->valuedouble, 0.8);
    const cJSON *run = cJSON_GetArrayItem(cJSON_GetObjectItem(image, "runs"), 0);
    near(cJSON_GetObjectItem(run, "peak_bytes")->valuedouble, 3 << 26);
    cJSON_Delete(root);
    lab_summary_free(&summary);
}

/* ---- the page ---- */

static char *read_page(const char *from) {
    const lab_report_options options = {.folder = folder};
    lab_store *store = NULL;
    char *html = NULL;
    size_t bytes = 0;
    OK(lab_store_open(&store, from, &failed));
    OK(lab_report_write(store, &options, page_path, &failed));
    lab_store_close(&store);
    OK(lab_file_read(page_path, &html, &bytes, &failed));
    unlink(page_path);
    return html;
}

/* From a section's heading to the next one's. */
static char *part_of(const char *html, const char *heading) {
    const char *start = strstr(html, heading);
    if (!start) {
        fail_msg("the page lacks '%s'", heading);
        return NULL;
    }
    const char *end = strstr(start, "</section>");
    return strndup(start, end ? (size_t)(end - start) : strlen(start));
}

static void has_all(const char *part, const char *const *texts, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!strstr(part, texts[i]))
            fail_msg("the page lacks '%s'", texts[i]);
}

static void page_shows_trees_and_images(void **state) {
    (void)state;
    char *html = read_page(store_path);
    char *breadth = part_of(html, "<h2>tree-copy, breadth first"), *depth = part_of(html, "<h2>tree-copy, depth first");
    char *images = part_of(html, "<h2>cifar10"), *trained = part_of(html, "<h2>tree-reorder");
    static const char *const of_breadth[] = {
        "97.00 <small>±1.41",
        "26.50 <small>±1.22",
        "n = 300",
        "17–32",
        "\"names\":[\"1\\n1\",\"5–8\",\"17–32\\n40\",\"65+\"]",
        "\"names\":[\"5\\n300\",\"7\\n11\",\"10\"]",
        "<th scope=\"col\">1<small>n = 1</small></th><th scope=\"col\">5–8</th>",
        "<th scope=\"col\">17–32<small>n = 40</small></th><th scope=\"col\">65+</th>",
        "Test accuracy by depth of the tree",
        "99.06 <small>±0.1",
        "binary trees of depth N(5, 1), 20 symbols",
        "nodes, by always guessing",
        "192 MiB"};
    static const char *const of_depth[] = {"90.00", "99.70 <small>±0.2", "not finished at step 100 of 100",
                                           "written depth first", "†"};
    static const char *const of_images[] = {"48.00",
                                            "80.00",
                                            "91.57",
                                            "94.42",
                                            "6 epochs",
                                            ">epoch 3, %",
                                            "10.0 % of the images",
                                            "places of the grid",
                                            "Runs were trained at the same time",
                                            "compact convolutional Transformer",
                                            "test accuracy, %"};
    static const char *const of_trained[] = {">branch 1<",
                                             ">branch 2<",
                                             "head 2",
                                             "rope’s frequencies",
                                             "series reference",
                                             "stroke-dasharray",
                                             "in one step along the order or down a branch, "};
    has_all(breadth, of_breadth, sizeof of_breadth / sizeof *of_breadth);
    has_all(depth, of_depth, sizeof of_depth / sizeof *of_depth);
    has_all(images, of_images, sizeof of_images / sizeof *of_images);
    has_all(trained, of_trained, sizeof of_trained / sizeof *of_trained);
    assert_null(strstr(breadth, "rope"));       /* it was trained depth first only */
    assert_null(strstr(depth, ">sinusoidal<")); /* and this breadth first only */
    assert_null(strstr(breadth, "at the same time"));
    *strstr(html, "<script>") = '\0'; /* which knows the word */
    assert_null(strstr(html, "nan"));
    assert_null(strstr(html, "NaN"));
    assert_null(strstr(html, "inf<"));
    assert_null(strstr(html, "rgb("));
    free(breadth);
    free(depth);
    free(images);
    free(trained);
    free(html);
}

static size_t times(const char *text, const char *end, const char *what) {
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, what)) != NULL && (end == NULL || at < end); at++)
        count++;
    return count;
}

static void drop_file(const char *path) {
    char beside[100];
    unlink(path);
    for (int i = 0; i < 2; i++) {
        snprintf(beside, sizeof beside, "%s%s", path, i == 0 ? "-wal" : "-shm");
        unlink(beside);
    }
}

/* A section of so many encodings. */
static void insert_many(const char *path, size_t count) {
    lab_store *store = NULL;
    OK(lab_store_open(&store, path, &failed));
    OK(lab_store_begin(store, &failed));
    for (size_t i = 0; i < count; i++) {
        char encoding[32];
        snprintf(encoding, sizeof encoding, "rope(base=%zu)", 1000 + i);
        insert(store, &(made_run){"tree-copy", encoding, NULL, 0, LAB_RUN_DONE, 0.5 + 0.001 * (double)i}, i, 1);
        put_final(store, (int64_t)i + 1, "test:7", "accuracy", 0.25);
    }
    OK(lab_store_end(store, LOCUS_OK, &failed));
    lab_store_close(&store);
}

static void check_sheet(const char *path, size_t drawn) {
    lab_store *store = NULL;
    lab_summary summary;
    lab_sheet sheet;
    OK(lab_store_open(&store, path, &failed));
    OK(lab_summary_create(&summary, store, &(lab_summary_filter){0}, &failed));
    lab_store_close(&store);
    OK(lab_sheet_open(&sheet, &failed));
    lab_sheet_legend(&sheet, &summary.sections[0]);
    assert_int_equal(fflush(sheet.body), 0);
    assert_int_equal(times(sheet.text, NULL, ">rope(base="), drawn);
    lab_sheet_close(&sheet);
    lab_summary_free(&summary);
}

/* As many as are drawn, and one more, which the tables have. */
static void as_many_are_drawn(void **state) {
    (void)state;
    for (size_t count = LAB_PAGE_MOST_ROWS; count <= LAB_PAGE_MOST_ROWS + 1; count++) {
        char path[80];
        size_t charts = 0, legends = 0, bodies = 0;
        snprintf(path, sizeof path, "%s/many.db", folder);
        insert_many(path, count);
        char *html = read_page(path);
        check_sheet(path, LAB_PAGE_MOST_ROWS);
        drop_file(path);
        for (const char *at = html; (at = strstr(at, "class=\"data\">{\"id\"")) != NULL; at++, charts++)
            assert_int_equal(times(at, strstr(at, "</script>"), "{\"name\":\"rope(base="), LAB_PAGE_MOST_ROWS);
        for (const char *at = html; (at = strstr(at, "<ul class=\"legend\">")) != NULL; at++, legends++)
            assert_int_equal(times(at, strstr(at, "</ul>"), "<li data-mark="), LAB_PAGE_MOST_ROWS);
        for (const char *at = html; (at = strstr(at, "<tbody>")) != NULL; at++) {
            const size_t rows = times(at, strstr(at, "</tbody>"), "rope(base=");
            bodies += rows % count == 0 && rows > 0;
        }
        assert_true(charts == 7 && legends == 3 && bodies == 4);
        assert_int_equal(
            times(html, NULL, "<p class=\"small\">Drawn are the first 64 of 65 encodings; the tables have all.</p>"),
            count > LAB_PAGE_MOST_ROWS ? 3 : 0);
        assert_int_equal(times(html, NULL, "Drawn are the first"), count > LAB_PAGE_MOST_ROWS ? 3 : 0);
        free(html);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(orders_never_mix),
        cmocka_unit_test(bins_are_sorted_and_weighted),
        cmocka_unit_test(best_epochs),
        cmocka_unit_test(json_has_bins_and_epochs),
        cmocka_unit_test(page_shows_trees_and_images),
        cmocka_unit_test(as_many_are_drawn),
    };
    const int wrong = cmocka_run_group_tests(tests, make_store, drop_store);
    return wrong != 0 ? wrong : left;
}
