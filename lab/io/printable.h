/* SPDX-License-Identifier: MIT */
/* Text that somebody else wrote (a run store, a file's name, a spec) is made fit to be shown: what a terminal would
 * obey instead of showing it stands as '?'. That is: control characters (line ends and tabs too), DEL, the second set
 * of control characters (U+0080 … U+009F), line separators, marks that turn the direction of writing, and what is no
 * UTF-8. */
#ifndef LAB_PRINTABLE_H
#define LAB_PRINTABLE_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of the character that begins at `text`, of which `left` > 0 bytes are left; *shown tells whether a terminal
 * only shows it. */
size_t lab_printable_at(const char *text, size_t left, bool *shown);

/* Whether a terminal only shows all of it. */
bool lab_is_printable(const char *text);

/* In place; a text does not grow. Characters that `kept` names stay as they are ("\n" of whole lines; "" for none). */
void lab_printable(char *text, const char *kept);

/* Ends a text that was cut to its room, `size`, after the last whole character, and says that it was cut: "…". */
void lab_mark_cut(char *text, size_t size);

#endif
