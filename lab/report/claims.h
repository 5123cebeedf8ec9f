/* SPDX-License-Identifier: MIT */
/* What papers say of their tables, as data, and what a measured table says to it: verdicts computed from means over
 * seeds and their 95 % confidence intervals. A column's scores are those of its measure; where lower is better, below
 * is ahead.
 *
 *   d = Σ w x̄ over fields,  s_d² = Σ w² s²/n,  interval d ± t(ν) s_d,  ν = s_d⁴ / Σ (w² s²/n)² / (n − 1)   (Welch 1947)
 *
 * An interval is for one comparison; nothing is corrected for their number. A field with one seed has no interval, and
 * what needs one stays open. */
#ifndef LAB_CLAIMS_H
#define LAB_CLAIMS_H

#include "report/reproduction_result.h"

typedef struct lab_contrast {
    double difference;
    double half_width; /* infinite: a field has a single seed */
    bool missing;      /* a field has none */
} lab_contrast;

/* Σ weights[i] · mean of fields[i]. */
lab_contrast lab_contrast_of(const lab_statistic *const *fields, const double *weights, size_t count);
lab_contrast lab_contrast_two(const lab_statistic *a, const lab_statistic *b); /* a − b */
/* 0 is outside the interval. */
bool lab_contrast_separates(const lab_contrast *contrast);
/* Half of the 95 % interval of the difference of two shares of `samples` test samples, from these samples alone:
 * 1.96 sqrt((p(1 − p) + q(1 − q)) / samples). It says nothing of other seeds. */
double lab_binomial_half_width(double p, double q, size_t samples);

/* A share is at chance below a tenth of the way from guessing to everything right. */
double lab_chance_bound(double chance);

typedef enum lab_verdict { LAB_OPEN = 0, LAB_SUPPORTED = 1, LAB_CONTRADICTED = 2 } lab_verdict;
const char *lab_verdict_name(lab_verdict verdict); /* "OPEN", … */

typedef enum lab_claim_kind {
    /* In a column the better one of the subjects is the best of all, or within one standard deviation of the best one
     * of the rivals (supported); contradicted if it is further behind and a rival is separated from it, once all
     * subjects have been measured. */
    LAB_CLAIM_BEST,
    LAB_CLAIM_ABOVE,  /* each subject is ahead of each rival: supported or contradicted where the two are separated */
    LAB_CLAIM_CHANCE, /* each subject is at chance: its interval lies below, or above, the bound of chance */
    LAB_CLAIM_LESS,   /* trees: subject − rival is smaller breadth-first than depth-first, task by task */
    LAB_CLAIM_DECAY,  /* with decay ahead of without, scheme by scheme: only where both are there */
    /* Each subject is within a margin of each rival, LAB_CLAIM_MARGIN times the rival's mean: the interval of the
     * difference lies inside, or outside, of ± margin. */
    LAB_CLAIM_SIMILAR,
    LAB_CLAIM_HARMLESS /* it is behind by the margin at most: being ahead by more supports it, too */
} lab_claim_kind;

#define LAB_CLAIM_NAMES 8
#define LAB_CLAIM_MARGIN 0.02

typedef struct lab_claim {
    const char *table, *id;
    const char *text;   /* in the words of this table */
    const char *source; /* who says so: "the paper, section 4.3", "ours" */
    lab_claim_kind kind;
    /* Schemes. Where there are none: all rows of the published table but the others. Rows beyond it are named. */
    const char *subjects[LAB_CLAIM_NAMES], *rivals[LAB_CLAIM_NAMES];
    const char *columns; /* only columns whose name has one of these words, "reverse|repeat"; NULL */
} lab_claim;

size_t lab_claim_count(void);
const lab_claim *lab_claim_at(size_t index);

/* One comparison behind a verdict. */
typedef struct lab_claim_item {
    size_t column, subject, rival; /* rival SIZE_MAX: the bound of chance */
    lab_contrast contrast;         /* subject − rival */
    double lead;                   /* the same where higher is better; else rival − subject */
    double margin;                 /* SIMILAR, HARMLESS; else 0 */
    double binomial;               /* images, expressions and problems with one seed: lab_binomial_half_width; else 0 */
    lab_verdict verdict;
    bool at_chance; /* nobody that is compared has left chance (LESS: in one of the orders): open for that reason */
} lab_claim_item;

#define LAB_MOST_ITEMS 256

typedef struct lab_finding {
    const lab_claim *claim;
    const char *variant;          /* lab_reproduction_variant, where a table has several; else "" */
    lab_verdict verdict;          /* supported: by every comparison; contradicted: by one at least; else open */
    size_t item_count, counts[3]; /* items by verdict */
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

#endif
