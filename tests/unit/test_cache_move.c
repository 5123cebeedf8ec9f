/* SPDX-License-Identifier: MIT */
/* Kept keys that are moved: re-basing by a group element, evicted tokens, fragments put together. What comes out is
 * what a cache gives that was filled with the moved positions from the start, scores included. */
#include "cache_case.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- re-basing ---- */

static locus_positions *positions_of(const cache_case *c, locus_path *const *paths, size_t count) {
    const size_t offsets[] = {0, count};
    const locus_packing packing = {sizeof packing, 1, offsets, NULL};
    locus_positions *positions;
    locus_error error;
    cache_case_need(
        c, locus_positions_create_paths(&positions, c->group, &packing, (const locus_path *const *)paths, &error),
        &error);
    return positions;
}

/* p or, with a shift, a + p. */
static locus_path *moved(const cache_case *c, size_t index, const locus_path *a) {
    locus_path *path = cache_case_path(c, index), *result = path;
    locus_error error;
    if (a) {
        cache_case_need(c, locus_path_compose(a, path, &result, &error), &error);
        locus_path_destroy(&path);
    }
    return result;
}

static locus_tensor applied_at(const cache_case *c, const locus_path *a, locus_role role, const locus_tensor *x) {
    const size_t count = (size_t)x->shape[0];
    locus_path **paths = calloc(count, sizeof(locus_path *));
    locus_plan_options options = locus_plan_options_default();
    locus_plan *plan;
    locus_error error;
    options.length = 400;
    for (size_t i = 0; i < count; i++)
        paths[i] = moved(c, i, a);
    locus_positions *positions = positions_of(c, paths, count);
    cache_case_need(c, locus_plan_create_with(&plan, c->binding, positions, NULL, &options, &error), &error);
    locus_tensor y = cache_case_applied(c, plan, role, x);
    locus_plan_destroy(&plan);
    locus_positions_destroy(&positions);
    for (size_t i = 0; i < count; i++)
        locus_path_destroy(&paths[i]);
    free(paths);
    return y;
}

static double apart(const locus_tensor *a, const locus_tensor *b) {
    double most = 0;
    for (size_t t = 0; t < (size_t)a->shape[0]; t++)
        for (size_t h = 0; h < (size_t)a->shape[1]; h++)
            for (size_t j = 0; j < (size_t)a->shape[2]; j++)
                most = fmax(most, fabs(cache_case_number(a, t, h, j) - cache_case_number(b, t, h, j)));
    return most;
}

static void shift_and_check(const char *spec, locus_dtype dtype, locus_role role, double tolerance) {
    cache_case c = {.spec = spec, .dtype = dtype, .sequences = 1, .lengths = {300}, .start = 7};
    cache_case_open(&c);
    const cache_part all = cache_case_all(&c);
    locus_path *a = cache_case_path(&c, 13);
    locus_plan_options options = locus_plan_options_default();
    options.length = 400;
    locus_tensor x = cache_case_rows(&c, &all, role == LOCUS_ROLE_KEY ? 'k' : 'v', dtype);
    locus_tensor kept = applied_at(&c, NULL, role, &x), want = applied_at(&c, a, role, &x);
    locus_error error;
    cache_case_need(&c, locus_keys_shift(c.binding, a, &options, role, &kept, &error), &error);
    const double most = apart(&kept, &want);
    if (!(most <= tolerance))
        fail_msg("%s, type %d, role %d: shifted keys are off by %g", spec, (int)dtype, (int)role, most);
    cache_case_free(&x);
    cache_case_free(&kept);
    cache_case_free(&want);
    locus_path_destroy(&a);
    cache_case_close(&c);
}

static void shifted_keys_are_those_of_moved_positions(void **state) {
    (void)state;
    static const char *const specs[] = {
        "none",
        "alibi",
        "rope",
        "rope(pairs=half, rotate=4, side=key)",
        "rope(side=query)",
        "roper",
        "rope(scaling=yarn, factor=8, original=64)",
        "rope(rotate=4, scaling=yarn, factor=8, original=64)",
        "rope(scaling=yarn, factor=8, original=64, side=query)",
        "rope(scaling=dynamic, factor=2, original=64)",
        "rope(xpos=512)",
        "algebraic(group=seq, values=on)",
        "algebraic(group=seq, generator=householder)",
        "algebraic(group=cycle:12, values=on)",
        "algebraic(group=grid:2)",
        "algebraic(group=tree:1)",
        "algebraic(group=tree:2, values=on)",
        "algebraic(group=seq*tree:2)",
        "mixed(group=grid:2)",
        "string(group=grid:2)",
        "rope + decay(rate=0.9)",
    };
    /* Data are at most 2 in size, heads 8 wide. */
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        shift_and_check(specs[i], LOCUS_FLOAT64, LOCUS_ROLE_KEY, 1e-12);
        shift_and_check(specs[i], LOCUS_FLOAT64, LOCUS_ROLE_VALUE, 1e-12);
        shift_and_check(specs[i], LOCUS_FLOAT32, LOCUS_ROLE_KEY, 4e-6);
        shift_and_check(specs[i], LOCUS_FLOAT32, LOCUS_ROLE_VALUE, 4e-6);
    }
    shift_and_check("rope", LOCUS_FLOAT16, LOCUS_ROLE_KEY, 4e-3);
    shift_and_check("rope", LOCUS_BFLOAT16, LOCUS_ROLE_KEY, 3e-2);
}

static void what_is_no_homomorphism_is_not_shifted(void **state) {
    (void)state;
    static const struct {
        const char *spec, *text;
    } cases[] = {
        {"liere(group=grid:2)", "'liere' maps positions to operators by no homomorphism: turned keys cannot be moved, "
                                "turn them anew at their new positions"},
        {"rope(xpos=512, centre=100)",
         "'rope' stretches around a centre: turned keys cannot be moved, turn them anew at "
         "their new positions"},
    };
    for (size_t i = 0; i < 2; i++) {
        cache_case c = {.spec = cases[i].spec, .dtype = LOCUS_FLOAT32, .sequences = 1, .lengths = {4}};
        cache_case_open(&c);
        const cache_part all = cache_case_all(&c);
        locus_path *a = cache_case_path(&c, 1);
        locus_tensor x = cache_case_rows(&c, &all, 'k', LOCUS_FLOAT32);
        locus_error error;
        assert_int_equal(locus_keys_shift(c.binding, a, NULL, LOCUS_ROLE_KEY, &x, &error), LOCUS_ERROR_UNSUPPORTED);
        assert_string_equal(error.message, cases[i].text);
        cache_case_append(&c, &all);
        assert_int_equal(locus_cache_evict(c.cache, 0, 0, 1, a, NULL, &error), LOCUS_ERROR_UNSUPPORTED);
        assert_string_equal(error.message, cases[i].text);
        assert_int_equal(locus_cache_length(c.cache, 0), 4);
        assert_int_equal(locus_cache_evict(c.cache, 0, 0, 1, NULL, NULL, &error), LOCUS_OK);
        cache_case_free(&x);
        locus_path_destroy(&a);
        cache_case_close(&c);
    }
}

/* ---- a cache that was filled as if nothing had been moved ---- */

typedef struct placed_token {
    size_t token;        /* of the case's data */
    const locus_path *a; /* its position is a + that of token `token` */
} placed_token;

static void append_placed(const cache_case *c, locus_cache *cache, const placed_token *tokens, size_t count) {
    locus_path **paths = calloc(count + 1, sizeof(locus_path *));
    locus_tensor k = cache_case_zeros(count, c->kv_heads, c->head_dim, LOCUS_FLOAT64),
                 v = cache_case_zeros(count, c->kv_heads, c->value_dim, LOCUS_FLOAT64);
    const size_t key = c->kv_heads * c->head_dim, value = c->kv_heads * c->value_dim;
    locus_error error;
    for (size_t i = 0; i < count; i++) {
        paths[i] = moved(c, tokens[i].token, tokens[i].a);
        memcpy((double *)k.data + i * key, c->k + tokens[i].token * key, key * sizeof(double));
        memcpy((double *)v.data + i * value, c->v + tokens[i].token * value, value * sizeof(double));
    }
    locus_positions *positions = positions_of(c, paths, count);
    cache_case_need(c, locus_cache_append(cache, positions, &k, &v, NULL, &error), &error);
    locus_positions_destroy(&positions);
    for (size_t i = 0; i < count; i++)
        locus_path_destroy(&paths[i]);
    free(paths);
    cache_case_free(&k);
    cache_case_free(&v);
}

static locus_cache *another(const cache_case *c, locus_dtype dtype) {
    locus_cache_options options = locus_cache_options_default();
    locus_cache *cache;
    locus_error error;
    options.capacity = 120;
    options.dtype = dtype;
    options.length = 400;
    cache_case_need(c, locus_cache_create(&cache, c->binding, &options, &error), &error);
    return cache;
}

static void compare_caches(const cache_case *c, const locus_cache *have, const locus_cache *want) {
    const locus_tensor pairs[2][2] = {{locus_cache_keys(have, 0), locus_cache_keys(want, 0)},
                                      {locus_cache_values(have, 0), locus_cache_values(want, 0)}};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(pairs[i][0].shape[0], pairs[i][1].shape[0]);
        const double most = apart(&pairs[i][0], &pairs[i][1]);
        if (!(most <= 1e-12))
            fail_msg("%s: kept %s are off by %g", c->spec, i ? "values" : "keys", most);
    }
}

/* The attention of the last tokens of both caches. */
static void compare_attention(const cache_case *c, locus_cache *have, locus_cache *want, size_t first, size_t count) {
    locus_tensor q = cache_case_zeros(count, c->heads, c->head_dim, LOCUS_FLOAT64);
    locus_tensor o[2];
    const size_t row = c->heads * c->head_dim;
    memcpy(q.data, c->q + first * row, count * row * sizeof(double));
    for (size_t i = 0; i < 2; i++) {
        locus_error error;
        o[i] = cache_case_zeros(count, c->heads, c->value_dim, LOCUS_FLOAT64);
        cache_case_need(c, locus_cache_attend(i ? want : have, NULL, &q, &o[i], NULL, &error), &error);
    }
    const double most = apart(&o[0], &o[1]);
    if (!(most <= 1e-12))
        fail_msg("%s: attention is off by %g", c->spec, most);
    cache_case_free(&q);
    cache_case_free(&o[0]);
    cache_case_free(&o[1]);
}

typedef struct move_case {
    const char *spec, *shift; /* NULL: none */
} move_case;

static const move_case moves[] = {
    {"none", NULL},
    {"rope", "-10"},
    {"rope", NULL},
    {"rope(scaling=yarn, factor=8, original=64)", "-10"},
    {"roper + alibi", "-10"},
    {"roper + alibi", NULL},
    {"decay(rate=0.9)", "-7"},
    {"t5", "1000"},
    {"fire", "-10"},
    {"relative(window=5, values=on)", "-10"},
    {"algebraic(group=seq, decay=0.95, values=on)", "-10"},
    {"algebraic(group=cycle:12, decay=0.95)", "5"},
    {"algebraic(group=grid:2, decay=0.95, values=on)", "(-2,1)"},
    {"algebraic(group=tree:2, decay=0.9, values=on)", "2+1-2"},
    {"algebraic(group=seq*tree:2, decay=0.9)", "(-3,-1)"},
};

static locus_path *shift_of(const cache_case *c, const char *text) {
    locus_path *a = NULL;
    locus_error error;
    if (text)
        cache_case_need(c, locus_path_parse(c->group, text, &a, &error), &error);
    return a;
}

enum { TOKENS = 90, FIRST = 4, GONE = 10, NEW = 3 };

/* As a sliding cache with sinks does: tokens behind the first few go, and the rest closes up. The tokens that were new
 * still are; then others follow. */
static void evicted_tokens_leave_no_trace(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++) {
        cache_case c = {.spec = moves[i].spec, .dtype = LOCUS_FLOAT64, .sequences = 1, .lengths = {TOKENS}, .start = 2};
        placed_token tokens[TOKENS];
        cache_case_open(&c);
        locus_path *a = shift_of(&c, moves[i].shift);
        locus_cache *have = another(&c, LOCUS_FLOAT64), *want = another(&c, LOCUS_FLOAT64);
        for (size_t t = 0; t < TOKENS; t++)
            tokens[t] = (placed_token){t, NULL};
        append_placed(&c, have, tokens, TOKENS - 2 * NEW);
        append_placed(&c, have, tokens + TOKENS - 2 * NEW, NEW);
        locus_error error;
        cache_case_need(&c, locus_cache_evict(have, 0, FIRST, GONE, a, NULL, &error), &error);
        for (size_t t = FIRST + GONE; t < TOKENS; t++)
            tokens[t - GONE] = (placed_token){t, a};
        append_placed(&c, want, tokens, TOKENS - GONE - 2 * NEW);
        append_placed(&c, want, tokens + TOKENS - GONE - 2 * NEW, NEW);
        compare_caches(&c, have, want);
        compare_attention(&c, have, want, TOKENS - 2 * NEW, NEW);
        append_placed(&c, have, tokens + TOKENS - GONE - NEW, NEW);
        append_placed(&c, want, tokens + TOKENS - GONE - NEW, NEW);
        compare_caches(&c, have, want);
        compare_attention(&c, have, want, TOKENS - NEW, NEW);
        locus_cache_destroy(&have);
        locus_cache_destroy(&want);
        locus_path_destroy(&a);
        cache_case_close(&c);
    }
}

/* Two documents that were read apart, then put behind one another; a piece of the cache itself, and of another type. */
static void fragments_are_put_together(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++) {
        cache_case c = {.spec = moves[i].spec, .dtype = LOCUS_FLOAT64, .sequences = 1, .lengths = {TOKENS}, .start = 2};
        placed_token tokens[TOKENS], all[TOKENS];
        cache_case_open(&c);
        locus_path *a = shift_of(&c, moves[i].shift);
        locus_cache *have = another(&c, LOCUS_FLOAT64), *other = another(&c, LOCUS_FLOAT64),
                    *want = another(&c, LOCUS_FLOAT64);
        for (size_t t = 0; t < TOKENS; t++)
            all[t] = tokens[t] = (placed_token){t, NULL};
        append_placed(&c, have, tokens, 20);
        append_placed(&c, other, tokens + 20, 40);
        const locus_cache_fragment from_other = {sizeof from_other, other, 0, 5, 30, a},
                                   from_itself = {sizeof from_itself, have, 0, 2, 10, NULL};
        locus_error error;
        cache_case_need(&c, locus_cache_insert(have, 0, &from_other, NULL, &error), &error);
        cache_case_need(&c, locus_cache_insert(have, 0, &from_itself, NULL, &error), &error);
        assert_int_equal(locus_cache_length(have, 0), 60);
        for (size_t t = 0; t < 30; t++)
            all[20 + t] = (placed_token){25 + t, a};
        for (size_t t = 0; t < 10; t++)
            all[50 + t] = tokens[2 + t];
        append_placed(&c, want, all, 60);
        compare_caches(&c, have, want);
        append_placed(&c, have, tokens + TOKENS - NEW, NEW);
        append_placed(&c, want, tokens + TOKENS - NEW, NEW);
        compare_attention(&c, have, want, TOKENS - NEW, NEW);
        locus_cache_destroy(&have);
        locus_cache_destroy(&other);
        locus_cache_destroy(&want);
        locus_path_destroy(&a);
        cache_case_close(&c);
    }
}

/* Between element types, and between caches whose bindings were made apart and are equal. */
static void fragments_change_their_type(void **state) {
    (void)state;
    cache_case c = {.spec = "rope", .dtype = LOCUS_FLOAT32, .sequences = 1, .lengths = {30}}, twin = c;
    placed_token tokens[30];
    cache_case_open(&c);
    cache_case_open(&twin);
    assert_ptr_not_equal(c.binding, twin.binding);
    locus_cache *half = another(&c, LOCUS_BFLOAT16), *wide = another(&twin, LOCUS_FLOAT32);
    for (size_t t = 0; t < 30; t++)
        tokens[t] = (placed_token){t, NULL};
    append_placed(&c, half, tokens, 30);
    const locus_cache_fragment fragment = {sizeof fragment, half, 0, 3, 20, NULL};
    locus_error error;
    cache_case_need(&c, locus_cache_insert(wide, 0, &fragment, NULL, &error), &error);
    const locus_tensor from = locus_cache_keys(half, 0), to = locus_cache_keys(wide, 0);
    for (size_t t = 0; t < 20; t++)
        for (size_t j = 0; j < c.head_dim; j++)
            assert_true(cache_case_number(&from, 3 + t, 1, j) == cache_case_number(&to, t, 1, j));
    locus_cache_destroy(&half);
    locus_cache_destroy(&wide);
    cache_case_close(&twin);
    cache_case_close(&c);
}

/* Sequences are moved one at a time; the others, and their new tokens, stay. */
static void other_sequences_stay(void **state) {
    (void)state;
    cache_case c = {.spec = "rope + alibi", .dtype = LOCUS_FLOAT64, .sequences = 3, .lengths = {30, 20, 25}};
    cache_case_open(&c);
    const cache_part before = {{0, 0, 0}, {30, 20, 24}, {0, 30, 50, 74}}, last = {{0, 0, 24}, {0, 0, 1}, {0, 0, 0, 1}};
    locus_tensor o[2] = {cache_case_zeros(1, c.heads, c.value_dim, c.dtype),
                         cache_case_zeros(1, c.heads, c.value_dim, c.dtype)};
    cache_case_append(&c, &before);
    const locus_tensor view = locus_cache_keys(c.cache, 1);
    locus_tensor kept = cache_case_zeros(20, c.kv_heads, c.head_dim, c.dtype);
    for (size_t t = 0; t < 20; t++)
        for (size_t h = 0; h < c.kv_heads; h++)
            for (size_t j = 0; j < c.head_dim; j++)
                ((double *)kept.data)[(t * c.kv_heads + h) * c.head_dim + j] = cache_case_number(&view, t, h, j);
    cache_case_append(&c, &last);
    cache_case_attend(&c, &last, NULL, &o[0]);
    locus_path *a = shift_of(&c, "-4");
    cache_case_need(&c, locus_cache_evict(c.cache, 0, 1, 4, a, NULL, NULL), &(locus_error){0});
    cache_case_need(&c, locus_cache_truncate(c.cache, 1, 18, NULL), &(locus_error){0});
    cache_case_attend(&c, &last, NULL, &o[1]);
    assert_true(apart(&o[0], &o[1]) == 0);
    const locus_tensor left = locus_cache_keys(c.cache, 1);
    assert_int_equal(left.shape[0], 18);
    kept.shape[0] = 18;
    assert_true(apart(&left, &kept) == 0);
    assert_int_equal(locus_cache_length(c.cache, 0), 26);
    cache_case_free(&kept);
    cache_case_free(&o[0]);
    cache_case_free(&o[1]);
    locus_path_destroy(&a);
    cache_case_close(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shifted_keys_are_those_of_moved_positions),
        cmocka_unit_test(what_is_no_homomorphism_is_not_shifted),
        cmocka_unit_test(evicted_tokens_leave_no_trace),
        cmocka_unit_test(fragments_are_put_together),
        cmocka_unit_test(fragments_change_their_type),
        cmocka_unit_test(other_sequences_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
