/* SPDX-License-Identifier: MIT */
/* The augmentation against torchvision on Pillow images (tools/golden_augment.py): its policy table, its magnitudes,
 * and every operation at several magnitudes and both signs. All bytes are equal, those of the geometry too. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "golden.h"
#include "task/images/augment.h"

#define SIDE 32
#define SIZE ((size_t)LAB_IMAGE_CHANNELS * SIDE * SIDE)

static void test_names(void **state) {
    golden_file golden;
    char joined[512] = "";
    (void)state;
    golden_open(&golden, "augment");
    for (int i = 0; i < LAB_IMAGE_OPERATIONS; i++) {
        strcat(joined, i == 0 ? "" : " ");
        strcat(joined, lab_image_operation_name((lab_image_operation)i));
    }
    assert_string_equal(joined, golden_text(&golden, 0, "operations"));
    golden_close(&golden);
}

static void test_policy(void **state) {
    golden_file golden;
    (void)state;
    golden_open(&golden, "augment");
    const lab_array *table = golden_array(&golden, 0, "policy");
    assert_int_equal(lab_array_count(table), LAB_SUB_POLICIES * 2 * 3);
    for (size_t i = 0; i < (size_t)LAB_SUB_POLICIES * 2; i++) {
        const int32_t *want = (const int32_t *)table->data + 3 * i;
        const lab_policy_step *step = &lab_policy[i / 2][i % 2];
        assert_int_equal(step->operation, want[0]);
        assert_int_equal(step->tenths, want[1]);
        if (want[2] >= 0) /* the paper gives every operation a level, torchvision only those that look at it */
            assert_int_equal(step->level, want[2]);
    }
    golden_close(&golden);
}

static void test_levels(void **state) {
    golden_file golden;
    (void)state;
    golden_open(&golden, "augment");
    const lab_array *levels = golden_array(&golden, 0, "levels"), *with_sign = golden_array(&golden, 0, "signed");
    assert_int_equal(lab_array_count(levels), LAB_IMAGE_OPERATIONS * LAB_AUGMENT_LEVELS);
    for (int i = 0; i < LAB_IMAGE_OPERATIONS; i++) {
        const lab_image_operation operation = (lab_image_operation)i;
        assert_int_equal(lab_image_operation_signed(operation), ((const int32_t *)with_sign->data)[i]);
        for (int level = 0; level < LAB_AUGMENT_LEVELS; level++) {
            double want = ((const double *)levels->data)[i * LAB_AUGMENT_LEVELS + level];
            if (operation == LAB_TRANSLATE_X || operation == LAB_TRANSLATE_Y)
                want = trunc(want); /* torchvision cuts it when it is used */
            const double got = lab_image_operation_value(operation, level, SIDE);
            if (!(fabs(got - want) <= 2e-7 * (1 + fabs(want)))) /* its magnitudes are float32 */
                fail_msg("%s at level %d: %.9g, torchvision has %.9g", lab_image_operation_name(operation), level, got,
                         want);
        }
    }
    golden_close(&golden);
}

static void read_image(const golden_file *golden, size_t index, uint8_t *pixels) {
    const int32_t *values = (const int32_t *)golden_array(golden, 0, "images")->data + index * SIZE;
    for (size_t i = 0; i < SIZE; i++)
        pixels[i] = (uint8_t)values[i];
}

static void test_operations(void **state) {
    golden_file golden;
    (void)state;
    golden_open(&golden, "augment");
    const lab_array *values = golden_array(&golden, 0, "value");
    const int32_t *which = golden_array(&golden, 0, "which")->data;
    const uint8_t *outputs = golden_array(&golden, 0, "output")->data;
    size_t seen[LAB_IMAGE_OPERATIONS] = {0}, wrong[LAB_IMAGE_OPERATIONS] = {0}, all = 0;
    for (size_t n = 0; n < lab_array_count(values); n++) {
        uint8_t pixels[SIZE], out[SIZE];
        const size_t operation = (size_t)which[2 * n];
        assert_true(operation < LAB_IMAGE_OPERATIONS);
        read_image(&golden, (size_t)which[2 * n + 1], pixels);
        lab_image_operate((lab_image_operation)operation, ((const double *)values->data)[n], pixels, SIDE, out);
        for (size_t i = 0; i < SIZE; i++)
            wrong[operation] += out[i] != outputs[n * SIZE + i];
        seen[operation]++;
    }
    for (int i = 0; i < LAB_IMAGE_OPERATIONS; i++) {
        assert_true(seen[i] >= 5);
        if (wrong[i] != 0)
            print_error("%s: %zu of %zu bytes differ\n", lab_image_operation_name((lab_image_operation)i), wrong[i],
                        seen[i] * SIZE);
        all += wrong[i];
    }
    assert_int_equal(all, 0);
    golden_close(&golden);
}

static void test_normalised(void **state) {
    golden_file golden;
    uint8_t pixels[SIZE];
    float out[SIZE];
    (void)state;
    golden_open(&golden, "augment");
    read_image(&golden, 0, pixels);
    lab_image_normalise(pixels, SIDE, out);
    assert_memory_equal(out, golden_array(&golden, 0, "normalised")->data, sizeof out);
    golden_close(&golden);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_names), cmocka_unit_test(test_policy),
                                       cmocka_unit_test(test_levels), cmocka_unit_test(test_operations),
                                       cmocka_unit_test(test_normalised)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
