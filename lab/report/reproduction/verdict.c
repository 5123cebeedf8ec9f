/* SPDX-License-Identifier: MIT */
/* The verdicts on comparisons that are judged together: what their intervals say, unless seeds lack or somebody is
 * still learning who could overturn it. Better and worse are judged alike: turning a comparison round turns its verdict
 * round.
 *
 * An interval decides if it leaves out the values that the lead is compared with: 0, −margin, or ± margin. Comparison i
 * has p_i, the least that such an interval may miss with; in their order, p₁ ≤ p₂ ≤ …, the k-th one is decided if
 * p_k < 0.05 / (m − k + 1) and so were all before it. */
#include "report/reproduction/claims.h"

#include <math.h>

const char *lab_verdict_name(lab_verdict verdict) {
    static const char *const names[] = {"OPEN", "SUPPORTED", "CONTRADICTED"};
    return (unsigned)verdict < 3 ? names[verdict] : "unknown";
}

const char *lab_reason_name(lab_reason reason) {
    static const char *const names[] = {"",         "missing",   "seeds",    "chance",         "interval",
                                        "learning", "at chance", "no curve", "subject missing"};
    return (unsigned)reason < sizeof names / sizeof *names ? names[reason] : "unknown";
}

/* ---- one of them ---- */

static lab_verdict between(bool supported, bool contradicted) {
    return supported ? LAB_SUPPORTED : contradicted ? LAB_CONTRADICTED : LAB_OPEN;
}

static lab_verdict by_interval(const lab_claim_item *item, lab_claim_kind kind) {
    const double low = item->lead - item->contrast.half_width, high = item->lead + item->contrast.half_width;
    switch (kind) {
    case LAB_CLAIM_BEST:
    case LAB_CLAIM_HARMLESS:
        return between(low > -item->margin, high < -item->margin);
    case LAB_CLAIM_SIMILAR:
        return between(low > -item->margin && high < item->margin, high < -item->margin || low > item->margin);
    case LAB_CLAIM_ABOVE:
    case LAB_CLAIM_CHANCE:
    case LAB_CLAIM_LESS:
    case LAB_CLAIM_DECAY:
        break;
    }
    return between(low > 0, high < 0);
}

/* Whether a side that learns more could overturn the verdict: one that the lead grows with if the verdict is against
 * the subject, one that it shrinks with if it is for it, and each if it is that they are alike. */
static bool could_overturn(const lab_side *side, const lab_claim_item *item, lab_claim_kind kind) {
    if (kind == LAB_CLAIM_SIMILAR)
        return item->verdict == LAB_SUPPORTED || (item->lead > 0 ? side->weight < 0 : side->weight > 0);
    return item->verdict == LAB_SUPPORTED ? side->weight < 0 : side->weight > 0;
}

static lab_reason learning_reason(lab_convergence convergence) {
    static const lab_reason reasons[] = {[LAB_CONVERGENCE_UNKNOWN] = LAB_REASON_NO_CURVE,
                                         [LAB_CONVERGED] = LAB_REASON_NONE,
                                         [LAB_STILL_LEARNING] = LAB_REASON_LEARNING,
                                         [LAB_NOT_BEGUN] = LAB_REASON_NOT_BEGUN};
    return reasons[convergence];
}

/* Nobody has left chance: of four fields, in one of the orders, which are two after the other. */
static bool all_at_chance(const lab_side *sides, size_t count) {
    bool any = false;
    for (size_t i = 0; i + 1 < count; i += 2)
        any = any || (sides[i].at_chance && sides[i + 1].at_chance);
    return any;
}

static lab_reason before_interval(const lab_claim_item *item, const lab_side *sides, size_t count) {
    return item->contrast.missing                   ? LAB_REASON_MISSING
           : item->contrast.seeds < LAB_CLAIM_SEEDS ? LAB_REASON_SEEDS
           : all_at_chance(sides, count)            ? LAB_REASON_CHANCE
                                                    : LAB_REASON_NONE;
}

static void decide(lab_case *one, const lab_claim *claim) {
    lab_claim_item *item = &one->item;
    item->verdict = LAB_OPEN;
    item->reason = before_interval(item, one->sides, one->side_count);
    if (item->reason != LAB_REASON_NONE)
        return;
    item->verdict = by_interval(item, claim->kind);
    item->reason = item->verdict == LAB_OPEN ? LAB_REASON_INTERVAL : LAB_REASON_NONE;
    for (size_t i = 0; i < one->side_count && item->verdict != LAB_OPEN && !claim->after_steps; i++) {
        const lab_side *side = &one->sides[i];
        const lab_reason reason = learning_reason(side->convergence);
        if (reason != LAB_REASON_NONE && could_overturn(side, item, claim->kind)) {
            item->verdict = LAB_OPEN;
            item->reason = reason;
            item->learner = side->row;
            item->learner_column = side->column;
        }
    }
}

/* ---- all of them ---- */

/* How far the lead is from the nearest value that it is compared with. */
static double distance_of(const lab_claim_item *item, lab_claim_kind kind) {
    const double below = fabs(item->lead + item->margin), above = fabs(item->lead - item->margin);
    return kind == LAB_CLAIM_SIMILAR ? fmin(below, above) : below;
}

/* What cannot be decided comes last, with 1. */
static double p_of(const lab_case *one, lab_claim_kind kind) {
    return before_interval(&one->item, one->sides, one->side_count) == LAB_REASON_NONE
               ? lab_contrast_p(&one->item.contrast, distance_of(&one->item, kind))
               : 1;
}

/* The surest one that has no interval yet (miss 0). */
static lab_claim_item *next_of(lab_case *cases, size_t count) {
    lab_claim_item *next = NULL;
    for (size_t i = 0; i < count; i++) {
        lab_claim_item *item = &cases[i].item;
        if (!(item->miss > 0) && (next == NULL || item->p < next->p))
            next = item;
    }
    return next;
}

void lab_verdicts_decide(lab_case *cases, size_t count, size_t m, const lab_claim *claim) {
    bool open = false;
    double miss = LAB_MISS;
    for (size_t i = 0; i < count; i++) {
        cases[i].item.p = p_of(&cases[i], claim->kind);
        cases[i].item.miss = 0;
    }
    for (size_t k = 0; k < count; k++) {
        lab_claim_item *item = next_of(cases, count);
        miss = open ? miss : LAB_MISS / (double)(m > k ? m - k : 1);
        open = open || !(item->p < miss);
        item->miss = miss;
        lab_contrast_widen(&item->contrast, miss);
    }
    for (size_t i = 0; i < count; i++)
        decide(&cases[i], claim);
}
