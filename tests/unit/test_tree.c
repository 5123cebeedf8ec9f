/* SPDX-License-Identifier: MIT */
/* Trees: both orders invert back from parents and from paths, s-expressions round-trip, mirror twice is identity, a
 * broken order or text is refused; random trees have an exact depth and the distribution that enumeration gives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "task/symbol_tree.h"
#include "task/tree_random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static lab_draws stream(uint32_t sample) {
    return (lab_draws){{7, LOCUS_RANDOM_USER, sample}, 0};
}

static lab_tree drawn(size_t depth, size_t arity, uint32_t sample) {
    lab_draws draws = stream(sample);
    const lab_tree_plan plan = {depth, arity, {10, 10}, false};
    lab_tree tree = {0};
    assert_int_equal(lab_tree_draw(&tree, &plan, &draws, NULL), LOCUS_OK);
    return tree;
}

static lab_tree parsed(const char *text) {
    lab_tree tree = {0};
    locus_error error = {0};
    if (lab_tree_parse(&tree, text, &error) != LOCUS_OK)
        fail_msg("%s: %s", text, error.message);
    return tree;
}

/* ---- orders and texts ---- */

static void test_orders_by_hand(void **state) {
    (void)state;
    static const int32_t breadth[] = {11, 12, 3, 13, 4, 1, 2}, breadth_parents[] = {-1, 0, 0, 1, 1, 3, 3},
                         depth[] = {11, 12, 13, 1, 2, 4, 3}, depth_parents[] = {-1, 0, 1, 2, 2, 1, 0};
    static const char *const breadth_paths[] = {"0", "1", "2", "1+1", "1+2", "1+1+1", "1+1+2"};
    lab_tree tree = parsed("(11 (12 (13 1 2) 4) 3)");
    int32_t tokens[7], parents[7], branches[7];
    assert_int_equal(tree.count, 7);
    assert_int_equal(lab_tree_depth(&tree), 3);
    lab_tree_write(&tree, LAB_ORDER_DEPTH, tokens, parents, branches);
    assert_memory_equal(tokens, depth, sizeof tokens);
    assert_memory_equal(parents, depth_parents, sizeof tokens);
    lab_tree_write(&tree, LAB_ORDER_BREADTH, tokens, parents, branches);
    assert_memory_equal(tokens, breadth, sizeof tokens);
    assert_memory_equal(parents, breadth_parents, sizeof tokens);
    for (size_t i = 0; i < 7; i++) {
        char text[16];
        assert_int_equal(lab_tree_path_text(parents, branches, i, text, sizeof text), strlen(breadth_paths[i]));
        assert_string_equal(text, breadth_paths[i]);
    }
    lab_tree_destroy(&tree);
}

static void check_paths(const lab_tree *tree, size_t n, const int32_t *tokens, const int32_t *parents,
                        const int32_t *branches) {
    char(*texts)[64] = calloc(n, sizeof *texts);
    const char **paths = calloc(n, sizeof *paths);
    lab_tree back = {0};
    for (size_t i = 0; i < n; i++) {
        assert_true(lab_tree_path_text(parents, branches, i, texts[i], sizeof texts[i]) < sizeof texts[i]);
        paths[i] = texts[i];
    }
    assert_int_equal(lab_tree_from_paths(&back, n, tokens, paths, NULL), LOCUS_OK);
    assert_true(lab_tree_equal(tree, &back));
    lab_tree_destroy(&back);
    free(texts);
    free(paths);
}

static void check_round_trips(const lab_tree *tree) {
    size_t n = tree->count;
    int32_t *tokens = calloc(3 * n, sizeof *tokens), *parents = tokens + n, *branches = tokens + 2 * n;
    lab_tree back = {0};
    for (int order = LAB_ORDER_BREADTH; order <= LAB_ORDER_DEPTH; order++) {
        lab_tree_write(tree, (lab_order)order, tokens, parents, branches);
        assert_int_equal(lab_tree_from_parents(&back, n, tokens, parents, branches, NULL), LOCUS_OK);
        assert_true(lab_tree_equal(tree, &back));
        assert_int_equal(lab_tree_order_depth(n, parents), lab_tree_depth(tree));
        check_paths(tree, n, tokens, parents, branches);
    }
    char *text = lab_tree_string(tree, NULL);
    assert_non_null(text);
    assert_int_equal(lab_tree_parse(&back, text, NULL), LOCUS_OK);
    assert_true(lab_tree_equal(tree, &back));
    lab_tree_destroy(&back);
    free(text);
    free(tokens);
}

static void test_round_trips(void **state) {
    (void)state;
    for (size_t arity = 1; arity <= 4; arity++) {
        for (uint32_t sample = 0; sample < 40; sample++) {
            lab_tree tree = drawn(sample % 7, arity, sample);
            assert_int_equal(lab_tree_depth(&tree), sample % 7);
            check_round_trips(&tree);
            lab_tree_destroy(&tree);
        }
    }
}

/* Breadth first: levels never fall. Depth first: a token's parent is the one before it, or an ancestor of that. */
static void test_order_laws(void **state) {
    (void)state;
    for (uint32_t sample = 0; sample < 60; sample++) {
        lab_tree tree = drawn(7, 1 + sample % 3, sample);
        size_t n = tree.count;
        int32_t *tokens = calloc(4 * n, sizeof *tokens), *parents = tokens + n, *branches = parents + n,
                *levels = branches + n;
        for (int order = LAB_ORDER_BREADTH; order <= LAB_ORDER_DEPTH; order++) {
            lab_tree_write(&tree, (lab_order)order, tokens, parents, branches);
            for (size_t i = 1; i < n; i++) {
                levels[i] = levels[parents[i]] + 1;
                int32_t above = (int32_t)i - 1;
                while (above >= 0 && above != parents[i])
                    above = parents[above];
                assert_true(order == LAB_ORDER_BREADTH ? levels[i] >= levels[i - 1] : above == parents[i]);
            }
        }
        free(tokens);
        lab_tree_destroy(&tree);
    }
}

static void test_mirror(void **state) {
    (void)state;
    lab_tree plain = parsed("(5 1 (6 2 3 4) 7)"), turned = parsed("(5 7 (6 4 3 2) 1)");
    assert_false(lab_tree_equal(&plain, &turned));
    lab_tree_mirror(&plain);
    assert_true(lab_tree_equal(&plain, &turned));
    lab_tree_destroy(&plain);
    lab_tree_destroy(&turned);
    for (uint32_t sample = 0; sample < 60; sample++) {
        lab_tree tree = drawn(6, 1 + sample % 4, sample), copy = {0};
        assert_true(lab_tree_graft(&copy, LAB_TREE_NONE, &tree, 0, NULL));
        assert_true(lab_tree_equal(&tree, &copy));
        lab_tree_mirror(&copy);
        check_round_trips(&copy); /* a mirrored tree is a tree */
        lab_tree_mirror(&copy);
        assert_true(lab_tree_equal(&tree, &copy));
        lab_tree_destroy(&tree);
        lab_tree_destroy(&copy);
    }
}

static void test_equality(void **state) {
    (void)state;
    static const char *const texts[] = {"1",           "2",         "(3 1 2)",     "(3 2 1)",      "(3 (3 1) 2)",
                                        "(3 3 (1 2))", "(3 3 1 2)", "(3 (3 1 2))", "(3 (3 (1 2)))"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        for (size_t j = 0; j < sizeof texts / sizeof *texts; j++) {
            lab_tree a = parsed(texts[i]), b = parsed(texts[j]);
            assert_int_equal(lab_tree_equal(&a, &b), i == j);
            lab_tree_destroy(&a);
            lab_tree_destroy(&b);
        }
    }
}

/* A chain of 100,000 nodes: nothing recurses. */
static void test_deep(void **state) {
    (void)state;
    const int32_t n = 100000;
    lab_tree tree = {0}, copy = {0};
    for (int32_t i = 0; i < n; i++)
        assert_int_equal(lab_tree_add(&tree, i - 1, 1), i);
    assert_int_equal(lab_tree_depth(&tree), n - 1);
    char *text = lab_tree_string(&tree, NULL);
    assert_int_equal(lab_tree_parse(&copy, text, NULL), LOCUS_OK);
    assert_true(lab_tree_equal(&tree, &copy));
    lab_tree_clear(&copy);
    assert_true(lab_tree_graft(&copy, LAB_TREE_NONE, &tree, 0, NULL));
    lab_tree_mirror(&copy);
    assert_true(lab_tree_equal(&tree, &copy));
    free(text);
    lab_tree_destroy(&tree);
    lab_tree_destroy(&copy);
}

static void test_bad_texts(void **state) {
    (void)state;
    static const struct {
        const char *text;
        ptrdiff_t offset;
    } bad[] = {{"", 0},
               {"(", 1},
               {"(5", 2},
               {"(5)", 2},
               {"()", 1},
               {"(5 1", 4},
               {"5 1", 2},
               {"(5 1))", 5},
               {"x", 0},
               {"(5 x)", 3},
               {"((5 1))", 1},
               {"-1", 0},
               {"(5 1 2147483648)", 5},
               {"  )", 2}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        lab_tree tree = {0};
        locus_error error = {0};
        assert_int_equal(lab_tree_parse(&tree, bad[i].text, &error), LOCUS_ERROR_SPEC);
        assert_int_equal(error.offset, bad[i].offset);
        lab_tree_destroy(&tree);
    }
    lab_tree tree = parsed(" ( 2147483647\t0 ( 1 2 )\n) "), same = parsed("(2147483647 0 (1 2))");
    assert_true(lab_tree_equal(&tree, &same));
    lab_tree_destroy(&tree);
    lab_tree_destroy(&same);
}

static void test_text_is_cut(void **state) {
    (void)state;
    lab_tree tree = parsed("(11 3 (12 1 2))");
    char text[8] = "";
    assert_int_equal(lab_tree_text(&tree, NULL, text, sizeof text), 15);
    assert_string_equal(text, "(11 3 (");
    assert_int_equal(lab_tree_text(&tree, NULL, NULL, 0), 15);
    lab_tree_destroy(&tree);
}

static void test_bad_orders(void **state) {
    (void)state;
    static const int32_t tokens[] = {3, 1, 2};
    static const int32_t parents[][3] = {{0, 0, 0},  {-1, -1, 0}, {-1, 1, 0}, {-1, 0, 7},
                                         {-1, 0, 0}, {-1, 0, 0},  {-1, 0, 0}};
    static const int32_t branches[][3] = {{0, 1, 2}, {0, 1, 1}, {0, 1, 1}, {0, 1, 1}, {0, 1, 1}, {0, 2, 1}, {1, 1, 2}};
    lab_tree tree = {0};
    locus_error error;
    for (size_t i = 0; i < sizeof parents / sizeof *parents; i++) {
        assert_int_equal(lab_tree_from_parents(&tree, 3, tokens, parents[i], branches[i], &error),
                         LOCUS_ERROR_ARGUMENT);
    }
    static const struct {
        const char *paths[3];
        locus_status status;
    } bad[] = {{{"1", "2", "3"}, LOCUS_ERROR_ARGUMENT},
               {{"0", "0", "1"}, LOCUS_ERROR_ARGUMENT},
               {{"0", "2", "1"}, LOCUS_ERROR_ARGUMENT},
               {{"0", "1", "1"}, LOCUS_ERROR_ARGUMENT},
               {{"0", "1", "2+1"}, LOCUS_ERROR_ARGUMENT},
               {{"0", "1+1", "1"}, LOCUS_ERROR_ARGUMENT},
               {{"0", "1+1+1", "1"}, LOCUS_ERROR_ARGUMENT},
               {{"0", "", "1"}, LOCUS_ERROR_SPEC},
               {{"0", "1+", "1"}, LOCUS_ERROR_SPEC},
               {{"0", "-1", "1"}, LOCUS_ERROR_SPEC},
               {{"0", "1", "1+0"}, LOCUS_ERROR_SPEC},
               {{"0", "1", "1+x"}, LOCUS_ERROR_SPEC},
               {{"0", "1", "99999999999"}, LOCUS_ERROR_ARGUMENT}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(lab_tree_from_paths(&tree, 3, tokens, bad[i].paths, &error), bad[i].status);
    lab_tree_destroy(&tree);
}

/* ---- random trees ---- */

#define MOST_SHAPES 64

/* A distribution over shapes, as texts in which every symbol is 0. */
typedef struct shapes {
    size_t count;
    char text[MOST_SHAPES][96];
    double chance[MOST_SHAPES], seen[MOST_SHAPES];
} shapes;

static void add_shape(shapes *to, const char *text, double chance) {
    size_t i = 0;
    while (i < to->count && strcmp(to->text[i], text) != 0)
        i++;
    if (i == to->count) {
        assert_true(to->count < MOST_SHAPES);
        strcpy(to->text[to->count++], text);
    }
    to->chance[i] += chance;
}

/* Every pair of a left tree of depth `left` and a right one of depth `right`. */
static void add_pairs(shapes *to, const shapes *left, const shapes *right, double chance) {
    for (size_t i = 0; chance > 0 && i < left->count; i++) {
        for (size_t j = 0; j < right->count; j++) {
            char text[256];
            snprintf(text, sizeof text, "(0 %s %s)", left->text[i], right->text[j]);
            add_shape(to, text, chance * left->chance[i] * right->chance[j]);
        }
    }
}

/* The definition, binary: u uniform; the other has δ − 1 if u < δ − 1, else v uniform; sides random. */
static void enumerate(shapes by_depth[4]) {
    memset(by_depth, 0, 4 * sizeof *by_depth);
    add_shape(&by_depth[0], "0", 1.0);
    for (size_t d = 1; d < 4; d++) {
        for (size_t u = 0; u < d; u++) {
            for (size_t v = 0; v < d; v++) {
                double chance = u < d - 1 ? (v == d - 1 ? 1.0 : 0.0) : 1.0 / (double)d;
                add_pairs(&by_depth[d], &by_depth[u], &by_depth[v], chance / (double)d / 2);
                add_pairs(&by_depth[d], &by_depth[v], &by_depth[u], chance / (double)d / 2);
            }
        }
    }
}

static void test_shape_distribution(void **state) {
    (void)state;
    static shapes by_depth[4];
    enumerate(by_depth);
    assert_int_equal(by_depth[1].count, 1);
    assert_int_equal(by_depth[2].count, 3);
    assert_int_equal(by_depth[3].count, 21); /* all trees of depth 3: 5² − 2² */
    for (size_t depth = 0; depth < 4; depth++) {
        const double draws = 20000;
        shapes *all = &by_depth[depth];
        double square = 0, total = 0;
        for (uint32_t i = 0; i < (uint32_t)draws; i++) {
            lab_tree tree = drawn(depth, 2, i);
            char text[128];
            for (size_t node = 0; node < tree.count; node++)
                tree.nodes[node].symbol = 0;
            assert_true(lab_tree_text(&tree, NULL, text, sizeof text) < sizeof text);
            size_t at = 0;
            while (at < all->count && strcmp(all->text[at], text) != 0)
                at++;
            assert_true(at < all->count);
            all->seen[at]++;
            lab_tree_destroy(&tree);
        }
        for (size_t i = 0; i < all->count; i++) {
            double wanted = draws * all->chance[i];
            square += (all->seen[i] - wanted) * (all->seen[i] - wanted) / wanted;
            total += all->chance[i];
        }
        assert_true(fabs(total - 1.0) < 1e-12);
        assert_true(square < 45.3); /* χ² with 20 degrees: once in a thousand */
    }
}

/* k = 3, depth 2: of the three depths none, one, two or three are 1: the first two are uniform on {0, 1}, the third is
 * 1 if both are 0, else uniform. P(1) = 1/4 + 1/4, P(2) = 1/4 + 1/8, P(3) = 1/8. */
static void test_three_children(void **state) {
    (void)state;
    static const double chance[] = {0.0, 0.5, 0.375, 0.125};
    const double draws = 20000;
    double seen[4] = {0}, first = 0, square = 0;
    for (uint32_t i = 0; i < (uint32_t)draws; i++) {
        lab_tree tree = drawn(2, 3, i);
        size_t inner = 0, deepest = 0;
        for (size_t c = 1; c <= 3; c++) {
            inner += tree.nodes[c].first >= 0;
            deepest = tree.nodes[c].first >= 0 ? c : deepest;
        }
        seen[inner]++;
        first += inner == 1 && deepest == 1;
        lab_tree_destroy(&tree);
    }
    assert_true(seen[0] == 0);
    for (size_t i = 1; i <= 3; i++)
        square += (seen[i] - draws * chance[i]) * (seen[i] - draws * chance[i]) / (draws * chance[i]);
    assert_true(square < 13.8);                            /* 2 degrees */
    assert_true(fabs(first / seen[1] - 1.0 / 3) < 0.0165); /* sides at random: 3.5 standard errors */
}

/* Means over draws against the recursion, at k = 2 and k = 3; the recursion against enumeration. */
static void test_expected_nodes(void **state) {
    (void)state;
    static shapes by_depth[4];
    enumerate(by_depth);
    for (size_t depth = 0; depth < 4; depth++) {
        double mean = 0;
        for (size_t i = 0; i < by_depth[depth].count; i++) {
            lab_tree tree = parsed(by_depth[depth].text[i]);
            mean += by_depth[depth].chance[i] * (double)tree.count;
            lab_tree_destroy(&tree);
        }
        assert_true(fabs(mean - lab_tree_expected_nodes(depth, 2)) < 1e-9);
    }
    for (size_t arity = 1; arity <= 3; arity++) {
        double sum = 0, squares = 0, draws = 4000;
        for (uint32_t i = 0; i < (uint32_t)draws; i++) {
            lab_tree tree = drawn(5, arity, i);
            sum += (double)tree.count;
            squares += (double)tree.count * (double)tree.count;
            lab_tree_destroy(&tree);
        }
        double mean = sum / draws, error = sqrt((squares / draws - mean * mean) / draws);
        assert_true(fabs(mean - lab_tree_expected_nodes(5, arity)) <= 3.5 * error);
    }
}

static void test_labels_are_uniform(void **state) {
    (void)state;
    double counts[21] = {0}, leaves = 0, inner = 0, square = 0;
    for (uint32_t i = 0; i < 2000; i++) {
        lab_tree tree = drawn(6, 2, i);
        for (size_t node = 0; node < tree.count; node++) {
            bool leaf = tree.nodes[node].first < 0;
            assert_in_range(tree.nodes[node].symbol, leaf ? 1 : 11, leaf ? 10 : 20);
            counts[tree.nodes[node].symbol]++;
            *(leaf ? &leaves : &inner) += 1;
        }
        lab_tree_destroy(&tree);
    }
    for (int v = 1; v <= 20; v++) {
        double wanted = (v <= 10 ? leaves : inner) / 10;
        square += (counts[v] - wanted) * (counts[v] - wanted) / wanted;
    }
    assert_true(square < 42.4); /* χ² with 18 degrees: once in a thousand */
}

/* Symbols all differ, each is as likely as another, and what can't be had is refused. */
static void test_unique(void **state) {
    (void)state;
    double counts[125] = {0}, leaves = 0, inner = 0, square = 0;
    lab_tree tree = {0};
    for (uint32_t i = 0; i < 4000; i++) {
        lab_draws draws = stream(i);
        const lab_tree_plan plan = {7, 2, {64, 60}, true};
        bool seen[125] = {false};
        assert_int_equal(lab_tree_draw(&tree, &plan, &draws, NULL), LOCUS_OK);
        assert_int_equal(lab_tree_depth(&tree), 7);
        for (size_t node = 0; node < tree.count; node++) {
            int32_t symbol = tree.nodes[node].symbol;
            bool leaf = tree.nodes[node].first < 0;
            assert_in_range(symbol, leaf ? 1 : 65, leaf ? 64 : 124);
            assert_false(seen[symbol]);
            seen[symbol] = true;
            counts[symbol]++;
            *(leaf ? &leaves : &inner) += 1;
        }
    }
    for (int v = 1; v <= 124; v++) {
        double wanted = v <= 64 ? leaves / 64 : inner / 60;
        square += (counts[v] - wanted) * (counts[v] - wanted) / wanted;
    }
    assert_true(square < 176); /* χ² with 122 degrees; without replacement it is smaller still */
    lab_draws draws = stream(0);
    locus_error error;
    const lab_tree_plan hopeless = {61, 2, {64, 60}, true}, scarce = {0, 2, {0, 60}, true};
    assert_int_equal(lab_tree_draw(&tree, &hopeless, &draws, &error), LOCUS_ERROR_UNSUPPORTED);
    assert_string_equal(error.message, "no tree of depth 61 was found that has at most 64 leaves and 60 operators, so "
                                       "that all symbols differ: give a smaller depth");
    assert_int_equal(lab_tree_draw(&tree, &scarce, &draws, &error), LOCUS_ERROR_UNSUPPORTED);
    assert_string_equal(error.message, "no tree of depth 0 was found that has at most 0 leaves and 60 operators, so "
                                       "that all symbols differ: give a smaller depth");
    /* Just enough: a leaf, and a chain of two. */
    const lab_tree_plan leaf = {0, 2, {1, 0}, true}, chain = {2, 1, {1, 2}, true};
    assert_int_equal(lab_tree_draw(&tree, &leaf, &draws, &error), LOCUS_OK);
    assert_int_equal(tree.nodes[0].symbol, 1);
    assert_int_equal(lab_tree_draw(&tree, &chain, &draws, &error), LOCUS_OK);
    assert_int_equal(tree.nodes[0].symbol + tree.nodes[1].symbol + 10 * tree.nodes[2].symbol, 2 + 3 + 10);
    lab_tree_destroy(&tree);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_orders_by_hand),     cmocka_unit_test(test_round_trips),
        cmocka_unit_test(test_order_laws),         cmocka_unit_test(test_mirror),
        cmocka_unit_test(test_equality),           cmocka_unit_test(test_deep),
        cmocka_unit_test(test_bad_texts),          cmocka_unit_test(test_text_is_cut),
        cmocka_unit_test(test_bad_orders),         cmocka_unit_test(test_shape_distribution),
        cmocka_unit_test(test_three_children),     cmocka_unit_test(test_expected_nodes),
        cmocka_unit_test(test_labels_are_uniform), cmocka_unit_test(test_unique),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
