/* SPDX-License-Identifier: MIT */
/* Forms as an interface: what is refused, who owns what, which memory is the plan's. What forms say is tests/forms. */
#include "threads_only.h"

#include <locus/cache.h>
#include <locus/form.h>

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { TOKENS = 100, HEADS = 2, DIM = 6, TENSORS = 16 };

typedef struct scene {
    locus_binding *binding;
    locus_positions *positions;
    locus_plan *plan;
} scene;

static locus_shape shape_of(void) {
    return (locus_shape){.size = sizeof(locus_shape), .heads = HEADS, .head_dim = DIM, .model_dim = 8};
}

/* A plan of `spec` with its initial values: one sequence of positions that are all token numbers; on a tree one path
 * downward. */
static scene scene_of(const char *spec) {
    const locus_shape shape = shape_of();
    locus_error error = {.status = LOCUS_OK};
    locus_encoding *encoding = NULL;
    locus_tensor tensors[TENSORS];
    locus_parameter info = {.size = sizeof info};
    size_t count = 0;
    scene own = {NULL, NULL, NULL};
    assert_int_equal(locus_encoding_parse(spec, &encoding, &error), LOCUS_OK);
    assert_int_equal(locus_encoding_parameter_count(encoding, &shape, &count, &error), LOCUS_OK);
    assert_true(count <= TENSORS);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(locus_encoding_parameter(encoding, &shape, i, &info, &error), LOCUS_OK);
        tensors[i] = locus_tensor_view(NULL, LOCUS_FLOAT64, info.rank, info.shape);
        tensors[i].data = calloc(locus_tensor_count(&tensors[i]), sizeof(double));
    }
    assert_int_equal(locus_encoding_initialise(encoding, &shape, 1, tensors, count, &error), LOCUS_OK);
    assert_int_equal(locus_binding_create(&own.binding, encoding, &shape, tensors, count, &error), LOCUS_OK);
    const locus_group *group = locus_encoding_group(encoding);
    const size_t offsets[] = {0, TOKENS}, coordinates = group ? locus_group_coordinates(group) : 1;
    const locus_packing packing = {sizeof packing, 1, offsets, NULL};
    int64_t *values = calloc(TOKENS * coordinates, sizeof *values);
    for (size_t i = 0; i < TOKENS * coordinates; i++)
        values[i] = (int64_t)(i / coordinates);
    int64_t branches[TOKENS];
    size_t parents[TOKENS];
    for (size_t i = 0; i < TOKENS; i++) {
        branches[i] = 1;
        parents[i] = i > 0 ? i - 1 : 0;
    }
    const locus_position_column column = {sizeof column, values, branches, NULL, parents, TOKENS};
    if (coordinates == 1)
        assert_int_equal(locus_positions_create_columns(&own.positions, group, &packing, &column, &error), LOCUS_OK);
    else
        assert_int_equal(locus_positions_create(&own.positions, group, &packing, values, &error), LOCUS_OK);
    assert_int_equal(locus_plan_create(&own.plan, own.binding, own.positions, NULL, &error), LOCUS_OK);
    for (size_t i = 0; i < count; i++)
        free(tensors[i].data);
    free(values);
    locus_encoding_destroy(&encoding);
    return own;
}

static void leave(scene *own) {
    locus_plan_destroy(&own->plan);
    locus_positions_destroy(&own->positions);
    locus_binding_destroy(&own->binding);
}

static locus_plan_forms *forms_of(const locus_plan *plan) {
    locus_plan_forms *forms = NULL;
    assert_int_equal(locus_plan_forms_create(&forms, plan, NULL, NULL), LOCUS_OK);
    assert_non_null(forms);
    return forms;
}

static const double *numbers(const locus_plan_forms *forms, size_t index, const char *name) {
    const locus_form_array *array = locus_plan_form_find(forms, index, name);
    assert_non_null(array);
    assert_int_equal(array->type, LOCUS_FORM_FLOAT64);
    return array->data;
}

static void assert_line(const locus_error *error, locus_status status, const char *argument) {
    assert_int_equal(error->status, status);
    assert_string_equal(error->argument, argument);
    assert_true(error->message[0] != '\0' && !strchr(error->message, '\n'));
}

/* ---- what forms there are ---- */

static void test_forms_stand_in_the_order_in_which_they_act(void **state) {
    (void)state;
    scene own = scene_of("alibi + learned(size=100) + decay + rope(values=on) + scores(cap=30)");
    locus_plan_forms *forms = forms_of(own.plan);
    static const locus_form_kind kinds[] = {LOCUS_FORM_VECTORS, LOCUS_FORM_TURN, LOCUS_FORM_SETTINGS, LOCUS_FORM_CELLS,
                                            LOCUS_FORM_CELLS};
    static const size_t terms[] = {1, 3, 4, 2, 0};
    static const unsigned roles[] = {
        1u << LOCUS_ROLE_TOKEN,
        1u << LOCUS_ROLE_QUERY | 1u << LOCUS_ROLE_KEY | 1u << LOCUS_ROLE_VALUE | 1u << LOCUS_ROLE_OUTPUT, 0, 0, 0};
    assert_int_equal(locus_plan_form_count(forms), 5);
    for (size_t i = 0; i < 5; i++) {
        const locus_form *form = locus_plan_form_at(forms, i);
        assert_int_equal(form->kind, kinds[i]);
        assert_int_equal(form->term, terms[i]);
        assert_int_equal(form->roles, roles[i]);
    }
    assert_true(locus_plan_form_at(forms, 3)->multiplies);
    assert_false(locus_plan_form_at(forms, 4)->multiplies);
    assert_float_equal(numbers(forms, 2, "cap")[0], 30, 0);
    locus_plan_forms_destroy(&forms);
    leave(&own);
}

static void test_parts_of_a_product_have_dimensions_of_their_own(void **state) {
    (void)state;
    scene own = scene_of("algebraic(group=seq*cycle:5*seq, side=query)");
    locus_plan_forms *forms = forms_of(own.plan);
    assert_int_equal(locus_plan_form_count(forms), 3);
    for (size_t i = 0; i < 3; i++) {
        const locus_form *form = locus_plan_form_at(forms, i);
        assert_int_equal(form->kind, LOCUS_FORM_TURN);
        assert_int_equal(form->first, 2 * i);
        assert_int_equal(form->count, 2);
        assert_int_equal(form->roles, 1u << LOCUS_ROLE_QUERY);
        assert_string_equal(form->law, "skew");
        const locus_form_array *learned = locus_plan_form_find(forms, i, i == 1 ? "free_basis" : "generator");
        assert_non_null(learned);
        assert_int_equal(learned->parameter, 0);
        assert_int_equal(learned->parameter_first, i);
    }
    locus_plan_forms_destroy(&forms);
    leave(&own);
}

/* Every array that holds a parameter says which one, and no other array does. */
static void test_learned_arrays_name_their_parameters(void **state) {
    static const struct {
        const char *spec, *learned; /* form, name, parameter and first number of each, in their order */
    } cases[] = {
        {"kerple", "0 a 0 0; 0 b 1 0; "},
        {"alibi + kerple", "1 a 0 0; 1 b 1 0; "},
        {"rope + t5 + learned(size=100)", "1 vectors 1 0; 2 bias 0 0; "},
        {"fire", "0 hidden_weight 0 0; 0 hidden_bias 1 0; 0 output_weight 2 0; 0 output_bias 3 0; 0 c 4 0; 0 L 5 0; "},
        {"decay(learned=on) + decay", "0 rate 0 0; "},
        {"liere(group=seq) + kerple", "0 generator 0 0; 1 a 1 0; 1 b 2 0; "},
        {"rope(learned=on)", "0 frequencies 0 0; "},
        {"relative(window=3, values=on)", "0 key_table 0 0; 0 value_table 1 0; "},
        {"cope(max=3)", "0 table 0 0; "},
        {"alibi + scores(sinks=on)", "0 sinks 0 0; "},
        {"algebraic(group=seq, generator=angles) + kerple", "0 frequencies 0 0; 1 a 1 0; 1 b 2 0; "},
        {"alibi + decay + rope", ""},
        {"shiv-quirk(depth=3, k=2)", "0 decays 0 0; "},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[400] = "";
        size_t used = 0;
        scene own = scene_of(cases[i].spec);
        locus_plan_forms *forms = forms_of(own.plan);
        for (size_t f = 0; f < locus_plan_form_count(forms); f++)
            for (size_t a = 0; a < locus_plan_form_at(forms, f)->array_count; a++) {
                const locus_form_array *array = locus_plan_form_array(forms, f, a);
                if (array->parameter != LOCUS_FORM_FIXED)
                    used += (size_t)snprintf(text + used, sizeof text - used, "%zu %s %zu %zu; ", f, array->name,
                                             array->parameter, array->parameter_first);
                else
                    assert_int_equal(array->parameter_first, 0);
            }
        if (strcmp(text, cases[i].learned) != 0)
            fail_msg("%s: '%s', not '%s'", cases[i].spec, text, cases[i].learned);
        locus_plan_forms_destroy(&forms);
        leave(&own);
    }
}

/* ---- all that a form consists of ---- */

/* A form as text: its kind, roles (a bit for each), elements, law and factor; each array with type, shape, and the
 * parameter whose values it has. */
static size_t write_form(const locus_plan_forms *forms, size_t index, char *text, size_t size) {
    static const char *const kinds[] = {"",        "turn",    "paths",   "matrices", "cells",
                                        "network", "content", "context", "vectors",  "settings"};
    static const char *const types[] = {"", "f", "i", "u"};
    const locus_form *form = locus_plan_form_at(forms, index);
    const locus_form_array *array;
    size_t at = (size_t)snprintf(text, size, "%s %zu %x %zu+%zu %s%s", kinds[form->kind], form->term, form->roles,
                                 form->first, form->count, form->multiplies ? "×" : "", form->law);
    for (size_t i = 0; (array = locus_plan_form_array(forms, index, i)) != NULL && at < size; i++) {
        at += (size_t)snprintf(text + at, size - at, " %s:%s", array->name, types[array->type]);
        for (size_t d = 0; d < array->rank && at < size; d++)
            at += (size_t)snprintf(text + at, size - at, "%s%lld", d ? "," : "", (long long)array->shape[d]);
        if (array->parameter != LOCUS_FORM_FIXED && at < size)
            at += (size_t)snprintf(text + at, size - at, "=%zu+%zu", array->parameter, array->parameter_first);
        assert_ptr_equal(locus_plan_form_find(forms, index, array->name), array);
        assert_true(array->data || array->rank > 0);
    }
    assert_null(locus_plan_form_array(forms, index, form->array_count));
    assert_true(form->array_count == 0 || locus_plan_form_array(forms, index, form->array_count - 1));
    return at;
}

static void test_forms_consist_of_this(void **state) {
    static const struct {
        const char *spec, *forms;
    } cases[] = {
        {"rope", "turn 0 c 0+6  axes:i factor:f pair:i3,2 coarse.0:f1,64,3,2 fine.0:f1,64,3,2 query_coarse.0:u100 "
                 "query_fine.0:u100 key_coarse.0:u100 key_fine.0:u100 query_position.0:i100 key_position.0:i100 "
                 "frequencies:f1,1,3"},
        {"rope(pairs=half, rotate=4)",
         "turn 0 c 0+6  axes:i factor:f pair:i2,2 coarse.0:f1,64,2,2 fine.0:f1,64,2,2 query_coarse.0:u100 "
         "query_fine.0:u100 key_coarse.0:u100 key_fine.0:u100 query_position.0:i100 key_position.0:i100 "
         "frequencies:f1,1,2"},
        {"rope(learned=on)",
         "turn 0 c 0+6  axes:i factor:f pair:i3,2 coarse.0:f1,2,3,2 fine.0:f1,64,3,2 query_coarse.0:u100 "
         "query_fine.0:u100 key_coarse.0:u100 key_fine.0:u100 query_position.0:i100 key_position.0:i100 "
         "frequencies:f1,1,3=0+0"},
        {"roper(axes=3)",
         "turn 0 3c 0+6  axes:i factor:f pair:i3,2 coarse.0:f1,64,1,2 fine.0:f1,64,1,2 query_coarse.0:u100 "
         "query_fine.0:u100 key_coarse.0:u100 key_fine.0:u100 columns.0:i1 query_position.0:i100 "
         "key_position.0:i100 coarse.1:f1,64,1,2 fine.1:f1,64,1,2 query_coarse.1:u100 query_fine.1:u100 "
         "key_coarse.1:u100 key_fine.1:u100 columns.1:i1 query_position.1:i100 key_position.1:i100 "
         "coarse.2:f1,64,1,2 fine.2:f1,64,1,2 query_coarse.2:u100 query_fine.2:u100 key_coarse.2:u100 "
         "key_fine.2:u100 columns.2:i1 query_position.2:i100 key_position.2:i100 frequencies:f1,1,3 axis:i3"},
        {"rope(sections=2:1, order=interleaved)",
         "turn 0 c 0+6  axes:i factor:f pair:i3,2 coarse.0:f1,64,2,2 fine.0:f1,64,2,2 query_coarse.0:u100 "
         "query_fine.0:u100 key_coarse.0:u100 key_fine.0:u100 columns.0:i2 query_position.0:i100 "
         "key_position.0:i100 coarse.1:f1,64,1,2 fine.1:f1,64,1,2 query_coarse.1:u100 query_fine.1:u100 "
         "key_coarse.1:u100 key_fine.1:u100 columns.1:i1 query_position.1:i100 key_position.1:i100 "
         "frequencies:f1,1,3 axis:i3"},
        {"rope(xpos=512)",
         "turn 0 c 0+6  axes:i factor:f pair:i3,2 coarse.0:f1,2,3,2 fine.0:f1,64,3,2 coarse_of_keys.0:f1,2,3,2 "
         "fine_of_keys.0:f1,64,3,2 query_coarse.0:u100 query_fine.0:u100 key_coarse.0:u100 key_fine.0:u100 "
         "query_position.0:i100 key_position.0:i100 frequencies:f1,1,3 growth:f3 centre:f"},
        {"rope(scaling=yarn, factor=2, original=16, attention=2, side=query)",
         "turn 0 4 0+6  axes:i factor:f pair:i3,2 coarse.0:f1,64,3,2 fine.0:f1,64,3,2 query_coarse.0:u100 "
         "query_fine.0:u100 key_coarse.0:u100 key_fine.0:u100 query_position.0:i100 key_position.0:i100 "
         "frequencies:f1,1,3"},
        {"algebraic",
         "turn 0 c 0+6 skew axes:i factor:f pair:i3,2 coarse.0:f2,2,3,2 fine.0:f2,64,3,2 query_coarse.0:u100 "
         "query_fine.0:u100 key_coarse.0:u100 key_fine.0:u100 query_position.0:i100 key_position.0:i100 "
         "frequencies:f2,1,3 basis:f2,6,6 generator:f2,1,6,6=0+0"},
        {"algebraic(generator=fixed, values=on, decay=0.9)",
         "turn 0 3c 0+6 skew axes:i factor:f pair:i3,2 coarse.0:f2,64,3,2 fine.0:f2,64,3,2 query_coarse.0:u100 "
         "query_fine.0:u100 key_coarse.0:u100 key_fine.0:u100 query_position.0:i100 key_position.0:i100 "
         "frequencies:f2,1,3 basis:f2,6,6 generator:f2,1,6,6 | cells 0 0 0+0 ×power query_cell:u100 key_cell:u100 "
         "distance:f199 values:f1,199 rate:f1"},
        {"algebraic(generator=angles, heads=shared)",
         "turn 0 c 0+6  axes:i factor:f pair:i3,2 coarse.0:f1,2,3,2 fine.0:f1,64,3,2 query_coarse.0:u100 "
         "query_fine.0:u100 key_coarse.0:u100 key_fine.0:u100 query_position.0:i100 key_position.0:i100 "
         "frequencies:f1,1,3=0+0"},
        {"algebraic(group=seq*cycle:5, split=2:4)",
         "turn 0 c 0+2 skew axes:i factor:f pair:i1,2 coarse.0:f2,2,1,2 fine.0:f2,64,1,2 query_coarse.0:u100 "
         "query_fine.0:u100 key_coarse.0:u100 key_fine.0:u100 query_position.0:i100 key_position.0:i100 "
         "frequencies:f2,1,1 basis:f2,2,2 generator:f2,1,2,2=0+0 | turn 0 c 2+4 skew axes:i factor:f pair:i2,2 "
         "coarse.0:f1,64,2,2 fine.0:f1,64,2,2 query_coarse.0:u100 query_fine.0:u100 key_coarse.0:u100 "
         "key_fine.0:u100 query_position.0:i100 key_position.0:i100 period:i multiples:i2 basis:f2,4,4 "
         "free_basis:f2,1,4,4=1+0"},
        {"algebraic(generator=householder)",
         "turn 0 c 0+6 householder axes:i factor:f pair:i3,2 coarse.0:f2,2,3,2 fine.0:f2,64,3,2 "
         "query_coarse.0:u100 query_fine.0:u100 key_coarse.0:u100 key_fine.0:u100 query_position.0:i100 "
         "key_position.0:i100 frequencies:f2,1,3 basis:f2,6,6 flip:i2 generator:f2,1,6,6=0+0"},
        {"algebraic(generator=cayley)",
         "turn 0 c 0+6 cayley axes:i factor:f pair:i3,2 coarse.0:f2,2,3,2 fine.0:f2,64,3,2 query_coarse.0:u100 "
         "query_fine.0:u100 key_coarse.0:u100 key_fine.0:u100 query_position.0:i100 key_position.0:i100 "
         "frequencies:f2,1,3 basis:f2,6,6 generator:f2,1,6,6=0+0"},
        {"mixed", "turn 0 c 0+6  axes:i factor:f pair:i3,2 coarse.0:f2,2,3,2 fine.0:f2,64,3,2 query_coarse.0:u100 "
                  "query_fine.0:u100 key_coarse.0:u100 key_fine.0:u100 query_position.0:i100 key_position.0:i100 "
                  "coarse.1:f2,2,3,2 fine.1:f2,64,3,2 query_coarse.1:u100 query_fine.1:u100 key_coarse.1:u100 "
                  "key_fine.1:u100 query_position.1:i100 key_position.1:i100 frequencies:f2,2,3=0+0"},
        {"string(group=seq, decay=learned:0.5)",
         "turn 0 c 0+6 skew axes:i factor:f pair:i3,2 coarse.0:f2,2,3,2 fine.0:f2,64,3,2 query_coarse.0:u100 "
         "query_fine.0:u100 key_coarse.0:u100 key_fine.0:u100 query_position.0:i100 key_position.0:i100 "
         "frequencies:f2,1,3=1+0 basis:f2,6,6 free_basis:f2,1,6,6=0+0 | cells 0 0 0+0 ×power query_cell:u100 "
         "key_cell:u100 distance:f199 values:f1,199 rate:f1=2+0"},
        {"liere(group=seq)",
         "matrices 0 c 0+6 exponent matrices:f100,2,6,6 query_matrix:u100 key_matrix:u100 position:i100,1 "
         "generator:f2,1,6,6=0+0"},
        {"algebraic(group=tree:2, generator=fixed)",
         "paths 0 c 0+6  generators:f2,2,6,6 parent:u100 branch:i100 depth:u100 query_node:i100 key_node:i100"},
        {"algebraic(group=tree:2, generator=cayley, side=key)",
         "paths 0 8 0+6 cayley generators:f2,2,6,6 generator:f2,2,6,6=0+0 parent:u100 branch:i100 depth:u100 "
         "query_node:i100 key_node:i100"},
        {"algebraic(group=tree:2, generator=angles, heads=shared, side=query)",
         "paths 0 4 0+6 angles generators:f1,2,6,6 angles:f1,2,3=0+0 parent:u100 branch:i100 depth:u100 "
         "query_node:i100 key_node:i100"},
        {"alibi", "cells 0 0 0+0 slope query_cell:u100 key_cell:u100 distance:f199 values:f2,199 slope:f2"},
        {"decay(learned=on)",
         "cells 0 0 0+0 ×power query_cell:u100 key_cell:u100 distance:f199 values:f1,199 rate:f1=0+0"},
        {"kerple",
         "cells 0 0 0+0 logarithm query_cell:u100 key_cell:u100 distance:f199 values:f2,199 a:f2=0+0 b:f2=1+0"},
        {"t5(buckets=6, max=20, direction=causal)",
         "cells 0 0 0+0 bucket query_cell:u100 key_cell:u100 distance:f199 values:f2,199 bucket:i199 bias:f6,2=0+0"},
        {"fire(hidden=3)",
         "network 0 0 0+0 logarithms query_cell:u100 key_cell:u100 distance:f199 logs:f199 reach:f100 "
         "hidden_weight:f3=0+0 hidden_bias:f3=1+0 output_weight:f2,3=2+0 output_bias:f2=3+0 c:f1=4+0 L:f1=5+0 "
         "query_position.0:i100 key_position.0:i100"},
        {"cope(max=5, gate=scaled)", "context 0 0 0+0  scaled:i table:f6,6=0+0"},
        {"relative(window=3, values=on, scaled=off)",
         "content 0 0 0+0  window:i scaled:i key_table:f7,6=0+0 query_position:i100 key_position:i100 "
         "value_table:f7,6=1+0"},
        {"scores(scale=2, cap=5, window=7, keep=2, sinks=on)",
         "settings 0 0 0+0  scale:f cap:f window:i keep:i chunk:i sinks:f2=0+0"},
        {"scores(chunk=4)", "settings 0 0 0+0  scale:f cap:f window:i keep:i chunk:i"},
        {"sinusoidal(layout=concatenated)", "vectors 0 2 0+8  vectors:f100,8 row:u100"},
        {"learned(size=100)", "vectors 0 2 0+8  vectors:f100,8=0+0 row:i100"},
        {"kerple + cope(max=3)",
         "context 1 0 0+0  scaled:i table:f4,6=2+0 | cells 0 0 0+0 logarithm query_cell:u100 key_cell:u100 "
         "distance:f199 values:f2,199 a:f2=0+0 b:f2=1+0"},
        {"kerple + relative(window=1, values=on)",
         "content 1 0 0+0  window:i scaled:i key_table:f3,6=2+0 query_position:i100 key_position:i100 "
         "value_table:f3,6=3+0 | cells 0 0 0+0 logarithm query_cell:u100 key_cell:u100 distance:f199 "
         "values:f2,199 a:f2=0+0 b:f2=1+0"},
        {"learned(size=100) + fire(hidden=2)",
         "vectors 0 2 0+8  vectors:f100,8=0+0 row:i100 | network 1 0 0+0 logarithms query_cell:u100 key_cell:u100 "
         "distance:f199 logs:f199 reach:f100 hidden_weight:f2=1+0 hidden_bias:f2=2+0 output_weight:f2,2=3+0 "
         "output_bias:f2=4+0 c:f1=5+0 L:f1=6+0 query_position.0:i100 key_position.0:i100"},
        {"kerple + decay(learned=on) + rope(learned=on)",
         "turn 2 c 0+6  axes:i factor:f pair:i3,2 coarse.0:f1,2,3,2 fine.0:f1,64,3,2 query_coarse.0:u100 "
         "query_fine.0:u100 key_coarse.0:u100 key_fine.0:u100 query_position.0:i100 key_position.0:i100 "
         "frequencies:f1,1,3=3+0 | cells 1 0 0+0 ×power query_cell:u100 key_cell:u100 distance:f199 values:f1,199 "
         "rate:f1=2+0 | cells 0 0 0+0 logarithm query_cell:u100 key_cell:u100 distance:f199 values:f2,199 "
         "a:f2=0+0 b:f2=1+0"},
        {"alibi + t5(buckets=4, max=9) + scores(sinks=on)",
         "settings 2 0 0+0  scale:f cap:f window:i keep:i chunk:i sinks:f2=1+0 | cells 0 0 0+0 slope "
         "query_cell:u100 key_cell:u100 distance:f199 values:f2,199 slope:f2 | cells 1 0 0+0 bucket "
         "query_cell:u100 key_cell:u100 distance:f199 values:f2,199 bucket:i199 bias:f4,2=0+0"},
        {"temperature + alibi",
         "cells 0 0 0+0 × query_cell:u100 key_cell:u100 values:f1,100 | cells 1 0 0+0 slope query_cell:u100 "
         "key_cell:u100 distance:f199 values:f2,199 slope:f2"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[2000];
        size_t at = 0;
        scene own = scene_of(cases[i].spec);
        locus_plan_forms *forms = forms_of(own.plan);
        for (size_t f = 0; f < locus_plan_form_count(forms); f++) {
            at += (size_t)snprintf(text + at, sizeof text - at, "%s", f ? " | " : "");
            at += write_form(forms, f, text + at, sizeof text - at);
        }
        if (strcmp(text, cases[i].forms) != 0)
            fail_msg("%s: %s", cases[i].spec, text);
        locus_plan_forms_destroy(&forms);
        leave(&own);
    }
}

static void test_what_is_not_there_is_null(void **state) {
    (void)state;
    scene own = scene_of("rope");
    locus_plan_forms *forms = forms_of(own.plan);
    const locus_form *form = locus_plan_form_at(forms, 0);
    for (size_t i = 0; i < form->array_count; i++) {
        const locus_form_array *array = locus_plan_form_array(forms, 0, i);
        assert_ptr_equal(locus_plan_form_find(forms, 0, array->name), array);
        assert_true(array->rank <= LOCUS_FORM_MAX_RANK);
        assert_true(array->parameter == LOCUS_FORM_FIXED);
    }
    assert_null(locus_plan_form_array(forms, 0, form->array_count));
    assert_null(locus_plan_form_array(forms, 1, 0));
    assert_null(locus_plan_form_at(forms, 1));
    assert_null(locus_plan_form_find(forms, 0, "basis"));
    assert_null(locus_plan_form_find(forms, 0, NULL));
    assert_null(locus_plan_form_at(NULL, 0));
    assert_int_equal(locus_plan_form_count(NULL), 0);
    locus_plan_forms_destroy(&forms);
    scene none = scene_of("none");
    forms = forms_of(none.plan);
    assert_int_equal(locus_plan_form_count(forms), 0);
    locus_plan_forms_destroy(&forms);
    leave(&none);
    leave(&own);
}

/* ---- memory ---- */

static void test_arrays_outlive_all_but_the_forms(void **state) {
    (void)state;
    scene own = scene_of("algebraic(group=seq, decay=0.9) + alibi");
    locus_plan_forms *forms = forms_of(own.plan), *again = locus_plan_forms_retain(forms);
    const double *basis = numbers(forms, 0, "basis"), *values = numbers(forms, 2, "values");
    const double first = basis[0];
    leave(&own);
    locus_plan_forms_destroy(&forms);
    assert_null(forms);
    assert_float_equal(basis[0], first, 0);
    assert_float_equal(values[TOKENS - 1], 0, 0); /* distance 0 */
    locus_plan_forms_destroy(&again);
    locus_plan_forms_destroy(&again);
    locus_plan_forms_destroy(NULL);
}

static void test_what_the_plan_keeps_is_not_copied(void **state) {
    (void)state;
    scene own = scene_of("algebraic(group=seq, decay=0.9) + t5");
    locus_plan_forms *one = forms_of(own.plan), *other = forms_of(own.plan);
    static const struct {
        size_t form;
        const char *name;
    } kept[] = {{0, "coarse.0"}, {0, "fine.0"},     {0, "query_coarse.0"}, {0, "basis"},
                {1, "values"},   {1, "query_cell"}, {2, "values"},         {2, "bias"}};
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
        assert_ptr_equal(locus_plan_form_find(one, kept[i].form, kept[i].name)->data,
                         locus_plan_form_find(other, kept[i].form, kept[i].name)->data);
    locus_plan_forms_destroy(&one);
    locus_plan_forms_destroy(&other);
    leave(&own);
}

typedef struct reader {
    const locus_plan *plan;
    double sum; /* of all doubles */
} reader;

static void *read_all(void *context) {
    reader *own = context;
    locus_plan_forms *forms = forms_of(own->plan);
    for (size_t i = 0; i < locus_plan_form_count(forms); i++)
        for (size_t j = 0; j < locus_plan_form_at(forms, i)->array_count; j++) {
            const locus_form_array *array = locus_plan_form_array(forms, i, j);
            size_t count = array->type == LOCUS_FORM_FLOAT64;
            for (size_t r = 0; r < array->rank; r++)
                count *= (size_t)array->shape[r];
            for (size_t e = 0; e < count; e++)
                own->sum += ((const double *)array->data)[e];
        }
    locus_plan_forms_destroy(&forms);
    return NULL;
}

/* What several need of the same positions is found once. */
static void test_threads_take_forms_of_one_plan_at_once(void **state) {
    (void)state;
    scene own = scene_of("sinusoidal + liere(group=seq) + alibi + fire");
    reader readers[4];
    pthread_t threads[4];
    for (size_t i = 0; i < 4; i++) {
        readers[i] = (reader){.plan = own.plan};
        assert_int_equal(pthread_create(&threads[i], NULL, read_all, &readers[i]), 0);
    }
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_true(readers[0].sum != 0);
    for (size_t i = 1; i < 4; i++)
        assert_float_equal(readers[i].sum, readers[0].sum, 0);
    leave(&own);
}

/* ---- refusals ---- */

static void test_wrong_arguments_are_refused(void **state) {
    (void)state;
    scene own = scene_of("alibi");
    locus_plan_forms *forms = (locus_plan_forms *)(uintptr_t)1;
    locus_error error;
    assert_int_equal(locus_plan_forms_create(NULL, own.plan, NULL, &error), LOCUS_ERROR_ARGUMENT);
    assert_line(&error, LOCUS_ERROR_ARGUMENT, "forms");
    assert_int_equal(locus_plan_forms_create(&forms, NULL, NULL, &error), LOCUS_ERROR_ARGUMENT);
    assert_line(&error, LOCUS_ERROR_ARGUMENT, "plan");
    assert_null(forms);
    locus_plan_forms_options options = locus_plan_forms_options_default();
    options.size = 3;
    assert_int_equal(locus_plan_forms_create(&forms, own.plan, &options, &error), LOCUS_ERROR_ARGUMENT);
    assert_line(&error, LOCUS_ERROR_ARGUMENT, "options");
    leave(&own);
}

static void test_more_bytes_than_allowed_are_refused(void **state) {
    (void)state;
    scene own = scene_of("alibi");
    locus_plan_forms_options options = locus_plan_forms_options_default();
    locus_plan_forms *forms = NULL;
    locus_error error;
    options.bytes = HEADS * (2 * TOKENS - 1) * sizeof(double) - 1;
    assert_int_equal(locus_plan_forms_create(&forms, own.plan, &options, &error), LOCUS_ERROR_MEMORY);
    assert_line(&error, LOCUS_ERROR_MEMORY, "bytes");
    assert_null(forms);
    options.bytes++;
    assert_int_equal(locus_plan_forms_create(&forms, own.plan, &options, &error), LOCUS_OK);
    locus_plan_forms_destroy(&forms);
    leave(&own);
}

static void test_a_cancelled_call_leaves_nothing(void **state) {
    (void)state;
    scene own = scene_of("liere(group=seq) + fire");
    int32_t flag = 0;
    locus_flag_raise(&flag);
    locus_execution execution = locus_execution_in((locus_workspace){NULL, 0});
    execution.cancelled = locus_flag_raised;
    execution.context = &flag;
    locus_plan_forms_options options = locus_plan_forms_options_default();
    options.execution = &execution;
    locus_plan_forms *forms = NULL;
    locus_error error;
    assert_int_equal(locus_plan_forms_create(&forms, own.plan, &options, &error), LOCUS_ERROR_INTERRUPTED);
    assert_null(forms);
    leave(&own);
}

static void test_a_caches_plan_has_no_forms(void **state) {
    (void)state;
    scene own = scene_of("rope + alibi");
    locus_cache *cache = NULL;
    locus_plan_forms *forms = NULL;
    locus_error error;
    locus_cache_options options = locus_cache_options_default();
    options.capacity = TOKENS;
    assert_int_equal(locus_cache_create(&cache, own.binding, &options, &error), LOCUS_OK);
    assert_int_equal(locus_plan_forms_create(&forms, locus_cache_plan(cache), NULL, &error), LOCUS_ERROR_ARGUMENT);
    assert_line(&error, LOCUS_ERROR_ARGUMENT, "plan");
    locus_cache_destroy(&cache);
    leave(&own);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms_stand_in_the_order_in_which_they_act),
        cmocka_unit_test(test_parts_of_a_product_have_dimensions_of_their_own),
        cmocka_unit_test(test_learned_arrays_name_their_parameters),
        cmocka_unit_test(test_what_is_not_there_is_null),
        cmocka_unit_test(test_arrays_outlive_all_but_the_forms),
        cmocka_unit_test(test_what_the_plan_keeps_is_not_copied),
        cmocka_unit_test(test_threads_take_forms_of_one_plan_at_once),
        cmocka_unit_test(test_wrong_arguments_are_refused),
        cmocka_unit_test(test_forms_consist_of_this),
        cmocka_unit_test(test_more_bytes_than_allowed_are_refused),
        cmocka_unit_test(test_a_cancelled_call_leaves_nothing),
        cmocka_unit_test(test_a_caches_plan_has_no_forms),
    };
    threads_only("test_threads*");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
