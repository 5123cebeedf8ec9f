/* SPDX-License-Identifier: MIT */
/* Verdicts on made-up tables: which fields a claim compares and how many comparisons share its 5 %, clear orders,
 * overlaps, one seed, two, missing fields, ties, chance, who is still learning, ablations, losses, margins, fields that
 * make no sense; and what the published numbers themselves say to the claims. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "report/reproduction/claims.h"
#include "report/reproduction/reproduction_report.h"
#include "unit/scratch_folder.h"
#include "unit/small_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static char folder[512]; /* of a text of 300 tokens */
static lab_reproduction table;
static lab_result result;
static lab_findings findings;

static void make(const lab_reproduction_request *request) {
    locus_error failed;
    memset(&result, 0, sizeof result);
    if (lab_reproduction_make(&table, request, &failed) != LOCUS_OK)
        fail_msg("%s: %s", request->table, failed.message);
    for (size_t i = 0; i < LAB_MOST_COLUMNS; i++) {
        result.chance[i] = 0.05;
        result.samples[i] = table.columns[0].config.test_samples;
    }
}

static size_t row_of(const char *key) {
    for (size_t i = 0; i < table.row_count; i++)
        if (strcmp(table.columns[0].rows[i].key, key) == 0)
            return i;
    fail_msg("no row '%s'", key);
    return 0;
}

/* `count` seeds of that mean and deviation, made of values. */
static lab_statistic seeds(double mean, double deviation, size_t count) {
    double values[3] = {mean, mean, mean};
    if (count == 2) {
        values[0] += deviation / sqrt(2);
        values[1] -= deviation / sqrt(2);
    } else if (count == 3) {
        values[0] += deviation;
        values[2] -= deviation;
    }
    return lab_statistic_of(values, count);
}

/* The score of a field by its column's measure; where its scheme makes no sense it stays empty. */
static void set(const char *key, size_t column, double mean, double deviation, size_t count) {
    lab_field *field = &result.fields[row_of(key)][column];
    const lab_measure measure = table.columns[column].measure;
    lab_statistic *scores[] = {&field->accuracy, &field->greedy_exact, &field->loss, &field->perplexity};
    if (!lab_reproduction_has(&table, row_of(key), column))
        return;
    *scores[measure] = seeds(mean, deviation, count);
    assert_ptr_equal(lab_field_score(field, measure), scores[measure]);
    field->done = count;
    field->of = 3;
    field->learning = (lab_learning){.curves = count, .runs = count};
}

/* What the development score of a field gained in the last third of the steps. */
static void set_gain(const char *key, size_t column, double gain) {
    result.fields[row_of(key)][column].learning.gain = gain;
}

static const lab_statistic *score_in(const char *key, size_t column) {
    return lab_field_score(&result.fields[row_of(key)][column], table.columns[column].measure);
}

static size_t column_of(const char *name) {
    for (size_t i = 0; i < table.column_count; i++)
        if (strcmp(table.columns[i].name, name) == 0)
            return i;
    fail_msg("no column '%s'", name);
    return 0;
}

/* The same in all columns. */
static void set_all(const char *key, double mean, double deviation, size_t count) {
    for (size_t column = 0; column < table.column_count; column++)
        set(key, column, mean, deviation, count);
}

static const lab_finding *find(const char *id, const char *variant) {
    locus_error failed;
    lab_findings_free(&findings);
    assert_int_equal(lab_findings_make(&findings, &table, &result, &failed), LOCUS_OK);
    for (size_t i = 0; i < findings.count; i++)
        if (strcmp(findings.findings[i].claim->id, id) == 0 && strcmp(findings.findings[i].variant, variant) == 0)
            return &findings.findings[i];
    return NULL;
}

/* Of words and trees with the embeddings that there are first. */
static const char *variant(void) {
    const lab_reproduction_column *column = &table.columns[0];
    return column->class->size == NULL                                 ? ""
           : column->config.model.embedding_init == LAB_EMBEDDING_UNIT ? "unit"
                                                                       : "scaled";
}

static const lab_finding *found(const char *id) {
    const lab_finding *finding = find(id, variant());
    if (finding == NULL)
        fail_msg("nothing of '%s'", id);
    return finding;
}

static lab_verdict verdict(const char *id) {
    const lab_finding *finding = find(id, variant());
    assert_non_null(finding);
    return finding->verdict;
}

static void make_words(size_t count) {
    make(&(lab_reproduction_request){.table = "table1", .budget = "smoke", .inits = LAB_INITS_SCALED});
    set_all("sinusoidal", 0.20, 0.002, count);
    set_all("relative", 0.70, 0.01, count);
    set_all("rope", 0.90, 0.01, count);
    set_all("algebraic-seq", 0.98, 0.002, count);
}

/* p = 0.5 and q = 0.5 of 10,000 images: 1.96 sqrt(0.5 / 10000). */
static void test_binomial(void **state) {
    (void)state;
    assert_true(fabs(lab_binomial_half_width(0.5, 0.5, 10000) - 0.0138590) < 1e-6);
    assert_true(isinf(lab_binomial_half_width(0.5, 0.5, 0)));
}

static void test_clear(void **state) {
    (void)state;
    make_words(3);
    assert_int_equal(verdict("best"), LAB_SUPPORTED);
    assert_int_equal(verdict("against-relative"), LAB_SUPPORTED);
    assert_int_equal(verdict("sinusoidal-chance"), LAB_CONTRADICTED);
    assert_int_equal(verdict("sinusoidal-last"), LAB_SUPPORTED);
    const lab_finding *finding = found("relative-reverse");
    assert_int_equal(finding->verdict, LAB_SUPPORTED);
    assert_int_equal(finding->item_count, 4); /* rope and algebraic, on reverse and repeat but not on copy */
    assert_null(find("decay", variant()));    /* there are no pairs */
    /* The other way round in one column is enough. */
    set("rope", 1, 0.9999, 0.0001, 3);
    set("algebraic-seq", 1, 0.95, 0.002, 3);
    finding = found("best");
    assert_int_equal(finding->verdict, LAB_CONTRADICTED);
    assert_int_equal(finding->counts[LAB_CONTRADICTED], 1);
    assert_int_equal(finding->counts[LAB_SUPPORTED], 2);
    assert_true(fabs(finding->items[1].margin - 0.01) < 1e-12);
    set_all("sinusoidal", 0.995, 0.001, 3);
    assert_int_equal(verdict("sinusoidal-last"), LAB_CONTRADICTED);
}

/* All comparisons of a claim share the 5 %: three rivals in three columns, the bound of chance in three. */
static void test_comparisons(void **state) {
    (void)state;
    const struct {
        const char *id;
        size_t m, items;
    } counts[] = {{"best", 9, 3},
                  {"against-relative", 3, 3},
                  {"sinusoidal-chance", 3, 3},
                  {"sinusoidal-last", 9, 9},
                  {"relative-reverse", 4, 4}};
    char *columns[] = {(char[]){"reverse"}}, *rows[] = {(char[]){"rope"}, (char[]){"relative"}};
    make_words(3);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        const lab_finding *finding = found(counts[i].id);
        assert_int_equal(finding->comparisons, counts[i].m);
        assert_int_equal(finding->item_count, counts[i].items);
    }
    const lab_statistic *one = score_in("rope", 1), *other = score_in("relative", 1);
    const lab_claim_item *item = &found("relative-reverse")->items[0];
    const lab_contrast contrast = lab_contrast_two(one, other, item->miss);
    assert_true(fabs(item->contrast.half_width - contrast.half_width) < 1e-12);
    assert_true(item->miss >= 0.05 / 4 && item->miss <= 0.05);
    /* Whoever measures a part of the table has not asked fewer questions. */
    make(&(lab_reproduction_request){
        .table = "table1", .budget = "smoke", .columns = columns, .column_count = 1, .rows = rows, .row_count = 2});
    set_all("relative", 0.70, 0.01, 3);
    set_all("rope", 0.90, 0.01, 3);
    const lab_finding *finding = find("relative-reverse", "unit");
    assert_int_equal(finding->item_count, 1);
    assert_int_equal(finding->comparisons, 4);
    assert_int_equal(find("relative-reverse", "scaled")->comparisons, 4);
}

/* Separated alone, but not as one of three that are left when the surer six are decided. */
static void test_correction(void **state) {
    (void)state;
    make_words(3);
    set_all("relative", 0.30, 0.03, 3);
    const lab_contrast alone = lab_contrast_two(score_in("relative", 0), score_in("sinusoidal", 0), 0.05);
    assert_true(lab_contrast_separates(&alone));
    const lab_finding *finding = found("sinusoidal-last");
    assert_int_equal(finding->verdict, LAB_OPEN);
    assert_int_equal(finding->counts[LAB_OPEN], 3);
    assert_int_equal(finding->items[0].reason, LAB_REASON_INTERVAL);
    assert_true(fabs(finding->items[0].miss - 0.05 / 3) < 1e-12 && finding->items[0].p > 0.02);
    set("relative", 0, 0.70, 0.01, 3); /* one of two */
    set("relative", 1, 0.70, 0.01, 3); /* alone */
    assert_int_equal(found("sinusoidal-last")->verdict, LAB_SUPPORTED);
    assert_true(fabs(found("sinusoidal-last")->items[6].miss - 0.05) < 1e-12);
}

static void test_overlap(void **state) {
    (void)state;
    make_words(3);
    /* Behind by the margin or so: not told. */
    set("rope", 0, 0.985, 0.004, 3);
    set("algebraic-seq", 0, 0.975, 0.004, 3);
    assert_int_equal(verdict("best"), LAB_OPEN);
    /* A rival's deviation is no support. */
    set("rope", 0, 0.985, 0.04, 3);
    assert_int_equal(verdict("best"), LAB_OPEN);
    /* Behind, but by less than the margin. */
    set("rope", 0, 0.982, 0.0005, 3);
    set("algebraic-seq", 0, 0.980, 0.0005, 3);
    assert_int_equal(verdict("best"), LAB_SUPPORTED);
    /* An order that is not told apart. */
    set_all("relative", 0.20, 0.05, 3);
    assert_int_equal(verdict("sinusoidal-last"), LAB_OPEN);
}

static void test_ties(void **state) {
    (void)state;
    make_words(3);
    set_all("rope", 1.0, 0, 3);
    set_all("relative", 1.0, 0, 3);
    set_all("algebraic-seq", 1.0, 0, 3);
    assert_int_equal(verdict("best"), LAB_SUPPORTED);
    assert_int_equal(verdict("relative-reverse"), LAB_OPEN);
}

/* Who is still learning is behind nobody, and a rival that is may yet be ahead. */
static void test_learning(void **state) {
    (void)state;
    make_words(3);
    set_gain("sinusoidal", 2, 0.02);
    const lab_finding *finding = found("sinusoidal-last");
    assert_int_equal(finding->verdict, LAB_OPEN);
    assert_int_equal(finding->counts[LAB_OPEN], 3);
    assert_int_equal(finding->items[8].reason, LAB_REASON_LEARNING);
    assert_int_equal(finding->items[8].learner, row_of("sinusoidal"));
    assert_int_equal(finding->items[8].learner_column, 2);
    set_gain("sinusoidal", 2, 0.005);
    assert_int_equal(verdict("sinusoidal-last"), LAB_SUPPORTED);
    set_gain("rope", 1, 0.02);
    finding = found("best");
    assert_int_equal(finding->counts[LAB_OPEN], 1);
    assert_int_equal(finding->items[1].learner, row_of("rope"));
    /* The leader's own progress takes nothing back. */
    set_gain("rope", 1, 0);
    set_gain("algebraic-seq", 1, 0.5);
    assert_int_equal(verdict("best"), LAB_SUPPORTED);
    /* No curve, no verdict. */
    result.fields[row_of("rope")][1].learning.curves = 2;
    finding = found("best");
    assert_int_equal(finding->items[1].reason, LAB_REASON_NO_CURVE);
    /* At chance: as if it had not begun, unless longer trainings stay there. */
    set("sinusoidal", 0, 0.10, 0.002, 3);
    finding = found("sinusoidal-last");
    assert_int_equal(finding->items[0].reason, LAB_REASON_NOT_BEGUN);
    lab_learning *learning = &result.fields[row_of("sinusoidal")][0].learning;
    learning->longer = seeds(0.104, 0.002, 3);
    learning->longer_steps = 100000;
    assert_int_equal(found("sinusoidal-last")->items[0].verdict, LAB_SUPPORTED);
    learning->longer = seeds(0.5, 0.002, 3);
    assert_int_equal(found("sinusoidal-last")->items[0].reason, LAB_REASON_LEARNING);
}

static void test_one_seed(void **state) {
    (void)state;
    make_words(1);
    for (size_t i = 0; i < lab_claim_count(); i++)
        if (lab_claim_at(i)->table != NULL && strcmp(lab_claim_at(i)->table, "table1") == 0)
            assert_int_equal(verdict(lab_claim_at(i)->id), LAB_OPEN);
    assert_int_equal(found("best")->items[0].reason, LAB_REASON_SEEDS);
    assert_true(found("best")->items[0].binomial < 1e-300); /* words: tokens of a word are not independent */
    make(&(lab_reproduction_request){.table = "table3", .budget = "smoke"});
    set_all("sinusoidal", 0.60, 0, 1);
    set_all("learned", 0.59, 0, 1);
    set_all("algebraic-seq", 0.50, 0, 1);
    set_all("algebraic-grid", 0.70, 0, 1);
    const lab_finding *finding = found("sequential-drop");
    assert_int_equal(finding->verdict, LAB_OPEN);
    assert_true(fabs(finding->items[0].contrast.difference - 0.2) < 1e-12);
    assert_true(fabs(finding->items[0].binomial - lab_binomial_half_width(0.7, 0.5, result.samples[0])) < 1e-12);
}

/* Two seeds have an interval, and decide nothing. */
static void test_two_seeds(void **state) {
    (void)state;
    make_words(3);
    set_all("rope", 0.90, 0, 2);
    set_all("algebraic-seq", 0.98, 0, 3);
    const lab_finding *finding = found("best");
    assert_int_equal(finding->counts[LAB_OPEN], 3);
    assert_int_equal(finding->items[0].reason, LAB_REASON_SEEDS);
    assert_int_equal(finding->items[0].contrast.seeds, 2);
    assert_true(isfinite(finding->items[0].contrast.half_width));
}

static void test_missing(void **state) {
    (void)state;
    make_words(3);
    set("algebraic-seq", 2, 0, 0, 0);
    const lab_finding *finding = found("best");
    assert_int_equal(finding->verdict, LAB_OPEN);
    assert_int_equal(finding->counts[LAB_OPEN], 1);
    assert_int_equal(finding->items[2].reason, LAB_REASON_MISSING);
    /* A missing rival keeps the question open as well: it may be better. */
    make_words(3);
    set("rope", 0, 0, 0, 0);
    assert_int_equal(verdict("best"), LAB_OPEN);
    /* But not where another rival contradicts already. */
    set("relative", 0, 1.0, 0, 3);
    set("algebraic-seq", 0, 0.95, 0.002, 3);
    assert_int_equal(verdict("best"), LAB_CONTRADICTED);
    /* Nothing at all. */
    make(&(lab_reproduction_request){.table = "table1", .budget = "smoke", .inits = LAB_INITS_SCALED});
    assert_int_equal(verdict("best"), LAB_OPEN);
    assert_int_equal(verdict("sinusoidal-chance"), LAB_OPEN);
    /* Rows that are not in the part that was asked for. */
    char *rows[] = {(char[]){"rope"}};
    make(&(lab_reproduction_request){.table = "table1", .budget = "smoke", .rows = rows, .row_count = 1});
    assert_null(find("best", "scaled"));
}

/* One measured row is enough to say it of a column, none is not. */
static void test_columns_at_chance(void **state) {
    (void)state;
    make_words(3);
    for (size_t row = 0; row < table.row_count; row++)
        set(table.columns[0].rows[row].key, 0, 0.5, 0.001, 0);
    assert_false(lab_column_at_chance(&table, &result, 0));
    set("rope", 0, 0.10, 0.001, 1);
    assert_true(lab_column_at_chance(&table, &result, 0));
    set("rope", 0, 0.20, 0.001, 1);
    assert_false(lab_column_at_chance(&table, &result, 0));
}

static void test_chance(void **state) {
    (void)state;
    make_words(3);
    set_all("sinusoidal", 0.06, 0.002, 3);
    assert_int_equal(verdict("sinusoidal-chance"), LAB_SUPPORTED);
    set_gain("sinusoidal", 1, 0.02); /* still at chance, but it rises */
    assert_int_equal(found("sinusoidal-chance")->items[1].reason, LAB_REASON_LEARNING);
    set("sinusoidal", 1, 0.144, 0.01, 3);
    assert_int_equal(found("sinusoidal-chance")->items[1].reason, LAB_REASON_INTERVAL);
    assert_false(lab_column_at_chance(&table, &result, 0));
    set("relative", 0, 0.10, 0.001, 3); /* the bound is 0.145 */
    set("rope", 0, 0.14, 0.001, 3);
    set("algebraic-seq", 0, 0.12, 0.001, 3);
    assert_true(lab_column_at_chance(&table, &result, 0));
    const lab_finding *finding = found("best");
    assert_int_equal(finding->verdict, LAB_OPEN);
    assert_int_equal(finding->items[0].reason, LAB_REASON_CHANCE);
    assert_int_equal(verdict("sinusoidal-last"), LAB_OPEN);
    /* Alone at chance, after all steps: it may not have begun. */
    set("rope", 0, 0.30, 0.001, 3);
    assert_false(lab_column_at_chance(&table, &result, 0));
    finding = found("best");
    assert_int_equal(finding->verdict, LAB_OPEN);
    assert_int_equal(finding->items[0].reason, LAB_REASON_NOT_BEGUN);
    set("algebraic-seq", 0, 0.20, 0.001, 3);
    assert_int_equal(verdict("best"), LAB_CONTRADICTED);
}

/* Both initialisations: a claim is judged for each by itself. */
static void test_initialisations(void **state) {
    (void)state;
    make(&(lab_reproduction_request){.table = "table1", .budget = "smoke"});
    set_all("relative", 0.70, 0.01, 3);
    set_all("rope", 0.90, 0.01, 3);
    set_all("algebraic-seq", 0.98, 0.002, 3);
    for (size_t column = 0; column < table.column_count; column++) {
        bool unit = table.columns[column].config.model.embedding_init == LAB_EMBEDDING_UNIT;
        set("sinusoidal", column, unit ? 0.06 : 0.99, 0.001, 3);
    }
    assert_int_equal(find("sinusoidal-chance", "unit")->verdict, LAB_SUPPORTED);
    assert_int_equal(find("sinusoidal-chance", "scaled")->verdict, LAB_CONTRADICTED);
    assert_int_equal(find("best", "unit")->verdict, LAB_OPEN); /* a rival that has not left chance may not have begun */
    assert_int_equal(find("best", "unit")->items[0].reason, LAB_REASON_NOT_BEGUN);
    assert_int_equal(find("best", "unit")->comparisons, 9);
    assert_int_equal(find("best", "scaled")->verdict, LAB_OPEN); /* 0.99 ±0.001 is not told from 0.98 ±0.002 + 0.01 */
}

/* Factors: five variants, each judged by itself. */
static void test_variants(void **state) {
    (void)state;
    static const char *const variants[] = {"scaled", "unit", "unit positions", "unit logits", "unit both"};
    char *const columns[] = {(char[]){"copy"}};
    make(&(lab_reproduction_request){
        .table = "table1", .budget = "smoke", .factors = true, .columns = columns, .column_count = 1});
    set_all("relative", 0.70, 0.01, 3);
    set_all("rope", 0.90, 0.01, 3);
    set_all("algebraic-seq", 0.98, 0.002, 3);
    for (size_t column = 0; column < 5; column++)
        set("sinusoidal", column, column == 1 || column == 2 ? 0.06 : 0.99, 0.001, 3);
    for (size_t v = 0; v < 5; v++) {
        assert_int_equal(find("sinusoidal-chance", variants[v])->item_count, 1);
        assert_int_equal(find("sinusoidal-chance", variants[v])->verdict,
                         v == 1 || v == 2 ? LAB_SUPPORTED : LAB_CONTRADICTED);
    }
}

static void test_decay(void **state) {
    (void)state;
    make(&(lab_reproduction_request){
        .table = "table1", .budget = "smoke", .inits = LAB_INITS_SCALED, .decay = LAB_DECAY_BOTH});
    set_all("sinusoidal", 0.20, 0.001, 3);
    set_all("relative", 0.70, 0.01, 3);
    set_all("rope", 0.90, 0.001, 3);
    set_all("rope-decay", 1.0, 0, 3); /* above algebraic, but not a scheme of the published table */
    set_all("algebraic-seq", 0.98, 0.001, 3);
    set_all("algebraic-seq-plain", 0.97, 0.001, 3);
    assert_int_equal(verdict("best"), LAB_SUPPORTED);
    const lab_finding *finding = found("decay");
    assert_int_equal(finding->verdict, LAB_SUPPORTED);
    assert_int_equal(finding->item_count, 6); /* rope and algebraic in three columns, with less without */
    assert_true(fabs(finding->items[0].contrast.difference - 0.1) < 1e-12);
    set_gain("algebraic-seq-plain", 1, 0.3); /* after the same steps: who is still learning may be behind */
    assert_int_equal(verdict("decay"), LAB_SUPPORTED);
    set("algebraic-seq-plain", 1, 0.99, 0.001, 3);
    assert_int_equal(verdict("decay"), LAB_CONTRADICTED);
}

/* What flattening costs: tree less seq is 0.01 breadth-first and 0.20 depth-first. */
static void test_less(void **state) {
    (void)state;
    make(&(lab_reproduction_request){.table = "table2", .budget = "smoke"});
    set_all("algebraic-tree", 0.99, 0.001, 3);
    for (size_t column = 0; column < table.column_count; column++) {
        set("algebraic-seq", column, lab_config_order(&table.columns[column].config) == LAB_ORDER_DEPTH ? 0.79 : 0.98,
            0.001, 3);
    }
    const lab_finding *finding = found("flat-breadth");
    assert_int_equal(finding->verdict, LAB_SUPPORTED);
    assert_int_equal(finding->comparisons, 4);
    assert_int_equal(finding->item_count, 4);
    assert_true(fabs(finding->items[0].contrast.difference - 0.19) < 1e-12);
    set_gain("algebraic-seq", column_of("tree-copy-depth"), 0.02);
    assert_int_equal(found("flat-breadth")->items[0].reason, LAB_REASON_LEARNING);
    set_gain("algebraic-seq", column_of("tree-copy-depth"), 0);
    set("algebraic-seq", 0, 0.5, 0.001, 3);
    assert_int_equal(verdict("flat-breadth"), LAB_CONTRADICTED);
    /* Where neither has learned anything, differences say nothing. */
    set("algebraic-tree", 1, 0.061, 0.0001, 3);
    set("algebraic-seq", 1, 0.060, 0.0001, 3);
    finding = found("flat-breadth");
    assert_int_equal(finding->items[0].reason, LAB_REASON_CHANCE);
    assert_int_equal(finding->items[0].verdict, LAB_OPEN);
}

/* One of two schemes is behind: the other one, not measured yet or left out, may still be the best. */
static void test_subject_missing(void **state) {
    (void)state;
    make(&(lab_reproduction_request){.table = "table2", .budget = "smoke"});
    assert_false(table.part);
    set_all("algebraic-seq", 0.60, 0.001, 3);
    set_all("rope", 0.90, 0.001, 3);
    set_all("sinusoidal", 0.30, 0.001, 3);
    set_all("shiv-quirk", 0.50, 0.001, 3);
    assert_int_equal(verdict("best"), LAB_OPEN);
    assert_int_equal(found("best")->items[0].reason, LAB_REASON_MISSING);
    assert_int_equal(verdict("tree-best"), LAB_OPEN);
    set_all("algebraic-tree", 0.80, 0.001, 3);
    assert_int_equal(verdict("best"), LAB_CONTRADICTED);
    assert_int_equal(found("best")->items[0].subject, row_of("algebraic-tree")); /* who is behind by less */
    assert_int_equal(found("best")->comparisons, 2 * 3 * 8);                     /* both are compared */
    set_gain("algebraic-tree", 0, 0.02);
    assert_int_equal(found("best")->items[0].reason, LAB_REASON_LEARNING);
    /* One that is not behind supports the column, whatever becomes of the other. */
    set("algebraic-tree", 0, 0.905, 0.001, 3);
    assert_int_equal(found("best")->items[0].verdict, LAB_SUPPORTED);
    char *rows[] = {(char[]){"rope"}, (char[]){"algebraic-seq"}};
    make(&(lab_reproduction_request){.table = "table2", .budget = "smoke", .rows = rows, .row_count = 2});
    assert_true(table.part);
    set_all("algebraic-seq", 0.60, 0.001, 3);
    set_all("rope", 0.90, 0.001, 3);
    assert_int_equal(found("best")->items[0].reason, LAB_REASON_SUBJECT);
    assert_int_equal(verdict("best"), LAB_OPEN);
}

/* The published means and deviations, these rounded up; three repetitions each, but one of what has no deviation, so
 * that it has no interval. Nothing is published that says who was still learning:
 * `converged` takes it that nobody was. */
static void fill_published(const char *name, bool converged) {
    make(&(lab_reproduction_request){.table = name, .budget = "paper", .inits = LAB_INITS_AS_PUBLISHED_TABLE});
    for (size_t i = 0; i < table.row_count * table.column_count; i++) {
        const lab_reproduction_column *column = &table.columns[i / table.row_count];
        const lab_scheme *scheme = &column->rows[i % table.row_count];
        const lab_published *published = lab_published_look(
            column->config.task->name, lab_config_order(&column->config), column->span, scheme->spec);
        assert_non_null(published);
        const bool whole = published->deviation >= 0;
        set(scheme->key, i / table.row_count, published->accuracy, whole ? published->deviation + 0.0005 : 0,
            whole ? 3 : 1);
        if (!converged)
            result.fields[i % table.row_count][i / table.row_count].learning.curves = 0;
    }
}

/* What docs/reproduction.md says of the published tables. */
static void test_published(void **state) {
    (void)state;
    fill_published("table3", true);
    assert_int_equal(verdict("best"), LAB_SUPPORTED);
    assert_int_equal(verdict("against-learned"), LAB_SUPPORTED);
    assert_int_equal(verdict("sequential-drop"), LAB_SUPPORTED);
    assert_int_equal(verdict("wrong-bias"), LAB_SUPPORTED);
    assert_int_equal(verdict("above-additive"), LAB_SUPPORTED);
    fill_published("table2", true);
    const lab_finding *finding = found("best");
    assert_int_equal(finding->verdict, LAB_OPEN); /* three repetitions, 48 comparisons */
    assert_int_equal(finding->counts[LAB_OPEN], 8);
    finding = found("tree-best");
    assert_int_equal(finding->counts[LAB_OPEN], 8);
    finding = found("against-shiv-quirk");
    assert_int_equal(finding->verdict, LAB_OPEN);
    assert_int_equal(finding->counts[LAB_SUPPORTED], 4);
    finding = found("flat-depth");
    assert_int_equal(finding->verdict, LAB_OPEN);
    assert_int_equal(finding->counts[LAB_SUPPORTED], 9);
    assert_int_equal(finding->counts[LAB_CONTRADICTED], 0);
    assert_int_equal(verdict("flat-breadth"), LAB_OPEN);
    assert_int_equal(verdict("sinusoidal-last"), LAB_OPEN);
    fill_published("table1", true);
    assert_int_equal(verdict("relative-reverse"), LAB_SUPPORTED);
    assert_int_equal(verdict("best"), LAB_OPEN);
    assert_int_equal(verdict("sinusoidal-chance"), LAB_OPEN);
    fill_published("table3", false);
    assert_int_equal(verdict("best"), LAB_OPEN);
    assert_int_equal(found("best")->items[0].reason, LAB_REASON_NO_CURVE);
}

/* ---- RoPER: shares solved, losses ---- */

static void make_roper(bool more) {
    make(&(lab_reproduction_request){.table = "roper", .budget = "smoke", .data_path = folder, .more = more});
    set_all("rope", 0.50, 0.01, 3);
    set_all("roper", 0.60, 0.01, 3);
    set("rope", column_of("substring-search"), 0.90, 0.002, 3);
    set("roper", column_of("substring-search"), 0.80, 0.002, 3);
    set("rope", column_of("text-loss"), 2.000, 0.004, 3);
    set("roper", column_of("text-loss"), 2.002, 0.004, 3);
}

static void test_lower_is_better(void **state) {
    (void)state;
    make_roper(false);
    assert_int_equal(verdict("solves-more"), LAB_SUPPORTED);
    const lab_finding *finding = found("search-loss");
    assert_int_equal(finding->verdict, LAB_SUPPORTED);
    assert_int_equal(finding->item_count, 1);
    assert_true(fabs(finding->items[0].contrast.difference + 0.1) < 1e-12); /* below */
    assert_true(fabs(finding->items[0].lead - 0.1) < 1e-12);                /* is ahead */
    set("roper", column_of("substring-search"), 0.95, 0.002, 3);
    assert_int_equal(verdict("search-loss"), LAB_CONTRADICTED);
    set("roper", column_of("substring-search"), 0.89, 0.02, 3);
    assert_int_equal(verdict("search-loss"), LAB_OPEN);
    set("roper", column_of("substring-index"), 0.40, 0.01, 3);
    assert_int_equal(found("solves-more")->counts[LAB_CONTRADICTED], 1);
    /* Nobody solves anything: no difference, and the column is said to say nothing. */
    set("roper", column_of("addition"), 0, 0, 3);
    set("rope", column_of("addition"), 0, 0, 3);
    assert_true(lab_column_at_chance(&table, &result, column_of("addition")));
    assert_int_equal(found("solves-more")->counts[LAB_OPEN], 1);
    set("rope", column_of("addition"), 0.01, 0.005, 3);
    assert_false(lab_column_at_chance(&table, &result, column_of("addition")));
    assert_false(lab_column_at_chance(&table, &result, column_of("text-loss")));
}

/* The margin is 0.02 nats, the half width of deviations 0.004 over three seeds each 2.7764 · 0.004 · √(2/3) = 0.0091.
 */
static void test_margins(void **state) {
    (void)state;
    const struct {
        double roper, deviation;
        lab_verdict unhurt, similar;
    } cases[] = {
        {2.002, 0.004, LAB_SUPPORTED, LAB_SUPPORTED},
        {2.010, 0.004, LAB_SUPPORTED, LAB_SUPPORTED},
        {2.015, 0.004, LAB_OPEN, LAB_OPEN},
        {2.030, 0.004, LAB_CONTRADICTED, LAB_CONTRADICTED},
        {1.900, 0.004, LAB_SUPPORTED, LAB_CONTRADICTED},
        {1.985, 0.004, LAB_SUPPORTED, LAB_OPEN},
        {2.002, 0.400, LAB_OPEN, LAB_OPEN},
    };
    make_roper(false);
    const size_t text = column_of("text-loss");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        set("roper", text, cases[i].roper, cases[i].deviation, 3);
        set("rope", text, 2.000, cases[i].deviation, 3);
        const lab_finding *finding = found("text-unhurt");
        assert_int_equal(finding->item_count, 1); /* the loss; perplexity says the same in other numbers */
        assert_int_equal(finding->comparisons, 1);
        assert_true(fabs(finding->items[0].margin - 0.02) < 1e-12);
        assert_int_equal(finding->verdict, cases[i].unhurt);
        assert_int_equal(verdict("text-similar"), cases[i].similar);
    }
    set("roper", text, 2.0, 0, 1);
    assert_int_equal(verdict("text-unhurt"), LAB_OPEN);
    set("roper", text, 0, 0, 0);
    assert_int_equal(verdict("text-similar"), LAB_OPEN);
}

/* A loss falls as its scheme learns: who is behind may catch up, and who is ahead takes nothing back. */
static void test_losses_learn(void **state) {
    (void)state;
    make_roper(false);
    const size_t text = column_of("text-loss");
    set("roper", text, 1.95, 0.004, 3);
    set_gain("roper", text, 0.5);
    assert_int_equal(verdict("text-unhurt"), LAB_SUPPORTED);
    assert_int_equal(verdict("text-similar"), LAB_CONTRADICTED);
    set_gain("rope", text, 0.03);
    const char *const claims[] = {"text-unhurt", "text-similar"};
    for (size_t i = 0; i < 2; i++) {
        const lab_finding *finding = found(claims[i]);
        assert_int_equal(finding->items[0].reason, LAB_REASON_LEARNING);
        assert_int_equal(finding->items[0].learner, row_of("rope"));
    }
    set("roper", text, 2.05, 0.004, 3);
    set_gain("roper", text, 0.5);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(found(claims[i])->items[0].learner, row_of("roper"));
    set_gain("roper", text, 0.01);
    assert_int_equal(verdict("text-unhurt"), LAB_CONTRADICTED);
    assert_int_equal(verdict("text-similar"), LAB_CONTRADICTED);
}

/* What is solved, and the loss, after the same steps: no curve is asked for. Of the losses of a text it is. */
static void test_after_steps(void **state) {
    (void)state;
    make_roper(false);
    for (size_t i = 0; i < table.row_count * table.column_count; i++)
        result.fields[i % table.row_count][i / table.row_count].learning.curves = 0;
    assert_int_equal(verdict("solves-more"), LAB_SUPPORTED);
    assert_int_equal(verdict("search-loss"), LAB_SUPPORTED);
    assert_int_equal(found("text-unhurt")->items[0].reason, LAB_REASON_NO_CURVE);
    assert_int_equal(found("text-similar")->items[0].reason, LAB_REASON_NO_CURVE);
}

/* Which claims are: those of which the source says so. */
static void test_claims_after_steps(void **state) {
    (void)state;
    static const char *const ids[] = {"solves-more", "search-loss", "values-algebraic", "values-tree", "decay"};
    for (size_t i = 0; i < lab_claim_count(); i++) {
        const lab_claim *claim = lab_claim_at(i);
        bool wanted = false;
        for (size_t k = 0; k < sizeof ids / sizeof *ids; k++)
            wanted = wanted || strcmp(claim->id, ids[k]) == 0;
        if (claim->after_steps != wanted)
            fail_msg("%s", claim->id);
    }
}

/* Rows beyond the paper speak where they are named, and only there; fields that make no sense take no part. */
static void test_beyond(void **state) {
    (void)state;
    make_roper(true);
    set_all("algebraic-seq", 0.70, 0.01, 3);
    set_all("algebraic-seq-values", 0.80, 0.01, 3);
    set_all("algebraic-tree", 0.70, 0.01, 3);
    set_all("algebraic-tree-values", 0.80, 0.01, 3);
    assert_int_equal(verdict("solves-more"), LAB_SUPPORTED);
    const lab_finding *finding = found("values-algebraic");
    assert_int_equal(finding->item_count, 3);
    assert_int_equal(finding->counts[LAB_SUPPORTED], 2);
    assert_int_equal(finding->counts[LAB_CONTRADICTED], 1); /* the loss, which is higher */
    finding = found("values-tree");
    assert_int_equal(finding->item_count, 2);
    assert_int_equal(finding->verdict, LAB_SUPPORTED);
    for (size_t row = 0; row < table.row_count; row++) {
        const size_t tree = column_of("tree-ops-depth");
        assert_true(lab_reproduction_has(&table, row, tree) ==
                    (strncmp(table.columns[0].rows[row].key, "algebraic-tree", 14) == 0));
        assert_true(lab_reproduction_has(&table, row, tree) != lab_reproduction_has(&table, row, 0));
    }
}

/* ---- ListOps ---- */

static void test_expressions(void **state) {
    (void)state;
    make(&(lab_reproduction_request){.table = "listops", .budget = "smoke"});
    const char *const flat[] = {"sinusoidal", "learned", "chebyshev", "rope", "algebraic-seq"};
    for (size_t column = 0; column < table.column_count; column++) {
        result.chance[column] = column == 0 ? 0.14 : 0.52;
        result.uniform[column] = column == 0 ? 0.1 : 0.5;
    }
    set_all("none", 0.60, 0.002, 3);
    for (size_t i = 0; i < 5; i++)
        set_all(flat[i], 0.70 + 0.01 * (double)i, 0.002, 3);
    set_all("algebraic-tree", 0.90, 0.002, 3);
    set_all("shiv-quirk", 0.85, 0.002, 3);
    const lab_finding *finding = found("tree-flat");
    assert_int_equal(finding->verdict, LAB_SUPPORTED);
    assert_int_equal(finding->item_count, 2 * 5 * 2);
    finding = found("none-last");
    assert_int_equal(finding->verdict, LAB_SUPPORTED);
    assert_int_equal(finding->item_count, 7 * 2);
    finding = found("beats-transformer");
    assert_int_equal(finding->verdict, LAB_SUPPORTED);
    assert_int_equal(finding->item_count, 2);
    assert_null(find("published-chance", "")); /* nothing pretrained */
    assert_null(find("published-control", ""));
    /* One seed of a row that is scored on fewer expressions: their number is what tells how sure it is. */
    set("chebyshev", 0, 0.70, 0, 1);
    set("sinusoidal", 0, 0.50, 0, 1);
    assert_true(fabs(found("beats-transformer")->items[0].binomial -
                     lab_binomial_half_width(0.7, 0.5, result.samples[0])) < 1e-12);
    table.columns[0].rows[row_of("chebyshev")].pretrained = true;
    table.columns[0].pretrained.test_samples = 100;
    assert_true(result.samples[0] > 100);
    finding = found("beats-transformer");
    assert_true(fabs(finding->items[0].binomial - lab_binomial_half_width(0.7, 0.5, 100)) < 1e-12);
    assert_int_equal(lab_claim_samples(&table, &result, &finding->items[0]), 100);
    table.columns[0].rows[row_of("chebyshev")].pretrained = false;
    set("algebraic-seq", 0, 0.95, 0.002, 3);
    assert_int_equal(verdict("tree-flat"), LAB_CONTRADICTED);
    /* At chance nothing is told. */
    set_all("chebyshev", 0.53, 0.002, 3);
    set_all("sinusoidal", 0.51, 0.002, 3);
    finding = found("beats-transformer");
    assert_int_equal(finding->items[1].reason, LAB_REASON_CHANCE);
    assert_int_equal(finding->items[1].verdict, LAB_OPEN);
}

/* What is added behind a pretrained encoder, and the encoder alone. Planted: the request would read it. */
static void test_control(void **state) {
    (void)state;
    make(&(lab_reproduction_request){.table = "listops", .budget = "smoke"});
    for (size_t column = 0; column < table.column_count; column++) {
        const char *const names[] = {"chebyshev (output), pretrained", "pretrained alone"};
        for (size_t i = 0; i < 2; i++) {
            lab_scheme *row = &table.columns[column].rows[table.row_count + i];
            *row = (lab_scheme){.name = names[i], .spec = "none"};
            snprintf(row->key, sizeof row->key, "%s", i == 0 ? "pretrained" : "pretrained-none");
        }
        result.chance[column] = column == 0 ? 0.14 : 0.52;
    }
    table.row_count += 2;
    set_all("pretrained", 0.52, 0.001, 3);
    set_all("pretrained-none", 0.521, 0.001, 3);
    const lab_finding *finding = found("published-chance");
    assert_int_equal(finding->item_count, 1); /* parity */
    assert_int_equal(finding->verdict, LAB_SUPPORTED);
    finding = found("published-control");
    assert_int_equal(finding->item_count, 2);
    assert_int_equal(finding->items[0].verdict, LAB_SUPPORTED);
    assert_int_equal(finding->items[1].reason, LAB_REASON_CHANCE); /* nothing to change */
    set("pretrained-none", 0, 0.60, 0.001, 3);
    assert_int_equal(found("published-control")->verdict, LAB_CONTRADICTED);
}

/* ---- words ---- */

/* Everything that is written of a table can be written of every table, empty or full. */
static void test_words(void **state) {
    (void)state;
    for (size_t t = 0; t < lab_reproduction_table_count(); t++) {
        for (size_t count = 0; count <= 3; count++) {
            char *text = NULL;
            size_t size = 0;
            make(&(lab_reproduction_request){.table = lab_reproduction_table_name(t),
                                             .budget = "smoke",
                                             .decay = LAB_DECAY_BOTH,
                                             .data_path =
                                                 strcmp(lab_reproduction_table_name(t), "roper") == 0 ? folder : NULL,
                                             .more = true});
            for (size_t row = 0; row < table.row_count; row++)
                set_all(table.columns[0].rows[row].key, 0.5 + 0.01 * (double)row, 0.004, count);
            find("best", "");
            const lab_reproduction_view view = {&table, &result, &findings, "locus reproduce", NULL};
            FILE *stream = open_memstream(&text, &size);
            assert_non_null(stream);
            lab_legend_write(&view, stream);
            lab_claims_write(&view, stream, true);
            lab_separation_write(&view, stream, true);
            lab_deviations_write(&view, stream, true);
            fclose(stream);
            assert_non_null(strstr(text, count < 3 ? "**OPEN at budget smoke**" : " at budget smoke**"));
            assert_null(strstr(text, "nan"));
            for (const char *at = text; (at = strstr(at, "inf")) != NULL; at++)
                assert_int_equal(strncmp(at, "inferred", 8), 0);
            free(text);
        }
    }
}

/* Where nodes stand is said of the first column of trees, behind whatever columns; not of nodes at their own paths. */
static void test_paths(void **state) {
    (void)state;
    static const struct {
        lab_tree_paths paths;
        const char *said;
    } all[] = {
        {LAB_PATHS_OWN, NULL},
        {LAB_PATHS_NEXT,
         "- every node of a tree stands at the path of the next one, level by level: the paper says its "
         "own (--tree-paths next, docs/budgets.md).\n"},
        {LAB_PATHS_CODE,
         "- every node of a tree stands at the path of the next one, level by level, as in the authors' "
         "code, but for shiv-quirk: the paper says its own (--tree-paths code, docs/budgets.md).\n"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char *text = NULL;
        size_t size = 0;
        make(&(lab_reproduction_request){.table = "roper",
                                         .budget = "smoke",
                                         .data_path = folder,
                                         .more = true,
                                         .paths_given = true,
                                         .tree_paths = all[i].paths});
        assert_int_equal(table.columns[0].config.model.tree_paths, LAB_PATHS_OWN); /* no trees */
        const lab_reproduction_view view = {&table, &result, &findings, NULL, NULL};
        FILE *stream = open_memstream(&text, &size);
        assert_non_null(stream);
        lab_deviations_write(&view, stream, true);
        fclose(stream);
        assert_int_equal(strstr(text, "every node of a tree") != NULL, all[i].said != NULL);
        assert_true(all[i].said == NULL || strstr(text, all[i].said) != NULL);
        free(text);
    }
}

/* Numbers that belong to no row stand in a table of their own. */
static void test_others(void **state) {
    (void)state;
    for (size_t t = 0; t < lab_reproduction_table_count(); t++) {
        char *text = NULL;
        size_t size = 0;
        const char *name = lab_reproduction_table_name(t);
        make(&(lab_reproduction_request){.table = name, .budget = "smoke"});
        const lab_reproduction_view view = {&table, &result, &findings, NULL, NULL};
        FILE *stream = open_memstream(&text, &size);
        assert_non_null(stream);
        lab_others_write(&view, stream, true);
        fclose(stream);
        if (strcmp(name, "listops") == 0) {
            assert_non_null(strstr(text, "| Transformer | 36.37 |\n"));
            assert_non_null(strstr(text, "| Chebyshev | 49.51† |\n"));
            assert_non_null(strstr(text, "† Chebyshev: "));
        } else {
            assert_string_equal(text, "");
        }
        free(text);
    }
}

static void test_numbers(void **state) {
    (void)state;
    char text[64];
    const lab_reproduction_view view = {&table, &result, &findings, NULL, NULL};
    make_roper(false);
    const size_t addition = column_of("addition"), loss = column_of("text-loss"), rope = row_of("rope");
    assert_string_equal(lab_field_text(&view, rope, addition, text, sizeof text), "50.00 ±1.00");
    assert_string_equal(lab_field_text(&view, rope, loss, text, sizeof text), "2.0000 ±0.0040");
    assert_string_equal(lab_pair_text(&view, row_of("roper"), rope, loss, text, sizeof text), "+0.0020 ±0.0091");
    assert_string_equal(lab_pair_text(&view, row_of("roper"), rope, addition, text, sizeof text), "+10.00 ±2.27");
    /* The best: the higher share, the lower loss, and what is not told from it. */
    assert_true(lab_view_is_best(&view, row_of("roper"), addition));
    assert_false(lab_view_is_best(&view, rope, addition));
    assert_true(lab_view_is_best(&view, rope, loss) && lab_view_is_best(&view, row_of("roper"), loss));
    set("roper", loss, 1.9, 0.004, 3);
    assert_false(lab_view_is_best(&view, rope, loss));
    assert_true(lab_view_is_best(&view, row_of("roper"), loss));
    /* Nine of ten, the worst dropped: none is missing. */
    lab_field *field = &result.fields[rope][addition];
    field->of = 4;
    assert_string_equal(lab_field_text(&view, rope, addition, text, sizeof text), "50.00 ±1.00 [3 of 4]");
    field->dropped = true;
    assert_string_equal(lab_field_text(&view, rope, addition, text, sizeof text), "50.00 ±1.00");
    make_roper(true);
    assert_string_equal(lab_field_text(&view, row_of("rope"), column_of("tree-copy-depth"), text, sizeof text), "");
    assert_string_equal(lab_field_text(&view, row_of("algebraic-seq"), 0, text, sizeof text), "");
}

static int create(void **state) {
    return scratch_create(state) || small_text_create(folder, sizeof folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_variants),
        cmocka_unit_test(test_binomial),
        cmocka_unit_test(test_comparisons),
        cmocka_unit_test(test_correction),
        cmocka_unit_test(test_learning),
        cmocka_unit_test(test_two_seeds),
        cmocka_unit_test(test_losses_learn),
        cmocka_unit_test(test_after_steps),
        cmocka_unit_test(test_claims_after_steps),
        cmocka_unit_test(test_control),
        cmocka_unit_test(test_clear),
        cmocka_unit_test(test_overlap),
        cmocka_unit_test(test_ties),
        cmocka_unit_test(test_one_seed),
        cmocka_unit_test(test_missing),
        cmocka_unit_test(test_chance),
        cmocka_unit_test(test_columns_at_chance),
        cmocka_unit_test(test_initialisations),
        cmocka_unit_test(test_decay),
        cmocka_unit_test(test_less),
        cmocka_unit_test(test_subject_missing),
        cmocka_unit_test(test_published),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_lower_is_better),
        cmocka_unit_test(test_margins),
        cmocka_unit_test(test_beyond),
        cmocka_unit_test(test_expressions),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_others),
    };
    int status = cmocka_run_group_tests(tests, create, scratch_remove);
    lab_findings_free(&findings);
    return status;
}
