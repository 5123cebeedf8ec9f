/* SPDX-License-Identifier: MIT */
/* The version that a program was compiled against, and the one that it runs with. */
#ifndef LOCUS_VERSION_H
#define LOCUS_VERSION_H

#include <locus/status.h>

#define LOCUS_VERSION_MAJOR 0
#define LOCUS_VERSION_MINOR 1
#define LOCUS_VERSION_PATCH 0
#define LOCUS_VERSION_TEXT "0.1.0"

#ifdef __cplusplus
extern "C" {
#endif

/* "major.minor.patch" of the library that is loaded. Static storage. */
LOCUS_API const char *locus_version(void);

#ifdef __cplusplus
}
#endif
#endif
