/* SPDX-License-Identifier: MIT */
/* Expressions from random and damaged texts: nothing crashes, a refusal is one line with a place inside the text, and
 * what is taken comes back from its own text, whose structure is sound. LOCUS_FUZZ sets the number of tries. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "task/listops.h"

#include <locus/random.h>
#include <stdlib.h>
#include <string.h>

static const locus_random stream = {.seed = 20261121, .purpose = LOCUS_RANDOM_USER, .step = 14};
static uint64_t drawn;

static size_t below(size_t bound) {
    return (size_t)locus_random_below(&stream, drawn++, bound);
}

static size_t tries(void) {
    const char *text = getenv("LOCUS_FUZZ");
    return text ? (size_t)strtoull(text, NULL, 10) : 40000;
}

/* Good texts that were damaged, and words in any order. */
static void make_text(char *text, size_t size) {
    static const char *const good[] = {"( ( ( [MAX 2 ) 9 ) ] )", "7", "[SM [MED 4 7 ] 9 8 ]",
                                       "( ( ( [MAX ( ( ( [MIN 4 ) 7 ) ] ) ) 3 ) ] )"};
    static const char *const words[] = {"( ", ") ", "1 ", "9 ", "] ", "[MIN ", "[SM ", "[MED ", "[MA", " ", "\xCE\xB4"};
    text[0] = '\0';
    if (below(2) == 0) {
        for (size_t count = below(14); count > 0; count--) {
            strcat(text, words[below(sizeof words / sizeof *words)]);
        }
        return;
    }
    strcpy(text, good[below(sizeof good / sizeof *good)]);
    for (size_t count = below(3); count > 0 && strlen(text) + 2 < size; count--) {
        const size_t length = strlen(text), at = below(length + 1);
        if (below(2) == 0 && at < length) {
            memmove(text + at, text + at + 1, length - at);
        } else {
            memmove(text + at + 1, text + at, length - at + 1);
            text[at] = "() 019]["[below(8)];
        }
    }
}

static void check_sample(const lab_listops_reader *from) {
    lab_listops_reader back = {0};
    char *text = lab_listops_string(from->count, from->tokens, from->parents, from->branches);
    assert_non_null(text);
    assert_int_equal(lab_listops_read(&back, text, NULL), LOCUS_OK);
    assert_int_equal(back.count, from->count);
    assert_memory_equal(back.tokens, from->tokens, from->count * sizeof *from->tokens);
    assert_memory_equal(back.parents, from->parents, from->count * sizeof *from->tokens);
    assert_memory_equal(back.branches, from->branches, from->count * sizeof *from->tokens);
    assert_in_range(from->found.value, 0, 9);
    assert_int_equal(back.found.value, from->found.value);
    for (size_t t = 1; t < from->count; t++) {
        assert_in_range(from->parents[t], 0, t - 1);
        assert_in_range(from->branches[t], 0, from->found.arguments);
    }
    lab_listops_reader_destroy(&back);
    free(text);
}

static void test_texts(void **state) {
    (void)state;
    size_t taken = 0;
    lab_listops_reader reader = {0};
    for (size_t count = tries(); count > 0; count--) {
        char text[512];
        locus_error error = {0};
        make_text(text, sizeof text);
        const locus_status status = lab_listops_read(&reader, text, &error);
        if (status == LOCUS_OK) {
            check_sample(&reader);
            taken++;
        } else {
            assert_int_equal(status, LOCUS_ERROR_SPEC);
            assert_in_range(error.offset, 0, strlen(text));
            assert_true(error.message[0] != '\0');
            assert_null(strchr(error.message, '\n'));
        }
    }
    assert_true(taken > 0);
    lab_listops_reader_destroy(&reader);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_texts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
