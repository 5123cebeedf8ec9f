/* SPDX-License-Identifier: MIT */
/* The walk of tree_body.h over float32 data. */
#include "operators/tree/tree_walk.h"

#include "kernels/kernels.h"

#include <string.h>

#define REAL float
#define WIDTH float32
#define SINGLE 1
#include "operators/tree/tree_body.h"
