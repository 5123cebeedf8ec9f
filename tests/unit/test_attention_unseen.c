/* SPDX-License-Identifier: MIT */
/* A key that a query does not see does not touch its row, whatever it or its value holds; and a query does not touch
 * the gradients of keys that it does not see. NaN and infinities are planted in keys, values, queries and gradients of
 * outputs, and in tokens of no sequence; rows that see none of them keep their bits: for every kind of attention, mask
 * and type, with windows, kept keys, documents, dropout, steps of decoding, and keys that a bias hides. Nor is anything
 * lost: a row that adds up what is planted, whatever its weight, has no number left. */
#include "kind_of.h"
#include "sanitized.h"
#include "unit/attention_case.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { Q, K, V, GO, O, LSE, DQ, DK, DV, TENSORS, INPUTS = O };

static const locus_dtype types[] = {LOCUS_FLOAT32, LOCUS_FLOAT64, LOCUS_FLOAT16, LOCUS_BFLOAT16};
static const size_t lengths[] = {150, 9, 64}, steps[] = {3, 1, 8}, caches[] = {700, 45, 90}, prefixes[] = {20, 9, 3};

/* ---- who sees whom, from the definition in attention.h ---- */

enum { HIDING = 700 }; /* queries and keys that a bias reaches */

/* A bias of −∞ in places and small numbers elsewhere, for all sequences and heads; every ninth query sees nothing. */
static bool hides(size_t i, size_t j) {
    return i % 9 == 8 || (i * 5 + j * 3) % 7 < 2;
}

static float *hiding_values(void) {
    static float values[HIDING * HIDING];
    for (size_t i = 0; i < HIDING; i++)
        for (size_t j = 0; j < HIDING; j++)
            values[i * HIDING + j] = hides(i, j) ? -INFINITY : (float)((i + j) % 5) / 4;
    return values;
}

static bool sees(const attention_world *w, size_t s, size_t i, size_t j) {
    const locus_attention_options *options = &w->options;
    const int64_t t = (int64_t)i + (int64_t)w->key_lengths[s] - (int64_t)w->query_lengths[s], key = (int64_t)j;
    if (kind_is(options->kind, "soft") || kind_is(options->kind, "clustered"))
        return true;
    if (options->bias && hides(i, j))
        return false;
    const bool prefixed = options->mask == LOCUS_MASK_PREFIX && j < options->prefix[s];
    if (options->mask != LOCUS_MASK_FULL && key > t && !prefixed)
        return false;
    if (options->window > 0 && llabs(t - key) >= (int64_t)options->window && j >= options->keep)
        return false;
    return !options->query_documents ||
           options->query_documents[w->query_offsets[s] + i] == options->key_documents[w->key_offsets[s] + j];
}

/* ---- one run ---- */

typedef struct arrays {
    void *data[TENSORS];
    size_t count[TENSORS], row[TENSORS]; /* elements, and those of a token */
} arrays;

static bool of_keys(int i) {
    return i == K || i == V || i == DK || i == DV;
}

static size_t size_of(int i, locus_dtype dtype) {
    return i == LSE && dtype != LOCUS_FLOAT64 ? sizeof(float) : locus_dtype_size(dtype);
}

static uint16_t half_of(double value, locus_dtype dtype) { /* of values with few digits; NaN and infinities, too */
    const float narrow = (float)value;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    if (dtype == LOCUS_BFLOAT16)
        return (uint16_t)(bits >> 16);
    const uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    if (!isfinite(value))
        return (uint16_t)(sign | (isnan(value) ? 0x7e00 : 0x7c00));
    return value == 0 ? sign : (uint16_t)(sign | ((((bits >> 23) & 0xff) - 112) << 10) | (bits >> 13 & 0x3ff));
}

static void put(const arrays *a, int i, locus_dtype dtype, size_t at, double value) {
    if (dtype == LOCUS_FLOAT32)
        ((float *)a->data[i])[at] = (float)value;
    else if (dtype == LOCUS_FLOAT64)
        ((double *)a->data[i])[at] = value;
    else
        ((uint16_t *)a->data[i])[at] = half_of(value, dtype);
}

static arrays arrays_make(const attention_world *w, locus_dtype dtype) {
    arrays a;
    for (int i = 0; i < TENSORS; i++) {
        const size_t heads = of_keys(i) ? w->kv_heads : w->shape.heads;
        const size_t dim = i == LSE                                 ? 1
                           : i == Q || i == K || i == DQ || i == DK ? w->shape.head_dim
                                                                    : w->shape.value_dim;
        a.row[i] = heads * dim;
        a.count[i] = (of_keys(i) ? w->N : w->T) * a.row[i];
        a.data[i] = calloc(a.count[i] + 1, size_of(i, dtype));
        assert_non_null(a.data[i]);
        for (size_t j = 0; i <= GO && j < a.count[i]; j++) /* multiples of 1/16 */
            put(&a, i, dtype, j, ((double)((j * 37 + j / 7 * 11 + (size_t)i * 5) % 29) - 14) / 16);
    }
    return a;
}

static void arrays_free(arrays *a) {
    for (int i = 0; i < TENSORS; i++)
        free(a->data[i]);
}

static void run(attention_world *w, const arrays *a, locus_dtype dtype) {
    locus_tensor t[TENSORS], parameters[ATTENTION_PARAMETERS];
    locus_error error;
    for (int i = 0; i < TENSORS; i++) {
        const size_t heads = of_keys(i) ? w->kv_heads : w->shape.heads;
        const int64_t shape[] = {(int64_t)(of_keys(i) ? w->N : w->T), (int64_t)heads, (int64_t)(a->row[i] / heads)};
        const locus_dtype own = i == LSE && dtype != LOCUS_FLOAT64 ? LOCUS_FLOAT32 : dtype;
        t[i] = locus_tensor_view(a->data[i], own, i == LSE ? 2 : 3, shape);
    }
    for (size_t i = 0; i < w->parameter_count; i++) {
        parameters[i] = w->values[i];
        parameters[i].data = calloc(attention_parameter_size(w, i) + 1, sizeof(double));
        assert_non_null(parameters[i].data);
    }
    const locus_attention_tensors tensors = {sizeof tensors, &t[Q], &t[K], &t[V], &t[O], &t[LSE]};
    const locus_attention_gradients gradients = {.size = sizeof(locus_attention_gradients),
                                                 .output = &t[GO],
                                                 .query = &t[DQ],
                                                 .key = &t[DK],
                                                 .value = &t[DV],
                                                 .parameters = parameters,
                                                 .parameter_count = w->parameter_count};
    for (int pass = 0; pass < 2; pass++) {
        locus_workspace lent = {NULL, locus_attention_workspace(w->plan, &w->options, dtype, (locus_pass)pass, NULL)};
        lent.data = locus_allocate(lent.bytes);
        assert_non_null(lent.data);
        const locus_execution execution = locus_execution_in(lent);
        const locus_status status =
            pass == 0 ? locus_attention_forward(w->plan, &w->options, &tensors, &execution, &error)
                      : locus_attention_backward(w->plan, &w->options, &tensors, &gradients, &execution, &error);
        if (status != LOCUS_OK)
            fail_msg("%s", error.message);
        locus_release(lent.data, lent.bytes);
    }
    for (size_t i = 0; i < w->parameter_count; i++)
        free(parameters[i].data);
}

/* ---- what is planted, and who may show it ---- */

typedef struct planting {
    bool *keys, *queries;  /* [N], [T]: what may differ */
    bool *planted[INPUTS]; /* [N] or [T]: rows of q, k, v and do */
} planting;

static planting planting_make(const attention_world *w) {
    planting p = {calloc(w->N, sizeof(bool)), calloc(w->T, sizeof(bool)), {NULL}};
    assert_true(p.keys && p.queries);
    for (int i = 0; i < INPUTS; i++) {
        p.planted[i] = calloc(of_keys(i) ? w->N : w->T, sizeof(bool));
        assert_non_null(p.planted[i]);
    }
    return p;
}

static void planting_free(planting *p) {
    free(p->keys);
    free(p->queries);
    for (int i = 0; i < INPUTS; i++)
        free(p->planted[i]);
}

static void plant(const arrays *a, planting *p, int i, locus_dtype dtype, size_t token, size_t number) {
    static const double values[] = {NAN, INFINITY, -INFINITY};
    p->planted[i][token] = true;
    for (size_t j = token * a->row[i]; j < (token + 1) * a->row[i]; j++)
        put(a, i, dtype, j, values[(number + (j % 3 == 0)) % 3]);
}

/* Kinds whose queries of a sequence share what they see. */
static bool shares(const attention_world *w) {
    return kind_is(w->options.kind, "soft") || kind_is(w->options.kind, "clustered");
}

/* Queries that see a planted key, or are planted, may differ; so may keys that one of these sees. */
static void spread(const attention_world *w, planting *p) {
    for (size_t s = 0; s < w->test->sequences; s++) {
        const size_t q = w->query_offsets[s], k = w->key_offsets[s];
        bool any = false;
        for (size_t i = 0; i < w->query_lengths[s]; i++) {
            for (size_t j = 0; j < w->key_lengths[s]; j++)
                p->queries[q + i] |= p->keys[k + j] && sees(w, s, i, j);
            any |= p->queries[q + i];
        }
        for (size_t i = 0; any && shares(w) && i < w->query_lengths[s]; i++)
            p->queries[q + i] = true;
        for (size_t i = 0; i < w->query_lengths[s]; i++)
            for (size_t j = 0; p->queries[q + i] && j < w->key_lengths[s]; j++)
                p->keys[k + j] |= sees(w, s, i, j);
    }
}

static void fail_in(const attention_world *w, locus_dtype dtype, size_t variant, size_t row, int result,
                    const char *what) {
    fail_msg("'%s', %s, mask %d, type %d, window %zu:%zu, documents %d, dropout %g on %d, planting %zu: row %zu of "
             "result %d %s",
             w->test->spec, locus_attention_kind_entry(w->options.kind)->name, (int)w->options.mask, (int)dtype,
             w->options.window, w->options.keep, w->test->documents, w->options.dropout, (int)w->options.dropout_on,
             variant, row, result - O, what);
}

static size_t compare(const attention_world *w, const arrays *want, const arrays *got, const planting *p,
                      locus_dtype dtype, size_t variant) {
    size_t clean = 0;
    for (int i = O; i < TENSORS; i++)
        for (size_t s = 0; s < w->test->sequences; s++) {
            const size_t first = (of_keys(i) ? w->key_offsets : w->query_offsets)[s];
            const size_t count = (of_keys(i) ? w->key_lengths : w->query_lengths)[s];
            const size_t bytes = want->row[i] * size_of(i, dtype);
            for (size_t t = first; t < first + count; t++) {
                if ((of_keys(i) ? p->keys : p->queries)[t])
                    continue;
                clean++;
                if (memcmp((char *)want->data[i] + t * bytes, (char *)got->data[i] + t * bytes, bytes) != 0)
                    fail_in(w, dtype, variant, t, i, "changes, which sees nothing planted");
            }
        }
    return clean;
}

/* The tensor of which each row of a result is a sum over the rows that its token sees, whatever their weights: o of
 * values, dv of do, dq of keys, dk of queries. Kinds that make features of keys and queries turn infinities to numbers
 * before. */
static int summed_in(const attention_world *w, int result) {
    const bool softmax = kind_is(w->options.kind, "softmax");
    return result == O ? V : result == DV ? GO : result == DQ && softmax ? K : result == DK && softmax ? Q : INPUTS;
}

static bool is_number(const arrays *a, int i, locus_dtype dtype, size_t at) {
    if (dtype == LOCUS_FLOAT32)
        return isfinite(((const float *)a->data[i])[at]);
    if (dtype == LOCUS_FLOAT64)
        return isfinite(((const double *)a->data[i])[at]);
    const uint16_t exponent = dtype == LOCUS_BFLOAT16 ? 0x7f80 : 0x7c00;
    return (((const uint16_t *)a->data[i])[at] & exponent) != exponent;
}

/* Rows of result `i` that see row `at` of sequence `s` in the tensor that they are sums of. */
static void check_rows(const attention_world *w, const arrays *got, int i, locus_dtype dtype, size_t variant, size_t s,
                       size_t at) {
    const size_t first = (of_keys(i) ? w->key_offsets : w->query_offsets)[s];
    const size_t count = (of_keys(i) ? w->key_lengths : w->query_lengths)[s];
    for (size_t t = 0; t < count; t++) {
        if (!(of_keys(i) ? sees(w, s, at, t) : sees(w, s, t, at)))
            continue;
        for (size_t j = (first + t) * got->row[i]; j < (first + t + 1) * got->row[i]; j++)
            if (is_number(got, i, dtype, j))
                fail_in(w, dtype, variant, first + t, i, "holds a number, but sees what is none");
    }
}

static void check_shown(const attention_world *w, const arrays *got, const planting *p, locus_dtype dtype,
                        size_t variant) {
    for (int i = O; i < TENSORS; i++) {
        const int from = summed_in(w, i);
        for (size_t s = 0; from < INPUTS && s < w->test->sequences; s++) {
            const size_t first = (of_keys(from) ? w->key_offsets : w->query_offsets)[s];
            const size_t count = (of_keys(from) ? w->key_lengths : w->query_lengths)[s];
            for (size_t at = 0; at < count; at++)
                if (p->planted[from][first + at])
                    check_rows(w, got, i, dtype, variant, s, at);
        }
    }
}

enum { VARIANTS = 8 };

/* Variants 0–4: keys and values of some tokens; 5–6: queries, and gradients of outputs; 7: tokens of no sequence. */
static void plant_variant(const attention_world *w, const arrays *a, planting *p, locus_dtype dtype, size_t variant) {
    for (size_t s = 0; s < w->test->sequences; s++) {
        const size_t keys = w->key_lengths[s], queries = w->query_lengths[s];
        const size_t places[] = {keys - 1, keys / 2, keys / 3, 2 * keys / 3, 0};
        if (variant == 7) {
            for (size_t t = w->key_offsets[s] + keys; t < w->key_offsets[s + 1]; t++)
                plant(a, p, K, dtype, t, t), plant(a, p, V, dtype, t, t + 1);
            for (size_t t = w->query_offsets[s] + queries; t < w->query_offsets[s + 1]; t++)
                plant(a, p, Q, dtype, t, t), plant(a, p, GO, dtype, t, t + 1);
        } else if (s == 2) { /* a sequence without any */
        } else if (variant >= 5) {
            const size_t t = w->query_offsets[s] + (variant == 5 ? queries / 2 : queries - 1);
            plant(a, p, variant == 5 ? Q : GO, dtype, t, s);
            p->queries[t] = true;
        } else {
            const size_t t = w->key_offsets[s] + places[variant];
            if (variant != 1)
                plant(a, p, V, dtype, t, variant + s);
            if (variant == 1 || variant == 2)
                plant(a, p, K, dtype, t, variant + s + 1);
            p->keys[t] = true;
        }
    }
    spread(w, p);
}

static float *hidden; /* the bias of calls, or NULL */

/* Returns how many rows had to keep their bits. Every `stride`th variant from `first` on. */
static size_t check_some(attention_case test, const char *kind, locus_dtype dtype, size_t first, size_t stride) {
    attention_world w;
    size_t clean = 0;
    test.gap = 2;
    attention_world_make(&w, &test);
    w.options.kind = kind_of(kind);
    const int64_t reach[] = {HIDING, HIDING};
    const locus_tensor hiding = locus_tensor_view(hidden, LOCUS_FLOAT32, 2, reach);
    w.options.bias = hidden ? &hiding : NULL;
    arrays want = arrays_make(&w, dtype);
    run(&w, &want, dtype);
    for (size_t variant = first; variant < VARIANTS; variant += stride) {
        arrays got = arrays_make(&w, dtype);
        planting p = planting_make(&w);
        plant_variant(&w, &got, &p, dtype, variant);
        run(&w, &got, dtype);
        clean += compare(&w, &want, &got, &p, dtype, variant);
        check_shown(&w, &got, &p, dtype, variant);
        arrays_free(&got);
        planting_free(&p);
    }
    arrays_free(&want);
    attention_world_free(&w);
    return clean;
}

static size_t check(attention_case test, const char *kind, locus_dtype dtype) {
    static size_t turn;
    return check_some(test, kind, dtype, SANITIZED(turn++ % 4, 0), SANITIZED(4, 1));
}

static attention_case case_of(const char *spec, locus_mask mask) {
    return (attention_case){.spec = spec,
                            .heads = 4,
                            .kv_heads = 2,
                            .head_dim = 8,
                            .sequences = 3,
                            .query_lengths = lengths,
                            .mask = mask,
                            .prefix = mask == LOCUS_MASK_PREFIX ? prefixes : NULL};
}

/* All types of a case; under sanitizers one for each, in turn, and every fourth variant. */
static void check_types(const attention_case *test, const char *kind) {
    const size_t count = sizeof types / sizeof *types;
    static size_t turn;
    const size_t first = SANITIZED(turn++ % count, 0), end = SANITIZED(first + 1, count);
    size_t clean = 0;
    for (size_t d = first; d < end; d++)
        clean += check(*test, kind, types[d]);
    assert_true(clean > SANITIZED(20, 125) * (end - first)); /* something was tested */
}

/* ---- tests ---- */

static void softmax_masks(void **state) {
    (void)state;
    for (locus_mask mask = LOCUS_MASK_FULL; mask <= LOCUS_MASK_PREFIX; mask++) {
        attention_case test = case_of("rope", mask);
        check_types(&test, "softmax");
        test.sliding = 20;
        test.keep = 3;
        check_types(&test, "softmax");
        test.sliding = test.keep = 0;
        test.documents = true;
        check_types(&test, "softmax");
    }
}

static void softmax_sites(void **state) {
    static const char *const specs[] = {"none",
                                        "rope(learned=on)",
                                        "algebraic(group=seq, values=on)",
                                        "liere(group=seq, values=on)",
                                        "relative(window=20, values=on)",
                                        "alibi + decay(rate=0.9, learned=on) + scores(sinks=on, cap=4)"};
    (void)state;
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        attention_case test = case_of(specs[i], LOCUS_MASK_CAUSAL);
        check_types(&test, "softmax");
        test.sliding = 17;
        test.keep = 2;
        test.dropout = 0.25;
        check_types(&test, "softmax");
        test.dropout_on = LOCUS_DROPOUT_LOGITS;
        check_types(&test, "softmax");
    }
}

static void decoding(void **state) {
    static const char *const specs[] = {"rope", "algebraic(group=seq, values=on) + alibi", "relative(window=9)"};
    (void)state;
    for (size_t i = 0; i < 3; i++)
        for (int more = 0; more < 4; more++) {
            attention_case test = case_of(specs[i], more == 3 ? LOCUS_MASK_FULL : LOCUS_MASK_CAUSAL);
            test.query_lengths = steps;
            test.key_lengths = caches;
            test.kv_heads = more == 2 ? 1 : 2;
            test.heads = more == 2 ? 16 : 4; /* enough rows for the other way of making products */
            test.sliding = more == 1 ? 40 : 0;
            test.keep = more == 1 ? 5 : 0;
            test.documents = more == 3;
            test.dropout = more == 2 ? 0.2 : 0;
            check_types(&test, "softmax");
        }
}

static void contextual(void **state) {
    static const char *const specs[] = {"cope", "cope(max=5) + decay(rate=0.9, learned=on)", "rope + cope(max=7)"};
    (void)state;
    for (size_t i = 0; i < 3; i++)
        for (int more = 0; more < 4; more++) {
            attention_case test = case_of(specs[i], LOCUS_MASK_CAUSAL);
            test.sliding = more == 1 ? 20 : 0;
            test.keep = more == 1 ? 3 : 0;
            test.documents = more == 2;
            test.dropout = more == 3 ? 0.2 : 0;
            check_types(&test, "softmax");
        }
}

static void hidden_by_a_bias(void **state) {
    (void)state;
    hidden = hiding_values();
    for (int more = 0; more < 5; more++) {
        attention_case test =
            case_of(more == 4 ? "relative(window=9, values=on) + decay(rate=0.9, learned=on)" : "rope",
                    more == 3 ? LOCUS_MASK_FULL : LOCUS_MASK_CAUSAL);
        test.sliding = more == 1 ? 40 : 0;
        test.keep = more == 1 ? 5 : 0;
        test.documents = more == 2;
        test.dropout = more == 2 ? 0.2 : 0;
        test.dropout_on = LOCUS_DROPOUT_LOGITS;
        check_types(&test, "softmax");
        test.query_lengths = steps;
        test.key_lengths = caches;
        check_types(&test, "softmax");
        test = case_of(more == 4 ? "rope + cope(max=7) + decay(rate=0.9, learned=on)" : "cope", LOCUS_MASK_CAUSAL);
        test.sliding = more == 1 ? 20 : 0;
        test.keep = more == 1 ? 3 : 0;
        test.documents = more == 2;
        test.dropout = more >= 2 ? 0.2 : 0;
        test.dropout_on = more == 3 ? LOCUS_DROPOUT_LOGITS : LOCUS_DROPOUT_WEIGHTS;
        check_types(&test, "softmax");
    }
    hidden = NULL;
}

static void other_kinds(void **state) {
    (void)state;
    for (locus_mask mask = LOCUS_MASK_FULL; mask <= LOCUS_MASK_PREFIX; mask++) {
        attention_case test = case_of("rope", mask);
        check_types(&test, "linear");
        test.spec = "algebraic(group=seq, values=on)";
        check_types(&test, "linear");
        test.query_lengths = steps;
        test.key_lengths = caches;
        check_types(&test, "linear");
    }
    const attention_case test = case_of("rope", LOCUS_MASK_FULL);
    check_types(&test, "soft(landmarks=8)");
    check_types(&test, "clustered(clusters=5)");
}

/* A sequence long enough to be split over its keys, and shared out by heads. Under sanitizers two variants: values, and
 * queries. */
enum { LONG_STRIDE = SANITIZED(5, 1) };

static void long_sequences(void **state) {
    static const size_t one[] = {SANITIZED(2100, 2300)};
    (void)state;
    attention_case test = case_of("rope", LOCUS_MASK_CAUSAL);
    test.sequences = 1;
    test.query_lengths = one;
    assert_true(check_some(test, "softmax", LOCUS_FLOAT32, 0, LONG_STRIDE) > 500);
    test.documents = true;
    if (!IS_SANITIZED)
        assert_true(check_some(test, "softmax", LOCUS_FLOAT32, 0, LONG_STRIDE) > 500);
    test.documents = false;
    assert_true(check_some(test, "linear", LOCUS_FLOAT32, 0, LONG_STRIDE) > 500);
}

/* Of scores that are all −∞ no weight is left: the output is 0, whatever the values are, and so are their gradients. */
static void rows_of_minus_infinity(void **state) {
    static const char *const specs[] = {"none", "none + alibi"};
    (void)state;
    for (int more = 0; more < 8; more++) {
        const locus_dtype dtype = types[more % 4];
        attention_case test = case_of(specs[more / 4], LOCUS_MASK_CAUSAL);
        attention_world w;
        attention_world_make(&w, &test);
        arrays a = arrays_make(&w, dtype);
        for (size_t j = 0; j < a.count[K]; j++) {
            put(&a, K, dtype, j, -INFINITY);
            put(&a, V, dtype, j, j % 3 == 0 ? INFINITY : NAN);
        }
        for (size_t j = 0; j < a.count[Q]; j++)
            put(&a, Q, dtype, j, (double)(1 + j % 5) / 4);
        memset(a.data[O], 0xff, a.count[O] * size_of(O, dtype));
        memset(a.data[DV], 0xff, a.count[DV] * size_of(DV, dtype));
        run(&w, &a, dtype);
        for (size_t j = 0; j < a.count[O] * size_of(O, dtype); j++)
            assert_int_equal(((const unsigned char *)a.data[O])[j], 0);
        for (size_t j = 0; j < a.count[DV] * size_of(DV, dtype); j++)
            assert_int_equal(((const unsigned char *)a.data[DV])[j], 0);
        arrays_free(&a);
        attention_world_free(&w);
    }
}

static double number_at(const arrays *a, int i, locus_dtype dtype, size_t at) {
    if (dtype == LOCUS_FLOAT32)
        return (double)((const float *)a->data[i])[at];
    if (dtype == LOCUS_FLOAT64)
        return ((const double *)a->data[i])[at];
    const uint16_t bits = ((const uint16_t *)a->data[i])[at];
    return bits == half_of(INFINITY, dtype) ? INFINITY : bits == half_of(-INFINITY, dtype) ? -INFINITY : 0;
}

/* Every row that sees `token` of tensor `from`, in sequence `s`, is `value`. */
static void check_infinite(const attention_world *w, const arrays *got, locus_dtype dtype, int i, size_t s, size_t at,
                           double value) {
    const size_t first = (of_keys(i) ? w->key_offsets : w->query_offsets)[s];
    const size_t count = (of_keys(i) ? w->key_lengths : w->query_lengths)[s];
    for (size_t t = 0; t < count; t++)
        for (size_t j = (first + t) * got->row[i]; j < (first + t + 1) * got->row[i]; j++)
            if ((of_keys(i) ? sees(w, s, at, t) : sees(w, s, t, at)) && number_at(got, i, dtype, j) != value)
                fail_in(w, dtype, at, first + t, i, "is not the infinity that it sees");
}

/* Weights are above 0, so the sum with one infinity in it is that infinity: o where v has one, dv where do has. */
static void infinities_stay(void **state) {
    static const char *const specs[] = {"none", "rope + alibi"};
    static const size_t places[] = {0, 1, 2, 33, 66, 149};
    (void)state;
    for (int more = 0; more < 8; more++) {
        const locus_dtype dtype = types[more % 4];
        attention_case test = case_of(specs[more / 4], LOCUS_MASK_CAUSAL);
        attention_world w;
        attention_world_make(&w, &test);
        for (size_t p = 0; p < sizeof places / sizeof *places; p++) {
            arrays a = arrays_make(&w, dtype);
            const size_t at = w.key_offsets[0] + places[p], row = w.query_offsets[0] + places[p];
            for (size_t j = 0; j < a.row[V]; j++)
                put(&a, V, dtype, at * a.row[V] + j, INFINITY);
            for (size_t j = 0; j < a.row[GO]; j++)
                put(&a, GO, dtype, row * a.row[GO] + j, -INFINITY);
            run(&w, &a, dtype);
            check_infinite(&w, &a, dtype, O, 0, places[p], INFINITY);
            check_infinite(&w, &a, dtype, DV, 0, places[p], -INFINITY);
            arrays_free(&a);
        }
        attention_world_free(&w);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(softmax_masks),   cmocka_unit_test(softmax_sites),
        cmocka_unit_test(decoding),        cmocka_unit_test(hidden_by_a_bias),
        cmocka_unit_test(contextual),      cmocka_unit_test(other_kinds),
        cmocka_unit_test(long_sequences),  cmocka_unit_test(rows_of_minus_infinity),
        cmocka_unit_test(infinities_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
