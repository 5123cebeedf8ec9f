/* SPDX-License-Identifier: MIT */
/* Tasks and data sets: transforms against definitions, streams that depend on (seed, set, i) only, moments of lengths
 * and symbols against their distribution. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/tables/published.h"
#include "task/task_class.h"
#include "task/word_task.h"

#include <math.h>
#include <string.h>

static lab_dataset draw(const char *task, lab_task_options options, lab_set which, size_t samples, uint64_t seed) {
    lab_dataset set;
    locus_error error;
    const lab_draw wanted = {lab_task_find(task), &options, which, samples, seed};
    assert_int_equal(lab_dataset_generate(&set, &wanted, &error), LOCUS_OK);
    return set;
}

static void test_targets(void **state) {
    (void)state;
    static const char *const names[] = {"copy", "reverse", "repeat"};
    for (size_t t = 0; t < 3; t++) {
        lab_dataset set = draw(names[t], lab_task_default(lab_task_find("copy")), LAB_SET_TRAIN, 50, 3);
        for (size_t s = 0; s < set.samples; s++) {
            const int32_t *w = set.input + set.input_offsets[s], *v = set.target + set.target_offsets[s];
            size_t n = set.input_offsets[s + 1] - set.input_offsets[s];
            size_t m = set.target_offsets[s + 1] - set.target_offsets[s];
            assert_int_equal(m, t == 2 ? 2 * n : n);
            for (size_t i = 0; i < m; i++) {
                assert_int_equal(v[i], t == 0 ? w[i] : t == 1 ? w[n - 1 - i] : w[i % n]);
                assert_in_range(v[i], 1, 20);
            }
        }
        lab_dataset_destroy(&set);
    }
}

/* Sample i is the same whether 10 or 1000 samples are drawn; sets and seeds differ; a task shares the words of
 * another. */
static void test_streams(void **state) {
    (void)state;
    lab_task_options options = lab_task_default(lab_task_find("copy"));
    lab_dataset few = draw("copy", options, LAB_SET_DEV, 10, 5), many = draw("reverse", options, LAB_SET_DEV, 1000, 5);
    assert_memory_equal(few.input_offsets, many.input_offsets, 11 * sizeof(size_t));
    assert_memory_equal(few.input, many.input, few.input_offsets[10] * sizeof(int32_t));
    lab_dataset other_set = draw("copy", options, LAB_SET_TEST, 10, 5),
                other_seed = draw("copy", options, LAB_SET_DEV, 10, 6);
    assert_memory_not_equal(few.input, other_set.input, 20 * sizeof(int32_t));
    assert_memory_not_equal(few.input, other_seed.input, 20 * sizeof(int32_t));
    lab_dataset_destroy(&few);
    lab_dataset_destroy(&many);
    lab_dataset_destroy(&other_set);
    lab_dataset_destroy(&other_seed);
}

/* ⌊N(100, 10)⌋ has mean 99.5 and deviation √(100 + 1/12); with 20,000 draws their standard errors are 0.07 and 0.05.
 * Symbols are uniform: χ² with 19 degrees exceeds 43.8 once in a thousand. */
static void test_moments(void **state) {
    (void)state;
    lab_dataset set = draw("copy", lab_task_default(lab_task_find("copy")), LAB_SET_TRAIN, 20000, 1);
    double n = (double)set.samples, sum = 0, squares = 0, counts[21] = {0}, square = 0;
    for (size_t s = 0; s < set.samples; s++) {
        double length = (double)(set.input_offsets[s + 1] - set.input_offsets[s]);
        sum += length;
        squares += length * length;
    }
    double mean = sum / n, deviation = sqrt(squares / n - mean * mean);
    assert_true(fabs(mean - 99.5) < 0.3);
    assert_true(fabs(deviation - sqrt(100 + 1.0 / 12)) < 0.2);
    for (size_t i = 0; i < set.input_offsets[set.samples]; i++)
        counts[set.input[i]]++;
    for (int v = 1; v <= 20; v++)
        square += (counts[v] - sum / 20) * (counts[v] - sum / 20) / (sum / 20);
    assert_true(square < 43.8);
    lab_dataset_destroy(&set);
}

static void test_lengths_at_least_one(void **state) {
    (void)state;
    lab_task_options options = lab_task_with(
        lab_task_find("copy"), &(lab_word_options){.length_mean = 1.0, .length_deviation = 1.0, .symbols = 2});
    lab_dataset set = draw("copy", options, LAB_SET_TRAIN, 500, 0);
    size_t ones = 0;
    for (size_t s = 0; s < set.samples; s++) {
        assert_true(set.input_offsets[s + 1] > set.input_offsets[s]);
        ones += set.input_offsets[s + 1] - set.input_offsets[s] == 1;
    }
    assert_true(ones > 300); /* P(N(1, 1) < 2) = 0.84 */
    lab_dataset_destroy(&set);
}

static void test_chance(void **state) {
    (void)state;
    const lab_task_options options =
        lab_task_with(lab_task_find("copy"), &(lab_word_options){.length_mean = 10.0, .symbols = 1});
    lab_dataset set = draw("copy", options, LAB_SET_TRAIN, 7, 0); /* 10 times symbol 1, then the end */
    assert_true(fabs(lab_dataset_chance(&set, 3) - 10.0 / 11.0) < 1e-12);
    lab_dataset_destroy(&set);
}

static void test_refusals(void **state) {
    (void)state;
    const lab_word_options bad[] = {{.length_mean = 0.0, .symbols = 20},
                                    {.length_mean = (double)NAN, .length_deviation = 1.0, .symbols = 20},
                                    {.length_mean = 10.0, .length_deviation = -1.0, .symbols = 20},
                                    {.length_mean = 10.0, .length_deviation = 11.0, .symbols = 20},
                                    {.length_mean = 10.0, .length_deviation = 1.0}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        lab_dataset set;
        locus_error error = {0};
        const lab_task_options options = lab_task_with(lab_task_find("copy"), &bad[i]);
        const lab_draw wanted = {lab_task_find("copy"), &options, LAB_SET_TRAIN, 3, 0};
        assert_int_equal(lab_dataset_generate(&set, &wanted, &error), LOCUS_ERROR_ARGUMENT);
        assert_true(error.message[0] != '\0');
        assert_null(set.input);
    }
    /* Pairs of what has sequences only, and the other way round; what is left can be destroyed. */
    static const char *const names[] = {"text", "copy"};
    for (size_t i = 0; i < 2; i++) {
        lab_dataset set, empty;
        locus_error error = {0};
        const lab_task_options none = {0};
        const lab_draw wanted = {lab_task_find(names[i]), &none, LAB_SET_TRAIN, 3, 0};
        memset(&set, 7, sizeof set);
        memset(&empty, 0, sizeof empty);
        assert_non_null(wanted.task);
        assert_int_equal(i == 0 ? lab_dataset_generate(&set, &wanted, &error)
                                : lab_dataset_sequences(&set, &wanted, &error),
                         LOCUS_ERROR_UNSUPPORTED);
        assert_string_equal(error.message, i == 0 ? "text has sequences only, no pairs of input and target"
                                                  : "copy has no sequences for a decoder");
        assert_memory_equal(&set, &empty, sizeof set);
        lab_dataset_destroy(&set);
    }
}

static void test_registry(void **state) {
    (void)state;
    static const char *const known[] = {
        "copy",     "reverse",  "repeat",   "tree-copy",       "tree-reorder",     "tree-c3",
        "tree-ops", "cifar10",  "addition", "substring-index", "substring-search", "text",
        "listops",  "classify", "pairs",    "images"};
    const size_t count = sizeof known / sizeof *known;
    assert_int_equal(lab_task_count(), count);
    for (size_t i = 0; i < count; i++) {
        assert_ptr_equal(lab_task_find(known[i]), lab_task_at(i));
        assert_string_equal(lab_task_at(i)->name, known[i]);
    }
    assert_null(lab_task_at(count));
    assert_null(lab_task_find("tree-sort"));
    assert_string_equal(lab_task_nearest("tree-op"), "tree-ops");
    assert_string_equal(lab_task_nearest("revers"), "reverse");
    assert_string_equal(lab_task_nearest("repeal"), "repeat");
}

static const lab_published *find_published(const char *task, const char *encoding) {
    return lab_published_look(task, LAB_ORDER_BREADTH, LAB_SPAN_FULL, encoding);
}

/* What charts draw against sizes stands in tables, too. */
static void test_panels(void **state) {
    (void)state;
    size_t panels = 0;
    for (size_t c = 0; c < lab_class_count(); c++) {
        const lab_task_class *class = lab_class_at(c);
        for (size_t p = 0; class->lengths != NULL && p < LAB_LENGTH_PANELS; p++) {
            const char *score = class->lengths->panels[p].score;
            assert_true(score == NULL ? p > 0 : lab_class_has_score(class, score));
            panels += score != NULL;
        }
    }
    assert_true(panels > 8);
}

static void test_published(void **state) {
    (void)state;
    assert_int_equal(lab_published_count(), 60);
    const lab_published *found = find_published("reverse", "relative(window=24)");
    assert_non_null(found);
    assert_true(fabs(found->accuracy - 0.648) < 1e-12);
    assert_ptr_equal(find_published("reverse", "relative(window=100)"), found);
    found = find_published("copy", "algebraic(group=seq, decay=0.98)");
    assert_non_null(found);
    assert_string_equal(found->scheme, "algebraic (seq)");
    assert_null(find_published("copy", "algebraic(group=seq, decay=0.9)"));
    assert_null(find_published("copy", "alibi"));
    assert_null(find_published("sort", "rope"));
    assert_null(find_published("copy", "relative(window=)"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_targets),  cmocka_unit_test(test_streams),
        cmocka_unit_test(test_moments),  cmocka_unit_test(test_lengths_at_least_one),
        cmocka_unit_test(test_chance),   cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_registry), cmocka_unit_test(test_published),
        cmocka_unit_test(test_panels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
