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

static unsigned rules_of(const lab_rope_source *source) {
    return source->family ? source->family->rules : 0;
}

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
    const unsigned rules = rules_of(source);
    const bool has = strcmp(kind, "sliding_attention") == 0 || strcmp(kind, "hybrid_sliding") == 0;
    const double sliding = number_member(source, "sliding_window"),
                 said = sliding > 0 ? sliding : floor(number_member(source, "local_attention") / 2);
    if (!has || !(said > 0) || lab_value_is_false(lab_rope_member(source, "use_sliding_window")))
        return 0;
    return rules & LAB_ROPE_BOTH_WAYS ? said + 1 : said;
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
    const bool usual = (rules_of(source) & LAB_ROPE_CHUNKED) && kind[0] == '\0' && !bare;
    if (!usual && strcmp(kind, "chunked_attention") != 0)
        return 0;
    return number_or(source, "attention_chunk_size", rules_of(source) & LAB_ROPE_CHUNKED ? 8192 : 0);
}

/* ---- scales ---- */

/* DeepSeek scales its scores with the square of YaRN's factor, too. */
static locus_status read_latent_scale(const lab_rope_settings *settings, double *scale) {
    const lab_rope_source *source = settings->source;
    lab_rope_found all;
    const char *type;
    double factor = 0;
    locus_status status = lab_rope_type(settings, &type);
    if (status != LOCUS_OK || source->rotary_dim == source->head_dim || strcmp(type, "yarn") != 0)
        return status;
    status = lab_rope_find(settings, "mscale_all_dim", NULL, &all);
    if (status == LOCUS_OK)
        status = lab_rope_number(settings, "factor", NULL, &factor);
    if (status == LOCUS_OK && lab_value_is_number(all.item) && all.item->number != 0 && factor > 1) {
        const double m = 0.1 * all.item->number * log(factor) + 1;
        *scale = m * m / sqrt((double)source->head_dim);
        lab_rope_note_add(source, false,
                          "scores are scaled by %.9g, 1/sqrt(%zu) times the square of YaRN's factor: --scale", *scale,
                          source->head_dim);
    }
    return status;
}

static double cap_of(const lab_rope_source *source) {
    if (rules_of(source) & LAB_ROPE_UNCAPPED)
        return 0;
    return number_or(source, "attn_logit_softcapping", source->family ? source->family->cap : 0);
}

/* 0: 1/sqrt(head_dim). */
static locus_status read_scale(const lab_rope_settings *settings, double *scale) {
    const lab_rope_source *source = settings->source;
    const lab_rope_family none = {0}, *usual = source->family ? source->family : &none;
    const double scalar = number_or(source, "query_pre_attn_scalar", usual->scalar),
                 multiplier = number_or(source, "attention_multiplier", usual->multiplier);
    *scale = 0;
    if (rules_of(source) & LAB_ROPE_UNSCALED) {
        *scale = 1;
        lab_rope_note_add(source, true, "scores are not scaled: --scale 1");
    } else if (scalar > 0 && scalar != (double)source->head_dim) {
        *scale = 1 / sqrt(scalar);
        lab_rope_note_add(source, true, "scores are scaled by %.9g, 1/sqrt(query_pre_attn_scalar): --scale", *scale);
    } else if (multiplier > 0) {
        *scale = multiplier;
        lab_rope_note_add(source, true, "scores are scaled by %.9g (attention_multiplier): --scale", multiplier);
    }
    return *scale == 0 ? read_latent_scale(settings, scale) : LOCUS_OK;
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
static locus_status put_scaling_beta(const lab_rope_settings *settings, lab_rope_text *text) {
    const lab_rope_source *source = settings->source;
    double beta = 0, original = 0;
    lab_rope_found found;
    if (source->family && !(source->family->rules & LAB_ROPE_TEMPERED))
        return LOCUS_OK; /* means nothing to it: a note of its own */
    locus_status status = lab_rope_find(settings, "llama_4_scaling_beta", NULL, &found);
    if (status != LOCUS_OK || !found.item || (lab_value_is_number(found.item) && found.item->number == 0))
        return status;
    status = lab_rope_number(settings, "llama_4_scaling_beta", NULL, &beta);
    if (status == LOCUS_OK)
        status = lab_rope_number(settings, "original_max_position_embeddings", "original_max_position_embeddings",
                                 &original);
    if (status == LOCUS_OK && !(original >= 2 && floor(original) == original))
        return lab_rope_fail(source, "has %s, but no whole original_max_position_embeddings that it goes by",
                             found.name);
    if (status == LOCUS_OK)
        put_steps(text, original, beta, false);
    if (status == LOCUS_OK && !source->family)
        lab_rope_note_add(source, false, "%s is taken as Ministral 3 has it, which is a guess as well", found.name);
    return status;
}

/* Qwen 1. */
static void put_logarithm(const lab_rope_source *source, lab_rope_text *text) {
    const double length = number_member(source, "seq_length");
    const bool has = source->family && (source->family->rules & LAB_ROPE_LOGN) != 0;
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

static locus_status put_scores(const lab_rope_settings *settings, bool bare, lab_rope_text *text) {
    const lab_rope_source *source = settings->source;
    const double cap = cap_of(source), window = window_of(source, settings->kind);
    lab_rope_text own = {0};
    double scale;
    note_window(source, settings->kind);
    locus_status status = read_scale(settings, &scale);
    if (source->whole) {
        put_setting(&own, "scale", scale);
        put_setting(&own, "cap", cap);
        put_setting(&own, "window", window);
    }
    put_setting(&own, "chunk", chunk_of(source, settings->kind, bare));
    if (source->whole && (rules_of(source) & LAB_ROPE_SINKS))
        lab_rope_put(&own, "%ssinks=on", own.length ? ", " : " + scores(");
    if (own.length)
        lab_rope_put(text, "%s)", own.data);
    text->failed = text->failed || own.failed;
    free(own.data);
    return status;
}

locus_status lab_rope_put_attention(const lab_rope_settings *settings, bool bare, lab_rope_text *text) {
    const lab_rope_source *source = settings->source;
    locus_status status = LOCUS_OK;
    if (bare && (rules_of(source) & LAB_ROPE_CHUNKED))
        put_tuning(source, text);
    if (!bare)
        status = put_scaling_beta(settings, text);
    put_logarithm(source, text);
    return status == LOCUS_OK ? put_scores(settings, bare, text) : status;
}

void lab_rope_note_attention(const lab_rope_source *source) {
    const double window = number_member(source, "sliding_window"), cap = cap_of(source);
    if (cap > 0)
        lab_rope_note_add(source, true, "scores are capped at %g (attn_logit_softcapping): --cap", cap);
    if (rules_of(source) & LAB_ROPE_SINKS)
        lab_rope_note_add(source, true, "heads have learned sinks: scores(sinks=on)");
    if (window > 0 && !lab_value_is_false(lab_rope_member(source, "use_sliding_window")))
        lab_rope_note_add(source, true, "layers with a window see %g keys (sliding_window): --window",
                          rules_of(source) & LAB_ROPE_BOTH_WAYS ? window + 1 : window);
    if (lab_rope_member(source, "attention_window_size"))
        lab_rope_note_add(source, false, "layers see %g keys (attention_window_size): --window",
                          number_member(source, "attention_window_size"));
    if ((rules_of(source) & LAB_ROPE_SCALED) && !lab_rope_member(source, "rope_parameters") &&
        !lab_rope_member(source, "rope_scaling"))
        lab_rope_note_add(source, false,
                          "no rope_parameters: transformers then takes a scaling of the family's own, here is none");
    for (size_t i = 0; source->family && i < LAB_ROPE_MISSING_MAX && source->family->missing[i]; i++)
        lab_rope_note_add(source, false, "%s", source->family->missing[i]);
}
