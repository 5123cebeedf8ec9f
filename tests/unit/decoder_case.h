/* SPDX-License-Identifier: MIT */
/* Small decoders and sequences for them, shared by the decoder's tests. */
#ifndef TESTS_DECODER_CASE_H
#define TESTS_DECODER_CASE_H

#include "model/model_parts.h"

enum { DECODER_VOCABULARY = 13, DECODER_SAMPLES = 9, DECODER_MOST = 48 };

/* A batch that owns its tokens. */
typedef struct decoder_sequences {
    size_t offsets[DECODER_SAMPLES + 1];
    int32_t tokens[DECODER_SAMPLES * DECODER_MOST];
    lab_batch batch;
} decoder_sequences;

/* Sequences order[0 … count − 1] laid end to end; each is what it is, wherever it stands. Lengths are 2 to 41. */
void decoder_pack(decoder_sequences *own, const size_t *order, size_t count);
extern const size_t decoder_natural[DECODER_SAMPLES];

/* Dimension 32, 4 heads, two layers, no dropout but in training. Fails the test if the model is refused. */
lab_model_config decoder_config(const char *encoding, lab_norm_place norm);
lab_model *decoder_make(const lab_model_config *config);

/* The same after some steps on sequences that count up by their first token: answers that are not one symbol. */
lab_model *decoder_trained(const lab_model_config *config, uint32_t steps);

lab_score decoder_evaluate(lab_model *model, const lab_batch *batch);

#endif
