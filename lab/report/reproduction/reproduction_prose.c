/* SPDX-License-Identifier: MIT */
/* What a measured table says, in sentences made from its numbers. */
#include "report/reproduction/reproduction_report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- claims ---- */

static void row_name(const lab_reproduction_view *view, size_t row, char text[80]) {
    lab_reproduction_row_name(view->table, row, text, 80);
}

static lab_measure measure_of(const lab_reproduction_view *view, const lab_claim_item *item) {
    return view->table->columns[item->column].measure;
}

static void write_against_chance(const lab_reproduction_view *view, const lab_claim_item *item, FILE *stream) {
    const lab_statistic *share = lab_result_score(view->result, view->table, item->subject, item->column);
    double chance = view->result->chance[item->column];
    char text[64];
    fprintf(stream, "%s, guessing scores %.2f, at chance is below %.2f",
            lab_mean_text(measure_of(view, item), share, text, sizeof text), 100 * chance,
            100 * lab_chance_bound(chance));
    if (share->count < 2) {
        fputs(" (one seed: no interval)", stream);
    } else {
        fprintf(stream, " (%.4g %% interval of the mean ±%.2f)", 100 * (1 - item->miss),
                100 * item->contrast.half_width);
    }
}

/* "algebraic (tree) 99.70 − rope 85.46 = +14.24 ±3.1". */
static void write_difference(const lab_reproduction_view *view, const lab_claim_item *item, FILE *stream) {
    const lab_contrast *contrast = &item->contrast;
    const lab_measure measure = measure_of(view, item);
    char rival[80], text[64];
    row_name(view, item->rival, rival);
    if (isfinite(contrast->half_width)) {
        fprintf(stream, " − %s = %s (%.4g %%)", rival, lab_contrast_text(contrast, measure, text, sizeof text),
                100 * (1 - item->miss));
    } else {
        const lab_contrast bare = {.difference = contrast->difference};
        lab_contrast_text(&bare, measure, text, sizeof text);
        fprintf(stream, " − %s = %.*s, one seed: no interval between seeds", rival, (int)strcspn(text, " "), text);
    }
    if (item->margin > 0)
        fprintf(stream, ", the margin is %s", lab_number_text(measure, item->margin, text, sizeof text));
    if (item->binomial > 0) {
        const lab_reproduction_column *column = &view->table->columns[item->column];
        fprintf(stream, "; of the %zu %s%ss alone ±%.2f", lab_claim_samples(view->table, view->result, item),
                column->measure == LAB_MEASURE_SOLVED ? "" : "test ", column->class->sample, 100 * item->binomial);
    }
}

/* ---- why a comparison is open ---- */

static void write_learning(const lab_reproduction_view *view, const lab_claim_item *item, FILE *stream) {
    const lab_field *field = &view->result->fields[item->learner][item->learner_column];
    const lab_measure measure = view->table->columns[item->learner_column].measure;
    const lab_learning *learning = &field->learning;
    const double sign = lab_measure_sign(measure) * lab_measure_scale(measure);
    const int decimals = lab_measure_decimals(measure);
    if (learning->longer.count > 0) {
        fprintf(stream, " is still learning: %+.*f with %" PRIu64 " steps", decimals,
                sign * lab_learning_longer_gain(learning, lab_field_score(field, measure), measure),
                learning->longer_steps);
    } else {
        fprintf(stream, " is still learning: %+.*f in the last third of its steps", decimals, sign * learning->gain);
    }
}

static void write_learner(const lab_reproduction_view *view, const lab_claim_item *item, FILE *stream) {
    char name[80];
    row_name(view, item->learner, name);
    fprintf(stream, "; %s%s%s", name, item->learner_column != item->column ? " in " : "",
            item->learner_column != item->column ? view->table->columns[item->learner_column].head : "");
}

static void write_reason(const lab_reproduction_view *view, const lab_finding *finding, const lab_claim_item *item,
                         FILE *stream) {
    switch (item->reason) {
    case LAB_REASON_NONE:
    case LAB_REASON_MISSING:
        break;
    case LAB_REASON_SEEDS:
        fprintf(stream, "; a verdict needs %d seeds on every side", LAB_CLAIM_SEEDS);
        break;
    case LAB_REASON_CHANCE:
        fputs("; both are at chance", stream);
        break;
    case LAB_REASON_INTERVAL:
        fputs(item->margin > 0                           ? "; the interval reaches across the margin"
              : finding->claim->kind == LAB_CLAIM_CHANCE ? "; the interval holds the bound"
                                                         : "; the interval holds 0",
              stream);
        break;
    case LAB_REASON_LEARNING:
        write_learner(view, item, stream);
        write_learning(view, item, stream);
        break;
    case LAB_REASON_NOT_BEGUN:
        write_learner(view, item, stream);
        fputs(" is at chance, which is not told from not having begun", stream);
        break;
    case LAB_REASON_NO_CURVE:
        write_learner(view, item, stream);
        fputs(" may still be learning: there is no curve of its score", stream);
        break;
    case LAB_REASON_SUBJECT:
        fputs("; not all schemes that the claim is about have been measured", stream);
        break;
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
        write_reason(view, finding, item, stream);
        return;
    }
    if (finding->claim->kind == LAB_CLAIM_LESS)
        fputs("what flattening costs, more than breadth-first: ", stream);
    fprintf(stream, "%s", subject);
    write_difference(view, item, stream);
    write_reason(view, finding, item, stream);
}

/* Items of a verdict; of the supporting ones only that with the smallest lead. */
static void write_items(const lab_reproduction_view *view, const lab_finding *finding, lab_verdict verdict,
                        FILE *stream, const char *indent) {
    static const char *const words[] = {"open", "supports", "contradicts"};
    const lab_claim_item *least = NULL;
    for (size_t i = 0; i < finding->item_count; i++) {
        const lab_claim_item *item = &finding->items[i];
        if (item->verdict != verdict)
            continue;
        if (verdict != LAB_SUPPORTED) {
            fprintf(stream, "%s%s: ", indent, words[verdict]);
            write_item(view, finding, item, stream);
            fputc('\n', stream);
        } else if (least == NULL || item->lead < least->lead) {
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
    const bool columns = finding->claim->kind == LAB_CLAIM_BEST;
    const char *name = lab_verdict_name(finding->verdict), *several = finding->item_count == 1 ? "" : "s";
    fprintf(stream, markdown ? "- **%s at budget %s**: %s" : "%s at budget %s: %s", name, view->table->budget,
            finding->claim->text);
    fprintf(stream, "%s%s (%s): ", finding->variant[0] != '\0' ? ", embeddings " : "", finding->variant,
            finding->claim->source);
    fprintf(stream, "%zu %s%s%s, m = %zu%s: ", finding->item_count, columns ? "column" : "comparison", several,
            view->table->part ? " in this part of the table" : "", finding->comparisons, columns ? " comparisons" : "");
    fprintf(stream, "%zu support, %zu open, %zu contradict\n", finding->counts[LAB_SUPPORTED],
            finding->counts[LAB_OPEN], finding->counts[LAB_CONTRADICTED]);
    write_items(view, finding, LAB_CONTRADICTED, stream, indent);
    write_items(view, finding, LAB_OPEN, stream, indent);
    write_items(view, finding, LAB_SUPPORTED, stream, indent);
}

void lab_claims_write(const lab_reproduction_view *view, FILE *stream, bool markdown) {
    for (size_t i = 0; i < view->findings->count; i++)
        write_finding(view, &view->findings->findings[i], stream, markdown);
    if (view->findings->count == 0)
        fputs("Nothing: this part of the table has no fields that a claim is about.\n", stream);
}

/* ---- what the numbers do not tell apart ---- */

/* Pairs of a column that are not separated, joined; returns how many. */
static size_t write_pairs(const lab_reproduction_view *view, size_t column, FILE *stream) {
    const lab_reproduction *table = view->table;
    size_t pairs = 0;
    for (size_t i = 0; i < table->row_count; i++) {
        for (size_t j = i + 1; j < table->row_count; j++) {
            if (!lab_view_is_open(view, i, j, column))
                continue;
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
    for (size_t row = 0; row < view->table->row_count; row++)
        count += lab_result_score(view->result, view->table, row, column)->count > 0;
    return count;
}

void lab_separation_write(const lab_reproduction_view *view, FILE *stream, bool markdown) {
    const lab_reproduction *table = view->table;
    bool measured = false;
    for (size_t column = 0; column < table->column_count; column++) {
        if (measured_rows(view, column) == 0)
            continue;
        measured = true;
        fprintf(stream, "%s%s: ", markdown ? "- " : "  ", table->columns[column].head);
        if (lab_column_at_chance(table, view->result, column) && table->columns[column].measure == LAB_MEASURE_SOLVED) {
            fputs("no scheme solves a problem: this column says nothing; ", stream);
        } else if (lab_column_at_chance(table, view->result, column)) {
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
    if (!measured)
        fputs("Nothing is measured yet.\n", stream);
}
