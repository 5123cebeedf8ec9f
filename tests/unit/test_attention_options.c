/* SPDX-License-Identifier: MIT */
/* Attention as models have it, against the naive oracle: heads in groups, soft caps, windows with kept keys, documents,
 * sinks, turned inputs; each with masks, encodings and dropout, forward and backward, and drawn at random together. */
#include "sanitized.h"
#include "unit/attention_case.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(list) (sizeof(list) / sizeof(list)[0])

static const locus_mask masks[] = {LOCUS_MASK_FULL, LOCUS_MASK_CAUSAL, LOCUS_MASK_PREFIX};

static void check_types(const attention_case *test, attention_memory memory) {
    attention_check_types(test, memory, 1e-5);
}

/* What a spec adds to the score, for the oracle. */
typedef struct encoding_case {
    const char *spec;
    bool alibi, turns;
    double decay;
    size_t window;
} encoding_case;

static const encoding_case encodings[] = {
    {"none", false, false, 0, 0},
    {"rope(learned=on)", false, true, 0, 0},
    {"roper", false, true, 0, 0},
    {"algebraic(group=seq, values=on)", false, true, 0, 0},
    {"algebraic(group=seq, heads=shared, values=on, decay=learned:0.9)", false, true, 0, 0},
    {"algebraic(group=tree:2, values=on)", false, true, 0, 0},
    {"liere(group=seq, values=on) + alibi", true, true, 0, 0},
    {"alibi", true, false, 0, 0},
    {"decay(rate=0.9, learned=on) + alibi", true, false, 0, 0},
    {"decay(rate=0.95, learned=on) + decay(rate=0.9)", false, false, 0.9, 0},
    {"relative(window=3, values=on)", false, false, 0, 3},
    {"relative(window=4, values=on) + roper + alibi", true, true, 0, 4},
};

static attention_case with_encoding(attention_case test, const encoding_case *encoding) {
    test.spec = encoding->spec;
    test.alibi = encoding->alibi;
    test.decay = encoding->decay;
    test.window = encoding->window;
    return test;
}

static const size_t queries[] = {5, 0, 1, 70, 12, 3}, keys[] = {9, 3, 1, 64, 0, 150}, prefix[] = {7, 0, 1, 30, 0, 140};

static attention_case crossed(void) {
    attention_case test = {.heads = 4, .head_dim = 8, .sequences = 6, .query_lengths = queries, .prefix = prefix};
    test.key_lengths = keys;
    test.key_start = -3;
    return test;
}

static attention_case alone(void) {
    static const size_t own_prefix[] = {3, 0, 0, 20, 12, 1};
    attention_case test = {.heads = 4, .head_dim = 8, .sequences = 6, .query_lengths = queries, .prefix = own_prefix};
    return test;
}

static void test_groups_of_heads(void **state) {
    static const size_t groups[][2] = {{4, 1}, {4, 2}, {6, 3}, {9, 1}};
    (void)state;
    for (size_t e = 0; e < COUNT(encodings); e++)
        for (size_t g = 0; g < COUNT(groups); g++) {
            attention_case test = with_encoding(g % 2 ? alone() : crossed(), &encodings[e]);
            test.heads = groups[g][0];
            test.kv_heads = groups[g][1];
            test.mask = masks[(e + g) % 3];
            test.dropout = g == 2 ? 0.3 : 0;
            check_types(&test, g % 2 ? ATTENTION_FUSED : ATTENTION_SCATTERED);
        }
}

static void test_soft_caps(void **state) {
    static const double caps[] = {0.5, 3, 50};
    (void)state;
    for (size_t e = 0; e < COUNT(encodings); e++)
        for (size_t c = 0; c < COUNT(caps); c++) {
            attention_case test = with_encoding(c % 2 ? alone() : crossed(), &encodings[e]);
            test.mask = masks[(e + c) % 3];
            test.cap = caps[c];
            test.scale = 0.8;
            test.dropout = c == 2 ? 0.3 : 0;
            test.dropout_on = e % 2 ? LOCUS_DROPOUT_LOGITS : LOCUS_DROPOUT_WEIGHTS;
            check_types(&test, ATTENTION_PLAIN);
        }
}

/* Windows from one key to more than there are, kept keys before, beside and within them. */
static void test_windows(void **state) {
    static const size_t windows[][2] = {{1, 0}, {1, 1}, {5, 2}, {17, 3}, {40, 30}, {64, 0}, {1000, 5}};
    (void)state;
    for (size_t w = 0; w < COUNT(windows); w++)
        for (size_t m = 0; m < 3; m++)
            for (size_t e = (w + m) % 4; e < COUNT(encodings); e += 4) {
                attention_case test = with_encoding((e + m) % 2 ? alone() : crossed(), &encodings[e]);
                test.mask = masks[m];
                test.sliding = windows[w][0];
                test.keep = windows[w][1];
                test.dropout = w == 3 ? 0.3 : 0;
                /* In the narrowest windows generators' gradients cancel to 0, and leave rounding behind. */
                attention_check_types(&test, ATTENTION_PLAIN, 3e-5);
            }
}

static void test_documents(void **state) {
    (void)state;
    for (size_t e = 0; e < COUNT(encodings); e++)
        for (size_t m = 0; m < 3; m++) {
            attention_case test = with_encoding(m % 2 ? alone() : crossed(), &encodings[e]);
            test.documents = true;
            test.mask = masks[m];
            test.kv_heads = e % 2 ? 2 : 0;
            check_types(&test, ATTENTION_PLAIN);
            test.gap = 3;
            test.sliding = 9;
            test.keep = 14; /* kept keys of another document stay unseen */
            check_types(&test, ATTENTION_SCATTERED);
        }
}

/* A row without keys has its sink to itself: output 0, log-sum-exp the sink. */
static void test_sinks(void **state) {
    static const char *const specs[] = {"scores(sinks=on)", "scores(sinks=on) + rope(learned=on)",
                                        "scores(sinks=on) + algebraic(group=seq, values=on) + alibi",
                                        "relative(window=3, values=on) + scores(sinks=on)"};
    (void)state;
    for (size_t e = 0; e < COUNT(specs); e++)
        for (size_t m = 0; m < 3; m++)
            for (int variant = 0; variant < 3; variant++) {
                attention_case test = variant == 1 ? alone() : crossed();
                test.spec = specs[e];
                test.alibi = e == 2;
                test.window = e == 3 ? 3 : 0;
                test.mask = masks[m];
                test.kv_heads = variant ? 2 : 0;
                test.sliding = variant == 2 ? 6 : 0;
                test.dropout = variant == 1 ? 0.3 : 0;
                check_types(&test, ATTENTION_PLAIN);
            }
}

/* The same, said by the encoding; what a caller says wins. */
static void test_settings_of_the_encoding(void **state) {
    (void)state;
    attention_case test = crossed();
    test.spec = "rope + scores(scale=0.6, cap=2, window=11, keep=3, sinks=on)";
    test.scale = 0.6;
    test.cap = 2;
    test.sliding = 11;
    test.keep = 3;
    test.said = true;
    test.mask = LOCUS_MASK_CAUSAL;
    attention_check(&test, LOCUS_FLOAT64, ATTENTION_PLAIN, 1e-12);
    attention_check(&test, LOCUS_FLOAT32, ATTENTION_PLAIN, 1e-5);
    test.said = false;
    test.scale = 0.9;
    test.cap = 5;
    test.sliding = 20;
    test.keep = 7;
    attention_check(&test, LOCUS_FLOAT64, ATTENTION_PLAIN, 1e-12);
    attention_check(&test, LOCUS_FLOAT32, ATTENTION_PLAIN, 1e-5);
}

/* Chunks alone, wider than there are keys, with windows and kept keys, documents, and under every mask; with more
 * queries than keys the first ones stand in no chunk. */
static void test_chunks(void **state) {
    static const struct {
        const char *spec;
        size_t chunk, window, keep;
    } cut[] = {
        {"scores(chunk=1)", 1, 0, 0},           {"rope + scores(chunk=7)", 7, 0, 0},
        {"scores(chunk=64) + alibi", 64, 0, 0}, {"roper + scores(chunk=13)", 13, 9, 2},
        {"scores(chunk=40)", 40, 30, 35},       {"relative(window=3, values=on) + scores(chunk=1000)", 1000, 0, 0}};
    (void)state;
    for (size_t c = 0; c < COUNT(cut); c++)
        for (size_t m = 0; m < 3; m++) {
            attention_case test = m % 2 ? alone() : crossed();
            test.spec = cut[c].spec;
            test.alibi = c == 2;
            test.window = c == 5 ? 3 : 0;
            test.chunk = cut[c].chunk;
            test.sliding = cut[c].window;
            test.keep = cut[c].keep;
            test.mask = masks[m];
            test.documents = c == 1;
            test.dropout = c == 3 ? 0.3 : 0;
            check_types(&test, ATTENTION_PLAIN);
        }
}

/* Over the tiles, panels and chunks of a long sequence; parts of its keys that no query's chunk holds. */
static void test_long_chunks(void **state) {
    static const size_t lengths[] = {2100, 3, 5}, more[] = {3100, 1500, 700};
    static const char *const specs[] = {"scores(chunk=600) + temperature(length=200, beta=0.3)",
                                        "scores(chunk=100, sinks=on) + temperature(length=200, beta=0.3) + roper"};
    (void)state;
    for (size_t i = SANITIZED(2, 0); i < 4; i++) { /* under a sanitizer those of more keys, each in one type */
        attention_case test = {.spec = specs[i % 2], .heads = 2, .kv_heads = 1, .head_dim = 4, .sequences = 3};
        test.query_lengths = lengths;
        test.key_lengths = i < 2 ? NULL : more;
        test.query_start = 50;
        test.chunk = i % 2 ? 100 : 600;
        test.beta = 0.3;
        test.stride = 200;
        test.mask = i == 3 ? LOCUS_MASK_FULL : LOCUS_MASK_CAUSAL;
        for (size_t type = SANITIZED(i % 2, 0); type < SANITIZED(i % 2 + 1, 2); type++)
            attention_check(&test, type ? LOCUS_FLOAT32 : LOCUS_FLOAT64, ATTENTION_PLAIN, type ? 3e-5 : 1e-12);
    }
}

/* Whatever would turn does not; neither parameters nor inputs notice. */
static void test_turned_inputs(void **state) {
    (void)state;
    for (size_t e = 0; e < COUNT(encodings); e++) {
        if (encodings[e].window > 0 && encodings[e].turns)
            continue;
        attention_case test = with_encoding(e % 2 ? alone() : crossed(), &encodings[e]);
        test.turned = true;
        test.kv_heads = 2;
        test.mask = LOCUS_MASK_CAUSAL;
        check_types(&test, ATTENTION_PLAIN);
    }
}

/* Longer than chunks, panels and parts; split over its keys; windows that jump over panels. */
static void test_long_sequences(void **state) {
    static const size_t lengths[] = {2100, 40, 5}, more[] = {3100, 7, 1500};
    static const size_t windows[][2] = {{0, 0}, {100, 0}, {700, 20}};
    (void)state;
    for (size_t w = SANITIZED(1, 0); w < COUNT(windows); w++) {
        attention_case test = {.spec = "algebraic(group=seq, values=on) + decay(rate=0.999) + scores(sinks=on)",
                               .heads = 2,
                               .kv_heads = 1,
                               .head_dim = 4,
                               .sequences = 3,
                               .query_lengths = lengths,
                               .decay = 0.999};
        test.key_lengths = w == 2 ? more : NULL;
        test.mask = masks[w < 2];
        test.sliding = windows[w][0];
        test.keep = windows[w][1];
        test.documents = w == 2;
        test.cap = w == 1 ? 1.5 : 0;
        attention_check(&test, LOCUS_FLOAT64, ATTENTION_PLAIN, 1e-11);
    }
}

/* ---- everything at random ---- */

static size_t drawn(const locus_random *random, uint64_t *at, size_t below) {
    return (size_t)(locus_random_uniform(random, (*at)++) * (double)below);
}

static void check_drawn(const locus_random *random) {
    static const size_t groups[][2] = {{1, 1}, {2, 2}, {4, 2}, {3, 1}, {8, 1}};
    static const size_t sizes[] = {1, 2, 8, 17, 40, 70, 129, 200, 300};
    uint64_t at = 0;
    size_t own[4], other[4], own_prefix[4], sequences = 1 + drawn(random, &at, 4);
    for (size_t s = 0; s < sequences; s++) {
        own[s] = drawn(random, &at, sizes[drawn(random, &at, COUNT(sizes))] + 1);
        other[s] = drawn(random, &at, 2) ? own[s] + drawn(random, &at, 300) : drawn(random, &at, 140);
        own_prefix[s] = drawn(random, &at, own[s] < other[s] ? own[s] + 1 : other[s] + 1);
    }
    attention_case test = with_encoding((attention_case){0}, &encodings[drawn(random, &at, COUNT(encodings))]);
    const size_t g = drawn(random, &at, COUNT(groups));
    test.heads = groups[g][0];
    test.kv_heads = groups[g][1];
    test.head_dim = 2 * (1 + drawn(random, &at, 10));
    test.sequences = sequences;
    test.query_lengths = own;
    test.key_lengths = drawn(random, &at, 3) ? other : NULL;
    test.prefix = own_prefix;
    test.mask = masks[drawn(random, &at, 3)];
    test.gap = drawn(random, &at, 3);
    test.cap = drawn(random, &at, 2) ? 0 : 0.5 + (double)drawn(random, &at, 30);
    test.sliding = drawn(random, &at, 2) ? 0 : 1 + drawn(random, &at, 150);
    test.keep = test.sliding ? drawn(random, &at, 20) : 0;
    test.documents = drawn(random, &at, 4) == 0;
    test.dropout = drawn(random, &at, 3) ? 0 : 0.3;
    test.dropout_on = drawn(random, &at, 2) ? LOCUS_DROPOUT_LOGITS : LOCUS_DROPOUT_WEIGHTS;
    check_types(&test, test.key_lengths ? ATTENTION_SCATTERED : ATTENTION_PLAIN);
}

static void test_combinations(void **state) {
    (void)state;
    for (uint64_t i = 0; i < 48; i++)
        check_drawn(&(locus_random){900 + i, LOCUS_RANDOM_USER + 9, 0});
}

static void test_every_instruction_set(void **state) {
    static const unsigned levels[] = {LOCUS_ISA_SCALAR, LOCUS_ISA_AVX2, LOCUS_ISA_AVX512, LOCUS_ISA_NEON};
    (void)state;
    for (size_t i = 0; i < COUNT(levels); i++) {
        if ((locus_cpu_isas() & levels[i]) == 0)
            continue;
        locus_cpu_mask_set(levels[i]);
        for (uint64_t j = 0; j < 4; j++)
            check_drawn(&(locus_random){100 + j, LOCUS_RANDOM_USER + 9, 0});
    }
    locus_cpu_mask_set(~0u);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_groups_of_heads), cmocka_unit_test(test_soft_caps),
        cmocka_unit_test(test_windows),         cmocka_unit_test(test_chunks),
        cmocka_unit_test(test_long_chunks),     cmocka_unit_test(test_documents),
        cmocka_unit_test(test_sinks),           cmocka_unit_test(test_settings_of_the_encoding),
        cmocka_unit_test(test_turned_inputs),   cmocka_unit_test(test_long_sequences),
        cmocka_unit_test(test_combinations),    cmocka_unit_test(test_every_instruction_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
