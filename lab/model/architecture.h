/* SPDX-License-Identifier: MIT */
/* What an architecture has to say of itself: what it reads, what it has, and how it is called. What it computes is in
 * its file, lab/architectures/<name>.c. */
#ifndef LAB_ARCHITECTURE_H
#define LAB_ARCHITECTURE_H

#include "model/model.h"

typedef struct lab_architecture_class {
    const char *phrase;    /* "an encoder–decoder" */
    const char *reads;     /* "pairs of input and target" */
    const char *sample;    /* "sequence", "image" */
    const char *described; /* of a page's setting, with {fields} of a configuration */
    bool encoder, decoder; /* which stacks it has */
    bool vocabulary;       /* it reads tokens, which are embedded */
    bool trees;            /* which may be nodes of trees */
    bool memory;           /* its decoder looks at its encoder */
    bool classes;          /* it gives one of them, not tokens */
    bool token_types;      /* and a LayerNorm behind the embeddings, as BERT */
    bool stochastic_depth;
    /* Tokens of a batch that are read, but not predicted. */
    size_t (*read_only)(const lab_model_config *config, const lab_batch *batch);
} lab_architecture_class;

/* `architecture` is one of the enumeration's. */
const lab_architecture_class *lab_architecture_at(lab_architecture architecture);
/* Of a model's configuration. */
static inline const lab_architecture_class *lab_architecture_of(const lab_model_config *config) {
    return lab_architecture_at(config->architecture);
}

#endif
