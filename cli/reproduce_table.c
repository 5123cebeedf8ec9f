/* SPDX-License-Identifier: MIT */
/* The measured table for the terminal, a few columns at a time, then what it says. */
#include "reproduce_table.h"

#include "output.h"
#include "train/config.h"

#define BLOCK 4 /* columns side by side */

/* What a field shows; `text` receives it. */
typedef void show_function(const lab_reproduction_view *view, size_t row, size_t column, char text[160]);

static void show_accuracy(const lab_reproduction_view *view, size_t row, size_t column, char text[160]) {
    char measured[64], published[64];
    const lab_field *field = &view->result->fields[row][column];
    lab_measured_text(field, &field->accuracy, measured, sizeof measured);
    lab_published_text(view, row, column, published, sizeof published);
    snprintf(text, 160, "%s%s%s", measured, published[0] != '\0' ? " " : "", published);
}

static void show_whole(const lab_reproduction_view *view, size_t row, size_t column, char text[160]) {
    char exact[64], greedy[64];
    const lab_field *field = &view->result->fields[row][column];
    lab_measured_text(field, &field->exact, exact, sizeof exact);
    lab_measured_text(field, &field->greedy_exact, greedy, sizeof greedy);
    snprintf(text, 160, "%s / %s", exact, greedy);
}

/* Of a row with decay: what it is above its own row without. */
static void show_pair(const lab_reproduction_view *view, size_t row, size_t column, char text[160]) {
    const lab_contrast contrast =
        lab_contrast_two(&view->result->fields[row][column].accuracy,
                         &view->result->fields[lab_view_without_decay(view, row)][column].accuracy);
    lab_contrast_text(&contrast, text, 160);
}

static void show_both(const lab_reproduction_view *view, size_t row, size_t column, char text[160]) {
    char with[64], without[64];
    const lab_field *a = &view->result->fields[row][column];
    const lab_field *b = &view->result->fields[lab_view_without_decay(view, row)][column];
    lab_measured_text(a, &a->accuracy, with, sizeof with);
    lab_measured_text(b, &b->accuracy, without, sizeof without);
    snprintf(text, 160, "%s / %s", with, without);
}

/* Rows that `pairs` asks for: all, or those with decay that have a partner without. */
static void print_blocks(const lab_reproduction_view *view, show_function *show, bool pairs, FILE *stream) {
    const lab_reproduction *table = view->table;
    for (size_t first = 0; first < table->column_count; first += BLOCK) {
        size_t count = table->column_count - first < BLOCK ? table->column_count - first : BLOCK;
        const char *heads[BLOCK + 1] = {"scheme"};
        char names[BLOCK][64];
        for (size_t i = 0; i < count; i++) {
            snprintf(names[i], sizeof names[i], ">%s", table->columns[first + i].head);
            heads[i + 1] = names[i];
        }
        cli_table *block = cli_table_create(heads, count + 1);
        for (size_t row = 0; row < table->row_count; row++) {
            char name[80], text[160];
            if (pairs && lab_view_without_decay(view, row) == SIZE_MAX) {
                continue;
            }
            lab_reproduction_row_name(table, row, name, sizeof name);
            cli_table_cell(block, "%s", pairs ? table->columns[0].rows[row].name : name);
            for (size_t i = 0; i < count; i++) {
                show(view, row, first + i, text);
                cli_table_cell(block, "%s", text);
            }
        }
        cli_table_print(block, stream);
        cli_table_free(block);
        fputc('\n', stream);
    }
}

static void print_head(const lab_reproduction_view *view, FILE *stream) {
    const lab_reproduction *table = view->table;
    char seconds[32];
    fprintf(stream, "%s · budget %s · set-up %s · %zu seed%s · decay %s\n", table->title, table->budget,
            lab_setup_name(table->setup), table->seeds, table->seeds == 1 ? "" : "s", lab_decay_name(table->decay));
    fprintf(stream, "%zu of %zu trainings done, %s of training%s\n\n", view->result->done, view->result->of,
            cli_format_seconds(seconds, sizeof seconds, view->result->wall_seconds),
            view->result->done < view->result->of ? "; what is missing is shown as –" : "");
}

void cli_reproduce_print(const lab_reproduction_view *view, FILE *stream) {
    print_head(view, stream);
    print_blocks(view, show_accuracy, false, stream);
    lab_legend_write(view, stream);
    if (lab_view_has_exact(view)) {
        const lab_train_config *config = &view->table->columns[0].config;
        fprintf(stream,
                "\nWhole outputs right, %%: of %zu under teacher forcing / of the first %zu by greedy decoding\n\n",
                config->test_samples, config->greedy_samples);
        print_blocks(view, show_whole, false, stream);
    }
    if (view->table->decay == LAB_DECAY_BOTH) {
        fputs("\nAccuracy with decay / without, %\n\n", stream);
        print_blocks(view, show_both, true, stream);
        fputs("With decay less without, in points, and the 95 % interval\n\n", stream);
        print_blocks(view, show_pair, true, stream);
    }
    fputs("\nWhat the measured table says (verdicts computed from means and 95 % intervals over seeds)\n\n", stream);
    lab_claims_write(view, stream, false);
    fputs("\nWhat it does not tell apart\n\n", stream);
    lab_separation_write(view, stream, false);
    fputs("\nWhat differs from the published set-up\n\n", stream);
    lab_deviations_write(view, stream, false);
}
