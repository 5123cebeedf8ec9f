/* SPDX-License-Identifier: MIT */
/* A few images of stripes and noise in CIFAR-10's binary format. */
#ifndef TESTS_SMALL_IMAGES_H
#define TESTS_SMALL_IMAGES_H

#include <stddef.h>

/* Five training files of `each` images and a test file of `tests`, in a folder that is there. */
void small_images_write(const char *folder, size_t each, size_t tests);

#endif
