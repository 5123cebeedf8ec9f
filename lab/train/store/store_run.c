/* SPDX-License-Identifier: MIT */
/* The rows of runs. */
#include "io/fail.h"
#include "io/grow.h"
#include "train/configuration/train_config.h"
#include "train/store/run_file_fields.h"
#include "train/store/store_sql.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define AT(member) offsetof(lab_run, member)
const lab_run_field lab_run_fields[LAB_RUN_FIELDS] = {
    {"name", LAB_RUN_TEXT, AT(name), 200},
    {"task", LAB_RUN_TEXT, AT(task), 64},
    {"encoding", LAB_RUN_TEXT, AT(encoding), LAB_SPEC_SIZE - 1},
    {"setup", LAB_RUN_TEXT, AT(setup), 64},
    {"embedding_init", LAB_RUN_TEXT, AT(embedding_init), 64},
    {"budget", LAB_RUN_TEXT, AT(budget), 64},
    {"seed", LAB_RUN_INTEGER, AT(seed), 0},
    {"data_seed", LAB_RUN_INTEGER, AT(data_seed), 0},
    {"command", LAB_RUN_TEXT, AT(command), 1 << 16},
    {"version", LAB_RUN_TEXT, AT(version), 256},
    {"machine", LAB_RUN_TEXT, AT(machine), 1024},
    {"message", LAB_RUN_TEXT, AT(message), 1 << 16},
    {"steps_total", LAB_RUN_INTEGER, AT(steps_total), 0},
    {"steps_done", LAB_RUN_INTEGER, AT(steps_done), 0},
    {"tokens_seen", LAB_RUN_INTEGER, AT(tokens_seen), 0},
    {"wall_seconds", LAB_RUN_REAL, AT(wall_seconds), 0},
    {"tokens_per_second", LAB_RUN_REAL, AT(tokens_per_second), 0},
    {"peak_bytes", LAB_RUN_INTEGER, AT(peak_bytes), 0},
    {"parameters", LAB_RUN_INTEGER, AT(parameters), 0},
    {"started", LAB_RUN_TEXT, AT(started), 64},
    {"ended", LAB_RUN_TEXT, AT(ended), 64},
    {"note", LAB_RUN_TEXT, AT(note), 1 << 16},
    {"parent", LAB_RUN_TEXT, AT(parent), 256},
};
#undef AT

/* The fields that a run needs, in their order, and what else its row has. */
#define COLUMNS \
    "name, task, encoding, setup, embedding_init, budget, seed, data_seed, command, version, machine, message," \
    " steps_total, steps_done, tokens_seen, wall_seconds, tokens_per_second, peak_bytes, parameters, started, ended," \
    " config, state"
enum { COLUMN_COUNT = LAB_RUN_NEEDED + 2 };
/* What a run is read by: COLUMNS, the id, whether it was imported, its note, its parent. */
#define SELECT(imported, note, parent) "SELECT " COLUMNS ", id, " imported ", " note ", " parent " FROM run "
#define IMPORTED "EXISTS(SELECT 1 FROM imported WHERE imported.run = run.id)"
#define NOTE "(SELECT text FROM note WHERE note.run = run.id)"
#define PARENT "(SELECT parent.name FROM parent WHERE parent.run = run.id)"
#define SELECT_EACH(store, rest) \
    ((store)->parents   ? SELECT(IMPORTED, NOTE, PARENT) rest \
     : (store)->notes   ? SELECT(IMPORTED, NOTE, "''") rest \
     : (store)->imports ? SELECT(IMPORTED, "''", "''") rest \
                        : SELECT("0", "''", "''") rest)

const char *lab_run_state_name(lab_run_state state) {
    static const char *const names[] = {"started", "done", "stopped", "failed"};
    return (unsigned)state < 4 ? names[state] : "unknown";
}

void lab_run_free(lab_run *run) {
    if (run == NULL)
        return;
    for (size_t i = 0; i < LAB_RUN_FIELDS; i++) {
        void *at = (char *)run + lab_run_fields[i].offset;
        if (lab_run_fields[i].kind == LAB_RUN_TEXT)
            free(*(char **)at);
    }
    free(run->config);
    memset(run, 0, sizeof *run);
}

void lab_runs_free(lab_run *runs, size_t count) {
    for (size_t i = 0; runs != NULL && i < count; i++)
        lab_run_free(&runs[i]);
    free(runs);
}

static void bind_text(sqlite3_stmt *statement, int index, const char *text) {
    sqlite3_bind_text(statement, index, text == NULL ? "" : text, -1, SQLITE_STATIC);
}

/* Binds the columns in the order of COLUMNS, from 1. */
static void bind_run(sqlite3_stmt *s, const lab_run *run) {
    int column = 1;
    for (size_t i = 0; i < LAB_RUN_NEEDED; i++, column++) {
        const lab_run_field *field = &lab_run_fields[i];
        const void *at = (const char *)run + field->offset;
        if (field->kind == LAB_RUN_TEXT)
            bind_text(s, column, *(char *const *)at);
        else if (field->kind == LAB_RUN_INTEGER)
            sqlite3_bind_int64(s, column, *(const int64_t *)at);
        else
            sqlite3_bind_double(s, column, *(const double *)at);
    }
    bind_text(s, column++, run->config);
    sqlite3_bind_int64(s, column, (int64_t)run->state);
}

/* A row that could not be written: names are unique. */
static locus_status fail_row(lab_store *store, int code, const char *name, locus_error *error) {
    return (code & 0xff) == SQLITE_CONSTRAINT ? lab_fail(error, LOCUS_ERROR_ARGUMENT, "name",
                                                         "the run store '%s' has a run '%s' already", store->path, name)
                                              : lab_store_fail(store, code, error);
}

locus_status lab_store_run_insert(lab_store *store, lab_run *run, locus_error *error) {
    sqlite3_stmt *statement;
    locus_status status = lab_store_prepare(
        store, &statement, "INSERT INTO run(" COLUMNS ") VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", error);
    if (status != LOCUS_OK)
        return status;
    bind_run(statement, run);
    int code = sqlite3_step(statement);
    sqlite3_finalize(statement);
    if (code != SQLITE_DONE)
        return fail_row(store, code, run->name, error);
    run->id = sqlite3_last_insert_rowid(store->database);
    return LOCUS_OK;
}

locus_status lab_store_run_update(lab_store *store, const lab_run *run, locus_error *error) {
    sqlite3_stmt *statement;
    locus_status status = lab_store_prepare(
        store, &statement,
        "UPDATE run SET (" COLUMNS ") = (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) WHERE id = ?", error);
    if (status != LOCUS_OK)
        return status;
    bind_run(statement, run);
    sqlite3_bind_int64(statement, COLUMN_COUNT + 1, run->id);
    status = lab_store_finish(store, statement, error);
    if (status == LOCUS_OK && sqlite3_changes(store->database) == 0) {
        return lab_fail(error, LOCUS_ERROR_IO, "run", "run %" PRId64 " is no longer in the store '%s': was it deleted?",
                        run->id, store->path);
    }
    return status;
}

static bool take_text(sqlite3_stmt *statement, int column, char **text) {
    const char *value = lab_store_text(statement, column);
    *text = value != NULL ? strdup(value) : NULL;
    return *text != NULL;
}

/* What SELECT gives, column by column. */
static bool take_run(sqlite3_stmt *s, const void *context, lab_run *run) {
    (void)context;
    bool good = true;
    int column = 0;
    memset(run, 0, sizeof *run);
    for (size_t i = 0; i < LAB_RUN_NEEDED; i++, column++) {
        const lab_run_field *field = &lab_run_fields[i];
        void *at = (char *)run + field->offset;
        if (field->kind == LAB_RUN_TEXT)
            good = take_text(s, column, at) && good;
        else if (field->kind == LAB_RUN_INTEGER)
            *(int64_t *)at = sqlite3_column_int64(s, column);
        else
            *(double *)at = sqlite3_column_double(s, column);
    }
    good = take_text(s, column++, &run->config) && good;
    run->state = (lab_run_state)sqlite3_column_int64(s, column++);
    run->id = sqlite3_column_int64(s, column++);
    run->imported = sqlite3_column_int64(s, column++) != 0;
    good = take_text(s, column++, &run->note) && good;
    good = take_text(s, column, &run->parent) && good;
    if (!good)
        lab_run_free(run);
    return good;
}

locus_status lab_store_collect(lab_store *store, locus_status asked, sqlite3_stmt *statement, lab_run_taker *take,
                               const void *context, lab_run **runs, size_t *count, locus_error *error) {
    size_t room = 0;
    int code;
    *runs = NULL;
    *count = 0;
    if (asked != LOCUS_OK)
        return asked;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        if (!LAB_GROW(*runs, *count, room, 16) || !take(statement, context, &(*runs)[*count])) {
            code = SQLITE_NOMEM;
            break;
        }
        (*count)++;
    }
    sqlite3_finalize(statement);
    if (code == SQLITE_DONE)
        return LOCUS_OK;
    lab_runs_free(*runs, *count);
    *runs = NULL;
    *count = 0;
    return lab_store_fail(store, code, error);
}

/* The first of them, if there is one. */
static locus_status collect_run(lab_store *store, locus_status asked, sqlite3_stmt *statement, lab_run *run,
                                locus_error *error) {
    lab_run *runs;
    size_t count;
    const locus_status status = lab_store_collect(store, asked, statement, take_run, NULL, &runs, &count, error);
    *run = count > 0 ? runs[0] : (lab_run){0};
    free(runs);
    return status;
}

locus_status lab_store_run_find(lab_store *store, const char *name_or_id, lab_run *run, locus_error *error) {
    sqlite3_stmt *statement;
    /* A name wins over a number; `#7` and `7` both mean run 7. */
    locus_status status = lab_store_ask(
        store, &statement, error,
        SELECT_EACH(store, "WHERE name = ?1 OR CAST(id AS TEXT) = ltrim(?1, '#') ORDER BY name <> ?1 LIMIT 1"), "t",
        name_or_id != NULL ? name_or_id : "");
    status = collect_run(store, status, statement, run, error);
    if (status == LOCUS_OK && run->name == NULL) {
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "run", "no run '%s' in the store '%s': `locus runs` lists them",
                        name_or_id, store->path);
    }
    return status;
}

locus_status lab_store_run_named(lab_store *store, const char *name, lab_run *run, locus_error *error) {
    sqlite3_stmt *statement;
    const locus_status status =
        lab_store_ask(store, &statement, error, SELECT_EACH(store, "WHERE name = ?"), "t", name);
    return collect_run(store, status, statement, run, error);
}

locus_status lab_store_run_at(lab_store *store, int64_t id, lab_run *run, locus_error *error) {
    sqlite3_stmt *statement;
    const locus_status status = lab_store_ask(store, &statement, error, SELECT_EACH(store, "WHERE id = ?"), "i", id);
    return collect_run(store, status, statement, run, error);
}

locus_status lab_store_runs(lab_store *store, const lab_run_filter *filter, lab_run **runs, size_t *count,
                            locus_error *error) {
    static const lab_run_filter any = {NULL, NULL, NULL, NULL, NULL};
    const lab_run_filter *wanted = filter == NULL ? &any : filter;
    sqlite3_stmt *statement;
    const locus_status status =
        lab_store_ask(store, &statement, error,
                      SELECT_EACH(store, "WHERE (?1 IS NULL OR task = ?1) AND (?2 IS NULL OR encoding = ?2)"
                                         " AND (?3 IS NULL OR budget = ?3) AND (?4 IS NULL OR setup = ?4)"
                                         " AND (?5 IS NULL OR embedding_init = ?5) ORDER BY id"),
                      "ttttt", wanted->task, wanted->encoding, wanted->budget, wanted->setup, wanted->embedding_init);
    return lab_store_collect(store, status, statement, take_run, NULL, runs, count, error);
}

locus_status lab_store_runs_between(lab_store *store, int64_t first, int64_t last, lab_run **runs, size_t *count,
                                    locus_error *error) {
    sqlite3_stmt *statement;
    const locus_status status = lab_store_ask(
        store, &statement, error, SELECT_EACH(store, "WHERE id BETWEEN ?1 AND ?2 ORDER BY id"), "ii", first, last);
    return lab_store_collect(store, status, statement, take_run, NULL, runs, count, error);
}

locus_status lab_store_run_imported(lab_store *store, int64_t id, locus_error *error) {
    return lab_store_do(store, error, "INSERT OR IGNORE INTO imported(run) VALUES(?1)", "i", id);
}

locus_status lab_store_run_note(lab_store *store, int64_t id, const char *text, locus_error *error) {
    return *text == '\0'
               ? lab_store_do(store, error, "DELETE FROM note WHERE run = ?", "i", id)
               : lab_store_do(store, error, "INSERT OR REPLACE INTO note(run, text) VALUES(?, ?)", "it", id, text);
}

locus_status lab_store_run_parent(lab_store *store, int64_t id, const char *name, locus_error *error) {
    return lab_store_do(store, error, "INSERT OR REPLACE INTO parent(run, name) VALUES(?, ?)", "it", id, name);
}

locus_status lab_store_run_rename(lab_store *store, int64_t id, const char *name, locus_error *error) {
    sqlite3_stmt *statement;
    const locus_status status =
        lab_store_ask(store, &statement, error, "UPDATE run SET name = ? WHERE id = ?", "ti", name, id);
    if (status != LOCUS_OK)
        return status;
    const int code = sqlite3_step(statement);
    sqlite3_finalize(statement);
    return code == SQLITE_DONE ? LOCUS_OK : fail_row(store, code, name, error);
}

locus_status lab_store_run_delete(lab_store *store, int64_t id, locus_error *error) {
    return lab_store_do(store, error, "DELETE FROM run WHERE id = ?", "i", id);
}
