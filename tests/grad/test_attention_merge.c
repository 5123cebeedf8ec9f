/* SPDX-License-Identifier: MIT */
/* Attention over two parts of the keys, merged through log-sum-exp:
 *
 *   l = ln(exp l₁ + exp l₂),  w_i = exp(l_i − l),  o = w₁ o₁ + w₂ o₂
 *   do_i = w_i do,  dl₁ = w₁ w₂ do·(o₁ − o₂) = −dl₂
 *
 * Output and log-sum-exp are those of the whole, and with gradients.log_sum_exp so are dq, dk, dv and the parameters'
 * gradients. The whole's own gradients, of the output and of log-sum-exp, are held to central differences in double:
 * step 1e-5, so truncation and rounding near 1e-10; tolerance 2e-7·(1 + |gradient|). */
#include "../property/encoding_rig.h"

enum { QUERIES = 37, KEYS = 90, HEADS = 4, KV_HEADS = 2, DIM = 6, PARTS = 3 }; /* the whole, and two parts */
enum { QUERY_ROW = HEADS * DIM, KEY_ROW = KV_HEADS * DIM, SUMS = QUERIES * HEADS };

static const char *const specs[] = {"none", "rope(learned=on)", "alibi + decay(rate=0.9, learned=on)",
                                    "relative(window=4, values=on)", "algebraic(group=seq, values=on)"};
static const size_t begins[PARTS] = {0, 0, 53}, ends[PARTS] = {KEYS, 53, KEYS};

typedef struct part {
    rig r;
    size_t keys;
    double *k, *v; /* of its keys, in the whole's */
    double o[QUERIES * QUERY_ROW], l[SUMS], go[QUERIES * QUERY_ROW], gl[SUMS];
    double dq[QUERIES * QUERY_ROW], dk[KEYS * KEY_ROW], dv[KEYS * KEY_ROW];
} part;

typedef struct merge {
    part parts[PARTS];
    locus_attention_options options;
    double q[QUERIES * QUERY_ROW], k[KEYS * KEY_ROW], v[KEYS * KEY_ROW];
} merge;

static locus_tensor rows(double *data, size_t tokens, size_t heads) {
    const int64_t shape[] = {(int64_t)tokens, (int64_t)heads, DIM};
    return locus_tensor_view(data, LOCUS_FLOAT64, 3, shape);
}

static locus_tensor sums(double *data) {
    return locus_tensor_view(data, LOCUS_FLOAT64, 2, (const int64_t[]){QUERIES, HEADS});
}

static void run(merge *m, part *p, bool backward) {
    const locus_tensor q = rows(m->q, QUERIES, HEADS), k = rows(p->k, p->keys, KV_HEADS),
                       v = rows(p->v, p->keys, KV_HEADS);
    const locus_tensor o = rows(p->o, QUERIES, HEADS), l = sums(p->l), go = rows(p->go, QUERIES, HEADS),
                       gl = sums(p->gl);
    const locus_tensor dq = rows(p->dq, QUERIES, HEADS), dk = rows(p->dk, p->keys, KV_HEADS),
                       dv = rows(p->dv, p->keys, KV_HEADS);
    const locus_attention_tensors tensors = {sizeof tensors, &q, &k, &v, &o, &l};
    const locus_attention_gradients gradients = {.size = sizeof gradients,
                                                 .output = &go,
                                                 .query = &dq,
                                                 .key = &dk,
                                                 .value = &dv,
                                                 .parameters = p->r.gradients,
                                                 .parameter_count = p->r.count,
                                                 .log_sum_exp = &gl};
    const locus_pass pass = backward ? LOCUS_PASS_BACKWARD : LOCUS_PASS_FORWARD;
    locus_workspace lent = {NULL, locus_attention_workspace(p->r.plan, &m->options, LOCUS_FLOAT64, pass, NULL)};
    lent.data = locus_allocate(lent.bytes + 1);
    assert_non_null(lent.data);
    const locus_execution execution = locus_execution_in(lent);
    if (backward)
        rig_ok(locus_attention_backward(p->r.plan, &m->options, &tensors, &gradients, &execution, error));
    else
        rig_ok(locus_attention_forward(p->r.plan, &m->options, &tensors, &execution, error));
    locus_release(lent.data, lent.bytes + 1);
}

static void draw(uint64_t *random, size_t count, double *x) {
    for (size_t i = 0; i < count; i++)
        x[i] = 2 * rig_random(random);
}

static merge *begin(const char *spec) {
    const locus_shape shape = {
        .heads = HEADS, .kv_heads = KV_HEADS, .head_dim = DIM, .value_dim = DIM, .model_dim = HEADS * DIM};
    merge *m = calloc(1, sizeof *m);
    int64_t values[KEYS];
    uint64_t random = 3;
    assert_non_null(m);
    m->options = locus_attention_default();
    draw(&random, QUERIES * QUERY_ROW, m->q);
    draw(&random, KEYS * KEY_ROW, m->k);
    draw(&random, KEYS * KEY_ROW, m->v);
    draw(&random, QUERIES * QUERY_ROW, m->parts[0].go);
    for (int64_t i = 0; i < KEYS; i++)
        values[i] = i;
    for (size_t i = 0; i < PARTS; i++) {
        part *p = &m->parts[i];
        p->keys = ends[i] - begins[i];
        p->k = m->k + begins[i] * KEY_ROW;
        p->v = m->v + begins[i] * KEY_ROW;
        rig_bind(&p->r, spec, shape, 7);
        rig_place(&p->r, rig_positions(values + 20, QUERIES), rig_positions(values + begins[i], p->keys));
    }
    return m;
}

static void end(merge *m) {
    for (size_t i = 0; i < PARTS; i++)
        rig_close(&m->parts[i].r);
    free(m);
}

static void near(const char *what, size_t at, double got, double want, double tolerance) {
    if (!(fabs(got - want) <= tolerance * (1 + fabs(want))))
        fail_msg("%s[%zu] is %.15g, not %.15g", what, at, got, want);
}

/* The parts' gradients from the whole's do; holds their merged output to the whole's. */
static void merge_rows(merge *m) {
    part *whole = &m->parts[0], *a = &m->parts[1], *b = &m->parts[2];
    for (size_t i = 0; i < SUMS; i++) {
        const double top = fmax(a->l[i], b->l[i]), l = top + log(exp(a->l[i] - top) + exp(b->l[i] - top));
        const double wa = exp(a->l[i] - l), wb = exp(b->l[i] - l);
        double apart = 0;
        near("log-sum-exp", i, l, whole->l[i], 1e-13);
        for (size_t d = i * DIM; d < (i + 1) * DIM; d++) {
            near("output", d, wa * a->o[d] + wb * b->o[d], whole->o[d], 1e-13);
            a->go[d] = wa * whole->go[d];
            b->go[d] = wb * whole->go[d];
            apart += whole->go[d] * (a->o[d] - b->o[d]);
        }
        a->gl[i] = wa * wb * apart;
        b->gl[i] = -a->gl[i];
    }
}

static void compare(const merge *m) {
    const part *whole = &m->parts[0], *a = &m->parts[1], *b = &m->parts[2];
    const size_t split = a->keys * KEY_ROW;
    for (size_t i = 0; i < QUERIES * QUERY_ROW; i++)
        near("dq", i, a->dq[i] + b->dq[i], whole->dq[i], 1e-12);
    for (size_t i = 0; i < KEYS * KEY_ROW; i++) {
        near("dk", i, i < split ? a->dk[i] : b->dk[i - split], whole->dk[i], 1e-12);
        near("dv", i, i < split ? a->dv[i] : b->dv[i - split], whole->dv[i], 1e-12);
    }
    for (size_t p = 0; p < whole->r.count; p++)
        for (size_t i = 0; i < rig_elements(&whole->r.info[p]); i++)
            near(whole->r.info[p].name, i,
                 ((double *)a->r.gradients[p].data)[i] + ((double *)b->r.gradients[p].data)[i],
                 ((double *)whole->r.gradients[p].data)[i], 1e-11);
}

static void test_merged_parts_have_the_gradients_of_the_whole(void **state) {
    (void)state;
    for (size_t s = 0; s < sizeof specs / sizeof specs[0]; s++) {
        merge *m = begin(specs[s]);
        for (size_t i = 0; i < PARTS; i++)
            run(m, &m->parts[i], false);
        merge_rows(m);
        for (size_t i = 0; i < PARTS; i++)
            run(m, &m->parts[i], true);
        compare(m);
        end(m);
    }
}

static double loss(merge *m) {
    part *p = &m->parts[0];
    double sum = 0;
    run(m, p, false);
    for (size_t i = 0; i < QUERIES * QUERY_ROW; i++)
        sum += p->go[i] * p->o[i];
    for (size_t i = 0; i < SUMS; i++)
        sum += p->gl[i] * p->l[i];
    return sum;
}

/* `update`: x is a parameter's. */
static double slope(merge *m, double *x, double step, bool update) {
    double at[2], kept = *x;
    for (int side = 0; side < 2; side++) {
        *x = kept + (side ? -step : step);
        if (update)
            rig_update(&m->parts[0].r);
        at[side] = loss(m);
    }
    *x = kept;
    return (at[0] - at[1]) / (2 * step);
}

/* Of two steps, so that what is left of the truncation is of h⁴: angles grow with positions, and their derivatives with
 * powers of them. */
static void difference(merge *m, const char *what, double *x, size_t at, double gradient, bool update) {
    const double step = 1e-5;
    near(what, at, gradient, (4 * slope(m, x + at, step, update) - slope(m, x + at, 2 * step, update)) / 3, 2e-7);
}

static void test_central_differences(void **state) {
    (void)state;
    static const char *const own[] = {"relative(window=4, values=on) + kerple", "cope(max=7) + scores(sinks=on)",
                                      "algebraic(group=seq, values=on) + scores(sinks=on, cap=3)"};
    for (size_t s = 0; s < sizeof own / sizeof own[0]; s++) {
        merge *m = begin(own[s]);
        part *p = &m->parts[0];
        uint64_t random = 11;
        m->options.mask = LOCUS_MASK_CAUSAL;
        m->options.window = 30; /* rows of the last queries see fewer keys */
        draw(&random, SUMS, p->gl);
        run(m, p, false);
        run(m, p, true);
        for (size_t i = 0; i < QUERIES * QUERY_ROW; i += 41)
            difference(m, "dq", m->q, i, p->dq[i], false);
        for (size_t i = 0; i < KEYS * KEY_ROW; i += 53) {
            difference(m, "dk", m->k, i, p->dk[i], false);
            difference(m, "dv", m->v, i, p->dv[i], false);
        }
        for (size_t t = 0; t < p->r.count; t++) {
            double *values = p->r.values[t].data, *gradient = p->r.gradients[t].data;
            for (size_t i = 0; i < rig_elements(&p->r.info[t]); i += 3)
                difference(m, p->r.info[t].name, values, i, gradient[i], true);
        }
        end(m);
    }
}

/* A query that sees no key has the sink alone: d(log_sum_exp)/dz is 1. */
static void test_rows_that_see_only_the_sink(void **state) {
    (void)state;
    for (int contextual = 0; contextual < 2; contextual++) {
        merge *m = begin(contextual ? "cope(max=7) + scores(sinks=on)" : "scores(sinks=on)");
        int32_t queries[QUERIES], keys[KEYS] = {0};
        part *p = &m->parts[0];
        const size_t last = p->r.count - 1;
        for (size_t i = 0; i < QUERIES; i++)
            queries[i] = 7;
        m->options.mask = LOCUS_MASK_CAUSAL;
        m->options.query_documents = queries;
        m->options.key_documents = keys;
        for (size_t i = 0; i < SUMS; i++)
            p->gl[i] = 1 + (double)(i % HEADS);
        run(m, p, false);
        run(m, p, true);
        assert_true(strstr(p->r.info[last].name, "sinks") != NULL);
        for (size_t h = 0; h < HEADS; h++)
            near("dz", h, ((double *)p->r.gradients[last].data)[h], QUERIES * (1 + (double)h), 1e-14);
        for (size_t i = 0; i < QUERIES * QUERY_ROW; i++)
            assert_true(p->dq[i] == 0 && p->o[i] == 0);
        end(m);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_merged_parts_have_the_gradients_of_the_whole),
                                       cmocka_unit_test(test_central_differences),
                                       cmocka_unit_test(test_rows_that_see_only_the_sink)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
