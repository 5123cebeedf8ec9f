/* SPDX-License-Identifier: MIT */
/* Which keys the queries of a model look at: attention weights, as the library computes them (locus_attention_weights),
 * of every head and layer. */
#ifndef LAB_ATTENTION_MAPS_H
#define LAB_ATTENTION_MAPS_H

#include "model/model.h"

typedef struct lab_attention_map {
    bool decoder, cross; /* in the decoder; there, of what the encoder gives */
    size_t layer;        /* from 0 */
    size_t heads, queries, keys;
    float *weights; /* [heads, queries, keys] */
} lab_attention_map;

typedef struct lab_attention_maps {
    size_t count, room;
    lab_attention_map *maps; /* in the order in which they are computed */
    size_t without;          /* attentions that make no weight for each pair: linear, soft, clustered */
} lab_attention_maps;

/* Of a batch of one sample, read without dropout, a decoder with the target that the batch has. UNSUPPORTED if no
 * attention of the model makes weights. */
locus_status lab_attention_maps_make(lab_attention_maps *maps, lab_model *model, const lab_batch *batch,
                                     locus_error *error);
void lab_attention_maps_free(lab_attention_maps *maps);

#endif
