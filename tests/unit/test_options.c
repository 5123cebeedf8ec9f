/* SPDX-License-Identifier: MIT */
/* The command line's options: values, defaults, lists, operands, and what is refused. Messages go to standard
 * error, which the tests of transcripts (tests/cli) read; here only the outcome counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "command.h"
#include "options.h"
#include "output.h"
#include "report/tables/table.h"

static int run_nothing(cli_arguments *arguments) {
    (void)arguments;
    return 0;
}

static const cli_option table[] = {
    {"output", 'o', CLI_TEXT, "FILE", NULL, "where to", 0, 0},
    {"steps", 0, CLI_INTEGER, "N", "10", "how many", 1, CLI_MANY},
    {"rate", 0, CLI_NUMBER, "R", "0.5", "how fast", 0, 1},
    {"setup", 0, CLI_CHOICE, "paper|code", NULL, "which", 0, 0},
    {"encodings", 0, CLI_LIST, "SPEC,…", NULL, "what", 0, 0},
    {"lengths", 0, CLI_LIST, "N,…", "100,200", "how long", 0, 0},
    {"inverse", 'i', CLI_FLAG, NULL, NULL, "turn round", 0, 0},
};
static const cli_command command = {.name = "try",
                                    .summary = "tries",
                                    .operands = "SPEC [MORE…]",
                                    .details = "",
                                    .examples = "",
                                    .shared = CLI_JSON | CLI_THREADS,
                                    CLI_OPTIONS(table),
                                    .run = run_nothing};

#define COUNT(words) ((int)(sizeof(words) / sizeof *(words)))
#define PARSE(arguments, ...) \
    do { \
        static char *words[] = {__VA_ARGS__}; \
        assert_int_equal(cli_arguments_parse(arguments, &command, COUNT(words), words), 0); \
    } while (0)
#define REFUSE(...) \
    do { \
        static char *words[] = {__VA_ARGS__}; \
        cli_arguments refused; \
        assert_int_equal(cli_arguments_parse(&refused, &command, COUNT(words), words), 2); \
        cli_arguments_free(&refused); \
    } while (0)

static void defaults_are_there(void **state) {
    (void)state;
    cli_arguments a;
    const int64_t *lengths;
    size_t count;
    PARSE(&a, "rope");
    assert_null(cli_text(&a, "output"));
    assert_int_equal(cli_integer(&a, "steps"), 10);
    assert_true(cli_number(&a, "rate") == 0.5);
    assert_string_equal(cli_text(&a, "setup"), "paper");
    assert_int_equal(cli_choice(&a, "setup"), 0);
    assert_false(cli_flag(&a, "inverse"));
    assert_false(cli_given_by_user(&a, "steps"));
    assert_int_equal(cli_list_integers(&a, "lengths", 1, 1000, &lengths, &count), 0);
    assert_int_equal(count, 2);
    assert_int_equal(lengths[1], 200);
    assert_int_equal(cli_require(&a, "output"), 2);
    assert_int_equal(cli_require(&a, "steps"), 0);
    cli_arguments_free(&a);
}

static void values_in_both_forms(void **state) {
    (void)state;
    cli_arguments a;
    PARSE(&a, "--output=a=b.npy", "rope", "--steps", "7", "-i", "--rate=0.25", "--setup", "code", "--json");
    assert_string_equal(cli_text(&a, "output"), "a=b.npy");
    assert_int_equal(cli_integer(&a, "steps"), 7);
    assert_true(cli_number(&a, "rate") == 0.25);
    assert_int_equal(cli_choice(&a, "setup"), 1);
    assert_true(cli_flag(&a, "inverse") && cli_flag(&a, "json"));
    cli_arguments_free(&a);
    PARSE(&a, "-o", "first", "-o", "second", "rope");
    assert_string_equal(cli_text(&a, "output"), "second");
    cli_arguments_free(&a);
}

static void negative_numbers_are_values(void **state) {
    (void)state;
    cli_arguments a;
    PARSE(&a, "-5", "-.5", "--output", "-3:4", "-2+1", "-");
    assert_int_equal(a.operand_count, 4);
    assert_string_equal(a.operands[0], "-5");
    assert_string_equal(a.operands[2], "-2+1");
    assert_string_equal(cli_text(&a, "output"), "-3:4");
    cli_arguments_free(&a);
    PARSE(&a, "--", "--output", "-i");
    assert_int_equal(a.operand_count, 2);
    assert_string_equal(a.operands[0], "--output");
    assert_false(cli_flag(&a, "inverse"));
    cli_arguments_free(&a);
}

static void lists_split_outside_parentheses(void **state) {
    (void)state;
    cli_arguments a;
    char **items;
    PARSE(&a, "x", "--encodings", "rope(base=10, pairs=half), algebraic(group=(seq), decay=0.98) + alibi,none");
    assert_int_equal(cli_list(&a, "encodings", &items), 3);
    assert_string_equal(items[0], "rope(base=10, pairs=half)");
    assert_string_equal(items[1], "algebraic(group=(seq), decay=0.98) + alibi");
    assert_string_equal(items[2], "none");
    cli_arguments_free(&a);
}

static void nonsense_is_refused(void **state) {
    (void)state;
    REFUSE("rope", "--stepz", "3");
    REFUSE("rope", "-x");
    REFUSE("rope", "--steps", "three");
    REFUSE("rope", "--steps", "0");
    REFUSE("rope", "--steps", "3.5");
    REFUSE("rope", "--steps", "99999999999999999999");
    REFUSE("rope", "--steps=");
    REFUSE("rope", "--rate", "1.5");
    REFUSE("rope", "--rate", "nan");
    REFUSE("rope", "--setup", "papr");
    REFUSE("rope", "--output");
    REFUSE("rope", "--output", "--json");
    REFUSE("rope", "--inverse=yes");
    REFUSE("rope", "--encodings", "rope,,none");
    REFUSE("rope", "--threads", "0");
    REFUSE("--json");
    cli_arguments a;
    const int64_t *values;
    size_t count;
    PARSE(&a, "rope", "--lengths", "3,x");
    assert_int_equal(cli_list_integers(&a, "lengths", 1, 9, &values, &count), 2);
    cli_arguments_free(&a);
}

static void operands_are_counted(void **state) {
    (void)state;
    static const cli_command none = {.name = "none", .operands = "", .details = "", .examples = ""};
    static const cli_command one = {.name = "one", .operands = "[NAME]", .details = "", .examples = ""};
    static char *pair[] = {"a", "b"};
    cli_arguments a;
    assert_int_equal(cli_arguments_parse(&a, &none, 0, pair), 0);
    cli_arguments_free(&a);
    assert_int_equal(cli_arguments_parse(&a, &none, 1, pair), 2);
    cli_arguments_free(&a);
    assert_int_equal(cli_arguments_parse(&a, &one, 1, pair), 0);
    cli_arguments_free(&a);
    assert_int_equal(cli_arguments_parse(&a, &one, 2, pair), 2);
    cli_arguments_free(&a);
    PARSE(&a, "--help");
    assert_true(cli_flag(&a, "help"));
    cli_arguments_free(&a);
}

static void nearest_names(void **state) {
    (void)state;
    static const char *const known[] = {"sinusoidal", "rope", "roper", "relative", "algebraic", "t5"};
    assert_string_equal(cli_nearest("sinusoid", known, 6), "sinusoidal");
    assert_string_equal(cli_nearest("rop", known, 6), "rope");
    assert_string_equal(cli_nearest("algebriac", known, 6), "algebraic");
    assert_string_equal(cli_nearest("relatve", known, 6), "relative");
    assert_null(cli_nearest("zzzzzzzzzz", known, 6));
    assert_null(cli_nearest("completely-different-and-much-longer-than-any-name-of-the-list", known, 6));
}

/* Every command's table must be one that the parser can hold: names once, letters once, defaults that parse. */
static void all_tables_are_sound(void **state) {
    (void)state;
    for (const cli_command *const *c = cli_commands; *c; c++) {
        cli_arguments a;
        char *help[] = {"--help"};
        assert_int_equal(cli_arguments_parse(&a, *c, 1, help), 0);
        cli_arguments_free(&a);
        assert_true((*c)->summary[0] && (*c)->examples[0]);
        const cli_option *x, *y;
        for (size_t i = 0; (x = cli_option_at(*c, i)) != NULL; i++) {
            assert_true(x->kind == CLI_FLAG || x->value);
            for (size_t j = 0; j < i; j++) {
                y = cli_option_at(*c, j);
                assert_string_not_equal(x->name, y->name);
                assert_false(x->letter && x->letter == y->letter);
            }
        }
    }
}

static void widths_and_numbers(void **state) {
    (void)state;
    char text[64];
    assert_int_equal(lab_text_width("99.9 ±0.1"), 9);
    assert_int_equal(lab_text_width("⌈p⌉"), 3);
    assert_int_equal(lab_text_width("e\xCC\x81"), 1);
    assert_string_equal(lab_count_text(text, sizeof text, 1234567), "1.23 M");
    assert_string_equal(lab_count_text(text, sizeof text, 999960), "1.00 M");
    assert_string_equal(lab_count_text(text, sizeof text, 42), "42");
    assert_string_equal(lab_bytes_text(text, sizeof text, 3.5 * 1024 * 1024), "3.5 MiB");
    assert_string_equal(lab_bytes_text(text, sizeof text, 17), "17 B");
    assert_string_equal(lab_seconds_text(text, sizeof text, 185), "3 min 05 s");
    assert_string_equal(lab_seconds_text(text, sizeof text, 7260), "2 h 01 min");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_there),
        cmocka_unit_test(values_in_both_forms),
        cmocka_unit_test(negative_numbers_are_values),
        cmocka_unit_test(lists_split_outside_parentheses),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(operands_are_counted),
        cmocka_unit_test(nearest_names),
        cmocka_unit_test(all_tables_are_sound),
        cmocka_unit_test(widths_and_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
