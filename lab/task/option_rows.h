/* SPDX-License-Identifier: MIT */
/* Rows of tables of options (task_option.h), a line for each. */
#ifndef LAB_OPTION_ROWS_H
#define LAB_OPTION_ROWS_H

#include "task/task_option.h"

/* `stored`: the field's name in stores, or NULL; `kind`: REAL, SIZE, …; `place`: in the configuration; then any of
 * those below, and .silent, .flags, .initial, .instead_of. */
#define LAB_ROW(stored, kind, place, ...) \
    { .field = stored, .type = LAB_OPTION_##kind, .offset = place, __VA_ARGS__ }

#define LAB_NUMBER(called, unit, low, high) .name = called, .value = unit, .least = low, .most = high
#define LAB_CHOICE(called, list) .name = called, .value = list
#define LAB_WORD(called, what) .name = called, .value = what
#define LAB_HELP(words) .help = words

#endif
