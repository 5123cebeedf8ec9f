/* SPDX-License-Identifier: MIT */
/* none: positions do not act. */
#include "spec/class.h"

const locus_encoding_class locus_none_class = {
    .info = {.name = "none", .summary = "no positional encoding", .learned = "", .source = ""},
    .laws = LOCUS_LAW_RELATIVITY,
    .reals = true,
    .any_group = true,
};
