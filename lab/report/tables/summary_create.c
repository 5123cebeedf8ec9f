/* SPDX-License-Identifier: MIT */
/* Gathers finished runs into sections and rows. A run that is not finished is counted in its row, so that a report can
 * name it, but never scored. */
#include "report/tables/summary.h"

#include "figures/encoding_colour.h"
#include "io/fail.h"
#include "io/json.h"
#include "report/tables/summary_parts.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- which runs ---- */

static bool is_of(const char *wanted, const char *text) {
    return wanted == NULL || strcmp(wanted, text) == 0;
}

static bool is_wanted(const lab_run *run, const lab_summary_filter *filter) {
    if (!is_of(filter->task, run->task) || !is_of(filter->budget, run->budget) || !is_of(filter->setup, run->setup) ||
        !is_of(filter->embedding_init, run->embedding_init))
        return false;
    for (size_t i = 0; i < filter->run_count; i++)
        if (filter->runs[i] == run->id)
            return true;
    return filter->run_count == 0;
}

/* Runs that were asked for one by one come as they were asked for; trainings side by side begin in any order. */
static void put_in_order(lab_summary *summary, const lab_summary_filter *filter) {
    size_t sorted = 0;
    for (size_t wanted = 0; wanted < filter->run_count; wanted++) {
        for (size_t i = sorted; i < summary->run_count; i++) {
            if (summary->runs[i].id == filter->runs[wanted]) {
                const lab_run run = summary->runs[i];
                summary->runs[i] = summary->runs[sorted];
                summary->runs[sorted++] = run;
                break;
            }
        }
    }
}

static locus_status take_runs(lab_summary *summary, lab_store *store, const lab_summary_filter *filter,
                              locus_error *error) {
    const locus_status status = lab_store_runs(store, NULL, &summary->runs, &summary->store_count, error);
    for (size_t i = 0; status == LOCUS_OK && i < summary->store_count; i++) {
        if (is_wanted(&summary->runs[i], filter)) {
            const lab_run run = summary->runs[i];
            summary->runs[i] = summary->runs[summary->run_count];
            summary->runs[summary->run_count++] = run;
        }
    }
    put_in_order(summary, filter);
    return status;
}

/* ---- sections and rows ---- */

/* What a section's runs share. From malloc; NULL: no memory. */
static char *section_key(const lab_run *run) {
    cJSON *config = lab_summary_shared(run->config);
    char *text = config ? cJSON_PrintUnformatted(config) : NULL;
    const bool lacks = config && !text;
    cJSON_Delete(config);
    if (lacks)
        return NULL;
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

static lab_summary_section *find_section(lab_summary *summary, char **keys, const lab_run *run) {
    char *key = section_key(run);
    for (size_t i = 0; key && i < summary->section_count; i++) {
        if (strcmp(keys[i], key) == 0) { // NOLINT(clang-analyzer-core.NonNullParamChecker): each section has its key
            free(key);
            return &summary->sections[i];
        }
    }
    if (!key)
        return NULL;
    lab_summary_section *section = &summary->sections[summary->section_count];
    keys[summary->section_count++] = key;
    *section = (lab_summary_section){.task = run->task,
                                     .budget = run->budget,
                                     .setup = run->setup,
                                     .embedding_init = run->embedding_init,
                                     .config = run->config};
    section->rows = calloc(summary->run_count, sizeof *section->rows);
    lab_summary_describe(section);
    return section->rows ? section : NULL;
}

static lab_summary_row *find_row(const lab_summary *summary, lab_summary_section *section, const lab_run *run) {
    for (size_t i = 0; i < section->row_count; i++)
        if (strcmp(section->rows[i].encoding, run->encoding) == 0)
            return &section->rows[i];
    lab_summary_row *row = &section->rows[section->row_count++];
    row->encoding = run->encoding;
    row->runs = calloc(summary->run_count, sizeof *row->runs);
    if (!section->unpublished)
        for (unsigned span = 0; span < LAB_SPANS; span++)
            row->published[span] = lab_published_look(run->task, section->order, (lab_span)span, run->encoding);
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
    for (size_t i = 0; keys && i < summary->section_count; i++)
        free(keys[i]);
    free(keys);
    return good ? LOCUS_OK : lab_fail(error, LOCUS_ERROR_MEMORY, "summary", "out of memory while reading the runs");
}

/* ---- order ---- */

/* Place of an encoding among the distinct ones of all runs, as they come. */
static size_t encoding_rank(const lab_summary *summary, const char *encoding) {
    size_t rank = 0;
    for (size_t i = 0; i < summary->run_count && strcmp(summary->runs[i].encoding, encoding) != 0; i++) {
        size_t j = 0;
        while (j < i && strcmp(summary->runs[j].encoding, summary->runs[i].encoding) != 0)
            j++;
        rank += j == i;
    }
    return rank;
}

/* Rows stand in the same order in every section; cells that ran side by side started in any order. */
static void order_rows(const lab_summary *summary, lab_summary_section *section) {
    for (size_t i = 1; i < section->row_count; i++) {
        lab_summary_row row = section->rows[i];
        size_t at = i, rank = encoding_rank(summary, row.encoding);
        for (; at > 0 && encoding_rank(summary, section->rows[at - 1].encoding) > rank; at--)
            section->rows[at] = section->rows[at - 1];
        section->rows[at] = row;
    }
}

/* An encoding looks the same in all sections. */
static void mark_rows(lab_summary *summary) {
    for (size_t s = 0; s < summary->section_count; s++) {
        for (size_t i = 0; i < summary->sections[s].row_count; i++) {
            lab_summary_row *row = &summary->sections[s].rows[i];
            row->mark = encoding_rank(summary, row->encoding);
            row->colour = lab_encoding_colour(row->encoding);
        }
    }
}

/* "AMD EPYC" of "AMD EPYC, 2 threads, avx512": a run may be given a part of its machine's threads. */
static size_t processor_length(const char *machine) {
    const char *at = strstr(machine, " thread");
    while (at != NULL && at > machine && *at != ',')
        at--;
    return at != NULL ? (size_t)(at - machine) : strlen(machine);
}

static bool same_machine(const char *a, const char *b) {
    const size_t length = processor_length(a);
    return length == processor_length(b) && strncmp(a, b, length) == 0;
}

/* Times are ISO 8601 in UTC: they compare as texts, and nothing begins before an end that is not there. */
static bool ran_together(const lab_run *a, const lab_run *b) {
    const bool timed = a->started && a->ended && b->started && b->ended;
    return a != b && timed && strcmp(a->started, b->ended) < 0 && strcmp(b->started, a->ended) < 0 && a->machine &&
           b->machine && same_machine(a->machine, b->machine);
}

bool lab_summary_ran_beside(const lab_summary *summary, const lab_summary_section *section, const lab_run **run,
                            const lab_run **other) {
    for (size_t i = 0; i < section->row_count; i++) {
        for (size_t j = 0; j < section->rows[i].run_count; j++) {
            *run = section->rows[i].runs[j];
            for (size_t k = 0; (*run)->state == LAB_RUN_DONE && k < summary->store_count; k++) {
                *other = &summary->runs[k];
                if (ran_together(*run, *other))
                    return true;
            }
        }
    }
    return false;
}

bool lab_summary_shared_machine(const lab_summary *summary, const lab_summary_section *section) {
    const lab_run *run, *other;
    return lab_summary_ran_beside(summary, section, &run, &other);
}

locus_status lab_summary_create(lab_summary *summary, lab_store *store, const lab_summary_filter *filter,
                                locus_error *error) {
    const size_t losses = lab_json_losses();
    *summary = (lab_summary){0};
    locus_status status = take_runs(summary, store, filter, error);
    if (status == LOCUS_OK)
        status = sort_runs(summary, error);
    if (status == LOCUS_OK)
        mark_rows(summary);
    lab_summary_tell_apart(summary);
    for (size_t i = 0; i < summary->section_count && status == LOCUS_OK; i++) {
        order_rows(summary, &summary->sections[i]);
        status = lab_summary_score_section(&summary->sections[i], store, error);
    }
    if (status == LOCUS_OK && lab_json_losses() != losses) /* sections may have been mixed */
        status = lab_fail_memory(error, "the configurations of runs");
    if (status != LOCUS_OK)
        lab_summary_free(summary);
    return status;
}

void lab_summary_free(lab_summary *summary) {
    for (size_t i = 0; i < summary->section_count; i++) {
        for (size_t j = 0; j < summary->sections[i].row_count; j++) {
            free(summary->sections[i].rows[j].runs);
            free(summary->sections[i].rows[j].at_depth);
            free(summary->sections[i].rows[j].at_nodes);
        }
        free(summary->sections[i].rows);
    }
    for (size_t i = 0; i < summary->store_count; i++)
        lab_run_free(&summary->runs[i]);
    free(summary->sections);
    free(summary->runs);
    *summary = (lab_summary){0};
}
