/* SPDX-License-Identifier: MIT */
/* Example 8: a torus, cycle:8*cycle:6: a board whose edges meet (a cellular automaton, a crystal with periodic
 * bounds, hours by weekdays). Every field sees the same world around it. */
#include "example.h"

enum { ROWS = 8, COLUMNS = 6, FIELDS = ROWS * COLUMNS };

int main(void) {
    static char text[FIELDS][16];
    static const char *paths[FIELDS];
    static double scores[FIELDS * FIELDS];
    for (int p = 0; p < FIELDS; p++) {
        (void)snprintf(text[p], sizeof text[p], "(%d,%d)", p / COLUMNS, p % COLUMNS);
        paths[p] = text[p];
    }
    example e;
    example_open(&e, "algebraic(group=cycle:8*cycle:6)");
    example_relative(locus_encoding_group(e.encoding), "(0,0)", "(7,5)"); /* one step back on both */

    locus_plan *plan = example_plan(&e, paths, FIELDS);
    example_scores(plan, FIELDS, scores);
    locus_plan_destroy(&plan);
    double worst = 0;
    for (int m = 0; m < FIELDS; m++)
        for (int r = 0; r < ROWS; r++)
            for (int c = 0; c < COLUMNS; c++) {
                int n = (m / COLUMNS + r) % ROWS * COLUMNS + (m % COLUMNS + c) % COLUMNS;
                worst = fmax(worst, fabs(scores[m * FIELDS + n] - scores[r * COLUMNS + c]));
            }
    (void)printf("all %d fields see the same, to %.1e\n", FIELDS, worst);
    example_close(&e);
    return worst > 1e-12;
}
