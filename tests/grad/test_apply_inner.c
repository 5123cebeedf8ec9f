/* SPDX-License-Identifier: MIT */
/* Coordinates: what attention computes in INNER coordinates must be what it is in OUTER ones, scores, outputs, and the
 * gradients of inputs and generators alike; and the calls for one head must agree with those for all heads. */
#include "../property/encoding_rig.h"
#include "plan/plan_sites.h"

enum { TOKENS = 150, HEADS = 2, DIM = 7, ELEMENTS = TOKENS * HEADS * DIM };

static locus_operator_call call_of(locus_role role, locus_coordinates coordinates, size_t head, const double *x,
                                   void *scratch) {
    return (locus_operator_call){.role = role,
                                 .direction = LOCUS_FORWARD,
                                 .coordinates = coordinates,
                                 .dtype = LOCUS_FLOAT64,
                                 .head = head,
                                 .first = 0,
                                 .count = TOKENS,
                                 .x = x + head * DIM,
                                 .x_stride = HEADS * DIM,
                                 .scale = 0.5,
                                 .scratch = scratch};
}

typedef struct run {
    double forward[2][ELEMENTS];  /* the two sides turned */
    double backward[2][ELEMENTS]; /* their inputs' gradients */
    double parameters[HEADS * DIM * DIM];
} run;

/* Two sides meet in Σ C_mn (a_m · b_n) for scores, or o = Σ … for values; the loss is linear in both, so upstream
 * gradients are C b and Cᵀ a in whatever coordinates they are. */
static void run_pair(const rig *r, locus_coordinates coordinates, const double *x, const double *C, run *out) {
    const locus_operator *op = locus_plan_query_key_operator(r->plan);
    const locus_role roles[] = {LOCUS_ROLE_QUERY, LOCUS_ROLE_KEY};
    size_t slot_bytes = op->class->slot_bytes(op);
    void *scratch = locus_allocate(op->class->scratch_bytes(op, LOCUS_FLOAT64, TOKENS) + 1);
    char *slots = locus_allocate(2 * slot_bytes + 1);
    double gradients[HEADS * DIM * DIM] = {0}, *g = calloc(TOKENS * DIM, sizeof *g);
    locus_tensor parameter = r->gradients[0];
    parameter.data = gradients;
    assert_true(scratch && slots && g);
    for (size_t h = 0; h < HEADS; h++) {
        memset(slots, 0, 2 * slot_bytes);
        for (size_t side = 0; side < 2; side++) {
            const locus_operator_call call = call_of(roles[side], coordinates, h, x + side * ELEMENTS, scratch);
            op->class->forward(op, &call, out->forward[side] + h * DIM, HEADS * DIM);
        }
        for (size_t side = 0; side < 2; side++) {
            for (size_t m = 0; m < TOKENS; m++)
                for (size_t i = 0; i < DIM; i++) {
                    g[m * DIM + i] = 0;
                    for (size_t n = 0; n < TOKENS; n++)
                        g[m * DIM + i] += (side ? C[n * TOKENS + m] : C[m * TOKENS + n]) *
                                          out->forward[1 - side][(n * HEADS + h) * DIM + i];
                }
            const locus_operator_call call = call_of(roles[side], coordinates, h, x + side * ELEMENTS, scratch);
            op->class->backward(op, &call, g, DIM, out->backward[side] + h * DIM, HEADS * DIM,
                                slots + side * slot_bytes);
        }
        op->class->reduce(op, h, slots, 2, slot_bytes, &parameter);
    }
    memcpy(out->parameters, gradients, sizeof gradients);
    free(g);
    locus_release(scratch, op->class->scratch_bytes(op, LOCUS_FLOAT64, TOKENS) + 1);
    locus_release(slots, 2 * slot_bytes + 1);
}

static void compare(const double *a, const double *b, size_t count, double tolerance) {
    for (size_t i = 0; i < count; i++)
        if (fabs(a[i] - b[i]) > tolerance * (1 + fabs(a[i])))
            fail_msg("element %zu: %.15g and %.15g", i, a[i], b[i]);
}

static void test_scores(void **state) {
    (void)state;
    const char *const specs[] = {"algebraic", "algebraic(side=query)", "algebraic(side=key)",
                                 "algebraic(init=identity)", "algebraic(generator=householder)"};
    enum { SPECS = sizeof specs / sizeof specs[0] };
    uint64_t random = 0;
    run *outer = calloc(2, sizeof *outer), *inner = outer + 1;
    int64_t standing[TOKENS];
    assert_non_null(outer);
    for (size_t t = 0; t < TOKENS; t++) /* long runs of tokens at one place, and a few others */
        standing[t] = t < 100 ? (int64_t)t / 40 * 7 - 5 : (int64_t)t;
    for (size_t s = 0; s < 2 * SPECS; s++) {
        rig r;
        rig_open(&r, specs[s % SPECS], rig_shape(HEADS, DIM, 0, 0), s < SPECS ? NULL : standing, TOKENS);
        double *x = rig_normal(2 * ELEMENTS, &random), *C = rig_normal(TOKENS * TOKENS, &random);
        run_pair(&r, LOCUS_OUTER, x, C, outer);
        run_pair(&r, LOCUS_INNER, x, C, inner);
        for (size_t m = 0; m < TOKENS; m += 7)
            for (size_t n = 0; n < TOKENS; n += 5) {
                double a = 0, b = 0;
                for (size_t i = 0; i < DIM; i++) {
                    a += outer->forward[0][m * HEADS * DIM + i] * outer->forward[1][n * HEADS * DIM + i];
                    b += inner->forward[0][m * HEADS * DIM + i] * inner->forward[1][n * HEADS * DIM + i];
                }
                assert_true(fabs(a - b) < 1e-13);
            }
        compare(outer->backward[0], inner->backward[0], ELEMENTS, 1e-12);
        compare(outer->backward[1], inner->backward[1], ELEMENTS, 1e-12);
        compare(outer->parameters, inner->parameters, HEADS * DIM * DIM, 1e-9);
        free(x), free(C);
        rig_close(&r);
    }
    free(outer);
}

/* Gradients of one head, in the order of the tokens. */
static void learn(const rig *r, size_t count, size_t dim, const double *x, const double *go, double *gx,
                  double *parameters) {
    const locus_operator *op = locus_plan_query_key_operator(r->plan);
    const size_t slot_bytes = op->class->slot_bytes(op),
                 scratch_bytes = op->class->scratch_bytes(op, LOCUS_FLOAT64, count);
    void *scratch = locus_allocate(scratch_bytes + 1), *slot = locus_allocate(slot_bytes + 1);
    locus_tensor parameter = r->gradients[0];
    assert_true(scratch && slot);
    memset(slot, 0, slot_bytes);
    memset(parameter.data, 0, rig_elements(&r->info[0]) * sizeof(double));
    locus_operator_call call = call_of(LOCUS_ROLE_KEY, LOCUS_OUTER, 0, x, scratch);
    call.count = count;
    call.x_stride = (ptrdiff_t)dim;
    op->class->backward(op, &call, go, (ptrdiff_t)dim, gx, (ptrdiff_t)dim, slot);
    op->class->reduce(op, 0, slot, 1, slot_bytes, &parameter);
    memcpy(parameters, parameter.data, rig_elements(&r->info[0]) * sizeof(double));
    locus_release(scratch, scratch_bytes + 1);
    locus_release(slot, slot_bytes + 1);
}

/* Normal numbers, so that eigenvalues stand anywhere: of a product of reflections on the side of −1, too. */
static void draw_far(rig *r) {
    uint64_t random = 5;
    const size_t count = rig_elements(&r->info[0]);
    double *drawn = rig_normal(count, &random);
    memcpy(r->values[0].data, drawn, count * sizeof *drawn);
    free(drawn);
    rig_update(r);
}

/* Tokens at a few places, one place after another, and dealt out in turn so that no two neighbours stand at one place:
 * the same sums. Near angles and far ones, of every kind of generator, of an odd size and an even one. */
static void test_standing(void **state) {
    static const char *const specs[] = {"algebraic",
                                        "algebraic(init=identity)",
                                        "algebraic(generator=householder)",
                                        "algebraic(generator=householder, init=identity)",
                                        "algebraic(generator=cayley, init=identity)",
                                        "algebraic(init=identity, side=key)"};
    static const int64_t places[] = {-5, 2, 3, 8, 1};
    enum { PLACES = 5, EACH = 40, ALL = PLACES * EACH };
    (void)state;
    for (size_t s = 0; s < 2 * sizeof specs / sizeof *specs; s++) {
        const size_t dim = DIM - s % 2;
        uint64_t random = s;
        double *x = rig_normal(ALL * dim, &random), *go = rig_normal(ALL * dim, &random);
        double *dealt_x = rig_normal(ALL * dim, &random), *dealt_go = rig_normal(ALL * dim, &random);
        double *gx = rig_normal(ALL * dim, &random), *dealt_gx = rig_normal(ALL * dim, &random);
        double parameters[DIM * DIM] = {0}, dealt[DIM * DIM] = {0};
        int64_t values[2][ALL];
        rig r, other;
        for (size_t t = 0; t < ALL; t++) {
            const size_t to = t % EACH * PLACES + t / EACH;
            values[0][t] = values[1][to] = places[t / EACH];
            memcpy(dealt_x + to * dim, x + t * dim, dim * sizeof *x);
            memcpy(dealt_go + to * dim, go + t * dim, dim * sizeof *go);
        }
        rig_open(&r, specs[s / 2], rig_shape(1, dim, 0, 0), values[0], ALL);
        rig_open(&other, specs[s / 2], rig_shape(1, dim, 0, 0), values[1], ALL);
        assert_int_equal(rig_elements(&r.info[0]), dim * dim);
        if (dim % 2 == 0 && strstr(specs[s / 2], "identity") == NULL) {
            draw_far(&r);
            draw_far(&other);
        }
        learn(&r, ALL, dim, x, go, gx, parameters);
        learn(&other, ALL, dim, dealt_x, dealt_go, dealt_gx, dealt);
        for (size_t t = 0; t < ALL; t++)
            compare(gx + t * dim, dealt_gx + (t % EACH * PLACES + t / EACH) * dim, dim, 1e-13);
        compare(dealt, parameters, dim * dim, 1e-10);
        free(x), free(go), free(dealt_x), free(dealt_go), free(gx), free(dealt_gx);
        rig_close(&r);
        rig_close(&other);
    }
}

/* Values: v' and o in INNER coordinates. o = ⌈p⌉ᵀ a Σ v' for one matrix of weights. */
static void run_values(const rig *r, locus_coordinates coordinates, const double *v, const double *go, const double *C,
                       run *out) {
    const locus_operator *op = locus_plan_value_operator(r->plan);
    size_t slot_bytes = op->class->slot_bytes(op);
    void *scratch = locus_allocate(op->class->scratch_bytes(op, LOCUS_FLOAT64, TOKENS) + 1);
    char *slots = locus_allocate(2 * slot_bytes + 1);
    double *turned = calloc(4 * TOKENS * DIM, sizeof *turned), *mixed = turned + TOKENS * DIM,
           *g = mixed + TOKENS * DIM;
    double *gv = g + TOKENS * DIM;
    locus_tensor parameter = r->gradients[0];
    memset(out->parameters, 0, sizeof out->parameters);
    parameter.data = out->parameters;
    for (size_t h = 0; h < HEADS; h++) {
        memset(slots, 0, 2 * slot_bytes);
        locus_operator_call value = call_of(LOCUS_ROLE_VALUE, coordinates, h, v, scratch);
        op->class->forward(op, &value, turned, DIM);
        for (size_t i = 0; i < TOKENS * DIM; i++) {
            mixed[i] = 0;
            for (size_t n = 0; n < TOKENS; n++)
                mixed[i] += C[i / DIM * TOKENS + n] * turned[n * DIM + i % DIM];
        }
        locus_operator_call output = call_of(LOCUS_ROLE_OUTPUT, coordinates, 0, mixed, scratch);
        output.head = h;
        output.x_stride = DIM;
        op->class->forward(op, &output, out->forward[0] + h * DIM, HEADS * DIM);
        op->class->backward(op, &output, go + h * DIM, HEADS * DIM, g, DIM, slots);
        for (size_t i = 0; i < TOKENS * DIM; i++) {
            gv[i] = 0;
            for (size_t m = 0; m < TOKENS; m++)
                gv[i] += C[m * TOKENS + i / DIM] * g[m * DIM + i % DIM];
        }
        op->class->backward(op, &value, gv, DIM, out->backward[0] + h * DIM, HEADS * DIM, slots + slot_bytes);
        op->class->reduce(op, h, slots, 2, slot_bytes, &parameter);
    }
    free(turned);
    locus_release(scratch, op->class->scratch_bytes(op, LOCUS_FLOAT64, TOKENS) + 1);
    locus_release(slots, 2 * slot_bytes + 1);
}

static void test_values(void **state) {
    (void)state;
    uint64_t random = 50;
    rig r;
    run *outer = calloc(2, sizeof *outer), *inner = outer + 1;
    assert_non_null(outer);
    rig_open(&r, "algebraic(values=on)", rig_shape(HEADS, DIM, 0, 0), NULL, TOKENS);
    double *v = rig_normal(ELEMENTS, &random), *go = rig_normal(ELEMENTS, &random),
           *C = rig_normal(TOKENS * TOKENS, &random);
    run_values(&r, LOCUS_OUTER, v, go, C, outer);
    run_values(&r, LOCUS_INNER, v, go, C, inner);
    compare(outer->forward[0], inner->forward[0], ELEMENTS, 1e-12);
    compare(outer->backward[0], inner->backward[0], ELEMENTS, 1e-12);
    compare(outer->parameters, inner->parameters, HEADS * DIM * DIM, 1e-9);
    /* against differences along one direction, in OUTER coordinates of the whole composition */
    double *direction = rig_normal(HEADS * DIM * DIM, &random), *A = r.values[0].data, want = 0, got = 0;
    for (size_t i = 0; i < HEADS * DIM * DIM; i++)
        got += direction[i] * outer->parameters[i];
    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i < HEADS * DIM * DIM; i++)
            A[i] += (side ? -2e-7 : 1e-7) * direction[i];
        rig_update(&r);
        run_values(&r, LOCUS_OUTER, v, go, C, inner);
        for (size_t i = 0; i < ELEMENTS; i++)
            want += (side ? -1 : 1) * go[i] * inner->forward[0][i];
    }
    want /= 2e-7;
    if (fabs(want - got) > 1e-4 * fabs(want))
        fail_msg("differences %.12g, backward %.12g", want, got);
    free(v), free(go), free(C), free(direction), free(outer);
    rig_close(&r);
}

/* All heads at once and one head at a time: the same bits. */
static void test_heads_agree(void **state) {
    (void)state;
    const char *const specs[] = {"algebraic", "algebraic(generator=angles)", "rope(learned=on)", "rope(side=key)"};
    uint64_t random = 70;
    for (size_t s = 0; s < 4; s++) {
        rig r;
        size_t dim = s == 0 ? DIM : 8, elements = TOKENS * HEADS * dim;
        rig_open(&r, specs[s], rig_shape(HEADS, dim, 0, 0), NULL, TOKENS);
        const locus_operator *op = locus_plan_query_key_operator(r.plan);
        size_t bytes = op->class->heads_scratch_bytes(op, LOCUS_FLOAT64, HEADS) +
                       op->class->scratch_bytes(op, LOCUS_FLOAT64, TOKENS) + 64;
        double *x = rig_normal(elements, &random), *one = calloc(elements, sizeof *one),
               *all = calloc(elements, sizeof *all);
        locus_operator_call call = call_of(LOCUS_ROLE_KEY, LOCUS_OUTER, 0, x, locus_allocate(bytes));
        call.x_stride = (ptrdiff_t)(HEADS * dim);
        const locus_operator_heads heads = {
            .count = HEADS, .x_head = (ptrdiff_t)dim, .y = all, .y_stride = call.x_stride, .y_head = (ptrdiff_t)dim};
        op->class->forward_heads(op, &call, &heads);
        for (size_t h = 0; h < HEADS; h++) {
            call.head = h;
            call.x = x + h * dim;
            op->class->forward(op, &call, one + h * dim, (ptrdiff_t)(HEADS * dim));
        }
        assert_memory_equal(one, all, elements * sizeof *one);
        locus_release(call.scratch, bytes);
        free(x), free(one), free(all);
        rig_close(&r);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_scores), cmocka_unit_test(test_standing),
                                       cmocka_unit_test(test_values), cmocka_unit_test(test_heads_agree)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
