/* SPDX-License-Identifier: MIT */
/* Options of drawn samples: each as small and as large as it may be gives a sample, one beyond is refused in a whole
 * sentence; and trees that are none. */
#include "task/listops/listops.h"
#include "task/problem.h"
#include "task/symbol_tree.h"
#include "task/task_class.h"
#include "task/tree_random.h"
#include "task/tree_task.h"
#include "task/word_task.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void expect(const char *task, const lab_task_options *options, const char *argument, const char *says) {
    lab_dataset set;
    locus_error error = {0};
    const lab_draw wanted = {lab_task_find(task), options, LAB_SET_TRAIN, 1, 5};
    const locus_status status = lab_dataset_generate(&set, &wanted, &error);
    assert_string_equal(error.message, says != NULL ? says : "");
    assert_string_equal(error.argument, argument != NULL ? argument : "");
    assert_int_equal(status, says != NULL ? LOCUS_ERROR_ARGUMENT : LOCUS_OK);
    assert_int_equal(set.input_offsets != NULL, says == NULL);
    lab_dataset_destroy(&set);
}

static void words(void **state) {
    (void)state;
    static const struct {
        double mean, deviation;
        size_t symbols;
        const char *argument, *says;
    } cases[] = {
        {1, 0, 1, NULL, NULL},
        {0.9, 0, 1, "length", "the mean length 0.9 is not between 1 and 1000000"},
        {1e6, 0, 9, NULL, NULL},
        {1000001, 0, 9, "length", "the mean length 1e+06 is not between 1 and 1000000"},
        {10, 10, 9, NULL, NULL},
        {10, 10.5, 9, "length-deviation", "the deviation of lengths 10.5 is not between 0 and the mean 10"},
        {10, -0.5, 9, "length-deviation", "the deviation of lengths -0.5 is not between 0 and the mean 10"},
        {10, 1, 0, "symbols", "0 symbols: give 1 to 1000000"},
        {10, 1, 1000000, NULL, NULL},
        {10, 1, 1000001, "symbols", "1000001 symbols: give 1 to 1000000"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const lab_task_options options = lab_task_with(
            lab_task_find("copy"), &(lab_word_options){cases[i].mean, cases[i].deviation, .symbols = cases[i].symbols});
        expect("copy", &options, cases[i].argument, cases[i].says);
    }
}

static void trees(void **state) {
    (void)state;
#define DEEP " is negative, or leads to trees deeper than 1000: give a smaller one"
#define EVEN " symbols: tree-copy takes an even number from 2 to 1000000, half for leaves, half for operators"
    static const struct {
        const char *task;
        double mean, deviation;
        size_t symbols, arity;
        const char *argument, *says;
    } cases[] = {
        {"tree-copy", 0, 0, 2, 1, NULL, NULL},
        {"tree-copy", -0.5, 0, 2, 1, "depth", "the mean depth -0.5 is not between 0 and 1000"},
        {"tree-copy", 1000, 0, 2, 1, NULL, NULL},
        {"tree-copy", 1000.5, 0, 2, 1, "depth", "the mean depth 1000.5 is not between 0 and 1000"},
        {"tree-copy", 5, -0.5, 2, 1, "depth-deviation", "the deviation of depths -0.5" DEEP},
        {"tree-copy", 400, 100, 2, 1, NULL, NULL},
        {"tree-copy", 400, 100.5, 2, 1, "depth-deviation", "the deviation of depths 100.5" DEEP},
        {"tree-copy", 1, 0, 20, 0, "arity", "arity 0: tree-copy takes 1 to 16 children"},
        {"tree-copy", 1, 0, 20, 16, NULL, NULL},
        {"tree-copy", 1, 0, 20, 17, "arity", "arity 17: tree-copy takes 1 to 16 children"},
        {"tree-ops", 1, 0, 128, 1, "arity", "arity 1: tree-ops takes 2 to 16 children"},
        {"tree-ops", 1, 0, 128, 2, NULL, NULL},
        {"tree-copy", 1, 0, 0, 2, "symbols", "0" EVEN},
        {"tree-copy", 1, 0, 3, 2, "symbols", "3" EVEN},
        {"tree-copy", 1, 0, 1000000, 2, NULL, NULL},
        {"tree-copy", 1, 0, 1000002, 2, "symbols", "1000002" EVEN},
        {"tree-c3", 1, 0, 2, 2, "symbols", "2 symbols: tree-c3 has 4, each with its meaning"},
        {"tree-ops", 1, 0, 130, 2, "symbols", "130 symbols: tree-ops has 128, each with its meaning"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const lab_task_options options =
            lab_task_with(lab_task_find("tree-copy"), &(lab_tree_options){.depth_mean = cases[i].mean,
                                                                          .depth_deviation = cases[i].deviation,
                                                                          .symbols = cases[i].symbols,
                                                                          .arity = cases[i].arity});
        expect(cases[i].task, &options, cases[i].argument, cases[i].says);
    }
    lab_task_options options = lab_task_default(lab_task_find("tree-copy"));
    char says[200];
    LAB_TREES(&options)->depth_mean = 60;
    LAB_TREES(&options)->depth_deviation = 5;
    snprintf(
        says, sizeof says,
        "trees of depth 90, six deviations above the mean, have %.3g nodes on the average, more than 1000000: give "
        "a smaller depth, deviation or arity",
        lab_tree_expected_nodes(90, 2));
    expect("tree-copy", &options, "depth", says);
}

static void problems(void **state) {
    (void)state;
    static const struct {
        const char *task;
        lab_problem_options of;
        const char *argument, *says;
    } cases[] = {
        {"addition", {.digits = 1, .sequence = 2}, NULL, NULL},
        {"addition", {.digits = 18, .sequence = 1000000}, NULL, NULL},
        {"addition", {.digits = 0, .sequence = 2}, "digits", "numbers of 0 digits: give 1 to 18"},
        {"addition", {.digits = 19, .sequence = 2}, "digits", "numbers of 19 digits: give 1 to 18"},
        {"addition", {.digits = 1, .sequence = 1}, "sequence", "sequences of 1 characters: give 2 to 1000000"},
        {"addition",
         {.digits = 1, .sequence = 1000001},
         "sequence",
         "sequences of 1000001 characters: give 2 to 1000000"},
        {"substring-index", {1, 0, .symbols = 1, .sequence = 2}, NULL, NULL},
        {"substring-index", {4096, 0, .symbols = 26, .sequence = 2}, NULL, NULL},
        {"substring-index",
         {0.5, 0, .symbols = 1, .sequence = 2},
         "length",
         "strings of 0.5 letters: give a mean of 1 to 4096"},
        {"substring-index",
         {4096.5, 0, .symbols = 1, .sequence = 2},
         "length",
         "strings of 4096.5 letters: give a mean of 1 to 4096"},
        {"substring-index", {100, 100, .symbols = 2, .sequence = 2}, NULL, NULL},
        {"substring-index",
         {100, 100.5, .symbols = 2, .sequence = 2},
         "length-deviation",
         "the deviation of lengths 100.5 is not between 0 and the mean 100, or leads to strings of more than 4096 "
         "letters"},
        {"substring-index",
         {100, -1, .symbols = 2, .sequence = 2},
         "length-deviation",
         "the deviation of lengths -1 is not between 0 and the mean 100, or leads to strings of more than 4096 "
         "letters"},
        {"substring-index", {4010, 10, .symbols = 2, .sequence = 2}, NULL, NULL},
        {"substring-index",
         {4010.5, 10, .symbols = 2, .sequence = 2},
         "length-deviation",
         "the deviation of lengths 10 is not between 0 and the mean 4010.5, or leads to strings of more than 4096 "
         "letters"},
        {"substring-index", {9, 0, .symbols = 0, .sequence = 2}, "symbols", "0 letters: substring-index takes 1 to 26"},
        {"substring-search",
         {9, 0, .symbols = 27, .sequence = 2},
         "symbols",
         "27 letters: substring-search takes 1 to 26"},
        {"substring-index",
         {9, 0, .symbols = 2, .sequence = 1},
         "sequence",
         "sequences of 1 characters: give 2 to 1000000"},
        {"substring-search", {1, 0, .symbols = 1, .sequence = 2}, NULL, NULL},
        {"substring-search", {1000000, 0, .symbols = 26, .sequence = 2}, NULL, NULL},
        {"substring-search",
         {0.5, 0, .symbols = 1, .sequence = 2},
         "length",
         "random strings and substrings of 0.5 letters: give a whole number from 1 to 1000000"},
        {"substring-search",
         {1.5, 0, .symbols = 1, .sequence = 2},
         "length",
         "random strings and substrings of 1.5 letters: give a whole number from 1 to 1000000"},
        {"substring-search",
         {1000001, 0, .symbols = 1, .sequence = 2},
         "length",
         "random strings and substrings of 1e+06 letters: give a whole number from 1 to 1000000"},
        {"substring-search",
         {2, 0.5, .symbols = 1, .sequence = 2},
         "length-deviation",
         "a deviation of lengths 0.5: those of substring-search are all the same"},
        {"substring-search",
         {2, 0, .symbols = 1, .sequence = 1},
         "sequence",
         "sequences of 1 characters: give 2 to 1000000"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const lab_task_options options = lab_task_with(lab_task_find("addition"), &cases[i].of);
        expect(cases[i].task, &options, cases[i].argument, cases[i].says);
    }
}

static void expressions(void **state) {
    (void)state;
#define NONE(depth, arguments, shortest, longest) \
    "no expression of depth " depth " with up to " arguments " arguments has a length between " shortest \
    " and " longest ", both excluded: the shortest have 1 and 4, the longest "
    static const struct {
        size_t depth, arguments, shortest, longest;
        const char *argument, *says;
    } cases[] = {
        {1, 2, 0, 2, NULL, NULL},
        {256, 1000, 0, 2, NULL, NULL},
        {7, 2, 0, 1000000, NULL, NULL},
        {7, 7, 1, 5, NULL, NULL},
        {7, 7, 3, 5, NULL, NULL},
        {7, 7, 4, 6, NULL, NULL},
        {7, 1, 0, 9, "arguments", "1 arguments: an operator has up to 2 … 1000"},
        {7, 1001, 0, 9, "arguments", "1001 arguments: an operator has up to 2 … 1000"},
        {0, 7, 0, 9, "expression-depth", "expressions of depth 0: there are 1 … 256"},
        {257, 7, 0, 9, "expression-depth", "expressions of depth 257: there are 1 … 256"},
        {7, 7, 0, 1000001, "longest", "lengths below 1000001: at most 1000000 tokens"},
        {7, 7, 0, 1, "longest", "no length lies between 0 and 1, both excluded"},
        {7, 7, 4, 5, "longest", "no length lies between 4 and 5, both excluded"},
        {7, 7, 8, 9, "longest", "no length lies between 8 and 9, both excluded"},
        {2, 2, 4, 9, "shortest", NONE("2", "2", "4", "9") "4"},
        {7, 7, 1, 4, "longest", NONE("7", "7", "1", "4") "at least 4"},
        {3, 7, 65, 1000, "shortest", NONE("3", "7", "65", "1000") "65"},
        {1, 7, 1, 9, "shortest", NONE("1", "7", "1", "9") "1"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const lab_task_options options = lab_task_with(
            lab_task_find("listops"), &(lab_expression_options){cases[i].depth, cases[i].arguments, cases[i].shortest,
                                                                cases[i].longest, LAB_ASKED_DIGIT});
        expect("listops", &options, cases[i].argument, cases[i].says);
    }
}

/* What holds for all: sets, samples, tokens. */
static void sets(void **state) {
    (void)state;
    lab_dataset set;
    locus_error error = {0};
    const lab_task_options words = lab_task_default(lab_task_find("copy")),
                           forest = lab_task_default(lab_task_find("tree-ops"));
    lab_draw wanted = {lab_task_find("copy"), &words, (lab_set)3, 1, 0};
    assert_int_equal(lab_dataset_generate(&set, &wanted, &error), LOCUS_ERROR_ARGUMENT);
    assert_string_equal(error.message, "set 3: there are train, dev and test");
    wanted.which = LAB_SET_TEST;
    wanted.samples = (size_t)UINT32_MAX + 1;
    assert_int_equal(lab_dataset_generate(&set, &wanted, &error), LOCUS_ERROR_ARGUMENT);
    assert_string_equal(error.message, "4294967296 samples: a set has at most 4294967295");
    wanted = (lab_draw){lab_task_find("tree-ops"), &forest, LAB_SET_TRAIN, 89478486, 0}; /* of three nodes at least */
    assert_int_equal(lab_dataset_generate(&set, &wanted, &error), LOCUS_ERROR_ARGUMENT);
    assert_string_equal(error.message, "the set has more than 268435456 tokens: give fewer samples or a smaller depth");
}

/* ---- trees that are none ---- */

static void rows_that_are_no_trees(void **state) {
    (void)state;
    static const int32_t tokens[] = {5, 6, 7, 8};
    static const struct {
        int32_t parents[4], branches[4];
        const char *argument, *says;
    } cases[] = {
        {{-1, 0, 0, 2}, {0, 1, 2, 1}, "", ""},
        {{0, 0, 0, 0}, {0, 1, 2, 3}, "parents", "token 0: its parent 0 does not stand before it"},
        {{-1, 0, -1, 0}, {0, 1, 2, 3}, "parents", "token 2: its parent -1 does not stand before it"},
        {{-1, 0, 2, 0}, {0, 1, 1, 2}, "parents", "token 2: its parent 2 does not stand before it"},
        {{-1, 0, 0, 0}, {1, 1, 2, 3}, "branches", "token 0: it is child 1 where 0 comes next"},
        {{-1, 0, 0, 0}, {0, 1, 3, 2}, "branches", "token 2: it is child 3 where 2 comes next"},
        {{-1, 0, 1, 1}, {0, 1, 1, 1}, "branches", "token 3: it is child 1 where 2 comes next"},
    };
    lab_tree tree = {0};
    for (size_t i = 0; i < COUNT(cases); i++) {
        locus_error error = {0};
        lab_tree_from_parents(&tree, 4, tokens, cases[i].parents, cases[i].branches, &error);
        assert_string_equal(error.message, cases[i].says);
        assert_string_equal(error.argument, cases[i].argument);
    }
    lab_tree_destroy(&tree);
}

static void paths_that_are_no_trees(void **state) {
    (void)state;
    static const int32_t tokens[] = {5, 6, 7, 8};
    static const struct {
        const char *paths[4], *says;
        locus_status status;
    } cases[] = {
#define NO_PATH " is no path: 0 for the root, else branches from 1, such as 1+2"
#define BEFORE "its parent and the children before it must stand before "
        {{"0", "1", "1+1", "2"}, "", LOCUS_OK},
        {{"0", "1", "x", "2"}, "token 2: 'x'" NO_PATH, LOCUS_ERROR_SPEC},
        {{"0", "1", "", "2"}, "token 2: ''" NO_PATH, LOCUS_ERROR_SPEC},
        {{"0", "1", "1+", "2"}, "token 2: '1+'" NO_PATH, LOCUS_ERROR_SPEC},
        {{"0", "1", "1+0", "2"}, "token 2: '1+0'" NO_PATH, LOCUS_ERROR_SPEC},
        {{"0", "1", "1-1", "2"}, "token 2: '1-1'" NO_PATH, LOCUS_ERROR_SPEC},
        {{"0", "1", "0+1", "2"}, "token 2: '0+1'" NO_PATH, LOCUS_ERROR_SPEC},
        {{"0", "1", "1+0+1", "2"}, "token 2: '1+0+1'" NO_PATH, LOCUS_ERROR_SPEC},
        {{"0", "1", "0", "2"}, "token 2: a second root", LOCUS_ERROR_ARGUMENT},
        {{"1", "0", "2", "3"}, "token 0: " BEFORE "1", LOCUS_ERROR_ARGUMENT},
        {{"0", "1", "3", "2"}, "token 2: " BEFORE "3", LOCUS_ERROR_ARGUMENT},
        {{"0", "1", "2+1", "2"}, "token 2: " BEFORE "2+1", LOCUS_ERROR_ARGUMENT},
        {{"0", "1", "1+1+1", "2"}, "token 2: " BEFORE "1+1+1", LOCUS_ERROR_ARGUMENT},
        {{"0", "1", "1", "2"}, "token 2: " BEFORE "1", LOCUS_ERROR_ARGUMENT},
    };
    lab_tree tree = {0};
    for (size_t i = 0; i < COUNT(cases); i++) {
        locus_error error = {0};
        assert_int_equal(lab_tree_from_paths(&tree, 4, tokens, cases[i].paths, &error), cases[i].status);
        assert_string_equal(error.message, cases[i].says);
    }
    lab_tree_destroy(&tree);
}

static void texts_that_are_no_trees(void **state) {
    (void)state;
    static const struct {
        const char *text, *says;
        int64_t offset;
    } cases[] = {
        {"(5 6 7)", "", 0},
        {" 5 ", "", 0},
        {"2147483647", "", 0},
        {"2147483648", "character 1 of a tree: expected a symbol", 0},
        {"", "character 1 of a tree: expected a symbol", 0},
        {"(", "character 2 of a tree: expected a symbol", 1},
        {"(5", "character 3 of a tree: expected a child or ')'", 2},
        {"(5)", "character 3 of a tree: expected a child: a leaf has no parentheses", 2},
        {"(5 (6))", "character 6 of a tree: expected a child: a leaf has no parentheses", 5},
        {"(5 6) 7", "character 7 of a tree: expected the end: a tree has one root", 6},
        {"(5 6 x)", "character 6 of a tree: expected a child or ')'", 5},
    };
    lab_tree tree = {0};
    for (size_t i = 0; i < COUNT(cases); i++) {
        locus_error error = {0};
        const locus_status status = lab_tree_parse(&tree, cases[i].text, &error);
        assert_string_equal(error.message, cases[i].says);
        assert_int_equal(status, cases[i].says[0] != '\0' ? LOCUS_ERROR_SPEC : LOCUS_OK);
        if (status != LOCUS_OK)
            assert_true(error.offset == cases[i].offset && error.length == 1);
    }
    lab_tree_destroy(&tree);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words),
        cmocka_unit_test(trees),
        cmocka_unit_test(problems),
        cmocka_unit_test(expressions),
        cmocka_unit_test(sets),
        cmocka_unit_test(rows_that_are_no_trees),
        cmocka_unit_test(paths_that_are_no_trees),
        cmocka_unit_test(texts_that_are_no_trees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
