/* SPDX-License-Identifier: MIT */
/* locus compare: trains every cell of tasks × encodings × seeds × embedding initialisations that is not done, then
 * prints tables and writes the page. */
#include "cells.h"
#include "command.h"
#include "comparison_table.h"
#include "output.h"
#include "report/report.h"
#include "stop.h"
#include "store_argument.h"
#include "train_options.h"

#include <inttypes.h>
#include <locus/parallel.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- which cells ---- */

typedef struct axes {
    char **tasks, **encodings;
    size_t task_count, encoding_count, seeds, inits[2], init_count;
    uint64_t first_seed;
} axes;

/* The published comparison's schemes; a window as its source sets it, to the mean length of the words. */
#define STANDARD_COUNT 4
static char *standard_encodings[STANDARD_COUNT];
static char standard_relative[48];

static void use_standard_encodings(axes *over, const lab_train_config *base) {
    static char sinusoidal[] = "sinusoidal", rope[] = "rope", algebraic[] = "algebraic(group=seq, decay=0.98)";
    snprintf(standard_relative, sizeof standard_relative, "relative(window=%.0f)", base->data.length_mean);
    char *all[STANDARD_COUNT] = {sinusoidal, standard_relative, rope, algebraic};
    memcpy(standard_encodings, all, sizeof all);
    over->encodings = standard_encodings;
    over->encoding_count = STANDARD_COUNT;
}

static void read_axes(axes *over, cli_arguments *arguments, const lab_train_config *base) {
    over->encoding_count = cli_list(arguments, "encodings", &over->encodings);
    if (over->encoding_count == 0) {
        use_standard_encodings(over, base);
    }
    over->seeds = (size_t)cli_integer(arguments, "seeds");
    over->first_seed = (uint64_t)cli_integer(arguments, "seed");
    size_t init = cli_choice(arguments, "embedding-init");
    over->init_count = init == 2 ? 2 : 1;
    over->inits[0] = init == 1 ? LAB_EMBEDDING_UNIT : LAB_EMBEDDING_SCALED;
    over->inits[1] = LAB_EMBEDDING_UNIT;
}

static int fill_cell(cli_cell *cell, const lab_train_config *base, const axes *over, size_t encoding) {
    cell->config = *base;
    int status = cli_train_encoding(&cell->config, over->encodings[encoding], cell->encoding, sizeof cell->encoding);
    if (status != 0) {
        return status;
    }
    lab_train_name(&cell->config, cell->name, sizeof cell->name);
    snprintf(cell->label, sizeof cell->label, "%s · %.400s%s · seed %" PRIu64, cell->config.task, cell->encoding,
             over->init_count < 2                                      ? ""
             : cell->config.model.embedding_init == LAB_EMBEDDING_UNIT ? " · unit"
                                                                       : " · scaled",
             cell->config.seed);
    return 0;
}

/* Cells in the order in which tables fill evenly: every encoding of a seed before the next seed. A cell that is named
 * twice is trained once. */
static int make_cells(cli_cells *all, const lab_train_config *bases, const axes *over) {
    size_t most = over->task_count * over->encoding_count * over->seeds * over->init_count;
    all->cells = calloc(most + 1, sizeof *all->cells);
    if (all->cells == NULL) {
        return cli_failure("out of memory for %zu cells", most);
    }
    for (size_t i = 0; i < most; i++) {
        size_t encoding = i % over->encoding_count, rest = i / over->encoding_count;
        size_t init = rest % over->init_count, task = rest / over->init_count % over->task_count;
        lab_train_config config = bases[task];
        config.seed = over->first_seed + rest / over->init_count / over->task_count;
        config.model.embedding_init = (lab_embedding_init)over->inits[init];
        cli_cell *cell = &all->cells[all->count];
        int status = fill_cell(cell, &config, over, encoding);
        if (status != 0) {
            return status;
        }
        bool twice = false;
        for (size_t j = 0; j < all->count && !twice; j++) {
            twice = strcmp(all->cells[j].name, cell->name) == 0;
        }
        all->count += !twice;
    }
    return 0;
}

/* ---- results ---- */

static char *page_path(const cli_arguments *arguments, const cli_store *store, const axes *over) {
    const char *given = cli_text(arguments, "page");
    if (given != NULL) {
        return strdup(given);
    }
    char tasks[128] = "";
    for (size_t i = 0; i < over->task_count; i++) {
        size_t used = strlen(tasks);
        snprintf(tasks + used, sizeof tasks - used, "-%s", over->tasks[i]);
    }
    size_t size = strlen(store->folder) + sizeof tasks + 32;
    char *path = malloc(size);
    if (path != NULL) {
        snprintf(path, size, "%s/compare%s.html", store->folder, tasks);
    }
    return path;
}

static int write_page(cli_arguments *arguments, const cli_store *store, const lab_summary_filter *filter,
                      const char *path) {
    locus_error error;
    const lab_report_options options = {.filter = *filter, .command = arguments->command_line, .folder = store->folder};
    return lab_report_write(store->store, &options, path, &error) == LOCUS_OK ? 0 : cli_error(&error);
}

static int print_summary(cli_arguments *arguments, const lab_summary *summary, const char *page) {
    if (cli_flag(arguments, "json")) {
        cJSON *root = lab_summary_json(summary);
        if (root != NULL && page != NULL) {
            cJSON_AddStringToObject(root, "page", page);
        }
        return cli_json_print(root);
    }
    cli_comparison_print(summary, stdout);
    if (page != NULL) {
        printf("\npage: %s\n", page);
    }
    return 0;
}

/* The table comes first: it must not be lost if the page cannot be written. */
static int report(cli_arguments *arguments, const cli_cells *all, const axes *over) {
    cli_store store;
    locus_error error;
    lab_summary summary;
    int status = cli_store_open(&store, arguments, false);
    if (status != 0) {
        return status;
    }
    int64_t *ids = calloc(all->count + 1, sizeof *ids);
    char *path = cli_flag(arguments, "no-page") ? NULL : page_path(arguments, &store, over);
    lab_summary_filter filter = {.runs = ids};
    for (size_t i = 0; ids != NULL && i < all->count; i++) {
        if (all->cells[i].run != 0) {
            ids[filter.run_count++] = all->cells[i].run;
        }
    }
    if (filter.run_count == 0) {
        status = 1; /* nothing was trained, and why was told */
    } else if (lab_summary_create(&summary, store.store, &filter, &error) != LOCUS_OK) {
        status = cli_error(&error);
    } else {
        int page = path == NULL ? 0 : write_page(arguments, &store, &filter, path);
        status = print_summary(arguments, &summary, page == 0 ? path : NULL);
        status = status ? status : page;
        lab_summary_free(&summary);
    }
    free(path);
    free(ids);
    cli_store_close(&store);
    return status;
}

/* ---- the command ---- */

static size_t threads_of_each(const cli_arguments *arguments, size_t jobs) {
    if (cli_given_by_user(arguments, "threads")) {
        return (size_t)cli_integer(arguments, "threads");
    }
    size_t threads = locus_threads() / jobs;
    return threads > 0 ? threads : 1;
}

static int train_and_report(cli_arguments *arguments, cli_cells *all, const axes *over) {
    /* Opened once, so that a store that is damaged or cannot be written is told once, and closed before the processes
     * part. */
    cli_store store;
    int status = cli_store_open(&store, arguments, true);
    if (status != 0) {
        return status;
    }
    lab_store_close(&store.store);
    all->folder = store.folder;
    all->store_path = cli_text(arguments, "store");
    all->command = arguments->command_line;
    all->jobs = (size_t)cli_integer(arguments, "jobs");
    all->threads = threads_of_each(arguments, all->jobs);
    all->restart = cli_flag(arguments, "restart");
    status = cli_cells_run(all);
    cli_store_close(&store);
    if (cli_stop_asked()) {
        return cli_failure("stopped; to go on: %s", arguments->command_line);
    }
    cli_stop_release();
    int reported = report(arguments, all, over);
    return status ? status : reported;
}

static int run(cli_arguments *arguments) {
    axes over = {0};
    cli_cells all = {0};
    int status = cli_require(arguments, "task");
    if (status != 0) {
        return status;
    }
    over.task_count = cli_list(arguments, "task", &over.tasks);
    lab_train_config *bases = calloc(over.task_count + 1, sizeof *bases);
    status = bases == NULL ? cli_failure("out of memory") : 0;
    for (size_t i = 0; status == 0 && i < over.task_count; i++) {
        status = cli_train_config(&bases[i], arguments, over.tasks[i]);
    }
    if (status == 0) {
        read_axes(&over, arguments, bases);
        status = make_cells(&all, bases, &over);
    }
    status = status ? status : train_and_report(arguments, &all, &over);
    free(all.cells);
    free(bases);
    return status;
}

static const cli_option options[] = {
    {"task", 't', CLI_LIST, "T,T,…", NULL, "tasks: copy, reverse, repeat", 0, 0},
    {"encodings", 'e', CLI_LIST, "SPEC,SPEC,…", NULL,
     "encodings, or patterns over layers; those of the published comparison if not given", 0, 0},
    {"seeds", 0, CLI_INTEGER, "N", "1", "repetitions, which vary initialisation and training", 1, 1000},
    {"seed", 's', CLI_INTEGER, "S", "0", "the first seed", 0, 9007199254740991.0},
    {"embedding-init", 0, CLI_CHOICE, "scaled|unit|both", NULL,
     "embeddings of variance 1/D, or 1, or both side by side", 0, 0},
    {"jobs", 'j', CLI_INTEGER, "N", "1", "cells side by side; timings are then of a shared machine", 1, 256},
    CLI_TRAIN_OPTIONS,
    CLI_STORE_OPTION,
    {"page", 0, CLI_TEXT, "FILE", NULL, "where the page goes; beside the store if not given", 0, 0},
    {"no-page", 0, CLI_FLAG, NULL, NULL, "write no page", 0, 0},
    {"restart", 0, CLI_FLAG, NULL, NULL, "train the cells again that are there already", 0, 0},
};

const cli_command cli_command_compare = {
    .name = "compare",
    .summary = "trains several encodings on several tasks, prints tables, writes a page",
    .operands = "",
    .details =
        "Every cell (task, encoding, seed, embedding initialisation) is a run of the store. Cells that are done are "
        "not trained\n"
        "again, and one that was stopped goes on: the same command finishes an interrupted comparison.\n\n"
        "Published numbers stand beside the measured ones where there are any, with the budget that they belong to.",
    .examples =
        "locus compare --task copy,reverse --encodings 'sinusoidal,rope,algebraic(group=seq, decay=0.98)' --seeds 3\n"
        "locus compare --task copy --budget quick --seeds 3 --embedding-init both --jobs 2 --threads 1\n",
    .shared = CLI_JSON | CLI_QUIET | CLI_THREADS,
    CLI_OPTIONS(options),
    .run = run,
};
