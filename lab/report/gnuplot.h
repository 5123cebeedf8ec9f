/* SPDX-License-Identifier: MIT */
/* Runs gnuplot: script and picture are files in a fresh temporary folder, the program is started without a shell. */
#ifndef LAB_GNUPLOT_H
#define LAB_GNUPLOT_H

#include <locus/status.h>
#include <stdbool.h>
#include <stdio.h>

typedef struct lab_gnuplot {
    char folder[512];
    char script[560], picture[560], log[560];
    FILE *stream; /* the script being written; it writes to `output`, a name without folder */
} lab_gnuplot;

#define LAB_GNUPLOT_PICTURE "picture" /* what a script must set as its output */

locus_status lab_gnuplot_open(lab_gnuplot *plot, locus_error *error);
/* Ends the script and runs it; the picture is then at plot->picture. UNSUPPORTED if gnuplot is not there; IO if it
 * fails. */
locus_status lab_gnuplot_run(lab_gnuplot *plot, locus_error *error);
void lab_gnuplot_close(lab_gnuplot *plot); /* removes the folder; safe after a failed open */

/* A text in double quotes, as gnuplot reads it without enhanced markup. */
void lab_gnuplot_text(FILE *script, const char *text);

#endif
