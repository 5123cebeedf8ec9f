/* SPDX-License-Identifier: MIT */
/* What a type of layers needs of attention beside its rotary encoding, as terms of its spec:
 *
 *   + temperature(…)   grows with the position: Llama 4 without positions, Ministral 3, Qwen 1
 *   + scores(…)        chunk: Llama 4; and in full also scale, cap, window and sinks
 *
 * A spec alone can say the first two, so they are always in it. Scale, cap and window are options of attention as well
 * (--scale, --cap, --window) and are notes, unless the whole is asked for (lab_rope_source.whole). */
#include "rope/rope_source.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double number_member(const lab_rope_source *source, const char *key) {
    const lab_value *item = lab_rope_member(source, key);
    return lab_value_is_number(item) ? item->number : 0;
}

static double number_or(const lab_rope_source *source, const char *key, double usual) {
    return lab_rope_says_null(source, key) || lab_rope_member(source, key) ? number_member(source, key) : usual;
}

static bool is_off(const lab_rope_source *source, const char *key) {
    const lab_value *item = lab_rope_member(source, key);
    return lab_rope_says_null(source, key) || lab_value_is_false(item) ||
           (lab_value_is_number(item) && item->number == 0);
}

/* ---- windows ---- */

/* How many keys back a layer of this type sees, its own included; 0: all. */
static double window_of(const lab_rope_source *source, const char *kind) {
    const bool has = strcmp(kind, "sliding_attention") == 0 || strcmp(kind, "hybrid_sliding") == 0;
    const double sliding = number_member(source, "sliding_window"),
                 said = sliding > 0 ? sliding : floor(number_member(source, "local_attention") / 2);
    if (!has || !(said > 0) || lab_value_is_false(lab_rope_member(source, "use_sliding_window")))
        return 0;
    return source->family->both_ways ? said + 1 : said;
}

static void note_window(const lab_rope_source *source, const char *kind) {
    const double window = window_of(source, kind), local = number_member(source, "local_attention");
    if (strcmp(kind, "sliding_attention") == 0 && window == 0 &&
        !lab_value_is_false(lab_rope_member(source, "use_sliding_window")))
        lab_rope_note_add(source, true,
                          "the file does not say how wide the windows of its layers are (sliding_window)");
    if (window > 0 && !lab_rope_member(source, "sliding_window"))
        lab_rope_note_add(source, false,
                          "layers with a window see keys fewer than %g away (local_attention %g, halved): --window",
                          window, local);
}

static double chunk_of(const lab_rope_source *source, const char *kind, bool bare) {
    const bool chunked = source->family->chunked, usual = chunked && kind[0] == '\0' && !bare;
    if (!usual && strcmp(kind, "chunked_attention") != 0)
        return 0;
    return number_or(source, "attention_chunk_size", chunked ? 8192 : 0);
}

/* ---- scales ---- */

/* DeepSeek scales its scores with the square of YaRN's factor, too. */
static double latent_scale(const lab_rope_settings *settings) {
    const lab_rope_source *source = settings->source;
    const bool yarn = strcmp(lab_rope_type(settings), "yarn") == 0;
    if (!yarn || source->rotary_dim == source->head_dim)
        return 0;
    const lab_value *all = lab_rope_find(settings, "mscale_all_dim", "").item;
    const double factor = lab_rope_number(settings, "factor", "", 0);
    if (!lab_value_is_number(all) || all->number == 0 || factor <= 1)
        return 0;
    const double m = 0.1 * all->number * log(factor) + 1, scale = m * m / sqrt((double)source->head_dim);
    lab_rope_note_add(source, false,
                      "scores are scaled by %.9g, 1/sqrt(%zu) times the square of YaRN's factor: --scale", scale,
                      source->head_dim);
    return scale;
}

static double cap_of(const lab_rope_source *source) {
    return source->family->uncapped ? 0 : number_or(source, "attn_logit_softcapping", source->family->cap);
}

/* 0: 1/sqrt(head_dim). */
static double scale_of(const lab_rope_settings *settings) {
    const lab_rope_source *source = settings->source;
    const double scalar = number_or(source, "query_pre_attn_scalar", source->family->scalar),
                 multiplier = number_or(source, "attention_multiplier", source->family->multiplier);
    if (source->family->unscaled) {
        lab_rope_note_add(source, true, "scores are not scaled: --scale 1");
        return 1;
    }
    if (scalar > 0 && scalar != (double)source->head_dim) {
        const double scale = 1 / sqrt(scalar);
        lab_rope_note_add(source, true, "scores are scaled by %.9g, 1/sqrt(query_pre_attn_scalar): --scale", scale);
        return scale;
    }
    if (multiplier > 0) {
        lab_rope_note_add(source, true, "scores are scaled by %.9g (attention_multiplier): --scale", multiplier);
        return multiplier;
    }
    return latent_scale(settings);
}

/* ---- temperatures ---- */

static void put_steps(lab_rope_text *text, double length, double beta, bool from_one) {
    lab_rope_put_number(text, " + temperature(length=", length);
    lab_rope_put_number(text, ", beta=", beta);
    lab_rope_put(text, "%s)", from_one ? "" : ", first=0");
}

/* Llama 4, in layers without positions. */
static void put_tuning(const lab_rope_source *source, lab_rope_text *text) {
    const double length = number_or(source, "floor_scale", 8192), beta = number_or(source, "attn_scale", 0.1);
    if (!is_off(source, "attn_temperature_tuning") && length >= 2 && beta > 0)
        put_steps(text, length, beta, true);
}

/* Ministral 3. */
static void put_scaling_beta(const lab_rope_settings *settings, lab_rope_text *text) {
    static const char key[] = "llama_4_scaling_beta", length[] = "original_max_position_embeddings";
    const lab_rope_source *source = settings->source;
    const bool listed = source->name[0] != '\0';
    if (listed && !source->family->tempered)
        return; /* means nothing to it: a note of its own */
    const lab_rope_found found = lab_rope_find(settings, key, "");
    if (!found.item || (lab_value_is_number(found.item) && found.item->number == 0))
        return;
    const double beta = lab_rope_number(settings, key, "", 0);
    const double original = lab_rope_number(settings, length, length, 0);
    if (!(original >= 2 && floor(original) == original))
        lab_rope_fail(source, "has %s, but no whole %s that it goes by", found.name, length);
    put_steps(text, original, beta, false);
    if (!listed)
        lab_rope_note_add(source, false, "%s is taken as Ministral 3 has it, which is a guess as well", found.name);
}

/* Qwen 1. */
static void put_logarithm(const lab_rope_source *source, lab_rope_text *text) {
    const double length = number_member(source, "seq_length");
    const bool has = source->family->logn;
    if (has && lab_value_is_true(lab_rope_member(source, "use_logn_attn")) && length >= 2) {
        lab_rope_put_number(text, " + temperature(growth=log, length=", length);
        lab_rope_put(text, ")");
    }
    if (has && lab_value_is_true(lab_rope_member(source, "use_dynamic_ntk")))
        lab_rope_note_add(source, false,
                          "use_dynamic_ntk: for a text of L > %g tokens say scaling=ntk, factor=α with α = "
                          "2^⌈log2(L/%g) + 1⌉ − 1",
                          length, length);
}

/* ---- together ---- */

static void put_setting(lab_rope_text *text, const char *name, double value) {
    if (value > 0) {
        lab_rope_put(text, "%s%s", text->length ? ", " : " + scores(", name);
        lab_rope_put_number(text, "=", value);
    }
}

static void put_scores(const lab_rope_settings *settings, bool bare, lab_rope_text *text) {
    const lab_rope_source *source = settings->source;
    const double cap = cap_of(source), window = window_of(source, settings->kind);
    lab_rope_text own = {.source = source};
    note_window(source, settings->kind);
    const double scale = scale_of(settings);
    if (source->whole) {
        put_setting(&own, "scale", scale);
        put_setting(&own, "cap", cap);
        put_setting(&own, "window", window);
    }
    put_setting(&own, "chunk", chunk_of(source, settings->kind, bare));
    if (source->whole && source->family->sinks)
        lab_rope_put(&own, "%ssinks=on", own.length ? ", " : " + scores(");
    if (own.length)
        lab_rope_put(text, "%s)", own.data);
    free(own.data);
}

void lab_rope_put_attention(const lab_rope_settings *settings, bool bare, lab_rope_text *text) {
    const lab_rope_source *source = settings->source;
    if (bare && source->family->chunked)
        put_tuning(source, text);
    if (!bare)
        put_scaling_beta(settings, text);
    put_logarithm(source, text);
    put_scores(settings, bare, text);
}

void lab_rope_note_attention(const lab_rope_source *source) {
    const double window = number_member(source, "sliding_window"), cap = cap_of(source);
    if (cap > 0)
        lab_rope_note_add(source, true, "scores are capped at %g (attn_logit_softcapping): --cap", cap);
    if (source->family->sinks)
        lab_rope_note_add(source, true, "heads have learned sinks: scores(sinks=on)");
    if (window > 0 && !lab_value_is_false(lab_rope_member(source, "use_sliding_window")))
        lab_rope_note_add(source, true, "layers with a window see %g keys (sliding_window): --window",
                          source->family->both_ways ? window + 1 : window);
    if (lab_rope_member(source, "attention_window_size"))
        lab_rope_note_add(source, false, "layers see %g keys (attention_window_size): --window",
                          number_member(source, "attention_window_size"));
    if (source->family->scaled && !lab_rope_member(source, "rope_parameters") &&
        !lab_rope_member(source, "rope_scaling"))
        lab_rope_note_add(source, false,
                          "no rope_parameters: transformers then takes a scaling of the family's own, here is none");
    for (size_t i = 0; i < LAB_ROPE_MISSING_MAX && source->family->missing[i]; i++)
        lab_rope_note_add(source, false, "%s", source->family->missing[i]);
}
