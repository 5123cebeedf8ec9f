/* SPDX-License-Identifier: MIT */
/* Example 4: an image. A patch stands at (row, column), an element of grid:2 = seq*seq. Half of the head's
 * dimensions turn with the row, half with the column: ⌈(r, c)⌉ = H^r ⊕ W^c. So the score is a term of the rows'
 * distance plus a term of the columns'. */
#include "example.h"

enum { ROWS = 4, COLUMNS = 6, PATCHES = ROWS * COLUMNS };

int main(void) {
    char text[PATCHES][16];
    const char *paths[PATCHES];
    double scores[PATCHES * PATCHES];
    for (int p = 0; p < PATCHES; p++) {
        (void)snprintf(text[p], sizeof text[p], "(%d,%d)", p / COLUMNS, p % COLUMNS);
        paths[p] = text[p];
    }
    example e;
    example_open(&e, "algebraic(group=grid:2)");
    example_relative(locus_encoding_group(e.encoding), "(3,0)", "(1,3)"); /* figure 3 of the paper */

    locus_plan *plan = example_plan(&e, paths, PATCHES);
    example_scores(plan, PATCHES, scores);
    locus_plan_destroy(&plan);
    (void)printf("how patch (1,2) sees the image:\n");
    for (int r = 0; r < ROWS; r++) {
        for (int c = 0; c < COLUMNS; c++)
            (void)printf(" % .3f", scores[(1 * COLUMNS + 2) * PATCHES + r * COLUMNS + c]);
        (void)printf("\n");
    }

    /* s(Δr, Δc) = rows(Δr) + columns(Δc): a mixed difference vanishes. */
    double worst = 0;
    for (int r = 1; r < ROWS; r++)
        for (int c = 1; c < COLUMNS; c++)
            worst = fmax(worst, fabs(scores[r * COLUMNS + c] - scores[r * COLUMNS] - scores[c] + scores[0]));
    (void)printf("rows and columns add up to within %.1e\n", worst);
    example_close(&e);
    return worst > 1e-12;
}
