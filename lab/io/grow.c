/* SPDX-License-Identifier: MIT */
/* See grow.h. */
#include "io/grow.h"

#include <stdlib.h>
#include <string.h>

/* `items` is the address of a pointer, whatever it points to. */
static bool resize(void *items, size_t bytes) {
    void *now;
    memcpy(&now, items, sizeof now);
    void *grown = realloc(now, bytes);
    if (grown != NULL)
        memcpy(items, &grown, sizeof grown);
    return grown != NULL;
}

bool lab_grow(void *items, size_t count, size_t *room, size_t size, size_t first) {
    const size_t more = *room == 0 ? first : 2 * *room;
    if (count < *room)
        return true;
    const bool grown = more <= SIZE_MAX / size && resize(items, more * size);
    *room = grown ? more : *room;
    return grown;
}

bool lab_grow_text(char **text, size_t *used, size_t *room, const char *piece, size_t bytes) {
    const size_t more = 2 * *room + bytes + 64;
    if (bytes >= *room - *used) {
        if (!resize(text, more))
            return false;
        *room = more;
    }
    memcpy(*text + *used, piece, bytes);
    *used += bytes;
    (*text)[*used] = '\0';
    return true;
}

bool lab_enlarge(int32_t **numbers, size_t room) {
    return resize(numbers, room * sizeof **numbers);
}
