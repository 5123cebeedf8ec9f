/* SPDX-License-Identifier: MIT */
/* locus runs: lists the store, shows one run, deletes runs, writes them as JSON and takes such files in. */
#include "command.h"
#include "io/printable.h"
#include "output.h"
#include "runs_file.h"
#include "store_argument.h"
#include "train/checkpoint.h"
#include "train/config.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- list ---- */

/* *accuracy on the test set: NaN if there is none yet. */
static locus_status test_accuracy(const cli_store *store, const lab_run *run, double *accuracy, locus_error *error) {
    lab_final *finals;
    size_t count;
    *accuracy = (double)NAN;
    const locus_status status = lab_store_finals(store->store, run->id, &finals, &count, error);
    for (size_t i = 0; i < count; i++)
        if (strcmp(finals[i].set, "test") == 0 && strcmp(finals[i].name, "accuracy") == 0)
            *accuracy = finals[i].value;
    free(finals);
    return status;
}

/* Trees with their order, "tree-copy depth", expressions with what is asked. */
static void add_task(cli_table *table, const lab_run *run, const lab_train_config *config) {
    const char *variant = config != NULL ? lab_config_variant(config) : "";
    cli_table_cell(table, "%s%s%s", run->task, *variant != '\0' ? " " : "", variant);
}

/* How token embeddings begin, and what is not 1 of the scales beside them. */
static void add_embedding(cli_table *table, const lab_run *run, const lab_train_config *config) {
    const lab_task *task = lab_task_find(run->task);
    if (task != NULL && task->kind == LAB_TASK_IMAGES) { /* these have no embedding */
        cli_table_cell(table, "–");
        return;
    }
    const bool positions = config != NULL && config->model.position_scale == LAB_POSITIONS_SQRT_DIM;
    const bool logits = config != NULL && config->model.logit_scale == LAB_LOGITS_INVERSE_SQRT_DIM;
    cli_table_cell(table, "%s%s%s", run->embedding_init, positions ? ", positions ×√D" : "",
                   logits ? ", logits /√D" : "");
}

static int add_row(cli_table *table, const cli_store *store, const lab_run *run) {
    char seconds[32], peak[32];
    double accuracy;
    locus_error error;
    if (test_accuracy(store, run, &accuracy, &error) != LOCUS_OK)
        return cli_error(&error);
    lab_train_config config;
    const bool read = lab_config_parse(&config, run->config, run, run->name, &error) == LOCUS_OK;
    cli_table_cell(table, "%" PRId64, run->id);
    add_task(table, run, read ? &config : NULL);
    cli_table_cell(table, "%s", run->encoding);
    cli_table_cell(table, "%s", run->budget);
    cli_table_cell(table, "%s", run->setup);
    add_embedding(table, run, read ? &config : NULL);
    cli_table_cell(table, "%" PRIu64, run->seed);
    cli_table_cell(table, "%s", run->imported ? "imported" : lab_run_state_name(run->state));
    cli_table_cell(table, "%" PRIu64 "/%" PRIu64, run->steps_done, run->steps_total);
    if (isnan(accuracy))
        cli_table_cell(table, "–");
    else
        cli_table_cell(table, "%.2f %%", 100 * accuracy);
    cli_table_cell(table, "%s", cli_format_seconds(seconds, sizeof seconds, run->wall_seconds));
    cli_table_cell(table, "%s",
                   run->peak_bytes > 0 ? cli_format_bytes(peak, sizeof peak, (double)run->peak_bytes) : "–");
    cli_table_cell(table, "%s", run->name);
    return 0;
}

static void free_runs(lab_run *runs, size_t count) {
    for (size_t i = 0; i < count; i++)
        lab_run_free(&runs[i]);
    free(runs);
}

static int list_json(const cli_store *store, const lab_run *runs, size_t count) {
    cJSON *array = cJSON_CreateArray();
    for (size_t i = 0; i < count; i++) {
        cJSON *run = cli_run_json(store, &runs[i]);
        if (run == NULL) { /* told */
            cJSON_Delete(array);
            return 1;
        }
        cJSON_AddItemToArray(array, run);
    }
    return cli_json_print(array);
}

static int list_table(const cli_store *store, const lab_run *runs, size_t count) {
    static const char *const heads[] = {">run",       "task",         "encoding", "budget", "set-up",
                                        "embeddings", ">seed",        "state",    ">steps", ">test acc.",
                                        ">time",      ">peak memory", "name"};
    cli_table *table = cli_table_create(heads, sizeof heads / sizeof *heads);
    int status = 0;
    for (size_t i = 0; status == 0 && i < count; i++)
        status = add_row(table, store, &runs[i]);
    if (status == 0 && count > 0)
        cli_table_print(table, stdout);
    else if (status == 0)
        cli_print("no runs\n");
    cli_table_free(table);
    return status;
}

static int list(const cli_store *store, cli_arguments *arguments) {
    lab_run_filter filter = {.task = cli_text(arguments, "task"), .encoding = cli_text(arguments, "encoding")};
    lab_run *runs;
    size_t count;
    locus_error error;
    if (lab_store_runs(store->store, &filter, &runs, &count, &error) != LOCUS_OK)
        return cli_error(&error);
    const int status = (cli_flag(arguments, "json") ? list_json : list_table)(store, runs, count);
    free_runs(runs, count);
    return status;
}

/* ---- show ---- */

static int show(const cli_store *store, const char *operand, bool json) {
    lab_run run;
    int status = cli_store_find(store, operand, &run);
    if (status != 0)
        return status;
    cJSON *root = cli_run_json(store, &run);
    lab_run_free(&run);
    if (json && root != NULL)
        return cli_json_print(root);
    for (cJSON *item = root != NULL ? root->child : NULL; item != NULL && status == 0; item = item->next) {
        if (cJSON_IsString(item) && item->valuestring[0] != '\0') {
            lab_printable(item->valuestring, ""); /* one line for each */
            cli_print("%-18s %s\n", item->string, item->valuestring);
        } else if (cJSON_IsNumber(item)) {
            cli_print("%-18s %.10g\n", item->string, item->valuedouble);
        } else if (cJSON_IsObject(item)) {
            char *text = cJSON_PrintUnformatted(item);
            if (text == NULL)
                status = cli_failure("out of memory while writing JSON");
            else
                cli_print("%-18s %s\n", item->string, text);
            cJSON_free(text);
        }
    }
    cJSON_Delete(root);
    return root == NULL ? 1 : status;
}

/* ---- delete ---- */

/* *lock is −1 where there is no folder to lock. Fails if somebody trains the run. */
static int lock_run(const cli_store *store, const lab_run *run, int *lock) {
    locus_error error;
    char *path = lab_run_path(store->folder, run->name, "lock");
    *lock = -1;
    if (path == NULL)
        return cli_failure("out of memory");
    const bool there = lab_run_has_folder(store->folder, run->name);
    const int status = there && lab_run_lock(path, lock, &error) != LOCUS_OK ? cli_error(&error) : 0;
    free(path);
    return status;
}

static int delete_run(const cli_store *store, const char *operand) {
    lab_run run;
    locus_error error;
    int lock, status = cli_store_find(store, operand, &run);
    if (status != 0)
        return status;
    status = lock_run(store, &run, &lock);
    if (status == 0 && lab_store_run_delete(store->store, run.id, &error) != LOCUS_OK) {
        status = cli_error(&error);
    } else if (status == 0) {
        lab_run_remove(store->folder, run.name); /* a folder that holds more stays */
        cli_note("deleted run %" PRId64 " (%s)", run.id, run.name);
    }
    if (lock >= 0)
        close(lock);
    lab_run_free(&run);
    return status;
}

static int act(const cli_store *store, cli_arguments *arguments) {
    size_t count = arguments->operand_count;
    if (count == 0)
        return list(store, arguments);
    const char *word = arguments->operands[0];
    if (strcmp(word, "export") == 0)
        return cli_runs_export(store, arguments);
    bool shows = strcmp(word, "show") == 0;
    if (!shows && strcmp(word, "delete") != 0)
        return cli_usage_error("runs: '%s' is none of 'show', 'delete', 'export', 'import'", word);
    if (count < 2)
        return cli_usage_error("runs %s: which run? 'locus runs' lists them", word);
    int status = 0;
    for (size_t i = 1; status == 0 && i < count; i++) {
        status = shows ? show(store, arguments->operands[i], cli_flag(arguments, "json"))
                       : delete_run(store, arguments->operands[i]);
    }
    return status;
}

static int run(cli_arguments *arguments) {
    cli_store store;
    const bool imports = arguments->operand_count > 0 && strcmp(arguments->operands[0], "import") == 0;
    if (imports)
        return cli_runs_import(arguments);
    int status = cli_store_open(&store, arguments, false);
    if (status == 0) {
        status = act(&store, arguments);
        cli_store_close(&store);
    }
    return status;
}

static const cli_option options[] = {
    {"task", 't', CLI_TEXT, "TASK", NULL, "only runs of this task", 0, 0},
    {"encoding", 'e', CLI_TEXT, "SPEC", NULL, "only runs of this encoding, written as the list shows it", 0, 0},
    {"output", 'o', CLI_TEXT, "FILE", NULL, "export: the JSON file that is written", 0, 0},
    CLI_STORE_OPTION,
};

const cli_command cli_command_runs = {
    .name = "runs",
    .summary = "lists the runs of a store, shows or deletes some, writes them as JSON or takes such files in",
    .operands = "[show|delete|export|import] [RUN…]",
    .details =
        "'runs' lists all, 'runs show RUN' tells everything about one, 'runs delete RUN' removes its row, metrics and\n"
        "checkpoints. RUN is a name, a unique beginning of one, or a number.\n\n"
        "'runs export -o FILE' writes finished runs, all or those that are named, as JSON: configuration, seed, "
        "version,\n"
        "scores and curves (docs/reproduction.md), no checkpoints. 'runs import FILE…' takes such files into a store, "
        "all\n"
        "of a file or nothing; what is there already is passed over. Tables and pages are made of imported runs as of\n"
        "others; 'eval', 'generate' and new test lengths need a checkpoint, which they do not have.",
    .examples = "locus runs --task copy\nlocus runs show 3 --json\nlocus runs delete copy-rope-smoke-s0-1a2b3c4d\n"
                "locus runs export --task copy -o copy.json\nlocus runs import copy.json --store other/locus.db\n",
    .shared = CLI_JSON | CLI_QUIET,
    CLI_OPTIONS(options),
    .run = run,
};
