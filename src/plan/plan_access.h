/* SPDX-License-Identifier: MIT */
/* A plan from inside: what plan.c builds and apply.c executes. Attention sees it through plan_sites.h only. */
#ifndef LOCUS_PLAN_ACCESS_H
#define LOCUS_PLAN_ACCESS_H

#include "plan/binding.h"
#include "plan/ground.h"
#include "plan/plan_sites.h"

/* What a plan is a part of, if it does not stand alone: its owners are the holder's. */
typedef struct locus_plan_holder locus_plan_holder;
struct locus_plan_holder {
    atomic_size_t owners;
    void (*destroy)(locus_plan_holder *holder); /* when the last one has gone */
};

/* What one term puts at the sites, and its memory. A refreshed plan shares those whose parameters did not change. */
typedef struct locus_placed_term {
    atomic_size_t owners;
    locus_owned memory;
    locus_placed placed;
} locus_placed_term;

struct locus_plan {
    atomic_size_t owners;
    locus_plan_holder *holder;  /* or NULL */
    locus_binding *binding;     /* a share; the holder's, if there is one */
    locus_ground *ground;       /* a share; NULL if there is a holder */
    locus_plan_options options; /* without an execution */
    locus_places places;        /* the ground's, or the holder's */
    const locus_limits *limits; /* of a plan of limits (limits.h), else NULL */
    size_t term_count;
    locus_placed_term *terms[LOCUS_TERMS_MAX]; /* shares; a holder's plan alone has its own */
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

/* Of a holder's plan: places all terms that act where plan->places ask anew, in the memory that they had before. */
locus_status locus_plan_place(locus_plan *plan, locus_error *error);
void locus_plan_release_terms(locus_plan *plan);
size_t locus_plan_term_bytes(const locus_plan *plan);

/* POSITION unless all terms take real positions. */
locus_status locus_plan_check_reals(const locus_encoding *encoding, locus_error *error);

/* What a caller gave, at its size; NULL: the defaults. */
locus_status locus_plan_options_read(locus_plan_options *own, const locus_plan_options *given, locus_error *error);

#endif
