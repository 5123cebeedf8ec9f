/* SPDX-License-Identifier: MIT */
/* What a measured table says, in sentences made from its numbers. */
#include "report/reproduction_report.h"

#include "train/config.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *lab_decay_name(lab_decay_choice decay) {
    static const char *const names[] = {"as published (the algebraic schemes have it)", "nobody has it",
                                        "each orthogonal scheme with and without"};
    return (unsigned)decay < 3 ? names[decay] : "unknown";
}

/* ---- claims ---- */

static void row_name(const lab_reproduction_view *view, size_t row, char text[80]) {
    lab_reproduction_row_name(view->table, row, text, 80);
}

static void write_share(const lab_statistic *share, FILE *stream) {
    if (share->count > 1) {
        fprintf(stream, "%.2f ±%.2f", 100 * share->mean, 100 * share->deviation);
    } else {
        fprintf(stream, "%.2f", 100 * share->mean);
    }
}

static void write_against_chance(const lab_reproduction_view *view, const lab_claim_item *item, FILE *stream) {
    const lab_statistic *share = &view->result->fields[item->subject][item->column].accuracy;
    double chance = view->result->chance[item->column];
    write_share(share, stream);
    fprintf(stream, ", guessing scores %.2f, at chance is below %.2f", 100 * chance, 100 * lab_chance_bound(chance));
    if (share->count < 2) {
        fputs(" (one seed: no interval)", stream);
    } else {
        fprintf(stream, " (95 %% interval of the mean ±%.2f)", 100 * share->half_width);
    }
}

/* "algebraic (tree) 99.70 − rope 85.46 = +14.24 ±3.1". */
static void write_difference(const lab_reproduction_view *view, const lab_claim_item *item, FILE *stream) {
    const lab_contrast *contrast = &item->contrast;
    char rival[80];
    row_name(view, item->rival, rival);
    if (isfinite(contrast->half_width)) {
        fprintf(stream, " − %s = %+.2f ±%.2f", rival, 100 * contrast->difference, 100 * contrast->half_width);
    } else {
        fprintf(stream, " − %s = %+.2f, one seed: no interval between seeds", rival, 100 * contrast->difference);
    }
    if (item->binomial > 0) {
        fprintf(stream, "; of the %zu test images alone ±%.2f", view->result->samples[item->column],
                100 * item->binomial);
    }
    if (item->at_chance) {
        fputs("; both are at chance", stream);
    }
}

static void write_item(const lab_reproduction_view *view, const lab_finding *finding, const lab_claim_item *item,
                       FILE *stream) {
    char subject[80], rival[80];
    row_name(view, item->subject, subject);
    fprintf(stream, "%s: ", view->table->columns[item->column].head);
    if (item->contrast.missing) {
        fprintf(stream, "%s", subject);
        if (item->rival != SIZE_MAX) {
            row_name(view, item->rival, rival);
            fprintf(stream, ", %s", rival);
        }
        fputs(": not measured yet", stream);
        return;
    }
    if (item->rival == SIZE_MAX) {
        fprintf(stream, "%s ", subject);
        write_against_chance(view, item, stream);
        return;
    }
    if (finding->claim->kind == LAB_CLAIM_LESS) {
        fputs("what flattening costs, more than breadth-first: ", stream);
    }
    fprintf(stream, "%s", subject);
    write_difference(view, item, stream);
}

/* Items of a verdict; of the supporting ones only that with the smallest lead. */
static void write_items(const lab_reproduction_view *view, const lab_finding *finding, lab_verdict verdict,
                        FILE *stream, const char *indent) {
    static const char *const words[] = {"open", "supports", "contradicts"};
    const lab_claim_item *least = NULL;
    for (size_t i = 0; i < finding->item_count; i++) {
        const lab_claim_item *item = &finding->items[i];
        if (item->verdict != verdict) {
            continue;
        }
        if (verdict != LAB_SUPPORTED) {
            fprintf(stream, "%s%s: ", indent, words[verdict]);
            write_item(view, finding, item, stream);
            fputc('\n', stream);
        } else if (least == NULL || item->contrast.difference < least->contrast.difference) {
            least = item;
        }
    }
    if (least != NULL) {
        fprintf(stream, "%s%s%s: ", indent, words[verdict],
                finding->counts[verdict] > 1 ? ", with the smallest difference" : "");
        write_item(view, finding, least, stream);
        fputc('\n', stream);
    }
}

static void write_finding(const lab_reproduction_view *view, const lab_finding *finding, FILE *stream, bool markdown) {
    const char *indent = markdown ? "  - " : "    ";
    fprintf(stream, markdown ? "- **%s**: %s" : "%-12s  %s", lab_verdict_name(finding->verdict), finding->claim->text);
    fprintf(stream, "%s%s (the paper, %s): ", finding->variant[0] != '\0' ? ", embeddings " : "", finding->variant,
            finding->claim->source);
    fprintf(stream, "%zu comparison%s%s, %zu support, %zu open, %zu contradict\n", finding->item_count,
            finding->item_count == 1 ? "" : "s", view->table->part ? " in this part of the table" : "",
            finding->counts[LAB_SUPPORTED], finding->counts[LAB_OPEN], finding->counts[LAB_CONTRADICTED]);
    write_items(view, finding, LAB_CONTRADICTED, stream, indent);
    write_items(view, finding, LAB_OPEN, stream, indent);
    write_items(view, finding, LAB_SUPPORTED, stream, indent);
}

void lab_claims_write(const lab_reproduction_view *view, FILE *stream, bool markdown) {
    for (size_t i = 0; i < view->findings->count; i++) {
        write_finding(view, &view->findings->findings[i], stream, markdown);
    }
    if (view->findings->count == 0) {
        fputs("Nothing: this part of the table has no fields that a claim is about.\n", stream);
    }
}

/* ---- what the numbers do not tell apart ---- */

/* Pairs of a column that are not separated, joined; returns how many. */
static size_t write_pairs(const lab_reproduction_view *view, size_t column, FILE *stream) {
    const lab_reproduction *table = view->table;
    size_t pairs = 0;
    for (size_t i = 0; i < table->row_count; i++) {
        for (size_t j = i + 1; j < table->row_count; j++) {
            const lab_contrast contrast =
                lab_contrast_two(&view->result->fields[i][column].accuracy, &view->result->fields[j][column].accuracy);
            if (contrast.missing || lab_contrast_separates(&contrast)) {
                continue;
            }
            char a[80], b[80];
            row_name(view, i, a);
            row_name(view, j, b);
            fprintf(stream, "%s%s – %s", pairs++ > 0 ? "; " : "", a, b);
        }
    }
    return pairs;
}

static size_t measured_rows(const lab_reproduction_view *view, size_t column) {
    size_t count = 0;
    for (size_t row = 0; row < view->table->row_count; row++) {
        count += view->result->fields[row][column].accuracy.count > 0;
    }
    return count;
}

void lab_separation_write(const lab_reproduction_view *view, FILE *stream, bool markdown) {
    const lab_reproduction *table = view->table;
    bool measured = false;
    for (size_t column = 0; column < table->column_count; column++) {
        if (measured_rows(view, column) == 0) {
            continue;
        }
        measured = true;
        fprintf(stream, "%s%s: ", markdown ? "- " : "  ", table->columns[column].head);
        if (lab_column_at_chance(table, view->result, column)) {
            fprintf(stream, "no scheme has left chance (guessing scores %.2f): this column says nothing; ",
                    100 * view->result->chance[column]);
        }
        if (measured_rows(view, column) < 2) {
            fputs("one scheme is measured\n", stream);
        } else if (table->seeds < 2) {
            fputs("with one seed nothing is separated\n", stream);
        } else {
            fputs("not separated: ", stream);
            fputs(write_pairs(view, column, stream) == 0 ? "none, all schemes are told apart\n" : "\n", stream);
        }
    }
    if (!measured) {
        fputs("Nothing is measured yet.\n", stream);
    }
}

/* ---- what differs from the published set-up ---- */

static bool is_size(const char *name) {
    static const char *const others[] = {"task",   "encoding",           "budget",         "seed", "data_seed", "steps",
                                         "epochs", "checkpoint_seconds", "evaluate_every", "order"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (strcmp(name, others[i]) == 0) {
            return false;
        }
    }
    return true;
}

static void add(char *text, size_t size, const char *name, const char *here, const char *there) {
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s%s %s (published %s)", used > 0 ? ", " : "", name, here, there);
}

static void value_text(const cJSON *value, char text[64]) {
    if (cJSON_IsString(value)) {
        snprintf(text, 64, "%.60s", value->valuestring);
    } else if (cJSON_IsNumber(value)) {
        snprintf(text, 64, "%g", value->valuedouble);
    } else {
        snprintf(text, 64, "0");
    }
}

/* The sizes in which two configurations differ, each as "dim 64 (published 512)". */
static void compare_sizes(const lab_train_config *here, const lab_train_config *there, char *text, size_t size) {
    char *texts[2] = {lab_config_json(here), lab_config_json(there)};
    cJSON *a = cJSON_Parse(texts[0] ? texts[0] : ""), *b = cJSON_Parse(texts[1] ? texts[1] : "");
    text[0] = '\0';
    for (const cJSON *item = a != NULL ? a->child : NULL; item != NULL; item = item->next) {
        char one[64], other[64], name[40];
        value_text(item, one);
        value_text(cJSON_GetObjectItemCaseSensitive(b, item->string), other);
        if (is_size(item->string) && strcmp(one, other) != 0) {
            snprintf(name, sizeof name, "%s", item->string);
            for (char *dash = name; (dash = strchr(dash, '_')) != NULL;) {
                *dash = ' ';
            }
            add(text, size, name, one, other);
        }
    }
    if (lab_config_steps(here) != lab_config_steps(there)) {
        char one[32], other[32];
        snprintf(one, sizeof one, "%" PRIu64, lab_config_steps(here));
        snprintf(other, sizeof other, "%" PRIu64, lab_config_steps(there));
        add(text, size, "steps", one, other);
    }
    cJSON_Delete(a);
    cJSON_Delete(b);
    cJSON_free(texts[0]);
    cJSON_free(texts[1]);
}

static void write_size_line(FILE *stream, const char *bullet, const char *tasks, const char *text) {
    fprintf(stream, "%s%s: %s.\n", bullet, tasks, text[0] != '\0' ? text : "the published sizes");
}

/* One line for tasks that differ alike. */
static void write_sizes(const lab_reproduction_view *view, FILE *stream, const char *bullet) {
    char last[1200] = "", text[1200], tasks[200] = "";
    const char *told = NULL;
    for (size_t i = 0; i < view->table->column_count; i++) {
        const lab_train_config *here = &view->table->columns[i].config;
        lab_train_config there;
        if ((told != NULL && strcmp(told, here->task) == 0) ||
            lab_train_config_budget(&there, lab_task_find(here->task), "paper", here->setup, NULL) != LOCUS_OK) {
            continue;
        }
        there.model.embedding_init = here->model.embedding_init; /* the paper does not mention it */
        there.encoding = here->encoding;
        compare_sizes(here, &there, text, sizeof text);
        told = here->task;
        if (tasks[0] != '\0' && strcmp(text, last) != 0) {
            write_size_line(stream, bullet, tasks, last);
            tasks[0] = '\0';
        }
        size_t used = strlen(tasks);
        snprintf(tasks + used, sizeof tasks - used, "%s%s", used > 0 ? ", " : "", here->task);
        snprintf(last, sizeof last, "%s", text);
    }
    if (tasks[0] != '\0') {
        write_size_line(stream, bullet, tasks, last);
    }
}

static void write_doubts(const lab_reproduction_view *view, FILE *stream, const char *bullet) {
    for (size_t i = 0; i < view->table->column_count * view->table->row_count; i++) {
        const lab_reproduction_column *column = &view->table->columns[i / view->table->row_count];
        const lab_scheme *row = &column->rows[i % view->table->row_count];
        const lab_published *found = lab_published_look(column->config.task, column->order, column->span, row->spec);
        if (found != NULL && found->doubt != NULL && row->place == LAB_SCHEME_PUBLISHED) {
            fprintf(stream, "%s† %s, %s: %s.\n", bullet, column->head, row->name, found->doubt);
        }
    }
}

void lab_deviations_write(const lab_reproduction_view *view, FILE *stream, bool markdown) {
    const char *bullet = markdown ? "- " : "  ";
    write_sizes(view, stream, bullet);
    if (view->table->decay == LAB_DECAY_NOBODY) {
        fprintf(stream, "%sno scheme has a decay; the published algebraic schemes have 0.98.\n", bullet);
    }
    if (view->table->kind == LAB_TASK_IMAGES) {
        fprintf(stream,
                "%sas published, the score is the best test accuracy by epoch: the test set takes part in choosing.\n",
                bullet);
    }
    write_doubts(view, stream, bullet);
}

void lab_legend_write(const lab_reproduction_view *view, FILE *stream) {
    bool images = view->table->kind == LAB_TASK_IMAGES;
    fprintf(stream,
            "%s, %%: mean ± standard deviation over %zu seed%s\nat budget %s; in parentheses as published, at budget "
            "paper: Kogkalidis, Bernardy and Garg 2024, Table %s.\n",
            images ? "Test images right, the best epoch's" : "Tokens of the test set right under teacher forcing",
            view->table->seeds, view->table->seeds == 1 ? "" : "s", view->table->budget,
            view->table->name + strlen("table"));
}
