/* SPDX-License-Identifier: MIT */
/* Caches that are given tensors whose sequences stand apart, [sequences, heads, length, dim], keep the same bits as
 * those that are given packed ones, and attention over them has the same. So has re-basing. */
#include "attention/cache/cache_inside.h"
#include "cache_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SLACK = 2 };

static size_t longest_of(const cache_case *c, const cache_part *part) {
    size_t longest = 0;
    for (size_t s = 0; s < c->sequences; s++)
        longest = part->count[s] > longest ? part->count[s] : longest;
    return longest;
}

/* Room for a part's tokens, apart: heads outermost, or tokens as in a projection, transposed. Numbers are NaN. */
static locus_tensor room(const cache_case *c, const cache_part *part, const locus_tensor *like, bool transposed) {
    const int64_t sequences = (int64_t)c->sequences, heads = like->shape[1], dim = like->shape[2];
    const int64_t length = (int64_t)longest_of(c, part) + SLACK;
    const size_t bytes = (size_t)(sequences * heads * length * dim) * locus_dtype_size(like->dtype);
    locus_tensor tensor = {.data = malloc(bytes),
                           .dtype = like->dtype,
                           .rank = 4,
                           .shape = {sequences, heads, length, dim},
                           .stride = {heads * length * dim, length * dim, dim, 1}};
    if (transposed) {
        tensor.stride[1] = dim;
        tensor.stride[2] = heads * dim;
    }
    assert_non_null(tensor.data);
    memset(tensor.data, 0xff, bytes);
    return tensor;
}

/* Every token's rows between a packed tensor and one that is apart. */
static void copy(const cache_case *c, const cache_part *part, const locus_tensor *from, const locus_tensor *to) {
    for (size_t s = 0; s < c->sequences; s++)
        for (size_t h = 0; h < (size_t)to->shape[1]; h++) {
            const cache_rows source = locus_cache_rows_of(from, h, s, part->offsets[s]);
            const cache_rows target = locus_cache_rows_of(to, h, s, part->offsets[s]);
            locus_cache_convert(part->count[s], (size_t)to->shape[to->rank - 1], &source, &target);
        }
}

static locus_tensor spread(const cache_case *c, const cache_part *part, char which, locus_dtype dtype) {
    locus_tensor packed = cache_case_rows(c, part, which, dtype);
    const locus_tensor tensor = room(c, part, &packed, which == 'k');
    copy(c, part, &packed, &tensor);
    cache_case_free(&packed);
    return tensor;
}

static void assert_same_kept(const cache_case *a, const cache_case *b) {
    for (size_t s = 0; s < a->sequences; s++)
        for (int keys = 0; keys < 2; keys++) {
            const locus_tensor one = keys ? locus_cache_keys(a->cache, s) : locus_cache_values(a->cache, s);
            const locus_tensor other = keys ? locus_cache_keys(b->cache, s) : locus_cache_values(b->cache, s);
            assert_int_equal(one.shape[0], other.shape[0]);
            for (size_t i = 0; i < (size_t)one.shape[0]; i++)
                for (size_t h = 0; h < a->kv_heads; h++)
                    for (size_t j = 0; j < (size_t)one.shape[2]; j++) {
                        const double have = cache_case_number(&other, i, h, j), want = cache_case_number(&one, i, h, j);
                        if (memcmp(&have, &want, sizeof have) != 0)
                            fail_msg("%s: row %zu of sequence %zu: %.17g apart, %.17g packed", a->spec, i, s, have,
                                     want);
                    }
        }
}

static void append_both(cache_case *a, cache_case *b, const cache_part *part, locus_dtype dtype) {
    locus_positions *positions = cache_case_positions(a, part);
    locus_tensor k = cache_case_rows(a, part, 'k', dtype), v = cache_case_rows(a, part, 'v', dtype);
    locus_tensor wide_k = spread(b, part, 'k', dtype), wide_v = spread(b, part, 'v', dtype);
    locus_error error;
    cache_case_need(a, locus_cache_append(a->cache, positions, &k, &v, NULL, &error), &error);
    cache_case_need(b, locus_cache_append(b->cache, positions, &wide_k, &wide_v, NULL, &error), &error);
    locus_positions_destroy(&positions);
    cache_case_free(&k);
    cache_case_free(&v);
    cache_case_free(&wide_k);
    cache_case_free(&wide_v);
}

/* What lies behind a sequence's tokens stays as it was. */
static void assert_gaps_whole(const cache_case *c, const cache_part *part, const locus_tensor *tensor) {
    const size_t size = locus_dtype_size(tensor->dtype), row = (size_t)tensor->shape[3] * size;
    for (size_t s = 0; s < c->sequences; s++)
        for (size_t h = 0; h < (size_t)tensor->shape[1]; h++)
            for (size_t i = part->count[s]; i < (size_t)tensor->shape[2]; i++) {
                const cache_rows rows = locus_cache_rows_of(tensor, h, s, part->offsets[s]);
                const unsigned char *at = (const unsigned char *)rows.data + i * (size_t)rows.stride * size;
                for (size_t b = 0; b < row; b++)
                    assert_int_equal(at[b], 0xff);
            }
}

static void attend_both(cache_case *a, cache_case *b, const cache_part *part, locus_dtype dtype) {
    const size_t tokens = part->offsets[a->sequences];
    locus_tensor q = cache_case_rows(a, part, 'q', dtype), wide_q = spread(b, part, 'q', dtype);
    locus_tensor o = cache_case_zeros(tokens, a->heads, a->value_dim, dtype);
    locus_tensor back = cache_case_zeros(tokens, a->heads, a->value_dim, dtype);
    locus_tensor wide_o = room(b, part, &o, true);
    locus_error error;
    cache_case_need(a, locus_cache_attend(a->cache, NULL, &q, &o, NULL, &error), &error);
    cache_case_need(b, locus_cache_attend(b->cache, NULL, &wide_q, &wide_o, NULL, &error), &error);
    assert_gaps_whole(b, part, &wide_o);
    copy(b, part, &wide_o, &back);
    if (memcmp(o.data, back.data, tokens * a->heads * a->value_dim * locus_dtype_size(dtype)) != 0)
        fail_msg("%s: attention over a cache has other bits", a->spec);
    locus_tensor *const all[] = {&q, &wide_q, &o, &back, &wide_o};
    for (size_t i = 0; i < 5; i++)
        cache_case_free(all[i]);
}

static void check_case(const char *spec, size_t sequences, locus_dtype kept, locus_dtype given) {
    cache_case both[2];
    for (size_t i = 0; i < 2; i++) {
        both[i] = (cache_case){.spec = spec, .dtype = kept, .sequences = sequences, .lengths = {40, 0, 23}, .start = 5};
        cache_case_open(&both[i]);
    }
    cache_part part = {.first = {0}};
    for (size_t at = 0; cache_case_next(&both[0], &part, &at);) {
        append_both(&both[0], &both[1], &part, given);
        if (part.offsets[sequences] > 0)
            attend_both(&both[0], &both[1], &part, given);
    }
    assert_same_kept(&both[0], &both[1]);
    cache_case_close(&both[0]);
    cache_case_close(&both[1]);
}

static void both_layouts_keep_and_attend_the_same(void **state) {
    (void)state;
    static const char *const specs[] = {"none",
                                        "rope",
                                        "rope(side=key)",
                                        "rope + alibi",
                                        "algebraic(group=seq, values=on)",
                                        "algebraic(group=tree:2, values=on)",
                                        "liere(group=grid:2)",
                                        "t5"};
    static const locus_dtype types[] = {LOCUS_FLOAT32, LOCUS_FLOAT64, LOCUS_FLOAT16, LOCUS_BFLOAT16};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
        for (size_t d = 0; d < 4; d++) {
            check_case(specs[i], 1, types[d], types[d]);
            check_case(specs[i], 3, types[d], types[d]);
            check_case(specs[i], 3, types[d], types[(d + i) % 4]);
        }
}

/* One token for each sequence, as a step of decoding has it: [sequences, heads, 1, dim]. */
static void a_step_without_positions_takes_one_token_each(void **state) {
    (void)state;
    cache_case both[2];
    for (size_t i = 0; i < 2; i++) {
        both[i] = (cache_case){
            .spec = "rope", .dtype = LOCUS_FLOAT32, .sequences = 3, .lengths = {4, 4, 4}, .start = 0, .room = 8};
        cache_case_open(&both[i]);
    }
    const cache_part one = {.first = {0}, .count = {1, 1, 1}, .offsets = {0, 1, 2, 3}};
    locus_tensor k = cache_case_rows(&both[0], &one, 'k', LOCUS_FLOAT32);
    locus_tensor v = cache_case_rows(&both[0], &one, 'v', LOCUS_FLOAT32);
    locus_error error;
    for (size_t step = 0; step < 3; step++) {
        locus_tensor wide_k = k, wide_v = v; /* the same memory */
        wide_k.rank = wide_v.rank = 4;
        for (size_t i = 0; i < 2; i++) {
            locus_tensor *wide = i ? &wide_v : &wide_k;
            const locus_tensor *narrow = i ? &v : &k;
            const int64_t shape[] = {3, narrow->shape[1], 1, narrow->shape[2]};
            const int64_t stride[] = {narrow->stride[0], narrow->stride[1], 12345, 1};
            memcpy(wide->shape, shape, sizeof shape);
            memcpy(wide->stride, stride, sizeof stride);
        }
        cache_case_need(&both[0], locus_cache_append(both[0].cache, NULL, &k, &v, NULL, &error), &error);
        cache_case_need(&both[1], locus_cache_append(both[1].cache, NULL, &wide_k, &wide_v, NULL, &error), &error);
    }
    assert_same_kept(&both[0], &both[1]);
    cache_case_free(&k);
    cache_case_free(&v);
    cache_case_close(&both[0]);
    cache_case_close(&both[1]);
}

/* Keys and values of tokens 4 … 7 of `to`, at these positions: whole rows, or rows among others that no token uses. */
static void append_copies(const cache_case *to, const locus_tensor *k, const locus_tensor *v, bool gaps) {
    const size_t offsets[] = {gaps ? 2 : 0, gaps ? 8 : 4}, lengths[] = {4};
    const int64_t values[] = {-1, -1, 4, 5, 6, 7, -1, -1};
    const locus_packing packing = {sizeof packing, 1, offsets, lengths};
    locus_positions *positions;
    locus_error error;
    const locus_tensor *const given[] = {k, v};
    locus_tensor rows[2];
    for (size_t i = 0; i < 2; i++) {
        rows[i] = cache_case_zeros(offsets[1], to->kv_heads, (size_t)given[i]->shape[2], to->dtype);
        for (size_t h = 0; h < to->kv_heads; h++) {
            const cache_rows from = locus_cache_rows_of(given[i], h, 0, 0),
                             target = locus_cache_rows_of(&rows[i], h, 0, offsets[0]);
            locus_cache_convert(4, (size_t)given[i]->shape[2], &from, &target);
        }
    }
    cache_case_need(to, locus_positions_create(&positions, NULL, &packing, values + (gaps ? 0 : 2), &error), &error);
    cache_case_need(to, locus_cache_append(to->cache, positions, &rows[0], &rows[1], NULL, &error), &error);
    locus_positions_destroy(&positions);
    cache_case_free(&rows[0]);
    cache_case_free(&rows[1]);
}

/* Of one sequence keys are turned where they will lie, unless they stand among gaps; they may be kept already. */
static void kept_rows_and_gaps_are_appended_like_others(void **state) {
    (void)state;
    static const char *const specs[] = {"none", "rope", "algebraic(group=seq, values=on)"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        cache_case cases[3];
        for (size_t j = 0; j < 3; j++) {
            cases[j] = (cache_case){.spec = specs[i], .dtype = LOCUS_FLOAT32, .sequences = 1, .lengths = {8}};
            cache_case_open(&cases[j]);
            cache_case_append(&cases[j], &(cache_part){.count = {4}, .offsets = {0, 4}});
        }
        const locus_tensor k = locus_cache_keys(cases[0].cache, 0), v = locus_cache_values(cases[0].cache, 0);
        locus_positions *positions;
        locus_error error;
        const locus_packing packing = {sizeof packing, 1, (const size_t[]){0, 4}, NULL};
        append_copies(&cases[1], &k, &v, false);
        append_copies(&cases[2], &k, &v, true);
        cache_case_need(&cases[0],
                        locus_positions_create(&positions, NULL, &packing, (const int64_t[]){4, 5, 6, 7}, &error),
                        &error);
        cache_case_need(&cases[0], locus_cache_append(cases[0].cache, positions, &k, &v, NULL, &error), &error);
        locus_positions_destroy(&positions);
        assert_int_equal(locus_cache_length(cases[0].cache, 0), 8);
        assert_same_kept(&cases[1], &cases[0]);
        assert_same_kept(&cases[1], &cases[2]);
        for (size_t j = 0; j < 3; j++)
            cache_case_close(&cases[j]);
    }
}

/* ---- re-basing ---- */

/* Keys are moved 256 at a time: as many as there are at once, and one by one. */
static void keys_move_in_pieces(void **state) {
    enum { HEADS = 2, LENGTH = 513, DIM = 4, COUNT = HEADS * LENGTH * DIM };
    static const int64_t lengths[] = {1, 255, 256, 257, 511, 512, LENGTH};
    static float all[COUNT], one[COUNT];
    locus_encoding *encoding;
    locus_binding *binding;
    locus_path *a;
    const locus_shape asked = {.heads = HEADS, .head_dim = DIM};
    (void)state;
    assert_int_equal(locus_encoding_parse("rope", &encoding, NULL), LOCUS_OK);
    assert_int_equal(locus_binding_create(&binding, encoding, &asked, NULL, 0, NULL), LOCUS_OK);
    assert_int_equal(locus_path_parse(NULL, "-9", &a, NULL), LOCUS_OK);
    for (size_t i = 0; i < COUNT; i++)
        one[i] = (float)((i * 37) % 101) / 64 - 0.5f;
    for (size_t n = 0; n < sizeof lengths / sizeof *lengths; n++) {
        const int64_t shape[] = {lengths[n], HEADS, DIM}, single[] = {1, HEADS, DIM};
        memcpy(all, one, sizeof all);
        const locus_tensor keys = locus_tensor_view(all, LOCUS_FLOAT32, 3, shape);
        assert_int_equal(locus_keys_shift(binding, a, NULL, LOCUS_ROLE_KEY, &keys, NULL), LOCUS_OK);
        for (int64_t t = 0; t < lengths[n]; t++) {
            const locus_tensor key = locus_tensor_view(one + t * HEADS * DIM, LOCUS_FLOAT32, 3, single);
            assert_int_equal(locus_keys_shift(binding, a, NULL, LOCUS_ROLE_KEY, &key, NULL), LOCUS_OK);
        }
        assert_memory_equal(all, one, sizeof all);
    }
    locus_path_destroy(&a);
    locus_binding_destroy(&binding);
    locus_encoding_destroy(&encoding);
}

/* A batch is moved entry by entry: as many tensors of their own would be. 300: more than one piece. */
static void a_batch_of_keys_moves_as_its_entries(void **state) {
    (void)state;
    enum { BATCH = 2, HEADS = 2, LENGTH = 300, DIM = 8, COUNT = BATCH * HEADS * LENGTH * DIM };
    static const locus_dtype types[] = {LOCUS_FLOAT32, LOCUS_FLOAT64, LOCUS_BFLOAT16};
    const int64_t shape[] = {BATCH, HEADS, LENGTH, DIM};
    locus_encoding *encoding;
    locus_binding *binding;
    locus_path *a;
    locus_error error = {.status = LOCUS_OK};
    const locus_shape asked = {.heads = HEADS, .head_dim = DIM};
    assert_int_equal(locus_encoding_parse("rope", &encoding, NULL), LOCUS_OK);
    assert_int_equal(locus_binding_create(&binding, encoding, &asked, NULL, 0, NULL), LOCUS_OK);
    assert_int_equal(locus_path_parse(NULL, "17", &a, NULL), LOCUS_OK);
    for (size_t d = 0; d < 3; d++) {
        const size_t size = locus_dtype_size(types[d]);
        float *numbers = calloc(COUNT, sizeof *numbers);
        char *all = calloc(COUNT, size), *one = calloc(COUNT, size);
        for (size_t i = 0; i < COUNT; i++)
            numbers[i] = (float)((i * 37) % 101) / 64 - 0.5f;
        const int64_t flat[] = {COUNT};
        const locus_tensor from = locus_tensor_view(numbers, LOCUS_FLOAT32, 1, flat);
        const locus_tensor to_all = locus_tensor_view(all, types[d], 1, flat),
                           to_one = locus_tensor_view(one, types[d], 1, flat);
        assert_int_equal(locus_tensor_convert(&from, &to_all, NULL), LOCUS_OK);
        assert_int_equal(locus_tensor_convert(&from, &to_one, NULL), LOCUS_OK);
        const locus_tensor batch = locus_tensor_view(all, types[d], 4, shape);
        assert_int_equal(locus_keys_shift(binding, a, NULL, LOCUS_ROLE_KEY, &batch, &error), LOCUS_OK);
        for (size_t s = 0; s < BATCH; s++) {
            const locus_tensor entry = {.data = one + s * (COUNT / BATCH) * size,
                                        .dtype = types[d],
                                        .rank = 3,
                                        .shape = {LENGTH, HEADS, DIM},
                                        .stride = {DIM, LENGTH * DIM, 1}};
            assert_int_equal(locus_keys_shift(binding, a, NULL, LOCUS_ROLE_KEY, &entry, &error), LOCUS_OK);
        }
        assert_memory_equal(all, one, COUNT * size);
        locus_tensor wrong = batch;
        wrong.shape[1] = 3;
        assert_int_equal(locus_keys_shift(binding, a, NULL, LOCUS_ROLE_KEY, &wrong, &error), LOCUS_ERROR_SHAPE);
        assert_string_equal(error.message, "keys must be [tokens, 2, 8] or [sequences, 2, length, 8]");
        for (int i = 0; i < 3; i += 2) { /* no sequences, and sequences of no tokens */
            wrong = batch, wrong.shape[i] = 0;
            assert_int_equal(locus_keys_shift(binding, a, NULL, LOCUS_ROLE_KEY, &wrong, &error), LOCUS_OK);
            wrong.shape[i] = -1;
            assert_int_equal(locus_keys_shift(binding, a, NULL, LOCUS_ROLE_KEY, &wrong, &error), LOCUS_ERROR_SHAPE);
        }
        wrong = batch, wrong.shape[0] = (int64_t)1 << 40, wrong.shape[2] = 0; /* nobody goes through them */
        assert_int_equal(locus_keys_shift(binding, a, NULL, LOCUS_ROLE_KEY, &wrong, &error), LOCUS_OK);
        wrong = batch, wrong.shape[0] = 0, wrong.shape[2] = (int64_t)1 << 40;
        assert_int_equal(locus_keys_shift(binding, a, NULL, LOCUS_ROLE_KEY, &wrong, &error), LOCUS_OK);
        assert_memory_equal(all, one, COUNT * size);
        free(numbers);
        free(all);
        free(one);
    }
    locus_path_destroy(&a);
    locus_binding_destroy(&binding);
    locus_encoding_destroy(&encoding);
}

/* ---- what does not fit ---- */

static void what_does_not_fit_is_one_line(void **state) {
    (void)state;
    cache_case c = {.spec = "rope", .dtype = LOCUS_FLOAT32, .sequences = 2, .lengths = {5, 3}, .start = 0};
    cache_case_open(&c);
    const cache_part all = cache_case_all(&c);
    locus_positions *positions = cache_case_positions(&c, &all);
    locus_tensor k = spread(&c, &all, 'k', LOCUS_FLOAT32), v = spread(&c, &all, 'v', LOCUS_FLOAT32), bad = k;
    locus_error error;
    bad.shape[2] = 4;
    assert_int_equal(locus_cache_append(c.cache, positions, &bad, &v, NULL, &error), LOCUS_ERROR_SHAPE);
    assert_string_equal(error.message, "key has size 4 in dimension 2: expected at least 5, the longest sequence");
    bad = k, bad.shape[0] = 1;
    assert_int_equal(locus_cache_append(c.cache, positions, &bad, &v, NULL, &error), LOCUS_ERROR_SHAPE);
    assert_string_equal(error.message, "key has size 1 in dimension 0: expected 2, the sequences");
    bad = v, bad.rank = 2;
    assert_int_equal(locus_cache_append(c.cache, positions, &k, &bad, NULL, &error), LOCUS_ERROR_SHAPE);
    assert_string_equal(error.message,
                        "value has rank 2: expected [tokens, heads, dim] or [sequences, heads, length, dim]");
    assert_int_equal(locus_cache_length(c.cache, 0), 0);
    assert_int_equal(locus_cache_append(c.cache, positions, &k, &v, NULL, &error), LOCUS_OK);
    locus_tensor q = spread(&c, &all, 'q', LOCUS_FLOAT32),
                 o = room(&c, &all, &(locus_tensor){.dtype = LOCUS_FLOAT32, .shape = {8, 4, 8}}, false);
    bad = o, bad.shape[2] = 0;
    assert_int_equal(locus_cache_attend(c.cache, NULL, &q, &bad, NULL, &error), LOCUS_ERROR_SHAPE);
    assert_string_equal(error.message, "output has size 0 in dimension 2: expected at least 5, the longest sequence");
    bad = o, bad.stride[0] = 0;
    assert_int_equal(locus_cache_attend(c.cache, NULL, &q, &bad, NULL, &error), LOCUS_ERROR_SHAPE);
    assert_string_equal(error.message, "stride 0 of output is 0; a tensor that is written must not repeat its "
                                       "elements");
    assert_int_equal(locus_cache_attend(c.cache, NULL, &q, &o, NULL, &error), LOCUS_OK);
    locus_tensor *const tensors[] = {&k, &v, &q, &o};
    for (size_t i = 0; i < 4; i++)
        cache_case_free(tensors[i]);
    locus_positions_destroy(&positions);
    cache_case_close(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_layouts_keep_and_attend_the_same),
        cmocka_unit_test(a_step_without_positions_takes_one_token_each),
        cmocka_unit_test(kept_rows_and_gaps_are_appended_like_others),
        cmocka_unit_test(keys_move_in_pieces),
        cmocka_unit_test(a_batch_of_keys_moves_as_its_entries),
        cmocka_unit_test(what_does_not_fit_is_one_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
