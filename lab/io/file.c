/* SPDX-License-Identifier: MIT */
/* Reading and writing of files. A reader of `path` sees the old content or the new, never a part: the new content is on
 * the disk (fsync) before its name is (rename, fsync of the folder). */
#include "io/file.h"

#include "io/fail.h"
#include "io/temporary.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- output ---- */

static locus_status open_stream(lab_output *output, bool direct, locus_error *error) {
    if (!direct)
        lab_temporary_clean(output->path);
    int descriptor =
        direct ? open(output->path, O_WRONLY | O_CLOEXEC) : lab_temporary_create(output->path, &output->temporary);
    output->stream = descriptor < 0 ? NULL : fdopen(descriptor, "wb");
    if (output->stream)
        return LOCUS_OK;
    int code = errno;
    if (descriptor >= 0) {
        if (output->temporary)
            unlink(output->temporary);
        close(descriptor);
    }
    return lab_fail_system(error, "write", output->path, code);
}

locus_status lab_output_open(lab_output *output, const char *path, locus_error *error) {
    *output = (lab_output){0};
    struct stat old;
    bool exists = stat(path, &old) == 0;
    if (path[0] == '\0' || (exists && S_ISDIR(old.st_mode)))
        return lab_fail_system(error, "write", path, path[0] ? EISDIR : ENOENT);
    bool direct = exists && !S_ISREG(old.st_mode);
    output->path = strdup(path);
    // NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the output owns it until it is closed or discarded
    locus_status status = output->path ? open_stream(output, direct, error) : lab_fail_memory(error, "a file name");
    if (status != LOCUS_OK)
        lab_output_discard(output);
    return status;
}

void lab_output_discard(lab_output *output) {
    if (output->stream && output->temporary)
        unlink(output->temporary);
    if (output->stream)
        fclose(output->stream);
    free(output->path);
    free(output->temporary);
    *output = (lab_output){0};
}

/* 0, or why the content is not on the disk. An earlier write that failed has left no errno: one more shows the
 * reason. */
static int finish_content(lab_output *output) {
    int descriptor = fileno(output->stream);
    if (ferror(output->stream))
        return write(descriptor, "", 1) < 0 ? errno : EIO;
    if (fflush(output->stream) != 0)
        return errno;
    if (output->temporary && fsync(descriptor) != 0)
        return errno;
    return 0;
}

static void sync_folder(const char *path) {
    char *folder = lab_folder_of(path);
    int descriptor = folder ? open(folder, O_RDONLY | O_CLOEXEC) : -1;
    if (descriptor >= 0) {
        (void)fsync(descriptor); /* some file systems cannot; the rename stands all the same */
        close(descriptor);
    }
    free(folder);
}

locus_status lab_output_commit(lab_output *output, locus_error *error) {
    int code = finish_content(output);
    if (code == 0 && output->temporary && rename(output->temporary, output->path) != 0)
        code = errno;
    if (code == 0) { /* only now: what is closed is no longer locked. What was synced cannot fail any more */
        if (fclose(output->stream) != 0 && !output->temporary)
            code = errno;
        output->stream = NULL;
    }
    locus_status status = LOCUS_OK;
    if (code != 0)
        status = lab_fail_system(error, "write", output->path, code);
    else if (output->temporary)
        sync_folder(output->path);
    lab_output_discard(output);
    return status;
}

locus_status lab_file_write(const char *path, const char *data, size_t bytes, locus_error *error) {
    lab_output output;
    const locus_status status = lab_output_open(&output, path, error);
    if (status != LOCUS_OK)
        return status;
    fwrite(data, 1, bytes, output.stream);
    return lab_output_commit(&output, error);
}

/* ---- input ---- */

locus_status lab_input_open(lab_input *input, const char *path, locus_error *error) {
    *input = (lab_input){.path = path, .bytes_left = SIZE_MAX};
    struct stat facts;
    int code = 0;
    input->stream = fopen(path, "rb");
    if (!input->stream || fstat(fileno(input->stream), &facts) != 0)
        code = errno;
    else if (S_ISDIR(facts.st_mode))
        code = EISDIR;
    else if (S_ISREG(facts.st_mode))
        input->bytes_left = (size_t)facts.st_size;
    if (code == 0)
        return LOCUS_OK;
    lab_input_close(input);
    return lab_fail_system(error, "read", path, code);
}

locus_status lab_input_read(lab_input *input, void *target, size_t bytes, locus_error *error) {
    size_t got = bytes ? fread(target, 1, bytes, input->stream) : 0;
    int code = errno;
    if (input->bytes_left != SIZE_MAX)
        input->bytes_left = input->bytes_left > got ? input->bytes_left - got : 0;
    if (got == bytes)
        return LOCUS_OK;
    if (ferror(input->stream))
        return lab_fail_system(error, "read", input->path, code);
    return lab_fail_file(error, input->path, "is cut: %zu bytes are missing at least", bytes - got);
}

bool lab_input_at_end(lab_input *input) {
    int next = getc(input->stream);
    if (next == EOF)
        return true;
    ungetc(next, input->stream);
    return false;
}

void lab_input_close(lab_input *input) {
    if (input->stream)
        fclose(input->stream);
    input->stream = NULL;
}

/* ---- whole files and folders ---- */

/* Grows as the stream goes on: pipes and files of /proc do not say their size. */
locus_status lab_input_read_all(lab_input *input, char **data, size_t *bytes, locus_error *error) {
    size_t capacity = input->bytes_left < SIZE_MAX / 4 ? input->bytes_left + 2 : 65536, used = 0;
    char *buffer = malloc(capacity);
    while (buffer) {
        used += fread(buffer + used, 1, capacity - 1 - used, input->stream);
        if (used < capacity - 1)
            break;
        char *larger = capacity < SIZE_MAX / 2 ? realloc(buffer, 2 * capacity) : NULL;
        if (!larger)
            free(buffer);
        buffer = larger;
        capacity *= 2;
    }
    if (!buffer)
        return lab_fail_memory(error, "the content of a file");
    if (ferror(input->stream)) {
        int code = errno;
        free(buffer);
        return lab_fail_system(error, "read", input->path, code);
    }
    buffer[used] = '\0';
    *data = buffer;
    *bytes = used;
    return LOCUS_OK;
}

locus_status lab_file_exists(const char *path, bool *exists, locus_error *error) {
    struct stat facts;
    *exists = stat(path, &facts) == 0;
    if (!*exists && errno != ENOENT && errno != ENOTDIR)
        return lab_fail_system(error, "read", path, errno);
    *exists = *exists && !S_ISDIR(facts.st_mode);
    return LOCUS_OK;
}

locus_status lab_file_read(const char *path, char **data, size_t *bytes, locus_error *error) {
    lab_input input;
    *data = NULL;
    *bytes = 0;
    locus_status status = lab_input_open(&input, path, error);
    if (status == LOCUS_OK)
        status = lab_input_read_all(&input, data, bytes, error);
    lab_input_close(&input);
    return status;
}
