/* SPDX-License-Identifier: MIT */
/* The page's learning curves, and its scores against test length. */
#include "page/page.h"
#include "page/section_charts.h"

#include <ctype.h>

/* A chart as a cell of a figure's grid. */
typedef struct cells {
    lab_chart_taker taker;
    lab_page *page;
} cells;

static locus_status take_cell(lab_chart_taker *self, const lab_chart *chart, locus_error *error) {
    FILE *file = ((cells *)(void *)self)->page->file;
    fputs("<div class=\"cell\">", file);
    const locus_status status = lab_chart_draw(chart, file, error);
    fputs("</div>\n", file);
    return status;
}

static void open_figure(lab_page *page, const lab_summary_section *section) {
    fputs("<figure data-save=\"charts\">", page->file);
    lab_page_legend(page, section);
    fputs("<div class=\"grid\">\n", page->file);
}

locus_status lab_page_curves(lab_page *page, const lab_summary_section *section, size_t number, locus_error *error) {
    cells own = {{take_cell}, page};
    open_figure(page, section);
    const locus_status status = lab_section_curves(section, page->store, number, &own.taker, error);
    fputs("</div>", page->file);
    lab_page_figure(page);
    fprintf(page->file, "%s</figcaption></figure>\n", section->class->curves->caption);
    return status;
}

locus_status lab_page_lengths(lab_page *page, const lab_summary_section *section, size_t number, locus_error *error) {
    const lab_length_axis *axis = section->class->lengths;
    cells own = {{take_cell}, page};
    if (!lab_section_has_lengths(section))
        return LOCUS_OK;
    open_figure(page, section);
    const locus_status status = lab_section_lengths(section, number, &own.taker, error);
    fputs("</div>", page->file);
    lab_page_figure(page);
    if (axis->parts) {
        fprintf(page->file, "Scores by %s: the longest training input has %g tokens; what is beyond it is shaded. ",
                axis->name, section->trained_length);
    } else {
        fprintf(page->file,
                "%c%s extrapolation: test sets of other %s than the trained one, %g; what is beyond it is shaded. ",
                toupper((unsigned char)axis->name[0]), axis->name + 1, axis->others, section->trained_length);
    }
    fprintf(page->file, "%s Bars are ± one standard deviation over seeds.</figcaption></figure>\n", axis->caption);
    return status;
}
