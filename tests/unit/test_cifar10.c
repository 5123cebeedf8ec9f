/* SPDX-License-Identifier: MIT */
/* The reader of CIFAR-10: folders and archives give the same bytes, what is cut or bent is named. With LOCUS_CIFAR10
 * (a folder or an archive) in the environment the real images are measured, too. */
#include "model/architecture.h"
#include "task/images/cifar10.h"
#include "task/task_class.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "unit/scratch_folder.h"
#include "unit/tar_file.h"

enum { FILES = 6, RECORD = LAB_CIFAR10_RECORD, PIXELS = RECORD - 1, MOST = 100 };

/* Records of each file; one of them more than what the reader takes at once. */
static const size_t counts[FILES] = {2, 70, 1, 4, 3, 5};
static uint8_t content[FILES][MOST * RECORD];

static const char *file_name(size_t file) {
    return lab_cifar10_published.files[file].name;
}

static uint8_t label_of(size_t file, size_t record) {
    return (uint8_t)((3 * file + 7 * record) % 10);
}

static uint8_t pixel_of(size_t file, size_t record, size_t pixel) {
    uint32_t mixed =
        (uint32_t)((file * MOST + record) * PIXELS + pixel) * 2654435761u; /* no packer finds a rule in it */
    mixed = (mixed ^ mixed >> 15) * 2246822519u;
    return (uint8_t)(mixed >> 24);
}

static void fill(void) {
    for (size_t f = 0; f < FILES; f++)
        for (size_t r = 0; r < counts[f]; r++) {
            content[f][r * RECORD] = label_of(f, r);
            for (size_t p = 0; p < PIXELS; p++)
                content[f][r * RECORD + 1 + p] = pixel_of(f, r, p);
        }
}

/* The six files in a new folder. */
static void make_folder(const char *name) {
    char path[128];
    assert_int_equal(mkdir(scratch_path(name), 0777), 0);
    for (size_t f = 0; f < FILES; f++) {
        snprintf(path, sizeof path, "%s/%s", name, file_name(f));
        scratch_write(path, content[f], counts[f] * RECORD);
    }
}

static locus_status generate(lab_dataset *set, const char *path, lab_set which, size_t samples, locus_error *error) {
    const lab_task *task = lab_task_find("cifar10");
    assert_non_null(task);
    assert_ptr_equal(task->class->architecture, &lab_image_classifier);
    lab_task_options options = lab_task_default(task);
    options.path = path;
    const lab_draw draw = {task, &options, which, samples, 0};
    return lab_dataset_generate(set, &draw, error);
}

/* The set holds the records of files [first, end) up to `samples`. */
static void check_images(const lab_dataset *set, size_t first, size_t end, size_t samples) {
    size_t i = 0;
    assert_int_equal(set->samples, samples);
    assert_int_equal(set->images.count, samples);
    assert_int_equal(set->images.channels, 3);
    assert_int_equal(set->images.side, 32);
    assert_int_equal(set->images.classes, 10);
    assert_string_equal(set->images.class_names[0], "airplane");
    assert_string_equal(set->images.class_names[9], "truck");
    assert_null(set->input);
    for (size_t f = first; f < end; f++)
        for (size_t r = 0; r < counts[f] && i < samples; r++, i++) {
            assert_int_equal(set->images.labels[i], label_of(f, r));
            assert_memory_equal(set->images.pixels + i * PIXELS, content[f] + r * RECORD + 1, PIXELS);
        }
    assert_int_equal(i, samples);
}

static void check_all_sets(const char *path) {
    lab_dataset set;
    locus_error error = {0};
    if (generate(&set, path, LAB_SET_TRAIN, 0, &error) != LOCUS_OK)
        fail_msg("%s", error.message);
    check_images(&set, 0, 5, 80);
    lab_dataset_destroy(&set);
    for (lab_set which = LAB_SET_DEV; which <= LAB_SET_TEST; which++) {
        assert_int_equal(generate(&set, path, which, 0, &error), LOCUS_OK);
        check_images(&set, 5, 6, 5);
        assert_true(fabs(lab_dataset_chance(&set, 0) - 0.2) < 1e-12);
        lab_dataset_destroy(&set);
    }
}

static void folders_are_read(void **state) {
    (void)state;
    make_folder("plain");
    check_all_sets(scratch_path("plain"));
    assert_int_equal(mkdir(scratch_path("outer"), 0777), 0);
    make_folder("outer/cifar-10-batches-bin");
    check_all_sets(scratch_path("outer"));
}

/* In the public archive's order, with what else it holds, and in others. */
static void archives_give_the_same(void **state) {
    static const size_t orders[][FILES] = {
        {0, 2, 3, 5, 4, 1}, {0, 1, 2, 3, 4, 5}, {5, 4, 3, 2, 1, 0}, {1, 4, 0, 5, 3, 2}};
    (void)state;
    for (size_t o = 0; o < sizeof orders / sizeof *orders; o++) {
        tar_member members[FILES + 3] = {{"cifar-10-batches-bin/", NULL, 0, NULL},
                                         {"cifar-10-batches-bin/readme.html", "hello", 5, NULL},
                                         {"cifar-10-batches-bin/test_batch.bin.link", NULL, 0, "/etc/passwd"}};
        char names[FILES][96];
        for (size_t i = 0; i < FILES; i++) {
            size_t f = orders[o][i];
            snprintf(names[i], sizeof names[i], "cifar-10-batches-bin/%s", file_name(f));
            members[3 + i] = (tar_member){names[i], content[f], counts[f] * RECORD, NULL};
        }
        for (tar_filter filter = TAR_PLAIN; filter <= TAR_XZ; filter++) {
            tar_write(scratch_path("archive"), filter, members, FILES + 3);
            check_all_sets(scratch_path("archive"));
        }
    }
}

static void the_first_of_a_set(void **state) {
    static const size_t sizes[] = {1, 2, 3, 72, 79, 80};
    lab_dataset set;
    locus_error error = {0};
    (void)state;
    make_folder("first");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        assert_int_equal(generate(&set, scratch_path("first"), LAB_SET_TRAIN, sizes[i], &error), LOCUS_OK);
        check_images(&set, 0, 5, sizes[i]);
        lab_dataset_destroy(&set);
    }
    assert_int_equal(generate(&set, scratch_path("first"), LAB_SET_TRAIN, 81, &error), LOCUS_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "81 training images were asked for, there are 80"));
    assert_int_equal(generate(&set, scratch_path("first"), LAB_SET_TEST, 6, &error), LOCUS_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "there are 5"));
    assert_null(set.images.pixels);
}

static void expect_failure(const char *path, lab_set which, const char *part, const char *other) {
    lab_dataset set;
    locus_error error = {0};
    assert_int_equal(generate(&set, path, which, 0, &error), LOCUS_ERROR_IO);
    assert_null(set.images.pixels);
    assert_null(set.images.labels);
    if (!strstr(error.message, part) || !strstr(error.message, other))
        fail_msg("expected '%s' and '%s' in: %s", part, other, error.message);
}

static void what_is_cut_is_named(void **state) {
    static const size_t sizes[] = {0, 1, RECORD - 1, RECORD + 1, 2 * RECORD - 1};
    char size[200];
    (void)state;
    make_folder("cut");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        scratch_write("cut/data_batch_4.bin", content[3], sizes[i]);
        snprintf(size, sizeof size,
                 "is truncated: %zu bytes are not whole records of 3073 (the public file has 30730000); fetch it again "
                 "with 'locus data get cifar10'",
                 sizes[i]);
        expect_failure(scratch_path("cut"), LAB_SET_TRAIN, "cut/data_batch_4.bin", size);
    }
    lab_dataset set; /* the other set does not need it */
    assert_int_equal(generate(&set, scratch_path("cut"), LAB_SET_TEST, 0, NULL), LOCUS_OK);
    lab_dataset_destroy(&set);
    assert_int_equal(remove(scratch_path("cut/data_batch_4.bin")), 0);
    expect_failure(scratch_path("cut"), LAB_SET_TRAIN, "cannot read", "cut/data_batch_4.bin");
    scratch_write("cut/test_batch.bin", content[5], RECORD + 7);
    expect_failure(scratch_path("cut"), LAB_SET_DEV, "cut/test_batch.bin", "30730000");
}

static void labels_are_checked(void **state) {
    (void)state;
    make_folder("label");
    uint8_t kept = content[1][69 * RECORD];
    content[1][69 * RECORD] = 10;
    scratch_write("label/data_batch_2.bin", content[1], counts[1] * RECORD);
    content[1][69 * RECORD] = kept;
    expect_failure(scratch_path("label"), LAB_SET_TRAIN, "label/data_batch_2.bin",
                   "has the label 10 in record 69 (counted from 0); labels are 0 to 9");
}

static void what_is_missing_is_named(void **state) {
    const tar_member one[] = {{"x/data_batch_1.bin", content[0], RECORD, NULL},
                              {"y/data_batch_1.bin", content[0], RECORD, NULL}};
    (void)state;
    expect_failure(scratch_path("nowhere"), LAB_SET_TRAIN, "nowhere", "locus data get cifar10");
    assert_int_equal(mkdir(scratch_path("empty"), 0777), 0);
    expect_failure(scratch_path("empty"), LAB_SET_TEST, "/empty'", "--data");
    scratch_write("text", "no archive at all", 17);
    expect_failure(scratch_path("text"), LAB_SET_TEST, "/text'", "no tar archive");
    scratch_write("nothing", "", 0);
    expect_failure(scratch_path("nothing"), LAB_SET_TEST, "/nothing'", "archive");
    tar_write(scratch_path("one"), TAR_PLAIN, one, 1);
    expect_failure(scratch_path("one"), LAB_SET_TRAIN, "/one'", "holds no data_batch_2.bin");
    tar_write(scratch_path("two"), TAR_PLAIN, one, 2);
    expect_failure(scratch_path("two"), LAB_SET_TRAIN, "/two'", "holds data_batch_1.bin twice");
}

/* Cut anywhere, an archive is refused, or still has what the set needs. */
static void cut_archives(void **state) {
    tar_member members[FILES];
    static char bytes[(size_t)8 << 20];
    (void)state;
    for (size_t f = 0; f < FILES; f++)
        members[f] = (tar_member){file_name(f), content[f], counts[f] * RECORD, NULL};
    for (tar_filter filter = TAR_PLAIN; filter <= TAR_XZ; filter++) {
        tar_write(scratch_path("whole"), filter, members, FILES);
        FILE *file = fopen(scratch_path("whole"), "rb");
        assert_non_null(file);
        size_t size = fread(bytes, 1, sizeof bytes, file), refused = 0;
        fclose(file);
        assert_in_range(size, 1000, sizeof bytes - 1);
        for (size_t i = 0; i < 40; i++) {
            lab_dataset set;
            locus_error error = {0};
            scratch_write("part", bytes, size * i / 40);
            if (generate(&set, scratch_path("part"), LAB_SET_TRAIN, 0, &error) == LOCUS_OK) {
                check_images(&set, 0, 5, 80);
                lab_dataset_destroy(&set);
            } else {
                refused++;
                assert_non_null(strstr(error.message, "/part"));
            }
        }
        assert_in_range(refused, 20, 40);
    }
}

static void real_images(void **state) {
    static const double means[] = {0.49140, 0.48216, 0.44653}, deviations[] = {0.24703, 0.24349, 0.26159};
    const char *path = getenv("LOCUS_CIFAR10");
    lab_dataset set;
    locus_error error = {0};
    (void)state;
    if (path == NULL || *path == '\0')
        skip();
    if (generate(&set, path, LAB_SET_TRAIN, 0, &error) != LOCUS_OK)
        fail_msg("%s", error.message);
    assert_int_equal(set.samples, 50000);
    assert_true(fabs(lab_dataset_chance(&set, 0) - 0.1) < 1e-12);
    for (size_t c = 0; c < 3; c++) {
        double sum = 0, squares = 0, n = 50000.0 * 1024;
        for (size_t i = 0; i < set.samples; i++)
            for (size_t p = 0; p < 1024; p++) {
                double value = set.images.pixels[(i * 3 + c) * 1024 + p];
                sum += value;
                squares += value * value;
            }
        assert_true(fabs(sum / n / 255 - means[c]) < 5e-6);
        assert_true(fabs(sqrt(squares / n - sum / n * (sum / n)) / 255 - deviations[c]) < 5e-6);
    }
    lab_dataset_destroy(&set);
    assert_int_equal(generate(&set, path, LAB_SET_TEST, 0, &error), LOCUS_OK);
    assert_int_equal(set.samples, 10000);
    lab_dataset_destroy(&set);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folders_are_read),   cmocka_unit_test(archives_give_the_same),
        cmocka_unit_test(the_first_of_a_set), cmocka_unit_test(what_is_cut_is_named),
        cmocka_unit_test(labels_are_checked), cmocka_unit_test(what_is_missing_is_named),
        cmocka_unit_test(cut_archives),       cmocka_unit_test(real_images),
    };
    fill();
    return cmocka_run_group_tests(tests, scratch_create, scratch_remove);
}
