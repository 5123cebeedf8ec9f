/* SPDX-License-Identifier: MIT */
/* The page's table of scores: a row for each encoding, columns by the kind of task, published numbers beside them. */
#include "page/page.h"

#include <math.h>
#include <string.h>

/* ---- cells ---- */

static void put_steps(lab_page *page, const lab_summary_row *row) {
    const lab_statistic *s = &row->steps_to_99;
    if (s->count == 0) {
        fputs(row->done ? "<td>never</td>" : "<td>—</td>", page->file);
        return;
    }
    fprintf(page->file, "<td>%.0f", s->mean);
    if (s->count > 1)
        fprintf(page->file, " <small>±%.0f</small>", s->deviation);
    if (s->count < row->done)
        fprintf(page->file, " <small>(%zu of %zu)</small>", s->count, row->done);
    fputs("</td>", page->file);
}

static void put_published(lab_page *page, const lab_published *published) {
    if (!published) {
        fputs("<td class=\"pub\">—</td>", page->file);
        return;
    }
    fprintf(page->file, "<td class=\"pub\">%.2f%s", 100 * published->accuracy, published->doubt ? "†" : "");
    if (published->deviation >= 0)
        fprintf(page->file, " <small>±%.1f</small>", 100 * published->deviation);
    fputs("</td>", page->file);
}

/* ---- rows ---- */

static void put_score_row(lab_page *page, const lab_summary_section *section, size_t index) {
    const lab_task_class *class = section->class;
    const lab_summary_row *row = &section->rows[index];
    lab_page_row(page, row->encoding);
    for (size_t c = 0; c < class->column_count; c++) {
        if (lab_summary_shows(section, c)) {
            lab_page_cell(page, class->columns[c].measure, &row->scores[c],
                          c == section->lead && lab_summary_is_best(section, index, 0));
        }
    }
    for (size_t i = 0; i < lab_summary_length_columns(section); i++)
        lab_page_cell(page, LAB_MEASURE_ACCURACY, &row->at_length[i], lab_summary_is_best(section, index, i + 1));
    if (class->size != NULL)
        put_steps(page, row);
    fprintf(page->file, "<td>%zu</td>", row->done);
    for (size_t span = lab_summary_spans(section); span-- > 0;)
        put_published(page, row->published[span]);
    fputs("</tr>\n", page->file);
}

/* What needs no training. */
static void put_guess_row(lab_page *page, const lab_summary_section *section, const char *name, double share) {
    if (!(share > 0))
        return;
    fprintf(page->file, "<tr><th scope=\"row\"><i>%s</i></th>", name);
    for (size_t c = 0; c < section->class->column_count; c++)
        if (lab_summary_shows(section, c) && c == section->lead)
            fprintf(page->file, "<td>%.2f</td>", 100 * share);
        else if (lab_summary_shows(section, c))
            fputs("<td>—</td>", page->file);
    /* other sizes, steps, seeds, published */
    const size_t others =
        lab_summary_length_columns(section) + (section->class->size != NULL) + 1 + lab_summary_spans(section);
    for (size_t i = 0; i < others; i++)
        fputs("<td>—</td>", page->file);
    fputs("</tr>\n", page->file);
}

/* ---- heads ---- */

/* "two" to "ten"; larger ones in digits. */
static const char *count_text(double count, char text[32]) {
    static const char *const words[] = {"two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"};
    snprintf(text, 32, "%g", count);
    return count >= 2 && count <= 10 ? words[(size_t)count - 2] : text;
}

/* What stands below a column's head: {half}, {epochs} and {classes} are numbers of the section. Where one is unknown,
 * "%" stands alone. */
static void put_unit(lab_page *page, const lab_summary_section *section, const char *unit) {
    char half[32], epochs[32], classes[32];
    const double count = section->chance > 0 ? round(1 / section->chance) : 0;
    snprintf(half, sizeof half, "%g", floor(section->epochs / 2));
    snprintf(epochs, sizeof epochs, "%g", section->epochs);
    const struct {
        const char *name, *text;
        bool known;
    } numbers[] = {{"{half}", half, section->epochs > 0},
                   {"{epochs}", epochs, section->epochs > 0},
                   {"{classes}", count_text(count, classes), count > 0}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const char *at = strstr(unit, numbers[i].name);
        if (at != NULL && numbers[i].known) {
            fprintf(page->file, "<small>%.*s%s%s</small>", (int)(at - unit), unit, numbers[i].text,
                    at + strlen(numbers[i].name));
            return;
        }
    }
    fprintf(page->file, "<small>%s</small>", strchr(unit, '{') == NULL ? unit : "%");
}

static void put_head(lab_page *page, const lab_summary_section *section, const char *label) {
    const lab_task_class *class = section->class;
    lab_page_table(page, label);
    fputs("<thead><tr><th class=\"left\" scope=\"col\">encoding</th>", page->file);
    for (size_t c = 0; c < class->column_count; c++) {
        const lab_score_column *column = &class->columns[c];
        if (lab_summary_shows(section, c)) {
            fprintf(page->file, "<th scope=\"col\">%s", column->page != NULL ? column->page : column->head);
            put_unit(page, section, column->unit);
            fputs("</th>", page->file);
        }
    }
    for (size_t i = 0; i < lab_summary_length_columns(section); i++) {
        fprintf(page->file, "<th scope=\"col\">%s %zu<small>%ss, %%</small></th>", class->size->name,
                section->lengths[i], class->token);
    }
    fputs(class->size != NULL ? "<th scope=\"col\">steps<small>to 99 %</small></th><th scope=\"col\">seeds</th>"
                              : "<th scope=\"col\">seeds</th>",
          page->file);
    const size_t spans = lab_summary_spans(section);
    if (spans == 1)
        fputs("<th scope=\"col\">published<small>budget paper</small></th>", page->file);
    for (size_t span = spans > 1 ? spans : 0; span > 0; span--) {
        fprintf(page->file, "<th scope=\"col\">published<small>up to epoch %d</small></th>",
                LAB_PUBLISHED_EPOCHS / (int)span);
    }
    fputs("</tr></thead>\n<tbody>\n", page->file);
}

/* ---- caption ---- */

static void put_meaning(lab_page *page, const lab_summary_section *section) {
    const lab_legend_facts facts = lab_summary_facts(section);
    char text[500];
    lab_legend_text(section->class->page_legend, &facts, text, sizeof text);
    fputs(text, page->file);
    if (section->more_lengths)
        fprintf(page->file, " Of the sizes tested the smallest %d are shown.", LAB_SUMMARY_MAX_LENGTHS);
}

static void put_source(lab_page *page, const lab_summary_section *section) {
    const lab_published *source = NULL;
    for (size_t i = 0; i < section->row_count && !source; i++)
        source = section->rows[i].published[LAB_SPAN_FULL];
    if (source) {
        fputs(" Published: accuracy of ", page->file);
        lab_page_text(page, source->source);
        fprintf(page->file, ", trained at budget <i>%s</i>%s", source->budget,
                strcmp(source->budget, section->budget) ? "; not comparable with this budget." : ".");
    }
    for (size_t i = 0; i < section->row_count; i++) {
        const lab_published *published = section->rows[i].published[LAB_SPAN_FULL];
        if (published && published->doubt) {
            fputs(" †&thinsp;<code>", page->file);
            lab_page_text(page, section->rows[i].encoding);
            fputs("</code>: ", page->file);
            lab_page_text(page, published->doubt);
            fputs(".", page->file);
        }
    }
}

static void put_score_caption(lab_page *page, const lab_summary_section *section, char label[LAB_PAGE_LABEL]) {
    lab_page_table_number(page, label);
    fputs("Scores on the test set of <i>", page->file);
    lab_page_text(page, section->title);
    fputs("</i>, budget <i>", page->file);
    lab_page_text(page, section->budget);
    fputs("</i>, mean ± standard deviation over seeds. ", page->file);
    put_meaning(page, section);
    fprintf(page->file, "Bold: not separated from the column's %s mean.",
            lab_measure_sign(section->measure) > 0 ? "highest" : "lowest");
    put_source(page, section);
    fputs("</figcaption>\n", page->file);
}

void lab_page_scores(lab_page *page, const lab_summary_section *section) {
    char label[LAB_PAGE_LABEL];
    fputs("<figure data-save=\"scores\">", page->file);
    put_score_caption(page, section, label);
    put_head(page, section, label);
    for (size_t i = 0; i < section->row_count; i++)
        put_score_row(page, section, i);
    fputs("</tbody>\n<tfoot>", page->file);
    put_guess_row(page, section, "majority", section->majority);
    put_guess_row(page, section, "chance", section->chance);
    fputs("</tfoot></table></div></figure>\n", page->file);
}
