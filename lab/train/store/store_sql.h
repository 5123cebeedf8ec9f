/* SPDX-License-Identifier: MIT */
/* The store's own view of its database: shared by store*.c only. Statements and transactions (store.h) are
 * in store_sql.c, what concerns a whole store is in store_open.c. */
#ifndef LAB_STORE_SQL_H
#define LAB_STORE_SQL_H

#include "train/store/store.h"

#include <sqlite3.h>
#include <stdbool.h>

struct lab_store {
    sqlite3 *database;
    char *path;
    char *source;                 /* what it is open by, a path or a URI; sqlite3_free() */
    bool imports, notes, parents; /* it has these tables; one that may only be read can lack them */
    bool older;                   /* of version 1, and opened to be read */
    bool filling;                 /* lab_store_fill */
};

/* Milliseconds that a statement waits for a lock; and, once that was in vain, those after it. A lock that SQLite could
 * not give back keeps its own process waiting, too: the end of a training should not come after several such waits. */
enum { LAB_STORE_BUSY = 30000, LAB_STORE_BUSY_AGAIN = 1000 };

/* One of 32 MiB or less is checked page by page when it is opened, a larger one is not. */
locus_status lab_store_large(lab_store *store, bool *large, locus_error *error);

/* A store that has no runs yet: what is written goes to its place at once, not to the log first, and others wait
 * while a transaction does. Until it is closed. If `much` comes, its pages are larger from now on. Where it has runs,
 * or somebody else has it open, all stays as it is. */
locus_status lab_store_fill(lab_store *store, bool much, locus_error *error);

/* From here on allocations of SQLite's that fail are noted; before its first use. */
void lab_store_watch_memory(void);

/* SQLite's result code as a clear line. */
locus_status lab_store_fail(lab_store *store, int code, locus_error *error);
locus_status lab_store_execute(lab_store *store, const char *sql, locus_error *error);
locus_status lab_store_prepare(lab_store *store, sqlite3_stmt **statement, const char *sql, locus_error *error);
/* The same with what its places stand for, a letter each: i an int64_t, t a text that outlives it (NULL: NULL), d a
 * double (not finite: NULL). And of a statement that gives no rows, which is run. */
locus_status lab_store_ask(lab_store *store, sqlite3_stmt **statement, locus_error *error, const char *sql,
                           const char *kinds, ...);
locus_status lab_store_do(lab_store *store, locus_error *error, const char *sql, const char *kinds, ...);
/* The text of a column, "" where it is NULL; NULL: out of memory. Good until the next step. */
const char *lab_store_text(sqlite3_stmt *statement, int column);
/* The integer that a statement gives in its first row. */
locus_status lab_store_integer(lab_store *store, const char *sql, int64_t *value, locus_error *error);
/* Runs a statement that gives no rows, and finalises it. */
locus_status lab_store_finish(lab_store *store, sqlite3_stmt *statement, locus_error *error);

/* Fills a run from a row. False: out of memory, and the run holds nothing. */
typedef bool lab_run_taker(sqlite3_stmt *row, const void *context, lab_run *run);
/* All runs that a statement gives, if it came to be `asked`; finalises it. */
locus_status lab_store_collect(lab_store *store, locus_status asked, sqlite3_stmt *statement, lab_run_taker *take,
                               const void *context, lab_run **runs, size_t *count, locus_error *error);
/* The runs whose ids are first … last. */
locus_status lab_store_runs_between(lab_store *store, int64_t first, int64_t last, lab_run **runs, size_t *count,
                                    locus_error *error);

/* The run of this id, which is 0 if it is gone. */
locus_status lab_store_run_at(lab_store *store, int64_t id, lab_run *run, locus_error *error);

/* store_schema.c: an empty file becomes a store by the first, and the next two add what came later to one that lacks
 * it, the view of curves to one of version 2 only. One of version 1 has its table evaluation by the fourth, and is of
 * version 2 by the last once that is filled. */
extern const char lab_store_schema[], lab_store_additions[], lab_store_curves[], lab_store_second_begin[],
    lab_store_second_end[];
/* What version 2 has in that table, of a database of version 1. */
#define LAB_STORE_POINTS(database) \
    "SELECT run, step, evaluation(name, value) AS metrics FROM " database ".metric GROUP BY run, step"

#endif
