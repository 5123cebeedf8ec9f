/* SPDX-License-Identifier: MIT */
/* .safetensors files: a failure is one line; what is taken is found by its names, is written again, and read back with
 * the same tensors and metadata. */
#include "fuzz.h"

#include "io/safetensors.h"

#include <string.h>
#include <unistd.h>

static void check_array(const lab_array *one, const lab_array *other) {
    FUZZ_REQUIRE_SAYING(other != NULL, one->name);
    FUZZ_REQUIRE_SAYING(one->dtype == other->dtype && one->rank == other->rank, one->name);
    FUZZ_REQUIRE_SAYING(memcmp(one->shape, other->shape, one->rank * sizeof *one->shape) == 0, one->name);
    const size_t bytes = lab_array_count(one) * lab_dtype_size(one->dtype);
    FUZZ_REQUIRE_SAYING(bytes == 0 || memcmp(one->data, other->data, bytes) == 0, one->name);
}

/* Of equal keys the first one is found. */
static void check_metadata(const lab_safetensors *file, const lab_safetensors *again) {
    FUZZ_REQUIRE(file->metadata_count == again->metadata_count);
    for (size_t i = 0; i < file->metadata_count; i++) {
        FUZZ_REQUIRE(strcmp(file->metadata[i].key, again->metadata[i].key) == 0);
        FUZZ_REQUIRE(strcmp(file->metadata[i].value, again->metadata[i].value) == 0);
        FUZZ_REQUIRE(lab_safetensors_metadata(file, file->metadata[i].key) != NULL);
    }
}

static void check_again(const lab_safetensors *file) {
    lab_safetensors again = {0};
    locus_error error = {0};
    const char *path = fuzz_path("again.safetensors");
    FUZZ_REQUIRE_SAYING(lab_safetensors_write(path, file->arrays, file->count, file->metadata, file->metadata_count,
                                              &error) == LOCUS_OK,
                        error.message);
    FUZZ_REQUIRE_SAYING(lab_safetensors_read(&again, path, &error) == LOCUS_OK, error.message);
    FUZZ_REQUIRE(file->count == again.count);
    for (size_t i = 0; i < file->count; i++) {
        FUZZ_REQUIRE(lab_safetensors_find(file, file->arrays[i].name) == &file->arrays[i]);
        check_array(&file->arrays[i], lab_safetensors_find(&again, file->arrays[i].name));
    }
    check_metadata(file, &again);
    lab_safetensors_close(&again);
    unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    lab_safetensors file = {0};
    locus_error error = {0};
    const locus_status status = lab_safetensors_read(&file, fuzz_file("input.safetensors", data, size), &error);
    if (status == LOCUS_OK) {
        check_again(&file);
        lab_safetensors_close(&file);
    } else {
        FUZZ_REQUIRE_SAYING(status == LOCUS_ERROR_IO, error.message);
        fuzz_check_failure(status, &error);
        FUZZ_REQUIRE(file.storage == NULL && file.count == 0);
    }
    return 0;
}
