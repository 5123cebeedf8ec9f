/* SPDX-License-Identifier: MIT */
/* Gathers finished runs into sections and rows, with mean, deviation and confidence interval over seeds.
 *
 *   mean = Σ x / n,  s² = Σ (x − mean)² / (n − 1),  95 % interval: mean ± t(n−1) · s / √n   (Student 1908)
 *
 * A run that is not finished is counted in its row, so that a report can name it, but never scored. */
#include "report/summary.h"

#include "io/fail.h"
#include "report/published.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- statistics ---- */

double lab_student_95(size_t degrees) {
    static const double table[] = {12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281};
    if (degrees == 0) {
        return INFINITY;
    }
    if (degrees <= sizeof table / sizeof *table) {
        return table[degrees - 1];
    }
    /* Cornish–Fisher, exact to four digits from 11 degrees on. */
    double n = (double)degrees, z = 1.959964;
    return z + (pow(z, 3) + z) / (4 * n) + (5 * pow(z, 5) + 16 * pow(z, 3) + 3 * z) / (96 * n * n) +
           (3 * pow(z, 7) + 19 * pow(z, 5) + 17 * pow(z, 3) - 15 * z) / (384 * n * n * n);
}

lab_statistic lab_statistic_of(const double *values, size_t count) {
    lab_statistic statistic = {.count = count};
    double sum = 0, squares = 0;
    for (size_t i = 0; i < count; i++) {
        sum += values[i];
    }
    if (count == 0) {
        return statistic;
    }
    statistic.mean = sum / (double)count;
    for (size_t i = 0; i < count; i++) {
        squares += (values[i] - statistic.mean) * (values[i] - statistic.mean);
    }
    statistic.deviation = count > 1 ? sqrt(squares / (double)(count - 1)) : 0;
    statistic.half_width = count > 1 ? lab_student_95(count - 1) * statistic.deviation / sqrt((double)count) : INFINITY;
    return statistic;
}

bool lab_statistic_overlap(const lab_statistic *a, const lab_statistic *b) {
    return a->count < 2 || b->count < 2 || fabs(a->mean - b->mean) <= a->half_width + b->half_width;
}

/* ---- which runs ---- */

static bool is_wanted(const lab_run *run, const lab_summary_filter *filter) {
    for (size_t i = 0; i < filter->run_count; i++) {
        if (filter->runs[i] == run->id) {
            return true;
        }
    }
    return filter->run_count == 0;
}

static locus_status take_runs(lab_summary *summary, lab_store *store, const lab_summary_filter *filter,
                              locus_error *error) {
    const lab_run_filter columns = {.task = filter->task,
                                    .budget = filter->budget,
                                    .setup = filter->setup,
                                    .embedding_init = filter->embedding_init};
    locus_status status = lab_store_runs(store, &columns, &summary->runs, &summary->run_count, error);
    size_t kept = 0;
    for (size_t i = 0; status == LOCUS_OK && i < summary->run_count; i++) {
        if (is_wanted(&summary->runs[i], filter)) {
            lab_run run = summary->runs[i]; /* swapped, so that the others can still be freed */
            summary->runs[i] = summary->runs[kept];
            summary->runs[kept++] = run;
        } else {
            lab_run_free(&summary->runs[i]);
            memset(&summary->runs[i], 0, sizeof summary->runs[i]);
        }
    }
    summary->run_count = status == LOCUS_OK ? kept : 0;
    return status;
}

/* ---- sections and rows ---- */

/* What a section's runs share: the configuration without what may differ between them. From malloc; NULL: no memory. */
static char *section_key(const lab_run *run) {
    static const char *const free_fields[] = {"seed", "encoding", "checkpoint_seconds", "test_lengths"};
    cJSON *config = cJSON_Parse(run->config ? run->config : "");
    for (size_t i = 0; i < sizeof free_fields / sizeof *free_fields; i++) {
        cJSON_DeleteItemFromObjectCaseSensitive(config, free_fields[i]);
    }
    char *text = config ? cJSON_PrintUnformatted(config) : NULL;
    cJSON_Delete(config);
    size_t bytes = (text ? strlen(text) : 0) + strlen(run->task) + strlen(run->budget) + strlen(run->setup) +
                   strlen(run->embedding_init) + 8;
    char *key = malloc(bytes);
    if (key) {
        snprintf(key, bytes, "%s|%s|%s|%s|%s", run->task, run->budget, run->setup, run->embedding_init,
                 text ? text : "");
    }
    cJSON_free(text);
    return key;
}

static void describe_data(lab_summary_section *section) {
    cJSON *config = cJSON_Parse(section->config ? section->config : "");
    const cJSON *mean = cJSON_GetObjectItemCaseSensitive(config, "length_mean");
    const cJSON *deviation = cJSON_GetObjectItemCaseSensitive(config, "length_deviation");
    const cJSON *symbols = cJSON_GetObjectItemCaseSensitive(config, "symbols");
    const cJSON *attention = cJSON_GetObjectItemCaseSensitive(config, "attention"); /* softmax is not written */
    const cJSON *shared = cJSON_GetObjectItemCaseSensitive(config, "kv_heads"); /* as many as heads are not written */
    if (cJSON_IsNumber(mean) && cJSON_IsNumber(deviation) && cJSON_IsNumber(symbols)) {
        section->trained_length = mean->valuedouble;
        int used = snprintf(section->data, sizeof section->data, "words of length N(%g, %g) over %g symbols%s%.20s",
                            mean->valuedouble, deviation->valuedouble, symbols->valuedouble,
                            cJSON_IsString(attention) ? ", attention " : "",
                            cJSON_IsString(attention) ? attention->valuestring : "");
        if (cJSON_IsNumber(shared)) {
            snprintf(section->data + used, sizeof section->data - (size_t)used, ", %g key-value heads",
                     shared->valuedouble);
        }
    }
    cJSON_Delete(config);
}

static lab_summary_section *find_section(lab_summary *summary, char **keys, const lab_run *run) {
    char *key = section_key(run);
    for (size_t i = 0; key && i < summary->section_count; i++) {
        if (strcmp(keys[i], key) == 0) {
            free(key);
            return &summary->sections[i];
        }
    }
    if (!key) {
        return NULL;
    }
    lab_summary_section *section = &summary->sections[summary->section_count];
    keys[summary->section_count++] = key;
    *section = (lab_summary_section){.task = run->task,
                                     .budget = run->budget,
                                     .setup = run->setup,
                                     .embedding_init = run->embedding_init,
                                     .config = run->config};
    section->rows = calloc(summary->run_count, sizeof *section->rows);
    describe_data(section);
    return section->rows ? section : NULL;
}

static lab_summary_row *find_row(const lab_summary *summary, lab_summary_section *section, const lab_run *run) {
    for (size_t i = 0; i < section->row_count; i++) {
        if (strcmp(section->rows[i].encoding, run->encoding) == 0) {
            return &section->rows[i];
        }
    }
    lab_summary_row *row = &section->rows[section->row_count++];
    row->encoding = run->encoding;
    row->runs = calloc(summary->run_count, sizeof *row->runs);
    const lab_published *published = lab_published_find(run->task, run->encoding);
    if (published) {
        row->has_published = true;
        row->published = published->accuracy;
        row->published_deviation = published->deviation;
    }
    return row->runs ? row : NULL;
}

static locus_status sort_runs(lab_summary *summary, locus_error *error) {
    size_t count = summary->run_count;
    char **keys = calloc(count + 1, sizeof *keys);
    summary->sections = calloc(count + 1, sizeof *summary->sections);
    bool good = keys && summary->sections;
    for (size_t i = 0; good && i < count; i++) {
        lab_summary_section *section = find_section(summary, keys, &summary->runs[i]);
        lab_summary_row *row = section ? find_row(summary, section, &summary->runs[i]) : NULL;
        good = row != NULL;
        if (good) {
            row->runs[row->run_count++] = &summary->runs[i];
            row->done += summary->runs[i].state == LAB_RUN_DONE;
        }
    }
    for (size_t i = 0; keys && i < summary->section_count; i++) {
        free(keys[i]);
    }
    free(keys);
    return good ? LOCUS_OK : lab_fail(error, LOCUS_ERROR_MEMORY, "summary", "out of memory while reading the runs");
}

/* ---- scores ---- */

typedef struct run_finals {
    lab_final *finals;
    size_t count;
} run_finals;

static bool find_final(const run_finals *run, const char *set, const char *name, double *value) {
    for (size_t i = 0; i < run->count; i++) {
        if ((!set || !strcmp(run->finals[i].set, set)) && !strcmp(run->finals[i].name, name)) {
            *value = run->finals[i].value;
            return isfinite(*value);
        }
    }
    return false;
}

static lab_statistic over_finals(const run_finals *runs, size_t count, const char *set, const char *name) {
    double values[256];
    size_t have = 0;
    for (size_t i = 0; i < count && have < 256; i++) {
        have += find_final(&runs[i], set, name, &values[have]);
    }
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

static lab_statistic over_runs(const lab_summary_row *row, run_number *number) {
    double values[256];
    size_t have = 0;
    for (size_t i = 0; i < row->run_count && have < 256; i++) {
        double value = number(row->runs[i]);
        if (row->runs[i]->state == LAB_RUN_DONE && value > 0) {
            values[have++] = value;
        }
    }
    return lab_statistic_of(values, have);
}

/* Adds the lengths of "test:200" to the section's, in order. */
static void add_lengths(lab_summary_section *section, const run_finals *run) {
    for (size_t i = 0; i < run->count; i++) {
        unsigned long length;
        if (strncmp(run->finals[i].set, "test:", 5) != 0 || (length = strtoul(run->finals[i].set + 5, NULL, 10)) == 0) {
            continue;
        }
        size_t at = 0;
        while (at < section->length_count && section->lengths[at] < length) {
            at++;
        }
        bool known = at < section->length_count && section->lengths[at] == length;
        if (!known && section->length_count < LAB_SUMMARY_MAX_LENGTHS) {
            memmove(&section->lengths[at + 1], &section->lengths[at],
                    (section->length_count - at) * sizeof *section->lengths);
            section->lengths[at] = length;
            section->length_count++;
        }
    }
}

/* Steps until development accuracy reached 99 %: from the final scores, or else from the curve. */
static locus_status steps_to_99(lab_summary_row *row, const run_finals *finals, size_t count, lab_store *store,
                                locus_error *error) {
    double values[256];
    size_t have = 0, done = 0;
    for (size_t i = 0; i < row->run_count && have < 256 && done < count; i++) {
        if (row->runs[i]->state != LAB_RUN_DONE) {
            continue;
        }
        lab_metric *curve = NULL;
        size_t points = 0;
        if (find_final(&finals[done++], NULL, "steps_to_99", &values[have])) {
            have++;
            continue;
        }
        locus_status status = lab_store_metrics(store, row->runs[i]->id, "dev.accuracy", &curve, &points, error);
        for (size_t j = 0; status == LOCUS_OK && j < points; j++) {
            if (curve[j].value >= 0.99) {
                values[have++] = (double)curve[j].step;
                break;
            }
        }
        free(curve);
        if (status != LOCUS_OK) {
            return status;
        }
    }
    row->steps_to_99 = lab_statistic_of(values, have);
    return LOCUS_OK;
}

static void score_lengths(lab_summary_row *row, const lab_summary_section *section, const run_finals *finals,
                          size_t count) {
    for (size_t i = 0; i < section->length_count; i++) {
        char set[32];
        snprintf(set, sizeof set, "test:%zu", section->lengths[i]);
        row->at_length[i] = over_finals(finals, count, set, "accuracy");
        row->greedy_at_length[i] = over_finals(finals, count, set, "greedy_exact");
    }
}

static locus_status score_row(lab_summary_row *row, const lab_summary_section *section, const run_finals *finals,
                              lab_store *store, locus_error *error) {
    size_t count = row->done;
    row->accuracy = over_finals(finals, count, "test", "accuracy");
    row->exact = over_finals(finals, count, "test", "exact");
    row->greedy_exact = over_finals(finals, count, "test", "greedy_exact");
    row->loss = over_finals(finals, count, "test", "loss");
    row->tokens_per_second = over_runs(row, run_speed);
    row->wall_seconds = over_runs(row, run_seconds);
    row->peak_bytes = over_runs(row, run_bytes);
    row->parameters = over_runs(row, run_parameters);
    score_lengths(row, section, finals, count);
    return steps_to_99(row, finals, count, store, error);
}

/* The final scores of every finished run of a row, in order. */
static locus_status read_finals(const lab_summary_row *row, lab_store *store, run_finals *finals, locus_error *error) {
    size_t have = 0;
    locus_status status = LOCUS_OK;
    for (size_t i = 0; i < row->run_count && status == LOCUS_OK; i++) {
        if (row->runs[i]->state == LAB_RUN_DONE) {
            status = lab_store_finals(store, row->runs[i]->id, &finals[have].finals, &finals[have].count, error);
            have++;
        }
    }
    return status;
}

static locus_status score_section(lab_summary_section *section, lab_store *store, locus_error *error) {
    run_finals **finals = calloc(section->row_count + 1, sizeof *finals);
    locus_status status = finals ? LOCUS_OK : lab_fail(error, LOCUS_ERROR_MEMORY, "summary", "out of memory");
    for (size_t i = 0; i < section->row_count && status == LOCUS_OK; i++) {
        finals[i] = calloc(section->rows[i].done + 1, sizeof **finals);
        status = finals[i] ? read_finals(&section->rows[i], store, finals[i], error)
                           : lab_fail(error, LOCUS_ERROR_MEMORY, "summary", "out of memory");
        for (size_t j = 0; j < section->rows[i].done && status == LOCUS_OK; j++) {
            add_lengths(section, &finals[i][j]);
        }
    }
    for (size_t i = 0; i < section->row_count && status == LOCUS_OK; i++) {
        status = score_row(&section->rows[i], section, finals[i], store, error);
    }
    for (size_t i = 0; finals && i < section->row_count; i++) {
        for (size_t j = 0; finals[i] && j < section->rows[i].done; j++) {
            free(finals[i][j].finals);
        }
        free(finals[i]);
    }
    free(finals);
    return status;
}

/* Place of an encoding among all runs of the summary. */
static size_t encoding_rank(const lab_summary *summary, const char *encoding) {
    size_t rank = 0;
    while (rank < summary->run_count && strcmp(summary->runs[rank].encoding, encoding) != 0) {
        rank++;
    }
    return rank;
}

/* Rows stand in the same order, and so have the same colours, in every section; cells that ran side by side started in
 * any order. */
static void order_rows(const lab_summary *summary, lab_summary_section *section) {
    for (size_t i = 1; i < section->row_count; i++) {
        lab_summary_row row = section->rows[i];
        size_t at = i, rank = encoding_rank(summary, row.encoding);
        for (; at > 0 && encoding_rank(summary, section->rows[at - 1].encoding) > rank; at--) {
            section->rows[at] = section->rows[at - 1];
        }
        section->rows[at] = row;
    }
}

locus_status lab_summary_create(lab_summary *summary, lab_store *store, const lab_summary_filter *filter,
                                locus_error *error) {
    *summary = (lab_summary){0};
    locus_status status = take_runs(summary, store, filter, error);
    if (status == LOCUS_OK) {
        status = sort_runs(summary, error);
    }
    for (size_t i = 0; i < summary->section_count && status == LOCUS_OK; i++) {
        order_rows(summary, &summary->sections[i]);
        status = score_section(&summary->sections[i], store, error);
    }
    if (status != LOCUS_OK) {
        lab_summary_free(summary);
    }
    return status;
}

void lab_summary_free(lab_summary *summary) {
    for (size_t i = 0; i < summary->section_count; i++) {
        for (size_t j = 0; j < summary->sections[i].row_count; j++) {
            free(summary->sections[i].rows[j].runs);
        }
        free(summary->sections[i].rows);
    }
    for (size_t i = 0; i < summary->run_count; i++) {
        lab_run_free(&summary->runs[i]);
    }
    free(summary->sections);
    free(summary->runs);
    *summary = (lab_summary){0};
}
