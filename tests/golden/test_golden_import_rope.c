/* SPDX-License-Identifier: MIT */
/* Model configurations imported and bound, against the frequencies of the models' own rotary modules, which
 * tools/golden_import_rope.py runs live with the transformers library: every pair of every distinct layer at several
 * lengths turns by that frequency, along that axis, in those two dimensions, and nothing else moves.
 *
 * Operators are measured: ⌈p⌉ e_i for one step along each axis, in float64. The library's frequencies are float32, made
 * with float32 powers: 1e-6 relative. */
#include "golden.h"

#include "io/rope_file.h"

#include <locus/pattern.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TOLERANCE 1e-6

typedef struct imported {
    lab_rope_config config;
    locus_pattern *pattern;
    const locus_encoding *encoding; /* of the case's layer */
} imported;

static void import(imported *model, const golden_file *golden, size_t index) {
    char path[512];
    const char *source = getenv("LOCUS_SOURCE");
    snprintf(path, sizeof path, "%s/tests/cli/configs/%s.json", source ? source : ".",
             golden_text(golden, index, "config"));
    golden_ok(lab_rope_file_read(&model->config, path, error));
    golden_ok(locus_pattern_parse(model->config.spec, &model->pattern, error));
    const size_t layer = (size_t)strtoull(golden_text(golden, index, "layer"), NULL, 10);
    model->encoding = locus_pattern_encoding(model->pattern, locus_pattern_layer(model->pattern, layer));
    assert_non_null(model->encoding);
}

static void forget(imported *model) {
    locus_pattern_destroy(&model->pattern);
    lab_rope_config_free(&model->config);
}

/* Token a·dim + i carries e_i at one step along axis a. */
static double *turn_units(const imported *model, size_t axes, size_t length) {
    const size_t dim = model->config.head_dim, tokens = axes * dim, offsets[2] = {0, tokens};
    const locus_packing packing = {.size = sizeof packing, .sequences = 1, .offsets = offsets};
    const locus_shape shape = {.heads = 1, .head_dim = dim};
    locus_plan_options options = locus_plan_options_default();
    int64_t *values = calloc(tokens * axes, sizeof *values);
    double *x = calloc(tokens * dim, sizeof *x);
    locus_binding *binding = NULL;
    locus_positions *positions = NULL;
    locus_plan *plan = NULL;
    assert_non_null(values);
    assert_non_null(x);
    for (size_t t = 0; t < tokens; t++) {
        values[t * axes + t / dim] = 1;
        x[t * dim + t % dim] = 1;
    }
    options.length = length;
    golden_ok(locus_binding_create(&binding, model->encoding, &shape, NULL, 0, error));
    golden_ok(locus_positions_create(&positions, locus_encoding_group(model->encoding), &packing, values, error));
    golden_ok(locus_plan_create_with(&plan, binding, positions, NULL, &options, error));
    locus_tensor tensor = locus_tensor_view(x, LOCUS_FLOAT64, 3, (int64_t[]){(int64_t)tokens, 1, (int64_t)dim});
    const size_t bytes = locus_apply_workspace(plan, LOCUS_ROLE_QUERY, LOCUS_FLOAT64, NULL);
    locus_workspace workspace = {bytes ? locus_allocate(bytes) : NULL, bytes};
    const locus_execution execution = locus_execution_in(workspace);
    golden_ok(locus_apply(plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &tensor, &tensor, &execution, error));
    locus_release(workspace.data, bytes);
    locus_plan_destroy(&plan);
    locus_positions_destroy(&positions);
    locus_binding_destroy(&binding);
    free(values);
    return x;
}

static void fail_case(const golden_file *golden, size_t index, const imported *model, const char *what, size_t at,
                      double got, double want) {
    fail_msg("%s, layer %s, length %s: %s of %zu is %.12g, not %.12g\n  %.400s", golden_text(golden, index, "config"),
             golden_text(golden, index, "layer"), golden_text(golden, index, "length"), what, at, got, want,
             model->config.spec);
}

/* Every pair along every axis; the dimensions behind the pairs stand still. */
static size_t compare(const golden_file *golden, size_t index, const imported *model) {
    const lab_array *inv_freq = golden_array(golden, index, "inv_freq");
    const double *want = inv_freq->data, scaling = *(const double *)golden_array(golden, index, "scaling")->data;
    const int32_t *axis = golden_array(golden, index, "axis")->data,
                  *pairs = golden_array(golden, index, "pairs")->data;
    const size_t count = (size_t)inv_freq->shape[0], dim = model->config.head_dim;
    const locus_group *group = locus_encoding_group(model->encoding);
    const size_t axes = group ? locus_group_coordinates(group) : 1;
    const size_t length = (size_t)strtoull(golden_text(golden, index, "length"), NULL, 10);
    double *turned = turn_units(model, axes, length);
    for (size_t a = 0; a < axes; a++) {
        for (size_t k = 0; k < count; k++) {
            const size_t i = (size_t)pairs[2 * k], j = (size_t)pairs[2 * k + 1];
            const double *row = turned + (a * dim + i) * dim, angle = (size_t)axis[k] == a ? want[k] : 0;
            const double got = atan2(row[j], row[i]), size = hypot(row[i], row[j]);
            if (!(fabs(got - angle) <= TOLERANCE * angle))
                fail_case(golden, index, model, "angle", k, got, angle);
            if (!(fabs(size - scaling) <= TOLERANCE * scaling))
                fail_case(golden, index, model, "factor", k, size, scaling);
        }
        for (size_t i = 2 * count; i < dim; i++)
            if (turned[(a * dim + i) * dim + i] != 1)
                fail_case(golden, index, model, "dimension", i, turned[(a * dim + i) * dim + i], 1);
    }
    free(turned);
    return axes * count;
}

static void every_configuration(void **state) {
    golden_file golden;
    size_t compared = 0, bare = 0;
    (void)state;
    golden_open(&golden, "import_rope");
    for (size_t index = 0; index < golden.count; index++) {
        imported model = {0};
        char text[16];
        import(&model, &golden, index);
        const bool none = strcmp(golden_text(&golden, index, "none"), "yes") == 0;
        locus_encoding_text(model.encoding, text, sizeof text);
        if (none == (strncmp(text, "rope", 4) == 0)) /* Llama 4 has a temperature there */
            fail_msg("%s, layer %s: '%s'", golden_text(&golden, index, "config"), golden_text(&golden, index, "layer"),
                     model.config.spec);
        bare += none;
        compared += none ? 0 : compare(&golden, index, &model);
        forget(&model);
    }
    assert_true(compared > 2000);
    assert_int_equal(bare, 3);
    golden_close(&golden);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_configuration)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
