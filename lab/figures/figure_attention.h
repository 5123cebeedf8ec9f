/* SPDX-License-Identifier: MIT */
/* Which keys each query looks at: a field for each head and layer, in one picture. */
#ifndef LAB_FIGURE_ATTENTION_H
#define LAB_FIGURE_ATTENTION_H

#include "figures/attention_input.h"
#include "model/attention_maps.h"

/* Heads stand side by side, layers below each other; of an encoder–decoder its three attentions in turn. A query's row
 * shows its weights, from white for 0 to dark for 1; of a picture with many places to dark for the field's largest,
 * which stands above it. Written as lab_svg_write does. */
locus_status lab_figure_attention(const lab_attention_maps *maps, const lab_attention_input *input, const char *title,
                                  const char *path, locus_error *error);

#endif
