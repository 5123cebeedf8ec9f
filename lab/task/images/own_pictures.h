/* SPDX-License-Identifier: MIT */
/* Labelled pictures of one's own (picture_folder.h): PNG, JPEG, PPM and PGM of any size, brought to a square of `side`
 * pixels (io/picture/picture_scale.h), red, green and blue.
 *
 * Development and test set are folders of their own, or a tenth of the first folder each, drawn by the data's seed.
 * What was trained keeps the names of its classes beside it (`vocabulary.json`).
 *
 * Pictures are decoded by all threads, and once in a process: their pixels stay in memory, 3 · side² bytes a picture
 * and LAB_PICTURES_MOST_BYTES (picture_pixels.h) at most, as long as the files' sizes and times stay; each set is a
 * copy of its part. */
#ifndef LAB_OWN_PICTURES_H
#define LAB_OWN_PICTURES_H

#include "task/images/picture_folder.h"
#include "task/own/own_sets.h"

#define LAB_PICTURES_SIDE 32 /* unless it is given */

lab_draw_function lab_pictures_generate;

/* What the folders say. IO: what is no picture, or no folder of them, with its place; ARGUMENT: too few for three sets;
 * INTERRUPTED. */
locus_status lab_pictures_look(const lab_task_options *options, uint64_t seed, lab_class_facts *facts,
                               locus_error *error);

/* Writes the names of the classes into a folder, and reads them from there. */
locus_status lab_pictures_keep(const lab_task_options *options, uint64_t seed, const char *folder, locus_error *error);
locus_status lab_pictures_recall(lab_word_index *classes, const char *folder, locus_error *error);

/* The path of each picture of a set, in order: from malloc, the texts too. */
locus_status lab_pictures_paths(const lab_draw *draw, char ***paths, size_t *count, locus_error *error);

#endif
