/* SPDX-License-Identifier: MIT */
/* See answering.h. */
#include "samples/answering.h"

#include "io/clock.h"
#include "io/fail.h"
#include "io/grow.h"
#include "train/configuration/config_options.h"

#include <stdlib.h>
#include <string.h>

enum {
    TEXT_TOKENS = 256, /* that a text gets, unless it is said */
    OVERRUN = 8,       /* tokens that a drawn problem may get above its answer, so that one sees how it goes wrong */
    TOGETHER = 32      /* prompts that are decoded together; more bring no speed but need memory */
};

/* A piece of text is complete. */
static void give(lab_answering *j, lab_answer *to, const char *piece, size_t bytes) {
    j->out_of_memory = !lab_grow_text(&to->text, &to->used, &to->room, piece, bytes) || j->out_of_memory;
    if (bytes > 0 && j->tell != NULL)
        j->unheard = !j->tell(j->context, piece, bytes) || j->unheard;
}

/* The model has chosen a token; false: this prompt needs no more. */
static bool take(void *context, size_t sample, int32_t token, int32_t *parent, int32_t *branch) {
    lab_answering *j = context;
    lab_answer *to = &j->answers[j->begin + sample];
    char piece[LAB_PIECE];
    (void)parent, (void)branch;
    to->last = lab_seconds();
    to->first = to->tokens == 0 ? to->last : to->first;
    to->tokens++;
    give(j, to, piece, lab_writer_add(&to->writer, token, piece));
    j->stopped = j->stopped || (j->stops != NULL && j->stops());
    return token != j->end && !j->stopped && !j->out_of_memory && !j->unheard;
}

locus_status lab_answering_next(lab_answering *j, locus_error *error) {
    const lab_growth growth = {take, j};
    j->begin += j->count;
    const size_t left = j->prompts.count - j->begin, first = j->prompts.offsets[j->begin];
    /* A draw depends on a prompt's place among those decoded together: each group has a seed of its own. */
    lab_sampling sampling = j->sampling;
    sampling.seed ^= j->begin / TOGETHER * UINT64_C(0x9E3779B97F4A7C15); /* no other seed's */
    j->count = left < TOGETHER ? left : TOGETHER;
    for (size_t s = 0; s < j->count; s++) {
        const size_t *offsets = j->prompts.offsets + j->begin + s;
        j->offsets[s + 1] = offsets[1] - first;
        j->answers[j->begin + s].writer =
            lab_writer_begin(&j->writing, j->prompts.tokens + offsets[0], offsets[1] - offsets[0]);
    }
    size_t *output_offsets = calloc(j->count + 1, sizeof *output_offsets);
    const lab_batch batch = {.samples = j->count, .input_offsets = j->offsets, .input = j->prompts.tokens + first};
    const lab_generation generation = {.limits = j->limits + j->begin,
                                       .output = j->tokens,
                                       .output_offsets = output_offsets,
                                       .lengths = j->lengths,
                                       .growth = &growth,
                                       .sampling = sampling.temperature > 0.0 ? &sampling : NULL};
    j->started = lab_seconds();
    locus_status status = output_offsets == NULL ? lab_fail(error, LOCUS_ERROR_MEMORY, NULL, "out of memory")
                                                 : lab_model_generate(j->model, &batch, &generation, error);
    j->ended = lab_seconds();
    free(output_offsets);
    for (size_t s = 0, at = 0; s < j->count && status == LOCUS_OK; at += j->limits[j->begin + s], s++) {
        lab_answer *to = &j->answers[j->begin + s];
        char piece[LAB_PIECE];
        give(j, to, piece, lab_writer_end(&to->writer, piece));
        to->ids = j->tokens + at;
    }
    return status == LOCUS_OK && j->out_of_memory ? lab_fail(error, LOCUS_ERROR_MEMORY, NULL, "out of memory") : status;
}

/* ---- how long ---- */

/* The last token that a prompt gets is not read. Nothing begins that cannot be finished. */
static locus_status check_length(const lab_answering *j, size_t prompt, size_t limit, locus_error *error) {
    locus_error found;
    const locus_status status = lab_model_reaches(j->model, prompt + limit - 1, &found);
    if (status == LOCUS_OK || status == LOCUS_ERROR_MEMORY)
        return status == LOCUS_OK ? LOCUS_OK : lab_fail(error, LOCUS_ERROR_MEMORY, NULL, "out of memory");
    return prompt > 1 && lab_model_reaches(j->model, prompt, &found) != LOCUS_OK
               ? lab_fail(error, LOCUS_ERROR_IO, NULL, "the prompt's %zu tokens are too many: %s", prompt,
                          found.message)
               : lab_fail(error, LOCUS_ERROR_IO, NULL,
                          "the prompt has %zu tokens and %zu may follow: %s; or give fewer --tokens", prompt, limit,
                          found.message);
}

/* Tokens that a prompt may get, unless it is said: of a drawn problem a few more than its answer has; of other problems
 * as many as fit into a sequence of the training; of text a page, or what fits. */
static size_t limit_of(lab_answering *j, size_t p) {
    const bool problems = j->config->task->characters != NULL;
    const size_t prompt = j->prompts.offsets[p + 1] - j->prompts.offsets[p];
    const size_t sequence = (size_t)lab_config_number(j->config, "sequence");
    const size_t left = sequence > prompt ? sequence - prompt : 1;
    if (j->most > 0)
        return j->most;
    if (j->prompts.drawn.samples > 0)
        return j->prompts.drawn.target_offsets[p + 1] - j->prompts.drawn.target_offsets[p] + OVERRUN;
    if (problems)
        return left;
    if (left >= TEXT_TOKENS)
        return TEXT_TOKENS;
    const locus_status reached = lab_model_reaches(j->model, prompt + TEXT_TOKENS - 1, NULL);
    j->out_of_memory = j->out_of_memory || reached == LOCUS_ERROR_MEMORY;
    return reached == LOCUS_OK ? TEXT_TOKENS : left;
}

/* Every prompt, before the first is decoded. */
static locus_status check_lengths(const lab_answering *j, locus_error *error) {
    size_t longest = 0;
    locus_status status = LOCUS_OK;
    for (size_t p = 0; p < j->prompts.count && status == LOCUS_OK; p++) {
        const size_t prompt = j->prompts.offsets[p + 1] - j->prompts.offsets[p], whole = prompt + j->limits[p];
        status = whole > longest ? check_length(j, prompt, j->limits[p], error) : LOCUS_OK;
        longest = whole > longest ? whole : longest;
    }
    return status;
}

locus_status lab_answering_begin(lab_answering *j, locus_error *error) {
    const size_t n = j->prompts.count;
    const char *characters = j->config->task->characters;
    const char *found = characters != NULL ? memchr(characters, '#', j->writing.vocabulary) : NULL;
    size_t most = 0;
    j->end = found == NULL ? -1 : (int32_t)(found - characters);
    j->limits = calloc(n, sizeof *j->limits);
    j->offsets = calloc(TOGETHER + 1, sizeof *j->offsets);
    j->lengths = calloc(TOGETHER, sizeof *j->lengths);
    j->answers = calloc(n, sizeof *j->answers);
    for (size_t p = 0; j->limits != NULL && p < n; p++) {
        j->limits[p] = limit_of(j, p);
        most = j->limits[p] > most ? j->limits[p] : most;
    }
    j->tokens = calloc(most * (n < TOGETHER ? n : TOGETHER) + 1, sizeof *j->tokens);
    return j->limits && j->offsets && j->lengths && j->answers && j->tokens && !j->out_of_memory
               ? check_lengths(j, error)
               : lab_fail(error, LOCUS_ERROR_MEMORY, NULL, "out of memory");
}

/* ---- what came of it ---- */

bool lab_answer_right(const lab_answering *j, size_t p) {
    const lab_dataset *set = &j->prompts.drawn;
    const size_t first = set->target_offsets[p], count = set->target_offsets[p + 1] - first;
    return j->answers[p].tokens == count &&
           memcmp(j->answers[p].ids, set->target + first, count * sizeof *j->answers[p].ids) == 0;
}

double lab_answering_rate(const lab_answering *j) {
    double tokens = 0, begun = j->ended, last = j->started;
    for (size_t s = 0; s < j->count; s++) {
        const lab_answer *a = &j->answers[j->begin + s];
        tokens += a->tokens > 0 ? (double)a->tokens - 1 : 0;
        begun = a->tokens > 0 && a->first < begun ? a->first : begun;
        last = a->last > last ? a->last : last;
    }
    return tokens > 0 && last > begun ? tokens / (last - begun) : 0.0;
}

void lab_answering_free(lab_answering *j) {
    for (size_t p = 0; j->answers != NULL && p < j->prompts.count; p++)
        free(j->answers[p].text);
    free(j->answers);
    free(j->limits);
    free(j->offsets);
    free(j->lengths);
    free(j->tokens);
    lab_prompts_free(&j->prompts);
    lab_writing_close(&j->writing);
}
