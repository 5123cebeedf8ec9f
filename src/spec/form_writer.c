/* SPDX-License-Identifier: MIT */
/* See form_writer.h. */
#include "spec/form_writer.h"

#include "core/error.h"

#include <stdio.h>
#include <string.h>

#define NAME_BYTES 40

/* ---- memory ---- */

void locus_form_fail(locus_form_writer *writer, locus_status status) {
    if (writer->status == LOCUS_OK)
        writer->status = status;
}

/* Of the list itself, which the limit is not about. */
static void *take_small(locus_form_writer *writer, size_t count, size_t size) {
    void *block = writer->status == LOCUS_OK ? locus_owned_get(writer->memory, count, size) : NULL;
    if (!block && writer->status == LOCUS_OK)
        writer->status = locus_owned_fail(writer->error);
    return block;
}

void *locus_form_take(locus_form_writer *writer, size_t count, size_t size) {
    if (writer->status == LOCUS_OK && count > writer->bytes / size)
        writer->status = locus_fail(writer->error, LOCUS_ERROR_MEMORY, "bytes",
                                    "the forms of term %zu need %.0f bytes more than 'bytes' lets: raise it, or take "
                                    "forms of fewer sequences at a time",
                                    writer->term, (double)count * (double)size - (double)writer->bytes);
    void *block = take_small(writer, count, size);
    if (block)
        writer->bytes -= count * size;
    return block;
}

const char *locus_form_name(locus_form_writer *writer, const char *name, size_t axis) {
    char *text = take_small(writer, NAME_BYTES, 1);
    if (text)
        (void)snprintf(text, NAME_BYTES, "%s.%zu", name, axis);
    return text ? text : name;
}

/* ---- the list ---- */

void locus_form_begin(locus_form_writer *writer, locus_form_kind kind, size_t dims, const char *law) {
    locus_form_entry *entry = take_small(writer, 1, sizeof *entry);
    if (!entry)
        return;
    entry->form = (locus_form){.kind = kind,
                               .term = writer->term,
                               .roles = writer->roles,
                               .first = dims > 0 ? writer->first : 0,
                               .count = dims,
                               .law = law};
    if (writer->last)
        writer->last->next = entry;
    else
        writer->entries = entry;
    writer->last = entry;
    writer->count++;
}

void locus_form_limit(locus_form_writer *writer, unsigned roles) {
    if (writer->status == LOCUS_OK)
        writer->last->form.roles &= roles;
}

void locus_form_multiplies(locus_form_writer *writer) {
    if (writer->status == LOCUS_OK)
        writer->last->form.multiplies = true;
}

void locus_form_add(locus_form_writer *writer, const char *name, locus_form_type type, const void *data, size_t rank,
                    const int64_t *shape) {
    locus_form_item *item = data ? take_small(writer, 1, sizeof *item) : NULL;
    if (!item)
        return;
    locus_form_entry *entry = writer->last;
    item->array =
        (locus_form_array){.name = name, .data = data, .type = type, .rank = rank, .parameter = LOCUS_FORM_FIXED};
    for (size_t i = 0; i < rank && i < LOCUS_FORM_MAX_RANK; i++)
        item->array.shape[i] = shape[i];
    if (entry->last)
        entry->last->next = item;
    else
        entry->items = item;
    entry->last = item;
    entry->form.array_count++;
}

void locus_form_number(locus_form_writer *writer, const char *name, double value) {
    double *kept = take_small(writer, 1, sizeof *kept);
    if (kept)
        *kept = value;
    locus_form_add(writer, name, LOCUS_FORM_FLOAT64, kept, 0, NULL);
}

void locus_form_whole(locus_form_writer *writer, const char *name, int64_t value) {
    int64_t *kept = take_small(writer, 1, sizeof *kept);
    if (kept)
        *kept = value;
    locus_form_add(writer, name, LOCUS_FORM_INT64, kept, 0, NULL);
}

void locus_form_learned(locus_form_writer *writer, size_t parameter, size_t first) {
    if (writer->status != LOCUS_OK)
        return;
    writer->last->last->array.parameter = writer->parameters + parameter;
    writer->last->last->array.parameter_first = first;
}

static void add_side(locus_form_writer *writer, const char *name, const locus_token_side *side) {
    if (side->reals)
        locus_form_add(writer, name, LOCUS_FORM_FLOAT64, side->reals, LOCUS_FORM_SHAPE((int64_t)side->tokens));
    else
        locus_form_add(writer, name, LOCUS_FORM_INT64, side->values, LOCUS_FORM_SHAPE((int64_t)side->tokens));
}

void locus_form_positions(locus_form_writer *writer, size_t axis, const locus_placement *placement) {
    add_side(writer, locus_form_name(writer, "query_position", axis), &placement->query);
    add_side(writer, locus_form_name(writer, "key_position", axis), &placement->key);
}

bool locus_form_distinguish(locus_form_writer *writer, locus_distinct_positions *distinct) {
    if (writer->status == LOCUS_OK)
        writer->status = locus_distinct_positions_find(writer->places, distinct, writer->memory, writer->error);
    return writer->status == LOCUS_OK;
}
