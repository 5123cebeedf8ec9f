/* SPDX-License-Identifier: MIT */
/* From a description to a class. */
#ifndef LOCUS_EXTENSION_REGISTER_H
#define LOCUS_EXTENSION_REGISTER_H

#include "extension/extension_class.h"

/* Reads a description at its size into `own`; options and parameters still are the caller's. Says the first thing that
 * is wrong with it. */
locus_status locus_description_check(const locus_encoding_description *given, locus_encoding_description *own,
                                     locus_error *error);

/* Parameter number `index`, as long as the caller knows it. */
locus_status locus_description_parameter(const locus_encoding_description *own, size_t index,
                                         locus_extension_parameter *parameter, locus_error *error);

#endif
