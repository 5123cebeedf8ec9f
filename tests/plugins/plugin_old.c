/* SPDX-License-Identifier: MIT */
/* A plugin of another binary interface. */
#include <locus/extension.h>

extern LOCUS_API const locus_plugin locus_plugin_entry;
const locus_plugin locus_plugin_entry = {LOCUS_ABI_VERSION + 1, 0, NULL};
