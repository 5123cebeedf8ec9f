/* SPDX-License-Identifier: MIT */
/* Labelled pictures of one's own (task/images/own_pictures.h), for the image classifier that CIFAR-10 has. Unlike its
 * test set theirs is scored once, at the end, by the parameters of the best development loss. */
#include "kinds/class_parts.h"
#include "samples/portrait.h"
#include "task/images/own_pictures.h"
#include "task/images/picture_input.h"
#include "task/images/picture_options.h"

#include <stdio.h>
#include <string.h>

/* ---- options ---- */

static const lab_option options[] = {
    LAB_ROW("digest", SEED, AT(data.digest), .silent = "0"),
    LAB_ROW("labels", SIZE, LAB_AT_KIND(lab_picture_options, classes), .silent = "0", .flags = LAB_OPTION_LATER),
    LAB_ROW("side", SIZE, LAB_AT_KIND(lab_picture_options, side), LAB_NUMBER("side", "N", 5, 1024),
            LAB_HELP("they are brought to N×N pixels (32)"), .flags = LAB_OPTION_LATER | LAB_OPTION_DATA),
    LAB_OWN_ROWS("a folder of folders, one for each class", 0),
    LAB_PICTURE_ROWS,
};

LAB_READS(size_t, classes, LAB_PICTURES(of)->classes)

static locus_status look(lab_train_config *config, locus_error *error) {
    lab_class_facts facts;
    const locus_status status = lab_pictures_look(&config->data, config->data_seed, &facts, error);
    if (status != LOCUS_OK)
        return status;
    LAB_PICTURES(&config->data)->classes = facts.classes.count;
    config->data.digest = facts.digest;
    config->model.image_side = LAB_PICTURES(&config->data)->side;
    lab_own_cap(config, facts.samples);
    lab_class_facts_free(&facts);
    return LOCUS_OK;
}

static bool tell(const lab_train_config *config, char *text, size_t room) {
    lab_class_facts facts;
    if (config->data.path == NULL || lab_pictures_look(&config->data, config->data_seed, &facts, NULL) != LOCUS_OK)
        return false;
    const bool shares = lab_own_tell(facts.samples, facts.shared, text, room);
    const size_t used = shares ? strlen(text) : 0, rest = (LAB_PICTURES(&config->data)->side - 2) % 3;
    lab_class_facts_free(&facts);
    if (rest > 0) {
        snprintf(text + used, room - used,
                 "%sthe convolution's windows leave out the last %s of side %zu, and nothing of side %zu",
                 shares ? "; " : "", rest == 1 ? "row and column" : "two rows and columns",
                 LAB_PICTURES(&config->data)->side, LAB_PICTURES(&config->data)->side - rest);
    }
    return shares || rest > 0;
}

/* ---- budgets ---- */

static void quick(lab_train_config *config) {
    lab_budget_images(config);
    config->epochs = 20;
}

static void smoke(lab_train_config *config) {
    lab_budget_images_small(config);
    config->augment = LAB_AUGMENT_NONE;
    config->epochs = 10;
}

/* ---- words for tables and pages ---- */

static void describe(const struct cJSON *config, const char *task, lab_data_facts *facts) {
    const double train = lab_said_number(config, "train_samples");
    char count[48];
    (void)task;
    facts->unpublished = true;
    facts->mean_size = lab_said_number(config, "side");
    if (train > 0) {
        snprintf(facts->data, sizeof facts->data, "%s training pictures of own data in %g classes, side %g",
                 lab_grouped(train, count, sizeof count), lab_said_number(config, "labels"),
                 lab_said_number(config, "side"));
    }
    lab_describe_epochs(config, facts);
}

static const lab_curve_words curves =
    LAB_CLASS_CURVES("a picture", "class", "dropout, stochastic depth, smoothed labels");

static const lab_score_column columns[] = LAB_CLASS_COLUMNS("classes");

/* ---- the class ---- */

extern const lab_task_class lab_pictures_class;

static const lab_task tasks[] = {{
    .name = "images",
    .summary = "pictures of your own → their classes",
    .class = &lab_pictures_class,
    .published = &(const lab_picture_options){.side = LAB_PICTURES_SIDE},
    .generate = lab_pictures_generate,
}};

const lab_task_class lab_pictures_class = {
    .name = "own pictures",
    LAB_TASKS_AND_OPTIONS(lab_picture_options),
    .architecture = &lab_image_classifier,
    .lengths = &lab_picture_sides,
    .classes = classes,
    .stores_chance = true,
    .budgets = {smoke, quick, lab_budget_images},
    .as_code = lab_budget_images_code,
    .makes = LAB_MAKES_PICTURES,
    .portray = lab_portray_pictures,
    LAB_COLUMNS(columns),
    .token = "picture",
    .sample = "picture",
    LAB_OF_CLASSES("class", "classes"),
    .source = "accuracy",
    .describe = describe,
    LAB_OWN_DATA,
    .keep = lab_pictures_keep,
    .legend = "Pictures right in %[chance?: chance is {chance}, always the most common class {majority}|].",
    .curves = &curves,
    .turns = "along an axis",
    .speed_note = "Tokens are the places of the grid that the encoder reads." LAB_MEMORY_NOTE,
    .read_input = lab_picture_input,
    .no_generate = "classifies pictures and generates nothing: 'locus eval' names what pictures show",
};
