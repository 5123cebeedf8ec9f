/* SPDX-License-Identifier: MIT */
/* Reads a model's configuration: its sizes, then the pattern of its layers (rope_layers.c), each with its spec
 * (rope_terms.c). The text is canonical: it has been through the library's parser.
 *
 * rotate_half of transformers turns pairs (i, i + r/2): pairs=half. A spec says how positions act, not where in a head
 * a model keeps the dimensions that turn, nor how it scales its scores: that becomes a note. */
#include "rope/rope_source.h"

#include <locus/pattern.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the model ---- */

/* The text model of one that also sees or hears. */
static const lab_value *find_inner(const lab_value *root) {
    static const char *const names[] = {"thinker_config", "text_config", "llm_config", "language_config"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const lab_value *inner = lab_value_member(root, names[i]);
        if (lab_value_is_object(inner))
            return i == 0 ? find_inner(inner) : inner;
    }
    return root;
}

static const char *text_member(const lab_value *object, const char *key) {
    const char *text = lab_value_text(lab_value_member(object, key));
    return text ? text : "";
}

static void find_family(lab_rope_source *source) {
    const char *inner = text_member(source->inner, "model_type"), *outer = text_member(source->outer, "model_type");
    source->family = lab_rope_family_find(inner, source->name);
    if (source->name[0] == '\0')
        source->family = lab_rope_family_find(outer, source->name);
    snprintf(source->config->model_type, sizeof source->config->model_type, "%s", outer[0] ? outer : inner);
}

/* ---- sizes ---- */

static void read_latent(lab_rope_source *source) {
    const size_t turning = lab_rope_size(source, "qk_rope_head_dim");
    const size_t still = turning ? lab_rope_size(source, "qk_nope_head_dim") : 0;
    if (!turning)
        return;
    source->rotary_dim = turning;
    source->head_dim = turning + still;
    if (still)
        lab_rope_note_add(
            source, false,
            "the %zu dimensions that turn stand behind the other %zu in the model's heads: put them first", turning,
            still);
}

static void read_sizes(lab_rope_source *source) {
    source->config->length = lab_rope_either(source, "max_position_embeddings", "n_positions");
    source->length = (double)source->config->length;
    source->head_dim = lab_rope_size(source, "head_dim");
    if (source->head_dim == 0) {
        const size_t width = lab_rope_either(source, "hidden_size", "n_embd");
        size_t heads = lab_rope_either(source, "num_attention_heads", "n_head");
        heads = heads ? heads : lab_rope_size(source, "decoder_num_attention_heads");
        source->head_dim = heads ? width / heads : 0;
    }
    source->rotary_dim = source->head_dim;
    read_latent(source);
    source->config->head_dim = source->head_dim;
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

static void check_rotary(const lab_rope_source *source) {
    static const char *const signs[] = {"rope_theta",      "rope_scaling",      "rope_parameters",
                                        "rotary_pct",      "rotary_dim",        "partial_rotary_factor",
                                        "rotary_emb_base", "global_rope_theta", "qk_rope_head_dim"};
    const bool listed = source->name[0] != '\0';
    bool found = listed;
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        found = found || lab_rope_member(source, signs[i]);
    if (!found)
        lab_rope_fail(source, "has no rotary settings (model_type '%.40s', no rope_theta, no rope_parameters)",
                      source->config->model_type);
    if (lab_value_is_true(lab_rope_member(source, "alibi")) && !lab_rope_has_alibi(source))
        lab_rope_fail(source, "says alibi: its positions are biases on scores, see 'locus encodings alibi'");
    if (!listed)
        note_guess(source);
}

/* ---- the canonical text ---- */

static void check_shapes(const lab_rope_source *source, const locus_pattern *pattern) {
    const locus_shape shape = {.heads = 1, .head_dim = source->head_dim};
    for (size_t i = 0; source->head_dim && i < locus_pattern_size(pattern); i++) {
        locus_error own;
        size_t count;
        if (locus_encoding_parameter_count(locus_pattern_encoding(pattern, i), &shape, &count, &own) != LOCUS_OK)
            lab_rope_fail(source, "does not fit its head_dim (%zu): %s", source->head_dim, own.message);
    }
}

/* From malloc; NULL where something failed. */
static char *canonical(const lab_rope_source *source, const char *text) {
    locus_error own;
    locus_pattern *pattern = NULL;
    const locus_status status = locus_pattern_parse(text, &pattern, &own);
    if (status == LOCUS_ERROR_MEMORY)
        lab_rope_fail_memory(source, "a spec");
    else if (status != LOCUS_OK)
        lab_rope_fail(source, "cannot be said as a spec: %s", own.message);
    if (status != LOCUS_OK)
        return NULL;
    check_shapes(source, pattern);
    const size_t size = locus_pattern_text(pattern, NULL, 0) + 1;
    const bool good = !lab_rope_failed(source);
    char *spec = good ? malloc(size) : NULL;
    if (spec)
        locus_pattern_text(pattern, spec, size);
    else if (good)
        lab_rope_fail_memory(source, "a spec");
    locus_pattern_destroy(&pattern);
    return spec;
}

/* Likewise. */
static char *read_spec(lab_rope_source *source, bool whole) {
    lab_rope_text text = {.source = source};
    source->whole = whole;
    lab_rope_put_pattern(source, &text);
    char *spec = lab_rope_failed(source) ? NULL : canonical(source, text.data);
    free(text.data);
    return spec;
}

locus_status lab_rope_read(lab_rope_config *config, const lab_value *root, locus_error *error) {
    locus_error own = {.status = LOCUS_OK};
    lab_rope_source source = {.outer = root, .inner = find_inner(root), .config = config, .error = &own};
    *config = (lab_rope_config){0};
    find_family(&source);
    check_rotary(&source);
    read_sizes(&source);
    config->spec = read_spec(&source, false);
    config->attention = read_spec(&source, true);
    lab_rope_note_attention(&source);
    if (own.status != LOCUS_OK)
        *error = own;
    return own.status;
}

void lab_rope_config_free(lab_rope_config *config) {
    free(config->spec);
    free(config->attention);
    *config = (lab_rope_config){0};
}
