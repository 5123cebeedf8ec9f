/* SPDX-License-Identifier: MIT */
/* locus check: measures the laws of a group action on random elements, and fails if one that the encoding promises does
 * not hold. */
#include "bound/natural_shape.h"
#include "check/laws.h"
#include "command.h"
#include "encoding_argument.h"
#include "output.h"

#include <stdlib.h>

#define FACTOR_DIM 24 /* head dimensions for each coordinate of the group, unless said */

static const char *verdict(const lab_law *law) {
    if (law->promised)
        return law->holds ? "holds" : "FAILS";
    return law->holds ? "holds, though not promised" : "does not hold, and is not promised";
}

static void print_table(const lab_laws *laws) {
    static const char *const heads[] = {"law", "|meaning", ">error", ">at most", "promised", "verdict"};
    lab_table *table = lab_table_create(heads, sizeof heads / sizeof *heads);
    for (size_t i = 0; i < laws->count; i++) {
        const lab_law *law = &laws->items[i];
        lab_table_cell(table, "%s", law->name);
        lab_table_cell(table, "%s", law->meaning);
        lab_table_number(table, law->error, "%.2g", law->error);
        lab_table_number(table, law->tolerance, "%.2g", law->tolerance);
        lab_table_cell(table, "%s", law->promised ? "yes" : "no");
        lab_table_cell(table, "%s", verdict(law));
    }
    cli_table_print(table);
}

/* {"spec": "…", "laws": {"homomorphism": {"error": x, "promised": true, "holds": true}, …}} */
static int print_json(const lab_laws *laws, const char *spec) {
    cJSON *root = cJSON_CreateObject(), *list = NULL;
    cJSON_AddStringToObject(root, "spec", spec);
    list = cJSON_AddObjectToObject(root, "laws");
    for (size_t i = 0; i < laws->count; i++) {
        cJSON *law = cJSON_AddObjectToObject(list, laws->items[i].name);
        cJSON_AddNumberToObject(law, "error", laws->items[i].error);
        cJSON_AddBoolToObject(law, "promised", laws->items[i].promised);
        cJSON_AddBoolToObject(law, "holds", laws->items[i].holds);
    }
    return cli_json_print(root);
}

/* Exit status 1 with one line if a promised law fails. */
static int judge(const lab_laws *laws, const char *spec) {
    for (size_t i = 0; i < laws->count; i++) {
        const lab_law *law = &laws->items[i];
        if (law->promised && !law->holds) {
            return cli_failure("check: '%.200s' breaks a law that it promises: %s, %s, is off by %.3g (at most %.2g)",
                               spec, law->name, law->meaning, law->error, law->tolerance);
        }
    }
    return 0;
}

static int run(cli_arguments *arguments) {
    lab_bound encoding = {0};
    lab_laws laws = {0};
    lab_natural natural = {0};
    char *spec = NULL;
    int status = cli_encoding_read(&encoding, arguments);
    status = status ? status : cli_done(lab_natural_find(&natural, encoding.encoding, FACTOR_DIM, 1, &cli_fault));
    if (status == 0) {
        size_t dim =
            cli_given_by_user(arguments, "head-dim") ? (size_t)cli_integer(arguments, "head-dim") : natural.head_dim;
        const locus_shape shape = {.heads = (size_t)cli_integer(arguments, "heads"),
                                   .head_dim = dim,
                                   .model_dim = (size_t)cli_integer(arguments, "heads") * dim};
        spec = cli_encoding_text(encoding.encoding);
        status = spec ? cli_encoding_bind(&encoding, arguments, &shape) : 1;
    }
    status = status
                 ? status
                 : cli_done(lab_laws_measure(&laws, &encoding, (uint64_t)cli_integer(arguments, "seed"), &cli_fault));
    if (status == 0 && cli_flag(arguments, "json"))
        status = print_json(&laws, spec);
    else if (status == 0)
        print_table(&laws);
    status = status ? status : judge(&laws, spec);
    free(spec);
    lab_bound_close(&encoding);
    return status;
}

static const cli_option options[] = {
    {"heads", 'H', CLI_INTEGER, "H", "2", "heads", 1, 1 << 10},
    {"head-dim", 0, CLI_INTEGER, "D", NULL,
     "dimension of a head (default: 24 for each factor of the group, or what the spec asks for)", 1, 1 << 12},
    CLI_ENCODING_OPTIONS,
    CLI_LAYER_OPTION,
};

const cli_command cli_command_check = {
    .name = "check",
    .summary = "measures the laws of an encoding on random elements of its group",
    .operands = "SPEC",
    .details =
        "Draws random elements of the group (short and long words, integers of every magnitude, residues) and "
        "measures whether the encoding is a homomorphism to orthogonal operators, and whether scores move when both "
        "positions are shifted by one path. Each law is printed with its largest error, whether the encoding promises "
        "it, and a verdict.\n\n"
        "long_homomorphism and drift are measured in float32 on paths of 1,000,000 steps and words of 1,000 letters, "
        "all else in float64. liere promises no homomorphism; side=query|key and encodings at the embedding promise "
        "no relativity. Exit status 1 if a promised law fails.\n\n"
        "SPEC may be a pattern over layers, with --layer.",
    .examples = "locus check 'algebraic(group=tree:2)'\n"
                "locus check 'algebraic(group=seq*cycle:6, generator=cayley, decay=0.98)' --heads 4 --json\n"
                "locus check 'liere(group=grid:2)'\n",
    .shared = CLI_JSON | CLI_FORMAT | CLI_THREADS,
    CLI_OPTIONS(options),
    .run = run,
};
