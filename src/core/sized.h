/* SPDX-License-Identifier: MIT */
/* Structs that callers fill in, or have filled in, and that may grow at their end. Their first field is `size_t size`,
 * sizeof of the struct as the caller knows it, so that an older caller and a newer library understand each other, and
 * the other way round:
 *
 *   shorter than the library's    fields beyond it keep their defaults
 *   longer                        taken where all that the library does not know is 0, else refused
 *   0                             refused, or, of structs that are filled in by hand, the fields of the first version
 *
 *   locus_execution own = …defaults…;
 *   status = locus_sized_read(&own, &(locus_sized){sizeof own, LEAST, "execution"}, given, error); */
#ifndef LOCUS_SIZED_H
#define LOCUS_SIZED_H

#include <locus/status.h>

typedef struct locus_sized {
    size_t bytes;     /* of the struct in this library */
    size_t least;     /* of its first version */
    const char *name; /* of the argument */
} locus_sized;

/* Copies what the caller gave over `own`, which holds the defaults; own's `size` is then this library's. `given` NULL:
 * nothing is copied. ARGUMENT for a size that no version has, UNSUPPORTED for fields of a newer version that are not
 * 0; `own` is then as it was. Reads nothing beyond the given size. */
LOCUS_MUST_USE locus_status locus_sized_read(void *own, const locus_sized *kind, const void *given, locus_error *error);

/* The same where a size of 0 will do. */
LOCUS_MUST_USE locus_status locus_sized_read_or_zero(void *own, const locus_sized *kind, const void *given,
                                                     locus_error *error);

/* Element `index` of an array whose elements are as long as the first one's size says. Begin with the first. */
LOCUS_MUST_USE locus_status locus_sized_read_item(void *own, const locus_sized *kind, const void *array, size_t index,
                                                  locus_error *error);

/* The way back: `to`, whose size the caller filled in, gets so much of `own`, and 0 behind what the library knows.
 * ARGUMENT for a size that no version has; nothing is written then. */
LOCUS_MUST_USE locus_status locus_sized_write(void *to, const locus_sized *kind, const void *own, locus_error *error);

#endif
