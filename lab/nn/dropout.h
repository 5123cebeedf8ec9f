/* SPDX-License-Identifier: MIT */
/* Dropout (Srivastava et al. 2014): elements are zeroed with probability p, survivors divided by 1 − p. Nothing is
 * stored: the backward draws the same numbers again.
 *
 * Element j of row r takes 16-bit word j % 8 of Philox block r · ⌈columns / 8⌉ + j / 8 (low half of a 32-bit word
 * first) and is dropped if it is below round(65536 p); survivors are divided by the exact probability that this
 * gives. */
#ifndef LAB_DROPOUT_H
#define LAB_DROPOUT_H

#include <locus/random.h>

typedef struct lab_dropout {
    locus_random key;
    uint16_t threshold; /* words below it drop; 0: no dropout */
    float scale;        /* of survivors */
    size_t first;       /* number of the row that calls call row 0 */
} lab_dropout;

/* p in [0, 1). */
lab_dropout lab_dropout_make(double p, locus_random key);

enum { LAB_DROPOUT_RUN = 1024 }; /* columns that one draw serves */
typedef union lab_dropout_bits {
    uint32_t words[LAB_DROPOUT_RUN / 2];
    uint16_t halves[LAB_DROPOUT_RUN];
} lab_dropout_bits;

/* Draws the words of columns first … first + count − 1 of a row; first is a multiple of 8, count at most
 * LAB_DROPOUT_RUN. */
void lab_dropout_draw(const lab_dropout *dropout, size_t row, size_t columns, size_t first, size_t count,
                      lab_dropout_bits *bits);

/* y[j] = x[j] times scale or 0, for the columns that were drawn; y may be x. */
void lab_dropout_apply(const lab_dropout *dropout, const lab_dropout_bits *bits, size_t count, const float *x,
                       float *y);

/* Both for a whole row, of a dropout that drops. */
void lab_dropout_row(const lab_dropout *dropout, size_t row, size_t columns, const float *x, float *y);

#endif
