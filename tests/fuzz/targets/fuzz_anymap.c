/* SPDX-License-Identifier: MIT */
/* Portable any-maps, through the reader that tells formats apart. A failure is one line that names the file; what is
 * taken, written plainly as P3 of largest value 255, is read as the same pixels. */
#include "fuzz.h"

#include "io/picture/picture.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_VALUES = 3 * 1024 };

static void check_again(const lab_picture *picture) {
    static char text[64 + 4 * MOST_VALUES];
    const size_t values = 3 * picture->width * picture->height;
    lab_picture back = {0};
    locus_error error = {0};
    int used = snprintf(text, sizeof text, "P3 #\n%zu %zu\t255\n", picture->width, picture->height);
    for (size_t i = 0; i < values; i++)
        used += snprintf(text + used, sizeof text - (size_t)used, "%u ", (unsigned)picture->rgb[i]);
    const char *path = fuzz_file("again.ppm", (const uint8_t *)text, (size_t)used);
    FUZZ_REQUIRE_SAYING(lab_picture_read(&back, path, &error) == LOCUS_OK, error.message);
    FUZZ_REQUIRE(back.width == picture->width && back.height == picture->height);
    FUZZ_REQUIRE(memcmp(back.rgb, picture->rgb, values) == 0);
    lab_picture_free(&back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    lab_picture picture = {0};
    locus_error error = {0};
    const locus_status status = lab_picture_read(&picture, fuzz_file("input.ppm", data, size), &error);
    if (status == LOCUS_OK) {
        FUZZ_REQUIRE(picture.width >= 1 && picture.width <= LAB_PICTURE_MOST);
        FUZZ_REQUIRE(picture.height >= 1 && picture.height <= LAB_PICTURE_MOST);
        if (3 * picture.width * picture.height <= MOST_VALUES)
            check_again(&picture);
    } else {
        FUZZ_REQUIRE_SAYING(status == LOCUS_ERROR_IO && strstr(error.message, "input.ppm'") != NULL, error.message);
        fuzz_check_failure(status, &error);
        FUZZ_REQUIRE(picture.rgb == NULL);
    }
    lab_picture_free(&picture);
    return 0;
}
