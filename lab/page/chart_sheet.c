/* SPDX-License-Identifier: MIT */
/* See chart_sheet.h. A page's charts take colours and style from the page's style (page.css): the part of it that is
 * about charts goes along, and every var(--name) becomes the value that it has in light. Programs that draw SVG know
 * no variables. */
#include "page/chart_sheet.h"

#include "figures/svg_file.h"
#include "io/fail.h"
#include "io/text_stream.h"
#include "page/cost_columns.h"
#include "page/markup.h"
#include "page/page_texts.h"
#include "page/section_charts.h"

#include <stdlib.h>
#include <string.h>

enum {
    GAP = 24,
    LINE = 20,         /* of a legend */
    HEADING = 34,      /* its line, and the room below it */
    NARROW = 56,       /* characters of a name that fit half of the width */
    WIDE = 124,        /* all of it */
    COST_LINE = 38,    /* a row of costs: number and bar */
    COST_NAME = 300,   /* room of the encoding's name */
    COST_COLUMN = 161, /* of each number */
    COST_CHARACTERS = 46
};

/* ---- charts ---- */

static locus_status take_chart(lab_chart_taker *self, const lab_chart *chart, locus_error *error) {
    lab_sheet *sheet = (lab_sheet *)(void *)self;
    const lab_frame frame = lab_frame_of(chart);
    const double left = LAB_SHEET_MARGIN + (double)sheet->column * (LAB_CHART_WIDTH + GAP);
    fprintf(sheet->body, "<g transform=\"translate(%g %g)\"><title>", left, sheet->top);
    lab_markup_text(sheet->body, chart->title);
    fputs("</title>\n", sheet->body);
    const locus_status status = lab_chart_content(chart, &frame, sheet->body, error);
    fputs("</g>\n", sheet->body);
    if (++sheet->column == 2)
        lab_sheet_break(sheet);
    return status;
}

void lab_sheet_break(lab_sheet *sheet) {
    if (sheet->column > 0)
        sheet->top += LAB_CHART_HEIGHT + GAP;
    sheet->column = 0;
}

locus_status lab_sheet_open(lab_sheet *sheet, locus_error *error) {
    *sheet = (lab_sheet){.taker = {take_chart}, .top = LAB_SHEET_MARGIN};
    sheet->body = lab_text_stream(&sheet->text, &sheet->bytes);
    return sheet->body != NULL ? LOCUS_OK : lab_fail_memory(error, "a picture");
}

void lab_sheet_close(lab_sheet *sheet) {
    if (sheet->body != NULL)
        fclose(sheet->body);
    free(sheet->text);
    *sheet = (lab_sheet){.top = 0};
}

/* ---- words ---- */

/* So many characters of a text at most; what is cut ends in "…". */
static void put_cut(FILE *out, const char *text, size_t most) {
    char cut[4 * WIDE + 8];
    size_t at = 0, shown = 0;
    for (; text[at] != '\0' && shown < most && at < sizeof cut - 8; at++) {
        cut[at] = text[at];
        shown += ((unsigned char)text[at + 1] & 0xC0) != 0x80; /* the next byte begins a character */
    }
    snprintf(cut + at, sizeof cut - at, "%s", text[at] != '\0' ? "…" : "");
    lab_markup_text(out, cut);
}

static size_t characters(const char *text) {
    size_t count = 0;
    for (; *text != '\0'; text++)
        count += ((unsigned char)*text & 0xC0) != 0x80;
    return count;
}

void lab_sheet_heading(lab_sheet *sheet, const lab_summary_section *section) {
    const char *const words[] = {section->title, section->apart, section->budget, section->setup,
                                 section->class->vocabulary != NULL ? section->embedding_init : ""};
    static const char *const before[] = {"", "", "budget ", "set-up ", "embeddings "};
    fprintf(sheet->body, "<text class=\"label\" x=\"%d\" y=\"%g\">", LAB_SHEET_MARGIN, sheet->top + 12);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (words[i][0] == '\0')
            continue;
        fprintf(sheet->body, "%s%s", i > 0 ? " · " : "", before[i]);
        lab_markup_text(sheet->body, words[i]);
    }
    lab_markup_text(sheet->body, section->class->vocabulary != NULL ? section->scales : "");
    fputs("</text>\n", sheet->body);
    sheet->top += HEADING;
}

static bool draws(const lab_summary_section *section, size_t row) {
    return row < LAB_CHART_MOST_ROWS && section->rows[row].done > 0;
}

void lab_sheet_legend(lab_sheet *sheet, const lab_summary_section *section) {
    size_t columns = 2, shown = 0;
    for (size_t i = 0; i < section->row_count; i++)
        if (draws(section, i) && characters(section->rows[i].encoding) > NARROW)
            columns = 1;
    for (size_t i = 0; i < section->row_count; i++) {
        const lab_summary_row *row = &section->rows[i];
        const double x = LAB_SHEET_MARGIN + (double)(shown % columns) * (LAB_CHART_WIDTH + GAP);
        const size_t line = shown / columns;
        const double y = sheet->top + (double)line * LINE;
        if (!draws(section, i))
            continue;
        fprintf(sheet->body, "<g transform=\"translate(%g %g)\">", x, y);
        lab_chart_sample(sheet->body, row->colour, row->mark);
        fputs("<text x=\"44\" y=\"9\">", sheet->body);
        put_cut(sheet->body, row->encoding, columns == 1 ? WIDE : NARROW);
        fputs("</text></g>\n", sheet->body);
        shown++;
    }
    const size_t lines = (shown + columns - 1) / columns;
    sheet->top += (double)lines * LINE + 12;
}

/* ---- costs ---- */

static void put_cost(lab_sheet *sheet, const lab_summary_section *section, size_t row, size_t column) {
    const lab_cost *cost = &lab_costs[column];
    const lab_statistic *s = lab_cost_of(&section->rows[row], cost);
    const double x = LAB_SHEET_MARGIN + COST_NAME + (double)column * COST_COLUMN, most = lab_cost_most(section, cost);
    char text[40] = "—";
    if (s->count > 0)
        cost->format(text, sizeof text, s->mean);
    fprintf(sheet->body, "<text x=\"%g\" y=\"%g\">%s", x, sheet->top + 12, text);
    if (lab_cost_spread(s) > 0)
        fprintf(sheet->body, " ±%.1f %%", lab_cost_spread(s));
    fputs("</text>", sheet->body);
    if (s->count > 0 && most > 0) {
        fprintf(sheet->body, "<rect x=\"%g\" y=\"%g\" width=\"%.1f\" height=\"7\" fill=\"var(--c%zu)\"/>\n", x,
                sheet->top + 18, (COST_COLUMN - 16) * s->mean / most, section->rows[row].colour);
    }
}

void lab_sheet_costs(lab_sheet *sheet, const lab_summary_section *section) {
    for (size_t c = 0; c < LAB_COSTS; c++) {
        const double x = LAB_SHEET_MARGIN + COST_NAME + (double)c * COST_COLUMN;
        fprintf(sheet->body,
                "<text class=\"label\" x=\"%g\" y=\"%g\">%s</text><text class=\"small\" x=\"%g\" y=\"%g\">%s</text>\n",
                x, sheet->top + 10, lab_costs[c].name, x, sheet->top + 25, lab_costs[c].unit);
    }
    sheet->top += COST_LINE;
    for (size_t i = 0; i < section->row_count; i++) {
        if (section->rows[i].done == 0)
            continue;
        fprintf(sheet->body, "<text x=\"%d\" y=\"%g\">", LAB_SHEET_MARGIN, sheet->top + 12);
        put_cut(sheet->body, section->rows[i].encoding, COST_CHARACTERS);
        fputs("</text>", sheet->body);
        for (size_t c = 0; c < LAB_COSTS; c++)
            put_cost(sheet, section, i, c);
        sheet->top += COST_LINE;
    }
    sheet->top += GAP;
}

/* ---- the file ---- */

/* What the page's style says of charts. */
static const char *chart_style(size_t *bytes) {
    const char *begin = strstr(lab_page_style, "/* ---- charts ---- */");
    const char *end = begin != NULL ? strstr(begin + 1, "/* ----") : NULL;
    *bytes = end != NULL ? (size_t)(end - begin) : 0;
    return begin;
}

/* Of "--name", the value that it has in light, which stands first; NULL: there is none. */
static const char *value_of(const char *name, size_t length, size_t *bytes) {
    for (const char *at = lab_page_style; (at = strstr(at, "--")) != NULL; at += 2) {
        if (strncmp(at, name, length) == 0 && at[length] == ':') {
            const char *value = at + length + 1 + strspn(at + length + 1, " ");
            *bytes = strcspn(value, ";");
            return value;
        }
    }
    return NULL;
}

/* `text` has a zero behind it somewhere. */
static void put_resolved(FILE *out, const char *text, size_t length) {
    const char *end = text + length;
    while (text < end) {
        const char *found = strstr(text, "var(--"), *at = found != NULL && found < end ? found : NULL;
        const char *close = at != NULL ? memchr(at, ')', (size_t)(end - at)) : NULL;
        size_t bytes = 0;
        const char *value = close != NULL ? value_of(at + 4, (size_t)(close - at) - 4, &bytes) : NULL;
        const char *until = close == NULL ? end : value != NULL ? at : close + 1;
        fwrite(text, 1, (size_t)(until - text), out);
        fwrite(value != NULL ? value : "", 1, bytes, out);
        text = close == NULL ? end : close + 1;
    }
}

static void put_sheet(const lab_sheet *sheet, const char *title, FILE *out) {
    size_t bytes;
    const char *style = chart_style(&bytes);
    fprintf(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" width=\"%d\" height=\"%g\" viewBox=\"0 0 %d %g\" "
        "role=\"img\">\n<title>",
        LAB_SHEET_WIDTH, sheet->top, LAB_SHEET_WIDTH, sheet->top);
    lab_markup_text(out, title);
    fputs("</title>\n<style>", out);
    put_resolved(out, style, bytes);
    fputs("</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n", out);
    put_resolved(out, sheet->text, sheet->bytes);
    fputs("</svg>\n", out);
}

locus_status lab_sheet_write(lab_sheet *sheet, const char *title, const char *path, locus_error *error) {
    char *svg = NULL;
    size_t bytes = 0;
    lab_sheet_break(sheet);
    const bool drawn = fflush(sheet->body) == 0 && !ferror(sheet->body);
    FILE *out = drawn ? lab_text_stream(&svg, &bytes) : NULL;
    if (out != NULL)
        put_sheet(sheet, title, out);
    const locus_status status =
        lab_text_close(out, &svg) ? lab_svg_write(svg, bytes, path, error) : lab_fail_memory(error, "a picture");
    free(svg);
    return status;
}
