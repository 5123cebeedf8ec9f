/* SPDX-License-Identifier: MIT */
/* The parameter table: names, shapes and places of all tensors, declared in one walk over the model, and their first
 * values.
 *
 * Weights: uniform in ±sqrt(6 / (in + out)) (Glorot and Bengio 2010), each of query, key and value by itself. Biases
 * 0, gains 1. Embedding: N(0, 1/D), N(0, 1) or N(0, 0.02²). Other tensors that begin as normal numbers come with their
 * deviation. The encodings draw their own. */
#include "io/fail.h"
#include "io/folder.h"
#include "model/model_parts.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct lab_declaration {
    lab_model *model;
    bool place; /* false: only count */
    size_t count, elements;
};

static lab_slot declare(lab_declaration *d, size_t rows, size_t columns, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static lab_slot declare(lab_declaration *d, size_t rows, size_t columns, const char *format, ...) {
    size_t count = columns ? rows * columns : rows;
    lab_slot at = {NULL, NULL};
    if (d->place) {
        at.value = d->model->values + d->elements;
        at.gradient = d->model->gradients + d->elements;
        lab_parameter *p = &d->model->parameters[d->count];
        *p = (lab_parameter){.rank = columns ? 2 : 1,
                             .shape = {(int64_t)rows, (int64_t)columns},
                             .count = count,
                             .value = at.value,
                             .gradient = at.gradient};
        va_list arguments;
        va_start(arguments, format);
        (void)vsnprintf(p->name, sizeof p->name, format, arguments);
        va_end(arguments);
    }
    ++d->count;
    d->elements += count;
    return at;
}

lab_slot lab_declare(lab_declaration *d, const char *name, size_t rows, size_t columns, double deviation) {
    const lab_slot at = declare(d, rows, columns, "%s", name);
    if (d->place)
        d->model->parameters[d->count - 1].deviation = deviation;
    return at;
}

lab_norm lab_declare_norm(lab_declaration *d, const char *name) {
    size_t D = d->model->config.dim;
    lab_slot gain = declare(d, D, 0, "%s.weight", name), shift = declare(d, D, 0, "%s.bias", name);
    return (lab_norm){gain.value, shift.value, gain.gradient, shift.gradient, d->model->config.norm_epsilon};
}

/* A linear layer, or one of those that are stored one below the other. */
typedef struct part {
    const char *name;
    size_t outputs;
} part;

/* Linear layers `parts` (one to three) with the same input; `prefix` stands before their names. */
static lab_linear declare_linear(lab_declaration *d, const char *prefix, const part *parts, size_t count,
                                 size_t inputs) {
    lab_linear linear = {.inputs = inputs};
    for (size_t i = 0; i < count; ++i) {
        lab_slot weight = declare(d, parts[i].outputs, inputs, "%s%s.weight", prefix, parts[i].name);
        linear.outputs += parts[i].outputs;
        if (i == 0)
            linear.weight = weight.value, linear.weight_gradient = weight.gradient;
    }
    for (size_t i = 0; i < count; ++i) {
        lab_slot bias = declare(d, parts[i].outputs, 0, "%s%s.bias", prefix, parts[i].name);
        if (i == 0)
            linear.bias = bias.value, linear.bias_gradient = bias.gradient;
    }
    return linear;
}

static void declare_sublayer(lab_declaration *d, const char *layer, const lab_stack *stack, lab_sublayer *sublayer) {
    const size_t D = stack->dim, F = stack->feed_forward, K = stack->kv_dim;
    const part projections[] = {{"query", D}, {"key", K}, {"value", K}}, output = {"output", D}, up = {"up", F},
               down = {"down", D};
    char prefix[96];
    if (sublayer->kind == LAB_FEED_FORWARD) {
        (void)snprintf(prefix, sizeof prefix, "%s.feed_forward.", layer);
        sublayer->project = declare_linear(d, prefix, &up, 1, D);
        sublayer->output = declare_linear(d, prefix, &down, 1, F);
        return;
    }
    bool cross = sublayer->kind == LAB_CROSS_ATTENTION;
    (void)snprintf(prefix, sizeof prefix, "%s.%s_attention.", layer, cross ? "cross" : "self");
    sublayer->project = declare_linear(d, prefix, projections, cross ? 1 : 3, D);
    if (cross)
        sublayer->memory = declare_linear(d, prefix, projections + 1, 2, D);
    sublayer->output = declare_linear(d, prefix, &output, 1, D);
}

void lab_declare_stack(lab_declaration *d, const char *name, lab_stack *stack) {
    const size_t per_layer = stack->layer_sublayers;
    bool before = d->model->config.norm == LAB_NORM_BEFORE;
    char text[64];
    for (size_t s = 0; s < stack->sublayer_count; ++s) {
        (void)snprintf(text, sizeof text, "%s.%zu.norm%zu", name, s / per_layer, s % per_layer + 1);
        stack->joins[before ? s : s + 1].norm = lab_declare_norm(d, text);
        (void)snprintf(text, sizeof text, "%s.%zu", name, s / per_layer);
        declare_sublayer(d, text, stack, &stack->sublayers[s]);
    }
    (void)snprintf(text, sizeof text, "%s.norm", name);
    if (before)
        stack->joins[stack->sublayer_count].norm = lab_declare_norm(d, text);
}

/* A tensor of an encoding, of any rank; entered by hand, with a view for the library. */
static void declare_position(lab_declaration *d, size_t index, const char *prefix, const locus_parameter *parameter) {
    lab_model *model = d->model;
    size_t count = 1;
    for (size_t r = 0; r < parameter->rank; ++r)
        count *= (size_t)parameter->shape[r];
    lab_slot at = declare(d, count, 0, "position.%s%s", prefix, parameter->name);
    if (!d->place)
        return;
    lab_parameter *entry = &model->parameters[d->count - 1];
    entry->rank = parameter->rank;
    memcpy(entry->shape, parameter->shape, sizeof entry->shape);
    model->position_values[index] = locus_tensor_view(at.value, LOCUS_FLOAT32, parameter->rank, parameter->shape);
    model->position_gradients[index] = locus_tensor_view(at.gradient, LOCUS_FLOAT32, parameter->rank, parameter->shape);
    model->position_elements += count;
}

/* Names tell encodings apart if the pattern has several. */
static locus_status declare_encoding(lab_declaration *d, size_t index, locus_error *error) {
    const lab_model *model = d->model;
    const lab_encoding *own = &model->encodings[index];
    char prefix[24] = "";
    if (locus_pattern_size(model->pattern) > 1)
        (void)snprintf(prefix, sizeof prefix, "%zu.", index);
    for (size_t i = 0; i < own->count; ++i) {
        locus_parameter parameter = {.size = sizeof parameter};
        locus_status status = locus_encoding_parameter(own->encoding, &model->shape, i, &parameter, error);
        if (status != LOCUS_OK)
            return status;
        declare_position(d, own->first + i, prefix, &parameter);
    }
    return LOCUS_OK;
}

lab_linear lab_declare_embedding(lab_declaration *d) {
    lab_model *model = d->model;
    const size_t V = model->config.vocabulary, D = model->config.dim;
    const double deviations[] = {
        [LAB_EMBEDDING_SCALED] = 1.0 / sqrt((double)D), [LAB_EMBEDDING_UNIT] = 1.0, [LAB_EMBEDDING_PLAIN] = 0.02};
    const lab_slot own = lab_declare(d, "embedding.weight", V, D, deviations[model->config.embedding_init]);
    model->embedding = own.value;
    model->embedding_gradient = own.gradient;
    return (lab_linear){.inputs = D, .outputs = V, .weight = own.value, .weight_gradient = own.gradient};
}

lab_linear lab_declare_dense(lab_declaration *d, const char *name, size_t outputs) {
    return declare_linear(d, "", &(part){name, outputs}, 1, d->model->config.dim);
}

locus_status lab_parameters_declare(lab_model *model, locus_error *error) {
    lab_declaration d = {.model = model, .place = model->values != NULL};
    model->config.architecture->declare(&d, model);
    model->position_elements = 0;
    for (size_t i = 0; i < model->encoding_count; ++i) {
        locus_status status = declare_encoding(&d, i, error);
        if (status != LOCUS_OK)
            return status;
    }
    model->parameter_count = d.count;
    model->elements = d.elements;
    return LOCUS_OK;
}

static void draw_uniform(float *value, size_t count, double bound, const locus_random *random) {
    enum { WORDS = 4 * 64 };
    uint32_t words[WORDS];
    for (size_t first = 0; first < count; first += WORDS) {
        size_t run = count - first < WORDS ? count - first : WORDS;
        locus_random_blocks(random, first / 4, (run + 3) / 4, words);
        for (size_t i = 0; i < run; ++i)
            value[first + i] = (float)(bound * (((double)words[i] + 0.5) / 2147483648.0 - 1.0));
    }
}

static void draw_normal(const lab_parameter *p, const locus_random *random) {
    for (size_t i = 0; i < p->count; ++i)
        p->value[i] = (float)(p->deviation * locus_random_normal(random, i));
}

static void initialise_tensor(lab_parameter *p, const locus_random *random) {
    if (p->deviation > 0.0) {
        draw_normal(p, random);
    } else if (p->rank == 2) {
        draw_uniform(p->value, p->count, sqrt(6.0 / (double)(p->shape[0] + p->shape[1])), random);
    } else {
        float value = lab_name_ends(p->name, ".weight") ? 1.0f : 0.0f; /* a norm's gain, or a bias */
        for (size_t i = 0; i < p->count; ++i)
            p->value[i] = value;
    }
}

void lab_parameters_initialise(lab_model *model, uint64_t seed) {
    size_t own = model->parameter_count - model->position_count; /* the encodings' come last */
    for (size_t i = 0; i < own; ++i) {
        locus_random random = {seed, LAB_PURPOSE_INITIALISE, (uint32_t)i};
        initialise_tensor(&model->parameters[i], &random);
    }
}
