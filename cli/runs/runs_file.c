/* SPDX-License-Identifier: MIT */
/* Runs of a store written into a file, and runs of a file, JSON or another store, taken into a store. */
#include "runs_words.h"

#include "io/folder.h"
#include "output.h"
#include "train/store/run_export.h"
#include "train/store/run_file.h"
#include "train/store/store_merge.h"

#include <stdlib.h>
#include <string.h>

/* ---- export ---- */

/* Runs that are named come in the order in which they are named. */
static int find_named(const cli_store *store, const cli_arguments *arguments, lab_run **runs, size_t *count) {
    *count = 0;
    *runs = calloc(arguments->operand_count, sizeof **runs);
    if (*runs == NULL)
        return cli_failure("out of memory");
    for (size_t i = 1; i < arguments->operand_count; i++) {
        lab_run *run = &(*runs)[*count];
        const int status = cli_store_find(store, arguments->operands[i], run);
        if (status != 0)
            return status;
        (*count)++;
        if (run->state != LAB_RUN_DONE)
            return cli_failure("the run '%s' is not finished: only finished runs are exported", run->name);
        for (size_t j = 0; j + 1 < *count; j++)
            if ((*runs)[j].id == run->id)
                return cli_usage_error("runs export: '%s' is named twice", arguments->operands[i]);
    }
    return 0;
}

static int find_runs(const cli_store *store, const cli_arguments *arguments, lab_run **runs, size_t *count) {
    const lab_run_filter filter = {.task = cli_text(arguments, "task"), .encoding = cli_text(arguments, "encoding")};
    if (arguments->operand_count > 1)
        return find_named(store, arguments, runs, count);
    return cli_done(lab_store_runs(store->store, &filter, runs, count, &cli_fault));
}

static locus_status write_runs(const cli_arguments *arguments, lab_store *store, const lab_run *runs, size_t count,
                               locus_error *error) {
    const char *path = cli_text(arguments, "output"), *format = cli_text(arguments, "format");
    if (strcmp(format, "csv") == 0)
        return lab_run_export_csv(store, runs, count, path, error);
    if (strcmp(format, "tensorboard") == 0)
        return lab_run_export_events(store, runs, count, path, error);
    return lab_run_file_write(store, runs, count, NULL, path, error);
}

int cli_runs_export(const cli_store *store, const cli_arguments *arguments) {
    const char *path = cli_text(arguments, "output");
    lab_run *runs = NULL;
    size_t count = 0, done = 0;
    if (path == NULL)
        return cli_usage_error("runs export: where to? -o FILE is missing");
    int status = find_runs(store, arguments, &runs, &count);
    for (size_t i = 0; i < count; i++)
        done += runs[i].state == LAB_RUN_DONE;
    if (status == 0 && done == 0)
        status = cli_failure("there is no finished run to export");
    status = status ? status : cli_done(write_runs(arguments, store->store, runs, count, &cli_fault));
    if (status == 0)
        cli_note("exported %zu run%s to %s", done, done == 1 ? "" : "s", path);
    if (status == 0 && done < count) {
        cli_note("%zu that %s not finished %s left out", count - done, count - done == 1 ? "is" : "are",
                 count - done == 1 ? "is" : "are");
    }
    lab_runs_free(runs, count);
    return status;
}

/* ---- import ---- */

/* "; 3 of them checkpoints" or nothing: what there is none of is not spoken of. */
static void add_count(char *text, size_t size, size_t count, const char *what) {
    const size_t used = strlen(text);
    if (count > 0)
        snprintf(text + used, size - used, "; %zu %s", count, what);
}

static int import_store(const cli_store *store, const cli_arguments *arguments, const char *path) {
    const lab_merge_request request = {
        .path = path, .folder = store->folder, .checkpoints = cli_flag(arguments, "checkpoints")};
    lab_merge_result result;
    char more[320] = "";
    if (lab_store_merge(store->store, &request, &result, &cli_fault) != LOCUS_OK)
        return cli_error(&cli_fault);
    add_count(more, sizeof more, result.known, "there already");
    add_count(more, sizeof more, result.replaced, "more of what was there unfinished");
    add_count(more, sizeof more, result.unfinished, "not finished, left out (--checkpoints brings them)");
    add_count(more, sizeof more, result.bare, "without a checkpoint beside it");
    cli_note("%s: imported %zu run%s%s", path, result.added, result.added == 1 ? "" : "s", more);
    return 0;
}

static int import_json(const cli_store *store, const cli_arguments *arguments, const char *path) {
    lab_run_file_content content;
    if (cli_flag(arguments, "checkpoints"))
        return cli_failure("'%s' has no checkpoints: it is no run store; leave --checkpoints out", path);
    if (lab_run_file_read(store->store, path, &content, &cli_fault) != LOCUS_OK)
        return cli_error(&cli_fault);
    cJSON_Delete(content.table);
    cli_note("%s: imported %zu run%s%s", path, content.added, content.added == 1 ? "" : "s",
             content.known > 0 ? "; the others were there already" : "");
    return 0;
}

static int import_file(const cli_store *store, const cli_arguments *arguments, const char *path) {
    const bool named = lab_name_ends(path, ".db"); /* one that is empty or damaged, too */
    return (named || lab_store_is_one(path) ? import_store : import_json)(store, arguments, path);
}

int cli_runs_import(const cli_arguments *arguments) {
    cli_store store;
    if (arguments->operand_count < 2)
        return cli_usage_error(
            "runs import: which file? Run stores, or what 'locus runs export' and 'locus reproduce' write");
    int status = cli_store_open(&store, arguments, true);
    if (status != 0)
        return status;
    for (size_t i = 1; status == 0 && i < arguments->operand_count; i++)
        status = import_file(&store, arguments, arguments->operands[i]);
    cli_store_close(&store);
    return status;
}
