/* SPDX-License-Identifier: MIT */
/* Inputs as files, for readers that want a path; and what commands print, caught. */
#include "fuzz.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the folder ---- */

static char folder[256];

static void remove_below(const char *path) {
    DIR *entries = opendir(path);
    for (struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;) {
        char inner[1024];
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        snprintf(inner, sizeof inner, "%.500s/%.255s", path, entry->d_name);
        if (unlink(inner) != 0)
            remove_below(inner);
    }
    if (entries != NULL)
        closedir(entries);
    rmdir(path);
}

static void remove_folder(void) {
    remove_below(folder);
}

/* In memory, where the system has such a place: thousands of files a second are written. */
static void make_folder(void) {
    const char *parent = getenv("TMPDIR");
    struct stat facts;
    if (parent == NULL || parent[0] == '\0')
        parent = stat("/dev/shm", &facts) == 0 && access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(folder, sizeof folder, "%.200s/locus-fuzz-XXXXXX", parent);
    FUZZ_REQUIRE(mkdtemp(folder) != NULL);
    atexit(remove_folder);
}

const char *fuzz_path(const char *name) {
    static char paths[8][512];
    static size_t next;
    char *path = paths[next++ % 8];
    if (folder[0] == '\0')
        make_folder();
    snprintf(path, sizeof *paths, "%.255s/%.200s", folder, name);
    return path;
}

/* ---- files ---- */

/* A file that is open for writing: opening it anew each time would cost more than most readers do. */
typedef struct kept_file {
    char name[64], path[512];
    int descriptor;
} kept_file;

static kept_file *find_file(const char *name) {
    static kept_file kept[16];
    static size_t count;
    for (size_t i = 0; i < count; i++)
        if (strcmp(kept[i].name, name) == 0)
            return &kept[i];
    FUZZ_REQUIRE(count < sizeof kept / sizeof *kept);
    kept_file *made = &kept[count++];
    snprintf(made->name, sizeof made->name, "%s", name);
    snprintf(made->path, sizeof made->path, "%s", fuzz_path(name));
    made->descriptor = open(made->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    FUZZ_REQUIRE(made->descriptor >= 0);
    return made;
}

const char *fuzz_file(const char *name, const uint8_t *data, size_t size) {
    kept_file *file = find_file(name);
    FUZZ_REQUIRE(ftruncate(file->descriptor, 0) == 0);
    FUZZ_REQUIRE(pwrite(file->descriptor, data, size, 0) == (ssize_t)size);
    return file->path;
}

/* ---- standard error ---- */

static char messages[8192];
static FILE *usual, *caught;

/* glibc lets one assign to stderr. The stream is made once: only its place goes back. */
void fuzz_messages_begin(void) {
    if (caught == NULL)
        caught = fmemopen(messages, sizeof messages, "w");
    FUZZ_REQUIRE(caught != NULL);
    rewind(caught);
    messages[0] = '\0';
    usual = stderr;
    stderr = caught;
}

const char *fuzz_messages_end(void) {
    const long length = (fflush(caught), ftell(caught));
    stderr = usual;
    messages[length < 0 || (size_t)length >= sizeof messages ? 0 : length] = '\0';
    return messages;
}

void fuzz_check_messages(const char *text) {
    static char line[sizeof messages];
    const size_t length = strlen(text);
    FUZZ_REQUIRE_SAYING(length > 1 && text[length - 1] == '\n', text);
    memcpy(line, text, length);
    line[length - 1] = '\0';
    fuzz_check_line(line);
}
