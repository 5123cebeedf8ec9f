/* SPDX-License-Identifier: MIT */
/* What callers are told when they are refused, to the letter: status, argument, and the whole message. */
#ifndef LOCUS_TESTS_TOLD_H
#define LOCUS_TESTS_TOLD_H

#include "../property/encoding_rig.h"

static locus_error told;

static inline void expect_told(int line, locus_status got, locus_status status, const char *argument,
                               const char *message) {
    if (got != status || told.status != status || strcmp(told.argument, argument) != 0 ||
        strcmp(told.message, message) != 0)
        fail_msg("line %d: status %d, '%s': %s", line, (int)got, told.argument, told.message);
    memset(&told, 0, sizeof told);
}

/* Calls are given &told. */
#define TELLS(status, argument, message, call) expect_told(__LINE__, call, LOCUS_ERROR_##status, argument, message)
#define TAKES(call) \
    do { \
        if ((call) != LOCUS_OK) \
            fail_msg("line %d: %s", __LINE__, told.message); \
    } while (0)

static inline locus_group *told_group(const char *text) {
    locus_group *group = NULL;
    TAKES(locus_group_parse(text, &group, &told));
    return group;
}

static inline locus_packing told_packing(size_t sequences, const size_t *offsets, const size_t *lengths) {
    return (locus_packing){sizeof(locus_packing), sequences, offsets, lengths};
}

#endif
