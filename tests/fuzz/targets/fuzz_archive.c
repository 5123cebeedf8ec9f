/* SPDX-License-Identifier: MIT */
/* Archives: members come one after the other, each is read to its end, or not at all; names have no folder; a failure
 * is one line that names the file. */
#include "fuzz.h"

#include "io/published/archive.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_MEMBERS = 100, BLOCK = 4096 };

/* At most a block more than the archive is worth: sparse members claim what they like. */
static locus_status read_member(lab_archive *archive, const lab_member *member, locus_error *error) {
    static uint8_t block[BLOCK];
    const size_t most = 64 * BLOCK;
    size_t left = member->bytes < most ? member->bytes : most;
    locus_status status = LOCUS_OK;
    while (status == LOCUS_OK && left > 0) {
        const size_t now = left < BLOCK ? left : BLOCK;
        status = lab_archive_read(archive, block, now, error);
        left -= now;
    }
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    lab_archive *archive = NULL;
    lab_member member = {"", 0};
    locus_error error = {0};
    locus_status status = lab_archive_open(&archive, fuzz_file("input.tar", data, size), &error);
    FUZZ_REQUIRE((status == LOCUS_OK) == (archive != NULL));
    for (size_t i = 0; status == LOCUS_OK && member.name != NULL && i < MOST_MEMBERS; i++) {
        status = lab_archive_next(archive, &member, &error);
        if (status == LOCUS_OK && member.name != NULL) {
            FUZZ_REQUIRE(strchr(member.name, '/') == NULL);
            /* Every other one is passed over. */
            status = i % 2 == 0 ? read_member(archive, &member, &error) : LOCUS_OK;
        }
    }
    if (status != LOCUS_OK) {
        FUZZ_REQUIRE_SAYING(status == LOCUS_ERROR_IO && strstr(error.message, "input.tar'") != NULL, error.message);
        fuzz_check_failure(status, &error);
    }
    lab_archive_close(&archive);
    return 0;
}
