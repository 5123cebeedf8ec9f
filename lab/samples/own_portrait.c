/* SPDX-License-Identifier: MIT */
/* What labelled sequences and pictures of one's own look like: samples by class and set, and what sets share. */
#include "samples/portrait.h"

#include "io/json.h"
#include "task/images/own_pictures.h"
#include "task/images/picture_options.h"
#include "task/own/labelled.h"

#include <stdlib.h>

static const char *const sets[] = {"train", "dev", "test"};

/* `member`: what classes are called in JSON. */
static void fill_json(cJSON *root, const lab_class_facts *facts, const char *member) {
    for (size_t s = 0; s < 3; s++) {
        cJSON *set = cJSON_AddObjectToObject(root, sets[s]), *classes = cJSON_CreateObject();
        cJSON_AddNumberToObject(set, "samples", (double)facts->samples[s]);
        cJSON_AddNumberToObject(set, "in_training_set", (double)facts->shared[s]);
        for (size_t c = 0; c < facts->classes.count; c++)
            cJSON_AddNumberToObject(classes, facts->classes.words[c], (double)facts->of_class[s][c]);
        lab_json_put(set, member, classes);
    }
}

/* `head`: of the classes; `what`: "12 of the 40 dev <what>". */
static void say_sets(lab_portrait *to, const lab_class_facts *facts, const char *head, const char *what) {
    const char *const heads[] = {head, ">train", ">dev", ">test"};
    lab_table *table = lab_table_create(heads, 4);
    for (size_t c = 0; c < facts->classes.count; c++) {
        lab_table_cell(table, "%s", facts->classes.words[c]);
        for (size_t s = 0; s < 3; s++)
            lab_table_number(table, (double)facts->of_class[s][c], "%zu", facts->of_class[s][c]);
    }
    lab_shown_add(&to->shown, table, false);
    for (size_t s = 1; s < 3; s++)
        if (facts->shared[s] > 0)
            lab_shown_say(&to->shown, "\n%zu of the %zu %s %s the training set, too\n", facts->shared[s],
                          facts->samples[s], sets[s], what);
}

locus_status lab_portray_labelled(lab_portrait *to, const lab_portrait_request *request, locus_error *error) {
    const lab_task_options *options = request->draw.options;
    lab_class_facts facts;
    const locus_status status = lab_labelled_look(options, request->draw.seed, &facts, error);
    if (status != LOCUS_OK)
        return status;
    cJSON_AddStringToObject(to->json, "data", options->path);
    cJSON_AddNumberToObject(to->json, "vocabulary", (double)facts.vocabulary);
    cJSON_AddNumberToObject(to->json, "shortest", (double)facts.shortest);
    cJSON_AddNumberToObject(to->json, "longest", (double)facts.longest);
    fill_json(to->json, &facts, "labels");
    lab_shown_say(&to->shown,
                  "%s: %zu training, %zu development and %zu test samples of %zu to %zu tokens, vocabulary %zu\n\n",
                  options->path, facts.samples[0], facts.samples[1], facts.samples[2], facts.shortest, facts.longest,
                  facts.vocabulary);
    say_sets(to, &facts, "label", "samples stand in");
    lab_class_facts_free(&facts);
    return LOCUS_OK;
}

/* The files of the first pictures of the set that is asked for. */
static locus_status say_first(lab_portrait *to, const lab_portrait_request *request, locus_error *error) {
    lab_draw draw = request->draw;
    char **paths;
    size_t count;
    draw.samples = 0;
    const locus_status status = lab_pictures_paths(&draw, &paths, &count, error);
    for (size_t i = 0; i < count; i++) {
        if (status == LOCUS_OK && i < request->shown)
            lab_shown_say(&to->shown, "%s%s\n", i == 0 ? "\n" : "", paths[i]);
        free(paths[i]);
    }
    free(paths);
    return status;
}

locus_status lab_portray_pictures(lab_portrait *to, const lab_portrait_request *request, locus_error *error) {
    const lab_task_options *options = request->draw.options;
    const size_t side = LAB_PICTURES(options)->side;
    lab_class_facts facts;
    const locus_status status = lab_pictures_look(options, request->draw.seed, &facts, error);
    if (status != LOCUS_OK)
        return status;
    cJSON_AddStringToObject(to->json, "data", options->path);
    cJSON_AddNumberToObject(to->json, "side", (double)side);
    fill_json(to->json, &facts, "classes");
    lab_shown_say(&to->shown,
                  "%s: %zu training, %zu development and %zu test pictures in %zu classes, brought to %zu×%zu "
                  "pixels\n\n",
                  options->path, facts.samples[0], facts.samples[1], facts.samples[2], facts.classes.count, side, side);
    say_sets(to, &facts, "class", "pictures are files of");
    lab_class_facts_free(&facts);
    return request->shown > 0 ? say_first(to, request, error) : LOCUS_OK;
}
