/* SPDX-License-Identifier: MIT */
/* See picture_classes.h. */
#include "samples/picture_classes.h"

#include "io/fail.h"
#include "task/images/augment.h"
#include "task/images/own_pictures.h"
#include "task/images/picture_input.h"

#include <stdlib.h>

enum { AT_ONCE = 256 }; /* pictures that stand in memory */

/* Normalised as in training. */
static locus_status read_picture(const char *path, size_t side, bool scales, uint8_t *planes, float *image,
                                 locus_error *error) {
    const locus_status status = lab_picture_planes(path, side, scales, planes, error);
    if (status == LOCUS_OK)
        lab_image_normalise(planes, side, image);
    return status;
}

/* Those of the task, or what the run has kept. */
static locus_status find_names(lab_picture_classes *of, const lab_train_config *config, locus_error *error) {
    of->names = config->task->class_names;
    if (of->names != NULL)
        return LOCUS_OK;
    const locus_status status = lab_pictures_recall(&of->kept, config->data.kept, error);
    of->names = (const char *const *)of->kept.words;
    if (status != LOCUS_OK || of->kept.count == config->model.classes)
        return status;
    return lab_fail(error, LOCUS_ERROR_IO, NULL, "the run has kept the names of %zu classes, and its model has %zu",
                    of->kept.count, config->model.classes);
}

static locus_status classify(lab_picture_classes *of, lab_model *model, const lab_train_config *config,
                             char *const *paths, locus_error *error) {
    const size_t most = of->count < AT_ONCE ? of->count : AT_ONCE;
    const size_t side = config->model.image_side, size = LAB_IMAGE_CHANNELS * side * side;
    const bool scales = config->task->class_names == NULL;
    float *images = calloc(most, size * sizeof *images);
    uint8_t *planes = malloc(size);
    locus_status status = LOCUS_OK;
    of->probabilities = calloc(of->count, of->classes * sizeof *of->probabilities);
    if (images == NULL || planes == NULL || of->probabilities == NULL)
        status = lab_fail(error, LOCUS_ERROR_MEMORY, NULL, "out of memory");
    for (size_t first = 0; status == LOCUS_OK && first < of->count; first += most) {
        const size_t rest = of->count - first;
        const lab_batch batch = {.samples = rest < most ? rest : most, .images = images};
        for (size_t i = 0; status == LOCUS_OK && i < batch.samples; i++)
            status = read_picture(paths[first + i], side, scales, planes, images + i * size, error);
        if (status == LOCUS_OK)
            status = lab_model_classify(model, &batch, of->probabilities + first * of->classes, error);
    }
    free(planes);
    free(images);
    return status;
}

locus_status lab_picture_classes_make(lab_picture_classes *of, lab_model *model, const lab_train_config *config,
                                      char *const *paths, size_t count, locus_error *error) {
    *of = (lab_picture_classes){.count = count, .classes = config->model.classes};
    const locus_status status = find_names(of, config, error);
    return status != LOCUS_OK ? status : classify(of, model, config, paths, error);
}

/* The largest probability first; of equal ones the first. */
size_t lab_picture_best(const lab_picture_classes *of, size_t picture, size_t best[LAB_PICTURE_SHOWN]) {
    const float *probabilities = of->probabilities + picture * of->classes;
    size_t count = 0;
    for (; count < LAB_PICTURE_SHOWN && count < of->classes; count++) {
        size_t largest = of->classes;
        for (size_t c = 0; c < of->classes; c++) {
            bool taken = false;
            for (size_t k = 0; k < count; k++)
                taken = taken || best[k] == c;
            largest = !taken && (largest == of->classes || probabilities[c] > probabilities[largest]) ? c : largest;
        }
        best[count] = largest;
    }
    return count;
}

void lab_picture_classes_free(lab_picture_classes *of) {
    lab_word_index_free(&of->kept);
    free(of->probabilities);
    *of = (lab_picture_classes){.count = 0};
}
