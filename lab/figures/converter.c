/* SPDX-License-Identifier: MIT */
/* The one place that starts rsvg-convert. Of its complaints the line that says most is reported. */
#define _GNU_SOURCE 1 /* O_TMPFILE */
#include "figures/converter.h"

#include "io/fail.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* ---- files ---- */

typedef struct conversion {
    FILE *svg; /* what it reads */
    FILE *log; /* what it complains of */
} conversion;

/* A file for reading and writing without a name: the system's own kind of these, which no killed process leaves behind,
 * or where there is none, one whose name is taken away at once. −1 with errno. */
static int make_nameless(const char *folder) {
    char path[512];
#ifdef O_TMPFILE
    const int made = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (made >= 0)
        return made;
#endif
    snprintf(path, sizeof path, "%s/locus-plot-XXXXXX", folder);
    const int named = mkstemp(path);
    if (named >= 0)
        unlink(path);
    return named;
}

static locus_status open_nameless(FILE **file, locus_error *error) {
    const char *base = getenv("TMPDIR");
    if (!base || !base[0] || strlen(base) > 400)
        base = "/tmp";
    const int first = make_nameless(base);
    if (first < 0)
        return lab_fail_system(error, "make a file in", base, errno);
    /* Above the standard ones, which it is to replace in the child, even if these are closed here. */
    const int descriptor = fcntl(first, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    *file = descriptor >= 0 ? fdopen(descriptor, "w+") : NULL;
    const int code = errno;
    close(first);
    if (!*file && descriptor >= 0)
        close(descriptor);
    return *file ? LOCUS_OK : lab_fail_system(error, "make a file in", base, code);
}

static locus_status open_files(conversion *own, const char *svg, size_t bytes, locus_error *error) {
    locus_status status = open_nameless(&own->svg, error);
    if (status == LOCUS_OK)
        status = open_nameless(&own->log, error);
    if (status != LOCUS_OK)
        return status;
    const bool written =
        fwrite(svg, 1, bytes, own->svg) == bytes && fflush(own->svg) == 0 && lseek(fileno(own->svg), 0, SEEK_SET) == 0;
    return written ? LOCUS_OK : lab_fail_system(error, "write", "a picture for rsvg-convert", errno);
}

static void close_files(conversion *own) {
    if (own->svg)
        fclose(own->svg);
    if (own->log)
        fclose(own->log);
}

/* ---- what it writes ---- */

/* Reads up to the end, NUL appended. *text is for free() after an error too. */
static locus_status read_whole(int file, char **text, size_t *bytes, locus_error *error) {
    size_t room = 0;
    for (ssize_t got = 1; got != 0; *bytes += got > 0 ? (size_t)got : 0) {
        if (*bytes + 1 >= room) {
            room = 2 * room + 65536;
            char *more = realloc(*text, room);
            if (!more)
                return lab_fail_memory(error, "a picture");
            *text = more;
        }
        got = read(file, *text + *bytes, room - *bytes - 1);
        if (got < 0 && errno != EINTR)
            return lab_fail_system(error, "read", "a picture of rsvg-convert", errno);
    }
    (*text)[*bytes] = '\0';
    return LOCUS_OK;
}

static bool ends_with(const char *text, size_t bytes, const char *end, size_t end_bytes) {
    return bytes >= end_bytes && memcmp(text + bytes - end_bytes, end, end_bytes) == 0;
}

/* A picture without its end is a broken picture. */
static bool is_whole(const char *picture, size_t bytes) {
    static const char png[] = "IEND\xAE\x42\x60\x82", pdf[] = "%%EOF";
    while (bytes > 0 && isspace((unsigned char)picture[bytes - 1]))
        bytes--;
    return ends_with(picture, bytes, png, sizeof png - 1) || ends_with(picture, bytes, pdf, sizeof pdf - 1);
}

/* ---- running ---- */

/* What it complained of: the last line of its log that is not empty. */
static locus_status complaint(const char *log, int state, locus_error *error) {
    char line[200] = "";
    // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): what was read whole is a text, if an empty one
    for (const char *at = log; *at; at += strcspn(at, "\n"), at += *at == '\n') {
        const size_t length = strcspn(at, "\n");
        if (strspn(at, " \t") < length)
            snprintf(line, sizeof line, "%.*s", (int)length, at);
    }
    return lab_fail(error, LOCUS_ERROR_IO, "rsvg-convert", "rsvg-convert %s (status %d)%s%s",
                    state ? "failed" : "did not draw its picture to the end", state, line[0] ? ": " : "", line);
}

static locus_status judge(const conversion *own, int state, bool whole, locus_error *error) {
    char *log = NULL;
    size_t bytes = 0;
    if (state == 0 && whole)
        return LOCUS_OK;
    locus_status status = lseek(fileno(own->log), 0, SEEK_SET) == 0
                              ? read_whole(fileno(own->log), &log, &bytes, error)
                              : lab_fail_system(error, "read", "the messages of rsvg-convert", errno);
    if (status == LOCUS_OK)
        status = complaint(log, state, error);
    free(log);
    return status;
}

static int connect_to(posix_spawn_file_actions_t *actions, const conversion *own, int picture) {
    const int from[] = {fileno(own->svg), picture, fileno(own->log)};
    int code = 0;
    for (int to = STDIN_FILENO; code == 0 && to <= STDERR_FILENO; to++)
        code = posix_spawn_file_actions_adddup2(actions, from[to], to);
    return code;
}

static locus_status start(const conversion *own, lab_converted form, int picture, pid_t *child, locus_error *error) {
    posix_spawn_file_actions_t actions;
    char *const png[] = {(char *)"rsvg-convert", (char *)"--format=png", (char *)"--zoom=2", NULL};
    char *const pdf[] = {(char *)"rsvg-convert", (char *)"--format=pdf", NULL};
    if (posix_spawn_file_actions_init(&actions) != 0)
        return lab_fail_memory(error, "starting rsvg-convert");
    int code = connect_to(&actions, own, picture);
    code = code ? code
                : posix_spawnp(child, "rsvg-convert", &actions, NULL, form == LAB_CONVERTED_PNG ? png : pdf, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (code == ENOENT) {
        return lab_fail(error, LOCUS_ERROR_UNSUPPORTED, "rsvg-convert",
                        "rsvg-convert is not on the PATH, and PNG and PDF need it: install it (Debian: "
                        "librsvg2-bin), or write an .svg");
    }
    return code ? lab_fail_system(error, "start", "rsvg-convert", code) : LOCUS_OK;
}

/* A pipe whose ends are above the standard ones, even if these are closed here, and are not inherited. */
static locus_status open_pipe(int ends[2], locus_error *error) {
    int first[2];
    if (pipe(first) != 0)
        return lab_fail_system(error, "make", "a pipe for rsvg-convert", errno);
    int code = 0;
    for (int i = 0; i < 2; i++) {
        ends[i] = fcntl(first[i], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        code = ends[i] < 0 ? errno : code;
    }
    for (int i = 0; i < 2; i++) {
        close(first[i]);
        if (code != 0 && ends[i] >= 0)
            close(ends[i]);
    }
    return code ? lab_fail_system(error, "make", "a pipe for rsvg-convert", code) : LOCUS_OK;
}

/* Reads the picture while it is drawn: what can't be read ends the converter, whose pipe is closed. */
static locus_status run(const conversion *own, lab_converted form, char **picture, size_t *bytes, locus_error *error) {
    int ends[2] = {-1, -1}, state = 0;
    pid_t child = 0;
    locus_status status = open_pipe(ends, error);
    if (status != LOCUS_OK)
        return status;
    status = start(own, form, ends[1], &child, error);
    close(ends[1]);
    const bool started = status == LOCUS_OK;
    if (started)
        status = read_whole(ends[0], picture, bytes, error);
    close(ends[0]);
    while (started && waitpid(child, &state, 0) < 0 && errno == EINTR) {
    }
    return status == LOCUS_OK ? judge(own, state, is_whole(*picture, *bytes), error) : status;
}

locus_status lab_convert(const char *svg, size_t svg_bytes, lab_converted form, char **picture, size_t *bytes,
                         locus_error *error) {
    conversion own = {0};
    *picture = NULL;
    *bytes = 0;
    locus_status status = open_files(&own, svg, svg_bytes, error);
    if (status == LOCUS_OK)
        status = run(&own, form, picture, bytes, error);
    close_files(&own);
    if (status != LOCUS_OK) {
        free(*picture);
        *picture = NULL;
    }
    return status;
}
