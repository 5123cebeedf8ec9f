/* SPDX-License-Identifier: MIT */
/* locus apply: y_t = ⌈p_t⌉ x_t for an array [tokens, heads, head_dim], or with --inverse y_t = ⌈p_t⌉ᵀ x_t. */
#include "command.h"
#include "encoding_argument.h"
#include "output.h"
#include "stop.h"

static int transform(const lab_bound *encoding, const lab_position_list *list, bool inverse, const lab_array *x) {
    locus_positions *positions = NULL;
    locus_plan *plan = NULL;
    const locus_role role = encoding->keys_only ? LOCUS_ROLE_KEY : LOCUS_ROLE_QUERY;
    const locus_tensor tensor = lab_array_tensor(x);
    const locus_execution execution = cli_execution();
    int status = cli_done(lab_positions_one_sequence(&positions, list, &cli_fault));
    status = status ? status : cli_encoding_plan(encoding, positions, NULL, &plan);
    if (status == 0 &&
        lab_apply(plan, role, inverse ? LOCUS_INVERSE : LOCUS_FORWARD, &tensor, &execution, &cli_fault) != LOCUS_OK)
        status = cli_call_failed(&cli_fault);
    locus_plan_destroy(&plan);
    locus_positions_destroy(&positions);
    return status;
}

static int run(cli_arguments *arguments) {
    lab_bound encoding = {0};
    lab_position_list positions = {0};
    lab_array x = {0};
    int status = cli_require(arguments, "input");
    status = status ? status : cli_require(arguments, "output");
    status = status ? status : cli_encoding_read(&encoding, arguments);
    status = status ? status : cli_encoding_need_site(&encoding, arguments, LOCUS_SITE_QUERY_KEY);
    status = status ? status
                    : cli_positions_read(&positions, arguments, "positions", locus_encoding_group(encoding.encoding));
    status =
        status ? status : cli_array_read(&x, "input", cli_text(arguments, "input"), 3, "[tokens, heads, head_dim]");
    if (status == 0 && (size_t)x.shape[0] != positions.count) {
        status = cli_failure("apply: %s has %lld tokens, --positions has %zu", cli_text(arguments, "input"),
                             (long long)x.shape[0], positions.count);
    }
    if (status == 0) {
        const locus_shape shape = {.heads = (size_t)x.shape[1], .head_dim = (size_t)x.shape[2]};
        status = cli_encoding_bind(&encoding, arguments, &shape);
    }
    cli_stop_catch();
    status = status ? status : transform(&encoding, &positions, cli_flag(arguments, "inverse"), &x);
    status = status ? status : cli_array_write(&x, cli_text(arguments, "output"));
    (void)cli_stop_asked(); /* too late: what it would have stopped is done */
    cli_stop_release();
    lab_array_free(&x);
    lab_position_list_free(&positions);
    lab_bound_close(&encoding);
    return status;
}

static const cli_option options[] = {
    CLI_ROW_TEXT("input", 'i', "FILE", "the .npy to read: [tokens, heads, head_dim] of floating-point numbers"),
    CLI_ROW_TEXT("positions", 'p', "P",
                 "0:100, 0,5,7, 0.5,1.25, grid:4x6, a .npy of numbers, or a text file with one path to a line"),
    CLI_ROW_TEXT("output", 'o', "FILE", "the .npy to write (float32)"),
    CLI_ROW_FLAG("inverse", "apply the transpose"),
    CLI_ENCODING_OPTIONS,
    CLI_LAYER_OPTION,
};

const cli_command cli_command_apply = {
    .name = "apply",
    .summary = "applies the operators of positions to queries or keys",
    .operands = "SPEC",
    .details = "float64 input is computed in float64. SPEC may be a pattern over layers, with --layer.",
    .examples = "locus apply rope -i x.npy --positions 0:100 -o y.npy\n"
                "locus apply 'rope(axes=2)' -i x.npy --positions grid:4x6 -o y.npy\n",
    .shared = CLI_THREADS,
    CLI_OPTIONS(options),
    .run = run,
};
