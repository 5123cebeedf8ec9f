/* SPDX-License-Identifier: MIT */
/* What the program says: text, error lines, tables, JSON, progress. Results go to standard output, all else to standard
 * error. Everything goes through here, because much of it was written by others (a store's texts, names of files,
 * specs): what a terminal would obey instead of showing it stands as '?' (io/printable.h), in JSON as its escape. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include "report/tables/shown.h"
#include "report/tables/shown_number.h"
#include "train/train.h"
#include <cjson/cJSON.h>
#include <locus/status.h>
#include <stdbool.h>
#include <stdio.h>

#if defined(__GNUC__)
#define CLI_PRINTF(text, rest) __attribute__((format(printf, text, rest)))
#else
#define CLI_PRINTF(text, rest)
#endif

/* ---- text: lines and tabs stay as they are ---- */

void cli_print(const char *format, ...) CLI_PRINTF(1, 2); /* on standard output */
void cli_write(FILE *stream, const char *format, ...) CLI_PRINTF(2, 3);
/* `bytes` bytes, of whole characters; a NUL is one to be replaced. */
void cli_write_bytes(FILE *stream, const char *text, size_t bytes);

/* ---- errors: one line "locus: …" on standard error; each returns the exit status ---- */

int cli_usage_error(const char *format, ...) CLI_PRINTF(1, 2); /* returns 2 */
int cli_failure(const char *format, ...) CLI_PRINTF(1, 2);     /* returns 1 */
/* The error's message. 2 for a text that cannot be parsed (SPEC), else 1. */
int cli_error(const locus_error *error);
/* What the laboratory or the library says of the call that failed last: a command ends with the first one. And the exit
 * status of a call that was handed it: 0, or that of cli_error. */
extern locus_error cli_fault;
int cli_done(locus_status status);
/* The same where an ARGUMENT is what the user asked for: bad usage, and the option that it names stands before. */
int cli_refusal(const locus_error *error);
/* As cli_error for an error about `text`: if the error has an offset, the text and a caret line follow. */
int cli_error_in(const char *text, const locus_error *error);
/* As cli_done, of a call that read `text`: by cli_error_in. */
int cli_done_in(const char *text, locus_status status);
/* One line "locus: …" on standard error that is no error; not with --quiet. */
void cli_note(const char *format, ...) CLI_PRINTF(1, 2);

extern bool cli_quiet; /* --quiet was given */

/* This process follows another, which says what there is to say: lines are kept, not printed. Then standard output is
 * nowhere. */
void cli_follow(void);
/* The last line that was kept, without "locus: "; "": there is none. */
const char *cli_kept_line(void);
/* Prints it after all. */
void cli_speak(void);

/* ---- tables ---- */

extern lab_table_format cli_form; /* --format; JSON of most commands tells more than their tables, and is their own */

/* Prints a table in the form that is asked for, and frees it. Forms other than the terminal's stand apart by an empty
 * line. One that lacks something for want of memory (NULL lacks all) ends the program with exit status 1. */
void cli_table_print(lab_table *table);
/* Prints and frees lines, which a terminal has alone, and tables. The exit status. */
int cli_shown_print(lab_shown *shown);
/* What stands around tables on a terminal, and in no other form. */
void cli_say(const char *format, ...) CLI_PRINTF(1, 2);

/* Prints `text` on standard output from column `indent` on, wrapped at 100 columns, and ends the line; the cursor
 * stands at `column`. */
void cli_print_wrapped(const char *text, size_t column, size_t indent);

/* ---- JSON ---- */

/* Prints and frees `root` (NULL: out of memory). Returns the exit status: 1 if anything is missing for want of
 * memory. */
int cli_json_print(cJSON *root);

/* ---- progress ---- */

/* A line on standard error, rewritten in place, only on a terminal and without --quiet; elsewhere nothing. */
typedef struct cli_progress {
    const char *label; /* "copy · rope · seed 0"; owned by the caller */
    bool shown;
} cli_progress;
void cli_progress_show(cli_progress *progress, const lab_progress *now);
void cli_progress_end(cli_progress *progress); /* wipes the line; must come before other output */

/* For lines of one's own: how wide the terminal is, a bar of `columns` cells (3 bytes each) in eighths of a cell, and
 * the end of a line that is shown. */
size_t cli_terminal_columns(void);
void cli_bar(char *text, double share, size_t columns);
void cli_line_wipe(bool *shown);

#endif
