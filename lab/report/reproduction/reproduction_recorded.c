/* SPDX-License-Identifier: MIT */
/* Puts what recorded runs say of files into a request, and refuses runs that contradict each other. */
#include "report/reproduction/reproduction_recorded.h"

#include "io/fail.h"
#include "train/configuration/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what was taken from files ---- */

/* Whether a run's configuration says what a column lacks. */
static bool fits(const lab_reproduction_column *column, const lab_train_config *config, bool pretrained) {
    return strcmp(lab_config_variant(config), lab_config_variant(&column->config)) == 0 &&
           (config->pretrained_digest != 0) == pretrained;
}

/* `encoding` NULL: the column's own configuration; else that of the row that begins from an encoder. */
static void take(lab_reproduction_column *column, const lab_train_config *config, const char *encoding) {
    if (encoding == NULL) {
        const char *path = column->config.data.path;
        column->config.data = config->data;
        column->config.data.path = path;
        lab_config_fill(&column->config);
        return;
    }
    column->pretrained = *config;
    column->pretrained.task = column->config.task;
    column->pretrained.budget = column->config.budget;
    column->pretrained.encoding = column->pretrained.model.encoding = NULL; /* each field sets its own */
    const char *added = strstr(encoding, " + "); /* what a row adds to the checkpoint's own positions, one term */
    const int own = (int)(added != NULL ? (size_t)(added - encoding) : strlen(encoding));
    snprintf(column->pretrained_own, sizeof column->pretrained_own, "%.*s", own, encoding);
}

static locus_status look(lab_reproduction_column *column, lab_store *recorded, bool pretrained, bool *there,
                         locus_error *error) {
    const lab_run_filter filter = {.task = column->config.task->name, .budget = column->config.budget};
    lab_run *runs;
    size_t count;
    locus_status status = lab_store_runs(recorded, &filter, &runs, &count, error);
    *there = false;
    for (size_t i = 0; i < count; i++) {
        lab_train_config config;
        if (!*there && status == LOCUS_OK) {
            status = lab_config_parse(&config, runs[i].config, &runs[i], runs[i].name, error);
            *there = status == LOCUS_OK && fits(column, &config, pretrained);
            if (*there)
                take(column, &config, pretrained ? runs[i].encoding : NULL);
        }
        lab_run_free(&runs[i]);
    }
    free(runs);
    return status;
}

locus_status lab_reproduction_recall(lab_reproduction_column *column, lab_store *recorded, bool pretrained, bool *there,
                                     locus_error *error) {
    const bool expressions = column->class->classifies_text;
    locus_status status = LOCUS_OK;
    *there = true;
    if (expressions && column->config.data.path != NULL) {
        return lab_fail(error, LOCUS_ERROR_UNSUPPORTED, "data",
                        "expressions that were read from '%s' are not in a file of runs: what guessing scores on them "
                        "cannot be said without them",
                        column->config.data.path);
    }
    if (column->class->whole)
        status = look(column, recorded, false, there, error);
    if (status == LOCUS_OK && *there && expressions && pretrained)
        status = look(column, recorded, true, there, error);
    return status;
}

/* ---- whether runs are what their names say ---- */

static locus_status check_run(const lab_train_config *wanted, lab_store *store, locus_error *error) {
    char name[256];
    lab_run run;
    lab_train_config config;
    lab_train_name(wanted, name, sizeof name);
    locus_status status = lab_store_run_find(store, name, &run, error);
    if (status != LOCUS_OK) /* ARGUMENT: it is not recorded, which is no failure */
        return status == LOCUS_ERROR_ARGUMENT ? LOCUS_OK : status;
    status = lab_config_parse(&config, run.config, &run, name, error);
    const char *difference = status == LOCUS_OK ? lab_config_difference(wanted, &config) : NULL;
    lab_run_free(&run);
    return difference == NULL
               ? status
               : lab_fail(error, LOCUS_ERROR_IO, "run",
                          "the run '%s' has another %s than the table's training of that name", name, difference);
}

locus_status lab_reproduction_check(const lab_reproduction *table, lab_store *store, locus_error *error) {
    locus_status status = LOCUS_OK;
    for (size_t i = 0; i < table->column_count * table->row_count * table->seeds && status == LOCUS_OK; i++) {
        const lab_reproduction_place place = {i / table->seeds % table->row_count, i / table->seeds / table->row_count,
                                              i % table->seeds};
        lab_train_config config;
        char encoding[LAB_SPEC_SIZE];
        if (lab_reproduction_has(table, place.row, place.column) && lab_reproduction_leads(table, place.column)) {
            status = lab_reproduction_config(table, place, &config, encoding, error);
            status = status == LOCUS_OK ? check_run(&config, store, error) : status;
        }
    }
    return status;
}
