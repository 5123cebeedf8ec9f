/* SPDX-License-Identifier: MIT */
/* The names of runs. */
#include "train/configuration/config.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>

/* Letters, digits and dots of `from`, everything else as single dashes, none at the end. */
static void safe_text(char *to, size_t size, const char *from) {
    size_t used = 0;
    for (; *from != '\0' && used + 1 < size; from++) {
        bool plain = isalnum((unsigned char)*from) || *from == '.';
        if (plain || (used > 0 && to[used - 1] != '-'))
            to[used++] = plain ? *from : '-';
    }
    while (used > 0 && to[used - 1] == '-')
        used--;
    to[used] = '\0';
}

static void write_name(const lab_train_config *config, uint64_t hash, char *name, size_t size) {
    char encoding[41], budget[41], attention[LAB_ATTENTION_SIZE];
    safe_text(encoding, sizeof encoding, config->encoding);
    safe_text(budget, sizeof budget, config->budget); /* a store's may be anything */
    safe_text(attention, sizeof attention, config->model.attention);
    static const char *const inits[] = {"", "-unit", "-plain"}, *const positions[] = {"", "-positions"},
                             *const logits[] = {"", "-logits"}, *const precisions[] = {"", "-bf16"};
    const char *variant = lab_config_variant(config);
    snprintf(name, size, "%s%s%s-%s-%s%s%s%s%s%s%s%s%s-s%" PRIu64 "-%08" PRIx32, config->task->name,
             *variant != '\0' ? "-" : "", variant, encoding, budget,
             config->pretrained_digest != 0 ? "-pretrained" : "", *attention != '\0' ? "-" : "", attention,
             config->setup == LAB_SETUP_CODE ? "-code" : "", inits[config->model.embedding_init],
             positions[config->model.position_scale], logits[config->model.logit_scale],
             precisions[config->model.precision], config->seed, (uint32_t)(hash >> 32));
}

void lab_train_name(const lab_train_config *config, char *name, size_t size) {
    write_name(config, lab_config_hash(config), name, size);
}

void lab_train_older_name(const lab_train_config *config, char *name, size_t size) {
    write_name(config, lab_config_older_hash(config), name, size);
}
