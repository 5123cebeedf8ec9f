/* SPDX-License-Identifier: MIT */
/* The version that a program was compiled against, and the one that it runs with. */
#ifndef LOCUS_VERSION_H
#define LOCUS_VERSION_H

#include <locus/status.h>

#define LOCUS_VERSION_MAJOR 0
#define LOCUS_VERSION_MINOR 2
#define LOCUS_VERSION_PATCH 0
#define LOCUS_VERSION_TEXT "0.2.0"

#ifdef __cplusplus
extern "C" {
#endif

/* Number of the binary interface that these headers describe. Within one number functions and fields at the ends of
 * structs are added, and nothing else changes; the shared library's name and the version of its symbols carry it. */
#define LOCUS_ABI_VERSION 2

/* That of the library that is loaded: a program that opened it by hand goes on only if it is LOCUS_ABI_VERSION. */
LOCUS_API int32_t locus_abi_version(void);

/* "major.minor.patch" of the library that is loaded. Static storage. */
LOCUS_API const char *locus_version(void);

#ifdef __cplusplus
}
#endif
#endif
