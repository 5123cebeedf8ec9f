/* SPDX-License-Identifier: MIT */
/* One table of fields writes, reads, compares and hashes a configuration. Seeds are texts in the JSON: a double would
 * cut them at 53 bits. Fields that later versions brought are neither written nor hashed at the value that earlier ones
 * had: their runs stay what they are. */
#include "train/config.h"

#include "io/fail.h"
#include "io/json.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELD_SIZE LAB_SPEC_SIZE /* bytes of a value's text */

typedef enum kind { TEXT, SIZE, COUNT, SEED, REAL, NAMED, ATTENTION } kind;

typedef struct field {
    const char *name;
    kind type;
    size_t offset;
    const char *const *names; /* of an enum's values, for NAMED */
    bool identity;            /* decides parameters or scores */
    const char *silent;       /* the value, as text, that is not written; NULL: each is */
} field;

static const char *const setups[] = {"paper", "code", NULL};
static const char *const norms[] = {"before", "after", NULL};
static const char *const dropouts[] = {"weights", "logits", NULL};
static const char *const inits[] = {"scaled", "unit", "plain", NULL};
static const char *const position_scales[] = {"none", "sqrt-dim", NULL};
static const char *const logit_scales[] = {"none", "inverse-sqrt-dim", NULL};
static const char *const architectures[] = {"encoder-decoder", "image-classifier", "decoder", "text-classifier", NULL};
static const char *const activations[] = {"relu", "gelu", NULL};
static const char *const survivors[] = {"rescaled", "as-they-are", NULL};
static const char *const orders[] = {"breadth", "depth", NULL};
static const char *const outputs[] = {"tied", "own", NULL};
static const char *const pools[] = {"first", "mean", NULL};
static const char *const heads[] = {"linear", "pooler", NULL};
static const char *const asked[] = {"digit", "parity", NULL};
static const char *const schedules[] = {"cosine", "steps", NULL};
static const char *const decays[] = {"decoupled", "coupled", NULL};
static const char *const tree_paths[] = {"own", "next", "code", NULL};
static const char *const augmentations[] = {"none", "autoaugment", NULL};

#define AT(member) offsetof(lab_train_config, member)
static const field fields[] = {
    {"task", TEXT, AT(task), NULL, true, NULL},
    {"encoding", TEXT, AT(encoding), NULL, true, NULL},
    {"budget", TEXT, AT(budget), NULL, true, NULL},
    {"setup", NAMED, AT(setup), setups, true, NULL},
    {"dim", SIZE, AT(model.dim), NULL, true, NULL},
    {"heads", SIZE, AT(model.heads), NULL, true, NULL},
    {"feed_forward", SIZE, AT(model.feed_forward), NULL, true, NULL},
    {"encoder_layers", SIZE, AT(model.encoder_layers), NULL, true, NULL},
    {"decoder_layers", SIZE, AT(model.decoder_layers), NULL, true, NULL},
    {"norm", NAMED, AT(model.norm), norms, true, NULL},
    {"dropout", REAL, AT(model.dropout), NULL, true, NULL},
    {"attention_dropout", REAL, AT(model.attention_dropout), NULL, true, NULL},
    {"attention_dropout_on", NAMED, AT(model.attention_dropout_on), dropouts, true, NULL},
    {"embedding_init", NAMED, AT(model.embedding_init), inits, true, NULL},
    {"length_mean", REAL, AT(data.length_mean), NULL, true, NULL},
    {"length_deviation", REAL, AT(data.length_deviation), NULL, true, NULL},
    {"symbols", SIZE, AT(data.symbols), NULL, true, NULL},
    {"train_samples", SIZE, AT(train_samples), NULL, true, NULL},
    {"dev_samples", SIZE, AT(dev_samples), NULL, true, NULL},
    {"test_samples", SIZE, AT(test_samples), NULL, true, NULL},
    {"greedy_samples", SIZE, AT(greedy_samples), NULL, true, NULL},
    {"data_seed", SEED, AT(data_seed), NULL, true, NULL},
    {"seed", SEED, AT(seed), NULL, true, NULL},
    {"batch", SIZE, AT(batch), NULL, true, NULL},
    {"steps", COUNT, AT(steps), NULL, true, NULL},
    {"epochs", COUNT, AT(epochs), NULL, true, NULL},
    {"evaluate_every", COUNT, AT(evaluate_every), NULL, true, NULL},
    {"checkpoint_seconds", COUNT, AT(checkpoint_seconds), NULL, false, NULL},
    {"rate_initial", REAL, AT(rate_initial), NULL, true, NULL},
    {"rate_peak", REAL, AT(rate_peak), NULL, true, NULL},
    {"rate_final", REAL, AT(rate_final), NULL, true, NULL},
    {"warmup_share", REAL, AT(warmup_share), NULL, true, NULL},
    {"beta1", REAL, AT(optimizer.beta1), NULL, true, NULL},
    {"beta2", REAL, AT(optimizer.beta2), NULL, true, NULL},
    {"epsilon", REAL, AT(optimizer.epsilon), NULL, true, NULL},
    {"weight_decay", REAL, AT(optimizer.weight_decay), NULL, true, NULL},
    {"clip", REAL, AT(optimizer.clip), NULL, true, NULL},
    {"attention", ATTENTION, AT(model), NULL, true, "softmax"},
    {"kv_heads", SIZE, AT(model.kv_heads), NULL, true, "0"},
    {"architecture", NAMED, AT(model.architecture), architectures, true, "encoder-decoder"},
    {"activation", NAMED, AT(model.activation), activations, true, "relu"},
    {"stochastic_depth", REAL, AT(model.stochastic_depth), NULL, true, "0"},
    {"survivors", NAMED, AT(model.survivors), survivors, true, "rescaled"},
    {"label_smoothing", REAL, AT(model.label_smoothing), NULL, true, "0"},
    {"classes", SIZE, AT(model.classes), NULL, true, "0"},
    {"image_side", SIZE, AT(model.image_side), NULL, true, "0"},
    {"image_channels", SIZE, AT(model.image_channels), NULL, true, "0"},
    {"depth_mean", REAL, AT(data.depth_mean), NULL, true, "0"},
    {"depth_deviation", REAL, AT(data.depth_deviation), NULL, true, "0"},
    {"order", NAMED, AT(data.order), orders, true, "breadth"},
    {"arity", SIZE, AT(data.arity), NULL, true, "0"},
    {"tree_paths", NAMED, AT(model.tree_paths), tree_paths, true, "own"},
    {"augment", NAMED, AT(augment), augmentations, true, "none"},
    {"output", NAMED, AT(model.output), outputs, true, "tied"},
    {"pool", NAMED, AT(model.pool), pools, true, "first"},
    {"head", NAMED, AT(model.head), heads, true, "linear"},
    {"token_types", SIZE, AT(model.token_types), NULL, true, "0"},
    {"embedding_norm", SIZE, AT(model.embedding_norm), NULL, true, "0"},
    {"norm_epsilon", REAL, AT(model.norm_epsilon), NULL, true, "0"},
    {"sequence", SIZE, AT(data.sequence), NULL, true, "0"},
    {"digits", SIZE, AT(data.digits), NULL, true, "0"},
    {"expression_depth", SIZE, AT(data.expression_depth), NULL, true, "0"},
    {"shortest", SIZE, AT(data.shortest), NULL, true, "0"},
    {"longest", SIZE, AT(data.longest), NULL, true, "0"},
    {"asked", NAMED, AT(data.asked), asked, true, "digit"},
    {"digest", SEED, AT(data.digest), NULL, true, "0"},
    {"optimizer_decay", NAMED, AT(optimizer.decay), decays, true, "decoupled"},
    {"schedule", NAMED, AT(schedule), schedules, true, "cosine"},
    {"rate_factor", REAL, AT(rate_factor), NULL, true, "0"},
    {"rate_epochs", COUNT, AT(rate_epochs), NULL, true, "0"},
    {"patience", COUNT, AT(patience), NULL, true, "0"},
    {"numerics", SIZE, AT(numerics), NULL, true, "0"},
    {"pretrained_digest", SEED, AT(pretrained_digest), NULL, true, "0"},
    {"position_scale", NAMED, AT(model.position_scale), position_scales, true, "none"},
    {"logit_scale", NAMED, AT(model.logit_scale), logit_scales, true, "none"},
};
enum { FIELDS = sizeof fields / sizeof *fields };
#undef AT

static const char *name_of(const char *const *names, unsigned value) {
    while (*names != NULL && value > 0) {
        names++;
        value--;
    }
    return *names != NULL ? *names : "unknown";
}

const char *lab_setup_name(lab_setup setup) {
    return name_of(setups, (unsigned)setup);
}

const char *lab_embedding_init_name(lab_embedding_init init) {
    return name_of(inits, (unsigned)init);
}

const char *lab_position_scale_name(lab_position_scale scale) {
    return name_of(position_scales, (unsigned)scale);
}

const char *lab_logit_scale_name(lab_logit_scale scale) {
    return name_of(logit_scales, (unsigned)scale);
}

const char *lab_order_name(lab_order order) {
    return name_of(orders, (unsigned)order);
}

const char *lab_tree_paths_name(lab_tree_paths paths) {
    return name_of(tree_paths, (unsigned)paths);
}

const char *lab_asked_name(lab_asked what) {
    return name_of(asked, (unsigned)what);
}

/* Enums are read and written through their own types' common representation. */
static unsigned named_get(const field *f, const char *at) {
    (void)f;
    unsigned value;
    memcpy(&value, at, sizeof value);
    return value;
}

_Static_assert(sizeof(lab_setup) == sizeof(unsigned) && sizeof(locus_dropout) == sizeof(unsigned) &&
                   sizeof(lab_norm_place) == sizeof(unsigned) && sizeof(lab_embedding_init) == sizeof(unsigned) &&
                   sizeof(lab_architecture) == sizeof(unsigned) && sizeof(lab_activation) == sizeof(unsigned) &&
                   sizeof(lab_survivors) == sizeof(unsigned) && sizeof(lab_order) == sizeof(unsigned) &&
                   sizeof(lab_tree_paths) == sizeof(unsigned) && sizeof(lab_augmentation) == sizeof(unsigned) &&
                   sizeof(lab_output_weight) == sizeof(unsigned) && sizeof(lab_pool) == sizeof(unsigned) &&
                   sizeof(lab_head) == sizeof(unsigned) && sizeof(lab_asked) == sizeof(unsigned) &&
                   sizeof(lab_schedule_kind) == sizeof(unsigned) && sizeof(lab_decay_kind) == sizeof(unsigned) &&
                   sizeof(lab_position_scale) == sizeof(unsigned) && sizeof(lab_logit_scale) == sizeof(unsigned),
               "enums of the configuration are as large as unsigned");

/* A field's value as text, the same for equal values. */
static void field_text(const field *f, const lab_train_config *config, char *text, size_t size) {
    const char *at = (const char *)config + f->offset;
    switch (f->type) {
    case TEXT: {
        const char *const *value = (const char *const *)(const void *)at;
        snprintf(text, size, "%s", *value == NULL ? "" : *value);
        break;
    }
    case SIZE:
        snprintf(text, size, "%zu", *(const size_t *)(const void *)at);
        break;
    case COUNT:
    case SEED:
        snprintf(text, size, "%" PRIu64, *(const uint64_t *)(const void *)at);
        break;
    case REAL:
        snprintf(text, size, "%.17g", *(const double *)(const void *)at);
        break;
    case NAMED:
        snprintf(text, size, "%s", f->names[named_get(f, at)]);
        break;
    case ATTENTION:
        snprintf(text, size, "%s", *config->model.attention != '\0' ? config->model.attention : f->silent);
        break;
    }
}

static bool is_silent(const field *f, const char *text) {
    return f->silent != NULL && strcmp(f->silent, text) == 0;
}

static bool add_field(cJSON *root, const field *f, const lab_train_config *config) {
    char text[FIELD_SIZE];
    field_text(f, config, text, sizeof text);
    if (is_silent(f, text))
        return true;
    bool number =
        f->type == SIZE || f->type == COUNT || f->type == REAL; /* cJSON's own numbers may lose the last bit */
    return (number ? cJSON_AddRawToObject(root, f->name, text) : cJSON_AddStringToObject(root, f->name, text)) != NULL;
}

char *lab_config_json(const lab_train_config *config) {
    cJSON *root = cJSON_CreateObject();
    bool good = root != NULL;
    for (size_t i = 0; good && i < FIELDS; i++)
        good = add_field(root, &fields[i], config);
    cJSON *lengths = good ? cJSON_AddArrayToObject(root, "test_lengths") : NULL;
    good = lengths != NULL;
    for (size_t i = 0; good && i < config->test_length_count; i++) {
        cJSON *length = cJSON_CreateNumber((double)config->test_lengths[i]);
        good = length != NULL && cJSON_AddItemToArray(lengths, length);
    }
    char *text = good ? cJSON_PrintUnformatted(root) : NULL;
    cJSON_Delete(root);
    return text;
}

static bool read_integer(const cJSON *item, uint64_t *value) {
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0.0 && item->valuedouble <= 9007199254740992.0) ||
        floor(item->valuedouble) != item->valuedouble)
        return false;
    *value = (uint64_t)item->valuedouble;
    return true;
}

static bool read_field(const cJSON *root, const field *f, lab_train_config *config) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, f->name);
    char *at = (char *)config + f->offset;
    uint64_t value = 0;
    if (item == NULL)
        return f->silent != NULL; /* all of them are 0 */
    switch (f->type) {
    case TEXT:
        return cJSON_IsString(item); /* the caller fills it from the row */
    case SIZE:
    case COUNT:
        if (!read_integer(item, &value))
            return false;
        break;
    case SEED: {
        char *end;
        if (!cJSON_IsString(item) || item->valuestring[0] < '0' || item->valuestring[0] > '9')
            return false;
        errno = 0;
        value = strtoull(item->valuestring, &end, 10);
        if (*end != '\0' || errno != 0)
            return false;
        break;
    }
    case REAL:
        /* 1e999 is a number to cJSON, and infinite. */
        if (!cJSON_IsNumber(item) || !isfinite(item->valuedouble))
            return false;
        *(double *)(void *)at = item->valuedouble;
        return true;
    case NAMED:
        for (unsigned i = 0; cJSON_IsString(item) && f->names[i] != NULL; i++) {
            if (strcmp(f->names[i], item->valuestring) == 0) {
                memcpy(at, &i, sizeof i);
                return true;
            }
        }
        return false;
    case ATTENTION:
        return cJSON_IsString(item) && lab_model_attention(&config->model, item->valuestring, NULL) == LOCUS_OK;
    }
    if (f->type == SIZE)
        *(size_t *)(void *)at = (size_t)value;
    else
        *(uint64_t *)(void *)at = value;
    return true;
}

static bool read_lengths(const cJSON *root, lab_train_config *config) {
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(root, "test_lengths"), *item;
    config->test_length_count = 0;
    if (!cJSON_IsArray(list))
        return false;
    cJSON_ArrayForEach(item, list) {
        uint64_t value;
        if (config->test_length_count == LAB_MAX_TEST_LENGTHS || !read_integer(item, &value))
            return false;
        config->test_lengths[config->test_length_count++] = (size_t)value;
    }
    return true;
}

locus_status lab_config_parse(lab_train_config *config, const char *json, const lab_run *run, const char *place,
                              locus_error *error) {
    memset(config, 0, sizeof *config);
    bool out_of_memory;
    cJSON *root = lab_json_parse(json, strlen(json), false, NULL, &out_of_memory);
    if (out_of_memory)
        return lab_fail_memory(error, "a configuration");
    const char *bad = root == NULL ? "its JSON" : NULL;
    for (size_t i = 0; bad == NULL && i < FIELDS; i++)
        bad = read_field(root, &fields[i], config) ? NULL : fields[i].name;
    if (bad == NULL && !read_lengths(root, config))
        bad = "test_lengths";
    cJSON_Delete(root);
    if (bad != NULL) {
        return lab_fail(error, LOCUS_ERROR_IO, "config",
                        "the configuration in %s cannot be read (%s): train again with --restart", place, bad);
    }
    config->task = run->task;
    config->encoding = run->encoding;
    config->budget = run->budget;
    config->model.encoding = run->encoding;
    lab_config_fill(config);
    return LOCUS_OK;
}

uint64_t lab_config_hash(const lab_train_config *config) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < FIELDS; i++) {
        char text[FIELD_SIZE];
        field_text(&fields[i], config, text, sizeof text);
        for (const char *c = text; fields[i].identity && !is_silent(&fields[i], text); c++) {
            hash = (hash ^ (unsigned char)*c) * 0x100000001b3u;
            if (*c == '\0')
                break;
        }
    }
    return hash;
}

const char *lab_config_difference(const lab_train_config *a, const lab_train_config *b) {
    for (size_t i = 0; i < FIELDS; i++) {
        char left[FIELD_SIZE], right[FIELD_SIZE];
        field_text(&fields[i], a, left, sizeof left);
        field_text(&fields[i], b, right, sizeof right);
        if (fields[i].identity && strcmp(left, right) != 0)
            return fields[i].name;
    }
    return NULL;
}

bool lab_config_same_texts(const lab_train_config *config, const char *json) {
    cJSON *root = cJSON_Parse(json);
    bool same = root != NULL;
    for (size_t i = 0; same && i < FIELDS; i++) {
        const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, fields[i].name);
        char text[FIELD_SIZE];
        field_text(&fields[i], config, text, sizeof text);
        same = fields[i].type != TEXT || (cJSON_IsString(item) && strcmp(item->valuestring, text) == 0);
    }
    cJSON_Delete(root);
    return same;
}
