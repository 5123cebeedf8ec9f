/* SPDX-License-Identifier: MIT */
/* Verdicts on the claims of claims_list.c. claims.h says how they are computed. */
#include "report/claims.h"

#include "io/fail.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NORMAL_95 1.959964

const char *lab_verdict_name(lab_verdict verdict) {
    static const char *const names[] = {"OPEN", "SUPPORTED", "CONTRADICTED"};
    return (unsigned)verdict < 3 ? names[verdict] : "unknown";
}

/* ---- numbers ---- */

lab_contrast lab_contrast_of(const lab_statistic *const *fields, const double *weights, size_t count) {
    lab_contrast contrast = {0};
    double variance = 0, spread = 0;
    size_t degrees = 0;
    bool single = false;
    for (size_t i = 0; i < count; i++) {
        if (fields[i]->count == 0) {
            return (lab_contrast){.half_width = INFINITY, .missing = true};
        }
        contrast.difference += weights[i] * fields[i]->mean;
        if (fields[i]->count < 2) {
            single = true;
            continue;
        }
        double own = weights[i] * weights[i] * fields[i]->deviation * fields[i]->deviation / (double)fields[i]->count;
        variance += own;
        spread += own * own / (double)(fields[i]->count - 1);
        degrees += fields[i]->count - 1;
    }
    if (single) {
        contrast.half_width = INFINITY;
        return contrast;
    }
    /* Rounded down to the table's whole degrees: the wider interval. No spread at all: no seed differs from another. */
    if (spread > 0) {
        degrees = (size_t)fmax(1, floor(variance * variance / spread + 1e-9));
    }
    contrast.half_width = lab_student_95(degrees) * sqrt(variance);
    return contrast;
}

lab_contrast lab_contrast_two(const lab_statistic *a, const lab_statistic *b) {
    const lab_statistic *const fields[2] = {a, b};
    static const double weights[2] = {1, -1};
    return lab_contrast_of(fields, weights, 2);
}

bool lab_contrast_separates(const lab_contrast *contrast) {
    return !contrast->missing && fabs(contrast->difference) > contrast->half_width;
}

double lab_binomial_half_width(double p, double q, size_t samples) {
    return samples == 0 ? INFINITY : NORMAL_95 * sqrt((p * (1 - p) + q * (1 - q)) / (double)samples);
}

double lab_chance_bound(double chance) {
    return chance + 0.1 * (1 - chance);
}

static lab_verdict ahead(const lab_contrast *contrast, double lead) {
    return !lab_contrast_separates(contrast) ? LAB_OPEN : lead > 0 ? LAB_SUPPORTED : LAB_CONTRADICTED;
}

/* ---- which rows and columns ---- */

typedef struct scene {
    const lab_reproduction *table;
    const lab_result *result;
    const lab_claim *claim;
    lab_finding *finding;
    const char *variant; /* only columns of this one (lab_reproduction_variant); NULL: all */
} scene;

static const lab_statistic *score(const scene *of, size_t row, size_t column) {
    return lab_field_score(&of->result->fields[row][column], of->table->columns[column].measure);
}

/* 1, or −1 where lower is better. */
static double sign_of(const scene *of, size_t column) {
    return lab_measure_sign(of->table->columns[column].measure);
}

/* Whether a field can be compared: an empty one, of a scheme that makes no sense there, takes no part. */
static bool takes_part(const scene *of, size_t row, size_t column) {
    return lab_reproduction_has(of->table, row, column);
}

static const lab_scheme *scheme_of(const scene *of, size_t row) {
    return &of->table->columns[0].rows[row];
}

static bool named(const char *const names[LAB_CLAIM_NAMES], const char *name) {
    for (size_t i = 0; i < LAB_CLAIM_NAMES && names[i] != NULL; i++) {
        if (strcmp(names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/* Ablations speak neither for nor against a claim; schemes beyond the paper only where they are named. */
static bool is_one(const lab_scheme *scheme, const char *const own[LAB_CLAIM_NAMES],
                   const char *const others[LAB_CLAIM_NAMES]) {
    if (own[0] != NULL) {
        return scheme->place != LAB_SCHEME_ABLATION && named(own, scheme->name);
    }
    return scheme->place == LAB_SCHEME_PUBLISHED && !named(others, scheme->name);
}

static bool is_subject(const scene *of, size_t row, size_t column) {
    return takes_part(of, row, column) && is_one(scheme_of(of, row), of->claim->subjects, of->claim->rivals);
}

static bool is_rival(const scene *of, size_t row, size_t column) {
    return takes_part(of, row, column) && is_one(scheme_of(of, row), of->claim->rivals, of->claim->subjects);
}

/* Whether one of the words "a|b" stands in the name. */
static bool has_word(const char *name, const char *words) {
    while (words != NULL && *words != '\0') {
        size_t length = strcspn(words, "|");
        for (const char *at = name; strlen(at) >= length; at++) {
            if (memcmp(at, words, length) == 0) {
                return true;
            }
        }
        words += length + (words[length] == '|');
    }
    return false;
}

static bool is_column(const scene *of, size_t column) {
    const lab_reproduction_column *one = &of->table->columns[column];
    return (of->variant == NULL || strcmp(lab_reproduction_variant(one), of->variant) == 0) &&
           (of->claim->columns == NULL || has_word(one->name, of->claim->columns));
}

static bool at_chance(const lab_statistic *share, double chance) {
    return share->count > 0 && chance > 0 && share->mean < lab_chance_bound(chance);
}

bool lab_column_at_chance(const lab_reproduction *table, const lab_result *result, size_t column) {
    const lab_measure measure = table->columns[column].measure;
    size_t measured = 0;
    for (size_t row = 0; row < table->row_count && lab_measure_is_share(measure); row++) {
        const lab_statistic *share = lab_field_score(&result->fields[row][column], measure);
        measured += share->count > 0;
        if (share->count > 0 &&
            !(measure == LAB_MEASURE_SOLVED ? share->mean <= 0 : at_chance(share, result->chance[column]))) {
            return false;
        }
    }
    return measured > 0;
}

/* ---- comparisons ---- */

/* Scores that are shares of independent samples: tokens of a word or nodes of a tree are none. */
static bool has_own_samples(const scene *of, size_t column) {
    const lab_reproduction_column *one = &of->table->columns[column];
    return one->kind == LAB_TASK_IMAGES || one->kind == LAB_TASK_EXPRESSIONS || one->measure == LAB_MEASURE_SOLVED;
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

static void add_item(scene *of, lab_claim_item item) {
    lab_finding *finding = of->finding;
    if (finding->item_count == LAB_MOST_ITEMS) {
        return;
    }
    if (item.at_chance) {
        item.verdict = LAB_OPEN;
    }
    if (has_own_samples(of, item.column) && item.rival != SIZE_MAX && !item.contrast.missing &&
        !isfinite(item.contrast.half_width)) {
        item.binomial = lab_binomial_half_width(score(of, item.subject, item.column)->mean,
                                                score(of, item.rival, item.column)->mean,
                                                lab_claim_samples(of->table, of->result, &item));
    }
    finding->counts[item.verdict]++;
    finding->items[finding->item_count++] = item;
}

static bool both_at_chance(const scene *of, size_t column, size_t subject, size_t rival) {
    double chance = of->table->columns[column].measure == LAB_MEASURE_ACCURACY ? of->result->chance[column] : 0;
    return at_chance(score(of, subject, column), chance) && at_chance(score(of, rival, column), chance);
}

static lab_claim_item compare(const scene *of, size_t column, size_t subject, size_t rival) {
    const lab_statistic *a = score(of, subject, column), *b = score(of, rival, column);
    lab_claim_item item = {.column = column, .subject = subject, .rival = rival, .contrast = lab_contrast_two(a, b)};
    item.lead = sign_of(of, column) * item.contrast.difference;
    item.at_chance = both_at_chance(of, column, subject, rival);
    item.verdict = ahead(&item.contrast, item.lead);
    return item;
}

/* The subject with the best mean; SIZE_MAX: none of them is a row. */
static size_t best_subject(const scene *of, size_t column) {
    const double sign = sign_of(of, column);
    size_t best = SIZE_MAX;
    for (size_t row = 0; row < of->table->row_count; row++) {
        if (is_subject(of, row, column) &&
            (best == SIZE_MAX || score(of, best, column)->count == 0 ||
             (score(of, row, column)->count > 0 &&
              sign * (score(of, row, column)->mean - score(of, best, column)->mean) > 0))) {
            best = row;
        }
    }
    return best;
}

/* Best or within one standard deviation of the best against one rival. */
static lab_verdict nearly(const lab_claim_item *item, const lab_statistic *rival) {
    if (item->contrast.missing || !isfinite(item->contrast.half_width)) {
        return LAB_OPEN;
    }
    if (item->lead >= -rival->deviation) {
        return LAB_SUPPORTED;
    }
    return lab_contrast_separates(&item->contrast) ? LAB_CONTRADICTED : LAB_OPEN;
}

/* How much a comparison weighs in a column: a contradiction over what is open over support, then the smaller lead. */
static bool weighs_more(const lab_claim_item *a, const lab_claim_item *b) {
    static const int weight[] = {[LAB_SUPPORTED] = 0, [LAB_OPEN] = 1, [LAB_CONTRADICTED] = 2};
    if (a->verdict != b->verdict) {
        return weight[a->verdict] > weight[b->verdict];
    }
    return a->contrast.missing < b->contrast.missing ||
           (a->contrast.missing == b->contrast.missing && a->lead < b->lead);
}

/* While one of several subjects has no score it might still be the best. */
static bool lacks_subject(const scene *of, size_t column) {
    size_t names = 0, measured = 0;
    while (names < LAB_CLAIM_NAMES && of->claim->subjects[names] != NULL) {
        names++;
    }
    for (size_t row = 0; row < of->table->row_count; row++) {
        measured += is_subject(of, row, column) && score(of, row, column)->count > 0;
    }
    return measured < names;
}

static void judge_best(scene *of, size_t column) {
    size_t subject = best_subject(of, column);
    lab_claim_item worst = {.rival = SIZE_MAX};
    for (size_t row = 0; subject != SIZE_MAX && row < of->table->row_count; row++) {
        if (!is_rival(of, row, column)) {
            continue;
        }
        lab_claim_item item = compare(of, column, subject, row);
        item.verdict = item.at_chance ? LAB_OPEN : nearly(&item, score(of, row, column));
        if (worst.rival == SIZE_MAX || weighs_more(&item, &worst)) {
            worst = item;
        }
    }
    if (worst.rival != SIZE_MAX) {
        bool early = worst.verdict == LAB_CONTRADICTED && lacks_subject(of, column);
        worst.verdict = early ? LAB_OPEN : worst.verdict;
        add_item(of, worst);
    }
}

/* Whether the interval of the lead lies inside, or outside, of ± margin; of HARMLESS only its lower end counts. */
static lab_verdict within(const lab_claim_item *item, lab_claim_kind kind) {
    if (item->contrast.missing || !isfinite(item->contrast.half_width)) {
        return LAB_OPEN;
    }
    const double low = item->lead - item->contrast.half_width, high = item->lead + item->contrast.half_width;
    const bool harmless = kind == LAB_CLAIM_HARMLESS;
    if (low > -item->margin && (harmless || high < item->margin)) {
        return LAB_SUPPORTED;
    }
    return high < -item->margin || (!harmless && low > item->margin) ? LAB_CONTRADICTED : LAB_OPEN;
}

/* Each subject against each rival: ahead of it, or within the margin. */
static void judge_pairs(scene *of, size_t column) {
    const lab_claim_kind kind = of->claim->kind;
    for (size_t subject = 0; subject < of->table->row_count; subject++) {
        for (size_t rival = 0; rival < of->table->row_count; rival++) {
            if (!is_subject(of, subject, column) || !is_rival(of, rival, column) || subject == rival) {
                continue;
            }
            lab_claim_item item = compare(of, column, subject, rival);
            if (kind != LAB_CLAIM_ABOVE) {
                item.margin = LAB_CLAIM_MARGIN * score(of, rival, column)->mean;
                item.verdict = within(&item, kind);
            }
            add_item(of, item);
        }
    }
}

static void judge_chance(scene *of, size_t column) {
    double chance = of->result->chance[column];
    for (size_t row = 0; row < of->table->row_count; row++) {
        if (!is_subject(of, row, column) || !(chance > 0)) {
            continue;
        }
        const lab_statistic *share = score(of, row, column);
        lab_claim_item item = {.column = column, .subject = row, .rival = SIZE_MAX};
        item.contrast = (lab_contrast){share->mean - lab_chance_bound(chance), share->half_width, share->count == 0};
        if (share->count == 0) {
            item.contrast = (lab_contrast){0, INFINITY, true};
        }
        item.lead = -item.contrast.difference;
        lab_verdict over = ahead(&item.contrast, item.contrast.difference);
        item.verdict = over == LAB_OPEN ? LAB_OPEN : over == LAB_SUPPORTED ? LAB_CONTRADICTED : LAB_SUPPORTED;
        add_item(of, item);
    }
}

/* (subject − rival) depth-first less the same breadth-first, for the task whose depth-first column this is. */
static void judge_less(scene *of, size_t depth) {
    const lab_reproduction_column *one = &of->table->columns[depth];
    const bool trees = one->kind == LAB_TASK_TREES && one->config.data.order == LAB_ORDER_DEPTH;
    for (size_t breadth = 0; trees && breadth < of->table->column_count; breadth++) {
        const lab_reproduction_column *other = &of->table->columns[breadth];
        if (other->config.data.order != LAB_ORDER_BREADTH || strcmp(other->config.task, one->config.task) != 0 ||
            other->config.model.embedding_init != one->config.model.embedding_init) {
            continue;
        }
        for (size_t i = 0; i < of->table->row_count * of->table->row_count; i++) {
            size_t subject = i / of->table->row_count, rival = i % of->table->row_count;
            if (!is_subject(of, subject, depth) || !is_rival(of, rival, depth)) {
                continue;
            }
            const lab_statistic *const fields[4] = {score(of, subject, depth), score(of, rival, depth),
                                                    score(of, subject, breadth), score(of, rival, breadth)};
            static const double weights[4] = {1, -1, -1, 1};
            lab_claim_item item = {.column = depth, .subject = subject, .rival = rival};
            item.at_chance = both_at_chance(of, depth, subject, rival) || both_at_chance(of, breadth, subject, rival);
            item.contrast = lab_contrast_of(fields, weights, 4);
            item.lead = item.contrast.difference;
            item.verdict = ahead(&item.contrast, item.lead);
            add_item(of, item);
        }
    }
}

static void judge_decay(scene *of, size_t column) {
    for (size_t with = 0; with < of->table->row_count; with++) {
        for (size_t without = 0; without < of->table->row_count; without++) {
            const lab_scheme *a = scheme_of(of, with), *b = scheme_of(of, without);
            if (a->decay && !b->decay && strcmp(a->name, b->name) == 0 && takes_part(of, with, column)) {
                add_item(of, compare(of, column, with, without));
            }
        }
    }
}

static void judge(scene *of) {
    static void (*const by_kind[])(scene *, size_t) = {
        [LAB_CLAIM_BEST] = judge_best,      [LAB_CLAIM_ABOVE] = judge_pairs, [LAB_CLAIM_CHANCE] = judge_chance,
        [LAB_CLAIM_LESS] = judge_less,      [LAB_CLAIM_DECAY] = judge_decay, [LAB_CLAIM_SIMILAR] = judge_pairs,
        [LAB_CLAIM_HARMLESS] = judge_pairs,
    };
    lab_finding *finding = of->finding;
    for (size_t column = 0; column < of->table->column_count; column++) {
        if (is_column(of, column)) {
            by_kind[of->claim->kind](of, column);
        }
    }
    finding->verdict = finding->counts[LAB_CONTRADICTED] > 0 ? LAB_CONTRADICTED
                       : finding->counts[LAB_OPEN] > 0       ? LAB_OPEN
                                                             : LAB_SUPPORTED;
}

/* ---- all of them ---- */

/* The variants that a table's columns have, in their order; of words and trees alone, and only if there are two. */
static size_t variants_of(const lab_reproduction *table, const char *variants[LAB_MOST_COLUMNS]) {
    const lab_task_kind kind = table->columns[0].kind;
    size_t count = 0;
    for (size_t i = 0; i < table->column_count && (kind == LAB_TASK_WORDS || kind == LAB_TASK_TREES); i++) {
        const char *variant = lab_reproduction_variant(&table->columns[i]);
        bool known = false;
        for (size_t j = 0; j < count && !known; j++) {
            known = strcmp(variants[j], variant) == 0;
        }
        if (!known) {
            variants[count++] = variant;
        }
    }
    return count > 1 ? count : 0;
}

/* Without a variant: of all columns. */
static void find(lab_findings *findings, scene of, const char *variant) {
    lab_finding *finding = &findings->findings[findings->count];
    memset(finding, 0, sizeof *finding);
    finding->claim = of.claim;
    finding->variant = variant != NULL ? variant : "";
    of.finding = finding;
    of.variant = variant;
    judge(&of);
    findings->count += finding->item_count > 0;
}

locus_status lab_findings_make(lab_findings *findings, const lab_reproduction *table, const lab_result *result,
                               locus_error *error) {
    const char *variants[LAB_MOST_COLUMNS];
    const size_t variant_count = variants_of(table, variants);
    findings->count = 0;
    findings->findings = calloc((variant_count + 1) * lab_claim_count(), sizeof *findings->findings);
    if (findings->findings == NULL) {
        return lab_fail(error, LOCUS_ERROR_MEMORY, "claims", "out of memory for the claims");
    }
    for (size_t i = 0; i < lab_claim_count(); i++) {
        const lab_claim *claim = lab_claim_at(i);
        if (claim->table != NULL && strcmp(claim->table, table->name) != 0) {
            continue;
        }
        const scene of = {.table = table, .result = result, .claim = claim};
        for (size_t v = 0; v < variant_count; v++) {
            find(findings, of, variants[v]);
        }
        if (variant_count == 0) {
            find(findings, of, NULL);
        }
    }
    return LOCUS_OK;
}

void lab_findings_free(lab_findings *findings) {
    free(findings->findings);
    *findings = (lab_findings){0};
}
