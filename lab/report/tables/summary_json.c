/* SPDX-License-Identifier: MIT */
/* A summary as JSON, with the names that the tables use. */
#include "report/tables/statistic_json.h"
#include "report/tables/summary.h"

#include "io/json.h"

#include <stddef.h>

static void add_runs(cJSON *object, const lab_summary_row *row) {
    cJSON *list = cJSON_AddArrayToObject(object, "runs");
    for (size_t i = 0; i < row->run_count; i++) {
        const lab_run *run = row->runs[i];
        cJSON *entry = lab_json_put(list, NULL, cJSON_CreateObject());
        cJSON_AddStringToObject(entry, "name", run->name);
        cJSON_AddNumberToObject(entry, "seed", (double)run->seed);
        cJSON_AddStringToObject(entry, "state", lab_run_state_name(run->state));
        cJSON_AddNumberToObject(entry, "wall_seconds", run->wall_seconds);
        cJSON_AddNumberToObject(entry, "peak_bytes", (double)run->peak_bytes);
    }
}

static void add_bins(cJSON *object, const char *name, const lab_bin_words *words, const lab_summary_bins *bins,
                     const lab_summary_bin_score *scores) {
    cJSON *list = cJSON_AddArrayToObject(object, name);
    for (size_t i = 0; scores && i < bins->count; i++) {
        const lab_summary_bin *bin = &bins->bins[i];
        cJSON *entry = lab_json_put(list, NULL, cJSON_CreateObject());
        cJSON_AddNumberToObject(entry, "low", (double)bin->low);
        if (bin->high < SIZE_MAX)
            cJSON_AddNumberToObject(entry, "high", (double)bin->high);
        else
            cJSON_AddNullToObject(entry, "high");
        cJSON_AddNumberToObject(entry, "samples", (double)bin->samples);
        for (size_t m = 0; m < LAB_BIN_MEASURES; m++)
            lab_json_statistic(entry, words->scores[m], &scores[i].scores[m]);
    }
}

/* Scores that every row says, be they null: readers of several kinds count on them. */
static void add_common(cJSON *object, const lab_summary_section *section, const lab_summary_row *row) {
    for (size_t k = 0; k < lab_class_count(); k++)
        for (size_t c = 0; c < lab_class_at(k)->column_count; c++) {
            const lab_score_column *column = &lab_class_at(k)->columns[c];
            if ((column->flags & LAB_SCORE_COMMON) != 0 && !cJSON_HasObjectItem(object, column->name))
                lab_json_statistic(object, column->name, lab_summary_named(section, row, column->name));
        }
}

/* What not all kinds have. */
static void add_of_kind(cJSON *object, const lab_summary_section *section, const lab_summary_row *row) {
    static const char *const published[LAB_SPANS] = {"published", "published_half"};
    const lab_task_class *class = section->class;
    if (class->bins != NULL) {
        add_bins(object, "depths", class->bins, &section->depths, row->at_depth);
        add_bins(object, class->bins->field, class->bins, &section->nodes, row->at_nodes);
    }
    for (size_t c = 0; c < class->column_count; c++)
        if ((class->columns[c].flags & LAB_SCORE_SIDE) != 0 && !cJSON_HasObjectItem(object, class->columns[c].name))
            lab_json_statistic(object, class->columns[c].name, &row->scores[c]);
    for (size_t span = class->develops_on_test ? LAB_SPANS : 1; span-- > 0;)
        lab_json_published(object, published[span], row->published[span]);
}

static cJSON *row_json(const lab_summary_section *section, const lab_summary_row *row) {
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "encoding", row->encoding);
    const struct {
        const char *name;
        const lab_statistic *value;
    } statistics[] = {{"steps_to_99", &row->steps_to_99},
                      {"tokens_per_second", &row->tokens_per_second},
                      {"wall_seconds", &row->wall_seconds},
                      {"peak_bytes", &row->peak_bytes},
                      {"parameters", &row->parameters}};
    add_common(object, section, row);
    for (size_t i = 0; i < sizeof statistics / sizeof *statistics; i++)
        lab_json_statistic(object, statistics[i].name, statistics[i].value);
    const lab_length_axis *axis = section->class->lengths;
    cJSON *lengths = cJSON_AddArrayToObject(object, "lengths");
    for (size_t i = 0; i < section->length_count; i++) {
        cJSON *entry = lab_json_put(lengths, NULL, cJSON_CreateObject());
        cJSON_AddNumberToObject(entry, "length", (double)section->lengths[i]);
        lab_json_statistic(entry, "accuracy", &row->at_length[i]);
        lab_json_statistic(entry, "greedy_exact", &row->greedy_at_length[i]);
        for (size_t p = 0; axis != NULL && p < LAB_LENGTH_PANELS; p++) {
            const char *score = axis->panels[p].score;
            if (score != NULL && !cJSON_HasObjectItem(entry, score))
                lab_json_statistic(entry, score, &row->drawn_at_length[p][i]);
        }
    }
    add_of_kind(object, section, row);
    add_runs(object, row);
    return object;
}

/* Pairs of encodings that the section's score does not tell apart. */
static void add_unseparated(cJSON *object, const lab_summary_section *section) {
    cJSON *pairs = cJSON_AddArrayToObject(object, "not_separated");
    for (size_t i = 0; i < section->row_count; i++) {
        for (size_t j = i + 1; j < section->row_count; j++) {
            const lab_summary_row *a = &section->rows[i], *b = &section->rows[j];
            if (a->done && b->done && !lab_summary_tells(section, i, j, 0)) {
                const char *pair[2] = {a->encoding, b->encoding};
                lab_json_put(pairs, NULL, cJSON_CreateStringArray(pair, 2));
            }
        }
    }
}

/* The scales that the configuration has. */
static void add_scales(cJSON *object, const lab_summary_section *section) {
    static const char *const names[] = {"position_scale", "logit_scale", "precision"};
    cJSON *config = cJSON_Parse(section->config ? section->config : "");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *scale = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(config, names[i]));
        if (scale)
            cJSON_AddStringToObject(object, names[i], scale);
    }
    cJSON_Delete(config);
}

struct cJSON *lab_summary_json(const lab_summary *summary) {
    cJSON *root = cJSON_CreateObject(), *sections = cJSON_AddArrayToObject(root, "sections");
    for (size_t i = 0; i < summary->section_count; i++) {
        const lab_summary_section *section = &summary->sections[i];
        cJSON *object = lab_json_put(sections, NULL, cJSON_CreateObject());
        cJSON_AddStringToObject(object, "task", section->task);
        cJSON_AddStringToObject(object, "budget", section->budget);
        cJSON_AddStringToObject(object, "setup", section->setup);
        cJSON_AddStringToObject(object, "embedding_init", section->embedding_init);
        if (section->apart[0] != '\0')
            cJSON_AddStringToObject(object, "differs_in", section->apart);
        add_scales(object, section);
        cJSON_AddStringToObject(object, "data", section->data);
        cJSON_AddStringToObject(object, "measure", lab_measure_name(section->measure));
        if (section->class->variant_field != NULL && section->variant != NULL)
            cJSON_AddStringToObject(object, section->class->variant_field, section->variant);
        if (section->class->stores_chance) {
            cJSON_AddNumberToObject(object, "chance", section->chance);
            cJSON_AddNumberToObject(object, "majority", section->majority);
        }
        cJSON_AddBoolToObject(object, "shared_machine", lab_summary_shared_machine(summary, section));
        cJSON *rows = cJSON_AddArrayToObject(object, "rows");
        for (size_t j = 0; j < section->row_count; j++)
            lab_json_put(rows, NULL, row_json(section, &section->rows[j]));
        add_unseparated(object, section);
    }
    return root;
}
