/* SPDX-License-Identifier: MIT */
/* See lending.h. */
#define _GNU_SOURCE 1 /* mremap */
#include "model/lending.h"
#include "model/arena.h"
#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>

/* A call that failed may have taken what stood at `to`. */
static bool move(const lab_loan *loan, bool *moved) {
    *moved = false;
#ifdef MREMAP_DONTUNMAP
    const int how = MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP;
    *moved = mremap(loan->from, loan->bytes, loan->bytes, how, loan->to) != MAP_FAILED;
    if (!*moved && errno != EINVAL) {
        const int empty = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
        if (mmap(loan->to, loan->bytes, PROT_READ | PROT_WRITE, empty, -1, 0) == MAP_FAILED)
            return false;
        lab_block_advise(loan->to, loan->bytes);
    }
#endif
    return true;
}

static unsigned char *lower(unsigned char *end, unsigned char *limit) {
    return limit != NULL && limit < end ? limit : end;
}

/* The whole large pages of a room below a limit. */
static lab_room pages_of(lab_room room, unsigned char *limit) {
    unsigned char *end = lower(room.end, limit);
    unsigned char *from = room.from + (LAB_LARGE_PAGE - (uintptr_t)room.from % LAB_LARGE_PAGE) % LAB_LARGE_PAGE;
    end -= (uintptr_t)end % LAB_LARGE_PAGE;
    return (lab_room){from, from < end ? end : from};
}

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

void lab_lending_begin(lab_lending *lending, size_t bytes) {
    lending->all = lending->left = bytes / LAB_LARGE_PAGE * LAB_LARGE_PAGE;
    lending->given = lending->filled = NULL;
    lending->count = 0;
}

bool lab_lending_give(lab_lending *lending, lab_room done, lab_room needed) {
    const lab_room source = pages_of(done, lending->given), target = pages_of(needed, lending->filled);
    const size_t bytes = smaller((size_t)(source.end - source.from), lending->left);
    const size_t room = lending->count < LAB_MOST_LOANS ? (size_t)(target.end - target.from) : 0;
    lab_loan loan = {.bytes = smaller(bytes, room)};
    loan.from = source.end - loan.bytes, loan.to = target.end - loan.bytes;
    bool moved = false, whole = true;
    if (loan.bytes > 0)
        whole = move(&loan, &moved);
    if (moved) {
        lending->loans[lending->count++] = loan;
        lending->filled = loan.to;
    }
    lab_block_release(source.end - bytes, moved ? loan.from : source.end);
    lending->left -= bytes;
    lending->given = lower(source.end - bytes, lending->given);
    return whole;
}

bool lab_lending_return(lab_lending *lending) {
    size_t bytes = 0;
    bool whole = true, moved;
    for (size_t i = 0; i < lending->count; i++) {
        const lab_loan *loan = &lending->loans[i];
        const lab_loan back = {loan->to, loan->from, loan->bytes};
        whole = move(&back, &moved) && whole;
        bytes += loan->bytes;
    }
    lending->spare = 2 * bytes > lending->all;
    lending->count = 0;
    return whole;
}
