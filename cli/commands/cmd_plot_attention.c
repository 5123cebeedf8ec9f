/* SPDX-License-Identifier: MIT */
/* locus plot attention: which keys the queries of a trained model look at, of every head and layer. */
#include "command.h"
#include "figures/figure_attention.h"
#include "figures/svg_file.h"
#include "io/file.h"
#include "model/attention_maps.h"
#include "output.h"
#include "store_argument.h"
#include "task_options.h"
#include "train/store/run_folder.h"
#include "train/train.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The text of --input, or of the file that it names, whose last line end is dropped; of a picture its path; from
 * malloc. NULL: none is given. */
static int read_text(const cli_arguments *arguments, const lab_task *task, char **text) {
    const bool picture = task->class->vocabulary == NULL;
    const char *given = cli_text(arguments, "input");
    struct stat facts;
    size_t bytes;
    *text = NULL;
    if (given == NULL)
        return 0;
    if (picture || stat(given, &facts) != 0 || !S_ISREG(facts.st_mode)) {
        *text = strdup(given);
        return *text != NULL ? 0 : cli_failure("out of memory");
    }
    if (lab_file_read(given, text, &bytes, &cli_fault) != LOCUS_OK)
        return cli_error(&cli_fault);
    (*text)[bytes] = '\0';
    if (strlen(*text) != bytes)
        return cli_failure("'%s' has zero bytes: it is no text", given);
    (*text)[strcspn(*text, "\r\n")] = '\0';
    return 0;
}

static int draw(const cli_arguments *arguments, cli_trained *trained, const char *text) {
    const lab_run *run = &trained->run;
    const lab_attention_request request = {.config = &trained->config,
                                           .model = trained->model,
                                           .folder = trained->folder,
                                           .text = text,
                                           .number = (size_t)cli_integer(arguments, "sample")};
    lab_attention_input input;
    lab_attention_maps maps = {0};
    char title[300];
    (void)cli_put_options(arguments, &trained->config);
    locus_status status = lab_attention_input_make(&input, &request, &cli_fault);
    if (status != LOCUS_OK)
        return cli_failure("%s", cli_fault.message);
    status = lab_attention_maps_make(&maps, trained->model, &input.batch, &cli_fault);
    snprintf(title, sizeof title, "%.120s · %.80s · %.80s", run->name, run->task, run->encoding);
    if (status == LOCUS_OK)
        status = lab_figure_attention(&maps, &input, title, cli_text(arguments, "output"), &cli_fault);
    if (status == LOCUS_OK && maps.without > 0)
        cli_note("%zu attentions make no weights and are left out: only softmax does", maps.without);
    lab_attention_maps_free(&maps);
    lab_attention_input_free(&input);
    return cli_done(status);
}

static int run(cli_arguments *arguments) {
    cli_trained trained = {.task = NULL};
    char *text = NULL;
    int status = cli_need_picture(arguments);
    if (status == 0 && cli_given_by_user(arguments, "input") && cli_given_by_user(arguments, "sample"))
        status = cli_usage_error("plot attention: --input and --sample both say what is read: give one of them");
    status = status ? status : cli_trained_open(&trained, arguments);
    status = status ? status : read_text(arguments, trained.task, &text);
    status = status ? status : cli_trained_load(&trained);
    status = status ? status : draw(arguments, &trained, text);
    cli_trained_close(&trained);
    free(text);
    return status;
}

static const cli_option options[] = {
    CLI_ROW_TEXT("input", 'i', "TEXT|FILE", "what the model reads: a text, a file that has it, or a picture"),
    {"sample", 'n', CLI_INTEGER, "N", "1", "or this sample of the test set", 1, 1e6},
    CLI_ROW_TEXT("output", 'o', "FILE", "the " LAB_PICTURE_ENDS " to write"),
    CLI_STORE_OPTION,
};

const cli_command cli_command_plot_attention = {
    .name = "plot attention",
    .summary = "draws which keys the queries of a trained model look at, of every head and layer",
    .operands = "RUN",
    .details =
        "A field for each head (side by side) and layer (below each other): rows are queries, columns keys, dark is a "
        "weight near 1. Weights are the library's, after the softmax and with all that the encoding does, of the "
        "run's best parameters. Of an encoder-decoder the encoder's, the decoder's own, and the decoder's of what the "
        "encoder gives, while it reads the right output.\n\n"
        "--input is what 'locus generate' takes: symbols between spaces for words, (11 3 2) for trees, problems and "
        "texts as they are, expressions, texts of labelled sequences, and PNG, JPEG, PPM or PGM files for runs of "
        "images. A pretrained encoder reads the pieces of the expression. Of own pairs, whose right output nobody "
        "knows, the decoder reads what the model itself makes of the input. Else a sample of the test set is read: "
        "--sample N.\n\n"
        "Tokens of a picture are the places of the convolution's grid, row by row; where they are more than 96, "
        "weights are shown as shares of each field's largest. Not drawn are kinds of attention without a weight for "
        "each pair "
        "(linear, soft, clustered), texts of more than 96 tokens and pictures of more than 400 places.",
    .examples = "locus plot attention copy-rope-smoke-s0 --input '3 1 4 1 5' -o attention.svg\n"
                "locus plot attention text-rope --input 'the cat sat' -o attention.pdf\n"
                "locus plot attention trees --input '(11 3 (12 1 2))' -o attention.svg\n"
                "locus plot attention cifar10-algebraic --input frog.png -o attention.svg\n"
                "locus plot attention trees --sample 4 -o attention.svg\n",
    .shared = CLI_QUIET | CLI_THREADS,
    CLI_OPTIONS(options),
    .tasks = LAB_OPTION_EVAL,
    .run = run,
};
