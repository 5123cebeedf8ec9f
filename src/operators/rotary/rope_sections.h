/* SPDX-License-Identifier: MIT */
/* Ropes of several axes: which axis each pair follows, and with which frequency. r dimensions turn, P = r/2 pairs.
 *
 *   axes=k                      r falls into k equal blocks, one for each axis and each a rope of its own: ω begins
 *                               afresh in it, base^(−2j/b) over its b = r/k dimensions. pairs=half: (j, j + b/2)
 *                               within a block (DUSt3R, Gemma's vision towers)
 *   axes=k, frequencies=axial,  the same for blocks of any size, but half pairs are those of the whole head,
 *     sections=a:b:…            (i, i + r/2), of which the first a follow axis 0, and so on (Qwen2-VL's vision tower,
 *                               DINOv3)
 *   sections=a:b:…              running: ω_i = base^(−2i/r) over all of r, as if there were one axis; half pairs are
 *     order=chunked             (i, i + r/2). The first a pairs follow axis 0, the next b axis 1, … (Qwen2-VL)
 *     order=interleaved         pair i follows axis x = i mod k, if that is not 0 and i < k·(its section), else axis 0
 *                               (Qwen3-VL)
 *   frequencies=running         without sections: equal ones */
#ifndef LOCUS_ROPE_SECTIONS_H
#define LOCUS_ROPE_SECTIONS_H

#include "operators/rotary/rope_options.h"

typedef struct locus_rope_sections {
    size_t axes;
    size_t first[LOCUS_COORDINATES_MAX + 1]; /* of each axis among the pairs sorted by axis */
    bool axial;                              /* each axis' pairs are a rope of its own */
    bool blocks;                             /* half pairs lie within blocks, one for each axis */
    bool interleaved;                        /* pairs are not sorted by axis */
} locus_rope_sections;

/* SHAPE if the sections are not those of so many pairs, or the lists of LongRoPE not one number for each pair of a
 * rope. */
locus_status locus_rope_sections_get(const locus_term *term, size_t pairs, locus_rope_sections *sections,
                                     locus_error *error);

/* Of interleaved sections: places[i] is the number of pair i among the pairs sorted by axis. */
void locus_rope_sections_sort(const locus_rope_sections *sections, uint32_t *places);

/* The class's `group_text`. */
void locus_rope_group_text(const locus_term *term, char *text, size_t size);

#endif
