/* SPDX-License-Identifier: MIT */
/* Gradients of rope where it has several axes, stretches, or stands at real-valued positions: inputs and learned
 * frequencies, every role, both directions (gradient_case.h). */
#include "gradient_case.h"

enum { TOKENS = 9 };
#define REACH 70.0

static const int64_t whole[TOKENS][3] = {{0, 0, 0},  {1, 5, -2}, {-3, 2, 2},  {7, 7, 7},    {70, -1, 4},
                                         {2, 64, 3}, {64, 9, 9}, {-64, 1, 0}, {12, -30, 33}};

static locus_positions *make_positions(const locus_encoding *encoding, bool real) {
    const size_t offsets[] = {0, TOKENS}, axes = locus_group_coordinates(locus_encoding_group(encoding));
    const locus_packing packing = {.size = sizeof packing, .sequences = 1, .offsets = offsets};
    locus_positions *positions = NULL;
    int64_t values[TOKENS * 3];
    double reals[TOKENS * 3];
    for (size_t t = 0; t < TOKENS; t++)
        for (size_t a = 0; a < axes; a++) {
            values[t * axes + a] = whole[t][a];
            reals[t * axes + a] = (double)whole[t][a] - (t % 2 == 0 ? 0.4 : 0.25);
        }
    if (real)
        rig_ok(locus_positions_create_real(&positions, locus_encoding_group(encoding), &packing, reals, error));
    else
        rig_ok(locus_positions_create(&positions, locus_encoding_group(encoding), &packing, values, error));
    return positions;
}

static void check_spec(const char *spec, locus_shape shape, bool real, locus_role last) {
    for (locus_role role = LOCUS_ROLE_QUERY; role <= last; role++) {
        gradient_case c = {.role = role, .tokens = TOKENS, .reach = REACH};
        rig_bind(&c.r, spec, shape, 7);
        rig_place(&c.r, make_positions(c.r.encoding, real), NULL);
        check_case(&c, 2e-8);
        rig_close(&c.r);
    }
}

static void axes_have_gradients(void **state) {
    static const char *const specs[] = {
        "rope(axes=3)",
        "rope(axes=3, learned=on)",
        "rope(axes=3, pairs=half, learned=on)",
        "rope(sections=1:3:2, learned=on)",
        "rope(sections=1:3:2, pairs=half, learned=on, side=key)",
        "rope(sections=2:2:2, order=interleaved, learned=on)",
        "rope(sections=3:2:1, order=interleaved, pairs=half, learned=on)",
        "rope(sections=4:2, frequencies=axial, pairs=half, learned=on)",
    };
    (void)state;
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
        for (int real = 0; real < 2; real++)
            check_spec(specs[i], rig_shape(2, 12, 0, 0), real, LOCUS_ROLE_KEY);
    check_spec("roper(axes=2, pairs=half, rotate=8, learned=on)", rig_shape(2, 11, 0, 0), false, LOCUS_ROLE_OUTPUT);
}

static void scalings_have_gradients(void **state) {
    static const char *const specs[] = {
        "rope(learned=on)",
        "rope(learned=on, scaling=linear, factor=3)",
        "rope(learned=on, scaling=yarn, factor=4, original=64, rotate=4)",
        "roper(learned=on, scaling=yarn, factor=4, original=64)",
        "rope(learned=on, scaling=yarn, factor=2, original=64, pairs=half, side=query)",
        "rope(scaling=longrope, factor=4, original=64, short=1:1.5:2, long=2:3:4)",
        "rope(scaling=dynamic, factor=4, original=64)",
    };
    (void)state;
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
        for (int real = 0; real < 2; real++)
            check_spec(specs[i], rig_shape(2, 6, 0, 0), real, LOCUS_ROLE_OUTPUT);
}

static void xpos_has_gradients(void **state) {
    (void)state;
    for (int real = 0; real < 2; real++) {
        check_spec("rope(xpos=512)", rig_shape(2, 6, 0, 0), real, LOCUS_ROLE_KEY);
        check_spec("rope(xpos=512, centre=20, pairs=half, learned=on)", rig_shape(2, 6, 0, 0), real, LOCUS_ROLE_KEY);
        check_spec("rope(xpos=300, gamma=0.9, rotate=4, learned=on, scaling=yarn, factor=2, original=64)",
                   rig_shape(1, 6, 0, 0), real, LOCUS_ROLE_KEY);
    }
}

/* The same walk serves learned operators; tokens in a row at one place have a way of their own. */
static void learned_operators_follow_real_positions(void **state) {
    static const char *const specs[] = {"mixed(group=grid:2)", "string(group=grid:2)", "algebraic(init=random)",
                                        "algebraic(group=grid:2)"};
    (void)state;
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
        check_spec(specs[i], rig_shape(2, 4, 0, 0), true, LOCUS_ROLE_KEY);
    enum { ROW = 24 };
    const size_t offsets[] = {0, ROW};
    const locus_packing packing = {.size = sizeof packing, .sequences = 1, .offsets = offsets};
    double places[ROW];
    for (size_t t = 0; t < ROW; t++)
        places[t] = t < 18 ? 6.75 : 6.25;
    for (size_t i = 0; i < 2; i++) {
        gradient_case c = {.role = LOCUS_ROLE_KEY, .tokens = ROW, .reach = REACH};
        rig_bind(&c.r, i == 0 ? "algebraic" : "string(group=seq)", rig_shape(2, 4, 0, 0), 7);
        locus_positions *positions = NULL;
        rig_ok(locus_positions_create_real(&positions, NULL, &packing, places, error));
        rig_place(&c.r, positions, NULL);
        check_case(&c, 2e-8);
        rig_close(&c.r);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(axes_have_gradients),
        cmocka_unit_test(scalings_have_gradients),
        cmocka_unit_test(xpos_has_gradients),
        cmocka_unit_test(learned_operators_follow_real_positions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
