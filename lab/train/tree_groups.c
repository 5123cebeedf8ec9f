/* SPDX-License-Identifier: MIT */
#include "train/tree_groups.h"

#include "io/fail.h"
#include "task/symbol_tree.h"

#include <stdio.h>
#include <stdlib.h>

enum { BINS = 31 };

/* 1 | 2 … 4 | 5 … 8 | 9 … 16 | … */
static size_t bin_of(size_t nodes) {
    size_t bin = nodes <= 1 ? 0 : 1;
    for (size_t most = 4; nodes > most && bin + 1 < BINS; most *= 2) {
        bin++;
    }
    return bin;
}

static void bin_name(char *text, size_t size, unsigned bin) {
    if (bin == 0) {
        snprintf(text, size, "nodes:1");
    } else {
        snprintf(text, size, "nodes:%u-%u", bin == 1 ? 2 : (1u << bin) + 1, 2u << bin);
    }
}

static void add(lab_tree_group *group, const lab_dataset *set, const lab_sample_scores *scores, size_t s) {
    const size_t tokens = set->target_offsets[s + 1] - set->target_offsets[s];
    group->samples++;
    group->tokens += tokens;
    group->correct += scores->correct[s];
    group->exact += scores->correct[s] == tokens;
    if (s < scores->decoded) {
        group->decoded++;
        group->greedy += scores->greedy[s];
    }
}

static size_t depth_of(const lab_dataset *set, size_t s) {
    return lab_tree_order_depth(set->input_offsets[s + 1] - set->input_offsets[s],
                                set->input_tree.parents + set->input_offsets[s]);
}

/* Groups without samples go. */
static size_t squeeze(lab_tree_group *groups, size_t count) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (groups[i].samples > 0) {
            groups[kept++] = groups[i];
        }
    }
    return kept;
}

locus_status lab_tree_groups(const lab_dataset *set, const lab_sample_scores *scores, lab_tree_group **groups,
                             size_t *count, locus_error *error) {
    size_t deepest = 0;
    for (size_t s = 0; s < set->samples; s++) {
        size_t depth = depth_of(set, s);
        deepest = depth > deepest ? depth : deepest;
    }
    lab_tree_group *found = calloc(deepest + 1 + BINS, sizeof *found);
    *groups = found;
    *count = 0;
    if (found == NULL) {
        return lab_fail_memory(error, "scores by depth");
    }
    lab_tree_group *bins = found + deepest + 1;
    for (size_t d = 0; d <= deepest; d++) {
        snprintf(found[d].set, sizeof found[d].set, "depth:%zu", d);
    }
    for (unsigned b = 0; b < BINS; b++) {
        bin_name(bins[b].set, sizeof bins[b].set, b);
    }
    for (size_t s = 0; s < set->samples; s++) {
        add(&found[depth_of(set, s)], set, scores, s);
        add(&bins[bin_of(set->input_offsets[s + 1] - set->input_offsets[s])], set, scores, s);
    }
    *count = squeeze(found, deepest + 1 + BINS);
    return LOCUS_OK;
}
