/* SPDX-License-Identifier: MIT */
/* Encodings with their parameters, as the laboratory holds them, and what they are as numbers. */
#include "bound/encoded.h"
#include "bound/natural_shape.h"
#include "bound/spec_text.h"
#include "io/safetensors.h"
#include "unit/scratch_folder.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void open_bound(lab_bound *bound, const char *spec, locus_shape shape) {
    locus_error error = {.offset = -1};
    if (lab_bound_parse(bound, spec, &error) != LOCUS_OK || lab_bound_open(bound, &shape, NULL, 1, &error) != LOCUS_OK)
        fail_msg("%s: %s", spec, error.message);
}

/* 0, 1, … of seq. */
static lab_position_list first_positions(size_t count) {
    lab_position_list list = {.count = count, .values = calloc(count, sizeof(int64_t))};
    assert_non_null(list.values);
    for (size_t i = 0; i < count; i++)
        list.values[i] = (int64_t)i;
    return list;
}

/* ---- the encoding ---- */

static void bad_specs(void **state) {
    lab_bound bound;
    locus_error error = {.offset = -1};
    (void)state;
    assert_int_equal(lab_bound_parse(&bound, "rope(bas=3)", &error), LOCUS_ERROR_SPEC);
    assert_int_equal(error.offset, 5);
    lab_bound_close(&bound);
}

/* Dimensions that nobody gave are filled in, with even numbers. */
static void completed_shapes(void **state) {
    lab_bound bound;
    (void)state;
    open_bound(&bound, "rope + learned(size=4)", (locus_shape){.heads = 3});
    assert_int_equal(bound.shape.head_dim, 2);
    assert_int_equal(bound.shape.model_dim, 6);
    assert_int_equal(bound.count, 1);
    assert_string_equal(bound.infos[0].name, "1.table");
    lab_bound_close(&bound);
}

static void write_table(const char *path, const char *name, lab_dtype dtype, int64_t rows, int64_t columns) {
    lab_array array;
    locus_error error;
    const int64_t shape[2] = {rows, columns};
    assert_int_equal(lab_array_create(&array, dtype, 2, shape, &error), LOCUS_OK);
    snprintf(array.name, sizeof array.name, "%s", name);
    if (dtype != LAB_I32)
        lab_array_set(&array, (size_t)columns, 7);
    assert_int_equal(lab_safetensors_write(path, &array, 1, NULL, 0, &error), LOCUS_OK);
    lab_array_free(&array);
}

static locus_status read_table(const char *path, lab_bound *bound, locus_error *error) {
    const locus_shape shape = {.heads = 1};
    assert_int_equal(lab_bound_parse(bound, "learned(size=4)", error), LOCUS_OK);
    return lab_bound_open(bound, &shape, path, 0, error);
}

/* A table's width is the model's dimension; checkpoints call it another name; what does not fit is named. */
static void parameter_files(void **state) {
    const struct {
        const char *name;
        lab_dtype dtype;
        int64_t rows;
        const char *fault;
    } cases[] = {{"table", LAB_F32, 4, NULL},
                 {"position.table", LAB_F64, 4, NULL},
                 {"table", LAB_F32, 5, "has shape [5, 10], the encoding needs [4, 10]"},
                 {"table", LAB_I32, 4, "holds integers"},
                 {"tables", LAB_F32, 4, "has no tensor 'table'"}};
    const char *path = scratch_path("table.safetensors");
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lab_bound bound;
        locus_error error = {.offset = -1};
        write_table(path, cases[i].name, cases[i].dtype, cases[i].rows, 10);
        const locus_status status = read_table(path, &bound, &error);
        assert_int_equal(status, cases[i].fault ? LOCUS_ERROR_IO : LOCUS_OK);
        if (cases[i].fault) {
            assert_non_null(strstr(error.message, cases[i].fault));
        } else {
            assert_int_equal(bound.shape.model_dim, 10);
            assert_true(((const double *)bound.values[0].data)[10] == 7);
        }
        lab_bound_close(&bound);
    }
}

/* Room for the gradient of every parameter, as large as it is. */
static void gradients_have_room(void **state) {
    lab_bound bound;
    locus_tensor *gradients = NULL;
    locus_error error;
    (void)state;
    open_bound(&bound, "rope(learned=on) + t5(buckets=4) + scores(sinks=on)", (locus_shape){.heads = 3, .head_dim = 8});
    assert_int_equal(bound.count, 3);
    assert_int_equal(lab_bound_gradients(&bound, &gradients, &error), LOCUS_OK);
    const size_t sizes[] = {4, 12, 3};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(locus_tensor_count(&gradients[i]), sizes[i]);
        assert_ptr_not_equal(gradients[i].data, bound.values[i].data);
        for (size_t j = 0; j < sizes[i]; j++)
            assert_true(((const double *)gradients[i].data)[j] == 0);
    }
    lab_bound_gradients_free(&bound, &gradients);
    assert_null(gradients);
    lab_bound_close(&bound);
}

/* ---- as numbers ---- */

/* sin and cos of p·ω in pairs (Vaswani et al. 2017, section 3.5). */
static void tables(void **state) {
    enum { COUNT = 5, DIM = 6 };
    lab_bound bound;
    lab_array table;
    locus_error error;
    lab_position_list list = first_positions(COUNT);
    (void)state;
    open_bound(&bound, "sinusoidal", (locus_shape){.model_dim = DIM});
    assert_int_equal(lab_encoded_table(&table, &bound, &list, &error), LOCUS_OK);
    for (size_t i = 0; i < COUNT * DIM; i++) {
        const double angle = (double)(i / DIM) * pow(10000, -(double)(i % DIM / 2 * 2) / DIM);
        assert_true(fabs(lab_array_at(&table, i) - (i % 2 ? cos(angle) : sin(angle))) < 1e-12);
    }
    lab_array_free(&table);
    lab_position_list_free(&list);
    lab_bound_close(&bound);
}

/* rope's operator at p turns pair 0 by p radians. */
static void operators(void **state) {
    lab_bound bound;
    lab_array out;
    locus_error error;
    lab_position_list list = first_positions(3);
    (void)state;
    open_bound(&bound, "rope", (locus_shape){.heads = 2, .head_dim = 4});
    assert_int_equal(lab_encoded_operators(&out, &bound, &list, &error), LOCUS_OK);
    assert_int_equal(lab_array_count(&out), 3 * 2 * 4 * 4);
    for (size_t p = 0; p < 3; p++) {
        const size_t at = (p * 2 + 1) * 16;
        assert_true(fabs(lab_array_at(&out, at) - cos((double)p)) < 1e-7);
        assert_true(fabs(lab_array_at(&out, at + 1) + sin((double)p)) < 1e-7);
        assert_true(fabs(lab_array_at(&out, at + 4) - sin((double)p)) < 1e-7);
        assert_true(lab_array_at(&out, at + 2) == 0);
    }
    lab_array_free(&out);
    lab_position_list_free(&list);
    lab_bound_close(&bound);
}

static void expect_scores(const char *spec, bool factors, double (*wanted)(size_t head, double distance)) {
    enum { COUNT = 6, HEADS = 2 };
    lab_bound bound;
    lab_array out;
    locus_error error = {.offset = -1};
    lab_position_list list = first_positions(COUNT);
    open_bound(&bound, spec, (locus_shape){.heads = HEADS, .head_dim = 2});
    if (lab_encoded_scores(&out, &bound, &list, factors, &error) != LOCUS_OK)
        fail_msg("%s: %s", spec, error.message);
    for (size_t i = 0; i < HEADS * COUNT * COUNT; i++) {
        const double distance = fabs((double)(i / COUNT % COUNT) - (double)(i % COUNT));
        assert_true(fabs(lab_array_at(&out, i) - wanted(i / COUNT / COUNT, distance)) < 1e-12);
    }
    lab_array_free(&out);
    lab_position_list_free(&list);
    lab_bound_close(&bound);
}

/* Slopes of two heads: 2^−4, 2^−8 (Press et al. 2022). */
static double alibi_bias(size_t head, double distance) {
    return -distance / (head ? 256 : 16);
}
static double decay_factor(size_t head, double distance) {
    (void)head;
    return pow(0.9, distance);
}
static double nothing(size_t head, double distance) {
    (void)head;
    (void)distance;
    return 0;
}

/* Operators beside them, and content, leave no trace in biases and factors. */
static void scores(void **state) {
    lab_bound bound;
    lab_array out;
    locus_error error;
    lab_position_list list = first_positions(2);
    (void)state;
    expect_scores("alibi", false, alibi_bias);
    expect_scores("rope + alibi", false, alibi_bias);
    expect_scores("rope + decay(rate=0.9) + alibi", true, decay_factor);
    expect_scores("relative(window=2) + decay(rate=0.9)", true, decay_factor);
    expect_scores("relative(window=2)", false, nothing);
    open_bound(&bound, "cope", (locus_shape){.heads = 1, .head_dim = 2});
    assert_int_equal(lab_encoded_scores(&out, &bound, &list, false, &error), LOCUS_ERROR_UNSUPPORTED);
    lab_array_free(&out);
    lab_position_list_free(&list);
    lab_bound_close(&bound);
}

/* ---- text ---- */

/* Terms are taken apart, changed, and written again. */
static void rewritten_specs(void **state) {
    lab_bound bound;
    lab_spec spec;
    lab_term *term;
    locus_error error;
    (void)state;
    assert_int_equal(lab_bound_parse(&bound, "rope(base=500, pairs=half) + alibi", &error), LOCUS_OK);
    assert_int_equal(lab_spec_open(&spec, bound.encoding, &error), LOCUS_OK);
    assert_int_equal(spec.count, 2);
    assert_true(lab_term_has(&spec.terms[0], "pairs", "half", "interleaved"));
    assert_int_equal(lab_term_set(&spec.terms[0], "pairs", NULL, &error), LOCUS_OK);
    assert_int_equal(lab_term_set(&spec.terms[0], "base", "600", &error), LOCUS_OK);
    assert_int_equal(lab_spec_append(&spec, "decay", &term, &error), LOCUS_OK);
    char *text = lab_spec_string(&spec);
    assert_string_equal(text, "rope(base=600) + alibi + decay");
    free(text);
    while (spec.count < LAB_TERMS_MAX)
        assert_int_equal(lab_spec_append(&spec, "decay", &term, &error), LOCUS_OK);
    assert_int_equal(lab_spec_append(&spec, "kerple", &term, &error), LOCUS_ERROR_UNSUPPORTED);
    assert_string_equal(error.message, "a spec has at most 8 terms: 'kerple' does not fit");
    lab_spec_close(&spec);
    lab_bound_close(&bound);
}

static locus_status no_values(const locus_extension_batch *batch, double *values, locus_error *error) {
    (void)batch, (void)values, (void)error;
    return LOCUS_ERROR_UNSUPPORTED;
}

/* An encoding of somebody else's, whose options have the names of ours and are words. */
static void register_words(void) {
    static const locus_option_info options[] = {
        {.name = "sections", .values = "none|1x|:2", .initial = "", .meaning = "a word", .kind = LOCUS_OPTION_CHOICE},
        {.name = "short", .values = "none|1x|:2", .initial = "", .meaning = "a word", .kind = LOCUS_OPTION_CHOICE},
        {.name = "split", .values = "none|1x|:2", .initial = "", .meaning = "a word", .kind = LOCUS_OPTION_CHOICE}};
    const locus_encoding_description description = {.size = sizeof description,
                                                    .name = "own-words",
                                                    .summary = "lists that are words",
                                                    .kind = LOCUS_EXTENSION_BIAS,
                                                    .option_count = 3,
                                                    .options = options,
                                                    .values = no_values};
    locus_error error;
    if (locus_encoding_register(&description, &error) != LOCUS_OK)
        fail_msg("%s", error.message);
}

static void natural_shapes(void **state) {
    const struct {
        const char *spec;
        size_t head_dim;
        int64_t reach;
    } cases[] = {{"rope", 24, 1000},
                 {"algebraic(group=seq*tree:2)", 48, 1000},
                 {"algebraic(group=seq*tree:2, split=6:10)", 16, 1000},
                 {"algebraic(group=grid:3, split=6:10:2)", 18, 1000},
                 {"rope(axes=3, sections=2:3:7)", 24, 1000},
                 {"rope(axes=2, sections=2:3)", 10, 1000},
                 {"rope(scaling=longrope, original=64, factor=2, short=1:1.5:2, long=2:3:4)", 6, 1000},
                 {"rope(rotate=22)", 24, 1000},
                 {"rope(rotate=24)", 24, 1000},
                 {"rope(rotate=26)", 26, 1000},
                 {"rope(xpos=64)", 24, 62},
                 {"rope(xpos=1)", 24, 1},
                 {"rope(xpos=2)", 24, 1},
                 {"rope(xpos=3)", 24, 2},
                 {"rope(xpos=1023)", 24, 999},
                 {"rope(xpos=1024)", 24, 1000},
                 {"rope(xpos=1025)", 24, 1000},
                 {"own-words", 24, 1000},
                 {"own-words(split=1x)", 1, 1000},
                 {"own-words(sections=1x)", 2, 1000},
                 {"own-words(short=1x)", 2, 1000},
                 {"own-words(split=:2)", 24, 1000},
                 {"own-words(sections=:2)", 24, 1000},
                 {"own-words(short=:2)", 24, 1000}};
    (void)state;
    register_words();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lab_bound bound;
        lab_natural natural;
        locus_error error;
        if (lab_bound_parse(&bound, cases[i].spec, &error) != LOCUS_OK)
            fail_msg("%s: %s", cases[i].spec, error.message);
        assert_int_equal(lab_natural_find(&natural, bound.encoding, 24, 1000, &error), LOCUS_OK);
        if (natural.head_dim != cases[i].head_dim || natural.reach != cases[i].reach)
            fail_msg("%s: %zu, %lld", cases[i].spec, natural.head_dim, (long long)natural.reach);
        lab_bound_close(&bound);
    }
    for (int64_t reach = 9999; reach <= 10001;
         reach++) { /* callbacks' angles are doubles: 10,000 steps, ours as many */
        for (size_t own = 0; own < 2; own++) {
            lab_bound bound;
            lab_natural natural;
            locus_error error;
            assert_int_equal(lab_bound_parse(&bound, own ? "own-words" : "rope", &error), LOCUS_OK);
            assert_int_equal(lab_natural_find(&natural, bound.encoding, 24, reach, &error), LOCUS_OK);
            assert_int_equal(natural.reach, own && reach > 10000 ? 10000 : reach);
            lab_bound_close(&bound);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_specs),       cmocka_unit_test(completed_shapes),
        cmocka_unit_test(parameter_files), cmocka_unit_test(gradients_have_room),
        cmocka_unit_test(tables),          cmocka_unit_test(operators),
        cmocka_unit_test(scores),          cmocka_unit_test(rewritten_specs),
        cmocka_unit_test(natural_shapes),
    };
    return cmocka_run_group_tests(tests, scratch_create, scratch_remove);
}
