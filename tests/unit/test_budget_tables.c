/* SPDX-License-Identifier: MIT */
/* Every budget's numbers: row by row as docs/budgets.md prints them, and by the hashes that name their runs, so that no
 * number of any budget can change unseen. */
#include "io/file.h"
#include "task/listops/listops.h"
#include "task/problem.h"
#include "task/text_task.h"
#include "task/tree_task.h"
#include "task/word_task.h"
#include "train/configuration/config.h"
#include "train/train.h"

#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char *page;

static int open_page(void **state) {
    const char *source = getenv("LOCUS_SOURCE");
    char path[1024];
    size_t bytes;
    (void)state;
    snprintf(path, sizeof path, "%s/docs/budgets.md", source != NULL ? source : LOCUS_SOURCE_DIR);
    return lab_file_read(path, &page, &bytes, NULL) == LOCUS_OK ? 0 : -1;
}

static int close_page(void **state) {
    (void)state;
    free(page);
    return 0;
}

static lab_train_config budget_of(const char *task, const char *budget, lab_setup setup) {
    lab_train_config config;
    locus_error error;
    assert_int_equal(lab_train_config_budget(&config, lab_task_find(task), budget, setup, &error), LOCUS_OK);
    return config;
}

/* ---- numbers as the page writes them ---- */

typedef void cell_text(const lab_train_config *config, char *text, size_t size);

/* "1,500". */
static const char *grouped(uint64_t value, char text[32]) {
    if (value >= 1000)
        snprintf(text, 32, "%" PRIu64 ",%03" PRIu64, value / 1000, value % 1000);
    else
        snprintf(text, 32, "%" PRIu64, value);
    return text;
}

/* "2e-3". */
static const char *rate_text(double rate, char text[32]) {
    const int power = (int)floor(log10(rate) + 1e-9);
    snprintf(text, 32, "%ge%d", round(rate / pow(10, power) * 1e6) / 1e6, power);
    return text;
}

static void words(const lab_train_config *c, char *text, size_t size) {
    snprintf(text, size, "N(%g, %g), %zu symbols", LAB_WORDS(&c->data)->length_mean,
             LAB_WORDS(&c->data)->length_deviation, LAB_WORDS(&c->data)->symbols);
}
static void trees(const lab_train_config *c, char *text, size_t size) {
    assert_int_equal(LAB_TREES(&c->data)->arity, 2);
    snprintf(text, size, "binary, N(%g, %g) deep", LAB_TREES(&c->data)->depth_mean,
             LAB_TREES(&c->data)->depth_deviation);
}
static void widths(const lab_train_config *c, char *text, size_t size) {
    snprintf(text, size, "%zu, %zu, %zu", c->model.dim, c->model.heads, c->model.feed_forward);
}
static void pair_layers(const lab_train_config *c, char *text, size_t size) {
    snprintf(text, size, "%zu + %zu", c->model.encoder_layers, c->model.decoder_layers);
}
/* Of models with one stack. */
static void model(const lab_train_config *c, char *text, size_t size) {
    assert_true(c->model.encoder_layers == 0 || c->model.decoder_layers == 0);
    snprintf(text, size, "%zu, %zu, %zu, %zu", c->model.dim, c->model.heads, c->model.feed_forward,
             c->model.encoder_layers + c->model.decoder_layers);
}
static void samples(const lab_train_config *c, char *text, size_t size) {
    snprintf(text, size, "%zu, %zu, %zu", c->train_samples, c->dev_samples, c->test_samples);
}
static void large_samples(const lab_train_config *c, char *text, size_t size) {
    char train[32], dev[32], test[32];
    snprintf(text, size, "%s, %s, %s", grouped(c->train_samples, train), grouped(c->dev_samples, dev),
             grouped(c->test_samples, test));
}
static void images(const lab_train_config *c, char *text, size_t size) {
    char train[32], test[32];
    assert_int_equal(c->dev_samples, c->test_samples);
    snprintf(text, size, "%s, %s", grouped(c->train_samples, train), grouped(c->test_samples, test));
}
static void greedy(const lab_train_config *c, char *text, size_t size) {
    snprintf(text, size, "%zu", c->greedy_samples);
}
static void batch(const lab_train_config *c, char *text, size_t size) {
    snprintf(text, size, "%zu", c->batch);
}
static void steps(const lab_train_config *c, char *text, size_t size) {
    char all[32];
    assert_true(c->steps > 0);
    snprintf(text, size, "%s", grouped(lab_config_steps(c), all));
}
static void pair_steps(const lab_train_config *c, char *text, size_t size) {
    char all[32];
    grouped(lab_config_steps(c), all);
    if (c->steps == 0)
        snprintf(text, size, "%s (%" PRIu64 " epochs of %" PRIu64 ")", all, c->epochs, lab_config_steps(c) / c->epochs);
    else
        snprintf(text, size, "%s", all);
}
static void epochs(const lab_train_config *c, char *text, size_t size) {
    char all[32];
    snprintf(text, size, "%" PRIu64 " (%s steps)", c->epochs, grouped(lab_config_steps(c), all));
}
/* Of samples that are one's own. */
static void only_epochs(const lab_train_config *c, char *text, size_t size) {
    snprintf(text, size, "%" PRIu64, c->epochs);
}
/* Passes over the training samples. */
static void passes(const lab_train_config *c, char *text, size_t size) {
    char all[32];
    const double rounds = (double)(lab_config_steps(c) * c->batch) / (double)c->train_samples;
    snprintf(text, size, "%s (%g epochs)", grouped(lab_config_steps(c), all), round(10 * rounds) / 10);
}
static void every(const lab_train_config *c, char *text, size_t size) {
    char all[32];
    snprintf(text, size, "%s steps", grouped(lab_config_evaluate_every(c), all));
}
static void evaluations(const lab_train_config *c, char *text, size_t size) {
    char all[32];
    snprintf(text, size, "%s", grouped(lab_config_evaluate_every(c), all));
}
static void pair_every(const lab_train_config *c, char *text, size_t size) {
    if (c->steps > 0) {
        every(c, text, size);
        return;
    }
    assert_int_equal(lab_config_evaluate_every(c), lab_config_steps(c) / c->epochs);
    snprintf(text, size, "epoch");
}
static void rates(const lab_train_config *c, char *text, size_t size) {
    char first[32], peak[32], last[32];
    snprintf(text, size, "%s → %s → %s", rate_text(c->rate_initial, first), rate_text(c->rate_peak, peak),
             rate_text(c->rate_final, last));
}
/* Of two tasks that differ in the peak, the second says that only. */
static void peak_rate(const lab_train_config *c, char *text, size_t size) {
    char peak[32];
    snprintf(text, size, "%s", rate_text(c->rate_peak, peak));
}
static void warmup(const lab_train_config *c, char *text, size_t size) {
    snprintf(text, size, "%g %% of the steps", 100 * c->warmup_share);
}
static void decay_dropout(const lab_train_config *c, char *text, size_t size) {
    assert_true(fabs(c->model.dropout - c->model.attention_dropout) < 1e-12);
    snprintf(text, size, "%g, %g", c->optimizer.weight_decay, c->model.dropout);
}
static void dropout(const lab_train_config *c, char *text, size_t size) {
    assert_true(fabs(c->model.dropout - c->model.attention_dropout) < 1e-12);
    snprintf(text, size, "%g", c->model.dropout);
}
static void image_dropout(const lab_train_config *c, char *text, size_t size) {
    assert_true(c->model.dropout < 1e-12 && c->model.attention_dropout_on == LOCUS_DROPOUT_WEIGHTS);
    snprintf(text, size, "on attention weights, %g", c->model.attention_dropout);
}
static void regularisation(const lab_train_config *c, char *text, size_t size) {
    snprintf(text, size, "%g, %g, %g·l", c->optimizer.weight_decay, c->model.label_smoothing,
             c->model.stochastic_depth);
}
static void augmentation(const lab_train_config *c, char *text, size_t size) {
    snprintf(text, size, "%s", c->augment == LAB_AUGMENT_POLICY ? "policy, crop, flip" : "none");
}
static void sequence(const lab_train_config *c, char *text, size_t size) {
    snprintf(text, size, "%zu",
             c->task->characters != NULL ? LAB_PROBLEMS(&c->data)->sequence : LAB_TEXT(&c->data)->sequence);
}
static void digits(const lab_train_config *c, char *text, size_t size) {
    snprintf(text, size, "%zu", LAB_PROBLEMS(&c->data)->digits);
}
static void norm(const lab_train_config *c, char *text, size_t size) {
    snprintf(text, size, "%s", c->model.norm == LAB_NORM_AFTER ? "after" : "before");
}
static void scored(const lab_train_config *c, char *text, size_t size) {
    snprintf(text, size, "%zu, %zu", c->dev_samples, c->test_samples);
}
static void windows(const lab_train_config *c, char *text, size_t size) {
    assert_true(c->test_samples == 0 && c->train_samples == 0);
    snprintf(text, size, "%zu, all", c->dev_samples);
}
static void expressions(const lab_train_config *c, char *text, size_t size) {
    const lab_expression_options *of = LAB_EXPRESSIONS(&c->data);
    snprintf(text, size, "%zu, %zu, %zu to %zu", of->depth, of->arguments, of->shortest + 1, of->longest - 1);
}

/* ---- rows ---- */

static const char *const names[3] = {"smoke", "quick", "paper"};

typedef struct row {
    const char *name;
    cell_text *text, *other; /* `other`: how a second task's value is written, as "641; search 513" */
} row;

static void add_cell(char *line, size_t size, const row *one, const char *const tasks[2], const char *budget) {
    char text[120], own[120];
    const lab_train_config config = budget_of(tasks[0], budget, LAB_SETUP_PAPER);
    size_t used = strlen(line);
    one->text(&config, text, sizeof text);
    used += (size_t)snprintf(line + used, size - used, " %s", text);
    if (tasks[1] != NULL && one->other != NULL) {
        const lab_train_config differs = budget_of(tasks[1], budget, LAB_SETUP_PAPER);
        one->other(&config, text, sizeof text);
        one->other(&differs, own, sizeof own);
        if (strcmp(text, own) != 0)
            used += (size_t)snprintf(line + used, size - used, "; search %s", own);
    }
    snprintf(line + used, size - used, " |");
}

/* Rows stand behind the kind's heading, in any order. */
static void check_rows(const char *heading, const char *const tasks[2], const row *rows, size_t count) {
    const char *begin = strstr(page, heading), *end = begin != NULL ? strstr(begin + 2, "\n**") : NULL;
    assert_non_null(end);
    char *part = strndup(begin, (size_t)(end - begin));
    for (size_t i = 0; i < count; i++) {
        char line[400];
        snprintf(line, sizeof line, "\n| %s |", rows[i].name);
        for (size_t b = 0; b < 3; b++)
            add_cell(line, sizeof line, &rows[i], tasks, names[b]);
        if (strstr(part, line) == NULL)
            fail_msg("docs/budgets.md, %s: the code has%s", heading, line);
    }
    free(part);
}

#define TASKS(first, second) ((const char *const[2]){first, second})
#define COUNT(array) (sizeof(array) / sizeof *(array))

static void test_pairs(void **state) {
    (void)state;
    static const row of_words[] = {{"words", words, NULL},
                                   {"dimension, heads, feed-forward", widths, NULL},
                                   {"layers", pair_layers, NULL},
                                   {"samples: train, development, test", samples, NULL},
                                   {"decoded greedily, of each test set", greedy, NULL},
                                   {"batch", batch, NULL},
                                   {"steps", pair_steps, NULL},
                                   {"development score every", pair_every, NULL},
                                   {"learning rate", rates, NULL},
                                   {"warm-up", warmup, NULL},
                                   {"weight decay, dropout", decay_dropout, NULL}};
    static const row of_trees[] = {{"trees", trees, NULL},
                                   {"dimension, heads, feed-forward", widths, NULL},
                                   {"samples: train, development, test", samples, NULL},
                                   {"decoded greedily, of each test set", greedy, NULL},
                                   {"batch", batch, NULL},
                                   {"steps", pair_steps, NULL},
                                   {"development score every", pair_every, NULL},
                                   {"learning rate", rates, NULL}};
    check_rows("**Words**", TASKS("copy", NULL), of_words, COUNT(of_words));
    check_rows("**Trees**", TASKS("tree-copy", NULL), of_trees, COUNT(of_trees));
}

static void test_images(void **state) {
    (void)state;
    static const row rows[] = {{"dimension, heads, feed-forward, layers", model, NULL},
                               {"images: train, test", images, NULL},
                               {"batch", batch, NULL},
                               {"epochs", epochs, NULL},
                               {"learning rate", rates, NULL},
                               {"warm-up", warmup, NULL},
                               {"weight decay, label smoothing, stochastic depth", regularisation, NULL},
                               {"dropout", image_dropout, NULL},
                               {"augmentation", augmentation, NULL}};
    check_rows("**Images**", TASKS("cifar10", NULL), rows, COUNT(rows));
}

static void test_sequences(void **state) {
    (void)state;
    static const row of_problems[] = {{"dimension, heads, feed-forward, layers", model, model},
                                      {"sequences, characters", sequence, sequence},
                                      {"numbers of addition, digits", digits, NULL},
                                      {"LayerNorm", norm, norm},
                                      {"batch", batch, batch},
                                      {"steps", steps, steps},
                                      {"sequences: development, test", scored, scored},
                                      {"problems solved by decoding", greedy, NULL},
                                      {"development score every", every, evaluations},
                                      {"learning rate", rates, peak_rate},
                                      {"warm-up", warmup, warmup},
                                      {"dropout", dropout, dropout}};
    static const row of_text[] = {{"dimension, heads, feed-forward, layers", model, NULL},
                                  {"windows, tokens", sequence, NULL},
                                  {"batch", batch, NULL},
                                  {"steps", steps, NULL},
                                  {"windows: development, test", windows, NULL},
                                  {"development score every", every, NULL},
                                  {"learning rate", rates, NULL},
                                  {"dropout", dropout, NULL}};
    check_rows("**Problems**", TASKS("addition", "substring-search"), of_problems, COUNT(of_problems));
    check_rows("**Text**", TASKS("text", NULL), of_text, COUNT(of_text));
}

static void test_expressions(void **state) {
    (void)state;
    static const row rows[] = {{"dimension, heads, feed-forward, layers", model, NULL},
                               {"depth, arguments, tokens", expressions, NULL},
                               {"samples: train, development, test", large_samples, NULL},
                               {"batch", batch, NULL},
                               {"steps", passes, NULL},
                               {"development score every", every, NULL},
                               {"learning rate", rates, NULL},
                               {"dropout", dropout, NULL}};
    check_rows("**Expressions**", TASKS("listops", NULL), rows, COUNT(rows));
}

static void test_own(void **state) {
    (void)state;
    static const row rows[] = {{"dimension, heads, feed-forward, layers", model, NULL},
                               {"batch", batch, NULL},
                               {"steps", steps, NULL},
                               {"development score every", every, NULL},
                               {"learning rate", rates, NULL},
                               {"dropout", dropout, NULL}};
    check_rows("**Labelled sequences**", TASKS("classify", NULL), rows, COUNT(rows));
    static const row of_pairs[] = {{"dimension, heads, feed-forward", widths, NULL},
                                   {"layers", pair_layers, NULL},
                                   {"decoded greedily, of each test set", greedy, NULL},
                                   {"batch", batch, NULL},
                                   {"steps", steps, NULL},
                                   {"development score every", every, NULL},
                                   {"learning rate", rates, NULL},
                                   {"dropout", dropout, NULL}};
    static const row of_pictures[] = {{"dimension, heads, feed-forward, layers", model, NULL},
                                      {"batch", batch, NULL},
                                      {"epochs", only_epochs, NULL},
                                      {"learning rate", rates, NULL},
                                      {"augmentation", augmentation, NULL}};
    check_rows("**Own pictures**", TASKS("images", NULL), of_pictures, COUNT(of_pictures));
    check_rows("**Own pairs**", TASKS("pairs", NULL), of_pairs, COUNT(of_pairs));
}

/* ---- hashes ---- */

/* Of all that decides parameters or scores, in either set-up. Runs in stores are named by them. */
static void test_hashes(void **state) {
    (void)state;
    static const struct {
        const char *task;
        uint64_t hashes[3][2]; /* by budget, by set-up */
    } known[] = {
        {"reverse",
         {{0x541622d366ecb87d, 0x27315d05f1914b37},
          {0x19d43bca79be767c, 0xaab32350cbb3ef1c},
          {0x8bc9e339e6017b13, 0xb165ab9215e64cbd}}},
        {"repeat",
         {{0x8b1d8ad12714608e, 0xc92a3bcf396a5742},
          {0x34d54104c3da5431, 0x550f4f84d94cd20f},
          {0xe73e16f99309811e, 0x4784c041b5b9ed36}}},
        {"tree-copy",
         {{0x45ed44ea0a29ca9f, 0x1844255b6a77f696},
          {0x7a517c0230eb8b60, 0x7b8ae33edadf1a31},
          {0x0d825ade0c59e7f1, 0x61ad1a329a237374}}},
        {"tree-reorder",
         {{0x773ecf0eb0c55931, 0x2fac6d7bbb93a2fc},
          {0x5d8566dc90dda03a, 0x233b7244850045af},
          {0x95251471a46d21db, 0xf10d9b043b16121a}}},
        {"tree-c3",
         {{0x1a8925b5f3ed6e64, 0xf405c3cb0a2a6387},
          {0x1f7b6da9317bbc6d, 0x8974c83c1aaa176a},
          {0x4ef221f2379258e8, 0x01a0b2fb934327af}}},
        {"tree-ops",
         {{0x84c66dff6c1ddbfb, 0x3b6b51d669cc036a},
          {0xb9b6aa44ca278ece, 0xad4fc06be64493eb},
          {0x12190d2e3b4baf45, 0xa9e450c51577591c}}},
        {"cifar10",
         {{0x4e833831d8d6b264, 0xff2f0e037bfb3242},
          {0xecc177a76e438a95, 0x6f3b499feae5704f},
          {0x30d4ab5b66f0cd2a, 0xa74fe4c52d3e9c92}}},
        {"addition",
         {{0x07b379de2c70af79, 0x1f6095da82f6690d},
          {0xb02ba04b579c22b7, 0xa3a0765431a082eb},
          {0x273050422ebca5b6, 0x4bfef29c8429e9e4}}},
        {"substring-index",
         {{0xc28ce27a8d99f7d9, 0x2f35df837d2fcab5},
          {0xe90fb3a0486612b9, 0x42001cb961e125fd},
          {0x7a3d8efa7c60fae6, 0xaea645288fed5af8}}},
        {"substring-search",
         {{0xae8fa2ad88ec2dd3, 0x0fa6a365ac361c53},
          {0x5545dbfe10cdd849, 0x6a060aec790a5149},
          {0x8bf282549d1a5b98, 0xaf6e79f602a81278}}},
        {"text",
         {{0x9677ed0ddb4bcffd, 0x62821cd76a28b0c5},
          {0x7d9524a331160103, 0xf643a3939dac0c1d},
          {0xc167a3b440e882db, 0x17ba4545057ad8e5}}},
        {"listops",
         {{0x190d10f59a0c058f, 0xca3a69cb97bcb3f3},
          {0x7e0b701b87623bc9, 0x553a50ec3ce92939},
          {0xe92c932553a49f9c, 0x8b651221ce91778c}}},
    };
    for (size_t i = 0; i < COUNT(known); i++) {
        for (size_t b = 0; b < 3; b++) {
            for (int setup = 0; setup < 2; setup++) {
                const lab_train_config config = budget_of(known[i].task, names[b], (lab_setup)setup);
                const uint64_t hash = lab_config_hash(&config);
                if (hash != known[i].hashes[b][setup]) {
                    fail_msg("%s, %s, %s: %016" PRIx64 ", not %016" PRIx64, known[i].task, names[b],
                             lab_setup_name(config.setup), hash, known[i].hashes[b][setup]);
                }
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs),       cmocka_unit_test(test_images), cmocka_unit_test(test_sequences),
        cmocka_unit_test(test_expressions), cmocka_unit_test(test_own),    cmocka_unit_test(test_hashes),
    };
    return cmocka_run_group_tests(tests, open_page, close_page);
}
