/* SPDX-License-Identifier: MIT */
/* Paths: elements of a group in normal form. Integers only; overflow of 64 bits is an error, never a wrap-around.
 *
 *   group     element                                  normal form                          text
 *   seq       an integer                               itself                               "-3"
 *   cycle:n   an integer mod n                         0 … n − 1                            "5"
 *   tree:k    a word of signed branches 1 … k          no branch next to its inverse        "1+2+1", "-2+1", "0"
 *   A * B     a tuple                                  component by component               "(3,1+2)"
 *
 * grid:r is a tuple of r integers. Trees are free groups: composition is concatenation with free reduction (Magnus,
 * Karrass and Solitar 1966, section 1.4). Nested products have flat tuples: the direct product is associative. */
#ifndef LOCUS_PATH_H
#define LOCUS_PATH_H

#include <locus/group.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct locus_path locus_path; /* opaque, immutable; holds a share of its group */

/* Parses `text` and reduces it to normal form. Blanks may stand between tokens; a tuple may be nested as the group was
 * written, "((1,2),3)", and a product of one factor needs no parentheses. SPEC with the offset in `text`. */
LOCUS_API LOCUS_MUST_USE locus_status locus_path_parse(const locus_group *group, const char *text, locus_path **path,
                                                       locus_error *error);
LOCUS_API void locus_path_destroy(locus_path **path); /* accepts NULL; nulls the pointer */

/* Writes the normal form's text, cut to `size` bytes with its final NUL; returns the full length. */
LOCUS_API size_t locus_path_text(const locus_path *path, char *text, size_t size);

LOCUS_API const locus_group *locus_path_group(const locus_path *path); /* borrowed */
LOCUS_API int locus_path_equal(const locus_path *a, const locus_path *b);

/* a + b, −a and −a + b. Both operands must be of equal groups (ARGUMENT); POSITION where 64 bits overflow. `result` may
 * not be an operand's own variable. */
LOCUS_API LOCUS_MUST_USE locus_status locus_path_compose(const locus_path *a, const locus_path *b, locus_path **result,
                                                         locus_error *error);
LOCUS_API LOCUS_MUST_USE locus_status locus_path_inverse(const locus_path *a, locus_path **result, locus_error *error);
LOCUS_API LOCUS_MUST_USE locus_status locus_path_relative(const locus_path *a, const locus_path *b, locus_path **result,
                                                          locus_error *error);

/* Number of steps: |p| on seq, the sum over axes on grids and over factors on products, the letters of a word; on a
 * cycle the residue itself, 0 … n − 1. */
LOCUS_API LOCUS_MUST_USE locus_status locus_path_length(const locus_path *path, int64_t *length, locus_error *error);

/* What decays and biases use: |−a + b| on a sequence and a tree, the shorter way round on a cycle, the floor of the
 * Euclidean norm on a grid (exact), the sum over the factors of any other product. A grid is an unbroken run of
 * `seq`. */
LOCUS_API LOCUS_MUST_USE locus_status locus_path_distance(const locus_path *a, const locus_path *b, int64_t *distance,
                                                          locus_error *error);

#ifdef __cplusplus
}
#endif
#endif
