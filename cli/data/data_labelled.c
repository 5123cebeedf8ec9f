/* SPDX-License-Identifier: MIT */
/* See data_labelled.h. */
#include "data_labelled.h"

#include "output.h"
#include "task/own/labelled.h"
#include "task_options.h"

static const char *const sets[] = {"train", "dev", "test"};

static int print_json(const char *path, const lab_labelled_facts *facts) {
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "data", path);
    cJSON_AddNumberToObject(root, "vocabulary", (double)facts->vocabulary);
    cJSON_AddNumberToObject(root, "shortest", (double)facts->shortest);
    cJSON_AddNumberToObject(root, "longest", (double)facts->longest);
    for (size_t s = 0; s < 3; s++) {
        cJSON *set = cJSON_AddObjectToObject(root, sets[s]), *labels = cJSON_CreateObject();
        cJSON_AddNumberToObject(set, "samples", (double)facts->samples[s]);
        cJSON_AddNumberToObject(set, "in_training_set", (double)facts->shared[s]);
        for (size_t c = 0; c < facts->classes; c++)
            cJSON_AddNumberToObject(labels, facts->labels.words[c], (double)facts->of_label[s][c]);
        cJSON_AddItemToObject(set, "labels", labels);
    }
    return cli_json_print(root);
}

static int print_text(const char *path, const lab_labelled_facts *facts) {
    static const char *const heads[] = {"label", ">train", ">dev", ">test"};
    cli_say("%s: %zu training, %zu development and %zu test samples of %zu to %zu tokens, vocabulary %zu\n\n", path,
            facts->samples[0], facts->samples[1], facts->samples[2], facts->shortest, facts->longest,
            facts->vocabulary);
    lab_table *table = lab_table_create(heads, 4);
    for (size_t c = 0; c < facts->classes; c++) {
        lab_table_cell(table, "%s", facts->labels.words[c]);
        for (size_t s = 0; s < 3; s++)
            lab_table_number(table, (double)facts->of_label[s][c], "%zu", facts->of_label[s][c]);
    }
    cli_table_print(table);
    for (size_t s = 1; s < 3; s++)
        if (facts->shared[s] > 0)
            cli_say("\n%zu of the %zu %s samples stand in the training set, too\n", facts->shared[s], facts->samples[s],
                    sets[s]);
    return 0;
}

int cli_data_inspect_labelled(cli_arguments *arguments, const lab_task *task) {
    lab_train_config config = {.task = task};
    lab_labelled_facts facts;
    locus_error error;
    (void)cli_put_options(arguments, &config);
    int status = cli_require(arguments, "data");
    if (status != 0)
        return status;
    if (lab_labelled_look(&config.data, (uint64_t)cli_integer(arguments, "seed"), &facts, &error) != LOCUS_OK)
        return cli_error(&error);
    const char *path = cli_text(arguments, "data");
    status = cli_flag(arguments, "json") ? print_json(path, &facts) : print_text(path, &facts);
    lab_labelled_facts_free(&facts);
    return status;
}
