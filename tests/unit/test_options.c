/* SPDX-License-Identifier: MIT */
/* The command line's options: values, defaults, lists, operands, what is refused and in which words, the text of help,
 * and the limits that the tables of all commands give to numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "bound/spec_text.h"
#include "command.h"
#include "golden/planted_store.h"
#include "options.h"
#include "output.h"
#include "report/tables/table.h"
#include "unit/captured.h"

#include <stdlib.h>
#include <unistd.h>

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
    {"samples", 0, CLI_INTEGER, "N", NULL, "how many", 1, 4294967295.0},
    {"share", 0, CLI_NUMBER, "X", NULL, "what part", 0, 1.0 / 3},
    {"vary", 0, CLI_TEXTS, "X", NULL, "again and again", 0, 0},
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
    PARSE(&a, "x", "--encodings", "  rope(base=10, pairs=half), algebraic(group=(seq), decay=0.98) + alibi  ,none ");
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
    static const cli_command many = {.name = "many", .operands = "[A…] [B]", .details = "", .examples = ""};
    static char *three[] = {"a", "b", "c"};
    assert_int_equal(cli_arguments_parse(&a, &many, 3, three), 0);
    assert_int_equal(a.operand_count, 3);
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

/* ---- words ---- */

static void check_words(const cli_command *of, int count, char **words, const char *line) {
    cli_arguments refused;
    char expected[400];
    snprintf(expected, sizeof expected, "locus: %s\n", line);
    capture(STDERR_FILENO);
    const int status = cli_arguments_parse(&refused, of, count, words);
    cli_arguments_free(&refused);
    assert_string_equal(captured(), expected);
    assert_int_equal(status, 2);
}

#define SAYS(of, line, ...) \
    do { \
        static char *words[] = {__VA_ARGS__}; \
        check_words(of, COUNT(words), words, line); \
    } while (0)

/* Each refusal is one line that says what is wrong and, where there is one, the nearest that is right. */
static void what_is_refused_is_said(void **state) {
    (void)state;
    static const cli_command pair = {.name = "pair", .operands = "A B", .details = "", .examples = ""};
    static const cli_command none = {.name = "none", .operands = "", .details = "", .examples = ""};
    static const cli_command forms = {
        .name = "forms", .operands = "[NAME]", .details = "", .examples = "", .shared = CLI_JSON | CLI_FORMAT};
    SAYS(&command, "try: unknown option --stepz; did you mean --steps?", "rope", "--stepz=3");
    SAYS(&command, "try: unknown option --ste; did you mean --steps?", "rope", "--ste", "3");
    SAYS(&command, "try: unknown option --max_steps; did you mean --steps?", "rope", "--max_steps=3");
    SAYS(&command, "try: unknown option --batch-size; 'locus try --help' lists the options", "rope", "--batch-size");
    SAYS(&command, "try: unknown option -x; 'locus try --help' lists the options", "rope", "-x");
    SAYS(&command, "try: unknown option -ix; 'locus try --help' lists the options", "rope", "-ix");
    SAYS(&command, "try: --plugin stands before the command: locus --plugin FILE.so try …", "rope", "--plugin", "a");
    SAYS(&command, "try: --steps needs an integer, not 'three'", "rope", "--steps", "three");
    SAYS(&command, "try: --steps needs an integer, not '3.5'", "rope", "--steps", "3.5");
    SAYS(&command, "try: --steps needs an integer, not ' 3'", "rope", "--steps", " 3");
    SAYS(&command, "try: --steps needs an integer, not ''", "rope", "--steps=");
    SAYS(&command, "try: --steps needs an integer, not '9223372036854775808'", "a", "--steps", "9223372036854775808");
    SAYS(&command, "try: --steps must be at least 1, not 0", "rope", "--steps", "0");
    SAYS(&command, "try: --rate needs a number, not '1e999'", "rope", "--rate", "1e999");
    SAYS(&command, "try: --rate needs a number, not 'nan'", "rope", "--rate", "nan");
    SAYS(&command, "try: --rate needs a number, not ' 1'", "rope", "--rate", " 1");
    SAYS(&command, "try: --rate must be from 0 to 1, not 1.0001", "rope", "--rate", "1.0001");
    SAYS(&command, "try: --rate must be from 0 to 1, not -1", "rope", "--rate", "-1");
    SAYS(&command, "try: --threads must be from 1 to 1024, not 1025", "rope", "--threads", "1025");
    SAYS(&command, "try: --samples must be from 1 to 4294967295, not 4294967296", "rope", "--samples", "4294967296");
    SAYS(&command, "try: --share must be from 0 to 0.333333, not 0.34", "rope", "--share", "0.34");
    SAYS(&command, "try: --setup is one of paper|code, not 'papr'; did you mean paper?", "rope", "--setup", "papr");
    SAYS(&command, "try: --setup is one of paper|code, not 'cod'; did you mean code?", "rope", "--setup", "cod");
    SAYS(&command, "try: --setup is one of paper|code, not 'window'", "rope", "--setup", "window");
    SAYS(&command, "try: --output needs a value (FILE)", "rope", "--output");
    SAYS(&command, "try: --output needs a value (FILE)", "rope", "-o", "--json");
    SAYS(&command, "try: --inverse takes no value", "rope", "--inverse=yes");
    SAYS(&command, "try: --encodings has an empty item in 'rope, ,none'", "a", "--encodings", "rope, ,none");
    SAYS(&command, "try: --encodings has an empty item in 'rope,'", "a", "--encodings", "rope,");
    SAYS(&command, "try: SPEC is missing; usage: locus try SPEC [MORE…] [options]", "--json");
    SAYS(&pair, "pair: B is missing; usage: locus pair A B [options]", "-");
    SAYS(&pair, "pair: 'c' is one word too many; usage: locus pair A B [options]", "a", "b", "c", "d");
    SAYS(&none, "none: 'a' is one word too many; usage: locus none [options]", "a");
    SAYS(&forms, "forms: --json and --format csv: one of them, please", "--json", "--format", "csv");
}

/* The limits are in what they limit; a list and an option that is given again end where they have to. */
static void limits_are_within(void **state) {
    (void)state;
    cli_arguments a;
    const int64_t *values;
    size_t count;
    char list[2 * CLI_MAX_LIST + 2] = "", *many[] = {"rope", "--encodings", list}, *again[2 * CLI_MAX_LIST + 3];
    PARSE(&a, "rope", "--threads", "1024", "--rate", "1", "--samples", "4294967295", "--lengths", "1,9");
    assert_int_equal(cli_list_integers(&a, "lengths", 1, 9, &values, &count), 0);
    assert_true(count == 2 && values[0] == 1 && values[1] == 9);
    capture(STDERR_FILENO);
    assert_int_equal(cli_list_integers(&a, "lengths", 2, 9, &values, &count), 2);
    assert_int_equal(cli_list_integers(&a, "lengths", 1, 8, &values, &count), 2);
    assert_int_equal(cli_require(&a, "output"), 2);
    assert_string_equal(captured(), "locus: try: --lengths needs integers from 2 to 9 separated by commas, not '1'\n"
                                    "locus: try: --lengths needs integers from 1 to 8 separated by commas, not '9'\n"
                                    "locus: try: --output FILE is missing; 'locus try --help' shows an example\n");
    cli_arguments_free(&a);
    for (size_t i = 0; i < CLI_MAX_LIST; i++)
        strcat(list, i == 0 ? "x" : ",x");
    again[0] = "rope";
    for (size_t i = 0; i <= CLI_MAX_LIST; i++) {
        again[2 * i + 1] = "--vary";
        again[2 * i + 2] = "y";
    }
    assert_int_equal(cli_arguments_parse(&a, &command, 3, many), 0);
    char **items;
    assert_int_equal(cli_list(&a, "encodings", &items), CLI_MAX_LIST);
    assert_string_equal(items[CLI_MAX_LIST - 1], "x");
    cli_arguments_free(&a);
    strcat(list, ",x");
    check_words(&command, 3, many, "try: --encodings has more than 256 items");
    assert_int_equal(cli_arguments_parse(&a, &command, 2 * CLI_MAX_LIST + 1, again), 0);
    assert_int_equal(cli_list(&a, "vary", &items), CLI_MAX_LIST);
    cli_arguments_free(&a);
    check_words(&command, 2 * CLI_MAX_LIST + 3, again, "try: --vary is given more than 256 times");
}

static void items_end_at_commas_outside_parentheses(void **state) {
    (void)state;
    assert_int_equal(lab_spec_span("", ","), 0);
    assert_int_equal(lab_spec_span("a(b,(c,d),e),f", ","), 12);
    assert_int_equal(lab_spec_span(")a,b", ","), 2);
    assert_int_equal(lab_spec_span("a(b,c", ","), 5);
}

/* An option that was given beside others; one that is set as if it had been. */
static void given_and_set(void **state) {
    (void)state;
    cli_arguments a;
    PARSE(&a, "rope", "--inverse", "--steps", "3");
    assert_string_equal(cli_given_beside(&a, "output rate"), "steps");
    assert_string_equal(cli_given_beside(&a, "steps rate"), "inverse");
    assert_null(cli_given_beside(&a, "inverse rate steps"));
    assert_int_equal(cli_set(&a, "rate", "0.75"), 0);
    assert_true(cli_number(&a, "rate") == 0.75 && cli_given_by_user(&a, "rate"));
    assert_false(cli_given_by_user(&a, "output"));
    cli_arguments_free(&a);
}

/* --json and --format are one choice. */
static void forms_of_tables(void **state) {
    (void)state;
    static const cli_command forms = {
        .name = "forms", .operands = "", .details = "", .examples = "", .shared = CLI_JSON | CLI_FORMAT};
    static const struct {
        char *words[3];
        int count;
        lab_table_format form;
    } cases[] = {{{"--format", "csv"}, 2, LAB_TABLE_CSV},
                 {{"--json"}, 1, LAB_TABLE_JSON},
                 {{"--json", "--format", "json"}, 3, LAB_TABLE_JSON},
                 {{"--format", "json"}, 2, LAB_TABLE_JSON},
                 {{"--format", "markdown"}, 2, LAB_TABLE_MARKDOWN},
                 {{NULL}, 0, LAB_TABLE_TEXT}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cli_arguments a;
        char *words[3] = {cases[i].words[0], cases[i].words[1], cases[i].words[2]};
        assert_int_equal(cli_arguments_parse(&a, &forms, cases[i].count, words), 0);
        assert_int_equal(cli_form, cases[i].form);
        assert_int_equal(cli_flag(&a, "json"), cases[i].form == LAB_TABLE_JSON);
        cli_arguments_free(&a);
    }
}

/* ---- help ---- */

#define RULER "123456789 123456789 123456789 123456789 123456789 123456789 "

/* Help begins at column 30 and ends at 100: a word that would pass it stands in the next line. */
static void help_is_wrapped(void **state) {
    (void)state;
    static const cli_option rows[] = {
        {"output", 'o', CLI_TEXT, "FILE", NULL, RULER "1234567890 x", 0, 0},
        {"steps", 0, CLI_INTEGER, "N", "10", RULER "12345678901", 1, CLI_MANY},
        {"name-of-21-characters", 0, CLI_FLAG, NULL, NULL, "below", 0, 0},
        {"name-of-twenty-chars", 'a', CLI_FLAG, NULL, NULL, "beside", 0, 0},
    };
    static const cli_command told = {.name = "tell",
                                     .summary = "tells",
                                     .operands = "SPEC [MORE…]",
                                     .details = "First.\n\nSecond\nline.",
                                     .examples = "tell a\ntell b\n",
                                     .shared = CLI_QUIET,
                                     CLI_OPTIONS(rows),
                                     .run = run_nothing};
    static const cli_command bare = {.name = "be", .summary = "is", .operands = "", .details = "", .examples = "be\n"};
    capture(STDOUT_FILENO);
    cli_usage(&told);
    assert_string_equal(captured(), "locus tell: tells\n\n"
                                    "usage: locus tell SPEC [MORE…] [options]\n\n"
                                    "First.\n\nSecond line.\n\n"
                                    "options:\n"
                                    "  -o, --output FILE           " RULER "1234567890\n"
                                    "                              x\n"
                                    "      --steps N               123456789 123456789 123456789 123456789 123456789 "
                                    "123456789\n"
                                    "                              12345678901 (default: 10)\n"
                                    "      --name-of-21-characters\n"
                                    "                              below\n"
                                    "  -a, --name-of-twenty-chars  beside\n"
                                    "      --quiet                 no progress bar and no notes\n"
                                    "  -h, --help                  this text\n\n"
                                    "examples:\n  tell a\n  tell b\n");
    capture(STDOUT_FILENO);
    cli_usage(&bare);
    assert_string_equal(captured(), "locus be: is\n\nusage: locus be [options]\n\noptions:\n"
                                    "  -h, --help                  this text\n\nexample:\n  be\n");
}

/* ---- all commands ---- */

/* Every number that an option takes is limited as tests/golden/option_limits.txt has it: a change is one of the
 * interface. Options that commands share are listed with the first. */
static void limits_of_all_commands(void **state) {
    (void)state;
    const cli_option *seen[1000], *option;
    size_t count = 0, bytes = 0;
    char *text = NULL;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    for (const cli_command *const *c = cli_commands; *c; c++) {
        for (size_t i = 0; (option = cli_option_at(*c, i)) != NULL; i++) {
            bool known = false;
            for (size_t j = 0; j < count; j++)
                known = known || seen[j] == option;
            if (known || (option->kind != CLI_INTEGER && option->kind != CLI_NUMBER))
                continue;
            assert_true(count < sizeof seen / sizeof *seen);
            seen[count++] = option;
            fprintf(out, "%s --%s %s: ", (*c)->name, option->name, option->kind == CLI_INTEGER ? "integer" : "number");
            if (option->least < option->most)
                fprintf(out, "from %.16g to %.16g\n", option->least, option->most);
            else
                fputs("any\n", out);
        }
    }
    assert_int_equal(fclose(out), 0);
    planted_text_is(text, "option_limits.txt");
    free(text);
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
        cmocka_unit_test(what_is_refused_is_said),
        cmocka_unit_test(limits_are_within),
        cmocka_unit_test(items_end_at_commas_outside_parentheses),
        cmocka_unit_test(given_and_set),
        cmocka_unit_test(forms_of_tables),
        cmocka_unit_test(help_is_wrapped),
        cmocka_unit_test(limits_of_all_commands),
        cmocka_unit_test(widths_and_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
