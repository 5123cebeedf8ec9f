/* SPDX-License-Identifier: MIT */
/* Run stores as the first version had them: a row for each point of a curve. */
#ifndef TESTS_OLDER_STORE_H
#define TESTS_OLDER_STORE_H

#include <sqlite3.h>

/* A store that nobody has open, its points with whatever digits SQLite reads of them. */
static inline void make_older(const char *path) {
    sqlite3 *database;
    assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(
            database,
            "CREATE TABLE metric(run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE, name TEXT NOT NULL,"
            " step INTEGER NOT NULL, value REAL, PRIMARY KEY(run, name, step)) WITHOUT ROWID;"
            "INSERT INTO metric SELECT run, key, step, value FROM evaluation JOIN json_each(metrics);"
            "DROP VIEW curves; DROP TABLE evaluation; PRAGMA user_version = 1",
            NULL, NULL, NULL),
        SQLITE_OK);
    assert_int_equal(sqlite3_close(database), SQLITE_OK);
}

#endif
