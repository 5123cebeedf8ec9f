/* SPDX-License-Identifier: MIT */
/* Sets and sequences of problems: every problem right, drawn as docs/tasks.md says (by counting; χ² bounds are those
 * that chance exceeds once in a thousand), sequences that are problems laid end to end, and nothing but (seed, set, i)
 * that they depend on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "problem_oracle.h"
#include "task/problem.h"
#include "task/task_class.h"

#include <locus/parallel.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_TEXT 10000
static const char *const names[] = {"addition", "substring-index", "substring-search"};

static lab_task_options defaults(const char *name) {
    return lab_task_default(lab_task_find(name));
}

static lab_dataset draw(const char *name, const lab_task_options *options, size_t samples, uint64_t seed) {
    lab_dataset set;
    locus_error error = {0};
    const lab_draw wanted = {lab_task_find(name), options, LAB_SET_TRAIN, samples, seed};
    if (lab_dataset_generate(&set, &wanted, &error) != LOCUS_OK)
        fail_msg("%s: %s", name, error.message);
    return set;
}

static lab_dataset open_set(const char *name, const lab_task_options *options, lab_set which, size_t samples,
                            uint64_t seed) {
    lab_dataset set;
    locus_error error = {0};
    const lab_draw wanted = {lab_task_find(name), options, which, samples, seed};
    if (lab_dataset_sequences(&set, &wanted, &error) != LOCUS_OK)
        fail_msg("%s: %s", name, error.message);
    return set;
}

/* Prompt and rest of a sample, as text. */
static size_t sample_text(const char *name, const lab_dataset *set, size_t sample, char *text) {
    const lab_task *task = lab_task_find(name);
    size_t input = set->input_offsets[sample], target = set->target_offsets[sample];
    size_t prompt = set->input_offsets[sample + 1] - input, rest = set->target_offsets[sample + 1] - target;
    assert_true(prompt + rest < MOST_TEXT);
    lab_problem_decode(task, set->input + input, prompt, text);
    lab_problem_decode(task, set->target + target, rest, text + prompt);
    return prompt;
}

static void read_text(const char *name, const lab_dataset *set, uint64_t index, char *text) {
    int32_t tokens[MOST_TEXT];
    assert_true(set->sequences.length < MOST_TEXT);
    size_t count = set->sequences.read(&set->sequences, index, tokens);
    assert_int_equal(count, set->sequences.length);
    lab_problem_decode(lab_task_find(name), tokens, count, text);
}

static double chi_square(const size_t *counts, size_t classes) {
    double sum = 0, square = 0;
    for (size_t c = 0; c < classes; c++)
        sum += (double)counts[c];
    for (size_t c = 0; c < classes; c++) {
        double off = (double)counts[c] - sum / (double)classes;
        square += off * off / (sum / (double)classes);
    }
    return square;
}

/* ---- distributions ---- */

/* Lengths uniform, first digits 1 … 9, last digits of longer numbers 0 … 9; both numbers are independent. */
static void test_sums(void **state) {
    (void)state;
    const lab_task_options options = defaults("addition");
    lab_dataset set = draw("addition", &options, 20000, 3);
    size_t lengths[8] = {0}, other_lengths[8] = {0}, firsts[9] = {0}, lasts[10] = {0}, pairs[64] = {0};
    char text[MOST_TEXT];
    for (size_t s = 0; s < set.samples; s++) {
        sum_read sum;
        const char *at = text;
        size_t prompt = sample_text("addition", &set, s, text);
        assert_true(oracle_reads_sum(&at, &sum) && *at == '\0');
        assert_memory_equal(text + prompt - 2, "; ", 2);
        assert_true(sum.first > 0 && sum.second > 0 && sum.first_digits <= 8 && sum.second_digits <= 8);
        lengths[sum.first_digits - 1]++;
        other_lengths[sum.second_digits - 1]++;
        pairs[8 * (sum.first_digits - 1) + sum.second_digits - 1]++;
        firsts[text[3] - '1']++;
        if (sum.second_digits > 1)
            lasts[sum.second % 10]++;
    }
    assert_true(chi_square(lengths, 8) < 24.4);
    assert_true(chi_square(other_lengths, 8) < 24.4);
    assert_true(chi_square(pairs, 64) < 103.5);
    assert_true(chi_square(firsts, 9) < 26.2);
    assert_true(chi_square(lasts, 10) < 27.9);
    lab_dataset_destroy(&set);
}

static void test_numbers_of_all_sizes(void **state) {
    (void)state;
    lab_task_options options = defaults("addition");
    char text[MOST_TEXT];
    for (size_t digits = 1; digits <= 18; digits++) {
        size_t most = 0;
        LAB_PROBLEMS(&options)->digits = digits;
        lab_dataset set = draw("addition", &options, 300, 1);
        for (size_t s = 0; s < set.samples; s++) {
            sum_read sum;
            const char *at = text;
            sample_text("addition", &set, s, text);
            assert_true(oracle_reads_sum(&at, &sum) && *at == '\0');
            most = sum.first_digits > most ? sum.first_digits : most;
        }
        assert_int_equal(most, digits);
        lab_dataset_destroy(&set);
    }
}

static void test_suffixes(void **state) {
    (void)state;
    const lab_task_options options = defaults("substring-index");
    lab_dataset set = draw("substring-index", &options, 20000, 3);
    size_t indices[13] = {0}, letters[26] = {0};
    char text[MOST_TEXT];
    for (size_t s = 0; s < set.samples; s++) {
        suffix_read found;
        const char *at = text;
        size_t prompt = sample_text("substring-index", &set, s, text);
        assert_true(oracle_reads_suffix(&at, &found) && *at == '\0');
        assert_int_equal(found.length, 13);
        assert_memory_equal(text + prompt - 5, ":]=='", 5);
        indices[found.index]++;
        for (size_t i = 0; i < found.length; i++)
            letters[found.string[i] - 'a']++;
    }
    assert_true(chi_square(indices, 13) < 33.0);
    assert_true(chi_square(letters, 26) < 52.7);
    lab_dataset_destroy(&set);
}

/* ⌊N(40, 6)⌋ has mean 39.5 and deviation √(36 + 1/12); of 5,000 draws their standard errors are 0.09 and 0.06. */
static void test_lengths(void **state) {
    (void)state;
    lab_task_options options = defaults("substring-index");
    LAB_PROBLEMS(&options)->length_mean = 40;
    LAB_PROBLEMS(&options)->length_deviation = 6;
    LAB_PROBLEMS(&options)->symbols = 3;
    lab_dataset set = draw("substring-index", &options, 5000, 0);
    double sum = 0, squares = 0;
    char text[MOST_TEXT];
    for (size_t s = 0; s < set.samples; s++) {
        suffix_read found;
        const char *at = text;
        sample_text("substring-index", &set, s, text);
        assert_true(oracle_reads_suffix(&at, &found) && *at == '\0');
        assert_int_equal(strspn(found.string, "abc"), found.length);
        sum += (double)found.length;
        squares += (double)(found.length * found.length);
    }
    double mean = sum / 5000, deviation = sqrt(squares / 5000 - mean * mean);
    assert_true(fabs(mean - 39.5) < 0.35 && fabs(deviation - sqrt(36 + 1.0 / 12)) < 0.25);
    lab_dataset_destroy(&set);
    LAB_PROBLEMS(&options)->length_mean = LAB_PROBLEMS(&options)->length_deviation =
        1.0; /* most are below 1 before they are raised to it */
    set = draw("substring-index", &options, 500, 0);
    for (size_t s = 0; s < set.samples; s++) {
        suffix_read found;
        const char *at = text;
        sample_text("substring-index", &set, s, text);
        assert_true(oracle_reads_suffix(&at, &found) && found.length >= 1);
    }
    lab_dataset_destroy(&set);
}

/* ---- substring-search ---- */

/* The letters before a place, without '>'. */
static size_t letters_before(const char *text, size_t place, char *letters) {
    size_t count = 0;
    for (size_t i = 0; i < place; i++)
        if (text[i] != '>')
            letters[count++] = text[i];
    letters[count] = '\0';
    return count;
}

/* '>' exactly behind every random string, and a piece of what stands before it behind every '>', also where the
 * sequence's end cuts it. */
static void assert_search(const char *text, size_t length, size_t piece) {
    char before[MOST_TEXT], wanted[MOST_TEXT];
    assert_int_equal(strlen(text), length);
    for (size_t i = 0; i < length; i++)
        assert_true((text[i] == '>') == (i % (2 * piece + 1) == piece));
    for (size_t at = piece; at < length; at += 2 * piece + 1) {
        letters_before(text, at, before);
        snprintf(wanted, sizeof wanted, "%.*s", (int)piece, text + at + 1);
        assert_non_null(strstr(before, wanted));
    }
}

static void test_search(void **state) {
    (void)state;
    static const size_t pieces[] = {1, 2, 7, 16, 100, 600}, lengths[] = {2, 33, 34, 513, 1000};
    lab_task_options options = defaults("substring-search");
    char text[MOST_TEXT];
    for (size_t p = 0; p < 6; p++) {
        for (size_t l = 0; l < 5; l++) {
            LAB_PROBLEMS(&options)->length_mean = (double)pieces[p];
            LAB_PROBLEMS(&options)->sequence = lengths[l];
            lab_dataset set = open_set("substring-search", &options, LAB_SET_DEV, 20, p);
            for (uint64_t i = 0; i < 20; i++) {
                read_text("substring-search", &set, i, text);
                assert_search(text, lengths[l], pieces[p]);
                assert_int_equal(strspn(text, ">abcd"), lengths[l]);
            }
            lab_dataset_destroy(&set);
        }
    }
}

/* Of the second substring: before it stand R R S, 48 letters, so it begins at 0 … 32, evenly; 0 and 16 look the same.
 * Of all random letters each comes equally often. */
static void test_search_draws(void **state) {
    (void)state;
    lab_task_options options = defaults("substring-search");
    size_t begins[33] = {0}, letters[26] = {0};
    char text[MOST_TEXT], before[MOST_TEXT], wanted[17];
    LAB_PROBLEMS(&options)->symbols = 26; /* what looks the same is the same */
    LAB_PROBLEMS(&options)->sequence = 66;
    lab_dataset set = open_set("substring-search", &options, LAB_SET_TEST, 0, 9);
    for (uint64_t i = 0; i < 6600; i++) {
        read_text("substring-search", &set, i, text);
        letters_before(text, 49, before);
        snprintf(wanted, sizeof wanted, "%.16s", text + 50);
        const char *found = strstr(before, wanted);
        assert_non_null(found);
        begins[found == before && i % 2 == 1 ? 16 : found - before]++;
        for (size_t j = 0; j < 16; j++) {
            letters[text[j] - 'a']++;
            letters[text[33 + j] - 'a']++;
        }
    }
    assert_true(chi_square(begins, 33) < 62.5);
    assert_true(chi_square(letters, 26) < 52.7);
    lab_dataset_destroy(&set);
}

/* ---- sequences ---- */

/* Problems from the first character on, nothing between them, the last one cut: it goes on in a longer sequence. */
static void assert_end_to_end(const char *name, const char *text, const char *longer) {
    const char *at = text;
    size_t problems = 0;
    while (strchr(at, '#') != NULL) {
        sum_read sum;
        suffix_read suffix;
        assert_true(strcmp(name, "addition") == 0 ? oracle_reads_sum(&at, &sum) : oracle_reads_suffix(&at, &suffix));
        problems++;
    }
    assert_true(problems > 0);
    assert_memory_equal(longer, text, strlen(text));
}

static void test_sequences(void **state) {
    (void)state;
    char text[MOST_TEXT], longer[MOST_TEXT], first[MOST_TEXT];
    for (size_t t = 0; t < 3; t++) {
        const lab_task_options options = defaults(names[t]);
        lab_task_options long_options = options;
        LAB_PROBLEMS(&long_options)->sequence = 2000;
        lab_dataset set = open_set(names[t], &options, LAB_SET_TRAIN, 100, 2), pairs = draw(names[t], &options, 100, 2);
        lab_dataset more = open_set(names[t], &long_options, LAB_SET_TRAIN, 0, 2);
        assert_int_equal(set.samples, 100);
        assert_true(set.sequences.count == 100 && more.sequences.count == UINT64_MAX);
        assert_int_equal(set.sequences.length, t < 2 ? 641 : 513);
        lab_dataset one = open_set(names[t], &options, LAB_SET_TRAIN, 1, 2); /* the least that has an end */
        assert_true(one.sequences.count == 1 && one.samples == 1);
        lab_dataset_destroy(&one);
        assert_true(lab_dataset_chance(&set, 5) == 0.0 && set.sequences.bytes_per_token == 0.0);
        for (uint64_t i = 0; i < 100; i++) {
            read_text(names[t], &set, i, text);
            read_text(names[t], &more, i, longer);
            sample_text(names[t], &pairs, (size_t)i, first);
            assert_memory_equal(text, first, strlen(first));
            if (t < 2) {
                assert_end_to_end(names[t], text, longer);
            } else {
                assert_string_equal(text, first);
                assert_memory_equal(longer, text, 513);
            }
        }
        lab_dataset_destroy(&set);
        lab_dataset_destroy(&pairs);
        lab_dataset_destroy(&more);
    }
}

static int compare(const void *a, const void *b) {
    return strcmp(a, b);
}

/* Three sets, two seeds, and indices beyond 2³²: no sequence twice. */
static void test_streams(void **state) {
    (void)state;
    enum { EACH = 100, WIDTH = 700, ALL = 5 * EACH };
    char(*texts)[WIDTH] = calloc(ALL, sizeof *texts);
    assert_non_null(texts);
    for (size_t t = 0; t < 3; t++) {
        const lab_task_options options = defaults(names[t]);
        for (size_t k = 0; k < 5; k++) {
            lab_dataset set = open_set(names[t], &options, k < 3 ? (lab_set)k : LAB_SET_TRAIN, 0, k == 3 ? 1 : 0);
            for (size_t i = 0; i < EACH; i++)
                read_text(names[t], &set, i + (k == 4 ? (uint64_t)1 << 32 : 0), texts[EACH * k + i]);
            lab_dataset_destroy(&set);
        }
        qsort(texts, ALL, sizeof *texts, compare);
        for (size_t i = 1; i < ALL; i++)
            assert_string_not_equal(texts[i - 1], texts[i]);
    }
    free(texts);
}

/* No string is in two sets, there are 26¹³. */
static void test_sets_are_apart(void **state) {
    (void)state;
    enum { EACH = 2000, WIDTH = 64 };
    char(*texts)[WIDTH] = calloc((size_t)3 * EACH, sizeof *texts);
    assert_non_null(texts);
    for (size_t k = 0; k < 3; k++) {
        const lab_task_options options = defaults("substring-index");
        locus_error error;
        lab_dataset set;
        const lab_draw wanted = {lab_task_find("substring-index"), &options, (lab_set)k, EACH, 0};
        assert_int_equal(lab_dataset_generate(&set, &wanted, &error), LOCUS_OK);
        for (size_t i = 0; i < EACH; i++) {
            char text[MOST_TEXT];
            sample_text("substring-index", &set, i, text);
            snprintf(texts[EACH * k + i], WIDTH, "%.17s", text);
        }
        lab_dataset_destroy(&set);
    }
    qsort(texts, (size_t)3 * EACH, sizeof *texts, compare);
    for (size_t i = 1; i < (size_t)3 * EACH; i++)
        assert_string_not_equal(texts[i - 1], texts[i]);
    free(texts);
}

/* ---- threads ---- */

typedef struct reading {
    const lab_sequences *sequences;
    int32_t *tokens;
} reading;

static void read_one(void *context, size_t index, size_t worker) {
    const reading *all = context;
    (void)worker;
    all->sequences->read(all->sequences, index, all->tokens + index * all->sequences->length);
}

static void test_threads(void **state) {
    (void)state;
    enum { MANY = 64 };
    for (size_t t = 0; t < 3; t++) {
        const lab_task_options options = defaults(names[t]);
        lab_dataset set = open_set(names[t], &options, LAB_SET_TRAIN, MANY, 0);
        size_t bytes = MANY * set.sequences.length * sizeof(int32_t);
        reading one = {&set.sequences, malloc(bytes)}, many = {&set.sequences, malloc(bytes)};
        assert_true(one.tokens != NULL && many.tokens != NULL);
        for (size_t i = 0; i < MANY; i++)
            read_one(&one, MANY - 1 - i, 0);
        locus_parallel_for(MANY, read_one, &many);
        assert_memory_equal(one.tokens, many.tokens, bytes);
        free(one.tokens);
        free(many.tokens);
        lab_dataset_destroy(&set);
    }
}

/* ---- refusals ---- */

static void test_refusals(void **state) {
    (void)state;
    const struct {
        const char *task, *argument;
        lab_problem_options of;
    } bad[] = {
        {"addition", "digits", {.digits = 0, .sequence = 641}},
        {"addition", "digits", {.digits = 19, .sequence = 641}},
        {"addition", "sequence", {.digits = 8, .sequence = 1}},
        {"substring-index", "length", {.length_mean = 0, .symbols = 26, .sequence = 641}},
        {"substring-index", "length", {.length_mean = 4097, .symbols = 26, .sequence = 641}},
        {"substring-index", "length", {.length_mean = (double)NAN, .symbols = 26, .sequence = 641}},
        {"substring-index", "length-deviation", {13, 14, .symbols = 26, .sequence = 641}},
        {"substring-index", "length-deviation", {4000, 100, .symbols = 26, .sequence = 641}},
        {"substring-index", "length-deviation", {13, -1, .symbols = 26, .sequence = 641}},
        {"substring-index", "symbols", {13, 0, .symbols = 27, .sequence = 641}},
        {"substring-search", "symbols", {16, 0, .symbols = 0, .sequence = 513}},
        {"substring-search", "length", {16.5, 0, .symbols = 4, .sequence = 513}},
        {"substring-search", "length", {0, 0, .symbols = 4, .sequence = 513}},
        {"substring-search", "length-deviation", {16, 1, .symbols = 4, .sequence = 513}},
        {"substring-search", "sequence", {16, 0, .symbols = 4, .sequence = 1000001}},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        lab_dataset set;
        locus_error error = {0};
        const lab_task *task = lab_task_find(bad[i].task);
        const lab_task_options options = lab_task_with(task, &bad[i].of);
        const lab_draw wanted = {task, &options, LAB_SET_TRAIN, 3, 0};
        assert_int_equal(lab_dataset_generate(&set, &wanted, &error), LOCUS_ERROR_ARGUMENT);
        assert_string_equal(error.argument, bad[i].argument);
        assert_int_equal(lab_dataset_sequences(&set, &wanted, &error), LOCUS_ERROR_ARGUMENT);
        assert_string_equal(error.argument, bad[i].argument);
        assert_null(set.sequences.read);
        lab_dataset_destroy(&set);
    }
    lab_dataset set;
    locus_error error = {0};
    const lab_task_options words = defaults("copy");
    const lab_draw wanted = {lab_task_find("copy"), &words, LAB_SET_TRAIN, 3, 0};
    assert_int_equal(lab_dataset_sequences(&set, &wanted, &error), LOCUS_ERROR_UNSUPPORTED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),           cmocka_unit_test(test_numbers_of_all_sizes),
        cmocka_unit_test(test_suffixes),       cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_search),         cmocka_unit_test(test_search_draws),
        cmocka_unit_test(test_sequences),      cmocka_unit_test(test_streams),
        cmocka_unit_test(test_sets_are_apart), cmocka_unit_test(test_threads),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
