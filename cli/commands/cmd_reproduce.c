/* SPDX-License-Identifier: MIT */
/* locus reproduce: trains what a published table is made of, training by training, and sets the measured table beside
 * the published one. */
#include "cells.h"
#include "command.h"
#include "io/file.h"
#include "output.h"
#include "page/report.h"
#include "report/reproduction/reproduction_report.h"
#include "reproduce_record.h"
#include "reproduce_request.h"
#include "stop.h"
#include "store_argument.h"
#include "sweep.h"
#include "train/configuration/config.h"
#include "train_options.h"

#include <ctype.h>
#include <inttypes.h>
#include <locus/parallel.h>
#include <stdlib.h>
#include <string.h>

typedef struct reproduce {
    cli_arguments *arguments;
    lab_reproduction table;
    lab_result result;
    lab_cells cells;
    char *folder, *markdown, *page, *runs; /* owned */
    bool told;                             /* that the Markdown file cannot be written */
} reproduce;

/* ---- names of files ---- */

enum { PART = 120 };

static size_t add_choice(char text[PART], size_t used, const char *chosen) {
    text[used++] = '-';
    for (; *chosen != '\0' && used + 2 < PART; chosen++)
        text[used++] = (char)(isalnum((unsigned char)*chosen) ? *chosen : *chosen == ',' ? '+' : '-');
    return used;
}

/* A part of a table is named by what was chosen: "-addition+text-rope"; one of many names is "-part". */
static void name_part(const reproduce *job, char text[PART]) {
    static const char *const choices[] = {"columns", "rows"};
    size_t used = 0;
    for (size_t c = 0; job->table.part && c < sizeof choices / sizeof *choices; c++)
        if (cli_given_by_user(job->arguments, choices[c]) && used + 2 < PART)
            used = add_choice(text, used, cli_text(job->arguments, choices[c]));
    text[used] = '\0';
    if (job->table.part && (used == 0 || used + 2 >= PART))
        snprintf(text, PART, "-part");
}

static char *file_name(const reproduce *job, const char *end) {
    static const char *const decays[] = {"", "-decay-off", "-decay-both"}, *const inits[] = {"-scaled", "-unit",
                                                                                             "-both"};
    const lab_reproduction *table = &job->table;
    static const char *const paths[] = {"-paths-own", "-paths-next", "-paths-code"};
    const bool init = cli_given_by_user(job->arguments, "embedding-init");
    const bool shifted = cli_given_by_user(job->arguments, "tree-paths");
    char seed[32] = "", part[PART];
    size_t size = strlen(job->folder) + 160 + PART;
    char *path = malloc(size);
    if (table->first_seed > 0)
        snprintf(seed, sizeof seed, "-seed-%" PRIu64, table->first_seed);
    name_part(job, part);
    if (path != NULL) {
        snprintf(path, size, "%s/reproduce-%s-%s%s%s%s%s%s%s%s%s%s%s%s%s", job->folder, table->name, table->budget,
                 table->setup == LAB_SETUP_CODE ? "-code" : "", decays[table->decay],
                 init ? inits[cli_choice(job->arguments, "embedding-init")] : "",
                 shifted ? paths[cli_choice(job->arguments, "tree-paths")] : "",
                 table->asked.precision == LAB_BF16 ? "-bf16" : "",
                 cli_flag(job->arguments, "factors") ? "-factors" : "", cli_flag(job->arguments, "more") ? "-more" : "",
                 cli_flag(job->arguments, "drop-worst") ? "-drop-worst" : "",
                 cli_given_by_user(job->arguments, "pretrained") ? "-pretrained" : "", seed, part, end);
    }
    return path;
}

/* ---- trainings ---- */

static int fill_cell(const lab_reproduction *table, lab_reproduction_place place, lab_cell *cell) {
    char scheme[80];
    if (lab_reproduction_config(table, place, &cell->config, cell->encoding, &cli_fault) != LOCUS_OK)
        return cli_error_in(table->columns[place.column].rows[place.row].spec, &cli_fault);
    const lab_reproduction_column *column = &table->columns[place.column];
    lab_train_name(&cell->config, cell->name, sizeof cell->name);
    lab_reproduction_row_name(table, place.row, scheme, sizeof scheme);
    const bool task = column->class->variant == NULL && column->class->size == NULL; /* it may fill several columns */
    snprintf(cell->label, sizeof cell->label, "%s · %s · seed %" PRIu64,
             task ? column->config.task->name : column->head, scheme, cell->config.seed);
    return 0;
}

/* Every scheme of every column with the first seed, then with the next: the table fills evenly. */
static int make_cells(reproduce *job) {
    const lab_reproduction *table = &job->table;
    size_t most = lab_reproduction_trainings(table);
    job->cells.cells = calloc(most + 1, sizeof *job->cells.cells);
    if (job->cells.cells == NULL)
        return cli_failure("out of memory for %zu trainings", most);
    for (size_t seed = 0; seed < table->seeds; seed++) {
        for (size_t column = 0; column < table->column_count; column++) {
            for (size_t row = 0; row < table->row_count; row++) {
                const lab_reproduction_place place = {row, column, seed};
                if (!lab_reproduction_begins(table, row, column))
                    continue;
                int status = fill_cell(table, place, &job->cells.cells[job->cells.count]);
                if (status != 0)
                    return status;
                job->cells.count++;
            }
        }
    }
    return 0;
}

/* Missing data would fail every training of a column: told once, before the first. */
static int check_data(const reproduce *job) {
    int status = 0;
    for (size_t i = 0; status == 0 && i < job->table.column_count; i++)
        if (lab_reproduction_leads(&job->table, i))
            status = cli_cells_data(&job->table.columns[i].config);
    return status;
}

/* ---- what there is ---- */

static int read_result(reproduce *job, lab_store *store, lab_findings *findings) {
    if (lab_result_read(&job->result, &job->table, store, &cli_fault) != LOCUS_OK ||
        lab_findings_make(findings, &job->table, &job->result, &cli_fault) != LOCUS_OK)
        return cli_error(&cli_fault);
    return 0;
}

static lab_reproduction_view view_of(const reproduce *job, const lab_findings *findings) {
    return (lab_reproduction_view){
        .table = &job->table,
        .result = &job->result,
        .findings = findings,
        .command = job->arguments->command_line,
    };
}

static int write_markdown(reproduce *job, const lab_findings *findings) {
    const lab_reproduction_view view = view_of(job, findings);
    int status = lab_reproduction_markdown(&view, job->markdown, &cli_fault) == LOCUS_OK ? 0 : 1;
    if (status != 0 && !job->told) {
        job->told = true;
        cli_error(&cli_fault);
    }
    return status;
}

/* After each training: the Markdown file shows what there is, even if the program is killed. */
static void rewrite(void *context) {
    reproduce *job = context;
    cli_store store;
    lab_findings findings = {0};
    if (cli_store_open(&store, job->arguments, false) != 0)
        return;
    if (read_result(job, store.store, &findings) == 0)
        write_markdown(job, &findings);
    lab_findings_free(&findings);
    cli_store_close(&store);
}

static int write_page(reproduce *job, lab_store *store) {
    char title[128];
    lab_reproduction_title(&job->table, title, sizeof title);
    const lab_report_options options = {
        .filter = {.runs = job->result.runs, .run_count = job->result.run_count},
        .title = title,
        .command = job->arguments->command_line,
        .folder = job->folder,
    };
    if (job->page == NULL)
        return 0;
    const bool some = job->result.done > 0;
    const int status = some ? cli_done(lab_report_write(store, &options, job->page, &cli_fault)) : 0;
    if (!some || status != 0) {
        free(job->page);
        job->page = NULL;
    }
    return status;
}

static int print(const reproduce *job, const lab_findings *findings) {
    const lab_reproduction_view view = view_of(job, findings);
    const char *const paths[3] = {job->markdown, job->page, job->runs}, *before = "\nwritten: ";
    const int status = cli_reproduce_show(job->arguments, &view, paths);
    for (size_t i = 0; status == 0 && !cli_flag(job->arguments, "json") && i < 3; i++) {
        if (paths[i] != NULL) {
            cli_say("%s%s", before, paths[i]);
            before = ", ";
        }
    }
    if (*before == ',')
        cli_say("\n");
    return status;
}

/* A table of nothing has no runs. */
static int write_runs(reproduce *job, lab_store *store) {
    const int status = job->result.done > 0 ? cli_record_write(store, job->arguments, &job->result, job->runs) : 0;
    if (status != 0 || job->result.done == 0) {
        free(job->runs);
        job->runs = NULL;
    }
    return status;
}

/* The table comes first: it must not be lost if a file cannot be written. */
static int report(reproduce *job) {
    cli_store store;
    lab_findings findings = {0};
    int status = cli_store_open(&store, job->arguments, false);
    if (status != 0)
        return status;
    status = read_result(job, store.store, &findings);
    if (status == 0) {
        int written = write_markdown(job, &findings);
        if (written != 0) {
            free(job->markdown);
            job->markdown = NULL;
        }
        int page = write_page(job, store.store), runs = write_runs(job, store.store);
        status = print(job, &findings);
        status = status ? status : written ? written : page ? page : runs;
    }
    lab_findings_free(&findings);
    cli_store_close(&store);
    return status;
}

/* ---- the command ---- */

/* The trainings are copies of this process, made before any thread is started: what it computes itself until then it
 * computes alone. */
static int train(reproduce *job) {
    lab_cells *all = &job->cells;
    size_t own = locus_threads();
    cli_cells_prepare(all, job->arguments, job->folder);
    if (locus_threads_set(1) != LOCUS_OK)
        return cli_failure("cannot compute with one thread");
    const bool some = cli_given_by_user(job->arguments, "only"); /* which make no table */
    if (!some && lab_result_chance(&job->result, &job->table, &cli_fault) != LOCUS_OK)
        return cli_error(&cli_fault);
    int status = cli_cells_run(all, some ? NULL : rewrite, job);
    bool stopped = cli_stop_asked();
    cli_stop_release();
    if (some)
        return stopped ? cli_train_resume(job->arguments, "stopped; ") : status;
    if (locus_threads_set(own) != LOCUS_OK)
        return cli_failure("cannot use %zu threads again", own);
    int reported = report(job);
    if (stopped) {
        char how_far[96];
        snprintf(how_far, sizeof how_far, "stopped with %zu of %zu trainings done; ", job->result.done, job->result.of);
        return cli_train_resume(job->arguments, how_far);
    }
    return status ? status : reported;
}

/* Opened once, so that a store that is damaged or cannot be written is told once, and closed before the processes
 * part. */
static int prepare_files(reproduce *job) {
    cli_store store;
    int status = cli_store_open(&store, job->arguments, true);
    if (status != 0)
        return status;
    job->folder = strdup(store.folder);
    cli_store_close(&store);
    job->markdown = job->folder == NULL ? NULL : file_name(job, ".md");
    const bool draws = !cli_flag(job->arguments, "no-page");
    job->page = job->folder != NULL && draws ? file_name(job, ".html") : NULL;
    job->runs = job->folder == NULL ? NULL : file_name(job, ".json");
    return job->markdown == NULL || job->runs == NULL || (draws && job->page == NULL) ? cli_failure("out of memory")
                                                                                      : 0;
}

/* What scripts make stands beside the store. */
static int print_sweep(reproduce *job) {
    job->folder = lab_folder_of(cli_text(job->arguments, "store"));
    char *parts = job->folder != NULL ? file_name(job, "-parts") : NULL;
    const int status =
        parts != NULL ? cli_sweep_print(job->arguments, &job->cells, parts) : cli_failure("out of memory");
    free(parts);
    return status;
}

static int run(cli_arguments *arguments) {
    if (cli_given_by_user(arguments, "from"))
        return cli_reproduce_from(arguments);
    if (cli_flag(arguments, "check"))
        return cli_usage_error("reproduce: --check needs --from FILE, the runs whose page is checked");
    if (cli_given_by_user(arguments, "output"))
        return cli_usage_error("reproduce: -o needs --from FILE, the runs that a page is made of");
    if (arguments->operand_count == 0)
        return cli_usage_error("reproduce: which table? %s; or --from FILE", arguments->command->operands);
    reproduce *job = calloc(1, sizeof *job);
    if (job == NULL)
        return cli_failure("out of memory");
    job->arguments = arguments;
    int status = cli_reproduce_request(arguments, NULL, &job->table);
    status = status ? status : make_cells(job);
    status = status ? status : cli_sweep_choose(arguments, &job->cells);
    if (status == 0 && cli_sweep_asked(arguments)) {
        status = print_sweep(job);
    } else if (status == 0) {
        status = check_data(job);
        status = status ? status : prepare_files(job);
        status = status ? status : train(job);
    }
    free(job->cells.cells);
    free(job->folder);
    free(job->markdown);
    free(job->page);
    free(job->runs);
    free(job);
    return status;
}

static const cli_option options[] = {
    {"seeds", 0, CLI_INTEGER, "N", NULL, "repetitions; 3, but 1 for images below budget paper, 10 for roper at it", 1,
     LAB_MOST_SEEDS},
    {"seed", 's', CLI_INTEGER, "S", "0", "the first seed", 0, 9007199254740991.0},
    CLI_ROW_CHOICE("decay", "on|off|both", "as published, for nobody, or each orthogonal scheme with and without"),
    CLI_ROW_CHOICE("embedding-init", "scaled|unit|both",
                   "embeddings of variance 1/D, or 1; both for table1 if not given, else scaled"),
    CLI_ROW_FLAG(
        "factors",
        "table1: with embeddings unit also what is added to them times √D, the logits divided by √D, and both"),
    CLI_ROW_FLAG("drop-worst", "roper: leave the worst seed of each field out, as published"),
    CLI_ROW_FLAG(
        "more",
        "table3: also rope on two axes, mixed, string and none; roper: also algebraic with and without values, trees"),
    {"columns", 'c', CLI_LIST, "NAME,NAME,…", NULL, "a part of the table: tree-copy, copy-unit, addition, digit", 0, 0},
    {"rows", 'r', CLI_LIST, "NAME,NAME,…", NULL, "a part of the table: rope, algebraic, algebraic-tree", 0, 0},
    {"jobs", 'j', CLI_INTEGER, "N", "1", "trainings side by side; timings are then of a shared machine", 1, 256},
    CLI_STORE_OPTION,
    CLI_SWEEP_OPTIONS,
    CLI_ROW_FLAG("no-page", "write no page"),
    CLI_ROW_TEXT("from", 0, "FILE", "make the Markdown file beside this JSON file of runs again; train nothing"),
    CLI_ROW_TEXT("output", 'o', "PAGE.html", "with --from: write the runs' page, with their curves, and nothing else"),
    CLI_ROW_FLAG("check", "with --from: write nothing, say where the Markdown file is not what its runs give"),
};

const cli_command cli_command_reproduce = {
    .name = "reproduce",
    .summary = "trains a published table, shows it beside the published numbers, judges the paper's claims",
    .operands = "[table1|table2|table3|roper|listops]",
    .details =
        "table1: sequences; table2: trees; table3: images (Algebraic Positional Encodings, Kogkalidis, Bernardy and "
        "Garg 2024).\nroper: values turned or not, on addition, two substring tasks and text (Harik and Jayasiri "
        "2022).\nlistops: nested expressions, their value and whether it is odd, flat positions and a tree's "
        "(Hastings 2024); with --pretrained also an encoder of that folder, with chebyshev(site=output) and "
        "alone.\nEvery training is a run of the store, as 'locus train' makes it. Trainings that are done "
        "are not\nrepeated, and one that was stopped or killed goes on: the same command finishes an interrupted "
        "table.\n\n"
        "The claims are called SUPPORTED, OPEN or CONTRADICTED by what was measured, from means over\nseeds by rules "
        "that were written before (docs/reproduction.md). A Markdown file, a page and\nthe runs as JSON are written "
        "beside the store.\n\n"
        "--sbatch and --parallel deal the trainings to many machines; docs/sweeps.md tells how.\n\n"
        "--from makes the Markdown file again from that JSON: no store, no data and no other option are needed.\nWhat "
        "was written by hand below the generated part (from '## Conditions' on) stays. --check compares\ninstead. "
        "-o makes the page of curves instead; trained encodings, whose checkpoints are not\nin the file, are not "
        "drawn.",
    .examples = "locus reproduce table1 --budget smoke --seeds 1\n"
                "locus reproduce table2 --budget quick --jobs 2 --threads 1\n"
                "locus reproduce table2 --budget quick --decay both --columns tree-reorder --rows rope,algebraic\n"
                "locus reproduce table3 --budget quick --list\n"
                "locus reproduce table2 --budget paper --sbatch >table2.sh\n"
                "locus reproduce roper --budget quick --columns addition,substring --more\n"
                "locus reproduce listops --budget quick --columns digit\n"
                "locus reproduce --from docs/results/table1-quick.json -o table1.html\n"
                "locus reproduce --from docs/results/table1-quick.json --check\n",
    .shared = CLI_JSON | CLI_FORMAT | CLI_QUIET | CLI_THREADS,
    CLI_OPTIONS(options),
    .tasks = LAB_OPTION_REPRODUCED,
    .run = run,
};
