/* SPDX-License-Identifier: MIT */
/* Reads the options of `locus reproduce` into a request, and refuses those that do not go with each other. */
#include "reproduce_request.h"

#include "io/word_distance.h"
#include "output.h"

#include <string.h>

/* Whether an option means something to a table: its tasks take it; or, for --more, not all of it was published. */
static bool takes(const char *table, const char *option) {
    return strcmp(option, "more") == 0 ? lab_word_among(table, "table3 roper") : lab_reproduction_takes(table, option);
}

/* 0, or 2 after one line. */
static int refuse_strangers(const cli_arguments *arguments) {
    static const char *const options[] = {"data", "tree-paths", "pretrained", "more"};
    const char *table = arguments->operand_count > 0 ? arguments->operands[0] : "";
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (cli_given_by_user(arguments, options[i]) && !takes(table, options[i]))
            return cli_usage_error("--%s: %s has no use for it", options[i], table);
    return 0;
}

int cli_reproduce_request(const cli_arguments *arguments, lab_store *recorded, lab_reproduction *table) {
    char **columns, **rows;
    const int strange = refuse_strangers(arguments);
    if (strange != 0)
        return strange;
    lab_reproduction_request request = {
        .table = arguments->operands[0],
        .budget = cli_text(arguments, "budget"),
        .setup = (lab_setup)cli_choice(arguments, "setup"),
        .decay = (lab_decay_choice)cli_choice(arguments, "decay"),
        .more = cli_flag(arguments, "more"),
        .factors = cli_flag(arguments, "factors"),
        .precision = (lab_precision)cli_choice(arguments, "precision"),
        .first_seed = (uint64_t)cli_integer(arguments, "seed"),
        .seeds = (size_t)cli_integer(arguments, "seeds"),
        .drop_worst = cli_flag(arguments, "drop-worst"),
        .data_path = cli_text(arguments, "data"),
        .pretrained = cli_text(arguments, "pretrained"),
        .recorded = recorded,
    };
    if (cli_given_by_user(arguments, "embedding-init")) {
        static const lab_inits inits[] = {LAB_INITS_SCALED, LAB_INITS_UNIT, LAB_INITS_BOTH};
        request.inits = inits[cli_choice(arguments, "embedding-init")];
    }
    request.paths_given = cli_given_by_user(arguments, "tree-paths");
    if (request.paths_given)
        request.tree_paths = (lab_tree_paths)cli_choice(arguments, "tree-paths");
    request.column_count = cli_list(arguments, "columns", &columns);
    request.row_count = cli_list(arguments, "rows", &rows);
    request.columns = columns;
    request.rows = rows;
    if (lab_reproduction_make(table, &request, &cli_fault) != LOCUS_OK)
        return cli_fault.status == LOCUS_ERROR_ARGUMENT ? cli_usage_error("%s", cli_fault.message)
                                                        : cli_error(&cli_fault);
    if (table->left_out[0] != '\0')
        cli_note("%s", table->left_out);
    return 0;
}
