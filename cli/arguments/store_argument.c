/* SPDX-License-Identifier: MIT */
/* The run store that a command names, its runs found by their names or beginnings, and trained models out of it. */
#include "store_argument.h"
#include "io/file.h"
#include "io/json.h"
#include "output.h"
#include "train/store/run_folder.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int cli_store_open(cli_store *store, const cli_arguments *arguments, bool make) {
    const char *path = cli_text(arguments, "store");
    *store = (cli_store){0};
    if (path[0] == '\0' || path[0] == ':') /* SQLite's names of databases that vanish */
        return cli_usage_error("--store '%s' is no file", path);
    if (!make && access(path, F_OK) != 0)
        return cli_failure("there is no run store '%s': 'locus train' makes one, --store names another", path);
    store->folder = lab_folder_of(path);
    if (store->folder == NULL)
        return cli_failure("out of memory");
    const locus_status status = make ? lab_store_open(&store->store, path, &cli_fault)
                                     : lab_store_open_reading(&store->store, path, &cli_fault);
    if (status != LOCUS_OK) {
        cli_store_close(store);
        return cli_error(&cli_fault);
    }
    return 0;
}

void cli_store_close(cli_store *store) {
    lab_store_close(&store->store);
    free(store->folder);
    store->folder = NULL;
}

/* Runs whose name begins with the operand: of one the run is taken; of several the first few are named. */
typedef struct beginning {
    size_t found;
    char names[200]; /* "a, b, c" */
} beginning;

static void note_name(beginning *b, const char *name) {
    enum { NAMED = 3 };
    size_t used = strlen(b->names);
    if (b->found <= NAMED)
        snprintf(b->names + used, sizeof b->names - used, "%s%.60s", b->found == 1 ? "" : ", ", name);
    else if (b->found == NAMED + 1)
        snprintf(b->names + used, sizeof b->names - used, ", …");
}

static locus_status find_beginning(const cli_store *store, const char *operand, beginning *b, lab_run *run,
                                   locus_error *error) {
    lab_run *runs;
    size_t count, last = 0;
    *b = (beginning){0};
    const locus_status status = lab_store_runs(store->store, NULL, &runs, &count, error);
    for (size_t i = 0; i < count; i++) {
        if (operand[0] != '\0' && strncmp(runs[i].name, operand, strlen(operand)) == 0) {
            b->found++;
            note_name(b, runs[i].name);
            last = i;
        }
    }
    if (b->found == 1) {
        *run = runs[last];
        memset(&runs[last], 0, sizeof runs[last]);
    }
    lab_runs_free(runs, count);
    return status;
}

int cli_store_find(const cli_store *store, const char *operand, lab_run *run) {
    locus_error error, other;
    beginning b;
    if (lab_store_run_find(store->store, operand, run, &error) == LOCUS_OK)
        return 0;
    if (error.status != LOCUS_ERROR_ARGUMENT)
        return cli_error(&error);
    if (find_beginning(store, operand, &b, run, &other) != LOCUS_OK)
        return cli_error(&other);
    if (b.found > 1) {
        return cli_failure("%zu runs begin with '%s': %s; give more of the name, or a number of 'locus runs'", b.found,
                           operand, b.names);
    }
    return b.found == 1 ? 0 : cli_error(&error);
}

int cli_trained_open(cli_trained *trained, const cli_arguments *arguments) {
    *trained = (cli_trained){.task = NULL};
    int status = cli_store_open(&trained->store, arguments, false);
    status = status ? status : cli_store_find(&trained->store, arguments->operands[0], &trained->run);
    if (status != 0)
        return status;
    trained->task = lab_task_find(trained->run.task);
    return trained->task != NULL ? 0
                                 : cli_failure("the run '%s' is of the task '%s', which this version does not have",
                                               trained->run.name, trained->run.task);
}

int cli_trained_load(cli_trained *trained) {
    const lab_run *run = &trained->run;
    const char *store = trained->store.folder;
    const int status = cli_done(lab_train_load(run, store, &trained->config, &trained->model, &cli_fault));
    if (status != 0)
        return status;
    trained->folder = lab_run_path(store, run->name, NULL);
    return trained->folder != NULL ? 0 : cli_failure("out of memory");
}

void cli_trained_close(cli_trained *trained) {
    lab_model_destroy(&trained->model);
    free(trained->folder);
    lab_run_free(&trained->run);
    cli_store_close(&trained->store);
}

int cli_summary_print(const lab_summary *summary, const char *page) {
    lab_shown shown;
    if (cli_form == LAB_TABLE_JSON) {
        cJSON *root = lab_summary_json(summary);
        if (root != NULL && page != NULL)
            cJSON_AddStringToObject(root, "page", page);
        return cli_json_print(root);
    }
    int status = cli_done(lab_summary_show(&shown, summary, &cli_fault));
    status = status ? status : cli_shown_print(&shown);
    if (status == 0 && page != NULL)
        cli_say("\npage: %s\n", page);
    return status;
}
