/* SPDX-License-Identifier: MIT */
/* Pictures that rsvg-convert draws, and those that it does not finish. */
#define _GNU_SOURCE 1 /* O_TMPFILE */
#include "figures/svg_file.h"
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <cmocka.h>

#include "unit/scratch_folder.h"

#define PDF "printf '%%PDF-1.5\\n....\\n%%%%EOF\\n'\n"
#define PNG "printf '\\211PNG\\r\\n\\032\\n....\\000\\000\\000\\000IEND\\256\\102\\140\\202'\n"
#define LISTENS "cat >/dev/null\n"

static const char svg[] = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"30\" height=\"20\"><path d=\"M1 2h20\" "
                          "stroke=\"#000000\"/></svg>\n";

/* The path on which only this converter is. */
static void fake(const char *commands) {
    char text[600];
    const int length = snprintf(text, sizeof text, "#!/bin/sh\nPATH=%s\n%s", "/usr/bin:/bin", commands);
    scratch_write("rsvg-convert", text, (size_t)length);
    assert_int_equal(chmod(scratch_path("rsvg-convert"), 0755), 0);
}

static bool only_named; /* as on a file system that has no files without names */

#ifdef O_TMPFILE
/* Stands in the C library's place. */
int open(const char *path, int flags, ...) {
    va_list values;
    va_start(values, flags);
    const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(values, mode_t) : 0;
    va_end(values);
    if (only_named && (flags & O_TMPFILE) == O_TMPFILE) {
        errno = EOPNOTSUPP;
        return -1;
    }
    return openat(AT_FDCWD, path, flags, mode);
}
#endif

static size_t open_files(void) {
    size_t count = 0;
    for (int i = 0; i < 256; i++)
        count += fcntl(i, F_GETFD) != -1;
    return count;
}

static bool is_there(const char *name) {
    return access(scratch_path(name), F_OK) == 0;
}

static void only_whole_pictures_are_taken(void **state) {
    (void)state;
    static const struct {
        const char *commands, *name;
        locus_status status;
        const char *message;
    } cases[] = {
        {LISTENS PNG, "p.png", LOCUS_OK, NULL},
        {LISTENS PDF, "p.pdf", LOCUS_OK, NULL},
        {PNG, "p.png", LOCUS_OK, NULL}, /* what it need not read is its affair */
        {LISTENS "printf '\\211PNG\\r\\n\\032\\n....'\n", "p.png", LOCUS_ERROR_IO, "did not draw its picture"},
        {LISTENS "printf '%%PDF-1.5'\n", "p.pdf", LOCUS_ERROR_IO, "did not draw its picture"},
        {LISTENS "head -c 65535 /dev/zero\n" PNG, "p.png", LOCUS_OK, NULL},
        {LISTENS, "p.png", LOCUS_ERROR_IO, "did not draw its picture"},
        {"echo 'line 3: no such thing' >&2\n" PNG "exit 1\n", "p.png", LOCUS_ERROR_IO, "line 3: no such thing"},
        {"printf ' reason\\n \\t\\n\\n' >&2\n" PNG "exit 1\n", "p.png", LOCUS_ERROR_IO, "failed (status 256):  reason"},
        {LISTENS "printf '....IEND\\256\\102\\140'; sleep 0.02; printf '\\202'\n", "p.png", LOCUS_OK, NULL},
        {LISTENS PNG "kill -9 $$\n", "p.png", LOCUS_ERROR_IO, "rsvg-convert failed"},
    };
    const char *before = getenv("PATH");
    char path[4096];
    snprintf(path, sizeof path, "%s", before == NULL ? "" : before);
    assert_int_equal(setenv("PATH", scratch_path(""), 1), 0);
    const size_t open = open_files();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        locus_error error = {0};
        fake(cases[i].commands);
        const locus_status status = lab_svg_write(svg, strlen(svg), scratch_path(cases[i].name), &error);
        if (status != cases[i].status)
            fail_msg("case %zu: status %d, %s", i, (int)status, error.message);
        assert_true(status == LOCUS_OK || strstr(error.message, cases[i].message) != NULL);
        assert_int_equal(is_there(cases[i].name), status == LOCUS_OK);
        unlink(scratch_path(cases[i].name));
    }
    assert_int_equal(open_files(), open);
    assert_int_equal(setenv("PATH", path, 1), 0);
}

static void what_cannot_be_started_is_told(void **state) {
    (void)state;
    const char *before = getenv("PATH");
    char path[4096];
    locus_error error = {0};
    snprintf(path, sizeof path, "%s", before == NULL ? "" : before);
    assert_int_equal(setenv("PATH", scratch_path(""), 1), 0);
    fake(LISTENS PNG);
    assert_int_equal(chmod(scratch_path("rsvg-convert"), 0644), 0);
    const locus_status forbidden = lab_svg_write(svg, strlen(svg), scratch_path("p.png"), &error);
    const bool told = strstr(error.message, "cannot start") != NULL;
    assert_int_equal(unlink(scratch_path("rsvg-convert")), 0);
    const locus_status absent = lab_svg_write(svg, strlen(svg), scratch_path("p.pdf"), &error);
    assert_int_equal(setenv("PATH", path, 1), 0);
    assert_int_equal(forbidden, LOCUS_ERROR_IO);
    assert_true(told);
    assert_int_equal(absent, LOCUS_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "librsvg2-bin"));
    assert_false(is_there("p.png") || is_there("p.pdf"));
}

/* Its files lie in TMPDIR, or in /tmp where that is empty or too long for a path. */
static void a_folder_that_is_too_long_gives_way(void **state) {
    (void)state;
    static const size_t lengths[] = {0, 400, 401};
    const char *path = getenv("PATH"), *folder = getenv("TMPDIR");
    char paths[4096], folders[4096], none[402];
    locus_status status[3];
    locus_error error[3] = {{0}};
    snprintf(paths, sizeof paths, "%s", path == NULL ? "" : path);
    snprintf(folders, sizeof folders, "%s", folder == NULL ? "" : folder);
    assert_int_equal(setenv("PATH", scratch_path(""), 1), 0);
    fake(LISTENS PNG);
    for (size_t i = 0; i < 3; i++) {
        memset(none, 'x', sizeof none); /* a name of that length is nowhere */
        none[0] = '/';
        none[lengths[i]] = '\0';
        assert_int_equal(setenv("TMPDIR", none, 1), 0);
        status[i] = lab_svg_write(svg, strlen(svg), scratch_path("p.png"), &error[i]);
    }
    assert_int_equal(folder == NULL ? unsetenv("TMPDIR") : setenv("TMPDIR", folders, 1), 0);
    assert_int_equal(setenv("PATH", paths, 1), 0);
    assert_int_equal(status[0], LOCUS_OK);
    assert_int_equal(status[1], LOCUS_ERROR_IO);
    assert_non_null(strstr(error[1].message, "cannot make a file in '"));
    assert_non_null(strstr(error[1].message, "xxx': File name too long"));
    assert_int_equal(status[2], LOCUS_OK);
    unlink(scratch_path("p.png"));
}

/* A process that is killed leaves none of its files behind, since none ever has a name: the folder is as it was. */
static void its_files_have_no_names(void **state) {
    (void)state;
    static const struct timespec long_ago[2] = {{.tv_sec = 1000000}, {.tv_sec = 1000000}};
    const char *folder = getenv("TMPDIR"), *path = getenv("PATH");
    char folders[4096], paths[4096], own[512];
    struct stat facts;
    snprintf(folders, sizeof folders, "%s", folder == NULL ? "" : folder);
    snprintf(paths, sizeof paths, "%s", path == NULL ? "" : path);
    snprintf(own, sizeof own, "%s", scratch_path("own"));
    assert_int_equal(mkdir(own, 0700), 0);
#ifdef O_TMPFILE
    const int nameless = open(own, O_TMPFILE | O_RDWR, 0600);
    if (nameless >= 0)
        close(nameless);
#else
    const int nameless = -1;
#endif
    fake(LISTENS PNG);
    assert_int_equal(utimensat(AT_FDCWD, own, long_ago, 0), 0);
    assert_int_equal(setenv("PATH", scratch_path(""), 1) + setenv("TMPDIR", own, 1), 0);
    const locus_status status = lab_svg_write(svg, strlen(svg), scratch_path("p.png"), NULL);
    assert_int_equal(folder == NULL ? unsetenv("TMPDIR") : setenv("TMPDIR", folders, 1), 0);
    assert_int_equal(setenv("PATH", paths, 1), 0);
    assert_int_equal(status, LOCUS_OK);
    unlink(scratch_path("p.png"));
    assert_int_equal(stat(own, &facts), 0);
    assert_int_equal(rmdir(own), 0);
    if (nameless < 0)
        skip(); /* this file system has no such files */
    assert_int_equal(facts.st_mtime, 1000000);
}

/* Where every file has a name, those here lose it at once, whatever their number: without a standard input it is 0. */
static void names_are_taken_away(void **state) {
    (void)state;
    const char *folder = getenv("TMPDIR"), *path = getenv("PATH");
    char folders[4096], paths[4096], own[512];
    snprintf(folders, sizeof folders, "%s", folder == NULL ? "" : folder);
    snprintf(paths, sizeof paths, "%s", path == NULL ? "" : path);
    snprintf(own, sizeof own, "%s", scratch_path("named"));
    fake(LISTENS PNG);
    assert_int_equal(mkdir(own, 0700), 0);
    assert_int_equal(setenv("PATH", scratch_path(""), 1) + setenv("TMPDIR", own, 1), 0);
    for (int closed = 0; closed < 2; closed++) {
        locus_error error = {0};
        const size_t before = open_files();
        const int input = fcntl(STDIN_FILENO, F_DUPFD, 100);
        assert_true(input >= 0);
        if (closed)
            close(STDIN_FILENO);
        only_named = true;
        const locus_status status = lab_svg_write(svg, strlen(svg), scratch_path("p.png"), &error);
        only_named = false;
        assert_int_equal(dup2(input, STDIN_FILENO), STDIN_FILENO);
        close(input);
        if (status != LOCUS_OK)
            fail_msg("%s", error.message);
        assert_int_equal(unlink(scratch_path("p.png")), 0);
        assert_int_equal(open_files(), before);
    }
    assert_int_equal(folder == NULL ? unsetenv("TMPDIR") : setenv("TMPDIR", folders, 1), 0);
    assert_int_equal(setenv("PATH", paths, 1), 0);
    assert_int_equal(rmdir(own), 0); /* it is empty */
}

static void ignore(int number) {
    (void)number;
}

/* Nor does a signal end the wait for a picture, nor its reading, halfway. */
static void signals_interrupt_nothing(void **state) {
    (void)state;
    const struct sigaction wakes = {.sa_handler = ignore};
    const struct itimerval soon = {.it_value = {.tv_usec = 5000}, .it_interval = {.tv_usec = 5000}};
    const char *path = getenv("PATH");
    char paths[4096];
    struct sigaction before;
    locus_error error = {0};
    snprintf(paths, sizeof paths, "%s", path == NULL ? "" : path);
    fake(LISTENS "head -c 70000 /dev/zero; sleep 0.03\n" PNG "exec >&-\nsleep 0.03\necho late >&2\nexit 1\n");
    assert_int_equal(setenv("PATH", scratch_path(""), 1), 0);
    assert_int_equal(sigaction(SIGALRM, &wakes, &before), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &soon, NULL), 0);
    const locus_status status = lab_svg_write(svg, strlen(svg), scratch_path("p.png"), &error);
    assert_int_equal(setitimer(ITIMER_REAL, &(struct itimerval){.it_value = {.tv_sec = 0}}, NULL), 0);
    assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
    assert_int_equal(setenv("PATH", paths, 1), 0);
    assert_int_equal(status, LOCUS_ERROR_IO);
    assert_string_equal(error.message, "rsvg-convert failed (status 256): late");
    assert_false(is_there("p.png"));
}

/* An SVG needs nobody, and stands as it is. */
static void an_svg_is_written_as_it_is(void **state) {
    (void)state;
    locus_error error = {0};
    char read[sizeof svg] = "";
    assert_int_equal(lab_svg_write(svg, strlen(svg), scratch_path("p.svg"), &error), LOCUS_OK);
    FILE *file = fopen(scratch_path("p.svg"), "r");
    assert_non_null(file);
    assert_int_equal(fread(read, 1, sizeof read, file), strlen(svg));
    fclose(file);
    assert_string_equal(read, svg);
    assert_int_equal(lab_svg_write(svg, strlen(svg), scratch_path("p.gif"), &error), LOCUS_ERROR_ARGUMENT);
    assert_false(is_there("p.gif"));
}

/* What is no SVG is told, with the converter's own words. */
static void a_broken_svg_is_told(void **state) {
    (void)state;
    locus_error error = {0};
    if (system("rsvg-convert --version >/dev/null 2>&1") != 0)
        skip();
    assert_int_equal(lab_svg_write(svg, strlen(svg) - 10, scratch_path("p.png"), &error), LOCUS_ERROR_IO);
    assert_non_null(strstr(error.message, "rsvg-convert failed"));
    assert_false(is_there("p.png"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_whole_pictures_are_taken),
        cmocka_unit_test(what_cannot_be_started_is_told),
        cmocka_unit_test(a_folder_that_is_too_long_gives_way),
        cmocka_unit_test(its_files_have_no_names),
        cmocka_unit_test(names_are_taken_away),
        cmocka_unit_test(signals_interrupt_nothing),
        cmocka_unit_test(an_svg_is_written_as_it_is),
        cmocka_unit_test(a_broken_svg_is_told),
    };
    return cmocka_run_group_tests(tests, scratch_create, scratch_remove);
}
