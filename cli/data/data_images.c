/* SPDX-License-Identifier: MIT */
/* Means and deviations are over all pixels of the training set, as values from 0 to 1; the deviation divides by their
 * number. Sums are whole numbers, so the result does not depend on an order. */
#include "data_images.h"

#include "io/picture/picture.h"
#include "output.h"
#include "task/images/cifar10.h"
#include "task_options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const lab_published_set *cli_data_published(const char *task) {
    return strcmp(task, lab_cifar10_published.name) == 0 ? &lab_cifar10_published : NULL;
}

static const char *data_path(const cli_arguments *arguments, const lab_task *task) {
    return cli_given_by_user(arguments, "data") ? cli_text(arguments, "data") : cli_data_published(task->name)->folder;
}

static int read_set(lab_dataset *set, cli_arguments *arguments, const lab_task *task, lab_set which) {
    locus_error error;
    lab_train_config config = {.task = task, .data = lab_task_default(task)};
    int status = cli_data_published(task->name) == NULL ? cli_require(arguments, "data") : 0;
    if (status != 0)
        return status;
    (void)cli_put_options(arguments, &config);
    config.data.path = data_path(arguments, task);
    const lab_draw draw = {task, &config.data, which, 0, 0};
    return lab_dataset_generate(set, &draw, &error) == LOCUS_OK ? 0 : cli_error(&error);
}

/* ---- inspect ---- */

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

static void add_numbers(cJSON *root, const char *name, const double *values, size_t count) {
    cJSON_AddItemToObject(root, name, cJSON_CreateDoubleArray(values, (int)count));
}

static int print_json(const look *at) {
    cJSON *root = cJSON_CreateObject();
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
        cJSON_AddItemToArray(classes, one);
    }
    add_numbers(root, "mean", at->mean, CHANNELS);
    add_numbers(root, "deviation", at->deviation, CHANNELS);
    cJSON_AddNumberToObject(root, "chance", at->chance);
    return cli_json_print(root);
}

static void print_classes(const look *at) {
    static const char *const heads[] = {"class", ">train", ">test"};
    lab_table *table = lab_table_create(heads, 3);
    for (size_t c = 0; c < at->train->classes; c++) {
        lab_table_cell(table, "%s", at->train->class_names[c]);
        lab_table_number(table, (double)at->train_counts[c], "%zu", at->train_counts[c]);
        lab_table_number(table, (double)at->test_counts[c], "%zu", at->test_counts[c]);
    }
    cli_table_print(table);
}

static void print_channels(const look *at) {
    static const char *const heads[] = {"channel", ">mean", ">deviation"}, *const names[] = {"red", "green", "blue"};
    lab_table *table = lab_table_create(heads, 3);
    for (size_t c = 0; c < CHANNELS; c++) {
        lab_table_cell(table, "%s", names[c]);
        lab_table_number(table, at->mean[c], "%.5f", at->mean[c]);
        lab_table_number(table, at->deviation[c], "%.5f", at->deviation[c]);
    }
    cli_table_print(table);
}

/* The classes of the first images. */
static void print_first(const lab_images *images, const char *set, size_t shown) {
    for (size_t i = 0; i < shown && i < images->count; i++) {
        if (i == 0)
            cli_say("\nfirst %s images:", set);
        cli_say("%s %s", i == 0 ? "" : ",", images->class_names[images->labels[i]]);
    }
    cli_say("%s", shown > 0 ? "\n" : "");
}

static int print_text(const look *at, const cli_arguments *arguments) {
    cli_say("%s in %s: %zu training and %zu test images (also the development set) of %zu×%zu pixels%s\n\n", at->name,
            at->path, at->train->count, at->test->count, at->train->side, at->train->side,
            at->published ? ", files as published" : "");
    print_classes(at);
    cli_say("\n");
    print_channels(at);
    cli_say("\nchance   %.2f %% of test images are of the most common class\n", 100 * at->chance);
    bool train = cli_choice(arguments, "set") == LAB_SET_TRAIN;
    print_first(train ? at->train : at->test, train ? "training" : "test", (size_t)cli_integer(arguments, "show"));
    return 0;
}

static int inspect(const cli_arguments *arguments, const lab_task *task, const lab_dataset *train,
                   const lab_dataset *test) {
    locus_error error;
    look at = {.name = task->name, .path = data_path(arguments, task), .train = &train->images, .test = &test->images};
    at.published = lab_published_check(cli_data_published(task->name), at.path, NULL, &error) == LOCUS_OK;
    at.chance = lab_dataset_chance(test, 0);
    count_classes(at.train, at.train_counts);
    count_classes(at.test, at.test_counts);
    for (size_t c = 0; c < CHANNELS; c++)
        measure_channel(&at, c);
    int status = cli_flag(arguments, "json") ? print_json(&at) : print_text(&at, arguments);
    return status != 0 || at.published ? status : cli_error(&error);
}

int cli_data_inspect_images(cli_arguments *arguments, const lab_task *task) {
    lab_dataset train, test;
    int status = read_set(&train, arguments, task, LAB_SET_TRAIN);
    if (status != 0)
        return status;
    status = read_set(&test, arguments, task, LAB_SET_TEST);
    if (status == 0) {
        status = inspect(arguments, task, &train, &test);
        lab_dataset_destroy(&test);
    }
    lab_dataset_destroy(&train);
    return status;
}

/* ---- make ---- */

/* Planes to pixels. */
static int write_image(const lab_images *images, size_t index, const char *path) {
    size_t plane = images->side * images->side;
    const uint8_t *pixels = images->pixels + index * CHANNELS * plane;
    lab_picture picture = {images->side, images->side, malloc(CHANNELS * plane)};
    locus_error error;
    if (picture.rgb == NULL)
        return cli_failure("out of memory for a picture");
    for (size_t p = 0; p < plane; p++)
        for (size_t c = 0; c < CHANNELS; c++)
            picture.rgb[p * CHANNELS + c] = pixels[c * plane + p];
    int status = lab_picture_write(&picture, path, &error) == LOCUS_OK ? 0 : cli_error(&error);
    lab_picture_free(&picture);
    return status;
}

static int make_image(const cli_arguments *arguments, const lab_images *images) {
    static const char *const names[] = {"training", "development", "test"};
    const char *set = names[cli_choice(arguments, "set")], *path = cli_text(arguments, "output");
    size_t index = (size_t)cli_integer(arguments, "image");
    if (index >= images->count)
        return cli_usage_error("--image: %zu; the %s set has images 0 to %zu", index, set, images->count - 1);
    int status = write_image(images, index, path);
    if (status == 0) {
        cli_note("image %zu of the %s set, class %s, in %s", index, set, images->class_names[images->labels[index]],
                 path);
    }
    return status;
}

/* What the file is follows from its name. */
static int check_name(const char *path) {
    const char *end = strrchr(path, '.');
    return end != NULL && (strcmp(end, ".png") == 0 || strcmp(end, ".ppm") == 0)
               ? 0
               : cli_usage_error("data make: --output '%s' is no .png or .ppm", path);
}

int cli_data_make_image(cli_arguments *arguments, const lab_task *task) {
    lab_dataset set;
    int status = cli_require(arguments, "output");
    status = status ? status : check_name(cli_text(arguments, "output"));
    status = status ? status : read_set(&set, arguments, task, (lab_set)cli_choice(arguments, "set"));
    if (status == 0) {
        status = make_image(arguments, &set.images);
        lab_dataset_destroy(&set);
    }
    return status;
}
