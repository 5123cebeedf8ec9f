/* SPDX-License-Identifier: MIT */
/* What a kind of attention has to say of itself. Each kind is one file that defines one attention_kind_class, and one
 * line in kind_registry.c. */
#ifndef LOCUS_ATTENTION_KIND_CLASS_H
#define LOCUS_ATTENTION_KIND_CLASS_H

#include "attention/attention_executor.h"
#include "spec/option.h"

#include <stdatomic.h>

enum { ATTENTION_KIND_OPTIONS_MAX = 4 };

typedef struct attention_kind_class {
    const locus_attention_kind_info *info;
    const attention_executor *executor;
    const attention_executor *contextual; /* of plans with a contextual term (cope); NULL: as others */
} attention_kind_class;

struct locus_attention_kind {
    atomic_size_t owners;
    const attention_kind_class *class;
    locus_option_value values[ATTENTION_KIND_OPTIONS_MAX]; /* in the class's order, defaults filled in */
};

/* The class of a kind; of softmax for NULL. */
const attention_kind_class *locus_attention_kind_class(const locus_attention_kind *kind);

/* An option that is an integer. */
static inline size_t locus_attention_kind_count(const locus_attention_kind *kind, size_t option) {
    return (size_t)kind->values[option].number;
}

#endif
