/* SPDX-License-Identifier: MIT */
/* Published sets, with a small one of our own: sums, copies that are whole or not there, downloads (of file:// URLs)
 * that go on or begin again and never leave what is wrong. */
#include "io/digest.h"
#include "io/published/download.h"
#include "io/published/late_library.h"
#include "io/published/published_set.h"
#include "io/temporary.h"
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "unit/child_exit.h"
#include "unit/heard.h"
#include "unit/scratch_folder.h"
#include "unit/tar_file.h"

enum { FILES = 3, BIG = 1500000 };

static const size_t sizes[FILES] = {5, BIG, 1000};
static const char *const names[FILES] = {"a.bin", "b.bin", "c.bin"};
static char content[FILES][BIG], sums[FILES][LAB_DIGEST_TEXT], archive_md5[LAB_DIGEST_TEXT];
static lab_published_file files[FILES];
static lab_published_set set = {.name = "little",
                                .folder = "data/little",
                                .inner = "little-bin",
                                .archive = "little.tar.gz",
                                .archive_md5 = archive_md5,
                                .files = files,
                                .file_count = FILES};

static void sum_bytes(lab_digest_kind kind, const void *bytes, size_t count, char text[LAB_DIGEST_TEXT]) {
    lab_digest digest = lab_digest_begin(kind);
    lab_digest_add(&digest, bytes, count / 3);
    lab_digest_add(&digest, (const char *)bytes + count / 3, count - count / 3);
    assert_int_equal(lab_digest_close(&digest, text, NULL), LOCUS_OK);
}

static size_t slurp(const char *name, char *bytes, size_t room) {
    FILE *file = fopen(scratch_path(name), "rb");
    assert_non_null(file);
    size_t count = fread(bytes, 1, room, file);
    fclose(file);
    return count;
}

/* The archive in the scratch folder, and the set's sums. */
static int make_set(void **state) {
    static char bytes[2 * BIG];
    tar_member members[FILES + 1] = {{"little-bin/", NULL, 0, NULL}};
    char paths[FILES][64];
    uint32_t noise = 1;
    if (scratch_create(state) != 0)
        return -1;
    for (size_t f = 0; f < FILES; f++) {
        for (size_t i = 0; i < sizes[f]; i++) {
            noise = noise * 1664525u + 1013904223u;
            content[f][i] = (char)(noise >> 24);
        }
        sum_bytes(LAB_DIGEST_SHA256, content[f], sizes[f], sums[f]);
        files[f] = (lab_published_file){names[f], sizes[f], sums[f]};
        snprintf(paths[f], sizeof paths[f], "little-bin/%s", names[f]);
        members[1 + f] = (tar_member){paths[f], content[f], sizes[f], NULL};
    }
    tar_write(scratch_path("little.tar.gz"), TAR_GZIP, members, FILES + 1);
    tar_write(scratch_path("mirror.tar.xz"), TAR_XZ, members, FILES + 1);
    sum_bytes(LAB_DIGEST_MD5, bytes, slurp("little.tar.gz", bytes, sizeof bytes), archive_md5);
    return 0;
}

static void make_folder(const char *folder) {
    char path[128];
    assert_int_equal(mkdir(scratch_path(folder), 0777), 0);
    for (size_t f = 0; f < FILES; f++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[f]);
        scratch_write(path, content[f], sizes[f]);
    }
}

static bool exists(const char *name) {
    struct stat facts;
    return stat(scratch_path(name), &facts) == 0;
}

static void expect_whole(const char *folder) {
    static char bytes[BIG + 1];
    char path[128];
    locus_error error = {0};
    for (size_t f = 0; f < FILES; f++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[f]);
        assert_int_equal(slurp(path, bytes, sizeof bytes), sizes[f]);
        assert_memory_equal(bytes, content[f], sizes[f]);
    }
    if (lab_published_check(&set, scratch_path(folder), NULL, &error) != LOCUS_OK)
        fail_msg("%s", error.message);
}

static void expect_message(const locus_error *error, const char *part, const char *other) {
    assert_null(strchr(error->message, '\n'));
    if (!strstr(error->message, part) || !strstr(error->message, other))
        fail_msg("expected '%s' and '%s' in: %s", part, other, error->message);
}

/* Of the first 256. */
static size_t open_descriptors(void) {
    size_t count = 0;
    for (int descriptor = 0; descriptor < 256; descriptor++)
        count += fcntl(descriptor, F_GETFD) >= 0;
    return count;
}

/* "file://…" of a file in the scratch folder. */
static const char *url_of(const char *name) {
    static char url[1100];
    snprintf(url, sizeof url, "file://%s", scratch_path(name));
    return url;
}

/* ---- sums ---- */

static void known_sums(void **state) {
    char text[LAB_DIGEST_TEXT];
    (void)state;
    sum_bytes(LAB_DIGEST_MD5, "abc", 3, text); /* RFC 1321, A.5 */
    assert_string_equal(text, "900150983cd24fb0d6963f7d28e17f72");
    sum_bytes(LAB_DIGEST_MD5, "", 0, text);
    assert_string_equal(text, "d41d8cd98f00b204e9800998ecf8427e");
    sum_bytes(LAB_DIGEST_SHA256, "abc", 3, text); /* FIPS 180-2, B.1 */
    assert_string_equal(text, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    lab_digest digest = {0};
    lab_digest_discard(&digest);
    assert_int_not_equal(lab_digest_close(&digest, text, NULL), LOCUS_OK);
}

/* A file's sum is that of its bytes, here of two blocks and a bit; as a number it begins as its text does. */
static void sums_of_files_and_numbers(void **state) {
    enum { BYTES = 2 * 65536 + 7 };
    static char bytes[BYTES];
    char path[1024], text[LAB_DIGEST_TEXT], begins[17];
    uint64_t number = 0;
    lab_digest digest;
    (void)state;
    for (size_t i = 0; i < BYTES; ++i)
        bytes[i] = (char)(i % 101);
    snprintf(path, sizeof path, "%s", scratch_path("summed"));
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, BYTES, file), BYTES);
    fclose(file);
    sum_bytes(LAB_DIGEST_SHA256, bytes, BYTES, text);
    digest = lab_digest_begin(LAB_DIGEST_SHA256);
    assert_int_equal(lab_digest_add_file(&digest, path, NULL), LOCUS_OK);
    assert_int_equal(lab_digest_close_number(&digest, &number, NULL), LOCUS_OK);
    snprintf(begins, sizeof begins, "%016llx", (unsigned long long)number);
    assert_memory_equal(begins, text, 16);
    assert_int_not_equal(lab_digest_close_number(&digest, &number, NULL), LOCUS_OK); /* closed already */
    digest = lab_digest_begin(LAB_DIGEST_SHA256);
    assert_int_equal(lab_digest_add_file(&digest, "/nowhere", NULL), LOCUS_ERROR_IO);
    lab_digest_discard(&digest);
}

/* ---- checking ---- */

static void what_differs_is_named(void **state) {
    locus_error error = {0};
    (void)state;
    make_folder("check");
    expect_whole("check");
    content[1][77] ^= 1;
    scratch_write("check/b.bin", content[1], sizes[1]);
    content[1][77] ^= 1;
    assert_int_equal(lab_published_check(&set, scratch_path("check"), NULL, &error), LOCUS_ERROR_IO);
    expect_message(&error, "check/b.bin' is altered", sums[1]);
    scratch_write("check/b.bin", content[1], sizes[1] - 1);
    assert_int_equal(lab_published_check(&set, scratch_path("check"), NULL, &error), LOCUS_ERROR_IO);
    expect_message(&error, "check/b.bin' is truncated", "1499999 bytes, and 1500000 as published");
    scratch_write("check/b.bin", content[0], 0);
    assert_int_equal(lab_published_check(&set, scratch_path("check"), NULL, &error), LOCUS_ERROR_IO);
    expect_message(&error, "is truncated", "0 bytes");
    assert_int_equal(unlink(scratch_path("check/b.bin")), 0);
    assert_int_equal(lab_published_check(&set, scratch_path("check"), NULL, &error), LOCUS_ERROR_IO);
    expect_message(&error, "cannot read", "check/b.bin");
    assert_int_equal(lab_published_check(&set, scratch_path("little.tar.gz"), NULL, &error), LOCUS_OK);
}

/* An archive that ends within a file is cut, not altered. */
static void cut_archives(void **state) {
    (void)state;
    static char bytes[2 * BIG];
    tar_member members[FILES];
    locus_error error = {0};
    for (size_t f = 0; f < FILES; f++)
        members[f] = (tar_member){names[f], content[f], sizes[f], NULL};
    tar_write(scratch_path("plain.tar"), TAR_PLAIN, members, FILES);
    assert_true(slurp("plain.tar", bytes, sizeof bytes) > BIG);
    scratch_write("plain.tar", bytes, BIG / 2);
    assert_int_equal(lab_published_check(&set, scratch_path("plain.tar"), NULL, &error), LOCUS_ERROR_IO);
    expect_message(&error, "plain.tar' is cut", "");
    assert_int_equal(unlink(scratch_path("plain.tar")), 0);
}

/* Bytes that have been read, of all, after each piece. */
static void what_is_read_is_told(void **state) {
    (void)state;
    heard all = {""};
    const lab_watch watch = {hear, &all};
    make_folder("told");
    assert_int_equal(lab_published_check(&set, scratch_path("told"), &watch, NULL), LOCUS_OK);
    assert_string_equal(all.text, "checking 5/1501005\nchecking 1048581/1501005\nchecking 1500005/1501005\n"
                                  "checking 1501005/1501005\n");
    all.text[0] = '\0';
    assert_int_equal(lab_published_take(&set, scratch_path("told"), scratch_path("told again"), &watch, NULL),
                     LOCUS_OK);
    assert_string_equal(all.text, "unpacking 5/1501005\nunpacking 1048581/1501005\nunpacking 1500005/1501005\n"
                                  "unpacking 1501005/1501005\n");
    expect_whole("told again");
}

/* What killed processes left beside a folder and in it goes, with files of the set that were not whole; anything else
 * keeps its folder. */
static void what_was_left_goes(void **state) {
    (void)state;
    static const char *const folders[] = {"come.tmp-0123456789abcdef", "come/.tmp-0123456789abcdef",
                                          "come.tmp-0123456789abcde0"};
    char path[128];
    make_folder("from");
    make_folder("come");
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(mkdir(scratch_path(folders[i]), 0777), 0);
        snprintf(path, sizeof path, "%s/.a.bin.tmp-0123456789abcdef", folders[i]);
        scratch_write(path, "x", 1);
        snprintf(path, sizeof path, "%s/c.bin", folders[i]);
        scratch_write(path, "x", 1);
    }
    scratch_write("come.tmp-0123456789abcde0/.other", "x", 1);
    assert_int_equal(lab_published_take(&set, scratch_path("from"), scratch_path("come"), NULL, NULL), LOCUS_OK);
    expect_whole("come");
    assert_false(exists(folders[0]) || exists(folders[1]));
    assert_true(exists("come.tmp-0123456789abcde0/.other") && !exists("come.tmp-0123456789abcde0/c.bin"));
    assert_int_equal(unlink(scratch_path("come.tmp-0123456789abcde0/.other")), 0);
    assert_int_equal(rmdir(scratch_path("come.tmp-0123456789abcde0")), 0);
}

/* A library, or a function of it, that is not there is told each time; what was not whole is filled in later. */
static void libraries_that_are_not_there(void **state) {
    (void)state;
    static const char *const lacks[] = {"cos", "cosine", NULL};
    static const char *const has[] = {"cos", "sin", NULL};
    void (*table[2])(void) = {NULL, NULL};
    for (int turn = 0; turn < 2; turn++) {
        locus_error error = {0};
        assert_int_equal(lab_late_load("libnowhere.so", has, table, &error), LOCUS_ERROR_UNSUPPORTED);
        expect_message(&error, "cannot load libnowhere.so: libnowhere.so: ", "No such file");
        assert_int_equal(lab_late_load("libm.so.6", lacks, table, &error), LOCUS_ERROR_UNSUPPORTED);
        expect_message(&error, "cannot load libm.so.6: ", "cosine");
        assert_null(table[1]);
    }
    assert_int_equal(lab_late_load("libm.so.6", has, table, NULL), LOCUS_OK);
    assert_true(table[0] != NULL && table[1] != NULL && table[0] != table[1]);
}

static char *located(const char *path) {
    char *folder;
    assert_int_equal(lab_published_locate(&set, path, &folder, NULL), LOCUS_OK);
    return folder;
}

static void where_a_set_is(void **state) {
    (void)state;
    assert_null(located(scratch_path("nowhere")));
    assert_int_equal(mkdir(scratch_path("outer"), 0777), 0);
    assert_null(located(scratch_path("outer")));
    make_folder("outer/little-bin");
    char *found = located(scratch_path("outer"));
    assert_string_equal(found, scratch_path("outer/little-bin"));
    free(found);
    found = located(scratch_path("outer/little-bin"));
    assert_string_equal(found, scratch_path("outer/little-bin"));
    free(found);
}

/* ---- copying ---- */

static void sets_are_taken(void **state) {
    locus_error error = {0};
    (void)state;
    make_folder("source");
    assert_int_equal(lab_published_take(&set, scratch_path("source"), scratch_path("p/q/taken"), NULL, &error), 0);
    expect_whole("p/q/taken");
    assert_int_equal(lab_published_take(&set, scratch_path("mirror.tar.xz"), scratch_path("xz"), NULL, &error), 0);
    expect_whole("xz");
    /* Into a folder that has something else, and a file that is wrong. */
    scratch_write("xz/notes.txt", "kept", 4);
    scratch_write("xz/a.bin", "wrong", 5);
    assert_int_equal(lab_published_take(&set, scratch_path("little.tar.gz"), scratch_path("xz"), NULL, &error), 0);
    expect_whole("xz");
    assert_true(exists("xz/notes.txt"));
    scratch_write("file", "x", 1);
    assert_int_equal(lab_published_take(&set, scratch_path("source"), scratch_path("file"), NULL, &error),
                     LOCUS_ERROR_IO);
    expect_message(&error, "/file'", "cannot write");
}

/* A copy that fails leaves what was there, and nothing else; one that was killed is cleaned away by the next. */
static void failures_leave_nothing(void **state) {
    locus_error error = {0};
    (void)state;
    make_folder("bad");
    make_folder("kept");
    scratch_write("bad/c.bin", content[1], sizes[2]);
    size_t before = scratch_count();
    const size_t descriptors = open_descriptors();
    assert_int_equal(lab_published_take(&set, scratch_path("bad"), scratch_path("kept"), NULL, &error), LOCUS_ERROR_IO);
    expect_message(&error, "bad/c.bin' is altered", sums[2]);
    assert_int_equal(open_descriptors(), descriptors);
    assert_int_equal(lab_published_take(&set, scratch_path("bad"), scratch_path("never"), NULL, &error),
                     LOCUS_ERROR_IO);
    assert_int_equal(scratch_count(), before);
    expect_whole("kept");
    make_folder("kept.tmp-0123456789abcdef");
    assert_int_equal(lab_published_take(&set, scratch_path("little.tar.gz"), scratch_path("kept"), NULL, &error), 0);
    assert_int_equal(scratch_count(), before);
}

/* Another process fills its folder, on whatever host: it stays until that process is no more. */
static void what_another_process_fills_stays(void **state) {
    int ready[2];
    char byte;
    locus_error error = {0};
    (void)state;
    make_folder("both");
    const size_t before = scratch_count();
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        char *name;
        if (lab_temporary_folder(scratch_path("both"), &name) < 0 || write(ready[1], "r", 1) != 1)
            child_exit(1);
        for (;;)
            pause();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(lab_published_take(&set, scratch_path("little.tar.gz"), scratch_path("both"), NULL, &error), 0);
    assert_int_equal(scratch_count(), before + 1);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(lab_published_take(&set, scratch_path("little.tar.gz"), scratch_path("both"), NULL, &error), 0);
    assert_int_equal(scratch_count(), before);
    close(ready[0]);
    close(ready[1]);
}

/* A folder that is a link stays one. What only looks like a killed process's folder is not emptied. */
static void links_and_folders_of_others(void **state) {
    char victim[1100];
    locus_error error = {0};
    (void)state;
    make_folder("disk");
    scratch_write("disk/a.bin", "wrong", 5);
    assert_int_equal(symlink("disk", scratch_path("link")), 0);
    assert_int_equal(lab_published_take(&set, scratch_path("little.tar.gz"), scratch_path("link"), NULL, &error), 0);
    expect_whole("disk");
    struct stat facts;
    assert_int_equal(lstat(scratch_path("link"), &facts), 0);
    assert_true(S_ISLNK(facts.st_mode));

    const char *const path = "mine.tmp-0123456789abcdef/thesis.txt";
    assert_int_equal(mkdir(scratch_path("mine.tmp-0123456789abcdef"), 0777), 0);
    scratch_write(path, "kept", 4);
    assert_int_equal(lab_published_take(&set, scratch_path("little.tar.gz"), scratch_path("mine"), NULL, &error), 0);
    assert_true(exists(path));
    snprintf(victim, sizeof victim, "%s", scratch_path("disk"));
    assert_int_equal(symlink(victim, scratch_path("other.tmp-0123456789abcdef")), 0);
    assert_int_equal(lab_published_take(&set, scratch_path("little.tar.gz"), scratch_path("other"), NULL, &error), 0);
    expect_whole("disk");
}

/* Names that lead out of the folder do not; links and other files are passed over. */
static void archives_cannot_reach_out(void **state) {
    const tar_member members[] = {
        {"../../a.bin", content[0], sizes[0], NULL}, {"/etc/locus-escaped", content[0], sizes[0], NULL},
        {"../escaped", content[0], sizes[0], NULL},  {"b.bin", NULL, 0, "../escaped-link"},
        {"b.bin", content[1], sizes[1], NULL},       {"x/../../c.bin", content[2], sizes[2], NULL}};
    locus_error error = {0};
    (void)state;
    tar_write(scratch_path("evil.tar"), TAR_PLAIN, members, sizeof members / sizeof *members);
    size_t before = scratch_count();
    assert_int_equal(lab_published_take(&set, scratch_path("evil.tar"), scratch_path("tame"), NULL, &error), 0);
    expect_whole("tame");
    assert_int_equal(scratch_count(), before + 1);
    assert_false(exists("escaped"));
    assert_false(exists("../a.bin"));
}

/* ---- fetching ---- */

static void fetched(const char *url, const char *to) {
    char part[64];
    locus_error error = {0};
    const size_t descriptors = open_descriptors();
    if (lab_published_fetch(&set, url, scratch_path(to), NULL, &error) != LOCUS_OK)
        fail_msg("%s", error.message);
    assert_int_equal(open_descriptors(), descriptors);
    expect_whole(to);
    snprintf(part, sizeof part, "%s.part", to);
    assert_false(exists(part));
}

static void downloads_go_on(void **state) {
    static char bytes[2 * BIG];
    size_t count = slurp("little.tar.gz", bytes, sizeof bytes);
    (void)state;
    fetched(url_of("little.tar.gz"), "new/whole");
    fetched(url_of("mirror.tar.xz"), "mirror");
    /* Half of it, nearly all, all of it. */
    scratch_write("half.part", bytes, count / 2);
    fetched(url_of("little.tar.gz"), "half");
    scratch_write("nearly.part", bytes, count - 1);
    fetched(url_of("little.tar.gz"), "nearly");
    scratch_write("all.part", bytes, count);
    fetched(url_of("little.tar.gz"), "all");
    /* What does not fit: begun again. */
    scratch_write("other.part", content[1], count / 2);
    fetched(url_of("little.tar.gz"), "other");
    scratch_write("longer.part", content[1], count + 5);
    fetched(url_of("little.tar.gz"), "longer");
    scratch_write("mix.part", content[1], count / 2);
    fetched(url_of("mirror.tar.xz"), "mix");
}

static void what_is_wrong_does_not_stay(void **state) {
    locus_error error = {0};
    char sum[LAB_DIGEST_TEXT];
    (void)state;
    assert_int_equal(mkdir(scratch_path("wrong"), 0777), 0);
    scratch_write("wrong/little.tar.gz", content[1], 1000);
    sum_bytes(LAB_DIGEST_MD5, content[1], 1000, sum);
    size_t before = scratch_count();
    assert_int_equal(lab_published_fetch(&set, url_of("wrong/little.tar.gz"), scratch_path("no"), NULL, &error),
                     LOCUS_ERROR_IO);
    expect_message(&error, sum, archive_md5);
    scratch_write("wrong/other.tar", content[1], 1000);
    assert_int_equal(lab_published_fetch(&set, url_of("wrong/other.tar"), scratch_path("no"), NULL, &error),
                     LOCUS_ERROR_IO);
    expect_message(&error, "thrown away", "no tar archive");
    assert_int_equal(lab_published_fetch(&set, url_of("nothing"), scratch_path("no"), NULL, &error), LOCUS_ERROR_IO);
    expect_message(&error, "cannot download file://", "/nothing");
    assert_int_equal(lab_published_fetch(&set, "gopher://x/y", scratch_path("no"), NULL, &error), LOCUS_ERROR_IO);
    expect_message(&error, "cannot download gopher://x/y", "rotocol");
    scratch_write("wrong/file", "x", 1);
    assert_int_equal(lab_published_fetch(&set, url_of("little.tar.gz"), scratch_path("wrong/file"), NULL, &error),
                     LOCUS_ERROR_IO);
    expect_message(&error, "cannot write", "/wrong/file'");
    assert_false(exists("wrong/file.part"));
    assert_int_equal(scratch_count(), before);
}

/* ---- writing ---- */

/* Stands in the C library's place. Of the next writes into files one is interrupted, one takes nothing, and two take a
 * byte and three; then they may fail. */
static size_t parts;
static int failure;

ssize_t write(int descriptor, const void *bytes, size_t count) {
    static const int most[] = {3, 1, 0, -1};
    struct stat facts;
    if ((parts > 0 || failure != 0) && fstat(descriptor, &facts) == 0 && S_ISREG(facts.st_mode)) {
        const int taken = parts > 0 ? most[--parts % 4] : -1;
        errno = taken >= 0 ? 0 : parts > 0 || failure == 0 ? EINTR : failure;
        if (taken <= 0)
            return taken;
        count = count < (size_t)taken ? count : (size_t)taken;
    }
    const struct iovec part = {(void *)(uintptr_t)bytes, count};
    return writev(descriptor, &part, 1);
}

/* What is written in parts is whole; what cannot be written is told with its reason, and what came before it stays. */
static void downloads_are_written_in_parts(void **state) {
    (void)state;
    char bytes[1001], path[1024], wanted[1100];
    locus_error error = {0};
    snprintf(path, sizeof path, "%s", scratch_path("few copied"));
    scratch_write("few", content[2], sizes[2]);
    parts = 16;
    assert_int_equal(lab_download(url_of("few"), path, NULL, &error), LOCUS_OK);
    assert_int_equal(parts, 0);
    assert_int_equal(slurp("few copied", bytes, sizeof bytes), sizes[2]);
    assert_memory_equal(bytes, content[2], sizes[2]);
    assert_int_equal(unlink(path), 0);
    parts = 9;
    failure = ENOSPC;
    assert_int_equal(lab_download(url_of("few"), path, NULL, &error), LOCUS_ERROR_IO);
    failure = 0;
    snprintf(wanted, sizeof wanted, "cannot write '%s': No space left on device", path);
    assert_string_equal(error.message, wanted);
    assert_int_equal(slurp("few copied", bytes, sizeof bytes), 2 * (1 + 3) + 3);
    assert_memory_equal(bytes, content[2], 2 * (1 + 3) + 3);
}

/* ---- stopping ---- */

typedef struct patience {
    const char *phase; /* stop in this phase, when so much is done */
    uint64_t done;
    size_t told;
} patience;

static bool tell(void *context, const char *phase, uint64_t done, uint64_t total) {
    patience *left = context;
    left->told++;
    assert_true(total == 0 || done <= total);
    return strcmp(phase, left->phase) != 0 || done < left->done;
}

static void stopped_and_begun_again(void **state) {
    static const patience ends[] = {
        {"downloading", 1, 0}, {"checking", 1, 0}, {"unpacking", 1, 0}, {"unpacking", BIG, 0}};
    locus_error error = {0};
    (void)state;
    size_t before = scratch_count();
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        patience left = ends[i];
        const lab_watch watch = {tell, &left};
        assert_int_equal(lab_published_fetch(&set, url_of("little.tar.gz"), scratch_path("stopped"), &watch, &error),
                         LOCUS_ERROR_INTERRUPTED);
        assert_true(left.told > 0);
        assert_false(exists("stopped"));
        assert_int_equal(scratch_count(), before + exists("stopped.part"));
    }
    assert_true(exists("stopped.part"));
    fetched(url_of("little.tar.gz"), "stopped");
}

/* Two processes do not write to one file. */
static void downloads_are_locked(void **state) {
    int ready[2], done[2];
    char byte = 0;
    (void)state;
    assert_int_equal(pipe(ready) + pipe(done), 0);
    pid_t child = fork();
    if (child == 0) {
        struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        FILE *file = fopen(scratch_path("locked.part"), "wb");
        bool held = file != NULL && fcntl(fileno(file), F_SETLK, &whole) == 0;
        byte = held;
        bool told = write(ready[1], &byte, 1) == 1 && read(done[0], &byte, 1) == 1;
        child_exit(told ? 0 : 1);
    }
    locus_error error = {0};
    assert_int_equal(read(ready[0], &byte, 1), 1);
    if (byte) {
        assert_int_equal(lab_download(url_of("little.tar.gz"), scratch_path("locked.part"), NULL, &error),
                         LOCUS_ERROR_IO);
        expect_message(&error, "locked.part", "another process");
    }
    assert_int_equal(write(done[1], &byte, 1), 1);
    assert_int_equal(waitpid(child, NULL, 0), child);
    fetched(url_of("little.tar.gz"), "locked");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_sums),
        cmocka_unit_test(sums_of_files_and_numbers),
        cmocka_unit_test(what_differs_is_named),
        cmocka_unit_test(cut_archives),
        cmocka_unit_test(what_is_read_is_told),
        cmocka_unit_test(libraries_that_are_not_there),
        cmocka_unit_test(what_was_left_goes),
        cmocka_unit_test(where_a_set_is),
        cmocka_unit_test(sets_are_taken),
        cmocka_unit_test(failures_leave_nothing),
        cmocka_unit_test(what_another_process_fills_stays),
        cmocka_unit_test(links_and_folders_of_others),
        cmocka_unit_test(archives_cannot_reach_out),
        cmocka_unit_test(downloads_go_on),
        cmocka_unit_test(what_is_wrong_does_not_stay),
        cmocka_unit_test(downloads_are_written_in_parts),
        cmocka_unit_test(stopped_and_begun_again),
        cmocka_unit_test(downloads_are_locked),
    };
    return cmocka_run_group_tests(tests, make_set, scratch_remove);
}
