/* SPDX-License-Identifier: MIT */
/* What an architecture has to say of itself. Each is one file of lab/architectures, which defines a lab_<name>, and one
 * line of the list below. Models, feeds, trainings, pages and commands ask it; a kind of task names the one that reads
 * its samples, and a configuration points to it. */
#ifndef LAB_ARCHITECTURE_H
#define LAB_ARCHITECTURE_H

#include "model/model.h"

struct lab_arena;
struct lab_batch_pass;
struct lab_batch_size;
struct lab_dataset;
struct lab_declaration;
struct lab_feed;
struct lab_feed_request;

typedef struct lab_architecture {
    const char *name;          /* in stores: "encoder-decoder" */
    const char *phrase;        /* "an encoder–decoder" */
    const char *reads;         /* "pairs of input and target" */
    const char *sample;        /* "sequence", "image" */
    const char *described;     /* of a page's setting, with {fields} of a configuration */
    lab_model_config defaults; /* the published ones, with encoding "none"; set-up paper */

    bool encoder, decoder; /* which stacks it has; a decoder alone goes on with prompts */
    bool memory;           /* its decoder looks at its encoder */
    bool vocabulary;       /* it reads tokens, which are embedded */
    bool trees;            /* which may be nodes of trees */
    bool images;           /* it reads images, whose tokens are the places of a grid */
    bool classes;          /* it gives one of them, not tokens */
    bool token_types;      /* and a LayerNorm behind the embeddings: a pretrained encoder fits in */
    bool stochastic_depth;
    size_t part_size; /* bytes of what it alone has: lab_model.part, which begins as zeros */

    /* Declares parameters (model_parts.h), in the order of checkpoints, and says how many columns of sums the end of
     * its encoder has. */
    void (*declare)(struct lab_declaration *declaration, lab_model *model);
    /* Takes a batch's activations from the arena, in the order in which they are computed. */
    void (*place)(struct lab_arena *arena, lab_model *model, const struct lab_batch_size *size);
    /* Forward and, in training, backward; dropout has been armed. Of what gives classes `score` may be NULL: nothing is
     * compared with labels then. */
    locus_status (*run)(lab_model *model, const lab_batch *batch, const struct lab_batch_pass *pass, lab_score *score,
                        locus_error *error);

    bool (*holds)(const struct lab_dataset *set); /* whether a set is what it reads */
    /* What else must be true of such a set for this model; NULL: nothing. */
    locus_status (*check)(const lab_model_config *config, const struct lab_dataset *set, locus_error *error);
    /* Opens the feed of such a set's batches (train/feed/feed.h); NULL: packed samples. */
    locus_status (*feed)(struct lab_feed *feed, const struct lab_feed_request *request, locus_error *error);
} lab_architecture;

/* clang-format off */
#define LAB_ARCHITECTURES(_) \
    _(encoder_decoder) \
    _(image_classifier) \
    _(decoder) \
    _(text_classifier)
/* clang-format on */

#define LAB_ARCHITECTURE_DECLARED(name) extern const lab_architecture lab_##name;
LAB_ARCHITECTURES(LAB_ARCHITECTURE_DECLARED)
#undef LAB_ARCHITECTURE_DECLARED

const lab_architecture *lab_architecture_at(size_t index); /* NULL: there are no more */
/* The one that reads this set; NULL: none does. */
const lab_architecture *lab_architecture_for(const struct lab_dataset *set);

/* What the defaults of all have. */
#define LAB_ARCHITECTURE_DEFAULTS(own, layout) \
    .architecture = &(own), .norm = layout, .attention_dropout = 0.1, .attention_dropout_on = LOCUS_DROPOUT_WEIGHTS, \
    .encoding = "none"
/* And of those that read tokens. */
#define LAB_TOKEN_DEFAULTS .dim = 512, .heads = 8, .dropout = 0.1, .embedding_init = LAB_EMBEDDING_SCALED

#endif
