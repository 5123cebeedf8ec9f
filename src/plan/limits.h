/* SPDX-License-Identifier: MIT */
/* Plans of limits: what an encoding's plans are at most, for any batches within a caller's limits, whatever the values
 * of its parameters. Sizes are asked of them as of plans, and may be asked of nothing else. */
#ifndef LOCUS_LIMITS_H
#define LOCUS_LIMITS_H

#include "plan/plan_sites.h"

typedef struct locus_limit_plan {
    locus_workspace_limits given; /* the caller's, as this version knows them, with all that he left open */
    locus_limits limits;
    locus_plan *plan;
    locus_executor executor; /* of as many threads; runs nothing */
    locus_execution execution;
} locus_limit_plan;

/* Makes one, to be closed in any case. Fails as locus_apply_workspace_bound does. The struct stays where it is. */
LOCUS_MUST_USE locus_status locus_limit_plan_open(locus_limit_plan *own, const locus_encoding *encoding,
                                                  const locus_workspace_limits *limits, locus_error *error);
void locus_limit_plan_close(locus_limit_plan *own);

#endif
