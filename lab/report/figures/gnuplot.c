/* SPDX-License-Identifier: MIT */
/* The one place that starts gnuplot. Of its complaints the line that says most is reported. */
#include "report/figures/gnuplot.h"

#include "io/fail.h"
#include "io/printable.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* ---- texts ---- */

/* Writes a character; `after`: an escape stands before it. Versions differ in how many digits an escape may have, so
 * that none may follow one. */
static bool put_character(FILE *script, char c, bool after) {
    static const char plain[] = " .,:;()=/+-*_%";
    const unsigned char byte = (unsigned char)c;
    if (c == '\n') {
        fputs("\\n", script);
    } else if (byte >= 0x80 || strchr(plain, c) != NULL || (isalnum(byte) && !(after && isdigit(byte)))) {
        fputc(c, script);
    } else {
        fprintf(script, "\\%03o", byte);
        return true;
    }
    return false;
}

void lab_gnuplot_text(FILE *script, const char *text) {
    bool after = false;
    const char *end = text + strlen(text);
    fputc('"', script);
    while (text < end) {
        bool shown;
        const size_t length = lab_printable_at(text, (size_t)(end - text), &shown);
        for (size_t i = 0; (shown || *text == '\n') && i < length; i++)
            after = put_character(script, text[i], after);
        after = shown || *text == '\n' ? after : put_character(script, '?', after);
        text += length;
    }
    fputc('"', script);
}

/* ---- data ---- */

void lab_gnuplot_begin_data(FILE *script, const char *name) {
    fprintf(script, "$%s << EOD\n", name);
}

void lab_gnuplot_end_data(FILE *script, const char *name, size_t lines) {
    fprintf(script, "EOD\nif (|$%s| != %zu) { print 'it read a part of its data'; exit status 1 }\n", name, lines);
}

/* ---- files ---- */

/* A file for reading and writing that has no name any more. */
static FILE *open_nameless(locus_error *error) {
    const char *base = getenv("TMPDIR");
    char path[512];
    if (!base || !base[0] || strlen(base) > 400)
        base = "/tmp";
    snprintf(path, sizeof path, "%s/locus-plot-XXXXXX", base);
    const int first = mkstemp(path);
    if (first < 0) {
        (void)lab_fail_system(error, "make a file in", base, errno);
        return NULL;
    }
    unlink(path);
    /* Above the standard ones, which it is to replace in the child, even if these are closed here. */
    const int descriptor = fcntl(first, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    FILE *file = descriptor >= 0 ? fdopen(descriptor, "w+") : NULL;
    const int code = errno;
    close(first);
    if (!file) {
        if (descriptor >= 0)
            close(descriptor);
        (void)lab_fail_system(error, "make a file in", base, code);
    }
    return file;
}

locus_status lab_gnuplot_open(lab_gnuplot *plot, locus_error *error) {
    locus_error local = {0};
    *plot = (lab_gnuplot){0};
    plot->script = open_nameless(&local);
    plot->log = plot->script ? open_nameless(&local) : NULL;
    if (!plot->log && error)
        *error = local;
    return plot->log ? LOCUS_OK : local.status;
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
            return lab_fail_system(error, "read", "a picture of gnuplot", errno);
    }
    (*text)[*bytes] = '\0';
    return LOCUS_OK;
}

/* The script's last line makes gnuplot print this on standard error: it has read the script to its end. */
#define END_MARK "locus: end of script"

static bool ends_with(const char *text, size_t bytes, const char *end, size_t end_bytes) {
    return bytes >= end_bytes && memcmp(text + bytes - end_bytes, end, end_bytes) == 0;
}

/* A picture without its end is a broken picture, though gnuplot may end well. */
static bool is_whole(const char *picture, size_t bytes) {
    static const char svg[] = "</svg>", png[] = "IEND\xAE\x42\x60\x82";
    while (bytes > 0 && isspace((unsigned char)picture[bytes - 1]))
        bytes--;
    return ends_with(picture, bytes, svg, sizeof svg - 1) || ends_with(picture, bytes, png, sizeof png - 1);
}

/* ---- running ---- */

/* What gnuplot complained of: the line of its log that says most, "…: undefined variable". */
static locus_status complaint(const char *log, int state, locus_error *error) {
    char line[200] = "";
    for (const char *at = log; *at; at += strcspn(at, "\n"), at += *at == '\n') {
        const size_t length = strcspn(at, "\n");
        if (length > 3 && strspn(at, " \t^") < length && strncmp(at, END_MARK, length) != 0)
            snprintf(line, sizeof line, "%.*s", (int)length, at);
    }
    return lab_fail(error, LOCUS_ERROR_IO, "gnuplot", "gnuplot %s (status %d)%s%s",
                    state ? "failed" : "did not draw its picture to the end", state, line[0] ? ": " : "", line);
}

static locus_status judge(const lab_gnuplot *plot, int state, bool whole, locus_error *error) {
    char *log = NULL;
    size_t bytes = 0;
    locus_status status = lseek(fileno(plot->log), 0, SEEK_SET) == 0
                              ? read_whole(fileno(plot->log), &log, &bytes, error)
                              : lab_fail_system(error, "read", "the messages of gnuplot", errno);
    if (status == LOCUS_OK && (state != 0 || !whole || !strstr(log, END_MARK)))
        status = complaint(log, state, error);
    free(log);
    return status;
}

static int connect_to(posix_spawn_file_actions_t *actions, const lab_gnuplot *plot, int picture) {
    const int from[] = {fileno(plot->script), picture, fileno(plot->log)};
    int code = 0;
    for (int to = STDIN_FILENO; code == 0 && to <= STDERR_FILENO; to++)
        code = posix_spawn_file_actions_adddup2(actions, from[to], to);
    return code;
}

/* Starts gnuplot on the script, with no settings but its own. */
static locus_status start(const lab_gnuplot *plot, int picture, pid_t *child, locus_error *error) {
    posix_spawn_file_actions_t actions;
    char *words[] = {(char *)"gnuplot", (char *)"--default-settings", NULL};
    if (posix_spawn_file_actions_init(&actions) != 0)
        return lab_fail_memory(error, "starting gnuplot");
    int code = connect_to(&actions, plot, picture);
    code = code ? code : posix_spawnp(child, "gnuplot", &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (code == ENOENT) {
        return lab_fail(error, LOCUS_ERROR_UNSUPPORTED, "gnuplot",
                        "gnuplot is not on the PATH, and plots need it: install it (Debian: gnuplot-nox)");
    }
    return code ? lab_fail_system(error, "start", "gnuplot", code) : LOCUS_OK;
}

/* A pipe whose ends are above the standard ones, even if these are closed here, and are not inherited. */
static locus_status open_pipe(int ends[2], locus_error *error) {
    int first[2];
    if (pipe(first) != 0)
        return lab_fail_system(error, "make", "a pipe for gnuplot", errno);
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
    return code ? lab_fail_system(error, "make", "a pipe for gnuplot", code) : LOCUS_OK;
}

/* Runs the script and reads the picture while it is drawn: what can't be read ends gnuplot, whose pipe is closed. */
static locus_status run_script(const lab_gnuplot *plot, char **picture, size_t *bytes, locus_error *error) {
    int ends[2] = {-1, -1}, state = 0;
    pid_t child = 0;
    locus_status status = open_pipe(ends, error);
    if (status != LOCUS_OK)
        return status;
    status = start(plot, ends[1], &child, error);
    close(ends[1]);
    const bool started = status == LOCUS_OK;
    if (started)
        status = read_whole(ends[0], picture, bytes, error);
    close(ends[0]);
    while (started && waitpid(child, &state, 0) < 0 && errno == EINTR) {
    }
    return status == LOCUS_OK ? judge(plot, state, is_whole(*picture, *bytes), error) : status;
}

locus_status lab_gnuplot_run(lab_gnuplot *plot, char **picture, size_t *bytes, locus_error *error) {
    *picture = NULL;
    *bytes = 0;
    fputs("\nprint '" END_MARK "'\n", plot->script);
    if (fflush(plot->script) != 0 || ferror(plot->script) || lseek(fileno(plot->script), 0, SEEK_SET) != 0)
        return lab_fail_system(error, "write", "a script of gnuplot", errno);
    locus_status status = run_script(plot, picture, bytes, error);
    if (status != LOCUS_OK) {
        free(*picture);
        *picture = NULL;
    }
    return status;
}

void lab_gnuplot_close(lab_gnuplot *plot) {
    FILE *const files[] = {plot->script, plot->log};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (files[i])
            fclose(files[i]);
    *plot = (lab_gnuplot){0};
}
