/* SPDX-License-Identifier: MIT */
/* Pairs of one's own (task/own/pairs.h), sequences or trees, for the encoder–decoder of words and trees. */
#include "kinds/class_parts.h"
#include "samples/portrait.h"
#include "task/own/own_text.h"
#include "task/own/pairs.h"

#include <stdio.h>
#include <string.h>

/* ---- options ---- */

static const lab_option options[] = {
    {.field = "symbols", .type = LAB_OPTION_SIZE, .offset = LAB_AT_KIND(lab_pair_options, symbols)},
    LAB_ROW("order", NAMED, LAB_AT_KIND(lab_pair_options, order), .names = lab_order_names, .silent = "breadth"),
    LAB_ROW("arity", SIZE, LAB_AT_KIND(lab_pair_options, arity), .silent = "0"),
    LAB_ROW("tree_paths", NAMED, AT(model.tree_paths), LAB_CHOICE("tree-paths", "own|next|code"),
            LAB_HELP("tokens stand at their nodes' paths, or the next nodes' (code: but for added vectors)"),
            .names = lab_tree_paths_names, .silent = "own", .flags = LAB_OPTION_FREE),
    LAB_ROW("digest", SEED, AT(data.digest), .silent = "0"),
    LAB_ROW("tokens", NAMED, LAB_AT_KIND(lab_pair_options, tokens), LAB_CHOICE("tokens", "words|characters|bytes"),
            LAB_HELP("what texts are cut into"), .names = lab_token_names, .silent = "words",
            .flags = LAB_OPTION_LATER | LAB_OPTION_FREE | LAB_OPTION_DATA),
    LAB_OWN_ROWS("a file, .jsonl", LAB_OPTION_GENERATED),
    LAB_OWN_LENGTH_ROWS,
};

static const lab_length_axis lengths = {
    LAB_OWN_LENGTHS("Left: token accuracy, teacher-forced; right: whole outputs right by greedy decoding."),
    .panels = {{"accuracy", "Test accuracy against the length of the inputs", "test accuracy, %"},
               {"greedy_exact", "Greedy exact matches against the length of the inputs", "greedy exact matches, %"}},
};

LAB_TOKENS(LAB_PAIRS(of)->symbols)
LAB_READS(size_t, arity, LAB_PAIRS(of)->arity)
LAB_READS(const char *, variant, LAB_PAIRS(of)->arity > 0 ? lab_order_name(LAB_PAIRS(of)->order) : "")

/* What does not grow is not decoded. */
static locus_status look(lab_train_config *config, locus_error *error) {
    lab_pair_facts facts;
    const locus_status status = lab_pairs_look(&config->data, config->data_seed, &facts, error);
    if (status != LOCUS_OK)
        return status;
    LAB_PAIRS(&config->data)->symbols = facts.vocabulary;
    LAB_PAIRS(&config->data)->arity = facts.arity;
    LAB_PAIRS(&config->data)->order = facts.order;
    config->data.digest = facts.digest;
    config->data.trained = facts.trained;
    LAB_PAIRS(&config->data)->tokens = facts.ids ? LAB_TOKENS_IDS : LAB_PAIRS(&config->data)->tokens;
    if (facts.stuck != NULL)
        config->greedy_samples = 0;
    lab_own_cap(config, facts.samples);
    return LOCUS_OK;
}

static bool tell(const lab_train_config *config, char *text, size_t room) {
    lab_pair_facts facts;
    if (config->data.path == NULL || lab_pairs_look(&config->data, config->data_seed, &facts, NULL) != LOCUS_OK)
        return false;
    const bool shares = lab_own_tell(facts.samples, facts.shared, text, room);
    const size_t used = shares ? strlen(text) : 0;
    if (facts.stuck != NULL)
        snprintf(text + used, room - used, "%snothing is decoded: %s", shares ? "; " : "", facts.stuck);
    return shares || facts.stuck != NULL;
}

static locus_status read_input(lab_dataset *set, const lab_task *task, const lab_task_options *of, const char *text,
                               locus_error *error) {
    (void)task;
    return lab_pairs_typed(set, of, text, error);
}

/* ---- budgets ---- */

/* Whatever there is of samples. */
static void paper(lab_train_config *config) {
    lab_budget_pairs(config);
    config->train_samples = config->dev_samples = config->test_samples = 0;
    config->epochs = 0;
    config->steps = 20000;
    config->evaluate_every = 500;
}

LAB_SMALLER(quick, LAB_SIZES(128, 4, 512, 0), LAB_SCORED(0, 0, 128), LAB_STEPS(32, 3000, 100, 2e-3))
LAB_SMALLER(smoke, LAB_SIZES(64, 4, 256, 0), LAB_SCORED(0, 0, 128), LAB_STEPS(32, 1500, 50, 2e-3))

/* ---- words for tables and pages ---- */

static void describe(const struct cJSON *config, const char *task, lab_data_facts *facts) {
    const char *tokens = lab_said_text(config, "tokens"); /* words are not written */
    const char *order = lab_said_text(config, "order");   /* nor is breadth */
    const bool trees = lab_said_number(config, "arity") > 0;
    if (trees) {
        facts->order = order && strcmp(order, "depth") == 0 ? LAB_ORDER_DEPTH : LAB_ORDER_BREADTH;
        facts->variant = lab_order_name(facts->order);
        snprintf(facts->title, sizeof facts->title, "%.40s, %s first", task, lab_order_name(facts->order));
    }
    facts->unpublished = true;
    facts->mean_size = lab_said_number(config, "longest_input");
    if (lab_said_number(config, "symbols") > 0) {
        snprintf(facts->data, sizeof facts->data, "%g training pairs of own %s, a vocabulary of %g (%s)",
                 lab_said_number(config, "train_samples"), trees ? "trees" : "data", lab_said_number(config, "symbols"),
                 tokens ? tokens : "words");
    }
}

static const lab_score_column columns[] = LAB_PAIR_COLUMNS("tokens, %");

/* ---- the class ---- */

extern const lab_task_class lab_pairs_class;

static const lab_task tasks[] = {{
    .name = "pairs",
    .summary = "sequences or trees of your own → others",
    .class = &lab_pairs_class,
    .generate = lab_pairs_generate,
}};

const lab_task_class lab_pairs_class = {
    .name = "own pairs",
    LAB_TASKS_AND_OPTIONS(lab_pair_options),
    .architecture = &lab_encoder_decoder,
    .lengths = &lengths,
    .vocabulary = vocabulary,
    .arity = arity,
    .variant = variant,
    .variant_field = "order",
    .decodes = true,
    .looks_ahead = true,
    .budgets = {smoke, quick, paper},
    .as_code = lab_budget_tables_code,
    .read_input = read_input,
    .makes = LAB_MAKES_NOTHING,
    .portray = lab_portray_own_pairs,
    LAB_COLUMNS(columns),
    .token = "token",
    .sample = "output",
    .source = "tokens",
    .describe = describe,
    LAB_OWN_DATA,
    .keep = lab_pairs_keep,
    .legend = "Shares in %: tokens right and whole outputs right under teacher forcing, whole outputs right by greedy "
              "decoding.",
    .page_legend = LAB_PAIR_PAGE_LEGEND,
    .curves = &lab_curves_by_steps,
    .bins = &lab_bins_of_trees,
    .turns = "along the order or down a branch",
    .speed_note = LAB_PAIR_SPEED_NOTE,
    .generate = "own pairs: give --input, or --test and -n",
    .generate_options = "input n",
};
