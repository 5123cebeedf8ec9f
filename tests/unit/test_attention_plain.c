/* SPDX-License-Identifier: MIT */
/* Attention against its definition in plain loops, forward and backward, at the shapes where work is cut: more queries
 * than an item has, more keys than a panel, a tile, a part of a split sequence or of a step of decoding, sequences that
 * begin inside of a buffer, heads that share keys. Cheap: the wide oracle is attention_oracle.c. */
#include "../property/encoding_rig.h"

enum { SEQUENCES = 3, DIM = 4, VALUE = 3, WINDOW = 6, ROWS = 2 * WINDOW + 1 };

/* Of "rope + alibi" two pairs turn by p and p/100, and 2^(−8(h + 1)/heads)·distance is taken from a score; of
 * "relative" keys and values have rows of tables added, by the difference of positions clipped to a window. */
typedef struct shape {
    size_t heads, kv_heads, sequences, queries[SEQUENCES], keys[SEQUENCES];
    locus_mask mask;
    size_t window, keep;
    bool relative; /* else rope + alibi */
    bool biased;   /* [sequences, heads, most queries, most keys] */
} shape;

typedef struct world {
    const shape *s;
    size_t query_first[SEQUENCES + 1], key_first[SEQUENCES + 1];
    double *q, *k, *v, *go, *gl;                            /* given; gl: dL of the log-sum-exp */
    double *bias, *dbias, *table[2], dtable[2][ROWS * DIM]; /* tables: of keys and of values */
    size_t rows, row;                                       /* of the bias */
    double *o, *l, *dq, *dk, *dv;                           /* by plain loops */
    int64_t *query_at, *key_at;                             /* positions */
} world;

static double *some(size_t count, uint64_t *state) {
    return rig_normal(count, state);
}

static double *zeros(size_t count) {
    double *values = calloc(count + 1, sizeof *values);
    assert_non_null(values);
    return values;
}

static void open_world(world *w, const shape *s) {
    static uint64_t state = 1;
    *w = (world){.s = s};
    for (size_t n = 0; n < s->sequences; n++) {
        w->query_first[n + 1] = w->query_first[n] + s->queries[n];
        w->key_first[n + 1] = w->key_first[n] + s->keys[n];
    }
    const size_t T = w->query_first[s->sequences], N = w->key_first[s->sequences];
    w->q = some(T * s->heads * DIM, &state);
    w->k = some(N * s->kv_heads * DIM, &state);
    w->v = some(N * s->kv_heads * VALUE, &state);
    w->go = some(T * s->heads * VALUE, &state);
    w->gl = some(T * s->heads, &state);
    w->o = zeros(T * s->heads * VALUE);
    w->l = zeros(T * s->heads);
    w->dq = zeros(T * s->heads * DIM);
    w->dk = zeros(N * s->kv_heads * DIM);
    w->dv = zeros(N * s->kv_heads * VALUE);
    for (size_t n = 0; n < s->sequences; n++) {
        w->rows = s->queries[n] > w->rows ? s->queries[n] : w->rows;
        w->row = s->keys[n] > w->row ? s->keys[n] : w->row;
    }
    const size_t elements = s->biased ? s->sequences * s->heads * w->rows * w->row : 0;
    w->bias = some(elements, &state);
    w->dbias = zeros(elements);
    w->query_at = calloc(T + 1, sizeof *w->query_at);
    w->key_at = calloc(N + 1, sizeof *w->key_at);
    for (size_t n = 0; n < s->sequences; n++) { /* the last keys stand where the queries stand */
        for (size_t i = 0; i < s->queries[n]; i++)
            w->query_at[w->query_first[n] + i] = (int64_t)(10 * n + i + s->keys[n]) - (int64_t)s->queries[n];
        for (size_t j = 0; j < s->keys[n]; j++)
            w->key_at[w->key_first[n] + j] = (int64_t)(10 * n + j);
    }
}

static void close_world(world *w) {
    double *all[] = {w->q, w->k, w->v, w->go, w->gl, w->o, w->l, w->dq, w->dk, w->dv, w->bias, w->dbias};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
    free(w->query_at);
    free(w->key_at);
}

static bool sees(const shape *s, size_t n, size_t i, size_t j) {
    const double t = (double)i + (double)s->keys[n] - (double)s->queries[n], back = t - (double)j;
    if (s->mask == LOCUS_MASK_CAUSAL && back < 0)
        return false;
    return s->window == 0 || fabs(back) < (double)s->window || j < s->keep;
}

/* ---- by plain loops ---- */

/* q turned by the distance and back: q·R k = Rᵀq·k. */
static double score(const double *q, const double *k, double apart) {
    const double a[] = {cos(apart), cos(apart / 100)}, b[] = {sin(apart), sin(apart / 100)};
    double sum = 0;
    for (size_t p = 0; p < 2; p++)
        sum += a[p] * (q[2 * p] * k[2 * p] + q[2 * p + 1] * k[2 * p + 1]) +
               b[p] * (q[2 * p + 1] * k[2 * p] - q[2 * p] * k[2 * p + 1]);
    return sum;
}

static void add_slopes(const double *q, const double *k, double apart, double g, double *dq, double *dk) {
    for (size_t p = 0; p < 2; p++) {
        const double at = p ? apart / 100 : apart, a = g * cos(at), b = g * sin(at);
        dq[2 * p] += a * k[2 * p] - b * k[2 * p + 1];
        dq[2 * p + 1] += a * k[2 * p + 1] + b * k[2 * p];
        dk[2 * p] += a * q[2 * p] + b * q[2 * p + 1];
        dk[2 * p + 1] += a * q[2 * p + 1] - b * q[2 * p];
    }
}

static double dot(const double *x, const double *y, size_t count) {
    double sum = 0;
    for (size_t d = 0; d < count; d++)
        sum += x[d] * y[d];
    return sum;
}

static void add(double by, const double *x, size_t count, double *to) {
    for (size_t d = 0; d < count; d++)
        to[d] += by * x[d];
}

static size_t row_of(double apart) {
    return (size_t)(fmax(fmin(apart, WINDOW), -WINDOW) + WINDOW);
}

static void plain_row(world *w, size_t n, size_t i, size_t head, double *weight) {
    const shape *s = w->s;
    const size_t token = w->query_first[n] + i, row = token * s->heads + head, kv = head / (s->heads / s->kv_heads);
    const double scale = 1 / sqrt(DIM), slope = exp2(-8.0 * (double)(head + 1) / (double)s->heads);
    const double *q = w->q + row * DIM, *go = w->go + row * VALUE;
    double total = 0, delta = 0, *o = w->o + row * VALUE;
    const size_t element = ((n * s->heads + head) * w->rows + i) * w->row;
    for (size_t j = 0; j < s->keys[n]; j++) {
        const size_t key = (w->key_first[n] + j) * s->kv_heads + kv;
        const double apart = (double)(w->key_at[w->key_first[n] + j] - w->query_at[token]);
        const double bias = s->biased ? w->bias[element + j] : 0;
        const double *k = w->k + key * DIM, *turned = s->relative ? w->table[0] + row_of(apart) * DIM : q;
        const double own = s->relative ? scale * (dot(q, k, DIM) + dot(q, turned, DIM))
                                       : scale * score(q, k, apart) - slope * fabs(apart);
        weight[j] = sees(s, n, i, j) ? exp(own + bias) : 0;
        total += weight[j];
    }
    w->l[row] = log(total);
    for (size_t j = 0; j < s->keys[n] && total > 0; j++) {
        weight[j] /= total;
        const double apart = (double)(w->key_at[w->key_first[n] + j] - w->query_at[token]);
        add(weight[j], w->v + ((w->key_first[n] + j) * s->kv_heads + kv) * VALUE, VALUE, o);
        if (s->relative)
            add(weight[j], w->table[1] + row_of(apart) * VALUE, VALUE, o);
    }
    delta = dot(go, o, VALUE);
    for (size_t j = 0; j < s->keys[n] && total > 0; j++) {
        const size_t key = (w->key_first[n] + j) * s->kv_heads + kv;
        const double apart = (double)(w->key_at[w->key_first[n] + j] - w->query_at[token]);
        double da = dot(go, w->v + key * VALUE, VALUE);
        add(weight[j], go, VALUE, w->dv + key * VALUE);
        if (s->relative) {
            const size_t at = row_of(apart);
            da += dot(go, w->table[1] + at * VALUE, VALUE);
            add(weight[j], go, VALUE, w->dtable[1] + at * VALUE);
        }
        const double ds = weight[j] * (da - delta + w->gl[row]);
        if (s->relative) {
            const size_t at = row_of(apart);
            add(scale * ds, w->k + key * DIM, DIM, w->dq + row * DIM);
            add(scale * ds, w->table[0] + at * DIM, DIM, w->dq + row * DIM);
            add(scale * ds, q, DIM, w->dk + key * DIM);
            add(scale * ds, q, DIM, w->dtable[0] + at * DIM);
        } else {
            add_slopes(q, w->k + key * DIM, apart, scale * ds, w->dq + row * DIM, w->dk + key * DIM);
        }
        if (s->biased)
            w->dbias[element + j] = ds;
    }
}

static void by_plain_loops(world *w) {
    double *weight = zeros(8000);
    for (size_t n = 0; n < w->s->sequences; n++)
        for (size_t i = 0; i < w->s->queries[n]; i++)
            for (size_t h = 0; h < w->s->heads; h++)
                plain_row(w, n, i, h, weight);
    free(weight);
}

/* ---- by the library ---- */

static void compare(const char *what, const double *got, const double *want, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (got[i] != want[i] && !(fabs(got[i] - want[i]) <= 1e-10 * (1 + fabs(want[i]))))
            fail_msg("%s[%zu] is %.17g, not %.17g", what, i, got[i], want[i]);
}

static locus_positions *positions_of(size_t sequences, const size_t *first, const int64_t *values) {
    const locus_packing packing = {sizeof packing, sequences, first, NULL};
    locus_positions *positions = NULL;
    rig_ok(locus_positions_create(&positions, NULL, &packing, values, error));
    return positions;
}

static void check_shape(const shape *s) {
    world w;
    rig r;
    locus_attention_options options = locus_attention_default();
    locus_shape of = rig_shape(s->heads, DIM, VALUE, 0);
    open_world(&w, s);
    of.kv_heads = s->kv_heads;
    options.mask = s->mask;
    options.window = s->window;
    options.keep = s->keep;
    rig_bind(&r, s->relative ? "relative(window=6, values=on)" : "rope + alibi", of, 1);
    for (size_t p = 0; p < r.count; p++)
        w.table[p] = r.values[p].data;
    by_plain_loops(&w);
    rig_place(&r, positions_of(s->sequences, w.query_first, w.query_at),
              positions_of(s->sequences, w.key_first, w.key_at));
    const size_t T = w.query_first[s->sequences], N = w.key_first[s->sequences];
    const size_t counts[] = {T * s->heads * DIM, N * s->kv_heads * DIM, N * s->kv_heads * VALUE, T * s->heads * VALUE,
                             T * s->heads};
    double *o = zeros(counts[3]), *l = zeros(counts[4]), *dq = zeros(counts[0]), *dk = zeros(counts[1]),
           *dv = zeros(counts[2]);
    double *const data[] = {w.q, w.k, w.v, o, l, w.go, dq, dk, dv, w.gl};
    static const size_t like[] = {0, 1, 2, 3, 4, 3, 0, 1, 2, 4};
    locus_tensor t[10];
    for (size_t i = 0; i < 10; i++) {
        const bool keys = like[i] == 1 || like[i] == 2;
        const int64_t sizes[] = {(int64_t)(keys ? N : T), (int64_t)(keys ? s->kv_heads : s->heads),
                                 like[i] < 2 ? DIM : VALUE};
        t[i] = locus_tensor_view(data[i], LOCUS_FLOAT64, like[i] == 4 ? 2 : 3, sizes);
    }
    const int64_t sizes[] = {(int64_t)s->sequences, (int64_t)s->heads, (int64_t)w.rows, (int64_t)w.row};
    const size_t elements = s->biased ? s->sequences * s->heads * w.rows * w.row : 0;
    double *dbias = zeros(elements);
    const locus_tensor bias = locus_tensor_view(w.bias, LOCUS_FLOAT64, 4, sizes),
                       g_bias = locus_tensor_view(dbias, LOCUS_FLOAT64, 4, sizes);
    options.bias = s->biased ? &bias : NULL;
    const locus_attention_tensors tensors = {sizeof tensors, &t[0], &t[1], &t[2], &t[3], &t[4]};
    const locus_attention_gradients gradients = {.size = sizeof gradients,
                                                 .output = &t[5],
                                                 .query = &t[6],
                                                 .key = &t[7],
                                                 .value = &t[8],
                                                 .log_sum_exp = &t[9],
                                                 .bias = s->biased ? &g_bias : NULL,
                                                 .parameters = r.gradients,
                                                 .parameter_count = r.count};
    for (int back = 0; back < 2; back++) {
        const locus_pass pass = back ? LOCUS_PASS_BACKWARD : LOCUS_PASS_FORWARD;
        const locus_workspace workspace =
            rig_lend(locus_attention_workspace(r.plan, &options, LOCUS_FLOAT64, pass, NULL));
        const locus_execution execution = locus_execution_in(workspace);
        if (back)
            rig_ok(locus_attention_backward(r.plan, &options, &tensors, &gradients, &execution, error));
        else
            rig_ok(locus_attention_forward(r.plan, &options, &tensors, &execution, error));
        rig_workspace_free(workspace);
    }
    compare("o", o, w.o, counts[3]);
    compare("log_sum_exp", l, w.l, counts[4]);
    compare("dq", dq, w.dq, counts[0]);
    compare("dk", dk, w.dk, counts[1]);
    compare("dv", dv, w.dv, counts[2]);
    compare("dbias", dbias, w.dbias, elements);
    for (size_t p = 0; p < r.count; p++)
        compare(r.info[p].name, r.gradients[p].data, w.dtable[p], rig_elements(&r.info[p]));
    double *const own[] = {o, l, dq, dk, dv, dbias};
    for (size_t i = 0; i < 6; i++)
        free(own[i]);
    rig_close(&r);
    close_world(&w);
}

static void work_that_is_cut(void **state) {
    static const shape shapes[] = {
        /* items of 128 queries; a sequence without tokens */
        {16, 1, 3, {200, 0, 140}, {37, 5, 20}, LOCUS_MASK_FULL, 0, 0, false, false},
        /* items of 512 queries, panels of 512 keys, tiles of 64 by 128 */
        {1, 1, 2, {70, 600}, {65, 530}, LOCUS_MASK_CAUSAL, 0, 0, false, false},
        {1, 1, 2, {600, 3}, {70, 700}, LOCUS_MASK_FULL, 200, 5, false, true},
        /* steps of decoding: parts of 256 keys, of which a window leaves some out */
        {8, 4, 3, {1, 8, 2}, {900, 300, 31}, LOCUS_MASK_CAUSAL, 0, 0, false, true},
        {8, 4, 2, {2, 5}, {900, 700}, LOCUS_MASK_CAUSAL, 270, 3, false, true},
        /* few queries, keys split into parts of 1,024 and more; heads shared out */
        {2, 1, 2, {9, 12}, {5000, 2100}, LOCUS_MASK_CAUSAL, 0, 0, false, true},
        {4, 2, 2, {70, 150}, {90, 310}, LOCUS_MASK_CAUSAL, 0, 0, true, false},
        {2, 1, 3, {3, 200, 10}, {700, 140, 10}, LOCUS_MASK_FULL, 60, 70, true, true},
        {2, 1, 2, {80, 200}, {80, 210}, LOCUS_MASK_CAUSAL, 60, 70, false, true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        check_shape(&shapes[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(work_that_is_cut)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
