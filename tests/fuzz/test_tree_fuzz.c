/* SPDX-License-Identifier: MIT */
/* Trees from random parents and paths: nothing crashes, a failure is one line, and what is taken is a tree that comes
 * back from its text and from both orders. LOCUS_FUZZ sets the number of tries. Texts are the fuzz target's,
 * tests/fuzz/targets/fuzz_tree.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "task/symbol_tree.h"

#include <locus/random.h>
#include <stdlib.h>
#include <string.h>

static const locus_random stream = {.seed = 20261121, .purpose = LOCUS_RANDOM_USER, .step = 9};
static uint64_t drawn;

static size_t below(size_t bound) {
    return (size_t)locus_random_below(&stream, drawn++, bound);
}

static size_t tries(void) {
    const char *text = getenv("LOCUS_FUZZ");
    return text ? (size_t)strtoull(text, NULL, 10) : 40000;
}

static void check_tree(const lab_tree *tree) {
    int32_t tokens[256], parents[256], branches[256];
    lab_tree back = {0};
    char *text = lab_tree_string(tree, NULL);
    assert_non_null(text);
    assert_int_equal(lab_tree_parse(&back, text, NULL), LOCUS_OK);
    assert_true(lab_tree_equal(tree, &back));
    assert_true(tree->count <= 256);
    for (int order = LAB_ORDER_BREADTH; order <= LAB_ORDER_DEPTH; order++) {
        lab_tree_write(tree, (lab_order)order, tokens, parents, branches);
        assert_int_equal(lab_tree_from_parents(&back, tree->count, tokens, parents, branches, NULL), LOCUS_OK);
        assert_true(lab_tree_equal(tree, &back));
    }
    lab_tree_destroy(&back);
    free(text);
}

static void check_error(const locus_error *error) {
    assert_true(error->message[0] != '\0');
    assert_null(strchr(error->message, '\n'));
}

static void test_parents(void **state) {
    (void)state;
    size_t taken = 0;
    lab_tree tree = {0};
    for (size_t count = tries(); count > 0; count--) {
        int32_t tokens[6], parents[6], branches[6];
        size_t n = 1 + below(6);
        for (size_t i = 0; i < n; i++) {
            tokens[i] = (int32_t)below(100);
            parents[i] = (int32_t)below(i + 1) - (i == 0 || below(20) == 0);
            branches[i] = i == 0 ? 0 : 1 + (int32_t)below(2);
        }
        locus_error error = {0};
        if (lab_tree_from_parents(&tree, n, tokens, parents, branches, &error) == LOCUS_OK) {
            check_tree(&tree);
            taken++;
        } else {
            check_error(&error);
        }
    }
    assert_true(taken > tries() / 20);
    lab_tree_destroy(&tree);
}

static void test_paths(void **state) {
    (void)state;
    static const char *const paths[] = {"1",   "2", "1+1", "1+2", "2+1", "3",  "1+1+1",
                                        "2+2", "0", "",    "+",   "1+",  "x1", "4294967297"};
    size_t taken = 0;
    lab_tree tree = {0};
    for (size_t count = tries(); count > 0; count--) {
        int32_t tokens[4] = {1, 2, 3, 4};
        const char *texts[4] = {"0"};
        size_t n = 1 + below(4);
        for (size_t i = below(30) == 0 ? 0 : 1; i < n; i++)
            texts[i] = paths[below(below(3) == 0 ? sizeof paths / sizeof *paths : 4)];
        locus_error error = {0};
        if (lab_tree_from_paths(&tree, n, tokens, texts, &error) == LOCUS_OK) {
            assert_int_equal(tree.count, n);
            check_tree(&tree);
            taken++;
        } else {
            check_error(&error);
        }
    }
    assert_true(taken > tries() / 20);
    lab_tree_destroy(&tree);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parents),
        cmocka_unit_test(test_paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
