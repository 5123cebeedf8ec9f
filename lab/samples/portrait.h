/* SPDX-License-Identifier: MIT */
/* What a set of samples looks like: lines and tables for a terminal, and JSON. Each kind of task draws its own
 * (lab_task_class.portray). */
#ifndef LAB_PORTRAIT_H
#define LAB_PORTRAIT_H

#include "report/tables/shown.h"
#include "task/task_class.h"
#include <cjson/cJSON.h>

/* Opened by the caller: lines and tables that are open, an empty object of JSON. */
typedef struct lab_portrait {
    lab_shown shown;
    cJSON *json;
    locus_error fault; /* OK, or what is wrong with the files of a set that could be read all the same */
} lab_portrait;

/* What is looked at. */
typedef struct lab_portrait_request {
    const char *name; /* as the user wrote it: a task's, or a file's */
    lab_draw draw;    /* samples of a set; its options may be filled in from files */
    const char *file; /* that its samples are read from instead; NULL: none */
    size_t shown;     /* samples, or lines of text */
} lab_portrait_request;

/* ---- of pairs: words, trees, problems, own pairs ---- */

struct lab_pair_facts;
/* A set that is there: lengths, depths of trees, vocabulary, chance rate, and the first samples. `task`: of problems,
 * also of those from a file; else NULL or any. `options` NULL: it is a file. `own`: of own pairs; else NULL. */
locus_status lab_portray_pairs(lab_portrait *portrait, const lab_portrait_request *request, const lab_dataset *set,
                               const struct lab_pair_facts *own, locus_error *error);

/* ---- of kinds (lab_task_class.portray) ---- */

lab_portray lab_portray_drawn;       /* words, trees, problems */
lab_portray lab_portray_own_pairs;   /* and the sets, what they share, what the vocabulary lacks */
lab_portray lab_portray_expressions; /* lengths, depths, arguments, classes, chance and majority rates */
lab_portray lab_portray_labelled;    /* samples of each set, lengths, labels, how many samples sets share */
lab_portray lab_portray_pictures;    /* pictures of each set by class, how many sets share */
/* How many images of each class, means and deviations of the channels, whether the files are as published. */
lab_portray lab_portray_images;
lab_portray lab_portray_text; /* tokens, bytes and bytes per token of each set, the first lines of one as pieces */

/* One image of a set, as a picture whose name says its format. */
locus_status lab_images_write(const lab_images *images, size_t index, const char *path, locus_error *error);

/* Token files that were just made: tokens, bytes and bytes per token of each set. `folder`: where they lie. */
struct lab_text_facts;
void lab_portray_token_files(lab_portrait *portrait, const char *folder, const struct lab_text_facts *facts);

#endif
