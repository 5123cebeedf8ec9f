/* SPDX-License-Identifier: MIT */
/* What a table takes from files (a text's vocabulary and digest, a pretrained encoder), as the configurations of
 * recorded runs say it: the table can be made again where the files are not. */
#ifndef LAB_REPRODUCTION_RECORDED_H
#define LAB_REPRODUCTION_RECORDED_H

#include "report/reproduction/reproduction.h"

/* Completes a column; *there: whether there is a run that says it, where one is needed. */
locus_status lab_reproduction_recall(lab_reproduction_column *column, lab_store *recorded, bool pretrained, bool *there,
                                     locus_error *error);

/* Refuses a run that has a field's name, but not its configuration. */
locus_status lab_reproduction_check(const lab_reproduction *table, lab_store *store, locus_error *error);

#endif
