/* SPDX-License-Identifier: MIT */
/* Example 6: a benzene ring. Six carbon atoms stand on a cycle of period 6, W⁶ = I exactly: it does not matter which
 * atom is called the first, nor how often one goes round. Turning the ring turns the attention with it. */
#include "example.h"

#include <string.h>

enum { ATOMS = 6 };

int main(void) {
    const char *const atoms[ATOMS] = {"0", "1", "2", "3", "4", "5"};
    const char *const turned[ATOMS] = {"602", "603", "604", "605", "606", "607"}; /* a hundred rounds and two atoms */
    double scores[ATOMS * ATOMS], after[ATOMS * ATOMS];
    example e;
    example_open(&e, "algebraic(group=cycle:6, decay=0.98)");
    const locus_group *group = locus_encoding_group(e.encoding);
    example_relative(group, "1", "5"); /* the residue is 4 steps on; the shorter way round is 2 back */

    locus_plan *plan = example_plan(&e, atoms, ATOMS);
    example_scores(plan, ATOMS, scores);
    locus_plan_destroy(&plan);
    plan = example_plan(&e, turned, ATOMS);
    example_scores(plan, ATOMS, after);
    locus_plan_destroy(&plan);

    for (size_t n = 0; n < ATOMS; n++)
        (void)printf("  atom 0 → atom %zu: % .6f\n", n, scores[n]);
    double worst = 0;
    for (size_t m = 0; m < ATOMS; m++)
        for (size_t n = 0; n < ATOMS; n++)
            worst = fmax(worst, fabs(scores[m * ATOMS + n] - after[m * ATOMS + n]));
    (void)printf("after a hundred rounds and two atoms: the same to %.1e\n", worst);

    /* 6 is 0, bit for bit. */
    const char *const same[ATOMS] = {"0", "6", "-6", "600", "6000000", "-600"};
    double rows[ATOMS][EXAMPLE_HEAD_DIM], vector[EXAMPLE_HEAD_DIM];
    for (size_t i = 0; i < EXAMPLE_HEAD_DIM; i++)
        vector[i] = sin((double)i);
    plan = example_plan(&e, same, ATOMS);
    example_act(plan, LOCUS_ROLE_KEY, vector, ATOMS, rows);
    locus_plan_destroy(&plan);
    example_close(&e);
    for (size_t t = 1; t < ATOMS; t++)
        if (memcmp(rows[t], rows[0], sizeof rows[0]) != 0)
            return 1;
    return worst > 1e-12;
}
