/* SPDX-License-Identifier: MIT */
/* Which class a trained image classifier sees in pictures. */
#ifndef CLI_EVAL_PICTURES_H
#define CLI_EVAL_PICTURES_H

#include "train/train.h"

typedef struct cli_pictures {
    char *const
        *paths; /* PNG, JPEG, PPM or PGM; of the size that the model was trained on, unless they are own pictures */
    size_t count;
} cli_pictures;

/* Prints the three most probable classes of each. The exit status; nothing is printed unless all could be read. */
int cli_eval_pictures(lab_model *model, const lab_train_config *config, const cli_pictures *pictures, bool json);

#endif
