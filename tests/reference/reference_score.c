/* SPDX-License-Identifier: MIT */
/* What terms make of a score that does not depend on content: decays and temperatures multiply it, alibi, t5, kerple
 * and fire add to it. */
#include "reference/reference.h"

#include <math.h>

typedef struct score_pair {
    const reference_model *model;
    size_t term, head;
    const reference_position *query, *key;
    double distance;
} score_pair;

static double alibi(const score_pair *pair) {
    const double h = (double)pair->head, n2 = exp2(floor(log2((double)pair->model->shape.heads)));
    const double slope = h < n2 ? pow(2, -8 * (h + 1) / n2) : pow(2, -4 * (2 * (h - n2) + 1) / n2);
    const bool scaled = reference_says(pair->model, pair->term, "scaled", "on");
    return -slope * pair->distance / (scaled ? sqrt((double)pair->model->shape.head_dim) : 1);
}

/* Of one direction; the logarithm in float32, as the published code takes it. */
static double side_bucket(double u, double N, double most) {
    const double e = floor(N / 2);
    if (u < e)
        return u;
    const float share = (float)log((double)((float)u / (float)e)) / (float)log(most / e);
    return fmin(N - 1, e + floor((double)(share * (float)(N - e))));
}

static double t5(const score_pair *pair) {
    const reference_model *model = pair->model;
    const double buckets = reference_number(model, pair->term, "buckets");
    const double most = reference_number(model, pair->term, "max");
    const double apart = trunc(pair->key->value[0] - pair->query->value[0]);
    double bucket;
    if (!locus_group_equal(model->group, NULL))
        bucket = side_bucket(trunc(pair->distance), buckets, most);
    else if (reference_says(model, pair->term, "direction", "causal"))
        bucket = side_bucket(fmax(-apart, 0), buckets, most);
    else
        bucket = side_bucket(fabs(apart), buckets / 2, most) + (apart > 0 ? buckets / 2 : 0);
    return reference_values(model, pair->term, "bias")[(size_t)bucket * model->shape.heads + pair->head];
}

static double kerple(const score_pair *pair) {
    const double *a = reference_values(pair->model, pair->term, "a"),
                 *b = reference_values(pair->model, pair->term, "b");
    return -a[pair->head] * log1p(b[pair->head] * pair->distance);
}

static double fire(const score_pair *pair) {
    const reference_model *model = pair->model;
    const size_t hidden = (size_t)reference_number(model, pair->term, "hidden");
    const double *w1 = reference_values(model, pair->term, "hidden_weight");
    const double *b1 = reference_values(model, pair->term, "hidden_bias");
    const double *w2 = reference_values(model, pair->term, "output_weight") + pair->head * hidden;
    const double c = fabs(*reference_values(model, pair->term, "c")),
                 L = fabs(*reference_values(model, pair->term, "L"));
    const double x = log1p(c * pair->distance) / log1p(c * fmax(pair->query->value[0], L));
    double sum = reference_values(model, pair->term, "output_bias")[pair->head];
    for (size_t i = 0; i < hidden; i++)
        sum += w2[i] * fmax(w1[i] * x + b1[i], 0);
    return sum;
}

/* c^distance of a term: `decay` itself, or the option of that name of others. */
static double decay(const score_pair *pair) {
    const reference_model *model = pair->model;
    const double *learned = reference_values(model, pair->term, "rate");
    const char *option = reference_term_is(model, pair->term, "decay") ? "rate" : "decay";
    if (!reference_given(model, pair->term, option))
        return 1;
    return pow(learned ? *learned : reference_number(model, pair->term, option), pair->distance);
}

/* Of the query's position alone. */
static double temperature(const score_pair *pair) {
    const reference_model *model = pair->model;
    const double length = reference_number(model, pair->term, "length");
    const double at = pair->query->value[0] + reference_number(model, pair->term, "first");
    if (reference_says(model, pair->term, "growth", "steps"))
        return 1 + reference_number(model, pair->term, "beta") * log1p(fmax(floor(at / length), 0));
    const double least = reference_number(model, pair->term, "least");
    return at > 0 ? fmax(least, log(at) / log(length)) : least;
}

void reference_terms_of_score(const reference_model *model, size_t head, size_t query, size_t key, double *factor,
                              double *bias) {
    score_pair pair = {.model = model, .head = head, .query = &model->queries->at[query], .key = &model->keys->at[key]};
    pair.distance = reference_distance(model->group, pair.query, pair.key);
    *factor = 1;
    *bias = 0;
    for (pair.term = 0; pair.term < reference_terms(model); pair.term++) {
        *factor *= decay(&pair);
        if (reference_term_is(model, pair.term, "temperature"))
            *factor *= temperature(&pair);
        if (reference_term_is(model, pair.term, "alibi"))
            *bias += alibi(&pair);
        if (reference_term_is(model, pair.term, "t5"))
            *bias += t5(&pair);
        if (reference_term_is(model, pair.term, "kerple"))
            *bias += kerple(&pair);
        if (reference_term_is(model, pair.term, "fire"))
            *bias += fire(&pair);
    }
}
