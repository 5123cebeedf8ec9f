/* SPDX-License-Identifier: MIT */
/* The walk of rotary_body.h and rotary_learn_body.h over float32 data. */
#include "encoding/rotary.h"

#include <string.h>

#define REAL float
#define WIDTH float32
#define COMPOSES 1
#include "encoding/rotary_body.h"
/* and what speaks its vocabulary */
#include "encoding/rotary_learn_body.h"
