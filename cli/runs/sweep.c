/* SPDX-License-Identifier: MIT */
/* See sweep.h. */
#include "sweep.h"

#include "io/json.h"
#include "jobs/sweep_script.h"
#include "output.h"
#include "store_argument.h"
#include "task_options.h"
#include "train/configuration/config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- --only ---- */

static bool is_called(const lab_cell *cell, const char *word, size_t length) {
    char number[24];
    snprintf(number, sizeof number, "%zu", cell->number);
    return (strlen(number) == length && strncmp(number, word, length) == 0) ||
           (strlen(cell->name) == length && strncmp(cell->name, word, length) == 0);
}

/* Marks the cells of a list "3,copy-rope-…". */
static int mark(const lab_cells *cells, const char *list, bool *chosen) {
    for (const char *at = list;; at++) {
        const size_t length = strcspn(at, ",");
        bool found = false;
        for (size_t i = 0; i < cells->count; i++) {
            const bool called = is_called(&cells->cells[i], at, length);
            chosen[i] = chosen[i] || called;
            found = found || called;
        }
        if (!found) {
            return cli_usage_error("--only: there is no training '%.*s': they have the numbers 1 to %zu, and names; "
                                   "--list shows both",
                                   (int)length, at, cells->count);
        }
        at += length;
        if (*at == '\0')
            return 0;
    }
}

static void keep(lab_cells *cells, const bool *chosen) {
    size_t kept = 0;
    for (size_t i = 0; i < cells->count; i++) {
        if (!chosen[i])
            continue;
        lab_cell *cell = &cells->cells[kept++];
        if (cell != &cells->cells[i])
            *cell = cells->cells[i];
        cell->config.encoding = cell->config.model.encoding = cell->encoding;
    }
    cells->count = kept;
}

static int check_words(const cli_arguments *arguments) {
    const bool list = cli_flag(arguments, "list"), sbatch = cli_flag(arguments, "sbatch"),
               parallel = cli_flag(arguments, "parallel"), only = cli_given_by_user(arguments, "only");
    if (list + sbatch + parallel > 1)
        return cli_usage_error("--list, --sbatch and --parallel each print something else: give one of them");
    if (only && (sbatch || parallel))
        return cli_usage_error("--only: a script has all trainings, and passes over those that are done; leave it out");
    return 0;
}

int cli_sweep_choose(const cli_arguments *arguments, lab_cells *cells) {
    char **lists;
    const size_t count = cli_list(arguments, "only", &lists);
    int status = check_words(arguments);
    for (size_t i = 0; i < cells->count; i++)
        cells->cells[i].number = i + 1;
    if (status != 0 || count == 0)
        return status;
    bool *chosen = calloc(cells->count + 1, sizeof *chosen);
    if (chosen == NULL)
        return cli_failure("out of memory");
    for (size_t i = 0; status == 0 && i < count; i++)
        status = mark(cells, lists[i], chosen);
    if (status == 0)
        keep(cells, chosen);
    free(chosen);
    return status;
}

/* ---- --list ---- */

/* 0, or 1 after one line where the store cannot be read. */
static int describe(lab_store *store, const lab_cell *cell, char *text, size_t size) {
    lab_run run;
    locus_status found = store == NULL ? LOCUS_ERROR_ARGUMENT : lab_store_run_find(store, cell->name, &run, &cli_fault);
    if (found != LOCUS_OK) {
        snprintf(text, size, "not begun");
        return found == LOCUS_ERROR_ARGUMENT ? 0 : cli_error(&cli_fault);
    }
    if (run.state == LAB_RUN_DONE) {
        snprintf(text, size, "done");
    } else {
        snprintf(text, size, "%s at step %" PRIu64 " of %" PRIu64,
                 run.state == LAB_RUN_STARTED ? "begun, not finished," : lab_run_state_name(run.state), run.steps_done,
                 run.steps_total);
    }
    lab_run_free(&run);
    return 0;
}

static cJSON *make_object(const lab_cell *cell, const char *state) {
    cJSON *object = cJSON_CreateObject();
    cJSON_AddNumberToObject(object, "number", (double)cell->number);
    cJSON_AddStringToObject(object, "name", cell->name);
    cJSON_AddStringToObject(object, "task", cell->config.task->name);
    cJSON_AddStringToObject(object, "encoding", cell->encoding);
    cJSON_AddNumberToObject(object, "seed", (double)cell->config.seed);
    cJSON_AddStringToObject(object, "budget", cell->config.budget);
    cJSON_AddStringToObject(object, "state", state);
    char *config = lab_config_json(&cell->config);
    if (config != NULL)
        cJSON_AddRawToObject(object, "config", config);
    cJSON_free(config);
    return object;
}

static int list_json(const lab_cells *cells, lab_store *store) {
    cJSON *root = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(root, "trainings");
    for (size_t i = 0; i < cells->count; i++) {
        char state[80];
        if (describe(store, &cells->cells[i], state, sizeof state) != 0) {
            cJSON_Delete(root);
            return 1;
        }
        lab_json_put(list, NULL, make_object(&cells->cells[i], state));
    }
    return cli_json_print(root);
}

/* On a terminal the label says what programs read in columns. */
static void add_row(lab_table *table, const lab_cell *cell, const char *state) {
    lab_table_number(table, (double)cell->number, "%zu", cell->number);
    lab_table_cell(table, "%s", cell->label);
    lab_table_cell(table, "%s", cell->encoding);
    lab_table_cell(table, "%s", state);
    lab_table_cell(table, "%s", cell->name);
    if (cli_form == LAB_TABLE_TEXT)
        return;
    lab_table_cell(table, "%s", cell->config.task->name);
    lab_table_number(table, (double)cell->config.seed, "%" PRIu64, cell->config.seed);
    lab_table_cell(table, "%s", cell->config.budget);
}

static int list_table(const lab_cells *cells, lab_store *store) {
    static const char *const heads[] = {">cell", "training", "encoding", "state", "name", "task", ">seed", "budget"};
    lab_table *table = lab_table_create(heads, cli_form == LAB_TABLE_TEXT ? 5 : sizeof heads / sizeof *heads);
    int status = 0;
    for (size_t i = 0; status == 0 && i < cells->count; i++) {
        char state[80];
        status = describe(store, &cells->cells[i], state, sizeof state);
        add_row(table, &cells->cells[i], state);
    }
    if (status == 0)
        cli_table_print(table);
    else
        lab_table_free(table);
    return status;
}

static int list(const cli_arguments *arguments, const lab_cells *cells) {
    cli_store store = {0};
    int status = 0;
    if (access(cli_text(arguments, "store"), F_OK) == 0)
        status = cli_store_open(&store, arguments, false);
    if (status == 0)
        status = (cli_flag(arguments, "json") ? list_json : list_table)(cells, store.store);
    cli_store_close(&store);
    return status;
}

/* ---- all ---- */

bool cli_sweep_asked(const cli_arguments *arguments) {
    return cli_flag(arguments, "list") || cli_flag(arguments, "sbatch") || cli_flag(arguments, "parallel");
}

int cli_sweep_print(const cli_arguments *arguments, const lab_cells *cells, const char *parts) {
    const lab_sweep sweep = {.line = arguments->command_line,
                             .command = arguments->command->name,
                             .threads = cli_given_by_user(arguments, "threads") ? cli_text(arguments, "threads") : "1",
                             .jobs = cli_text(arguments, "jobs"),
                             .count = cells->count,
                             .parts = parts};
    if (cli_flag(arguments, "list"))
        return list(arguments, cells);
    if (cli_was_given(arguments, "restart"))
        return cli_usage_error("--restart: a task that is queued again would throw away what it has; leave it out");
    const bool slurm = cli_flag(arguments, "sbatch");
    return (slurm ? lab_sweep_sbatch : lab_sweep_parallel)(stdout, &sweep, &cli_fault) == LOCUS_OK
               ? 0
               : cli_refusal(&cli_fault);
}
