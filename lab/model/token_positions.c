/* SPDX-License-Identifier: MIT */
/* See token_positions.h. Trees are refused whose tokens stand before their parents, have no root or more than one, or
 * more children than the model was made for; and, where every token is a node of its own, two tokens at one node. */
#include "model/token_positions.h"

#include "io/fail.h"
#include <stdlib.h>

locus_status lab_token_places_create(lab_token_places *places, size_t sequences, const size_t *offsets,
                                     size_t next_paths, locus_error *error) {
    const size_t tokens = offsets[sequences], nodes = 1 + (next_paths > 0 ? 2 : 1) * tokens;
    *places = (lab_token_places){.indices = calloc(tokens + 1, sizeof *places->indices),
                                 .nodes = calloc(tokens + 1, sizeof *places->nodes),
                                 .branches = calloc(nodes, sizeof *places->branches),
                                 .parents = calloc(nodes, sizeof *places->parents),
                                 .node_count = 1,
                                 .next_paths = next_paths};
    places->own = next_paths > 0 ? calloc(tokens + 1, sizeof *places->own) : places->nodes;
    if (!places->indices || !places->nodes || !places->own || !places->branches || !places->parents)
        return lab_fail_memory(error, "the positions of a batch");
    for (size_t s = 0; s < sequences; ++s)
        for (size_t t = offsets[s]; t < offsets[s + 1]; ++t)
            places->indices[t] = (int64_t)(t - offsets[s]);
    return LOCUS_OK;
}

void lab_token_places_destroy(lab_token_places *places) {
    if (places->own != places->nodes)
        free(places->own);
    free(places->indices);
    free(places->nodes);
    free(places->branches);
    free(places->parents);
    *places = (lab_token_places){0};
}

static int64_t child(lab_token_places *places, int64_t parent, int64_t branch) {
    places->parents[places->node_count] = (size_t)parent;
    places->branches[places->node_count] = branch;
    return (int64_t)places->node_count++;
}

/* The place after a token's own node's. */
static int64_t next_place(lab_token_places *places, ptrdiff_t parent, int32_t branch) {
    if (parent < 0)
        return child(places, 0, 1);
    if ((size_t)branch < places->next_paths)
        return child(places, places->own[parent], branch + 1);
    return child(places, places->nodes[parent], 1);
}

void lab_token_places_put(lab_token_places *places, size_t token, ptrdiff_t parent, int32_t branch) {
    if (parent < 0)
        places->own[token] = 0;
    else
        places->own[token] = branch == 0 ? places->own[parent] : child(places, places->own[parent], branch);
    if (places->next_paths > 0)
        places->nodes[token] = next_place(places, parent, branch);
}

/* Some tokens of a packed tree: the first `count` from `first` on. */
typedef struct tree_part {
    const lab_batch_tree *tree;
    size_t first, count;
} tree_part;

/* Its nodes, from place `at` on. */
static void places_fill(lab_token_places *places, size_t at, const tree_part *part) {
    for (size_t t = 0; t < part->count; ++t) {
        const int32_t parent = part->tree->parents[part->first + t], branch = part->tree->branches[part->first + t];
        lab_token_places_put(places, at + t, parent < 0 ? -1 : (ptrdiff_t)at + parent, branch);
    }
}

locus_status lab_places_of_input(lab_token_places *places, const lab_model *model, const lab_batch *batch,
                                 locus_error *error) {
    const size_t *offsets = batch->input_offsets;
    if (model->config.tree_arity == 0)
        return LOCUS_OK;
    const locus_status status = lab_token_places_create(places, batch->samples, offsets, model->next_paths, error);
    for (size_t s = 0; s < batch->samples && status == LOCUS_OK; ++s)
        places_fill(places, offsets[s], &(tree_part){&batch->input_tree, offsets[s], offsets[s + 1] - offsets[s]});
    return status;
}

/* The start token comes first, at the root; the last token is not read. */
locus_status lab_places_of_target(lab_token_places *places, const lab_model *model, const lab_batch *batch,
                                  const size_t *offsets, locus_error *error) {
    if (model->config.tree_arity == 0)
        return LOCUS_OK;
    const locus_status status = lab_token_places_create(places, batch->samples, offsets, model->next_paths, error);
    for (size_t s = 0; s < batch->samples && status == LOCUS_OK; ++s) {
        const tree_part part = {&batch->target_tree, batch->target_offsets[s], offsets[s + 1] - offsets[s] - 1};
        places_fill(places, offsets[s] + 1, &part);
    }
    return status;
}

lab_token_values lab_token_places_values(const lab_token_places *places) {
    return (lab_token_values){.indices = places->indices,
                              .tree = {.size = sizeof(locus_position_column),
                                       .values = places->nodes,
                                       .branches = places->branches,
                                       .parents = places->parents,
                                       .node_count = places->node_count}};
}

/* ---- positions ---- */

enum { MOST_COORDINATES = 32 };

static locus_status columns_make(locus_positions **positions, const locus_group *group, const locus_packing *packing,
                                 const lab_token_values *values, locus_error *error) {
    const size_t coordinates = locus_group_coordinates(group);
    locus_position_column columns[MOST_COORDINATES];
    if (coordinates > MOST_COORDINATES)
        return lab_fail(error, LOCUS_ERROR_UNSUPPORTED, "encoding", "the encoding's group has more than %d coordinates",
                        MOST_COORDINATES);
    for (size_t c = 0; c < coordinates; ++c)
        if (locus_group_coordinate(group, c).kind == LOCUS_COORDINATE_TREE)
            columns[c] = values->tree;
        else
            columns[c] = (locus_position_column){.size = sizeof *columns, .values = values->indices};
    return locus_positions_create_columns(positions, group, packing, columns, error);
}

/* Where nothing is said of a coordinate, tokens are numbered, and stand at the root. */
static locus_status columns_complete(locus_positions **positions, const locus_group *group,
                                     const locus_packing *packing, const lab_token_values *values, locus_error *error) {
    lab_token_places places = {0};
    locus_status status = lab_token_places_create(&places, packing->sequences, packing->offsets, 0, error);
    if (status == LOCUS_OK) {
        lab_token_values complete = lab_token_places_values(&places);
        if (values && values->indices)
            complete.indices = values->indices;
        if (values && (values->tree.values || values->tree.starts))
            complete.tree = values->tree;
        status = columns_make(positions, group, packing, &complete, error);
    }
    lab_token_places_destroy(&places);
    return status;
}

static bool is_flat(const locus_group *group) {
    return group == NULL ||
           (locus_group_coordinates(group) == 1 && locus_group_coordinate(group, 0).kind != LOCUS_COORDINATE_TREE);
}

locus_status lab_positions_make(const lab_model *model, locus_positions **positions, const locus_packing *packing,
                                const lab_token_values *values, locus_error *error) {
    const locus_group *group = model->group;
    const bool tree = values && (values->tree.values || values->tree.starts);
    if (is_flat(group))
        return locus_positions_create(positions, group, packing, values ? values->indices : NULL, error);
    if (tree && values->indices)
        return columns_make(positions, group, packing, values, error);
    return columns_complete(positions, group, packing, values, error);
}

locus_status lab_positions_of(const lab_model *model, locus_positions **positions, const lab_batch *batch,
                              const size_t *targets, locus_error *error) {
    const locus_packing packing = {
        .size = sizeof packing, .sequences = batch->samples, .offsets = targets ? targets : batch->input_offsets};
    lab_token_places places = {0};
    locus_status status = targets ? lab_places_of_target(&places, model, batch, targets, error)
                                  : lab_places_of_input(&places, model, batch, error);
    const lab_token_values values = lab_token_places_values(&places);
    if (status == LOCUS_OK)
        status = lab_positions_make(model, positions, &packing, &values, error);
    lab_token_places_destroy(&places);
    return status;
}

/* ---- checks ---- */

/* Of trees: one flat coordinate, one tree, or both. */
static locus_status check_tree_group(size_t arity, const locus_group *group, locus_error *error) {
    size_t flat = 0, trees = 0;
    bool narrow = false;
    char text[64];
    const size_t coordinates = locus_group_coordinates(group);
    for (size_t c = 0; c < coordinates && c < MOST_COORDINATES; ++c) {
        const locus_coordinate coordinate = locus_group_coordinate(group, c);
        const bool tree = coordinate.kind == LOCUS_COORDINATE_TREE;
        flat += !tree;
        trees += tree;
        narrow = narrow || (tree && coordinate.size < (int64_t)arity);
    }
    (void)locus_group_text(group, text, sizeof text);
    if (flat > 1 || trees > 1)
        return lab_fail(error, LOCUS_ERROR_UNSUPPORTED, "encoding",
                        "the encoding acts on '%s', but the task's tokens stand at 0, 1, 2, … and at paths of a tree: "
                        "use seq, tree:%zu or seq*tree:%zu",
                        text, arity, arity);
    if (narrow)
        return lab_fail(error, LOCUS_ERROR_UNSUPPORTED, "encoding",
                        "the encoding acts on '%s', but the task's nodes have up to %zu children: use tree:%zu", text,
                        arity, arity);
    return LOCUS_OK;
}

locus_status lab_positions_check_group(const lab_model_config *config, const locus_group *group, locus_error *error) {
    char text[64];
    if (group == NULL || is_flat(group))
        return LOCUS_OK;
    if (config->tree_arity > 0)
        return check_tree_group(config->tree_arity, group, error);
    (void)locus_group_text(group, text, sizeof text);
    return lab_fail(error, LOCUS_ERROR_UNSUPPORTED, "encoding",
                    "the encoding acts on '%s', but the task's positions are 0, 1, 2, …: use seq or cycle:n", text);
}

/* What a model takes for a tree. */
typedef struct tree_rule {
    const char *name; /* "input", "target" */
    size_t arity;
    bool shared; /* several tokens may stand at one node */
} tree_rule;

static locus_status check_node(const tree_rule *rule, size_t sample, const tree_part *part, size_t t,
                               locus_error *error) {
    const int32_t parent = part->tree->parents[part->first + t], branch = part->tree->branches[part->first + t];
    const bool root = t == 0;
    const char *name = rule->name;
    if (root ? parent != -1 : parent < 0 || (size_t)parent >= t)
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, name,
                        "token %zu of %s %zu has parent %ld: the root comes first (parent -1), and every other node "
                        "behind its parent",
                        t, name, sample, (long)parent);
    if (root || (branch >= !rule->shared && (size_t)branch <= rule->arity))
        return LOCUS_OK;
    return lab_fail(error, LOCUS_ERROR_ARGUMENT, name,
                    "token %zu of %s %zu is child %ld of its parent: children are numbered from 1 to %zu%s", t, name,
                    sample, (long)branch, rule->arity, rule->shared ? ", and 0 is the parent's own node" : "");
}

static locus_status check_trees(const tree_rule *rule, const lab_batch *batch, bool target, locus_error *error) {
    const char *name = rule->name;
    const size_t *offsets = target ? batch->target_offsets : batch->input_offsets;
    const lab_batch_tree *tree = target ? &batch->target_tree : &batch->input_tree;
    if (!tree->parents || !tree->branches)
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, name, "the model reads trees, but the batch's %ss are words",
                        name);
    for (size_t s = 0; s < batch->samples; ++s) {
        const tree_part part = {tree, offsets[s], offsets[s + 1] - offsets[s]};
        if (part.count == 0)
            return lab_fail(error, LOCUS_ERROR_ARGUMENT, name, "%s %zu is empty: a tree has a root", name, s);
        for (size_t t = 0; t < part.count; ++t) {
            const locus_status status = check_node(rule, s, &part, t, error);
            if (status != LOCUS_OK)
                return status;
        }
    }
    return LOCUS_OK;
}

locus_status lab_batch_check_trees(const lab_model *model, const lab_batch *batch, bool targets, locus_error *error) {
    const size_t arity = model->config.tree_arity;
    if (arity == 0)
        return LOCUS_OK;
    const bool shared = model->config.architecture->classes;
    const locus_status status = check_trees(&(tree_rule){"input", arity, shared}, batch, false, error);
    return status == LOCUS_OK && targets ? check_trees(&(tree_rule){"target", arity, false}, batch, true, error)
                                         : status;
}
