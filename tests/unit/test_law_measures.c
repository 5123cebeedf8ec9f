/* SPDX-License-Identifier: MIT */
/* The measurement of laws: what it finds of encodings whose laws are known, and the elements that it draws. */
#include "check/elements.h"
#include "check/laws.h"
#include "figures/elements_text.h"

#include <locus/extension.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
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

/* `promised`: names of the laws that are; tolerances are those of words where there are trees. */
static void expect_promised(const char *spec, const char *promised, bool words) {
    lab_laws laws;
    char names[200] = "";
    measure(&laws, spec);
    for (size_t i = 0; i < laws.count; i++) {
        const lab_law *law = &laws.items[i];
        const bool far = strcmp(law->name, "long_homomorphism") == 0 || strcmp(law->name, "drift") == 0;
        assert_true(law->tolerance == (strcmp(law->name, "period") == 0 ? 0 : !far ? 1e-10 : words ? 1e-4 : 1e-5));
        if (law->promised)
            snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", names[0] ? " " : "", law->name);
    }
    if (strcmp(names, promised) != 0)
        fail_msg("%s: %s", spec, names);
}

static void promises(void **state) {
    (void)state;
#define GROUP "homomorphism inverse orthogonality norm "
    expect_promised("rope", GROUP "commutators long_homomorphism drift relativity", false);
    expect_promised("algebraic(group=cycle:6)", GROUP "commutators long_homomorphism drift period relativity", false);
    expect_promised("algebraic(group=tree:2)", GROUP "long_homomorphism drift relativity", true);
    expect_promised("algebraic(group=tree:1)", GROUP "commutators long_homomorphism drift relativity", true);
    expect_promised("algebraic(group=tree:1*seq)", GROUP "commutators long_homomorphism drift relativity", true);
    expect_promised("algebraic(group=tree:2*seq)", GROUP "long_homomorphism drift relativity", true);
    expect_promised("algebraic(group=seq*tree:2)", GROUP "long_homomorphism drift relativity", true);
    expect_promised("algebraic(group=cycle:6*seq)", GROUP "commutators long_homomorphism drift period relativity",
                    false);
    expect_promised("liere(group=grid:2)", "inverse orthogonality norm drift", false);
    expect_promised("sinusoidal", "", false);
    expect_promised("alibi", "relativity", false);
}

static void expect_error(const lab_laws *laws, const char *name, double wanted, double least) {
    const lab_law *law = find(laws, name);
    assert_non_null(law);
    if (!(law->error <= wanted + 1e-6 && law->error >= wanted - least))
        fail_msg("%s is off by %.9g, not by %.9g", name, law->error, wanted);
    assert_false(law->holds);
}

/* YaRN turns and stretches by m = 1 + ln(factor)/10 (Peng et al. 2024): what is off is off by powers of m. An entry of
 * a product is a cosine at most, which comes near to 1. */
static void known_errors(void **state) {
    lab_laws laws;
    const double m = 1 + 0.1 * log(4);
    (void)state;
    expect("rope(scaling=yarn, factor=4, original=64)", 8,
           "homomorphism inverse orthogonality norm long_homomorphism drift");
    measure(&laws, "rope(scaling=yarn, factor=4, original=64)");
    expect_error(&laws, "norm", m - 1, 1e-12);
    expect_error(&laws, "inverse", m * m - 1, 1e-12);
    expect_error(&laws, "orthogonality", m * m - 1, 1e-12);
    expect_error(&laws, "drift", m * m - 1, 1e-6);
    expect_error(&laws, "homomorphism", m * m - m, 1e-3);
    expect_error(&laws, "long_homomorphism", m * m - m, 0.03);
    assert_true(find(&laws, "commutators")->error < 1e-12);
    expect("rope(xpos=64)", 8, "orthogonality norm drift"); /* ζ^−a undoes ζ^a */
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

/* What is drawn of one coordinate, over many draws: from where to where values go, the longest word, the letters. */
typedef struct drawn {
    int64_t low, high, least_letter, most_letter;
    size_t longest;
} drawn;

static void take(drawn *seen, const locus_path *path, size_t coordinate) {
    lab_element element;
    locus_error error;
    assert_int_equal(lab_element_read(&element, path, &error), LOCUS_OK);
    const lab_part *part = &element.parts[coordinate];
    seen->low = part->value < seen->low ? part->value : seen->low;
    seen->high = part->value > seen->high ? part->value : seen->high;
    seen->longest = part->letters > seen->longest ? part->letters : seen->longest;
    for (size_t i = 0; i < part->letters; i++) {
        const int64_t letter = element.letters[part->first + i];
        seen->least_letter = letter < seen->least_letter ? letter : seen->least_letter;
        seen->most_letter = letter > seen->most_letter ? letter : seen->most_letter;
    }
    lab_element_free(&element);
}

static void expect_drawn(const drawn *found, drawn wanted) {
    assert_int_equal(found->low, wanted.low);
    assert_int_equal(found->high, wanted.high);
    assert_int_equal(found->longest, wanted.longest);
    assert_int_equal(found->least_letter, wanted.least_letter);
    assert_int_equal(found->most_letter, wanted.most_letter);
}

/* On seq*cycle:7*tree:3 with words of nine letters at most. */
static void expect_elements(lab_element_kind kind, int64_t reach, bool forward, drawn axis, drawn word) {
    locus_error error;
    locus_group *group = NULL;
    drawn seen[3] = {{0}, {0}, {0}};
    assert_int_equal(locus_group_parse("seq*cycle:7*tree:3", &group, &error), LOCUS_OK);
    lab_elements elements = {.group = group, .random = {.seed = 1}, .reach = reach, .depth = 9, .forward = forward};
    for (size_t i = 0; i < 2000; i++) {
        locus_path *path = NULL;
        assert_int_equal(lab_element_draw(&elements, kind, &path, &error), LOCUS_OK);
        for (size_t c = 0; c < 3; c++)
            take(&seen[c], path, c);
        locus_path_destroy(&path);
    }
    expect_drawn(&seen[0], axis);
    expect_drawn(&seen[1], (drawn){.high = 6});
    expect_drawn(&seen[2], word);
    locus_group_destroy(&group);
}

/* Everything within reach is drawn, and nothing beyond; short paths have six steps or letters at most. */
static void elements_stay_within_reach(void **state) {
    (void)state;
    const drawn words = {.least_letter = -3, .most_letter = 3, .longest = 9};
    const drawn few = {.least_letter = -3, .most_letter = 3, .longest = 6};
    const drawn ahead = {.most_letter = 3, .longest = 9};
    expect_elements(LAB_ELEMENT_ANY, 40, false, (drawn){.low = -40, .high = 40}, words);
    expect_elements(LAB_ELEMENT_ANY, 3, false, (drawn){.low = -3, .high = 3}, words);
    expect_elements(LAB_ELEMENT_ANY, 40, true, (drawn){.high = 40}, ahead);
    expect_elements(LAB_ELEMENT_SHORT, 40, false, (drawn){.low = -6, .high = 6}, few);
    expect_elements(LAB_ELEMENT_SHORT, 4, true, (drawn){.high = 4}, (drawn){.most_letter = 3, .longest = 6});
}

/* A million steps are drawn as often as ten: upper bounds are 6, 60, … 6,000,000, each with a seventh of the values,
 * and of those below 6·10^k all but a share of 10^(d − k) are above 6·10^d. */
static void magnitudes_are_alike(void **state) {
    (void)state;
    locus_error error;
    locus_group *group = NULL;
    size_t above[7] = {0};
    assert_int_equal(locus_group_parse("seq", &group, &error), LOCUS_OK);
    lab_elements elements = {.group = group, .random = {.seed = 3}, .reach = 6000000};
    for (size_t i = 0; i < 2000; i++) {
        locus_path *path = NULL;
        int64_t length;
        assert_int_equal(lab_element_draw(&elements, LAB_ELEMENT_ANY, &path, &error), LOCUS_OK);
        assert_int_equal(locus_path_length(path, &length, &error), LOCUS_OK);
        for (size_t d = 0, least = 6; d < 7; d++, least *= 10)
            above[d] += (size_t)length > least;
        locus_path_destroy(&path);
    }
    for (size_t d = 0; d < 6; d++) {
        const double wanted = 2000.0 * ((double)(6 - d) - 0.11) / 7;
        assert_true(fabs((double)above[d] - wanted) < 100);
    }
    assert_int_equal(above[6], 0);
    /* Bounds of 6, 60 and 69, which has five sevenths: with it nine values of 70 are above 60. */
    elements.reach = 69;
    size_t last = 0;
    for (size_t i = 0; i < 20000; i++) {
        locus_path *path = NULL;
        int64_t length;
        assert_int_equal(lab_element_draw(&elements, LAB_ELEMENT_ANY, &path, &error), LOCUS_OK);
        assert_int_equal(locus_path_length(path, &length, &error), LOCUS_OK);
        last += length > 60;
        locus_path_destroy(&path);
    }
    assert_true(fabs((double)last - 20000.0 * 5 / 7 * 9 / 70) < 130); /* three deviations */
    locus_group_destroy(&group);
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

/* Each coordinate is parted by itself, anywhere; residues are any. */
static void far_ends_are_parted_anywhere(void **state) {
    (void)state;
    locus_error error;
    locus_group *group = NULL;
    drawn first[3] = {{0}, {0}, {0}}, second[3] = {{0}, {0}, {0}};
    size_t apart = 0;
    assert_int_equal(locus_group_parse("grid:2*cycle:5", &group, &error), LOCUS_OK);
    lab_elements elements = {.group = group, .random = {.seed = 2}};
    for (size_t i = 0; i < 300; i++) {
        locus_path *ends[2] = {NULL, NULL};
        lab_element element, other;
        assert_int_equal(lab_element_far(&elements, 4, 0, ends, &error), LOCUS_OK);
        for (size_t c = 0; c < 3; c++) {
            take(&first[c], ends[0], c);
            take(&second[c], ends[1], c);
        }
        assert_int_equal(lab_element_read(&element, ends[0], &error), LOCUS_OK);
        assert_int_equal(lab_element_read(&other, ends[1], &error), LOCUS_OK);
        for (size_t c = 0; c < 2; c++)
            assert_int_equal(element.parts[c].value + other.parts[c].value, 4);
        apart += element.parts[0].value != element.parts[1].value;
        lab_element_free(&element);
        lab_element_free(&other);
        locus_path_destroy(&ends[0]);
        locus_path_destroy(&ends[1]);
    }
    for (size_t c = 0; c < 3; c++) {
        expect_drawn(&first[c], (drawn){.high = 4});
        expect_drawn(&second[c], (drawn){.high = 4});
    }
    assert_true(apart > 200);
    locus_group_destroy(&group);
}

/* ---- what encodings from outside are asked for ---- */

static void register_own(const char *name, locus_extension_kind kind, locus_extension_values *values, void *context) {
    locus_error error;
    const locus_encoding_description description = {.size = sizeof description,
                                                    .name = name,
                                                    .summary = "for the measurement of laws",
                                                    .kind = kind,
                                                    .context = context,
                                                    .values = values};
    assert_int_equal(locus_encoding_register(&description, &error), LOCUS_OK);
}

typedef struct samples {
    size_t near, far; /* of at most four positions: all within twelve steps, or not */
} samples;

/* The identity wherever it is asked for. */
static locus_status stand_still(const locus_extension_batch *batch, double *values, locus_error *error) {
    const size_t dim = batch->head_dim;
    samples *seen = batch->context;
    bool near = true;
    (void)error;
    for (size_t i = 0; i < batch->count; i++) {
        near = near && fabs(batch->query.values[i]) <= 12;
        for (size_t k = 0; k < dim * dim; k++)
            values[i * dim * dim + k] = k / dim == k % dim;
    }
    seen->near += batch->count <= 4 && near;
    seen->far += batch->count <= 4 && !near;
    return LOCUS_OK;
}

/* Every other sample of a law of operators is of short paths: a, b, a + b and −a have twelve steps at most. Of the
 * others, whose paths have any length, one in ten or so is as short, and so are none of the three long ones. */
static void half_of_the_samples_are_short(void **state) {
    static samples seen;
    lab_laws laws;
    (void)state;
    register_own("own-still", LOCUS_EXTENSION_MATRICES, stand_still, &seen);
    measure(&laws, "own-still");
    assert_true(find(&laws, "commutators")->holds);
    assert_int_equal(seen.near + seen.far, 48 + 3);
    assert_in_range(seen.near, 24, 30);
}

static locus_status exist_nowhere(const locus_extension_batch *batch, double *values, locus_error *error) {
    size_t *asked = batch->context;
    (void)values, (void)error;
    return ++*asked < 100 ? LOCUS_ERROR_POSITION : LOCUS_ERROR_UNSUPPORTED;
}

/* Pairs are drawn on both sides of the origin, then on one, within 10000, 5000, … 1 and 0 steps of it, and then no
 * more. */
static void what_exists_nowhere_is_given_up(void **state) {
    static size_t asked;
    lab_laws laws;
    lab_bound bound;
    locus_error error = {.offset = -1};
    const locus_shape shape = {.heads = 1, .head_dim = 8, .model_dim = 8};
    (void)state;
    register_own("own-nowhere", LOCUS_EXTENSION_BIAS, exist_nowhere, &asked);
    assert_int_equal(lab_bound_parse(&bound, "own-nowhere", &error), LOCUS_OK);
    assert_int_equal(lab_bound_open(&bound, &shape, NULL, 3, &error), LOCUS_OK);
    assert_int_equal(lab_laws_measure(&laws, &bound, 5, &error), LOCUS_ERROR_POSITION);
    assert_int_equal(asked, 1 + 15);
    lab_bound_close(&bound);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_laws),
        cmocka_unit_test(known_errors),
        cmocka_unit_test(promises),
        cmocka_unit_test(repeated),
        cmocka_unit_test(elements_stay_within_reach),
        cmocka_unit_test(magnitudes_are_alike),
        cmocka_unit_test(far_ends),
        cmocka_unit_test(far_ends_are_parted_anywhere),
        cmocka_unit_test(half_of_the_samples_are_short),
        cmocka_unit_test(what_exists_nowhere_is_given_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
