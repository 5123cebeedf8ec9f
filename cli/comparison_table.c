/* SPDX-License-Identifier: MIT */
#include "comparison_table.h"

#include "output.h"
#include "report/published.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* "99.98 ±0.02" in percent; the deviation only over several seeds. */
static void cell_share(cli_table *table, const lab_statistic *share) {
    if (share->count == 0) {
        cli_table_cell(table, "–");
    } else if (share->count == 1) {
        cli_table_cell(table, "%.2f", 100 * share->mean);
    } else {
        cli_table_cell(table, "%.2f ±%.2f", 100 * share->mean, 100 * share->deviation);
    }
}

static bool any_published(const lab_summary_section *section) {
    for (size_t i = 0; i < section->row_count; i++) {
        if (section->rows[i].has_published) {
            return true;
        }
    }
    return false;
}

static void cell_published(cli_table *table, const lab_summary_row *row) {
    if (!row->has_published) {
        cli_table_cell(table, "–");
    } else if (row->published_deviation < 0) {
        cli_table_cell(table, "%.2f", 100 * row->published);
    } else {
        cli_table_cell(table, "%.2f ±%.1f", 100 * row->published, 100 * row->published_deviation);
    }
}

static void print_scores(const lab_summary_section *section, FILE *stream) {
    char names[2 * LAB_SUMMARY_MAX_LENGTHS][48];
    const char *heads[6 + 2 * LAB_SUMMARY_MAX_LENGTHS] = {"encoding", ">seeds", ">accuracy", ">exact", ">greedy exact"};
    size_t columns = 5;
    bool published = any_published(section);
    for (size_t i = 0; i < section->length_count; i++) {
        snprintf(names[2 * i], sizeof names[0], ">length %zu", section->lengths[i]);
        snprintf(names[2 * i + 1], sizeof names[0], ">greedy %zu", section->lengths[i]);
        heads[columns++] = names[2 * i];
        heads[columns++] = names[2 * i + 1];
    }
    if (published) {
        heads[columns++] = ">published*";
    }
    cli_table *table = cli_table_create(heads, columns);
    for (size_t i = 0; i < section->row_count; i++) {
        const lab_summary_row *row = &section->rows[i];
        cli_table_cell(table, "%s", row->encoding);
        if (row->done == row->run_count) {
            cli_table_cell(table, "%zu", row->done);
        } else {
            cli_table_cell(table, "%zu of %zu", row->done, row->run_count);
        }
        cell_share(table, &row->accuracy);
        cell_share(table, &row->exact);
        cell_share(table, &row->greedy_exact);
        for (size_t l = 0; l < section->length_count; l++) {
            cell_share(table, &row->at_length[l]);
            cell_share(table, &row->greedy_at_length[l]);
        }
        if (published) {
            cell_published(table, row);
        }
    }
    cli_table_print(table, stream);
    cli_table_free(table);
    fputs("Shares in %: tokens right and whole outputs right under teacher forcing, whole outputs right by greedy "
          "decoding;\n"
          "\"length N\", \"greedy N\": tokens, and greedy, on words of mean length N.\n",
          stream);
    for (size_t i = 0; published && i < section->row_count; i++) {
        const lab_published *found = lab_published_find(section->task, section->rows[i].encoding);
        if (found != NULL) {
            fprintf(stream, "* tokens, at budget %s (not the budget measured here): %s.\n", found->budget,
                    found->source);
            break;
        }
    }
}

/* Steps are means over the seeds that got there. */
static void cell_steps(cli_table *table, const lab_summary_row *row) {
    const lab_statistic *steps = &row->steps_to_99;
    if (steps->count == 0) {
        cli_table_cell(table, row->done > 0 ? "never" : "–");
    } else if (steps->count < row->done) {
        cli_table_cell(table, "%.0f (%zu of %zu)", steps->mean, steps->count, row->done);
    } else if (steps->count == 1) {
        cli_table_cell(table, "%.0f", steps->mean);
    } else {
        cli_table_cell(table, "%.0f ±%.0f", steps->mean, steps->deviation);
    }
}

static void print_costs(const lab_summary_section *section, FILE *stream) {
    static const char *const heads[] = {"encoding", ">steps to 99 %", ">tokens/s",
                                        ">time",    ">parameters",    ">peak memory"};
    cli_table *table = cli_table_create(heads, sizeof heads / sizeof *heads);
    for (size_t i = 0; i < section->row_count; i++) {
        const lab_summary_row *row = &section->rows[i];
        char speed[32], seconds[32], parameters[32], peak[32];
        cli_table_cell(table, "%s", row->encoding);
        cell_steps(table, row);
        if (row->done == 0) {
            for (int k = 0; k < 4; k++) {
                cli_table_cell(table, "–");
            }
            continue;
        }
        cli_table_cell(table, "%s", cli_format_count(speed, sizeof speed, row->tokens_per_second.mean));
        cli_table_cell(table, "%s", cli_format_seconds(seconds, sizeof seconds, row->wall_seconds.mean));
        cli_table_cell(table, "%s", cli_format_count(parameters, sizeof parameters, row->parameters.mean));
        cli_table_cell(table, "%s", cli_format_bytes(peak, sizeof peak, row->peak_bytes.mean));
    }
    cli_table_print(table, stream);
    cli_table_free(table);
}

void cli_comparison_print(const lab_summary *summary, FILE *stream) {
    for (size_t i = 0; i < summary->section_count; i++) {
        const lab_summary_section *section = &summary->sections[i];
        fprintf(stream, "%s%s · budget %s · set-up %s · embeddings %s%s%s\n\n", i == 0 ? "" : "\n", section->task,
                section->budget, section->setup, section->embedding_init, section->data[0] == '\0' ? "" : " · ",
                section->data);
        print_scores(section, stream);
        fputc('\n', stream);
        print_costs(section, stream);
    }
}
