/* SPDX-License-Identifier: MIT */
/* Writes a table's Markdown file with its runs beside it, and reads them back: shown, made again, or compared. */
#include "reproduce_record.h"

#include "command.h"
#include "io/file.h"
#include "io/json.h"
#include "io/word_distance.h"
#include "output.h"
#include "page/report.h"
#include "report/reproduction/reproduction_recorded.h"
#include "report/reproduction/reproduction_report.h"
#include "reproduce_request.h"
#include "train/machine.h"
#include "train/store/run_file.h"

#include <stdlib.h>
#include <string.h>

/* ---- writing ---- */

/* Options that decide where and how fast, not what. */
#define NOT_OF_THE_TABLE "store jobs threads list only sbatch parallel no-page json quiet help from check output"

static void add_option(cJSON *list, const cli_option *option, const char *value) {
    const size_t size = strlen(option->name) + strlen(value) + 4;
    char *word = cJSON_malloc(size); /* a loss is counted there */
    if (word != NULL) {
        snprintf(word, size, option->kind == CLI_FLAG ? "--%s" : "--%s=%s", option->name, value);
        lab_json_put(list, NULL, cJSON_CreateString(word));
        cJSON_free(word);
    }
}

static cJSON *make_head(const cli_arguments *arguments) {
    char version[96];
    cJSON *head = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(head, "arguments");
    const cli_option *option;
    lab_json_put(list, NULL, cJSON_CreateString(arguments->operands[0]));
    for (size_t i = 0; (option = cli_option_at(arguments->command, i)) != NULL; i++)
        if (arguments->values[i].given && !lab_word_among(option->name, NOT_OF_THE_TABLE))
            add_option(list, option, arguments->values[i].text);
    lab_version_text(version, sizeof version);
    cJSON_AddStringToObject(head, "command", arguments->command_line);
    cJSON_AddStringToObject(head, "page_by", version);
    return head;
}

static void swap(lab_run *a, lab_run *b) {
    const lab_run other = *a;
    *a = *b;
    *b = other;
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const lab_run *)a)->name, ((const lab_run *)b)->name);
}

/* Moves those that the result follows from to the front; returns how many. Their order is the table's, behind it by
 * name what else it follows from: a store whose runs came from many has them in another. */
static size_t choose(lab_run *runs, size_t count, const lab_result *result) {
    size_t kept = 0;
    for (size_t i = 0; i < result->run_count; i++)
        for (size_t j = kept; j < count; j++)
            if (runs[j].id == result->runs[i])
                swap(&runs[kept++], &runs[j]);
    const size_t of_table = kept;
    for (size_t i = kept; i < count; i++)
        if (lab_result_uses(result, runs[i].id))
            swap(&runs[kept++], &runs[i]);
    qsort(runs + of_table, kept - of_table, sizeof *runs, by_name);
    return kept;
}

static int write_file(lab_store *store, const cJSON *head, const lab_result *result, const char *path) {
    lab_run *runs;
    size_t count;
    locus_status status = lab_store_runs(store, NULL, &runs, &count, &cli_fault);
    if (status == LOCUS_OK)
        status = lab_run_file_write(store, runs, choose(runs, count, result), head, path, &cli_fault);
    lab_runs_free(runs, count);
    return cli_done(status);
}

int cli_record_write(lab_store *store, const cli_arguments *arguments, const lab_result *result, const char *path) {
    const size_t losses = lab_json_losses();
    cJSON *head = make_head(arguments);
    const int status = lab_json_losses() != losses ? cli_failure("out of memory for the runs as JSON")
                                                   : write_file(store, head, result, path);
    cJSON_Delete(head);
    return status;
}

/* ---- reading ---- */

/* A table that is made of a file. */
typedef struct record {
    const char *path; /* the JSON file's */
    char *markdown;   /* beside it */
    lab_store *store; /* in memory */
    cJSON *head;
    char **words;
    cli_arguments arguments;
    lab_reproduction table;
    lab_result result;
    lab_findings findings;
} record;

static const char *head_text(const record *from, const char *name) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(from->head, name);
    return cJSON_IsString(item) ? item->valuestring : NULL;
}

enum { MOST_WORDS = 64 }; /* that one writes */

/* The recorded options, read as if they were typed. */
static int read_arguments(record *from, const cli_command *command) {
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(from->head, "arguments"), *item;
    int count = 0;
    if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) > MOST_WORDS || !cJSON_IsString(list->child) ||
        head_text(from, "command") == NULL || head_text(from, "page_by") == NULL) {
        return cli_failure("'%s' holds runs, but not of a table: only what 'locus reproduce' wrote has one",
                           from->path);
    }
    from->words = calloc(MOST_WORDS, sizeof *from->words);
    if (from->words == NULL)
        return cli_failure("out of memory");
    cJSON_ArrayForEach(item, list) {
        if (!cJSON_IsString(item) || (count > 0 && strncmp(item->valuestring, "--", 2) != 0))
            return cli_failure("'%s': an argument of its table is no option", from->path);
        from->words[count++] = item->valuestring;
    }
    const int status = cli_arguments_parse(&from->arguments, command, count, from->words);
    from->arguments.command_line = head_text(from, "command");
    if (status == 0 && from->arguments.operand_count != 1)
        return cli_failure("'%s': the arguments of its table name none", from->path);
    return status == 0 ? 0 : 1;
}

/* "x.json" → "x.md". */
static char *markdown_path(const char *path) {
    const size_t length = strlen(path);
    char *made = malloc(length + 4);
    if (made != NULL)
        snprintf(made, length + 4, "%.*s.md", (int)(lab_name_ends(path, ".json") ? length - 5 : length), path);
    return made;
}

static int read_runs(record *from) {
    lab_run_file_content content = {0};
    from->markdown = markdown_path(from->path);
    if (from->markdown == NULL)
        return cli_failure("out of memory");
    if (lab_store_open(&from->store, ":memory:", &cli_fault) != LOCUS_OK ||
        lab_run_file_read(from->store, from->path, &content, &cli_fault) != LOCUS_OK)
        return cli_error(&cli_fault);
    from->head = content.table;
    return 0;
}

static int make_table(record *from) {
    const int status = cli_reproduce_request(&from->arguments, from->store, &from->table);
    if (status != 0)
        return 1;
    if (lab_reproduction_check(&from->table, from->store, &cli_fault) != LOCUS_OK ||
        lab_result_chance(&from->result, &from->table, &cli_fault) != LOCUS_OK ||
        lab_result_read(&from->result, &from->table, from->store, &cli_fault) != LOCUS_OK ||
        lab_findings_make(&from->findings, &from->table, &from->result, &cli_fault) != LOCUS_OK)
        return cli_error(&cli_fault);
    return 0;
}

static void close_record(record *from) {
    lab_findings_free(&from->findings);
    cli_arguments_free(&from->arguments);
    lab_store_close(&from->store);
    cJSON_Delete(from->head);
    free(from->words);
    free(from->markdown);
    free(from);
}

/* ---- the page ---- */

static lab_reproduction_view view_of(const record *from, const char *version) {
    return (lab_reproduction_view){
        .table = &from->table,
        .result = &from->result,
        .findings = &from->findings,
        .command = head_text(from, "command"),
        .version = version,
    };
}

/* The generated part of the page as it is, in place: an empty line parts it from what was written by hand. */
static size_t generated_bytes(const char *page) {
    const char *own = lab_own_part(page);
    return (size_t)(own - page) - (*own != '\0');
}

/* The first line in which two texts differ, from 1; 0: they are equal. */
static size_t first_difference(const char *a, size_t bytes, const char *b) {
    size_t line = 1;
    for (size_t i = 0; i < bytes || b[i] != '\0'; i++) {
        if (i >= bytes || a[i] != b[i])
            return line;
        line += a[i] == '\n';
    }
    return 0;
}

/* The page as its runs give it, and as it is. */
typedef struct page {
    char *made, *there; /* there NULL: it cannot be read */
    size_t line;        /* where they differ; 0: nowhere */
} page;

static int look_at_page(const record *from, page *seen) {
    const lab_reproduction_view view = view_of(from, head_text(from, "page_by"));
    size_t bytes;
    *seen = (page){.made = lab_reproduction_markdown_text(&view), .line = 1};
    if (seen->made == NULL)
        return cli_failure("out of memory for a page");
    if (lab_file_read(from->markdown, &seen->there, &bytes, &cli_fault) == LOCUS_OK)
        seen->line = first_difference(seen->there, generated_bytes(seen->there), seen->made);
    return 0;
}

/* Both files are of this program then. */
static int write_page(record *from) {
    char version[96];
    const lab_reproduction_view view = view_of(from, NULL);
    if (lab_reproduction_markdown(&view, from->markdown, &cli_fault) != LOCUS_OK)
        return cli_error(&cli_fault);
    lab_version_text(version, sizeof version);
    const size_t losses = lab_json_losses();
    cJSON_ReplaceItemInObjectCaseSensitive(from->head, "page_by", cJSON_CreateString(version));
    if (lab_json_losses() != losses)
        return cli_failure("out of memory for the runs as JSON");
    return write_file(from->store, from->head, &from->result, from->path);
}

int cli_reproduce_show(const cli_arguments *arguments, const lab_reproduction_view *view, const char *const paths[3]) {
    static const char *const names[3] = {"markdown", "page", "runs"};
    lab_shown shown;
    if (!cli_flag(arguments, "json")) {
        const int status = cli_done(lab_reproduction_show(&shown, view, &cli_fault));
        return status ? status : cli_shown_print(&shown);
    }
    cJSON *root = lab_reproduction_json(view);
    for (size_t i = 0; root != NULL && i < 3; i++)
        if (paths[i] != NULL)
            cJSON_AddStringToObject(root, names[i], paths[i]);
    return cli_json_print(root);
}

static int check_page(const record *from, const page *seen) {
    return seen->line == 0
               ? 0
               : cli_failure("%s: line %zu is not what the runs in '%s' give", from->markdown, seen->line, from->path);
}

static int show_and_write(record *from, const cli_arguments *asked, const page *seen) {
    const lab_reproduction_view view = view_of(from, NULL);
    int status = cli_reproduce_show(asked, &view, (const char *const[3]){from->markdown});
    if (status == 0 && seen->line > 0)
        status = write_page(from);
    if (status == 0)
        cli_note(seen->line > 0 ? "written: %s" : "%s stands as it is", from->markdown);
    return status;
}

/* The interactive page alone: nothing else is written. Checkpoints are not kept with the runs. */
static int write_interactive(record *from, const char *path) {
    char title[128];
    lab_reproduction_title(&from->table, title, sizeof title);
    const lab_report_options options = {
        .filter = {.runs = from->result.runs, .run_count = from->result.run_count},
        .title = title,
        .command = head_text(from, "command"),
    };
    if (lab_report_write(from->store, &options, path, &cli_fault) != LOCUS_OK)
        return cli_error(&cli_fault);
    cli_note("written: %s", path);
    return 0;
}

static int make(record *from, const cli_arguments *asked) {
    if (cli_given_by_user(asked, "output"))
        return write_interactive(from, cli_text(asked, "output"));
    page seen;
    int status = look_at_page(from, &seen);
    if (status == 0 && cli_flag(asked, "check"))
        status = seen.there != NULL ? check_page(from, &seen) : cli_error(&cli_fault);
    else if (status == 0)
        status = show_and_write(from, asked, &seen);
    free(seen.made);
    free(seen.there);
    return status;
}

/* What was asked for stands in the file. */
static int refuse_others(const cli_arguments *asked) {
    const char *other = cli_given_beside(asked, "from check output json quiet threads help");
    if (asked->operand_count > 0) {
        return cli_usage_error("reproduce --from: the file says which table it is of: leave '%s' out",
                               asked->operands[0]);
    }
    return other != NULL ? cli_usage_error("reproduce --from: the file says what was asked for: leave --%s out", other)
                         : 0;
}

int cli_reproduce_from(const cli_arguments *asked) {
    int status = refuse_others(asked);
    if (status == 0 && cli_given_by_user(asked, "output") && (cli_flag(asked, "check") || cli_flag(asked, "json")))
        status = cli_usage_error("reproduce --from: -o writes a page, --check and --json do not: leave one out");
    if (status != 0)
        return status;
    record *from = calloc(1, sizeof *from);
    if (from == NULL)
        return cli_failure("out of memory");
    from->path = cli_text(asked, "from");
    status = read_runs(from);
    status = status ? status : read_arguments(from, asked->command);
    status = status ? status : make_table(from);
    status = status ? status : make(from, asked);
    close_record(from);
    return status;
}
