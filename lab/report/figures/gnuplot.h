/* SPDX-License-Identifier: MIT */
/* Runs gnuplot, without a shell: the script is its standard input, a file without a name below TMPDIR, so that nothing
 * is left behind, whatever happens. The picture comes through a pipe: gnuplot ends well even if it can't write, so that
 * it is not made to write where there may be no room. */
#ifndef LAB_GNUPLOT_H
#define LAB_GNUPLOT_H

#include <locus/status.h>
#include <stdbool.h>
#include <stdio.h>

typedef struct lab_gnuplot {
    FILE *script; /* being written; it sets a terminal and no output */
    FILE *log;    /* what gnuplot complains of */
} lab_gnuplot;

locus_status lab_gnuplot_open(lab_gnuplot *plot, locus_error *error);
/* Ends the script and runs it. *picture: what was drawn, an SVG or a PNG, NUL appended, from malloc. UNSUPPORTED if
 * gnuplot is not there; IO if it fails, or if it did not read the script or draw the picture to the end. */
locus_status lab_gnuplot_run(lab_gnuplot *plot, char **picture, size_t *bytes, locus_error *error);
void lab_gnuplot_close(lab_gnuplot *plot); /* safe after a failed open */

/* A text as a string of the script, without enhanced markup. gnuplot runs what stands in backquotes, in double quotes
 * too, before it reads escapes: characters that might mean something to it are written as octal escapes. What is not
 * printable (printable.h) becomes '?', but line ends stay. */
void lab_gnuplot_text(FILE *script, const char *text);

/* A block of data, "$name", of `lines` lines that stand between begin and end. gnuplot takes an error while it reads
 * its script for the end of the block and may go on: the script counts the lines that came and ends with an error. */
void lab_gnuplot_begin_data(FILE *script, const char *name);
void lab_gnuplot_end_data(FILE *script, const char *name, size_t lines);

#endif
