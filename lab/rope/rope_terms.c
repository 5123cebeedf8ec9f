/* SPDX-License-Identifier: MIT */
/* The spec of one type of layers: its rotary settings (how they are scaled: rope_scalings.c), ALiBi or no positions,
 * and what attention needs beside them (rope_attention.c). */
#include "rope/rope_source.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- which dimensions turn, and by what ---- */

/* Sets how many turn; f of rotate=proportional:f, or 0. */
static double read_rotated(lab_rope_settings *settings) {
    const lab_rope_source *source = settings->source;
    const bool proportional = strcmp(lab_rope_type(settings), "proportional") == 0;
    double partial = lab_rope_number(settings, "partial_rotary_factor", "partial_rotary_factor|rotary_pct", 0);
    const size_t all = source->rotary_dim, said = lab_rope_size(source, "rotary_dim");
    if (partial > 1)
        lab_rope_fail(source, "has partial_rotary_factor (or rotary_pct) %g: it must be at most 1", partial);
    partial = partial == 0 && said == 0 ? source->family->partial : fmin(partial, 1);
    settings->rotated = all;
    if (proportional)
        return partial != 0 ? partial : 1;
    if (partial != 0 && partial < 1 && all == 0)
        lab_rope_fail(source,
                      "says neither head_dim nor hidden_size and num_attention_heads, but that a part of a head turns "
                      "(partial_rotary_factor)");
    /* Mistral 4 says the part of a whole head that qk_rope_head_dim is, others a part of what that lets turn. */
    const bool of_head = source->head_dim > all && (size_t)((double)source->head_dim * partial) == all;
    const size_t part = partial != 0 && !of_head ? (size_t)((double)all * partial) : all;
    settings->rotated = said ? said : part;
    if (said && partial != 0 && said != part)
        lab_rope_fail(source, "contradicts itself: rotary_dim is %zu, partial_rotary_factor %g of %zu makes %zu", said,
                      partial, all, part);
    if (all && settings->rotated > all)
        lab_rope_fail(source, "contradicts itself: rotary_dim is %zu, head_dim is %zu", settings->rotated, all);
    if (all && (settings->rotated == 0 || settings->rotated % 2 != 0))
        lab_rope_fail(source,
                      "lets %zu of %zu head dimensions turn (head_dim, partial_rotary_factor, rotary_dim): pairs need "
                      "an even number",
                      settings->rotated, all);
    return 0;
}

static bool is_interleaved(const lab_rope_source *source) {
    const lab_value *order = lab_rope_member(source, "rope_interleave");
    if (order && !lab_value_is_bool(order))
        lab_rope_fail(source, "has a field rope_interleave that is neither true nor false");
    return order ? lab_value_is_true(order) : source->family->interleaved;
}

/* Layers with a window may have a base of their own. */
static double read_base(const lab_rope_settings *settings) {
    const lab_rope_source *source = settings->source;
    const bool local = strcmp(settings->kind, "sliding_attention") == 0 &&
                       (source->family->local != 0 || lab_rope_member(source, "rope_local_base_freq") ||
                        lab_rope_member(source, "local_rope_theta"));
    const double usual = local ? source->family->local : source->family->base;
    return lab_rope_number(settings, "rope_theta",
                           local ? "rope_local_base_freq|local_rope_theta"
                                 : "rope_theta|rotary_emb_base|global_rope_theta",
                           usual != 0 ? usual : 10000);
}

/* ---- sections: one position number for time, height and width ---- */

static void put_order(const lab_rope_settings *settings, size_t sections, lab_rope_text *text) {
    const lab_rope_source *source = settings->source;
    const lab_rope_found order = lab_rope_find(settings, "mrope_interleaved", "mrope_interleaved");
    if (order.item && !lab_value_is_bool(order.item))
        lab_rope_fail(source, "has a field %s that is neither true nor false", order.name);
    const bool mixed = source->family->sections_mixed;
    if (order.item && mixed && !lab_value_is_true(order.item))
        lab_rope_note_add(source, false, "%s is false, but '%s' always interleaves its sections", order.name,
                          source->name);
    if (!mixed && !lab_value_is_true(order.item))
        return;
    if (sections != 3)
        lab_rope_fail(source, "has %zu sections in mrope_section: three can be interleaved", sections);
    lab_rope_put(text, ", order=interleaved");
}

static void put_sections(const lab_rope_settings *settings, const lab_rope_found *sections, lab_rope_text *text) {
    const lab_rope_source *source = settings->source;
    const size_t count = lab_value_is_list(sections->item) ? lab_value_count(sections->item) : 0;
    const size_t pairs = settings->rotated / 2;
    double sum = 0;
    if (count == 0)
        lab_rope_fail(source, "has a field %s that is no list of numbers", sections->name);
    lab_rope_put(text, ", axes=%zu", count);
    const char *before = ", sections=";
    for (const lab_value *item = sections->item->child; item; item = item->next, before = ":") {
        if (!lab_value_is_number(item) || item->number < 1 || floor(item->number) != item->number)
            lab_rope_fail(source, "has an item in %s that is no whole number above 0", sections->name);
        lab_rope_put_number(text, before, item->number);
        sum += item->number;
    }
    if (pairs && sum != (double)pairs)
        lab_rope_fail(source, "contradicts itself: %s adds up to %g, but %zu pairs turn", sections->name, sum, pairs);
    put_order(settings, count, text);
}

static void put_usual_sections(const lab_rope_settings *settings, lab_rope_text *text) {
    const lab_rope_source *source = settings->source;
    const size_t *usual = source->family->sections, sum = usual[0] + usual[1] + usual[2], pairs = settings->rotated / 2;
    if (pairs && sum != pairs)
        lab_rope_fail(source, "has no field mrope_section, and the usual one of '%s' (%zu pairs) is not that of %zu",
                      source->name, sum, pairs);
    lab_rope_note_add(source, false, "mrope_section is not given: %zu, %zu, %zu, as '%s' has it", usual[0], usual[1],
                      usual[2], source->name);
    lab_rope_put(text, ", axes=3, sections=%zu:%zu:%zu", usual[0], usual[1], usual[2]);
    put_order(settings, 3, text);
}

static void put_axes(const lab_rope_settings *settings, lab_rope_text *text) {
    const lab_rope_source *source = settings->source;
    if (source->family->other_sections)
        lab_rope_fail(source, "is of model_type '%s', whose sections stand in an order that no option names",
                      source->name);
    const lab_rope_found sections = lab_rope_find(settings, "mrope_section", "mrope_section");
    if (sections.item)
        put_sections(settings, &sections, text);
    else if (source->family->sections[0])
        put_usual_sections(settings, text);
}

/* ---- together ---- */

static void put_rope(lab_rope_settings *settings, lab_rope_text *text) {
    const lab_rope_source *source = settings->source;
    const double proportional = read_rotated(settings);
    lab_rope_put(text, "rope(pairs=%s", is_interleaved(source) ? "interleaved" : "half");
    lab_rope_put_number(text, ", base=", read_base(settings));
    if (proportional != 0)
        lab_rope_put_number(text, ", rotate=proportional:", proportional);
    else if (settings->rotated && settings->rotated != source->head_dim)
        lab_rope_put(text, ", rotate=%zu", settings->rotated);
    put_axes(settings, text);
    lab_rope_put_scaling(settings, text);
    lab_rope_put(text, "%s)", source->family->backward ? ", turn=backward" : "");
}

bool lab_rope_has_alibi(const lab_rope_source *source) {
    return source->family->alibi ||
           (source->family->maybe_alibi && lab_value_is_true(lab_rope_member(source, "alibi")));
}

/* Granite 4's hybrids have positions only where their files say so. */
static bool is_unsaid(const lab_rope_source *source) {
    const char *said = lab_value_text(lab_rope_member(source, "position_embedding_type"));
    return source->family->if_said && (!said || (strcmp(said, "rope") != 0 && strcmp(said, "rotary") != 0));
}

static void put_alibi(const lab_rope_source *source, lab_rope_text *text) {
    const bool scaled = !source->family->alibi;
    lab_rope_put(text, scaled ? "alibi(scaled=on)" : "alibi");
    if (scaled)
        lab_rope_note_add(source, true,
                          "transformers makes these biases in bfloat16: beyond 256 positions it rounds them");
}

void lab_rope_put_spec(const lab_rope_source *source, const char *kind, bool bare, lab_rope_text *text) {
    static const char between[] = " + ";
    lab_rope_settings settings = lab_rope_settings_open(source, kind);
    lab_rope_text terms = {.source = source};
    bare = bare || settings.bare || is_unsaid(source);
    if (!bare && lab_rope_has_alibi(source))
        put_alibi(source, text);
    else if (!bare)
        put_rope(&settings, text);
    lab_rope_put_attention(&settings, bare, &terms);
    if (!bare)
        lab_rope_note_unknown(&settings);
    if (terms.length)
        lab_rope_put(text, "%s", terms.data + (text->length ? 0 : sizeof between - 1));
    else if (!text->length)
        lab_rope_put(text, "none");
    free(terms.data);
}
