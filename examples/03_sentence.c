/* SPDX-License-Identifier: MIT */
/* Example 3: a sentence. Positions are integers; the encoding is a power of one orthogonal matrix, ⌈p⌉ = W^p. The score
 * of two words depends on how far apart they are and on nothing else: the same sentence a million words later scores
 * the same. */
#include "example.h"

int main(void) {
    const char *const words[] = {"the", "cat", "sat", "on", "the", "mat"};
    const char *const near[] = {"0", "1", "2", "3", "4", "5"};
    const char *const far[] = {"1000000", "1000001", "1000002", "1000003", "1000004", "1000005"};
    enum { WORDS = 6 };
    double here[WORDS * WORDS], there[WORDS * WORDS], worst = 0;
    example e;
    example_open(&e, "algebraic(group=seq)");
    example_relative(locus_encoding_group(e.encoding), "1", "5"); /* from "cat" to "mat" */

    locus_plan *plan = example_plan(&e, near, WORDS);
    example_scores(plan, WORDS, here);
    locus_plan_destroy(&plan);
    plan = example_plan(&e, far, WORDS);
    example_scores(plan, WORDS, there);
    locus_plan_destroy(&plan);

    for (size_t n = 0; n < WORDS; n++)
        (void)printf("  cat → %-4s % .4f   a million words later % .4f\n", words[n], here[WORDS + n], there[WORDS + n]);
    for (size_t i = 0; i < WORDS * WORDS; i++)
        worst = fmax(worst, fabs(here[i] - there[i]));
    (void)printf("largest difference %.1e\n", worst);
    example_close(&e);
    return worst > 1e-9;
}
