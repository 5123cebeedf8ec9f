/* SPDX-License-Identifier: MIT */
/* One colour for each encoding, whatever stands beside it: it depends on the encoding's text alone, so that all figures
 * agree, those that Python draws (python/locus/lab/colours.py) with them. Encodings outnumber colours: what tells two
 * lines apart for certain is their dash and marker (chart_frame.h). */
#ifndef LAB_ENCODING_COLOUR_H
#define LAB_ENCODING_COLOUR_H

#include <stddef.h>

/* Twelve hues in three tones each; page.css has them as --c0 … --c35. */
#define LAB_COLOUR_TONES 3
#define LAB_COLOURS 36

/* `encoding`: canonical text of a spec. Encodings with a hue of their own keep it, and their options choose the tone;
 * the others get any. */
size_t lab_encoding_colour(const char *encoding);

#endif
