/* SPDX-License-Identifier: MIT */
/* Which rows belong together: chunks of the stream, and the same samples among the rows of a sublayer that leaves some
 * out. A stack of images is cut where samples end, so that a chunk's rows are next to each other in the stream and in
 * every sublayer. */
#include "model/stack.h"

static size_t sample_count(const lab_stack *stack) {
    return stack->tokens / stack->sample_tokens;
}

size_t lab_stack_chunks(const lab_stack *stack) {
    const size_t chunks = lab_chunk_count(stack->tokens);
    if (stack->sample_tokens == 0)
        return chunks;
    return chunks < sample_count(stack) ? chunks : sample_count(stack);
}

lab_rows lab_stack_samples(const lab_stack *stack, size_t chunk) {
    const size_t samples = sample_count(stack), chunks = lab_stack_chunks(stack);
    const size_t first = samples * chunk / chunks;
    return (lab_rows){first, samples * (chunk + 1) / chunks - first};
}

lab_rows lab_stack_chunk(const lab_stack *stack, size_t chunk) {
    if (stack->sample_tokens == 0)
        return lab_chunk_at(stack->tokens, chunk);
    const lab_rows samples = lab_stack_samples(stack, chunk);
    return (lab_rows){samples.first * stack->sample_tokens, samples.count * stack->sample_tokens};
}

size_t lab_sublayer_tokens(const lab_stack *stack, const lab_sublayer *sublayer) {
    return sublayer->before ? sublayer->before[sample_count(stack)] * stack->sample_tokens : stack->tokens;
}

lab_rows lab_sublayer_chunk(const lab_stack *stack, const lab_sublayer *sublayer, size_t chunk) {
    if (sublayer->before == NULL)
        return lab_stack_chunk(stack, chunk);
    const lab_rows samples = lab_stack_samples(stack, chunk);
    const size_t first = sublayer->before[samples.first], end = sublayer->before[samples.first + samples.count];
    return (lab_rows){first * stack->sample_tokens, (end - first) * stack->sample_tokens};
}

/* False: the sample is left out. */
static bool sample_row(const lab_stack *stack, const lab_sublayer *sublayer, size_t sample, size_t *row) {
    const size_t *before = sublayer ? sublayer->before : NULL;
    *row = (before ? before[sample] : sample) * stack->sample_tokens;
    return before == NULL || before[sample + 1] > before[sample];
}

static const lab_sublayer *branch_of(const lab_stack *stack, size_t j) {
    return j > 0 ? &stack->sublayers[j - 1] : NULL;
}

static const lab_sublayer *reader_of(const lab_stack *stack, size_t j) {
    return j < stack->sublayer_count ? &stack->sublayers[j] : NULL;
}

lab_sample_rows lab_join_sample(const lab_stack *stack, size_t j, size_t sample) {
    lab_sample_rows rows = {.stream = sample * stack->sample_tokens};
    rows.has_branch = sample_row(stack, branch_of(stack, j), sample, &rows.branch);
    rows.has_y = sample_row(stack, reader_of(stack, j), sample, &rows.y);
    return rows;
}

bool lab_join_thinned(const lab_stack *stack, size_t j) {
    const lab_sublayer *branch = branch_of(stack, j), *reader = reader_of(stack, j);
    return (branch && branch->before) || (reader && reader->before);
}

lab_numbers lab_sublayer_input(const lab_stack *stack, const lab_sublayer *sublayer) {
    const lab_stream_join *join = &stack->joins[sublayer - stack->sublayers];
    return lab_floats(sublayer->before && stack->stream_is_y ? join->packed : join->y);
}
