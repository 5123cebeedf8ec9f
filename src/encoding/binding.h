/* SPDX-License-Identifier: MIT */
/* A binding as plans see it: the terms with their bound states. */
#ifndef LOCUS_BINDING_H
#define LOCUS_BINDING_H

#include "encoding/class.h"

struct locus_binding {
    locus_encoding *encoding; /* shared: the caller's may go */
    locus_shape shape;        /* value_dim resolved */
    locus_parameter_list list;
    locus_owned memory;           /* holds the bound states; replaced as a whole by an update */
    void *bound[LOCUS_TERMS_MAX]; /* one for each term, or NULL */
};

#endif
