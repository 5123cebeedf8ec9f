/* SPDX-License-Identifier: MIT */
/* What the callbacks of registered encodings are asked: for each place once, with the positions, words and distances
 * that it has, and many places a few at a time. */
#include "registered_case.h"
#include "registered_plain.h"
#include "registered_scene.h"

#include <stdio.h>

/* Values are asked for once for each place, whatever the tokens. */
static size_t asked_for;

static locus_status counting(const locus_extension_batch *batch, double *values, locus_error *error) {
    asked_for += batch->count;
    return constant(batch, values, error);
}

static void test_asked_once(void **state) {
    const size_t lengths[] = {100, 100, 100};
    const group_drawing drawing = {"seq", 3, lengths, 50, true};
    locus_encoding_description relative = plain("own-counted"), absolute = plain("own-counted-pairs");
    scene s;
    (void)state;
    relative.values = absolute.values = counting;
    absolute.laws = 0;
    relative.flags = LOCUS_EXTENSION_HEADS_ALIKE;
    rig_ok(locus_encoding_register(&relative, error));
    rig_ok(locus_encoding_register(&absolute, error));
    asked_for = 0;
    scene_open(&s, "own-counted", &drawing, NULL);
    assert_in_range(asked_for, 100, 201);
    scene_close(&s);
    asked_for = 0;
    scene_open(&s, "own-counted-pairs", &drawing, NULL);
    assert_in_range(asked_for, SCENE_HEADS * 50 * 50, SCENE_HEADS * 100 * 100);
    scene_close(&s);
}

/* What callbacks are told, head by head: "query>key=distance", coordinates with commas, words in brackets. */
static char heard[4096];

static size_t write_place(char *to, size_t size, const locus_extension_positions *of, size_t place,
                          size_t coordinates) {
    size_t at = 0;
    for (size_t c = 0; c < coordinates; c++) {
        at += (size_t)snprintf(to + at, size - at, "%s%g", c ? "," : "", of->values[place * coordinates + c] + 0.0);
        const locus_extension_word *word = of->words ? &of->words[place * coordinates + c] : NULL;
        for (size_t i = 0; word && i < word->length; i++)
            at += (size_t)snprintf(to + at, size - at, "%s%d%s", i ? "." : "[", (int)word->branches[i],
                                   i + 1 < word->length ? "" : "]");
    }
    return at;
}

static locus_status hear(const locus_extension_batch *batch, double *values, locus_error *error) {
    const size_t width = batch->key.values ? 1 : batch->head_dim / 2;
    size_t at = strlen(heard);
    (void)error;
    at += (size_t)snprintf(heard + at, sizeof heard - at, "%zu:", batch->head);
    for (size_t i = 0; i < batch->count; i++) {
        heard[at++] = ' ';
        at += write_place(heard + at, sizeof heard - at, &batch->query, i, batch->coordinates);
        if (!batch->key.values)
            continue;
        heard[at++] = '>';
        at += write_place(heard + at, sizeof heard - at, &batch->key, i, batch->coordinates);
        at += (size_t)snprintf(heard + at, sizeof heard - at, "=%g", batch->distance[i]);
    }
    (void)snprintf(heard + at, sizeof heard - at, ";");
    for (size_t i = 0; i < batch->count * width; i++)
        values[i] = 0.25;
    return LOCUS_OK;
}

enum { HEARD_SEQUENCES = 3, HEARD_COLUMNS = 2, HEARD_NUMBERS = 12 };

typedef struct heard_side {
    size_t offsets[HEARD_SEQUENCES + 1];
    int64_t values[HEARD_COLUMNS][HEARD_NUMBERS]; /* or letters */
    size_t starts[HEARD_NUMBERS];                 /* of words, of the last column */
    double reals[HEARD_NUMBERS];                  /* instead, where there is no column */
} heard_side;

typedef struct heard_case {
    const char *spec;
    size_t sequences, columns;
    heard_side queries, keys; /* of no tokens: the same */
    size_t least;             /* bytes of a plan's workspace that its tables take; 0: not asked */
    const char *want;
} heard_case;

static locus_positions *heard_positions(const heard_case *c, const locus_group *group, const heard_side *side) {
    const locus_packing packing = {sizeof packing, c->sequences, side->offsets, NULL};
    locus_position_column columns[HEARD_COLUMNS];
    locus_positions *positions = NULL;
    if (c->columns == 0) {
        rig_ok(locus_positions_create_real(&positions, group, &packing, side->reals, error));
        return positions;
    }
    for (size_t i = 0; i < c->columns; i++)
        columns[i] =
            locus_group_coordinate(group, i).kind == LOCUS_COORDINATE_TREE
                ? (locus_position_column){.size = sizeof *columns, .branches = side->values[i], .starts = side->starts}
                : (locus_position_column){.size = sizeof *columns, .values = side->values[i]};
    rig_ok(locus_positions_create_columns(&positions, group, &packing, columns, error));
    return positions;
}

static void check_heard(const heard_case *c) {
    rig r;
    rig_bind(&r, c->spec, rig_shape(2, 4, 0, 0), 1);
    const locus_group *group = locus_binding_group(r.binding);
    locus_plan_options options = locus_plan_options_default();
    r.queries = heard_positions(c, group, &c->queries);
    r.keys = c->keys.offsets[c->sequences] > 0 ? heard_positions(c, group, &c->keys) : NULL;
    if (c->least > 0) {
        options.workspace = c->least - 1;
        assert_int_equal(locus_plan_create_with(&r.plan, r.binding, r.queries, r.keys, &options, NULL),
                         LOCUS_ERROR_UNSUPPORTED);
        options.workspace++;
    }
    heard[0] = '\0';
    rig_ok(locus_plan_create_with(&r.plan, r.binding, r.queries, r.keys, &options, error));
    assert_string_equal(heard, c->want);
    rig_close(&r);
}

/* The fewest places: differences, pairs of positions that are met, or pairs of tokens. A table of scores has a number
 * of each type, a cell, and a place's numbers; a word is two more. */
static void test_what_is_heard(void **state) {
    static const heard_case cases[] = {
        /* −4 … 2: a query and a key with this difference that are not outside of what there is */
        {"own-heard",
         1,
         1,
         {{0, 4}, {{3, 4, 5, 6}}, {0}, {0}},
         {{0, 4}, {{2, 3, 4, 5}}, {0}, {0}},
         7 * (12 + 4 + 24),
         "0: 6>2=4 5>2=3 4>2=2 3>2=1 3>3=0 3>4=1 3>5=2;"},
        {"own-heard-apart",
         1,
         1,
         {{0, 4}, {{3, 4, 5, 6}}, {0}, {0}},
         {{0, 4}, {{2, 3, 4, 5}}, {0}, {0}},
         16 * (24 + 4 + 24),
         "0: 3>2=1 3>3=0 3>4=1 3>5=2 4>2=2 4>3=1 4>4=0 4>5=1 5>2=3 5>3=2 5>4=1 5>5=0 6>2=4 6>3=3 6>4=2 6>5=1;"
         "1: 3>2=1 3>3=0 3>4=1 3>5=2 4>2=2 4>3=1 4>4=0 4>5=1 5>2=3 5>3=2 5>4=1 5>5=0 6>2=4 6>3=3 6>4=2 6>5=1;"},
        /* two places of queries and two of keys, which meet once */
        {"own-heard",
         1,
         1,
         {{0, 3}, {{0, 10, 10}}, {0}, {0}},
         {{0, 3}, {{100, 0, 100}}, {0}, {0}},
         4 * 40,
         "0: 0>100=100 0>0=0 10>100=90 10>0=10;"},
        /* in each sequence what stands in it; the third one stands where the second does */
        {"own-heard",
         3,
         1,
         {{0, 1, 2, 3}, {{0, 50, 50}}, {0}, {0}},
         {{0, 1, 2, 3}, {{7, 90, 90}}, {0}, {0}},
         2 * 40,
         "0: 0>7=7 50>90=40;"},
        {"own-heard(group=grid:2)",
         1,
         2,
         {{0, 4}, {{0, 0, 1, 1}, {0, 1, 0, 1}}, {0}, {0}},
         {{0}, {{0}}, {0}, {0}},
         9 * (12 + 4 + 40),
         "0: 1,1>0,0=1 1,0>0,0=1 1,0>0,1=1 0,1>0,0=1 0,0>0,0=0 0,0>0,1=1 0,1>1,0=1 0,0>1,0=1 0,0>1,1=1;"},
        {"own-heard(group=cycle:5)",
         1,
         1,
         {{0, 5}, {{0, 1, 2, 3, 4}}, {0}, {0}},
         {{0}, {{0}}, {0}, {0}},
         9 * 40,
         "0: 4>0=1 3>0=2 2>0=2 1>0=1 0>0=0 0>1=1 0>2=2 0>3=2 0>4=1;"},
        /* the root, 2 and 2.1, whose keys are 2.2 and 2 */
        {"own-heard(group=tree:2)",
         1,
         1,
         {{0, 3}, {{2, 2, 1}}, {0, 0, 1, 3}, {0}},
         {{0, 2}, {{2, 2, 2}}, {0, 2, 3}, {0}},
         6 * (12 + 4 + 24 + 32),
         "0: 0>2[2.2]=2 0>1[2]=1 1[2]>2[2.2]=1 1[2]>1[2]=0 2[2.1]>2[2.2]=2 2[2.1]>1[2]=1;"},
        {"own-heard(group=seq*tree:1)",
         1,
         2,
         {{0, 2}, {{7, 9}, {1, -1}}, {0, 1, 2}, {0}},
         {{0, 1}, {{4}, {1}}, {0, 0}, {0}},
         2 * (12 + 4 + 40 + 64),
         "0: 7,1[1]>4,0=4 9,1[-1]>4,0=6;"},
        {"own-heard",
         1,
         0,
         {{0, 3}, {{0}}, {0}, {0.5, -0.0, 0}},
         {{0, 2}, {{0}}, {0}, {0, 2.25}},
         4 * 40,
         "0: 0.5>0=0.5 0.5>2.25=1.75 0>0=0 0>2.25=2.25;"},
        /* positions of operators: queries', then those that keys alone have */
        {"own-heard-turn",
         2,
         1,
         {{0, 2, 4}, {{5, 5, -3, 8}}, {0}, {0}},
         {{0, 1, 3}, {{8, 2, -3}}, {0}, {0}},
         0,
         "0: 5 -3 8 2;1: 5 -3 8 2;"},
        {"own-heard-turn(group=tree:2)",
         1,
         1,
         {{0, 2}, {{2, 2}}, {0, 1, 2}, {0}},
         {{0, 2}, {{1, 2}}, {0, 2, 2}, {0}},
         0,
         "0: 1[2] 2[1.2] 0;1: 1[2] 2[1.2] 0;"},
    };
    static const locus_option_info group = {"group", "group", "seq", "whose positions", LOCUS_OPTION_GROUP,
                                            0,       0,       false};
    locus_encoding_description alike = plain("own-heard"), apart = plain("own-heard-apart"),
                               turn = plain("own-heard-turn");
    (void)state;
    alike.values = apart.values = turn.values = hear;
    alike.options = turn.options = &group;
    alike.option_count = turn.option_count = 1;
    alike.flags = LOCUS_EXTENSION_HEADS_ALIKE;
    alike.traits = LOCUS_TRAIT_REALS;
    apart.laws = 0;
    turn.kind = LOCUS_EXTENSION_ANGLES;
    rig_ok(locus_encoding_register(&alike, error));
    rig_ok(locus_encoding_register(&apart, error));
    rig_ok(locus_encoding_register(&turn, error));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_heard(&cases[i]);
}

/* ---- many places, a few at a time: 2¹⁸ numbers, or those of one place ---- */

enum { MANY = 520, MANY_NUMBERS = 1 << 18 };

static size_t many_next, many_batches;
static double many_sums[MANY];

/* The places of all pairs, query by query. */
static void check_many(const locus_extension_batch *batch) {
    const size_t left = MANY * MANY - many_next;
    assert_int_equal(batch->count, left < MANY_NUMBERS ? left : MANY_NUMBERS);
    for (size_t i = 0; i < batch->count; i++) {
        const double query = (double)((many_next + i) / MANY), key = (double)((many_next + i) % MANY);
        assert_true(batch->query.values[i] == query && batch->key.values[i] == key);
        assert_true(batch->distance[i] == fabs(query - key));
    }
    many_batches++;
}

static locus_status many_values(const locus_extension_batch *batch, double *values, locus_error *error) {
    (void)error;
    check_many(batch);
    for (size_t i = 0; i < batch->count; i++)
        values[i] = batch->parameters[0][0] * cos(batch->key.values[i]);
    many_next = (many_next + batch->count) % (MANY * MANY);
    return LOCUS_OK;
}

static locus_status many_gradient(const locus_extension_batch *batch, const double *upstream, double *const *gradients,
                                  locus_error *error) {
    (void)error;
    check_many(batch);
    for (size_t i = 0; i < batch->count; i++) {
        many_sums[(many_next + i) / MANY] += upstream[i];
        gradients[0][0] += upstream[i] * cos(batch->key.values[i]);
    }
    many_next = (many_next + batch->count) % (MANY * MANY);
    return LOCUS_OK;
}

/* Positions 0, 1, … one after another: the first pair turns by a thousandth of them, or the first number is multiplied
 * by them. Upstream numbers are of the first one, too. */
static bool many_dense;

static void check_position(const locus_extension_batch *batch, size_t i) {
    assert_true(batch->query.values[i] == (double)many_next++);
}

static locus_status many_turns(const locus_extension_batch *batch, double *values, locus_error *error) {
    const size_t *width = batch->context;
    (void)error;
    memset(values, 0, batch->count * *width * sizeof *values);
    for (size_t i = 0; i < batch->count; i++) {
        values[i * *width] = (double)many_next * (many_dense ? 1 : 1e-3);
        check_position(batch, i);
    }
    many_batches++;
    return LOCUS_OK;
}

static locus_status many_turns_back(const locus_extension_batch *batch, const double *upstream,
                                    double *const *gradients, locus_error *error) {
    const size_t *width = batch->context;
    (void)error;
    for (size_t i = 0; i < batch->count; i++) {
        const double want = many_dense ? (double)many_next + 1 : cos(1e-3 * (double)many_next);
        double sum = 0;
        for (size_t j = 0; j < *width; j++)
            sum += fabs(upstream[i * *width + j]);
        assert_true(fabs(upstream[i * *width] - want) < 1e-13 && sum == fabs(upstream[i * *width]));
        gradients[0][0] += upstream[i * *width];
        check_position(batch, i);
    }
    many_batches++;
    return LOCUS_OK;
}

static void expect_turns(locus_encoding_description *turns, const char *name, size_t tokens, size_t batches) {
    const size_t *width = turns->context, dim = many_dense ? (size_t)sqrt((double)*width) : 2 * *width;
    double *x = calloc(tokens * dim, sizeof *x), *y = calloc(tokens * dim, sizeof *y), want = 0;
    rig r;
    assert_true(x && y);
    turns->name = name;
    rig_ok(locus_encoding_register(turns, error));
    many_next = many_batches = 0;
    rig_open(&r, name, rig_shape(1, dim, 0, 0), NULL, tokens);
    assert_true(many_next == tokens && many_batches == batches);
    for (size_t t = 0; t < tokens; t++)
        x[t * dim] = 1;
    rig_apply(&r, LOCUS_ROLE_QUERY, LOCUS_FORWARD, LOCUS_FLOAT64, tokens, x, y);
    for (size_t t = 0; t < tokens; t++) {
        assert_true(fabs(y[t * dim] - (many_dense ? (double)t : cos(1e-3 * (double)t))) < 1e-14);
        y[t * dim] = many_dense ? (double)t + 1 : 0;
        y[t * dim + 1] = many_dense ? 0 : 1;
        want += many_dense ? (double)t + 1 : cos(1e-3 * (double)t);
    }
    locus_tensor from = rig_view(&r, LOCUS_ROLE_QUERY, x, LOCUS_FLOAT64, tokens),
                 to = rig_view(&r, LOCUS_ROLE_QUERY, y, LOCUS_FLOAT64, tokens);
    const locus_workspace workspace = rig_workspace(&r, LOCUS_ROLE_QUERY, LOCUS_FLOAT64);
    const locus_execution execution = locus_execution_in(workspace);
    const locus_apply_gradients gradients = {
        .x = &from, .gy = &to, .gx = &to, .parameters = r.gradients, .parameter_count = r.count};
    many_next = 0;
    rig_ok(locus_apply_backward(r.plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &gradients, &execution, error));
    assert_true(many_next == tokens && many_batches == 2 * batches);
    assert_true(fabs(*(const double *)r.gradients[0].data - want) < 1e-11);
    rig_workspace_free(workspace);
    free(x), free(y);
    rig_close(&r);
}

/* A row of gradients of scores sums to 0, wherever it is cut in two. */
static void test_many_places(void **state) {
    static const locus_extension_parameter w = {sizeof w, "w", 1, {1}, 0.5, 0, LOCUS_CONSTRAINT_NONE};
    locus_encoding_description many = plain("own-many"), turns = plain("");
    size_t width = 1024;
    scene s;
    (void)state;
    many.values = many_values;
    many.gradient = many_gradient;
    many.parameters = &w;
    many.parameter_count = 1;
    many.laws = 0;
    many.flags = LOCUS_EXTENSION_HEADS_ALIKE;
    rig_ok(locus_encoding_register(&many, error));
    many_next = many_batches = 0;
    scene_stand(&s, "own-many", rig_positions(NULL, MANY), NULL);
    assert_int_equal(many_batches, 2);
    scene_run(&s, LOCUS_FLOAT64, true);
    assert_int_equal(many_batches, 2 + 2 * SCENE_HEADS);
    for (size_t i = 0; i < MANY; i++)
        assert_true(fabs(many_sums[i]) < 1e-13);
    assert_true(fabs(*(const double *)s.r.gradients[0].data) > 1e-3);
    scene_close(&s);
    turns.kind = LOCUS_EXTENSION_ANGLES;
    turns.values = many_turns;
    turns.gradient = many_turns_back;
    turns.parameters = &w;
    turns.parameter_count = 1;
    turns.context = &width;
    expect_turns(&turns, "own-many-turns", 257, 2);
    turns.kind = LOCUS_EXTENSION_MATRICES;
    width = 512 * 512;
    many_dense = true;
    expect_turns(&turns, "own-many-matrices", 3, 3);
}

/* Options as callbacks see them: canonical text, number (of a choice its index, NaN where it is off or not given),
 * list. */
static locus_status hear_options(const locus_extension_batch *batch, double *values, locus_error *error) {
    size_t at = 0;
    for (size_t i = 0; i < batch->option_count; i++) {
        const locus_extension_option *option = &batch->options[i];
        at += (size_t)snprintf(heard + at, sizeof heard - at, "%s=%g", option->text,
                               isnan(option->number) ? -1 : option->number);
        for (size_t j = 0; j < option->count; j++)
            at += (size_t)snprintf(heard + at, sizeof heard - at, ",%g", option->list[j]);
        at += (size_t)snprintf(heard + at, sizeof heard - at, ";");
    }
    return constant(batch, values, error);
}

static void test_options_that_are_heard(void **state) {
    static const locus_option_info options[] = {
        {"c", "x|y|z", "y", "a choice", LOCUS_OPTION_CHOICE, 0, 0, false},
        {"o", "off or number", "off", "a number, or none", LOCUS_OPTION_OFF_OR_NUMBER, 0, 9, false},
        {"i", "off or integer", "3", "an integer, or none", LOCUS_OPTION_OFF_OR_INTEGER, 0, 9, false},
        {"n", "numbers", "", "numbers", LOCUS_OPTION_NUMBERS, 0, 9, false},
        {"l", "a:b:…", "7:2:5", "integers", LOCUS_OPTION_LIST, 0, 9, false},
        {"m", "a:b:…", "0.5", "numbers", LOCUS_OPTION_NUMBERS, 0, 9, false}};
    static const struct {
        const char *spec, *heard, *text;
    } cases[] = {
        {"own-optional", "y=1;off=-1;3=3;=-1;7:2:5=-1,7,2,5;0.5=-1,0.5;", "own-optional"},
        {"own-optional(c=z, o=2.5, i=off, n=1:0.5)", "z=2;2.5=2.5;off=-1;1:0.5=-1,1,0.5;7:2:5=-1,7,2,5;0.5=-1,0.5;",
         "own-optional(c=z, o=2.5, i=off, n=1:0.5)"},
        {"own-optional(c=x, o=off, i=9, n=4, m=0.25)", "x=0;off=-1;9=9;4=-1,4;7:2:5=-1,7,2,5;0.25=-1,0.25;",
         "own-optional(c=x, i=9, n=4, m=0.25)"},
        {"own-optional(i=3, l=7:2:5, m=0.5)", "y=1;off=-1;3=3;=-1;7:2:5=-1,7,2,5;0.5=-1,0.5;", "own-optional"},
        {"own-optional(l=1:2:5)", "y=1;off=-1;3=3;=-1;1:2:5=-1,1,2,5;0.5=-1,0.5;", "own-optional(l=1:2:5)"},
        {"own-optional(l=7:3:5)", "y=1;off=-1;3=3;=-1;7:3:5=-1,7,3,5;0.5=-1,0.5;", "own-optional(l=7:3:5)"},
        {"own-optional(l=7:2:6)", "y=1;off=-1;3=3;=-1;7:2:6=-1,7,2,6;0.5=-1,0.5;", "own-optional(l=7:2:6)"},
        {"own-optional(l=7:2, m=0.5:0.5)", "y=1;off=-1;3=3;=-1;7:2=-1,7,2;0.5:0.5=-1,0.5,0.5;",
         "own-optional(l=7:2, m=0.5:0.5)"},
        {"own-optional(l=7:2:5:0)", "y=1;off=-1;3=3;=-1;7:2:5:0=-1,7,2,5,0;0.5=-1,0.5;", "own-optional(l=7:2:5:0)"}};
    locus_encoding_description optional = plain("own-optional");
    (void)state;
    optional.options = options;
    optional.option_count = sizeof options / sizeof *options;
    optional.values = hear_options;
    rig_ok(locus_encoding_register(&optional, error));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        scene s;
        scene_stand(&s, cases[i].spec, rig_positions(NULL, 2), NULL);
        assert_string_equal(heard, cases[i].heard);
        scene_close(&s);
        locus_encoding *encoding = NULL;
        char text[80];
        rig_ok(locus_encoding_parse(cases[i].spec, &encoding, error));
        assert_int_equal(locus_encoding_text(encoding, text, sizeof text), strlen(cases[i].text));
        assert_string_equal(text, cases[i].text);
        locus_encoding_destroy(&encoding);
    }
}

/* 32768 numbers, and not one more. */
static void test_longest_list(void **state) {
    enum { MOST = 32768 };
    static char spec[2 * MOST + 80];
    (void)state;
    for (size_t count = MOST; count <= MOST + 1; count++) {
        locus_encoding *encoding = NULL;
        locus_error failure = {.offset = -1};
        size_t at = (size_t)snprintf(spec, sizeof spec, "own-optional(n=");
        for (size_t i = 0; i < count; i++)
            spec[at++] = '7', spec[at++] = i + 1 < count ? ':' : ')';
        spec[at] = '\0';
        const locus_status status = locus_encoding_parse(spec, &encoding, &failure);
        assert_int_equal(status, count == MOST ? LOCUS_OK : LOCUS_ERROR_SPEC);
        if (status == LOCUS_OK) {
            char text[] = "a list is longer than this";
            assert_int_equal(locus_encoding_option(encoding, 0, "n", text, sizeof text), 2 * MOST - 1);
            assert_string_equal(text, "7:7:7:7:7:7:7:7:7:7:7:7:7:");
        }
        locus_encoding_destroy(&encoding);
    }
}

/* An option's text is cut to the room that there is, and nothing behind it is written. */
static void test_cut_texts(void **state) {
    static const char *const specs[] = {"own-optional(n=1:2:3)", "own-optional(o=2.5)", "own-optional(c=z)"};
    static const char *const names[] = {"n", "o", "c"}, *const texts[] = {"1:2:3", "2.5", "z"};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        const size_t length = strlen(texts[i]);
        locus_encoding *encoding = NULL;
        rig_ok(locus_encoding_parse(specs[i], &encoding, error));
        for (size_t size = 0; size < length + 3; size++) {
            char text[16], want[16];
            memset(text, '#', sizeof text);
            memset(want, '#', sizeof want);
            if (size > 0)
                (void)snprintf(want, size, "%s", texts[i]);
            assert_int_equal(locus_encoding_option(encoding, 0, names[i], text, size), length);
            assert_memory_equal(text, want, sizeof text);
        }
        locus_encoding_destroy(&encoding);
    }
}

/* What turns values too takes no values that are wider than queries. */
static void test_wider_values(void **state) {
    static const locus_extension_parameter w = {sizeof w, "w", 1, {1}, 0.5, 0, LOCUS_CONSTRAINT_NONE};
    const locus_shape wide = rig_shape(2, 6, 8, 0);
    locus_encoding_description turns = plain("own-narrow");
    locus_encoding *encoding = NULL;
    locus_parameter info = {.size = sizeof info};
    locus_error failure;
    (void)state;
    turns.kind = LOCUS_EXTENSION_ANGLES;
    turns.flags = LOCUS_EXTENSION_VALUES;
    turns.parameters = &w;
    turns.parameter_count = 1;
    turns.values = many_turns;
    turns.gradient = many_turns_back;
    rig_ok(locus_encoding_register(&turns, error));
    rig_ok(locus_encoding_parse("own-narrow", &encoding, error));
    assert_int_equal(locus_encoding_parameter(encoding, &wide, 0, &info, &failure), LOCUS_ERROR_SHAPE);
    assert_string_equal(failure.message, "'own-narrow' acts on values too, which are 8 wide: queries are 6");
    locus_encoding_destroy(&encoding);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_asked_once),   cmocka_unit_test(test_what_is_heard),
        cmocka_unit_test(test_many_places),  cmocka_unit_test(test_options_that_are_heard),
        cmocka_unit_test(test_longest_list), cmocka_unit_test(test_cut_texts),
        cmocka_unit_test(test_wider_values)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
