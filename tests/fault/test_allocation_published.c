/* SPDX-License-Identifier: MIT */
/* Every allocation on the way from published files to a folder, and from a pretrained encoder to the identity of its
 * training, fails once, one after another: told as MEMORY with nothing left over, or the result is the same. */
#include "golden/bert_case.h"
#include "io/digest.h"
#include "io/published/published_set.h"
#include "task/images/cifar10.h"
#include "task/images/picture_options.h"
#include "task/task_class.h"
#include "train/configuration/config.h"
#include "train/train.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "failing_allocator.h"
#include "unit/scratch_folder.h"

enum { FILES = 2 };

static const char *const contents[FILES] = {"first", "the second"};
static char sums[FILES][LAB_DIGEST_TEXT];
static lab_published_file files[FILES] = {{"a.bin", 5, sums[0]}, {"b.bin", 10, sums[1]}};
static const lab_published_set set = {.name = "little",
                                      .folder = "data/little",
                                      .inner = "inner",
                                      .archive = "little.tar",
                                      .files = files,
                                      .file_count = FILES};

static void make_source(void) {
    assert_int_equal(mkdir(scratch_path("source"), 0777), 0);
    scratch_write("source/a.bin", contents[0], 5);
    scratch_write("source/b.bin", contents[1], 10);
    for (size_t f = 0; f < FILES; f++) {
        lab_digest digest = lab_digest_begin(LAB_DIGEST_SHA256);
        lab_digest_add(&digest, contents[f], strlen(contents[f]));
        assert_int_equal(lab_digest_close(&digest, sums[f], NULL), LOCUS_OK);
    }
}

static void remove_files(const char *folder) {
    char name[32];
    for (size_t f = 0; f < FILES; f++) {
        snprintf(name, sizeof name, "%s/%s", folder, files[f].name);
        assert_int_equal(unlink(scratch_path(name)), 0);
    }
}

/* Into a folder that is made, or into one that is there. */
static void take_one_by_one(bool exists) {
    assert_true(!exists || mkdir(scratch_path("to"), 0777) == 0);
    const size_t before = scratch_count();
    locus_status status = LOCUS_ERROR_MEMORY;
    long fail = 0;
    for (; status != LOCUS_OK && fail < 500; fail++) {
        locus_error error = {0};
        allocator_arm(fail);
        status = lab_published_take(&set, scratch_path("source"), scratch_path("to"), NULL, &error);
        const bool failed = allocator_disarm();
        if (status != (failed ? LOCUS_ERROR_MEMORY : LOCUS_OK))
            fail_msg("allocation %ld: %d, %s", fail, (int)status, error.message);
        assert_int_equal(scratch_count(), before + (status == LOCUS_OK && !exists));
    }
    assert_true(status == LOCUS_OK && fail > 2);
    assert_int_equal(lab_published_check(&set, scratch_path("to"), NULL, NULL), LOCUS_OK);
    remove_files("to");
    assert_int_equal(rmdir(scratch_path("to")), 0);
}

static void published_files_fail(void **state) {
    (void)state;
    make_source();
    take_one_by_one(false);
    take_one_by_one(true);
    remove_files("source");
    assert_int_equal(rmdir(scratch_path("source")), 0);
}

/* One record in each file, at another side and at its own. */
static void images_fail(void **state) {
    static const uint8_t record[LAB_CIFAR10_RECORD] = {3, 200, 100};
    (void)state;
    for (size_t f = 0; f < lab_cifar10_published.file_count; f++)
        scratch_write(lab_cifar10_published.files[f].name, record, sizeof record);
    for (size_t side = 0; side <= 8; side += 8) {
        const lab_task *task = lab_task_find("cifar10");
        const lab_picture_options own = {.side = side};
        lab_task_options options = lab_task_with(task, &own);
        options.path = scratch_path("");
        bool failed = true;
        for (long fail = 0; failed; fail++) {
            const lab_draw draw = {task, &options, LAB_SET_TRAIN, 0, 0};
            lab_dataset images;
            locus_error error = {0};
            assert_true(fail < 500);
            allocator_arm(fail);
            const locus_status status = lab_dataset_generate(&images, &draw, &error);
            failed = allocator_disarm();
            if (status != (failed ? LOCUS_ERROR_MEMORY : LOCUS_OK))
                fail_msg("allocation %ld: %d, %s", fail, (int)status, error.message);
            assert_true(failed || (images.samples == 5 && images.images.labels[4] == 3));
            lab_dataset_destroy(&images);
        }
    }
}

static locus_status identity(const char *folder, uint64_t *digest, locus_error *error) {
    lab_train_config config;
    locus_status status = lab_train_config_budget(&config, lab_task_find("listops"), "smoke", LAB_SETUP_PAPER, error);
    if (status == LOCUS_OK)
        status = lab_train_config_pretrained(&config, folder, error);
    *digest = config.pretrained_digest;
    return status;
}

static void identity_fails(void **state) {
    static const char words[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n(\n)\n";
    uint64_t whole = 0, digest = 0;
    locus_error error = {0};
    (void)state;
    scratch_write("vocab.txt", words, strlen(words));
    const char *folder = bert_case_folder("plain");
    if (identity(folder, &whole, &error) != LOCUS_OK)
        fail_msg("%s", error.message);
    bool failed = true;
    for (long fail = 0; failed; fail++) {
        assert_true(fail < 5000);
        allocator_arm(fail);
        const locus_status status = identity(folder, &digest, &error);
        failed = allocator_disarm();
        if (status != LOCUS_OK ? status != LOCUS_ERROR_MEMORY : digest != whole)
            fail_msg("allocation %ld: %d, %s", fail, (int)status, error.message);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_files_fail),
        cmocka_unit_test(images_fail),
        cmocka_unit_test(identity_fails),
    };
    return cmocka_run_group_tests(tests, scratch_create, scratch_remove);
}
