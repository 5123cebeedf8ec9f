/* SPDX-License-Identifier: MIT */
/* locus plot frequencies: how fast the pairs of several encodings turn. locus plot table: the vectors that an
 * encoding adds to tokens. */
#include "bound/encoded.h"
#include "command.h"
#include "encoding_argument.h"
#include "figures/figure.h"
#include "figures/svg_file.h"
#include "output.h"

#include <stdlib.h>
#include <string.h>

#define CURVES_MAX 8

/* ---- plot frequencies ---- */

typedef struct frequencies_job {
    size_t count;
    char names[CURVES_MAX][160];
    lab_spectrum spectra[CURVES_MAX];
    lab_curve curves[CURVES_MAX];
} frequencies_job;

/* The first head's angles of the first generator. */
static int add_curve(frequencies_job *job, cli_arguments *arguments, const char *spec) {
    lab_bound encoding;
    lab_spectrum *spectrum = &job->spectra[job->count];
    int status = cli_encoding_read_spec(&encoding, arguments, spec);
    if (status == 0 && !(locus_encoding_sites(encoding.encoding) & LOCUS_SITE_QUERY_KEY)) {
        status =
            cli_usage_error("plot frequencies: '%s' has no frequencies: it does not act on queries and keys", spec);
    }
    const locus_shape shape = {.heads = 1, .head_dim = (size_t)cli_integer(arguments, "head-dim")};
    status = status ? status : cli_encoding_bind(&encoding, arguments, &shape);
    const lab_figure_subject subject = {encoding.encoding, encoding.binding, &encoding.shape, encoding.length};
    status = status ? status : cli_done(lab_spectrum_compute(spectrum, &subject, 1, &cli_fault));
    if (status == 0) {
        char *name = job->names[job->count];
        if (locus_encoding_text(encoding.encoding, name, sizeof job->names[0]) >= sizeof job->names[0])
            memcpy(name + sizeof job->names[0] - 4, "…", sizeof "…");
        job->curves[job->count++] = (lab_curve){name, spectrum->panels[0].count, spectrum->panels[0].angles};
    }
    lab_bound_close(&encoding);
    return status;
}

static int run_frequencies(cli_arguments *arguments) {
    static const lab_curve_labels labels = {"Frequencies", "pair, fastest first", "radians in one step"};
    frequencies_job *job = calloc(1, sizeof *job);
    int status = job ? cli_need_picture(arguments) : cli_failure("out of memory for a picture");
    if (status == 0 && arguments->operand_count > CURVES_MAX) {
        status = cli_usage_error("plot frequencies: %zu specs: a picture takes at most %d", arguments->operand_count,
                                 CURVES_MAX);
    }
    for (size_t i = 0; i < arguments->operand_count && status == 0; i++)
        status = add_curve(job, arguments, arguments->operands[i]);
    if (status == 0 &&
        lab_figure_curves(job->curves, job->count, &labels, cli_text(arguments, "output"), &cli_fault) != LOCUS_OK)
        status = cli_error(&cli_fault);
    for (size_t i = 0; job && i < CURVES_MAX; i++)
        lab_spectrum_free(&job->spectra[i]);
    free(job);
    return status;
}

static const cli_option frequencies_options[] = {
    {"head-dim", 0, CLI_INTEGER, "D", "128", "dimension of a head", 1, 1 << 12},
    CLI_ROW_TEXT("output", 'o', "FILE", "the " LAB_PICTURE_ENDS " to write"),
    CLI_ENCODING_OPTIONS,
    CLI_LAYER_OPTION,
};

const cli_command cli_command_plot_frequencies = {
    .name = "plot frequencies",
    .summary = "draws how fast the pairs of several encodings turn, side by side",
    .operands = "SPEC [SPEC…]",
    .details =
        "One curve for each encoding, of its first head and first generator, on a logarithmic scale. A SPEC may be a "
        "pattern over layers, with --layer.",
    .examples = "locus plot frequencies rope 'rope(scaling=yarn, factor=8, original=4096)' -o frequencies.svg\n",
    .shared = CLI_THREADS,
    CLI_OPTIONS(frequencies_options),
    .run = run_frequencies,
};

/* ---- plot table ---- */

static int draw_table(cli_arguments *arguments, const lab_bound *encoding, const lab_position_list *list) {
    lab_array rows;
    char title[160];
    int status = cli_done(lab_encoded_table(&rows, encoding, list, &cli_fault));
    const lab_table_values table = {list->count, encoding->shape.model_dim, rows.data};
    locus_encoding_text(encoding->encoding, title, sizeof title);
    status = status ? status : cli_done(lab_figure_table(&table, title, cli_text(arguments, "output"), &cli_fault));
    lab_array_free(&rows);
    return status;
}

static int run_table(cli_arguments *arguments) {
    lab_bound encoding = {0};
    lab_position_list list = {0};
    int status = cli_need_picture(arguments);
    status = status ? status : cli_require(arguments, "positions");
    status = status ? status : cli_encoding_read(&encoding, arguments);
    if (status == 0 && !(locus_encoding_sites(encoding.encoding) & (LOCUS_SITE_EMBEDDING | LOCUS_SITE_ENCODED)))
        status = cli_usage_error("plot table: '%s' adds no vectors to tokens", arguments->operands[0]);
    const locus_shape shape = {.model_dim = (size_t)cli_integer(arguments, "dim")};
    status = status ? status : cli_encoding_bind(&encoding, arguments, &shape);
    status =
        status ? status : cli_positions_read(&list, arguments, "positions", locus_encoding_group(encoding.encoding));
    status = status ? status : draw_table(arguments, &encoding, &list);
    lab_position_list_free(&list);
    lab_bound_close(&encoding);
    return status;
}

static const cli_option table_options[] = {
    CLI_ROW_TEXT("positions", 'p', "P", "0:100, 0,5,7, a .npy, or a text file of paths"),
    {"dim", 'd', CLI_INTEGER, "D", "128", "dimension of the model", 1, 1 << 14},
    CLI_ROW_TEXT("output", 'o', "FILE", "the " LAB_PICTURE_ENDS " to write"),
    CLI_ENCODING_OPTIONS,
    CLI_LAYER_OPTION,
};

const cli_command cli_command_plot_table = {
    .name = "plot table",
    .summary = "draws the vectors that an encoding adds to tokens",
    .operands = "SPEC",
    .details =
        "A row for each position, a column for each dimension: red below 0, blue above. SPEC may be a pattern over "
        "layers, with --layer.",
    .examples = "locus plot table sinusoidal --positions 0:64 -o sinusoidal.svg\n",
    .shared = CLI_THREADS,
    CLI_OPTIONS(table_options),
    .run = run_table,
};
