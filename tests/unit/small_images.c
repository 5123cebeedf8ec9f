/* SPDX-License-Identifier: MIT */
/* Draws stripes and noise, and writes them as CIFAR-10's files. */
#include "unit/small_images.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

enum { PIXELS = 3072 };

/* Class k: stripes that are 2 + k pixels wide, some bits of noise. */
static void write_images(const char *folder, const char *name, size_t count, uint32_t random) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    for (size_t i = 0; i < count; i++) {
        unsigned char record[1 + PIXELS];
        record[0] = (unsigned char)(i % 10);
        for (size_t p = 0; p < PIXELS; p++) {
            random = random * 1664525u + 1013904223u;
            record[1 + p] = (unsigned char)((p % 32 / (2 + record[0]) % 2) * 180 + (random >> 26));
        }
        assert_int_equal(fwrite(record, 1, sizeof record, file), sizeof record);
    }
    assert_int_equal(fclose(file), 0);
}

void small_images_write(const char *folder, size_t each, size_t tests) {
    for (unsigned i = 1; i <= 5; i++) {
        char name[32];
        snprintf(name, sizeof name, "data_batch_%u.bin", i);
        write_images(folder, name, each, i);
    }
    write_images(folder, "test_batch.bin", tests, 77);
}
