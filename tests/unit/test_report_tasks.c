/* SPDX-License-Identifier: MIT */
/* Reports on problems, text and expressions, from a store that is filled by hand: what a section is about and which way
 * is better, guesses beside the scores, targets that are never mixed, settings in words, and what the page shows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "io/file.h"
#include "page/page.h"
#include "page/report.h"
#include "report/tables/summary.h"
#include "task/listops/listops.h"
#include "task/problem.h"
#include "task/text_task.h"
#include "train/configuration/config.h"
#include "train/train.h"
#include "unit/scratch_folder.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>

#define OK(call) \
    do { \
        locus_error failed = {0}; \
        if ((call) != LOCUS_OK) { \
            fail_msg("%s: %s", #call, failed.message); \
        } \
    } while (0)

/* Two seeds each, `spread` apart. */
typedef struct made_row {
    const char *task, *encoding;
    lab_asked asked;
    double accuracy, loss, solved, spread; /* solved < 0: nothing is decoded */
} made_row;

static const made_row made[] = {
    {"addition", "rope", LAB_ASKED_DIGIT, 0.90, 0.30, 0.20, 0.001},
    {"addition", "rope(values=on)", LAB_ASKED_DIGIT, 0.85, 0.35, 0.70, 0.001},
    {"substring-search", "rope", LAB_ASKED_DIGIT, 0.40, 1.20, -1, 0.001},
    {"substring-search", "rope(values=on)", LAB_ASKED_DIGIT, 0.45, 1.10, -1, 0.001},
    {"text", "rope", LAB_ASKED_DIGIT, 0.50, 1.5, -1, 0.001},
    {"listops", "none", LAB_ASKED_DIGIT, 0.30, 1.9, -1, 0.001},
    {"listops", "algebraic(group=tree:4)", LAB_ASKED_DIGIT, 0.60, 1.1, -1, 0.001},
    {"listops", "none", LAB_ASKED_PARITY, 0.55, 0.69, -1, 0.001},
};

static void put_final(lab_store *store, int64_t run, const char *set, const char *name, double value) {
    OK(lab_store_final_set(store, run, set, name, value, &failed));
}

static void put_scores(lab_store *store, int64_t run, const made_row *row, double shift) {
    const bool expressions = strcmp(row->task, "listops") == 0, text = strcmp(row->task, "text") == 0;
    put_final(store, run, "test", "accuracy", row->accuracy + shift);
    put_final(store, run, "test", "loss", row->loss + shift);
    if (row->solved >= 0)
        put_final(store, run, "test", "greedy_exact", row->solved + shift);
    if (text) {
        put_final(store, run, "test", "perplexity", exp(row->loss + shift));
        put_final(store, run, "test:99", "perplexity", exp(row->loss));
        put_final(store, run, "test:99", "accuracy", row->accuracy);
        put_final(store, run, "test", "bits_per_byte", (row->loss + shift) / log(2) / 4);
    }
    if (expressions) {
        put_final(store, run, "test", "majority", row->asked == LAB_ASKED_PARITY ? 0.53 : 0.14);
        put_final(store, run, "test", "chance", row->asked == LAB_ASKED_PARITY ? 0.5 : 0.1);
        put_final(store, run, "depth:3", "accuracy", row->accuracy);
        put_final(store, run, "depth:3", "samples", 77);
        put_final(store, run, "length:17-32", "accuracy", row->accuracy);
        put_final(store, run, "length:17-32", "samples", 66);
    }
}

/* Of its own, whatever the budget's are. */
static void put_sizes(lab_train_config *config) {
    lab_task_options *data = &config->data;
    if (config->task->class->classes != NULL) {
        LAB_EXPRESSIONS(data)->shortest = 9;
        LAB_EXPRESSIONS(data)->longest = 41;
        LAB_EXPRESSIONS(data)->depth = LAB_EXPRESSIONS(data)->arguments = 4;
        return;
    }
    config->model.decoder_layers = 2;
    config->train_samples = 0;
    config->dev_samples = 16;
    config->test_samples = 32;
    config->greedy_samples = config->greedy_samples > 0 ? 32 : 0;
    if (config->task->characters == NULL)
        *LAB_TEXT(data) = (lab_text_options){.symbols = 8000, .sequence = 129};
    else if (LAB_PROBLEMS(data)->digits > 0)
        *LAB_PROBLEMS(data) = (lab_problem_options){.digits = 2, .sequence = 129};
    else
        *LAB_PROBLEMS(data) = (lab_problem_options){.length_mean = 6, .symbols = 4, .sequence = 129};
}

static void insert(lab_store *store, const made_row *row, uint64_t seed) {
    lab_train_config config;
    char name[256];
    OK(lab_train_config_budget(&config, lab_task_find(row->task), "smoke", LAB_SETUP_PAPER, &failed));
    config.encoding = config.model.encoding = row->encoding;
    if (config.task->class->classes != NULL)
        LAB_EXPRESSIONS(&config.data)->asked = row->asked;
    put_sizes(&config);
    config.seed = seed;
    lab_config_fill(&config);
    lab_train_name(&config, name, sizeof name);
    char *json = lab_config_json(&config);
    lab_run run = {.name = name,
                   .task = (char *)(uintptr_t)row->task,
                   .encoding = (char *)(uintptr_t)row->encoding,
                   .setup = "paper",
                   .embedding_init = (char *)(uintptr_t)lab_embedding_init_name(config.model.embedding_init),
                   .budget = "smoke",
                   .config = json,
                   .command = "",
                   .version = "0.1.0",
                   .machine = "a machine",
                   .message = "",
                   .seed = seed,
                   .state = LAB_RUN_DONE,
                   .steps_total = 100,
                   .steps_done = 100,
                   .wall_seconds = 10,
                   .tokens_per_second = 1000,
                   .peak_bytes = 1 << 26,
                   .parameters = 12345,
                   .started = "2024-01-01T00:00:00Z",
                   .ended = "2024-01-01T00:00:10Z"};
    OK(lab_store_run_insert(store, &run, &failed));
    put_scores(store, run.id, row, (seed == 0 ? -0.5 : 0.5) * row->spread);
    for (uint64_t step = 50; step <= 100; step += 50) {
        OK(lab_store_measured(store, run.id, step, &(lab_measured){"train.loss", 300.0 / (double)step}, 1, &failed));
        OK(lab_store_measured(store, run.id, step, &(lab_measured){"dev.loss", 200.0 / (double)step}, 1, &failed));
        OK(lab_store_measured(store, run.id, step, &(lab_measured){"dev.accuracy", row->accuracy * (double)step / 100},
                              1, &failed));
    }
    cJSON_free(json);
}

static int make_store(void **state) {
    lab_store *store = NULL;
    if (scratch_create(state) != 0)
        return -1;
    OK(lab_store_open(&store, scratch_path("locus.db"), &failed));
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        insert(store, &made[i], 0);
        insert(store, &made[i], 1);
    }
    lab_store_close(&store);
    return 0;
}

static lab_summary summarise(void) {
    const lab_summary_filter all = {0};
    lab_store *store = NULL;
    lab_summary summary;
    OK(lab_store_open(&store, scratch_path("locus.db"), &failed));
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

static void sections_know_their_measure(void **state) {
    (void)state;
    lab_summary summary = summarise();
    assert_int_equal(summary.section_count, 5);
    const lab_summary_section *addition = find(&summary, "addition"), *search = find(&summary, "substring-search");
    const lab_summary_section *text = find(&summary, "text");
    assert_int_equal(addition->measure, LAB_MEASURE_SOLVED);
    assert_int_equal(search->measure, LAB_MEASURE_LOSS);
    assert_int_equal(text->measure, LAB_MEASURE_LOSS);
    near(lab_summary_score(addition, &addition->rows[1])->mean, 0.70);
    near(lab_summary_score(search, &search->rows[0])->mean, 1.20);
    near(lab_summary_named(text, &text->rows[0], "perplexity")->mean, (exp(1.4995) + exp(1.5005)) / 2);
    near(lab_summary_named(text, &text->rows[0], "bits_per_byte")->mean, 1.5 / log(2) / 4);
    assert_string_equal(addition->data, "numbers of up to 2 digits, sequences of 129 characters");
    assert_string_equal(search->data, "pieces of length N(6, 0) over 4 letters, sequences of 129 characters");
    static const char *const one[] = {"{\"digits\":1,\"sequence\":65}", "{\"digits\":0,\"sequence\":65}",
                                      "{\"length_mean\":0.5,\"length_deviation\":2,\"symbols\":3,\"sequence\":9}"};
    static const char *const said[] = {"numbers of up to 1 digits, sequences of 65 characters", "",
                                       "strings of length N(0.5, 2) over 3 letters, sequences of 9 characters"};
    static const double sizes[] = {1, 0, 0.5};
    for (size_t i = 0; i < sizeof one / sizeof *one; i++) {
        lab_data_facts facts = {0};
        cJSON *config = cJSON_Parse(one[i]);
        lab_task_find("addition")->class->describe(config, "addition", &facts);
        assert_string_equal(facts.data, said[i]);
        near(facts.mean_size, sizes[i]);
        cJSON_Delete(config);
    }
    assert_string_equal(text->data, "a vocabulary of 8,000 tokens, windows of 129");
    lab_summary_free(&summary);
}

static void targets_never_mix(void **state) {
    (void)state;
    lab_summary summary = summarise();
    const lab_summary_section *digit = find(&summary, "listops, digit"), *parity = find(&summary, "listops, parity");
    assert_int_equal(digit->row_count, 2);
    assert_int_equal(parity->row_count, 1);
    assert_int_equal(digit->measure, LAB_MEASURE_ACCURACY);
    near(digit->majority, 0.14);
    near(digit->chance, 0.1);
    near(parity->majority, 0.53);
    near(parity->chance, 0.5);
    assert_string_equal(digit->data, "expressions of 10 to 40 tokens, at most 4 deep, with up to 4 arguments");
    assert_int_equal(digit->depths.count, 1);
    assert_int_equal(digit->nodes.count, 1);
    assert_int_equal(digit->nodes.bins[0].samples, 66);
    near(digit->rows[1].at_nodes[0].scores[0].mean, 0.60);
    near(find(&summary, "text")->majority, 0);
    lab_summary_free(&summary);
}

static void json_says_what_is_measured(void **state) {
    (void)state;
    lab_summary summary = summarise();
    cJSON *root = lab_summary_json(&summary);
    const cJSON *section;
    size_t seen = 0;
    cJSON_ArrayForEach(section, cJSON_GetObjectItem(root, "sections")) {
        const char *task = cJSON_GetObjectItem(section, "task")->valuestring;
        const char *measure = cJSON_GetObjectItem(section, "measure")->valuestring;
        const cJSON *row = cJSON_GetArrayItem(cJSON_GetObjectItem(section, "rows"), 0);
        const bool text = strcmp(task, "text") == 0, expressions = strcmp(task, "listops") == 0;
        assert_string_equal(measure, strcmp(task, "addition") == 0 ? "solved" : expressions ? "accuracy" : "loss");
        assert_true((cJSON_GetObjectItem(row, "bits_per_byte") != NULL) == text);
        assert_true((cJSON_GetObjectItem(section, "majority") != NULL) == expressions);
        seen += text || expressions;
        if (strcmp(task, "addition") == 0 || strcmp(task, "substring-search") == 0)
            assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(section, "not_separated")), 0);
    }
    assert_int_equal(seen, 3);
    cJSON_Delete(root);
    lab_summary_free(&summary);
}

/* ---- the page ---- */

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

static void has_all(const char *html, const char *heading, const char *const *texts) {
    char *part = part_of(html, heading);
    for (size_t i = 0; texts[i]; i++)
        if (!strstr(part, texts[i]))
            fail_msg("'%s' lacks '%s'", heading, texts[i]);
    free(part);
}

static void page_shows_tasks(void **state) {
    (void)state;
    const lab_report_options options = {0};
    lab_store *store = NULL;
    char *html = NULL;
    size_t bytes = 0;
    OK(lab_store_open(&store, scratch_path("locus.db"), &failed));
    OK(lab_report_write(store, &options, scratch_path("page.html"), &failed));
    lab_store_close(&store);
    OK(lab_file_read(scratch_path("page.html"), &html, &bytes, &failed));
    /* The best is the higher share, and the lower loss. */
    has_all(html, "<h2>addition",
            (const char *const[]){"<th scope=\"col\">solved<small>problems, %", "<td class=\"best\">70.00 <small>±0.07",
                                  "<td>20.00 <small>±0.07", "<td>0.3000 <small>±0.0007", "highest mean",
                                  "Problems solved, all encodings are <b>separated",
                                  "decoder-only Transformer, 2 layers", "endless / 16 / 32",
                                  "of 32 problems of the test set", "development loss, nats a token", "AdamW", NULL});
    has_all(html, "<h2>substring-search",
            (const char *const[]){"<td class=\"best\">1.1000 <small>±0.0007", "<td>1.2000 <small>±0.0007",
                                  "lower is better", "lowest mean", "Test loss, all encodings", NULL});
    has_all(html, "<h2>text",
            (const char *const[]){"bits per byte", "perplexity", "<td>4.48", "<td>0.5410", "nats a token",
                                  "all / 16 / 32",
                                  "\"y\":\"test perplexity\",\"frame\":[50,28,446,258],\"range\":[0,135.68,3.89436574,"
                                  "5.15758746],\"log\":true,\"trained\":128,\"series\":[\n{\"name\":\"rope\",",
                                  "\"y\":\"next tokens right, %\",\"frame\":[50,28,446,258],\"range\":[0,135.68,0,104],"
                                  "\"log\":false,\"trained\":128,\"series\":[\n{\"name\":\"rope\",",
                                  NULL});
    has_all(html, "<h2>listops, digit",
            (const char *const[]){"of ten classes", "<i>majority</i></th><td>14.00", "<i>chance</i></th><td>10.00",
                                  "<td class=\"best\">60.00", "Test accuracy by depth of the expression", "n = 77",
                                  "10.0 % of the expressions at random, 14.0 % by always", "a linear classifier on the",
                                  "nats an expression", NULL});
    has_all(
        html, "<h2>listops, parity",
        (const char *const[]){"of two classes", "<i>majority</i></th><td>53.00", "<i>chance</i></th><td>50.00", NULL});
    assert_null(strstr(html, "nan"));
    free(html);
}

/* ---- settings ---- */

/* What the page says of a section of two rows: three runs with the seeds 3, 4, 3, and one with 5. */
static void assert_setting(lab_summary_section section, const char *wanted) {
    char *text = NULL;
    size_t bytes = 0;
    lab_run runs[] = {{.seed = 3, .machine = "a small one, 8 threads", .version = "0.1.0"},
                      {.seed = 4, .machine = "another", .version = "0.1.0"},
                      {.seed = 3, .machine = "a small one", .version = ""},
                      {.seed = 5, .machine = "another", .version = NULL}};
    const lab_run *first[] = {&runs[0], &runs[1], &runs[2]}, *second[] = {&runs[3]};
    lab_summary_row rows[] = {{.runs = first, .run_count = 3}, {.runs = second, .run_count = 1}};
    lab_page page = {.file = open_memstream(&text, &bytes)};
    assert_non_null(page.file);
    section.rows = rows;
    section.row_count = 2;
    section.class = lab_task_find(section.task)->class;
    OK(lab_page_setting(&page, &section, &failed));
    assert_int_equal(fclose(page.file), 0);
    assert_string_equal(text, wanted);
    free(text);
}

#define RUNS \
    "<dt>Seeds</dt><dd>3, 4, 5</dd>\n" \
    "<dt>Machine</dt><dd>a small one, 8 threads; another</dd>\n<dt>Version</dt><dd>0.1.0</dd>\n</dl>\n"

static void settings_in_words(void **state) {
    (void)state;
    assert_setting(
        (lab_summary_section){
            .task = "addition",
            .embedding_init = "scaled",
            .measure = LAB_MEASURE_SOLVED,
            .data = "of 2 digits",
            .note = "a note",
            .config = "{\"train_samples\": 0, \"dev_samples\": 16, \"test_samples\": 32, \"greedy_samples\": 8, "
                      "\"decoder_layers\": 2, \"dim\": 64, \"heads\": 8, \"kv_heads\": 2, \"feed_forward\": 128, "
                      "\"norm\": \"before\", \"output\": \"own\", \"dropout\": 0.1, \"attention_dropout\": 0.2, "
                      "\"attention_dropout_on\": \"weights\", \"attention\": \"linear\", \"batch\": 4, \"steps\": 30, "
                      "\"rate_initial\": 1e-07, \"rate_peak\": 0.002, \"rate_final\": 1e-09, \"warmup_share\": 0.05, "
                      "\"weight_decay\": 0.01, \"clip\": 0.5, \"patience\": 7, \"position_scale\": \"sqrt-dim\", "
                      "\"precision\": \"bf16\"}"},
        "<dl>\n<dt>Task</dt><dd>addition: two numbers → their sum, digit by digit; of 2 digits; a note</dd>\n"
        "<dt>Sequences</dt><dd>endless / 16 / 32 for training, development and test; endless ones are "
        "drawn anew in every step</dd>\n"
        "<dt>Solved</dt><dd>of 8 problems of the test set, decoded greedily</dd>\n"
        "<dt>Model</dt><dd>decoder-only Transformer, 2 layers, dimension 64, 8 heads, feed-forward 128, "
        "LayerNorm before each block, output weights own, dropout 0.1, attention dropout 0.2 on the "
        "weights</dd>\n"
        "<dt>Attention</dt><dd>linear, where it can be</dd>\n"
        "<dt>Heads of keys and values</dt><dd>2, shared by groups of 4 heads of queries</dd>\n"
        "<dt>Training</dt><dd>AdamW (weight decay 0.01), batch 4, 30 steps, learning rate from 1e-07 up "
        "to 0.002, by a cosine down to 1e-09, warm-up 5 % of the steps, gradients clipped at norm 0.5, "
        "ended after 7 evaluations without a better one</dd>\n"
        "<dt>Precision</dt><dd>products of matrices rounded to bfloat16, all else in float32</dd>\n"
        "<dt>Embeddings</dt><dd>scaled: drawn from N(0, 1/D), times √D at the input, and so is what is "
        "added to them</dd>\n" RUNS);
    assert_setting((lab_summary_section){.task = "addition",
                                         .embedding_init = "plain",
                                         .measure = LAB_MEASURE_LOSS,
                                         .config = "{\"train_samples\": 9, \"logit_scale\": \"inverse-sqrt-dim\"}"},
                   "<dl>\n<dt>Task</dt><dd>addition: two numbers → their sum, digit by digit</dd>\n"
                   "<dt>Sequences</dt><dd>9 / endless / endless for training, development and test; endless ones "
                   "are drawn anew in every step</dd>\n"
                   "<dt>Embeddings</dt><dd>plain: drawn from N(0, 0.02²), unscaled at the input, divided by √D as "
                   "output projection</dd>\n" RUNS);
    assert_setting((lab_summary_section){.task = "text",
                                         .embedding_init = "unit",
                                         .config = "{\"test_samples\": 5, \"epochs\": 3, \"steps\": 0}"},
                   "<dl>\n<dt>Task</dt><dd>text: text → its next token</dd>\n"
                   "<dt>Windows</dt><dd>all / all / 5 for training, development and test</dd>\n"
                   "<dt>Training</dt><dd>AdamW (weight decay ?), batch ?, 3 epochs, learning rate from ? up to ?, "
                   "by a cosine down to ?, warm-up ? of the steps</dd>\n"
                   "<dt>Embeddings</dt><dd>unit: drawn from N(0, 1), times √D at the input, unscaled as output "
                   "projection (the published code)</dd>\n" RUNS);
    assert_setting((lab_summary_section){.task = "listops",
                                         .embedding_init = "own words",
                                         .chance = 0.1,
                                         .majority = 0.25,
                                         .config =
                                             "{\"pretrained_digest\": \"12ab\", \"encoder_layers\": 3, \"dim\": 32, "
                                             "\"heads\": 4, \"feed_forward\": 48, \"kv_heads\": 1, \"clip\": 0, "
                                             "\"train_samples\": 1, \"dev_samples\": 2, \"test_samples\": 3}"},
                   "<dl>\n<dt>Task</dt><dd>listops: expression over digits → its value, or whether that is odd</dd>\n"
                   "<dt>Chance</dt><dd>10.0 % of the expressions at random, 25.0 % by always giving the most "
                   "common class</dd>\n"
                   "<dt>Samples</dt><dd>1 / 2 / 3 expressions for training, development and test; data seed "
                   "?</dd>\n"
                   "<dt>Model</dt><dd>pretrained encoder (12ab), 3 layers, dimension 32, 4 heads, feed-forward 48; "
                   "a classifier behind its first token</dd>\n"
                   "<dt>Heads of keys and values</dt><dd>1, shared by groups of 4 heads of queries</dd>\n" RUNS);
    assert_setting((lab_summary_section){.task = "listops", .embedding_init = "own words", .config = "{\"dim\": 8}"},
                   "<dl>\n<dt>Task</dt><dd>listops: expression over digits → its value, or whether that is odd</dd>\n"
                   "<dt>Model</dt><dd>encoder, ? layers, dimension 8, ? heads, feed-forward ?, LayerNorm ? each "
                   "block, a linear classifier on the first token, dropout ?, attention dropout ? on the ?</dd>\n"
                   "<dt>Embeddings</dt><dd>own words</dd>\n" RUNS);
    assert_setting(
        (lab_summary_section){.task = "cifar10",
                              .embedding_init = "unit",
                              .config = "{\"optimizer_decay\": \"coupled\", \"schedule\": \"steps\", \"classes\": 4, "
                                        "\"epochs\": 20, \"rate_peak\": 0.1, \"rate_factor\": 0.5, \"rate_epochs\": 6, "
                                        "\"label_smoothing\": 0.1, \"augment\": \"none\"}"},
        "<dl>\n<dt>Task</dt><dd>cifar10: 32×32 photographs → 10 classes</dd>\n"
        "<dt>Chance</dt><dd>25.0 % of the images: there are 4 classes, as many images of each</dd>\n"
        "<dt>Regularisation</dt><dd>stochastic depth 0 times the layer from 0, survivors rescaled, "
        "label smoothing 0.1, weight decay ?</dd>\n"
        "<dt>Augmentation</dt><dd>none, crop, flip</dd>\n"
        "<dt>Training</dt><dd>Adam (weight decay ? in the gradient), batch ?, 20 epochs, learning rate "
        "0.1, times 0.5 every 6 epochs</dd>\n" RUNS);
    assert_setting((lab_summary_section){.task = "cifar10",
                                         .embedding_init = "unit",
                                         .config = "{\"stochastic_depth\": 0.25, \"survivors\": \"kept\"}"},
                   "<dl>\n<dt>Task</dt><dd>cifar10: 32×32 photographs → 10 classes</dd>\n"
                   "<dt>Chance</dt><dd>10.0 % of the images: there are 10 classes, as many images of each</dd>\n"
                   "<dt>Regularisation</dt><dd>stochastic depth 0.25 times the layer from 0, survivors kept, label "
                   "smoothing 0, weight decay ?</dd>\n" RUNS);
    /* Four letters and an end in each sample: one target in five is the end, however many letters there are. */
    assert_setting((lab_summary_section){.task = "copy",
                                         .embedding_init = "scaled",
                                         .data = "words",
                                         .config = "{\"length_mean\": 4, \"length_deviation\": 0, \"symbols\": 20}"},
                   "<dl>\n<dt>Task</dt><dd>copy: w → w; words</dd>\n"
                   "<dt>Chance</dt><dd>20.0 % of the tokens, by always guessing the most common one</dd>\n"
                   "<dt>Embeddings</dt><dd>scaled: drawn from N(0, 1/D), times √D at the input, unscaled as output "
                   "projection</dd>\n" RUNS);
    assert_setting((lab_summary_section){.task = "copy", .embedding_init = "scaled", .config = "no JSON"},
                   "<dl>\n<dt>Task</dt><dd>copy: w → w</dd>\n"
                   "<dt>Embeddings</dt><dd>scaled: drawn from N(0, 1/D), times √D at the input, unscaled as output "
                   "projection</dd>\n" RUNS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sections_know_their_measure), cmocka_unit_test(targets_never_mix),
        cmocka_unit_test(json_says_what_is_measured),  cmocka_unit_test(page_shows_tasks),
        cmocka_unit_test(settings_in_words),
    };
    return cmocka_run_group_tests(tests, make_store, scratch_remove);
}
