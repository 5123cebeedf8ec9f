/* SPDX-License-Identifier: MIT */
/* Child processes and their temporary folders. */
#include "text/child.h"

#include "io/fail.h"
#include "io/file.h"
#include "io/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define LOG "log"
#define START "locus-text"

typedef struct file_name {
    char text[800];
} file_name;

static file_name name_in(const lab_child_folder *folder, const char *name) {
    file_name path;
    snprintf(path.text, sizeof path.text, "%s/%s", folder->path, name);
    return path;
}

/* SentencePiece takes a comma in a name as the end of it. */
locus_status lab_child_open(lab_child_folder *folder, locus_error *error) {
    const char *base = getenv("TMPDIR");
    char start[sizeof folder->path], *name = NULL;
    if (base == NULL || base[0] == '\0' || strlen(base) > 400 || strchr(base, ',') != NULL)
        base = "/tmp";
    lab_temporary_sweep(base, START, NULL);
    snprintf(start, sizeof start, "%.400s/" START, base);
    folder->held = lab_temporary_private_folder(start, &name);
    if (folder->held < 0) {
        const int code = errno;
        folder->path[0] = '\0';
        return lab_fail_system(error, "make a folder in", base, code);
    }
    snprintf(folder->path, sizeof folder->path, "%s", name);
    free(name);
    return LOCUS_OK;
}

void lab_child_close(lab_child_folder *folder) {
    if (folder->path[0] != '\0') {
        lab_temporary_remove(folder->path, NULL);
        close(folder->held);
    }
    folder->path[0] = '\0';
}

locus_status lab_child_write(const lab_child_folder *folder, const char *name, const char *data, size_t bytes,
                             locus_error *error) {
    const file_name path = name_in(folder, name);
    FILE *stream = fopen(path.text, "wb");
    if (stream == NULL)
        return lab_fail_system(error, "write", path.text, errno);
    errno = 0;
    bool good = fwrite(data, 1, bytes, stream) == bytes;
    int code = errno;
    if (fclose(stream) != 0 && good) {
        good = false;
        code = errno;
    }
    return good ? LOCUS_OK : lab_fail_system(error, "write", path.text, code != 0 ? code : EIO);
}

locus_status lab_child_read(const lab_child_folder *folder, const char *name, char **data, size_t *bytes,
                            locus_error *error) {
    return lab_file_read(name_in(folder, name).text, data, bytes, error);
}

/* ---- running ---- */

/* The line of the log that says most: the last one that is not about the end, without what stands before its last "] ",
 * the place in the program. */
static locus_status complain(const lab_child_folder *folder, const char *program, int state, locus_error *error) {
    char *text = NULL, line[700] = "", how[40];
    size_t bytes = 0;
    if (lab_child_read(folder, LOG, &text, &bytes, NULL) == LOCUS_OK) {
        for (const char *at = text; *at != '\0'; at += strcspn(at, "\n"), at += *at == '\n') {
            const size_t length = strcspn(at, "\n");
            if (strspn(at, " \t") < length && strncmp(at, "Program terminated", 18) != 0)
                snprintf(line, sizeof line, "%.*s", (int)(length < sizeof line ? length : sizeof line), at);
        }
    }
    free(text);
    const char *says = line;
    for (const char *next; (next = strstr(says, "] ")) != NULL && next[2] != '\0';)
        says = next + 2;
    if (WIFSIGNALED(state))
        snprintf(how, sizeof how, "was ended by signal %d", WTERMSIG(state));
    else
        snprintf(how, sizeof how, "failed");
    return lab_fail(error, LOCUS_ERROR_IO, program, "%s %s%s%s", program, how, says[0] != '\0' ? ": " : "", says);
}

/* Signals that this program keeps for later end the child at once. */
static int start_with(const lab_child_folder *folder, const char *const *words, posix_spawn_file_actions_t *actions,
                      posix_spawnattr_t *attributes, pid_t *child) {
    const file_name log = name_in(folder, LOG);
    char *const *arguments;
    sigset_t none;
    int code = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    code = code
               ? code
               : posix_spawn_file_actions_addopen(actions, STDOUT_FILENO, log.text, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    code = code ? code : posix_spawn_file_actions_adddup2(actions, STDOUT_FILENO, STDERR_FILENO);
    sigemptyset(&none);
    code = code ? code : posix_spawnattr_setsigmask(attributes, &none);
    code = code ? code : posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK);
    memcpy(&arguments, &words, sizeof arguments); /* posix_spawn's type lacks the const that it keeps */
    return code ? code : posix_spawnp(child, words[0], actions, attributes, arguments, environ);
}

static int start(const lab_child_folder *folder, const char *const *words, pid_t *child) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int code = posix_spawn_file_actions_init(&actions);
    if (code != 0)
        return code;
    code = posix_spawnattr_init(&attributes);
    if (code == 0) {
        code = start_with(folder, words, &actions, &attributes, child);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return code;
}

locus_status lab_child_run(const lab_child_folder *folder, const char *const *words, const char *package,
                           locus_error *error) {
    pid_t child = 0;
    int state = 0;
    const int code = start(folder, words, &child);
    if (code == 0) {
        while (waitpid(child, &state, 0) < 0 && errno == EINTR) {
        }
    }
    if (code == ENOENT || (code == 0 && WIFEXITED(state) && WEXITSTATUS(state) == 127)) {
        return lab_fail(error, LOCUS_ERROR_UNSUPPORTED, words[0], "%s is not on the PATH: install it (Debian: %s)",
                        words[0], package);
    }
    if (code != 0)
        return lab_fail_system(error, "start", words[0], code);
    if (WIFSIGNALED(state) && (WTERMSIG(state) == SIGINT || WTERMSIG(state) == SIGTERM))
        return lab_fail(error, LOCUS_ERROR_INTERRUPTED, words[0], "%s was stopped", words[0]);
    return WIFEXITED(state) && WEXITSTATUS(state) == 0 ? LOCUS_OK : complain(folder, words[0], state, error);
}
