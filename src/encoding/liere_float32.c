/* SPDX-License-Identifier: MIT */
/* LieRE's rows in float32: the body instantiated. */
#define REAL float
#define WIDTH float32

#include "encoding/liere_body.h"
