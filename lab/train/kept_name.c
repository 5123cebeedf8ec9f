/* SPDX-License-Identifier: MIT */
/* The name of a training in a store that may have it from an earlier version (train.h). */
#include "io/fail.h"
#include "train/train.h"

#include <stdio.h>
#include <string.h>

/* Whether the store has exactly this training by that name. */
static locus_status has_training(lab_store *store, const char *name, const lab_train_config *config, bool *has,
                                 locus_error *error) {
    lab_run run;
    lab_train_config found;
    locus_status status = lab_store_run_named(store, name, &run, error);
    if (status == LOCUS_OK && run.name != NULL) {
        const locus_status parsed = lab_config_parse(&found, run.config, &run, "the run store", NULL);
        *has = parsed == LOCUS_OK && lab_config_difference(&found, config) == NULL;
        status = parsed == LOCUS_ERROR_MEMORY ? lab_fail_memory(error, "a configuration") : LOCUS_OK;
    }
    lab_run_free(&run);
    return status;
}

locus_status lab_train_kept_name(lab_store *store, const lab_train_config *config, char *name, size_t size,
                                 locus_error *error) {
    char older[256];
    bool has = false;
    lab_train_name(config, name, size);
    lab_train_older_name(config, older, sizeof older);
    if (store == NULL || strcmp(older, name) == 0)
        return LOCUS_OK;
    const locus_status status = has_training(store, older, config, &has, error);
    if (has)
        snprintf(name, size, "%s", older);
    return status;
}
