/* SPDX-License-Identifier: MIT */
/* What was run: a section's task, data, model and training in words. A description is a template whose {fields} are
 * replaced by the configuration's values; what a configuration does not say stands as "?", and a description of which
 * it says nothing is left out. */
#include "page/page.h"

#include "model/architecture.h"
#include "train/configuration/config.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <string.h>

static void put_item(lab_page *page, const char *name, const char *text) {
    if (text[0]) {
        fprintf(page->file, "<dt>%s</dt><dd>", name);
        lab_page_text(page, text);
        fputs("</dd>\n", page->file);
    }
}

static double number_or(const cJSON *config, const char *name, double otherwise) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(config, name);
    return cJSON_IsNumber(item) ? item->valuedouble : otherwise;
}

static bool has(const cJSON *config, const char *name) {
    return cJSON_GetObjectItemCaseSensitive(config, name) != NULL;
}

/* ---- templates ---- */

/* A field's value: {share%} is the field `share` in per cent, {survivors|rescaled} is "rescaled" where nothing is
 * written. False: the configuration does not say. */
static bool field_text(const cJSON *config, const char *field, char *text, size_t size) {
    char name[48];
    const size_t length = strcspn(field, "%|");
    const bool percent = field[length] == '%';
    const char *otherwise = field[length] == '|' ? field + length + 1 : "?";
    snprintf(name, sizeof name, "%.*s", (int)length, field);
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(config, name);
    if (cJSON_IsNumber(item))
        snprintf(text, size, "%.10g%s", (percent ? 100 : 1) * item->valuedouble, percent ? " %" : "");
    else
        snprintf(text, size, "%s", cJSON_IsString(item) ? item->valuestring : otherwise);
    return cJSON_IsNumber(item) || cJSON_IsString(item);
}

static void put_filled(lab_page *page, const cJSON *config, const char *name, const char *template) {
    char text[600], field[48], value[80];
    size_t used = 0, known = 0;
    for (const char *at = template; *at && used + sizeof value < sizeof text; at++) {
        const char *close = *at == '{' ? strchr(at, '}') : NULL;
        if (!close) {
            text[used++] = *at;
            continue;
        }
        snprintf(field, sizeof field, "%.*s", (int)(close - at - 1), at + 1);
        known += field_text(config, field, value, sizeof value);
        used += (size_t)snprintf(text + used, sizeof text - used, "%s", value);
        at = close;
    }
    text[used] = '\0';
    if (known > 0)
        put_item(page, name, text);
}

/* ---- the configuration ---- */

/* What is written only where it differs from what models usually have. */
static void put_attention(lab_page *page, const cJSON *config) {
    const double shared = number_or(config, "kv_heads", 0);
    if (has(config, "attention"))
        put_filled(page, config, "Attention", "{attention}, where it can be");
    if (shared > 0) {
        char text[128];
        snprintf(text, sizeof text, "%g, shared by groups of %g heads of queries", shared,
                 number_or(config, "heads", shared) / shared);
        put_item(page, "Heads of keys and values", text);
    }
}

static bool says(const cJSON *config, const char *name, const char *value) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(config, name);
    return cJSON_IsString(item) && strcmp(item->valuestring, value) == 0;
}

/* "all", "endless", or a number: 0 samples are all that there are, or as many as one likes. */
static void put_sequences(lab_page *page, const lab_summary_section *section, const cJSON *config) {
    const char *const names[] = {"train_samples", "dev_samples", "test_samples"};
    const lab_task_class *class = section->class;
    char counts[3][40], text[300];
    bool endless = false;
    for (size_t i = 0; i < 3; i++) {
        const double count = number_or(config, names[i], 0);
        if (count > 0) {
            snprintf(counts[i], sizeof counts[i], "%.10g", count);
        } else {
            snprintf(counts[i], sizeof counts[i], "%s", class->endless ? "endless" : "all");
            endless = class->endless;
        }
    }
    snprintf(text, sizeof text, "%s / %s / %s for training, development and test%s", counts[0], counts[1], counts[2],
             endless ? "; endless ones are drawn anew in every step" : "");
    put_item(page, class->endless ? "Sequences" : "Windows", text);
    if (section->measure == LAB_MEASURE_SOLVED)
        put_filled(page, config, "Solved", "of {greedy_samples} problems of the test set, decoded greedily");
}

static void put_model(lab_page *page, const lab_summary_section *section, const cJSON *config) {
    const lab_task_class *class = section->class;
    if (class->model_samples != NULL)
        put_filled(page, config, "Samples", class->model_samples);
    else
        put_sequences(page, section, config);
    put_filled(page, config, "Model",
               has(config, "pretrained_digest")
                   ? "pretrained encoder ({pretrained_digest}), {encoder_layers} layers, dimension {dim}, {heads} "
                     "heads, feed-forward {feed_forward}; a classifier behind its {pool|first} token"
                   : class->architecture->described);
    if (has(config, "stochastic_depth") || has(config, "label_smoothing")) {
        put_filled(
            page, config, "Regularisation",
            "stochastic depth {stochastic_depth|0} times the layer from 0, survivors {survivors|rescaled}, label "
            "smoothing {label_smoothing|0}, weight decay {weight_decay}");
    }
    if (has(config, "augment"))
        put_filled(page, config, "Augmentation", "{augment}, crop, flip");
}

static void put_training(lab_page *page, const cJSON *config) {
    char template[500];
    snprintf(
        template, sizeof template, "%s, batch {batch}, %s, learning rate %s%s%s",
        says(config, "optimizer_decay", "coupled") ? "Adam (weight decay {weight_decay} in the gradient)"
                                                   : "AdamW (weight decay {weight_decay})",
        number_or(config, "steps", 0) > 0 ? "{steps} steps" : "{epochs} epochs",
        says(config, "schedule", "steps") ? "{rate_peak}, times {rate_factor} every {rate_epochs} epochs"
        : says(config, "schedule", "constant")
            ? "{rate_peak}, constant"
            : "from {rate_initial} up to {rate_peak}, by a cosine down to {rate_final}, warm-up {warmup_share%} of "
              "the steps",
        number_or(config, "clip", 0) > 0 ? ", gradients clipped at norm {clip}" : "",
        has(config, "patience") ? ", ended after {patience} evaluations without a better one" : "");
    put_filled(page, config, "Training", template);
}

/* ---- chance ---- */

/* What guessing scores on samples that are drawn as the section's runs drew theirs. */
static locus_status put_drawn_chance(lab_page *page, const lab_summary_section *section, const cJSON *said,
                                     locus_error *error) {
    lab_train_config config = {.task = lab_task_find(section->task)};
    char text[120];
    if (!config.task || section->data[0] == '\0') /* the runs say nothing of their data */
        return LOCUS_OK;
    config.data = lab_task_default(config.task);
    lab_config_read_data(&config, said);
    lab_dataset set;
    const lab_draw draw = {config.task, &config.data, LAB_SET_TEST, 500, 0};
    const locus_status status = lab_dataset_generate(&set, &draw, error);
    if (status == LOCUS_OK) {
        snprintf(text, sizeof text, "%.1f %% of the %ss, by always guessing the most common one",
                 100 * lab_dataset_chance(&set, lab_task_vocabulary(config.task, &config.data)), section->class->token);
        put_item(page, "Chance", text);
        lab_dataset_destroy(&set);
    }
    return status == LOCUS_ERROR_MEMORY ? status : LOCUS_OK; /* sizes that no data have: chance is left out */
}

/* What guessing scores on the section's data. */
static locus_status put_chance(lab_page *page, const lab_summary_section *section, const cJSON *config,
                               locus_error *error) {
    char text[120] = "";
    if (section->class->balanced) {
        const double classes = number_or(config, "classes", 10);
        snprintf(text, sizeof text, "%.1f %% of the %ss: there are %g classes, as many %ss of each",
                 100 / (classes >= 1 ? classes : 1), section->class->sample, classes, section->class->sample);
    }
    if (section->chance > 0) {
        snprintf(text, sizeof text, "%.1f %% of the %ss at random, %.1f %% by always giving the most common class",
                 100 * section->chance, section->class->sample, 100 * section->majority);
    }
    put_item(page, "Chance", text);
    return section->class->size != NULL ? put_drawn_chance(page, section, config, error) : LOCUS_OK;
}

/* ---- runs ---- */

static const char *machine_of(const lab_run *run, char room[32]) {
    (void)room;
    return run->machine;
}

static const char *version_of(const lab_run *run, char room[32]) {
    (void)room;
    return run->version;
}

static const char *seed_of(const lab_run *run, char room[32]) {
    snprintf(room, 32, "%" PRIu64, run->seed);
    return room;
}

/* A fact of runs, told once for each of its values. */
typedef struct fact {
    const char *name, *between;
    const char *(*text)(const lab_run *run,
                        char room[32]); /* in `room` where it is no text of its own; NULL, "": none */
    bool number;                        /* else a longer text says as much */
} fact;

static const fact facts[] = {
    {"Seeds", ", ", seed_of, true}, {"Machine", "; ", machine_of, false}, {"Version", "; ", version_of, false}};

/* Whether an earlier run of the section has this value, or one that says as much. */
static bool came_before(const lab_summary_section *section, const fact *own, const char *value, size_t row,
                        size_t run) {
    char room[32];
    for (size_t i = 0; i <= row; i++) {
        for (size_t j = 0; j < (i < row ? section->rows[i].run_count : run); j++) {
            const char *other = own->text(section->rows[i].runs[j], room);
            if (other && (own->number ? strcmp(other, value) == 0 : strstr(other, value) != NULL))
                return true;
        }
    }
    return false;
}

/* The distinct values of the section's runs, joined. */
static void put_distinct(lab_page *page, const lab_summary_section *section, const fact *own) {
    size_t count = 0;
    for (size_t i = 0; i < section->row_count; i++) {
        for (size_t j = 0; j < section->rows[i].run_count; j++) {
            char room[32];
            const char *value = own->text(section->rows[i].runs[j], room);
            if (!value || !value[0] || came_before(section, own, value, i, j))
                continue;
            if (count++ == 0)
                fprintf(page->file, "<dt>%s</dt><dd>", own->name);
            else
                fputs(own->between, page->file);
            lab_page_text(page, value);
        }
    }
    fputs(count ? "</dd>\n" : "", page->file);
}

static void put_task(lab_page *page, const lab_summary_section *section) {
    const lab_task *task = lab_task_find(section->task);
    char text[300];
    snprintf(text, sizeof text, "%s%s%s%s%s%s%s", section->task, task ? ": " : "", task ? task->summary : "",
             section->data[0] ? "; " : "", section->data, section->note[0] ? "; " : "", section->note);
    put_item(page, "Task", text);
}

/* How token embeddings are drawn; where they are the output projection too, that they are unscaled there. */
static void put_embeddings(lab_page *page, const lab_summary_section *section, const cJSON *config) {
    static const struct {
        const char *init, *input, *output;
    } words[] = {
        {"unit", "unit: drawn from N(0, 1), times √D at the input",
         ", unscaled as output projection (the published code)"},
        {"scaled", "scaled: drawn from N(0, 1/D), times √D at the input", ", unscaled as output projection"},
        {"plain", "plain: drawn from N(0, 0.02²), unscaled at the input", ", unscaled as output projection"},
    };
    const bool tied = section->class->classes == NULL && !says(config, "output", "own");
    const bool positions = says(config, "position_scale", "sqrt-dim");
    const bool logits = says(config, "logit_scale", "inverse-sqrt-dim");
    char text[240];
    snprintf(text, sizeof text, "%s", section->embedding_init);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(section->embedding_init, words[i].init) == 0) {
            snprintf(text, sizeof text, "%s%s%s", words[i].input, positions ? ", and so is what is added to them" : "",
                     logits ? ", divided by √D as output projection"
                     : tied ? words[i].output
                            : "");
        }
    }
    if (section->class->vocabulary != NULL && !(config && has(config, "pretrained_digest")))
        put_item(page, "Embeddings", text);
}

locus_status lab_page_setting(lab_page *page, const lab_summary_section *section, locus_error *error) {
    cJSON *config = cJSON_Parse(section->config ? section->config : "");
    locus_status status = LOCUS_OK;
    fputs("<dl>\n", page->file);
    put_task(page, section);
    if (config) {
        status = put_chance(page, section, config, error);
        put_model(page, section, config);
        put_attention(page, config);
        put_training(page, config);
        if (says(config, "precision", "bf16"))
            put_item(page, "Precision", "products of matrices rounded to bfloat16, all else in float32");
    }
    put_embeddings(page, section, config);
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        put_distinct(page, section, &facts[i]);
    fputs("</dl>\n", page->file);
    cJSON_Delete(config);
    return status;
}
