/* SPDX-License-Identifier: MIT */
/* See runs_words.h. */
#include "runs_words.h"

#include "io/csv.h"
#include "output.h"
#include "train/store/run_folder.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- what must not happen while somebody trains the run ---- */

typedef int change(const cli_store *store, const lab_run *run, const char *name);

/* Changes the run that an operand names. One that was imported, or whose name does not fit, has no folder to hold. */
static int change_run(const cli_store *store, const char *operand, change *act, const char *name) {
    lab_run run;
    int lock = -1, status = cli_store_find(store, operand, &run);
    if (status != 0)
        return status;
    if (!run.imported && lab_run_name_fits(run.name))
        status = cli_done(lab_run_hold(store->folder, run.name, &lock, &cli_fault));
    status = status ? status : act(store, &run, name);
    if (lock >= 0)
        close(lock);
    lab_run_free(&run);
    return status;
}

static int delete_run(const cli_store *store, const lab_run *run, const char *unused) {
    (void)unused;
    if (lab_store_run_delete(store->store, run->id, &cli_fault) != LOCUS_OK)
        return cli_error(&cli_fault);
    if (!run->imported) /* such a run has no files: those of its name are of a run of another store */
        lab_run_remove(store->folder, run->name); /* a folder that holds more stays */
    cli_note("deleted run %" PRId64 " (%s)", run->id, run->name);
    return 0;
}

int cli_runs_delete(const cli_store *store, const cli_arguments *arguments) {
    int status = 0;
    for (size_t i = 1; status == 0 && i < arguments->operand_count; i++)
        status = change_run(store, arguments->operands[i], delete_run, NULL);
    return status;
}

static int rename_run(const cli_store *store, const lab_run *run, const char *name) {
    locus_status status = lab_store_begin(store->store, &cli_fault);
    if (status != LOCUS_OK)
        return cli_error(&cli_fault);
    status = lab_store_run_rename(store->store, run->id, name, &cli_fault);
    if (status == LOCUS_OK && !run->imported)
        status = lab_run_move(store->folder, run->name, name, &cli_fault);
    if (status == LOCUS_OK) {
        status = lab_store_commit(store->store, &cli_fault);
        if (status != LOCUS_OK && !run->imported && lab_run_move(store->folder, name, run->name, NULL) != LOCUS_OK)
            cli_note("the folder of '%s' is called '%s' now: rename it back", run->name, name);
    } else {
        lab_store_rollback(store->store);
    }
    if (status == LOCUS_OK)
        cli_note("run %" PRId64 " (%s) is called %s now", run->id, run->name, name);
    return cli_done(status);
}

int cli_runs_rename(const cli_store *store, const cli_arguments *arguments) {
    if (arguments->operand_count != 3)
        return cli_usage_error("runs rename: which run, and what is it to be called? 'locus runs rename RUN NAME'");
    const char *name = arguments->operands[2];
    const int status = cli_done(lab_run_name_check(name, &cli_fault));
    return status ? status : change_run(store, arguments->operands[1], rename_run, name);
}

/* ---- note ---- */

int cli_runs_note(const cli_store *store, const cli_arguments *arguments) {
    enum { MOST = 1 << 16 };
    lab_run run;
    if (arguments->operand_count != 3)
        return cli_usage_error("runs note: which run, and what about it? 'locus runs note RUN TEXT', \"\" removes one");
    if (strlen(arguments->operands[2]) > MOST)
        return cli_usage_error("runs note: a note has at most %d bytes", MOST);
    int status = cli_store_find(store, arguments->operands[1], &run);
    if (status != 0)
        return status;
    if (lab_store_run_note(store->store, run.id, arguments->operands[2], &cli_fault) != LOCUS_OK)
        status = cli_error(&cli_fault);
    lab_run_free(&run);
    return status;
}

/* ---- diff ---- */

static char *text_of(const cJSON *item) {
    char digits[32];
    if (cJSON_IsNumber(item)) {
        lab_number_exact(item->valuedouble, digits);
        return strdup(digits);
    }
    return cJSON_IsString(item) ? strdup(item->valuestring) : item != NULL ? cJSON_PrintUnformatted(item) : strdup("–");
}

/* A row if the two differ; either may lack it: a configuration does not write what nobody asked for. */
static void add_difference(lab_table *table, const char *group, const char *name, const cJSON *a, const cJSON *b) {
    char *texts[2] = {text_of(a), text_of(b)};
    const cJSON *const items[2] = {a, b};
    char shorts[2][32] = {"", ""}; /* of numbers, unless the digits that tell them apart are behind these */
    for (int i = 0; i < 2; i++)
        if (cJSON_IsNumber(items[i]))
            lab_number_short(items[i]->valuedouble, 6, shorts[i]);
    const bool same = strcmp(shorts[0], shorts[1]) == 0;
    if (texts[0] == NULL || texts[1] == NULL) {
        lab_table_lose(table);
    } else if (strcmp(texts[0], texts[1]) != 0) {
        lab_table_cell(table, "%s%s%s", group, *group != '\0' ? " " : "", name);
        for (int i = 0; i < 2; i++)
            if (cJSON_IsNumber(items[i]))
                lab_table_number(table, items[i]->valuedouble, "%s", same ? texts[i] : shorts[i]);
            else if (items[i] == NULL || cJSON_IsNull(items[i]))
                lab_table_none(table);
            else
                lab_table_cell(table, "%s", texts[i]);
    }
    free(texts[0]);
    free(texts[1]);
}

/* The members of both, those of `a` first, in the order in which they stand there. */
static void add_differences(lab_table *table, const char *group, const cJSON *a, const cJSON *b) {
    const cJSON *item;
    cJSON_ArrayForEach(item, a)
        add_difference(table, group, item->string, item, cJSON_GetObjectItemCaseSensitive(b, item->string));
    cJSON_ArrayForEach(item, b) if (cJSON_GetObjectItemCaseSensitive(a, item->string) == NULL)
        add_difference(table, group, item->string, NULL, item);
}

static void add_score_differences(lab_table *table, const cJSON *a, const cJSON *b) {
    const cJSON *set;
    cJSON_ArrayForEach(set, a)
        add_differences(table, set->string, set, cJSON_GetObjectItemCaseSensitive(b, set->string));
    cJSON_ArrayForEach(set, b) if (cJSON_GetObjectItemCaseSensitive(a, set->string) == NULL)
        add_differences(table, set->string, NULL, set);
}

static void print_differences(const cJSON *a, const cJSON *b) {
    char names[2][1024];
    const cJSON *const both[2] = {a, b};
    static const char *const heads[3] = {"what", "", ""};
    for (int i = 0; i < 2; i++) {
        const cJSON *name = cJSON_GetObjectItemCaseSensitive(both[i], "name");
        snprintf(names[i], sizeof names[i], "%.400s", cJSON_IsString(name) ? name->valuestring : "");
    }
    lab_table *table = lab_table_create(heads, 3);
    for (size_t i = 0; i < 2; i++)
        lab_table_name(table, i + 1, names[i]);
    static const char *const columns[] = {"version", "machine", "state", "steps_done"};
    add_differences(table, "", cJSON_GetObjectItemCaseSensitive(a, "config"),
                    cJSON_GetObjectItemCaseSensitive(b, "config"));
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        add_difference(table, "", columns[i], cJSON_GetObjectItemCaseSensitive(a, columns[i]),
                       cJSON_GetObjectItemCaseSensitive(b, columns[i]));
    add_score_differences(table, cJSON_GetObjectItemCaseSensitive(a, "scores"),
                          cJSON_GetObjectItemCaseSensitive(b, "scores"));
    cli_table_print(table);
}

int cli_runs_diff(const cli_store *store, const cli_arguments *arguments) {
    lab_run runs[2] = {{0}};
    cJSON *json[2] = {NULL, NULL};
    if (arguments->operand_count != 3)
        return cli_usage_error("runs diff: which two runs? 'locus runs diff RUN RUN'");
    int status = 0;
    for (size_t i = 0; status == 0 && i < 2; i++) {
        status = cli_store_find(store, arguments->operands[i + 1], &runs[i]);
        json[i] = status == 0 ? lab_run_json(store->store, &runs[i], &cli_fault) : NULL;
        status = status == 0 && json[i] == NULL ? cli_error(&cli_fault) : status;
    }
    if (status == 0)
        print_differences(json[0], json[1]);
    for (size_t i = 0; i < 2; i++) {
        cJSON_Delete(json[i]);
        lab_run_free(&runs[i]);
    }
    return status;
}
