/* SPDX-License-Identifier: MIT */
/* Makes the places of a plan (placement.h) from positions. */
#ifndef LOCUS_PLACING_H
#define LOCUS_PLACING_H

#include "spec/placement.h"

/* Positions must outlive the places. POSITION for an axis' value beyond ±2^40, naming the token. */
locus_status locus_places_create(locus_places *places, const locus_positions *queries, const locus_positions *keys,
                                 locus_owned *memory, locus_error *error);

#endif
