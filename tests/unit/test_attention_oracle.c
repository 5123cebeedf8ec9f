/* SPDX-License-Identifier: MIT */
/* Packed attention, forward and backward, against the naive oracle: all masks, encodings, layouts, both types, every
 * instruction set, and lengths below, at and above each block's size. */
#include "sanitized.h"
#include "unit/attention_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static const locus_mask masks[] = {LOCUS_MASK_FULL, LOCUS_MASK_CAUSAL, LOCUS_MASK_PREFIX};

static void check_types(const attention_case *test, attention_memory memory) {
    attention_check_types(test, memory, 1e-5);
}

/* What each spec adds to the score, for the oracle. */
typedef struct encoding_case {
    const char *spec;
    bool alibi, unscaled;
    double decay;
    size_t window;
} encoding_case;

static const encoding_case encodings[] = {
    {"none", false, false, 0, 0},
    {"rope", false, false, 0, 0},
    {"rope(pairs=half, rotate=4, learned=on)", false, false, 0, 0},
    {"rope(side=query)", false, false, 0, 0},
    {"rope(side=key, learned=on)", false, false, 0, 0},
    {"roper", false, false, 0, 0},
    {"rope(values=on, learned=on)", false, false, 0, 0},
    {"algebraic(group=seq)", false, false, 0, 0},
    {"algebraic(group=seq, values=on)", false, false, 0, 0},
    {"algebraic(group=seq, heads=shared, values=on)", false, false, 0, 0},
    {"algebraic(group=seq, generator=angles)", false, false, 0, 0},
    {"algebraic(group=seq, decay=0.9)", false, false, 0.9, 0},
    {"algebraic(group=tree:2, values=on)", false, false, 0, 0},
    {"algebraic(group=tree:3, heads=shared, side=key, decay=0.9)", false, false, 0.9, 0},
    {"algebraic(group=seq*tree:2, split=2:6, values=on, decay=learned:0.9)", false, false, 0, 0},
    {"algebraic(group=cycle:5*grid:2, split=4:2:2, values=on, decay=0.95)", false, false, 0.95, 0},
    {"liere(values=on, decay=learned:0.9)", false, false, 0, 0},
    {"liere(group=seq)", false, false, 0, 0},
    {"liere(group=seq, heads=shared, values=on)", false, false, 0, 0},
    {"liere(group=seq, side=query, values=on) + alibi", true, false, 0, 0},
    {"liere(group=seq, side=key, decay=learned:0.9)", false, false, 0, 0},
    {"alibi", true, false, 0, 0},
    {"decay(rate=0.9)", false, false, 0.9, 0},
    {"decay(rate=0.9, learned=on)", false, false, 0, 0},
    {"decay(rate=0.95, learned=on) + decay(rate=0.9)", false, false, 0.9, 0},
    {"relative(window=3)", false, false, 0, 3},
    {"relative(window=5, values=on)", false, false, 0, 5},
    {"relative(window=3, scaled=off)", false, true, 0, 3},
    {"relative(window=60, values=on)", false, false, 0, 60},
    {"rope + alibi", true, false, 0, 0},
    {"relative(window=4, values=on) + roper", false, false, 0, 4},
    {"relative(window=4, values=on) + algebraic(group=seq, values=on) + alibi", true, false, 0, 4},
    {"relative(window=4) + decay(rate=0.9, learned=on) + alibi", true, false, 0, 4},
};

static attention_case with_encoding(attention_case test, const encoding_case *encoding) {
    test.spec = encoding->spec;
    test.alibi = encoding->alibi;
    test.unscaled = encoding->unscaled;
    test.decay = encoding->decay;
    test.window = encoding->window;
    return test;
}

static void test_encodings_and_masks(void **state) {
    const size_t queries[] = {5, 0, 1, 70, 12}, keys[] = {9, 3, 1, 64, 0}, prefix[] = {7, 0, 1, 30, 0};
    (void)state;
    for (size_t e = 0; e < sizeof encodings / sizeof encodings[0]; e++)
        for (size_t m = 0; m < 3; m++)
            for (int cross = 0; cross < 2; cross++) {
                attention_case test = {.heads = 2, .head_dim = 8, .sequences = 5, .query_lengths = queries};
                test.mask = masks[m];
                test.prefix = cross ? prefix : (const size_t[]){3, 0, 0, 20, 12};
                test.key_lengths = cross ? keys : NULL;
                test.key_start = cross ? -3 : 0;
                test = with_encoding(test, &encodings[e]);
                check_types(&test, cross ? ATTENTION_SCATTERED : ATTENTION_FUSED);
            }
}

static void test_gaps_and_scattered_positions(void **state) {
    const size_t queries[] = {20, 33, 2}, keys[] = {31, 17, 140};
    (void)state;
    for (size_t e = 0; e < sizeof encodings / sizeof encodings[0]; e++) {
        attention_case test = {
            .heads = 2, .head_dim = 8, .sequences = 3, .query_lengths = queries, .key_lengths = keys};
        test.gap = 3;
        test.query_start = 11;
        test.key_start = -40;
        test.step = 7;
        test.mask = LOCUS_MASK_CAUSAL;
        test = with_encoding(test, &encodings[e]);
        check_types(&test, ATTENTION_PLAIN);
    }
}

/* Keys so far apart that a tile reaches further than the content terms' buffer: pair by pair. */
static void test_wide_relative_window(void **state) {
    const size_t queries[] = {40, 3}, keys[] = {35, 150};
    (void)state;
    attention_case test = {.spec = "relative(window=2000, values=on)",
                           .heads = 2,
                           .head_dim = 6,
                           .sequences = 2,
                           .query_lengths = queries,
                           .key_lengths = keys,
                           .step = 13,
                           .window = 2000};
    attention_check(&test, LOCUS_FLOAT64, ATTENTION_PLAIN, 1e-12);
    attention_check(&test, LOCUS_FLOAT32, ATTENTION_PLAIN, 1e-5);
}

static void test_block_edges(void **state) {
    static const size_t edges[] = {1, 15, 16, 17, 63, 64, 65, 127, 128, 129, 255, 256, 257, 511, 512, 513};
    (void)state;
    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++)
        for (size_t m = 0; m < 3; m++) {
            const size_t other[] = {edges[(i * 5 + 3) % 16]}, prefix[] = {edges[i] < other[0] ? edges[i] : other[0]};
            attention_case test = {.spec = "rope", .heads = 1, .head_dim = 4, .sequences = 1, .mask = masks[m]};
            test.query_lengths = &edges[i];
            test.prefix = prefix;
            check_types(&test, ATTENTION_PLAIN);
            test.key_lengths = other;
            check_types(&test, ATTENTION_SCATTERED);
        }
}

static void test_head_dimensions(void **state) {
    static const size_t dims[][2] = {{1, 1}, {3, 5}, {16, 16}, {17, 33}, {64, 40}, {65, 64}, {100, 130}};
    const size_t lengths[] = {37, 150};
    (void)state;
    for (size_t i = 0; i < sizeof dims / sizeof dims[0]; i++) {
        attention_case test = {.spec = "relative(window=9, values=on)", .heads = 2, .sequences = 2, .window = 9};
        test.head_dim = dims[i][0];
        test.value_dim = dims[i][1];
        test.query_lengths = lengths;
        test.mask = LOCUS_MASK_CAUSAL;
        check_types(&test, ATTENTION_PLAIN);
        test.window = 0;
        test.spec = "none";
        test.scale = 0.3;
        check_types(&test, ATTENTION_SCATTERED);
    }
}

/* Longer than a query chunk, than a key panel, and long enough to be split over its keys. */
static void test_long_sequences(void **state) {
    const size_t lengths[] = {2100, 40}, keys[] = {3100, 7};
    (void)state;
    for (size_t m = SANITIZED(1, 0); m < 2; m++) {
        attention_case test = {.spec = "algebraic(group=seq, values=on)", .heads = 1, .head_dim = 4, .sequences = 2};
        test.query_lengths = lengths;
        test.mask = masks[m];
        attention_check(&test, LOCUS_FLOAT64, ATTENTION_PLAIN, 1e-12);
        test.spec = "relative(window=20) + decay(rate=0.999, learned=on)";
        test.window = 20;
        attention_check(&test, LOCUS_FLOAT32, ATTENTION_PLAIN, 1e-5);
        test.key_lengths = keys;
        attention_check(&test, LOCUS_FLOAT64, ATTENTION_PLAIN, 1e-12);
    }
}

/* More pairs than tables have room for: distances are made for the rows of a panel, once for all heads of a task, of
 * which the last has fewer; where heads are alike, so is what becomes of them. */
static void test_heads_share_distances(void **state) {
    const size_t lengths[] = {660, 100, 3}, longer[] = {1300, 40};
    (void)state;
    attention_case test = {.spec = "alibi(group=tree:3) + decay(group=tree:3, rate=0.9)",
                           .heads = 10,
                           .kv_heads = 5,
                           .head_dim = 4,
                           .sequences = 3};
    test.query_lengths = lengths;
    test.alibi = true;
    test.decay = 0.9;
    test.mask = LOCUS_MASK_CAUSAL;
    test.sliding = 600;
    test.keep = 5;
    attention_check(&test, LOCUS_FLOAT32, ATTENTION_PLAIN, 1e-5);
    attention_case decay = {.spec = "decay(group=tree:3, rate=0.9)", .heads = 3, .head_dim = 4, .sequences = 2};
    decay.query_lengths = longer;
    decay.decay = 0.9;
    if (SANITIZED(0, 1))
        attention_check(&decay, LOCUS_FLOAT32, ATTENTION_PLAIN, 1e-5);
}

static void test_dropout_is_replayed(void **state) {
    const size_t queries[] = {1, 70, 3}, keys[] = {5, 150, 2};
    (void)state;
    for (size_t e = 0; e < sizeof encodings / sizeof encodings[0]; e++)
        for (int logits = 0; logits < 2; logits++)
            for (size_t m = 0; m < 2; m++) {
                attention_case test = {.heads = 2, .head_dim = 8, .sequences = 3, .query_lengths = queries};
                test.key_lengths = m ? NULL : keys;
                test.mask = masks[m];
                test.dropout = 0.4; /* short causal rows are then dropped as a whole now and then */
                test.dropout_on = logits ? LOCUS_DROPOUT_LOGITS : LOCUS_DROPOUT_WEIGHTS;
                test = with_encoding(test, &encodings[e]);
                check_types(&test, ATTENTION_PLAIN);
            }
    const size_t few[] = {2, 1}, many[] = {700, 300};
    for (int logits = 0; logits < 2; logits++) {
        attention_case test = {.spec = "rope", .heads = 2, .head_dim = 8, .sequences = 2, .query_lengths = few};
        test.key_lengths = many;
        test.dropout = 0.4;
        test.dropout_on = logits ? LOCUS_DROPOUT_LOGITS : LOCUS_DROPOUT_WEIGHTS;
        check_types(&test, ATTENTION_PLAIN);
    }
    /* Kept keys are the end of a document and few: some rows are dropped as a whole. */
    static const char *const specs[] = {"relative(window=3)", "rope"};
    for (size_t i = 0; i < 2; i++) {
        attention_case test = {.spec = specs[i], .heads = 2, .head_dim = 8, .sequences = 3, .query_lengths = queries};
        test.window = i == 0 ? 3 : 0;
        test.mask = LOCUS_MASK_CAUSAL;
        test.sliding = 1;
        test.keep = 4;
        test.documents = true;
        test.dropout = 0.4;
        test.dropout_on = LOCUS_DROPOUT_LOGITS;
        check_types(&test, ATTENTION_PLAIN);
    }
}

static void test_every_instruction_set(void **state) {
    const size_t lengths[] = {5, 130, 67}, prefix[] = {2, 129, 30};
    static const unsigned levels[] = {LOCUS_ISA_SCALAR, LOCUS_ISA_AVX2, LOCUS_ISA_AVX512, LOCUS_ISA_NEON};
    (void)state;
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        if ((locus_cpu_isas() & levels[i]) == 0)
            continue;
        locus_cpu_mask_set(levels[i]);
        for (size_t m = 0; m < 3; m++) {
            attention_case test = {
                .heads = 3, .head_dim = 24, .sequences = 3, .query_lengths = lengths, .prefix = prefix};
            test.mask = masks[m];
            test.dropout = 0.1;
            test = with_encoding(test, &encodings[m == 0 ? 22 : m == 1 ? 23 : 8]);
            check_types(&test, ATTENTION_FUSED);
        }
    }
    locus_cpu_mask_set(~0u);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_encodings_and_masks),   cmocka_unit_test(test_gaps_and_scattered_positions),
        cmocka_unit_test(test_wide_relative_window),  cmocka_unit_test(test_block_edges),
        cmocka_unit_test(test_head_dimensions),       cmocka_unit_test(test_long_sequences),
        cmocka_unit_test(test_heads_share_distances), cmocka_unit_test(test_dropout_is_replayed),
        cmocka_unit_test(test_every_instruction_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
