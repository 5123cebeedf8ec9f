/* SPDX-License-Identifier: MIT */
/* The measurement of laws: what it finds of encodings whose laws are known, and the elements that it draws. */
#include "check/elements.h"
#include "check/laws.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const lab_law *find(const lab_laws *laws, const char *name) {
    for (size_t i = 0; i < laws->count; i++)
        if (strcmp(laws->items[i].name, name) == 0)
            return &laws->items[i];
    return NULL;
}

static void measure(lab_laws *laws, const char *spec) {
    lab_bound bound;
    locus_error error = {.offset = -1};
    const locus_shape shape = {.heads = 1, .head_dim = 8, .model_dim = 8};
    locus_status status = lab_bound_parse(&bound, spec, &error);
    if (status == LOCUS_OK)
        status = lab_bound_open(&bound, &shape, NULL, 3, &error);
    if (status == LOCUS_OK)
        status = lab_laws_measure(laws, &bound, 5, &error);
    if (status != LOCUS_OK)
        fail_msg("%s: %s", spec, error.message);
    lab_bound_close(&bound);
}

/* `fails`: names of laws that do not hold; every other one does. A promised one never fails. */
static void expect(const char *spec, size_t count, const char *fails) {
    lab_laws laws;
    measure(&laws, spec);
    assert_int_equal(laws.count, count);
    for (size_t i = 0; i < laws.count; i++) {
        const lab_law *law = &laws.items[i];
        if (law->holds == (strstr(fails, law->name) != NULL))
            fail_msg("%s: %s is off by %g", spec, law->name, law->error);
        assert_true(law->holds || !law->promised);
        assert_true(law->holds == (law->error <= law->tolerance));
    }
}

static void known_laws(void **state) {
    (void)state;
    expect("rope", 8, "");
    expect("algebraic(group=cycle:6)", 9, "");
    expect("algebraic(group=tree:2)", 8, "commutators");
    expect("rope(side=query)", 8, "relativity");
    expect("sinusoidal", 1, "relativity");
    expect("alibi", 1, "");
    expect("liere(group=grid:2)", 8, "homomorphism long_homomorphism commutators relativity");
}

/* The same seed, the same figures to the last bit. */
static void repeated(void **state) {
    lab_laws first, second;
    (void)state;
    measure(&first, "algebraic(group=seq*tree:2)");
    measure(&second, "algebraic(group=seq*tree:2)");
    for (size_t i = 0; i < first.count; i++)
        assert_true(first.items[i].error == second.items[i].error);
    assert_true(find(&first, "norm")->error > 0);
}

static void drawn(const char *name, int64_t reach, bool forward) {
    locus_error error;
    locus_group *group = NULL;
    assert_int_equal(locus_group_parse(name, &group, &error), LOCUS_OK);
    lab_elements elements = {.group = group, .random = {.seed = 1}, .reach = reach, .depth = 5, .forward = forward};
    for (size_t i = 0; i < 50; i++) {
        locus_path *path = NULL;
        char text[256];
        int64_t length;
        assert_int_equal(lab_element_draw(&elements, LAB_ELEMENT_ANY, &path, &error), LOCUS_OK);
        assert_int_equal(locus_path_length(path, &length, &error), LOCUS_OK);
        assert_true(length <= 3 * (reach + 5));
        locus_path_text(path, text, sizeof text);
        assert_true(!forward || strchr(text, '-') == NULL);
        locus_path_destroy(&path);
    }
    locus_group_destroy(&group);
}

static void elements_stay_near(void **state) {
    (void)state;
    drawn("seq", 40, false);
    drawn("seq*cycle:7*tree:3", 40, false);
    drawn("grid:2*tree:2", 3, true);
}

/* Both halves make the whole: steps on an axis, letters of a word. */
static void far_ends(void **state) {
    locus_error error;
    locus_group *group = NULL;
    locus_path *ends[2] = {NULL, NULL}, *whole = NULL;
    int64_t length;
    (void)state;
    assert_int_equal(locus_group_parse("seq*tree:2", &group, &error), LOCUS_OK);
    lab_elements elements = {.group = group, .random = {.seed = 2}};
    assert_int_equal(lab_element_far(&elements, 1000, 30, ends, &error), LOCUS_OK);
    assert_int_equal(locus_path_compose(ends[0], ends[1], &whole, &error), LOCUS_OK);
    assert_int_equal(locus_path_length(whole, &length, &error), LOCUS_OK);
    assert_int_equal(length, 1030);
    locus_path_destroy(&ends[0]);
    locus_path_destroy(&ends[1]);
    locus_path_destroy(&whole);
    locus_group_destroy(&group);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_laws),
        cmocka_unit_test(repeated),
        cmocka_unit_test(elements_stay_near),
        cmocka_unit_test(far_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
