/* SPDX-License-Identifier: MIT */
/* Whole reports of a planted store against expected ones: the summary as JSON and the tables of the terminal, computed
 * from the same runs by tools/golden_report.py with NumPy and SciPy, and the page. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "planted_store.h"
#include "unit/scratch_folder.h"

#include "io/file.h"
#include "report/page/report.h"
#include "report/tables/summary.h"
#include "store_argument.h"

#include <cjson/cJSON.h>
#include <openssl/evp.h>

#define OK(call) \
    do { \
        locus_error failed = {0}; \
        if ((call) != LOCUS_OK) { \
            fail_msg("%s: %s", #call, failed.message); \
        } \
    } while (0)

static lab_store *store;

static int create(void **state) {
    if (scratch_create(state) != 0)
        return -1;
    planted_store_open(&store, scratch_path("locus.db"));
    return 0;
}

static int drop(void **state) {
    lab_store_close(&store);
    return scratch_remove(state);
}

static void summary_as_json(void **state) {
    (void)state;
    lab_summary summary;
    OK(lab_summary_create(&summary, store, &(lab_summary_filter){0}, &failed));
    cJSON *made = lab_summary_json(&summary);
    assert_non_null(made);
    planted_json_is(made, "report_summary.json");
    cJSON_Delete(made);
    lab_summary_free(&summary);
}

static void tables(void **state) {
    (void)state;
    lab_summary summary;
    char *text = NULL;
    size_t bytes;
    OK(lab_summary_create(&summary, store, &(lab_summary_filter){0}, &failed));
    const int file = open(scratch_path("tables"), O_RDWR | O_CREAT | O_TRUNC, 0600), saved = dup(STDOUT_FILENO);
    assert_true(fflush(stdout) == 0 && file >= 0 && saved >= 0 && dup2(file, STDOUT_FILENO) == STDOUT_FILENO);
    assert_int_equal(cli_summary_print(&summary, NULL), 0);
    assert_true(fflush(stdout) == 0 && dup2(saved, STDOUT_FILENO) == STDOUT_FILENO);
    assert_true(close(file) == 0 && close(saved) == 0);
    OK(lab_file_read(scratch_path("tables"), &text, &bytes, &failed));
    planted_text_is(text, "report_tables.txt");
    free(text);
    lab_summary_free(&summary);
}

/* Replaces what stands between two texts, the first time, by dots. */
static void mask(char *page, const char *from, const char *to) {
    char *begin = strstr(page, from), *end = begin != NULL ? strstr(begin + strlen(from), to) : NULL;
    assert_non_null(end);
    begin += strlen(from);
    memmove(begin + 1, end, strlen(end) + 1);
    *begin = '.';
}

/* What a browser may take is what stands behind `tag`: its SHA-256 in base64. */
static void assert_source(const char *page, const char *policy, const char *tag) {
    unsigned char digest[32], wanted[64];
    unsigned size = 0;
    const char *source = strstr(page, tag), *said = strstr(page, policy);
    const char *end = source != NULL ? strstr(source, "</") : NULL;
    assert_true(end != NULL && said != NULL && said < source);
    source += strlen(tag);
    assert_int_equal(EVP_Digest(source, (size_t)(end - source), digest, &size, EVP_sha256(), NULL), 1);
    assert_int_equal(EVP_EncodeBlock(wanted, digest, 32), 44);
    said += strlen(policy);
    assert_memory_equal(said, "sha256-", 7);
    assert_memory_equal(said + 7, wanted, 44);
    assert_int_equal(said[51], '\'');
}

/* Style and script are none of its numbers; version and date are not always the same. */
static void page(void **state) {
    (void)state;
    const lab_report_options options = {.command = "locus report --store 'a & b'"};
    char *text = NULL;
    size_t bytes;
    OK(lab_report_write(store, &options, scratch_path("page.html"), &failed));
    OK(lab_file_read(scratch_path("page.html"), &text, &bytes, &failed));
    for (size_t i = 0; i < 2; i++)
        assert_source(text, i == 0 ? "script-src '" : "style-src '", i == 0 ? "<script>" : "<style>");
    mask(text, "script-src ", "\">");
    mask(text, "<style>", "</style>");
    mask(text, "<script>", "</script>");
    mask(text, "<p>By locus ", ", with");
    planted_text_is(text, "report_page.txt");
    free(text);
}

/* One run alone is no plural. */
static void page_of_one(void **state) {
    (void)state;
    const int64_t third = 3;
    const lab_report_options options = {.filter = {.runs = &third, .run_count = 1}, .title = "<one>"};
    char *text = NULL;
    size_t bytes;
    OK(lab_report_write(store, &options, scratch_path("one.html"), &failed));
    OK(lab_file_read(scratch_path("one.html"), &text, &bytes, &failed));
    assert_non_null(strstr(text, "<h1>&lt;one&gt;</h1>\n<p class=\"lede\">Transformers trained"));
    assert_non_null(strstr(text, "only: relative(window=16). Budget smoke; 1 run, 1 finished.</p>\n</header>"));
    assert_non_null(strstr(text, "The 1 run of this section"));
    assert_non_null(strstr(text, "<dt>Seeds</dt><dd>0</dd>"));
    assert_null(strstr(text, "Two encodings count as separated"));
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(summary_as_json),
        cmocka_unit_test(tables),
        cmocka_unit_test(page),
        cmocka_unit_test(page_of_one),
    };
    return cmocka_run_group_tests(tests, create, drop);
}
