/* SPDX-License-Identifier: MIT */
/* The trainings behind a table's fields, and what rows are called. */
#include "report/reproduction/reproduction.h"

#include "train/configuration/config.h"

#include <stdio.h>
#include <string.h>

bool lab_reproduction_has(const lab_reproduction *table, size_t row, size_t column) {
    return table->columns[column].rows[row].spec[0] != '\0';
}

size_t lab_reproduction_trainings(const lab_reproduction *table) {
    size_t count = 0;
    for (size_t column = 0; column < table->column_count; column++)
        for (size_t row = 0; row < table->row_count; row++)
            count += lab_reproduction_begins(table, row, column);
    return count * table->seeds;
}

/* A pretrained encoder has positions of its own, which the row's are added to. */
static const char *spec_of(const lab_reproduction_column *column, const lab_scheme *scheme, char *text, size_t size) {
    const bool adds = strcmp(scheme->spec, "none") != 0;
    if (!scheme->pretrained)
        return scheme->spec;
    snprintf(text, size, "%s%s%s", column->pretrained_own, adds ? " + " : "", adds ? scheme->spec : "");
    return text;
}

locus_status lab_reproduction_config(const lab_reproduction *table, lab_reproduction_place place,
                                     lab_train_config *config, char encoding[LAB_SPEC_SIZE], locus_error *error) {
    const lab_reproduction_column *column = &table->columns[place.column];
    const lab_scheme *scheme = &column->rows[place.row];
    *config = scheme->pretrained ? column->pretrained : column->config;
    config->seed = table->first_seed + place.repetition;
    char own[2 * LAB_SCHEME_SPEC + 4];
    locus_status status =
        lab_train_encoding(spec_of(column, scheme, own, sizeof own), config, encoding, LAB_SPEC_SIZE, error);
    config->encoding = config->model.encoding = encoding;
    return status == LOCUS_OK ? lab_config_settle(config, error) : status;
}

const char *lab_reproduction_encoding(const lab_reproduction *table, size_t row, size_t column,
                                      char encoding[LAB_SPEC_SIZE]) {
    lab_train_config config;
    bool made =
        lab_reproduction_config(table, (lab_reproduction_place){row, column, 0}, &config, encoding, NULL) == LOCUS_OK;
    return made ? encoding : table->columns[column].rows[row].spec;
}

const char *lab_reproduction_row_encoding(const lab_reproduction *table, size_t row, char encoding[LAB_SPEC_SIZE]) {
    size_t column = 0;
    while (column + 1 < table->column_count && !lab_reproduction_has(table, row, column))
        column++;
    return lab_reproduction_encoding(table, row, column, encoding);
}

bool lab_reproduction_leads(const lab_reproduction *table, size_t column) {
    for (size_t i = 0; i < column; i++)
        if (table->columns[i].training == table->columns[column].training)
            return false;
    return true;
}

const char *lab_reproduction_variant(const lab_reproduction_column *column) {
    static const char *const units[2][2] = {{"unit", "unit logits"}, {"unit positions", "unit both"}};
    const lab_model_config *model = &column->config.model;
    return model->embedding_init == LAB_EMBEDDING_UNIT ? units[model->position_scale][model->logit_scale] : "scaled";
}

bool lab_reproduction_has_scales(const lab_reproduction *table) {
    for (size_t i = 0; i < table->column_count; i++) {
        const lab_model_config *model = &table->columns[i].config.model;
        if (model->position_scale != LAB_POSITIONS_AS_THEY_ARE || model->logit_scale != LAB_LOGITS_AS_THEY_ARE)
            return true;
    }
    return false;
}

bool lab_reproduction_alike(const lab_reproduction *table, size_t row, size_t a, size_t b) {
    lab_train_config configs[2];
    char encodings[2][LAB_SPEC_SIZE];
    return lab_reproduction_has(table, row, b) &&
           lab_reproduction_config(table, (lab_reproduction_place){row, a, 0}, &configs[0], encodings[0], NULL) ==
               LOCUS_OK &&
           lab_reproduction_config(table, (lab_reproduction_place){row, b, 0}, &configs[1], encodings[1], NULL) ==
               LOCUS_OK &&
           lab_config_difference(&configs[0], &configs[1]) == NULL;
}

bool lab_reproduction_begins(const lab_reproduction *table, size_t row, size_t column) {
    bool first = lab_reproduction_has(table, row, column) && lab_reproduction_leads(table, column);
    const bool scaled = table->columns[column].config.model.position_scale != LAB_POSITIONS_AS_THEY_ARE;
    for (size_t i = 0; first && scaled && i < column; i++)
        first = !lab_reproduction_alike(table, row, column, i);
    return first;
}

void lab_reproduction_title(const lab_reproduction *table, char *text, size_t size) {
    snprintf(text, size, "%s at budget %s", table->title, table->budget);
}

void lab_reproduction_row_name(const lab_reproduction *table, size_t row, char *text, size_t size) {
    const lab_scheme *scheme = &table->columns[0].rows[row];
    const char *varied = !scheme->orthogonal                     ? ""
                         : strstr(scheme->key, "-decay") != NULL ? ", with decay"
                         : strstr(scheme->key, "-plain") != NULL ? ", no decay"
                         : table->decay != LAB_DECAY_BOTH        ? ""
                         : scheme->decay                         ? ", with decay"
                                                                 : ", no decay";
    snprintf(text, size, "%s%s", scheme->name, varied);
}
