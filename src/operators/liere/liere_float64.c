/* SPDX-License-Identifier: MIT */
/* LieRE's rows in float64: the body instantiated. */
#define REAL double
#define WIDTH float64

#include "operators/liere/liere_body.h"
