/* SPDX-License-Identifier: MIT */
/* What must be exact, to the last bit: cycles. What must be the same but for rounding: groups that are one another,
 * positions however they are given, trees of any shape, a bounded workspace. */
#include "algebra_rig.h"

enum { HEADS = 2, DIM = 4, ROW = HEADS * DIM };

/* ---- cycles ---- */

static const int64_t periods[] = {1, 2, 3, 4, 5, 6, 7, 8, 12, 97, 360, 1000, 4096, 65537, 999983, 1000000};
#define PERIODS (sizeof periods / sizeof periods[0])

static locus_positions *values_on(const char *group_text, const int64_t *values, size_t count) {
    const size_t offsets[] = {0, count};
    const locus_packing packing = {.size = sizeof packing, .sequences = 1, .offsets = offsets, .lengths = NULL};
    locus_group *group = algebra_group(group_text);
    locus_positions *positions = NULL;
    rig_ok(locus_positions_create(&positions, group, &packing, values, error));
    locus_group_destroy(&group);
    return positions;
}

/* Token t of the first half stands at p, of the second half at p and whole turns: the same bits, in both types; and ⌈n⌉
 * is ⌈0⌉ is 1. */
static void check_period(const char *generator, int64_t n, uint64_t *state) {
    enum { HALF = 6, COUNT = 2 * HALF };
    const int64_t turns[] = {1, -1, 1000, -3, 1, 7};
    char group[64], spec[128];
    int64_t values[COUNT] = {0, 0, n / 2, n - 1, -1, n / 3};
    double x[COUNT * ROW], y[COUNT * ROW];
    float narrow[COUNT * ROW];
    rig r;
    for (size_t t = 0; t < HALF; t++)
        values[HALF + t] = values[t] + turns[t] * n;
    for (size_t i = 0; i < COUNT * ROW; i++)
        x[i] = i < HALF * ROW ? rig_random(state) : x[i - HALF * ROW];
    (void)snprintf(group, sizeof group, "cycle:%lld", (long long)n);
    (void)snprintf(spec, sizeof spec, "algebraic(group=%s, generator=%s)", group, generator);
    rig_bind(&r, spec, rig_shape(HEADS, DIM, 0, 0), (uint64_t)n);
    algebra_scatter(&r, 1, state);
    rig_place(&r, values_on(group, values, COUNT), NULL);
    rig_apply(&r, LOCUS_ROLE_QUERY, LOCUS_FORWARD, LOCUS_FLOAT64, COUNT, x, y);
    assert_memory_equal(y, y + HALF * ROW, HALF * ROW * sizeof *y);
    for (size_t i = 0; i < COUNT * ROW; i++)
        narrow[i] = (float)x[i];
    rig_apply(&r, LOCUS_ROLE_KEY, LOCUS_FORWARD, LOCUS_FLOAT32, COUNT, narrow, narrow);
    assert_memory_equal(narrow, narrow + HALF * ROW, HALF * ROW * sizeof *narrow);
    const bool exact = strcmp(generator, "angles") == 0; /* elsewhere the change of basis is rounded */
    for (size_t i = 0; i < 2 * ROW; i++) {
        assert_true(fabs(y[i] - x[i]) <= (exact ? 0 : 1e-14));
        assert_true(fabs((double)narrow[i] - (double)(float)x[i]) <= (exact ? 0 : 4e-6));
    }
    rig_close(&r);
}

static void test_periods(void **state) {
    (void)state;
    const char *const generators[] = {"skew", "cayley", "householder", "angles", "fixed"};
    uint64_t random = 0;
    for (size_t g = 0; g < 5; g++)
        for (size_t i = 0; i < PERIODS; i++)
            check_period(generators[g], periods[i], &random);
}

/* The angle of residue p is 2π (m p mod n)/n, m = max(1, round(n ω/2π)), to the last bits. */
static void test_cycle_angles(void **state) {
    (void)state;
    enum { COUNT = 7 };
    const long double turn = 2 * acosl(-1.0L);
    for (size_t i = 0; i < PERIODS; i++) {
        const int64_t n = periods[i], values[COUNT] = {0, 1, n - 1, n / 2, 123457 % n, 7 * n / 11, 999979 % n};
        char group[64], spec[128];
        double x[COUNT * DIM], y[COUNT * DIM];
        float narrow[COUNT * DIM];
        rig r;
        for (size_t j = 0; j < COUNT * DIM; j++) {
            x[j] = j % 2 == 0; /* pairs (1, 0): the result is (cos, sin) */
            narrow[j] = (float)x[j];
        }
        (void)snprintf(group, sizeof group, "cycle:%lld", (long long)n);
        (void)snprintf(spec, sizeof spec, "algebraic(group=%s, generator=angles)", group);
        rig_bind(&r, spec, rig_shape(1, DIM, 0, 0), 1);
        assert_int_equal(r.count, 0);
        rig_place(&r, values_on(group, values, COUNT), NULL);
        rig_apply(&r, LOCUS_ROLE_QUERY, LOCUS_FORWARD, LOCUS_FLOAT64, COUNT, x, y);
        rig_apply(&r, LOCUS_ROLE_QUERY, LOCUS_FORWARD, LOCUS_FLOAT32, COUNT, narrow, narrow);
        for (size_t t = 0; t < COUNT; t++)
            for (size_t pair = 0; pair < DIM / 2; pair++) {
                const double frequency = pair == 0 ? 1 : 0.01; /* 10000^(−2i/4) */
                const int64_t rounded = (int64_t)llround((double)n * frequency / (double)turn);
                const int64_t m = rounded > 1 ? rounded : 1;
                const long double angle = turn * (long double)(m * values[t] % n) / (long double)n;
                const double cosine = (double)cosl(angle), sine = (double)sinl(angle);
                const size_t at = t * DIM + 2 * pair;
                if (!(fabs(y[at] - cosine) <= 3e-16 && fabs(y[at + 1] - sine) <= 3e-16))
                    fail_msg("cycle:%lld at %lld, pair %zu: (%.17g, %.17g) is not (%.17g, %.17g)", (long long)n,
                             (long long)values[t], pair, y[at], y[at + 1], cosine, sine);
                assert_true(fabs((double)narrow[at] - cosine) <= 1.2e-7);
                assert_true(fabs((double)narrow[at + 1] - sine) <= 1.2e-7);
            }
        rig_close(&r);
    }
}

/* ---- groups that are one another ---- */

enum { LINE = 41 };

/* Positions −20 … 20 under a spec, as words of `tree:1` if wanted; parameters of both sides are the same numbers. */
static void on_line(const char *spec, const char *group_text, size_t dim, double scale, double *y, float *narrow) {
    locus_group *group = algebra_group(group_text);
    locus_path *paths[LINE];
    uint64_t random = 11, draws = 12;
    rig r;
    for (size_t t = 0; t < LINE; t++) {
        const int value = (int)t - LINE / 2;
        char text[64];
        size_t used = (size_t)snprintf(text, sizeof text, "%d", strcmp(group_text, "tree:1") == 0 ? 0 : value);
        if (strcmp(group_text, "tree:1") == 0 && value != 0) {
            used = 0;
            for (int i = 0; i < abs(value); i++)
                used += (size_t)snprintf(text + used, sizeof text - used, "%s1", value < 0 ? "-" : i > 0 ? "+" : "");
        }
        paths[t] = algebra_path(group, text);
    }
    rig_bind(&r, spec, rig_shape(HEADS, dim, 0, 0), 1);
    if (scale > 0)
        algebra_scatter(&r, scale, &draws);
    rig_place(&r, algebra_positions(group, paths, LINE), NULL);
    double *x = rig_normal(LINE * HEADS * dim, &random);
    for (size_t i = 0; i < LINE * HEADS * dim; i++)
        narrow[i] = (float)x[i];
    rig_apply(&r, LOCUS_ROLE_QUERY, LOCUS_FORWARD, LOCUS_FLOAT64, LINE, x, y);
    rig_apply(&r, LOCUS_ROLE_QUERY, LOCUS_FORWARD, LOCUS_FLOAT32, LINE, narrow, narrow);
    free(x);
    for (size_t t = 0; t < LINE; t++)
        locus_path_destroy(&paths[t]);
    rig_close(&r);
    locus_group_destroy(&group);
}

static void assert_same_line(const char *spec, const char *group, const char *other, const char *other_group,
                             double scale) {
    enum { WIDE = 6, ALL = LINE * HEADS * WIDE };
    double y[2][ALL];
    float narrow[2][ALL];
    on_line(spec, group, WIDE, scale, y[0], narrow[0]);
    on_line(other, other_group, WIDE, scale, y[1], narrow[1]);
    for (size_t i = 0; i < ALL; i++)
        if (!(fabs(y[0][i] - y[1][i]) < 1e-7 && fabs((double)narrow[0][i] - (double)narrow[1][i]) < 3e-6))
            fail_msg("%s and %s differ: %.9g and %.9g, in float %.9g and %.9g", spec, other, y[0][i], y[1][i],
                     (double)narrow[0][i], (double)narrow[1][i]);
}

static void test_equal_groups(void **state) {
    (void)state;
    const char *const kinds[] = {"skew", "cayley", "householder", "angles"};
    for (size_t k = 0; k < 4; k++) {
        char one[128], other[128];
        (void)snprintf(one, sizeof one, "algebraic(group=seq, generator=%s)", kinds[k]);
        (void)snprintf(other, sizeof other, "algebraic(group=tree:1, generator=%s)", kinds[k]);
        assert_same_line(one, "seq", other, "tree:1", 0.5);
        (void)snprintf(other, sizeof other, "algebraic(group=(grid:1), generator=%s)", kinds[k]);
        assert_same_line(one, "seq", other, "grid:1", 0.5);
    }
    assert_same_line("mixed(group=seq)", "seq", "mixed(group=grid:1)", "grid:1", 0.5);
    assert_same_line("liere(group=seq)", "seq", "algebraic", "seq", 0.2); /* one axis: exp(pS) both */
}

/* A generator in RoPE's basis is rope; a cycle too large to close is a sequence. */
static void test_rope_is_the_normal_form(void **state) {
    (void)state;
    assert_same_line("algebraic(generator=angles)", "seq", "rope", "seq", 0);
    assert_same_line("algebraic(group=cycle:1000000000039, generator=angles)", "cycle:1000000000039", "rope", "seq", 0);
    enum { WIDE = 6, ALL = LINE * HEADS * WIDE };
    uint64_t random = 11;
    int64_t values[LINE];
    rig r;
    double *x = rig_normal(ALL, &random), y[ALL], want[ALL];
    float narrow[ALL];
    for (size_t t = 0; t < LINE; t++)
        values[t] = (int64_t)t - LINE / 2;
    rig_bind(&r, "algebraic", rig_shape(HEADS, WIDE, 0, 0), 1);
    memset(r.values[0].data, 0, rig_elements(&r.info[0]) * sizeof(double));
    for (size_t h = 0; h < HEADS; h++)
        for (size_t i = 0; i < WIDE / 2; i++)
            ((double *)r.values[0].data)[(h * WIDE + 2 * i + 1) * WIDE + 2 * i] = pow(10000, -2.0 * (double)i / WIDE);
    rig_ok(locus_binding_update(&r.binding, r.values, r.count, error));
    rig_place(&r, values_on("seq", values, LINE), NULL);
    rig_apply(&r, LOCUS_ROLE_QUERY, LOCUS_FORWARD, LOCUS_FLOAT64, LINE, x, y);
    on_line("rope", "seq", WIDE, 0, want, narrow);
    for (size_t i = 0; i < ALL; i++)
        assert_true(fabs(y[i] - want[i]) < 1e-12);
    free(x);
    rig_close(&r);
}

/* ---- trees: nodes and words, deep paths, a small workspace ---- */

enum { NODES = 3000, TREE_DIM = 6, TREE_ROW = HEADS * TREE_DIM };

typedef struct tree_nodes {
    size_t parents[NODES];
    int64_t branches[NODES], at[NODES];
} tree_nodes;

enum tree_shape { TREE_BUSHY, TREE_PATH, TREE_COMB };

/* A node for each token, the token's own. */
static void draw_nodes(tree_nodes *tree, enum tree_shape shape, uint64_t *state) {
    memset(tree, 0, sizeof *tree);
    for (size_t i = 1; i < NODES; i++) {
        const size_t back = shape == TREE_COMB && i % 2 == 1 && i > 1 ? 2 : 1; /* teeth hang on the even nodes */
        tree->parents[i] = shape == TREE_BUSHY ? (size_t)algebra_below(state, (int64_t)i) : i - back;
        tree->branches[i] = (algebra_below(state, 4) == 0 ? -1 : 1) * (1 + algebra_below(state, 2));
        tree->at[i] = (int64_t)i;
    }
}

static locus_positions *node_positions(const tree_nodes *tree) {
    const size_t offsets[] = {0, NODES};
    const locus_packing packing = {.size = sizeof packing, .sequences = 1, .offsets = offsets, .lengths = NULL};
    const locus_position_column column = {.size = sizeof column,
                                          .values = tree->at,
                                          .branches = tree->branches,
                                          .parents = tree->parents,
                                          .node_count = NODES};
    locus_group *group = algebra_group("tree:2");
    locus_positions *positions = NULL;
    rig_ok(locus_positions_create_columns(&positions, group, &packing, &column, error));
    locus_group_destroy(&group);
    return positions;
}

/* W_1, W_2 of every head, from exp(A − Aᵀ) in long double. */
static long double *read_generators(const rig *r) {
    const size_t square = TREE_DIM * TREE_DIM;
    long double *W = calloc(HEADS * 2 * square, sizeof *W);
    assert_non_null(W);
    for (size_t i = 0; i < HEADS * 2; i++)
        dense_exponential(TREE_DIM, (const double *)r->values[0].data + i * square, W + i * square);
    return W;
}

/* Matrices node by node, P_child = P_parent W, against the library, in both types. */
static void check_tree(enum tree_shape shape, uint64_t *state) {
    const size_t square = TREE_DIM * TREE_DIM, all = NODES * TREE_ROW;
    tree_nodes *tree = malloc(sizeof *tree);
    assert_non_null(tree);
    draw_nodes(tree, shape, state);
    rig r;
    rig_bind(&r, "algebraic(group=tree:2)", rig_shape(HEADS, TREE_DIM, 0, 0), 2);
    algebra_scatter(&r, 0.3, state);
    rig_place(&r, node_positions(tree), NULL);
    double *x = rig_normal(all, state), *y = calloc(all, sizeof *y);
    float *narrow = rig_narrow(x, all);
    long double *W = read_generators(&r), *P = calloc(NODES * square, sizeof *P), turned[36];
    assert_true(y && P);
    rig_apply(&r, LOCUS_ROLE_KEY, LOCUS_FORWARD, LOCUS_FLOAT64, NODES, x, y);
    rig_apply(&r, LOCUS_ROLE_KEY, LOCUS_FORWARD, LOCUS_FLOAT32, NODES, narrow, narrow);
    for (size_t h = 0; h < HEADS; h++)
        for (size_t node = 0; node < NODES; node++) {
            const int64_t branch = tree->branches[node];
            const long double *step = W + (h * 2 + (branch > 1 || branch < -1)) * square;
            for (size_t i = 0; i < square; i++)
                turned[i] = node == 0 ? (i % (TREE_DIM + 1) == 0)
                                      : step[branch > 0 ? i : i % TREE_DIM * TREE_DIM + i / TREE_DIM];
            if (node == 0)
                memcpy(P, turned, square * sizeof *P);
            else
                dense_product(TREE_DIM, P + tree->parents[node] * square, turned, P + node * square);
            for (size_t i = 0; i < TREE_DIM; i++) {
                const size_t at = (node * HEADS + h) * TREE_DIM;
                long double want = 0;
                for (size_t j = 0; j < TREE_DIM; j++)
                    want += P[node * square + i * TREE_DIM + j] * (long double)x[at + j];
                if (!(fabs((double)(want - (long double)y[at + i])) < 2e-11 &&
                      fabs((double)(want - (long double)narrow[at + i])) < 1e-4))
                    fail_msg("node %zu, head %zu: %.17Lg, got %.17g, in float %.9g", node, h, want, y[at + i],
                             (double)narrow[at + i]);
            }
        }
    free(x), free(y), free(narrow), free(W), free(P), free(tree);
    rig_close(&r);
}

static void test_trees_of_all_shapes(void **state) {
    (void)state;
    uint64_t random = 9000;
    for (int shape = TREE_BUSHY; shape <= TREE_COMB; shape++)
        check_tree((enum tree_shape)shape, &random);
}

/* Forward, and backward with gradients of generators, in less workspace than all the matrices need. */
static void test_bounded_workspace(void **state) {
    (void)state;
    const size_t all = NODES * TREE_ROW, learned = HEADS * 2 * TREE_DIM * TREE_DIM, bound = (size_t)1 << 20;
    uint64_t random = 9900;
    double *y[2], *gx[2], gradient[2][HEADS * 2 * TREE_DIM * TREE_DIM];
    tree_nodes *tree = malloc(sizeof *tree);
    assert_non_null(tree);
    draw_nodes(tree, TREE_BUSHY, &random);
    double *x = rig_normal(all, &random), *gy = rig_normal(all, &random);
    memset(gradient, 0, sizeof gradient);
    for (int small = 0; small < 2; small++) {
        rig r;
        rig_bind(&r, "algebraic(group=tree:2)", rig_shape(HEADS, TREE_DIM, 0, 0), 2);
        rig_place(&r, node_positions(tree), NULL);
        if (small) {
            locus_plan_options options = locus_plan_options_default();
            options.workspace = bound;
            locus_plan_destroy(&r.plan);
            rig_ok(locus_plan_create_with(&r.plan, r.binding, r.queries, NULL, &options, error));
            assert_true(locus_apply_workspace(r.plan, LOCUS_ROLE_QUERY, LOCUS_FLOAT64, NULL) <= bound);
        }
        y[small] = calloc(all, sizeof(double));
        gx[small] = calloc(all, sizeof(double));
        assert_true(y[small] && gx[small]);
        rig_apply(&r, LOCUS_ROLE_QUERY, LOCUS_FORWARD, LOCUS_FLOAT64, NODES, x, y[small]);
        locus_tensor xt = rig_view(&r, LOCUS_ROLE_QUERY, x, LOCUS_FLOAT64, NODES), gt = xt, out = xt;
        locus_tensor parameter = locus_tensor_view(gradient[small], LOCUS_FLOAT64, 4, r.info[0].shape);
        gt.data = gy, out.data = gx[small];
        const locus_apply_gradients backward = {
            .x = &xt, .gy = &gt, .gx = &out, .parameters = &parameter, .parameter_count = 1};
        locus_workspace workspace = rig_workspace(&r, LOCUS_ROLE_QUERY, LOCUS_FLOAT64);
        const locus_execution execution = locus_execution_in(workspace);
        rig_ok(locus_apply_backward(r.plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &backward, &execution, error));
        rig_workspace_free(workspace);
        rig_close(&r);
    }
    for (size_t i = 0; i < all; i++)
        assert_true(fabs(y[0][i] - y[1][i]) < 1e-12 && fabs(gx[0][i] - gx[1][i]) < 1e-12);
    for (size_t i = 0; i < learned; i++)
        assert_true(fabs(gradient[0][i] - gradient[1][i]) < 1e-10 * (1 + fabs(gradient[0][i])));
    for (int small = 0; small < 2; small++)
        free(y[small]), free(gx[small]);
    free(x), free(gy), free(tree);
}

/* The same words as words, as paths, and as nodes that repeat one another, on a product. */
static void test_positions_however_given(void **state) {
    (void)state;
    enum { COUNT = 60, LETTERS = 7, WIDE = 8, ALL = COUNT * HEADS * WIDE };
    static int64_t words[COUNT * LETTERS], values[COUNT], at[COUNT], branches[1 + COUNT * LETTERS];
    static size_t starts[COUNT + 1], parents[1 + COUNT * LETTERS];
    static double x[ALL], y[3][ALL];
    uint64_t random = 9990;
    size_t nodes = 1;
    locus_group *group = algebra_group("seq*tree:3");
    locus_path *paths[COUNT];
    for (size_t t = 0; t < COUNT; t++) {
        int64_t *word = words + starts[t];
        const size_t length = algebra_word(3, LETTERS, &random, word);
        char text[256];
        values[t] = algebra_below(&random, 50) - 25;
        size_t used = (size_t)snprintf(text, sizeof text, "(%lld,%s", (long long)values[t], length ? "" : "0");
        for (size_t i = 0; i < length; i++) {
            used += (size_t)snprintf(text + used, sizeof text - used, "%+lld", (long long)word[i]);
            parents[nodes] = i == 0 ? 0 : nodes - 1;
            branches[nodes++] = word[i];
        }
        (void)snprintf(text + used, sizeof text - used, ")");
        char *plus = strstr(text, ",+"); /* a word begins without its plus */
        if (plus)
            memmove(plus + 1, plus + 2, strlen(plus + 2) + 1);
        paths[t] = algebra_path(group, text);
        at[t] = length ? (int64_t)nodes - 1 : 0;
        starts[t + 1] = starts[t] + length;
    }
    for (size_t i = 0; i < ALL; i++)
        x[i] = rig_random(&random);
    const size_t offsets[] = {0, 25, COUNT};
    const locus_packing packing = {.size = sizeof packing, .sequences = 2, .offsets = offsets, .lengths = NULL};
    const locus_position_column by_words[] = {
        {.size = sizeof(locus_position_column), .values = values},
        {.size = sizeof(locus_position_column), .branches = words, .starts = starts}};
    const locus_position_column by_nodes[] = {{.size = sizeof(locus_position_column), .values = values},
                                              {.size = sizeof(locus_position_column),
                                               .values = at,
                                               .branches = branches,
                                               .parents = parents,
                                               .node_count = nodes}};
    for (size_t way = 0; way < 3; way++) {
        locus_positions *positions = NULL;
        rig r;
        if (way == 0)
            rig_ok(locus_positions_create_paths(&positions, group, &packing, (const locus_path *const *)paths, error));
        else
            rig_ok(locus_positions_create_columns(&positions, group, &packing, way == 1 ? by_words : by_nodes, error));
        rig_bind(&r, "algebraic(group=seq*tree:3)", rig_shape(HEADS, WIDE, 0, 0), 2);
        rig_place(&r, positions, NULL);
        rig_apply(&r, LOCUS_ROLE_QUERY, LOCUS_FORWARD, LOCUS_FLOAT64, COUNT, x, y[way]);
        rig_close(&r);
    }
    for (size_t i = 0; i < ALL; i++)
        assert_true(fabs(y[0][i] - y[1][i]) < 1e-13 && fabs(y[0][i] - y[2][i]) < 1e-13);
    for (size_t t = 0; t < COUNT; t++)
        locus_path_destroy(&paths[t]);
    locus_group_destroy(&group);
}

/* The low part of position × angle is no small angle where the product is large: operators stay orthogonal, and a
 * turn of exactly representable angles is the sum of its parts. */
static void test_huge_angles(void **state) {
    (void)state;
    enum { TOKENS = 3 };
    const int64_t far = ((int64_t)1 << 40) - 3, values[TOKENS] = {far, 1000000007, far - 1000000007};
    double x[TOKENS][2];
    rig r;
    rig_bind(&r, "algebraic(generator=angles)", rig_shape(1, 2, 0, 0), 1);
    ((double *)r.values[0].data)[0] = 123456789.0625;
    rig_place(&r, rig_positions(values, TOKENS), NULL);
    rig_update(&r);
    for (size_t t = 0; t < TOKENS; t++)
        x[t][0] = 1, x[t][1] = 0;
    locus_tensor view = rig_view(&r, LOCUS_ROLE_QUERY, x, LOCUS_FLOAT64, TOKENS);
    locus_workspace workspace = rig_workspace(&r, LOCUS_ROLE_QUERY, LOCUS_FLOAT64);
    const locus_execution execution = locus_execution_in(workspace);
    rig_ok(locus_apply(r.plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &view, &view, &execution, error));
    for (size_t t = 0; t < TOKENS; t++)
        assert_true(fabs(hypot(x[t][0], x[t][1]) - 1) < 1e-14);
    assert_true(fabs(x[1][0] * x[2][0] - x[1][1] * x[2][1] - x[0][0]) < 1e-13);
    assert_true(fabs(x[1][0] * x[2][1] + x[1][1] * x[2][0] - x[0][1]) < 1e-13);
    rig_workspace_free(workspace);
    rig_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_huge_angles),
        cmocka_unit_test(test_periods),
        cmocka_unit_test(test_cycle_angles),
        cmocka_unit_test(test_equal_groups),
        cmocka_unit_test(test_rope_is_the_normal_form),
        cmocka_unit_test(test_trees_of_all_shapes),
        cmocka_unit_test(test_bounded_workspace),
        cmocka_unit_test(test_positions_however_given),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
