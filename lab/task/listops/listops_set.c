/* SPDX-License-Identifier: MIT */
/* Sets of expressions that are read: each is evaluated and held against the class that stands beside it. */
#include "task/listops/listops.h"

#include "io/fail.h"
#include "io/grow.h"

#include <stdlib.h>
#include <string.h>

#define MOST_TOKENS ((size_t)1 << 28)

static bool fit_samples(lab_listops_builder *builder) {
    lab_dataset *set = builder->set;
    if (set->samples + 1 < builder->sample_room)
        return true;
    size_t room = builder->sample_room;
    if (!LAB_GROW(set->input_offsets, room, room, 1024))
        return false;
    set->input_offsets[0] = 0;
    const bool good = lab_enlarge(&set->labels, room);
    builder->sample_room = good ? room : builder->sample_room;
    return good;
}

static bool fit_tokens(lab_listops_builder *builder, size_t tokens) {
    lab_dataset *set = builder->set;
    if (tokens <= builder->token_room)
        return true;
    const size_t room = tokens + tokens / 2 + 65536;
    const bool good = lab_enlarge(&set->input, room) && lab_enlarge(&set->input_tree.parents, room) &&
                      lab_enlarge(&set->input_tree.branches, room);
    builder->token_room = good ? room : builder->token_room;
    return good;
}

/* What the reader has read last. */
static locus_status append(lab_listops_builder *builder, int32_t label, locus_error *error) {
    lab_dataset *set = builder->set;
    const lab_listops_reader *from = &builder->reader;
    const size_t start = set->samples > 0 ? set->input_offsets[set->samples] : 0, end = start + from->count;
    if (end > MOST_TOKENS)
        return lab_fail(error, LOCUS_ERROR_IO, "data", "the set has more than %zu tokens", MOST_TOKENS);
    if (!fit_samples(builder) || !fit_tokens(builder, end))
        return lab_fail_memory(error, "a data set");
    memcpy(set->input + start, from->tokens, from->count * sizeof *from->tokens);
    memcpy(set->input_tree.parents + start, from->parents, from->count * sizeof *from->parents);
    memcpy(set->input_tree.branches + start, from->branches, from->count * sizeof *from->branches);
    set->labels[set->samples++] = label;
    set->input_offsets[set->samples] = end;
    return LOCUS_OK;
}

locus_status lab_listops_append(lab_listops_builder *builder, const char *text, int32_t told, locus_error *error) {
    const locus_status status = lab_listops_read(&builder->reader, text, error);
    const lab_listops_findings *found = &builder->reader.found;
    const bool parity = builder->asked == LAB_ASKED_PARITY;
    if (status != LOCUS_OK)
        return status;
    if (found->arguments > builder->arguments) {
        return lab_fail(error, LOCUS_ERROR_IO, "arguments", "an operator has %zu arguments, the most expected is %zu",
                        found->arguments, builder->arguments);
    }
    if (told != found->value && !(parity && told == found->value % 2)) {
        return lab_fail(error, LOCUS_ERROR_IO, "data", "the Target is %d, but the expression's value is %d%s",
                        (int)told, (int)found->value,
                        !parity && told == found->value % 2 ? " (parities need --target parity)" : "");
    }
    return append(builder, parity ? found->value % 2 : found->value, error);
}
