/* SPDX-License-Identifier: MIT */
/* Plans: every term of a binding placed on positions, and what executors ask of the result (plan_sites.h). */
#include "plan/plan_access.h"

#include "core/call.h"
#include "core/error.h"
#include "core/sized.h"

#include <string.h>

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
            if (plan->terms[i]->placed.score && plan->terms[i]->placed.score->kind == kinds[kind])
                add_score(plan, plan->terms[i]->placed.score, i);
    for (size_t i = 0; i < plan->term_count; i++) {
        const locus_placed *placed = &plan->terms[i]->placed;
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

/* ---- placing terms ---- */

static locus_placed_term *new_term(void) {
    locus_placed_term *term = locus_allocate(sizeof *term);
    if (term) {
        *term = (locus_placed_term){.memory = {0}};
        atomic_init(&term->owners, 1);
    }
    return term;
}

static void release_term(locus_placed_term *term) {
    if (!term || atomic_fetch_sub(&term->owners, 1) != 1)
        return;
    locus_owned_release(&term->memory);
    locus_release(term, sizeof *term);
}

void locus_plan_release_terms(locus_plan *plan) {
    for (size_t i = 0; i < plan->term_count; i++)
        release_term(plan->terms[i]);
}

size_t locus_plan_term_bytes(const locus_plan *plan) {
    size_t bytes = 0;
    for (size_t i = 0; i < plan->term_count; i++)
        bytes += plan->terms[i] ? sizeof *plan->terms[i] + plan->terms[i]->memory.bytes : 0;
    return bytes;
}

locus_status locus_plan_check_reals(const locus_encoding *encoding, locus_error *error) {
    for (size_t i = 0; i < encoding->term_count; i++)
        if (!encoding->terms[i].class->reals)
            return locus_fail(error, LOCUS_ERROR_POSITION, "positions",
                              "'%s' needs whole positions: these are real numbers",
                              encoding->terms[i].class->info.name);
    return LOCUS_OK;
}

/* Term number i, which the plan has to itself. */
static locus_status place_term(const locus_plan *plan, size_t i, locus_error *error) {
    const locus_binding *binding = plan->binding;
    const locus_encoding_class *class = binding->encoding->terms[i].class;
    locus_placed_term *term = plan->terms[i];
    locus_status status = LOCUS_OK;
    term->placed = (locus_placed){.first_parameter = locus_binding_parameters(binding)->first[i]};
    if (class->place && class->placed_bytes > 0) {
        term->placed.own = locus_owned_get(&term->memory, 1, class->placed_bytes);
        if (!term->placed.own)
            return locus_owned_fail(error);
    }
    if (class->place)
        status = class->place(locus_binding_state(binding, i), &plan->places, &term->memory, &term->placed, error);
    return status == LOCUS_OK ? locus_call_check(error) : status;
}

static void forget_collected(locus_plan *plan) {
    plan->query_key = plan->value = NULL;
    plan->query_key_whole = plan->value_whole = NULL;
    plan->content = NULL;
    plan->contextual = NULL;
    plan->settings = NULL;
    plan->score_count = 0;
}

locus_status locus_plan_place(locus_plan *plan, locus_error *error) {
    const locus_encoding *encoding = plan->binding->encoding;
    locus_status status = plan->places.items[0].query.reals ? locus_plan_check_reals(encoding, error) : LOCUS_OK;
    forget_collected(plan);
    for (size_t i = 0; i < plan->term_count && status == LOCUS_OK; i++) {
        plan->terms[i] = plan->terms[i] ? plan->terms[i] : new_term();
        if (!plan->terms[i])
            return locus_fail_memory(error, sizeof *plan->terms[i]);
        locus_owned_recycle(&plan->terms[i]->memory);
        plan->terms[i]->placed = (locus_placed){.score = NULL};
        if (locus_term_sites(&encoding->terms[i]) & ~plan->places.left_out)
            status = place_term(plan, i, error);
    }
    if (status == LOCUS_OK)
        collect(plan);
    return status;
}

/* Terms that `before` has from the same values are shared, the others placed. */
static locus_status place_everything(locus_plan *plan, const locus_plan *before, locus_error *error) {
    const locus_binding *binding = plan->binding;
    locus_status status =
        plan->places.items[0].query.reals ? locus_plan_check_reals(binding->encoding, error) : LOCUS_OK;
    for (size_t i = 0; i < plan->term_count && status == LOCUS_OK; i++) {
        const bool same = before && before->binding->terms[i] == binding->terms[i];
        plan->terms[i] = same ? before->terms[i] : new_term();
        if (same)
            atomic_fetch_add(&plan->terms[i]->owners, 1);
        else
            status = plan->terms[i] ? place_term(plan, i, error) : locus_fail_memory(error, sizeof *plan->terms[i]);
    }
    if (status == LOCUS_OK)
        collect(plan);
    return status;
}

/* ---- making plans ---- */

locus_plan_options locus_plan_options_default(void) {
    return (locus_plan_options){.size = sizeof(locus_plan_options), .workspace = (size_t)1 << 30};
}

locus_status locus_plan_options_read(locus_plan_options *own, const locus_plan_options *given, locus_error *error) {
    static const locus_sized kind = {sizeof *own, sizeof *own, "options"};
    *own = locus_plan_options_default();
    return locus_sized_read(own, &kind, given, error);
}

/* What a plan is made from. */
typedef struct locus_plan_source {
    const locus_binding *binding;
    const locus_positions *queries, *keys; /* or */
    const locus_plan *before;              /* whose ground and options it takes */
} locus_plan_source;

static locus_status begin_plan(locus_plan **plan, const locus_plan_source *source, const locus_plan_options *options,
                               locus_error *error) {
    locus_plan *fresh = *plan = locus_allocate(sizeof *fresh);
    locus_status status = LOCUS_OK;
    if (!fresh)
        return locus_fail_memory(error, sizeof *fresh);
    memset(fresh, 0, sizeof *fresh);
    atomic_init(&fresh->owners, 1);
    fresh->binding = locus_binding_retain(source->binding);
    fresh->term_count = source->binding->encoding->term_count;
    fresh->options = *options;
    fresh->options.execution = NULL;
    if (source->before)
        fresh->ground = locus_ground_retain(source->before->ground);
    else
        status = locus_ground_get(&fresh->ground, source->queries, source->keys, error);
    if (status != LOCUS_OK)
        return status;
    fresh->places = fresh->ground->places;
    fresh->places.workspace = options->workspace;
    fresh->places.length = options->length ? options->length : fresh->ground->length;
    return status;
}

static locus_status make_plan(locus_plan **plan, const locus_plan_source *source, const locus_plan_options *options,
                              locus_error *error) {
    locus_plan *fresh = NULL;
    locus_call call;
    locus_status status = locus_call_begin(&call, options->execution, error);
    if (status != LOCUS_OK)
        return status;
    status = begin_plan(&fresh, source, options, error);
    if (status == LOCUS_OK)
        status = place_everything(fresh, source->before, error);
    status = locus_call_end(&call, status, error);
    if (status == LOCUS_OK)
        *plan = fresh;
    else
        locus_plan_destroy(&fresh);
    return status;
}

locus_status locus_plan_create(locus_plan **plan, const locus_binding *binding, const locus_positions *queries,
                               const locus_positions *keys, locus_error *error) {
    return locus_plan_create_with(plan, binding, queries, keys, NULL, error);
}

locus_status locus_plan_create_with(locus_plan **plan, const locus_binding *binding, const locus_positions *queries,
                                    const locus_positions *keys, const locus_plan_options *options,
                                    locus_error *error) {
    if (plan)
        *plan = NULL;
    if (!plan || !binding)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, plan ? "binding" : "plan", "%s is NULL",
                          plan ? "binding" : "plan");
    locus_plan_options chosen;
    locus_status status = locus_plan_options_read(&chosen, options, error);
    if (status == LOCUS_OK)
        status = check_positions(binding->encoding->group, queries, keys, error);
    const locus_plan_source source = {.binding = binding, .queries = queries, .keys = keys};
    return status == LOCUS_OK ? make_plan(plan, &source, &chosen, error) : status;
}

static locus_status check_refresh(const locus_plan *plan, const locus_binding *binding, locus_error *error) {
    if (!plan || !binding)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, plan ? "binding" : "plan", "%s is NULL",
                          plan ? "binding" : "plan");
    if (plan->holder)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "plan",
                          "the plan is a cache's, whose keys were turned with its binding: create another cache");
    if (!locus_binding_alike(plan->binding, binding))
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "binding",
                          "the binding is of another encoding or shape than the plan's: create a plan");
    return LOCUS_OK;
}

locus_status locus_plan_refresh(locus_plan **plan, const locus_binding *binding, const locus_execution *execution,
                                locus_error *error) {
    locus_status status = check_refresh(plan ? *plan : NULL, binding, error);
    if (status != LOCUS_OK)
        return status;
    locus_plan *fresh = NULL;
    const locus_plan_source source = {.binding = binding, .before = *plan};
    locus_plan_options options = (*plan)->options;
    options.execution = execution;
    status = make_plan(&fresh, &source, &options, error);
    if (status == LOCUS_OK) {
        locus_plan_destroy(plan);
        *plan = fresh;
    }
    return status;
}

static atomic_size_t *owners_of(locus_plan *plan) {
    return plan->holder ? &plan->holder->owners : &plan->owners;
}

/* The count of owners is the one thing about a plan that changes. */
locus_plan *locus_plan_retain(const locus_plan *plan) {
    locus_plan *shared = (locus_plan *)(uintptr_t)plan;
    if (shared)
        atomic_fetch_add(owners_of(shared), 1);
    return shared;
}

void locus_plan_destroy(locus_plan **plan) {
    if (!plan || !*plan)
        return;
    locus_plan *old = *plan;
    *plan = NULL;
    if (atomic_fetch_sub(owners_of(old), 1) != 1)
        return;
    if (old->holder) {
        old->holder->destroy(old->holder);
        return;
    }
    locus_plan_release_terms(old);
    locus_ground_release(old->ground);
    locus_binding_destroy(&old->binding);
    locus_release(old, sizeof *old);
}

/* What is shared is counted in full. */
size_t locus_plan_bytes(const locus_plan *plan) {
    return plan ? sizeof *plan + locus_plan_term_bytes(plan) + (plan->ground ? locus_ground_bytes(plan->ground) : 0)
                : 0;
}

/* ---- plan_sites.h ---- */

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

const locus_token_side *locus_plan_side(const locus_plan *plan, bool keys) {
    return keys ? &plan->places.items[0].key : &plan->places.items[0].query;
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

const struct locus_parameter_list *locus_plan_parameter_list(const locus_plan *plan) {
    return locus_binding_parameters(plan->binding);
}

size_t locus_plan_query_key_parameters(const locus_plan *plan) {
    return locus_binding_parameters(plan->binding)->first[plan->query_key_term];
}

size_t locus_plan_value_parameters(const locus_plan *plan) {
    return locus_binding_parameters(plan->binding)->first[plan->value_term];
}

size_t locus_plan_score_parameters(const locus_plan *plan, size_t index) {
    return locus_binding_parameters(plan->binding)->first[plan->score_terms[index]];
}
