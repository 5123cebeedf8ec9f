/* SPDX-License-Identifier: MIT */
/* Trees that grow while they are decoded: fed the tokens of every target they give its parents and branches and are
 * over at its last token, in both orders; fed anything else they give a tree and end at the limit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "task/growth.h"
#include "task/symbol_tree.h"
#include "task/task_class.h"
#include "task/tree_task.h"

#include <locus/random.h>
#include <stdlib.h>

static const char *const names[] = {"tree-copy", "tree-reorder", "tree-c3", "tree-ops"};

typedef struct field {
    lab_task_options options;
    lab_dataset set;
    size_t *limits;
    lab_grower *grower;
} field;

/* Every sample may get `spare` tokens more than its target has. */
static field sown(const char *task, lab_order order, size_t arity, size_t spare) {
    field made = {.options = lab_task_default(lab_task_find(task))};
    LAB_TREES(&made.options)->order = order;
    LAB_TREES(&made.options)->arity = arity;
    LAB_TREES(&made.options)->depth_mean = 5;
    locus_error error = {0};
    const lab_draw draw = {lab_task_find(task), &made.options, LAB_SET_TEST, 300, 9};
    assert_int_equal(lab_dataset_generate(&made.set, &draw, &error), LOCUS_OK);
    made.limits = calloc(made.set.samples, sizeof *made.limits);
    for (size_t s = 0; s < made.set.samples; s++)
        made.limits[s] = made.set.target_offsets[s + 1] - made.set.target_offsets[s] + spare;
    return made;
}

static void plant(field *of) {
    const lab_grower_input input = {lab_task_find("tree-copy"), &of->options,  NULL,      of->set.samples,
                                    of->set.input_offsets,      of->set.input, of->limits};
    assert_int_equal(lab_grower_create(&of->grower, &input, NULL), LOCUS_OK);
}

static void clear(field *of) {
    lab_grower_destroy(&of->grower);
    assert_null(of->grower);
    lab_grower_destroy(&of->grower);
    lab_dataset_destroy(&of->set);
    free(of->limits);
}

static void check_sample(const field *of, size_t s) {
    size_t start = of->set.target_offsets[s], n = of->set.target_offsets[s + 1] - start;
    int32_t parent, branch;
    for (size_t i = 0; i < n; i++) {
        bool more = lab_grower_grow(of->grower, s, of->set.target[start + i], &parent, &branch);
        assert_int_equal(more, i + 1 < n);
        assert_int_equal(parent, of->set.target_tree.parents[start + i]);
        assert_int_equal(branch, of->set.target_tree.branches[start + i]);
    }
    assert_false(lab_grower_grow(of->grower, s, 11, &parent, &branch)); /* nothing is open */
    assert_int_equal(parent, -1);
    assert_int_equal(branch, 0);
}

static void test_targets(void **state) {
    (void)state;
    for (size_t t = 0; t < 4; t++) {
        for (size_t variant = 0; variant < 8; variant++) {
            field of = sown(names[t], variant & 1 ? LAB_ORDER_DEPTH : LAB_ORDER_BREADTH, variant & 2 ? 3 : 2,
                            variant & 4 ? 10 : 0);
            const lab_grower_input input = {lab_task_find(names[t]), &of.options,  NULL,     of.set.samples,
                                            of.set.input_offsets,    of.set.input, of.limits};
            assert_int_equal(lab_grower_create(&of.grower, &input, NULL), LOCUS_OK);
            for (int round = 0; round < 2; round++) {
                for (size_t s = 0; s < of.set.samples; s++)
                    check_sample(&of, s);
                lab_grower_restart(of.grower);
            }
            clear(&of);
        }
    }
}

/* Samples grow side by side as the decoder lets them. */
static void test_interleaved(void **state) {
    (void)state;
    field of = sown("tree-copy", LAB_ORDER_DEPTH, 2, 3);
    plant(&of);
    for (size_t i = 0, left = 1; left > 0; i++) {
        left = 0;
        for (size_t s = 0; s < of.set.samples; s++) {
            size_t start = of.set.target_offsets[s], n = of.set.target_offsets[s + 1] - start;
            int32_t parent, branch;
            if (i < n) {
                assert_int_equal(lab_grower_grow(of.grower, s, of.set.target[start + i], &parent, &branch), i + 1 < n);
                assert_int_equal(parent, of.set.target_tree.parents[start + i]);
                left++;
            }
        }
    }
    clear(&of);
}

/* Any symbols: parents stand before children, branches are 1 … k in turn, and at the limit it is over. */
static void test_garbage(void **state) {
    (void)state;
    const locus_random random = {1, LOCUS_RANDOM_USER, 0};
    static const int32_t symbols[] = {INT32_MIN, -1,        0,  1,  10, 11, 15, 20, 21, 124,
                                      125,       INT32_MAX, 12, 13, 14, 16, 17, 18, 19};
    for (int order = LAB_ORDER_BREADTH; order <= LAB_ORDER_DEPTH; order++) {
        field of = sown("tree-copy", (lab_order)order, 2, 40);
        plant(&of);
        uint64_t next = 0;
        size_t reached = 0;
        for (size_t s = 0; s < of.set.samples; s++) {
            int32_t tokens[4096], parents[4096], branches[4096];
            size_t n = 0;
            bool more = true;
            while (more && n < 4096) {
                tokens[n] = symbols[locus_random_below(&random, next++, sizeof symbols / sizeof *symbols)];
                more = lab_grower_grow(of.grower, s, tokens[n], &parents[n], &branches[n]);
                n++;
            }
            assert_false(more);
            assert_true(n <= of.limits[s]);
            reached += n == of.limits[s];
            lab_tree tree = {0};
            assert_int_equal(lab_tree_from_parents(&tree, n, tokens, parents, branches, NULL), LOCUS_OK);
            lab_tree_destroy(&tree);
        }
        assert_true(reached > 20);
        clear(&of);
    }
}

/* Nothing but operators: the stack and the queue stay inside their windows (the address sanitizer watches). */
static void test_only_operators(void **state) {
    (void)state;
    for (int order = LAB_ORDER_BREADTH; order <= LAB_ORDER_DEPTH; order++) {
        for (size_t arity = 1; arity <= 3; arity++) {
            field of = sown("tree-copy", (lab_order)order, arity, 0);
            plant(&of);
            for (size_t s = 0; s < of.set.samples; s++) {
                int32_t parent, branch;
                for (size_t i = 0; i < of.limits[s] + 5; i++) {
                    bool more = lab_grower_grow(of.grower, s, 20, &parent, &branch);
                    assert_int_equal(more, i + 1 < of.limits[s]);
                    int32_t above = i == 0 ? -1 : (int32_t)(order == LAB_ORDER_DEPTH ? i - 1 : (i - 1) / arity);
                    assert_int_equal(parent, i < of.limits[s] ? above : -1);
                }
            }
            clear(&of);
        }
    }
}

/* An operator that was truncated is a leaf in this sample's output, and in no other. */
static void test_truncated(void **state) {
    (void)state;
    static const int32_t input[] = {127, 70, 80, 70, 1, 2, 3, 128, 70, 80, 70, 1, 2, 3};
    const size_t offsets[] = {0, 7, 14}, limits[] = {9, 9};
    const lab_task_options options = lab_task_default(lab_task_find("tree-ops"));
    const lab_grower_input given = {lab_task_find("tree-ops"), &options, NULL, 2, offsets, input, limits};
    static const int32_t tokens[] = {80, 70, 1, 2, 3};
    lab_grower *grower;
    int32_t parent, branch;
    assert_int_equal(lab_grower_create(&grower, &given, NULL), LOCUS_OK);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(lab_grower_grow(grower, 0, tokens[i], &parent, &branch), i < 2);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(lab_grower_grow(grower, 1, tokens[i], &parent, &branch), i < 4);
    lab_grower_destroy(&grower);
}

static void test_refusals(void **state) {
    (void)state;
    const size_t offsets[] = {0, 1}, limits[] = {SIZE_MAX / 2}, none[] = {0};
    const int32_t input[] = {1};
    const lab_task_options options = lab_task_default(lab_task_find("tree-copy"));
    lab_grower *grower;
    locus_error error;
    int32_t parent, branch;
    const lab_grower_input words = {lab_task_find("copy"), &options, NULL, 1, offsets, input, none};
    assert_int_equal(lab_grower_create(&grower, &words, &error), LOCUS_ERROR_ARGUMENT);
    assert_null(grower);
    const lab_grower_input huge = {lab_task_find("tree-copy"), &options, NULL, 1, offsets, input, limits};
    assert_int_equal(lab_grower_create(&grower, &huge, &error), LOCUS_ERROR_ARGUMENT);
    const lab_grower_input empty = {lab_task_find("tree-copy"), &options, NULL, 1, offsets, input, none};
    assert_int_equal(lab_grower_create(&grower, &empty, &error), LOCUS_OK);
    assert_false(lab_grower_grow(grower, 0, 11, &parent, &branch));
    lab_grower_destroy(&grower);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_targets),        cmocka_unit_test(test_interleaved), cmocka_unit_test(test_garbage),
        cmocka_unit_test(test_only_operators), cmocka_unit_test(test_truncated),   cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
