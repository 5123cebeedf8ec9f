/* SPDX-License-Identifier: MIT */
/* Hands files to a fuzz target, one after the other, without a fuzzer: the corpus as a test.
 * usage: fuzz_<name> FILE|FOLDER…     folders are read one level deep; the empty input is tried, too */
#include "fuzz.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* In a block of its very size: a sanitizer sees what is read behind it. */
static bool replay_file(const char *path) {
    FILE *file = fopen(path, "rb");
    struct stat facts;
    if (file == NULL || fstat(fileno(file), &facts) != 0) {
        perror(path);
        if (file != NULL)
            fclose(file);
        return false;
    }
    const size_t size = (size_t)facts.st_size;
    uint8_t *data = malloc(size > 0 ? size : 1);
    const bool whole = data != NULL && fread(data, 1, size, file) == size;
    fclose(file);
    if (whole)
        LLVMFuzzerTestOneInput(data, size);
    else
        perror(path);
    free(data);
    return whole;
}

/* -1: a file could not be read. */
static long replay_folder(const char *path) {
    DIR *entries = opendir(path);
    long count = 0;
    for (struct dirent *entry; entries != NULL && count >= 0 && (entry = readdir(entries)) != NULL;) {
        char inner[4096];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
        count = replay_file(inner) ? count + 1 : -1;
    }
    if (entries == NULL) {
        perror(path);
        return -1;
    }
    closedir(entries);
    return count;
}

int main(int argument_count, char **arguments) {
    long count = 0;
    LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
    for (int i = 1; i < argument_count; i++) {
        struct stat facts;
        const bool is_folder = stat(arguments[i], &facts) == 0 && S_ISDIR(facts.st_mode);
        const long more = is_folder ? replay_folder(arguments[i]) : replay_file(arguments[i]) ? 1 : -1;
        if (more < 0)
            return 1;
        count += more;
    }
    printf("%ld inputs\n", count);
    if (count == 0)
        fprintf(stderr, "there is no input: name files, or folders of them\n");
    return count > 0 ? 0 : 1;
}
