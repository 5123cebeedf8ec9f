/* SPDX-License-Identifier: MIT */
/* One table in each form: every digit of a number, deviations, what is none, and texts that mean something there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/tables/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static lab_table *make(void) {
    static const char *const heads[] = {"encoding", ">accuracy|%", ">time|s", "name"};
    lab_table *table = lab_table_create(heads, 4);
    lab_table_cell(table, "rope_%d & \"x\", 50%%", 1);
    lab_table_mean(table, 99.98, 2, 0.02, 2);
    lab_table_number(table, 125.0, "%s", "2 min 05 s");
    lab_table_cell(table, "=1+1");
    lab_table_cell(table, "alg(seq*tree)|ü\n√");
    lab_table_none(table);
    lab_table_number(table, 1.0 / 3, "%.2f s", 1.0 / 3);
    lab_table_cell(table, "–");
    return table;
}

static void expect_of(const lab_table *table, lab_table_format format, const char *expected) {
    char *text = NULL;
    size_t bytes;
    locus_error error;
    FILE *stream = open_memstream(&text, &bytes);
    assert_non_null(stream);
    assert_int_equal(lab_table_write(table, format, false, stream, &error), LOCUS_OK);
    fclose(stream);
    assert_string_equal(text, expected);
    free(text);
}

static void expect(lab_table_format format, const char *title, const char *expected) {
    lab_table *table = make();
    if (title != NULL)
        lab_table_title(table, "%s", title);
    expect_of(table, format, expected);
    lab_table_free(table);
}

static void test_text(void **state) {
    (void)state;
    expect(LAB_TABLE_TEXT, "unseen",
           "encoding              accuracy        time  name\n"
           "rope_1 & \"x\", 50%  99.98 ±0.02  2 min 05 s  =1+1\n"
           "alg(seq*tree)|ü?√            –      0.33 s  –\n");
}

static void test_csv(void **state) {
    (void)state;
    expect(LAB_TABLE_CSV, NULL,
           "encoding,accuracy (%),accuracy deviation (%),time (s),name\n"
           "\"rope_1 & \"\"x\"\", 50%\",99.98,0.02,125,'=1+1\n"
           "alg(seq*tree)|ü?√,,,0.3333333333333333,–\n");
    expect(LAB_TABLE_CSV, "a, b",
           "section,encoding,accuracy (%),accuracy deviation (%),time (s),name\n"
           "\"a, b\",\"rope_1 & \"\"x\"\", 50%\",99.98,0.02,125,'=1+1\n"
           "\"a, b\",alg(seq*tree)|ü?√,,,0.3333333333333333,–\n");
}

/* A head that a store gave: text, and no more of it than a terminal takes. */
static void test_named_head(void **state) {
    (void)state;
    static const char *const heads[] = {"a\033", ""};
    lab_table *table = lab_table_create(heads, 2);
    lab_table_name(table, 1, ">x|y\033[2J\n\302\233z");
    lab_table_cell(table, "1");
    lab_table_cell(table, "2");
    expect_of(table, LAB_TABLE_TEXT, "a?  >x|y?[2J??z\n1   2\n");
    lab_table_free(table);
}

static void test_json(void **state) {
    (void)state;
    static const char *const heads[] = {"a", ">b|s"};
    lab_table *table = lab_table_create(heads, 2);
    lab_table_cell(table, "\"\\");
    lab_table_none(table);
    expect_of(table, LAB_TABLE_JSON, "[{\n\t\t\"a\":\t\"\\\"\\\\\",\n\t\t\"b (s)\":\tnull\n\t}]\n");
    lab_table_free(table);
}

static void test_latex(void **state) {
    (void)state;
    expect(LAB_TABLE_LATEX, NULL,
           "% \\usepackage{booktabs, siunitx}\n"
           "\\begin{tabular}{lSSl}\n\\toprule\n"
           "{encoding} & {accuracy (\\%)} & {time (s)} & {name} \\\\\n\\midrule\n"
           "rope\\_1 \\& ''x'', 50\\% & 99.98 \\pm 0.02 & 125 & =1+1 \\\\\n"
           "alg(seq*tree)$|$ü?$\\surd$ & {--} & 0.33 & -- \\\\\n"
           "\\bottomrule\n\\end{tabular}\n");
}

/* What LaTeX takes for something else has a name; letters that its fonts have stand as they are. */
static void test_latex_characters(void **state) {
    (void)state;
    static const char *const heads[] = {"a", ">b", ">c|%", ">|s"};
    lab_table *table = lab_table_create(heads, 4);
    lab_table_cell(table, "\\{}#$%%&_^~<>|–…±×·√≤≥−⌈⌉πᵀ²\"");
    lab_table_number(table, 1234567, "%s", "1.23 M");
    lab_table_number(table, 0.125, "%.1f", 0.125);
    lab_table_none(table);
    lab_table_cell(table, "ÀÏÐÑÖ×ØÝÞßàïðñö÷øýþÿ ģ€ʹ");
    lab_table_number(table, 0.000123456, "%s", "123 µs");
    lab_table_mean(table, 2.5, 0, 1.25, 3);
    lab_table_number(table, -3, "%d", -3);
    expect_of(
        table, LAB_TABLE_LATEX,
        "% \\usepackage{booktabs, siunitx}\n"
        "\\begin{tabular}{lSSS}\n\\toprule\n"
        "{a} & {b} & {c (\\%)} & {s} \\\\\n\\midrule\n"
        "\\textbackslash{}\\{\\}\\#\\$\\%\\&\\_\\textasciicircum{}\\textasciitilde{}$<$$>$$|$--\\dots{}$\\pm$$\\times$"
        "$\\cdot$$\\surd$$\\leq$$\\geq$$-$$\\lceil$$\\rceil$$\\pi$$^\\top$$^2$'' & 1234567 & 0.1 & {--} \\\\\n"
        "ÀÏ?ÑÖ$\\times$ØÝ?ßàï?ñö?øý?ÿ ??? & 0.0001235 & 2 \\pm 1.250 & -3 \\\\\n"
        "\\bottomrule\n\\end{tabular}\n");
    lab_table_free(table);
}

/* LaTeX has the decimals that the terminal shows of the value itself; of one that is shown in another unit, however
 * near, the value as it is. */
static void test_latex_units(void **state) {
    (void)state;
    static const struct {
        double value;
        const char *shown, *written;
    } cases[] = {
        {0.2, "20.00", "0.2"},
        {0.0625, "6.2 %", "0.0625"},
        {0.5, "0.50", "0.50"},
        {0.5, "0", "0"},
        {0.5, "1", "0"},
        {0.5, "2", "0.5"},
        {0.125, "0.12", "0.12"},
        {0.125, "0.13", "0.12"},
        {0.125, "0.14", "0.125"},
        {0.125, "0.11", "0.125"},
        {1234, "1.234e3", "1234"},
        {0.1234, "1.234e-1", "0.1234"},
        {-1.5, "-1.5 s", "-1.5"},
        {-1.5, "1.5", "-1.5"},
        {-1.5, "−1.5", "-1.5"},
        {2.25, "unknown", "2.25"},
        {2.25, ".5", "2.25"},
        {0.52, ".5", "0.5"},
        {3, "3.000", "3.000"},
        {3, "300 %", "3"},
        {0.00012, "0.0001", "0.0001"},
    };
    static const char *const heads[] = {">a"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char expected[200];
        lab_table *table = lab_table_create(heads, 1);
        lab_table_number(table, cases[i].value, "%s", cases[i].shown);
        snprintf(expected, sizeof expected,
                 "%% \\usepackage{booktabs, siunitx}\n\\begin{tabular}{S}\n\\toprule\n{a} \\\\\n\\midrule\n%s \\\\\n"
                 "\\bottomrule\n\\end{tabular}\n",
                 cases[i].written);
        expect_of(table, LAB_TABLE_LATEX, expected);
        lab_table_free(table);
    }
}

/* A line break of LaTeX takes an argument that follows it in brackets, or a star. */
static void test_latex_arguments(void **state) {
    (void)state;
    static const char *const heads[] = {"a", "b"};
    lab_table *table = lab_table_create(heads, 2);
    lab_table_name(table, 1, ">c|d");
    lab_table_cell(table, "[neg]");
    lab_table_cell(table, "[1]");
    lab_table_cell(table, "*");
    lab_table_cell(table, "2");
    expect_of(table, LAB_TABLE_LATEX,
              "% \\usepackage{booktabs, siunitx}\n"
              "\\begin{tabular}{ll}\n\\toprule\n"
              "{a} & {$>$c$|$d} \\\\\n\\midrule\n"
              "{}[neg] & [1] \\\\\n{}* & 2 \\\\\n"
              "\\bottomrule\n\\end{tabular}\n");
    lab_table_free(table);
}

static void test_markdown(void **state) {
    (void)state;
    expect(LAB_TABLE_MARKDOWN, "<b>",
           "### &lt;b&gt;\n\n"
           "| encoding | accuracy (%) | time (s) | name |\n|---|--:|--:|---|\n"
           "| rope\\_1 &amp; \"x\", 50% | 99.98 ±0.02 | 2 min 05 s | =1+1 |\n"
           "| alg(seq\\*tree)\\|ü?√ | – | 0.33 s | – |\n");
}

/* A cell is cut at a whole character, and says so; rows that are not whole are not written. */
static void test_long_cells(void **state) {
    (void)state;
    static const char *const heads[] = {"a", "b"};
    char text[3001], *written = NULL;
    size_t bytes;
    for (size_t i = 0; i < 1500; i++)
        memcpy(text + 2 * i, "ü", 2);
    text[3000] = '\0';
    lab_table *table = lab_table_create(heads, 2);
    lab_table_cell(table, "%s", text);
    lab_table_cell(table, "x");
    lab_table_cell(table, "half");
    FILE *stream = open_memstream(&written, &bytes);
    assert_int_equal(lab_table_write(table, LAB_TABLE_CSV, false, stream, NULL), LOCUS_OK);
    fclose(stream);
    assert_non_null(strstr(written, "ü…,x\n"));
    assert_null(strstr(written, "half"));
    assert_true(bytes < 1100);
    free(written);
    lab_table_free(table);
}

/* 1,023 bytes are a cell, one more is cut. */
static void test_the_longest_cell(void **state) {
    (void)state;
    static const char *const heads[] = {"a"};
    for (size_t length = 1023; length <= 1024; length++) {
        char text[1025], *written = NULL;
        size_t bytes;
        memset(text, 'x', length);
        text[length] = '\0';
        lab_table *table = lab_table_create(heads, 1);
        lab_table_cell(table, "%s", text);
        FILE *stream = open_memstream(&written, &bytes);
        assert_int_equal(lab_table_write(table, LAB_TABLE_CSV, false, stream, NULL), LOCUS_OK);
        fclose(stream);
        assert_int_equal(strstr(written, text) != NULL, length == 1023);
        assert_int_equal(strstr(written, "…") != NULL, length == 1024);
        free(written);
        lab_table_free(table);
    }
}

static void test_no_memory_is_told(void **state) {
    (void)state;
    locus_error error;
    assert_int_equal(lab_table_write(NULL, LAB_TABLE_TEXT, false, stdout, &error), LOCUS_ERROR_MEMORY);
    lab_table_cell(NULL, "x"); /* nothing happens */
    lab_table_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_text),
                                       cmocka_unit_test(test_csv),
                                       cmocka_unit_test(test_named_head),
                                       cmocka_unit_test(test_json),
                                       cmocka_unit_test(test_latex),
                                       cmocka_unit_test(test_latex_characters),
                                       cmocka_unit_test(test_latex_units),
                                       cmocka_unit_test(test_latex_arguments),
                                       cmocka_unit_test(test_markdown),
                                       cmocka_unit_test(test_long_cells),
                                       cmocka_unit_test(test_the_longest_cell),
                                       cmocka_unit_test(test_no_memory_is_told)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
