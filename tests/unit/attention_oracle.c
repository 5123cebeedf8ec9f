/* SPDX-License-Identifier: MIT */
/* Attention as one would write it down: for each sequence and head the scores of all keys, −∞ where the mask, the
 * window or the documents say so, a softmax (with a sink, if there is one), sums; then backward. */
#include "attention_case.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Powers of a base whose exponents are small whole numbers, as nearly all distances are; 0: not taken yet. */
enum { POWERS = 4096 };
typedef struct powers {
    double base, of[POWERS];
} powers;

typedef struct oracle {
    const attention_world *world;
    attention_arrays *arrays;
    double *q, *k, *v;           /* after the operators */
    double *sum;                 /* Σ a v', before the operator of the output */
    double *dq, *dk, *dv, *dsum; /* gradients in the same places */
    double *content_dq;          /* of the relative term, which sees the query before its operator */
    double *content_o;           /* what the relative values add to the output */
    const double *key_table, *value_table, *rate, *sinks;
    double *g_key_table, *g_value_table, *g_rate, *g_sinks;
    powers *rates, *decays;
    double scale;
} oracle;

static double *zeros(size_t count) {
    double *values = calloc(count + 1, sizeof *values);
    assert_non_null(values);
    return values;
}

static powers *powers_make(double base) {
    powers *p = calloc(1, sizeof *p);
    assert_non_null(p);
    p->base = base;
    return p;
}

/* ---- operators, through the public interface ---- */

static locus_tensor view(const attention_world *world, double *data, bool keys, bool value) {
    size_t dim = value ? world->shape.value_dim : world->shape.head_dim;
    int64_t shape[3] = {(int64_t)(keys ? world->N : world->T), (int64_t)(keys ? world->kv_heads : world->shape.heads),
                        (int64_t)dim};
    return locus_tensor_view(data, LOCUS_FLOAT64, 3, shape);
}

static locus_workspace borrow(const attention_world *world, locus_role role) {
    locus_workspace workspace = {NULL, locus_apply_workspace(world->plan, role, LOCUS_FLOAT64, NULL) + 64};
    workspace.data = locus_allocate(workspace.bytes);
    assert_non_null(workspace.data);
    return workspace;
}

static bool is_key(locus_role role) {
    return role == LOCUS_ROLE_KEY || role == LOCUS_ROLE_VALUE;
}

static bool is_value(locus_role role) {
    return role == LOCUS_ROLE_VALUE || role == LOCUS_ROLE_OUTPUT;
}

static size_t role_count(const attention_world *world, locus_role role) {
    return (is_key(role) ? world->N * world->kv_heads : world->T * world->shape.heads) *
           (is_value(role) ? world->shape.value_dim : world->shape.head_dim);
}

static void act(const attention_world *world, locus_role role, double *x, double *y) {
    if (world->test->turned) {
        memcpy(y, x, role_count(world, role) * sizeof *y);
        return;
    }
    locus_tensor from = view(world, x, is_key(role), is_value(role)), to = view(world, y, is_key(role), is_value(role));
    locus_workspace workspace = borrow(world, role);
    locus_error error;
    const locus_execution execution = locus_execution_in(workspace);
    if (locus_apply(world->plan, role, LOCUS_FORWARD, &from, &to, &execution, &error) != LOCUS_OK)
        fail_msg("%s", error.message);
    locus_release(workspace.data, workspace.bytes);
}

static void act_backward(const oracle *o, locus_role role, double *x, double *gy, double *gx) {
    const attention_world *world = o->world;
    if (world->test->turned) {
        memcpy(gx, gy, role_count(world, role) * sizeof *gx);
        return;
    }
    locus_tensor tx = view(world, x, is_key(role), is_value(role)), tgy = view(world, gy, is_key(role), is_value(role));
    locus_tensor tgx = view(world, gx, is_key(role), is_value(role)), parameters[ATTENTION_PARAMETERS];
    for (size_t i = 0; i < world->parameter_count; i++) {
        parameters[i] = world->values[i];
        parameters[i].data = o->arrays->gradients[i];
    }
    locus_apply_gradients gradients = {
        .x = &tx, .gy = &tgy, .gx = &tgx, .parameters = parameters, .parameter_count = world->parameter_count};
    locus_workspace workspace = borrow(world, role);
    locus_error error;
    const locus_execution execution = locus_execution_in(workspace);
    if (locus_apply_backward(world->plan, role, LOCUS_FORWARD, &gradients, &execution, &error) != LOCUS_OK)
        fail_msg("%s", error.message);
    locus_release(workspace.data, workspace.bytes);
}

/* ---- formulas ---- */

static double dot(const double *x, const double *y, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

static void axpy(double a, const double *x, double *y, size_t n) {
    for (size_t i = 0; i < n; i++)
        y[i] += a * x[i];
}

static bool sees(const attention_world *world, size_t s, size_t i, size_t key) {
    const attention_case *test = world->test;
    const int64_t m = (int64_t)world->query_lengths[s], n = (int64_t)world->key_lengths[s];
    const int64_t t = (int64_t)i + n - m, j = (int64_t)key;
    if (test->documents &&
        world->query_documents[world->query_offsets[s] + i] != world->key_documents[world->key_offsets[s] + key])
        return false;
    if (test->mask == LOCUS_MASK_CAUSAL && j > t)
        return false;
    if (test->mask == LOCUS_MASK_PREFIX && j > t && j >= (int64_t)test->prefix[s])
        return false;
    if (test->chunk && (t < 0 || t / (int64_t)test->chunk != j / (int64_t)test->chunk))
        return false;
    return test->sliding == 0 || llabs(t - j) < (int64_t)test->sliding || key < test->keep;
}

/* The factor of a query: temperature(length=stride, beta=beta). */
static double heat(const attention_world *world, size_t t) {
    const attention_case *test = world->test;
    const double steps = test->beta == 0 ? 0 : floor(((double)world->query_values[t] + 1) / (double)test->stride);
    return 1 + test->beta * log(1 + (steps > 0 ? steps : 0));
}

static double slope(size_t h, size_t heads) {
    size_t power = 1;
    while (2 * power <= heads)
        power *= 2;
    return h < power ? pow(2, -8 * (double)(h + 1) / (double)power)
                     : pow(2, -4 * (2 * (double)(h - power) + 1) / (double)power);
}

typedef struct dropout_words {
    uint32_t words[4];
    uint64_t block; /* that they are of */
} dropout_words;

/* 16-bit word key % 8 of block row·2^28 + key/8, low half first; dropped if below p·2^16. */
static double keep(const attention_world *world, uint64_t row, size_t key, dropout_words *w) {
    const uint64_t block = row * ((uint64_t)1 << 28) + key / 8;
    if (world->test->dropout == 0)
        return 1;
    if (w->block != block)
        locus_random_block(&world->options.dropout_key, block, w->words);
    w->block = block;
    uint32_t word = w->words[key % 8 / 2] >> (key % 2 ? 16 : 0) & 0xffff;
    return word < floor(world->test->dropout * 65536 + 0.5) ? 0 : 1 / (1 - world->test->dropout);
}

static double distance(const attention_world *world, size_t query, size_t key) {
    if (world->distances)
        return world->distances[query * world->N + key];
    return fabs((double)(world->key_values[key] - world->query_values[query]));
}

static double power(powers *p, double exponent) {
    if (!(exponent >= 0 && exponent < POWERS) || exponent != floor(exponent))
        return pow(p->base, exponent);
    double *known = &p->of[(size_t)exponent];
    if (*known == 0)
        *known = pow(p->base, exponent);
    return *known;
}

static size_t table_row(const attention_world *world, size_t query, size_t key) {
    int64_t window = (int64_t)world->test->window, offset = world->key_values[key] - world->query_values[query];
    return (size_t)((offset < -window ? -window : offset > window ? window : offset) + window);
}

static double content_scale(const oracle *o) {
    return o->world->test->unscaled ? 1 : o->scale;
}

/* ---- one row: query token t and keys first … first + count − 1, of which it sees some ---- */

typedef struct row {
    size_t t, h, kv, first, count;
    double heat, slope;
    const bool *seen;
    double *product, *weight, *kept; /* [count]; product: capped */
} row;

static void row_scores(const oracle *o, const row *r) {
    const attention_world *world = o->world;
    size_t heads = world->shape.heads, dim = world->shape.head_dim;
    const uint64_t row_at = (uint64_t)r->t * heads + r->h;
    dropout_words words = {{0}, UINT64_MAX};
    for (size_t j = 0; j < r->count; j++) {
        size_t n = r->first + j;
        r->weight[j] = -INFINITY;
        r->product[j] = r->kept[j] = 0;
        if (!r->seen[j])
            continue;
        double s = o->scale * dot(o->q + (r->t * heads + r->h) * dim, o->k + (n * world->kv_heads + r->kv) * dim, dim);
        if (o->key_table)
            s += content_scale(o) *
                 dot(o->arrays->q + (r->t * heads + r->h) * dim, o->key_table + table_row(world, r->t, n) * dim, dim);
        if (world->test->cap != 0)
            s = world->test->cap * tanh(s / world->test->cap);
        r->product[j] = s;
        if (o->rate)
            s *= power(o->rates, distance(world, r->t, n));
        if (world->test->decay != 0)
            s *= power(o->decays, distance(world, r->t, n));
        s *= r->heat;
        if (world->test->alibi)
            s -= r->slope * distance(world, r->t, n);
        r->kept[j] = keep(world, row_at, j, &words);
        if (world->test->dropout_on == LOCUS_DROPOUT_LOGITS)
            s = r->kept[j] == 0 ? -1e8 : s;
        r->weight[j] = s;
    }
}

static void row_softmax(const oracle *o, const row *r) {
    const double sink = o->sinks ? o->sinks[r->h] : -INFINITY;
    double top = sink, sum = 0;
    for (size_t j = 0; j < r->count; j++)
        top = fmax(top, r->weight[j]);
    for (size_t j = 0; j < r->count; j++)
        sum += r->weight[j] = r->weight[j] == -INFINITY ? 0 : exp(r->weight[j] - top);
    sum += top == -INFINITY ? 0 : exp(sink - top);
    for (size_t j = 0; j < r->count && sum != 0; j++)
        r->weight[j] /= sum;
    o->arrays->log_sum_exp[r->t * o->world->shape.heads + r->h] = sum == 0 ? -INFINITY : top + log(sum);
}

static double drop_of(const oracle *o, const row *r, size_t j) {
    return o->world->test->dropout_on == LOCUS_DROPOUT_WEIGHTS ? r->kept[j] : 1;
}

static void row_forward(const oracle *o, const row *r) {
    const attention_world *world = o->world;
    size_t heads = world->shape.heads, dim = world->shape.value_dim, at = (r->t * heads + r->h) * dim;
    row_scores(o, r);
    row_softmax(o, r);
    for (size_t j = 0; j < r->count; j++) {
        double a = r->weight[j] * drop_of(o, r, j);
        if (!r->seen[j])
            continue;
        axpy(a, o->v + ((r->first + j) * world->kv_heads + r->kv) * dim, o->sum + at, dim);
        if (o->value_table)
            axpy(a, o->value_table + table_row(world, r->t, r->first + j) * dim, o->content_o + at, dim);
    }
}

/* From dL/ds of one pair to the gradients of everything in the score. */
static void pair_backward(const oracle *o, const row *r, size_t j, double ds) {
    const attention_world *world = o->world;
    size_t heads = world->shape.heads, dim = world->shape.head_dim, n = r->first + j;
    size_t query = (r->t * heads + r->h) * dim, key = (n * world->kv_heads + r->kv) * dim;
    const double apart = distance(world, r->t, n);
    const double fixed = (world->test->decay != 0 ? power(o->decays, apart) : 1) * r->heat;
    if (o->rate) {
        *o->g_rate += ds * r->product[j] * fixed * apart * power(o->rates, apart - 1);
        ds *= power(o->rates, apart);
    }
    ds *= fixed;
    if (world->test->cap != 0)
        ds *= 1 - pow(r->product[j] / world->test->cap, 2);
    axpy(ds * o->scale, o->k + key, o->dq + query, dim);
    axpy(ds * o->scale, o->q + query, o->dk + key, dim);
    if (o->key_table) {
        size_t at = table_row(world, r->t, n) * dim;
        axpy(ds * content_scale(o), o->key_table + at, o->content_dq + query, dim);
        axpy(ds * content_scale(o), o->arrays->q + query, o->g_key_table + at, dim);
    }
}

static void row_backward(const oracle *o, const row *r) {
    const attention_world *world = o->world;
    size_t heads = world->shape.heads, dim = world->shape.value_dim, at = (r->t * heads + r->h) * dim;
    double mean = 0, *da = zeros(r->count);
    row_scores(o, r);
    row_softmax(o, r);
    for (size_t j = 0; j < r->count; j++) {
        size_t value = ((r->first + j) * world->kv_heads + r->kv) * dim,
               row_at = table_row(world, r->t, r->first + j) * dim;
        double a = r->weight[j] * drop_of(o, r, j);
        if (!r->seen[j])
            continue;
        da[j] = dot(o->dsum + at, o->v + value, dim);
        axpy(a, o->dsum + at, o->dv + value, dim);
        if (o->value_table) {
            da[j] += dot(o->arrays->go + at, o->value_table + row_at, dim);
            axpy(a, o->arrays->go + at, o->g_value_table + row_at, dim);
        }
        da[j] *= drop_of(o, r, j);
        mean += r->weight[j] * da[j];
    }
    if (o->sinks)
        o->g_sinks[r->h] -= exp(o->sinks[r->h] - o->arrays->log_sum_exp[r->t * heads + r->h]) * mean;
    for (size_t j = 0; j < r->count; j++) {
        bool cut = world->test->dropout_on == LOCUS_DROPOUT_LOGITS && r->kept[j] == 0;
        if (r->seen[j])
            pair_backward(o, r, j, cut ? 0 : r->weight[j] * (da[j] - mean));
    }
    free(da);
}

static void each_row(const oracle *o, void (*visit)(const oracle *, const row *)) {
    const attention_world *world = o->world;
    const size_t group = world->shape.heads / world->kv_heads;
    double *rows = zeros(3 * world->N);
    bool *seen = malloc(world->N + 1);
    assert_non_null(seen);
    for (size_t s = 0; s < world->test->sequences; s++)
        for (size_t i = 0; i < world->query_lengths[s]; i++) {
            const size_t t = world->query_offsets[s] + i;
            for (size_t j = 0; j < world->key_lengths[s]; j++)
                seen[j] = sees(world, s, i, j);
            for (size_t h = 0; h < world->shape.heads; h++) {
                const row r = {.t = t,
                               .h = h,
                               .kv = h / group,
                               .first = world->key_offsets[s],
                               .count = world->key_lengths[s],
                               .heat = heat(world, t),
                               .slope = slope(h, world->shape.heads),
                               .seen = seen,
                               .product = rows,
                               .weight = rows + world->N,
                               .kept = rows + 2 * world->N};
                visit(o, &r);
            }
        }
    free(seen);
    free(rows);
}

/* ---- the whole ---- */

static void find_parameters(oracle *o) {
    for (size_t i = 0; i < o->world->parameter_count; i++) {
        const char *name = o->world->parameters[i].name, *point = strrchr(name, '.');
        name = point ? point + 1 : name;
        double *values = o->world->values[i].data, *gradients = o->arrays->gradients[i];
        if (strcmp(name, "key_table") == 0) {
            o->key_table = values;
            o->g_key_table = gradients;
        } else if (strcmp(name, "value_table") == 0) {
            o->value_table = values;
            o->g_value_table = gradients;
        } else if (strcmp(name, "sinks") == 0) {
            o->sinks = values;
            o->g_sinks = gradients;
        } else if (strcmp(name, "rate") == 0) {
            o->rate = values;
            o->g_rate = gradients;
        }
    }
}

void attention_oracle(const attention_world *world, attention_arrays *arrays) {
    size_t heads = world->shape.heads, q = world->T * heads * world->shape.head_dim;
    size_t k = role_count(world, LOCUS_ROLE_KEY), v = role_count(world, LOCUS_ROLE_VALUE);
    size_t out = world->T * heads * world->shape.value_dim;
    double *buffers[] = {zeros(q), zeros(k), zeros(v),   zeros(out), zeros(q),
                         zeros(k), zeros(v), zeros(out), zeros(q),   zeros(out)};
    oracle o = {.world = world,
                .arrays = arrays,
                .q = buffers[0],
                .k = buffers[1],
                .v = buffers[2],
                .sum = buffers[3],
                .dq = buffers[4],
                .dk = buffers[5],
                .dv = buffers[6],
                .dsum = buffers[7],
                .content_dq = buffers[8],
                .content_o = buffers[9]};
    o.scale = world->test->scale != 0 ? world->test->scale : 1 / sqrt((double)world->shape.head_dim);
    find_parameters(&o);
    o.rates = powers_make(o.rate ? *o.rate : 1);
    o.decays = powers_make(world->test->decay);
    act(world, LOCUS_ROLE_QUERY, arrays->q, o.q);
    act(world, LOCUS_ROLE_KEY, arrays->k, o.k);
    act(world, LOCUS_ROLE_VALUE, arrays->v, o.v);
    each_row(&o, row_forward);
    act(world, LOCUS_ROLE_OUTPUT, o.sum, arrays->o);
    axpy(1, o.content_o, arrays->o, out);
    act_backward(&o, LOCUS_ROLE_OUTPUT, o.sum, arrays->go, o.dsum);
    each_row(&o, row_backward);
    act_backward(&o, LOCUS_ROLE_QUERY, arrays->q, o.dq, arrays->dq);
    act_backward(&o, LOCUS_ROLE_KEY, arrays->k, o.dk, arrays->dk);
    act_backward(&o, LOCUS_ROLE_VALUE, arrays->v, o.dv, arrays->dv);
    axpy(1, o.content_dq, arrays->dq, q);
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++)
        free(buffers[i]);
    free(o.rates);
    free(o.decays);
}
