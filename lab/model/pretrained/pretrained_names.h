/* SPDX-License-Identifier: MIT */
/* What a text classifier's tensors are called in BERT checkpoints of Hugging Face. */
#ifndef LAB_PRETRAINED_NAMES_H
#define LAB_PRETRAINED_NAMES_H

#include <stdbool.h>
#include <stddef.h>

enum { LAB_PRETRAINED_NAME = 128 }; /* bytes of a name */

/* The checkpoint's name of a tensor, without the model's prefix ("bert."), or false: the tensor is none of the
 * encoder's (the classifier, an encoding's own).
 *   embedding.weight                        embeddings.word_embeddings.weight
 *   types.weight                            embeddings.token_type_embeddings.weight
 *   position.table, of the first term       embeddings.position_embeddings.weight
 *   embedding_norm.…                        embeddings.LayerNorm.…
 *   encoder.L.self_attention.query|key|value.…   encoder.layer.L.attention.self.query|key|value.…
 *   encoder.L.self_attention.output.…       encoder.layer.L.attention.output.dense.…
 *   encoder.L.norm1|norm2.…                 encoder.layer.L.attention.output|output.LayerNorm.…
 *   encoder.L.feed_forward.up|down.…        encoder.layer.L.intermediate|output.dense.…
 *   pooler.…                                pooler.dense.… */
bool lab_pretrained_name(const char *own, char name[LAB_PRETRAINED_NAME]);

/* The older name of a LayerNorm's tensor, ….LayerNorm.gamma|beta; or false: it is none. */
bool lab_pretrained_old_name(const char *name, char old[LAB_PRETRAINED_NAME]);

/* Whether a file's tensor, without the prefix, is a weight of the encoder: position_ids and what belongs to heads are
 * not. */
bool lab_pretrained_is_encoder(const char *name);

#endif
