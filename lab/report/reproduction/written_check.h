/* SPDX-License-Identifier: MIT */
/* Holds what somebody wrote below a page's generated part to the runs. In it
 *
 *   a number with a decimal point or a per cent sign (all of "52, 74 and 100 %") must stand so in the generated part,
 *     with its sign if it has one;
 *   a count "18 of 20" must stand so there, or be how a claim's comparisons are counted;
 *   a verdict in capitals must be that of every claim of the page;
 *
 * or be the text of a link: into the page's own runs, [50.3](table.json#digit/rope), which is then looked up and must
 * give the same when it is rounded to the digits written (written_value.h); or to wherever else it is from. Words in
 * `code` are not looked at. */
#ifndef LAB_WRITTEN_CHECK_H
#define LAB_WRITTEN_CHECK_H

#include "report/reproduction/reproduction_report.h"

typedef struct lab_written_page {
    const lab_reproduction_view *view;
    lab_store *store;
    const char *generated; /* without what was written by hand */
    const char *own;       /* that */
    size_t first_line;     /* its number in the page */
    const char *runs;      /* the name of the page's JSON file, as links have it */
} lab_written_page;

/* What is not so is told line by line; returns how many it was. */
typedef void lab_written_tell(void *context, size_t line, const char *text);
size_t lab_written_check(const lab_written_page *page, lab_written_tell *tell, void *context);

#endif
