/* SPDX-License-Identifier: MIT */
/* Sorts trees into bins of depth and size and names the bins. */
#include "train/feed/tree_groups.h"

#include "io/fail.h"

#include <stdio.h>
#include <stdlib.h>

enum { BINS = 31 };

/* 1 | 2 … 4 | 5 … 8 | 9 … 16 | … */
static size_t bin_of(size_t nodes) {
    size_t bin = nodes <= 1 ? 0 : 1;
    for (size_t most = 4; nodes > most && bin + 1 < BINS; most *= 2)
        bin++;
    return bin;
}

static void bin_name(char *text, size_t size, const char *what, unsigned bin) {
    if (bin == 0)
        snprintf(text, size, "%s:1", what);
    else
        snprintf(text, size, "%s:%u-%u", what, bin == 1 ? 2 : (1u << bin) + 1, 2u << bin);
}

static void add(lab_tree_group *group, const lab_dataset *set, const lab_sample_scores *scores, size_t s) {
    const size_t tokens = set->target_offsets == NULL ? 1 : set->target_offsets[s + 1] - set->target_offsets[s];
    group->samples++;
    group->tokens += tokens;
    group->correct += scores->correct[s];
    group->exact += scores->correct[s] == tokens;
    if (s < scores->decoded) {
        group->decoded++;
        group->greedy += scores->greedy[s];
    }
}

/* Tokens of branch 0 stand at their parent's node. `levels` has room for the longest sample. */
static size_t depth_of(const lab_dataset *set, size_t s, size_t *levels) {
    const size_t start = set->input_offsets[s], tokens = set->input_offsets[s + 1] - start;
    const int32_t *parents = set->input_tree.parents + start, *branches = set->input_tree.branches + start;
    size_t most = 0;
    for (size_t i = 0; i < tokens; i++) {
        levels[i] = parents[i] < 0 ? 0 : levels[parents[i]] + (branches[i] != 0);
        most = levels[i] > most ? levels[i] : most;
    }
    return most;
}

/* Of each sample, from malloc; NULL: out of memory. */
static size_t *depths_of(const lab_dataset *set) {
    const size_t longest = lab_longest(set->samples, set->input_offsets);
    size_t *depths = calloc(set->samples + 1, sizeof *depths), *levels = calloc(longest + 1, sizeof *levels);
    for (size_t s = 0; depths != NULL && levels != NULL && s < set->samples; s++)
        depths[s] = depth_of(set, s, levels);
    if (levels == NULL) {
        free(depths);
        depths = NULL;
    }
    free(levels);
    return depths;
}

/* Groups without samples go. */
static size_t squeeze(lab_tree_group *groups, size_t count) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (groups[i].samples > 0)
            groups[kept++] = groups[i];
    return kept;
}

/* Names them all, depths first, and returns where the bins begin. */
static lab_tree_group *name_groups(lab_tree_group *groups, size_t deepest, const char *size) {
    lab_tree_group *bins = groups + deepest + 1;
    for (size_t d = 0; d <= deepest; d++)
        snprintf(groups[d].set, sizeof groups[d].set, "depth:%zu", d);
    for (unsigned b = 0; b < BINS; b++)
        bin_name(bins[b].set, sizeof bins[b].set, size, b);
    return bins;
}

locus_status lab_tree_groups(const lab_dataset *set, const lab_sample_scores *scores, lab_tree_group **groups,
                             size_t *count, locus_error *error) {
    size_t deepest = 0, *depths = depths_of(set);
    for (size_t s = 0; depths != NULL && s < set->samples; s++)
        deepest = depths[s] > deepest ? depths[s] : deepest;
    lab_tree_group *found = depths == NULL ? NULL : calloc(deepest + 1 + BINS, sizeof *found);
    *groups = found;
    *count = 0;
    if (found == NULL) {
        free(depths);
        return lab_fail_memory(error, "scores by depth");
    }
    lab_tree_group *bins = name_groups(found, deepest, set->labels != NULL ? "length" : "nodes");
    const size_t start = set->labels != NULL; /* an expression's start token is none of its own */
    for (size_t s = 0; s < set->samples; s++) {
        add(&found[depths[s]], set, scores, s);
        add(&bins[bin_of(set->input_offsets[s + 1] - set->input_offsets[s] - start)], set, scores, s);
    }
    free(depths);
    *count = squeeze(found, deepest + 1 + BINS);
    return LOCUS_OK;
}
