/* SPDX-License-Identifier: MIT */
/* Which class a trained image classifier sees in pictures. */
#ifndef LAB_PICTURE_CLASSES_H
#define LAB_PICTURE_CLASSES_H

#include "task/own/word_index.h"
#include "train/train.h"

enum { LAB_PICTURE_SHOWN = 3 }; /* classes of a picture */

typedef struct lab_picture_classes {
    size_t count, classes;
    const char *const *names; /* [classes] */
    float *probabilities;     /* [count, classes] */
    lab_word_index kept;      /* the names that the run has kept */
} lab_picture_classes;

/* Pictures are PNG, JPEG, PPM or PGM, of the size that the model was trained on unless they are own pictures. Free it
 * in any case. */
locus_status lab_picture_classes_make(lab_picture_classes *classes, lab_model *model, const lab_train_config *config,
                                      char *const *paths, size_t count, locus_error *error);
/* The most probable classes of one, the first first; how many they are. */
size_t lab_picture_best(const lab_picture_classes *classes, size_t picture, size_t best[LAB_PICTURE_SHOWN]);
void lab_picture_classes_free(lab_picture_classes *classes);

#endif
