/* SPDX-License-Identifier: MIT */
/* What the ranks of a job say to each other before they share anything: each that it is well, and what it is about to
 * train, with what. Rank 0 compares; whoever differs is refused, by one line that names rank and difference. */
#ifndef LAB_MEETING_H
#define LAB_MEETING_H

#include "ranks/ranks.h"
#include "train/configuration/train_config.h"

/* All ranks call one of these, once. `status` and `error` say how the rank has fared so far; all get the same answer.
 * The digest of the parameters that a training begins with is rank 0's, which alone reads them. */
locus_status lab_meeting(lab_ranks *ranks, locus_status status, lab_train_config *config, locus_error *error);
/* Of a rank that came to no training: it failed with `line`. Returns the status that all leave with. */
locus_status lab_meeting_decline(lab_ranks *ranks, const char *line, locus_error *error);

#endif
