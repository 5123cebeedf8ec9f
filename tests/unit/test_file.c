/* SPDX-License-Identifier: MIT */
/* Files are whole or not there: commits, discards, full disks; reading of files and making of folders. */
#include "io/fail.h"
#include "io/file.h"
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "unit/scratch_folder.h"

static void expect_content(const char *name, const char *content) {
    char *data;
    size_t bytes;
    locus_error error = {0};
    if (lab_file_read(scratch_path(name), &data, &bytes, &error) != LOCUS_OK)
        fail_msg("%s", error.message);
    assert_int_equal(bytes, strlen(content));
    assert_memory_equal(data, content, bytes + 1);
    free(data);
}

static void expect_one_line(const locus_error *error, const char *part) {
    assert_true(strlen(error->message) > 0);
    assert_null(strchr(error->message, '\n'));
    if (!strstr(error->message, part))
        fail_msg("expected '%s' in: %s", part, error->message);
}

static void write_text(const char *name, const char *content) {
    lab_output output;
    assert_int_equal(lab_output_open(&output, scratch_path(name), NULL), LOCUS_OK);
    fputs(content, output.stream);
    assert_int_equal(lab_output_commit(&output, NULL), LOCUS_OK);
    lab_output_discard(&output); /* safe after a commit */
}

static void a_commit_makes_or_replaces_the_file(void **state) {
    (void)state;
    size_t before = scratch_count();
    write_text("a", "first");
    expect_content("a", "first");
    write_text("a", "second, longer");
    expect_content("a", "second, longer");
    write_text("empty", "");
    expect_content("empty", "");
    assert_int_equal(scratch_count(), before + 2);
}

static void nothing_shows_before_the_commit(void **state) {
    (void)state;
    write_text("b", "old");
    size_t before = scratch_count();
    lab_output output;
    assert_int_equal(lab_output_open(&output, scratch_path("b"), NULL), LOCUS_OK);
    fputs("new", output.stream);
    fflush(output.stream);
    expect_content("b", "old");
    assert_int_equal(scratch_count(), before + 1);
    const char *name = strrchr(output.temporary, '/') + 1;
    assert_int_equal(strncmp(name, ".b.tmp-", 7), 0);
    lab_output_discard(&output);
    lab_output_discard(&output);
    expect_content("b", "old");
    assert_int_equal(scratch_count(), before);
}

/* A killed process left its file behind; what only looks similar is somebody's. */
static void what_a_killed_process_left_is_removed(void **state) {
    (void)state;
    static const char *const others[] = {".c.tmp-0123456789abcdefe", ".c.tmp-0123456789abcde",
                                         ".c.tmp-0123456789ABCDEF",  ".cc.tmp-0123456789abcdef",
                                         "c.tmp-0123456789abcdef",   ".c.tmp-notes"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        scratch_write(others[i], "somebody's", 10);
    scratch_write(".c.tmp-0123456789abcdef", "junk that is longer", 19);
    write_text("c", "good");
    expect_content("c", "good");
    assert_int_equal(access(scratch_path(".c.tmp-0123456789abcdef"), F_OK), -1);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_int_equal(access(scratch_path(others[i]), F_OK), 0);
}

/* Of a long name a temporary has the first 200 bytes, so that it is no longer than a name can be. */
static void what_is_left_of_a_long_name_is_removed(void **state) {
    (void)state;
    char name[241], left[300], other[300];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    snprintf(left, sizeof left, ".%.200s.tmp-0123456789abcdef", name);
    snprintf(other, sizeof other, ".%.199s.tmp-0123456789abcdef", name);
    scratch_write(left, "junk", 4);
    scratch_write(other, "somebody's", 10);
    write_text(name, "good");
    expect_content(name, "good");
    assert_int_equal(access(scratch_path(left), F_OK), -1);
    assert_int_equal(access(scratch_path(other), F_OK), 0);
}

/* The child's file stands while it writes, whoever writes the same path, and goes with the next writer once the child
 * was killed. */
static void what_another_process_writes_is_left_alone(void **state) {
    (void)state;
    size_t before = scratch_count();
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        lab_output output;
        if (lab_output_open(&output, scratch_path("shared"), NULL) != LOCUS_OK || write(ready[1], "r", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    char byte;
    assert_int_equal(read(ready[0], &byte, 1), 1);
    write_text("shared", "mine");
    assert_int_equal(scratch_count(), before + 2);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(scratch_count(), before + 2);
    write_text("shared", "mine again");
    expect_content("shared", "mine again");
    assert_int_equal(scratch_count(), before + 1);
    close(ready[0]);
    close(ready[1]);
}

/* Two at once in one process: the last one to commit wins, and neither has a part of the other. */
static void two_outputs_of_one_path_have_names_of_their_own(void **state) {
    (void)state;
    size_t before = scratch_count();
    lab_output first, second;
    assert_int_equal(lab_output_open(&first, scratch_path("twice"), NULL), LOCUS_OK);
    assert_int_equal(lab_output_open(&second, scratch_path("twice"), NULL), LOCUS_OK);
    assert_string_not_equal(first.temporary, second.temporary);
    fputs("first", first.stream);
    fputs("second", second.stream);
    assert_int_equal(lab_output_commit(&second, NULL), LOCUS_OK);
    expect_content("twice", "second");
    assert_int_equal(lab_output_commit(&first, NULL), LOCUS_OK);
    expect_content("twice", "first");
    assert_int_equal(scratch_count(), before + 1);
}

/* As long as a file system takes them. */
static void long_names_have_temporaries(void **state) {
    (void)state;
    char name[256];
    memset(name, 'n', sizeof name - 1);
    name[255] = '\0';
    write_text(name, "here");
    expect_content(name, "here");
}

static void names_without_a_folder_work(void **state) {
    (void)state;
    char old[1024];
    assert_non_null(getcwd(old, sizeof old));
    assert_int_equal(chdir(scratch_path("")), 0);
    lab_output output;
    assert_int_equal(lab_output_open(&output, "plain", NULL), LOCUS_OK);
    fputs("here", output.stream);
    assert_int_equal(lab_output_commit(&output, NULL), LOCUS_OK);
    assert_int_equal(chdir(old), 0);
    expect_content("plain", "here");
}

static void expect_no_output(const char *path, const char *part) {
    lab_output output;
    locus_error error = {0};
    assert_int_equal(lab_output_open(&output, path, &error), LOCUS_ERROR_IO);
    assert_null(output.stream);
    expect_one_line(&error, part);
    lab_output_discard(&output);
}

static void bad_places_are_refused_at_once(void **state) {
    (void)state;
    size_t before = scratch_count();
    expect_no_output(scratch_path("no/such/folder"), "No such file or directory");
    expect_no_output(scratch_path(""), "Is a directory");
    expect_no_output("", "No such file or directory");
    assert_int_equal(scratch_count(), before);
    if (geteuid() == 0) /* who may write everywhere cannot be refused */
        return;
    assert_int_equal(mkdir(scratch_path("locked"), 0500), 0);
    expect_no_output(scratch_path("locked/x"), "Permission denied");
}

/* In a child, since the limit holds for a whole process: files may not grow past 8 KiB. */
static int fill_the_disk(void) {
    struct rlimit limit = {8192, 8192};
    lab_output output;
    locus_error error = {0};
    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0 || lab_output_open(&output, scratch_path("full"), NULL) != LOCUS_OK)
        return 2;
    char block[4096] = {0};
    for (int i = 0; i < 10; i++)
        fwrite(block, 1, sizeof block, output.stream);
    if (lab_output_commit(&output, &error) != LOCUS_ERROR_IO || output.stream || output.path)
        return 3;
    return strstr(error.message, strerror(EFBIG)) && strstr(error.message, "full'") ? 0 : 4;
}

static void a_full_disk_leaves_the_old_file(void **state) {
    (void)state;
    write_text("full", "old");
    size_t before = scratch_count();
    pid_t child = fork();
    if (child == 0)
        _exit(fill_the_disk());
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    expect_content("full", "old");
    assert_int_equal(scratch_count(), before);
}

static void devices_are_written_directly(void **state) {
    (void)state;
    lab_output output;
    locus_error error = {0};
    assert_int_equal(lab_output_open(&output, "/dev/null", NULL), LOCUS_OK);
    assert_null(output.temporary);
    fputs("gone", output.stream);
    assert_int_equal(lab_output_commit(&output, NULL), LOCUS_OK);
    if (access("/dev/full", W_OK) != 0)
        return;
    const size_t sizes[] = {10, 100000}; /* fails when flushed, fails while written */
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(lab_output_open(&output, "/dev/full", NULL), LOCUS_OK);
        for (size_t k = 0; k < sizes[i]; k++)
            putc('x', output.stream);
        assert_int_equal(lab_output_commit(&output, &error), LOCUS_ERROR_IO);
        expect_one_line(&error, "cannot write '/dev/full': No space left on device");
    }
}

/* ---- input ---- */

static void whole_files_are_read(void **state) {
    (void)state;
    char large[200000], *data;
    size_t bytes;
    for (size_t i = 0; i < sizeof large; i++)
        large[i] = (char)(i * 7 + i / 1000);
    scratch_write("large", large, sizeof large);
    assert_int_equal(lab_file_read(scratch_path("large"), &data, &bytes, NULL), LOCUS_OK);
    assert_int_equal(bytes, sizeof large);
    assert_memory_equal(data, large, bytes);
    assert_int_equal(data[bytes], '\0');
    free(data);
    assert_int_equal(lab_file_read("/proc/self/status", &data, &bytes, NULL), LOCUS_OK); /* says that it is empty */
    assert_true(bytes > 100 && strlen(data) == bytes);
    free(data);
}

static void a_pipe_is_read_to_its_end(void **state) {
    (void)state;
    char *data, path[64];
    size_t bytes;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        for (int i = 0; i < 30000; i++)
            if (write(ends[1], "0123456789", 10) != 10)
                _exit(1);
        _exit(0);
    }
    close(ends[1]);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    assert_int_equal(lab_file_read(path, &data, &bytes, NULL), LOCUS_OK);
    assert_int_equal(bytes, 300000);
    assert_memory_equal(data + 299990, "0123456789", 11);
    free(data);
    close(ends[0]);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static void what_cannot_be_read_is_said(void **state) {
    (void)state;
    char *data = (char *)(uintptr_t)1;
    size_t bytes = 1;
    locus_error error = {0};
    assert_int_equal(lab_file_read(scratch_path("nothing"), &data, &bytes, &error), LOCUS_ERROR_IO);
    expect_one_line(&error, "No such file or directory");
    assert_null(data);
    assert_int_equal(bytes, 0);
    assert_int_equal(lab_file_read(scratch_path(""), &data, &bytes, &error), LOCUS_ERROR_IO);
    expect_one_line(&error, "Is a directory");
}

static void cut_input_is_said(void **state) {
    (void)state;
    lab_input input;
    locus_error error = {0};
    char data[16];
    scratch_write("short", "12345", 5);
    assert_int_equal(lab_input_open(&input, scratch_path("short"), NULL), LOCUS_OK);
    assert_int_equal(input.bytes_left, 5);
    assert_int_equal(lab_input_read(&input, data, 3, NULL), LOCUS_OK);
    assert_int_equal(input.bytes_left, 2);
    assert_false(lab_input_at_end(&input));
    assert_int_equal(lab_input_read(&input, data, 3, &error), LOCUS_ERROR_IO);
    expect_one_line(&error, "short' is cut: 1 bytes are missing");
    assert_true(lab_input_at_end(&input));
    lab_input_close(&input);
    lab_input_close(&input);
}

static void long_paths_keep_the_reason(void **state) {
    (void)state;
    char path[2000];
    locus_error error = {0};
    for (size_t i = 0; i + 3 < sizeof path; i += 3)
        memcpy(path + i, "a/é", 4);
    path[sizeof path - 3] = '\0';
    assert_int_equal(lab_fail_system(&error, "read", path, ENOENT), LOCUS_ERROR_IO);
    expect_one_line(&error, "': No such file or directory");
    expect_one_line(&error, "cannot read '…");
    assert_int_equal(lab_fail_file(&error, path, "is cut"), LOCUS_ERROR_IO);
    expect_one_line(&error, "' is cut");
    assert_int_equal(lab_fail_system(&error, "read", "x", ENOMEM), LOCUS_ERROR_MEMORY);
    /* 240 bytes are shown whole; of one more, the last 240. */
    memset(path, 'p', 241);
    path[241] = '\0';
    for (size_t cut = 0; cut < 2; cut++) {
        char says[400];
        snprintf(says, sizeof says, "'%s%s' is cut", cut ? "…" : "", path + 1);
        assert_int_equal(lab_fail_file(&error, path + 1 - cut, "is cut"), LOCUS_ERROR_IO);
        assert_string_equal(error.message, says);
    }
    /* Whether there is such a file is told apart from what cannot be done with it. */
    static const int codes[] = {ENOENT, ENOTDIR, EACCES, EISDIR, ENOSPC, EIO};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        char says[200];
        assert_int_equal(lab_fail_system(&error, "open", "x", codes[i]), LOCUS_ERROR_IO);
        assert_string_equal(error.argument, i < 2 ? "" : LAB_FAIL_THERE);
        snprintf(says, sizeof says, "cannot open 'x': %s", strerror(codes[i]));
        assert_string_equal(error.message, says);
    }
}

/* ---- folders ---- */

static void folders_are_made_with_their_parents(void **state) {
    (void)state;
    const char *const paths[] = {"one", "one", "two/three/four", "two//three/five/", "two/three/four"};
    struct stat facts;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        locus_error error = {0};
        if (lab_directory_create(scratch_path(paths[i]), &error) != LOCUS_OK)
            fail_msg("%s", error.message);
        assert_int_equal(stat(scratch_path(paths[i]), &facts), 0);
        assert_true(S_ISDIR(facts.st_mode));
    }
    assert_int_equal(lab_directory_create("/", NULL), LOCUS_OK);
    assert_int_equal(lab_directory_create(".", NULL), LOCUS_OK);
}

static void a_file_in_the_way_is_named(void **state) {
    (void)state;
    locus_error error = {0};
    scratch_write("file", "x", 1);
    assert_int_equal(lab_directory_create(scratch_path("file/below"), &error), LOCUS_ERROR_IO);
    expect_one_line(&error, "Not a directory");
    assert_int_equal(lab_directory_create(scratch_path("file"), &error), LOCUS_ERROR_IO);
    expect_one_line(&error, "Not a directory");
    assert_int_equal(lab_directory_create("", &error), LOCUS_ERROR_IO);
    expect_content("file", "x");
}

static void whether_a_file_is_there_is_known_or_refused(void **state) {
    static const struct {
        const char *name;
        bool there;
    } cases[] = {{"present", true}, {"absent", false}, {"present/below", false}, {".", false}};
    locus_error error;
    bool there;
    char name[400];
    (void)state;
    scratch_write("present", "", 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(lab_file_exists(scratch_path(cases[i].name), &there, &error), LOCUS_OK);
        assert_int_equal(there, cases[i].there);
    }
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_int_equal(lab_file_exists(scratch_path(name), &there, &error), LOCUS_ERROR_IO); /* nobody can know */
    assert_non_null(strstr(error.message, "too long"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whether_a_file_is_there_is_known_or_refused),
        cmocka_unit_test(a_commit_makes_or_replaces_the_file),
        cmocka_unit_test(nothing_shows_before_the_commit),
        cmocka_unit_test(what_a_killed_process_left_is_removed),
        cmocka_unit_test(what_is_left_of_a_long_name_is_removed),
        cmocka_unit_test(what_another_process_writes_is_left_alone),
        cmocka_unit_test(two_outputs_of_one_path_have_names_of_their_own),
        cmocka_unit_test(long_names_have_temporaries),
        cmocka_unit_test(names_without_a_folder_work),
        cmocka_unit_test(bad_places_are_refused_at_once),
        cmocka_unit_test(a_full_disk_leaves_the_old_file),
        cmocka_unit_test(devices_are_written_directly),
        cmocka_unit_test(whole_files_are_read),
        cmocka_unit_test(a_pipe_is_read_to_its_end),
        cmocka_unit_test(what_cannot_be_read_is_said),
        cmocka_unit_test(cut_input_is_said),
        cmocka_unit_test(long_paths_keep_the_reason),
        cmocka_unit_test(folders_are_made_with_their_parents),
        cmocka_unit_test(a_file_in_the_way_is_named),
    };
    return cmocka_run_group_tests(tests, scratch_create, scratch_remove);
}
