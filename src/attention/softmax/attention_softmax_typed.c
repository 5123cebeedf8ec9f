/* SPDX-License-Identifier: MIT */
/* Attention in one element type (kernels/real.h): the bodies. */
#include "attention/attention_work.h"
#include "kernels/half_rows.h"
#include "kernels/real.h"

#include <locus/memory.h>
#include <locus/parallel.h>
#include <string.h>

#include "attention/softmax/attention_backward_body.h"
#include "attention/softmax/attention_bias_gradient_body.h"
#include "attention/softmax/attention_decode_body.h"
#include "attention/softmax/attention_forward_body.h"
#include "attention/softmax/attention_weights_body.h"

static size_t scratch(const attention_job *job) {
    weights_worker w;
    if (job->weighs)
        return carve_weights(job, NULL, &w);
    return job->pass == LOCUS_PASS_FORWARD ? forward_scratch(job) : backward_scratch(job);
}

const attention_softmax_bodies REAL_NAME(locus_attention_softmax) = {
    .scratch = scratch, .forward = forward, .backward = backward, .bias_gradient = bias_gradient, .weights = weights};
