/* SPDX-License-Identifier: MIT */
/* Scores a set with a model and lays the numbers down in the order of the task's columns. */
#include "train/outcome.h"

#include "io/fail.h"
#include "train/configuration/config.h"
#include "train/feed/cut_paths.h"
#include "train/score.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is counted ---- */

/* Where scores are grouped, what each sample got counts. */
static locus_status count_scores(lab_outcome *outcome, lab_model *model, const lab_dataset *set, const lab_scoring *how,
                                 bool groups, locus_error *error) {
    lab_scoring scoring = *how;
    locus_status status = LOCUS_OK;
    scoring.sample_correct = NULL;
    scoring.sample_greedy = NULL;
    if (groups) {
        scoring.sample_correct = calloc(set->samples + 1, sizeof *scoring.sample_correct);
        scoring.sample_greedy = calloc(set->samples + 1, sizeof *scoring.sample_greedy);
        if (scoring.sample_correct == NULL || scoring.sample_greedy == NULL)
            status = lab_fail_memory(error, "scores");
    }
    status = lab_ranks_agree(how->ranks, status, NULL, error);
    if (status == LOCUS_OK) {
        status = lab_train_score(model, set, &scoring, &outcome->score, outcome->has_greedy ? &outcome->greedy : NULL,
                                 error);
    }
    if (status == LOCUS_OK && groups) {
        const size_t decoded = outcome->has_greedy ? how->greedy_samples : 0;
        const lab_sample_scores scores = {scoring.sample_correct, scoring.sample_greedy,
                                          decoded < set->samples ? decoded : set->samples};
        status = lab_tree_groups(set, &scores, &outcome->groups, &outcome->group_count, error);
    }
    free(scoring.sample_correct);
    free(scoring.sample_greedy);
    return status;
}

/* What is decoded of a decoder: single problems of the set, which its sequences are made of. */
static locus_status draw_problems(lab_dataset *problems, const lab_train_config *config,
                                  const lab_task_options *options, const lab_outcome_request *request,
                                  locus_error *error) {
    const lab_draw draw = {config->task, options, request->set.which, request->greedy_samples, config->data_seed};
    return lab_dataset_generate(problems, &draw, error);
}

/* Pictures of another side need a model that reads it: the same parameters, whose shapes it does not change. */
static locus_status resize(lab_model **resized, lab_model *model, size_t side, locus_error *error) {
    lab_model_config config = *lab_model_get_config(model);
    config.image_side = side;
    locus_status status = lab_model_create(resized, &config, 0, error);
    if (status != LOCUS_OK)
        return status;
    if (lab_model_elements(*resized) != lab_model_elements(model)) {
        return lab_fail(
            error, LOCUS_ERROR_UNSUPPORTED, "encoding",
            "the encoding has as many parameters as the trained side has places: no other side can be read");
    }
    memcpy(lab_model_values(*resized), lab_model_values(model), lab_model_elements(model) * sizeof(float));
    return lab_model_update(*resized, error);
}

locus_status lab_outcome_make(lab_outcome *outcome, lab_model *model, const lab_train_config *config,
                              const lab_outcome_request *request, locus_error *error) {
    static const char *const phases[] = {"train", "dev", "test"};
    const lab_task *task = config->task;
    const lab_task_options options = request->set.mean == 0 ? config->data : lab_config_data(config, request->set.mean);
    lab_dataset set = {0}, problems = {0};
    lab_model *resized = NULL;
    *outcome = (lab_outcome){.task = task, .classes = config->model.classes, .has_greedy = request->greedy_samples > 0};
    locus_status status = lab_train_set(&set, config, &request->set, error);
    const bool apart = task->open_sequences != NULL && outcome->has_greedy;
    if (status == LOCUS_OK && apart)
        status = draw_problems(&problems, config, &options, request, error);
    if (status == LOCUS_OK && set.images.pixels != NULL && set.images.side != config->model.image_side)
        status = resize(&resized, model, set.images.side, error);
    const lab_scoring how = {.task = task,
                             .options = &options,
                             .batch = config->batch,
                             .problems = apart ? &problems : NULL,
                             .greedy_samples = request->greedy_samples,
                             .look = request->look,
                             .context = request->context,
                             .ranks = request->ranks,
                             .phase = phases[request->set.which]};
    status = lab_ranks_agree(request->ranks, status, NULL, error);
    if (status == LOCUS_OK) {
        outcome->common = lab_dataset_chance(&set, config->model.vocabulary);
        outcome->bytes_per_token = set.sequences.bytes_per_token;
        lab_cut_paths_note(config, &set, outcome->note, sizeof outcome->note);
        const bool groups = request->groups && set.input_tree.parents != NULL;
        status = count_scores(outcome, resized != NULL ? resized : model, &set, &how, groups, error);
    }
    lab_model_destroy(&resized);
    lab_dataset_destroy(&set);
    lab_dataset_destroy(&problems);
    return status;
}

void lab_outcome_free(lab_outcome *outcome) {
    free(outcome->groups);
    outcome->groups = NULL;
    outcome->group_count = 0;
}

/* ---- by name ---- */

size_t lab_outcome_values(const lab_outcome *outcome, lab_outcome_value values[LAB_OUTCOME_VALUES]) {
    const lab_task_class *class = outcome->task->class;
    size_t count = 0;
    for (size_t i = 0; i < class->column_count && count < LAB_OUTCOME_VALUES; i++) {
        const lab_score_column *column = &class->columns[i];
        const double value = column->value != NULL ? column->value(outcome) : (double)NAN;
        if (!isnan(value))
            values[count++] = (lab_outcome_value){column->name, value};
    }
    return count;
}
