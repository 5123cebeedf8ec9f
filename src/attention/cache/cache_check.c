/* SPDX-License-Identifier: MIT */
/* What tensors of new tokens must be, packed or with their sequences apart, for a cache that appends or attends. */
#include "attention/attention_check.h"
#include "attention/cache/cache_inside.h"

#include "core/error.h"
#include "spec/row_check.h"

/* Tokens of the longest sequence; NULL: one each. */
static size_t longest_of(const locus_positions *positions) {
    size_t longest = positions ? 0 : 1;
    for (size_t s = 0; positions && s < locus_positions_sequences(positions); s++) {
        const size_t count = locus_positions_sequence(positions, s).count;
        longest = count > longest ? count : longest;
    }
    return longest;
}

locus_status locus_cache_check_append(const locus_cache *cache, const locus_positions *positions,
                                      const locus_tensor *key, const locus_tensor *value, locus_error *error) {
    const size_t tokens = positions ? locus_positions_tokens(positions) : cache->sequences;
    locus_status status = locus_growing_check(cache->growing, positions, true, error);
    const size_t longest = status == LOCUS_OK ? longest_of(positions) : 0;
    locus_rows_wanted wanted = {
        "key", key, LOCUS_ROWS_HEADS, false, tokens, cache->kv_heads, cache->keys.dim, cache->sequences, longest};
    if (status == LOCUS_OK)
        status = locus_rows_check(&wanted, error);
    wanted.name = "value";
    wanted.tensor = value;
    wanted.dim = cache->values.dim;
    return status == LOCUS_OK ? locus_rows_check(&wanted, error) : status;
}

locus_status locus_cache_check_attend(const locus_cache *cache, const locus_attention_options *options,
                                      const locus_tensor *query, const locus_tensor *output, locus_error *error) {
    if (!locus_growing_entered(cache->growing))
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "cache",
                          "there are no new tokens whose queries could attend: append first (and again after their "
                          "tokens have been truncated, evicted or followed by inserted ones)");
    const locus_attention_kind_info *kind = locus_attention_kind_entry(options->kind);
    if (!(kind->abilities & LOCUS_ATTENTION_SCORES))
        return locus_fail(error, LOCUS_ERROR_UNSUPPORTED, "kind",
                          "a cache keeps what softmax attention needs, not what %s attention does: leave kind NULL",
                          kind->name);
    locus_status status = locus_attention_check_mask(locus_growing_fresh(cache->growing), options->mask, error);
    if (status != LOCUS_OK)
        return status;
    const size_t tokens = locus_growing_tokens(cache->growing);
    const size_t longest = locus_token_side_longest(locus_plan_side(locus_growing_kept(cache->growing), false));
    locus_rows_wanted wanted = {"query",      query,           LOCUS_ROWS_HEADS, false,  tokens,
                                cache->heads, cache->keys.dim, cache->sequences, longest};
    status = locus_rows_check(&wanted, error);
    wanted.name = "output";
    wanted.tensor = output;
    wanted.written = true;
    wanted.dim = cache->values.dim;
    return status == LOCUS_OK ? locus_rows_check(&wanted, error) : status;
}
