/* SPDX-License-Identifier: MIT */
/* Positions as one writes them: every form on every group, what is read of it to the last digit, and every refusal
 * word for word. */
#include "bound/position_text.h"
#include "io/npy.h"
#include "unit/scratch_folder.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- what is expected ---- */

enum { MOST_TEXT = 1024 };

static const char *status_name(locus_status status) {
    return status == LOCUS_ERROR_ARGUMENT   ? "ARGUMENT"
           : status == LOCUS_ERROR_IO       ? "IO"
           : status == LOCUS_ERROR_SPEC     ? "SPEC"
           : status == LOCUS_ERROR_POSITION ? "POSITION"
                                            : "another status";
}

/* "1 2", "(0,1) (2,3)"; behind real ones a point each: "0.5. 1."; paths in their normal form, behind a "/" each. */
static void describe(const lab_position_list *list, char *text) {
    const size_t coordinates = locus_group_coordinates(list->group);
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < list->count; i++) {
        used += (size_t)snprintf(text + used, MOST_TEXT - used, "%s", i > 0 ? " " : "");
        if (list->paths) {
            used += locus_path_text(list->paths[i], text + used, MOST_TEXT - used);
            used += (size_t)snprintf(text + used, MOST_TEXT - used, "/");
            continue;
        }
        for (size_t c = 0; c < coordinates; c++) {
            const char *before = coordinates == 1 ? "" : c == 0 ? "(" : ",";
            if (list->reals)
                used += (size_t)snprintf(text + used, MOST_TEXT - used, "%s%.17g.", before,
                                         list->reals[i * coordinates + c]);
            else
                used += (size_t)snprintf(text + used, MOST_TEXT - used, "%s%" PRId64, before,
                                         list->values[i * coordinates + c]);
        }
        used += (size_t)snprintf(text + used, MOST_TEXT - used, "%s", coordinates == 1 ? "" : ")");
    }
}

/* What is read of a text, or "STATUS message", and "@offset+length" behind it where it has a place. */
static void expect(const char *group_text, const char *text, const char *wanted) {
    char found[2 * MOST_TEXT];
    locus_error error = {.offset = -1};
    locus_group *group = NULL;
    lab_position_list list;
    assert_int_equal(locus_group_parse(group_text, &group, &error), LOCUS_OK);
    const locus_status status = lab_position_list_parse(&list, group, "at", text, &error);
    if (status == LOCUS_OK) {
        assert_int_equal((list.values != NULL) + (list.reals != NULL) + (list.paths != NULL), 1);
        describe(&list, found);
    } else {
        assert_true(list.values == NULL && list.reals == NULL && list.paths == NULL && list.count == 0);
        assert_int_equal(error.status, status);
        snprintf(found, sizeof found, "%s %s", status_name(status), error.message);
        if (error.offset >= 0)
            snprintf(found + strlen(found), sizeof found - strlen(found), " @%td+%zu", error.offset, error.length);
        assert_int_equal(lab_position_list_parse(&list, group, "at", text, NULL), status);
    }
    if (strcmp(found, wanted) != 0)
        fail_msg("%s at %s:\n%s\nwanted:\n%s", group_text, text, found, wanted);
    lab_position_list_free(&list);
    locus_group_destroy(&group);
}

typedef struct case_of {
    const char *group, *text, *wanted;
} case_of;

static void expect_all(const case_of *cases, size_t count) {
    for (size_t i = 0; i < count; i++)
        expect(cases[i].group, cases[i].text, cases[i].wanted);
}
#define EXPECT(cases) expect_all(cases, sizeof(cases) / sizeof *(cases))

/* ---- ranges, boxes, lists ---- */

static void ranges(void **state) {
    (void)state;
    static const case_of cases[] = {
        {"seq", "0:1", "0"},
        {"seq", "0:3", "0 1 2"},
        {"seq", "-2:1", "-2 -1 0"},
        {"cycle:3", "-1:4", "-1 0 1 2 3"},
        {"seq", "-2305843009213693952:-2305843009213693950", "-2305843009213693952 -2305843009213693951"},
        {"seq", "2305843009213693950:2305843009213693951", "2305843009213693950"},
        {"seq", "0:0",
         "ARGUMENT --at 0:0: the range is empty; it goes from its first number up to, without, its second"},
        {"seq", "3:2",
         "ARGUMENT --at 3:2: the range is empty; it goes from its first number up to, without, its second"},
        {"seq", "0:1073741825", "ARGUMENT --at 0:1073741825: more than 1073741824 positions"},
        {"seq", "-2305843009213693953:-2305843009213693950",
         "ARGUMENT --at -2305843009213693953:-2305843009213693950: more than 1073741824 positions"},
        {"seq", "2305843009213693950:2305843009213693952",
         "ARGUMENT --at 2305843009213693950:2305843009213693952: more than 1073741824 positions"},
        {"seq", "0:99999999999999999999",
         "ARGUMENT --at 0:99999999999999999999: not a range (0:100) nor a list of paths (0,5,7)"},
        {"seq", "0:", "ARGUMENT --at 0:: not a range (0:100) nor a list of paths (0,5,7)"},
        {"seq", ":3", "ARGUMENT --at :3: not a range (0:100) nor a list of paths (0,5,7)"},
        {"seq", "0: 3", "ARGUMENT --at 0: 3: not a range (0:100) nor a list of paths (0,5,7)"},
        {"seq", "0:3:1", "ARGUMENT --at 0:3:1: not a range (0:100) nor a list of paths (0,5,7)"},
        {"seq", "0,1:3", "ARGUMENT --at 0,1:3: not a range (0:100) nor a list of paths (0,5,7)"},
        {"tree:2", "0:3", "ARGUMENT --at 0:3: 'tree:2' has no ranges; give paths, such as 0,1,1+2, or a file"},
        {"grid:2", "0:3", "ARGUMENT --at 0:3: 'grid:2' has no ranges; give grid:4x6 or a file"},
        {"grid:3", "0:3", "ARGUMENT --at 0:3: 'grid:3' has no ranges; give grid:4x6x8 or a file"},
        {"grid:8", "0:3", "ARGUMENT --at 0:3: 'grid:8' has no ranges; give grid:4x6x8x10x12x14x16x18 or a file"},
        {"grid:9", "0:3", "ARGUMENT --at 0:3: 'grid:9' has no ranges; give grid:4x6x8x10x12x14x16x18x… or a file"},
        {"seq*tree:2", "0:3", "ARGUMENT --at 0:3: 'seq*tree:2' has no ranges; give paths, such as 0,1,1+2, or a file"},
    };
    EXPECT(cases);
}

static void boxes(void **state) {
    (void)state;
    static const case_of cases[] = {
        {"seq", "grid:3", "0 1 2"},
        {"cycle:4", "grid:1", "0"},
        {"grid:2", "grid:2x3", "(0,0) (0,1) (0,2) (1,0) (1,1) (1,2)"},
        {"grid:3", "grid:1x2x2", "(0,0,0) (0,0,1) (0,1,0) (0,1,1)"},
        {"grid:2", "grid:3x1", "(0,0) (1,0) (2,0)"},
        {"grid:2", "grid:32768x32769", "ARGUMENT --at grid:32768x32769: more than 1073741824 positions"},
        {"grid:2", "grid:1073741825x1", "ARGUMENT --at grid:1073741825x1: more than 1073741824 positions"},
        {"grid:2", "grid:1x99999999999999999999",
         "ARGUMENT --at grid:1x99999999999999999999: not a box; write its sizes, each from 1, as in grid:4x6"},
        {"grid:2", "grid:", "ARGUMENT --at grid:: not a box; write its sizes, each from 1, as in grid:4x6"},
        {"grid:2", "grid:4x", "ARGUMENT --at grid:4x: not a box; write its sizes, each from 1, as in grid:4x6"},
        {"grid:2", "grid:x4", "ARGUMENT --at grid:x4: not a box; write its sizes, each from 1, as in grid:4x6"},
        {"grid:2", "grid:4x0", "ARGUMENT --at grid:4x0: not a box; write its sizes, each from 1, as in grid:4x6"},
        {"grid:2", "grid:4x-1", "ARGUMENT --at grid:4x-1: not a box; write its sizes, each from 1, as in grid:4x6"},
        {"grid:2", "grid:4x6 ", "ARGUMENT --at grid:4x6 : not a box; write its sizes, each from 1, as in grid:4x6"},
        {"grid:2", "grid:4", "ARGUMENT --at grid:4: has 1 size, 'grid:2' has 2 coordinates; give one for each"},
        {"seq", "grid:4x6", "ARGUMENT --at grid:4x6: has 2 sizes, 'seq' has 1 coordinate; give one for each"},
        {"tree:2", "grid:4",
         "ARGUMENT --at grid:4: 'tree:2' has a tree, which no box describes; give paths or a text file"},
        {"grid:65",
         "grid:"
         "1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1"
         "x1x1x1x1x1x1x1x1x1x1x1",
         "ARGUMENT --at "
         "grid:"
         "1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1"
         "x1x1x1x1x1x1x1x1x1x1x1x1: has 65 sizes, 'grid:65' has 65 coordinates; give one for each"},
    };
    EXPECT(cases);
}

static void lists(void **state) {
    (void)state;
    static const case_of cases[] = {
        {"seq", "5", "5/"},
        {"seq", "0,5,-7", "0/ 5/ -7/"},
        {"cycle:4", "5,-1", "1/ 3/"},
        {"grid:2", "(3,1),( 3 , -2 )", "(3,1)/ (3,-2)/"},
        {"tree:2", "0,1+2,2-2", "0/ 1+2/ 0/"},
        {"seq*tree:2", "(3,1+2),(0,0)", "(3,1+2)/ (0,0)/"},
        {"seq", "4611686018427387904", "4611686018427387904/"},
        {"seq", "1,,2", "SPEC --at: the path ends too early: expected an integer @2+1"},
        {"seq", "1,", "SPEC --at: the path ends too early: expected an integer @2+1"},
        {"seq", ",1", "SPEC --at: the path ends too early: expected an integer @0+1"},
        {"tree:2", "1,1+3", "SPEC --at: there is no branch '+3' on tree:2: use 1 to 2 or their inverses @3+2"},
        {"grid:2", "1,2", "SPEC --at: the path has 1 component, 'grid:2' needs a tuple of 2 @0+1"},
        {"grid:2", "(1,2),(3", "SPEC --at: this '(' is never closed: add a ')' @6+1"},
        {"seq", "", "ARGUMENT --at: is empty; give a range (0:100), a list (0,5,7), a box (grid:4x6) or a file"},
    };
    EXPECT(cases);
}

static void real_lists(void **state) {
    (void)state;
    static const case_of cases[] = {
        {"seq", "0.5", "0.5."},
        {"seq", " .5 , +1,-2.", "0.5. 1. -2."},
        {"grid:2", "(0.5,1) , ( 2 , -3.75 ) ", "(0.5.,1.) (2.,-3.75.)"},
        {"grid:1", "1.25,2", "1.25. 2."},
        {"seq", "0.5,", "ARGUMENT --at 0.5,: not a list of real positions: write numbers, as in 0.5,1.25"},
        {"seq", "0.5,,1", "ARGUMENT --at 0.5,,1: not a list of real positions: write numbers, as in 0.5,1.25"},
        {"seq", "0.5.1", "ARGUMENT --at 0.5.1: not a list of real positions: write numbers, as in 0.5,1.25"},
        {"seq", "-.,1", "ARGUMENT --at -.,1: not a list of real positions: write numbers, as in 0.5,1.25"},
        {"seq", "0.5 1", "ARGUMENT --at 0.5 1: '1' does not belong to a list of real positions"},
        {"seq", "0.5:2",
         "ARGUMENT --at 0.5:2: ':2' does not belong to a list of real positions; ranges are of whole numbers"},
        {"seq", "(0.5)", "ARGUMENT --at (0.5): not a list of real positions: write numbers, as in 0.5,1.25"},
        {"grid:2", "0.5,1",
         "ARGUMENT --at 0.5,1: not a list of real positions: write one number for each axis, as in (0.5,1),(2,-3.75)"},
        {"grid:2", "(0.5,1",
         "ARGUMENT --at (0.5,1: not a list of real positions: write one number for each axis, as in (0.5,1),(2,-3.75)"},
        {"grid:2", "(0.5,1,2)",
         "ARGUMENT --at (0.5,1,2): not a list of real positions: write one number for each axis, as in "
         "(0.5,1),(2,-3.75)"},
        {"cycle:4", "0.5", "ARGUMENT --at 0.5: 'cycle:4' has no real-valued positions; seq and grids have"},
        {"tree:2", "0.5", "ARGUMENT --at 0.5: 'tree:2' has no real-valued positions; seq and grids have"},
        {"seq*cycle:4", "(0.5,1)",
         "ARGUMENT --at (0.5,1): 'seq*cycle:4' has no real-valued positions; seq and grids have"},
    };
    EXPECT(cases);
    /* What stands before a text is not read. */
    expect(
        "grid:2", &"(0.5,1)"[1],
        "ARGUMENT --at 0.5,1): not a list of real positions: write one number for each axis, as in (0.5,1),(2,-3.75)");
}

/* ---- files ---- */

static void write_text(const char *name, const char *text) {
    scratch_write(name, text, strlen(text));
}

static void text_files(void **state) {
    (void)state;
    write_text("paths", "-2\r\n+3\n 4 ");
    write_text("words", "0\n1+2\n");
    write_text("tuples", "(3,1+2)\n( -1 , 0 )\n");
    write_text("reals", "0.5\r\n-1.25 \t\n3");
    write_text("pairs", "(0.5,1)\n(2,-3.75)\n");
    write_text("old", "1.5\r2.5\r");
    write_text("blank", "1+2\n \t\n2\n");
    write_text("beyond", "1\n1+3\n");
    write_text("empty", "");
    write_text("hole", "0.5\n\n2\n");
    write_text("more", "(0.5,1)\n(2,3,4)\n");
    write_text("tail", "0.5 1\n");
    scratch_write("binary", "1\n\0002", 4);
    static const case_of cases[] = {
        {"seq", "paths", "-2/ 3/ 4/"},
        {"cycle:5", "./paths", "3/ 3/ 4/"},
        {"tree:2", "words", "0/ 1+2/"},
        {"seq*tree:2", "tuples", "(3,1+2)/ (-1,0)/"},
        {"seq", "reals", "0.5. -1.25. 3."},
        {"grid:2", "pairs", "(0.5.,1.) (2.,-3.75.)"},
        {"seq", "old", "1.5. 2.5."},
        {"tree:2", "blank", "IO --at blank, line 2: is empty; every line holds one path"},
        {"tree:2", "beyond", "IO --at beyond, line 2: there is no branch '+3' on tree:2: use 1 to 2 or their inverses"},
        {"seq", "empty", "IO --at empty: is empty"},
        {"seq", "hole", "IO --at hole, line 2: not a real position: write a number, as in 1.25"},
        {"grid:2", "more", "IO --at more, line 2: not a real position: write a number for each axis, as in (0.5,1)"},
        {"grid:2", "reals", "IO --at reals, line 1: not a real position: write a number for each axis, as in (0.5,1)"},
        {"seq", "tail", "IO --at tail, line 1: not a real position: write a number, as in 1.25"},
        {"tree:2", "reals", "IO --at reals: 'tree:2' has no real-valued positions; seq and grids have"},
        {"seq", "binary", "IO --at binary: is not a text file"},
        {"seq", "nothing",
         "IO --at nothing: no range (0:100), list (0,5,7) or box (grid:4x6), and no file: cannot read 'nothing': No "
         "such file or directory"},
        {"seq", "1e3",
         "IO --at 1e3: no range (0:100), list (0,5,7) or box (grid:4x6), and no file: cannot read '1e3': No such file "
         "or directory"},
    };
    EXPECT(cases);
}

static void write_integers(const char *name, lab_dtype type, size_t rank, const int64_t *shape, const int64_t *values) {
    lab_array array;
    locus_error error;
    assert_int_equal(lab_array_create(&array, type, rank, shape, &error), LOCUS_OK);
    for (size_t i = 0; i < lab_array_count(&array); i++)
        if (type == LAB_I32)
            ((int32_t *)array.data)[i] = (int32_t)values[i];
        else if (type == LAB_I64)
            ((int64_t *)array.data)[i] = values[i];
        else
            lab_array_set(&array, i, 0.25 * (double)values[i]);
    assert_int_equal(lab_npy_write(&array, scratch_path(name), &error), LOCUS_OK);
    lab_array_free(&array);
}
#define SHAPE(...) \
    (const int64_t[]) { \
        __VA_ARGS__ \
    }

static void arrays(void **state) {
    (void)state;
    static const int64_t values[] = {0, 1, 2, -1, -3, 7};
    write_integers("three.npy", LAB_I64, 1, SHAPE(3), values);
    write_integers("rows.npy", LAB_I32, 2, SHAPE(2, 2), values);
    write_integers("cube.npy", LAB_I32, 3, SHAPE(1, 2, 2), values);
    write_integers("none.npy", LAB_I32, 1, SHAPE(0), values);
    write_integers("no rows.npy", LAB_I32, 2, SHAPE(0, 2), values);
    write_integers("flat.npy", LAB_I32, 2, SHAPE(2, 0), values);
    write_integers("hole.npy", LAB_I32, 2, SHAPE(1, 3), values + 2);
    write_integers("minus.npy", LAB_I32, 2, SHAPE(1, 1), values + 4);
    write_integers("reals.npy", LAB_F32, 1, SHAPE(3), values);
    write_integers("pairs.npy", LAB_F64, 2, SHAPE(2, 2), values);
    static const case_of cases[] = {
        {"seq", "three.npy", "0 1 2"},
        {"cycle:2", "three.npy", "0 1 2"},
        {"grid:2", "rows.npy", "(0,1) (2,-1)"},
        {"seq*cycle:3", "rows.npy", "(0,1) (2,-1)"},
        {"tree:3", "rows.npy", "1+2/ 3/"},
        {"tree:2", "flat.npy", "0/ 0/"},
        {"seq", "reals.npy", "0. 0.25. 0.5."},
        {"grid:2", "pairs.npy", "(0.,0.25.) (0.5.,-0.25.)"},
        {"seq", "rows.npy", "IO --at rows.npy: has 2 dimensions; positions on 'seq' have one ([tokens])"},
        {"cycle:4", "rows.npy", "IO --at rows.npy: has 2 dimensions; positions on 'cycle:4' have one ([tokens])"},
        {"grid:2", "three.npy",
         "IO --at three.npy: has 1 dimension; positions on 'grid:2' have two ([tokens, coordinates])"},
        {"grid:3", "rows.npy", "IO --at rows.npy: has 2 columns; 'grid:3' has 3 coordinates"},
        {"grid:2", "cube.npy",
         "IO --at cube.npy: has 3 dimensions; positions on 'grid:2' have two ([tokens, coordinates])"},
        {"tree:2", "three.npy",
         "IO --at three.npy: has 1 dimension; positions on 'tree:2' have two ([tokens, depth], branches from 0, padded "
         "with -1)"},
        {"tree:2", "rows.npy",
         "IO --at rows.npy, row 1: 'tree:2' has no branch index 2; they count from 0 to 1, and -1 pads"},
        {"tree:8", "hole.npy",
         "IO --at hole.npy, row 0: branch -3 stands behind a -1; only the end of a row is padded"},
        {"tree:2", "minus.npy",
         "IO --at minus.npy, row 0: 'tree:2' has no branch index -3; they count from 0 to 1, and -1 pads"},
        {"seq*tree:2", "rows.npy",
         "IO --at rows.npy: a product with trees such as 'seq*tree:2' has no .npy form; give a text file with one path "
         "to a line, such as (3,1+2)"},
        {"seq", "none.npy", "IO --at none.npy: is empty"},
        {"tree:2", "no rows.npy", "IO --at no rows.npy: is empty"},
        {"grid:2", "no rows.npy", "IO --at no rows.npy: is empty"},
        {"seq", "pairs.npy", "IO --at pairs.npy: has 2 dimensions; real positions have one ([tokens])"},
        {"grid:2", "reals.npy", "IO --at reals.npy: has 1 dimension; real positions have two ([tokens, axes])"},
        {"grid:3", "pairs.npy", "IO --at pairs.npy: has 2 columns; the grid has 3 axes"},
        {"cycle:4", "reals.npy", "IO --at reals.npy: 'cycle:4' has no real-valued positions; seq and grids have"},
        {"tree:2", "pairs.npy", "IO --at pairs.npy: 'tree:2' has no real-valued positions; seq and grids have"},
        {"seq", "nothing.npy", "IO cannot read 'nothing.npy': No such file or directory"},
    };
    EXPECT(cases);
}

/* As long as a word of a row can be. */
static void deep_rows(void **state) {
    (void)state;
    enum { DEPTH = 3000 };
    static int64_t branches[2 * DEPTH];
    locus_error error = {0};
    locus_group *group = NULL;
    lab_position_list list;
    for (size_t i = 0; i < 2 * DEPTH; i++)
        branches[i] = i < DEPTH ? 2147483645 : i == DEPTH ? 0 : -1;
    write_integers("deep.npy", LAB_I32, 2, SHAPE(2, DEPTH), branches);
    assert_int_equal(locus_group_parse("tree:2147483646", &group, &error), LOCUS_OK);
    if (lab_position_list_parse(&list, group, "at", "deep.npy", &error) != LOCUS_OK)
        fail_msg("%s", error.message);
    assert_int_equal(list.count, 2);
    for (size_t i = 0; i < 2; i++) {
        int64_t length = 0;
        assert_int_equal(locus_path_length(list.paths[i], &length, &error), LOCUS_OK);
        assert_int_equal(length, i == 0 ? DEPTH : 1);
    }
    lab_position_list_free(&list);
    locus_group_destroy(&group);
}

/* Messages name files as they were given. */
static int enter(void **state) {
    return scratch_create(state) != 0 || chdir(scratch_path("")) != 0 ? -1 : 0;
}

static int leave(void **state) {
    return chdir("/") != 0 ? -1 : scratch_remove(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges),     cmocka_unit_test(boxes),      cmocka_unit_test(lists),
        cmocka_unit_test(real_lists), cmocka_unit_test(text_files), cmocka_unit_test(arrays),
        cmocka_unit_test(deep_rows),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
