/* SPDX-License-Identifier: MIT */
/* What papers say of their tables, as data, and what a measured table says to it: verdicts computed from means over
 * seeds. docs/reproduction.md has the rules and their reasons. A column's scores are those of its measure; where lower
 * is better, below is ahead. Perplexities take no part: their losses do.
 *
 * The comparisons of a claim, within one table and one initialisation of embeddings, are judged together: m is how many
 * they are in the whole table, though a part of it is measured. The surest one is judged by Welch's interval
 * (contrast.h) that misses with 0.05 / m, the next by 0.05 / (m − 1) and so on, until one is open: the others have that
 * one's (Holm 1979). So one of all verdicts is wrong with 5 % at most. A verdict needs LAB_CLAIM_SEEDS seeds on every
 * side, and that nobody is still learning who could overturn it (learning.h), unless the claim is about what is reached
 * after the same steps. */
#ifndef LAB_CLAIMS_H
#define LAB_CLAIMS_H

#include "report/reproduction/reproduction_result.h"
#include "report/tables/contrast.h"

/* Half of the 95 % interval of the difference of two shares of `samples` test samples, from these samples alone:
 * 1.96 sqrt((p(1 − p) + q(1 − q)) / samples). It says nothing of other seeds. */
double lab_binomial_half_width(double p, double q, size_t samples);

typedef enum lab_verdict { LAB_OPEN = 0, LAB_SUPPORTED = 1, LAB_CONTRADICTED = 2 } lab_verdict;
const char *lab_verdict_name(lab_verdict verdict); /* "OPEN", … */

/* With the interval of the lead, subject over rival, from low to high: */
typedef enum lab_claim_kind {
    /* In a column one of the subjects is not behind any rival by more than the margin: low > −margin against each.
     * Contradicted if each of them is behind some rival, high < −margin. */
    LAB_CLAIM_BEST,
    LAB_CLAIM_ABOVE,   /* each subject is ahead of each rival: low > 0, or high < 0 */
    LAB_CLAIM_CHANCE,  /* each subject is at chance: its interval lies below, or above, the bound of chance */
    LAB_CLAIM_LESS,    /* trees: subject − rival is smaller breadth-first than depth-first, task by task */
    LAB_CLAIM_DECAY,   /* with decay ahead of without, scheme by scheme: only where both are there */
    LAB_CLAIM_SIMILAR, /* each subject is within the margin of each rival: the interval inside, or outside, ± margin */
    LAB_CLAIM_HARMLESS /* it is behind by the margin at most: low > −margin, or high < −margin */
} lab_claim_kind;

#define LAB_CLAIM_SEEDS 3 /* that a verdict needs on every side */

typedef struct lab_claim {
    const char *table, *id;
    const char *text;   /* in the words of this table */
    const char *source; /* who says so: "the paper, section 4.3", "ours" */
    lab_claim_kind kind;
    /* Schemes, "rope|relative"; NULL: all rows of the published table but the others. Rows beyond it are named. */
    const char *subjects, *rivals;
    const char *columns; /* only columns whose name has one of these words, "reverse|repeat"; NULL */
    bool after_steps;    /* about what is reached after the same steps, in its source's own words: who is still learning
                            may be behind */
} lab_claim;

size_t lab_claim_count(void);
const lab_claim *lab_claim_at(size_t index);

/* Why a comparison is open; of several the first. */
typedef enum lab_reason {
    LAB_REASON_NONE = 0,    /* it is not */
    LAB_REASON_MISSING = 1, /* a field has not been measured */
    LAB_REASON_SEEDS = 2,   /* a side has too few seeds */
    LAB_REASON_CHANCE = 3,  /* nobody that is compared has left chance (LESS: in one of the orders) */
    LAB_REASON_INTERVAL = 4,
    LAB_REASON_LEARNING = 5,  /* the learner is still learning, and what it learns could overturn the verdict */
    LAB_REASON_NOT_BEGUN = 6, /* it is at chance, which cannot be told from not having begun */
    LAB_REASON_NO_CURVE = 7,  /* nothing says whether it is */
    LAB_REASON_SUBJECT = 8    /* BEST: another subject, which is no row of this part of the table, may be better */
} lab_reason;
const char *lab_reason_name(lab_reason reason); /* "missing", "seeds", …; "" */

/* One comparison behind a verdict. */
typedef struct lab_claim_item {
    size_t column, subject, rival; /* rival SIZE_MAX: the bound of chance */
    lab_contrast contrast;         /* subject − rival, with the interval that decides */
    double miss, p;                /* what that interval may miss with; with what it could at least (lab_contrast_p) */
    double lead;                   /* the same where higher is better; else rival − subject */
    double margin;                 /* BEST, SIMILAR, HARMLESS; else 0 */
    double binomial;               /* images, expressions and problems with one seed: lab_binomial_half_width; else 0 */
    lab_verdict verdict;
    lab_reason reason;
    size_t learner, learner_column; /* of LEARNING, NOT_BEGUN, NO_CURVE: whose field */
} lab_claim_item;

#define LAB_MOST_ITEMS 256

typedef struct lab_finding {
    const lab_claim *claim;
    const char *variant;          /* lab_reproduction_variant, of words and trees; else "" */
    size_t comparisons;           /* m: of the claim in the whole table */
    lab_verdict verdict;          /* supported: by every item; contradicted: by one at least; else open */
    size_t item_count, counts[3]; /* items by verdict. Of BEST a column is an item: the comparison that decides it */
    lab_claim_item items[LAB_MOST_ITEMS];
} lab_finding;

typedef struct lab_findings {
    size_t count;
    lab_finding *findings; /* owned */
} lab_findings;

/* Test samples behind an item: those of the subject or of the rival, whichever are fewer. A pretrained encoder may be
 * scored on less than the rest of its column. */
size_t lab_claim_samples(const lab_reproduction *table, const lab_result *result, const lab_claim_item *item);

/* All claims of the table. Claims that the table has no fields for are left out. */
locus_status lab_findings_make(lab_findings *findings, const lab_reproduction *table, const lab_result *result,
                               locus_error *error);
void lab_findings_free(lab_findings *findings);

/* Whether every field of a column that has been measured is at chance; false if none has. */
bool lab_column_at_chance(const lab_reproduction *table, const lab_result *result, size_t column);

/* ---- comparisons that are judged together (verdict.c) ---- */

/* A field that takes part, and how much: 1 if the lead grows as this scheme learns, −1 if it shrinks then, whether its
 * score rises (shares) or falls (losses). */
typedef struct lab_side {
    const lab_statistic *score;
    lab_convergence convergence;
    bool at_chance;
    double weight;
    size_t row, column;
} lab_side;

#define LAB_MOST_SIDES 4

/* A comparison with contrast, lead and margin, and its sides: one against chance, else subject and rival; LESS: of both
 * orders. */
typedef struct lab_case {
    lab_claim_item item;
    lab_side sides[LAB_MOST_SIDES];
    size_t side_count;
} lab_case;

/* Fills in intervals, verdicts and reasons of `count` comparisons out of `m`. */
void lab_verdicts_decide(lab_case *cases, size_t count, size_t m, const lab_claim *claim);

#endif
