/* SPDX-License-Identifier: MIT */
/* Reads a model's configuration: its sizes, then the rotary settings of each type of layers (rope_scalings.c), then the
 * pattern of its layers (rope_layers.c). The text is canonical: it has been through the library's parser.
 *
 * rotate_half of transformers turns pairs (i, i + r/2): pairs=half. A spec says how positions act, not where in a head
 * a model keeps the dimensions that turn, nor how it scales its scores: that becomes a note. */
#include "io/rope_source.h"

#include "io/fail.h"
#include "io/file.h"
#include "io/json.h"

#include <locus/pattern.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES_MOST ((size_t)64 << 20)

/* ---- the file ---- */

static locus_status fail_syntax(const char *path, const char *text, const char *at, locus_error *error) {
    size_t line = 1;
    for (const char *c = text; c < at; c++)
        line += *c == '\n';
    return lab_fail_file(error, path, "is not JSON: it cannot be read from line %zu on", line);
}

/* Whoever names a checkpoint instead need not wait until it is in memory. */
static locus_status check_size(const char *path, locus_error *error) {
    lab_input input;
    locus_status status = lab_input_open(&input, path, error);
    if (status == LOCUS_OK && input.bytes_left != SIZE_MAX && input.bytes_left > BYTES_MOST)
        status = lab_fail_file(error, path, "has %zu MiB: a model's configuration has a few KiB; is it config.json?",
                               input.bytes_left >> 20);
    lab_input_close(&input);
    return status;
}

static locus_status parse_file(const char *path, cJSON **root, locus_error *error) {
    char *text = NULL;
    const char *end = NULL;
    size_t bytes = 0;
    locus_status status = check_size(path, error);
    if (status == LOCUS_OK)
        status = lab_file_read(path, &text, &bytes, error);
    if (status != LOCUS_OK)
        return status;
    bool out_of_memory;
    *root = lab_json_parse(text, bytes + 1, true, &end, &out_of_memory);
    if (out_of_memory)
        status = lab_fail_memory(error, "a model's configuration");
    else if (!*root || strlen(text) != bytes)
        status = fail_syntax(path, text, end && end >= text && end <= text + bytes ? end : text, error);
    else if (!cJSON_IsObject(*root))
        status = lab_fail_file(error, path, "holds no JSON object: a model's configuration is one");
    free(text);
    return status;
}

/* The text model of one that also sees or hears. */
static const cJSON *find_inner(const cJSON *root) {
    static const char *const names[] = {"thinker_config", "text_config", "llm_config", "language_config"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const cJSON *inner = cJSON_GetObjectItemCaseSensitive(root, names[i]);
        if (cJSON_IsObject(inner))
            return i == 0 ? find_inner(inner) : inner;
    }
    return root;
}

static const char *text_member(const cJSON *object, const char *key) {
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
    return text ? text : "";
}

static void find_family(lab_rope_source *source) {
    const char *inner = text_member(source->inner, "model_type"), *outer = text_member(source->outer, "model_type");
    source->family = lab_rope_family_find(inner);
    if (!source->family)
        source->family = lab_rope_family_find(outer);
    snprintf(source->config->model_type, sizeof source->config->model_type, "%s", outer[0] ? outer : inner);
}

/* ---- sizes ---- */

static locus_status either(const lab_rope_source *source, const char *key, const char *other, size_t *value) {
    locus_status status = lab_rope_size(source, key, value);
    return status == LOCUS_OK && *value == 0 ? lab_rope_size(source, other, value) : status;
}

static locus_status read_latent(lab_rope_source *source) {
    size_t turning, still;
    locus_status status = lab_rope_size(source, "qk_rope_head_dim", &turning);
    if (status == LOCUS_OK && turning)
        status = lab_rope_size(source, "qk_nope_head_dim", &still);
    if (status != LOCUS_OK || !turning)
        return status;
    source->rotary_dim = turning;
    source->head_dim = turning + still;
    if (still)
        lab_rope_note_add(
            source, false,
            "the %zu dimensions that turn stand behind the other %zu in the model's heads: put them first", turning,
            still);
    return LOCUS_OK;
}

static locus_status read_sizes(lab_rope_source *source) {
    size_t length, width, heads;
    locus_status status = either(source, "max_position_embeddings", "n_positions", &length);
    source->length = (double)length;
    source->config->length = length;
    if (status == LOCUS_OK)
        status = lab_rope_size(source, "head_dim", &source->head_dim);
    if (status == LOCUS_OK && source->head_dim == 0) {
        status = either(source, "hidden_size", "n_embd", &width);
        if (status == LOCUS_OK)
            status = either(source, "num_attention_heads", "n_head", &heads);
        if (status == LOCUS_OK && heads == 0)
            status = lab_rope_size(source, "decoder_num_attention_heads", &heads);
        if (status == LOCUS_OK && width && heads)
            source->head_dim = width / heads;
    }
    source->rotary_dim = source->head_dim;
    if (status == LOCUS_OK)
        status = read_latent(source);
    source->config->head_dim = source->head_dim;
    return status;
}

/* ---- the spec of one type of layers ---- */

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
    const cJSON *order = lab_rope_member(source, "rope_interleave");
    if (order && !cJSON_IsBool(order))
        return lab_rope_fail(source, "has a field rope_interleave that is neither true nor false");
    shape->interleaved =
        order ? cJSON_IsTrue(order) : source->family && (source->family->rules & LAB_ROPE_INTERLEAVED) != 0;
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
    if (order.item && !cJSON_IsBool(order.item))
        return lab_rope_fail(source, "has a field %s that is neither true nor false", order.name);
    const bool family = source->family && (source->family->rules & LAB_ROPE_SECTIONS_MIXED);
    if (order.item && family && !cJSON_IsTrue(order.item))
        lab_rope_note_add(source, false, "%s is false, but '%s' always interleaves its sections", order.name,
                          source->family->name);
    if (!family && !cJSON_IsTrue(order.item))
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
    const size_t count = cJSON_IsArray(sections.item) ? (size_t)cJSON_GetArraySize(sections.item) : 0;
    if (count == 0)
        return lab_rope_fail(source, "has a field %s that is no list of numbers", sections.name);
    lab_rope_put(text, ", axes=%zu", count);
    const char *before = ", sections=";
    for (const cJSON *item = sections.item->child; item; item = item->next, before = ":") {
        if (!cJSON_IsNumber(item) || item->valuedouble < 1 || floor(item->valuedouble) != item->valuedouble)
            return lab_rope_fail(source, "has an item in %s that is no whole number above 0", sections.name);
        lab_rope_put_number(text, before, item->valuedouble);
        sum += item->valuedouble;
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

static bool has_alibi(const lab_rope_source *source) {
    const unsigned rules = source->family ? source->family->rules : 0;
    return (rules & LAB_ROPE_ALIBI) ||
           ((rules & LAB_ROPE_MAYBE_ALIBI) && cJSON_IsTrue(lab_rope_member(source, "alibi")));
}

/* Granite 4's hybrids have positions only where their files say so. */
static bool is_unsaid(const lab_rope_source *source) {
    const char *said = cJSON_GetStringValue(lab_rope_member(source, "position_embedding_type"));
    return source->family && (source->family->rules & LAB_ROPE_IF_SAID) &&
           (!said || (strcmp(said, "rope") != 0 && strcmp(said, "rotary") != 0));
}

static locus_status put_positions(const lab_rope_settings *settings, bool bare, lab_rope_text *text) {
    if (!bare && has_alibi(settings->source)) {
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

/* ---- what else the file says ---- */

/* What such a file does not say and most models have. */
static void note_guess(const lab_rope_source *source) {
    static const char *const bases[] = {"rope_theta", "rope_parameters", "rotary_emb_base", "global_rope_theta"};
    bool base = false;
    for (size_t i = 0; i < sizeof bases / sizeof *bases; i++)
        base = base || lab_rope_member(source, bases[i]);
    lab_rope_note_add(source, false, "model_type '%.40s' is not listed, so this is a guess: %s%s%s",
                      source->config->model_type,
                      lab_rope_member(source, "rope_interleave") ? "pairs as rope_interleave says"
                                                                 : "half pairs, as most models have them",
                      base ? "" : ", base 10000",
                      lab_rope_member(source, "layer_types") ? "" : ", layers as far as fields name them, else alike");
}

static locus_status check_rotary(const lab_rope_source *source) {
    static const char *const signs[] = {"rope_theta",      "rope_scaling",      "rope_parameters",
                                        "rotary_pct",      "rotary_dim",        "partial_rotary_factor",
                                        "rotary_emb_base", "global_rope_theta", "qk_rope_head_dim"};
    bool found = source->family != NULL;
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        found = found || lab_rope_member(source, signs[i]);
    if (!found)
        return lab_rope_fail(source, "has no rotary settings (model_type '%.40s', no rope_theta, no rope_parameters)",
                             source->config->model_type);
    if (cJSON_IsTrue(lab_rope_member(source, "alibi")) && !has_alibi(source))
        return lab_rope_fail(source, "says alibi: its positions are biases on scores, see 'locus encodings alibi'");
    if (!source->family)
        note_guess(source);
    return LOCUS_OK;
}

/* ---- the canonical text ---- */

static locus_status check_shapes(const lab_rope_source *source, const locus_pattern *pattern) {
    const locus_shape shape = {.heads = 1, .head_dim = source->head_dim};
    for (size_t i = 0; source->head_dim && i < locus_pattern_size(pattern); i++) {
        locus_error own = {.offset = -1};
        size_t count;
        if (locus_encoding_parameter_count(locus_pattern_encoding(pattern, i), &shape, &count, &own) != LOCUS_OK)
            return lab_rope_fail(source, "does not fit its head_dim (%zu): %s", source->head_dim, own.message);
    }
    return LOCUS_OK;
}

static locus_status make_canonical(const lab_rope_source *source, const char *text, char **canonical) {
    locus_error own = {.offset = -1};
    locus_pattern *pattern = NULL;
    if (locus_pattern_parse(text, &pattern, &own) != LOCUS_OK)
        return lab_rope_fail(source, "cannot be said as a spec: %s", own.message);
    locus_status status = check_shapes(source, pattern);
    const size_t size = locus_pattern_text(pattern, NULL, 0) + 1;
    *canonical = status == LOCUS_OK ? malloc(size) : NULL;
    if (*canonical)
        locus_pattern_text(pattern, *canonical, size);
    else if (status == LOCUS_OK)
        status = lab_fail_memory(source->error, "a spec");
    locus_pattern_destroy(&pattern);
    return status;
}

static locus_status read_spec(lab_rope_source *source, bool whole, char **spec) {
    lab_rope_text text = {0};
    source->whole = whole;
    locus_status status = lab_rope_put_pattern(source, &text);
    if (status == LOCUS_OK && text.failed)
        status = lab_fail_memory(source->error, "a spec");
    if (status == LOCUS_OK)
        status = make_canonical(source, text.data, spec);
    free(text.data);
    return status;
}

static locus_status read_source(lab_rope_source *source) {
    find_family(source);
    locus_status status = check_rotary(source);
    if (status == LOCUS_OK)
        status = read_sizes(source);
    if (status == LOCUS_OK)
        status = read_spec(source, false, &source->config->spec);
    if (status == LOCUS_OK)
        status = read_spec(source, true, &source->config->attention);
    if (status == LOCUS_OK)
        lab_rope_note_attention(source);
    return status;
}

locus_status lab_rope_config_read(lab_rope_config *config, const char *path, locus_error *error) {
    cJSON *root = NULL;
    *config = (lab_rope_config){0};
    locus_status status = parse_file(path, &root, error);
    if (status == LOCUS_OK) {
        lab_rope_source source = {
            .path = path, .outer = root, .inner = find_inner(root), .config = config, .error = error};
        status = read_source(&source);
    }
    cJSON_Delete(root);
    return status;
}

void lab_rope_config_free(lab_rope_config *config) {
    free(config->spec);
    free(config->attention);
    *config = (lab_rope_config){0};
}
