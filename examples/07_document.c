/* SPDX-License-Identifier: MIT */
/* Example 7: a document as a sequence of trees. A word stands at (sentence, branches from that sentence's root), an
 * element of seq*tree:2. One half of the head knows how many sentences lie between, the other half where the words
 * stand in their trees: the subject of this sentence and the subject of the last one are (−1, 0) apart. */
#include "example.h"

enum { TOKENS = 8 };

int main(void) {
    /* (0) [the cat] [sat]    (1) [it] [[saw] [a bird]] */
    const char *const names[TOKENS] = {"S", "the cat", "sat", "S", "it", "VP", "saw", "a bird"};
    const char *const paths[TOKENS] = {"(0,0)", "(0,1)", "(0,2)", "(1,0)", "(1,1)", "(1,2)", "(1,2+1)", "(1,2+2)"};
    double scores[TOKENS * TOKENS];
    example e;
    example_open(&e, "algebraic(group=seq*tree:2, split=12:12)");
    const locus_group *group = locus_encoding_group(e.encoding);
    example_relative(group, "(1,1)", "(0,1)");   /* from "it" back to "the cat" */
    example_relative(group, "(1,2+2)", "(0,1)"); /* from "a bird" */

    locus_plan *plan = example_plan(&e, paths, TOKENS);
    example_scores(plan, TOKENS, scores);
    locus_plan_destroy(&plan);
    for (size_t n = 0; n < TOKENS; n++)
        (void)printf("  it → %-7s % .4f\n", names[n], scores[4 * TOKENS + n]);

    /* The path from root to root is the same as from subject to subject: both stay where they are in their trees. */
    const double roots = scores[3 * TOKENS + 0], subjects = scores[4 * TOKENS + 1];
    (void)printf("root → last root %.6f, subject → last subject %.6f\n", roots, subjects);
    example_close(&e);
    return fabs(roots - subjects) > 1e-12;
}
