/* SPDX-License-Identifier: MIT */
/* The one place that starts gnuplot. Its complaints go to a log of which the line that says most is reported. */
#include "report/gnuplot.h"

#include "io/fail.h"
#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

void lab_gnuplot_text(FILE *script, const char *text) {
    fputc('"', script);
    for (const char *c = text; *c; c++) {
        if (*c == '"' || *c == '\\') {
            fputc('\\', script);
        }
        fputs(*c == '\n' ? "\\n" : "", script);
        if (*c != '\n') {
            fputc((unsigned char)*c < 0x20 ? ' ' : *c, script);
        }
    }
    fputc('"', script);
}

locus_status lab_gnuplot_open(lab_gnuplot *plot, locus_error *error) {
    *plot = (lab_gnuplot){0};
    const char *base = getenv("TMPDIR");
    if (!base || !base[0] || strlen(base) > 400 || strchr(base, '\'')) {
        base = "/tmp";
    }
    snprintf(plot->folder, sizeof plot->folder, "%s/locus-plot-XXXXXX", base);
    if (!mkdtemp(plot->folder)) {
        plot->folder[0] = '\0';
        return lab_fail_system(error, "make a folder in", base, errno);
    }
    snprintf(plot->script, sizeof plot->script, "%s/script", plot->folder);
    snprintf(plot->picture, sizeof plot->picture, "%s/" LAB_GNUPLOT_PICTURE, plot->folder);
    snprintf(plot->log, sizeof plot->log, "%s/log", plot->folder);
    plot->stream = fopen(plot->script, "w");
    return plot->stream ? LOCUS_OK : lab_fail_system(error, "write", plot->script, errno);
}

/* What gnuplot complained of: the line of its log that says most, "…: undefined variable". */
static locus_status complaint(const char *log, int state, locus_error *error) {
    char *text = NULL, line[200] = "";
    size_t bytes = 0;
    if (lab_file_read(log, &text, &bytes, NULL) == LOCUS_OK) {
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

/* Starts gnuplot on the script and waits for it. */
static locus_status run_script(const lab_gnuplot *plot, locus_error *error) {
    posix_spawn_file_actions_t actions;
    char *const arguments[] = {(char *)"gnuplot", (char *)"-e", NULL, NULL};
    char load[1024], *words[4];
    memcpy(words, arguments, sizeof words);
    snprintf(load, sizeof load, "cd '%s'; load 'script'", plot->folder);
    words[2] = load;
    if (posix_spawn_file_actions_init(&actions) != 0) {
        return lab_fail_memory(error, "starting gnuplot");
    }
    int code = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    code = code ? code : posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, plot->log, O_WRONLY | O_CREAT, 0600);
    pid_t child = 0;
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

locus_status lab_gnuplot_run(lab_gnuplot *plot, locus_error *error) {
    bool good = !ferror(plot->stream);
    good = fclose(plot->stream) == 0 && good;
    plot->stream = NULL;
    return good ? run_script(plot, error) : lab_fail_system(error, "write", plot->script, errno);
}

void lab_gnuplot_close(lab_gnuplot *plot) {
    if (plot->stream) {
        fclose(plot->stream);
    }
    if (plot->folder[0]) {
        unlink(plot->script);
        unlink(plot->picture);
        unlink(plot->log);
        rmdir(plot->folder);
    }
    *plot = (lab_gnuplot){0};
}
