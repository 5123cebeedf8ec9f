/* SPDX-License-Identifier: MIT */
/* Runs as a list shows them (lab_store_runs_listed): what it shows is read and nothing else, which of
 * 10,000 runs takes less time and memory. */
#include "train/store/store_sql.h"

#include <string.h>

#define SHOWN \
    "run.name, task, encoding, setup, embedding_init, budget, config, run.id, seed, state, steps_total, steps_done," \
    " wall_seconds, peak_bytes"
#define BESIDE(table) "LEFT JOIN " table " ON " table ".run = run.id "
#define WANTED \
    "WHERE (?1 IS NULL OR task = ?1) AND (?2 IS NULL OR encoding = ?2) AND (?3 IS NULL OR budget = ?3)" \
    " AND (?4 IS NULL OR setup = ?4) AND (?5 IS NULL OR embedding_init = ?5) ORDER BY run.id"
#define IMPORTED ", imported.run IS NOT NULL"

static bool copy(sqlite3_stmt *statement, int column, char **text) {
    const char *value = lab_store_text(statement, column);
    *text = value != NULL ? strdup(value) : NULL;
    return *text != NULL;
}

/* Whose configurations are kept. */
typedef struct wish {
    bool (*keep)(const char *task, const char *config);
} wish;

/* A row in the order of SHOWN, then whether it was imported, and its parent. */
static bool take(sqlite3_stmt *s, const void *context, lab_run *run) {
    const wish *wanted = context;
    char **const texts[] = {&run->name, &run->task, &run->encoding, &run->setup, &run->embedding_init, &run->budget};
    int column = 0;
    bool good = true;
    *run = (lab_run){0};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        good = copy(s, column++, texts[i]) && good;
    const char *config = lab_store_text(s, column);
    if (good && config != NULL && wanted->keep(run->task, config))
        good = (run->config = strdup(config)) != NULL;
    good = good && config != NULL;
    run->id = sqlite3_column_int64(s, ++column);
    run->seed = (uint64_t)sqlite3_column_int64(s, ++column);
    run->state = (lab_run_state)sqlite3_column_int64(s, ++column);
    run->steps_total = (uint64_t)sqlite3_column_int64(s, ++column);
    run->steps_done = (uint64_t)sqlite3_column_int64(s, ++column);
    run->wall_seconds = sqlite3_column_double(s, ++column);
    run->peak_bytes = sqlite3_column_int64(s, ++column);
    run->imported = sqlite3_column_int64(s, ++column) != 0;
    good = copy(s, ++column, &run->parent) && good;
    if (!good)
        lab_run_free(run);
    return good;
}

locus_status lab_store_runs_listed(lab_store *store, const lab_run_filter *filter,
                                   bool (*keep)(const char *task, const char *config), lab_run **runs, size_t *count,
                                   locus_error *error) {
    sqlite3_stmt *statement;
    const wish wanted = {keep};
    const char *const sql = store->parents ? "SELECT " SHOWN IMPORTED ", parent.name FROM run " BESIDE("imported")
                                                 BESIDE("parent") WANTED
                            : store->imports ? "SELECT " SHOWN IMPORTED ", '' FROM run " BESIDE("imported") WANTED
                                             : "SELECT " SHOWN ", 0, '' FROM run " WANTED;
    const locus_status status = lab_store_ask(store, &statement, error, sql, "ttttt", filter->task, filter->encoding,
                                              filter->budget, filter->setup, filter->embedding_init);
    return lab_store_collect(store, status, statement, take, &wanted, runs, count, error);
}
