/* SPDX-License-Identifier: MIT */
/* Scores of a section's rows from the final scores and curves of their finished runs.
 *
 * Sets are "test", "test:200" (words of another length), "depth:5" and "nodes:17-32" (trees of the test set; "nodes:3",
 * "nodes:65-" likewise), "length:17-32" (expressions of so many tokens). Within a bin a seed weighs as much as it has
 * samples there:
 *
 *   mean = Σ w x / Σ w,  s² = Σ w (x − mean)² / Σ w · n / (n − 1)        equal weights: the usual mean and deviation
 *
 * Images: the best accuracy up to half and up to all of the steps, and that of the last, from the final scores or else
 * from the curve. */
#include "io/fail.h"
#include "report/tables/contrast.h"
#include "report/tables/student.h"
#include "report/tables/summary_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- final scores ---- */

typedef struct run_finals {
    const lab_run *run;
    lab_final *finals;
    size_t count;
} run_finals;

/* Of one row: its finished runs, and room for as many numbers as there are runs, thrice. */
typedef struct row_finals {
    run_finals *runs;
    size_t count;
    double *room[3];
} row_finals;

static bool find_final(const run_finals *run, const char *set, const char *name, double *value) {
    for (size_t i = 0; i < run->count; i++) {
        if ((!set || !strcmp(run->finals[i].set, set)) && !strcmp(run->finals[i].name, name)) {
            *value = run->finals[i].value;
            return isfinite(*value);
        }
    }
    return false;
}

static lab_statistic over_finals(const row_finals *finals, const char *set, const char *name) {
    double *values = finals->room[0];
    size_t have = 0;
    for (size_t i = 0; i < finals->count; i++)
        have += find_final(&finals->runs[i], set, name, &values[have]);
    return lab_statistic_of(values, have);
}

typedef double run_number(const lab_run *run);
static double run_speed(const lab_run *run) {
    return run->tokens_per_second;
}
static double run_seconds(const lab_run *run) {
    return run->wall_seconds;
}
static double run_bytes(const lab_run *run) {
    return (double)run->peak_bytes;
}
static double run_parameters(const lab_run *run) {
    return (double)run->parameters;
}

static lab_statistic over_runs(const row_finals *finals, run_number *number) {
    double *values = finals->room[0];
    size_t have = 0;
    for (size_t i = 0; i < finals->count; i++) {
        const double value = number(finals->runs[i].run);
        if (value > 0)
            values[have++] = value;
    }
    return lab_statistic_of(values, have);
}

/* ---- further lengths ---- */

/* Adds the lengths of "test:200" to the section's, in order. */
static void add_lengths(lab_summary_section *section, const run_finals *run) {
    for (size_t i = 0; i < run->count; i++) {
        unsigned long length;
        if (strncmp(run->finals[i].set, "test:", 5) != 0 || (length = strtoul(run->finals[i].set + 5, NULL, 10)) == 0)
            continue;
        size_t at = 0;
        while (at < section->length_count && section->lengths[at] < length)
            at++;
        if (at < section->length_count && section->lengths[at] == length)
            continue;
        const bool full = section->length_count == LAB_SUMMARY_MAX_LENGTHS;
        section->more_lengths = section->more_lengths || full;
        if (at == LAB_SUMMARY_MAX_LENGTHS)
            continue;
        section->length_count += !full;
        memmove(&section->lengths[at + 1], &section->lengths[at],
                (section->length_count - at - 1) * sizeof *section->lengths);
        section->lengths[at] = length;
    }
}

static void score_lengths(lab_summary_row *row, const lab_summary_section *section, const row_finals *finals) {
    const lab_length_axis *axis = section->class->lengths;
    for (size_t i = 0; i < section->length_count; i++) {
        char set[32];
        snprintf(set, sizeof set, "test:%zu", section->lengths[i]);
        row->at_length[i] = over_finals(finals, set, "accuracy");
        row->greedy_at_length[i] = over_finals(finals, set, "greedy_exact");
        for (size_t panel = 0; axis != NULL && panel < LAB_LENGTH_PANELS; panel++)
            if (axis->panels[panel].score != NULL)
                row->drawn_at_length[panel][i] = over_finals(finals, set, axis->panels[panel].score);
    }
}

/* ---- trees: depths and numbers of nodes ---- */

/* "depth:5", "nodes:17-32", "nodes:65-" after `prefix`. */
static bool read_bin(const char *set, const char *prefix, lab_summary_bin *bin) {
    const size_t start = strlen(prefix);
    char *end;
    if (strncmp(set, prefix, start) != 0 || set[start] < '0' || set[start] > '9')
        return false;
    *bin = (lab_summary_bin){.low = strtoul(set + start, &end, 10)};
    bin->high = bin->low;
    if (*end == '-' || *end == '+')
        bin->high = end[1] >= '0' && end[1] <= '9' ? strtoul(end + 1, &end, 10) : SIZE_MAX;
    return bin->high >= bin->low;
}

static bool same_bin(const lab_summary_bin *a, const lab_summary_bin *b) {
    return a->low == b->low && a->high == b->high;
}

static bool bin_before(const lab_summary_bin *a, const lab_summary_bin *b) {
    return a->low < b->low || (a->low == b->low && a->high < b->high);
}

static void add_bins(lab_summary_bins *bins, const char *prefix, const run_finals *run) {
    for (size_t i = 0; i < run->count; i++) {
        lab_summary_bin bin;
        size_t at = 0;
        if (!read_bin(run->finals[i].set, prefix, &bin))
            continue;
        while (at < bins->count && bin_before(&bins->bins[at], &bin))
            at++;
        if ((at == bins->count || !same_bin(&bins->bins[at], &bin)) && bins->count < LAB_SUMMARY_MAX_BINS) {
            memmove(&bins->bins[at + 1], &bins->bins[at], (bins->count - at) * sizeof *bins->bins);
            bins->bins[at] = bin;
            bins->count++;
        }
        if (at < bins->count && same_bin(&bins->bins[at], &bin) && !strcmp(run->finals[i].name, "samples") &&
            run->finals[i].value >= 1 && run->finals[i].value < 1e15) {
            const size_t samples = (size_t)run->finals[i].value;
            bins->bins[at].samples = samples > bins->bins[at].samples ? samples : bins->bins[at].samples;
        }
    }
}

static bool find_in_bin(const run_finals *run, const char *prefix, const lab_summary_bin *bin, const char *name,
                        double *value) {
    for (size_t i = 0; i < run->count; i++) {
        lab_summary_bin own;
        if (!strcmp(run->finals[i].name, name) && read_bin(run->finals[i].set, prefix, &own) && same_bin(&own, bin)) {
            *value = run->finals[i].value;
            return isfinite(*value);
        }
    }
    return false;
}

static lab_statistic weighted(const double *values, const double *weights, size_t count) {
    lab_statistic statistic = {.count = count};
    double total = 0, sum = 0, squares = 0;
    for (size_t i = 0; i < count; i++) {
        total += weights[i];
        sum += weights[i] * values[i];
    }
    if (count == 0)
        return statistic;
    statistic.mean = sum / total;
    for (size_t i = 0; i < count; i++)
        squares += weights[i] * (values[i] - statistic.mean) * (values[i] - statistic.mean);
    const double n = (double)count;
    statistic.deviation = count > 1 ? sqrt(squares / total * n / (n - 1)) : 0;
    statistic.half_width =
        count > 1 ? lab_student(LAB_MISS, (double)(count - 1)) * statistic.deviation / sqrt(n) : INFINITY;
    return statistic;
}

typedef struct bin_job {
    const row_finals *finals;
    const char *prefix;
    const char *const *scores;
} bin_job;

/* A seed that says nothing of its samples weighs 1; one that has none there is left out. */
static lab_statistic over_bin(const bin_job *job, const lab_summary_bin *bin, const char *name) {
    double *values = job->finals->room[0], *weights = job->finals->room[1];
    size_t have = 0;
    for (size_t i = 0; i < job->finals->count; i++) {
        const run_finals *run = &job->finals->runs[i];
        double samples = 1;
        const bool known = find_in_bin(run, job->prefix, bin, "samples", &samples);
        if ((!known || samples > 0) && find_in_bin(run, job->prefix, bin, name, &values[have]))
            weights[have++] = known ? samples : 1;
    }
    return weighted(values, weights, have);
}

static locus_status score_bins(lab_summary_bin_score **scores, const lab_summary_bins *bins, const bin_job *job,
                               locus_error *error) {
    *scores = calloc(bins->count + 1, sizeof **scores);
    if (!*scores)
        return lab_fail_memory(error, "a summary");
    for (size_t i = 0; i < bins->count; i++)
        for (size_t m = 0; m < LAB_BIN_MEASURES; m++)
            (*scores)[i].scores[m] = over_bin(job, &bins->bins[i], job->scores[m]);
    return LOCUS_OK;
}

static locus_status score_trees(lab_summary_row *row, const lab_summary_section *section, const row_finals *finals,
                                locus_error *error) {
    const lab_bin_words *words = section->class->bins;
    const bin_job depth = {finals, "depth:", words->scores}, nodes = {finals, words->prefix, words->scores};
    locus_status status = score_bins(&row->at_depth, &section->depths, &depth, error);
    return status == LOCUS_OK ? score_bins(&row->at_nodes, &section->nodes, &nodes, error) : status;
}

/* ---- columns ---- */

/* All runs of a section have one test set. */
static void add_guesses(lab_summary_section *section, const run_finals *run) {
    double value;
    if (section->class->stores_chance && find_final(run, "test", "chance", &value))
        section->chance = value;
    if (section->class->stores_chance && find_final(run, "test", "majority", &value))
        section->majority = value;
}

static bool any_scored(const lab_summary_section *section, size_t column) {
    for (size_t i = 0; i < section->row_count; i++)
        if (section->rows[i].scores[column].count > 0)
            return true;
    return false;
}

bool lab_summary_shows(const lab_summary_section *section, size_t column) {
    const unsigned flags = section->class->columns[column].flags;
    return (flags & LAB_SCORE_SIDE) != 0 && ((flags & LAB_SCORE_OPTIONAL) == 0 || any_scored(section, column));
}

/* The first leading column that the tables show: problems that are decoded are about the share solved; the others,
 * whose next letters are random, about the loss. */
static void choose_lead(lab_summary_section *section) {
    const lab_task_class *class = section->class;
    section->lead = 0;
    while (section->lead + 1 < class->column_count &&
           ((class->columns[section->lead].flags & LAB_SCORE_LEADS) == 0 || !lab_summary_shows(section, section->lead)))
        section->lead++;
    section->measure = class->columns[section->lead].measure;
}

/* The column of a score; column_count: there is none. */
static size_t column_of(const lab_task_class *class, const char *name) {
    size_t c = 0;
    while (c < class->column_count && strcmp(class->columns[c].name, name) != 0)
        c++;
    return c;
}

const lab_statistic *lab_summary_named(const lab_summary_section *section, const lab_summary_row *row,
                                       const char *name) {
    static const lab_statistic none = {0};
    const size_t column = column_of(section->class, name);
    return column < section->class->column_count ? &row->scores[column] : &none;
}

size_t lab_summary_length_columns(const lab_summary_section *section) {
    return section->class->size != NULL ? section->length_count : 0;
}

size_t lab_summary_spans(const lab_summary_section *section) {
    for (size_t i = 0; i < section->row_count; i++)
        if (section->rows[i].published[LAB_SPAN_FULL] != NULL)
            return section->class->develops_on_test ? LAB_SPANS : 1;
    return 0;
}

bool lab_summary_has_scores(const lab_summary_section *section) {
    for (size_t i = 0; i < section->row_count; i++)
        if (section->rows[i].done > 0)
            return true;
    return false;
}

lab_legend_facts lab_summary_facts(const lab_summary_section *section) {
    return (lab_legend_facts){.sizes = lab_summary_length_columns(section) > 0,
                              .solved = section->measure == LAB_MEASURE_SOLVED,
                              .epochs = section->epochs,
                              .chance = section->chance,
                              .majority = section->majority};
}

const lab_statistic *lab_summary_score(const lab_summary_section *section, const lab_summary_row *row) {
    return &row->scores[section->lead];
}

const lab_statistic *lab_summary_at(const lab_summary_section *section, size_t row, size_t which) {
    const lab_summary_row *one = &section->rows[row];
    return which == 0 ? lab_summary_score(section, one) : &one->at_length[which - 1];
}

typedef struct test_set {
    const lab_summary_section *section;
    size_t which;
} test_set;

static const lab_statistic *row_at(const void *context, size_t row) {
    const test_set *at = context;
    return lab_summary_at(at->section, row, at->which);
}

bool lab_summary_tells(const lab_summary_section *section, size_t i, size_t j, size_t which) {
    const test_set context = {section, which};
    return lab_contrast_tells(row_at, &context, section->row_count, i, j);
}

bool lab_summary_is_best(const lab_summary_section *section, size_t row, size_t which) {
    const test_set context = {section, which};
    const double sign = lab_measure_sign(which == 0 ? section->measure : LAB_MEASURE_ACCURACY);
    return lab_contrast_is_best(row_at, &context, section->row_count, row, sign);
}

/* ---- from curves ---- */

/* Steps until development accuracy reached 99 %: from the final scores, or else from the curve. */
static locus_status steps_to_99(lab_summary_row *row, const row_finals *finals, lab_store *store, locus_error *error) {
    double *values = finals->room[0];
    size_t have = 0;
    for (size_t i = 0; i < finals->count; i++) {
        lab_metric *curve = NULL;
        size_t points = 0;
        if (find_final(&finals->runs[i], NULL, "steps_to_99", &values[have])) {
            have++;
            continue;
        }
        locus_status status = lab_store_metrics(store, finals->runs[i].run->id, "dev.accuracy", &curve, &points, error);
        for (size_t j = 0; status == LOCUS_OK && j < points; j++) {
            if (curve[j].value >= 0.99) {
                values[have++] = (double)curve[j].step;
                break;
            }
        }
        free(curve);
        if (status != LOCUS_OK)
            return status;
    }
    row->steps_to_99 = lab_statistic_of(values, have);
    return LOCUS_OK;
}

/* The highest point of a curve from one on, up to a step; false: there is none. */
static bool best_until(const lab_metric *curve, size_t first, size_t count, double step, double *best) {
    bool found = false;
    for (size_t i = first; i < count && (double)curve[i].step <= step; i++) {
        if (isfinite(curve[i].value) && (!found || curve[i].value > *best)) {
            *best = curve[i].value;
            found = true;
        }
    }
    return found;
}

/* A seed that does not have a number is left out. */
static locus_status score_images(lab_summary_row *row, const lab_task_class *class, const row_finals *finals,
                                 lab_store *store, locus_error *error) {
    static const struct {
        const char *name;
        double share; /* of the steps */
        bool last;    /* that point alone */
    } numbers[3] = {{"accuracy_half", 0.5, false}, {"accuracy", 1, false}, {"accuracy_last", 1, true}};
    size_t have[3] = {0};
    locus_status status = LOCUS_OK;
    for (size_t i = 0; i < finals->count && status == LOCUS_OK; i++) {
        const run_finals *run = &finals->runs[i];
        lab_metric *curve = NULL;
        size_t points = 0;
        status = lab_store_metrics(store, run->run->id, "dev.accuracy", &curve, &points, error);
        for (size_t n = 0; n < 3 && status == LOCUS_OK; n++) {
            const double until = numbers[n].share * (double)run->run->steps_total;
            const size_t first = numbers[n].last && points > 0 ? points - 1 : 0;
            double *value = &finals->room[n][have[n]];
            have[n] +=
                find_final(run, "test", numbers[n].name, value) || best_until(curve, first, points, until, value);
        }
        free(curve);
    }
    for (size_t n = 0; n < 3; n++)
        row->scores[column_of(class, numbers[n].name)] = lab_statistic_of(finals->room[n], have[n]);
    return status;
}

/* ---- rows ---- */

static locus_status score_row(lab_summary_row *row, const lab_summary_section *section, const row_finals *finals,
                              lab_store *store, locus_error *error) {
    const lab_task_class *class = section->class;
    for (size_t c = 0; c < class->column_count && c < LAB_SUMMARY_MAX_SCORES; c++)
        row->scores[c] = over_finals(finals, "test", class->columns[c].name);
    row->tokens_per_second = over_runs(finals, run_speed);
    row->wall_seconds = over_runs(finals, run_seconds);
    row->peak_bytes = over_runs(finals, run_bytes);
    row->parameters = over_runs(finals, run_parameters);
    score_lengths(row, section, finals);
    locus_status status = steps_to_99(row, finals, store, error);
    if (status == LOCUS_OK && section->class->bins != NULL)
        status = score_trees(row, section, finals, error);
    if (status == LOCUS_OK && class->develops_on_test)
        status = score_images(row, class, finals, store, error);
    return status;
}

/* The final scores of every finished run of a row, in order. */
static locus_status read_finals(const lab_summary_row *row, lab_store *store, row_finals *finals, locus_error *error) {
    const size_t most = row->done + 1;
    locus_status status = LOCUS_OK;
    finals->runs = calloc(most, sizeof *finals->runs);
    finals->room[0] = calloc(3 * most, sizeof **finals->room);
    if (!finals->runs || !finals->room[0])
        return lab_fail_memory(error, "a summary");
    finals->room[1] = finals->room[0] + most;
    finals->room[2] = finals->room[1] + most;
    for (size_t i = 0; i < row->run_count && status == LOCUS_OK; i++) {
        if (row->runs[i]->state == LAB_RUN_DONE) {
            run_finals *run = &finals->runs[finals->count++];
            run->run = row->runs[i];
            status = lab_store_finals(store, run->run->id, &run->finals, &run->count, error);
        }
    }
    return status;
}

static void free_finals(row_finals *finals) {
    for (size_t i = 0; i < finals->count; i++)
        free(finals->runs[i].finals);
    free(finals->runs);
    free(finals->room[0]);
}

static locus_status read_section(lab_summary_section *section, lab_store *store, row_finals *finals,
                                 locus_error *error) {
    locus_status status = LOCUS_OK;
    for (size_t i = 0; i < section->row_count && status == LOCUS_OK; i++) {
        status = read_finals(&section->rows[i], store, &finals[i], error);
        for (size_t j = 0; j < finals[i].count && status == LOCUS_OK; j++) {
            const run_finals *run = &finals[i].runs[j];
            add_lengths(section, run);
            if (section->class->bins != NULL) {
                add_bins(&section->depths, "depth:", run);
                add_bins(&section->nodes, section->class->bins->prefix, run);
            }
            add_guesses(section, run);
        }
    }
    return status;
}

locus_status lab_summary_score_section(lab_summary_section *section, lab_store *store, locus_error *error) {
    row_finals *finals = calloc(section->row_count + 1, sizeof *finals);
    locus_status status = finals ? read_section(section, store, finals, error) : lab_fail_memory(error, "a summary");
    for (size_t i = 0; i < section->row_count && status == LOCUS_OK; i++)
        status = score_row(&section->rows[i], section, &finals[i], store, error);
    choose_lead(section);
    for (size_t i = 0; finals && i < section->row_count; i++)
        free_finals(&finals[i]);
    free(finals);
    return status;
}
