/* SPDX-License-Identifier: MIT */
/* A drawn world: a spec, a shape, parameters, positions of a packed batch and a plan, once as the library has them and
 * once as the reference does. */
#ifndef TESTS_DRAWN_WORLD_H
#define TESTS_DRAWN_WORLD_H

#include "reference/chooser.h"
#include "reference/drawn_spec.h"
#include "reference/reference.h"

#include <locus/locus.h>

enum { DRAWN_SEQUENCES = 5 };

typedef struct drawn_side {
    reference_tokens tokens;
    size_t first[DRAWN_SEQUENCES + 1], count[DRAWN_SEQUENCES]; /* `first` is also the packing's offsets */
    reference_position *at;
    locus_positions *positions;
} drawn_side;

typedef struct drawn_world {
    drawn_spec spec;
    locus_group *group;
    locus_shape shape, asked; /* everything said; as the library was told */
    locus_binding *binding;
    locus_plan *plan;
    drawn_side queries, keys;
    bool self; /* keys are the queries: `keys` is a copy without positions of its own */
    size_t length;
    size_t tensor_count;
    locus_parameter info[REFERENCE_TENSORS];
    double *values[REFERENCE_TENSORS];
    size_t elements[REFERENCE_TENSORS];
    reference_model model;
    reference_operators operators;
    char refusal[2000];  /* why there is no plan */
    locus_status status; /* of the refusal */
} drawn_world;

/* What is drawn: sizes of batches, and what a case may leave out. */
typedef struct drawn_limits {
    size_t longest; /* sequence, at most */
    bool threads;   /* also draws instruction sets and numbers of threads */
} drawn_limits;

/* False if the library refused what was drawn, with its message in `refusal`. To be freed in any case. */
bool drawn_world_make(drawn_world *world, chooser *choices, const drawn_limits *limits);
void drawn_world_free(drawn_world *world);

/* Binds the values anew and makes the plan again. */
bool drawn_world_update(drawn_world *world);

/* Positions of a group without a plan: draws `count` of them. Trees by words that may be unreduced, or by nodes. */
bool drawn_side_make(drawn_side *side, const locus_group *group, chooser *choices, size_t sequences,
                     const size_t *lengths, int64_t reach, locus_error *error);
void drawn_side_free(drawn_side *side);

/* One line for messages. */
void drawn_world_text(const drawn_world *world, char *text, size_t size);

#endif
