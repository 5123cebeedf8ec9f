/* SPDX-License-Identifier: MIT */
/* Check sums (MD5, SHA-256) as lower-case hexadecimal text, computed by OpenSSL. */
#ifndef LAB_DIGEST_H
#define LAB_DIGEST_H

#include <locus/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum lab_digest_kind { LAB_DIGEST_MD5 = 0, LAB_DIGEST_SHA256 = 1 } lab_digest_kind;

#define LAB_DIGEST_TEXT 65 /* room for the longest sum and its end */

typedef struct lab_digest {
    void *state;
    lab_digest_kind kind;
    bool forbidden;
} lab_digest;

/* begin → add … add → close, which says what failed before. UNSUPPORTED where the system forbids the kind. */
lab_digest lab_digest_begin(lab_digest_kind kind);
void lab_digest_add(lab_digest *digest, const void *bytes, size_t count);
locus_status lab_digest_add_file(lab_digest *digest, const char *path, locus_error *error); /* to its end */
locus_status lab_digest_close(lab_digest *digest, char text[LAB_DIGEST_TEXT], locus_error *error);
/* Closes it, and gives the first 8 bytes as a number, the first one the most significant, as the text begins: data of
 * another number are other data. Never 0, which stands for no data. */
locus_status lab_digest_close_number(lab_digest *digest, uint64_t *number, locus_error *error);
void lab_digest_discard(lab_digest *digest); /* instead of close; safe after it */

#endif
