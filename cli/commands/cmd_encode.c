/* SPDX-License-Identifier: MIT */
/* locus encode: an encoding as numbers (bound/encoded.h).
 *
 *   (default)      the table that is added to tokens, or to what the encoder gives    [n, D]
 *   --operators    ⌈p⌉ for every position and head                                    [n, H, d, d]
 *   --scores       the bias b(m, n) on scores; --decay: the factors                   [H, n, n] */
#include "bound/encoded.h"
#include "bound/natural_shape.h"
#include "command.h"
#include "encoding_argument.h"
#include "output.h"

#include <string.h>

typedef struct encode_job {
    cli_arguments *arguments;
    lab_bound encoding;
    lab_position_list positions;
    lab_array result;
} encode_job;

static size_t given(const encode_job *job, const char *option) {
    return (size_t)cli_integer(job->arguments, option);
}

static int bind(encode_job *job, size_t head_dim) {
    const locus_shape shape = {.heads = given(job, "heads"), .head_dim = head_dim, .model_dim = given(job, "dim")};
    return cli_encoding_bind(&job->encoding, job->arguments, &shape);
}

/* Terms at the embedding come first; what is added behind the encoder is shown if there are none. */
static int write_table(encode_job *job) {
    const unsigned sites = locus_encoding_sites(job->encoding.encoding);
    const bool encoded = !(sites & LOCUS_SITE_EMBEDDING) && (sites & LOCUS_SITE_ENCODED);
    int status =
        cli_encoding_need_site(&job->encoding, job->arguments, encoded ? LOCUS_SITE_ENCODED : LOCUS_SITE_EMBEDDING);
    status = status ? status : cli_require(job->arguments, "dim");
    status = status ? status : bind(job, given(job, "head-dim"));
    status = status ? status : cli_done(lab_encoded_table(&job->result, &job->encoding, &job->positions, &cli_fault));
    return status;
}

static int write_operators(encode_job *job) {
    int status = cli_encoding_need_site(&job->encoding, job->arguments, LOCUS_SITE_QUERY_KEY);
    status = status ? status : cli_require(job->arguments, "heads");
    status = status ? status : cli_require(job->arguments, "head-dim");
    status = status ? status : bind(job, given(job, "head-dim"));
    status =
        status ? status : cli_done(lab_encoded_operators(&job->result, &job->encoding, &job->positions, &cli_fault));
    return status;
}

/* A bias that is divided by √d is not one for any d. */
static int need_dimension(const encode_job *job) {
    const locus_encoding *encoding = job->encoding.encoding;
    char scaled[8];
    for (size_t t = 0; t < locus_encoding_term_count(encoding); t++) {
        const bool asked = strcmp(locus_encoding_term(encoding, t)->name, "alibi") == 0 &&
                           locus_encoding_option(encoding, t, "scaled", scaled, sizeof scaled) != SIZE_MAX;
        if (asked && strcmp(scaled, "on") == 0)
            return cli_require(job->arguments, "head-dim");
    }
    return 0;
}

static int write_scores(encode_job *job) {
    lab_natural natural;
    int status = cli_encoding_need_site(&job->encoding, job->arguments, LOCUS_SITE_SCORE);
    status = status ? status : cli_require(job->arguments, "heads");
    status = status ? status : need_dimension(job);
    /* Any head dimension will do: q·k is 0 or 1. Operators want a pair for each coordinate, or what the spec says. */
    status = status ? status : cli_done(lab_natural_find(&natural, job->encoding.encoding, 2, 1, &cli_fault));
    status = status ? status : bind(job, given(job, "head-dim") ? given(job, "head-dim") : natural.head_dim);
    status = status ? status
                    : cli_done(lab_encoded_scores(&job->result, &job->encoding, &job->positions,
                                                  cli_flag(job->arguments, "decay"), &cli_fault));
    return status;
}

/* ---- command ---- */

static int check_modes(const cli_arguments *arguments) {
    if (cli_flag(arguments, "operators") && cli_flag(arguments, "scores"))
        return cli_usage_error("encode: --operators and --scores exclude each other; write one file with each");
    if (cli_flag(arguments, "decay") && !cli_flag(arguments, "scores"))
        return cli_usage_error("encode: --decay goes with --scores");
    int status = cli_require(arguments, "positions");
    return status ? status : cli_require(arguments, "output");
}

static int run(cli_arguments *arguments) {
    encode_job job = {.arguments = arguments};
    int status = check_modes(arguments);
    status = status ? status : cli_encoding_read(&job.encoding, arguments);
    status = status ? status
                    : cli_positions_read(&job.positions, arguments, "positions",
                                         locus_encoding_group(job.encoding.encoding));
    if (status == 0) {
        status = cli_flag(arguments, "operators") ? write_operators(&job)
                 : cli_flag(arguments, "scores")  ? write_scores(&job)
                                                  : write_table(&job);
    }
    status = status ? status : cli_array_write(&job.result, cli_text(arguments, "output"));
    lab_array_free(&job.result);
    lab_position_list_free(&job.positions);
    lab_bound_close(&job.encoding);
    return status;
}

static const cli_option options[] = {
    CLI_ROW_TEXT("positions", 'p', "P",
                 "0:100, 0,5,7, 0.5,1.25, grid:4x6, a .npy of numbers, or a text file with one path to a line"),
    CLI_ROW_TEXT("output", 'o', "FILE", "the .npy to write (float32)"),
    {"dim", 'd', CLI_INTEGER, "D", NULL, "model dimension, for the table added to tokens", 1, 1 << 24},
    {"heads", 'H', CLI_INTEGER, "H", NULL, "heads, for operators and scores", 1, 1 << 16},
    {"head-dim", 0, CLI_INTEGER, "D", NULL, "dimension of a head, for operators", 1, 1 << 16},
    CLI_ROW_FLAG("operators", "write the operators on queries and keys, [n, H, D, D]"),
    CLI_ROW_FLAG("scores", "write the biases on scores, [H, n, n]"),
    CLI_ROW_FLAG("decay", "with --scores: write the factors on scores instead"),
    CLI_ENCODING_OPTIONS,
    CLI_LAYER_OPTION,
};

const cli_command cli_command_encode = {
    .name = "encode",
    .summary = "writes an encoding's table, operators or score biases as a .npy",
    .operands = "SPEC",
    .details =
        "Without --operators and --scores: the [n, D] table that is added to tokens, or to what the encoder gives "
        "(chebyshev(site=output)) where nothing is added to tokens. --scores are biases and factors that depend on "
        "positions alone: content terms (relative) are left out, cope is refused. SPEC may be a pattern over layers, "
        "with --layer.",
    .examples = "locus encode sinusoidal --dim 128 --positions 0:100 -o table.npy\n"
                "locus encode 'algebraic(group=seq)' --heads 8 --head-dim 64 --positions -5:6 --operators -o w.npy\n"
                "locus encode 'rope(axes=2)' --heads 1 --head-dim 8 --positions grid:4x6 --operators -o w.npy\n"
                "locus encode alibi --heads 8 --positions 0:64 --scores -o bias.npy\n",
    .shared = CLI_THREADS,
    CLI_OPTIONS(options),
    .run = run,
};
