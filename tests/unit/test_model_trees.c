/* SPDX-License-Identifier: MIT */
/* Models on trees: what a batch must be, where its tokens stand, and greedy decoding that builds its output tree.
 * The proof of decoding is teacher forcing on its own output: every token must be the likeliest there, for both orders,
 * with the library's caches and without, whatever the encoding. The growth used here is this test's own. */
#include "model/architecture.h"
#include "model/token_positions.h"
#include "sanitized.h"
#include "train/optimizer.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Symbols 1 … 4 are leaves, 5 … 7 have two children; what else is written is a leaf. */
enum { SAMPLES = 10, VOCABULARY = 8, LEAVES = 4, MOST = 15, ROOM = SAMPLES * MOST };

static bool is_operator(int32_t symbol) {
    return symbol > LEAVES && symbol < VOCABULARY;
}

/* ---- growth ---- */

typedef struct open_child {
    int32_t parent, branch;
} open_child;

/* What is open in one sample: taken from the end in depth order, from `first` in breadth order. */
typedef struct sample_growth {
    open_child open[2 * MOST + 2];
    size_t first, count, tokens;
} sample_growth;

typedef struct growth {
    bool depth_order;
    sample_growth samples[SAMPLES];
    int32_t parents[ROOM], branches[ROOM]; /* of what was written, sample s from s · MOST on */
} growth;

static void open_add(growth *g, sample_growth *own, int32_t parent) {
    for (int32_t branch = 1; branch <= 2; ++branch)
        own->open[own->first + own->count++] = (open_child){parent, g->depth_order ? 3 - branch : branch};
}

static bool grow(void *context, size_t sample, int32_t token, int32_t *parent, int32_t *branch) {
    growth *g = context;
    sample_growth *own = &g->samples[sample];
    open_child at = {-1, 0};
    if (own->tokens > 0) {
        assert_true(own->count > 0);
        at = own->open[g->depth_order ? own->first + own->count - 1 : own->first];
        --own->count;
        own->first += !g->depth_order;
    }
    g->parents[sample * MOST + own->tokens] = *parent = at.parent;
    g->branches[sample * MOST + own->tokens] = *branch = at.branch;
    if (is_operator(token))
        open_add(g, own, (int32_t)own->tokens);
    ++own->tokens;
    return own->count > 0;
}

/* ---- samples: trees of at most MOST nodes, copied in the order of the growth ---- */

typedef struct samples {
    size_t offsets[SAMPLES + 1];
    int32_t symbols[ROOM], parents[ROOM], branches[ROOM];
    lab_batch batch;
} samples;

static void draw(samples *set, bool depth_order, uint32_t step) {
    static growth g;
    locus_random random = {31, LOCUS_RANDOM_USER, step};
    memset(&g, 0, sizeof g);
    g.depth_order = depth_order;
    set->offsets[0] = 0;
    for (size_t s = 0; s < SAMPLES; ++s) {
        size_t at = set->offsets[s], count = 0;
        for (bool open = true; open; ++count) {
            const bool inner = g.samples[s].tokens + g.samples[s].count + 2 < 12 && s % 5 != 0 &&
                               locus_random_below(&random, s * 100 + 50 + count, 10) < 7;
            const uint64_t drawn = locus_random_below(&random, s * 100 + count, 12);
            const int32_t symbol = (int32_t)(inner ? LEAVES + 1 + drawn % 3 : 1 + drawn % LEAVES);
            set->symbols[at + count] = symbol;
            open = grow(&g, s, symbol, &set->parents[at + count], &set->branches[at + count]);
        }
        set->offsets[s + 1] = at + count;
    }
    const lab_batch_tree tree = {set->parents, set->branches};
    set->batch = (lab_batch){.samples = SAMPLES,
                             .input_offsets = set->offsets,
                             .target_offsets = set->offsets,
                             .input = set->symbols,
                             .target = set->symbols,
                             .input_tree = tree,
                             .target_tree = tree};
}

static lab_model_config config_make(const char *encoding) {
    lab_model_config config = lab_encoder_decoder.defaults;
    config.vocabulary = VOCABULARY;
    config.dim = 32;
    config.heads = 4;
    config.feed_forward = 64;
    config.encoder_layers = 1;
    config.tree_arity = 2;
    config.encoding = encoding;
    return config;
}

static lab_model *train(const lab_model_config *config, bool depth_order, uint32_t steps) {
    lab_model *model;
    lab_optimizer optimizer;
    lab_optimizer_config settings = lab_optimizer_default();
    locus_error error;
    if (lab_model_create(&model, config, 8, &error) != LOCUS_OK)
        fail_msg("%s: %s", config->encoding, error.message);
    assert_int_equal(lab_optimizer_create(&optimizer, &settings, lab_model_elements(model), NULL), LOCUS_OK);
    for (uint32_t step = 0; step < steps; ++step) {
        static samples set;
        lab_score score = {0};
        double norm;
        draw(&set, depth_order, step);
        if (lab_model_train(model, &set.batch, 2, step, &score, &error) != LOCUS_OK)
            fail_msg("%s: %s", config->encoding, error.message);
        assert_int_equal(
            lab_optimizer_step(&optimizer, 3e-3, lab_model_values(model), lab_model_gradients(model), &norm, NULL),
            LOCUS_OK);
        assert_int_equal(lab_model_update(model, NULL), LOCUS_OK);
    }
    lab_optimizer_destroy(&optimizer);
    return model;
}

/* ---- decoding ---- */

typedef struct outputs {
    size_t limits[SAMPLES], offsets[SAMPLES + 1], lengths[SAMPLES];
    int32_t tokens[ROOM];
    growth grown;
} outputs;

static void generate(lab_model *model, const lab_batch *batch, bool depth_order, outputs *out) {
    locus_error error;
    memset(&out->grown, 0, sizeof out->grown);
    out->grown.depth_order = depth_order;
    for (size_t s = 0; s < SAMPLES; ++s)
        out->limits[s] = s == 3 ? 1 : s == 4 ? 2 : MOST - s % 4;
    const lab_growth how = {grow, &out->grown};
    const lab_generation generation = {out->limits, out->tokens, out->offsets, out->lengths, &how, NULL};
    if (lab_model_generate(model, batch, &generation, &error) != LOCUS_OK)
        fail_msg("%s: %s", lab_model_get_config(model)->encoding, error.message);
}

/* The outputs as targets: each of their tokens must be the likeliest behind those before it. */
static void check_argmax(lab_model *model, const lab_batch *read, const outputs *out) {
    static int32_t target[ROOM], parents[ROOM], branches[ROOM];
    size_t offsets[SAMPLES + 1] = {0};
    uint32_t right[SAMPLES];
    for (size_t s = 0; s < SAMPLES; ++s) {
        const size_t at = offsets[s], count = out->lengths[s];
        memcpy(target + at, out->tokens + out->offsets[s], count * sizeof *target);
        memcpy(parents + at, out->grown.parents + s * MOST, count * sizeof *parents);
        memcpy(branches + at, out->grown.branches + s * MOST, count * sizeof *branches);
        offsets[s + 1] = at + count;
    }
    lab_batch batch = *read;
    batch.target_offsets = offsets;
    batch.target = target;
    batch.target_tree = (lab_batch_tree){parents, branches};
    lab_score score = {.sample_correct = right};
    locus_error error;
    if (lab_model_evaluate(model, &batch, &score, &error) != LOCUS_OK)
        fail_msg("%s", error.message);
    assert_int_equal(score.tokens, offsets[SAMPLES]);
    for (size_t s = 0; s < SAMPLES; ++s)
        if (right[s] != out->lengths[s])
            fail_msg("%s: of %zu tokens of output %zu only %u are the likeliest", lab_model_get_config(model)->encoding,
                     out->lengths[s], s, right[s]);
    assert_int_equal(score.exact, SAMPLES);
}

/* Whether outputs were complete, or cut at their limits; how many different trees there were. */
static void check_lengths(const outputs *out, size_t *complete, size_t *cut) {
    for (size_t s = 0; s < SAMPLES; ++s) {
        const sample_growth *own = &out->grown.samples[s];
        assert_int_equal(own->tokens, out->lengths[s]);
        assert_true(out->lengths[s] >= 1 && out->lengths[s] <= out->limits[s]);
        if (own->count > 0)
            assert_int_equal(out->lengths[s], out->limits[s]);
        *complete += own->count == 0 && out->lengths[s] > 1;
        *cut += own->count > 0;
    }
}

static void check_decoding(lab_model_config config, bool depth_order, size_t *complete, size_t *cut) {
    static samples set;
    static outputs out;
    lab_model *model = train(&config, depth_order, SANITIZED(10, 30));
    draw(&set, depth_order, 1000);
    generate(model, &set.batch, depth_order, &out);
    check_argmax(model, &set.batch, &out);
    check_lengths(&out, complete, cut);
    lab_model_destroy(&model);
}

static void outputs_are_the_likeliest_tokens(void **state) {
    (void)state;
    static const char *const encodings[] = {"none",
                                            "sinusoidal",
                                            "shiv-quirk(k=2, depth=5)",
                                            "shiv-quirk(k=2, depth=2)",
                                            "rope",
                                            "algebraic(group=seq, decay=0.98)",
                                            "algebraic(group=tree:2, decay=0.98)",
                                            "algebraic(group=tree:2, decay=0.98, values=on)",
                                            "alibi(group=tree:2)",
                                            "algebraic(group=tree:3)",
                                            "algebraic(group=seq*tree:2)",
                                            "algebraic(group=cycle:7*tree:2)",
                                            "algebraic(group=tree:2) / none",
                                            "shiv-quirk(k=2, depth=3) / alibi(group=tree:2)"};
    size_t complete = 0, cut = 0;
    for (size_t e = 0; e < sizeof encodings / sizeof *encodings; ++e) {
        if (SANITIZED(e % 2 == 0, true))
            check_decoding(config_make(encodings[e]), false, &complete, &cut);
        if (SANITIZED(e % 2 == 1, true))
            check_decoding(config_make(encodings[e]), true, &complete, &cut);
    }
    assert_true(complete > SANITIZED(0, 10) && cut > SANITIZED(0, 10));
}

/* Linear attention, and scores that need queries as they were projected: plans are made anew for each step. */
static void outputs_without_caches_are_too(void **state) {
    (void)state;
    static const char *const linear[] = {"sinusoidal", "shiv-quirk(k=2, depth=3)", "algebraic(group=tree:2)",
                                         "algebraic(group=seq*tree:2)"};
    size_t complete = 0, cut = 0;
    for (size_t e = 0; e < sizeof linear / sizeof *linear; ++e) {
        lab_model_config config = config_make(linear[e]);
        strcpy(config.attention, "linear");
        check_decoding(config, e % 2 == 0, &complete, &cut);
    }
    check_decoding(config_make("rope + relative(window=4)"), true, &complete, &cut);
    assert_true(complete > 0 && cut > 0);
}

/* Under a sanitizer it is only begun to be learned: to it one step is like another. */
enum { COPY_STEPS = SANITIZED(20, 400), COPY_EXACT = SANITIZED(0, SAMPLES - 2) };

static void a_copy_is_learned_and_decoded(void **state) {
    (void)state;
    static samples set;
    static outputs out;
    for (int depth_order = 0; depth_order <= 1; ++depth_order) {
        lab_model_config config = config_make("algebraic(group=tree:2, decay=0.98)");
        config.dropout = config.attention_dropout = 0;
        lab_model *model = train(&config, depth_order, COPY_STEPS);
        draw(&set, depth_order, 2000);
        generate(model, &set.batch, depth_order, &out);
        size_t exact = 0;
        for (size_t s = 0; s < SAMPLES; ++s) {
            const size_t from = set.offsets[s], count = set.offsets[s + 1] - from;
            exact += out.limits[s] < count ||
                     (out.lengths[s] == count &&
                      memcmp(out.tokens + out.offsets[s], set.symbols + from, count * sizeof *out.tokens) == 0);
        }
        assert_in_range(exact, COPY_EXACT, SAMPLES);
        lab_model_destroy(&model);
    }
}

/* ---- next paths ---- */

/* In a heap of k-ary nodes, the root's number 0. */
static size_t heap_child(size_t number, size_t arity, int32_t branch) {
    return arity * number + (size_t)branch;
}

/* The number of the place that a token stands at, from its path. */
static size_t stands_at(const lab_token_places *places, size_t arity, int64_t node) {
    if (node == 0)
        return 0;
    const size_t parent = stands_at(places, arity, (int64_t)places->parents[node]);
    assert_in_range(places->branches[node], 1, arity);
    return heap_child(parent, arity, (int32_t)places->branches[node]);
}

/* Each token's own number, and where it is found, which is `after` places further. */
static void check_places(const lab_token_places *places, size_t from, const samples *set, size_t s, size_t arity,
                         size_t after) {
    size_t own[MOST];
    for (size_t t = 0; t < set->offsets[s + 1] - set->offsets[s]; ++t) {
        const int32_t parent = set->parents[set->offsets[s] + t], branch = set->branches[set->offsets[s] + t];
        own[t] = parent < 0 ? 0 : heap_child(own[parent], arity, branch);
        assert_int_equal(stands_at(places, arity, places->nodes[from + t]), own[t] + after);
    }
}

static void check_paths(const char *encoding, lab_tree_paths paths, size_t arity, size_t after) {
    static samples set;
    lab_model_config config = config_make(encoding);
    config.tree_paths = paths;
    config.tree_arity = arity;
    lab_model *model;
    assert_int_equal(lab_model_create(&model, &config, 8, NULL), LOCUS_OK);
    for (int depth_order = 0; depth_order <= 1; ++depth_order) {
        lab_token_places read = {0}, written = {0};
        size_t offsets[SAMPLES + 1] = {0};
        draw(&set, depth_order, 5);
        for (size_t s = 0; s < SAMPLES; ++s) /* a start token before, and the last is not read */
            offsets[s + 1] = set.offsets[s + 1];
        assert_int_equal(lab_places_of_input(&read, model, &set.batch, NULL), LOCUS_OK);
        assert_int_equal(lab_places_of_target(&written, model, &set.batch, offsets, NULL), LOCUS_OK);
        for (size_t s = 0; s < SAMPLES; ++s) {
            check_places(&read, set.offsets[s], &set, s, arity, after);
            assert_int_equal(written.nodes[offsets[s]], 0);
            --set.offsets[s + 1];
            check_places(&written, offsets[s] + 1, &set, s, arity, after);
            ++set.offsets[s + 1];
        }
        lab_token_places_destroy(&read);
        lab_token_places_destroy(&written);
    }
    lab_model_destroy(&model);
}

static void tokens_stand_where_paths_say(void **state) {
    (void)state;
    static const char *const tree = "algebraic(group=tree:3)", *const added = "shiv-quirk(k=3, depth=3)";
    for (size_t arity = 2; arity <= 3; ++arity) {
        check_paths(tree, LAB_PATHS_OWN, arity, 0);
        check_paths(tree, LAB_PATHS_NEXT, arity, 1);
        check_paths(tree, LAB_PATHS_CODE, arity, 1);
        check_paths(added, LAB_PATHS_NEXT, arity, 1);
        check_paths(added, LAB_PATHS_CODE, arity, 0);
        check_paths("shiv-quirk(k=3, depth=3) + alibi(group=tree:3)", LAB_PATHS_CODE, arity, 1);
    }
    lab_model_config words = config_make("rope");
    lab_model *model = NULL;
    locus_error error = {0};
    words.tree_arity = 0;
    words.tree_paths = LAB_PATHS_NEXT;
    assert_int_equal(lab_model_create(&model, &words, 1, &error), LOCUS_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "tree_paths"));
}

static void outputs_at_next_paths_are_the_likeliest_too(void **state) {
    (void)state;
    static const char *const encodings[] = {"shiv-quirk(k=2, depth=3)", "algebraic(group=tree:2)",
                                            "algebraic(group=seq*tree:2)"};
    size_t complete = 0, cut = 0;
    for (size_t e = 0; e < sizeof encodings / sizeof *encodings; ++e)
        for (int depth_order = 0; depth_order <= 1; ++depth_order) {
            lab_model_config config = config_make(encodings[e]);
            config.tree_paths = LAB_PATHS_NEXT;
            if (SANITIZED((e + (size_t)depth_order) % 2 == 0, true))
                check_decoding(config, depth_order, &complete, &cut);
            strcpy(config.attention, "linear"); /* without caches */
            if (SANITIZED((e + (size_t)depth_order) % 2 == 1, true))
                check_decoding(config, depth_order, &complete, &cut);
        }
    assert_true(complete > 0 && cut > 0);
}

/* ---- batches and models that are refused ---- */

static void expect_refused(lab_model *model, const lab_batch *batch, const char *part) {
    lab_score score = {0};
    locus_error error = {0};
    assert_int_equal(lab_model_evaluate(model, batch, &score, &error), LOCUS_ERROR_ARGUMENT);
    if (strstr(error.message, part) == NULL)
        fail_msg("'%s' doesn't say '%s'", error.message, part);
}

static void bad_trees_are_refused(void **state) {
    (void)state;
    static const int32_t symbols[] = {5, 1, 2}, good_parents[] = {-1, 0, 0}, good_branches[] = {0, 1, 2};
    static const size_t offsets[] = {0, 3}, empty[] = {0, 0};
    const lab_batch_tree good = {good_parents, good_branches};
    const lab_model_config config = config_make("algebraic(group=tree:2)");
    lab_model *model = train(&config, false, 0);
    lab_batch batch = {.samples = 1,
                       .input_offsets = offsets,
                       .target_offsets = offsets,
                       .input = symbols,
                       .target = symbols,
                       .input_tree = good};
    expect_refused(model, &batch, "targets are words");
    batch.target_tree = good;
    lab_score score = {0};
    assert_int_equal(lab_model_evaluate(model, &batch, &score, NULL), LOCUS_OK);
    assert_int_equal(score.tokens, 3);
    batch.input_tree.parents = (const int32_t[]){0, 0, 0};
    expect_refused(model, &batch, "the root comes first");
    batch.input_tree.parents = (const int32_t[]){-1, -1, 0};
    expect_refused(model, &batch, "token 1 of input 0 has parent -1");
    batch.input_tree = good;
    batch.target_tree.parents = (const int32_t[]){-1, 2, 0};
    expect_refused(model, &batch, "token 1 of target 0 has parent 2");
    batch.target_tree = (lab_batch_tree){good_parents, (const int32_t[]){0, 1, 3}};
    expect_refused(model, &batch, "token 2 of target 0 is child 3");
    batch.target_tree = (lab_batch_tree){good_parents, (const int32_t[]){0, 0, 2}};
    expect_refused(model, &batch, "numbered from 1 to 2");
    batch.target_tree = good;
    batch.target_offsets = empty;
    expect_refused(model, &batch, "target 0 is empty");
    lab_model_destroy(&model);
}

static bool grow_nowhere(void *context, size_t sample, int32_t token, int32_t *parent, int32_t *branch) {
    (void)sample, (void)token;
    size_t *tokens = context;
    *parent = (*tokens)++ == 0 ? -1 : 7;
    *branch = 1;
    return true;
}

static void growths_are_checked(void **state) {
    (void)state;
    const lab_model_config config = config_make("rope");
    lab_model *model = train(&config, false, 0);
    static samples set;
    draw(&set, false, 0);
    size_t limits[SAMPLES] = {[0] = MOST}, offsets[SAMPLES + 1], lengths[SAMPLES], tokens = 0;
    int32_t output[MOST];
    lab_generation generation = {limits, output, offsets, lengths, NULL, NULL};
    locus_error error = {0};
    assert_int_equal(lab_model_generate(model, &set.batch, &generation, &error), LOCUS_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "growth"));
    const lab_growth nowhere = {grow_nowhere, &tokens};
    generation.growth = &nowhere;
    assert_int_equal(lab_model_generate(model, &set.batch, &generation, &error), LOCUS_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "token 1 of output 0 would be child 1 of token 7"));
    lab_model_destroy(&model);
}

static void groups_are_checked(void **state) {
    (void)state;
    static const struct {
        const char *encoding, *part;
        size_t arity;
    } cases[] = {{"algebraic(group=tree:2)", "nodes have up to 3 children: use tree:3", 3},
                 {"algebraic(group=grid:2)", "use seq, tree:2 or seq*tree:2", 2},
                 {"algebraic(group=tree:2*tree:2)", "use seq, tree:2 or seq*tree:2", 2},
                 {"algebraic(group=tree:2)", "use seq or cycle:n", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        lab_model_config config = config_make(cases[i].encoding);
        lab_model *model = NULL;
        locus_error error = {0};
        config.tree_arity = cases[i].arity;
        assert_int_equal(lab_model_create(&model, &config, 1, &error), LOCUS_ERROR_UNSUPPORTED);
        if (strstr(error.message, cases[i].part) == NULL)
            fail_msg("'%s' doesn't say '%s'", error.message, cases[i].part);
    }
}

/* On a product both: numbers in the order of reading, and paths; the start token shares the root's. */
static void tokens_stand_at_their_paths(void **state) {
    (void)state;
    static const int32_t symbols[] = {5, 1, 6, 2, 3, 1}, parents[] = {-1, 0, 0, 2, 2, -1},
                         branches[] = {0, 1, 2, 1, 2, 0};
    static const size_t offsets[] = {0, 5, 6};
    const lab_batch batch = {.samples = 2,
                             .input_offsets = offsets,
                             .target_offsets = offsets,
                             .input = symbols,
                             .target = symbols,
                             .input_tree = {parents, branches},
                             .target_tree = {parents, branches}};
    static const char *const input_paths[] = {"(0,0)", "(1,1)", "(2,2)", "(3,2+1)", "(4,2+2)", "(0,0)"};
    static const char *const read_paths[] = {"(0,0)", "(1,0)", "(2,1)", "(3,2)", "(4,2+1)", "(0,0)"};
    const lab_model_config config = config_make("algebraic(group=seq*tree:2)");
    lab_model *model = train(&config, false, 0);
    const locus_packing packing = {.size = sizeof packing, .sequences = 2, .offsets = offsets};
    for (int target = 0; target <= 1; ++target) {
        lab_token_places places = {0};
        locus_positions *positions = NULL;
        assert_int_equal(target ? lab_places_of_target(&places, model, &batch, offsets, NULL)
                                : lab_places_of_input(&places, model, &batch, NULL),
                         LOCUS_OK);
        const lab_token_values values = lab_token_places_values(&places);
        assert_int_equal(lab_positions_make(model, &positions, &packing, &values, NULL), LOCUS_OK);
        for (size_t t = 0; t < offsets[2]; ++t) {
            locus_path *path = NULL;
            char text[64];
            assert_int_equal(locus_positions_path(positions, t, &path, NULL), LOCUS_OK);
            (void)locus_path_text(path, text, sizeof text);
            assert_string_equal(text, target ? read_paths[t] : input_paths[t]);
            locus_path_destroy(&path);
        }
        locus_positions_destroy(&positions);
        lab_token_places_destroy(&places);
    }
    lab_model_destroy(&model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_stand_at_their_paths),
        cmocka_unit_test(outputs_are_the_likeliest_tokens),
        cmocka_unit_test(outputs_without_caches_are_too),
        cmocka_unit_test(a_copy_is_learned_and_decoded),
        cmocka_unit_test(tokens_stand_where_paths_say),
        cmocka_unit_test(outputs_at_next_paths_are_the_likeliest_too),
        cmocka_unit_test(bad_trees_are_refused),
        cmocka_unit_test(growths_are_checked),
        cmocka_unit_test(groups_are_checked),
    };
    if (locus_threads_set(1) != LOCUS_OK) /* thousands of tiny calls */
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
