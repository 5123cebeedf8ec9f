/* SPDX-License-Identifier: MIT */
/* Means and deviations are over all pixels of the training set, as values from 0 to 1; the deviation divides by their
 * number. Sums are whole numbers, so the result does not depend on an order. */
#include "samples/portrait.h"

#include "io/fail.h"
#include "io/json.h"
#include "io/picture/picture.h"
#include "io/published/published_set.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CHANNELS 3

typedef struct look {
    const char *name, *path;
    const lab_images *train, *test;
    size_t train_counts[UINT8_MAX + 1], test_counts[UINT8_MAX + 1];
    double mean[CHANNELS], deviation[CHANNELS], chance;
    bool published;
} look;

static void count_classes(const lab_images *images, size_t counts[UINT8_MAX + 1]) {
    for (size_t i = 0; i < images->count; i++)
        counts[images->labels[i]]++;
}

static void measure_channel(look *at, size_t channel) {
    size_t plane = at->train->side * at->train->side;
    uint64_t sum = 0, squares = 0;
    for (size_t i = 0; i < at->train->count; i++) {
        const uint8_t *pixels = at->train->pixels + (i * CHANNELS + channel) * plane;
        uint32_t image_sum = 0, image_squares = 0; /* 2¹⁰ squares below 2¹⁶ */
        for (size_t p = 0; p < plane; p++) {
            image_sum += pixels[p];
            image_squares += (uint32_t)pixels[p] * pixels[p];
        }
        sum += image_sum;
        squares += image_squares;
    }
    double n = (double)at->train->count * (double)plane, mean = (double)sum / n;
    at->mean[channel] = mean / 255;
    at->deviation[channel] = sqrt((double)squares / n - mean * mean) / 255;
}

static void fill_json(cJSON *root, const look *at) {
    cJSON_AddStringToObject(root, "subject", at->name);
    cJSON_AddStringToObject(root, "data", at->path);
    cJSON_AddBoolToObject(root, "published", at->published);
    cJSON_AddNumberToObject(root, "train", (double)at->train->count);
    cJSON_AddNumberToObject(root, "test", (double)at->test->count);
    cJSON_AddNumberToObject(root, "side", (double)at->train->side);
    cJSON_AddNumberToObject(root, "channels", (double)at->train->channels);
    cJSON *classes = cJSON_AddArrayToObject(root, "classes");
    for (size_t c = 0; c < at->train->classes; c++) {
        cJSON *one = cJSON_CreateObject();
        cJSON_AddStringToObject(one, "name", at->train->class_names[c]);
        cJSON_AddNumberToObject(one, "train", (double)at->train_counts[c]);
        cJSON_AddNumberToObject(one, "test", (double)at->test_counts[c]);
        lab_json_put(classes, NULL, one);
    }
    lab_json_put(root, "mean", cJSON_CreateDoubleArray(at->mean, CHANNELS));
    lab_json_put(root, "deviation", cJSON_CreateDoubleArray(at->deviation, CHANNELS));
    cJSON_AddNumberToObject(root, "chance", at->chance);
}

static void add_classes(lab_portrait *to, const look *at) {
    static const char *const heads[] = {"class", ">train", ">test"};
    lab_table *table = lab_table_create(heads, 3);
    for (size_t c = 0; c < at->train->classes; c++) {
        lab_table_cell(table, "%s", at->train->class_names[c]);
        lab_table_number(table, (double)at->train_counts[c], "%zu", at->train_counts[c]);
        lab_table_number(table, (double)at->test_counts[c], "%zu", at->test_counts[c]);
    }
    lab_shown_add(&to->shown, table, false);
}

static void add_channels(lab_portrait *to, const look *at) {
    static const char *const heads[] = {"channel", ">mean", ">deviation"}, *const names[] = {"red", "green", "blue"};
    lab_table *table = lab_table_create(heads, 3);
    for (size_t c = 0; c < CHANNELS; c++) {
        lab_table_cell(table, "%s", names[c]);
        lab_table_number(table, at->mean[c], "%.5f", at->mean[c]);
        lab_table_number(table, at->deviation[c], "%.5f", at->deviation[c]);
    }
    lab_shown_add(&to->shown, table, false);
}

/* The classes of the first images. */
static void say_first(lab_portrait *to, const lab_images *images, const char *set, size_t shown) {
    for (size_t i = 0; i < shown && i < images->count; i++) {
        if (i == 0)
            lab_shown_say(&to->shown, "\nfirst %s images:", set);
        lab_shown_say(&to->shown, "%s %s", i == 0 ? "" : ",", images->class_names[images->labels[i]]);
    }
    lab_shown_say(&to->shown, "%s", shown > 0 ? "\n" : "");
}

static void say_all(lab_portrait *to, const look *at, const lab_portrait_request *request) {
    lab_shown_say(&to->shown,
                  "%s in %s: %zu training and %zu test images (also the development set) of %zu×%zu pixels%s\n\n",
                  at->name, at->path, at->train->count, at->test->count, at->train->side, at->train->side,
                  at->published ? ", files as published" : "");
    add_classes(to, at);
    lab_shown_say(&to->shown, "\n");
    add_channels(to, at);
    lab_shown_say(&to->shown, "\nchance   %.2f %% of test images are of the most common class\n", 100 * at->chance);
    const bool train = request->draw.which == LAB_SET_TRAIN;
    say_first(to, train ? at->train : at->test, train ? "training" : "test", request->shown);
}

static void portray(lab_portrait *to, const lab_portrait_request *request, const lab_dataset *train,
                    const lab_dataset *test) {
    const lab_task *task = request->draw.task;
    const char *path = request->draw.options->path;
    look at = {.name = task->name, .train = &train->images, .test = &test->images};
    at.path = path != NULL ? path : task->download->folder;
    at.published = lab_published_check(task->download, at.path, NULL, &to->fault) == LOCUS_OK;
    at.chance = lab_dataset_chance(test, 0);
    count_classes(at.train, at.train_counts);
    count_classes(at.test, at.test_counts);
    for (size_t c = 0; c < CHANNELS; c++)
        measure_channel(&at, c);
    fill_json(to->json, &at);
    say_all(to, &at, request);
}

locus_status lab_portray_images(lab_portrait *to, const lab_portrait_request *request, locus_error *error) {
    lab_dataset train, test;
    lab_draw draw = {request->draw.task, request->draw.options, LAB_SET_TRAIN, 0, 0};
    locus_status status = lab_dataset_generate(&train, &draw, error);
    if (status != LOCUS_OK)
        return status;
    draw.which = LAB_SET_TEST;
    status = lab_dataset_generate(&test, &draw, error);
    if (status == LOCUS_OK) {
        portray(to, request, &train, &test);
        lab_dataset_destroy(&test);
    }
    lab_dataset_destroy(&train);
    return status;
}

/* Planes to pixels. */
locus_status lab_images_write(const lab_images *images, size_t index, const char *path, locus_error *error) {
    const size_t plane = images->side * images->side;
    const uint8_t *pixels = images->pixels + index * CHANNELS * plane;
    lab_picture picture = {images->side, images->side, malloc(CHANNELS * plane)};
    if (picture.rgb == NULL)
        return lab_fail_memory(error, "a picture");
    for (size_t p = 0; p < plane; p++)
        for (size_t c = 0; c < CHANNELS; c++)
            picture.rgb[p * CHANNELS + c] = pixels[c * plane + p];
    const locus_status status = lab_picture_write(&picture, path, error);
    lab_picture_free(&picture);
    return status;
}
