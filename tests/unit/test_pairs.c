/* SPDX-License-Identifier: MIT */
/* Pairs of one's own: tokens by hand in all three cuts and as ids, trees that grow again from their own symbols or say
 * why they don't, samples that sets share, a vocabulary that is kept and recalled, inputs as they are typed, and each
 * way in which a line can be wrong, told with its number. */
#include "task/growth.h"
#include "task/own/pairs.h"
#include "task/set_text.h"
#include "task/task_class.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "unit/scratch_folder.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void put(const char *name, const char *text) {
    scratch_write(name, text, strlen(text));
}

/* One file as all three sets, or each its own. */
static lab_task_options one_file(const char *path) {
    return (lab_task_options){.path = path, .dev = path, .test = path};
}

static locus_status draw(lab_dataset *set, const lab_task_options *options, lab_set which, locus_error *error) {
    const lab_draw wanted = {lab_task_find("pairs"), options, which, 0, 0};
    return lab_dataset_generate(set, &wanted, error);
}

static lab_dataset drawn(const lab_task_options *options, lab_set which) {
    lab_dataset set;
    locus_error error = {0};
    if (draw(&set, options, which, &error) != LOCUS_OK)
        fail_msg("%s", error.message);
    return set;
}

static lab_pair_facts looked(const lab_task_options *options) {
    lab_pair_facts facts;
    locus_error error = {0};
    if (lab_pairs_look(options, 0, &facts, &error) != LOCUS_OK)
        fail_msg("%s", error.message);
    return facts;
}

static void expect_tokens(const int32_t *tokens, const size_t offsets[2], size_t count, const int32_t *wanted) {
    assert_int_equal(offsets[1] - offsets[0], count);
    assert_memory_equal(tokens + offsets[0], wanted, count * sizeof *wanted);
}
#define EXPECT(set, side, sample, ...) \
    expect_tokens((set).side, (set).side##_offsets + (sample), COUNT(((int32_t[]){__VA_ARGS__})), \
                  (const int32_t[]){__VA_ARGS__})

/* ---- tokens ---- */

static void test_words(void **state) {
    (void)state;
    put("train.jsonl", "{\"input_text\": \" b  a\", \"target_text\": \"a c\"}\r\n"
                       "{\"target_text\": \"\", \"input_text\": \"c\"}\n\r\n\n");
    put("test.jsonl", "{\"input_text\": \"a new\", \"target_text\": \"old b\"}\n");
    lab_task_options options = one_file(scratch_path("train.jsonl"));
    options.test = scratch_path("test.jsonl");
    lab_dataset train = drawn(&options, LAB_SET_TRAIN), test = drawn(&options, LAB_SET_TEST);
    assert_int_equal(train.samples, 2);
    EXPECT(train, input, 0, 2, 3);
    EXPECT(train, target, 0, 3, 4);
    EXPECT(train, input, 1, 4);
    assert_int_equal(train.target_offsets[2] - train.target_offsets[1], 0); /* all but the end token */
    EXPECT(test, input, 0, 3, 1);
    EXPECT(test, target, 0, 1, 2);
    const lab_pair_facts facts = looked(&options);
    assert_true(facts.vocabulary == 6 && facts.arity == 0 && facts.stuck == NULL && !facts.ids && facts.digest != 0);
    assert_int_equal(facts.unknown[LAB_SET_TEST], 2);
    char *text = lab_set_text(&train, train.input, &train.input_tree, 2, NULL);
    assert_string_equal(text, "b a");
    free(text);
    assert_string_equal(train.names[5], "<end>");
    lab_dataset_destroy(&train);
    lab_dataset_destroy(&test);
}

static void test_cuts(void **state) {
    (void)state;
    put("train.jsonl", "{\"input_text\": \"\xc3\xa9 a\", \"target_text\": \"a\"}\n");
    lab_task_options options = one_file(scratch_path("train.jsonl"));
    LAB_PAIRS(&options)->tokens = LAB_TOKENS_CHARACTERS;
    lab_dataset set = drawn(&options, LAB_SET_TRAIN);
    EXPECT(set, input, 0, 2, 3, 4);
    EXPECT(set, target, 0, 4);
    char *text = lab_set_text(&set, set.input, &set.input_tree, 3, NULL);
    assert_string_equal(text, "\xc3\xa9 a");
    free(text);
    lab_dataset_destroy(&set);
    LAB_PAIRS(&options)->tokens = LAB_TOKENS_BYTES;
    set = drawn(&options, LAB_SET_DEV);
    EXPECT(set, input, 0, 2 + 0xc3, 2 + 0xa9, 2 + ' ', 2 + 'a');
    lab_dataset_destroy(&set);
    assert_int_equal(looked(&options).vocabulary, 256 + 3);
}

/* Ids from 1 on are tokens as they are, so that a task of locus and its files are one; with a 0 all move by one. */
static void test_ids(void **state) {
    (void)state;
    put("one.jsonl", "{\"input\": [4, 1], \"target\": [1], \"input_text\": \"4 1\", \"target_text\": \"1\"}\n");
    lab_task_options options = one_file(scratch_path("one.jsonl"));
    lab_dataset set = drawn(&options, LAB_SET_TRAIN);
    EXPECT(set, input, 0, 4, 1);
    lab_dataset_destroy(&set);
    lab_pair_facts facts = looked(&options);
    assert_true(facts.vocabulary == 6 && facts.ids);
    put("zero.jsonl", "{\"input\": [4, 0], \"target\": []}\n");
    options = one_file(scratch_path("zero.jsonl"));
    set = drawn(&options, LAB_SET_TRAIN);
    EXPECT(set, input, 0, 5, 1);
    char *text = lab_set_text(&set, set.input, &set.input_tree, 2, NULL);
    assert_string_equal(text, "4 0");
    free(text);
    lab_dataset_destroy(&set);
    assert_int_equal(looked(&options).vocabulary, 7);
}

/* ---- trees ---- */

#define TREE(tokens, paths) \
    "{\"input\": [1], \"input_paths\": [\"0\"], \"target\": " tokens ", \"target_paths\": " paths "}\n"

/* Fed with its own symbols each target grows to what it was. */
static void expect_growth(const lab_dataset *set, lab_order order) {
    lab_task_options options = lab_task_with(lab_task_find("pairs"), &(lab_pair_options){.arity = 2, .order = order});
    size_t limits[8];
    for (size_t s = 0; s < set->samples; s++)
        limits[s] = set->target_offsets[s + 1] - set->target_offsets[s];
    const lab_grower_input input = {.task = lab_task_find("pairs"),
                                    .options = &options,
                                    .table = set->children,
                                    .samples = set->samples,
                                    .input_offsets = set->input_offsets,
                                    .input = set->input,
                                    .limits = limits};
    lab_grower *grower;
    assert_non_null(set->children);
    assert_int_equal(lab_grower_create(&grower, &input, NULL), LOCUS_OK);
    for (size_t s = 0; s < set->samples; s++) {
        for (size_t i = set->target_offsets[s]; i < set->target_offsets[s + 1]; i++) {
            int32_t parent, branch;
            const bool open = lab_grower_grow(grower, s, set->target[i], &parent, &branch);
            assert_int_equal(parent, set->target_tree.parents[i]);
            assert_int_equal(branch, set->target_tree.branches[i]);
            assert_int_equal(open, i + 1 < set->target_offsets[s + 1]);
        }
    }
    lab_grower_destroy(&grower);
}

static void test_trees(void **state) {
    (void)state;
    static const struct {
        const char *text;
        lab_order order;
    } files[] = {
        {TREE("[9, 8, 3, 3, 5]", "[\"0\", \"1\", \"2\", \"1+1\", \"1+2\"]") TREE("[3]", "[\"0\"]"), LAB_ORDER_BREADTH},
        {TREE("[9, 8, 3, 5, 3]", "[\"0\", \"1\", \"1+1\", \"1+2\", \"2\"]") TREE("[3]", "[\"0\"]"), LAB_ORDER_DEPTH},
    };
    for (size_t i = 0; i < COUNT(files); i++) {
        put("trees.jsonl", files[i].text);
        const lab_task_options options = one_file(scratch_path("trees.jsonl"));
        lab_dataset set = drawn(&options, LAB_SET_TRAIN);
        const lab_pair_facts facts = looked(&options);
        assert_true(facts.stuck == NULL && facts.arity == 2 && facts.vocabulary == 10);
        assert_int_equal(facts.order, files[i].order);
        expect_growth(&set, files[i].order);
        lab_dataset_destroy(&set);
    }
}

static void test_stuck(void **state) {
    (void)state;
    put("varies.jsonl", TREE("[9, 9]", "[\"0\", \"1\"]"));
    put("mixed.jsonl", TREE("[9, 8, 3, 3, 5]", "[\"0\", \"1\", \"2\", \"1+1\", \"1+2\"]")
                           TREE("[9, 8, 3, 5, 3]", "[\"0\", \"1\", \"1+1\", \"1+2\", \"2\"]"));
    /* Branches as they stand level by level, but of other parents. */
    put("crossed.jsonl", TREE("[9, 8, 8, 3, 5]", "[\"0\", \"1\", \"2\", \"2+1\", \"1+1\"]"));
    static const struct {
        const char *name, *says;
    } files[] = {{"varies.jsonl", "now more, now fewer children"},
                 {"mixed.jsonl", "neither all level by level"},
                 {"crossed.jsonl", "neither all level by level"}};
    for (size_t i = 0; i < COUNT(files); i++) {
        const lab_task_options options = one_file(scratch_path(files[i].name));
        lab_dataset set = drawn(&options, LAB_SET_TRAIN);
        const lab_pair_facts facts = looked(&options);
        assert_non_null(facts.stuck);
        assert_non_null(strstr(facts.stuck, files[i].says));
        assert_null(set.children);
        lab_dataset_destroy(&set);
    }
}

/* Texts may be trees as well: a path for each word. */
static void test_named_trees(void **state) {
    (void)state;
    put("words.jsonl", "{\"input_text\": \"a b\", \"target_text\": \"or x y\", \"input_paths\": [\"0\", \"1\"], "
                       "\"target_paths\": [\"0\", \"1\", \"2\"]}\n");
    const lab_task_options options = one_file(scratch_path("words.jsonl"));
    lab_dataset set = drawn(&options, LAB_SET_TEST);
    char *text = lab_set_text(&set, set.target, &set.target_tree, 3, NULL);
    assert_string_equal(text, "(or x y)");
    free(text);
    lab_dataset_destroy(&set);
}

/* ---- sets ---- */

static void test_split_and_shared(void **state) {
    (void)state;
    char text[4096];
    size_t used = 0, seen[3] = {0};
    for (size_t i = 0; i < 40; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "{\"input\": [%zu], \"target\": [1]}\n", 1 + i % 39);
    put("many.jsonl", text);
    const lab_task_options options = {.path = scratch_path("many.jsonl")};
    const size_t sizes[] = {32, 4, 4};
    for (uint64_t seed = 0; seed < 40; seed++) { /* the one input that occurs twice is parted from itself at times */
        lab_pair_facts facts;
        locus_error error = {0};
        const locus_status status = lab_pairs_look(&options, seed, &facts, &error);
        if (status != LOCUS_OK) { /* or the largest id is not in the training set */
            assert_non_null(strstr(error.message, "is beyond the vocabulary"));
            continue;
        }
        assert_memory_equal(facts.samples, sizes, sizeof sizes);
        seen[facts.shared[LAB_SET_DEV] + facts.shared[LAB_SET_TEST]]++;
    }
    assert_true(seen[0] > 0 && seen[1] > 0);
    put("train.jsonl", "{\"input\": [1], \"target\": [1]}\n{\"input\": [2], \"target\": [1]}\n");
    put("dev.jsonl", "{\"input\": [2], \"target\": [2]}\n{\"input\": [2, 1], \"target\": [1]}\n");
    lab_task_options three = one_file(scratch_path("train.jsonl"));
    three.dev = scratch_path("dev.jsonl");
    const lab_pair_facts facts = looked(&three);
    assert_int_equal(facts.shared[LAB_SET_DEV], 1);
    assert_int_equal(facts.shared[LAB_SET_TEST], 2);
    /* Trees are the same if tokens and parents are: the first of the others is, each next one is not. */
#define GROWN(ids, paths) \
    "{\"input\": [" ids "], \"input_paths\": [\"0\", \"1\", " paths "], \"target\": [1], \"target_paths\": [\"0\"]}\n"
    put("train.jsonl", GROWN("1, 2, 3", "\"2\"") GROWN("4, 5, 5", "\"1+1\""));
    put("dev.jsonl", GROWN("1, 2, 3", "\"2\"") GROWN("1, 2, 3", "\"1+1\"") GROWN("4, 5, 5", "\"2\""));
    put("test.jsonl", GROWN("1, 2, 2", "\"2\"") GROWN("1, 2, 3, 4", "\"2\", \"2+1\"") GROWN("4, 5, 5", "\"1+1\""));
    three.test = scratch_path("test.jsonl");
    const lab_pair_facts trees = looked(&three);
    assert_int_equal(trees.shared[LAB_SET_DEV], 1);
    assert_int_equal(trees.shared[LAB_SET_TEST], 1);
}

/* What is read by a vocabulary that was kept is what it would be beside the training set. */
static void test_kept(void **state) {
    (void)state;
    static const char *const trains[] = {
        "{\"input_text\": \"a b c\", \"target_text\": \"c b a\"}\n", "{\"input\": [0, 3], \"target\": [3]}\n",
        TREE("[3, 1, 2]", "[\"0\", \"1\", \"2\"]") TREE("[1]", "[\"0\"]") TREE("[2]", "[\"0\"]")};
    static const char *const tests[] = {"{\"input_text\": \"c d\", \"target_text\": \"a\"}\n",
                                        "{\"input\": [1], \"target\": [2]}\n", TREE("[1]", "[\"0\"]")};
    char folder[512];
    snprintf(folder, sizeof folder, "%s", scratch_path("."));
    for (size_t i = 0; i < COUNT(trains); i++) {
        put("train.jsonl", trains[i]);
        put("test.jsonl", tests[i]);
        lab_task_options options = one_file(scratch_path("train.jsonl"));
        options.test = scratch_path("test.jsonl");
        const lab_task_options alone = {.test = options.test, .kept = folder};
        assert_int_equal(lab_pairs_keep(&options, 0, folder, NULL), LOCUS_OK);
        lab_dataset beside = drawn(&options, LAB_SET_TEST), kept = drawn(&alone, LAB_SET_TEST);
        assert_int_equal(kept.samples, 1);
        assert_memory_equal(beside.input, kept.input, kept.input_offsets[1] * sizeof *kept.input);
        assert_memory_equal(beside.target, kept.target, kept.target_offsets[1] * sizeof *kept.target);
        assert_int_equal(beside.name_count, kept.name_count);
        assert_int_equal(beside.children != NULL, i == 2);
        if (i == 2)
            assert_memory_equal(beside.children, kept.children, 4 * sizeof *kept.children);
        lab_dataset_destroy(&beside);
        lab_dataset_destroy(&kept);
    }
    const lab_task_options alone = {.test = scratch_path("test.jsonl"), .kept = folder};
    static const char *const broken[] = {"", "[]", "{\"tokens\": \"words\"}",
                                         "{\"tokens\": \"ids\", \"first\": 2, \"most\": 3}"};
    for (size_t i = 0; i < COUNT(broken); i++) {
        lab_dataset none;
        locus_error error = {0};
        put("vocabulary.json", broken[i]);
        assert_int_equal(draw(&none, &alone, LAB_SET_TEST, &error), LOCUS_ERROR_IO);
        assert_non_null(strstr(error.message, "is no vocabulary"));
    }
}

static void expect_typed(const lab_task_options *options, const char *text, const char *says, int32_t first) {
    lab_dataset set;
    locus_error error = {0};
    const locus_status status = lab_pairs_typed(&set, options, text, &error);
    if (says != NULL) {
        assert_int_equal(status, LOCUS_ERROR_ARGUMENT);
        assert_string_equal(error.argument, "input");
        if (strstr(error.message, says) == NULL)
            fail_msg("'%s' does not say '%s'", error.message, says);
        return;
    }
    assert_int_equal(status, LOCUS_OK);
    assert_true(set.samples == 1 && set.input[0] == first && set.target_offsets == NULL && set.longest == 3);
    lab_dataset_destroy(&set);
}

static void test_typed(void **state) {
    (void)state;
    char folder[512];
    snprintf(folder, sizeof folder, "%s", scratch_path("."));
    const lab_task_options kept = {.kept = folder};
    put("train.jsonl", "{\"input_text\": \"a b\", \"target_text\": \"c b a\"}\n");
    lab_task_options options = one_file(scratch_path("train.jsonl"));
    assert_int_equal(lab_pairs_keep(&options, 0, folder, NULL), LOCUS_OK);
    expect_typed(&kept, "b new", NULL, 3);
    expect_typed(&kept, " ", "the input has no token", 0);
    put("train.jsonl", "{\"input\": [1, 2], \"target\": [1, 2, 3]}\n");
    assert_int_equal(lab_pairs_keep(&options, 0, folder, NULL), LOCUS_OK);
    expect_typed(&kept, "3 1", NULL, 3);
    expect_typed(&kept, "3,1\r\n", NULL, 3);
    expect_typed(&kept, "1 4", "'4' is no id: give numbers from 1 to 3 between spaces", 0);
    expect_typed(&kept, "0", "'0' is no id", 0);
    expect_typed(&kept, "1x", "'x' is no id", 0);
    expect_typed(&kept, "99999999999999999999999", "'99999999999999999999' is no id", 0);
    expect_typed(&kept, " 2,3\t1 ", NULL, 2);
    expect_typed(&kept, " , ", "the input has no token", 0);
    put("train.jsonl", "{\"input\": [0, 2], \"target\": [1, 2, 3]}\n");
    assert_int_equal(lab_pairs_keep(&options, 0, folder, NULL), LOCUS_OK);
    expect_typed(&kept, "0 3", NULL, 1);
    expect_typed(&kept, "-1", "'-1' is no id: give numbers from 0 to 3 between spaces", 0);
    expect_typed(&kept, "x", "'x' is no id: give numbers from 0 to 3 between spaces", 0);
    put("train.jsonl", TREE("[1]", "[\"0\"]"));
    assert_int_equal(lab_pairs_keep(&options, 0, folder, NULL), LOCUS_OK);
    expect_typed(&kept, "1 1", "character 3 of a tree: expected the end", 0);
    expect_typed(&kept, "(1 77)", "character 4 of a tree: expected a child or ')'; a tree is written as (a b c)", 0);
    expect_typed(&kept, "", "character 1 of a tree: expected a symbol", 0);
}

/* Trees of words: by name, level by level, with no more children than the training set has. */
static void test_typed_trees(void **state) {
    (void)state;
    char folder[512];
    snprintf(folder, sizeof folder, "%s", scratch_path("."));
    const lab_task_options kept = {.kept = folder};
    static const int32_t tokens[] = {2, 2, 1, 3, 4}, parents[] = {-1, 0, 0, 1, 1}, branches[] = {0, 1, 2, 1, 2};
    lab_dataset set;
    locus_error error = {0};
    put("train.jsonl",
        "{\"input_text\": \"f x é\", \"target_text\": \"f x é\", \"input_paths\": [\"0\", \"1\", \"2\"], "
        "\"target_paths\": [\"0\", \"1\", \"2\"]}\n");
    lab_task_options options = one_file(scratch_path("train.jsonl"));
    assert_int_equal(lab_pairs_keep(&options, 0, folder, NULL), LOCUS_OK);
    assert_int_equal(lab_pairs_typed(&set, &kept, "(f (f x é) new)", &error), LOCUS_OK);
    assert_int_equal(set.input_offsets[1], 5);
    assert_memory_equal(set.input, tokens, sizeof tokens);
    assert_memory_equal(set.input_tree.parents, parents, sizeof parents);
    assert_memory_equal(set.input_tree.branches, branches, sizeof branches);
    assert_true(set.target_offsets == NULL && set.children != NULL && set.children[2] == 2 && set.longest == 3);
    lab_dataset_destroy(&set);
    expect_typed(&kept, "(f x x x)", "a node has 3 children, and in the training set none more than 2", 0);
    expect_typed(&kept, "(f x", "expected a child or ')'", 0);
}

/* ---- edges ---- */

static void expect_file(const char *name, const char *text, const char *says) {
    lab_pair_facts facts;
    locus_error error = {0};
    char whole[1400];
    put(name, text);
    const char *path = scratch_path(name);
    const lab_task_options options = one_file(path);
    const locus_status status = lab_pairs_look(&options, 0, &facts, &error);
    snprintf(whole, sizeof whole, "'%s', line 1: %s", path, says != NULL ? says : "");
    assert_string_equal(error.message, says != NULL ? whole : "");
    assert_int_equal(status, says != NULL ? LOCUS_ERROR_IO : LOCUS_OK);
}

static void test_edges(void **state) {
    (void)state;
    expect_file("edge.jsonl", "{\"input\": [0], \"target\": [16777216]}\n", NULL);
    expect_file("edge.jsonl", "{\"input\": [16777217], \"target\": [0]}\n",
                "\"input\" needs whole numbers from 0 to 16777216");
    expect_file("edge.jsonl", "{\"input_text\": 4, \"target_text\": \"a\"}\n", "\"input_text\" needs a text");
    expect_file("edge.jsonl", "{\"input\": [1], \"target\": [1], \"target_paths\": [\"0\"]}\n",
                "input and target must both have paths, or none: \"input_paths\" is missing");
    expect_file("edge.jsonl",
                "{\"input\": [1, 2], \"input_paths\": [\"0\", \"2\"], \"target\": [1], \"target_paths\": "
                "[\"0\"]}\n",
                "\"input_paths\": token 1: its parent and the children before it must stand before 2");
    expect_file("edge.jsonl",
                "{\"input\": [1], \"input_paths\": [\"0\", \"1\"], \"target\": [1], \"target_paths\": "
                "[\"0\"]}\n",
                "\"input_paths\" needs one path for each of 1 tokens, of one token at least");
}

/* What a token is written as. */
static void expect_words(const lab_task_options *options, bool joined, size_t count, const size_t *at,
                         const char *const *names) {
    lab_dataset set = drawn(options, LAB_SET_TRAIN);
    assert_int_equal(set.joined, joined);
    assert_int_equal(set.name_count, count);
    for (size_t i = 0; names[i] != NULL; i++)
        assert_string_equal(set.names[at[i]], names[i]);
    lab_dataset_destroy(&set);
}

static void test_written(void **state) {
    (void)state;
    put("train.jsonl", "{\"input_text\": \"b a\", \"target_text\": \"a\"}\n");
    lab_task_options options = one_file(scratch_path("train.jsonl"));
    expect_words(&options, false, 5, (const size_t[]){0, 1, 2, 3, 4},
                 (const char *const[]){"<start>", "\xef\xbf\xbd", "b", "a", "<end>", NULL});
    LAB_PAIRS(&options)->tokens = LAB_TOKENS_CHARACTERS;
    expect_words(&options, true, 6, (const size_t[]){0, 1, 2, 3, 4, 5},
                 (const char *const[]){"<start>", "\xef\xbf\xbd", "b", " ", "a", "<end>", NULL});
    LAB_PAIRS(&options)->tokens = LAB_TOKENS_BYTES;
    expect_words(&options, true, 259, (const size_t[]){0, 1, 2 + 'a', 2 + 0xff, 258},
                 (const char *const[]){"<start>", "\xef\xbf\xbd", "a", "\xff", "<end>", NULL});
    put("zero.jsonl", "{\"input\": [3, 0], \"target\": []}\n");
    options = one_file(scratch_path("zero.jsonl"));
    expect_words(&options, false, 6, (const size_t[]){0, 1, 4, 5},
                 (const char *const[]){"<start>", "0", "3", "<end>", NULL});
    put("trees.jsonl", TREE("[3, 1]", "[\"0\", \"1\"]"));
    options = one_file(scratch_path("trees.jsonl"));
    expect_words(&options, false, 4, (const size_t[]){0, 1, 3}, (const char *const[]){"<start>", "1", "3", NULL});
}

/* A vocabulary that is kept is what its file says, or none. */
static void test_kept_fields(void **state) {
    (void)state;
    char folder[512], path[600], says[700];
    snprintf(folder, sizeof folder, "%s", scratch_path("."));
    snprintf(path, sizeof path, "%s/vocabulary.json", folder);
    const lab_task_options kept = {.kept = folder};
    static const char *const usual[] = {"\"ids\"", "1", "3", "0", "0", "2"};
    static const char *const fields[] = {"tokens", "first", "most", "arity", "orders", "longest"};
    static const struct {
        size_t field;
        const char *value;
        bool good;
    } cases[] = {
        {1, "0", true},        {1, "2", false},        {1, "-1", false},        {1, "0.5", false},
        {1, "null", false},    {2, "16777217", false}, {3, "16777216", true},   {3, "16777217", false},
        {4, "3", true},        {4, "4", false},        {5, "2147483647", true}, {5, "2147483648", false},
        {0, "\"idz\"", false}, {0, "3", false},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[400] = "{";
        for (size_t f = 0; f < COUNT(fields); f++)
            snprintf(text + strlen(text), sizeof text - strlen(text), "\"%s\": %s, ", fields[f],
                     f == cases[i].field ? cases[i].value : usual[f]);
        snprintf(text + strlen(text), sizeof text - strlen(text), "\"words\": []}");
        put("vocabulary.json", text);
        lab_dataset set;
        locus_error error = {0};
        const locus_status status = lab_pairs_typed(&set, &kept, "1 2", &error);
        snprintf(says, sizeof says, "'%s' is no vocabulary of pairs", path);
        assert_string_equal(error.message, cases[i].good ? "" : says);
        assert_int_equal(status, cases[i].good ? LOCUS_OK : LOCUS_ERROR_IO);
        if (status == LOCUS_OK)
            lab_dataset_destroy(&set);
    }
    static const struct {
        const char *children;
        bool good;
    } trees[] = {{"[0, 2, 0, -2]", true},
                 {"[0, 2, 0]", false},
                 {"[0, 2, 0, -2, 0]", false},
                 {"[0, 2, 0, -3]", false},
                 {"[0, 2, 0, \"0\"]", false},
                 {"[0, 2, 0, 2e9]", false},
                 {"7", false}};
    for (size_t i = 0; i < COUNT(trees); i++) {
        char text[400];
        snprintf(text, sizeof text,
                 "{\"tokens\": \"ids\", \"first\": 1, \"most\": 2, \"arity\": 2, \"orders\": 3, \"longest\": 3, "
                 "\"words\": [], \"children\": %s}",
                 trees[i].children);
        put("vocabulary.json", text);
        lab_dataset set;
        locus_error error = {0};
        const locus_status status = lab_pairs_typed(&set, &kept, "1", &error);
        assert_int_equal(status, trees[i].good ? LOCUS_OK : LOCUS_ERROR_IO);
        snprintf(says, sizeof says, "'%s' is no vocabulary of pairs", path);
        assert_string_equal(error.message, trees[i].good ? "" : says);
        lab_dataset_destroy(&set);
    }
}

/* ---- what is wrong ---- */

static void test_lines(void **state) {
    (void)state;
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"\n\n", "has no sample in it"},
        {"", "has no sample in it"},
        {"{\"input\": [1], \"target\": [1]}\n{\"input\": [1]", "line 2: this is no JSON object"},
        {"[1]\n", "line 1: this is no JSON object"},
        {"{\"label\": 1, \"input_text\": \"a\"}\n", "line 1: it needs \"input\" and \"target\""},
        {"{\"input\": [1], \"target\": 3, \"input_paths\": [\"0\"]}\n", "line 1: \"target\" needs an array of ids"},
        {"{\"input\": [1]}\n", "line 1: \"target\" needs an array of ids"},
        {"{\"input\": [1], \"target\": [1]}\n\n{\"input\": [1], \"target\": [1]}\n", "line 2: this is no JSON object"},
        {"\r\n{\"input\": [1], \"target\": [1]}\n", "line 1: this is no JSON object"},
        {"{\"input\": [1], \"target\": [1]}\n{\"input\": [1.5], \"target\": [1]}\n",
         "line 2: \"input\" needs whole numbers from 0 to 16777216"},
        {"{\"input\": [1], \"target\": [-1]}\n", "line 1: \"target\" needs whole numbers"},
        {"{\"input\": [1], \"target\": [16777217]}\n", "line 1: \"target\" needs whole numbers"},
        {"{\"input\": [], \"target\": [1]}\n", "line 1: its input has no token"},
        {"{\"input_text\": \" \", \"target_text\": \"a\"}\n", "line 1: its input has no token"},
        {"{\"input_text\": \"a\", \"target_text\": 4}\n", "line 1: \"target_text\" needs a text"},
        {"{\"input_text\": \"a\", \"target_text\": \"b\"}\n{\"input\": [2], \"target\": [1]}\n",
         "line 2: texts and ids don't go together"},
        {TREE("[1]", "[\"0\"]") "{\"input\": [1], \"target\": [1]}\n",
         "line 2: \"input_paths\" and \"target_paths\" are missing, unlike in the lines before"},
        {"{\"input\": [1], \"target\": [1]}\n" TREE("[1]", "[\"0\"]"),
         "line 2: \"input_paths\" and \"target_paths\" are there"},
        {"{\"input\": [1], \"target\": [1], \"input_paths\": [\"0\"]}\n",
         "line 1: input and target must both have paths, or none: \"target_paths\" is missing"},
        {TREE("[1, 2]", "[\"0\"]"), "line 1: \"target_paths\" needs one path for each of 2 tokens"},
        {TREE("[]", "[]"), "line 1: \"target_paths\" needs one path for each of 0 tokens, of one token at least"},
        {TREE("[1]", "[0]"), "line 1: \"target_paths\" needs texts"},
        {TREE("[1, 2]", "[\"0\", \"2\"]"), "line 1: \"target_paths\": token 1"},
        {TREE("[1, 2]", "[\"0\", \"x\"]"), "line 1: \"target_paths\": token 1: 'x' is no path"},
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        lab_dataset set;
        locus_error error = {0};
        put("bad.jsonl", bad[i].text);
        const lab_task_options options = one_file(scratch_path("bad.jsonl"));
        assert_int_equal(draw(&set, &options, LAB_SET_TRAIN, &error), LOCUS_ERROR_IO);
        if (strstr(error.message, bad[i].says) == NULL)
            fail_msg("'%s' does not say '%s'", error.message, bad[i].says);
    }
}

static void test_other_sets(void **state) {
    (void)state;
    static const struct {
        const char *train, *test, *says;
    } bad[] = {
        {"{\"input\": [1], \"target\": [3]}\n", "{\"input\": [4], \"target\": [1]}\n",
         "line 1: id 4 is beyond the vocabulary: the training set has ids 1 to 3"},
        {"{\"input\": [1], \"target\": [3]}\n", "{\"input\": [0], \"target\": [1]}\n",
         "line 1: id 0 is beyond the vocabulary"},
        {"{\"input\": [0], \"target\": [3]}\n",
         "{\"input\": [1], \"target\": [3]}\n{\"input\": [1], \"target\": [4]}\n",
         "line 2: id 4 is beyond the vocabulary: the training set has ids 0 to 3"},
        {TREE("[1, 1]", "[\"0\", \"1\"]"), TREE("[1, 1, 1]", "[\"0\", \"1\", \"2\"]"),
         "line 1: a node has 2 children, and in the training set none more than 1"},
        {TREE("[9, 8, 3, 3, 5]", "[\"0\", \"1\", \"2\", \"1+1\", \"1+2\"]"),
         TREE("[9, 8, 3, 5, 3]", "[\"0\", \"1\", \"1+1\", \"1+2\", \"2\"]"),
         "line 1: the target does not stand level by level"},
    };
    lab_dataset set;
    locus_error error = {0};
    for (size_t i = 0; i < COUNT(bad); i++) {
        put("train.jsonl", bad[i].train);
        put("test.jsonl", bad[i].test);
        lab_task_options options = one_file(scratch_path("train.jsonl"));
        options.test = scratch_path("test.jsonl");
        assert_int_equal(draw(&set, &options, LAB_SET_TRAIN, &error), LOCUS_ERROR_IO);
        if (strstr(error.message, bad[i].says) == NULL)
            fail_msg("'%s' does not say '%s'", error.message, bad[i].says);
    }
    scratch_write("zero.jsonl", "{}\0", 4);
    lab_task_options options = one_file(scratch_path("zero.jsonl"));
    assert_int_equal(draw(&set, &options, LAB_SET_TRAIN, &error), LOCUS_ERROR_IO);
    assert_non_null(strstr(error.message, "line 1: there is a zero byte in it"));
    options = one_file(NULL);
    assert_int_equal(draw(&set, &options, LAB_SET_TRAIN, &error), LOCUS_ERROR_ARGUMENT);
    options = one_file(scratch_path("train.jsonl"));
    options.digest = 7;
    assert_int_equal(draw(&set, &options, LAB_SET_TRAIN, &error), LOCUS_ERROR_IO);
    assert_non_null(strstr(error.message, "holds other samples than the run was made for"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),       cmocka_unit_test(test_cuts),
        cmocka_unit_test(test_ids),         cmocka_unit_test(test_trees),
        cmocka_unit_test(test_named_trees), cmocka_unit_test(test_stuck),
        cmocka_unit_test(test_kept),        cmocka_unit_test(test_typed),
        cmocka_unit_test(test_typed_trees), cmocka_unit_test(test_split_and_shared),
        cmocka_unit_test(test_lines),       cmocka_unit_test(test_other_sets),
        cmocka_unit_test(test_edges),       cmocka_unit_test(test_written),
        cmocka_unit_test(test_kept_fields),
    };
    return cmocka_run_group_tests(tests, scratch_create, scratch_remove);
}
