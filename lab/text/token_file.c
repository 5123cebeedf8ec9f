/* SPDX-License-Identifier: MIT */
/* Token files. The digest and every token are checked when a file is opened: that reads it once (about a gigabyte a
 * second), and a model can then index its embedding by what it gets. Numbers are put together byte by byte, so the
 * machine's own order does not matter. */
#include "text/token_file.h"

#include "io/digest.h"
#include "io/fail.h"
#include "io/file.h"
#include "io/text_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC "LOCUSTOK"
enum { HEADER = 48, VERSION = 1, BLOCK = 4096, MOST_BYTES_PER_TOKEN = 1024 };

static uint64_t get(const unsigned char *from, size_t bytes) {
    uint64_t value = 0;
    for (size_t i = bytes; i > 0; i--)
        value = value << 8 | from[i - 1];
    return value;
}

static void put(unsigned char *to, uint64_t value, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        to[i] = (unsigned char)(value >> 8 * i);
}

static const unsigned char *token_bytes(const lab_token_file *file) {
    return (const unsigned char *)file->data + HEADER;
}

/* The file has the sum's first bytes as they are, and its numbers begin with the least significant byte. */
static locus_status close_digest(lab_digest *sum, uint64_t *digest, locus_error *error) {
    unsigned char bytes[8];
    uint64_t number = 0;
    const locus_status status = lab_digest_close_number(sum, &number, error);
    for (size_t i = sizeof bytes; i > 0; i--, number >>= 8)
        bytes[i - 1] = (unsigned char)number;
    *digest = get(bytes, sizeof bytes);
    return status;
}

/* ---- reading ---- */

static locus_status map(lab_token_file *file, const char *path, locus_error *error) {
    struct stat facts;
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0 || fstat(descriptor, &facts) != 0) {
        const int code = errno;
        if (descriptor >= 0)
            close(descriptor);
        return lab_fail_system(error, "read", path, code);
    }
    locus_status status = LOCUS_OK;
    if (!S_ISREG(facts.st_mode)) {
        status = lab_fail_file(error, path, "is no file");
    } else if (facts.st_size < HEADER) {
        status = lab_fail_file(error, path, "is no token file: it has %lld bytes, less than a header",
                               (long long)facts.st_size);
    } else {
        void *data = mmap(NULL, (size_t)facts.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
        if (data == MAP_FAILED) {
            status = lab_fail_system(error, "map", path, errno);
        } else {
            file->data = data;
            file->data_bytes = (size_t)facts.st_size;
        }
    }
    close(descriptor);
    return status;
}

static locus_status read_header(lab_token_file *file, const char *path, locus_error *error) {
    const unsigned char *header = file->data;
    if (memcmp(header, MAGIC, 8) != 0)
        return lab_fail_file(error, path, "is no token file: it does not begin with " MAGIC);
    if (get(header + 8, 4) != VERSION) {
        return lab_fail_file(error, path, "is a token file of version %u, and this program reads version %d",
                             (unsigned)get(header + 8, 4), VERSION);
    }
    const uint64_t width = get(header + 12, 4), vocabulary = get(header + 16, 8), tokens = get(header + 24, 8);
    if (width != 1 && width != 2 && width != 4)
        return lab_fail_file(error, path, "has tokens of %u bytes: there are 1, 2 and 4", (unsigned)width);
    if (vocabulary == 0 || vocabulary > INT32_MAX || vocabulary - 1 > UINT32_MAX >> (32 - 8 * width)) {
        return lab_fail_file(error, path, "has a vocabulary of %llu, which tokens of %u bytes cannot number",
                             (unsigned long long)vocabulary, (unsigned)width);
    }
    if ((file->data_bytes - HEADER) % width != 0 || (file->data_bytes - HEADER) / width != tokens) {
        return lab_fail_file(error, path, "is cut or has grown: %llu tokens of %u bytes are promised in %zu bytes",
                             (unsigned long long)tokens, (unsigned)width, file->data_bytes - HEADER);
    }
    file->token_bytes = (size_t)width;
    file->vocabulary = (size_t)vocabulary;
    file->tokens = (size_t)tokens;
    file->predicted_bytes = get(header + 32, 8);
    file->digest = get(header + 40, 8);
    if (file->predicted_bytes > tokens * MOST_BYTES_PER_TOKEN) {
        return lab_fail_file(error, path, "says that %llu tokens stand for %llu bytes, which is too many",
                             (unsigned long long)tokens, (unsigned long long)file->predicted_bytes);
    }
    return LOCUS_OK;
}

static locus_status check_tokens(const lab_token_file *file, const char *path, locus_error *error) {
    int32_t tokens[BLOCK];
    for (size_t first = 0; first < file->tokens; first += BLOCK) {
        const size_t count = file->tokens - first < BLOCK ? file->tokens - first : BLOCK;
        uint32_t most = 0;
        lab_token_file_read(file, first, count, tokens);
        for (size_t i = 0; i < count; i++)
            most = (uint32_t)tokens[i] > most ? (uint32_t)tokens[i] : most;
        if (most < file->vocabulary)
            continue;
        for (size_t i = 0; i < count; i++) {
            if ((uint32_t)tokens[i] >= file->vocabulary) {
                return lab_fail_file(error, path, "has token %lu at %zu, and a vocabulary of %zu",
                                     (unsigned long)(uint32_t)tokens[i], first + i, file->vocabulary);
            }
        }
    }
    return LOCUS_OK;
}

static locus_status check_digest(const lab_token_file *file, const char *path, locus_error *error) {
    lab_digest sum = lab_digest_begin(LAB_DIGEST_SHA256);
    uint64_t digest;
    lab_digest_add(&sum, token_bytes(file), file->data_bytes - HEADER);
    const locus_status status = close_digest(&sum, &digest, error);
    return status == LOCUS_OK && digest != file->digest
               ? lab_fail_file(error, path, "is damaged: its tokens do not have the digest that it says")
               : status;
}

locus_status lab_token_file_open(lab_token_file *file, const char *path, locus_error *error) {
    *file = (lab_token_file){0};
    locus_status status = map(file, path, error);
    if (status == LOCUS_OK)
        status = read_header(file, path, error);
    if (status == LOCUS_OK)
        status = check_tokens(file, path, error);
    if (status == LOCUS_OK)
        status = check_digest(file, path, error);
    if (status != LOCUS_OK)
        lab_token_file_close(file);
    return status;
}

void lab_token_file_close(lab_token_file *file) {
    if (file->data != NULL)
        munmap((void *)(uintptr_t)file->data, file->data_bytes);
    *file = (lab_token_file){0};
}

void lab_token_file_read(const lab_token_file *file, size_t first, size_t count, int32_t *tokens) {
    const unsigned char *from = token_bytes(file) + first * file->token_bytes;
    switch (file->token_bytes) {
    case 1:
        for (size_t i = 0; i < count; i++)
            tokens[i] = from[i];
        break;
    case 2:
        for (size_t i = 0; i < count; i++)
            tokens[i] = from[2 * i] | from[2 * i + 1] << 8;
        break;
    default:
        for (size_t i = 0; i < count; i++)
            tokens[i] = (int32_t)(uint32_t)get(from + 4 * i, 4);
    }
}

/* ---- writing ---- */

/* Tokens first … first + count − 1 as they stand in a file, at most BLOCK of them. */
static size_t pack(const lab_token_file_content *content, size_t first, size_t width, unsigned char *bytes) {
    const size_t count = content->count - first < BLOCK ? content->count - first : BLOCK;
    for (size_t i = 0; i < count; i++)
        put(bytes + i * width, (uint32_t)content->tokens[first + i], width);
    return count * width;
}

static locus_status content_digest(const lab_token_file_content *content, size_t width, uint64_t *digest,
                                   locus_error *error) {
    unsigned char bytes[4 * BLOCK];
    lab_digest sum = lab_digest_begin(LAB_DIGEST_SHA256);
    for (size_t first = 0; first < content->count; first += BLOCK)
        lab_digest_add(&sum, bytes, pack(content, first, width, bytes));
    return close_digest(&sum, digest, error);
}

static locus_status check_content(const lab_token_file_content *content, locus_error *error) {
    if (content->vocabulary == 0 || content->vocabulary > INT32_MAX) {
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "vocabulary", "a vocabulary of %zu: give 1 to %ld",
                        content->vocabulary, (long)INT32_MAX);
    }
    for (size_t i = 0; i < content->count; i++) {
        if (content->tokens[i] < 0 || (size_t)content->tokens[i] >= content->vocabulary) {
            return lab_fail(error, LOCUS_ERROR_ARGUMENT, "tokens", "token %ld at %zu is not in the vocabulary of %zu",
                            (long)content->tokens[i], i, content->vocabulary);
        }
    }
    return LOCUS_OK;
}

locus_status lab_token_file_write(const char *path, const lab_token_file_content *content, locus_error *error) {
    const size_t width = content->vocabulary <= 1u << 8 ? 1 : content->vocabulary <= 1u << 16 ? 2 : 4;
    unsigned char bytes[4 * BLOCK];
    uint64_t digest = 0;
    lab_output output = {0};
    locus_status status = check_content(content, error);
    if (status == LOCUS_OK)
        status = content_digest(content, width, &digest, error);
    if (status == LOCUS_OK)
        status = lab_output_open(&output, path, error);
    if (status != LOCUS_OK)
        return status;
    memcpy(bytes, MAGIC, 8); // NOLINT(bugprone-not-null-terminated-result): eight bytes of a header, no text
    put(bytes + 8, VERSION, 4);
    put(bytes + 12, width, 4);
    put(bytes + 16, content->vocabulary, 8);
    put(bytes + 24, content->count, 8);
    put(bytes + 32, content->predicted_bytes, 8);
    put(bytes + 40, digest, 8);
    fwrite(bytes, 1, HEADER, output.stream);
    for (size_t first = 0; first < content->count; first += BLOCK)
        fwrite(bytes, 1, pack(content, first, width, bytes), output.stream);
    return lab_output_commit(&output, error);
}

char *lab_token_file_path(const char *folder, const char *set) {
    return lab_text_print("%s/%s.tokens", folder, set);
}
