/* SPDX-License-Identifier: MIT */
/* See lending.h. */
#define _GNU_SOURCE 1 /* syscall, MREMAP_DONTUNMAP */
#include "model/lending.h"
#include "model/arena.h"
#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The system is asked itself: mremap of older UCX, which takes the place of libc's where MPI uses it, loses the target.
 * Libraries that keep registrations of memory for a network hear of both places by madvise. A call that failed may have
 * taken what stood at `to`. */
static bool move(const lab_loan *loan, bool *moved) {
    *moved = false;
#ifdef MREMAP_DONTUNMAP
    const size_t bytes = loan->bytes;
    const int how = MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP;
    lab_block_release(loan->to, loan->to + bytes);
    const long came = syscall(SYS_mremap, loan->from, bytes, bytes, how, loan->to);
    *moved = came == (long)(intptr_t)loan->to;
    if (*moved)
        lab_block_release(loan->from, loan->from + bytes);
    else if (errno != EINVAL) {
        const int empty = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
        if (mmap(loan->to, bytes, PROT_READ | PROT_WRITE, empty, -1, 0) == MAP_FAILED)
            return false;
        lab_block_advise(loan->to, bytes);
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
        bytes += moved ? loan->bytes : 0;
    }
    lending->spare = 2 * bytes > lending->all;
    lending->count = 0;
    return whole;
}
