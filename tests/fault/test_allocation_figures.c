/* SPDX-License-Identifier: MIT */
/* Every allocation of a figure fails once, one after another: either it is told as MEMORY and no file is made, or the
 * figure is the same to the byte. */
#include "figures/figure.h"
#include "io/file.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "failing_allocator.h"
#include "unit/scratch_folder.h"

typedef locus_status draw_function(const char *path, locus_error *error);

/* A path on a grid. */
static locus_status draw_group(const char *path, locus_error *error) {
    locus_group *group = NULL;
    locus_path *from = NULL, *to = NULL;
    locus_status status = locus_group_parse("grid:2", &group, error);
    if (status == LOCUS_OK)
        status = locus_path_parse(group, "(0,1)", &from, error);
    if (status == LOCUS_OK)
        status = locus_path_parse(group, "(3,-1)", &to, error);
    if (status == LOCUS_OK)
        status = lab_figure_group(group, from, to, path, error);
    locus_path_destroy(&from);
    locus_path_destroy(&to);
    locus_group_destroy(&group);
    return status;
}

/* Four elements of a group: a curve, a ring of discs, fields, a torus, a tube, trees. */
#define DEEP "1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1"
static const char *const scenes[][5] = {
    {"seq", "0", "1", "2", "3"},
    {"cycle:8", "0", "1", "2", "3"},
    {"grid:2", "(0,0)", "(0,1)", "(1,0)", "(2,2)"},
    {"cycle:3*cycle:4", "(0,0)", "(0,1)", "(1,0)", "(2,3)"},
    {"seq*cycle:4", "(0,0)", "(0,1)", "(1,0)", "(2,3)"},
    {"tree:2", "1", "2", "1+2", "2+1"},
    {"tree:2", "1", "2", DEEP "+" DEEP "+" DEEP, "2+1"}, /* more nodes than there is room for at first */
};
static const char *const *scene;

static locus_status draw_similarity(const char *path, locus_error *error) {
    enum { COUNT = 4 };
    double values[2 * COUNT] = {1, 0.5, 0.25, 0.125, 0.1, 0.2, 0.1, 0};
    const lab_similarity similarity = {.count = COUNT, .mean = values, .deviation = values + COUNT};
    locus_group *group = NULL;
    locus_path *paths[COUNT] = {NULL};
    locus_status status = locus_group_parse(scene[0], &group, error);
    for (size_t i = 0; i < COUNT && status == LOCUS_OK; i++)
        status = locus_path_parse(group, scene[1 + i], &paths[i], error);
    if (status == LOCUS_OK)
        status = lab_figure_similarity(&similarity, (const locus_path *const *)paths, paths[0], "rope", path, error);
    for (size_t i = 0; i < COUNT; i++)
        locus_path_destroy(&paths[i]);
    locus_group_destroy(&group);
    return status;
}

static char *content(const char *path) {
    char *text = NULL;
    size_t bytes;
    return lab_file_read(path, &text, &bytes, NULL) == LOCUS_OK ? text : NULL;
}

static void fail_one_by_one(draw_function *draw) {
    const char *path = scratch_path("figure.svg");
    locus_error error = {0};
    assert_int_equal(draw(path, &error), LOCUS_OK);
    char *whole = content(path);
    assert_non_null(whole);
    bool failed = true;
    long n = 0;
    for (; failed; n++) {
        unlink(path);
        const size_t files = scratch_count();
        allocator_arm(n);
        const locus_status status = draw(path, &error);
        failed = allocator_disarm();
        char *drawn = content(path);
        if (status == LOCUS_OK && (!drawn || strcmp(drawn, whole) != 0))
            fail_msg("allocation %ld: another figure", n);
        if (status != LOCUS_OK && status != LOCUS_ERROR_MEMORY)
            fail_msg("allocation %ld: %s", n, error.message);
        if (status != LOCUS_OK)
            assert_int_equal(scratch_count(), files);
        free(drawn);
    }
    assert_true(n > 10);
    free(whole);
}

static void a_group_is_drawn_whole_or_not(void **state) {
    (void)state;
    fail_one_by_one(draw_group);
}

static void similarities_are_drawn_whole_or_not(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
        scene = scenes[i];
        fail_one_by_one(draw_similarity);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_group_is_drawn_whole_or_not),
                                       cmocka_unit_test(similarities_are_drawn_whole_or_not)};
    return cmocka_run_group_tests(tests, scratch_create, scratch_remove);
}
