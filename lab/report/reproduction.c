/* SPDX-License-Identifier: MIT */
/* The published tables as data (Kogkalidis, Bernardy and Garg 2024, Tables 1 to 3), and the trainings behind them.
 *
 * A scheme's spec holds sizes of the data: {window} is the mean length of the words, as published; {steps} the mean
 * depth of the trees, one more in set-up code (7 and 8 at the published size); {arity} that of the trees. */
#include "report/reproduction.h"

#include "io/fail.h"
#include "train/config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- schemes ---- */

typedef struct scheme_pattern {
    lab_task_kind kind;
    const char *name, *key;
    const char *plain;   /* without decay */
    const char *decayed; /* with it; NULL: there is no such thing */
    bool published_with; /* the published table has it with decay */
    bool beyond;
} scheme_pattern;

static const scheme_pattern patterns[] = {
    {LAB_TASK_WORDS, "sinusoidal", "sinusoidal", "sinusoidal", NULL, false, false},
    {LAB_TASK_WORDS, "relative", "relative", "relative(window={window})", NULL, false, false},
    {LAB_TASK_WORDS, "rope", "rope", "rope", "rope + decay(rate=0.98)", false, false},
    {LAB_TASK_WORDS, "algebraic (seq)", "algebraic-seq", "algebraic(group=seq)", "algebraic(group=seq, decay=0.98)",
     true, false},

    {LAB_TASK_TREES, "sinusoidal", "sinusoidal", "sinusoidal", NULL, false, false},
    {LAB_TASK_TREES, "shiv-quirk", "shiv-quirk", "shiv-quirk(k={arity}, depth={steps})", NULL, false, false},
    {LAB_TASK_TREES, "rope", "rope", "rope", "rope + decay(rate=0.98)", false, false},
    {LAB_TASK_TREES, "algebraic (seq)", "algebraic-seq", "algebraic(group=seq)", "algebraic(group=seq, decay=0.98)",
     true, false},
    {LAB_TASK_TREES, "algebraic (tree)", "algebraic-tree", "algebraic(group=tree:{arity})",
     "algebraic(group=tree:{arity}, decay=0.98)", true, false},

    {LAB_TASK_IMAGES, "sinusoidal", "sinusoidal", "sinusoidal", NULL, false, false},
    {LAB_TASK_IMAGES, "learned", "learned", "learned(size=100)", NULL, false, false},
    {LAB_TASK_IMAGES, "algebraic (seq)", "algebraic-seq", "algebraic(group=seq)", "algebraic(group=seq, decay=0.98)",
     true, false},
    {LAB_TASK_IMAGES, "algebraic (grid)", "algebraic-grid", "algebraic(group=grid:2)",
     "algebraic(group=grid:2, decay=0.98)", true, false},
    {LAB_TASK_IMAGES, "rope (two axes)", "rope-axes", "rope(axes=2)", "rope(axes=2) + decay(rate=0.98, group=grid:2)",
     false, true},
    {LAB_TASK_IMAGES, "mixed", "mixed", "mixed", "mixed(decay=0.98)", false, true},
    {LAB_TASK_IMAGES, "string", "string", "string", "string(decay=0.98)", false, true},
    {LAB_TASK_IMAGES, "none", "none", "none", NULL, false, true},
};

static void expand(const char *pattern, const lab_scheme_request *request, char *text, size_t size) {
    const struct {
        const char *name;
        double value;
    } sizes[] = {{"{window}", round(request->data->length_mean)},
                 {"{steps}", round(request->data->depth_mean) + (request->setup == LAB_SETUP_CODE ? 1 : 0)},
                 {"{arity}", (double)request->data->arity}};
    size_t used = 0;
    while (*pattern != '\0' && used + 1 < size) {
        size_t i = 0;
        while (i < COUNT(sizes) && strncmp(pattern, sizes[i].name, strlen(sizes[i].name)) != 0) {
            i++;
        }
        if (i == COUNT(sizes)) {
            text[used++] = *pattern++;
            continue;
        }
        int put = snprintf(text + used, size - used, "%.0f", fmax(sizes[i].value, 1));
        used += put > 0 ? (size_t)put : 0;
        pattern += strlen(sizes[i].name);
    }
    text[used < size ? used : size - 1] = '\0';
}

static lab_scheme make_scheme(const scheme_pattern *from, const lab_scheme_request *request, bool decay) {
    lab_scheme scheme = {.name = from->name, .orthogonal = from->decayed != NULL, .decay = decay};
    scheme.place = from->beyond ? LAB_SCHEME_BEYOND : LAB_SCHEME_PUBLISHED;
    expand(decay ? from->decayed : from->plain, request, scheme.spec, sizeof scheme.spec);
    bool varied = decay != from->published_with;
    snprintf(scheme.key, sizeof scheme.key, "%s%s", from->key, !varied ? "" : decay ? "-decay" : "-plain");
    if (varied && request->decay == LAB_DECAY_BOTH) {
        scheme.place = LAB_SCHEME_ABLATION;
    }
    return scheme;
}

size_t lab_schemes(const lab_scheme_request *request, lab_scheme schemes[LAB_MOST_SCHEMES]) {
    size_t count = 0;
    for (size_t i = 0; i < COUNT(patterns); i++) {
        const scheme_pattern *from = &patterns[i];
        if (from->kind != request->kind || (from->beyond && !request->more)) {
            continue;
        }
        bool decay = request->decay != LAB_DECAY_NOBODY && from->published_with;
        schemes[count++] = make_scheme(from, request, decay);
        if (request->decay == LAB_DECAY_BOTH && from->decayed != NULL) {
            schemes[count++] = make_scheme(from, request, !decay);
        }
    }
    return count;
}

/* ---- tables ---- */

typedef struct table_pattern {
    const char *name, *title;
    lab_task_kind kind;
    const char *tasks[4], *heads[4];
    size_t task_count;
} table_pattern;

static const table_pattern tables[] = {
    {"table1", "Sequences (Table 1)", LAB_TASK_WORDS, {"copy", "reverse", "repeat"}, {"copy", "reverse", "repeat"}, 3},
    {"table2",
     "Trees (Table 2)",
     LAB_TASK_TREES,
     {"tree-copy", "tree-reorder", "tree-c3", "tree-ops"},
     {"copy", "reorder", "c3", "ops"},
     4},
    {"table3", "Images (Table 3)", LAB_TASK_IMAGES, {"cifar10"}, {"cifar10"}, 1},
};

size_t lab_reproduction_table_count(void) {
    return COUNT(tables);
}

const char *lab_reproduction_table_name(size_t index) {
    return index < COUNT(tables) ? tables[index].name : NULL;
}

/* Whether a word of the command line means this name: it, or its beginning up to a dash. */
static bool means(const char *word, const char *name) {
    size_t length = strlen(word);
    return strncmp(word, name, length) == 0 && (name[length] == '\0' || name[length] == '-');
}

static bool wanted(const char *name, char *const *words, size_t count) {
    bool found = count == 0;
    for (size_t i = 0; i < count && !found; i++) {
        found = means(words[i], name);
    }
    return found;
}

/* What varies between the columns of a task: for words the initialisation, for trees the order and, if asked, the
 * initialisation, for images the span. */
typedef struct variant {
    lab_order order;
    lab_embedding_init init;
    lab_span span;
} variant;

static size_t variants_of(lab_task_kind kind, lab_inits inits, variant list[4]) {
    const lab_embedding_init both[2] = {LAB_EMBEDDING_SCALED, LAB_EMBEDDING_UNIT};
    if (inits == LAB_INITS_AS_PUBLISHED_TABLE) {
        inits = kind == LAB_TASK_WORDS ? LAB_INITS_BOTH : LAB_INITS_SCALED;
    }
    size_t first = inits == LAB_INITS_UNIT, last = inits == LAB_INITS_SCALED ? 0 : 1, count = 0;
    for (size_t i = first; i <= last && kind != LAB_TASK_IMAGES; i++) {
        list[count++] = (variant){LAB_ORDER_BREADTH, both[i], LAB_SPAN_FULL};
        if (kind == LAB_TASK_TREES) {
            list[count++] = (variant){LAB_ORDER_DEPTH, both[i], LAB_SPAN_FULL};
        }
    }
    if (kind == LAB_TASK_IMAGES) {
        list[count++] = (variant){LAB_ORDER_BREADTH, LAB_EMBEDDING_SCALED, LAB_SPAN_HALF};
        list[count++] = (variant){LAB_ORDER_BREADTH, LAB_EMBEDDING_SCALED, LAB_SPAN_FULL};
    }
    return count;
}

static void name_column(lab_reproduction_column *column, const table_pattern *from, size_t task, bool show_init) {
    const char *init = !show_init ? "" : column->config.model.embedding_init == LAB_EMBEDDING_UNIT ? "unit" : "scaled";
    const char *word = from->kind == LAB_TASK_TREES    ? lab_order_name(column->order)
                       : from->kind == LAB_TASK_WORDS  ? ""
                       : column->span == LAB_SPAN_HALF ? "half"
                                                       : "full";
    snprintf(column->name, sizeof column->name, "%s%s%s%s%s", from->tasks[task], *word ? "-" : "", word,
             *init ? "-" : "", init);
    if (from->kind == LAB_TASK_IMAGES) {
        column->epochs = (size_t)column->config.epochs / (column->span == LAB_SPAN_HALF ? 2 : 1);
        if (column->epochs > 0) {
            snprintf(column->head, sizeof column->head, "%s @%zu", from->heads[task], column->epochs);
        } else {
            snprintf(column->head, sizeof column->head, "%s %s", from->heads[task], word);
        }
    } else {
        snprintf(column->head, sizeof column->head, "%s%s%s%s%s", from->heads[task], *word ? " " : "", word,
                 *init ? " " : "", init);
    }
}

/* The rows of a column, with specs of its sizes. */
static size_t fill_rows(lab_reproduction_column *column, const lab_reproduction_request *request, lab_task_kind kind) {
    lab_scheme all[LAB_MOST_SCHEMES];
    const lab_scheme_request scheme_request = {kind, &column->config.data, request->setup, request->decay,
                                               request->more};
    size_t count = lab_schemes(&scheme_request, all), kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (wanted(all[i].key, request->rows, request->row_count)) {
            column->rows[kept++] = all[i];
        }
    }
    return kept;
}

static locus_status fill_column(lab_reproduction_column *column, const table_pattern *from, size_t task,
                                const variant *as, const lab_reproduction_request *request, locus_error *error) {
    const lab_task *found = lab_task_find(from->tasks[task]);
    if (found == NULL) {
        return lab_fail(error, LOCUS_ERROR_UNSUPPORTED, "table", "there is no task '%s'", from->tasks[task]);
    }
    locus_status status = lab_train_config_budget(&column->config, found, request->budget, request->setup, error);
    if (status != LOCUS_OK) {
        return status;
    }
    column->order = as->order;
    column->span = as->span;
    column->config.data.order = as->order;
    column->config.data.path = request->data_path;
    column->config.model.embedding_init = as->init;
    lab_config_fill(&column->config);
    return LOCUS_OK;
}

static bool same_training(const lab_reproduction_column *a, const lab_reproduction_column *b) {
    return strcmp(a->config.task, b->config.task) == 0 && a->order == b->order &&
           a->config.model.embedding_init == b->config.model.embedding_init;
}

static void add_column(lab_reproduction *table, const lab_reproduction_column *column) {
    lab_reproduction_column *to = &table->columns[table->column_count];
    *to = *column;
    to->training = table->training_count;
    for (size_t i = 0; i < table->column_count; i++) {
        if (same_training(to, &table->columns[i])) {
            to->training = table->columns[i].training;
        }
    }
    table->training_count += to->training == table->training_count;
    table->column_count++;
}

static locus_status make_columns(lab_reproduction *table, const table_pattern *from,
                                 const lab_reproduction_request *request, locus_error *error) {
    variant variants[4];
    size_t count = variants_of(from->kind, request->inits, variants);
    bool show_init = from->kind == LAB_TASK_WORDS || request->inits >= LAB_INITS_UNIT;
    for (size_t i = 0; i < from->task_count * count; i++) {
        lab_reproduction_column column = {0};
        size_t task = i / count;
        locus_status status = fill_column(&column, from, task, &variants[i % count], request, error);
        if (status != LOCUS_OK) {
            return status;
        }
        name_column(&column, from, task, show_init);
        table->row_count = fill_rows(&column, request, from->kind);
        if (wanted(column.name, request->columns, request->column_count)) {
            add_column(table, &column);
        }
    }
    return LOCUS_OK;
}

/* ---- words that mean nothing ---- */

static void join(char *text, size_t size, const char *word) {
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s%s", used > 0 ? ", " : "", word);
}

/* Every word must mean a name of the whole table. */
static locus_status check_words(const lab_reproduction *whole, const lab_reproduction_request *request,
                                locus_error *error) {
    char names[400];
    for (size_t i = 0; i < request->column_count + request->row_count; i++) {
        bool column = i < request->column_count, found = false;
        bool more = !column && whole->kind == LAB_TASK_IMAGES && !request->more;
        const char *word = column ? request->columns[i] : request->rows[i - request->column_count];
        size_t count = column ? whole->column_count : whole->row_count;
        names[0] = '\0';
        for (size_t j = 0; j < count; j++) {
            const char *name = column ? whole->columns[j].name : whole->columns[0].rows[j].key;
            found = found || means(word, name);
            join(names, sizeof names, name);
        }
        if (!found) {
            return lab_fail(error, LOCUS_ERROR_ARGUMENT, column ? "columns" : "rows",
                            "--%s: %s has no '%s'; there are %s%s", column ? "columns" : "rows", whole->name, word,
                            names, more ? ", and others with --more" : "");
        }
    }
    return LOCUS_OK;
}

static locus_status make_part(lab_reproduction *table, const table_pattern *from,
                              const lab_reproduction_request *request, locus_error *error) {
    *table = (lab_reproduction){.name = from->name,
                                .title = from->title,
                                .kind = from->kind,
                                .setup = request->setup,
                                .decay = request->decay,
                                .first_seed = request->first_seed};
    locus_status status = make_columns(table, from, request, error);
    if (status == LOCUS_OK && table->column_count > 0) {
        table->budget = table->columns[0].config.budget;
        bool one = from->kind == LAB_TASK_IMAGES && strcmp(table->budget, "paper") != 0;
        table->seeds = request->seeds > 0 ? request->seeds : one ? 1 : 3;
    }
    return status;
}

static locus_status find_table(const char *name, const table_pattern **found, locus_error *error) {
    for (size_t i = 0; i < COUNT(tables); i++) {
        if (strcmp(tables[i].name, name) == 0) {
            *found = &tables[i];
            return LOCUS_OK;
        }
    }
    return lab_fail(error, LOCUS_ERROR_ARGUMENT, "table", "unknown table '%s': there are table1, table2 and table3",
                    name);
}

locus_status lab_reproduction_make(lab_reproduction *table, const lab_reproduction_request *request,
                                   locus_error *error) {
    const table_pattern *from = NULL;
    locus_status status = find_table(request->table, &from, error);
    size_t whole = 0; /* fields; 0: no part was asked for */
    if (status == LOCUS_OK && request->seeds > LAB_MOST_SEEDS) {
        status = lab_fail(error, LOCUS_ERROR_ARGUMENT, "seeds", "%zu seeds: a table has at most %d", request->seeds,
                          LAB_MOST_SEEDS);
    }
    if (status == LOCUS_OK && from->kind == LAB_TASK_IMAGES && request->inits != LAB_INITS_AS_PUBLISHED_TABLE) {
        status = lab_fail(error, LOCUS_ERROR_ARGUMENT, "embedding-init", "%s has no token embedding", from->name);
    }
    if (status == LOCUS_OK && (request->column_count > 0 || request->row_count > 0)) {
        lab_reproduction_request all = *request;
        all.column_count = all.row_count = 0;
        status = make_part(table, from, &all, error);
        if (status == LOCUS_OK) {
            status = check_words(table, request, error);
            whole = table->row_count * table->column_count;
        }
    }
    status = status == LOCUS_OK ? make_part(table, from, request, error) : status;
    table->part = status == LOCUS_OK && whole > 0 && table->row_count * table->column_count < whole;
    return status;
}

/* ---- trainings ---- */

locus_status lab_reproduction_config(const lab_reproduction *table, lab_reproduction_place place,
                                     lab_train_config *config, char encoding[LAB_SPEC_SIZE], locus_error *error) {
    const lab_reproduction_column *column = &table->columns[place.column];
    *config = column->config;
    config->seed = table->first_seed + place.repetition;
    locus_status status =
        lab_train_encoding(column->rows[place.row].spec, config->setup, encoding, LAB_SPEC_SIZE, error);
    config->encoding = config->model.encoding = encoding;
    return status;
}

const char *lab_reproduction_encoding(const lab_reproduction *table, size_t row, size_t column,
                                      char encoding[LAB_SPEC_SIZE]) {
    lab_train_config config;
    bool made =
        lab_reproduction_config(table, (lab_reproduction_place){row, column, 0}, &config, encoding, NULL) == LOCUS_OK;
    return made ? encoding : table->columns[column].rows[row].spec;
}

bool lab_reproduction_leads(const lab_reproduction *table, size_t column) {
    for (size_t i = 0; i < column; i++) {
        if (table->columns[i].training == table->columns[column].training) {
            return false;
        }
    }
    return true;
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
