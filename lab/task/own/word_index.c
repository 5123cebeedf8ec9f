/* SPDX-License-Identifier: MIT */
/* Open addressing over FNV-1a; at most half of the slots are taken. */
#include "task/own/word_index.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static size_t hash(const char *word, size_t bytes) {
    uint64_t sum = 0xcbf29ce484222325u;
    for (size_t i = 0; i < bytes; i++)
        sum = (sum ^ (unsigned char)word[i]) * 0x100000001b3u;
    return (size_t)(sum ^ sum >> 32);
}

/* The slot that has the word, or is free for it; there are slots. */
static size_t slot_of(const lab_word_index *index, const char *word, size_t bytes) {
    size_t slot = hash(word, bytes) % index->slot_count;
    for (size_t number; (number = index->slots[slot]) != 0; slot = (slot + 1) % index->slot_count)
        if (index->bytes[number - 1] == bytes && memcmp(index->words[number - 1], word, bytes) == 0)
            break;
    return slot;
}

static bool enlarge(lab_word_index *index) {
    const size_t room = index->room == 0 ? 64 : 2 * index->room;
    char **words = realloc(index->words, room * sizeof *words);
    index->words = words != NULL ? words : index->words;
    size_t *bytes = realloc(index->bytes, room * sizeof *bytes);
    index->bytes = bytes != NULL ? bytes : index->bytes;
    size_t *slots = calloc(2 * room, sizeof *slots);
    if (words == NULL || bytes == NULL || slots == NULL) {
        free(slots);
        return false;
    }
    free(index->slots);
    index->slots = slots;
    index->slot_count = 2 * room;
    index->room = room;
    for (size_t i = 0; i < index->count; i++)
        index->slots[slot_of(index, index->words[i], index->bytes[i])] = i + 1;
    return true;
}

size_t lab_word_find(const lab_word_index *index, const char *word, size_t bytes) {
    const size_t number = index->slot_count == 0 ? 0 : index->slots[slot_of(index, word, bytes)];
    return number == 0 ? SIZE_MAX : number - 1;
}

size_t lab_word_add(lab_word_index *index, const char *word, size_t bytes) {
    const size_t found = lab_word_find(index, word, bytes);
    if (found != SIZE_MAX)
        return found;
    if (index->count == index->room && !enlarge(index))
        return SIZE_MAX;
    char *copy = malloc(bytes + 1);
    if (copy == NULL)
        return SIZE_MAX;
    memcpy(copy, word, bytes);
    copy[bytes] = '\0';
    index->words[index->count] = copy;
    index->bytes[index->count] = bytes;
    index->slots[slot_of(index, word, bytes)] = index->count + 1;
    return index->count++;
}

void lab_word_index_free(lab_word_index *index) {
    for (size_t i = 0; i < index->count; i++)
        free(index->words[i]);
    free(index->words);
    free(index->bytes);
    free(index->slots);
    *index = (lab_word_index){0};
}
