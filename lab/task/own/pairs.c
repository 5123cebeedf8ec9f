/* SPDX-License-Identifier: MIT */
/* See pairs.h. */
#include "task/own/pairs.h"

#include "io/fail.h"
#include "task/own/own_lengths.h"
#include "task/own/own_sets.h"
#include "task/own/pair_vocabulary.h"
#include "task/symbol_tree.h"

#include <stdlib.h>
#include <string.h>

/* Everything that was read. */
typedef struct collection {
    const lab_task_options *options;
    lab_own_rows rows;
    lab_pair_vocabulary vocabulary;
} collection;

static void collection_free(collection *all) {
    lab_own_rows_free(&all->rows);
    lab_pair_vocabulary_free(&all->vocabulary);
}

/* ---- reading ---- */

static locus_status read_training(collection *all, uint64_t seed, locus_error *error) {
    const locus_status status = lab_own_rows_train(&all->rows, all->options, seed, error);
    return status == LOCUS_OK ? lab_pair_vocabulary_learn(&all->vocabulary, &all->rows, error) : status;
}

/* Another file alone, by the vocabulary that a run has kept. */
static locus_status read_kept(collection *all, locus_error *error) {
    const locus_status status = lab_pair_vocabulary_recall(&all->vocabulary, all->options->kept, error);
    all->rows.kind = all->vocabulary.kind;
    return status == LOCUS_OK ? lab_own_rows_read(&all->rows, all->options->test, LAB_SET_TEST, error) : status;
}

static locus_status collect(collection *all, const lab_task_options *options, uint64_t seed, locus_error *error) {
    *all = (collection){.options = options, .rows = {.form = &lab_pair_form, .kind = LAB_PAIRS(options)->tokens}};
    locus_status status = lab_own_only_test(options) ? read_kept(all, error) : read_training(all, seed, error);
    for (size_t i = 0; i < all->rows.count && status == LOCUS_OK; i++)
        status = lab_pair_vocabulary_check(&all->vocabulary, &all->rows.rows[i], error);
    if (status != LOCUS_OK)
        collection_free(all);
    return status;
}

/* ---- sets ---- */

/* One side of a set while it is filled. */
typedef struct filling {
    size_t which, **offsets;
    int32_t **tokens;
    lab_tree_nodes *nodes;
} filling;

static locus_status allocate(const collection *all, const filling *into, size_t samples, lab_set set,
                             locus_error *error) {
    size_t at = 0, *offsets = *into->offsets = calloc(samples + 1, sizeof **into->offsets);
    if (offsets == NULL)
        return lab_fail_memory(error, "a data set");
    for (size_t i = 0; i < all->rows.count && at < samples; i++) {
        if (all->rows.rows[i].set == set) {
            offsets[at + 1] = offsets[at] + all->rows.rows[i].sides[into->which].count;
            at++;
        }
    }
    const size_t count = offsets[samples] + 1;
    *into->tokens = calloc(count, sizeof **into->tokens);
    into->nodes->parents = all->vocabulary.trees ? calloc(count, sizeof(int32_t)) : NULL;
    into->nodes->branches = all->vocabulary.trees ? calloc(count, sizeof(int32_t)) : NULL;
    return *into->tokens == NULL ||
                   (all->vocabulary.trees && (into->nodes->parents == NULL || into->nodes->branches == NULL))
               ? lab_fail_memory(error, "a data set")
               : LOCUS_OK;
}

static locus_status fill_side(const collection *all, const filling *into, size_t samples, lab_set set,
                              locus_error *error) {
    const locus_status status = allocate(all, into, samples, set, error);
    size_t at = 0;
    for (size_t i = 0; status == LOCUS_OK && i < all->rows.count && at < samples; i++) {
        const lab_own_side *side = &all->rows.rows[i].sides[into->which];
        if (all->rows.rows[i].set != set)
            continue;
        const size_t start = (*into->offsets)[at++];
        lab_pair_encode(&all->vocabulary, side, *into->tokens + start);
        if (side->parents != NULL) {
            // NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): where a row has parents, all are trees
            memcpy(into->nodes->parents + start, side->parents, side->count * sizeof *side->parents);
            memcpy(into->nodes->branches + start, side->branches, side->count * sizeof *side->branches);
        }
    }
    return status;
}

static locus_status fill(const collection *all, lab_dataset *set, lab_set which, locus_error *error) {
    const filling sides[] = {
        {LAB_OWN_INPUT, &set->input_offsets, &set->input, &set->input_tree},
        {LAB_OWN_TARGET, &set->target_offsets, &set->target, &set->target_tree},
    };
    locus_status status = fill_side(all, &sides[0], set->samples, which, error);
    if (status == LOCUS_OK)
        status = fill_side(all, &sides[1], set->samples, which, error);
    return status == LOCUS_OK ? lab_pair_vocabulary_lend(&all->vocabulary, set, error) : status;
}

locus_status lab_pairs_generate(lab_dataset *set, const lab_draw *draw, locus_error *error) {
    collection all;
    locus_status status = lab_own_check_digest(draw->options, NULL, error);
    if (status == LOCUS_OK)
        status = collect(&all, draw->options, draw->seed, error);
    if (status != LOCUS_OK)
        return status;
    status = lab_own_take(set, draw, lab_own_rows_count(&all.rows, draw->which), error);
    if (status == LOCUS_OK)
        status = lab_own_within(&all.rows, draw, &set->samples, error);
    if (status == LOCUS_OK)
        status = fill(&all, set, draw->which, error);
    collection_free(&all);
    return status;
}

/* ---- what the files say ---- */

locus_status lab_pairs_look(const lab_task_options *options, uint64_t seed, lab_pair_facts *facts, locus_error *error) {
    collection all;
    *facts = (lab_pair_facts){0};
    locus_status status = collect(&all, options, seed, error);
    if (status != LOCUS_OK)
        return status;
    facts->vocabulary = lab_pair_vocabulary_size(&all.vocabulary);
    facts->trained = lab_own_longest(&all.rows);
    facts->ids = all.vocabulary.ids;
    facts->arity = all.vocabulary.arity;
    facts->order = lab_pair_vocabulary_order(&all.vocabulary);
    facts->stuck = lab_pair_vocabulary_stuck(&all.vocabulary);
    for (size_t i = 0; i < all.rows.count; i++) {
        const lab_own_row *row = &all.rows.rows[i];
        facts->samples[row->set]++;
        for (size_t s = 0; s < 2; s++)
            facts->unknown[row->set] += lab_pair_encode(&all.vocabulary, &row->sides[s], NULL);
    }
    status = lab_own_rows_shared(&all.rows, facts->shared, error);
    if (status == LOCUS_OK)
        status = lab_own_digest(options, &facts->digest, error);
    collection_free(&all);
    return status;
}

locus_status lab_pairs_keep(const lab_task_options *options, uint64_t seed, const char *folder, locus_error *error) {
    collection all;
    locus_status status = collect(&all, options, seed, error);
    if (status != LOCUS_OK)
        return status;
    status = lab_pair_vocabulary_keep(&all.vocabulary, folder, error);
    collection_free(&all);
    return status;
}

/* ---- an input as it is typed ---- */

static locus_status allocate_typed(lab_dataset *set, size_t tokens, bool trees, locus_error *error) {
    set->samples = 1;
    set->input_offsets = calloc(2, sizeof *set->input_offsets);
    set->input = calloc(tokens + 1, sizeof *set->input);
    set->input_tree.parents = trees ? calloc(tokens + 1, sizeof(int32_t)) : NULL;
    set->input_tree.branches = trees ? calloc(tokens + 1, sizeof(int32_t)) : NULL;
    if (set->input_offsets == NULL || set->input == NULL ||
        (trees && (set->input_tree.parents == NULL || set->input_tree.branches == NULL)))
        return lab_fail_memory(error, "an input");
    set->input_offsets[1] = tokens;
    return LOCUS_OK;
}

static locus_status typed_sequence(lab_dataset *set, const lab_pair_vocabulary *of, const char *text,
                                   locus_error *error) {
    const lab_own_ids ids = {of->first == 0, of->most};
    lab_own_side side = {0};
    locus_status status = lab_own_typed(&side, text, of->kind, of->ids ? &ids : NULL, error);
    if (status == LOCUS_OK && side.count == 0)
        status = lab_fail(error, LOCUS_ERROR_ARGUMENT, "input", "the input has no token");
    if (status == LOCUS_OK)
        status = allocate_typed(set, side.count, false, error);
    if (status == LOCUS_OK)
        lab_pair_encode(of, &side, set->input);
    free(side.ids);
    free(side.text);
    return status;
}

/* The token that is written so; a text may be any. */
static int32_t find_token(const void *context, const char *name, size_t bytes) {
    const lab_pair_vocabulary *of = context;
    int32_t token;
    char digits[12], *end;
    if (of->ids) {
        const bool number = bytes < sizeof digits && name[0] >= '0' && name[0] <= '9';
        snprintf(digits, sizeof digits, "%.*s", (int)bytes, number ? name : "");
        const long id = strtol(digits, &end, 10);
        return number && *end == '\0' && (size_t)id <= of->most && (size_t)id + of->first > 0
                   ? (int32_t)((size_t)id + of->first)
                   : LAB_TREE_NONE;
    }
    const char *at = name;
    if (lab_own_next(of->kind, &at, name + bytes).bytes != bytes)
        return LAB_TREE_NONE; /* more than one character, or byte */
    const lab_own_side side = {.text = (char *)name, .bytes = bytes, .count = 1};
    lab_pair_encode(of, &side, &token);
    return token;
}

/* "(a b c)", by the names of tokens, level by level. */
static locus_status typed_tree(lab_dataset *set, const lab_pair_vocabulary *of, const char *text, locus_error *error) {
    const lab_tree_names names = {find_token, of};
    lab_tree tree = {0};
    locus_error local;
    locus_status status = lab_tree_parse_named(&tree, text, &names, &local);
    if (status != LOCUS_OK) {
        status = lab_fail(error, status == LOCUS_ERROR_SPEC ? LOCUS_ERROR_ARGUMENT : status, "input",
                          "%s; a tree is written as (a b c), with tokens of the training set", local.message);
    }
    for (size_t i = 0; status == LOCUS_OK && i < tree.count; i++)
        if (tree.nodes[i].branch > 0 && (size_t)tree.nodes[i].branch > of->arity)
            status = lab_fail(error, LOCUS_ERROR_ARGUMENT, "input",
                              "a node has %d children, and in the training set none more than %zu",
                              (int)tree.nodes[i].branch, of->arity);
    if (status == LOCUS_OK)
        status = allocate_typed(set, tree.count, true, error);
    if (status == LOCUS_OK)
        lab_tree_write(&tree, LAB_ORDER_BREADTH, set->input, set->input_tree.parents, set->input_tree.branches);
    lab_tree_destroy(&tree);
    return status;
}

locus_status lab_pairs_typed(lab_dataset *set, const lab_task_options *options, const char *text, locus_error *error) {
    lab_pair_vocabulary of;
    *set = (lab_dataset){0};
    locus_status status = lab_pair_vocabulary_recall(&of, options->kept, error);
    if (status != LOCUS_OK)
        return status;
    status = of.trees ? typed_tree(set, &of, text, error) : typed_sequence(set, &of, text, error);
    if (status == LOCUS_OK)
        status = lab_pair_vocabulary_lend(&of, set, error);
    if (status != LOCUS_OK)
        lab_dataset_destroy(set);
    lab_pair_vocabulary_free(&of);
    return status;
}
