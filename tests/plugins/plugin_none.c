/* SPDX-License-Identifier: MIT */
/* A shared object that is no plugin. */
#include <locus/status.h>

LOCUS_API extern int locus_plugin_absent;
int locus_plugin_absent = 1;
