/* SPDX-License-Identifier: MIT */
/* locus path: a path's normal form, inverse and length; of two paths also the relative path −a + b and the distance. */
#include "command.h"
#include "figures/elements_text.h"
#include "output.h"

#include <inttypes.h>
#include <locus/path.h>
#include <stdlib.h>

/* Everything is worked out before anything is printed: a failure leaves standard output empty. */
typedef struct path_job {
    locus_group *group;
    locus_path *first, *second, *inverse, *relative;
    int64_t length, distance;
} path_job;

static int read_operands(path_job *job, const cli_arguments *arguments) {
    char *const *words = arguments->operands;
    locus_path **const paths[] = {&job->first, &job->second};
    int status = cli_done_in(words[0], locus_group_parse(words[0], &job->group, &cli_fault));
    for (size_t i = 0; status == 0 && i < 2 && i + 1 < arguments->operand_count; i++)
        status = cli_done_in(words[i + 1], locus_path_parse(job->group, words[i + 1], paths[i], &cli_fault));
    return status;
}

static int compute(path_job *job) {
    locus_status status = locus_path_inverse(job->first, &job->inverse, &cli_fault);
    if (status == LOCUS_OK)
        status = locus_path_length(job->first, &job->length, &cli_fault);
    if (status == LOCUS_OK && job->second)
        status = locus_path_relative(job->first, job->second, &job->relative, &cli_fault);
    if (status == LOCUS_OK && job->second)
        status = locus_path_distance(job->first, job->second, &job->distance, &cli_fault);
    return cli_done(status);
}

static int print_path(const char *label, const locus_path *path) {
    char *text = lab_path_text(path);
    if (!text)
        return cli_failure("out of memory for a path's text");
    cli_print("%-8s  %s\n", label, text);
    free(text);
    return 0;
}

static int print_lines(const path_job *job) {
    int status = print_path("path", job->first);
    status = status ? status : print_path("inverse", job->inverse);
    if (status)
        return status;
    cli_print("%-8s  %" PRId64 "\n", "length", job->length);
    if (job->second) {
        status = print_path("to", job->second);
        status = status ? status : print_path("relative", job->relative);
        cli_print("%-8s  %" PRId64 "\n", "distance", job->distance);
    }
    return status;
}

/* cJSON's numbers are doubles, in which 64 bits have no room. */
static bool add_integer(cJSON *object, const char *name, int64_t value) {
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRId64, value);
    return cJSON_AddRawToObject(object, name, digits) != NULL;
}

static bool add_path(cJSON *object, const char *name, const locus_path *path) {
    char *text = lab_path_text(path);
    bool added = text && cJSON_AddStringToObject(object, name, text);
    free(text);
    return added;
}

static int print_json(const path_job *job) {
    cJSON *object = cJSON_CreateObject();
    bool whole = object && add_path(object, "path", job->first) && add_path(object, "inverse", job->inverse) &&
                 add_integer(object, "length", job->length);
    if (whole && job->second)
        whole = add_path(object, "relative", job->relative) && add_integer(object, "distance", job->distance);
    if (!whole) {
        cJSON_Delete(object);
        object = NULL;
    }
    return cli_json_print(object);
}

static int run(cli_arguments *arguments) {
    path_job job = {0};
    int status = read_operands(&job, arguments);
    status = status ? status : compute(&job);
    if (status == 0)
        status = cli_flag(arguments, "json") ? print_json(&job) : print_lines(&job);
    locus_path_destroy(&job.relative);
    locus_path_destroy(&job.inverse);
    locus_path_destroy(&job.second);
    locus_path_destroy(&job.first);
    locus_group_destroy(&job.group);
    return status;
}

const cli_command cli_command_path = {
    .name = "path",
    .summary = "a path's normal form, inverse, length; relative path and distance of two",
    .operands = "GROUP EXPR [EXPR]",
    .details =
        "GROUP is seq, cycle:N, tree:K, grid:R or a product of them, such as 'seq*tree:2'.\n\n"
        "A path EXPR is an integer on seq and cycle; signed branches on a tree, such as 1+2-2, or 0; a tuple such as "
        "'(3,1+2)' on a product. With two paths a and b, the relative path is -a + b.",
    .examples = "locus path tree:2 1+2-2\n"
                "locus path cycle:6 5 -3\n"
                "locus path 'seq*tree:2' '(3,1+2)' '(4,1)' --json\n",
    .shared = CLI_JSON,
    .run = run,
};
