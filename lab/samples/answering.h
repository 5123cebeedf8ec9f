/* SPDX-License-Identifier: MIT */
/* A decoder goes on with prompts, several at once: text piece by piece as it is complete. Problems end with their
 * '#'. */
#ifndef LAB_ANSWERING_H
#define LAB_ANSWERING_H

#include "samples/prompts.h"

/* What one prompt has got. */
typedef struct lab_answer {
    lab_writer writer;
    char *text; /* a 0 behind `used`; NULL: nothing */
    size_t used, room;
    size_t tokens;
    const int32_t *ids; /* [tokens], until the next group is decoded */
    double first, last; /* seconds at which its first and its latest token came */
} lab_answer;

/* What is asked is filled in before it begins; zeros for the rest. */
typedef struct lab_answering {
    lab_model *model;
    const lab_train_config *config;
    lab_writing writing;
    lab_prompts prompts;
    lab_sampling sampling; /* at temperature 0 nothing is drawn */
    size_t most;           /* tokens that a prompt may get; 0: as many as fit */
    bool (*tell)(void *context, const char *piece,
                 size_t bytes); /* as it comes; false: no more. NULL: nobody listens */
    bool (*stops)(void);        /* after a token: all end where they are */
    void *context;

    lab_answer *answers; /* [prompts.count] */
    size_t begin, count; /* the prompts that were decoded last */
    double started, ended;
    bool stopped, unheard, out_of_memory;
    int32_t end; /* the token that ends a problem; −1: none does */
    size_t *limits, *offsets, *lengths;
    int32_t *tokens;
} lab_answering;

/* IO where a prompt is too long for the model: nothing begins that cannot be finished. */
locus_status lab_answering_begin(lab_answering *answering, locus_error *error);
/* Decodes the next group of prompts: some are left while begin + count < prompts.count. */
locus_status lab_answering_next(lab_answering *answering, locus_error *error);
void lab_answering_free(lab_answering *answering);

/* Of a drawn problem that was just decoded. */
bool lab_answer_right(const lab_answering *answering, size_t prompt);
/* Tokens a second of the prompts decoded together, without what it took to read them. */
double lab_answering_rate(const lab_answering *answering);

#endif
