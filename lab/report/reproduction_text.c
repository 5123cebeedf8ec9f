/* SPDX-License-Identifier: MIT */
/* Fields of a measured table as text, in percent. */
#include "report/reproduction_report.h"

#include <math.h>
#include <string.h>

char *lab_measured_text(const lab_field *field, const lab_statistic *share, char *text, size_t size) {
    if (share->count == 0) {
        snprintf(text, size, "–");
        return text;
    }
    int used = share->count == 1 ? snprintf(text, size, "%.2f", 100 * share->mean)
                                 : snprintf(text, size, "%.2f ±%.2f", 100 * share->mean, 100 * share->deviation);
    if (share->count < field->of && used > 0 && (size_t)used < size) {
        snprintf(text + used, size - (size_t)used, " [%zu of %zu]", share->count, field->of);
    }
    return text;
}

char *lab_published_text(const lab_reproduction_view *view, size_t row, size_t column, char *text, size_t size) {
    const lab_reproduction_column *one = &view->table->columns[column];
    const lab_published *found = one->rows[row].place != LAB_SCHEME_PUBLISHED
                                     ? NULL
                                     : lab_published_look(one->config.task, one->order, one->span, one->rows[row].spec);
    text[0] = '\0';
    if (found == NULL) {
        return text;
    }
    const char *doubt = found->doubt != NULL ? "†" : "";
    if (found->deviation < 0) {
        snprintf(text, size, "(%.2f)%s", 100 * found->accuracy, doubt);
    } else {
        snprintf(text, size, "(%.2f ±%.1f)%s", 100 * found->accuracy, 100 * found->deviation, doubt);
    }
    return text;
}

char *lab_contrast_text(const lab_contrast *contrast, char *text, size_t size) {
    if (contrast->missing) {
        snprintf(text, size, "–");
    } else if (!isfinite(contrast->half_width)) {
        snprintf(text, size, "%+.2f (one seed)", 100 * contrast->difference);
    } else {
        snprintf(text, size, "%+.2f ±%.2f", 100 * contrast->difference, 100 * contrast->half_width);
    }
    return text;
}

bool lab_view_has_exact(const lab_reproduction_view *view) {
    for (size_t i = 0; i < view->table->row_count * view->table->column_count; i++) {
        const lab_field *field = &view->result->fields[i / view->table->column_count][i % view->table->column_count];
        if (field->exact.count > 0 || field->greedy_exact.count > 0) {
            return view->table->kind != LAB_TASK_IMAGES;
        }
    }
    return false;
}

size_t lab_view_without_decay(const lab_reproduction_view *view, size_t with) {
    const lab_scheme *rows = view->table->columns[0].rows;
    for (size_t i = 0; rows[with].decay && i < view->table->row_count; i++) {
        if (!rows[i].decay && strcmp(rows[i].name, rows[with].name) == 0) {
            return i;
        }
    }
    return SIZE_MAX;
}
