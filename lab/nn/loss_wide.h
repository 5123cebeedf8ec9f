/* SPDX-License-Identifier: MIT */
/* Parts of the cross-entropy of many classes, in vectors. */
#ifndef LAB_LOSS_WIDE_H
#define LAB_LOSS_WIDE_H

#include <stdbool.h>
#include <stddef.h>

/* From so many classes on it pays. */
#define LAB_WIDE_CLASSES 128

/* Index of the greatest number; the first of equal ones. */
size_t lab_wide_argmax(size_t count, const float *x);

/* Σ_j exp(z_j − top), top the greatest; with `write` they take the place of the numbers. Relative error 5e-7. */
double lab_wide_exponentials(size_t count, float top, float *z, bool write);

/* z_j = factor · z_j − shift */
void lab_wide_scale(size_t count, float factor, float shift, float *z);

#endif
