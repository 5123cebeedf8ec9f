/* SPDX-License-Identifier: MIT */
/* See record.h. */
#include "io/record.h"

/* Bit by bit over the reflected polynomial: what is written so are curves, a few bytes at a time. */
uint32_t lab_crc32c(const void *data, size_t bytes) {
    const unsigned char *at = data;
    uint32_t sum = UINT32_MAX;
    for (size_t i = 0; i < bytes; i++) {
        sum ^= at[i];
        for (int bit = 0; bit < 8; bit++)
            sum = (sum >> 1) ^ (UINT32_C(0x82F63B78) & (0U - (sum & 1)));
    }
    return ~sum;
}

uint32_t lab_crc32c_masked(const void *data, size_t bytes) {
    const uint32_t sum = lab_crc32c(data, bytes);
    return ((sum >> 15) | (sum << 17)) + UINT32_C(0xa282ead8);
}

static void put_integer(unsigned char *to, uint64_t value, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        to[i] = (unsigned char)(value >> 8 * i);
}

void lab_record_write(FILE *stream, const void *data, size_t bytes) {
    unsigned char length[8], check[4];
    put_integer(length, bytes, sizeof length);
    put_integer(check, lab_crc32c_masked(length, sizeof length), sizeof check);
    fwrite(length, 1, sizeof length, stream);
    fwrite(check, 1, sizeof check, stream);
    fwrite(data, 1, bytes, stream);
    put_integer(check, lab_crc32c_masked(data, bytes), sizeof check);
    fwrite(check, 1, sizeof check, stream);
}
