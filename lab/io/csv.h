/* SPDX-License-Identifier: MIT */
/* Fields of comma-separated lines, as RFC 4180 has them, but for lines that end in LF alone. */
#ifndef LAB_CSV_H
#define LAB_CSV_H

#include <stdio.h>

/* A text: in quotes where it needs them. What a terminal would obey stands as '?' (printable.h). A text that a
 * spreadsheet would compute, because it begins with one of "=+-@", has a ' in front, as one would type it there. */
void lab_csv_text(FILE *stream, const char *text);
/* The shortest digits that read back to the same number; nothing for one that is not finite. */
void lab_csv_number(FILE *stream, double value);

/* Of those with 15 digits or more the shortest text that reads back to the same number, which is finite. */
void lab_number_exact(double value, char text[32]);
/* To so many digits; whole numbers as they are. */
void lab_number_short(double value, int digits, char text[32]);

#endif
