/* SPDX-License-Identifier: MIT */
/* Softmax attention of one sequence and head, a row of scores at a time, in the order that docs/encodings.md gives:
 * products and content terms, the cap, factors, biases, the call's bias, the mask, the softmax with a sink, sums. */
#include "reference/reference.h"

#include <math.h>
#include <stdlib.h>

typedef struct softmax_row {
    reference_head *head;
    size_t i, query; /* of the sequence, of the buffer */
    bool *seen;
    double *s, *kept; /* [n]: scores, then weights; dropout's factors */
} softmax_row;

static double dot(const double *x, const double *y, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

static double magnitude(const double *x, const double *y, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += fabs(x[i] * y[i]);
    return sum;
}

/* The term of this name, or SIZE_MAX. */
static size_t find_term(const reference_model *model, const char *name) {
    for (size_t term = 0; term < reference_terms(model); term++)
        if (reference_term_is(model, term, name))
            return term;
    return SIZE_MAX;
}

/* Row of relative's tables for a key of the sequence. */
static size_t relative_row(const softmax_row *row, size_t term, size_t j) {
    const reference_model *model = row->head->call->model;
    const double w = reference_number(model, term, "window");
    const double apart =
        model->keys->at[model->keys->first[row->head->sequence] + j].value[0] - model->queries->at[row->query].value[0];
    return (size_t)(fmin(fmax(apart, -w), w) + w);
}

/* ---- content terms, added to the scaled products ---- */

static void add_relative(const softmax_row *row, size_t term, double *size) {
    const reference_head *head = row->head;
    const reference_model *model = head->call->model;
    const size_t d = model->shape.head_dim;
    const double *table = reference_values(model, term, "key_table"), *q = head->raw + row->i * d;
    const double scale = reference_says(model, term, "scaled", "on") ? head->scale : 1;
    for (size_t j = 0; j < head->n; j++) {
        const double *own = table + relative_row(row, term, j) * d;
        row->s[j] += scale * dot(q, own, d);
        size[j] += fabs(scale) * magnitude(q, own, d);
    }
}

/* Gates are counted from the last key that the query sees. */
static void add_cope(const softmax_row *row, size_t term, double *size) {
    const reference_head *head = row->head;
    const reference_model *model = head->call->model;
    const size_t d = model->shape.head_dim;
    const double most = reference_number(model, term, "max"), *q = head->raw + row->i * d;
    const double gate_scale = reference_says(model, term, "gate", "scaled") ? head->scale : 1;
    const double *table = reference_values(model, term, "table");
    double count = 0;
    for (size_t j = head->n; j-- > 0;) {
        if (!row->seen[j])
            continue;
        const double product = dot(head->q + row->i * d, head->k + j * d, d);
        count += 1 / (1 + exp(-gate_scale * product));
        const double p = fmin(count, most), below = floor(p), part = p - below;
        const double *E = table + (size_t)below * d;
        row->s[j] += (1 - part) * dot(q, E, d) + (part > 0 ? part * dot(q, E + d, d) : 0);
        size[j] += magnitude(q, E, d) + (part > 0 ? magnitude(q, E + d, d) : 0);
        /* a gate's own rounding moves p, and p the score by as much as two rows of E differ */
        size[j] += part > 0 ? (double)(head->n - j) * (1 + fabs(product)) * magnitude(q, E + d, d) : 0;
    }
}

/* ---- scores ---- */

static void make_scores(const softmax_row *row) {
    reference_head *head = row->head;
    const reference_model *model = head->call->model;
    const locus_attention_options *options = head->call->options;
    const size_t d = model->shape.head_dim, relative = find_term(model, "relative"), cope = find_term(model, "cope");
    double *size = reference_zeros(head->n, sizeof *size);
    for (size_t j = 0; j < head->n; j++) {
        row->seen[j] = reference_sees(head, row->i, j);
        row->s[j] = head->scale * dot(head->q + row->i * d, head->k + j * d, d);
        size[j] = fabs(head->scale) * magnitude(head->q + row->i * d, head->k + j * d, d);
    }
    if (relative != SIZE_MAX)
        add_relative(row, relative, size);
    if (cope != SIZE_MAX)
        add_cope(row, cope, size);
    for (size_t j = 0; j < head->n; j++) {
        double factor, bias, *s = &row->s[j];
        const size_t key = model->keys->first[head->sequence] + j;
        if (!row->seen[j])
            continue;
        if (head->cap != 0)
            *s = head->cap * tanh(*s / head->cap);
        reference_terms_of_score(model, head->head, row->query, key, &factor, &bias);
        const double given = reference_bias_of(head, row->i, j);
        *s = *s * factor + bias + given;
        row->kept[j] = reference_dropout(head, row->query, j);
        if (options->dropout_on == LOCUS_DROPOUT_LOGITS) {
            *s = row->kept[j] == 0 ? -1e8 : *s;
            row->kept[j] = 1;
        }
        head->score = reference_most(head->score, size[j] * fmax(fabs(factor), 1) + fabs(bias) + fabs(given));
    }
    free(size);
}

static void make_weights(const softmax_row *row) {
    const reference_head *head = row->head;
    const reference_model *model = head->call->model;
    const size_t term = find_term(model, "scores");
    const double *sinks = term == SIZE_MAX ? NULL : reference_values(model, term, "sinks");
    const double sink = sinks ? sinks[head->head] : -INFINITY;
    double top = sink, sum = 0;
    for (size_t j = 0; j < head->n; j++)
        top = row->seen[j] ? fmax(top, row->s[j]) : top;
    for (size_t j = 0; j < head->n; j++) /* what is not finite says nothing of the rows that see it */
        top = row->seen[j] && !isfinite(row->s[j]) ? NAN : top;
    for (size_t j = 0; j < head->n; j++) {
        row->s[j] = row->seen[j] ? exp(row->s[j] - top) : 0;
        sum += row->s[j];
    }
    sum += top == -INFINITY ? 0 : exp(sink - top);
    for (size_t j = 0; j < head->n && !(sum <= 0); j++)
        row->s[j] /= sum;
    for (size_t j = 0; head->call->weights && j < head->n; j++)
        head->call->weights[(row->query * model->shape.heads + head->head) * head->call->weight_row + j] =
            row->seen[j] ? row->s[j] : 0;
    head->log_sum_exp[row->i] = isnan(top) ? NAN : sum > 0 ? top + log(sum) : -INFINITY;
}

static void add_values(const softmax_row *row) {
    reference_head *head = row->head;
    const reference_model *model = head->call->model;
    const size_t dim = model->shape.value_dim, relative = find_term(model, "relative");
    const double *table = relative == SIZE_MAX ? NULL : reference_values(model, relative, "value_table");
    for (size_t j = 0; j < head->n; j++) {
        const double a = row->seen[j] ? row->s[j] * row->kept[j] : 0;
        for (size_t c = 0; c < dim && row->seen[j]; c++) {
            const double beside = table ? table[relative_row(row, relative, j) * dim + c] : 0;
            head->o[row->i * dim + c] += a * head->v[j * dim + c];
            head->beside[row->i * dim + c] += a * beside;
            head->mass = reference_most(head->mass, row->kept[j] * (fabs(head->v[j * dim + c]) + fabs(beside)));
        }
    }
}

void reference_softmax(reference_head *head) {
    softmax_row row = {.head = head,
                       .seen = reference_zeros(head->n, sizeof *row.seen),
                       .s = reference_zeros(head->n, sizeof *row.s),
                       .kept = reference_zeros(head->n, sizeof *row.kept)};
    for (row.i = 0; row.i < head->m; row.i++) {
        row.query = head->call->model->queries->first[head->sequence] + row.i;
        make_scores(&row);
        make_weights(&row);
        add_values(&row);
    }
    free(row.seen);
    free(row.s);
    free(row.kept);
}
