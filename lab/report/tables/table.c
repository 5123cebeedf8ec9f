/* SPDX-License-Identifier: MIT */
/* Cells, and the terminal's form. */
#include "report/tables/table.h"
#include "io/fail.h"
#include "io/grow.h"
#include "io/printable.h"
#include "report/tables/table_parts.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { CELL = 1024 };

/* ---- a table's life ---- */

/* Heads may be names that a store gave. */
static char *fit(const char *text, size_t length) {
    char *own = strndup(text, length);
    if (own != NULL)
        lab_printable(own, "");
    return own;
}

static bool name_column(lab_table_column *column, const char *head) {
    column->right = head[0] == '>';
    head += column->right;
    const size_t length = strcspn(head, "|");
    column->head = fit(head, length);
    column->unit = strdup(head[length] == '|' ? head + length + 1 : "");
    return column->head != NULL && column->unit != NULL;
}

lab_table *lab_table_create(const char *const *heads, size_t columns) {
    lab_table *table = calloc(1, sizeof *table);
    if (table == NULL)
        return NULL;
    table->columns = calloc(columns, sizeof *table->columns);
    table->column_count = table->columns != NULL ? columns : 0;
    table->lost = table->columns == NULL;
    for (size_t i = 0; i < table->column_count; i++)
        table->lost = !name_column(&table->columns[i], heads[i]) || table->lost;
    return table;
}

void lab_table_name(lab_table *table, size_t column, const char *head) {
    if (table == NULL || column >= table->column_count)
        return;
    free(table->columns[column].head);
    table->columns[column].head = fit(head, strlen(head));
    table->lost = table->columns[column].head == NULL || table->lost;
}

void lab_table_free(lab_table *table) {
    if (table == NULL)
        return;
    for (size_t i = 0; i < table->column_count; i++) {
        free(table->columns[i].head);
        free(table->columns[i].unit);
    }
    for (size_t i = 0; i < table->count; i++)
        free(table->cells[i].text);
    free(table->columns);
    free(table->cells);
    free(table->title);
    free(table);
}

/* ---- cells ---- */

/* What the terminal shows, made fit for it; NULL: out of memory. */
LAB_TABLE_PRINTF(1, 0) static char *shown(const char *format, va_list list) {
    char text[CELL];
    if (vsnprintf(text, sizeof text, format, list) >= (int)sizeof text)
        lab_mark_cut(text, sizeof text);
    lab_printable(text, "");
    return strdup(text);
}

void lab_table_lose(lab_table *table) {
    if (table != NULL)
        table->lost = true;
}

/* Owns `cell.text`. */
static void add(lab_table *table, lab_table_field cell) {
    if (table == NULL || table->lost || cell.text == NULL ||
        !LAB_GROW(table->cells, table->count, table->capacity, 64)) {
        free(cell.text);
        lab_table_lose(table);
        return;
    }
    lab_table_column *column = &table->columns[table->count % table->column_count];
    column->numbers = column->numbers || isfinite(cell.value);
    column->deviations = column->deviations || isfinite(cell.deviation);
    table->cells[table->count++] = cell;
}

void lab_table_cell(lab_table *table, const char *format, ...) {
    lab_table_field cell = {.value = NAN, .deviation = NAN};
    va_list list;
    va_start(list, format);
    cell.text = shown(format, list);
    va_end(list);
    add(table, cell);
}

/* Decimals that the terminal shows of the value itself; -1: it shows it in another unit. */
static int decimals_shown(const char *text, double value) {
    char *end;
    const double shown_value = strtod(text, &end);
    const char *dot = memchr(text, '.', (size_t)(end - text));
    const int decimals = dot != NULL ? (int)(end - dot) - 1 : 0;
    const bool plain = end != text && memchr(text, 'e', (size_t)(end - text)) == NULL;
    return plain && fabs(shown_value - value) <= 0.501 * pow(10, -decimals) ? decimals : -1;
}

void lab_table_number(lab_table *table, double value, const char *format, ...) {
    lab_table_field cell = {.value = value, .deviation = NAN, .none = !isfinite(value)};
    va_list list;
    va_start(list, format);
    cell.text = shown(format, list);
    cell.decimals = cell.text != NULL ? decimals_shown(cell.text, value) : 0;
    va_end(list);
    add(table, cell);
}

void lab_table_mean(lab_table *table, double mean, int decimals, double deviation, int deviation_decimals) {
    lab_table_field cell = {
        .value = mean, .deviation = deviation, .decimals = decimals, .deviation_decimals = deviation_decimals};
    char text[64];
    if (!isfinite(mean)) {
        lab_table_none(table);
        return;
    }
    if (isfinite(deviation))
        snprintf(text, sizeof text, "%.*f ±%.*f", decimals, mean, deviation_decimals, deviation);
    else
        snprintf(text, sizeof text, "%.*f", decimals, mean);
    cell.text = strdup(text);
    add(table, cell);
}

void lab_table_none(lab_table *table) {
    add(table, (lab_table_field){.text = strdup("–"), .value = NAN, .deviation = NAN, .none = true});
}

void lab_table_title(lab_table *table, const char *format, ...) {
    va_list list;
    if (table == NULL)
        return;
    va_start(list, format);
    free(table->title);
    table->title = shown(format, list);
    va_end(list);
    table->lost = table->lost || table->title == NULL;
}

/* ---- the terminal's form ---- */

/* Code points that take a column: all but continuation bytes and combining marks (U+0300 … U+036F). */
size_t lab_text_width(const char *text) {
    size_t width = 0;
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        const bool combining = c[0] == 0xCC || (c[0] == 0xCD && c[1] < 0xB0);
        width += (*c & 0xC0) != 0x80 && !combining;
    }
    return width;
}

/* The last left-aligned column is not filled up, so that no line ends in spaces. */
static void write_cell(const lab_table *table, size_t column, const char *text, size_t width, FILE *stream) {
    const int fill = (int)(width - lab_text_width(text));
    const char *gap = column > 0 ? "  " : "";
    if (table->columns[column].right)
        fprintf(stream, "%s%*s%s", gap, fill, "", text);
    else
        fprintf(stream, "%s%s%*s", gap, text, column + 1 < table->column_count ? fill : 0, "");
}

static bool write_text(const lab_table *table, bool bold, FILE *stream) {
    const size_t columns = table->column_count, rows = lab_table_whole_rows(table);
    size_t *widths = malloc((columns + 1) * sizeof *widths);
    if (widths == NULL)
        return false;
    fputs(bold ? "\033[1m" : "", stream);
    for (size_t i = 0; i < columns; i++) {
        widths[i] = lab_text_width(table->columns[i].head);
        for (size_t row = 0; row < rows; row++) {
            const size_t width = lab_text_width(lab_table_at(table, row, i)->text);
            widths[i] = width > widths[i] ? width : widths[i];
        }
        write_cell(table, i, table->columns[i].head, widths[i], stream);
    }
    fputs(bold ? "\033[0m\n" : "\n", stream);
    for (size_t row = 0; row < rows; row++) {
        for (size_t i = 0; i < columns; i++)
            write_cell(table, i, lab_table_at(table, row, i)->text, widths[i], stream);
        fputc('\n', stream);
    }
    free(widths);
    return true;
}

locus_status lab_table_write(const lab_table *table, lab_table_format format, bool bold, FILE *stream,
                             locus_error *error) {
    bool good = table != NULL && !table->lost;
    switch (good ? (int)format : -1) {
    case LAB_TABLE_TEXT:
        good = write_text(table, bold, stream);
        break;
    case LAB_TABLE_JSON:
        good = lab_table_write_json(table, stream);
        break;
    case LAB_TABLE_CSV:
        good = lab_table_write_csv(table, stream);
        break;
    case LAB_TABLE_LATEX:
        good = lab_table_write_latex(table, stream);
        break;
    case LAB_TABLE_MARKDOWN:
        good = lab_table_write_markdown(table, stream);
        break;
    default:
        break;
    }
    return good ? LOCUS_OK : lab_fail_memory(error, "a table");
}
