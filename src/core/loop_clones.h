/* SPDX-License-Identifier: MIT */
/* Loops that the compiler vectorises, built once for each instruction set and chosen when the library is loaded.
 *
 * LOCUS_CLONES stands before the definition of a static function whose name is unique in the tree. Contraction is
 * off in the whole tree, and loops that are cloned run along rows, so all clones give the same bits. For small
 * matrices in double beside the hot paths; those have kernels (src/kernels/). Sanitizers and indirect functions
 * don't go together, and other C libraries than GNU's do not know these: there the plain loop is built. */
#ifndef LOCUS_CLONES_H
#define LOCUS_CLONES_H

#include <stdlib.h> /* __GLIBC__, where it is that */

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define LOCUS_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LOCUS_SANITIZED 1
#endif

#if defined(__x86_64__) && defined(__GLIBC__) && !defined(LOCUS_SANITIZED) && \
    ((defined(__clang__) && __clang_major__ >= 14) || (!defined(__clang__) && defined(__GNUC__) && __GNUC__ >= 8))
#define LOCUS_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define LOCUS_CLONES
#endif

#endif
