/* SPDX-License-Identifier: MIT */
/* Tables for other programs: a writer for each form. Texts may be anybody's: each form has its own way to make them
 * nothing but text. */
#include "io/csv.h"
#include "io/json.h"
#include "io/printable.h"
#include "report/tables/table_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* "accuracy (%)", "accuracy deviation (%)", or the unit alone; NULL: out of memory. */
static char *head_of(const lab_table_column *column, bool of_deviation) {
    const char *more = of_deviation ? " deviation" : "";
    const size_t size = strlen(column->head) + strlen(column->unit) + sizeof " deviation ()";
    const bool both = column->head[0] != '\0' && column->unit[0] != '\0';
    char *head = malloc(size);
    if (head != NULL)
        snprintf(head, size, both ? "%s%s (%s)" : "%s%s%s", column->head, more, column->unit);
    return head;
}

/* ---- JSON and CSV: heads and values, "<head> deviation" beside them ---- */

static void add_value(cJSON *object, const char *head, const lab_table_field *cell) {
    if (isfinite(cell->value))
        cJSON_AddNumberToObject(object, head, cell->value);
    else if (cell->none)
        cJSON_AddNullToObject(object, head);
    else
        cJSON_AddStringToObject(object, head, cell->text);
}

static bool add_member(cJSON *object, const lab_table *table, size_t row, size_t column) {
    char *head = head_of(&table->columns[column], false), *more = head_of(&table->columns[column], true);
    const lab_table_field *cell = lab_table_at(table, row, column);
    const bool good = head != NULL && more != NULL;
    if (good)
        add_value(object, head, cell);
    if (good && isfinite(cell->deviation))
        cJSON_AddNumberToObject(object, more, cell->deviation);
    free(head);
    free(more);
    return good;
}

bool lab_table_write_json(const lab_table *table, FILE *stream) {
    const size_t losses = lab_json_losses();
    cJSON *array = cJSON_CreateArray();
    bool good = true;
    for (size_t row = 0; row < lab_table_whole_rows(table); row++) {
        cJSON *object = cJSON_CreateObject();
        if (table->title != NULL)
            cJSON_AddStringToObject(object, "section", table->title);
        for (size_t i = 0; i < table->column_count; i++)
            good = add_member(object, table, row, i) && good;
        lab_json_put(array, NULL, object);
    }
    char *text = cJSON_Print(array);
    good = good && text != NULL && lab_json_losses() == losses;
    if (good)
        fprintf(stream, "%s\n", text);
    cJSON_free(text);
    cJSON_Delete(array);
    return good;
}

static void put_csv(const lab_table_field *cell, FILE *stream) {
    if (isfinite(cell->value))
        lab_csv_number(stream, cell->value);
    else if (!cell->none)
        lab_csv_text(stream, cell->text);
}

bool lab_table_write_csv(const lab_table *table, FILE *stream) {
    bool good = true;
    fputs(table->title != NULL ? "section," : "", stream);
    for (size_t i = 0; i < 2 * table->column_count; i++) {
        const lab_table_column *column = &table->columns[i / 2];
        if (i % 2 == 1 && !column->deviations)
            continue;
        char *head = head_of(column, i % 2 == 1);
        good = good && head != NULL;
        fputs(i > 0 ? "," : "", stream);
        lab_csv_text(stream, head != NULL ? head : "");
        free(head);
    }
    fputc('\n', stream);
    for (size_t row = 0; row < lab_table_whole_rows(table); row++) {
        if (table->title != NULL)
            lab_csv_text(stream, table->title);
        for (size_t i = 0; i < table->column_count; i++) {
            const lab_table_field *cell = lab_table_at(table, row, i);
            fputs(i > 0 || table->title != NULL ? "," : "", stream);
            put_csv(cell, stream);
            if (table->columns[i].deviations) {
                fputc(',', stream);
                lab_csv_number(stream, cell->deviation);
            }
        }
        fputc('\n', stream);
    }
    return good;
}

/* ---- LaTeX ---- */

typedef struct replacement {
    const char *from, *to;
} replacement;

/* What a form writes instead of a character; NULL: it stands as it is. */
static const char *replace(const replacement *list, const char *at, size_t bytes) {
    for (; list->from != NULL; list++)
        if (strlen(list->from) == bytes && memcmp(list->from, at, bytes) == 0)
            return list->to;
    return NULL;
}

/* Letters of Latin-1 that pdfLaTeX has in every encoding of fonts; what is neither one nor in the list stands as '?'.
 * */
static bool is_latin(const unsigned char *at, size_t bytes) {
    return bytes == 1 ||
           (bytes == 2 && at[0] == 0xC3 && (at[1] & 0xDF) != 0x90 && (at[1] & 0xDF) != 0x97 && (at[1] & 0xDF) != 0x9E);
}

static void put_latex(const char *text, FILE *stream) {
    static const replacement list[] = {{"\\", "\\textbackslash{}"},
                                       {"{", "\\{"},
                                       {"}", "\\}"},
                                       {"#", "\\#"},
                                       {"$", "\\$"},
                                       {"%", "\\%"},
                                       {"&", "\\&"},
                                       {"_", "\\_"},
                                       {"^", "\\textasciicircum{}"},
                                       {"~", "\\textasciitilde{}"},
                                       {"<", "$<$"},
                                       {">", "$>$"},
                                       {"|", "$|$"},
                                       {"–", "--"},
                                       {"…", "\\dots{}"},
                                       {"±", "$\\pm$"},
                                       {"×", "$\\times$"},
                                       {"·", "$\\cdot$"},
                                       {"√", "$\\surd$"},
                                       {"≤", "$\\leq$"},
                                       {"≥", "$\\geq$"},
                                       {"−", "$-$"},
                                       {"⌈", "$\\lceil$"},
                                       {"⌉", "$\\rceil$"},
                                       {"π", "$\\pi$"},
                                       {"ᵀ", "$^\\top$"},
                                       {"²", "$^2$"},
                                       {"\"", "''"},
                                       {NULL, NULL}};
    const size_t end = strlen(text);
    for (size_t at = 0, bytes; at < end; at += bytes) {
        bool is_shown;
        bytes = lab_printable_at(text + at, end - at, &is_shown);
        const char *other = replace(list, text + at, bytes);
        if (other != NULL)
            fputs(other, stream);
        else if (is_shown && is_latin((const unsigned char *)text + at, bytes))
            fwrite(text + at, 1, bytes, stream);
        else
            fputc('?', stream);
    }
}

static void put_number(double value, int decimals, FILE *stream) {
    if (decimals >= 0)
        fprintf(stream, "%.*f", decimals, value);
    else
        fprintf(stream, "%.4g", value);
}

/* In a column of numbers what is none stands in braces. */
static void put_latex_cell(const lab_table_field *cell, bool numbers, FILE *stream) {
    if (numbers && isfinite(cell->value)) {
        put_number(cell->value, cell->value == rint(cell->value) && cell->decimals < 0 ? 0 : cell->decimals, stream);
        if (isfinite(cell->deviation)) {
            fputs(" \\pm ", stream);
            put_number(cell->deviation, cell->deviation_decimals, stream);
        }
        return;
    }
    fputs(numbers ? "{" : "", stream);
    put_latex(cell->text, stream);
    fputs(numbers ? "}" : "", stream);
}

static bool put_latex_heads(const lab_table *table, FILE *stream) {
    bool good = true;
    for (size_t i = 0; i < table->column_count; i++) {
        char *head = head_of(&table->columns[i], false);
        good = good && head != NULL;
        fputs(i > 0 ? " & {" : "{", stream);
        put_latex(head != NULL ? head : "", stream);
        fputs("}", stream);
        free(head);
    }
    return good;
}

/* What the \\ of the row above would take for its own. */
static bool begins_argument(const char *text) {
    return text != NULL && (text[0] == '[' || text[0] == '*');
}

bool lab_table_write_latex(const lab_table *table, FILE *stream) {
    fputs("% \\usepackage{booktabs, siunitx}\n", stream);
    if (table->title != NULL)
        fprintf(stream, "%% %s\n", table->title);
    fputs("\\begin{tabular}{", stream);
    for (size_t i = 0; i < table->column_count; i++)
        fputs(table->columns[i].numbers ? "S" : table->columns[i].right ? "r" : "l", stream);
    fputs("}\n\\toprule\n", stream);
    const bool good = put_latex_heads(table, stream);
    fputs(" \\\\\n\\midrule\n", stream);
    for (size_t row = 0; row < lab_table_whole_rows(table); row++) {
        for (size_t i = 0; i < table->column_count; i++) {
            fputs(i > 0 ? " & " : begins_argument(lab_table_at(table, row, i)->text) ? "{}" : "", stream);
            put_latex_cell(lab_table_at(table, row, i), table->columns[i].numbers, stream);
        }
        fputs(" \\\\\n", stream);
    }
    fputs("\\bottomrule\n\\end{tabular}\n", stream);
    return good;
}

/* ---- Markdown ---- */

static void put_markdown(const char *text, FILE *stream) {
    static const char marks[] = "\\`*_{}[]|#~";
    for (; *text != '\0'; text++)
        if (*text == '<' || *text == '>' || *text == '&')
            fputs(*text == '<' ? "&lt;" : *text == '>' ? "&gt;" : "&amp;", stream);
        else
            fprintf(stream, strchr(marks, *text) != NULL ? "\\%c" : "%c", *text);
}

bool lab_table_write_markdown(const lab_table *table, FILE *stream) {
    bool good = true;
    if (table->title != NULL) {
        fputs("### ", stream);
        put_markdown(table->title, stream);
        fputs("\n\n", stream);
    }
    for (size_t i = 0; i < table->column_count; i++) {
        char *head = head_of(&table->columns[i], false);
        good = good && head != NULL;
        fputs("| ", stream);
        put_markdown(head != NULL ? head : "", stream);
        fputc(' ', stream);
        free(head);
    }
    fputs("|\n", stream);
    for (size_t i = 0; i < table->column_count; i++)
        fputs(table->columns[i].right ? "|--:" : "|---", stream);
    fputs("|\n", stream);
    for (size_t row = 0; row < lab_table_whole_rows(table); row++) {
        for (size_t i = 0; i < table->column_count; i++) {
            fputs("| ", stream);
            put_markdown(lab_table_at(table, row, i)->text, stream);
            fputc(' ', stream);
        }
        fputs("|\n", stream);
    }
    return good;
}
