/* SPDX-License-Identifier: MIT */
/* Read from the canonical text: lists count pairs (sections, short) or dimensions (split). */
#include "bound/natural_shape.h"

#include "bound/spec_text.h"

#include <stdlib.h>
#include <string.h>

#define XPOS_REACH 500 /* steps of xpos=512 that stretch vectors by a small number, so that errors stay absolute */

/* Callbacks say angles as doubles: product of position and frequency, rounded once. So far from the origin that is
 * still well below the laws' tolerance; the library's own angles are carried further. */
#define OWN_REACH 10000

/* The sum of "a:b:c", or how many they are. */
static size_t list_sum(const char *list, bool count) {
    size_t sum = 0;
    for (char *end; *list; list = end + (*end == ':')) {
        const double value = strtod(list, &end);
        if (end == list)
            break;
        sum += count ? 1 : (size_t)value;
    }
    return sum;
}

static void look_at_term(lab_natural *natural, const lab_term *term) {
    const size_t sections = 2 * list_sum(lab_term_option(term, "sections", ""), false);
    const size_t factors = 2 * list_sum(lab_term_option(term, "short", ""), true);
    const size_t split = list_sum(lab_term_option(term, "split", ""), false);
    const size_t rotate = (size_t)strtoull(lab_term_option(term, "rotate", "0"), NULL, 10);
    const size_t exact = sections ? sections : factors ? factors : split;
    if (rotate)
        natural->head_dim = natural->head_dim > rotate ? natural->head_dim : rotate;
    else if (exact)
        natural->head_dim = exact;
    if (!lab_term_has(term, "xpos", "off", "off")) {
        const double steps = strtod(lab_term_option(term, "xpos", "512"), NULL), most = XPOS_REACH * steps / 512;
        natural->reach = most >= (double)natural->reach ? natural->reach : most > 1 ? (int64_t)most : 1;
    }
}

locus_status lab_natural_find(lab_natural *natural, const locus_encoding *encoding, size_t each, int64_t reach,
                              locus_error *error) {
    lab_spec spec;
    const locus_group *group = locus_encoding_group(encoding);
    *natural = (lab_natural){each * (group ? locus_group_coordinates(group) : 1), reach};
    if ((locus_encoding_traits(encoding) & LOCUS_TRAIT_OWN) != 0 && reach > OWN_REACH)
        natural->reach = OWN_REACH;
    locus_status status = lab_spec_open(&spec, encoding, error);
    for (size_t i = 0; i < spec.count && status == LOCUS_OK; i++)
        look_at_term(natural, &spec.terms[i]);
    lab_spec_close(&spec);
    return status;
}
