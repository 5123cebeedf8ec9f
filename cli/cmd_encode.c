/* SPDX-License-Identifier: MIT */
/* locus encode: an encoding as numbers.
 *
 *   (default)      the table that is added to tokens, or to what the encoder gives    [n, D]
 *   --operators    ⌈p⌉ for every position and head                                    [n, H, d, d]
 *   --scores       the bias b(m, n) on scores; --decay: the factors                   [H, n, n]
 *
 * Only public calls are used: tables are what apply adds to zeros, operators what it makes of unit vectors, and
 * scores are read from attention's log-sum-exp with one key for each query, where it is the score itself. All in
 * double. */
#include "acting.h"
#include "command.h"
#include "encoding_argument.h"
#include "natural_shape.h"
#include "output.h"
#include "positions_argument.h"
#include "spec_text.h"

#include <stdlib.h>
#include <string.h>

/* What every mode has at hand. */
typedef struct encode_job {
    cli_arguments *arguments;
    cli_encoding encoding;
    cli_encoding scored; /* its terms that act on scores */
    cli_position_list positions;
    locus_plan *plan;
    locus_workspace workspace;
    lab_array result;
} encode_job;

static int make_plan(encode_job *job, locus_role role) {
    locus_positions *positions = NULL;
    int status = cli_positions_one_sequence(&positions, &job->positions);
    status = status ? status : cli_encoding_plan(&job->encoding, positions, NULL, &job->plan);
    locus_positions_destroy(&positions);
    return status ? status
                  : cli_workspace_open(&job->workspace, locus_apply_workspace(job->plan, role, LOCUS_FLOAT64, NULL));
}

static int apply(encode_job *job, locus_role role, locus_direction direction, const lab_array *x, const lab_array *y) {
    locus_error error = {.offset = -1};
    locus_tensor from = cli_array_tensor(x), to = cli_array_tensor(y);
    const locus_execution execution = locus_execution_in(job->workspace);
    if (locus_apply(job->plan, role, direction, &from, &to, &execution, &error) != LOCUS_OK)
        return cli_error(&error);
    return 0;
}

/* Terms at the embedding come first; what is added behind the encoder is shown if there are none. */
static int write_table(encode_job *job) {
    const unsigned sites = locus_encoding_sites(job->encoding.encoding);
    const bool encoded = !(sites & LOCUS_SITE_EMBEDDING) && (sites & LOCUS_SITE_ENCODED);
    const locus_role role = encoded ? LOCUS_ROLE_ENCODED : LOCUS_ROLE_TOKEN;
    const int64_t shape[2] = {(int64_t)job->positions.count, cli_integer(job->arguments, "dim")};
    const locus_shape sizes = {.heads = (size_t)cli_integer(job->arguments, "heads"),
                               .head_dim = (size_t)cli_integer(job->arguments, "head-dim"),
                               .model_dim = (size_t)shape[1]};
    int status =
        cli_encoding_need_site(&job->encoding, job->arguments, encoded ? LOCUS_SITE_ENCODED : LOCUS_SITE_EMBEDDING);
    status = status ? status : cli_require(job->arguments, "dim");
    status = status ? status : cli_encoding_bind(&job->encoding, job->arguments, &sizes);
    status = status ? status : make_plan(job, role);
    status = status ? status : cli_array_like(&job->result, LAB_F64, 2, shape);
    return status ? status : apply(job, role, LOCUS_FORWARD, &job->result, &job->result);
}

/* Column j of every operator is what becomes of the unit vector e_j. */
static int fill_operators(encode_job *job, locus_role role, lab_array *vectors) {
    size_t rows = (size_t)(vectors->shape[0] * vectors->shape[1]), dim = (size_t)vectors->shape[2];
    double *x = vectors->data;
    float *out = job->result.data;
    int status = 0;
    for (size_t j = 0; j < dim && status == 0; j++) {
        memset(x, 0, rows * dim * sizeof *x);
        for (size_t row = 0; row < rows; row++)
            x[row * dim + j] = 1;
        status = apply(job, role, LOCUS_FORWARD, vectors, vectors);
        for (size_t row = 0; row < rows; row++)
            for (size_t i = 0; i < dim; i++)
                out[(row * dim + i) * dim + j] = (float)x[row * dim + i];
    }
    return status;
}

static int write_operators(encode_job *job) {
    int status = cli_encoding_need_site(&job->encoding, job->arguments, LOCUS_SITE_QUERY_KEY);
    status = status ? status : cli_require(job->arguments, "heads");
    status = status ? status : cli_require(job->arguments, "head-dim");
    if (status)
        return status;
    const int64_t heads = cli_integer(job->arguments, "heads"), dim = cli_integer(job->arguments, "head-dim");
    const int64_t shape[4] = {(int64_t)job->positions.count, heads, dim, dim};
    const locus_shape sizes = {
        .heads = (size_t)heads, .head_dim = (size_t)dim, .model_dim = (size_t)cli_integer(job->arguments, "dim")};
    const locus_role role = job->encoding.keys_only ? LOCUS_ROLE_KEY : LOCUS_ROLE_QUERY;
    lab_array vectors = {0};
    status = cli_encoding_bind(&job->encoding, job->arguments, &sizes);
    status = status ? status : make_plan(job, role);
    status = status ? status : cli_array_like(&job->result, LAB_F32, 4, shape);
    status = status ? status : cli_array_like(&vectors, LAB_F64, 3, shape);
    status = status ? status : fill_operators(job, role, &vectors);
    lab_array_free(&vectors);
    return status;
}

/* ---- scores ---- */

/* Scores of one query against every position: one sequence of one query and one key for each, so that the
 * log-sum-exp is the score. q and k are chosen so that q'·k' is 1 (undone by the operators) for factors, or 0 for
 * biases. */
typedef struct score_row {
    locus_plan *plan;
    lab_array query, key, value, output, scores; /* [n, H, d] …, scores [n, H] */
    locus_workspace workspace;
} score_row;

static void score_row_close(score_row *row) {
    locus_plan_destroy(&row->plan);
    cli_workspace_close(&row->workspace);
    lab_array *const arrays[] = {&row->query, &row->key, &row->value, &row->output, &row->scores};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        lab_array_free(arrays[i]);
}

static int score_row_arrays(score_row *row, const encode_job *job) {
    const int64_t shape[3] = {(int64_t)job->positions.count, (int64_t)job->scored.shape.heads,
                              (int64_t)job->scored.shape.head_dim};
    lab_array *const arrays[] = {&row->query, &row->key, &row->value, &row->output};
    int status = cli_array_like(&row->scores, LAB_F64, 2, shape);
    for (size_t i = 0; i < 4 && status == 0; i++)
        status = cli_array_like(arrays[i], LAB_F64, 3, shape);
    return status;
}

static int score_row_plan(score_row *row, const encode_job *job, size_t query) {
    locus_positions *queries = NULL, *keys = NULL;
    int status = cli_positions_repeated(&queries, &job->positions, query);
    status = status ? status : cli_positions_apart(&keys, &job->positions);
    status = status ? status : cli_encoding_plan(&job->scored, queries, keys, &row->plan);
    locus_positions_destroy(&queries);
    locus_positions_destroy(&keys);
    return status;
}

/* vectors[t, h] = ⌈p_t⌉ᵀ e_0, so that the operator makes e_0 of it. */
static int undo_operator(const score_row *row, locus_role role, const lab_array *vectors) {
    locus_error error = {.offset = -1};
    size_t rows = (size_t)(vectors->shape[0] * vectors->shape[1]), dim = (size_t)vectors->shape[2];
    double *x = vectors->data;
    memset(x, 0, rows * dim * sizeof *x);
    for (size_t i = 0; i < rows; i++)
        x[i * dim] = 1;
    locus_workspace workspace;
    int status = cli_workspace_open(&workspace, locus_apply_workspace(row->plan, role, LOCUS_FLOAT64, NULL));
    locus_tensor tensor = cli_array_tensor(vectors);
    const locus_execution execution = locus_execution_in(workspace);
    if (status == 0 && locus_apply(row->plan, role, LOCUS_INVERSE, &tensor, &tensor, &execution, &error) != LOCUS_OK)
        status = cli_error(&error);
    cli_workspace_close(&workspace);
    return status;
}

static int attend_row(score_row *row) {
    locus_error error = {.offset = -1};
    locus_attention_options options = locus_attention_default();
    options.scale = 1;
    options.mask = LOCUS_MASK_CAUSAL; /* one query, one key: it hides nothing, and some encodings need it */
    locus_tensor query = cli_array_tensor(&row->query), key = cli_array_tensor(&row->key);
    locus_tensor value = cli_array_tensor(&row->value), output = cli_array_tensor(&row->output);
    locus_tensor scores = cli_array_tensor(&row->scores);
    const locus_attention_tensors tensors = {sizeof tensors, &query, &key, &value, &output, &scores};
    int status = cli_workspace_open(
        &row->workspace, locus_attention_workspace(row->plan, &options, LOCUS_FLOAT64, LOCUS_PASS_FORWARD, NULL));
    const locus_execution execution = locus_execution_in(row->workspace);
    if (status == 0 && locus_attention_forward(row->plan, &options, &tensors, &execution, &error) != LOCUS_OK)
        status = cli_error(&error);
    cli_workspace_close(&row->workspace);
    return status;
}

/* result[h, m, n] += sign · score. */
static void add_row(encode_job *job, const score_row *row, size_t query, double sign) {
    size_t n = job->positions.count, heads = job->scored.shape.heads;
    const double *scores = row->scores.data;
    double *out = job->result.data;
    for (size_t h = 0; h < heads; h++)
        for (size_t j = 0; j < n; j++)
            out[(h * n + query) * n + j] += sign * scores[j * heads + h];
}

/* Bias: the score of q = 0. Factor: the score of q'·k' = 1, less the bias. */
static int fill_scores(encode_job *job, score_row *row, bool factors) {
    int status = score_row_arrays(row, job);
    for (size_t m = 0; m < job->positions.count && status == 0; m++) {
        status = score_row_plan(row, job, m);
        memset(row->query.data, 0, lab_array_count(&row->query) * sizeof(double));
        status = status ? status : attend_row(row);
        add_row(job, row, m, factors ? -1 : 1);
        if (factors && status == 0) {
            status = undo_operator(row, LOCUS_ROLE_QUERY, &row->query);
            status = status ? status : undo_operator(row, LOCUS_ROLE_KEY, &row->key);
            status = status ? status : attend_row(row);
            add_row(job, row, m, 1);
        }
        locus_plan_destroy(&row->plan);
    }
    return status;
}

/* Shaw's content term depends on the query: without content it is nothing, and it must not leak into the factors. */
static int silence_content(cli_encoding *encoding) {
    static const char name[] = "key_table";
    bool changed = false;
    for (size_t i = 0; i < encoding->count; i++) {
        size_t length = strlen(encoding->infos[i].name);
        if (length >= sizeof name - 1 && !strcmp(encoding->infos[i].name + length - (sizeof name - 1), name)) {
            memset(encoding->values[i].data, 0, locus_tensor_count(&encoding->values[i]) * sizeof(double));
            changed = true;
        }
    }
    return changed ? cli_encoding_rebind(encoding) : 0;
}

/* CoPE's positions are sums over queries and keys: there is no bias without them. */
static int refuse_content(const encode_job *job) {
    cli_spec spec;
    int status = cli_spec_open(&spec, job->encoding.encoding);
    for (size_t i = 0; i < spec.count && status == 0; i++) {
        if (strcmp(spec.terms[i].name, "cope") == 0) {
            status = cli_failure("encode: 'cope' depends on queries and keys: it has no scores without them; "
                                 "'locus attend' computes with it");
        }
    }
    cli_spec_close(&spec);
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
    int status = cli_encoding_need_site(&job->encoding, job->arguments, LOCUS_SITE_SCORE);
    status = status ? status : cli_require(job->arguments, "heads");
    status = status ? status : need_dimension(job);
    status = status ? status : refuse_content(job);
    if (status)
        return status;
    const int64_t heads = cli_integer(job->arguments, "heads"), n = (int64_t)job->positions.count;
    const int64_t shape[3] = {heads, n, n}, dim = cli_integer(job->arguments, "head-dim");
    cli_natural natural;
    /* Any head dimension will do: q·k is 0 or 1. Operators want a pair for each coordinate, or what the spec says. */
    status = cli_natural_find(&natural, job->encoding.encoding, 2, 1);
    const locus_shape sizes = {.heads = (size_t)heads,
                               .head_dim = dim ? (size_t)dim : natural.head_dim,
                               .model_dim = (size_t)cli_integer(job->arguments, "dim")};
    score_row row = {0};
    status = status ? status : cli_encoding_bind(&job->encoding, job->arguments, &sizes);
    status = status ? status : cli_acting_scores(&job->scored, &job->encoding);
    status = status ? status : silence_content(&job->scored);
    status = status ? status : cli_array_like(&job->result, LAB_F64, 3, shape);
    status = status ? status : fill_scores(job, &row, cli_flag(job->arguments, "decay"));
    score_row_close(&row);
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
    cli_workspace_close(&job.workspace);
    locus_plan_destroy(&job.plan);
    cli_positions_free(&job.positions);
    cli_encoding_close(&job.scored);
    cli_encoding_close(&job.encoding);
    return status;
}

static const cli_option options[] = {
    {"positions", 'p', CLI_TEXT, "P", NULL,
     "0:100, 0,5,7, 0.5,1.25, grid:4x6, a .npy of numbers, or a text file with one path to a line", 0, 0},
    {"output", 'o', CLI_TEXT, "FILE", NULL, "the .npy to write (float32)", 0, 0},
    {"dim", 'd', CLI_INTEGER, "D", NULL, "model dimension, for the table added to tokens", 1, 1 << 24},
    {"heads", 'H', CLI_INTEGER, "H", NULL, "heads, for operators and scores", 1, 1 << 16},
    {"head-dim", 0, CLI_INTEGER, "D", NULL, "dimension of a head, for operators", 1, 1 << 16},
    {"operators", 0, CLI_FLAG, NULL, NULL, "write the operators on queries and keys, [n, H, D, D]", 0, 0},
    {"scores", 0, CLI_FLAG, NULL, NULL, "write the biases on scores, [H, n, n]", 0, 0},
    {"decay", 0, CLI_FLAG, NULL, NULL, "with --scores: write the factors on scores instead", 0, 0},
    CLI_ENCODING_OPTIONS,
    CLI_LAYER_OPTION,
};

const cli_command cli_command_encode = {
    .name = "encode",
    .summary = "writes an encoding's table, operators or score biases as a .npy",
    .operands = "SPEC",
    .details =
        "Without --operators and --scores: the [n, D] table that is added to tokens, or to what the encoder gives "
        "(chebyshev(site=output)) where nothing is added to tokens. --scores are biases and factors that depend "
        "on positions alone: content terms (relative) are left out, cope is refused. SPEC may be a pattern over "
        "layers, with --layer.",
    .examples = "locus encode sinusoidal --dim 128 --positions 0:100 -o table.npy\n"
                "locus encode 'algebraic(group=seq)' --heads 8 --head-dim 64 --positions -5:6 --operators -o w.npy\n"
                "locus encode 'rope(axes=2)' --heads 1 --head-dim 8 --positions grid:4x6 --operators -o w.npy\n"
                "locus encode alibi --heads 8 --positions 0:64 --scores -o bias.npy\n",
    .shared = CLI_THREADS,
    CLI_OPTIONS(options),
    .run = run,
};
