/* SPDX-License-Identifier: MIT */
/* locus plot: a group with a relative path, the similarity of positions to one of them, the spectrum of generators. */
#include "bound/position_list.h"
#include "command.h"
#include "encoding_argument.h"
#include "figures/figure.h"
#include "figures/svg_file.h"
#include "output.h"

#include <string.h>

#define FACTOR_DIM 32 /* head dimensions for each coordinate of the group, unless said */
#define MOST_GENERATORS 24

/* ---- plot group ---- */

static int run_group(cli_arguments *arguments) {
    locus_group *group = NULL;
    locus_path *from = NULL, *to = NULL;
    const char *from_text = cli_text(arguments, "from"), *to_text = cli_text(arguments, "to");
    int status = cli_need_picture(arguments);
    if (status == 0 && (from_text != NULL) != (to_text != NULL))
        status = cli_usage_error("plot group: --from and --to go together: a relative path has two ends");
    if (status == 0)
        status = cli_done_in(arguments->operands[0], locus_group_parse(arguments->operands[0], &group, &cli_fault));
    if (status == 0 && from_text)
        status = cli_done_in(from_text, locus_path_parse(group, from_text, &from, &cli_fault));
    if (status == 0 && to_text)
        status = cli_done_in(to_text, locus_path_parse(group, to_text, &to, &cli_fault));
    status = status ? status : cli_done(lab_figure_group(group, from, to, cli_text(arguments, "output"), &cli_fault));
    locus_path_destroy(&from);
    locus_path_destroy(&to);
    locus_group_destroy(&group);
    return status;
}

static const cli_option group_options[] = {
    CLI_ROW_TEXT("from", 0, "PATH", "where a relative path begins: 4, 1+2, (3,1+2)"),
    CLI_ROW_TEXT("to", 0, "PATH", "where it ends"),
    CLI_ROW_TEXT("output", 'o', "FILE", "the " LAB_PICTURE_ENDS " to write"),
};

const cli_command cli_command_plot_group = {
    .name = "plot group",
    .summary = "draws the points of a group and a relative path",
    .operands = "GROUP",
    .details =
        "A sequence is a line, a cycle a ring, a grid a grid, a tree a tree, two cycles a torus, a sequence and a "
        "cycle a tube. In other products the last coordinates make a panel that those before repeat. A path is walked "
        "step by step, coordinate by coordinate; on a cycle the shorter way round.",
    .examples = "locus plot group tree:2 --from 2 --to 1+2 -o tree.svg\n"
                "locus plot group 'cycle:8*cycle:16' --from '(1,2)' --to '(3,6)' -o torus.png\n",
    CLI_OPTIONS(group_options),
    .run = run_group,
};

/* ---- encodings ---- */

typedef struct plot_job {
    cli_arguments *arguments;
    lab_bound encoding;
    locus_group *own; /* the group, if the encoding takes any */
    const locus_group *group;
    char title[256];
} plot_job;

static int open_job(plot_job *job, cli_arguments *arguments) {
    *job = (plot_job){.arguments = arguments};
    int status = cli_need_picture(arguments);
    status = status ? status : cli_encoding_read(&job->encoding, arguments);
    if (status)
        return status;
    job->group = locus_encoding_group(job->encoding.encoding);
    if (!job->group && locus_group_parse("seq", &job->own, &cli_fault) != LOCUS_OK)
        return cli_error(&cli_fault);
    job->group = job->group ? job->group : job->own;
    locus_encoding_text(job->encoding.encoding, job->title, sizeof job->title);
    const size_t dim = cli_given_by_user(arguments, "head-dim") ? (size_t)cli_integer(arguments, "head-dim")
                                                                : FACTOR_DIM * locus_group_coordinates(job->group);
    const locus_shape shape = {.heads = (size_t)cli_integer(arguments, "heads"),
                               .head_dim = dim,
                               .model_dim = (size_t)cli_integer(arguments, "dim")};
    return cli_encoding_bind(&job->encoding, arguments, &shape);
}

static lab_figure_subject subject_of(const plot_job *job) {
    return (lab_figure_subject){job->encoding.encoding, job->encoding.binding, &job->encoding.shape,
                                job->encoding.length};
}

static void close_job(plot_job *job) {
    lab_bound_close(&job->encoding);
    locus_group_destroy(&job->own);
}

#define ENCODING_OPTIONS \
    {"heads", 'H', CLI_INTEGER, "H", "4", "heads", 1, 1 << 10}, \
        {"head-dim", 0,      CLI_INTEGER, "D", NULL, "dimension of a head (default: 32 for each factor of the group)", \
         1,          1 << 12}, \
        {"dim", 'd', CLI_INTEGER, "D", NULL, "model dimension, for encodings at the embedding", 1, 1 << 20}, \
        CLI_ROW_TEXT("output", 'o', "FILE", "the " LAB_PICTURE_ENDS " to write"), CLI_ENCODING_OPTIONS, \
        CLI_LAYER_OPTION

/* ---- plot similarity ---- */

static int draw_similarity(const plot_job *job, const lab_position_list *list, const locus_path *origin) {
    const lab_figure_subject subject = subject_of(job);
    const char *path = cli_text(job->arguments, "output");
    lab_similarity similarity = {0};
    lab_position_list paths;
    locus_status status = lab_path_list_of(&paths, list, &cli_fault);
    const locus_path *const *all = (const locus_path *const *)paths.paths;
    if (status == LOCUS_OK)
        status = lab_similarity_compute(&similarity, &subject, all, list->count, origin, &cli_fault);
    if (status == LOCUS_OK)
        status = lab_figure_similarity(&similarity, all, origin, job->title, path, &cli_fault);
    lab_position_list_free(&paths);
    lab_similarity_free(&similarity);
    return cli_done(status);
}

static int run_similarity(cli_arguments *arguments) {
    plot_job job;
    lab_position_list list = {0};
    locus_path *origin = NULL;
    const char *centre = cli_text(arguments, "origin");
    int status = open_job(&job, arguments);
    status = status ? status : cli_require(arguments, "positions");
    status = status ? status : cli_require(arguments, "origin");
    status = status ? status : cli_positions_read(&list, arguments, "positions", job.group);
    if (status == 0 && list.reals) {
        status = cli_usage_error("plot similarity: --positions %s: whole positions are needed, they are drawn as paths",
                                 cli_text(arguments, "positions"));
    }
    if (status == 0)
        status = cli_done_in(centre, locus_path_parse(job.group, centre, &origin, &cli_fault));
    status = status ? status : draw_similarity(&job, &list, origin);
    locus_path_destroy(&origin);
    lab_position_list_free(&list);
    close_job(&job);
    return status;
}

static const cli_option similarity_options[] = {
    CLI_ROW_TEXT("positions", 'p', "P", "0:100, 0,5,7, grid:16x16, a .npy, or a text file of paths"),
    CLI_ROW_TEXT("origin", 0, "PATH", "the position that all are compared with"),
    ENCODING_OPTIONS,
};

const cli_command cli_command_plot_similarity = {
    .name = "plot similarity",
    .summary = "draws how similar an encoding makes positions to one of them",
    .operands = "SPEC",
    .details =
        "The score of a query on the same vector as key, of length 1, unscaled, with factors and biases: the mean "
        "over heads and random directions, and on a sequence a band of one deviation. Of encodings that only add "
        "vectors, the cosine between two of them. SPEC may be a pattern over layers, with --layer. A curve on a "
        "sequence, a field on a grid, coloured points elsewhere.",
    .examples =
        "locus plot similarity 'algebraic(group=grid:2)' --positions grid:32x32 --origin '(16,16)' -o grid.svg\n"
        "locus plot similarity rope --positions -64:65 --origin 0 -o rope.svg\n",
    .shared = CLI_THREADS,
    CLI_OPTIONS(similarity_options),
    .run = run_similarity,
};

/* ---- plot spectrum ---- */

static int run_spectrum(cli_arguments *arguments) {
    lab_spectrum spectrum = {0};
    plot_job job;
    int status = open_job(&job, arguments);
    status = status ? status : cli_encoding_need_site(&job.encoding, arguments, LOCUS_SITE_QUERY_KEY);
    if (status == 0 && !(locus_encoding_sites(job.encoding.encoding) & LOCUS_SITE_QUERY_KEY))
        status = cli_usage_error("plot spectrum: '%s' has no generators", arguments->operands[0]);
    const lab_figure_subject subject = subject_of(&job);
    if (status == 0 &&
        (lab_spectrum_compute(&spectrum, &subject, MOST_GENERATORS, &cli_fault) != LOCUS_OK ||
         lab_figure_spectrum(&spectrum, job.title, cli_text(arguments, "output"), &cli_fault) != LOCUS_OK))
        status = cli_error(&cli_fault);
    lab_spectrum_free(&spectrum);
    close_job(&job);
    return status;
}

static const cli_option spectrum_options[] = {ENCODING_OPTIONS};

const cli_command cli_command_plot_spectrum = {
    .name = "plot spectrum",
    .summary = "draws the angles by which an encoding's generators turn, head by head",
    .operands = "SPEC",
    .details =
        "One panel for each generator (a step along a coordinate, a branch of a tree; 24 at most), its angles by "
        "size, beside the frequencies that rope would have. SPEC may be a pattern over layers, with --layer.",
    .examples = "locus plot spectrum 'algebraic(group=grid:2)' --params trained.safetensors --heads 8 --head-dim 64 -o "
                "spectrum.svg\n"
                "locus plot spectrum 'algebraic(group=tree:2, init=random)' -o spectrum.png\n",
    .shared = CLI_THREADS,
    CLI_OPTIONS(spectrum_options),
    .run = run_spectrum,
};
