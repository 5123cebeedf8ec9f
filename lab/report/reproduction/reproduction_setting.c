/* SPDX-License-Identifier: MIT */
/* How a measured table's numbers are to be read: what is measured, who has a decay, what differs from the published
 * set-up, and what else was published. */
#include "report/reproduction/reproduction_report.h"
#include "report/reproduction/setting_source.h"

#include "train/configuration/config.h"
#include "train/configuration/config_options.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static bool is_table(const lab_reproduction *table, const char *name) {
    return strcmp(table->name, name) == 0;
}

static bool has_trees(const lab_reproduction *table) {
    for (size_t i = 0; i < table->column_count; i++)
        if (table->columns[i].class->arity != NULL)
            return true;
    return false;
}

/* The first column of a kind; NULL: none. */
static const lab_task *first_of(const lab_reproduction *table, const lab_task_class *class) {
    for (size_t i = 0; i < table->column_count; i++)
        if (table->columns[i].class == class)
            return table->columns[i].config.task;
    return NULL;
}

/* Whether the test set takes part in choosing: of all columns, or none. */
static bool chooses_on_test(const lab_reproduction *table) {
    return table->columns[0].class->develops_on_test;
}

const char *lab_decay_name(const lab_reproduction *table) {
    if (table->decay == LAB_DECAY_BOTH)
        return "each orthogonal scheme with and without";
    if (table->decay == LAB_DECAY_AS_PUBLISHED && is_table(table, "roper") && has_trees(table))
        return "nobody has it but, as published, the algebraic schemes on trees";
    const bool algebra = !is_table(table, "roper") && !is_table(table, "listops");
    return table->decay == LAB_DECAY_AS_PUBLISHED && algebra ? "as published (the algebraic schemes have it)"
                                                             : "nobody has it";
}

/* ---- what differs from budget paper, and whose that is ---- */

static bool is_size(const char *name) {
    static const char *const others[] = {
        "task",   "encoding",           "budget",         "seed",     "data_seed", "steps",
        "epochs", "checkpoint_seconds", "evaluate_every", "order",    "asked",     "classes",
        "digest", "pretrained_digest",  "tree_paths",     "numerics", "precision"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(name, others[i]) == 0)
            return false;
    return true;
}

/* A field's name in words. */
static const char *words_of(const char *field, char text[40]) {
    snprintf(text, 40, "%s", field);
    for (char *dash = text; (dash = strchr(dash, '_')) != NULL;)
        *dash = ' ';
    return text;
}

/* A list of differences between settings of a kind. */
typedef struct differences {
    char text[1600];
    const lab_task *task;
    lab_setup setup;
} differences;

static void add(differences *list, const char *field, const char *here, const char *there) {
    char name[40];
    size_t used = strlen(list->text);
    snprintf(list->text + used, sizeof list->text - used, "%s%s %s (%s: %s)", used > 0 ? ", " : "",
             words_of(field, name), here, lab_setting_source(list->task, list->setup, field), there);
}

static void value_text(const cJSON *value, char text[64]) {
    if (cJSON_IsString(value))
        snprintf(text, 64, "%.60s", value->valuestring);
    else if (cJSON_IsNumber(value))
        snprintf(text, 64, "%g", value->valuedouble);
    else
        snprintf(text, 64, "0");
}

/* The sizes in which two configurations differ, each as "dim 64 (paper: 512)", with whose the other is. */
static void compare_sizes(const lab_train_config *here, const lab_train_config *there, differences *list) {
    char *texts[2] = {lab_config_json(here), lab_config_json(there)};
    cJSON *a = cJSON_Parse(texts[0] ? texts[0] : ""), *b = cJSON_Parse(texts[1] ? texts[1] : "");
    list->text[0] = '\0';
    for (const cJSON *item = a != NULL ? a->child : NULL; item != NULL; item = item->next) {
        char one[64], other[64];
        value_text(item, one);
        value_text(cJSON_GetObjectItemCaseSensitive(b, item->string), other);
        if (is_size(item->string) && strcmp(one, other) != 0)
            add(list, item->string, one, other);
    }
    if (lab_config_steps(here) != lab_config_steps(there)) {
        char one[32], other[32];
        snprintf(one, sizeof one, "%" PRIu64, lab_config_steps(here));
        snprintf(other, sizeof other, "%" PRIu64, lab_config_steps(there));
        add(list, "steps", one, other);
    }
    cJSON_Delete(a);
    cJSON_Delete(b);
    cJSON_free(texts[0]);
    cJSON_free(texts[1]);
}

static void write_size_line(FILE *stream, const char *bullet, const char *tasks, const char *text) {
    fprintf(stream, "%s%s: %s.\n", bullet, tasks, text[0] != '\0' ? text : "the sizes of budget paper");
}

/* One line for tasks that differ alike. */
static void write_sizes(const lab_reproduction_view *view, FILE *stream, const char *bullet) {
    char last[1600] = "", tasks[200] = "";
    const char *told = NULL;
    for (size_t i = 0; i < view->table->column_count; i++) {
        const lab_train_config *here = &view->table->columns[i].config;
        lab_train_config there;
        if (view->table->columns[i].class->whole || (told != NULL && strcmp(told, here->task->name) == 0) ||
            lab_train_config_budget(&there, here->task, "paper", here->setup, NULL) != LOCUS_OK)
            continue;
        there.model.embedding_init = here->model.embedding_init; /* the papers do not mention them */
        there.model.position_scale = here->model.position_scale;
        there.model.logit_scale = here->model.logit_scale;
        there.encoding = here->encoding;
        differences list = {.task = here->task, .setup = here->setup};
        compare_sizes(here, &there, &list);
        told = here->task->name;
        if (tasks[0] != '\0' && strcmp(list.text, last) != 0) {
            write_size_line(stream, bullet, tasks, last);
            tasks[0] = '\0';
        }
        size_t used = strlen(tasks);
        snprintf(tasks + used, sizeof tasks - used, "%s%s", used > 0 ? ", " : "", here->task->name);
        snprintf(last, sizeof last, "%s", list.text);
    }
    if (tasks[0] != '\0')
        write_size_line(stream, bullet, tasks, last);
}

/* The fields that budget paper has from one source; false: none. */
static bool list_source(const lab_task *task, lab_setup setup, const char *source, char *text, size_t size) {
    const char *field;
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; (field = lab_setting_at(task->class, i)) != NULL; i++) {
        char name[40];
        if (strcmp(lab_setting_source(task, setup, field), source) == 0 && used < size)
            used += (size_t)snprintf(text + used, size - used, "%s%s", used > 0 ? ", " : "", words_of(field, name));
    }
    return used > 0;
}

/* Whose the settings of budget paper are, once for each kind of task. */
static void write_sources(const lab_reproduction *table, FILE *stream, const char *bullet) {
    static const struct {
        const char *source, *words;
    } sources[] = {{"paper", "the paper has"},
                   {"code of 2024", "the code of 2024 has"},
                   {"Long Range Arena", "Long Range Arena has"},
                   {"inferred", "from these follow the"}};
    for (size_t c = 0; c < lab_class_count(); c++) {
        const lab_task_class *class = lab_class_at(c);
        const lab_task *task = first_of(table, class);
        char text[600];
        if (task == NULL || lab_setting_at(class, 0) == NULL)
            continue;
        fprintf(stream, "%sof budget paper, %s: ", bullet, class->name);
        for (size_t i = 0; i < COUNT(sources); i++)
            if (list_source(task, table->setup, sources[i].source, text, sizeof text))
                fprintf(stream, "%s %s; ", sources[i].words, text);
        fputs("what is not named is ours (docs/budgets.md).\n", stream);
    }
}

static void write_doubts(const lab_reproduction_view *view, FILE *stream, const char *bullet) {
    for (size_t i = 0; i < view->table->column_count * view->table->row_count; i++) {
        const size_t column = i / view->table->row_count, row = i % view->table->row_count;
        const lab_published *found = lab_view_published(view, row, column);
        if (found != NULL && found->doubt != NULL) {
            fprintf(stream, "%s† %s, %s: %s.\n", bullet, view->table->columns[column].head,
                    view->table->columns[column].rows[row].name, found->doubt);
        }
    }
}

static void write_listops_notes(const lab_reproduction *table, FILE *stream, const char *bullet) {
    const lab_train_config *tuned = &table->columns[0].pretrained;
    fprintf(stream,
            "%sthe published Chebyshev model reads word pieces, at most 512, of the text with its round brackets; but "
            "for pretrained rows, a model here reads the expression's own tokens without them.\n",
            bullet);
    for (size_t row = 0; row < table->row_count; row++) {
        if (table->columns[0].rows[row].pretrained) {
            fprintf(stream,
                    "%s%s: fine-tuned as published, %" PRIu64 " epochs of %zu expressions in batches of %zu, scored on "
                    "%zu; the encoder is that of the folder.\n",
                    bullet, table->columns[0].rows[row].name, tuned->epochs, tuned->train_samples, tuned->batch,
                    tuned->test_samples);
        }
    }
}

/* The published model's sizes are not printed, but for how many parameters it has. */
static void write_text_note(const lab_train_config *here, FILE *stream, const char *bullet) {
    fprintf(
        stream,
        "%stext: published is a model of 200 million parameters on English Wikipedia with a SentencePiece vocabulary "
        "of 32,000; here the text of the data folder with a vocabulary of %zu, a decoder of dimension %zu and %zu "
        "layers, %" PRIu64 " steps of %zu windows of %zu tokens.\n",
        bullet, (size_t)lab_config_number(here, "symbols"), here->model.dim, here->model.decoder_layers,
        lab_config_steps(here), here->batch, (size_t)lab_config_number(here, "sequence"));
}

static void write_paths_note(const lab_reproduction *table, FILE *stream, const char *bullet) {
    size_t column = 0;
    while (column + 1 < table->column_count && table->columns[column].config.model.tree_paths == LAB_PATHS_OWN)
        column++;
    const lab_tree_paths paths = table->columns[column].config.model.tree_paths;
    if (paths != LAB_PATHS_OWN) {
        fprintf(stream,
                "%severy node of a tree stands at the path of the next one, level by level%s: the paper says its own "
                "(--tree-paths %s, docs/budgets.md).\n",
                bullet, paths == LAB_PATHS_CODE ? ", as in the authors' code, but for shiv-quirk" : "",
                lab_tree_paths_name(paths));
    }
}

/* What no list of sizes shows. */
static void write_notes(const lab_reproduction_view *view, FILE *stream, const char *bullet) {
    const lab_reproduction *table = view->table;
    write_sources(table, stream, bullet);
    if (table->decay == LAB_DECAY_NOBODY && !is_table(table, "roper") && !is_table(table, "listops"))
        fprintf(stream, "%sno scheme has a decay; the published algebraic schemes have 0.98.\n", bullet);
    write_paths_note(table, stream, bullet);
    if (table->columns[0].config.model.precision == LAB_BF16)
        fprintf(stream, "%soperands of matrix products are rounded to bfloat16, all else is float32.\n", bullet);
    if (lab_reproduction_has_scales(table)) {
        fprintf(
            stream,
            "%sunit: embeddings of variance 1, times √D at the input; positions: what is added to them is times √D, "
            "too; logits: the output, which is the embedding, is divided by √D. The public code, as we read it, does "
            "neither. A "
            "scheme that adds nothing to tokens is the same training with and without the first.\n",
            bullet);
    }
    if (chooses_on_test(table)) {
        fprintf(stream,
                "%sas published, the score is the best test accuracy by epoch: the test set takes part in choosing.\n",
                bullet);
    }
    if (is_table(table, "roper") && !table->drop_worst) {
        fprintf(stream, "%smeans are over all seeds; published are those of the nine best of ten (--drop-worst).\n",
                bullet);
    }
    if (table->drop_worst) {
        fprintf(stream,
                "%sas published, the worst seed of each field is dropped once all are there: the deviations and "
                "intervals of those that remain are too small.\n",
                bullet);
    }
    for (size_t i = 0; i < table->column_count; i++)
        if (table->columns[i].class->whole && lab_reproduction_leads(table, i))
            write_text_note(&table->columns[i].config, stream, bullet);
    if (is_table(table, "listops"))
        write_listops_notes(table, stream, bullet);
}

void lab_deviations_write(const lab_reproduction_view *view, FILE *stream, bool markdown) {
    const char *bullet = markdown ? "- " : "  ";
    write_sizes(view, stream, bullet);
    write_notes(view, stream, bullet);
    write_doubts(view, stream, bullet);
    if (view->table->left_out[0] != '\0')
        fprintf(stream, "%s%s.\n", bullet, view->table->left_out);
}

/* ---- how to read the numbers ---- */

/* The columns of a measure, and of a class (NULL: of any), joined: "addition, substring-index". */
static size_t name_columns(const lab_reproduction *table, lab_measure measure, const lab_task_class *class, char *text,
                           size_t size) {
    size_t count = 0;
    text[0] = '\0';
    for (size_t i = 0; i < table->column_count; i++) {
        const lab_reproduction_column *column = &table->columns[i];
        size_t used = strlen(text);
        if (column->measure == measure && (class == NULL || column->class == class)) {
            snprintf(text + used, size - used, "%s%.*s", count++ > 0 ? ", " : "", (int)strcspn(column->head, ","),
                     column->head);
        }
    }
    return count;
}

static void write_measures(const lab_reproduction *table, FILE *stream) {
    static const struct {
        lab_measure measure;
        const char *text;
    } words[] = {
        {LAB_MEASURE_SOLVED, "random problems decoded exactly, greedily, %; higher is better"},
        {LAB_MEASURE_LOSS, "loss on the test set, nats a token; lower is better"},
        {LAB_MEASURE_PERPLEXITY, "perplexity, exp of the loss; lower is better"},
    };
    char names[256];
    for (size_t i = 0; i < COUNT(words); i++)
        if (name_columns(table, words[i].measure, NULL, names, sizeof names) > 0)
            fprintf(stream, "%s: %s.\n", names, words[i].text);
    for (size_t c = 0; c < lab_class_count(); c++) {
        const lab_task_class *class = lab_class_at(c);
        if (name_columns(table, LAB_MEASURE_ACCURACY, class, names, sizeof names) > 0) {
            fprintf(stream,
                    class->decodes ? "%s: %ss of the test set right under teacher forcing, %%; higher is better.\n"
                                   : "%s: test %ss right, %%; higher is better.\n",
                    names, class->token);
        }
    }
}

static void write_table_legend(const lab_reproduction *table, FILE *stream) {
    fprintf(stream,
            "%s, %%: mean ± standard deviation over %zu seed%s\nat budget %s; in parentheses as published, at budget "
            "paper: Kogkalidis, Bernardy and Garg 2024, Table %s.\n",
            chooses_on_test(table) ? "Test images right, the best epoch's"
                                   : "Tokens of the test set right under teacher forcing",
            table->seeds, table->seeds == 1 ? "" : "s", table->budget, table->name + strlen("table"));
}

static bool has_gaps(const lab_reproduction *table) {
    for (size_t i = 0; i < table->column_count * table->row_count; i++)
        if (!lab_reproduction_has(table, i % table->row_count, i / table->row_count))
            return true;
    return false;
}

void lab_legend_write(const lab_reproduction_view *view, FILE *stream) {
    const lab_reproduction *table = view->table;
    if (!is_table(table, "roper") && !is_table(table, "listops")) {
        write_table_legend(table, stream);
        return;
    }
    write_measures(table, stream);
    fprintf(stream, "Mean ± standard deviation over %zu seed%s at budget %s%s.%s\n", table->seeds,
            table->seeds == 1 ? "" : "s", table->budget, table->drop_worst ? ", the worst of them dropped" : "",
            has_gaps(table) ? " Empty: the scheme makes no sense there." : "");
    if (is_table(table, "roper"))
        fputs("Harik and Jayasiri 2022 print curves only: there are no published numbers to stand beside.\n", stream);
    else
        fputs("Majority: always the most common class of the test set. Chance: any class, at random.\n", stream);
}

/* ---- published numbers of no row ---- */

void lab_others_write(const lab_reproduction_view *view, FILE *stream, bool markdown) {
    if (!is_table(view->table, "listops"))
        return;
    if (markdown)
        fputs("\n## Published, not measured here\n\n| model | ListOps, % |\n|---|---|\n", stream);
    else
        fputs("\nPublished, not measured here: ListOps, %\n\n", stream);
    for (size_t i = 0; i < lab_published_listops_count(); i++) {
        const lab_published_model *model = lab_published_listops_at(i);
        fprintf(stream, markdown ? "| %s | %.2f%s |\n" : "  %-16s %.2f%s\n", model->name, 100 * model->accuracy,
                model->doubt != NULL ? "†" : "");
    }
    fprintf(stream, "%s%s.\n", markdown ? "\n" : "  ", lab_published_listops_at(0)->source);
    for (size_t i = 0; i < lab_published_listops_count(); i++) {
        const lab_published_model *model = lab_published_listops_at(i);
        if (model->doubt != NULL)
            fprintf(stream, "%s† %s: %s.\n", markdown ? "\n" : "  ", model->name, model->doubt);
    }
}
