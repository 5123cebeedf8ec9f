/* SPDX-License-Identifier: MIT */
/* Expressions in a classifier: tokens of one operator share its node, paths are as drawn by hand; a batch that is wrong
 * is told so; and, as a law, an encoding that knows paths only doesn't see in which order arguments are written down,
 * as long as each says which it is, while one that knows the order does. */
#include "model/architecture.h"
#include "model/token_positions.h"
#include "task/listops/listops.h"
#include "task/task_class.h"
#include "train/feed/batch.h"
#include "train/feed/cut_paths.h"
#include "train/optimizer.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ARITY = 3 };

static lab_dataset draw(size_t samples) {
    lab_dataset set;
    locus_error error = {0};
    const lab_task *task = lab_task_find("listops");
    lab_task_options options = lab_task_default(task);
    LAB_EXPRESSIONS(&options)->depth = 4;
    LAB_EXPRESSIONS(&options)->arguments = ARITY;
    LAB_EXPRESSIONS(&options)->shortest = 0;
    LAB_EXPRESSIONS(&options)->longest = 40;
    const lab_draw wanted = {task, &options, LAB_SET_TRAIN, samples, 5};
    if (lab_dataset_generate(&set, &wanted, &error) != LOCUS_OK)
        fail_msg("%s", error.message);
    return set;
}

static lab_model *make(const char *encoding) {
    lab_model_config config = lab_text_classifier.defaults;
    lab_model *model = NULL;
    locus_error error = {0};
    config.dim = 32;
    config.heads = 2;
    config.feed_forward = 32;
    config.encoder_layers = 2;
    config.tree_arity = ARITY;
    config.dropout = config.attention_dropout = 0;
    config.pool = LAB_POOL_MEAN;
    config.encoding = encoding;
    if (lab_model_create(&model, &config, 3, &error) != LOCUS_OK)
        fail_msg("%s: %s", encoding, error.message);
    return model;
}

/* ---- places ---- */

static void tokens_of_an_operator_share_its_node(void **state) {
    (void)state;
    /* ^ [SM [MED 4 7 ] 9 8 ] and ^ 5 */
    static const int32_t parents[] = {-1, 0, 1, 2, 2, 2, 1, 1, 1, -1, 0},
                         branches[] = {0, 0, 1, 1, 2, 0, 2, 3, 0, 0, 0},
                         tokens[] = {0, 14, 13, 5, 8, 15, 10, 9, 15, 0, 6};
    static const int64_t nodes[] = {0, 0, 1, 2, 3, 1, 4, 5, 0, 0, 0};
    static const char *const paths[] = {"(0,0)", "(1,0)", "(2,1)", "(3,1+1)", "(4,1+2)", "(5,1)",
                                        "(6,2)", "(7,3)", "(8,0)", "(0,0)",   "(1,0)"};
    static const size_t offsets[] = {0, 9, 11};
    const lab_batch batch = {
        .samples = 2, .input_offsets = offsets, .input = tokens, .input_tree = {parents, branches}};
    const locus_packing packing = {.size = sizeof packing, .sequences = 2, .offsets = offsets};
    lab_model *model = make("algebraic(group=seq*tree:3)");
    lab_token_places places = {0};
    locus_positions *positions = NULL;
    assert_int_equal(lab_places_of_input(&places, model, &batch, NULL), LOCUS_OK);
    assert_memory_equal(places.nodes, nodes, sizeof nodes);
    assert_int_equal(places.node_count, 6);
    const lab_token_values values = lab_token_places_values(&places);
    assert_int_equal(lab_positions_make(model, &positions, &packing, &values, NULL), LOCUS_OK);
    for (size_t t = 0; t < offsets[2]; ++t) {
        locus_path *path = NULL;
        char text[64];
        assert_int_equal(locus_positions_path(positions, t, &path, NULL), LOCUS_OK);
        (void)locus_path_text(path, text, sizeof text);
        assert_string_equal(text, paths[t]);
        locus_path_destroy(&path);
    }
    locus_positions_destroy(&positions);
    lab_token_places_destroy(&places);
    lab_model_destroy(&model);
}

static void wrong_trees_are_refused(void **state) {
    (void)state;
    static const struct {
        int32_t parents[4], branches[4];
        const char *says;
    } cases[] = {
        {{-1, 0, 1, 1},
         {0, 0, 1, 4},
         "token 3 of input 0 is child 4 of its parent: children are numbered from 1 to 3, "
         "and 0 is the parent's own node"},
        {{-1, 0, 1, 1}, {0, 0, -1, 2}, "token 2 of input 0 is child -1"},
        {{-1, 0, 2, 1}, {0, 0, 1, 2}, "token 2 of input 0 has parent 2"},
        {{-1, 0, 3, 1}, {0, 0, 1, 2}, "token 2 of input 0 has parent 3"},
        {{-1, -1, 0, 0}, {0, 0, 1, 2}, "token 1 of input 0 has parent -1"},
        {{0, 0, 0, 0}, {0, 0, 1, 2}, "token 0 of input 0 has parent 0: the root comes first"},
    };
    static const size_t offsets[] = {0, 4};
    static const int32_t tokens[] = {0, 12, 3, 15}, label = 2;
    lab_model *model = make("algebraic(group=tree:3)");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        lab_score score = {0};
        locus_error error = {0};
        const lab_batch batch = {.samples = 1,
                                 .input_offsets = offsets,
                                 .input = tokens,
                                 .labels = &label,
                                 .input_tree = {cases[i].parents, cases[i].branches}};
        assert_int_equal(lab_model_evaluate(model, &batch, &score, &error), LOCUS_ERROR_ARGUMENT);
        if (strstr(error.message, cases[i].says) == NULL)
            fail_msg("'%s' doesn't say '%s'", error.message, cases[i].says);
    }
    const lab_batch words = {.samples = 1, .input_offsets = offsets, .input = tokens, .labels = &label};
    lab_score score = {0};
    locus_error error = {0};
    assert_int_equal(lab_model_evaluate(model, &words, &score, &error), LOCUS_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "the model reads trees"));
    lab_model_destroy(&model);
}

/* ---- the order in which arguments are written ---- */

/* A sample with the arguments of its outermost operator written down from the last to the first; each keeps its branch.
 * `from` [n]: which token stands at each place. */
static void reverse_arguments(size_t n, const int32_t *parents, const int32_t *branches, size_t *from) {
    size_t filled = n - 1, end = n - 1;
    from[0] = 0;
    for (size_t t = 1; t < n; ++t)
        from[t] = t;
    if (n < 4)
        return;
    filled = 2;
    for (size_t t = n - 2; t >= 2; --t) {
        if (parents[t] != 1 || branches[t] == 0)
            continue;
        for (size_t i = t; i < end; ++i)
            from[filled++] = i;
        end = t;
    }
    assert_int_equal(filled, n - 1);
}

typedef struct rewritten {
    int32_t *tokens, *parents, *branches;
} rewritten;

static rewritten rewrite(const lab_dataset *set) {
    const size_t tokens = set->input_offsets[set->samples];
    rewritten new = {calloc(tokens, 4), calloc(tokens, 4), calloc(tokens, 4)};
    size_t from[64], to[64];
    for (size_t s = 0; s < set->samples; ++s) {
        const size_t start = set->input_offsets[s], n = set->input_offsets[s + 1] - start;
        const int32_t *parents = set->input_tree.parents + start, *branches = set->input_tree.branches + start;
        assert_true(n <= 64);
        reverse_arguments(n, parents, branches, from);
        for (size_t t = 0; t < n; ++t)
            to[from[t]] = t;
        for (size_t t = 0; t < n; ++t) {
            new.tokens[start + t] = set->input[start + from[t]];
            new.parents[start + t] = parents[from[t]] < 0 ? -1 : (int32_t)to[parents[from[t]]];
            new.branches[start + t] = branches[from[t]];
        }
    }
    return new;
}

static double largest_change(const char *encoding) {
    enum { SAMPLES = 40, CLASSES = 10 };
    static float before[SAMPLES * CLASSES], after[SAMPLES * CLASSES];
    lab_dataset set = draw(SAMPLES);
    rewritten new = rewrite(&set);
    lab_batch batch = {.samples = SAMPLES,
                       .input_offsets = set.input_offsets,
                       .input = set.input,
                       .input_tree = {set.input_tree.parents, set.input_tree.branches}};
    lab_model *model = make(encoding);
    double most = 0;
    assert_int_equal(lab_model_classify(model, &batch, before, NULL), LOCUS_OK);
    batch.input = new.tokens;
    batch.input_tree = (lab_batch_tree){new.parents, new.branches};
    assert_int_equal(lab_model_classify(model, &batch, after, NULL), LOCUS_OK);
    for (size_t i = 0; i < SAMPLES * CLASSES; ++i)
        most = fmax(most, fabs((double)before[i] - (double)after[i]));
    lab_model_destroy(&model);
    free(new.tokens);
    free(new.parents);
    free(new.branches);
    lab_dataset_destroy(&set);
    return most;
}

static void paths_do_not_see_the_order_of_writing(void **state) {
    (void)state;
    static const char *const blind[] = {"none", "algebraic(group=tree:3)", "shiv-quirk(k=3, depth=4)"};
    static const char *const sees[] = {"rope", "sinusoidal", "algebraic(group=seq)", "algebraic(group=seq*tree:3)"};
    for (size_t i = 0; i < sizeof blind / sizeof *blind; ++i)
        if (largest_change(blind[i]) > 1e-5)
            fail_msg("%s sees the order: %g", blind[i], largest_change(blind[i]));
    for (size_t i = 0; i < sizeof sees / sizeof *sees; ++i)
        if (largest_change(sees[i]) < 1e-3)
            fail_msg("%s doesn't see the order: %g", sees[i], largest_change(sees[i]));
}

/* ---- batches and training ---- */

static void batches_carry_labels(void **state) {
    (void)state;
    lab_dataset set = draw(50);
    lab_batcher batcher;
    const lab_batch *batch;
    size_t seen = 0;
    assert_int_equal(lab_batcher_create(&batcher, &set, 8, 3, NULL), LOCUS_OK);
    for (uint64_t step = 0; step < 7; ++step) { /* one epoch, the last batch is smaller */
        assert_int_equal(lab_batcher_step(&batcher, step, &batch, NULL), LOCUS_OK);
        assert_int_equal(batch->samples, step < 6 ? 8 : 2);
        assert_null(batch->target_offsets);
        for (size_t i = 0; i < batch->samples; ++i) {
            const size_t start = batch->input_offsets[i], n = batch->input_offsets[i + 1] - start;
            const size_t s = batcher.epochs.order[step * 8 + i], old = set.input_offsets[s];
            assert_int_equal(n, set.input_offsets[s + 1] - old);
            assert_int_equal(batch->labels[i], set.labels[s]);
            assert_memory_equal(batch->input + start, set.input + old, n * 4);
            assert_memory_equal(batch->input_tree.parents + start, set.input_tree.parents + old, n * 4);
            assert_memory_equal(batch->input_tree.branches + start, set.input_tree.branches + old, n * 4);
        }
        seen += batch->samples;
    }
    assert_int_equal(seen, 50);
    lab_batcher_destroy(&batcher);
    lab_dataset_destroy(&set);
}

/* Each encoding learns a few expressions by heart. */
static void every_encoding_trains(void **state) {
    (void)state;
    static const char *const encodings[] = {"none",
                                            "sinusoidal",
                                            "learned(size=64)",
                                            "chebyshev(site=input)",
                                            "rope",
                                            "algebraic(group=seq)",
                                            "algebraic(group=tree:3)",
                                            "algebraic(group=seq*tree:3)",
                                            "shiv-quirk(k=3, depth=4)"};
    lab_dataset set = draw(24);
    for (size_t e = 0; e < sizeof encodings / sizeof *encodings; ++e) {
        lab_model *model = make(encodings[e]);
        lab_optimizer optimizer;
        const lab_optimizer_config settings = lab_optimizer_default();
        const lab_batch batch = {.samples = set.samples,
                                 .input_offsets = set.input_offsets,
                                 .input = set.input,
                                 .labels = set.labels,
                                 .input_tree = {set.input_tree.parents, set.input_tree.branches}};
        lab_score first = {0}, last = {0};
        locus_error error = {0};
        double norm;
        assert_int_equal(lab_optimizer_create(&optimizer, &settings, lab_model_elements(model), NULL), LOCUS_OK);
        for (uint32_t step = 0; step < 40; ++step) {
            lab_score score = {0};
            if (lab_model_train(model, &batch, 1, step, &score, &error) != LOCUS_OK)
                fail_msg("%s: %s", encodings[e], error.message);
            first = step == 0 ? score : first;
            last = score;
            assert_int_equal(
                lab_optimizer_step(&optimizer, 5e-3, lab_model_values(model), lab_model_gradients(model), &norm, NULL),
                LOCUS_OK);
            assert_int_equal(lab_model_update(model, NULL), LOCUS_OK);
        }
        if (!(last.loss < 0.5 * first.loss))
            fail_msg("%s: the loss goes from %g to %g", encodings[e], first.loss, last.loss);
        lab_optimizer_destroy(&optimizer);
        lab_model_destroy(&model);
    }
    lab_dataset_destroy(&set);
}

/* ^ [SM [MED [MAX 1 2 ] 7 ] 9 ]: six nodes below the root, of which two are 3 steps down. */
static void cut_paths_are_counted_by_nodes(void **state) {
    (void)state;
    lab_listops_reader reader = {0};
    char note[256];
    assert_int_equal(lab_listops_read(&reader, "[SM [MED [MAX 1 2 ] 7 ] 9 ]", NULL), LOCUS_OK);
    size_t offsets[] = {0, reader.count};
    const lab_dataset set = {.samples = 1,
                             .input_offsets = offsets,
                             .input = reader.tokens,
                             .input_tree = {reader.parents, reader.branches}};
    const lab_train_config deep = {.encoding = "shiv-quirk(depth=3)"}, shallow = {.encoding = "shiv-quirk(depth=2)"};
    assert_false(lab_cut_paths_note(&deep, &set, note, sizeof note));
    assert_true(lab_cut_paths_note(&shallow, &set, note, sizeof note));
    assert_non_null(strstr(note, "trees go down 3 steps"));
    assert_non_null(strstr(note, "28.6 % of the nodes are cut")); /* 2 of 7 */
    lab_listops_reader_destroy(&reader);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_of_an_operator_share_its_node),
        cmocka_unit_test(wrong_trees_are_refused),
        cmocka_unit_test(paths_do_not_see_the_order_of_writing),
        cmocka_unit_test(batches_carry_labels),
        cmocka_unit_test(every_encoding_trains),
        cmocka_unit_test(cut_paths_are_counted_by_nodes),
    };
    if (locus_threads_set(1) != LOCUS_OK) /* thousands of tiny calls */
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
