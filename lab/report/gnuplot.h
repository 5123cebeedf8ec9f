/* SPDX-License-Identifier: MIT */
/* Runs gnuplot, without a shell: the script is its standard input, the picture its standard output. Both are files
 * without names below TMPDIR, so that nothing is left behind, whatever happens. */
#ifndef LAB_GNUPLOT_H
#define LAB_GNUPLOT_H

#include <locus/status.h>
#include <stdbool.h>
#include <stdio.h>

typedef struct lab_gnuplot {
    FILE *script;        /* being written; it sets a terminal and no output */
    FILE *picture, *log; /* what gnuplot draws, and what it complains of */
} lab_gnuplot;

locus_status lab_gnuplot_open(lab_gnuplot *plot, locus_error *error);
/* Ends the script and runs it. *picture: what was drawn, NUL appended, from malloc. UNSUPPORTED if gnuplot is not
 * there; IO if it fails. */
locus_status lab_gnuplot_run(lab_gnuplot *plot, char **picture, size_t *bytes, locus_error *error);
void lab_gnuplot_close(lab_gnuplot *plot); /* safe after a failed open */

/* A text as a string of the script, without enhanced markup. gnuplot runs what stands in backquotes, in double quotes
 * too, before it reads escapes: characters that might mean something to it are written as octal escapes. What is not
 * printable (printable.h) becomes '?', but line ends stay. */
void lab_gnuplot_text(FILE *script, const char *text);
/* The same for the label of a tick, which gnuplot reads as a format of the tick's value. */
void lab_gnuplot_tick(FILE *script, const char *text);

#endif
