/* SPDX-License-Identifier: MIT */
/* locus report: the runs of a store as a page (HTML) or as JSON. */
#include "command.h"
#include "output.h"
#include "page/report.h"
#include "store_argument.h"

static int write_page(const cli_arguments *arguments, const cli_store *store, const lab_summary_filter *filter) {
    const char *path = cli_text(arguments, "output");
    const lab_report_options options = {.filter = *filter,
                                        .title = cli_text(arguments, "title"),
                                        .command = arguments->command_line,
                                        .folder = store->folder};
    if (lab_report_write(store->store, &options, path, &cli_fault) != LOCUS_OK)
        return cli_error(&cli_fault);
    if (!cli_quiet)
        cli_say("%s\n", path);
    return 0;
}

static int print(lab_store *store, const lab_summary_filter *filter) {
    lab_summary summary;
    if (lab_summary_create(&summary, store, filter, &cli_fault) != LOCUS_OK)
        return cli_error(&cli_fault);
    const int status = cli_summary_print(&summary, NULL);
    lab_summary_free(&summary);
    return status;
}

static int run(cli_arguments *arguments) {
    cli_store store;
    int status = cli_store_open(&store, arguments, false);
    if (status)
        return status;
    const lab_summary_filter filter = {.task = cli_text(arguments, "task"),
                                       .budget = cli_text(arguments, "budget"),
                                       .setup = cli_text(arguments, "setup"),
                                       .embedding_init = cli_text(arguments, "embedding-init")};
    const bool prints = cli_given_by_user(arguments, "format") || cli_flag(arguments, "json");
    status = prints ? print(store.store, &filter) : 0;
    if (status == 0 && (!prints || cli_given_by_user(arguments, "output")))
        status = write_page(arguments, &store, &filter);
    cli_store_close(&store);
    return status;
}

static const cli_option options[] = {
    {"output", 'o', CLI_TEXT, "FILE", "runs/report.html", "the page to write", 0, 0},
    CLI_STORE_OPTION,
    CLI_ROW_TEXT("task", 't', "TASK", "only runs of this task"),
    CLI_ROW_TEXT("budget", 'b', "BUDGET", "only runs of this budget"),
    CLI_ROW_TEXT("setup", 0, "SETUP", "only runs of this set-up"),
    CLI_ROW_TEXT("embedding-init", 0, "INIT", "only runs of this embedding initialisation"),
    CLI_ROW_TEXT("title", 0, "TEXT", "title of the page"),
};

const cli_command cli_command_report = {
    .name = "report",
    .summary = "writes a page with tables, curves, cost and score kernels",
    .operands = "",
    .details =
        "One self-contained HTML file that fetches nothing. Runs of different tasks, budgets, set-ups or embedding "
        "initialisations never share a table. --format prints the tables instead, and --json all numbers; with -o it "
        "does both.",
    .examples = "locus report --task copy -o copy.html\n",
    .shared = CLI_JSON | CLI_FORMAT | CLI_QUIET,
    CLI_OPTIONS(options),
    .run = run,
};
