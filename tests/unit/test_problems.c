/* SPDX-License-Identifier: MIT */
/* How problems are written: the examples printed in the paper to the letter, every clause against an oracle, the
 * borders of carries and indices; characters as tokens and back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "problem_oracle.h"
#include "task/problem.h"
#include "task/task_class.h"

#include <locus/random.h>
#include <string.h>

static const char *const names[] = {"addition", "substring-index", "substring-search"};

static lab_task_options defaults(const char *name) {
    return lab_task_default(lab_task_find(name));
}

/* ---- texts ---- */

static void assert_sum(uint64_t first, uint64_t second, const char *prompt, const char *rest) {
    lab_problem problem;
    lab_problem_addition(&problem, first, second);
    assert_int_equal(problem.length, strlen(problem.text));
    assert_int_equal(problem.prompt, strlen(prompt));
    assert_memory_equal(problem.text, prompt, problem.prompt);
    assert_string_equal(problem.text + problem.prompt, rest);
}

/* Both complete ones. Where the page breaks a line there is a space. */
static void test_printed_sums(void **state) {
    (void)state;
    assert_sum(77, 38446365, "?d=77+38446365; ",
               "7e0+5e0+0e0==12e0 and 7e1+6e1+1e1==14e1 and 0e2+3e2+1e2==4e2 and "
               "0e3+6e3+0e3==6e3 and 0e4+4e4+0e4==4e4 and 0e5+4e5+0e5==4e5 and 0e6+8e6+0e6==8e6 and "
               "0e7+3e7+0e7==3e7 and d==38446442#");
    assert_sum(66623, 401, "?d=66623+401; ",
               "3e0+1e0+0e0==4e0 and 2e1+0e1+0e1==2e1 and "
               "6e2+4e2+0e2==10e2 and 6e3+0e3+1e3==7e3 and 6e4+0e4+0e4==6e4 and d==67024#");
    lab_problem third;
    lab_problem_addition(&third, 25481082, 3301219);
    assert_memory_equal(third.text, "?d=25481082+3301219; ", 21);
}

static void test_last_carry(void **state) {
    (void)state;
    assert_sum(5, 7, "?d=5+7; ", "5e0+7e0+0e0==12e0 and 0e1+0e1+1e1==1e1 and d==12#");
    assert_sum(5, 4, "?d=5+4; ", "5e0+4e0+0e0==9e0 and d==9#");
    assert_sum(95, 7, "?d=95+7; ", "5e0+7e0+0e0==12e0 and 9e1+0e1+1e1==10e1 and 0e2+0e2+1e2==1e2 and d==102#");
    assert_sum(0, 0, "?d=0+0; ", "0e0+0e0+0e0==0e0 and d==0#");
    assert_sum(10, 0, "?d=10+0; ", "0e0+0e0+0e0==0e0 and 1e1+0e1+0e1==1e1 and d==10#");
    lab_problem longest;
    sum_read found;
    const char *text = longest.text;
    lab_problem_addition(&longest, 999999999999999999u, 999999999999999999u);
    assert_true(oracle_reads_sum(&text, &found) && *text == '\0');
    assert_int_equal(found.clauses, 19);
    assert_non_null(
        strstr(longest.text, " and 9e17+9e17+1e17==19e17 and 0e18+0e18+1e18==1e18 and d==1999999999999999998#"));
}

static void test_printed_suffix(void **state) {
    (void)state;
    lab_problem problem;
    lab_problem_index(&problem, "dyjeofuxvejmg", 8);
    assert_string_equal(problem.text, "?s='dyjeofuxvejmg'; s[8:]=='vejmg'#");
    assert_string_equal(problem.text + problem.prompt, "vejmg'#");
    assert_int_equal(problem.length, strlen(problem.text));
    lab_problem_index(&problem, "syoktpufifxes", 12);
    assert_string_equal(problem.text, "?s='syoktpufifxes'; s[12:]=='s'#");
    lab_problem_index(&problem, "a", 0);
    assert_string_equal(problem.text, "?s='a'; s[0:]=='a'#");
}

/* The longest string fits, prompt and suffix. */
static void test_longest_string(void **state) {
    (void)state;
    static char string[LAB_PROBLEM_MOST_STRING + 1];
    static lab_problem problem;
    memset(string, 'q', LAB_PROBLEM_MOST_STRING);
    for (size_t index = 0; index < LAB_PROBLEM_MOST_STRING; index += LAB_PROBLEM_MOST_STRING - 1) {
        suffix_read found;
        const char *text = problem.text;
        lab_problem_index(&problem, string, index);
        assert_true(oracle_reads_suffix(&text, &found) && *text == '\0');
        assert_int_equal(found.length, LAB_PROBLEM_MOST_STRING);
        assert_int_equal(found.index, index);
        assert_int_equal(problem.length, strlen(problem.text));
    }
}

/* Numbers of all lengths against each other. */
static void test_random_sums(void **state) {
    (void)state;
    const locus_random random = {17, LOCUS_RANDOM_USER, 0};
    size_t carried = 0;
    for (uint64_t i = 0; i < 20000; i++) {
        uint64_t most_first = 1, most_second = 1;
        for (uint64_t k = locus_random_below(&random, 4 * i, 18); k < 18; k++)
            most_first *= 10;
        for (uint64_t k = locus_random_below(&random, 4 * i + 1, 18); k < 18; k++)
            most_second *= 10;
        lab_problem problem;
        sum_read found;
        const char *text = problem.text;
        uint64_t first = locus_random_below(&random, 4 * i + 2, most_first);
        uint64_t second = locus_random_below(&random, 4 * i + 3, most_second);
        lab_problem_addition(&problem, first, second);
        assert_true(oracle_reads_sum(&text, &found) && *text == '\0');
        assert_true(found.first == first && found.second == second);
        assert_int_equal(strcspn(problem.text, ";") + 2, problem.prompt);
        carried += found.carried;
    }
    assert_in_range(carried, 500, 5000);
}

/* The oracle refuses what is wrong in one place: it isn't blind. */
static void test_oracle(void **state) {
    (void)state;
    lab_problem problem;
    sum_read sum;
    suffix_read suffix;
    lab_problem_addition(&problem, 66623, 9401);
    for (size_t i = 0; i < problem.length; i++) {
        char kept = problem.text[i];
        const char *text = problem.text;
        problem.text[i] = kept == '7' ? '8' : '7';
        assert_false(oracle_reads_sum(&text, &sum));
        problem.text[i] = kept;
    }
    lab_problem_index(&problem, "dyjeofuxvejmg", 8);
    for (size_t i = 0; i < problem.length; i++) {
        char kept = problem.text[i];
        const char *text = problem.text;
        problem.text[i] = '4';
        assert_false(oracle_reads_suffix(&text, &suffix));
        problem.text[i] = kept;
    }
}

/* ---- tokens ---- */

static void test_characters(void **state) {
    (void)state;
    static const size_t vocabularies[] = {20, 45, 5};
    for (size_t t = 0; t < 3; t++) {
        const lab_task *task = lab_task_find(names[t]);
        lab_task_options options = lab_task_default(task);
        assert_string_equal(task->class->name, "problems");
        assert_int_equal(lab_task_vocabulary(task, &options), vocabularies[t]);
        assert_true(strlen(task->characters) >= vocabularies[t]);
        for (size_t v = 0; v < strlen(task->characters); v++) {
            int32_t token = lab_problem_token(task, &options, task->characters[v]);
            assert_int_equal(token, v < vocabularies[t] ? (int32_t)v : -1);
        }
        for (int c = 0; c < 256; c++) {
            int32_t token = lab_problem_token(task, &options, (char)c);
            assert_true(token == -1 || task->characters[token] == (char)c);
        }
        assert_int_equal(lab_problem_token(task, &options, '\0'), -1);
    }
    lab_task_options more = defaults("substring-search");
    LAB_PROBLEMS(&more)->symbols = 26;
    assert_int_equal(lab_task_vocabulary(lab_task_find("substring-search"), &more), 27);
    assert_int_equal(lab_problem_token(lab_task_find("substring-search"), &more, 'z'), 26);
}

static void test_encode(void **state) {
    (void)state;
    const lab_task *task = lab_task_find("addition");
    lab_task_options options = lab_task_default(task);
    const char *prompt = "?d=77+38446365; ";
    int32_t tokens[32];
    char back[33];
    locus_error error;
    assert_int_equal(lab_problem_encode(task, &options, prompt, tokens, &error), LOCUS_OK);
    lab_problem_decode(task, tokens, strlen(prompt), back);
    assert_string_equal(back, prompt);
    tokens[1] = -1;
    tokens[2] = 20;
    lab_problem_decode(task, tokens, 4, back);
    assert_string_equal(back, "???7");
}

static void assert_unknown(const char *name, const char *text, const char *message) {
    const lab_task *task = lab_task_find(name);
    lab_task_options options = lab_task_default(task);
    int32_t tokens[32];
    locus_error error = {0};
    assert_int_equal(lab_problem_encode(task, &options, text, tokens, &error), LOCUS_ERROR_ARGUMENT);
    assert_string_equal(error.argument, "prompt");
    assert_string_equal(error.message, message);
}

static void test_unknown_characters(void **state) {
    (void)state;
    assert_unknown("addition", "?d=1*2; ",
                   "'*', character 5 of the text: addition knows only \" #+0123456789;=?aden\"");
    assert_unknown("addition", "12é", "'é', character 3 of the text: addition knows only \" #+0123456789;=?aden\"");
    assert_unknown("substring-search", "abe>é", "'e', character 3 of the text: substring-search knows only \">abcd\"");
    assert_unknown("substring-search", "a\n",
                   "byte 0x0A, character 2 of the text: substring-search knows only \">abcd\"");
    assert_unknown("substring-search", "a\xc3",
                   "byte 0xC3, character 2 of the text: substring-search knows only \">abcd\"");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_printed_sums),       cmocka_unit_test(test_last_carry),
        cmocka_unit_test(test_printed_suffix),     cmocka_unit_test(test_longest_string),
        cmocka_unit_test(test_random_sums),        cmocka_unit_test(test_oracle),
        cmocka_unit_test(test_characters),         cmocka_unit_test(test_encode),
        cmocka_unit_test(test_unknown_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
