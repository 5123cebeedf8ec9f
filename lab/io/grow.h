/* SPDX-License-Identifier: MIT */
/* Arrays that grow. */
#ifndef LAB_GROW_H
#define LAB_GROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Room for one more behind `count` items: if there is none, `first` items at the beginning and twice as many later.
 * False without memory: all stays as it is. */
#define LAB_GROW(items, count, room, first) lab_grow(&(items), count, &(room), sizeof *(items), first)
bool lab_grow(void *items, size_t count, size_t *room, size_t size, size_t first);

/* Puts `bytes` of a piece behind a text of `used` bytes, and a zero behind them that `used` does not count;
 * likewise. */
bool lab_grow_text(char **text, size_t *used, size_t *room, const char *piece, size_t bytes);

/* Room for so many numbers; likewise. */
bool lab_enlarge(int32_t **numbers, size_t room);

#endif
