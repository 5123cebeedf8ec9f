/* SPDX-License-Identifier: MIT */
/* A measured table as JSON: shares in [0, 1], losses in nats, null for what nobody has. A row has fields only where its
 * scheme makes sense. */
#include "report/reproduction/reproduction_report.h"

#include "train/configuration/config.h"

#include "io/json.h"
#include "report/tables/statistic_json.h"

#include <math.h>

static void add_published(cJSON *object, const lab_published *found) {
    cJSON *entry = lab_json_published(object, "published", found);
    if (found != NULL)
        cJSON_AddStringToObject(entry, "source", found->source);
    if (found != NULL && found->doubt != NULL)
        cJSON_AddStringToObject(entry, "doubt", found->doubt);
}

/* What decides whether a field is still learning. */
static void add_learning(cJSON *object, const lab_field *field, lab_measure measure, double chance) {
    static const char *const names[] = {[LAB_CONVERGENCE_UNKNOWN] = "unknown",
                                        [LAB_CONVERGED] = "converged",
                                        [LAB_STILL_LEARNING] = "still learning",
                                        [LAB_NOT_BEGUN] = "at chance"};
    const lab_learning *learning = &field->learning;
    const lab_statistic *score = lab_field_score(field, measure);
    if (score->count == 0) {
        cJSON_AddNullToObject(object, "learning");
        return;
    }
    cJSON *entry = cJSON_AddObjectToObject(object, "learning");
    cJSON_AddStringToObject(entry, "state", names[lab_learning_judge(learning, score, measure, chance)]);
    lab_json_number(entry, "gain", learning->curves > 0 ? learning->gain : INFINITY);
    cJSON_AddNumberToObject(entry, "curves", (double)learning->curves);
    lab_json_statistic(entry, "longer", &learning->longer);
    cJSON_AddNumberToObject(entry, "longer_steps", (double)learning->longer_steps);
}

/* The names of a field's trainings, trained or not, by seed. */
static void add_trainings(cJSON *object, const lab_reproduction *table, lab_reproduction_place place) {
    cJSON *list = cJSON_AddArrayToObject(object, "runs");
    for (place.repetition = 0; place.repetition < table->seeds; place.repetition++) {
        lab_train_config config;
        char encoding[LAB_SPEC_SIZE], name[256];
        if (lab_reproduction_config(table, place, &config, encoding, NULL) == LOCUS_OK) {
            lab_train_name(&config, name, sizeof name);
            lab_json_put(list, NULL, cJSON_CreateString(name));
        }
    }
}

static cJSON *field_json(const lab_reproduction_view *view, size_t row, size_t column) {
    const lab_reproduction_column *one = &view->table->columns[column];
    const lab_field *field = &view->result->fields[row][column];
    char encoding[LAB_SPEC_SIZE];
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "column", one->name);
    cJSON_AddStringToObject(object, "encoding", lab_reproduction_encoding(view->table, row, column, encoding));
    cJSON_AddNumberToObject(object, "done", (double)field->done);
    cJSON_AddNumberToObject(object, "of", (double)field->of);
    add_trainings(object, view->table, (lab_reproduction_place){.row = row, .column = column});
    lab_json_statistic(object, "accuracy", &field->accuracy);
    lab_json_statistic(object, "exact", &field->exact);
    lab_json_statistic(object, "greedy_exact", &field->greedy_exact);
    lab_json_statistic(object, "loss", &field->loss);
    lab_json_statistic(object, "perplexity", &field->perplexity);
    lab_json_statistic(object, "score", lab_field_score(field, one->measure));
    add_learning(object, field, lab_learning_measure(one->measure), view->result->chance[column]);
    cJSON_AddBoolToObject(object, "dropped_worst", field->dropped);
    add_published(object, lab_view_published(view, row, column));
    return object;
}

/* Only of columns that have them. */
static void add_scales(cJSON *object, const lab_model_config *model) {
    if (model->position_scale != LAB_POSITIONS_AS_THEY_ARE)
        cJSON_AddStringToObject(object, "position_scale", lab_position_scale_name(model->position_scale));
    if (model->precision != LAB_FLOAT32)
        cJSON_AddStringToObject(object, "precision", lab_precision_name(model->precision));
    if (model->logit_scale != LAB_LOGITS_AS_THEY_ARE)
        cJSON_AddStringToObject(object, "logit_scale", lab_logit_scale_name(model->logit_scale));
}

static void add_columns(cJSON *root, const lab_reproduction_view *view) {
    cJSON *list = cJSON_AddArrayToObject(root, "columns");
    for (size_t i = 0; i < view->table->column_count; i++) {
        const lab_reproduction_column *column = &view->table->columns[i];
        cJSON *object = lab_json_put(list, NULL, cJSON_CreateObject());
        cJSON_AddStringToObject(object, "name", column->name);
        cJSON_AddStringToObject(object, "task", column->config.task->name);
        cJSON_AddStringToObject(object, "measure", lab_measure_name(column->measure));
        cJSON_AddStringToObject(object, "score", lab_final_name(column->measure, column->span));
        cJSON_AddStringToObject(object, "better", lab_measure_is_share(column->measure) ? "higher" : "lower");
        if (lab_class_field(column->class, "order") != NULL)
            cJSON_AddStringToObject(object, "order", lab_config_variant(&column->config));
        if (column->config.model.tree_paths != LAB_PATHS_OWN)
            cJSON_AddStringToObject(object, "tree_paths", lab_tree_paths_name(column->config.model.tree_paths));
        if (column->class->develops_on_test) {
            cJSON_AddNumberToObject(object, "epochs", (double)column->epochs);
        } else {
            cJSON_AddStringToObject(object, "embedding_init",
                                    lab_embedding_init_name(column->config.model.embedding_init));
            add_scales(object, &column->config.model);
        }
        cJSON_AddNumberToObject(object, "chance", view->result->chance[i]);
        if (column->class->stores_chance) {
            cJSON_AddNumberToObject(object, "majority", view->result->chance[i]);
            cJSON_ReplaceItemInObject(object, "chance", cJSON_CreateNumber(view->result->uniform[i]));
        }
        cJSON_AddBoolToObject(object, "at_chance", lab_column_at_chance(view->table, view->result, i));
    }
}

static void add_rows(cJSON *root, const lab_reproduction_view *view) {
    static const char *const places[] = {"published", "beyond", "ablation"};
    cJSON *list = cJSON_AddArrayToObject(root, "rows");
    for (size_t row = 0; row < view->table->row_count; row++) {
        const lab_scheme *scheme = &view->table->columns[0].rows[row];
        cJSON *object = lab_json_put(list, NULL, cJSON_CreateObject());
        cJSON_AddStringToObject(object, "name", scheme->key);
        cJSON_AddStringToObject(object, "scheme", scheme->name);
        cJSON_AddStringToObject(object, "place", places[scheme->place]);
        cJSON_AddBoolToObject(object, "decay", scheme->decay);
        cJSON *fields = cJSON_AddArrayToObject(object, "fields");
        for (size_t column = 0; column < view->table->column_count; column++)
            if (lab_reproduction_has(view->table, row, column))
                lab_json_put(fields, NULL, field_json(view, row, column));
    }
}

static cJSON *item_json(const lab_reproduction_view *view, const lab_claim_item *item) {
    const lab_reproduction_column *column = &view->table->columns[item->column];
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "column", column->name);
    cJSON_AddStringToObject(object, "subject", column->rows[item->subject].key);
    cJSON_AddStringToObject(object, "rival", item->rival == SIZE_MAX ? "chance" : column->rows[item->rival].key);
    lab_json_number(object, "difference", item->contrast.missing ? INFINITY : item->contrast.difference);
    lab_json_number(object, "half_width", item->contrast.half_width);
    cJSON_AddNumberToObject(object, "level", 1 - item->miss);
    cJSON_AddNumberToObject(object, "p", item->p);
    if (item->binomial > 0) {
        cJSON_AddNumberToObject(
            object, column->class->develops_on_test ? "half_width_95_of_test_images" : "half_width_95_of_test_samples",
            item->binomial);
    }
    if (item->margin > 0)
        cJSON_AddNumberToObject(object, "margin", item->margin);
    cJSON_AddStringToObject(object, "verdict", lab_verdict_name(item->verdict));
    if (item->reason != LAB_REASON_NONE)
        cJSON_AddStringToObject(object, "reason", lab_reason_name(item->reason));
    if (item->reason >= LAB_REASON_LEARNING && item->reason <= LAB_REASON_NO_CURVE) {
        cJSON_AddStringToObject(object, "learner", column->rows[item->learner].key);
        cJSON_AddStringToObject(object, "learner_column", view->table->columns[item->learner_column].name);
    }
    return object;
}

static void add_claims(cJSON *root, const lab_reproduction_view *view) {
    static const char *const kinds[] = {
        [LAB_CLAIM_BEST] = "best",        [LAB_CLAIM_ABOVE] = "above", [LAB_CLAIM_CHANCE] = "chance",
        [LAB_CLAIM_LESS] = "less",        [LAB_CLAIM_DECAY] = "decay", [LAB_CLAIM_SIMILAR] = "similar",
        [LAB_CLAIM_HARMLESS] = "harmless"};
    cJSON *list = cJSON_AddArrayToObject(root, "claims");
    for (size_t i = 0; i < view->findings->count; i++) {
        const lab_finding *finding = &view->findings->findings[i];
        cJSON *object = lab_json_put(list, NULL, cJSON_CreateObject()), *items;
        cJSON_AddStringToObject(object, "id", finding->claim->id);
        cJSON_AddStringToObject(object, "claim", finding->claim->text);
        cJSON_AddStringToObject(object, "source", finding->claim->source);
        cJSON_AddStringToObject(object, "kind", kinds[finding->claim->kind]);
        cJSON_AddBoolToObject(object, "after_the_same_steps", finding->claim->after_steps);
        if (finding->variant[0] != '\0')
            cJSON_AddStringToObject(object, "embedding_init", finding->variant);
        cJSON_AddNumberToObject(object, "m", (double)finding->comparisons);
        cJSON_AddStringToObject(object, "verdict", lab_verdict_name(finding->verdict));
        items = cJSON_AddArrayToObject(object, "comparisons");
        for (size_t j = 0; j < finding->item_count; j++)
            lab_json_put(items, NULL, item_json(view, &finding->items[j]));
    }
}

/* Pairs of rows of a column whose difference is not told from 0. */
static void add_unseparated(cJSON *root, const lab_reproduction_view *view) {
    cJSON *list = cJSON_AddArrayToObject(root, "not_separated");
    const size_t rows = view->table->row_count;
    for (size_t i = 0; i < view->table->column_count * rows * rows; i++) {
        const size_t column = i / (rows * rows), a = i / rows % rows, b = i % rows;
        if (a < b && lab_view_is_open(view, a, b, column)) {
            const lab_reproduction_column *one = &view->table->columns[column];
            const char *texts[3] = {one->name, one->rows[a].key, one->rows[b].key};
            lab_json_put(list, NULL, cJSON_CreateStringArray(texts, 3));
        }
    }
}

struct cJSON *lab_reproduction_json(const lab_reproduction_view *view) {
    static const char *const decays[] = {"on", "off", "both"};
    const lab_reproduction *table = view->table;
    cJSON *root = cJSON_CreateObject();
    if (root == NULL)
        return NULL;
    cJSON_AddStringToObject(root, "table", table->name);
    cJSON_AddStringToObject(root, "budget", table->budget);
    cJSON_AddStringToObject(root, "setup", lab_setup_name(table->setup));
    cJSON_AddStringToObject(root, "decay", decays[table->decay]);
    cJSON_AddBoolToObject(root, "part", table->part);
    if (table->left_out[0] != '\0')
        cJSON_AddStringToObject(root, "left_out", table->left_out);
    cJSON_AddBoolToObject(root, "drop_worst", table->drop_worst);
    cJSON_AddNumberToObject(root, "first_seed", (double)table->first_seed);
    cJSON_AddNumberToObject(root, "seeds", (double)table->seeds);
    if (view->result->asked[0] != '\0')
        cJSON_AddStringToObject(root, "seeds_asked", view->result->asked);
    cJSON_AddNumberToObject(root, "done", (double)view->result->done);
    cJSON_AddNumberToObject(root, "of", (double)view->result->of);
    cJSON_AddNumberToObject(root, "failed", (double)view->result->failed);
    cJSON_AddNumberToObject(root, "wall_seconds", view->result->wall_seconds);
    add_columns(root, view);
    add_rows(root, view);
    add_claims(root, view);
    add_unseparated(root, view);
    return root;
}
