/* SPDX-License-Identifier: MIT */
/* The task `listops`: expressions that are drawn (listops_draw.c) or read (listops_tsv.c), and their classes. Samples
 * are drawn in two passes, since their places are known only when all lengths are: shapes, then tokens. */
#include "task/listops/listops.h"

#include "io/fail.h"

#include <locus/parallel.h>
#include <stdlib.h>

#define MOST_TOKENS ((size_t)1 << 28) /* of a set: 3 GiB with its nodes */

enum { SAMPLES_OF_A_TASK = 16 };

const char *const lab_asked_names[] = {"digit", "parity", NULL};

const lab_listops_preset lab_listops_presets[LAB_LISTOPS_PRESETS] = {
    {"seed", 7, 7, 250, 1000, {56000, 2000, 2000}},
    {"lra", 10, 10, 500, 2000, {96000, 2000, 2000}},
};

void lab_listops_preset_apply(const lab_listops_preset *preset, lab_task_options *options) {
    LAB_EXPRESSIONS(options)->depth = preset->depth;
    LAB_EXPRESSIONS(options)->arguments = preset->arguments;
    LAB_EXPRESSIONS(options)->shortest = preset->shortest;
    LAB_EXPRESSIONS(options)->longest = preset->longest;
}

/* ---- checks ---- */

/* The longest expression whose digits stand at depth `depth` at most, cut to `most`. */
static size_t longest_possible(size_t depth, size_t arguments, size_t most) {
    size_t length = 1;
    while (--depth > 0 && length < most)
        length = 2 + arguments * length;
    return length < most ? length : most;
}

/* An expression has one token, or four and more. */
static locus_status check_bounds(const lab_expression_options *of, locus_error *error) {
    const size_t largest = longest_possible(of->depth, of->arguments, of->longest);
    const size_t first = of->shortest < 1 ? 1 : of->shortest < 4 ? 4 : of->shortest + 1;
    if (first < of->longest && first <= largest)
        return LOCUS_OK;
    if (of->longest < 2 || of->shortest >= of->longest - 1) {
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "longest", "no length lies between %zu and %zu, both excluded",
                        of->shortest, of->longest);
    }
    return lab_fail(error, LOCUS_ERROR_ARGUMENT, first < of->longest ? "shortest" : "longest",
                    "no expression of depth %zu with up to %zu arguments has a length between %zu and %zu, both "
                    "excluded: the shortest have 1 and 4, the longest %s%zu",
                    of->depth, of->arguments, of->shortest, of->longest, largest >= of->longest ? "at least " : "",
                    largest);
}

static locus_status check(const lab_task_options *options, locus_error *error) {
    const lab_expression_options *of = LAB_EXPRESSIONS(options);
    if (of->arguments < 2 || of->arguments > LAB_LISTOPS_MOST_ARGUMENTS) {
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "arguments", "%zu arguments: an operator has up to 2 … %d",
                        of->arguments, LAB_LISTOPS_MOST_ARGUMENTS);
    }
    if (options->path != NULL)
        return LOCUS_OK;
    if (of->depth < 1 || of->depth > LAB_LISTOPS_MOST_DEPTH) {
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "expression-depth", "expressions of depth %zu: there are 1 … %d",
                        of->depth, LAB_LISTOPS_MOST_DEPTH);
    }
    if (of->longest > LAB_LISTOPS_MOST_LENGTH) {
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "longest", "lengths below %zu: at most %d tokens", of->longest,
                        LAB_LISTOPS_MOST_LENGTH);
    }
    return check_bounds(of, error);
}

/* ---- drawing ---- */

typedef struct drawing {
    const lab_draw *draw;
    lab_dataset *set;
    const lab_expression_options *sizes;
    lab_listops_shape *shapes; /* [samples] */
} drawing;

static size_t last_of(const drawing *d, size_t task) {
    const size_t end = (task + 1) * SAMPLES_OF_A_TASK;
    return end < d->draw->samples ? end : d->draw->samples;
}

static void draw_task(void *context, size_t task, size_t worker) {
    (void)worker;
    drawing *d = context;
    for (size_t i = task * SAMPLES_OF_A_TASK; i < last_of(d, task); i++)
        d->shapes[i] = lab_listops_shape_draw(d->sizes, d->draw->seed, d->draw->which, (uint32_t)i);
}

static void fill_task(void *context, size_t task, size_t worker) {
    (void)worker;
    drawing *d = context;
    lab_listops_frame frames[LAB_LISTOPS_MOST_DEPTH];
    const bool parity = LAB_EXPRESSIONS(d->draw->options)->asked == LAB_ASKED_PARITY;
    for (size_t i = task * SAMPLES_OF_A_TASK; i < last_of(d, task); i++) {
        const size_t start = d->set->input_offsets[i], n = d->shapes[i].length + 1;
        int32_t *tokens = d->set->input + start;
        lab_listops_shape_fill(d->sizes, &d->shapes[i], d->draw->seed, d->draw->which, (uint32_t)i, tokens);
        const lab_listops_findings found = lab_listops_walk(n, tokens, d->set->input_tree.parents + start,
                                                            d->set->input_tree.branches + start, frames);
        d->set->labels[i] = parity ? found.value % 2 : found.value;
    }
}

static size_t tasks_of(const drawing *d) {
    return (d->draw->samples + SAMPLES_OF_A_TASK - 1) / SAMPLES_OF_A_TASK;
}

static locus_status fail_rare(const drawing *d, const lab_listops_shape *shape, locus_error *error) {
    return lab_fail(
        error, LOCUS_ERROR_ARGUMENT, "longest",
        "none of %.3g million random expressions of depth %zu with up to %zu arguments had a length between "
        "%zu and %zu, both excluded: give wider bounds",
        (double)shape->trees / 1e6, d->sizes->depth, d->sizes->arguments, d->sizes->shortest, d->sizes->longest);
}

/* The first sample is tried alone: bounds that hardly anything meets show at once. */
static locus_status draw_shapes(drawing *d, locus_error *error) {
    const lab_listops_shape first = lab_listops_shape_draw(d->sizes, d->draw->seed, d->draw->which, 0);
    size_t *offsets = d->set->input_offsets;
    if (first.length == 0)
        return fail_rare(d, &first, error);
    locus_parallel_for(tasks_of(d), draw_task, d);
    for (size_t i = 0; i < d->draw->samples; i++) {
        if (d->shapes[i].length == 0)
            return fail_rare(d, &d->shapes[i], error);
        offsets[i + 1] = offsets[i] + d->shapes[i].length + 1;
        if (offsets[i + 1] > MOST_TOKENS) {
            return lab_fail(error, LOCUS_ERROR_ARGUMENT, "n", "the set has more than %zu tokens: give fewer samples",
                            MOST_TOKENS);
        }
    }
    return LOCUS_OK;
}

static locus_status draw_set(drawing *d, locus_error *error) {
    lab_dataset *set = d->set;
    set->samples = d->draw->samples;
    set->input_offsets = calloc(set->samples + 1, sizeof *set->input_offsets);
    set->labels = calloc(set->samples + 1, sizeof *set->labels);
    d->shapes = calloc(set->samples + 1, sizeof *d->shapes);
    if (set->input_offsets == NULL || set->labels == NULL || d->shapes == NULL)
        return lab_fail_memory(error, "a data set");
    const locus_status status = draw_shapes(d, error);
    if (status != LOCUS_OK)
        return status;
    const size_t tokens = set->input_offsets[set->samples] + 1;
    set->input = calloc(tokens, sizeof *set->input);
    set->input_tree.parents = calloc(tokens, sizeof *set->input_tree.parents);
    set->input_tree.branches = calloc(tokens, sizeof *set->input_tree.branches);
    if (set->input == NULL || set->input_tree.parents == NULL || set->input_tree.branches == NULL)
        return lab_fail_memory(error, "the tokens of a data set");
    locus_parallel_for(tasks_of(d), fill_task, d);
    return LOCUS_OK;
}

/* A digest that is given is of what was read before. */
static locus_status check_digest(const lab_task_options *options, locus_error *error) {
    uint64_t now = 0;
    if (options->digest == 0)
        return LOCUS_OK;
    const locus_status status = lab_listops_digest(options->path, &now, error);
    if (status != LOCUS_OK || now == options->digest)
        return status;
    return lab_fail(error, LOCUS_ERROR_IO, "data", "'%s' holds other expressions than the run was made for",
                    options->path);
}

locus_status lab_listops_generate(lab_dataset *set, const lab_draw *draw, locus_error *error) {
    const lab_task_options *options = draw->options;
    locus_status status = check(options, error);
    if (status != LOCUS_OK)
        return status;
    if (options->path != NULL) {
        status = check_digest(options, error);
        return status == LOCUS_OK ? lab_listops_load(set, draw, error) : status;
    }
    drawing d = {draw, set, LAB_EXPRESSIONS(options), NULL};
    status = draw_set(&d, error);
    free(d.shapes);
    return status;
}
