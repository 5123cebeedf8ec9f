/* SPDX-License-Identifier: MIT */
/* Names are translated from the model's side, piece by piece: a fixed beginning, or a layer's number and a part. */
#include "model/pretrained/pretrained_names.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct name_pair {
    const char *own, *theirs;
} name_pair;

static const name_pair beginnings[] = {
    {"embedding.", "embeddings.word_embeddings."},
    {"types.", "embeddings.token_type_embeddings."},
    {"embedding_norm.", "embeddings.LayerNorm."},
    {"pooler.", "pooler.dense."},
};

static const name_pair parts[] = {
    {"self_attention.query.", "attention.self.query."}, {"self_attention.key.", "attention.self.key."},
    {"self_attention.value.", "attention.self.value."}, {"self_attention.output.", "attention.output.dense."},
    {"norm1.", "attention.output.LayerNorm."},          {"norm2.", "output.LayerNorm."},
    {"feed_forward.up.", "intermediate.dense."},        {"feed_forward.down.", "output.dense."},
};

/* The encoding is "learned(size=P)", which may be the first of several terms, in the first of several encodings. */
static const char *const tables[] = {"position.table", "position.0.table", "position.0.0.table"};

static bool begins(const char *text, const char *with) {
    return strncmp(text, with, strlen(with)) == 0;
}

/* The pair that `own` begins with; its rest is what both sides share. */
static const name_pair *find(const name_pair *pairs, size_t count, const char *own) {
    for (size_t i = 0; i < count; ++i)
        if (begins(own, pairs[i].own))
            return &pairs[i];
    return NULL;
}

static bool layer_name(const char *own, char name[LAB_PRETRAINED_NAME]) {
    if (!begins(own, "encoder."))
        return false;
    char *rest;
    const unsigned long layer = strtoul(own + strlen("encoder."), &rest, 10);
    const name_pair *pair = *rest == '.' ? find(parts, sizeof parts / sizeof *parts, rest + 1) : NULL;
    if (pair == NULL)
        return false;
    (void)snprintf(name, LAB_PRETRAINED_NAME, "encoder.layer.%lu.%s%s", layer, pair->theirs,
                   rest + 1 + strlen(pair->own));
    return true;
}

bool lab_pretrained_name(const char *own, char name[LAB_PRETRAINED_NAME]) {
    for (size_t i = 0; i < sizeof tables / sizeof *tables; ++i)
        if (strcmp(own, tables[i]) == 0) {
            (void)snprintf(name, LAB_PRETRAINED_NAME, "embeddings.position_embeddings.weight");
            return true;
        }
    const name_pair *pair = find(beginnings, sizeof beginnings / sizeof *beginnings, own);
    if (pair == NULL)
        return layer_name(own, name);
    (void)snprintf(name, LAB_PRETRAINED_NAME, "%s%s", pair->theirs, own + strlen(pair->own));
    return true;
}

bool lab_pretrained_old_name(const char *name, char old[LAB_PRETRAINED_NAME]) {
    static const name_pair ends[] = {{"LayerNorm.weight", "gamma"}, {"LayerNorm.bias", "beta"}};
    const size_t length = strlen(name);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; ++i) {
        const size_t tail = strlen(ends[i].own), kept = strlen("LayerNorm.");
        if (length < tail || strcmp(name + length - tail, ends[i].own) != 0)
            continue;
        (void)snprintf(old, LAB_PRETRAINED_NAME, "%.*s%s", (int)(length - tail + kept), name, ends[i].theirs);
        return true;
    }
    return false;
}

bool lab_pretrained_is_encoder(const char *name) {
    return (begins(name, "embeddings.") || begins(name, "encoder.")) && strcmp(name, "embeddings.position_ids") != 0;
}
