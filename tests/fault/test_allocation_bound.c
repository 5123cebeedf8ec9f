/* SPDX-License-Identifier: MIT */
/* Every allocation of encodings as the laboratory holds them fails once, one after another: parsed, bound, looked at as
 * numbers, taken apart and written again, folded, placed by what one writes, and imported. Each failure is told as
 * MEMORY, or what comes is the same to the byte. */
#include "bound/acting.h"
#include "bound/encoded.h"
#include "bound/natural_shape.h"
#include "bound/position_text.h"
#include "bound/spec_text.h"
#include "fold/projection.h"
#include "io/npy.h"
#include "io/rope_file.h"
#include "io/safetensors.h"
#include "sanitized.h"
#include "unit/scratch_folder.h"

#include <inttypes.h>
#include <locus/parallel.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "failing_allocator.h"

/* ---- what came, as text ---- */

enum { ROOM = 1 << 16 };
static char came[ROOM];
static size_t used;

static void put(const char *format, ...) {
    va_list values;
    va_start(values, format);
    used += (size_t)vsnprintf(came + used, ROOM - used, format, values);
    va_end(values);
    assert_true(used < ROOM);
}

static void put_numbers(const double *numbers, size_t count) {
    for (size_t i = 0; i < count; i++)
        put(" %a", numbers[i]);
}

static void put_bound(const lab_bound *bound) {
    char text[256];
    locus_encoding_text(bound->encoding, text, sizeof text);
    put("%s, keys only %d\n", text, bound->keys_only);
    for (size_t i = 0; i < bound->count; i++) {
        put("%s:", bound->infos[i].name);
        put_numbers(bound->values[i].data, locus_tensor_count(&bound->values[i]));
    }
}

static void put_array(const lab_array *array) {
    char shape[LAB_SHAPE_TEXT];
    lab_shape_text(array->rank, array->shape, shape);
    put("%s", shape);
    for (size_t i = 0; i < lab_array_count(array); i++)
        put(" %a", lab_array_at(array, i));
}

/* ---- what is done ---- */

static const char *spec, *place; /* of a way: the encoding; positions, or a file of parameters */

static locus_status open_bound(lab_bound *bound, const char *parameters, locus_error *error) {
    const locus_shape shape = {.heads = 2, .head_dim = 4, .model_dim = 8};
    const locus_status status = lab_bound_parse(bound, spec, error);
    return status == LOCUS_OK ? lab_bound_open(bound, &shape, parameters, 3, error) : status;
}

static locus_status bound_way(locus_error *error) {
    lab_bound bound = {0};
    lab_natural natural;
    locus_tensor *gradients = NULL;
    locus_status status = open_bound(&bound, place, error);
    if (status == LOCUS_OK)
        status = lab_bound_gradients(&bound, &gradients, error);
    if (status == LOCUS_OK) {
        put_bound(&bound);
        for (size_t i = 0; i < bound.count; i++)
            put_numbers(gradients[i].data, locus_tensor_count(&gradients[i]));
    }
    lab_bound_gradients_free(&bound, &gradients);
    if (status == LOCUS_OK)
        status = lab_natural_find(&natural, bound.encoding, 6, 1000, error);
    if (status == LOCUS_OK)
        put("%zu, %" PRId64 "\n", natural.head_dim, natural.reach);
    lab_bound_close(&bound);
    return status;
}

static locus_status acting_way(locus_error *error) {
    lab_bound bound = {0}, acting = {0}, scores = {0};
    locus_status status = open_bound(&bound, NULL, error);
    if (status == LOCUS_OK)
        status = lab_acting_open(&acting, &bound, error);
    if (status == LOCUS_OK)
        status = lab_acting_scores(&scores, &bound, error);
    if (status == LOCUS_OK) {
        put_bound(&acting);
        put_bound(&scores);
    }
    lab_bound_close(&acting);
    lab_bound_close(&scores);
    lab_bound_close(&bound);
    return status;
}

static locus_status numbers_of(const lab_bound *bound, const lab_position_list *list, locus_error *error) {
    locus_status status = LOCUS_OK;
    for (int form = 0; form < 4 && status == LOCUS_OK; form++) {
        lab_array out = {0};
        status = form == 0   ? lab_encoded_table(&out, bound, list, error)
                 : form == 1 ? lab_encoded_operators(&out, bound, list, error)
                             : lab_encoded_scores(&out, bound, list, form == 3, error);
        if (status == LOCUS_OK)
            put_array(&out);
        lab_array_free(&out);
    }
    return status;
}

static locus_status encoded_way(locus_error *error) {
    lab_bound bound = {0};
    lab_position_list list = {0};
    locus_status status = open_bound(&bound, NULL, error);
    if (status == LOCUS_OK)
        status = lab_position_list_parse(&list, locus_encoding_group(bound.encoding), "at", place, error);
    if (status == LOCUS_OK)
        status = numbers_of(&bound, &list, error);
    lab_position_list_free(&list);
    lab_bound_close(&bound);
    return status;
}

/* Forward, backward and weights, over queries that are keys and values, too. */
static locus_status attend(const lab_bound *bound, const locus_plan *plan, locus_tensor *gradients,
                           locus_error *error) {
    enum { TOKENS = 3, HEADS = 2, DIM = 4, ALL = TOKENS * HEADS * DIM };
    const int64_t shape[] = {TOKENS, HEADS, DIM}, square[] = {HEADS, TOKENS, TOKENS};
    double x[ALL], y[ALL] = {0}, gx[ALL] = {0}, sums[TOKENS * HEADS] = {0}, weights[HEADS * TOKENS * TOKENS] = {0};
    const locus_tensor in = locus_tensor_view(x, LOCUS_FLOAT64, 3, shape),
                       out = locus_tensor_view(y, LOCUS_FLOAT64, 3, shape),
                       back = locus_tensor_view(gx, LOCUS_FLOAT64, 3, shape),
                       all = locus_tensor_view(sums, LOCUS_FLOAT64, 2, shape),
                       seen = locus_tensor_view(weights, LOCUS_FLOAT64, 3, square);
    const locus_attention_options options = locus_attention_default();
    const locus_attention_tensors tensors = {sizeof tensors, &in, &in, &in, &out, &all};
    const locus_attention_gradients wanted = {
        .size = sizeof wanted, .output = &in, .query = &back, .parameters = gradients, .parameter_count = bound->count};
    const locus_attention_weights_call call = {.size = sizeof call, .query = &in, .key = &in, .weights = &seen};
    for (size_t i = 0; i < ALL; i++)
        x[i] = (double)(i * i % 7) - 3;
    locus_status status = lab_attend(plan, &options, &tensors, NULL, error);
    if (status == LOCUS_OK)
        status = lab_plan_backward(plan, &options, &tensors, &wanted, NULL, error);
    if (status == LOCUS_OK)
        status = lab_plan_weights(plan, &options, &call, NULL, error);
    if (status == LOCUS_OK) {
        put_numbers(y, ALL);
        put_numbers(gx, ALL);
        put_numbers(weights, sizeof weights / sizeof *weights);
        for (size_t i = 0; i < bound->count; i++)
            put_numbers(gradients[i].data, locus_tensor_count(&gradients[i]));
    }
    return status;
}

static locus_status attend_way(locus_error *error) {
    lab_bound bound = {0};
    lab_position_list list = {0};
    locus_positions *positions = NULL;
    locus_plan *plan = NULL;
    locus_tensor *gradients = NULL;
    locus_status status = open_bound(&bound, NULL, error);
    if (status == LOCUS_OK)
        status = lab_position_list_parse(&list, locus_encoding_group(bound.encoding), "at", place, error);
    if (status == LOCUS_OK)
        status = lab_positions_one_sequence(&positions, &list, error);
    if (status == LOCUS_OK)
        status = lab_bound_plan(&bound, positions, NULL, NULL, &plan, error);
    if (status == LOCUS_OK)
        status = lab_bound_gradients(&bound, &gradients, error);
    if (status == LOCUS_OK)
        status = attend(&bound, plan, gradients, error);
    lab_bound_gradients_free(&bound, &gradients);
    locus_plan_destroy(&plan);
    locus_positions_destroy(&positions);
    lab_position_list_free(&list);
    lab_bound_close(&bound);
    return status;
}

/* Options that are there, that are not, that go; a term of another name, and one more. */
static locus_status rewrite(lab_spec *terms, locus_error *error) {
    lab_term *first = &terms->terms[0], *more = NULL;
    locus_status status = lab_term_set(first, "base", "600", error);
    if (status == LOCUS_OK)
        status = lab_term_set(first, "learned", "on", error);
    if (status == LOCUS_OK)
        status = lab_term_set(first, "pairs", NULL, error);
    if (status == LOCUS_OK)
        status = lab_term_set(first, "nothing", NULL, error);
    if (status == LOCUS_OK)
        status = lab_term_rename(&terms->terms[1], "kerple", error);
    return status == LOCUS_OK ? lab_spec_append(terms, "decay", &more, error) : status;
}

static locus_status spec_way(locus_error *error) {
    lab_bound bound;
    lab_spec terms = {0};
    char *text = NULL;
    locus_status status = lab_bound_parse(&bound, "rope(base=500, pairs=half) + alibi", error);
    if (status == LOCUS_OK)
        status = lab_spec_open(&terms, bound.encoding, error);
    if (status == LOCUS_OK)
        status = rewrite(&terms, error);
    if (status == LOCUS_OK && (text = lab_spec_string(&terms)) == NULL) {
        status = LOCUS_ERROR_MEMORY;
        strcpy(error->message, "the text");
    }
    if (status == LOCUS_OK)
        put("%s", text);
    free(text);
    lab_spec_close(&terms);
    lab_bound_close(&bound);
    return status;
}

static locus_status put_paths(const lab_position_list *list, locus_error *error) {
    lab_position_list paths = {0};
    const locus_status status = lab_path_list_of(&paths, list, error);
    for (size_t i = 0; i < paths.count && status == LOCUS_OK; i++) {
        char text[64];
        locus_path_text(paths.paths[i], text, sizeof text);
        put(" %s", text);
    }
    lab_position_list_free(&paths);
    return status;
}

static locus_status packed(const lab_position_list *list, locus_error *error) {
    locus_positions *positions = NULL;
    locus_status status = lab_positions_one_sequence(&positions, list, error);
    for (int turn = 0; turn < 3 && status == LOCUS_OK; turn++) {
        put(" %zu tokens in %zu", locus_positions_tokens(positions), locus_positions_sequences(positions));
        locus_positions_destroy(&positions);
        if (turn < 2)
            status = turn == 0 ? lab_positions_apart(&positions, list, error)
                               : lab_positions_repeated(&positions, list, 1, error);
    }
    return status;
}

/* `spec` is a group here. */
static locus_status places_way(locus_error *error) {
    locus_group *group = NULL;
    lab_position_list list = {0};
    locus_status status = locus_group_parse(spec, &group, error);
    if (status == LOCUS_OK)
        status = lab_position_list_parse(&list, group, "at", place, error);
    if (status == LOCUS_OK)
        status = packed(&list, error);
    if (status == LOCUS_OK && list.reals)
        put_numbers(list.reals, list.count);
    else if (status == LOCUS_OK)
        status = put_paths(&list, error);
    lab_position_list_free(&list);
    locus_group_destroy(&group);
    return status;
}

static lab_folding_wish wish;

static locus_status fold_way(locus_error *error) {
    lab_bound bound = {0};
    lab_folding folding = {0};
    locus_status status = open_bound(&bound, NULL, error);
    if (status == LOCUS_OK)
        status = lab_folding_open(&folding, &bound, &wish, error);
    if (status == LOCUS_OK) {
        put_bound(&folding.target);
        put_numbers(folding.turn, folding.shape.heads * folding.shape.head_dim * folding.shape.head_dim);
    }
    if (status == LOCUS_OK)
        status = lab_folding_write(&folding, NULL, 0, scratch_path("folded.safetensors"), error);
    lab_folding_close(&folding);
    lab_bound_close(&bound);
    return status;
}

/* `place`: the configuration of a checkpoint. */
static locus_status import_way(locus_error *error) {
    lab_rope_config config;
    const locus_status status = lab_rope_file_read(&config, place, error);
    if (status == LOCUS_OK) {
        put("%s, %s, %s, %zu, %zu\n", config.spec, config.attention, config.model_type, config.head_dim, config.length);
        for (size_t i = 0; i < config.note_count; i++)
            put("%s, %d\n", config.notes[i].text, config.notes[i].minor);
    }
    lab_rope_config_free(&config);
    return status;
}

/* ---- one failure after another ---- */

static void every_failure(locus_status (*way)(locus_error *error), long least) {
    static char whole[ROOM];
    locus_error error = {0};
    long point = 0;
    used = 0;
    if (way(&error) != LOCUS_OK)
        fail_msg("%s, %s: %s", spec, place, error.message);
    memcpy(whole, came, sizeof whole);
    assert_true(used > 0);
    const size_t files = scratch_count();
    for (bool failed = true; failed; point += SANITIZED(3, 1)) { /* under a sanitizer one in three */
        used = 0;
        error = (locus_error){0};
        allocator_arm(point);
        const locus_status status = way(&error);
        failed = allocator_disarm();
        if (status != LOCUS_OK && (status != LOCUS_ERROR_MEMORY || error.message[0] == '\0'))
            fail_msg("%s, %s, allocation %ld: status %d, \"%s\"", spec, place, point, (int)status, error.message);
        if (status == LOCUS_OK && strcmp(came, whole) != 0)
            fail_msg("%s, %s, allocation %ld: other numbers", spec, place, point);
        assert_int_equal(scratch_count(), files);
    }
    if (point < least)
        fail_msg("%s, %s: %ld allocations", spec, place, point);
}

static void test_bound(void **state) {
    (void)state;
    lab_array array;
    locus_error error;
    place = NULL;
    spec = "rope(learned=on, side=key) + t5(buckets=4) + learned(size=4)";
    every_failure(bound_way, 30);
    every_failure(acting_way, 50);
    spec = "algebraic(group=seq*tree:2) + alibi(group=seq*tree:2)";
    every_failure(bound_way, 30);
    every_failure(acting_way, 40);
    const int64_t shape[] = {4, 8};
    assert_int_equal(lab_array_create(&array, LAB_F32, 2, shape, &error), LOCUS_OK);
    strcpy(array.name, "table");
    for (size_t i = 0; i < 32; i++)
        lab_array_set(&array, i, 0.5 * (double)i);
    assert_int_equal(lab_safetensors_write(scratch_path("table"), &array, 1, NULL, 0, &error), LOCUS_OK);
    lab_array_free(&array);
    spec = "learned(size=4)";
    place = scratch_path("table");
    every_failure(bound_way, 10);
}

static void test_encoded(void **state) {
    (void)state;
    spec = "rope + alibi + decay + sinusoidal";
    place = "0:3";
    every_failure(encoded_way, 50);
    spec = "chebyshev(site=output, size=4) + algebraic";
    every_failure(encoded_way, 50);
    spec = "rope(learned=on) + t5(buckets=4)";
    every_failure(attend_way, 30);
}

static void test_specs(void **state) {
    (void)state;
    spec = "rewritten";
    place = NULL;
    every_failure(spec_way, 15);
}

static void test_places(void **state) {
    (void)state;
    static const char *const texts[][2] = {{"seq", "-1:2"},          {"grid:2", "grid:2x2"}, {"seq", "0.5,1.25"},
                                           {"tree:2", "0,1+2,2"},    {"seq", "reals"},       {"seq*tree:2", "tuples"},
                                           {"cycle:4", "three.npy"}, {"tree:8", "rows.npy"}, {"seq", "reals.npy"}};
    const int64_t three[] = {3}, rows[] = {2, 2};
    lab_array array;
    locus_error error;
    scratch_write("reals", "0.5\n2\n", 6);
    scratch_write("tuples", "(3,1+2)\n(-1,0)\n", 15);
    assert_int_equal(lab_array_create(&array, LAB_I64, 1, three, &error), LOCUS_OK);
    assert_int_equal(lab_npy_write(&array, scratch_path("three.npy"), &error), LOCUS_OK);
    lab_array_free(&array);
    assert_int_equal(lab_array_create(&array, LAB_I32, 2, rows, &error), LOCUS_OK);
    assert_int_equal(lab_npy_write(&array, scratch_path("rows.npy"), &error), LOCUS_OK);
    lab_array_free(&array);
    assert_int_equal(lab_array_create(&array, LAB_F32, 1, three, &error), LOCUS_OK);
    assert_int_equal(lab_npy_write(&array, scratch_path("reals.npy"), &error), LOCUS_OK);
    lab_array_free(&array);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        spec = texts[i][0];
        place = i < 4 ? texts[i][1] : scratch_path(texts[i][1]);
        every_failure(places_way, 5);
    }
    /* As many positions as there may be: there is no memory for them, and there are not too many. */
    static const char *const most[] = {"0:1073741824", "grid:1073741824"};
    for (size_t i = 0; i < 2; i++) {
        lab_position_list list;
        allocator_arm(0);
        const locus_status status = lab_position_list_parse(&list, NULL, "at", most[i], &error);
        allocator_disarm();
        assert_int_equal(status, LOCUS_ERROR_MEMORY);
        assert_string_equal(error.message, "out of memory for 1073741824 positions");
    }
}

static void test_folds(void **state) {
    (void)state;
    static const struct {
        const char *spec;
        lab_folding_wish wish;
    } folds[] = {{"algebraic(group=seq)", {.to = LAB_FOLD_ROTARY}},
                 {"algebraic(values=on) + alibi", {.to = LAB_FOLD_ROTARY, .half = true}},
                 {"algebraic(group=grid:2)", {.to = LAB_FOLD_ROTARY}},
                 {"algebraic(group=cycle:6, init=random)", {.to = LAB_FOLD_ALGEBRAIC}},
                 {"rope(learned=on, rotate=2)", {.to = LAB_FOLD_ROTARY}},
                 {"rope(base=500) + decay(learned=on)", {.to = LAB_FOLD_ALGEBRAIC}},
                 {"roper(axes=2)", {.to = LAB_FOLD_ALGEBRAIC, .random_basis = true, .seed = 3}},
                 {"mixed", {.to = LAB_FOLD_ROTARY}},
                 {"string", {.to = LAB_FOLD_ROTARY}}};
    place = NULL;
    scratch_write("folded.safetensors", "", 0); /* is there, so that files can be counted */
    for (size_t i = 0; i < sizeof folds / sizeof *folds; i++) {
        spec = folds[i].spec;
        wish = folds[i].wish;
        every_failure(fold_way, 20);
    }
}

static void test_imports(void **state) {
    (void)state;
    static const char *const models[] = {"gemma3-4b", "gpt-oss",     "llama4-scout", "modernbert",
                                         "smollm3",   "qwen25-yarn", "phi3-128k",    "qwen2-vl"};
    const char *source = getenv("LOCUS_SOURCE");
    static char path[1024];
    spec = "imported";
    place = path;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        snprintf(path, sizeof path, "%s/tests/cli/configs/%s.json", source != NULL ? source : LOCUS_SOURCE_DIR,
                 models[i]);
        every_failure(import_way, 10);
    }
}

int main(void) {
    allocator_texts = true;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bound), cmocka_unit_test(test_encoded),
                                       cmocka_unit_test(test_specs), cmocka_unit_test(test_places),
                                       cmocka_unit_test(test_folds), cmocka_unit_test(test_imports)};
    if (locus_threads_set(1) != LOCUS_OK) /* which allocation fails must not depend on how they run */
        return 1;
    return cmocka_run_group_tests(tests, scratch_create, scratch_remove);
}
