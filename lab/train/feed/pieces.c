/* SPDX-License-Identifier: MIT */
/* Cuts texts of samples into word pieces and appends them, with their offsets, as token sequences. */
#include "train/feed/pieces.h"

#include "io/fail.h"
#include "io/grow.h"
#include "text/wordpiece.h"

#include <stdlib.h>
#include <string.h>

typedef struct pieces {
    size_t *offsets;
    int32_t *tokens;
    size_t room;
} pieces;

static bool append(pieces *to, size_t sample, const int32_t *tokens, size_t count) {
    const size_t start = to->offsets[sample], end = start + count;
    if (end > to->room) {
        const size_t room = end + end / 2;
        if (!lab_enlarge(&to->tokens, room))
            return false;
        to->room = room;
    }
    if (count > 0)
        memcpy(to->tokens + start, tokens, count * sizeof *tokens);
    to->offsets[sample + 1] = end;
    return true;
}

static locus_status append_sample(pieces *to, const lab_dataset *set, size_t sample, const lab_wordpiece *words,
                                  const lab_draw *draw, locus_error *error) {
    int32_t *tokens = NULL;
    size_t count = 0;
    char *text = draw->task->class->text(set, sample);
    locus_status status = text == NULL ? lab_fail_memory(error, "a sample's text")
                                       : lab_wordpiece_frame(words, text, strlen(text), draw->options->most_pieces,
                                                             &tokens, &count, error);
    if (status == LOCUS_OK && !append(to, sample, tokens, count))
        status = lab_fail_memory(error, "the pieces of a data set");
    free(text);
    free(tokens);
    return status;
}

static locus_status check_word(const lab_wordpiece *words, const char *word, const char *folder, locus_error *error) {
    int32_t *tokens = NULL;
    size_t count = 0;
    locus_status status = lab_wordpiece_encode(words, word, strlen(word), &tokens, &count, error);
    for (size_t t = 0; status == LOCUS_OK && t < count; t++) {
        if (tokens[t] == lab_wordpiece_special(words).unknown) {
            status = lab_fail_file(error, folder,
                                   "has a vocabulary that lacks the characters of '%s', which expressions "
                                   "are written with",
                                   word);
        }
    }
    free(tokens);
    return status;
}

locus_status lab_pieces_check(const lab_tokenizer *tokenizer, const lab_task_class *class, const char *folder,
                              locus_error *error) {
    const lab_wordpiece *words = lab_tokenizer_words(tokenizer);
    if (words == NULL)
        return lab_fail_file(error, folder, "has no vocab.txt: a pretrained encoder reads word pieces");
    locus_status status = LOCUS_OK;
    for (size_t i = 0; class->written[i] != NULL && status == LOCUS_OK; i++)
        status = check_word(words, class->written[i], folder, error);
    return status;
}

locus_status lab_pieces_make(lab_dataset *set, const lab_tokenizer *tokenizer, const lab_draw *draw,
                             locus_error *error) {
    const lab_wordpiece *words = lab_tokenizer_words(tokenizer);
    pieces made = {.offsets = calloc(set->samples + 1, sizeof *made.offsets)};
    if (words == NULL) {
        free(made.offsets);
        return lab_fail(error, LOCUS_ERROR_IO, "pretrained",
                        "a pretrained encoder reads word pieces: its folder, or the run's, needs a vocab.txt");
    }
    locus_status status = made.offsets == NULL ? lab_fail_memory(error, "the pieces of a data set") : LOCUS_OK;
    for (size_t s = 0; status == LOCUS_OK && s < set->samples; s++)
        status = append_sample(&made, set, s, words, draw, error);
    if (status != LOCUS_OK) {
        free(made.offsets);
        free(made.tokens);
        return status;
    }
    free(set->input_offsets);
    free(set->input);
    free(set->input_tree.parents);
    free(set->input_tree.branches);
    set->input_offsets = made.offsets;
    set->input = made.tokens;
    set->input_tree = (lab_tree_nodes){NULL, NULL};
    return LOCUS_OK;
}
