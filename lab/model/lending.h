/* SPDX-License-Identifier: MIT */
/* Memory that serves twice in a pass: as activations, then as gradients, so that both never stand there in full. What a
 * backward is done with is moved under gradients that are yet to be written: in the system's tables of pages, without a
 * copy (Linux, from 5.7 on); and back when these have been used. What finds no place there, or can't be moved, is given
 * back to the system and comes again as zeros, which takes longer. Only whole large pages take part. */
#ifndef LAB_LENDING_H
#define LAB_LENDING_H

#include <stdbool.h>
#include <stddef.h>

enum { LAB_MOST_LOANS = 64 /* of a pass: one for each attention; what is more goes to the system */ };

/* Part of a block. */
typedef struct lab_room {
    unsigned char *from, *end;
} lab_room;

static inline lab_room lab_room_of(void *from, void *end) {
    return (lab_room){from, end};
}

typedef struct lab_loan {
    unsigned char *from, *to;
    size_t bytes;
} lab_loan;

typedef struct lab_lending {
    size_t all, left;              /* bytes that the pass gives away, that it still may; 0: everything stays */
    unsigned char *given, *filled; /* what stands from here on is given away, has memory; NULL: nothing yet */
    lab_loan loans[LAB_MOST_LOANS];
    size_t count;
    bool spare; /* gradients have no memory but what a pass needed beside loans, which were more than that: it stays */
} lab_lending;

/* A pass begins, which gives so many bytes away. What was lent and not returned stays where it is. */
void lab_lending_begin(lab_lending *lending, size_t bytes);
/* Gives `done` away from its end on, to gradients from the end of `needed` on; what either holds is undefined then. The
 * rooms of a pass come in falling order: of one that reaches into an earlier one only the rest counts. False: the
 * system has taken memory away and gives none for it, and neither block may be used any more. */
bool lab_lending_give(lab_lending *lending, lab_room done, lab_room needed);
/* What was lent goes back to where it came from, with what it holds; what gradients hold is undefined then. False as
 * above. */
bool lab_lending_return(lab_lending *lending);

#endif
