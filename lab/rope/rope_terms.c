/* SPDX-License-Identifier: MIT */
/* The spec of one type of layers: its rotary settings (how they are scaled: rope_scalings.c), ALiBi or no positions,
 * and what attention needs beside them (rope_attention.c). */
#include "rope/rope_source.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- which dimensions turn, and by what ---- */

typedef struct rope_shape {
    size_t rotated;      /* 0: unknown, all */
    double proportional; /* rotate=proportional:f; 0: not */
    bool interleaved;
} rope_shape;

static locus_status read_partial(const lab_rope_settings *settings, double *partial, size_t *dimensions) {
    const lab_rope_source *source = settings->source;
    locus_status status =
        lab_rope_number(settings, "partial_rotary_factor", "partial_rotary_factor|rotary_pct", partial);
    if (status == LOCUS_OK)
        status = lab_rope_size(source, "rotary_dim", dimensions);
    if (status == LOCUS_OK && *partial > 1)
        return lab_rope_fail(source, "has partial_rotary_factor (or rotary_pct) %g: it must be at most 1", *partial);
    if (status == LOCUS_OK && *partial == 0 && *dimensions == 0 && source->family)
        *partial = source->family->partial;
    return status;
}

static locus_status read_rotated(const lab_rope_settings *settings, const char *type, rope_shape *shape) {
    const lab_rope_source *source = settings->source;
    double partial = 0;
    size_t said = 0, all = source->rotary_dim;
    locus_status status = read_partial(settings, &partial, &said);
    if (status != LOCUS_OK)
        return status;
    if (strcmp(type, "proportional") == 0) {
        shape->proportional = partial != 0 ? partial : 1;
        shape->rotated = all;
        return LOCUS_OK;
    }
    if (partial != 0 && partial < 1 && all == 0)
        return lab_rope_fail(source,
                             "says neither head_dim nor hidden_size and num_attention_heads, but that a part of "
                             "a head turns (partial_rotary_factor)");
    const size_t part = partial != 0 ? (size_t)((double)all * partial) : all;
    shape->rotated = said ? said : part;
    if (said && partial != 0 && said != part)
        return lab_rope_fail(source, "contradicts itself: rotary_dim is %zu, partial_rotary_factor %g of %zu makes %zu",
                             said, partial, all, part);
    if (all && shape->rotated > all)
        return lab_rope_fail(source, "contradicts itself: rotary_dim is %zu, head_dim is %zu", shape->rotated, all);
    if (all && (shape->rotated == 0 || shape->rotated % 2 != 0))
        return lab_rope_fail(source,
                             "lets %zu of %zu head dimensions turn (head_dim, partial_rotary_factor, rotary_dim): "
                             "pairs need an even number",
                             shape->rotated, all);
    return LOCUS_OK;
}

static locus_status read_order(const lab_rope_source *source, rope_shape *shape) {
    const lab_value *order = lab_rope_member(source, "rope_interleave");
    if (order && !lab_value_is_bool(order))
        return lab_rope_fail(source, "has a field rope_interleave that is neither true nor false");
    shape->interleaved =
        order ? lab_value_is_true(order) : source->family && (source->family->rules & LAB_ROPE_INTERLEAVED) != 0;
    return LOCUS_OK;
}

/* Layers with a window may have a base of their own. */
static locus_status read_base(const lab_rope_settings *settings, double *base) {
    const lab_rope_source *source = settings->source;
    const lab_rope_family *family = source->family;
    const bool local = strcmp(settings->kind, "sliding_attention") == 0 &&
                       ((family && family->local != 0) || lab_rope_member(source, "rope_local_base_freq") ||
                        lab_rope_member(source, "local_rope_theta"));
    *base = local ? (family ? family->local : 0) : family ? family->base : 0;
    *base = *base != 0 ? *base : 10000;
    return lab_rope_number(
        settings, "rope_theta",
        local ? "rope_local_base_freq|local_rope_theta" : "rope_theta|rotary_emb_base|global_rope_theta", base);
}

/* ---- sections: one position number for time, height and width ---- */

static locus_status put_order(const lab_rope_settings *settings, size_t sections, lab_rope_text *text) {
    const lab_rope_source *source = settings->source;
    lab_rope_found order;
    locus_status status = lab_rope_find(settings, "mrope_interleaved", "mrope_interleaved", &order);
    if (status != LOCUS_OK)
        return status;
    if (order.item && !lab_value_is_bool(order.item))
        return lab_rope_fail(source, "has a field %s that is neither true nor false", order.name);
    const bool family = source->family && (source->family->rules & LAB_ROPE_SECTIONS_MIXED);
    if (order.item && family && !lab_value_is_true(order.item))
        lab_rope_note_add(source, false, "%s is false, but '%s' always interleaves its sections", order.name,
                          source->family->name);
    if (!family && !lab_value_is_true(order.item))
        return LOCUS_OK;
    if (sections != 3)
        return lab_rope_fail(source, "has %zu sections in mrope_section: three can be interleaved", sections);
    lab_rope_put(text, ", order=interleaved");
    return LOCUS_OK;
}

static locus_status put_sections(const lab_rope_settings *settings, size_t pairs, lab_rope_text *text) {
    const lab_rope_source *source = settings->source;
    lab_rope_found sections;
    double sum = 0;
    locus_status status = lab_rope_find(settings, "mrope_section", "mrope_section", &sections);
    if (status != LOCUS_OK || !sections.item)
        return status;
    const size_t count = lab_value_is_list(sections.item) ? lab_value_count(sections.item) : 0;
    if (count == 0)
        return lab_rope_fail(source, "has a field %s that is no list of numbers", sections.name);
    lab_rope_put(text, ", axes=%zu", count);
    const char *before = ", sections=";
    for (const lab_value *item = sections.item->child; item; item = item->next, before = ":") {
        if (!lab_value_is_number(item) || item->number < 1 || floor(item->number) != item->number)
            return lab_rope_fail(source, "has an item in %s that is no whole number above 0", sections.name);
        lab_rope_put_number(text, before, item->number);
        sum += item->number;
    }
    if (pairs && sum != (double)pairs)
        return lab_rope_fail(source, "contradicts itself: %s adds up to %g, but %zu pairs turn", sections.name, sum,
                             pairs);
    return put_order(settings, count, text);
}

static locus_status put_usual_sections(const lab_rope_settings *settings, size_t pairs, lab_rope_text *text) {
    const lab_rope_source *source = settings->source;
    const size_t *usual = source->family->sections, sum = usual[0] + usual[1] + usual[2];
    if (pairs && sum != pairs)
        return lab_rope_fail(source,
                             "has no field mrope_section, and the usual one of '%s' (%zu pairs) is not that of %zu",
                             source->family->name, sum, pairs);
    lab_rope_note_add(source, false, "mrope_section is not given: %zu, %zu, %zu, as '%s' has it", usual[0], usual[1],
                      usual[2], source->family->name);
    lab_rope_put(text, ", axes=3, sections=%zu:%zu:%zu", usual[0], usual[1], usual[2]);
    return put_order(settings, 3, text);
}

static locus_status put_axes(const lab_rope_settings *settings, size_t pairs, lab_rope_text *text) {
    const lab_rope_family *family = settings->source->family;
    if (family && (family->rules & LAB_ROPE_OTHER_SECTIONS))
        return lab_rope_fail(settings->source,
                             "is of model_type '%s', whose sections stand in an order that no option names",
                             family->name);
    const size_t before = text->length;
    locus_status status = put_sections(settings, pairs, text);
    if (status == LOCUS_OK && text->length == before && family && (family->rules & LAB_ROPE_SECTIONS))
        return put_usual_sections(settings, pairs, text);
    return status;
}

/* ---- together ---- */

static locus_status put_rope(const lab_rope_settings *settings, lab_rope_text *text) {
    const lab_rope_source *source = settings->source;
    const char *type;
    rope_shape shape = {0};
    double base;
    locus_status status = lab_rope_type(settings, &type);
    if (status == LOCUS_OK)
        status = read_rotated(settings, type, &shape);
    if (status == LOCUS_OK)
        status = read_order(source, &shape);
    if (status == LOCUS_OK)
        status = read_base(settings, &base);
    if (status != LOCUS_OK)
        return status;
    lab_rope_put(text, "rope(pairs=%s", shape.interleaved ? "interleaved" : "half");
    lab_rope_put_number(text, ", base=", base);
    if (shape.proportional != 0)
        lab_rope_put_number(text, ", rotate=proportional:", shape.proportional);
    else if (shape.rotated && shape.rotated != source->head_dim)
        lab_rope_put(text, ", rotate=%zu", shape.rotated);
    status = put_axes(settings, shape.rotated / 2, text);
    if (status == LOCUS_OK)
        status = lab_rope_put_scaling(settings, shape.rotated, text);
    if (source->family && (source->family->rules & LAB_ROPE_BACKWARD))
        lab_rope_put(text, ", turn=backward");
    lab_rope_put(text, ")");
    return status;
}

bool lab_rope_has_alibi(const lab_rope_source *source) {
    const unsigned rules = source->family ? source->family->rules : 0;
    return (rules & LAB_ROPE_ALIBI) ||
           ((rules & LAB_ROPE_MAYBE_ALIBI) && lab_value_is_true(lab_rope_member(source, "alibi")));
}

/* Granite 4's hybrids have positions only where their files say so. */
static bool is_unsaid(const lab_rope_source *source) {
    const char *said = lab_value_text(lab_rope_member(source, "position_embedding_type"));
    return source->family && (source->family->rules & LAB_ROPE_IF_SAID) &&
           (!said || (strcmp(said, "rope") != 0 && strcmp(said, "rotary") != 0));
}

static locus_status put_positions(const lab_rope_settings *settings, bool bare, lab_rope_text *text) {
    if (!bare && lab_rope_has_alibi(settings->source)) {
        const bool scaled = !(settings->source->family->rules & LAB_ROPE_ALIBI);
        lab_rope_put(text, scaled ? "alibi(scaled=on)" : "alibi");
        if (scaled)
            lab_rope_note_add(settings->source, true,
                              "transformers makes these biases in bfloat16: beyond 256 positions it rounds them");
    } else if (!bare)
        return put_rope(settings, text);
    return LOCUS_OK;
}

locus_status lab_rope_put_spec(const lab_rope_source *source, const char *kind, bool bare, lab_rope_text *text) {
    static const char between[] = " + ";
    lab_rope_settings settings;
    lab_rope_text terms = {0};
    locus_status status = lab_rope_settings_open(&settings, source, kind);
    bare = bare || settings.bare || is_unsaid(source);
    if (status == LOCUS_OK)
        status = put_positions(&settings, bare, text);
    if (status == LOCUS_OK)
        status = lab_rope_put_attention(&settings, bare, &terms);
    if (status == LOCUS_OK && !bare)
        lab_rope_note_unknown(&settings);
    if (terms.length)
        lab_rope_put(text, "%s", terms.data + (text->length ? 0 : sizeof between - 1));
    else if (!text->length)
        lab_rope_put(text, "none");
    text->failed = text->failed || terms.failed;
    free(terms.data);
    return status;
}
