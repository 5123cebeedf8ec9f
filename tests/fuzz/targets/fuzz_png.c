/* SPDX-License-Identifier: MIT */
/* PNG pictures. Check sums of chunks are put right first, so that what is behind them is reached. A failure is one
 * line; what is taken is written and read back with the same pixels. */
#include "fuzz.h"

#include "io/picture/picture_formats.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SIGNATURE = 8, MOST_PIXELS = 4096 };

/* CRC-32 of ISO 3309, as the PNG specification (annex D) has it, bit by bit. */
static uint32_t check_sum(const uint8_t *bytes, size_t count) {
    uint32_t sum = 0xFFFFFFFFu;
    for (size_t i = 0; i < count; i++) {
        sum ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            sum = sum >> 1 ^ (sum & 1 ? 0xEDB88320u : 0);
    }
    return ~sum;
}

static size_t number(const uint8_t *at) {
    return (size_t)at[0] << 24 | (size_t)at[1] << 16 | (size_t)at[2] << 8 | at[3];
}

/* length (4) | name (4) | content | sum (4) */
static void mend_sums(uint8_t *bytes, size_t count) {
    for (size_t at = SIGNATURE; at + 12 <= count;) {
        const size_t length = number(bytes + at);
        if (length > count - at - 12)
            return;
        const uint32_t sum = check_sum(bytes + at + 4, length + 4);
        for (size_t i = 0; i < 4; i++)
            bytes[at + 8 + length + i] = (uint8_t)(sum >> (24 - 8 * i));
        at += length + 12;
    }
}

static void check_again(const lab_picture *picture) {
    const char *path = fuzz_path("again.png");
    lab_picture back = {0};
    locus_error error = {0};
    FUZZ_REQUIRE_SAYING(lab_picture_write(picture, path, &error) == LOCUS_OK, error.message);
    FUZZ_REQUIRE_SAYING(lab_picture_read(&back, path, &error) == LOCUS_OK, error.message);
    FUZZ_REQUIRE(back.width == picture->width && back.height == picture->height);
    FUZZ_REQUIRE(memcmp(back.rgb, picture->rgb, 3 * back.width * back.height) == 0);
    lab_picture_free(&back);
    unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint8_t *bytes = malloc(size + 1);
    lab_picture picture = {0};
    locus_error error = {0};
    FUZZ_REQUIRE(bytes != NULL);
    memcpy(bytes, data, size);
    mend_sums(bytes, size);
    const lab_picture_bytes from = {"input.png", bytes, size};
    const locus_status status = size < 2 ? LOCUS_OK : lab_picture_read_png(&picture, &from, &error);
    if (status != LOCUS_OK) {
        FUZZ_REQUIRE_SAYING(status == LOCUS_ERROR_IO, error.message);
        fuzz_check_failure(status, &error);
    } else if (picture.rgb != NULL && picture.width * picture.height <= MOST_PIXELS) {
        check_again(&picture);
    }
    lab_picture_free(&picture);
    free(bytes);
    return 0;
}
