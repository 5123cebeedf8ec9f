/* SPDX-License-Identifier: MIT */
/* Reads the golden file, puts the encoder's files where the library looks, and compares states and losses. */
#include "bert_case.h"
#include "io/file.h"
#include "model/architecture.h"
#include "model/pretrained/pretrained.h"
#include "unit/scratch_folder.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

void bert_case_read(bert_case *own, const golden_file *golden, size_t index) {
    const lab_array *offsets = golden_array(golden, index, "offsets");
    const size_t count = lab_array_count(offsets);
    assert_true(count > 1 && count <= sizeof own->offsets / sizeof *own->offsets);
    for (size_t i = 0; i < count; i++)
        own->offsets[i] = (size_t)((const int64_t *)offsets->data)[i];
    own->batch = (lab_batch){.samples = count - 1,
                             .input_offsets = own->offsets,
                             .input = golden_array(golden, index, "ids")->data,
                             .types = golden_array(golden, index, "types")->data};
}

static void copy_file(const char *name, const char *kind, const char *target) {
    char path[1024], *data = NULL;
    size_t bytes = 0;
    const char *root = getenv("LOCUS_SOURCE");
    (void)snprintf(path, sizeof path, "%s/tests/golden/bert_%s.%s", root ? root : ".", name, kind);
    golden_ok(lab_file_read(path, &data, &bytes, error));
    scratch_write(target, data, bytes);
    free(data);
}

const char *bert_case_folder(const char *name) {
    copy_file(name, "json", "config.json");
    copy_file(name, "safetensors", "model.safetensors");
    return scratch_path(".");
}

lab_model *bert_case_open(const char *folder, const char *more) {
    char encoding[256];
    lab_model *model = NULL;
    lab_model_config config = lab_text_classifier.defaults;
    config.classes = 3;
    config.head = LAB_HEAD_POOLER;
    golden_ok(lab_pretrained_config(folder, more, encoding, sizeof encoding, &config, error));
    golden_ok(lab_model_create(&model, &config, 3, error));
    golden_ok(lab_pretrained_load(model, folder, error));
    return model;
}

static double compare(const char *what, const float *got, const lab_array *want, double tolerance) {
    const float *values = want->data;
    double largest = 0;
    for (size_t i = 0; i < lab_array_count(want); i++) {
        const double difference = fabs((double)got[i] - (double)values[i]);
        if (!(difference <= tolerance * (1 + fabs((double)values[i]))))
            fail_msg("%s[%zu]: %.9g, transformers has %.9g", what, i, (double)got[i], (double)values[i]);
        largest = fmax(largest, difference);
    }
    return largest;
}

bert_differences bert_case_compare(const golden_file *golden, size_t index, lab_model *model, double tolerance) {
    const lab_array *hidden = golden_array(golden, index, "hidden"), *pooled = golden_array(golden, index, "pooled");
    const size_t dim = lab_model_get_config(model)->dim;
    bert_case own;
    bert_case_read(&own, golden, index);
    assert_int_equal(lab_array_count(hidden), own.offsets[own.batch.samples] * dim);
    assert_int_equal(lab_array_count(pooled), own.batch.samples * dim);
    float *got = malloc(lab_array_count(hidden) * sizeof *got),
          *first = malloc(lab_array_count(pooled) * sizeof *first);
    golden_ok(lab_model_encode(model, &own.batch, got, first, error));
    const bert_differences found = {compare("last_hidden_state", got, hidden, tolerance),
                                    compare("pooler_output", first, pooled, tolerance)};
    free(got);
    free(first);
    return found;
}
