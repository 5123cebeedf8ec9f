/* SPDX-License-Identifier: MIT */
/* The vector vocabulary that kernel bodies are written in. A file that instantiates the kernels defines
 *
 *   LOCUS_SIMD       SCALAR, AVX2, AVX512 or NEON as LOCUS_SIMD_…: which of the simd_….h is taken; SCALAR without it
 *   LOCUS_REAL_BITS  32 or 64: the element type `real`; 32 without it
 *
 * and bodies then speak of `real`, of `vreal` (a vector of LANES reals, words v_…) and of `vd` (a vector of VD_LANES
 * doubles, words vd_…, for what must be computed in double whatever the element type). Words are the same at each
 * level:
 *
 *   zero set load store add sub mul div as they say
 *   fma(a,b,c) = a·b + c                fnma(a,b,c) = c − a·b   (fused, except at the scalar level of machines without)
 *   max(a,b) = a > b ? a : b            min(a,b) = a < b ? a : b: a NaN on either side gives b
 *   sum                                 horizontal, in a fixed order
 *   round                               to the nearest integer, for |x| < 2^22
 *   ldexp(x,n)                          x·2^n, n integral and |n| < 250 (float), 2000 (double)
 *   zero_below(x,limit,v)               x < limit ? 0 : v
 *   first(n)                            the part that stands for lanes 0 … n − 1, 0 ≤ n ≤ lanes
 *   load_part, store_part               touch the part's elements only; other lanes load as 0
 *   load_part_or                        the same, but they load as `other`
 *   deinterleave(a,b,&x,&y)             a, b = x0 y0 x1 y1 …  →  x0 x1 …, y0 y1 …; interleave is its inverse
 *   held(x)                             x in a register, where a compiler would load it anew for each use
 *   swap(a[2],b[2])                     a = x0 y0 x1 y1 …  →  b = y0 x0 y1 x1 …
 *   spread(a[2],x[2],y[2])              a = x0 y0 x1 y1 …  →  x = x0 x0 x1 x1 …, y = −y0 y0 −y1 y1 …
 *   transpose(block)                    a square of lanes × lanes in place
 *   vd_load_real, vd_store_real         VD_LANES reals to and from doubles (also _part)
 *
 *   vf_load_half, vf_store_half         VF_LANES floats from and to IEEE halves, rounded to nearest even; NaN comes out
 *                                       quiet with the upper bits of its payload
 *   vf_load_bfloat16                    VF_LANES floats from bfloat16
 *
 * Words of 32 bits, vectors `vu` of VU_LANES (a multiple of 4, or 1), for Philox:
 *
 *   vu_set, vu_load, vu_add, vu_xor, vu_multiply(a,m,&high,&low)
 *   vu_blocks()                         the number, within a run of VU_LANES blocks, of the block that stands in each
 *                                       lane, chosen so that vu_store_blocks(p, w0, w1, w2, w3) writes them in order
 *
 * A body names a function KERNEL(name): locus_{name}_{LOCUS_INSTANCE}, which says of which table it is.
 */
#ifndef LOCUS_KERNELS_SIMD_H
#define LOCUS_KERNELS_SIMD_H

#include "kernels/real.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SIMD static inline __attribute__((always_inline))

/* Loops over a tile's registers: they only stay in registers once unrolled. And loops that code is not worth. */
#if defined(__clang__)
#define SIMD_UNROLL _Pragma("clang loop unroll(full)")
#define SIMD_ROLLED _Pragma("clang loop unroll(disable)")
#else
#define SIMD_UNROLL _Pragma("GCC unroll 16")
#define SIMD_ROLLED _Pragma("GCC unroll 1")
#endif

#define LOCUS_JOIN_RAW(a, b) a##b
#define LOCUS_JOIN(a, b) LOCUS_JOIN_RAW(a, b)
#define KERNEL(name) LOCUS_JOIN(locus_##name##_, LOCUS_INSTANCE)

#define LOCUS_SIMD_SCALAR 1
#define LOCUS_SIMD_AVX2 2
#define LOCUS_SIMD_AVX512 4
#define LOCUS_SIMD_NEON 8

#ifndef LOCUS_SIMD
#define LOCUS_SIMD LOCUS_SIMD_SCALAR
#endif
#if LOCUS_SIMD == LOCUS_SIMD_AVX512
#define LOCUS_LEVEL avx512
#include "kernels/simd_avx512.h"
#elif LOCUS_SIMD == LOCUS_SIMD_AVX2
#define LOCUS_LEVEL avx2
#include "kernels/simd_avx2.h"
#elif LOCUS_SIMD == LOCUS_SIMD_NEON
#define LOCUS_LEVEL neon
#include "kernels/simd_neon.h"
#else
#define LOCUS_LEVEL scalar
#include "kernels/simd_scalar.h"
#endif

#if LOCUS_REAL_BITS == 32
typedef vf vreal;
typedef vf_part vpart;
#define LANES VF_LANES
#define REAL_MIN FLT_MIN
#define SIMD_WORD(word) vf_##word
#define vd_load_real vd_load_float
#define vd_store_real vd_store_float
#define vd_load_real_part vd_load_float_part
#define vd_store_real_part vd_store_float_part
#else
typedef vd vreal;
typedef vd_part vpart;
#define LANES VD_LANES
#define REAL_MIN DBL_MIN
#define SIMD_WORD(word) vd_##word
#define vd_load_real vd_load
#define vd_store_real vd_store
#define vd_load_real_part vd_load_part
#define vd_store_real_part vd_store_part
#endif

#define v_zero SIMD_WORD(zero)
#define v_set SIMD_WORD(set)
#define v_load SIMD_WORD(load)
#define v_store SIMD_WORD(store)
#define v_held SIMD_WORD(held)
#define v_first SIMD_WORD(first)
#define v_load_part SIMD_WORD(load_part)
#define v_load_part_or SIMD_WORD(load_part_or)
#define v_store_part SIMD_WORD(store_part)
#define v_add SIMD_WORD(add)
#define v_sub SIMD_WORD(sub)
#define v_mul SIMD_WORD(mul)
#define v_div SIMD_WORD(div)
#define v_fma SIMD_WORD(fma)
#define v_fnma SIMD_WORD(fnma)
#define v_max SIMD_WORD(max)
#define v_min SIMD_WORD(min)
#define v_sum SIMD_WORD(sum)
#define v_round SIMD_WORD(round)
#define v_ldexp SIMD_WORD(ldexp)
#define v_zero_below SIMD_WORD(zero_below)
#define v_deinterleave SIMD_WORD(deinterleave)
#define v_interleave SIMD_WORD(interleave)
#define v_swap SIMD_WORD(swap)
#define v_spread SIMD_WORD(spread)
#define v_transpose SIMD_WORD(transpose)

#endif
