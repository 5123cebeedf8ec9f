/* SPDX-License-Identifier: MIT */
/* LieRE's rows in float32: the body instantiated. */
#define REAL float
#define WIDTH float32

#include "operators/liere/liere_body.h"
