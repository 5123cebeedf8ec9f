/* SPDX-License-Identifier: MIT */
/* How frequencies are scaled for long texts: rope types of model configurations as options of `rope`.
 *
 *   default                                          (nothing)
 *   linear     factor                                scaling=linear, factor
 *   dynamic    factor, max_position_embeddings       scaling=dynamic, factor, original
 *              alpha (HunYuan)                       scaling=ntk, factor
 *   yarn       factor, original_max_position_embeddings, beta_fast, beta_slow, truncate,
 *              attention_factor, or mscale and mscale_all_dim
 *   llama3     factor, original_max_position_embeddings, low_freq_factor, high_freq_factor
 *   longrope   short_factor, long_factor, original_max_position_embeddings, factor, attention_factor
 *   proportional   factor, with rotate=proportional:f                scaling=linear, factor */
#include "rope/rope_source.h"

#include <math.h>
#include <string.h>

typedef struct scaling_type {
    const char *name;
    const char *known;                                                   /* its keys, "factor|…" */
    void (*put)(const lab_rope_settings *settings, lab_rope_text *text); /* NULL: nothing is scaled */
} scaling_type;

/* ---- numbers ---- */

static void fail_missing(const lab_rope_settings *settings, const char *type, const char *key) {
    lab_rope_fail(settings->source, "has no field %s, which rope type '%s' needs", key, type);
}

static double required(const lab_rope_settings *settings, const char *type, const char *key) {
    const double value = lab_rope_number(settings, key, "", 0);
    if (value == 0)
        fail_missing(settings, type, key);
    return value;
}

static double put_original(const lab_rope_settings *settings, const char *type, lab_rope_text *text) {
    static const char key[] = "original_max_position_embeddings";
    const double original = lab_rope_number(settings, key, key, 0);
    if (original == 0)
        fail_missing(settings, type, key);
    if (floor(original) != original)
        lab_rope_fail(settings->source, "has a field %s that is no whole number", key);
    lab_rope_put_number(text, ", original=", original);
    return original;
}

/* factor, or what the lengths before and after say. */
static void put_factor(const lab_rope_settings *settings, const char *type, double original, lab_rope_text *text) {
    const lab_rope_source *source = settings->source;
    const double factor = lab_rope_number(settings, "factor", "", 0), implied = source->length / original;
    if (factor == 0 && source->length == 0)
        lab_rope_fail(source, "has neither factor nor max_position_embeddings, which rope type '%s' needs", type);
    if (factor != 0 && source->length > original && fabs(implied - factor) > 1e-6 * factor)
        lab_rope_note_add(source, false,
                          "factor is %g, max_position_embeddings is %g times original_max_position_embeddings: factor "
                          "is taken",
                          factor, implied);
    lab_rope_put_number(text, ", factor=", factor != 0 ? factor : implied);
}

/* ---- types ---- */

static void put_linear(const lab_rope_settings *settings, lab_rope_text *text) {
    lab_rope_put_number(text, ", scaling=linear, factor=", required(settings, "linear", "factor"));
}

static void put_proportional(const lab_rope_settings *settings, lab_rope_text *text) {
    const double factor = lab_rope_number(settings, "factor", "", 1);
    if (factor != 1)
        lab_rope_put_number(text, ", scaling=linear, factor=", factor);
}

/* HunYuan's `alpha` makes it independent of the length. */
static void put_dynamic(const lab_rope_settings *settings, lab_rope_text *text) {
    const double length = settings->source->length, alpha = lab_rope_number(settings, "alpha", "", 0);
    if (alpha != 0) {
        lab_rope_put_number(text, ", scaling=ntk, factor=", alpha);
        return;
    }
    lab_rope_put_number(text, ", scaling=dynamic, factor=", required(settings, "dynamic", "factor"));
    if (length == 0)
        fail_missing(settings, "dynamic", "max_position_embeddings");
    lab_rope_put_number(text, ", original=", length);
}

/* A factor that is 0 or not given. */
static double number_or_nothing(const lab_rope_settings *settings, const char *key) {
    const lab_value *item = lab_rope_find(settings, key, "").item;
    return lab_value_is_number(item) && item->number == 0 ? 0 : lab_rope_number(settings, key, "", 0);
}

/* attention_factor, else both of mscale and mscale_all_dim, else what YaRN recommends. */
static void put_attention(const lab_rope_settings *settings, lab_rope_text *text) {
    const double attention = lab_rope_number(settings, "attention_factor", "", 0);
    const double mscale = number_or_nothing(settings, "mscale"), all = number_or_nothing(settings, "mscale_all_dim");
    const bool both = mscale != 0 && all != 0;
    if (attention != 0) {
        lab_rope_put_number(text, ", attention=", attention);
    } else if (both) {
        lab_rope_put_number(text, ", mscale=", mscale);
        lab_rope_put_number(text, ", mscale_all=", all);
    }
    if ((mscale != 0 || all != 0) && (attention != 0 || !both))
        lab_rope_note_add(settings->source, false, "%s no effect: %s",
                          mscale == 0 ? "mscale_all_dim has"
                          : all == 0  ? "mscale has"
                                      : "mscale and mscale_all_dim have",
                          attention != 0 ? "attention_factor is given"
                                         : "it needs its fellow of mscale, mscale_all_dim");
}

static void put_yarn(const lab_rope_settings *settings, lab_rope_text *text) {
    lab_rope_put(text, ", scaling=yarn");
    put_factor(settings, "yarn", put_original(settings, "yarn", text), text);
    const double fast = lab_rope_number(settings, "beta_fast", "", 32);
    const double slow = lab_rope_number(settings, "beta_slow", "", 1);
    if (fast < slow)
        lab_rope_fail(settings->source, "contradicts itself: beta_fast (%g) must be above beta_slow (%g)", fast, slow);
    const lab_rope_found truncate = lab_rope_find(settings, "truncate", "");
    if (truncate.item && !lab_value_is_bool(truncate.item))
        lab_rope_fail(settings->source, "has a field %s that is neither true nor false", truncate.name);
    lab_rope_put_number(text, ", fast=", fast);
    lab_rope_put_number(text, ", slow=", slow);
    if (lab_value_is_false(truncate.item))
        lab_rope_put(text, ", truncate=off");
    put_attention(settings, text);
}

static void put_llama3(const lab_rope_settings *settings, lab_rope_text *text) {
    const double factor = required(settings, "llama3", "factor");
    const double low = required(settings, "llama3", "low_freq_factor");
    const double high = required(settings, "llama3", "high_freq_factor");
    if (high < low)
        lab_rope_fail(settings->source, "contradicts itself: high_freq_factor (%g) must be above low_freq_factor (%g)",
                      high, low);
    if (high == low) /* Llama 4 */
        lab_rope_note_add(settings->source, true,
                          "low_freq_factor and high_freq_factor are equal: pairs are kept or slowed, none between");
    lab_rope_put_number(text, ", scaling=llama3, factor=", factor);
    lab_rope_put_number(text, ", low=", low);
    lab_rope_put_number(text, ", high=", high);
    (void)put_original(settings, "llama3", text);
}

/* One number above 0 for each pair. */
static void put_list(const lab_rope_settings *settings, const char *key, const char *option, lab_rope_text *text) {
    const lab_rope_found found = lab_rope_find(settings, key, "");
    const size_t count = lab_value_is_list(found.item) ? lab_value_count(found.item) : 0;
    const size_t pairs = settings->rotated / 2;
    if (!found.item)
        fail_missing(settings, "longrope", key);
    if (!lab_value_is_list(found.item) || count != pairs)
        lab_rope_fail(settings->source, "has %zu numbers in %s: %zu pairs turn, each needs one", count, found.name,
                      pairs);
    const char *before = option;
    for (const lab_value *item = count > 0 ? found.item->child : NULL; item; item = item->next, before = ":") {
        if (!lab_value_is_number(item) || !(item->number > 0) || !isfinite(item->number))
            lab_rope_fail(settings->source, "has an item in %s that is no number above 0", found.name);
        lab_rope_put_number(text, before, item->number);
    }
}

/* attention_factor; Phi-3.5-MoE says it twice, for both lists. */
static void put_long_attention(const lab_rope_settings *settings, lab_rope_text *text) {
    double attention = lab_rope_number(settings, "attention_factor", "", 0);
    const double brief = lab_rope_number(settings, "short_mscale", "", 0);
    const double wide = lab_rope_number(settings, "long_mscale", "", 0);
    if (brief != wide)
        lab_rope_fail(settings->source,
                      "has short_mscale %g and long_mscale %g: one factor for both lengths is what can be said", brief,
                      wide);
    attention = brief != 0 ? brief : attention;
    if (attention != 0)
        lab_rope_put_number(text, ", attention=", attention);
}

static void put_longrope(const lab_rope_settings *settings, lab_rope_text *text) {
    if (settings->rotated == 0)
        lab_rope_fail(settings->source,
                      "says neither head_dim nor hidden_size and num_attention_heads, which rope type 'longrope' "
                      "needs");
    lab_rope_put(text, ", scaling=longrope");
    put_factor(settings, "longrope", put_original(settings, "longrope", text), text);
    put_list(settings, "short_factor", ", short=", text);
    put_list(settings, "long_factor", ", long=", text);
    put_long_attention(settings, text);
}

static const scaling_type types[] = {
    {"default", "", NULL},
    {"linear", "factor", put_linear},
    {"dynamic", "factor|alpha", put_dynamic},
    {"yarn",
     "factor|original_max_position_embeddings|beta_fast|beta_slow|truncate|attention_factor|mscale|mscale_all_dim",
     put_yarn},
    {"llama3", "factor|original_max_position_embeddings|low_freq_factor|high_freq_factor", put_llama3},
    {"longrope",
     "factor|original_max_position_embeddings|short_factor|long_factor|attention_factor|short_mscale|long_mscale",
     put_longrope},
    {"proportional", "factor", put_proportional},
};
#define TYPE_NAMES "default, linear, dynamic, yarn, llama3, longrope, proportional"
#define KNOWN_EVERYWHERE "rope_type|type|rope_theta|partial_rotary_factor|mrope_section|mrope_interleaved"

/* ---- which type ---- */

/* NULL: there is none of that name. */
static const scaling_type *find_type(const char *name) {
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].name, name) == 0)
            return &types[i];
    return NULL;
}

/* NULL: nothing is said, or it is none. */
static const char *read_type(const lab_rope_settings *settings, const lab_rope_found *found) {
    const char *name = lab_value_text(found->item);
    if (!found->item)
        return NULL;
    if (!name) {
        lab_rope_fail(settings->source, "has a field %s that is no text", found->name);
        return NULL;
    }
    const bool longrope =
        strcmp(name, "su") == 0 || (settings->source->family->yarn_is_longrope && strcmp(name, "yarn") == 0);
    const scaling_type *type = find_type(strcmp(name, "mrope") == 0 ? "default" : longrope ? "longrope" : name);
    if (!type)
        lab_rope_fail(settings->source, "has %s '%.40s', which nobody knows: it is one of " TYPE_NAMES, found->name,
                      name);
    return type ? type->name : NULL;
}

const char *lab_rope_type(const lab_rope_settings *settings) {
    const lab_rope_found fresh = lab_rope_find(settings, "rope_type", "");
    const char *fresh_type = read_type(settings, &fresh);
    const lab_rope_found old = lab_rope_find(settings, "type", "");
    const char *old_type = read_type(settings, &old);
    if (fresh_type && old_type && strcmp(fresh_type, old_type) != 0)
        lab_rope_fail(settings->source, "contradicts itself: %s is '%s', but %s is '%s'", fresh.name,
                      lab_value_text(fresh.item), old.name, lab_value_text(old.item));
    if (!fresh_type && !old_type) {
        const lab_rope_found factor = lab_rope_find(settings, "factor", "");
        if (factor.item)
            lab_rope_fail(settings->source, "has %s, but no rope_type that says what it scales", factor.name);
    }
    return fresh_type ? fresh_type : old_type ? old_type : "default";
}

void lab_rope_put_scaling(const lab_rope_settings *settings, lab_rope_text *text) {
    const scaling_type *type = find_type(lab_rope_type(settings));
    if (type->put)
        type->put(settings, text);
}

void lab_rope_note_unknown(const lab_rope_settings *settings) {
    const lab_rope_source *source = settings->source;
    const bool tempered = source->name[0] == '\0' || source->family->tempered;
    /* A type that is wrong has been refused, unless nothing goes by it: with ALiBi. */
    locus_error wrong = {.status = LOCUS_OK};
    lab_rope_source quiet = *source;
    lab_rope_settings own = *settings;
    quiet.error = &wrong;
    own.source = &quiet;
    const scaling_type *type = find_type(lab_rope_type(&own));
    if (lab_rope_failed(&quiet))
        return;
    for (size_t i = 0; i < settings->count; i++)
        for (const lab_value *item = settings->places[i].object->child; item; item = item->next) {
            const char *key = item->key ? item->key : "";
            const size_t bytes = strlen(key);
            const bool known = lab_rope_among(KNOWN_EVERYWHERE, key, bytes) ||
                               lab_rope_among(type->known, key, bytes) ||
                               (tempered && strcmp(key, "llama_4_scaling_beta") == 0);
            if (!known && !lab_value_is_null(item))
                lab_rope_note_add(source, false, "%s.%.60s means nothing to rope type '%s': it is ignored",
                                  settings->places[i].name, key, type->name);
        }
}
