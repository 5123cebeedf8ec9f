/* SPDX-License-Identifier: MIT */
/* .npy files: a failure is one line; what is taken is written again, and read back with the same type, shape and bytes.
 */
#include "fuzz.h"

#include "io/npy.h"

#include <string.h>
#include <unistd.h>

static void check_again(const lab_array *array) {
    lab_array back = {0};
    locus_error error = {0};
    const char *path = fuzz_path("again.npy");
    FUZZ_REQUIRE_SAYING(lab_npy_write(array, path, &error) == LOCUS_OK, error.message);
    FUZZ_REQUIRE_SAYING(lab_npy_read(&back, path, &error) == LOCUS_OK, error.message);
    FUZZ_REQUIRE(back.dtype == array->dtype && back.rank == array->rank);
    FUZZ_REQUIRE(memcmp(back.shape, array->shape, array->rank * sizeof *array->shape) == 0);
    const size_t bytes = lab_array_count(array) * lab_dtype_size(array->dtype);
    FUZZ_REQUIRE(bytes == 0 || memcmp(back.data, array->data, bytes) == 0);
    lab_array_free(&back);
    unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    lab_array array = {0};
    locus_error error = {0};
    const locus_status status = lab_npy_read(&array, fuzz_file("input.npy", data, size), &error);
    if (status == LOCUS_OK) {
        check_again(&array);
        lab_array_free(&array);
    } else {
        FUZZ_REQUIRE_SAYING(status == LOCUS_ERROR_IO, error.message);
        fuzz_check_failure(status, &error);
    }
    return 0;
}
