/* SPDX-License-Identifier: MIT */
/* The page's words and tables: what was run, what the numbers separate, scores, cost, runs. */
#include "report/page.h"
#include "report/published.h"

#include "task/task.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void lab_page_text(lab_page *page, const char *text) {
    for (; *text; text++) {
        switch (*text) {
        case '<':
            fputs("&lt;", page->file);
            break;
        case '>':
            fputs("&gt;", page->file);
            break;
        case '&':
            fputs("&amp;", page->file);
            break;
        case '"':
            fputs("&quot;", page->file);
            break;
        default:
            fputc(*text, page->file);
        }
    }
}

bool lab_page_has_scores(const lab_summary_section *section) {
    for (size_t i = 0; i < section->row_count; i++) {
        if (section->rows[i].done > 0) {
            return true;
        }
    }
    return false;
}

/* ---- what was run ---- */

static void put_item(lab_page *page, const char *name, const char *text) {
    if (text[0]) {
        fprintf(page->file, "<dt>%s</dt><dd>", name);
        lab_page_text(page, text);
        fputs("</dd>\n", page->file);
    }
}

static double number_of(const cJSON *config, const char *name) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(config, name);
    return cJSON_IsNumber(item) ? item->valuedouble : NAN;
}

static const char *text_of(const cJSON *config, const char *name) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(config, name);
    return cJSON_IsString(item) ? item->valuestring : "?";
}

/* What is written only where it differs from what models usually have. */
static void put_attention(lab_page *page, const cJSON *config) {
    const cJSON *kind = cJSON_GetObjectItemCaseSensitive(config, "attention");
    const double heads = number_of(config, "kv_heads");
    char text[128];
    if (cJSON_IsString(kind)) {
        snprintf(text, sizeof text, "%s, where it can be", kind->valuestring);
        put_item(page, "Attention", text);
    }
    if (heads > 0) {
        snprintf(text, sizeof text, "%g, shared by groups of %g heads of queries", heads,
                 number_of(config, "heads") / heads);
        put_item(page, "Heads of keys and values", text);
    }
}

static void put_configuration(lab_page *page, const cJSON *config) {
    char text[400];
    snprintf(text, sizeof text, "%g / %g / %g samples for training, development and test; data seed %s",
             number_of(config, "train_samples"), number_of(config, "dev_samples"), number_of(config, "test_samples"),
             text_of(config, "data_seed"));
    put_item(page, "Samples", text);
    snprintf(text, sizeof text,
             "encoder–decoder Transformer, %g + %g layers, dimension %g, %g heads, feed-forward %g, LayerNorm %s each "
             "block, dropout %g, attention dropout %g on the %s",
             number_of(config, "encoder_layers"), number_of(config, "decoder_layers"), number_of(config, "dim"),
             number_of(config, "heads"), number_of(config, "feed_forward"), text_of(config, "norm"),
             number_of(config, "dropout"), number_of(config, "attention_dropout"),
             text_of(config, "attention_dropout_on"));
    put_item(page, "Model", text);
    put_attention(page, config);
    double steps = number_of(config, "steps"), epochs = number_of(config, "epochs");
    snprintf(text, sizeof text,
             "AdamW (weight decay %g), batch %g, %g %s, learning rate from %g up to %g, by a cosine down to %g, "
             "warm-up %g %% "
             "of the steps",
             number_of(config, "weight_decay"), number_of(config, "batch"), steps > 0 ? steps : epochs,
             steps > 0 ? "steps" : "epochs", number_of(config, "rate_initial"), number_of(config, "rate_peak"),
             number_of(config, "rate_final"), 100 * number_of(config, "warmup_share"));
    put_item(page, "Training", text);
}

/* What guessing the most common token scores on the section's data. */
static void put_chance(lab_page *page, const lab_summary_section *section, const cJSON *config) {
    const lab_task *task = lab_task_find(section->task);
    double symbols = number_of(config, "symbols");
    if (!task || task->kind != LAB_TASK_WORDS || !(section->trained_length > 0) || !(symbols >= 1 && symbols < 1e6)) {
        return;
    }
    lab_task_options options = lab_task_default(task);
    options.length_mean = section->trained_length;
    options.length_deviation = number_of(config, "length_deviation");
    options.symbols = (size_t)symbols;
    lab_dataset set;
    const lab_draw draw = {task, &options, LAB_SET_TEST, 500, 0};
    if (lab_dataset_generate(&set, &draw, NULL) == LOCUS_OK) {
        char text[120];
        snprintf(text, sizeof text, "%.1f %% of the tokens, by always guessing the most common one",
                 100 * lab_dataset_chance(&set, lab_task_vocabulary(task, &options)));
        put_item(page, "Chance", text);
        lab_dataset_destroy(&set);
    }
}

/* The distinct values of a text column of the section's runs, joined. */
static void put_distinct(lab_page *page, const char *name, const lab_summary_section *section,
                         char *const *(*column)(const lab_run *)) {
    char text[600] = "";
    for (size_t i = 0; i < section->row_count; i++) {
        for (size_t j = 0; j < section->rows[i].run_count; j++) {
            const char *value = *column(section->rows[i].runs[j]);
            size_t used = strlen(text);
            if (value && value[0] && !strstr(text, value)) {
                snprintf(text + used, sizeof text - used, "%s%s", used ? "; " : "", value);
            }
        }
    }
    put_item(page, name, text);
}

static char *const *machine_of(const lab_run *run) {
    return &run->machine;
}
static char *const *version_of(const lab_run *run) {
    return &run->version;
}

static void put_seeds(lab_page *page, const lab_summary_section *section) {
    char text[300] = "";
    uint64_t seen[64];
    size_t count = 0;
    for (size_t i = 0; i < section->row_count; i++) {
        for (size_t j = 0; j < section->rows[i].run_count; j++) {
            uint64_t seed = section->rows[i].runs[j]->seed;
            size_t k = 0;
            while (k < count && seen[k] != seed) {
                k++;
            }
            if (k == count && count < 64) {
                size_t used = strlen(text);
                seen[count++] = seed;
                snprintf(text + used, sizeof text - used, "%s%" PRIu64, used ? ", " : "", seed);
            }
        }
    }
    put_item(page, "Seeds", text);
}

void lab_page_setting(lab_page *page, const lab_summary_section *section) {
    const lab_task *task = lab_task_find(section->task);
    char text[300];
    cJSON *config = cJSON_Parse(section->config ? section->config : "");
    fputs("<dl>\n", page->file);
    snprintf(text, sizeof text, "%s%s%s%s%s", section->task, task ? ": " : "", task ? task->summary : "",
             section->data[0] ? "; " : "", section->data);
    put_item(page, "Task", text);
    if (config) {
        put_chance(page, section, config);
        put_configuration(page, config);
    }
    put_item(page, "Embeddings",
             strcmp(section->embedding_init, "unit") == 0
                 ? "unit: drawn from N(0, 1), times √D at the input, unscaled as output projection (the published code)"
             : strcmp(section->embedding_init, "scaled") == 0
                 ? "scaled: drawn from N(0, 1/D), times √D at the input, unscaled as output projection"
                 : section->embedding_init);
    put_seeds(page, section);
    put_distinct(page, "Machine", section, machine_of);
    put_distinct(page, "Version", section, version_of);
    fputs("</dl>\n", page->file);
    cJSON_Delete(config);
}

/* ---- what the numbers separate ---- */

static bool any_single_seed(const lab_summary_section *section) {
    for (size_t i = 0; i < section->row_count; i++) {
        if (section->rows[i].accuracy.count == 1) {
            return true;
        }
    }
    return false;
}

/* The statistic of a row on the test set `which`: 0 is the trained length, then the further lengths. */
static const lab_statistic *statistic_at(const lab_summary_row *row, size_t which) {
    return which == 0 ? &row->accuracy : &row->at_length[which - 1];
}

static void put_unseparated(lab_page *page, const lab_summary_section *section, size_t which) {
    size_t pairs = 0, open = 0;
    for (size_t i = 0; i < section->row_count; i++) {
        for (size_t j = i + 1; j < section->row_count; j++) {
            const lab_statistic *a = statistic_at(&section->rows[i], which),
                                *b = statistic_at(&section->rows[j], which);
            if (a->count == 0 || b->count == 0) {
                continue;
            }
            pairs++;
            if (!lab_statistic_overlap(a, b)) {
                continue;
            }
            fputs(open++ ? " · " : "<b>not separated</b>: ", page->file);
            fputs("<span class=\"pair\">", page->file);
            lab_page_text(page, section->rows[i].encoding);
            fputs("&ensp;~&ensp;", page->file);
            lab_page_text(page, section->rows[j].encoding);
            fputs("</span>", page->file);
        }
    }
    if (pairs > 0 && open == 0) {
        fputs("all encodings are <b>separated</b> from each other.", page->file);
    } else if (pairs > open) {
        fprintf(page->file, ". The other %zu of %zu pairs are separated.", pairs - open, pairs);
    } else {
        fputs(": no pair is separated.", page->file);
    }
}

/* The same pairs are separated on two test sets: they can share a sentence. */
static bool same_pairs(const lab_summary_section *section, size_t one, size_t other) {
    for (size_t i = 0; i < section->row_count; i++) {
        for (size_t j = i + 1; j < section->row_count; j++) {
            const lab_summary_row *a = &section->rows[i], *b = &section->rows[j];
            bool known = statistic_at(a, one)->count && statistic_at(b, one)->count;
            bool known_too = statistic_at(a, other)->count && statistic_at(b, other)->count;
            if (known != known_too || lab_statistic_overlap(statistic_at(a, one), statistic_at(b, one)) !=
                                          lab_statistic_overlap(statistic_at(a, other), statistic_at(b, other))) {
                return false;
            }
        }
    }
    return true;
}

/* "At the trained length and at mean length 32, ": `which` and all test sets that share its sentence. */
static void put_test_sets(lab_page *page, const lab_summary_section *section, size_t which) {
    size_t named = 0;
    fputs(which == 0 ? "Test accuracy at the trained length" : "At mean length ", page->file);
    for (size_t i = which; i <= section->length_count; i++) {
        if (i == 0 || !same_pairs(section, which, i)) {
            continue;
        }
        const char *gap = named++ ? ", " : which == 0 ? " and at mean length " : "";
        fprintf(page->file, "%s%zu", gap, section->lengths[i - 1]);
    }
    fputs(", ", page->file);
}

void lab_page_findings(lab_page *page, const lab_summary_section *section) {
    if (section->row_count < 2 || !lab_page_has_scores(section)) {
        return;
    }
    fputs("<div class=\"finding\">\n", page->file);
    for (size_t which = 0; which <= section->length_count; which++) {
        bool told = false;
        for (size_t before = 0; before < which; before++) {
            told = told || same_pairs(section, before, which);
        }
        if (!told) {
            fputs("<p>", page->file);
            put_test_sets(page, section, which);
            put_unseparated(page, section, which);
            fputs("</p>\n", page->file);
        }
    }
    fputs("<p class=\"small\">Two encodings count as separated when the 95 % confidence intervals of their means over "
          "seeds, "
          "mean&nbsp;±&nbsp;t·s/√<i>n</i>, do not overlap.",
          page->file);
    if (any_single_seed(section)) {
        fputs(" One seed gives no interval: it separates nothing.", page->file);
    }
    fputs("</p></div>\n", page->file);
}

/* ---- scores ---- */

static void put_share(lab_page *page, const lab_statistic *s, bool best) {
    if (s->count == 0) {
        fputs("<td>—</td>", page->file);
        return;
    }
    fprintf(page->file, "<td%s>%.2f", best ? " class=\"best\"" : "", 100 * s->mean);
    if (s->count > 1) {
        fprintf(page->file, " <small>±%.2f</small>", 100 * s->deviation);
    }
    fputs("</td>", page->file);
}

/* Not separated from the highest mean of its column, which is known from at least two seeds each. */
static bool is_best(const lab_summary_section *section, const lab_statistic *s, size_t which) {
    const lab_statistic *best = NULL;
    size_t others = 0;
    for (size_t i = 0; i < section->row_count; i++) {
        const lab_statistic *other = statistic_at(&section->rows[i], which);
        if (other->count > 0 && (!best || other->mean > best->mean)) {
            best = other;
        }
        others += other->count > 1 && other != s;
    }
    return best && s->count > 1 && best->count > 1 && others > 0 && lab_statistic_overlap(s, best);
}

static void put_steps(lab_page *page, const lab_summary_row *row) {
    const lab_statistic *s = &row->steps_to_99;
    if (s->count == 0) {
        fputs(row->done ? "<td>never</td>" : "<td>—</td>", page->file);
        return;
    }
    fprintf(page->file, "<td>%.0f", s->mean);
    if (s->count > 1) {
        fprintf(page->file, " <small>±%.0f</small>", s->deviation);
    }
    if (s->count < row->done) {
        fprintf(page->file, " <small>(%zu of %zu)</small>", s->count, row->done);
    }
    fputs("</td>", page->file);
}

static bool any_published(const lab_summary_section *section) {
    for (size_t i = 0; i < section->row_count; i++) {
        if (section->rows[i].has_published) {
            return true;
        }
    }
    return false;
}

static void put_published(lab_page *page, const lab_summary_row *row) {
    if (!row->has_published) {
        fputs("<td class=\"pub\">—</td>", page->file);
        return;
    }
    fprintf(page->file, "<td class=\"pub\">%.2f", 100 * row->published);
    if (row->published_deviation >= 0) {
        fprintf(page->file, " <small>±%.1f</small>", 100 * row->published_deviation);
    }
    fputs("</td>", page->file);
}

static void put_score_row(lab_page *page, const lab_summary_section *section, const lab_summary_row *row) {
    fputs("<tr><th scope=\"row\"><code>", page->file);
    lab_page_text(page, row->encoding);
    fputs("</code></th>", page->file);
    put_share(page, &row->accuracy, is_best(section, &row->accuracy, 0));
    put_share(page, &row->exact, false);
    put_share(page, &row->greedy_exact, false);
    for (size_t i = 0; i < section->length_count; i++) {
        put_share(page, &row->at_length[i], is_best(section, &row->at_length[i], i + 1));
    }
    put_steps(page, row);
    fprintf(page->file, "<td>%zu</td>", row->done);
    if (any_published(section)) {
        put_published(page, row);
    }
    fputs("</tr>\n", page->file);
}

static void put_score_head(lab_page *page, const lab_summary_section *section) {
    fputs("<thead><tr><th class=\"left\">encoding</th><th>accuracy<small>tokens, %</small></th>"
          "<th>exact<small>whole, %</small></th><th>greedy<small>exact, %</small></th>",
          page->file);
    for (size_t i = 0; i < section->length_count; i++) {
        fprintf(page->file, "<th>length %zu<small>tokens, %%</small></th>", section->lengths[i]);
    }
    fputs("<th>steps<small>to 99 %</small></th><th>seeds</th>", page->file);
    if (any_published(section)) {
        fputs("<th>published<small>budget paper</small></th>", page->file);
    }
    fputs("</tr></thead>\n", page->file);
}

void lab_page_scores(lab_page *page, const lab_summary_section *section) {
    fprintf(page->file, "<figure><figcaption><b>Table %zu.</b> Scores on the test set of <i>", ++page->tables);
    lab_page_text(page, section->task);
    fputs("</i>, budget <i>", page->file);
    lab_page_text(page, section->budget);
    fputs("</i>, mean ± standard deviation over seeds. <i>accuracy</i> and <i>exact</i> are teacher-forced; "
          "<i>greedy</i> is "
          "decoded token by token. <i>steps</i>: until 99 % accuracy on the development set. Bold: not separated from "
          "the "
          "column's highest mean.",
          page->file);
    const lab_published *source = NULL;
    for (size_t i = 0; i < section->row_count && !source; i++) {
        source = lab_published_find(section->task, section->rows[i].encoding);
    }
    if (source) {
        fputs(" Published: accuracy of ", page->file);
        lab_page_text(page, source->source);
        fprintf(page->file, ", trained at budget <i>%s</i>%s", source->budget,
                strcmp(source->budget, section->budget) ? "; not comparable with this budget." : ".");
    }
    fputs("</figcaption>\n<div class=\"wide\"><table>\n", page->file);
    put_score_head(page, section);
    fputs("<tbody>\n", page->file);
    for (size_t i = 0; i < section->row_count; i++) {
        put_score_row(page, section, &section->rows[i]);
    }
    fputs("</tbody></table></div></figure>\n", page->file);
}
