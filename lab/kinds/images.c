/* SPDX-License-Identifier: MIT */
/* Images: CIFAR-10 (cifar10.c reads it) for the compact convolutional Transformer of Kogkalidis, Bernardy and Garg
 * 2024, Table 3. The test set is looked at after every epoch, as published. */
#include "kinds/class_parts.h"
#include "samples/portrait.h"
#include "task/images/cifar10.h"
#include "task/images/picture_input.h"
#include "task/images/picture_options.h"

#include <stdio.h>
#include <string.h>

/* ---- options ---- */

static const lab_option options[] = {
    LAB_ROW(NULL, TEXT, AT(data.path), LAB_WORD("data", "PATH"), LAB_HELP("their folder or archive (data/cifar10)"),
            .flags = LAB_OPTION_FREE | LAB_OPTION_DATA | LAB_OPTION_EVAL | LAB_OPTION_REPRODUCED),
    LAB_PICTURE_ROWS,
};

LAB_READS(size_t, classes, LAB_CIFAR10_CLASSES)

/* ---- budgets ---- */

static void paper(lab_train_config *config) {
    lab_budget_images(config);
    config->train_samples = 50000;
    config->dev_samples = config->test_samples = 10000;
}

static void quick(lab_train_config *config) {
    paper(config);
    config->epochs = 5;
}

static void smoke(lab_train_config *config) {
    lab_budget_images_small(config);
    config->train_samples = 2000;
    config->dev_samples = config->test_samples = 1000;
    config->epochs = 6;
}

/* ---- words for tables and pages ---- */

static void describe(const struct cJSON *config, const char *task, lab_data_facts *facts) {
    const double train = lab_said_number(config, "train_samples");
    char count[48];
    if (train > 0) {
        snprintf(facts->data, sizeof facts->data, "%.40s, %s training images",
                 strcmp(task, "cifar10") == 0 ? "CIFAR-10" : task, lab_grouped(train, count, sizeof count));
    }
    facts->mean_size = LAB_CIFAR10_SIDE;
    lab_describe_epochs(config, facts);
}

static const lab_curve_words curves = {
    {"Accuracy on the test images against epochs", "Training loss against epochs"},
    "epochs",
    {"test accuracy, %", "training loss, nats an image"},
    "Learning curves: mean over seeds, band or bars from the lowest to the highest. Left: accuracy on the test images, "
    "by epoch; right: training loss (augmented images, dropout, stochastic depth, smoothed labels), logarithmic.",
    false};

static const lab_score_column columns[] = {
    {"accuracy_half", LAB_MEASURE_ACCURACY, LAB_SCORE_RUN | LAB_SCORE_SIDE, "best to half", "best up to half",
     "epoch {half}, %", NULL},
    {"accuracy", LAB_MEASURE_ACCURACY, LAB_SCORE_ALWAYS | LAB_SCORE_LEADS | LAB_SCORE_PAGE_HEAD, "accuracy",
     "best of all", "{epochs} epochs, %", lab_value_accuracy},
    {"accuracy_last", LAB_MEASURE_ACCURACY, LAB_SCORE_RUN | LAB_SCORE_SIDE, "at the end", NULL, "%", NULL},
    {"loss", LAB_MEASURE_LOSS, LAB_SCORE_RUN | LAB_SCORE_SET, "loss", NULL, NULL, lab_value_loss},
    {"best_step", LAB_MEASURE_STEP, LAB_SCORE_RUN, "best step", NULL, NULL, NULL},
    {"chance", LAB_MEASURE_ACCURACY, LAB_SCORE_SET, "chance", NULL, NULL, lab_value_common},
};

/* ---- the class ---- */

extern const lab_task_class lab_images_class;

static const lab_task tasks[] = {
    {.name = "cifar10",
     .summary = "32×32 photographs → 10 classes",
     .class = &lab_images_class,
     .class_names = lab_cifar10_class_names,
     .download = &lab_cifar10_published,
     .generate = lab_cifar10_generate},
};

const lab_task_class lab_images_class = {
    .name = "images",
    LAB_TASKS_AND_OPTIONS(lab_picture_options),
    .architecture = &lab_image_classifier,
    .compared = "table3",
    .lengths = &lab_picture_sides,
    .classes = classes,
    .develops_on_test = true,
    .read = true,
    .balanced = true,
    .budgets = {smoke, quick, paper},
    .as_code = lab_budget_images_code,
    .makes = LAB_MAKES_PICTURES,
    .portray = lab_portray_images,
    LAB_COLUMNS(columns),
    .token = "image",
    .sample = "image",
    .scores_note = "Best accuracy of all epochs, best up to half of them, that of the last; loss and step of the best.",
    .source = "up to epoch 150 and 300",
    .describe = describe,
    .legend = "Shares of the test images in %: the best epoch up to half of them, of all, and the last[epochs? of "
              "{epochs}.|.]",
    .page_legend = "The score is the best accuracy on the test images up to half, and up to all, of the epochs, as in "
                   "the published experiments: it is chosen on the test set. ",
    .model_samples = "{train_samples} training images, {test_samples} test images, which are the development set too",
    .curves = &curves,
    .turns = "along an axis",
    .speed_note = "Tokens are the places of the grid that the encoder reads." LAB_MEMORY_NOTE,
    .read_input = lab_picture_input,
    .no_generate = "classifies images and generates nothing: 'locus eval' names what pictures show",
};
