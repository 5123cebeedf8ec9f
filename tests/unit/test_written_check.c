/* SPDX-License-Identifier: MIT */
/* What somebody writes below a page's generated part: what the runs give passes, and not one digit of it may be
 * another. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "report/reproduction/written_check.h"
#include "report/reproduction/written_generated.h"
#include "report/reproduction/written_number.h"
#include "report/reproduction/written_value.h"
#include "train/configuration/config.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define OK(call) \
    do { \
        locus_error failed = {0}; \
        if ((call) != LOCUS_OK) { \
            fail_msg("%s: %s", #call, failed.message); \
        } \
    } while (0)

static lab_reproduction table; /* too large for the stack, as the result is */
static lab_result result;
static lab_findings findings;
static lab_reproduction_view view;
static lab_store *store;
static char *generated;

/* ---- a table: two columns, three rows, three seeds ---- */

/* Relative learns copy, the others stay at chance; nobody is like another. */
static double accuracy(lab_reproduction_place place) {
    const double level = place.row == 1 && place.column == 0 ? 0.97 : 0.03 + 0.01 * (double)place.row;
    return level + 0.0134 * (double)place.column + 0.0006 * (double)place.repetition;
}

static void plant_run(lab_reproduction_place place) {
    lab_train_config config;
    char encoding[LAB_SPEC_SIZE], name[256];
    OK(lab_reproduction_config(&table, place, &config, encoding, &failed));
    lab_train_name(&config, name, sizeof name);
    char *json = lab_config_json(&config);
    lab_run run = {.name = name,
                   .task = (char *)(uintptr_t)config.task->name,
                   .encoding = encoding,
                   .setup = (char *)(uintptr_t)lab_setup_name(config.setup),
                   .embedding_init = (char *)(uintptr_t)lab_embedding_init_name(config.model.embedding_init),
                   .budget = (char *)(uintptr_t)config.budget,
                   .config = json,
                   .seed = config.seed,
                   .state = LAB_RUN_DONE};
    OK(lab_store_run_insert(store, &run, &failed));
    OK(lab_store_final_set(store, run.id, "test", "accuracy", accuracy(place), &failed));
    OK(lab_store_final_set(store, run.id, "test", "loss", 1.5 + accuracy(place), &failed));
    OK(lab_store_final_set(store, run.id, "test", "exact", accuracy(place) / 2, &failed));
    for (uint64_t step = 100; step <= 1500; step += 100) {
        const double early = step < 400 ? 0.9 : 1;
        OK(lab_store_metric_add(store, run.id, "dev.accuracy", step, early * accuracy(place), &failed));
    }
    cJSON_free(json);
}

static int setup(void **state) {
    (void)state;
    static char *const columns[] = {"copy-scaled", "reverse-scaled"};
    static char *const rows[] = {"sinusoidal", "rope", "relative"};
    const lab_reproduction_request request = {.table = "table1",
                                              .budget = "smoke",
                                              .first_seed = 4,
                                              .seeds = 3,
                                              .columns = columns,
                                              .column_count = 2,
                                              .rows = rows,
                                              .row_count = 3};
    OK(lab_reproduction_make(&table, &request, &failed));
    OK(lab_store_open(&store, ":memory:", &failed));
    for (size_t i = 0; i < 18; i++)
        plant_run((lab_reproduction_place){i / 6, i / 3 % 2, i % 3});
    result.chance[0] = result.chance[1] = 0.06;
    OK(lab_result_read(&result, &table, store, &failed));
    OK(lab_findings_make(&findings, &table, &result, &failed));
    view = (lab_reproduction_view){.table = &table, .result = &result, .findings = &findings};
    generated = lab_reproduction_markdown_text(&view);
    return generated == NULL;
}

static int teardown(void **state) {
    (void)state;
    free(generated);
    lab_findings_free(&findings);
    lab_store_close(&store);
    return 0;
}

/* ---- checking ---- */

static char told[4096];

static void tell(void *context, size_t line, const char *text) {
    (void)context;
    const size_t used = strlen(told);
    snprintf(told + used, sizeof told - used, "%zu: %s\n", line, text);
}

static size_t check(const char *own) {
    const lab_written_page page = {
        .view = &view, .store = store, .generated = generated, .own = own, .first_line = 7, .runs = "x.json"};
    told[0] = '\0';
    return lab_written_check(&page, tell, NULL);
}

static void passes(const char *own) {
    if (check(own) != 0)
        fail_msg("%s\n%s", own, told);
}

static void fails(const char *own, const char *says) {
    if (check(own) != 1 || strstr(told, says) == NULL)
        fail_msg("%s\n%s instead of\n%s", own, told, says);
}

/* A page of sentences, each of which is true of the planted runs. */
static const char true_page[] =
    "## Conditions, and what it shows\n\n"
    "Rope has 5.06 ±0.06 % of copy, sinusoidal 3.06 %, relative 97.06 % (published: 13.80 ±3.5); at chance is below\n"
    "15.40. By seed relative has [97.00](x.json#copy-scaled/relative/4), [97.06](x.json#copy-scaled/relative/5) and\n"
    "[97.1 %](x.json#copy-scaled/relative/6), from [97.0](x.json#copy-scaled/relative/least) to\n"
    "[97.12](x.json#copy-scaled/relative/most), [0.060](x.json#copy-scaled/relative/deviation) apart;\n"
    "[48.50](x.json#copy-scaled/relative/4/test/exact) whole, a mean of\n"
    "[48.53](x.json#copy-scaled/relative/mean/test/exact), a loss of "
    "[2.4700](x.json#copy-scaled/relative/4/test/loss).\n"
    "Rope is [2.00](x.json#copy-scaled/rope,sinusoidal) above sinusoidal, which is\n"
    "[\xe2\x88\x92"
    "94.0](x.json#copy-scaled/sinusoidal,relative) above relative. After 300 steps it had\n"
    "[87.3](x.json#copy-scaled/relative/4/dev.accuracy@300), above 90 % (see [there](../tasks.md)) from step\n"
    "[400](x.json#copy-scaled/relative/4/dev.accuracy:above:90) on: [97 of 100](x.json#copy-scaled/relative/4).\n";

static void test_true(void **state) {
    (void)state;
    /* "90 %" is a bound and nobody's score. */
    char *page = strdup(true_page);
    assert_non_null(page);
    char *at = strstr(page, "90 % (see");
    assert_non_null(at);
    memcpy(at, "nine ", 5);
    passes(page);
    free(page);
    fails(true_page, "90 does not stand so");
}

/* Every digit that stands for a result, changed by one, is noticed; where a link leads is its own text. */
static void test_every_digit(void **state) {
    (void)state;
    size_t changed = 0;
    char *page = strdup(true_page);
    assert_non_null(page);
    memcpy(strstr(page, "90 % (see"), "nine ", 5);
    const char *plain = strstr(page, "300 steps"); /* no result, and no number that is looked at */
    for (char *at = page; *at != '\0'; at++) {
        at += *at == '(' && at[-1] == ']' ? strcspn(at, ")") : 0;
        if (!isdigit((unsigned char)*at) || (at >= plain && at < plain + 3))
            continue;
        const char digit = *at;
        *at = digit == '9' ? '8' : (char)(digit + 1);
        if (check(page) == 0)
            fail_msg("not noticed: %.40s", at);
        *at = digit;
        changed++;
    }
    assert_true(changed > 60);
    free(page);
}

/* A year before a dash begins a date; any other number before one is a number, with a sign of per cent even a year. */
static void test_dates(void **state) {
    static const char *const texts[] = {"2026-11-21", "202-11", "20265-11", "2026-11 %", "2026-x", "1.2.3", "7-8"};
    static const bool numbers[] = {false, true, true, false, true, false, true};
    lab_written_number found;
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (lab_written_number_read(texts[i], texts[i], &found) != numbers[i])
            fail_msg("'%s' is %sa number", texts[i], numbers[i] ? "not taken for " : "taken for ");
    assert_true(lab_written_number_read("2026 %-1", "2026 %-1", &found) && found.percent);
}

/* As many digits as there is room for; what is beyond counts as decimals, and is read. */
static void test_long_numbers(void **state) {
    static const char text[] = "-1,234.56789012345678901234567890123 %";
    lab_written_number found;
    (void)state;
    assert_true(lab_written_number_read(text, text + 1, &found));
    assert_string_equal(found.digits, "1234.56789012345678901234567890");
    assert_int_equal(strlen(found.digits), sizeof found.digits - 1);
    assert_int_equal(found.decimals, 29);
    assert_int_equal(found.sign, '-');
    assert_true(found.percent);
    assert_ptr_equal(found.begin, text + 1);
    assert_ptr_equal(found.end, strstr(text, " %"));
}

/* The number at the `skip`-th byte of a text. */
static lab_written_number read_at(const char *text, size_t skip) {
    lab_written_number found;
    if (!lab_written_number_read(text, text + skip, &found))
        fail_msg("no number in '%s'", text);
    return found;
}

static void test_same_numbers(void **state) {
    static const struct {
        const char *wanted, *found;
        bool same;
    } cases[] = {
        {"100", "100.00", true}, {"100.0", "100", true},   {"0.50", "0.5", true},    {"1,000", "1000.0", true},
        {"1", "10", false},      {"10", "1", false},       {"0.5", "0.05", false},   {"5", "-5", true},
        {"-5", "5", false},      {"-5", "-5.0", true},     {"+5", "-5", false},      {"+5", "+5", true},
        {"5", "+5", true},       {"0.10", "0.101", false}, {"1.0", "1.00000", true}, {"20", "2", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const bool signs[2] = {strchr("+-", *cases[i].wanted) != NULL, strchr("+-", *cases[i].found) != NULL};
        const lab_written_number wanted = read_at(cases[i].wanted, signs[0]), found = read_at(cases[i].found, signs[1]);
        if (lab_written_number_is(&wanted, &found) != cases[i].same)
            fail_msg("%s is %s%s", cases[i].found, cases[i].same ? "not taken for " : "taken for ", cases[i].wanted);
    }
}

/* A sign stands where a number may begin; between two numbers a dash is none. */
static void test_signs(void **state) {
    static const struct {
        const char *text;
        size_t at;
        char sign;
    } cases[] = {
        {"-5", 1, '-'},
        {"+5", 1, '+'},
        {" -5", 2, '-'},
        {"(-5", 2, '-'},
        {"|-5", 2, '-'},
        {"*+5", 2, '+'},
        {"[-5", 2, '-'},
        {"=-5", 2, '-'},
        {"4-5", 2, 0},
        {"a+5", 2, 0},
        {"5", 0, 0},
        {"\n-5", 2, '-'},
        {")-5", 2, 0},
        {"--5", 2, 0},
        {" 5", 1, 0},
        {" abc5", 4, 0},
        {"\xe2\x88\x92"
         "5",
         3, '-'},
        {" \xe2\x88\x92"
         "5",
         4, '-'},
        {"4\xe2\x88\x92"
         "5",
         4, 0},
        {"4\xe2\x80\x93"
         "5",
         4, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (read_at(cases[i].text, cases[i].at).sign != cases[i].sign)
            fail_msg("'%s' has another sign", cases[i].text);
}

/* Commas part groups of three digits before the point; a point is one before a digit. */
static void test_groups(void **state) {
    static const struct {
        const char *text, *digits;
        size_t bytes, decimals;
    } cases[] = {
        {"1,234,567", "1234567", 9, 0}, {"1,23", "1", 1, 0},  {"1,2345", "1", 1, 0}, {"12,345.67", "12345.67", 9, 2},
        {"0.123,456", "0.123", 5, 3},   {"7.", "7", 1, 0},    {"7.x", "7", 1, 0},    {"1,a23", "1", 1, 0},
        {"1,2a3", "1", 1, 0},           {"1,23a", "1", 1, 0}, {"5 000", "5", 1, 0},  {"3.140", "3.140", 5, 3},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const lab_written_number found = read_at(cases[i].text, 0);
        assert_string_equal(found.digits, cases[i].digits);
        assert_ptr_equal(found.end, cases[i].text + cases[i].bytes);
        assert_int_equal(found.decimals, cases[i].decimals);
    }
}

/* A sign of per cent behind the last of a list is that of all. */
static void test_percents(void **state) {
    static const struct {
        const char *text;
        bool percent;
    } cases[] = {
        {"5 %", true},
        {"5", false},
        {"5%", true},
        {"5 per cent", true},
        {"5 per day", false},
        {"5\xc2\xa0%", true},
        {"5\xe2\x80\xaf%", true},
        {"5\n%", true},
        {"5, 6 and 7 %", true},
        {"5, 6 and 7", false},
        {"5, and 7 %", true},
        {"5 or 7 %", true},
        {"5 to 7 %", true},
        {"5\xe2\x80\x93"
         "7 %",
         true},
        {"5/7 %", true},
        {"5 / 7 %", true},
        {"5, x 7 %", false},
        {"5 and a 7 %", false},
        {"5; 7 %", false},
        {"5 with 7 %", false},
        {"5, 6, 7, 8, 9 %", true},
        {"5 to 2026-11 of 7 %", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const lab_written_number found = read_at(cases[i].text, 0);
        if (lab_written_number_is_percent(cases[i].text, &found) != cases[i].percent)
            fail_msg("'%s' is %sper cent", cases[i].text, cases[i].percent ? "not " : "");
    }
}

static void test_shares(void **state) {
    static const struct {
        const char *text, *of; /* NULL: no share */
    } cases[] = {
        {"18 of 20", "20"},
        {"18 of the 20", "20"},
        {"18 of all 1,020", "1020"},
        {"18\nof  20", "20"},
        {"18.0 of 20", NULL},
        {"18 of 20.5", NULL},
        {"18 of 20 %", NULL},
        {"18 off 20", NULL},
        {"18 of2", NULL},
        {"18 of them", NULL},
        {"18 of all", NULL},
        {"18 to 20", NULL},
        {"18 of\xc2\xa0"
         "20",
         "20"},
        {"18 of a 20", NULL},
        {"18", NULL},
        {"18 of their 20", NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const lab_written_number found = read_at(cases[i].text, 0);
        lab_written_number second;
        const bool share = lab_written_number_counts(cases[i].text, &found, &second);
        if (share != (cases[i].of != NULL))
            fail_msg("'%s' is %sa share", cases[i].text, share ? "" : "no ");
        if (share)
            assert_string_equal(second.digits, cases[i].of);
    }
}

/* Digits inside a word or behind a point are none, nor is a version. */
static void test_next_numbers(void **state) {
    static const char text[] = "a1 .2 _3 v4x 1.2.3 5x, 6";
    lab_written_number found;
    (void)state;
    assert_true(lab_written_number_next(text, text, &found));
    assert_string_equal(found.digits, "5");
    assert_true(lab_written_number_next(text, found.end, &found));
    assert_string_equal(found.digits, "6");
    assert_false(lab_written_number_next(text, found.end, &found));
    assert_true(lab_written_number_next("9", "9", &found));
}

static void test_numbers(void **state) {
    (void)state;
    passes("5,000 steps of 32, 2026-11-21, locus 0.1.0, `0.123` and N(0, 1), 2 to 3 seeds, 100 steps\n");
    passes("rope, copy: 5.06, 5.0600 and [5.1](elsewhere.md)\n");
    fails("rope: 5.06\n", "7: 5.06 does not stand so"); /* of no column */
    fails("copy: 5.06, by Europe\n", "5.06 does not stand so");
    fails("Rope on\ncopy has\n5.06.\n\nRope on copy.\n\n- copy\n- rope: 5.06\n", "14: 5.06 does not stand so");
    passes("5.06 is what rope\nhas on\ncopy\n");
    fails("5.06 is what rope has\n\non copy\n", "5.06 does not stand so");
    fails("5.06 is what rope has\n- on copy\n", "5.06 does not stand so");
    fails("5.06 is what rope has\n| on copy\n", "5.06 does not stand so");
    passes("15.40 and 15.4 and 15.4 per cent\n");
    fails("rope, copy: 5.05\n", "7: 5.05 does not stand so in the generated part");
    fails("\n\n1,234.5, rope, copy: 5.06\n", "9: 1234.5 does not stand so");
    fails("41 %\n", "41 does not stand so");
    fails("41\xc2\xa0%\n", "41 does not stand so");
    assert_int_equal(check("41, 42 and 43 %\n"), 3);
    assert_int_equal(check("41 to 43 %, 5 steps\n"), 2);
    fails("rope, copy: \xe2\x88\x92"
          "5.06\n",
          "-5.06 does not stand so"); /* there it has no sign */
    fails("rope, copy: +5.06\n", "+5.06 does not stand so");
}

/* A table's number is meant where scheme and column are named; one in a row of no scheme, wherever it is said. */
static void test_rows_of_no_scheme(void **state) {
    (void)state;
    static const char text[] =
        "| scheme | copy | reverse |\n|---|---|---|\n| rope | 7.25 | 8.50 |\n| all of them | 9.75 | "
        "10.25 |\n\n| rope | 11.50 |\n";
    static const struct {
        const char *passage, *number;
        bool stands;
    } cases[] = {
        {"rope on copy", "7.25", true},      {"rope on reverse", "8.50", true}, {"rope on reverse", "7.25", false},
        {"relative on copy", "7.25", false}, {"Rope on copy", "7.250", true},   {"nobody", "9.75", true},
        {"nobody", "10.25", true},           {"nobody", "9.76", false},         {"nobody", "11.50", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lab_written_number wanted;
        assert_true(lab_written_number_read(cases[i].number, cases[i].number, &wanted));
        if (lab_written_stands(text, &table, cases[i].passage, &wanted) != cases[i].stands)
            fail_msg("'%s': %s", cases[i].passage, cases[i].number);
    }
}

static void test_counts(void **state) {
    (void)state;
    passes("18 of 18 trainings\n");
    fails("17 of 18 trainings\n", "17 of 18 is no count");
    fails("18 of the 19\n", "18 of 19 is no count");
    fails("[90 of 100](x.json#copy-scaled/relative/4)\n", "'90 of 100' is said of");
    const lab_finding *first = &findings.findings[0];
    char own[64];
    snprintf(own, sizeof own, "%zu of %zu\n", first->counts[first->verdict], first->item_count);
    passes(own);
}

static void test_verdicts(void **state) {
    (void)state;
    bool all = true;
    for (size_t i = 1; i < findings.count; i++)
        all = all && findings.findings[i].verdict == findings.findings[0].verdict;
    assert_true(findings.count > 1 && !all); /* or there would be nothing to link */
    for (size_t i = 0; i < findings.count; i++) {
        const lab_finding *one = &findings.findings[i];
        for (int verdict = 0; verdict < 3; verdict++) {
            char own[256];
            const char *name = lab_verdict_name((lab_verdict)verdict);
            snprintf(own, sizeof own, "**[%s](x.json#claim/%s/%s)**\n", name, one->claim->id, one->variant);
            assert_int_equal(check(own), verdict != (int)one->verdict);
            assert_int_equal(check(name), 1);
            snprintf(own, sizeof own, "[so it is %s, they say](x.json#claim/%s/%s)\n",
                     (const char *const[]){"open", "supported", "contradicted"}[verdict], one->claim->id, one->variant);
            assert_int_equal(check(own), verdict != (int)one->verdict);
        }
    }
    char silent[256];
    snprintf(silent, sizeof silent, "[so it is](x.json#claim/%s/%s)\n", findings.findings[0].claim->id,
             findings.findings[0].variant);
    fails(silent, "'so it is' is said of 'claim/");
    passes("an open question, OPENED, UNSUPPORTED\n");
}

static void test_links(void **state) {
    (void)state;
    fails("[1](y.json#copy-scaled/rope)\n", "'y.json#copy-scaled/rope' is not of this page's runs, 'x.json'");
    fails("[1](x.json#copy)\n", "the path names no row");
    fails("[1](x.json#copy/rope)\n", "there is no column 'copy'");
    fails("[1](x.json#copy-scaled/algebraic)\n", "has no row 'algebraic'");
    fails("[1](x.json#copy-scaled/rope/7)\n", "there is no run of seed 7");
    fails("[1](x.json#copy-scaled/rope/four)\n", "'four' is no seed");
    fails("[1](x.json#copy-scaled/rope/4/test/length)\n", "there is no score 'test/length'");
    static const char *const all[] = {"mean", "deviation", "least", "most"};
    for (size_t i = 0; i < 4; i++) {
        char own[100];
        snprintf(own, sizeof own, "[0](x.json#copy-scaled/rope/%s/test/length)\n", all[i]);
        fails(own, "': there is no score 'test/length'");
    }
    fails("[1](x.json#copy-scaled/rope/4/dev.accuracy@150)\n", "no point of the curves is 'dev.accuracy@150'");
    fails("[1](x.json#copy-scaled/rope/4/dev.accuracy:above:90)\n", "no point of the curves");
    fails("[1](x.json#copy-scaled/rope/4/a/b/c)\n", "too many parts");
    fails("[1](x.json#claim/none)\n", "there is no claim 'none'");
    fails("[much](x.json#copy-scaled/rope)\n", "'much' says no number of");
    fails("[+2.00](x.json#copy-scaled/sinusoidal,rope)\n", "which is -2");
    passes("[anything, 99.99 %](https://example.org/) and [1] and [x](\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_true),         cmocka_unit_test(test_every_digit),
        cmocka_unit_test(test_dates),        cmocka_unit_test(test_links),
        cmocka_unit_test(test_long_numbers), cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_same_numbers), cmocka_unit_test(test_signs),
        cmocka_unit_test(test_groups),       cmocka_unit_test(test_percents),
        cmocka_unit_test(test_shares),       cmocka_unit_test(test_next_numbers),
        cmocka_unit_test(test_counts),       cmocka_unit_test(test_rows_of_no_scheme),
        cmocka_unit_test(test_verdicts),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
