/* SPDX-License-Identifier: MIT */
/* A digest whose state is gone has failed: `add` then does nothing, `close` says so. */
#include "io/digest.h"

#include "io/fail.h"
#include "io/file.h"
#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdbool.h>
#include <stdlib.h>

/* OpenSSL 3 sets itself up when it is first asked for something, and uses what it could not set up. What it keeps for a
 * thread is given back when the thread ends, if it has not put itself away at the program's end by then: so it never
 * does. */
static bool is_ready(void) {
#if OPENSSL_VERSION_NUMBER >= 0x30000000L
    return OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL) == 1 && OSSL_LIB_CTX_get0_global_default() != NULL;
#else
    return true;
#endif
}

lab_digest lab_digest_begin(lab_digest_kind kind) {
    const EVP_MD *algorithm = kind == LAB_DIGEST_MD5 ? EVP_md5() : EVP_sha256();
    lab_digest digest = {.state = is_ready() ? EVP_MD_CTX_new() : NULL, .kind = kind};
    errno = 0;
    if (digest.state != NULL && EVP_DigestInit_ex(digest.state, algorithm, NULL) != 1) {
        digest.forbidden = errno != ENOMEM; /* OpenSSL does not say which it was */
        lab_digest_discard(&digest);
    }
    return digest;
}

void lab_digest_add(lab_digest *digest, const void *bytes, size_t count) {
    if (digest->state != NULL && EVP_DigestUpdate(digest->state, bytes, count) != 1)
        lab_digest_discard(digest);
}

locus_status lab_digest_add_file(lab_digest *digest, const char *path, locus_error *error) {
    unsigned char block[1 << 16];
    lab_input input;
    locus_status status = lab_input_open(&input, path, error);
    for (size_t got; status == LOCUS_OK && (got = fread(block, 1, sizeof block, input.stream)) > 0;)
        lab_digest_add(digest, block, got);
    if (status == LOCUS_OK && ferror(input.stream))
        status = lab_fail_system(error, "read", path, errno);
    lab_input_close(&input);
    return status;
}

locus_status lab_digest_close(lab_digest *digest, char text[LAB_DIGEST_TEXT], locus_error *error) {
    unsigned char sum[EVP_MAX_MD_SIZE];
    unsigned bytes = 0;
    bool done = digest->state != NULL && EVP_DigestFinal_ex(digest->state, sum, &bytes) == 1;
    text[0] = '\0';
    for (unsigned i = 0; done && i < bytes && 2 * i + 2 < LAB_DIGEST_TEXT; i++)
        snprintf(text + 2 * (size_t)i, 3, "%02x", (unsigned)sum[i]);
    lab_digest_discard(digest);
    if (digest->forbidden)
        return lab_fail(error, LOCUS_ERROR_UNSUPPORTED, NULL, "this system's OpenSSL computes no %s sums",
                        digest->kind == LAB_DIGEST_MD5 ? "MD5" : "SHA-256");
    return done ? LOCUS_OK : lab_fail_memory(error, "a check sum");
}

locus_status lab_digest_close_number(lab_digest *digest, uint64_t *number, locus_error *error) {
    char text[LAB_DIGEST_TEXT];
    const locus_status status = lab_digest_close(digest, text, error);
    if (status != LOCUS_OK)
        return status;
    text[2 * sizeof *number] = '\0';
    *number = strtoull(text, NULL, 16);
    *number += *number == 0;
    return LOCUS_OK;
}

void lab_digest_discard(lab_digest *digest) {
    EVP_MD_CTX_free(digest->state);
    digest->state = NULL;
}
