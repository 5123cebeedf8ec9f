/* SPDX-License-Identifier: MIT */
/* Between a file's making and its locking somebody who cleans may take it for left over: who writes looks whether the
 * file still has a name, and makes another one if not. */
#include "io/temporary.h"

#include "io/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
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
    if (getentropy(&bits, sizeof bits) == 0) {
        return bits;
    }
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
    if (flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        return false;
    }
    return fstat(descriptor, &facts) != 0 || facts.st_nlink > 0;
}

static int create_once(const char *path, char *temporary, size_t size) {
    const char *name = name_of(path);
    snprintf(temporary, size, "%.*s.%.*s" MARK "%016" PRIx64, (int)(name - path), path, MOST_NAME, name, random_bits());
    const int descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor >= 0 && !hold(descriptor)) {
        unlink(temporary);
        close(descriptor);
        errno = EEXIST;
        return -1;
    }
    return descriptor;
}

int lab_temporary_create(const char *path, char **name) {
    const size_t size = strlen(path) + sizeof MARK + DIGITS + 2;
    int descriptor = -1, left = ATTEMPTS;
    *name = malloc(size);
    if (*name == NULL) {
        errno = ENOMEM;
        return -1;
    }
    do {
        descriptor = create_once(path, *name, size);
    } while (descriptor < 0 && errno == EEXIST && --left > 0);
    if (descriptor < 0) {
        const int code = errno;
        free(*name);
        *name = NULL;
        errno = code;
    }
    return descriptor;
}

/* Whether an entry is a temporary of `name`, whoever made it. */
static bool is_temporary(const char *entry, const char *name) {
    size_t length = strlen(name);
    length = length < MOST_NAME ? length : MOST_NAME;
    if (entry[0] != '.' || strncmp(entry + 1, name, length) != 0 ||
        strncmp(entry + 1 + length, MARK, sizeof MARK - 1) != 0) {
        return false;
    }
    const char *digits = entry + length + sizeof MARK;
    return strlen(digits) == DIGITS && strspn(digits, "0123456789abcdef") == DIGITS;
}

/* Unless somebody writes it; links are not followed. */
static void remove_idle(int folder, const char *entry) {
    const int descriptor = openat(folder, entry, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (descriptor >= 0) {
        if (flock(descriptor, LOCK_EX | LOCK_NB) == 0) {
            unlinkat(folder, entry, 0);
        }
        close(descriptor);
    }
}

void lab_temporary_clean(const char *path) {
    char *folder = lab_folder_of(path);
    DIR *entries = folder != NULL ? opendir(folder) : NULL;
    for (struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;) {
        if (is_temporary(entry->d_name, name_of(path))) {
            remove_idle(dirfd(entries), entry->d_name);
        }
    }
    if (entries != NULL) {
        closedir(entries);
    }
    free(folder);
}
