/* SPDX-License-Identifier: MIT */
/* See data_pictures.h. */
#include "data_pictures.h"

#include "output.h"
#include "task/images/own_pictures.h"
#include "task_options.h"

#include <stdlib.h>

static const char *const sets[] = {"train", "dev", "test"};

static int print_json(const char *path, size_t side, const lab_picture_facts *facts) {
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "data", path);
    cJSON_AddNumberToObject(root, "side", (double)side);
    for (size_t s = 0; s < 3; s++) {
        cJSON *set = cJSON_AddObjectToObject(root, sets[s]), *classes = cJSON_CreateObject();
        cJSON_AddNumberToObject(set, "samples", (double)facts->samples[s]);
        cJSON_AddNumberToObject(set, "in_training_set", (double)facts->shared[s]);
        for (size_t c = 0; c < facts->classes.count; c++)
            cJSON_AddNumberToObject(classes, facts->classes.words[c], (double)facts->of_class[s][c]);
        cJSON_AddItemToObject(set, "classes", classes);
    }
    return cli_json_print(root);
}

static void print_classes(const lab_picture_facts *facts) {
    static const char *const heads[] = {"class", ">train", ">dev", ">test"};
    lab_table *table = lab_table_create(heads, 4);
    for (size_t c = 0; c < facts->classes.count; c++) {
        lab_table_cell(table, "%s", facts->classes.words[c]);
        for (size_t s = 0; s < 3; s++)
            lab_table_number(table, (double)facts->of_class[s][c], "%zu", facts->of_class[s][c]);
    }
    cli_table_print(table);
}

/* The files of the first pictures of the set that is asked for. */
static int print_first(const cli_arguments *arguments, const lab_train_config *config) {
    const size_t shown = (size_t)cli_integer(arguments, "show"), which = cli_choice(arguments, "set");
    const lab_draw draw = {config->task, &config->data, (lab_set)which, 0, 0};
    char **paths;
    size_t count;
    locus_error error;
    const locus_status status = lab_pictures_paths(&draw, &paths, &count, &error);
    for (size_t i = 0; i < count; i++) {
        if (status == LOCUS_OK && i < shown)
            cli_say("%s%s\n", i == 0 ? "\n" : "", paths[i]);
        free(paths[i]);
    }
    free(paths);
    return status == LOCUS_OK ? 0 : cli_error(&error);
}

static int print_text(const cli_arguments *arguments, const lab_train_config *config, const lab_picture_facts *facts) {
    cli_say("%s: %zu training, %zu development and %zu test pictures in %zu classes, brought to %zu×%zu pixels\n\n",
            config->data.path, facts->samples[0], facts->samples[1], facts->samples[2], facts->classes.count,
            config->data.pictures.side, config->data.pictures.side);
    print_classes(facts);
    for (size_t s = 1; s < 3; s++)
        if (facts->shared[s] > 0)
            cli_say("\n%zu of the %zu %s pictures are files of the training set, too\n", facts->shared[s],
                    facts->samples[s], sets[s]);
    return print_first(arguments, config);
}

int cli_data_inspect_pictures(cli_arguments *arguments, const lab_task *task) {
    lab_train_config config = {.task = task, .data = lab_task_default(task)};
    lab_picture_facts facts;
    locus_error error;
    int status = cli_require(arguments, "data");
    if (status != 0)
        return status;
    (void)cli_put_options(arguments, &config);
    if (lab_pictures_look(&config.data, 0, &facts, &error) != LOCUS_OK)
        return cli_error(&error);
    status = cli_flag(arguments, "json") ? print_json(config.data.path, config.data.pictures.side, &facts)
                                         : print_text(arguments, &config, &facts);
    lab_picture_facts_free(&facts);
    return status;
}
