/* SPDX-License-Identifier: MIT */
/* locus compare: trains every cell of tasks × encodings × seeds × embedding initialisations that is not done, then
 * prints tables and writes the page. */
#include "cells.h"
#include "command.h"
#include "io/folder.h"
#include "output.h"
#include "page/report.h"
#include "report/reproduction/reproduction.h"
#include "stop.h"
#include "store_argument.h"
#include "sweep.h"
#include "train/configuration/config.h"
#include "train_options.h"
#include "vary.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- which cells ---- */

/* A task with its configuration, and the encodings that it is trained with. */
typedef struct task_axis {
    lab_train_config base;
    const char *name;                     /* of the task */
    char varied[CLI_VARY_TEXT];           /* "rate 0.0003, layers 2"; "" without --vary */
    lab_scheme schemes[LAB_MOST_SCHEMES]; /* those of the published comparison, if none are given */
    size_t scheme_count;
} task_axis;

typedef struct axes {
    char **names, **encodings; /* as given */
    cli_vary vary;
    task_axis *tasks; /* [names' count · points of the grid] */
    size_t name_count, task_count, encoding_count, seeds, inits[2], init_count;
    uint64_t first_seed;
} axes;

static size_t encodings_of(const axes *over, const task_axis *task) {
    return over->encoding_count > 0 ? over->encoding_count : task->scheme_count;
}

static const char *encoding_of(const axes *over, const task_axis *task, size_t index) {
    return over->encoding_count > 0 ? over->encodings[index] : task->schemes[index].spec;
}

/* One --data cannot be images and text. */
static int refuse_shared_data(const axes *over, const cli_arguments *arguments) {
    const lab_task *first = NULL;
    for (size_t i = 0; cli_given_by_user(arguments, "data") && i < over->name_count; i++) {
        const lab_task *task = lab_task_find(over->names[i]);
        if (first != NULL && task != NULL && task->class != first->class) {
            return cli_usage_error("--data: %s and %s don't read the same files; compare one after the other",
                                   first->name, task->name);
        }
        first = task != NULL ? task : first;
    }
    return 0;
}

static int read_task(const axes *over, task_axis *task, cli_arguments *arguments) {
    const int status = cli_train_config(&task->base, arguments, task->name);
    if (status != 0)
        return status;
    const lab_scheme_request request = {
        .class = task->base.task->class, .config = &task->base, .setup = task->base.setup};
    task->scheme_count = lab_schemes(&request, task->schemes);
    return over->encoding_count + task->scheme_count > 0
               ? 0
               : cli_usage_error("--encodings: no comparison of %s is published; say which to train", task->name);
}

/* Each task at each point of the grid. */
static int read_tasks(axes *over, cli_arguments *arguments) {
    over->name_count = cli_list(arguments, "task", &over->names);
    int status = cli_vary_read(&over->vary, arguments);
    if (status != 0)
        return status;
    over->tasks = calloc(over->name_count * over->vary.points + 1, sizeof *over->tasks);
    status = over->tasks == NULL ? cli_failure("out of memory") : refuse_shared_data(over, arguments);
    for (size_t i = 0; status == 0 && i < over->name_count; i++) {
        for (size_t point = 0; status == 0 && point < over->vary.points; point++) {
            task_axis *task = &over->tasks[over->task_count++];
            task->name = over->names[i];
            status = cli_vary_set(&over->vary, point, arguments, task->varied);
            status = status ? status : read_task(over, task, arguments);
        }
    }
    return status;
}

static int read_axes(axes *over, cli_arguments *arguments) {
    over->encoding_count = cli_list(arguments, "encodings", &over->encodings);
    over->seeds = (size_t)cli_integer(arguments, "seeds");
    over->first_seed = (uint64_t)cli_integer(arguments, "seed");
    static const size_t inits[] = {LAB_EMBEDDING_SCALED, LAB_EMBEDDING_UNIT, LAB_EMBEDDING_SCALED, LAB_EMBEDDING_PLAIN};
    size_t init = cli_choice(arguments, "embedding-init");
    over->init_count = init == 2 ? 2 : 1;
    over->inits[0] = inits[init];
    over->inits[1] = LAB_EMBEDDING_UNIT;
    return read_tasks(over, arguments);
}

static int fill_cell(lab_cell *cell, const axes *over, const task_axis *task, const char *encoding) {
    int status = cli_train_encoding(&cell->config, encoding, cell->encoding, sizeof cell->encoding);
    if (status != 0)
        return status;
    const char *variant = lab_config_variant(&cell->config);
    lab_train_name(&cell->config, cell->name, sizeof cell->name);
    snprintf(cell->label, sizeof cell->label, "%s%s%s · %.300s%s%s%s · seed %" PRIu64, cell->config.task->name,
             *variant != '\0' ? " " : "", variant, cell->encoding, task->varied[0] != '\0' ? " · " : "", task->varied,
             over->init_count < 2                                      ? ""
             : cell->config.model.embedding_init == LAB_EMBEDDING_UNIT ? " · unit"
                                                                       : " · scaled",
             cell->config.seed);
    return 0;
}

/* A cell that is named twice is trained once. */
static int add_cell(lab_cells *all, const lab_train_config *config, const axes *over, const task_axis *task,
                    const char *encoding) {
    lab_cell *cell = &all->cells[all->count];
    cell->config = *config;
    int status = fill_cell(cell, over, task, encoding);
    bool twice = false;
    for (size_t j = 0; status == 0 && j < all->count && !twice; j++) {
        const char *difference = lab_config_difference(&all->cells[j].config, &cell->config);
        twice = strcmp(all->cells[j].name, cell->name) == 0;
        if (twice && difference != NULL) { /* by chance: a name has 32 bits of the hash */
            return cli_failure("two cells that differ in %s would both be called '%s': compare them one after the "
                               "other, in stores of their own",
                               difference, cell->name);
        }
    }
    all->count += status == 0 && !twice;
    return status;
}

/* The cells of a task's encodings, for one seed and initialisation. */
static int add_row(lab_cells *all, const axes *over, const task_axis *task, size_t seed, size_t init) {
    lab_train_config config = task->base;
    config.seed = over->first_seed + seed;
    cli_train_embedding(&config, (lab_embedding_init)over->inits[init]);
    int status = 0;
    for (size_t i = 0; status == 0 && i < encodings_of(over, task); i++)
        status = add_cell(all, &config, over, task, encoding_of(over, task, i));
    return status;
}

/* Trainings that the store has from earlier versions keep the names that these gave them. */
static int keep_names(cli_arguments *arguments, lab_cells *all) {
    cli_store store;
    bool differ = false;
    for (size_t i = 0; i < all->count && !differ; i++) {
        char older[sizeof all->cells->name];
        lab_train_older_name(&all->cells[i].config, older, sizeof older);
        differ = strcmp(older, all->cells[i].name) != 0;
    }
    if (!differ || access(cli_text(arguments, "store"), F_OK) != 0)
        return 0;
    int status = cli_store_open(&store, arguments, false);
    if (status != 0)
        return status;
    for (size_t i = 0; i < all->count && status == 0; i++) {
        lab_cell *cell = &all->cells[i];
        status = cli_done(lab_train_kept_name(store.store, &cell->config, cell->name, sizeof cell->name, &cli_fault));
    }
    cli_store_close(&store);
    return status;
}

/* Cells in the order in which tables fill evenly: every encoding of a seed before the next seed. */
static int make_cells(lab_cells *all, const axes *over) {
    size_t most = 0;
    for (size_t t = 0; t < over->task_count; t++)
        most += encodings_of(over, &over->tasks[t]) * over->seeds * over->init_count;
    all->cells = calloc(most + 1, sizeof *all->cells);
    int status = all->cells == NULL ? cli_failure("out of memory for %zu cells", most) : 0;
    for (size_t seed = 0; seed < over->seeds; seed++) {
        for (size_t t = 0; t < over->task_count; t++)
            for (size_t init = 0; status == 0 && init < over->init_count; init++)
                status = add_row(all, over, &over->tasks[t], seed, init);
    }
    return status;
}

static int check_data(const axes *over) {
    int status = 0;
    for (size_t t = 0; status == 0 && t < over->task_count; t++)
        status = cli_cells_data(&over->tasks[t].base);
    return status;
}

/* ---- results ---- */

/* "folder/compare-copy-reverse" and an ending; NULL: out of memory. */
static char *file_name(const char *folder, const axes *over, const char *end) {
    char tasks[128] = "";
    for (size_t i = 0; i < over->name_count; i++) {
        size_t used = strlen(tasks);
        snprintf(tasks + used, sizeof tasks - used, "-%s", over->names[i]);
    }
    size_t size = strlen(folder) + sizeof tasks + 32;
    char *path = malloc(size);
    if (path != NULL)
        snprintf(path, size, "%s/compare%s%s", folder, tasks, end);
    return path;
}

static char *page_path(const cli_arguments *arguments, const cli_store *store, const axes *over) {
    const char *given = cli_text(arguments, "page");
    return given != NULL ? strdup(given) : file_name(store->folder, over, ".html");
}

static int write_page(cli_arguments *arguments, const cli_store *store, const lab_summary_filter *filter,
                      const char *path) {
    const lab_report_options options = {.filter = *filter, .command = arguments->command_line, .folder = store->folder};
    return cli_done(lab_report_write(store->store, &options, path, &cli_fault));
}

/* The table comes first: it must not be lost if the page cannot be written. */
static int report(cli_arguments *arguments, const lab_cells *all, const axes *over) {
    cli_store store;
    lab_summary summary;
    int status = cli_store_open(&store, arguments, false);
    if (status != 0)
        return status;
    int64_t *ids = calloc(all->count + 1, sizeof *ids);
    const bool draws = !cli_flag(arguments, "no-page");
    char *path = draws ? page_path(arguments, &store, over) : NULL;
    lab_summary_filter filter = {.runs = ids};
    for (size_t i = 0; ids != NULL && i < all->count; i++)
        if (all->cells[i].run != 0)
            ids[filter.run_count++] = all->cells[i].run;
    if (ids == NULL || (draws && path == NULL)) {
        status = cli_failure("out of memory");
    } else if (filter.run_count == 0) {
        status = 1; /* nothing was trained, and why was told */
    } else if (lab_summary_create(&summary, store.store, &filter, &cli_fault) != LOCUS_OK) {
        status = cli_error(&cli_fault);
    } else {
        int page = path == NULL ? 0 : write_page(arguments, &store, &filter, path);
        status = cli_summary_print(&summary, page == 0 ? path : NULL);
        status = status ? status : page;
        lab_summary_free(&summary);
    }
    free(path);
    free(ids);
    cli_store_close(&store);
    return status;
}

/* ---- the command ---- */

static int train_and_report(cli_arguments *arguments, lab_cells *all, const axes *over) {
    /* Opened once, so that a store that is damaged or cannot be written is told once, and closed before the processes
     * part. */
    cli_store store;
    int status = cli_store_open(&store, arguments, true);
    if (status != 0)
        return status;
    lab_store_close(&store.store);
    cli_cells_prepare(all, arguments, store.folder);
    all->restart = cli_flag(arguments, "restart");
    status = cli_cells_run(all, NULL, NULL);
    cli_store_close(&store);
    if (cli_stop_asked())
        return cli_train_resume(arguments, "stopped; ");
    cli_stop_release();
    if (cli_given_by_user(arguments, "only"))
        return status;
    int reported = report(arguments, all, over);
    return status ? status : reported;
}

/* By which parts of one comparison, and comparisons of one task, have folders of their own: FNV-1a of names. */
static uint32_t sum_of_cells(const lab_cells *all) {
    uint32_t sum = 2166136261u;
    for (size_t i = 0; i < all->count; i++)
        for (const char *c = all->cells[i].name;; c++) { /* the zero between two names, too */
            sum = (sum ^ (unsigned char)*c) * 16777619u;
            if (*c == '\0')
                break;
        }
    return sum;
}

/* What scripts make stands beside the store. */
static int print_sweep(const cli_arguments *arguments, const lab_cells *all, const axes *over) {
    char *folder = lab_folder_of(cli_text(arguments, "store")), end[32];
    snprintf(end, sizeof end, "-%08" PRIx32 "-parts", sum_of_cells(all));
    char *parts = folder != NULL ? file_name(folder, over, end) : NULL;
    const int status = parts != NULL ? cli_sweep_print(arguments, all, parts) : cli_failure("out of memory");
    free(parts);
    free(folder);
    return status;
}

static int run(cli_arguments *arguments) {
    axes over = {0};
    lab_cells all = {0};
    int status = cli_require(arguments, "task");
    status = status ? status : read_axes(&over, arguments);
    status = status ? status : make_cells(&all, &over);
    status = status ? status : keep_names(arguments, &all);
    status = status ? status : cli_sweep_choose(arguments, &all);
    if (status == 0 && cli_sweep_asked(arguments)) {
        status = print_sweep(arguments, &all, &over);
    } else if (status == 0) {
        status = check_data(&over);
        status = status ? status : train_and_report(arguments, &all, &over);
    }
    free(all.cells);
    free(over.tasks);
    cli_vary_free(&over.vary);
    return status;
}

static const cli_option options[] = {
    {"task", 't', CLI_LIST, CLI_TASKS_VALUE, NULL, "what is learned", 0, 0},
    {"encodings", 'e', CLI_LIST, "SPEC,SPEC,…", NULL,
     "encodings, or patterns over layers; those of the published comparison if not given", 0, 0},
    {"seeds", 0, CLI_INTEGER, "N", "1", "repetitions, which vary initialisation and training", 1, 1000},
    {"seed", 's', CLI_INTEGER, "S", "0", "the first seed", 0, 9007199254740991.0},
    CLI_ROW_CHOICE("embedding-init", "scaled|unit|both|plain",
                   "embeddings of variance 1/D, or 1, or both side by side; or 0.02², unscaled"),
    {"jobs", 'j', CLI_INTEGER, "N", "1", "cells side by side; timings are then of a shared machine", 1, 256},
    CLI_STORE_OPTION,
    {"vary", 0, CLI_TEXTS, "OPTION=V,V,…", NULL, "trains with each of these values; several make a grid", 0, 0},
    CLI_SWEEP_OPTIONS,
    CLI_ROW_TEXT("page", 0, "FILE", "where the page goes; beside the store if not given"),
    CLI_ROW_FLAG("no-page", "write no page"),
    CLI_ROW_FLAG("restart", "train the cells again that are there already"),
};

const cli_command cli_command_compare = {
    .name = "compare",
    .summary = "trains several encodings on several tasks, prints tables, writes a page",
    .operands = "",
    .details =
        "Every cell (task, encoding, seed, embedding initialisation) is a run of the store. Cells that are done are "
        "not trained\nagain, and one that was stopped goes on: the same command finishes an interrupted "
        "comparison.\n\n"
        "--sbatch and --parallel deal the cells to many machines; docs/sweeps.md tells how.\n\n"
        "--vary OPTION=V,V,… trains with each of these values of an option of training; given several times it makes "
        "a grid.\nSections are then called by what differs between them.\n\n"
        "Published numbers stand beside the measured ones where there are any, with the budget that they belong to.",
    .examples =
        "locus compare --task copy,reverse --encodings 'sinusoidal,rope,algebraic(group=seq, decay=0.98)' --seeds 3\n"
        "locus compare --task copy --encodings rope,alibi --vary rate=1e-3,2e-3 --vary layers=1,2\n"
        "locus compare --task copy --budget quick --seeds 3 --embedding-init both --jobs 2 --threads 1\n"
        "locus compare --task tree-copy,tree-reorder --order depth --budget quick --seeds 3 --jobs 2 --threads 1\n",
    .shared = CLI_JSON | CLI_FORMAT | CLI_QUIET | CLI_THREADS,
    CLI_OPTIONS(options),
    .tasks = LAB_OPTION_TRAINED,
    .run = run,
};
