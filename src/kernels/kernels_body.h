/* SPDX-License-Identifier: MIT */
/* One instantiation of all kernels, by LOCUS_SIMD and LOCUS_REAL_BITS (see simd.h): the table
 * locus_kernels_float{32,64}_{level} comes out. Functions are named locus_{kernel}_float{32,64}_{level}. */
#ifndef LOCUS_KERNELS_KERNELS_BODY_H
#define LOCUS_KERNELS_KERNELS_BODY_H

#include "kernels/kernels_list.h"
#include "kernels/simd.h"

#define LOCUS_DTYPE LOCUS_JOIN(float, LOCUS_REAL_BITS)
#define LOCUS_INSTANCE LOCUS_JOIN(LOCUS_DTYPE, LOCUS_JOIN(_, LOCUS_LEVEL))

#include "kernels/angles_body.h"
#include "kernels/gemm_body.h"
#include "kernels/random_body.h"
#include "kernels/rotate_body.h"
#include "kernels/scores_body.h"
#include "kernels/softmax_body.h"
#include "kernels/steps_body.h"
#include "kernels/transpose_body.h"
#include "kernels/vector_body.h"

#define LOCUS_KERNEL_ENTRY(name) .name = KERNEL(name),
const LOCUS_JOIN(locus_kernels_, LOCUS_DTYPE) LOCUS_JOIN(locus_kernels_, LOCUS_INSTANCE) = {
    .isa = (locus_isa)LOCUS_SIMD, .lanes = LANES, .tile_rows = GEMM_ROWS, LOCUS_KERNEL_OPERATIONS(LOCUS_KERNEL_ENTRY)};

#endif
