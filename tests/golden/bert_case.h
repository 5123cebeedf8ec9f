/* SPDX-License-Identifier: MIT */
/* A pretrained encoder beside what the transformers package computes with it (tools/golden_bert.py). */
#ifndef TESTS_BERT_CASE_H
#define TESTS_BERT_CASE_H

#include "golden.h"
#include "model/model.h"

/* A packed batch, and the offsets that it borrows. */
typedef struct bert_case {
    lab_batch batch;
    size_t offsets[16];
} bert_case;
void bert_case_read(bert_case *own, const golden_file *golden, size_t index);

/* config.json and model.safetensors of a small encoder, "plain" say, in the scratch folder. Returns the folder. */
const char *bert_case_folder(const char *name);

/* A text classifier of three classes from the folder's configuration and weights, its first row through the pooler;
 * `more` is added to its encoding. */
lab_model *bert_case_open(const char *folder, const char *more);

/* The largest difference of what the encoder gives and of what the pooler gives, which are also held against
 * tolerance · (1 + |wanted|). */
typedef struct bert_differences {
    double hidden, pooled;
} bert_differences;
bert_differences bert_case_compare(const golden_file *golden, size_t index, lab_model *model, double tolerance);

#endif
