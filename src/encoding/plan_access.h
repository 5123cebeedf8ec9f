/* SPDX-License-Identifier: MIT */
/* A plan from inside: what plan.c builds and apply.c executes. Attention sees it through sites.h only. */
#ifndef LOCUS_PLAN_ACCESS_H
#define LOCUS_PLAN_ACCESS_H

#include "encoding/binding.h"

struct locus_plan {
    const locus_binding *binding;
    locus_positions *queries, *keys; /* shared with their owner; the same if keys stand where queries stand */
    locus_places places;
    locus_owned memory;
    size_t term_count;
    locus_placed placed[LOCUS_TERMS_MAX];
    /* what the terms add up to */
    const locus_operator *query_key, *value;
    const locus_whole_operator *query_key_whole, *value_whole;
    size_t query_key_term, value_term;
    const locus_content_table *content;
    const locus_contextual_table *contextual;
    const locus_score_settings *settings;
    size_t score_count;
    const locus_score_term *scores[LOCUS_TERMS_MAX];
    size_t score_terms[LOCUS_TERMS_MAX];
};

/* Places all terms that act at one of `sites` (a mask of locus_site) on plan->places, from nothing: what they were
 * before has been given up. POSITION for real positions that a term does not take. */
locus_status locus_plan_place(locus_plan *plan, unsigned sites, locus_error *error);

/* POSITION unless all terms take real positions. */
locus_status locus_plan_check_reals(const locus_encoding *encoding, locus_error *error);

#endif
