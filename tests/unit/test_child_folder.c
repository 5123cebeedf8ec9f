/* SPDX-License-Identifier: MIT */
/* Working folders of programs of others: nobody else may look into them, and what a killed process left is removed by
 * the next one, unless somebody holds it or it is none of ours. */
#include "io/file.h"
#include "scratch_folder.h"
#include "text/child.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* A process that makes a folder, writes into it and is killed. */
static void leave_one(void) {
    const pid_t child = fork();
    int state = 0;
    assert_true(child >= 0);
    if (child == 0) {
        lab_child_folder folder;
        if (lab_child_open(&folder, NULL) == LOCUS_OK && lab_child_write(&folder, "text", "abc", 3, NULL) == LOCUS_OK &&
            lab_child_write(&folder, "log", "", 0, NULL) == LOCUS_OK)
            raise(SIGKILL);
        _exit(1);
    }
    assert_int_equal(waitpid(child, &state, 0), child);
    assert_true(WIFSIGNALED(state) && WTERMSIG(state) == SIGKILL);
}

static void left_folders_go(void **state) {
    lab_child_folder held, next;
    struct stat facts;
    (void)state;
    leave_one();
    assert_int_equal(scratch_count(), 1);
    assert_int_equal(lab_child_open(&held, NULL), LOCUS_OK);
    assert_int_equal(scratch_count(), 1); /* its own */
    assert_int_equal(lab_child_write(&held, "text", "mine", 4, NULL), LOCUS_OK);
    leave_one();
    leave_one(); /* removes the one before */
    assert_int_equal(scratch_count(), 2);
    assert_int_equal(lab_child_open(&next, NULL), LOCUS_OK);
    assert_int_equal(scratch_count(), 2); /* what is held stays, with its file */
    char *data = NULL;
    size_t bytes = 0;
    assert_int_equal(lab_child_read(&held, "text", &data, &bytes, NULL), LOCUS_OK);
    assert_int_equal(bytes, 4);
    free(data);
    assert_int_equal(stat(held.path, &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0700);
    lab_child_close(&next);
    lab_child_close(&held);
    assert_string_equal(held.path, "");
    lab_child_close(&held); /* safe */
    assert_int_equal(scratch_count(), 0);
}

/* Of another name, a link, or a folder that holds a folder. */
static void nothing_else_goes(void **state) {
    lab_child_folder folder;
    (void)state;
    assert_int_equal(mkdir(scratch_path("locus-text.tmp-0123"), 0700), 0);
    assert_int_equal(mkdir(scratch_path("kept"), 0700), 0);
    scratch_write("kept/file", "x", 1);
    assert_int_equal(symlink("kept", scratch_path("locus-text.tmp-0123456789abcdef")), 0);
    assert_int_equal(mkdir(scratch_path("locus-text.tmp-0123456789abcde0"), 0700), 0);
    assert_int_equal(mkdir(scratch_path("locus-text.tmp-0123456789abcde0/deeper"), 0700), 0);
    assert_int_equal(lab_child_open(&folder, NULL), LOCUS_OK);
    lab_child_close(&folder);
    assert_int_equal(scratch_count(), 4);
    assert_int_equal(access(scratch_path("kept/file"), F_OK), 0);
    assert_int_equal(unlink(scratch_path("kept/file")), 0);
    assert_int_equal(rmdir(scratch_path("kept")), 0);
    assert_int_equal(rmdir(scratch_path("locus-text.tmp-0123")), 0);
    assert_int_equal(unlink(scratch_path("locus-text.tmp-0123456789abcdef")), 0);
    assert_int_equal(rmdir(scratch_path("locus-text.tmp-0123456789abcde0/deeper")), 0);
    assert_int_equal(rmdir(scratch_path("locus-text.tmp-0123456789abcde0")), 0);
}

static void no_folder_is_told(void **state) {
    lab_child_folder folder;
    locus_error error = {0};
    (void)state;
    char *base = strdup(getenv("TMPDIR"));
    assert_int_equal(setenv("TMPDIR", scratch_path("nowhere"), 1), 0);
    memset(&folder, 'x', sizeof folder);
    assert_int_equal(lab_child_open(&folder, &error), LOCUS_ERROR_IO);
    assert_string_equal(folder.path, ""); /* nothing to close */
    assert_non_null(strstr(error.message, "nowhere"));
    lab_child_close(&folder);
    assert_int_equal(setenv("TMPDIR", base, 1), 0);
    free(base);
}

/* A disk that is full is told, whether it shows in the writing or at the end. */
static void a_full_disk_is_told(void **state) {
    (void)state;
    static const char data[100000] = "much";
    static const size_t sizes[] = {4, sizeof data};
    lab_child_folder folder;
    char path[600], says[700];
    assert_int_equal(lab_child_open(&folder, NULL), LOCUS_OK);
    snprintf(path, sizeof path, "%s/text", folder.path);
    snprintf(says, sizeof says, "cannot write '%s': No space left on device", path);
    assert_int_equal(symlink("/dev/full", path), 0);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        locus_error error = {0};
        assert_int_equal(lab_child_write(&folder, "text", data, sizes[i], &error), LOCUS_ERROR_IO);
        assert_string_equal(error.message, says);
    }
    assert_int_equal(lab_child_write(&folder, "text", data, 0, NULL), LOCUS_OK);
    lab_child_close(&folder);
    assert_int_equal(scratch_count(), 0);
}

static int open_scratch(void **state) {
    const int status = scratch_create(state);
    char base[512];
    snprintf(base, sizeof base, "%s", scratch_path(""));
    base[strlen(base) - 1] = '\0'; /* the slash */
    return status != 0 ? status : setenv("TMPDIR", base, 1);
}

/* How a program ends is what is told of it. */
static void ends_of_programs(void **state) {
    (void)state;
    static const struct {
        const char *commands;
        locus_status status;
        const char *says;
    } cases[] = {
        {"exit 0", LOCUS_OK, ""},
        {"echo 'no such model'; exit 3", LOCUS_ERROR_IO, "sh failed: no such model"},
        {"kill -INT $$", LOCUS_ERROR_INTERRUPTED, "sh was stopped"},
        {"kill -TERM $$", LOCUS_ERROR_INTERRUPTED, "sh was stopped"},
        {"kill -KILL $$", LOCUS_ERROR_IO, "sh was ended by signal 9"},
        {"kill -ABRT $$", LOCUS_ERROR_IO, "sh was ended by signal 6"},
        {"exit 127", LOCUS_ERROR_UNSUPPORTED, "sh is not on the PATH: install it (Debian: dash)"},
        {"exit 126", LOCUS_ERROR_IO, "sh failed"},
        /* What says most stands last, behind its place in the program; blank lines and the end say nothing. */
        {"echo first; echo 'x.cc(12) [!y.empty()] [z] real reason' >&2; echo; printf ' \\t\\nProgram terminated.\\n'; "
         "exit 1",
         LOCUS_ERROR_IO, "sh failed: real reason"},
        {"echo 'x.cc(12) [y] z'; exit 1", LOCUS_ERROR_IO, "sh failed: z"},
        {"printf 'only [this] \\nno'; kill -KILL $$", LOCUS_ERROR_IO, "sh was ended by signal 9: no"},
        {"printf 'only [this] '; exit 1", LOCUS_ERROR_IO, "sh failed: only [this] "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const words[] = {"sh", "-c", cases[i].commands, NULL};
        lab_child_folder folder;
        locus_error error = {0};
        assert_int_equal(lab_child_open(&folder, NULL), LOCUS_OK);
        assert_int_equal(lab_child_run(&folder, words, "dash", &error), cases[i].status);
        assert_string_equal(error.message, cases[i].says);
        if (cases[i].status == LOCUS_ERROR_INTERRUPTED || cases[i].status == LOCUS_ERROR_UNSUPPORTED)
            assert_string_equal(error.argument, "sh");
        lab_child_close(&folder);
    }
    assert_int_equal(scratch_count(), 0);
}

/* Signals that this process keeps for later end a program at once. */
static void signals_reach_programs(void **state) {
    (void)state;
    static const char *const words[] = {"sh", "-c", "kill -TERM $$; exit 0", NULL};
    lab_child_folder folder;
    sigset_t kept, before;
    assert_int_equal(lab_child_open(&folder, NULL), LOCUS_OK);
    sigemptyset(&kept);
    sigaddset(&kept, SIGTERM);
    assert_int_equal(sigprocmask(SIG_BLOCK, &kept, &before), 0);
    assert_int_equal(lab_child_run(&folder, words, "dash", NULL), LOCUS_ERROR_INTERRUPTED);
    assert_int_equal(sigprocmask(SIG_SETMASK, &before, NULL), 0);
    lab_child_close(&folder);
}

static void ignore(int number) {
    (void)number;
}

/* A signal that is none of its business does not end the wait for a program. */
static void signals_interrupt_no_wait(void **state) {
    (void)state;
    static const char *const words[] = {"sh", "-c", "sleep 0.05; exit 3", NULL};
    const struct sigaction wakes = {.sa_handler = ignore};
    const struct itimerval soon = {.it_value = {.tv_usec = 5000}, .it_interval = {.tv_usec = 5000}};
    struct sigaction before;
    lab_child_folder folder;
    locus_error error = {0};
    assert_int_equal(lab_child_open(&folder, NULL), LOCUS_OK);
    assert_int_equal(sigaction(SIGALRM, &wakes, &before), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &soon, NULL), 0);
    const locus_status status = lab_child_run(&folder, words, "dash", &error);
    assert_int_equal(setitimer(ITIMER_REAL, &(struct itimerval){.it_value = {.tv_sec = 0}}, NULL), 0);
    assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
    assert_int_equal(status, LOCUS_ERROR_IO);
    assert_string_equal(error.message, "sh failed");
    lab_child_close(&folder);
}

/* What cannot be written, read or started is told with its reason. */
static void what_cannot_be_is_told(void **state) {
    (void)state;
    static const char *const words[] = {"/dev/null", NULL};
    lab_child_folder folder, gone = {.held = -1};
    locus_error error = {0};
    char *data = NULL, says[700];
    size_t bytes;
    assert_int_equal(lab_child_open(&folder, NULL), LOCUS_OK);
    assert_int_equal(lab_child_run(&folder, words, "none", &error), LOCUS_ERROR_IO);
    assert_string_equal(error.message, "cannot start '/dev/null': Permission denied");
    lab_child_close(&folder);
    snprintf(gone.path, sizeof gone.path, "%s", scratch_path("nowhere"));
    snprintf(says, sizeof says, "cannot write '%s/text': No such file or directory", gone.path);
    assert_int_equal(lab_child_write(&gone, "text", "a", 1, &error), LOCUS_ERROR_IO);
    assert_string_equal(error.message, says);
    assert_int_equal(lab_child_read(&gone, "text", &data, &bytes, &error), LOCUS_ERROR_IO);
    assert_null(data);
}

/* A folder for temporary files is used up to 400 bytes; a longer one, none, or one with a comma is /tmp. */
static void where_folders_are_made(void **state) {
    (void)state;
    char *base = strdup(getenv("TMPDIR")), longest[512], longer[520], comma[520];
    lab_child_folder folder;
    int length = snprintf(longest, sizeof longest, "%s/%0150d", base, 0);
    assert_int_equal(mkdir(longest, 0700), 0);
    snprintf(longest + length, sizeof longest - (size_t)length, "/%0*d", 400 - length - 1, 0);
    assert_int_equal(mkdir(longest, 0700), 0);
    snprintf(longer, sizeof longer, "%s0", longest);
    assert_int_equal(mkdir(longer, 0700), 0);
    snprintf(comma, sizeof comma, "%s/a,b", base);
    assert_int_equal(mkdir(comma, 0700), 0);
    const char *const cases[][2] = {{longest, longest}, {longer, "/tmp"}, {comma, "/tmp"}, {"", "/tmp"}, {".", "."}};
    const int here = open(".", O_RDONLY);
    assert_true(here >= 0 && chdir(base) == 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(setenv("TMPDIR", cases[i][0], 1), 0);
        assert_int_equal(lab_child_open(&folder, NULL), LOCUS_OK);
        const char *slash = strrchr(folder.path, '/');
        assert_int_equal(slash - folder.path, strlen(cases[i][1]));
        assert_memory_equal(folder.path, cases[i][1], strlen(cases[i][1]));
        lab_child_close(&folder);
    }
    assert_int_equal(fchdir(here), 0);
    close(here);
    assert_int_equal(setenv("TMPDIR", base, 1), 0);
    assert_true(rmdir(longest) == 0 && rmdir(longer) == 0 && rmdir(comma) == 0);
    *strrchr(longest, '/') = '\0';
    assert_int_equal(rmdir(longest), 0);
    free(base);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signals_reach_programs), cmocka_unit_test(where_folders_are_made),
        cmocka_unit_test(left_folders_go),        cmocka_unit_test(nothing_else_goes),
        cmocka_unit_test(ends_of_programs),       cmocka_unit_test(no_folder_is_told),
        cmocka_unit_test(a_full_disk_is_told),    cmocka_unit_test(signals_interrupt_no_wait),
        cmocka_unit_test(what_cannot_be_is_told),
    };
    return cmocka_run_group_tests(tests, open_scratch, scratch_remove);
}
