/* SPDX-License-Identifier: MIT */
/* The key–value cache: what it keeps has the bits that a plan over whole sequences gives, whatever the pieces it came
 * in; its attention gives the rows of causal attention over whole sequences; and a step of decoding takes neither
 * memory nor time that grows with what is kept. */
#include "attention/cache/cache_inside.h"
#include "cache_case.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

/* ---- bits ---- */

static void compare_kept(const cache_case *c, const cache_part *part, const locus_tensor *applied, bool keys) {
    for (size_t s = 0; s < c->sequences; s++) {
        const locus_tensor kept = keys ? locus_cache_keys(c->cache, s) : locus_cache_values(c->cache, s);
        assert_int_equal(kept.shape[0], part->count[s]);
        assert_int_equal(kept.dtype, c->dtype);
        for (size_t i = 0; i < part->count[s]; i++)
            for (size_t h = 0; h < c->kv_heads; h++)
                for (size_t j = 0; j < (size_t)kept.shape[2]; j++) {
                    const double have = cache_case_number(&kept, i, h, j),
                                 want = cache_case_number(applied, part->offsets[s] + i, h, j);
                    if (memcmp(&have, &want, sizeof have) != 0)
                        fail_msg("%s, type %d, %s %zu of sequence %zu, head %zu, element %zu: %.17g, not %.17g",
                                 c->spec, (int)c->dtype, keys ? "key" : "value", i, s, h, j, have, want);
                }
    }
}

static void check_bits(const cache_case *c) {
    const cache_part all = cache_case_all(c);
    locus_plan *plan = cache_case_plan(c, &all);
    for (int keys = 0; keys < 2; keys++) {
        locus_tensor x = cache_case_rows(c, &all, keys ? 'k' : 'v', c->dtype);
        locus_tensor y = cache_case_applied(c, plan, keys ? LOCUS_ROLE_KEY : LOCUS_ROLE_VALUE, &x);
        compare_kept(c, &all, &y, keys == 1);
        cache_case_free(&x);
        cache_case_free(&y);
    }
    locus_plan_destroy(&plan);
}

static void fill(cache_case *c, size_t from) {
    cache_part part = {.first = {0}};
    for (size_t at = from; cache_case_next(c, &part, &at);)
        cache_case_append(c, &part);
}

static void fill_and_check(cache_case c) {
    cache_case_open(&c);
    fill(&c, 0);
    check_bits(&c);
    for (size_t s = 0; s < c.sequences; s++) /* some tokens go, and come again in other pieces */
        cache_case_need(&c, locus_cache_truncate(c.cache, s, c.lengths[s] / (s + 2), NULL), &(locus_error){0});
    fill(&c, 4);
    check_bits(&c);
    cache_case_close(&c);
}

static const char *const turning[] = {
    "none",
    "rope",
    "rope(pairs=half, rotate=4)",
    "roper(base=100)",
    "rope(side=key)",
    "rope(scaling=yarn, factor=4, original=64)",
    "rope(scaling=dynamic, factor=2, original=64)",
    "rope(scaling=llama3, factor=8, original=64)",
    "rope(xpos=512)",
    "algebraic(group=seq)",
    "algebraic(group=seq, heads=shared, values=on)",
    "algebraic(group=seq, generator=householder)",
    "algebraic(group=cycle:12, values=on)",
    "algebraic(group=grid:2)",
    "algebraic(group=grid:2*cycle:5, split=2:4:2)",
    "mixed(group=grid:2)",
    "string(group=grid:2)",
    "rope + alibi",
};

static void kept_rows_have_the_bits_of_a_whole_plan(void **state) {
    (void)state;
    static const locus_dtype dtypes[] = {LOCUS_FLOAT32, LOCUS_FLOAT64, LOCUS_FLOAT16, LOCUS_BFLOAT16};
    for (size_t i = 0; i < sizeof turning / sizeof *turning; i++)
        for (size_t d = 0; d < 4; d++)
            fill_and_check((cache_case){
                .spec = turning[i], .dtype = dtypes[d], .sequences = 3, .lengths = {190, 0, 67}, .start = 40});
}

/* Tables of angles over whole sequences are made in another way than those of one token, from 8,193 positions on. */
static void long_sequences_keep_their_bits(void **state) {
    (void)state;
    static const char *const specs[] = {"rope", "algebraic(group=seq)"};
    for (size_t i = 0; i < 2; i++)
        for (int wide = 0; wide < 2; wide++) {
            cache_case c = {.spec = specs[i],
                            .dtype = wide ? LOCUS_FLOAT64 : LOCUS_FLOAT32,
                            .heads = 1,
                            .kv_heads = 1,
                            .sequences = 1,
                            .lengths = {17000},
                            .start = -3000};
            cache_case_open(&c);
            cache_part part = {.first = {0}};
            while (locus_cache_length(c.cache, 0) < c.lengths[0]) {
                const size_t done = locus_cache_length(c.cache, 0), left = c.lengths[0] - done;
                part.first[0] = done;
                part.count[0] = part.offsets[1] = left < 1 + done % 613 ? left : 1 + done % 613;
                cache_case_append(&c, &part);
            }
            check_bits(&c);
            cache_case_close(&c);
        }
}

/* Positions of trees and LieRE: to rounding, since products depend on the batch. */
static void trees_keep_what_a_whole_plan_gives(void **state) {
    (void)state;
    static const char *const specs[] = {"algebraic(group=tree:2, values=on)", "algebraic(group=seq*tree:2)",
                                        "liere(group=grid:2)"};
    for (size_t i = 0; i < 3; i++) {
        cache_case c = {.spec = specs[i], .dtype = LOCUS_FLOAT64, .sequences = 2, .lengths = {90, 40}};
        cache_case_open(&c);
        fill(&c, 0);
        const cache_part all = cache_case_all(&c);
        locus_plan *plan = cache_case_plan(&c, &all);
        locus_tensor x = cache_case_rows(&c, &all, 'k', c.dtype), y = cache_case_applied(&c, plan, LOCUS_ROLE_KEY, &x);
        for (size_t s = 0; s < 2; s++) {
            const locus_tensor kept = locus_cache_keys(c.cache, s);
            for (size_t t = 0; t < c.lengths[s]; t++)
                for (size_t h = 0; h < c.kv_heads; h++)
                    for (size_t j = 0; j < c.head_dim; j++)
                        assert_true(fabs(cache_case_number(&kept, t, h, j) -
                                         cache_case_number(&y, all.offsets[s] + t, h, j)) < 1e-12);
        }
        cache_case_free(&x);
        cache_case_free(&y);
        locus_plan_destroy(&plan);
        cache_case_close(&c);
    }
}

/* ---- attention ---- */

static locus_tensor attend_whole(const cache_case *c, const cache_part *all, const locus_attention_options *options) {
    locus_plan *plan = cache_case_plan(c, all);
    locus_tensor q = cache_case_rows(c, all, 'q', c->dtype), k = cache_case_rows(c, all, 'k', c->dtype),
                 v = cache_case_rows(c, all, 'v', c->dtype),
                 o = cache_case_zeros(c->tokens, c->heads, c->value_dim, c->dtype);
    const locus_attention_tensors tensors = {sizeof tensors, &q, &k, &v, &o, NULL};
    locus_workspace workspace = {.bytes =
                                     locus_attention_workspace(plan, options, c->dtype, LOCUS_PASS_FORWARD, NULL) + 1};
    locus_error error;
    workspace.data = locus_allocate(workspace.bytes);
    const locus_execution execution = locus_execution_in(workspace);
    cache_case_need(c, locus_attention_forward(plan, options, &tensors, &execution, &error), &error);
    locus_release(workspace.data, workspace.bytes);
    cache_case_free(&q);
    cache_case_free(&k);
    cache_case_free(&v);
    locus_plan_destroy(&plan);
    return o;
}

static void compare_rows(const cache_case *c, const cache_part *part, const locus_tensor *have,
                         const locus_tensor *want, double tolerance) {
    for (size_t s = 0; s < c->sequences; s++)
        for (size_t i = 0; i < part->count[s]; i++)
            for (size_t h = 0; h < c->heads; h++)
                for (size_t j = 0; j < c->value_dim; j++) {
                    const double a = cache_case_number(have, part->offsets[s] + i, h, j),
                                 b = cache_case_number(want, c->offsets[s] + part->first[s] + i, h, j);
                    if (!(fabs(a - b) <= tolerance))
                        fail_msg("%s, type %d, query %zu of sequence %zu, head %zu, element %zu: %.9g, not %.9g",
                                 c->spec, (int)c->dtype, part->first[s] + i, s, h, j, a, b);
                }
}

static void attend_and_check(cache_case c, const locus_attention_options *options, double tolerance) {
    cache_case_open(&c);
    const cache_part all = cache_case_all(&c);
    cache_part part = {.first = {0}};
    locus_tensor whole = attend_whole(&c, &all, options);
    for (size_t at = 0; cache_case_next(&c, &part, &at);) {
        locus_tensor output = cache_case_zeros(part.offsets[c.sequences], c.heads, c.value_dim, c.dtype);
        cache_case_append(&c, &part);
        cache_case_attend(&c, &part, options, &output);
        compare_rows(&c, &part, &output, &whole, tolerance);
        cache_case_free(&output);
    }
    cache_case_free(&whole);
    cache_case_close(&c);
}

static const char *const attending[] = {
    "none",
    "rope",
    "roper",
    "rope(side=query)",
    "rope + alibi",
    "alibi",
    "decay(rate=0.9)",
    "decay(rate=0.999, group=grid:2)",
    "t5",
    "kerple",
    "fire",
    "cope(max=16)",
    "relative(window=6, values=on)",
    "relative(window=6) + alibi",
    "algebraic(group=seq, decay=0.95, values=on)",
    "algebraic(group=grid:2, decay=0.98)",
    "algebraic(group=cycle:12, values=on, decay=0.9)",
    "algebraic(group=tree:2, decay=0.9, values=on)",
    "alibi(group=seq*tree:2)",
    "scores(window=20, keep=3)",
    "rope + scores(window=9, cap=5, sinks=on)",
    "rope(turn=backward) + scores(chunk=16)",
    "scores(chunk=24, window=20, keep=3) + temperature(length=20)",
    "temperature(growth=log, length=30)",
    "alibi(scaled=on)",
};

/* Element (s, h, i, j) of a bias for all tokens; some hide. */
static float bias_number(size_t s, size_t h, size_t i, size_t j) {
    const size_t salt = s * 5 + h * 3 + i * 7 + j * 11;
    return salt % 13 == 0 && i != j ? -INFINITY : (float)(salt % 17) / 8 - 1;
}

enum { BIASED = 110 };

/* Of the part's queries and all keys. */
static locus_tensor bias_of_part(const cache_case *c, const cache_part *part, float *values) {
    const int64_t shape[] = {(int64_t)c->sequences, (int64_t)c->heads, BIASED, BIASED};
    for (size_t s = 0; s < c->sequences; s++)
        for (size_t h = 0; h < c->heads; h++)
            for (size_t i = 0; i < BIASED; i++)
                for (size_t j = 0; j < BIASED; j++)
                    values[((s * c->heads + h) * BIASED + i) * BIASED + j] = bias_number(s, h, part->first[s] + i, j);
    return locus_tensor_view(values, LOCUS_FLOAT32, 4, shape);
}

static void attention_takes_a_bias_of_queries_and_keys(void **state) {
    static const char *const specs[] = {"rope + alibi", "cope(max=16)", "relative(window=6, values=on)"};
    (void)state;
    locus_attention_options options = locus_attention_default();
    options.mask = LOCUS_MASK_CAUSAL;
    for (size_t i = 0; i < 3; i++) {
        cache_case c = {.spec = specs[i], .dtype = LOCUS_FLOAT64, .sequences = 3, .lengths = {BIASED, 0, 61}};
        cache_case_open(&c);
        float *values = malloc(c.sequences * c.heads * BIASED * BIASED * sizeof *values);
        assert_non_null(values);
        const cache_part all = cache_case_all(&c);
        cache_part part = {.first = {0}};
        locus_tensor bias = bias_of_part(&c, &all, values);
        options.bias = &bias;
        locus_tensor whole = attend_whole(&c, &all, &options);
        for (size_t at = 0; cache_case_next(&c, &part, &at);) {
            locus_tensor output = cache_case_zeros(part.offsets[c.sequences], c.heads, c.value_dim, c.dtype);
            bias = bias_of_part(&c, &part, values);
            cache_case_append(&c, &part);
            cache_case_attend(&c, &part, &options, &output);
            compare_rows(&c, &part, &output, &whole, 1e-12);
            cache_case_free(&output);
        }
        cache_case_free(&whole);
        cache_case_close(&c);
        free(values);
    }
}

static void attention_gives_the_rows_of_whole_sequences(void **state) {
    (void)state;
    locus_attention_options options = locus_attention_default();
    options.mask = LOCUS_MASK_CAUSAL;
    for (size_t i = 0; i < sizeof attending / sizeof *attending; i++) {
        cache_case c = {
            .spec = attending[i], .dtype = LOCUS_FLOAT32, .sequences = 3, .lengths = {170, 0, 61}, .start = 3};
        attend_and_check(c, &options, 1e-6);
        c.dtype = LOCUS_FLOAT64;
        attend_and_check(c, &options, 1e-12);
    }
    cache_case half = {.spec = "rope + alibi", .dtype = LOCUS_BFLOAT16, .sequences = 2, .lengths = {100, 31}};
    attend_and_check(half, &options, 0.02);
    half.dtype = LOCUS_FLOAT16;
    attend_and_check(half, &options, 0.003);
    options.window = 17;
    options.keep = 2;
    attend_and_check((cache_case){.spec = "rope", .dtype = LOCUS_FLOAT32, .sequences = 2, .lengths = {150, 31}},
                     &options, 1e-6);
    attend_and_check((cache_case){.spec = "roper",
                                  .dtype = LOCUS_FLOAT64,
                                  .heads = 6,
                                  .kv_heads = 1,
                                  .head_dim = 10,
                                  .value_dim = 10,
                                  .sequences = 1,
                                  .lengths = {130}},
                     &options, 1e-12);
}

/* Queries that are no kept tokens: cross-attention. */
static void queries_attend_without_being_kept(void **state) {
    (void)state;
    static const char *const specs[] = {"rope", "roper + alibi", "decay(rate=0.9, group=grid:2)"};
    for (size_t i = 0; i < 3; i++) {
        cache_case c = {.spec = specs[i], .dtype = LOCUS_FLOAT64, .sequences = 2, .lengths = {40, 25}};
        cache_case_open(&c);
        locus_attention_options options = locus_attention_default();
        const cache_part all = cache_case_all(&c);
        const cache_part some = {{3, 0}, {20, 1}, {0, 20, 21}};
        locus_tensor whole = attend_whole(&c, &all, &options), o = cache_case_zeros(21, c.heads, c.value_dim, c.dtype);
        cache_case_append(&c, &all);
        locus_positions *positions = cache_case_positions(&c, &some);
        locus_error error;
        cache_case_need(&c, locus_cache_queries(c.cache, positions, NULL, &error), &error);
        assert_non_null(locus_cache_plan(c.cache));
        cache_case_attend(&c, &some, &options, &o);
        compare_rows(&c, &some, &o, &whole, 1e-12);
        assert_int_equal(locus_cache_length(c.cache, 0), 40);
        locus_positions_destroy(&positions);
        cache_case_free(&whole);
        cache_case_free(&o);
        cache_case_close(&c);
    }
}

/* ---- positions that are counted, or real ---- */

static void positions_are_counted_on(void **state) {
    (void)state;
    static const char *const specs[] = {"rope", "algebraic(group=cycle:7)", "none"};
    for (size_t i = 0; i < 3; i++) {
        cache_case c = {.spec = specs[i], .dtype = LOCUS_FLOAT32, .sequences = 2, .lengths = {30, 30}};
        cache_case_open(&c);
        for (size_t t = 0; t < 30; t++) {
            const cache_part part = {{t, t}, {1, 1}, {0, 1, 2}};
            locus_tensor k = cache_case_rows(&c, &part, 'k', c.dtype), v = cache_case_rows(&c, &part, 'v', c.dtype);
            locus_error error;
            cache_case_need(&c, locus_cache_append(c.cache, NULL, &k, &v, NULL, &error), &error);
            cache_case_free(&k);
            cache_case_free(&v);
        }
        check_bits(&c);
        cache_case_close(&c);
    }
}

static locus_positions *real_positions(const double *values, size_t count) {
    const size_t offsets[] = {0, count};
    const locus_packing packing = {sizeof packing, 1, offsets, NULL};
    locus_positions *positions;
    assert_int_equal(locus_positions_create_real(&positions, NULL, &packing, values, NULL), LOCUS_OK);
    return positions;
}

/* Whole positions first, then real ones: the kept ones turn real. */
static void real_positions_are_kept(void **state) {
    (void)state;
    const double times[] = {0, 1, 2, 2.5, 3.25, 7.125, -1.5, 1000000.5};
    cache_case c = {.spec = "rope + alibi", .dtype = LOCUS_FLOAT64, .sequences = 1, .lengths = {8}};
    cache_case_open(&c);
    locus_positions *all = real_positions(times, 8), *late = real_positions(times + 3, 5);
    locus_plan *plan;
    locus_error error;
    cache_case_need(&c, locus_plan_create(&plan, c.binding, all, NULL, &error), &error);
    const cache_part early = {{0}, {3}, {0, 3}}, rest = {{3}, {5}, {0, 5}}, whole = cache_case_all(&c);
    locus_tensor k = cache_case_rows(&c, &rest, 'k', c.dtype), v = cache_case_rows(&c, &rest, 'v', c.dtype);
    locus_tensor x = cache_case_rows(&c, &whole, 'k', c.dtype), y = cache_case_applied(&c, plan, LOCUS_ROLE_KEY, &x);
    cache_case_append(&c, &early);
    cache_case_need(&c, locus_cache_append(c.cache, late, &k, &v, NULL, &error), &error);
    const locus_tensor kept = locus_cache_keys(c.cache, 0);
    for (size_t t = 0; t < 8; t++)
        for (size_t j = 0; j < c.head_dim; j++)
            assert_true(fabs(cache_case_number(&kept, t, 1, j) - cache_case_number(&y, t, 1, j)) < 1e-12);
    /* scores as well: the last five rows of causal attention */
    locus_attention_options options = locus_attention_default();
    options.mask = LOCUS_MASK_CAUSAL;
    locus_tensor q = cache_case_rows(&c, &whole, 'q', c.dtype), values = cache_case_rows(&c, &whole, 'v', c.dtype);
    locus_tensor o = cache_case_zeros(8, c.heads, c.value_dim, c.dtype),
                 mine = cache_case_zeros(5, c.heads, c.value_dim, c.dtype);
    const locus_attention_tensors tensors = {sizeof tensors, &q, &x, &values, &o, NULL};
    locus_workspace workspace = {.bytes = locus_attention_workspace(plan, &options, c.dtype, LOCUS_PASS_FORWARD, NULL)};
    workspace.data = locus_allocate(workspace.bytes);
    const locus_execution execution = locus_execution_in(workspace);
    cache_case_need(&c, locus_attention_forward(plan, &options, &tensors, &execution, &error), &error);
    locus_release(workspace.data, workspace.bytes);
    cache_case_attend(&c, &rest, NULL, &mine);
    compare_rows(&c, &rest, &mine, &o, 1e-12);
    locus_tensor *const tensors_of[] = {&k, &v, &x, &y, &q, &values, &o, &mine};
    for (size_t i = 0; i < 8; i++)
        cache_case_free(tensors_of[i]);
    locus_plan_destroy(&plan);
    locus_positions_destroy(&all);
    locus_positions_destroy(&late);
    cache_case_close(&c);
}

/* ---- types ---- */

/* Whole numbers that every type has. */
static void put_number(const cache_rows *rows, size_t row, size_t element, int value) {
    const size_t at = row * (size_t)rows->stride + element;
    const float single = (float)value;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    if (rows->dtype == LOCUS_FLOAT64)
        ((double *)rows->data)[at] = value;
    else if (rows->dtype == LOCUS_FLOAT32)
        ((float *)rows->data)[at] = single;
    else if (rows->dtype == LOCUS_BFLOAT16)
        ((uint16_t *)rows->data)[at] = (uint16_t)(bits >> 16);
    else
        ((uint16_t *)rows->data)[at] =
            value == 0 ? 0
                       : (uint16_t)((bits >> 16 & 0x8000) | (((bits >> 23 & 0xFF) - 112) << 10) | (bits >> 13 & 0x3FF));
}

/* Rows shorter than, as long as, and longer than the pieces they go in, packed and apart; nothing beside them. */
static void rows_of_any_length_are_converted(void **state) {
    (void)state;
    enum { ROWS = 3, LONGEST = 520, MORE = 3, MARK = 77 };
    static const locus_dtype dtypes[] = {LOCUS_FLOAT32, LOCUS_FLOAT64, LOCUS_FLOAT16, LOCUS_BFLOAT16};
    static const size_t dims[] = {1, 255, 256, 257, 511, 512, 513, LONGEST};
    static double given[ROWS * (LONGEST + MORE)], got[ROWS * (LONGEST + MORE)], want[ROWS * (LONGEST + MORE)];
    for (size_t i = 0; i < 4 * 4 * 8 * 2; i++) {
        const size_t dim = dims[i % 8], more = i / 8 % 2 * MORE, all = ROWS * (dim + more);
        const ptrdiff_t stride = (ptrdiff_t)(dim + more);
        const cache_rows from = {given, dtypes[i / 16 % 4], stride}, to = {got, dtypes[i / 64], stride};
        const cache_rows wanted = {want, to.dtype, stride};
        for (size_t at = 0; at < all; at++) {
            const bool inside = at % (dim + more) < dim && at / (dim + more) < ROWS - 1;
            put_number(&from, 0, at, (int)(at * 37 % 201) - 100);
            put_number(&to, 0, at, MARK);
            put_number(&wanted, 0, at, inside ? (int)(at * 37 % 201) - 100 : MARK);
        }
        locus_cache_convert(ROWS - 1, dim, &from, &to);
        assert_memory_equal(got, want, all * locus_dtype_size(to.dtype));
    }
}

/* Data of one type, a cache of another: turned in the wider one and rounded once. */
static void types_may_differ(void **state) {
    (void)state;
    static const locus_dtype dtypes[] = {LOCUS_FLOAT32, LOCUS_FLOAT64, LOCUS_FLOAT16, LOCUS_BFLOAT16};
    for (size_t of = 0; of < 4; of++)
        for (size_t from = 0; from < 4; from++) {
            cache_case c = {.spec = "roper", .dtype = dtypes[of], .sequences = 1, .lengths = {20}};
            cache_case_open(&c);
            const bool doubles =
                dtypes[of] == LOCUS_FLOAT64 || (dtypes[of] == LOCUS_FLOAT32 && dtypes[from] == LOCUS_FLOAT64);
            const cache_part all = cache_case_all(&c);
            locus_plan *plan = cache_case_plan(&c, &all);
            locus_tensor k = cache_case_rows(&c, &all, 'k', dtypes[from]),
                         v = cache_case_rows(&c, &all, 'v', dtypes[from]),
                         q = cache_case_rows(&c, &all, 'q', dtypes[from]);
            locus_tensor wide = cache_case_rows(&c, &all, 'k', doubles ? LOCUS_FLOAT64 : LOCUS_FLOAT32),
                         turned = cache_case_applied(&c, plan, LOCUS_ROLE_KEY, &wide);
            locus_tensor o = cache_case_zeros(20, c.heads, c.value_dim, dtypes[from]);
            locus_positions *positions = cache_case_positions(&c, &all);
            locus_error error;
            cache_case_need(&c, locus_cache_append(c.cache, positions, &k, &v, NULL, &error), &error);
            cache_case_need(&c, locus_cache_attend(c.cache, NULL, &q, &o, NULL, &error), &error);
            locus_tensor rounded = cache_case_zeros(20, c.kv_heads, c.head_dim, c.dtype);
            for (size_t h = 0; h < c.kv_heads; h++) {
                const cache_rows source = locus_cache_rows_of(&turned, h, 0, 0),
                                 target = locus_cache_rows_of(&rounded, h, 0, 0);
                locus_cache_convert(20, c.head_dim, &source, &target);
            }
            compare_kept(&c, &all, &rounded, true);
            locus_tensor same = cache_case_zeros(20, c.heads, c.value_dim, c.dtype);
            cache_case_attend(&c, &all, NULL, &same);
            compare_rows(&c, &all, &o, &same,
                         dtypes[from] == LOCUS_BFLOAT16 || dtypes[of] == LOCUS_BFLOAT16 ? 0.02
                         : dtypes[from] == LOCUS_FLOAT16 || dtypes[of] == LOCUS_FLOAT16 ? 0.003
                                                                                        : 1e-6);
            cache_case_free(&rounded);
            cache_case_free(&same);
            locus_positions_destroy(&positions);
            cache_case_close(&c);
            locus_tensor *const tensors_of[] = {&k, &v, &q, &wide, &turned, &o};
            for (size_t i = 0; i < 6; i++)
                cache_case_free(tensors_of[i]);
            locus_plan_destroy(&plan);
        }
}

/* Queries that somebody has turned attend as they are, and what comes of them waits to be turned back. */
static void queries_may_come_turned(void **state) {
    (void)state;
    static const char *const specs[] = {"rope", "roper", "algebraic(group=tree:2, values=on)"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        cache_case c = {.spec = specs[i], .dtype = LOCUS_FLOAT64, .sequences = 1, .lengths = {20}};
        cache_case_open(&c);
        const cache_part all = cache_case_all(&c);
        locus_plan *plan = cache_case_plan(&c, &all);
        locus_attention_options options = locus_attention_default();
        options.mask = LOCUS_MASK_CAUSAL;
        cache_case_append(&c, &all);
        locus_tensor want = cache_case_zeros(20, c.heads, c.value_dim, c.dtype),
                     waits = cache_case_zeros(20, c.heads, c.value_dim, c.dtype);
        cache_case_attend(&c, &all, &options, &want);
        locus_tensor q = cache_case_rows(&c, &all, 'q', c.dtype),
                     turned = cache_case_applied(&c, plan, LOCUS_ROLE_QUERY, &q);
        locus_error error;
        options.turned = true;
        cache_case_need(&c, locus_cache_attend(c.cache, &options, &turned, &waits, NULL, &error), &error);
        locus_tensor got = cache_case_applied(&c, plan, LOCUS_ROLE_OUTPUT, &waits);
        compare_rows(&c, &all, &got, &want, 1e-12);
        locus_tensor *const tensors_of[] = {&want, &waits, &q, &turned, &got};
        for (size_t t = 0; t < 5; t++)
            cache_case_free(tensors_of[t]);
        locus_plan_destroy(&plan);
        cache_case_close(&c);
    }
}

/* ---- steady state ---- */

typedef struct ledger {
    size_t asked;
} ledger;

static void *book_allocate(void *state, size_t bytes, size_t alignment) {
    ((ledger *)state)->asked++;
    return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static void book_release(void *state, void *block, size_t bytes) {
    (void)state, (void)bytes;
    free(block);
}

static double seconds(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

enum { STEPS = 200 };

/* The fastest of some appends of one token. */
static double append_steps(cache_case *c, const locus_tensor *k, const locus_tensor *v) {
    double best = 1;
    for (size_t i = 0; i < STEPS; i++) {
        const double start = seconds();
        assert_int_equal(locus_cache_append(c->cache, NULL, k, v, NULL, NULL), LOCUS_OK);
        const double took = seconds() - start;
        best = took < best ? took : best;
    }
    return best;
}

static void prefill(cache_case *c, size_t tokens) {
    const size_t offsets[] = {0, tokens};
    const locus_packing packing = {sizeof packing, 1, offsets, NULL};
    locus_positions *positions;
    int64_t *values = malloc(tokens * sizeof *values);
    for (size_t i = 0; i < tokens; i++)
        values[i] = (int64_t)(locus_cache_length(c->cache, 0) + i);
    locus_tensor k = cache_case_zeros(tokens, c->kv_heads, c->head_dim, LOCUS_FLOAT32);
    assert_int_equal(locus_positions_create(&positions, NULL, &packing, values, NULL), LOCUS_OK);
    assert_int_equal(locus_cache_append(c->cache, positions, &k, &k, NULL, NULL), LOCUS_OK);
    locus_positions_destroy(&positions);
    cache_case_free(&k);
    free(values);
}

static void steps_take_no_memory_and_no_more_time(void **state) {
    (void)state;
    static const char *const specs[] = {"rope", "rope + alibi", "algebraic(group=seq, decay=0.98, values=on)", "t5"};
    ledger books = {0};
    const locus_allocator allocator = {sizeof allocator, book_allocate, book_release, &books};
    assert_int_equal(locus_allocator_set(&allocator, NULL), LOCUS_OK);
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        cache_case c = {.spec = specs[i], .dtype = LOCUS_FLOAT32, .sequences = 1, .lengths = {1}, .room = 66000};
        cache_case_open(&c);
        const cache_part one = cache_case_all(&c);
        locus_tensor k = cache_case_rows(&c, &one, 'k', c.dtype), v = cache_case_rows(&c, &one, 'v', c.dtype);
        locus_tensor q = cache_case_rows(&c, &one, 'q', c.dtype),
                     o = cache_case_zeros(1, c.heads, c.value_dim, c.dtype);
        prefill(&c, 126);
        for (size_t t = 0; t < 2; t++) {
            assert_int_equal(locus_cache_append(c.cache, NULL, &k, &v, NULL, NULL), LOCUS_OK);
            assert_int_equal(locus_cache_attend(c.cache, NULL, &q, &o, NULL, NULL), LOCUS_OK);
        }
        books.asked = 0;
        const double early = append_steps(&c, &k, &v);
        for (size_t t = 0; t < 70; t++) {
            assert_int_equal(locus_cache_append(c.cache, NULL, &k, &v, NULL, NULL), LOCUS_OK);
            assert_int_equal(locus_cache_attend(c.cache, NULL, &q, &o, NULL, NULL), LOCUS_OK);
        }
        if (books.asked > 0)
            fail_msg("%s: %zu blocks were asked for at 128 tokens", specs[i], books.asked);
        prefill(&c, 65536 - locus_cache_length(c.cache, 0));
        assert_int_equal(locus_cache_append(c.cache, NULL, &k, &v, NULL, NULL), LOCUS_OK);
        assert_int_equal(locus_cache_attend(c.cache, NULL, &q, &o, NULL, NULL), LOCUS_OK);
        books.asked = 0;
        const double late = append_steps(&c, &k, &v);
        assert_int_equal(locus_cache_attend(c.cache, NULL, &q, &o, NULL, NULL), LOCUS_OK);
        if (books.asked > 0)
            fail_msg("%s: %zu blocks were asked for at 65,536 tokens", specs[i], books.asked);
        if (late > 5 * early + 20e-6)
            fail_msg("%s: a step takes %.1f µs at 128 tokens, %.1f µs at 65,536", specs[i], 1e6 * early, 1e6 * late);
        cache_case_free(&k);
        cache_case_free(&v);
        cache_case_free(&q);
        cache_case_free(&o);
        cache_case_close(&c);
    }
    assert_int_equal(locus_allocator_set(NULL, NULL), LOCUS_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kept_rows_have_the_bits_of_a_whole_plan),
        cmocka_unit_test(long_sequences_keep_their_bits),
        cmocka_unit_test(trees_keep_what_a_whole_plan_gives),
        cmocka_unit_test(attention_gives_the_rows_of_whole_sequences),
        cmocka_unit_test(attention_takes_a_bias_of_queries_and_keys),
        cmocka_unit_test(queries_attend_without_being_kept),
        cmocka_unit_test(positions_are_counted_on),
        cmocka_unit_test(real_positions_are_kept),
        cmocka_unit_test(rows_of_any_length_are_converted),
        cmocka_unit_test(types_may_differ),
        cmocka_unit_test(queries_may_come_turned),
        cmocka_unit_test(steps_take_no_memory_and_no_more_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
