/* SPDX-License-Identifier: MIT */
/* Hashes of what can be compared, for tables that callers keep; no defence against those who choose the input. Each
 * word goes through SplitMix64's finaliser (Steele, Lea and Flood 2014, Fast splittable pseudorandom number
 * generators). */
#ifndef LOCUS_HASH_H
#define LOCUS_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t locus_hash_word(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) + 0x9E3779B97F4A7C15u;
    hash = (hash ^ hash >> 30) * 0xBF58476D1CE4E5B9u;
    hash = (hash ^ hash >> 27) * 0x94D049BB133111EBu;
    return hash ^ hash >> 31;
}

static inline uint64_t locus_hash_bytes(uint64_t hash, const void *data, size_t bytes) {
    const char *at = data;
    for (size_t left = bytes; left > 0;) {
        uint64_t word = 0;
        const size_t piece = left < sizeof word ? left : sizeof word;
        memcpy(&word, at, piece);
        hash = locus_hash_word(hash, word);
        at += piece;
        left -= piece;
    }
    return locus_hash_word(hash, bytes);
}

#endif
