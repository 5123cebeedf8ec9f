/* SPDX-License-Identifier: MIT */
/* Positions and plans of a key–value cache: tokens come at the end, and nothing that is there is looked at again.
 *
 *   keys    | s0 s0 s0 .  .  . | s1 s1 .  .  .  . | …       sequence s owns rows s·capacity … (s + 1)·capacity − 1
 *   new     | s0 | s1 | …                                   packed: what came last
 *
 * Two plans look at these arrays. `fresh` has queries and keys where the new tokens stand: it turns them. `kept` has
 * the new tokens' queries and all kept keys, and what acts on scores; its operators are not there, since keys are kept
 * turned. An execution reads positions and spans where they stand, so `kept` follows by itself, and is placed anew only
 * when positions leave the bounds that it was placed for (powers of two), when room for new tokens grows, and on
 * trees, whose distances are prepared for all tokens, and for terms that say so. `fresh` is placed each time, in the
 * memory that it had before, or is what another cache has placed on the same positions (growing_fresh.c).
 *
 * Where an encoding acts on any group, nothing depends on positions: they are counted on `seq`, whatever is given. */
#ifndef LOCUS_GROWING_H
#define LOCUS_GROWING_H

#include "plan/plan_access.h"

typedef struct locus_growing locus_growing;

typedef struct locus_growing_options {
    size_t sequences, capacity; /* of each sequence */
    size_t length;              /* locus_places.length */
} locus_growing_options;

/* Retains the binding. */
locus_status locus_growing_create(locus_growing **growing, const locus_binding *binding,
                                  const locus_growing_options *options, locus_error *error);
/* Lets go of the creator's share; it lives on as long as one of its plans is retained. Accepts NULL; nulls the
 * pointer. */
void locus_growing_destroy(locus_growing **growing);
size_t locus_growing_bytes(const locus_growing *growing);

/* Whether `positions` can be entered, and if they are to be kept, whether there is room. NULL: see enter. */
locus_status locus_growing_check(const locus_growing *growing, const locus_positions *positions, bool keep,
                                 locus_error *error);

/* New tokens, checked before. `positions` NULL: one for each sequence, at its last position + 1. With `keep` they are
 * keys from now on, behind those that their sequences have, else queries only. On failure what was kept is as it was,
 * and there are no new tokens. */
locus_status locus_growing_enter(locus_growing *growing, const locus_positions *positions, bool keep,
                                 locus_error *error);

/* Gives the new tokens up; those that were kept are dropped. */
void locus_growing_leave(locus_growing *growing);

/* How many keys a sequence has. */
size_t locus_growing_length(const locus_growing *growing, size_t sequence);

/* Whether there are new tokens; the tokens of the buffer that was entered, and those of a sequence in it. */
bool locus_growing_entered(const locus_growing *growing);
size_t locus_growing_tokens(const locus_growing *growing);
locus_positions_run locus_growing_run(const locus_growing *growing, size_t sequence);

const locus_plan *locus_growing_fresh(const locus_growing *growing); /* meaningful while there are new tokens */
const locus_plan *locus_growing_kept(const locus_growing *growing);

/* Makes `kept` look as if all sequences were full, and as it is again: to ask what workspace it will come to need. */
void locus_growing_stretch(locus_growing *growing, bool full);

/* ---- growing_move.c ---- */

/* Checks a path of the encoding's group, and that no position of [first, first + count) of a sequence leaves ±2^40. */
locus_status locus_growing_check_shift(const locus_growing *growing, size_t sequence, size_t first, size_t count,
                                       const locus_path *shift, locus_error *error);

/* Keeps the first `length` keys. New tokens stay only if none of them goes. */
void locus_growing_truncate(locus_growing *growing, size_t sequence, size_t length);

/* Takes keys out; those behind move up, and to a + p if there is a shift, which has been checked. New tokens stay if
 * none of them goes. */
locus_status locus_growing_evict(locus_growing *growing, size_t sequence, size_t first, size_t count,
                                 const locus_path *shift, locus_error *error);

/* Appends keys of `from`, shifted; room, group and shift have been checked. There are no new tokens afterwards. */
typedef struct locus_growing_part {
    const locus_growing *from;
    size_t sequence, first, count;
    const locus_path *shift;
} locus_growing_part;
locus_status locus_growing_insert(locus_growing *growing, size_t sequence, const locus_growing_part *part,
                                  locus_error *error);

#endif
