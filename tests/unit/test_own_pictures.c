/* SPDX-License-Identifier: MIT */
/* Labelled pictures of one's own: classes and files in the order of their names, sets that part the folder and are the
 * same for the same seed, folders for each set, files that sets share, a digest of names and bytes, names that are kept
 * and recalled, files that change while the process lasts, and each way in which a folder can be wrong. */
#define _XOPEN_SOURCE 700 /* nftw */
#include "task/images/own_pictures.h"
#include "task/images/picture_input.h"
#include "task/images/picture_options.h"
#include "task/images/picture_pixels.h"
#include "task/task_class.h"

#include <errno.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "unit/scratch_folder.h"

/* ---- files ---- */

static int drop(const char *path, const struct stat *found, int kind, struct FTW *where) {
    (void)found, (void)kind, (void)where;
    return remove(path);
}

/* The scratch folder is removed with the files in it, not with folders. */
static void clear(const char *name) {
    (void)nftw(scratch_path(name), drop, 8, FTW_DEPTH | FTW_PHYS);
}

static void make_folder(const char *name) {
    if (mkdir(scratch_path(name), 0700) != 0)
        assert_int_equal(errno, EEXIST);
}

/* A picture of 2 × 1 pixels of one colour. */
static void put(const char *name, uint8_t red, uint8_t green, uint8_t blue) {
    char text[64];
    const int head = snprintf(text, sizeof text, "P6 2 1 255\n");
    const uint8_t pixels[6] = {red, green, blue, red, green, blue};
    memcpy(text + head, pixels, sizeof pixels);
    scratch_write(name, text, (size_t)head + sizeof pixels);
}

static void make_pair(void) {
    clear("f");
    make_folder("f");
    make_folder("f/dog");
    make_folder("f/cat");
    put("f/dog/b.ppm", 1, 2, 3);
    put("f/dog/a.ppm", 4, 5, 6);
    put("f/cat/z.ppm", 7, 8, 9);
    put("f/.hidden", 0, 0, 0);
    put("f/cat/.hidden", 0, 0, 0);
    scratch_write("f/README", "no folder", 9);
}

static lab_task_options options_of(const char *data, const char *dev, const char *test) {
    lab_task_options options = lab_task_with(lab_task_find("images"), &(lab_picture_options){.side = 5});
    options.path = data;
    options.dev = dev;
    options.test = test;
    return options;
}

static locus_status draw(lab_dataset *set, const lab_task_options *options, lab_set which, uint64_t seed,
                         locus_error *error) {
    const lab_draw wanted = {lab_task_find("images"), options, which, 0, seed};
    return lab_dataset_generate(set, &wanted, error);
}

static lab_dataset drawn(const lab_task_options *options, lab_set which, uint64_t seed) {
    lab_dataset set;
    locus_error error = {0};
    if (draw(&set, options, which, seed, &error) != LOCUS_OK)
        fail_msg("%s", error.message);
    return set;
}

static uint64_t digest_of(const lab_task_options *options) {
    lab_class_facts facts;
    locus_error error = {0};
    if (lab_pictures_look(options, 0, &facts, &error) != LOCUS_OK)
        fail_msg("%s", error.message);
    lab_class_facts_free(&facts);
    return facts.digest;
}

/* ---- sets ---- */

static void test_order(void **state) {
    (void)state;
    char folder[512];
    make_pair();
    snprintf(folder, sizeof folder, "%s", scratch_path("f"));
    const lab_task_options options = options_of(folder, folder, folder);
    lab_dataset set = drawn(&options, LAB_SET_TRAIN, 0);
    assert_true(set.samples == 3 && set.images.count == 3 && set.images.classes == 2 && set.images.side == 5);
    assert_string_equal(set.images.class_names[0], "cat");
    assert_string_equal(set.images.class_names[1], "dog");
    static const uint8_t red[] = {7, 4, 1}, labels[] = {0, 1, 1};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(set.images.labels[i], labels[i]);
        for (size_t p = 0; p < 75; p++) /* planes of 25 pixels */
            assert_int_equal(set.images.pixels[75 * i + p], red[i] + p / 25);
    }
    lab_dataset_destroy(&set);
    lab_class_facts facts;
    assert_int_equal(lab_pictures_look(&options, 0, &facts, NULL), LOCUS_OK);
    assert_true(facts.of_class[LAB_SET_DEV][1] == 2 && facts.shared[LAB_SET_TEST] == 3 && facts.digest != 0);
    lab_class_facts_free(&facts);
    const lab_draw wanted = {lab_task_find("images"), &options, LAB_SET_TEST, 0, 0};
    char **paths;
    size_t count;
    assert_int_equal(lab_pictures_paths(&wanted, &paths, &count, NULL), LOCUS_OK);
    assert_int_equal(count, 3);
    assert_non_null(strstr(paths[1], "f/dog/a.ppm"));
    for (size_t i = 0; i < count; i++)
        free(paths[i]);
    free(paths);
}

static void test_split(void **state) {
    (void)state;
    char name[64], folder[512];
    clear("many");
    make_folder("many");
    make_folder("many/a");
    make_folder("many/b");
    for (unsigned i = 0; i < 40; i++) {
        snprintf(name, sizeof name, "many/%c/%02u.ppm", i % 2 ? 'a' : 'b', i);
        put(name, (uint8_t)i, 0, 0);
    }
    snprintf(folder, sizeof folder, "%s", scratch_path("many"));
    const lab_task_options options = options_of(folder, NULL, NULL);
    bool differs = false, seen[40] = {false};
    static const size_t sizes[] = {32, 4, 4};
    for (int s = 0; s < 3; s++) {
        lab_dataset set = drawn(&options, (lab_set)s, 5), again = drawn(&options, (lab_set)s, 5);
        lab_dataset other = drawn(&options, (lab_set)s, 6);
        assert_int_equal(set.images.count, sizes[s]);
        assert_memory_equal(set.images.pixels, again.images.pixels, 75 * sizes[s]);
        differs = differs || memcmp(set.images.pixels, other.images.pixels, 75 * sizes[s]) != 0;
        for (size_t i = 0; i < sizes[s]; i++) {
            assert_false(seen[set.images.pixels[75 * i]]); /* no picture is in two sets */
            seen[set.images.pixels[75 * i]] = true;
        }
        lab_dataset_destroy(&set);
        lab_dataset_destroy(&again);
        lab_dataset_destroy(&other);
    }
    assert_true(differs);
    clear("many");
}

/* The digest follows names and bytes, and what is in memory the files. */
static void test_changes(void **state) {
    (void)state;
    char folder[512];
    make_pair();
    snprintf(folder, sizeof folder, "%s", scratch_path("f"));
    lab_task_options options = options_of(folder, folder, folder);
    const uint64_t before = digest_of(&options);
    assert_int_equal(digest_of(&options), before);
    /* By hashlib: of each set's files in their order the set's number, class and name with the zeros that end them, and
     * the first 8 bytes of the file's SHA-256, the last of them first; of all that SHA-256's first 8 bytes. */
    assert_true(before == UINT64_C(0x561e14835a6db3ae));
    LAB_PICTURES(&options)->side = 6; /* is no other data */
    assert_int_equal(digest_of(&options), before);
    options.digest = before;
    lab_dataset set = drawn(&options, LAB_SET_TRAIN, 0);
    lab_dataset_destroy(&set);
    put("f/cat/z.ppm", 70, 8, 9);
    locus_error error = {0};
    assert_int_equal(draw(&set, &options, LAB_SET_TRAIN, 0, &error), LOCUS_ERROR_IO);
    assert_non_null(strstr(error.message, "holds other samples than the run was made for"));
    options.digest = 0;
    set = drawn(&options, LAB_SET_TRAIN, 0);
    assert_int_equal(set.images.pixels[0], 70);
    lab_dataset_destroy(&set);
    assert_int_equal(rename(scratch_path("f/dog/a.ppm"), scratch_path("f/dog/c.ppm")), 0);
    assert_int_not_equal(digest_of(&options), before);
    lab_picture_pixels_forget();
}

static void test_kept(void **state) {
    (void)state;
    char folder[512], kept[512], test[512];
    make_pair();
    clear("t");
    make_folder("t");
    make_folder("t/dog");
    put("t/dog/new.ppm", 9, 9, 9);
    snprintf(folder, sizeof folder, "%s", scratch_path("f"));
    snprintf(test, sizeof test, "%s", scratch_path("t"));
    snprintf(kept, sizeof kept, "%s", scratch_path("."));
    const lab_task_options options = options_of(folder, folder, folder);
    lab_task_options alone = options_of(NULL, NULL, test);
    alone.kept = kept;
    assert_int_equal(lab_pictures_keep(&options, 0, kept, NULL), LOCUS_OK);
    lab_dataset set = drawn(&alone, LAB_SET_TEST, 0);
    assert_true(set.images.count == 1 && set.images.labels[0] == 1 && set.images.classes == 2);
    lab_dataset_destroy(&set);
    locus_error error = {0};
    scratch_write("vocabulary.json", "{\"classes\": [\"a\"]}", 18);
    assert_int_equal(draw(&set, &alone, LAB_SET_TEST, 0, &error), LOCUS_ERROR_IO);
    assert_non_null(strstr(error.message, "is no list of classes"));
    static const size_t counts[] = {1, 2, LAB_PICTURE_MOST_CLASSES, LAB_PICTURE_MOST_CLASSES + 1};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        char list[8 * (LAB_PICTURE_MOST_CLASSES + 4)] = "{\"classes\": [";
        for (size_t c = 0; c < counts[i]; c++) {
            const size_t used = strlen(list);
            snprintf(list + used, sizeof list - used, "%s\"c%zu\"", c > 0 ? "," : "", c);
        }
        strcat(list, "]}");
        scratch_write("vocabulary.json", list, strlen(list));
        lab_word_index classes = {0};
        assert_int_equal(lab_pictures_recall(&classes, kept, NULL),
                         counts[i] >= 2 && counts[i] <= LAB_PICTURE_MOST_CLASSES ? LOCUS_OK : LOCUS_ERROR_IO);
        lab_word_index_free(&classes);
    }
    clear("t");
}

/* ---- what is wrong ---- */

static void expect_failure(const lab_task_options *options, const char *says) {
    lab_dataset set;
    locus_error error = {0};
    assert_int_equal(draw(&set, options, LAB_SET_TRAIN, 0, &error), LOCUS_ERROR_IO);
    assert_null(strchr(error.message, '\n'));
    if (strstr(error.message, says) == NULL)
        fail_msg("'%s' does not say '%s'", error.message, says);
}

static void test_wrong(void **state) {
    (void)state;
    char folder[512], other[512];
    clear("g");
    make_folder("g");
    snprintf(folder, sizeof folder, "%s", scratch_path("f"));
    snprintf(other, sizeof other, "%s", scratch_path("g"));
    lab_task_options options = options_of(folder, folder, folder), wrong = options_of(other, other, other);
    expect_failure(&wrong, "g' has no folders with pictures");
    make_folder("g/dog");
    expect_failure(&wrong, "g/dog' has no picture in it");
    put("g/dog/a.ppm", 1, 1, 1);
    expect_failure(&wrong, "g' has one class alone, 'dog'");
    make_folder("g/wolf");
    put("g/wolf/a.ppm", 1, 1, 1);
    make_pair();
    options.test = other;
    expect_failure(&options, "g/wolf': the training set has no class 'wolf'");
    make_folder("g/wolf/more");
    expect_failure(&wrong, "g/wolf/more' is no file: the folder of a class holds pictures alone");
    clear("g/wolf/more");
    scratch_write("g/wolf/b.ppm", "P6 9 9 255\n", 11);
    expect_failure(&wrong, "g/wolf/b.ppm' is cut");
    scratch_write("g/dog/b.txt", "text", 4); /* the first one is told */
    expect_failure(&wrong, "g/dog/b.txt' is neither a PNG, JPEG nor PPM or PGM picture");
    scratch_write("g/dog/b.txt", "", 0);
    expect_failure(&wrong, "g/dog/b.txt' is empty");
    wrong.path = wrong.dev = wrong.test = scratch_path("g/dog/a.ppm");
    expect_failure(&wrong, "is no folder");
    wrong.path = wrong.dev = wrong.test = scratch_path("nowhere");
    expect_failure(&wrong, "nowhere': No such file");
    lab_dataset set;
    locus_error error = {0};
    options = options_of(NULL, NULL, NULL);
    assert_int_equal(draw(&set, &options, LAB_SET_TRAIN, 0, &error), LOCUS_ERROR_ARGUMENT);
    options = options_of(folder, NULL, NULL);
    assert_int_equal(draw(&set, &options, LAB_SET_TRAIN, 0, &error), LOCUS_OK); /* three pictures, a set each */
    assert_int_equal(set.images.count, 1);
    lab_dataset_destroy(&set);
    clear("g");
    clear("f");
    lab_picture_pixels_forget();
}

/* As many pictures as there are, as many classes as a byte tells apart. */
static void test_bounds(void **state) {
    (void)state;
    char folder[512], says[700];
    make_pair();
    snprintf(folder, sizeof folder, "%s", scratch_path("f"));
    const lab_task_options options = options_of(folder, folder, folder);
    for (size_t n = 1; n <= 4; n++) {
        const lab_draw wanted = {lab_task_find("images"), &options, LAB_SET_DEV, n, 0};
        lab_dataset set;
        locus_error error = {0};
        assert_int_equal(lab_dataset_generate(&set, &wanted, &error), n <= 3 ? LOCUS_OK : LOCUS_ERROR_ARGUMENT);
        assert_string_equal(error.message, n <= 3 ? "" : "4 pictures are asked for, the set has 3");
        assert_string_equal(error.argument, n <= 3 ? "" : "n");
        assert_int_equal(set.images.count, n <= 3 ? n : 0);
        lab_dataset_destroy(&set);
    }
    clear("g");
    make_folder("g");
    snprintf(folder, sizeof folder, "%s", scratch_path("g"));
    for (size_t i = 0; i <= LAB_PICTURE_MOST_CLASSES; i++) {
        char name[64];
        snprintf(name, sizeof name, "g/%zu", i);
        make_folder(name);
        snprintf(name, sizeof name, "g/%zu/a.ppm", i);
        put(name, 1, 2, 3);
        if (i + 1 < LAB_PICTURE_MOST_CLASSES)
            continue;
        lab_picture_files files = {0};
        lab_word_index classes = {0};
        locus_error error = {0};
        snprintf(says, sizeof says, "'%s' has more than 256 folders of classes", folder);
        const bool good = i + 1 == LAB_PICTURE_MOST_CLASSES;
        assert_int_equal(lab_picture_files_read(&files, &classes, folder, LAB_SET_TRAIN, &error),
                         good ? LOCUS_OK : LOCUS_ERROR_IO);
        assert_string_equal(error.message, good ? "" : says);
        lab_picture_files_free(&files);
        lab_word_index_free(&classes);
    }
    clear("g");
    clear("f");
    lab_picture_pixels_forget();
}

/* A picture by itself: brought to the side of the training, or refused where that has one of its own. */
static void test_one(void **state) {
    (void)state;
    static const size_t sides[] = {1, 2, 32}; /* too wide; too low; neither */
    uint8_t planes[3 * 32 * 32];
    char path[600], says[800];
    lab_dataset set;
    locus_error error = {0};
    put("one.ppm", 4, 5, 6);
    snprintf(path, sizeof path, "%s", scratch_path("one.ppm"));
    for (size_t i = 0; i < 3; i++) {
        snprintf(says, sizeof says, "'%s' is 2×1 pixels: scale or cut it to the %zu×%zu that the model was trained on",
                 path, sides[i], sides[i]);
        assert_int_equal(lab_picture_planes(path, sides[i], false, planes, &error), LOCUS_ERROR_IO);
        assert_string_equal(error.message, says);
    }
    const lab_task *cifar = lab_task_find("cifar10"), *images = lab_task_find("images");
    const lab_task_options options = options_of(NULL, NULL, NULL);
    assert_int_equal(lab_picture_input(&set, cifar, &options, path, &error), LOCUS_ERROR_IO);
    assert_string_equal(error.message, says);
    lab_dataset_destroy(&set);
    assert_int_equal(lab_picture_input(&set, images, &options, path, &error), LOCUS_OK);
    assert_true(set.samples == 1 && set.images.count == 1 && set.images.channels == 3 && set.images.side == 5);
    assert_int_equal(set.images.labels[0], 0);
    for (size_t i = 0; i < 75; i++)
        assert_int_equal(set.images.pixels[i], 4 + i / 25);
    lab_dataset_destroy(&set);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one),     cmocka_unit_test(test_order), cmocka_unit_test(test_split),
        cmocka_unit_test(test_changes), cmocka_unit_test(test_kept),  cmocka_unit_test(test_wrong),
        cmocka_unit_test(test_bounds),
    };
    return cmocka_run_group_tests(tests, scratch_create, scratch_remove);
}
