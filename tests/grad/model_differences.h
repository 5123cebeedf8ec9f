/* SPDX-License-Identifier: MIT */
/* A model's gradients against central differences of its loss, tensor by tensor: along the gradient itself, and along a
 * random direction. The forward pass is float, so the step moves a tensor by a thousandth of its norm and more, and the
 * tolerance is 1 % of the gradient's norm: any term that is missing or doubled shows far above that. */
#ifndef TESTS_MODEL_DIFFERENCES_H
#define TESTS_MODEL_DIFFERENCES_H

#include "model/model.h"
#include "sanitized.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* What the differences are taken of: dropout and stochastic depth are replayed. */
typedef struct differences_subject {
    const char *name;
    lab_model *model;
    const lab_batch *batch;
} differences_subject;

static double differences_loss(const differences_subject *subject) {
    lab_score score = {0};
    locus_error error;
    if (lab_model_update(subject->model, &error) != LOCUS_OK ||
        lab_model_train(subject->model, subject->batch, 5, 3, &score, &error) != LOCUS_OK)
        fail_msg("%s: %s", subject->name, error.message);
    return score.loss / (double)score.tokens;
}

/* Loss at value + step · direction. */
static double differences_along(const differences_subject *subject, const lab_parameter *p, const float *kept,
                                const double *direction, double step) {
    for (size_t i = 0; i < p->count; ++i)
        p->value[i] = (float)((double)kept[i] + step * direction[i]);
    double loss = differences_loss(subject);
    memcpy(p->value, kept, p->count * sizeof *kept);
    return loss;
}

static double differences_norm(const double *x, size_t count) {
    double sum = 0.0;
    for (size_t i = 0; i < count; ++i)
        sum += x[i] * x[i];
    return sqrt(sum);
}

/* Two steps, extrapolated: the error is of fourth order. */
static void differences_direction(const differences_subject *subject, const lab_parameter *p, const float *kept,
                                  const double *gradient, double *direction) {
    double length = differences_norm(direction, p->count), wanted = 0.0, size = 0.0;
    if (length == 0.0)
        return;
    for (size_t i = 0; i < p->count; ++i) {
        direction[i] /= length;
        wanted += direction[i] * gradient[i];
        size += (double)kept[i] * (double)kept[i];
    }
    const double step = 0.001 * (1.0 + sqrt(size));
    double quotient[2];
    for (int k = 0; k < 2; ++k) {
        const double h = (1 + k) * step;
        quotient[k] =
            (differences_along(subject, p, kept, direction, h) - differences_along(subject, p, kept, direction, -h)) /
            (2 * h);
    }
    double found = (4.0 * quotient[0] - quotient[1]) / 3.0;
    double tolerance = 0.01 * differences_norm(gradient, p->count) + 2e-4;
    if (fabs(found - wanted) > tolerance)
        fail_msg("%s: %s: gradient %g, differences %g (%g, %g)", subject->name, p->name, wanted, found, quotient[0],
                 quotient[1]);
}

static void differences_tensor(const differences_subject *subject, size_t index, const float *gradients) {
    const lab_parameter *p = lab_model_parameter(subject->model, index);
    float *kept = malloc(p->count * sizeof *kept);
    double *gradient = malloc(p->count * sizeof *gradient), *direction = malloc(p->count * sizeof *direction);
    locus_random random = {41, LOCUS_RANDOM_USER, (uint32_t)index};
    memcpy(kept, p->value, p->count * sizeof *kept);
    const float *block = gradients + (p->gradient - lab_model_gradients(subject->model));
    for (size_t i = 0; i < p->count; ++i)
        gradient[i] = direction[i] = (double)block[i];
    differences_direction(subject, p, kept, gradient, direction);
    for (size_t i = 0; i < p->count; ++i)
        direction[i] = locus_random_normal(&random, i);
    if (!IS_SANITIZED)
        differences_direction(subject, p, kept, gradient, direction);
    free(kept);
    free(gradient);
    free(direction);
}

/* Every tensor. In a sanitizer's build one of each model, another one each time, along its gradient: to it a loss with
 * one tensor moved is the same reads and writes as with another. Gains, shifts and biases go away from 1 and 0 first,
 * so that their places in the formulas count. */
static void differences_check(const differences_subject *subject) {
    static size_t turn;
    lab_model *model = subject->model;
    const size_t tensors = lab_model_parameter_count(model);
    locus_random random = {29, LOCUS_RANDOM_USER, 0};
    const float *values = lab_model_values(model);
    for (size_t i = 0; i < tensors; ++i) {
        const lab_parameter *p = lab_model_parameter(model, i);
        for (size_t j = 0; p->rank == 1 && j < p->count && strncmp(p->name, "position", 8) != 0; ++j)
            p->value[j] += (float)(0.2 * locus_random_normal(&random, (uint64_t)(p->value + j - values)));
    }
    (void)differences_loss(subject);
    const size_t bytes = lab_model_elements(model) * sizeof(float);
    float *gradients = malloc(bytes);
    memcpy(gradients, lab_model_gradients(model), bytes);
    for (size_t i = SANITIZED(7 * turn++ % tensors, 0); i < tensors; i += SANITIZED(tensors, 1))
        differences_tensor(subject, i, gradients);
    free(gradients);
}

#endif
