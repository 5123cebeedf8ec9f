/* SPDX-License-Identifier: MIT */
#include "report/reproduction/written_value.h"

#include "io/fail.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PARTS = 5, MOST_PATH = 256 };

/* A path while it is followed. */
typedef struct walk {
    const lab_reproduction_view *view;
    lab_store *store;
    char text[MOST_PATH];
    char *parts[MOST_PARTS];
    size_t count;
    size_t column, row;
    char *why;
} walk;

LAB_PRINTF(2, 3)
static bool lacks(const walk *at, const char *format, ...) {
    va_list list;
    va_start(list, format);
    vsnprintf(at->why, 160, format, list);
    va_end(list);
    return false;
}

static bool part_path(walk *at, const char *path) {
    if (snprintf(at->text, sizeof at->text, "%s", path) >= (int)sizeof at->text)
        return lacks(at, "the path is too long");
    for (char *part = at->text; part != NULL;) {
        if (at->count == MOST_PARTS)
            return lacks(at, "the path has too many parts");
        at->parts[at->count++] = part;
        part = strchr(part, '/');
        if (part != NULL)
            *part++ = '\0';
    }
    return true;
}

/* ---- verdicts ---- */

static bool find_verdict(const walk *at, lab_written_value *found) {
    const lab_finding *only = NULL;
    size_t count = 0;
    for (size_t i = 0; i < at->view->findings->count; i++) {
        const lab_finding *finding = &at->view->findings->findings[i];
        if (at->count > 1 && strcmp(finding->claim->id, at->parts[1]) == 0 &&
            (at->count < 3 || strcmp(finding->variant, at->parts[2]) == 0)) {
            only = finding;
            count++;
        }
    }
    if (count != 1 || at->count > 3) {
        return lacks(at, count > 1 ? "the claim '%s' is judged for several variants" : "there is no claim '%s'",
                     at->count > 1 ? at->parts[1] : "");
    }
    found->word = lab_verdict_name(only->verdict);
    return true;
}

/* ---- fields ---- */

static bool find_column(walk *at) {
    for (at->column = 0; at->column < at->view->table->column_count; at->column++)
        if (strcmp(at->view->table->columns[at->column].name, at->parts[0]) == 0)
            return true;
    return lacks(at, "there is no column '%s'", at->parts[0]);
}

static bool find_row(const walk *at, const char *key, size_t *row) {
    for (*row = 0; *row < at->view->table->row_count; ++*row)
        if (strcmp(at->view->table->columns[at->column].rows[*row].key, key) == 0 &&
            lab_reproduction_has(at->view->table, *row, at->column))
            return true;
    return lacks(at, "the column '%s' has no row '%s'", at->parts[0], key);
}

static bool find_field(const walk *at, size_t row, const lab_statistic **score) {
    const lab_measure measure = at->view->table->columns[at->column].measure;
    *score = lab_field_score(&at->view->result->fields[row][at->column], measure);
    return (*score)->count > 0 || lacks(at, "'%s/%s' has not been measured", at->parts[0], at->parts[1]);
}

static double scale_of(const walk *at) {
    return lab_measure_scale(at->view->table->columns[at->column].measure);
}

static bool find_difference(walk *at, char *comma, lab_written_value *found) {
    const lab_statistic *first, *second;
    size_t other;
    *comma = '\0';
    if (!find_row(at, at->parts[1], &at->row) || !find_row(at, comma + 1, &other) || !find_field(at, at->row, &first) ||
        !find_field(at, other, &second))
        return false;
    found->value = scale_of(at) * (first->mean - second->mean);
    return true;
}

/* ---- single runs ---- */

static bool find_final(const walk *at, int64_t run, const char *set, const char *name, double *value) {
    lab_final *finals;
    size_t count;
    bool found = false;
    if (lab_store_finals(at->store, run, &finals, &count, NULL) != LOCUS_OK)
        return lacks(at, "the scores cannot be read");
    for (size_t i = 0; i < count; i++) {
        if (strcmp(finals[i].set, set) == 0 && strcmp(finals[i].name, name) == 0 && isfinite(finals[i].value)) {
            *value = finals[i].value;
            found = true;
        }
    }
    free(finals);
    return found || lacks(at, "there is no score '%s/%s'", set, name);
}

static bool is_share(const char *name) {
    return strstr(name, "accuracy") != NULL || strstr(name, "exact") != NULL;
}

/* What a curve is at a step, or the step at which it is first below or above a value. */
static bool find_point(const walk *at, int64_t run, const char *asked, double *value) {
    const size_t length = strcspn(asked, "@:");
    const char *rest = asked + length;
    char name[64];
    lab_metric *metrics;
    size_t count;
    bool found = false;
    snprintf(name, sizeof name, "%.*s", (int)length, asked);
    if (lab_store_metrics(at->store, run, name, &metrics, &count, NULL) != LOCUS_OK)
        return lacks(at, "the curves cannot be read");
    const double scale = is_share(name) ? 100 : 1;
    const bool below = strncmp(rest, ":below:", 7) == 0, above = strncmp(rest, ":above:", 7) == 0;
    const double bound = below || above ? strtod(rest + 7, NULL) / scale : 0;
    for (size_t i = 0; i < count && !found; i++) {
        if (below || above) {
            found = below ? metrics[i].value < bound : metrics[i].value > bound;
            *value = (double)metrics[i].step;
        } else {
            found = rest[0] == '@' && (double)metrics[i].step == strtod(rest + 1, NULL) && isfinite(metrics[i].value);
            *value = scale * metrics[i].value;
        }
    }
    free(metrics);
    return found || lacks(at, "no point of the curves is '%s'", asked);
}

/* A score of one run, as it is printed. */
static bool score_run(const walk *at, int64_t run, double *value) {
    const lab_reproduction_column *column = &at->view->table->columns[at->column];
    if (at->count == 4)
        return find_point(at, run, at->parts[3], value);
    const char *set = at->count > 4 ? at->parts[3] : "test";
    const char *name = at->count > 4 ? at->parts[4] : lab_final_name(column->measure, column->span);
    if (!find_final(at, run, set, name, value))
        return false;
    if (at->count > 4) {
        *value *= is_share(name) ? 100 : 1;
    } else {
        *value =
            lab_measure_scale(column->measure) * (column->measure == LAB_MEASURE_PERPLEXITY ? exp(*value) : *value);
    }
    return true;
}

/* The run of a seed; false if it is not there or not done. */
static bool find_run(const walk *at, size_t repetition, int64_t *id) {
    lab_train_config config;
    char encoding[LAB_SPEC_SIZE], name[256];
    lab_run run;
    const lab_reproduction_place place = {at->row, at->column, repetition};
    if (lab_reproduction_config(at->view->table, place, &config, encoding, NULL) != LOCUS_OK)
        return false;
    lab_train_name(&config, name, sizeof name);
    if (lab_store_run_find(at->store, name, &run, NULL) != LOCUS_OK)
        return false;
    const bool done = run.state == LAB_RUN_DONE;
    *id = run.id;
    lab_run_free(&run);
    return done;
}

static bool score_seed(const walk *at, double *value) {
    const lab_reproduction *table = at->view->table;
    char *end;
    const uint64_t seed = strtoull(at->parts[2], &end, 10);
    int64_t run;
    if (!isdigit((unsigned char)at->parts[2][0]) || *end != '\0')
        return lacks(at, "'%s' is no seed, nor mean, deviation, least or most", at->parts[2]);
    if (seed < table->first_seed || seed - table->first_seed >= table->seeds ||
        !find_run(at, (size_t)(seed - table->first_seed), &run))
        return lacks(at, "there is no run of seed %s", at->parts[2]);
    return score_run(at, run, value);
}

static bool score_seeds(const walk *at, const char *which, double *value) {
    double values[LAB_MOST_SEEDS] = {0}, least = INFINITY, most = -INFINITY;
    size_t count = 0;
    for (size_t i = 0; i < at->view->table->seeds; i++) {
        int64_t run;
        if (find_run(at, i, &run)) {
            if (!score_run(at, run, &values[count]))
                return false;
            least = fmin(least, values[count]);
            most = fmax(most, values[count]);
            count++;
        }
    }
    const lab_statistic all = lab_statistic_of(values, count);
    *value = strcmp(which, "least") == 0  ? least
             : strcmp(which, "most") == 0 ? most
             : strcmp(which, "mean") == 0 ? all.mean
                                          : all.deviation;
    return count > 0 || lacks(at, "'%s/%s' has not been measured", at->parts[0], at->parts[1]);
}

/* The field's own statistic may have left its worst seed out. */
static bool find_score(const walk *at, lab_written_value *found) {
    static const char *const words[] = {"mean", "deviation", "least", "most"};
    const char *which = at->count > 2 ? at->parts[2] : "mean";
    const lab_statistic *score;
    size_t word = 0;
    while (word < 4 && strcmp(which, words[word]) != 0)
        word++;
    if (word == 4)
        return score_seed(at, &found->value);
    if (at->count > 3 || word > 1)
        return score_seeds(at, which, &found->value);
    if (!find_field(at, at->row, &score))
        return false;
    found->value = scale_of(at) * (word == 0 ? score->mean : score->deviation);
    return true;
}

bool lab_written_find(const lab_reproduction_view *view, lab_store *store, const char *path, lab_written_value *found,
                      char why[160]) {
    walk at = {.view = view, .store = store, .why = why};
    *found = (lab_written_value){.word = NULL, .value = 0};
    if (!part_path(&at, path))
        return false;
    if (strcmp(at.parts[0], "claim") == 0)
        return find_verdict(&at, found);
    if (at.count < 2)
        return lacks(&at, "the path names no row");
    if (!find_column(&at))
        return false;
    char *comma = strchr(at.parts[1], ',');
    if (comma != NULL)
        return at.count == 2 ? find_difference(&at, comma, found) : lacks(&at, "a difference has only a mean");
    return find_row(&at, at.parts[1], &at.row) && find_score(&at, found);
}
