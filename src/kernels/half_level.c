/* SPDX-License-Identifier: MIT */
/* Half types to floats and back at one level: compiled for each, as kernels_level.c. */
#include "kernels/half_body.h"
