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
    const char *known; /* its keys, "|factor|…|" */
    locus_status (*put)(const lab_rope_settings *settings, size_t rotated, lab_rope_text *text);
} scaling_type;

/* ---- numbers ---- */

static locus_status required(const lab_rope_settings *settings, const char *type, const char *key, double *value) {
    *value = 0;
    locus_status status = lab_rope_number(settings, key, NULL, value);
    if (status == LOCUS_OK && *value == 0)
        return lab_rope_fail(settings->source, "has no field %s, which rope type '%s' needs", key, type);
    return status;
}

static locus_status put_original(const lab_rope_settings *settings, const char *type, double *original,
                                 lab_rope_text *text) {
    static const char key[] = "original_max_position_embeddings";
    *original = 0;
    locus_status status = lab_rope_number(settings, key, key, original);
    if (status == LOCUS_OK && *original == 0)
        status = lab_rope_fail(settings->source, "has no field %s, which rope type '%s' needs", key, type);
    if (status == LOCUS_OK && floor(*original) != *original)
        status = lab_rope_fail(settings->source, "has a field %s that is no whole number", key);
    if (status == LOCUS_OK)
        lab_rope_put_number(text, ", original=", *original);
    return status;
}

/* factor, or what the lengths before and after say. */
static locus_status put_factor(const lab_rope_settings *settings, const char *type, double original,
                               lab_rope_text *text) {
    const lab_rope_source *source = settings->source;
    double factor = 0;
    locus_status status = lab_rope_number(settings, "factor", NULL, &factor);
    if (status != LOCUS_OK)
        return status;
    const double implied = source->length / original;
    if (factor == 0 && source->length == 0)
        return lab_rope_fail(source, "has neither factor nor max_position_embeddings, which rope type '%s' needs",
                             type);
    if (factor != 0 && source->length > original && fabs(implied - factor) > 1e-6 * factor)
        lab_rope_note_add(source, false,
                          "factor is %g, max_position_embeddings is %g times original_max_position_embeddings: factor "
                          "is taken",
                          factor, implied);
    lab_rope_put_number(text, ", factor=", factor != 0 ? factor : implied);
    return LOCUS_OK;
}

/* ---- types ---- */

static locus_status put_nothing(const lab_rope_settings *settings, size_t rotated, lab_rope_text *text) {
    (void)settings;
    (void)rotated;
    (void)text;
    return LOCUS_OK;
}

static locus_status put_linear(const lab_rope_settings *settings, size_t rotated, lab_rope_text *text) {
    double factor;
    (void)rotated;
    locus_status status = required(settings, "linear", "factor", &factor);
    if (status == LOCUS_OK)
        lab_rope_put_number(text, ", scaling=linear, factor=", factor);
    return status;
}

static locus_status put_proportional(const lab_rope_settings *settings, size_t rotated, lab_rope_text *text) {
    double factor = 1;
    (void)rotated;
    locus_status status = lab_rope_number(settings, "factor", NULL, &factor);
    if (status == LOCUS_OK && factor != 1)
        lab_rope_put_number(text, ", scaling=linear, factor=", factor);
    return status;
}

/* HunYuan's `alpha` makes it independent of the length. */
static locus_status put_dynamic(const lab_rope_settings *settings, size_t rotated, lab_rope_text *text) {
    const lab_rope_source *source = settings->source;
    double factor, alpha = 0;
    (void)rotated;
    locus_status status = lab_rope_number(settings, "alpha", NULL, &alpha);
    if (status == LOCUS_OK && alpha != 0) {
        lab_rope_put_number(text, ", scaling=ntk, factor=", alpha);
        return LOCUS_OK;
    }
    if (status == LOCUS_OK)
        status = required(settings, "dynamic", "factor", &factor);
    if (status == LOCUS_OK && source->length == 0)
        return lab_rope_fail(source, "has no field max_position_embeddings, which rope type 'dynamic' needs");
    if (status == LOCUS_OK) {
        lab_rope_put_number(text, ", scaling=dynamic, factor=", factor);
        lab_rope_put_number(text, ", original=", source->length);
    }
    return status;
}

/* A factor that is 0 or not given. */
static locus_status number_or_nothing(const lab_rope_settings *settings, const char *key, double *value) {
    lab_rope_found found;
    *value = 0;
    locus_status status = lab_rope_find(settings, key, NULL, &found);
    if (status != LOCUS_OK || !found.item || (lab_value_is_number(found.item) && found.item->number == 0))
        return status;
    return lab_rope_number(settings, key, NULL, value);
}

/* attention_factor, else both of mscale and mscale_all_dim, else what YaRN recommends. */
static locus_status put_attention(const lab_rope_settings *settings, lab_rope_text *text) {
    double attention = 0, mscale, all;
    locus_status status = lab_rope_number(settings, "attention_factor", NULL, &attention);
    if (status == LOCUS_OK)
        status = number_or_nothing(settings, "mscale", &mscale);
    if (status == LOCUS_OK)
        status = number_or_nothing(settings, "mscale_all_dim", &all);
    if (status != LOCUS_OK)
        return status;
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
    return LOCUS_OK;
}

static locus_status put_yarn(const lab_rope_settings *settings, size_t rotated, lab_rope_text *text) {
    lab_rope_found truncate;
    double original, fast = 32, slow = 1;
    (void)rotated;
    lab_rope_put(text, ", scaling=yarn");
    locus_status status = put_original(settings, "yarn", &original, text);
    if (status == LOCUS_OK)
        status = put_factor(settings, "yarn", original, text);
    if (status == LOCUS_OK)
        status = lab_rope_number(settings, "beta_fast", NULL, &fast);
    if (status == LOCUS_OK)
        status = lab_rope_number(settings, "beta_slow", NULL, &slow);
    if (status == LOCUS_OK && fast < slow)
        status = lab_rope_fail(settings->source, "contradicts itself: beta_fast (%g) must be above beta_slow (%g)",
                               fast, slow);
    if (status == LOCUS_OK)
        status = lab_rope_find(settings, "truncate", NULL, &truncate);
    if (status == LOCUS_OK && truncate.item && !lab_value_is_bool(truncate.item))
        status = lab_rope_fail(settings->source, "has a field %s that is neither true nor false", truncate.name);
    if (status != LOCUS_OK)
        return status;
    lab_rope_put_number(text, ", fast=", fast);
    lab_rope_put_number(text, ", slow=", slow);
    if (truncate.item && lab_value_is_false(truncate.item))
        lab_rope_put(text, ", truncate=off");
    return put_attention(settings, text);
}

static locus_status put_llama3(const lab_rope_settings *settings, size_t rotated, lab_rope_text *text) {
    double factor, low, high, original;
    (void)rotated;
    locus_status status = required(settings, "llama3", "factor", &factor);
    if (status == LOCUS_OK)
        status = required(settings, "llama3", "low_freq_factor", &low);
    if (status == LOCUS_OK)
        status = required(settings, "llama3", "high_freq_factor", &high);
    if (status == LOCUS_OK && high < low)
        status =
            lab_rope_fail(settings->source,
                          "contradicts itself: high_freq_factor (%g) must be above low_freq_factor (%g)", high, low);
    if (status != LOCUS_OK)
        return status;
    if (high == low) /* Llama 4 */
        lab_rope_note_add(settings->source, true,
                          "low_freq_factor and high_freq_factor are equal: pairs are kept or slowed, none between");
    lab_rope_put_number(text, ", scaling=llama3, factor=", factor);
    lab_rope_put_number(text, ", low=", low);
    lab_rope_put_number(text, ", high=", high);
    return put_original(settings, "llama3", &original, text);
}

/* One number above 0 for each pair. */
static locus_status put_list(const lab_rope_settings *settings, const char *key, const char *option, size_t pairs,
                             lab_rope_text *text) {
    lab_rope_found found;
    locus_status status = lab_rope_find(settings, key, NULL, &found);
    if (status != LOCUS_OK)
        return status;
    if (!found.item)
        return lab_rope_fail(settings->source, "has no field %s, which rope type 'longrope' needs", key);
    const bool list = lab_value_is_list(found.item);
    const size_t count = list ? lab_value_count(found.item) : 0;
    if (!list || count != pairs)
        return lab_rope_fail(settings->source, "has %zu numbers in %s: %zu pairs turn, each needs one", count,
                             found.name, pairs);
    const char *before = option;
    for (const lab_value *item = found.item->child; item; item = item->next, before = ":") {
        if (!lab_value_is_number(item) || !(item->number > 0) || !isfinite(item->number))
            return lab_rope_fail(settings->source, "has an item in %s that is no number above 0", found.name);
        lab_rope_put_number(text, before, item->number);
    }
    return LOCUS_OK;
}

/* attention_factor; Phi-3.5-MoE says it twice, for both lists. */
static locus_status put_long_attention(const lab_rope_settings *settings, lab_rope_text *text) {
    double attention = 0, brief = 0, wide = 0;
    locus_status status = lab_rope_number(settings, "attention_factor", NULL, &attention);
    if (status == LOCUS_OK)
        status = lab_rope_number(settings, "short_mscale", NULL, &brief);
    if (status == LOCUS_OK)
        status = lab_rope_number(settings, "long_mscale", NULL, &wide);
    if (status == LOCUS_OK && brief != wide)
        return lab_rope_fail(settings->source,
                             "has short_mscale %g and long_mscale %g: one factor for both lengths is what can be said",
                             brief, wide);
    attention = brief != 0 ? brief : attention;
    if (status == LOCUS_OK && attention != 0)
        lab_rope_put_number(text, ", attention=", attention);
    return status;
}

static locus_status put_longrope(const lab_rope_settings *settings, size_t rotated, lab_rope_text *text) {
    double original;
    if (rotated == 0)
        return lab_rope_fail(settings->source,
                             "says neither head_dim nor hidden_size and num_attention_heads, which rope "
                             "type 'longrope' needs");
    lab_rope_put(text, ", scaling=longrope");
    locus_status status = put_original(settings, "longrope", &original, text);
    if (status == LOCUS_OK)
        status = put_factor(settings, "longrope", original, text);
    if (status == LOCUS_OK)
        status = put_list(settings, "short_factor", ", short=", rotated / 2, text);
    if (status == LOCUS_OK)
        status = put_list(settings, "long_factor", ", long=", rotated / 2, text);
    return status == LOCUS_OK ? put_long_attention(settings, text) : status;
}

static const scaling_type types[] = {
    {"default", "", put_nothing},
    {"linear", "|factor|", put_linear},
    {"dynamic", "|factor|alpha|", put_dynamic},
    {"yarn",
     "|factor|original_max_position_embeddings|beta_fast|beta_slow|truncate|attention_factor|mscale|mscale_all_dim|",
     put_yarn},
    {"llama3", "|factor|original_max_position_embeddings|low_freq_factor|high_freq_factor|", put_llama3},
    {"longrope",
     "|factor|original_max_position_embeddings|short_factor|long_factor|attention_factor|short_mscale|long_mscale|",
     put_longrope},
    {"proportional", "|factor|", put_proportional},
};
#define TYPE_COUNT (sizeof types / sizeof *types)
#define TYPE_NAMES "default, linear, dynamic, yarn, llama3, longrope, proportional"
#define KNOWN_EVERYWHERE "|rope_type|type|rope_theta|partial_rotary_factor|mrope_section|mrope_interleaved|"

/* ---- which type ---- */

static locus_status read_type(const lab_rope_settings *settings, const char *key, lab_rope_found *found,
                              const char **type) {
    const lab_rope_family *family = settings->source->family;
    locus_status status = lab_rope_find(settings, key, NULL, found);
    if (status != LOCUS_OK || !found->item)
        return status;
    const char *name = lab_value_text(found->item);
    if (!name)
        return lab_rope_fail(settings->source, "has a field %s that is no text", found->name);
    *type = strcmp(name, "mrope") == 0 ? "default" : strcmp(name, "su") == 0 ? "longrope" : name;
    if (family && (family->rules & LAB_ROPE_YARN_IS_LONGROPE) && strcmp(name, "yarn") == 0)
        *type = "longrope";
    for (size_t i = 0; i < TYPE_COUNT; i++)
        if (strcmp(types[i].name, *type) == 0)
            return LOCUS_OK;
    return lab_rope_fail(settings->source, "has %s '%.40s', which nobody knows: it is one of " TYPE_NAMES, found->name,
                         name);
}

locus_status lab_rope_type(const lab_rope_settings *settings, const char **type) {
    lab_rope_found fresh = {0}, old = {0}, factor = {0};
    const char *fresh_type = NULL, *old_type = NULL;
    locus_status status = read_type(settings, "rope_type", &fresh, &fresh_type);
    if (status == LOCUS_OK)
        status = read_type(settings, "type", &old, &old_type);
    if (status == LOCUS_OK && fresh_type && old_type && strcmp(fresh_type, old_type) != 0)
        return lab_rope_fail(settings->source, "contradicts itself: %s is '%s', but %s is '%s'", fresh.name,
                             lab_value_text(fresh.item), old.name, lab_value_text(old.item));
    *type = fresh_type ? fresh_type : old_type ? old_type : "default";
    if (status == LOCUS_OK && !fresh_type && !old_type) {
        status = lab_rope_find(settings, "factor", NULL, &factor);
        if (status == LOCUS_OK && factor.item)
            return lab_rope_fail(settings->source, "has %s, but no rope_type that says what it scales", factor.name);
    }
    return status;
}

static const scaling_type *find_type(const char *name) {
    for (size_t i = 0; i < TYPE_COUNT; i++)
        if (strcmp(types[i].name, name) == 0)
            return &types[i];
    return NULL;
}

locus_status lab_rope_put_scaling(const lab_rope_settings *settings, size_t rotated, lab_rope_text *text) {
    const char *type;
    locus_status status = lab_rope_type(settings, &type);
    return status == LOCUS_OK ? find_type(type)->put(settings, rotated, text) : status;
}

/* "|key|" in a list of keys. */
static bool is_listed(const char *list, const char *key) {
    const size_t length = strlen(key);
    for (const char *at = strstr(list, key); length && at; at = strstr(at + 1, key))
        if (at > list && at[-1] == '|' && at[length] == '|')
            return true;
    return false;
}

void lab_rope_note_unknown(const lab_rope_settings *settings) {
    const lab_rope_family *family = settings->source->family;
    const bool tempered = !family || (family->rules & LAB_ROPE_TEMPERED);
    const char *type;
    if (lab_rope_type(settings, &type) != LOCUS_OK)
        return;
    for (size_t i = 0; i < settings->count; i++)
        for (const lab_value *item = settings->places[i].object->child; item; item = item->next) {
            const char *key = item->key ? item->key : "";
            if (tempered && strcmp(key, "llama_4_scaling_beta") == 0)
                continue;
            if (!lab_value_is_null(item) && !is_listed(KNOWN_EVERYWHERE, key) &&
                !is_listed(find_type(type)->known, key))
                lab_rope_note_add(settings->source, false, "%s.%.60s means nothing to rope type '%s': it is ignored",
                                  settings->places[i].name, key, type);
        }
}
