/* SPDX-License-Identifier: MIT */
/* Plans: every term of a binding placed on positions, and what executors ask of the result (sites.h). */
#include "encoding/plan_access.h"

#include "core/error.h"

#include <string.h>

#define ALL_SITES (~0u)

static locus_status fail_group(const char *which, const locus_group *found, const char *wants,
                               const locus_group *wanted, locus_error *error) {
    char have[96], want[96];
    (void)locus_group_text(found, have, sizeof have);
    (void)locus_group_text(wanted, want, sizeof want);
    return locus_fail(error, LOCUS_ERROR_POSITION, which, "the positions of %s are on '%s', %s '%s'", which, have,
                      wants, want);
}

/* `group` NULL: any. */
static locus_status check_positions(const locus_group *group, const locus_positions *queries,
                                    const locus_positions *keys, locus_error *error) {
    if (!queries)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "queries", "queries is NULL: give the queries' positions");
    const locus_group *own = locus_positions_group(queries);
    if (group && !locus_group_equal(own, group))
        return fail_group("queries", own, "the encoding acts on", group, error);
    if (keys && !locus_group_equal(locus_positions_group(keys), own))
        return fail_group("keys", locus_positions_group(keys), "those of queries on", own, error);
    if (keys && locus_positions_sequences(keys) != locus_positions_sequences(queries))
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "keys", "keys have %zu sequences, queries %zu: give as many",
                          locus_positions_sequences(keys), locus_positions_sequences(queries));
    if (locus_positions_tokens(queries) > UINT32_MAX || (keys && locus_positions_tokens(keys) > UINT32_MAX))
        return locus_fail(error, LOCUS_ERROR_UNSUPPORTED, "queries", "more than 2^32 − 1 tokens in a plan");
    return LOCUS_OK;
}

static void add_score(locus_plan *plan, const locus_score_term *score, size_t term) {
    plan->scores[plan->score_count] = score;
    plan->score_terms[plan->score_count++] = term;
}

/* Factors first, then biases, each in the order of the terms. */
static void collect(locus_plan *plan) {
    const locus_score_kind kinds[] = {LOCUS_SCORE_FACTOR, LOCUS_SCORE_BIAS};
    for (size_t kind = 0; kind < 2; kind++)
        for (size_t i = 0; i < plan->term_count; i++)
            if (plan->placed[i].score && plan->placed[i].score->kind == kinds[kind])
                add_score(plan, plan->placed[i].score, i);
    for (size_t i = 0; i < plan->term_count; i++) {
        const locus_placed *placed = &plan->placed[i];
        if (placed->query_key || placed->query_key_whole) {
            plan->query_key = placed->query_key;
            plan->query_key_whole = placed->query_key_whole;
            plan->query_key_term = i;
        }
        if (placed->value || placed->value_whole) {
            plan->value = placed->value;
            plan->value_whole = placed->value_whole;
            plan->value_term = i;
        }
        plan->content = placed->content ? placed->content : plan->content;
        plan->contextual = placed->contextual ? placed->contextual : plan->contextual;
        plan->settings = placed->settings ? placed->settings : plan->settings;
    }
}

/* Largest position + 1 over all axes; 1 where there are none. */
static size_t length_of(const locus_places *places) {
    double reach = 0;
    for (size_t c = 0; c < places->count; c++)
        if (places->items[c].coordinate.kind == LOCUS_COORDINATE_AXIS && places->items[c].highest > reach)
            reach = places->items[c].highest;
    return (size_t)reach + 1;
}

locus_status locus_plan_check_reals(const locus_encoding *encoding, locus_error *error) {
    for (size_t i = 0; i < encoding->term_count; i++)
        if (!encoding->terms[i].class->reals)
            return locus_fail(error, LOCUS_ERROR_POSITION, "positions",
                              "'%s' needs whole positions: these are real numbers",
                              encoding->terms[i].class->info.name);
    return LOCUS_OK;
}

static void forget_placed(locus_plan *plan) {
    memset(plan->placed, 0, sizeof plan->placed);
    plan->query_key = plan->value = NULL;
    plan->query_key_whole = plan->value_whole = NULL;
    plan->content = NULL;
    plan->contextual = NULL;
    plan->settings = NULL;
    plan->score_count = 0;
}

locus_status locus_plan_place(locus_plan *plan, unsigned sites, locus_error *error) {
    const locus_binding *binding = plan->binding;
    forget_placed(plan);
    const bool real = plan->places.items[0].query.reals || plan->places.items[0].key.reals;
    locus_status status = real ? locus_plan_check_reals(binding->encoding, error) : LOCUS_OK;
    for (size_t i = 0; i < plan->term_count && status == LOCUS_OK; i++) {
        const locus_term *term = &binding->encoding->terms[i];
        if (term->class->place && (sites == ALL_SITES || (locus_term_sites(term) & sites)))
            status = term->class->place(binding->bound[i], &plan->places, binding->list.first[i], &plan->memory,
                                        &plan->placed[i], error);
    }
    if (status == LOCUS_OK)
        collect(plan);
    return status;
}

static locus_status place_everything(locus_plan *plan, const locus_plan_options *options, locus_error *error) {
    const locus_binding *binding = plan->binding;
    bool angles = false;
    for (size_t i = 0; i < plan->term_count; i++)
        angles = angles || binding->encoding->terms[i].class->angles;
    locus_status status = locus_places_create(&plan->places, plan->queries, plan->keys, angles, &plan->memory, error);
    plan->places.workspace = options->workspace;
    plan->places.length = status != LOCUS_OK || options->length ? options->length : length_of(&plan->places);
    return status == LOCUS_OK ? locus_plan_place(plan, ALL_SITES, error) : status;
}

locus_plan_options locus_plan_options_default(void) {
    return (locus_plan_options){.workspace = (size_t)1 << 30};
}

locus_status locus_plan_create(locus_plan **plan, const locus_binding *binding, const locus_positions *queries,
                               const locus_positions *keys, locus_error *error) {
    return locus_plan_create_with(plan, binding, queries, keys, NULL, error);
}

locus_status locus_plan_create_with(locus_plan **plan, const locus_binding *binding, const locus_positions *queries,
                                    const locus_positions *keys, const locus_plan_options *options,
                                    locus_error *error) {
    if (!plan || !binding)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, plan ? "binding" : "plan", "%s is NULL",
                          plan ? "binding" : "plan");
    *plan = NULL;
    const locus_plan_options chosen = options ? *options : locus_plan_options_default();
    locus_status status = check_positions(binding->encoding->group, queries, keys, error);
    if (status != LOCUS_OK)
        return status;
    locus_plan *fresh = locus_allocate(sizeof *fresh);
    if (!fresh)
        return locus_fail_memory(error, sizeof *fresh);
    memset(fresh, 0, sizeof *fresh);
    fresh->binding = binding;
    fresh->term_count = binding->encoding->term_count;
    fresh->queries = locus_positions_share(queries);
    fresh->keys = keys && keys != queries ? locus_positions_share(keys) : fresh->queries;
    status = place_everything(fresh, &chosen, error);
    if (status != LOCUS_OK)
        locus_plan_destroy(&fresh);
    *plan = fresh;
    return status;
}

void locus_plan_destroy(locus_plan **plan) {
    if (!plan || !*plan)
        return;
    locus_plan *old = *plan;
    if (old->keys != old->queries)
        locus_positions_destroy(&old->keys);
    locus_positions_destroy(&old->queries);
    locus_owned_release(&old->memory);
    locus_release(old, sizeof *old);
    *plan = NULL;
}

/* Positions are counted in full, though they are shared with their owner. */
size_t locus_plan_bytes(const locus_plan *plan) {
    if (!plan)
        return 0;
    size_t positions =
        locus_positions_bytes(plan->queries) + (plan->keys == plan->queries ? 0 : locus_positions_bytes(plan->keys));
    return sizeof *plan + plan->memory.bytes + positions;
}

/* ---- sites.h ---- */

const locus_shape *locus_plan_shape(const locus_plan *plan) {
    return &plan->binding->shape;
}

size_t locus_plan_sequences(const locus_plan *plan) {
    return plan->places.items[0].sequences;
}

locus_sequence_span locus_plan_span(const locus_plan *plan, size_t sequence) {
    return plan->places.items[0].spans[sequence];
}

size_t locus_plan_query_tokens(const locus_plan *plan) {
    return plan->places.items[0].query.tokens;
}

size_t locus_plan_key_tokens(const locus_plan *plan) {
    return plan->places.items[0].key.tokens;
}

const locus_operator *locus_plan_query_key_operator(const locus_plan *plan) {
    return plan->query_key;
}

const locus_operator *locus_plan_value_operator(const locus_plan *plan) {
    return plan->value;
}

const locus_whole_operator *locus_plan_query_key_whole(const locus_plan *plan) {
    return plan->query_key_whole;
}

const locus_whole_operator *locus_plan_value_whole(const locus_plan *plan) {
    return plan->value_whole;
}

size_t locus_plan_score_terms(const locus_plan *plan) {
    return plan->score_count;
}

const locus_score_term *locus_plan_score_term(const locus_plan *plan, size_t index) {
    return plan->scores[index];
}

const locus_content_table *locus_plan_content_table(const locus_plan *plan) {
    return plan->content;
}

const locus_contextual_table *locus_plan_contextual_table(const locus_plan *plan) {
    return plan->contextual;
}

const locus_score_settings *locus_plan_score_settings(const locus_plan *plan) {
    return plan->settings;
}

size_t locus_plan_kv_heads(const locus_plan *plan) {
    return plan->binding->shape.kv_heads;
}

size_t locus_plan_parameter_count(const locus_plan *plan) {
    return plan->binding->list.count;
}

size_t locus_plan_query_key_parameters(const locus_plan *plan) {
    return plan->binding->list.first[plan->query_key_term];
}

size_t locus_plan_value_parameters(const locus_plan *plan) {
    return plan->binding->list.first[plan->value_term];
}

size_t locus_plan_score_parameters(const locus_plan *plan, size_t index) {
    return plan->binding->list.first[plan->score_terms[index]];
}
