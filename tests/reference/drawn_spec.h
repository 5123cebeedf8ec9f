/* SPDX-License-Identifier: MIT */
/* Random specs, drawn from the registry: names, options, and values as each option's own text describes them ("number >
 * 0", "off|on", "a:b:…"), so that a new encoding or option is drawn without a word here. What a spec refuses is mended
 * by its own message: an option that it names as wanted is added, one that it blames is taken out. */
#ifndef TESTS_DRAWN_SPEC_H
#define TESTS_DRAWN_SPEC_H

#include "reference/chooser.h"

#include <locus/encoding.h>

typedef struct drawn_spec {
    char text[1024], group[64]; /* group: that the drawing was for, positions of any encoding may be of it */
    locus_encoding *encoding;
} drawn_spec;

/* Draws a spec that can be parsed and goes with the shape, which is changed where it has to be; false if tries ran out.
 * Options that the reference has not been taught are left out. */
bool drawn_spec_make(chooser *choices, locus_shape *shape, drawn_spec *spec);

#endif
