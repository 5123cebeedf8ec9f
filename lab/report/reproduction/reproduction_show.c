/* SPDX-License-Identifier: MIT */
/* The measured table for the terminal, a few columns at a time, then what it says. */
#include "report/reproduction/reproduction_report.h"
#include "report/tables/shown_number.h"
#include "train/configuration/config.h"

#include <math.h>

#define BLOCK 4 /* columns side by side */

/* What a field shows; `text` receives it. */
typedef void show_function(const lab_reproduction_view *view, size_t row, size_t column, char text[160]);

static void show_score(const lab_reproduction_view *view, size_t row, size_t column, char text[160]) {
    char measured[64], published[64];
    lab_field_text(view, row, column, measured, sizeof measured);
    lab_published_text(view, row, column, published, sizeof published);
    snprintf(text, 160, "%s%s%s", measured, published[0] != '\0' ? " " : "", published);
}

static void show_whole(const lab_reproduction_view *view, size_t row, size_t column, char text[160]) {
    char exact[64], greedy[64];
    const lab_field *field = &view->result->fields[row][column];
    lab_measured_text(field, &field->exact, LAB_MEASURE_ACCURACY, exact, sizeof exact);
    lab_measured_text(field, &field->greedy_exact, LAB_MEASURE_ACCURACY, greedy, sizeof greedy);
    snprintf(text, 160, "%s / %s", exact, greedy);
}

/* Of a row with decay: what it is above its own row without. */
static void show_pair(const lab_reproduction_view *view, size_t row, size_t column, char text[160]) {
    lab_pair_text(view, row, lab_view_without_decay(view, row), column, text, 160);
}

static void show_both(const lab_reproduction_view *view, size_t row, size_t column, char text[160]) {
    char with[64], without[64];
    lab_field_text(view, row, column, with, sizeof with);
    lab_field_text(view, lab_view_without_decay(view, row), column, without, sizeof without);
    snprintf(text, 160, "%s%s%s", with, with[0] != '\0' ? " / " : "", without);
}

/* What a part of the output shows: of which columns, of which rows. */
typedef struct part {
    show_function *show;
    bool (*columns)(const lab_reproduction_view *view, size_t column); /* NULL: all */
    bool pairs;   /* only rows with decay that have a partner without */
    bool guesses; /* and what needs no training */
} part;

/* A row of shares that need no training, where a column has them. */
static void add_guess(const lab_reproduction_view *view, lab_table *block, const char *name, const double *shares,
                      const size_t *columns, size_t count) {
    bool any = false;
    for (size_t i = 0; i < count; i++)
        any = any || view->result->uniform[columns[i]] > 0;
    if (!any)
        return;
    lab_table_cell(block, "%s", name);
    for (size_t i = 0; i < count; i++)
        if (view->result->uniform[columns[i]] > 0)
            lab_table_mean(block, 100 * shares[columns[i]], 2, (double)NAN, 0);
        else
            lab_table_cell(block, "%s", "");
}

static void add_rows(const lab_reproduction_view *view, lab_table *block, const part *what, const size_t *columns,
                     size_t count) {
    const lab_reproduction *table = view->table;
    for (size_t row = 0; row < table->row_count; row++) {
        char name[80], text[160];
        if ((what->pairs && lab_view_without_decay(view, row) == SIZE_MAX) ||
            (what->columns != NULL && !lab_view_row_is_in(view, row, what->columns)))
            continue;
        lab_reproduction_row_name(table, row, name, sizeof name);
        lab_table_cell(block, "%s", what->pairs ? table->columns[0].rows[row].name : name);
        for (size_t i = 0; i < count; i++) {
            what->show(view, row, columns[i], text);
            lab_table_cell(block, "%s", text);
        }
    }
}

static void add_block(lab_shown *to, const lab_reproduction_view *view, const part *what, const size_t *columns,
                      size_t count, const char *title) {
    const char *heads[BLOCK + 1] = {"scheme"};
    char names[BLOCK][80];
    for (size_t i = 0; i < count; i++) {
        snprintf(names[i], sizeof names[i], ">%s", view->table->columns[columns[i]].head);
        heads[i + 1] = names[i];
    }
    lab_table *block = lab_table_create(heads, count + 1);
    lab_table_title(block, "%s%s%s", view->table->title, title[0] != '\0' ? ", " : "", title);
    add_rows(view, block, what, columns, count);
    if (what->guesses) {
        add_guess(view, block, "majority", view->result->chance, columns, count);
        add_guess(view, block, "chance", view->result->uniform, columns, count);
    }
    lab_shown_add(to, block, false);
    lab_shown_say(to, "\n");
}

static void add_blocks(lab_shown *to, const lab_reproduction_view *view, const part *what, const char *title) {
    size_t columns[BLOCK], count = 0;
    for (size_t column = 0; column < view->table->column_count; column++) {
        if (what->columns == NULL || what->columns(view, column))
            columns[count++] = column;
        if (count == BLOCK || (count > 0 && column + 1 == view->table->column_count)) {
            add_block(to, view, what, columns, count, title);
            count = 0;
        }
    }
}

static void add_head(lab_shown *to, const lab_reproduction_view *view) {
    const lab_reproduction *table = view->table;
    char seconds[32];
    lab_shown_say(to, "%s · budget %s · set-up %s · %zu seed%s · decay %s\n", table->title, table->budget,
                  lab_setup_name(table->setup), table->seeds, table->seeds == 1 ? "" : "s", lab_decay_name(table));
    lab_shown_say(to, "%zu of %zu trainings done, %s of training%s\n\n", view->result->done, view->result->of,
                  lab_seconds_text(seconds, sizeof seconds, view->result->wall_seconds),
                  view->result->done < view->result->of ? "; what is missing is shown as –" : "");
}

static void add_whole(lab_shown *to, const lab_reproduction_view *view) {
    for (size_t column = 0; column < view->table->column_count; column++) {
        const lab_train_config *config = &view->table->columns[column].config;
        if (!lab_view_is_whole(view, column))
            continue;
        lab_shown_say(
            to, "\nWhole outputs right, %%: of %zu under teacher forcing / of the first %zu by greedy decoding\n\n",
            config->test_samples, config->greedy_samples);
        add_blocks(to, view, &(part){.show = show_whole, .columns = lab_view_is_whole},
                   "whole outputs right, teacher-forced / greedy");
        return;
    }
}

static void add_pairs(lab_shown *to, const lab_reproduction_view *view) {
    lab_shown_say(to, "\nWith decay / without\n\n");
    add_blocks(to, view, &(part){.show = show_both, .pairs = true}, "with decay / without");
    lab_shown_say(to, "With decay less without, shares in points, losses in nats, and the interval that decides\n\n");
    add_blocks(to, view, &(part){.show = show_pair, .pairs = true}, "with decay less without");
}

locus_status lab_reproduction_show(lab_shown *to, const lab_reproduction_view *view, locus_error *error) {
    const locus_status status = lab_shown_open(to, error);
    if (status != LOCUS_OK)
        return status;
    add_head(to, view);
    add_blocks(to, view, &(part){.show = show_score, .guesses = true}, "");
    lab_legend_write(view, to->lines);
    add_whole(to, view);
    if (view->table->decay == LAB_DECAY_BOTH)
        add_pairs(to, view);
    lab_others_write(view, to->lines, false);
    lab_shown_say(to, "\nWhat the measured table says (docs/reproduction.md has the rules)\n\n");
    lab_claims_write(view, to->lines, false);
    lab_shown_say(to, "\nWhat it does not tell apart\n\n");
    lab_separation_write(view, to->lines, false);
    lab_shown_say(to, "\nWhat differs from budget paper, and whose its settings are\n\n");
    lab_deviations_write(view, to->lines, false);
    return LOCUS_OK;
}
