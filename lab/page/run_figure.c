/* SPDX-License-Identifier: MIT */
/* See run_figure.h. */
#include "page/run_figure.h"

#include "io/fail.h"
#include "page/chart_sheet.h"
#include "page/section_charts.h"

static const char *const titles[] = {"Learning curves", "Scores by the size of test samples", "What encodings cost"};

static bool is_drawn(const lab_summary_section *section, lab_run_figure figure) {
    return lab_summary_has_scores(section) && (figure != LAB_FIGURE_LENGTHS || lab_section_has_lengths(section));
}

/* What was measured while other runs had a part of the machine is not comparable. */
static locus_status check_alone(const lab_summary *summary, const lab_summary_section *section, locus_error *error) {
    const lab_run *run, *other;
    return !lab_summary_ran_beside(summary, section, &run, &other)
               ? LOCUS_OK
               : lab_fail(error, LOCUS_ERROR_ARGUMENT, "run",
                          "'%s' ran while '%s' did, on one machine or two of a kind: what they cost may not be "
                          "comparable and is not drawn; train one after the other",
                          run->name, other->name);
}

static locus_status draw_section(lab_sheet *sheet, const lab_summary *summary, size_t number, lab_store *store,
                                 lab_run_figure figure, locus_error *error) {
    const lab_summary_section *section = &summary->sections[number];
    locus_status status = figure == LAB_FIGURE_COSTS ? check_alone(summary, section, error) : LOCUS_OK;
    if (status != LOCUS_OK)
        return status;
    lab_sheet_heading(sheet, section);
    if (figure == LAB_FIGURE_COSTS) {
        lab_sheet_costs(sheet, section);
        return LOCUS_OK;
    }
    lab_sheet_legend(sheet, section);
    status = figure == LAB_FIGURE_CURVES ? lab_section_curves(section, store, number + 1, &sheet->taker, error)
                                         : lab_section_lengths(section, number + 1, &sheet->taker, error);
    lab_sheet_break(sheet);
    return status;
}

static locus_status nothing(const lab_summary *summary, lab_run_figure figure, locus_error *error) {
    bool done = false;
    for (size_t i = 0; i < summary->section_count; i++)
        done = done || lab_summary_has_scores(&summary->sections[i]);
    if (!done)
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "run", "none of these runs is finished: there is nothing to draw");
    return lab_fail(error, LOCUS_ERROR_ARGUMENT, "run",
                    figure == LAB_FIGURE_LENGTHS ? "these runs have no scores of other sizes: 'locus eval RUN "
                                                   "--lengths L,L,…' (of trees --depths, of images --sides) makes them"
                                                 : "there is nothing to draw");
}

static locus_status draw(lab_sheet *sheet, const lab_summary *summary, lab_store *store, lab_run_figure figure,
                         locus_error *error) {
    locus_status status = LOCUS_OK;
    size_t drawn = 0;
    for (size_t i = 0; i < summary->section_count && status == LOCUS_OK; i++) {
        if (is_drawn(&summary->sections[i], figure)) {
            status = draw_section(sheet, summary, i, store, figure, error);
            drawn++;
        }
    }
    return status != LOCUS_OK || drawn > 0 ? status : nothing(summary, figure, error);
}

locus_status lab_run_figure_write(lab_store *store, const int64_t *runs, size_t count, lab_run_figure figure,
                                  const char *path, locus_error *error) {
    const lab_summary_filter filter = {.runs = runs, .run_count = count};
    lab_summary summary;
    lab_sheet sheet;
    locus_status status = lab_summary_create(&summary, store, &filter, error);
    if (status != LOCUS_OK)
        return status;
    status = lab_sheet_open(&sheet, error);
    if (status == LOCUS_OK) {
        status = draw(&sheet, &summary, store, figure, error);
        if (status == LOCUS_OK)
            status = lab_sheet_write(&sheet, titles[figure], path, error);
        lab_sheet_close(&sheet);
    }
    lab_summary_free(&summary);
    return status;
}
