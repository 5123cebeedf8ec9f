/* SPDX-License-Identifier: MIT */
/* Gradients of every group's encodings against central differences in double: locus_apply_backward in every role and
 * direction, and attention, inputs and all parameters; float32 beside float64.
 *
 * Losses are sums of outputs with fixed random weights. Third derivatives grow with (reach · scale)³: steps of 2e-6 and
 * positions within ±9 leave less than 1e-8 of them. */
#include "../property/algebra_rig.h"
#include "sanitized.h"

enum { TOKENS = 7, HEADS = 2 };

typedef struct gradient_case {
    const char *spec, *group;
    size_t dim;
} gradient_case;

static const gradient_case operators[] = {
    {"algebraic(group=tree:2)", "tree:2", 4},
    {"algebraic(group=tree:2, heads=shared)", "tree:2", 5},
    {"algebraic(group=tree:3, generator=cayley)", "tree:3", 4},
    {"algebraic(group=tree:2, generator=householder)", "tree:2", 5},
    {"algebraic(group=tree:3, generator=angles)", "tree:3", 4},
    {"algebraic(group=grid:2)", "grid:2", 6},
    {"algebraic(group=grid:2, generator=cayley)", "grid:2", 6},
    {"algebraic(group=seq, generator=cayley)", "seq", 5},
    {"algebraic(group=seq, generator=householder)", "seq", 4},
    {"algebraic(group=seq, generator=householder)", "seq", 5},
    {"algebraic(group=grid:2, generator=angles, heads=shared)", "grid:2", 8},
    {"algebraic(group=cycle:7)", "cycle:7", 4},
    {"algebraic(group=cycle:2)", "cycle:2", 4},
    {"algebraic(group=cycle:5, generator=householder)", "cycle:5", 4},
    {"algebraic(group=cycle:5, generator=cayley)", "cycle:5", 4},
    {"algebraic(group=cycle:5*tree:2*seq)", "cycle:5*tree:2*seq", 6},
    {"algebraic(group=seq*tree:2, split=2:3)", "seq*tree:2", 5},
    {"algebraic(group=seq*tree:2, split=3:4, generator=householder)", "seq*tree:2", 7},
    {"algebraic(group=cycle:5*tree:2*seq, split=2:4:2, generator=angles)", "cycle:5*tree:2*seq", 8},
    {"algebraic(group=tree:2, side=query)", "tree:2", 3},
    {"algebraic(group=grid:2, side=key)", "grid:2", 4},
    {"mixed(group=grid:2)", "grid:2", 4},
    {"mixed(group=grid:3, heads=shared)", "grid:3", 6},
    {"string(group=grid:2)", "grid:2", 4},
    {"string(group=grid:2, heads=shared)", "grid:2", 6},
    {"liere(group=grid:2)", "grid:2", 4},
    {"liere(group=grid:3, heads=shared)", "grid:3", 5},
};
static const gradient_case valued[] = {
    {"algebraic(group=tree:2, values=on)", "tree:2", 4},
    {"algebraic(group=grid:2, values=on, generator=householder)", "grid:2", 6},
    {"algebraic(group=cycle:6*tree:2, values=on)", "cycle:6*tree:2", 8},
    {"mixed(group=grid:2, values=on)", "grid:2", 4},
    {"string(group=grid:2, values=on)", "grid:2", 4},
    {"liere(group=grid:2, values=on)", "grid:2", 3},
};
static const gradient_case scores[] = {
    {"decay(group=tree:2, learned=on)", "tree:2", 3},
    {"decay(group=grid:2, learned=on)", "grid:2", 3},
    {"decay(group=cycle:5*tree:2*seq, learned=on)", "cycle:5*tree:2*seq", 3},
    {"alibi(group=tree:2)", "tree:2", 3},
    {"algebraic(group=tree:2, decay=learned:0.9)", "tree:2", 4},
    {"algebraic(group=grid:2, decay=learned:0.9, generator=cayley, values=on)", "grid:2", 4},
    {"algebraic(group=cycle:7, decay=learned:0.9)", "cycle:7", 4},
    {"algebraic(group=tree:2) + decay(group=tree:2, learned=on) + alibi(group=tree:2)", "tree:2", 4},
    {"liere(group=grid:2, decay=0.9)", "grid:2", 4},
};
#define COUNT(list) (sizeof(list) / sizeof(list)[0])

typedef struct gradient_rig {
    rig r;
    const char *spec;
    size_t elements;
    locus_role role; /* 0: attention */
    locus_direction direction;
    double *in[4]; /* apply: x, w; attention: q, k, v, go */
} gradient_rig;

static void open_rig(gradient_rig *g, const gradient_case *c) {
    static uint64_t random = 50;
    locus_group *group = algebra_group(c->group);
    memset(g, 0, sizeof *g);
    g->spec = c->spec;
    rig_bind(&g->r, c->spec, rig_shape(HEADS, c->dim, 0, 0), 1);
    algebra_scatter(&g->r, algebra_scale(c->spec), &random);
    rig_place(&g->r, algebra_random_positions(group, (algebra_reach){9, 5}, TOKENS, &random), NULL);
    locus_group_destroy(&group);
    g->elements = TOKENS * HEADS * c->dim;
    for (size_t i = 0; i < 4; i++)
        g->in[i] = rig_normal(g->elements, &random);
}

static void close_rig(gradient_rig *g) {
    for (size_t i = 0; i < 4; i++)
        free(g->in[i]);
    rig_close(&g->r);
}

/* ---- losses ---- */

static double loss_of(const gradient_rig *g) {
    double *out = calloc(g->elements, sizeof *out), sum = 0;
    assert_non_null(out);
    if (g->role) {
        rig_apply(&g->r, g->role, g->direction, LOCUS_FLOAT64, TOKENS, g->in[0], out);
    } else {
        const algebra_attention call = {
            .tokens = TOKENS, .dtype = LOCUS_FLOAT64, .q = g->in[0], .k = g->in[1], .v = g->in[2], .o = out};
        algebra_attend(&g->r, &call);
    }
    for (size_t i = 0; i < g->elements; i++)
        sum += g->in[g->role ? 1 : 3][i] * out[i];
    free(out);
    return sum;
}

/* Gradients of the inputs into dx (apply: one; attention: q, k, v), of the parameters added to `parameters`. */
static void analytic(const gradient_rig *g, locus_dtype dtype, void *const in[4], void *const dx[3],
                     locus_tensor *parameters) {
    if (g->role) {
        locus_tensor x = rig_view(&g->r, g->role, in[0], dtype, TOKENS), gy = x, gx = x;
        gy.data = in[1];
        gx.data = dx[0];
        locus_workspace workspace = rig_workspace(&g->r, g->role, dtype);
        const locus_apply_gradients gradients = {
            .x = &x, .gy = &gy, .gx = &gx, .parameters = parameters, .parameter_count = g->r.count};
        const locus_execution execution = locus_execution_in(workspace);
        rig_ok(locus_apply_backward(g->r.plan, g->role, g->direction, &gradients, &execution, error));
        rig_workspace_free(workspace);
        return;
    }
    void *o = calloc(g->elements, sizeof(double));
    assert_non_null(o);
    const algebra_attention call = {TOKENS, dtype, in[0], in[1], in[2], in[3], o, dx[0], dx[1], dx[2], parameters};
    algebra_attend(&g->r, &call);
    free(o);
}

static double difference(gradient_rig *g, double *value, double step, bool bind) {
    const double before = *value;
    double loss[2];
    for (int side = 0; side < 2; side++) {
        *value = before + (side ? -step : step);
        if (bind)
            rig_update(&g->r);
        loss[side] = loss_of(g);
    }
    *value = before;
    return (loss[0] - loss[1]) / (2 * step);
}

/* ---- checks ---- */

static void assert_close(const gradient_rig *g, const char *what, size_t index, double got, double want,
                         double tolerance) {
    if (!(fabs(got - want) <= tolerance * (1 + fabs(want))))
        fail_msg("%s, role %d, direction %d, %s[%zu]: backward %.12g, differences %.12g", g->spec, (int)g->role,
                 (int)g->direction, what, index, got, want);
}

static void check_float32(const gradient_rig *g, double *const dx[3]) {
    float *in[4], *out[3];
    locus_tensor narrow[RIG_TENSORS];
    for (size_t i = 0; i < 4; i++)
        in[i] = rig_narrow(g->in[i], g->elements);
    for (size_t i = 0; i < 3; i++)
        out[i] = calloc(g->elements, sizeof(float));
    for (size_t p = 0; p < g->r.count; p++)
        narrow[p] = locus_tensor_view(calloc(rig_elements(&g->r.info[p]), sizeof(float)), LOCUS_FLOAT32,
                                      g->r.info[p].rank, g->r.info[p].shape);
    analytic(g, LOCUS_FLOAT32, (void *const[]){in[0], in[1], in[2], in[3]}, (void *const[]){out[0], out[1], out[2]},
             narrow);
    for (size_t i = 0; i < (g->role ? 1 : 3); i++)
        for (size_t j = 0; j < g->elements; j++)
            assert_close(g, "input in float32", j, (double)out[i][j], dx[i][j], 2e-5);
    for (size_t p = 0; p < g->r.count; p++) {
        double largest = 0;
        for (size_t i = 0; i < rig_elements(&g->r.info[p]); i++)
            largest = fmax(largest, fabs(((double *)g->r.gradients[p].data)[i] - 1));
        for (size_t i = 0; i < rig_elements(&g->r.info[p]); i++)
            if (!(fabs((double)((float *)narrow[p].data)[i] + 1 - ((double *)g->r.gradients[p].data)[i]) <=
                  2e-5 * (1 + largest)))
                fail_msg("%s: %s[%zu] in float32: %.9g", g->spec, g->r.info[p].name, i,
                         (double)((float *)narrow[p].data)[i]);
        free(narrow[p].data);
    }
    for (size_t i = 0; i < 4; i++)
        free(in[i]);
    for (size_t i = 0; i < 3; i++)
        free(out[i]);
}

/* Parameter gradients begin at 1, to see that they are added to. Every third input and every parameter is moved, under
 * a sanitizer, to which each move is the same reads and writes, a few of these. */
static void check_gradients(gradient_rig *g) {
    double *dx[3];
    for (size_t i = 0; i < 3; i++)
        dx[i] = calloc(g->elements, sizeof(double));
    for (size_t p = 0; p < g->r.count; p++)
        for (size_t i = 0; i < rig_elements(&g->r.info[p]); i++)
            ((double *)g->r.gradients[p].data)[i] = 1;
    analytic(g, LOCUS_FLOAT64, (void *const[]){g->in[0], g->in[1], g->in[2], g->in[3]},
             (void *const[]){dx[0], dx[1], dx[2]}, g->r.gradients);
    check_float32(g, dx);
    for (size_t i = 0; i < (g->role ? 1 : 3); i++)
        for (size_t j = 0; j < g->elements; j += SANITIZED(41, 3))
            assert_close(g, "input", j, dx[i][j], difference(g, g->in[i] + j, 2e-6, false), 1e-8);
    for (size_t p = 0; p < g->r.count; p++)
        for (size_t i = 0; i < rig_elements(&g->r.info[p]); i += SANITIZED(29, 1))
            assert_close(g, g->r.info[p].name, i, ((double *)g->r.gradients[p].data)[i] - 1,
                         difference(g, (double *)g->r.values[p].data + i, 2e-6, true), 1e-7);
    if (g->r.count)
        rig_update(&g->r);
    for (size_t i = 0; i < 3; i++)
        free(dx[i]);
}

static void check_apply(const gradient_case *cases, size_t count, locus_role first, locus_role last) {
    for (size_t c = 0; c < count; c++) {
        gradient_rig g;
        open_rig(&g, &cases[c]);
        for (g.role = first; g.role <= last; g.role++)
            for (g.direction = LOCUS_FORWARD; g.direction <= LOCUS_INVERSE; g.direction++)
                check_gradients(&g);
        close_rig(&g);
    }
}

static void check_attention(const gradient_case *cases, size_t count) {
    for (size_t c = 0; c < count; c++) {
        gradient_rig g;
        open_rig(&g, &cases[c]);
        check_gradients(&g);
        close_rig(&g);
    }
}

static void test_apply(void **state) {
    (void)state;
    check_apply(operators, COUNT(operators), LOCUS_ROLE_QUERY, LOCUS_ROLE_KEY);
}

static void test_apply_values(void **state) {
    (void)state;
    check_apply(valued, COUNT(valued), LOCUS_ROLE_VALUE, LOCUS_ROLE_OUTPUT);
}

static void test_attention(void **state) {
    (void)state;
    check_attention(operators, COUNT(operators));
    check_attention(valued, COUNT(valued));
    check_attention(scores, COUNT(scores));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_apply), cmocka_unit_test(test_apply_values),
                                       cmocka_unit_test(test_attention)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
