/* SPDX-License-Identifier: MIT */
/* The tree tasks against plain implementations that share nothing with them: values of expressions with integers mod 3,
 * operations on trees as texts cut and put together by hand; streams, refusals, and the published size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "task/symbol_tree.h"
#include "task/task_class.h"
#include "task/tree_task.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_TEXT 8192

static lab_dataset draw(const char *task, const lab_task_options *options, lab_set which, size_t samples,
                        uint64_t seed) {
    lab_dataset set;
    locus_error error = {0};
    const lab_draw wanted = {lab_task_find(task), options, which, samples, seed};
    if (lab_dataset_generate(&set, &wanted, &error) != LOCUS_OK)
        fail_msg("%s: %s", task, error.message);
    return set;
}

static lab_task_options options_of(const char *task, double depth, lab_order order) {
    lab_task_options options = lab_task_default(lab_task_find(task));
    LAB_TREES(&options)->depth_mean = depth;
    LAB_TREES(&options)->order = order;
    return options;
}

static void text_of(char *text, const int32_t *tokens, const lab_tree_nodes *nodes, const size_t *offsets) {
    lab_tree tree = {0};
    assert_int_equal(lab_tree_from_parents(&tree, offsets[1] - offsets[0], tokens + offsets[0],
                                           nodes->parents + offsets[0], nodes->branches + offsets[0], NULL),
                     LOCUS_OK);
    assert_true(lab_tree_text(&tree, NULL, text, MOST_TEXT) < MOST_TEXT);
    lab_tree_destroy(&tree);
}

/* A function that writes the target of an input from their texts alone. */
typedef void rewrite(const char *input, char *target);

/* An input that is typed is the sample that was drawn. */
static void check_typed(const char *task, const lab_task_options *options, const char *input, const char *target) {
    const lab_task *of = lab_task_find(task);
    static char again[MOST_TEXT];
    lab_dataset set;
    locus_error error;
    if (of->class->read_input(&set, of, options, input, &error) != LOCUS_OK)
        fail_msg("%s %s: %s", task, input, error.message);
    text_of(again, set.input, &set.input_tree, set.input_offsets);
    assert_string_equal(again, input);
    text_of(again, set.target, &set.target_tree, set.target_offsets);
    assert_string_equal(again, target);
    lab_dataset_destroy(&set);
}

static void check_targets(const char *task, const lab_task_options *options, rewrite *expected) {
    lab_dataset set = draw(task, options, LAB_SET_DEV, 400, 3);
    static char input[MOST_TEXT], target[MOST_TEXT], wanted[MOST_TEXT];
    for (size_t s = 0; s < set.samples; s++) {
        text_of(input, set.input, &set.input_tree, set.input_offsets + s);
        text_of(target, set.target, &set.target_tree, set.target_offsets + s);
        expected(input, wanted);
        assert_string_equal(target, wanted);
        if (s % 20 == 0)
            check_typed(task, options, input, target);
    }
    lab_dataset_destroy(&set);
}

static void check_both_orders(const char *task, rewrite *expected) {
    for (size_t arity = 2; arity <= 3; arity++) {
        for (int order = LAB_ORDER_BREADTH; order <= LAB_ORDER_DEPTH; order++) {
            lab_task_options options = options_of(task, arity == 2 ? 6 : 4, (lab_order)order);
            LAB_TREES(&options)->arity = arity;
            check_targets(task, &options, expected);
        }
    }
}

/* ---- texts as trees ---- */

/* Behind the subtree that begins at `text`. */
static const char *behind(const char *text) {
    int open = 0;
    do {
        open += (*text == '(') - (*text == ')');
        text++;
    } while (open > 0 || isdigit((unsigned char)*text));
    return text;
}

static bool is_leaf(const char *text) {
    return *text != '(';
}

/* Of the subtree at `text`: its symbol, and where the next child begins (NULL behind the last), from the first on. */
static int symbol_at(const char *text) {
    return atoi(text + !is_leaf(text));
}

static const char *first_child(const char *text) {
    return is_leaf(text) ? NULL : strchr(text, ' ') + 1;
}

static const char *next_child(const char *child) {
    const char *end = behind(child);
    return *end == ' ' ? end + 1 : NULL;
}

static void append(char *to, const char *text, const char *end) {
    strncat(to, text, (size_t)(end - text));
}

/* ---- what the tasks do to texts ---- */

static void rewrite_copy(const char *input, char *target) {
    strcpy(target, input);
}

static void add_mirrored(const char *tree, char *target) {
    const char *children[8];
    size_t count = 0;
    for (const char *child = first_child(tree); child != NULL; child = next_child(child))
        children[count++] = child;
    sprintf(target + strlen(target), is_leaf(tree) ? "%d" : "(%d", symbol_at(tree));
    while (count > 0) {
        strcat(target, " ");
        add_mirrored(children[--count], target);
    }
    strcat(target, is_leaf(tree) ? "" : ")");
}

static void rewrite_reorder(const char *input, char *target) {
    *target = '\0';
    add_mirrored(input, target);
}

/* Sums mod 3 where all children are leaves. */
static void add_reduced(const char *tree, char *target) {
    int sum = 0, leaves = 0, children = 0;
    for (const char *child = first_child(tree); child != NULL; child = next_child(child)) {
        children++;
        leaves += is_leaf(child);
        sum += symbol_at(child) - 1;
    }
    if (children == 0 || leaves == children) {
        sprintf(target + strlen(target), "%d", children == 0 ? symbol_at(tree) : sum % 3 + 1);
        return;
    }
    strcat(target, "(4");
    for (const char *child = first_child(tree); child != NULL; child = next_child(child)) {
        strcat(target, " ");
        add_reduced(child, target);
    }
    strcat(target, ")");
}

static void rewrite_c3(const char *input, char *target) {
    *target = '\0';
    add_reduced(input, target);
}

/* The subtree whose root is `symbol`, found in the text: symbols differ. */
static const char *find_symbol(const char *tree, int symbol) {
    for (const char *at = tree; *at != '\0'; at++) {
        bool begins = isdigit((unsigned char)*at) && (at == tree || !isdigit((unsigned char)at[-1]));
        if (begins && atoi(at) == symbol)
            return at > tree && at[-1] == '(' ? at - 1 : at;
    }
    return NULL;
}

static void rewrite_ops(const char *input, char *target) {
    const char *name = first_child(input), *tree = next_child(name), *end = behind(tree);
    const char *chosen = find_symbol(tree, symbol_at(name));
    assert_non_null(chosen);
    assert_true(is_leaf(name));
    *target = '\0';
    switch (symbol_at(input)) {
    case 125:
        append(target, chosen, behind(chosen));
        break;
    case 126:
        add_mirrored(chosen, target);
        break;
    case 127:
        append(target, tree, chosen);
        sprintf(target + strlen(target), "%d", symbol_at(chosen));
        append(target, behind(chosen), end);
        break;
    default:
        assert_int_equal(symbol_at(input), 128);
        append(target, tree, end);
    }
}

static void test_targets(void **state) {
    (void)state;
    check_both_orders("tree-copy", rewrite_copy);
    check_both_orders("tree-reorder", rewrite_reorder);
    check_both_orders("tree-c3", rewrite_c3);
    check_both_orders("tree-ops", rewrite_ops);
}

/* All depths of expressions add up: reducing to the end gives the value of the whole, by integers mod 3. */
static int value_of(const char *tree) {
    int sum = symbol_at(tree) - 1;
    if (!is_leaf(tree)) {
        sum = 0;
        for (const char *child = first_child(tree); child != NULL; child = next_child(child))
            sum += value_of(child);
    }
    return sum % 3;
}

static void test_c3_keeps_the_value(void **state) {
    (void)state;
    const lab_task_options options = options_of("tree-c3", 7, LAB_ORDER_DEPTH);
    lab_dataset set = draw("tree-c3", &options, LAB_SET_TRAIN, 300, 1);
    static char input[MOST_TEXT], target[MOST_TEXT];
    for (size_t s = 0; s < set.samples; s++) {
        text_of(input, set.input, &set.input_tree, set.input_offsets + s);
        text_of(target, set.target, &set.target_tree, set.target_offsets + s);
        assert_int_equal(value_of(input), value_of(target));
    }
    lab_dataset_destroy(&set);
}

/* ---- sets ---- */

static bool same_tokens(const lab_dataset *a, const lab_dataset *b, size_t samples) {
    size_t n = a->input_offsets[samples], m = a->target_offsets[samples];
    return memcmp(a->input_offsets, b->input_offsets, (samples + 1) * sizeof(size_t)) == 0 &&
           memcmp(a->target_offsets, b->target_offsets, (samples + 1) * sizeof(size_t)) == 0 &&
           memcmp(a->input, b->input, n * sizeof(int32_t)) == 0 &&
           memcmp(a->target, b->target, m * sizeof(int32_t)) == 0 &&
           memcmp(a->input_tree.parents, b->input_tree.parents, n * sizeof(int32_t)) == 0 &&
           memcmp(a->target_tree.branches, b->target_tree.branches, m * sizeof(int32_t)) == 0;
}

static const char *const names[] = {"tree-copy", "tree-reorder", "tree-c3", "tree-ops"};

static void test_streams(void **state) {
    (void)state;
    for (size_t t = 0; t < 4; t++) {
        const lab_task_options options = options_of(names[t], 5, LAB_ORDER_BREADTH);
        lab_dataset few = draw(names[t], &options, LAB_SET_DEV, 10, 5),
                    many = draw(names[t], &options, LAB_SET_DEV, 300, 5),
                    other_set = draw(names[t], &options, LAB_SET_TEST, 10, 5),
                    other_seed = draw(names[t], &options, LAB_SET_DEV, 10, 6);
        assert_true(same_tokens(&few, &many, 10));
        assert_false(same_tokens(&few, &other_set, 10));
        assert_false(same_tokens(&few, &other_seed, 10));
        lab_dataset_destroy(&few);
        lab_dataset_destroy(&many);
        lab_dataset_destroy(&other_set);
        lab_dataset_destroy(&other_seed);
    }
}

/* Both orders hold the same trees; inputs are the same to the bit. */
static void test_orders_hold_the_same_trees(void **state) {
    (void)state;
    static char one[MOST_TEXT], other[MOST_TEXT];
    for (size_t t = 0; t < 4; t++) {
        const lab_task_options breadth = options_of(names[t], 6, LAB_ORDER_BREADTH),
                               depth = options_of(names[t], 6, LAB_ORDER_DEPTH);
        lab_dataset a = draw(names[t], &breadth, LAB_SET_TRAIN, 200, 2),
                    b = draw(names[t], &depth, LAB_SET_TRAIN, 200, 2);
        assert_memory_equal(a.input_offsets, b.input_offsets, 201 * sizeof(size_t));
        assert_memory_equal(a.input, b.input, a.input_offsets[200] * sizeof(int32_t));
        assert_memory_not_equal(a.target, b.target, a.target_offsets[200] * sizeof(int32_t));
        for (size_t s = 0; s < 200; s++) {
            text_of(one, a.target, &a.target_tree, a.target_offsets + s);
            text_of(other, b.target, &b.target_tree, b.target_offsets + s);
            assert_string_equal(one, other);
        }
        lab_dataset_destroy(&a);
        lab_dataset_destroy(&b);
    }
}

/* N(7, 1): ⌊·⌋ has mean 6.5; trees have 33 nodes (published); the vocabulary is the symbols and the start token. */
static void test_published_size(void **state) {
    (void)state;
    const lab_task_options options = options_of("tree-copy", 7, LAB_ORDER_BREADTH);
    lab_dataset set = draw("tree-copy", &options, LAB_SET_TRAIN, 6000, 0);
    double depths = 0, nodes = (double)set.input_offsets[6000] / 6000;
    for (size_t s = 0; s < 6000; s++) {
        size_t start = set.input_offsets[s];
        depths += (double)lab_tree_order_depth(set.input_offsets[s + 1] - start, set.input_tree.parents + start) / 6000;
    }
    assert_true(fabs(nodes - 33) < 1);
    assert_true(fabs(depths - 6.5) < 0.05); /* 3.7 standard errors */
    assert_int_equal(lab_task_vocabulary(lab_task_find("tree-copy"), &options), 21);
    const lab_task_options c3 = lab_task_with(lab_task_find("tree-c3"), &(lab_tree_options){.symbols = 4});
    assert_int_equal(lab_task_vocabulary(lab_task_find("tree-c3"), &c3), 5);
    lab_dataset_destroy(&set);
}

/* At a tiny depth: leaves for the rest, an operation on one leaf for tree-ops, whose depth is at least 1. */
static void test_least_depth(void **state) {
    (void)state;
    for (size_t t = 0; t < 4; t++) {
        lab_task_options options = options_of(names[t], 0, LAB_ORDER_DEPTH);
        LAB_TREES(&options)->depth_deviation = 0;
        lab_dataset set = draw(names[t], &options, LAB_SET_TRAIN, 50, 0);
        assert_int_equal(set.input_offsets[50], t == 3 ? 150 : 50);
        assert_int_equal(set.target_offsets[50], 50);
        lab_dataset_destroy(&set);
    }
    lab_task_options options = options_of("tree-copy", 0, LAB_ORDER_DEPTH);
    lab_dataset set = draw("tree-copy", &options, LAB_SET_TRAIN, 300, 0);
    assert_in_range(set.input_offsets[300], 301, 2000); /* half of N(0, 1) is below 0: a leaf */
    lab_dataset_destroy(&set);
    set = draw("tree-copy", &options, LAB_SET_TRAIN, 0, 0);
    assert_non_null(set.input_tree.parents);
    lab_dataset_destroy(&set);
}

/* Each operation a quarter of the time, and every node is chosen as often as any other: at depth 2 the tree is
 * (o l l). */
static void test_ops_choices(void **state) {
    (void)state;
    lab_task_options options = options_of("tree-ops", 2, LAB_ORDER_DEPTH);
    LAB_TREES(&options)->depth_deviation = 0;
    lab_dataset set = draw("tree-ops", &options, LAB_SET_TRAIN, 12000, 4);
    double operations[4] = {0}, chosen[3] = {0}, square = 0;
    for (size_t s = 0; s < set.samples; s++) {
        const int32_t *input = set.input + set.input_offsets[s]; /* root name op left right */
        assert_int_equal(set.input_offsets[s + 1] - set.input_offsets[s], 5);
        operations[input[0] - 125]++;
        chosen[input[1] == input[2] ? 0 : input[1] == input[3] ? 1 : 2]++;
    }
    for (int i = 0; i < 4; i++) {
        square += (operations[i] - 3000) * (operations[i] - 3000) / 3000;
        square += i < 3 ? (chosen[i] - 4000) * (chosen[i] - 4000) / 4000 : 0;
    }
    assert_true(square < 20.5); /* χ² with 3 + 2 degrees: once in a thousand */
    lab_dataset_destroy(&set);
}

static void test_symbols(void **state) {
    (void)state;
    lab_task_options options = options_of("tree-reorder", 4, LAB_ORDER_BREADTH);
    LAB_TREES(&options)->symbols = 6;
    lab_dataset set = draw("tree-reorder", &options, LAB_SET_TRAIN, 200, 0);
    const lab_task *task = lab_task_find("tree-reorder");
    for (size_t i = 0; i < set.input_offsets[200]; i++)
        assert_in_range(set.input[i], 1, 6);
    assert_int_equal(task->children(&options, 0, NULL, 3), 0);
    assert_int_equal(task->children(&options, 0, NULL, 4), 2);
    assert_int_equal(task->children(&options, 0, NULL, 7), 0);
    lab_dataset_destroy(&set);
}

static void test_refusals(void **state) {
    (void)state;
    static const struct {
        const char *task;
        double depth, deviation;
        size_t symbols, arity;
        const char *argument;
    } bad[] = {
        {"tree-copy", -1, 1, 20, 2, "depth"},
        {"tree-copy", (double)NAN, 1, 20, 2, "depth"},
        {"tree-copy", 7, -1, 20, 2, "depth-deviation"},
        {"tree-copy", 7, (double)NAN, 20, 2, "depth-deviation"},
        {"tree-copy", 7, 1000, 20, 2, "depth-deviation"},
        {"tree-copy", 100, 0, 20, 2, "depth"},
        {"tree-copy", 30, 12, 20, 2, "depth"},
        {"tree-c3", 40, 0, 4, 4, "depth"},
        {"tree-copy", 7, 1, 21, 2, "symbols"},
        {"tree-reorder", 7, 1, 0, 2, "symbols"},
        {"tree-c3", 7, 1, 6, 2, "symbols"},
        {"tree-ops", 7, 1, 64, 2, "symbols"},
        {"tree-copy", 7, 1, 20, 0, "arity"},
        {"tree-copy", 7, 1, 20, 17, "arity"},
        {"tree-ops", 7, 1, 128, 1, "arity"},
        {"tree-ops", 40, 1, 128, 2, "depth"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        lab_dataset set;
        locus_error error = {0};
        const lab_tree_options own = {bad[i].depth, bad[i].deviation, bad[i].symbols, bad[i].arity, LAB_ORDER_BREADTH};
        const lab_task_options options = lab_task_with(lab_task_find(bad[i].task), &own);
        const lab_draw wanted = {lab_task_find(bad[i].task), &options, LAB_SET_TRAIN, 3, 0};
        assert_true(lab_dataset_generate(&set, &wanted, &error) != LOCUS_OK);
        assert_string_equal(error.argument, bad[i].argument);
        assert_true(error.message[0] != '\0');
        assert_null(set.input);
        assert_null(set.input_tree.parents);
    }
}

/* A set that no memory holds is refused at once. */
static void test_too_many(void **state) {
    (void)state;
    for (size_t t = 0; t < 4; t++) {
        lab_dataset set;
        locus_error error = {0};
        const lab_task_options options = lab_task_default(lab_task_find(names[t]));
        const lab_draw wanted = {lab_task_find(names[t]), &options, LAB_SET_TRAIN, UINT32_MAX, 0};
        assert_int_equal(lab_dataset_generate(&set, &wanted, &error), LOCUS_ERROR_ARGUMENT);
        assert_string_equal(error.argument, "n");
        assert_null(set.input_offsets);
    }
}

static void test_typed_refusals(void **state) {
    static const struct {
        const char *task, *input, *message;
    } cases[] = {
        {"tree-copy", "", "character 1 of a tree: expected a symbol"},
        {"tree-copy", "(11 3)",
         "11 has 1 children, and the task's trees have 2 there: leaves are 1 to 10, operators 11 to 20"},
        {"tree-reorder", "11",
         "11 has 0 children, and the task's trees have 2 there: leaves are 1 to 10, operators 11 to 20"},
        {"tree-copy", "(11 3 21)", "21 is no symbol of a tree: leaves are 1 to 10, operators 11 to 20"},
        {"tree-c3", "(4 0 1)", "0 is no symbol of a tree: leaves are 1 to 3, operators 4 to 4"},
        {"tree-ops", "(125 4 3)",
         "give (operation name tree): an operation 125 to 128, a leaf that names a node of the tree, and a tree in "
         "which no symbol stands twice"},
        {"tree-ops", "(125 3 (65 3 3))", "give (operation name tree): "},
        {"tree-ops", "(124 3 3)", "give (operation name tree): "},
        {"tree-ops", "(125 (65 3 4) 3)", "give (operation name tree): "},
        {"tree-ops", "125", "give (operation name tree): "},
        {"tree-ops", "(125 3 (65 3 125))", "125 is no symbol of a tree: leaves are 1 to 64, operators 65 to 124"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const lab_task *of = lab_task_find(cases[i].task);
        const lab_task_options options = lab_task_default(of);
        lab_dataset set;
        locus_error error;
        assert_int_equal(of->class->read_input(&set, of, &options, cases[i].input, &error), LOCUS_ERROR_ARGUMENT);
        assert_string_equal(error.argument, "input");
        assert_memory_equal(error.message, cases[i].message, strlen(cases[i].message));
        assert_null(set.input);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_targets),        cmocka_unit_test(test_c3_keeps_the_value),
        cmocka_unit_test(test_streams),        cmocka_unit_test(test_orders_hold_the_same_trees),
        cmocka_unit_test(test_published_size), cmocka_unit_test(test_least_depth),
        cmocka_unit_test(test_ops_choices),    cmocka_unit_test(test_symbols),
        cmocka_unit_test(test_refusals),       cmocka_unit_test(test_too_many),
        cmocka_unit_test(test_typed_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
