/* SPDX-License-Identifier: MIT */
/* See class_parts.h. */
#include "kinds/class_parts.h"
#include "task/images/picture_options.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

double lab_value_accuracy(const struct lab_outcome *outcome) {
    return (double)outcome->score.correct / (double)outcome->score.tokens;
}

double lab_value_exact(const struct lab_outcome *outcome) {
    return (double)outcome->score.exact / (double)outcome->score.samples;
}

double lab_value_greedy(const struct lab_outcome *outcome) {
    return outcome->has_greedy ? outcome->greedy : (double)NAN;
}

double lab_value_loss(const struct lab_outcome *outcome) {
    return outcome->score.loss / (double)outcome->score.tokens;
}

double lab_value_common(const struct lab_outcome *outcome) {
    return outcome->common;
}

double lab_value_chance(const struct lab_outcome *outcome) {
    return 1.0 / (double)outcome->classes;
}

const lab_curve_words lab_curves_by_steps = {
    {"Accuracy on the development set against training steps", "Training loss against training steps"},
    "training steps",
    {"development accuracy, %", "training loss, nats a token"},
    "Learning curves: mean over seeds, band or bars from the lowest to the highest. Left: token accuracy on the "
    "development set; right: training loss (with dropout), logarithmic.",
    false};

const lab_curve_words lab_curves_of_sequences = {
    {"Loss on the development set against training steps", "Training loss against training steps"},
    "training steps",
    {"development loss, nats a token", "training loss, nats a token"},
    "Learning curves: mean over seeds, band or bars from the lowest to the highest, logarithmic. Left: loss on the "
    "development set; right: training loss. Lower is better.",
    true};

const lab_bin_words lab_bins_of_trees = {
    "nodes:",
    "nodes",
    {"accuracy", "exact", "greedy_exact"},
    {{"Test accuracy by depth of the tree", "Exact matches by depth", "Greedy exact matches by depth of the tree"},
     {"Test accuracy by number of nodes", "Exact matches by nodes", "Greedy exact matches by number of nodes"}},
    {"depth of the input tree, and how many such trees", "nodes of the input tree, and how many such trees"},
    {"test accuracy, % of nodes", "exact matches, %", "greedy exact matches, %"},
    {"depth", "nodes"},
    4,
    "Trees of the test set by their depth and by their number of nodes: nodes right under teacher forcing, and whole "
    "trees right by greedy decoding. Means over seeds, each weighted by its samples; bars are ± one standard "
    "deviation. Under each bin: how many trees it has, of which greedy decoding may have seen fewer.",
    ", with exact matches under teacher forcing"};

double lab_said_number(const struct cJSON *config, const char *name) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(config, name);
    return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

const char *lab_said_text(const struct cJSON *config, const char *name) {
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(config, name));
}

const char *lab_grouped(double value, char *text, size_t size) {
    char digits[32];
    const int count = snprintf(digits, sizeof digits, "%.0f", value);
    size_t used = 0;
    for (int i = 0; i < count && used + 2 < size; i++) {
        if (i > 0 && (count - i) % 3 == 0)
            text[used++] = ',';
        text[used++] = digits[i];
    }
    text[used] = '\0';
    return text;
}

void lab_own_set_length(lab_task_options *of, size_t tokens) {
    of->within = tokens;
}

static void cap(size_t *samples, size_t most) {
    *samples = *samples == 0 || *samples > most ? most : *samples;
}

void lab_own_cap(lab_train_config *config, const size_t samples[3]) {
    cap(&config->train_samples, samples[LAB_SET_TRAIN]);
    cap(&config->dev_samples, samples[LAB_SET_DEV]);
    cap(&config->test_samples, samples[LAB_SET_TEST]);
}

bool lab_own_tell(const size_t samples[3], const size_t shared[3], char *text, size_t room) {
    const bool shares = shared[LAB_SET_DEV] + shared[LAB_SET_TEST] > 0;
    snprintf(text, shares ? room : 0,
             "%zu of %zu development and %zu of %zu test samples stand in the training set, too: their scores say less",
             shared[LAB_SET_DEV], samples[LAB_SET_DEV], shared[LAB_SET_TEST], samples[LAB_SET_TEST]);
    return shares;
}

void lab_token_name_put(lab_token_name *name, const char *piece, size_t bytes) {
    size_t used = 0, at = 0;
    while (at < bytes && used + 8 < sizeof name->text) {
        const char *shown = piece[at] == ' ' ? "␣" : piece[at] == '\n' ? "↵" : piece[at] == '\t' ? "⇥" : NULL;
        size_t length = 1;
        while (at + length < bytes && ((unsigned char)piece[at + length] & 0xC0) == 0x80)
            length++;
        const int width = shown != NULL ? (int)strlen(shown) : (int)(length < 5 ? length : 4);
        used += (size_t)snprintf(name->text + used, sizeof name->text - used, "%.*s", width,
                                 shown != NULL ? shown : piece + at);
        at += length;
    }
    snprintf(name->text + used, sizeof name->text - used, "%s", at < bytes ? "…" : bytes == 0 ? "·" : "");
}

/* ---- of pictures ---- */

static void set_side(lab_task_options *of, size_t side) {
    LAB_PICTURES(of)->side = side;
}

const lab_length_axis lab_picture_sides = {
    .name = "side",
    .option = "sides",
    .others = "sides",
    .label = "side of the test pictures, pixels",
    .caption = "The same pictures brought to each side; another side is another number of places.",
    .most = 1024,
    .set = set_side,
    .panels = {{"accuracy", "Test accuracy against the side of the pictures", "test accuracy, %"}},
};

void lab_budget_images(lab_train_config *config) {
    lab_budget_training(config);
    config->augment = LAB_AUGMENT_POLICY;
    config->batch = 128;
    config->epochs = 300;
    config->optimizer.weight_decay = 3e-2;
}

void lab_budget_images_small(lab_train_config *config) {
    lab_budget_images(config);
    config->model.dim = 64;
    config->model.feed_forward = 128;
    config->model.encoder_layers = 2;
    config->batch = 32;
    config->rate_peak = 2e-3;
}

void lab_budget_images_code(lab_train_config *config) {
    lab_budget_tables_code(config);
    config->model.survivors = LAB_SURVIVORS_AS_THEY_ARE;
}

void lab_describe_epochs(const struct cJSON *config, lab_data_facts *facts) {
    const double train = lab_said_number(config, "train_samples"), batch = lab_said_number(config, "batch");
    const double steps = lab_said_number(config, "steps");
    if (train > 0 && batch > 0) {
        facts->epoch_steps = (uint64_t)ceil(train / batch);
        facts->epochs = steps > 0 ? steps / (double)facts->epoch_steps : lab_said_number(config, "epochs");
    }
}
