/* SPDX-License-Identifier: MIT */
/* Pretrained encoders in Hugging Face's naming (BERT: Devlin et al. 2018): a folder with config.json, model.safetensors
 * and vocab.txt becomes a text classifier whose encoder has those weights.
 *
 * The checkpoint's learned positions are an encoding like any other: the model's encoding is "learned(size=P)", or that
 * plus what is asked for, "learned(size=512) + chebyshev(site=output)". Weights that a classifier adds (pooler if the
 * file has none, classifier) stay as they were drawn. A file's own heads (cls.…, classifier.…) are not read. */
#ifndef LAB_PRETRAINED_H
#define LAB_PRETRAINED_H

#include "model/model.h"

/* What config.json says, over a text classifier of config->classes classes: sizes, dropout, epsilon, norms after the
 * blocks and behind the embeddings, embeddings that are not scaled. What it says nothing of (classes, pool, head, label
 * smoothing, kind of attention) stays as it is in *config. `encoding` gets the text of the encoding, to which `more`
 * (NULL, "none": nothing) is added, and config->encoding points to it. UNSUPPORTED for what this model is not (another
 * activation, relative positions, a decoder), naming the key. */
locus_status lab_pretrained_config(const char *folder, const char *more, char *encoding, size_t size,
                                   lab_model_config *config, locus_error *error);

/* Reads the weights into a model of that configuration. The first tensor that is missing or has another shape is named,
 * and one of the encoder's that the model has no place for; nothing is changed then. */
locus_status lab_pretrained_load(lab_model *model, const char *folder, locus_error *error);

/* The first 8 bytes of the SHA-256 of model.safetensors; never 0. */
locus_status lab_pretrained_digest(const char *folder, uint64_t *digest, locus_error *error);

#endif
