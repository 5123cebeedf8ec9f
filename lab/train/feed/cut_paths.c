/* SPDX-License-Identifier: MIT */
/* Walks the nodes of a set's trees with their levels and counts those that lie deeper than the encoding looks. */
#include "train/feed/cut_paths.h"

#include "train/configuration/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENCODING "shiv-quirk"

typedef struct depths {
    size_t deepest, cut, nodes;
} depths;

/* Depths of the nodes of a side's tokens; `levels` has room for its longest sample. A token of branch 0 stands at its
 * parent's node, which has been counted. Expressions have no targets. */
static void measure(depths *found, const size_t *offsets, const lab_tree_nodes *tree, size_t samples, size_t kept,
                    size_t *levels) {
    for (size_t s = 0; offsets != NULL && s < samples; s++) {
        for (size_t i = offsets[s]; i < offsets[s + 1]; i++) {
            const bool root = tree->parents[i] < 0, node = root || tree->branches[i] != 0;
            size_t level = root ? 0 : levels[tree->parents[i]] + node;
            levels[i - offsets[s]] = level;
            found->deepest = level > found->deepest ? level : found->deepest;
            found->cut += node && level > kept;
            found->nodes += node;
        }
    }
}

bool lab_cut_paths_note(const lab_train_config *config, const lab_dataset *set, char *text, size_t size) {
    size_t kept;
    if (set->input_tree.parents == NULL ||
        lab_spec_least(config->encoding, ENCODING, "depth", &kept, NULL) != LOCUS_OK || kept == SIZE_MAX)
        return false;
    const size_t input = lab_longest(set->samples, set->input_offsets);
    const size_t target = lab_longest(set->samples, set->target_offsets);
    size_t *levels = calloc((input > target ? input : target) + 1, sizeof *levels);
    depths found = {0};
    if (levels != NULL) {
        measure(&found, set->input_offsets, &set->input_tree, set->samples, kept, levels);
        measure(&found, set->target_offsets, &set->target_tree, set->samples, kept, levels);
    }
    free(levels);
    if (found.cut > 0) {
        snprintf(text, size,
                 "trees go down %zu steps and " ENCODING " keeps the last %zu of a path (depth=%zu): the paths of "
                 "%.3g %% of the nodes are cut",
                 found.deepest, kept, kept, 100.0 * (double)found.cut / (double)found.nodes);
    }
    return found.cut > 0;
}
