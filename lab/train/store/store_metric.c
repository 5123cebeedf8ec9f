/* SPDX-License-Identifier: MIT */
/* Metrics by step and final scores of the run store. A value that is not finite is stored as null and read as NaN. */
#include "io/fail.h"
#include "io/grow.h"
#include "train/store/evaluation_text.h"
#include "train/store/store_sql.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double column_value(sqlite3_stmt *statement, int column) {
    return sqlite3_column_type(statement, column) == SQLITE_NULL ? (double)NAN
                                                                 : sqlite3_column_double(statement, column);
}

/* *tree: what is known of a step, NULL if nothing is. */
static locus_status read_evaluation(lab_store *store, int64_t run, uint64_t step, cJSON **tree, locus_error *error) {
    sqlite3_stmt *statement;
    *tree = NULL;
    const locus_status status =
        lab_store_ask(store, &statement, error, "SELECT metrics FROM evaluation WHERE run = ? AND step = ?", "ii", run,
                      (int64_t)step);
    if (status != LOCUS_OK)
        return status;
    int code = sqlite3_step(statement);
    if (code == SQLITE_ROW) {
        const char *text = lab_store_text(statement, 0);
        code = text != NULL ? lab_evaluation_read(text, tree) : SQLITE_NOMEM;
    }
    sqlite3_finalize(statement);
    return code == SQLITE_OK || code == SQLITE_DONE ? LOCUS_OK : lab_store_fail(store, code, error);
}

/* The values of a tree with others behind them. NULL: out of memory. free() */
static lab_measured *join(const cJSON *tree, const lab_measured *values, size_t *count) {
    const size_t there = (size_t)cJSON_GetArraySize(tree);
    lab_measured *all = malloc((there + *count + 1) * sizeof *all);
    if (all == NULL)
        return NULL;
    size_t i = 0;
    for (const cJSON *member = tree != NULL ? tree->child : NULL; member != NULL; member = member->next)
        all[i++] = (lab_measured){member->string, lab_evaluation_value(member)};
    for (size_t k = 0; k < *count; k++)
        all[i++] = values[k];
    *count = i;
    return all;
}

locus_status lab_store_measured(lab_store *store, int64_t run, uint64_t step, const lab_measured *values, size_t count,
                                locus_error *error) {
    cJSON *tree;
    locus_status status = read_evaluation(store, run, step, &tree, error);
    if (status != LOCUS_OK)
        return status;
    lab_measured *all = join(tree, values, &count);
    char *text = all != NULL ? lab_evaluation_write(all, count) : NULL;
    status = text == NULL ? lab_fail_memory(error, "what was measured")
                          : lab_store_do(store, error, "INSERT OR REPLACE INTO evaluation VALUES(?,?,?)", "iit", run,
                                         (int64_t)step, text);
    cJSON_free(text);
    free(all);
    cJSON_Delete(tree);
    return status;
}

locus_status lab_store_metrics_cut(lab_store *store, int64_t run, uint64_t step, locus_error *error) {
    return lab_store_do(store, error, "DELETE FROM evaluation WHERE run = ? AND step > ?", "ii", run, (int64_t)step);
}

locus_status lab_store_metrics_copy(lab_store *store, int64_t from, int64_t to, uint64_t step, locus_error *error) {
    return lab_store_do(store, error,
                        "INSERT OR REPLACE INTO evaluation SELECT ?2, step, metrics FROM evaluation WHERE run = ?1 AND "
                        "step <= ?3",
                        "iii", from, to, (int64_t)step);
}

/* ---- lists ---- */

/* A list as it is read: its items, and their texts, each with its zero, one behind the other. */
typedef struct list {
    void *items;
    size_t size, count, room; /* size: bytes of an item */
    char *text;
    size_t used, text_room;
} list;

/* Fills an item from a row; false without memory. */
typedef bool take_row(list *to, sqlite3_stmt *statement, void *item);

static void list_free(list *read) {
    free(read->items);
    free(read->text);
    *read = (list){0};
}

/* All rows of a statement, if it came to be `asked`. After a failure the list is empty. */
static locus_status read_list(lab_store *store, locus_status asked, sqlite3_stmt *statement, take_row *take, list *read,
                              locus_error *error) {
    int code;
    if (asked != LOCUS_OK)
        return asked;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW &&
           lab_grow(&read->items, read->count, &read->room, read->size, 64) &&
           take(read, statement, (char *)read->items + read->count * read->size))
        read->count++;
    sqlite3_finalize(statement);
    if (code == SQLITE_DONE)
        return LOCUS_OK;
    list_free(read);
    return lab_store_fail(store, code == SQLITE_ROW ? SQLITE_NOMEM : code, error); /* a row that was not taken */
}

/* *at: where a column's text stands. */
static bool add_text(list *to, sqlite3_stmt *statement, int column, size_t *at) {
    const char *text = lab_store_text(statement, column);
    if (text == NULL)
        return false;
    *at = to->used;
    if (!lab_grow_text(&to->text, &to->used, &to->text_room, text, strlen(text)))
        return false;
    to->used++; /* the zero */
    return true;
}

/* A block for as many items of `size` bytes, with the list's texts behind them. NULL: out of memory. */
static void *make_block(const list *of, size_t size, char **text) {
    char *block = malloc((of->count + 1) * size + of->used);
    *text = block != NULL ? block + (of->count + 1) * size : NULL;
    if (block != NULL && of->used > 0)
        memcpy(*text, of->text, of->used);
    return block;
}

/* ---- metrics ---- */

/* The point of a row, if it has one of that name; SQLite's result code. */
static int take_point(list *to, sqlite3_stmt *statement, const char *name) {
    double value;
    const char *text = lab_store_text(statement, 1);
    const int code = text != NULL ? lab_evaluation_find(text, name, &value) : SQLITE_NOMEM;
    if (code != SQLITE_ROW)
        return code;
    if (!lab_grow(&to->items, to->count, &to->room, to->size, 64))
        return SQLITE_NOMEM;
    ((lab_metric *)to->items)[to->count++] = (lab_metric){(uint64_t)sqlite3_column_int64(statement, 0), value};
    return SQLITE_DONE;
}

static bool take_older_point(list *to, sqlite3_stmt *statement, void *item) {
    (void)to;
    *(lab_metric *)item = (lab_metric){(uint64_t)sqlite3_column_int64(statement, 0), column_value(statement, 1)};
    return true;
}

static locus_status read_older(lab_store *store, int64_t run, const char *name, list *read, locus_error *error) {
    sqlite3_stmt *statement;
    const locus_status status =
        lab_store_ask(store, &statement, error,
                      "SELECT step, value FROM metric WHERE run = ? AND name = ? ORDER BY step", "it", run, name);
    return read_list(store, status, statement, take_older_point, read, error);
}

static locus_status read_curve(lab_store *store, int64_t run, const char *name, list *read, locus_error *error) {
    sqlite3_stmt *statement;
    int code;
    const locus_status status = lab_store_ask(
        store, &statement, error, "SELECT step, metrics FROM evaluation WHERE run = ? ORDER BY step", "i", run);
    if (status != LOCUS_OK)
        return status;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW &&
           (code = take_point(read, statement, name)) == SQLITE_DONE) {
    }
    sqlite3_finalize(statement);
    if (code == SQLITE_DONE)
        return LOCUS_OK;
    list_free(read);
    return lab_store_fail(store, code, error);
}

locus_status lab_store_metrics(lab_store *store, int64_t run, const char *name, lab_metric **metrics, size_t *count,
                               locus_error *error) {
    list read = {.size = sizeof **metrics};
    const locus_status status =
        store->older ? read_older(store, run, name, &read, error) : read_curve(store, run, name, &read, error);
    *metrics = read.items;
    *count = read.count;
    return status;
}

static bool take_name(list *to, sqlite3_stmt *statement, void *item) {
    return add_text(to, statement, 0, item);
}

locus_status lab_store_metric_names(lab_store *store, int64_t run, const char ***names, size_t *count,
                                    locus_error *error) {
    sqlite3_stmt *statement;
    list read = {.size = sizeof(size_t)};
    char *text = NULL;
    const char *sql = store->older
                          ? "SELECT DISTINCT name FROM metric WHERE run = ? ORDER BY name"
                          : "SELECT DISTINCT key FROM evaluation JOIN json_each(metrics) WHERE run = ? ORDER BY key";
    locus_status status = lab_store_ask(store, &statement, error, sql, "i", run);
    status = read_list(store, status, statement, take_name, &read, error);
    *names = status == LOCUS_OK ? make_block(&read, sizeof **names, &text) : NULL;
    *count = *names != NULL ? read.count : 0;
    for (size_t i = 0; i < *count; i++)
        (*names)[i] = text + ((const size_t *)read.items)[i];
    list_free(&read);
    return status == LOCUS_OK && *names == NULL ? lab_store_fail(store, SQLITE_NOMEM, error) : status;
}

/* ---- scores ---- */

locus_status lab_store_final_set(lab_store *store, int64_t run, const char *set, const char *name, double value,
                                 locus_error *error) {
    return lab_store_do(store, error, "INSERT OR REPLACE INTO final(run, \"set\", name, value) VALUES(?,?,?,?)", "ittd",
                        run, set, name, value);
}

typedef struct final_row {
    size_t set, name; /* where in the list's texts */
    double value;
} final_row;

static bool take_final(list *to, sqlite3_stmt *statement, void *item) {
    final_row *row = item;
    row->value = column_value(statement, 2);
    return add_text(to, statement, 0, &row->set) && add_text(to, statement, 1, &row->name);
}

locus_status lab_store_finals(lab_store *store, int64_t run, lab_final **finals, size_t *count, locus_error *error) {
    sqlite3_stmt *statement;
    list read = {.size = sizeof(final_row)};
    char *text = NULL;
    locus_status status =
        lab_store_ask(store, &statement, error,
                      "SELECT \"set\", name, value FROM final WHERE run = ? ORDER BY \"set\", name", "i", run);
    status = read_list(store, status, statement, take_final, &read, error);
    *finals = status == LOCUS_OK ? make_block(&read, sizeof **finals, &text) : NULL;
    *count = *finals != NULL ? read.count : 0;
    for (size_t i = 0; i < *count; i++) {
        const final_row *row = (const final_row *)read.items + i;
        (*finals)[i] = (lab_final){text + row->set, text + row->name, row->value};
    }
    list_free(&read);
    return status == LOCUS_OK && *finals == NULL ? lab_store_fail(store, SQLITE_NOMEM, error) : status;
}

static bool take_score(list *to, sqlite3_stmt *statement, void *item) {
    (void)to;
    *(lab_run_score *)item = (lab_run_score){sqlite3_column_int64(statement, 0), column_value(statement, 1)};
    return true;
}

locus_status lab_store_scores(lab_store *store, const char *set, const char *name, lab_run_score **scores,
                              size_t *count, locus_error *error) {
    sqlite3_stmt *statement;
    list read = {.size = sizeof **scores};
    locus_status status =
        lab_store_ask(store, &statement, error,
                      "SELECT run, value FROM final WHERE \"set\" = ? AND name = ? ORDER BY run", "tt", set, name);
    status = read_list(store, status, statement, take_score, &read, error);
    *scores = read.items;
    *count = read.count;
    return status;
}
