/* SPDX-License-Identifier: MIT */
/* Trees: the tasks of Kogkalidis, Bernardy and Garg 2024, Table 2 (tree_task.c draws them). As words, but for their
 * options, the model of the small budgets, and scores by depth and by number of nodes. */
#include "kinds/class_parts.h"
#include "samples/portrait.h"
#include "samples/sample_lines.h"
#include "task/tree_random.h"
#include "task/tree_task.h"

#include <stdio.h>
#include <string.h>

/* ---- options ---- */

static const lab_option options[] = {
    LAB_ROW("symbols", SIZE, LAB_AT_KIND(lab_tree_options, symbols), LAB_NUMBER("symbols", "N", 1, 1e6),
            LAB_HELP("leaves and operators of copies and mirror images (20)"), .flags = LAB_OPTION_DATA),
    LAB_ROW("depth_mean", REAL, LAB_AT_KIND(lab_tree_options, depth_mean),
            LAB_NUMBER("depth", "MEAN", 0, LAB_TREE_MOST_DEPTH), LAB_HELP("mean depth (7 as published)"), .silent = "0",
            .flags = LAB_OPTION_DATA | LAB_OPTION_GENERATED, .instead_of = "length expression-depth"),
    LAB_ROW("depth_deviation", REAL, LAB_AT_KIND(lab_tree_options, depth_deviation),
            LAB_NUMBER("depth-deviation", "SD", 0, LAB_TREE_MOST_DEPTH), LAB_HELP("its standard deviation (1)"),
            .silent = "0", .flags = LAB_OPTION_DATA, .instead_of = "length-deviation"),
    LAB_ROW("order", NAMED, LAB_AT_KIND(lab_tree_options, order), LAB_CHOICE("order", "breadth|depth"),
            LAB_HELP("in which order the output is written"), .names = lab_order_names, .silent = "breadth",
            .flags = LAB_OPTION_DATA | LAB_OPTION_FREE),
    LAB_ROW("arity", SIZE, LAB_AT_KIND(lab_tree_options, arity), LAB_NUMBER("arity", "K", 1, LAB_TREE_MOST_ARITY),
            LAB_HELP("children of a node that is no leaf (2)"), .silent = "0", .flags = LAB_OPTION_DATA,
            .instead_of = "arguments"),
    LAB_ROW("tree_paths", NAMED, AT(model.tree_paths), LAB_CHOICE("tree-paths", "own|next|code"),
            LAB_HELP("tokens stand at their nodes' paths, or the next nodes' (code: but for added vectors)"),
            .names = lab_tree_paths_names, .silent = "own", .flags = LAB_OPTION_FREE | LAB_OPTION_REPRODUCED),
    LAB_ROW(NULL, LIST, LAB_OPTION_NOWHERE, LAB_WORD("test-depths", "D,D,…"),
            LAB_HELP("further test sets of these mean depths"), .instead_of = "test-lengths"),
    LAB_ROW(NULL, LIST, LAB_OPTION_NOWHERE, LAB_WORD("depths", "D,D,…"),
            LAB_HELP("sets of these mean depths instead of the trained one"), .flags = LAB_OPTION_SCORED,
            .instead_of = "lengths sides"),
};

static void set_mean(lab_task_options *of, size_t mean) {
    LAB_TREES(of)->depth_mean = (double)mean; /* the deviation stays */
}

static const lab_size_axis size = {"depth", "test-depths"};

static const lab_length_axis lengths = {
    .name = "depth",
    .option = "depths",
    .others = "mean depths",
    .label = "mean depth of the test trees",
    .caption = "Left: token accuracy, teacher-forced; right: whole outputs right by greedy decoding.",
    .most = LAB_TREE_MOST_DEPTH,
    .set = set_mean,
    .panels = {{"accuracy", "Test accuracy against the mean depth of the trees", "test accuracy, %"},
               {"greedy_exact", "Greedy exact matches against the mean depth of the trees", "greedy exact matches, %"}},
};

LAB_TOKENS(LAB_TREES(of)->symbols + 1) /* the start token */
LAB_READS(size_t, arity, LAB_TREES(of)->arity)
LAB_READS(const char *, variant, lab_order_name(LAB_TREES(of)->order))

/* ---- budgets ---- */

static void small(lab_train_config *config, const lab_budget_size *shrunk, double depth) {
    lab_budget_pairs(config);
    lab_budget_shrink(config, shrunk);
    config->epochs = 0;
    LAB_TREES(&config->data)->depth_mean = depth;
}

static void quick(lab_train_config *config) {
    const lab_budget_size shrunk = {LAB_SIZES(128, 4, 512, 0), LAB_SCORED(256, 1000, 128),
                                    LAB_STEPS(32, 1500, 50, 2e-3)};
    small(config, &shrunk, 5.0);
}

static void smoke(lab_train_config *config) {
    const lab_budget_size shrunk = {LAB_SIZES(64, 4, 256, 0), LAB_SCORED(128, 256, 128), LAB_STEPS(32, 600, 25, 2e-3)};
    small(config, &shrunk, 4.0);
}

static void as_code(lab_train_config *config) {
    lab_budget_tables_code(config);
    config->model.tree_paths = LAB_PATHS_CODE;
}

/* ---- words for tables and pages ---- */

static void describe(const struct cJSON *config, const char *task, lab_data_facts *facts) {
    const double mean = lab_said_number(config, "depth_mean"), children = lab_said_number(config, "arity");
    const char *order = lab_said_text(config, "order");      /* breadth is not written */
    const char *paths = lab_said_text(config, "tree_paths"); /* own is not written */
    char kind[64] = "binary trees";
    facts->order = order && strcmp(order, "depth") == 0 ? LAB_ORDER_DEPTH : LAB_ORDER_BREADTH;
    facts->variant = lab_order_name(facts->order);
    snprintf(facts->title, sizeof facts->title, "%.40s, %s first", task, lab_order_name(facts->order));
    snprintf(facts->note, sizeof facts->note, "%s",
             facts->order == LAB_ORDER_DEPTH ? "read level by level, written depth first"
                                             : "read and written level by level");
    facts->unpublished = children > 0 && children != 2;
    if (facts->unpublished)
        snprintf(kind, sizeof kind, "trees with %g children to a node,", children);
    if (mean > 0) {
        facts->mean_size = mean;
        snprintf(facts->data, sizeof facts->data, "%s of depth N(%g, %g), %g symbols%s", kind, mean,
                 lab_said_number(config, "depth_deviation"), lab_said_number(config, "symbols"),
                 !paths                       ? ""
                 : strcmp(paths, "next") == 0 ? ", paths of the next nodes"
                                              : ", paths as in the authors' code");
    }
}

static const lab_score_column columns[] = LAB_PAIR_COLUMNS("nodes, %");

/* ---- the class ---- */

#define TREE_TASK(task, says, count, made, arities) \
    { \
        .name = task, .summary = says, .class = &lab_trees_class, .generate = made, .children = arities, \
        .published = \
            &(const lab_tree_options){.depth_mean = 7.0, .depth_deviation = 1.0, .symbols = count, .arity = 2}, \
    }

extern const lab_task_class lab_trees_class;

static const lab_task tasks[] = {
    TREE_TASK("tree-copy", "tree → tree", LAB_TREE_COPY_SYMBOLS, lab_tree_copy, lab_tree_children_half),
    TREE_TASK("tree-reorder", "tree → its mirror image", LAB_TREE_COPY_SYMBOLS, lab_tree_reorder,
              lab_tree_children_half),
    TREE_TASK("tree-c3", "expression over the group C3 → one step of reduction", LAB_TREE_C3_SYMBOLS, lab_tree_c3,
              lab_tree_children_c3),
    TREE_TASK("tree-ops", "operation, name of a node, tree → what it makes of it", LAB_TREE_OPS_SYMBOLS, lab_tree_ops,
              lab_tree_children_ops),
};

const lab_task_class lab_trees_class = {
    .name = "trees",
    LAB_TASKS_AND_OPTIONS(lab_tree_options),
    .architecture = &lab_encoder_decoder,
    .compared = "table2",
    .size = &size,
    .lengths = &lengths,
    .vocabulary = vocabulary,
    .arity = arity,
    .variant = variant,
    .variant_field = "order",
    .decodes = true,
    .budgets = {smoke, quick, lab_budget_pairs},
    .as_code = as_code,
    .write = lab_samples_write,
    .portray = lab_portray_drawn,
    LAB_COLUMNS(columns),
    .token = "node",
    .sample = "tree",
    .source = "nodes",
    .describe = describe,
    .legend = "Shares in %: nodes right and whole trees right under teacher forcing, whole trees right by greedy "
              "decoding[sizes?;\n\"depth N\", \"greedy N\": nodes, and greedy, on trees of mean depth N.|.]",
    .page_legend =
        "<i>accuracy</i> and <i>exact</i> are teacher-forced; <i>greedy</i> is decoded token by token, along the tree "
        "that the emitted symbols build. <i>steps</i>: until 99 % accuracy on the development set. ",
    .model_samples = LAB_PAIR_SAMPLES,
    .curves = &lab_curves_by_steps,
    .bins = &lab_bins_of_trees,
    .turns = "along the order or down a branch",
    .speed_note = LAB_PAIR_SPEED_NOTE,
    .read_input = lab_tree_typed,
    .generate = "trees: give --input, or -n",
    .generate_options = "input n",
};
