/* SPDX-License-Identifier: MIT */
/* Where a number stands in a page's generated part. */
#ifndef LAB_WRITTEN_GENERATED_H
#define LAB_WRITTEN_GENERATED_H

#include "report/reproduction/reproduction.h"
#include "report/reproduction/written_number.h"

/* Whether a number that somebody wrote stands there, with a decimal point or a per cent sign. A number of a table's
 * row counts only if the passage that it was written in names the scheme, as the row does, and the column, by the
 * first word of its head: "rope" and "copy". */
bool lab_written_stands(const char *generated, const lab_reproduction *table, const char *passage,
                        const lab_written_number *wanted);

#endif
