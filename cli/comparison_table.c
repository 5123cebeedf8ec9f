/* SPDX-License-Identifier: MIT */
#include "comparison_table.h"

#include "output.h"
#include "report/published.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* "99.98 ±0.02" in percent; the deviation only over several seeds. */
static void cell_share(cli_table *table, const lab_statistic *share) {
    if (share->count == 0)
        cli_table_cell(table, "–");
    else if (share->count == 1)
        cli_table_cell(table, "%.2f", 100 * share->mean);
    else
        cli_table_cell(table, "%.2f ±%.2f", 100 * share->mean, 100 * share->deviation);
}

static bool any_published(const lab_summary_section *section) {
    for (size_t i = 0; i < section->row_count; i++)
        if (section->rows[i].has_published)
            return true;
    return false;
}

static void cell_published(cli_table *table, bool known, double mean, double deviation) {
    if (!known)
        cli_table_cell(table, "–");
    else if (deviation < 0)
        cli_table_cell(table, "%.2f", 100 * mean);
    else
        cli_table_cell(table, "%.2f ±%.1f", 100 * mean, 100 * deviation);
}

static void cell_seeds(cli_table *table, const lab_summary_row *row) {
    cli_table_cell(table, "%s", row->encoding);
    if (row->done == row->run_count)
        cli_table_cell(table, "%zu", row->done);
    else
        cli_table_cell(table, "%zu of %zu", row->done, row->run_count);
}

/* Where the published numbers are from. */
static void print_source(const lab_summary_section *section, const char *what, FILE *stream) {
    for (size_t i = 0; i < section->row_count; i++) {
        const lab_published *found =
            lab_published_look(section->task, section->order, LAB_SPAN_FULL, section->rows[i].encoding);
        if (found != NULL && section->rows[i].has_published) {
            cli_write(stream, "* %s, at budget %s%s: %s.\n", what, found->budget,
                      strcmp(found->budget, section->budget) ? " (not the budget measured here)" : "", found->source);
            return;
        }
    }
}

static void print_image_scores(const lab_summary_section *section, FILE *stream) {
    static const char *const heads[] = {"encoding",    ">seeds",           ">best to half",   ">best of all",
                                        ">at the end", ">published @150*", ">published @300*"};
    const bool published = any_published(section);
    cli_table *table = cli_table_create(heads, published ? 7 : 5);
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
    cli_table_print(table, stream);
    cli_table_free(table);
    fputs("Shares of the test images in %: the best epoch up to half of them, of all, and the last", stream);
    if (section->epochs > 0)
        cli_write(stream, " of %g", section->epochs);
    fputs(".\n", stream);
    print_source(section, "up to epoch 150 and 300", stream);
}

/* Columns for sets of other lengths, of trees of other depths. */
static size_t name_lengths(const lab_summary_section *section, char names[][48], const char **heads) {
    const char *size = section->kind == LAB_TASK_TREES ? "depth" : "length";
    for (size_t i = 0; i < section->length_count; i++) {
        snprintf(names[2 * i], 48, ">%s %zu", size, section->lengths[i]);
        snprintf(names[2 * i + 1], 48, ">greedy %zu", section->lengths[i]);
        heads[2 * i] = names[2 * i];
        heads[2 * i + 1] = names[2 * i + 1];
    }
    return 2 * section->length_count;
}

static void print_pair_scores(const lab_summary_section *section, FILE *stream) {
    char names[2 * LAB_SUMMARY_MAX_LENGTHS][48];
    const char *heads[6 + 2 * LAB_SUMMARY_MAX_LENGTHS] = {"encoding", ">seeds", ">accuracy", ">exact", ">greedy exact"};
    size_t columns = 5 + name_lengths(section, names, heads + 5);
    const bool published = any_published(section), trees = section->kind == LAB_TASK_TREES;
    if (published)
        heads[columns++] = ">published*";
    cli_table *table = cli_table_create(heads, columns);
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
    cli_table_print(table, stream);
    cli_table_free(table);
    cli_write(stream,
              "Shares in %%: %s right and whole %s right under teacher forcing, whole %s right by greedy decoding",
              trees ? "nodes" : "tokens", trees ? "trees" : "outputs", trees ? "trees" : "outputs");
    if (section->length_count > 0 || !trees) {
        cli_write(stream, ";\n\"%s N\", \"greedy N\": %s, and greedy, on %s of mean %s N.\n",
                  trees ? "depth" : "length", trees ? "nodes" : "tokens", trees ? "trees" : "words",
                  trees ? "depth" : "length");
    } else {
        fputs(".\n", stream);
    }
    print_source(section, trees ? "nodes" : "tokens", stream);
}

/* Numbers that are no shares: "1.2345 ±0.0012". */
static void cell_number(cli_table *table, const lab_statistic *number, int decimals) {
    if (number->count == 0)
        cli_table_cell(table, "–");
    else if (number->count == 1)
        cli_table_cell(table, "%.*f", decimals, number->mean);
    else
        cli_table_cell(table, "%.*f ±%.*f", decimals, number->mean, decimals, number->deviation);
}

static bool any_solved(const lab_summary_section *section) {
    bool any = false;
    for (size_t i = 0; i < section->row_count; i++)
        any = any || section->rows[i].greedy_exact.count > 0;
    return any;
}

static void print_problem_scores(const lab_summary_section *section, FILE *stream) {
    static const char *const heads[] = {"encoding", ">seeds", ">accuracy", ">loss", ">solved"};
    const bool solved = any_solved(section);
    cli_table *table = cli_table_create(heads, solved ? 5 : 4);
    for (size_t i = 0; i < section->row_count; i++) {
        const lab_summary_row *row = &section->rows[i];
        cell_seeds(table, row);
        cell_share(table, &row->accuracy);
        cell_number(table, &row->loss, 4);
        if (solved)
            cell_share(table, &row->greedy_exact);
    }
    cli_table_print(table, stream);
    cli_table_free(table);
    cli_write(stream, "Characters right in %% and nats a character, teacher-forced%s.\n",
              solved ? "; problems solved to the letter by greedy decoding in %" : "");
}

static void print_language_scores(const lab_summary_section *section, FILE *stream) {
    static const char *const heads[] = {"encoding", ">seeds", ">perplexity", ">bits per byte", ">loss", ">accuracy"};
    cli_table *table = cli_table_create(heads, 6);
    for (size_t i = 0; i < section->row_count; i++) {
        const lab_summary_row *row = &section->rows[i];
        cell_seeds(table, row);
        cell_number(table, &row->perplexity, 2);
        cell_number(table, &row->bits_per_byte, 4);
        cell_number(table, &row->loss, 4);
        cell_share(table, &row->accuracy);
    }
    cli_table_print(table, stream);
    cli_table_free(table);
    fputs("Perplexity is exp(loss), loss in nats a token; bits per byte of the text; next tokens right in %.\n",
          stream);
}

static void print_expression_scores(const lab_summary_section *section, FILE *stream) {
    static const char *const heads[] = {"encoding", ">seeds", ">accuracy", ">loss", ">published*"};
    const bool published = any_published(section);
    cli_table *table = cli_table_create(heads, published ? 5 : 4);
    for (size_t i = 0; i < section->row_count; i++) {
        const lab_summary_row *row = &section->rows[i];
        cell_seeds(table, row);
        cell_share(table, &row->accuracy);
        cell_number(table, &row->loss, 4);
        if (published)
            cell_published(table, row->has_published, row->published, row->published_deviation);
    }
    cli_table_print(table, stream);
    cli_table_free(table);
    if (section->chance > 0) {
        cli_write(stream, "Expressions right in %%: chance is %.2f, always the most common class %.2f.\n",
                  100 * section->chance, 100 * section->majority);
    } else {
        fputs("Expressions right in %.\n", stream); /* no run is done that says what guessing scores */
    }
    print_source(section, "accuracy", stream);
}

static void print_scores(const lab_summary_section *section, FILE *stream) {
    switch (section->kind) {
    case LAB_TASK_IMAGES:
        print_image_scores(section, stream);
        break;
    case LAB_TASK_PROBLEMS:
        print_problem_scores(section, stream);
        break;
    case LAB_TASK_TEXT:
        print_language_scores(section, stream);
        break;
    case LAB_TASK_EXPRESSIONS:
        print_expression_scores(section, stream);
        break;
    case LAB_TASK_WORDS:
    case LAB_TASK_TREES:
        print_pair_scores(section, stream);
        break;
    }
}

/* Steps are means over the seeds that got there. */
static void cell_steps(cli_table *table, const lab_summary_row *row) {
    const lab_statistic *steps = &row->steps_to_99;
    if (steps->count == 0)
        cli_table_cell(table, row->done > 0 ? "never" : "–");
    else if (steps->count < row->done)
        cli_table_cell(table, "%.0f (%zu of %zu)", steps->mean, steps->count, row->done);
    else if (steps->count == 1)
        cli_table_cell(table, "%.0f", steps->mean);
    else
        cli_table_cell(table, "%.0f ±%.0f", steps->mean, steps->deviation);
}

static void print_costs(const lab_summary *summary, const lab_summary_section *section, FILE *stream) {
    static const char *const heads[] = {"encoding", ">steps to 99 %", ">tokens/s",
                                        ">time",    ">parameters",    ">peak memory"};
    static const char *const other_heads[] = {"encoding", ">tokens/s", ">time", ">parameters", ">peak memory"};
    const bool steps = section->kind == LAB_TASK_WORDS || section->kind == LAB_TASK_TREES;
    cli_table *table = steps ? cli_table_create(heads, 6) : cli_table_create(other_heads, 5);
    for (size_t i = 0; i < section->row_count; i++) {
        const lab_summary_row *row = &section->rows[i];
        char speed[32], seconds[32], parameters[32], peak[32];
        cli_table_cell(table, "%s", row->encoding);
        if (steps)
            cell_steps(table, row);
        if (row->done == 0) {
            for (int k = 0; k < 4; k++)
                cli_table_cell(table, "–");
            continue;
        }
        cli_table_cell(table, "%s", cli_format_count(speed, sizeof speed, row->tokens_per_second.mean));
        cli_table_cell(table, "%s", cli_format_seconds(seconds, sizeof seconds, row->wall_seconds.mean));
        cli_table_cell(table, "%s", cli_format_count(parameters, sizeof parameters, row->parameters.mean));
        cli_table_cell(table, "%s", cli_format_bytes(peak, sizeof peak, row->peak_bytes.mean));
    }
    cli_table_print(table, stream);
    cli_table_free(table);
    if (lab_summary_shared_machine(summary, section))
        fputs("Runs shared the machine: speeds and times are not those of a run that has it alone.\n", stream);
}

void cli_comparison_print(const lab_summary *summary, FILE *stream) {
    for (size_t i = 0; i < summary->section_count; i++) {
        const lab_summary_section *section = &summary->sections[i];
        const bool images = section->kind == LAB_TASK_IMAGES;
        cli_write(stream, "%s%s · budget %s · set-up %s%s%s%s%s%s\n\n", i == 0 ? "" : "\n", section->title,
                  section->budget, section->setup, images ? "" : " · embeddings ",
                  images ? "" : section->embedding_init, section->scales, section->data[0] == '\0' ? "" : " · ",
                  section->data);
        print_scores(section, stream);
        fputc('\n', stream);
        print_costs(summary, section, stream);
    }
}
