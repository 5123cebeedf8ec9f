/* SPDX-License-Identifier: MIT */
/* Samples that a command of `locus data` draws or reads. */
#include "data_draw.h"

#include "output.h"
#include "task_options.h"

int cli_data_draw(lab_dataset *set, const cli_arguments *arguments, lab_train_config *config) {
    locus_error error;
    config->data = lab_task_default(config->task);
    (void)cli_put_options(arguments, config);
    const bool all = config->data.path != NULL && !cli_given_by_user(arguments, "n");
    const lab_draw draw = {config->task, &config->data, (lab_set)cli_choice(arguments, "set"),
                           all ? 0 : (size_t)cli_integer(arguments, "n"), (uint64_t)cli_integer(arguments, "seed")};
    locus_status made = lab_dataset_generate(set, &draw, &error);
    if (made == LOCUS_ERROR_ARGUMENT || made == LOCUS_ERROR_UNSUPPORTED)
        return cli_usage_error("--%s: %s", error.argument, error.message);
    return made == LOCUS_OK ? 0 : cli_error(&error);
}
