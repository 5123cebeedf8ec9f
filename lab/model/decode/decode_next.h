/* SPDX-License-Identifier: MIT */
/* A decoding, and one step of it: the new tokens of every unfinished sequence go through the decoder, which has kept
 * the keys and values of those before them, and the next token of each is chosen. The first step reads prompts, or a
 * start token each, later ones one token of each sequence.
 *
 *   a step's tokens | s0 s0 s0 | s2 | s3 s3 |     offsets { 0, 3, 4, 6 } of active { 0, 2, 3 } */
#ifndef LAB_DECODE_NEXT_H
#define LAB_DECODE_NEXT_H

#include "model/decode/decode_positions.h"

typedef struct lab_decoding {
    lab_model *model;
    const lab_batch *batch;
    const lab_generation *generation;
    size_t active_count; /* unfinished sequences */
    size_t *active;      /* [samples] */
    /* the step's tokens */
    size_t *offsets;  /* [samples + 1] */
    int32_t *tokens;  /* [most of a step] */
    int64_t *indices; /* numbers in their sequences */
    size_t *rows;     /* in caches of the model's own */
    /* of samples */
    size_t *read;        /* [samples]: tokens read, those of the step counted */
    size_t *row_offsets; /* [samples + 1]: the rows that sequences own, as many as they may read */
    /* what is made of them */
    float *last;     /* [samples, D]: what the decoder gave for the last token of each */
    int32_t *next;   /* [samples]: what is chosen, by active sequence */
    size_t workers;  /* that choose tokens, at most */
    uint32_t *order; /* [workers, V], where tokens are drawn */
    /* keys and values: the library's caches, or the model's own with plans for every step */
    bool keeps;
    locus_cache **kept;                                                  /* by sublayer */
    lab_numbers *caches;                                                 /* by sublayer */
    size_t *key_offsets, *key_lengths, *memory_offsets, *memory_lengths; /* [samples + 1]; with the library's caches
                                                                            the first is of a step's new tokens */
    lab_decode_positions places;
    locus_positions *memory; /* of all that the encoder has read; NULL: there is none */
    lab_arena block;
} lab_decoding;

/* Computes the step, and chooses. */
locus_status lab_decoding_step(lab_decoding *d, locus_error *error);

#endif
