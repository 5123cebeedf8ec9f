/* SPDX-License-Identifier: MIT */
/* Numbers for people. */
#ifndef LAB_SHOWN_NUMBER_H
#define LAB_SHOWN_NUMBER_H

#include <stddef.h>

/* "1.25 M", "312 MiB", "3 min 05 s" into `text`, returned. */
char *lab_count_text(char *text, size_t size, double value);
char *lab_bytes_text(char *text, size_t size, double bytes);
char *lab_seconds_text(char *text, size_t size, double seconds);

#endif
