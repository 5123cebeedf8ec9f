/* SPDX-License-Identifier: MIT */
/* LieRE on grids: operators against a plain exponential in long double, gradients against central differences, matrices
 * kept in the plan against matrices made in every call, and what it promises: orthogonality, but no homomorphism. */
#include "../property/encoding_rig.h"
#include "threads_only.h"

enum { HEADS = 2, DIM = 6, SEQUENCES = 3 };

static const size_t query_lengths[] = {9, 0, 6}, key_lengths[] = {5, 2, 11};

/* Few distinct positions, on both sides of 0; gaps of 2 before each sequence. */
static int64_t value_at(size_t token, size_t axis, int64_t shift) {
    return (int64_t)((token * (axis + 2) + axis) % 5) - 2 + (axis == 0 ? shift : 0);
}

static locus_positions *make_positions(const locus_group *group, const size_t *lengths, int64_t shift) {
    const size_t axes = locus_group_coordinates(group);
    size_t offsets[SEQUENCES + 1] = {2};
    for (size_t s = 0; s < SEQUENCES; s++)
        offsets[s + 1] = offsets[s] + lengths[s] + 2;
    int64_t *values = calloc(offsets[SEQUENCES] * axes, sizeof *values);
    assert_non_null(values);
    for (size_t t = 0; t < offsets[SEQUENCES]; t++)
        for (size_t a = 0; a < axes; a++)
            values[t * axes + a] = value_at(t, a, shift);
    const locus_packing packing = {sizeof packing, SEQUENCES, offsets, lengths};
    locus_positions *positions = NULL;
    rig_ok(locus_positions_create(&positions, group, &packing, values, error));
    free(values);
    return positions;
}

static void place_with(rig *r, size_t workspace) {
    locus_plan_options plan_options = locus_plan_options_default();
    plan_options.workspace = workspace;
    locus_plan_destroy(&r->plan);
    rig_ok(locus_plan_create_with(&r->plan, r->binding, r->queries, r->keys, &plan_options, error));
}

/* workspace 0: nothing is kept. */
static void open_rig(rig *r, const char *spec, size_t workspace) {
    rig_bind(r, spec, rig_shape(HEADS, DIM, 0, 0), 7);
    const locus_group *group = locus_binding_group(r->binding);
    r->queries = make_positions(group, query_lengths, 0);
    r->keys = make_positions(group, key_lengths, 1);
    place_with(r, workspace);
}

static bool is_key(locus_role role) {
    return role == LOCUS_ROLE_KEY || role == LOCUS_ROLE_VALUE;
}

static size_t tokens_of(const rig *r, locus_role role) {
    return locus_positions_tokens(is_key(role) ? r->keys : r->queries);
}

static bool is_used(locus_role role, size_t token) {
    const size_t *lengths = is_key(role) ? key_lengths : query_lengths;
    size_t first = 2;
    for (size_t s = 0; s < SEQUENCES; first += lengths[s++] + 2)
        if (token >= first && token < first + lengths[s])
            return true;
    return false;
}

/* ---- operators ---- */

/* M of a token and head, from the parameters. */
static void dense_matrix(const rig *r, locus_role role, size_t token, size_t head, long double *M) {
    const size_t tables = (size_t)r->info[0].shape[0], axes = (size_t)r->info[0].shape[1];
    const double *A = (const double *)r->values[0].data + (tables == 1 ? 0 : head) * axes * DIM * DIM;
    double sum[DIM * DIM] = {0};
    for (size_t a = 0; a < axes; a++)
        for (size_t i = 0; i < DIM * DIM; i++)
            sum[i] += (double)value_at(token, a, is_key(role)) * A[a * DIM * DIM + i];
    dense_exponential(DIM, sum, M);
}

static bool role_acts(const char *spec, locus_role role) {
    if (role == LOCUS_ROLE_QUERY)
        return !strstr(spec, "side=key");
    if (role == LOCUS_ROLE_KEY)
        return !strstr(spec, "side=query");
    return strstr(spec, "values=on") != NULL;
}

static void check_role(const rig *r, const char *spec, locus_role role, locus_direction direction) {
    const size_t tokens = tokens_of(r, role), count = tokens * HEADS * DIM;
    uint64_t state = 1;
    double *x = rig_normal(count, &state), *y = rig_normal(count, &state), *before = malloc(count * sizeof *before);
    long double M[DIM * DIM];
    assert_non_null(before);
    memcpy(before, y, count * sizeof *y);
    float *narrow = rig_narrow(x, count);
    rig_apply(r, role, direction, LOCUS_FLOAT64, tokens, x, y);
    rig_apply(r, role, direction, LOCUS_FLOAT32, tokens, narrow, narrow);
    for (size_t t = 0; t < tokens; t++)
        for (size_t h = 0; h < HEADS; h++) {
            const size_t at = (t * HEADS + h) * DIM;
            const bool turned = (role == LOCUS_ROLE_OUTPUT) != (direction == LOCUS_INVERSE);
            dense_matrix(r, role, t, h, M);
            for (size_t i = 0; i < DIM; i++) {
                long double want = role_acts(spec, role) ? 0 : x[at + i];
                for (size_t j = 0; j < DIM && role_acts(spec, role); j++)
                    want += M[turned ? j * DIM + i : i * DIM + j] * x[at + j];
                if (is_used(role, t)) {
                    assert_true(fabsl(y[at + i] - want) < 1e-12L);
                    assert_true(fabsl(narrow[at + i] - want) < 1e-5L);
                } else {
                    assert_true(y[at + i] == before[at + i] && narrow[at + i] == (float)x[at + i]);
                }
            }
        }
    free(x), free(y), free(before), free(narrow);
}

static const char *const specs[] = {"liere(values=on)", "liere(group=grid:3, heads=shared, values=on)",
                                    "liere(group=seq, side=query)", "liere(side=key, decay=0.9)"};
static const size_t workspaces[] = {(size_t)1 << 30, 0};

static void test_operators(void **state) {
    (void)state;
    for (size_t s = 0; s < sizeof specs / sizeof specs[0]; s++)
        for (size_t w = 0; w < 2; w++) {
            rig r;
            open_rig(&r, specs[s], workspaces[w]);
            for (locus_role role = LOCUS_ROLE_QUERY; role <= LOCUS_ROLE_OUTPUT; role++)
                for (int inverse = 0; inverse < 2; inverse++)
                    check_role(&r, specs[s], role, inverse ? LOCUS_INVERSE : LOCUS_FORWARD);
            rig_close(&r);
        }
}

/* Heads of more dimensions than vectors have lanes, more tokens on a position than a block has: forward against the
 * dense exponential, the gradient of some parameters against central differences of it. */
static void test_wide_heads(void **state) {
    enum { WIDE = 20, TOKENS = 140, PLACES = 3, AT = WIDE * WIDE };
    static const int64_t places[PLACES] = {1, -2, 4};
    static int64_t values[TOKENS];
    static long double M[PLACES * HEADS][AT];
    uint64_t random = 3;
    rig r;
    (void)state;
    for (size_t t = 0; t < TOKENS; t++)
        values[t] = places[t % 20 == 7 ? 1 : t % 50 == 3 ? 2 : 0];
    rig_open(&r, "liere(group=seq)", rig_shape(HEADS, WIDE, 0, 0), values, TOKENS);
    double *A = r.values[0].data, *dA = r.gradients[0].data, sum[AT];
    const size_t count = (size_t)TOKENS * HEADS * WIDE;
    double *x = rig_normal(count, &random), *g = rig_normal(count, &random), *y = rig_normal(count, &random);
    for (size_t i = 0; i < HEADS * AT; i++)
        A[i] = 0.1 * rig_random(&random);
    rig_update(&r);
    locus_tensor views[] = {rig_view(&r, LOCUS_ROLE_QUERY, x, LOCUS_FLOAT64, TOKENS),
                            rig_view(&r, LOCUS_ROLE_QUERY, g, LOCUS_FLOAT64, TOKENS),
                            rig_view(&r, LOCUS_ROLE_QUERY, y, LOCUS_FLOAT64, TOKENS)};
    const locus_apply_gradients asked = {.size = sizeof asked,
                                         .x = &views[0],
                                         .gy = &views[1],
                                         .gx = &views[2],
                                         .parameters = r.gradients,
                                         .parameter_count = 1};
    const locus_workspace workspace = rig_workspace(&r, LOCUS_ROLE_QUERY, LOCUS_FLOAT64);
    const locus_execution execution = locus_execution_in(workspace);
    rig_ok(locus_apply_backward(r.plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &asked, &execution, error));
    static const size_t chosen[] = {1, AT - 2, 7 * WIDE + 19, AT + 19 * WIDE + 3};
    for (size_t n = 0; n <= sizeof chosen / sizeof *chosen; n++) {
        long double loss[2] = {0, 0};
        for (int side = 0; side < 2; side++) {
            const double kept = n > 0 ? A[chosen[n - 1]] : 0, step = side ? -1e-5 : 1e-5;
            if (n > 0)
                A[chosen[n - 1]] = kept + step;
            for (size_t p = 0; p < PLACES * HEADS; p++) {
                for (size_t i = 0; i < AT; i++)
                    sum[i] = (double)places[p / HEADS] * A[p % HEADS * AT + i];
                dense_exponential(WIDE, sum, M[p]);
            }
            for (size_t t = 0; t < (size_t)TOKENS * HEADS; t++) {
                const size_t place = values[t / HEADS] == 1 ? 0 : values[t / HEADS] == -2 ? 1 : 2;
                const long double *own = M[place * HEADS + t % HEADS];
                for (size_t i = 0; i < WIDE; i++) {
                    long double back = 0;
                    for (size_t j = 0; j < WIDE; j++) {
                        back += own[j * WIDE + i] * g[t * WIDE + j];
                        loss[side] += own[i * WIDE + j] * x[t * WIDE + j] * g[t * WIDE + i];
                    }
                    assert_true(n > 0 || fabsl(back - y[t * WIDE + i]) < 1e-12L);
                }
            }
            if (n > 0)
                A[chosen[n - 1]] = kept;
        }
        const double slope = (double)((loss[0] - loss[1]) / 2e-5L);
        assert_true(n == 0 || fabs(slope - dA[chosen[n - 1]]) < 1e-6 * (1 + fabs(slope)));
    }
    rig_workspace_free(workspace);
    rig_close(&r);
    free(x), free(g), free(y);
}

/* ---- gradients ---- */

/* Σ w·(op x) */
static double loss(const rig *r, locus_role role, locus_direction direction, double *x, const double *w) {
    const size_t tokens = tokens_of(r, role), count = tokens * HEADS * DIM;
    double *y = calloc(count, sizeof *y), sum = 0;
    assert_non_null(y);
    rig_apply(r, role, direction, LOCUS_FLOAT64, tokens, x, y);
    for (size_t i = 0; i < count; i++)
        sum += is_used(role, i / (HEADS * DIM)) ? w[i] * y[i] : 0;
    free(y);
    return sum;
}

static void backward(const rig *r, locus_role role, locus_direction direction, double *x, double *w, double *gx) {
    const size_t tokens = tokens_of(r, role);
    const locus_tensor tx = rig_view(r, role, x, LOCUS_FLOAT64, tokens);
    const locus_tensor tg = rig_view(r, role, w, LOCUS_FLOAT64, tokens);
    const locus_tensor tgx = rig_view(r, role, gx, LOCUS_FLOAT64, tokens);
    const locus_apply_gradients gradients = {
        .x = &tx, .gy = &tg, .gx = &tgx, .parameters = r->gradients, .parameter_count = r->count};
    locus_workspace workspace = rig_workspace(r, role, LOCUS_FLOAT64);
    const locus_execution execution = locus_execution_in(workspace);
    rig_ok(locus_apply_backward(r->plan, role, direction, &gradients, &execution, error));
    rig_workspace_free(workspace);
}

static void check_gradients(rig *r, locus_role role, locus_direction direction, size_t workspace) {
    const size_t count = tokens_of(r, role) * HEADS * DIM, elements = rig_elements(&r->info[0]);
    const double step = 1e-5;
    uint64_t state = 9;
    double *x = rig_normal(count, &state), *w = rig_normal(count, &state), *gx = calloc(count, sizeof *gx);
    double *A = r->values[0].data, *dA = r->gradients[0].data;
    assert_non_null(gx);
    memset(dA, 0, elements * sizeof *dA);
    backward(r, role, direction, x, w, gx);
    for (size_t i = 0; i < elements; i += 3) {
        const double kept = A[i];
        double side[2];
        for (int up = 0; up < 2; up++) {
            A[i] = kept + (up ? step : -step);
            rig_ok(locus_binding_update(&r->binding, r->values, r->count, error));
            place_with(r, workspace);
            side[up] = loss(r, role, direction, x, w);
        }
        A[i] = kept;
        assert_true(fabs((side[1] - side[0]) / (2 * step) - dA[i]) < 1e-6);
    }
    rig_ok(locus_binding_update(&r->binding, r->values, r->count, error));
    place_with(r, workspace);
    for (size_t i = 0; i < count; i += 7) {
        if (!is_used(role, i / (HEADS * DIM)))
            continue;
        const double kept = x[i];
        x[i] = kept + 1;
        const double up = loss(r, role, direction, x, w);
        x[i] = kept - 1;
        assert_true(fabs((up - loss(r, role, direction, x, w)) / 2 - gx[i]) < 1e-11);
        x[i] = kept;
    }
    free(x), free(w), free(gx);
}

static void test_gradients(void **state) {
    (void)state;
    for (size_t s = 0; s < 2; s++)
        for (size_t w = 0; w < 2; w++) {
            rig r;
            open_rig(&r, specs[s], workspaces[w]);
            check_gradients(&r, LOCUS_ROLE_QUERY, LOCUS_FORWARD, workspaces[w]);
            check_gradients(&r, LOCUS_ROLE_VALUE, LOCUS_INVERSE, workspaces[w]);
            check_gradients(&r, LOCUS_ROLE_OUTPUT, LOCUS_FORWARD, workspaces[w]);
            rig_close(&r);
        }
}

/* A side that is not acted on gives gx = gy, and parameters nothing. */
static void test_other_side(void **state) {
    rig r;
    uint64_t draw = 2;
    (void)state;
    open_rig(&r, "liere(group=seq, side=query)", 0);
    const size_t count = tokens_of(&r, LOCUS_ROLE_KEY) * HEADS * DIM;
    double *x = rig_normal(count, &draw), *w = rig_normal(count, &draw), *gx = calloc(count, sizeof *gx);
    assert_non_null(gx);
    backward(&r, LOCUS_ROLE_KEY, LOCUS_FORWARD, x, w, gx);
    for (size_t i = 0; i < count; i++)
        assert_true(gx[i] == (is_used(LOCUS_ROLE_KEY, i / (HEADS * DIM)) ? w[i] : 0));
    for (size_t i = 0; i < rig_elements(&r.info[0]); i++)
        assert_true(((const double *)r.gradients[0].data)[i] == 0);
    free(x), free(w), free(gx);
    rig_close(&r);
}

/* ---- the same bits on any number of threads, kept or not ---- */

typedef struct bits {
    double gx[64 * HEADS * DIM], gradients[HEADS * 2 * DIM * DIM];
    size_t plan_bytes;
} bits;

static void run_bits(size_t threads, size_t workspace, bits *out) {
    rig r;
    uint64_t draw = 4;
    assert_int_equal(locus_threads_set(threads), LOCUS_OK);
    open_rig(&r, "liere(values=on)", workspace);
    const size_t count = tokens_of(&r, LOCUS_ROLE_OUTPUT) * HEADS * DIM;
    assert_in_range(count, 1, sizeof out->gx / sizeof out->gx[0]);
    double *x = rig_normal(count, &draw), *w = rig_normal(count, &draw);
    memset(out, 0, sizeof *out);
    backward(&r, LOCUS_ROLE_OUTPUT, LOCUS_FORWARD, x, w, out->gx);
    memcpy(out->gradients, r.gradients[0].data, sizeof out->gradients);
    out->plan_bytes = locus_plan_bytes(r.plan);
    free(x), free(w);
    rig_close(&r);
    assert_int_equal(locus_threads_set(0), LOCUS_OK);
}

static void test_same_bits(void **state) {
    const size_t unit = HEADS * DIM * DIM * sizeof(double), small = 60 * unit; /* room for slots, not for matrices */
    bits kept, made, again;
    (void)state;
    run_bits(1, (size_t)1 << 30, &kept);
    run_bits(1, small, &made);
    assert_true(made.plan_bytes + 2 * 10 * unit <= kept.plan_bytes);
    for (size_t threads = 2; threads < 5; threads++) {
        run_bits(threads, (size_t)1 << 30, &again);
        assert_memory_equal(&again, &kept, sizeof kept);
        run_bits(threads, small, &again);
        assert_memory_equal(&again, &made, sizeof made);
    }
    assert_memory_equal(made.gx, kept.gx, sizeof made.gx);
    for (size_t i = 0; i < HEADS * 2 * DIM * DIM; i++) /* folded in other pieces */
        assert_true(fabs(made.gradients[i] - kept.gradients[i]) < 1e-12);
}

/* ---- laws ---- */

/* The matrix of one position of head 0, as columns. */
static void matrix_at(const char *spec, const int64_t *position, double *M) {
    const size_t offsets[] = {0, DIM};
    const locus_packing packing = {sizeof packing, 1, offsets, NULL};
    int64_t values[DIM * 2];
    double x[DIM * HEADS * DIM] = {0}, y[DIM * HEADS * DIM];
    rig r;
    rig_bind(&r, spec, rig_shape(HEADS, DIM, 0, 0), 3);
    const size_t axes = locus_group_coordinates(locus_binding_group(r.binding));
    for (size_t t = 0; t < DIM; t++) {
        x[t * HEADS * DIM + t] = 1;
        for (size_t a = 0; a < axes; a++)
            values[t * axes + a] = position[a];
    }
    rig_ok(locus_positions_create(&r.queries, locus_binding_group(r.binding), &packing, values, error));
    rig_ok(locus_plan_create(&r.plan, r.binding, r.queries, NULL, error));
    rig_apply(&r, LOCUS_ROLE_QUERY, LOCUS_FORWARD, LOCUS_FLOAT64, DIM, x, y);
    for (size_t i = 0; i < DIM; i++)
        for (size_t j = 0; j < DIM; j++)
            M[i * DIM + j] = y[j * HEADS * DIM + i];
    rig_close(&r);
}

/* The largest element of M_a M_b − M_ab. */
static double homomorphism_error(const char *spec, const int64_t *a, const int64_t *b) {
    const int64_t sum[] = {a[0] + b[0], a[1] + b[1]};
    double A[DIM * DIM], B[DIM * DIM], C[DIM * DIM], worst = 0;
    matrix_at(spec, a, A);
    matrix_at(spec, b, B);
    matrix_at(spec, sum, C);
    for (size_t i = 0; i < DIM; i++)
        for (size_t j = 0; j < DIM; j++) {
            double product = 0;
            for (size_t k = 0; k < DIM; k++)
                product += A[i * DIM + k] * B[k * DIM + j];
            worst = fmax(worst, fabs(product - C[i * DIM + j]));
        }
    return worst;
}

static void test_laws(void **state) {
    const int64_t one[] = {3, 0}, other[] = {0, 5}, zero[] = {0, 0}, far[] = {100000, -70000};
    double M[DIM * DIM];
    (void)state;
    assert_true(homomorphism_error("liere", one, other) > 1e-2); /* axes do not commute */
    assert_true(homomorphism_error("liere", one, one) < 1e-13);  /* one axis alone is a power */
    assert_true(homomorphism_error("liere(group=seq)", one, one) < 1e-13);
    matrix_at("liere", zero, M);
    for (size_t i = 0; i < DIM; i++)
        for (size_t j = 0; j < DIM; j++)
            assert_true(M[i * DIM + j] == (i == j));
    matrix_at("liere", far, M);
    for (size_t i = 0; i < DIM; i++)
        for (size_t j = 0; j < DIM; j++) {
            double product = 0;
            for (size_t k = 0; k < DIM; k++)
                product += M[i * DIM + k] * M[j * DIM + k];
            assert_true(fabs(product - (i == j)) < 1e-13);
        }
}

/* ---- refusals ---- */

static void test_refusals(void **state) {
    locus_encoding *encoding = NULL;
    locus_error error = {0};
    (void)state;
    assert_int_equal(locus_encoding_parse("liere(group=cycle:5)", &encoding, &error), LOCUS_ERROR_SPEC);
    assert_int_equal(locus_encoding_parse("liere(group=tree:2)", &encoding, &error), LOCUS_ERROR_SPEC);
    assert_int_equal(locus_encoding_parse("liere(values=on)", &encoding, &error), LOCUS_OK);
    size_t count = 0;
    const locus_shape wide = rig_shape(HEADS, DIM, DIM + 2, 0);
    assert_int_equal(locus_encoding_parameter_count(encoding, &wide, &count, &error), LOCUS_ERROR_SHAPE);
    locus_encoding_destroy(&encoding);
    rig r;
    rig_bind(&r, "liere(decay=learned:0.9)", rig_shape(HEADS, DIM, 0, 0), 1);
    assert_int_equal(r.count, 2);
    assert_string_equal(r.info[0].name, "generators");
    assert_string_equal(r.info[1].name, "rate");
    assert_true(((double *)r.values[1].data)[0] == 0.9);
    ((double *)r.values[1].data)[0] = -1;
    assert_int_equal(locus_binding_update(&r.binding, r.values, r.count, &error), LOCUS_ERROR_NUMERIC);
    ((double *)r.values[1].data)[0] = 0.9;
    ((double *)r.values[0].data)[1] = 1e308;
    ((double *)r.values[0].data)[DIM] = -1e308;
    assert_int_equal(locus_binding_update(&r.binding, r.values, r.count, &error), LOCUS_OK);
    r.queries = make_positions(locus_binding_group(r.binding), query_lengths, 0);
    assert_int_equal(locus_plan_create(&r.plan, r.binding, r.queries, NULL, &error), LOCUS_ERROR_NUMERIC);
    assert_non_null(strstr(error.message, "head 0"));
    const locus_plan_options nothing_kept = {.size = sizeof nothing_kept,
                                             .workspace = 64}; /* then a call would meet it, which cannot fail */
    assert_int_equal(locus_plan_create_with(&r.plan, r.binding, r.queries, NULL, &nothing_kept, &error),
                     LOCUS_ERROR_NUMERIC);
    rig_close(&r);
}

/* What is just below the limit is turned. */
static void test_limit(void **state) {
    static const int64_t position = -1;
    locus_error failure = {0};
    rig r;
    (void)state;
    rig_open(&r, "liere(group=seq)", rig_shape(1, 2, 0, 0), &position, 1);
    for (int below = 0; below < 2; below++) {
        const double A[] = {0, below ? nextafter(1e100, 0) : 1e100, 0, 0};
        memcpy(r.values[0].data, A, sizeof A);
        locus_plan_destroy(&r.plan);
        rig_ok(locus_binding_update(&r.binding, r.values, r.count, error));
        assert_int_equal(locus_plan_create(&r.plan, r.binding, r.queries, NULL, &failure),
                         below ? LOCUS_OK : LOCUS_ERROR_NUMERIC);
    }
    rig_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operators),  cmocka_unit_test(test_wide_heads), cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_other_side), cmocka_unit_test(test_same_bits),  cmocka_unit_test(test_laws),
        cmocka_unit_test(test_refusals),   cmocka_unit_test(test_limit),
    };
    threads_only("test_same_bits");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
