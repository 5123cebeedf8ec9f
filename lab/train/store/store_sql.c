/* SPDX-License-Identifier: MIT */
/* Statements on a store's database, transactions, and what SQLite's results mean in a clear line. */
#include "train/store/store_sql.h"

#include "io/fail.h"

#include <math.h>
#include <stdarg.h>
#include <stdatomic.h>

/* ---- memory ---- */

static sqlite3_mem_methods system_memory;
static atomic_bool memory_failed;

static void *take(int bytes) {
    void *block = system_memory.xMalloc(bytes);
    if (block == NULL)
        atomic_store(&memory_failed, true);
    return block;
}

static void *resize(void *old, int bytes) {
    void *block = system_memory.xRealloc(old, bytes);
    if (block == NULL)
        atomic_store(&memory_failed, true);
    return block;
}

void lab_store_watch_memory(void) {
    if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &system_memory) != SQLITE_OK)
        return;
    sqlite3_mem_methods watched = system_memory;
    watched.xMalloc = take;
    watched.xRealloc = resize;
    sqlite3_config(SQLITE_CONFIG_MALLOC, &watched);
}

/* ---- results ---- */

locus_status lab_store_fail(lab_store *store, int code, locus_error *error) {
    const char *path = store->path;
    switch (code & 0xff) {
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
        return lab_fail(error, LOCUS_ERROR_IO, "store",
                        "the run store '%s' is damaged or no run store: move it away, or name another with --store",
                        path);
    case SQLITE_READONLY:
    case SQLITE_PERM:
        return lab_fail(error, LOCUS_ERROR_IO, "store",
                        "the run store '%s' cannot be written: change its permissions, or name another with --store",
                        path);
    case SQLITE_FULL:
        return lab_fail(error, LOCUS_ERROR_IO, "store",
                        "no space left for the run store '%s': free some and start again", path);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        sqlite3_busy_timeout(store->database, LAB_STORE_BUSY_AGAIN);
        return lab_fail(error, LOCUS_ERROR_IO, "store",
                        "the run store '%s' stays locked, as by another process that writes to it: try again", path);
    case SQLITE_NOMEM:
        return lab_fail_memory(error, "the run store");
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
        return lab_fail(
            error, LOCUS_ERROR_IO, "store",
            "the run store '%s' cannot be read or written: check the space left and its folder's permissions", path);
    default:
        /* It forgets a temporary table for want of memory, and then says that there is none. */
        if (atomic_load(&memory_failed))
            return lab_fail_memory(error, "the run store");
        return lab_fail(error, LOCUS_ERROR_IO, "store", "the run store '%s' failed: %s", path,
                        store->database != NULL ? sqlite3_errmsg(store->database) : sqlite3_errstr(code));
    }
}

locus_status lab_store_execute(lab_store *store, const char *sql, locus_error *error) {
    int code = sqlite3_exec(store->database, sql, NULL, NULL, NULL);
    return code == SQLITE_OK ? LOCUS_OK : lab_store_fail(store, code, error);
}

locus_status lab_store_prepare(lab_store *store, sqlite3_stmt **statement, const char *sql, locus_error *error) {
    int code = sqlite3_prepare_v2(store->database, sql, -1, statement, NULL);
    return code == SQLITE_OK ? LOCUS_OK : lab_store_fail(store, code, error);
}

static locus_status ask(lab_store *store, sqlite3_stmt **statement, locus_error *error, const char *sql,
                        const char *kinds, va_list values) {
    const locus_status status = lab_store_prepare(store, statement, sql, error);
    for (int place = 1; status == LOCUS_OK && *kinds != '\0'; place++, kinds++) {
        if (*kinds == 'i') {
            sqlite3_bind_int64(*statement, place, va_arg(values, int64_t));
        } else if (*kinds == 't') {
            sqlite3_bind_text(*statement, place, va_arg(values, const char *), -1, SQLITE_STATIC);
        } else {
            const double value = va_arg(values, double);
            if (isfinite(value)) /* else it stays NULL */
                sqlite3_bind_double(*statement, place, value);
        }
    }
    return status;
}

locus_status lab_store_ask(lab_store *store, sqlite3_stmt **statement, locus_error *error, const char *sql,
                           const char *kinds, ...) {
    va_list values;
    va_start(values, kinds);
    const locus_status status = ask(store, statement, error, sql, kinds, values);
    va_end(values);
    return status;
}

locus_status lab_store_do(lab_store *store, locus_error *error, const char *sql, const char *kinds, ...) {
    sqlite3_stmt *statement;
    va_list values;
    va_start(values, kinds);
    const locus_status status = ask(store, &statement, error, sql, kinds, values);
    va_end(values);
    return status == LOCUS_OK ? lab_store_finish(store, statement, error) : status;
}

const char *lab_store_text(sqlite3_stmt *statement, int column) {
    const bool empty = sqlite3_column_type(statement, column) == SQLITE_NULL;
    return empty ? "" : (const char *)sqlite3_column_text(statement, column);
}

locus_status lab_store_finish(lab_store *store, sqlite3_stmt *statement, locus_error *error) {
    int code = sqlite3_step(statement);
    sqlite3_finalize(statement);
    return code == SQLITE_DONE || code == SQLITE_ROW ? LOCUS_OK : lab_store_fail(store, code, error);
}

locus_status lab_store_integer(lab_store *store, const char *sql, int64_t *value, locus_error *error) {
    sqlite3_stmt *statement;
    locus_status status = lab_store_prepare(store, &statement, sql, error);
    if (status != LOCUS_OK)
        return status;
    int code = sqlite3_step(statement);
    *value = code == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
    sqlite3_finalize(statement);
    return code == SQLITE_ROW ? LOCUS_OK : lab_store_fail(store, code, error);
}

/* ---- transactions ---- */

locus_status lab_store_begin(lab_store *store, locus_error *error) {
    return lab_store_execute(store, "BEGIN IMMEDIATE", error);
}

locus_status lab_store_lasting(lab_store *store, bool lasting, locus_error *error) {
    return lab_store_execute(store, lasting ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL", error);
}

locus_status lab_store_commit(lab_store *store, locus_error *error) {
    locus_status status = lab_store_execute(store, "COMMIT", error);
    if (status != LOCUS_OK)
        lab_store_rollback(store);
    return status;
}

void lab_store_rollback(lab_store *store) {
    if (!sqlite3_get_autocommit(store->database))
        sqlite3_exec(store->database, "ROLLBACK", NULL, NULL, NULL);
}

locus_status lab_store_end(lab_store *store, locus_status status, locus_error *error) {
    if (status == LOCUS_OK)
        return lab_store_commit(store, error);
    lab_store_rollback(store);
    return status;
}
