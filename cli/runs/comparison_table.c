/* SPDX-License-Identifier: MIT */
#include "comparison_table.h"

#include "output.h"
#include "report/published.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* "99.98 ±0.02" in percent; the deviation only over several seeds. */
static void cell_share(lab_table *table, const lab_statistic *share) {
    lab_table_mean(table, share->count == 0 ? (double)NAN : 100 * share->mean, 2,
                   share->count > 1 ? 100 * share->deviation : (double)NAN, 2);
}

/* What its runs share, before the terminal's lines and in each table of other forms. */
static const char *heading(const lab_summary_section *section, char text[512]) {
    const bool images = section->kind == LAB_TASK_IMAGES;
    snprintf(text, 512, "%s · budget %s · set-up %s%s%s%s%s%s", section->title, section->budget, section->setup,
             images ? "" : " · embeddings ", images ? "" : section->embedding_init, section->scales,
             section->data[0] == '\0' ? "" : " · ", section->data);
    return text;
}

static void title(lab_table *table, const lab_summary_section *section) {
    char text[512];
    lab_table_title(table, "%s", heading(section, text));
}

static bool any_published(const lab_summary_section *section) {
    for (size_t i = 0; i < section->row_count; i++)
        if (section->rows[i].has_published)
            return true;
    return false;
}

static void cell_published(lab_table *table, bool known, double mean, double deviation) {
    lab_table_mean(table, known ? 100 * mean : (double)NAN, 2, deviation < 0 ? (double)NAN : 100 * deviation, 1);
}

static void cell_seeds(lab_table *table, const lab_summary_row *row) {
    lab_table_cell(table, "%s", row->encoding);
    if (row->done == row->run_count)
        lab_table_number(table, (double)row->done, "%zu", row->done);
    else
        lab_table_number(table, (double)row->done, "%zu of %zu", row->done, row->run_count);
}

/* Where the published numbers are from. */
static void print_source(const lab_summary_section *section, const char *what) {
    for (size_t i = 0; i < section->row_count; i++) {
        const lab_published *found =
            lab_published_look(section->task, section->order, LAB_SPAN_FULL, section->rows[i].encoding);
        if (found != NULL && section->rows[i].has_published) {
            cli_say("* %s, at budget %s%s: %s.\n", what, found->budget,
                    strcmp(found->budget, section->budget) ? " (not the budget measured here)" : "", found->source);
            return;
        }
    }
}

static void print_image_scores(const lab_summary_section *section) {
    static const char *const heads[] = {"encoding",          ">seeds",        ">best to half|%",
                                        ">best of all|%",    ">at the end|%", ">published @150*|%",
                                        ">published @300*|%"};
    const bool published = any_published(section);
    lab_table *table = lab_table_create(heads, published ? 7 : 5);
    title(table, section);
    for (size_t i = 0; i < section->row_count; i++) {
        const lab_summary_row *row = &section->rows[i];
        cell_seeds(table, row);
        cell_share(table, &row->accuracy_half);
        cell_share(table, &row->accuracy);
        cell_share(table, &row->accuracy_last);
        if (published) {
            cell_published(table, row->has_published_half, row->published_half, row->published_half_deviation);
            cell_published(table, row->has_published, row->published, row->published_deviation);
        }
    }
    cli_table_print(table);
    cli_say("%s", "Shares of the test images in %: the best epoch up to half of them, of all, and the last");
    if (section->epochs > 0)
        cli_say(" of %g", section->epochs);
    cli_say("%s", ".\n");
    print_source(section, "up to epoch 150 and 300");
}

/* Columns for sets of other lengths, of trees of other depths. */
static size_t name_lengths(const lab_summary_section *section, char names[][48], const char **heads) {
    const char *size = section->kind == LAB_TASK_TREES ? "depth" : "length";
    for (size_t i = 0; i < section->length_count; i++) {
        snprintf(names[2 * i], 48, ">%s %zu|%%", size, section->lengths[i]);
        snprintf(names[2 * i + 1], 48, ">greedy %zu|%%", section->lengths[i]);
        heads[2 * i] = names[2 * i];
        heads[2 * i + 1] = names[2 * i + 1];
    }
    return 2 * section->length_count;
}

static void print_pair_scores(const lab_summary_section *section) {
    char names[2 * LAB_SUMMARY_MAX_LENGTHS][48];
    const char *heads[6 + 2 * LAB_SUMMARY_MAX_LENGTHS] = {"encoding", ">seeds", ">accuracy|%", ">exact|%",
                                                          ">greedy exact|%"};
    size_t columns = 5 + name_lengths(section, names, heads + 5);
    const bool published = any_published(section), trees = section->kind == LAB_TASK_TREES;
    if (published)
        heads[columns++] = ">published*|%";
    lab_table *table = lab_table_create(heads, columns);
    title(table, section);
    for (size_t i = 0; i < section->row_count; i++) {
        const lab_summary_row *row = &section->rows[i];
        cell_seeds(table, row);
        cell_share(table, &row->accuracy);
        cell_share(table, &row->exact);
        cell_share(table, &row->greedy_exact);
        for (size_t l = 0; l < section->length_count; l++) {
            cell_share(table, &row->at_length[l]);
            cell_share(table, &row->greedy_at_length[l]);
        }
        if (published)
            cell_published(table, row->has_published, row->published, row->published_deviation);
    }
    cli_table_print(table);
    cli_say("Shares in %%: %s right and whole %s right under teacher forcing, whole %s right by greedy decoding",
            trees ? "nodes" : "tokens", trees ? "trees" : "outputs", trees ? "trees" : "outputs");
    if (section->length_count > 0 || !trees) {
        cli_say(";\n\"%s N\", \"greedy N\": %s, and greedy, on %s of mean %s N.\n", trees ? "depth" : "length",
                trees ? "nodes" : "tokens", trees ? "trees" : "words", trees ? "depth" : "length");
    } else {
        cli_say("%s", ".\n");
    }
    print_source(section, trees ? "nodes" : "tokens");
}

/* Numbers that are no shares: "1.2345 ±0.0012". */
static void cell_number(lab_table *table, const lab_statistic *number, int decimals) {
    lab_table_mean(table, number->count == 0 ? (double)NAN : number->mean, decimals,
                   number->count > 1 ? number->deviation : (double)NAN, decimals);
}

static bool any_solved(const lab_summary_section *section) {
    bool any = false;
    for (size_t i = 0; i < section->row_count; i++)
        any = any || section->rows[i].greedy_exact.count > 0;
    return any;
}

static void print_problem_scores(const lab_summary_section *section) {
    static const char *const heads[] = {"encoding", ">seeds", ">accuracy|%", ">loss", ">solved|%"};
    const bool solved = any_solved(section);
    lab_table *table = lab_table_create(heads, solved ? 5 : 4);
    title(table, section);
    for (size_t i = 0; i < section->row_count; i++) {
        const lab_summary_row *row = &section->rows[i];
        cell_seeds(table, row);
        cell_share(table, &row->accuracy);
        cell_number(table, &row->loss, 4);
        if (solved)
            cell_share(table, &row->greedy_exact);
    }
    cli_table_print(table);
    cli_say("Characters right in %% and nats a character, teacher-forced%s.\n",
            solved ? "; problems solved to the letter by greedy decoding in %" : "");
}

static void print_language_scores(const lab_summary_section *section) {
    static const char *const heads[] = {"encoding", ">seeds", ">perplexity", ">bits per byte", ">loss", ">accuracy|%"};
    lab_table *table = lab_table_create(heads, 6);
    title(table, section);
    for (size_t i = 0; i < section->row_count; i++) {
        const lab_summary_row *row = &section->rows[i];
        cell_seeds(table, row);
        cell_number(table, &row->perplexity, 2);
        cell_number(table, &row->bits_per_byte, 4);
        cell_number(table, &row->loss, 4);
        cell_share(table, &row->accuracy);
    }
    cli_table_print(table);
    cli_say("%s",
            "Perplexity is exp(loss), loss in nats a token; bits per byte of the text; next tokens right in %.\n");
}

static void print_expression_scores(const lab_summary_section *section) {
    static const char *const heads[] = {"encoding", ">seeds", ">accuracy|%", ">loss", ">published*|%"};
    const bool published = any_published(section);
    lab_table *table = lab_table_create(heads, published ? 5 : 4);
    title(table, section);
    for (size_t i = 0; i < section->row_count; i++) {
        const lab_summary_row *row = &section->rows[i];
        cell_seeds(table, row);
        cell_share(table, &row->accuracy);
        cell_number(table, &row->loss, 4);
        if (published)
            cell_published(table, row->has_published, row->published, row->published_deviation);
    }
    cli_table_print(table);
    if (section->chance > 0) {
        cli_say("Expressions right in %%: chance is %.2f, always the most common class %.2f.\n", 100 * section->chance,
                100 * section->majority);
    } else {
        cli_say("%s", "Expressions right in %.\n"); /* no run is done that says what guessing scores */
    }
    print_source(section, "accuracy");
}

static void print_scores(const lab_summary_section *section) {
    switch (section->kind) {
    case LAB_TASK_IMAGES:
        print_image_scores(section);
        break;
    case LAB_TASK_PROBLEMS:
        print_problem_scores(section);
        break;
    case LAB_TASK_TEXT:
        print_language_scores(section);
        break;
    case LAB_TASK_EXPRESSIONS:
        print_expression_scores(section);
        break;
    case LAB_TASK_WORDS:
    case LAB_TASK_TREES:
        print_pair_scores(section);
        break;
    }
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

static void print_costs(const lab_summary *summary, const lab_summary_section *section) {
    static const char *const heads[] = {"encoding", ">steps to 99 %", ">tokens/s",
                                        ">time|s",  ">parameters",    ">peak memory|bytes"};
    static const char *const other_heads[] = {"encoding", ">tokens/s", ">time|s", ">parameters", ">peak memory|bytes"};
    const bool steps = section->kind == LAB_TASK_WORDS || section->kind == LAB_TASK_TREES;
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
                         cli_format_count(speed, sizeof speed, row->tokens_per_second.mean));
        lab_table_number(table, row->wall_seconds.mean, "%s",
                         cli_format_seconds(seconds, sizeof seconds, row->wall_seconds.mean));
        lab_table_number(table, row->parameters.mean, "%s",
                         cli_format_count(parameters, sizeof parameters, row->parameters.mean));
        lab_table_number(table, row->peak_bytes.mean, "%s", cli_format_bytes(peak, sizeof peak, row->peak_bytes.mean));
    }
    cli_table_print(table);
    if (lab_summary_shared_machine(summary, section))
        cli_say("%s", "Runs shared the machine: speeds and times are not those of a run that has it alone.\n");
}

void cli_comparison_print(const lab_summary *summary) {
    for (size_t i = 0; i < summary->section_count; i++) {
        const lab_summary_section *section = &summary->sections[i];
        char text[512];
        cli_say("%s%s\n\n", i == 0 ? "" : "\n", heading(section, text));
        print_scores(section);
        cli_say("\n");
        print_costs(summary, section);
    }
}
