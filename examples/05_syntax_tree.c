/* SPDX-License-Identifier: MIT */
/* Example 5: a syntax tree. A node stands where the branches from the root lead, a word over 1 (left) and 2 (right);
 * each branch has an orthogonal matrix of its own, ⌈b1 b2 … bt⌉ = W_b1 W_b2 … W_bt. The path from one node to
 * another goes up to their lowest common ancestor and down again, and it alone decides the score: aunts are aunts
 * everywhere in the tree.
 *
 *            S                0
 *          /   \
 *        NP     VP            1          2
 *       /  \   /  \
 *     the cat sat  PP         1+1  1+2   2+1  2+2
 *                 /  \
 *                on   NP                      2+2+1  2+2+2
 *                    /  \
 *                  the  mat                   2+2+2+1  2+2+2+2 */
#include "example.h"

enum { NODES = 11 };

int main(void) {
    const char *const names[NODES] = {"S", "NP", "the", "cat", "VP", "sat", "PP", "on", "NP", "the", "mat"};
    const char *const paths[NODES] = {"0",   "1",     "1+1",   "1+2",     "2",      "2+1",
                                      "2+2", "2+2+1", "2+2+2", "2+2+2+1", "2+2+2+2"};
    double scores[NODES * NODES];
    example e;
    example_open(&e, "algebraic(group=tree:2)");
    const locus_group *group = locus_encoding_group(e.encoding);
    example_relative(group, "1+2", "2+2+2+2");   /* from "cat" to "mat" */
    example_relative(group, "1", "1+2");         /* NP → cat … */
    example_relative(group, "2+2+2", "2+2+2+2"); /* … and NP → mat: the same path, 2 */

    locus_plan *plan = example_plan(&e, paths, NODES);
    example_scores(plan, NODES, scores);
    locus_plan_destroy(&plan);
    for (size_t n = 0; n < NODES; n++)
        (void)printf("  cat → %-4s % .4f\n", names[n], scores[3 * NODES + n]);
    const double first = scores[1 * NODES + 3], second = scores[8 * NODES + 10], other = scores[1 * NODES + 2];
    (void)printf("NP → its right child: %.6f and %.6f; its left child: %.6f\n", first, second, other);
    example_close(&e);
    return fabs(first - second) > 1e-12 || fabs(first - other) < 1e-3;
}
