/* SPDX-License-Identifier: MIT */
/* Token files, as they are and with the digest put right, which no search would find. Tokens of what is taken lie below
 * its vocabulary, and a file written with them is read back alike; a failure is one line that names the file. */
#include "fuzz.h"

#include "io/digest.h"
#include "text/token_file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HEADER = 48, DIGEST_AT = 40 };

static void check_again(const lab_token_file *file, const int32_t *tokens) {
    const lab_token_file_content content = {file->vocabulary, file->tokens, tokens, file->predicted_bytes};
    const char *path = fuzz_path("again.tokens");
    lab_token_file back;
    locus_error error = {0};
    FUZZ_REQUIRE_SAYING(lab_token_file_write(path, &content, &error) == LOCUS_OK, error.message);
    FUZZ_REQUIRE_SAYING(lab_token_file_open(&back, path, &error) == LOCUS_OK, error.message);
    FUZZ_REQUIRE(back.tokens == file->tokens && back.vocabulary == file->vocabulary);
    FUZZ_REQUIRE(back.predicted_bytes == file->predicted_bytes);
    for (size_t i = 0; i < file->tokens; i++) {
        int32_t token;
        lab_token_file_read(&back, i, 1, &token);
        FUZZ_REQUIRE(token == tokens[i]);
    }
    lab_token_file_close(&back);
    unlink(path);
}

static void check(const uint8_t *data, size_t size) {
    lab_token_file file;
    locus_error error = {0};
    const locus_status status = lab_token_file_open(&file, fuzz_file("input.tokens", data, size), &error);
    if (status != LOCUS_OK) {
        FUZZ_REQUIRE_SAYING(status == LOCUS_ERROR_IO && strstr(error.message, "input.tokens'") != NULL, error.message);
        fuzz_check_failure(status, &error);
        FUZZ_REQUIRE(file.data == NULL);
        return;
    }
    int32_t *tokens = malloc((file.tokens + 1) * sizeof *tokens);
    FUZZ_REQUIRE(tokens != NULL);
    lab_token_file_read(&file, 0, file.tokens, tokens);
    for (size_t i = 0; i < file.tokens; i++)
        FUZZ_REQUIRE(tokens[i] >= 0 && (size_t)tokens[i] < file.vocabulary);
    check_again(&file, tokens);
    free(tokens);
    lab_token_file_close(&file);
}

static void put_digest(uint8_t *bytes, size_t size) {
    lab_digest sum;
    uint64_t number = 0;
    sum = lab_digest_begin(LAB_DIGEST_SHA256);
    lab_digest_add(&sum, bytes + HEADER, size - HEADER);
    FUZZ_REQUIRE(lab_digest_close_number(&sum, &number, NULL) == LOCUS_OK);
    for (size_t i = 0; i < 8; i++)
        bytes[DIGEST_AT + i] = (uint8_t)(number >> (56 - 8 * i));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    check(data, size);
    if (size >= HEADER && memcmp(data, "LOCUSTOK", 8) == 0) {
        uint8_t *bytes = malloc(size);
        FUZZ_REQUIRE(bytes != NULL);
        memcpy(bytes, data, size);
        put_digest(bytes, size);
        check(bytes, size);
        free(bytes);
    }
    return 0;
}
