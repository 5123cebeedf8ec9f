/* SPDX-License-Identifier: MIT */
/* The registry of kernels: what declarations, tables, tests and benches are made from. A kernel or level that is added
 * here and nowhere else does not compile. */
#ifndef LOCUS_KERNELS_KERNELS_LIST_H
#define LOCUS_KERNELS_KERNELS_LIST_H

#include "kernels/kernels.h"

/* Each operation of the table. */
#define LOCUS_KERNEL_OPERATIONS(X) \
    X(gemm) \
    X(transpose) \
    X(rotate) \
    X(rotate_steps) \
    X(angles) \
    X(phases) \
    X(angle_gradient) \
    X(scale) \
    X(axpy) \
    X(dot) \
    X(multiply) \
    X(add) \
    X(add_wide) \
    X(maximum) \
    X(exp_sum) \
    X(softmax_backward) \
    X(softmax_rows) \
    X(softmax_rows_backward) \
    X(soft_cap) \
    X(soft_cap_backward) \
    X(add_maximum) \
    X(multiply_maximum) \
    X(dots) \
    X(dropout_row) \
    X(random_words)

/* Each operation of the half types' table. */
#define LOCUS_HALF_KERNEL_OPERATIONS(X) \
    X(widen_float16) \
    X(widen_bfloat16) \
    X(narrow_float16) \
    X(narrow_bfloat16) \
    X(dots_bfloat16) \
    X(sums_bfloat16)

/* Each level that this architecture can have and that is built (cmake/LocusFlags.cmake), lowest first: name of its
 * files, value of locus_isa. */
#if defined(__x86_64__) && defined(LOCUS_WITHOUT_AVX512)
#define LOCUS_KERNEL_LEVELS(X) X(scalar, LOCUS_ISA_SCALAR) X(avx2, LOCUS_ISA_AVX2)
#elif defined(__x86_64__)
#define LOCUS_KERNEL_LEVELS(X) X(scalar, LOCUS_ISA_SCALAR) X(avx2, LOCUS_ISA_AVX2) X(avx512, LOCUS_ISA_AVX512)
#elif defined(__aarch64__)
#define LOCUS_KERNEL_LEVELS(X) X(scalar, LOCUS_ISA_SCALAR) X(neon, LOCUS_ISA_NEON)
#else
#define LOCUS_KERNEL_LEVELS(X) X(scalar, LOCUS_ISA_SCALAR)
#endif

#define LOCUS_KERNEL_DECLARE(level, isa) \
    extern const locus_kernels_float32 locus_kernels_float32_##level; \
    extern const locus_kernels_float64 locus_kernels_float64_##level; \
    extern const locus_kernels_half locus_kernels_half_##level;
LOCUS_KERNEL_LEVELS(LOCUS_KERNEL_DECLARE)
#undef LOCUS_KERNEL_DECLARE

#endif
