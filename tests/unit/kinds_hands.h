/* SPDX-License-Identifier: MIT */
/* Calls with everything held ready, so that threads can make them: a case of attention (kinds_case.h) with its tensors
 * and workspaces, guarded behind, and a list of such cases, one for each way in which attention runs. */
#ifndef TESTS_KINDS_HANDS_H
#define TESTS_KINDS_HANDS_H

#include "unit/kinds_case.h"

typedef enum hands_tensor {
    HANDS_Q,
    HANDS_K,
    HANDS_V,
    HANDS_O,
    HANDS_GO,
    HANDS_DQ,
    HANDS_DK,
    HANDS_DV,
    HANDS_LSE,
    HANDS_TENSORS
} hands_tensor;

/* In an order in which each finds what it needs. Apply's backward begins gradients of parameters, the other adds. */
typedef enum hands_call { HANDS_APPLY, HANDS_APPLY_BACKWARD, HANDS_FORWARD, HANDS_BACKWARD, HANDS_CALLS } hands_call;

typedef struct hands {
    kinds_world world;
    locus_dtype dtype;
    locus_tensor tensors[HANDS_TENSORS], gradients[KINDS_PARAMETERS];
    locus_workspace workspaces[HANDS_CALLS];
} hands;

/* Workspaces are asked for as `like` runs (NULL: by default). */
void hands_take(hands *h, const kinds_case *test, locus_dtype dtype, const locus_execution *like);

/* Fails where something was written behind a workspace. */
void hands_drop(hands *h);

/* One call in its workspace, else as `like` runs. Asserts nothing. */
locus_status hands_run(hands *h, hands_call call, const locus_execution *like, locus_error *error);

/* All of them; how many failed. */
int hands_work(hands *h, const locus_execution *like);

void hands_same(const hands *a, const hands *b);

/* Case number `index` below HANDS_SUBJECTS: `test` is filled in. */
enum { HANDS_SUBJECTS = 9 };
void hands_subject(size_t index, kinds_case *test);

#endif
