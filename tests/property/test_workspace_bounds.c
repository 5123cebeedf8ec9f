/* SPDX-License-Identifier: MIT */
/* Bounds of workspaces from limits alone are no smaller than what plans within them ask, for drawn specs, shapes,
 * batches, types, kinds, options, passes and threads; and how far above they are where a batch reaches its limits.
 * Nothing is executed, so that batches may be large. LOCUS_SEED and LOCUS_CASES come from the environment; a failure
 * names its case, LOCUS_CASE runs it alone. */
#include "kind_of.h"
#include "reference/drawn_world.h"
#include "sanitized.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { CASES = SANITIZED(60, 700) };
enum { MOST_SEQUENCES = DRAWN_SEQUENCES, MOST_RATIOS = 1 << 20, PARAMETERS = REFERENCE_TENSORS, DEPTH = 14 };

typedef struct bound_case {
    drawn_spec spec;
    locus_shape shape;
    locus_group *group;
    locus_binding *binding;
    drawn_side queries, keys;
    bool self;
    locus_plan *plan;
    locus_workspace_limits limits;
    uint64_t number;
} bound_case;

typedef struct ratios {
    double *of;
    size_t count, asked;
    double worst;
    char worst_of[600];
} ratios;

static unsigned long long setting(const char *name, unsigned long long otherwise) {
    const char *text = getenv(name);
    return text && *text ? strtoull(text, NULL, 0) : otherwise;
}

/* ---- drawing ---- */

static void draw_shape(bound_case *c, chooser *choices) {
    static const size_t heads[] = {2, 1, 4, 8, 3, 12}, dims[] = {8, 16, 32, 64, 12, 5, 2};
    c->shape = locus_shape_default();
    c->shape.heads = heads[choose(choices, 6)];
    c->shape.head_dim = dims[choose(choices, 7)];
    c->shape.value_dim = choose_chance(choices, 30) ? 1 + choose(choices, 40) : c->shape.head_dim;
    c->shape.model_dim = 2 * (1 + choose(choices, 40));
    c->shape.kv_heads = c->shape.heads;
    if (choose_chance(choices, 50))
        for (size_t kv = 1 + choose(choices, c->shape.heads); kv > 0; kv--)
            if (c->shape.heads % kv == 0) {
                c->shape.kv_heads = kv;
                break;
            }
}

static bool bind(bound_case *c, uint64_t seed) {
    locus_tensor values[PARAMETERS];
    locus_error error;
    size_t count = 0;
    bool good = locus_encoding_parameter_count(c->spec.encoding, &c->shape, &count, &error) == LOCUS_OK;
    good = good && count <= PARAMETERS;
    memset(values, 0, sizeof values);
    for (size_t i = 0; good && i < count; i++) {
        locus_parameter info = {.size = sizeof info};
        good = locus_encoding_parameter(c->spec.encoding, &c->shape, i, &info, &error) == LOCUS_OK;
        values[i] = locus_tensor_view(NULL, LOCUS_FLOAT64, info.rank, info.shape);
        values[i].data = reference_zeros(locus_tensor_count(&values[i]), sizeof(double));
    }
    good = good && locus_encoding_initialise(c->spec.encoding, &c->shape, seed, values, count, &error) == LOCUS_OK;
    good = good && locus_binding_create(&c->binding, c->spec.encoding, &c->shape, values, count, &error) == LOCUS_OK;
    for (size_t i = 0; i < PARAMETERS; i++)
        free(values[i].data);
    return good;
}

static void draw_lengths(chooser *choices, size_t sequences, size_t longest, size_t *lengths) {
    for (size_t s = 0; s < sequences; s++)
        lengths[s] = choose_chance(choices, 10)   ? 0
                     : choose_chance(choices, 30) ? 1 + choose(choices, 9)
                                                  : 1 + choose(choices, longest);
}

static bool stand(bound_case *c, chooser *choices) {
    static const size_t longest[] = {40, 300, 3000, 9000};
    static const int64_t reaches[] = {0, 0, 50, 100000};
    const size_t sequences = choose_chance(choices, 30) ? 1 : choose(choices, MOST_SEQUENCES + 1);
    const bool tree = strstr(c->spec.text, "tree") != NULL || strstr(c->spec.group, "tree") != NULL;
    const size_t most = longest[choose(choices, tree ? 3 : 4)];
    const int64_t reach = reaches[choose(choices, 4)];
    size_t lengths[2][MOST_SEQUENCES] = {{0}};
    locus_error error;
    draw_lengths(choices, sequences, most, lengths[0]);
    draw_lengths(choices, sequences, most, lengths[1]);
    c->self = choose_chance(choices, 60);
    if (!drawn_side_make(&c->queries, c->group, choices, sequences, lengths[0], reach, &error))
        return false;
    return c->self || drawn_side_make(&c->keys, c->group, choices, sequences, lengths[1], reach, &error);
}

static const drawn_side *keys_of(const bound_case *c) {
    return c->self ? &c->queries : &c->keys;
}

static size_t longest_of(const drawn_side *side) {
    size_t most = 0;
    for (size_t s = 0; s < side->tokens.sequences; s++)
        most = side->count[s] > most ? side->count[s] : most;
    return most;
}

/* What the batch is, or more. */
static void draw_limits(bound_case *c, chooser *choices, bool exact) {
    const size_t more = exact ? 0 : choose(choices, 3000);
    c->limits = (locus_workspace_limits){.size = sizeof c->limits,
                                         .shape = &c->shape,
                                         .threads = 1 + choose(choices, 8),
                                         .sequences = c->queries.tokens.sequences + (more > 0 ? choose(choices, 5) : 0),
                                         .queries = c->queries.tokens.tokens + more,
                                         .keys = keys_of(c)->tokens.tokens + (more > 0 ? choose(choices, 3000) : 0),
                                         .longest_queries = longest_of(&c->queries) + more / 3,
                                         .longest_keys = longest_of(keys_of(c)) + more / 4,
                                         .depth = DEPTH};
    static const size_t workspaces[] = {0, (size_t)1 << 20, (size_t)1 << 16};
    c->limits.plan_workspace = choose_chance(choices, 70) ? 0 : workspaces[choose(choices, 3)];
}

static bool case_make(bound_case *c, chooser *choices, bool exact) {
    locus_error error;
    draw_shape(c, choices);
    if (!drawn_spec_make(choices, &c->shape, &c->spec))
        return false;
    const locus_group *own = locus_encoding_group(c->spec.encoding);
    char text[64];
    if (own)
        (void)locus_group_text(own, text, sizeof text);
    if (locus_group_parse(own ? text : c->spec.group, &c->group, &error) != LOCUS_OK ||
        locus_group_coordinates(c->group) > REFERENCE_AXES || !bind(c, choose(choices, 100)) || !stand(c, choices))
        return false;
    draw_limits(c, choices, exact);
    locus_plan_options options = locus_plan_options_default();
    options.workspace = c->limits.plan_workspace ? c->limits.plan_workspace : options.workspace;
    return locus_plan_create_with(&c->plan, c->binding, c->queries.positions, c->self ? NULL : c->keys.positions,
                                  &options, &error) == LOCUS_OK;
}

static void case_free(bound_case *c) {
    locus_plan_destroy(&c->plan);
    locus_binding_destroy(&c->binding);
    drawn_side_free(&c->queries);
    drawn_side_free(&c->keys);
    locus_group_destroy(&c->group);
    locus_encoding_destroy(&c->spec.encoding);
}

/* ---- comparing ---- */

static void run_nothing(void *state, size_t count, locus_task *task, void *context) {
    (void)state, (void)count, (void)task, (void)context;
}

static void describe(const bound_case *c, const char *what, char *text, size_t size) {
    (void)snprintf(text, size,
                   "case %llu: %.300s, %zu/%zu heads of %zu/%zu, %s, %zu threads, %zu sequences, %zu:%zu tokens, "
                   "longest %zu:%zu, workspace %zu, type %d",
                   (unsigned long long)c->number, c->spec.text, c->shape.heads, c->shape.kv_heads, c->shape.head_dim,
                   c->shape.value_dim, what, c->limits.threads, c->queries.tokens.sequences, c->queries.tokens.tokens,
                   keys_of(c)->tokens.tokens, longest_of(&c->queries), longest_of(keys_of(c)), c->limits.plan_workspace,
                   (int)c->limits.dtype);
}

static void compare(const bound_case *c, const char *what, size_t bound, size_t asked, ratios *all) {
    char text[600];
    if (bound < asked) {
        describe(c, what, text, sizeof text);
        fail_msg("%s: a plan asks for %zu bytes, the bound is %zu", text, asked, bound);
    }
    all->asked++;
    if (asked < 65536) /* of a few rows: nobody minds */
        return;
    const double ratio = (double)bound / (double)asked;
    if (all->count < MOST_RATIOS)
        all->of[all->count++] = ratio;
    if (ratio > all->worst) {
        all->worst = ratio;
        describe(c, what, all->worst_of, sizeof all->worst_of);
    }
}

static void compare_apply(bound_case *c, const locus_execution *execution, ratios *all) {
    for (locus_role role = LOCUS_ROLE_TOKEN; role <= LOCUS_ROLE_ENCODED; role++) {
        size_t bound = 0;
        char what[32];
        locus_error error;
        (void)snprintf(what, sizeof what, "apply to role %d", (int)role);
        if (locus_apply_workspace_bound(c->spec.encoding, &c->limits, role, &bound, &error) != LOCUS_OK)
            fail_msg("LOCUS_CASE=%llu: %s", (unsigned long long)c->number, error.message);
        compare(c, what, bound, locus_apply_workspace(c->plan, role, c->limits.dtype, execution), all);
    }
}

static locus_attention_options draw_options(const bound_case *c, chooser *choices, locus_tensor *bias,
                                            int32_t *document) {
    static const char *const kinds[] = {
        "softmax", "softmax", "softmax", "linear", "soft(landmarks=9)", "soft", "clustered(clusters=7)", "clustered"};
    static const locus_mask masks[] = {LOCUS_MASK_FULL, LOCUS_MASK_CAUSAL, LOCUS_MASK_CAUSAL};
    locus_attention_options options = locus_attention_default();
    (void)c;
    options.kind = kind_of(kinds[choose(choices, 8)]);
    options.mask = masks[choose(choices, 3)];
    options.turned = choose_chance(choices, 10);
    options.window = choose_chance(choices, 20) ? 1 + choose(choices, 600) : 0;
    options.dropout = choose_chance(choices, 20) ? 0.5 : 0;
    options.bias = choose_chance(choices, 20) ? bias : NULL;
    options.query_documents = options.key_documents = choose_chance(choices, 10) ? document : NULL;
    return options;
}

static void compare_attention(bound_case *c, const locus_execution *execution, chooser *choices, ratios *all) {
    locus_tensor bias = {.data = NULL};
    int32_t document = 0;
    const locus_attention_options options = draw_options(c, choices, &bias, &document);
    for (int pass = 0; pass < 2; pass++) {
        size_t bound = 0;
        char kind[KIND_OF_TEXT], what[KIND_OF_TEXT + 64];
        locus_error error;
        if (locus_attention_workspace_bound(c->spec.encoding, &c->limits, &options, (locus_pass)pass, &bound, &error) !=
            LOCUS_OK)
            fail_msg("LOCUS_CASE=%llu: %s", (unsigned long long)c->number, error.message);
        (void)locus_attention_kind_text(options.kind, kind, sizeof kind);
        (void)snprintf(what, sizeof what, "%s %s, mask %d, window %zu", kind, pass ? "backward" : "forward",
                       (int)options.mask, options.window);
        compare(c, what, bound,
                locus_attention_workspace(c->plan, &options, c->limits.dtype, (locus_pass)pass, execution), all);
    }
}

static bool run_case(uint64_t seed, uint64_t number, ratios *all, bool exact) {
    static const locus_dtype types[] = {LOCUS_FLOAT32, LOCUS_FLOAT64, LOCUS_FLOAT16, LOCUS_BFLOAT16};
    chooser choices = chooser_of_seed(seed * 0x2545f4914f6cdd1du + number);
    bound_case c = {.number = number};
    const bool made = case_make(&c, &choices, exact);
    if (made) {
        const locus_executor executor = {sizeof executor, run_nothing, c.limits.threads, NULL};
        locus_execution execution = locus_execution_default();
        execution.executor = &executor;
        c.limits.dtype = types[choose(&choices, 4)];
        compare_apply(&c, &execution, all);
        for (int i = 0; i < 3; i++)
            compare_attention(&c, &execution, &choices, all);
    }
    case_free(&c);
    return made;
}

static int by_size(const void *a, const void *b) {
    const double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

static void run_all(bool exact) {
    const uint64_t seed = setting("LOCUS_SEED", 1), only = setting("LOCUS_CASE", UINT64_MAX);
    const uint64_t cases = setting("LOCUS_CASES", CASES);
    ratios all = {.of = reference_zeros(MOST_RATIOS, sizeof(double))};
    size_t made = 0;
    for (uint64_t number = 0; number < cases; number++)
        made += (only == UINT64_MAX || number == only) && run_case(seed, number, &all, exact);
    qsort(all.of, all.count, sizeof *all.of, by_size);
    if (all.count > 0)
        print_message("%s limits: %zu plans, %zu sizes; bounds over sizes of 64 KiB and more: median %.3g, 90 %% below "
                      "%.3g, 99 %% below %.3g, most %.3g (%s)\n",
                      exact ? "reached" : "wider", made, all.asked, all.of[all.count / 2], all.of[all.count * 9 / 10],
                      all.of[all.count * 99 / 100], all.worst, all.worst_of);
    if (only == UINT64_MAX)
        assert_true(made > cases / 2);
    free(all.of);
}

static void bounds_of_the_batch_itself(void **state) {
    (void)state;
    run_all(true);
}

static void bounds_of_wider_limits(void **state) {
    (void)state;
    run_all(false);
}

/* ---- what is refused ---- */

static void refuse(const char *spec, const locus_workspace_limits *limits, locus_status wanted, const char *words) {
    const locus_attention_options options = locus_attention_default();
    locus_encoding *encoding = NULL;
    for (int attention = 0; attention < 2; attention++) {
        locus_error error = {.status = LOCUS_OK};
        size_t bytes = 7;
        assert_int_equal(locus_encoding_parse(spec, &encoding, NULL), LOCUS_OK);
        const locus_status status =
            attention ? locus_attention_workspace_bound(encoding, limits, &options, LOCUS_PASS_FORWARD, &bytes, &error)
                      : locus_apply_workspace_bound(encoding, limits, LOCUS_ROLE_QUERY, &bytes, &error);
        if (status != wanted)
            fail_msg("status %d: %s", (int)status, error.message);
        assert_non_null(strstr(error.message, words));
        assert_null(strchr(error.message, '\n'));
        assert_int_equal(bytes, 0);
        locus_encoding_destroy(&encoding);
    }
}

static size_t bound_of(const char *spec, const locus_workspace_limits *limits, locus_pass pass) {
    const locus_attention_options options = locus_attention_default();
    locus_encoding *encoding = NULL;
    size_t bytes = 0;
    assert_int_equal(locus_encoding_parse(spec, &encoding, NULL), LOCUS_OK);
    locus_error error = {.status = LOCUS_OK};
    if (locus_attention_workspace_bound(encoding, limits, &options, pass, &bytes, &error) != LOCUS_OK)
        fail_msg("%s: %s", spec, error.message);
    assert_true(bytes > 0);
    locus_encoding_destroy(&encoding);
    return bytes;
}

/* A binding whose values make its plans as large as they get: equal angles, which are all near each other. */
static bool bind_equal(bound_case *c) {
    locus_tensor values[PARAMETERS];
    locus_error error = {.status = LOCUS_OK};
    size_t count = 0;
    bool good = locus_encoding_parameter_count(c->spec.encoding, &c->shape, &count, &error) == LOCUS_OK;
    assert_true(good && count <= PARAMETERS);
    for (size_t i = 0; i < count; i++) {
        locus_parameter info = {.size = sizeof info};
        good = good && locus_encoding_parameter(c->spec.encoding, &c->shape, i, &info, &error) == LOCUS_OK;
        values[i] = locus_tensor_view(NULL, LOCUS_FLOAT64, info.rank, info.shape);
        double *data = values[i].data = reference_zeros(locus_tensor_count(&values[i]), sizeof *data);
        for (size_t j = 0; info.constraint != LOCUS_CONSTRAINT_NONE && j < locus_tensor_count(&values[i]); j++)
            data[j] = 1;
    }
    good = good && locus_binding_create(&c->binding, c->spec.encoding, &c->shape, values, count, &error) == LOCUS_OK;
    for (size_t i = 0; i < count; i++)
        free(values[i].data);
    return good;
}

/* All that a batch asks for, against the bounds of limits that allow `more` tokens; `exact`: they are hardly larger. */
static void check_equal(const char *spec, const char *group, size_t tokens, size_t more, bool exact) {
    const locus_executor executor = {sizeof executor, run_nothing, 3, NULL};
    const locus_attention_options options = locus_attention_default();
    const size_t lengths[MOST_SEQUENCES] = {tokens};
    chooser choices = chooser_of_seed(5);
    bound_case c = {.self = true};
    locus_execution execution = locus_execution_default();
    locus_error error;
    size_t bound = 0;
    c.shape = (locus_shape){.size = sizeof c.shape, .heads = 2, .head_dim = 12};
    assert_int_equal(locus_encoding_parse(spec, &c.spec.encoding, &error), LOCUS_OK);
    assert_int_equal(locus_group_parse(group, &c.group, &error), LOCUS_OK);
    assert_true(bind_equal(&c));
    assert_true(drawn_side_make(&c.queries, c.group, &choices, 1, lengths, 50, &error));
    assert_int_equal(locus_plan_create(&c.plan, c.binding, c.queries.positions, NULL, &error), LOCUS_OK);
    const locus_workspace_limits limits = {.size = sizeof limits,
                                           .shape = &c.shape,
                                           .dtype = LOCUS_FLOAT64,
                                           .threads = 3,
                                           .sequences = 1,
                                           .queries = tokens + more,
                                           .depth = DEPTH};
    execution.executor = &executor;
    for (int pass = 0; pass < 2; pass++) {
        const size_t asked = locus_attention_workspace(c.plan, &options, limits.dtype, (locus_pass)pass, &execution);
        assert_int_equal(
            locus_attention_workspace_bound(c.spec.encoding, &limits, &options, (locus_pass)pass, &bound, &error),
            LOCUS_OK);
        if (bound < asked || (exact && bound > asked + asked / 100))
            fail_msg("%s, %zu tokens: attention asks for %zu bytes, the bound is %zu", spec, tokens, asked, bound);
    }
    for (locus_role role = LOCUS_ROLE_QUERY; role <= LOCUS_ROLE_OUTPUT; role++) {
        const size_t asked = locus_apply_workspace(c.plan, role, limits.dtype, &execution);
        assert_int_equal(locus_apply_workspace_bound(c.spec.encoding, &limits, role, &bound, &error), LOCUS_OK);
        if (bound < asked || (exact && bound > asked + asked / 100))
            fail_msg("%s, %zu tokens: role %d asks for %zu bytes, the bound is %zu", spec, tokens, (int)role, asked,
                     bound);
    }
    case_free(&c);
}

/* Whatever the values: and of 1,024 tokens gradients have more slots than those of 1,100. */
static void no_values_are_beyond_a_bound(void **state) {
    static const struct {
        const char *spec, *group;
        bool exact;
    } cases[] = {{"algebraic", "seq", true},
                 {"algebraic(heads=shared, values=on)", "seq", true},
                 {"algebraic(group=seq*cycle:5, values=on)", "seq*cycle:5", true},
                 {"string(group=grid:2)", "grid:2", true},
                 {"rope(learned=on)", "seq", true},
                 {"kerple + algebraic", "seq", true},
                 {"algebraic(group=seq*tree:2, values=on)", "seq*tree:2", false},
                 {"algebraic(group=tree:2*cycle:3)", "tree:2*cycle:3", false},
                 {"liere(group=grid:2)", "grid:2", false}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        check_equal(cases[i].spec, cases[i].group, 200, 0, cases[i].exact);
        check_equal(cases[i].spec, cases[i].group, 1024, 76, false);
    }
}

/* What is left 0 stands for one sequence, as many keys as queries, the program's threads, sequences as long as all
 * tokens, and a plan's workspace by default. */
static void what_is_left_out_has_a_default(void **state) {
    static const char *const specs[] = {"rope", "algebraic(group=tree:3)"};
    const locus_shape shape = {.size = sizeof shape, .heads = 2, .head_dim = 8};
    const locus_workspace_limits least = {
        .size = sizeof least, .shape = &shape, .dtype = LOCUS_FLOAT32, .queries = 3000, .depth = 9};
    (void)state;
    for (size_t i = 0; i < 2; i++)
        for (int pass = 0; pass < 2; pass++) {
            const size_t want = bound_of(specs[i], &least, (locus_pass)pass);
            locus_workspace_limits said = least;
            said.sequences = 1;
            said.keys = said.longest_queries = said.longest_keys = 3000;
            said.threads = locus_threads();
            said.plan_workspace = (size_t)1 << 30;
            assert_int_equal(bound_of(specs[i], &said, (locus_pass)pass), want);
            said.longest_queries = said.longest_keys = 9000; /* no longer than all */
            assert_int_equal(bound_of(specs[i], &said, (locus_pass)pass), want);
            said.keys = 6000, said.threads += 3;
            assert_true(bound_of(specs[i], &said, (locus_pass)pass) > want);
        }
}

/* The least that is refused, in words, and the most that is not. */
static void counts_have_their_ends(void **state) {
    const locus_shape shape = {.size = sizeof shape, .heads = 1, .head_dim = 2};
    const locus_workspace_limits good = {
        .size = sizeof good, .shape = &shape, .dtype = LOCUS_BFLOAT16, .sequences = 1, .queries = 10, .keys = 10};
    locus_workspace_limits bad;
    (void)state;
    bad = good, bad.sequences = (size_t)UINT32_MAX + 1;
    refuse("rope", &bad, LOCUS_ERROR_ARGUMENT, "limits.sequences is 4294967296: a plan has at most 4294967295 of them");
    bad = good, bad.keys = (size_t)UINT32_MAX + 1;
    refuse("rope", &bad, LOCUS_ERROR_ARGUMENT, "limits.keys is 4294967296: a plan has at most 4294967295 of them");
    bad = good, bad.threads = 65537;
    refuse("rope", &bad, LOCUS_ERROR_ARGUMENT, "limits.threads is 65537: give at most 65536, or 0");
    bad.threads = 65536;
    (void)bound_of("rope", &bad, LOCUS_PASS_FORWARD);
    bad = good, bad.queries = bad.keys = UINT32_MAX;
    bad.longest_queries = bad.longest_keys = 1;
    (void)bound_of("rope", &bad, LOCUS_PASS_FORWARD);
}

/* 64 (queries + keys + sequences + 64 threads) ((heads + 1) (dim + 1)² + model_dim) bytes, of the larger dim, are
 * 64 · 2²⁰ · 2³⁶ here and refused; of one query fewer they are not. */
static void products_have_an_end(void **state) {
    enum { THREADS = 7, SEQUENCES = 5, KEYS = 400000 };
    const locus_shape shapes[] = {
        {.size = sizeof *shapes, .heads = 1310, .head_dim = 7239, .value_dim = 17, .model_dim = 3136},
        {.size = sizeof *shapes, .heads = 1310, .head_dim = 17, .value_dim = 7239, .model_dim = 3136}};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        locus_workspace_limits limits = {.size = sizeof limits,
                                         .shape = &shapes[i],
                                         .dtype = LOCUS_FLOAT32,
                                         .threads = THREADS,
                                         .sequences = SEQUENCES,
                                         .queries = (1 << 20) - KEYS - SEQUENCES - 64 * THREADS,
                                         .keys = KEYS};
        refuse("none", &limits, LOCUS_ERROR_UNSUPPORTED, "more than memory can hold");
        limits.queries--;
        (void)bound_of("none", &limits, LOCUS_PASS_FORWARD);
    }
}

static void senseless_limits_are_refused(void **state) {
    const locus_shape shape = {.size = sizeof shape, .heads = 2, .head_dim = 8}, narrow = {.heads = 2, .head_dim = 4};
    const locus_workspace_limits good = {
        .size = sizeof good, .shape = &shape, .dtype = LOCUS_FLOAT32, .sequences = 3, .queries = 100};
    locus_workspace_limits bad = good;
    (void)state;
    refuse("rope", NULL, LOCUS_ERROR_ARGUMENT, "limits is NULL");
    bad.shape = NULL;
    refuse("rope", &bad, LOCUS_ERROR_ARGUMENT, "shape is NULL");
    bad.shape = &narrow;
    refuse("rope(axes=3)", &bad, LOCUS_ERROR_SHAPE, "pair");
    bad = good, bad.dtype = (locus_dtype)9;
    refuse("rope", &bad, LOCUS_ERROR_DTYPE, "limits.dtype is 9");
    bad = good, bad.queries = (size_t)1 << 33;
    refuse("rope", &bad, LOCUS_ERROR_ARGUMENT, "limits.queries is");
    bad = good, bad.threads = (size_t)1 << 20;
    refuse("rope", &bad, LOCUS_ERROR_ARGUMENT, "limits.threads is");
    refuse("algebraic(group=tree:2)", &good, LOCUS_ERROR_ARGUMENT, "limits.depth is 0");
    bad = good, bad.depth = 1; /* the least that is enough */
    locus_encoding *tree = NULL;
    size_t bytes = 0;
    assert_int_equal(locus_encoding_parse("algebraic(group=tree:2)", &tree, NULL), LOCUS_OK);
    assert_int_equal(locus_apply_workspace_bound(tree, &bad, LOCUS_ROLE_QUERY, &bytes, NULL), LOCUS_OK);
    assert_true(bytes > 0);
    locus_encoding_destroy(&tree);
    const locus_shape huge = {.size = sizeof huge, .heads = 65536, .head_dim = 65536};
    bad = good, bad.shape = &huge, bad.queries = UINT32_MAX;
    refuse("none", &bad, LOCUS_ERROR_UNSUPPORTED, "more than memory can hold");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds_of_the_batch_itself),     cmocka_unit_test(bounds_of_wider_limits),
        cmocka_unit_test(what_is_left_out_has_a_default), cmocka_unit_test(counts_have_their_ends),
        cmocka_unit_test(products_have_an_end),           cmocka_unit_test(no_values_are_beyond_a_bound),
        cmocka_unit_test(senseless_limits_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
