/* SPDX-License-Identifier: MIT */
/* Caches of one binding whose new tokens stand on the same positions, as a model's layers', place them once: they have
 * one plan, keep what caches alone keep, to the bit, and part where their tokens do. */
#include "cache_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <pthread.h>
#include <cmocka.h>

enum { LAYERS = 3, TOKENS = 70 };

static const char *const specs[] = {"rope", "algebraic(group=grid:2, decay=0.9)", "liere(decay=0.9)",
                                    "algebraic(group=tree:2, decay=0.9)", "rope + learned(size=128)"};

static locus_cache *another(const cache_case *c) {
    locus_cache_options options = locus_cache_options_default();
    locus_cache *cache = NULL;
    locus_error error;
    options.capacity = TOKENS;
    options.dtype = c->dtype;
    cache_case_need(c, locus_cache_create(&cache, c->binding, &options, &error), &error);
    return cache;
}

static cache_case case_of(const char *spec) {
    return (cache_case){.spec = spec, .dtype = LOCUS_FLOAT32, .sequences = 1, .lengths = {TOKENS}};
}

static cache_part part_of(size_t first, size_t count) {
    return (cache_part){{first}, {count}, {0, count}};
}

static void append(const cache_case *c, locus_cache *cache, const locus_positions *positions, const cache_part *part) {
    locus_tensor k = cache_case_rows(c, part, 'k', c->dtype), v = cache_case_rows(c, part, 'v', c->dtype);
    locus_error error;
    cache_case_need(c, locus_cache_append(cache, positions, &k, &v, NULL, &error), &error);
    cache_case_free(&k);
    cache_case_free(&v);
}

static void compare_keys(const cache_case *c, const locus_cache *a, const locus_cache *b) {
    const locus_tensor x = locus_cache_keys(a, 0), y = locus_cache_keys(b, 0);
    assert_int_equal(x.shape[0], y.shape[0]);
    for (size_t t = 0; t < (size_t)x.shape[0]; t++)
        for (size_t h = 0; h < c->kv_heads; h++)
            for (size_t j = 0; j < (size_t)x.shape[2]; j++)
                assert_true(cache_case_number(&x, t, h, j) == cache_case_number(&y, t, h, j));
}

/* The layers' caches see one positions object in each step, the case's own cache another. */
static void layers_have_one_plan(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        cache_case c = case_of(specs[i]);
        cache_case_open(&c);
        locus_cache *layers[LAYERS];
        for (size_t l = 0; l < LAYERS; l++)
            layers[l] = another(&c);
        for (size_t at = 0, count; at < TOKENS; at += count) {
            count = at == 0 ? 20 : 1;
            const cache_part part = part_of(at, count);
            locus_positions *positions = cache_case_positions(&c, &part);
            locus_error error;
            cache_case_need(&c, locus_cache_queries(layers[0], positions, NULL, &error), &error);
            const locus_plan *plan = locus_cache_plan(layers[0]);
            for (size_t l = 0; l < LAYERS; l++) {
                append(&c, layers[l], positions, &part);
                assert_ptr_equal(locus_cache_plan(layers[l]), plan);
            }
            locus_positions_destroy(&positions);
            cache_case_append(&c, &part);
            assert_ptr_not_equal(locus_cache_plan(c.cache), plan);
        }
        for (size_t l = 0; l < LAYERS; l++) {
            compare_keys(&c, layers[l], c.cache);
            locus_cache_destroy(&layers[l]);
        }
        cache_case_close(&c);
    }
}

/* What was placed for the tokens before stays for those that come, once all layers have left it, and counts. */
static void what_is_kept_ready_counts(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        cache_case c = case_of(specs[i]);
        cache_case_open(&c);
        locus_cache *first = another(&c), *second = another(&c);
        size_t bytes[4];
        for (size_t step = 0; step < 2; step++) {
            const cache_part part = part_of(4 * step, 4);
            locus_positions *positions = cache_case_positions(&c, &part);
            append(&c, first, positions, &part);
            bytes[2 * step] = locus_cache_bytes(first);
            append(&c, second, positions, &part);
            bytes[2 * step + 1] = locus_cache_bytes(first);
            locus_positions_destroy(&positions);
        }
        assert_in_range(bytes[1] - bytes[0], 1, bytes[0]); /* what the second one began with */
        assert_true(bytes[2] < bytes[1]);                  /* is taken, */
        assert_in_range(bytes[3] - bytes[2], 1, bytes[2]); /* and what both leave is there in its place */
        locus_cache_destroy(&first);
        locus_cache_destroy(&second);
        cache_case_close(&c);
    }
}

/* A layer that goes on, or moves its tokens, leaves the others' plan as it was. */
static void layers_part(void **state) {
    (void)state;
    cache_case c = case_of("rope");
    cache_case_open(&c);
    locus_cache *first = another(&c), *second = another(&c);
    const cache_part part = part_of(0, 4), next = part_of(4, 4);
    locus_positions *positions = cache_case_positions(&c, &part);
    locus_path *shift = cache_case_path(&c, 3);
    locus_error error;
    append(&c, first, positions, &part);
    append(&c, second, positions, &part);
    const locus_plan *plan = locus_cache_plan(second);
    locus_tensor x = cache_case_rows(&c, &part, 'k', c.dtype),
                 before = cache_case_applied(&c, plan, LOCUS_ROLE_KEY, &x);
    cache_case_need(&c, locus_cache_evict(first, 0, 0, 0, shift, NULL, &error), &error);
    assert_ptr_not_equal(locus_cache_plan(first), plan);
    locus_positions *others = cache_case_positions(&c, &next);
    append(&c, first, others, &next);
    assert_ptr_equal(locus_cache_plan(second), plan);
    locus_tensor after = cache_case_applied(&c, plan, LOCUS_ROLE_KEY, &x);
    assert_memory_equal(before.data, after.data, 4 * c.kv_heads * c.head_dim * sizeof(float));
    cache_case_free(&x);
    cache_case_free(&before);
    cache_case_free(&after);
    locus_path_destroy(&shift);
    locus_positions_destroy(&others);
    locus_positions_destroy(&positions);
    locus_cache_destroy(&first);
    locus_cache_destroy(&second);
    cache_case_close(&c);
}

/* ---- layers of several threads ---- */

typedef struct decoder {
    const cache_case *c;
    locus_positions *const *positions; /* of each token */
    locus_cache *cache;
} decoder;

static void *decode(void *context) {
    const decoder *own = context;
    for (size_t t = 0; t < TOKENS; t++) {
        const cache_part part = part_of(t, 1);
        append(own->c, own->cache, own->positions[t], &part);
    }
    return NULL;
}

static void threads_share_positions(void **state) {
    (void)state;
    cache_case c = case_of("algebraic(group=grid:2, decay=0.9)");
    cache_case_open(&c);
    locus_positions *positions[TOKENS];
    decoder decoders[LAYERS];
    pthread_t threads[LAYERS];
    for (size_t t = 0; t < TOKENS; t++) {
        const cache_part part = part_of(t, 1);
        positions[t] = cache_case_positions(&c, &part);
    }
    for (size_t l = 0; l < LAYERS; l++) {
        decoders[l] = (decoder){&c, positions, another(&c)};
        assert_int_equal(pthread_create(&threads[l], NULL, decode, &decoders[l]), 0);
    }
    for (size_t l = 0; l < LAYERS; l++)
        assert_int_equal(pthread_join(threads[l], NULL), 0);
    const cache_part all = cache_case_all(&c);
    cache_case_append(&c, &all);
    for (size_t l = 0; l < LAYERS; l++) {
        compare_keys(&c, decoders[l].cache, c.cache);
        locus_cache_destroy(&decoders[l].cache);
    }
    for (size_t t = 0; t < TOKENS; t++)
        locus_positions_destroy(&positions[t]);
    cache_case_close(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_have_one_plan),
        cmocka_unit_test(what_is_kept_ready_counts),
        cmocka_unit_test(layers_part),
        cmocka_unit_test(threads_share_positions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
