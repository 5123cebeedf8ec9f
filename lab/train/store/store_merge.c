/* SPDX-License-Identifier: MIT */
/* See store_merge.h. The other store is attached to this one's connection, so that curves go from database to database
 * without being read here; it is part. Which runs this store has is kept in a table of the connection,
 *
 *   temp.identity(run, hash)     by lab_config_hash, of all runs up to the last one looked at
 *
 * which makes the work proportional to the runs that come, not to those that are there times files. */
#include "train/store/store_merge.h"

#include "io/fail.h"
#include "io/folder.h"
#include "io/json.h"
#include "train/configuration/config.h"
#include "train/store/run_folder.h"
#include "train/store/store_sql.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* A run of the other store, and what becomes of it. */
typedef struct item {
    lab_run run;
    int64_t to;     /* the run of this store, 0: left out */
    char *to_name;  /* its name, owned */
    bool written;   /* its row and curves are this run's: files that were there are of other parameters */
    bool marked;    /* this store's run came without its files, maybe since a kill came between */
    int lock;       /* of an unfinished one, until its files are copied; -1 */
    int lock_here;  /* of the run that it takes the place of, as long */
    bool drop_best; /* that run's best parameters go when it does */
    bool apart;     /* the stores lie in two folders: files beside the run here are not those of the other's */
} item;

typedef struct merge {
    lab_store *store, *other;
    const lab_merge_request *request;
    lab_merge_result *result;
    const char *measured; /* what the other store measured, as a table (run, step, metrics) */
    char *other_folder;
    item *items;
    size_t count;
    locus_error *error;
} merge;

bool lab_store_is_one(const char *path) {
    static const char magic[16] = "SQLite format 3";
    char head[sizeof magic];
    FILE *stream = fopen(path, "rb");
    const bool is = stream != NULL && fread(head, sizeof head, 1, stream) == 1 && memcmp(head, magic, sizeof head) == 0;
    if (stream != NULL)
        fclose(stream);
    return is;
}

/* ---- statements ---- */

/* About two runs, ?1 of this store and ?2 of the other; or about less, which leaves ?2 unused. */
static locus_status execute_pair(const merge *m, const char *sql, int64_t here, int64_t there) {
    return lab_store_do(m->store, m->error, sql, "ii", here, there);
}

/* ---- which run it is ---- */

static locus_status parse(const lab_run *run, lab_train_config *config, const char *place, locus_error *error) {
    const size_t losses = lab_json_losses();
    const locus_status status = lab_config_parse(config, run->config, run, place, error);
    const bool same = status == LOCUS_OK && lab_config_same_texts(config, run->config);
    if (lab_json_losses() != losses)
        return lab_fail_memory(error, "a configuration");
    return status != LOCUS_OK || same
               ? status
               : lab_fail_file(error, place, "cannot be imported: the run '%.200s' has the configuration of another",
                               run->name);
}

static locus_status remember(const merge *m, int64_t run, uint64_t hash) {
    return execute_pair(m, "INSERT OR REPLACE INTO temp.identity(run, hash) VALUES(?1, ?2)", run, (int64_t)hash);
}

/* Runs that came into this store since it was looked at. One whose configuration this version cannot read is like no
 * other. */
static locus_status look_at_new(const merge *m) {
    int64_t last = 0;
    lab_run *runs;
    size_t count;
    locus_status status =
        lab_store_execute(m->store,
                          "CREATE TEMP TABLE IF NOT EXISTS identity(run INTEGER PRIMARY KEY, hash INTEGER);"
                          "CREATE INDEX IF NOT EXISTS temp.by_hash ON identity(hash)",
                          m->error);
    if (status == LOCUS_OK)
        status = lab_store_integer(m->store, "SELECT coalesce(max(run), 0) FROM temp.identity", &last, m->error);
    if (status == LOCUS_OK)
        status = lab_store_runs_between(m->store, last + 1, INT64_MAX, &runs, &count, m->error);
    if (status != LOCUS_OK)
        return status;
    for (size_t i = 0; i < count; i++) {
        lab_train_config config;
        const locus_status parsed = status == LOCUS_OK ? parse(&runs[i], &config, m->store->path, NULL) : status;
        if (parsed == LOCUS_OK)
            status = remember(m, runs[i].id, lab_config_hash(&config));
        else if (parsed == LOCUS_ERROR_MEMORY && status == LOCUS_OK)
            status = lab_fail_memory(m->error, "a configuration");
        lab_run_free(&runs[i]);
    }
    free(runs);
    return status;
}

/* *here: the store's run of this configuration; its id is 0 if there is none. */
static locus_status find_same(const merge *m, const lab_train_config *config, lab_run *here) {
    sqlite3_stmt *statement;
    lab_train_config other;
    *here = (lab_run){0};
    locus_status status =
        lab_store_ask(m->store, &statement, m->error, "SELECT run FROM temp.identity WHERE hash = ? ORDER BY run", "i",
                      (int64_t)lab_config_hash(config));
    if (status != LOCUS_OK)
        return status;
    while (status == LOCUS_OK && here->id == 0 && sqlite3_step(statement) == SQLITE_ROW) {
        status = lab_store_run_at(m->store, sqlite3_column_int64(statement, 0), here, m->error);
        if (here->id != 0 &&
            (parse(here, &other, m->store->path, NULL) != LOCUS_OK || lab_config_difference(&other, config) != NULL))
            lab_run_free(here); /* the same hash by chance */
    }
    sqlite3_finalize(statement);
    return status;
}

/* ---- whether both say the same ---- */

static locus_status conflict(const merge *m, const item *from, const lab_run *here, const char *what) {
    return lab_fail(m->error, LOCUS_ERROR_ARGUMENT, "name",
                    "'%.120s' cannot be imported: its run '%.100s' and the store's run '%.100s' are the same training "
                    "with other numbers (%s): delete one, or name another store",
                    m->request->path, from->run.name, here->name, what);
}

/* The first row of two texts and two values that differ. */
static locus_status compare_values(const merge *m, const item *from, const lab_run *here, const char *sql) {
    sqlite3_stmt *statement;
    locus_status status = lab_store_ask(m->store, &statement, m->error, sql, "ii", here->id, from->run.id);
    if (status != LOCUS_OK)
        return status;
    const int code = sqlite3_step(statement);
    if (code == SQLITE_ROW) {
        char what[120];
        const char *set = lab_store_text(statement, 0), *name = lab_store_text(statement, 1);
        snprintf(what, sizeof what, "%.40s, %.40s", set != NULL ? set : "", name != NULL ? name : "");
        status = conflict(m, from, here, what);
    } else if (code != SQLITE_DONE) {
        status = lab_store_fail(m->store, code, m->error);
    }
    sqlite3_finalize(statement);
    return status;
}

#define NAMES(texts) "(SELECT json_group_array(key) FROM (SELECT key FROM json_each(" texts ") ORDER BY key))"
enum { MOST_SQL = 640 };

/* SQLITE_MISMATCH: a text of the other store is none (is_evaluation). */
static locus_status fail_copying(const merge *m, int code) {
    return (code & 0xff) == SQLITE_MISMATCH ? lab_store_fail(m->other, SQLITE_CORRUPT, m->error)
                                            : lab_store_fail(m->store, code, m->error);
}

/* A statement about the steps that both have, of ?1 here and ?2 there. */
static void write_both(const merge *m, const char *select, const char *where, char sql[MOST_SQL]) {
    snprintf(sql, MOST_SQL, "SELECT %s FROM main.evaluation AS a JOIN %s AS b ON b.run = ?2 AND b.step = a.step %s",
             select, m->measured, where);
}

typedef struct steps {
    int64_t both, differing; /* these of those */
} steps;

static locus_status count_steps(const merge *m, const item *from, const lab_run *here, steps *counts) {
    sqlite3_stmt *statement;
    char sql[MOST_SQL];
    write_both(m, "count(*), count(CASE WHEN b.metrics <> a.metrics THEN is_evaluation(b.metrics) END)",
               "WHERE a.run = ?1", sql);
    const locus_status status = lab_store_ask(m->store, &statement, m->error, sql, "ii", here->id, from->run.id);
    if (status != LOCUS_OK)
        return status;
    const int code = sqlite3_step(statement);
    if (code == SQLITE_ROW)
        *counts = (steps){sqlite3_column_int64(statement, 0), sqlite3_column_int64(statement, 1)};
    sqlite3_finalize(statement);
    return code == SQLITE_ROW ? LOCUS_OK : fail_copying(m, code);
}

/* Of a step that both have, what both have is the same; of two finished runs each has what the other has. */
static locus_status compare_curves(const merge *m, const item *from, const lab_run *here, bool finished) {
    steps counts = {0};
    char sql[MOST_SQL];
    locus_status status = count_steps(m, from, here, &counts);
    if (status == LOCUS_OK && counts.differing > 0) {
        write_both(m, "one.key, 'step ' || a.step",
                   "JOIN json_each(a.metrics) AS one JOIN json_each(b.metrics) AS other ON other.key = one.key WHERE"
                   " a.run = ?1 AND a.metrics <> b.metrics AND one.value IS NOT other.value LIMIT 1",
                   sql);
        status = compare_values(m, from, here, sql);
    }
    if (status == LOCUS_OK && counts.differing > 0 && finished) {
        write_both(
            m, "'curves', 'points'",
            "WHERE a.run = ?1 AND a.metrics <> b.metrics AND " NAMES("a.metrics") " <> " NAMES("b.metrics") " LIMIT 1",
            sql);
        status = compare_values(m, from, here, sql);
    }
    if (status == LOCUS_OK && finished) {
        snprintf(sql, sizeof sql,
                 "SELECT 'curves', 'points' WHERE (SELECT count(*) FROM main.evaluation WHERE run = ?1) <> %" PRId64
                 " OR (SELECT count(*) FROM %s WHERE run = ?2) <> %" PRId64,
                 counts.both, m->measured, counts.both);
        status = compare_values(m, from, here, sql);
    }
    return status;
}

static locus_status compare(const merge *m, const item *from, const lab_run *here) {
    const bool both = from->run.state == LAB_RUN_DONE && here->state == LAB_RUN_DONE;
    locus_status status = compare_curves(m, from, here, both);
    if (status == LOCUS_OK)
        status = compare_values(m, from, here,
                                "SELECT a.\"set\", a.name FROM main.final AS a JOIN part.final AS b ON b.run = ?2 AND "
                                "b.\"set\" = a.\"set\" AND b.name = a.name WHERE a.run = ?1 AND a.value IS NOT b.value "
                                "LIMIT 1");
    if (status == LOCUS_OK && both && from->run.steps_done != here->steps_done)
        status = conflict(m, from, here, "steps");
    return status;
}

/* ---- into this store ---- */

/* Those that a run of this store lacks: a finished one may be asked for further test sets later. */
static locus_status copy_scores(const merge *m, const item *from) {
    return execute_pair(
        m, "INSERT OR IGNORE INTO main.final SELECT ?1, \"set\", name, value FROM part.final WHERE run = ?2", from->to,
        from->run.id);
}

static locus_status copy_curves(const merge *m, const item *from) {
    sqlite3_stmt *statement;
    char sql[MOST_SQL];
    snprintf(sql, sizeof sql,
             "INSERT INTO main.evaluation SELECT ?1, step, metrics FROM %s WHERE run = ?2 AND is_evaluation(metrics)",
             m->measured);
    const locus_status status = lab_store_ask(m->store, &statement, m->error, sql, "ii", from->to, from->run.id);
    if (status != LOCUS_OK)
        return status;
    const int code = sqlite3_step(statement);
    sqlite3_finalize(statement);
    return code == SQLITE_DONE ? LOCUS_OK : fail_copying(m, code);
}

static locus_status copy_values(const merge *m, const item *from) {
    const locus_status status = copy_curves(m, from);
    return status == LOCUS_OK ? copy_scores(m, from) : status;
}

/* What somebody wrote about it there, unless somebody did here. */
static locus_status copy_note(const merge *m, const item *from) {
    return from->run.note[0] == '\0'
               ? LOCUS_OK
               : execute_pair(m, "INSERT OR IGNORE INTO main.note SELECT ?1, text FROM part.note WHERE run = ?2",
                              from->to, from->run.id);
}

static locus_status copy_parent(const merge *m, const item *from) {
    return from->run.parent[0] == '\0' ? LOCUS_OK
                                       : lab_store_run_parent(m->store, from->to, from->run.parent, m->error);
}

static locus_status add(merge *m, item *from, const lab_train_config *config) {
    lab_run row = from->run;
    locus_status status = lab_store_run_insert(m->store, &row, m->error);
    if (status == LOCUS_ERROR_ARGUMENT) {
        return lab_fail(
            m->error, status, "name",
            "'%.150s' cannot be imported: its run '%.100s' is another training than the store's run of that "
            "name: rename one of them by 'locus runs rename'",
            m->request->path, row.name);
    }
    from->to = row.id;
    from->written = true;
    from->to_name = strdup(row.name);
    if (status == LOCUS_OK && from->to_name == NULL)
        status = lab_fail_memory(m->error, "a run's name");
    status = status == LOCUS_OK ? lab_store_run_imported(m->store, row.id, m->error) : status;
    status = status == LOCUS_OK ? copy_values(m, from) : status;
    status = status == LOCUS_OK ? remember(m, row.id, lab_config_hash(config)) : status;
    m->result->added += status == LOCUS_OK;
    return status;
}

/* Both stores may lie in one folder: then a run's files are those of the other's run of the same name. */
static bool same_folder(const merge *m, const item *from, const lab_run *here) {
    struct stat ours, theirs;
    return strcmp(here->name, from->run.name) == 0 && stat(m->request->folder, &ours) == 0 &&
           stat(m->other_folder, &theirs) == 0 && ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
}

/* The row stays the store's by number and name. Nobody may train it until its files are copied. */
static locus_status replace(merge *m, item *from, const lab_run *here) {
    lab_run row = from->run;
    locus_status status = lab_run_hold(m->request->folder, here->name, &from->lock_here, m->error);
    row.id = here->id;
    row.name = here->name;
    from->written = true;
    from->drop_best = status == LOCUS_OK && from->apart;
    status = status == LOCUS_OK ? lab_store_run_update(m->store, &row, m->error) : status;
    if (status == LOCUS_OK)
        status = execute_pair(m, "DELETE FROM main.evaluation WHERE run = ?1", here->id, 0);
    if (status == LOCUS_OK)
        status = execute_pair(m, "DELETE FROM main.final WHERE run = ?1", here->id, 0);
    status = status == LOCUS_OK ? lab_store_run_imported(m->store, here->id, m->error) : status;
    status = status == LOCUS_OK ? copy_values(m, from) : status;
    m->result->replaced += status == LOCUS_OK;
    return status;
}

static locus_status join(merge *m, item *from, const lab_run *here) {
    const bool done = from->run.state == LAB_RUN_DONE, done_here = here->state == LAB_RUN_DONE;
    from->to = here->id;
    from->marked = here->imported;
    from->apart = !same_folder(m, from, here);
    from->to_name = strdup(here->name);
    if (from->to_name == NULL)
        return lab_fail_memory(m->error, "a run's name");
    const locus_status status = compare(m, from, here);
    if (status == LOCUS_OK && !done_here && (done || from->run.steps_done > here->steps_done))
        return replace(m, from, here);
    m->result->known += status == LOCUS_OK;
    return status == LOCUS_OK && done && done_here ? copy_scores(m, from) : status;
}

static locus_status take(merge *m, item *from) {
    lab_train_config config;
    lab_run here;
    locus_status status = lab_run_name_check(from->run.name, m->error);
    status = status == LOCUS_OK ? parse(&from->run, &config, m->request->path, m->error) : status;
    if (status == LOCUS_OK && from->run.state != LAB_RUN_DONE) {
        if (!m->request->checkpoints) {
            m->result->unfinished++;
            return LOCUS_OK;
        }
        /* Nobody trains it, and nobody begins until its files are copied. */
        status = lab_run_hold(m->other_folder, from->run.name, &from->lock, m->error);
    }
    status = status == LOCUS_OK ? find_same(m, &config, &here) : status;
    if (status != LOCUS_OK)
        return status;
    status = here.id == 0 ? add(m, from, &config) : join(m, from, &here);
    lab_run_free(&here);
    status = status == LOCUS_OK && from->written ? copy_parent(m, from) : status;
    return status == LOCUS_OK ? copy_note(m, from) : status;
}

static locus_status take_all(merge *m) {
    locus_status status = lab_store_begin(m->store, m->error);
    if (status != LOCUS_OK)
        return status;
    status = look_at_new(m);
    for (size_t i = 0; status == LOCUS_OK && i < m->count; i++)
        status = take(m, &m->items[i]);
    if (status != LOCUS_OK) {
        lab_store_rollback(m->store);
        return status;
    }
    /* Nothing is refused any more. Best parameters go before a row says that they are another run's. */
    for (size_t i = 0; i < m->count; i++)
        if (m->items[i].drop_best)
            lab_run_remove_file(m->request->folder, m->items[i].to_name, LAB_RUN_BEST);
    return lab_store_commit(m->store, m->error);
}

/* ---- files ---- */

static bool has_best(const char *folder, const char *name) {
    char path[PATH_MAX];
    return snprintf(path, sizeof path, "%s/%s/" LAB_RUN_BEST, folder, name) < (int)sizeof path &&
           access(path, F_OK) == 0;
}

static locus_status bring_files(const merge *m, const item *from) {
    const bool finished = from->run.state == LAB_RUN_DONE;
    if ((from->written || from->marked) && finished) {
        if (from->apart && !has_best(m->request->folder, from->to_name)) /* what is there is of a run that is gone */
            lab_run_remove(m->request->folder, from->to_name);
        else /* it needs no checkpoint to go on from */
            lab_run_remove_file(m->request->folder, from->to_name, LAB_RUN_LAST);
    }
    if (!m->request->checkpoints)
        return LOCUS_OK;
    bool whole = false;
    const lab_run_copy copy = {.from_folder = m->other_folder,
                               .from = from->run.name,
                               .to_folder = m->request->folder,
                               .to = from->to_name,
                               .finished = finished,
                               .anew = from->written};
    const locus_status status = lab_run_copy_files(&copy, &whole, m->error);
    m->result->bare += status == LOCUS_OK && !whole;
    return status == LOCUS_OK && whole ? execute_pair(m, "DELETE FROM main.imported WHERE run = ?1", from->to, 0)
                                       : status;
}

/* Files of a run that brought nothing serve one that is as far. */
static locus_status bring_files_if_alike(const merge *m, const item *from) {
    lab_run here;
    const locus_status status = lab_store_run_at(m->store, from->to, &here, m->error);
    const bool alike = here.id != 0 && (here.state == LAB_RUN_DONE) == (from->run.state == LAB_RUN_DONE);
    lab_run_free(&here);
    return status == LOCUS_OK && alike ? bring_files(m, from) : status;
}

static locus_status bring_all_files(const merge *m) {
    locus_status status = LOCUS_OK;
    for (size_t i = 0; status == LOCUS_OK && i < m->count; i++)
        if (m->items[i].to != 0 && (m->items[i].written || m->items[i].marked || m->request->checkpoints))
            status = bring_files_if_alike(m, &m->items[i]);
    return status;
}

/* ---- the other store ---- */

static locus_status check_other(const merge *m) {
    struct stat here, there;
    if (stat(m->store->path, &here) == 0 && stat(m->request->path, &there) == 0 && here.st_dev == there.st_dev &&
        here.st_ino == there.st_ino) {
        return lab_fail(m->error, LOCUS_ERROR_ARGUMENT, "path", "'%s' is the store itself: there is nothing to import",
                        m->request->path);
    }
    errno = 0;
    if (lab_store_is_one(m->request->path))
        return LOCUS_OK;
    return errno == ENOMEM ? lab_fail_memory(m->error, "a file's beginning")
                           : lab_fail_file(m->error, m->request->path, "is no run store: it does not begin as one");
}

static locus_status list_items(merge *m) {
    lab_run *runs;
    locus_status status = lab_store_runs(m->other, NULL, &runs, &m->count, m->error);
    if (status != LOCUS_OK)
        return status;
    m->items = calloc(m->count + 1, sizeof *m->items);
    for (size_t i = 0; i < m->count; i++)
        if (m->items != NULL)
            m->items[i] = (item){.run = runs[i], .lock = -1, .lock_here = -1};
        else
            lab_run_free(&runs[i]);
    free(runs);
    m->count = m->items != NULL ? m->count : 0;
    return m->items != NULL ? LOCUS_OK : lab_fail_memory(m->error, "a list of runs");
}

static locus_status attach(const merge *m) {
    /* Each row of a curve belongs to a run that was just written: what SQLite would look up for each is known. */
    const locus_status status = lab_store_execute(m->store, "PRAGMA foreign_keys = OFF", m->error);
    return status == LOCUS_OK ? lab_store_do(m->store, m->error, "ATTACH ? AS part", "t", m->other->source) : status;
}

static void detach(const merge *m) {
    sqlite3_exec(m->store->database, "DETACH part", NULL, NULL, NULL);
    sqlite3_exec(m->store->database, "PRAGMA foreign_keys = ON", NULL, NULL, NULL);
}

static void free_merge(merge *m) {
    for (size_t i = 0; i < m->count; i++) {
        if (m->items[i].lock >= 0)
            close(m->items[i].lock);
        if (m->items[i].lock_here >= 0)
            close(m->items[i].lock_here);
        lab_run_free(&m->items[i].run);
        free(m->items[i].to_name);
    }
    free(m->items);
    free(m->other_folder);
    lab_store_close(&m->other);
}

/* Each run that is replaced, and each unfinished one, keeps a lock open. */
static void allow_files(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* Each file that comes is a transaction of its own, which the log makes cheaper. */
static locus_status prepare(const merge *m) {
    bool large;
    if (m->request->checkpoints)
        return LOCUS_OK;
    const locus_status status = lab_store_large(m->other, &large, m->error);
    return status == LOCUS_OK ? lab_store_fill(m->store, large, m->error) : status;
}

locus_status lab_store_merge(lab_store *store, const lab_merge_request *request, lab_merge_result *result,
                             locus_error *error) {
    merge m = {.store = store, .request = request, .result = result, .error = error};
    *result = (lab_merge_result){0};
    allow_files();
    locus_status status = check_other(&m);
    status = status == LOCUS_OK ? lab_store_open_reading(&m.other, request->path, error) : status;
    if (status == LOCUS_OK && (m.other_folder = lab_folder_of(request->path)) == NULL)
        status = lab_fail_memory(error, "a path");
    status = status == LOCUS_OK ? list_items(&m) : status;
    if (status == LOCUS_OK) {
        m.measured = m.other->older ? "(" LAB_STORE_POINTS("part") ")" : "part.evaluation";
        status = prepare(&m);
        status = status == LOCUS_OK ? attach(&m) : status;
        status = status == LOCUS_OK ? take_all(&m) : status;
        detach(&m);
    }
    if (status == LOCUS_OK)
        status = bring_all_files(&m);
    else
        *result = (lab_merge_result){0};
    free_merge(&m);
    return status;
}
