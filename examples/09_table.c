/* SPDX-License-Identifier: MIT */
/* Example 9: a table: rows × columns × a tree of headers. A cell stands at (row, column, header), where the header is a
 * path in a tree of headings, "sales" (1) over "north" (1+1) and "south" (1+2), beside "costs" (2). The group is
 * grid:2*tree:2; distance is ⌊Euclid⌋ on the sheet plus steps between headers. */
#include "example.h"

enum { CELLS = 6 };

int main(void) {
    const char *const names[CELLS] = {"north, May",  "south, May",  "costs, May",
                                      "north, June", "south, June", "costs, June"};
    const char *const paths[CELLS] = {"(0,0,1+1)", "(0,1,1+2)", "(0,2,2)", "(1,0,1+1)", "(1,1,1+2)", "(1,2,2)"};
    double scores[CELLS * CELLS];
    example e;
    example_open(&e, "algebraic(group=grid:2*tree:2, split=6:6:12, decay=0.98)");
    const locus_group *group = locus_encoding_group(e.encoding);
    example_relative(group, "(0,0,1+1)", "(0,1,1+2)"); /* siblings under "sales" */
    example_relative(group, "(0,0,1+1)", "(1,2,2)");

    locus_plan *plan = example_plan(&e, paths, CELLS);
    example_scores(plan, CELLS, scores);
    locus_plan_destroy(&plan);
    for (size_t n = 0; n < CELLS; n++)
        (void)printf("  north, May → %-12s % .4f\n", names[n], scores[n]);
    /* From May to June under the same heading: the same path in every column. */
    double worst = 0;
    for (size_t column = 0; column < 3; column++)
        worst = fmax(worst, fabs(scores[column * CELLS + 3 + column] - scores[3]));
    (void)printf("May → June is one path, to %.1e\n", worst);
    example_close(&e);
    return worst > 1e-12;
}
