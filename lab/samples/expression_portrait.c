/* SPDX-License-Identifier: MIT */
/* What is said of a set of expressions: lengths, depths, arguments, classes, chance and majority. */
#include "io/fail.h"
#include "io/json.h"
#include "samples/expression_lines.h"
#include "samples/portrait.h"
#include "task/listops/listops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DIGITS = 10, SHOWN_TEXT = 240 };

typedef struct spread {
    size_t least, most;
    double sum, squares;
} spread;

static void add(spread *of, size_t samples_before, size_t value) {
    of->least = samples_before == 0 || value < of->least ? value : of->least;
    of->most = value > of->most ? value : of->most;
    of->sum += (double)value;
    of->squares += (double)value * (double)value;
}

static double deviation(const spread *of, size_t n) {
    const double off = n > 1 ? (of->squares - of->sum * of->sum / (double)n) / (double)(n - 1) : 0;
    return off > 0 ? sqrt(off) : 0;
}

/* What is said of a set. Lengths are without the start token; a digit alone has depth 1. */
typedef struct look {
    const char *subject, *asked;
    const lab_dataset *set;
    size_t class_count, classes[DIGITS], majority;
    size_t operator_count, digit_count;
    spread length, depth, arguments;
} look;

/* `levels` and `arguments` (how many each operator has had) have room for the sample. */
static void look_at(look *at, const lab_expression *s, size_t index, size_t *levels, size_t *arguments) {
    size_t deepest = 0;
    levels[0] = arguments[0] = 0;
    for (size_t t = 1; t < s->count; t++) {
        const size_t parent = (size_t)s->parents[t];
        levels[t] = levels[parent] + (s->branches[t] > 0);
        deepest = levels[t] > deepest ? levels[t] : deepest;
        arguments[t] = 0;
        arguments[parent] += s->branches[t] > 0;
        if (s->tokens[t] == LAB_LISTOPS_END)
            add(&at->arguments, at->operator_count++, arguments[parent]);
        at->digit_count += s->tokens[t] >= LAB_LISTOPS_ZERO && s->tokens[t] < LAB_LISTOPS_MIN;
    }
    add(&at->length, index, s->count - 1);
    add(&at->depth, index, deepest + 1);
    at->classes[s->label]++;
}

static locus_status look_around(look *at, locus_error *error) {
    size_t longest = 0;
    for (size_t i = 0; i < at->set->samples; i++) {
        const lab_expression s = lab_expression_at(at->set, i);
        longest = s.count > longest ? s.count : longest;
    }
    size_t *levels = calloc(2 * (longest + 1), sizeof *levels);
    if (levels == NULL)
        return lab_fail_memory(error, "statistics");
    for (size_t i = 0; i < at->set->samples; i++) {
        const lab_expression s = lab_expression_at(at->set, i);
        look_at(at, &s, i, levels, levels + longest + 1);
    }
    free(levels);
    for (size_t c = 0; c < at->class_count; c++)
        at->majority = at->classes[c] > at->classes[at->majority] ? c : at->majority;
    return LOCUS_OK;
}

static void add_spread(cJSON *root, const char *name, const spread *of, size_t n) {
    cJSON *object = cJSON_AddObjectToObject(root, name);
    cJSON_AddNumberToObject(object, "least", (double)of->least);
    cJSON_AddNumberToObject(object, "most", (double)of->most);
    cJSON_AddNumberToObject(object, "mean", n > 0 ? of->sum / (double)n : 0);
    cJSON_AddNumberToObject(object, "deviation", deviation(of, n));
}

static double share_of(const look *at, size_t class) {
    return (double)at->classes[class] / (double)at->set->samples;
}

static void fill_json(cJSON *root, const look *at) {
    cJSON_AddStringToObject(root, "subject", at->subject);
    cJSON_AddStringToObject(root, "target", at->asked);
    cJSON_AddNumberToObject(root, "samples", (double)at->set->samples);
    add_spread(root, "length", &at->length, at->set->samples);
    add_spread(root, "depth", &at->depth, at->set->samples);
    add_spread(root, "arguments", &at->arguments, at->operator_count);
    cJSON_AddNumberToObject(root, "operators", (double)at->operator_count);
    cJSON_AddNumberToObject(root, "digits", (double)at->digit_count);
    cJSON_AddNumberToObject(root, "vocabulary", LAB_LISTOPS_TOKENS);
    cJSON *classes = cJSON_AddArrayToObject(root, "classes");
    for (size_t c = 0; c < at->class_count; c++)
        lab_json_put(classes, NULL, cJSON_CreateNumber((double)at->classes[c]));
    cJSON_AddNumberToObject(root, "chance", 1.0 / (double)at->class_count);
    cJSON_AddNumberToObject(root, "majority", share_of(at, at->majority));
}

static void say_spread(lab_portrait *to, const char *name, const spread *of, size_t n) {
    lab_shown_say(&to->shown, "%-10s %zu … %zu, mean %.2f, deviation %.2f\n", name, of->least, of->most,
                  n > 0 ? of->sum / (double)n : 0, deviation(of, n));
}

static void add_classes(lab_portrait *to, const look *at) {
    static const char *const heads[] = {">class", ">samples", ">share|%"};
    lab_table *table = lab_table_create(heads, 3);
    for (size_t c = 0; c < at->class_count; c++) {
        lab_table_number(table, (double)c, "%zu", c);
        lab_table_number(table, (double)at->classes[c], "%zu", at->classes[c]);
        lab_table_number(table, 100 * share_of(at, c), "%.2f %%", 100 * share_of(at, c));
    }
    lab_shown_add(&to->shown, table, false);
}

static locus_status say_all(lab_portrait *to, const look *at, size_t shown, locus_error *error) {
    lab_shown_say(&to->shown, "%s: %zu samples, %s\n", at->subject, at->set->samples, at->asked);
    say_spread(to, "length", &at->length, at->set->samples);
    say_spread(to, "depth", &at->depth, at->set->samples);
    say_spread(to, "arguments", &at->arguments, at->operator_count);
    lab_shown_say(&to->shown, "%-10s %zu operators and %zu digits, vocabulary %d (with start token)\n\n", "tokens",
                  at->operator_count, at->digit_count, LAB_LISTOPS_TOKENS);
    add_classes(to, at);
    lab_shown_say(&to->shown, "\n%-10s %.2f %%, one of %zu classes\n", "chance", 100.0 / (double)at->class_count,
                  at->class_count);
    lab_shown_say(&to->shown, "%-10s %.2f %% of samples are of the most common class, %zu\n", "majority",
                  100 * share_of(at, at->majority), at->majority);
    for (size_t i = 0; i < shown && i < at->set->samples; i++) {
        const lab_expression s = lab_expression_at(at->set, i);
        char *text = lab_listops_string(s.count, s.tokens, s.parents, s.branches);
        if (text == NULL)
            return lab_fail_memory(error, "an expression's text");
        lab_shown_say(&to->shown, "\ninput  %.*s%s\ntarget %d\n", SHOWN_TEXT, text,
                      strlen(text) > SHOWN_TEXT ? " …" : "", (int)s.label);
        free(text);
    }
    return LOCUS_OK;
}

static locus_status portray_set(lab_portrait *to, const lab_portrait_request *request, const lab_dataset *set,
                                locus_error *error) {
    const bool parity = LAB_EXPRESSIONS(request->draw.options)->asked == LAB_ASKED_PARITY;
    look at = {
        .subject = request->name, .asked = parity ? "parity" : "digit", .set = set, .class_count = parity ? 2 : DIGITS};
    const locus_status status = look_around(&at, error);
    if (status != LOCUS_OK)
        return status;
    fill_json(to->json, &at);
    return say_all(to, &at, request->shown, error);
}

locus_status lab_portray_expressions(lab_portrait *to, const lab_portrait_request *request, locus_error *error) {
    const lab_draw *draw = &request->draw;
    lab_dataset set = {0};
    locus_status status = request->file != NULL ? lab_expressions_read(&set, draw->task, request->file,
                                                                       LAB_EXPRESSIONS(draw->options)->asked, error)
                                                : lab_dataset_generate(&set, draw, error);
    if (status == LOCUS_OK)
        status = portray_set(to, request, &set, error);
    lab_dataset_destroy(&set);
    return status;
}
