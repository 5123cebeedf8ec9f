/* SPDX-License-Identifier: MIT */
/* What a link of a page into its runs names (docs/reproduction.md):
 *
 *   COLUMN/ROW                  the field's score, mean over seeds
 *   COLUMN/ROW,OTHER            what ROW's mean is above OTHER's
 *   COLUMN/ROW/WHICH            of the score over seeds: mean, deviation, least, most; or the score of that seed
 *   COLUMN/ROW/WHICH/SET/NAME   of another final score: test/exact, depth:3/accuracy
 *   COLUMN/ROW/WHICH/CURVE@STEP of a curve's value: dev.loss@700
 *   COLUMN/ROW/WHICH/CURVE:below:VALUE, …:above:VALUE   the first step at which it is
 *   claim/ID, claim/ID/VARIANT  the verdict
 *
 * Columns and rows have the names that --columns and --rows take. Shares are in percent. */
#ifndef LAB_WRITTEN_VALUE_H
#define LAB_WRITTEN_VALUE_H

#include "report/reproduction/reproduction_report.h"

typedef struct lab_written_value {
    const char *word; /* of a verdict; else NULL */
    double value;
} lab_written_value;

/* False: `why` says in a few words what is not there. */
bool lab_written_find(const lab_reproduction_view *view, lab_store *store, const char *path, lab_written_value *found,
                      char why[160]);

#endif
