/* SPDX-License-Identifier: MIT */
/* The one place that starts gnuplot. Of its complaints the line that says most is reported. */
#include "report/gnuplot.h"

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

static void put_text(FILE *script, const char *text, bool tick) {
    bool after = false;
    const char *end = text + strlen(text);
    fputc('"', script);
    while (text < end) {
        bool shown;
        const size_t length = lab_printable_at(text, (size_t)(end - text), &shown);
        for (size_t i = 0; (shown || *text == '\n') && i < length; i++) {
            after = put_character(script, text[i], after);
        }
        after = shown || *text == '\n' ? after : put_character(script, '?', after);
        fputs(tick && *text == '%' ? "%" : "", script);
        text += length;
    }
    fputc('"', script);
}

void lab_gnuplot_text(FILE *script, const char *text) {
    put_text(script, text, false);
}

void lab_gnuplot_tick(FILE *script, const char *text) {
    put_text(script, text, true);
}

/* ---- files ---- */

/* A file for reading and writing that has no name any more. */
static FILE *open_nameless(locus_error *error) {
    const char *base = getenv("TMPDIR");
    char path[512];
    if (!base || !base[0] || strlen(base) > 400) {
        base = "/tmp";
    }
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
        if (descriptor >= 0) {
            close(descriptor);
        }
        (void)lab_fail_system(error, "make a file in", base, code);
    }
    return file;
}

locus_status lab_gnuplot_open(lab_gnuplot *plot, locus_error *error) {
    locus_error local = {0};
    *plot = (lab_gnuplot){0};
    plot->script = open_nameless(&local);
    plot->picture = plot->script ? open_nameless(&local) : NULL;
    plot->log = plot->picture ? open_nameless(&local) : NULL;
    if (!plot->log && error) {
        *error = local;
    }
    return plot->log ? LOCUS_OK : local.status;
}

/* What a child wrote, NUL appended. */
static locus_status read_whole(FILE *file, char **text, size_t *bytes, locus_error *error) {
    const bool found = fseek(file, 0, SEEK_END) == 0;
    const long size = found ? ftell(file) : -1;
    *text = size >= 0 ? malloc((size_t)size + 1) : NULL;
    if (size >= 0 && !*text) {
        return lab_fail_memory(error, "a picture");
    }
    rewind(file);
    *bytes = *text ? fread(*text, 1, (size_t)size, file) : 0;
    if (!*text || *bytes != (size_t)size) {
        const int code = errno;
        free(*text);
        *text = NULL;
        return lab_fail_system(error, "read", "a picture of gnuplot", code);
    }
    (*text)[*bytes] = '\0';
    return LOCUS_OK;
}

/* ---- running ---- */

/* What gnuplot complained of: the line of its log that says most, "…: undefined variable". */
static locus_status complaint(FILE *log, int state, locus_error *error) {
    char *text = NULL, line[200] = "";
    size_t bytes = 0;
    if (read_whole(log, &text, &bytes, NULL) == LOCUS_OK) {
        for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n') {
            if (strcspn(at, "\n") > 3 && strspn(at, " \t^") < strcspn(at, "\n")) {
                snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
            }
        }
    }
    free(text);
    return lab_fail(error, LOCUS_ERROR_IO, "gnuplot", "gnuplot failed (status %d)%s%s", state, line[0] ? ": " : "",
                    line);
}

static int connect_to(posix_spawn_file_actions_t *actions, const lab_gnuplot *plot) {
    const int from[] = {fileno(plot->script), fileno(plot->picture), fileno(plot->log)};
    int code = 0;
    for (int to = STDIN_FILENO; code == 0 && to <= STDERR_FILENO; to++) {
        code = posix_spawn_file_actions_adddup2(actions, from[to], to);
    }
    return code;
}

/* Starts gnuplot on the script, with no settings but its own, and waits for it. */
static locus_status run_script(const lab_gnuplot *plot, locus_error *error) {
    posix_spawn_file_actions_t actions;
    char *words[] = {(char *)"gnuplot", (char *)"--default-settings", NULL};
    if (posix_spawn_file_actions_init(&actions) != 0) {
        return lab_fail_memory(error, "starting gnuplot");
    }
    pid_t child = 0;
    int code = connect_to(&actions, plot);
    code = code ? code : posix_spawnp(&child, "gnuplot", &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    int state = 0;
    if (code == 0) {
        while (waitpid(child, &state, 0) < 0 && errno == EINTR) {
        }
    }
    if (code == ENOENT || (WIFEXITED(state) && WEXITSTATUS(state) == 127)) {
        return lab_fail(error, LOCUS_ERROR_UNSUPPORTED, "gnuplot",
                        "gnuplot is not on the PATH, and plots need it: install it (Debian: gnuplot-nox)");
    }
    if (code != 0) {
        return lab_fail_system(error, "start", "gnuplot", code);
    }
    return WIFEXITED(state) && WEXITSTATUS(state) == 0 ? LOCUS_OK : complaint(plot->log, state, error);
}

locus_status lab_gnuplot_run(lab_gnuplot *plot, char **picture, size_t *bytes, locus_error *error) {
    *picture = NULL;
    *bytes = 0;
    if (fflush(plot->script) != 0 || ferror(plot->script) || lseek(fileno(plot->script), 0, SEEK_SET) != 0) {
        return lab_fail_system(error, "write", "a script of gnuplot", errno);
    }
    locus_status status = run_script(plot, error);
    return status == LOCUS_OK ? read_whole(plot->picture, picture, bytes, error) : status;
}

void lab_gnuplot_close(lab_gnuplot *plot) {
    FILE *const files[] = {plot->script, plot->picture, plot->log};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (files[i]) {
            fclose(files[i]);
        }
    }
    *plot = (lab_gnuplot){0};
}
