/* SPDX-License-Identifier: MIT */
/* The published comparisons as tables: Kogkalidis, Bernardy and Garg 2024, Tables 1 to 3; the tasks of Harik and
 * Jayasiri 2022 (roper); ListOps as in Hastings 2024 (listops). Their rows are in reproduction_schemes.c. */
#include "report/reproduction/reproduction.h"

#include "io/fail.h"
#include "report/reproduction/reproduction_recorded.h"
#include "task/text_task.h"
#include "train/configuration/config.h"
#include "train/configuration/option_use.h"
#include "train/feed/train_data.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { MOST_TASKS = 8, MOST_VARIANTS = 5 };

/* What varies between the columns of a task. */
typedef struct variant {
    const char *form;        /* of the task's variants: "depth", "parity"; NULL: it has none */
    lab_embedding_init init; /* words and trees */
    lab_position_scale positions;
    lab_logit_scale logits;
    lab_span span;                                           /* images */
    const char *word;                                        /* behind the task in the column's name; "": nothing */
    enum { BY_WORD = 0, BY_EPOCHS, BY_MEASURE, ALONE } head; /* what stands behind the task in the column's head */
} variant;

/* The columns of a task, as they are asked for; returns how many. `depth_alone`: of trees. */
typedef size_t variants_function(const lab_reproduction_request *request, bool depth_alone, variant *list);

static variants_function vary_words, vary_trees;

static const variant plain[] = {{.word = "", .head = BY_MEASURE}};
static const variant loss[] = {{.word = "loss", .head = BY_MEASURE}};
static const variant perplexity[] = {{.word = "perplexity", .head = BY_MEASURE}};
static const variant spans[] = {{.span = LAB_SPAN_HALF, .word = "half", .head = BY_EPOCHS},
                                {.span = LAB_SPAN_FULL, .word = "full", .head = BY_EPOCHS}};
static const variant questions[] = {{.form = "digit", .word = "digit", .head = ALONE},
                                    {.form = "parity", .word = "parity", .head = ALONE}};

/* A task of a table. */
typedef struct column_pattern {
    const char *task, *head;
    lab_measure measure;
    bool beyond; /* only with `more`; of trees then depth-first alone */
    variants_function *vary;
    const variant *fixed; /* without `vary` */
    size_t fixed_count;
} column_pattern;

typedef struct table_pattern {
    const char *name, *title;
    column_pattern columns[MOST_TASKS]; /* the last ones have no task */
    bool setups; /* a paper and its authors' code, embeddings scaled and unit: choices of these tables */
} table_pattern;

static const table_pattern tables[] = {
    {"table1",
     "Sequences (Table 1)",
     {{"copy", "copy", LAB_MEASURE_ACCURACY, false, vary_words, NULL, 0},
      {"reverse", "reverse", LAB_MEASURE_ACCURACY, false, vary_words, NULL, 0},
      {"repeat", "repeat", LAB_MEASURE_ACCURACY, false, vary_words, NULL, 0}},
     true},
    {"table2",
     "Trees (Table 2)",
     {{"tree-copy", "copy", LAB_MEASURE_ACCURACY, false, vary_trees, NULL, 0},
      {"tree-reorder", "reorder", LAB_MEASURE_ACCURACY, false, vary_trees, NULL, 0},
      {"tree-c3", "c3", LAB_MEASURE_ACCURACY, false, vary_trees, NULL, 0},
      {"tree-ops", "ops", LAB_MEASURE_ACCURACY, false, vary_trees, NULL, 0}},
     true},
    {"table3", "Images (Table 3)", {{"cifar10", "cifar10", LAB_MEASURE_ACCURACY, false, NULL, spans, 2}}, true},
    {"roper",
     "RoPER's tasks",
     {{"addition", "addition", LAB_MEASURE_SOLVED, false, NULL, plain, 1},
      {"substring-index", "substring-index", LAB_MEASURE_SOLVED, false, NULL, plain, 1},
      {"substring-search", "substring-search", LAB_MEASURE_LOSS, false, NULL, plain, 1},
      {"text", "text", LAB_MEASURE_LOSS, false, NULL, loss, 1},
      {"text", "text", LAB_MEASURE_PERPLEXITY, false, NULL, perplexity, 1},
      {"tree-copy", "tree-copy", LAB_MEASURE_ACCURACY, true, vary_trees, NULL, 0},
      {"tree-ops", "tree-ops", LAB_MEASURE_ACCURACY, true, vary_trees, NULL, 0}},
     false},
    {"listops", "ListOps", {{"listops", "listops", LAB_MEASURE_ACCURACY, false, NULL, questions, 2}}, false},
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

static bool is_meant(const char *name, char *const *words, size_t count) {
    bool found = false;
    for (size_t i = 0; i < count && !found; i++)
        found = means(words[i], name);
    return found;
}

/* ---- variants ---- */

/* With embeddings of variance 1 times sqrt(D), what is added to them stands sqrt(D) too small beside them, and the
 * logits of the same table are sqrt(D) too large: each mended by itself, then both. */
static size_t add_factors(variant *list) {
    list[0] = list[1] = list[2] = (variant){.init = LAB_EMBEDDING_UNIT, .word = ""};
    list[0].positions = list[2].positions = LAB_POSITIONS_SQRT_DIM;
    list[1].logits = list[2].logits = LAB_LOGITS_INVERSE_SQRT_DIM;
    return 3;
}

static size_t vary_words(const lab_reproduction_request *request, bool depth_alone, variant *list) {
    size_t count = 0;
    (void)depth_alone;
    if (request->inits != LAB_INITS_UNIT)
        list[count++] = (variant){.init = LAB_EMBEDDING_SCALED, .word = ""};
    if (request->inits != LAB_INITS_SCALED)
        list[count++] = (variant){.init = LAB_EMBEDDING_UNIT, .word = ""};
    return count + (request->factors ? add_factors(list + count) : 0);
}

static size_t vary_trees(const lab_reproduction_request *request, bool depth_alone, variant *list) {
    static const lab_embedding_init both[2] = {LAB_EMBEDDING_SCALED, LAB_EMBEDDING_UNIT};
    size_t count = 0;
    for (size_t i = request->inits == LAB_INITS_UNIT; i <= (request->inits > LAB_INITS_SCALED); i++) {
        if (!depth_alone)
            list[count++] = (variant){.form = "breadth", .init = both[i], .word = "breadth"};
        list[count++] = (variant){.form = "depth", .init = both[i], .word = "depth"};
    }
    return count;
}

static void dash(char *text) {
    while ((text = strchr(text, ' ')) != NULL)
        *text = '-';
}

static void name_column(lab_reproduction_column *column, const column_pattern *from, const variant *as,
                        bool show_init) {
    const char *init = show_init ? lab_reproduction_variant(column) : "";
    snprintf(column->name, sizeof column->name, "%s%s%s%s%s", from->task, *as->word ? "-" : "", as->word,
             *init ? "-" : "", init);
    dash(column->name);
    snprintf(column->head, sizeof column->head, "%s%s%s%s%s", from->head, *as->word ? " " : "", as->word,
             *init ? " " : "", init);
    switch (as->head) {
    case BY_WORD:
        break;
    case BY_EPOCHS:
        column->epochs = (size_t)column->config.epochs / (as->span == LAB_SPAN_HALF ? 2 : 1);
        if (column->epochs > 0)
            snprintf(column->head, sizeof column->head, "%s @%zu", from->head, column->epochs);
        break;
    case BY_MEASURE:
        snprintf(column->head, sizeof column->head, "%s, %s", from->head, lab_measure_name(column->measure));
        break;
    case ALONE:
        snprintf(column->name, sizeof column->name, "%s", as->word);
        snprintf(column->head, sizeof column->head, "%s", as->word);
        break;
    }
}

/* ---- columns ---- */

/* A table that is being made: all of it, for its names alone, or what is asked for, with its data. */
typedef struct maker {
    lab_reproduction *table;
    const table_pattern *from;
    const lab_reproduction_request *request;
    bool whole;
} maker;

/* The rows of a column, with specs of its sizes. */
static size_t fill_rows(lab_reproduction_column *column, const maker *of) {
    const lab_reproduction_request *request = of->request;
    lab_scheme all[LAB_MOST_SCHEMES];
    const lab_scheme_request scheme_request = {.table = of->from->name,
                                               .class = column->class,
                                               .config = &column->config,
                                               .setup = request->setup,
                                               .decay = request->decay,
                                               .more = request->more,
                                               .pretrained = request->pretrained != NULL,
                                               .gaps = true};
    size_t count = lab_schemes(&scheme_request, all), kept = 0;
    for (size_t i = 0; i < count; i++)
        if (of->whole || request->row_count == 0 || is_meant(all[i].key, request->rows, request->row_count))
            column->rows[kept++] = all[i];
    return kept;
}

static locus_status fill_column(lab_reproduction_column *column, const maker *of, const column_pattern *from,
                                const variant *as, locus_error *error) {
    const lab_reproduction_request *request = of->request;
    lab_train_config *config = &column->config;
    const lab_task *task = lab_task_find(from->task);
    if (task == NULL)
        return lab_fail(error, LOCUS_ERROR_UNSUPPORTED, "table", "there is no task '%s'", from->task);
    locus_status status = lab_train_config_budget(config, task, request->budget, request->setup, error);
    if (status != LOCUS_OK)
        return status;
    column->class = task->class;
    column->measure = from->measure;
    column->span = as->span;
    if (as->form != NULL)
        lab_config_set_variant(config, as->form);
    config->model.embedding_init = as->init;
    config->model.position_scale = as->positions;
    config->model.logit_scale = as->logits;
    config->model.precision = request->precision;
    if (request->paths_given && lab_class_field(task->class, "tree_paths") != NULL)
        config->model.tree_paths = request->tree_paths;
    if (lab_class_option(task->class, "data") != NULL)
        config->data.path = request->data_path;
    lab_config_fill(config);
    return LOCUS_OK;
}

/* The training of the rows that begin from a pretrained encoder, and the encoding that they have in common. */
static locus_status look_at_encoder(lab_reproduction_column *column, const char *folder, locus_error *error) {
    bool asked = false;
    for (size_t row = 0; row < LAB_MOST_SCHEMES; row++)
        asked = asked || column->rows[row].pretrained;
    column->pretrained = column->config;
    locus_status status = asked ? lab_train_config_pretrained(&column->pretrained, folder, error) : LOCUS_OK;
    return asked && status == LOCUS_OK ? lab_train_pretrained_encoding(folder, "none", column->pretrained_own,
                                                                       sizeof column->pretrained_own, error)
                                       : status;
}

static void note_left_out(lab_reproduction *table, const char *path) {
    snprintf(table->left_out, sizeof table->left_out,
             "text is left out: there is no '%s'; make it with 'locus data make text', or name another folder with "
             "--data",
             path);
}

/* What a column takes from files. Text that nobody named and that is not there is left out: *there is false. */
static locus_status look_at_data(lab_reproduction_column *column, const maker *of, bool *there, locus_error *error) {
    const lab_reproduction_request *request = of->request;
    const char *path = column->config.data.path != NULL ? column->config.data.path : LAB_TEXT_FOLDER;
    if (request->recorded != NULL) {
        const locus_status status =
            lab_reproduction_recall(column, request->recorded, request->pretrained != NULL, there, error);
        if (status == LOCUS_OK && !*there && !column->class->whole) {
            return lab_fail(error, LOCUS_ERROR_IO, "runs", "no recorded run says what %s took from files",
                            column->name);
        }
        if (status == LOCUS_OK && !*there)
            note_left_out(of->table, path);
        return status;
    }
    *there = true;
    if (column->class->whole && request->column_count == 0 && access(path, F_OK) != 0) {
        *there = false;
        note_left_out(of->table, path);
        return LOCUS_OK;
    }
    locus_status status = lab_train_look(&column->config, error);
    return status == LOCUS_OK && request->pretrained != NULL && column->class->classifies_text
               ? look_at_encoder(column, request->pretrained, error)
               : status;
}

static bool same_training(const lab_reproduction_column *a, const lab_reproduction_column *b) {
    return a->config.task == b->config.task &&
           strcmp(lab_config_variant(&a->config), lab_config_variant(&b->config)) == 0 &&
           a->config.model.embedding_init == b->config.model.embedding_init &&
           a->config.model.position_scale == b->config.model.position_scale &&
           a->config.model.logit_scale == b->config.model.logit_scale;
}

static void add_column(lab_reproduction *table, const lab_reproduction_column *column) {
    lab_reproduction_column *to = &table->columns[table->column_count];
    *to = *column;
    to->training = table->training_count;
    for (size_t i = 0; i < table->column_count; i++)
        if (same_training(to, &table->columns[i]))
            to->training = table->columns[i].training;
    table->training_count += to->training == table->training_count;
    table->column_count++;
}

static bool is_empty_column(const lab_reproduction_column *column, size_t rows) {
    for (size_t row = 0; row < rows; row++)
        if (column->rows[row].spec[0] != '\0')
            return false;
    return true;
}

static locus_status make_column(const maker *of, const column_pattern *from, const variant *as, locus_error *error) {
    lab_reproduction_column column = {0};
    const lab_reproduction_request *request = of->request;
    bool there = true;
    locus_status status = fill_column(&column, of, from, as, error);
    if (status != LOCUS_OK)
        return status;
    name_column(&column, from, as, from->vary == vary_words || request->inits >= LAB_INITS_UNIT);
    of->table->row_count = fill_rows(&column, of);
    if (!of->whole && ((request->column_count > 0 && !is_meant(column.name, request->columns, request->column_count)) ||
                       is_empty_column(&column, of->table->row_count)))
        return LOCUS_OK;
    status = of->whole ? LOCUS_OK : look_at_data(&column, of, &there, error);
    if (status == LOCUS_OK && there) {
        of->table->row_count = fill_rows(&column, of); /* with the sizes of its data */
        add_column(of->table, &column);
    }
    return status;
}

static locus_status make_columns(const maker *of, locus_error *error) {
    for (size_t i = 0; i < MOST_TASKS && of->from->columns[i].task != NULL; i++) {
        const column_pattern *from = &of->from->columns[i];
        const variant *list = from->fixed;
        size_t count = from->fixed_count;
        variant varied[MOST_VARIANTS];
        if (from->beyond && !of->request->more)
            continue;
        if (from->vary != NULL) {
            count = from->vary(of->request, from->beyond, varied);
            list = varied;
        }
        for (size_t v = 0; v < count; v++) {
            locus_status status = make_column(of, from, &list[v], error);
            if (status != LOCUS_OK)
                return status;
        }
    }
    return LOCUS_OK;
}

/* Rows that make no sense in any column that is left. */
static void drop_empty_rows(lab_reproduction *table) {
    size_t kept = 0;
    for (size_t row = 0; row < table->row_count; row++) {
        bool any = false;
        for (size_t column = 0; column < table->column_count; column++)
            any = any || lab_reproduction_has(table, row, column);
        for (size_t column = 0; any && column < table->column_count; column++)
            table->columns[column].rows[kept] = table->columns[column].rows[row];
        kept += any;
    }
    table->row_count = kept;
}

/* ---- words that mean nothing ---- */

static void join(char *text, size_t size, const char *word) {
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s%s", used > 0 ? ", " : "", word);
}

/* Every word must mean a name of the whole table. */
static locus_status check_words(const maker *of, locus_error *error) {
    const lab_reproduction *whole = of->table;
    const lab_reproduction_request *request = of->request;
    char names[400];
    for (size_t i = 0; i < request->column_count + request->row_count; i++) {
        bool column = i < request->column_count, found = false;
        bool more =
            !request->more && (strcmp(whole->name, "roper") == 0 || (!column && strcmp(whole->name, "table3") == 0));
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

/* ---- tables ---- */

static locus_status make_part(const maker *of, locus_error *error) {
    const lab_reproduction_request *request = of->request;
    lab_reproduction *table = of->table;
    memset(table, 0, sizeof *table);
    table->name = of->from->name;
    table->title = of->from->title;
    table->budget = request->budget;
    table->setup = request->setup;
    table->decay = request->decay;
    table->first_seed = request->first_seed;
    table->asked = *request;
    table->asked.columns = table->asked.rows = NULL;
    table->asked.recorded = NULL;
    table->asked.column_count = table->asked.row_count = 0;
    locus_status status = make_columns(of, error);
    if (status != LOCUS_OK || table->column_count == 0)
        return status;
    drop_empty_rows(table);
    const bool paper = strcmp(request->budget, "paper") == 0, roper = strcmp(table->name, "roper") == 0;
    table->budget = table->columns[0].config.budget;
    table->seeds = request->seeds > 0                             ? request->seeds
                   : roper && paper                               ? 10
                   : strcmp(table->name, "table3") == 0 && !paper ? 1
                                                                  : 3;
    table->drop_worst = request->drop_worst || (roper && paper && request->seeds == 0);
    return LOCUS_OK;
}

bool lab_reproduction_takes(const char *table, const char *option) {
    for (size_t i = 0; i < COUNT(tables); i++)
        for (size_t c = 0; c < MOST_TASKS && tables[i].columns[c].task != NULL; c++)
            if (strcmp(tables[i].name, table) == 0 &&
                lab_class_takes(lab_task_find(tables[i].columns[c].task)->class, option))
                return true;
    return false;
}

static locus_status find_table(const char *name, const table_pattern **found, locus_error *error) {
    for (size_t i = 0; i < COUNT(tables); i++) {
        if (strcmp(tables[i].name, name) == 0) {
            *found = &tables[i];
            return LOCUS_OK;
        }
    }
    return lab_fail(error, LOCUS_ERROR_ARGUMENT, "table",
                    "unknown table '%s': there are table1, table2, table3, roper and listops", name);
}

/* Options that are for other tables. */
static locus_status check_request(const table_pattern *from, const lab_reproduction_request *request,
                                  locus_error *error) {
    if (request->seeds > LAB_MOST_SEEDS) {
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "seeds", "%zu seeds: a table has at most %d", request->seeds,
                        LAB_MOST_SEEDS);
    }
    if (request->inits != LAB_INITS_AS_PUBLISHED_TABLE && strcmp(from->name, "table3") == 0)
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "embedding-init", "--embedding-init: %s has no token embedding",
                        from->name);
    if (request->inits != LAB_INITS_AS_PUBLISHED_TABLE && !from->setups) {
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "embedding-init",
                        "--embedding-init: %s has one; it is a choice "
                        "of table1 and table2",
                        from->name);
    }
    if (request->factors && (strcmp(from->name, "table1") != 0 || request->inits == LAB_INITS_SCALED)) {
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "factors",
                        "--factors is an option of table1 with embeddings unit: what it scales is right without");
    }
    if (request->setup != LAB_SETUP_PAPER && !from->setups) {
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "setup", "--setup: %s has one; it is a choice of table1 to table3",
                        from->name);
    }
    if (request->drop_worst && strcmp(from->name, "roper") != 0) {
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "drop-worst",
                        "--drop-worst: the means of %s are published over all seeds; it is an option of roper",
                        from->name);
    }
    if (request->drop_worst && request->seeds == 1)
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "drop-worst", "--drop-worst leaves nothing of one seed");
    return LOCUS_OK;
}

locus_status lab_reproduction_make(lab_reproduction *table, const lab_reproduction_request *request,
                                   locus_error *error) {
    maker of = {table, NULL, request, true};
    size_t whole = 0; /* fields */
    locus_status status = find_table(request->table, &of.from, error);
    status = status == LOCUS_OK ? check_request(of.from, request, error) : status;
    status = status == LOCUS_OK ? make_part(&of, error) : status;
    if (status == LOCUS_OK) {
        status = check_words(&of, error);
        whole = lab_reproduction_trainings(table) / table->seeds;
    }
    of.whole = false;
    status = status == LOCUS_OK ? make_part(&of, error) : status;
    if (status != LOCUS_OK)
        return status;
    if (table->column_count == 0 || table->row_count == 0) {
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "columns",
                        "%s: none of these rows makes sense in one of these "
                        "columns",
                        table->name);
    }
    table->part = lab_reproduction_trainings(table) / table->seeds < whole;
    return LOCUS_OK;
}

locus_status lab_reproduction_whole(lab_reproduction *whole, const lab_reproduction *table, locus_error *error) {
    maker of = {whole, NULL, &table->asked, true};
    locus_status status = find_table(table->name, &of.from, error);
    return status == LOCUS_OK ? make_part(&of, error) : status;
}
