/* SPDX-License-Identifier: MIT */
/* Fields of a measured table as text: shares in percent, losses in nats with four decimals, perplexities with two. */
#include "report/reproduction/reproduction_report.h"

#include <math.h>
#include <string.h>

char *lab_number_text(lab_measure measure, double value, char *text, size_t size) {
    snprintf(text, size, "%.*f", lab_measure_decimals(measure), lab_measure_scale(measure) * value);
    return text;
}

char *lab_mean_text(lab_measure measure, const lab_statistic *score, char *text, size_t size) {
    const int decimals = lab_measure_decimals(measure);
    const double scale = lab_measure_scale(measure);
    if (score->count > 1)
        snprintf(text, size, "%.*f ±%.*f", decimals, scale * score->mean, decimals, scale * score->deviation);
    else
        snprintf(text, size, "%.*f", decimals, scale * score->mean);
    return text;
}

char *lab_measured_text(const lab_field *field, const lab_statistic *score, lab_measure measure, char *text,
                        size_t size) {
    if (score->count == 0) {
        snprintf(text, size, "%s", field->of == 0 ? "" : "–");
        return text;
    }
    lab_mean_text(measure, score, text, size);
    const size_t used = strlen(text);
    if (score->count + field->dropped < field->of)
        snprintf(text + used, size - used, " [%zu of %zu]", score->count, field->of);
    return text;
}

char *lab_field_text(const lab_reproduction_view *view, size_t row, size_t column, char *text, size_t size) {
    const lab_field *field = &view->result->fields[row][column];
    const lab_measure measure = view->table->columns[column].measure;
    return lab_measured_text(field, lab_field_score(field, measure), measure, text, size);
}

const lab_published *lab_view_published(const lab_reproduction_view *view, size_t row, size_t column) {
    const lab_reproduction_column *one = &view->table->columns[column];
    const lab_scheme *scheme = &one->rows[row];
    const bool scaled =
        one->config.model.position_scale != LAB_POSITIONS_AS_THEY_ARE ||
        one->config.model.logit_scale != LAB_LOGITS_AS_THEY_ARE; /* the published are of another set-up */
    return scaled || scheme->place != LAB_SCHEME_PUBLISHED
               ? NULL
               : lab_published_look(one->config.task->name, lab_config_order(&one->config), one->span, scheme->spec);
}

char *lab_published_text(const lab_reproduction_view *view, size_t row, size_t column, char *text, size_t size) {
    const lab_published *found = lab_view_published(view, row, column);
    text[0] = '\0';
    if (found == NULL)
        return text;
    const char *doubt = found->doubt != NULL ? "†" : "";
    if (found->deviation < 0)
        snprintf(text, size, "(%.2f)%s", 100 * found->accuracy, doubt);
    else
        snprintf(text, size, "(%.2f ±%.1f)%s", 100 * found->accuracy, 100 * found->deviation, doubt);
    return text;
}

char *lab_contrast_text(const lab_contrast *contrast, lab_measure measure, char *text, size_t size) {
    const int decimals = lab_measure_decimals(measure);
    const double scale = lab_measure_scale(measure);
    if (contrast->missing) {
        snprintf(text, size, "–");
    } else if (!isfinite(contrast->half_width)) {
        snprintf(text, size, "%+.*f (one seed)", decimals, scale * contrast->difference);
    } else {
        snprintf(text, size, "%+.*f ±%.*f", decimals, scale * contrast->difference, decimals,
                 scale * contrast->half_width);
    }
    return text;
}

/* The claim on decay compares the same two; NULL: it is not there. */
static const lab_claim_item *decay_item(const lab_reproduction_view *view, size_t with, size_t without, size_t column) {
    for (size_t i = 0; i < view->findings->count; i++) {
        const lab_finding *finding = &view->findings->findings[i];
        for (size_t j = 0; j < finding->item_count && finding->claim->kind == LAB_CLAIM_DECAY; j++) {
            const lab_claim_item *item = &finding->items[j];
            if (item->subject == with && item->rival == without && item->column == column)
                return item;
        }
    }
    return NULL;
}

char *lab_pair_text(const lab_reproduction_view *view, size_t first, size_t second, size_t column, char *text,
                    size_t size) {
    const lab_measure measure = view->table->columns[column].measure;
    const lab_claim_item *item = decay_item(view, first, second, column);
    text[0] = '\0';
    if (lab_reproduction_has(view->table, first, column)) {
        const lab_contrast contrast =
            lab_contrast_two(lab_result_score(view->result, view->table, first, column),
                             lab_result_score(view->result, view->table, second, column), LAB_MISS);
        lab_contrast_text(item != NULL ? &item->contrast : &contrast, measure, text, size);
    }
    return text;
}

bool lab_view_has_published(const lab_reproduction_view *view) {
    for (size_t i = 0; i < view->table->row_count * view->table->column_count; i++)
        if (lab_view_published(view, i / view->table->column_count, i % view->table->column_count) != NULL)
            return true;
    return false;
}

bool lab_view_row_is_in(const lab_reproduction_view *view, size_t row,
                        bool (*chosen)(const lab_reproduction_view *view, size_t column)) {
    for (size_t column = 0; column < view->table->column_count; column++)
        if (chosen(view, column) && lab_reproduction_has(view->table, row, column))
            return true;
    return false;
}

bool lab_view_is_whole(const lab_reproduction_view *view, size_t column) {
    const bool whole = lab_class_has_score(view->table->columns[column].class, "exact");
    for (size_t row = 0; row < view->table->row_count && whole; row++) {
        const lab_field *field = &view->result->fields[row][column];
        if (field->exact.count > 0 || field->greedy_exact.count > 0)
            return true;
    }
    return false;
}

typedef struct view_column {
    const lab_reproduction_view *view;
    size_t column;
} view_column;

static const lab_statistic *row_at(const void *context, size_t row) {
    const view_column *at = context;
    return lab_reproduction_has(at->view->table, row, at->column)
               ? lab_result_score(at->view->result, at->view->table, row, at->column)
               : NULL;
}

bool lab_view_is_open(const lab_reproduction_view *view, size_t i, size_t j, size_t column) {
    const view_column context = {view, column};
    return lab_result_score(view->result, view->table, i, column)->count > 0 &&
           lab_result_score(view->result, view->table, j, column)->count > 0 &&
           !lab_contrast_tells(row_at, &context, view->table->row_count, i, j);
}

bool lab_view_is_best(const lab_reproduction_view *view, size_t row, size_t column) {
    const view_column context = {view, column};
    const double sign = lab_measure_sign(view->table->columns[column].measure);
    return lab_contrast_is_best(row_at, &context, view->table->row_count, row, sign);
}

size_t lab_view_without_decay(const lab_reproduction_view *view, size_t with) {
    const lab_scheme *rows = view->table->columns[0].rows;
    for (size_t i = 0; rows[with].decay && i < view->table->row_count; i++)
        if (!rows[i].decay && strcmp(rows[i].name, rows[with].name) == 0)
            return i;
    return SIZE_MAX;
}
