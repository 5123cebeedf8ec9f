/* SPDX-License-Identifier: MIT */
/* Rope on several axes: every layout of rope_sections.h against its definition written out pair by pair, in both
 * element types, whole and real-valued positions, forward and back. */
#include "../property/encoding_rig.h"

typedef struct axes_case {
    const char *spec;
    size_t dim, rotated, axes;
    bool half, listed, running, interleaved;
    size_t sections[3];
} axes_case;

static const axes_case cases[] = {
    {"rope(axes=2)", 16, 16, 2, false, false, false, false, {4, 4, 0}},
    {"rope(axes=2, pairs=half)", 16, 16, 2, true, false, false, false, {4, 4, 0}},
    {"rope(axes=3, pairs=half, rotate=18)", 23, 18, 3, true, false, false, false, {3, 3, 3}},
    {"rope(axes=3, rotate=66)", 70, 66, 3, false, false, false, false, {11, 11, 11}},
    {"rope(axes=2, pairs=half, frequencies=axial, sections=5:3)", 16, 16, 2, true, true, false, false, {5, 3, 0}},
    {"rope(axes=2, frequencies=axial, sections=2:6)", 16, 16, 2, false, true, false, false, {2, 6, 0}},
    {"rope(axes=2, frequencies=running)", 16, 16, 2, false, false, true, false, {4, 4, 0}},
    {"rope(sections=2:3:4, pairs=half)", 18, 18, 3, true, true, true, false, {2, 3, 4}},
    {"rope(sections=3:3:4)", 20, 20, 3, false, true, true, false, {3, 3, 4}},
    {"rope(sections=4:3:2, order=interleaved, pairs=half)", 18, 18, 3, true, true, true, true, {4, 3, 2}},
    {"rope(sections=40:4:20, order=interleaved, rotate=128)", 131, 128, 3, false, true, true, true, {40, 4, 20}},
    {"rope(sections=6:2, order=interleaved, pairs=half)", 16, 16, 2, true, true, true, true, {6, 2, 0}},
    {"rope(axes=2, frequencies=running, order=interleaved)", 12, 12, 2, false, false, true, true, {3, 3, 0}},
};

typedef struct pair {
    size_t x, y, axis;
    long double omega;
} pair;

/* Of the definitions: chunked sections one after another; interleaved axis 0 everywhere, axis a at i ≡ a (mod k) while
 * i < k·section. */
static size_t axis_of(const axes_case *c, size_t i) {
    if (c->interleaved)
        return i % c->axes > 0 && i < c->axes * c->sections[i % c->axes] ? i % c->axes : 0;
    size_t axis = 0;
    for (size_t end = c->sections[0]; i >= end; end += c->sections[axis])
        axis++;
    return axis;
}

static pair pair_of(const axes_case *c, size_t i) {
    const size_t pairs = c->rotated / 2;
    pair p = {.x = 2 * i, .y = 2 * i + 1, .axis = axis_of(c, i)};
    size_t first = 0;
    for (size_t axis = 0; axis < p.axis && !c->interleaved; axis++)
        first += c->sections[axis];
    if (c->half) {
        p.x = i;
        p.y = i + pairs;
    }
    if (c->half && !c->running && !c->listed) { /* within the block */
        p.x = 2 * first + i - first;
        p.y = p.x + c->sections[p.axis];
    }
    p.omega = c->running ? powl(10000, -2 * (long double)i / (long double)c->rotated)
                         : powl(10000, -(long double)(i - first) / (long double)c->sections[p.axis]);
    return p;
}

/* y = ⌈p⌉ x of one head. */
static void turn(const axes_case *c, const double *position, const double *x, double *y) {
    memcpy(y, x, c->dim * sizeof *y);
    for (size_t i = 0; i < c->rotated / 2; i++) {
        const pair p = pair_of(c, i);
        const long double angle = (long double)position[p.axis] * p.omega;
        y[p.x] = (double)((long double)x[p.x] * cosl(angle) - (long double)x[p.y] * sinl(angle));
        y[p.y] = (double)((long double)x[p.x] * sinl(angle) + (long double)x[p.y] * cosl(angle));
    }
}

enum { TOKENS = 75, HEADS = 3 };

static void fill_positions(size_t axes, bool real, int64_t *whole, double *values) {
    for (size_t t = 0; t < TOKENS; t++)
        for (size_t a = 0; a < axes; a++) {
            whole[t * axes + a] = (int64_t)((t * (7 + 3 * a)) % 50 + a * t) - 20;
            values[t * axes + a] = (double)whole[t * axes + a] + (real ? 0.37 * (double)(t % 3) : 0);
        }
}

static locus_positions *make_positions(size_t axes, bool real, double *values) {
    const size_t offsets[] = {0, TOKENS};
    const locus_packing packing = {.size = sizeof packing, .sequences = 1, .offsets = offsets};
    int64_t whole[TOKENS * 3];
    locus_group *group = NULL;
    locus_positions *positions = NULL;
    fill_positions(axes, real, whole, values);
    rig_ok(locus_group_parse(axes == 2 ? "grid:2" : "grid:3", &group, error));
    if (real)
        rig_ok(locus_positions_create_real(&positions, group, &packing, values, error));
    else
        rig_ok(locus_positions_create(&positions, group, &packing, whole, error));
    locus_group_destroy(&group);
    return positions;
}

static void check_case(const axes_case *c, bool real, size_t heads) {
    const size_t count = TOKENS * heads * c->dim;
    double values[TOKENS * 3], row[256];
    uint64_t random = 5;
    rig r;
    rig_bind(&r, c->spec, rig_shape(heads, c->dim, 0, 0), 1);
    rig_place(&r, make_positions(c->axes, real, values), NULL);
    double *x = rig_normal(count, &random), *y = rig_normal(count, &random);
    float *narrow = rig_narrow(x, count);
    rig_apply(&r, LOCUS_ROLE_KEY, LOCUS_FORWARD, LOCUS_FLOAT64, TOKENS, x, y);
    rig_apply(&r, LOCUS_ROLE_QUERY, LOCUS_FORWARD, LOCUS_FLOAT32, TOKENS, narrow, narrow);
    for (size_t t = 0; t < TOKENS; t++)
        for (size_t h = 0; h < heads; h++) {
            const size_t at = (t * heads + h) * c->dim;
            turn(c, values + t * c->axes, x + at, row);
            for (size_t i = 0; i < c->dim; i++) {
                if (fabs(y[at + i] - row[i]) > 1e-13 || fabs((double)narrow[at + i] - row[i]) > 2e-6)
                    fail_msg("%s, token %zu, element %zu: %.17g and %.9g, wanted %.17g", c->spec, t, i, y[at + i],
                             (double)narrow[at + i], row[i]);
            }
        }
    rig_apply(&r, LOCUS_ROLE_KEY, LOCUS_INVERSE, LOCUS_FLOAT64, TOKENS, y, y);
    for (size_t i = 0; i < count; i++)
        assert_true(fabs(y[i] - x[i]) < 1e-13);
    free(x), free(y), free(narrow);
    rig_close(&r);
}

static void layouts_are_as_defined(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t heads = 1; heads <= HEADS; heads += HEADS - 1) {
            check_case(&cases[i], false, heads);
            check_case(&cases[i], true, heads);
        }
}

/* Tokens whose numbers are all alike turn as on one axis, bit for bit: text inside a model of pictures. */
static void equal_numbers_are_one_axis(void **state) {
    enum { COUNT = 40, DIM = 36 };
    const char *const specs[] = {"rope(sections=8:6:4, pairs=half)",
                                 "rope(sections=6:6:6, order=interleaved, pairs=half)"};
    (void)state;
    for (size_t s = 0; s < 2; s++) {
        int64_t triples[COUNT * 3];
        uint64_t random = 9;
        for (size_t t = 0; t < COUNT; t++)
            for (size_t a = 0; a < 3; a++)
                triples[3 * t + a] = (int64_t)(t * 37 % 1000) - 100;
        const size_t offsets[] = {0, COUNT};
        const locus_packing packing = {.size = sizeof packing, .sequences = 1, .offsets = offsets};
        locus_positions *positions = NULL;
        rig many, one;
        rig_bind(&many, specs[s], rig_shape(2, DIM, 0, 0), 1);
        rig_ok(locus_positions_create(&positions, locus_encoding_group(many.encoding), &packing, triples, error));
        rig_place(&many, positions, NULL);
        for (size_t t = 0; t < COUNT; t++)
            triples[t] = triples[3 * t];
        rig_open(&one, "rope(pairs=half)", rig_shape(2, DIM, 0, 0), triples, COUNT);
        double *x = rig_normal(COUNT * 2 * DIM, &random);
        float *a = rig_narrow(x, COUNT * 2 * DIM), *b = rig_narrow(x, COUNT * 2 * DIM);
        rig_apply(&many, LOCUS_ROLE_QUERY, LOCUS_FORWARD, LOCUS_FLOAT32, COUNT, a, a);
        rig_apply(&one, LOCUS_ROLE_QUERY, LOCUS_FORWARD, LOCUS_FLOAT32, COUNT, b, b);
        assert_memory_equal(a, b, COUNT * 2 * DIM * sizeof *a);
        free(x), free(a), free(b);
        rig_close(&many);
        rig_close(&one);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layouts_are_as_defined),
        cmocka_unit_test(equal_numbers_are_one_axis),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
