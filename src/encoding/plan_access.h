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
    size_t score_count;
    const locus_score_term *scores[LOCUS_TERMS_MAX];
    size_t score_terms[LOCUS_TERMS_MAX];
};

#endif
