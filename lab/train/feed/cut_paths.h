/* SPDX-License-Identifier: MIT */
/* What a run is told when its trees are deeper than its encoding looks: shiv-quirk keeps `depth` steps of a path, the
 * nearest to the node, and cuts the rest. */
#ifndef LAB_CUT_PATHS_H
#define LAB_CUT_PATHS_H

#include "train/configuration/train_config.h"

/* One sentence, if paths of the set are cut; false: none is. */
bool lab_cut_paths_note(const lab_train_config *config, const lab_dataset *set, char *text, size_t size);

#endif
