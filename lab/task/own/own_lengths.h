/* SPDX-License-Identifier: MIT */
/* Own sequences and trees by the length of their inputs. */
#ifndef LAB_OWN_LENGTHS_H
#define LAB_OWN_LENGTHS_H

#include "task/own/own_rows.h"

/* The most tokens of a training input. */
size_t lab_own_longest(const lab_own_rows *rows);
/* Of the first `*samples` rows of a set those stay whose input has more than half of draw->options->within tokens, and
 * no more than that: *samples, ARGUMENT if there are none. Where nothing is said of lengths all stay. */
locus_status lab_own_within(lab_own_rows *rows, const lab_draw *draw, size_t *samples, locus_error *error);

#endif
