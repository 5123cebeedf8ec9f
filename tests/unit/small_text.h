/* SPDX-License-Identifier: MIT */
/* A small text for tests that need a folder of token files, in the scratch folder. */
#ifndef TESTS_SMALL_TEXT_H
#define TESTS_SMALL_TEXT_H

#include <stddef.h>

/* Three sets of bytes; `path` receives the folder's. 0, or 1 if they cannot be written. */
int small_text_create(char *path, size_t size);

#endif
