/* SPDX-License-Identifier: MIT */
/* See own_lengths.h. */
#include "task/own/own_lengths.h"

size_t lab_own_longest(const lab_own_rows *rows) {
    size_t longest = 0;
    for (size_t i = 0; i < rows->count; i++) {
        const size_t tokens = rows->rows[i].sides[LAB_OWN_INPUT].count;
        longest = rows->rows[i].set == LAB_SET_TRAIN && tokens > longest ? tokens : longest;
    }
    return longest;
}

locus_status lab_own_within(lab_own_rows *rows, const lab_draw *draw, size_t *samples, locus_error *error) {
    const size_t within = draw->options->within, all = *samples;
    size_t seen = 0, kept = 0;
    for (size_t i = 0; within > 0 && i < rows->count; i++) {
        lab_own_row *row = &rows->rows[i];
        const size_t tokens = row->sides[LAB_OWN_INPUT].count;
        if (row->set != draw->which)
            continue;
        const bool stays = seen++ < all && tokens > within / 2 && tokens <= within;
        row->set = stays ? row->set : (lab_set)LAB_OWN_LEFT_OUT;
        kept += stays;
    }
    *samples = within > 0 ? kept : all;
    return *samples > 0 ? LOCUS_OK
                        : lab_fail(error, LOCUS_ERROR_ARGUMENT, "lengths", "no input of the set has %zu to %zu tokens",
                                   within / 2 + 1, within);
}
