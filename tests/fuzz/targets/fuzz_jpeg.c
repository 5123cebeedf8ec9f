/* SPDX-License-Identifier: MIT */
/* JPEG pictures. A failure is one line that names the file; what is taken has a size within bounds, can be brought to
 * another one, and is the same when it is read again. */
#include "fuzz.h"

#include "io/picture/picture_formats.h"
#include "io/picture/picture_scale.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_PIXELS = 4096, SIDE = 7 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint8_t *bytes = malloc(size + 1), planes[3 * SIDE * SIDE];
    lab_picture picture = {0}, again = {0};
    locus_error error = {0};
    FUZZ_REQUIRE(bytes != NULL);
    memcpy(bytes, data, size);
    const lab_picture_bytes from = {"input.jpg", bytes, size};
    const locus_status status = size < 2 ? LOCUS_OK : lab_picture_read_jpeg(&picture, &from, &error);
    if (status != LOCUS_OK) {
        FUZZ_REQUIRE_SAYING(status == LOCUS_ERROR_IO || status == LOCUS_ERROR_MEMORY, error.message);
        fuzz_check_failure(status, &error);
    } else if (picture.rgb != NULL && picture.width * picture.height <= MOST_PIXELS) {
        FUZZ_REQUIRE(picture.width > 0 && picture.height > 0);
        FUZZ_REQUIRE(lab_picture_scale(&picture, SIDE, planes, &error) == LOCUS_OK);
        FUZZ_REQUIRE(lab_picture_read_jpeg(&again, &from, &error) == LOCUS_OK);
        FUZZ_REQUIRE(memcmp(again.rgb, picture.rgb, 3 * picture.width * picture.height) == 0);
    }
    lab_picture_free(&picture);
    lab_picture_free(&again);
    free(bytes);
    return 0;
}
