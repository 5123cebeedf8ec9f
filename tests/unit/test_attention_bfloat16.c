/* SPDX-License-Identifier: MIT */
/* Attention by products of bfloat16 (kernels/bfloat16.h), at each level that has them, against float32 on the same
 * numbers, widened: outputs, log-sum-exps, all gradients. The same bits for any number of threads.
 *
 * What may differ. u = 2⁻⁸ is the most that one rounding to bfloat16 changes a number by, relative to it. Rounded are
 * q', k', v', do' (where operators turn them), the weights p, ds, and results. In norms of rows, with e_mn the change
 * of a score:
 *
 *   e_mn   ≤ 2u·scale·|q_m||k_n|                      p_mn changes by r_m p_mn, r_m = exp(2 max_n e_mn) − 1 + u
 *   |Δo_m| ≤ (r_m + u) Σ_n p_mn |v_n| + u|o_m|         |Δdv_n| ≤ Σ_m (r_m + u) p_mn |do_m| + u|dv_n|
 *   Δds_mn ≤ p_mn ((r_m + u) g_mn + 2u|do_m||v_n|),   g_mn = |do_m||v_n| + |do_m·o_m|
 *   |Δdq_m| ≤ scale Σ_n (Δds_mn + u p_mn g_mn)|k_n| + u|dq_m|,  and dk so of q
 *
 * holds for each row in the worst case, in which all roundings go the same way; factors of scores are at most 1, and
 * dropout multiplies weights by 1/(1 − p). Roundings do not go the same way: they are as good as independent, and then
 * squares add up. The root mean square of one is at most w = u/2 (uniform in a step: 0.41u). So the root of the mean
 * square over a whole tensor stays below that of the same sums made of squares,
 *
 *   e²_mn = (scale w)² 2|q_m|²|k_n|²/D,   o: Σ_n p²(e² + 2w²)|v|² + |o|² Σ_n p² e² + w²|o|²,   …
 *
 * which is the rule that finds a term that is missing. Results of float32 differ by far less. */
#include "../property/encoding_rig.h"
#include "kernels/bfloat16.h"
#include "sanitized.h"
#include "threads_only.h"

#include <stdio.h>

/* Under a sanitizer sequences still have more queries and more keys than a block, and blocks that are cut. */
enum {
    SEQUENCES = 2,
    QUERIES = SANITIZED(120, 300),
    KEYS = SANITIZED(195, 320),
    HEADS = 4,
    MOST_DIM = 80,
    MOST = KEYS * HEADS * MOST_DIM,
    TENSORS = 8
};
enum { QUERY, KEY, VALUE, OUTPUT, G_OUTPUT, G_QUERY, G_KEY, G_VALUE };

static const double u = 0x1p-8, w = 0x1p-9;
static const size_t query_offsets[] = {2, SANITIZED(80, 200), QUERIES};
static const size_t query_lengths[] = {SANITIZED(70, 190), SANITIZED(33, 90)};
static const size_t key_offsets[] = {0, SANITIZED(150, 210), KEYS};
static const size_t key_lengths[] = {SANITIZED(140, 200), SANITIZED(37, 90)};

typedef struct bfloat16_case {
    rig r;
    locus_attention_options options;
    uint16_t half[TENSORS][MOST];
    float wide[TENSORS][MOST], narrow[TENSORS][MOST]; /* of float32; what bfloat16 gives, widened */
    float half_lse[QUERIES * HEADS], wide_lse[QUERIES * HEADS];
    double learned[RIG_TENSORS][2048];                                  /* gradients of parameters, by bfloat16 */
    double bound[TENSORS][KEYS * HEADS], square[TENSORS][KEYS * HEADS]; /* of rows: the most, and squares */
    double score_error[QUERIES * HEADS];
    double norm[TENSORS][KEYS * HEADS]; /* of rows, of the wide tensors */
} bfloat16_case;

static bfloat16_case c;

/* ---- tensors ---- */

static bool of_keys(size_t which) {
    return which == KEY || which == VALUE || which == G_KEY || which == G_VALUE;
}

static size_t dim_of(size_t which) {
    const bool value = which == VALUE || which == OUTPUT || which == G_OUTPUT || which == G_VALUE;
    return value && c.r.shape.value_dim ? c.r.shape.value_dim : c.r.shape.head_dim;
}

static size_t heads_of(size_t which) {
    return of_keys(which) && c.r.shape.kv_heads ? c.r.shape.kv_heads : HEADS;
}

static locus_tensor view(size_t which, bool half) {
    const int64_t shape[] = {of_keys(which) ? KEYS : QUERIES, (int64_t)heads_of(which), (int64_t)dim_of(which)};
    return half ? locus_tensor_view(c.half[which], LOCUS_BFLOAT16, 3, shape)
                : locus_tensor_view(c.wide[which], LOCUS_FLOAT32, 3, shape);
}

static void convert(const void *from, locus_dtype from_type, void *to, locus_dtype to_type) {
    const int64_t shape[] = {MOST};
    const locus_tensor a = locus_tensor_view((void *)(uintptr_t)from, from_type, 1, shape);
    const locus_tensor b = locus_tensor_view(to, to_type, 1, shape);
    rig_ok(locus_tensor_convert(&a, &b, error));
}

/* The same numbers for each case, drawn once: that takes longer than what a case does with them. */
static void fill(void) {
    static uint16_t half[TENSORS][MOST];
    static float wide[TENSORS][MOST];
    static bool drawn;
    uint64_t random = 17;
    for (size_t i = 0; i < TENSORS && !drawn; i++) {
        for (size_t j = 0; j < MOST; j++)
            wide[i][j] = (float)rig_random(&random);
        convert(wide[i], LOCUS_FLOAT32, half[i], LOCUS_BFLOAT16);
        convert(half[i], LOCUS_BFLOAT16, wide[i], LOCUS_FLOAT32);
    }
    drawn = true;
    memcpy(c.half, half, sizeof half);
    memcpy(c.wide, wide, sizeof wide);
    for (size_t i = 0; i < QUERIES * HEADS; i++)
        c.half_lse[i] = c.wide_lse[i] = -7;
}

static const float *row(const float *data, size_t which, size_t token, size_t head) {
    return data + (token * heads_of(which) + head) * dim_of(which);
}

static double norm(size_t which, size_t token, size_t head) {
    return c.norm[which][token * heads_of(which) + head];
}

static void make_norms(size_t which) {
    const size_t dim = dim_of(which), rows = (of_keys(which) ? KEYS : QUERIES) * heads_of(which);
    for (size_t i = 0; i < rows; i++) {
        const float *x = c.wide[which] + i * dim;
        double sum = 0;
        for (size_t d = 0; d < dim; d++)
            sum += (double)x[d] * (double)x[d];
        c.norm[which][i] = sqrt(sum);
    }
}

/* ---- calls ---- */

static void run(bool half, locus_pass pass) {
    locus_tensor t[TENSORS];
    for (size_t i = 0; i < TENSORS; i++)
        t[i] = view(i, half);
    const int64_t rows[] = {QUERIES, HEADS};
    const locus_tensor lse = locus_tensor_view(half ? c.half_lse : c.wide_lse, LOCUS_FLOAT32, 2, rows);
    const locus_attention_tensors tensors = {sizeof tensors, &t[QUERY], &t[KEY], &t[VALUE], &t[OUTPUT], &lse};
    const locus_attention_gradients gradients = {.size = sizeof(locus_attention_gradients),
                                                 .output = &t[G_OUTPUT],
                                                 .query = &t[G_QUERY],
                                                 .key = &t[G_KEY],
                                                 .value = &t[G_VALUE],
                                                 .parameters = c.r.gradients,
                                                 .parameter_count = c.r.count};
    locus_workspace workspace = {NULL, locus_attention_workspace(c.r.plan, &c.options, t[QUERY].dtype, pass, NULL)};
    workspace.data = locus_allocate(workspace.bytes);
    assert_non_null(workspace.data);
    memset(workspace.data, 0xff, workspace.bytes); /* NaN to whoever reads what was not written */
    const locus_execution execution = locus_execution_in(workspace);
    if (pass == LOCUS_PASS_FORWARD)
        rig_ok(locus_attention_forward(c.r.plan, &c.options, &tensors, &execution, error));
    else
        rig_ok(locus_attention_backward(c.r.plan, &c.options, &tensors, &gradients, &execution, error));
    locus_release(workspace.data, workspace.bytes);
}

/* Weights of a sequence and head, [queries][keys], by float32. */
static void make_weights(size_t s, size_t head, float *p) {
    const locus_tensor query = view(QUERY, false), key = view(KEY, false);
    const int64_t shape[] = {1, (int64_t)query_lengths[s], (int64_t)key_lengths[s]};
    const locus_tensor to = locus_tensor_view(p, LOCUS_FLOAT32, 3, shape);
    const locus_attention_weights_call call = {.size = sizeof call,
                                               .query = &query,
                                               .key = &key,
                                               .weights = &to,
                                               .sequence = s,
                                               .heads = &head,
                                               .head_count = 1};
    locus_workspace workspace = {NULL, locus_attention_weights_workspace(c.r.plan, &c.options, LOCUS_FLOAT32, NULL)};
    workspace.data = locus_allocate(workspace.bytes);
    assert_non_null(workspace.data);
    const locus_execution execution = locus_execution_in(workspace);
    rig_ok(locus_attention_weights(c.r.plan, &c.options, &call, &execution, error));
    locus_release(workspace.data, workspace.bytes);
}

/* ---- what may differ ---- */

typedef struct row_of_query {
    size_t at, token, head, kv; /* at: among all query rows */
    double q, g, o, delta;      /* |q|, |do|, |o|, do·o */
} row_of_query;

static row_of_query query_at(size_t token, size_t head) {
    row_of_query m = {token * HEADS + head,
                      token,
                      head,
                      head / (HEADS / heads_of(KEY)),
                      norm(QUERY, token, head),
                      norm(G_OUTPUT, token, head),
                      norm(OUTPUT, token, head),
                      0};
    for (size_t d = 0; d < dim_of(OUTPUT); d++)
        m.delta += (double)row(c.wide[G_OUTPUT], G_OUTPUT, token, head)[d] *
                   (double)row(c.wide[OUTPUT], OUTPUT, token, head)[d];
    return m;
}

/* r: by how much the row's weights may change, relative to them; spread: Σ p² e² of the row. */
static void bound_pair(const row_of_query *m, size_t key, double p, double kept, double r, double spread) {
    const size_t n = key * heads_of(KEY) + m->kv;
    const double k = norm(KEY, key, m->kv), v = norm(VALUE, key, m->kv);
    const double scale = 1 / sqrt((double)dim_of(QUERY)), D = (double)dim_of(QUERY), V = (double)dim_of(VALUE);
    const double a = p * kept, g = kept * m->g * v + fabs(m->delta), ds = p * ((r + u) * g + kept * 2 * u * m->g * v);
    c.bound[OUTPUT][m->at] += (r + u) * a * v;
    c.bound[G_VALUE][n] += (r + u) * a * m->g;
    c.bound[G_QUERY][m->at] += scale * (ds + u * p * g) * k;
    c.bound[G_KEY][n] += scale * (ds + u * p * g) * m->q;
    /* the same of squares */
    const double e2 = 2 * pow(scale * w * m->q * k, 2) / D, all = e2 + spread;
    const double g2 = 2 * (pow(kept * m->g * v, 2) / V + m->delta * m->delta);
    const double ds2 = p * p * ((all + w * w) * g2 + 2 * w * w * pow(kept * m->g * v, 2) / V);
    c.square[OUTPUT][m->at] += a * a * (e2 + 2 * w * w) * v * v;
    c.square[G_VALUE][n] += a * a * (all + 2 * w * w) * m->g * m->g;
    c.square[G_QUERY][m->at] += scale * scale * (ds2 + p * p * w * w * g2) * k * k;
    c.square[G_KEY][n] += scale * scale * (ds2 + p * p * w * w * g2) * m->q * m->q;
}

static void bound_row(const row_of_query *m, size_t s, const float *p) {
    const double kept = 1 / (1 - c.options.dropout), scale = 1 / sqrt((double)dim_of(QUERY));
    double longest = 0, spread = 0;
    for (size_t j = 0; j < key_lengths[s]; j++) {
        const double k = norm(KEY, key_offsets[s] + j, m->kv);
        longest = fmax(longest, p[j] > 0 ? k : 0);
        spread += pow((double)p[j] * scale * w * m->q * k, 2) * 2 / (double)dim_of(QUERY);
    }
    c.score_error[m->at] = 2 * u * scale * m->q * longest;
    const double r = exp(2 * c.score_error[m->at]) - 1 + u;
    for (size_t j = 0; j < key_lengths[s]; j++)
        if (p[j] != 0) /* else it adds 0 to all sums */
            bound_pair(m, key_offsets[s] + j, (double)p[j], kept, r, spread);
    c.square[OUTPUT][m->at] += m->o * m->o * spread;
}

static void make_bounds(void) {
    static float p[200 * 200];
    memset(c.bound, 0, sizeof c.bound);
    memset(c.square, 0, sizeof c.square);
    for (size_t which = QUERY; which <= G_OUTPUT; which++)
        make_norms(which);
    for (size_t s = 0; s < SEQUENCES; s++)
        for (size_t head = 0; head < HEADS; head++) {
            make_weights(s, head, p);
            for (size_t i = 0; i < query_lengths[s]; i++) {
                const row_of_query m = query_at(query_offsets[s] + i, head);
                bound_row(&m, s, p + i * key_lengths[s]);
            }
        }
}

/* ---- comparisons ---- */

static const char *subject;

static void compare(size_t which) {
    const size_t *offsets = of_keys(which) ? key_offsets : query_offsets;
    const size_t *lengths = of_keys(which) ? key_lengths : query_lengths;
    const size_t dim = dim_of(which), heads = heads_of(which);
    double found = 0, allowed = 0;
    convert(c.half[which], LOCUS_BFLOAT16, c.narrow[which], LOCUS_FLOAT32);
    for (size_t s = 0; s < SEQUENCES; s++)
        for (size_t i = offsets[s] * heads; i < (offsets[s] + lengths[s]) * heads; i++) {
            double error = 0, size = 0;
            for (size_t d = 0; d < dim; d++) {
                const double want = (double)c.wide[which][i * dim + d], got = (double)c.narrow[which][i * dim + d];
                error += (got - want) * (got - want);
                size += want * want;
            }
            const double bound = c.bound[which][i] + u * sqrt(size);
            if (!(sqrt(error) <= bound * (1 + 1e-4) + 1e-30))
                fail_msg("%s: row %zu of tensor %zu is off by %g, at most %g", subject, i, which, sqrt(error), bound);
            found += error;
            allowed += c.square[which][i] + w * w * size;
        }
    if (!(found <= allowed))
        fail_msg("%s: tensor %zu is off by %g, expected at most %g", subject, which, sqrt(found), sqrt(allowed));
}

static void compare_sums(void) {
    for (size_t s = 0; s < SEQUENCES; s++)
        for (size_t i = query_offsets[s] * HEADS; i < (query_offsets[s] + query_lengths[s]) * HEADS; i++) {
            const double got = (double)c.half_lse[i], want = (double)c.wide_lse[i];
            if (!(got == want || fabs(got - want) <= c.score_error[i] + 1e-5 * (1 + fabs(want))))
                fail_msg("%s: log-sum-exp %zu is %.9g, not %.9g", subject, i, got, want);
        }
}

/* Parameters' gradients are sums over all tokens, of which no norms are kept: as a whole they may be off by a few
 * roundings. */
static void compare_parameters(void) {
    for (size_t i = 0; i < c.r.count; i++) {
        const size_t count = rig_elements(&c.r.info[i]);
        double found = 0, size = 0;
        for (size_t j = 0; j < count; j++) {
            const double got = c.learned[i][j], want = ((const double *)c.r.gradients[i].data)[j];
            found += (got - want) * (got - want);
            size += want * want;
        }
        if (!(sqrt(found) <= 4 * u * sqrt(size) + 1e-6))
            fail_msg("%s: gradient of parameter %zu is off by %g of %g", subject, i, sqrt(found), sqrt(size));
    }
}

static void check_gaps(const uint16_t *before, size_t which) {
    const size_t *offsets = of_keys(which) ? key_offsets : query_offsets;
    const size_t *lengths = of_keys(which) ? key_lengths : query_lengths;
    const size_t all = of_keys(which) ? KEYS : QUERIES, r = heads_of(which) * dim_of(which);
    for (size_t t = 0; t < all; t++)
        if (!(t >= offsets[0] && t < offsets[0] + lengths[0]) && !(t >= offsets[1] && t < offsets[1] + lengths[1]))
            assert_memory_equal(before + t * r, c.half[which] + t * r, r * sizeof *before);
}

static void place(void) {
    locus_positions *queries = NULL, *keys = NULL;
    rig_ok(locus_positions_create(
        &queries, NULL, &(locus_packing){sizeof(locus_packing), 2, query_offsets, query_lengths}, NULL, error));
    rig_ok(locus_positions_create(&keys, NULL, &(locus_packing){sizeof(locus_packing), 2, key_offsets, key_lengths},
                                  NULL, error));
    rig_place(&c.r, queries, keys);
}

static void clear_learned(bool keep) {
    for (size_t i = 0; i < c.r.count; i++) {
        const size_t bytes = rig_elements(&c.r.info[i]) * sizeof(double);
        assert_true(bytes <= sizeof c.learned[i]);
        if (keep)
            memcpy(c.learned[i], c.r.gradients[i].data, bytes);
        memset(c.r.gradients[i].data, 0, bytes);
    }
}

/* The same call by more threads: the same bits. */
static void check_threads(void) {
    static uint16_t before[TENSORS][MOST];
    const size_t threads = locus_threads();
    memcpy(before, c.half, sizeof before);
    assert_int_equal(locus_threads_set(threads == 3 ? 2 : 3), LOCUS_OK);
    run(true, LOCUS_PASS_FORWARD);
    run(true, LOCUS_PASS_BACKWARD);
    assert_int_equal(locus_threads_set(threads), LOCUS_OK);
    assert_memory_equal(before, c.half, sizeof before);
}

static void check_output(void) {
    run(false, LOCUS_PASS_FORWARD);
    make_bounds();
    compare(OUTPUT);
    compare_sums();
}

static void check_gradients(void) {
    clear_learned(true);
    convert(c.half[OUTPUT], LOCUS_BFLOAT16, c.wide[OUTPUT], LOCUS_FLOAT32); /* both backwards are given the same */
    memcpy(c.wide_lse, c.half_lse, sizeof c.wide_lse);
    run(false, LOCUS_PASS_BACKWARD);
    make_bounds();
    for (size_t which = G_QUERY; which < TENSORS; which++)
        compare(which);
    compare_parameters();
}

static void check(const char *spec, locus_shape shape, const locus_attention_options *options) {
    static uint16_t before[TENSORS][MOST];
    subject = spec;
    c.options = *options;
    rig_bind(&c.r, spec, shape, 7);
    place();
    fill();
    memcpy(before, c.half, sizeof before);
    run(true, LOCUS_PASS_FORWARD);
    if (!threads_alone())
        check_output();
    clear_learned(false);
    run(true, LOCUS_PASS_BACKWARD);
    if (!threads_alone())
        check_gradients();
    for (size_t which = OUTPUT; which < TENSORS; which++)
        if (which != G_OUTPUT)
            check_gaps(before[which], which);
    if (!threads_alone() || locus_threads() == 1)
        check_threads();
    rig_close(&c.r);
}

/* ---- cases ---- */

static locus_attention_options masked(locus_mask mask, size_t window, size_t keep) {
    locus_attention_options options = locus_attention_default();
    options.mask = mask;
    options.window = window;
    options.keep = keep;
    return options;
}

/* Under a sanitizer, where the reference takes minutes, one mask of each shape, another one each time. */
static void check_masks(const char *spec, locus_shape shape) {
    static const size_t prefixes[] = {20, 7};
    const locus_attention_options full = masked(LOCUS_MASK_FULL, 0, 0), causal = masked(LOCUS_MASK_CAUSAL, 0, 0);
    const locus_attention_options window = masked(LOCUS_MASK_CAUSAL, 37, 0), kept = masked(LOCUS_MASK_CAUSAL, 30, 5);
    locus_attention_options prefix = masked(LOCUS_MASK_PREFIX, 0, 0);
    prefix.prefix = prefixes;
    const locus_attention_options *all[] = {&full, &causal, &window, &kept, &prefix};
    static size_t turn;
    const size_t first = SANITIZED(2 * turn++ % 5, 0), end = SANITIZED(first + 1, 5);
    for (size_t i = first; i < end; i++)
        check(spec, shape, all[i]);
}

static void encodings(void **state) {
    const locus_shape plain = {.heads = HEADS, .head_dim = 64}, odd = {.heads = HEADS, .head_dim = 5};
    const locus_shape uneven = {.heads = HEADS, .head_dim = 24, .value_dim = 37};
    const locus_shape even = {.heads = HEADS, .head_dim = 8}, wide = {.heads = HEADS, .head_dim = 80, .value_dim = 6};
    const locus_attention_options causal = masked(LOCUS_MASK_CAUSAL, 0, 0);
    (void)state;
    check_masks("none", plain);
    check_masks("rope", uneven);
    check_masks("none", odd);
    check("algebraic(values=on)", even, &causal);
    check("rope + decay(rate=0.9) + scores(sinks=on)", even, &causal);
    check("liere(group=seq, values=on)", even, &causal); /* acts on whole tensors */
    if (IS_SANITIZED)
        return;
    check("rope", wide, &causal);
    check("rope(learned=on) + alibi", even, &causal);
    check("t5(direction=both)", uneven, &causal);
    check("none + scores(cap=4)", plain, &causal);
}

static void groups(void **state) {
    const locus_shape two = {.heads = HEADS, .head_dim = 16, .kv_heads = 2};
    const locus_shape one = {.heads = HEADS, .head_dim = 8, .value_dim = 3, .kv_heads = 1};
    const locus_shape same = {.heads = HEADS, .head_dim = 8, .kv_heads = 1};
    const locus_attention_options causal = masked(LOCUS_MASK_CAUSAL, 0, 0), full = masked(LOCUS_MASK_FULL, 0, 0);
    (void)state;
    check_masks("rope", two);
    check("rope(learned=on)", one, &full);
    check("algebraic(values=on)", same, &causal);
}

static void dropout(void **state) {
    locus_attention_options dropped = masked(LOCUS_MASK_CAUSAL, 0, 0);
    (void)state;
    dropped.dropout = 0.25;
    check("rope", (locus_shape){.heads = HEADS, .head_dim = 16}, &dropped);
}

enum { FEW = 64, LONG_KEYS = 2600, LONG_DIM = 16, LONG_MOST = LONG_KEYS * LONG_DIM };

/* Gradients of queries, keys and values by one type; the numbers are those of `given`. */
static void run_long(const rig *r, locus_dtype dtype, uint16_t given[4][LONG_MOST], float result[3][LONG_MOST]) {
    static float wide[8][LONG_MOST];
    static uint16_t half[8][LONG_MOST];
    const int64_t one[] = {FEW, 2, LONG_DIM}, many[] = {LONG_KEYS, 1, LONG_DIM}, rows[] = {FEW, 2};
    float log_sum_exp[2 * FEW];
    const locus_attention_options options = masked(LOCUS_MASK_FULL, 0, 0);
    locus_tensor t[8];
    for (size_t i = 0; i < 8; i++) { /* q, k, v, do, o, dq, dk, dv */
        const bool keys = i == 1 || i == 2 || i > 5;
        t[i] = locus_tensor_view(dtype == LOCUS_BFLOAT16 ? (void *)half[i] : wide[i], dtype, 3, keys ? many : one);
        if (i < 4) {
            const locus_tensor from = locus_tensor_view(given[i], LOCUS_BFLOAT16, 3, keys ? many : one);
            rig_ok(locus_tensor_convert(&from, &t[i], error));
        }
    }
    const locus_tensor lse = locus_tensor_view(log_sum_exp, LOCUS_FLOAT32, 2, rows);
    const locus_attention_tensors tensors = {sizeof tensors, &t[0], &t[1], &t[2], &t[4], &lse};
    const locus_attention_gradients gradients = {
        .size = sizeof gradients, .output = &t[3], .query = &t[5], .key = &t[6], .value = &t[7]};
    for (int pass = LOCUS_PASS_FORWARD; pass <= LOCUS_PASS_BACKWARD; pass++) {
        locus_workspace workspace = {NULL, locus_attention_workspace(r->plan, &options, dtype, (locus_pass)pass, NULL)};
        workspace.data = locus_allocate(workspace.bytes);
        const locus_execution execution = locus_execution_in(workspace);
        if (pass == LOCUS_PASS_FORWARD)
            rig_ok(locus_attention_forward(r->plan, &options, &tensors, &execution, error));
        else
            rig_ok(locus_attention_backward(r->plan, &options, &tensors, &gradients, &execution, error));
        locus_release(workspace.data, workspace.bytes);
    }
    for (size_t i = 0; i < 3; i++) {
        const locus_tensor to = locus_tensor_view(result[i], LOCUS_FLOAT32, 3, i > 0 ? many : one);
        rig_ok(locus_tensor_convert(&t[5 + i], &to, error));
    }
}

/* Keys of more than one panel, whose gradients several heads add to: each row is where it belongs. */
static void long_keys_of_groups(void **state) {
    static uint16_t given[4][LONG_MOST];
    static float narrow[3][LONG_MOST], exact[3][LONG_MOST], drawn[LONG_MOST];
    static const size_t counts[] = {2 * FEW * LONG_DIM, LONG_MOST, LONG_MOST};
    uint64_t random = 3;
    rig r;
    (void)state;
    rig_bind(&r, "none", (locus_shape){.heads = 2, .head_dim = LONG_DIM, .kv_heads = 1}, 7);
    int64_t at[LONG_KEYS] = {0};
    rig_place(&r, rig_positions(at, FEW), rig_positions(at, LONG_KEYS));
    const int64_t all[] = {LONG_MOST};
    for (size_t i = 0; i < 4; i++) {
        for (size_t j = 0; j < LONG_MOST; j++)
            drawn[j] = (float)rig_random(&random);
        const locus_tensor from = locus_tensor_view(drawn, LOCUS_FLOAT32, 1, all),
                           to = locus_tensor_view(given[i], LOCUS_BFLOAT16, 1, all);
        rig_ok(locus_tensor_convert(&from, &to, error));
    }
    run_long(&r, LOCUS_BFLOAT16, given, narrow);
    run_long(&r, LOCUS_FLOAT32, given, exact);
    for (size_t i = 0; i < 3; i++) {
        double apart = 0, size = 0;
        for (size_t j = 0; j < counts[i]; j++) {
            apart += pow((double)narrow[i][j] - (double)exact[i][j], 2);
            size += pow((double)exact[i][j], 2);
        }
        assert_true(sqrt(apart) <= 4 * u * sqrt(size));
    }
    rig_close(&r);
}

/* Content terms go the old way: the bits of widened tensors. */
static void content_is_widened(void **state) {
    const locus_attention_options causal = masked(LOCUS_MASK_CAUSAL, 0, 0);
    (void)state;
    rig_bind(&c.r, "relative(window=4)", (locus_shape){.heads = HEADS, .head_dim = 8}, 7);
    c.options = causal;
    place();
    fill();
    run(false, LOCUS_PASS_FORWARD);
    run(true, LOCUS_PASS_FORWARD);
    assert_memory_equal(c.half_lse, c.wide_lse, sizeof c.wide_lse);
    rig_close(&c.r);
}

/* What locus_attention_widens says of a spec's forward and backward, with and without turned tensors. */
static void check_widens(const char *spec, locus_shape shape, bool widens, bool widens_turned) {
    locus_attention_options options = masked(LOCUS_MASK_CAUSAL, 0, 0);
    rig_bind(&c.r, spec, shape, 7);
    place();
    for (int pass = LOCUS_PASS_FORWARD; pass <= LOCUS_PASS_BACKWARD; pass++) {
        options.turned = false;
        assert_int_equal(locus_attention_widens(c.r.plan, &options, LOCUS_BFLOAT16, (locus_pass)pass), widens);
        assert_true(locus_attention_widens(c.r.plan, &options, LOCUS_FLOAT16, (locus_pass)pass));
        assert_false(locus_attention_widens(c.r.plan, &options, LOCUS_FLOAT32, (locus_pass)pass));
        assert_false(locus_attention_widens(c.r.plan, &options, LOCUS_FLOAT64, (locus_pass)pass));
        options.turned = true;
        assert_int_equal(locus_attention_widens(c.r.plan, &options, LOCUS_BFLOAT16, (locus_pass)pass), widens_turned);
    }
    rig_close(&c.r);
}

static void widens(void **state) {
    const locus_shape shape = {.heads = HEADS, .head_dim = 8};
    (void)state;
    check_widens("rope", shape, false, false);
    check_widens("none + alibi", shape, false, false);
    check_widens("relative(window=4)", shape, true, true);
    check_widens("cope(max=16)", shape, true, true);
    check_widens("liere(group=grid:1)", shape, true, false);
    assert_true(locus_attention_widens(NULL, NULL, LOCUS_BFLOAT16, LOCUS_PASS_FORWARD));
}

/* No tensor is widened as a whole. */
static void takes_little_memory(void **state) {
    enum { LONG = 1 << 15 };
    const locus_attention_options options = locus_attention_default();
    (void)state;
    rig_bind(&c.r, "rope", (locus_shape){.heads = HEADS, .head_dim = 64}, 7);
    rig_place(&c.r, rig_positions(NULL, LONG), NULL);
    const size_t tensor = (size_t)LONG * HEADS * 64 * sizeof(float);
    assert_true(locus_attention_workspace(c.r.plan, &options, LOCUS_BFLOAT16, LOCUS_PASS_FORWARD, NULL) < tensor / 2);
    rig_close(&c.r);
}

int main(void) {
    static const locus_isa levels[] = {LOCUS_ISA_AVX512_BF16, LOCUS_ISA_AMX};
    const struct CMUnitTest tests[] = {cmocka_unit_test(encodings),           cmocka_unit_test(groups),
                                       cmocka_unit_test(long_keys_of_groups), cmocka_unit_test(dropout),
                                       cmocka_unit_test(content_is_widened),  cmocka_unit_test(widens),
                                       cmocka_unit_test(takes_little_memory)};
    int failed = 0, tested = 0;
    threads_only("encodings");
    for (size_t i = 0; i < 2; i++) {
        if (!locus_kernels_bfloat16_of(levels[i])) {
            printf("this machine or build has no %s: its attention is not tested here\n", locus_isa_name(levels[i]));
            continue;
        }
        locus_cpu_mask_set(LOCUS_ISA_AVX2 | LOCUS_ISA_AVX512 | (unsigned)levels[i]);
        tested++;
        failed += cmocka_run_group_tests_name(locus_isa_name(levels[i]), tests, NULL, NULL);
    }
    return failed ? 1 : tested ? 0 : 77; /* 77: skipped */
}
