/* SPDX-License-Identifier: MIT */
/* The version of the library that is loaded, which need not be the one whose headers a program was compiled with. */
#include <locus/version.h>

int32_t locus_abi_version(void) {
    return LOCUS_ABI_VERSION;
}

const char *locus_version(void) {
    return LOCUS_VERSION_TEXT;
}
