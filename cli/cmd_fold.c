/* SPDX-License-Identifier: MIT */
/* locus fold: an algebraic encoding as plain rotary angles, its bases folded into the projections; and back.
 *
 *   W_q ↦ Tᵀ W_q,  W_k ↦ Tᵀ W_k;  with values=on also  W_v ↦ Tᵀ W_v,  W_o ↦ W_o T       for each head
 *
 * An array is any of the four seen as [outer, heads, head_dim, inner]: what stands at the head's dimension turns. */
#include "command.h"
#include "encoding_argument.h"
#include "folding.h"
#include "io/file.h"
#include "output.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { QUERY, KEY, VALUE, OUT, PROJECTIONS };
static const char *const option_names[PROJECTIONS] = {"query", "key", "value", "out-projection"};
static const char *const tensor_names[PROJECTIONS] = {"query", "key", "value", "output"};

typedef struct fold_job {
    cli_arguments *arguments;
    cli_encoding encoding;
    cli_folding folding;
    lab_array projections[PROJECTIONS];
    size_t heads, dim;
} fold_job;

/* ---- projections ---- */

/* How an array lies: [outer, heads, dim, inner]. */
typedef struct fold_layout {
    size_t outer, inner;
} fold_layout;

static int wrong_shape(const fold_job *job, size_t which, const char *wanted) {
    return cli_failure("fold: --%s %s: %s, with %zu heads of %zu dimensions", option_names[which],
                       cli_text(job->arguments, option_names[which]), wanted, job->heads, job->dim);
}

static int find_layout(const fold_job *job, size_t which, fold_layout *layout) {
    const lab_array *array = &job->projections[which];
    const int64_t width = (int64_t)(job->heads * job->dim);
    /* W_o maps from heads: without --transposed its rows are the model's dimensions. */
    const bool rows_outside = cli_flag(job->arguments, "transposed") != (which == OUT);
    *layout = (fold_layout){1, 1};
    if (array->rank == 1)
        return array->shape[0] == width ? 0 : wrong_shape(job, which, "a bias must be [heads*head_dim]");
    if (array->rank == 2) {
        size_t own = rows_outside ? 1 : 0;
        *(rows_outside ? &layout->outer : &layout->inner) = (size_t)array->shape[1 - own];
        return array->shape[own] == width ? 0
                                          : wrong_shape(job, which,
                                                        rows_outside ? "must be [model_dim, heads*head_dim]"
                                                                     : "must be [heads*head_dim, model_dim]");
    }
    layout->outer = (size_t)array->shape[0];
    return array->shape[1] == (int64_t)job->heads && array->shape[2] == (int64_t)job->dim
               ? 0
               : wrong_shape(job, which, "must be [tokens, heads, head_dim]");
}

static int read_projection(fold_job *job, size_t which) {
    static const char *const kinds[] = {"[heads*head_dim]", "[heads*head_dim, model_dim]", "[tokens, heads, head_dim]"};
    const char *path = cli_text(job->arguments, option_names[which]);
    locus_error error = {.offset = -1};
    lab_array peek = {0};
    fold_layout layout;
    if (!path)
        return 0;
    if (lab_npy_read(&peek, path, &error) != LOCUS_OK)
        return cli_error(&error);
    size_t rank = peek.rank < 1 ? 1 : peek.rank > 3 ? 3 : peek.rank;
    lab_array_free(&peek);
    int status = cli_array_read(&job->projections[which], option_names[which], path, rank, kinds[rank - 1]);
    return status ? status : find_layout(job, which, &layout);
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
    if (cli_choice(arguments, "to") == CLI_FOLD_ALGEBRAIC && cli_given_by_user(arguments, "pairs"))
        return cli_usage_error("fold: --pairs goes with --to rotary");
    if (cli_choice(arguments, "to") == CLI_FOLD_ROTARY && cli_given_by_user(arguments, "basis"))
        return cli_usage_error("fold: --basis goes with --to algebraic");
    return 0;
}

static double get(const lab_array *array, size_t index) {
    return array->dtype == LAB_F32 ? (double)((const float *)array->data)[index] : ((const double *)array->data)[index];
}

static void set(lab_array *array, size_t index, double value) {
    if (array->dtype == LAB_F32)
        ((float *)array->data)[index] = (float)value;
    else
        ((double *)array->data)[index] = value;
}

/* x′ = Tᵀ x for the head's dimension of every row, summed in double. */
static void turn_row(const fold_job *job, lab_array *array, fold_layout layout, size_t row, double *x) {
    const size_t dim = job->dim, inner = layout.inner, head = row % job->heads;
    const double *T = job->folding.turn + head * dim * dim;
    for (size_t m = 0; m < inner; m++) {
        for (size_t i = 0; i < dim; i++)
            x[i] = get(array, (row * dim + i) * inner + m);
        for (size_t j = 0; j < dim; j++) {
            double sum = 0;
            for (size_t i = 0; i < dim; i++)
                sum += T[i * dim + j] * x[i];
            set(array, (row * dim + j) * inner + m, sum);
        }
    }
}

static int turn_projections(fold_job *job) {
    double *x = calloc(job->dim, sizeof *x);
    int status = x ? 0 : cli_failure("out of memory for a row");
    for (size_t which = 0; which < PROJECTIONS && status == 0; which++) {
        fold_layout layout;
        if (job->projections[which].data) {
            status = find_layout(job, which, &layout);
            for (size_t row = 0; status == 0 && row < layout.outer * job->heads; row++)
                turn_row(job, &job->projections[which], layout, row, x);
        }
    }
    free(x);
    return status;
}

/* ---- writing ---- */

typedef struct fold_tensors {
    size_t count;
    lab_array *items; /* views: nothing is owned but the list */
} fold_tensors;

static void add(fold_tensors *list, const char *name, lab_array array) {
    lab_array *item = &list->items[list->count++];
    *item = array;
    snprintf(item->name, sizeof item->name, "%s", name);
}

static lab_array view(double *data, size_t rank, size_t a, size_t b, size_t c) {
    return (lab_array){.dtype = LAB_F64, .rank = rank, .shape = {(int64_t)a, (int64_t)b, (int64_t)c}, .data = data};
}

/* The parameters of the new spec under their names, so that the file serves as --params; then what was folded. */
static void list_tensors(const fold_job *job, bool projections, fold_tensors *list) {
    const cli_folding *folding = &job->folding;
    const locus_fold_shape *shape = &folding->shape;
    for (size_t i = 0; i < folding->target.count; i++) {
        const locus_parameter *info = &folding->target.infos[i];
        lab_array array = {.dtype = LAB_F64, .rank = info->rank, .data = folding->target.values[i].data};
        memcpy(array.shape, info->shape, info->rank * sizeof *info->shape);
        add(list, info->name, array);
    }
    add(list, "fold.basis", view(folding->turn, 3, shape->heads, shape->head_dim, shape->head_dim));
    if (shape->pairs > 0)
        add(list, "fold.angles", view(folding->angles, 3, shape->heads, shape->coordinates, shape->pairs));
    for (size_t i = 0; i < PROJECTIONS && projections; i++)
        if (job->projections[i].data)
            add(list, tensor_names[i], job->projections[i]);
}

static int write_safetensors(const fold_job *job, const char *path, bool projections, const char *spec) {
    locus_error error = {.offset = -1};
    const lab_metadata metadata[] = {{"spec", spec}};
    fold_tensors list = {0, calloc(job->folding.target.count + 2 + PROJECTIONS, sizeof(lab_array))};
    if (!list.items)
        return cli_failure("out of memory for a list of tensors");
    list_tensors(job, projections, &list);
    int status = 0;
    if (lab_safetensors_write(path, list.items, list.count, metadata, 1, &error) != LOCUS_OK)
        status = cli_error(&error);
    free(list.items);
    return status;
}

static int write_folder(const fold_job *job, const char *folder, const char *spec) {
    locus_error error = {.offset = -1};
    char path[1024];
    if (lab_directory_create(folder, &error) != LOCUS_OK)
        return cli_error(&error);
    int status = (size_t)snprintf(path, sizeof path, "%s/params.safetensors", folder) < sizeof path - 16
                     ? write_safetensors(job, path, false, spec)
                     : cli_failure("--output %s: the path is too long", folder);
    for (size_t i = 0; i < PROJECTIONS && status == 0; i++) {
        if (job->projections[i].data) {
            snprintf(path, sizeof path, "%s/%s.npy", folder, tensor_names[i]);
            if (lab_npy_write(&job->projections[i], path, &error) != LOCUS_OK)
                status = cli_error(&error);
        }
    }
    return status;
}

static bool is_safetensors(const char *path) {
    static const char end[] = ".safetensors";
    size_t length = strlen(path);
    return length >= sizeof end - 1 && strcmp(path + length - (sizeof end - 1), end) == 0;
}

/* A folder's name does not look like a file's, unless the folder is there. */
static int check_output(const char *path) {
    struct stat there;
    const bool folder = stat(path, &there) == 0 && S_ISDIR(there.st_mode);
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    return is_safetensors(path) || !strchr(name, '.') || folder
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
    const bool one_file = is_safetensors(output);
    int status = !spec ? 1 : one_file ? write_safetensors(job, output, true, spec) : write_folder(job, output, spec);
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
    const cli_folding_wish wish = {.to = (cli_fold_to)cli_choice(arguments, "to"),
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
    status = status ? status : cli_folding_open(&job.folding, &job.encoding, &wish);
    status = status ? status : turn_projections(&job);
    status = status ? status : write_results(&job);
    for (size_t i = 0; i < PROJECTIONS; i++)
        lab_array_free(&job.projections[i]);
    cli_folding_close(&job.folding);
    cli_encoding_close(&job.encoding);
    return status;
}

static const cli_option options[] = {
    {"heads", 'H', CLI_INTEGER, "H", NULL, "heads", 1, 1 << 16},
    {"head-dim", 0, CLI_INTEGER, "D", NULL, "dimension of a head", 1, 1 << 16},
    {"query", 'q', CLI_TEXT, "FILE", NULL, "query projection, .npy [heads*head_dim, model_dim]", 0, 0},
    {"key", 'k', CLI_TEXT, "FILE", NULL, "key projection, likewise", 0, 0},
    {"value", 'v', CLI_TEXT, "FILE", NULL, "with values=on: value projection, likewise", 0, 0},
    {"out-projection", 0, CLI_TEXT, "FILE", NULL, "with values=on: output projection, [model_dim, heads*head_dim]", 0,
     0},
    {"transposed", 0, CLI_FLAG, NULL, NULL, "projections come the other way round: q = x W", 0, 0},
    {"to", 0, CLI_CHOICE, "rotary|algebraic", NULL, "plain angles, or generators (default: rotary)", 0, 0},
    {"pairs", 0, CLI_CHOICE, "interleaved|half", NULL,
     "to rotary: pairs (2i, 2i+1) or (i, i+d/2) (default: interleaved)", 0, 0},
    {"basis", 0, CLI_CHOICE, "identity|random", NULL, "to algebraic: of the generators (default: identity)", 0, 0},
    {"output", 'o', CLI_TEXT, "FILE", NULL, "F.safetensors, or a folder for params.safetensors and .npy files", 0, 0},
    CLI_ENCODING_OPTIONS,
    CLI_LAYER_OPTION,
};

const cli_command cli_command_fold = {
    .name = "fold",
    .summary = "folds an encoding's bases into projections: algebraic to rotary and back",
    .operands = "SPEC",
    .details =
        "On a sequence, a cycle, a grid and products of these, the operators of an encoding are rotations in a basis "
        "of "
        "each head. The basis goes into the projections, exactly; what is left are angles, at the cost of rope. Prints "
        "the new spec; its parameters are written under their own names, so that the file serves as --params. Beside "
        "them: fold.basis, T [heads, head_dim, head_dim], with x = T x' for vectors x before and x' after; fold.angles "
        "[heads, coordinates, pairs]; and the projections given, as query, key, value, output.\n\n"
        "A projection W is [heads*head_dim, model_dim], q = W x, and the output's [model_dim, heads*head_dim]; "
        "--transposed turns all round. An array [tokens, heads, head_dim] (queries themselves) and a bias "
        "[heads*head_dim] are turned likewise. Parameters come from --params or --seed, which also draws --basis "
        "random."
        "\n\nHalf pairs are rope's: they serve seq where all heads have the same angles. Trees have no such basis.",
    .examples = "locus fold 'algebraic(group=grid:2)' --heads 8 --head-dim 64 --params trained.safetensors --query "
                "wq.npy --key "
                "wk.npy -o folded.safetensors\n"
                "locus fold rope --heads 8 --head-dim 64 --pairs half --query wq.npy --key wk.npy -o half/\n"
                "locus fold rope --heads 8 --head-dim 64 --to algebraic --basis random -o generators.safetensors\n",
    .shared = CLI_JSON | CLI_THREADS,
    CLI_OPTIONS(options),
    .run = run,
};
