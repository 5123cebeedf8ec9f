/* SPDX-License-Identifier: MIT */
/* Between a file's making and its locking somebody who cleans may take it for left over: who writes looks whether the
 * file still has a name, and makes another one if not. */
#include "io/temporary.h"

#include "io/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MARK ".tmp-"
enum { DIGITS = 16, MOST_NAME = 200, ATTEMPTS = 100 };

/* Where the system has no random bits to give, the clock and the process's number have to do; the file is made only if
 * there is none of its name. */
static uint64_t random_bits(void) {
    uint64_t bits;
    struct timespec now;
    if (getentropy(&bits, sizeof bits) == 0)
        return bits;
    clock_gettime(CLOCK_REALTIME, &now);
    return ((uint64_t)now.tv_sec * 1000000007U + (uint64_t)now.tv_nsec) * UINT64_C(0x9E3779B97F4A7C15) ^
           (uint64_t)getpid() << 40;
}

static const char *name_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* Locks a file that was just made. False: it was taken for left over, or removed. */
static bool hold(int descriptor) {
    struct stat facts;
    if (flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return false;
    return fstat(descriptor, &facts) != 0 || facts.st_nlink > 0;
}

static int create_once(const char *path, mode_t mode, char *temporary, size_t size) {
    const char *name = name_of(path);
    snprintf(temporary, size, "%.*s.%.*s" MARK "%016" PRIx64, (int)(name - path), path, MOST_NAME, name, random_bits());
    const int descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (descriptor >= 0 && !hold(descriptor)) {
        unlink(temporary);
        close(descriptor);
        errno = EEXIST;
        return -1;
    }
    return descriptor;
}

static int open_folder(int parent, const char *name) {
    int descriptor;
    do {
        descriptor = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    } while (descriptor < 0 && errno == EINTR);
    return descriptor;
}

/* What one attempt makes: a file that is to become `from`, or a folder whose name begins with it. */
typedef int attempt_function(const char *from, mode_t mode, char *temporary, size_t size);

static int folder_once(const char *start, mode_t mode, char *temporary, size_t size) {
    snprintf(temporary, size, "%s" MARK "%016" PRIx64, start, random_bits());
    if (mkdir(temporary, mode) != 0)
        return -1;
    const int descriptor = open_folder(AT_FDCWD, temporary);
    if (descriptor < 0) {
        const int code = errno;
        rmdir(temporary);
        errno = code;
    } else if (!hold(descriptor)) {
        close(descriptor);
        errno = EEXIST;
        return -1;
    }
    return descriptor;
}

static int try_until_made(attempt_function *attempt, const char *from, mode_t mode, char **name) {
    const size_t size = strlen(from) + sizeof MARK + DIGITS + 2;
    int descriptor = -1, left = ATTEMPTS;
    *name = malloc(size);
    if (*name == NULL) {
        errno = ENOMEM;
        return -1;
    }
    do {
        descriptor = attempt(from, mode, *name, size);
    } while (descriptor < 0 && errno == EEXIST && --left > 0);
    if (descriptor < 0) {
        const int code = errno;
        free(*name);
        *name = NULL;
        errno = code;
    }
    return descriptor;
}

int lab_temporary_folder(const char *start, char **name) {
    return try_until_made(folder_once, start, 0777, name);
}

int lab_temporary_private_folder(const char *start, char **name) {
    return try_until_made(folder_once, start, 0700, name);
}

int lab_temporary_create(const char *path, char **name) {
    return try_until_made(create_once, path, 0666, name);
}

/* ".tmp-" and a number as made here, and nothing else. */
static bool is_marked(const char *end) {
    if (strncmp(end, MARK, sizeof MARK - 1) != 0)
        return false;
    const char *digits = end + sizeof MARK - 1;
    return strlen(digits) == DIGITS && strspn(digits, "0123456789abcdef") == DIGITS;
}

static bool is_idle(int descriptor) {
    return flock(descriptor, LOCK_EX | LOCK_NB) == 0;
}

/* Whether an entry is a temporary of `name`, whoever made it. */
static bool is_temporary(const char *entry, const char *name) {
    size_t length = strlen(name);
    length = length < MOST_NAME ? length : MOST_NAME;
    return entry[0] == '.' && strncmp(entry + 1, name, length) == 0 && is_marked(entry + 1 + length);
}

/* Unless somebody writes it; links are not followed. */
static void remove_idle(int folder, const char *entry) {
    const int descriptor = openat(folder, entry, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (descriptor >= 0) {
        if (is_idle(descriptor))
            unlinkat(folder, entry, 0);
        close(descriptor);
    }
}

void lab_temporary_clean(const char *path) {
    char *folder = lab_folder_of(path);
    DIR *entries = folder != NULL ? opendir(folder) : NULL;
    for (struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;)
        if (is_temporary(entry->d_name, name_of(path)))
            remove_idle(dirfd(entries), entry->d_name);
    if (entries != NULL)
        closedir(entries);
    free(folder);
}

/* ---- folders that were left ---- */

static bool is_content(const lab_temporary_content *content, const char *entry) {
    const char *name = NULL;
    for (size_t i = 0; content != NULL && (name = content->name(content->of, i)) != NULL; i++)
        if (strcmp(entry, name) == 0 || is_temporary(entry, name))
            return true;
    return content == NULL && strcmp(entry, ".") != 0 && strcmp(entry, "..") != 0;
}

static void remove_folder(int parent, const char *name, const lab_temporary_content *content) {
    const int descriptor = open_folder(parent, name);
    DIR *entries = descriptor >= 0 ? fdopendir(descriptor) : NULL;
    for (const struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;)
        if (is_content(content, entry->d_name))
            unlinkat(descriptor, entry->d_name, 0);
    if (entries != NULL)
        closedir(entries);
    else if (descriptor >= 0)
        close(descriptor);
    unlinkat(parent, name, AT_REMOVEDIR);
}

void lab_temporary_remove(const char *folder, const lab_temporary_content *content) {
    remove_folder(AT_FDCWD, folder, content);
}

/* Unless somebody holds it. */
static void remove_left(int parent, const char *name, const lab_temporary_content *content) {
    struct stat facts;
    const int descriptor = open_folder(parent, name);
    if (descriptor < 0)
        return;
    const bool ours = fstat(descriptor, &facts) == 0 && facts.st_uid == geteuid();
    if ((ours || content != NULL) && is_idle(descriptor))
        remove_folder(parent, name, content);
    close(descriptor);
}

void lab_temporary_sweep(const char *parent, const char *start, const lab_temporary_content *content) {
    const size_t length = strlen(start);
    DIR *entries = opendir(parent);
    for (const struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;)
        if (strncmp(entry->d_name, start, length) == 0 && is_marked(entry->d_name + length))
            remove_left(dirfd(entries), entry->d_name, content);
    if (entries != NULL)
        closedir(entries);
}
