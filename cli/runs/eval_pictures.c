/* SPDX-License-Identifier: MIT */
#include "eval_pictures.h"

#include "io/picture/picture.h"
#include "io/picture/picture_scale.h"
#include "output.h"
#include "task/images/augment.h"
#include "task/images/own_pictures.h"

#include <stdlib.h>

enum { SHOWN = 3 }; /* classes of a picture */

/* A picture's pixels, three channels one after another, normalised as in training; brought to the model's size where
 * the training's pictures were. */
static int read_picture(const char *path, size_t side, bool scales, uint8_t *planes, float *image) {
    lab_picture picture;
    if (lab_picture_read(&picture, path, &cli_fault) != LOCUS_OK)
        return cli_error(&cli_fault);
    int status = 0;
    if (!scales && (picture.width != side || picture.height != side)) {
        status = cli_failure("'%s' is %zu×%zu pixels: scale or cut it to the %zu×%zu that the model was trained on",
                             path, picture.width, picture.height, side, side);
    }
    status = status ? status : cli_done(lab_picture_scale(&picture, side, planes, &cli_fault));
    if (status == 0)
        lab_image_normalise(planes, side, image);
    lab_picture_free(&picture);
    return status;
}

static int read_pictures(const cli_pictures *pictures, size_t side, bool scales, float *images) {
    const size_t size = LAB_IMAGE_CHANNELS * side * side;
    uint8_t *planes = malloc(size);
    int status = planes == NULL ? cli_failure("out of memory") : 0;
    for (size_t i = 0; status == 0 && i < pictures->count; i++)
        status = read_picture(pictures->paths[i], side, scales, planes, images + i * size);
    free(planes);
    return status;
}

/* The classes of the largest probabilities, the largest first; of equal ones the first. */
static size_t best_classes(const float *probabilities, size_t classes, size_t best[SHOWN]) {
    size_t count = 0;
    for (; count < SHOWN && count < classes; count++) {
        size_t largest = classes;
        for (size_t c = 0; c < classes; c++) {
            bool taken = false;
            for (size_t k = 0; k < count; k++)
                taken = taken || best[k] == c;
            largest = !taken && (largest == classes || probabilities[c] > probabilities[largest]) ? c : largest;
        }
        best[count] = largest;
    }
    return count;
}

static void add_json(cJSON *list, const char *path, const char *const *names, const float *probabilities,
                     size_t classes) {
    size_t best[SHOWN] = {0}, count = best_classes(probabilities, classes, best);
    cJSON *object = cJSON_CreateObject(), *top = NULL;
    cJSON_AddStringToObject(object, "picture", path);
    cJSON_AddStringToObject(object, "class", names[best[0]]);
    top = cJSON_AddArrayToObject(object, "classes");
    for (size_t k = 0; k < count; k++) {
        cJSON *item = cJSON_CreateObject();
        cJSON_AddStringToObject(item, "class", names[best[k]]);
        cJSON_AddNumberToObject(item, "probability", (double)probabilities[best[k]]);
        cJSON_AddItemToArray(top, item);
    }
    cJSON_AddItemToArray(list, object);
}

static void add_row(lab_table *table, const char *path, const char *const *names, const float *probabilities,
                    size_t classes) {
    size_t best[SHOWN] = {0}, count = best_classes(probabilities, classes, best);
    lab_table_cell(table, "%s", path);
    for (size_t k = 0; k < SHOWN; k++)
        if (k < count)
            lab_table_cell(table, "%s %.1f %%", names[best[k]], 100.0 * (double)probabilities[best[k]]);
        else
            lab_table_cell(table, "–");
}

static int print(const cli_pictures *pictures, const char *const *names, const float *probabilities, size_t classes,
                 bool json) {
    static const char *const heads[] = {"picture", "class", "or", "or"};
    cJSON *list = json ? cJSON_CreateArray() : NULL;
    lab_table *table = json ? NULL : lab_table_create(heads, 1 + SHOWN);
    for (size_t i = 0; i < pictures->count; i++)
        if (json)
            add_json(list, pictures->paths[i], names, probabilities + i * classes, classes);
        else
            add_row(table, pictures->paths[i], names, probabilities + i * classes, classes);
    if (json)
        return cli_json_print(list);
    cli_table_print(table);
    return 0;
}

/* Those of the task, or what the run has kept, in `kept`, to be freed. */
static int find_names(const lab_train_config *config, lab_word_index *kept, const char *const **names) {
    *names = config->task->class_names;
    if (*names != NULL)
        return 0;
    if (lab_pictures_recall(kept, config->data.kept, &cli_fault) != LOCUS_OK)
        return cli_error(&cli_fault);
    *names = (const char *const *)kept->words;
    return kept->count == config->model.classes
               ? 0
               : cli_failure("the run has kept the names of %zu classes, and its model has %zu", kept->count,
                             config->model.classes);
}

int cli_eval_pictures(lab_model *model, const lab_train_config *config, const cli_pictures *pictures, bool json) {
    const size_t side = config->model.image_side, classes = config->model.classes;
    float *images = calloc(pictures->count, LAB_IMAGE_CHANNELS * side * side * sizeof *images);
    float *probabilities = calloc(pictures->count, classes * sizeof *probabilities);
    lab_word_index kept = {0};
    const char *const *names = NULL;
    int status = images == NULL || probabilities == NULL ? cli_failure("out of memory") : 0;
    status = status ? status : find_names(config, &kept, &names);
    status = status ? status : read_pictures(pictures, side, config->task->class_names == NULL, images);
    status = status ? status : cli_done(lab_model_classify(model, images, pictures->count, probabilities, &cli_fault));
    if (status == 0)
        status = print(pictures, names, probabilities, classes, json);
    lab_word_index_free(&kept);
    free(images);
    free(probabilities);
    return status;
}
