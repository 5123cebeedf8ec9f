/* SPDX-License-Identifier: MIT */
/* What a terminal would obey is replaced, what it shows stays; runs' names become paths only if they fit. Fields of
 * CSV, numbers as exact as they are, words that are nearly others, lists that grow. */
#include "io/csv.h"
#include "io/fail.h"
#include "io/grow.h"
#include "io/printable.h"
#include "io/word_distance.h"
#include "train/store/run_folder.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "unit/scratch_folder.h"

static void expect(const char *text, const char *kept, const char *expected) {
    char copy[64];
    snprintf(copy, sizeof copy, "%s", text);
    lab_printable(copy, kept);
    assert_string_equal(copy, expected);
}

static void what_is_shown_stays(void **state) {
    (void)state;
    expect("", "", "");
    expect("copy-rope s0 (d=2)", "", "copy-rope s0 (d=2)");
    expect("−1 · é ∘ 位置 😀 e\xCC\x81", "", "−1 · é ∘ 位置 😀 e\xCC\x81");
    expect("\xC2\xA0|\xED\x9F\xBF|\xEE\x80\x80|\xF4\x8F\xBF\xBF", "",
           "\xC2\xA0|\xED\x9F\xBF|\xEE\x80\x80|\xF4\x8F\xBF\xBF");
    expect("a\nb\tc", "\n\t", "a\nb\tc");
}

static void what_a_terminal_obeys_is_replaced(void **state) {
    (void)state;
    expect("\x1b[31mred\x07", "", "?[31mred?");
    expect("a\nb\tc\rd\x7f", "", "a?b?c?d?");
    expect("a\nb\rc", "\n", "a\nb?c");
    expect("\xC2\x9B"
           "31m",
           "", "?31m"); /* CSI of the second set */
    expect("\x9B"
           "31m\xff",
           "", "?31m?"); /* the same as a byte */
    expect("\xE2\x80\xAE"
           "exe.txt\xE2\x81\xA6",
           "", "?exe.txt?");         /* turns the direction of writing */
    expect("\xE2\x80\xA8", "", "?"); /* a line's end */
    expect("\xC0\x8A|\xE0\x80\x8A|\xF4\x90\x80\x80|\xED\xA0\x80", "", "??|???|????|???"); /* no UTF-8 */
    expect("cut \xE2\x88", "", "cut ??");
}

/* ---- every edge of UTF-8 ---- */

enum { FORMS = 4 };
static const uint32_t ends_of_forms[] = {0, 0x80, 0x800, 0x10000, 0x200000};

/* A code in a form of so many bytes, for which it may be too small. */
static void write_form(char *text, uint32_t code, size_t bytes) {
    static const unsigned leads[] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (size_t i = bytes; i-- > 1; code >>= 6)
        text[i] = (char)(0x80 | (code & 0x3F));
    text[0] = (char)(leads[bytes] | code);
}

static bool is_obeyed(uint32_t code) {
    static const uint32_t ranges[][2] = {{0, 0x1F},        {0x7F, 0x9F},     {0x61C, 0x61C},
                                         {0x200E, 0x200F}, {0x2028, 0x202E}, {0x2066, 0x2069}};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (code >= ranges[i][0] && code <= ranges[i][1])
            return true;
    return false;
}

static void expect_character(const char *text, size_t left, size_t bytes, bool wanted) {
    bool shown = !wanted;
    const size_t taken = lab_printable_at(text, left, &shown);
    if (taken != bytes || shown != wanted)
        fail_msg("%02x %02x %02x %02x, %zu of them: %zu bytes, %d", text[0] & 0xFF, text[1] & 0xFF, text[2] & 0xFF,
                 text[3] & 0xFF, left, taken, (int)shown);
}

/* Whole, cut, and with a byte that goes on with nothing. */
static void expect_form(uint32_t code, size_t bytes) {
    char text[FORMS] = {0};
    const bool good = code >= ends_of_forms[bytes - 1] && code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF);
    write_form(text, code, bytes);
    expect_character(text, bytes, good ? bytes : 1, good && !is_obeyed(code));
    expect_character(text, FORMS, good ? bytes : 1, good && !is_obeyed(code));
    for (size_t left = 1; left < bytes; left++)
        expect_character(text, left, 1, false);
    for (size_t i = 1; i < bytes; i++) {
        const char kept = text[i];
        text[i] = (char)(kept ^ 0x40);
        expect_character(text, bytes, 1, false);
        text[i] = (char)(kept ^ 0x80);
        expect_character(text, bytes, 1, false);
        text[i] = kept;
    }
}

static void characters_of_every_form(void **state) {
    (void)state;
    static const uint32_t ranges[][2] = {
        {0, 0x3000}, {0xD000, 0xE100}, {0xFF00, 0x10100}, {0x10FF00, 0x110100}, {0x1FFF00, 0x200000}};
    for (size_t r = 0; r < sizeof ranges / sizeof *ranges; r++)
        for (uint32_t code = ranges[r][0]; code < ranges[r][1]; code++)
            for (size_t bytes = 1; bytes <= FORMS; bytes++)
                if (code < ends_of_forms[bytes])
                    expect_form(code, bytes);
    for (unsigned lead = 0x80; lead < 0x100; lead++) /* none begins so */
        if (lead < 0xC2 || lead > 0xF4) {
            const char text[FORMS] = {(char)lead, '\x90', '\x90', '\x90'};
            expect_character(text, FORMS, 1, false);
        }
}

static void names_that_are_no_folder_do_not_fit(void **state) {
    (void)state;
    char longest[202];
    memset(longest, 'n', 201);
    longest[201] = '\0';
    const char *const bad[] = {"",   ".",    "..",       "../x", "/etc",          "a/b",
                               ".x", "a\nb", "\x1b[2Jx", "\xff", "a\xE2\x80\xAE", longest};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        locus_error error;
        if (lab_run_name_fits(bad[i]))
            fail_msg("'%s' fits", bad[i]);
        assert_int_equal(lab_run_name_check(bad[i], &error), LOCUS_ERROR_ARGUMENT);
        assert_false(lab_run_has_folder(scratch_path(""), bad[i]));
    }
    assert_true(lab_run_name_fits(longest + 1));
    assert_true(lab_run_name_fits("copy-rope-smoke-s0-1a2b3c4d"));
    assert_true(lab_run_name_fits("é (2)"));
}

static void make_run(const char *folder) {
    static const char *const files[] = {"",      "/last.safetensors", "/best.safetensors",
                                        "/lock", "/vocab.txt",        "/.last.safetensors.tmp-0123456789abcdef"};
    char path[64];
    assert_int_equal(mkdir(scratch_path(folder), 0777), 0);
    for (size_t i = 1; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s%s", folder, files[i]);
        scratch_write(path, "x", 1);
    }
}

static bool exists(const char *name) {
    return access(scratch_path(name), F_OK) == 0;
}

static void a_run_is_removed_with_what_was_left_of_it(void **state) {
    (void)state;
    make_run("run");
    lab_run_clean(scratch_path(""), "run");
    assert_false(exists("run/.last.safetensors.tmp-0123456789abcdef"));
    assert_true(exists("run/last.safetensors") && exists("run/lock"));
    scratch_write("run/.vocab.txt.tmp-0123456789abcdef", "x", 1);
    lab_run_remove(scratch_path(""), "run");
    assert_false(exists("run"));
    make_run("kept");
    scratch_write("kept/notes", "x", 1);
    lab_run_remove(scratch_path(""), "kept");
    assert_true(exists("kept/notes"));
    assert_false(exists("kept/lock"));
}

static void nothing_outside_is_removed(void **state) {
    (void)state;
    make_run("victim");
    assert_int_equal(mkdir(scratch_path("store"), 0777), 0);
    lab_run_remove(scratch_path("store"), "../victim");
    assert_int_equal(symlink("../victim", scratch_path("store/link")), 0);
    lab_run_remove(scratch_path("store"), "link");
    lab_run_remove_tokenizer(scratch_path("store"), "link");
    lab_run_clean(scratch_path("store"), "link");
    assert_true(exists("victim/last.safetensors") && exists("victim/best.safetensors") && exists("victim/lock"));
    assert_true(exists("victim/vocab.txt") && exists("victim/.last.safetensors.tmp-0123456789abcdef"));
    assert_int_equal(unlink(scratch_path("store/link")), 0);
}

/* A line that is too long ends with a whole character, wherever it is cut; what fits to the last byte stays. */
static void long_lines_end_with_a_character(void **state) {
    (void)state;
    static const char *const characters[] = {"x", "\xc3\xa9", "\xe6\x97\xa5", "\xf0\x9f\x98\x80"};
    for (size_t c = 0; c < 4; c++) {
        for (size_t before = 440; before < 480; before++) {
            locus_error error = {0};
            char text[600];
            const size_t most = sizeof error.message - 1, bytes = strlen(characters[c]);
            memset(text, 'y', before);
            text[before] = '\0';
            strcat(text, characters[c]);
            strcat(text, characters[c]);
            assert_int_equal(lab_fail(&error, LOCUS_ERROR_IO, "what", "%s", text), LOCUS_ERROR_IO);
            size_t wanted = before + 2 * bytes;
            while (wanted > most)
                wanted = wanted > before ? wanted - bytes : most;
            assert_int_equal(strlen(error.message), wanted);
            assert_memory_equal(error.message, text, wanted);
            assert_string_equal(error.argument, "what");
        }
    }
    /* Bytes that are no character, at the end and alone. */
    locus_error error = {0};
    lab_fail(&error, LOCUS_ERROR_IO, "", "a\x80");
    assert_string_equal(error.message, "a?");
    lab_fail(&error, LOCUS_ERROR_IO, "", "\x80");
    assert_string_equal(error.message, "?");
    lab_fail(&error, LOCUS_ERROR_IO, "", "\xc3");
    assert_string_equal(error.message, "");
    lab_fail(&error, LOCUS_ERROR_IO, "", "%s", "");
    assert_string_equal(error.message, "");
}

/* ---- fields, numbers, words, lists ---- */

static const char *csv(const char *text, double number) {
    static char line[256];
    FILE *stream = tmpfile();
    assert_non_null(stream);
    if (text != NULL)
        lab_csv_text(stream, text);
    else
        lab_csv_number(stream, number);
    rewind(stream);
    line[fread(line, 1, sizeof line - 1, stream)] = '\0';
    fclose(stream);
    return line;
}

static void fields_of_csv(void **state) {
    (void)state;
    static const char *const texts[][2] = {
        {"", ""},
        {"plain", "plain"},
        {"a b;c", "a b;c"},
        {"a,b", "\"a,b\""},
        {"say \"a\"", "\"say \"\"a\"\"\""},
        {"=1+1", "'=1+1"}, /* what a spreadsheet would compute */
        {"+1,2", "\"'+1,2\""},
        {"-1", "'-1"},
        {"@a", "'@a"},
        {"1=2", "1=2"},
        {"a\nb\x1b[0m", "a?b?[0m"},
        {"é\xFF", "é?"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_string_equal(csv(texts[i][0], 0), texts[i][1]);
    static const struct {
        double value;
        const char *text;
    } numbers[] = {{0, "0"},
                   {-0.0, "-0"},
                   {0.1, "0.1"},
                   {1.0 / 3, "0.3333333333333333"}, /* 16 digits */
                   {0.1 + 0.2, "0.30000000000000004"},
                   {123456789012345, "123456789012345"},
                   {1234567890123456, "1234567890123456"},
                   {9007199254740994, "9007199254740994"},
                   {1e22, "1e+22"},
                   {5e-324, "4.94065645841247e-324"},
                   {-1.7976931348623157e308, "-1.7976931348623157e+308"}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        assert_string_equal(csv(NULL, numbers[i].value), numbers[i].text);
    assert_string_equal(csv(NULL, HUGE_VAL), "");
    assert_string_equal(csv(NULL, (double)NAN), "");
}

/* The least number of letters put in, taken out, changed, or changed with the next, none of them twice; by its
 * definition. */
static size_t least_changes(const char *a, size_t n, const char *b, size_t m) {
    if (n == 0 || m == 0)
        return n + m;
    size_t best = least_changes(a, n - 1, b, m - 1) + (a[n - 1] != b[m - 1]);
    const size_t out = least_changes(a, n - 1, b, m) + 1, in = least_changes(a, n, b, m - 1) + 1;
    best = out < best ? out : best;
    best = in < best ? in : best;
    if (n > 1 && m > 1 && a[n - 1] == b[m - 2] && a[n - 2] == b[m - 1]) {
        const size_t turned = least_changes(a, n - 2, b, m - 2) + 1;
        best = turned < best ? turned : best;
    }
    return best;
}

/* Word `index` of those of `length` letters of abc. */
static void word_at(size_t index, size_t length, char *word) {
    for (size_t i = 0; i < length; i++, index /= 3)
        word[i] = (char)('a' + (int)(index % 3));
    word[length] = '\0';
}

static void words_that_are_nearly_others(void **state) {
    (void)state;
    static const size_t powers[] = {1, 3, 9, 27, 81};
    char a[64], b[64];
    for (size_t n = 0; n <= 4; n++)
        for (size_t m = 0; m <= 4; m++)
            for (size_t i = 0; i < powers[n]; i++)
                for (size_t j = i % 2; j < powers[m]; j += 2) {
                    word_at(i, n, a);
                    word_at(j, m, b);
                    assert_int_equal(lab_word_distance(a, b), least_changes(a, n, b, m));
                }
    memset(a, 'x', sizeof a);
    memset(b, 'x', sizeof b);
    a[60] = b[50] = '\0';
    assert_int_equal(lab_word_distance(a, b), 0); /* of long words the first 47 letters */
    a[47] = 'y';
    assert_int_equal(lab_word_distance(a, b), 0);
    a[46] = 'y';
    assert_int_equal(lab_word_distance(a, b), 1);
    b[44] = '\0';
    assert_int_equal(lab_word_distance(a, b), 3);
    static const char words[] = "one two-three four onefour";
    static const char *const among[] = {"one", "two-three", "four", "onefour"};
    static const char *const none[] = {"on", "two", "three", "ne", "fours", "one two", "o"};
    for (size_t i = 0; i < sizeof among / sizeof *among; i++)
        assert_true(lab_word_among(among[i], words));
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_false(lab_word_among(none[i], words));
    assert_true(lab_word_among("b", "ab b") && lab_word_among("a", "ab a c") && !lab_word_among("a", NULL));
}

static void lists_grow(void **state) {
    (void)state;
    int *list = NULL;
    size_t room = 0;
    static const size_t rooms[] = {3, 3, 3, 6, 6, 6, 12};
    for (size_t count = 0; count < sizeof rooms / sizeof *rooms; count++) {
        assert_true(lab_grow(&list, count, &room, sizeof *list, 3));
        assert_int_equal(room, rooms[count]);
        list[room - 1] = 7;
        list[count] = (int)count;
    }
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(list[i], i);
    assert_false(lab_grow(&list, 12, &room, SIZE_MAX / 23, 3)); /* more than can be counted */
    assert_int_equal(room, 12);
    free(list);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_shown_stays),
        cmocka_unit_test(what_a_terminal_obeys_is_replaced),
        cmocka_unit_test(characters_of_every_form),
        cmocka_unit_test(names_that_are_no_folder_do_not_fit),
        cmocka_unit_test(a_run_is_removed_with_what_was_left_of_it),
        cmocka_unit_test(nothing_outside_is_removed),
        cmocka_unit_test(long_lines_end_with_a_character),
        cmocka_unit_test(fields_of_csv),
        cmocka_unit_test(words_that_are_nearly_others),
        cmocka_unit_test(lists_grow),
    };
    return cmocka_run_group_tests(tests, scratch_create, scratch_remove);
}
