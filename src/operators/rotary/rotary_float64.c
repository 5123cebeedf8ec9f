/* SPDX-License-Identifier: MIT */
/* The walk of rotary_body.h and rotary_learn_body.h over float64 data. */
#include "core/call.h"
#include "operators/rotary/rotary.h"

#include <string.h>

#define REAL double
#define WIDTH float64
#define COMPOSES 0
#include "operators/rotary/rotary_body.h"
/* and what speaks its vocabulary */
#include "operators/rotary/rotary_learn_body.h"
