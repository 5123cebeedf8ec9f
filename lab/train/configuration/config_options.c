/* SPDX-License-Identifier: MIT */
/* See config_options.h. */
#include "train/configuration/config_options.h"

#include "model/architecture.h"
#include "task/task_option.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const setups[] = {"paper", "code", NULL};
static const char *const norms[] = {"before", "after", NULL};
static const char *const dropouts[] = {"weights", "logits", NULL};
static const char *const inits[] = {"scaled", "unit", "plain", NULL};
static const char *const position_scales[] = {"none", "sqrt-dim", NULL};
static const char *const logit_scales[] = {"none", "inverse-sqrt-dim", NULL};
static const char *const activations[] = {"relu", "gelu", NULL};
static const char *const survivors[] = {"rescaled", "as-they-are", NULL};
static const char *const outputs[] = {"tied", "own", NULL};
static const char *const pools[] = {"first", "mean", NULL};
static const char *const heads[] = {"linear", "pooler", NULL};
static const char *const precisions[] = {"float32", "bf16", NULL};
static const char *const schedules[] = {"cosine", "steps", "constant", NULL};
static const char *const decays[] = {"decoupled", "coupled", NULL};
const char *const lab_order_names[] = {"breadth", "depth", NULL};
const char *const lab_tree_paths_names[] = {"own", "next", "code", NULL};
const char *const lab_augmentation_names[] = {"none", "autoaugment", NULL};

_Static_assert(sizeof(lab_setup) == sizeof(unsigned) && sizeof(locus_dropout) == sizeof(unsigned) &&
                   sizeof(lab_norm_place) == sizeof(unsigned) && sizeof(lab_embedding_init) == sizeof(unsigned) &&
                   sizeof(lab_activation) == sizeof(unsigned) && sizeof(lab_survivors) == sizeof(unsigned) &&
                   sizeof(lab_order) == sizeof(unsigned) && sizeof(lab_tree_paths) == sizeof(unsigned) &&
                   sizeof(lab_augmentation) == sizeof(unsigned) && sizeof(lab_output_weight) == sizeof(unsigned) &&
                   sizeof(lab_pool) == sizeof(unsigned) && sizeof(lab_head) == sizeof(unsigned) &&
                   sizeof(lab_schedule_kind) == sizeof(unsigned) && sizeof(lab_decay_kind) == sizeof(unsigned) &&
                   sizeof(lab_position_scale) == sizeof(unsigned) && sizeof(lab_logit_scale) == sizeof(unsigned) &&
                   sizeof(lab_precision) == sizeof(unsigned),
               "enumerations of the configuration are read as unsigned");

#define AT(member) offsetof(lab_train_config, member)
#define OF_KIND(name, unwritten) \
    { .field = name, .offset = LAB_OPTION_OF_KIND, .silent = unwritten }

const lab_option lab_config_options[] = {
    {.field = "task", .type = LAB_OPTION_TASK, .offset = AT(task)},
    {.field = "encoding", .type = LAB_OPTION_TEXT, .offset = AT(encoding)},
    LAB_ROW("budget", TEXT, AT(budget), LAB_WORD("budget", "smoke|quick|paper"),
            LAB_HELP("sizes and steps: docs/budgets.md"), .flags = LAB_OPTION_BY_HAND | LAB_OPTION_REPRODUCED),
    LAB_ROW("setup", NAMED, AT(setup), LAB_CHOICE("setup", "paper|code"),
            LAB_HELP("as the paper says, or partly as its authors' code"), .names = setups,
            .flags = LAB_OPTION_BY_HAND | LAB_OPTION_REPRODUCED),
    LAB_ROW("dim", SIZE, AT(model.dim), LAB_NUMBER("dim", "D", 1, 65536), LAB_HELP("dimension of the model")),
    LAB_ROW("heads", SIZE, AT(model.heads), LAB_NUMBER("heads", "H", 1, 65536),
            LAB_HELP("heads; D must be divisible by it")),
    LAB_ROW("feed_forward", SIZE, AT(model.feed_forward), LAB_NUMBER("feed-forward", "F", 1, 1e6),
            LAB_HELP("hidden units of the feed-forward blocks")),
    {.field = "encoder_layers", .type = LAB_OPTION_SIZE, .offset = AT(model.encoder_layers)},
    {.field = "decoder_layers", .type = LAB_OPTION_SIZE, .offset = AT(model.decoder_layers)},
    LAB_ROW(NULL, SIZE, LAB_OPTION_NOWHERE, LAB_NUMBER("layers", "N", 1, 1000),
            LAB_HELP("layers of the encoder, and of the decoder, where there are"), .flags = LAB_OPTION_BY_HAND),
    LAB_ROW("norm", NAMED, AT(model.norm), LAB_CHOICE("norm", "before|after"),
            LAB_HELP("where LayerNorm stands (as set-up and task say)"), .names = norms),
    LAB_ROW("dropout", REAL, AT(model.dropout), LAB_NUMBER("dropout", "P", 0, 0.999),
            LAB_HELP("probability, on activations and attention")),
    {.field = "attention_dropout", .type = LAB_OPTION_REAL, .offset = AT(model.attention_dropout)},
    LAB_ROW("attention_dropout_on", NAMED, AT(model.attention_dropout_on), .names = dropouts),
    LAB_ROW("embedding_init", NAMED, AT(model.embedding_init), .names = inits),
    OF_KIND("length_mean", NULL),
    OF_KIND("length_deviation", NULL),
    OF_KIND("symbols", NULL),
    LAB_ROW("train_samples", SIZE, AT(train_samples), LAB_NUMBER("train-samples", "N", 1, 1e9),
            LAB_HELP("training set; of problems and text sequences")),
    LAB_ROW("dev_samples", SIZE, AT(dev_samples), LAB_NUMBER("dev-samples", "N", 1, 1e9), LAB_HELP("development set")),
    LAB_ROW("test_samples", SIZE, AT(test_samples), LAB_NUMBER("test-samples", "N", 1, 1e9),
            LAB_HELP("every test set")),
    LAB_ROW("greedy_samples", SIZE, AT(greedy_samples), LAB_NUMBER("greedy-samples", "N", 0, 1e9),
            LAB_HELP("samples of a test set that are decoded greedily")),
    LAB_ROW("data_seed", SEED, AT(data_seed), LAB_NUMBER("data-seed", "S", 0, 9007199254740991.0),
            LAB_HELP("seed of the data"), .initial = "0", .flags = LAB_OPTION_FREE),
    {.field = "seed", .type = LAB_OPTION_SEED, .offset = AT(seed)},
    LAB_ROW("batch", SIZE, AT(batch), LAB_NUMBER("batch", "N", 1, 1e6), LAB_HELP("samples of a step")),
    LAB_ROW("steps", COUNT, AT(steps), LAB_NUMBER("steps", "N", 1, 4294967295.0), LAB_HELP("training steps")),
    LAB_ROW("epochs", COUNT, AT(epochs), LAB_NUMBER("epochs", "N", 1, 1e6),
            LAB_HELP("passes over the training set, instead of steps")),
    LAB_ROW("evaluate_every", COUNT, AT(evaluate_every), LAB_NUMBER("evaluate-every", "N", 1, 1e9),
            LAB_HELP("steps between development scores")),
    LAB_ROW("checkpoint_seconds", COUNT, AT(checkpoint_seconds), LAB_NUMBER("checkpoint-seconds", "N", 0, 1e9),
            LAB_HELP("time between checkpoints"), .flags = LAB_OPTION_FREE | LAB_OPTION_APART),
    {.field = "rate_initial", .type = LAB_OPTION_REAL, .offset = AT(rate_initial)},
    LAB_ROW("rate_peak", REAL, AT(rate_peak), LAB_NUMBER("rate", "R", 0, 1e6), LAB_HELP("peak learning rate")),
    {.field = "rate_final", .type = LAB_OPTION_REAL, .offset = AT(rate_final)},
    LAB_ROW("warmup_share", REAL, AT(warmup_share), LAB_NUMBER("warmup", "SHARE", 0, 1),
            LAB_HELP("share of the steps in which the rate rises")),
    {.field = "beta1", .type = LAB_OPTION_REAL, .offset = AT(optimizer.beta1)},
    {.field = "beta2", .type = LAB_OPTION_REAL, .offset = AT(optimizer.beta2)},
    {.field = "epsilon", .type = LAB_OPTION_REAL, .offset = AT(optimizer.epsilon)},
    LAB_ROW("weight_decay", REAL, AT(optimizer.weight_decay), LAB_NUMBER("weight-decay", "R", 0, 1e3),
            LAB_HELP("weight decay; decoupled but of pretrained encoders")),
    LAB_ROW("clip", REAL, AT(optimizer.clip), LAB_NUMBER("clip", "NORM", 0, 1e12),
            LAB_HELP("largest gradient norm; 0: no clipping")),
    LAB_ROW("attention", ATTENTION, AT(model), LAB_WORD("attention", "KIND"),
            LAB_HELP("how weights are made of scores, where it can be: linear, 'soft(landmarks=32)', …"),
            .silent = "softmax", .flags = LAB_OPTION_BY_HAND),
    LAB_ROW("kv_heads", SIZE, AT(model.kv_heads), LAB_NUMBER("kv-heads", "N", 1, 65536),
            LAB_HELP("heads of keys and values, which divide H; H if not given"), .silent = "0",
            .flags = LAB_OPTION_BY_HAND | LAB_OPTION_CALLED),
    LAB_ROW("architecture", ARCHITECTURE, AT(model.architecture), .silent = "encoder-decoder"),
    LAB_ROW("activation", NAMED, AT(model.activation), .names = activations, .silent = "relu"),
    LAB_ROW("stochastic_depth", REAL, AT(model.stochastic_depth), .silent = "0"),
    LAB_ROW("survivors", NAMED, AT(model.survivors), .names = survivors, .silent = "rescaled"),
    LAB_ROW("label_smoothing", REAL, AT(model.label_smoothing), .silent = "0"),
    LAB_ROW("classes", SIZE, AT(model.classes), .silent = "0"),
    LAB_ROW("image_side", SIZE, AT(model.image_side), .silent = "0"),
    LAB_ROW("image_channels", SIZE, AT(model.image_channels), .silent = "0"),
    OF_KIND("depth_mean", "0"),
    OF_KIND("depth_deviation", "0"),
    OF_KIND("order", "breadth"),
    OF_KIND("arity", "0"),
    OF_KIND("tree_paths", "own"),
    OF_KIND("augment", "none"),
    LAB_ROW("output", NAMED, AT(model.output), LAB_CHOICE("output", "own|tied"),
            LAB_HELP("decoders: weights of the output, or the embedding's"), .names = outputs, .silent = "tied"),
    LAB_ROW("pool", NAMED, AT(model.pool), LAB_CHOICE("pool", "first|mean"),
            LAB_HELP("classifiers of text: what is classified, of all tokens' rows"), .names = pools,
            .silent = "first"),
    LAB_ROW("head", NAMED, AT(model.head), .names = heads, .silent = "linear"),
    LAB_ROW("token_types", SIZE, AT(model.token_types), .silent = "0"),
    LAB_ROW("embedding_norm", SIZE, AT(model.embedding_norm), .silent = "0"),
    LAB_ROW("norm_epsilon", REAL, AT(model.norm_epsilon), .silent = "0"),
    OF_KIND("sequence", "0"),
    OF_KIND("digits", "0"),
    OF_KIND("expression_depth", "0"),
    OF_KIND("shortest", "0"),
    OF_KIND("longest", "0"),
    OF_KIND("asked", "digit"),
    OF_KIND("digest", "0"),
    LAB_ROW("optimizer_decay", NAMED, AT(optimizer.decay), .names = decays, .silent = "decoupled"),
    LAB_ROW("schedule", NAMED, AT(schedule), LAB_CHOICE("schedule", "cosine|constant"),
            LAB_HELP("the rate: it rises and falls, or stays at its peak"), .names = schedules, .silent = "cosine"),
    LAB_ROW("rate_factor", REAL, AT(rate_factor), .silent = "0"),
    LAB_ROW("rate_epochs", COUNT, AT(rate_epochs), .silent = "0"),
    LAB_ROW("patience", COUNT, AT(patience), LAB_NUMBER("patience", "N", 0, 1e9),
            LAB_HELP("development scores without a better one that end it; 0: any number"), .silent = "0"),
    LAB_ROW("numerics", SIZE, AT(numerics), .silent = "0"),
    LAB_ROW("pretrained_digest", SEED, AT(pretrained_digest), .silent = "0"),
    LAB_ROW("init_digest", SEED, AT(init_digest), .silent = "0"),
    LAB_ROW(NULL, TEXT, AT(pretrained), LAB_WORD("pretrained", "DIR"),
            LAB_HELP("classifiers of text: fine-tunes the encoder that lies there"),
            .flags = LAB_OPTION_BY_HAND | LAB_OPTION_REPRODUCED),
    LAB_ROW("position_scale", NAMED, AT(model.position_scale), LAB_CHOICE("position-scale", "none|sqrt-dim"),
            LAB_HELP("what the encoding adds to tokens: as it is, or times √D as embeddings are"),
            .names = position_scales, .silent = "none", .flags = LAB_OPTION_FREE),
    LAB_ROW("logit_scale", NAMED, AT(model.logit_scale), LAB_CHOICE("logit-scale", "none|inverse-sqrt-dim"),
            LAB_HELP("logits that the embedding makes: as they are, or divided by √D"), .names = logit_scales,
            .silent = "none", .flags = LAB_OPTION_FREE),
    LAB_ROW("shards", SIZE, AT(shards), LAB_NUMBER("shards", "V", 1, 1024),
            LAB_HELP("parts of a batch that ranks share, a power of two: docs/ranks.md"), .silent = "0", .initial = "1",
            .flags = LAB_OPTION_FREE | LAB_OPTION_CALLED),
    LAB_ROW(NULL, COUNT, LAB_OPTION_NOWHERE, LAB_NUMBER("checkpoint-every-minutes", "N", 1, 1e7),
            LAB_HELP("time between checkpoints, in minutes"), .flags = LAB_OPTION_BY_HAND),
    LAB_ROW("precision", NAMED, AT(model.precision), LAB_CHOICE("precision", "float32|bf16"),
            LAB_HELP("of matrix products; sums, weights and all else are float32"), .names = precisions,
            .silent = "float32", .flags = LAB_OPTION_FREE | LAB_OPTION_REPRODUCED),
    LAB_ROW("continued_at", COUNT, AT(continued_at), .silent = "0"),
    LAB_ROW("continued_from", SEED, AT(continued_from), .silent = "0"),
};
const size_t lab_config_option_count = sizeof lab_config_options / sizeof *lab_config_options;
#undef AT
#undef OF_KIND

const lab_option *lab_config_field(const lab_task_class *class, size_t index) {
    static const lab_option nothing = {.offset = LAB_OPTION_NOWHERE};
    if (index < lab_config_option_count) {
        const lab_option *option = &lab_config_options[index];
        const lab_option *own = option->offset == LAB_OPTION_OF_KIND ? lab_class_field(class, option->field) : NULL;
        return own != NULL ? own : option;
    }
    index -= lab_config_option_count;
    if (index >= class->option_count)
        return NULL;
    return (class->options[index].flags & LAB_OPTION_LATER) != 0 ? &class->options[index] : &nothing;
}

/* ---- values as text ---- */

static const char *name_of(const char *const *names, unsigned value) {
    while (*names != NULL && value > 0) {
        names++;
        value--;
    }
    return *names != NULL ? *names : "unknown";
}

/* Enumerations are read through their common representation. */
static unsigned named_value(const void *at) {
    unsigned value;
    memcpy(&value, at, sizeof value);
    return value;
}

void lab_option_text(const lab_option *option, const lab_train_config *config, char *text, size_t size) {
    if (option->offset == LAB_OPTION_OF_KIND || option->field == NULL) {
        snprintf(text, size, "%s", option->field == NULL ? "" : option->silent != NULL ? option->silent : "0");
        return;
    }
    const void *at = (const char *)config + option->offset;
    switch (option->type) {
    case LAB_OPTION_TASK:
        snprintf(text, size, "%s", config->task->name);
        break;
    case LAB_OPTION_TEXT: {
        const char *const *value = at;
        snprintf(text, size, "%s", *value == NULL ? "" : *value);
        break;
    }
    case LAB_OPTION_SIZE:
        snprintf(text, size, "%zu", *(const size_t *)at);
        break;
    case LAB_OPTION_COUNT:
    case LAB_OPTION_SEED:
        snprintf(text, size, "%" PRIu64, *(const uint64_t *)at);
        break;
    case LAB_OPTION_REAL:
        snprintf(text, size, "%.17g", *(const double *)at);
        break;
    case LAB_OPTION_NAMED:
        snprintf(text, size, "%s", name_of(option->names, named_value(at)));
        break;
    case LAB_OPTION_ATTENTION:
        snprintf(text, size, "%s", *config->model.attention != '\0' ? config->model.attention : option->silent);
        break;
    case LAB_OPTION_ARCHITECTURE:
        snprintf(text, size, "%s", config->model.architecture->name);
        break;
    case LAB_OPTION_LIST:
        break;
    }
}

double lab_config_number(const lab_train_config *config, const char *field) {
    const lab_option *option = lab_class_field(config->task->class, field);
    char text[LAB_FIELD_SIZE] = "0";
    if (option != NULL)
        lab_option_text(option, config, text, sizeof text);
    return strtod(text, NULL);
}

bool lab_option_is_silent(const lab_option *option, const char *text) {
    return option->field == NULL || (option->silent != NULL && strcmp(option->silent, text) == 0);
}

/* ---- names of values ---- */

#define NAMES(function, type, names) \
    const char *function(type value) { \
        return name_of(names, (unsigned)value); \
    }
NAMES(lab_setup_name, lab_setup, setups)
NAMES(lab_embedding_init_name, lab_embedding_init, inits)
NAMES(lab_position_scale_name, lab_position_scale, position_scales)
NAMES(lab_logit_scale_name, lab_logit_scale, logit_scales)
NAMES(lab_precision_name, lab_precision, precisions)
NAMES(lab_order_name, lab_order, lab_order_names)
NAMES(lab_tree_paths_name, lab_tree_paths, lab_tree_paths_names)
