/* SPDX-License-Identifier: MIT */
/* CIFAR-10: the input as test_batch.bin of a folder, and as an archive, which it seldom is. Labels are below ten; a
 * batch that is taken is the file's bytes; a failure is one line. The first byte says how many records of one colour
 * stand before the rest of the input, and with which label: whole records would be a rare find. */
#include "fuzz.h"

#include "io/published/archive.h"
#include "task/images/cifar10.h"
#include "task/task_class.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_RECORDS = 3, PIXELS = LAB_CIFAR10_RECORD - 1 };

static locus_status generate(lab_dataset *set, const char *path, size_t samples, locus_error *error) {
    const lab_task *task = lab_task_find("cifar10");
    lab_task_options options = lab_task_default(task);
    options.path = path;
    const lab_draw draw = {.task = task, .options = &options, .which = LAB_SET_TEST, .samples = samples};
    *set = (lab_dataset){0};
    return lab_dataset_generate(set, &draw, error);
}

static void check(const char *path, const uint8_t *batch) {
    lab_dataset set;
    locus_error error = {0};
    const locus_status status = generate(&set, path, 0, &error);
    if (status == LOCUS_OK) {
        FUZZ_REQUIRE(set.samples == set.images.count && set.samples > 0);
        for (size_t i = 0; i < set.samples; i++) {
            FUZZ_REQUIRE(set.images.labels[i] < LAB_CIFAR10_CLASSES);
            const uint8_t *record = batch != NULL ? batch + i * LAB_CIFAR10_RECORD : NULL;
            FUZZ_REQUIRE(record == NULL || set.images.labels[i] == record[0]);
            FUZZ_REQUIRE(record == NULL || memcmp(set.images.pixels + i * PIXELS, record + 1, PIXELS) == 0);
        }
    } else {
        FUZZ_REQUIRE_SAYING(status == LOCUS_ERROR_IO || status == LOCUS_ERROR_MEMORY, error.message);
        fuzz_check_failure(status, &error);
    }
    lab_dataset_destroy(&set);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static uint8_t batch[MOST_RECORDS * LAB_CIFAR10_RECORD + LAB_CIFAR10_RECORD];
    static const char *folder;
    const size_t records = size > 0 ? data[0] % (MOST_RECORDS + 1) : 0;
    const size_t rest = size > LAB_CIFAR10_RECORD ? LAB_CIFAR10_RECORD : size;
    if (folder == NULL) {
        folder = strdup(fuzz_path("cifar"));
        FUZZ_REQUIRE(folder != NULL && mkdir(folder, 0700) == 0);
    }
    for (size_t r = 0; r < records; r++)
        memset(batch + r * LAB_CIFAR10_RECORD, data[0] / (MOST_RECORDS + 1) % 12, LAB_CIFAR10_RECORD);
    if (rest > 1)
        memcpy(batch + records * LAB_CIFAR10_RECORD, data + 1, rest - 1);
    fuzz_file("cifar/test_batch.bin", batch, records * LAB_CIFAR10_RECORD + (rest > 1 ? rest - 1 : 0));
    check(folder, batch);
    check(fuzz_file("input.tar", data, size), NULL);
    return 0;
}
