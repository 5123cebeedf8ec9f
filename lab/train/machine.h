/* SPDX-License-Identifier: MIT */
/* What a run says about where it ran. */
#ifndef LAB_MACHINE_H
#define LAB_MACHINE_H

#include <stddef.h>
#include <stdint.h>

/* "AMD EPYC 9B14, 2 threads, avx512" */
void lab_machine_text(char *text, size_t size);

/* "0.1.0" or "0.1.0 (1a2b3c4)" when built from a repository. */
void lab_version_text(char *text, size_t size);

int64_t lab_peak_bytes(void); /* largest resident size of this process so far */

#endif
