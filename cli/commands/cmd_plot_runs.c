/* SPDX-License-Identifier: MIT */
/* locus plot curves, lengths, costs: what a page draws of runs, as pictures that stand alone. */
#include "command.h"
#include "figures/svg_file.h"
#include "output.h"
#include "page/run_figure.h"
#include "store_argument.h"

#include <stdlib.h>

/* The runs that are named. */
typedef struct chosen {
    int64_t *ids;
    size_t count, left_out; /* these are not finished */
} chosen;

static int find_runs(const cli_store *store, const cli_arguments *arguments, chosen *runs) {
    for (size_t i = 0; i < arguments->operand_count; i++) {
        lab_run run;
        const int status = cli_store_find(store, arguments->operands[i], &run);
        if (status != 0)
            return status;
        runs->left_out += run.state != LAB_RUN_DONE;
        runs->ids[runs->count++] = run.id;
        lab_run_free(&run);
    }
    return 0;
}

static int draw_runs(const cli_store *store, const cli_arguments *arguments, lab_run_figure figure) {
    const char *path = cli_text(arguments, "output");
    chosen runs = {.ids = calloc(arguments->operand_count + 1, sizeof *runs.ids)};
    int status = runs.ids != NULL ? find_runs(store, arguments, &runs) : cli_failure("out of memory");
    if (status == 0 && lab_run_figure_write(store->store, runs.ids, runs.count, figure, path, &cli_fault) != LOCUS_OK)
        status = cli_failure("%s", cli_fault.message);
    else if (status == 0 && runs.left_out > 0)
        cli_note("%zu of %zu runs are not done and left out", runs.left_out, runs.count);
    free(runs.ids);
    return status;
}

static int run(cli_arguments *arguments) {
    const cli_command *command = arguments->command;
    const lab_run_figure figure = command == &cli_command_plot_curves    ? LAB_FIGURE_CURVES
                                  : command == &cli_command_plot_lengths ? LAB_FIGURE_LENGTHS
                                                                         : LAB_FIGURE_COSTS;
    cli_store store;
    int status = cli_need_picture(arguments);
    status = status ? status : cli_store_open(&store, arguments, false);
    if (status != 0)
        return status;
    status = draw_runs(&store, arguments, figure);
    cli_store_close(&store);
    return status;
}

static const cli_option options[] = {
    CLI_ROW_TEXT("output", 'o', "FILE", "the " LAB_PICTURE_ENDS " to write"),
    CLI_STORE_OPTION,
};

#define TOGETHER \
    "Runs stand together as on the page of 'locus report', which has the same charts: a section for each task, " \
    "budget " \
    "and configuration, a line for each encoding in the encoding's own colour and dash, the mean over its seeds. " \
    "Only " \
    "finished runs are drawn. RUN is a name, a unique beginning of one, or a number of 'locus runs'."

const cli_command cli_command_plot_curves = {
    .name = "plot curves",
    .summary = "draws the learning curves of runs",
    .operands = "RUN [RUN…]",
    .details = TOGETHER,
    .examples = "locus plot curves 1 2 3 -o curves.svg\n"
                "locus plot curves copy-rope copy-alibi -o curves.pdf\n",
    .shared = CLI_QUIET,
    CLI_OPTIONS(options),
    .run = run,
};

const cli_command cli_command_plot_lengths = {
    .name = "plot lengths",
    .summary = "draws what runs score on test sets of other lengths",
    .operands = "RUN [RUN…]",
    .details = TOGETHER "\n\n"
                        "The trained length is marked, and what is beyond it shaded. 'locus eval RUN --lengths L,L,…' "
                        "scores further lengths and keeps the scores with the run: of words their length, of trees "
                        "(--depths) their depth, of a text the context, of sums their digits, of expressions their "
                        "tokens.",
    .examples = "locus eval 3 --lengths 64,128,256\n"
                "locus plot lengths 3 -o lengths.svg\n",
    .shared = CLI_QUIET,
    CLI_OPTIONS(options),
    .run = run,
};

const cli_command cli_command_plot_costs = {
    .name = "plot costs",
    .summary = "draws the speed, time, memory and parameters of runs",
    .operands = "RUN [RUN…]",
    .details = TOGETHER "\n\nA run is refused if another run of the store was trained at the same time on a machine "
                        "of the same\nkind: their times may not be comparable.",
    .examples = "locus plot costs 1 2 -o costs.pdf\n",
    .shared = CLI_QUIET,
    CLI_OPTIONS(options),
    .run = run,
};
