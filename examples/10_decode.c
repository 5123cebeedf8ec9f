/* SPDX-License-Identifier: MIT */
/* Example 10: decoding with a key–value cache. Two sequences of different lengths are read in at once, then grow token
 * by token; the cache keeps their keys turned, so a step costs one append and one look at what is kept. Later the first
 * sequence slides: its oldest tokens but two go, and what is left moves up by a group element, without being computed
 * again. What comes out is what attention over whole sequences gives.
 *
 *   prefill | a0 a1 a2 a3 a4 | b0 b1 |     then a5 b2, a6 b3, … */
#include <locus/locus.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { HEADS = 4, KV_HEADS = 2, DIM = 8, A = 5, B = 2, STEPS = 6, TOKENS = A + B + 2 * STEPS };

static void need(locus_status status, const locus_error *error) {
    if (status != LOCUS_OK) {
        (void)fprintf(stderr, "%s\n", error->message);
        exit(1);
    }
}

/* A token's vectors, as its projections would leave them: made up of its number. */
static float number(size_t token, size_t which, size_t i) {
    return sinf((float)(1 + token) * 0.7F + (float)(which * 31 + i) * 1.3F);
}

static void fill(float *rows, size_t first, size_t count, size_t which, size_t heads) {
    for (size_t t = 0; t < count; t++)
        for (size_t i = 0; i < heads * DIM; i++)
            rows[t * heads * DIM + i] = number(first + t, which, i);
}

static locus_tensor view(float *rows, size_t tokens, size_t heads) {
    const int64_t shape[] = {(int64_t)tokens, (int64_t)heads, DIM};
    return locus_tensor_view(rows, LOCUS_FLOAT32, 3, shape);
}

/* Attention of the last query of sequence a over all of its tokens, without a cache. */
static void attend_whole(const locus_binding *binding, float *const rows[3], size_t tokens, float *output) {
    static float all[TOKENS * HEADS * DIM];
    const size_t offsets[] = {0, tokens};
    const locus_packing packing = {sizeof packing, 1, offsets, NULL};
    locus_attention_options options = locus_attention_default();
    options.mask = LOCUS_MASK_CAUSAL;
    locus_positions *positions;
    locus_plan *plan;
    locus_error error;
    need(locus_positions_create(&positions, NULL, &packing, NULL, &error), &error);
    need(locus_plan_create(&plan, binding, positions, NULL, &error), &error);
    locus_workspace workspace = {
        .bytes = locus_attention_workspace(plan, &options, LOCUS_FLOAT32, LOCUS_PASS_FORWARD, NULL)};
    workspace.data = locus_allocate(workspace.bytes);
    const locus_tensor q = view(rows[0], tokens, HEADS), k = view(rows[1], tokens, KV_HEADS),
                       v = view(rows[2], tokens, KV_HEADS), o = view(all, tokens, HEADS);
    const locus_attention_tensors tensors = {sizeof tensors, &q, &k, &v, &o, NULL};
    const locus_execution execution = locus_execution_in(workspace);
    need(locus_attention_forward(plan, &options, &tensors, &execution, &error), &error);
    for (size_t i = 0; i < HEADS * DIM; i++)
        output[i] = all[(tokens - 1) * HEADS * DIM + i];
    locus_release(workspace.data, workspace.bytes);
    locus_plan_destroy(&plan);
    locus_positions_destroy(&positions);
}

int main(void) {
    locus_shape shape = locus_shape_default();
    shape.heads = HEADS;
    shape.kv_heads = KV_HEADS;
    shape.head_dim = DIM;
    locus_encoding *encoding;
    locus_binding *binding;
    locus_cache *cache;
    locus_error error;
    need(locus_encoding_parse("rope + alibi", &encoding, &error), &error);
    need(locus_binding_create(&binding, encoding, &shape, NULL, 0, &error), &error);
    locus_cache_options options = locus_cache_options_default();
    options.sequences = 2;
    options.capacity = 64;
    need(locus_cache_create(&cache, binding, &options, &error), &error);

    /* Prefill: both sequences, packed. Token numbers of a run 0, 1, …, those of b 100, 101, … */
    static float q[TOKENS * HEADS * DIM], k[TOKENS * KV_HEADS * DIM], v[TOKENS * KV_HEADS * DIM],
        o[TOKENS * HEADS * DIM];
    const size_t offsets[] = {0, A, A + B};
    const locus_packing packing = {sizeof packing, 2, offsets, NULL};
    locus_positions *positions;
    need(locus_positions_create(&positions, NULL, &packing, NULL, &error), &error);
    fill(k, 0, A, 1, KV_HEADS), fill(k + A * KV_HEADS * DIM, 100, B, 1, KV_HEADS);
    fill(v, 0, A, 2, KV_HEADS), fill(v + A * KV_HEADS * DIM, 100, B, 2, KV_HEADS);
    const locus_tensor many_keys = view(k, A + B, KV_HEADS), many_values = view(v, A + B, KV_HEADS);
    need(locus_cache_append(cache, positions, &many_keys, &many_values, NULL, &error), &error);
    locus_positions_destroy(&positions);

    /* Steps: one token of each sequence, at its next position. */
    const locus_tensor queries = view(q, 2, HEADS), keys = view(k, 2, KV_HEADS), values = view(v, 2, KV_HEADS),
                       output = view(o, 2, HEADS);
    for (size_t step = 0; step < STEPS; step++) {
        for (size_t s = 0; s < 2; s++) {
            const size_t token = s == 0 ? A + step : 100 + B + step;
            fill(q + s * HEADS * DIM, token, 1, 0, HEADS);
            fill(k + s * KV_HEADS * DIM, token, 1, 1, KV_HEADS);
            fill(v + s * KV_HEADS * DIM, token, 1, 2, KV_HEADS);
        }
        need(locus_cache_append(cache, NULL, &keys, &values, NULL, &error), &error);
        need(locus_cache_attend(cache, NULL, &queries, &output, NULL, &error), &error);
        (void)printf("step %zu: a keeps %zu tokens, b %zu; o_a = (%.4f, …), o_b = (%.4f, …)\n", step,
                     locus_cache_length(cache, 0), locus_cache_length(cache, 1), (double)o[0], (double)o[HEADS * DIM]);
    }

    /* The same without a cache: all of sequence a at once. */
    static float all[3][TOKENS * HEADS * DIM], whole[HEADS * DIM];
    const size_t tokens = A + STEPS, of[] = {HEADS, KV_HEADS, KV_HEADS};
    for (size_t which = 0; which < 3; which++)
        fill(all[which], 0, tokens, which, of[which]);
    attend_whole(binding, (float *const[]){all[0], all[1], all[2]}, tokens, whole);
    float worst = 0;
    for (size_t i = 0; i < HEADS * DIM; i++)
        worst = fmaxf(worst, fabsf(whole[i] - o[i]));
    (void)printf("attention over all of a: apart by %.1e\n", (double)worst);

    /* Sliding: tokens 2 to 5 of a go; those behind move to positions 2, 3, … by −4. */
    locus_path *back;
    need(locus_path_parse(locus_binding_group(binding), "-4", &back, &error), &error);
    need(locus_cache_evict(cache, 0, 2, 4, back, NULL, &error), &error);
    locus_path_destroy(&back);
    need(locus_cache_attend(cache, NULL, &queries, &output, NULL, &error), &error);
    for (size_t which = 0; which < 3; which++)
        fill(all[which] + 2 * of[which] * DIM, 6, tokens - 6, which, of[which]);
    attend_whole(binding, (float *const[]){all[0], all[1], all[2]}, tokens - 4, whole);
    float moved = 0;
    for (size_t i = 0; i < HEADS * DIM; i++)
        moved = fmaxf(moved, fabsf(whole[i] - o[i]));
    (void)printf("a keeps %zu tokens after sliding, as if they had always stood there: apart by %.1e\n",
                 locus_cache_length(cache, 0), (double)moved);
    locus_cache_destroy(&cache);
    locus_binding_destroy(&binding);
    locus_encoding_destroy(&encoding);
    return worst > 1e-5F || moved > 1e-5F;
}
