/* SPDX-License-Identifier: MIT */
/* The walk of tree_body.h in double: over float64 data, and over float32 data in long tails. */
#include "operators/tree/tree_walk.h"

#include "kernels/kernels.h"

#include <string.h>

#define REAL double
#define WIDTH float64
#define SINGLE 0
#include "operators/tree/tree_body.h"
