/* SPDX-License-Identifier: MIT */
/* Numbers that encodings of a model say of themselves. */
#ifndef LAB_SPEC_OPTION_H
#define LAB_SPEC_OPTION_H

#include <stddef.h>

/* The least value of a whole-number option over all terms `name` of a pattern over layers, defaults included; SIZE_MAX
 * if there is no such term. */
size_t lab_spec_least(const char *pattern, const char *name, const char *option);

#endif
