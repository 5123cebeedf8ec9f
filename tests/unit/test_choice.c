/* SPDX-License-Identifier: MIT */
/* Words of a list, and the nearest one: neither what stands before a text nor what stands behind it counts. */
#include "spec/option.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void expect_nearest(const char *choices, const char *text, size_t length, const char *nearest) {
    const locus_option_text found = locus_choice_nearest(choices, text, length);
    if (found.length != strlen(nearest) || memcmp(found.text, nearest, found.length) != 0)
        fail_msg("'%.*s' of '%s' is '%.*s', not '%s'", (int)length, text, choices, (int)found.length, found.text,
                 nearest);
}

static void words_are_found_whole(void **state) {
    (void)state;
    assert_int_equal(locus_choice_find("on|off|auto", "off", 3), 1);
    assert_int_equal(locus_choice_find("on|off|auto", "auto", 4), 2);
    assert_int_equal(locus_choice_find("on|off|auto", "of", 2), SIZE_MAX);
    assert_int_equal(locus_choice_find("on|off|auto", "offs", 4), SIZE_MAX);
    assert_int_equal(locus_choice_find("on|off|auto", "on|off", 6), SIZE_MAX);
    assert_int_equal(locus_choice_at("on|off", 1).length, 3);
    assert_int_equal(locus_choice_at("on|off", 2).length, 0);
    assert_int_equal(locus_choice_at(NULL, 0).length, 0);
}

static void neighbours_that_are_swapped_are_one_edit(void **state) {
    (void)state;
    expect_nearest("linear|soft|ntk", "tnk", 3, "ntk");
    expect_nearest("linear|soft|ntk", "lniear", 6, "linear");
    expect_nearest("linear|soft|ntk", "linera", 6, "linear");
    expect_nearest("linear|soft|ntk", "yarn", 4, "");
    expect_nearest("ab", "ba", 2, "ab"); /* as few as two letters */
    expect_nearest("no|yes", "n", 1, "no");
    expect_nearest("a|yes", "n", 1, ""); /* an edit of all letters is another word */
}

/* A letter before the text, or the bar before the word, would make a swap of its first letter: the table of costs has
 * no such row, which the sanitizers see. */
static void what_stands_before_does_not_count(void **state) {
    (void)state;
    static const char before[] = "xbqrst", bar[] = "b|qrst";
    expect_nearest("bxqrst", before + 1, 5, "bxqrst");
    expect_nearest("bxyz", before + 1, 2, "");
    expect_nearest("a|bqrst", bar, 6, "bqrst");
    expect_nearest("aaaa|bcde", bar, 2, "");
}

static void long_words_have_no_nearest_one(void **state) {
    (void)state;
    char word[34];
    memset(word, 'a', sizeof word);
    word[33] = '\0';
    expect_nearest(word, word, 33, "");
    expect_nearest(word + 1, word, 32, word + 1);
    expect_nearest(word, word, 32, "");
    expect_nearest("a", word, 0, "");
}

/* What lies where the table of costs will. */
__attribute__((noinline)) static void leave_behind(int byte) {
    volatile unsigned char room[1 << 15];
    for (size_t i = 0; i < sizeof room; i++)
        room[i] = (unsigned char)byte;
}

/* Every edge of the table is written: whatever lay there, nothing is nearer than it is. */
static void what_lay_there_before_does_not_count(void **state) {
    (void)state;
    for (int byte = 0; byte < 256; byte += 255) {
        leave_behind(byte);
        expect_nearest("abcdef", "x", 1, "");
        leave_behind(byte);
        expect_nearest("ab", "xyzuvw", 6, "");
        leave_behind(byte);
        expect_nearest("abcdefgh", "stuvwxyz", 8, "");
        leave_behind(byte);
        expect_nearest("ab", "b", 1, "ab");
        leave_behind(byte);
        expect_nearest("abcd", "ab", 2, "");
        leave_behind(byte);
        expect_nearest("z|b", "pb|", 3, ""); /* nor does the bar before a word of one letter */
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_found_whole),
        cmocka_unit_test(neighbours_that_are_swapped_are_one_edit),
        cmocka_unit_test(what_stands_before_does_not_count),
        cmocka_unit_test(long_words_have_no_nearest_one),
        cmocka_unit_test(what_lay_there_before_does_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
