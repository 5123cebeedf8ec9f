/* SPDX-License-Identifier: MIT */
/* Records laid end to end as TensorFlow's TFRecord files have them
 * (tensorflow.org/tutorials/load_data/tfrecord, "TFRecords format details"):
 *
 *   length   8 bytes     of the data
 *   check    4 bytes     masked CRC-32C of the length's bytes
 *   data     length bytes
 *   check    4 bytes     masked CRC-32C of the data
 *
 * Numbers are little-endian. A checksum c is masked as ((c >> 15) | (c << 17)) + 0xa282ead8, so that a checksum of data
 * that hold checksums is none of a simple sum. */
#ifndef LAB_RECORD_H
#define LAB_RECORD_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* CRC-32C (Castagnoli; RFC 3720, appendix B.4), not masked. */
uint32_t lab_crc32c(const void *data, size_t bytes);
uint32_t lab_crc32c_masked(const void *data, size_t bytes);

/* Write errors show in the stream (ferror). */
void lab_record_write(FILE *stream, const void *data, size_t bytes);

#endif
