/* SPDX-License-Identifier: MIT */
/* CRC-32C by published answers, and records as TensorBoard reads them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "io/record.h"

#include <stdio.h>
#include <string.h>

/* RFC 3720, appendix B.4, and the check value of the catalogues of such sums. */
static void test_published_sums(void **state) {
    (void)state;
    unsigned char bytes[32];
    memset(bytes, 0, sizeof bytes);
    assert_int_equal(lab_crc32c(bytes, sizeof bytes), 0x8A9136AA);
    memset(bytes, 0xFF, sizeof bytes);
    assert_int_equal(lab_crc32c(bytes, sizeof bytes), 0x62A8AB43);
    for (unsigned char i = 0; i < 32; i++)
        bytes[i] = i;
    assert_int_equal(lab_crc32c(bytes, sizeof bytes), 0x46DD794E);
    assert_int_equal(lab_crc32c("123456789", 9), 0xE3069283);
    assert_int_equal(lab_crc32c(bytes, 0), 0);
}

/* A record of 24 bytes begins as every event file does whose first record has that length. */
static void test_framing(void **state) {
    (void)state;
    static const unsigned char head[12] = {0x18, 0, 0, 0, 0, 0, 0, 0, 0xa3, 0x7f, 0x4b, 0x22};
    const char data[24] = "abcdefghijklmnopqrstuvw";
    unsigned char bytes[64];
    FILE *file = tmpfile();
    assert_non_null(file);
    lab_record_write(file, data, sizeof data);
    rewind(file);
    assert_int_equal(fread(bytes, 1, sizeof bytes, file), 8 + 4 + 24 + 4);
    fclose(file);
    assert_memory_equal(bytes, head, sizeof head);
    assert_memory_equal(bytes + 12, data, sizeof data);
    const uint32_t sum = lab_crc32c(data, sizeof data);
    const uint32_t masked = (sum >> 15 | sum << 17) + 0xa282ead8U;
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(bytes[36 + i], masked >> 8 * i & 0xFF);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_published_sums), cmocka_unit_test(test_framing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
