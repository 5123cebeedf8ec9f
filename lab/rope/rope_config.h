/* SPDX-License-Identifier: MIT */
/* The rotary settings of a model's configuration (config.json of a Hugging Face checkpoint) as a locus spec: from plain
 * values, without JSON or files, which those who call have their own of (the program: io/rope_file.h).
 *
 *   {"model_type": "gemma3_text", "rope_theta": 1e6,          5*rope(pairs=half) /
 *    "rope_local_base_freq": 1e4, "rope_scaling":       ↦     rope(pairs=half, base=1000000, scaling=linear, factor=8)
 *    {"rope_type": "linear", "factor": 8}, …}
 *
 * Read as the transformers library reads it, in the old layout (rope_theta and rope_scaling) and the new one
 * (rope_parameters, for all layers or for each type of them). Only facts of the configuration are used, and what a
 * family of models leaves unsaid: its order of pairs, its default base, where its layers have no positions. */
#ifndef LAB_ROPE_CONFIG_H
#define LAB_ROPE_CONFIG_H

#include "rope/rope_value.h"

#include <locus/status.h>
#include <stdbool.h>
#include <stddef.h>

#define LAB_ROPE_NOTES_MAX 32

typedef struct lab_rope_note {
    char text[320];
    bool minor; /* beside the rotary encoding: a window, a cap */
} lab_rope_note;

typedef struct lab_rope_config {
    char *spec;      /* canonical text of a pattern (locus/pattern.h), owned: positions, chunks and temperatures */
    char *attention; /* the same with everything that a spec can say of attention: scale, cap, window, sinks; owned */
    char model_type[64];
    size_t head_dim; /* 0: not said */
    size_t length;   /* max_position_embeddings; 0: not said */
    size_t note_count;
    lab_rope_note notes[LAB_ROPE_NOTES_MAX];
} lab_rope_config;

/* Reads `root`, an object, which nothing keeps. ARGUMENT, with one line that names the field and has the configuration
 * as its subject ("has a field …"), for a rope type that nobody knows, fields that contradict each other or are
 * missing. Fields that mean nothing become notes. Free it in either case. */
locus_status lab_rope_read(lab_rope_config *config, const lab_value *root, locus_error *error);
void lab_rope_config_free(lab_rope_config *config);

#endif
