/* SPDX-License-Identifier: MIT */
/* Which fields of a table the claims of claims_list.c compare, and what follows for each claim. claims.h says how a
 * comparison is judged. */
#include "report/reproduction/claims.h"

#include "io/fail.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NORMAL_95 1.959964

double lab_binomial_half_width(double p, double q, size_t samples) {
    return samples == 0 ? INFINITY : NORMAL_95 * sqrt((p * (1 - p) + q * (1 - q)) / (double)samples);
}

/* ---- which rows and columns ---- */

/* What is compared: two rows of a column; of LESS also the same two of the other order's; of CHANCE one row. */
typedef struct comparison {
    size_t column, other, subject, rival; /* other, rival SIZE_MAX: none */
} comparison;

typedef struct comparisons {
    size_t count;
    comparison list[LAB_MOST_ITEMS];
} comparisons;

typedef struct scene {
    const lab_reproduction *table;
    const lab_claim *claim;
    const char *variant; /* only columns of this one (lab_reproduction_variant); NULL: all */
} scene;

/* Whether a field can be compared: an empty one, of a scheme that makes no sense there, takes no part. */
static bool takes_part(const scene *of, size_t row, size_t column) {
    return lab_reproduction_has(of->table, row, column);
}

static const lab_scheme *scheme_of(const scene *of, size_t row) {
    return &of->table->columns[0].rows[row];
}

/* Whether one of the words "a|b" (NULL: none) stands in the name, or `whole` is it. */
static bool has_word(const char *name, const char *words, bool whole) {
    const size_t own = strlen(name);
    while (words != NULL && *words != '\0') {
        const size_t length = strcspn(words, "|");
        for (size_t at = 0; at + length <= own; at++)
            if (memcmp(name + at, words, length) == 0 && (!whole || length == own))
                return true;
        words += length + (words[length] == '|');
    }
    return false;
}

/* Ablations speak neither for nor against a claim; schemes beyond the paper only where they are named. */
static bool is_one(const lab_scheme *scheme, const char *own, const char *others) {
    if (own != NULL)
        return scheme->place != LAB_SCHEME_ABLATION && has_word(scheme->name, own, true);
    return scheme->place == LAB_SCHEME_PUBLISHED && !has_word(scheme->name, others, true);
}

static bool is_subject(const scene *of, size_t row, size_t column) {
    return takes_part(of, row, column) && is_one(scheme_of(of, row), of->claim->subjects, of->claim->rivals);
}

static bool is_rival(const scene *of, size_t row, size_t column) {
    return takes_part(of, row, column) && is_one(scheme_of(of, row), of->claim->rivals, of->claim->subjects);
}

static bool is_column(const scene *of, size_t column) {
    const lab_reproduction_column *one = &of->table->columns[column];
    return one->measure != LAB_MEASURE_PERPLEXITY &&
           (of->variant == NULL || strcmp(lab_reproduction_variant(one), of->variant) == 0) &&
           (of->claim->columns == NULL || has_word(one->name, of->claim->columns, false));
}

/* ---- comparisons ---- */

static void add(comparisons *list, comparison one) {
    if (list->count < LAB_MOST_ITEMS)
        list->list[list->count++] = one;
}

/* Each subject with each rival. */
static void add_pairs(const scene *of, size_t column, size_t other, comparisons *list) {
    for (size_t subject = 0; subject < of->table->row_count; subject++) {
        for (size_t rival = 0; rival < of->table->row_count; rival++)
            if (is_subject(of, subject, column) && is_rival(of, rival, column) && subject != rival)
                add(list, (comparison){column, other, subject, rival});
    }
}

static void add_subjects(const scene *of, size_t column, comparisons *list) {
    for (size_t row = 0; row < of->table->row_count; row++)
        if (is_subject(of, row, column) && of->table->columns[column].measure == LAB_MEASURE_ACCURACY)
            add(list, (comparison){column, SIZE_MAX, row, SIZE_MAX});
}

/* The breadth-first column of the task whose depth-first column this is; SIZE_MAX: there is none. */
static size_t breadth_of(const scene *of, size_t depth) {
    const lab_reproduction_column *one = &of->table->columns[depth];
    const bool is_depth = lab_config_order(&one->config) == LAB_ORDER_DEPTH;
    for (size_t i = 0; is_depth && i < of->table->column_count; i++) {
        const lab_reproduction_column *other = &of->table->columns[i];
        if (lab_config_order(&other->config) == LAB_ORDER_BREADTH && other->config.task == one->config.task &&
            other->config.model.embedding_init == one->config.model.embedding_init)
            return i;
    }
    return SIZE_MAX;
}

static void add_decays(const scene *of, size_t column, comparisons *list) {
    for (size_t with = 0; with < of->table->row_count; with++) {
        for (size_t without = 0; without < of->table->row_count; without++) {
            const lab_scheme *a = scheme_of(of, with), *b = scheme_of(of, without);
            if (a->decay && !b->decay && strcmp(a->name, b->name) == 0 && takes_part(of, with, column))
                add(list, (comparison){column, SIZE_MAX, with, without});
        }
    }
}

static void list_comparisons(const scene *of, comparisons *list) {
    list->count = 0;
    for (size_t column = 0; column < of->table->column_count; column++) {
        if (!is_column(of, column))
            continue;
        switch (of->claim->kind) {
        case LAB_CLAIM_CHANCE:
            add_subjects(of, column, list);
            break;
        case LAB_CLAIM_DECAY:
            add_decays(of, column, list);
            break;
        case LAB_CLAIM_LESS:
            if (breadth_of(of, column) != SIZE_MAX)
                add_pairs(of, column, breadth_of(of, column), list);
            break;
        case LAB_CLAIM_BEST:
        case LAB_CLAIM_ABOVE:
        case LAB_CLAIM_SIMILAR:
        case LAB_CLAIM_HARMLESS:
            add_pairs(of, column, SIZE_MAX, list);
            break;
        }
    }
}

/* ---- one of them ---- */

typedef struct judge {
    scene of;
    const lab_result *result;
    lab_finding *finding;
} judge;

static lab_side side_of(const judge *by, size_t row, size_t column, double weight) {
    const lab_measure measure = by->of.table->columns[column].measure;
    const lab_learning *learning = &by->result->fields[row][column].learning;
    const double chance = by->result->chance[column];
    const lab_statistic *own = lab_result_score(by->result, by->of.table, row, column);
    return (lab_side){
        .score = own,
        .convergence = lab_learning_judge(learning, own, measure, by->of.claim->kind == LAB_CLAIM_CHANCE ? 0 : chance),
        .at_chance = lab_is_at_chance(own, measure, chance),
        .weight = weight,
        .row = row,
        .column = column};
}

/* Scores that are shares of independent samples: tokens of a word or nodes of a tree are none. */
static bool has_own_samples(const lab_reproduction *table, size_t column) {
    const lab_reproduction_column *one = &table->columns[column];
    return one->class->classes != NULL || one->measure == LAB_MEASURE_SOLVED;
}

static size_t samples_of(const lab_reproduction *table, const lab_result *result, size_t row, size_t column) {
    const lab_reproduction_column *one = &table->columns[column];
    return one->rows[row].pretrained ? one->pretrained.test_samples : result->samples[column];
}

size_t lab_claim_samples(const lab_reproduction *table, const lab_result *result, const lab_claim_item *item) {
    const size_t own = samples_of(table, result, item->subject, item->column);
    const size_t other = item->rival == SIZE_MAX ? own : samples_of(table, result, item->rival, item->column);
    return own < other ? own : other;
}

static double binomial_of(const judge *by, const lab_claim_item *item) {
    return has_own_samples(by->of.table, item->column) && item->rival != SIZE_MAX && !item->contrast.missing &&
                   !isfinite(item->contrast.half_width)
               ? lab_binomial_half_width(lab_result_score(by->result, by->of.table, item->subject, item->column)->mean,
                                         lab_result_score(by->result, by->of.table, item->rival, item->column)->mean,
                                         lab_claim_samples(by->of.table, by->result, item))
               : 0;
}

static bool has_margin(lab_claim_kind kind) {
    return kind == LAB_CLAIM_BEST || kind == LAB_CLAIM_SIMILAR || kind == LAB_CLAIM_HARMLESS;
}

static lab_case against_chance(const judge *by, const comparison *one) {
    const lab_side side = side_of(by, one->subject, one->column, -1);
    lab_case made = {
        .item = {.column = one->column, .subject = one->subject, .rival = SIZE_MAX}, .sides = {side}, .side_count = 1};
    made.item.contrast = lab_contrast_one(side.score, lab_chance_bound(by->result->chance[one->column]), LAB_MISS);
    made.item.lead = -made.item.contrast.difference;
    return made;
}

static lab_case make_case(const judge *by, const comparison *one) {
    if (one->rival == SIZE_MAX)
        return against_chance(by, one);
    const lab_measure measure = by->of.table->columns[one->column].measure;
    const double sign = lab_measure_sign(measure);
    const lab_statistic *fields[LAB_MOST_SIDES];
    double weights[LAB_MOST_SIDES];
    lab_case made = {.item = {.column = one->column, .subject = one->subject, .rival = one->rival},
                     .sides = {side_of(by, one->subject, one->column, 1), side_of(by, one->rival, one->column, -1)},
                     .side_count = 2};
    if (one->other != SIZE_MAX) {
        made.sides[2] = side_of(by, one->subject, one->other, -1);
        made.sides[3] = side_of(by, one->rival, one->other, 1);
        made.side_count = 4;
    }
    for (size_t i = 0; i < made.side_count; i++) {
        fields[i] = made.sides[i].score;
        weights[i] = made.sides[i].weight;
    }
    made.item.contrast = lab_contrast_of(fields, weights, made.side_count, LAB_MISS);
    made.item.lead = sign * made.item.contrast.difference;
    made.item.margin = has_margin(by->of.claim->kind) ? lab_measure_margin(measure) : 0;
    made.item.binomial = binomial_of(by, &made.item);
    return made;
}

/* ---- columns of BEST ---- */

/* How much a comparison weighs for a subject: a contradiction over what is open over support; then the smaller lead. */
static bool weighs_more(const lab_claim_item *a, const lab_claim_item *b) {
    static const int weight[] = {[LAB_SUPPORTED] = 0, [LAB_OPEN] = 1, [LAB_CONTRADICTED] = 2};
    if (a->verdict != b->verdict)
        return weight[a->verdict] > weight[b->verdict];
    return a->contrast.missing < b->contrast.missing ||
           (a->contrast.missing == b->contrast.missing && a->lead < b->lead);
}

/* A subject that is no row of this part of the table might be the best. */
static bool lacks_subject(const scene *of, size_t column) {
    size_t names = of->claim->subjects != NULL, rows = 0;
    for (const char *at = of->claim->subjects; at != NULL && (at = strchr(at, '|')) != NULL; at++)
        names++;
    for (size_t row = 0; row < of->table->row_count; row++)
        rows += is_subject(of, row, column);
    return rows < names;
}

/* The subject's comparison that weighs most. All subjects' comparisons are judged together, so that looking for the one
 * that fares best is allowed for. */
static const lab_claim_item *worst_of(const lab_case *cases, size_t count, size_t column, size_t subject) {
    const lab_claim_item *worst = NULL;
    for (size_t i = 0; i < count; i++) {
        const lab_claim_item *item = &cases[i].item;
        if (item->column == column && item->subject == subject && (worst == NULL || weighs_more(item, worst)))
            worst = item;
    }
    return worst;
}

static void add_item(lab_finding *finding, const lab_claim_item *item) {
    finding->counts[item->verdict]++;
    finding->items[finding->item_count++] = *item;
}

/* One supported subject supports the column; it takes all of them to contradict it. */
static void add_best(const judge *by, const lab_case *cases, size_t count, size_t column) {
    const lab_claim_item *best = NULL;
    for (size_t row = 0; row < by->of.table->row_count; row++) {
        const lab_claim_item *item = worst_of(cases, count, column, row);
        best = item != NULL && (best == NULL || weighs_more(best, item)) ? item : best;
    }
    if (best != NULL) {
        lab_claim_item item = *best;
        if (item.verdict == LAB_CONTRADICTED && lacks_subject(&by->of, column)) {
            item.verdict = LAB_OPEN;
            item.reason = LAB_REASON_SUBJECT;
        }
        add_item(by->finding, &item);
    }
}

static void add_items(const judge *by, const lab_case *cases, size_t count) {
    lab_finding *finding = by->finding;
    for (size_t i = 0; i < count && by->of.claim->kind != LAB_CLAIM_BEST; i++)
        add_item(finding, &cases[i].item);
    for (size_t i = 0; i < by->of.table->column_count && by->of.claim->kind == LAB_CLAIM_BEST; i++)
        add_best(by, cases, count, i);
    finding->verdict = finding->counts[LAB_CONTRADICTED] > 0 ? LAB_CONTRADICTED
                       : finding->counts[LAB_OPEN] > 0       ? LAB_OPEN
                                                             : LAB_SUPPORTED;
}

/* ---- all of them ---- */

/* The variants that a table's columns have, in their order, of words and trees alone: a claim is judged for each by
 * itself. */
static size_t variants_of(const lab_reproduction *table, const char *variants[LAB_MOST_COLUMNS]) {
    const bool varied = table->columns[0].class->size != NULL;
    size_t count = 0;
    for (size_t i = 0; i < table->column_count && varied; i++) {
        const char *variant = lab_reproduction_variant(&table->columns[i]);
        bool known = false;
        for (size_t j = 0; j < count && !known; j++)
            known = strcmp(variants[j], variant) == 0;
        if (!known)
            variants[count++] = variant;
    }
    return count;
}

/* Room for what is judged together, and the table that the judged one is a part of. */
typedef struct room {
    lab_reproduction whole;
    comparisons list;
    lab_case cases[LAB_MOST_ITEMS];
} room;

/* Without a variant: of all columns. */
static void find(lab_findings *findings, const scene *of, room *in, const lab_result *result) {
    lab_finding *finding = &findings->findings[findings->count];
    const judge by = {*of, result, finding};
    const scene of_whole = {&in->whole, of->claim, of->variant};
    memset(finding, 0, sizeof *finding);
    finding->claim = of->claim;
    finding->variant = of->variant != NULL ? of->variant : "";
    list_comparisons(&of_whole, &in->list);
    finding->comparisons = in->list.count;
    list_comparisons(of, &in->list);
    for (size_t i = 0; i < in->list.count; i++)
        in->cases[i] = make_case(&by, &in->list.list[i]);
    lab_verdicts_decide(in->cases, in->list.count, finding->comparisons, of->claim);
    add_items(&by, in->cases, in->list.count);
    findings->count += finding->item_count > 0;
}

locus_status lab_findings_make(lab_findings *findings, const lab_reproduction *table, const lab_result *result,
                               locus_error *error) {
    const char *variants[LAB_MOST_COLUMNS];
    const size_t variant_count = variants_of(table, variants);
    room *in = malloc(sizeof *in);
    findings->count = 0;
    findings->findings = calloc((variant_count + 1) * lab_claim_count(), sizeof *findings->findings);
    if (findings->findings == NULL || in == NULL) {
        free(in);
        return lab_fail(error, LOCUS_ERROR_MEMORY, "claims", "out of memory for the claims");
    }
    locus_status status = lab_reproduction_whole(&in->whole, table, error);
    for (size_t i = 0; i < lab_claim_count() && status == LOCUS_OK; i++) {
        const lab_claim *claim = lab_claim_at(i);
        if (claim->table != NULL && strcmp(claim->table, table->name) != 0)
            continue;
        scene of = {table, claim, NULL};
        for (size_t v = 0; v < variant_count; v++) {
            of.variant = variants[v];
            find(findings, &of, in, result);
        }
        if (variant_count == 0)
            find(findings, &of, in, result);
    }
    free(in);
    return status;
}

void lab_findings_free(lab_findings *findings) {
    free(findings->findings);
    *findings = (lab_findings){0};
}

bool lab_column_at_chance(const lab_reproduction *table, const lab_result *result, size_t column) {
    const lab_measure measure = table->columns[column].measure;
    size_t measured = 0;
    for (size_t row = 0; row < table->row_count; row++) {
        const lab_statistic *share = lab_result_score(result, table, row, column);
        measured += share->count > 0;
        if (share->count > 0 && !lab_is_at_chance(share, measure, result->chance[column]))
            return false;
    }
    return measured > 0;
}
