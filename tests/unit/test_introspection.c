/* SPDX-License-Identifier: MIT */
/* What an encoding says of itself to a program: kinds and ranges of options, constraints of parameters, traits. Each
 * statement is held against what the library then does. */
#include "property/encoding_rig.h"

#include <stdio.h>

static locus_status parse(const char *spec, locus_encoding **encoding, locus_error *error) {
    *error = (locus_error){0};
    return locus_encoding_parse(spec, encoding, error);
}

/* ---- options ---- */

/* Whether the value itself is taken; other options may be wanted beside it. */
static bool takes(const locus_encoding_info *info, const locus_option_info *option, const char *value) {
    char spec[256], refused[160];
    locus_encoding *encoding = NULL;
    locus_error error;
    (void)snprintf(spec, sizeof spec, "%s(%s=%s)", info->name, option->name, value);
    (void)snprintf(refused, sizeof refused, "option '%s' of '%s' cannot be", option->name, info->name);
    const locus_status status = parse(spec, &encoding, &error);
    locus_encoding_destroy(&encoding);
    return status == LOCUS_OK || strncmp(error.message, refused, strlen(refused)) != 0;
}

static bool takes_number(const locus_encoding_info *info, const locus_option_info *option, double value) {
    char text[64];
    (void)snprintf(text, sizeof text, "%.17g", value);
    return takes(info, option, text);
}

static bool has_range(locus_option_kind kind) {
    return kind != LOCUS_OPTION_CHOICE && kind != LOCUS_OPTION_GROUP;
}

static bool is_whole(locus_option_kind kind) {
    return kind == LOCUS_OPTION_INTEGER || kind == LOCUS_OPTION_OFF_OR_INTEGER || kind == LOCUS_OPTION_LIST ||
           kind == LOCUS_OPTION_ROTATE;
}

static void check_range(const locus_encoding_info *info, const locus_option_info *option) {
    assert_true(option->minimum < option->maximum);
    assert_int_equal(takes_number(info, option, option->minimum), !option->open);
    assert_true(takes_number(info, option, option->maximum));
    assert_false(takes_number(info, option, option->minimum - 1 - fabs(option->minimum)));
    assert_false(takes_number(info, option, option->maximum * 2 + 1));
    assert_false(is_whole(option->kind) && takes_number(info, option, option->minimum + 0.5));
    assert_false(takes(info, option, "certainly"));
}

/* The range is the one that people are told; where they are told no end of it, it is a power of 2 or 10. */
static void check_told(const locus_option_info *option) {
    const char *from = strstr(option->values, "from "), *to = strstr(option->values, " to "),
               *least = strstr(option->values, "≥ "), *most = strstr(option->values, "≤ ");
    const bool even = option->kind == LOCUS_OPTION_ROTATE, above = strstr(option->values, "> 0") != NULL;
    int exponent;
    assert_int_equal(option->open, !even && (above || strstr(option->values, "0 < ")));
    if (from)
        assert_true(to && option->minimum == strtod(from + 5, NULL) && option->maximum == strtod(to + 4, NULL));
    else if (least)
        assert_true(option->minimum == strtod(least + strlen("≥ "), NULL));
    else if (option->open)
        assert_true(option->minimum == 0);
    else
        assert_true(option->minimum == 1 || option->minimum == -option->maximum);
    if (most && !even)
        assert_true(option->maximum == strtod(most + strlen("≤ "), NULL));
    if (frexp(option->maximum, &exponent) != 0.5)
        assert_true(option->maximum == pow(10, round(log10(option->maximum))));
}

static void options_say_what_they_take(void **state) {
    size_t ranges = 0, choices = 0;
    (void)state;
    for (size_t i = 0; i < locus_encoding_registry_size(); i++) {
        const locus_encoding_info *info = locus_encoding_registry_at(i);
        for (size_t j = 0; j < info->option_count; j++) {
            const locus_option_info *option = &info->options[j];
            const bool off = option->kind == LOCUS_OPTION_OFF_OR_NUMBER || option->kind == LOCUS_OPTION_DECAY ||
                             option->kind == LOCUS_OPTION_OFF_OR_INTEGER;
            if (has_range(option->kind)) {
                check_range(info, option);
                check_told(option);
                assert_int_equal(takes(info, option, "off"), off);
                ranges++;
            } else {
                assert_true(option->minimum == 0 && option->maximum == 0 && !option->open);
                assert_false(takes(info, option, "certainly") && option->kind == LOCUS_OPTION_CHOICE);
            }
            if (has_range(option->kind))
                assert_int_equal(takes(info, option, "learned:0.5"), option->kind == LOCUS_OPTION_DECAY);
            if (option->kind == LOCUS_OPTION_CHOICE) {
                const size_t first = strcspn(option->values, "|");
                assert_true(option->values[first] == '|' && !strchr(option->values, ' '));
                choices++;
            }
        }
    }
    assert_true(ranges > 40 && choices > 30);
    for (size_t i = 0; i < locus_attention_registry_size(); i++)
        for (size_t j = 0; j < locus_attention_registry_at(i)->option_count; j++) {
            const locus_option_info *option = &locus_attention_registry_at(i)->options[j];
            check_told(option);
            assert_int_equal(option->kind, LOCUS_OPTION_INTEGER);
        }
}

/* ---- constraints ---- */

static locus_status bind_with(const rig *r, size_t parameter, double value, locus_error *error) {
    locus_binding *binding = NULL;
    double *values = r->values[parameter].data;
    const double before = values[0];
    *error = (locus_error){0};
    values[0] = value;
    const locus_status status = locus_binding_create(&binding, r->encoding, &r->shape, r->values, r->count, error);
    values[0] = before;
    locus_binding_destroy(&binding);
    return status;
}

static void check_constraints(const char *spec, size_t *constrained) {
    locus_error error;
    rig r;
    rig_bind(&r, spec, rig_shape(2, 12, 12, 24), 7);
    for (size_t p = 0; p < r.count; p++) {
        const locus_constraint constraint = r.info[p].constraint;
        const bool positive = constraint == LOCUS_CONSTRAINT_POSITIVE;
        assert_int_equal(bind_with(&r, p, 0, &error) == LOCUS_OK, constraint == LOCUS_CONSTRAINT_NONE);
        assert_int_equal(bind_with(&r, p, -0.5, &error) == LOCUS_OK, !positive);
        if (constraint != LOCUS_CONSTRAINT_NONE) {
            assert_int_equal(bind_with(&r, p, 0, &error), LOCUS_ERROR_NUMERIC);
            assert_string_equal(error.argument, r.info[p].name);
            assert_non_null(strstr(error.message, positive ? "above 0" : "another number than 0"));
            ++*constrained;
        }
    }
    rig_close(&r);
}

/* ---- traits ---- */

static const char *const specs[] = {"rope",
                                    "rope(learned=on)",
                                    "rope(scaling=dynamic, factor=2, original=8)",
                                    "rope(scaling=longrope, factor=2, original=8, short=1:1:1:1:1:1, long=1:2:3:4:5:6)",
                                    "rope(scaling=yarn, factor=2, original=8)",
                                    "rope(xpos=512)",
                                    "roper",
                                    "algebraic",
                                    "algebraic(generator=fixed)",
                                    "algebraic(generator=fixed, decay=learned:0.9)",
                                    "mixed(group=seq)",
                                    "string(group=seq, decay=learned:0.9)",
                                    "liere(group=seq)",
                                    "alibi",
                                    "decay",
                                    "decay(learned=on)",
                                    "t5",
                                    "kerple",
                                    "fire",
                                    "cope",
                                    "cope + rope",
                                    "relative(window=3)",
                                    "relative(window=3) + rope",
                                    "relative(window=3) + alibi",
                                    "temperature + rope",
                                    "scores(window=3)",
                                    "scores(sinks=on) + alibi",
                                    "sinusoidal",
                                    "learned(size=64)",
                                    "chebyshev(size=64)",
                                    "none"};
enum { SPECS = sizeof specs / sizeof *specs, TOKENS = 12 };

static void constraints_are_what_bindings_refuse(void **state) {
    size_t constrained = 0;
    (void)state;
    for (size_t i = 0; i < SPECS; i++)
        check_constraints(specs[i], &constrained);
    assert_true(constrained >= 7); /* rates, kerple's a and b, fire's c and L */
}

static bool takes_reals(const rig *r) {
    double values[TOKENS];
    const size_t offsets[] = {0, TOKENS};
    const locus_packing packing = {.size = sizeof packing, .sequences = 1, .offsets = offsets};
    locus_positions *positions = NULL;
    locus_plan *plan = NULL;
    for (size_t i = 0; i < TOKENS; i++)
        values[i] = 0.75 * (double)i;
    rig_ok(locus_positions_create_real(&positions, NULL, &packing, values, error));
    const locus_status status = locus_plan_create(&plan, r->binding, positions, NULL, NULL);
    locus_plan_destroy(&plan);
    locus_positions_destroy(&positions);
    return status == LOCUS_OK;
}

/* Queries as a plan for sequences of a length turns them. */
static void turn(const rig *r, size_t length, float *x) {
    locus_plan_options options = locus_plan_options_default();
    locus_positions *positions = rig_positions(NULL, TOKENS);
    locus_plan *plan = NULL;
    const locus_tensor tensor = locus_tensor_view(x, LOCUS_FLOAT32, 3, (const int64_t[]){TOKENS, 2, 12});
    options.length = length;
    rig_ok(locus_plan_create_with(&plan, r->binding, positions, NULL, &options, error));
    const size_t bytes = locus_apply_workspace(plan, LOCUS_ROLE_QUERY, LOCUS_FLOAT32, NULL);
    void *memory = aligned_alloc(LOCUS_ALIGNMENT, (bytes / LOCUS_ALIGNMENT + 1) * LOCUS_ALIGNMENT);
    const locus_execution execution = locus_execution_in((locus_workspace){memory, bytes});
    for (size_t i = 0; i < (size_t)TOKENS * 24; i++)
        x[i] = (float)(i % 7) - 3;
    rig_ok(locus_apply(plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &tensor, &tensor, &execution, error));
    free(memory);
    locus_plan_destroy(&plan);
    locus_positions_destroy(&positions);
}

static bool depends_on_length(const rig *r) {
    float first[TOKENS * 24], second[TOKENS * 24];
    turn(r, 8, first);
    turn(r, 100, second);
    return memcmp(first, second, sizeof first) != 0;
}

static bool needs_causal(const rig *r) {
    float x[TOKENS * 24] = {0}, o[TOKENS * 24];
    const int64_t shape[] = {TOKENS, 2, 12};
    const locus_tensor in = locus_tensor_view(x, LOCUS_FLOAT32, 3, shape),
                       out = locus_tensor_view(o, LOCUS_FLOAT32, 3, shape);
    locus_attention_options options = locus_attention_default();
    locus_status status[2];
    for (size_t i = 0; i < 2; i++) {
        locus_attention_tensors tensors = {
            .size = sizeof tensors, .query = &in, .key = &in, .value = &in, .output = &out};
        options.mask = i ? LOCUS_MASK_CAUSAL : LOCUS_MASK_FULL;
        const size_t bytes = locus_attention_workspace(r->plan, &options, LOCUS_FLOAT32, LOCUS_PASS_FORWARD, NULL);
        void *memory = aligned_alloc(LOCUS_ALIGNMENT, (bytes / LOCUS_ALIGNMENT + 1) * LOCUS_ALIGNMENT);
        const locus_execution execution = locus_execution_in((locus_workspace){memory, bytes});
        status[i] = locus_attention_forward(r->plan, &options, &tensors, &execution, NULL);
        free(memory);
    }
    assert_int_equal(status[1], LOCUS_OK);
    assert_true(status[0] == LOCUS_OK || status[0] == LOCUS_ERROR_UNSUPPORTED);
    return status[0] != LOCUS_OK;
}

static bool can_be_cached(const rig *r) {
    locus_cache_options options = locus_cache_options_default();
    locus_cache *cache = NULL;
    options.capacity = TOKENS;
    const locus_status status = locus_cache_create(&cache, r->binding, &options, NULL);
    locus_cache_destroy(&cache);
    assert_true(status == LOCUS_OK || status == LOCUS_ERROR_UNSUPPORTED);
    return status == LOCUS_OK;
}

/* Angles of cycles are given: a group of nothing else has none to learn. */
static void angles_of_cycles_are_not_learned(void **state) {
    static const char *const groups[] = {"cycle:7", "cycle:7*cycle:5", "cycle:7*seq", "tree:2"};
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        char spec[64];
        rig r;
        (void)snprintf(spec, sizeof spec, "algebraic(group=%s, generator=angles)", groups[i]);
        rig_bind(&r, spec, rig_shape(2, 12, 12, 24), 7);
        assert_int_equal(r.count > 0, i > 1);
        assert_int_equal((locus_encoding_traits(r.encoding) & LOCUS_TRAIT_LEARNS) != 0, i > 1);
        rig_close(&r);
    }
}

static void traits_are_what_happens(void **state) {
    unsigned seen = 0, missed = 0;
    (void)state;
    for (size_t i = 0; i < SPECS; i++) {
        rig r;
        rig_open(&r, specs[i], rig_shape(2, 12, 12, 24), NULL, TOKENS);
        const unsigned found = (r.count > 0 ? (unsigned)LOCUS_TRAIT_LEARNS : 0u) |
                               (takes_reals(&r) ? (unsigned)LOCUS_TRAIT_REALS : 0u) |
                               (depends_on_length(&r) ? (unsigned)LOCUS_TRAIT_LENGTH : 0u) |
                               (needs_causal(&r) ? (unsigned)LOCUS_TRAIT_CAUSAL : 0u) |
                               (can_be_cached(&r) ? (unsigned)LOCUS_TRAIT_CACHED : 0u);
        const unsigned said = locus_encoding_traits(r.encoding);
        if (said != found)
            fail_msg("'%s' says traits %u and has %u", specs[i], said, found);
        seen |= said;
        missed |= ~said;
        rig_close(&r);
    }
    assert_int_equal(seen & 31u, 31);
    assert_int_equal(missed & 31u, 31);
    assert_int_equal(locus_encoding_traits(NULL), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_say_what_they_take),
        cmocka_unit_test(constraints_are_what_bindings_refuse),
        cmocka_unit_test(traits_are_what_happens),
        cmocka_unit_test(angles_of_cycles_are_not_learned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
