/* SPDX-License-Identifier: MIT */
/* Pictures that gnuplot does not finish: it ends well all the same. */
#include "report/figures/gnuplot.h"
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "unit/scratch_folder.h"

#define SVG "printf '<svg><path d=\"M 1,2\"/></svg>\\n\\n'\n"
#define PNG "printf '\\211PNG\\r\\n\\032\\n....\\000\\000\\000\\000IEND\\256\\102\\140\\202'\n"
#define LISTENS "cat >&2\n" /* its end mark is in the script, which it says again */

/* The path on which only this gnuplot is. */
static void fake_gnuplot(const char *commands) {
    char text[600];
    const int length = snprintf(text, sizeof text, "#!/bin/sh\nPATH=%s\n%s", "/usr/bin:/bin", commands);
    scratch_write("gnuplot", text, (size_t)length);
    assert_int_equal(chmod(scratch_path("gnuplot"), 0755), 0);
}

static locus_status draw(const char *script, char **picture, size_t *bytes, locus_error *error) {
    lab_gnuplot plot;
    assert_int_equal(lab_gnuplot_open(&plot, error), LOCUS_OK);
    fputs(script, plot.script);
    const locus_status status = lab_gnuplot_run(&plot, picture, bytes, error);
    lab_gnuplot_close(&plot);
    return status;
}

static void only_whole_pictures_are_taken(void **state) {
    (void)state;
    static const struct {
        const char *commands;
        locus_status status;
        const char *message;
    } cases[] = {
        {LISTENS SVG, LOCUS_OK, NULL},
        {LISTENS PNG, LOCUS_OK, NULL},
        {LISTENS "printf '<svg><path d=\"M 1,2'\n", LOCUS_ERROR_IO, "did not draw its picture to the end"},
        {LISTENS "printf '\\211PNG\\r\\n\\032\\n....'\n", LOCUS_ERROR_IO, "did not draw its picture to the end"},
        {LISTENS, LOCUS_ERROR_IO, "did not draw its picture to the end"},
        {"head -c 5 >&2\n" SVG, LOCUS_ERROR_IO, "did not draw its picture to the end"}, /* read half of the script */
        {"echo 'line 3: no such thing' >&2\n" SVG "exit 1\n", LOCUS_ERROR_IO, "line 3: no such thing"},
        {LISTENS SVG "kill -9 $$\n", LOCUS_ERROR_IO, "gnuplot failed"},
    };
    const char *before = getenv("PATH");
    char path[4096];
    snprintf(path, sizeof path, "%s", before == NULL ? "" : before);
    assert_int_equal(setenv("PATH", scratch_path(""), 1), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *picture = NULL;
        size_t bytes = 0;
        locus_error error = {0};
        fake_gnuplot(cases[i].commands);
        const locus_status status = draw("plot x\n", &picture, &bytes, &error);
        if (status != cases[i].status)
            fail_msg("case %zu: status %d, %s", i, (int)status, error.message);
        assert_int_equal(picture != NULL, status == LOCUS_OK);
        assert_true(status == LOCUS_OK || strstr(error.message, cases[i].message) != NULL);
        free(picture);
    }
    assert_int_equal(setenv("PATH", path, 1), 0);
}

static void what_cannot_be_started_is_told(void **state) {
    (void)state;
    const char *before = getenv("PATH");
    char path[4096];
    char *picture = NULL;
    size_t bytes = 0;
    locus_error error = {0};
    snprintf(path, sizeof path, "%s", before == NULL ? "" : before);
    assert_int_equal(setenv("PATH", scratch_path(""), 1), 0);
    fake_gnuplot(LISTENS SVG);
    assert_int_equal(chmod(scratch_path("gnuplot"), 0644), 0);
    const locus_status forbidden = draw("plot x\n", &picture, &bytes, &error);
    const bool told = strstr(error.message, "cannot start") != NULL;
    assert_int_equal(unlink(scratch_path("gnuplot")), 0);
    const locus_status absent = draw("plot x\n", &picture, &bytes, &error);
    assert_int_equal(setenv("PATH", path, 1), 0);
    assert_int_equal(forbidden, LOCUS_ERROR_IO);
    assert_true(told);
    assert_int_equal(absent, LOCUS_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "not on the PATH"));
}

/* No file may grow above 8 KiB, as if TMPDIR were full: the picture does not pass through one. */
static void a_full_disk_damages_no_picture(void **state) {
    (void)state;
    if (system("gnuplot --version >/dev/null 2>&1") != 0)
        skip();
    struct rlimit before, small;
    char *picture = NULL;
    size_t bytes = 0;
    locus_error error = {0};
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 8192;
    void (*const handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    const locus_status status =
        draw("set samples 3000\nset terminal svg\nplot sin(x), cos(x)\n", &picture, &bytes, &error);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, handler);
    if (status != LOCUS_OK)
        fail_msg("%s", error.message);
    assert_true(bytes > 16384);
    assert_non_null(strstr(picture, "</svg>"));
    free(picture);
}

/* What can't be read of a block of data: gnuplot would take the rest for all of it. */
static void a_block_that_is_cut_is_an_error(void **state) {
    (void)state;
    if (access("/usr/bin/gnuplot", X_OK) != 0)
        skip();
    static const struct {
        const char *commands;
        locus_status status;
    } cases[] = {{"exec gnuplot", LOCUS_OK}, {"sed '/^3 9$/d' | gnuplot\n", LOCUS_ERROR_IO}};
    const char *before = getenv("PATH");
    char path[4096];
    snprintf(path, sizeof path, "%s", before == NULL ? "" : before);
    assert_int_equal(setenv("PATH", scratch_path(""), 1), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lab_gnuplot plot;
        char *picture = NULL;
        size_t bytes = 0;
        locus_error error = {0};
        fake_gnuplot(cases[i].commands);
        assert_int_equal(lab_gnuplot_open(&plot, &error), LOCUS_OK);
        fputs("set terminal svg\n", plot.script);
        lab_gnuplot_begin_data(plot.script, "d");
        fputs("1 1\n2 4\n3 9\n", plot.script);
        lab_gnuplot_end_data(plot.script, "d", 3);
        fputs("plot $d with lines\n", plot.script);
        assert_int_equal(lab_gnuplot_run(&plot, &picture, &bytes, &error), cases[i].status);
        assert_true(cases[i].status == LOCUS_OK || strstr(error.message, "a part of its data") != NULL);
        lab_gnuplot_close(&plot);
        free(picture);
    }
    assert_int_equal(setenv("PATH", path, 1), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_whole_pictures_are_taken),
        cmocka_unit_test(what_cannot_be_started_is_told),
        cmocka_unit_test(a_full_disk_damages_no_picture),
        cmocka_unit_test(a_block_that_is_cut_is_an_error),
    };
    return cmocka_run_group_tests(tests, scratch_create, scratch_remove);
}
