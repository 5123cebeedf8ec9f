/* SPDX-License-Identifier: MIT */
/* The sequence tasks of Kogkalidis, Bernardy and Garg 2024, Table 1: copy w → w, reverse w → wᴿ, repeat w → w w. */
#include "task/family.h"

#include <string.h>

static size_t transform_copy(size_t n, const int32_t *input, int32_t *target) {
    if (target != NULL) {
        memcpy(target, input, n * sizeof *input);
    }
    return n;
}

static size_t transform_reverse(size_t n, const int32_t *input, int32_t *target) {
    for (size_t i = 0; target != NULL && i < n; i++) {
        target[i] = input[n - 1 - i];
    }
    return n;
}

static size_t transform_repeat(size_t n, const int32_t *input, int32_t *target) {
    if (target != NULL) {
        memcpy(target, input, n * sizeof *input);
        memcpy(target + n, input, n * sizeof *input);
    }
    return 2 * n;
}

static const lab_task tasks[] = {
    {"copy", "w → w", transform_copy},
    {"reverse", "w → w backwards", transform_reverse},
    {"repeat", "w → w w", transform_repeat},
};

const lab_task_family lab_task_sequence = {tasks, sizeof tasks / sizeof *tasks};
