/* SPDX-License-Identifier: MIT */
/* The library's key–value caches of a decoder: one for each attention. Those of the cross-attentions keep what the
 * encoder gave, turned once, for all steps. */
#ifndef LAB_DECODE_CACHES_H
#define LAB_DECODE_CACHES_H

#include "model/token_positions.h"

typedef struct lab_decode_caches {
    size_t count; /* of sublayers */
    locus_cache **kept;
} lab_decode_caches;

/* Whether all of the decoder's attentions are of a kind that a cache serves. */
bool lab_decode_caches_serve(const lab_model *model);

/* What must fit: sequences of at most `longest` tokens, at least 1; and of an encoder what it has read, the longest of
 * its sequences (at least 1). */
typedef struct lab_decode_room {
    size_t sequences, longest;
    const locus_positions *memory; /* NULL: there is no encoder */
    size_t memory_longest;
} lab_decode_room;

/* The encoder, if there is one, has run. UNSUPPORTED where an encoding needs more than a cache keeps. Destroy them
 * after a failure, too. */
locus_status lab_decode_caches_create(lab_decode_caches *caches, const lab_model *model, const lab_decode_room *room,
                                      locus_error *error);
void lab_decode_caches_destroy(lab_decode_caches *caches);

#endif
