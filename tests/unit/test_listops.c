/* SPDX-License-Identifier: MIT */
/* Random expressions. Their values are held against a second evaluator that reads the text as the published code reads
 * its trees: pair by pair, an unsaturated function taking one argument after another, the median by sorting. Lengths
 * and acceptance are held against their exact distribution, which follows from convolutions; symbols, arguments and
 * small shapes against exact counts; and a sample depends on nothing but (options, seed, set, index). */
#include "sanitized.h"
#include "task/listops/listops.h"
#include "task/task_class.h"
#include "threads_only.h"

#include <ctype.h>
#include <locus/parallel.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define DEVIATIONS 5.0 /* that a frequency may be off: once in two million */

enum { SCARCE = SANITIZED(10, 1) }; /* one of so many samples is drawn: frequencies are nothing to a sanitizer */

static const lab_task *task(void) {
    const lab_task *found = lab_task_find("listops");
    assert_non_null(found);
    return found;
}

static lab_task_options options_of(size_t depth, size_t arguments, size_t shortest, size_t longest) {
    lab_task_options options = lab_task_default(task());
    LAB_EXPRESSIONS(&options)->depth = depth;
    LAB_EXPRESSIONS(&options)->arguments = arguments;
    LAB_EXPRESSIONS(&options)->shortest = shortest;
    LAB_EXPRESSIONS(&options)->longest = longest;
    return options;
}

static lab_dataset draw(const lab_task_options *options, lab_set which, size_t samples, uint64_t seed) {
    lab_dataset set;
    locus_error error = {0};
    const lab_draw wanted = {task(), options, which, samples, seed};
    if (lab_dataset_generate(&set, &wanted, &error) != LOCUS_OK)
        fail_msg("%s", error.message);
    return set;
}

static size_t length_of(const lab_dataset *set, size_t sample) {
    return set->input_offsets[sample + 1] - set->input_offsets[sample] - 1;
}

static char *text_of(const lab_dataset *set, size_t sample) {
    const size_t start = set->input_offsets[sample];
    char *text = lab_listops_string(length_of(set, sample) + 1, set->input + start, set->input_tree.parents + start,
                                    set->input_tree.branches + start);
    assert_non_null(text);
    return text;
}

/* ---- the second evaluator ---- */

enum { MOST_ARGUMENTS = 64 };

/* What a pair, or one half of it, comes to: a number, a function with what it has got so far, or the end. */
typedef struct meaning {
    char kind; /* 'n', 'f', ']' */
    char function[8];
    int value, arguments[MOST_ARGUMENTS], count;
} meaning;

static int by_size(const void *a, const void *b) {
    return *(const int *)a - *(const int *)b;
}

static int apply(meaning *function) {
    int *arguments = function->arguments, n = function->count, sum = 0;
    assert_true(n > 0);
    qsort(arguments, (size_t)n, sizeof *arguments, by_size);
    for (int i = 0; i < n; i++)
        sum += arguments[i];
    if (strcmp(function->function, "[MIN") == 0)
        return arguments[0];
    if (strcmp(function->function, "[MAX") == 0)
        return arguments[n - 1];
    if (strcmp(function->function, "[SM") == 0)
        return sum % 10;
    assert_string_equal(function->function, "[MED");
    return n % 2 == 1 ? arguments[n / 2] : (int)(0.5 * (arguments[n / 2 - 1] + arguments[n / 2]));
}

/* The meaning of what stands at *at, which then stands behind it. */
static meaning read_meaning(const char **at) {
    meaning found = {.kind = 'n'};
    while (**at == ' ')
        ++*at;
    if (**at == '(') {
        ++*at;
        meaning left = read_meaning(at), right = read_meaning(at);
        while (**at == ' ')
            ++*at;
        assert_int_equal(**at, ')');
        ++*at;
        assert_int_equal(left.kind, 'f');
        if (right.kind == ']') {
            found.value = apply(&left);
            return found;
        }
        assert_int_equal(right.kind, 'n');
        assert_true(left.count < MOST_ARGUMENTS);
        left.arguments[left.count++] = right.value;
        return left;
    }
    if (**at == '[') {
        found.kind = 'f';
        for (size_t i = 0; **at != ' ' && i + 1 < sizeof found.function; i++)
            found.function[i] = *(*at)++;
        return found;
    }
    if (**at == ']')
        found.kind = ']';
    else
        found.value = **at - '0';
    assert_true(found.kind == ']' || isdigit((unsigned char)**at));
    ++*at;
    return found;
}

static int value_of(const char *text) {
    const meaning found = read_meaning(&text);
    assert_int_equal(found.kind, 'n');
    assert_int_equal(*text, '\0');
    return found.value;
}

static void check_values(const lab_task_options *options, size_t samples) {
    lab_dataset set = draw(options, LAB_SET_TRAIN, samples / SCARCE, 4);
    for (size_t s = 0; s < set.samples; s++) {
        char *text = text_of(&set, s);
        if (set.labels[s] != value_of(text))
            fail_msg("%s is %d, not %d", text, value_of(text), (int)set.labels[s]);
        free(text);
    }
    lab_dataset_destroy(&set);
}

static void values_are_those_of_the_text(void **state) {
    (void)state;
    lab_task_options options = options_of(7, 7, 250, 1000);
    check_values(&options, 2000);
    options = options_of(10, 10, 500, 2000);
    check_values(&options, 500);
    options = options_of(3, 4, 0, 30);
    check_values(&options, 4000);
    options = options_of(2, 9, 3, 30); /* one operator over digits: medians of even and odd numbers */
    check_values(&options, 4000);
}

static void parity_is_the_values(void **state) {
    (void)state;
    lab_task_options digit = options_of(5, 5, 10, 100), parity = digit;
    LAB_EXPRESSIONS(&parity)->asked = LAB_ASKED_PARITY;
    lab_dataset a = draw(&digit, LAB_SET_DEV, 300, 1), b = draw(&parity, LAB_SET_DEV, 300, 1);
    const size_t tokens = a.input_offsets[300];
    assert_memory_equal(a.input_offsets, b.input_offsets, 301 * sizeof *a.input_offsets);
    assert_memory_equal(a.input, b.input, tokens * sizeof *a.input);
    for (size_t s = 0; s < 300; s++)
        assert_int_equal(b.labels[s], a.labels[s] % 2);
    assert_int_equal(lab_task_classes(task(), &digit), 10);
    assert_int_equal(lab_task_classes(task(), &parity), 2);
    assert_int_equal(lab_task_vocabulary(task(), &digit), 16);
    lab_dataset_destroy(&a);
    lab_dataset_destroy(&b);
}

/* ---- lengths ---- */

enum { MOST_LENGTH = 2000 };

/* Probabilities of the lengths below `longest`, from the deepest level up: P(1) = 3/4, and of an operator's the mean
 * over n of the n-fold convolution of the level below. */
static void length_distribution(const lab_task_options *options, double *chances) {
    static double below[MOST_LENGTH], sum[MOST_LENGTH], power[MOST_LENGTH], next[MOST_LENGTH];
    const size_t end = LAB_EXPRESSIONS(options)->longest;
    memset(below, 0, sizeof below);
    below[1] = 1;
    for (size_t level = LAB_EXPRESSIONS(options)->depth - 1; level > 0; level--) {
        memcpy(power, below, sizeof power);
        memset(sum, 0, sizeof sum);
        for (size_t n = 2; n <= LAB_EXPRESSIONS(options)->arguments; n++) {
            memset(next, 0, sizeof next);
            for (size_t a = 1; a < end; a++)
                for (size_t b = 1; below[a] > 0 && a + b < end; b++)
                    next[a + b] += below[a] * power[b];
            memcpy(power, next, sizeof power);
            for (size_t l = 0; l < end; l++)
                sum[l] += next[l] / (double)(LAB_EXPRESSIONS(options)->arguments - 1);
        }
        memset(below, 0, sizeof below);
        below[1] = 0.75;
        for (size_t l = 2; l < end; l++)
            below[l] = 0.25 * sum[l - 2];
    }
    memcpy(chances, below, end * sizeof *chances);
}

typedef struct moments {
    double share, mean, deviation;
} moments;

static moments moments_between(const lab_task_options *options, const double *chances) {
    moments found = {0};
    double squares = 0;
    for (size_t l = LAB_EXPRESSIONS(options)->shortest + 1; l < LAB_EXPRESSIONS(options)->longest; l++) {
        found.share += chances[l];
        found.mean += chances[l] * (double)l;
        squares += chances[l] * (double)l * (double)l;
    }
    found.mean /= found.share;
    found.deviation = sqrt(squares / found.share - found.mean * found.mean);
    return found;
}

/* The expected share and mean, as published, to the digits that are given. */
static void check_preset(const lab_listops_preset *preset, size_t samples, double share, double mean) {
    static double chances[MOST_LENGTH];
    const lab_task_options options = options_of(preset->depth, preset->arguments, preset->shortest, preset->longest);
    const lab_expression_options *sizes = LAB_EXPRESSIONS(&options);
    length_distribution(&options, chances);
    const moments exact = moments_between(&options, chances);
    assert_true(fabs(exact.share - share) < 0.05 * share);
    assert_true(fabs(exact.mean - mean) < 0.01 * mean);
    double trees = 0, sum = 0;
    for (size_t s = 0; s < samples; s++) {
        const lab_listops_shape shape = lab_listops_shape_draw(sizes, 3, LAB_SET_TEST, (uint32_t)s);
        assert_true(shape.length > preset->shortest && shape.length < preset->longest);
        trees += (double)shape.trees;
        sum += (double)shape.length;
    }
    const double n = (double)samples, error = sqrt(n * (1 - exact.share)) / exact.share;
    assert_true(fabs(trees - n / exact.share) < DEVIATIONS * error);
    assert_true(fabs(sum / n - exact.mean) < DEVIATIONS * exact.deviation / sqrt(n));
}

static void lengths_are_as_published(void **state) {
    (void)state;
    check_preset(&lab_listops_presets[0], 4000 / SCARCE, 0.002, 298);
    if (!IS_SANITIZED) /* whose lengths take longest to count */
        check_preset(&lab_listops_presets[1], 4000 / SCARCE, 0.083, 1035);
}

/* Every length of small expressions, by its probability. */
static void check_lengths(const lab_task_options *options, size_t samples) {
    static double chances[MOST_LENGTH];
    size_t counts[64] = {0};
    length_distribution(options, chances);
    const moments exact = moments_between(options, chances);
    lab_dataset set = draw(options, LAB_SET_TRAIN, samples, 9);
    for (size_t s = 0; s < samples; s++)
        counts[length_of(&set, s)]++;
    for (size_t l = 0; l < LAB_EXPRESSIONS(options)->longest; l++) {
        const double p = l > LAB_EXPRESSIONS(options)->shortest ? chances[l] / exact.share : 0, n = (double)samples;
        assert_true(fabs((double)counts[l] - n * p) <= DEVIATIONS * sqrt(n * p * (1 - p)));
    }
    lab_dataset_destroy(&set);
}

static void lengths_have_their_probabilities(void **state) {
    (void)state;
    const lab_task_options cases[] = {options_of(2, 3, 0, 7),  options_of(3, 2, 0, 20), options_of(3, 2, 4, 10),
                                      options_of(4, 5, 0, 60), options_of(4, 3, 9, 30), options_of(7, 7, 0, 64),
                                      options_of(1, 2, 0, 2)};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_lengths(&cases[i], 20000 / SCARCE);
}

/* ---- shapes and symbols ---- */

static void check_share(size_t found, size_t total, double share) {
    const double n = (double)total;
    if (fabs((double)found - n * share) > DEVIATIONS * sqrt(n * share * (1 - share)))
        fail_msg("%zu of %zu: the share should be %g", found, total, share);
}

/* One operator over digits: what it is, how many it has, and what they are is uniform. */
static void symbols_are_uniform(void **state) {
    (void)state;
    enum { SAMPLES = 20000 / SCARCE, MOST = 7 };
    const lab_task_options options = options_of(2, MOST, 1, 20);
    size_t operators[4] = {0}, digits[10] = {0}, first[10] = {0}, arguments[MOST + 1] = {0}, total = 0;
    lab_dataset set = draw(&options, LAB_SET_TRAIN, SAMPLES, 2);
    for (size_t s = 0; s < SAMPLES; s++) {
        const int32_t *tokens = set.input + set.input_offsets[s];
        const size_t n = length_of(&set, s) - 2;
        assert_int_equal(tokens[0], LAB_LISTOPS_START);
        assert_int_equal(tokens[n + 2], LAB_LISTOPS_END);
        assert_in_range(n, 2, MOST);
        arguments[n]++;
        operators[tokens[1] - LAB_LISTOPS_MIN]++;
        first[tokens[2] - LAB_LISTOPS_ZERO]++;
        for (size_t i = 2; i < n + 2; i++, total++)
            digits[tokens[i] - LAB_LISTOPS_ZERO]++;
    }
    for (size_t n = 2; n <= MOST; n++)
        check_share(arguments[n], SAMPLES, 1.0 / (MOST - 1));
    for (size_t o = 0; o < 4; o++)
        check_share(operators[o], SAMPLES, 0.25);
    for (size_t d = 0; d < 10; d++) {
        check_share(digits[d], total, 0.1);
        check_share(first[d], SAMPLES, 0.1);
    }
    lab_dataset_destroy(&set);
}

/* Of length 7 and depth 3 with pairs only there are two shapes, as probable: the inner operator is first or second. */
static void sides_are_equal(void **state) {
    (void)state;
    enum { SAMPLES = 10000 / SCARCE };
    const lab_task_options options = options_of(3, 2, 4, 10);
    lab_dataset set = draw(&options, LAB_SET_TRAIN, SAMPLES, 5);
    size_t first = 0;
    for (size_t s = 0; s < SAMPLES; s++) {
        assert_int_equal(length_of(&set, s), 7);
        first += lab_listops_is_operator(set.input[set.input_offsets[s] + 2]);
    }
    check_share(first, SAMPLES, 0.5);
    lab_dataset_destroy(&set);
}

static void nothing_is_too_deep_or_wide(void **state) {
    (void)state;
    const lab_task_options options = options_of(4, 5, 30, 200);
    lab_listops_frame frames[8];
    int32_t parents[256], branches[256];
    lab_dataset set = draw(&options, LAB_SET_TRAIN, 2000, 6);
    size_t deepest = 0, widest = 0;
    for (size_t s = 0; s < set.samples; s++) {
        const size_t start = set.input_offsets[s], n = length_of(&set, s) + 1;
        const lab_listops_findings found = lab_listops_walk(n, set.input + start, parents, branches, frames);
        assert_int_equal(found.flaw, LAB_LISTOPS_FINE);
        assert_memory_equal(parents, set.input_tree.parents + start, n * sizeof *parents);
        assert_memory_equal(branches, set.input_tree.branches + start, n * sizeof *branches);
        deepest = found.depth > deepest ? found.depth : deepest;
        widest = found.arguments > widest ? found.arguments : widest;
    }
    assert_int_equal(deepest, 3); /* operators stand at depths 1 … 3 */
    assert_int_equal(widest, 5);
    lab_dataset_destroy(&set);
}

/* ---- streams ---- */

static bool same_sample(const lab_dataset *a, size_t i, const lab_dataset *b, size_t j) {
    return length_of(a, i) == length_of(b, j) && a->labels[i] == b->labels[j] &&
           memcmp(a->input + a->input_offsets[i], b->input + b->input_offsets[j], length_of(a, i) * sizeof *a->input) ==
               0;
}

static size_t same_samples(const lab_dataset *a, const lab_dataset *b, size_t samples) {
    size_t same = 0;
    for (size_t s = 0; s < samples; s++)
        same += same_sample(a, s, b, s);
    return same;
}

static void samples_have_their_own_streams(void **state) {
    (void)state;
    const lab_task_options options = options_of(7, 7, 250, 1000);
    lab_dataset few = draw(&options, LAB_SET_TRAIN, 20, 7), many = draw(&options, LAB_SET_TRAIN, 100, 7);
    lab_dataset dev = draw(&options, LAB_SET_DEV, 20, 7), other = draw(&options, LAB_SET_TRAIN, 20, 8);
    assert_int_equal(same_samples(&few, &many, 20), 20);
    assert_int_equal(same_samples(&few, &dev, 20), 0);
    assert_int_equal(same_samples(&few, &other, 20), 0);
    for (size_t i = 0; i < 100; i++)
        for (size_t j = 0; j < i; j++)
            assert_false(same_sample(&many, i, &many, j));
    const size_t threads = locus_threads();
    assert_int_equal(locus_threads_set(threads == 1 ? 3 : 1), LOCUS_OK);
    lab_dataset again = draw(&options, LAB_SET_TRAIN, 100, 7);
    assert_int_equal(locus_threads_set(threads), LOCUS_OK);
    assert_int_equal(same_samples(&again, &many, 100), 100);
    assert_memory_equal(again.input_tree.parents, many.input_tree.parents,
                        many.input_offsets[100] * sizeof *many.input_tree.parents);
    lab_dataset_destroy(&few);
    lab_dataset_destroy(&many);
    lab_dataset_destroy(&dev);
    lab_dataset_destroy(&other);
    lab_dataset_destroy(&again);
}

/* ---- refusals ---- */

static void expect_refusal(lab_task_options options, const char *argument, const char *says) {
    lab_dataset set;
    locus_error error = {0};
    const lab_draw wanted = {task(), &options, LAB_SET_TRAIN, 3, 0};
    assert_int_equal(lab_dataset_generate(&set, &wanted, &error), LOCUS_ERROR_ARGUMENT);
    assert_string_equal(error.argument, argument);
    if (strstr(error.message, says) == NULL)
        fail_msg("'%s' does not say '%s'", error.message, says);
    assert_null(set.input);
}

static void what_cannot_be_is_refused(void **state) {
    (void)state;
    expect_refusal(options_of(0, 7, 0, 10), "expression-depth", "depth 0");
    expect_refusal(options_of(1000, 7, 0, 10), "expression-depth", "1 … 256");
    expect_refusal(options_of(7, 1, 0, 10), "arguments", "1 arguments");
    expect_refusal(options_of(7, 7, 0, 2000000), "longest", "at most 1000000");
    expect_refusal(options_of(7, 7, 250, 250), "longest", "between 250 and 250");
    expect_refusal(options_of(7, 7, 250, 251), "longest", "both excluded");
    expect_refusal(options_of(7, 7, 1, 4), "longest", "the shortest have 1 and 4");
    expect_refusal(options_of(3, 7, 250, 1000), "shortest", "the longest 65");
    expect_refusal(options_of(1, 7, 1, 1000), "shortest", "the longest 1");
    expect_refusal(options_of(4, 7, 450, 1000), "longest", "none of"); /* 457 are possible, but not in a lifetime */
    expect_refusal(options_of(9, 2, 4, 7), "longest", "none of");      /* 5 and 6 are not: pairs have 1, 4, 7, … */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_those_of_the_text), cmocka_unit_test(parity_is_the_values),
        cmocka_unit_test(lengths_are_as_published),     cmocka_unit_test(lengths_have_their_probabilities),
        cmocka_unit_test(symbols_are_uniform),          cmocka_unit_test(sides_are_equal),
        cmocka_unit_test(nothing_is_too_deep_or_wide),  cmocka_unit_test(samples_have_their_own_streams),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    threads_only("samples_have_their_own_streams");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
