/* SPDX-License-Identifier: MIT */
/* The measured table as a Markdown file. */
#include "report/reproduction/reproduction_report.h"

#include "io/file.h"
#include "io/text_stream.h"
#include "train/configuration/config.h"
#include "train/machine.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Which columns a part of the file has. */
typedef bool column_choice(const lab_reproduction_view *view, size_t column);

static bool every_column(const lab_reproduction_view *view, size_t column) {
    return column < view->table->column_count;
}

static void put_head(const lab_reproduction_view *view, FILE *file, const char *first, column_choice *chosen) {
    fprintf(file, "| %s |", first);
    for (size_t i = 0; i < view->table->column_count; i++)
        if (chosen(view, i))
            fprintf(file, " %s |", view->table->columns[i].head);
    fputs("\n|---|", file);
    for (size_t i = 0; i < view->table->column_count; i++)
        fputs(chosen(view, i) ? "---|" : "", file);
    fputc('\n', file);
}

static void put_row_name(const lab_reproduction_view *view, size_t row, FILE *file) {
    char name[80];
    lab_reproduction_row_name(view->table, row, name, sizeof name);
    fprintf(file, "| %s |", name);
}

/* Rows of what needs no training. */
static void put_guesses(const lab_reproduction_view *view, FILE *file, const char *name, const double *shares) {
    bool any = false;
    for (size_t column = 0; column < view->table->column_count; column++)
        any = any || view->result->uniform[column] > 0;
    if (!any)
        return;
    fprintf(file, "| *%s* |", name);
    for (size_t column = 0; column < view->table->column_count; column++)
        fprintf(file, view->result->uniform[column] > 0 ? " *%.2f* |" : " |", 100 * shares[column]);
    fputc('\n', file);
}

static void put_scores(const lab_reproduction_view *view, FILE *file) {
    put_head(view, file, lab_view_has_published(view) ? "scheme: measured (published)" : "scheme", every_column);
    for (size_t row = 0; row < view->table->row_count; row++) {
        put_row_name(view, row, file);
        for (size_t column = 0; column < view->table->column_count; column++) {
            char measured[64], published[64];
            const char *mark = lab_view_is_best(view, row, column) ? "**" : "";
            lab_field_text(view, row, column, measured, sizeof measured);
            lab_published_text(view, row, column, published, sizeof published);
            fprintf(file, " %s%s%s%s%s |", mark, measured, mark, published[0] != '\0' ? " " : "", published);
        }
        fputc('\n', file);
    }
    put_guesses(view, file, "majority", view->result->chance);
    put_guesses(view, file, "chance", view->result->uniform);
    fputs("\nBold: the column's best, and what is not told from it. Specs: ", file);
    for (size_t row = 0; row < view->table->row_count; row++) {
        char encoding[LAB_SPEC_SIZE];
        fprintf(file, "%s`%s`", row > 0 ? ", " : "", lab_reproduction_row_encoding(view->table, row, encoding));
    }
    fputs(".\n", file);
}

static void put_whole(const lab_reproduction_view *view, FILE *file) {
    size_t first = 0;
    while (first < view->table->column_count && !lab_view_is_whole(view, first))
        first++;
    if (first == view->table->column_count)
        return;
    const lab_train_config *config = &view->table->columns[first].config;
    fprintf(file,
            "\n## Whole outputs right\n\nOf %zu outputs under teacher forcing / of the first %zu by greedy decoding, "
            "%%.\n\n",
            config->test_samples, config->greedy_samples);
    put_head(view, file, "scheme", lab_view_is_whole);
    for (size_t row = 0; row < view->table->row_count; row++) {
        if (!lab_view_row_is_in(view, row, lab_view_is_whole))
            continue;
        put_row_name(view, row, file);
        for (size_t column = 0; column < view->table->column_count; column++) {
            char exact[64], greedy[64];
            const lab_field *field = &view->result->fields[row][column];
            if (lab_view_is_whole(view, column)) {
                fprintf(file, " %s / %s |",
                        lab_measured_text(field, &field->exact, LAB_MEASURE_ACCURACY, exact, sizeof exact),
                        lab_measured_text(field, &field->greedy_exact, LAB_MEASURE_ACCURACY, greedy, sizeof greedy));
            }
        }
        fputc('\n', file);
    }
}

static void put_pairs(const lab_reproduction_view *view, FILE *file) {
    if (view->table->decay != LAB_DECAY_BOTH)
        return;
    fputs("\n## With decay less without\n\nDifference of shares in points, of losses in nats, with the "
          "interval that decides the claim on decay.\n\n",
          file);
    put_head(view, file, "scheme", every_column);
    for (size_t row = 0; row < view->table->row_count; row++) {
        size_t without = lab_view_without_decay(view, row);
        if (without == SIZE_MAX)
            continue;
        fprintf(file, "| %s |", view->table->columns[0].rows[row].name);
        for (size_t column = 0; column < view->table->column_count; column++) {
            char text[64];
            fprintf(file, " %s |", lab_pair_text(view, row, without, column, text, sizeof text));
        }
        fputc('\n', file);
    }
}

/* A text inside a row: | would end its field. */
static void put_field(const char *text, FILE *file) {
    for (; *text != '\0'; text++) {
        if (*text == '|')
            fputc('\\', file);
        fputc(*text, file);
    }
}

static void put_facts(const lab_reproduction_view *view, FILE *file) {
    const lab_reproduction *table = view->table;
    const lab_result *result = view->result;
    char version[256];
    lab_version_text(version, sizeof version);
    if (view->version != NULL)
        snprintf(version, sizeof version, "%s", view->version);
    fputs("| | |\n|---|---|\n", file);
    if (view->command != NULL) {
        fputs("| command | `", file);
        put_field(view->command, file);
        fputs("` |\n", file);
    }
    fprintf(file, "| trained by | locus %s |\n", result->version[0] != '\0' ? result->version : "– (nothing yet)");
    fprintf(file, "| this file by | locus %s |\n", version);
    fprintf(file, "| budget, set-up | %s, %s |\n", table->budget, lab_setup_name(table->setup));
    fprintf(file, "| decay | %s |\n", lab_decay_name(table));
    fprintf(file, "| trainings | %zu of %zu done%s; %zu seed%s from %llu%s |\n", result->done, result->of,
            result->done < result->of ? ": **not finished**" : "", table->seeds, table->seeds == 1 ? "" : "s",
            (unsigned long long)table->first_seed, table->drop_worst ? ", the worst of each field dropped" : "");
    if (result->asked[0] != '\0') {
        fprintf(file, "| **seeds were added** | the trainings' own commands ask for different numbers of seeds: %s |\n",
                result->asked);
    }
    if (result->failed > 0)
        fprintf(file, "| failed | %zu |\n", result->failed);
    if (result->done > 0) {
        fputs("| machine | ", file);
        put_field(result->machine, file);
        fputs(" |\n", file);
        bool hours = result->wall_seconds >= 3600;
        fprintf(file, "| time | %.1f %s of training in all, from %s to %s |\n",
                result->wall_seconds / (hours ? 3600 : 60), hours ? "hours" : "minutes", result->began, result->ended);
        fprintf(file, "| peak memory of a training | %.0f MiB |\n", result->peak_bytes / (1024.0 * 1024.0));
    }
}

static void put_page(const lab_reproduction_view *view, FILE *file) {
    fprintf(file, "# %s at budget %s\n\n", view->table->title, view->table->budget);
    put_facts(view, file);
    fputs(lab_view_has_published(view) ? "\n## Accuracy, measured beside published\n\n" : "\n## Measured\n\n", file);
    lab_legend_write(view, file);
    fputc('\n', file);
    put_scores(view, file);
    put_whole(view, file);
    put_pairs(view, file);
    lab_factors_write(view, file);
    lab_others_write(view, file, true);
    fprintf(file,
            "\n## What the measured table says\n\nAt budget %s: computed from the means over seeds by the rules of "
            "docs/reproduction.md; nothing here is said of the published size.\n\n",
            view->table->budget);
    lab_claims_write(view, file, true);
    fputs("\n## What it does not tell apart\n\nPairs of a column whose difference is not told from 0; all pairs of "
          "a column are looked at together.\n\n",
          file);
    lab_separation_write(view, file, true);
    fputs("\n## What differs from budget paper, and whose its settings are\n\n", file);
    lab_deviations_write(view, file, true);
}

char *lab_reproduction_markdown_text(const lab_reproduction_view *view) {
    char *text = NULL;
    size_t bytes;
    FILE *file = lab_text_stream(&text, &bytes);
    if (file == NULL)
        return NULL;
    put_page(view, file);
    lab_text_close(file, &text);
    return text;
}

const char *lab_own_part(const char *page) {
    static const char line[] = "\n" LAB_OWN_PART;
    const char *found = strstr(page, line);
    return found != NULL ? found + 1 : page + strlen(page);
}

locus_status lab_reproduction_markdown(const lab_reproduction_view *view, const char *path, locus_error *error) {
    lab_output output;
    char *old = NULL;
    size_t bytes;
    locus_status status = access(path, F_OK) == 0 ? lab_file_read(path, &old, &bytes, error) : LOCUS_OK;
    status = status == LOCUS_OK ? lab_output_open(&output, path, error) : status;
    if (status == LOCUS_OK) {
        put_page(view, output.stream);
        const char *own = old != NULL ? lab_own_part(old) : "";
        fprintf(output.stream, "%s%s", *own != '\0' ? "\n" : "", own);
        status = lab_output_commit(&output, error);
        lab_output_discard(&output);
    }
    free(old);
    return status;
}
