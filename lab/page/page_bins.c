/* SPDX-License-Identifier: MIT */
/* Trees by depth and by number of nodes, expressions by depth and by number of tokens: a figure of measures against
 * both, and the tables that it is drawn from. */
#include "page/chart_draw.h"
#include "page/page.h"

#include <string.h>

enum { MOST_ROWS = LAB_PAGE_MOST_ROWS, MEASURES = LAB_BIN_MEASURES };

static const char *const measure_names[MEASURES] = {"accuracy", "exact", "greedy exact"};

/* One of the two ways to sort trees. */
typedef struct bin_axis {
    const lab_summary_bins *bins;
    bool by_nodes;
    const lab_bin_words *words;
} bin_axis;

static const lab_summary_bin_score *scores_of(const lab_summary_row *row, const bin_axis *axis) {
    return axis->by_nodes ? row->at_nodes : row->at_depth;
}

/* "5", "17–32", "65+". */
static void bin_text(const lab_summary_bin *bin, char *text, size_t size) {
    if (bin->high == bin->low)
        snprintf(text, size, "%zu", bin->low);
    else if (bin->high == SIZE_MAX)
        snprintf(text, size, "%zu+", bin->low);
    else
        snprintf(text, size, "%zu–%zu", bin->low, bin->high);
}

/* ---- figure ---- */

/* The axis' names: bins, and under them how many trees they have. */
static size_t name_bins(const bin_axis *axis, char texts[][96], const char **names) {
    for (size_t i = 0; i < axis->bins->count; i++) {
        const lab_summary_bin *bin = &axis->bins->bins[i];
        bin_text(bin, texts[i], 48);
        if (bin->samples > 0) {
            const size_t used = strlen(texts[i]);
            snprintf(texts[i] + used, 96 - used, "\n%zu", bin->samples);
        }
        names[i] = texts[i];
    }
    return axis->bins->count;
}

static locus_status draw_panel(lab_page *page, const lab_summary_section *section, const bin_axis *axis, size_t measure,
                               const char *id, locus_error *error) {
    const lab_bin_words *words = axis->words;
    const size_t rows = section->row_count < MOST_ROWS ? section->row_count : MOST_ROWS;
    lab_score_line lines[MOST_ROWS] = {0};
    lab_series series[MOST_ROWS];
    char texts[LAB_SUMMARY_MAX_BINS][96];
    const char *names[LAB_SUMMARY_MAX_BINS];
    lab_chart chart = {.id = id,
                       .title = words->titles[axis->by_nodes][measure],
                       .x_label = words->x_labels[axis->by_nodes],
                       .y_label = words->y_labels[measure],
                       .width = LAB_CHART_WIDTH,
                       .height = LAB_CHART_HEIGHT,
                       .x_low = -0.5,
                       .x_high = (double)axis->bins->count - 0.5,
                       .y_high = 104,
                       .dodge = true,
                       .series = series,
                       .x_names = names,
                       .x_name_count = name_bins(axis, texts, names)};
    for (size_t i = 0; i < rows; i++) {
        const lab_summary_bin_score *scores = scores_of(&section->rows[i], axis);
        for (size_t b = 0; scores && b < axis->bins->count; b++)
            lab_score_line_add(&lines[i], (double)b, LAB_MEASURE_ACCURACY, &scores[b].scores[measure]);
        if (lines[i].count > 0)
            series[chart.series_count++] = lab_score_series(&section->rows[i], &lines[i]);
    }
    if (chart.series_count == 0)
        return LOCUS_OK;
    fputs("<div class=\"cell\">", page->file);
    locus_status status = lab_chart_draw(&chart, page->file, error);
    fputs("</div>\n", page->file);
    return status;
}

/* ---- tables ---- */

static bool any_scores(const lab_summary_section *section, const bin_axis *axis, size_t measure) {
    for (size_t i = 0; i < section->row_count; i++) {
        const lab_summary_bin_score *scores = scores_of(&section->rows[i], axis);
        for (size_t b = 0; scores && b < axis->bins->count; b++)
            if (scores[b].scores[measure].count > 0)
                return true;
    }
    return false;
}

static void put_head(lab_page *page, const bin_axis *axis) {
    char text[48];
    fprintf(page->file,
            "<thead><tr><th class=\"left\" scope=\"col\">%s</th><th class=\"left\" scope=\"col\">score, %%</th>",
            axis->words->heads[axis->by_nodes]);
    for (size_t b = 0; b < axis->bins->count; b++) {
        bin_text(&axis->bins->bins[b], text, sizeof text);
        fprintf(page->file, "<th scope=\"col\">%s", text);
        if (axis->bins->bins[b].samples > 0)
            fprintf(page->file, "<small>n = %zu</small>", axis->bins->bins[b].samples);
        fputs("</th>", page->file);
    }
    fputs("</tr></thead>\n", page->file);
}

static void put_table(lab_page *page, const lab_summary_section *section, const bin_axis *axis) {
    char label[40];
    snprintf(label, sizeof label, "figure%zu", page->figures);
    lab_page_table(page, label);
    put_head(page, axis);
    fputs("<tbody>\n", page->file);
    for (size_t i = 0; i < section->row_count; i++) {
        const lab_summary_bin_score *scores = scores_of(&section->rows[i], axis);
        for (size_t m = 0; scores && section->rows[i].done > 0 && m < MEASURES; m++) {
            if (!any_scores(section, axis, m))
                continue;
            lab_page_row(page, section->rows[i].encoding);
            fprintf(page->file, "<td class=\"left\">%s</td>", measure_names[m]);
            for (size_t b = 0; b < axis->bins->count; b++)
                lab_page_cell(page, LAB_MEASURE_ACCURACY, &scores[b].scores[m], false);
            fputs("</tr>\n", page->file);
        }
    }
    fputs("</tbody></table></div>\n", page->file);
}

/* ---- both ---- */

locus_status lab_page_bins(lab_page *page, const lab_summary_section *section, size_t number, locus_error *error) {
    const lab_bin_words *words = section->class->bins;
    const bin_axis axes[2] = {{&section->depths, false, words}, {&section->nodes, true, words}};
    static const size_t drawn[] = {0, 2}; /* accuracy and greedy exact */
    locus_status status = LOCUS_OK;
    if (words == NULL || (section->depths.count == 0 && section->nodes.count == 0))
        return LOCUS_OK;
    fputs("<figure data-save=\"charts\">", page->file);
    lab_page_legend(page, section);
    fputs("<div class=\"grid\">\n", page->file);
    for (size_t i = 0; i < words->drawn && status == LOCUS_OK; i++) {
        char id[40];
        snprintf(id, sizeof id, "bins%zu_%zu", number, i);
        status = draw_panel(page, section, &axes[i % 2], drawn[i / 2], id, error);
    }
    fputs("</div>", page->file);
    lab_page_figure(page);
    fprintf(page->file, "%s</figcaption>\n<details><summary>The numbers of figure %zu%s</summary>\n", words->caption,
            page->figures, words->summary);
    for (size_t i = 0; i < 2; i++)
        if (axes[i].bins->count > 0)
            put_table(page, section, &axes[i]);
    fputs("</details></figure>\n", page->file);
    return status;
}
