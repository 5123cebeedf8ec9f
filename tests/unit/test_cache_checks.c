/* SPDX-License-Identifier: MIT */
/* What a key–value cache refuses: one clear line, and nothing of what is kept has changed. */
#include "cache_case.h"
#include "kind_of.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void expect(locus_status have, locus_status want, const locus_error *error, const char *text) {
    if (have != want || strcmp(error->message, text) != 0)
        fail_msg("status %d: %s\n   not %d: %s", (int)have, have ? error->message : "", (int)want, text);
    assert_int_equal(error->status, want);
    assert_null(strchr(error->message, '\n'));
}

typedef struct kept_bits {
    size_t length;
    double sum;
} kept_bits;

static kept_bits bits_of(const locus_cache *cache) {
    kept_bits bits = {locus_cache_length(cache, 0), 0};
    const locus_tensor keys = locus_cache_keys(cache, 0), values = locus_cache_values(cache, 0);
    for (size_t t = 0; t < bits.length; t++)
        for (size_t h = 0; h < (size_t)keys.shape[1]; h++)
            for (size_t j = 0; j < (size_t)keys.shape[2]; j++)
                bits.sum += (double)(1 + (t * 7 + h) * 9 + j) *
                            (cache_case_number(&keys, t, h, j) + 2 * cache_case_number(&values, t, h, j));
    return bits;
}

static void unchanged(const locus_cache *cache, kept_bits before) {
    const kept_bits now = bits_of(cache);
    assert_int_equal(now.length, before.length);
    assert_true(now.sum == before.sum);
}

static locus_binding *bind(const char *spec, locus_shape shape) {
    locus_encoding *encoding;
    locus_binding *binding;
    assert_int_equal(locus_encoding_parse(spec, &encoding, NULL), LOCUS_OK);
    assert_int_equal(locus_binding_create(&binding, encoding, &shape, NULL, 0, NULL), LOCUS_OK);
    locus_encoding_destroy(&encoding);
    return binding;
}

/* ---- creation ---- */

static void creation_says_what_is_missing(void **state) {
    (void)state;
    locus_binding *binding = bind("rope", (locus_shape){.heads = 2, .head_dim = 4});
    locus_binding *empty = bind("none", (locus_shape){.model_dim = 4});
    locus_cache_options options = locus_cache_options_default();
    int other = 0;
    locus_cache *cache = (locus_cache *)(void *)&other; /* whatever stood there: it is nobody's cache */
    locus_error error;
    expect(locus_cache_create(NULL, binding, &options, &error), LOCUS_ERROR_ARGUMENT, &error,
           "cache is NULL: give a place for the result");
    expect(locus_cache_create(&cache, NULL, &options, &error), LOCUS_ERROR_ARGUMENT, &error, "binding is NULL");
    assert_null(cache);
    expect(locus_cache_create(&cache, binding, NULL, &error), LOCUS_ERROR_ARGUMENT, &error,
           "options is NULL: start from locus_cache_options_default() and give a capacity");
    expect(locus_cache_create(&cache, binding, &options, &error), LOCUS_ERROR_ARGUMENT, &error,
           "the cache's capacity is 0: give at least 1");
    options.capacity = 4;
    options.sequences = 0;
    expect(locus_cache_create(&cache, binding, &options, &error), LOCUS_ERROR_ARGUMENT, &error,
           "the cache's number of sequences is 0: give at least 1");
    options.sequences = 5;
    options.capacity = (size_t)1 << 31;
    expect(locus_cache_create(&cache, binding, &options, &error), LOCUS_ERROR_ARGUMENT, &error,
           "5 sequences of 2147483648 tokens are more than 2^32 − 1 tokens: use several caches");
    options.sequences = 65537; /* times 65535 is 2^32 − 1 */
    options.capacity = 65536;
    expect(locus_cache_create(&cache, binding, &options, &error), LOCUS_ERROR_ARGUMENT, &error,
           "65537 sequences of 65536 tokens are more than 2^32 − 1 tokens: use several caches");
    options.capacity = 65535;
    options.dtype = (locus_dtype)9;
    expect(locus_cache_create(&cache, binding, &options, &error), LOCUS_ERROR_DTYPE, &error,
           "element type 9 is unknown: use float32, float64, float16 or bfloat16");
    options.dtype = LOCUS_FLOAT32;
    expect(locus_cache_create(&cache, empty, &options, &error), LOCUS_ERROR_SHAPE, &error,
           "the binding has 0 heads of dimension 0: a cache needs both to be at least 1");
    assert_null(cache);
    locus_cache_destroy(&cache);
    locus_cache_destroy(NULL);
    locus_binding_destroy(&binding);
    locus_binding_destroy(&empty);
}

static void raw_queries_are_not_there(void **state) {
    (void)state;
    static const struct {
        const char *spec, *text;
    } cases[] = {
        {"rope + relative(window=3)",
         "'relative' needs queries before the operator of the other term, which a cache does "
         "not keep: use one of the two alone"},
        {"cope(max=8) + rope",
         "'cope' needs queries before the operator of the other term, which a cache does not keep: "
         "use one of the two alone"},
    };
    for (size_t i = 0; i < 2; i++) {
        const locus_shape shape = {.heads = 2, .head_dim = 4};
        locus_cache_options options = locus_cache_options_default();
        locus_encoding *encoding;
        locus_binding *binding;
        locus_cache *cache;
        locus_error error;
        const int64_t extents[] = {i == 0 ? 7 : 9, 4};
        double *zeros = calloc(36, sizeof *zeros);
        const locus_tensor table = locus_tensor_view(zeros, LOCUS_FLOAT64, 2, extents);
        options.capacity = 4;
        assert_int_equal(locus_encoding_parse(cases[i].spec, &encoding, NULL), LOCUS_OK);
        assert_int_equal(locus_binding_create(&binding, encoding, &shape, &table, 1, NULL), LOCUS_OK);
        expect(locus_cache_create(&cache, binding, &options, &error), LOCUS_ERROR_UNSUPPORTED, &error, cases[i].text);
        locus_binding_destroy(&binding);
        locus_encoding_destroy(&encoding);
        free(zeros);
    }
}

/* ---- appending ---- */

static locus_positions *on(const char *group_text, size_t sequences, const size_t *offsets, const int64_t *values) {
    const locus_packing packing = {sizeof packing, sequences, offsets, NULL};
    locus_group *group;
    locus_positions *positions;
    assert_int_equal(locus_group_parse(group_text, &group, NULL), LOCUS_OK);
    assert_int_equal(locus_positions_create(&positions, group, &packing, values, NULL), LOCUS_OK);
    locus_group_destroy(&group);
    return positions;
}

static void appends_are_checked(void **state) {
    (void)state;
    cache_case c = {.spec = "rope", .dtype = LOCUS_FLOAT32, .sequences = 2, .lengths = {6, 6}};
    cache_case_open(&c);
    const cache_part some = {{0, 0}, {4, 2}, {0, 4, 6}}, rest = {{4, 2}, {3, 1}, {0, 3, 4}};
    const int64_t values[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, far[] = {0, (int64_t)1 << 41};
    const size_t offsets[] = {0, 1, 2}, one[] = {0, 2};
    locus_positions *other = on("grid:2", 2, offsets, values), *single = on("seq", 1, one, values),
                    *distant = on("seq", 2, offsets, far), *fitting = on("seq", 2, offsets, values);
    locus_tensor k = cache_case_rows(&c, &rest, 'k', c.dtype), v = cache_case_rows(&c, &rest, 'v', c.dtype);
    locus_tensor pair = cache_case_zeros(2, c.kv_heads, 8, c.dtype), wrong = pair;
    locus_error error;
    cache_case_append(&c, &some);
    const kept_bits before = bits_of(c.cache);
    expect(locus_cache_append(NULL, fitting, &pair, &pair, NULL, &error), LOCUS_ERROR_ARGUMENT, &error,
           "cache is NULL");
    expect(locus_cache_append(c.cache, fitting, NULL, &pair, NULL, &error), LOCUS_ERROR_ARGUMENT, &error,
           "key is NULL; this call needs it");
    expect(locus_cache_append(c.cache, fitting, &pair, NULL, NULL, &error), LOCUS_ERROR_ARGUMENT, &error,
           "value is NULL; this call needs it");
    locus_positions *long_ones = cache_case_positions(&c, &rest);
    expect(locus_cache_append(c.cache, long_ones, &k, &v, NULL, &error), LOCUS_ERROR_ARGUMENT, &error,
           "sequence 0 would have 7 tokens, but the cache's capacity is 6: evict or truncate first, or create a larger "
           "cache");
    expect(locus_cache_append(c.cache, other, &pair, &pair, NULL, &error), LOCUS_ERROR_POSITION, &error,
           "the positions are on 'grid:2', the encoding acts on 'seq': give positions of that group");
    expect(locus_cache_append(c.cache, single, &pair, &pair, NULL, &error), LOCUS_ERROR_ARGUMENT, &error,
           "the positions have 1 sequences, the cache 2: give as many (they may be empty)");
    expect(locus_cache_append(c.cache, distant, &pair, &pair, NULL, &error), LOCUS_ERROR_POSITION, &error,
           "a position is out of range for an encoding: use -2^40 to 2^40");
    expect(locus_cache_append(c.cache, fitting, &k, &pair, NULL, &error), LOCUS_ERROR_SHAPE, &error,
           "key has size 4 in dimension 0: expected 2, the tokens");
    wrong.shape[1] = 4;
    expect(locus_cache_append(c.cache, fitting, &pair, &wrong, NULL, &error), LOCUS_ERROR_SHAPE, &error,
           "value has size 4 in dimension 1: expected 2");
    wrong = pair;
    wrong.rank = 2;
    expect(locus_cache_append(c.cache, fitting, &wrong, &pair, NULL, &error), LOCUS_ERROR_SHAPE, &error,
           "key has rank 2: expected [tokens, heads, dim] or [sequences, heads, length, dim]");
    wrong = pair;
    wrong.stride[2] = 2;
    expect(locus_cache_append(c.cache, fitting, &wrong, &pair, NULL, &error), LOCUS_ERROR_SHAPE, &error,
           "key must have stride 1 in its last dimension, not 2");
    wrong = pair;
    wrong.dtype = (locus_dtype)77;
    expect(locus_cache_append(c.cache, fitting, &wrong, &pair, NULL, &error), LOCUS_ERROR_DTYPE, &error,
           "key is of unknown element type 77; use float32, float64, float16 or bfloat16");
    wrong = pair;
    wrong.data = NULL;
    expect(locus_cache_append(c.cache, fitting, &wrong, &pair, NULL, &error), LOCUS_ERROR_ARGUMENT, &error,
           "key has no data; its data pointer is NULL");
    unchanged(c.cache, before);
    for (size_t t = 0; t < 2; t++)
        cache_case_need(&c, locus_cache_append(c.cache, NULL, &pair, &pair, NULL, &error), &error);
    expect(locus_cache_append(c.cache, NULL, &pair, &pair, NULL, &error), LOCUS_ERROR_ARGUMENT, &error,
           "sequence 0 would have 7 tokens, but the cache's capacity is 6: evict or truncate first, or create a larger "
           "cache");
    assert_int_equal(locus_cache_length(c.cache, 0), 6);
    locus_positions_destroy(&other);
    locus_positions_destroy(&single);
    locus_positions_destroy(&distant);
    locus_positions_destroy(&fitting);
    locus_positions_destroy(&long_ones);
    cache_case_free(&k);
    cache_case_free(&v);
    cache_case_free(&pair);
    cache_case_close(&c);
}

static void some_positions_cannot_be_counted_or_real(void **state) {
    (void)state;
    cache_case c = {.spec = "algebraic(group=grid:2)", .dtype = LOCUS_FLOAT32, .sequences = 1, .lengths = {3}};
    locus_error error;
    cache_case_open(&c);
    locus_tensor one = cache_case_zeros(1, c.kv_heads, 8, c.dtype);
    expect(locus_cache_append(c.cache, NULL, &one, &one, NULL, &error), LOCUS_ERROR_ARGUMENT, &error,
           "positions is NULL, but on 'grid:2' they cannot be counted: give the new tokens' positions");
    cache_case_close(&c);
    c = (cache_case){.spec = "relative(window=3)", .dtype = LOCUS_FLOAT32, .sequences = 1, .lengths = {3}};
    cache_case_open(&c);
    const double half = 0.5;
    const size_t offsets[] = {0, 1};
    const locus_packing packing = {sizeof packing, 1, offsets, NULL};
    locus_positions *real;
    assert_int_equal(locus_positions_create_real(&real, NULL, &packing, &half, NULL), LOCUS_OK);
    expect(locus_cache_append(c.cache, real, &one, &one, NULL, &error), LOCUS_ERROR_POSITION, &error,
           "'relative' needs whole positions: these are real numbers");
    cache_case_need(&c, locus_cache_append(c.cache, NULL, &one, &one, NULL, &error), &error); /* whole ones still go */
    locus_positions_destroy(&real);
    cache_case_free(&one);
    cache_case_close(&c);
}

/* Counting on ends at 2^40, of any sequence; the position before it is the last that has a next one. */
static void counting_ends(void **state) {
    (void)state;
    const int64_t end = (int64_t)1 << 40;
    cache_case c = {.spec = "rope", .dtype = LOCUS_FLOAT32, .sequences = 2, .lengths = {6, 6}};
    cache_case_open(&c);
    const size_t offsets[] = {0, 1, 2};
    const int64_t values[] = {3, end - 1};
    locus_positions *positions = on("seq", 2, offsets, values);
    locus_tensor two = cache_case_zeros(2, c.kv_heads, 8, c.dtype);
    locus_error error;
    cache_case_need(&c, locus_cache_append(c.cache, positions, &two, &two, NULL, &error), &error);
    cache_case_need(&c, locus_cache_append(c.cache, NULL, &two, &two, NULL, &error), &error);
    const kept_bits before = bits_of(c.cache);
    expect(locus_cache_append(c.cache, NULL, &two, &two, NULL, &error), LOCUS_ERROR_POSITION, &error,
           "sequence 1 has reached position 2^40, the last that an encoding takes");
    unchanged(c.cache, before);
    assert_int_equal(locus_cache_length(c.cache, 1), 2);
    locus_positions_destroy(&positions);
    cache_case_free(&two);
    cache_case_close(&c);
}

/* A cycle has no end, however large it is: behind its last residue comes the first. */
static void counting_goes_round(void **state) {
    (void)state;
    cache_case c = {
        .spec = "algebraic(group=cycle:2000000000000)", .dtype = LOCUS_FLOAT32, .sequences = 1, .lengths = {6}};
    cache_case_open(&c);
    const size_t offsets[] = {0, 1};
    const int64_t value[] = {1999999999998};
    locus_positions *positions = on("cycle:2000000000000", 1, offsets, value);
    locus_tensor one = cache_case_zeros(1, c.kv_heads, 8, c.dtype);
    locus_error error;
    cache_case_need(&c, locus_cache_append(c.cache, positions, &one, &one, NULL, &error), &error);
    for (int i = 0; i < 3; i++)
        cache_case_need(&c, locus_cache_append(c.cache, NULL, &one, &one, NULL, &error), &error);
    assert_int_equal(locus_cache_length(c.cache, 0), 4);
    locus_positions_destroy(&positions);
    cache_case_free(&one);
    cache_case_close(&c);
}

/* Positions that rise by one, stand, fall and jump: each key is turned at its own, as a whole plan turns it. */
static void positions_may_jump(void **state) {
    (void)state;
    static const int64_t values[] = {0, 1, 2, 3, 1, 0, 1, 1, 1, 2, -1, 2, -1, 0, 63, 64, 65, 5, -4, 5, 100, 99, 98, 0};
    enum { JUMPS = sizeof values / sizeof *values };
    static const char *const specs[] = {"rope", "rope(base=5, turn=backward)", "algebraic",
                                        "algebraic(generator=angles)", "mixed(group=seq)"};
    for (size_t i = 0; i < 2 * (sizeof specs / sizeof *specs); i++) {
        cache_case c = {
            .spec = specs[i / 2], .dtype = i % 2 ? LOCUS_FLOAT64 : LOCUS_FLOAT32, .sequences = 1, .lengths = {JUMPS}};
        cache_case_open(&c);
        const cache_part all = cache_case_all(&c);
        const size_t offsets[] = {0, JUMPS};
        locus_positions *positions = on("seq", 1, offsets, values);
        locus_tensor k = cache_case_rows(&c, &all, 'k', c.dtype), v = cache_case_rows(&c, &all, 'v', c.dtype);
        locus_plan *plan = NULL;
        cache_case_need(&c, locus_plan_create(&plan, c.binding, positions, NULL, NULL), &(locus_error){0});
        locus_tensor turned = cache_case_applied(&c, plan, LOCUS_ROLE_KEY, &k);
        cache_case_need(&c, locus_cache_append(c.cache, positions, &k, &v, NULL, NULL), &(locus_error){0});
        const locus_tensor kept = locus_cache_keys(c.cache, 0);
        for (size_t t = 0; t < JUMPS; t++)
            for (size_t h = 0; h < c.kv_heads; h++)
                for (size_t j = 0; j < 8; j++)
                    if (cache_case_number(&kept, t, h, j) != cache_case_number(&turned, t, h, j))
                        fail_msg("%s: key %zu at %lld, head %zu, element %zu", c.spec, t, (long long)values[t], h, j);
        locus_plan_destroy(&plan);
        locus_positions_destroy(&positions);
        cache_case_free(&k);
        cache_case_free(&v);
        cache_case_free(&turned);
        cache_case_close(&c);
    }
}

/* ---- attending ---- */

static const char waits[] = "there are no new tokens whose queries could attend: append first (and again after their "
                            "tokens have been truncated, evicted or followed by inserted ones)";

static void attention_needs_its_tokens(void **state) {
    (void)state;
    cache_case c = {.spec = "rope", .dtype = LOCUS_FLOAT32, .sequences = 1, .lengths = {20}};
    cache_case_open(&c);
    const cache_part some = {{0}, {5}, {0, 5}};
    locus_tensor q = cache_case_zeros(5, c.heads, 8, c.dtype), o = cache_case_zeros(5, c.heads, 8, c.dtype),
                 wrong = cache_case_zeros(4, c.heads, 8, c.dtype);
    locus_attention_options linear = locus_attention_default();
    locus_error error;
    linear.kind = kind_of("linear");
    expect(locus_cache_attend(NULL, NULL, &q, &o, NULL, &error), LOCUS_ERROR_ARGUMENT, &error, "cache is NULL");
    expect(locus_cache_attend(c.cache, NULL, &q, &o, NULL, &error), LOCUS_ERROR_ARGUMENT, &error, waits);
    cache_case_append(&c, &some);
    expect(locus_cache_attend(c.cache, NULL, NULL, &o, NULL, &error), LOCUS_ERROR_ARGUMENT, &error,
           "query is NULL; this call needs it");
    expect(locus_cache_attend(c.cache, NULL, &q, NULL, NULL, &error), LOCUS_ERROR_ARGUMENT, &error,
           "output is NULL; this call needs it");
    expect(locus_cache_attend(c.cache, NULL, &wrong, &o, NULL, &error), LOCUS_ERROR_SHAPE, &error,
           "query has size 4 in dimension 0: expected 5, the tokens");
    expect(locus_cache_attend(c.cache, NULL, &q, &wrong, NULL, &error), LOCUS_ERROR_SHAPE, &error,
           "output has size 4 in dimension 0: expected 5, the tokens");
    expect(locus_cache_attend(c.cache, &linear, &q, &o, NULL, &error), LOCUS_ERROR_UNSUPPORTED, &error,
           "a cache keeps what softmax attention needs, not what linear attention does: leave kind NULL");
    assert_int_equal(locus_cache_attend(c.cache, NULL, &q, &o, NULL, &error), LOCUS_OK);
    assert_int_equal(locus_cache_truncate(c.cache, 0, 4, &error), LOCUS_OK);
    expect(locus_cache_attend(c.cache, NULL, &q, &o, NULL, &error), LOCUS_ERROR_ARGUMENT, &error, waits);
    const cache_part more = {{4}, {5}, {0, 5}};
    cache_case_append(&c, &more);
    assert_int_equal(locus_cache_evict(c.cache, 0, 3, 2, NULL, NULL, &error), LOCUS_OK); /* one of the new ones */
    expect(locus_cache_attend(c.cache, NULL, &q, &o, NULL, &error), LOCUS_ERROR_ARGUMENT, &error, waits);
    cache_case_append(&c, &more);
    const locus_cache_fragment fragment = {sizeof fragment, c.cache, 0, 0, 1, NULL};
    assert_int_equal(locus_cache_insert(c.cache, 0, &fragment, NULL, &error), LOCUS_OK);
    expect(locus_cache_attend(c.cache, NULL, &q, &o, NULL, &error), LOCUS_ERROR_ARGUMENT, &error, waits);
    assert_null(locus_cache_plan(c.cache));
    cache_case_free(&q);
    cache_case_free(&o);
    cache_case_free(&wrong);
    cache_case_close(&c);
}

/* The weights of keys ahead of a query would grow with their distance. */
static void xpos_needs_the_causal_mask(void **state) {
    (void)state;
    cache_case c = {.spec = "rope(xpos=512)", .dtype = LOCUS_FLOAT32, .sequences = 1, .lengths = {20}};
    cache_case_open(&c);
    const cache_part some = {{0}, {5}, {0, 5}};
    locus_tensor q = cache_case_zeros(5, c.heads, 8, c.dtype), o = cache_case_zeros(5, c.heads, 8, c.dtype);
    locus_attention_options full = locus_attention_default();
    locus_error error;
    cache_case_append(&c, &some);
    full.mask = LOCUS_MASK_FULL;
    expect(locus_cache_attend(c.cache, &full, &q, &o, NULL, &error), LOCUS_ERROR_UNSUPPORTED, &error,
           "the encoding (xpos) grows with the distance of later keys: every attention that it acts in must have the "
           "causal mask");
    assert_int_equal(locus_cache_attend(c.cache, NULL, &q, &o, NULL, &error), LOCUS_OK);
    cache_case_free(&q);
    cache_case_free(&o);
    cache_case_close(&c);
}

/* Attention of two tokens as it stands: its bits. */
static void attend_bits(const cache_case *c, const locus_tensor *q, float bits[2 * 4 * 8]) {
    locus_error error;
    locus_tensor o = cache_case_zeros(2, c->heads, 8, c->dtype);
    assert_int_equal(locus_cache_attend(c->cache, NULL, q, &o, NULL, &error), LOCUS_OK);
    memcpy(bits, o.data, 2 * 4 * 8 * sizeof *bits);
    cache_case_free(&o);
}

/* What was appended before an append that is refused, or queries that are, still attends, with the same bits. */
static void refused_calls_change_nothing(void **state) {
    (void)state;
    cache_case c = {.spec = "rope + decay(rate=0.1)", .dtype = LOCUS_FLOAT32, .sequences = 2, .lengths = {6, 6}};
    cache_case_open(&c);
    const cache_part some = {{0, 0}, {5, 2}, {0, 5, 7}}, last = {{5, 2}, {1, 1}, {0, 1, 2}};
    const cache_part again = {{4, 3}, {1, 1}, {0, 1, 2}};
    const int64_t values[] = {0, 1}, far[] = {0, (int64_t)1 << 41};
    const size_t offsets[] = {0, 1, 2};
    locus_positions *other = on("grid:2", 2, offsets, (const int64_t[]){0, 1, 2, 3}),
                    *fitting = on("seq", 2, offsets, values), *distant = on("seq", 2, offsets, far);
    locus_tensor k = cache_case_rows(&c, &again, 'k', c.dtype), v = cache_case_rows(&c, &again, 'v', c.dtype),
                 q = cache_case_rows(&c, &last, 'q', c.dtype), wrong = k;
    float before[2 * 4 * 8], after[2 * 4 * 8];
    locus_error error;
    wrong.shape[1] = 1;
    cache_case_append(&c, &some);
    cache_case_append(&c, &last);
    attend_bits(&c, &q, before);
    const kept_bits kept = bits_of(c.cache);
    const locus_plan *plan = locus_cache_plan(c.cache);
    assert_non_null(plan);
    for (size_t i = 0; i < 7; i++) {
        const locus_status status = i == 0   ? locus_cache_append(c.cache, NULL, &k, &v, NULL, &error) /* full */
                                    : i == 1 ? locus_cache_append(c.cache, fitting, &k, &v, NULL, &error)
                                    : i == 2 ? locus_cache_append(c.cache, other, &k, &v, NULL, &error)
                                    : i == 3 ? locus_cache_append(c.cache, NULL, NULL, &v, NULL, &error)
                                    : i == 4 ? locus_cache_append(c.cache, NULL, &k, &wrong, NULL, &error)
                                    : i == 5 ? locus_cache_queries(c.cache, other, NULL, &error)
                                             : locus_cache_queries(c.cache, distant, NULL, &error);
        assert_int_not_equal(status, LOCUS_OK);
        assert_ptr_equal(locus_cache_plan(c.cache), plan);
        attend_bits(&c, &q, after);
        assert_memory_equal(after, before, sizeof after);
        unchanged(c.cache, kept);
    }
    locus_positions_destroy(&other);
    locus_positions_destroy(&fitting);
    locus_positions_destroy(&distant);
    cache_case_free(&k);
    cache_case_free(&v);
    cache_case_free(&q);
    cache_case_close(&c);
}

/* ---- moving ---- */

static void moves_are_checked(void **state) {
    (void)state;
    cache_case c = {.spec = "rope", .dtype = LOCUS_FLOAT32, .sequences = 1, .lengths = {20}, .room = 24};
    cache_case other = {.spec = "rope(base=5000)", .dtype = LOCUS_FLOAT32, .sequences = 1, .lengths = {20}};
    cache_case_open(&c);
    cache_case_open(&other);
    const cache_part all = cache_case_all(&c);
    locus_group *group;
    locus_path *step, *leap, *strange;
    locus_error error;
    assert_int_equal(locus_group_parse("cycle:5", &group, NULL), LOCUS_OK);
    assert_int_equal(locus_path_parse(group, "3", &strange, NULL), LOCUS_OK);
    assert_int_equal(locus_path_parse(c.group, "-4", &step, NULL), LOCUS_OK);
    assert_int_equal(locus_path_parse(c.group, "1099511627776", &leap, NULL), LOCUS_OK);
    cache_case_append(&c, &all);
    const kept_bits before = bits_of(c.cache);
    expect(locus_cache_truncate(NULL, 0, 1, &error), LOCUS_ERROR_ARGUMENT, &error, "cache is NULL");
    expect(locus_cache_truncate(c.cache, 1, 1, &error), LOCUS_ERROR_ARGUMENT, &error,
           "there is no sequence 1: the cache has 1, numbered from 0");
    expect(locus_cache_truncate(c.cache, 0, 21, &error), LOCUS_ERROR_ARGUMENT, &error,
           "sequence 0 keeps 20 tokens and cannot be cut to 21");
    expect(locus_cache_evict(c.cache, 0, 15, 6, NULL, NULL, &error), LOCUS_ERROR_ARGUMENT, &error,
           "6 tokens from number 15 on were asked for, but sequence 0 keeps 20");
    expect(locus_cache_evict(c.cache, 0, SIZE_MAX, 2, NULL, NULL, &error), LOCUS_ERROR_ARGUMENT, &error,
           "2 tokens from number 18446744073709551615 on were asked for, but sequence 0 keeps 20");
    expect(locus_cache_evict(c.cache, 0, 0, 1, strange, NULL, &error), LOCUS_ERROR_ARGUMENT, &error,
           "the shift is of 'cycle:5', the encoding acts on 'seq': give a path of that group");
    expect(locus_cache_evict(c.cache, 0, 0, 1, leap, NULL, &error), LOCUS_ERROR_POSITION, &error,
           "position 1 would move by 1099511627776, out of range for an encoding: use -2^40 to 2^40");
    const locus_cache_fragment none = {sizeof none, NULL, 0, 0, 1, NULL},
                               elsewhere = {sizeof elsewhere, other.cache, 0, 0, 0, NULL},
                               too_long = {sizeof too_long, c.cache, 0, 0, 5, NULL},
                               beyond = {sizeof beyond, c.cache, 0, 19, 2, NULL},
                               far = {sizeof far, c.cache, 0, 0, 2, leap};
    expect(locus_cache_insert(c.cache, 0, NULL, NULL, &error), LOCUS_ERROR_ARGUMENT, &error,
           "fragment is NULL or has no source");
    expect(locus_cache_insert(c.cache, 0, &none, NULL, &error), LOCUS_ERROR_ARGUMENT, &error,
           "fragment is NULL or has no source");
    expect(locus_cache_insert(c.cache, 0, &elsewhere, NULL, &error), LOCUS_ERROR_ARGUMENT, &error,
           "the fragment's cache has another binding: its keys mean something else here");
    expect(locus_cache_insert(c.cache, 0, &too_long, NULL, &error), LOCUS_ERROR_ARGUMENT, &error,
           "sequence 0 would have 25 tokens, but the cache's capacity is 24");
    expect(locus_cache_insert(c.cache, 0, &beyond, NULL, &error), LOCUS_ERROR_ARGUMENT, &error,
           "2 tokens from number 19 on were asked for, but sequence 0 keeps 20");
    expect(locus_cache_insert(c.cache, 0, &far, NULL, &error), LOCUS_ERROR_POSITION, &error,
           "position 1 would move by 1099511627776, out of range for an encoding: use -2^40 to 2^40");
    unchanged(c.cache, before);
    locus_cache_options options = locus_cache_options_default();
    locus_cache *longer;
    options.capacity = 30;
    assert_int_equal(locus_cache_create(&longer, c.binding, &options, NULL), LOCUS_OK);
    const locus_cache_fragment of_c = {sizeof of_c, c.cache, 0, 0, 1, NULL};
    expect(locus_cache_insert(longer, 0, &of_c, NULL, &error), LOCUS_ERROR_ARGUMENT, &error,
           "the fragment's cache has another length: its keys mean something else here");
    locus_cache_destroy(&longer);
    locus_path_destroy(&step);
    locus_path_destroy(&leap);
    locus_path_destroy(&strange);
    locus_group_destroy(&group);
    cache_case_close(&c);
    cache_case_close(&other);
}

static void shifts_are_checked(void **state) {
    (void)state;
    locus_binding *binding = bind("rope", (locus_shape){.heads = 2, .head_dim = 4});
    locus_path *a;
    locus_error error;
    locus_tensor x = cache_case_zeros(3, 2, 4, LOCUS_FLOAT32), wrong = cache_case_zeros(3, 3, 4, LOCUS_FLOAT32);
    assert_int_equal(locus_path_parse(locus_binding_group(binding), "3", &a, NULL), LOCUS_OK);
    expect(locus_keys_shift(NULL, a, NULL, LOCUS_ROLE_KEY, &x, &error), LOCUS_ERROR_ARGUMENT, &error,
           "binding is NULL");
    expect(locus_keys_shift(binding, NULL, NULL, LOCUS_ROLE_KEY, &x, &error), LOCUS_ERROR_ARGUMENT, &error,
           "a is NULL");
    expect(locus_keys_shift(binding, a, NULL, LOCUS_ROLE_KEY, NULL, &error), LOCUS_ERROR_ARGUMENT, &error,
           "keys is NULL");
    expect(locus_keys_shift(binding, a, NULL, LOCUS_ROLE_QUERY, &x, &error), LOCUS_ERROR_ARGUMENT, &error,
           "only keys and values are shifted, not role 2");
    expect(locus_keys_shift(binding, a, NULL, LOCUS_ROLE_KEY, &wrong, &error), LOCUS_ERROR_SHAPE, &error,
           "keys must be [tokens, 2, 4] or [sequences, 2, length, 4]");
    static const locus_tensor shapes[] = {
        {.rank = 3, .shape = {3, 2, 5}},    {.rank = 3, .shape = {3, 2, 3}},     {.rank = 3, .shape = {3, 1, 4}},
        {.rank = 3, .shape = {-1, 2, 4}},   {.rank = 2, .shape = {3, 2, 4}},     {.rank = 1, .shape = {24}},
        {.rank = 4, .shape = {1, 2, 3, 5}}, {.rank = 4, .shape = {1, 2, -3, 4}}, {.rank = 4, .shape = {1, 3, 2, 4}},
        {.rank = 4, .shape = {3, 2, 4, 1}}, {.rank = 4, .shape = {-1, 2, 3, 4}}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        wrong.rank = shapes[i].rank;
        memcpy(wrong.shape, shapes[i].shape, sizeof wrong.shape);
        expect(locus_keys_shift(binding, a, NULL, LOCUS_ROLE_KEY, &wrong, &error), LOCUS_ERROR_SHAPE, &error,
               "keys must be [tokens, 2, 4] or [sequences, 2, length, 4]");
    }
    locus_tensor apart = x, none = x;
    apart.stride[2] = 2;
    expect(locus_keys_shift(binding, a, NULL, LOCUS_ROLE_KEY, &apart, &error), LOCUS_ERROR_SHAPE, &error,
           "keys must have stride 1 in their last dimension, not 2");
    apart = x;
    apart.device = 1;
    expect(locus_keys_shift(binding, a, NULL, LOCUS_ROLE_KEY, &apart, &error), LOCUS_ERROR_UNSUPPORTED, &error,
           "keys is on device 1: the library computes in the host's memory, device 0");
    for (int i = 0; i < 2; i++) { /* the same numbers again and again */
        apart = x;
        apart.stride[i] = 0;
        expect(locus_keys_shift(binding, a, NULL, LOCUS_ROLE_KEY, &apart, &error), LOCUS_ERROR_SHAPE, &error,
               i == 0 ? "stride 0 of keys is 0; a tensor that is written must not repeat its elements"
                      : "stride 1 of keys is 0; a tensor that is written must not repeat its elements");
    }
    none.data = NULL;
    expect(locus_keys_shift(binding, a, NULL, LOCUS_ROLE_KEY, &none, &error), LOCUS_ERROR_ARGUMENT, &error,
           "keys has no data; its data pointer is NULL");
    assert_int_equal(locus_keys_shift(binding, a, NULL, LOCUS_ROLE_KEY, &x, &error), LOCUS_OK);
    x.shape[0] = none.shape[0] = 0;
    assert_int_equal(locus_keys_shift(binding, a, NULL, LOCUS_ROLE_KEY, &x, &error), LOCUS_OK);
    assert_int_equal(locus_keys_shift(binding, a, NULL, LOCUS_ROLE_KEY, &none, &error), LOCUS_OK);
    cache_case_free(&x);
    cache_case_free(&wrong);
    locus_path_destroy(&a);
    locus_binding_destroy(&binding);
}

/* One token of one head of size 1, whose only reflection is −1. The stride of one number is any. */
static void a_single_number_is_shifted(void **state) {
    (void)state;
    const locus_shape size = {.heads = 1, .head_dim = 1};
    const int64_t shape[] = {1, 1, 1, 1};
    float number = 2, direction = 1;
    locus_tensor keys = locus_tensor_view(&number, LOCUS_FLOAT32, 3, shape);
    const locus_tensor parameter = locus_tensor_view(&direction, LOCUS_FLOAT32, 4, shape);
    locus_encoding *encoding;
    locus_binding *binding;
    locus_path *a;
    assert_int_equal(locus_encoding_parse("algebraic(generator=householder)", &encoding, NULL), LOCUS_OK);
    assert_int_equal(locus_binding_create(&binding, encoding, &size, &parameter, 1, NULL), LOCUS_OK);
    locus_encoding_destroy(&encoding);
    assert_int_equal(locus_path_parse(locus_binding_group(binding), "3", &a, NULL), LOCUS_OK);
    assert_int_equal(locus_keys_shift(binding, a, NULL, LOCUS_ROLE_KEY, &keys, NULL), LOCUS_OK);
    assert_true(number == -2);
    keys.stride[2] = 5;
    assert_int_equal(locus_keys_shift(binding, a, NULL, LOCUS_ROLE_KEY, &keys, NULL), LOCUS_OK);
    assert_true(number == 2);
    locus_path_destroy(&a);
    locus_binding_destroy(&binding);
}

static void questions_have_answers_for_everything(void **state) {
    (void)state;
    assert_int_equal(locus_cache_bytes(NULL), 0);
    assert_int_equal(locus_cache_length(NULL, 0), 0);
    assert_null(locus_cache_plan(NULL));
    assert_null(locus_cache_keys(NULL, 0).data);
    assert_null(locus_cache_values(NULL, 0).data);
    cache_case c = {.spec = "rope", .dtype = LOCUS_FLOAT16, .sequences = 1, .lengths = {100}};
    cache_case_open(&c);
    const size_t none[] = {1, 2, 9, SIZE_MAX}; /* sequences that there are not */
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        const locus_tensor views[] = {locus_cache_keys(c.cache, none[i]), locus_cache_values(c.cache, none[i])};
        for (size_t j = 0; j < 2; j++)
            assert_true(!views[j].data && views[j].rank == 0 && views[j].shape[0] == 0);
        assert_int_equal(locus_cache_length(c.cache, none[i]), 0);
    }
    assert_non_null(locus_cache_keys(c.cache, 0).data);
    assert_non_null(locus_cache_values(c.cache, 0).data);
    assert_int_equal(locus_cache_keys(c.cache, 0).shape[0], 0);
    const size_t rows = 2 * c.kv_heads * 100 * 8 * 2, bytes = locus_cache_bytes(c.cache);
    assert_true(bytes > rows && bytes < rows + 65536);
    cache_case_close(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(creation_says_what_is_missing),
        cmocka_unit_test(raw_queries_are_not_there),
        cmocka_unit_test(appends_are_checked),
        cmocka_unit_test(some_positions_cannot_be_counted_or_real),
        cmocka_unit_test(attention_needs_its_tokens),
        cmocka_unit_test(xpos_needs_the_causal_mask),
        cmocka_unit_test(counting_ends),
        cmocka_unit_test(counting_goes_round),
        cmocka_unit_test(positions_may_jump),
        cmocka_unit_test(refused_calls_change_nothing),
        cmocka_unit_test(moves_are_checked),
        cmocka_unit_test(shifts_are_checked),
        cmocka_unit_test(a_single_number_is_shifted),
        cmocka_unit_test(questions_have_answers_for_everything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
