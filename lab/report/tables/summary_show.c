/* SPDX-License-Identifier: MIT */
/* A summary of runs as tables for the terminal: for each section one of scores and one of costs. */
#include "report/tables/shown_number.h"
#include "report/tables/summary.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MOST_HEADS = 4 + LAB_SUMMARY_MAX_SCORES + 2 * LAB_SUMMARY_MAX_LENGTHS };

/* "99.98 ±0.02" in percent, "1.2345 ±0.0012" of a loss; the deviation only over several seeds. */
static void cell_score(lab_table *table, const lab_statistic *score, lab_measure measure) {
    const int decimals = lab_measure_decimals(measure);
    const double scale = lab_measure_scale(measure);
    lab_table_mean(table, score->count == 0 ? (double)NAN : scale * score->mean, decimals,
                   score->count > 1 ? scale * score->deviation : (double)NAN, decimals);
}

/* What its runs share, before the terminal's lines and in each table of other forms. */
static const char *heading(const lab_summary_section *section, char text[512]) {
    const bool images = section->class->vocabulary == NULL;
    snprintf(text, 512, "%s%s%s · budget %s · set-up %s%s%s%s%s%s", section->title,
             section->apart[0] != '\0' ? " · " : "", section->apart, section->budget, section->setup,
             images ? "" : " · embeddings ", images ? "" : section->embedding_init, section->scales,
             section->data[0] == '\0' ? "" : " · ", section->data);
    return text;
}

static void title(lab_table *table, const lab_summary_section *section) {
    char text[512];
    lab_table_title(table, "%s", heading(section, text));
}

static void cell_published(lab_table *table, const lab_published *found) {
    if (found == NULL)
        lab_table_none(table);
    else
        lab_table_mean(table, 100 * found->accuracy, 2, found->deviation < 0 ? (double)NAN : 100 * found->deviation, 1);
}

static void cell_seeds(lab_table *table, const lab_summary_row *row) {
    lab_table_cell(table, "%s", row->encoding);
    if (row->done == row->run_count)
        lab_table_number(table, (double)row->done, "%zu", row->done);
    else
        lab_table_number(table, (double)row->done, "%zu of %zu", row->done, row->run_count);
}

/* Where the published numbers are from. */
static void say_source(lab_shown *to, const lab_summary_section *section, const char *what) {
    for (size_t i = 0; i < section->row_count; i++) {
        const lab_published *found = section->rows[i].published[LAB_SPAN_FULL];
        if (found != NULL) {
            lab_shown_say(to, "* %s, at budget %s%s: %s.\n", what, found->budget,
                          strcmp(found->budget, section->budget) ? " (not the budget measured here)" : "",
                          found->source);
            return;
        }
    }
}

/* Heads of a table's columns. */
typedef struct head_list {
    const char *heads[MOST_HEADS];
    char texts[MOST_HEADS][48];
    size_t count;
} head_list;

LAB_TABLE_PRINTF(2, 3)
static void add_head(head_list *to, const char *format, ...) {
    va_list values;
    va_start(values, format);
    vsnprintf(to->texts[to->count], sizeof to->texts[to->count], format, values);
    va_end(values);
    to->heads[to->count] = to->texts[to->count];
    to->count++;
}

static void make_heads(head_list *to, const lab_summary_section *section) {
    const lab_task_class *class = section->class;
    add_head(to, "encoding");
    add_head(to, ">seeds");
    for (size_t c = 0; c < class->column_count; c++) {
        const lab_score_column *column = &class->columns[c];
        if (lab_summary_shows(section, c)) {
            add_head(to, ">%s%s", (column->flags & LAB_SCORE_PAGE_HEAD) != 0 ? column->page : column->head,
                     lab_measure_is_share(column->measure) ? "|%" : "");
        }
    }
    for (size_t i = 0; i < lab_summary_length_columns(section); i++) {
        add_head(to, ">%s %zu|%%", class->size->name, section->lengths[i]);
        add_head(to, ">greedy %zu|%%", section->lengths[i]);
    }
    const size_t spans = lab_summary_spans(section);
    for (size_t span = spans > 1 ? spans : 0; span > 0; span--)
        add_head(to, ">published @%d*|%%", LAB_PUBLISHED_EPOCHS / (int)span);
    if (spans == 1)
        add_head(to, ">published*|%%");
}

static void add_row(lab_table *table, const lab_summary_section *section, const lab_summary_row *row) {
    const lab_task_class *class = section->class;
    cell_seeds(table, row);
    for (size_t c = 0; c < class->column_count; c++)
        if (lab_summary_shows(section, c))
            cell_score(table, &row->scores[c], class->columns[c].measure);
    for (size_t i = 0; i < lab_summary_length_columns(section); i++) {
        cell_score(table, &row->at_length[i], LAB_MEASURE_ACCURACY);
        cell_score(table, &row->greedy_at_length[i], LAB_MEASURE_ACCURACY);
    }
    for (size_t span = lab_summary_spans(section); span-- > 0;)
        cell_published(table, row->published[span]);
}

static void add_scores(lab_shown *to, const lab_summary_section *section) {
    const lab_task_class *class = section->class;
    const lab_legend_facts facts = lab_summary_facts(section);
    char legend[400];
    head_list all = {.count = 0};
    make_heads(&all, section);
    lab_table *table = lab_table_create(all.heads, all.count);
    title(table, section);
    for (size_t i = 0; i < section->row_count; i++)
        add_row(table, section, &section->rows[i]);
    lab_shown_add(to, table, false);
    lab_legend_text(class->legend, &facts, legend, sizeof legend);
    lab_shown_say(to, "%s\n", legend);
    if (section->more_lengths)
        lab_shown_say(to, "Of the sizes tested the smallest %d are shown.\n", LAB_SUMMARY_MAX_LENGTHS);
    say_source(to, section, class->source);
}

/* Steps are means over the seeds that got there. */
static void cell_steps(lab_table *table, const lab_summary_row *row) {
    const lab_statistic *steps = &row->steps_to_99;
    if (steps->count == 0)
        lab_table_number(table, (double)NAN, row->done > 0 ? "never" : "–");
    else if (steps->count < row->done)
        lab_table_number(table, steps->mean, "%.0f (%zu of %zu)", steps->mean, steps->count, row->done);
    else
        lab_table_mean(table, steps->mean, 0, steps->count > 1 ? steps->deviation : (double)NAN, 0);
}

static void add_costs(lab_shown *to, const lab_summary *summary, const lab_summary_section *section) {
    static const char *const heads[] = {"encoding", ">steps to 99 %", ">tokens/s",
                                        ">time|s",  ">parameters",    ">peak memory|bytes"};
    static const char *const other_heads[] = {"encoding", ">tokens/s", ">time|s", ">parameters", ">peak memory|bytes"};
    const bool steps = section->class->size != NULL;
    lab_table *table = steps ? lab_table_create(heads, 6) : lab_table_create(other_heads, 5);
    title(table, section);
    for (size_t i = 0; i < section->row_count; i++) {
        const lab_summary_row *row = &section->rows[i];
        char speed[32], seconds[32], parameters[32], peak[32];
        lab_table_cell(table, "%s", row->encoding);
        if (steps)
            cell_steps(table, row);
        if (row->done == 0) {
            for (int k = 0; k < 4; k++)
                lab_table_none(table);
            continue;
        }
        lab_table_number(table, row->tokens_per_second.mean, "%s",
                         lab_count_text(speed, sizeof speed, row->tokens_per_second.mean));
        lab_table_number(table, row->wall_seconds.mean, "%s",
                         lab_seconds_text(seconds, sizeof seconds, row->wall_seconds.mean));
        lab_table_number(table, row->parameters.mean, "%s",
                         lab_count_text(parameters, sizeof parameters, row->parameters.mean));
        lab_table_number(table, row->peak_bytes.mean, "%s", lab_bytes_text(peak, sizeof peak, row->peak_bytes.mean));
    }
    lab_shown_add(to, table, false);
    if (lab_summary_shared_machine(summary, section))
        lab_shown_say(to, "%s",
                      "Runs were trained at the same time, on one machine or several of a kind: speeds and times may "
                      "not be those of a run that has it alone.\n");
}

locus_status lab_summary_show(lab_shown *to, const lab_summary *summary, locus_error *error) {
    const locus_status status = lab_shown_open(to, error);
    if (status != LOCUS_OK)
        return status;
    for (size_t i = 0; i < summary->section_count; i++) {
        const lab_summary_section *section = &summary->sections[i];
        char text[512];
        lab_shown_say(to, "%s%s\n\n", i == 0 ? "" : "\n", heading(section, text));
        add_scores(to, section);
        lab_shown_say(to, "\n");
        add_costs(to, summary, section);
    }
    return LOCUS_OK;
}
