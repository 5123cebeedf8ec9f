/* SPDX-License-Identifier: MIT */
/* What the fuzz targets share. A target is one file, targets/fuzz_<name>.c, that defines
 * LLVMFuzzerTestOneInput. It stops the program where a promise is broken, and the fuzzer keeps the input. Linked with
 * libFuzzer it searches; linked with replay.c it goes once through its corpus, which is what the tests do. */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <locus/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the program with a line that says where and what, unless `condition` holds. */
#define FUZZ_REQUIRE(condition) \
    do { \
        if (!(condition)) \
            fuzz_broken(__FILE__, __LINE__, #condition, ""); \
    } while (0)
/* The same, with a text that says more, the library's message say. */
#define FUZZ_REQUIRE_SAYING(condition, text) \
    do { \
        if (!(condition)) \
            fuzz_broken(__FILE__, __LINE__, #condition, text); \
    } while (0)
_Noreturn void fuzz_broken(const char *file, int line, const char *condition, const char *text);

/* ---- what a failure must be ---- */

/* A status other than OK, the record's own; a message of one line that a terminal can show. */
void fuzz_check_failure(locus_status status, const locus_error *error);
/* Of a text of `length` bytes: the place lies inside it, or right behind its end. */
void fuzz_check_failure_in(locus_status status, const locus_error *error, size_t length);
/* One line, not empty, of whole UTF-8 characters none of which is a control character. */
void fuzz_check_line(const char *text);

/* ---- inputs ---- */

/* The input up to its first NUL as a text in a block of its very size, so that a sanitizer sees what is read behind it;
 * from malloc. */
char *fuzz_text(const uint8_t *data, size_t size);

/* The input falls into parts at bytes of value 0x1F (unit separator), which text files do not have. The next part as
 * fuzz_text gives it; "" when there are no more. */
typedef struct fuzz_parts {
    const uint8_t *at, *end;
} fuzz_parts;
char *fuzz_next_part(fuzz_parts *parts);

/* ---- files ---- */

/* The path of a file of that name with that content, in a folder of this process that is gone when it ends. Such a
 * file, once it was asked for, stays and is written anew each time. */
const char *fuzz_file(const char *name, const uint8_t *data, size_t size);
/* The path of a name in that folder, where there may be no file; valid for the next few calls. */
const char *fuzz_path(const char *name);

/* ---- what commands print ---- */

/* Standard error goes into memory until fuzz_messages_end, which gives the text; valid until the next begin. */
void fuzz_messages_begin(void);
const char *fuzz_messages_end(void);
/* After a part of the command line has failed: one line, its line end included, as fuzz_check_line wants it. */
void fuzz_check_messages(const char *messages);

#endif
