/* SPDX-License-Identifier: MIT */
/* Runs of tokens whose angles follow from one another (locus_step_runs of rotary.h). */
#include "operators/rotary/rotary.h"

/* Whether all axes but the last stand where they stood a token before. */
static bool others_stand(const locus_rotary_walk *walk, size_t token) {
    for (size_t axis = 0; axis + 1 < walk->op->rotary->axes; axis++) {
        const locus_token_side *side = locus_rotary_side(walk, axis);
        if (locus_token_position(side, token) != locus_token_position(side, token - 1))
            return false;
    }
    return true;
}

/* Whether the last axis stands still, or rises by one, from the token before. */
static bool last_moves(const locus_token_side *last, size_t token, bool rises) {
    if (last->reals)
        return !rises && last->reals[token] == last->reals[token - 1];
    return last->values[token] - last->values[token - 1] == (rises ? 1 : 0);
}

/* Tokens from `first` on whose last axis rises, or stands still; at most `most`. */
static size_t run_length(const locus_rotary_walk *walk, size_t first, size_t most, bool rises) {
    const locus_token_side *last = locus_rotary_side(walk, walk->op->rotary->axes - 1);
    size_t rows = 1;
    if (walk->op->rotary->axes == 1 && rises && last->ahead && !last->reals)
        return last->ahead[first] < most ? last->ahead[first] : most;
    if (walk->op->rotary->axes == 1 && !last->reals) {
        const int64_t *values = last->values + first, by = rises ? 1 : 0;
        while (rows < most && values[rows] - values[rows - 1] == by)
            rows++;
        return rows;
    }
    while (rows < most && last_moves(last, first + rows, rises) && others_stand(walk, first + rows))
        rows++;
    return rows;
}

locus_step_runs locus_step_runs_find(const locus_rotary_walk *walk, size_t first, size_t count) {
    const locus_token_side *last = locus_rotary_side(walk, walk->op->rotary->axes - 1);
    locus_step_runs runs = {.count = 0};
    const size_t end = first + count;
    while (first < end && runs.count < LOCUS_BASE_ROWS) {
        const size_t step = last->fine[first] & (LOCUS_STEPS - 1), left = end - first;
        const bool rises = !last->reals && (left < 2 || last->values[first + 1] != last->values[first]);
        const size_t most = rises && LOCUS_STEPS - step < left ? LOCUS_STEPS - step : left;
        const size_t rows = run_length(walk, first, most, rises);
        runs.first[runs.count] = first;
        runs.run[runs.count++] = (locus_rotation_run){rows, step, !rises};
        runs.rows += rows;
        first += rows;
    }
    return runs;
}
