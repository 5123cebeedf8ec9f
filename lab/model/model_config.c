/* SPDX-License-Identifier: MIT */
/* What a configuration must keep to. */
#include "io/fail.h"
#include "model/model_parts.h"

enum { MOST_SIZE = 1 << 24, MOST_LAYERS = 1024, LEAST_SIDE = 5, MOST_SIDE = 1024, MOST_CHANNELS = 64 };

typedef struct size_bounds {
    const char *name;
    size_t value, least, most;
} size_bounds;

static locus_status check_sizes(const size_bounds *sizes, size_t count, locus_error *error) {
    for (size_t i = 0; i < count; ++i) {
        const size_bounds *s = &sizes[i];
        if (s->value < s->least || s->value > s->most)
            return lab_fail(error, LOCUS_ERROR_ARGUMENT, s->name, "%s is %zu: it must be between %zu and %zu", s->name,
                            s->value, s->least, s->most);
    }
    return LOCUS_OK;
}

static locus_status check_probability(const char *name, double value, locus_error *error) {
    if (value >= 0.0 && value < 1.0)
        return LOCUS_OK;
    return lab_fail(error, LOCUS_ERROR_ARGUMENT, name, "%s is %g: a probability must be at least 0 and below 1", name,
                    value);
}

static locus_status check_probabilities(const lab_model_config *config, locus_error *error) {
    locus_status status = check_probability("dropout", config->dropout, error);
    if (status == LOCUS_OK)
        status = check_probability("attention_dropout", config->attention_dropout, error);
    if (status == LOCUS_OK)
        status = check_probability("label_smoothing", config->label_smoothing, error);
    if (status == LOCUS_OK && !(config->stochastic_depth >= 0.0 && config->stochastic_depth <= 1.0))
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "stochastic_depth",
                        "stochastic_depth is %g: it must be between 0 and 1", config->stochastic_depth);
    return status;
}

/* Named values index tables: a number that is none of them has no row. */
static locus_status check_choices(const lab_model_config *config, locus_error *error) {
    const struct {
        const char *name;
        unsigned value, last;
    } choices[] = {{"norm", config->norm, LAB_NORM_AFTER},
                   {"embedding_init", config->embedding_init, LAB_EMBEDDING_PLAIN},
                   {"activation", config->activation, LAB_GELU},
                   {"tree_paths", config->tree_paths, LAB_PATHS_CODE},
                   {"output", config->output, LAB_OUTPUT_OWN},
                   {"pool", config->pool, LAB_POOL_MEAN},
                   {"head", config->head, LAB_HEAD_POOLER},
                   {"position_scale", config->position_scale, LAB_POSITIONS_SQRT_DIM},
                   {"logit_scale", config->logit_scale, LAB_LOGITS_INVERSE_SQRT_DIM},
                   {"precision", config->precision, LAB_BF16}};
    for (size_t i = 0; i < sizeof choices / sizeof *choices; ++i)
        if (choices[i].value > choices[i].last)
            return lab_fail(error, LOCUS_ERROR_ARGUMENT, choices[i].name, "%s is %u: the last that is known is %u",
                            choices[i].name, choices[i].value, choices[i].last);
    return LOCUS_OK;
}

static locus_status check_heads(const lab_model_config *config, locus_error *error) {
    if (config->dim % config->heads != 0)
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "heads",
                        "dim %zu is not divisible by %zu heads: choose another number of heads", config->dim,
                        config->heads);
    if (config->kv_heads != 0 && config->heads % config->kv_heads != 0)
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "kv_heads",
                        "%zu heads cannot share %zu key and value heads: kv_heads must divide heads", config->heads,
                        config->kv_heads);
    return LOCUS_OK;
}

static locus_status check_none(const lab_model_config *config, const char *name, size_t value, locus_error *error) {
    if (value == 0)
        return LOCUS_OK;
    return lab_fail(error, LOCUS_ERROR_ARGUMENT, name, "%s is %zu, but %s has none: set it to 0", name, value,
                    config->architecture->phrase);
}

static locus_status check_no_depth(const lab_model_config *config, locus_error *error) {
    if (!(config->stochastic_depth > 0.0))
        return LOCUS_OK;
    return lab_fail(error, LOCUS_ERROR_UNSUPPORTED, "stochastic_depth",
                    "stochastic_depth is %g, but %s has none: set it to 0", config->stochastic_depth,
                    config->architecture->phrase);
}

/* What only some architectures have. */
static locus_status check_parts(const lab_model_config *config, locus_error *error) {
    const lab_architecture *class = config->architecture;
    const bool logits = class->vocabulary && !class->classes; /* over tokens */
    const struct {
        const char *name;
        size_t value;
        bool there;
    } parts[] = {{"vocabulary", config->vocabulary, class->vocabulary},
                 {"decoder_layers", config->decoder_layers, class->decoder},
                 {"encoder_layers", config->encoder_layers, class->encoder},
                 {"tree_arity", config->tree_arity, class->trees},
                 {"tree_paths", config->tree_paths, class->memory && config->tree_arity > 0},
                 {"classes", config->classes, class->classes},
                 {"token_types", config->token_types, class->token_types},
                 {"embedding_norm", config->embedding_norm, class->token_types},
                 {"position_scale", config->position_scale, class->vocabulary},
                 {"logit_scale", config->logit_scale, logits}};
    locus_status status = LOCUS_OK;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && status == LOCUS_OK; ++i)
        if (!parts[i].there)
            status = check_none(config, parts[i].name, parts[i].value, error);
    if (status == LOCUS_OK && logits && config->output == LAB_OUTPUT_OWN && config->logit_scale)
        status = lab_fail(error, LOCUS_ERROR_ARGUMENT, "logit_scale",
                          "logit_scale is of logits that the embedding makes: an output of its own is not scaled");
    return status == LOCUS_OK && !class->stochastic_depth ? check_no_depth(config, error) : status;
}

static locus_status check_part_sizes(const lab_model_config *config, locus_error *error) {
    const lab_architecture *class = config->architecture;
    const size_bounds sizes[] = {{"vocabulary", config->vocabulary, class->vocabulary ? 2 : 0, MOST_SIZE},
                                 {"encoder_layers", config->encoder_layers, class->encoder ? 1 : 0, MOST_LAYERS},
                                 {"decoder_layers", config->decoder_layers, class->decoder ? 1 : 0, MOST_LAYERS},
                                 {"tree_arity", config->tree_arity, 0, MOST_SIZE},
                                 {"classes", config->classes, class->classes ? 2 : 0, MOST_SIZE},
                                 {"image_side", class->images ? config->image_side : LEAST_SIDE, LEAST_SIDE, MOST_SIDE},
                                 {"image_channels", class->images ? config->image_channels : 1, 1, MOST_CHANNELS},
                                 {"token_types", config->token_types, 0, MOST_SIZE},
                                 {"embedding_norm", config->embedding_norm, 0, 1}};
    return check_sizes(sizes, sizeof sizes / sizeof *sizes, error);
}

locus_status lab_model_config_check(const lab_model_config *config, locus_error *error) {
    const size_bounds sizes[] = {{"dim", config->dim, 1, MOST_SIZE},
                                 {"heads", config->heads, 1, config->dim},
                                 {"kv_heads", config->kv_heads, 0, config->heads},
                                 {"feed_forward", config->feed_forward, 1, MOST_SIZE}};
    if (config->architecture == NULL)
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "architecture", "no architecture is given");
    locus_status status = check_choices(config, error);
    if (status == LOCUS_OK)
        status = check_parts(config, error);
    if (status == LOCUS_OK)
        status = check_part_sizes(config, error);
    if (status == LOCUS_OK)
        status = check_sizes(sizes, sizeof sizes / sizeof *sizes, error);
    if (status == LOCUS_OK && !(config->norm_epsilon >= 0.0 && config->norm_epsilon < 1.0))
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "norm_epsilon", "norm_epsilon is %g: it must be between 0 and 1",
                        config->norm_epsilon);
    if (status == LOCUS_OK)
        status = check_probabilities(config, error);
    if (status == LOCUS_OK)
        status = check_heads(config, error);
    if (status == LOCUS_OK && config->encoding == NULL)
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "encoding", "no encoding is given: use \"none\" for none");
    return status;
}
