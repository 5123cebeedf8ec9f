/* SPDX-License-Identifier: MIT */
/* The tree tasks of Kogkalidis, Bernardy and Garg 2024, Table 2.
 *
 *                symbols                                            target
 *   tree-copy    1–10 leaves, 11–20 operators                       the tree
 *   tree-reorder the same                                           its mirror image
 *   tree-c3      1, 2, 3 = e, a, a² of the cyclic group C3, 4 ·     every subtree of depth 1 replaced by its value
 *   tree-ops     1–64 leaves, 65–124 operators, and four roots      the subtree (125), its mirror image (126), the tree
 *                                                                   with the subtree cut down to its root (127), the
 *                                                                   tree (128)
 *
 * The input of tree-ops is (root name tree): a leaf that names one of the nodes, all of which differ, and the tree.
 * Depths are max(0, ⌊mean + deviation · z⌋); at least 1 in tree-ops, whose tree is one less deep than its input.
 *
 * Sample i of a set has its own stream of random numbers, keyed by (seed, set, i): number 0 is the standard normal z,
 * the others are used one after another. So it depends neither on how many are drawn nor on the order in which targets
 * are written. */
#include "task/tree_task.h"

#include "io/fail.h"
#include "io/grow.h"
#include "task/tree_random.h"

#include <math.h>
#include <stdlib.h>

#define MOST_TOKENS ((size_t)1 << 28) /* of a side of a set: 3 GiB with its nodes */
#define MOST_NODES 1e6 /* that the trees of a task may have on the average, at six deviations above the mean depth */

enum { C3_ELEMENTS = 3, C3_OPERATOR = LAB_TREE_C3_SYMBOLS };
enum { OPS_LEAVES = 64, OPS_OPERATORS = 60, OPS_EXTRACT = 125, OPS_FLIP_EXTRACT, OPS_TRUNCATE, OPS_OPERATIONS = 4 };

/* Trees that one sample after another is made in. */
typedef struct workshop {
    const lab_task_options *options;
    lab_draws draws;
    size_t depth;
    lab_tree input, target, part;
} workshop;

typedef locus_status target_maker(workshop *shop, locus_error *error);

/* A task: what inputs are made of, and what targets are made of these. */
typedef struct rule {
    size_t leaves, operators; /* symbols; 0: half of them each */
    bool commands;            /* inputs are (operation name tree), and no symbol stands twice in the tree */
    target_maker *make;
} rule;

static locus_status memory(locus_error *error) {
    return lab_fail_memory(error, "a tree");
}

/* ---- inputs ---- */

static size_t leaves_of(const rule *of, const lab_task_options *options) {
    return of->leaves > 0 ? of->leaves : LAB_TREES(options)->symbols / 2;
}

static size_t operators_of(const rule *of, const lab_task_options *options) {
    return of->operators > 0 ? of->operators : LAB_TREES(options)->symbols / 2;
}

static locus_status draw_input(workshop *shop, const rule *of, locus_error *error) {
    const lab_tree_plan plan = {shop->depth > 0 && of->commands ? shop->depth - 1 : shop->depth,
                                LAB_TREES(shop->options)->arity,
                                {leaves_of(of, shop->options), operators_of(of, shop->options)},
                                of->commands};
    const locus_status status = lab_tree_draw(of->commands ? &shop->part : &shop->input, &plan, &shop->draws, error);
    if (status != LOCUS_OK || !of->commands)
        return status;
    const int32_t chosen = lab_draw_below(&shop->draws, shop->part.count);
    const int32_t operation = OPS_EXTRACT + lab_draw_below(&shop->draws, OPS_OPERATIONS);
    return lab_tree_add(&shop->input, LAB_TREE_NONE, operation) == 0 &&
                   lab_tree_add(&shop->input, 0, shop->part.nodes[chosen].symbol) > 0 &&
                   lab_tree_graft(&shop->input, 0, &shop->part, 0, NULL)
               ? LOCUS_OK
               : memory(error);
}

/* ---- targets ---- */

static locus_status make_copy(workshop *shop, locus_error *error) {
    return lab_tree_graft(&shop->target, LAB_TREE_NONE, &shop->input, 0, NULL) ? LOCUS_OK : memory(error);
}

static locus_status make_reorder(workshop *shop, locus_error *error) {
    locus_status status = make_copy(shop, error);
    lab_tree_mirror(&shop->target);
    return status;
}

/* The value of an operator all of whose children are leaves: exponents of a add up. */
static int32_t c3_value(const void *context, const lab_tree *from, int32_t node) {
    int32_t exponent = 0;
    (void)context;
    for (int32_t child = from->nodes[node].first; child >= 0; child = from->nodes[child].next) {
        if (from->nodes[child].first >= 0)
            return LAB_TREE_NONE;
        exponent += from->nodes[child].symbol - 1;
    }
    return from->nodes[node].first < 0 ? LAB_TREE_NONE : 1 + exponent % C3_ELEMENTS;
}

static locus_status make_c3(workshop *shop, locus_error *error) {
    const lab_tree_cut reduce = {c3_value, NULL};
    return lab_tree_graft(&shop->target, LAB_TREE_NONE, &shop->input, 0, &reduce) ? LOCUS_OK : memory(error);
}

static int32_t own_symbol(const void *context, const lab_tree *from, int32_t node) {
    return node == *(const int32_t *)context ? from->nodes[node].symbol : LAB_TREE_NONE;
}

/* The node that a command's input names; NONE: there is none of that name. */
static int32_t named_node(const lab_tree *input) {
    const int32_t name = input->nodes[0].first;
    int32_t node = (int32_t)input->count - 1;
    while (node > 0 && (node == name || input->nodes[node].symbol != input->nodes[name].symbol))
        node--;
    return node > 0 ? node : LAB_TREE_NONE;
}

static locus_status make_ops(workshop *shop, locus_error *error) {
    const int32_t operation = shop->input.nodes[0].symbol, chosen = named_node(&shop->input);
    const lab_tree_cut truncate = {own_symbol, &chosen};
    const bool extract = operation == OPS_EXTRACT || operation == OPS_FLIP_EXTRACT;
    if (!lab_tree_graft(&shop->target, LAB_TREE_NONE, &shop->input, extract ? chosen : shop->input.nodes[0].last,
                        operation == OPS_TRUNCATE ? &truncate : NULL))
        return memory(error);
    if (operation == OPS_FLIP_EXTRACT)
        lab_tree_mirror(&shop->target);
    return LOCUS_OK;
}

static const rule copy_rule = {.make = make_copy}, reorder_rule = {.make = make_reorder},
                  c3_rule = {C3_ELEMENTS, 1, false, make_c3}, ops_rule = {OPS_LEAVES, OPS_OPERATORS, true, make_ops};

/* ---- children of an output token ---- */

size_t lab_tree_children_half(const lab_task_options *options, size_t n, const int32_t *input, int32_t symbol) {
    const lab_tree_options *of = LAB_TREES(options);
    (void)n, (void)input;
    return symbol > 0 && (size_t)symbol > of->symbols / 2 && (size_t)symbol <= of->symbols ? of->arity : 0;
}

size_t lab_tree_children_c3(const lab_task_options *options, size_t n, const int32_t *input, int32_t symbol) {
    (void)n, (void)input;
    return symbol == C3_OPERATOR ? LAB_TREES(options)->arity : 0;
}

/* A truncated operator has become a leaf. The input's left leaf is its second token. */
size_t lab_tree_children_ops(const lab_task_options *options, size_t n, const int32_t *input, int32_t symbol) {
    bool truncated = n > 1 && input[0] == OPS_TRUNCATE && input[1] == symbol;
    return symbol > OPS_LEAVES && symbol <= OPS_LEAVES + OPS_OPERATORS && !truncated ? LAB_TREES(options)->arity : 0;
}

/* ---- sets ---- */

static locus_status check_depth(const lab_tree_options *of, locus_error *error) {
    if (!(of->depth_mean >= 0.0 && of->depth_mean <= LAB_TREE_MOST_DEPTH)) {
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "depth", "the mean depth %g is not between 0 and %d",
                        of->depth_mean, LAB_TREE_MOST_DEPTH);
    }
    if (!(of->depth_deviation >= 0.0 && of->depth_mean + 6.0 * of->depth_deviation <= LAB_TREE_MOST_DEPTH)) {
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "depth-deviation",
                        "the deviation of depths %g is negative, or leads to trees deeper than %d: give a smaller one",
                        of->depth_deviation, LAB_TREE_MOST_DEPTH);
    }
    return LOCUS_OK;
}

static locus_status fail_tokens(locus_error *error) {
    return lab_fail(error, LOCUS_ERROR_ARGUMENT, "n",
                    "the set has more than %zu tokens: give fewer samples or a smaller depth", MOST_TOKENS);
}

/* Before any memory is taken: single trees, and the set as a whole. */
static locus_status check_size(const lab_draw *draw, bool unique, locus_error *error) {
    const lab_tree_options *of = LAB_TREES(draw->options);
    const size_t deepest = (size_t)(of->depth_mean + 6.0 * of->depth_deviation);
    const double nodes = lab_tree_expected_nodes(deepest, of->arity);
    if (!unique && nodes > MOST_NODES) {
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "depth",
                        "trees of depth %zu, six deviations above the mean, have %.3g nodes on the average, more than "
                        "%.0f: give a smaller depth, deviation or arity",
                        deepest, nodes, MOST_NODES);
    }
    const double usual = unique ? 3.0 : lab_tree_expected_nodes((size_t)of->depth_mean, of->arity);
    return usual * (double)draw->samples > (double)MOST_TOKENS ? fail_tokens(error) : LOCUS_OK;
}

static locus_status check(const lab_draw *draw, bool unique, locus_error *error) {
    const lab_tree_options *of = LAB_TREES(draw->options);
    const lab_task *task = draw->task;
    const lab_tree_options *published = task->published;
    const locus_status status = check_depth(of, error);
    if (status != LOCUS_OK)
        return status;
    if (of->arity < 1 + (size_t)unique || of->arity > LAB_TREE_MOST_ARITY) {
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "arity", "arity %zu: %s takes %d to %d children", of->arity,
                        task->name, unique ? 2 : 1, LAB_TREE_MOST_ARITY);
    }
    if (task->children != lab_tree_children_half && of->symbols != published->symbols) {
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "symbols", "%zu symbols: %s has %zu, each with its meaning",
                        of->symbols, task->name, published->symbols);
    }
    if (of->symbols < 2 || of->symbols % 2 != 0 || of->symbols > 1000000) {
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "symbols",
                        "%zu symbols: %s takes an even number from 2 to 1000000, half for leaves, half for operators",
                        of->symbols, task->name);
    }
    return check_size(draw, unique, error);
}

/* Tokens and nodes of one side of a set while it grows. */
typedef struct side {
    size_t **offsets;
    int32_t **tokens;
    lab_tree_nodes *nodes;
    size_t room;
} side;

static locus_status reserve(side *to, size_t tokens, locus_error *error) {
    if (tokens > MOST_TOKENS)
        return fail_tokens(error);
    if (tokens <= to->room)
        return LOCUS_OK;
    size_t room = tokens + tokens / 2 + 1024;
    if (!lab_enlarge(to->tokens, room) || !lab_enlarge(&to->nodes->parents, room) ||
        !lab_enlarge(&to->nodes->branches, room))
        return lab_fail_memory(error, "the tokens of a data set");
    to->room = room;
    return LOCUS_OK;
}

static locus_status append(side *to, size_t sample, const lab_tree *tree, lab_order order, locus_error *error) {
    size_t start = (*to->offsets)[sample], end = start + tree->count;
    locus_status status = reserve(to, end, error);
    if (status == LOCUS_OK) {
        lab_tree_write(tree, order, *to->tokens + start, to->nodes->parents + start, to->nodes->branches + start);
        (*to->offsets)[sample + 1] = end;
    }
    return status;
}

static void workshop_close(workshop *shop) {
    lab_tree_destroy(&shop->input);
    lab_tree_destroy(&shop->target);
    lab_tree_destroy(&shop->part);
}

/* ⌊N(mean, deviation)⌋, at least 0. */
static size_t draw_depth(lab_draws *draws, const lab_tree_options *of) {
    const double depth = floor(of->depth_mean + of->depth_deviation * locus_random_normal(&draws->random, 0));
    draws->next = 1;
    return depth < 0.0 ? 0 : depth > LAB_TREE_MOST_DEPTH ? LAB_TREE_MOST_DEPTH : (size_t)depth;
}

static locus_status make_sample(workshop *shop, const rule *of, const lab_draw *draw, size_t sample,
                                locus_error *error) {
    shop->draws.random = (locus_random){draw->seed, LAB_PURPOSE_DATA + (uint32_t)draw->which, (uint32_t)sample};
    shop->depth = draw_depth(&shop->draws, LAB_TREES(draw->options));
    lab_tree_clear(&shop->input);
    lab_tree_clear(&shop->target);
    const locus_status status = draw_input(shop, of, error);
    return status == LOCUS_OK ? of->make(shop, error) : status;
}

static locus_status generate(lab_dataset *set, const lab_draw *draw, const rule *of, locus_error *error) {
    workshop shop = {.options = draw->options};
    side input = {&set->input_offsets, &set->input, &set->input_tree, 0};
    side target = {&set->target_offsets, &set->target, &set->target_tree, 0};
    locus_status status = check(draw, of->commands, error);
    if (status != LOCUS_OK)
        return status;
    set->samples = draw->samples;
    set->input_offsets = calloc(set->samples + 1, sizeof *set->input_offsets);
    set->target_offsets = calloc(set->samples + 1, sizeof *set->target_offsets);
    if (set->input_offsets == NULL || set->target_offsets == NULL)
        return lab_fail_memory(error, "the offsets of a data set");
    status = reserve(&input, 1, error);
    status = status == LOCUS_OK ? reserve(&target, 1, error) : status;
    for (size_t i = 0; status == LOCUS_OK && i < draw->samples; i++) {
        status = make_sample(&shop, of, draw, i, error);
        status = status == LOCUS_OK ? append(&input, i, &shop.input, LAB_ORDER_BREADTH, error) : status;
        status = status == LOCUS_OK ? append(&target, i, &shop.target, LAB_TREES(draw->options)->order, error) : status;
    }
    workshop_close(&shop);
    return status;
}

locus_status lab_tree_copy(lab_dataset *set, const lab_draw *draw, locus_error *error) {
    return generate(set, draw, &copy_rule, error);
}

locus_status lab_tree_reorder(lab_dataset *set, const lab_draw *draw, locus_error *error) {
    return generate(set, draw, &reorder_rule, error);
}

locus_status lab_tree_c3(lab_dataset *set, const lab_draw *draw, locus_error *error) {
    return generate(set, draw, &c3_rule, error);
}

locus_status lab_tree_ops(lab_dataset *set, const lab_draw *draw, locus_error *error) {
    return generate(set, draw, &ops_rule, error);
}

/* ---- an input as it is typed ---- */

static const rule *rule_of(const lab_task *task) {
    return task->generate == lab_tree_copy      ? &copy_rule
           : task->generate == lab_tree_reorder ? &reorder_rule
           : task->generate == lab_tree_c3      ? &c3_rule
                                                : &ops_rule;
}

static locus_status check_node(const workshop *shop, const rule *of, const lab_tree_node *node, locus_error *error) {
    const size_t leaves = leaves_of(of, shop->options), symbols = leaves + operators_of(of, shop->options);
    size_t children = 0;
    if (node->symbol < 1 || (size_t)node->symbol > symbols) {
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "input",
                        "%d is no symbol of a tree: leaves are 1 to %zu, operators %zu to %zu", (int)node->symbol,
                        leaves, leaves + 1, symbols);
    }
    for (int32_t child = node->first; child >= 0; child = shop->input.nodes[child].next)
        children++;
    const size_t wanted = (size_t)node->symbol > leaves ? LAB_TREES(shop->options)->arity : 0;
    return children == wanted
               ? LOCUS_OK
               : lab_fail(error, LOCUS_ERROR_ARGUMENT, "input",
                          "%d has %zu children, and the task's trees have %zu there: leaves are 1 to %zu, "
                          "operators %zu to %zu",
                          (int)node->symbol, children, wanted, leaves, leaves + 1, symbols);
}

/* (operation name tree). */
static locus_status check_command(const workshop *shop, locus_error *error) {
    const lab_tree_node *nodes = shop->input.nodes, *root = &nodes[0];
    bool seen[OPS_LEAVES + OPS_OPERATORS + 1] = {false}, twice = false;
    const bool good = root->symbol >= OPS_EXTRACT && root->symbol < OPS_EXTRACT + OPS_OPERATIONS && root->first >= 0 &&
                      nodes[root->first].first < 0 && nodes[root->first].next == root->last &&
                      root->last != root->first && named_node(&shop->input) != LAB_TREE_NONE;
    for (size_t i = 1; i < shop->input.count; i++) {
        const int32_t symbol = nodes[i].symbol;
        const bool counts = (int32_t)i != root->first && symbol > 0 && symbol <= OPS_LEAVES + OPS_OPERATORS;
        twice = twice || (counts && seen[symbol]);
        seen[counts ? symbol : 0] = true;
    }
    return good && !twice
               ? LOCUS_OK
               : lab_fail(error, LOCUS_ERROR_ARGUMENT, "input",
                          "give (operation name tree): an operation %d to %d, a leaf that names a node of the "
                          "tree, and a tree in which no symbol stands twice",
                          OPS_EXTRACT, OPS_EXTRACT + OPS_OPERATIONS - 1);
}

static locus_status check_typed(const workshop *shop, const rule *of, locus_error *error) {
    locus_status status = of->commands ? check_command(shop, error) : LOCUS_OK;
    for (size_t i = 0; status == LOCUS_OK && i < shop->input.count; i++) {
        const bool command = of->commands && (i == 0 || (int32_t)i == shop->input.nodes[0].first);
        status = command ? LOCUS_OK : check_node(shop, of, &shop->input.nodes[i], error);
    }
    return status;
}

static locus_status add_typed(lab_dataset *set, const workshop *shop, locus_error *error) {
    side input = {&set->input_offsets, &set->input, &set->input_tree, 0};
    side target = {&set->target_offsets, &set->target, &set->target_tree, 0};
    set->samples = 1;
    set->input_offsets = calloc(2, sizeof *set->input_offsets);
    set->target_offsets = calloc(2, sizeof *set->target_offsets);
    if (set->input_offsets == NULL || set->target_offsets == NULL)
        return lab_fail_memory(error, "an input");
    const locus_status status = append(&input, 0, &shop->input, LAB_ORDER_BREADTH, error);
    return status == LOCUS_OK ? append(&target, 0, &shop->target, LAB_TREES(shop->options)->order, error) : status;
}

locus_status lab_tree_typed(lab_dataset *set, const lab_task *task, const lab_task_options *options, const char *text,
                            locus_error *error) {
    const rule *of = rule_of(task);
    workshop shop = {.options = options};
    locus_error local;
    *set = (lab_dataset){0};
    locus_status status = lab_tree_parse(&shop.input, text, &local);
    if (status != LOCUS_OK)
        status =
            lab_fail(error, status == LOCUS_ERROR_SPEC ? LOCUS_ERROR_ARGUMENT : status, "input", "%s", local.message);
    if (status == LOCUS_OK)
        status = check_typed(&shop, of, error);
    if (status == LOCUS_OK)
        status = of->make(&shop, error);
    if (status == LOCUS_OK)
        status = add_typed(set, &shop, error);
    if (status != LOCUS_OK)
        lab_dataset_destroy(set);
    workshop_close(&shop);
    return status;
}
