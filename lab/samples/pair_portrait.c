/* SPDX-License-Identifier: MIT */
/* A word has an end token, which counts in its chance rate; trees and problems have none. */
#include "samples/portrait.h"

#include "io/fail.h"
#include "task/own/pairs.h"
#include "task/problem.h"
#include "task/set_text.h"
#include "task/symbol_tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_SHOWN 240 /* bytes of a text */
#define MOST_WORD 40   /* symbols */

typedef struct spread {
    size_t least, most;
    double mean, deviation;
} spread;

static spread measure(const size_t *values, size_t count) {
    spread found = {SIZE_MAX, 0, 0, 0};
    double squares = 0;
    for (size_t i = 0; i < count; i++) {
        found.least = values[i] < found.least ? values[i] : found.least;
        found.most = values[i] > found.most ? values[i] : found.most;
        found.mean += (double)values[i];
    }
    found.mean /= (double)count;
    for (size_t i = 0; i < count; i++) {
        double off = (double)values[i] - found.mean;
        squares += off * off;
    }
    found.deviation = count > 1 ? sqrt(squares / (double)(count - 1)) : 0;
    return found;
}

/* One side of a set: inputs or targets. */
typedef struct side {
    const char *name;
    const size_t *offsets;
    const int32_t *tokens;
    const lab_tree_nodes *nodes; /* parents NULL: words */
    spread length, depth;
} side;

static locus_status measure_side(side *row, size_t samples, locus_error *error) {
    size_t *values = calloc(samples + 1, sizeof *values);
    lab_tree tree = {0};
    locus_status status = LOCUS_OK;
    if (values == NULL)
        return lab_fail_memory(error, "statistics");
    for (size_t i = 0; i < samples; i++)
        values[i] = row->offsets[i + 1] - row->offsets[i];
    row->length = measure(values, samples);
    for (size_t i = 0; row->nodes->parents != NULL && status == LOCUS_OK && i < samples; i++) {
        size_t start = row->offsets[i];
        status = lab_tree_from_parents(&tree, values[i], row->tokens + start, row->nodes->parents + start,
                                       row->nodes->branches + start, error);
        values[i] = lab_tree_depth(&tree);
    }
    row->depth = measure(values, samples);
    lab_tree_destroy(&tree);
    free(values);
    return status;
}

static size_t largest(const int32_t *ids, size_t count) {
    int32_t most = 0;
    for (size_t i = 0; i < count; i++)
        most = ids[i] > most ? ids[i] : most;
    return (size_t)most;
}

/* Distinct symbols among inputs and targets. */
static locus_status count_kinds(const lab_dataset *set, size_t most, size_t *found, locus_error *error) {
    bool *seen = calloc(most + 1, sizeof *seen);
    if (seen == NULL)
        return lab_fail_memory(error, "statistics");
    *found = 0;
    for (size_t i = 0; i < set->input_offsets[set->samples]; i++) {
        *found += !seen[set->input[i]];
        seen[set->input[i]] = true;
    }
    for (size_t i = 0; i < set->target_offsets[set->samples]; i++) {
        *found += !seen[set->target[i]];
        seen[set->target[i]] = true;
    }
    free(seen);
    return LOCUS_OK;
}

typedef enum form { WORDS, TREES, PROBLEMS } form;

/* What is said of a set. */
typedef struct portrait {
    const lab_portrait_request *of;
    const lab_dataset *set;
    const lab_pair_facts *own;
    form form;
    side sides[2];
    size_t kinds, vocabulary, sequence; /* sequence: its length, where a task has several problems in one; else 0 */
    double chance;
} portrait;

static size_t count_vocabulary(const portrait *of, size_t largest_seen) {
    const size_t all = of->of->draw.options != NULL ? lab_task_vocabulary(of->of->draw.task, of->of->draw.options) : 0;
    if (of->form == PROBLEMS)
        return all > largest_seen ? all : largest_seen + 1;
    return of->of->draw.options != NULL ? all : largest_seen + (of->form == TREES ? 1 : 2);
}

static locus_status take_portrait(portrait *of, locus_error *error) {
    const lab_dataset *set = of->set;
    const lab_draw *drawn = &of->of->draw;
    size_t most = largest(set->input, set->input_offsets[set->samples]);
    size_t other = largest(set->target, set->target_offsets[set->samples]);
    most = other > most ? other : most;
    of->form = drawn->task != NULL && drawn->task->characters != NULL ? PROBLEMS
               : set->input_tree.parents != NULL                      ? TREES
                                                                      : WORDS;
    of->vocabulary = count_vocabulary(of, most);
    of->chance =
        of->form == PROBLEMS ? lab_dataset_common(set, of->vocabulary, 0) : lab_dataset_chance(set, of->vocabulary);
    of->sides[0] =
        (side){.name = "input", .offsets = set->input_offsets, .tokens = set->input, .nodes = &set->input_tree};
    of->sides[1] =
        (side){.name = "target", .offsets = set->target_offsets, .tokens = set->target, .nodes = &set->target_tree};
    if (of->form == PROBLEMS && drawn->options != NULL && set->input_offsets[set->samples] > 0)
        of->sequence = LAB_PROBLEMS(drawn->options)->sequence;
    locus_status status = count_kinds(set, most, &of->kinds, error);
    status = status == LOCUS_OK ? measure_side(&of->sides[0], set->samples, error) : status;
    return status == LOCUS_OK ? measure_side(&of->sides[1], set->samples, error) : status;
}

static void add_spread(cJSON *root, const char *side_name, const char *what, const spread *found) {
    char name[32];
    snprintf(name, sizeof name, "%s_%s", side_name, what);
    cJSON *object = cJSON_AddObjectToObject(root, name);
    cJSON_AddNumberToObject(object, "least", (double)found->least);
    cJSON_AddNumberToObject(object, "most", (double)found->most);
    cJSON_AddNumberToObject(object, "mean", found->mean);
    cJSON_AddNumberToObject(object, "deviation", found->deviation);
}

static const char *const set_names[] = {"train", "dev", "test"};

static void add_sets(cJSON *root, const lab_pair_facts *facts) {
    for (size_t s = 0; s < 3; s++) {
        cJSON *set = cJSON_AddObjectToObject(root, set_names[s]);
        cJSON_AddNumberToObject(set, "samples", (double)facts->samples[s]);
        cJSON_AddNumberToObject(set, "in_training_set", (double)facts->shared[s]);
        cJSON_AddNumberToObject(set, "unknown_tokens", (double)facts->unknown[s]);
    }
    cJSON_AddBoolToObject(root, "decodes", facts->stuck == NULL);
}

static void fill_json(cJSON *root, const portrait *of) {
    cJSON_AddStringToObject(root, "subject", of->of->name);
    cJSON_AddNumberToObject(root, "samples", (double)of->set->samples);
    for (size_t i = 0; i < 2; i++) {
        add_spread(root, of->sides[i].name, "length", &of->sides[i].length);
        if (of->form == TREES)
            add_spread(root, of->sides[i].name, "depth", &of->sides[i].depth);
    }
    cJSON_AddNumberToObject(root, "symbols_seen", (double)of->kinds);
    cJSON_AddNumberToObject(root, "vocabulary", (double)of->vocabulary);
    cJSON_AddNumberToObject(root, "chance", of->chance);
    if (of->own != NULL)
        add_sets(root, of->own);
}

static void say_spread(lab_portrait *to, const char *label, const char *what, const spread *found) {
    lab_shown_say(&to->shown, "%-8s %s %zu … %zu, mean %.2f, deviation %.2f\n", label, what, found->least, found->most,
                  found->mean, found->deviation);
}

/* A word's first symbols, or a tree's first characters. */
static locus_status say_text(lab_portrait *to, const portrait *of, const side *row, size_t sample, locus_error *error) {
    const size_t start = row->offsets[sample], all = row->offsets[sample + 1] - start;
    const bool tree = row->nodes->parents != NULL;
    const size_t count = tree || all < MOST_WORD ? all : MOST_WORD;
    const lab_tree_nodes nodes = {tree ? row->nodes->parents + start : NULL,
                                  tree ? row->nodes->branches + start : NULL};
    char *text = lab_set_text(of->set, row->tokens + start, &nodes, count, error);
    if (text == NULL)
        return error != NULL ? error->status : LOCUS_ERROR_MEMORY;
    lab_shown_say(&to->shown, " %.*s%s\n", tree ? MOST_SHOWN : (int)strlen(text), text,
                  count < all || (tree && strlen(text) > MOST_SHOWN) ? " …" : "");
    free(text);
    return LOCUS_OK;
}

static void say_characters(lab_portrait *to, const lab_task *task, const side *row, size_t sample) {
    size_t start = row->offsets[sample], count = row->offsets[sample + 1] - start;
    char text[MOST_SHOWN + 1];
    lab_problem_decode(task, row->tokens + start, count < MOST_SHOWN ? count : MOST_SHOWN, text);
    lab_shown_say(&to->shown, " %s%s\n", text, count > MOST_SHOWN ? " …" : "");
}

/* Of sequences without prompt there is one side. */
static bool has_inputs(const portrait *of) {
    return of->form != PROBLEMS || of->sides[0].length.most > 0;
}

static locus_status say_sample(lab_portrait *to, const portrait *of, size_t sample, locus_error *error) {
    locus_status status = LOCUS_OK;
    lab_shown_say(&to->shown, "\n");
    for (size_t i = has_inputs(of) ? 0 : 1; status == LOCUS_OK && i < 2; i++) {
        lab_shown_say(&to->shown, "%-6s", of->sides[i].name);
        if (of->form == PROBLEMS)
            say_characters(to, of->of->draw.task, &of->sides[i], sample);
        else
            status = say_text(to, of, &of->sides[i], sample, error);
    }
    return status;
}

static const struct {
    const char *length, *symbols, *with, *tokens, *counting;
} form_words[] = {
    [WORDS] = {"length", "symbols", " (with start and end token)", "tokens", " (the end token counts)"},
    [TREES] = {"nodes", "symbols", " (with start token)", "tokens", ""},
    [PROBLEMS] = {"length", "characters", "", "characters", ""},
};

static void put_spread(lab_table *table, const char *name, const char *what, const spread *found) {
    lab_table_cell(table, "%s", name);
    lab_table_cell(table, "%s", what);
    lab_table_number(table, (double)found->least, "%zu", found->least);
    lab_table_number(table, (double)found->most, "%zu", found->most);
    lab_table_number(table, found->mean, "%.2f", found->mean);
    lab_table_number(table, found->deviation, "%.2f", found->deviation);
}

/* What of it is a table: the terminal has it in sentences. */
static void add_table(lab_portrait *to, const portrait *of) {
    static const char *const heads[] = {"side", "of", ">least", ">most", ">mean", ">deviation"};
    lab_table *table = lab_table_create(heads, 6);
    lab_table_title(table, "%s", of->of->name);
    for (size_t i = has_inputs(of) ? 0 : 1; i < 2; i++) {
        put_spread(table, of->sides[i].name, form_words[of->form].length, &of->sides[i].length);
        if (of->form == TREES)
            put_spread(table, of->sides[i].name, "depth", &of->sides[i].depth);
    }
    lab_shown_add(&to->shown, table, true);
}

/* Of own pairs: the sets, what they share, what the vocabulary lacks. */
static void say_sets(lab_portrait *to, const lab_pair_facts *facts) {
    lab_shown_say(&to->shown, "%-8s %zu training, %zu development and %zu test samples\n", "sets", facts->samples[0],
                  facts->samples[1], facts->samples[2]);
    for (size_t s = 1; s < 3; s++) {
        if (facts->shared[s] > 0)
            lab_shown_say(&to->shown, "%-8s %zu of the %zu %s samples stand in the training set, too\n", "",
                          facts->shared[s], facts->samples[s], set_names[s]);
        if (facts->unknown[s] > 0)
            lab_shown_say(&to->shown, "%-8s %zu tokens of the %s set are not in the training set\n", "",
                          facts->unknown[s], set_names[s]);
    }
    if (facts->stuck != NULL)
        lab_shown_say(&to->shown, "%-8s nothing is decoded: %s\n", "", facts->stuck);
}

static locus_status say_all(lab_portrait *to, const portrait *of, locus_error *error) {
    locus_status status = LOCUS_OK;
    const size_t samples = of->set->samples;
    lab_shown_say(&to->shown, "%s: %zu samples\n", of->of->name, samples);
    if (of->own != NULL)
        say_sets(to, of->own);
    for (size_t i = has_inputs(of) ? 0 : 1; i < 2; i++) {
        say_spread(to, of->sides[i].name, form_words[of->form].length, &of->sides[i].length);
        if (of->form == TREES)
            say_spread(to, "", "depth", &of->sides[i].depth);
    }
    if (of->sequence > 0) {
        lab_shown_say(&to->shown, "%-8s %zu characters, %.1f problems on the average\n", "sequence", of->sequence,
                      (double)of->sequence / (of->sides[0].length.mean + of->sides[1].length.mean));
    }
    lab_shown_say(&to->shown, "%-8s %zu %s seen, vocabulary %zu%s\n", "symbols", of->kinds,
                  form_words[of->form].symbols, of->vocabulary, form_words[of->form].with);
    lab_shown_say(&to->shown, "%-8s %.2f %% of target %s%s are the most common one\n", "chance", 100 * of->chance,
                  form_words[of->form].tokens, form_words[of->form].counting);
    for (size_t s = 0; status == LOCUS_OK && s < of->of->shown && s < samples; s++)
        status = say_sample(to, of, s, error);
    return status;
}

locus_status lab_portray_pairs(lab_portrait *to, const lab_portrait_request *request, const lab_dataset *set,
                               const lab_pair_facts *own, locus_error *error) {
    portrait of = {.of = request, .set = set, .own = own};
    const locus_status status = take_portrait(&of, error);
    if (status != LOCUS_OK)
        return status;
    fill_json(to->json, &of);
    add_table(to, &of);
    return say_all(to, &of, error);
}

locus_status lab_portray_drawn(lab_portrait *to, const lab_portrait_request *request, locus_error *error) {
    lab_dataset set;
    locus_status status = lab_dataset_generate(&set, &request->draw, error);
    if (status != LOCUS_OK)
        return status;
    status = lab_portray_pairs(to, request, &set, NULL, error);
    lab_dataset_destroy(&set);
    return status;
}

locus_status lab_portray_own_pairs(lab_portrait *to, const lab_portrait_request *request, locus_error *error) {
    lab_task_options options = *request->draw.options;
    lab_portrait_request filled = *request;
    lab_pair_facts facts;
    lab_dataset set;
    locus_status status = lab_pairs_look(&options, request->draw.seed, &facts, error);
    if (status == LOCUS_OK)
        status = lab_dataset_generate(&set, &request->draw, error);
    if (status != LOCUS_OK)
        return status;
    LAB_PAIRS(&options)->symbols = facts.vocabulary;
    filled.draw.options = &options;
    status = lab_portray_pairs(to, &filled, &set, &facts, error);
    lab_dataset_destroy(&set);
    return status;
}
