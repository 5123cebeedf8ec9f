/* SPDX-License-Identifier: MIT */
/* Whether two views share an element: what is written needs memory of its own. */
#ifndef LOCUS_OVERLAP_H
#define LOCUS_OVERLAP_H

#include <locus/tensor.h>
#include <stdbool.h>

/* Views of one element type are told apart element by element, whatever their shapes and strides (interleaved ones of a
 * fused buffer among them); views of different types by the bytes that they reach over, and views that reach over more
 * than any memory has overlap all. Empty views overlap nothing. */
bool locus_tensors_overlap(const locus_tensor *a, const locus_tensor *b);

/* The same data, laid out alike: what is meant by "in place". */
bool locus_tensors_same(const locus_tensor *a, const locus_tensor *b);

#endif
