/* SPDX-License-Identifier: MIT */
/* The run store is opened, looked at and closed. Its statements are in store_sql.c, its tables in store_schema.c, runs
 * in store_run.c, metrics and scores in store_metric.c.
 *
 * Write-ahead log with full sync, so that what was committed before a checkpoint is there after it; a busy timeout, so
 * that several trainings share one store. A file that is no such store is refused and never written to. */
#include "train/store/store_sql.h"

#include "io/fail.h"
#include "io/folder.h"
#include "train/store/evaluation_text.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define VERSION 2
#define CHECKED_BYTES (32 << 20)

/* ---- opening ---- */

static locus_status fail_other(const lab_store *store, locus_error *error) {
    return lab_fail(error, LOCUS_ERROR_IO, "store", "'%s' is a database, but no run store: name another with --store",
                    store->path);
}

/* Makes the tables of an empty file; two processes may come here at once, so the version is read again inside. */
static locus_status create_schema(lab_store *store, locus_error *error) {
    int64_t version, tables;
    locus_status status = lab_store_begin(store, error);
    if (status == LOCUS_OK)
        status = lab_store_integer(store, "PRAGMA user_version", &version, error);
    if (status == LOCUS_OK)
        status = lab_store_integer(store, "SELECT count(*) FROM sqlite_master", &tables, error);
    if (status == LOCUS_OK && version == 0 && tables != 0)
        status = fail_other(store, error);
    if (status == LOCUS_OK && version == 0)
        status = lab_store_execute(store, lab_store_schema, error);
    return lab_store_end(store, status, error);
}

/* A store that may be written gets its tables. */
static locus_status check_schema(lab_store *store, bool reading, locus_error *error) {
    int64_t version = 0;
    locus_status status = lab_store_integer(store, "PRAGMA user_version", &version, error);
    if (status == LOCUS_OK && version == 0) {
        status = reading ? fail_other(store, error) : create_schema(store, error);
    } else if (status == LOCUS_OK && (version < 1 || version > VERSION)) {
        status =
            lab_fail(error, LOCUS_ERROR_IO, "store",
                     "the run store '%s' has version %" PRId64 ", this program knows version %d: use the newer locus,"
                     " or name another store with --store",
                     store->path, version, VERSION);
    }
    store->older = version == 1;
    if (status == LOCUS_OK && !reading && sqlite3_db_readonly(store->database, "main") == 1)
        status = lab_store_fail(store, SQLITE_READONLY, error);
    return status;
}

locus_status lab_store_large(lab_store *store, bool *large, locus_error *error) {
    int64_t pages = 0, bytes = 0;
    locus_status status = lab_store_integer(store, "PRAGMA page_count", &pages, error);
    if (status == LOCUS_OK)
        status = lab_store_integer(store, "PRAGMA page_size", &bytes, error);
    *large = pages > CHECKED_BYTES / (bytes > 0 ? bytes : 1);
    return status;
}

/* A store whose pages are damaged must be found now, not hours into a training. The check reads every page: a large
 * store (tens of MB) is only looked at by its schema and row counts. */
static locus_status check_pages(lab_store *store, locus_error *error) {
    int64_t ignored;
    bool large;
    sqlite3_stmt *statement;
    locus_status status = lab_store_large(store, &large, error);
    if (status == LOCUS_OK && large)
        return lab_store_integer(store, "SELECT count(*) FROM run", &ignored, error);
    status = status == LOCUS_OK ? lab_store_prepare(store, &statement, "PRAGMA quick_check(1)", error) : status;
    if (status != LOCUS_OK)
        return status;
    const int code = sqlite3_step(statement);
    const char *answer = code == SQLITE_ROW ? lab_store_text(statement, 0) : "";
    if (answer == NULL)
        status = lab_fail_memory(error, "a store's check");
    else if (code != SQLITE_ROW || strcmp(answer, "ok") != 0)
        status = lab_store_fail(store, code != SQLITE_ROW ? code : SQLITE_CORRUPT, error);
    sqlite3_finalize(statement);
    return status;
}

/* That many names a store has when nothing need be added. */
#define ADDED "'imported', 'note', 'scores', 'costs', 'means'"
enum { ADDITIONS = 6 };

/* Run by run: the points of all at once would be sorted in a file. What belongs to no run is left. */
static locus_status take_points(lab_store *store, locus_error *error) {
    sqlite3_stmt *runs;
    int code = SQLITE_DONE;
    locus_status status = lab_store_prepare(store, &runs, "SELECT id FROM run ORDER BY id", error);
    if (status != LOCUS_OK)
        return status;
    while (status == LOCUS_OK && (code = sqlite3_step(runs)) == SQLITE_ROW) {
        status = lab_store_do(store, error,
                              "INSERT INTO evaluation SELECT * FROM (" LAB_STORE_POINTS("main") ") WHERE run = ?", "i",
                              (int64_t)sqlite3_column_int64(runs, 0));
    }
    sqlite3_finalize(runs);
    return status != LOCUS_OK || code == SQLITE_DONE ? status : lab_store_fail(store, code, error);
}

static locus_status bring_to_second(lab_store *store, locus_error *error) {
    locus_status status = lab_store_execute(store, lab_store_second_begin, error);
    status = status == LOCUS_OK ? take_points(store, error) : status;
    return status == LOCUS_OK ? lab_store_execute(store, lab_store_second_end, error) : status;
}

/* Several processes may come here at once, so the version is read again inside. */
static locus_status bring_up(lab_store *store, bool reading, locus_error *error) {
    int64_t version;
    locus_status status = lab_store_begin(store, error);
    status = status == LOCUS_OK ? lab_store_integer(store, "PRAGMA user_version", &version, error) : status;
    store->older = status == LOCUS_OK && version == 1 && reading;
    if (status == LOCUS_OK && version == 1 && !reading)
        status = bring_to_second(store, error);
    status = status == LOCUS_OK ? lab_store_execute(store, lab_store_additions, error) : status;
    if (status == LOCUS_OK && !store->older)
        status = lab_store_execute(store, lab_store_curves, error);
    return lab_store_end(store, status, error);
}

/* A store that is as it should be is not written to, so that opening one waits for nobody. */
static locus_status add_missing(lab_store *store, bool reading, locus_error *error) {
    int64_t there = 0;
    const locus_status status =
        lab_store_integer(store,
                          store->older ? "SELECT count(*) + 1 FROM sqlite_master WHERE name IN (" ADDED ")"
                                       : "SELECT count(*) FROM sqlite_master WHERE name IN (" ADDED ", 'curves')",
                          &there, error);
    return status != LOCUS_OK || (there == ADDITIONS && (reading || !store->older)) ? status
                                                                                    : bring_up(store, reading, error);
}

static locus_status look_around(lab_store *store, locus_error *error) {
    static const char sql[] = "SELECT coalesce(sum((name = 'imported') + 2 * (name = 'note') + 4 * (name = 'parent')),"
                              " 0) FROM sqlite_master WHERE type = 'table'";
    int64_t tables = 0;
    const locus_status status = lab_store_integer(store, sql, &tables, error);
    store->imports = (tables & 1) != 0;
    store->notes = (tables & 2) != 0;
    store->parents = (tables & 4) != 0;
    return status;
}

/* The file may be a stranger's: its schema calls no function that does anything, and nothing writes to its pages but
 * what is meant to. SQLite's result code. */
static int set_up(sqlite3 *database) {
    sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_busy_timeout(database, LAB_STORE_BUSY);
    return lab_evaluation_define(database);
}

static locus_status make_folder(const char *path, locus_error *error) {
    char *folder = lab_folder_of(path);
    locus_status status = folder != NULL ? lab_directory_create(folder, error) : lab_fail_memory(error, "a path");
    free(folder);
    return status;
}

/* The log has an index in memory that processes of one host share: hosts that share the files would destroy them. */
static locus_status refuse_shared(const lab_store *store, locus_error *error) {
    const char *name = lab_file_system_shared(store->path);
    return name == NULL ? LOCUS_OK
                        : lab_fail(error, LOCUS_ERROR_IO, "store",
                                   "the run store '%s' lies on %s, and a store belongs to one host: name one on a disk "
                                   "of this machine with --store, and bring stores together by 'locus runs import'",
                                   store->path, name);
}

/* Other databases may be attached by URI; a path is none, whatever it begins with. */
static int open_path(lab_store *store) {
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI;
    store->source = sqlite3_mprintf(strncmp(store->path, "file:", 5) == 0 ? "./%s" : "%s", store->path);
    return store->source == NULL ? SQLITE_NOMEM : sqlite3_open_v2(store->source, &store->database, flags, NULL);
}

/* While somebody fills the store without the log (lab_store_fill) it is used as it is. */
static locus_status use_log(lab_store *store, locus_error *error) {
    const int code = sqlite3_exec(store->database, "PRAGMA journal_mode = WAL", NULL, NULL, NULL);
    return code == SQLITE_OK || (code & 0xff) == SQLITE_BUSY ? LOCUS_OK : lab_store_fail(store, code, error);
}

static locus_status open_database(lab_store *store, bool reading, locus_error *error) {
    locus_status status = refuse_shared(store, error);
    status = status == LOCUS_OK ? make_folder(store->path, error) : status;
    if (status != LOCUS_OK)
        return status;
    int code = open_path(store);
    if (code == SQLITE_CANTOPEN && access(store->path, F_OK) == 0) {
        return lab_fail(error, LOCUS_ERROR_IO, "store",
                        "the run store '%s' cannot be opened: it must be a file that may be read and written",
                        store->path);
    }
    if (code == SQLITE_NOMEM)
        return lab_store_fail(store, code, error);
    if (code != SQLITE_OK) {
        return lab_fail(error, LOCUS_ERROR_IO, "store",
                        "the run store '%s' cannot be made: check that its folder may be written", store->path);
    }
    code = set_up(store->database);
    status = code == SQLITE_OK ? check_schema(store, false, error) : lab_store_fail(store, code, error);
    status = status == LOCUS_OK ? use_log(store, error) : status;
    status = status == LOCUS_OK ? lab_store_lasting(store, true, error) : status;
    status = status == LOCUS_OK ? check_pages(store, error) : status;
    status = status == LOCUS_OK ? add_missing(store, reading, error) : status;
    status = status == LOCUS_OK ? lab_store_execute(store, "PRAGMA foreign_keys = ON", error) : status;
    return status == LOCUS_OK ? look_around(store, error) : status;
}

/* ---- reading what may not be written ---- */

/* "file:path?mode=ro"; NULL: out of memory. A path from the root stands behind an empty host, whatever it begins
 * with. */
static char *uri_of(const char *path, bool immutable) {
    char *uri = sqlite3_mprintf(path[0] == '/' ? "file://" : "file:");
    for (const char *at = path; uri != NULL && *at != '\0'; at++) {
        const unsigned char byte = (unsigned char)*at;
        const bool plain = byte < 0x80 && strchr("%?#", byte) == NULL;
        uri = sqlite3_mprintf(plain ? "%z%c" : "%z%%%02X", uri, byte);
    }
    return uri == NULL ? NULL : sqlite3_mprintf("%z?mode=ro%s", uri, immutable ? "&immutable=1" : "");
}

static int open_uri(lab_store *store, bool immutable) {
    sqlite3_free(store->source);
    store->source = uri_of(store->path, immutable);
    int code = store->source == NULL
                   ? SQLITE_NOMEM
                   : sqlite3_open_v2(store->source, &store->database, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL);
    code = code == SQLITE_OK ? set_up(store->database) : code;
    return code == SQLITE_OK ? sqlite3_exec(store->database, "SELECT count(*) FROM sqlite_master", NULL, NULL, NULL)
                             : code;
}

static bool stands_beside(const lab_store *store, const char *ending) {
    struct stat facts;
    char *path = sqlite3_mprintf("%s%s", store->path, ending);
    const bool there = path == NULL || (stat(path, &facts) == 0 && facts.st_size > 0);
    sqlite3_free(path);
    return there;
}

/* Nobody writes, and nobody was killed while writing: no log stands beside the store, and no journal. */
static bool is_quiet(const lab_store *store) {
    return !stands_beside(store, "-wal") && !stands_beside(store, "-journal");
}

/* SQLite makes a log, and an index of it, beside a store even to read it; where it may not, the file alone is all that
 * there is to read. Where hosts share files nobody writes to a store: one that somebody left there is such a file. */
static locus_status open_sealed(lab_store *store, locus_error *error) {
    const bool shared = lab_file_system_shared(store->path) != NULL;
    if (shared && !is_quiet(store))
        return refuse_shared(store, error);
    int code = open_uri(store, shared);
    if ((code == SQLITE_CANTOPEN || code == SQLITE_READONLY) && is_quiet(store)) {
        sqlite3_close(store->database);
        store->database = NULL;
        code = open_uri(store, true);
    }
    if (code != SQLITE_OK)
        return lab_store_fail(store, code, error);
    locus_status status = check_schema(store, true, error);
    status = status == LOCUS_OK ? check_pages(store, error) : status;
    return status == LOCUS_OK ? look_around(store, error) : status;
}

/* Where memory has run out it is opened to be written, which says so. */
static bool may_be_written(const char *path) {
    char *folder = lab_folder_of(path);
    const bool may = access(path, W_OK) == 0 && (folder == NULL || access(folder, W_OK) == 0) &&
                     lab_file_system_shared(path) == NULL;
    free(folder);
    return may;
}

/* ---- a store's life ---- */

/* SQLite counts the memory that it has, behind a lock that all threads share, which is asked for with every row. Nobody
 * reads the count. That some was not to be had is noted. Refused, as any such choice is, once SQLite runs. */
static void set_up_memory(void) {
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    lab_store_watch_memory();
}

typedef locus_status open_function(lab_store *store, locus_error *error);

static locus_status open_store(lab_store **store, const char *path, open_function *function, locus_error *error) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, set_up_memory);
    *store = NULL;
    lab_store *opened = calloc(1, sizeof *opened);
    if (opened == NULL || (opened->path = strdup(path)) == NULL) {
        free(opened);
        return lab_fail_memory(error, "the run store");
    }
    locus_status status = function(opened, error);
    if (status != LOCUS_OK) {
        lab_store_close(&opened);
        return status;
    }
    *store = opened;
    return LOCUS_OK;
}

static locus_status open_to_write(lab_store *store, locus_error *error) {
    return open_database(store, false, error);
}

/* One that may be written is read by way of its log, and gets what it lacks. */
static locus_status open_to_read(lab_store *store, locus_error *error) {
    return open_database(store, true, error);
}

locus_status lab_store_open(lab_store **store, const char *path, locus_error *error) {
    return open_store(store, path, open_to_write, error);
}

locus_status lab_store_open_reading(lab_store **store, const char *path, locus_error *error) {
    return open_store(store, path, may_be_written(path) ? open_to_read : open_sealed, error);
}

locus_status lab_store_fill(lab_store *store, bool much, locus_error *error) {
    int64_t runs;
    const locus_status status = lab_store_integer(store, "SELECT EXISTS(SELECT 1 FROM run)", &runs, error);
    if (status != LOCUS_OK || runs > 0 || store->filling)
        return status;
    sqlite3_busy_timeout(store->database, 0);
    store->filling = sqlite3_exec(store->database, "PRAGMA journal_mode = DELETE; PRAGMA synchronous = EXTRA", NULL,
                                  NULL, NULL) == SQLITE_OK;
    if (store->filling && much) /* it goes without, too */
        sqlite3_exec(store->database, "PRAGMA page_size = 16384; VACUUM", NULL, NULL, NULL);
    sqlite3_busy_timeout(store->database, LAB_STORE_BUSY);
    return LOCUS_OK;
}

void lab_store_close(lab_store **store) {
    if (store == NULL || *store == NULL)
        return;
    if ((*store)->filling) { /* else whoever opens it next does it */
        sqlite3_busy_timeout((*store)->database, LAB_STORE_BUSY_AGAIN);
        sqlite3_exec((*store)->database, "PRAGMA journal_mode = WAL", NULL, NULL, NULL);
    }
    sqlite3_close((*store)->database);
    sqlite3_free((*store)->source);
    free((*store)->path);
    free(*store);
    *store = NULL;
}
