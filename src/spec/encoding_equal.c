/* SPDX-License-Identifier: MIT */
/* Equality and hash of encodings: the same terms with the same values of their options, in the same order. Whether an
 * option that has a default was given makes no difference; of one without, not to give it says something of its own. */
#include "spec/class.h"

#include "algebra/group_access.h"
#include "core/hash.h"

#include <string.h>

static bool derives(const locus_term *term, size_t option) {
    return *term->class->info.options[option].initial == '\0';
}

static uint64_t bits_of(double number) {
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

static bool same_option(const locus_term *a, const locus_term *b, size_t option) {
    const locus_option_value *left = &a->options[option], *right = &b->options[option];
    return (left->given == right->given || !derives(a, option)) && left->choice == right->choice &&
           bits_of(left->number) == bits_of(right->number) && locus_group_equal(left->group, right->group) &&
           left->count == right->count &&
           (left->count == 0 || memcmp(left->list, right->list, left->count * sizeof *left->list) == 0);
}

int locus_encoding_equal(const locus_encoding *a, const locus_encoding *b) {
    if (a == b || !a || !b)
        return a == b;
    bool same = a->term_count == b->term_count;
    for (size_t i = 0; same && i < a->term_count; i++) {
        same = a->terms[i].class == b->terms[i].class;
        for (size_t o = 0; same && o < a->terms[i].class->info.option_count; o++)
            same = same_option(&a->terms[i], &b->terms[i], o);
    }
    return same;
}

static uint64_t hash_option(uint64_t hash, const locus_term *term, size_t option) {
    const locus_option_value *value = &term->options[option];
    hash = locus_hash_word(hash, derives(term, option) && value->given);
    hash = locus_hash_word(locus_hash_word(hash, value->choice), bits_of(value->number));
    hash = locus_hash_word(hash, locus_group_hash(value->group));
    return value->count > 0 ? locus_hash_bytes(hash, value->list, value->count * sizeof *value->list) : hash;
}

uint64_t locus_encoding_hash(const locus_encoding *encoding) {
    uint64_t hash = 0;
    for (size_t i = 0; encoding && i < encoding->term_count; i++) {
        const locus_term *term = &encoding->terms[i];
        hash = locus_hash_bytes(hash, term->class->info.name, strlen(term->class->info.name));
        for (size_t o = 0; o < term->class->info.option_count; o++)
            hash = hash_option(hash, term, o);
    }
    return hash;
}
