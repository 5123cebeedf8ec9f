/* SPDX-License-Identifier: MIT */
/* scores: what attention does with all scores of a layer, where a model departs from q·k/sqrt(head_dim).
 *
 *   scale    instead of 1/sqrt(head_dim)
 *   cap      s → cap·tanh(s/cap) of the scaled product, before factors and biases (Gemma 2)
 *   window   a query at index t sees keys t − window + 1 … t (and, without a causal mask, as many behind it)
 *   keep     with a window: the first keys of a sequence are seen all the same (Xiao et al. 2023)
 *   chunk    a query at index t sees only keys of its own chunk: those at j with ⌊j/chunk⌋ = ⌊t/chunk⌋ (Llama 4)
 *   sinks    a row's softmax has one more key, with a learned score for each head and no value (GPT-OSS)
 *
 * Options that a caller gives to attention win. Parameter `sinks` [heads] (sinks=on), 0 at first. */
#include "spec/class.h"

#include <math.h>
#include <string.h>

enum { SCALE, CAP, WINDOW, KEEP, CHUNK, SINKS };

static const char *conflict(const locus_term *term, size_t *option) {
    *option = KEEP;
    if (term->options[KEEP].number > 0 && term->options[WINDOW].choice == 0)
        return "option 'keep' of 'scores' needs a window: without one all keys are seen";
    return NULL;
}

static bool has_sinks(const locus_term *term) {
    return term->options[SINKS].choice == 1;
}

static locus_status parameters(const locus_term *term, const locus_shape *shape, locus_parameter *list, size_t *count,
                               locus_error *error) {
    (void)error;
    if (has_sinks(term))
        list[(*count)++] = (locus_parameter){.name = "sinks", .rank = 1, .shape = {(int64_t)shape->heads}};
    return LOCUS_OK;
}

static locus_status initialise(const locus_term *term, const locus_draw *draw, locus_error *error) {
    (void)term, (void)draw, (void)error; /* sinks are 0 */
    return LOCUS_OK;
}

static locus_status bind(const locus_term *term, const locus_shape *shape, const double *const *values, void *bound,
                         locus_owned *memory, locus_error *error) {
    const locus_option_value *options = term->options;
    double *sinks = locus_owned_get(memory, shape->heads, sizeof *sinks);
    if (!sinks)
        return locus_owned_fail(error);
    if (has_sinks(term))
        memcpy(sinks, values[0], shape->heads * sizeof *sinks);
    *(locus_score_settings *)bound =
        (locus_score_settings){.scale = options[SCALE].choice ? options[SCALE].number : 0,
                               .cap = options[CAP].choice ? options[CAP].number : 0,
                               .window = options[WINDOW].choice ? (size_t)options[WINDOW].number : 0,
                               .keep = (size_t)options[KEEP].number,
                               .chunk = options[CHUNK].choice ? (size_t)options[CHUNK].number : 0,
                               .sinks = has_sinks(term) ? sinks : NULL};
    return LOCUS_OK;
}

static locus_status place(const void *bound, const locus_places *places, locus_owned *memory, locus_placed *placed,
                          locus_error *error) {
    (void)places, (void)memory, (void)error;
    locus_score_settings *settings = placed->own;
    *settings = *(const locus_score_settings *)bound;
    settings->sinks_parameter = placed->first_parameter;
    placed->settings = settings;
    return LOCUS_OK;
}

static const locus_option_info options[] = {
    {"scale", "off or a number > 0", "off", "products are multiplied by it; off: by 1/sqrt(head_dim)",
     LOCUS_OPTION_OFF_OR_NUMBER, 0, 1e30, true},
    {"cap", "off or a number > 0", "off", "scores are soft-capped: cap·tanh(s/cap)", LOCUS_OPTION_OFF_OR_NUMBER, 0,
     1e30, true},
    {"window", "off or an integer ≥ 1", "off", "how many keys back a query sees, its own included",
     LOCUS_OPTION_OFF_OR_INTEGER, 1, 1e15, false},
    {"keep", "integer ≥ 0", "0", "the first keys that every query sees in spite of the window", LOCUS_OPTION_INTEGER, 0,
     1e15, false},
    {"chunk", "off or an integer ≥ 1", "off", "keys of a chunk: a query sees those of its own chunk alone",
     LOCUS_OPTION_OFF_OR_INTEGER, 1, 1e15, false},
    {"sinks", "off|on", "off", "a learned score for each head that takes weight from the keys", LOCUS_OPTION_CHOICE, 0,
     0, false},
};

const locus_encoding_class locus_scores_class = {
    .info = {.name = "scores",
             .summary = "scale, soft cap, window, chunks and sinks of attention's scores",
             .sites = LOCUS_SITE_SCORE,
             .learned = "sinks (sinks=on)",
             .source = "Gemma 2 2024 (cap), Xiao et al. 2023 (keep), Llama 4 2025 (chunk), GPT-OSS 2025 (sinks)",
             LOCUS_OPTIONS(options)},
    .shape = LOCUS_NEEDS_HEADS,
    .bound_bytes = sizeof(locus_score_settings),
    .placed_bytes = sizeof(locus_score_settings),
    .claim = "say how scores are made",
    .reals = true,
    .any_group = true,
    .laws = LOCUS_LAW_RELATIVITY,
    .conflict = conflict,
    .learns = has_sinks,
    .parameters = parameters,
    .initialise = initialise,
    .bind = bind,
    .place = place,
};
