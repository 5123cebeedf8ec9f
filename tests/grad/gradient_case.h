/* SPDX-License-Identifier: MIT */
/* locus_apply_backward against central differences in double, for any encoding, role and direction, inputs and
 * parameters; and float32 against float64.
 *
 * Every fifth input and every parameter is moved, under a sanitizer a few of these.
 *
 * The loss is Σ w·y with fixed random w. y is smooth with third derivatives up to (max|p|)³, so the step is 1e-4/max|p|
 * for parameters. */
#ifndef TESTS_GRADIENT_CASE_H
#define TESTS_GRADIENT_CASE_H

#include "../property/encoding_rig.h"
#include "sanitized.h"

typedef struct gradient_case {
    rig r;
    locus_role role;
    locus_direction direction;
    size_t tokens;
    double reach; /* max|p| */
    double steep; /* how much further a parameter's change reaches than a generator's: 0 for 1 */
    size_t elements;
    double *x, *w;
} gradient_case;

static inline double loss_of(const gradient_case *c) {
    double *y = malloc(c->elements * sizeof *y), sum = 0;
    assert_non_null(y);
    rig_apply(&c->r, c->role, c->direction, LOCUS_FLOAT64, c->tokens, c->x, y);
    for (size_t i = 0; i < c->elements; i++)
        sum += c->w[i] * y[i];
    free(y);
    return sum;
}

/* gx into the result, parameter gradients into r.gradients (zeroed first, then a known 1 is added to see
 * accumulation). */
static inline double *analytic(gradient_case *c) {
    double *gx = malloc(c->elements * sizeof *gx);
    assert_non_null(gx);
    for (size_t i = 0; i < c->r.count; i++)
        for (size_t j = 0; j < rig_elements(&c->r.info[i]); j++)
            ((double *)c->r.gradients[i].data)[j] = 1;
    locus_tensor x = rig_view(&c->r, c->role, c->x, LOCUS_FLOAT64, c->tokens);
    locus_tensor gy = rig_view(&c->r, c->role, c->w, LOCUS_FLOAT64, c->tokens);
    locus_tensor out = rig_view(&c->r, c->role, gx, LOCUS_FLOAT64, c->tokens);
    locus_workspace workspace = rig_workspace(&c->r, c->role, LOCUS_FLOAT64);
    locus_apply_gradients gradients = {
        .x = &x, .gy = &gy, .gx = &out, .parameters = c->r.gradients, .parameter_count = c->r.count};
    const locus_execution execution = locus_execution_in(workspace);
    rig_ok(locus_apply_backward(c->r.plan, c->role, c->direction, &gradients, &execution, error));
    rig_workspace_free(workspace);
    return gx;
}

static inline void check_inputs(gradient_case *c, const double *gx) {
    for (size_t i = 0; i < c->elements; i += SANITIZED(149, 5)) { /* y is linear in x: any step will do */
        double before = c->x[i];
        c->x[i] = before + 1;
        double above = loss_of(c);
        c->x[i] = before - 1;
        double below = loss_of(c);
        c->x[i] = before;
        if (fabs((above - below) / 2 - gx[i]) > 1e-10)
            fail_msg("input %zu: differences %.12g, backward %.12g", i, (above - below) / 2, gx[i]);
    }
}

static inline void check_parameters(gradient_case *c, double tolerance) {
    const double step = 1e-4 / c->reach;
    for (size_t p = 0; p < c->r.count; p++)
        for (size_t i = 0; i < rig_elements(&c->r.info[p]); i += SANITIZED(29, 1)) {
            double *value = (double *)c->r.values[p].data + i, before = *value;
            double got = ((const double *)c->r.gradients[p].data)[i] - 1;
            *value = before + step;
            rig_update(&c->r);
            double above = loss_of(c);
            *value = before - step;
            rig_update(&c->r);
            double below = loss_of(c);
            *value = before;
            double want = (above - below) / (2 * step);
            if (fabs(want - got) > tolerance * (c->reach + fabs(want)))
                fail_msg("%s[%zu]: differences %.12g, backward %.12g", c->r.info[p].name, i, want, got);
        }
    rig_update(&c->r);
}

/* The same in float32, from the same numbers. */
static inline void check_float32(gradient_case *c, const double *gx) {
    float *x = rig_narrow(c->x, c->elements), *w = rig_narrow(c->w, c->elements);
    locus_tensor gradients[RIG_TENSORS];
    for (size_t i = 0; i < c->r.count; i++)
        gradients[i] = locus_tensor_view(calloc(rig_elements(&c->r.info[i]), sizeof(float)), LOCUS_FLOAT32,
                                         c->r.info[i].rank, c->r.info[i].shape);
    locus_tensor xt = rig_view(&c->r, c->role, x, LOCUS_FLOAT32, c->tokens);
    locus_tensor gt = rig_view(&c->r, c->role, w, LOCUS_FLOAT32, c->tokens);
    locus_workspace workspace = rig_workspace(&c->r, c->role, LOCUS_FLOAT32);
    const locus_execution execution = locus_execution_in(workspace);
    locus_apply_gradients all = {.x = &xt,
                                 .gy = &gt,
                                 .gx = &gt,
                                 .parameters = c->r.count ? gradients : NULL,
                                 .parameter_count = c->r.count}; /* gx in gy's place */
    rig_ok(locus_apply_backward(c->r.plan, c->role, c->direction, &all, &execution, error));
    for (size_t i = 0; i < c->elements; i++)
        assert_true(fabs((double)w[i] - gx[i]) < 5e-6);
    for (size_t p = 0; p < c->r.count; p++)
        for (size_t i = 0; i < rig_elements(&c->r.info[p]); i++) {
            double want = ((const double *)c->r.gradients[p].data)[i] - 1;
            double got = (double)((const float *)gradients[p].data)[i];
            if (fabs(want - got) > fmax(c->steep, 1) * 3e-6 * (c->reach * 4 + fabs(want)))
                fail_msg("float %s[%zu]: %.9g, double %.9g", c->r.info[p].name, i, got, want);
        }
    for (size_t i = 0; i < c->r.count; i++)
        free(gradients[i].data);
    rig_workspace_free(workspace);
    free(x), free(w);
}

static inline void check_case(gradient_case *c, double tolerance) {
    static uint64_t random = 1000;
    locus_tensor view = rig_view(&c->r, c->role, NULL, LOCUS_FLOAT64, c->tokens);
    c->elements = locus_tensor_count(&view);
    c->x = rig_normal(c->elements, &random);
    c->w = rig_normal(c->elements, &random);
    for (c->direction = LOCUS_FORWARD; c->direction <= LOCUS_INVERSE; c->direction++) {
        double *gx = analytic(c);
        check_inputs(c, gx);
        check_float32(c, gx);
        check_parameters(c, tolerance);
        free(gx);
    }
    free(c->x), free(c->w);
}

#endif
