/* SPDX-License-Identifier: MIT */
/* locus runs: lists the store; shows, compares, renames, deletes runs; has them leave the house and come back. */
#include "command.h"
#include "io/csv.h"
#include "io/json.h"
#include "io/printable.h"
#include "output.h"
#include "runs_words.h"
#include "store_argument.h"
#include "train/checkpoint.h"
#include "train/configuration/config.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- list ---- */

/* Of the configuration the list shows what is named here, and of trees and expressions a variant: of 10,000 runs
 * reading all that text would take longer than anything else. */
static bool says_more(const char *config) {
    static const char *const names[] = {"\"position_scale\"", "\"logit_scale\"", "\"precision\""};
    bool says = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        says = says || strstr(config, names[i]) != NULL;
    return says;
}

static bool is_shown(const char *task, const char *json) {
    const lab_train_config config = {.task = lab_task_find(task)};
    return config.task == NULL || *lab_config_variant(&config) != '\0' || says_more(json);
}

static bool read_config(const lab_run *run, lab_train_config *config) {
    *config = (lab_train_config){.task = lab_task_find(run->task)};
    return run->config == NULL || lab_config_parse(config, run->config, run, run->name, NULL) == LOCUS_OK;
}

/* Trees with their order, "tree-copy depth", expressions with what is asked. */
static void add_task(lab_table *table, const lab_run *run, const lab_train_config *config) {
    const char *variant = config != NULL ? lab_config_variant(config) : "";
    lab_table_cell(table, "%s%s%s", run->task, *variant != '\0' ? " " : "", variant);
}

/* How token embeddings begin, and what is not 1 of the scales beside them. */
static void add_embedding(lab_table *table, const lab_run *run, const lab_train_config *config) {
    const lab_task *task = lab_task_find(run->task);
    if (task != NULL && task->class->vocabulary == NULL) { /* these have no embedding */
        lab_table_none(table);
        return;
    }
    const bool positions = config != NULL && config->model.position_scale == LAB_POSITIONS_SQRT_DIM;
    const bool logits = config != NULL && config->model.logit_scale == LAB_LOGITS_INVERSE_SQRT_DIM;
    lab_table_cell(table, "%s%s%s", run->embedding_init, positions ? ", positions ×√D" : "",
                   logits ? ", logits /√D" : "");
}

static void add_row(lab_table *table, const lab_run *run, double accuracy, bool parents) {
    char seconds[32], peak[32];
    lab_train_config config;
    const bool read = read_config(run, &config);
    lab_table_number(table, (double)run->id, "%" PRId64, run->id);
    add_task(table, run, read ? &config : NULL);
    lab_table_cell(table, "%s", run->encoding);
    lab_table_cell(table, "%s", run->budget);
    lab_table_cell(table, "%s%s", run->setup, read && config.model.precision == LAB_BF16 ? ", bf16" : "");
    add_embedding(table, run, read ? &config : NULL);
    lab_table_number(table, (double)run->seed, "%" PRIu64, run->seed);
    lab_table_cell(table, "%s", run->imported ? "imported" : lab_run_state_name(run->state));
    lab_table_cell(table, "%" PRIu64 "/%" PRIu64, run->steps_done, run->steps_total);
    if (isnan(accuracy))
        lab_table_none(table);
    else
        lab_table_number(table, 100 * accuracy, "%.2f %%", 100 * accuracy);
    lab_table_number(table, run->wall_seconds, "%s", lab_seconds_text(seconds, sizeof seconds, run->wall_seconds));
    if (run->peak_bytes > 0)
        lab_table_number(table, (double)run->peak_bytes, "%s",
                         lab_bytes_text(peak, sizeof peak, (double)run->peak_bytes));
    else
        lab_table_none(table);
    lab_table_cell(table, "%s", run->name);
    if (parents && run->parent != NULL && run->parent[0] != '\0')
        lab_table_cell(table, "%s", run->parent);
    else if (parents)
        lab_table_none(table);
}

static int list_json(const cli_store *store, const lab_run_filter *filter) {
    lab_run *runs;
    size_t count;
    if (lab_store_runs(store->store, filter, &runs, &count, &cli_fault) != LOCUS_OK)
        return cli_error(&cli_fault);
    cJSON *array = cJSON_CreateArray();
    bool good = true;
    for (size_t i = 0; i < count && good; i++) {
        cJSON *run = lab_run_json(store->store, &runs[i], &cli_fault);
        good = run != NULL;
        lab_json_put(array, NULL, run);
    }
    lab_runs_free(runs, count);
    if (good)
        return cli_json_print(array);
    cJSON_Delete(array);
    return cli_error(&cli_fault);
}

static int print_table(const cli_store *store, const lab_run *runs, size_t count) {
    static const char *const heads[] = {">run",   "task",         "encoding", "budget",
                                        "set-up", "embeddings",   ">seed",    "state",
                                        ">steps", ">test acc.|%", ">time|s",  ">peak memory|bytes",
                                        "name",   "goes on from"};
    bool parents = false;
    lab_run_score *scores;
    size_t scored, at = 0;
    if (count == 0 && cli_form == LAB_TABLE_TEXT) {
        cli_print("no runs\n");
        return 0;
    }
    if (lab_store_scores(store->store, "test", "accuracy", &scores, &scored, &cli_fault) != LOCUS_OK)
        return cli_error(&cli_fault);
    for (size_t i = 0; i < count; i++)
        parents = parents || (runs[i].parent != NULL && runs[i].parent[0] != '\0');
    lab_table *table = lab_table_create(heads, sizeof heads / sizeof *heads - !parents);
    for (size_t i = 0; i < count; i++) { /* both are in the order of runs */
        while (at < scored && scores[at].run < runs[i].id)
            at++;
        add_row(table, &runs[i], at < scored && scores[at].run == runs[i].id ? scores[at].value : (double)NAN, parents);
    }
    free(scores);
    cli_table_print(table);
    return 0;
}

static int list_table(const cli_store *store, const lab_run_filter *filter) {
    lab_run *runs;
    size_t count;
    if (lab_store_runs_listed(store->store, filter, is_shown, &runs, &count, &cli_fault) != LOCUS_OK)
        return cli_error(&cli_fault);
    const int status = print_table(store, runs, count);
    lab_runs_free(runs, count);
    return status;
}

static int list(const cli_store *store, cli_arguments *arguments) {
    const lab_run_filter filter = {.task = cli_text(arguments, "task"), .encoding = cli_text(arguments, "encoding")};
    return (cli_flag(arguments, "json") ? list_json : list_table)(store, &filter);
}

/* ---- show ---- */

static int show(const cli_store *store, const char *operand, bool json) {
    lab_run run;
    int status = cli_store_find(store, operand, &run);
    if (status != 0)
        return status;
    char digits[32];
    cJSON *root = lab_run_json(store->store, &run, &cli_fault);
    lab_run_free(&run);
    if (root == NULL)
        return cli_error(&cli_fault);
    if (json)
        return cli_json_print(root);
    for (cJSON *item = root->child; item != NULL && status == 0; item = item->next) {
        if (cJSON_IsString(item) && item->valuestring[0] != '\0') {
            lab_printable(item->valuestring, ""); /* one line for each */
            cli_print("%-18s %s\n", item->string, item->valuestring);
        } else if (cJSON_IsNumber(item)) {
            lab_number_short(item->valuedouble, 10, digits);
            cli_print("%-18s %s\n", item->string, digits);
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
    return status;
}

/* ---- the words ---- */

static int show_all(const cli_store *store, const cli_arguments *arguments) {
    int status = 0;
    for (size_t i = 1; status == 0 && i < arguments->operand_count; i++)
        status = show(store, arguments->operands[i], cli_flag(arguments, "json"));
    return status;
}

static const struct word {
    const char *name;
    int (*act)(const cli_store *store, const cli_arguments *arguments);
    bool needs_run; /* at least one is named */
} words[] = {{"show", show_all, true},       {"diff", cli_runs_diff, false},    {"rename", cli_runs_rename, false},
             {"note", cli_runs_note, false}, {"delete", cli_runs_delete, true}, {"export", cli_runs_export, false}};

static int act(const cli_store *store, cli_arguments *arguments) {
    if (arguments->operand_count == 0)
        return list(store, arguments);
    const char *name = arguments->operands[0];
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(words[i].name, name) == 0) {
            return words[i].needs_run && arguments->operand_count < 2
                       ? cli_usage_error("runs %s: which run? 'locus runs' lists them", name)
                       : words[i].act(store, arguments);
        }
    }
    return cli_usage_error("runs: '%s' is none of 'show', 'diff', 'rename', 'note', 'delete', 'export', 'import'",
                           name);
}

/* The form of a table is none of a file, and the other way round. */
static int check_format(const cli_arguments *arguments) {
    const char *word = arguments->operand_count > 0 ? arguments->operands[0] : "",
               *form = cli_text(arguments, "format");
    const bool exports = strcmp(word, "export") == 0, board = strcmp(form, "tensorboard") == 0;
    if (!cli_given_by_user(arguments, "format"))
        return 0;
    if (exports && !board && strcmp(form, "csv") != 0 && strcmp(form, "json") != 0)
        return cli_usage_error("runs export: --format %s is of tables: csv, json or tensorboard", form);
    return exports || !board ? 0 : cli_usage_error("runs: --format tensorboard is what 'runs export' writes");
}

static int run(cli_arguments *arguments) {
    cli_store store;
    const bool imports = arguments->operand_count > 0 && strcmp(arguments->operands[0], "import") == 0;
    int status = check_format(arguments);
    if (status != 0 || imports)
        return status ? status : cli_runs_import(arguments);
    status = cli_store_open(&store, arguments, false);
    if (status == 0) {
        status = act(&store, arguments);
        cli_store_close(&store);
    }
    return status;
}

static const cli_option options[] = {
    CLI_ROW_TEXT("task", 't', "TASK", "only runs of this task"),
    CLI_ROW_TEXT("encoding", 'e', "SPEC", "only runs of this encoding, written as the list shows it"),
    CLI_ROW_TEXT("output", 'o', "PATH", "export: the file that is written, of tensorboard the folder"),
    CLI_ROW_CHOICE("format", CLI_FORMATS "|tensorboard",
                   "how tables are printed; --json is short for json. export: json (the default), csv or tensorboard"),
    CLI_ROW_FLAG("checkpoints",
                 "import: also the checkpoints beside each store, and with them the runs that are not finished"),
    CLI_STORE_OPTION,
};

const cli_command cli_command_runs = {
    .name = "runs",
    .summary = "lists the runs of a store; shows, compares, renames, deletes, exports some, takes files of them in",
    .operands = "[show|diff|rename|note|delete|export|import] [RUN…]",
    .details =
        "'runs' lists all, 'runs show RUN' tells everything about one, 'runs diff RUN RUN' in what configurations and "
        "scores\nof two differ. 'runs rename RUN NAME' changes a name, 'runs note RUN TEXT' keeps a note beside a "
        "run, 'runs delete RUN'\nremoves its row, metrics and checkpoints. RUN is a name, a unique beginning of one, "
        "or a number.\n\n"
        "'runs export -o FILE' writes finished runs, all or those that are named, as JSON: configuration, seed, "
        "version,\nscores and curves (docs/reproduction.md), no checkpoints. 'runs import FILE…' takes such files "
        "into a store, all\nof a file or nothing; what is there already is passed over. Tables and pages are made of "
        "imported runs as of\nothers; 'eval', 'generate' and new test lengths need a checkpoint, which they do not "
        "have.\n\n"
        "'runs import' takes whole stores, too, and merges them: a training (configuration and seed) that two stores "
        "have is\nkept once, if both say the same of it, and refused if not. --checkpoints brings the files beside "
        "them, and runs that are\nnot finished, which go on from theirs (docs/sweeps.md).\n\n"
        "'runs export --format csv -o FILE' writes every score and every point of a curve as a line, --format "
        "tensorboard\n-o FOLDER event files that TensorBoard reads. docs/store.md has the store's tables, to ask in "
        "SQL.",
    .examples = "locus runs --task copy\n"
                "locus runs show 3 --json\n"
                "locus runs diff 3 4\n"
                "locus runs note 3 'the one in the talk'\n"
                "locus runs delete copy-rope-smoke-s0-1a2b3c4d\n"
                "locus runs export --task copy -o copy.json\n"
                "locus runs import copy.json --store other/locus.db\n"
                "locus runs import parts/part-*.db --checkpoints\n"
                "locus runs export --format tensorboard -o board\n",
    .shared = CLI_JSON | CLI_QUIET,
    CLI_OPTIONS(options),
    .run = run,
};
