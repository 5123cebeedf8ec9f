/* SPDX-License-Identifier: MIT */
/* locus train: trains one model with one encoding on one task, or goes on where it was stopped or killed. */
#include "command.h"
#include "continued.h"
#include "io/folder.h"
#include "job_ranks.h"
#include "output.h"
#include "report/tables/score_columns.h"
#include "stop.h"
#include "store_argument.h"
#include "train/checkpoint.h"
#include "train/feed/train_data.h"
#include "train_options.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The line in place, and of images a line for each epoch that stays. */
typedef struct watcher {
    cli_progress progress;
    uint64_t told; /* epochs; UINT64_MAX: not yet looked */
} watcher;

static void tell_epoch(watcher *eye, const lab_progress *now) {
    const uint64_t epoch = now->epoch_steps > 0 ? now->step / now->epoch_steps : 0;
    const bool scored = now->epoch_steps > 0 && !isnan(now->dev_accuracy) && strcmp(now->phase, "train") == 0;
    if (eye->told == UINT64_MAX) {
        eye->told = epoch; /* where it goes on */
    } else if (scored && epoch > eye->told) {
        eye->told = epoch;
        cli_progress_end(&eye->progress);
        cli_note("epoch %" PRIu64 " of %" PRIu64 ": test %.2f %%, loss %.4f; training loss %.4f, %.0f tokens/s", epoch,
                 now->steps / now->epoch_steps, 100.0 * now->dev_accuracy, now->dev_loss, now->loss,
                 now->tokens_per_second);
    }
}

static bool look(void *context, const lab_progress *now) {
    watcher *eye = context;
    tell_epoch(eye, now);
    cli_progress_show(&eye->progress, now);
    return !cli_stop_asked();
}

/* The final scores of one set. */
typedef struct set_scores {
    const lab_final *finals;
    size_t count;
    const char *set;
} set_scores;

static double final_value(const void *context, const char *name) {
    const set_scores *of = context;
    for (size_t i = 0; i < of->count; i++)
        if (strcmp(of->finals[i].set, of->set) == 0 && strcmp(of->finals[i].name, name) == 0)
            return of->finals[i].value;
    return (double)NAN;
}

/* A row for each test set. */
static void print_scores(const lab_final *finals, size_t count, const lab_task_class *class) {
    static const char *const first[] = {"set"};
    lab_table *table = lab_score_table(first, 1, class, LAB_SCORE_RUN);
    for (size_t i = 0; i < count; i++) {
        const set_scores of = {finals, count, finals[i].set};
        if (strncmp(of.set, "test", 4) == 0 && (i == 0 || strcmp(of.set, finals[i - 1].set) != 0)) {
            lab_table_cell(table, "%s", of.set);
            lab_score_cells(table, class, LAB_SCORE_RUN, final_value, &of);
        }
    }
    cli_table_print(table);
    if (class->scores_note != NULL)
        cli_say("%s\n", class->scores_note);
}

static int print_run(const cli_store *store, const lab_run *run, bool json) {
    if (json) {
        cJSON *root = lab_run_json(store->store, run, &cli_fault);
        return root == NULL ? cli_error(&cli_fault) : cli_json_print(root);
    }
    lab_final *finals;
    size_t count;
    char seconds[32], speed[32], peak[32], parameters[32];
    if (lab_store_finals(store->store, run->id, &finals, &count, &cli_fault) != LOCUS_OK)
        return cli_error(&cli_fault);
    const lab_task *task = lab_task_find(run->task);
    const lab_task_class *class = task == NULL ? lab_class_at(0) : task->class;
    const bool images = class->vocabulary == NULL; /* these have no embedding */
    cli_print("%s\n%s · %s · budget %s · set-up %s%s%s · seed %" PRIu64 "\n", run->name, run->task, run->encoding,
              run->budget, run->setup, images ? "" : " · embeddings ", images ? "" : run->embedding_init, run->seed);
    cli_print("%" PRIu64 " steps in %s, %s tokens/s, %s parameters, peak %s\n", run->steps_done,
              lab_seconds_text(seconds, sizeof seconds, run->wall_seconds),
              lab_count_text(speed, sizeof speed, run->tokens_per_second),
              lab_count_text(parameters, sizeof parameters, (double)run->parameters),
              lab_bytes_text(peak, sizeof peak, (double)run->peak_bytes));
    if (cli_ranks_count() > 1) {
        cli_print("%zu ranks, the first of which sent %s\n", cli_ranks_count(),
                  lab_bytes_text(peak, sizeof peak, (double)cli_ranks_sent()));
    }
    print_scores(finals, count, class);
    for (size_t i = 0; i < count; i++)
        if (strcmp(finals[i].name, "steps_to_99") == 0)
            cli_print("99 %% of the development tokens right after %.0f steps\n", finals[i].value);
    if (run->message[0] != '\0')
        cli_print("note: %s\n", run->message);
    free(finals);
    return 0;
}

static int train(cli_arguments *arguments, const cli_store *store, const lab_train_config *config,
                 const lab_train_parent *parent) {
    char name[256], label[256];
    lab_run run;
    if (lab_train_kept_name(store->store, config, name, sizeof name, &cli_fault) != LOCUS_OK)
        return cli_error(&cli_fault);
    snprintf(label, sizeof label, "%s · %s · seed %" PRIu64, config->task->name, config->encoding, config->seed);
    watcher eye = {.progress = {.label = label}, .told = UINT64_MAX};
    lab_train_request request = {
        .config = *config,
        .folder = store->folder,
        .name = cli_given_by_user(arguments, "name") ? cli_text(arguments, "name") : name,
        .command = arguments->command_line,
        .parent = parent,
        .keep_state = cli_flag(arguments, "keep-optimizer"),
        .restart = cli_flag(arguments, "restart"),
        .progress = look,
        .context = &eye,
        .queue_again = cli_stop_queues_again,
        .ranks = cli_ranks_take(),
    };
    cli_stop_catch();
    locus_status status = lab_train(store->store, &request, &run, &cli_fault);
    cli_progress_end(&eye.progress);
    int exit_status = 0;
    if (status != LOCUS_OK)
        exit_status = cli_error(&cli_fault);
    if (status == LOCUS_ERROR_INTERRUPTED) {
        exit_status = cli_train_resume(arguments, "");
        exit_status = strcmp(cli_fault.argument, LAB_QUEUE_AGAIN) == 0 ? CLI_QUEUE_AGAIN : exit_status;
    } else if (status == LOCUS_OK && !cli_ranks_follow() && (!cli_quiet || cli_flag(arguments, "json")))
        exit_status = print_run(store, &run, cli_flag(arguments, "json"));
    lab_run_free(&run);
    return exit_status;
}

/* A file, or the best parameters of a run; from malloc. */
static int find_init(const cli_arguments *arguments, const cli_store *store, char **path) {
    const char *from = cli_text(arguments, "init-from");
    lab_run run;
    *path = NULL;
    if (from == NULL)
        return 0;
    if (cli_given_by_user(arguments, "pretrained"))
        return cli_usage_error("--init-from and --pretrained both say what the training begins with: give one of them");
    if (lab_name_ends(from, ".safetensors")) {
        *path = strdup(from);
        return *path != NULL ? 0 : cli_failure("out of memory");
    }
    int status = cli_store_find(store, from, &run);
    if (status != 0)
        return status;
    *path = lab_run_path(store->folder, run.name, "best.safetensors");
    if (*path == NULL)
        status = cli_failure("out of memory");
    else if (!lab_run_name_fits(run.name))
        status = cli_failure("the parameters of '%s' cannot be found", run.name);
    else if (lab_best_expected(&run, *path, &cli_fault) != LOCUS_OK)
        status = cli_error(&cli_fault);
    lab_run_free(&run);
    return status;
}

static int begin_from(const cli_arguments *arguments, const cli_store *store, lab_train_config *config, char **path) {
    const int status = find_init(arguments, store, path);
    config->init_from = *path;
    return status == 0 && lab_train_look(config, &cli_fault) != LOCUS_OK ? cli_error(&cli_fault) : status;
}

static int go_on(cli_arguments *arguments) {
    lab_train_config config;
    cli_continued from;
    cli_store store;
    if (cli_ranks_count() > 1)
        return cli_usage_error(
            "--continue: a training on several ranks does not go on from another run; run it on one");
    int status = cli_store_open(&store, arguments, false);
    if (status != 0)
        return status;
    status = cli_continued_open(&from, &config, arguments, &store);
    status = status ? status : train(arguments, &store, &config, &from.parent);
    cli_continued_close(&from);
    cli_store_close(&store);
    return status;
}

static int run(cli_arguments *arguments) {
    lab_train_config config;
    char *init = NULL;
    char encoding[LAB_SPEC_SIZE];
    if (cli_given_by_user(arguments, "continue"))
        return go_on(arguments);
    int status = cli_require(arguments, "task");
    status = status ? status : cli_require(arguments, "encoding");
    status = status ? status : cli_train_config(&config, arguments, cli_text(arguments, "task"));
    status = status ? status : cli_train_encoding(&config, cli_text(arguments, "encoding"), encoding, sizeof encoding);
    if (status != 0)
        return status;
    if (cli_choice(arguments, "position-scale") != (size_t)config.model.position_scale)
        cli_note("--position-scale: '%s' adds nothing to tokens, there is nothing to scale", encoding);
    config.seed = (uint64_t)cli_integer(arguments, "seed");
    cli_train_embedding(&config, (lab_embedding_init)cli_choice(arguments, "embedding-init"));
    if (cli_ranks_follow())
        return train(arguments, &(cli_store){0}, &config, NULL);
    cli_store store;
    status = cli_store_open(&store, arguments, true);
    if (status == 0) {
        status = begin_from(arguments, &store, &config, &init);
        status = status ? status : train(arguments, &store, &config, NULL);
        cli_store_close(&store);
    }
    free(init);
    return status;
}

static const cli_option options[] = {
    CLI_ROW_TEXT("task", 't', CLI_TASK_VALUE, "what is learned"),
    CLI_ROW_TEXT("encoding", 'e', "SPEC", "the positional encoding, or a pattern over layers: 3*rope / none"),
    {"seed", 's', CLI_INTEGER, "S", "0", "seed of initialisation, shuffling and dropout", 0, 9007199254740991.0},
    CLI_ROW_CHOICE("embedding-init", "scaled|unit|plain",
                   "embeddings of variance 1/D, or 1 as the authors' code, or 0.02² and unscaled, as BERT's"),
    CLI_ROW_TEXT("init-from", 0, "RUN|FILE",
                 "begins with the best parameters of a run, or those of a .safetensors, of the same model"),
    CLI_ROW_TEXT("continue", 0, "RUN", "goes on from a finished run, for --steps more, as a run of its own"),
    CLI_ROW_FLAG("keep-optimizer", "keep the optimiser's state when it is done, so that --continue can go on"),
    CLI_STORE_OPTION,
    CLI_ROW_TEXT("name", 0, "NAME", "name of the run; made from its configuration if not given"),
    CLI_ROW_FLAG("restart", "throw away what the run has so far"),
};

const cli_command cli_command_train = {
    .name = "train",
    .summary = "trains a Transformer with one encoding on one task; goes on where it was stopped",
    .operands = "",
    .details =
        "Words and trees: trains an encoder-decoder Transformer, keeps the parameters of the best development loss, "
        "and scores them on the\ntest set: token accuracy and exact matches under teacher forcing, and exact matches "
        "of greedy decoding; trees also by depth and number of nodes.\n\n"
        "Images: trains a compact convolutional Transformer, scores the test set after every epoch, as published, and "
        "keeps the parameters of the best accuracy.\n\n"
        "Problems (addition, substring-index, substring-search) and text: trains a decoder on sequences; the share of "
        "problems that greedy\ndecoding solves to the letter, or perplexity and bits per byte of the whole test text "
        "('locus data make text' makes its folder).\n\n"
        "Expressions (listops): trains an encoder with a classifier, or fine-tunes a pretrained one (--pretrained: a "
        "folder with config.json,\nmodel.safetensors and vocab.txt; the encoding is added to its own positions).\n\n"
        "Own data (pairs, classify, images): --data names a file or folder, --dev and --test those of the other sets, "
        "else parts of the first;\npairs are trained as words and trees are, labelled sequences as expressions, "
        "pictures as images but for a development set of their own.\n\n"
        "The same command goes on with a run that was stopped or killed, and ends with the same bits as one that was "
        "not.\nA run that is done is not trained again. Ctrl-C stops after the step and writes a checkpoint; so does "
        "SIGTERM, and exits with\n75: a scheduler queues it again.\n\n"
        "--shards V deals each batch to V parts, which ranks share: mpirun -n R locus train --shards V ..., R a power "
        "of two up to V,\ngives the same bits for every R, and may go on with another.\n\n"
        "--init-from begins with the best parameters of another run of the same model, or with those of a "
        ".safetensors file, and\nwith a new optimiser; data, rates and lengths may be others, but for the numbers that "
        "own data give\ntokens and classes.\n\n"
        "--continue makes a new run that goes on from a finished one, with its parameters, its optimiser and its "
        "curves, for --steps\nmore; the other was trained with --keep-optimizer. With --schedule constant it ends "
        "with the bits that one long run would\nhave; a cosine is taken where the longer training would have it. All "
        "other settings are the parent's, and so must the data be.\n\n"
        "A pattern 'N*SPEC / SPEC / ...' gives layers their encodings in turn, each for N layers, and begins again "
        "when it\nis used up; the encoder's and the decoder's layers count from the first alike.\n\n"
        "--attention is that of the encoder, and of every other attention that the kind can serve; soft and "
        "clustered\nattention cannot be causal, so that the decoder's own stays softmax. Linear and soft attention "
        "have no weights\nto drop: dropout acts on activations only.\n\n"
        "A size that differs from the budget's makes the budget 'custom' in tables, so that budgets are never mixed.",
    .examples =
        "locus train --task copy --encoding rope --budget smoke --test-lengths 32\n"
        "locus train --task reverse --encoding 'algebraic(group=seq, decay=0.98)' --seed 1\n"
        "locus train --task copy --encoding '3*rope / none' --layers 4 --budget smoke\n"
        "locus train --task copy --encoding rope --length 40 --init-from copy-rope-smoke-s0\n"
        "locus train --task copy --encoding rope --schedule constant --steps 500 --keep-optimizer --name first\n"
        "locus train --continue first --steps 500 --name second\n"
        "locus train --task tree-ops --order depth --encoding 'algebraic(group=tree:2, decay=0.98)'\n"
        "locus train --task addition --encoding 'rope(values=on)' --budget quick\n"
        "locus train --task text --encoding rope --data data/book --budget quick\n"
        "locus train --task listops --target parity --encoding 'algebraic(group=tree:5)' --budget quick\n"
        "locus train --task pairs --data pairs.jsonl --tokens words --encoding rope --budget smoke\n"
        "locus train --task images --data animals --side 32 --encoding 'algebraic(group=grid:2)' --budget smoke\n"
        "locus train --task cifar10 --encoding 'algebraic(group=grid:2)' --budget quick --data data/cifar10\n",
    .shared = CLI_JSON | CLI_FORMAT | CLI_QUIET | CLI_THREADS | CLI_RANKS,
    CLI_OPTIONS(options),
    .tasks = LAB_OPTION_TRAINED,
    .run = run,
};
