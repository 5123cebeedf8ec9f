/* SPDX-License-Identifier: MIT */
/* xPos against its definition, ζ_i^((p − centre)/scale) on queries and the inverse on keys; scores know only distances
 * and fall with them; the range, and the word to attention that it must be causal. */
#include "../property/encoding_rig.h"

#include "plan/plan_sites.h"

enum { TOKENS = 70, HEADS = 2, DIM = 14, TURNED = 12, PAIRS = TURNED / 2 };

typedef struct xpos_case {
    const char *spec;
    bool half, real;
    double scale, gamma, centre, attention;
} xpos_case;

static const xpos_case cases[] = {
    {"rope(xpos=512, rotate=12)", false, false, 512, 0.4, 0, 1},
    {"rope(xpos=512, rotate=12)", false, true, 512, 0.4, 0, 1},
    {"rope(xpos=64, gamma=0.7, centre=-20.5, pairs=half, rotate=12)", true, false, 64, 0.7, -20.5, 1},
    {"rope(xpos=512, rotate=12, scaling=yarn, factor=1, original=64, attention=1.5)", false, true, 512, 0.4, 0, 1.5},
};

static double position_of(const xpos_case *c, size_t token) {
    const double whole = (double)((token * 91) % 400) - 150;
    return c->real ? whole + 0.25 * (double)(token % 5) : whole;
}

static locus_positions *make_positions(const xpos_case *c) {
    const size_t offsets[] = {0, TOKENS};
    const locus_packing packing = {.size = sizeof packing, .sequences = 1, .offsets = offsets};
    locus_positions *positions = NULL;
    int64_t whole[TOKENS];
    double real[TOKENS];
    for (size_t t = 0; t < TOKENS; t++) {
        real[t] = position_of(c, t);
        whole[t] = (int64_t)real[t];
    }
    if (c->real)
        rig_ok(locus_positions_create_real(&positions, NULL, &packing, real, error));
    else
        rig_ok(locus_positions_create(&positions, NULL, &packing, whole, error));
    return positions;
}

/* y = op x; sign 1 for queries, −1 for keys. */
static void stretch_and_turn(const xpos_case *c, double p, int sign, const double *x, double *y) {
    memcpy(y, x, DIM * sizeof *y);
    for (size_t i = 0; i < PAIRS; i++) {
        const size_t a = c->half ? i : 2 * i, b = c->half ? i + PAIRS : 2 * i + 1;
        const long double angle = (long double)p * powl(10000, -2 * (long double)i / TURNED);
        const long double zeta = (2 * (long double)i + c->gamma * TURNED) / ((1 + (long double)c->gamma) * TURNED);
        const long double length = c->attention * powl(zeta, sign * ((long double)p - c->centre) / c->scale);
        y[a] = (double)(length * (x[a] * cosl(angle) - x[b] * sinl(angle)));
        y[b] = (double)(length * (x[a] * sinl(angle) + x[b] * cosl(angle)));
    }
}

static void check_side(const rig *r, const xpos_case *c, locus_role role) {
    const size_t count = TOKENS * HEADS * DIM;
    uint64_t random = 5;
    double *x = rig_normal(count, &random), *y = rig_normal(count, &random), row[DIM];
    float *narrow = rig_narrow(x, count);
    rig_apply(r, role, LOCUS_FORWARD, LOCUS_FLOAT64, TOKENS, x, y);
    rig_apply(r, role, LOCUS_FORWARD, LOCUS_FLOAT32, TOKENS, narrow, narrow);
    for (size_t t = 0; t < TOKENS; t++)
        for (size_t h = 0; h < HEADS; h++) {
            const size_t at = (t * HEADS + h) * DIM;
            stretch_and_turn(c, position_of(c, t), role == LOCUS_ROLE_QUERY ? 1 : -1, x + at, row);
            for (size_t i = 0; i < DIM; i++) {
                const double size = 1 + fabs(row[i]) + fabs(y[at + i]);
                const double pair = size + fabs(row[c->half ? (i + PAIRS) % TURNED : i ^ 1]);
                if (fabs(y[at + i] - row[i]) > 1e-12 * pair || fabs((double)narrow[at + i] - row[i]) > 1e-6 * pair)
                    fail_msg("%s, role %d, token %zu, element %zu: %.17g and %.9g, wanted %.17g", c->spec, (int)role, t,
                             i, y[at + i], (double)narrow[at + i], row[i]);
            }
        }
    free(x), free(y), free(narrow);
}

/* ⟨op x, g⟩ = ⟨x, inverse g⟩: the inverse is the transpose. */
static void check_transpose(const rig *r, locus_role role) {
    const size_t count = TOKENS * HEADS * DIM;
    uint64_t random = 8;
    double *x = rig_normal(count, &random), *g = rig_normal(count, &random), *y = rig_normal(count, &random);
    rig_apply(r, role, LOCUS_FORWARD, LOCUS_FLOAT64, TOKENS, x, y);
    double forward = 0, back = 0, size = 0;
    for (size_t i = 0; i < count; i++) {
        forward += y[i] * g[i];
        size += fabs(y[i] * g[i]);
    }
    rig_apply(r, role, LOCUS_INVERSE, LOCUS_FLOAT64, TOKENS, g, g);
    for (size_t i = 0; i < count; i++)
        back += g[i] * x[i];
    assert_true(fabs(forward - back) < 1e-12 * size);
    free(x), free(g), free(y);
}

static void queries_shrink_where_keys_grow(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rig r;
        rig_bind(&r, cases[i].spec, rig_shape(HEADS, DIM, 0, 0), 1);
        rig_place(&r, make_positions(&cases[i]), NULL);
        assert_true(locus_plan_needs_causal(r.plan));
        assert_int_equal(locus_encoding_laws(r.encoding), LOCUS_LAW_RELATIVITY);
        for (locus_role role = LOCUS_ROLE_QUERY; role <= LOCUS_ROLE_KEY; role++) {
            check_side(&r, &cases[i], role);
            check_transpose(&r, role);
        }
        rig_close(&r);
    }
}

/* q'·k' at (m, n) and (m + shift, n + shift), up to the furthest position; and it falls with m − n. */
static void scores_know_distances_only(void **state) {
    const int64_t positions[] = {-30720, -29000, 0, 1720, 29000, 30720};
    double scores[3];
    (void)state;
    rig r;
    rig_open(&r, "rope(xpos=512)", rig_shape(1, 2, 0, 0), positions, 6);
    double q[12], k[12];
    for (size_t i = 0; i < 12; i++)
        q[i] = k[i] = i % 2 == 0;
    rig_apply(&r, LOCUS_ROLE_QUERY, LOCUS_FORWARD, LOCUS_FLOAT64, 6, q, q);
    rig_apply(&r, LOCUS_ROLE_KEY, LOCUS_FORWARD, LOCUS_FLOAT64, 6, k, k);
    for (size_t i = 0; i < 3; i++)
        scores[i] = q[4 * i + 2] * k[4 * i] + q[4 * i + 3] * k[4 * i + 1];
    const double want = cos(1720.0) * pow(0.4 / 1.4, 1720.0 / 512);
    for (size_t i = 0; i < 3; i++)
        assert_true(fabs(scores[i] - want) < 1e-11);
    float narrow[12];
    for (size_t i = 0; i < 12; i++)
        narrow[i] = i % 2 == 0;
    rig_apply(&r, LOCUS_ROLE_KEY, LOCUS_FORWARD, LOCUS_FLOAT32, 6, narrow, narrow);
    for (size_t i = 0; i < 12; i++)
        assert_true(isfinite(narrow[i]));
    rig_close(&r);
}

static void refuse(const char *spec, const int64_t *queries, const int64_t *keys, size_t count, const char *words) {
    rig r;
    locus_error error = {0};
    rig_bind(&r, spec, rig_shape(1, 4, 0, 0), 1);
    r.queries = rig_positions(queries, count);
    r.keys = keys ? rig_positions(keys, count) : NULL;
    assert_int_equal(locus_plan_create(&r.plan, r.binding, r.queries, r.keys, &error), LOCUS_ERROR_POSITION);
    if (!strstr(error.message, words))
        fail_msg("%s", error.message);
    rig_close(&r);
}

static void far_positions_are_errors(void **state) {
    const int64_t far[] = {0, 30720, 30721}, near[] = {0, 1, 2}, other[] = {0, -30721, 5},
                  shifted[] = {1000, 31720, 31721};
    (void)state;
    refuse("rope(xpos=512)", far, NULL, 3, "position 30721 of token 2 of queries is too far from the centre 0");
    refuse("rope(xpos=512)", near, other, 3, "position -30721 of token 1 of keys is too far from the centre 0");
    refuse("rope(xpos=512, centre=1000)", shifted, NULL, 3, "position 31721 of token 2");
    refuse("rope(xpos=2)", (const int64_t[]){0, 127, 128}, NULL, 3, "reaches 127 either way"); /* 80·2/ln 3.5 */
}

static void others_need_no_mask(void **state) {
    (void)state;
    rig r;
    rig_open(&r, "rope(scaling=yarn, factor=8, original=64)", rig_shape(1, 4, 0, 0), NULL, 3);
    assert_false(locus_plan_needs_causal(r.plan));
    rig_close(&r);
    rig_open(&r, "alibi", rig_shape(1, 4, 0, 0), NULL, 3);
    assert_false(locus_plan_needs_causal(r.plan));
    rig_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queries_shrink_where_keys_grow),
        cmocka_unit_test(scores_know_distances_only),
        cmocka_unit_test(far_positions_are_errors),
        cmocka_unit_test(others_need_no_mask),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
