/* SPDX-License-Identifier: MIT */
/* A plan as data (<locus/form.h>): goes through what its terms placed and has each write its form down, or writes it
 * down itself where the contract is plain data (content, settings). */
#include "plan/form_evaluate.h"
#include "plan/plan_access.h"

#include "core/call.h"
#include "core/error.h"
#include "core/sized.h"

#include <string.h>

struct locus_plan_forms {
    atomic_size_t owners;
    locus_plan *plan; /* a share */
    locus_owned memory;
    const locus_form_entry *entries;
    size_t count;
};

/* ---- what is plain data ---- */

static void write_content(const locus_plan *plan, const locus_content_table *table, locus_form_writer *writer) {
    const int64_t rows = (int64_t)(2 * table->window + 1);
    const locus_placement *first = &plan->places.items[0];
    locus_form_begin(writer, LOCUS_FORM_CONTENT, 0, "");
    locus_form_whole(writer, "window", (int64_t)table->window);
    locus_form_whole(writer, "scaled", table->scaled);
    locus_form_add(writer, "key_table", LOCUS_FORM_FLOAT64, table->key_float64,
                   LOCUS_FORM_SHAPE(rows, (int64_t)plan->binding->shape.head_dim));
    locus_form_learned(writer, table->key_parameter - writer->parameters, 0);
    locus_form_add(writer, "query_position", LOCUS_FORM_INT64, table->query_positions,
                   LOCUS_FORM_SHAPE((int64_t)first->query.tokens));
    locus_form_add(writer, "key_position", LOCUS_FORM_INT64, table->key_positions,
                   LOCUS_FORM_SHAPE((int64_t)first->key.tokens));
    if (!table->value_float64)
        return;
    locus_form_add(writer, "value_table", LOCUS_FORM_FLOAT64, table->value_float64,
                   LOCUS_FORM_SHAPE(rows, (int64_t)plan->binding->shape.value_dim));
    locus_form_learned(writer, table->value_parameter - writer->parameters, 0);
}

static void write_contextual(const locus_plan *plan, const locus_contextual_table *table, locus_form_writer *writer) {
    locus_form_begin(writer, LOCUS_FORM_CONTEXT, 0, "");
    locus_form_whole(writer, "scaled", table->scaled);
    locus_form_add(writer, "table", LOCUS_FORM_FLOAT64, table->float64,
                   LOCUS_FORM_SHAPE((int64_t)table->most + 1, (int64_t)plan->binding->shape.head_dim));
    locus_form_learned(writer, table->parameter - writer->parameters, 0);
}

static void write_settings(const locus_score_settings *settings, locus_form_writer *writer) {
    locus_form_begin(writer, LOCUS_FORM_SETTINGS, 0, "");
    locus_form_number(writer, "scale", settings->scale);
    locus_form_number(writer, "cap", settings->cap);
    locus_form_whole(writer, "window", (int64_t)settings->window);
    locus_form_whole(writer, "keep", (int64_t)settings->keep);
    locus_form_whole(writer, "chunk", (int64_t)settings->chunk);
    if (!settings->sinks)
        return;
    locus_form_add(writer, "sinks", LOCUS_FORM_FLOAT64, settings->sinks, LOCUS_FORM_SHAPE((int64_t)writer->heads));
    locus_form_learned(writer, settings->sinks_parameter - writer->parameters, 0);
}

/* ---- what has a class ---- */

static void write_embedding(const locus_plan *plan, const locus_embedding *embedding, locus_role role,
                            locus_form_writer *writer) {
    writer->roles = 1u << role;
    if (embedding && embedding->class->form)
        embedding->class->form(embedding, writer);
    else if (embedding)
        locus_form_evaluate_embedding(embedding, plan->binding->shape.model_dim, writer);
}

static void write_operator(const locus_operator *local, const locus_whole_operator *whole, size_t dim,
                           locus_form_writer *writer) {
    if (local && local->class->form)
        local->class->form(local, writer);
    else if (whole && whole->class->form)
        whole->class->form(whole, writer);
    else if (local || whole)
        locus_form_evaluate_operator(local, whole, dim, writer);
}

/* One form where values are acted on by what acts on queries and keys. */
static void write_operators(const locus_plan *plan, const locus_placed *placed, locus_form_writer *writer) {
    const unsigned query_key = 1u << LOCUS_ROLE_QUERY | 1u << LOCUS_ROLE_KEY;
    const unsigned value = 1u << LOCUS_ROLE_VALUE | 1u << LOCUS_ROLE_OUTPUT;
    const bool same = placed->value == placed->query_key && placed->value_whole == placed->query_key_whole;
    writer->roles = same ? query_key | value : query_key;
    write_operator(placed->query_key, placed->query_key_whole, plan->binding->shape.head_dim, writer);
    writer->roles = value;
    if (!same)
        write_operator(placed->value, placed->value_whole, plan->binding->shape.value_dim, writer);
}

static void write_score(const locus_score_term *score, locus_form_writer *writer) {
    if (score->class->form)
        score->class->form(score, writer);
    else
        locus_form_evaluate_score(score, writer);
}

/* ---- all of it ---- */

static void turn_to(const locus_plan *plan, size_t term, locus_form_writer *writer) {
    writer->term = term;
    writer->parameters = locus_binding_parameters(plan->binding)->first[term];
    writer->values = plan->binding->terms[term]->values;
    writer->roles = 0;
    writer->first = 0;
}

static void write_all(const locus_plan *plan, locus_form_writer *writer) {
    for (size_t i = 0; i < plan->term_count; i++) {
        const locus_placed *placed = &plan->terms[i]->placed;
        turn_to(plan, i, writer);
        write_embedding(plan, placed->embedding, LOCUS_ROLE_TOKEN, writer);
        write_embedding(plan, placed->encoded, LOCUS_ROLE_ENCODED, writer);
        write_operators(plan, placed, writer);
    }
    for (size_t i = 0; i < plan->term_count; i++) {
        const locus_placed *placed = &plan->terms[i]->placed;
        turn_to(plan, i, writer);
        if (placed->settings)
            write_settings(placed->settings, writer);
        if (placed->content)
            write_content(plan, placed->content, writer);
        if (placed->contextual)
            write_contextual(plan, placed->contextual, writer);
    }
    for (size_t i = 0; i < plan->score_count; i++) { /* factors stand first */
        turn_to(plan, plan->score_terms[i], writer);
        write_score(plan->scores[i], writer);
    }
}

locus_plan_forms_options locus_plan_forms_options_default(void) {
    return (locus_plan_forms_options){.size = sizeof(locus_plan_forms_options), .bytes = (size_t)1 << 30};
}

static locus_status read_options(locus_plan_forms_options *own, const locus_plan *plan,
                                 const locus_plan_forms_options *given, locus_error *error) {
    static const locus_sized kind = {sizeof *own, sizeof *own, "options"};
    *own = locus_plan_forms_options_default();
    if (!plan)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "plan", "plan is NULL");
    if (plan->holder)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "plan",
                          "the plan is a cache's, whose arrays change with the cache: create a plan on its positions");
    return locus_sized_read(own, &kind, given, error);
}

static locus_status write_forms(locus_plan_forms *forms, const locus_plan *plan, size_t bytes, locus_error *error) {
    locus_form_writer writer = {.memory = &forms->memory,
                                .bytes = bytes,
                                .places = &plan->places,
                                .heads = plan->binding->shape.heads,
                                .kv_heads = plan->binding->shape.kv_heads,
                                .error = error};
    write_all(plan, &writer);
    forms->entries = writer.entries;
    forms->count = writer.count;
    return writer.status;
}

locus_status locus_plan_forms_create(locus_plan_forms **forms, const locus_plan *plan,
                                     const locus_plan_forms_options *options, locus_error *error) {
    locus_plan_forms_options chosen;
    locus_call call;
    if (!forms)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "forms", "forms is NULL");
    *forms = NULL;
    locus_status status = read_options(&chosen, plan, options, error);
    if (status == LOCUS_OK)
        status = locus_call_begin(&call, chosen.execution, error);
    if (status != LOCUS_OK)
        return status;
    locus_plan_forms *fresh = locus_allocate(sizeof *fresh);
    if (fresh) {
        memset(fresh, 0, sizeof *fresh);
        atomic_init(&fresh->owners, 1);
        fresh->plan = locus_plan_retain(plan);
        status = write_forms(fresh, plan, chosen.bytes, error);
    } else {
        status = locus_fail_memory(error, sizeof *fresh);
    }
    status = locus_call_end(&call, status, error);
    if (status == LOCUS_OK)
        *forms = fresh;
    else
        locus_plan_forms_destroy(&fresh);
    return status;
}

/* The count of owners is the one thing that changes. */
locus_plan_forms *locus_plan_forms_retain(const locus_plan_forms *forms) {
    locus_plan_forms *shared = (locus_plan_forms *)(uintptr_t)forms;
    if (shared)
        atomic_fetch_add(&shared->owners, 1);
    return shared;
}

void locus_plan_forms_destroy(locus_plan_forms **forms) {
    if (!forms || !*forms)
        return;
    locus_plan_forms *old = *forms;
    *forms = NULL;
    if (atomic_fetch_sub(&old->owners, 1) != 1)
        return;
    locus_owned_release(&old->memory);
    locus_plan_destroy(&old->plan);
    locus_release(old, sizeof *old);
}

/* ---- reading ---- */

size_t locus_plan_form_count(const locus_plan_forms *forms) {
    return forms ? forms->count : 0;
}

static const locus_form_entry *entry_at(const locus_plan_forms *forms, size_t index) {
    const locus_form_entry *entry = forms ? forms->entries : NULL;
    for (; entry && index > 0; index--)
        entry = entry->next;
    return entry;
}

const locus_form *locus_plan_form_at(const locus_plan_forms *forms, size_t index) {
    const locus_form_entry *entry = entry_at(forms, index);
    return entry ? &entry->form : NULL;
}

const locus_form_array *locus_plan_form_array(const locus_plan_forms *forms, size_t index, size_t array) {
    const locus_form_entry *entry = entry_at(forms, index);
    const locus_form_item *item = entry ? entry->items : NULL;
    for (; item && array > 0; array--)
        item = item->next;
    return item ? &item->array : NULL;
}

const locus_form_array *locus_plan_form_find(const locus_plan_forms *forms, size_t index, const char *name) {
    const locus_form_entry *entry = entry_at(forms, index);
    const locus_form_item *item = entry && name ? entry->items : NULL;
    while (item && strcmp(item->array.name, name) != 0)
        item = item->next;
    return item ? &item->array : NULL;
}
