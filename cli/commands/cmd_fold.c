/* SPDX-License-Identifier: MIT */
/* locus fold: an algebraic encoding as plain rotary angles, its bases folded into the projections; and back
 * (fold/folding.h, fold/projection.h). */
#include "command.h"
#include "encoding_argument.h"
#include "fold/projection.h"
#include "io/file.h"
#include "io/npy.h"
#include "output.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { QUERY, KEY, VALUE, OUT, PROJECTIONS };
static const char *const option_names[PROJECTIONS] = {"query", "key", "value", "out-projection"};
static const char *const tensor_names[PROJECTIONS] = {"query", "key", "value", "output"};

typedef struct fold_job {
    cli_arguments *arguments;
    lab_bound encoding;
    lab_folding folding;
    lab_array projections[PROJECTIONS];
    lab_projection_layout layouts[PROJECTIONS];
    size_t heads, dim;
} fold_job;

/* ---- projections ---- */

static int read_projection(fold_job *job, size_t which) {
    static const char *const kinds[] = {"[heads*head_dim]", "[heads*head_dim, model_dim]", "[tokens, heads, head_dim]"};
    const char *path = cli_text(job->arguments, option_names[which]);
    lab_array *array = &job->projections[which];
    if (!path)
        return 0;
    int status = cli_array_read_any(array, option_names[which], path, 3, kinds);
    snprintf(array->name, sizeof array->name, "%s", tensor_names[which]);
    /* W_o maps from heads: without --transposed its rows are the model's dimensions. */
    const char *wanted = status ? NULL
                                : lab_projection_read(&job->layouts[which], array, job->heads, job->dim,
                                                      cli_flag(job->arguments, "transposed") != (which == OUT));
    return wanted ? cli_failure("fold: --%s %s: %s, with %zu heads of %zu dimensions", option_names[which], path,
                                wanted, job->heads, job->dim)
                  : status;
}

static int check_projections(const fold_job *job) {
    const cli_arguments *arguments = job->arguments;
    bool given[PROJECTIONS];
    for (size_t i = 0; i < PROJECTIONS; i++)
        given[i] = cli_text(arguments, option_names[i]) != NULL;
    bool values = locus_encoding_sites(job->encoding.encoding) & LOCUS_SITE_VALUE;
    if (given[QUERY] != given[KEY])
        return cli_usage_error("fold: --query and --key go together: scores change if one side alone is turned");
    if (given[VALUE] != given[OUT])
        return cli_usage_error("fold: --value and --out-projection go together: the output comes in the values' basis");
    if (!values && given[VALUE]) {
        return cli_usage_error("fold: '%s' does not act on values: their projections stay as they are",
                               arguments->operands[0]);
    }
    if (values && given[QUERY] && !given[VALUE]) {
        return cli_usage_error(
            "fold: '%s' acts on values, too: give --value and --out-projection, or their basis is lost",
            arguments->operands[0]);
    }
    if (cli_choice(arguments, "to") == LAB_FOLD_ALGEBRAIC && cli_given_by_user(arguments, "pairs"))
        return cli_usage_error("fold: --pairs goes with --to rotary");
    if (cli_choice(arguments, "to") == LAB_FOLD_ROTARY && cli_given_by_user(arguments, "basis"))
        return cli_usage_error("fold: --basis goes with --to algebraic");
    return 0;
}

static int turn_projections(fold_job *job) {
    for (size_t i = 0; i < PROJECTIONS; i++)
        if (job->projections[i].data &&
            lab_projection_turn(&job->folding, &job->projections[i], job->layouts[i], &cli_fault) != LOCUS_OK)
            return cli_error(&cli_fault);
    return 0;
}

/* ---- writing ---- */

static int write_folder(const fold_job *job, const char *folder) {
    char path[1024];
    if ((size_t)snprintf(path, sizeof path, "%s/params.safetensors", folder) >= sizeof path - 16)
        return cli_failure("--output %s: the path is too long", folder);
    locus_status status = lab_directory_create(folder, &cli_fault);
    if (status == LOCUS_OK)
        status = lab_folding_write(&job->folding, NULL, 0, path, &cli_fault);
    for (size_t i = 0; i < PROJECTIONS && status == LOCUS_OK; i++) {
        if (job->projections[i].data) {
            snprintf(path, sizeof path, "%s/%s.npy", folder, tensor_names[i]);
            status = lab_npy_write(&job->projections[i], path, &cli_fault);
        }
    }
    return cli_done(status);
}

static int write_file(const fold_job *job, const char *path) {
    return cli_done(lab_folding_write(&job->folding, job->projections, PROJECTIONS, path, &cli_fault));
}

/* A folder's name does not look like a file's, unless the folder is there. */
static int check_output(const char *path) {
    struct stat there;
    const bool folder = stat(path, &there) == 0 && S_ISDIR(there.st_mode);
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    return lab_name_ends(path, ".safetensors") || !strchr(name, '.') || folder
               ? 0
               : cli_usage_error("fold: --output %s: must end in .safetensors, or be a folder", path);
}

static int print_json(const fold_job *job, const char *spec, const char *params) {
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "spec", spec);
    cJSON_AddStringToObject(root, "params", params);
    cJSON_AddNumberToObject(root, "heads", (double)job->heads);
    cJSON_AddNumberToObject(root, "head_dim", (double)job->dim);
    cJSON_AddNumberToObject(root, "pairs", (double)job->folding.shape.pairs);
    return cli_json_print(root);
}

static int write_results(const fold_job *job) {
    char *spec = cli_encoding_text(job->folding.target.encoding), params[1100];
    const char *output = cli_text(job->arguments, "output");
    const bool one_file = lab_name_ends(output, ".safetensors");
    int status = !spec ? 1 : one_file ? write_file(job, output) : write_folder(job, output);
    snprintf(params, sizeof params, "%s%s", output, one_file ? "" : "/params.safetensors");
    if (status == 0 && !cli_flag(job->arguments, "json"))
        cli_print("%s\n", spec);
    else if (status == 0)
        status = print_json(job, spec, params);
    free(spec);
    return status;
}

static int run(cli_arguments *arguments) {
    fold_job job = {.arguments = arguments,
                    .heads = (size_t)cli_integer(arguments, "heads"),
                    .dim = (size_t)cli_integer(arguments, "head-dim")};
    const locus_shape shape = {.heads = job.heads, .head_dim = job.dim};
    const lab_folding_wish wish = {.to = (lab_fold_to)cli_choice(arguments, "to"),
                                   .half = cli_choice(arguments, "pairs") == 1,
                                   .random_basis = cli_choice(arguments, "basis") == 1,
                                   .seed = (uint64_t)cli_integer(arguments, "seed")};
    int status = cli_require(arguments, "heads");
    status = status ? status : cli_require(arguments, "head-dim");
    status = status ? status : cli_require(arguments, "output");
    status = status ? status : check_output(cli_text(arguments, "output"));
    status = status ? status : cli_encoding_read(&job.encoding, arguments);
    status = status ? status : cli_encoding_need_site(&job.encoding, arguments, LOCUS_SITE_QUERY_KEY);
    status = status ? status : check_projections(&job);
    status = status ? status : cli_encoding_bind(&job.encoding, arguments, &shape);
    for (size_t i = 0; i < PROJECTIONS && status == 0; i++)
        status = read_projection(&job, i);
    status = status ? status : cli_done(lab_folding_open(&job.folding, &job.encoding, &wish, &cli_fault));
    status = status ? status : turn_projections(&job);
    status = status ? status : write_results(&job);
    for (size_t i = 0; i < PROJECTIONS; i++)
        lab_array_free(&job.projections[i]);
    lab_folding_close(&job.folding);
    lab_bound_close(&job.encoding);
    return status;
}

static const cli_option options[] = {
    {"heads", 'H', CLI_INTEGER, "H", NULL, "heads", 1, 1 << 16},
    {"head-dim", 0, CLI_INTEGER, "D", NULL, "dimension of a head", 1, 1 << 16},
    CLI_ROW_TEXT("query", 'q', "FILE", "query projection, .npy [heads*head_dim, model_dim]"),
    CLI_ROW_TEXT("key", 'k', "FILE", "key projection, likewise"),
    CLI_ROW_TEXT("value", 'v', "FILE", "with values=on: value projection, likewise"),
    CLI_ROW_TEXT("out-projection", 0, "FILE", "with values=on: output projection, [model_dim, heads*head_dim]"),
    CLI_ROW_FLAG("transposed", "projections come the other way round: q = x W"),
    CLI_ROW_CHOICE("to", "rotary|algebraic", "plain angles, or generators (default: rotary)"),
    CLI_ROW_CHOICE("pairs", "interleaved|half", "to rotary: pairs (2i, 2i+1) or (i, i+d/2) (default: interleaved)"),
    CLI_ROW_CHOICE("basis", "identity|random", "to algebraic: of the generators (default: identity)"),
    CLI_ROW_TEXT("output", 'o', "FILE", "F.safetensors, or a folder for params.safetensors and .npy files"),
    CLI_ENCODING_OPTIONS,
    CLI_LAYER_OPTION,
};

const cli_command cli_command_fold = {
    .name = "fold",
    .summary = "folds an encoding's bases into projections: algebraic to rotary and back",
    .operands = "SPEC",
    .details =
        "On a sequence, a cycle, a grid and products of these, the operators of an encoding are rotations in a basis "
        "of each head. The basis goes into the projections, exactly; what is left are angles, at the cost of rope. "
        "Prints the new spec; its parameters are written under their own names, so that the file serves as --params. "
        "Beside them: fold.basis, T [heads, head_dim, head_dim], with x = T x' for vectors x before and x' after; "
        "fold.angles [heads, coordinates, pairs]; and the projections given, as query, key, value, output.\n\n"
        "A projection W is [heads*head_dim, model_dim], q = W x, and the output's [model_dim, heads*head_dim]; "
        "--transposed turns all round. An array [tokens, heads, head_dim] (queries themselves) and a bias "
        "[heads*head_dim] are turned likewise. Parameters come from --params or --seed, which also draws --basis "
        "random.\n\n"
        "Half pairs are rope's: they serve seq where all heads have the same angles. Trees have no such basis.",
    .examples =
        "locus fold 'algebraic(group=grid:2)' --heads 8 --head-dim 64 --params trained.safetensors --query wq.npy "
        "--key wk.npy -o folded.safetensors\n"
        "locus fold rope --heads 8 --head-dim 64 --pairs half --query wq.npy --key wk.npy -o half/\n"
        "locus fold rope --heads 8 --head-dim 64 --to algebraic --basis random -o generators.safetensors\n",
    .shared = CLI_JSON | CLI_THREADS,
    CLI_OPTIONS(options),
    .run = run,
};
