/* SPDX-License-Identifier: MIT */
#include "store_argument.h"
#include "io/file.h"
#include "io/json.h"
#include "output.h"
#include "train/store/run_folder.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int cli_store_open(cli_store *store, const cli_arguments *arguments, bool make) {
    const char *path = cli_text(arguments, "store");
    *store = (cli_store){0};
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

static void free_runs(lab_run *runs, size_t count) {
    for (size_t i = 0; i < count; i++)
        lab_run_free(&runs[i]);
    free(runs);
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
    free_runs(runs, count);
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

void cli_trained_sets(const cli_arguments *arguments, lab_task_options *data) {
    data->path = cli_text(arguments, "data");
    data->dev = cli_text(arguments, "dev");
    data->test = cli_text(arguments, "test");
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

static void add_finals(cJSON *root, const lab_final *finals, size_t count) {
    cJSON *sets = cJSON_AddObjectToObject(root, "scores");
    for (size_t i = 0; i < count; i++) {
        cJSON *set = cJSON_GetObjectItemCaseSensitive(sets, finals[i].set);
        if (set == NULL)
            set = cJSON_AddObjectToObject(sets, finals[i].set);
        cJSON_AddNumberToObject(set, finals[i].name, finals[i].value);
    }
}

enum { OPTIONAL = 13 }; /* a run need not have the texts from there on */

static cJSON *make_run_json(const lab_run *run, const lab_final *finals, size_t count) {
    cJSON *root = cJSON_CreateObject();
    const struct {
        const char *name, *value;
    } texts[] = {{"name", run->name},
                 {"task", run->task},
                 {"encoding", run->encoding},
                 {"setup", run->setup},
                 {"embedding_init", run->embedding_init},
                 {"budget", run->budget},
                 {"state", lab_run_state_name(run->state)},
                 {"message", run->message},
                 {"command", run->command},
                 {"version", run->version},
                 {"machine", run->machine},
                 {"started", run->started},
                 {"ended", run->ended},
                 {"note", run->note},
                 {"parent", run->parent}};
    const struct {
        const char *name;
        double value;
    } numbers[] = {{"seed", (double)run->seed},
                   {"data_seed", (double)run->data_seed},
                   {"steps_total", (double)run->steps_total},
                   {"steps_done", (double)run->steps_done},
                   {"tokens_seen", (double)run->tokens_seen},
                   {"wall_seconds", run->wall_seconds},
                   {"tokens_per_second", run->tokens_per_second},
                   {"peak_bytes", (double)run->peak_bytes},
                   {"parameters", (double)run->parameters}};
    cJSON_AddNumberToObject(root, "id", (double)run->id);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (i < OPTIONAL || (texts[i].value != NULL && texts[i].value[0] != '\0'))
            cJSON_AddStringToObject(root, texts[i].name, texts[i].value);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        cJSON_AddNumberToObject(root, numbers[i].name, numbers[i].value);
    cJSON *config = cJSON_Parse(run->config);
    if (config != NULL)
        cJSON_AddItemToObject(root, "config", config);
    else /* what cannot be read is shown as it is */
        cJSON_AddStringToObject(root, "config", run->config);
    add_finals(root, finals, count);
    return root;
}

cJSON *cli_run_json(const cli_store *store, const lab_run *run) {
    lab_final *finals;
    size_t count;
    if (lab_store_finals(store->store, run->id, &finals, &count, &cli_fault) != LOCUS_OK) {
        cli_error(&cli_fault);
        return NULL;
    }
    const size_t losses = lab_json_losses();
    cJSON *root = make_run_json(run, finals, count);
    free(finals);
    if (lab_json_losses() != losses) { /* what could not be added is missing in silence */
        cJSON_Delete(root);
        root = NULL;
        cli_failure("out of memory for what is known of run %s", run->name);
    }
    return root;
}
